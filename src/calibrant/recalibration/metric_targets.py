"""Cross-validation of calibration methods by a metric of all held-out rows in place of a loss of each row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..inference.comparison import sampler_of
from ..inference.means import Moments
from ..inference.resampling import PredictionSampler
from ..inference.simultaneous import resampled_values
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..util.hashes import content_order
from ..util.processes import run_all
from ..util.progress import track
from ..views.lenses import Lens
from .base import Calibrator, Input
from .cross_validation import fit_without
from .safe import row_losses
from .scaling import BiasCorrectedTemperature, TemperatureScaling
from .scores import SMALLEST, Floats, Scores, TrainingData

# Resamples from which the standard error of a gain is estimated.
RESAMPLES = 50
LOSSES = ("nll", "brier")
MEASURED = ("classwise", "top_k", "rank", "ordinal", "canonical")
# Metrics that are continuous in the probabilities, so that parameters can be fitted to them: without bins that a row may leave.
CONTINUOUS = frozenset(
    [
        "brier",
        "root_brier",
        "spherical",
        "ranked_probability",
        "ranked_log",
        "focal_loss",
        "ecd",
        "mdca",
        "global_squared_bias",
        "calibration_in_the_large",
        "esce",
        "sbece",
        "dece",
        "sece",
        "ls_ece",
        "smece",
        "smce",
        "mmce",
        "lkce",
        "skce_b",
        "skce_uq",
    ]
)
# Each parameter costs one evaluation of the metric for each gradient.
MOST_PARAMETERS = 5
# Step of the differences, above the tolerance of metrics that solve an equation; and the relative change of the objective below which a fit ends.
SEARCH = {"eps": 1e-4, "ftol": 1e-5, "gtol": 1e-4, "maxiter": 50}


class MetricTarget(NamedTuple):
    """A metric under a lens, as the aim of a recalibration."""

    metric: Metric
    lens: str | Lens | None

    @property
    def options(self) -> dict[str, Any]:
        """Options of the metric."""
        return {} if self.lens is None else {"lens": self.lens}

    def values(self, p: Predictions, probs: Floats, resamples: int) -> Floats:
        """Distance of the metric from its ideal value for these probabilities: of all rows, and of resamples of the rows."""
        matrix = with_matrix(p, probs)
        own = PredictionSampler(matrix).whole().value(self.metric, self.options)
        sampler = PredictionSampler(matrix.take(content_order(*p.content)))
        rows = sampler_of(self.metric, self.options, sampler)
        drawn = resampled_values([(self.metric, self.options)], rows, "rows", resamples, 0)[:, 0]
        distance = np.append(own, drawn) - self.metric.ideal
        return np.abs(distance) if self.metric.info.signed else distance


def with_matrix(p: Predictions, probs: Floats) -> Predictions:
    """The rows with calibrated probabilities, one column per class."""
    return p.with_probs(probs if p.probs.ndim == 2 else probs[:, 1])


@dataclass(eq=False, repr=False)
class TargetFit(Calibrator):
    """Fits a scaling of the logits to a target in place of the likelihood.

    The parameters start where the likelihood is largest, and minimize the squared distance of the target from its ideal value by L-BFGS
    with a penalty on likelihoods on the same rows below that without recalibration, since a constant would attain many targets.
    """

    least_probability = SMALLEST
    fitted = ("scaling_",)

    scaling: TemperatureScaling | BiasCorrectedTemperature
    target: MetricTarget
    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        from scipy.optimize import minimize

        scaling: Any = type(self.scaling)(input=self.input)
        self.scaling_, ideal = scaling, self.target.metric.ideal
        assert ideal is not None
        scaling.classes_ = self.classes_
        scaling._fit(data)
        with_biases = isinstance(scaling, BiasCorrectedTemperature)
        start = np.append(math.log(scaling.temperature_), scaling.bias_[1:] if with_biases else [])
        weight = data.weight / data.weight.sum()

        def apply(values: Floats) -> Floats:
            scaling.temperature_ = float(np.exp(values[0]))
            if with_biases:
                scaling.bias_ = np.append(0.0, values[1:])
            return np.asarray(scaling._predict(data))

        def nll(probs: Floats) -> float:
            return float(weight @ row_losses(probs, data.labels, "nll"))

        def objective(values: Floats) -> float:
            probs = apply(values)
            distance = self.target.metric(with_matrix(data._p, probs), **self.target.options) - ideal
            return (distance / unit) ** 2 + 1e4 * max(0.0, nll(probs) / limit - 1) ** 2

        unit, limit = 1.0, nll(data.probs)
        unit = math.sqrt(objective(start)) or 1.0
        bounds = [(-6.9, 6.9), *((None, None) for _ in start[1:])]
        best = minimize(objective, start, method="L-BFGS-B", bounds=bounds, options=SEARCH)
        apply(best.x if best.fun < 1 else start)

    def _predict(self, data: Scores) -> Floats:
        return np.asarray(self.scaling_._predict(data))

    def fitted_scaling(self) -> Calibrator:
        """The scaling as a calibrator of its own."""
        for name in ("n_features_in_", "fit_record_"):
            setattr(self.scaling_, name, getattr(self, name))
        scaling: Calibrator = self.scaling_
        return scaling


def target_fits(target: MetricTarget, p: Predictions) -> dict[str, Calibrator]:
    """Scalings that are fitted to a target, by name; none for one that is not continuous."""
    if target.metric.id not in CONTINUOUS:
        return {}
    scalings: dict[str, TemperatureScaling | BiasCorrectedTemperature] = {
        "temperature": TemperatureScaling(),
        "bias_corrected_temperature": BiasCorrectedTemperature(),
    }
    input: Input = "prob" if p.logits is None else "logit"
    return {
        f"{name}:{target.metric.id}": TargetFit(scaling, target, input)
        for name, scaling in scalings.items()
        if name == "temperature" or p.k <= MOST_PARAMETERS
    }


def read_loss(loss: Any, lens: Any) -> tuple[str | MetricTarget, Any]:
    """What methods are compared by, and the lens whose event is calibrated.

    A metric, or a loss under a lens that measures all classes, such as ``"classwise"``, is evaluated on all held-out rows together.
    """
    measured = lens_name(lens).partition(":")[0] in MEASURED
    if not measured and loss in LOSSES:
        return str(loss), lens
    if loss not in catalogue:
        raise ArgumentError("loss", f"unknown metric {loss!r}", "use 'nll', 'brier' or a metric, such as 'ece'")
    metric = catalogue[loss]
    if metric.ideal is None:
        problem = f"{metric.id} has no value that calibrated predictions approach, and cannot be a target"
        raise ArgumentError("loss", problem, "for example 'nll', 'brier', 'ece', 'cwce', 'gece' or 'vce'")
    return MetricTarget(metric, lens if measured else None), None if measured else lens


def lens_name(lens: Any) -> str:
    """Name of a lens; empty for none."""
    return lens.name if isinstance(lens, Lens) else lens if isinstance(lens, str) else ""


class MetricFits(NamedTuple):
    """The fits of one calibrator; all probabilities are those of rows that the fit lacked."""

    calibrator: Calibrator
    warnings: tuple[str, ...]
    """Of the fits without one fold, and last of the fit on all rows."""
    probs: Floats
    """Of each row, from the fit without its fold."""
    inner: Floats
    """Of each row, for each fold, from the fit without that fold and the fold of the row; of shape (folds, N, K)."""


class MetricValidation:
    """Held-out values of a metric for each calibrator, and the selection among them; the counterpart of `CrossValidation`."""

    def __init__(
        self, calibrators: Mapping[str, Calibrator], p: Predictions, fold: NDArray[Any], target: MetricTarget
    ) -> None:
        self.p, self.fold, self.target = p, fold, target
        self.fits: dict[str, MetricFits] = {}
        self.reasons: dict[str, str] = {}
        folds = range(int(fold.max()) + 1)
        left_out = [(), *((k,) for k in folds), *combinations(folds, 2)]
        parts = run_all([partial(fit_without, calibrators, p, fold, each) for each in left_out], p.n * p.k / len(folds))
        for name in calibrators:
            fits = dict(zip(left_out, (part[name] for part in parts), strict=True))
            reason = next((fit for fit in fits.values() if isinstance(fit, str)), None)
            if reason is None:
                self.fits[name] = self._held_out(fits, len(folds))
            else:
                self.reasons[name] = reason
        self.drawn = {
            name: target.values(p, fits.probs, RESAMPLES) for name, fits in track(self.fits.items(), "methods")
        }
        if not math.isfinite(self.drawn["none"][0]):
            raise UndefinedMetricError(target.metric.id, "is not finite without recalibration", "use loss='nll'")

    def _held_out(self, fits: Mapping[Any, Any], folds: int) -> MetricFits:
        probs = np.empty_like(fits[()].probs)
        inner = np.empty((folds, *probs.shape))
        for k in range(folds):
            own = self.fold == k
            probs[own] = inner[k, own] = fits[k,].probs
        for k, j in combinations(range(folds), 2):
            pair = np.flatnonzero((self.fold == k) | (self.fold == j))
            first = self.fold[pair] == k
            inner[j, pair[first]] = fits[k, j].probs[first]
            inner[k, pair[~first]] = fits[k, j].probs[~first]
        calibrator = fits[()].calibrator
        assert calibrator is not None
        if isinstance(calibrator, TargetFit):
            calibrator = calibrator.fitted_scaling()
        return MetricFits(
            calibrator, tuple(fits[each].warning for each in (*((k,) for k in range(folds)), ())), probs, inner
        )

    def loss_of(self, name: str) -> float:
        """Distance of the metric from its ideal value on the held-out rows."""
        return float(self.drawn[name][0])

    def nll_of(self, name: str) -> float:
        """Negative log-likelihood of the held-out rows."""
        labels: Any = self.p.labels
        return float(np.average(row_losses(self.fits[name].probs, labels, "nll"), weights=self.p.weight))

    def gain(self, name: str) -> Moments:
        """Reduction of the distance from the ideal value, with its variance over resamples of the rows."""
        return self._moments(self.drawn["none"], self.drawn[name])

    def _moments(self, plain: Floats, other: Floats) -> Moments:
        with np.errstate(invalid="ignore"):
            gain = plain - other
        drawn = gain[1:][np.isfinite(gain[1:])]
        variance = float(drawn.var(ddof=1)) if len(drawn) > 0.9 * RESAMPLES else math.inf
        return Moments(float(gain[0]), variance, 0.0, RESAMPLES)

    @cached_property
    def selected(self) -> str:
        """The method selected on all rows."""
        return self._select(self.drawn, -1)

    def _select(self, drawn: Mapping[str, Floats], place: int) -> str:
        """The method with the largest gain, if it exceeds one standard error; one whose fit in this place warned only if there is no other."""
        gains = {name: self._moments(drawn["none"], values) for name, values in drawn.items()}
        means = {name: gain.mean for name, gain in gains.items() if gain.mean > math.sqrt(gain.variance)}
        calm = {name: mean for name, mean in means.items() if not self.fits[name].warnings[place]}
        eligible = calm or means
        return max(eligible, key=eligible.__getitem__) if eligible else "none"

    @cached_property
    def nested_gain(self) -> Moments:
        """Gain of the selection: rows of each fold have the probabilities of the method that the other folds select."""
        probs = np.empty_like(self.fits["none"].probs)
        for k in track(range(int(self.fold.max()) + 1), "folds"):
            others, own = np.flatnonzero(self.fold != k), self.fold == k
            rest = self.p.take(others)
            drawn = {
                name: self.target.values(rest, fits.inner[k][others], RESAMPLES) for name, fits in self.fits.items()
            }
            probs[own] = self.fits[self._select(drawn, k)].probs[own]
        return self._moments(self.drawn["none"], self.target.values(self.p, probs, RESAMPLES))
