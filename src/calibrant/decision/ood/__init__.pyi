"""Public names, loaded when they are first used."""

from .detection import OodDetector as OodDetector
from .detection import OodEvaluation as OodEvaluation
from .detection import OodResult as OodResult
from .detection import evaluate as evaluate
from .scores import OodKnn as OodKnn
from .scores import OodMahalanobis as OodMahalanobis
from .scores import energy as energy
from .scores import entropy as entropy
from .scores import max_logit as max_logit
from .scores import msp as msp
from .scores import mutual_information as mutual_information
from .scores import variance as variance
