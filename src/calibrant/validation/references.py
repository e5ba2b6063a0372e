"""Reference values: numbers that other sources give for calls of this package, and their comparison with what it gives here."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

import calibrant as cal

from ..errors import FileError

# What each file compares with, in the order of the dossier.
GROUPS = {
    "definitions": "definitions, by independent code",
    "r": "packages of R",
    "peers": "packages of Python",
    "published": "values published with a package of Julia",
    "stored": "values of an earlier version",
}


@dataclass(frozen=True)
class Reference:
    """A stored value, and where it is from.

    Parameters
    ----------
    id : str
        Group, topic and number.
    topic : str
        The metric, test, calibrator or decision.
    kind : str
        ``"metric"``, ``"test"``, ``"interval"``, ``"calibrator"``, ``"decision"``, ``"summary"`` (curves, decompositions and tables of several
        measures), or ``"identity"``.
    call : str
        The call, in Python.
    data : str
        Name of the arrays that the call uses.
    value : float or list of float
        The value of the source.
    source : str
        Package with its version, or how the value was obtained.
    source_call : str
        The call at the source.
    tolerance : float
        Largest difference that passes, relative where the value exceeds 1.
    reason : str
        Why the tolerance is not smaller.

    Examples
    --------
    >>> from calibrant.validation.references import load
    >>> load("r")[0].source
    'stats 4.2.2, R 4.2.2; tests/r/recalibration.R'
    """

    id: str
    topic: str
    kind: str
    call: str
    data: str
    value: float | list[float]
    source: str
    source_call: str
    tolerance: float
    reason: str


@dataclass(frozen=True)
class Compared:
    """A stored value beside the value of this installation.

    Parameters
    ----------
    reference : Reference
        The stored value.
    found : float, list of float or None
        The value of this installation; None if the call raised an error.
    error : str, default ""
        The error.

    Examples
    --------
    >>> from calibrant.validation.references import compare, load
    >>> compare(load("definitions")[0]).passed
    True
    """

    reference: Reference
    found: float | list[float] | None
    error: str = ""

    @property
    def difference(self) -> float:
        """Largest difference, relative to the reference value where that exceeds 1."""
        if self.found is None:
            return math.inf
        value, expected = np.ravel(self.found).astype(float), np.ravel(self.reference.value).astype(float)
        if value.shape != expected.shape:
            return math.inf
        same = (value == expected) | (np.isnan(value) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            apart = np.abs(value - expected) / np.maximum(1, np.abs(expected))
        return float(np.max(np.where(same, 0, np.where(np.isnan(apart), math.inf, apart)), initial=0.0))

    @property
    def passed(self) -> bool:
        """Whether the difference is within the tolerance."""
        return not self.error and self.difference <= self.reference.tolerance


def load(group: str) -> list[Reference]:
    """All reference values of a group."""
    references: list[Reference] = []
    numbers: dict[str, int] = {}
    for common, rows in stored_json(group)["rows"]:
        for row in rows:
            entry = {**common, **row}
            numbers[entry["topic"]] = numbers.get(entry["topic"], 0) + 1
            references.append(Reference(f"{group}/{entry['topic']}/{numbers[entry['topic']]}", **entry))
    return references


def compare(reference: Reference) -> Compared:
    """Evaluate the call of a reference value here."""
    arrays = _arrays(reference.id.partition("/")[0], reference.data)
    return Compared(reference, *evaluate(reference.call, arrays))


def evaluate(call: str, arrays: Mapping[str, Any]) -> tuple[float | list[float] | None, str]:
    """The value of a call, or the error that it ends in."""
    names: dict[str, Any] = {"cal": cal, "np": np, "math": math, **arrays}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # The text is the package's own data, shipped beside this file, and shown as it is evaluated.
            value = np.asarray(eval(call, names), dtype=float)  # noqa: S307
    except Exception as error:  # whatever it is, it is the finding of this row
        return None, f"{type(error).__name__}: {error}"
    return value.ravel().tolist() if value.ndim else float(value), ""


@lru_cache
def stored_json(group: str) -> Any:
    """Return the content of a file with stored values."""
    file = files(__package__) / "references" / f"{group}.json"
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(str(file), f"cannot be read ({reason})", "install calibrant again") from error


@lru_cache(maxsize=4)
def _arrays(group: str, name: str) -> dict[str, Any]:
    return {column: np.array(values) for column, values in stored_json(group)["data"][name].items()}
