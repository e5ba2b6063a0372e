"""Public names, loaded when they are first used."""

from . import lightning as lightning
from . import losses as losses
from .accumulating import SketchMetric as SketchMetric
from .collecting import Collected as Collected
from .collecting import collect as collect
from .deciding import ThresholdedPrediction as ThresholdedPrediction
from .deciding import predict_with_threshold as predict_with_threshold
from .evaluating import evaluate as evaluate
from .metrics import BinaryCalibrationError as BinaryCalibrationError
from .metrics import CalibrationMetric as CalibrationMetric
from .metrics import MulticlassCalibrationError as MulticlassCalibrationError
from .metrics import MultilabelCalibrationError as MultilabelCalibrationError
from .modules import CalibratedModule as CalibratedModule
from .modules import TemperatureModule as TemperatureModule
from .ordered import OrderPreservingNetwork as OrderPreservingNetwork
