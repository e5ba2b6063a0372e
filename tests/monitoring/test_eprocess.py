"""Bets by window: published paths, a mean of exactly 1 over all labels, cells of a sketch, states that can be written down."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, InputError, InputTypeError, LensError, WeightsNotSupportedError
from calibrant.monitoring.alternatives import Counted, Wagers, as_counted
from calibrant.monitoring.eprocess import EProcess, start_eprocess
from calibrant.monitoring.learning import Memory, stakes
from calibrant.monitoring.vectors import e_multiclass
from calibrant.views.view import View

B = np.array([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
Y = np.array([0, 1, 0, 0, 1, 0, 1, 1, 1, 1])
P = [
    [0.7, 0.2, 0.1],
    [0.6, 0.3, 0.1],
    [0.2, 0.7, 0.1],
    [0.3, 0.5, 0.2],
    [0.1, 0.3, 0.6],
    [0.2, 0.2, 0.6],
    [0.5, 0.1, 0.4],
    [0.1, 0.1, 0.8],
]
LABELS = [0, 1, 1, 0, 2, 1, 2, 2]
SHIFTS = Wagers().shifts
ONE_SHIFT = Wagers(shifts=(0.5,), slopes=(), learner=None)
EIGHT = Wagers(slopes=(), learner=None)
BETTING = Wagers(shifts=(), slopes=(), learner="mean")
BINNED = Wagers(shifts=(-0.5, 0.5), slopes=(), learner=None, edges=(0.0, 0.5, 1.0))
DESIGNS = {
    "default": Wagers(),
    "eight": EIGHT,
    "betting": BETTING,
    "binned": BINNED,
    "learnt in bins": Wagers(edges=(0.0, 0.3, 1.0)),
    "tolerance": Wagers(learner=None, tolerance=0.02),
}


def row(p: float, y: int, lens: str = "binary") -> View:
    return View(np.array([p]), np.array([y], np.uint8), lens=lens)


def path(wagers: Wagers, p: np.ndarray = B, y: np.ndarray = Y) -> list[float]:
    state, values = start_eprocess(lens="binary", wagers=wagers), []
    for score, label in zip(p, y, strict=True):
        state = state.update(row(score, int(label)))
        values.append(state.value)
    return values


def test_published_paths() -> None:
    wanted = [
        0.9685829809, 1.4553097997, 1.2522237535, 1.0205136373, 1.302353541,
        0.9598737542, 1.1131736497, 1.2346199212, 1.3120581175, 1.3383888667,
    ]  # fmt: skip
    np.testing.assert_allclose(path(ONE_SHIFT), wanted, atol=5e-11)
    assert path(Wagers(shifts=(1.0,), slopes=(), learner=None))[-1] == pytest.approx(1.1921028688, abs=5e-11)
    assert path(EIGHT)[-1] == pytest.approx(0.8918961792, abs=5e-11)
    assert path(BETTING)[-1] == pytest.approx(0.4985771849, abs=5e-11)


def test_published_stakes() -> None:
    wanted = [
        0, -0.1985111663, 0.885064536, 0.5399601166, 0.1726519337,
        0.5183585313, 0.1133668807, 0.2921222432, 0.4119254974, 0.483836056,
    ]  # fmt: skip
    memory, found = Memory.fresh(1), []
    for score, label in zip(B, Y, strict=True):
        found.append(float(np.clip(stakes(memory)[0], -0.5 / (1 - score), 0.5 / score)))
        memory = BETTING.learn(as_counted(row(score, int(label))), memory)
    np.testing.assert_allclose(found, wanted, atol=5e-10)


def test_published_tolerance() -> None:
    state = start_eprocess(lens="binary", wagers=Wagers(learner=None, tolerance=0.02, stakes=(0.5,)))
    state = state.update(cal.Sketch.of(Y, B))
    np.testing.assert_allclose(np.exp(state.logs[0]), [1.222560836, 0.4194053574], atol=5e-10)
    assert state.value == pytest.approx(0.8209830969, abs=5e-10)


def test_published_bins() -> None:
    state = start_eprocess(lens="binary", wagers=BINNED).update(cal.Sketch.of(Y, B))
    np.testing.assert_allclose(state.bin_values, [0.9628332665, 0.9087933703], atol=5e-11)
    assert state.value == pytest.approx(0.9054149039, abs=5e-11)


def test_published_top_label() -> None:
    rows = cal.Predictions(LABELS, P)
    view = cal.views.lenses.parse_lens("top_label", rows).views(rows)[0]
    wagers = Wagers(shifts=(-0.5,), slopes=(), learner=None)
    wanted = [
        0.8370888059,
        1.0957830187,
        0.9172676986,
        1.1419236764,
        0.9066566856,
        1.18685018,
        1.4775319385,
        1.3078463848,
    ]
    np.testing.assert_allclose(path(wagers, view.score, view.outcome), wanted, atol=5e-9)


def test_published_multiclass() -> None:
    found = e_multiclass(LABELS, P, powers=(0.7, 1.3))
    np.testing.assert_allclose(found.parts[[0, 2, 4]], [0.587670377, 1.126750064, 0.8897618023], atol=5e-10)
    np.testing.assert_allclose(found.parts[-2:], [0.7276233862, 1.053785644], atol=5e-10)
    assert found.value == pytest.approx(found.parts.mean())


def test_multiclass_mean_is_one_over_all_labels() -> None:
    probs = np.array(P)[:4]
    total = 0.0
    for labels in itertools.product(range(3), repeat=4):
        chance = math.prod(float(probs[i, k]) for i, k in enumerate(labels))
        total += chance * e_multiclass(np.array(labels), probs).value
    assert total == pytest.approx(1, abs=1e-12)


def test_multiclass_impossible_label_is_infinite() -> None:
    found = e_multiclass([2, 0], [[0.5, 0.5, 0.0], [0.9, 0.05, 0.05]])
    assert found.value == math.inf
    assert found.rejected_at == 1
    with pytest.raises(ArgumentError, match="nothing is bet on"):
        e_multiclass(LABELS, P, tilt=0, powers=())


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_mean_is_one_over_all_labels(name: str, size: int) -> None:
    """All 2^10 labels are streams of one run, weighed by their probability if the scores are right."""
    wagers = DESIGNS[name]
    labels = np.array(list(itertools.product((0, 1), repeat=10)), float)
    chance = np.prod(np.where(labels > 0, B, 1 - B), axis=1)
    logs, memory = np.zeros((1024, wagers.bins, len(wagers.names))), Memory.fresh(1024, wagers.bins)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calibrant.monitoring.learning.LEAST_ROWS", 2)
        for start in range(0, 10, size):
            part = slice(start, start + size)
            data = Counted(B[part], np.ones((1024, size)), labels[:, part])
            logs = logs + wagers.gains(data, memory)
            memory = wagers.learn(data, memory)
    mean = float(chance @ np.exp(wagers.value(logs)))
    if name == "tolerance":
        assert mean < 1
    else:
        assert mean == pytest.approx(1, abs=1e-12)


def test_cells_keep_the_mean_at_most_one() -> None:
    """Rows of a cell have different scores and are bet on at their mean."""
    p = np.array([0.30001, 0.30002, 0.30003, 0.30004])
    wide = np.array([0.2, 0.3, 0.35, 0.45])
    for scores in (p, wide):
        labels = np.array(list(itertools.product((0, 1), repeat=4)), float)
        chance = np.prod(np.where(labels > 0, scores, 1 - scores), axis=1)
        data = Counted(np.array([scores.mean()]), np.full((16, 1), 4.0), labels.sum(axis=1, keepdims=True))
        for wagers in (EIGHT, Wagers(learner=None)):
            gains = wagers.gains(data, Memory.fresh(16, 1))
            member_means = chance @ np.exp(gains[:, 0])
            assert (member_means <= 1 + 1e-12).all()
    assert (member_means < 1 - 1e-6).any()


def test_tolerance_holds_at_its_edge() -> None:
    wagers = Wagers(learner=None, tolerance=0.05)
    labels = np.array(list(itertools.product((0, 1), repeat=5)), float)
    p = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    for shift in (-0.05, 0.0, 0.05):
        chance = np.prod(np.where(labels > 0, p + shift, 1 - p - shift), axis=1)
        gains = wagers.gains(Counted(p, np.ones((32, 5)), labels), Memory.fresh(32, 1))
        assert chance @ np.exp(wagers.value(gains)) <= 1 + 1e-12


def test_sketch_and_rows_agree() -> None:
    drawn = cal.make_calibrated(2000, rng=0)
    by_rows = start_eprocess(lens="binary")
    by_cells = start_eprocess(lens="binary")
    for part in np.array_split(np.arange(2000), 5):
        y, p = drawn.y_true[part], drawn.y_prob[part]
        by_rows = by_rows.update(View(p, y.astype(np.uint8)))
        by_cells = by_cells.update(cal.Sketch.of(y, p))
    assert by_cells.log_value == pytest.approx(by_rows.log_value, abs=1e-3)
    assert by_cells.rows == by_rows.rows == 2000


def test_a_window_is_order_free_and_adds_up() -> None:
    drawn = cal.make_calibrated(300, rng=1)
    order = np.random.default_rng(0).permutation(300)
    start = start_eprocess(lens="binary")
    a = start.update(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    b = start.update(cal.Sketch.of(drawn.y_true[order], drawn.y_prob[order]))
    assert a.to_dict() == b.to_dict()
    fixed = start_eprocess(lens="binary", wagers=EIGHT)
    parts = [cal.Sketch.of(drawn.y_true[i::3], drawn.y_prob[i::3]) for i in range(3)]
    merged = fixed.update(parts[0] + parts[1] + parts[2])
    one_by_one = fixed
    for part in parts:
        one_by_one = one_by_one.update(part)
    np.testing.assert_allclose(merged.logs, one_by_one.logs, atol=1e-3)  # cells hold mean scores


def test_state_survives_json_to_the_last_bit() -> None:
    drawn = cal.make_miscalibrated(600, warp=cal.simulate.bias(0.3), rng=1)
    for wagers in DESIGNS.values():
        whole = half = start_eprocess(lens="binary", wagers=wagers)
        for day in range(6):
            window = cal.Sketch.of(drawn.y_true[day::6], drawn.y_prob[day::6])
            whole = whole.update(window)
            half = EProcess.of_dict(json.loads(json.dumps(half.to_dict(), allow_nan=False))).update(window)
        assert half.to_dict() == whole.to_dict()
        assert half == whole


def test_batches_equal_single_streams() -> None:
    rng = np.random.default_rng(0)
    score = np.array([0.2, 0.5, 0.9])
    wagers = Wagers(edges=(0.0, 0.5, 1.0))
    logs, memory = np.zeros((3, 2, len(wagers.names))), Memory.fresh(3, 2)
    states = [start_eprocess(lens="binary", wagers=wagers) for _ in range(3)]
    for _ in range(6):
        rows = rng.integers(1, 20, (3, 3))
        positives = rng.binomial(rows, score)
        data = Counted(score, rows.astype(float), positives.astype(float))
        logs = logs + wagers.gains(data, memory)
        memory = wagers.learn(data, memory)
        for i in range(3):
            counts = np.concatenate([rows[i] - positives[i], positives[i]])
            outcome = np.repeat(np.array([0, 1], np.uint8), 3)
            states[i] = states[i].update(View(np.tile(score, 2), outcome, counts, "counts"))
    for i in range(3):
        np.testing.assert_allclose(states[i].logs, logs[i], atol=1e-6)


def test_learnt_bets_come_near_the_truth() -> None:
    drawn = cal.make_miscalibrated(20_000, warp=cal.simulate.temperature(1.3), rng=0)
    state = start_eprocess(lens="binary")
    for part in np.array_split(np.arange(20_000), 40):
        state = state.update(cal.Sketch.of(drawn.y_true[part], drawn.y_prob[part]))
    shift, slope = state.memory.theta[0]
    assert abs(shift) < 0.06
    assert 1 + slope == pytest.approx(1 / 1.3, abs=0.05)
    assert state.rejected
    assert state.reached_rows is not None
    assert state.reached_rows <= 3000
    assert state.pvalue < 1e-6
    assert "strongest bet" in state.verdict


def test_impossible_outcomes_are_infinite_and_can_be_written_down() -> None:
    state = start_eprocess(lens="binary").update(row(0.0, 1))
    assert state.value == math.inf
    assert (state.pvalue, state.reached_window) == (0.0, 1)
    again = EProcess.of_dict(json.loads(json.dumps(state.to_dict(), allow_nan=False))).update(row(0.5, 1))
    assert again.value == math.inf
    sure = start_eprocess(lens="binary").update(row(0.0, 0)).update(row(1.0, 1))
    assert sure.value == pytest.approx(1)
    binned = start_eprocess(lens="binary", wagers=BINNED).update(row(1.0, 0))
    assert binned.value == math.inf
    for found in (state, again, binned):
        assert found.strongest == "an outcome that a score of 0 or 1 rules out"
        assert "logit" not in found.verdict
    assert "logit" in start_eprocess(lens="binary").update(row(0.5, 1)).strongest
    assert "p-value < 1e-300" in repr(state)
    assert "&lt; 1e-300" in state._repr_html_()


def test_empty_windows_only_count() -> None:
    state = start_eprocess(lens="binary").update(cal.Sketch.of(Y, B))
    after = state.update(cal.Sketch.empty("binary"))
    assert (after.windows, after.rows, after.value) == (2, 10, state.value)


def test_first_crossing_is_kept() -> None:
    state = start_eprocess(lens="binary", wagers=EIGHT)
    for _ in range(30):
        state = state.update(row(0.5, 1))
    first = state.reached_window
    assert first is not None
    for label in [0] * 60:
        state = state.update(row(0.5, label))
    assert state.reached_window == first == state.reached_rows
    assert state.rejected
    assert state.pvalue <= 0.05


def test_refusals() -> None:
    state = start_eprocess(lens="top_label")
    with pytest.raises(LensError, match="another question"):
        state.update(cal.Sketch.of(Y, B))
    with pytest.raises(InputTypeError, match="labelled Sketch or View"):
        state.update([0.5, 0.6])
    with pytest.raises(WeightsNotSupportedError, match="sample_weight"):
        state.update(View(B, Y.astype(np.uint8), np.linspace(0.5, 1, 10), "importance", lens="top_label"))
    with pytest.raises(InputError, match="without labels"):
        state.update(View(B, None, lens="top_label"))
    with pytest.raises(ArgumentError, match="alpha"):
        start_eprocess(alpha=1)
    for words, message in (
        ({"shifts": (0.0,)}, "shifts"),
        ({"slopes": (1.0,)}, "slopes"),
        ({"learner": "newton"}, "learner"),
        ({"tolerance": 0.02}, "learner"),
        ({"tolerance": 0.6, "learner": None}, "tolerance"),
        ({"tolerance": 0.1, "learner": None, "stakes": (0.95,)}, "stakes"),
        ({"shifts": (), "slopes": (), "learner": None}, "nothing is bet on"),
        ({"edges": (0.0, 0.5)}, "edges"),
        ({"learnt_share": 0}, "learnt_share"),
        ({"shifts": [0.5]}, "tuple"),
    ):
        with pytest.raises(ArgumentError, match=message):
            Wagers(**words)
    for plain in (
        {},
        {"format": 2},
        {**state.to_dict(), "logs": [[0.0]]},
        {k: v for k, v in state.to_dict().items() if k != "rows"},
    ):
        with pytest.raises(InputError, match="to_dict"):
            EProcess.of_dict(plain)


def test_results_can_be_shown() -> None:
    state = start_eprocess(lens="binary").update(cal.Sketch.of(Y, B))
    assert "No deviation was found" in repr(state)
    assert "calibrated" not in repr(state)
    assert len(state.to_frame()) == 13
    assert "<table>" in state._repr_html_()
