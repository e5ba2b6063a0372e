"""Reliability diagrams: their data against brute force and exact distributions, and the pictures against their data."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant.figures.reliability_diagrams import reliability_diagram
from calibrant.figures.uncertainty import Resampler
from calibrant.inference.bands import calibration_band
from tests.calling import call

from .pictures import drawn, new_ax, png_of

KINDS = ("bins", "bars", "roof", "smooth", "isotonic")
SIM = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(2.0), rng=3)
Y, P = SIM.y_true, SIM.y_prob


def brute_bins(y: Any, p: Any, w: Any, count: int) -> list[tuple[float, float, float]]:
    """Weight, mean score and rate of right-closed bins, row by row."""
    found = []
    for k in range(count):
        inside = [i for i in range(len(p)) if (k / count < p[i] <= (k + 1) / count) or (k == 0 and p[i] == 0)]
        mass = sum(w[i] for i in inside)
        if mass == 0:
            found.append((0.0, np.nan, np.nan))
        else:
            found.append((mass, sum(w[i] * p[i] for i in inside) / mass, sum(w[i] * y[i] for i in inside) / mass))
    return found


def reference_pav(y: list[float]) -> list[float]:
    """Pool adjacent violators, one block at a time."""
    blocks: list[list[float]] = []
    for value in y:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, n = blocks.pop()
            before, m = blocks.pop()
            blocks.append([(mean * n + before * m) / (n + m), n + m])
    return [mean for mean, n in blocks for _ in range(int(n))]


@pytest.mark.parametrize("words", ["none", "sample_weight", "counts"])
def test_bins_are_those_of_brute_force(words: str) -> None:
    rng = np.random.default_rng(0)
    p = np.append(np.round(rng.random(60), 2), [0.0, 1.0, 0.2, 0.2])
    y = (rng.random(64) < p).astype(int)
    w = {"none": np.ones(64), "sample_weight": rng.random(64), "counts": rng.integers(1, 4, 64)}[words]
    given_words = {} if words == "none" else {words: w}
    diagram = call(reliability_diagram, y, p, bins=5, uncertainty=None, **given_words)
    weight, score, rate = np.array(brute_bins(y, p, w, 5)).T
    np.testing.assert_allclose(diagram["model"].table.weight, weight, rtol=1e-12)
    np.testing.assert_allclose(diagram["model"].mean_score, score, rtol=1e-12)
    np.testing.assert_allclose(diagram["model"].rate, rate, rtol=1e-12)
    assert np.isnan(diagram["model"].low).all()
    assert (diagram["model"].how, diagram["model"].level) == (None, None)


def test_empty_bins_are_kept_and_stay_empty() -> None:
    diagram = reliability_diagram([0, 1], [0.05, 0.95], bins=4)
    assert np.isnan(diagram["model"].rate).tolist() == [False, True, True, False]
    assert np.isnan(diagram["model"].low).tolist() == [False, True, True, False]
    assert diagram.to_dict()["models"][0]["table"]["rate"] == [0.0, None, None, 1.0]


@pytest.mark.parametrize("how", ["clopper_pearson", "jeffreys", "wilson"])
def test_binomial_bounds_are_those_of_the_calibration_curve(how: Any) -> None:
    diagram = reliability_diagram(Y, P, bins=7, uncertainty=how, level=0.9)
    table = cal.calibration_curve(Y, P, bins=7).table
    assert np.array_equal([diagram["model"].low, diagram["model"].high], table.interval(0.9, how))
    assert (diagram["model"].how, diagram["model"].level) == (how, 0.9)


def test_standard_errors_by_hand() -> None:
    diagram = reliability_diagram([0, 1, 1, 1, 0], [0.2, 0.3, 0.7, 0.8, 0.9], bins=2, uncertainty="standard_error")
    error = np.sqrt([0.5 * 0.5 / 2, (2 / 3) * (1 / 3) / 3])
    np.testing.assert_allclose(
        diagram["model"].high - diagram["model"].rate, np.minimum(error, 1 - diagram["model"].rate), rtol=1e-12
    )
    np.testing.assert_allclose(diagram["model"].rate - diagram["model"].low, error, rtol=1e-12)
    assert diagram["model"].level is None
    assert "one standard error" in repr(diagram)
    halves = reliability_diagram(Y, P, bins=3, uncertainty="standard_error", sample_weight=np.full(len(Y), 0.5))
    whole = reliability_diagram(Y, P, bins=3, uncertainty="standard_error")
    np.testing.assert_allclose(halves["model"].high, whole["model"].high, rtol=1e-12)


def test_consistency_bars_of_one_bin_are_binomial_quantiles() -> None:
    from scipy.stats import binom

    y, p = [1] * 15 + [0] * 20, [0.3] * 35
    words: dict[str, Any] = {"uncertainty": "consistency", "n_resamples": 20_000, "rng": 0, "level": 0.9}
    diagram = call(reliability_diagram, y, p, bins=1, **words)
    wanted = binom.ppf([0.05, 0.95], 35, 0.3) / 35
    np.testing.assert_allclose([diagram["model"].low[0], diagram["model"].high[0]], wanted, atol=1e-9)


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_consistency_bars_do_not_look_at_the_labels() -> None:
    same = [reliability_diagram(labels, P, bins=15, uncertainty="consistency", rng=5) for labels in (Y, 1 - Y)]
    assert np.array_equal(same[0]["model"].low, same[1]["model"].low, equal_nan=True)


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_bootstrap_of_one_bin_is_binomial_at_the_rate() -> None:
    from scipy.stats import binom

    y, p = np.array([1] * 9 + [0] * 21), np.linspace(0.2, 0.9, 30)
    words: dict[str, Any] = {"uncertainty": "bootstrap", "n_resamples": 20_000, "rng": 2, "level": 0.9}
    diagram = call(reliability_diagram, y, p, bins=1, **words)
    wanted = binom.ppf([0.05, 0.95], 30, 0.3) / 30
    np.testing.assert_allclose([diagram["model"].low[0], diagram["model"].high[0]], wanted, atol=1e-9)


def test_many_scores_are_drawn_in_narrow_cells_without_loss() -> None:
    big = cal.inference.make_calibrated(30_000, rng=0)
    groups = Resampler(cal.views.lenses.parse_lens("binary", big.predictions).views(big.predictions)[0])  # type: ignore[arg-type]
    assert len(groups.score) <= 1921
    assert groups.weight.sum() == 30_000
    assert groups.events.sum() == big.y_true.sum()
    np.testing.assert_allclose(groups.weight @ groups.score, big.y_prob.sum(), rtol=1e-12)
    diagram = reliability_diagram(big.y_true, big.y_prob, bins=10, uncertainty="consistency", rng=0)
    half = 1.96 * np.sqrt(
        diagram["model"].mean_score * (1 - diagram["model"].mean_score) / diagram["model"].table.weight
    )
    np.testing.assert_allclose(diagram["model"].high - diagram["model"].mean_score, half, atol=0.004)


def test_the_band_is_the_calibration_band_at_the_mean_scores() -> None:
    diagram = reliability_diagram(Y, P, bins=6, uncertainty="band", level=0.9)
    band = calibration_band(Y, P, alpha=0.1)
    assert diagram["model"].band is not None
    np.testing.assert_allclose(diagram["model"].band.low, band.low, rtol=1e-9)
    low, high = band.at(diagram["model"].mean_score)
    np.testing.assert_allclose(diagram["model"].low, low, rtol=1e-9)
    np.testing.assert_allclose(diagram["model"].high, high, rtol=1e-9)


def test_corp_is_isotonic_regression() -> None:
    diagram = reliability_diagram(Y, P, kind="isotonic", uncertainty=None)
    assert diagram["model"].curve is not None
    order = np.argsort(P)
    wanted = reference_pav([float(value) for value in Y[order]])
    np.testing.assert_allclose(
        np.interp(P[order], diagram["model"].curve.x, diagram["model"].curve.y), wanted, atol=1e-12
    )
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression(out_of_bounds="clip").fit(P, Y)
    np.testing.assert_allclose(
        np.interp(P, diagram["model"].curve.x, diagram["model"].curve.y), isotonic.predict(P), atol=1e-12
    )


def test_corp_consistency_agrees_with_refitting() -> None:
    diagram = reliability_diagram(Y[:80], P[:80], kind="isotonic", uncertainty="consistency", n_resamples=1500, rng=0)
    rng, fits = np.random.default_rng(9), []
    assert diagram["model"].curve is not None
    for _ in range(1500):
        score = np.sort(rng.choice(P[:80], 80))
        outcome = (rng.random(80) < score).astype(float)
        distinct, at = np.unique(score, return_inverse=True)
        mean = np.bincount(at, outcome) / np.bincount(at)
        fit = __import__("scipy.optimize", fromlist=["x"]).isotonic_regression(mean, weights=np.bincount(at)).x
        fits.append(np.interp(diagram["model"].curve.x, distinct, fit))
    low, high = np.quantile(fits, [0.025, 0.975], axis=0)
    assert np.abs(diagram["model"].curve.low - low).mean() < 0.015
    assert np.abs(diagram["model"].curve.high - high).mean() < 0.015


def test_the_smooth_curve_is_kernel_regression_with_reflection() -> None:
    diagram = reliability_diagram(Y, P, kind="smooth", bandwidth=0.08, uncertainty=None)
    curve = diagram["model"].curve
    assert curve is not None
    images = np.concatenate([P, -P, 2 - P])
    near = np.exp(-0.5 * ((curve.x[:, None] - images) / 0.08) ** 2)
    np.testing.assert_allclose(curve.y, near @ np.tile(Y, 3) / near.sum(axis=1), atol=2e-4)
    density = near.sum(axis=1) / (len(P) * 0.08 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(curve.density, density, rtol=2e-3)
    assert np.trapezoid(curve.density, curve.x) == pytest.approx(1, abs=0.01)


def test_the_smooth_curve_is_as_wide_as_the_smooth_error() -> None:
    curve = reliability_diagram(Y, P, kind="smooth")["model"].curve
    assert curve is not None
    assert curve.bandwidth == cal.smece(Y, P)
    assert ((curve.low <= curve.y) & (curve.y <= curve.high)).all()
    alone = reliability_diagram([1], [0.5], kind="smooth", bandwidth=0.1)["model"].curve
    assert alone is not None
    assert len(alone.x) > 0
    assert (alone.y == 1).all()


def test_roofs_run_along_the_diagonal_and_their_gap_is_the_error() -> None:
    diagram = reliability_diagram(Y, P, kind="roof", bins=8)
    left, right = diagram["model"].roof
    np.testing.assert_allclose(right - left, diagram["model"].table.right - diagram["model"].table.left, rtol=1e-12)
    height = np.abs(left - diagram["model"].table.left)
    assert float(height @ diagram["model"].table.share) == pytest.approx(cal.ece(Y, P, bins=8), abs=1e-15)
    middle = np.interp(
        diagram["model"].mean_score[2],
        [diagram["model"].table.left[2], diagram["model"].table.right[2]],
        [left[2], right[2]],
    )
    assert middle == pytest.approx(diagram["model"].rate[2], abs=1e-12)


def test_metrics_use_the_bins_of_the_diagram() -> None:
    diagram = reliability_diagram(Y, P, bins=7, binning="equal_mass", metrics=("ece", "smece", "hosmer_lemeshow"))
    assert diagram["model"].metrics["ece"] == cal.ece(Y, P, bins=7, binning="equal_mass")
    assert diagram["model"].metrics["smece"] == cal.smece(Y, P)
    assert diagram["model"].metrics["hosmer_lemeshow"] == cal.hosmer_lemeshow(Y, P)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=30), st.integers(1, 6))
def test_laws_of_any_data(rows: list[tuple[int, bool]], bins: int) -> None:
    p, y = np.array([score / 20 for score, _ in rows]), np.array([int(outcome) for _, outcome in rows])
    diagram = reliability_diagram(y, p, bins=bins)
    full = ~diagram["model"].table.empty
    assert ((diagram["model"].low <= diagram["model"].rate) & (diagram["model"].rate <= diagram["model"].high))[
        full
    ].all()
    assert (
        (diagram["model"].table.left <= diagram["model"].mean_score)
        & (diagram["model"].mean_score <= diagram["model"].table.right + 1e-12)
    )[full].all()
    curve = reliability_diagram(y, p, kind="isotonic", uncertainty="band")["model"].curve
    assert curve is not None
    assert (np.diff(curve.y) >= -1e-12).all()


@pytest.mark.parametrize("kind", KINDS)
def test_soft_labels_have_no_interval_but_a_curve(kind: Any) -> None:
    shares = np.linspace(0, 1, 30)
    diagram = reliability_diagram(cal.Predictions(shares, shares, soft=True), kind=kind)
    assert diagram["model"].how is None
    assert np.nanmax(np.abs(diagram["model"].table.gap)) < 1e-12
    assert len(png_of(diagram.plot(new_ax()))) > 1000
    for how in ("clopper_pearson", "standard_error", "bootstrap", "consistency", "band"):
        with pytest.raises(cal.errors.UndefinedMetricError):
            reliability_diagram(cal.Predictions(shares, shares, soft=True), kind=kind, uncertainty=how)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("y", "p"), [([1], [0.4]), ([0, 0, 0], [0.2, 0.5, 0.5]), ([0, 1], [0.0, 1.0]), ([1, 1], [1.0, 1.0])]
)
def test_tiny_data_are_drawn_too(kind: Any, y: list[int], p: list[float]) -> None:
    ax = new_ax()
    assert reliability_diagram(y, p, kind=kind).plot(ax) is ax
    assert len(png_of(ax)) > 1000


def test_bars_and_hatched_gaps_are_the_data() -> None:
    diagram = reliability_diagram(Y, P, bins=5, kind="bars")
    ax = diagram.plot(new_ax())
    bars, gaps = drawn(ax, "bars"), drawn(ax, "gap")
    (walls,) = bars
    np.testing.assert_allclose(
        [path.vertices[2:4, 1] for path in walls.get_paths()], np.repeat(diagram["model"].rate, 2).reshape(-1, 2)
    )
    np.testing.assert_allclose([path.vertices[0, 0] for path in walls.get_paths()], diagram["model"].table.left)
    over, under = gaps
    for side, held in ((over, diagram["model"].table.gap > 0), (under, diagram["model"].table.gap < 0)):
        heights = [np.ptp(path.vertices[:, 1]) for path in side.get_paths()]
        np.testing.assert_allclose(heights, np.abs(diagram["model"].table.gap[held]))
        assert side.get_hatch()
    assert over.get_edgecolor().tolist() != under.get_edgecolor().tolist()
    (marks,) = drawn(ax, "curve")
    assert np.array_equal(marks.get_xdata(), diagram["model"].mean_score)


def test_roofs_are_drawn_with_their_slope() -> None:
    diagram = reliability_diagram(Y, P, bins=5, kind="roof")
    ax = diagram.plot(new_ax())
    (walls,) = drawn(ax, "bars")
    left, right = diagram["model"].roof
    tops = [path.vertices[2:4, 1] for path in walls.get_paths()]
    np.testing.assert_allclose(tops, np.column_stack([right, left]))
    assert sum(len(strips.get_paths()) for strips in drawn(ax, "gap")) == 5


def test_words_values_and_names_stand_on_the_picture() -> None:
    ax = reliability_diagram(Y, P, bins=10, metrics=("ece", "brier")).plot(new_ax(), label="mine")
    first, second = (text.get_text() for text in ax.get_legend().get_texts())
    assert first == f"mine\nece {cal.ece(Y, P, bins=10):.3f}\nbrier {cal.brier(Y, P):.3f}"
    assert second == "95% intervals"
    assert {"overestimated", "underestimated"} <= {text.get_text() for text in ax.texts}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean predicted probability", "observed rate")
    many = cal.inference.make_calibrated(50, classes=3, rng=0)
    top = reliability_diagram(many.y_true, many.y_prob, bins=15, metrics=("ece",)).plot(new_ax())
    assert (top.get_xlabel(), top.get_ylabel()) == ("confidence", "accuracy")
    assert {"overconfident", "underconfident"} <= {text.get_text() for text in top.texts}
    assert top.get_legend().get_texts()[0].get_text().startswith("ece 0.")
    bare = reliability_diagram(Y, P, bins=15, uncertainty=None).plot(new_ax(), counts=None)
    assert (bare.get_legend(), len(bare.child_axes)) == (None, 0)
    parts = (
        reliability_diagram(Y, P, kind="isotonic").plot(new_ax()).get_legend().get_texts()[0].get_text().splitlines()
    )
    assert [line.split()[0] for line in parts] == ["miscalibration", "discrimination", "uncertainty"]


def test_rare_events_on_logit_axes() -> None:
    rng = np.random.default_rng(0)
    p = np.exp(rng.uniform(np.log(1e-4), np.log(0.2), 4000))
    y = (rng.random(4000) < p).astype(int)
    diagram = reliability_diagram(y, p, bins=8, binning="equal_mass")
    ax = diagram.plot(new_ax(), scale="logit")
    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    low, high = ax.get_xlim()
    assert 0 < low < diagram["model"].mean_score.min()
    assert diagram["model"].mean_score.max() < high < 1
    (line,) = drawn(ax, "curve")
    np.testing.assert_allclose(line.get_ydata(), np.clip(diagram["model"].rate, low, high))
    assert diagram["model"].rate.min() == 0
    (hollow,) = drawn(ax, "beyond")
    assert len(hollow.get_xdata()) == (diagram["model"].rate == 0).sum()
    assert "hollow: beyond the axis" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(png_of(ax)) > 1000
    for kind in ("bars", "roof"):
        with pytest.raises(cal.errors.ArgumentError):
            reliability_diagram(y, p, kind=kind).plot(new_ax(), scale="logit")  # type: ignore[arg-type]
    for kind in ("smooth", "isotonic"):
        assert len(png_of(reliability_diagram(y, p, kind=kind).plot(new_ax(), scale="logit"))) > 1000  # type: ignore[arg-type]


def test_without_pyplot_nothing_is_registered_and_import_is_light() -> None:
    program = (
        "import sys, calibrant.figures.reliability_diagrams, calibrant.figures.panels, calibrant.figures.differences\n"
        "assert 'matplotlib' not in sys.modules\n"
        "ax = calibrant.figures.reliability_diagrams.reliability_diagram([0, 1], [0.2, 0.7]).plot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "print(type(ax.figure).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Figure"


def test_a_score_of_whole_rows_is_named_by_its_question() -> None:
    y, p = [0, 1, 2, 1], [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
    diagram = cal.reliability_diagram(y, p, metrics=("nll", "ece"), level=None)
    assert "nll of top_label" in repr(diagram)
    assert ", ece " in repr(diagram)
    assert diagram["model"].metrics["nll"] != pytest.approx(cal.nll(y, p))
    assert "nll of" not in repr(cal.reliability_diagram([0, 1], [0.2, 0.7], metrics=("nll",), level=None))


def test_a_curve_of_one_point_is_seen() -> None:
    ax = reliability_diagram([0, 1, 1] * 9, [0.6] * 27, kind="isotonic", uncertainty="bootstrap", rng=0).plot(new_ax())
    (line,) = drawn(ax, "curve")
    assert line.get_xydata().tolist() == [[0.6, pytest.approx(2 / 3)]]
    assert line.get_marker() == "o"
    (band,) = drawn(ax, "band")
    assert np.ptp(band.get_paths()[0].vertices[:, 0]) > 0
    (many,) = drawn(reliability_diagram(Y, P, kind="isotonic").plot(new_ax()), "curve")
    assert many.get_marker() == "None"
