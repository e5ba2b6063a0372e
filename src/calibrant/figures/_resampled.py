"""A metric on rows drawn again, any number of them, and the sizes of the bins it uses."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import bin_cells
from ..binning.partition import auto_binning, cells_of
from ..errors import ArgumentError, UndefinedMetricError
from ..inference.resampling import generator
from ..input.predictions import Predictions, frozen
from ..metrics.registry import Metric
from ..views.lenses import AnyView
from ..views.view import VectorView, View
from ._several import Source

__all__ = ["Cells", "cells_at", "redrawn", "value_of"]

Floats = NDArray[np.float64]


def value_of(metric: Metric, source: Source, options: dict[str, Any], lens: Any) -> float:
    """The metric; NaN where it has no value."""
    try:
        return metric.of_views(metric.views(source, **({} if lens is None else {"lens": lens})), **options)
    except UndefinedMetricError:
        return np.nan


def redrawn(
    source: Source,
    metric: Metric,
    plans: Sequence[dict[str, Any]],
    lens: Any,
    shares: Sequence[float],
    count: int,
    seed: int,
) -> Floats:
    """The metric on rows drawn with replacement: a row for each draw, a column for each share of the rows and plan."""
    sample = np.empty((count, len(shares) * len(plans)))
    for b in range(count):
        rng = generator(seed, b)
        values = []
        for share in shares:
            part = _drawn(source, share, rng)
            values += [value_of(metric, part, plan, lens) for plan in plans]
        sample[b] = values
    return sample


def _drawn(source: Source, share: float, rng: np.random.Generator) -> Predictions | View:
    """A share of the rows, with replacement; counts are how many rows there are to draw from."""
    assert not isinstance(source, VectorView)
    weight: NDArray[Any] | None
    if source.weight_kind == "counts":
        assert source.weight is not None
        total = int(source.weight.sum())
        counts = rng.multinomial(max(1, round(share * total)), source.weight / total)
        rows, weight = np.flatnonzero(counts), frozen(counts[counts > 0])
    else:
        rows = rng.integers(source.n, size=max(1, round(share * source.n)))
        weight = None if source.weight is None else frozen(source.weight[rows])
    if isinstance(source, Predictions):
        part = source.take(rows)
        part.weight = weight
        return part
    return View(source.raw_score[rows], source.raw_outcome[rows], weight, source.weight_kind, lens=source.lens)


class Cells(NamedTuple):
    """The bins or cells of a metric: how many hold rows, and the fewest, median and most rows in one; NaN without any."""

    sizes: tuple[float, float, float, float]
    name: bytes
    """The same for settings that put the same rows together; empty without cells."""


def cells_at(metric: Metric, source: Source, options: dict[str, Any], lens: Any) -> Cells:
    """The cells of a metric with these options."""
    settings = {**metric.options, **options}
    sizes: list[Floats] = []
    name = sha256()
    if "bins" in settings and "binning" in settings:
        for view in metric.views(source, **({} if lens is None else {"lens": lens})):
            cell = _cell_of_rows(view, metric, settings)
            if cell is None:
                sizes = []
                break
            rows = view.weights if view.weight_kind == "counts" else np.ones(view.n)
            sizes.append(np.bincount(cell, rows).astype(np.float64))
            name.update(cell.tobytes())
    if not sizes:
        return Cells((np.nan, np.nan, np.nan, np.nan), b"")
    held = np.concatenate(sizes)
    return Cells((float(len(held)), float(held.min()), float(np.median(held)), float(held.max())), name.digest())


def _cell_of_rows(view: AnyView, metric: Metric, settings: dict[str, Any]) -> NDArray[np.intp] | None:
    """The cell of each row, numbered in the order in which rows meet them, so that equal cells have equal numbers."""
    binning = settings["binning"]
    try:
        if metric.takes == "View" and isinstance(view, View):
            cell, _ = bin_cells(view, binning, settings["bins"])
        else:
            vector = view.as_vector() if isinstance(view, View) else view
            if isinstance(binning, str) and binning == "auto":
                binning = auto_binning(vector, binning, settings["bins"], settings["gamma"], settings["min_size"])
            cell, _ = cells_of(vector, binning, settings["bins"])
    except ArgumentError:  # bins of something else than the score
        return None
    _, first, place = np.unique(cell, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place.ravel()]
