"""Signatures of the metrics; written by tools/make_stub.py, not by hand."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ..binning.parse import Binning, Bins
from ..views.lenses import Lens
from .registry import Metric

class _brier(Metric):
    """Mean squared difference between predicted probabilities and labels."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        scale: Literal["auto", "half", "sum", "per_class"] = "auto",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

brier: _brier

class _root_brier(Metric):
    """Square root of the Brier score; with scale='sum' an upper bound of the canonical calibration error."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        scale: Literal["auto", "half", "sum", "per_class"] = "auto",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

root_brier: _root_brier

class _nll(Metric):
    """Mean of minus the logarithm of the predicted probability of the true class."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        floor: float | None = None,
        base: float | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

nll: _nll

class _ecd(Metric):
    """Mean of the log loss minus its expectation under the forecast: positive for overconfidence, negative for underconfidence."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        multiclass: Literal["full", "true_vs_rest"] = "full",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ecd: _ecd

class _mdca(Metric):
    """Mean over classes of the absolute difference between mean predicted probability and observed frequency."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

mdca: _mdca

class _focal_loss(Metric):
    """Mean negative log likelihood with rows weighted by (1 - probability of the true class) to the power gamma."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        gamma: float = 2,
        class_weight: Any = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

focal_loss: _focal_loss

class _spherical(Metric):
    """Mean of minus the probability of the true class divided by the Euclidean norm of the probability vector."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

spherical: _spherical

class _ranked_probability(Metric):
    """Mean squared distance between the cumulative probabilities and the cumulative label, for ordered classes."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ranked_probability: _ranked_probability

class _ranked_log(Metric):
    """Mean over the cuts between ordered classes of minus the logarithm of the probability of the observed side."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        floor: float | None = None,
        base: float | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ranked_log: _ranked_log

class _nses(Metric):
    """Mean of the squared error divided by the variance that the forecast implies; above 1 for overconfidence."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        floor: float | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

nses: _nses

class _dawid_sebastiani(Metric):
    """Mean of the squared error divided by the variance that the forecast implies, plus the logarithm of that variance."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        floor: float | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

dawid_sebastiani: _dawid_sebastiani

class _lp_error(Metric):
    """Norm of the difference between probabilities and labels over all entries."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        norm: float = 1,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

lp_error: _lp_error

class _l1_eps(Metric):
    """Mean over entries of sqrt((p - y)^2 + eps)."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        eps: float = 0.01,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

l1_eps: _l1_eps

class _huber(Metric):
    """Half the squared error for errors up to delta, linear beyond, averaged over entries."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        delta: float = 0.5,
        form: Literal["standard", "isotone"] = "standard",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

huber: _huber

class _global_squared_bias(Metric):
    """Squared difference between mean predicted probabilities and observed class frequencies."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        scale: Literal["auto", "half", "sum", "per_class"] = "auto",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

global_squared_bias: _global_squared_bias

class _expected_observed_ratio(Metric):
    """Ratio of the expected number of events, the sum of the scores, to the observed number."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        form: Literal["expected_observed", "observed_expected"] = "expected_observed",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

expected_observed_ratio: _expected_observed_ratio

class _calibration_in_the_large(Metric):
    """Mean predicted probability minus observed rate."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        form: Literal["mean", "logit"] = "mean",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

calibration_in_the_large: _calibration_in_the_large

class _fixed_slope_intercept(Metric):
    """Shift of all log-odds that makes the mean prediction equal to the observed rate."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        form: Literal["mean", "logit"] = "logit",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fixed_slope_intercept: _fixed_slope_intercept

class _spiegelhalter_z(Metric):
    """Standardised difference between the Brier score and its expected value under calibration."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

spiegelhalter_z: _spiegelhalter_z

class _accuracy(Metric):
    """Fraction of rows whose predicted class, the one with the largest probability, is the true one."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "top_label",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

accuracy: _accuracy

class _mean_confidence(Metric):
    """Mean of the largest predicted probability of each row."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "top_label",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

mean_confidence: _mean_confidence

class _ece(Metric):
    """Mean absolute difference between mean score and outcome rate over bins, weighted by the number of rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ece: _ece

class _rmsce(Metric):
    """Root mean squared difference between mean score and outcome rate over bins, weighted by the number of rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        norm: float = 2,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

rmsce: _rmsce

class _ece_em(Metric):
    """Expected calibration error over bins with equal numbers of rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ece_em: _ece_em

class _cwce(Metric):
    """Expected calibration error of every class against the rest, averaged over classes."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        norm: float = 1,
        lens: str | Lens = "classwise",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

cwce: _cwce

class _ace(Metric):
    """Class-wise calibration error over bins with equal numbers of rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        norm: float = 1,
        lens: str | Lens = "classwise",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ace: _ace

class _proportional_ece(Metric):
    """Mean over bins of the absolute difference between mean score and outcome rate divided by the mean score."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

proportional_ece: _proportional_ece

class _mce(Metric):
    """Largest absolute difference between mean score and outcome rate over non-empty bins."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        min_count: float = 0,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

mce: _mce

class _esce(Metric):
    """Mean over bins of mean score minus outcome rate: positive for overestimation on average, negative for underestimation."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        representative: Literal["mean", "midpoint"] = "mean",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

esce: _esce

class _abc_above(Metric):
    """Part of the expected calibration error from bins whose outcome rate is above their mean score (top label: underconfident)."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        measure: Literal["density", "lebesgue"] = "density",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

abc_above: _abc_above

class _abc_below(Metric):
    """Part of the expected calibration error from bins whose outcome rate is below their mean score (top label: overconfident)."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        measure: Literal["density", "lebesgue"] = "density",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

abc_below: _abc_below

class _rbece(Metric):
    """Unweighted mean over non-empty bins of the absolute difference between mean score and outcome rate."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        min_count: float = 0,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

rbece: _rbece

class _smbs(Metric):
    """Mean squared difference between each outcome and the mean score of its bin."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

smbs: _smbs

class _dce(Metric):
    """Mean absolute difference over bins between the outcome rate and the largest score of the bin."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = None,
        binning: Binning = "equal_width",
        aggregate: Literal["max", "upper_edge", "mean"] = "max",
        variant: Literal["sum", "pointwise"] = "sum",
        bound: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

dce: _dce

class _ece_lb(Metric):
    """Mean absolute difference between each score and the outcome rate of its bin."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ece_lb: _ece_lb

class _rice(Metric):
    """Expected calibration error averaged over all shifts of bins of one width."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        width: float = 0.06666666666666667,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

rice: _rice

class _sice(Metric):
    """Minimum over bin widths of the width plus the error averaged over all shifts of bins of that width."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        levels: int = 10,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

sice: _sice

class _ece_widths(Metric):
    """Expected calibration error averaged over several widths of equal-width bins, by default ten from 0.005 to 0.05."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        widths: Sequence[float] = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05),
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ece_widths: _ece_widths

class _cce(Metric):
    """Largest absolute difference between the sums of scores and of outcomes over any interval of scores, divided by the number of rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

cce: _cce

class _wsmcs(Metric):
    """Confidence minus accuracy on the rows of each true class, summed by sign and weighted by the number of classes of each sign."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "top_label",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

wsmcs: _wsmcs

class _dici(Metric):
    """Mean relative difference of bins with overestimation minus that of bins with underestimation."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

dici: _dici

class _sbece(Metric):
    """Calibration error over soft bins, to which rows belong by a softmax of their distance."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: int | Sequence[float] = 15,
        temperature: float = 0.01,
        norm: float = 2,
        form: Literal["soft", "label_binned"] = "soft",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

sbece: _sbece

class _dece(Metric):
    """Expected calibration error with soft bins and a soft accuracy."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: int | Sequence[float] = 15,
        rank_sharpness: float = 100,
        bin_temperature: float = 0.01,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

dece: _dece

class _lse_ece(Metric):
    """Top-label expected calibration error with a smooth maximum as the confidence."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        temperature: float = 0.01,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

lse_ece: _lse_ece

class _fce(Metric):
    """Calibration error over fuzzy bins with trapezoidal memberships, normalised by the total membership."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: int | Sequence[float] = 15,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fce: _fce

class _calbin(Metric):
    """Mean absolute difference between scores and outcome rate over all windows of neighbouring rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        size: int | None = None,
        inner: Literal["mean_abs", "abs_mean"] = "mean_abs",
        lens: str | Lens = "classwise",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

calbin: _calbin

class _ece_knn(Metric):
    """Mean over rows of the absolute difference between mean score and mean outcome in a neighbourhood of the score."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        neighbours: int | None = None,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ece_knn: _ece_knn

class _ce2_db(Metric):
    """Mean squared difference between mean score and outcome rate over bins minus the estimated variance of the rate."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        single: Literal["keep", "zero", "raise"] = "keep",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ce2_db: _ce2_db

class _drmsce(Metric):
    """Square root of the debiased squared calibration error, truncated at 0."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        single: Literal["keep", "zero", "raise"] = "keep",
        clip_each: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

drmsce: _drmsce

class _drmsce_bcs(Metric):
    """Debiased root mean squared calibration error with a data-driven number of equal-mass bins for which outcome rates are non-decreasing."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = "search",
        binning: Binning = "equal_mass",
        single: Literal["keep", "zero", "raise"] = "keep",
        clip_each: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

drmsce_bcs: _drmsce_bcs

class _ece_db(Metric):
    """Twice the expected calibration error minus its mean over resampled outcome rates of the bins."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ece_db: _ece_db

class _hosmer_lemeshow(Metric):
    """Sum over bins of the squared difference between expected and observed events divided by its variance."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 10,
        binning: Binning = "equal_mass",
        variance: Literal["binomial", "exact"] = "binomial",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

hosmer_lemeshow: _hosmer_lemeshow

class _t_cal(Metric):
    """Mean over bins of products of residuals of different rows, an estimate of the squared calibration error without self-pairs."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: int | None = None,
        smoothness: float = 1,
        unbiased: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

t_cal: _t_cal

class _l2ce_interval(Metric):
    """Debiased squared calibration error, with a large-sample interval for calibrated and miscalibrated models."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: int | None = None,
        smoothness: float = 1,
        unbiased: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

l2ce_interval: _l2ce_interval

class _tce(Metric):
    """Percentage of rows whose score is rejected by a binomial test on their block of neighbouring rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        alpha: float = 0.05,
        bins: Bins | None = 10,
        binning: Binning = "pava",
        min_block: int = 10,
        max_block: int = 1000,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

tce: _tce

class _vce(Metric):
    """Mean absolute difference over bins between the predicted and the observed variation."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        variation: Literal[
            "entropy",
            "confidence",
            "freeman_variation_ratio",
            "wilcox_variation_ratio",
            "iqv",
            "gini",
            "avdev",
            "mndif",
            "varnc",
            "stdev",
            "hrel",
        ]
        | Callable[..., float] = "entropy",
        bins: Bins | None = 10,
        binning: Binning = "equal_width",
        norm: float = 1,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

vce: _vce

class _vce_db(Metric):
    """Mean squared difference over bins between the observed variation and that of simulated labels, minus its value under calibration."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        variation: Literal[
            "entropy",
            "confidence",
            "freeman_variation_ratio",
            "wilcox_variation_ratio",
            "iqv",
            "gini",
            "avdev",
            "mndif",
            "varnc",
            "stdev",
            "hrel",
        ]
        | Callable[..., float] = "entropy",
        bins: Bins | None = 10,
        binning: Binning = "equal_width",
        n_draws: int = 100,
        rng: Any = 0,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

vce_db: _vce_db

class _uce(Metric):
    """Mean absolute difference over entropy bins between the error rate and the mean normalised entropy."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 10,
        binning: Binning = "equal_width",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

uce: _uce

class _gece(Metric):
    """Mean distance between mean forecast and mean label over cells, for any lens."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        distance: Literal["auto", "tv", "l2"] = "tv",
        bins: Bins | None = 15,
        binning: Binning = "auto",
        gamma: float | None = None,
        min_size: int = 10,
        norm: float = 2,
        class_weight: Any = None,
        matrix: Any = None,
        indefinite: bool = False,
        interval: tuple[float, float] | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

gece: _gece

class _gece_db(Metric):
    """Generalised expected calibration error minus its expected value for calibrated forecasts."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        distance: Literal["tv", "l1"] = "tv",
        bins: Bins | None = 15,
        binning: Binning = "auto",
        gamma: float | None = None,
        min_size: int = 10,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

gece_db: _gece_db

class _tl_ece(Metric):
    """Expected calibration error of the top label, computed inside each predicted class and averaged over these."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        norm: float = 1,
        average: Literal["weighted", "macro"] = "weighted",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

tl_ece: _tl_ece

class _tace(Metric):
    """Adaptive calibration error of every class over the scores above a threshold."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        threshold: float = 0.01,
        mode: Literal["drop", "zero"] = "drop",
        lens: str | Lens = "classwise",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

tace: _tace

class _topk_ece(Metric):
    """Expected calibration error of the probabilities of the k most probable classes of each row."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        k: int | None = None,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        reading: Literal["rank", "cumulative"] = "rank",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

topk_ece: _topk_ece

class _multiclass_ce(Metric):
    """Mean total variation distance between mean forecast and mean label over the cells of a grid on the simplex."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        distance: Literal["auto", "tv", "l2"] = "tv",
        bins: Bins | None = 10,
        binning: Binning = "simplex_grid",
        gamma: float | None = None,
        min_size: int = 10,
        norm: float = 2,
        class_weight: Any = None,
        matrix: Any = None,
        indefinite: bool = False,
        interval: tuple[float, float] | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

multiclass_ce: _multiclass_ce

class _ece_ea(Metric):
    """Expected calibration error over bins for which width times number of rows is about the same."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_area",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ece_ea: _ece_ea

class _ece_sweep(Metric):
    """Expected calibration error over the largest number of equal-mass bins for which outcome rates are non-decreasing."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = "sweep",
        binning: Binning = "equal_mass",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ece_sweep: _ece_sweep

class _pce(Metric):
    """Expected calibration error over the cells of groups and bins of the score."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        partitions: Any = None,
        partition_weight: Any = None,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

pce: _pce

class _fece(Metric):
    """Mean over groups of the absolute difference between mean score and outcome rate, weighted by the number of rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        relative: bool = False,
        eps: float = 0.0,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fece: _fece

class _vece(Metric):
    """Expected calibration error over bins of a feature instead of the score."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        feature: int = 0,
        bins: int = 10,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

vece: _vece

class _piece(Metric):
    """Expected calibration error over cells of the score and of the proximity to other rows in feature space."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 10,
        binning: Binning = "equal_mass",
        proximity_bins: int = 10,
        neighbours: int = 10,
        proximity: Any = None,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

piece: _piece

class _mvce(Metric):
    """Expected calibration error over bins of one feature, averaged over features."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        views: int | None = None,
        bins: int = 10,
        rng: Any = 0,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

mvce: _mvce

class _msce(Metric):
    """Mean squared difference between the kernel regression of the outcomes and the scores."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float | str = "default",
        adaptive: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

msce: _msce

class _sece(Metric):
    """Mean absolute difference between the kernel regression of the outcomes and the scores."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float | str = 0.05,
        adaptive: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

sece: _sece

class _ls_ece(Metric):
    """Expected absolute difference between the kernel regression of the outcomes and the score, after Gaussian noise on the logits."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float = 1.0,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ls_ece: _ls_ece

class _smece(Metric):
    """Integral of the absolute mean residual, smoothed by a Gaussian kernel whose bandwidth equals the resulting error."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float | None = None,
        kernel: Literal["probability", "logit"] = "probability",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

smece: _smece

class _smce(Metric):
    """Largest mean of the residuals times a weight function with values in [-1, 1] and Lipschitz constant 1."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

smce: _smce

class _dce_lower(Metric):
    """Smallest mean distance that scores must be moved, in parts of rows if necessary, to become calibrated."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        grid: int = 100,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

dce_lower: _dce_lower

class _bkde(Metric):
    """Mean distance between each score and the leave-one-out Beta kernel regression of the outcomes."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float | str = "likelihood",
        norm: float = 1,
        scale: float = 1.0,
        debiased: Literal["ratio", None] = None,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

bkde: _bkde

class _dkde(Metric):
    """Mean distance between each forecast and the leave-one-out Dirichlet kernel regression of the labels."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float | str = "likelihood",
        norm: float = 1,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

dkde: _dkde

class _skde(Metric):
    """Mean distance between the score and the density ratio of events to all rows, integrated over the density of the scores."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float | str = "reference",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

skde: _skde

class _mmce(Metric):
    """Square root of the mean over all pairs of rows of the product of their residuals weighted by exp(-distance / width)."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float = 0.4,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

mmce: _mmce

class _lkce(Metric):
    """Square root of the mean over all pairs of rows of the product of their residuals weighted by exp(-distance)."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float = 1.0,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

lkce: _lkce

class _mmce_w(Metric):
    """Square root of the kernel mean over pairs, with the residuals of events and non-events each divided by their number."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: float = 0.4,
        normalisation: Literal["paper", "code"] = "paper",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

mmce_w: _mmce_w

class _skce_b(Metric):
    """Mean over all pairs of rows of the product of their residuals weighted by a kernel of their predictions."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        kernel: Literal["exponential", "gaussian"] = "exponential",
        distance: Literal["auto", "tv", "l2"] = "auto",
        bandwidth: Any = "median",
        exact: bool | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

skce_b: _skce_b

class _skce_uq(Metric):
    """Mean over pairs of different rows of the product of their residuals weighted by a kernel of their predictions."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        kernel: Literal["exponential", "gaussian"] = "exponential",
        distance: Literal["auto", "tv", "l2"] = "auto",
        bandwidth: Any = "median",
        exact: bool | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

skce_uq: _skce_uq

class _skce_ul(Metric):
    """Mean over consecutive pairs of rows of the product of their residuals weighted by a kernel of their predictions."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        kernel: Literal["exponential", "gaussian"] = "exponential",
        distance: Literal["auto", "tv", "l2"] = "auto",
        bandwidth: Any = "median",
        block: int = 2,
        rng: Any = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

skce_ul: _skce_ul

class _ucme(Metric):
    """Mean over test locations of the squared mean residual of a class, weighted by a kernel of predictions and location."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        locations: Any = 10,
        kernel: Literal["exponential", "gaussian"] = "exponential",
        distance: Literal["auto", "tv", "l2"] = "auto",
        bandwidth: Any = "median",
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ucme: _ucme

class _ckce(Metric):
    """Squared norm of the kernel ridge regression of the residuals on the predictions."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        kernel: Literal["exponential", "gaussian"] = "exponential",
        distance: Literal["auto", "tv", "l2"] = "auto",
        bandwidth: Any = "median",
        ridge: float = 0.1,
        landmarks: int | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ckce: _ckce

class _klce(Metric):
    """Mean product of the residuals of two rows, weighted by kernels of their forecasts and of their features."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bandwidth: Any = "median",
        score_bandwidth: float = 0.1,
        standardise: bool | None = None,
        normalised: bool = False,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

klce: _klce

class _ecmmd(Metric):
    """Mean product of the residual of each row with the mean residual of its nearest neighbours."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        neighbours: int | None = None,
        space: Literal["prediction", "features"] = "prediction",
        derandomised: bool = True,
        n_draws: int = 1,
        rng: Any = 0,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ecmmd: _ecmmd

class _lce(Metric):
    """Mean over rows of the calibration error among rows of the same bin with similar features."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        bandwidth: float = 1.0,
        standardise: bool = True,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

lce: _lce

class _mlce(Metric):
    """Largest calibration error among rows of the same bin with similar features."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        bandwidth: float = 1.0,
        standardise: bool = True,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

mlce: _mlce

class _knn_chi2(Metric):
    """Chi-square statistic of the labels near a typical forecast against that forecast, at the anchor with the smallest p-value."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        anchors: Any = 6,
        neighbours: int | None = None,
        eps: float = 0.1,
        power: float = 0.8,
        alpha: float = 0.05,
        min_expected: float = 5,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

knn_chi2: _knn_chi2

class _ici(Metric):
    """Mean absolute difference between the scores and a smooth calibration curve."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        smoother: Literal["loess", "lowess", "rcs", "logistic"] = "loess",
        span: float | None = None,
        degree: int = 2,
        surface: Literal["direct", "interpolate"] = "interpolate",
        delta: float = 0.01,
        knots: int = 5,
        bounded: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ici: _ici

class _ep(Metric):
    """Quantile over rows of the absolute difference between the score and a smooth calibration curve."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        q: float = 0.9,
        smoother: Literal["loess", "lowess", "rcs", "logistic"] = "loess",
        span: float | None = None,
        degree: int = 2,
        surface: Literal["direct", "interpolate"] = "interpolate",
        delta: float = 0.01,
        knots: int = 5,
        bounded: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ep: _ep

class _e50(Metric):
    """Median over rows of the absolute difference between the score and a smooth calibration curve."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        q: float = 0.5,
        smoother: Literal["loess", "lowess", "rcs", "logistic"] = "loess",
        span: float | None = None,
        degree: int = 2,
        surface: Literal["direct", "interpolate"] = "interpolate",
        delta: float = 0.01,
        knots: int = 5,
        bounded: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

e50: _e50

class _e90(Metric):
    """90th percentile over rows of the absolute difference between the score and a smooth calibration curve."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        q: float = 0.9,
        smoother: Literal["loess", "lowess", "rcs", "logistic"] = "loess",
        span: float | None = None,
        degree: int = 2,
        surface: Literal["direct", "interpolate"] = "interpolate",
        delta: float = 0.01,
        knots: int = 5,
        bounded: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

e90: _e90

class _emax(Metric):
    """Largest absolute difference between an observed score and a smooth calibration curve."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        q: float = 1.0,
        smoother: Literal["loess", "lowess", "rcs", "logistic"] = "loess",
        span: float | None = None,
        degree: int = 2,
        surface: Literal["direct", "interpolate"] = "interpolate",
        delta: float = 0.01,
        knots: int = 5,
        bounded: bool = False,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

emax: _emax

class _eci(Metric):
    """Mean squared difference between the forecasts and smooth calibration curves, over all classes."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        smoother: Literal["auto", "spline", "loess", "lowess", "rcs", "logistic"] = "auto",
        relative: bool = False,
        penalty: float = 1.0,
        span: float | None = None,
        degree: int = 2,
        surface: Literal["direct", "interpolate"] = "direct",
        knots: int = 5,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

eci: _eci

class _fott_pl(Metric):
    """Mean distance between the score and a piecewise linear calibration curve fitted on these rows by least squares."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        knots: int | Sequence[float] | None = None,
        clipped: bool = True,
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_pl: _fott_pl

class _fott_pl3(Metric):
    """Mean distance between the score and a calibration curve that is piecewise linear in log-odds, fitted on these rows by maximum likelihood."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        knots: int | Sequence[float] | None = None,
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_pl3: _fott_pl3

class _fott_em(Metric):
    """Mean distance between the score and a calibration curve with slope 1 in each equal-mass bin, through the means of the bin."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_mass",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_em: _fott_em

class _fott_ew(Metric):
    """Mean distance between the score and a calibration curve with slope 1 in each equal-width bin, through the means of the bin."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins | None = 15,
        binning: Binning = "equal_width",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_ew: _fott_ew

class _fott_platt(Metric):
    """Mean distance between the score and the logistic calibration curve fitted on these rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_platt: _fott_platt

class _fott_beta(Metric):
    """Mean distance between the score and the non-decreasing beta calibration curve fitted on these rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_beta: _fott_beta

class _fott_isotonic(Metric):
    """Mean distance between the score and the isotonic calibration curve fitted on these rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_isotonic: _fott_isotonic

class _corp_mcb(Metric):
    """Brier score minus that of the isotonic calibration curve fitted on these rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

corp_mcb: _corp_mcb

class _fott_spline(Metric):
    """Mean distance between the score and a calibration curve from a spline of the cumulative differences of these rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        knots: int = 6,
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_spline: _fott_spline

class _fott_iop(Metric):
    """Mean total variation distance between the forecast and its order-preserving recalibration fitted on these rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        pieces: int = 5,
        norm: float = 1,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

fott_iop: _fott_iop

class _ce_variational(Metric):
    """Loss that an isotonic calibration curve saves on rows on which it was not fitted, an estimate from below of the true error."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        norm: Literal[1, 2] = 1,
        direction: Literal["both", "over", "under"] = "both",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ce_variational: _ce_variational

class _cox_intercept(Metric):
    """Intercept of the logistic regression of the outcome on the log-odds of the score."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        penalty: Literal[None, "firth"] = None,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

cox_intercept: _cox_intercept

class _cox_slope(Metric):
    """Slope of the logistic regression of the outcome on the log-odds of the score."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        penalty: Literal[None, "firth"] = None,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

cox_slope: _cox_slope

class _sbct(Metric):
    """Likelihood ratio statistic of a fitted beta calibration curve against the scores."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        statistic: Literal["lr", "l2"] = "lr",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

sbct: _sbct

class _pws(Metric):
    """Wald statistic of the distance between a parabola fitted to the outcomes and the diagonal."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        covariance: Literal["null", "HC0", "HAC", "ols"] = "null",
        lags: int | None = None,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

pws: _pws

class _ecce_mad(Metric):
    """Largest absolute cumulative difference between scores and outcomes in order of the score."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ecce_mad: _ecce_mad

class _ecce_r(Metric):
    """Range of the cumulative differences between scores and outcomes in order of the score."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ecce_r: _ecce_r

class _ecce_mean_abs(Metric):
    """Mean over rows of the absolute cumulative difference."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ecce_mean_abs: _ecce_mean_abs

class _ecce_l2(Metric):
    """Mean over rows of the squared cumulative difference."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ecce_l2: _ecce_l2

class _ks_top_r(Metric):
    """Largest absolute cumulative difference between the r-th largest probability and the event that the true class has this rank."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        r: int = 1,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ks_top_r: _ks_top_r

class _ks_within_top_r(Metric):
    """Largest absolute cumulative difference between the sum of the r largest probabilities and the event that the true class is among them."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        r: int = 1,
        lens: str | Lens = "canonical",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

ks_within_top_r: _ks_within_top_r

class _bbt(Metric):
    """Fisher's combination of tests of the mean difference and of the shape of the cumulative path."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        form: Literal["fisher", "bridge", "mean"] = "fisher",
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

bbt: _bbt

class _atb(Metric):
    """Mean over all thresholds of the squared cumulative differences of the rows below plus those above."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

atb: _atb

class _u_cal(Metric):
    """Largest regret, over thresholds, of decisions by the score against the same decision for all rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

u_cal: _u_cal

class _mcm(Metric):
    """Largest range of cumulative differences over all rows and each subpopulation, relative to its standard deviation."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        scale: Literal["absolute", "sigma", "relative"] = "absolute",
        subpopulations: Literal["auto", "combinations", "tree"] = "auto",
        depth: int | None = None,
        cuts: int = 3,
        min_size: int = 10,
        lens: str | Lens = "auto",
        where: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
    ) -> float: ...

mcm: _mcm
