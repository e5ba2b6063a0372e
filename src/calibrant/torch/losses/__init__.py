"""Training losses for calibrated networks: replacements for cross-entropy, and terms that are added to it.

Replacements: label smoothing, margin-based label smoothing, the focal losses, logit normalization, the confidence
penalty, maximum entropy, and losses of mixed batches. Terms to add: MMCE, DCA, MDCA, soft-binned ECE, DECE, SECE,
KDE-ECE, ECD and AvUC, as in ``loss = F.cross_entropy(logits, y) + beta * mmce_loss(logits, y)``.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
