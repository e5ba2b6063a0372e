"""Groups that are summed together have the bits of their rows alone, however the rows are divided and ordered."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.sketches import grouped
from calibrant.sketches.collection import ALL, GroupSums
from calibrant.sketches.grid import grid
from calibrant.util import kernels


def rows_of(n: int, classes: int, kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities with ties, rare events, and exact 0 and 1."""
    rng = np.random.default_rng([n, classes])
    if classes == 2:
        p = np.concatenate([rng.beta(0.2, 20, n // 2), rng.integers(0, 5, n - n // 2) / 4]).astype(kind)
        return (rng.random(n) < p).astype(np.int64), p
    p = np.repeat(rng.dirichlet([0.1] * classes, n // 2), 2, axis=0)
    p[:4] = np.eye(classes)[[0, 1, 2, 2]]
    return rng.integers(0, classes, n), p.astype(kind)


@pytest.mark.parametrize("form", ["plain", "compiled"])
@pytest.mark.parametrize("classes", [2, 4])
def test_groups_have_the_bits_of_their_rows(form: str, classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if form == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(kernels, "MIN_ENTRIES", 0 if form == "compiled" else np.inf)
    monkeypatch.setattr(kernels, "loaded", dict(kernels.loaded) if form == "compiled" else {})
    # Summed in many parts, and kept in place where few cells are empty.
    monkeypatch.setattr(grouped, "BUFFER_ROWS", 256)
    monkeypatch.setattr(grouped, "WAITING_ROWS", 7)
    rng = np.random.default_rng(7)
    lenses = ("binary",) if classes == 2 else ("top_label", "classwise")
    for n, groups, kind in ((1200, 3, np.float64), (600, 60, np.float64), (600, 2000, np.float32)):
        y, p = rows_of(n, classes, kind)
        g = rng.integers(0, groups, n)
        g[:40] = groups - 1  # one that is larger
        order = rng.permutation(n)
        ends = np.sort(rng.integers(0, n, 4))
        sums = GroupSums(groups, lenses, scores=True)
        for rows in np.split(order, ends):
            if len(rows):
                sums.add(cal.Predictions(y[rows], p[rows]), g[rows])
        parts = sums.parts(range(groups))
        assert list(parts) == [ALL, *np.unique(g)]
        assert parts[ALL] == cal.Sketches.of(y, p).parts[ALL]
        for name in np.unique(g)[:: 1 if groups < 10 else groups // 25]:
            alone = cal.Sketches.of(y[g == name], p[g == name]).parts[ALL]
            assert parts[name] == alone
            assert [sketch.to_bytes() for sketch in parts[name].lenses.values()] == [
                sketch.to_bytes() for sketch in alone.lenses.values()
            ]
        assert cal.Sketches.of(cal.Predictions(y, p, groups=g)).parts == parts


def test_lists_of_cells_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "compiled", lambda *_: None)  # a compiled loop sums in place from the start
    held = grouped.GroupCells(2)
    edges = grid().edges
    score = np.tile((edges[1:] + edges[:-1]) / 2, 2)
    group, outcome = np.repeat([0, 1], len(edges) - 1), np.zeros(len(score), np.uint8)
    for _ in range(3):  # each time every cell receives a row
        held.add(score, outcome, group)
        held._sum_waiting()
    total, parts = held.sketches("binary")
    assert total == cal.Sketch.of(np.tile(outcome, 3), np.tile(score, 3))
    alone = cal.Sketch.of(np.tile(outcome, 3)[: len(score) * 3 // 2], np.tile(score[: len(score) // 2], 3))
    assert parts[0] == parts[1] == alone


def test_full_cells_of_the_compiled_loop_are_read_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often they are read, and if the loop is compiled while rows arrive."""
    pytest.importorskip("numba")
    y, p = rows_of(3000, 2, np.float64)
    group = np.where(np.arange(3000) % 50 == 0, 1, 2 * (np.arange(3000) % 3 == 0))
    found, machine_code = [], dict(kernels.loaded)
    for room, forms in ((1 << 19, "plain"), (100, "compiled"), (700, "compiled"), (700, "plain, then compiled")):
        monkeypatch.setattr(grouped, "PACKED_ROWS", room)
        monkeypatch.setattr(grouped, "WAITING_ROWS", 1 + room // 50)
        cells = grouped.GroupCells(4)  # the last has no rows
        for start in range(0, 3000, 1000):
            is_plain = forms == "plain" or (start == 0 and forms != "compiled")
            monkeypatch.setattr(kernels, "MIN_ENTRIES", np.inf if is_plain else 0)
            monkeypatch.setattr(kernels, "loaded", {} if is_plain else machine_code)
            cells.add(*(values[start : start + 1000] for values in (p, y, group)))
        assert (cells.packed is None) == (forms == "plain")
        total, parts = cells.sketches("binary")
        found.append([total, *parts])
    assert found[0] == found[1] == found[2] == found[3]
    assert [sketch.n for sketch in found[0]] == [3000, *np.bincount(group, minlength=4)]


def test_sums_carry_beyond_one() -> None:
    n = 5000
    score, one = np.full(n, 1 - 2**-53), np.ones(n, np.int64)
    for form in (GroupSums(1, ("binary",), scores=True),):
        for part in (slice(0, 10), slice(10, 4000), slice(4000, n)):
            form.add(cal.Predictions(one[part], score[part], classes=[0, 1]), np.zeros(len(score[part]), np.int64))
        assert form.parts(["a"])["a"] == cal.Sketches.of(cal.Predictions(one, score, classes=[0, 1])).parts[ALL]


def test_too_many_groups_are_refused() -> None:
    with pytest.raises(cal.errors.GroupError):
        GroupSums(1 << 27, ("binary",), scores=False)


def test_views_of_groups_are_not_kept() -> None:
    rng = np.random.default_rng(0)
    score, group = rng.random(600), np.arange(600) % 50
    sketches = cal.Sketches.of(cal.Predictions((rng.random(600) < score).astype(int), score, groups=group))
    found = cal.evaluate(sketches, metrics=["ece", "smece"])
    assert len(found.groups) == 50
    assert not any("_view" in vars(sketches.parts[name].lenses["binary"]) for name in sketches.groups)
    alone = sketches.group(7)
    assert found.groups[7]["smece"] == cal.smece(alone)
    # The mean is that of the integers, rounded once.
    assert alone.sketch().mean_score == pytest.approx(score[group == 7].mean(), rel=1e-15)


def grouped_sketches(groups: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, cal.Sketches]:
    rng = np.random.default_rng(groups)
    score, group = rng.uniform(0.01, 0.99, groups * rows).round(2), np.repeat(np.arange(groups), rows)
    label = (rng.random(len(score)) < score).astype(int)
    label[group == 0] = 0  # a group with one outcome has no areas
    return label, score, group, cal.Sketches.of(cal.Predictions(label, score, groups=group))


def test_headers_of_groups_are_those_of_their_rows() -> None:
    label, score, group, sketches = grouped_sketches(40, 25)
    for metrics in ("summary", "ece"):
        found = cal.evaluate(sketches, metrics=metrics).groups
        for name in range(0, 40, 5):
            own = group == name
            header = cal.evaluate(label[own], score[own], metrics=metrics).header
            for field in dataclasses.fields(header):
                expected, value = getattr(header, field.name), getattr(found[name].header, field.name)
                if field.name != "confidence":
                    assert value == (
                        pytest.approx(expected, rel=1e-12) if isinstance(expected, float | tuple) else expected
                    )
    assert found[0].header.auroc is found[0].header.average_precision is None
