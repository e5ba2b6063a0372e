"""Public names, loaded when they are first used."""

from .certificates import Certificate as Certificate
from .certificates import certify as certify
from .certificates import load_certificate as load_certificate
from .confidence import ConfidenceDistribution as ConfidenceDistribution
from .confidence import confidence_summary as confidence_summary
from .discrimination import auroc as auroc
from .discrimination import average_precision as average_precision
from .measure import evaluate as evaluate
from .recommendation import Recommendation as Recommendation
from .recommendation import recommend as recommend
from .result import Evaluation as Evaluation
from .subgroups import Subgroup as Subgroup
from .subgroups import Subgroups as Subgroups
from .subgroups import find_subgroups as find_subgroups
