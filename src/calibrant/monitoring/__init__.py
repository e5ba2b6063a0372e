"""Calibration after deployment: windows, drift, delayed labels, sequential tests, alarms."""

from ..util.namespace import namespace

NAMES = {
    "monitor": ("Monitor",),
}
TYPES = {
    "status": ("MonitorStatus",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
