"""Integration with scikit-learn: a meta-estimator that calibrates any classifier, a scorer for every metric, and a display."""

from ..errors import MissingDependencyError

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise MissingDependencyError("scikit-learn", "is not installed", "run pip install 'calibrant[sklearn]'") from error

from .display import ReliabilityDisplay
from .folds import FoldEvaluation, FoldValues, cross_val_predictions, evaluate_folds
from .model import CalibratedModel
from .scoring import Scorer, scorer, scorers

__all__ = [
    "CalibratedModel",
    "FoldEvaluation",
    "FoldValues",
    "ReliabilityDisplay",
    "Scorer",
    "cross_val_predictions",
    "evaluate_folds",
    "scorer",
    "scorers",
]


def __dir__() -> list[str]:
    return __all__
