"""Calls of netcal."""

from experiments.migration.calls.call import LINSPACE, QUANTILES, drawn, of

SETUP = """
import numpy as np
from netcal.binning import BBQ, ENIR, HistogramBinning, IsotonicRegression, NearIsotonicRegression
from netcal.metrics import ACE, ECE, MCE, MMCE
from netcal.regularization import confidence_penalty
from netcal.scaling import BetaCalibration, LogisticCalibration, TemperatureScaling
"""

CALLS = [
    *of(
        "netcal",
        "binary",
        ("ECE(15).measure(p, y)", "cal.ece(y, p)", "it assigns a score on an edge to the bin above"),
        (
            "ECE(15).measure(p, y)",
            'cal.ece(y, p, binning=cal.EqualWidth(closed="left"))',
            "for 15 bins its edges are *k/M*, too",
        ),
        (
            "ECE(10).measure(p, y)",
            'cal.ece(y, p, bins=10, binning=cal.EqualWidth(closed="left"))',
            f"{LINSPACE}; its default is 10 bins",
        ),
        ("ECE(10).measure(p, y)", 'cal.ece(y, p, binning=cal.EqualWidth(10, closed="left", edges="linspace"))'),
        ("ECE(15, equal_intervals=False).measure(p, y)", "cal.ece_em(y, p)", QUANTILES),
        (
            "ECE(15, equal_intervals=False).measure(p, y)",
            'cal.ece_em(y, p, binning=cal.Quantile(15, closed="left", edges="quantile"))',
            "it raises for tied quantiles",
        ),
        ("MCE(15).measure(p, y)", 'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))'),
        ("ACE(15).measure(p, y)", "cal.ace(y, p)", "a different metric: the unweighted mean over equal-width bins"),
        ("MMCE().measure(p, y)", "cal.mmce(y, p)", "it compares P(y=1) with the correctness of the prediction"),
        (
            "TemperatureScaling().fit(p, y).transform(new)",
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "its `.temperature` is the inverse of `.temperature_`; in single precision it remains 1",
        ),
        (
            "LogisticCalibration().fit(p, y).transform(new)",
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "the default of calibrant smooths the targets, as in the paper of Platt",
        ),
        (
            "BetaCalibration().fit(p, y).transform(new)",
            "cal.BetaCalibration().fit(p, y).predict_proba(new)",
            "probably its optimizer stops earlier; in single precision it remains at its initial values",
        ),
        (
            "HistogramBinning(10).fit(p, y).transform(new)",
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            "it fits a score on an edge in the bin above and applies the bin below; the default of calibrant is 15 bins of equal mass",
        ),
        ("IsotonicRegression().fit(p, y).transform(new)", "cal.IsotonicCalibration().fit(p, y).predict_proba(new)"),
    ),
    *of(
        "netcal",
        "classes",
        ("ECE(15).measure(p, y)", "cal.ece(y, p)"),
        ("ECE(15).measure(p, y)", 'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))'),
        ("MCE(15).measure(p, y)", 'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))'),
        ("MMCE().measure(p, y)", "cal.mmce(y, p)"),
    ),
    *of(
        "netcal",
        "binary",
        (
            "ACE(15).measure(p, y)",
            'np.nanmean(np.abs(gap(cal.calibration_curve(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace")))))',
            "",
        ),
        ("MMCE().measure(p, y)", "cal.mmce((p > 0.5) == y, p)", ""),
        (
            "MCE(15, equal_intervals=False).measure(p, y)",
            'cal.mce(y, p, binning=cal.Quantile(15, closed="left", edges="quantile"))',
            "it raises for tied quantiles",
        ),
    ),
    *of(
        "netcal",
        "classes",
        (
            "ACE(15).measure(p, y)",
            'np.nanmean(np.abs(gap(cal.calibration_curve(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace")))))',
            "",
        ),
        (
            "ECE(15, equal_intervals=False).measure(p, y)",
            'cal.ece_em(y, p, binning=cal.Quantile(15, closed="left", edges="quantile"))',
            "it raises for tied quantiles",
        ),
    ),
    *of(
        "netcal",
        "four classes",
        ("TemperatureScaling().fit(p, y).transform(new)", "cal.TemperatureScaling().fit(p, y).predict_proba(new)"),
        (
            "LogisticCalibration().fit(p, y).transform(new)",
            "cal.VectorScaling().fit(p, y).predict_proba(new)",
            "the counterpart for several classes: one factor and one bias per class",
        ),
        (
            "LogisticCalibration().fit(p, y).transform(new)",
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "not the counterpart: one logistic curve per class against the rest",
        ),
        (
            "HistogramBinning(10).fit(p, y).transform(new)",
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            "if all classes of a row fall into bins without events, it returns NaN and calibrant the original row",
        ),
        ("IsotonicRegression().fit(p, y).transform(new)", "cal.IsotonicCalibration().fit(p, y).predict_proba(new)"),
    ),
    *of(
        "netcal",
        "binary",
        (
            "HistogramBinning(10).fit(p, y).transform(new)",
            'cal.HistogramBinning(binning=cal.EqualWidth(10, closed="left", edges="linspace")).fit(p, y).predict_proba(new)',
            "it applies the bin below to a score on an edge, though it was fitted in the bin above; equal for a number of bins, such as 7, on whose edges no score lies",
        ),
    ),
    *of(
        "netcal",
        "once",
        (
            "BBQ().fit(p, y).transform(new)",
            "cal.BayesianBinning().fit(p, y).predict_proba(new)",
            "its bins have equal width and are weighted by BIC; calibrant follows the paper, with quantiles and the marginal likelihood",
        ),
        (
            "ENIR().fit(p, y).transform(new)",
            "cal.NearIsotonicEnsemble().fit(p, y).predict_proba(new)",
            "probably it counts the parameters of each model otherwise",
        ),
        (
            "NearIsotonicRegression().fit(p, y).transform(new)",
            "cal.NearIsotonicEnsemble().fit(p, y).predict_proba(new)",
            "it keeps one model of the path, calibrant averages all",
        ),
    ),
]

FIGURES = drawn(
    "netcal",
    ("ReliabilityDiagram(15).plot(p, y)", "cal.reliability_diagram(y, p)"),
    ("ConfidencePenalty(), confidence_penalty(p, 1.0)", "cal.torch.losses.ConfidencePenaltyLoss"),
    ("DCAPenalty()", "cal.torch.losses.DCALoss"),
    ("MMCEPenalty()", "cal.torch.losses.MMCELoss"),
)
