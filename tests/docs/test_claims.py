"""Sentences of the guides that hold a number or a rule, tried on data that could contradict them."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
