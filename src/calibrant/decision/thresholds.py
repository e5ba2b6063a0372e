"""A threshold with a promise that holds for finite samples: above it, the error rate is at most what was asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import Argument, ArgumentError, Drop, InputError, InPython, Use
from ..input.convert import is_number
from ..util.results import Result, number
from ..views.keywords import check_keywords
from .rows import Judged, check_cost, check_level, finite_column, lower_bound, read_judged, upper_bound

__all__ = ["ThresholdChoice", "ThresholdTest", "choose_threshold"]

Floats = NDArray[np.float64]
Method = Literal["sequence", "fixed", "conformal", "bonferroni", "sgr"]
METHODS = ("sequence", "fixed", "conformal", "bonferroni", "sgr")
NO_DATA_GRID = np.arange(99, 0, -1) / 100
# Simulations over shapes and sizes of data chose these: many rows forgive the one error that ends a test of a few.
MANY, LARGEST_SHARE = 6, 4


class ThresholdTest(NamedTuple):
    """One threshold that was looked at."""

    threshold: float
    accepted: float
    errors: float
    value: float
    """The p-value, the bound or the cost that was compared with the limit."""
    passed: bool


@dataclass(frozen=True, repr=False)
class ThresholdChoice(Result):
    """The threshold chosen, what is promised of it, and what was seen."""

    threshold: float | None
    """Answer where the confidence is at least this; None where none was found, and `guarantee` says why."""
    guarantee: str
    method: str
    target: str
    coverage: float
    """Share of the rows accepted; 0 without a threshold."""
    risk: float
    """Mean loss of the rows accepted; NaN without a threshold."""
    risk_bound: float
    """What the risk (for a cost, the cost) is promised not to exceed; for ``"conformal"`` the risk of being accepted and wrong,
    on average. NaN where nothing is promised of it."""
    coverage_bound: float
    """Lower bound of the coverage, as for a threshold fixed in advance."""
    rows: float
    accepted: float
    errors: float
    confidence_level: float
    tests: tuple[ThresholdTest, ...]
    """The thresholds in the order in which they were looked at."""

    def accepts(self, confidence: Any) -> NDArray[np.bool_]:
        """Which rows to answer, from how sure the model is of them; none without a threshold."""
        sure = finite_column(confidence, "confidence")
        return np.zeros(len(sure), dtype=np.bool_) if self.threshold is None else sure >= self.threshold

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [getattr(test, name) for test in self.tests] for name in ThresholdTest._fields}

    def _title(self) -> str:
        return f"Threshold for {self.target} ({self.method})"

    def _table(self) -> tuple[list[str], list[tuple[str, str]]]:
        seen = f"{self.accepted:.6g} of {self.rows:.6g} rows accepted (at least {number(self.coverage_bound)})"
        lines = [
            ("threshold", "none" if self.threshold is None else number(self.threshold)),
            ("promise", self.guarantee),
        ]
        if self.threshold is not None:
            lines += [("coverage", f"{number(self.coverage)}: {seen}"), ("risk seen", number(self.risk))]
        return ["", ""], lines

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {name:<10} {text}" for name, text in self._table()[1])])


class _Found(NamedTuple):
    threshold: float | None
    bound: float
    promise: str
    tests: list[ThresholdTest]


def choose_threshold(
    y_true: Any,
    y_prob: Any = None,
    *,
    accuracy: float | None = None,
    coverage: float | None = None,
    cost: Mapping[str, float] | None = None,
    confidence_level: float = 0.9,
    method: Method | None = None,
    grid: Any = None,
    confidence: Any = None,
    loss: Any = None,
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> ThresholdChoice:
    """Choose above which confidence to answer, so that an accuracy, a coverage or a cost is promised for new rows.

    The rows must not have been used to train or recalibrate the model, and new rows must come from the same source: under
    shift nothing is promised. Report the accuracy at the threshold on yet other rows.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions; keywords of `Predictions` are taken too.
    accuracy
        Least accuracy of the answers given.
    coverage
        Least share of rows answered; the strictest threshold that keeps it is chosen.
    cost
        ``{"error": e, "review": r}``: what a wrong answer and a row that is not answered cost; the cheapest threshold is chosen.
    confidence_level
        With what probability, over draws of these rows, the promise holds.
    method
        ``"sequence"`` (default) tests ever smaller thresholds and stops at the first failure (Bauer 1991; Angelopoulos et al. 2021).
        It begins twice, each time with half of the level: where just enough rows are accepted for a test to be passed, and
        where six times as many or a quarter of the rows are; a walk that reaches the second start hands its half on (Wiens 2003). With
        few rows there is the second start alone. The confidences of these rows tell where that is, which is harmless where
        surer rows are right more often. A `grid` that is given is walked once, from the first threshold with enough rows.
        ``"bonferroni"`` tests all of the grid, each at its share of the level; it can find one where ``"sequence"`` does not.
        ``"fixed"`` judges the one threshold given as `grid`. ``"conformal"`` bounds how often a row is accepted and wrong, on
        average over draws of these rows (Angelopoulos et al. 2022). ``"sgr"`` is the bisection of Geifman and El-Yaniv (2017), whose proof
        takes the thresholds visited as fixed though they depend on labels.
    grid
        Thresholds to choose from, fixed without looking at labels; 0.99, 0.98, ..., 0.01 unless given, and the confidences seen
        for ``"conformal"``.
    confidence, loss, lens, where
        As in `risk_coverage`; losses other than 0 and 1 must lie between them.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.decision.thresholds import choose_threshold
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> choose_threshold(y, p, accuracy=0.9).threshold
    0.83
    """
    check_keywords(choose_threshold, keywords)
    goal = [
        name for name, value in (("accuracy", accuracy), ("coverage", coverage), ("cost", cost)) if value is not None
    ]
    delta = 1 - check_level(confidence_level, "confidence_level")
    if len(goal) > 1 or (not goal and method != "fixed"):
        raise ArgumentError(
            "accuracy",
            f"exactly one target is required: accuracy, coverage or cost; got {' and '.join(goal) or 'none'}",
            Use("accuracy", 0.95),
        )
    kind = goal[0] if goal else "accuracy"
    method = _method(method, kind)
    judged = read_judged(choose_threshold, y_true, y_prob, confidence, loss, lens, where, keywords)
    judged.refuse_importance("choose_threshold")
    if (judged.loss > 1).any():
        raise InputError("loss", "must lie between 0 and 1", "divide it by its maximum")
    thresholds = _grid(grid, method, judged)
    if kind == "cost":
        assert cost is not None
        target, found = "the least cost", _cheapest(judged, thresholds, _costs(cost), delta)
    elif kind == "coverage":
        share = check_level(coverage, "coverage")
        target, found = f"a coverage of at least {share:g}", _for_coverage(judged, thresholds, share, delta, method)
    else:
        risk = 1.0 if accuracy is None else 1 - check_level(accuracy, "accuracy")
        target = "a threshold given" if accuracy is None else f"an accuracy of at least {accuracy:g}"
        found = _for_accuracy(judged, thresholds, risk, delta, method)
    return _choice(judged, found, target, method, delta)


def _method(method: Any, kind: str) -> Method:
    known = {"cost": ("bonferroni",), "coverage": METHODS[:4], "accuracy": METHODS}[kind]
    method = known[0] if method is None else method
    if method not in known:
        raise ArgumentError(
            "method", f"must be one of {', '.join(map(repr, known))} for a guarantee of {kind}; got {method!r}"
        )
    return method


def _costs(cost: Any) -> tuple[float, float]:
    if not isinstance(cost, Mapping) or set(cost) != {"error", "review"}:
        raise ArgumentError(
            "cost",
            f"must be the cost of an error and of a review; got {cost!r}",
            InPython("for example {'error': 10, 'review': 1}"),
        )
    return check_cost(cost["error"], "cost"), check_cost(cost["review"], "cost")


def _grid(grid: Any, method: str, judged: Judged) -> Floats:
    """Falling thresholds."""
    if method == "sgr" or (grid is None and method == "conformal"):
        return judged.steps.threshold
    if method == "fixed":
        one = np.empty(0) if grid is None else finite_column([grid] if is_number(grid) else grid, "grid")
        if len(one) != 1:
            raise ArgumentError(
                "grid", f"must be one threshold for the method 'fixed'; got {grid!r}", "for example 0.9"
            )
        return one
    if grid is None:
        if judged.confidence.min() < 0 or judged.confidence.max() > 1:
            raise ArgumentError(
                "grid",
                "is required for confidences that are not probabilities",
                "give thresholds chosen without labels",
            )
        return NO_DATA_GRID
    return np.unique(finite_column([grid] if is_number(grid) else grid, "grid"))[::-1]


def _for_accuracy(judged: Judged, grid: Floats, risk: float, delta: float, method: Method) -> _Found:
    if method == "conformal":
        return _conformal(judged, grid, risk)
    if method == "sgr":
        return _bisection(judged, grid, risk, delta)
    rows, lost, _ = judged.steps.at(grid)
    promise = f"with probability {1 - delta:g} the error rate of the rows accepted is at most"
    if method == "fixed":
        bound = risk_bound(judged, float(rows[0]), float(lost[0]), delta)
        passed = bound <= risk and bool(rows[0])
        tests = [ThresholdTest(float(grid[0]), float(rows[0]), float(lost[0]), bound, passed)]
        return _Found(float(grid[0]) if passed else None, bound, f"{promise} {bound:.4g}", tests)
    pvalue = pvalues(judged, rows, lost, risk)
    if method == "bonferroni":
        fits = pvalue <= delta / len(grid)
        chosen = np.flatnonzero(fits)
        done = Walk(int(chosen[-1]) if len(chosen) else None, np.arange(len(grid)), fits)
    else:
        # A grid that was given is walked as it is, from the first threshold with enough rows for a test to be passed.
        enough = np.flatnonzero(rows >= fewest(risk, delta))[:1].tolist()
        done = walk(pvalue, starts_of(rows, judged.total, risk, delta) if grid is NO_DATA_GRID else enough, delta)
    columns = (grid[done.looked], rows[done.looked], lost[done.looked], pvalue[done.looked], done.passed)
    tests = [ThresholdTest(*row) for row in zip(*(values.tolist() for values in columns), strict=True)]
    return _Found(None if done.last is None else float(grid[done.last]), risk, f"{promise} {risk:.4g}", tests)


def _conformal(judged: Judged, grid: Floats, risk: float) -> _Found:
    """The smallest threshold with (losses of accepted rows + 1) / (n + 1) at most `risk`, there and at all above it."""
    rows, lost, _ = judged.steps.at(grid)
    value = (lost + 1) / (judged.total + 1)
    fits = value <= risk * (1 + 1e-12)  # 1 - accuracy is rounded
    count = int(np.argmin(fits)) if not fits.all() else len(grid)
    tests = _tests(grid, rows, lost, value, fits, min(count + 1, len(grid)))
    promise = (
        f"on average over draws of these rows, a new row is accepted and wrong with probability at most {risk:.4g}"
    )
    if count == 0:
        return _Found(None, math.nan, promise, tests)
    return _Found(float(grid[count - 1]), float(value[count - 1]), promise, tests)


def _tests(
    grid: Floats, rows: Floats, lost: Floats, value: Floats, fits: NDArray[Any], most: int
) -> list[ThresholdTest]:
    """The last thousand of the first `most` thresholds."""
    part = slice(max(0, most - 1000), most)
    columns = (grid[part], rows[part], lost[part], value[part], fits[part])
    return [ThresholdTest(*row) for row in zip(*(values.tolist() for values in columns), strict=True)]


def _bisection(judged: Judged, grid: Floats, risk: float, delta: float) -> _Found:
    """Geifman and El-Yaniv's search over the confidences seen, each step at its share of the level."""
    steps = max(1, math.ceil(math.log2(max(2.0, judged.total))))
    low, high = 0, len(grid) - 1  # places in falling order: a larger place accepts more
    best: int | None = None
    bound, tests = math.nan, []
    for _ in range(steps):
        place = (low + high + 1) // 2
        rows, lost = float(judged.steps.accepted[place]), float(judged.steps.lost[place])
        value = risk_bound(judged, rows, lost, delta / steps)
        tests.append(ThresholdTest(float(grid[place]), rows, lost, value, value <= risk))
        if value <= risk:
            best, bound, low = place, value, place
        else:
            high = place - 1
        if high < low or (low == high and best == low):
            break
    promise = (
        f"with probability {1 - delta:g} the error rate of the rows accepted is at most {bound:.4g}, "
        "if the thresholds visited are taken as fixed"
    )
    return _Found(None if best is None else float(grid[best]), bound, promise, tests)


def _for_coverage(judged: Judged, grid: Floats, share: float, delta: float, method: Method) -> _Found:
    """The strictest threshold that keeps the coverage: as it falls with the threshold, tests go from the smallest up."""
    rows, lost, _ = judged.steps.at(grid)
    if method == "conformal":
        value = (judged.total - rows + 1) / (judged.total + 1)
        fits = value <= (1 - share) * (1 + 1e-12)
        promise = f"on average over draws of these rows, a new row is accepted with probability at least {share:g}"
    else:
        level = delta / len(grid) if method == "bonferroni" else delta
        value = lower_bound(rows, judged.total, level)
        fits = value >= share
        promise = f"with probability {1 - delta:g} at least {share:g} of new rows are accepted"
    chosen = np.flatnonzero(fits)  # the bound rises with the rows accepted, so all below the first fit too
    first = int(chosen[0]) if len(chosen) else None
    tests = _tests(grid[::-1], rows[::-1], lost[::-1], value[::-1], fits[::-1], len(grid))
    return _Found(None if first is None else float(grid[first]), math.nan, promise, tests)


def _cheapest(judged: Judged, grid: Floats, costs: tuple[float, float], delta: float) -> _Found:
    """The cheapest threshold on these rows, with a bound of its cost that holds for the whole grid at once."""
    if not judged.counts_errors:
        raise InputError("loss", ("must be 0 or 1 with ", Argument("cost")), Drop("loss"))
    grid = np.concatenate([[np.inf], grid])  # to answer no row is a choice too
    rows, lost, _ = judged.steps.at(grid)
    n = judged.total
    seen = (costs[0] * lost + costs[1] * (n - rows)) / n
    level = delta / (2 * len(grid))  # each threshold has two bounds
    bound = costs[0] * upper_bound(lost, n, level) + costs[1] * upper_bound(n - rows, n, level)
    best = int(np.argmin(seen))
    promise = f"with probability {1 - delta:g} the mean cost of a row is at most {bound[best]:.4g} ({seen[best]:.4g} on these rows)"
    tests = _tests(grid, rows, lost, seen, np.arange(len(grid)) == best, len(grid))
    return _Found(float(grid[best]), float(bound[best]), promise, tests)


def _choice(judged: Judged, found: _Found, target: str, method: str, delta: float) -> ThresholdChoice:
    rows = lost = np.zeros(1)
    promise = found.promise
    if found.threshold is None:
        promise = _why_none(judged, found, target, method)
    else:
        rows, lost, _ = judged.steps.at(np.array([found.threshold]))
    accepted, errors = float(rows[0]), float(lost[0])
    return ThresholdChoice(
        threshold=None if found.threshold is None else max(found.threshold, judged.least),
        guarantee=promise,
        method=method,
        target=target,
        coverage=accepted / judged.total,
        risk=errors / accepted if accepted else math.nan,
        risk_bound=math.nan if found.threshold is None and method != "fixed" else found.bound,
        coverage_bound=float(lower_bound(accepted, judged.total, delta)),
        rows=judged.total,
        accepted=accepted,
        errors=errors,
        confidence_level=1 - delta,
        tests=tuple(found.tests),
    )


def _why_none(judged: Judged, found: _Found, target: str, method: str) -> str:
    """Which search found nothing, and where it came to an end: another one may still find something."""

    def seen(test: ThresholdTest) -> str:
        lost = f"{test.errors:.6g} error{'' if test.errors == 1 else 's'}"
        lost = lost if judged.counts_errors else f"a loss of {test.errors:.4g}"
        return f"{max(test.threshold, judged.least):.4g} ({lost} in {test.accepted:.6g} row{'' if test.accepted == 1 else 's'})"

    start = f"none: this search found no threshold for {target}"
    if not found.tests:
        return f"{start}; too few of the {judged.total:.6g} rows are accepted for a test to be passed, even without an error"
    if "coverage" in target:
        most = found.tests[0]
        return f"{start}; the nearest was {max(most.threshold, judged.least):.4g} ({most.accepted:.6g} of {judged.total:.6g} rows accepted)"
    if method == "fixed" and not found.tests[0].accepted:
        return f"none: no row is accepted at {found.tests[0].threshold:.4g}"
    if method == "fixed":
        return (
            f"none: {seen(found.tests[0])} is not shown to have {target}; its error rate may be up to {found.bound:.4g}"
        )
    if method == "sequence":
        stops = " and at ".join(seen(test) for test in found.tests if not test.passed)
        return f"{start}; it stopped at {stops}; the method bonferroni or a grid of other thresholds may find one"
    nearest = min(found.tests, key=lambda test: test.value)
    return f"{start}; the nearest was {seen(nearest)}"


class Walk(NamedTuple):
    """How far tests were passed."""

    last: int | None
    """The last place passed, which accepts most rows."""
    looked: NDArray[np.intp]
    passed: NDArray[np.bool_]
    """For each place looked at."""


def pvalues(judged: Judged, rows: Floats, lost: Floats, risk: float) -> Floats:
    """P-values of "the risk is above `risk`": binomial for errors, Hoeffding and Bentkus for losses between 0 and 1."""
    from scipy.special import bdtr, rel_entr

    if judged.counts_errors:
        return np.asarray(np.where(rows > 0, bdtr(lost, rows.astype(np.int64), risk), 1.0))
    mean = np.minimum(np.divide(lost, rows, out=np.ones_like(lost), where=rows > 0), 1.0)
    below = np.minimum(mean, risk)
    hoeffding = np.exp(-rows * (rel_entr(below, risk) + rel_entr(1 - below, 1 - risk)))
    # Sums of losses carry rounding: what is a whole number up to 1e-9 must not be raised to the next.
    bentkus = math.e * bdtr(np.minimum(np.ceil(lost - 1e-9), rows), rows.astype(np.int64), risk)
    return np.asarray(np.where(rows > 0, np.minimum(1.0, np.minimum(hoeffding, bentkus)), 1.0))


def risk_bound(judged: Judged, rows: float, lost: float, delta: float) -> float:
    """The largest risk that is not rejected at level `delta`."""
    if judged.counts_errors or rows == 0:
        return float(upper_bound(lost, rows, delta)) if rows else 1.0
    from scipy.optimize import brentq

    def excess(risk: float) -> float:
        return float(pvalues(judged, np.array([rows]), np.array([lost]), risk)[0]) - delta

    low = min(lost / rows, 1 - 1e-12)
    return 1.0 if excess(1 - 1e-12) > 0 else float(brentq(excess, max(low, 1e-300), 1 - 1e-12))


def fewest(risk: float, delta: float) -> int:
    """How many rows without an error a test needs to be passed."""
    return math.ceil(math.log(delta) / math.log1p(-risk) - 1e-9)


def starts_of(rows: Floats, total: float, risk: float, delta: float) -> list[int]:
    """Where to begin on the usual grid; labels have no say in it.

    With just enough rows for a test one error ends the walk, so a second one begins with many rows. Where there is no room for
    both, the second is the only one. Places that accept too few rows for any test are left out.
    """
    few = fewest(risk, delta / 2)
    many = max(fewest(risk, delta), min(MANY * fewest(risk, delta), math.floor(total / LARGEST_SHARE)))
    wanted = [many] if many < 2 * few else [few, many]
    return sorted({int(np.argmax(rows >= least)) for least in wanted if (rows >= least).any()})


def walk(pvalue: Floats, starts: list[int], delta: float) -> Walk:
    """Test from each start on until a test fails; what is passed holds with probability 1 - `delta`, all together.

    Each start has an equal share of `delta`. A walk that reaches the next start hands its share on (the fallback procedure of
    Wiens 2003); if it fails before, the next one has its own share alone.
    """
    looked: list[int] = []
    passed: list[Any] = []
    last, level = None, 0.0
    for begin, end in zip(starts, [*starts, len(pvalue)][1:], strict=True):
        level += delta / len(starts)
        fits = pvalue[begin:end] <= level
        count = len(fits) if fits.all() else int(np.argmin(fits))
        last = begin + count - 1 if count else last
        looked += range(begin, min(begin + count + 1, end))
        passed += fits[: count + 1].tolist()
        level = level if count == len(fits) else 0.0
    return Walk(last, np.array(looked, dtype=np.intp), np.array(passed, dtype=np.bool_))
