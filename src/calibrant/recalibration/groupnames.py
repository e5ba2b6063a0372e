"""Names of the groups of rows: learnt in fit, found again in predict, whatever type they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GroupError
from ..input.weights import read_groups
from .reading import names_array

__all__ = ["NEEDED", "UNKNOWN", "known_groups", "learnt_groups", "name_at"]

NEEDED = "pass the group of each row as groups="
UNKNOWN = -1


def _as_given(groups: Any, rows: int) -> NDArray[Any]:
    """One name for each row, of the type it has."""
    if groups is None:
        raise GroupError("groups", "are needed", NEEDED)
    names = np.asarray(groups, dtype=object) if isinstance(groups, (list, tuple)) else np.asarray(groups)
    if names.shape != (rows,):
        raise GroupError("groups", f"have shape {names.shape}, and {rows} rows need shape ({rows},)", NEEDED)
    return names


def learnt_groups(groups: Any, rows: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The group of each row as a number, and the names in order."""
    codes, names = read_groups(_as_given(groups, rows), rows)
    assert codes is not None
    return codes, names_array(names)


def known_groups(groups: Any, known: NDArray[Any], rows: int) -> NDArray[np.intp]:
    """The same for groups fitted before, as Python compares names: 1 is 1.0, and never "1"; `UNKNOWN` for others."""
    names = _as_given(groups, rows)
    place = {name: code for code, name in enumerate(known.tolist())}
    if names.dtype.kind == "O":
        try:
            return np.fromiter((place.get(name, UNKNOWN) for name in names.tolist()), np.intp, rows)
        except TypeError as error:
            raise GroupError("groups", f"hold what names no group ({error})", "pass text or numbers") from None
    distinct, codes = np.unique(names, return_inverse=True)
    return np.array([place.get(name, UNKNOWN) for name in distinct.tolist()], dtype=np.intp)[codes]


def name_at(groups: Any, row: int) -> Any:
    """The name of the group of one row, as plain text or number."""
    name = np.asarray(groups, dtype=object)[row]
    return name.item() if isinstance(name, np.generic) else name
