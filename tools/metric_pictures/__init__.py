"""One picture for each family of metrics, all of the same rows, and which metric shows which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import calibrant as cal

from . import binned, smooth
from .parts import SETUP, rows, words_of

__all__ = ["PICTURES", "SETUP", "Picture", "picture_of", "rows", "words_of"]


class Picture(NamedTuple):
    """A drawing, and what to look for in it."""

    name: str
    draw: Callable[[], Any]
    look: str


_ALL = [
    Picture(
        "losses",
        binned.losses,
        "What a row costs by the probability that its true class was given, under four losses (the rest of the row shared evenly). Grey: how often each probability was given.",
    ),
    Picture(
        "surprise",
        binned.surprise,
        "Ten parts of the rows by the entropy of their forecasts: the mean -log probability of the true class that they imply, and the one observed. Points "
        "above the line are overconfident.",
    ),
    Picture(
        "means",
        binned.means,
        "Mean probability beside frequency, for the predicted class and for each class. The predicted class has too high a probability; over the "
        "rows of each class column the errors nearly cancel.",
    ),
    Picture(
        "bars",
        binned.bars,
        "How often the predicted class was right, in bins of confidence. The hatched gaps reach to the diagonal; their mean, by how full the bins "
        "are, is the expected calibration error.",
    ),
    Picture(
        "classes", binned.classes, "Each class against the rest: its probability, and how often it was the true class."
    ),
    Picture(
        "ranks",
        binned.ranks,
        "The first, second and third choice of each row. The first is right less often than its probability, the others more often.",
    ),
    Picture("sides", binned.sides, "What each bin adds, with its sign: here every bin is overconfident."),
    Picture(
        "true_classes",
        binned.true_classes,
        "Confidence and how often it was right, on the rows of each true class. In each of them the mean confidence is too high.",
    ),
    Picture(
        "sanders",
        binned.sanders,
        "Rows at their own scores (dots: right above, wrong below), 15 bins with their mean scores (blue), and how far each label is from the mean "
        "score of its bin.",
    ),
    Picture(
        "staircase",
        binned.staircase,
        "Rows at their own scores (dots: right above, wrong below), ten bins with their rates (blue), and how far each score is from the rate of its bin.",
    ),
    Picture(
        "shifts",
        binned.shifts,
        "The expected calibration error moves as bins are shifted, on these rows the more the narrower they are. Dashed: the mean over all shifts.",
    ),
    Picture(
        "soft",
        binned.soft,
        "Below: how much a score belongs to each of 15 soft bins. Above: the mean score and the outcome rate that each of them finds.",
    ),
    Picture(
        "windows",
        binned.windows,
        "Mean confidence and outcome rate of every window of 60 neighbouring rows; the area is the gap.",
    ),
    Picture(
        "bias",
        binned.bias,
        "With more bins sampling noise raises the plug-in error (dashed), also where forecasts are calibrated. The debiased one (solid) grows far less.",
    ),
    Picture(
        "chance",
        binned.chance,
        "Ten bins of equally many rows. Grey: where 95 % of outcome rates would lie if the scores were right. Rates outside are evidence against that.",
    ),
    Picture(
        "variation",
        binned.variation,
        "The variation that whole rows state against the variation that the outcomes show, bin by bin.",
    ),
    Picture("entropy", binned.entropy, "The error rate against the mean normalised entropy, bin by bin."),
    Picture(
        "triangle",
        binned.triangle,
        "Whole rows in a triangle of three classes. Arrows lead from the mean forecast of a cell to the outcomes there: towards the middle, for the model "
        "is overconfident.",
    ),
    Picture(
        "groups",
        binned.groups,
        "The two groups apart. The model is nearly calibrated in group a and far too confident in group b, which all rows together hide.",
    ),
    Picture(
        "feature", binned.feature, "Mean confidence and how often it was right, along a feature; the area is the gap."
    ),
    Picture(
        "smooth",
        smooth.smooth,
        "Outcomes smoothed along the confidence, without bins; the area is the gap to the diagonal.",
    ),
    Picture(
        "witness",
        smooth.witness,
        "Bars: how much too high scores are on average. Line: the weight between -1 and 1, no steeper than the score itself, that makes the weighted mean largest. Scores are too high nearly everywhere here, so it stays close to 1.",
    ),
    Picture(
        "densities",
        smooth.densities,
        "Density of the scores of all rows and of those that were right. Their ratio is the calibration curve; the area is the gap to the diagonal.",
    ),
    Picture(
        "pairs",
        smooth.pairs,
        "Score minus outcome of each row, spread over its neighbours: where residuals of one sign lie together they add up.",
    ),
    Picture(
        "loess",
        smooth.loess,
        "A smooth curve through the outcomes, and its distances from the diagonal; the largest is marked.",
    ),
    Picture(
        "fits",
        smooth.fits,
        "Curves of several kinds, each fitted to these rows; the metric is the mean distance of one of them from the diagonal.",
    ),
    Picture(
        "line",
        smooth.line,
        "On the scale of log-odds. A line flatter than the dashed one says that forecasts are too extreme.",
    ),
    Picture(
        "path",
        smooth.path,
        "Scores minus outcomes, added up in order of confidence. A path that climbs says that scores are too high there.",
    ),
    Picture(
        "group_paths",
        smooth.group_paths,
        "The path of all rows and of each group, in standard deviations of its end. Grey: where 95 % of the ends lie for calibrated forecasts.",
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
    "wsmcs": "true_classes",
}


def picture_of(metric: cal.metrics.Metric) -> Picture:
    """The picture of a metric's family, or its own."""
    return PICTURES[_OWN.get(metric.id) or _FAMILIES[metric.family, metric.subfamily]]
