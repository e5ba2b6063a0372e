"""Monitoring of calibration after deployment: windows, score drift, delayed labels, sequential tests and alarms."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
