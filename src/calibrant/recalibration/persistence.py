"""Calibrators as JSON files: a fixed set of types, a checksum, floats preserved bit for bit; no code is executed when reading."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..binning.parse import NAMED
from ..binning.rules import Edges, Levels
from ..binning.table import BinTable
from ..curves import curves
from ..errors import FileError, InputTypeError
from ..plugins import load as load_plugins
from ..util.files import read_limited, write_atomic
from ..util.version import __version__
from .base import Calibrator, FitRecord, as_fitted
from .methods import TYPES

if TYPE_CHECKING:
    from .choosing import Recalibration
from .scores import names_array

SCHEMA = 1
ARRAYS = "biufU"
MOST_BYTES = 64 << 20
# Exceptions that a file edited by hand can raise while it is read.
INVALID = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, MemoryError, RuntimeError)
# Rules of bins that can be parameters of a calibrator.
RULES: dict[str, type[Any]] = {kind.__name__: kind for kind in (Edges, Levels, *NAMED.values())}


@cache
def curve_types() -> dict[str, type[Any]]:
    """All curves that can be saved, by name."""
    return {name: value for name, value in vars(curves).items() if isinstance(value, type) and is_dataclass(value)}


def save(
    calibrator: Calibrator | Recalibration, path: str | os.PathLike[str], *, preprocessing: str | None = None
) -> Path:
    """Write a fitted calibrator to a JSON file.

    The file contains numbers only, no code, and is replaced atomically.

    Parameters
    ----------
    calibrator : Calibrator or Recalibration
        Fitted calibrator, or the result of `recalibrate`, whose calibrator is saved.
    path : path-like
        File to write.
    preprocessing : str, optional
        Description of how the scores are computed; `load` compares it with its own argument.

    Returns
    -------
    pathlib.Path
        Path of the file.

    Raises
    ------
    NotFittedError
        If the calibrator is not fitted.
    InputTypeError
        If it is not a registered calibrator or holds values that cannot be saved.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import calibrant as cal
    >>> calibrator = cal.TemperatureScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = cal.save(calibrator, Path(folder) / "calibrator.json", preprocessing="resize 224")
    ...     cal.load(path).temperature_ == calibrator.temperature_
    True
    """
    return write_atomic(path, to_text(calibrator, preprocessing).encode())


def to_text(calibrator: Calibrator | Recalibration, preprocessing: str | None = None) -> str:
    """The text that `save` writes."""
    content = _state(as_fitted(calibrator))
    if preprocessing is not None:
        content["fit"]["preprocessing"] = str(preprocessing)
    document = {"calibrant_map": SCHEMA, "calibrant": __version__, "content": content, "checksum": _checksum(content)}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=True) + "\n"


def load(path: str | os.PathLike[str], *, preprocessing: str | None = None) -> Calibrator:
    """Read a calibrator written by `save`.

    Parameters
    ----------
    path : path-like
        File written by `save`.
    preprocessing : str, optional
        Description of how the scores are computed. It must agree with the description in the file, if there is one.

    Returns
    -------
    Calibrator
        The fitted calibrator; its predictions agree bit for bit with those of the calibrator that was saved.

    Raises
    ------
    FileError
        If the file is damaged, is not a calibrator, or describes another preprocessing.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import calibrant as cal
    >>> calibrator = cal.PlattScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = cal.save(calibrator, Path(folder) / "calibrator.json")
    ...     type(cal.load(path)).__name__
    'PlattScaling'
    """
    calibrator = from_text(read_limited(path, MOST_BYTES), str(path))
    known = calibrator.fit_record_.preprocessing
    if preprocessing is not None and known is not None and preprocessing != known:
        remedy = "prepare the scores in the same way, or fit again"
        raise FileError(str(path), f"was fitted on scores prepared as {known!r}, not {preprocessing!r}", remedy)
    return calibrator


def from_text(text: bytes, source: str) -> Calibrator:
    """The calibrator that `save` wrote; `source` is named in messages."""
    remedy = "give a file that `calibrant fit` or the function save wrote"
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(source, f"is not valid JSON ({error})", remedy) from None
    if not isinstance(document, dict) or "calibrant_map" not in document or "content" not in document:
        raise FileError(source, "is not a calibrant calibrator", remedy)
    if document["calibrant_map"] != SCHEMA:
        problem = f"has format {document['calibrant_map']!r}; this version of calibrant reads {SCHEMA}"
        raise FileError(source, problem, "update calibrant")
    try:
        sealed = document.get("checksum") == _checksum(document["content"])
        calibrator = _from_state(document["content"]) if sealed else None
    except FileError as error:
        raise error.replaced(argument=source) from None
    except INVALID as error:
        raise FileError(source, f"is not a valid calibrator ({error})", "save it again") from error
    if calibrator is None:
        raise FileError(source, "is corrupt: the checksum does not match", "save it again")
    return calibrator


def _checksum(content: Any) -> str:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _state(calibrator: Calibrator) -> dict[str, Any]:
    if type(calibrator).__name__ not in TYPES:
        raise InputTypeError(
            "calibrator", f"{type(calibrator).__name__} is not a calibrant calibrator and cannot be saved"
        )
    names = list(calibrator.fitted)
    if getattr(calibrator, "scale_", 1.0) != 1:
        names.append("scale_")
    return {
        **_unfitted_state(calibrator),
        "classes": _encode(calibrator.classes_),
        "columns": int(calibrator.n_features_in_),
        "fitted": {name: _encode(getattr(calibrator, name)) for name in names},
        "fit": asdict(calibrator.fit_record_),
    }


def _unfitted_state(calibrator: Calibrator) -> dict[str, Any]:
    return {
        "type": type(calibrator).__name__,
        "params": {name: _encode(value) for name, value in calibrator.get_params(deep=False).items()},
    }


def _unfitted(content: dict[str, Any]) -> Calibrator:
    kind = content["type"]
    if kind not in TYPES and not (load_plugins("calibrators") and kind in TYPES):
        remedy = "install the package that defines it, or import its module (on the command line: --plugin MODULE)"
        raise FileError("type", f"unknown type {kind!r}", remedy)
    return TYPES[kind](**{name: _decode(value) for name, value in content["params"].items()})


def _from_state(content: dict[str, Any]) -> Calibrator:
    calibrator = _unfitted(content)
    calibrator._check_params()
    calibrator.classes_ = _decode(content["classes"])
    calibrator.n_features_in_ = int(content["columns"])
    optional = {"scale_"} if hasattr(type(calibrator), "scale_") else set()
    if set(content["fitted"]) - optional != set(calibrator.fitted):
        raise ValueError("the fitted values do not match the type")
    for name, value in content["fitted"].items():
        setattr(calibrator, name, _decode(value))
    calibrator.fit_record_ = replace(FitRecord(0, 0.0, ""), **content["fit"])
    return calibrator


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if np.isfinite(number) else {"number": repr(number)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "OT":
        plain = names_array(value.tolist())
        if plain.dtype.kind != "O":
            return _encode(plain)
        return {"names": [_encode(name) for name in plain.tolist()]}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in ARRAYS:
            problem = f"contains an array of {value.dtype}, which cannot be saved"
            raise InputTypeError("calibrator", problem, "name classes and groups by text or numbers")
        if value.dtype.kind == "U" and value.size:
            value = np.array(value.tolist())  # as long as its longest text
        return {
            "array": [_encode(x) for x in value.ravel().tolist()],
            "shape": list(value.shape),
            "dtype": value.dtype.str,
        }
    if isinstance(value, (tuple, list)):
        return {"tuple": [_encode(item) for item in value]}
    if isinstance(value, dict):
        return {"mapping": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if isinstance(value, Calibrator):
        return {"calibrator": _state(value)} if hasattr(value, "fit_record_") else {"bare": _unfitted_state(value)}
    if is_dataclass(value) and type(value).__name__ in curve_types():
        inner = {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
        return {"curve": type(value).__name__, "fields": inner}
    if isinstance(value, BinTable):  # other rows are placed by its edges
        value = Edges(tuple(value.edges.tolist()), value.closed)
    if type(value) in RULES.values():
        return {
            "rule": type(value).__name__,
            "fields": {f.name: _encode(getattr(value, f.name)) for f in fields(value)},
        }
    raise InputTypeError("calibrator", f"contains a {type(value).__name__}, which cannot be saved")


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ValueError("a bare list")
        return value
    for key, read in READERS.items():
        if key in value:
            return read(value)
    raise ValueError(f"unknown entry {sorted(value)[:3]}")


def _array(value: dict[str, Any]) -> Any:
    kind, items = np.dtype(value["dtype"]), [_decode(item) for item in value["array"]]
    if kind.kind not in ARRAYS:
        raise ValueError(f"arrays of type {value['dtype']!r} are not supported")
    # Text is as long as its longest, whatever the file states: the length costs memory.
    return np.array(items, dtype=str if kind.kind == "U" else kind).reshape(value["shape"])


def _names(value: dict[str, Any]) -> Any:
    names = [_decode(name) for name in value["names"]]
    if not all(isinstance(name, (str, int, float)) for name in names):
        raise ValueError("names are text or numbers")
    return names_array(names)


def _decode_fields(value: dict[str, Any]) -> dict[str, Any]:
    return {name: _decode(inner) for name, inner in value["fields"].items()}


READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "number": lambda value: {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}[value["number"]],
    "array": _array,
    "names": _names,
    "tuple": lambda value: tuple(_decode(item) for item in value["tuple"]),
    "mapping": lambda value: {_decode(key): _decode(item) for key, item in value["mapping"]},
    "calibrator": lambda value: _from_state(value["calibrator"]),
    "bare": lambda value: _unfitted(value["bare"]),
    "curve": lambda value: curve_types()[value["curve"]](**_decode_fields(value)),
    "rule": lambda value: RULES[value["rule"]](**_decode_fields(value)),
}
