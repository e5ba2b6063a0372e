"""Training losses for calibrated networks: replacements for cross-entropy, and terms that are added to it.

Replacements: label smoothing, margin-based label smoothing, the focal losses, logit normalization, the confidence
penalty, maximum entropy, and losses of mixed batches. Terms to add: MMCE, DCA, MDCA, soft-binned ECE, DECE, SECE,
KDE-ECE, ECD and AvUC, as in ``loss = ce(logits, y) + beta * mmce(logits, y)``. Each loss is a function and a module.
"""

from ...util.namespace import namespace

NAMES = {
    "binned": ("DECELoss", "SoftBinnedECELoss", "dece_loss", "soft_binned_ece_loss"),
    "confidence": (
        "AvUCLoss",
        "ConfidencePenaltyLoss",
        "LogitNormLoss",
        "avuc_loss",
        "confidence_penalty_loss",
        "logit_norm_loss",
    ),
    "differences": ("DCALoss", "ECDLoss", "MDCALoss", "dca_loss", "ecd_loss", "mdca_loss"),
    "focal": ("DualFocalLoss", "FLSDLoss", "FocalLoss", "dual_focal_loss", "flsd_loss", "focal_loss"),
    "kernel": (
        "KDEECELoss",
        "MMCELoss",
        "SECELoss",
        "WeightedMMCELoss",
        "kde_ece_loss",
        "mmce_loss",
        "sece_loss",
        "weighted_mmce_loss",
    ),
    "maximum_entropy": ("MaxEntLoss", "max_ent_loss"),
    "mixing": ("MixedBatch", "MixedLoss", "cutmix", "mixed_loss", "mixup"),
    "smoothing": (
        "LabelSmoothingLoss",
        "MarginLabelSmoothingLoss",
        "label_smoothing_loss",
        "margin_label_smoothing_loss",
    ),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES)
