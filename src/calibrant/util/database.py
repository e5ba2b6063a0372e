"""Connections to DuckDB, all with the same limits."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from ..errors import ArgumentError, FileError
from .temporary import process_folder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


MEMORY = "CALIBRANT_MEMORY_LIMIT"
"""Environment variable with the most memory that a query may take, such as ``2GB``; by default 80% of the machine's or container's."""
UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}
_connections = count()


def connect() -> DuckDBPyConnection:
    """Connect to an empty database in memory that loads no extensions and stays within the memory limit."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]]
    config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    try:  # DuckDB makes it when memory is not sufficient; two connections cannot share one
        config["temp_directory"] = str(process_folder() / f"query-{os.getpid()}-{next(_connections)}")
    except FileError:
        config["temp_directory"] = ""  # most queries need none
    limit = os.environ.get(MEMORY)
    if limit:
        config["memory_limit"] = limit
    try:
        return duckdb.connect(":memory:", config=config)
    except duckdb.ParserException:
        problem = f"is not an amount of memory: {limit!r}"
        raise ArgumentError(MEMORY, problem, "set it to an amount such as 2GB, or unset it") from None


def memory_limit() -> int:
    """Return the most bytes that a query may take."""
    with connect() as connection:
        (limit,) = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0]
    amount, unit = limit.split()
    return int(float(amount) * UNITS[unit])


def is_interrupt(error: BaseException) -> bool:
    """Whether DuckDB stopped a query at Ctrl-C, which it reports in one of several ways."""
    return type(error).__name__ == "InterruptException" or (
        isinstance(error, RuntimeError) and str(error) == "Query interrupted"
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory could not be allocated: by Python, NumPy, DuckDB, or the system for a thread."""
    texts = ("Out of Memory Error", "can't start new thread")
    return isinstance(error, MemoryError) or any(text in str(error) for text in texts)
