"""Public names, loaded when they are first used."""

from .detection import OodDetector as OodDetector
from .detection import OodEvaluation as OodEvaluation
from .detection import OodResult as OodResult
from .detection import ood_evaluate as ood_evaluate
from .scores import OodKnn as OodKnn
from .scores import OodMahalanobis as OodMahalanobis
from .scores import ood_energy as ood_energy
from .scores import ood_entropy as ood_entropy
from .scores import ood_max_logit as ood_max_logit
from .scores import ood_msp as ood_msp
from .scores import ood_mutual_information as ood_mutual_information
from .scores import ood_variance as ood_variance
