"""evaluate: many metrics of one set of predictions, with a header that describes the data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import EQUAL_WIDTH, as_default, binning_rule, several_bins
from ..binning.rules import LEVELS, few_levels
from ..errors import (
    ROWS_INSTEAD,
    ArgumentError,
    CalibrantError,
    InputTypeError,
    LensError,
)
from ..input.convert import summing_to_one
from ..input.frames import check_same_rows
from ..input.grouping import groups_of
from ..input.predictions import Predictions
from ..metrics.properties import PAIRED_ROWS, is_slow, is_slow_to_resample
from ..metrics.registry import Metric, catalogue
from ..recalibration.base import Calibrator
from ..sketches.collection import Sketches
from ..sketches.sketch import sketch_views
from ..util.processes import run_all
from ..util.progress import track
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions, resolve, views_of
from ..views.selections import parse_selection
from .evidence import (
    SUMMARY,
    Inference,
    adjust_for_groups,
    resampled_alike,
    shown_direction,
    with_additions,
    with_direction,
)
from .header import check_outcome, headers_of
from .result import Evaluation, Groups, Header, MetricResult, Skipped
from .summary import EvaluationSummary

if TYPE_CHECKING:
    from ..recalibration.choosing import Recalibration

Source = TypeVar("Source", Predictions, Sketches)

SETS = ("summary", "recommended", "all")
PAIRS = f"they compare all pairs of more than {PAIRED_ROWS:,} rows (name them to compute them)"
# Groups that a process evaluates before it takes the next ones.
GROUPS_AT_ONCE = 256


@documents_keywords()
def evaluate(
    y_true: Any,
    y_prob: Any = None,
    *,
    metrics: str | Metric | Iterable[str | Metric] = "summary",
    lens: str | Lens | None = None,
    bins: Any = None,
    where: Any = None,
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
    """Evaluate predictions: a summary in six lines, or many metrics at once.

    The summary answers what a reader asks first: the expected calibration error with an interval and its value by chance, the direction
    (over- or underestimates, over- or underconfident), for an event the calibration slope, the Brier score, AUROC or, for several classes,
    accuracy, and the test of calibration by the maximum cumulative difference. Other `metrics` are shown as a table below a header that describes the data.
    Predictions with groups, ``Predictions(..., groups=...)``, are evaluated by group as well. Use it for an overview; call a metric
    itself, such as `calibrant.ece`, where one number is needed.

    Parameters
    ----------
    y_true
    y_prob
    metrics : {"summary", "recommended", "all"}, str, Metric or iterable of these, default "summary"
        Metrics to compute, by id or alias, or a set of them. Of a set, metrics that compare all pairs of rows are left out for more
        than 20,000 rows, and listed in ``left_out``; metrics that are slow to resample have no interval and no simulated p-value. A metric
        that is named has both.
    lens : str or Lens, optional
        Lens of every metric, in place of its own default.
    bins : int, array-like or str, optional
        Bins of every metric that has the option, in place of its own default. ``"levels"`` is one bin per distinct score.
    where
    level : float, optional
        Confidence level of the intervals, such as 0.95. By default calibration error and slope of a summary have intervals of level 0.95, and
        other metrics none.
    assess : bool, default False
        Whether to add a p-value for the null hypothesis of calibration, by the metric's own test or by simulation, and the value
        that is expected by chance: that of the metric if the predictions were calibrated. A summary tests by `ecce_mad` in any case.
    n_resamples : int, default 200
        Number of resamples for intervals and simulated p-values; those of the summary are of the calibration error. `assess` and `interval`, which
        resample one metric and not all of an overview, have 999 and 1000: with ``n_resamples=999`` the simulated p-values here are those of `assess`.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.
    calibrator : Calibrator, Recalibration, str or path-like, optional
        Fitted calibrator, or the file that holds it; the calibrated probabilities are evaluated.
    outcome : str, optional
        Name of the event that the positive class of two represents, such as ``"churn"``. By default the name of the positive class
        or, for labels 0 and 1, of the label column.
    options : mapping, optional
        Further options of metrics, by name, for every metric that has them, such as ``{"binning": "equal_mass"}``; or of one metric, such
        as ``{"gece.gamma": 0.05}``.
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

    ``groups`` has the groupings in the given order and the groups of each sorted, numbers and quantile groups from the lowest on and text
    alphabetically. Groups have intervals and p-values of their own, from their own rows. In a summary they are not resampled, unless `level` or `assess` is
    given: the test is in closed form unless `assess` is given, and groups of few rows have none. For each metric, ``adjusted`` are the p-values of all groups of all groupings, adjusted by
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
    if isinstance(metrics, Iterable) and not isinstance(metrics, str):
        metrics = list(metrics)
    chosen = choose_metrics(metrics)
    names = metrics if isinstance(metrics, list) else [metrics]
    named = frozenset(catalogue[name].id for name in names if name not in SETS)
    summary = "summary" in names
    infer = Inference.read(level, assess, n_resamples, rng, named, summary)
    options_of_all = _read_options(chosen, lens, bins, options)
    source: Predictions | Sketches
    left_out, remarks = [], []
    if isinstance(y_true, Sketches):
        resolve(y_true, y_prob, sample_weight, pos_label, where)
        if calibrator is not None:
            raise InputTypeError("calibrator", "cannot be applied to sketches", ROWS_INSTEAD)
        source = y_true
    else:
        source = as_predictions(y_true, y_prob, sample_weight, pos_label)
        check_same_rows(y_true, {"where": where})
        infer = None if infer is None else infer.of_rows(where)
        source = parse_selection(where, source if calibrator is None else calibrate_predictions(source, calibrator))
        if lens is not None:
            # A lens that does not fit the data is an error; one that a metric does not support is a reason.
            views_of(source, lens, flattened=True)
        left_out = [m for m in chosen if m.id not in named and is_slow(m, source.n, source.k)]
        chosen = [m for m in chosen if m not in left_out]
        remarks = [grouping.note for grouping in source.groupings if grouping.note]
        is_usual = options_of_all["bins"] is None and options_of_all["binning"] is None
        if is_usual and any("bins" in m.options for m in chosen):
            remarks += _few_levels(source)
    if summary and source.kind != "binary" and lens is None and "cox_slope" not in named:
        chosen = [m for m in chosen if m.id != "cox_slope"]  # the slope is that of an event
    plan = Plan(chosen, [_options_of(m, options_of_all) for m in chosen], infer)
    describe = partial(headers_of, outcome=outcome, quantiles=not summary, lens=lens if summary else None)
    results = plan.results(source)
    make: Callable[..., Evaluation] = Evaluation
    if infer is not None:
        make = partial(EvaluationSummary, level=infer.level) if summary else Evaluation
        make = partial(make, n_resamples=infer.n_resamples)
    groups = _evaluate_groups(source, plan, describe, results, make)
    skipped = tuple(Skipped(m.id, PAIRS) for m in left_out)
    return make(describe([source])[0], tuple(results), groups, skipped, tuple(remarks))


def _read_options(
    chosen: list[Metric], lens: str | Lens | None, bins: Any, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the options of the metrics, checked."""
    further = {} if options is None else _further(options, chosen)
    binning = further.get("binning")
    if bins is None and isinstance(binning, str) and binning == LEVELS:
        bins, binning = LEVELS, None  # metrics that search for a number of bins accept it in this form only
    if bins is not None and not (isinstance(binning, str) and binning in OWN_BINNINGS):
        numbers = several_bins(bins)
        binning_rule(bins if numbers is None else numbers[0], EQUAL_WIDTH if binning is None else binning)
    # A number of bins is a default: metrics that bin by other means, such as a tree, ignore it.
    return {**further, "lens": lens, "bins": as_default(bins), "binning": binning}


# Names of bins that only some metrics know.
OWN_BINNINGS = ("auto", "simplex_grid", "pava")


def _few_levels(p: Predictions) -> list[str]:
    """A remark if the scores have few distinct values, some of which share a bin of equal width."""
    if p.kind not in ("binary", "confidence"):
        return []
    score = p.probs if p.probs.ndim == 1 else p.probs[:, -1]
    levels = few_levels(score, float(p.weight.sum()) if p.weight is not None and p.weight_kind == "counts" else None)
    if levels is None or len(levels) < 3 or len(np.unique(np.ceil(levels * 15))) == len(levels):
        return []
    return [
        f"the scores have {len(levels)} distinct values, some of which share a bin; the bins 'levels' have one for each"
    ]


def read_calibrator(calibrator: Any) -> Calibrator:
    """Return a fitted calibrator, that of a recalibration, or the one in a file."""
    from ..recalibration.choosing import Recalibration
    from ..recalibration.persistence import load

    if isinstance(calibrator, (str, os.PathLike)):
        return load(calibrator)
    fitted = calibrator.calibrator if isinstance(calibrator, Recalibration) else calibrator
    if not isinstance(fitted, Calibrator):
        problem = f"must be a fitted calibrator or the path of a saved one; got {type(calibrator).__name__}"
        raise InputTypeError("calibrator", problem)
    return fitted


def calibrate_predictions(
    p: Predictions, calibrator: Calibrator | Recalibration | str | os.PathLike[str]
) -> Predictions:
    """Return the predictions with calibrated probabilities; `calibrator` is fitted, or the file of one. Grouped calibrators use the groups."""
    from ..recalibration.cross_validation import beside_scores

    calibrator = read_calibrator(calibrator)
    # A calibrator of two classes may be that of the event that an answer is correct.
    events = p.kind == "confidence" and len(calibrator.classes_) == 2
    if (p.exclusive_classes is None) == calibrator.exclusive and not events:
        needed = "class probabilities" if calibrator.exclusive else "multilabel predictions"
        raise ArgumentError("calibrator", f"requires {needed}, and the predictions are {p.kind}", "drop calibrator")
    if calibrator.input == "logit" and p.logits is None:
        problem = "was fitted on logits, and these are probabilities"
        raise ArgumentError("calibrator", problem, "pass input='logit' if they are logits")
    order = _order_for(calibrator, p)
    probs = summing_to_one(p.probs) if calibrator.exclusive else p.probs
    scores = p.logits if calibrator.input == "logit" else probs
    assert scores is not None
    scores = scores if order is None else scores[:, order]
    if calibrator.needs:
        probs = calibrator.predict_proba(scores, **{calibrator.needs: beside_scores(calibrator, p)})
    else:
        probs = calibrator.predict_proba(scores)
    if order is not None:
        probs = probs[:, np.argsort(order)]
    return p.with_probs(probs if p.probs.ndim == 2 else np.ascontiguousarray(probs[:, 1]))


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
    """Return metrics by name: those of the summary, the recommended ones, all, or those listed."""
    if not isinstance(metrics, str | Metric | Iterable):
        problem = f"must be 'summary', 'recommended', 'all', or names; got {metrics!r}"
        raise ArgumentError("metrics", problem, "for example ['ece']")
    chosen: dict[str, Metric] = {}
    for name in [metrics] if isinstance(metrics, str | Metric) else metrics:
        if name == "summary":
            members = [catalogue[id] for id in SUMMARY]
        elif name == "recommended":
            members = [m for m in catalogue.values() if m.info.recommended]
        else:
            members = list(catalogue.values()) if name == "all" else [catalogue[name]]
        chosen |= {m.id: m for m in members}
    if not chosen:
        raise ArgumentError("metrics", "is an empty list", "name at least one, for example ['ece']")
    return list(chosen.values())


def _evaluate_groups(
    source: Predictions | Sketches,
    plan: Plan,
    describe: Callable[[Sequence[Predictions | Sketches]], list[Header]],
    results: Sequence[MetricResult],
    make: Callable[..., Evaluation],
) -> dict[Any, Evaluation]:
    """Return the evaluation of each group of rows or of a sketch, by its name; `results` are those of all rows."""
    known: dict[str, MetricResult] = {}
    places: list[tuple[Any, str, Any]] = []
    parts: list[Any] = []
    if isinstance(source, Sketches):
        # What a sketch does not keep, no group has: the reason is that of all rows.
        known = {result.metric: result for result in results if isinstance(result.error, InputTypeError)}
        places = [(name, "group", name) for name in source.groups]
        parts = [source.group(name) for name in source.groups]
    elif source.groups is not None:
        for grouping, place, rows in groups_of(source):
            places.append((grouping.labels[place], grouping.name, grouping.groups[place]))
            parts.append(source.take(rows))
    measured = plan.groups(parts, describe, known)
    return Groups(
        (key, make(header, own, {}, grouping=grouping, group=group))
        for (key, grouping, group), (header, own) in zip(places, measured, strict=True)
    )


@dataclass(frozen=True)
class Plan:
    """The metrics to compute, the options of each, and the intervals and p-values to add."""

    metrics: list[Metric]
    options: list[dict[str, Any]]
    infer: Inference | None

    def results(self, p: Predictions | Sketches) -> list[MetricResult]:
        """Return one result per metric: first all values, then intervals and p-values."""
        results = self._values(p, track(self.metrics, "metrics"))
        if self.infer is not None:
            import scipy.special  # noqa: F401  (nearly all tests and intervals use it: loaded once, before processes are started)

            from ..inference import intervals, significance  # noqa: F401
            from ..inference.cells import sharing

            infer = self.infer
            known = [place for place, result in enumerate(results) if result.value is not None]
            # What shares resamples is one task; curves without bins, the last in the catalogue, take long and come first.
            alike = resampled_alike([(self.metrics[place], results[place].lens) for place in known])[::-1]
            tasks = [([known[at] for at in group], what) for group in alike for what in ("interval", "p-value")]

            def add(places: list[int], what: str) -> list[tuple[int, tuple[dict[str, Any], str]]]:
                asked = [place for place in places if what in infer.asked(self.metrics[place])]
                return [(at, infer.infer(what, results[at], self.metrics[at], p, self.options[at])) for at in asked]

            additions: dict[int, list[tuple[dict[str, Any], str]]] = {place: [] for place in known}
            with sharing():
                done = run_all([partial(add, *task) for task in tasks], p.n * p.k)
            for place, addition in (pair for pairs in done for pair in pairs):
                additions[place].append(addition)
            for place in known:
                results[place] = with_additions(results[place], additions[place])
        return self._with_directions(results, p)

    def groups(
        self,
        parts: Sequence[Source],
        describe: Callable[[Sequence[Any]], list[Header]],
        known: Mapping[str, MetricResult],
    ) -> list[tuple[Header, tuple[MetricResult, ...]]]:
        """Return the header and the results of each group: all values, then intervals and p-values, one group after the other.

        The p-values of a metric are adjusted by Holm for all groups. `known` are results that do not depend on the group.
        """
        infer = None if self.infer is None else self.infer.for_groups(len(parts))
        is_resampled = infer is not None and infer.resamples
        # Without resamples, only the metric of the test has something added.
        tested = [place for place, m in enumerate(self.metrics) if infer is not None and infer.asked(m)]

        def measure(some: Sequence[Source]) -> list[tuple[Header, list[MetricResult]]]:
            measured = []
            if isinstance(some[0], Sketches):
                self._fill_views(some)
            headers = describe(some)
            for part, header in zip(track(some, "groups"), headers, strict=True):
                results = self._values(part, self.metrics, known)
                if infer is None:
                    results = self._with_directions(results, part)
                elif not infer.resamples:
                    for place in tested:
                        results[place] = self._inferred(infer, place, results[place], part)
                measured.append((header, results))
                if isinstance(part, Sketches):
                    part.clear_cache()
            return measured

        # Resamples use what the views of rows have cached, which another process would keep for itself.
        step = max(1, len(parts)) if is_resampled else GROUPS_AT_ONCE
        tasks = [partial(measure, parts[start : start + step]) for start in range(0, len(parts), step)]
        done = [pair for task in run_all(tasks, sum(part.n for part in parts)) for pair in task]
        rows = [results for _, results in done]
        if infer is not None and is_resampled:
            from ..inference.cells import sharing

            total = sum(part.n for part in parts)
            slow = [bool(parts) and is_slow_to_resample(m, total, parts[0].k) for m in self.metrics]
            for results, part in zip(rows, track(parts, "groups"), strict=True):
                with sharing():  # metrics of a group have the same resamples
                    for place, is_slow in enumerate(slow):
                        own = self.infer if is_slow and self.infer is not None else infer
                        results[place] = self._inferred(own, place, results[place], part)
            rows = [self._with_directions(results, part) for results, part in zip(rows, parts, strict=True)]
        for place in range(len(self.metrics) if infer is not None else 0):
            adjust_for_groups(rows, place)
        return [(header, tuple(results)) for (header, _), results in zip(done, rows, strict=True)]

    def _inferred(
        self, infer: Inference, place: int, result: MetricResult, part: Predictions | Sketches
    ) -> MetricResult:
        """Return the result of a group with its interval and p-value, as asked for."""
        m, own = self.metrics[place], self.options[place]
        asked = [] if result.value is None else infer.asked(m)
        return with_additions(result, [infer.infer(what, result, m, part, own) for what in asked]) if asked else result

    def _fill_views(self, parts: Sequence[Sketches]) -> None:
        """Compute the views of groups, and what metrics read of them, in one pass over all groups; each group keeps its own."""
        views = {lens: sketch_views([part.sketch(lens) for part in parts]) for lens in parts[0].lenses}
        for m, own in zip(self.metrics, self.options, strict=True):
            if m.takes == "View" and m.sketch:
                with suppress(CalibrantError):  # which the metric reports
                    for sketch in parts[0].sketches_of(own.get("lens", m.lens)):
                        m.fill_views(views[sketch.lens], m.arguments(own))

    def _values(
        self,
        p: Predictions | Sketches,
        metrics: Iterable[Metric],
        known: Mapping[str, MetricResult] = MappingProxyType({}),
    ) -> list[MetricResult]:
        """Return the values of the metrics, each with its options; results that are `known` are not computed again."""
        results: list[MetricResult] = []
        for m, own in zip(metrics, self.options, strict=True):
            if m.id in known:
                results.append(known[m.id])
                continue
            try:
                value, lens = m.of(p, **own)
            except CalibrantError as error:
                # An option that no metric accepts is an error of the caller; a lens that this metric does not support is a reason.
                # So is a valid list of edges where this metric accepts a number only.
                is_reason = isinstance(error, LensError) or error.argument == "bins"
                if isinstance(error, ArgumentError) and not is_reason:
                    raise
                results.append(MetricResult(m.id, m.name, None, "", m.ideal, "", str(error), error=error))
            else:
                results.append(MetricResult(m.id, m.name, value, lens, m.ideal, ""))
        return results

    def _with_directions(self, results: list[MetricResult], p: Predictions | Sketches) -> list[MetricResult]:
        """Return the results with directions: those of the summary by its intervals, others by a test."""
        directed = []
        for result, m, own in zip(results, self.metrics, self.options, strict=True):
            if self.infer is not None and self.infer.summary and m.id in SUMMARY:
                directed.append(replace(result, direction=shown_direction(m, result, None)))
            else:
                directed.append(with_direction(result, m, p, own))
        return directed


def _options_of(m: Metric, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that this metric has; those of this metric alone come first."""
    shared = {name: v for name, v in options.items() if v is not None and (name == "lens" or name in m.options)}
    return shared | {name.removeprefix(f"{m.id}."): v for name, v in options.items() if name.startswith(f"{m.id}.")}


def _further(options: Any, chosen: list[Metric]) -> dict[str, Any]:
    """Check further options of metrics; one that no chosen metric has raises. Metrics are named by their ids."""
    if not isinstance(options, Mapping) or not all(isinstance(key, str) for key in options):
        problem = f"must be a mapping of names to values; got {options!r}"
        raise ArgumentError("options", problem, "for example {'penalty': 'firth'}")
    checked = {}
    for key, value in options.items():
        metric, dot, name = key.rpartition(".")
        id = catalogue[metric].id if dot else ""
        users = [m for m in chosen if m.id in (id, id or m.id)]
        if not dot and name in ("lens", "bins"):
            raise ArgumentError("options", f"{name!r} is an argument of evaluate", f"use {name}={value!r}")
        if not any(name in m.options for m in users):
            known = sorted({option for m in users for option in m.options})
            near = get_close_matches(name, known, 1)
            remedy = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(known) or 'none'}"
            problem = f"{metric} is not evaluated" if dot and not users else f"no metric evaluated here has {name!r}"
            raise ArgumentError("options", problem, remedy if users else "add it to the metrics")
        checked[f"{id}.{name}" if dot else name] = value
    return checked
