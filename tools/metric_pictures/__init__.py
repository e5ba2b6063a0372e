"""One figure for each family of metrics, all of the same rows, and which metric shows which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import calibrant as cal

from . import binned, smooth
from .parts import SETUP, extras_of, rows

__all__ = ["PICTURES", "SETUP", "Picture", "extras_of", "picture_of", "rows"]


class Picture(NamedTuple):
    """A figure and its caption."""

    name: str
    draw: Callable[[], Any]
    look: str


_ALL = [
    Picture(
        "losses",
        binned.losses,
        "Loss of a row as a function of the probability of its true class, for four losses (the remaining probability is divided evenly). "
        "Grey: distribution of these probabilities.",
    ),
    Picture(
        "surprise",
        binned.surprise,
        "Ten equal parts of the rows by the entropy of their forecasts: expected and observed log loss. Points above the line indicate overconfidence.",
    ),
    Picture(
        "means",
        binned.means,
        "Mean predicted probability and observed frequency of the predicted class and of each class. The predicted class is overestimated; "
        "for the single classes errors nearly cancel.",
    ),
    Picture(
        "bars",
        binned.bars,
        "Accuracy in bins of confidence. The hatched gaps extend to the diagonal; their mean, weighted by the number of rows, is the "
        "expected calibration error.",
    ),
    Picture("classes", binned.classes, "Calibration curve of each class against the rest."),
    Picture(
        "ranks",
        binned.ranks,
        "Calibration curves of the first, second and third rank. The first is overestimated, the others are underestimated.",
    ),
    Picture("sides", binned.sides, "Signed contribution of each bin; here every bin is overconfident."),
    Picture(
        "true_classes",
        binned.true_classes,
        "Mean confidence and accuracy on the rows of each true class. In each of them the mean confidence is too high.",
    ),
    Picture(
        "sanders",
        binned.sanders,
        "Rows at their scores (dots: correct above, wrong below), 15 bins with their mean scores (blue), and how far each label is from the "
        "mean score of its bin.",
    ),
    Picture(
        "staircase",
        binned.staircase,
        "Rows at their scores (dots: correct above, wrong below), ten bins with their outcome rates (blue), and the distance of each score "
        "from the rate of its bin.",
    ),
    Picture(
        "shifts",
        binned.shifts,
        "Expected calibration error as a function of the shift of the bins; for these rows it varies more for narrow bins. Dashed: mean "
        "over all shifts.",
    ),
    Picture(
        "soft",
        binned.soft,
        "Below: membership of a score in each of 15 soft bins. Above: their mean scores and outcome rates.",
    ),
    Picture(
        "windows",
        binned.windows,
        "Mean confidence and accuracy of every window of 60 neighbouring rows; the shaded area is the gap.",
    ),
    Picture(
        "bias",
        binned.bias,
        "The plug-in error (dashed) increases with the number of bins through sampling noise, also for calibrated forecasts. The debiased "
        "error (solid) increases far less.",
    ),
    Picture(
        "chance",
        binned.chance,
        "Ten equal-mass bins. Grey: 95% range of the outcome rates under calibration. Rates outside are evidence against calibration.",
    ),
    Picture(
        "variation",
        binned.variation,
        "Predicted against observed variation, bin by bin.",
    ),
    Picture("entropy", binned.entropy, "Error rate against mean normalised entropy, bin by bin."),
    Picture(
        "triangle",
        binned.triangle,
        "Probability vectors in the simplex of three classes. Arrows lead from the mean forecast of a cell to its observed frequencies: "
        "towards the centre, since the model is overconfident.",
    ),
    Picture(
        "groups",
        binned.groups,
        "Calibration curves of the two groups. The model is nearly calibrated in group a and strongly overconfident in group b, which the "
        "curve of all rows conceals.",
    ),
    Picture("feature", binned.feature, "Mean confidence and accuracy along a feature; the shaded area is the gap."),
    Picture(
        "smooth",
        smooth.smooth,
        "Kernel regression of the outcomes on the confidence; the shaded area is the gap to the diagonal.",
    ),
    Picture(
        "witness",
        smooth.witness,
        "Bars: mean overestimation of the scores. Line: the weight function between -1 and 1 with Lipschitz constant 1 that maximises the "
        "weighted mean. Since scores are too high nearly everywhere here, it stays close to 1.",
    ),
    Picture(
        "densities",
        smooth.densities,
        "Density of the scores of all rows and of the correct rows. Their ratio is the calibration curve; the shaded area is the gap to the diagonal.",
    ),
    Picture(
        "pairs",
        smooth.pairs,
        "Kernel-smoothed residuals (score minus outcome): neighbouring residuals of the same sign add up.",
    ),
    Picture(
        "loess",
        smooth.loess,
        "Smooth calibration curve and its distances from the diagonal; the largest is marked.",
    ),
    Picture(
        "fits",
        smooth.fits,
        "Calibration curves of several kinds, fitted on these rows; the metric is the mean distance of one of them from the diagonal.",
    ),
    Picture(
        "line",
        smooth.line,
        "Calibration line on the scale of log-odds. A line flatter than the dashed one indicates predictions that are too extreme.",
    ),
    Picture(
        "path",
        smooth.path,
        "Cumulative sum of scores minus outcomes in order of confidence. The path increases where scores are too high.",
    ),
    Picture(
        "group_paths",
        smooth.group_paths,
        "Path of all rows and of each group, in standard deviations of its end. Grey: 95% range of the ends for calibrated forecasts.",
    ),
]
PICTURES = {picture.name: picture for picture in _ALL}

_FAMILIES = {
    ("point", "proper score"): "losses",
    ("point", "score against its expectation"): "surprise",
    ("point", "mean difference"): "means",
    ("point", "loss"): "losses",
    ("point", "test statistic"): "surprise",
    ("bin", "plug-in"): "bars",
    ("bin", "signed"): "sides",
    ("bin", "partly binned"): "staircase",
    ("bin", "many partitions"): "shifts",
    ("bin", "soft bins"): "soft",
    ("bin", "windows"): "windows",
    ("bin", "debiased"): "bias",
    ("bin", "test statistic"): "chance",
    ("bin", "whole distribution"): "triangle",
    ("bin", "groups and features"): "feature",
    ("kernel", "kernel smoothing"): "smooth",
    ("kernel", "function class"): "witness",
    ("kernel", "kernel density"): "densities",
    ("kernel", "pairs of scores"): "pairs",
    ("kernel", "whole distribution"): "triangle",
    ("kernel", "groups and features"): "feature",
    ("kernel", "neighbours"): "triangle",
    ("curve", "fitted curve"): "loess",
    ("curve", "fit on the test"): "fits",
    ("curve", "regression coefficient"): "line",
    ("curve", "test statistic"): "line",
    ("cumulative", "path"): "path",
    ("cumulative", "test statistic"): "path",
    ("cumulative", "groups and features"): "group_paths",
}
# Metrics that another picture shows better than that of their family.
_OWN = {
    "ace": "classes",
    "cce": "path",
    "cwce": "classes",
    "dkde": "triangle",
    "eci": "triangle",
    "fece": "groups",
    "fott_em": "bars",
    "fott_ew": "bars",
    "fott_iop": "triangle",
    "lse_ece": "bars",
    "pce": "groups",
    "smbs": "sanders",
    "tace": "classes",
    "topk_ece": "ranks",
    "uce": "entropy",
    "vce": "variation",
    "vce_db": "variation",
    "wsmcs": "true_classes",
}


def picture_of(metric: cal.metrics.Metric) -> Picture:
    """Return the figure of a metric's family, or its own."""
    return PICTURES[_OWN.get(metric.id) or _FAMILIES[metric.info.family, metric.info.subfamily]]
