"""Monitoring of calibration after deployment: windows, score drift, delayed labels, sequential tests and alarms."""

from ..util.namespace import namespace

NAMES = {
    "fleet": ("fleet_status", "load_fleet"),
    "monitor": ("Monitor",),
}
TYPES = {
    "calibration": ("WindowCalibration",),
    "changepoint": ("EDetector",),
    "drift": ("DriftReport", "DriftResult"),
    "fleet": ("FleetModel", "FleetStatus", "ModelStatus"),
    "labelfree": ("AccuracyEstimate", "ChangeReading", "ConfidenceSummary", "ScoreFindings"),
    "ood": ("OodFindings",),
    "retention": ("Pruned",),
    "sequential": ("EProcess",),
    "status": ("Alarm", "GroupStatus", "MonitorStatus", "Update", "WindowStatus"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
