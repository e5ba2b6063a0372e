"""Calls of MCGrad."""

from experiments.migration.calls.call import ABOVE, FLOOR, drawn, of

SETUP = """
import numpy as np
import pandas as pd
from mcgrad import methods, metrics


def segments(made):
    made = made(methods.PlattScaling)
    made.fit(pd.DataFrame({"p": p.astype(float), "y": y, "g": g}), "p", "y", categorical_feature_column_names=["g"])
    rows = pd.DataFrame({"p": new.astype(float), "g": np.resize(["a", "b", "c"], len(new))})
    return made.predict(rows, "p", categorical_feature_column_names=["g"])


def fitted(name, features=None):
    more = {"categorical_feature_column_names": features} if features else {}
    made = getattr(methods, name)().fit(pd.DataFrame({"p": p.astype(float), "y": y, "g": g}), "p", "y", **more)
    return made.predict(pd.DataFrame({"p": new.astype(float), "g": np.resize(["a", "b", "c"], len(new))}), "p", **more)
"""

CALLS = [
    *of(
        "MCGrad",
        "binary",
        ("metrics.expected_calibration_error(y, p, num_bins=15)", "cal.ece(y, p)", ABOVE),
        (
            "metrics.expected_calibration_error(y, p, num_bins=15)",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
            "its default is 40 bins",
        ),
        (
            "metrics.adaptive_calibration_error(y, p, num_bins=15)",
            "cal.ece_em(y, p)",
            "its edges are interpolated quantiles, rounded to a few digits",
        ),
        ("metrics.calibration_ratio(y, p)", "cal.expected_observed_ratio(y, p)"),
        (
            "metrics.normalized_entropy(y, p)",
            '1 - cal.metrics.skill_score(y, p, score="nll")',
            "it rounds the event rate to single precision; " + FLOOR,
        ),
        ("metrics.ecce(y, p)", "cal.ecce_r(y, p)", "it processes ties in row order, calibrant together"),
        (
            "metrics.ecce_pvalue(y, p)",
            'cal.assess(y, p, metric="ecce_r", method="series").pvalue',
            "tied scores as above",
        ),
        (
            "metrics.ecce_sigma(y, p) * np.sqrt((p * (1 - p)).sum()) / len(p)",
            "cal.ecce_r(y, p)",
            "tied scores as above",
        ),
        ("metrics.soft_label_log_loss(y, p)", "cal.nll(y, p)", FLOOR),
        (
            "metrics.soft_label_log_loss(np.clip(y, 0.1, 0.8), p)",
            "cal.nll(cal.Predictions(np.clip(y, 0.1, 0.8), p, soft=True))",
            FLOOR,
        ),
        (
            "metrics.youdens_j(y, p)",
            "p[y == 1].mean() - p[y == 0].mean()",
            "the difference of mean scores, which is the discrimination slope",
        ),
        (
            'fitted("PlattScaling")',
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "its logistic regression has no penalty but stops earlier",
        ),
        ('fitted("IsotonicRegression")', "cal.IsotonicCalibration().fit(p, y).predict_proba(new)"),
        ('fitted("MultiplicativeAdjustment")', "cal.ProbabilityAdjustment().fit(p, y).predict_proba(new)"),
        ('fitted("AdditiveAdjustment")', 'cal.ProbabilityAdjustment("additive").fit(p, y).predict_proba(new)'),
    ),
    *of(
        "MCGrad",
        "weighted",
        (
            "metrics.expected_calibration_error(y, p, w, num_bins=15)",
            'cal.ece(y, p, sample_weight=w, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        ("metrics.calibration_ratio(y, p, w)", "cal.expected_observed_ratio(y, p, sample_weight=w)"),
        ("metrics.soft_label_log_loss(y, p, w)", "cal.nll(y, p, sample_weight=w)"),
    ),
    *of(
        "MCGrad",
        "binary",
        (
            "metrics.proportional_expected_calibration_error(y, p, num_bins=15)",
            'cal.proportional_ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        (
            "metrics.proportional_adaptive_calibration_error(y, p, num_bins=15)",
            'cal.proportional_ece(y, p, binning="equal_mass")',
            "its edges are interpolated quantiles, rounded to a few digits",
        ),
        (
            'fitted("PlattScalingWithFeatures", features=["g"])',
            'cal.PlattScalingWithFeatures(penalty=10, shrink_slope=True).fit(p, y, features=g).predict_proba(new, features=np.resize(["a", "b", "c"], len(new)))',
            "its logistic regression stops earlier",
        ),
    ),
    *of(
        "MCGrad",
        "binary",
        (
            "metrics.ecce_pvalue_from_sigma(metrics.ecce_sigma(y, p))",
            "cal.inference.kuiper_cdf(cal.ecce_r(y, p) * len(p) / np.sqrt((p * (1 - p)).sum()), upper_tail=True)",
            "tied scores as above",
        ),
        (
            "segments(methods.SegmentwiseCalibrator)",
            'cal.GroupCalibration(cal.PlattScaling(targets="plain")).fit(p, y, groups=g).predict_proba(new, groups=np.resize(["a", "b", "c"], len(new)))',
            "`segments` is `SegmentwiseCalibrator(PlattScaling)`, whose logistic regression stops earlier",
        ),
    ),
]

FIGURES = drawn(
    "MCGrad",
    ("plotting.plot_global_calibration_curve(...)", "cal.reliability_diagram(y, p)"),
    ("plotting.plot_calibration_curve_by_segment(...)", 'cal.figures.reliability_panels(y, {"model": p})'),
    ("plotting.plot_segment_calibration_errors(...)", "cal.evaluate(cal.Predictions(y, p, groups=g))"),
    ("MulticalibrationError(df, ...)", "cal.dece"),
    (
        "calibration_free_normalized_entropy(y, p)",
        '1 - cal.metrics.skill_score(y, cal.PlattScaling().fit(p, y).predict_proba(p)[:, 1], score="nll")',
    ),
)
