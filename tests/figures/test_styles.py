"""Pictures under other styles: background, words and colors are those of the style, and words can be read on any ax."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import calibrant as cal

pytest.importorskip("matplotlib")
import matplotlib
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from .pictures import png_of

SIM = cal.inference.make_calibrated(300, classes=4, rng=2)
Y, P = SIM.y_true, SIM.y_prob
PAIR = {"one": P, "two": P[:, ::-1]}
TREE = {"a": [0, 1], "b": [2, 3]}
PICTURES: dict[str, Any] = {
    "reliability": lambda: cal.figures.reliability(Y, P, metrics=("ece",)).plot(),
    "panels": lambda: cal.figures.reliability_panels(Y, PAIR, metrics=("ece",)).plot(),
    "overlay": lambda: cal.figures.reliability_panels(Y, PAIR).plot(layout="overlay"),
    "classes": lambda: cal.figures.classwise_panels(Y, P, metrics=("ece",)).plot(),
    "murphy": lambda: cal.figures.murphy_diagram(Y, PAIR).plot(),
    "decision": lambda: cal.figures.decision_curve(Y, PAIR, lens="class:1", level=None).plot(),
    "flexible": lambda: cal.figures.flexible_calibration_curve(Y, P, lens="class:1").plot(),
    "belt": lambda: cal.figures.calibration_belt(Y, P, lens="class:1", method="likelihood_ratio", points=20).plot(),
    "risk": lambda: cal.figures.risk_coverage_diagram(Y, PAIR).plot(),
    "cumulative": lambda: cal.figures.cumulative_diagram(Y, P).plot(),
    "histogram": lambda: cal.figures.score_histogram(Y, P).plot(),
    "simplex": lambda: cal.figures.simplex_diagram(Y, P, corners=[0, 1, 2], kind="points").plot(),
    "groups": lambda: cal.figures.group_error_diagram(Y, PAIR, hierarchy=TREE).plot(),
    "heat": lambda: cal.figures.group_confidence_diagram(Y, P, hierarchy=TREE).plot(),
    "entropy": lambda: cal.figures.entropy_diagram(Y, PAIR).plot(),
    "topk": lambda: cal.figures.topk_diagram(Y, PAIR).plot(),
    "stability": lambda: cal.figures.stability_diagram(Y, P, values=[2, 5, 10], n_resamples=3, rng=0).plot(),
    "variation": lambda: cal.figures.variation_diagram(Y, P).plot(),
    "polytomous": lambda: cal.figures.classwise_curves(Y, P).plot(),
    "forest": lambda: cal.figures.forest_diagram(cal.inference.pool_estimates([0.8, 1.1, 0.9], [0.1, 0.2, 0.1])).plot(),
}


@pytest.fixture
def _dark() -> Iterator[None]:
    from matplotlib import style

    with matplotlib.rc_context():
        style.use("dark_background")
        yield


def lightness(colour: Any) -> float:
    return float(np.mean(to_rgb(colour)))


def words_of(ax: Any) -> list[Any]:
    """All words of an ax, of what stands above it, and of its legend."""
    found = [*ax.texts, *(ax.get_legend().get_texts() if ax.get_legend() else [])]
    for one in (ax, *ax.child_axes):
        if one.axison:
            found += [one.title, one.xaxis.label, one.yaxis.label, *one.get_xticklabels(), *one.get_yticklabels()]
    return [text for text in found if text.get_text().strip()]


@pytest.mark.sampled
@pytest.mark.usefixtures("_dark")
@pytest.mark.parametrize("name", PICTURES)
def test_a_dark_style_makes_our_pictures_dark_with_light_words(name: str) -> None:
    drawn = PICTURES[name]()
    axes = drawn if isinstance(drawn, list) else [drawn]
    with Image.open(io.BytesIO(png_of(axes))) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    corners = pixels[[0, 0, -1, -1], [0, -1, 0, -1]]
    assert (corners == 0).all()
    assert (pixels.max(axis=2) < 60).mean() > 0.3
    for ax in axes:
        for text in words_of(ax):
            if not (name == "heat" and text in ax.texts):  # dark on light cells
                assert lightness(text.get_color()) > 0.4, text.get_text()


@pytest.mark.usefixtures("_dark")
def test_a_given_dark_ax_keeps_its_face_and_has_light_words() -> None:
    ax = Figure(figsize=(3.3, 3.3), layout="constrained").add_subplot()
    assert cal.figures.murphy_diagram(Y, PAIR).plot(ax) is ax
    assert lightness(ax.get_facecolor()) == 0
    for text in (ax.xaxis.label, ax.yaxis.label, ax.get_xticklabels()[0], *ax.get_legend().get_texts()):
        assert lightness(text.get_color()) > 0.8
    inside = cal.figures.reliability(Y, P, metrics=("ece",)).plot(Figure().add_subplot()).get_legend()
    assert lightness(inside.get_frame().get_facecolor()[:3]) == 0
    assert all(lightness(text.get_color()) > 0.8 for text in inside.get_texts())


def test_a_transparent_or_usual_ground_takes_dark_ink_and_no_extra_paper() -> None:
    figure = Figure(facecolor="none")
    ax = cal.figures.murphy_diagram(Y, P).plot(figure.add_subplot())
    assert lightness(ax.xaxis.label.get_color()) < 0.3
    assert cal.figures.murphy_diagram(Y, P).plot().figure.artists == []
