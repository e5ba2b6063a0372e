"""Calls of MAPIE."""

from experiments.migration.calls.call import QUANTILES, drawn, of

SETUP = """
import numpy as np
from mapie.calibration import TopLabelCalibrator, VennAbersCalibrator
from mapie.metrics import calibration as measures
from sklearn.frozen import FrozenEstimator


def scale(p):
    return np.sqrt((p * (1 - p)).sum()) / len(p)
"""

CALLS = [
    *of(
        "MAPIE",
        "binary",
        (
            'measures.expected_calibration_error(y, p, 16, "uniform")',
            "cal.ece(y, p)",
            "16 is its number of edges, which are those of `np.linspace`",
        ),
        (
            'measures.expected_calibration_error(y, p, 16, "uniform")',
            'cal.ece(y, p, binning=cal.EqualWidth(15, edges="linspace"))',
            "it assigns a score of 0 to a bin of its own",
        ),
        (
            'measures.expected_calibration_error(y, p, 16, "quantile")',
            'cal.ece_em(y, p, binning="equal_mass")',
            QUANTILES,
        ),
        (
            'measures.expected_calibration_error(y, p, 16, "quantile")',
            "cal.ece_em(y, p, binning=cal.Quantile(15))",
            "it assigns the smallest score to a bin of its own",
        ),
        (
            "measures.kolmogorov_smirnov_statistic(y, p) * scale(p)",
            "cal.ecce_mad(y, p)",
            "it adds noise of 1e-8 to the scores, which orders ties at random; `length_scale` is the factor",
        ),
        (
            "measures.kuiper_statistic(y, p) * measures.length_scale(p)",
            "cal.ecce_r(y, p)",
            "tied scores as above; it omits the initial 0 of the cumulative differences and is up to 1/N smaller if all are on one side",
        ),
        (
            "measures.kolmogorov_smirnov_p_value(y, p)",
            'cal.assess(y, p, metric="ecce_mad", method="series").pvalue',
            "tied scores as above",
        ),
        (
            "measures.kuiper_p_value(y, p)",
            'cal.assess(y, p, metric="ecce_r", method="series").pvalue',
            "tied scores as above",
        ),
        ("measures.spiegelhalter_statistic(y, p)", "cal.spiegelhalter_z(y, p)"),
        (
            "measures.spiegelhalter_p_value(y, p)",
            'cal.assess(y, p, metric="spiegelhalter_z", method="normal", alternative="greater").pvalue',
            "it is one-sided; calibrant's default has two sides",
        ),
        (
            "measures.cumulative_differences(y, p)",
            "-cal.figures.cumulative_diagram(y, p).path[1:]",
            "tied scores as above; calibrant begins at 0",
        ),
    ),
    *of(
        "MAPIE",
        "classes",
        (
            'measures.expected_calibration_error((p.argmax(axis=1) == y).astype(int), p, 16, "uniform")',
            'cal.ece(y, p, binning=cal.EqualWidth(15, edges="linspace"))',
        ),
        (
            'measures.expected_calibration_error(y, p, 16, "uniform", classwise=True, class_labels=y)',
            'cal.cwce(y, p, binning=cal.EqualWidth(15, edges="linspace"))',
            "it assigns a score of 0 to a bin of its own",
        ),
        (
            'measures.top_label_ece(y, p, num_bins=16, split_strategy="uniform")',
            'cal.tl_ece(y, p, average="macro", binning=cal.EqualWidth(15, edges="linspace"))',
            "the mean over predicted classes",
        ),
    ),
    *of(
        "MAPIE",
        "two classes",
        (
            'VennAbersCalibrator(m, cv="prefit").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, method="venn_abers", cv="prefit").fit(X, y).predict_proba(new)',
        ),
    ),
    *of(
        "MAPIE",
        "probabilities",
        (
            'np.fmax(np.nanmax(TopLabelCalibrator(m, cv="prefit").fit(X, y).predict_proba(new), axis=1), 1 / len(m.classes_))',
            'CalibratedModel(m, method=cal.TopLabelCalibration(cal.PlattScaling(input="logit")), cv="prefit").fit(X, y).predict_proba(new).max(axis=1)',
            "its other columns are NaN; calibrant raises a confidence below 1/K to 1/K",
        ),
    ),
    *of(
        "MAPIE",
        "once",
        (
            "[measures.kolmogorov_smirnov_cdf(x) for x in (0.5, 1, 2, 3)]",
            "[cal.inference.kolmogorov_smirnov_cdf(x) for x in (0.5, 1, 2, 3)]",
        ),
        ("[measures.kuiper_cdf(x) for x in (0.5, 1, 2, 3)]", "[cal.inference.kuiper_cdf(x) for x in (0.5, 1, 2, 3)]"),
    ),
    *of(
        "MAPIE",
        "probabilities",
        (
            'np.fmax(np.nanmax(TopLabelCalibrator(m, "isotonic", cv="prefit").fit(X, y).predict_proba(new), axis=1), 1 / len(m.classes_))',
            'CalibratedModel(m, method=cal.TopLabelCalibration(cal.IsotonicCalibration()), cv="prefit").fit(X, y).predict_proba(new).max(axis=1)',
            "calibrant raises a confidence below 1/K to 1/K",
        ),
    ),
]

FIGURES = drawn(
    "MAPIE",
    ("VennAbers(), VennAbersMultiClass(...), predict_proba_prefitted_va(...)", "cal.VennAbers()"),
)
