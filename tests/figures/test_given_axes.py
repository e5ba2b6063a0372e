"""Pictures on the user's axes: several on one ax, titles, dark grounds and small figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import calibrant as cal

pytest.importorskip("matplotlib")
import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure

from .pictures import texts_of

SIM = cal.inference.make_calibrated(300, classes=4, rng=2)
Y, P = SIM.y_true, SIM.y_prob
THREE = {"one": P, "two": P[:, ::-1], "three": (P**0.5) / (P**0.5).sum(axis=1, keepdims=True)}
TREE = {"a": [0, 1], "b": [2, 3]}
PICTURES: dict[str, Any] = {
    "line": lambda ax: cal.figures.reliability(Y, P, metrics=("ece",)).plot(ax, label="a model"),
    "bars": lambda ax: cal.figures.reliability(Y, P, kind="bars").plot(ax),
    "roof": lambda ax: cal.figures.reliability(Y, P, kind="roof").plot(ax, counts=None),
    "smooth": lambda ax: cal.figures.reliability(Y, P, kind="smooth").plot(ax, labels=True),
    "corp": lambda ax: cal.figures.reliability(Y, P, kind="corp").plot(ax),
    "logit": lambda ax: cal.figures.reliability(Y, P).plot(ax, scale="logit", counts="area"),
    "murphy": lambda ax: cal.figures.murphy_diagram(Y, THREE).plot(ax),
    "decision": lambda ax: cal.figures.decision_curve(Y, THREE, lens="class:1", level=None).plot(ax),
    "flexible": lambda ax: cal.figures.flexible_calibration_curve(Y, P, lens="class:1").plot(ax),
    "belt": lambda ax: cal.figures.calibration_belt(Y, P, lens="class:1", method="likelihood_ratio", points=20).plot(
        ax
    ),
    "risk": lambda ax: cal.figures.risk_coverage_diagram(Y, THREE).plot(ax),
    "cumulative": lambda ax: cal.figures.cumulative_diagram(Y, P).plot(ax),
    "histogram": lambda ax: cal.figures.score_histogram(Y, P).plot(ax),
    "simplex": lambda ax: cal.figures.simplex_diagram(Y, P, corners=[0, 1, 2], kind="points").plot(ax),
    "heat": lambda ax: cal.figures.group_confidence_diagram(Y, P, hierarchy=TREE).plot(ax),
    "entropy": lambda ax: cal.figures.entropy_diagram(Y, THREE).plot(ax),
    "variation": lambda ax: cal.figures.variation_diagram(Y, P).plot(ax),
    "uce": lambda ax: cal.figures.uce_diagram(Y, P).plot(ax),
    "forest": lambda ax: cal.figures.forest_diagram(
        cal.inference.pool_estimates([0.8, 1.1, 0.9], [0.1, 0.2, 0.1])
    ).plot(ax),
}
every_picture = pytest.mark.parametrize("name", PICTURES)


def drawn(name: str, *, layout: str | None = None, title: str = "before", size: float = 3.0) -> Any:
    """A picture on an ax of a figure of the user, with a title."""
    ax = Figure(figsize=(size, size), layout=layout).add_subplot()
    if title == "before":
        ax.set_title("A title of the user")
    assert PICTURES[name](ax) is ax
    if title == "after":
        ax.set_title("A title of the user")
    FigureCanvasAgg(ax.figure).draw()
    return ax


def words_of(ax: Any) -> list[Any]:
    """The texts of an ax, and those beside the strip over it."""
    strips = [one for one in ax.child_axes if one.get_gid() == "strip"]
    beside = [text for strip in strips for text in (strip.yaxis.label, *strip.get_yticklabels())]
    return [*texts_of(ax), *(text for text in beside if text.get_text())]


@pytest.mark.sampled
@every_picture
@pytest.mark.parametrize(
    ("layout", "title"), [(None, "before"), (None, "after"), ("constrained", "after"), ("tight", "after")]
)
def test_words_stay_on_a_small_page_and_clear_of_its_title(name: str, layout: str | None, title: str) -> None:
    ax = drawn(name, layout=layout, title=title)
    page, head = ax.figure.bbox, ax.title.get_window_extent()
    for text, box in ((words.get_text(), words.get_window_extent()) for words in words_of(ax)):
        assert box.x0 >= page.x0 - 1, text
        assert box.x1 <= page.x1 + 1, text
        assert box.y0 >= page.y0 - 1, text
        assert box.y1 <= page.y1 + 1, text
        if text != "A title of the user":
            across, up = min(head.x1, box.x1) - max(head.x0, box.x0), min(head.y1, box.y1) - max(head.y0, box.y0)
            assert across <= 1 or up <= 1, f"{text!r} lies on the title"
    for one in ax.child_axes:
        if one.get_gid() == "strip":
            assert one.get_window_extent().y1 <= head.y0 + 1


def test_a_strip_stays_within_the_place_of_its_ax() -> None:
    figure = Figure(figsize=(6, 6))
    axes = figure.subplots(2, 2)
    for ax in axes.ravel():
        PICTURES["line"](ax)
    figure.suptitle("All of them")
    FigureCanvasAgg(figure).draw()
    for ax in axes.ravel():
        strip = ax.child_axes[0]
        place = ax.get_subplotspec().get_position(figure).transformed(figure.transFigure)
        assert strip.get_window_extent().y1 <= place.y1 + 1
    head = figure.texts[0].get_window_extent()
    assert all(ax.child_axes[0].get_window_extent().y1 < head.y0 for ax in axes[0])


@pytest.mark.parametrize(
    "name",
    ["line", "smooth", "corp", "murphy", "risk", "cumulative", "variation", "uce", "decision", "flexible", "belt"],
)
def test_two_pictures_on_one_ax_do_not_look_alike(name: str) -> None:
    ax = Figure(figsize=(4, 4)).add_subplot()
    PICTURES[name](ax)
    first = [line for line in ax.lines if line.get_gid() in ("curve", "path", "series")]
    PICTURES[name](ax)
    both = [line for line in ax.lines if line.get_gid() in ("curve", "path", "series")]
    assert len(both) == 2 * len(first)
    looks = [line.get_color() for line in both]
    assert len(set(looks)) == len(looks)
    corner = [text.get_text() for text in ax.texts if text.get_gid() == "side"]
    assert len(corner) == len(set(corner))
    assert sum(line.get_gid() == "diagonal" for line in ax.lines) <= 1 or name in ("variation", "uce")


def test_two_diagrams_share_one_strip() -> None:
    ax = Figure(figsize=(4, 4)).add_subplot()
    few = cal.figures.reliability(Y[:100], P[:100]).plot(ax, label="few")
    most = few.child_axes[0].get_yticks()[0]
    cal.figures.reliability(Y, P).plot(ax, label="many")
    strip, _ = ax.child_axes
    assert len(strip.containers) == 2
    assert strip.get_yticks()[0] == cal.figures.reliability(Y, P).table.weight.max() > most
    assert strip.get_ylim()[1] >= strip.get_yticks()[0]
    colours = [to_rgba(bars[0].get_edgecolor())[:3] for bars in strip.containers]
    assert colours[0] != colours[1]
    named = {text.get_text() for text in ax.get_legend().get_texts()}
    assert {"few", "many"} <= named


@pytest.fixture
def _dark() -> Iterator[None]:
    from matplotlib import style

    with matplotlib.rc_context():
        style.use("dark_background")
        yield


def light(colour: Any) -> float:
    return float(np.mean(to_rgb(colour)))


@pytest.mark.sampled
@every_picture
@pytest.mark.usefixtures("_dark")
def test_a_dark_ground_has_no_pale_boxes_and_no_dark_words(name: str) -> None:
    ax = drawn(name)
    assert light(ax.get_facecolor()) == 0
    for text in words_of(ax):
        if name != "heat" or text not in ax.texts:  # those of a heat map stand on its cells
            assert light(text.get_color()) > 0.35, text.get_text()
        for effect in text.get_path_effects():
            assert light(effect._gc["foreground"]) == 0, text.get_text()
    legend = ax.get_legend()
    if legend is not None and legend.get_frame_on():
        assert light(legend.get_frame().get_facecolor()[:3]) == 0
    for line in ax.lines:
        assert light(line.get_color()) > 0.2, line.get_gid()


@every_picture
def test_a_clear_ax_takes_the_ground_of_its_figure(name: str) -> None:
    figure = Figure(figsize=(3, 3), facecolor="black")
    ax = figure.add_subplot(facecolor="none")
    PICTURES[name](ax)
    legend = ax.get_legend()
    for text in legend.get_texts() if legend is not None else []:
        assert light(text.get_color()) > 0.6
