"""Areas under the risk-coverage curve: summaries of how well confidence separates correct from wrong predictions."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal, get_args

import numpy as np

from ..errors import ArgumentError, UndefinedMetricError, WeightsNotSupportedError
from ..inference.replicates import Replicates
from ..util.arrays import Floats
from ..util.checks import check_choice
from ..util.hashes import content_order
from .rows import Judged, Order, Steps, judging

AreaRule = Literal["expected", "integral", "trapezoid", "torch_uncertainty"]
Area = Literal["aurc", "e_aurc", "augrc", "e_augrc"]


@judging()
def aurc(judged: Judged, *, rule: AreaRule = "expected") -> float:
    r"""Compute the area under the risk-coverage curve.

    AURC is the mean selective risk over all coverages: the error rate of the k most confident rows, averaged over k. It depends on the
    error rate of the model and on how well the confidence ranks errors; see `e_aurc` for the latter alone.

    Parameters
    ----------
    y_true
    y_prob
    rule : {"expected", "integral", "trapezoid", "torch_uncertainty"}, default "expected"
        ``"expected"`` averages over k and over all orders of tied confidences, in closed form. ``"integral"`` treats coverage as
        continuous; ``"trapezoid"`` joins the points of the curve by straight lines, as fd-shifts does; ``"torch_uncertainty"`` omits
        coverages below 1/N and breaks ties by row order, as the package of that name does.
    confidence
    loss
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        The area; 0 for no errors.

    See Also
    --------
    e_aurc : Excess over the area of a perfect ranking.
    augrc : Area under the generalised risk-coverage curve.
    risk_coverage : The curve itself.

    Notes
    -----
    With losses sorted by decreasing confidence,

    .. math:: \mathrm{AURC} = \frac{1}{n} \sum_{k=1}^{n} \frac{1}{k} \sum_{i=1}^{k} \ell_{(i)}.

    References
    ----------
    .. [1] Geifman, Y. and El-Yaniv, R. (2017). Selective classification for deep neural networks. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.decision.aurc(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence")), 4)
    0.1458
    """
    check_choice(rule, "rule", ("expected", "integral", "trapezoid", "torch_uncertainty"))
    if rule != "torch_uncertainty":
        return _aurc(judged.steps, rule)
    if judged.weight_kind != "unit":
        raise WeightsNotSupportedError(
            "sample_weight", "the rule 'torch_uncertainty' does not support weights", "drop sample_weight"
        )
    n = len(judged.loss)
    if n < 2:
        raise UndefinedMetricError("aurc", "the rule 'torch_uncertainty' requires two rows")
    risk = np.cumsum(judged.loss[np.argsort(-judged.confidence, kind="stable")]) / np.arange(1, n + 1)
    return float((risk[1:] + risk[:-1]).sum()) / 2 / (n - 1)


@judging()
def e_aurc(judged: Judged, *, reference: Literal["exact", "asymptotic"] = "exact") -> float:
    r"""Compute the excess area under the risk-coverage curve.

    E-AURC is AURC minus the area of a perfect ranking with the same losses: the part of AURC that is due to the ranking by confidence.

    Parameters
    ----------
    y_true
    y_prob
    reference : {"exact", "asymptotic"}, default "exact"
        The area of a perfect ranking: for this number of rows, or its limit :math:`r + (1 - r) \ln(1 - r)` for an error rate r, as
        published.
    confidence
    loss
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        The excess area; 0 for a perfect ranking.

    See Also
    --------
    aurc : The area itself.

    References
    ----------
    .. [1] Geifman, Y., Uziel, G. and El-Yaniv, R. (2019). Bias-reduced uncertainty estimation for deep neural classifiers. ICLR.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.decision.e_aurc(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence")), 4)
    0.0833
    """
    check_choice(reference, "reference", ("exact", "asymptotic"))
    if reference == "exact":
        return area_of(judged, "e_aurc")
    if not judged.counts_errors:
        raise ArgumentError("reference", "'asymptotic' is defined for classification errors only", "use 'exact'")
    rate = float(judged.steps.lost[-1]) / judged.total
    return area_of(judged, "aurc") - (1.0 if rate == 1 else rate + (1 - rate) * math.log1p(-rate))


@judging()
def augrc(judged: Judged) -> float:
    r"""Compute the area under the generalised risk-coverage curve.

    AUGRC is the mean, over all coverages, of the probability that a row is accepted and wrong (an undetected failure). Unlike AURC it
    does not overweight the few most confident rows.

    Parameters
    ----------
    y_true
    y_prob
    confidence
    loss
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        The area, between 0 and 1/2.

    See Also
    --------
    e_augrc : Excess over a perfect ranking.
    aurc : Area under the risk-coverage curve.

    Notes
    -----
    With accuracy a and the AUROC of ranking errors by confidence,

    .. math:: \mathrm{AUGRC} = (1 - \mathrm{AUROC})\, a (1 - a) + \frac{(1 - a)^2}{2}.

    References
    ----------
    .. [1] Traub, J. et al. (2024). Overcoming common flaws in the evaluation of selective classification systems. NeurIPS.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.augrc(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"))
    0.09375
    """
    return area_of(judged, "augrc")


@judging()
def e_augrc(judged: Judged) -> float:
    """Compute the excess area under the generalised risk-coverage curve.

    E-AUGRC is AUGRC minus that of a perfect ranking, :math:`r^2 / 2` for an error rate r.

    Parameters
    ----------
    y_true
    y_prob
    confidence
    loss
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        The excess area; 0 for a perfect ranking.

    See Also
    --------
    augrc : The area itself.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.e_augrc(cal.Predictions([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"))
    0.0625
    """
    return area_of(judged, "e_augrc")


def area_of(judged: Judged, area: Area) -> float:
    """One of the four areas."""
    if area not in get_args(Area):
        raise ArgumentError("area", f"must be one of {', '.join(map(repr, get_args(Area)))}; got {area!r}")
    best = judged.steps_by(-judged.loss) if area.startswith("e_") else None
    return _area(area, judged.steps, best)


def _area(area: str, steps: Steps, best: Steps | None) -> float:
    """The area under the curve, minus that of a perfect ranking where one is given."""
    area_of_steps = _augrc if area.endswith("augrc") else partial(_aurc, rule="expected")
    value = area_of_steps(steps)
    return value if best is None else max(0.0, value - area_of_steps(best))


def resampled_areas(judged: Judged, area: Area, count: int, seed: int) -> Floats:
    """The area of `count` bootstrap replicates; rows are sorted once for all."""
    area_of(judged, area)
    by_content = content_order(judged.confidence, judged.loss, judged.weight)
    confidence, loss, own = (column[by_content] for column in (judged.confidence, judged.loss, judged.weight))
    orders = [Order(confidence, loss)]
    if area.startswith("e_"):
        orders.append(Order(-loss, loss))
    weighted = judged.weight_kind == "importance"

    def value(counts: Floats) -> float:
        weight = counts * own if weighted else counts
        square = counts * own**2 if weighted else counts
        steps = [order.steps(weight, square) for order in orders]
        return _area(area, steps[0], steps[1] if len(steps) > 1 else None)

    return Replicates(own if judged.weight_kind == "counts" else len(own), count, seed).values(value)


def _groups(steps: Steps) -> tuple[Floats, Floats, Floats, Floats]:
    """Weight and losses before each group of tied confidences, and within it."""
    before, lost = (np.concatenate([[0.0], sums[:-1]]) for sums in (steps.accepted, steps.lost))
    return before, lost, steps.accepted - before, steps.lost - lost


def _aurc(steps: Steps, rule: str) -> float:
    """Mean selective risk over k; within ties, its mean over all orders.

    After m rows with E errors, a group of n with e errors adds e + (E - m e / n)(psi(m + n + 1) - psi(m + 1)).
    """
    # Importance weights are scaled to the effective sample size; for rows and counts the factor is 1.
    scale = float(steps.accepted[-1] / steps.square[-1])
    before, lost, size, errors = (scale * values for values in _groups(steps))
    excess = lost - before * (errors / size)
    if rule == "expected":
        from scipy.special import digamma

        added = errors + excess * (digamma(before + size + 1) - digamma(before + 1))
    elif rule == "integral":
        added = errors + excess * np.log1p(np.divide(size, before, out=np.zeros_like(size), where=before > 0))
    else:
        risk = (lost + errors) / (before + size)
        added = size * (risk + np.append(risk[:1], risk[:-1])) / 2
    return math.fsum(added.tolist()) / float(before[-1] + size[-1])


def _augrc(steps: Steps) -> float:
    _, lost, size, errors = _groups(steps)
    return math.fsum((size * (lost + errors / 2)).tolist()) / float(steps.accepted[-1]) ** 2
