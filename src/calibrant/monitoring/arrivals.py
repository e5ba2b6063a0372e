"""Rows as they arrive: scores with the class each speaks of, labels that may be missing, times, ids and groups; checked once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InputTypeError, LensError, ShapeError
from ..input.convert import Column, column, is_missing
from ..input.labels import encode_labels
from ..input.predictions import Predictions
from ..input.weights import read_groups
from .settings import Settings
from .windows import read_times

__all__ = ["Arrivals", "group_key", "group_name", "read_arrivals", "read_ids", "read_labels"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
# From here on floats leave out whole numbers.
EXACT = 2.0**53
UNKNOWN = -1
"""The code of a label that has not come."""
ALL_ROWS = "null"
"""The key of the stream of all rows."""


@dataclass(frozen=True)
class Arrivals:
    """Rows of one delivery."""

    score: Floats
    target: Whole
    """The class whose coming true makes the outcome of the row 1."""
    label: Whole
    """Class of each row, -1 where it is not known yet."""
    time: Whole | None
    """Microseconds since 1970."""
    ids: list[str] | None
    group: list[str] | None
    """Key of the group of each row."""

    @property
    def n(self) -> int:
        return len(self.score)

    def digest(self) -> str:
        """A fingerprint of everything in it."""
        found = hashlib.sha256()
        for part in (self.score, self.target, self.label, self.time):
            found.update(b"none" if part is None else np.ascontiguousarray(part).tobytes())
        found.update(json.dumps([self.ids, self.group]).encode())
        return found.hexdigest()


def read_arrivals(
    y_true: Any, y_prob: Any, *, settings: Settings, when: Any, ids: Any, groups: Any, words: Mapping[str, Any]
) -> Arrivals:
    """What a user passed, checked.

    Parameters
    ----------
    y_true
        Labels, with None or NaN where they are not known; None where none is.
    y_prob
        Probabilities, as for `Predictions`, whose keywords `words` holds.
    settings
        Those of the monitor.
    when, ids, groups
        Time, id and group of each row.
    words
        ``input``, ``normalize``, ``clip`` or ``sum_tolerance``.

    Examples
    --------
    >>> from calibrant.monitoring.arrivals import read_labels
    >>> read_labels([1, None, 0], 3, k=2, classes=None).tolist()
    [1, -1, 0]
    """
    scores = column(y_prob, "y_prob").array
    n = len(scores)
    if settings.kind == "confidence":
        words = {**words, "input": "confidence"}
    p = Predictions.derived(np.zeros(n, np.int64), scores, **words)
    if p.kind != settings.kind or p.k != settings.k:
        raise ShapeError(
            "y_prob",
            f"holds {p.kind} predictions of {p.k} classes, and the monitor watches {settings.kind} ones of {settings.k}",
            "pass what the reference held",
        )
    score, target = _seen(p, settings)
    label = read_labels(y_true, n, k=settings.k, classes=settings.names)
    if when is None and settings.rule.by_time:
        raise InputError("when", "is missing, and windows are spans of time", "pass the time of each prediction")
    time = None if when is None else read_times(when, n)
    return Arrivals(score, target, label, time, read_ids(ids, n), _group_keys(groups, n))


def _seen(p: Predictions, settings: Settings) -> tuple[Floats, Whole]:
    """The score of each row, and the class it speaks of."""
    probs, lens = p.probs, settings.lens
    if p.kind == "confidence":
        return np.asarray(probs, np.float64), np.ones(p.n, np.int64)
    if lens == "binary":
        return np.asarray(probs if probs.ndim == 1 else probs[:, 1], np.float64), np.ones(p.n, np.int64)
    if lens == "top_label":
        best = np.asarray(p.predicted, np.int64)
        top = np.maximum(probs, 1 - probs) if probs.ndim == 1 else probs[np.arange(p.n), best]
        return np.asarray(top, np.float64), best
    names = [str(name) for name in settings.classes]
    if lens.removeprefix("class:") not in names:
        raise LensError("lens", f"there is no class {lens.removeprefix('class:')!r}", f"the classes are {names[:20]}")
    which = names.index(lens.removeprefix("class:"))
    own = (probs if which else 1 - probs) if probs.ndim == 1 else probs[:, which]
    return np.asarray(own, np.float64), np.full(p.n, which, np.int64)


def read_labels(y_true: Any, n: int, *, k: int, classes: tuple[Any, ...] | None) -> Whole:
    """Class numbers of labels, -1 where one is missing."""
    if y_true is None:
        return np.full(n, UNKNOWN, np.int64)
    array, hole = _with_holes(y_true)
    if len(array) != n:
        raise ShapeError("y_true", f"has {len(array)} entries, and there are {n} rows", "pass one label for each row")
    if hole.all():
        return np.full(n, UNKNOWN, np.int64)
    kept = array[~hole].tolist()
    filled = array.astype(object)
    filled[hole] = kept[0]
    plain = np.array(filled.tolist())
    codes = encode_labels(Column(plain, "float64"), k, classes, None, np.full(1, 0.5))
    return np.where(hole, UNKNOWN, codes.astype(np.int64))


def _with_holes(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The labels, and where they are missing."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(values.filled(values.data.flat[0] if values.size else 0)), np.ma.getmaskarray(
            values
        ) | _holes(np.asarray(values.data))
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.ndim != 1:
        raise ShapeError("y_true", f"has {array.ndim} dimensions", "pass one label for each row")
    return array, _holes(array)


def _holes(array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind == "O":
        return np.array([is_missing(value) for value in array.tolist()], bool)
    return np.zeros(len(array), bool)


def read_ids(ids: Any, n: int | None) -> list[str] | None:
    """Ids as text; 7 and "7" are the same id, since files do not tell them apart."""
    if ids is None:
        return None
    try:
        array = np.asarray(ids.to_numpy() if hasattr(ids, "to_numpy") else ids)
    except (TypeError, ValueError) as error:
        raise InputTypeError("ids", f"holds no ids ({error})") from None
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise ShapeError("ids", f"has shape {array.shape}, and there are {n} rows", "pass one id for each row")
    if isinstance(ids, np.ma.MaskedArray) and np.ma.is_masked(ids):
        row = int(np.argmax(np.ma.getmaskarray(ids)))
        raise InputError("ids", f"row {row} has no id", "every row needs one", row=row)
    if array.dtype.kind == "f" and (np.abs(array) >= EXACT).any():
        row = int(np.argmax(np.abs(array) >= EXACT))
        told = f"row {row} is {array[row].item()!r}, a float so large that neighbouring ids look the same"
        raise InputError("ids", told, "pass ids as text or as whole numbers", row=row)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        array = array.astype(np.int64)
    hole = _holes(array)
    if hole.any():
        row = int(np.argmax(hole))
        raise InputError("ids", f"row {row} has no id", "every row needs one", row=row)
    return [str(value) for value in array.tolist()]


def group_key(name: Any) -> str:
    """The name of a group as text that keeps its type; that of all rows is None."""
    plain = name.item() if isinstance(name, np.generic) else name
    return json.dumps(plain if plain is None or isinstance(plain, (str, int, float)) else str(plain))


def group_name(key: str) -> Any:
    """The name of a group from its key."""
    return json.loads(key)


def _group_keys(groups: Any, n: int) -> list[str] | None:
    codes, names = read_groups(groups, n)
    if codes is None:
        return None
    keys = np.array([group_key(name) for name in names], object)
    found: list[str] = keys[codes].tolist()
    return found
