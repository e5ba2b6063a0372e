"""Comparison of models and interventions over seeds: means and standard deviations of metrics with paired tests, resumable."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, FileError, InputTypeError, UndefinedMetricError
from ..inference.multiplicity import adjust
from ..input.predictions import Predictions
from ..metrics.registry import catalogue
from ..recalibration.base import Calibrator, fit_copy
from ..util.arrays import Floats
from ..util.progress import track
from ..util.results import Result, number
from ..views.keywords import documents_keywords
from .measure import evaluate

Values = dict[tuple[str, str, int], dict[str, Any]]
NONE = "none"


@dataclass(frozen=True)
class StudyRow:
    """A metric of one model and intervention under one lens, over all seeds.

    Parameters
    ----------
    model : str
        Name of the model.
    intervention : str
        Name of the intervention.
    lens : str
        Lens; empty for that of the metric.
    metric : str
        Identifier of the metric.
    mean : float or None
        Mean over seeds; None where the metric is undefined for one of them.
    deviation : float or None
        Standard deviation over seeds; None with one seed, and where a value is undefined or infinite.
    difference : float or None
        Mean difference from the baseline with the same seeds; None for the baseline itself.
    pvalue : float or None
        P-value of the paired t-test of no difference, adjusted by Holm's method for all tests of the study; None where there is no test.
    values : tuple of float or None
        Value of each seed.

    Examples
    --------
    >>> from calibrant.evaluation import StudyRow
    >>> StudyRow("a", "none", "", "ece", 0.1, None, None, None, (0.1,)).mean
    0.1
    """

    model: str
    intervention: str
    lens: str
    metric: str
    mean: float | None
    deviation: float | None
    difference: float | None
    pvalue: float | None
    values: tuple[float | None, ...]


@dataclass(frozen=True, repr=False)
class Study(Result):
    """Result of `study`.

    Attributes
    ----------
    rows : tuple of StudyRow
        One for each model, intervention, lens and metric; ``study["model", "intervention", "metric"]`` returns that of the first lens that
        has it, and a fourth entry names the lens.
    seeds : tuple of int
        Seeds of the runs.
    baseline : str
        What differences are from: an intervention, or a model where there is one intervention.
    """

    rows: tuple[StudyRow, ...]
    seeds: tuple[int, ...]
    baseline: str

    def __getitem__(self, key: tuple[str, ...]) -> StudyRow:
        model, intervention, name, *lens = key
        metric = name if any(row.metric == name for row in self.rows) else catalogue[name].id
        for row in self.rows:
            wanted = (row.model, row.intervention, row.metric) == (model, intervention, metric)
            if wanted and (not lens or row.lens == lens[0]):
                return row
        raise ArgumentError(
            "key", f"{key!r} is not part of the study", "use a model, an intervention and a metric of its rows"
        )

    def _columns(self) -> dict[str, list[Any]]:
        names = [name for name in StudyRow.__dataclass_fields__ if name != "values"]
        return {name: [getattr(row, name) for row in self.rows] for name in names}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        def text(value: float | None) -> str:
            return "" if value is None else number(value)

        lines = [
            [
                *(row.model, row.intervention, row.lens, row.metric),
                text(row.mean) + ("" if row.deviation is None else f" ± {text(row.deviation)}"),
                *(text(row.difference), text(row.pvalue)),
            ]
            for row in self.rows
        ]
        return ["model", "intervention", "lens", "metric", "mean ± sd", "difference", "p (Holm)"], lines

    def _title(self) -> str:
        return f"Study of {len(self.seeds)} seeds; differences from {self.baseline!r}, paired t-tests"


@documents_keywords()
def study(
    models: Mapping[str, Any],
    interventions: Mapping[str, Calibrator | Callable[..., Any] | None] | None = None,
    *,
    lenses: Sequence[str | None] = (None,),
    metrics: Sequence[str] | Callable[[Predictions], Mapping[str, float]] = ("ece", "nll"),
    seeds: Iterable[int] = range(5),
    path: str | os.PathLike[str] | None = None,
) -> Study:
    r"""Compare models and interventions over seeds: metrics as mean and standard deviation, with paired tests.

    Every model is evaluated on the predictions of each seed, with each intervention. Results are written to a file as they come, so that
    a study that was interrupted continues where it stopped.

    Parameters
    ----------
    models : mapping
        For each name a function of the seed, or a mapping from seeds to what it would return: `Predictions` to evaluate, or a pair of
        `Predictions`, those to fit on and those to evaluate.
    interventions : mapping, optional
        For each name an unfitted calibrator, a function of the two `Predictions` that returns probabilities or `Predictions`, or None for no
        intervention. The first is the baseline of the tests. By default there is none.
    lenses : sequence of str or None, default (None,)
        Lenses of the metrics; None is the lens of each metric itself.
    metrics : sequence of str or callable, default ("ece", "nll")
        Identifiers or aliases of metrics; or a function of the `Predictions` to evaluate that returns numbers by name, such as metrics with
        options, critical values of tests, or any other quantity. Of a function, `lenses` are not used; in a file its results stand under its
        name.
    seeds : iterable of int, default range(5)
        Seeds of the runs.
    path : path-like, optional
        File of JSON lines, one for each model, intervention and seed. What it has with the same names, lenses and metrics is not computed
        again; remove the file after a change of the predictions, or of a function of the same name.

    Returns
    -------
    Study
        With a row for each model, intervention, lens and metric; ``to_frame()`` has them as a table.

    Raises
    ------
    ArgumentError
        If a mapping is empty, a calibrator has no rows to fit on, or a function without a name is used with a file.
    FileError
        If the file is not one of a study.

    See Also
    --------
    evaluate : One set of predictions.
    calibrant.inference.assess_many : Tests of calibration of several models.

    Notes
    -----
    Differences are those of runs with the same seed, from the first intervention of the same model, or, where there is one intervention
    only, from the first model. Their mean is compared with 0 by Student's t-test, and all p-values are adjusted by Holm's method. Seeds are
    the units: the test says whether a difference would be seen again with other seeds, not with other rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> def model(seed):
    ...     warp = cal.inference.simulation.temperature(2.0)
    ...     return tuple(cal.inference.make_miscalibrated(500, warp=warp, rng=2 * seed + part).predictions for part in (0, 1))
    >>> result = cal.study({"net": model}, {"none": None, "Platt": cal.PlattScaling()}, seeds=range(4))
    >>> row = result["net", "Platt", "nll"]
    >>> row.difference < 0, row.pvalue < 0.05
    (True, True)
    """
    steps: Mapping[str, Any] = {NONE: None} if interventions is None else interventions
    for argument, value in (("models", models), ("interventions", steps)):
        if not isinstance(value, Mapping) or not value:
            raise ArgumentError(
                argument, "must be a mapping from names with at least one entry", 'for example {"net": predict}'
            )
    chosen = [] if callable(metrics) else [catalogue[name].id for name in metrics]
    numbers = list(dict.fromkeys(int(seed) for seed in seeds))
    if not (numbers and lenses and (chosen or callable(metrics))):
        raise ArgumentError("seeds", "metrics, lenses and seeds must not be empty", "for example seeds=range(5)")
    source = "" if chosen else getattr(metrics, "__qualname__", "<lambda>")
    if path is not None and "<lambda>" in source:
        raise ArgumentError(
            "metrics", "must be a function with a name, under which the file has its results", "use def"
        )
    values = {} if path is None else _read_values(Path(path), source)
    wanted = dict.fromkeys(f"{lens or ''}|{metric}" for lens, metric in product(lenses, chosen))
    done = {key for key, known in values.items() if wanted.keys() <= known.keys()}
    for model, seed in track(list(product(models, numbers)), "runs"):
        left = [name for name in steps if (model, name, seed) not in done]
        if not left:
            continue
        fit, test = _rows_of(model, models[model], seed)
        for name in left:
            rows = _intervene(name, steps[name], fit, test)
            measured = _measure(rows, metrics if callable(metrics) else chosen, lenses)
            values[model, name, seed] = values.get((model, name, seed), {}) | measured
            if path is not None:
                line = {"model": model, "intervention": name, "seed": seed, "function": source, "values": measured}
                with Path(path).open("a", encoding="utf-8", newline="\n") as file:
                    file.write(json.dumps(line) + "\n")
    measures = wanted or values[next(iter(models)), next(iter(steps)), numbers[0]]
    return _summary(values, list(models), list(steps), list(measures), numbers)


def _measure(rows: Predictions, metrics: Any, lenses: Sequence[str | None]) -> dict[str, float | None]:
    """The numbers of a function, or metrics under each lens, by lens and name."""
    if callable(metrics):
        return {f"|{name}": float(value) for name, value in metrics(rows).items()}
    measured = [(lens, result) for lens in lenses for result in evaluate(rows, metrics=metrics, lens=lens).results]
    return {f"{lens or ''}|{result.metric}": result.value for lens, result in measured}


def _read_values(path: Path, source: str) -> Values:
    """What a file has of a function, or of metrics for an empty name; a last line without its end, which was being written, is removed."""
    values: Values = {}
    if not path.exists():
        return values
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8", newline="\n")
    for place, line in enumerate(whole.splitlines(), 1):
        try:
            row = json.loads(line)
            key = (row["model"], row["intervention"], row["seed"])
            if row.get("function", "") == source:
                values[key] = values.get(key, {}) | row["values"]
        except (ValueError, KeyError, TypeError):
            raise FileError("path", f"line {place} of {path} is not a result of a study", "use another file") from None
    return values


def _rows_of(name: str, model: Any, seed: int) -> tuple[Predictions | None, Predictions]:
    """The predictions to fit on, where there are any, and those to evaluate."""
    if isinstance(model, Mapping) and seed not in model:
        raise ArgumentError("models", f"{name!r} has no predictions for the seed {seed}", "pass seeds that it has")
    rows = model[seed] if isinstance(model, Mapping) else model(seed)
    fit, test = rows if isinstance(rows, tuple) and len(rows) == 2 else (None, rows)
    if not isinstance(test, Predictions) or not (fit is None or isinstance(fit, Predictions)):
        raise InputTypeError(
            "models",
            f"{name!r} must give Predictions, or a pair of them; got {type(rows).__name__}",
            "wrap labels and probabilities in Predictions",
        )
    return fit, test


def _intervene(name: str, intervention: Any, fit: Predictions | None, test: Predictions) -> Predictions:
    """The predictions to evaluate after an intervention."""
    if intervention is None:
        return test
    if isinstance(intervention, Calibrator):
        if fit is None:
            raise ArgumentError(
                "interventions", f"{name!r} requires rows to fit on", "let models give pairs of Predictions"
            )
        scores = test.probs if test.logits is None else test.logits
        probs: Any = fit_copy(intervention, fit).predict_proba(scores)
    else:
        probs = intervention(fit, test)
    if isinstance(probs, Predictions):
        return probs
    probs = np.asarray(probs, np.float64)
    return test.with_probs(probs if test.probs.ndim == probs.ndim else probs[:, 1])


def _summary(
    values: Values, models: list[str], interventions: list[str], measures: list[str], seeds: list[int]
) -> Study:
    """Means, deviations and tests."""
    from scipy.special import stdtr

    def values_of(model: str, name: str, measure: str) -> Floats:
        return np.array([values[model, name, seed].get(measure) for seed in seeds], np.float64)

    rows: list[StudyRow] = []
    tests: dict[int, float] = {}
    for model, measure, name in product(models, measures, interventions):
        own, difference = values_of(model, name, measure), None
        base = (model, interventions[0]) if len(interventions) > 1 else (models[0], interventions[0])
        if base != (model, name):
            with np.errstate(invalid="ignore"):  # both may be infinite
                difference, deviation = _moments(own - values_of(*base, measure))
            if difference is not None and deviation is not None and (deviation > 0 or difference == 0):
                t = abs(difference) / deviation * math.sqrt(len(own)) if deviation > 0 else 0.0
                tests[len(rows)] = 2 * float(stdtr(len(own) - 1, -t))
        each = tuple(None if math.isnan(value) else value for value in own.tolist())
        lens, metric = measure.split("|", 1)
        rows.append(StudyRow(model, name, lens, metric, *_moments(own), difference, None, each))
    if not any(row.mean is not None for row in rows):
        raise UndefinedMetricError("metrics", "no metric is defined for these predictions", "use other metrics")
    adjusted = dict(zip(tests, adjust(np.array([*tests.values()]), "holm").tolist(), strict=True))
    done = tuple(replace(row, pvalue=adjusted.get(at)) for at, row in enumerate(rows))
    return Study(done, tuple(seeds), interventions[0] if len(interventions) > 1 else models[0])


def _moments(values: Floats) -> tuple[float | None, float | None]:
    """Mean and standard deviation; None where a value is undefined, and for the deviation of one or of infinite values."""
    mean = float(values.mean())
    deviation = float(values.std(ddof=1)) if len(values) > 1 and np.isfinite(values).all() else None
    return None if math.isnan(mean) else mean, deviation
