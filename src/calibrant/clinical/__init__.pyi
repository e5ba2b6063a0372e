"""Public names, loaded when they are first used."""

from .censoring import HorizonOutcomes as HorizonOutcomes
from .censoring import horizon_outcomes as horizon_outcomes
from .group_validation import GroupValidation as GroupValidation
from .group_validation import validate_by_group as validate_by_group
from .optimism import InternalValidation as InternalValidation
from .optimism import OptimismCurve as OptimismCurve
from .optimism import OptimismRow as OptimismRow
from .optimism import internal_validation as internal_validation
from .performance import ClinicalSummary as ClinicalSummary
from .performance import summary as summary
from .pooled_curves import PooledCurve as PooledCurve
from .pooled_curves import pooled_curve as pooled_curve
from .survival import SurvivalSummary as SurvivalSummary
from .survival import survival_summary as survival_summary
from .updating import ModelUpdate as ModelUpdate
from .updating import UpdateTest as UpdateTest
from .updating import closed_test_update as closed_test_update
