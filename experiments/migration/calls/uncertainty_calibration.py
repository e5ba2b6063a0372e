"""Calls of uncertainty-calibration."""

from experiments.migration.calls.call import drawn, of

SETUP = """
import numpy as np
import calibration
from calibration import calibrators, utils


def fitted(name, bins=10):
    made = getattr(calibrators, name)(len(p), bins)
    made.train_calibration(p, y)
    return np.asarray(made.calibrate(new))
"""

CALLS = [
    *of(
        "uncertainty-calibration",
        "binary",
        ("calibration.get_ece(p, y)", "cal.ece(y, p)"),
        (
            "calibration.get_ece_em(p, y)",
            "cal.ece_em(y, p)",
            "its edges lie midway between the parts of `array_split`, those of calibrant at ⌊M·C/W⌋",
        ),
        (
            "calibration.get_ece_em(p, y)",
            'cal.ece_em(y, p, binning=cal.EqualMass(split="array_split"))',
            "agrees without ties; it keeps ties together, this call splits them",
        ),
        ("calibration.get_ece_em(p, y)", 'cal.ece_em(y, p, binning=cal.Quantile(15, edges="midway"))'),
        (
            "calibration.get_calibration_error(p, y)",
            "cal.drmsce(y, p)",
            "debiased, L2, 15 bins; different edges; if fewer than a quarter of the scores are distinct, it uses one bin per score",
        ),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, binning=cal.Quantile(15, edges="midway"), single="zero")',
            "agrees if most scores are distinct",
        ),
        (
            "calibration.get_binning_ce(p, y)",
            'cal.drmsce(y, p, binning=cal.Levels(most=10**6), single="zero")',
            "the case of few distinct scores in `get_calibration_error`",
        ),
        (
            "calibration.lower_bound_scaling_ce(p, y, debias=False)",
            'cal.rmsce(y, p, binning="equal_mass")',
            "different edges",
        ),
        (
            "calibration.lower_bound_scaling_ce(p, y, debias=False)",
            'cal.rmsce(y, p, binning=cal.Quantile(15, edges="midway"))',
        ),
        (
            "calibration.get_ece(p, y, debias=True)",
            'cal.ece_db(y, p, binning="equal_width")',
            "it simulates 1 000 times without a seed, calibrant uses a closed form; it raises for a bin with one row",
        ),
        (
            'fitted("HistogramCalibrator")',
            "cal.HistogramBinning(bins=10).fit(p, y).predict_proba(new)",
            "different edges",
        ),
        (
            'fitted("PlattCalibrator")',
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "its optimizer stops earlier",
        ),
        (
            'fitted("PlattBinnerCalibrator")',
            "cal.ScalingBinning(bins=10).fit(p, y).predict_proba(new)",
            "different edges",
        ),
    ),
    *of(
        "uncertainty-calibration",
        "classes",
        ("calibration.get_ece(p, y)", "cal.ece(y, p)"),
        ('calibration.get_ece(p, y, mode="marginal")', "cal.cwce(y, p)"),
        ("calibration.get_ece_em(p, y)", "cal.ece_em(y, p)", "different edges, as above"),
        ("calibration.get_ece_em(p, y)", 'cal.ece_em(y, p, binning=cal.Quantile(15, edges="midway"))'),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, lens="classwise")',
            "different edges, and it truncates each class at 0 before averaging",
        ),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, lens="classwise", clip_each=True, binning=cal.EqualMass(split="array_split"))',
            "agrees without ties",
        ),
        (
            'calibration.get_calibration_error(p, y, mode="top-label")',
            'cal.drmsce(y, p, binning=cal.Quantile(15, edges="midway"), single="zero")',
            "agrees if most scores are distinct",
        ),
        (
            'fitted("HistogramMarginalCalibrator")',
            "cal.HistogramBinning(bins=10).fit(p, y).predict_proba(new)",
            "different edges; its rows do not sum to 1",
        ),
    ),
    *of(
        "uncertainty-calibration",
        "binary",
        (
            "calibration.get_calibration_error(p, y, p=1, debias=False)",
            'cal.ece_em(y, p, binning=cal.Quantile(15, edges="midway"))',
            "agrees if most scores are distinct",
        ),
        (
            "utils.plugin_ce(utils.equal_bin(list(zip(p, y)), 15), power=2)",
            'cal.rmsce(y, p, binning=cal.EqualMass(split="array_split"))',
            "it sorts pairs of score and outcome, so that tied scores are ordered by the outcome",
        ),
        (
            "utils.plugin_ce(utils.bin(list(zip(p, y)), utils.get_equal_bins(p, 15)), power=2)",
            'cal.rmsce(y, p, binning=cal.Quantile(15, edges="midway"))',
        ),
        ("utils.plugin_ce(utils.bin(list(zip(p, y)), utils.get_equal_prob_bins(p, 15)), power=1)", "cal.ece(y, p)"),
        (
            "utils.plugin_ce(utils.bin(list(zip(p, y)), utils.get_discrete_bins(p)), power=2)",
            "cal.rmsce(y, p, binning=cal.Levels(most=10**6))",
        ),
        (
            "utils.unbiased_square_ce(utils.bin(list(zip(p, y)), utils.get_equal_bins(p, 15)))",
            'cal.ce2_db(y, p, binning=cal.Quantile(15, edges="midway"), single="zero")',
        ),
        (
            "utils.unbiased_l2_ce(utils.bin(list(zip(p, y)), utils.get_equal_bins(p, 15)))",
            'cal.drmsce(y, p, binning=cal.Quantile(15, edges="midway"), single="zero")',
        ),
        ("utils.difference_mean(list(zip(p, y)))", "p.mean() - y.mean()"),
        (
            "utils.get_platt_scaler(p, y)(new)",
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "its optimizer stops earlier; scores of 0 and 1 are clipped to other values",
        ),
        (
            "utils.get_histogram_calibrator(p, y, utils.get_equal_bins(p, 10))(new)",
            "cal.HistogramBinning(bins=10).fit(p, y).predict_proba(new)",
            "different edges",
        ),
    ),
    *of(
        "uncertainty-calibration",
        "classes",
        ("utils.get_accuracy(p, y)", "cal.accuracy(y, p)", "it raises a NameError"),
        (
            "utils.get_top_calibration_error(p, y, p=1, debias=False)",
            'cal.ece_em(y, p, binning=cal.Quantile(15, edges="midway"))',
            "agrees if most scores are distinct",
        ),
        ("utils.get_binning_top_ce(p, y)", 'cal.drmsce(y, p, binning=cal.Levels(most=10**6), single="zero")'),
        (
            "utils.lower_bound_scaling_top_ce(p, y)",
            'cal.drmsce(y, p, binning=cal.Quantile(15, edges="midway"), single="zero")',
        ),
        ("utils.eval_top_mse(p.max(axis=1), p, y)", 'cal.brier(y, p, lens="top_label")'),
        ("utils.eval_marginal_mse(p, p, y)", 'cal.brier(y, p, scale="half")', ""),
    ),
    *of(
        "uncertainty-calibration",
        "four classes",
        (
            'fitted("HistogramTopCalibrator")',
            'top(cal.HistogramBinning(bins=10, multiclass="top_versus_all").fit(p, y).predict_proba(new), new)',
            "different edges",
        ),
        (
            'fitted("PlattTopCalibrator")',
            'top(cal.PlattScaling(targets="plain", multiclass="top_versus_all").fit(p, y).predict_proba(new), new)',
            "its optimizer stops earlier",
        ),
        (
            'fitted("PlattBinnerTopCalibrator")',
            'top(cal.ScalingBinning(multiclass="top_versus_all").fit(p, y).predict_proba(new), new)',
            "different edges",
        ),
        ('fitted("IdentityTopCalibrator")', "new.max(axis=1)"),
        (
            'fitted("PlattBinnerMarginalCalibrator")',
            "cal.ScalingBinning().fit(p, y).predict_proba(new)",
            "different edges; its rows do not sum to 1",
        ),
    ),
    *of(
        "uncertainty-calibration",
        "binary",
        (
            'fitted("HistogramCalibrator")',
            'cal.HistogramBinning(binning=cal.Quantile(10, edges="midway")).fit(p, y).predict_proba(new)',
        ),
        (
            "utils.get_histogram_calibrator(p, y, utils.get_equal_bins(p, 10))(new)",
            'cal.HistogramBinning(binning=cal.Quantile(10, edges="midway")).fit(p, y).predict_proba(new)',
        ),
    ),
]

FIGURES = drawn(
    "uncertainty-calibration",
    ("utils.get_calibration_error_uncertainties(p, y)", 'cal.interval(y, p, metric="drmsce")'),
    ("utils.get_top_calibration_error_uncertainties(p, y)", 'cal.interval(y, p, metric="drmsce")'),
    (
        "utils.bootstrap_uncertainty(data, functional)",
        'cal.interval(y, p, metric="ece", method="basic")',
    ),
    (
        "utils.precentile_bootstrap_uncertainty(data, functional)",
        'cal.interval(y, p, metric="ece", method="percentile")',
    ),
    ("utils.bootstrap_std(data, estimator)", 'cal.interval(y, p, metric="ece").sample.std()'),
    ("utils.normal_debiased_ce(binned)", "cal.ece_db(y, p)"),
    ("utils.get_selective_stats(p, correct)", "cal.decision.risk_coverage(y, p)"),
)
