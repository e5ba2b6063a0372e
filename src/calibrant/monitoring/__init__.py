"""Monitoring of calibration after deployment: windows, score drift, delayed labels, sequential tests and alarms."""

from ..util.namespace import namespace

NAMES = {
    "fleet": ("load_fleet",),
    "monitor": ("Monitor",),
}
TYPES = {
    "calibration": ("WindowCalibration",),
    "changepoint": ("EDetector",),
    "drift": ("DriftReport", "DriftResult"),
    "fleet": ("FleetModel",),
    "labelfree": ("AccuracyEstimate", "ChangeReading", "ConfidenceSummary", "ScoreFindings"),
    "ood": ("OodFindings",),
    "sequential": ("EProcess",),
    "status": ("Alarm", "GroupStatus", "MonitorStatus", "Update", "WindowStatus"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
