"""Rows of a DuckDB query as NumPy arrays, batch by batch: the Arrow C stream interface, read without pyarrow."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Types of columns by their format in an Arrow schema: numbers without a unit, and last a column that is missing altogether.
NUMBERS = dict(zip("cCsSiIlLfgn", ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "V1"), strict=True))


class _Schema(c.Structure):
    pass


class _Array(c.Structure):
    pass


class _Stream(c.Structure):
    pass


# The structures of https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html.
_Schema._fields_ = [
    ("format", c.c_char_p),
    ("name", c.c_char_p),
    ("metadata", c.c_char_p),
    ("flags", c.c_int64),
    ("n_children", c.c_int64),
    ("children", c.POINTER(c.POINTER(_Schema))),
    ("dictionary", c.POINTER(_Schema)),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Schema))),
    ("private_data", c.c_void_p),
]
_Array._fields_ = [
    ("length", c.c_int64),
    ("null_count", c.c_int64),
    ("offset", c.c_int64),
    ("n_buffers", c.c_int64),
    ("n_children", c.c_int64),
    ("buffers", c.POINTER(c.c_void_p)),
    ("children", c.POINTER(c.POINTER(_Array))),
    ("dictionary", c.POINTER(_Array)),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Array))),
    ("private_data", c.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", c.CFUNCTYPE(c.c_int, c.POINTER(_Stream), c.POINTER(_Schema))),
    ("get_next", c.CFUNCTYPE(c.c_int, c.POINTER(_Stream), c.POINTER(_Array))),
    ("get_last_error", c.CFUNCTYPE(c.c_char_p, c.POINTER(_Stream))),
    ("release", c.CFUNCTYPE(None, c.POINTER(_Stream))),
    ("private_data", c.c_void_p),
]


def batches(relation: Any, rows: int) -> Iterator[list[Array] | None]:
    """Iterate over a relation of numbers: one array for each column, with at least `rows` rows until the last batch.

    None in place of a batch stands for one with a missing value. The rows are not held beyond their batch.
    """
    capsule = relation.__arrow_c_stream__()  # releases the stream in its turn
    pointer = c.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    stream = c.cast(pointer(capsule, b"arrow_array_stream"), c.POINTER(_Stream))
    types = _types(stream)
    waiting: list[Any] = []
    try:
        while True:
            found = _Array()
            _check(stream, stream.contents.get_next(stream, c.byref(found)))
            if not found.release:
                break
            waiting.append(found)
            columns = [found.children[place].contents for place in range(found.n_children)]
            if any(column.null_count or type.kind == "V" for column, type in zip(columns, types, strict=True)):
                yield None
                return
            if sum(part.length for part in waiting) >= rows:
                yield _released(waiting, types)
        if waiting:
            yield _released(waiting, types)
    finally:
        _release(waiting)


def _released(parts: list[Any], types: list[np.dtype[Any]]) -> list[Array]:
    """The rows of successive parts as arrays of their own; the parts are released."""
    columns = [np.concatenate([_numbers(part, *pair) for part in parts]) for pair in enumerate(types)]
    _release(parts)
    return columns


def _release(parts: list[Any]) -> None:
    while parts:
        part = parts.pop()
        part.release(c.byref(part))


def _numbers(part: Any, place: int, type: np.dtype[Any]) -> Array:
    """One column of a part, in the memory of DuckDB."""
    if not part.length:
        return np.zeros(0, type)
    column = part.children[place].contents
    start = column.buffers[1] + (part.offset + column.offset) * type.itemsize
    return np.frombuffer((c.c_char * (part.length * type.itemsize)).from_address(start), type)


def _types(stream: Any) -> list[np.dtype[Any]]:
    schema = _Schema()
    _check(stream, stream.contents.get_schema(stream, c.byref(schema)))
    try:
        return [
            np.dtype(NUMBERS[schema.children[place].contents.format.decode()]) for place in range(schema.n_children)
        ]
    finally:
        schema.release(c.byref(schema))


def _check(stream: Any, code: int) -> None:
    if code:
        problem = stream.contents.get_last_error(stream)
        raise OSError(problem.decode(errors="replace") if problem else f"error {code} of DuckDB")
