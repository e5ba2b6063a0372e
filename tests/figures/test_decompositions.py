"""The plane of miscalibration and discrimination: terms of the decomposition, and lines of equal score."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, UndefinedMetricError
from calibrant.figures.decompositions import isolines
from calibrant.reporting.interactive import interactive, isoline_rows
from tests.calling import raises

RNG = np.random.default_rng(4)
P = RNG.beta(0.8, 1.1, 800).round(2)
Y = (RNG.random(800) < P**1.5).astype(int)
MODELS = {"a": P, "b": np.sqrt(P), "constant": np.full(800, 0.4), "late": P**2}


@pytest.mark.parametrize("weight", [None, RNG.exponential(1, 800)])
def test_points_are_the_terms_of_the_decomposition(weight: np.ndarray | None) -> None:
    shown = cal.figures.decomposition_diagram(Y, MODELS, sample_weight=weight)
    for name, scores in MODELS.items():
        found, own = shown[name], cal.Predictions(Y, scores, sample_weight=weight)
        assert found.value == pytest.approx(cal.brier(own))
        assert found.value == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty)
        assert found.miscalibration >= -1e-12
    assert shown["constant"].discrimination == pytest.approx(0, abs=1e-12)
    assert shown.to_frame()["model"].tolist() == list(MODELS)


def test_lines_of_equal_score_pass_through_the_points() -> None:
    shown = cal.figures.decomposition_diagram(Y, MODELS)
    ax = shown.plot()
    lines = {float(text.get_text()): None for text in ax.texts}
    drawn = [line for line in ax.lines if line.get_gid() == "isoline"]
    assert len(drawn) == len(lines) >= 4
    uncertainty = shown["a"].uncertainty
    for score, line in zip(lines, drawn, strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(x - y + uncertainty, score, atol=1e-9)
    # Their range contains the score of each model, and a point between two lines has a score between theirs.
    for each in shown.models.values():
        assert min(lines) - 0.1 < each.value < max(lines) + 0.1
        above = [score for score, line in zip(lines, drawn, strict=True) if _above(line, each)]
        assert all(score >= each.value - 1e-9 for score in above)


def _above(line, point) -> bool:  # type: ignore[no-untyped-def]
    """Whether a point lies above a line of slope 1."""
    x, y = line.get_data()
    return bool(point.discrimination - point.miscalibration >= y[0] - x[0])


@pytest.mark.parametrize(("x", "y"), [([0.0], [0.0]), ([1e-9], [0.2]), ([0.3], [1e-12]), ([0.01, 2.0], [0.1, 0.5])])
def test_lines_lie_inside_the_axes_at_even_steps(x: list[float], y: list[float]) -> None:
    lines = isolines(x, y, 0.25)
    steps = np.diff([score for score, _, _ in lines])
    np.testing.assert_allclose(steps, steps[0])
    assert 4 <= len(lines) <= 12
    for score, across, up in lines:
        assert across[0] <= across[1] <= 1.2 * max(*x, 1e-3) + 1e-12
        assert -1e-12 <= up[0] <= up[1] <= 1.2 * max(*y, 1e-3) + 1e-12
        np.testing.assert_allclose(np.subtract(across, up) + 0.25, score, atol=1e-9)


def test_pages_have_the_same_lines() -> None:
    planes = [interactive(cal.Predictions(Y, scores)).lenses[0].charts["plane"] for scores in MODELS.values()]
    rows = isoline_rows(planes)
    shown = cal.figures.decomposition_diagram(Y, MODELS)
    x, y = zip(*((each.miscalibration, each.discrimination) for each in shown.models.values()), strict=True)
    expected = isolines(x, y, shown["a"].uncertainty)
    assert [row["text"] for row in rows[1::2]] == [f"Brier {score:g}" for score, _, _ in expected]
    np.testing.assert_allclose([row["y"] for row in rows], np.ravel([up for _, _, up in expected]), atol=1e-12)
    groups = interactive(cal.Predictions(Y, P, groups=np.arange(800) % 2)).groups
    assert all("plane" not in series.charts for series in groups)


def test_models_of_other_rows_share_no_lines() -> None:
    with raises(ArgumentError, "y_true"):
        cal.figures.decomposition_diagram(
            {"a": cal.Predictions(Y, P), "b": cal.Predictions((RNG.random(800) < P).astype(int), P)}
        )


def test_infinite_scores_have_no_place_in_the_plane() -> None:
    scores = P.clip(0.01, 0.99)
    sure = np.where(np.arange(800) == np.flatnonzero(Y == 0)[0], 1.0, scores)
    with pytest.raises(UndefinedMetricError, match="the score of 'sure' is infinite"):
        cal.figures.decomposition_diagram(Y, {"a": scores, "sure": sure}, score="nll")
