"""Out-of-distribution scores of a monitor: their scale, their sketches, and their drift against the reference data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, InputError, InputTypeError, ShapeError
from ..input.convert import column, is_frame, numbers
from ..input.frames import column_names
from ..input.missing import missing_rows
from ..sketches.sketch import Sketch
from ..util.arrays import Floats
from ..util.results import Record, number, percent, pvalue_clause
from .drift import DriftReport, DriftResult, Sample, as_sample, restored_report

LENS = "score"
NAME = "ood"
"""Name of a score that is passed as a single array."""
# Scores farther from the median than this many scales are kept as the extreme ones; the cells of a sketch end a little earlier.
FARTHEST = 1e6


class OodScale(NamedTuple):
    """A score and the scale on which it is kept: the Cauchy distribution function with the quartiles of the reference data.

    A sketch holds numbers from 0 to 1. The function is strictly increasing, so that ranks and the distances based on them do not depend on
    it, and its tails are so heavy that scores a hundred thousand scales from the median have cells of their own.
    """

    name: str
    centre: float
    scale: float

    def placed(self, values: Floats) -> Floats:
        """Return scores as numbers from 0 to 1."""
        away = np.clip((values - self.centre) / self.scale, -FARTHEST, FARTHEST)
        # From the nearer end, so that no digits are lost.
        tail = np.arctan2(1.0, np.abs(away)) / math.pi
        return np.asarray(np.where(away > 0, 1 - tail, tail), np.float64)

    def value(self, place: float) -> float:
        """Return the score at a number from 0 to 1."""
        tail = max(min(place, 1 - place), math.atan2(1.0, FARTHEST) / math.pi)
        return self.centre + self.scale * math.copysign(1 / math.tan(math.pi * tail), place - 0.5)


def scales_of(scores: Mapping[str, Floats]) -> tuple[OodScale, ...]:
    """Return the scale of each score from its reference values."""
    scales = []
    for name, values in scores.items():
        low, centre, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
        spread = (high - low) / 2 or float(np.std(values)) or max(abs(centre), 1.0)
        scales.append(OodScale(name, centre, spread))
    return tuple(scales)


def read_ood(ood: Any, n: int) -> dict[str, Floats]:
    """Return checked scores by name: a mapping, a frame, or one array, whose name is ``"ood"``.

    >>> read_ood([0.1, 2.5], 2)
    {'ood': array([0.1, 2.5])}
    """
    if isinstance(ood, Mapping):
        named = dict(ood)
    elif is_frame(ood):
        named = {name: ood[name] for name in column_names(ood) or ()}
    else:
        named = {NAME: ood}
    if not named:
        raise InputError("ood", "has no scores", "pass one array, or a mapping from names to arrays")
    scores = {}
    for name, values in named.items():
        if not isinstance(name, str) or not name:
            raise InputTypeError("ood", f"names of scores must be text; got {name!r}")
        scores[name] = _check_scores(name, values, n)
    return scores


def _check_scores(name: str, values: Any, n: int) -> Floats:
    array = np.asarray(values.data) if isinstance(values, np.ma.MaskedArray) else column(values, "ood").array
    if array.ndim != 1 or len(array) != n:
        problem = f"expected one number for each of {n} rows of {name!r}; got shape {array.shape}"
        raise ShapeError("ood", problem, 'pass several scores as {"energy": ..., "distance": ...}')
    missing = missing_rows(values, texts=False)
    entries = numbers(np.where(missing, 0, array) if missing.any() else array, "ood").astype(np.float64)
    bad = missing | ~np.isfinite(entries)
    if bad.any():
        row = int(np.argmax(bad))
        problem = f"missing value of {name!r}" if missing[row] else f"{name!r} is {entries[row]}"
        raise InputError("ood", problem, "drop or fill these rows", row=row, count=int(bad.sum()))
    return entries


def watched_ood(ood: Any, scales: tuple[OodScale, ...], n: int) -> Floats:
    """Return the scores of an update as (n, number of scores), in the order of the monitor; raise for missing and unknown ones."""
    names = [each.name for each in scales]
    listed = ", ".join(names)
    if ood is None:
        if names and n:
            raise InputError("ood", f"is required: this monitor watches {listed}", "give these scores of each row")
        return np.zeros((n, len(names)))
    if not names:
        raise ArgumentError(
            "ood", "this monitor was created without out-of-distribution scores", "drop ood or create a new monitor"
        )
    single = not isinstance(ood, Mapping) and not is_frame(ood)
    scores = read_ood({names[0]: ood} if single and len(names) == 1 else ood, n)
    for name in (*scores, *names):
        if name not in names or name not in scores:
            problem = f"{name!r} is missing" if name in names else f"unknown score {name!r}"
            raise InputError("ood", problem, f"this monitor watches {listed}")
    return np.column_stack([scores[name] for name in names])


@dataclass(frozen=True, repr=False)
class OodFindings(Record):
    """An out-of-distribution score in a window, compared with the reference data.

    Parameters
    ----------
    name : str
        Name of the score.
    n : float
        Number of rows.
    median : float
        Median of the window.
    p90 : float
        90th percentile of the window.
    p99 : float
        99th percentile of the window.
    reference_median : float or None
        Median of the reference data; None if they do not contain the group.
    reference_p90 : float or None
        90th percentile of the reference data.
    reference_p99 : float or None
        99th percentile of the reference data.
    beyond : float or None
        Share of rows above the 99th percentile of the reference data; about 1% without change.
    drift : DriftReport or None
        Distances from the reference data. The Wasserstein distance is that on the Cauchy scale of the reference data.
    """

    _hidden = ("drift",)

    name: str
    n: float
    median: float
    p90: float
    p99: float
    reference_median: float | None = None
    reference_p90: float | None = None
    reference_p99: float | None = None
    beyond: float | None = None
    drift: DriftReport | None = None

    @property
    def pvalue(self) -> float | None:
        """The smallest adjusted p-value of the distances; None without reference data."""
        return None if self.drift is None else self.drift.pvalue

    @property
    def change(self) -> str:
        """Median and upper tail as text, beside those of the reference data."""
        if self.reference_median is None:
            return f"median {number(self.median)}"
        means = f"median {number(self.median)} ({number(self.reference_median)} in the reference data)"
        return f"{means}, {percent(self.beyond)} of rows above its 99th percentile"

    @property
    def words(self) -> str:
        """Name, change and p-value as text."""
        if self.drift is None:
            return f"{self.name}: {self.change}."
        chance = pvalue_clause(self.drift.pvalue, self.drift.pvalue if self.drift.is_bound else 0.0)
        return f"{self.name}: {self.change} (adjusted {chance})."

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "pvalue": self.pvalue, "distances": self.drift}

    def _title(self) -> str:
        return self.words


def restore_findings(plain: Mapping[str, Any]) -> OodFindings:
    """Restore findings from the plain values in the store."""
    return OodFindings(**{**plain, "drift": restored_report(plain["drift"])})


def summarize(scale: OodScale, sketch: Sketch, reference: Sketch | None, drift: DriftReport | None) -> OodFindings:
    """Return the results of one score in the units of the score."""
    now = as_sample(sketch, "window", NAME)
    quantiles = _quantiles(scale, now)
    if reference is None or not reference.n:
        return OodFindings(scale.name, now.size, *quantiles)
    before = as_sample(reference, "reference", NAME)
    limit = before.quantile(0.99)
    beyond = float(now.share[now.value > limit].sum())
    told = (
        None
        if drift is None
        else replace(drift, results=tuple(_describe_drift(scale, result) for result in drift.results))
    )
    return OodFindings(scale.name, now.size, *quantiles, *_quantiles(scale, before), beyond, told)


def _quantiles(scale: OodScale, sample: Sample) -> tuple[float, float, float]:
    median, p90, p99 = (scale.value(sample.quantile(share)) for share in (0.5, 0.9, 0.99))
    return median, p90, p99


def _describe_drift(scale: OodScale, result: DriftResult) -> DriftResult:
    """The size of a change in the units of the score, where the distance has them."""
    if result.statistic == "wasserstein":
        return replace(result, effect=f"mean displacement {result.value:.3g} on the Cauchy scale of the reference data")
    if result.statistic != "ks_2samp":
        return result
    at = scale.value(result.details["at"])
    way = "above" if result.details["higher"] >= result.details["lower"] else "at or below"
    effect = f"the share of rows {way} {at:.4g} grew by {100 * result.value:.3g} percentage points"
    return replace(result, effect=effect, details={**result.details, "at": at})
