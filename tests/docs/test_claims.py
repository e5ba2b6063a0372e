"""Sentences of the guides that hold a number or a rule, tried on data that could contradict them."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal

DOCS = Path(__file__).parent.parent.parent / "docs"


def lowest(loss: Any, truth: list[float]) -> float:
    """Where descending the gradient from the truth ends: the probability of the first class, the others being alike.

    By signs of the slope in small steps: the losses jump where classes tie, and an optimiser's path would depend on the machine.
    """
    torch = pytest.importorskip("torch")
    share, others = torch.tensor(truth, dtype=torch.float64), len(truth) - 1
    classes = torch.arange(len(truth))

    def slope(at: float) -> float:
        first = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        forecast = torch.cat([first[None], ((1 - first) / others).expand(others)])
        (share * loss(forecast.log().expand(len(truth), -1), classes)).sum().backward()
        return float(first.grad)

    first = truth[0]
    for size in (0.01, 5e-4):
        step = size if slope(first) < 0 else -size
        while slope(first) * step < 0:
            first += step
    return first


@pytest.mark.deep
def test_table_of_losses_has_the_forecasts_of_lowest_loss() -> None:
    """docs/losses.md: the focal losses lower confidence where one class is likely, and raise it where none is."""
    pytest.importorskip("torch")
    from calibrant.torch import losses

    functions = (
        losses.label_smoothing_loss,
        losses.confidence_penalty_loss,
        losses.focal_loss,
        losses.flsd_loss,
        losses.dual_focal_loss,
    )
    columns = [partial(loss, reduction="none") for loss in functions]
    page = (DOCS / "losses.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([0-9.]+) of (two|100) classes \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for top, classes, cells in rows:
        others = 1 if classes == "two" else 99
        truth = [float(top)] + [(1 - float(top)) / others] * others
        for loss, cell in zip(columns, cells.split(" | "), strict=True):
            assert lowest(loss, truth) == pytest.approx(float(cell), abs=6e-4), (loss, top)
    likely, unlikely = [0.95, 0.05], [0.10] + [0.9 / 99] * 99
    for loss in columns[2:]:
        assert lowest(loss, likely) < 0.95
        assert lowest(loss, unlikely) > 0.10
    for loss in columns[:2]:
        assert lowest(loss, likely) < 0.95
        assert lowest(loss, unlikely) < 0.10


@pytest.mark.parametrize(
    ("accepted", "walks", "given"), [(44, False, False), (45, False, True), (58, False, True), (59, True, True)]
)
def test_rows_that_a_threshold_needs(accepted: int, walks: bool, given: bool) -> None:
    """docs/decide.md: 59 accepted rows without an error by default, 45 with a grid of one's own or one threshold."""
    rng = np.random.default_rng(0)
    p = np.r_[np.full(accepted, 0.995), np.full(3000, 0.6)]
    y = np.r_[np.ones(accepted, int), (rng.random(3000) < 0.6).astype(int)]
    goal: dict[str, Any] = {"accuracy": 0.95, "guarantee": 0.9}
    assert (cal.choose_threshold(y, p, **goal).threshold is not None) == walks
    assert (cal.choose_threshold(y, p, grid=[0.9], **goal).threshold is not None) == given
    assert (cal.choose_threshold(y, p, grid=[0.9], method="fixed", **goal).threshold is not None) == given
    for page in ("decide.md", "guides/abstention.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        assert "59 accepted rows" in text


def test_debiased_errors_of_small_groups() -> None:
    """docs/guides/groups.md: ece and drmsce grow as rows get fewer, t_cal does not, nor ce2_db with two rows in a bin."""
    mean: dict[int, dict[str, float]] = {}
    spread: dict[int, dict[str, float]] = {}
    for n in (10, 50, 1000):
        drawn = [cal.inference.make_calibrated(n, rng=seed) for seed in range(150)]
        values = {
            id: [cal.catalogue[id](one.y_true, one.y_prob) for one in drawn]
            for id in ("ece", "drmsce", "ce2_db", "t_cal")
        }
        mean[n] = {id: float(np.mean(found)) for id, found in values.items()}
        spread[n] = {id: float(np.std(found)) / np.sqrt(150) for id, found in values.items()}
    assert mean[50]["ece"] == pytest.approx(0.17, abs=0.01)
    assert mean[50]["drmsce"] == pytest.approx(0.06, abs=0.015)
    assert mean[50]["drmsce"] > 3 * mean[1000]["drmsce"]
    for n in mean:
        assert abs(mean[n]["t_cal"]) < 3 * spread[n]["t_cal"]
        assert n == 10 or abs(mean[n]["ce2_db"]) < 3 * spread[n]["ce2_db"]


def test_false_drift_alarms_depend_on_the_reference() -> None:
    """docs/monitor.md: the level holds on average over references, not for each of them."""
    rates = []
    for seed in range(12):
        reference = np.random.default_rng(seed).beta(2, 2, 500)
        windows = [np.random.default_rng(10_000 + 100 * seed + w).beta(2, 2, 1000) for w in range(40)]
        rates.append(np.mean([stats.ks_2samp(reference, one, method="asymp").pvalue <= 0.05 for one in windows]))
    assert min(rates) == 0
    assert max(rates) > 0.2  # 8 of 40 at a level of 0.05 has a probability of 0.0007
    assert 0.02 < np.mean(rates) < 0.12


def test_a_full_sketch_has_the_size_that_is_said() -> None:
    """docs/scale.md: about 250 kB, however many rows."""
    rng = np.random.default_rng(0)
    p = np.r_[rng.random(400_000), 10 ** rng.uniform(-9, -1, 400_000), 1 - 10 ** rng.uniform(-9, -1, 400_000)]
    y = (rng.random(len(p)) < 0.5).astype(int)
    sizes = [
        len(cal.Sketch.of(cal.Predictions(y, p, counts=np.full(len(p), count))).to_bytes())
        for count in (1, 64, 1 << 19)
    ]
    assert 230_000 < max(sizes) < 270_000
    assert "about 250 kB" in (DOCS / "scale.md").read_text(encoding="utf-8")
