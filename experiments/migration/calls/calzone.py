"""Calls of calzone-tool."""

from experiments.migration.calls.call import QUANTILES, drawn, of

SETUP = """
import numpy as np
from calzone import metrics
from calzone.metrics import CalibrationMetrics
from calzone.utils import apply_prevalence_adjustment, find_optimal_prevalence, reliability_diagram, transform_topclass

both = np.column_stack([1 - p, p]) if np.ndim(p) == 1 else p


def table(bins, equal_mass, shown=1):
    rate, score, _, count = reliability_diagram(y, both, bins, class_to_plot=shown, is_equal_freq=equal_mass)
    return rate, score, count
"""

CALLS = [
    *of(
        "calzone-tool",
        "binary",
        (
            "metrics.calculate_ece_mce(*table(15, False))",
            "[cal.ece(y, p), cal.mce(y, p)]",
            "its edges are those of `np.linspace`, and it omits scores of 0, since bins are open on the left",
        ),
        (
            "metrics.calculate_ece_mce(*table(15, False))",
            '[cal.ece(y, p, binning=cal.EqualWidth(15, edges="linspace")), cal.mce(y, p, binning=cal.EqualWidth(15, edges="linspace"))]',
            "it omits scores of 0, since bins are open on the left",
        ),
        (
            "metrics.calculate_ece_mce(*table(15, True))",
            "[cal.ece_em(y, p), cal.mce(y, p, binning=cal.EqualMass())]",
            QUANTILES,
        ),
        (
            "metrics.calculate_ece_mce(*table(15, True))",
            '[cal.ece_em(y, p, binning=cal.Quantile(15, edges="quantile")), cal.mce(y, p, binning=cal.Quantile(15, edges="quantile"))]',
            "it omits the lowest score",
        ),
        (
            "metrics.hosmer_lemeshow_test(*table(10, True))[0]",
            'cal.hosmer_lemeshow(y, p, binning=cal.Quantile(10, edges="quantile"))',
            "it omits the lowest score",
        ),
        ("metrics.spiegelhalter_z_test(y, both)[0]", "cal.spiegelhalter_z(y, p)"),
        (
            "metrics.spiegelhalter_z_test(y, both)[1]",
            'cal.assess(y, p, metric="spiegelhalter_z", method="normal").pvalue',
        ),
        (
            "metrics.cox_regression_analysis(y, both)[:2]",
            "[cal.cox_slope(y, p), cal.cox_intercept(y, p)]",
            "scores of 0 and 1 are clipped to 1e-7",
        ),
        (
            "metrics.cox_regression_analysis(y, both, fix_slope=True)[1]",
            "cal.fixed_slope_intercept(y, p)",
            "scores of 0 and 1 are clipped to 1e-7",
        ),
        (
            "metrics.lowess_regression_analysis(y, both, delta=0, it=0, span=2/3)[0]",
            'cal.ici(y, p, smoother="lowess", exact=True)',
            "probably another implementation of LOWESS (statsmodels)",
        ),
        (
            "metrics.cal_ICI_cox(*metrics.cox_regression_analysis(y, both)[:2], both)",
            'cal.ici(y, p, smoother="logistic")',
            "scores of 0 and 1 are clipped to 1e-7",
        ),
        (
            "find_optimal_prevalence(y, both)[1][:, 1]",
            "cal.OffsetAdjustment().fit(p, y).predict_proba(p)[:, 1]",
            "its search ends at 1e-5",
        ),
        (
            "apply_prevalence_adjustment(0.2, y, both)[:, 1]",
            "cal.PriorShift(before=0.2, after=float(y.mean())).fit(p).predict_proba(p)[:, 1]",
        ),
        (
            'CalibrationMetrics().calculate_metrics(y, both, ["ECE-H"])["ECE-H topclass"]',
            'cal.ece(y, np.column_stack([1 - p, p]), bins=10, lens="top_label")',
        ),
    ),
    *of(
        "calzone-tool",
        "classes",
        (
            "metrics.calculate_ece_mce(*table(15, False, None))[0]",
            'cal.ece(y, p, binning=cal.EqualWidth(15, edges="linspace"))',
        ),
    ),
]

FIGURES = drawn(
    "calzone-tool",
    ("plot_reliability_diagram(...)", "cal.reliability_diagram(y, p)"),
    ("CalibrationMetrics().bootstrap(...)", 'cal.interval(y, p, metric="ece")'),
    ("fake_binary_data_generator(1, 1).generate_data(100)", "cal.inference.make_calibrated(100, rng=0)"),
    ("cal_ICI(...), cal_ICI_func(...)", "cal.ici(y, p)"),
    ("optimal_prevalence_adjustment(...)", "cal.OffsetAdjustment().fit(p, y)"),
    ("reliability_diagram(...), transform_topclass(...)", "cal.calibration_curve(y, p)"),
)
