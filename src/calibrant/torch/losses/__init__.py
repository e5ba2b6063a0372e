"""Losses for training: those that stand in place of cross-entropy, and terms to add to it.

In place of cross-entropy: label smoothing, margin label smoothing, the focal losses, logit normalisation, confidence
penalty, maximum entropy, and mixed batches. To add to it: MMCE, DCA, MDCA, soft-binned ECE, DECE, SECE, KDE-ECE, ECD
and AvUC, as in ``loss = ce(logits, y) + beta * mmce(logits, y)``.
"""

from __future__ import annotations

from .binned import DECELoss, SoftBinnedECELoss, dece_loss, soft_binned_ece_loss
from .confidence import (
    AvUCLoss,
    ConfidencePenaltyLoss,
    LogitNormLoss,
    avuc_loss,
    confidence_penalty_loss,
    logit_norm_loss,
)
from .differences import DCALoss, ECDLoss, MDCALoss, dca_loss, ecd_loss, mdca_loss
from .focal import DualFocalLoss, FLSDLoss, FocalLoss, dual_focal_loss, flsd_loss, focal_loss
from .kernel import (
    KDEECELoss,
    MMCELoss,
    SECELoss,
    WeightedMMCELoss,
    kde_ece_loss,
    mmce_loss,
    sece_loss,
    weighted_mmce_loss,
)
from .maximum_entropy import MaxEntLoss, max_ent_loss
from .mixing import MixedBatch, MixedLoss, cutmix, mixed_loss, mixup
from .smoothing import (
    LabelSmoothingLoss,
    MarginLabelSmoothingLoss,
    label_smoothing_loss,
    margin_label_smoothing_loss,
)

__all__ = [
    "AvUCLoss",
    "ConfidencePenaltyLoss",
    "DCALoss",
    "DECELoss",
    "DualFocalLoss",
    "ECDLoss",
    "FLSDLoss",
    "FocalLoss",
    "KDEECELoss",
    "LabelSmoothingLoss",
    "LogitNormLoss",
    "MDCALoss",
    "MMCELoss",
    "MarginLabelSmoothingLoss",
    "MaxEntLoss",
    "MixedBatch",
    "MixedLoss",
    "SECELoss",
    "SoftBinnedECELoss",
    "WeightedMMCELoss",
    "avuc_loss",
    "confidence_penalty_loss",
    "cutmix",
    "dca_loss",
    "dece_loss",
    "dual_focal_loss",
    "ecd_loss",
    "flsd_loss",
    "focal_loss",
    "kde_ece_loss",
    "label_smoothing_loss",
    "logit_norm_loss",
    "margin_label_smoothing_loss",
    "max_ent_loss",
    "mdca_loss",
    "mixed_loss",
    "mixup",
    "mmce_loss",
    "sece_loss",
    "soft_binned_ece_loss",
    "weighted_mmce_loss",
]
