"""Calls of torchmetrics."""

from experiments.migration.calls.call import drawn, of

SETUP = """
import torch
from torchmetrics.classification import BinaryCalibrationError, CalibrationError, MulticlassCalibrationError
from torchmetrics.functional.classification import binary_calibration_error, calibration_error, multiclass_calibration_error

P, Y = torch.as_tensor(p), torch.as_tensor(y)
"""

CALLS = [
    *of(
        "torchmetrics",
        "binary",
        (
            "binary_calibration_error(P, Y, n_bins=15)",
            "cal.ece(y, p)",
            "it assigns a score on an edge to the bin above, and the score 1 to a separate bin",
        ),
        ("binary_calibration_error(P, Y, n_bins=15)", 'cal.ece(y, p, binning=cal.EqualWidth(closed="left"))'),
        (
            "binary_calibration_error(P, Y, n_bins=10)",
            'cal.ece(y, p, bins=10, binning=cal.EqualWidth(closed="left"))',
            "its edges are those of `torch.linspace`, which differ from *k/M* by rounding",
        ),
        (
            "binary_calibration_error(P, Y, n_bins=15)",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
        ),
        (
            'binary_calibration_error(P, Y, n_bins=15, norm="l2")',
            'cal.rmsce(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "as above",
        ),
        (
            'binary_calibration_error(P, Y, n_bins=15, norm="max")',
            'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "as above",
        ),
    ),
    *of(
        "torchmetrics",
        "classes",
        (
            "multiclass_calibration_error(P, Y, K, n_bins=15)",
            "cal.ece(y, p)",
            "as for two classes, and it rounds confidences to single precision",
        ),
        (
            "multiclass_calibration_error(P, Y, K, n_bins=15)",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch"))',
            "its edges are those of `torch.linspace`, and it assigns the score 1 to a bin of its own",
        ),
        (
            'multiclass_calibration_error(P, Y, K, n_bins=15, norm="l2")',
            'cal.rmsce(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch"))',
            "as above",
        ),
        (
            'multiclass_calibration_error(P, Y, K, n_bins=15, norm="max")',
            'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch"))',
            "as above",
        ),
    ),
    *of(
        "torchmetrics",
        "binary",
        (
            'calibration_error(P, Y, task="binary", n_bins=15)',
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "a score of 1 is in a bin of its own",
        ),
        (
            "BinaryCalibrationError(n_bins=15)(P, Y)",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "a score of 1 is in a bin of its own",
        ),
        (
            'CalibrationError(task="binary", n_bins=15)(P, Y)',
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "a score of 1 is in a bin of its own",
        ),
        (
            "binary_calibration_error(P, torch.where(P < 0.2, -1, Y), n_bins=15, ignore_index=-1)",
            'cal.ece(y, p, where=p >= 0.2, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "a score of 1 is in a bin of its own",
        ),
    ),
    *of(
        "torchmetrics",
        "classes",
        (
            "MulticlassCalibrationError(K, n_bins=15)(P, Y)",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch"))',
            "a score of 1 is in a bin of its own",
        ),
    ),
    *of(
        "torchmetrics",
        "binary",
        (
            "BinaryCalibrationError(n_bins=15)(P, Y)",
            'cal.torch.BinaryCalibrationError(n_bins=15, edges="torch64")(P, Y)',
        ),
    ),
    *of(
        "torchmetrics",
        "classes",
        (
            "MulticlassCalibrationError(K, n_bins=15)(P, Y)",
            'cal.torch.MulticlassCalibrationError(K, n_bins=15, edges="torch")(P, Y)',
        ),
    ),
]

FIGURES = drawn("torchmetrics")
