"""Calls of torch-uncertainty."""

from experiments.migration.calls.call import FLOOR, drawn, of

SETUP = """
import sys

import numpy as np
import torch

sys.path.insert(0, "benchmarks")
from adapters import let_torchvision_be_imported

let_torchvision_be_imported()
from torch.utils.data import DataLoader, TensorDataset
from torch_uncertainty import post_processing
from torch_uncertainty.metrics import classification as tu

P, Y = torch.as_tensor(p), torch.as_tensor(y)


def measure(name, **options):
    made = getattr(tu, name)(**options)
    made.update(P.float() if name.startswith("Smooth") else P, Y)
    return float(made.compute())


def fitted(name, type=torch.float64, **options):
    made = getattr(post_processing, name)(model=torch.nn.Identity(), **options).to(type)
    log_odds = torch.log if K > 1 else torch.logit
    made.fit(DataLoader(TensorDataset(log_odds(P.to(type)), Y), batch_size=len(Y)), progress=False)
    with torch.no_grad():
        out = made(log_odds(torch.as_tensor(new, dtype=type)))
    return torch.softmax(out, dim=1).numpy() if K > 1 else torch.sigmoid(out).numpy()
"""

CALLS = [
    *of(
        "torch-uncertainty",
        "binary",
        (
            'measure("CalibrationError", task="binary", num_bins=15)',
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "a score of 1 is in a bin of its own",
        ),
        (
            'measure("AdaptiveCalibrationError", task="binary", num_bins=15)',
            'cal.ece_em(y, p, binning=cal.EqualMass(split="array_split"))',
            "it splits ties in an order of its own",
        ),
        (
            'measure("SmoothCalibrationError", kernel_type="reflected")',
            "cal.smece(y, p)",
            "it keeps ten bits of the bandwidth and smooths on 200 points",
        ),
        ('measure("BrierScore", num_classes=1)', "cal.brier(y, p)"),
    ),
    *of(
        "torch-uncertainty",
        "classes",
        (
            'measure("CalibrationError", task="multiclass", num_classes=K, num_bins=15)',
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch"))',
            "a score of 1 is in a bin of its own",
        ),
        (
            'measure("ClasswiseCalibrationError", num_classes=K, num_bins=15)',
            'cal.cwce(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch"))',
            "as above",
        ),
        (
            'measure("AdaptiveCalibrationError", task="multiclass", num_classes=K, num_bins=15)',
            'cal.ece_em(y, p, binning=cal.EqualMass(split="array_split"))',
            "as above",
        ),
        ('measure("BrierScore", num_classes=K)', 'cal.brier(y, p, scale="sum")'),
        ('measure("BrierScore", num_classes=K, top_class=True)', 'cal.brier(y, p, lens="top_label")'),
        ('measure("CategoricalNLL")', "cal.nll(y, p)", FLOOR),
        (
            'measure("AURC")',
            "cal.decision.aurc(y, p)",
            "the trapezoidal rule from the first row on, rescaled; ties in row order",
        ),
        ('measure("AUGRC")', "cal.decision.augrc(y, p)", "as above"),
    ),
    *of(
        "torch-uncertainty",
        "four classes",
        (
            'fitted("TemperatureScaler")',
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "probably its optimizer stops earlier",
        ),
        (
            'fitted("VectorScaler", num_classes=K)',
            "cal.VectorScaling().fit(p, y).predict_proba(new)",
            "probably its optimizer stops earlier",
        ),
        (
            'fitted("MatrixScaler", num_classes=K)',
            "cal.MatrixScaling(off_diagonal=0, intercept=0).fit(p, y).predict_proba(new)",
            "probably its optimizer stops earlier",
        ),
        (
            'fitted("DirichletScaler", num_classes=K)',
            "cal.DirichletCalibration(off_diagonal=0, intercept=0).fit(p, y).predict_proba(new)",
            "probably its optimizer stops earlier",
        ),
        (
            'fitted("HistogramBinningScaler", num_bins=10)',
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            "it clips probabilities at 1e-6; an empty bin has its middle as value",
        ),
        (
            'fitted("IsotonicRegressionScaler")',
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
            "it clips probabilities at 1e-6",
        ),
        (
            'fitted("BBQScaler", type=torch.float32)',
            "cal.BayesianBinning().fit(p, y).predict_proba(new)",
            "it accepts single precision only, and averages 2 to `max_bins` bins; calibrant follows the paper",
        ),
    ),
]

FIGURES = drawn(
    "torch-uncertainty",
    ("CovAtxRisk(...), CovAt5Risk(), RiskAtxCov(...), RiskAt80Cov()", "cal.decision.risk_coverage(y, p)"),
    ("ConfidencePenaltyLoss()", "cal.torch.losses.ConfidencePenaltyLoss"),
    ("FocalLoss()", "cal.torch.losses.FocalLoss"),
    ("BCEWithLogitsLSLoss()", "cal.torch.losses.LabelSmoothingLoss"),
    ("MixupMPLoss()", "cal.torch.losses.MixedLoss"),
)
