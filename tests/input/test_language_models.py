"""Logs of language models: made by code in the formats of lm-evaluation-harness and of OpenAI, whole and damaged."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, CalibrantError, ColumnError, FileError, InputError, InputWarning
from tests.calling import raises

Record = dict[str, Any]


def sample(
    number: int,
    scores: list[float],
    target: Any,
    *,
    texts: list[str] | None = None,
    filter: str = "none",
    subject: str = "anatomy",
    **more: Any,
) -> Record:
    """A line of samples_TASK_DATE.jsonl, as the evaluation tracker writes it: log-likelihoods, Booleans and targets as text."""
    texts = list("ABCDEFGH"[: len(scores)]) if texts is None else texts
    pairs = [[str(score), str(score == max(scores))] for score in scores]
    return {
        "doc_id": number,
        "doc": {"question": "Which? " * 30, "subject": subject, "choices": texts, "answer": 1},
        "target": str(target),
        "arguments": {f"gen_args_{i}": {"arg_0": "Which?", "arg_1": f" {text}"} for i, text in enumerate(texts)},
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "filter": filter,
        "metrics": ["acc"],
        "doc_hash": "d",
        "prompt_hash": "p",
        "target_hash": "t",
        **more,
    }


def write(folder: Path, records: list[Record], name: str = "samples_mmlu_2026-03-05T10-00-00.123456.jsonl") -> str:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    return str(path)


SCORES = [[-1.0, -2.0, -3.0, -4.0], [-2.0, -0.1, -5.0, -math.inf], [-1.0, -1.0, -2.0, -3.0]]


def softmax(scores: list[float]) -> list[float]:
    parts = [math.exp(score) for score in scores]
    return [part / sum(parts) for part in parts]


@pytest.mark.parametrize("targets", [[0, 1, 2], list("ABC"), ["(A)", "B.", "C"], ["0", "1", "2"]])
def test_probabilities_are_the_softmax_and_targets_are_read(tmp_path: Path, targets: list[Any]) -> None:
    accuracy = [1.0, 1.0, 0.0]
    records = [sample(i, row, t, acc=a) for i, (row, t, a) in enumerate(zip(SCORES, targets, accuracy, strict=True))]
    found = cal.input.read_lm_harness(write(tmp_path, records))
    np.testing.assert_allclose(found.probs, [softmax(row) for row in SCORES], atol=1e-15)
    assert found.labels.tolist() == [0, 1, 2]
    assert list(found.classes) == list("ABCD")
    assert found.kind == "multiclass"
    assert found.group_names == ("mmlu",)


def test_every_form_of_the_file_gives_the_same(tmp_path: Path) -> None:
    records = [sample(i, row, 1, subject=s) for i, (row, s) in enumerate(zip(SCORES, ["a", "b", "a"], strict=True))]
    path = write(tmp_path, records)
    expected = cal.input.read_lm_harness(path, by="subject")
    packed = tmp_path / "samples_mmlu_x.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(path).read_bytes()))
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps(records, indent=1))
    # Older versions write numbers, and lists as arguments; some logs have only resps.
    old = [
        {
            **r,
            "arguments": [list(a.values()) for a in r["arguments"].values()],
            "resps": [[[float(s), False]] for s in row],
        }
        for r, row in zip(records, SCORES, strict=True)
    ]
    older = write(tmp_path, [{k: v for k, v in r.items() if k != "filtered_resps"} for r in old], "old.jsonl")
    for other in (packed, listed, older):
        found = cal.input.read_lm_harness(str(other), by="subject")
        assert np.array_equal(found.probs, expected.probs)
        assert np.array_equal(found.labels, expected.labels)
    split = [write(tmp_path, records[:1], "samples_one_2026-01-01T00-00-00.jsonl")]
    split += [write(tmp_path, records[1:], "samples_two_2026-01-01T00-00-00.jsonl")]
    for many in (split, str(tmp_path / "samples_[ot]*_2026-01*.jsonl")):
        result = cal.evaluate(cal.input.read_lm_harness(many), metrics=["brier"])
        assert set(result.groups) == {"one", "two"}


def test_text_targets_and_lengths(tmp_path: Path) -> None:
    texts = [["a cat", "a very long dog"], ["the sun", "moon"]]
    scores = [[-3.0, -6.0], [-4.0, -3.5]]
    records = [
        sample(0, scores[0], "a very long dog", texts=texts[0], acc=0.0, acc_norm=1.0),
        sample(1, scores[1], "the sun", texts=texts[1], acc=0.0, acc_norm=1.0),
    ]
    path = write(tmp_path, records)
    assert cal.input.read_lm_harness(path).labels.tolist() == [1, 0]
    normalized = cal.input.read_lm_harness(path, length_norm="characters")
    by_hand = [softmax([s / len(t) for s, t in zip(*row, strict=True)]) for row in zip(scores, texts, strict=True)]
    np.testing.assert_allclose(normalized.probs, by_hand, atol=1e-15)
    accented = write(tmp_path, [sample(0, [-2.0, -2.0], 1, texts=["é", "ab"])], "bytes.jsonl")
    assert cal.input.read_lm_harness(accented, length_norm="bytes").probs.tolist() == [[0.5, 0.5]]


def test_an_integer_is_an_index_unless_the_accuracy_contradicts(tmp_path: Path) -> None:
    texts = ["2", "3", "1"]
    rows = [[-0.1, -3.0, -4.0], [-3.0, -0.1, -4.0]]
    as_text = [sample(i, row, t, texts=texts, acc=1.0) for i, (row, t) in enumerate(zip(rows, ["2", "3"], strict=True))]
    assert cal.input.read_lm_harness(write(tmp_path, as_text)).labels.tolist() == [0, 1]
    as_index = [sample(i, row, t, texts=texts, acc=1.0) for i, (row, t) in enumerate(zip(rows, [0, 1], strict=True))]
    assert cal.input.read_lm_harness(write(tmp_path, as_index)).labels.tolist() == [0, 1]
    silent = write(tmp_path, [{k: v for k, v in r.items() if k != "acc"} for r in as_text])
    with pytest.raises(InputError, match="index of a choice and the text of another"):
        cal.input.read_lm_harness(silent)
    with raises(InputError, "target"):
        cal.input.read_lm_harness(write(tmp_path, [sample(0, rows[0], 1, acc=1.0)]))


def test_different_numbers_of_choices_give_confidences(tmp_path: Path) -> None:
    records = [sample(0, [-1.0, -2.0], 0, acc=1.0), sample(1, [-1.0, -2.0, -3.0], 2, acc=0.0)]
    with pytest.warns(InputWarning, match="between 2 and 3 choices"):
        found = cal.input.read_lm_harness(write(tmp_path, records))
    assert found.kind == "confidence"
    assert cal.brier(found) == pytest.approx(
        np.mean([(softmax([-1, -2])[0] - 1) ** 2, softmax([-1, -2, -3])[0] ** 2]), abs=1e-15
    )
    # Several correct choices, and choices in the contexts, whose index is not logged.
    several = [sample(0, [-1.0, -2.0, -3.0], "[0, 2]", acc=1.0), sample(1, [-3.0, -2.0, -1.0], "[0, 1]", acc=0.0)]
    with pytest.warns(InputWarning, match="not the only one"):
        assert cal.input.read_lm_harness(write(tmp_path, several)).kind == "confidence"
    same = [
        sample(i, row, "his name", texts=["his name"] * 2, acc=a)
        for i, (row, a) in enumerate([([-1, -2], 1.0), ([-1, -2], 0.0)])
    ]
    found = cal.input.read_lm_harness(write(tmp_path, same))
    assert found.labels.tolist() == [0, 1]  # of two choices the other one is correct


GENERATED: Record = {**sample(0, [-1.0, -2.0], 0), "resps": [["Paris"]], "filtered_resps": ["Paris"]}


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([sample(0, [-1.0, math.nan], 0)], "line 1: 1 of 2 log-likelihoods are missing or NaN"),
        ([sample(0, [-math.inf, -math.inf], 0)], "every choice has the log-likelihood -inf"),
        ([sample(0, [0.5, -1.0], 0)], "must not be positive; got 0.5"),
        ([sample(0, [-1.0, -2.0], 0)] * 2, "doc_id 0 of task mmlu occurs twice"),
        ([sample(0, [-1.0, -2.0], 7)], "the target '7' is not one of 2 choices"),
        ([sample(0, [-1.0], 0)], "has no log-likelihoods of two or more choices"),
        ([GENERATED], "has no log-likelihoods of two or more choices; its fields are doc_id, doc, target"),
        ([sample(0, [-1.0, -2.0], 0, acc_mutual_info=1.0)], "has unconditional log-likelihoods"),
        ([[1, 2]], "is not a sample"),
        (
            [{**sample(0, [-1.0, -2.0], 0), "filtered_resps": [10**400, -1]}],
            "has no log-likelihoods of two or more choices",
        ),
    ],
)
def test_hostile_logs_are_errors(tmp_path: Path, records: list[Any], words: str) -> None:
    with pytest.raises(CalibrantError, match=words):
        cal.input.read_lm_harness(write(tmp_path, records))


def test_files_and_options_that_cannot_be_read(tmp_path: Path) -> None:
    path = Path(write(tmp_path, [sample(i, SCORES[0], 0) for i in range(3)]))
    path.write_text(path.read_text()[:-200])
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}" * 1000)[:-12])
    (tmp_path / "folder").mkdir()
    for name in (path.name, "nowhere_*.jsonl", "empty.jsonl", "cut.jsonl.gz", "folder"):
        with pytest.raises(FileError):
            cal.input.read_lm_harness(tmp_path / name)
    good = write(tmp_path, [sample(0, SCORES[0], 0)])
    for keywords, words in (
        ({"by": "topic"}, "unknown field 'topic'; the fields are task, doc_id, subject"),
        ({"length_norm": "words"}, "length_norm: must be"),
    ):
        with pytest.raises(CalibrantError, match=words):
            cal.input.read_lm_harness(good, **keywords)


def test_of_several_filters_none_is_read(tmp_path: Path) -> None:
    two = [sample(0, [-1.0, -2.0], 0, filter=name) for name in ("strict-match", "flexible-extract")]
    with pytest.raises(ColumnError):
        cal.input.read_lm_harness(write(tmp_path, two))
    with_none = [*two, sample(0, [-5.0, -1.0], 1)]
    assert cal.input.read_lm_harness(write(tmp_path, with_none)).labels.tolist() == [1]


def chat(tops: dict[str, float], **more: Any) -> Record:
    """A chat completion with the log probabilities of one token."""
    token = max(tops, key=tops.__getitem__)
    listed = [{"token": name, "logprob": value, "bytes": list(name.encode())} for name, value in tops.items()]
    content = [{"token": token, "logprob": tops[token], "bytes": [], "top_logprobs": listed}]
    choice = {"index": 0, "message": {"role": "assistant", "content": token}, "logprobs": {"content": content}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": {}, **more}


TOPS = {"A": math.log(0.6), " A": math.log(0.15), "B": math.log(0.2), " C": math.log(0.02), "The": math.log(0.01)}


def by_hand() -> list[float]:
    """A has two tokens; D is not listed: at most the least listed probability, and the remaining mass."""
    parts = [0.75, 0.2, 0.02, min(0.01, 1 - 0.98)]
    return [part / sum(parts) for part in parts]


def test_chat_batch_completion_and_response_formats(tmp_path: Path) -> None:
    batch = {"id": "b", "custom_id": "q1", "response": {"status_code": 200, "body": chat(TOPS)}, "error": None}
    plain = {
        "id": "cmpl",
        "choices": [
            {"text": "A", "logprobs": {"tokens": ["A"], "token_logprobs": [TOPS["A"]], "top_logprobs": [TOPS]}}
        ],
    }
    listed = [{"token": name, "logprob": value} for name, value in TOPS.items()]
    part = {
        "type": "output_text",
        "text": "A",
        "logprobs": [{"token": "A", "logprob": TOPS["A"], "top_logprobs": listed}],
    }
    responses = {"id": "r", "output": [{"type": "message", "content": [part]}]}
    for record in (chat(TOPS), batch, plain, responses):
        path = write(tmp_path, [{**record, "answer": "B"}], "out.jsonl")
        found = cal.input.read_openai_logprobs(path)
        np.testing.assert_allclose(found.probs, [by_hand()], rtol=1e-12)
        assert found.labels.tolist() == [1]
        assert list(found.classes) == list("ABCD")


def test_answers_from_fields_files_and_mappings(tmp_path: Path) -> None:
    records = [{"custom_id": f"q{i}", "response": {"body": chat(TOPS)}, "topic": "x"} for i in range(3)]
    path = write(tmp_path, records, "out.jsonl")
    truth = ["A", "b", 2]
    truth[1] = "B"
    key = {f"q{i}": value for i, value in enumerate(truth)}
    file = tmp_path / "key.csv"
    file.write_text("custom_id,answer\n" + "\n".join(f"{k},{v}" for k, v in key.items()))
    lines = write(tmp_path, [{"custom_id": k, "label": v} for k, v in key.items()], "key.jsonl")
    nested = write(tmp_path, [{**r, "metadata": {"gold": v}} for r, v in zip(records, truth, strict=True)], "n.jsonl")
    for source, label in (
        (path, key),
        (path, str(file)),
        (path, lines),
        (nested, "gold"),
        (nested, None),
    ):
        assert cal.input.read_openai_logprobs(source, label=label, by="topic").labels.tolist() == [0, 1, 2]
    judged = write(
        tmp_path, [{**r, "correct": c} for r, c in zip(records, [True, 0, "incorrect"], strict=True)], "j.jsonl"
    )
    found = cal.input.read_openai_logprobs(judged)
    assert found.kind == "confidence"
    assert cal.brier(found) == pytest.approx(((by_hand()[0] - 1) ** 2 + 2 * by_hand()[0] ** 2) / 3)
    (tmp_path / "latin.csv").write_bytes(b"custom_id,answer\nq0,\xe9\n")
    part = write(tmp_path, [{"custom_id": "q0", "label": "A"}, {"custom_id": "q1"}], "part.jsonl")
    for label, words in (
        (str(tmp_path / "latin.csv"), "is not UTF-8 text"),
        (part, "entry 2 has no custom_id or no label"),
        (None, "no field has the correct answers; the fields are custom_id, topic"),
        ("key", "no field has the correct answers; the fields are custom_id, topic"),
        ({"q0": "A"}, "no correct answer for the identifier 'q1'"),
        ({**key, "q1": "E"}, "'E' is not among the choices A, B, C, D"),
    ):
        with pytest.raises(CalibrantError, match=words):
            cal.input.read_openai_logprobs(path, label=label)


def test_words_positions_and_failures(tmp_path: Path) -> None:
    words = {"Yes": math.log(0.3), " yes": math.log(0.3), "No": math.log(0.2), "maybe": -9999.0}
    path = write(tmp_path, [chat(words, answer="no")], "w.jsonl")
    with pytest.warns(InputWarning, match="80.0% of the probability on average"):
        found = cal.input.read_openai_logprobs(path, choices=["no", "yes"])
    np.testing.assert_allclose(found.probs, [[0.25, 0.75]] if found.probs.ndim == 2 else [0.75])
    late = chat(TOPS, answer="A")
    first = chat({"Answer": -0.1})["choices"][0]["logprobs"]["content"][0]
    late["choices"][0]["logprobs"]["content"].insert(0, first)
    path = write(tmp_path, [late], "late.jsonl")
    with pytest.raises(ColumnError):
        cal.input.read_openai_logprobs(path)
    assert cal.input.read_openai_logprobs(path, position=-1).labels.tolist() == [0]
    with pytest.raises(ColumnError):
        cal.input.read_openai_logprobs(path, position=5)
    bare = {"custom_id": "q9", "response": None, "error": {"message": "rate limit"}, "answer": "A"}
    without = chat(TOPS, answer="A", custom_id="q8")
    without["choices"][0]["logprobs"] = None
    path = write(tmp_path, [chat(TOPS, answer="A", custom_id="q7"), bare, without], "failed.jsonl")
    with pytest.raises(InputError, match=r"2 of 3 responses cannot be used.*line 2: the request failed"):
        cal.input.read_openai_logprobs(path)
    with pytest.warns(InputWarning, match="2 of 3 responses were left out"):
        assert cal.input.read_openai_logprobs(path, failed="drop").n == 1
    for keywords, message in (
        ({"choices": "A"}, "two or more different"),
        ({"choices": "AA"}, "two or more different"),
        ({"position": "last"}, "position: must be an integer"),
        ({"failed": "skip"}, "must be 'raise' or 'drop'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            cal.input.read_openai_logprobs(path, **keywords)
    digits = write(tmp_path, [chat({"1": -0.5, "2": -1.0}, answer=0)], "digits.jsonl")
    with pytest.raises(InputError, match="correct answer 0 is not among the choices 1, 2"):  # not the first choice
        cal.input.read_openai_logprobs(digits, choices="12")
    twice = write(tmp_path, [chat(TOPS, answer="A", custom_id="q")] * 2, "twice.jsonl")
    with raises(InputError, "path"):
        cal.input.read_openai_logprobs(twice)
