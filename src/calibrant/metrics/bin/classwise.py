"""Binned metrics of many classes: thresholded, by rank, and over the whole simplex."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ...binning.parse import bin_table
from ...binning.rules import BinningRule
from ...binning.table import BinTable, sum_over_bins, weighted_power
from ...errors import ArgumentError, LensError
from ...util.arrays import Floats
from ...util.checks import check_whole
from ...views.lenses import FLATTENED
from ...views.view import Block, VectorView, View
from ..forms import Binned, OfTables, Places, Sums, predicted_class
from ..registry import metric, norm_root, preset
from .bins import ece, mean_absolute
from .joint import gece
from .variation import ranking


@metric(
    "Top-label calibration error by predicted class",
    range=(0, 1),
    ideal=0,
    lens="canonical",
    sketch=False,
    cite="gupta2022",
    finish=norm_root,
)
def tl_ece(
    view: VectorView,
    *,
    rule: BinningRule,
    norm: float = 1,
    average: Literal["weighted", "macro"] = "weighted",
) -> Binned:
    """Expected calibration error of the top label, computed inside each predicted class and averaged over these."""
    if view.lens.partition(":")[0] in ("top_label", "rank", "within_top", FLATTENED):
        problem = f"tl_ece requires the predicted class of each row, which {view.lens!r} does not keep"
        raise LensError("lens", problem, "drop lens and pass the probabilities of all classes")

    def scored(block: Block) -> tuple[Floats, Places]:
        return block.probs.max(axis=1)[:, None], predicted_class(block)

    def value(tables: Sequence[BinTable | Sums]) -> OfTables:
        values = np.stack([weighted_power(table.gap, table.share, norm) for table in tables], axis=-1)
        if norm == math.inf:
            return values.max(axis=-1)
        shares = np.stack([table.total for table in tables], axis=-1) if average == "weighted" else np.ones(len(tables))
        return sum_over_bins(values * shares) / sum_over_bins(shares)

    return Binned(view, scored, value, rule, by_class=True, lens="top_label", together=True)


@metric(
    "Thresholded adaptive calibration error",
    range=(0, 1),
    ideal=0,
    lens="classwise",
    cite="nixon2019",
    binning="equal_mass",
)
def tace(
    view: View,
    *,
    rule: BinningRule,
    threshold: float = 0.01,
    mode: Literal["drop", "zero"] = "drop",
) -> float:
    """Adaptive calibration error of every class over the scores above a threshold."""
    if not 0 <= threshold < 1:
        raise ArgumentError("threshold", f"must lie in [0, 1); got {threshold!r}", "for example 0.01")
    score: Floats = view.raw_score
    kept: Any = slice(None)
    if mode == "zero":
        score = np.where(view.score < threshold, 0, score)
    else:
        kept = view.score > threshold
    weight = None if view.weight is None else view.weight[kept]
    part = View(score[kept], view.raw_outcome[kept], weight, view.weight_kind, classes=view.classes)
    if not part.n:
        return 0.0
    table = bin_table(part, rule)
    return mean_absolute(table.excess, table.total)


@metric("Top-k expected calibration error", range=(0, 1), ideal=0, lens="canonical", sketch=False, cite="gupta2021")
def topk_ece(
    view: VectorView,
    *,
    k: int | None = None,
    rule: BinningRule,
    reading: Literal["rank", "cumulative"] = "rank",
) -> Binned:
    """Expected calibration error of the probabilities of the k most probable classes of each row."""
    ranks = min(5, view.k) if k is None else check_whole(k, "k")
    if ranks > view.k:
        raise ArgumentError("k", f"must be at most {view.k}, the number of classes; got {ranks}")

    def scored(block: Block) -> tuple[Floats, Places]:
        classes = ranking(block.probs)[:, :ranks]
        probs = np.take_along_axis(block.probs, classes, 1)
        return np.clip(probs.sum(axis=1, keepdims=True) if reading == "cumulative" else probs, 0, 1), classes

    def value(tables: Sequence[BinTable | Sums]) -> float:
        return math.fsum(mean_absolute(table.excess, table.total) for table in tables) / len(tables)

    return Binned(view, scored, value, rule)


multiclass_ce = preset(
    gece,
    "multiclass_ce",
    "Multiclass calibration error on the simplex",
    binning="simplex_grid",
    bins=10,
    cite="vaicenavicius2019",
)
ece_ea = preset(ece, "ece_ea", "Expected calibration error, equal area", binning="equal_area", cite="roechner2024")
ece_sweep = preset(
    ece,
    "ece_sweep",
    "Monotonic sweep expected calibration error",
    binning="equal_mass",
    bins="sweep",
    cite="roelofs2022",
)
