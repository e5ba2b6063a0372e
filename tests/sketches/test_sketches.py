"""Sketches: the same bits whatever the order, split, nesting or journey through bytes; and how far from the rows they can be."""

import hashlib
import json
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import calibrant as cal
from calibrant.binning.exact_sums import slot_sums
from calibrant.errors import FileError
from calibrant.sketches import grid
from calibrant.sketches.grid import CELLS
from calibrant.sketches.row_sums import minus_log, row_sums
from calibrant.sketches.serialization import VERSION, pack
from calibrant.util import kernels
from tests.calling import call
from tests.in_turn import spread

# Scores of exactly 0 and 1 are among the unfriendly ones.
pytestmark = pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
SCORED = [m for m in cal.catalogue.values() if m.takes == "View" and m.sketch and m.lens == "auto"]
DISTRIBUTIONS = ("rare", "even", "points", "sure")


def rows_of(distribution: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    p = {
        "rare": lambda: rng.beta(0.2, 50, n),
        "even": lambda: rng.random(n),
        "points": lambda: rng.choice([0.0, 1.0, 1e-5], n),
        "sure": lambda: rng.beta(8, 2, n),
    }[distribution]()
    return (rng.random(n) < p).astype(int), p


def classes_of(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    p = rng.dirichlet([0.4, 0.8, 1.5], n)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, 2)
    return y, p, rng.choice(["north", "south"], n)


class Merging(RuleBasedStateMachine):
    """Parts of one set of rows, added, written and read in any order; together they are always the whole."""

    @initialize(seed=st.integers(0, 1000), cuts=st.lists(st.integers(1, 299), min_size=1, max_size=8, unique=True))
    def start(self, seed: int, cuts: list[int]) -> None:
        y, p, groups = classes_of(300, seed)
        order = np.random.default_rng(seed).permutation(300)
        self.whole = cal.Sketches.of(cal.Predictions(y, p, groups=groups, classes=[0, 1, 2]))
        self.parts = [
            cal.Sketches.of(cal.Predictions(y[part], p[part], groups=groups[part], classes=[0, 1, 2]))
            for part in np.split(order, sorted(cuts))
        ]

    @rule(data=st.data())
    def merge_two(self, data: st.DataObject) -> None:
        if len(self.parts) > 1:
            first = self.parts.pop(data.draw(st.integers(0, len(self.parts) - 1)))
            place = data.draw(st.integers(0, len(self.parts) - 1))
            self.parts[place] = first + self.parts[place]

    @rule(data=st.data())
    def write_and_read(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.parts) - 1))
        self.parts[place] = cal.Sketches.from_bytes(self.parts[place].to_bytes())

    @invariant()
    def together_they_are_the_whole(self) -> None:
        total = self.parts[0]
        for part in self.parts[1:]:
            total = part + total
        assert total == self.whole
        assert total.to_bytes() == self.whole.to_bytes()


Merging.TestCase.settings = settings(
    max_examples=8, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)
TestMerging = Merging.TestCase


@pytest.mark.deep
def test_a_thousand_parts_as_chain_star_and_tree() -> None:
    y, p = rows_of("even", 3000)
    parts = [cal.Sketch.of(y[i::1000], p[i::1000]) for i in range(1000)]
    chain = parts[0]
    for part in parts[1:]:
        chain += part
    tree = parts
    while len(tree) > 1:
        tree = [a + b for a, b in zip(tree[::2], tree[1::2], strict=False)] + tree[len(tree) // 2 * 2 :]
    assert chain == tree[0] == cal.Sketch.of(y, p)
    assert chain + cal.Sketch.empty("binary") == chain


def test_update_is_merge_and_leaves_the_old_one() -> None:
    y, p = rows_of("sure", 500)
    first = cal.Sketch.of(y[:200], p[:200])
    assert first.update(y[200:], p[200:]) == cal.Sketch.of(y, p)
    assert first.n == 200
    labels, probs, groups = classes_of(400)
    started = cal.Sketches.of(cal.Predictions(labels[:100], probs[:100], groups=groups[:100]))
    assert started.update(cal.Predictions(labels[100:], probs[100:], groups=groups[100:])) == cal.Sketches.of(
        cal.Predictions(labels, probs, groups=groups)
    )


def test_compiled_and_plain_fill_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    edges = grid.grid().edges
    around = [edges, np.nextafter(edges, 2).clip(0, 1), np.nextafter(edges, -1).clip(0)]
    score = np.concatenate([*around, rows_of("rare", 20_000)[1], rows_of("even", 20_000)[1], [5e-324, 1e-310]])
    monkeypatch.setattr(kernels, "MIN_ENTRIES", 0)
    for kind in (np.float32, np.float64):
        p = score.astype(kind)
        y = (np.random.default_rng(1).random(len(p)) < p).astype(np.uint8)
        plain = slot_sums(p, y, grid.slots, grid.CELLS)
        fast = grid.cell_sums(p, y)
        assert "fill_cells" in kernels.loaded
        for a, b in zip(plain, fast, strict=True):
            assert np.array_equal(a, b)


def test_compiled_and_plain_row_sums_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    y, p, _ = classes_of(20_000)
    p[:5] = [[1, 0, 0], [0, 1, 0], [5e-324, 1, 0], [1e-310, 0.5, 0.5], [0.25, 0.25, 0.5]]
    z, q = rows_of("rare", 20_000)
    cases = [(p, y), (p.astype(np.float32), y), (q, z), (q.astype(np.float32), z.astype(np.uint8))]
    monkeypatch.setattr("calibrant.sketches.row_sums.compiled", lambda function, entries: None)
    plain = [row_sums(*case) for case in cases]
    monkeypatch.undo()
    monkeypatch.setattr(kernels, "MIN_ENTRIES", 0)
    assert [row_sums(*case) for case in cases] == plain
    assert "add_rows" in kernels.loaded


def test_logarithms_are_right_and_made_of_plain_steps() -> None:
    value = np.concatenate([np.random.default_rng(0).random(50_000), [1.0, 0.5, 1e-300, 5e-324, 1 - 2**-53, 2**-1022]])
    assert np.abs(minus_log(value) + np.log(value)).max() < 3e-13
    assert np.abs(minus_log(value[value > 1e-9]) + np.log(value[value > 1e-9])).max() < 4e-15
    assert minus_log(np.zeros(1)) == 0


def test_row_sums_are_brier_nll_and_ecd() -> None:
    y, p, groups = classes_of(5000)
    sketches = cal.Sketches.of(cal.Predictions(y, p, groups=groups))
    part = groups == "north"
    for name in ("brier", "root_brier", "nll", "ecd"):
        metric = cal.catalogue[name]
        assert metric(sketches) == pytest.approx(metric(y, p), abs=1e-12)
        assert metric(sketches.group("north")) == pytest.approx(metric(y[part], p[part]), abs=1e-12)
    z, q = rows_of("sure", 2000)
    for name in ("brier", "nll", "ecd"):
        assert cal.catalogue[name](cal.Sketches.of(z, q)) == pytest.approx(cal.catalogue[name](z, q), abs=1e-12)
    assert cal.nll(cal.Sketches.of([0, 1], [1.0, 0.5])) == np.inf
    order = np.random.default_rng(0).permutation(5000)
    assert row_sums(p[order], y[order]) == row_sums(p, y) == row_sums(p[:7], y[:7]).plus(row_sums(p[7:], y[7:]))


@pytest.mark.parametrize("bins", [1, 2, 3, 10, 15, 20, 25, 30, 50, 100, 300])
def test_bins_among_the_cells_are_exact(bins: int) -> None:
    for distribution in DISTRIBUTIONS:
        y, p = rows_of(distribution, 2000)
        sketch = cal.Sketch.of(y, p)
        assert cal.ece(sketch, bins=bins) == pytest.approx(cal.ece(y, p, bins=bins), abs=1e-13)
        sums = sketch.coarse(bins)
        slot = np.maximum(np.ceil(np.round(p * bins, 9)), 1).astype(int) - 1
        assert np.array_equal(sums.rows, np.bincount(slot, minlength=bins))
        assert np.array_equal(sums.positives, np.bincount(slot, y, minlength=bins))


SEARCHES = ("sweep", "search", "search_pure", "cv", "tcal")
CHEAP = ("ece", "ece_em", "mce", "esce", "smece", "ecce_mad", "ecce_r", "ce2_db", "mmce", "cox_slope")


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(
    "metric", [pytest.param(m, id=m.id, marks=[pytest.mark.deep] * (m.id not in CHEAP)) for m in SCORED]
)
def test_a_sketch_is_within_its_bound(metric: cal.metrics.Metric, distribution: str) -> None:
    check_bound(metric, *rows_of(distribution, 1500))


@pytest.mark.parametrize(
    "name", ["ecce_l2", "ece_knn", "ce2_db", "drmsce", "ece_db", "e50", "fott_spline", "ecce_mean_abs"]
)
def test_scores_too_small_for_fixed_point_are_within_the_bound(name: str) -> None:
    rng = np.random.default_rng(5)
    p = rng.choice([1e-20, 1e-25, 0.3, 0.8], 600)
    check_bound(cal.catalogue[name], (rng.random(600) < p + 0.02).astype(int), p)


def check_bound(metric: cal.metrics.Metric, y: np.ndarray, p: np.ndarray, *, strict: bool = True) -> bool:
    """Whether there are a value and a bound; if so, the rows' value must lie within it.

    Where rows have no value a sketch has none either, unless their scores hardly differ, which is not `strict`.
    """
    sketch = cal.Sketch.of(y, p)
    words = {} if metric.lens == "auto" else {"lens": "binary"}
    try:
        exact = call(metric, y, p, **words)
    except cal.CalibrantError as error:
        if strict:
            with pytest.raises(type(error)):
                call(metric, sketch, **words)
        return False
    try:
        value, bound = call(metric, sketch, **words), sketch.error_bound(metric, **words)
    except cal.errors.UndefinedMetricError as error:
        # Slopes and curves of scores that share a cell, and choices of the number of bins.
        if error.argument not in (metric.id, "error_bound"):
            raise
        return False
    assert value == exact or abs(value - exact) <= bound, (value, exact, bound)
    return True


# Scores that sketches see badly, of n rows, some edges of cells and uniform numbers.
UNFRIENDLY: dict[str, Callable[..., np.ndarray]] = {
    "at edges": lambda rng, n, inner, u: rng.choice(rng.choice(grid.grid().edges, 12), n),
    "beside edges": lambda rng, n, inner, u: np.where(
        u < 0.5, rng.choice(inner, n), np.nextafter(rng.choice(inner, n), 1)
    ),
    "concentrated": lambda rng, n, inner, u: 0.5 + 1e-6 * rng.standard_normal(n),
    "concentrated and rare": lambda rng, n, inner, u: np.abs(1e-3 + 1e-7 * rng.standard_normal(n)),
    "few cells": lambda rng, n, inner, u: rng.choice([0.12, 0.4, 0.77], n) + 2e-5 * u,
    "ordered in cells": lambda rng, n, inner, u: rng.choice([0.2, 0.5, 0.9], n) + 4e-5 * u,
    "rare": lambda rng, n, inner, u: rng.beta(0.2, 50, n),
    "sharp": lambda rng, n, inner, u: 1 / (1 + np.exp(-10 * rng.standard_normal(n))),
    "ends": lambda rng, n, inner, u: rng.choice([0.0, 1.0, 1e-9, 1 - 1e-9, 0.5], n),
    "five grades in float32": lambda rng, n, inner, u: rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n).astype(np.float32),
}


def unfriendly(distribution: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that sketches see badly, with labels that are ordered within a cell for one of them."""
    rng = np.random.default_rng([n, seed])
    inner, u = rng.choice(grid.grid().edges[1:-1], 6), rng.random(n)
    p = UNFRIENDLY[distribution](rng, n, inner, u)
    y = u > 0.5 if distribution == "ordered in cells" else rng.random(n) < np.asarray(p, float) ** 1.3
    return y.astype(int), p


SKETCHED = [m for m in cal.catalogue.values() if m.takes == "View" and m.sketch]


@pytest.mark.sampled
@pytest.mark.parametrize("metric", SKETCHED, ids=lambda m: m.id)
def test_every_metric_is_within_its_bound_on_unfriendly_rows(metric: cal.metrics.Metric) -> None:
    """Also with few rows, and numbers of rows that no number of bins divides."""
    found = [
        check_bound(metric, *unfriendly(distribution, n, 0), strict=False)
        for distribution in UNFRIENDLY
        for n in (7, 61)
    ]
    assert (sum(found) >= 5) != (metric.options.get("bins") in SEARCHES)


@pytest.mark.deep
@pytest.mark.parametrize("distribution", UNFRIENDLY)
@pytest.mark.parametrize("metric", SKETCHED, ids=lambda m: m.id)
def test_every_metric_is_within_its_bound_on_more_unfriendly_rows(
    metric: cal.metrics.Metric, distribution: str
) -> None:
    for n, seed in ((7, 1), (25, 2), (25, 3), (61, 4), (401, 5), (1499, 6)):
        check_bound(metric, *unfriendly(distribution, n, seed), strict=False)


def test_a_number_of_bins_gives_a_bound_to_what_searches_for_one() -> None:
    sketch = cal.Sketch.of(*rows_of("even", 300))
    assert all(sketch.error_bound(metric, bins=15) < 0.1 for metric in (cal.ece_sweep, cal.drmsce_bcs))


def test_the_bound_of_what_is_infinite() -> None:
    """Without an event the ratio is infinite wherever the rows lay; an event at a score near 0 can make it as large as one likes."""
    none = cal.Sketch.of([0, 0, 0], [0.2, 0.30001, 0.30002])
    assert none.error_bound(cal.expected_observed_ratio) < 1e-11
    rare = cal.Sketch.of([0, 0, 1, 0] * 5, [1e-9, 2e-8, 1e-7, 0.5] * 5)
    assert rare.error_bound(cal.hosmer_lemeshow) > cal.hosmer_lemeshow(rare)


def test_bounds_are_narrow_where_it_matters() -> None:
    y, p = rows_of("even", 20_000)
    sketch = cal.Sketch.of(y, p)
    assert sketch.error_bound(cal.ece) < 1e-11
    assert sketch.error_bound(cal.ecce_mad) < 1e-5
    assert sketch.error_bound(cal.smece) < 1e-4
    # Scores that are known exactly: what remains is the tolerance of the linear program.
    assert 1e-7 <= cal.Sketch.of([0, 1], [0.25, 0.75]).error_bound(cal.dce_lower) < 2e-7


def crowded(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of which many share a cell and lie in an order of their own: metrics that cut by rank jump."""
    rng = np.random.default_rng([n, seed, 7])
    p = 1 - rng.beta(0.3, 30, n)
    return (rng.random(n) < p**2).astype(int), p


@pytest.mark.parametrize("name", ["fott_isotonic", "dici", "ece_db", "ece_knn", "fce", "hosmer_lemeshow"])
def test_metrics_that_jump_are_within_their_bound(name: str) -> None:
    for seed in range(3):
        check_bound(cal.catalogue[name], *crowded(400, seed))


def test_the_bound_covers_a_choice_that_tips() -> None:
    y, p = rows_of("even", 1500)
    sketch = cal.Sketch.of(y, p)
    apart = [abs(cal.metrics.fott_pl(sketch, knots=count) - cal.metrics.fott_pl(sketch)) for count in range(8)]
    assert sketch.error_bound(cal.metrics.fott_pl) > max(apart) > 1e-4
    assert sketch.error_bound(cal.metrics.fott_pl, knots=3) < 1e-4


def test_the_bound_takes_a_lens() -> None:
    y, p = rows_of("even", 500)
    assert cal.Sketch.of(y, p).error_bound(cal.cwce, lens="binary") < 1e-11


def test_damaged_bytes_are_refused() -> None:
    y, p = rows_of("even", 300)
    content = cal.Sketch.of(y, p).to_bytes()
    with pytest.raises(cal.errors.FileError):
        cal.Sketch.from_bytes(b"nothing of the kind" * 20)
    with pytest.raises(cal.errors.FileError):
        cal.Sketches.from_bytes(content)
    later = bytearray(content)
    struct.pack_into("<H", later, 10, 99)
    with pytest.raises(cal.errors.FileError):
        cal.Sketch.from_bytes(bytes(later))
    rng = np.random.default_rng(0)
    for place in rng.integers(12, len(content), 60):
        other = bytearray(content)
        other[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(cal.errors.FileError):
            cal.Sketch.from_bytes(bytes(other))
    for length in rng.integers(0, len(content), 30):
        with pytest.raises(cal.errors.FileError):
            cal.Sketch.from_bytes(content[:length])


def sealed(head: str, body: bytes, size: int) -> bytes:
    """Content with a valid checksum, whatever it holds."""
    content = struct.pack("<10sHIQ", b"CALIBRANT\0", VERSION, len(head), size) + head.encode() + zlib.compress(body)
    return content + hashlib.sha256(content).digest()


@pytest.mark.parametrize(
    ("head", "body", "size"),
    [
        ('{"kind": "Sketch", "lengths": [Infinity]}', b"", 0),
        ('{"kind": "Sketch", "lengths": [1e400, -1e400]}', b"", 0),
        ('{"kind": "Sketch", "lengths": [' + "0," * 50_000 + "0]}", b"", 0),
        ('{"kind": "Sketch", "lengths": ' + "[" * 50_000 + "]" * 50_000 + "}", b"", 0),
        ('{"kind": "Sketch", "lengths": [536870912]}', bytes(1 << 20), 1 << 32),
        ('{"kind": "Sketch", "lengths": [16777216]}', bytes(1 << 16), 1 << 27),
    ],
    ids=["infinite", "overflow", "many", "nested", "4 GB", "bomb"],
)
def test_crafted_bytes_are_an_error_before_memory_is_taken(head: str, body: bytes, size: int) -> None:
    tracemalloc.start()
    with pytest.raises(cal.errors.FileError):
        cal.Sketch.from_bytes(sealed(head, body, size))
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


def test_bytes_are_pinned() -> None:
    """Files written today are read tomorrow: the form may not change unnoticed."""
    content = cal.Sketch.of([0, 1], [0.25, 0.75]).to_bytes()
    head_length = struct.unpack_from("<I", content, 12)[0]
    head = json.loads(content[24 : 24 + head_length])
    assert content[:10] == b"CALIBRANT\0"
    assert head == {"cells": 19576, "kind": "Sketch", "lens": "binary", "lengths": [2, 2, 2, 2, 2]}


def doubled(sketch: Any, times: int) -> Any:
    for _ in range(times):
        sketch = sketch + sketch
    return sketch


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_year_of_1e12_rows_a_day_is_one_sketch(distribution: str) -> None:
    """Beyond 2^40 rows everything is as exact as before, in any order and from bytes."""
    y, p = rows_of(distribution, 365)
    small = cal.Sketch.of(y, p)
    large = doubled(small, 40)
    assert large.n == 365 << 40
    assert large.positives == small.positives << 40
    assert large.mean_score == small.mean_score
    assert large == cal.Sketch.of(cal.Predictions(y, p, counts=np.full(365, 1 << 40)))
    assert cal.ece(large) == pytest.approx(cal.ece(y, p), abs=1e-12)
    assert cal.Sketch.from_bytes(large.to_bytes()) == large
    assert cal.Sketch.from_bytes(large.to_bytes()).to_bytes() == large.to_bytes()
    days = [cal.Sketch.of(cal.Predictions(y[i::5], p[i::5], counts=np.full(73, (1 << 43) + i))) for i in range(5)]
    assert days[0] + (days[1] + days[2]) + (days[3] + days[4]) == days[4] + days[3] + days[2] + days[1] + days[0]
    one, other = (sketch.coarse(15) for sketch in (small, large))
    assert (other.rows == one.rows << 40).all()
    assert other.score_sum == pytest.approx(one.score_sum * 2.0**40, rel=1e-15)


def test_sketches_of_many_rows_travel_as_bytes(tmp_path: Any) -> None:
    y, p, groups = classes_of(365)
    large = doubled(cal.Sketches.of(cal.Predictions(y, p, groups=groups)), 40)
    path = large.write(tmp_path / "year.sketch")
    assert cal.Sketches.read(path) == large
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(cal.errors.FileError):
        cal.Sketches.read(path)
    assert cal.nll(large) == pytest.approx(cal.nll(y, p), abs=1e-12)
    with pytest.raises(cal.errors.WeightsNotSupportedError):
        doubled(large, 20)


@spread("metric", SKETCHED, lambda m: m.id)
def test_every_metric_reads_a_sketch_of_1e13_rows(metric: cal.metrics.Metric) -> None:
    if metric.id == "fott_pl3":
        pytest.skip("its fit does not converge above about 1e10 rows, and says so")
    y, p = rows_of("even", 200)
    p = p.round(2)
    words = {} if metric.lens == "auto" else {"lens": "binary"}
    some, many = (doubled(cal.Sketch.of(y, p), times) for times in (13, 37))
    if metric.id in ("calbin", "ece_knn"):
        with pytest.raises(cal.errors.WeightsNotSupportedError):
            call(metric, many, **words)
        return
    found, wanted = call(metric, many, **words), call(metric, some, **words)
    if metric.id in ("hosmer_lemeshow", "sbct", "pws", "bbt"):  # statistics that grow with the number of rows
        assert found == pytest.approx(wanted * 2.0**24, rel=1e-5)
    elif metric.id not in ("dce", "msce", "skde", "bkde"):  # bins and bandwidths that shrink with it
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-6)
    assert found >= metric.range[0]


def test_numbers_that_no_rows_give_are_refused() -> None:
    cells, rows, rest = np.array([3]), np.array([2]), np.array([1 << 61])
    head = {"cells": CELLS, "lens": "binary"}
    assert cal.Sketch.from_bytes(pack("Sketch", head, [cells, rows, rows, rows * 0, rest])).n == 2
    for arrays in (
        [cells, rows, rows, rows, 2 * rest],
        [cells, rows, rows + 1, rows, rest],
        [cells + CELLS, rows, rows, rows, rest],
    ):
        with pytest.raises(FileError):
            cal.Sketch.from_bytes(pack("Sketch", head, arrays))


def test_sketches_stand_in_for_rows() -> None:
    y, p, groups = classes_of(4000)
    sketches = cal.Sketches.of(cal.Predictions(y, p, groups=groups))
    rows, kept = (
        cal.evaluate(data, metrics="recommended") for data in (cal.Predictions(y, p, groups=groups), sketches)
    )
    assert kept.header.accuracy == pytest.approx(rows.header.accuracy, abs=1e-12)
    assert kept.header.mean_confidence == pytest.approx(rows.header.mean_confidence, abs=1e-12)
    assert kept.header.prevalence == pytest.approx(rows.header.prevalence)
    for name in ("brier", "nll", "ecd", "ece", "cwce", "mce"):
        assert kept[name] == pytest.approx(rows[name], abs=1e-12)
        assert kept.groups["south"][name] == pytest.approx(rows.groups["south"][name], abs=1e-12)
    assert "cannot be computed from a sketch" in next(r.reason for r in kept.results if r.metric == "vce")
    with_draws = cal.evaluate(sketches, metrics=["ece", "cwce"], level=0.9, assess=True)
    assert with_draws.results[0].low is not None
    assert with_draws.results[0].pvalue is not None
    assert "resampling requires the rows" in with_draws.results[1].note
    assert (
        cal.assess(sketches, metric="ece", lens="class:1", rng=0).pvalue
        == cal.assess(sketches["class:1"], metric="ece", rng=0).pvalue
    )
    curve = cal.calibration_curve(sketches, bins=10, lens="class:2")
    assert curve.rate == pytest.approx(cal.calibration_curve(y, p, bins=10, lens="class:2").rate, nan_ok=True)
    z, q = rows_of("sure", 900)
    two = cal.evaluate(cal.Sketches.of(z, q)).header
    assert (two.accuracy, two.mean_confidence) == pytest.approx(
        (cal.evaluate(z, q).header.accuracy, cal.evaluate(z, q).header.mean_confidence), abs=1e-12
    )


@pytest.mark.parametrize(
    "head",
    [{}, {"cells": "many", "lens": "binary"}, {"cells": CELLS}, {"kind_of": "binary", "classes": 3, "parts": 7}],
    ids=["nothing", "words for numbers", "no lens", "numbers for lists"],
)
def test_a_true_checksum_over_other_content_is_refused(head: dict[str, Any]) -> None:
    arrays = [np.zeros(0, np.int64)] * 5
    with pytest.raises(FileError):
        cal.Sketch.from_bytes(pack("Sketch", head, arrays))
    with pytest.raises(FileError):
        cal.Sketches.from_bytes(pack("Sketches", head, arrays))


def test_groups_that_are_numbers_are_sorted_as_numbers() -> None:
    found = cal.Sketches.of(cal.Predictions([0, 1, 1], [0.1, 0.4, 0.8], groups=[10, 9, 100]))
    assert found.groups == (9, 10, 100)
    assert cal.Sketches.from_bytes(found.to_bytes()).groups == (9, 10, 100)
    assert (found + cal.Sketches.of(cal.Predictions([0], [0.2], groups=["b"]))).groups == ("10", "100", "9", "b")
    assert list(found.predictions().group_names) == [9, 10, 100]


def test_cells_as_predictions_keep_the_names_of_the_classes() -> None:
    found = cal.Sketches.of(cal.Predictions(["no", "yes", "yes"], [0.1, 0.4, 0.8], classes=["no", "yes"]))
    assert found.predictions().classes == ("no", "yes")
    assert "positive class yes" in cal.report(found).to_markdown()
