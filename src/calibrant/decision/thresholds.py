"""Confidence thresholds with finite-sample guarantees on accuracy, coverage or cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import few_levels
from ..errors import ArgumentError, InputError
from ..util.arrays import Floats
from ..util.checks import check_fraction, is_number
from ..util.results import Result, number
from .rows import Judged, finite_column, judging, lower_bound, records, upper_bound

Method = Literal["sequence", "fixed", "conformal", "bonferroni", "sgr"]
METHODS = ("sequence", "fixed", "conformal", "bonferroni", "sgr")
# Candidates accept these shares of the rows.
SHARES = np.arange(1, 101) / 100
# Chosen by simulation: with many rows one early error does not end the sequence.
MANY, LARGEST_SHARE = 6, 4


class ThresholdTest(NamedTuple):
    """One threshold that was tested.

    Parameters
    ----------
    threshold : float
        Confidence threshold.
    accepted : float
        Number of accepted rows.
    errors : float
        Sum of their losses.
    value : float
        The p-value, bound or cost that was compared with the limit.
    passed : bool
        Whether the threshold passed.

    Examples
    --------
    >>> from calibrant.decision import ThresholdTest
    >>> ThresholdTest(0.9, 100.0, 2.0, 0.03, True).passed
    True
    """

    threshold: float
    accepted: float
    errors: float
    value: float
    passed: bool


@dataclass(frozen=True, repr=False)
class ThresholdChoice(Result):
    """A confidence threshold, its guarantee, and coverage and risk on the data.

    Parameters
    ----------
    threshold : float or None
        Answer if the confidence is at least this; None if no threshold was found, and `statement` says why.
    statement : str
        The guarantee as a sentence.
    method : str
        Method of the search.
    target : str
        The requirement.
    coverage : float
        Share of accepted rows; 0 without a threshold.
    risk : float
        Mean loss of accepted rows; NaN without a threshold.
    risk_bound : float
        Guaranteed bound of the risk; for ``"conformal"`` the expected probability of being accepted and
        wrong. NaN without a guarantee.
    coverage_bound : float
        Lower confidence bound of the coverage, as for a threshold fixed in advance.
    rows : float
        Number of rows.
    accepted : float
        Number of accepted rows.
    errors : float
        Sum of their losses.
    guarantee : float
        Probability with which the guarantee holds.
    tests : tuple of ThresholdTest
        The tested thresholds in order.
    """

    threshold: float | None
    statement: str
    method: str
    target: str
    coverage: float
    risk: float
    risk_bound: float
    coverage_bound: float
    rows: float
    accepted: float
    errors: float
    guarantee: float
    tests: tuple[ThresholdTest, ...]

    def accepts(self, confidence: Any) -> NDArray[np.bool_]:
        """Select the rows to answer.

        Parameters
        ----------
        confidence : array-like of shape (N,)
            Confidence of each row.

        Returns
        -------
        ndarray of bool
            Whether the confidence reaches the threshold; all False without a threshold.
        """
        sure = finite_column(confidence, "confidence")
        return np.zeros(len(sure), dtype=np.bool_) if self.threshold is None else sure >= self.threshold

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [getattr(test, name) for test in self.tests] for name in ThresholdTest._fields}

    def _title(self) -> str:
        return f"Threshold for {self.target} (method: {self.method})"

    def _table(self) -> tuple[list[str], list[tuple[str, str]]]:
        seen = f"{self.accepted:.6g} of {self.rows:.6g} rows accepted, lower bound {number(self.coverage_bound)}"
        lines = [
            ("threshold", "none" if self.threshold is None else f"confidence of at least {number(self.threshold)}"),
            ("guarantee", self.statement),
        ]
        if self.threshold is not None:
            lines += [
                ("coverage", f"{number(self.coverage)}: {seen}"),
                ("risk", f"{number(self.risk)}: mean loss of the accepted rows"),
            ]
        return ["", ""], lines

    def __repr__(self) -> str:
        lines = (f"  {name:<10} {text}" for name, text in self._table()[1])
        return "\n".join([self._title(), *self._dropped_lines(), *lines])


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"


class _Search(NamedTuple):
    threshold: float | None
    bound: float
    statement: str
    tests: list[ThresholdTest]


@judging()
def choose_threshold(
    judged: Judged,
    *,
    accuracy: float | None = None,
    coverage: float | None = None,
    guarantee: float = 0.9,
    method: Method | None = None,
    grid: Any = None,
) -> ThresholdChoice:
    """Choose a confidence threshold with a finite-sample guarantee for new data.

    Either `accuracy` or `coverage` states the requirement. With probability at least `guarantee` over the sampling of
    these rows, the threshold meets it on new data from the same distribution. The rows must not have been used to train or recalibrate
    the model; under distribution shift there is no guarantee.

    Parameters
    ----------
    y_true
    y_prob
    accuracy : float, optional
        Required accuracy of the accepted rows; the threshold with the largest coverage is sought.
    coverage : float, optional
        Required share of accepted rows; the largest threshold that attains it is chosen.
    guarantee : float, default 0.9
        Probability with which the guarantee holds.
    method : {"sequence", "fixed", "conformal", "bonferroni", "sgr"}, optional
        Search method; by default ``"sequence"``. See the Notes.
    grid : array-like, optional
        Candidate thresholds, fixed independently of the labels; by default the confidences that accept 1%, 2%, ..., 100% of the rows,
        all of them if they have few distinct values, and all for ``"conformal"``. For ``"fixed"`` the single threshold to test.
    confidence
    loss : array-like of shape (N,), optional
        Loss of each row, between 0 and 1; by default 1 for an error and 0 otherwise.
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    ThresholdChoice
        Result with the attributes ``threshold`` (None if none was found), ``statement``, ``coverage``, ``risk``, ``risk_bound`` and
        ``tests``, and the method ``accepts``.

    Raises
    ------
    ArgumentError
        If not one requirement is stated, or `method` is not available for it.
    WeightsNotSupportedError
        If rows have importance weights; counts are supported.

    See Also
    --------
    risk_coverage : The curve from which a threshold is chosen without a guarantee.
    review_routing : Workload, error and cost of a threshold.

    Notes
    -----
    Each threshold is tested against the null hypothesis that its risk exceeds the target, with exact binomial p-values (Hoeffding-Bentkus for
    other losses), and multiplicity is controlled by the method:

    - ``"sequence"``: fixed-sequence testing from large thresholds to small ones [1]_ [2]_, which stops at the first failure. There are two
      starting points with half of the error probability each: where just enough rows are accepted to pass a test without an error, and where six
      times as many, or a quarter of all rows, are accepted; a sequence that reaches the second start passes its share on (fallback
      procedure [3]_). With few rows only the second is used. A given `grid` is tested as one sequence. Candidates by ranks depend on
      the confidences, not on the labels: above a rank, errors are binomial given the confidence at that rank. The guarantee is exact if the
      risk of accepted rows does not decrease where more are accepted, and holds in simulations where it does.
    - ``"bonferroni"``: all thresholds of the grid, each at its share of the error probability.
    - ``"fixed"``: the single threshold given as `grid`.
    - ``"conformal"``: conformal risk control [4]_; it bounds the probability of being accepted and wrong in expectation over these rows.
    - ``"sgr"``: the bisection of [5]_, whose proof treats the visited thresholds as fixed although they depend on the labels.

    References
    ----------
    .. [1] Bauer, P. (1991). Multiple testing in clinical trials. Statistics in Medicine 10.
    .. [2] Angelopoulos, A. N. et al. (2021). Learn then test: calibrating predictive algorithms to achieve risk control. arXiv:2110.01052.
    .. [3] Wiens, B. L. (2003). A fixed sequence Bonferroni procedure for testing multiple endpoints. Pharmaceutical Statistics 2.
    .. [4] Angelopoulos, A. N. et al. (2022). Conformal risk control. arXiv:2208.02814.
    .. [5] Geifman, Y. and El-Yaniv, R. (2017). Selective classification for deep neural networks. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> choice = cal.choose_threshold(y, p, accuracy=0.9)
    >>> round(choice.threshold, 4), choice.coverage
    (0.8236, 0.36)
    >>> print(choice.statement)
    with probability at least 90% the error rate of accepted rows is at most 0.1
    """
    goal = [name for name, value in (("accuracy", accuracy), ("coverage", coverage)) if value is not None]
    delta = 1 - check_fraction(guarantee, "guarantee")
    if len(goal) > 1 or (not goal and method != "fixed"):
        raise ArgumentError(
            "accuracy",
            f"exactly one target is required: accuracy or coverage; got {' and '.join(goal) or 'none'}",
            "use accuracy=0.95",
        )
    kind = goal[0] if goal else "accuracy"
    method = _method(method, kind)
    judged.refuse_importance("choose_threshold")
    if (judged.loss > 1).any():
        raise InputError("loss", "must lie between 0 and 1", "divide it by its maximum")
    levels = few_levels(judged.confidence, judged.total)
    levels = None if levels is None or len(levels) < 2 else levels[::-1]
    thresholds = _grid(grid, method, judged, levels)
    if kind == "coverage":
        share = check_fraction(coverage, "coverage", 0.9)
        target, search = f"a coverage of at least {share:g}", _for_coverage(judged, thresholds, share, delta, method)
    else:
        risk = 1.0 if accuracy is None else 1 - check_fraction(accuracy, "accuracy", 0.9)
        target = "a given threshold" if accuracy is None else f"an accuracy of at least {accuracy:g}"
        search = _for_accuracy(judged, thresholds, risk, delta, method, grid is None)
    return _choice(judged, search, target, method, delta)


def _method(method: Any, kind: str) -> Method:
    known = METHODS[:4] if kind == "coverage" else METHODS
    method = known[0] if method is None else method
    if method not in known:
        chosen = ", ".join(repr(name) for name in known if name != "fixed")
        raise ArgumentError("method", f"must be one of {chosen} for a guarantee of {kind}; got {method!r}")
    return method


def _grid(grid: Any, method: str, judged: Judged, levels: Floats | None) -> Floats:
    """Candidate thresholds in decreasing order."""
    if method == "sgr" or (grid is None and method == "conformal"):
        return judged.steps.threshold
    if method == "fixed":
        one = np.empty(0) if grid is None else finite_column([grid] if is_number(grid) else grid, "grid")
        if len(one) != 1:
            raise ArgumentError(
                "grid", f"must be one threshold for the method 'fixed'; got {grid!r}", "for example 0.9"
            )
        return one
    if grid is None and levels is not None:
        return levels
    if grid is None:
        # Sums of counts are whole numbers, so that a rounded share of them is the share itself.
        places = np.searchsorted(judged.steps.accepted, np.ceil(SHARES * judged.total - 1e-9))
        return judged.steps.threshold[np.unique(places)]
    return np.unique(finite_column([grid] if is_number(grid) else grid, "grid"))[::-1]


def _for_accuracy(judged: Judged, grid: Floats, risk: float, delta: float, method: Method, default: bool) -> _Search:
    if method == "conformal":
        return _conformal(judged, grid, risk)
    if method == "sgr":
        return _bisection(judged, grid, risk, delta)
    rows, lost, _ = judged.steps.at(grid)
    guarantee = f"with probability at least {_percent(1 - delta)} the error rate of accepted rows is at most"
    if method == "fixed":
        bound = risk_bound(judged, float(rows[0]), float(lost[0]), delta)
        passed = bound <= risk and bool(rows[0])
        tests = [ThresholdTest(float(grid[0]), float(rows[0]), float(lost[0]), bound, passed)]
        return _Search(float(grid[0]) if passed else None, bound, f"{guarantee} {bound:.4g}", tests)
    pvalue = pvalues(judged, rows, lost, risk)
    if method == "bonferroni":
        fits = pvalue <= delta / len(grid)
        chosen = np.flatnonzero(fits)
        done = Walk(int(chosen[-1]) if len(chosen) else None, np.arange(len(grid)), fits)
    else:
        # A given grid is tested as one sequence, from the first threshold with enough rows to pass a test.
        enough = np.flatnonzero(rows >= fewest(risk, delta))[:1].tolist()
        done = walk(pvalue, starts_of(rows, judged.total, risk, delta) if default else enough, delta)
    tests = records(ThresholdTest, *(values[done.looked] for values in (grid, rows, lost, pvalue)), done.passed)
    return _Search(None if done.last is None else float(grid[done.last]), risk, f"{guarantee} {risk:.4g}", tests)


def _conformal(judged: Judged, grid: Floats, risk: float) -> _Search:
    """The smallest threshold with (losses of accepted rows + 1) / (n + 1) at most `risk`, there and at all larger ones."""
    rows, lost, _ = judged.steps.at(grid)
    value = (lost + 1) / (judged.total + 1)
    fits = value <= risk * (1 + 1e-12)  # 1 - accuracy is rounded
    count = int(np.argmin(fits)) if not fits.all() else len(grid)
    tests = _tests(grid, rows, lost, value, fits, min(count + 1, len(grid)))
    guarantee = f"in expectation over these rows, a new row is accepted and wrong with probability at most {risk:.4g}"
    if count == 0:
        return _Search(None, math.nan, guarantee, tests)
    return _Search(float(grid[count - 1]), float(value[count - 1]), guarantee, tests)


def _tests(
    grid: Floats, rows: Floats, lost: Floats, value: Floats, fits: NDArray[Any], most: int
) -> list[ThresholdTest]:
    """The last thousand of the first `most` thresholds."""
    part = slice(max(0, most - 1000), most)
    return records(ThresholdTest, *(values[part] for values in (grid, rows, lost, value, fits)))


def _bisection(judged: Judged, grid: Floats, risk: float, delta: float) -> _Search:
    """The bisection of Geifman and El-Yaniv over the observed confidences, each step at its share of the error probability."""
    steps = max(1, math.ceil(math.log2(max(2.0, judged.total))))
    low, high = 0, len(grid) - 1  # positions in decreasing order: a larger one accepts more
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
    guarantee = (
        f"with probability at least {_percent(1 - delta)} the error rate of accepted rows is at most {bound:.4g}, "
        "if the visited thresholds are treated as fixed"
    )
    return _Search(None if best is None else float(grid[best]), bound, guarantee, tests)


def _for_coverage(judged: Judged, grid: Floats, share: float, delta: float, method: Method) -> _Search:
    """The largest threshold that attains the coverage; as coverage decreases with the threshold, tests start from the smallest."""
    rows, lost, _ = judged.steps.at(grid)
    if method == "conformal":
        value = (judged.total - rows + 1) / (judged.total + 1)
        fits = value <= (1 - share) * (1 + 1e-12)
        guarantee = f"in expectation over these rows, a new row is accepted with probability at least {share:g}"
    else:
        level = delta / len(grid) if method == "bonferroni" else delta
        value = lower_bound(rows, judged.total, level)
        fits = value >= share
        guarantee = f"with probability at least {_percent(1 - delta)} at least {share:g} of new rows are accepted"
    # The bound increases with the accepted rows, so all thresholds below the first fit too.
    chosen = np.flatnonzero(fits)
    first = int(chosen[0]) if len(chosen) else None
    tests = _tests(grid[::-1], rows[::-1], lost[::-1], value[::-1], fits[::-1], len(grid))
    return _Search(None if first is None else float(grid[first]), math.nan, guarantee, tests)


def _choice(judged: Judged, search: _Search, target: str, method: str, delta: float) -> ThresholdChoice:
    rows = lost = np.zeros(1)
    statement = search.statement
    if search.threshold is None:
        statement = _why_none(judged, search, target)
    else:
        rows, lost, _ = judged.steps.at(np.array([search.threshold]))
    accepted, errors = float(rows[0]), float(lost[0])
    return ThresholdChoice(
        threshold=search.threshold,
        statement=statement,
        method=method,
        target=target,
        coverage=accepted / judged.total,
        risk=errors / accepted if accepted else math.nan,
        risk_bound=math.nan if search.threshold is None and method != "fixed" else search.bound,
        coverage_bound=float(lower_bound(accepted, judged.total, delta)),
        rows=judged.total,
        accepted=accepted,
        errors=errors,
        guarantee=1 - delta,
        tests=tuple(search.tests),
    )


def _why_none(judged: Judged, search: _Search, target: str) -> str:
    """Why no threshold was found, with the test that came nearest."""
    start = f"none: the search found no threshold for {target}"
    if not search.tests:
        return f"{start}; too few of the {judged.total:.6g} rows are accepted to pass a test, even without an error"
    nearest = search.tests[0] if "coverage" in target else min(search.tests, key=lambda test: test.value)
    lost = f"{nearest.errors:.6g} errors" if judged.counts_errors else f"a loss of {nearest.errors:.4g}"
    rows = f"{nearest.accepted:.6g} of {judged.total:.6g} rows accepted"
    return f"{start}; the nearest was {nearest.threshold:.4g} ({lost} in {rows})"


class Walk(NamedTuple):
    """How far a sequence of tests passed."""

    last: int | None
    """The last place passed, which accepts most rows."""
    looked: NDArray[np.intp]
    passed: NDArray[np.bool_]
    """For each place looked at."""


def pvalues(judged: Judged, rows: Floats, lost: Floats, risk: float) -> Floats:
    """P-values of the null hypothesis that the risk exceeds `risk`: binomial for errors, Hoeffding-Bentkus for losses in [0, 1]."""
    from scipy.special import bdtr, rel_entr

    if judged.counts_errors:
        return np.asarray(np.where(rows > 0, bdtr(lost, rows.astype(np.int64), risk), 1.0))
    mean = np.minimum(np.divide(lost, rows, out=np.ones_like(lost), where=rows > 0), 1.0)
    below = np.minimum(mean, risk)
    hoeffding = np.exp(-rows * (rel_entr(below, risk) + rel_entr(1 - below, 1 - risk)))
    # Sums of losses are rounded: a whole number up to 1e-9 must not be raised to the next.
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
    return 1.0 if excess(1 - 1e-12) > 0 else brentq(excess, max(low, 1e-300), 1 - 1e-12)


def fewest(risk: float, delta: float) -> int:
    """Number of rows without an error that a test needs to pass."""
    return math.ceil(math.log(delta) / math.log1p(-risk) - 1e-9)


def starts_of(rows: Floats, total: float, risk: float, delta: float) -> list[int]:
    """Starting points on the default candidates; they do not depend on labels.

    With just enough rows for a test, one error ends the sequence, so a second one starts with many rows. Where both do not fit, only the
    second is used. Places that accept too few rows for any test are omitted.
    """
    few = fewest(risk, delta / 2)
    many = max(fewest(risk, delta), min(MANY * fewest(risk, delta), math.floor(total / LARGEST_SHARE)))
    wanted = [many] if many < 2 * few else [few, many]
    return sorted({int(np.argmax(rows >= least)) for least in wanted if (rows >= least).any()})


def walk(pvalue: Floats, starts: list[int], delta: float) -> Walk:
    """Test from each start until a test fails; all passed thresholds are valid simultaneously with probability 1 - `delta`.

    Each start has an equal share of `delta`. A sequence that reaches the next start passes its share on (the fallback procedure of Wiens
    2003); if it fails before, the next one has its own share alone.
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
