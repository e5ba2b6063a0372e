"""Calls of calibre."""

from experiments.migration.calls.call import ABOVE, drawn, of

SETUP = """
import calibre
import numpy as np
"""

CALLS = [
    *of(
        "calibre",
        "binary",
        ("calibre.brier_score(y, p)", "cal.brier(y, p)"),
        ("calibre.expected_calibration_error(y, p, n_bins=15)", "cal.ece(y, p)", ABOVE),
        (
            "calibre.expected_calibration_error(y, p, n_bins=15)",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
            "its default is 10 bins",
        ),
        (
            "calibre.maximum_calibration_error(y, p, n_bins=15)",
            'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        (
            "calibre.root_mean_squared_calibration_error(y, p, n_bins=15)",
            'cal.rmsce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
            "it averages squared differences of rows, not of bin means",
        ),
        ("calibre.mean_calibration_error(y, p)", "abs(cal.calibration_in_the_large(y, p))"),
        ("calibre.plugin_calibration_error(y, p)", "cal.rmsce(y, p, binning=cal.EqualMass())"),
        ("calibre.plugin_calibration_error(y, p, norm=1)", "cal.ece_em(y, p)"),
        ("calibre.debiased_calibration_error(y, p)", "cal.drmsce(y, p)"),
        ("calibre.sweep_calibration_error(y, p)", "cal.ece_sweep(y, p, norm=2)", "different edges"),
        (
            "calibre.smooth_calibration_error(y, p)",
            "cal.smece(y, p)",
            "it follows relplot: a grid, and ten bits of the bandwidth",
        ),
        (
            "calibre.smooth_calibration_error(y, p, bandwidth=0.05)",
            "cal.smece(y, p, bandwidth=0.05)",
            "as above",
        ),
        (
            "[calibre.score_decomposition(y, p)[k] for k in ('miscalibration', 'discrimination', 'uncertainty')]",
            'corp(cal.decompose(y, p, method="corp"))',
        ),
        (
            "np.concatenate(calibre.calibration_curve(y, p, n_bins=10)[:2])",
            "curve(cal.calibration_curve(y, p, bins=10))",
            ABOVE,
        ),
        (
            "np.concatenate(calibre.calibration_curve(y, p, n_bins=10)[:2])",
            'curve(cal.calibration_curve(y, p, binning=cal.EqualWidth(10, closed="left", edges="linspace")))',
        ),
        (
            "calibre.IsotonicCalibrator().fit(p, y).transform(new)",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
        ),
        (
            "calibre.CenteredIsotonicCalibrator().fit(p, y).transform(new)",
            "cal.CenteredIsotonicCalibration().fit(p, y).predict_proba(new)",
            "blocks at the ends are placed at their inner score, in calibrant at their centre",
        ),
    ),
    *of(
        "calibre",
        "once",
        (
            "calibre.SplineCalibrator().fit(p, y).transform(new)",
            "cal.SplineCalibration().fit(p, y).predict_proba(new)",
            "a penalized spline whose knots and penalty are chosen by cross-validation",
        ),
        (
            "calibre.NearlyIsotonicCalibrator().fit(p, y).transform(new)",
            "cal.NearIsotonicEnsemble().fit(p, y).predict_proba(new)",
            "it chooses one model of the path by cross-validation, calibrant averages all",
        ),
    ),
    *of(
        "calibre",
        "weighted",
        ("calibre.brier_score(y, p, sample_weight=w)", "cal.brier(y, p, sample_weight=w)"),
        (
            "calibre.expected_calibration_error(y, p, n_bins=15, sample_weight=w)",
            'cal.ece(y, p, sample_weight=w, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        (
            "calibre.plugin_calibration_error(y, p, sample_weight=w)",
            "cal.rmsce(y, p, sample_weight=w, binning=cal.EqualMass())",
        ),
    ),
    *of(
        "calibre",
        "four classes",
        ("calibre.top_label_ece(y, p)", "cal.drmsce(y, p)"),
        (
            "calibre.classwise_ece(y, p)",
            'cal.drmsce(y, p, lens="classwise", clip_each=True)',
            "it averages the classes, calibrant their squares",
        ),
        (
            "calibre.TemperatureScaler().fit(p, y).transform(new)",
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "it clips zeros to 2.2e-16",
        ),
        (
            "[[one[k] for k in ('miscalibration', 'discrimination', 'uncertainty')] for one in calibre.classwise_decomposition(y, p)]",
            '[corp(cal.decompose(y == k, p[:, k], method="corp")) for k in range(K)]',
        ),
    ),
]

FIGURES = drawn(
    "calibre",
    ("calibre.calibration_report(y, p)", "cal.evaluate(y, p)"),
    ("calibre.corp_reliability(y, p)", 'cal.reliability_diagram(y, p, kind="corp")'),
    ("calibre.classwise_reliability(y, p)", "cal.figures.classwise_panels(y4, p4)"),
    (
        "calibre.confidence_bands(y, p)",
        'cal.reliability_diagram(y, p, kind="corp", uncertainty="bootstrap")',
    ),
    (
        "calibre.consistency_bands(p)",
        'cal.reliability_diagram(y, p, kind="corp", uncertainty="consistency")',
    ),
    ("calibre.bootstrap_ci(metric, y, p)", 'cal.interval(y, p, metric="brier", method="bca")'),
    ("calibre.cross_val_calibrate(calibrator, p, y)", 'cal.recalibrate(y, p, method="isotonic")'),
    ("calibre.select_by_cv(factory, grid, p, y)", 'cal.recalibrate(y, p, method=["platt", "isotonic"])'),
    ("calibre.decision_report(y, predictions, ...)", "cal.figures.decision_curve(y, p, level=None)"),
)
