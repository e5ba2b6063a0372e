"""Blocks and threads change nothing but the time, and numba is loaded when the work done without it comes near its price."""

import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.util import blocks, kernels
from calibrant.util.blocks import map_blocks, rows_per_block
from tests.calling import raises


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "cores", lambda: 4)
    monkeypatch.setattr(blocks, "MAX_THREADS_OF_SMALL_BLOCKS", 4)
    monkeypatch.setattr(blocks, "THREAD_ENTRIES", 1)


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11, 95, 100])
@pytest.mark.usefixtures("four_cores")
def test_every_row_once_and_in_order(rows: int) -> None:
    spans = map_blocks(lambda start, stop: list(range(start, stop)), rows, 10)
    assert [row for span in spans for row in span] == list(range(rows))


@pytest.mark.usefixtures("four_cores")
def test_threads_share_the_blocks() -> None:
    meeting = threading.Barrier(4, timeout=3600)

    def work(start: int, stop: int) -> int:
        if start < 4:
            meeting.wait()  # passes only when four threads are here at once
        return threading.get_ident()

    assert len(set(map_blocks(work, 40, 1))) == 4


def test_small_work_stays_in_this_thread() -> None:
    here = threading.get_ident()
    assert set(map_blocks(lambda start, stop: threading.get_ident(), 1000, 10)) == {here}


@pytest.mark.usefixtures("four_cores")
def test_an_error_in_a_thread_is_raised_here() -> None:
    def work(start: int, stop: int) -> None:
        if start == 70:
            raise cal.errors.ArgumentError("bins", "are wrong")

    with raises(cal.errors.ArgumentError, "bins"):
        map_blocks(work, 100, 10)


@pytest.mark.parametrize("cores", [1, 2, 3, 16])
def test_values_do_not_depend_on_the_cores(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(7), 100_000).astype(np.float32)
    labels = rng.integers(0, 7, 100_000)
    measures = (cal.ece, cal.cwce, cal.ece_em)
    monkeypatch.setattr(blocks, "cores", lambda: 1)
    alone = [measure(labels, probs) for measure in measures]
    monkeypatch.setattr(blocks, "cores", lambda: cores)
    monkeypatch.setattr(blocks, "MAX_THREADS_OF_SMALL_BLOCKS", 16)
    monkeypatch.setattr(blocks, "THREAD_ENTRIES", 1)
    assert [measure(labels, probs) for measure in measures] == alone


def test_a_block_has_at_least_one_row() -> None:
    assert rows_per_block(10**9) == 1
    assert rows_per_block(0) == blocks.BLOCK_ENTRIES


def run_child(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


PREPARE = """
import sys, numpy as np, calibrant as cal
from calibrant.util import kernels as _kernels
_kernels.MIN_ENTRIES = 25_000
y, p = np.tile([0, 1], 5000), np.tile([0.25, 0.625], 5000)
"""


def test_numba_comes_after_enough_work() -> None:
    pytest.importorskip("numba")
    code = PREPARE + "first = cal.ece(y, p); before = 'numba' in sys.modules\n"
    code += "for _ in range(3): assert cal.ece(y, p) == first\n"
    assert run_child(code + "print(before, 'numba' in sys.modules)") == "False True"


def test_without_numba_all_goes_on() -> None:
    code = PREPARE + "sys.modules['numba'] = None\n"
    assert run_child(code + "print({cal.ece(y, p) for _ in range(9)})") == "{0.3125}"


def test_broken_numba_is_said_once() -> None:
    code = PREPARE + "import warnings, types\n"
    code += "class Broken:\n    def find_spec(self, name, *rest):\n"
    code += "        if name == 'numba': raise RuntimeError('needs another NumPy')\n"
    code += "sys.meta_path.insert(0, Broken())\n"
    code += "with warnings.catch_warnings(record=True) as said:\n    warnings.simplefilter('always')\n"
    code += "    values = {cal.ece(y, p) for _ in range(9)}\n"
    code += "print(values, sorted({str(w.message) for w in said}))"
    assert "numba is installed but cannot be used (" in run_child(code)


def test_loops_write_nowhere_else_when_arrays_change_behind_their_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "MIN_ENTRIES", 0)
    monkeypatch.setattr(kernels, "loaded", {})
    for probs in (np.full(9000, 0.5), np.full(9000, 0.5, np.float32), np.full((9000, 4), 0.25, np.float32)):
        labels = np.zeros(9000, np.int64)
        checked = cal.Predictions(labels, probs)
        spoil(labels, probs)
        lens = "auto" if probs.ndim == 1 else "classwise"
        with suppress(cal.errors.UndefinedMetricError):  # what the value is does not matter: the process lives
            cal.ece(checked, lens=lens, bins=10)
    # And it still knows what it is doing.
    assert cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2) == pytest.approx(0.2)


def spoil(labels: Any, probs: Any) -> None:
    labels[::7] = 10**12
    labels[::11] = -(10**12)
    probs[::3] = np.nan
    probs[::5] = 1e30
    probs[1::5] = -1e30


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64])
def test_the_order_of_packed_numbers_is_that_of_a_stable_sort(kind: Any) -> None:
    rng = np.random.default_rng(4)
    for rows in (0, 1, 2, 2047, 2048, 5000, 70_000):
        uniform = rng.random(rows)
        near = 0.5 + rng.integers(0, 40, rows) * 2.0**-53
        tied, mixed = np.round(uniform, 1), np.where(uniform < 5 / (rows + 1), near, uniform)
        # Numbers whose difference the index takes, many and few; both zeros; numbers that no score has.
        zeros = np.where(uniform < 0.5, 0.0, -0.0)
        for values in (uniform, tied, near, mixed, zeros, 3 - 9 * uniform, uniform * 1e-310, np.full(rows, 1.0)):
            numbers = (values * (100 if kind == np.int64 else 1)).astype(kind)
            assert np.array_equal(blocks.stable_order(numbers), np.argsort(numbers, kind="stable"))
