"""compare_reports: several models on the same rows, before and after a map, or several periods, side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, CalibrantError, ShapeError
from ..evaluation.measure import calibrated
from ..inference.comparison import compare
from ..inference.significance import adjust
from ..input.convert import summing_to_one
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..util.results import number
from ..views.keywords import PREDICTION_WORDS, unknown_word
from .building import OWN_WORDS, Options, build, read_options
from .compared import ComparedDifference, ComparedMetric, ReportComparison, Side
from .content import Report
from .forms import form_of
from .repairs import most_rows, sampled_rows
from .verdict import ALPHA, chance
from .words import percents

__all__ = ["compare_parts", "compare_reports"]

Kind = Literal["models", "periods", "before-after"]
KINDS = ("models", "periods", "before-after")
COMPARED = ("nll", "brier", "smece", "ece")
MOST_SIDES = {"models": 10, "periods": 120, "before-after": 2}
# After correction for so many pairs a p-value can still fall to half the level.
DRAWS_PER_PAIR = 40
# Entries that are drawn and measured, over all resamples, models and metrics.
MOST_WORK, LEAST_ROWS = 2e9, 2_000


def compare_reports(
    y_true: Any,
    y_prob: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    kind: Kind = "models",
    map: Any = None,
    metrics: str | Metric | Iterable[str | Metric] = COMPARED,
    lens: Any = None,
    interval: float = 0.95,
    n_resamples: int = 200,
    rng: Any = 0,
    title: str | None = None,
    repair: bool = False,
    accuracy: float = 0.95,
    confidence_level: float = 0.9,
    format: str | None = None,
    **words: Any,
) -> ReportComparison:
    """Compare reports: models on the same rows with every difference and its interval, or periods with different rows.

    Parameters
    ----------
    y_true, y_prob
        For models: labels, and the probabilities of each by name. For periods: labels and probabilities, both by name. Or a
        mapping from names to Predictions alone.
    path
        Where to write it; the suffix .html, .md or .json says as what.
    kind
        ``"models"``, ``"periods"``, or ``"before-after"``: two models, or one and a `map`.
    map
        A fitted map, or the file of one; then `y_prob` holds what it is applied to.
    metrics
        What is compared; the first one decides which model is named best.
    lens, interval, n_resamples, rng, title, repair, accuracy, confidence_level, format
        As in `report`.

    Examples
    --------
    >>> y, good = [0, 1] * 100, [0.2, 0.8] * 100
    >>> found = compare_reports(y, {"good": good, "flat": [0.5] * 200}, metrics=["brier"])
    >>> found.sentence
    'good has the lowest brier, 0.04000; its difference from flat is unlikely to be chance.'
    """
    for word, value in words.items():
        if word not in PREDICTION_WORDS:
            raise unknown_word("compare_reports", word, value, ["kind", "map", *OWN_WORDS, *PREDICTION_WORDS])
    form = None if path is None else form_of(path, format)
    if interval is None:
        raise ArgumentError("interval", "is needed to compare", "for example 0.95")
    asked = read_options(title, metrics, lens, interval, n_resamples, rng, repair, accuracy, confidence_level)
    found = compare_parts(_parts(y_true, y_prob, kind, map, words), asked, kind, given_title=title)
    if path is not None:
        found.write(path, format=form)
    return found


def _parts(y_true: Any, y_prob: Any, kind: Any, map: Any, words: dict[str, Any]) -> dict[str, Predictions]:
    """Checked predictions by name."""
    if map is not None:
        if kind != "before-after":
            raise ArgumentError("map", "goes with kind='before-after'")
        before = y_true if isinstance(y_true, Predictions) else Predictions(y_true, y_prob, **words)
        return {"before": before, "after": calibrated(before, map)}
    if isinstance(y_true, Mapping) and y_prob is None:
        wrong = [name for name, part in y_true.items() if not isinstance(part, Predictions)]
        if wrong:
            raise ArgumentError("y_true", f"holds no Predictions under {wrong[0]!r}", "pass y_prob by name too")
        return {str(name): part for name, part in y_true.items()}
    if not isinstance(y_prob, Mapping):
        raise ArgumentError("y_prob", "must hold the probabilities by name", '{"old": p_old, "new": p_new}')
    if kind != "periods":
        return {str(name): Predictions(y_true, probs, **words) for name, probs in y_prob.items()}
    if not isinstance(y_true, Mapping) or list(y_true) != list(y_prob):
        raise ArgumentError("y_true", "must hold the labels under the same names as y_prob, in the same order")
    return {str(name): Predictions(y_true[name], probs, **words) for name, probs in y_prob.items()}


def compare_parts(
    parts: Mapping[str, Predictions], asked: Options, kind: Any, given_title: str | None = None
) -> ReportComparison:
    """The comparison of checked predictions."""
    if kind not in KINDS:
        raise ArgumentError("kind", f"must be 'models', 'periods' or 'before-after'; got {kind!r}")
    if not 2 <= len(parts) <= MOST_SIDES[kind]:
        wanted = "two" if kind == "before-after" else f"from 2 to {MOST_SIDES[kind]}"
        raise ArgumentError("y_prob", f"must name {wanted} sides; got {len(parts)}")
    if kind != "periods":
        _check_same_rows(parts)
    reports = tuple(build(p, _renamed(asked, name), {"kind": kind}) for name, p in parts.items())
    sides = _sides(list(parts), reports)
    notes: list[str] = []
    compared: tuple[ComparedMetric, ...] = ()
    if kind != "periods":
        compared, notes = _differences(parts, asked)
    default = {"models": "Models compared", "periods": "Periods compared", "before-after": "Before and after"}[kind]
    return ReportComparison(
        title=given_title or default,
        kind=kind,
        sentence=_over_time(sides) if kind == "periods" else _best(compared, kind),
        sides=sides,
        metrics=compared,
        reports=reports,
        alpha=ALPHA,
        level=asked.known_level,
        notes=tuple(notes),
    )


def _renamed(asked: Options, name: str) -> Options:
    return replace(asked, title=name)


def _check_same_rows(parts: Mapping[str, Predictions]) -> None:
    """Models can be compared row by row only where the rows are the same."""
    (first, one), *others = parts.items()
    for name, other in others:
        if (other.n, other.k, other.kind) != (one.n, one.k, one.kind):
            raise ShapeError(
                "y_prob",
                f"{first!r} has {one.n} rows of {one.k} classes ({one.kind}) and {name!r} {other.n} of {other.k} ({other.kind})",
                "models are compared on the same rows; use kind='periods' for different ones",
            )
        for mine, theirs, what in (
            (one.labels, other.labels, "labels"),
            (one.soft, other.soft, "labels"),
            (one.weight, other.weight, "weights"),
        ):
            if (mine is None) != (theirs is None) or (mine is not None and not np.array_equal(mine, theirs)):  # type: ignore[arg-type]
                raise ArgumentError(
                    "y_true",
                    f"the {what} of {first!r} and {name!r} differ, and models are compared on the same rows in the same order",
                    "use kind='periods' for different rows",
                )


def _sides(names: list[str], reports: tuple[Report, ...]) -> tuple[Side, ...]:
    """One line for each side, with p-values corrected for how many there are."""
    pvalues = [report.verdict.pvalue for report in reports]
    known = np.array([value for value in pvalues if value is not None], dtype=np.float64)
    corrected = iter(adjust(known, "holm").tolist())
    adjusted = [None if value is None else next(corrected) for value in pvalues]
    return tuple(
        Side(
            name=name,
            rows=report.provenance.rows_stood_for,
            says=report.verdict.says,
            happens=report.verdict.happens,
            lens=report.verdict.lens,
            pvalue=report.verdict.pvalue,
            adjusted=value,
            found=None if value is None else value <= ALPHA,
            detectable=report.verdict.detectable,
        )
        for name, report, value in zip(names, reports, adjusted, strict=True)
    )


def _differences(parts: Mapping[str, Predictions], asked: Options) -> tuple[tuple[ComparedMetric, ...], list[str]]:
    """Every metric of every model, and every difference, all on the same draws of rows."""
    first = next(iter(parts.values()))
    pairs = len(parts) * (len(parts) - 1) // 2
    draws = max(asked.n_resamples, DRAWS_PER_PAIR * pairs)
    most = int(MOST_WORK / (draws * len(parts) * len(asked.metrics) * first.k))
    rows = sampled_rows(first.n, min(most_rows(first.k), max(LEAST_ROWS, most)), asked.seed)
    notes = [f"Differences are from {draws:,} resamples."]
    if len(rows) < first.n:
        notes.append(f"Differences are of {len(rows):,} of {first.n:,} rows, drawn at random from the seed.")
    used = parts if len(rows) == first.n else {name: p.take(rows) for name, p in parts.items()}
    found = []
    for metric in asked.metrics:
        each = _compared(used, metric, asked, draws)
        adjusted = adjust(np.array([d.pvalue for d in each.differences], dtype=np.float64), "holm").tolist()
        judged = tuple(_judged(d, value) for d, value in zip(each.differences, adjusted, strict=True))
        found.append(replace(each, differences=judged))
    return tuple(found), notes


def _judged(difference: ComparedDifference, adjusted: float) -> ComparedDifference:
    return replace(difference, adjusted=adjusted, found=adjusted <= ALPHA)


def _compared(parts: Mapping[str, Predictions], metric: Metric, asked: Options, n_resamples: int) -> ComparedMetric:
    words: dict[str, Any] = {} if asked.lens is None else {"lens": asked.lens}
    one = next(iter(parts.values()))
    words |= {"multilabel": True} if one.kind == "multilabel" else {}
    words |= {"input": "confidence"} if one.kind == "confidence" else {}
    words |= {"soft": True} if one.labels is None else {}
    words |= {} if one.weight is None else {"counts" if one.weight_kind == "counts" else "sample_weight": one.weight}
    models = {
        name: p.probs if p.kind in ("multilabel", "confidence") else summing_to_one(p.probs)
        for name, p in parts.items()
    }
    labels = one.soft if one.labels is None else one.labels
    draws: dict[str, Any] = {"level": asked.known_level, "n_resamples": n_resamples, "rng": asked.seed}
    own: dict[str, Any] = {
        "id": metric.id,
        "name": metric.name,
        "ideal": metric.ideal,
        "lower_is_better": metric.ideal == 0 and not metric.signed,
    }
    try:
        found = compare(labels, models, metric=metric, **draws, **words)
    except CalibrantError as error:
        return ComparedMetric(**own, values={}, differences=(), rows=one.n, reason=error.problem)
    differences = tuple(
        ComparedDifference(d.first, d.second, d.difference, d.low, d.high, d.pvalue, 1.0, False)
        for d in found.differences
    )
    return ComparedMetric(
        **own, values=dict(found.values), differences=differences, rows=found.n, n_resamples=found.n_resamples
    )


def _best(metrics: tuple[ComparedMetric, ...], kind: str) -> str:
    """Which is best by the first metric, and which differences from it are more than chance."""
    main = next((each for each in metrics if each.values and each.lower_is_better), None)
    if main is None:
        return "No metric by which one could be called better has a value; see the table."
    if kind == "before-after":
        return _change(main)
    best = min(main.values, key=lambda name: main.values[name])
    mine = [
        (d.second if d.first == best else d.first, d.found) for d in main.differences if best in (d.first, d.second)
    ]
    sure = ", ".join(name for name, found in mine if found)
    unsure = ", ".join(name for name, found in mine if not found)
    parts = [f"its difference from {sure} is unlikely to be chance"] if sure else []
    parts += [f"{'that' if sure else 'its difference'} from {unsure} could be chance"] if unsure else []
    return f"{best} has the lowest {main.id}, {number(main.values[best])}; {'; '.join(parts)}."


def _change(main: ComparedMetric) -> str:
    (before, old), (after, new) = main.values.items()
    word = "fell" if new < old else "rose" if new > old else "stayed"
    judged = main.differences[0]
    verdict = "is unlikely to be chance" if judged.found else "could be chance"
    values = f"from {number(old)} ({before}) to {number(new)} ({after})"
    return f"{main.id} {word} {values}, which {verdict}, {chance(judged.adjusted)}."


def _over_time(periods: tuple[Side, ...]) -> str:
    """In how many periods something was found, and where the mean is furthest off."""
    tested = [period for period in periods if period.found is not None]
    found = [period for period in tested if period.found]
    start = f"A deviation that is unlikely to be chance was found in {len(found)} of {len(tested)} periods"
    if not tested:
        start = "No period could be tested"
    known = [
        (period.says, period.happens, period)
        for period in periods
        if period.says is not None and period.happens is not None
    ]
    if not known:
        return f"{start}."
    says, happens, worst = max(known, key=lambda each: abs(each[0] - each[1]))
    shown = percents(says, happens)
    verb = "is right" if worst.lens == "top_label" else "happens"
    return f"{start}; the mean is furthest off in {worst.name}: says {shown[0]}, {verb} {shown[1]}."
