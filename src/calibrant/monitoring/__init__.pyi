"""Public names, loaded when they are first used."""

from .calibration import WindowCalibration as WindowCalibration
from .certified import CertificateStatus as CertificateStatus
from .changepoint import EDetector as EDetector
from .drift import DriftReport as DriftReport
from .drift import DriftResult as DriftResult
from .fleet import FleetStatus as FleetStatus
from .fleet import ModelStatus as ModelStatus
from .fleet import fleet_status as fleet_status
from .labelfree import ChangeReading as ChangeReading
from .labelfree import ConfidenceSummary as ConfidenceSummary
from .labelfree import ScoreFindings as ScoreFindings
from .monitor import Monitor as Monitor
from .online import OnlineRecalibration as OnlineRecalibration
from .ood import OodFindings as OodFindings
from .performance import MetricEstimate as MetricEstimate
from .performance import PerformanceEstimate as PerformanceEstimate
from .performance import estimate_performance as estimate_performance
from .retention import Pruned as Pruned
from .sequential import EProcess as EProcess
from .status import Alarm as Alarm
from .status import GroupStatus as GroupStatus
from .status import MonitorStatus as MonitorStatus
from .status import Update as Update
from .status import WindowStatus as WindowStatus
from .windows import window_rule as window_rule
