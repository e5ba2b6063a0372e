"""Packed text files: a file that ends too early is an error, not fewer rows."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal

pa = pytest.importorskip("pyarrow")
RNG = np.random.default_rng(0)
SCORE = RNG.random(200_000)
LABEL = (RNG.random(200_000) < SCORE).astype(int)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_packed_file_is_read_to_its_end_or_not_at_all(kind: str, tmp_path: Path) -> None:
    rows = "\n".join(f"{y},{p:.6f}" for y, p in zip(LABEL.tolist(), SCORE.tolist(), strict=True))
    text = f"label,prob\n{rows}\n".encode()
    whole, cut = tmp_path / f"whole.csv.{kind}", tmp_path / f"cut.csv.{kind}"
    whole.write_bytes(gzip.compress(text) if kind == "gz" else pa.compress(text, codec="zstd", asbytes=True))
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    assert cal.scan(whole).n == len(LABEL)
    with pytest.raises(cal.errors.FileError):
        cal.scan(cut)
