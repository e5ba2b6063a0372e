"""Which files are read as a stream: by what they hold, not by how small they are packed."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from calibrant.cli import streaming
from calibrant.cli.streaming import is_streamed


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "LARGE", 100_000)
    monkeypatch.setattr(streaming, "MANY_ROWS", 10_000)


def text(path: Path, rows: int) -> str:
    content = b"y,p\n" + b"1,0.5\n" * rows
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


def test_text_is_judged_by_its_bytes_packed_ones_tenfold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_streamed(text(tmp_path / "few.csv", 1000), None)
    assert is_streamed(text(tmp_path / "many.csv", 20_000), None)
    assert not is_streamed(text(tmp_path / "few.csv.gz", 1000), None)
    packed = text(tmp_path / "many.csv.gz", 20_000)
    size = Path(packed).stat().st_size
    monkeypatch.setattr("calibrant.cli.streaming.LARGE", 10 * size)
    assert not is_streamed(packed, None)
    monkeypatch.setattr("calibrant.cli.streaming.LARGE", 10 * size - 1)
    assert is_streamed(packed, None)
    assert not is_streamed(packed, False)
    assert is_streamed(text(tmp_path / "few.csv", 1000), True)


def test_parquet_is_judged_by_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.cli.streaming.SMALL_PARQUET", 100)
    for name, rows, streamed in (("few.parquet", 10_000, False), ("many[1].parquet", 10_001, True)):
        pd.DataFrame({"y": [1] * rows, "p": 0.5}).to_parquet(tmp_path / name)
        assert (tmp_path / name).stat().st_size < 10_000
        assert is_streamed(str(tmp_path / name), None) == streamed


@pytest.mark.parametrize("name", ["broken.parquet", "broken.csv.gz"])
def test_a_broken_file_is_left_to_the_reader(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PAR1 and more" * 100)
    assert not is_streamed(str(tmp_path / name), None)
