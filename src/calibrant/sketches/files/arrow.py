"""Rows of a DuckDB query as NumPy arrays, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray


def batches(relation: Any, rows: int) -> Iterator[list[NDArray[Any]] | None]:
    """Iterate over a relation of numbers: one array for each column, with at least `rows` rows until the last batch.

    None in place of a batch stands for one with a missing value. The rows are not held beyond their batch.
    """
    import pyarrow as pa

    def arrays() -> list[NDArray[Any]]:
        columns = [column.to_numpy() for column in pa.Table.from_batches(waiting).columns]
        waiting.clear()
        return columns

    waiting: list[Any] = []
    try:
        for batch in pa.RecordBatchReader.from_stream(relation):
            if any(column.null_count for column in batch.columns):
                yield None
                return
            waiting.append(batch)
            if sum(part.num_rows for part in waiting) >= rows:
                yield arrays()
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
    if waiting:
        yield arrays()
