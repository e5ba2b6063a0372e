"""Recalibration of sketches, against that of the rows."""

from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.methods import METHODS
from calibrant.sketches.grid import grid
from tests.calling import Run

GRID = np.linspace(0, 1, 2001)
PARAMETRIC = ("platt", "logistic_recalibration", "beta", "temperature", "quadratic_logit", "offset_adjustment")


def rows(seed: int, n: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Scores over the whole range, near 0, or tied, with 0 and 1 among them."""
    rng = np.random.default_rng(seed)
    p = [rng.beta(1, 1, n), np.maximum(rng.beta(0.2, 8, n), 1e-6), np.round(rng.beta(2, 2, n), 2)][seed % 3]
    p[:2] = (0, 1) if seed % 3 else p[:2]
    odds = np.log(np.clip(p, 1e-9, 1 - 1e-9) / np.clip(1 - p, 1e-9, 1))
    return (rng.random(n) < 1 / (1 + np.exp(-0.6 * odds + 0.2))).astype(int), p


def of_rows_and_sketch(method: Calibrator, seed: int) -> tuple[Calibrator, Calibrator, cal.Sketch]:
    y, p = rows(seed)
    sketch = cal.Sketch.of(y, p)
    cells = sketch.predictions()
    return (
        METHODS[method]().fit(p, y) if isinstance(method, str) else type(method)(**method.get_params()).fit(p, y),
        (METHODS[method]() if isinstance(method, str) else method).fit(cells.probs, cells.labels, counts=cells.weight),
        sketch,
    )


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("seed", range(3))
def test_parametric_methods_have_the_curve_of_the_rows(seed: int) -> None:
    for name in PARAMETRIC:
        whole, cells, _ = of_rows_and_sketch(name, seed)
        scores = np.quantile(rows(seed)[1], GRID)  # where there are rows
        expected = whole.apply(whole._read(scores))
        assert cells.apply(cells._read(scores)) == pytest.approx(expected, abs=1e-4 if seed == 1 else 5e-6), name


def largest_share(sketch: cal.Sketch) -> float:
    return float(sketch._kept.rows.max() / sketch.n)


@pytest.mark.parametrize("seed", range(3))
def test_isotonic_regression_is_within_a_quarter_of_the_largest_cell(seed: int) -> None:
    _, p = rows(seed)
    whole, cells, sketch = of_rows_and_sketch("isotonic", seed)
    place = np.searchsorted(grid().edges, p, side="left")
    of_rows = np.bincount(place, whole.apply(whole._read(p))[:, 1])
    view = sketch.predictions()
    at = np.searchsorted(grid().edges, view.probs, side="left")
    of_cells = np.bincount(at, view.weight * cells.apply(cells._read(view.probs))[:, 1], len(of_rows))
    apart = np.abs(np.cumsum(of_rows) - np.cumsum(of_cells)).max() / len(p)
    assert apart <= largest_share(sketch) / 4 + 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_bins_of_equal_mass_are_within_their_bound(seed: int) -> None:
    bins = 10
    whole, cells, sketch = of_rows_and_sketch(cal.HistogramBinning(bins=bins), seed)
    apart = np.abs(np.subtract(whole.values_[0], cells.values_[0]))
    assert apart.max() <= 4 * bins * largest_share(sketch)


@pytest.mark.parametrize("seed", range(3))
def test_bins_of_the_grid_are_exact(seed: int) -> None:
    whole, cells, _ = of_rows_and_sketch(cal.HistogramBinning(bins=15, binning="equal_width"), seed)
    assert cells.predict_proba(GRID) == pytest.approx(whole.predict_proba(GRID), abs=1e-12)


def test_recalibrate_reads_a_sketch() -> None:
    y, p = rows(0, 15_000)
    whole = cal.recalibrate(y, p, method=["platt", "isotonic"])
    found = cal.recalibrate(cal.Sketch.of(y, p), method=["platt", "isotonic"])
    assert (found.method, found.n) == (whole.method, len(p))
    for mine, theirs in zip(found.candidates, whole.candidates, strict=True):
        assert mine.loss == pytest.approx(theirs.loss, abs=2e-3)
    assert (found.low, found.high) == pytest.approx((whole.low, whole.high), rel=0.1)
    assert found.predict_proba(GRID) == pytest.approx(whole.predict_proba(GRID), abs=5e-6)
    again = cal.recalibrate(cal.Sketches.of(y, p), method=["platt", "isotonic"])
    assert again.gain == found.gain


def test_few_scores_with_many_rows() -> None:
    y, p = np.array([0, 1] * 2000), np.repeat([0.2, 0.7], 2000)
    found = cal.recalibrate(cal.Sketch.of(y, p), method="temperature")
    assert found.predict_proba([0.2])[0, 1] == pytest.approx(0.5, abs=0.02)


def test_the_command_fits_a_sketch(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    y, p = rows(0, 2000)
    cal.Sketches.of(y, p).write("day.sketch")
    code, out, _ = run("fit", "day.sketch", "--method", "platt", "--out", "platt.json")
    assert code == 0
    assert "fitted on 2,000 rows" in out
    whole = cal.PlattScaling().fit(p, y)
    assert cal.load("platt.json").predict_proba(GRID) == pytest.approx(whole.predict_proba(GRID), abs=5e-6)
