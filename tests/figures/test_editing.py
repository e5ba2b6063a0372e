"""Keywords of matplotlib, the color cycle, settings, small panels, and figures as files and in notebooks."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal

pytest.importorskip("matplotlib")
import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from .pictures import texts_of

SIM = cal.inference.make_miscalibrated(
    300, warp=cal.inference.simulation.temperature(1.6), distribution=(0.8, 0.8, 0.8, 0.8), rng=2
)
Y, P = SIM.y_true, SIM.y_prob
EVENT = cal.inference.make_miscalibrated(
    300, warp=cal.inference.simulation.temperature(1.6), distribution=(1, 2), rng=3
)
PAIR = {"a model": P, "another": P[:, ::-1]}
RISKS = {"a model": EVENT.y_prob, "another": EVENT.y_prob**2}
TREE = {"a": [0, 1], "b": [2, 3]}
WORDS = np.array(["ectopic pregnancy", "failing pregnancy", "intrauterine pregnancy", "other"])
DECISIONS = cal.figures.decision_curve(EVENT.y_true, RISKS)
TIME = np.random.default_rng(0).exponential(10 / (0.1 + EVENT.y_prob))
# Each figure, and the keywords of its main artists; the number of its series where it is not one.
FIGURES: dict[str, tuple[Any, str, int]] = {
    "line": (cal.figures.reliability(Y, P, metrics=("ece",)), "color label linestyle linewidth marker alpha", 1),
    "bars": (cal.figures.reliability(Y, P, kind="bars"), "color label marker alpha", 1),
    "roof": (cal.figures.reliability(Y, P, kind="roof"), "color label marker alpha", 1),
    "smooth": (cal.figures.reliability(Y, P, kind="smooth"), "color label linestyle linewidth marker alpha", 1),
    "corp": (cal.figures.reliability(Y, P, kind="corp"), "color label linestyle linewidth marker alpha", 1),
    "panels": (cal.figures.reliability_panels(Y, PAIR), "color label linestyle linewidth marker alpha", 2),
    "murphy": (cal.figures.murphy_diagram(Y, PAIR), "color label linestyle linewidth marker alpha", 2),
    "decision": (DECISIONS, "color label linestyle linewidth marker alpha", 2),
    "difference": (DECISIONS.difference("a model"), "color label linestyle linewidth marker alpha", 1),
    "flexible": (
        cal.figures.flexible_calibration_curve(EVENT.y_true, EVENT.y_prob),
        "color label linestyle linewidth marker alpha",
        1,
    ),
    "belt": (
        cal.figures.calibration_belt(EVENT.y_true, EVENT.y_prob, method="likelihood_ratio", points=20),
        "color label linestyle linewidth marker alpha",
        1,
    ),
    "polytomous": (
        cal.figures.classwise_curves(cal.Predictions(WORDS[Y], P, classes=WORDS.tolist())),
        "color label linestyle linewidth marker alpha",
        4,
    ),
    "risk": (cal.figures.risk_coverage_diagram(Y, P, accuracy=0.7), "color label linestyle linewidth marker alpha", 1),
    "cumulative": (cal.figures.cumulative_diagram(Y, P), "color label linestyle linewidth marker alpha", 1),
    "histogram": (cal.figures.score_histogram(Y, P), "color label linestyle linewidth alpha", 2),
    "points": (cal.figures.simplex_diagram(Y, P, corners=[0, 1, 2], kind="points"), "color label marker alpha", 3),
    "arrows": (cal.figures.simplex_diagram(Y, P, corners=[0, 1, 2]), "color alpha", 1),
    "heat": (cal.figures.group_confidence_diagram(Y, P, hierarchy=TREE), "", 1),
    "groups": (cal.figures.group_error_diagram(Y, PAIR, hierarchy=TREE), "color label alpha", 2),
    "intervals": (cal.figures.interval_error_diagram(Y, PAIR), "color label alpha", 2),
    "entropy": (cal.figures.entropy_diagram(Y, PAIR), "color label alpha", 2),
    "parts": (cal.figures.entropy_diagram(Y, P, by="class"), "color label marker alpha", 1),
    "topk": (cal.figures.topk_diagram(Y, PAIR), "color label linestyle linewidth marker alpha", 2),
    "variation": (cal.figures.variation_diagram(Y, P), "color label linestyle linewidth marker alpha", 1),
    "uce": (cal.figures.uce_diagram(Y, P), "color label linestyle linewidth marker alpha", 1),
    "stability": (
        cal.figures.stability_diagram(Y, P, values=[2, 5, 10], n_resamples=3, rng=0),
        "color label linestyle linewidth marker alpha",
        1,
    ),
    "forest": (
        cal.figures.forest_diagram(
            cal.inference.pool_estimates([0.8, 1.1, 0.9], [0.1, 0.2, 0.1], names=["Leuven", "Oxford", "Rome"])
        ),
        "color linewidth marker alpha",
        1,
    ),
    "survival": (
        cal.figures.survival_diagram(EVENT.y_prob, time=TIME, event=TIME < 15, horizon=5, n_resamples=5, rng=0),
        "color label linestyle linewidth marker alpha",
        1,
    ),
}
# Keywords that a figure takes, but that change nothing in this form of it.
NO_EFFECT = {
    "bars": {"linestyle", "linewidth"},
    "roof": {"linestyle", "linewidth"},
    "arrows": {"label", "marker"},
    "heat": {"color", "label", "alpha"},
    "entropy": {"marker"},
}
GIVEN = {"color": "#8B0000", "label": "mine", "linestyle": ":", "linewidth": 2.5, "marker": "s", "alpha": 0.5}


@pytest.fixture(autouse=True)
def _plain_pictures() -> Any:
    """Figures that pyplot does not hold, with the default settings."""
    with matplotlib.rc_context({k: v for k, v in matplotlib.rcParamsDefault.items() if k != "backend"}):
        yield


def plotted(name: str, **more: Any) -> list[Any]:
    drawn = FIGURES[name][0].plot(**more)
    return drawn if isinstance(drawn, list) else [drawn]


def colors_of(axes: list[Any]) -> set[str]:
    """Colors of all lines, areas and bars, without their opacity."""
    found = set()
    for ax in axes:
        for artist in (*ax.lines, *ax.collections, *ax.patches):
            for take in ("get_color", "get_facecolor", "get_edgecolor"):
                given = getattr(artist, take, lambda: "none")()
                rows = [given] if isinstance(given, str | tuple) else list(np.atleast_2d(given))
                found |= {to_hex(row) for row in rows if not isinstance(row, str) or row != "none"}
    return found


def test_every_figure_is_in_the_table() -> None:
    names = {name for name in cal.figures.__all__ if inspect.isclass(getattr(cal.figures, name))}
    assert {type(figure).__name__ for figure, _, _ in FIGURES.values()} | {"OptimismDiagram"} == names


@pytest.mark.parametrize("name", FIGURES)
def test_keywords_reach_the_figure_and_others_raise(name: str) -> None:
    figure, words, count = FIGURES[name]
    style: dict[str, Any] = {word: value for word, value in GIVEN.items() if word in words.split()}
    if "label" in style and count > 1:
        style["label"] = [f"mine {i}" for i in range(count)]
    texts = {"title": "A title"} if name in ("points", "arrows") else {"title": "A title", "xlabel": "An x"}
    axes = plotted(name, **style, **texts)
    page = axes[0].figure
    assert "A title" in [ax.get_title() for ax in axes] or page.get_suptitle() == "A title"
    if "xlabel" in texts:
        assert "An x" in [ax.get_xlabel() for ax in axes]
    if "color" in style:
        assert "#8b0000" in colors_of(axes)
    legends = [text.get_text() for ax in axes if ax.get_legend() for text in ax.get_legend().get_texts()]
    names = [
        text.get_text() for ax in axes for text in (*ax.get_yticklabels(), *(one.title for one in (ax, *ax.child_axes)))
    ]
    shown = [*legends, *names]
    if "label" in style:
        assert any("mine" in text for text in shown), shown
    lines = [line for ax in axes for line in ax.lines]
    if "linestyle" in style and name != "histogram":
        assert any(line.get_linestyle() == ":" for line in lines)
    if "linewidth" in style and name != "histogram":
        assert any(line.get_linewidth() == 2.5 for line in lines)
    if "marker" in style and name not in ("points", "variation", "uce"):
        assert any(line.get_marker() == "s" for line in lines)
    accepted = set(words.split()) | NO_EFFECT.get(name, set())
    for word in GIVEN.keys() - accepted:
        with pytest.raises(cal.CalibrantError, match=f"^{word}: unexpected keyword"):
            figure.plot(**{word: GIVEN[word]})


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("line", {"colour": "red"}, "did you mean 'color'"),
        ("line", {"figsize": (3, 3)}, "figsize: unexpected keyword of ReliabilityDiagram.plot"),
        ("line", {"color": "blurple"}, "color: matplotlib does not accept 'blurple'"),
        ("line", {"ls": "??"}, "linestyle: matplotlib does not accept"),
        ("line", {"alpha": 2}, "alpha: matplotlib does not accept 2"),
        ("line", {"label": 3}, "label: must be text"),
        ("murphy", {"label": "a"}, "label: is one for 2 series"),
        ("murphy", {"color": ["red"]}, "color: expected 2, one for each series; got 1"),
        ("murphy", {"color": {"third": "red"}}, "color: unknown name 'third'"),
        ("topk", {"ylabel": "y"}, "ylabel: the 3 panels have different ones; pass a list of 3"),
        ("points", {"xlabel": "x"}, "xlabel: unexpected keyword of SimplexDiagram.plot"),
    ],
)
def test_messages(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.CalibrantError, match=message):
        FIGURES[name][0].plot(**given)


def test_keywords_for_each_model_and_short_forms() -> None:
    ax = DECISIONS.plot(color={"another": "red"}, ls=["-", "--"], lw=3, label=["A", r"$\beta$"])
    one, two = (line for line in ax.lines if line.get_gid() == "series")
    assert (two.get_color(), two.get_linestyle(), two.get_linewidth()) == ("red", "--", 3)
    assert one.get_color() != "red"
    assert {"A", r"$\beta$"} <= {text.get_text() for text in ax.get_legend().get_texts()}
    third = FIGURES["topk"][0].plot(ylabel=["a", "b", "c"], xlabel="", title=None)
    assert [one.get_ylabel() for one in third] == ["a", "b", "c"]
    assert third[-1].get_xlabel() == ""


def test_treating_all_and_none_look_different() -> None:
    ax = DECISIONS.plot()
    dashes = {line.get_label(): line.get_linestyle() for line in ax.lines}
    assert dashes["treat none"] == "-"
    assert dashes["treat all"] != "-"


def test_several_figures_on_one_ax_take_the_colors_of_its_cycle() -> None:
    ax = Figure(figsize=(5, 5)).add_subplot()
    ax.set_prop_cycle(color=["#111188", "#118811", "#881111", "#888811"])
    ax.plot([0, 1], [0.2, 0.3])  # a line of the user
    ax.set_xlabel("my label")
    one, other = cal.figures.reliability(Y, P), cal.figures.reliability(Y, P[:, ::-1])
    one.plot(ax, label="first")
    other.plot(ax, color="black", label="second")
    other.plot(ax, label="third")
    curves = [line.get_color() for line in ax.lines if line.get_gid() == "curve"]
    assert curves == ["#118811", "black", "#881111"]
    assert sum(line.get_gid() == "diagonal" for line in ax.lines) == 1
    assert ax.get_xlabel() == "my label"
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [name for name in named if name in ("first", "second", "third")] == ["first", "second", "third"]
    new = DECISIONS.plot()
    DECISIONS.plot(new, label=["c", "d"])
    series = [line.get_color() for line in new.lines if line.get_gid() == "series"]
    assert len(set(series)) == 4
    assert [line.get_label() for line in new.lines].count("treat all") == 1
    assert [line.get_gid() for line in new.lines].count("reference") == 1


def test_square_axes_keep_the_larger_end() -> None:
    rare = cal.inference.make_calibrated(2000, distribution=(1, 30), rng=0)
    small = cal.figures.flexible_calibration_curve(rare.y_true, rare.y_prob)
    ax = FIGURES["flexible"][0].plot()
    assert ax.get_aspect() == 1
    small.plot(ax)
    assert ax.get_xlim() == (0, 1)
    [diagonal] = [line for line in ax.lines if line.get_gid() == "diagonal"]
    assert diagonal.get_xdata()[-1] == 1
    assert small.plot().get_xlim()[1] < 1
    assert FIGURES["belt"][0].plot().get_aspect() == FIGURES["variation"][0].plot().get_aspect() == 1


def test_settings_of_matplotlib_decide() -> None:
    style = {"font.size": 15, "axes.labelcolor": "#004400", "figure.facecolor": "#FFFFDD", "axes.edgecolor": "#440044"}
    cycle = matplotlib.cycler(color=["#123456", "#654321"])
    with matplotlib.rc_context({**style, "axes.prop_cycle": cycle}):
        ax = FIGURES["line"][0].plot()
    usual = FIGURES["line"][0].plot()
    assert ax.xaxis.label.get_fontsize() == pytest.approx(1.5 * usual.xaxis.label.get_fontsize())
    assert ax.figure.get_size_inches()[0] == pytest.approx(1.5 * usual.figure.get_size_inches()[0])
    assert ax.xaxis.label.get_color() == "#004400"
    assert to_hex(ax.figure.get_facecolor()) == "#ffffdd"
    lines = {line.get_gid(): line.get_color() for line in ax.lines}
    assert (lines["diagonal"], lines["curve"]) == ("#440044", "#123456")
    with matplotlib.rc_context({"legend.fontsize": 11}):
        assert FIGURES["line"][0].plot().get_legend().get_texts()[0].get_fontsize() == 11
    with matplotlib.rc_context({"text.color": "white", "axes.labelcolor": "white"}):  # not readable on white
        assert FIGURES["line"][0].plot().xaxis.label.get_color() == usual.xaxis.label.get_color()


# Those with most text first; the others, which share their drawing, only at length.
SINGLE = [
    "flexible",
    "belt",
    "decision",
    "cumulative",
    "risk",
    "corp",
    "survival",
    "forest",
    "histogram",
    "murphy",
    "points",
    "line",
]
SEVERAL = ("panels", "polytomous", "topk", "groups", "intervals", "stability")
OTHERS = [name for name in FIGURES if name not in (*SINGLE, *SEVERAL)]


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(place, marks=[pytest.mark.deep] * (place >= len(SINGLE)))
        for place in range(0, len(SINGLE + OTHERS), 6)
    ],
)
def test_panels_of_three_inches_in_a_constrained_layout(place: int) -> None:
    page = Figure(figsize=(9, 6), layout="constrained")
    axes = page.subplots(2, 3).ravel()
    used = list(zip(axes, (SINGLE + OTHERS)[place : place + 6], strict=False))
    for ax, name in used:
        FIGURES[name][0].plot(ax, title="A long title of the panel that says what it shows")
    assert_clear(page, [ax for ax, _ in used])
    for ax, name in used:
        if name in ("flexible", "belt"):  # facts do not take the room of the curve
            assert ax.get_window_extent().height / page.dpi > 1.7


def test_the_legend_of_a_histogram_lies_above_its_bars() -> None:
    ends = cal.figures.score_histogram([0] * 50 + [1] * 50, np.repeat([0.01, 0.99], 50))
    ax = ends.plot(Figure(figsize=(3, 3)).add_subplot())
    assert ax.get_legend().get_window_extent().transformed(ax.transAxes.inverted()).y0 > 0.99


def test_sizes_of_bins_are_plain_numbers() -> None:
    axes = FIGURES["stability"][0].plot()
    axes[0].figure.draw_without_rendering()
    named = [text.get_text() for ax in axes if ax.get_yscale() == "log" for text in ax.get_yticklabels()]
    assert {"50", "100"} <= set(named)


def test_names_of_classes_are_clear_of_bars_and_each_other() -> None:
    page = Figure(figsize=(9, 3), layout="constrained")
    axes = FIGURES["polytomous"][0].plot(page)
    assert_clear(page, axes)
    for ax in axes:
        spikes = np.vstack([np.vstack(one.get_segments()) for one in ax.collections if one.get_gid() == "spikes"])
        for text in (one for one in ax.texts if one.get_gid() == "side"):
            box = text.get_window_extent().transformed(ax.transData.inverted())
            inside = (spikes[:, 0] > box.x0) & (spikes[:, 1] > box.y0) & (spikes[:, 1] < box.y1)
            assert not inside.any(), text.get_text()


def assert_clear(page: Any, axes: list[Any]) -> None:
    """All texts lie inside the figure, and none on another."""
    FigureCanvasAgg(page)
    page.draw_without_rendering()
    boxes = []
    for ax in axes:
        strips = [one for one in ax.child_axes if one.get_gid() == "strip"]
        beside = [text for strip in strips for text in (strip.yaxis.label, *strip.get_yticklabels())]
        for text in (*texts_of(ax), *(text for text in beside if text.get_text())):
            box = text.get_window_extent()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.bbox.x1 + 1 and box.y1 <= page.bbox.y1 + 1
            assert inside, text.get_text()
            boxes.append((text.get_text(), box))
    for i, (one, a) in enumerate(boxes):
        for other, b in boxes[i + 1 :]:
            across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across <= 1 or up <= 1, f"{one!r} lies on {other!r}"


@pytest.mark.parametrize("name", ["topk", "arrows"])
def test_a_notebook_shows_the_figure_with_its_table(name: str) -> None:
    figure = FIGURES[name][0]
    html = figure._repr_html_()
    assert html.startswith("<img alt=")
    assert "data:image/png;base64," in html
    assert html.count("<table>") == 1


def test_without_matplotlib_a_notebook_shows_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise cal.errors.MissingDependencyError("matplotlib", "is not installed")

    monkeypatch.setattr("calibrant.figures.canvas.load_matplotlib", missing)
    assert FIGURES["line"][0]._repr_html_().startswith("<table>")


def test_figures_are_saved(tmp_path: Path) -> None:
    figure = FIGURES["difference"][0]
    for suffix, start in ((".svg", b"<?xml"), (".pdf", b"%PDF")):
        path = figure.save(tmp_path / f"figure{suffix}", title="A title")
        assert path.read_bytes().startswith(start)
    again = figure.save(tmp_path / "again", format="svg", title="A title")
    assert again.read_bytes() == (tmp_path / "figure.svg").read_bytes()
    with Image.open(figure.save(tmp_path / "small.png", figsize=(2, 1.5), dpi=100)) as picture:
        assert picture.size == (200, 150)
    assert figure.save(tmp_path / "figure.html").read_text().count("<img") == 1
    assert figure.save(tmp_path / "figure.json").read_text().startswith("{")
    for given, message in (
        ({"path": "x.png", "figsize": (1, 0)}, "figsize: must be width and height in inches"),
        ({"path": "x.png", "dpi": -1}, "dpi: "),
        ({"path": "x.bmp"}, "path: the format of"),
        ({"path": None}, "path: must be the name of a file; got None"),
    ):
        with pytest.raises(cal.CalibrantError, match=message):
            figure.save(**given)
