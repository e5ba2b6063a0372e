"""Logs of language models: samples of lm-evaluation-harness, and responses with token log probabilities in the format of OpenAI."""

from __future__ import annotations

import ast
import csv
import glob
import gzip
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, ColumnError, FileError, InputError, InputWarning, warn_caller
from ..util.arrays import Floats
from ..util.checks import check_choice
from .frames import as_booleans
from .predictions import Predictions

LengthNorm = Literal["none", "characters", "bytes"]

# Text fields of a question longer than this are its content, not a property such as the subject.
SHORT_TEXT = 80
# A share of the probability on the choices below this is reported.
LOW_MASS = 0.95
# Log probabilities of this size mark a token that is not among the most probable ones.
UNLISTED = -9000.0
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Fields with the correct answer of a record, in order of preference.
TRUTHS = ("label", "answer", "target", "truth", "correct_answer", "expected", "gold")
IDS = ("custom_id", "id", "question_id", "doc_id")


@dataclass(frozen=True)
class AnswerTable:
    """One row per question.

    Parameters
    ----------
    columns : dict of str to numpy.ndarray
        Task, number and properties of each question; ``confidence`` and ``correct`` of the chosen answer; and, if all questions have the
        same number of choices, the ``label`` and one probability ``p_NAME`` for each choice.
    classes : tuple or None
        Names of the choices; None if their numbers differ or the correct one is unknown.
    why : str
        Why there are no probabilities of choices.
    """

    columns: dict[str, NDArray[Any]]
    classes: tuple[Any, ...] | None
    why: str = ""

    @property
    def probs(self) -> list[str]:
        """Columns of probabilities."""
        return [f"p_{name}" for name in self.classes or ()]

    def predictions(self, by: str | None) -> Predictions:
        """The choices as classes, or the confidence in the chosen answer and whether it is correct."""
        groups = None
        if by is not None:
            if by not in self.columns:
                names = ", ".join(name for name in self.columns if not name.startswith("p_"))
                raise ColumnError("by", f"unknown field {by!r}", f"the fields are {names}")
            groups = self.columns[by]
        if self.classes is None:
            correct = self.columns["correct"].astype(np.int64)
            return Predictions(correct, self.columns["confidence"], input="confidence", groups=groups)
        probs = np.column_stack([self.columns[name] for name in self.probs])
        predictions = Predictions(self.columns["label"], probs, classes=list(self.classes), groups=groups)
        predictions.label_name = "answer"
        return predictions


def read_lm_harness(path: Any, *, length_norm: LengthNorm = "none", by: str | None = "task") -> Predictions:
    """Read multiple-choice answers from the sample logs of lm-evaluation-harness.

    The harness writes one file per task, ``samples_TASK_DATE.jsonl``, if it is run with ``--log_samples``. The probability of a choice is the
    softmax of the log-likelihoods of all choices of the question.

    Parameters
    ----------
    path : str, path or list of these
        Log files (``.jsonl`` or ``.json``, also packed as ``.gz``), a pattern such as ``"results/model/samples_mmlu_*.jsonl"``, or a folder.
    length_norm : {"none", "characters", "bytes"}, default "none"
        Divide each log-likelihood by the length of the choice before the softmax, as the metrics ``acc_norm`` and ``acc_bytes`` of the
        harness do. The result ranks the choices as these metrics do; it is not the probability of a text.
    by : str or None, default "task"
        Field used as the group of each question: ``"task"``, or a field of the documents, such as ``"subject"``.

    Returns
    -------
    Predictions
        With one class per choice. If the numbers of choices differ, or the correct choice is known only as the logged accuracy, with
        ``input="confidence"``: the probability of the chosen answer, and whether it is correct.

    Raises
    ------
    FileError
        If a file does not exist, or a line is not valid JSON.
    InputError
        If a log-likelihood is missing or NaN, a question occurs twice, or correct answers contradict the logged accuracy.
    ColumnError
        If the log has no log-likelihoods of choices, as that of a task with generated text; the message lists its fields.

    Warns
    -----
    InputWarning
        If confidences are returned.

    See Also
    --------
    read_openai_logprobs : Responses with log probabilities of tokens.
    Predictions : Probabilities from other sources.

    Notes
    -----
    The target of a question is the index of the correct choice, from 0, or its text or letter. Each answer is checked against the accuracy that
    the harness logged (``acc``; ``acc_norm`` or ``acc_bytes`` with `length_norm`); an integer is a text where that, unlike the index, agrees with
    it. Ties go to the first choice, as in the harness. Of several filters of a task, the samples of the filter ``none`` are read.

    Examples
    --------
    >>> import json, tempfile
    >>> import calibrant as cal
    >>> sample = {
    ...     "doc_id": 0,
    ...     "doc": {"subject": "anatomy"},
    ...     "target": "1",
    ...     "filter": "none",
    ...     "filtered_resps": [["-1.5", "False"], ["-0.5", "True"]],
    ...     "acc": 1.0,
    ... }
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as log:
    ...     print(json.dumps(sample), file=log, flush=True)
    ...     predictions = cal.input.read_lm_harness(log.name, by="subject")
    >>> predictions.probs.round(4).tolist(), predictions.labels.tolist()
    ([[0.2689, 0.7311]], [1])
    """
    return predictions_of_answers(harness_table(path, length_norm), by)


def predictions_of_answers(table: AnswerTable, by: str | None) -> Predictions:
    """The predictions of a table, with a warning where they are confidences."""
    if table.classes is None:
        warn_caller(InputWarning("path", f"{table.why}; confidences and correctness are read"))
    return table.predictions(by)


class _Question(NamedTuple):
    """One sample of the harness."""

    place: str
    task: str
    doc: Any
    fields: Mapping[str, Any]
    scores: Floats
    texts: tuple[str, ...] | None
    target: Any
    accuracy: float | None
    """Whether the harness counted the answer as correct; None if that is not logged."""


def harness_table(path: Any, length_norm: LengthNorm = "none") -> AnswerTable:
    """The answers in sample logs of lm-evaluation-harness; parameters as for `read_lm_harness`."""
    check_choice(length_norm, "length_norm", tuple(LENGTHS))
    metric = LENGTHS[length_norm]
    questions = [
        _question(place, _task(file, record), record, metric)
        for file in log_files(path, "samples_*.json*")
        for place, record in log_records(file)
        if not isinstance(record, Mapping) or record.get("filter", "none") == "none"
    ]
    if not questions:
        raise ColumnError("path", "has no samples of the filter none", "evaluate a multiple-choice task")
    place_of: dict[Any, str] = {}
    for question in questions:
        key = (question.task, str(question.doc)) if question.doc is not None else (question.place,)
        if place_of.setdefault(key, question.place) != question.place:
            problem = f"doc_id {question.doc} of task {question.task} occurs twice ({place_of[key]}; {question.place})"
            raise InputError("path", problem, "read the log of one run and one model at a time")
    questions = [question for _, question in sorted(enumerate(questions), key=lambda pair: (pair[1].task, pair[0]))]
    probs = [_probabilities(question, length_norm) for question in questions]
    chosen = [int(p.argmax()) for p in probs]
    answers: list[set[int] | None] = []
    for _, pairs in groupby(zip(questions, chosen, strict=True), key=lambda pair: pair[0].task):
        of_task, choices_of_task = zip(*pairs, strict=True)
        answers += _answers(of_task, choices_of_task, metric)
    correct = [
        bool(question.accuracy) if answer is None else choice in answer
        for question, choice, answer in zip(questions, chosen, answers, strict=True)
    ]
    columns = {
        "task": as_texts(question.task for question in questions),
        "doc_id": as_column([question.doc for question in questions]),
        **short_fields([question.fields for question in questions]),
        "n_choices": np.array([len(p) for p in probs]),
        "confidence": np.array([p.max() for p in probs]),
        "correct": np.array(correct),
    }
    numbers = sorted({len(p) for p in probs})
    unknown = sum(answer is None or len(answer) != 1 for answer in answers)
    if len(numbers) > 1:
        return AnswerTable(columns, None, f"questions have between {numbers[0]} and {numbers[-1]} choices")
    if unknown:
        reason = "the correct choice is not the only one, or known only as the logged accuracy"
        return AnswerTable(columns, None, f"in {unknown:,} of {len(questions):,} questions {reason}")
    # The texts of the choices if all questions have the same, such as letters or yes and no; else their numbers.
    choices = {
        None if question.texts is None else tuple(text.strip() for text in question.texts) for question in questions
    }
    classes: tuple[Any, ...] = tuple(range(numbers[0]))
    if len(choices) == 1 and (names := choices.pop()) is not None and len(set(names)) == numbers[0]:
        classes = names if all(re.fullmatch(r"[^,*]{1,80}", name) for name in names) else classes
    columns["label"] = as_column([classes[next(iter(answer))] for answer in answers if answer])
    for position, name in enumerate(classes):
        columns[f"p_{name}"] = np.array([p[position] for p in probs])
    return AnswerTable(columns, classes)


# The logged accuracy that belongs to each normalization.
LENGTHS = {"none": "acc", "characters": "acc_norm", "bytes": "acc_bytes"}


def log_files(path: Any, inside: str) -> list[Path]:
    """The files of a name, a pattern, a folder or a list of these."""
    files: list[Path] = []
    for entry in path if isinstance(path, (list, tuple)) else [path]:
        if not isinstance(entry, (str, Path)):
            raise ArgumentError("path", f"must be a file name, a pattern or a folder; got {entry!r}")
        location = Path(entry)
        if location.is_dir():
            matched = sorted(location.glob(f"**/{inside}"))
        elif location.exists():
            matched = [location]
        else:
            matched = sorted(Path(name) for name in glob.glob(str(entry), recursive=True))
        if not matched:
            problem = f"the folder has no file {inside}" if location.is_dir() else "no such file"
            raise FileError(str(entry), problem, "check the name")
        files += matched
    return list(dict.fromkeys(files))


def _text(file: Path) -> str:
    """The text of a file, which may be packed."""
    try:
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(str(file), f"cannot be read: {error}", "check the file") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(str(file), "is not UTF-8 text", "save it as UTF-8") from None
    if not text.strip():
        raise FileError(str(file), "is empty", "check the program that wrote it")
    return text


def log_records(file: Path) -> list[tuple[str, Any]]:
    """The JSON objects of a file with their places: one per line, or a list."""
    text = _text(file)
    with suppress(ValueError):  # one document, which may span several lines
        document = json.loads(text)
        if isinstance(document, list) or "\n" in text.strip():
            items = document if isinstance(document, list) else [document]
            return [(f"{file.name}, entry {place:,}", item) for place, item in enumerate(items)]
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    records: list[tuple[str, Any]] = []
    for number, line in lines:
        try:
            records.append((f"{file.name}, line {number:,}", json.loads(line)))
        except ValueError as error:
            end = number == lines[-1][0]
            remedy = "the line is truncated; delete it or write the log again" if end else "check the line"
            raise FileError(str(file), f"line {number:,} is not valid JSON ({error})", remedy) from None
    return records


def _task(file: Path, record: Any) -> str:
    """The task of a sample, as it is logged or else as the name of the file has it."""
    name = re.sub(r"^samples_|(_\d{4}-\d\d-\d\dT[^_]*)?\.jsonl?(\.gz)?$", "", file.name)
    return str(record.get("task_name", name)) if isinstance(record, Mapping) else name


def _question(place: str, task: str, sample: Mapping[str, Any], metric: str) -> _Question:
    """A checked sample, with the logged accuracy that is called `metric`."""
    if not isinstance(sample, Mapping):
        raise ColumnError("path", f"{place} is not a sample of lm-evaluation-harness; got {_short_repr(sample)}")
    responses = sample.get("filtered_resps", sample.get("resps"))
    scores = None if not isinstance(responses, list) else _scores(responses)
    if scores is None or len(scores) < 2:
        problem = f"{place} has no log-likelihoods of two or more choices; its fields are {', '.join(map(str, sample))}"
        raise ColumnError("path", problem, "evaluate a multiple-choice task with --log_samples")
    if "acc_mutual_info" in sample:
        problem = f"{place} has unconditional log-likelihoods beside those of the choices"
        raise ColumnError("path", problem, "evaluate the task without acc_mutual_info")
    # The continuation of each request, in the form of the current or of older versions.
    arguments = sample.get("arguments")
    entries = list(arguments.values()) if isinstance(arguments, Mapping) else arguments
    entries = entries if isinstance(entries, list) else []
    requests = [list(entry.values()) if isinstance(entry, Mapping) else entry for entry in entries]
    have_text = all(isinstance(entry, list) and len(entry) >= 2 and isinstance(entry[1], str) for entry in requests)
    continuations = tuple(entry[1] for entry in requests) if have_text else ()
    texts = continuations if len(set(continuations)) == len(scores) else None
    doc = sample.get("doc")
    problem = ""
    if np.isnan(scores).any():
        problem = f"{int(np.isnan(scores).sum())} of {len(scores)} log-likelihoods are missing or NaN"
    elif (scores > 1e-6).any():
        problem = f"log-likelihoods must not be positive; got {float(scores.max()):g}"
    elif not (scores > -np.inf).any():
        problem = "every choice has the log-likelihood -inf"
    if problem:
        raise InputError("path", f"{place}: {problem}", "check the log, or drop the question")
    accuracy = sample.get(metric)
    has_accuracy = isinstance(accuracy, (int, float)) and math.isfinite(accuracy)
    return _Question(
        place=place,
        task=task,
        doc=sample.get("doc_id"),
        fields=doc if isinstance(doc, Mapping) else {},
        scores=scores,
        texts=texts,
        target=sample.get("target"),
        accuracy=accuracy if has_accuracy else None,
    )


def _scores(responses: list[Any]) -> Floats | None:
    """The log-likelihood of each choice, which is written as a number or a text, alone or with a Boolean; None for other text."""
    values = []
    for response in responses:
        nested = response
        while isinstance(nested, (list, tuple)) and 1 <= len(nested) <= 2:
            nested = nested[0]
        try:
            values.append(float("nan") if nested is None else float(nested))
        except (TypeError, ValueError, OverflowError):
            return None
    return np.array(values)


def _probabilities(question: _Question, length_norm: LengthNorm) -> Floats:
    """The probabilities of the choices of a question."""
    if length_norm == "none":
        return _softmax(question.scores)
    # The harness counts the choice without the space before it.
    texts = [text.removeprefix(" ") for text in question.texts or ()]
    if not texts or not all(texts):
        problem = f"{question.place} does not log the text of each choice, whose length is required"
        raise ArgumentError("length_norm", problem, "use length_norm='none'")
    return _softmax(question.scores / np.array([len(t if length_norm == "characters" else t.encode()) for t in texts]))


def _softmax(scores: Floats) -> Floats:
    exponentials = np.exp(scores - scores.max())
    return np.asarray(exponentials / exponentials.sum())


def _answers(questions: Sequence[_Question], chosen: Sequence[int], metric: str) -> list[set[int] | None]:
    """The correct choices of the questions of a task; None where they are known only as the logged accuracy, which is called `metric`."""
    reading = _choose_reading(questions, chosen, metric)
    contradictions = _contradictions(questions, chosen, reading)
    if contradictions:
        question, choice = questions[contradictions[0]], chosen[contradictions[0]]
        problem = (
            f"in {len(contradictions):,} of {len(questions):,} questions of task {question.task} the field target contradicts the logged "
            f"{metric} (first: {question.place}, target {question.target!r}, most probable choice {choice})"
        )
        raise InputError("target", problem, "check how the task scores its answers")
    return [
        _choice_from_accuracy(question, choice, metric) if answer is None else answer
        for question, choice, answer in zip(questions, chosen, reading, strict=True)
    ]


def _choose_reading(questions: Sequence[_Question], chosen: Sequence[int], metric: str) -> list[set[int] | None]:
    """The targets read as indices, or as texts if that leaves fewer unknown or contradicts the logged accuracy less often."""
    by_index, by_text = ([_target_choices(question, how) for question in questions] for how in ("index", "text"))
    for question, index, text in zip(questions, by_index, by_text, strict=True):
        if question.accuracy is None and None not in (index, text) and index != text:
            problem = f"{question.place}: {question.target!r} is the index of a choice and the text of another"
            raise InputError("target", problem, f"log the metric {metric}, which tells which is meant")
    return min(
        by_index, by_text, key=lambda reading: (reading.count(None), len(_contradictions(questions, chosen, reading)))
    )


def _contradictions(
    questions: Sequence[_Question], chosen: Sequence[int], answers: Sequence[set[int] | None]
) -> list[int]:
    """Positions of the questions whose answer contradicts the logged accuracy of the chosen one."""
    return [
        i
        for i, (question, choice, answer) in enumerate(zip(questions, chosen, answers, strict=True))
        if answer is not None and question.accuracy is not None and (choice in answer) != bool(question.accuracy)
    ]


def _choice_from_accuracy(question: _Question, chosen: int, metric: str) -> set[int] | None:
    """The correct choice from the logged accuracy: the chosen one, or the other of two; None if it is one of several others."""
    if question.accuracy is None:
        problem = (
            f"{question.place}: the target {_short_repr(question.target)} is not one of {len(question.scores)} choices"
        )
        raise InputError("target", problem, f"log the metric {metric}, which tells whether the answer is correct")
    if question.accuracy:
        return {chosen}
    return {1 - chosen} if len(question.scores) == 2 else None


def _target_choices(question: _Question, how: str) -> set[int] | None:
    """The choices that the target names: an index from 0, a text, a letter, or a list of these; None if it names none."""
    target = question.target
    if isinstance(target, str) and re.fullmatch(r"\[.*\]", target.strip(), re.DOTALL):
        try:
            target = ast.literal_eval(target.strip())
        except (ValueError, SyntaxError):
            target = question.target
    if isinstance(target, (list, tuple)):
        several = [_choice_index(question, item, how) for item in target]
        return None if not several or None in several else {index for index in several if index is not None}
    index = _choice_index(question, target, how)
    return None if index is None else {index}


def _choice_index(question: _Question, target: Any, how: str) -> int | None:
    count = len(question.scores)
    text = str(target).strip()
    texts = [] if question.texts is None else [choice.strip() for choice in question.texts]
    if how == "index" and re.fullmatch(r"\d{1,4}(\.0)?", text) and not isinstance(target, bool):
        index = int(float(text))
        return index if index < count else None
    if texts.count(text) == 1:
        return texts.index(text)
    letter = text.strip("().: ")
    if len(letter) == 1 and letter in LETTERS[:count]:
        return LETTERS.index(letter)
    return None


# Names of columns that a field of a document cannot replace.
RESERVED = ("task", "doc_id", "n_choices", "confidence", "correct", "label", "choice_mass", "id")


def short_fields(fields: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """Short fields that all documents have, such as the subject."""
    shared = [name for name in fields[0] if all(name in record for record in fields)] if fields else []
    columns = {}
    for name in shared:
        values = [record[name] for record in fields]
        is_short = all(isinstance(v, (str, int, float, bool)) and len(str(v)) <= SHORT_TEXT for v in values)
        if is_short and isinstance(name, str) and name not in RESERVED and not name.startswith("p_"):
            columns[name] = as_column(values)
    return columns


def as_texts(values: Iterable[Any]) -> NDArray[Any]:
    """Values as text."""
    return np.array([str(value) for value in values], dtype=object)


def as_column(values: Sequence[Any]) -> NDArray[Any]:
    """Values of one kind as an array; others as text."""
    types = {type(value) for value in values}
    if types <= {int} or types <= {bool}:
        return np.array(values)
    if types <= {int, float}:
        return np.array(values, dtype=np.float64)
    return as_texts(values)


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_openai_logprobs(
    path: Any,
    *,
    choices: str | Sequence[str] = "ABCD",
    label: Any = None,
    position: int = 0,
    failed: Literal["raise", "drop"] = "raise",
    by: str | None = None,
) -> Predictions:
    """Read multiple-choice answers from responses with token log probabilities in the format of OpenAI.

    Chat completions (``choices[0].logprobs.content``), completions (``choices[0].logprobs.top_logprobs``), the Responses API and the output of the
    Batch API are recognised, one response per line. Many servers of other models write the same formats. Request the log probabilities with
    ``logprobs=True, top_logprobs=20``.

    Parameters
    ----------
    path : str, path or list of these
        Files (``.jsonl`` or ``.json``, also packed as ``.gz``), a pattern, or a folder of ``.jsonl`` files.
    choices : str or sequence of str, default "ABCD"
        The answers: the letters of a text, or a sequence such as ``["yes", "no"]``. Each must be one token.
    label : str or mapping, optional
        The correct answers: a field of the records or of their ``metadata``; or a CSV or JSON lines file, or a mapping, from the
        identifier (``custom_id``) to the answer. An integer is the index of a choice, from 0, unless choices are numbers. By default the
        first field that is called label, answer, target, truth, correct_answer, expected or gold, or else correct, which tells whether the
        response is correct.
    position : int, default 0
        Position of the token that is the answer; -1 is the last token, for responses that end with it.
    failed : {"raise", "drop"}, default "raise"
        Whether responses without log probabilities or without a choice at this position raise an error, or are left out with a warning.
    by : str, optional
        Field of the records used as the group of each response.

    Returns
    -------
    Predictions
        With one class per choice, or with ``input="confidence"`` if only the correctness of each response is known.

    Raises
    ------
    FileError
        If a file does not exist, or a line is not valid JSON.
    ColumnError
        If there are no log probabilities or no correct answers; the message lists the fields found.
    InputError
        If responses failed, identifiers occur twice, or a correct answer is not a choice.

    Warns
    -----
    InputWarning
        If the choices have on average less than 95% of the probability, or responses were left out.

    See Also
    --------
    read_lm_harness : Logs of lm-evaluation-harness.

    Notes
    -----
    The probability of a choice is the sum over its tokens, with and without a leading space and punctuation (``"A"``, ``" A"``, ``"(A"``);
    words match in any case, single letters in the given case. Probabilities are divided by their sum over the choices. A choice that is not
    among the listed tokens has at most the probability of the least probable listed token, and at most the remaining mass; this bound,
    shared by the missing choices, is its probability.

    Examples
    --------
    >>> import json, tempfile
    >>> import calibrant as cal
    >>> top = [{"token": "A", "logprob": -0.3}, {"token": " B", "logprob": -1.5}]
    >>> content = [{"token": "A", "logprob": -0.3, "top_logprobs": top}]
    >>> record = {"answer": "A", "choices": [{"logprobs": {"content": content}}]}
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as log:
    ...     print(json.dumps(record), file=log, flush=True)
    ...     predictions = cal.input.read_openai_logprobs(log.name, choices="AB")
    >>> predictions.probs.round(4).tolist(), predictions.labels.tolist()
    ([[0.7685, 0.2315]], [0])
    """
    table = openai_table(path, choices, label, position, failed)
    mass = float(table.columns["choice_mass"].mean())
    if mass < LOW_MASS:
        low = int((table.columns["choice_mass"] < 0.5).sum())
        problem = f"the choices have {mass:.1%} of the probability on average, and less than half in {low:,} responses; the rest is left out"
        warn_caller(InputWarning("choices", problem, "check the prompt, the choices and the position of the answer"))
    return table.predictions(by)


def openai_table(
    path: Any,
    choices: str | Sequence[str] = "ABCD",
    label: Any = None,
    position: int = 0,
    failed: Literal["raise", "drop"] = "raise",
) -> AnswerTable:
    """The answers in responses with token log probabilities; parameters as for `read_openai_logprobs`."""
    records = [(place, record) for file in log_files(path, "*.jsonl*") for place, record in log_records(file)]
    return response_table(records, choices, label, position, failed)


def response_table(
    records: Sequence[tuple[str, Any]],
    choices: str | Sequence[str],
    label: Any,
    position: int = 0,
    failed: Literal["raise", "drop"] = "raise",
) -> AnswerTable:
    """The answers in responses, each with its place in a file; a reader of another format makes these responses of its own."""
    names = [name.strip() for name in choices] if not isinstance(choices, str) else list(choices.replace(" ", ""))
    if len(names) < 2 or len({_normalize_token(name) for name in names}) < len(names) or not all(names):
        raise ArgumentError("choices", f"must be two or more different answers; got {choices!r}", 'for example "ABCD"')
    check_choice(failed, "failed", ("raise", "drop"))
    if isinstance(position, bool) or not isinstance(position, int):
        raise ArgumentError("position", f"must be an integer; got {position!r}", "for example 0 or -1")
    for place, record in records:
        if not isinstance(record, Mapping):
            raise ColumnError("path", f"{place} is not a response; got {_short_repr(record)}", "")
    answers = [_answer(record, names, position) for _, record in records]
    unusable = [i for i, answer in enumerate(answers) if isinstance(answer, str)]
    if len(unusable) == len(records):
        fields = f"its fields are {', '.join(map(str, records[0][1]))}"
        remedy = "request logprobs=True and top_logprobs=20, or give choices and position"
        raise ColumnError("path", f"{records[0][0]}: {answers[0]} ({fields})", remedy)
    if unusable and failed == "raise":
        problem = f"{len(unusable):,} of {len(records):,} responses cannot be used; the first, {records[unusable[0]][0]}: {answers[unusable[0]]}"
        raise InputError("path", problem, "use failed='drop'")
    if unusable:
        warn_caller(
            InputWarning("path", f"{len(unusable):,} of {len(records):,} responses were left out", "check them")
        )
    usable = [i for i, answer in enumerate(answers) if not isinstance(answer, str)]
    ids = [next((record[name] for name in IDS if record.get(name) is not None), None) for _, record in records]
    counts = Counter(str(id) for id in ids if id is not None)
    repeated = next((id for id, count in counts.items() if count > 1), None)
    if repeated is not None:
        raise InputError("path", f"the identifier {repeated!r} occurs twice", "read the responses of one run")
    truths, are_correct = _answer_column(label, records, ids)
    probs = np.array([answers[i][0] for i in usable])
    columns: dict[str, NDArray[Any]] = {
        **short_fields([_own_fields(records[i][1]) for i in usable]),
        "id": as_texts("" if ids[i] is None else ids[i] for i in usable),
        "choice_mass": np.array([answers[i][1] for i in usable]),
        "confidence": probs.max(axis=1),
    }
    if are_correct:
        columns["correct"] = np.array([read_verdict(truths[i], records[i][0]) for i in usable])
        return AnswerTable(columns, None, "only the correctness of each response is known")
    labels = np.array([_choice(truths[i], names, records[i][0]) for i in usable])
    columns["correct"] = labels == probs.argmax(axis=1)
    columns["label"] = np.array([names[label] for label in labels], dtype=object)
    columns |= {f"p_{name}": probs[:, choice] for choice, name in enumerate(names)}
    return AnswerTable(columns, tuple(names))


def _normalize_token(token: str) -> str:
    """A token without space and punctuation; words without case."""
    text = token.strip(" \t\n\r\u2581\u0120().:,;*\"'`[]{}")
    return text if len(text) == 1 else text.lower()


def _body(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The response of a record, which may be wrapped as by the Batch API."""
    if isinstance(record.get("choices"), list) or isinstance(record.get("output"), list):
        return record
    for name in ("response", "body", "completion", "result", "output"):
        inner = record.get(name)
        if isinstance(inner, Mapping) and (nested := _body(inner)) is not None:
            return nested
    return None


def _positions(body: Mapping[str, Any]) -> list[dict[str, float]]:
    """For each position the listed tokens and their log probabilities."""
    if isinstance(body.get("choices"), list):
        logprobs = body["choices"][0].get("logprobs") if body["choices"] else None
        if isinstance(logprobs, Mapping) and isinstance(logprobs.get("top_logprobs"), list):
            tops, tokens = logprobs["top_logprobs"], logprobs.get("tokens") or []
            values = logprobs.get("token_logprobs") or []
            generated = [
                {} if value is None else {token: value} for token, value in zip(tokens, values, strict=False)
            ] or [{} for _ in tops]
            return [{**first, **(top or {})} for first, top in zip(generated, tops, strict=False)]
        content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    else:
        texts = [text for item in body["output"] if isinstance(item, Mapping) for text in item.get("content") or []]
        content = [token for text in texts if isinstance(text, Mapping) for token in text.get("logprobs") or []]
    candidates = [[token, *(token.get("top_logprobs") or [])] for token in content or []]
    return [{token["token"]: token["logprob"] for token in tokens} for tokens in candidates]


def _answer(record: Mapping[str, Any], names: Sequence[str], position: int) -> tuple[list[float], float] | str:
    """The probability of each choice and their sum before scaling, or the reason why it is unknown."""
    if record.get("error"):
        return f"the request failed ({_short_repr(record['error'])})"
    body = _body(record)
    if body is None:
        return "has no choices with log probabilities"
    try:
        positions = _positions(body)
        logprobs = {token: float(value) for token, value in positions[position].items()} if positions else {}
    except IndexError:
        return f"has {len(positions)} tokens, and none at position {position}"
    except (KeyError, TypeError, ValueError, AttributeError):
        return "has log probabilities in an unknown format"
    if not positions:
        return "has no log probabilities"
    if any(math.isnan(value) or value > 1e-6 for value in logprobs.values()):
        return "has log probabilities that are NaN or positive"
    likely = {token: math.exp(value) for token, value in logprobs.items() if value > UNLISTED}
    sums = [
        math.fsum(p for token, p in likely.items() if _normalize_token(token) == _normalize_token(name))
        for name in names
    ]
    mass = math.fsum(sums)
    if not mass:
        tokens = ", ".join(repr(token) for token in list(logprobs)[:5])
        return f"none of the choices is among the tokens at position {position} ({tokens})"
    missing = sum(not p for p in sums)
    unlisted_mass = max(0.0, 1 - math.fsum(likely.values()))
    bound = min(min(likely.values()), unlisted_mass / missing) if missing else 0.0
    total = math.fsum(p or bound for p in sums)
    return [(p or bound) / total for p in sums], min(mass, 1.0)


def _answer_column(label: Any, records: Sequence[tuple[str, Any]], ids: Sequence[Any]) -> tuple[list[Any], bool]:
    """The correct answer of each record, or its correctness; and whether it is the latter."""
    fields = [_own_fields(record) for _, record in records]
    if label is None or (isinstance(label, str) and not Path(label).is_file()):
        candidates = (*TRUTHS, "correct") if label is None else (label,)
        name = next((name for name in candidates if all(name in record for record in fields)), None)
        if name is None:
            problem = f"no field has the correct answers; the fields are {', '.join(map(str, fields[0])) or 'none'}"
            raise ColumnError("label", problem, "name a field that every record has, or a file")
        return [record[name] for record in fields], name == "correct"
    if isinstance(label, (str, Path)):
        label = _read_answers(Path(label))
    answers = {str(id): answer for id, answer in label.items()}
    unanswered = next((i for i, id in enumerate(ids) if str(id) not in answers), None)
    if unanswered is not None:
        problem = f"{records[unanswered][0]}: no correct answer for the identifier {ids[unanswered]!r}"
        raise InputError("label", problem, f"the identifiers are {', '.join(list(answers)[:3])}, ...")
    return [answers[str(id)] for id in ids], False


def _read_answers(file: Path) -> dict[str, Any]:
    """Correct answers by identifier, from a CSV or JSON lines file."""
    if re.search(r"\.jsonl?(\.gz)?$", file.name.lower()):
        rows = [record for _, record in log_records(file) if isinstance(record, Mapping)]
    else:
        rows = list(csv.DictReader(io.StringIO(_text(file))))
    names = list(rows[0]) if rows else []
    key = next((name for name in IDS if name in names), None)
    answer = next((name for name in TRUTHS if name in names), None)
    if key is None or answer is None:
        problem = f"{file} has no column {'custom_id or id' if key is None else 'answer or label'}"
        raise ColumnError("label", f"{problem}; its columns are {', '.join(map(str, names))}", "rename them")
    incomplete = next((line for line, row in enumerate(rows, 1) if None in (row.get(key), row.get(answer))), None)
    if incomplete is not None:
        raise InputError("label", f"{file}: entry {incomplete:,} has no {key} or no {answer}", "complete or delete it")
    answers = {str(row[key]): row[answer] for row in rows}
    if len(answers) < len(rows):
        raise InputError("label", f"{file}: an identifier occurs twice", "give one answer for each")
    return answers


def _own_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a record that are not part of the response."""
    response = ("choices", "response", "body", "object", "created", "model", "usage", "error", "system_fingerprint")
    fields = {name: value for name, value in record.items() if name not in response and name != "output"}
    metadata = record.get("metadata")
    return {**(metadata if isinstance(metadata, Mapping) else {}), **fields}


def _choice(answer: Any, names: Sequence[str], position: str) -> int:
    """The place of the correct answer among the choices; an integer counts from 0."""
    choices = [_normalize_token(name) for name in names]
    text = _normalize_token(str(answer))
    if text in choices:
        return choices.index(text)
    is_index = re.fullmatch(r"[0-9]{1,4}", text) and not any(choice.isdigit() for choice in choices)
    if is_index and not isinstance(answer, bool) and int(text) < len(names):
        return int(text)
    raise InputError(
        "label", f"{position}: the correct answer {_short_repr(answer)} is not among the choices {', '.join(names)}"
    )


def read_verdict(value: Any, position: str) -> bool:
    """Whether a verdict, such as 1, true or correct, says that an answer is correct."""
    text = str(value).strip().lower().removesuffix(".0")
    truth = as_booleans([{"right": "correct", "wrong": "incorrect"}.get(text, text)])
    if truth is None:
        raise InputError("label", f"{position}: correct must be true or false; got {_short_repr(value)}")
    return truth[0]
