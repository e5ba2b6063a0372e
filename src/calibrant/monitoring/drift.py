"""Have the scores changed? Distances between the scores of a reference and of a window, with p-values that hold for cells too.

Drift is a reason to look. It does not prove that calibration was lost, and its absence does not prove that it was kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UnknownArgumentError
from ..inference.sequential import check_level
from ..util.checks import check_whole
from .distances import (
    BINNED,
    DISTANCES,
    BinRule,
    bin_rule,
    chi_square_law,
    effect_words,
    signed_extremes,
    statistic_of,
    value_of,
)
from .drifted import DriftReport, DriftResult
from .kolmogorov import kolmogorov_law
from .samples import Cells, lay_on_cells
from .shuffles import adjust_together, coarsened, draw_null

__all__ = [
    "DriftReport",
    "DriftResult",
    "energy_distance",
    "jensen_shannon",
    "ks_2samp",
    "psi",
    "score_drift",
    "wasserstein",
]

Floats = NDArray[np.float64]
Method = Literal["auto", "permutation", "chi_square", "exact", "kolmogorov"]


def psi(
    reference: Any,
    window: Any,
    *,
    bins: Any = 10,
    smoothing: float = 0.5,
    method: Method = "auto",
    alpha: float = 0.05,
    known_reference: bool = False,
    n_resamples: int = 999,
    rng: Any = 0,
) -> DriftResult:
    """Population stability index: the sum over bins of (q - p) ln(q / p), p and q the shares of reference and window.

    Parameters
    ----------
    reference, window
        Sketches, Views, Samples or plain scores; labels are not read. They must not share rows. Where one alone has importance
        weights, scores are exchanged and the weights stay where they are, which takes them as unrelated to the scores: if they
        are not, the p-value may be too small. Where both have them, rows change sides with their weights, which takes scores and
        weights together as alike on both sides.
    bins
        Number of bins that hold equal parts of the reference (ties stay together), rising edges, or ``"cells"`` for one bin for
        each distinct score.
    smoothing
        Rows added to every bin of both, so that an empty bin has a finite value; 0 raises where one sample has none in a bin.
    method
        ``"permutation"`` exchanges rows and cuts the bins again each time, so its level is exact; ``"chi_square"`` is the limit
        law, refused where a bin expects fewer than 5 rows. ``"auto"`` is the former.
    alpha
        Level of `threshold` and `rejected`.
    known_reference
        The reference is a known law, not a sample: windows are drawn from it.
    n_resamples, rng
        Number of exchanges; None, a seed or a Generator.

    Examples
    --------
    >>> from calibrant.monitoring.drift import psi
    >>> from calibrant.monitoring.samples import Sample
    >>> bins = [0.1, 0.3, 0.5, 0.7, 0.9]
    >>> a, b = Sample.of(bins, counts=[10, 20, 40, 20, 10]), Sample.of(bins, counts=[5, 15, 35, 30, 15])
    >>> found = psi(a, b, bins="cells", smoothing=0, method="chi_square")
    >>> round(found.value, 6), round(found.pvalue, 4)
    (0.116538, 0.2125)
    """
    words = {"alpha": alpha, "known": known_reference, "n_resamples": n_resamples, "rng": rng}
    return _one("psi", reference, window, bin_rule(bins, smoothing), method, **words)


def jensen_shannon(
    reference: Any,
    window: Any,
    *,
    bins: Any = 10,
    method: Method = "auto",
    alpha: float = 0.05,
    known_reference: bool = False,
    n_resamples: int = 999,
    rng: Any = 0,
) -> DriftResult:
    """Jensen-Shannon divergence in bits, from 0 to 1; `details` has nats and the distance, its root.

    Parameters
    ----------
    reference, window, bins, method, alpha, known_reference, n_resamples, rng
        As for `psi`.

    Examples
    --------
    >>> from calibrant.monitoring.drift import jensen_shannon
    >>> jensen_shannon([0.1, 0.2], [0.8, 0.9], bins=[0, 0.5, 1]).value
    1.0
    """
    words = {"alpha": alpha, "known": known_reference, "n_resamples": n_resamples, "rng": rng}
    return _one("jensen_shannon", reference, window, bin_rule(bins, 0.0), method, **words)


def ks_2samp(
    reference: Any,
    window: Any,
    *,
    method: Method = "auto",
    alpha: float = 0.05,
    known_reference: bool = False,
    n_resamples: int = 999,
    rng: Any = 0,
) -> DriftResult:
    """Kolmogorov-Smirnov distance, the largest difference of the two cumulative shares; `details` says where and which way.

    Parameters
    ----------
    reference, window, alpha, known_reference, n_resamples, rng
        As for `psi`.
    method
        ``"exact"`` counts all exchanges of rows, ties included; ``"kolmogorov"`` is the limit law, too cautious with ties;
        ``"permutation"``. ``"auto"`` is exact for small samples, else the limit law without ties and permutation with them.

    Examples
    --------
    >>> from calibrant.monitoring.drift import ks_2samp
    >>> found = ks_2samp([0.1, 0.2, 0.3, 0.4], [0.6, 0.7, 0.8, 0.9])
    >>> found.value, round(found.pvalue, 4)
    (1.0, 0.0286)
    """
    words = {"alpha": alpha, "known": known_reference, "n_resamples": n_resamples, "rng": rng}
    return _one("ks_2samp", reference, window, bin_rule(10, 0.0), method, **words)


def wasserstein(
    reference: Any,
    window: Any,
    *,
    alpha: float = 0.05,
    known_reference: bool = False,
    n_resamples: int = 999,
    rng: Any = 0,
) -> DriftResult:
    """Wasserstein distance: how far scores would have to move on average to turn one sample into the other.

    Parameters
    ----------
    reference, window, alpha, known_reference, n_resamples, rng
        As for `psi`; the p-value comes from exchanges of rows.

    Examples
    --------
    >>> from calibrant.monitoring.drift import wasserstein
    >>> round(wasserstein([0.1, 0.2], [0.6, 0.7]).value, 12)
    0.5
    """
    words = {"alpha": alpha, "known": known_reference, "n_resamples": n_resamples, "rng": rng}
    return _one("wasserstein", reference, window, bin_rule(10, 0.0), "permutation", **words)


def energy_distance(
    reference: Any,
    window: Any,
    *,
    alpha: float = 0.05,
    known_reference: bool = False,
    n_resamples: int = 999,
    rng: Any = 0,
) -> DriftResult:
    """Energy distance 2 E|X-Y| - E|X-X'| - E|Y-Y'|; `details` has its root.

    Parameters
    ----------
    reference, window, alpha, known_reference, n_resamples, rng
        As for `psi`; the p-value comes from exchanges of rows.

    Examples
    --------
    >>> from calibrant.monitoring.drift import energy_distance
    >>> round(energy_distance([0.0], [1.0]).value, 12)
    2.0
    """
    words = {"alpha": alpha, "known": known_reference, "n_resamples": n_resamples, "rng": rng}
    return _one("energy_distance", reference, window, bin_rule(10, 0.0), "permutation", **words)


def score_drift(
    reference: Any,
    window: Any,
    *,
    statistics: Sequence[str] = ("psi", "ks_2samp", "wasserstein", "jensen_shannon", "energy_distance"),
    bins: Any = 10,
    smoothing: float = 0.5,
    alpha: float = 0.05,
    known_reference: bool = False,
    n_resamples: int = 999,
    rng: Any = 0,
) -> DriftReport:
    """Several distances at once, on the same exchanges of rows, with p-values corrected for looking at them all.

    Parameters
    ----------
    reference, window, bins, smoothing, alpha, known_reference, n_resamples, rng
        As for `psi`.
    statistics
        Names of the distances.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.monitoring.drift import score_drift
    >>> rng = np.random.default_rng(0)
    >>> score_drift(rng.beta(2, 2, 500), rng.beta(4, 2, 500)).rejected
    True
    """
    if isinstance(statistics, str) or not statistics or len(set(statistics)) < len(statistics):
        raise ArgumentError("statistics", f"must be a list of different names; got {statistics!r}")
    for name in statistics:
        if name not in DISTANCES:
            raise UnknownArgumentError("statistics", f"{name!r} is no distance", f"one of {sorted(DISTANCES)}")
    check_level(alpha)
    cells = lay_on_cells(reference, window, "score_drift")
    rules = [bin_rule(bins, smoothing if name == "psi" else 0.0) for name in statistics]
    coarse = _coarse(cells, rules[0])
    formulas = [statistic_of(name, rule) for name, rule in zip(statistics, rules, strict=True)]
    null = draw_null(coarse, formulas, check_whole(n_resamples, "n_resamples"), rng, known_reference)
    own = np.array([formula(coarse.value, coarse.reference[None], coarse.window[None])[0] for formula in formulas])
    results = [
        _result(cells, name, rule, (null.pvalue(float(own[i]), i), null.threshold(alpha, i), null.law), alpha)
        for i, (name, rule) in enumerate(zip(statistics, rules, strict=True))
    ]
    return DriftReport(tuple(results), tuple(adjust_together(null, own).tolist()), alpha)


def _one(
    name: str,
    reference: Any,
    window: Any,
    rule: BinRule,
    method: str,
    *,
    alpha: float,
    known: bool,
    n_resamples: int,
    rng: Any,
) -> DriftResult:
    check_level(alpha)
    check_whole(n_resamples, "n_resamples")
    allowed = {"psi": ("auto", "permutation", "chi_square"), "ks_2samp": ("auto", "exact", "permutation", "kolmogorov")}
    choices = allowed["psi"] if name in BINNED else allowed["ks_2samp"]
    if method not in choices:
        raise ArgumentError("method", f"must be one of {list(choices)}; got {method!r}")
    cells = lay_on_cells(reference, window, name)
    value_of(cells, name, rule)  # undefined is said before anything is drawn
    law: tuple[float, float, str] | None = None
    if method == "chi_square":
        law = chi_square_law(cells, name, rule, alpha, known)
    elif name == "ks_2samp" and method != "permutation":
        law = kolmogorov_law(cells, method, alpha, known)
    if law is None:
        coarse = _coarse(cells, rule)
        formula = statistic_of(name, rule)
        null = draw_null(coarse, [formula], n_resamples, rng, known)
        own = float(formula(coarse.value, coarse.reference[None], coarse.window[None])[0])
        law = (null.pvalue(own, 0), null.threshold(alpha, 0), null.law)
    return _result(cells, name, rule, law, alpha)


def _coarse(cells: Cells, rule: BinRule) -> Cells:
    """Few cells for the exchanges, none across an edge of given bins."""
    return cells if rule.kind == "cells" else coarsened(cells, rule.fixed(cells.value))


def _result(cells: Cells, name: str, rule: BinRule, law: tuple[float, float, str], alpha: float) -> DriftResult:
    value = value_of(cells, name, rule)
    details: dict[str, float] = {}
    if name == "ks_2samp":
        details = signed_extremes(cells)
    elif name == "jensen_shannon":
        details = {"nats": value * math.log(2), "distance": math.sqrt(value)}
    elif name == "energy_distance":
        details = {"root": math.sqrt(value)}
    effect = effect_words(name, value, cells)
    return DriftResult(
        name, value, law[0], law[1], alpha, law[2], cells.reference_size, cells.window_size, effect, details
    )
