"""recalibrate: which map, if any, makes held-out probabilities better, and by how much?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._checks import check_whole
from .._results import frame_of, html_table, number, text_table
from ..errors import ArgumentError, CalibrantError, CalibrantWarning, UndefinedMetricError
from ..predictions import Predictions
from ..registry import catalogue
from .base import CalibrationMap, Floats, Scores, TrainingData

__all__ = ["Candidate", "Identity", "Recalibration", "recalibrate"]

Loss = Literal["nll", "brier"]
# The smallest probability that a held-out label is taken to have had.
FLOOR = 1e-12


class Identity(CalibrationMap):
    """Leaves the probabilities as they are."""

    keeps_order = True
    keeps_argmax = True

    def __init__(self, input: Literal["prob", "logit"] = "prob") -> None:
        self.input = input

    def _fit(self, data: TrainingData) -> None:
        pass

    def _predict(self, data: Scores) -> Floats:
        return data.probs


@dataclass(frozen=True)
class Candidate:
    """One map tried on held-out rows: its mean loss, and how much lower that is than without any map."""

    method: str
    loss: float
    gain: float
    low: float
    high: float
    ece: float
    reason: str = ""
    """Why it could not be fitted; empty where it could."""


@dataclass(frozen=True)
class Recalibration:
    """The chosen map, fitted on all rows, and what every candidate gained on rows it had not seen."""

    method: str
    map: CalibrationMap
    candidates: tuple[Candidate, ...]
    loss: str
    level: float
    n: int
    note: str = ""

    def predict_proba(self, scores: Any) -> Floats:
        """Probabilities of the chosen map."""
        return self.map.predict_proba(scores)

    @property
    def gain(self) -> float:
        """How much lower the held-out loss is than without any map."""
        return next(c.gain for c in self.candidates if c.method == self.method)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without the map."""
        return {
            "method": self.method,
            "loss": self.loss,
            "level": self.level,
            "n": self.n,
            "note": self.note,
            "candidates": [vars(candidate) for candidate in self.candidates],
        }

    def to_frame(self) -> Any:
        """One row for each candidate, as a frame of the library at hand."""
        rows = [vars(candidate) for candidate in self.candidates]
        return frame_of({name: [row[name] for row in rows] for name in Candidate.__dataclass_fields__})

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for c in self.candidates:
            mark = "*" if c.method == self.method else ""
            if c.reason:
                rows.append([mark, c.method, "", "", "", "", c.reason])
                continue
            span = "" if c.method == "none" else f"[{number(c.low)}, {number(c.high)}]"
            rows.append([mark, c.method, number(c.loss), number(c.gain), span, number(c.ece), ""])
        return ["", "method", f"held-out {self.loss}", "gain", f"{self.level:.0%} interval", "ece", ""], rows

    def __repr__(self) -> str:
        verdict = (
            f"{self.method}: chosen on {self.n:,} rows" if self.method != "none" else "leave it alone: no map helps"
        )
        return "\n".join([verdict, *text_table(*self._table()), *([f"note: {self.note}"] if self.note else [])])

    def _repr_html_(self) -> str:
        return html_table(*self._table())


def recalibrate(
    y_true: Any,
    y_prob: Any,
    *,
    method: str | CalibrationMap | Iterable[str] = "auto",
    loss: Loss = "nll",
    folds: int = 5,
    level: float = 0.95,
    sample_weight: Any = None,
    input: Literal["prob", "logit"] = "prob",
    rng: Any = 0,
) -> Recalibration:
    """Choose a map by its loss on held-out folds, and fit it on all rows; leaving the scores alone is always a candidate.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities (or logits, with ``input="logit"``) of validation rows.
    method
        ``"auto"``, the name of one map, several names, or a map; the names are in `METHODS`.
    loss
        Strictly proper score to compare by: ``"nll"`` or ``"brier"``.
    folds
        Number of folds.
    level
        Of the interval for the gain.
    sample_weight
        Weight of each row.
    rng
        Seed of the shuffle that makes the folds.

    Examples
    --------
    >>> import calibrant as cal
    >>> sure = cal.make_miscalibrated(2000, warp=cal.simulate.temperature(2.0), rng=0)
    >>> found = cal.recalibrate(sure.y_true, sure.y_prob)
    >>> found.method != "none", found.gain > 0
    (True, True)
    """
    if loss not in ("nll", "brier"):
        raise ArgumentError("loss", f"must be 'nll' or 'brier'; got {loss!r}")
    check_whole(folds, "folds", 2)
    p = Predictions(y_true, y_prob, sample_weight=sample_weight, input=input)
    if p.labels is None or p.kind not in ("binary", "multiclass"):
        raise UndefinedMetricError("recalibrate", "needs one class for each row")
    if (p.labels == p.labels[0]).all():
        raise UndefinedMetricError("recalibrate", "needs rows of two classes, and all labels are the same")
    if p.n < 2 * folds:
        raise UndefinedMetricError("recalibrate", f"needs at least {2 * folds} rows for {folds} folds; there are {p.n}")
    maps = {"none": Identity(input), **_named(method, p, input)}
    fold = np.random.default_rng(rng).permutation(p.n) % folds
    held = {name: _held_out(map, p, fold, folds) for name, map in maps.items()}
    candidates = _compared(held, p, loss, level)
    best = min((c for c in candidates if not c.reason), key=lambda c: c.loss)
    data = TrainingData(p)
    chosen = _fitted(maps[best.method], data)
    return Recalibration(best.method, chosen, tuple(candidates), loss, level, p.n, _note(best, candidates[0]))


def _named(method: Any, p: Predictions, input: str) -> dict[str, CalibrationMap]:
    from . import METHODS

    if isinstance(method, CalibrationMap):
        return {type(method).__name__: method}
    listed = [method] if isinstance(method, str) else list(method)
    names = _automatic(p) if method == "auto" else listed
    for name in names:
        if name not in METHODS:
            raise ArgumentError("method", f"{name!r} is no map", f"known: auto, {', '.join(METHODS)}")
    return {name: METHODS[name](input=input) for name in names if name != "none"}


def _automatic(p: Predictions) -> list[str]:
    """Few parameters for few rows; only maps that there are."""
    names = ["temperature"]
    if p.kind == "binary":
        names += ["platt"]
        names += ["beta", "quadratic_logit"] if p.n >= 200 else []
        return names + (["centered_isotonic", "isotonic", "spline"] if p.n >= 2000 else [])
    names += ["bias_corrected_temperature", "ensemble_temperature"] if p.n >= 20 * p.k else []
    names += ["vector"] if p.n >= 100 * p.k else []
    return names + (["isotonic_pooled"] if p.n >= 2000 else [])


def _fitted(map: CalibrationMap, data: TrainingData) -> CalibrationMap:
    """A fitted copy; what a bad fit warns about is the business of its held-out loss."""
    copy = type(map)(**map.get_params(deep=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        given = data._p.logits if data._p.logits is not None else data._p.probs
        return copy.fit(given, data.labels, data._p.weight)


def _held_out(map: CalibrationMap, p: Predictions, fold: NDArray[Any], folds: int) -> Floats | str:
    """Probabilities of rows by a map that has not seen them, or why there are none."""
    out = np.empty((p.n, p.k))
    try:
        for number_ in range(folds):
            rows = fold == number_
            fitted = _fitted(map, TrainingData(p.take(~rows)))
            out[rows] = fitted.apply(Scores(p.take(rows)))
    except CalibrantError as error:
        return error.problem
    return out


def _compared(held: dict[str, Floats | str], p: Predictions, loss: str, level: float) -> list[Candidate]:
    from scipy.special import ndtri

    assert p.labels is not None
    weight = np.ones(p.n) if p.weight is None else p.weight.astype(np.float64)
    weight = weight / weight.sum()
    plain: Floats | None = None
    found = []
    for name, probs in held.items():
        if isinstance(probs, str):
            found.append(Candidate(name, math.inf, -math.inf, -math.inf, math.inf, math.nan, probs))
            continue
        rows = _losses(probs, p.labels, loss)
        plain = rows if plain is None else plain
        gain = plain - rows
        mean = float(weight @ gain)
        half = float(ndtri((1 + level) / 2)) * math.sqrt(float(weight**2 @ np.square(gain - mean)))
        ece = catalogue["ece"](p.labels, probs, sample_weight=p.weight)
        found.append(Candidate(name, float(weight @ rows), mean, mean - half, mean + half, ece))
    return found


def _losses(probs: Floats, labels: NDArray[Any], loss: str) -> Floats:
    own = probs[np.arange(len(labels)), labels]
    if loss == "nll":
        return -np.log(np.maximum(own, FLOOR))
    return np.asarray(np.square(probs).sum(axis=1) - 2 * own + 1)


def _note(best: Candidate, plain: Candidate) -> str:
    if best.method == "none":
        return ""
    if best.ece > plain.ece:
        return (
            f"ece rose from {number(plain.ece)} to {number(best.ece)} although the loss fell: ece looks at one question in bins, "
            "where errors can cancel; the loss is a proper score of every row, so trust it more"
        )
    return "" if best.low > 0 else "the gain may be chance: its interval holds 0"
