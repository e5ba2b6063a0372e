"""evaluate: many metrics of one set of predictions, with a header that describes the data."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import as_default, check_written
from ..binning.rules import LEVELS, few_levels
from ..errors import (
    ROWS_INSTEAD,
    ArgumentError,
    CalibrantError,
    InputTypeError,
    LensError,
)
from ..input.convert import summing_to_one
from ..input.grouping import groups_of
from ..input.predictions import Predictions
from ..metrics.properties import PAIRED_ROWS, is_slow, is_slow_to_resample
from ..metrics.registry import Metric, catalogue
from ..recalibration.base import Calibrator
from ..recalibration.scores import names_array
from ..sketches.collection import Sketches
from ..sketches.grid import CELLS
from ..sketches.sketch import sketch_views
from ..util.checks import check_choice, check_fraction, check_whole, least_resamples
from ..util.processes import run_all
from ..util.progress import track
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions, resolve, views_of
from ..views.selections import parse_selection
from .header import check_outcome, header_of, sketched_header
from .result import ALPHA, Evaluation, Header, MetricResult, Skipped, shown_direction, side_note

if TYPE_CHECKING:
    from ..recalibration.choosing import Recalibration

Source = TypeVar("Source", Predictions, Sketches)

SETS = ("recommended", "all")
PAIRS = f"they compare all pairs of more than {PAIRED_ROWS:,} rows (name them to compute them)"
SLOW = "resampling it is slow (name the metric to do so)"
RESAMPLES = 200
# Groups that a process evaluates before it takes the next ones.
GROUPS_AT_ONCE = 256
NOT_RESAMPLED = "in closed form, so the number of resamples had no effect"


@documents_keywords()
def evaluate(
    y_true: Any,
    y_prob: Any = None,
    *,
    metrics: str | Metric | Iterable[str | Metric] = "recommended",
    lens: str | Lens | None = None,
    bins: Any = None,
    binning: Any = None,
    gamma: float | None = None,
    distance: str | None = None,
    where: Any = None,
    by_group: bool = True,
    level: float | None = None,
    assess: bool = False,
    n_resamples: int = 200,
    rng: Any = 0,
    calibrator: Calibrator | str | os.PathLike[str] | None = None,
    outcome: str | None = None,
    options: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Evaluation:
    """Evaluate predictions with many metrics at once.

    Computes each metric with its own defaults, together with a header that describes the data: number of rows; for two classes the number
    of events, prevalence, mean predicted probability, observed over expected events (O/E) and AUROC; for more classes accuracy and mean
    confidence. Predictions with groups, ``Predictions(..., groups=...)``, are evaluated by group as well. Use it for an overview; call a
    metric itself, such as `calibrant.ece`, where one number is needed.

    Parameters
    ----------
    y_true
    y_prob
    metrics : {"recommended", "all"}, str, Metric or iterable of these, default "recommended"
        Metrics to compute, by id or alias, or a set of them. Of a set, metrics that compare all pairs of rows are left out for more
        than 20,000 rows, and listed in ``left_out``; metrics that are slow to resample have no interval and no simulated p-value. A metric
        that is named has both.
    lens : str or Lens, optional
        Lens of every metric, in place of its own default.
    bins : int, array-like or str, optional
        Bins of every metric that has the option, in place of its own default. ``"levels"`` is one bin per distinct score.
    binning : str, optional
        Binning rule of every metric that has the option, in place of its own default.
    gamma : float, optional
        Largest fraction of the rows in a cell of the metrics that partition vectors by a k-d tree: `gece` and `gece_db`.
    distance : {"tv", "l1", "l2"}, optional
        Distance between mean forecast and mean label of a cell, for `gece`, `gece_db` and `multiclass_ce`.
    where
    by_group : bool, default True
        Whether predictions with groups are evaluated by group as well; False for groups that are clusters of dependent rows.
    level : float, optional
        Confidence level of an interval of each metric, such as 0.95. By default no intervals are computed.
    assess : bool, default False
        Whether to add a p-value for the null hypothesis of calibration, by the metric's own test or by simulation, and the value
        that is expected by chance: that of the metric if the predictions were calibrated.
    n_resamples : int, default 200
        Number of resamples for intervals and simulated p-values.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.
    calibrator : Calibrator, Recalibration, str or path-like, optional
        Fitted calibrator, or the file that holds it; the calibrated probabilities are evaluated.
    outcome : str, optional
        Name of the event that the positive class of two represents, such as ``"churn"``. By default the name of the positive class
        or, for labels 0 and 1, of the label column.
    options : mapping, optional
        Further options of metrics, by name, for every metric that has them, such as ``{"edge": "drop"}``; or of one metric, such as
        ``{"cox_slope.edge": "drop"}``.
    sample_weight
    pos_label

    Returns
    -------
    Evaluation
        ``result["ece"]`` is the value of a metric; ``header``, ``results`` (value, interval, ``by_chance``, p-value and direction of each metric),
        ``groups`` and ``left_out`` hold the rest, ``to_frame()`` a table of all of it.

    Raises
    ------
    ArgumentError
        If the value of an option is invalid, or a metric is unknown.
    InputError
        If labels or probabilities are not valid.

    Warns
    -----
    InSampleWarning
        If the calibrator was fitted on these rows; the estimate is then optimistic.

    See Also
    --------
    calibrant.assess : Test of calibration with one metric as the statistic.
    calibrant.interval : Confidence interval of one metric.
    calibrant.report : The same as a report, with reliability diagram, recalibration and threshold.
    recommend : Metrics for a use case.

    Notes
    -----
    A direction (over- or underconfident, over- or underestimates) is reported only where it is statistically significant at 5%; a blank means not
    significant, or not tested (``assess=True`` tests it). A
    metric that is undefined for these data has no value, and ``reason`` states why.

    Groups have intervals and p-values of their own, from their own rows. For each metric, ``adjusted`` are the p-values of all groups of all groupings, adjusted by
    Holm: the probability that any calibrated group has an adjusted p-value of at most 0.05 is at most 5%. It is not adjusted for several metrics. ``to_frame()``
    lists the groups of each metric with the worst first: by adjusted p-value, then p-value, then deviation from the value by chance. Simulated p-values of at most 0.05
    are simulated again, with up to 80 simulations times the number of groups, since adjusted p-values could otherwise not be small. Quantile groups are of all rows, before
    `where`; equal values are in the same group, so that there may be fewer than requested, which a note states. Missing values in a column of groups raise.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.evaluate([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], metrics=["ece", "brier"], bins=2)
    >>> round(result["brier"], 4)
    0.105

    Groups by two columns, the second at its median:

    >>> data = cal.inference.make_calibrated(400, rng=0)
    >>> groups = {"region": ["north", "south"] * 200, "age/2": list(range(30, 430))}
    >>> result = cal.evaluate(cal.Predictions(data.y_true, data.y_prob, groups=groups), metrics=["brier"])
    >>> list(result.groups)
    ['region: north', 'region: south', 'age 30 to 229', 'age 230 to 429']
    """
    check_outcome(outcome)
    metrics = list(metrics) if isinstance(metrics, Iterable) and not isinstance(metrics, str) else metrics
    chosen = choose_metrics(metrics)
    named = frozenset(catalogue[m].id for m in (metrics if isinstance(metrics, list) else [metrics]) if m not in SETS)
    infer = Inference.read(level, assess, n_resamples, rng, named)
    given = _read_options(chosen, {"lens": lens, "gamma": gamma, "distance": distance}, bins, binning, options)
    if isinstance(y_true, Sketches):
        resolve(y_true, y_prob, sample_weight, pos_label, where)
        if calibrator is not None:
            raise InputTypeError("calibrator", "cannot be applied to sketches", ROWS_INSTEAD)
        return _evaluate_sketches(y_true, chosen, given, infer, outcome)
    checked = as_predictions(y_true, y_prob, sample_weight, pos_label)
    if infer is not None and infer.assess:
        from ..inference.significance import refuse_rows_by_label

        refuse_rows_by_label(where)
    predictions = parse_selection(where, checked if calibrator is None else calibrated(checked, calibrator))
    if lens is not None:
        # A lens that does not fit the data is an error; one that a metric does not support is a reason.
        views_of(predictions, lens, flattened=True)
    plan = [m for m in chosen if m.id in named or not is_slow(m, predictions.n, predictions.k)]
    left_out = tuple(Skipped(m.id, PAIRS) for m in chosen if m not in plan)
    results = _results(predictions, plan, given, infer)
    groups = {}
    if by_group and predictions.groups is not None:
        parts = list(groups_of(predictions))
        heads = partial(header_of, outcome=outcome)
        measured = _evaluate_groups([predictions.take(rows) for *_, rows in parts], plan, given, infer, heads)
        for (g, place, _), (header, own) in zip(parts, measured, strict=True):
            groups[g.labels[place]] = Evaluation(header, own, {}, grouping=g.name, group=g.groups[place])
    remarks = tuple(grouping.note for grouping in predictions.groupings if by_group and grouping.note)
    if bins is None and binning is None and any("bins" in m.options for m in plan):
        remarks += _few_levels(predictions)
    return Evaluation(header_of(predictions, outcome), tuple(results), groups, left_out, remarks)


def _read_options(
    chosen: list[Metric], given: dict[str, Any], bins: Any, binning: Any, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the options of the metrics, checked."""
    if bins is None and isinstance(binning, str) and binning == LEVELS:
        bins, binning = LEVELS, None  # metrics that search for a number of bins accept it in this form only
    if bins is not None:
        check_written(bins, binning)
    if given["distance"] is not None:
        check_choice(given["distance"], "distance", ("tv", "l1", "l2"))
    # A number of bins is a default: metrics that bin by other means, such as a tree, ignore it.
    given = {**given, "bins": as_default(bins), "binning": binning}
    given |= _further(options, chosen, given)
    for name in CELL_OPTIONS:
        if given[name] is not None and not any(takes_cell_option(m, name) for m in chosen):
            raise ArgumentError(name, f"applies to {cell_metrics(name)}", "name one of these metrics")
    return given


# How bins for few levels are asked for, which the command line writes as an option.
LEVELS_KEYWORD = 'bins="levels"'


def _few_levels(p: Predictions) -> tuple[str, ...]:
    """A remark if the scores have few distinct values, some of which share a bin of equal width."""
    if p.kind not in ("binary", "confidence"):
        return ()
    score = p.probs if p.probs.ndim == 1 else p.probs[:, -1]
    levels = few_levels(score, float(p.weight.sum()) if p.weight is not None and p.weight_kind == "counts" else None)
    if levels is None or len(levels) < 3 or len(np.unique(np.ceil(levels * 15))) == len(levels):
        return ()
    return (
        f"the scores have {len(levels)} distinct values, some of which share a bin; {LEVELS_KEYWORD} has one bin for each",
    )


def calibrated(p: Predictions, calibrator: Calibrator | Recalibration | str | os.PathLike[str]) -> Predictions:
    """Return the predictions with calibrated probabilities; `calibrator` is fitted, or the file of one. Grouped calibrators use the groups."""
    from ..recalibration.choosing import Recalibration
    from ..recalibration.grouped import GroupedCalibrator

    if isinstance(calibrator, (str, os.PathLike)):
        from ..recalibration.persistence import load

        calibrator = load(calibrator)
    calibrator = calibrator.calibrator if isinstance(calibrator, Recalibration) else calibrator
    if not isinstance(calibrator, Calibrator):
        raise InputTypeError(
            "calibrator", f"must be a fitted calibrator or the path of a saved one; got {type(calibrator).__name__}"
        )
    # A calibrator of two classes may be that of the event that an answer is correct.
    events = p.kind == "confidence" and len(calibrator.classes_) == 2
    if p.kind not in ("binary", "multiclass") and not events:
        raise ArgumentError(
            "calibrator", f"requires class probabilities, and the predictions are {p.kind}", "drop calibrator"
        )
    if calibrator.input == "logit" and p.logits is None:
        raise ArgumentError(
            "calibrator", "was fitted on logits, and these are probabilities", "use input='logit' and pass logits"
        )
    order = _order_for(calibrator, p)
    scores = p.logits if calibrator.input == "logit" else summing_to_one(p.probs)
    assert scores is not None
    scores = scores if order is None else scores[:, order]
    if isinstance(calibrator, GroupedCalibrator):
        probs = calibrator.predict_proba(scores, None if p.groups is None else names_array(p.group_names)[p.groups])
    elif calibrator.needs:
        probs = _with_features(calibrator, scores, p.features)
    else:
        probs = calibrator.predict_proba(scores)
    if order is not None:
        probs = probs[:, np.argsort(order)]
    return p.with_probs(probs if p.probs.ndim == 2 else np.ascontiguousarray(probs[:, 1]))


def _with_features(calibrator: Any, scores: Any, features: Any) -> Any:
    """Calibrated probabilities of a calibrator that needs features, of which predictions have numbers by position only."""
    columns = calibrator.columns_.tolist()
    if features is not None and columns == list(range(features.shape[1] if features.ndim == 2 else 1)):
        return calibrator.predict_proba(scores, features)
    shown = columns if len(columns) < 6 else [*columns[:5], "..."]
    raise ArgumentError(
        "calibrator",
        f"{type(calibrator).__name__} requires its features, the columns {shown}",
        "evaluate what it predicts: y_prob=calibrator.predict_proba(y_prob, features=...)",
    )


def _order_for(calibrator: Calibrator, p: Predictions) -> NDArray[np.intp] | None:
    """Return the columns in the order of the calibrator's classes; None where they agree, or are not named."""
    if p.classes is None or not hasattr(calibrator, "classes_") or len(calibrator.classes_) != p.k:
        return None
    known = calibrator.classes_.tolist()
    if list(p.classes) == known:
        return None
    if set(p.classes) == set(known) and p.probs.ndim == 2:
        return np.array([p.classes.index(name) for name in known])
    if known == list(range(p.k)):  # fitted without class names
        return None
    raise ArgumentError(
        "calibrator",
        f"was fitted on the classes {known}, and these are {list(p.classes)}",
        "check the names of the classes",
    )


def choose_metrics(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """Return metrics by name: the recommended ones, all, or those listed."""
    if not isinstance(metrics, str | Metric | Iterable):
        raise ArgumentError(
            "metrics", f"must be 'recommended', 'all', or names; got {metrics!r}", "for example ['ece']"
        )
    chosen: dict[str, Metric] = {}
    for each in [metrics] if isinstance(metrics, str | Metric) else metrics:
        is_set = isinstance(each, str) and each in SETS
        for m in catalogue.values() if is_set else [catalogue[each]]:
            if not is_set or each == "all" or m.info.recommended:
                chosen[m.id] = m
    if not chosen:
        raise ArgumentError("metrics", "is an empty list", "name at least one, for example ['ece']")
    return list(chosen.values())


def _evaluate_sketches(
    sketches: Sketches,
    chosen: list[Metric],
    given: Mapping[str, Any],
    infer: Inference | None,
    outcome: str | None,
) -> Evaluation:
    """Evaluate sketches and their groups."""
    results = _results(sketches, chosen, given, infer)
    groups, heads = sketches.groups, partial(sketched_header, outcome=outcome)
    # What a sketch does not keep, no group has: the reason is that of all rows.
    unknown = {result.metric: result for result in results if isinstance(result.error, InputTypeError)}
    measured = _evaluate_groups([sketches.group(name) for name in groups], chosen, given, infer, heads, unknown)
    parts = {
        name: Evaluation(header, found, {}, grouping="group", group=name)
        for name, (header, found) in zip(groups, measured, strict=True)
    }
    return Evaluation(sketched_header(sketches, outcome), tuple(results), parts)


def _results(
    p: Predictions | Sketches,
    plan: list[Metric],
    given: Mapping[str, Any],
    infer: Inference | None = None,
) -> list[MetricResult]:
    """Return one result per metric: first all values, then intervals and p-values."""
    options = [_options_of(m, given) for m in plan]
    results = _values(p, track(plan, "metrics"), options)
    if infer is not None:
        import scipy.special  # noqa: F401  (nearly all tests and intervals use it: loaded once, before processes are started)

        from ..inference import intervals, significance  # noqa: F401
        from ..inference.cells import sharing

        known = [place for place, result in enumerate(results) if result.value is not None]
        # What shares resamples is one task; curves without bins, the last in the catalogue, take long and come first.
        groups = resampled_alike([(plan[place], results[place].lens) for place in known])[::-1]
        parts = [([known[at] for at in group], (what,)) for group in groups for what in infer.asked]

        def add(places: list[int], asked: tuple[str, ...]) -> list[list[Addition]]:
            return [infer.additions(asked, results[place], plan[place], p, options[place]) for place in places]

        found: dict[int, list[Addition]] = {place: [] for place in known}
        with sharing():
            done = run_all([partial(add, *part) for part in parts], p.n * p.k)
        for (places, _), additions in zip(parts, done, strict=True):
            for place, own in zip(places, additions, strict=True):
                found[place] += own
        for place in known:
            results[place] = infer.added(results[place], found[place])
    return [with_direction(result, m, p, own) for result, m, own in zip(results, plan, options, strict=True)]


def resampled_alike(metrics: Sequence[tuple[Metric, str]]) -> list[list[int]]:
    """Return the positions of metrics, given with their lens, that are resampled in the same way: as whole rows, or in as many cells."""
    from ..inference.cells import first_cells

    found: dict[int, list[int]] = {}
    for position, (metric, lens) in enumerate(metrics):
        one_score = metric.takes == "View" and lens != "classwise"
        found.setdefault(first_cells([(metric, {})]) if one_score else 0, []).append(position)
    return list(found.values())


def _evaluate_groups(
    parts: Sequence[Source],
    plan: list[Metric],
    given: Mapping[str, Any],
    infer: Inference | None,
    header: Callable[[Source], Header],
    known: Mapping[str, MetricResult] = MappingProxyType({}),
) -> list[tuple[Header, tuple[MetricResult, ...]]]:
    """Return the header and the results of each group: all values, then intervals and p-values, one metric after the other.

    The p-values of a metric are adjusted by Holm for all groups. `known` are results that do not depend on the group.
    """
    options = [_options_of(m, given) for m in plan]

    def add_directions(results: list[MetricResult], part: Source) -> list[MetricResult]:
        return [with_direction(result, m, part, own) for result, m, own in zip(results, plan, options, strict=True)]

    def measure(some: Sequence[Source]) -> list[tuple[Header, list[MetricResult]]]:
        measured = []
        if isinstance(some[0], Sketches):
            _fill_views(some, plan, options)
        for part in track(some, "groups"):
            results = _values(part, plan, options, known)
            measured.append((header(part), add_directions(results, part) if infer is None else results))
            if isinstance(part, Sketches):
                part.clear_cache()
        return measured

    # Resamples use what the views of rows have cached, which another process would keep for itself.
    step = max(1, len(parts)) if infer is not None else GROUPS_AT_ONCE
    tasks = [partial(measure, parts[start : start + step]) for start in range(0, len(parts), step)]
    done = [pair for task in run_all(tasks, sum(part.n for part in parts)) for pair in task]
    headers, rows = [header for header, _ in done], [results for _, results in done]
    if infer is None:
        return list(zip(headers, map(tuple, rows), strict=True))
    for place, m in enumerate(track(plan, "metrics") if parts else ()):
        is_slow = is_slow_to_resample(m, sum(part.n for part in parts), parts[0].k)
        own = infer if is_slow else infer.for_groups(len(parts))
        for results, part in zip(rows, track(parts, "groups"), strict=True):
            if results[place].value is not None:
                found = own.additions(own.asked, results[place], m, part, options[place])
                results[place] = own.added(results[place], found)
    out = [add_directions(results, part) for results, part in zip(rows, parts, strict=True)]
    if infer.assess:
        for place in range(len(plan)):
            _adjust(out, place)
    return list(zip(headers, map(tuple, out), strict=True))


def _fill_views(parts: Sequence[Sketches], plan: Iterable[Metric], options: Iterable[dict[str, Any]]) -> None:
    """Compute the views of groups, and what metrics read of them, in one pass over all groups; each group keeps its own."""
    views = {lens: sketch_views([part.sketch(lens) for part in parts]) for lens in parts[0].lenses}
    for m, own in zip(plan, options, strict=True):
        if m.takes == "View" and m.sketch:
            with suppress(CalibrantError):  # which the metric reports
                for sketch in parts[0].sketches_of(own.get("lens", m.lens)):
                    m.fill_views(views[sketch.lens], m.arguments(own))


def _adjust(rows: list[list[MetricResult]], place: int) -> None:
    """Add the p-values of a metric adjusted for the groups; a direction is stated where the adjusted one is significant."""
    from ..inference.multiplicity import adjust

    tested = [results for results in rows if results[place].pvalue is not None]
    pvalues = np.array([results[place].pvalue for results in tested], dtype=np.float64)
    for results, adjusted in zip(tested, adjust(pvalues, "holm").tolist(), strict=True):
        direction = results[place].direction if adjusted <= ALPHA else ""
        results[place] = replace(results[place], adjusted=adjusted, direction=direction)


def _values(
    p: Predictions | Sketches,
    plan: Iterable[Metric],
    options: list[dict[str, Any]],
    known: Mapping[str, MetricResult] = MappingProxyType({}),
) -> list[MetricResult]:
    """Return the values of the metrics, each with its options; results that are `known` are not computed again."""
    results: list[MetricResult] = []
    for m, own in zip(plan, options, strict=True):
        if m.id in known:
            results.append(known[m.id])
            continue
        try:
            value, lens = m.of(p, **own)
        except ArgumentError as error:
            # An option that no metric accepts is an error of the caller; a lens that this metric does not support is a reason.
            # So is a valid list of edges where this metric accepts a number only, or a distance that is not a sum over classes.
            if not isinstance(error, LensError) and error.argument not in ("bins", "distance"):
                raise
            results.append(MetricResult(m.id, m.name, None, "", m.ideal, "", str(error), error=error))
        except CalibrantError as error:
            results.append(MetricResult(m.id, m.name, None, "", m.ideal, "", str(error), error=error))
        else:
            results.append(MetricResult(m.id, m.name, value, lens, m.ideal, ""))
    return results


def with_direction(result: MetricResult, m: Metric, p: Predictions | Sketches, options: dict[str, Any]) -> MetricResult:
    """Return the result with the direction of its deviation, where that is statistically significant."""
    if not m.info.signed or result.value is None or not m.direction(result.value, result.lens):
        return replace(result, direction="") if result.direction else result
    evidence = None
    if result.pvalue is None or m.alternative != "two-sided":
        from ..inference.significance import points_somewhere

        if not isinstance(p, Sketches):
            evidence = points_somewhere(m, p, options, ALPHA)
        elif result.lens in p.lenses and m.takes == "View":
            others = {name: value for name, value in options.items() if name != "lens"}
            evidence = points_somewhere(m, p.sketch(result.lens).view(), others, ALPHA)
    return replace(result, direction=shown_direction(m, result, evidence))


def _options_of(m: Metric, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options that this metric has; those of this metric alone come first."""
    taken = {
        name: value
        for name, value in given.items()
        if value is not None
        and (takes_cell_option(m, name) if name in CELL_OPTIONS else name == "lens" or name in m.options)
    }
    return taken | {name.removeprefix(f"{m.id}."): v for name, v in given.items() if name.startswith(f"{m.id}.")}


def _further(options: Any, chosen: list[Metric], own: Mapping[str, Any]) -> dict[str, Any]:
    """Check further options of metrics; one that no chosen metric has raises. Metrics are named by their ids."""
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(key, str) for key in options):
        problem = f"must be a mapping of names to values; got {options!r}"
        raise ArgumentError("options", problem, "for example {'edge': 'drop'}")
    found = {}
    for key, value in options.items():
        metric, dot, name = key.rpartition(".")
        id = catalogue[metric].id if dot else ""
        users = [m for m in chosen if m.id in (id, id or m.id)]
        if not dot and name in own:
            raise ArgumentError("options", f"{name!r} is an argument of evaluate", f"use {name}={value!r}")
        if not any(name in m.options for m in users):
            known = sorted({option for m in users for option in m.options if option not in own})
            near = get_close_matches(name, known, 1)
            remedy = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(known) or 'none'}"
            problem = f"{metric} is not evaluated" if dot and not users else f"no metric evaluated here has {name!r}"
            raise ArgumentError("options", problem, remedy if users else "add it to the metrics")
        found[f"{id}.{name}" if dot else name] = value
    return found


CELL_OPTIONS = ("gamma", "distance")


def takes_cell_option(m: Metric, name: str) -> bool:
    """Whether an option of this name is one of the cells of vectors; other metrics have options of the same names."""
    return name in m.options and ("min_size" in m.options if name == "distance" else m.options.get("binning") == "auto")


def cell_metrics(name: str) -> str:
    """The metrics with an option of the cells of vectors, as text."""
    return ", ".join(m.id for m in catalogue.values() if takes_cell_option(m, name))


class Addition(NamedTuple):
    """An interval or a p-value of a result: the fields that it sets, notes, and the number of resamples."""

    changes: dict[str, Any]
    notes: list[str]
    drawn: int = 0


class Inference(NamedTuple):
    """Intervals and p-values to add to each value."""

    level: float | None
    assess: bool
    n_resamples: int
    seed: int
    named: frozenset[str]
    """Metrics that were named; others are not resampled if they are slow."""
    simulations: int = 0
    """Number of simulated data sets of a p-value, where it exceeds the number of resamples."""

    def for_groups(self, groups: int) -> Inference:
        """Return the settings for a group of several.

        A simulated p-value cannot fall below 1 / (1 + simulations), and Holm multiplies the smallest by the number of groups. P-values of at
        most 0.05 are simulated again, with so many simulations that the adjusted one can fall to a quarter of that.
        """
        return self._replace(simulations=math.ceil(4 * groups / ALPHA))

    @classmethod
    def read(
        cls, level: Any, assess: Any, n_resamples: Any, rng: Any, named: frozenset[str] = frozenset()
    ) -> Inference | None:
        """Check the options; None where neither intervals nor p-values are requested."""
        if level is not None:
            check_fraction(level, "level")
        if not isinstance(assess, bool):
            raise ArgumentError("assess", f"must be True or False; got {assess!r}")
        if level is None and not assess:
            return None
        least = 19 if level is None else least_resamples(level)
        if check_whole(n_resamples, "n_resamples") < least:
            raise ArgumentError("n_resamples", f"must be at least {least} for this level; got {n_resamples}")
        from ..inference.seeds import seed_of

        return cls(level, assess, int(n_resamples), seed_of(rng), named)

    @property
    def asked(self) -> tuple[str, ...]:
        """What is added to a value: an interval, a p-value, or both."""
        return ("interval",) * (self.level is not None) + ("p-value",) * self.assess

    def additions(
        self,
        asked: tuple[str, ...],
        result: MetricResult,
        m: Metric,
        p: Predictions | Sketches,
        options: dict[str, Any],
    ) -> list[Addition]:
        """Return the interval and the p-value of a result, as asked for, or a note why it has none."""
        from ..inference.intervals import OWN_INTERVALS, interval
        from ..inference.metric_tests import DEFAULT_TESTS
        from ..inference.resampling import remember
        from ..inference.significance import assess

        if isinstance(p, Sketches) and result.lens not in p.lenses:
            return [Addition({}, ["resampling requires the rows"])]
        rows = min(p.n, CELLS) if isinstance(p, Sketches) else p.n
        is_slow = m.id not in self.named and is_slow_to_resample(m, rows, p.k)
        draws: dict[str, Any] = {"metric": m, "n_resamples": self.n_resamples, "rng": self.seed, **options}
        source = p
        if not isinstance(p, Sketches) and result.value is not None:
            remember(m, p, options, result.value)
        if isinstance(p, Sketches):
            source = p.sketch(result.lens)  # type: ignore[assignment]
            draws.pop("lens", None)
        additions = []
        if "interval" in asked:
            level, notes = self.level, list[str]()
            assert level is not None
            has_formula = m.is_row_mean or m.id in OWN_INTERVALS
            too_slow = is_slow and (not has_formula or result.lens in ("classwise", "ordinal"))
            found = _try_inference("interval", lambda: interval(source, level=level, **draws), notes, too_slow)
            if found is None:
                additions.append(Addition({}, notes))
            else:
                additions.append(Addition({"low": found.low, "high": found.high}, [found.note], found.n_resamples))
        if "p-value" in asked:
            notes = []
            too_slow = is_slow and m.id not in DEFAULT_TESTS
            tested = _try_inference("p-value", lambda: assess(source, **draws), notes, too_slow)
            # Taken only where the first p-value is at most alpha, the second one is still valid: P(p1 <= alpha, p2 <= a) <= a.
            if tested is not None and 0 < tested.n_resamples < self.simulations and tested.pvalue <= ALPHA:
                draws["n_resamples"] = self.simulations
                tested = _try_inference("p-value", lambda: assess(source, **draws), []) or tested
            if tested is None:
                additions.append(Addition({}, notes))
            else:
                changes = {"pvalue": tested.pvalue, "by_chance": tested.by_chance}
                note = side_note(m, result.lens, tested.alternative)
                additions.append(Addition(changes, [note], tested.n_resamples))
        return additions

    def added(self, result: MetricResult, additions: Sequence[Addition]) -> MetricResult:
        """Return the result with its interval and p-value."""
        notes = dict.fromkeys(note for addition in additions for note in addition.notes if note)  # each once
        changes = {name: value for addition in additions for name, value in addition.changes.items()}
        if changes and self.n_resamples != RESAMPLES and not any(addition.drawn for addition in additions):
            notes[NOT_RESAMPLED] = None
        return replace(result, **changes, note="; ".join(notes))


def _try_inference(what: str, draw: Callable[[], Any], notes: list[str], too_slow: bool = False) -> Any:
    """Return the interval or test; None, with the reason in `notes`, where it is undefined or too slow."""
    if too_slow:
        notes.append(f"no {what}: {SLOW}")
        return None
    try:
        return draw()
    except CalibrantError as error:
        notes.append(f"no {what}: {error.problem}")
    return None
