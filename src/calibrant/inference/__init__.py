"""Tests, intervals, comparisons and power, and simulated predictions whose calibration is known."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
