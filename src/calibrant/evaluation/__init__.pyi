"""Public names, loaded when they are first used."""

from .censoring import HorizonOutcomes as HorizonOutcomes
from .censoring import horizon_outcomes as horizon_outcomes
from .clinical import ClinicalSummary as ClinicalSummary
from .clinical import clinical_summary as clinical_summary
from .confidence import ConfidenceDistribution as ConfidenceDistribution
from .confidence import confidence_summary as confidence_summary
from .discrimination import auroc as auroc
from .discrimination import average_precision as average_precision
from .group_validation import GroupValidation as GroupValidation
from .group_validation import validate_by_group as validate_by_group
from .group_validation import validate_by_period as validate_by_period
from .measure import evaluate as evaluate
from .optimism import InternalValidation as InternalValidation
from .optimism import OptimismCurve as OptimismCurve
from .optimism import OptimismRow as OptimismRow
from .optimism import internal_validation as internal_validation
from .recommendation import Recommendation as Recommendation
from .recommendation import recommend as recommend
from .result import Evaluation as Evaluation
from .survival import SurvivalSummary as SurvivalSummary
from .survival import survival_summary as survival_summary
