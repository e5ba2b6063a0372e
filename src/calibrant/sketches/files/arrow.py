"""Rows of a DuckDB query as NumPy arrays, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray


def batches(relation: Any, rows: int) -> Iterator[list[NDArray[Any]] | None]:
    """Iterate over a relation of numbers, `rows` at a time: one array for each column, in the memory of DuckDB.

    None in place of a batch stands for one with a missing value. The rows are not held beyond their batch.
    """
    import pyarrow as pa

    # DuckDB before 1.5 has the earlier name only.
    reader = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_arrow_reader
    try:
        for batch in reader(rows):
            if any(column.null_count for column in batch.columns):
                yield None
                return
            yield [column.to_numpy() for column in batch.columns]
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
