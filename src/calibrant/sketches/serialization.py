"""Serialization: a version, a JSON header, compressed little-endian integers and a checksum; no code is executed when reading."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrantError, FileError, InputTypeError

MAGIC, VERSION = b"CALIBRANT\0", 3
_HEAD = struct.Struct("<10sHIQ")  # magic, version, length of the header, length of the integers before compression
_CHECK = 32
MOST_BYTES = 4 << 30
# Beyond this size, content that grows by more than this factor was not written by calibrant: sketches grow by about 4, at most by 40.
MUCH, MOST_GROWTH = 64 << 20, 200
# Arrays that hold nothing beside those that do.
MOST_EMPTY = 1024

Integers = NDArray[np.int64]


def pack(kind: str, head: dict[str, Any], arrays: Sequence[Integers]) -> bytes:
    """Serialize a header and arrays; the bytes are identical on every platform. Readers reject unknown versions."""
    lengths = [len(array) for array in arrays]
    text = json.dumps({**head, "kind": kind, "lengths": lengths}, sort_keys=True, ensure_ascii=True).encode()
    body = b"".join(np.ascontiguousarray(array, "<i8").tobytes() for array in arrays)
    content = _HEAD.pack(MAGIC, VERSION, len(text), len(body)) + text + zlib.compress(body, 6)
    return content + hashlib.sha256(content).digest()


def unpack(kind: str, content: bytes, name: str = "content") -> tuple[dict[str, Any], list[Integers]]:
    """Read the output of `pack`; raise if it is damaged, truncated, of another kind or of a later version."""
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise InputTypeError(name, f"must be bytes; got {type(content).__name__}")
    content = bytes(content)
    if len(content) < _HEAD.size + _CHECK or content[: len(MAGIC)] != MAGIC:
        raise FileError(name, "are not calibrant bytes, or are truncated", "write them again")
    _, version, head_bytes, body_bytes = _HEAD.unpack_from(content)
    if version != VERSION:
        raise FileError(name, f"have version {version}; this version of calibrant reads {VERSION}", "write them again")
    if hashlib.sha256(content[:-_CHECK]).digest() != content[-_CHECK:]:
        raise FileError(name, "do not match their checksum: they are corrupt or truncated", "write them again")
    if body_bytes > min(MOST_BYTES, max(MUCH, MOST_GROWTH * len(content))):
        raise FileError(name, f"would unpack from {len(content):,} to {body_bytes:,} bytes", "write them again")
    start = _HEAD.size + head_bytes
    with well_formed(name):
        head = json.loads(content[_HEAD.size : start])
        kind_held, lengths = head["kind"], [int(length) for length in head["lengths"]]
        body = zlib.decompressobj().decompress(content[start:-_CHECK], max(body_bytes, 1))
    if kind_held != kind:
        raise FileError(name, f"contain a {kind_held}; expected a {kind}")
    is_corrupt = min(lengths, default=0) < 0 or len(lengths) > body_bytes // 8 + MOST_EMPTY
    if is_corrupt or len(body) != body_bytes or 8 * sum(lengths) != body_bytes:
        raise FileError(name, "contain another number of values than declared", "write them again")
    numbers = np.frombuffer(body, "<i8").astype(np.int64)
    return head, np.split(numbers, np.cumsum(lengths)[:-1]) if lengths else []


@contextmanager
def well_formed(name: str) -> Iterator[None]:
    """Report malformed content: a valid checksum does not imply valid content."""
    try:
        yield
    except CalibrantError as error:
        raise FileError(name, error.problem, error.remedy) from error
    except (KeyError, TypeError, ValueError, StopIteration, OverflowError, RecursionError, zlib.error) as error:
        raise FileError(name, f"have unexpected content ({type(error).__name__})", "write them again") from error
