"""Out-of-distribution scores, and detectors with a false-positive rate."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
