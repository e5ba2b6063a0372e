"""Selective prediction: coverage and risk at a threshold, and the risk-coverage curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..binning.table import binomial_interval, check_interval
from ..errors import UndefinedMetricError
from ..inference.seeds import seed_of
from ..util.arrays import Floats
from ..util.cached import cached_property
from ..util.checks import check_fraction, check_whole
from ..util.results import Result, number
from .areas import Area, area_of, resampled_areas
from .rows import Judged, as_threshold, judging, records


@dataclass(frozen=True, repr=False)
class OperatingPoint(Result):
    """Coverage and risk when only rows at or above a confidence threshold are answered.

    Parameters
    ----------
    threshold : float
        Confidence threshold.
    coverage : float
        Share of accepted rows.
    selective_risk : float
        Mean loss of accepted rows; NaN without accepted rows.
    generalised_risk : float
        Probability of being accepted and wrong: coverage times selective risk.
    accepted : float
        Number, or weight, of accepted rows.
    errors : float
        Sum of their losses.
    low, high : float
        Confidence limits of the selective risk; NaN without accepted rows or for losses other than 0 and 1.
    """

    threshold: float
    coverage: float
    selective_risk: float
    generalised_risk: float
    accepted: float
    errors: float
    low: float
    high: float

    @property
    def selective_accuracy(self) -> float:
        """Accuracy of the accepted rows."""
        return 1 - self.selective_risk

    def _title(self) -> str:
        interval = "" if math.isnan(self.low) else f" [{number(self.low)}, {number(self.high)}]"
        return (
            f"threshold {number(self.threshold)}: coverage {number(self.coverage)} ({self.accepted:,.6g} rows), "
            f"selective risk {number(self.selective_risk)}{interval}"
        )

    def _cells(self) -> list[str]:
        values = (self.threshold, self.coverage, self.selective_risk, self.low, self.high)
        return [*(number(value) for value in values), f"{self.accepted:.6g}", f"{self.errors:.6g}"]


@dataclass(frozen=True, repr=False)
class RiskCoverage(Result):
    """Risk-coverage curve: one point per distinct confidence, in decreasing order; ties are accepted together.

    Parameters
    ----------
    threshold : ndarray
        Distinct confidences in decreasing order.
    coverage : ndarray
        Share of rows accepted at each threshold.
    selective_risk : ndarray
        Mean loss of accepted rows.
    generalised_risk : ndarray
        Probability of being accepted and wrong.
    accepted : ndarray
        Number, or weight, of accepted rows.
    errors : ndarray
        Sum of their losses.
    level : float or None
        Confidence level of the pointwise intervals; None without intervals.
    method : str
        Method of the intervals.
    lens : str
        The event that defines a correct prediction.
    judged : Judged
        Confidence and loss of each row.
    """

    threshold: Floats
    coverage: Floats
    selective_risk: Floats
    generalised_risk: Floats
    accepted: Floats
    errors: Floats
    level: float | None
    method: str
    lens: str
    judged: Judged

    def __len__(self) -> int:
        return len(self.threshold)

    @property
    def low(self) -> Floats | None:
        """Pointwise lower confidence limit of the selective risk."""
        return None if self._band is None else self._band[0]

    @property
    def high(self) -> Floats | None:
        """Pointwise upper confidence limit of the selective risk."""
        return None if self._band is None else self._band[1]

    @cached_property
    def _band(self) -> tuple[Floats, Floats] | None:
        """Pointwise limits, computed on first use: exact limits of a million points take far longer than the curve."""
        if self.level is None:
            return None
        return _bounds(self.accepted, self.errors, self.judged.steps.square, self.level, self.method)

    def at(
        self, threshold: float, *, level: float = 0.95, method: Literal["clopper_pearson", "wilson"] = "clopper_pearson"
    ) -> OperatingPoint:
        """Evaluate the curve at a threshold.

        Parameters
        ----------
        threshold : float
            Confidence threshold.
        level : float, default 0.95
            Confidence level of the interval of the risk, which is valid for a threshold fixed independently of these rows.
        method : {"clopper_pearson", "wilson"}, default "clopper_pearson"
            Method of the interval.

        Returns
        -------
        OperatingPoint
            Coverage and risk at the threshold.
        """
        check_interval(level, method)
        return operating_point(self.judged, threshold, level, method)

    @property
    def operating_points(self) -> tuple[OperatingPoint, ...]:
        """Efficient points: every point with a larger coverage has a larger risk."""
        best_after = np.minimum.accumulate(self.selective_risk[::-1])[::-1]
        kept = np.append(self.selective_risk[:-1] < best_after[1:], True)
        return tuple(_points(self.judged, self.threshold[kept], self.level, self.method))

    @property
    def aurc(self) -> float:
        """Area under the risk-coverage curve; see `aurc`."""
        return area_of(self.judged, "aurc")

    @property
    def augrc(self) -> float:
        """Area under the generalised risk-coverage curve; see `augrc`."""
        return area_of(self.judged, "augrc")

    def interval(
        self, area: Area = "aurc", *, level: float = 0.95, n_resamples: int = 1000, rng: Any = 0
    ) -> tuple[float, float]:
        """Compute a percentile bootstrap interval of an area.

        Parameters
        ----------
        area : {"aurc", "e_aurc", "augrc", "e_augrc"}, default "aurc"
            The area.
        level : float, default 0.95
            Confidence level.
        n_resamples : int, default 1000
            Number of bootstrap replicates.
        rng : None, int or numpy.random.Generator, default 0
            Seed or random generator.

        Returns
        -------
        tuple of float
            Lower and upper confidence limits.
        """
        check_fraction(level, "level")
        found = resampled_areas(self.judged, area, check_whole(n_resamples, "n_resamples"), seed_of(rng))
        low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return low, high

    _numeric, _width = range(7), 9

    def _fields(self) -> dict[str, Any]:
        """The columns, with the interval where there is one."""
        names = ["threshold", "coverage", "selective_risk", "generalised_risk", "accepted", "errors"]
        names += ["low", "high"] if self.low is not None else []
        return {name: getattr(self, name) for name in names}

    _columns = _fields

    def _title(self) -> str:
        return (
            f"Risk-coverage curve ({self.lens}): {len(self)} thresholds, AURC {number(self.aurc)}, "
            f"AUGRC {number(self.augrc)}, risk of all rows {number(float(self.selective_risk[-1]))}"
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        points = self.operating_points
        chosen = np.unique(np.linspace(0, len(points) - 1, min(10, len(points))).astype(int))
        headings = ["threshold", "coverage", "risk", "low", "high", "accepted", "errors"]
        return headings, [points[i]._cells() for i in chosen]


@judging()
def risk_coverage(
    judged: Judged,
    *,
    level: float | None = 0.95,
    method: Literal["clopper_pearson", "wilson"] = "clopper_pearson",
) -> RiskCoverage:
    """Compute the risk-coverage curve of selective prediction.

    For each confidence threshold the curve gives the coverage (share of rows answered) and the selective risk (error rate among them).

    Parameters
    ----------
    y_true
    y_prob
    level : float or None, default 0.95
        Confidence level of the pointwise intervals of the risk; None for no intervals. They are valid for a threshold fixed in advance,
        not for one chosen from the curve.
    method : {"clopper_pearson", "wilson"}, default "clopper_pearson"
        Method of the intervals.
    confidence
    loss
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    RiskCoverage
        Result with the attributes ``threshold``, ``coverage``, ``selective_risk``, ``low``, ``high``, ``aurc`` and ``operating_points``, and
        the methods ``at`` and ``interval``.

    Raises
    ------
    InputError
        If a loss is negative or a confidence is not finite.
    LensError
        If the lens does not yield one binary event per row.

    See Also
    --------
    choose_threshold : A threshold with a finite-sample guarantee.
    aurc : Area under the curve.

    References
    ----------
    .. [1] El-Yaniv, R. and Wiener, Y. (2010). On the foundations of noise-free selective classification. JMLR 11.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.decision.risk_coverage(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"))
    >>> curve.coverage.tolist(), curve.at(0.75).selective_risk
    ([0.25, 0.5, 0.75, 1.0], 0.0)
    """
    check_interval(0.95 if level is None else level, method)
    if not judged.counts_errors:
        level = None  # binomial limits apply to errors only
    steps = judged.steps
    risk = steps.lost / steps.accepted
    return RiskCoverage(
        threshold=steps.threshold,
        coverage=steps.accepted / judged.total,
        selective_risk=risk,
        generalised_risk=steps.lost / judged.total,
        accepted=steps.accepted,
        errors=steps.lost,
        level=level,
        method=method,
        lens=judged.lens,
        judged=judged,
    )


def _bounds(accepted: Floats, errors: Floats, square: Floats, level: float, method: str) -> tuple[Floats, Floats]:
    """Confidence limits of the risk; importance weights enter by their effective sample size."""
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = accepted * (accepted / square)
        return binomial_interval(worth * (errors / accepted), worth, 1 - level, method)


def _points(judged: Judged, thresholds: Floats, level: float | None, method: str) -> list[OperatingPoint]:
    accepted, lost, square = judged.steps.at(thresholds)
    low = high = np.full(len(thresholds), math.nan)
    if level is not None and judged.counts_errors:
        low, high = _bounds(accepted, lost, square, level, method)
    with np.errstate(invalid="ignore"):
        risk = lost / accepted
    shares = accepted / judged.total, risk, lost / judged.total
    return records(OperatingPoint, thresholds, *shares, accepted, lost, low, high)


def operating_point(
    judged: Judged, threshold: Any, level: float | None = None, method: str = "clopper_pearson"
) -> OperatingPoint:
    """The point at one threshold; by default without an interval."""
    return _points(judged, np.array([as_threshold(threshold, "threshold")]), level, method)[0]


@judging(takes_loss=False)
def coverage(judged: Judged, *, threshold: float) -> float:
    """Compute the share of rows with a confidence of at least a threshold.

    Parameters
    ----------
    y_true
    y_prob
    threshold : float
        Confidence threshold.
    confidence
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        The coverage.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> from calibrant.decision.selective import coverage
    >>> coverage(Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"), threshold=0.75)
    0.5
    """
    return operating_point(judged, threshold).coverage


@judging()
def selective_risk(judged: Judged, *, threshold: float) -> float:
    """Compute the error rate of the rows with a confidence of at least a threshold.

    ``risk_coverage(...).at(threshold)`` also gives a confidence interval.

    Parameters
    ----------
    y_true
    y_prob
    threshold : float
        Confidence threshold.
    confidence
    loss
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        Mean loss of the accepted rows.

    Raises
    ------
    UndefinedMetricError
        If no row is accepted.

    See Also
    --------
    selective_accuracy : One minus the selective risk.
    risk_coverage : The curve over all thresholds.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.selective_risk(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"), threshold=0.65)
    0.3333333333333333
    """
    return _risk_at(judged, threshold)


def _risk_at(judged: Judged, threshold: float) -> float:
    point = operating_point(judged, threshold)
    if point.accepted == 0:
        raise UndefinedMetricError(
            "selective_risk", f"no row has a confidence of at least {threshold}", "use a lower threshold"
        )
    return point.selective_risk


@judging()
def selective_accuracy(judged: Judged, *, threshold: float) -> float:
    """Compute the accuracy of the rows with a confidence of at least a threshold.

    Parameters
    ----------
    y_true
    y_prob
    threshold : float
        Confidence threshold.
    confidence
    loss
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        Accuracy of the accepted rows.

    Raises
    ------
    UndefinedMetricError
        If no row is accepted.

    See Also
    --------
    selective_risk : One minus the selective accuracy.
    risk_coverage : The curve over all thresholds.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.selective_accuracy(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"), threshold=0.75)
    1.0
    """
    return 1 - _risk_at(judged, threshold)
