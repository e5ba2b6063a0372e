"""Public names and their signatures; written by tools/make_stub.py from the catalogue, not by hand."""

from typing import Any, Literal

from . import errors as errors
from . import metrics as metrics
from ._metric import Combine
from ._partition import KDTree as KDTree
from .binning import Binning, Bins
from .binning import Edges as Edges
from .binning import EqualMass as EqualMass
from .binning import EqualWidth as EqualWidth
from .bintable import BinTable as BinTable
from .calibration import CalibrationCurve as CalibrationCurve
from .calibration import calibration_curve as calibration_curve
from .errors import (
    AmbiguousMetricError as AmbiguousMetricError,
)
from .errors import (
    ArgumentError as ArgumentError,
)
from .errors import (
    CalibrantError as CalibrantError,
)
from .errors import (
    CalibrantWarning as CalibrantWarning,
)
from .errors import (
    ColumnError as ColumnError,
)
from .errors import (
    FileError as FileError,
)
from .errors import (
    GroupError as GroupError,
)
from .errors import (
    InputError as InputError,
)
from .errors import (
    InputTypeError as InputTypeError,
)
from .errors import (
    LabelError as LabelError,
)
from .errors import (
    LensError as LensError,
)
from .errors import (
    MissingDependencyError as MissingDependencyError,
)
from .errors import (
    ProbabilityError as ProbabilityError,
)
from .errors import (
    ShapeError as ShapeError,
)
from .errors import (
    SwappedArgumentsError as SwappedArgumentsError,
)
from .errors import (
    UndefinedMetricError as UndefinedMetricError,
)
from .errors import (
    UnknownArgumentError as UnknownArgumentError,
)
from .errors import (
    UnknownMetricError as UnknownMetricError,
)
from .errors import (
    WeightError as WeightError,
)
from .errors import (
    WeightsNotSupportedError as WeightsNotSupportedError,
)
from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .evaluation import recommend as recommend
from .lenses import (
    Lens as Lens,
)
from .lenses import (
    class_ as class_,
)
from .lenses import (
    class_groups as class_groups,
)
from .lenses import (
    class_hierarchy as class_hierarchy,
)
from .lenses import (
    pair as pair,
)
from .lenses import (
    rank as rank,
)
from .lenses import (
    top_k as top_k,
)
from .lenses import (
    within_top as within_top,
)
from .predictions import Predictions as Predictions
from .registry import Metric as Metric
from .registry import catalogue as catalogue
from .registry import metric as metric
from .registry import preset as preset
from .selections import Selection as Selection
from .selections import select as select
from .view import VectorView as VectorView
from .view import View as View

__version__: str

def public_names() -> list[str]: ...

class _ece(Metric):
    """Mean gap between confidence and accuracy over bins, weighted by how full each bin is."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_width",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

ece: _ece

class _ce_p(Metric):
    """The l_p norm over bins of the gap between confidence and accuracy; norm=2 unless told otherwise."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_width",
        norm: float = 2,
        lens: str | Lens = "auto",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

ce_p: _ce_p

class _rmsce(Metric):
    """Root of the mean squared gap between confidence and accuracy over bins."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_width",
        norm: float = 2,
        lens: str | Lens = "auto",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

rmsce: _rmsce

class _ece_em(Metric):
    """Expected calibration error over bins that hold equally many rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_mass",
        norm: float = 1,
        lens: str | Lens = "auto",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

ece_em: _ece_em

class _cwce(Metric):
    """Expected calibration error of every class against the rest, averaged over classes."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_width",
        norm: float = 1,
        lens: str | Lens = "classwise",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

cwce: _cwce

class _ace(Metric):
    """Class-wise calibration error over bins that hold equally many rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_mass",
        norm: float = 1,
        lens: str | Lens = "classwise",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

ace: _ace

class _mce(Metric):
    """Largest gap between confidence and accuracy over bins that hold any rows."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_width",
        min_count: float = 0,
        lens: str | Lens = "auto",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

mce: _mce

class _esce(Metric):
    """Mean of confidence minus accuracy over bins: positive for overconfidence, negative for underconfidence."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_width",
        representative: Literal["mean", "midpoint"] = "mean",
        lens: str | Lens = "auto",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

esce: _esce

class _abc_above(Metric):
    """The part of the expected calibration error that comes from underconfident bins."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_width",
        measure: Literal["density", "lebesgue"] = "density",
        lens: str | Lens = "auto",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

abc_above: _abc_above

class _abc_below(Metric):
    """The part of the expected calibration error that comes from overconfident bins."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 15,
        binning: Binning = "equal_width",
        measure: Literal["density", "lebesgue"] = "density",
        lens: str | Lens = "auto",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

abc_below: _abc_below

class _vce(Metric):
    """Mean gap over bins between the variation the model states and the variation that is observed."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        variation: Literal["entropy", "confidence", "variation_ratio", "iqv", "gini"] = "entropy",
        bins: Bins = 10,
        binning: Binning = "equal_width",
        norm: float = 1,
        lens: str | Lens = "canonical",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

vce: _vce

class _uce(Metric):
    """Mean gap over entropy bins between the error rate and the mean normalised entropy."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        bins: Bins = 10,
        binning: Binning = "equal_width",
        lens: str | Lens = "canonical",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

uce: _uce

class _gece(Metric):
    """Mean distance over cells between the mean output and the mean target, for any lens."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        distance: Literal["tv", "l1", "l2"] = "tv",
        binning: Any = "auto",
        bins: Bins = 15,
        gamma: float = 0.1,
        min_size: int = 10,
        class_weight: Any = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        combine: Combine | None = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

gece: _gece

class _brier(Metric):
    """Mean squared distance between the probabilities and the label."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        scale: Literal["auto", "half", "sum", "per_class"] = "auto",
        lens: str | Lens = "canonical",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
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
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

root_brier: _root_brier

class _nll(Metric):
    """Mean of minus the logarithm of the probability given to the true class."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        floor: float | None = None,
        base: float | None = None,
        lens: str | Lens = "canonical",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

nll: _nll

class _ecd(Metric):
    """Mean of surprise minus expected surprise: positive for overconfidence, negative for underconfidence."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        multiclass: Literal["full", "true_vs_rest"] = "full",
        lens: str | Lens = "canonical",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

ecd: _ecd

class _mdca(Metric):
    """Mean over classes of the gap between the mean probability and the frequency of the class."""
    def __call__(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        lens: str | Lens = "canonical",
        where: Any = None,
        combine: Combine | None = None,
        class_weight: Any = None,
        label: str | None = None,
        prob: str | list[str] | None = None,
        sample_weight: Any = None,
        counts: Any = None,
        groups: Any = None,
        features: Any = None,
        classes: Any = None,
        pos_label: Any = None,
        input: Literal["prob", "logit", "confidence"] = "prob",
        soft: bool = False,
        multilabel: bool = False,
        normalize: bool = False,
        clip: bool = False,
        sum_tolerance: float | None = None,
    ) -> float: ...

mdca: _mdca
