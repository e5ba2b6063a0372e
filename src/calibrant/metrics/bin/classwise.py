"""Binned metrics of many classes: thresholded, by rank, and over the whole simplex."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...binning.parse import Binning, Bins, bin_table
from ...binning.table import BinTable, weighted_power
from ...errors import ArgumentError, LensError
from ...util.checks import check_whole
from ...views.lenses import FLATTENED
from ...views.view import Block, VectorView, View
from ..registry import metric, norm_root, preset
from ..sum_forms import Binned, Places, Sums, predicted
from .bins import ece, mean_absolute
from .joint import gece
from .variation import ranking

Floats = NDArray[np.float64]


def _by_predicted_class(view: VectorView, *, bins: Any, binning: Any, norm: float, average: str) -> Binned:
    def scored(block: Block) -> tuple[Floats, Places]:
        return block.probs.max(axis=1)[:, None], predicted(block)

    def value(tables: Sequence[BinTable | Sums]) -> float:
        values = [weighted_power(table.gap, table.share, norm) for table in tables]
        if norm == math.inf:
            return max(values)
        shares = [table.total if average == "weighted" else 1.0 for table in tables]
        return math.fsum(map(mul, values, shares)) / math.fsum(shares)

    return Binned(view, scored, value, binning, bins, by_class=True, lens="top_label")


@metric(
    "Top-label calibration error by predicted class",
    family="bin",
    subfamily="plug-in",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    lens="canonical",
    cost="N K",
    sketch=False,
    aliases=("TL-ECE", "conditional top-label calibration error", "class-conditional confidence ECE"),
    cite="gupta2022",
    finish=norm_root,
    sum_form=_by_predicted_class,
    pros="errors of opposite sign in two predicted classes do not cancel; weighted by rows it is never below the top-label `ece` with the same edges",
    cons="bins of classes that are rarely predicted have few rows, whose sampling noise inflates the value, most with ``average='macro'``",
    notes="With equal-width bins and ``average='weighted'`` it is `pce` with the predicted class as the group. ``select.predicted('cat')`` gives the error "
    "of one predicted class: ``cal.ece(y_true, y_prob, lens='top_label', where=cal.select.predicted('cat'))``.",
    explain={
        "average": "``'weighted'`` weights each predicted class by its rows, as in the paper; ``'macro'`` weights all predicted classes equally."
    },
)
def tl_ece(
    view: VectorView,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_width",
    norm: float = 1,
    average: Literal["weighted", "macro"] = "weighted",
) -> float:
    """Expected calibration error of the top label, computed inside each predicted class and averaged over these."""
    if view.lens.partition(":")[0] in ("top_label", "rank", "within_top", FLATTENED):
        problem = f"tl_ece requires the predicted class of each row, which {view.lens!r} does not keep"
        raise LensError("lens", problem, "drop lens and pass the probabilities of all classes")
    return _by_predicted_class(view, bins=bins, binning=binning, norm=norm, average=average).result()


@metric(
    "Thresholded adaptive calibration error",
    family="bin",
    subfamily="plug-in",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    lens="classwise",
    cost="N K log N",
    aliases=("TACE",),
    cite="nixon2019",
    pros="leaves out scores at or below the threshold, which are the majority for many classes",
    cons="an additional parameter; a class without scores above the threshold contributes 0; inflated by sampling noise",
    explain={
        "threshold": "Only scores above this value are used.",
        "mode": "``'drop'`` leaves the other rows out; ``'zero'`` keeps them with score 0.",
    },
)
def tace(
    view: View,
    *,
    bins: Bins = 15,
    binning: Binning = "equal_mass",
    threshold: float = 0.01,
    mode: Literal["drop", "zero"] = "drop",
) -> float:
    """Adaptive calibration error of every class over the scores above a threshold."""
    if not 0 <= threshold < 1:
        raise ArgumentError("threshold", f"must lie in [0, 1); got {threshold!r}", "for example 0.01")
    if mode == "zero":
        part = View(
            np.where(view.score < threshold, 0, view.raw_score),
            view.raw_outcome,
            view.weight,
            view.weight_kind,
            classes=view.classes,
        )
    else:
        part = view.above(threshold)
    if not part.n:
        return 0.0
    table = bin_table(part, binning, bins)
    return mean_absolute(table.excess, table.total)


def _by_rank(view: VectorView, *, k: int | None, bins: Any, binning: Any, reading: str) -> Binned:
    ranks = min(5, view.k) if k is None else check_whole(k, "k")
    if ranks > view.k:
        raise ArgumentError("k", f"must be at most {view.k}, the number of classes; got {ranks}")

    def scored(block: Block) -> tuple[Floats, Places]:
        classes = ranking(block.probs)[:, :ranks]
        probs = np.take_along_axis(block.probs, classes, 1)
        return np.clip(probs.sum(axis=1, keepdims=True) if reading == "cumulative" else probs, 0, 1), classes

    def value(tables: Sequence[BinTable | Sums]) -> float:
        return math.fsum(mean_absolute(table.excess, table.total) for table in tables) / len(tables)

    return Binned(view, scored, value, binning, bins)


@metric(
    "Top-k expected calibration error",
    family="bin",
    subfamily="plug-in",
    range=(0, 1),
    ideal=0,
    probability_scale=True,
    lens="canonical",
    sketch=False,
    cost="N K log N",
    sum_form=_by_rank,
    aliases=("top-k ECE",),
    cite="gupta2021",
    pros="evaluates the second and further choices of the model as well",
    cons="two definitions share the name; probabilities of low ranks are small, which makes the mean over ranks small",
    certainty="fairly sure of both definitions; which of them the survey means is reconstructed",
    explain={
        "k": "Number of ranks; by default 5, or all classes if there are fewer.",
        "reading": "``'rank'``: mean over ranks 1 to k of the error of that rank; ``'cumulative'``: error of the sum of the k largest probabilities "
        "for the event that the true class is among them.",
    },
)
def topk_ece(
    view: VectorView,
    *,
    k: int | None = None,
    bins: Bins = 15,
    binning: Binning = "equal_width",
    reading: Literal["rank", "cumulative"] = "rank",
) -> float:
    """Expected calibration error of the probabilities of the k most probable classes of each row."""
    return _by_rank(view, k=k, bins=bins, binning=binning, reading=reading).result()


multiclass_ce = preset(
    gece,
    "multiclass_ce",
    "Multiclass calibration error on the simplex",
    summary="Mean total variation distance between mean forecast and mean label over the cells of a grid on the simplex.",
    binning="simplex_grid",
    bins=10,
    aliases=(
        "canonical calibration error",
        "strong calibration error",
        "full ECE",
        "simplex ECE",
        "full multiclass ECE",
    ),
    cite="vaicenavicius2019",
    pros="evaluates the whole distribution on fixed cells",
    cons="with more than a few classes most rows are alone in their cell; such a row contributes 1 minus the probability of its true class, "
    "whether calibrated or not",
    notes="`bins` is the number of bins of every class; a rule such as `KDTree()` can be passed as `binning`.",
)
ece_ea = preset(
    ece,
    "ece_ea",
    "Expected calibration error, equal area",
    summary="Expected calibration error over bins for which width times number of rows is about the same.",
    binning="equal_area",
    cost="N log N",
    recommended=False,
    aliases=("ECE-EA", "equiareal ECE"),
    cite="roechner2024",
    certainty="certain rule, reconstructed algorithm",
    pros="between equal width and equal mass: bins are narrow where scores are dense and wide where they are sparse",
    cons="bins depend on the data; ties and gaps between scores leave bins of unequal area; inflated by sampling noise",
)
ece_sweep = preset(
    ece,
    "ece_sweep",
    "Monotonic sweep expected calibration error",
    summary="Expected calibration error over the largest number of equal-mass bins for which outcome rates are non-decreasing.",
    binning="equal_mass",
    bins="sweep",
    cost="N log N",
    recommended=False,
    aliases=("ECE-sweep", "monotonic sweep calibration error"),
    cite="roelofs2022",
    pros="the number of bins follows from the data",
    cons="where the outcome rate decreases with the score, few bins remain, whose errors cancel; bins depend on the data; inflated by sampling "
    "noise, and its bias can be above or below that of a fixed number of bins",
    notes="The published code uses norm 2; the survey treats the metric as an expected calibration error, hence the default norm of 1.",
)
