"""Maps as JSON files: a closed table of types, a checksum, floats bit for bit; nothing that is read can run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__, curves
from ..errors import FileError, InputTypeError, NotFittedError
from ..files import read_limited, write_atomic
from .base import CalibrationMap, FitRecord

__all__ = ["load", "save"]

SCHEMA = 1
MOST_BYTES = 64 << 20
MODULES = ("choosing", "scaling", "binary", "binning", "venn", "adjust", "grouped", "ordered")


@cache
def map_types() -> dict[str, type[CalibrationMap]]:
    """Every map that can be saved, by name."""
    found: dict[str, type[CalibrationMap]] = {}
    for name in MODULES:
        try:
            module = import_module(f"{__package__}.{name}")
        except ModuleNotFoundError:
            continue
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, CalibrationMap) and value.__module__ == module.__name__:
                found[value.__name__] = value
    return found


@cache
def curve_types() -> dict[str, type[Any]]:
    """Every curve that can be saved, by name."""
    return {name: value for name, value in vars(curves).items() if isinstance(value, type) and is_dataclass(value)}


def save(map: CalibrationMap, path: str | os.PathLike[str], *, preprocessing: str | None = None) -> Path:
    """Write a fitted map to a JSON file; the old file or the new one is there at any moment, never a part.

    `preprocessing` says how the scores came to be; `load` compares it with what it is given.
    """
    if not isinstance(map, CalibrationMap):
        raise InputTypeError("map", f"must be a fitted map; got {type(map).__name__}")
    if not hasattr(map, "fit_record_"):
        raise NotFittedError(type(map).__name__, "is not fitted yet", "call fit(scores, y) first")
    content = _state(map)
    if preprocessing is not None:
        content["fit"]["preprocessing"] = str(preprocessing)
    document = {"calibrant_map": SCHEMA, "calibrant": __version__, "content": content, "checksum": _checksum(content)}
    return write_atomic(path, (json.dumps(document, indent=1, allow_nan=False, ensure_ascii=True) + "\n").encode())


def load(path: str | os.PathLike[str], *, preprocessing: str | None = None) -> CalibrationMap:
    """Read a map written by `save`; a `preprocessing` that differs from the one it was saved with is an error."""
    document = _document(path)
    content = document["content"]
    if document.get("checksum") != _checksum(content):
        raise FileError(str(path), "is damaged: its checksum does not match", "save the map again")
    try:
        map = _from_state(content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FileError(str(path), f"holds no valid map ({error})", "save the map again") from error
    known = map.fit_record_.preprocessing
    if preprocessing is not None and known is not None and preprocessing != known:
        remedy = "prepare the scores in the same way, or refit"
        raise FileError(str(path), f"was fitted on scores prepared as {known!r}, not {preprocessing!r}", remedy)
    return map


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    raw = read_limited(path, MOST_BYTES)
    try:
        document = json.loads(raw.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise FileError(str(path), f"is no readable JSON ({error})", "pass a file written by save") from None
    if not isinstance(document, dict) or "calibrant_map" not in document or "content" not in document:
        raise FileError(str(path), "is no map of calibrant", "pass a file written by save")
    if document["calibrant_map"] != SCHEMA:
        version = document["calibrant_map"]
        raise FileError(str(path), f"has format {version!r}, and this calibrant reads {SCHEMA}", "update calibrant")
    return document


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _checksum(content: Any) -> str:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _state(map: CalibrationMap) -> dict[str, Any]:
    if type(map).__name__ not in map_types():
        raise InputTypeError("map", f"{type(map).__name__} is no map of calibrant, and only those can be saved")
    return {
        "type": type(map).__name__,
        "params": {name: _encode(value) for name, value in map.get_params(deep=False).items()},
        "classes": _encode(map.classes_),
        "columns": int(map.n_features_in_),
        "fitted": {name: _encode(getattr(map, name)) for name in map.fitted},
        "fit": asdict(map.fit_record_),
    }


def _from_state(content: dict[str, Any]) -> CalibrationMap:
    kind = map_types().get(content["type"])
    if kind is None:
        raise ValueError(f"unknown type {content['type']!r}")
    map = kind(**{name: _decode(value) for name, value in content["params"].items()})
    map._check_params()
    map.classes_ = _decode(content["classes"])
    map.n_features_in_ = int(content["columns"])
    if set(content["fitted"]) != set(kind.fitted):
        raise ValueError("the fitted values are not those of its type")
    for name in kind.fitted:
        setattr(map, name, _decode(content["fitted"][name]))
    map.fit_record_ = replace(FitRecord(0, 0.0, ""), **content["fit"])
    return map


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if np.isfinite(number) else {"number": repr(number)}
    if isinstance(value, np.ndarray):
        return {
            "array": [_encode(x) for x in value.ravel().tolist()],
            "shape": list(value.shape),
            "dtype": value.dtype.str,
        }
    if isinstance(value, (tuple, list)):
        return {"tuple": [_encode(item) for item in value]}
    if isinstance(value, dict):
        return {"mapping": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, CalibrationMap):
        return {"map": _state(value)} if hasattr(value, "fit_record_") else {"bare": _bare(value)}
    if is_dataclass(value) and type(value).__name__ in curve_types():
        inner = {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
        return {"curve": type(value).__name__, "fields": inner}
    raise InputTypeError("map", f"holds a {type(value).__name__}, which cannot be saved")


def _bare(map: CalibrationMap) -> dict[str, Any]:
    return {"type": type(map).__name__, "params": {k: _encode(v) for k, v in map.get_params(deep=False).items()}}


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ValueError("a bare list")
        return value
    for word, read in READERS.items():
        if word in value:
            return read(value)
    raise ValueError(f"unknown entry {sorted(value)[:3]}")


def _array(value: dict[str, Any]) -> Any:
    kind = np.dtype(value["dtype"])
    if kind.kind not in "biufU":
        raise ValueError(f"arrays of type {value['dtype']!r} are not read")
    return np.array([_decode(item) for item in value["array"]], dtype=kind).reshape(value["shape"])


def _curve(value: dict[str, Any]) -> Any:
    curve = curve_types()[value["curve"]](**{name: _decode(inner) for name, inner in value["fields"].items()})
    at, heights = (
        getattr(curve, "scores", getattr(curve, "knots", None)),
        getattr(curve, "rates", getattr(curve, "heights", None)),
    )
    if at is not None and heights is not None and (len(at) != len(heights) or (np.diff(at) < 0).any()):
        raise ValueError("a curve whose points do not rise")
    return curve


def _unfitted(value: dict[str, Any]) -> CalibrationMap:
    inner = value["bare"]
    return map_types()[inner["type"]](**{name: _decode(item) for name, item in inner["params"].items()})


READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "number": lambda value: {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}[value["number"]],
    "array": _array,
    "tuple": lambda value: tuple(_decode(item) for item in value["tuple"]),
    "mapping": lambda value: {_decode(key): _decode(item) for key, item in value["mapping"]},
    "map": lambda value: _from_state(value["map"]),
    "bare": _unfitted,
    "curve": _curve,
}
