"""Areas under the risk-coverage curve: one number for how well confidences tell right answers from wrong ones."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, Drop, UndefinedMetricError, WeightsNotSupportedError
from ..inference.resampling import generator
from ..util.checks import check_choice
from .rows import Judged, Steps, read_judged

__all__ = ["Area", "area_of", "augrc", "aurc", "e_augrc", "e_aurc", "redrawn_areas"]

Floats = NDArray[np.float64]
AreaRule = Literal["expected", "integral", "trapezoid", "torch_uncertainty"]
Area = Literal["aurc", "e_aurc", "augrc", "e_augrc"]


def aurc(
    y_true: Any,
    y_prob: Any = None,
    *,
    confidence: Any = None,
    loss: Any = None,
    rule: AreaRule = "expected",
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> float:
    """Area under the risk-coverage curve (Geifman and El-Yaniv 2017): the mean error rate over all coverages.

    Parameters
    ----------
    y_true, y_prob, confidence, loss, lens, where
        As in `risk_coverage`.
    rule
        ``"expected"`` averages the risk of the k surest rows over k, and over all orders of equal confidences, in closed form.
        ``"integral"`` lets the coverage run continuously; ``"trapezoid"`` joins the points of the curve by lines, as fd-shifts
        does; ``"torch_uncertainty"`` leaves out coverages below 1/N and takes equal confidences in the order of the rows.

    Examples
    --------
    >>> from calibrant.decision.areas import aurc
    >>> round(aurc([1, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], input="confidence"), 4)
    0.1458
    """
    judged = read_judged(aurc, y_true, y_prob, confidence, loss, lens, where, keywords)
    check_choice(rule, "rule", ("expected", "integral", "trapezoid", "torch_uncertainty"))
    return _aurc_in_row_order(judged) if rule == "torch_uncertainty" else _aurc(judged.steps, rule)


def e_aurc(
    y_true: Any,
    y_prob: Any = None,
    *,
    confidence: Any = None,
    loss: Any = None,
    reference: Literal["exact", "asymptotic"] = "exact",
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> float:
    """Excess area under the risk-coverage curve: what the order of the confidences costs beyond the error rate itself.

    Parameters
    ----------
    y_true, y_prob, confidence, loss, lens, where
        As in `risk_coverage`.
    reference
        The area of a perfect order, which is subtracted: ``"exact"`` for this many rows, or ``"asymptotic"``, the published
        r + (1 - r) ln(1 - r) for an error rate r.
    """
    judged = read_judged(e_aurc, y_true, y_prob, confidence, loss, lens, where, keywords)
    check_choice(reference, "reference", ("exact", "asymptotic"))
    if reference == "exact":
        return area_of(judged, "e_aurc")
    if not judged.counts_errors:
        raise ArgumentError("reference", "'asymptotic' is defined for classification errors only", "use 'exact'")
    rate = float(judged.steps.lost[-1]) / judged.total
    return area_of(judged, "aurc") - (1.0 if rate == 1 else rate + (1 - rate) * math.log1p(-rate))


def augrc(
    y_true: Any,
    y_prob: Any = None,
    *,
    confidence: Any = None,
    loss: Any = None,
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> float:
    """Area under the generalised risk-coverage curve (Traub et al. 2024): mean risk of an undetected failure over all coverages.

    It equals (1 - AUROC) a (1 - a) + (1 - a)^2 / 2 with the accuracy a and the AUROC of telling errors by their confidence.
    Parameters are those of `risk_coverage`.
    """
    judged = read_judged(augrc, y_true, y_prob, confidence, loss, lens, where, keywords)
    return area_of(judged, "augrc")


def e_augrc(
    y_true: Any,
    y_prob: Any = None,
    *,
    confidence: Any = None,
    loss: Any = None,
    lens: Any = None,
    where: Any = None,
    **keywords: Any,
) -> float:
    """Excess of `augrc` over that of a perfect order, r^2 / 2 for an error rate r; parameters are those of `risk_coverage`."""
    judged = read_judged(e_augrc, y_true, y_prob, confidence, loss, lens, where, keywords)
    return area_of(judged, "e_augrc")


def area_of(judged: Judged, area: Area) -> float:
    """One of the four areas."""
    if area not in get_args(Area):
        raise ArgumentError("area", f"must be one of {', '.join(map(repr, get_args(Area)))}; got {area!r}")
    best = judged.steps_by(-judged.loss) if area.startswith("e_") else None
    return _area(area, judged.steps, best)


def _area(area: str, steps: Steps, best: Steps | None) -> float:
    """The area under the curve, less that under the curve of a perfect order where one is given."""
    found = _augrc(steps) if area.endswith("augrc") else _aurc(steps, "expected")
    if best is None:
        return found
    return max(0.0, found - (_augrc(best) if area.endswith("augrc") else _aurc(best, "expected")))


def redrawn_areas(judged: Judged, area: Area, count: int, seed: int) -> Floats:
    """The area for rows drawn again with replacement, `count` times; rows are sorted once for all draws."""
    area_of(judged, area)
    orders = [_Order(judged, judged.confidence)]
    if area.startswith("e_"):
        orders.append(_Order(judged, -judged.loss))
    rows = judged.weight if judged.weight_kind == "counts" else np.ones(len(judged.weight))
    total = int(rows.sum())
    share = rows / total

    def value(number: int) -> float:
        drawn = generator(seed, number).multinomial(total, share).astype(np.float64)
        weight = drawn * judged.weight if judged.weight_kind == "importance" else drawn
        square = drawn * judged.weight**2 if judged.weight_kind == "importance" else drawn
        found = [order.steps(weight, square) for order in orders]
        return _area(area, found[0], found[1] if len(found) > 1 else None)

    return np.array([value(number) for number in range(count)])


class _Order:
    """Rows in falling order of a score, to be summed under many weights."""

    def __init__(self, judged: Judged, score: Floats) -> None:
        self.rows = np.argsort(-score, kind="stable")
        falling = score[self.rows]
        self.ends = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
        self.threshold = falling[self.ends]
        self.loss = judged.loss[self.rows]

    def steps(self, weight: Floats, square: Floats) -> Steps:
        weight, square = weight[self.rows], square[self.rows]
        accepted, lost, squares = (np.cumsum(values)[self.ends] for values in (weight, weight * self.loss, square))
        held = np.diff(accepted, prepend=0.0) > 0
        return Steps(self.threshold[held], accepted[held], lost[held], squares[held])


def _groups(steps: Steps) -> tuple[Floats, Floats, Floats, Floats]:
    """Weight and losses before each group of equal confidences, and in it."""
    before, lost = (np.concatenate([[0.0], sums[:-1]]) for sums in (steps.accepted, steps.lost))
    return before, lost, steps.accepted - before, steps.lost - lost


def _aurc(steps: Steps, rule: str) -> float:
    """Mean over k of the risk of the k surest: inside a group of equal confidences, its mean over all their orders.

    After m rows with E errors, a group of n with e errors adds e + (E - m e / n)(psi(m + n + 1) - psi(m + 1)).
    """
    # Importance weights are no numbers of rows, so their sum is set to what they are worth; for rows the factor is 1.
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


def _aurc_in_row_order(judged: Judged) -> float:
    if judged.weight_kind != "unit":
        raise WeightsNotSupportedError(
            "sample_weight", "the rule 'torch_uncertainty' does not support weights", Drop("sample_weight")
        )
    n = len(judged.loss)
    if n < 2:
        raise UndefinedMetricError("aurc", "the rule 'torch_uncertainty' requires two rows")
    risk = np.cumsum(judged.loss[np.argsort(-judged.confidence, kind="stable")]) / np.arange(1, n + 1)
    return float((risk[1:] + risk[:-1]).sum()) / 2 / (n - 1)


def _augrc(steps: Steps) -> float:
    _, lost, size, errors = _groups(steps)
    return math.fsum((size * (lost + errors / 2)).tolist()) / float(steps.accepted[-1]) ** 2
