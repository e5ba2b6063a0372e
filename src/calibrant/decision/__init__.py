"""When a prediction can be trusted: thresholds with guarantees, selective prediction, costs, out-of-distribution scores."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
