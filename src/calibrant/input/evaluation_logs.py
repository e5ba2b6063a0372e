"""Logs of Inspect and HELM, and the table of all formats of logs of language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..errors import ArgumentError, ColumnError, InputError
from .language_models import (
    LENGTHS,
    LETTERS,
    AnswerTable,
    as_column,
    harness_table,
    log_files,
    log_records,
    openai_table,
    predictions_of_answers,
    read_verdict,
    response_table,
    short_fields,
)
from .predictions import Predictions

Record = Mapping[str, Any]
# Verdicts that the scorers of Inspect write; a partial answer is not correct.
VERDICTS = {"C": True, "I": False, "P": False, "N": False}
STATS = "per_instance_stats.json"


def read_inspect(path: Any, *, scorer: str | None = None, by: str | None = "task") -> Predictions:
    """Read answers from the logs of Inspect.

    With token log probabilities (``GenerateConfig(logprobs=True, top_logprobs=20)``) the choices of a multiple-choice task are classes, as in
    `read_openai_logprobs`. Otherwise the confidence that a scorer wrote into the metadata of its score is read, with its verdict.

    Parameters
    ----------
    path : str, path or list of these
        Log files in the format ``.json`` (``inspect eval --log-format json``, or ``inspect log convert --to json``), a pattern, or a folder.
    scorer : str, optional
        Name of the scorer; by default the first of each sample.
    by : str or None, default "task"
        Field used as the group of each sample: ``"task"``, ``"epoch"``, or a field of the metadata of the samples.

    Returns
    -------
    Predictions
        With one class per choice, or with ``input="confidence"``.

    Raises
    ------
    FileError
        If a file does not exist or is not JSON.
    ColumnError
        If a file is not a log, or has neither log probabilities nor confidences.
    InputError
        If a sample has no score, or failed.

    Warns
    -----
    InputWarning
        If confidences are returned.

    See Also
    --------
    read_helm : Runs of HELM.
    read_openai_logprobs : Responses in the format of OpenAI.

    Notes
    -----
    The target of a choice is its letter. Values of scores are ``"C"`` for a correct answer, ``"I"``, ``"P"`` (partially correct) and ``"N"`` (no
    answer) for others, a truth value, or 0 and 1. A confidence is a number from 0 to 1 named ``confidence``.

    Examples
    --------
    >>> import json, tempfile
    >>> import calibrant as cal
    >>> score = {"value": "C", "metadata": {"confidence": 0.9}}
    >>> sample = {"id": 1, "epoch": 1, "target": "Paris", "scores": {"match": score}, "output": {"choices": []}}
    >>> log = {"eval": {"task": "capitals"}, "samples": [sample]}
    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file, cal.errors.no_warnings():
    ...     print(json.dumps(log), file=file, flush=True)
    ...     predictions = cal.input.read_inspect(file.name)
    >>> predictions.probs.tolist(), predictions.labels.tolist()
    ([0.9], [1])
    """
    return predictions_of_answers(inspect_table(path, scorer), by)


def read_helm(path: Any, *, by: str | None = "task") -> Predictions:
    """Read answers from runs of HELM.

    Parameters
    ----------
    path : str, path or list of these
        Folders of runs, or files ``scenario_state.json`` or ``per_instance_stats.json`` in them; of a folder with both, the former is read if it
        lists the probabilities of tokens, which runs before 2024 do.
    by : str or None, default "task"
        Field used as the group of each instance: ``"task"``, the name of the run's folder, or ``"split"``.

    Returns
    -------
    Predictions
        With one class per choice for multiple choices asked jointly; else with ``input="confidence"``: ``max_prob``, and whether
        ``exact_match`` is 1.

    Raises
    ------
    FileError
        If a file does not exist or is not JSON.
    ColumnError
        If a run has neither probabilities of tokens nor the statistics ``max_prob`` and ``exact_match``.
    InputError
        If an instance occurs twice, as with several train trials.

    Warns
    -----
    InputWarning
        If confidences are returned.

    See Also
    --------
    read_inspect : Logs of Inspect.
    read_lm_harness : Logs of lm-evaluation-harness.

    Notes
    -----
    ``max_prob`` is the probability that HELM uses in its own calibration errors: that of the generated text, or the softmax over the references.
    Perturbed instances are left out.

    Examples
    --------
    >>> import json, tempfile
    >>> import calibrant as cal
    >>> stats = [{"name": {"name": name}, "count": 1, "sum": value} for name, value in (("max_prob", 0.8), ("exact_match", 1.0))]
    >>> with tempfile.NamedTemporaryFile("w", suffix="per_instance_stats.json") as file, cal.errors.no_warnings():
    ...     print(json.dumps([{"instance_id": "id1", "train_trial_index": 0, "stats": stats}]), file=file, flush=True)
    ...     predictions = cal.input.read_helm(file.name)
    >>> predictions.probs.tolist(), predictions.labels.tolist()
    ([0.8], [1])
    """
    return predictions_of_answers(helm_table(path), by)


def inspect_table(path: Any, scorer: str | None = None) -> AnswerTable:
    """The answers in logs of Inspect; parameters as for `read_inspect`."""
    samples = []
    for file in log_files(path, "*.json"):
        for position, log in log_records(file):
            if not isinstance(log, Mapping) or not isinstance(log.get("samples"), list):
                remedy = "write logs as JSON: inspect log convert FILE --to json --output-dir FOLDER"
                raise ColumnError("path", f"{position} is not a log of Inspect with samples", remedy)
            task = log.get("eval", {}).get("task", file.stem)
            samples += [(f"{position}, sample {each.get('id')}", task, each) for each in log["samples"]]
    if not samples:
        raise ColumnError("path", "the logs have no samples", "run the evaluation with log_samples")
    counts = {len(sample.get("choices") or ()) for _, _, sample in samples}
    choices = [(sample.get("output") or {}).get("choices") or [{}] for _, _, sample in samples]
    if len(counts) == 1 and min(counts) > 1 and all(each[0].get("logprobs") for each in choices):
        responses = [
            (
                position,
                {**_inspect_fields(task, sample), "choices": sample["output"]["choices"], "answer": sample["target"]},
            )
            for position, task, sample in samples
        ]
        return _choice_table(responses, min(counts))
    return _confidence_table(
        [_inspect_fields(task, sample) for _, task, sample in samples],
        [_inspect_score(position, sample, scorer) for position, _, sample in samples],
        "the log has no token log probabilities of choices",
    )


def _inspect_fields(task: Any, sample: Record) -> dict[str, Any]:
    epoch = sample.get("epoch", 1)
    fields = {"task": task, "epoch": epoch, "id": f"{task}/{sample.get('id')}/{epoch}"}
    return {**(sample.get("metadata") or {}), **fields}


def _inspect_score(position: str, sample: Record, scorer: str | None) -> tuple[Any, bool]:
    """The confidence in the metadata of a score, and its verdict."""
    scores = sample.get("scores") or {}
    if sample.get("error") or not scores:
        raise InputError("path", f"{position} has no score", "score the log, or drop samples that failed")
    name = next(iter(scores)) if scorer is None else scorer
    if name not in scores:
        raise ArgumentError("scorer", f"{position} has no score {name!r}", f"its scores are {', '.join(scores)}")
    score = scores[name]
    confidence = (score.get("metadata") or {}).get("confidence")
    if confidence is None:
        problem = f"{position} has neither token log probabilities of its choices nor a confidence in the metadata of its score"
        raise ColumnError(
            "path", problem, "evaluate with logprobs=True and top_logprobs=20, or let the scorer write it"
        )
    value = score.get("value")
    return confidence, VERDICTS[value] if value in ("C", "I", "P", "N") else read_verdict(value, position)


def helm_table(path: Any) -> AnswerTable:
    """The answers in runs of HELM; parameters as for `read_helm`."""
    runs = [_helm_run(Path(each)) for each in (path if isinstance(path, (list, tuple)) else [path])]
    responses = [response for part, _ in runs for response in part]
    stats = [row for _, part in runs for row in part]
    if responses and not stats:
        count = {record["n_choices"] for _, record in responses}
        if len(count) > 1:
            raise ColumnError("path", "the runs have different numbers of choices", "read them one by one")
        return _choice_table(responses, count.pop())
    fields, scored = zip(*stats, strict=True)
    ids = [each["id"] for each in fields]
    repeated = next((each for each in ids if ids.count(each) > 1), None) if len(set(ids)) < len(ids) else None
    if repeated is not None:
        raise InputError("path", f"the instance {repeated!r} occurs twice", "read one train trial of each run")
    return _confidence_table(fields, scored, "the run lists no probabilities of choices")


def _helm_run(folder: Path) -> tuple[list[tuple[str, Record]], list[tuple[Record, tuple[Any, bool]]]]:
    """The responses with token probabilities of a run, or fields, confidence and correctness of each instance."""
    state = folder / "scenario_state.json" if folder.is_dir() else folder
    if state.name != STATS and not state.name.endswith(STATS) and state.exists():
        responses = [
            each for name, entry in log_records(state) for each in _helm_responses(name, entry, state.parent.name)
        ]
        if responses:
            return responses, []
        if folder.is_file():
            problem = f"{folder.name} lists no probabilities of tokens for jointly asked choices"
            raise ColumnError("path", problem, f"read the folder, which has {STATS}")
    file = folder / STATS if folder.is_dir() else folder
    (file_of_stats,) = log_files(file, STATS)
    return [], [
        _helm_stats(name, entry, file_of_stats.parent.name)
        for name, entry in log_records(file_of_stats)
        if not _is_perturbed(entry)
    ]


def _is_perturbed(record: Any) -> bool:
    return isinstance(record, Mapping) and bool(record.get("perturbation"))


def _helm_responses(position: str, state: Any, task: str) -> list[tuple[str, Record]]:
    """Requests of a run as responses in the format of completions; none without probabilities of tokens."""
    responses: list[tuple[str, Record]] = []
    for request in state.get("request_states", []) if isinstance(state, Mapping) else []:
        instance, mapping = request["instance"], request.get("output_mapping")
        tokens = [
            token
            for completion in (request.get("result") or {}).get("completions", [])[:1]
            for token in completion["tokens"]
        ]
        if not mapping or not tokens or not all(token.get("top_logprobs") for token in tokens):
            return []
        if _is_perturbed(instance):
            continue
        correct = {each["output"]["text"] for each in instance["references"] if "correct" in each.get("tags", [])}
        answers = [letter for letter, text in mapping.items() if text in correct]
        logprobs = {
            "tokens": [token["text"] for token in tokens],
            "token_logprobs": [token["logprob"] for token in tokens],
            "top_logprobs": [token["top_logprobs"] for token in tokens],
        }
        number = f"{task}/{instance.get('id')}/{request.get('train_trial_index', 0)}"
        fields = {"task": task, "split": instance.get("split"), "id": number, "n_choices": len(mapping)}
        answer = answers[0] if len(answers) == 1 else None
        record = {**fields, "answer": answer, "choices": [{"logprobs": logprobs}]}
        responses.append((f"{position}, instance {instance.get('id')}", record))
    return responses


def _helm_stats(position: str, record: Any, task: str) -> tuple[Record, tuple[Any, bool]]:
    """Fields of an instance, its ``max_prob`` and ``exact_match``."""
    if not isinstance(record, Mapping) or not isinstance(record.get("stats"), list):
        raise ColumnError("path", f"{position} is not an instance of HELM", f"read {STATS} or the folder of a run")
    values = {stat["name"]["name"]: stat["sum"] / stat["count"] for stat in record["stats"] if stat.get("count")}
    if not {"max_prob", "exact_match"} <= set(values):
        problem = f"{position} has no max_prob or no exact_match; its statistics are {', '.join(sorted(values))}"
        raise ColumnError("path", problem, "read the run of a multiple-choice scenario")
    split = next((stat["name"].get("split") for stat in record["stats"]), None)
    number = f"{task}/{record.get('instance_id')}/{record.get('train_trial_index', 0)}"
    return {"task": task, "split": split or "", "id": number}, (values["max_prob"], values["exact_match"] == 1)


def _choice_table(responses: Sequence[tuple[str, Record]], count: int) -> AnswerTable:
    """The probabilities of so many lettered choices, with the task of each response."""
    table = response_table(responses, LETTERS[:count], "answer")
    table.columns["task"] = as_column([record["task"] for _, record in responses])
    return table


def _confidence_table(fields: Sequence[Record], scored: Sequence[tuple[Any, bool]], why: str) -> AnswerTable:
    """Confidences and correctness, with the fields of each answer."""
    columns = {name: as_column([each[name] for each in fields]) for name in ("task", "id")}
    columns |= {name: values for name, values in short_fields(fields).items() if name not in columns}
    columns["confidence"] = np.array([confidence for confidence, _ in scored], dtype=np.float64)
    columns["correct"] = np.array([correct for _, correct in scored])
    return AnswerTable(columns, None, why)


def read_log(format: str, paths: Any, detail: str, label: str | None) -> AnswerTable:
    """The answers in logs of a format, given what stands behind the colon of ``--format`` and the field of the correct answers."""
    if format == "lm-eval":
        if detail and detail not in LENGTHS:
            choices = f"lm-eval:{', lm-eval:'.join(LENGTHS)}"
            raise ArgumentError("--format", f"unknown normalization {detail!r}", f"write lm-eval, or {choices}")
        return harness_table(paths, cast(Any, detail or "none"))
    if format == "openai":
        options = [part.strip() for part in detail.split(",")] if "," in detail else detail or "ABCD"
        return openai_table(paths, options, label)
    return inspect_table(paths, detail or None) if format == "inspect" else helm_table(paths)
