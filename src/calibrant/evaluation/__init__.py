"""Many metrics at once (`evaluate`), the distribution of the confidence (`confidence_summary`), discrimination (`auroc`,
`average_precision`), and which metrics to use (`recommend`)."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
