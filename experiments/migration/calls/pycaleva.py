"""Calls of pycaleva."""

from experiments.migration.calls.call import QUANTILES, drawn, of

SETUP = """
import numpy as np
from pycaleva import CalibrationEvaluator


def evaluator(groups=10, outsample=True):
    return CalibrationEvaluator(y, p, outsample=outsample, n_groups=groups)
"""
DEGREE = "its likelihood ratio of two degrees has the wrong sign, so that it keeps degree 1 where calibrant, as givitiR, selects a higher one"

CALLS = [
    *of(
        "pycaleva",
        "binary",
        ("evaluator().hosmerlemeshow(verbose=False).statistic", "cal.hosmer_lemeshow(y, p)", QUANTILES),
        (
            "evaluator().hosmerlemeshow(verbose=False).statistic",
            'cal.hosmer_lemeshow(y, p, binning=cal.Quantile(10, edges="quantile"))',
            "with tied quantiles it cuts the ranks instead",
        ),
        ("evaluator().pigeonheyse(verbose=False).statistic", 'cal.hosmer_lemeshow(y, p, variance="exact")', QUANTILES),
        (
            "evaluator().pigeonheyse(verbose=False).statistic",
            'cal.hosmer_lemeshow(y, p, variance="exact", binning=cal.Quantile(10, edges="quantile"))',
            "as above",
        ),
        ("evaluator().z_test().statistic", "cal.spiegelhalter_z(y, p)"),
        ("evaluator().z_test().pvalue", 'cal.assess(y, p, metric="spiegelhalter_z", method="normal").pvalue'),
        ("evaluator().brier", "cal.brier(y, p)"),
        ("evaluator().auroc", "cal.evaluation.auroc(y, p)"),
        (
            "evaluator().mce",
            'cal.mce(y, p, binning=cal.Quantile(10, edges="quantile"))',
            "with tied quantiles it cuts the ranks instead",
        ),
        (
            "evaluator().ace",
            'np.nanmean(np.abs(gap(cal.calibration_curve(y, p, binning=cal.Quantile(10, edges="quantile")))))',
            "the unweighted mean over the groups; with tied quantiles it cuts the ranks instead",
        ),
        (
            "evaluator().calbelt().statistic",
            'cal.inference.giviti_test(y, p, method="likelihood_ratio").statistic',
            DEGREE,
        ),
        (
            "evaluator().calbelt().statistic",
            'cal.inference.giviti_test(y, p, max_degree=1, method="likelihood_ratio").statistic',
            f"{DEGREE}; scores of 0 and 1 are clipped to other values",
        ),
        ("evaluator().calbelt().pvalue", 'cal.inference.giviti_test(y, p, method="likelihood_ratio").pvalue', DEGREE),
        (
            "evaluator().calbelt().pvalue",
            'cal.inference.giviti_test(y, p, max_degree=1, method="likelihood_ratio").pvalue',
            DEGREE,
        ),
    ),
]

FIGURES = drawn(
    "pycaleva",
    ("evaluator().calibration_plot()", "cal.reliability_diagram(y, p)"),
    ("evaluator().contingency_table", 'cal.calibration_curve(y, p, bins=10, binning="equal_mass").to_frame'),
    ("evaluator().metrics()", "cal.evaluate(y, p)"),
    ("evaluator().calibration_report(path, name)", "cal.report"),
    (
        "CalibrationBelt(y, p, outsample=True)",
        'cal.figures.calibration_belt(y, p, points=5, method="likelihood_ratio")',
    ),
    ("CalibrationEvaluator(...).awlc", 'cal.ici(y, p, smoother="lowess")'),
)
