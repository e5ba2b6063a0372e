"""Calls of probmetrics."""

from experiments.migration.calls.call import ABOVE, FLOOR, drawn, of

SETUP = """
import numpy as np
import torch
from probmetrics import calibrators, metrics
from probmetrics.metrics import Metrics

both = np.column_stack([1 - p, p]) if np.ndim(p) == 1 else p


def measure(made):
    labels = metrics.CategoricalDirac(torch.as_tensor(y), n_classes=both.shape[1])
    return float(made.compute(labels, metrics.CategoricalProbs(torch.as_tensor(both, dtype=torch.float64))))


def fitted(name, **options):
    other = np.column_stack([1 - new, new]) if np.ndim(new) == 1 else new
    return np.asarray(getattr(calibrators, name)(**options).fit(both.astype("f8"), y).predict_proba(other.astype("f8")))
"""

CALLS = [
    *of(
        "probmetrics",
        "binary",
        ("measure(metrics.BrierLoss())", "2 * cal.brier(y, p)", "it sums over both classes"),
        ("measure(metrics.LogLoss())", "cal.nll(y, p)", FLOOR),
        (
            "measure(metrics.ClippedLogLoss())",
            "cal.nll(y, p)",
            "it clips probabilities, and computes in single precision",
        ),
        (
            "measure(metrics.CalibrationError())",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "it clips probabilities to 1e-7; torchmetrics in single precision",
        ),
        (
            'measure(metrics.CalibrationError(norm="l2"))',
            'cal.rmsce(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "as above",
        ),
        (
            'measure(metrics.CalibrationError(norm="max"))',
            'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="torch64"))',
            "as above",
        ),
        ("measure(metrics.SmoothCalibrationError())", "cal.smece(y, p)", "it calls relplot"),
        ("measure(metrics.KolmogorovSmirnovCalibrationMetric())", "cal.ecce_mad(y, p)", "tied scores in row order"),
        ("measure(metrics.KuiperCalibrationMetric())", "cal.ecce_r(y, p)", "tied scores in row order"),
        ("measure(metrics.Accuracy())", "cal.accuracy(y, p)", "a score of 0.5 is class 0"),
        ("measure(metrics.ClassError())", "1 - cal.accuracy(y, p)"),
        ("measure(metrics.AUROCOneVsRest())", "cal.evaluation.auroc(y, p)", "it computes in single precision"),
        ('fitted("BetacalCalibrator")', "cal.BetaCalibration().fit(p, y).predict_proba(new)", "it calls betacal"),
        ('fitted("BinaryVennAbersCalibrator")', "cal.VennAbers().fit(p, y).predict_proba(new)"),
        ('fitted("SklearnCalibrator", method="isotonic")', "cal.IsotonicCalibration().fit(p, y).predict_proba(new)"),
        (
            'fitted("SklearnCalibrator", method="sigmoid")',
            'cal.PlattScaling(input="logit").fit(p, y).predict_proba(new)',
            "it fits a sigmoid to the probability itself",
        ),
        (
            'fitted("TemperatureScalingCalibrator")',
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "its bisection has 30 steps",
        ),
        (
            'fitted("BinaryHistogramBinningCalibrator", n_bins=10)',
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            ABOVE,
        ),
        (
            'fitted("BinaryPlattBinnerCalibrator")',
            "cal.ScalingBinning().fit(p, y).predict_proba(new)",
            "it calls uncertainty-calibration: edges midway between the parts of `array_split`",
        ),
    ),
    *of(
        "probmetrics",
        "four classes",
        ("measure(metrics.BrierLoss())", 'cal.brier(y, p, scale="sum")'),
        ("measure(metrics.LogLoss())", "cal.nll(y, p)", FLOOR),
        ("measure(metrics.Accuracy())", "cal.accuracy(y, p)"),
        ("measure(metrics.TopClassLoss(metrics.BrierLoss()))", '2 * cal.brier(y, p, lens="top_label")'),
        (
            'fitted("TemperatureScalingCalibrator")',
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "zeros are clipped to other values",
        ),
        (
            'fitted("GuoTemperatureScalingCalibrator")',
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "its optimizer stops after 50 steps of size 0.01 from T = 1.5; zeros are clipped to 1e-38",
        ),
        (
            'fitted("NetcalTemperatureScalingCalibrator")',
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "it calls netcal",
        ),
        (
            'fitted("AutoGluonTemperatureScalingCalibrator")',
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "its optimizer stops earlier; zeros are clipped to 1e-38",
        ),
        (
            'fitted("AutoGluonInverseTemperatureScalingCalibrator")',
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "its optimizer stops earlier, for zeros near its initial value; zeros are clipped to 1e-38",
        ),
        (
            'fitted("ETSCalibrator")',
            "cal.EnsembleTemperature().fit(p, y).predict_proba(new)",
            "it minimizes the squared error",
        ),
        (
            'fitted("VectorScalingCalibrator")',
            "cal.VectorScaling().fit(p, y).predict_proba(new)",
            "its optimizer stops earlier; zeros are clipped to 1e-38",
        ),
        (
            'fitted("MatrixScalingCalibrator")',
            "cal.MatrixScaling(off_diagonal=0, intercept=0).fit(p, y).predict_proba(new)",
            "its optimizer stops earlier; zeros are clipped to 1e-38",
        ),
        ('fitted("VennAbersCalibrator", use_ovo=False)', "cal.VennAbers().fit(p, y).predict_proba(new)"),
    ),
    *of(
        "probmetrics",
        "binary",
        (
            'fitted("BinaryHistogramBinningCalibrator", n_bins=10)',
            'cal.HistogramBinning(binning=cal.EqualWidth(10, closed="left", edges="linspace"), empty="mean").fit(p, y).predict_proba(new)',
            'it rounds the scores to single precision, which moves those on an edge; `p.astype("f4")` and `new.astype("f4")` agree',
        ),
    ),
    *of(
        "probmetrics",
        "four classes",
        (
            'fitted("VennAbersCalibrator", use_ovo=True)',
            'cal.VennAbers(multiclass="one_vs_one").fit(p, y).predict_proba(new)',
            "in a row with two probabilities of 0 the share of that pair is 0/0; shares that are equal, such as 1/3 and 2/6, differ by rounding",
        ),
    ),
    *of(
        "probmetrics",
        "once",
        (
            'fitted("BinaryLogisticCalibrator", type="affine")',
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "it computes in single precision",
        ),
        (
            'fitted("BinaryLogisticCalibrator", type="quadratic")',
            "cal.QuadraticLogit().fit(p, y).predict_proba(new)",
            "it computes in single precision, where the likelihood is flat",
        ),
        (
            'fitted("CDFSplineCalibrator")',
            "cal.SplineCalibration().fit(p, y).predict_proba(new)",
            "the same spline, in single precision; its probabilities are not clipped and exceed 1",
        ),
        (
            'fitted("KernelCalibrator", bandwidth=0.05)',
            "cal.KernelCalibration(bandwidth=0.05).fit(p, y).predict_proba(new)",
            "a Beta kernel of this bandwidth, calibrant a Gaussian one with this standard deviation",
        ),
    ),
]

FIGURES = drawn(
    "probmetrics",
    ("IntraOrderPreservingCalibrator()", "cal.IntraOrderPreserving()"),
    ("NetcalBBQCalibrator()", "cal.BayesianBinning()"),
    ("NetcalENIRCalibrator()", "cal.NearIsotonicEnsemble()"),
    ("MixtureCalibrator(calibrator)", "cal.SafeCalibration()"),
    ("MulticlassOneVsOneCalibrator(calibrator)", 'cal.PlattScaling(multiclass="one_vs_one")'),
)
