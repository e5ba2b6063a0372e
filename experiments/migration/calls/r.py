"""Calls of R; its values on eight data sets lie in tests/r."""

from experiments.migration.calls.call import Call, drawn

RMS, CURVES, GIVITI, DCURVES = "R rms", "R CalibrationCurves", "R givitiR", "R dcurves"
UNRELIABILITY = 'cal.assess(y, risk, metric="cox_slope", method="lr")'
STOPS = "`lrm` stops once the deviance changes little"
CELLS = "`lrm` sorts risks into cells 0.002 wide"
INTEGRATE = "its p-values have an absolute error of up to 1e-6"


def rows(peer: str, topic: str, *calls: tuple[str, ...]) -> list[Call]:
    """Calls of a package of R whose values lie in one file of tests/r."""
    return [Call(peer, topic, parts[0], parts[1], *parts[2:], topic=topic) for parts in calls]


def val_prob(name: str, ours: str, note: str = "") -> tuple[str, str, str]:
    """One entry of `val.prob`."""
    return f"val.prob(risk, y, pl = FALSE)[['{name}']]", ours, note


def ends(metric: str) -> str:
    """Both ends of a Wald interval."""
    return f'ends(cal.interval(y, risk, metric="{metric}", method="wald"))'


def belt(options: str) -> str:
    """Points and limits of a belt, in the order of the stored values."""
    return f'limits(cal.figures.calibration_belt(y, risk, points=12, method="likelihood_ratio"{options}))'


def giviti(options: str) -> str:
    """Statistic, p-value and degree of the test."""
    return f'tested(cal.inference.giviti_test(y, risk, method="likelihood_ratio"{options}))'


CALLS = [
    *rows(
        RMS,
        "val_prob",
        val_prob("Dxy", "2 * cal.evaluation.auroc(y, risk) - 1", CELLS),
        val_prob("C (ROC)", "cal.evaluation.auroc(y, risk)", CELLS),
        val_prob("U:Chi-sq", UNRELIABILITY + '.detail["chi_square"]'),
        val_prob("U:p", UNRELIABILITY + ".pvalue"),
        val_prob("Brier", "cal.brier(y, risk)"),
        val_prob("Intercept", "cal.cox_intercept(y, risk)", STOPS),
        val_prob("Slope", "cal.cox_slope(y, risk)", STOPS),
        val_prob("Emax", 'cal.emax(y, risk, smoother="lowess")'),
        val_prob("E90", 'cal.e90(y, risk, smoother="lowess")'),
        val_prob("Eavg", 'cal.ici(y, risk, smoother="lowess")'),
        val_prob("S:z", "cal.spiegelhalter_z(y, risk)"),
        val_prob("S:p", 'cal.assess(y, risk, metric="spiegelhalter_z", method="normal").pvalue'),
    ),
    *rows(
        CURVES,
        "calibration_curves",
        (
            "found(y, risk)$stats[c('Intercept', 'Slope')]",
            "[cal.fixed_slope_intercept(y, risk), cal.cox_slope(y, risk)]",
        ),
        ("found(y, risk)$stats[c('Brier', 'Brier scaled')]", "[cal.brier(y, risk), cal.metrics.skill_score(y, risk)]"),
        (
            "found(y, risk)$stats[c('Eavg', 'ECI')]",
            '[cal.ici(y, risk), cal.eci(y, risk, smoother="loess", surface="interpolate")]',
        ),
        ("found(y, risk)$Calibration$Intercept[2:3]", ends("fixed_slope_intercept")),
        ("found(y, risk)$Calibration$Slope[2:3]", ends("cox_slope")),
        ("found(y, risk)$Cindex[2:3]", "cal.figures.flexible_calibration_curve(y, risk, level=None).c_statistic[1:]"),
    ),
    *rows(
        GIVITI,
        "giviti",
        ("test_of(y, risk, devel = 'external')", giviti(""), INTEGRATE),
        ("test_of(y, risk, devel = 'internal')", giviti(", external=False"), INTEGRATE),
    ),
    *rows(
        GIVITI,
        "belt",
        ("belt_of(y, risk, devel = 'external')", belt(""), "its optimizer stops at 1e-5"),
        ("belt_of(y, risk, devel = 'internal')", belt(", external=False"), "its optimizer stops at 1e-5"),
    ),
    *rows(
        DCURVES,
        "decision_curve",
        (
            "standardized(y, risk = risk)",
            'cal.figures.decision_curve(y, risk, thresholds=[0.1, 0.3, 0.5], level=None)["model"].standardised',
        ),
    ),
]

FIGURES = [
    *drawn(
        RMS,
        ("validate(fit), calibrate(fit)", "cal.clinical.internal_validation"),
        ("val.probg(risk, y, group)", "cal.clinical.validate_by_group"),
        ("val.surv(fit)", "cal.figures.survival_diagram"),
    ),
    *drawn(
        CURVES,
        ("val.prob.ci.2(risk, y), valProbggplot(risk, y)", "cal.figures.flexible_calibration_curve(y, p)"),
        ("valProbCluster", "cal.clinical.validate_by_group"),
        ("valProbSurvival", "cal.clinical.survival_summary"),
    ),
    *drawn(
        GIVITI,
        (
            "plot(givitiCalibrationBelt(...))",
            'cal.figures.calibration_belt(y, p, points=5, method="likelihood_ratio").plot',
        ),
    ),
    *drawn(
        DCURVES,
        ("dca(y ~ risk)", "cal.figures.decision_curve(y, p)"),
        ("net_intervention_avoided", "cal.figures.decision_curve(y, p)"),
    ),
]
