"""Discrimination: the area under the ROC curve and average precision, with weights and ties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UndefinedMetricError
from ..inference.means import two_sided_quantile
from ..input.predictions import Predictions
from ..util.arrays import Floats
from ..views.keywords import documents_keywords
from ..views.resolve import as_predictions, views_of
from ..views.view import View

Counts = NDArray[np.intp]


@documents_keywords()
def auroc(y_true: Any, y_prob: Any = None, *, sample_weight: Any = None, pos_label: Any = None) -> float:
    r"""Compute the area under the ROC curve.

    The probability that a random positive row has a higher score than a random negative row, ties counting one half. It measures
    discrimination, the ability to rank, and does not change under a strictly increasing recalibration; read it beside calibration
    errors, never in place of them. For several classes it is the unweighted mean of one class against the rest.

    Parameters
    ----------
    y_true
    y_prob
    sample_weight
    pos_label

    Returns
    -------
    float
        From 0 to 1; 0.5 for scores that carry no information, 1 for a perfect ranking.

    Raises
    ------
    UndefinedMetricError
        If only one class occurs, or only the confidence of the predicted class is known.

    See Also
    --------
    average_precision : Area under the precision-recall curve.

    Notes
    -----
    With weights :math:`w_i`, scores :math:`s_i` and the sums :math:`W_1`, :math:`W_0` of the weights of positive and negative rows,

    .. math:: \mathrm{AUROC} = \frac{1}{W_1 W_0} \sum_{i: y_i = 1} \sum_{j: y_j = 0} w_i w_j
              \left(\mathbf{1}[s_i > s_j] + \tfrac{1}{2} \mathbf{1}[s_i = s_j]\right).

    Classes that do not occur among the labels are left out of the mean over classes. A soft label counts as a positive row of weight
    :math:`w_i y_i` and a negative row of weight :math:`w_i (1 - y_i)`.

    References
    ----------
    .. [1] Hanley, J. A. and McNeil, B. J. (1982). The meaning and use of the area under a receiver operating characteristic (ROC)
       curve. Radiology 143, 29-36.

    Examples
    --------
    >>> from calibrant.evaluation import auroc
    >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    return discrimination_of(as_predictions(y_true, y_prob, sample_weight, pos_label))[0]


@documents_keywords()
def average_precision(y_true: Any, y_prob: Any = None, *, sample_weight: Any = None, pos_label: Any = None) -> float:
    r"""Compute the average precision.

    The mean of the precision over all thresholds, weighted by the gain in recall; it summarises the precision-recall curve without
    interpolation. Unlike `auroc` it depends on the prevalence, which is also its value for scores that carry no information. For
    several classes it is the unweighted mean of one class against the rest.

    Parameters
    ----------
    y_true
    y_prob
    sample_weight
    pos_label

    Returns
    -------
    float
        Above 0 and at most 1; 1 for a perfect ranking.

    Raises
    ------
    UndefinedMetricError
        If only one class occurs, or only the confidence of the predicted class is known.

    See Also
    --------
    auroc : Area under the ROC curve.

    Notes
    -----
    With precision :math:`P_n` and recall :math:`R_n` at the n-th distinct threshold in decreasing order,

    .. math:: \mathrm{AP} = \sum_n (R_n - R_{n-1}) P_n.

    Classes that do not occur among the labels are left out of the mean over classes.

    Examples
    --------
    >>> from calibrant.evaluation import average_precision
    >>> round(average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    return discrimination_of(as_predictions(y_true, y_prob, sample_weight, pos_label))[1]


def discrimination_of(p: Predictions) -> tuple[float, float]:
    """AUROC and average precision of checked predictions, each the mean over the classes that occur; raises where they are undefined."""
    if p.kind == "confidence":
        raise UndefinedMetricError(
            "y_prob", "holds the confidence of the predicted class only", "pass class probabilities"
        )
    views = views_of(p, "binary" if p.kind == "binary" else "classwise")
    areas = np.array([areas_of([view]) for view in views if isinstance(view, View)])[:, :, 0]
    defined = areas[~np.isnan(areas[:, 0])]
    if not len(defined):
        raise UndefinedMetricError(
            "y_true", "only one class occurs, so discrimination is undefined", "pass rows of at least two classes"
        )
    return float(defined[:, 0].mean()), float(defined[:, 1].mean())


def areas_of(views: Sequence[View]) -> tuple[Floats, Floats]:
    """AUROC and average precision of each of several events, in one pass over the scores of all; NaN where only one outcome occurs."""
    positive = np.concatenate([view.ties.outcome for view in views])
    negative = np.concatenate([view.ties.weight for view in views]) - positive
    sizes = np.array([len(view.ties.score) for view in views])
    # From the highest score.
    precision = _average_precision(positive[::-1], negative[::-1], sizes[::-1])[::-1]
    area = _auroc(positive, negative, sizes)
    return area, np.where(np.isnan(area), np.nan, precision)


def auroc_with_error(view: View) -> tuple[float, float]:
    """AUROC of one event and its standard error by DeLong; NaN where one outcome has a single row."""
    weight, outcome = np.asarray(view.weights, dtype=np.float64), np.asarray(view.outcome, dtype=np.float64)
    value, below, above = placement_values(np.asarray(view.score), outcome, weight)
    variance = 0.0
    for part, placed in ((outcome, below), (1 - outcome, above)):
        own = weight * part
        if view.weight_kind == "importance":
            own = own / own.max()  # squares of weights that are tiny beside those of the other outcome would underflow
        total = float(own.sum())
        # A count is that many rows; an importance weight scales one row.
        squares = own**2 if view.weight_kind == "importance" else own
        rows = total**2 / float(squares.sum()) if view.weight_kind == "importance" else total
        if rows <= 1:
            return value, math.nan
        spread = float(squares @ np.square(placed - value)) / total**2
        variance += spread * rows / (rows - 1)
    return value, math.sqrt(variance)


def placement_values(score: Floats, outcome: Floats, weight: Floats) -> tuple[float, Floats, Floats]:
    """AUROC, and for each row the shares of the non-events below it and of the events above it, ties counting one half."""
    distinct, place = np.unique(score, return_inverse=True)
    events, others = (
        np.bincount(place, weight * part, len(distinct)).astype(np.float64) for part in (outcome, 1 - outcome)
    )
    if not (events.any() and others.any()):
        raise UndefinedMetricError("y_true", "only one class occurs, so discrimination is undefined")
    below = (np.cumsum(others) - others / 2) / others.sum()
    above = (events.sum() - np.cumsum(events) + events / 2) / events.sum()
    return float(_auroc(events, others, np.array([len(distinct)]))[0]), below[place], above[place]


def c_statistic(view: View, level: float) -> tuple[float, float, float]:
    """AUROC of one event, with the interval of DeLong's variance on the logit scale (Pepe 2003); NaN where it is undefined."""
    from scipy.special import expit, logit

    try:
        value, error = auroc_with_error(view)
    except UndefinedMetricError:
        return math.nan, math.nan, math.nan
    if not (0 < value < 1 and error > 0):  # no interval on the logit scale
        return value, math.nan, math.nan
    half = two_sided_quantile(level) * error / (value * (1 - value))
    return value, float(expit(logit(value) - half)), float(expit(logit(value) + half))


def _auroc(positive: Floats, negative: Floats, sizes: Counts) -> Floats:
    """AUROC of consecutive parts, so many scores in each; NaN where a part has one outcome."""
    starts, part = _parts(sizes)
    scaled = []
    for values in (positive, negative):
        # By powers of two, since products of weights that are tiny beside others would underflow.
        exponents = np.frexp(np.maximum.reduceat(values, starts))[1]
        scaled.append(np.ldexp(values, -exponents[part]))
    positive, negative = scaled
    below = _running_sums(negative, starts, part) - negative
    won = np.add.reduceat(positive * (below + negative / 2), starts)
    pairs = np.add.reduceat(positive, starts) * np.add.reduceat(negative, starts)
    return np.divide(won, pairs, out=np.full(len(sizes), np.nan), where=pairs > 0)


def _average_precision(positive: Floats, negative: Floats, sizes: Counts) -> Floats:
    """Average precision of consecutive parts, so many scores in each, in decreasing order; NaN where a part has no event."""
    starts, part = _parts(sizes)
    hits, misses = (_running_sums(values, starts, part) for values in (positive, negative))
    accepted = hits + misses
    precision = np.divide(hits, accepted, out=np.ones(len(hits)), where=accepted > 0)
    events = np.add.reduceat(positive, starts)
    return np.divide(
        np.add.reduceat(positive * precision, starts), events, out=np.full(len(sizes), np.nan), where=events > 0
    )


def _parts(sizes: Counts) -> tuple[Counts, Counts]:
    """Where each part begins, and the part of each score."""
    return np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)


def _running_sums(values: Floats, starts: Counts, part: Counts) -> Floats:
    """Sums from the beginning of the part to each entry; exact for counts."""
    path = np.cumsum(values)
    return path - (path[starts] - values[starts])[part]
