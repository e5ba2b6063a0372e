"""Public names; written by tools/make_stub.py, not by hand."""

from .detection import OodEvaluation as OodEvaluation
from .detection import OodResult as OodResult
from .detection import ood_detector as ood_detector
from .detection import ood_evaluate as ood_evaluate
from .scores import ood_energy as ood_energy
from .scores import ood_entropy as ood_entropy
from .scores import ood_knn as ood_knn
from .scores import ood_mahalanobis as ood_mahalanobis
from .scores import ood_max_logit as ood_max_logit
from .scores import ood_msp as ood_msp
from .scores import ood_mutual_information as ood_mutual_information
from .scores import ood_variance as ood_variance
