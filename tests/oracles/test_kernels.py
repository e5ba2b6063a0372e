"""The compiled loops, their NumPy twins and the same loops as plain Python give the same bits."""

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.binning.parse import bin_table, binning_rule
from calibrant.sketches import grid
from calibrant.util import kernels
from calibrant.views.resolve import views_of

BINS = (1, 2, 3, 7, 10, 15, 49, 100, 128, 997, 4096)
FIELDS = ("left", "right", "rows", "weight", "positives", "score_sum", "excess", "square")
LOOPS = (
    "add_rows",
    "fill_bins",
    "fill_cells",
    "fill_class_bins",
    "fill_groups",
    "lipschitz_loop",
    "pool_blocks",
    "read_cells",
    "scan_pairs",
    "top_rows",
)
# What the loops call.
HELPERS = ("minus_logs", "row_terms", "add_terms", "precedes", "push", "pop")

_machine_code: dict[str, Any] = {}


def machine_code(loop: Callable[..., Any]) -> Any:
    if loop.__name__ not in _machine_code:
        pytest.importorskip("numba")
        _machine_code[loop.__name__] = kernels._compile(loop)
    assert _machine_code[loop.__name__] is not None
    return _machine_code[loop.__name__]


def in_form(form: str, work: Callable[[], Any]) -> tuple[Any, set[str]]:
    """What `work` gives with the loops as ``"numpy"``, ``"python"`` or ``"machine"`` code, and which loops it asked for."""
    asked: set[str] = set()

    def compiled(loop: Callable[..., Any], entries: int) -> Any:
        asked.add(loop.__name__)
        return {"numpy": lambda: None, "python": lambda: loop, "machine": lambda: machine_code(loop)}[form]()

    # Every module holds the function under its own name.
    holders = [m for n, m in list(sys.modules.items()) if n.startswith("calibrant") and hasattr(m, "compiled")]
    with pytest.MonkeyPatch.context() as patch:
        for module in holders:
            patch.setattr(module, "compiled", compiled)
        with np.errstate(over="ignore"):  # sums that wrap around do so on purpose
            return work(), asked


def bits(*arrays: Any) -> list[bytes]:
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def table_bits(predictions: cal.Predictions, bins: int, lens: str) -> list[list[bytes]]:
    tables = [bin_table(view, binning_rule(bins)) for view in views_of(predictions, lens)]
    return [bits(*(getattr(table, name) for name in FIELDS)) for table in tables]


def awkward_scores(bins: int, dtype: Any, n: int) -> np.ndarray:
    """Every edge (at most 400 of them), the next numbers on both sides, 0, 1, the smallest number, and smooth scores."""
    rng = np.random.default_rng([bins, n])
    edges = np.unique(np.linspace(0, bins, min(bins, 400) + 1).astype(int)) / bins
    edges = edges.astype(dtype)
    near = np.concatenate([edges, np.nextafter(edges, dtype(2)), np.nextafter(edges, dtype(-1))])
    smallest = np.finfo(dtype).smallest_subnormal
    scores = np.concatenate([near, [0, 1, smallest, 0.5], rng.random(n)]).clip(0, 1).astype(dtype)
    return rng.permutation(scores)


@pytest.mark.parametrize("form", ["python", "machine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bins", BINS)
def test_bins_of_one_score_are_the_same(bins: int, dtype: Any, form: str) -> None:
    scores = awkward_scores(bins, dtype, 2301)  # fewer rows ask for no compiled loop
    labels = np.random.default_rng(0).integers(0, 2, len(scores))

    def work() -> list[list[bytes]]:
        return table_bits(cal.Predictions(labels, scores), bins, "binary")

    expected, _ = in_form("numpy", work)
    found, asked = in_form(form, work)
    assert found == expected
    assert {"fill_bins", "scan_pairs"} <= asked


@pytest.mark.parametrize("form", ["python", "machine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bins", [1, 3, 10, 49])
@pytest.mark.parametrize("classes", [2, 3, 24, 25])
def test_bins_of_every_class_are_the_same(classes: int, bins: int, dtype: Any, form: str) -> None:
    rows, labels = tied_rows(classes, 61, dtype)

    def work() -> list[list[bytes]]:
        return table_bits(cal.Predictions(labels, rows), bins, "classwise")

    expected, _ = in_form("numpy", work)
    found, asked = in_form(form, work)
    assert found == expected
    assert len(found) == classes
    assert "fill_class_bins" in asked


def tied_rows(classes: int, n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows with tied maxima, sure rows and smooth rows; labels often at a tie."""
    rng = np.random.default_rng([classes, n])
    tied = rng.multinomial(4, np.full(classes, 1 / classes), n) / 4
    sure = np.eye(classes)[rng.integers(0, classes, n)]
    uniform = np.full((n, classes), 1 / classes)
    kind = rng.integers(0, 4, (n, 1))
    rows = np.select([kind == 0, kind == 1, kind == 2], [tied, sure, uniform], rng.dirichlet(np.ones(classes), n))
    rows = rows.astype(dtype)
    best = [rng.choice(np.flatnonzero(row == row.max())) for row in rows]
    return rows, np.where(rng.random(n) < 0.6, best, rng.integers(0, classes, n)).astype(np.int64)


@pytest.mark.parametrize("form", ["python", "machine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 40, 101])
@pytest.mark.parametrize("classes", [2, 3, 5, 24, 25, 60])
def test_top_label_sweep_is_the_same(classes: int, n: int, dtype: Any, form: str) -> None:
    rows, labels = tied_rows(classes, n, dtype)

    def work() -> tuple[list[bytes], Any]:
        found = cal.Predictions(labels, rows)
        assert found.top_score is not None
        assert found.top_correct is not None
        return bits(found.top_score, found.top_correct), (found.top_score.dtype, found.top_correct.tolist())

    expected, _ = in_form("numpy", work)
    found, asked = in_form(form, work)
    assert found == expected
    assert "top_rows" in asked
    # And by hand: the lowest of the classes that tie for the largest probability is the prediction.
    first_best = [row.index(max(row)) for row in rows.tolist()]
    assert found[1][1] == [int(best == label) for best, label in zip(first_best, labels.tolist(), strict=True)]


@pytest.mark.parametrize("form", ["python", "machine"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.25, 1.25, 0.9])
@pytest.mark.parametrize("classes", [2, 3, 30])
def test_bad_rows_are_refused_alike(classes: int, value: float, form: str) -> None:
    rows, labels = tied_rows(classes, 9, np.float64)
    rows[7] = 0
    rows[7, 1] = value

    def work() -> str:
        with pytest.raises(cal.errors.ProbabilityError) as caught:
            cal.Predictions(labels, rows)
        return str(caught.value)

    expected, _ = in_form("numpy", work)
    assert in_form(form, work)[0] == expected
    assert "row 7" in expected


@pytest.mark.parametrize("form", ["python", "machine"])
def test_minus_zero_is_zero(form: str) -> None:
    rows = np.array([[1.0, -0.0, 0.0], [-0.0, 0.5, 0.5]])
    scores = np.array([-0.0, 0.5, 1.0])

    def work() -> Any:
        many, two = cal.Predictions([0, 1], rows), cal.Predictions([0, 1, 1], scores)
        return many.top_score.tolist(), many.top_correct.tolist(), table_bits(two, 4, "binary"), cal.cwce([0, 1], rows)

    expected, _ = in_form("numpy", work)
    assert in_form(form, work)[0] == expected
    assert expected[:2] == ([1.0, 0.5], [1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_blocks_and_threads_are_the_same(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    scores = rng.choice(awkward_scores(15, dtype, 5000), 600_001)
    labels = rng.integers(0, 2, len(scores))
    rows = rng.dirichlet(np.full(30, 0.2), 20_001).astype(dtype)
    classes = rng.integers(0, 30, len(rows))

    def work() -> Any:
        return (
            table_bits(cal.Predictions(labels, scores), 15, "binary"),
            table_bits(cal.Predictions(classes, rows), 15, "classwise"),
            table_bits(cal.Predictions(classes, rows), 15, "top_label"),
        )

    expected, _ = in_form("numpy", work)
    found, asked = in_form("machine", work)
    assert found == expected
    assert {"fill_bins", "fill_class_bins", "scan_pairs", "top_rows"} <= asked


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
@pytest.mark.parametrize("form", ["numpy", "machine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("score", [1.0, 1 - 2.0**-20, 0.3])
def test_a_full_bin_overflows_nothing(score: float, dtype: Any, form: str) -> None:
    """All rows of every block in one cell: the place where packed sums would run over."""
    n = (1 << 19) + 3
    scores = np.full(n, score, dtype)
    table, _ = in_form(form, lambda: cal.calibration_curve(np.ones(n, np.int64), scores, bins=2).table)
    exact = n * Fraction(float(scores[0]))
    full = 1 if score > 0.5 else 0
    assert table.rows.tolist() == [n * (full == 0), n * (full == 1)]
    assert table.score_sum[full] == pytest.approx(float(exact), rel=1e-15)
    assert table.excess[full] == pytest.approx(float(exact - n), rel=1e-15)


@pytest.mark.parametrize(("low", "high"), [(0, 10**6), (10, 1000), (3, 5)])
def test_pooled_blocks_are_the_same_compiled(low: int, high: int) -> None:
    rng = np.random.default_rng(low)
    rows = rng.integers(1, 4, 5000)
    ones = rng.binomial(rows, np.linspace(0, 1, 5000)).astype(np.float64)
    found = []
    for loop in (kernels.pool_blocks, machine_code(kernels.pool_blocks)):
        groups, sizes, sums = np.zeros(5000, np.int64), np.zeros(5000, np.int64), np.zeros(5000)
        count = loop(rows, ones, low, high, groups, sizes, sums)
        assert groups[:count].sum() == 5000
        assert sizes[:count].sum() == rows.sum()
        assert sums[:count].sum() == ones.sum()
        found.append(bits(groups[:count], sizes[:count], sums[:count]))
    assert found[0] == found[1]


@pytest.mark.parametrize("score", [0.0, 1e-7, 1 / 3, 0.3333, 1 - 1e-7, 1.0])
def test_a_cell_holds_all_rows_of_a_block(score: float) -> None:
    """The sum of a cell wraps around, and is told from what it wrapped."""
    pytest.importorskip("numba")
    p = np.full((1 << 20) + 3, score)
    p[::7] = np.nextafter(p[::7], 0.5)
    y = (np.arange(len(p)) % 3 == 0).astype(np.int64)
    found = [in_form(form, lambda: cal.Sketch.of(y, p))[0] for form in ("numpy", "machine")]
    assert found[0] == found[1]
    assert found[0].n == len(p)


def test_the_leading_bits_lead_to_within_three_edges() -> None:
    edges = grid.grid().edges
    guide, floors, starts = grid.shortcuts()
    assert guide[2] == 1 / 300
    assert guide[3] == pytest.approx(299 / 300, abs=1e-16)
    keys = np.arange(starts.shape[1], dtype=np.uint64) + np.uint64(guide[4])
    least, most = ((keys + np.uint64(step) << np.uint64(46)).view(np.float64) for step in (0, 1))
    least[0] = 0
    for start, low, high in ((starts[0], least, most), (starts[1], 1 - most, 1 - least)):
        assert (start <= np.maximum(np.searchsorted(edges, np.nextafter(low, 1)), 1)).all()
        assert (np.searchsorted(edges, high) <= start + 3).all()
    assert (floors[1:] == [int(edge * 2**62) for edge in edges[:-1]]).all()


def test_every_loop_is_compared() -> None:
    own = {name for name, value in vars(kernels).items() if getattr(value, "__module__", None) == kernels.__name__}
    assert own - {"compiled", "_compile"} == {*LOOPS, *HELPERS}


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_cells_of_almost_2_to_the_20_rows_are_read_exactly() -> None:
    """The words of a cell wrap around; what they stand for, in whole numbers of any size, is found again."""
    floors = grid.shortcuts()[1]
    rng = np.random.default_rng(0)
    places = [1, 2, 200, 5000, 12345, floors.size - 200, floors.size - 2, floors.size - 1]
    for rows in (1, 2**18, 2**19, 2**19 + 1, 710_556, 2**20 - 1):
        for place in places:
            floor = int(floors[place])
            width = (int(floors[place + 1]) if place + 1 < floors.size else 2**62) - floor
            for score in (floor, floor + width, floor + int(rng.integers(0, max(width, 1)))):
                positives = int(rng.integers(0, rows + 1))
                total = rows * score
                word = rows + (positives << 20) + ((rows * (score >> 44)) << 40)
                cells = np.array([[total % 2**64, word % 2**64]], np.uint64)
                sums, held = np.zeros((4, 1), np.int64), np.zeros((5, 1), np.int64)
                assert kernels.read_cells(cells, floors[place : place + 1], sums, held) == 1
                found = [int(value) for value in sums[:, 0]]
                assert found[:2] == [rows, positives]
                assert (found[2] << kernels.LOW_BITS) + found[3] == total
                assert held[:, 0].tolist() == [-1, rows, positives, total >> 62, total % 2**62]


def test_two_million_sure_forecasts_have_their_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "MIN_ENTRIES", 0)
    n = 2 * grid.BLOCK_ROWS
    sums = grid.cell_sums(np.ones(n, np.float32), np.ones(n, np.uint8))
    assert (int(sums.high.sum()) << kernels.LOW_BITS) + int(sums.low.sum()) == n << 62
