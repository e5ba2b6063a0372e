"""Calls of probcal."""

from experiments.migration.calls.call import ABOVE, FLOOR, QUANTILES, drawn, of

SETUP = """
import numpy as np
import probcal
from probcal import BetaCalibrator, IsotonicCalibrator, calibration_belt, corp_reliability, metrics, reliability_binned
"""

CALLS = [
    *of(
        "probcal",
        "binary",
        ("metrics.ece(y, p)", "cal.ece_em(y, p)", QUANTILES),
        ("metrics.ece(y, p)", 'cal.ece_em(y, p, binning=cal.Quantile(15, closed="left", edges="quantile"))'),
        ('metrics.ece(y, p, strategy="width")', "cal.ece(y, p)", "it assigns a score on an edge to the bin above"),
        (
            'metrics.ece(y, p, strategy="width")',
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        (
            'metrics.ece(y, p, strategy="width", norm="l2")',
            'cal.rmsce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        (
            'metrics.ece(y, p, strategy="width", norm="max")',
            'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        (
            "metrics.ece_debiased(y, p)",
            "cal.ece_db(y, p)",
            "a different estimate: each bin is debiased and truncated at 0 before averaging",
        ),
        ("metrics.ece_sweep(y, p)", "cal.ece_sweep(y, p)", "different edges, and it uses at most 100 bins"),
        (
            "metrics.smooth_ece(y, p)",
            "cal.smece(y, p)",
            "it smooths on the scale of log-odds and stops its search at 1e-4",
        ),
        ("metrics.brier_score(y, p)", "cal.brier(y, p)"),
        ("metrics.log_loss(y, p)", "cal.nll(y, p)", "infinite in calibrant if the true class has probability 0"),
        ("metrics.brier_skill_score(y, p)", "cal.metrics.skill_score(y, p)"),
        ("metrics.calibration_slope(y, p)", "cal.cox_slope(y, p)"),
        (
            "metrics.calibration_intercept(y, p)",
            'cal.calibration_in_the_large(y, p, form="logit")',
            "**not** `cal.cox_intercept`, in which the slope is estimated",
        ),
        (
            "metrics.calibration_test(y, p).p_value",
            'cal.assess(y, p, metric="cox_slope", method="lr").pvalue',
            "joint test of both coefficients; without `method` only the slope is tested",
        ),
        (
            "metrics.ici(y, p)",
            'cal.ici(y, p, degree=1, surface="direct")',
            "it fits at 512 points and interpolates; the default of calibrant is degree 2, as in `loess` of R",
        ),
        (
            "metrics.e90(y, p)",
            'cal.e90(y, p, degree=1, surface="direct")',
            "it fits at 512 points and interpolates; the default of calibrant is degree 2, as in `loess` of R",
        ),
        ("metrics.hosmer_lemeshow(y, p).statistic", "cal.hosmer_lemeshow(y, p)", QUANTILES),
        (
            "metrics.hosmer_lemeshow(y, p).statistic",
            'cal.hosmer_lemeshow(y, p, binning=cal.Quantile(10, closed="left", edges="quantile"))',
        ),
        (
            "metrics.hosmer_lemeshow(y, p).p_value",
            'cal.assess(y, p, metric="hosmer_lemeshow", method="chi_square").pvalue',
            "as for the statistic; without `method`, outcomes are simulated if groups are too small for the chi-squared distribution",
        ),
        (
            "metrics.hosmer_lemeshow(y, p).p_value",
            'cal.assess(y, p, metric="hosmer_lemeshow", method="chi_square", binning=cal.Quantile(10, closed="left", edges="quantile")).pvalue',
        ),
        ("metrics.spiegelhalter_z(y, p).z", "cal.spiegelhalter_z(y, p)"),
        ("metrics.ecce(y, p).stat_max", "cal.ecce_mad(y, p)"),
        (
            "metrics.ecce(y, p).stat_mean",
            "cal.ecce_mean_abs(y, p)",
            "it treats tied scores as one step, calibrant as one step per row",
        ),
        ("metrics.skce(y, p, bandwidth=1.0)", "cal.skce_uq(y, p, bandwidth=1.0)"),
        ("metrics.skce(y, p)", "cal.skce_uq(y, p)"),
        (
            "metrics.murphy_decomposition(y, p).reliability",
            'cal.decompose(y, p, method="murphy", bins=10, binning="equal_mass").miscalibration',
            QUANTILES,
        ),
        (
            "metrics.murphy_decomposition(y, p).reliability",
            'cal.decompose(y, p, method="murphy", binning=cal.Quantile(10, closed="left", edges="quantile")).miscalibration',
        ),
        (
            "metrics.binomial_grade_test(y, p, np.digitize(p, [0.1, 0.3, 0.6]).astype(str)).p_exact",
            "[g.pvalue for g in cal.inference.grade_tests(cal.Predictions(y, p, groups=np.digitize(p, [0.1, 0.3, 0.6]).astype(str))).grades]",
            "calibrant adds the adjustment of Holm",
        ),
        (
            "metrics.pluto_tasche([300, 400, 70], [0, 3, 5]).pd_upper",
            "cal.decision.pluto_tasche([300, 400, 70], [0, 3, 5]).bound",
        ),
        (
            "probcal.LogitOffset(target_mean=0.3).fit(p).transform(p)",
            "cal.OffsetAdjustment(target=0.3).fit(p).predict_proba(p)",
        ),
        ("probcal.estimate_offset(y, p).delta", "float(cal.OffsetAdjustment().fit(p, y).offset_[1])"),
        (
            "probcal.TemperatureCalibrator().fit(p, y).predict_proba(new)",
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "scores of 0 and 1 are clipped to other values",
        ),
        ("probcal.PlattCalibrator().fit(p, y).predict_proba(new)", "cal.PlattScaling().fit(p, y).predict_proba(new)"),
        ("probcal.BetaCalibrator().fit(p, y).predict_proba(new)", "cal.BetaCalibration().fit(p, y).predict_proba(new)"),
        ("probcal.VennAbersCalibrator().fit(p, y).predict_proba(new)", "cal.VennAbers().fit(p, y).predict_proba(new)"),
        (
            "probcal.IsotonicCalibrator().fit(p, y).predict_proba(p)",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(p)",
            "at the scores of the fit",
        ),
        (
            "probcal.IsotonicCalibrator().fit(p, y).predict_proba(new)",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
            "between the scores of the fit it uses steps, calibrant linear interpolation",
        ),
        (
            "probcal.HistogramBinningCalibrator().fit(p, y).predict_proba(new)",
            "cal.HistogramBinning(bins=10, shrink=0.5).fit(p, y).predict_proba(new)",
            f"`shrinkage=None` is `shrink=0`; {QUANTILES}",
        ),
        (
            "probcal.ScalingBinningCalibrator().fit(p, y).predict_proba(new)",
            "cal.ScalingBinning().fit(p, y).predict_proba(new)",
            "its edges are interpolated quantiles of the probabilities after Platt scaling, those of calibrant lie at rows",
        ),
        (
            "probcal.CenteredIsotonicCalibrator().fit(p, y).predict_proba(new)",
            "cal.CenteredIsotonicCalibration().fit(p, y).predict_proba(new)",
            "it keeps neighbouring blocks of the same rate apart, so that its curve is flat between them; calibrant, as in the paper, joins them",
        ),
    ),
    *of(
        "probcal",
        "binary",
        ("metrics.e50(y, p)", 'cal.e50(y, p, degree=1, surface="direct")', "it fits at 512 points and interpolates"),
        ("metrics.emax(y, p)", 'cal.emax(y, p, degree=1, surface="direct")', "it fits at 512 points and interpolates"),
        (
            "metrics.smooth_ece(y, p)",
            'cal.smece(y, p, kernel="logit")',
            "it smooths 8192 bins and stops its search at 1e-4",
        ),
        ("metrics.ecce(y, p).stat_max", "cal.figures.cumulative_diagram(y, p).ecce_mad"),
        (
            "[corp_reliability(y, p, bands=None).brier_mcb, corp_reliability(y, p, bands=None).brier_dsc]",
            'corp(cal.decompose(y, p, method="corp"))[:2]',
        ),
        (
            "[corp_reliability(y, p, bands=None).log_loss_mcb, corp_reliability(y, p, bands=None).log_loss_dsc]",
            'corp(cal.decompose(y, p, method="corp", score="nll"))[:2]',
            FLOOR,
        ),
        (
            "np.concatenate([reliability_binned(y, p).event_rate, reliability_binned(y, p).pred_mean])",
            'curve(cal.calibration_curve(y, p, bins=10, binning="equal_mass"))',
            QUANTILES,
        ),
        (
            "np.concatenate([reliability_binned(y, p).event_rate, reliability_binned(y, p).pred_mean])",
            'curve(cal.calibration_curve(y, p, binning=cal.Quantile(10, closed="left", edges="quantile")))',
        ),
        (
            "metrics.jeffreys_grade_test(y, p, np.digitize(p, [0.1, 0.3, 0.6]).astype(str)).p_value",
            '[g.pvalue for g in cal.inference.grade_tests(cal.Predictions(y, p, groups=np.digitize(p, [0.1, 0.3, 0.6]).astype(str)), method="jeffreys").grades]',
        ),
        ("metrics.spiegelhalter_z(y, p).p_value", 'cal.assess(y, p, metric="spiegelhalter_z", method="normal").pvalue'),
        (
            "[metrics.calibration_guardrails(y, p).slope, metrics.calibration_guardrails(y, p).intercept]",
            "[cal.cox_slope(y, p), cal.fixed_slope_intercept(y, p)]",
        ),
        (
            "[metrics.reliability_summary(y, p).slope, metrics.reliability_summary(y, p).intercept]",
            "[cal.cox_slope(y, p), cal.fixed_slope_intercept(y, p)]",
        ),
        (
            "metrics.logloss_calibration_refinement(y, p).calibration",
            'cal.decompose(y, p, method="corp", score="nll").miscalibration',
            "it recalibrates by LOESS, calibrant by isotonic regression",
        ),
        (
            "probcal.offset_from_estimate(probcal.estimate_offset(y, p), p).transform(p)",
            "cal.OffsetAdjustment().fit(p, y).predict_proba(p)",
        ),
        (
            'probcal.HistogramBinningCalibrator(strategy="width", shrinkage=None).fit(p, y).predict_proba(new)',
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            ABOVE,
        ),
        (
            'IsotonicCalibrator(interpolation="linear").fit(p, y).predict_proba(new)',
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
            "it interpolates between the middles of blocks, calibrant between the scores at their ends",
        ),
    ),
    *of(
        "probcal",
        "weighted",
        ("metrics.brier_score(y, p, sample_weight=w)", "cal.brier(y, p, sample_weight=w)"),
        ("metrics.log_loss(y, p, sample_weight=w)", "cal.nll(y, p, sample_weight=w)"),
        (
            'metrics.ece(y, p, strategy="width", sample_weight=w)',
            'cal.ece(y, p, sample_weight=w, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        ("metrics.calibration_slope(y, p, sample_weight=w)", "cal.cox_slope(y, p, sample_weight=w)"),
        ("metrics.calibration_intercept(y, p, sample_weight=w)", "cal.fixed_slope_intercept(y, p, sample_weight=w)"),
        ("metrics.ecce(y, p, sample_weight=w).stat_max", "cal.ecce_mad(y, p, sample_weight=w)"),
        (
            "probcal.PlattCalibrator().fit(p, y, sample_weight=w).predict_proba(new)",
            "cal.PlattScaling().fit(p, y, sample_weight=w).predict_proba(new)",
            "its smoothed targets count weights as rows; in calibrant only `counts` are rows",
        ),
        (
            "probcal.BetaCalibrator().fit(p, y, sample_weight=w).predict_proba(new)",
            "cal.BetaCalibration().fit(p, y, sample_weight=w).predict_proba(new)",
        ),
        (
            "probcal.IsotonicCalibrator().fit(p, y, sample_weight=w).predict_proba(p)",
            "cal.IsotonicCalibration().fit(p, y, sample_weight=w).predict_proba(p)",
        ),
        (
            "probcal.TemperatureCalibrator().fit(p, y, sample_weight=w).predict_proba(new)",
            "cal.TemperatureScaling().fit(p, y, sample_weight=w).predict_proba(new)",
        ),
    ),
    *of(
        "probcal",
        "binary",
        (
            "metrics.pluto_tasche_from_arrays(np.digitize(p, [0.3, 0.6]).astype(str), y, order=['0', '1', '2']).pd_upper",
            "cal.decision.pluto_tasche(np.bincount(np.digitize(p, [0.3, 0.6])), np.bincount(np.digitize(p, [0.3, 0.6]), y)).bound",
        ),
        (
            "calibration_belt(y, p, grid_size=12).p_value",
            'cal.figures.calibration_belt(y, p, points=12, method="likelihood_ratio").pvalue',
        ),
    ),
    *of(
        "probcal",
        "binary",
        (
            "probcal.HistogramBinningCalibrator().fit(p, y).predict_proba(new)",
            'cal.HistogramBinning(binning=cal.Quantile(10, closed="left", edges="quantile"), shrink=0.5).fit(p, y).predict_proba(new)',
        ),
        (
            'probcal.HistogramBinningCalibrator(strategy="width", shrinkage=None).fit(p, y).predict_proba(new)',
            'cal.HistogramBinning(binning=cal.EqualWidth(10, closed="left", edges="linspace"), empty="interpolate").fit(p, y).predict_proba(new)',
        ),
        (
            'BetaCalibrator("ab").fit(p, y).predict_proba(new)',
            'cal.BetaCalibration(parameters="am").fit(p, y).predict_proba(new)',
        ),
    ),
    *of(
        "probcal",
        "once",
        (
            "probcal.BBQCalibrator().fit(p, y).predict_proba(new)",
            "cal.BayesianBinning().fit(p, y).predict_proba(new)",
            "it averages 2 to √N bins, at most 50, with the prior Beta(1/2, 1/2); calibrant follows the paper",
        ),
        (
            "probcal.ENIRCalibrator().fit(p, y).predict_proba(new)",
            "cal.NearIsotonicEnsemble().fit(p, y).predict_proba(new)",
            "between the scores of the fit it uses steps, calibrant linear interpolation; at those scores 0.02, not traced",
        ),
        (
            "probcal.SplineCalibrator().fit(p, y).predict_proba(new)",
            "cal.SplineCalibration().fit(p, y).predict_proba(new)",
            "a different method: logistic regression on a penalized spline of the log-odds; calibrant differentiates a spline of the cumulative differences",
        ),
    ),
    *of(
        "probcal",
        "binary",
        (
            'BetaCalibrator("a").fit(p, y).predict_proba(new)',
            'cal.BetaCalibration(parameters="a").fit(p, y).predict_proba(new)',
        ),
    ),
]

FIGURES = drawn(
    "probcal",
    ("metrics.evaluate(y, p)", "cal.evaluate(y, p)"),
    ("metrics.skce_test(y, p)", 'cal.assess(y, p, metric="skce_uq", method="bootstrap")'),
    ("metrics.hl_e_test(y, p, grades)", "cal.inference.safe_hosmer_lemeshow(y, p)"),
    (
        "metrics.jeffreys_upper_bands(y, p, grades)",
        'cal.inference.grade_tests(y, p, edges=[0, 0.3, 1], method="jeffreys")',
    ),
    ("probcal.SegmentedCalibrator(base)", "cal.GroupCalibration(cal.PlattScaling()).fit(p, y, groups=g)"),
    ("probcal.CalibratorSelector()", 'cal.recalibrate(y, p, method=["platt", "isotonic"])'),
    ("probcal.CalibratedModel(model, calibrator)", "CalibratedModel"),
    ("probcal.CalibrationMonitor()", "cal.Monitor"),
    ("probcal.ecce_curve(y, p)", "cal.figures.cumulative_diagram(y, p)"),
    ("probcal.reliability_loess(y, p)", "cal.figures.flexible_calibration_curve(y, p, degree=1, level=None)"),
    ("probcal.reliability_spline(y, p)", 'cal.figures.flexible_calibration_curve(y, p, smoother="rcs", level=None)'),
    ("probcal.reliability_smooth(y, p)", 'cal.reliability_diagram(y, p, kind="smooth")'),
    ("probcal.validation_report(...)", "cal.report"),
    (
        "probcal.make_pd_portfolio()",
        "cal.inference.make_miscalibrated(100, warp=cal.inference.simulation.temperature(2), rng=0)",
    ),
    ("plot_reliability(...), plot_attributes(...), plot_comparison(...)", "cal.reliability_diagram(y, p)"),
    ("plot_corp(...)", 'cal.reliability_diagram(y, p, kind="corp")'),
    ("plot_belt(...)", 'cal.figures.calibration_belt(y, p, points=5, method="likelihood_ratio")'),
    ("plot_ecce(...)", "cal.figures.cumulative_diagram(y, p)"),
    ("metrics.murphy_curve(y, p)", "cal.figures.murphy_diagram(y, p)"),
    ("plot_murphy(...)", "cal.figures.murphy_diagram(y, p)"),
    ("plot_e_process(...)", "cal.inference.sequential_test"),
    ("plot_grade_backtest(...)", "cal.inference.grade_tests(y, p, edges=[0, 0.3, 1])"),
    ("CrossVennAbersCalibrator()", "cal.CrossVennAbers()"),
    ("plot_mcb_dsc(...)", 'cal.decompose(y, p, method="corp")'),
    ("plot_offset_audit(...)", "cal.OffsetAdjustment"),
    ("plot_selection(...)", 'cal.recalibrate(y, p, method=["platt", "isotonic"])'),
)
