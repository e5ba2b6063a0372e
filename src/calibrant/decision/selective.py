"""Answer only where the model is sure: coverage and risk at a threshold, and the whole curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.table import _binomial_interval, check_interval
from ..errors import ArgumentError, UndefinedMetricError
from ..inference.resampling import seed_of
from ..input.convert import is_number
from ..util.cached import cached_property
from ..util.checks import check_whole
from ..util.results import Result, number
from .areas import Area, area_of, redrawn_areas
from .rows import Judged, check_level, read_judged

__all__ = [
    "OperatingPoint",
    "RiskCoverage",
    "coverage",
    "risk_coverage",
    "selective_accuracy",
    "selective_risk",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class OperatingPoint(Result):
    """What happens when only rows at least as sure as `threshold` are answered."""

    threshold: float
    coverage: float
    selective_risk: float
    """Mean loss of the rows accepted; NaN where none is."""
    generalised_risk: float
    """Probability of being accepted and wrong: coverage times selective risk."""
    accepted: float
    errors: float
    lower: float
    """Lower end of the interval of the selective risk; NaN where no row is accepted or losses are no errors."""
    upper: float

    @property
    def selective_accuracy(self) -> float:
        """Share of right answers among those given."""
        return 1 - self.selective_risk

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """The interval of the selective accuracy."""
        return 1 - self.upper, 1 - self.lower

    def _title(self) -> str:
        interval = "" if math.isnan(self.lower) else f" [{number(self.lower)}, {number(self.upper)}]"
        return (
            f"threshold {number(self.threshold)}: accepts {number(self.coverage)} of the rows, "
            f"{self.accepted:,.6g} of them, at a risk of {number(self.selective_risk)}{interval}"
        )

    def _cells(self) -> list[str]:
        values = (self.threshold, self.coverage, self.selective_risk, self.lower, self.upper)
        return [*(number(value) for value in values), f"{self.accepted:.6g}", f"{self.errors:.6g}"]


@dataclass(frozen=True, repr=False)
class RiskCoverage(Result):
    """The risk-coverage curve: one point for each distinct confidence, falling; equal confidences are accepted together."""

    threshold: Floats
    coverage: Floats
    selective_risk: Floats
    generalised_risk: Floats
    accepted: Floats
    errors: Floats
    level: float | None
    """Level of the interval of each point's risk; None where there is none."""
    method: str
    lens: str
    judged: Judged

    def __len__(self) -> int:
        return len(self.threshold)

    @property
    def lower(self) -> Floats | None:
        """Lower end of the interval of the selective risk at each threshold by itself."""
        return None if self._band is None else self._band[0]

    @property
    def upper(self) -> Floats | None:
        """Upper end of that interval."""
        return None if self._band is None else self._band[1]

    @cached_property
    def _band(self) -> tuple[Floats, Floats] | None:
        """Made when asked for: exact bounds of a million points take far longer than the curve."""
        if self.level is None:
            return None
        return _bounds(self.accepted, self.errors, self.judged.steps.square, self.level, self.method)

    def at(
        self, threshold: float, *, level: float = 0.95, method: Literal["clopper_pearson", "wilson"] = "clopper_pearson"
    ) -> OperatingPoint:
        """The point at any threshold, with an interval that holds for a threshold fixed before these rows were seen."""
        check_interval(level, method)
        if not is_number(threshold) or math.isnan(threshold):
            raise ArgumentError("threshold", f"must be a number; got {threshold!r}")
        return _points(self.judged, np.array([threshold], dtype=np.float64), level, method)[0]

    @property
    def working_points(self) -> tuple[OperatingPoint, ...]:
        """Points worth choosing: every point that accepts more rows has a larger risk."""
        best_after = np.minimum.accumulate(self.selective_risk[::-1])[::-1]
        kept = np.append(self.selective_risk[:-1] < best_after[1:], True)
        return tuple(_points(self.judged, self.threshold[kept], self.level, self.method))

    @property
    def aurc(self) -> float:
        """Area under the curve of selective risks; see `aurc`."""
        return area_of(self.judged, "aurc")

    @property
    def augrc(self) -> float:
        """Area under the curve of generalised risks; see `augrc`."""
        return area_of(self.judged, "augrc")

    def interval(
        self, area: Area = "aurc", *, level: float = 0.95, n_resamples: int = 1000, rng: Any = 0
    ) -> tuple[float, float]:
        """Bootstrap interval of one of the areas: the quantiles of its value for rows drawn again."""
        check_level(level, "level")
        found = redrawn_areas(self.judged, area, check_whole(n_resamples, "n_resamples"), seed_of(rng))
        low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return low, high

    _numeric, _width = range(7), 9

    def _fields(self) -> dict[str, Any]:
        """The interval only where there is one."""
        names = ["threshold", "coverage", "selective_risk", "generalised_risk", "accepted", "errors"]
        names += ["lower", "upper"] if self.lower is not None else []
        return {name: getattr(self, name) for name in names}

    _columns = _fields

    def _title(self) -> str:
        return (
            f"Risk-coverage curve ({self.lens}): {len(self)} thresholds, AURC {number(self.aurc)}, "
            f"AUGRC {number(self.augrc)}, risk of all rows {number(float(self.selective_risk[-1]))}"
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        points = self.working_points
        chosen = np.unique(np.linspace(0, len(points) - 1, min(10, len(points))).astype(int))
        headings = ["threshold", "coverage", "risk", "lower", "upper", "accepted", "errors"]
        return headings, [points[i]._cells() for i in chosen]


def risk_coverage(
    y_true: Any,
    y_prob: Any = None,
    *,
    confidence: Any = None,
    loss: Any = None,
    interval: float | None = 0.95,
    method: Literal["clopper_pearson", "wilson"] = "clopper_pearson",
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> RiskCoverage:
    """How the error rate of the answers given changes with the share of rows answered.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, Predictions or a Sketch; keywords of `Predictions` are taken too.
    confidence
        How sure the model is of each row, larger is surer; left out, the probability of the predicted class.
    loss
        What each row loses, not negative; left out, 1 for an error and 0 otherwise.
    interval, method
        Level and kind of the interval of each point's risk; None for none. It holds for each threshold by itself, not for
        one that was chosen by looking at the curve.
    lens, where
        Which question decides what an error is (``"top_label"`` unless said), and which rows.

    Examples
    --------
    >>> from calibrant.decision.selective import risk_coverage
    >>> curve = risk_coverage([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence")
    >>> curve.coverage.tolist(), curve.at(0.75).selective_risk
    ([0.25, 0.5, 0.75, 1.0], 0.0)
    """
    judged = read_judged(risk_coverage, y_true, y_prob, confidence, loss, lens, where, keywords)
    check_interval(0.95 if interval is None else interval, method, "interval")
    if not judged.counts_errors:
        interval = None  # binomial bounds are for errors, not for other losses
    steps = judged.steps
    risk = steps.lost / steps.accepted
    return RiskCoverage(
        threshold=steps.threshold,
        coverage=steps.accepted / judged.total,
        selective_risk=risk,
        generalised_risk=steps.lost / judged.total,
        accepted=steps.accepted,
        errors=steps.lost,
        level=interval,
        method=method,
        lens=judged.lens,
        judged=judged,
    )


def _bounds(accepted: Floats, errors: Floats, square: Floats, level: float, method: str) -> tuple[Floats, Floats]:
    """Bounds of the risk; importance weights count as many rows as they are worth."""
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = accepted * (accepted / square)
        return _binomial_interval(worth * (errors / accepted), worth, 1 - level, method)


def _points(judged: Judged, thresholds: Floats, level: float | None, method: str) -> list[OperatingPoint]:
    accepted, lost, square = judged.steps.at(thresholds)
    low = high = np.full(len(thresholds), math.nan)
    if level is not None and judged.counts_errors:
        low, high = _bounds(accepted, lost, square, level, method)
    with np.errstate(invalid="ignore"):
        risk = lost / accepted
    columns = (thresholds, accepted / judged.total, risk, lost / judged.total, accepted, lost, low, high)
    return [OperatingPoint(*row) for row in zip(*(values.tolist() for values in columns), strict=True)]


def coverage(
    y_true: Any,
    y_prob: Any = None,
    *,
    threshold: float,
    confidence: Any = None,
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> float:
    """Share of rows answered when only those with a confidence of at least `threshold` are; other parameters as in `risk_coverage`."""
    curve = risk_coverage(y_true, y_prob, confidence=confidence, interval=None, lens=lens, where=where, **keywords)
    return curve.at(threshold).coverage


def selective_risk(
    y_true: Any,
    y_prob: Any = None,
    *,
    threshold: float,
    confidence: Any = None,
    loss: Any = None,
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> float:
    """Error rate of the rows answered at `threshold`; other parameters as in `risk_coverage`, whose `at` gives an interval too."""
    curve = risk_coverage(
        y_true, y_prob, confidence=confidence, loss=loss, interval=None, lens=lens, where=where, **keywords
    )
    found = curve.at(threshold)
    if found.accepted == 0:
        raise UndefinedMetricError(
            "selective_risk", f"no row has a confidence of at least {threshold}", "use a lower threshold"
        )
    return found.selective_risk


def selective_accuracy(y_true: Any, y_prob: Any = None, *, threshold: float, **keywords: Any) -> float:
    """Accuracy of the rows answered at `threshold`; keywords as in `selective_risk`."""
    return 1 - selective_risk(y_true, y_prob, threshold=threshold, **keywords)
