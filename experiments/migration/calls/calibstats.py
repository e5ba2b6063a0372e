"""Calls of calibstats."""

from experiments.migration.calls.call import ABOVE, FLOOR, QUANTILES, drawn, of

SETUP = """
import calibstats as cs
import numpy as np
"""

CALLS = [
    *of(
        "calibstats",
        "binary",
        ("cs.ece(p, y)", "cal.ece(y, p)", ABOVE),
        ("cs.ece(p, y)", 'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))'),
        ("cs.mce(p, y)", 'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))'),
        ("cs.ace(p, y)", "cal.ece_em(y, p)", QUANTILES),
        (
            "cs.ace(p, y)",
            'cal.ece_em(y, p, binning=cal.Quantile(15, closed="left", edges="quantile"))',
            "if several quantiles equal the largest score, it joins the last two bins",
        ),
        (
            'cs.calibration_error(p, y, norm="l2")',
            'cal.rmsce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))',
        ),
        ("cs.debiased_ece(p, y)", 'cal.drmsce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))', ""),
        ("cs.brier_score(p, y)", "cal.brier(y, p)"),
        ("cs.nll(p, y)", "cal.nll(y, p)", FLOOR),
        ("cs.nll(p, y)", "cal.nll(y, p, floor=1e-12)"),
        (
            "list(cs.brier_decomposition(p, y).values())[:4]",
            'parts(cal.decompose(y, p, method="murphy", binning=cal.EqualWidth(15, closed="left", edges="linspace")))',
            "in the order calibration, refinement, resolution, uncertainty",
        ),
        (
            "np.concatenate([cs.reliability_data(p, y).accuracy, cs.reliability_data(p, y).confidence])",
            'curve(cal.calibration_curve(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace")))',
        ),
        (
            'cs.PlattScaler("probs").fit(p, y).transform(new)',
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "its optimizer (BFGS with numerical derivatives) stops at a gradient of 1e-5",
        ),
    ),
    *of(
        "calibstats",
        "classes",
        ("cs.ece(p, y)", 'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))'),
        ("cs.mce(p, y)", 'cal.mce(y, p, binning=cal.EqualWidth(15, closed="left", edges="linspace"))'),
        (
            "cs.ace(p, y)",
            'cal.ece_em(y, p, binning=cal.Quantile(15, closed="left", edges="quantile"))',
            "if several quantiles equal the largest score, it joins the last two bins",
        ),
        ("cs.brier_score(p, y)", "cal.brier(y, p)", "half of it in calibrant, as in scikit-learn"),
        ("cs.brier_score(p, y)", 'cal.brier(y, p, scale="sum")'),
        ("cs.nll(p, y)", "cal.nll(y, p, floor=1e-12)"),
    ),
    *of(
        "calibstats",
        "four classes",
        (
            'cs.TemperatureScaler("probs").fit(p, y).transform(new)',
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            'it clips zeros to 1e-12; `cal.TemperatureScaling(input="logit")` of `np.log(np.clip(p, 1e-12, 1))` agrees',
        ),
        (
            'cs.TemperatureScaler("logits").fit(np.log(p + 1e-9), y).transform(np.log(new + 1e-9))',
            'cal.TemperatureScaling(input="logit").fit(np.log(p + 1e-9), y).predict_proba(np.log(new + 1e-9))',
        ),
    ),
]

FIGURES = drawn(
    "calibstats",
    ("cs.reliability_diagram(p, y)", "cal.reliability_diagram(y, p)"),
    ("cs.calibration_report(p, y)", "cal.evaluate(y, p)"),
    ("cs.bootstrap_ci(p, y, cs.ece)", 'cal.interval(y, p, metric="ece", method="percentile")'),
    ("cs.bootstrap_metrics(p, y, {...})", "cal.evaluate(y, p)"),
    ("cs.compare_subgroups({...})", "cal.evaluate(cal.Predictions(y, p, groups=g))"),
    (
        "cs.ece_difference_test(p, y, q, y, paired=True)",
        'cal.compare(y, {"a": p, "b": np.clip(p * 0.9, 0, 1)}, metric="ece")',
    ),
    ("cs.make_binary(n)", "cal.inference.make_calibrated(100, rng=0)"),
    ("cs.make_multiclass(n)", "cal.inference.make_calibrated(100, classes=4, rng=0)"),
    (
        "cs.make_temperature_miscalibrated(n, temperature=2)",
        "cal.inference.make_miscalibrated(100, warp=cal.inference.simulation.temperature(2), rng=0)",
    ),
)
