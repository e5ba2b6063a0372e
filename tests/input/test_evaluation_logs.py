"""Logs of Inspect and HELM in their formats, made by code: choices with token log probabilities, confidences, and damaged ones."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, CalibrantError, ColumnError, InputError, InputWarning

TOKENS = {"A": math.log(0.6), " B": math.log(0.3), "C": math.log(0.08)}


def inspect_sample(number: int, target: str, value: Any = "C", **more: Any) -> dict[str, Any]:
    """A sample of version 2 of the format, with the log probabilities of the answer's token."""
    top = [{"token": token, "logprob": value, "bytes": None} for token, value in TOKENS.items()]
    content = [{**top[0], "top_logprobs": top}]
    message = {"role": "assistant", "content": "A", "source": "generate"}
    return {
        "id": number,
        "epoch": 1,
        "input": "Which?",
        "choices": ["x", "y", "z"],
        "target": target,
        "messages": [],
        "output": {
            "model": "m",
            "choices": [{"message": message, "stop_reason": "stop", "logprobs": {"content": content}}],
        },
        "scores": {"choice": {"value": value, "answer": "A", "metadata": {"confidence": 0.9}}},
        "metadata": {"subject": "law" if number % 2 else "physics"},
        **more,
    }


def write_inspect(folder: Path, samples: list[Any], name: str = "log.json") -> Path:
    path = folder / name
    head = {"version": 2, "status": "success", "eval": {"task": "mmlu", "model": "m"}}
    path.write_text(json.dumps({**head, "samples": samples}, indent=2))
    return path


def test_choices_of_inspect(tmp_path: Path) -> None:
    path = write_inspect(tmp_path, [inspect_sample(0, "A"), inspect_sample(1, "B"), inspect_sample(2, "C")])
    found = cal.input.read_inspect(path, by="subject")
    np.testing.assert_allclose(found.probs, [np.array([0.6, 0.3, 0.08]) / 0.98] * 3, atol=1e-12)
    assert found.labels.tolist() == [0, 1, 2]
    assert found.classes == ("A", "B", "C")
    assert list(found.group_names) == ["law", "physics"]
    assert list(cal.input.read_inspect(tmp_path).group_names) == ["mmlu"]


def test_confidences_of_inspect(tmp_path: Path) -> None:
    values = ["C", "I", "P", "N", True, 0, 1.0]
    samples = [inspect_sample(i, "text", value, output={"choices": []}) for i, value in enumerate(values)]
    with pytest.warns(InputWarning, match="no token log probabilities"):
        found = cal.input.read_inspect(write_inspect(tmp_path, samples))
    assert (found.kind, found.labels.tolist()) == ("confidence", [1, 0, 0, 0, 1, 0, 1])
    assert found.probs.tolist() == [0.9] * 7
    second = {"value": "I", "metadata": {"confidence": 0.4}}
    samples[0]["scores"]["other"] = second
    with pytest.warns(InputWarning):
        assert cal.input.read_inspect(write_inspect(tmp_path, samples[:1]), scorer="other").probs.tolist() == [0.4]


INSPECT_FAULTS: dict[str, tuple[Any, type[CalibrantError], str]] = {
    "no confidence": ([inspect_sample(0, "t", output={}, scores={"s": {"value": "C"}})], ColumnError, "logprobs=True"),
    "no score": ([inspect_sample(0, "t", output={}, scores=None)], InputError, "no score"),
    "no samples": ([], ColumnError, "log_samples"),
    "not in the choices": ([inspect_sample(0, "Z")], InputError, "not among the choices"),
    "twice": ([inspect_sample(0, "A"), inspect_sample(0, "A")], InputError, "occurs twice"),
}


@pytest.mark.parametrize("name", list(INSPECT_FAULTS))
def test_faults_of_inspect(tmp_path: Path, name: str) -> None:
    samples, error, words = INSPECT_FAULTS[name]
    with pytest.raises(error, match=words):
        cal.input.read_inspect(write_inspect(tmp_path, samples))


def test_other_files_are_no_logs(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"eval": {}}\n')
    with pytest.raises(ColumnError, match="inspect log convert"):
        cal.input.read_inspect(tmp_path / "other.json")
    path = write_inspect(tmp_path, [inspect_sample(0, "t", output={})])
    with pytest.raises(ArgumentError, match="its scores are choice"):
        cal.input.read_inspect(path, scorer="match")


def request(number: int, right: int, with_tokens: bool = True) -> dict[str, Any]:
    """A request of a jointly asked multiple choice."""
    texts = ["14N", "2H", "19F"]
    references = [{"output": {"text": text}, "tags": ["correct"] if i == right else []} for i, text in enumerate(texts)]
    token = {"text": "A", "logprob": TOKENS["A"], **({"top_logprobs": TOKENS} if with_tokens else {})}
    return {
        "instance": {"id": f"id{number}", "input": {"text": "Which?"}, "references": references, "split": "test"},
        "request_mode": "original",
        "train_trial_index": 0,
        "output_mapping": dict(zip("ABC", texts, strict=True)),
        "result": {"success": True, "completions": [{"text": "A", "logprob": TOKENS["A"], "tokens": [token]}]},
    }


def stats(number: int, prob: float, match: float, **more: Any) -> dict[str, Any]:
    names = {"max_prob": prob, "exact_match": match, "num_references": 3}
    listed = [{"name": {"name": name, "split": "test"}, "count": 1, "sum": value} for name, value in names.items()]
    return {"instance_id": f"id{number}", "train_trial_index": 0, "stats": listed, **more}


def write_helm(folder: Path, requests: list[Any], instances: list[Any]) -> Path:
    run = folder / "mmlu:subject=chemistry"
    run.mkdir(exist_ok=True)
    (run / "scenario_state.json").write_text(json.dumps({"adapter_spec": {}, "request_states": requests}, indent=2))
    (run / "per_instance_stats.json").write_text(json.dumps(instances, indent=2))
    return run


def test_choices_of_helm(tmp_path: Path) -> None:
    run = write_helm(tmp_path, [request(0, 0), request(1, 1), request(2, 2)], [])
    found = cal.input.read_helm(run)
    np.testing.assert_allclose(found.probs, [np.array([0.6, 0.3, 0.08]) / 0.98] * 3, atol=1e-12)
    assert (found.labels.tolist(), found.classes) == ([0, 1, 2], ("A", "B", "C"))
    assert list(found.group_names) == ["mmlu:subject=chemistry"]


def test_statistics_of_helm(tmp_path: Path) -> None:
    instances = [stats(0, 0.6, 1.0), stats(1, 0.7, 0.0), stats(2, 0.5, 1.0, perturbation={"name": "typos"})]
    run = write_helm(tmp_path, [request(0, 0, False), request(1, 1, False)], instances)
    for path in (run, run / "per_instance_stats.json", [str(run)]):
        with pytest.warns(InputWarning, match="no probabilities of choices"):
            found = cal.input.read_helm(path, by="split")
        assert (found.probs.tolist(), found.labels.tolist()) == ([0.6, 0.7], [1, 0])
        assert list(found.group_names) == ["test"]
    with pytest.raises(ColumnError, match="no probabilities of tokens"):
        cal.input.read_helm(run / "scenario_state.json")


@pytest.mark.parametrize(
    ("instances", "error", "words"),
    [
        ([{"instance_id": "a", "stats": []}], ColumnError, "no max_prob"),
        ([{"instance_id": "a"}], ColumnError, "not an instance of HELM"),
        ([stats(0, 0.5, 1.0), stats(0, 0.5, 1.0)], InputError, "occurs twice"),
    ],
)
def test_faults_of_helm(tmp_path: Path, instances: Any, error: type[CalibrantError], words: str) -> None:
    with pytest.raises(error, match=words):
        cal.input.read_helm(write_helm(tmp_path, [], instances))


def test_command_line_reads_both(tmp_path: Path, run: Any) -> None:
    log = write_inspect(tmp_path, [inspect_sample(i, "ABC"[i % 3]) for i in range(30)])
    code, out, err = run("evaluate", log, "--format", "inspect", "--by", "subject", "--metrics", "nll", "--json")
    assert code == 0, err
    assert json.loads(out)["metrics"][0]["value"] == pytest.approx(cal.nll(cal.input.read_inspect(log)))
    write_helm(tmp_path, [], [stats(i, 0.5 + i / 100, float(i % 2)) for i in range(30)])
    file = tmp_path / "mmlu:subject=chemistry" / "per_instance_stats.json"
    code, out, err = run("evaluate", file, "--format", "helm", "--metrics", "brier", "--json")
    assert code == 0, err
    assert json.loads(out)["header"]["n"] == 30
