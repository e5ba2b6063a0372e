"""Sequential tests by window: published paths, a mean of exactly 1 over all labels, levels by simulation, states that can be stored."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.inference.simulation.warps import temperature
from calibrant.monitoring.sequential import Alternatives, Counted, EProcess, Memory, start_eprocess
from calibrant.views.view import View
from tests import checked

B, Y = np.array(checked.B[1]), np.array(checked.B[0])
LABELS, P = checked.D
ONE_SHIFT = Alternatives(shifts=(0.5,), slopes=(), learner=None)
EIGHT = Alternatives(slopes=(), learner=None)
DESIGNS = {"default": Alternatives(), "eight": EIGHT, "fitted alone": Alternatives(shifts=(), slopes=())}


def row(p: float, y: int, lens: str = "binary") -> View:
    return View(np.array([p]), np.array([y], np.uint8), lens=lens)


def path(alternatives: Alternatives, p: np.ndarray = B, y: np.ndarray = Y) -> list[float]:
    state, values = start_eprocess(lens="binary", alternatives=alternatives), []
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
    assert path(Alternatives(shifts=(1.0,), slopes=(), learner=None))[-1] == pytest.approx(1.1921028688, abs=5e-11)
    assert path(EIGHT)[-1] == pytest.approx(0.8918961792, abs=5e-11)


def test_published_top_label() -> None:
    rows = cal.Predictions(LABELS, P)
    view = cal.views.lenses.parse_lens("top_label", rows).views(rows)[0]
    alternatives = Alternatives(shifts=(-0.5,), slopes=(), learner=None)
    wanted = [
        0.8370888059, 1.0957830187, 0.9172676986, 1.1419236764, 0.9066566856, 1.18685018, 1.4775319385, 1.3078463848,
    ]  # fmt: skip
    np.testing.assert_allclose(path(alternatives, view.score, view.outcome), wanted, atol=5e-9)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_mean_is_one_over_all_labels(name: str, size: int) -> None:
    """All 2^10 labels are streams of one run, weighed by their probability if the scores are right."""
    alternatives = DESIGNS[name]
    labels = np.array(list(itertools.product((0, 1), repeat=10)), float)
    chance = np.prod(np.where(labels > 0, B, 1 - B), axis=1)
    logs, memory = np.zeros((1024, len(alternatives.names))), Memory.fresh(1024)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calibrant.monitoring.sequential.LEAST_ROWS", 2)
        for start in range(0, 10, size):
            part = slice(start, start + size)
            data = Counted(B[part], np.ones((1024, size)), labels[:, part])
            logs = logs + alternatives.log_evalues(data, memory)
            memory = alternatives.learn(data, memory)
    assert float(chance @ np.exp(alternatives.mixture(logs))) == pytest.approx(1, abs=1e-12)


def test_cells_keep_the_mean_at_most_one() -> None:
    """Rows of a cell have different scores and are tested at their mean."""
    p = np.array([0.30001, 0.30002, 0.30003, 0.30004])
    wide = np.array([0.2, 0.3, 0.35, 0.45])
    for scores in (p, wide):
        labels = np.array(list(itertools.product((0, 1), repeat=4)), float)
        chance = np.prod(np.where(labels > 0, scores, 1 - scores), axis=1)
        data = Counted(np.array([scores.mean()]), np.full((16, 1), 4.0), labels.sum(axis=1, keepdims=True))
        for alternatives in (EIGHT, Alternatives(learner=None)):
            member_means = chance @ np.exp(alternatives.log_evalues(data, Memory.fresh(16)))
            assert (member_means <= 1 + 1e-12).all()
    assert (member_means < 1 - 1e-6).any()


def test_sketch_and_rows_agree() -> None:
    drawn = cal.inference.make_calibrated(2000, rng=0)
    by_rows = start_eprocess(lens="binary")
    by_cells = start_eprocess(lens="binary")
    for part in np.array_split(np.arange(2000), 5):
        y, p = drawn.y_true[part], drawn.y_prob[part]
        by_rows = by_rows.update(View(p, y.astype(np.uint8)))
        by_cells = by_cells.update(cal.Sketch.of(y, p))
    assert by_cells.log_value == pytest.approx(by_rows.log_value, abs=1e-3)
    assert by_cells.rows == by_rows.rows == 2000


def test_a_window_is_order_free_and_adds_up() -> None:
    drawn = cal.inference.make_calibrated(300, rng=1)
    order = np.random.default_rng(0).permutation(300)
    start = start_eprocess(lens="binary")
    a = start.update(cal.Sketch.of(drawn.y_true, drawn.y_prob))
    b = start.update(cal.Sketch.of(drawn.y_true[order], drawn.y_prob[order]))
    assert a.to_dict() == b.to_dict()
    fixed = start_eprocess(lens="binary", alternatives=EIGHT)
    parts = [cal.Sketch.of(drawn.y_true[i::3], drawn.y_prob[i::3]) for i in range(3)]
    merged = fixed.update(parts[0] + parts[1] + parts[2])
    one_by_one = fixed
    for part in parts:
        one_by_one = one_by_one.update(part)
    np.testing.assert_allclose(merged.logs, one_by_one.logs, atol=1e-3)  # cells hold mean scores


def test_state_survives_json_to_the_last_bit() -> None:
    drawn = cal.inference.make_miscalibrated(600, warp=cal.inference.simulation.bias(0.3), rng=1)
    for alternatives in DESIGNS.values():
        whole = half = start_eprocess(lens="binary", alternatives=alternatives)
        for day in range(6):
            window = cal.Sketch.of(drawn.y_true[day::6], drawn.y_prob[day::6])
            whole = whole.update(window)
            half = EProcess.of_dict(json.loads(json.dumps(half.to_dict(), allow_nan=False))).update(window)
        assert half.to_dict() == whole.to_dict()
        assert half == whole


def test_batches_equal_single_streams() -> None:
    rng = np.random.default_rng(0)
    score = np.array([0.2, 0.5, 0.9])
    alternatives = Alternatives()
    logs, memory = np.zeros((3, len(alternatives.names))), Memory.fresh(3)
    states = [start_eprocess(lens="binary", alternatives=alternatives) for _ in range(3)]
    for _ in range(6):
        rows = rng.integers(1, 20, (3, 3))
        positives = rng.binomial(rows, score)
        data = Counted(score, rows.astype(float), positives.astype(float))
        logs = logs + alternatives.log_evalues(data, memory)
        memory = alternatives.learn(data, memory)
        for i in range(3):
            counts = np.concatenate([rows[i] - positives[i], positives[i]])
            outcome = np.repeat(np.array([0, 1], np.uint8), 3)
            states[i] = states[i].update(View(np.tile(score, 2), outcome, counts, "counts"))
    for i in range(3):
        np.testing.assert_allclose(states[i].logs, logs[i], atol=1e-6)


def test_the_fitted_alternative_comes_near_the_truth() -> None:
    drawn = cal.inference.make_miscalibrated(20_000, warp=cal.inference.simulation.temperature(1.3), rng=0)
    state = start_eprocess(lens="binary")
    for part in np.array_split(np.arange(20_000), 40):
        state = state.update(cal.Sketch.of(drawn.y_true[part], drawn.y_prob[part]))
    shift, slope = state.memory.theta
    assert abs(shift) < 0.06
    assert 1 + slope == pytest.approx(1 / 1.3, abs=0.05)
    assert state.rejected
    assert state.reached_rows is not None
    assert state.reached_rows <= 3000
    assert state.pvalue < 1e-6
    assert "Strongest alternative" in state.verdict


def test_impossible_outcomes_are_infinite_and_can_be_written_down() -> None:
    state = start_eprocess(lens="binary").update(row(0.0, 1))
    assert state.value == math.inf
    assert (state.pvalue, state.reached_window) == (0.0, 1)
    again = EProcess.of_dict(json.loads(json.dumps(state.to_dict(), allow_nan=False))).update(row(0.5, 1))
    assert again.value == math.inf
    sure = start_eprocess(lens="binary").update(row(0.0, 0)).update(row(1.0, 1))
    assert sure.value == pytest.approx(1)
    for found in (state, again, start_eprocess(lens="binary").update(row(1.0, 0))):
        assert found.strongest == "an outcome with predicted probability 0"
        assert "logit" not in found.verdict
    assert "logit" in start_eprocess(lens="binary").update(row(0.5, 1)).strongest
    assert "p-value < 1e-300" in repr(state)
    assert "&lt; 1e-300" in state._repr_html_()


def test_empty_windows_only_count() -> None:
    state = start_eprocess(lens="binary").update(cal.Sketch.of(Y, B))
    after = state.update(cal.Sketch.empty("binary"))
    assert (after.windows, after.rows, after.value) == (2, 10, state.value)


def test_first_crossing_is_kept() -> None:
    state = start_eprocess(lens="binary", alternatives=EIGHT)
    for _ in range(30):
        state = state.update(row(0.5, 1))
    first = state.reached_window
    assert first is not None
    for label in [0] * 60:
        state = state.update(row(0.5, label))
    assert state.reached_window == first == state.reached_rows
    assert state.rejected
    assert state.pvalue <= 0.05


GRID = np.arange(1, 20) / 20


def first_alarms(
    score: np.ndarray, *, rows: int, windows: int, streams: int, rng: int, truth: Any = None, after: int = 0
) -> np.ndarray:
    """After how many windows each of many simulated streams first reached 1/alpha; infinite where it never did."""
    draw = np.random.default_rng(rng)
    alternatives = Alternatives()
    rate = score if truth is None else truth.curve(score)
    logs, memory = np.zeros((streams, len(alternatives.names))), Memory.fresh(streams)
    first = np.full(streams, np.inf)
    for window in range(1, windows + 1):
        counted = draw.multinomial(rows, np.full(len(score), 1 / len(score)), size=streams)
        positives = draw.binomial(counted, rate if window > after else score)
        data = Counted(score, counted.astype(float), positives.astype(float))
        logs = logs + alternatives.log_evalues(data, memory)
        memory = alternatives.learn(data, memory)
        first[np.isinf(first) & (alternatives.mixture(logs) >= -math.log(0.05))] = window
    return first


def most_alarms(streams: int, alpha: float) -> int:
    """More are seen with probability below 0.1% if the level holds."""
    return int(stats.binom.isf(0.001, streams, alpha))


def test_years_without_change_are_quiet() -> None:
    alarms = np.isfinite(first_alarms(GRID, rows=5, windows=365, streams=200, rng=1)).sum()
    assert 0 < alarms <= most_alarms(200, 0.05)  # the bound is not idle


@pytest.mark.deep
@pytest.mark.parametrize("shape", [(2, 2), (0.5, 0.5), (1, 30)])
def test_a_thousand_years_without_change_are_quiet(shape: tuple[float, float]) -> None:
    scores = np.sort(np.random.default_rng(0).beta(*shape, 60))
    assert np.isfinite(first_alarms(scores, rows=20, windows=365, streams=1000, rng=2)).sum() <= most_alarms(1000, 0.05)


@pytest.mark.parametrize(
    ("shape", "median", "most"), [((2, 2), 1500, 3500), ((1, 1), 1000, 2400), ((0.5, 0.5), 900, 2000)]
)
def test_temperature_is_found_within_so_many_rows(shape: tuple[float, float], median: int, most: int) -> None:
    scores = stats.beta(*shape).ppf((np.arange(60) + 0.5) / 60)
    found = 100 * first_alarms(scores, rows=100, windows=100, streams=100, truth=temperature(1.3), rng=3)
    assert np.isfinite(found).all()
    assert np.quantile(found, 0.5) <= median
    assert np.quantile(found, 0.9) <= most


def test_a_late_change_is_counted_from_where_it_began() -> None:
    first = first_alarms(GRID, rows=100, windows=60, after=10, streams=60, truth=temperature(2.0), rng=4)
    later = first[first > 10]
    assert len(later) > 50
    assert 100 * (np.median(later) - 10) < 1500
