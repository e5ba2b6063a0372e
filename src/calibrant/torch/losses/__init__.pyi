"""Public names, loaded when they are first used."""

from .binned import dece_loss as dece_loss
from .binned import soft_binned_ece_loss as soft_binned_ece_loss
from .confidence import avuc_loss as avuc_loss
from .confidence import confidence_penalty_loss as confidence_penalty_loss
from .confidence import logit_norm_loss as logit_norm_loss
from .differences import dca_loss as dca_loss
from .differences import ecd_loss as ecd_loss
from .differences import mdca_loss as mdca_loss
from .focal import dual_focal_loss as dual_focal_loss
from .focal import flsd_loss as flsd_loss
from .focal import focal_loss as focal_loss
from .kernel import kde_ece_loss as kde_ece_loss
from .kernel import mmce_loss as mmce_loss
from .kernel import sece_loss as sece_loss
from .kernel import weighted_mmce_loss as weighted_mmce_loss
from .maximum_entropy import max_ent_loss as max_ent_loss
from .mixing import MixedBatch as MixedBatch
from .mixing import cutmix as cutmix
from .mixing import mixed_loss as mixed_loss
from .mixing import mixup as mixup
from .smoothing import label_smoothing_loss as label_smoothing_loss
from .smoothing import margin_label_smoothing_loss as margin_label_smoothing_loss
