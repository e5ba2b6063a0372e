"""The look of all figures: keywords, styles and settings of matplotlib, axes of the user, long names, files and notebooks."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import figures
from tests.calling import call

pytest.importorskip("matplotlib")
import matplotlib
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from .pictures import assert_no_global_state, assert_readable, png_of, texts_of

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
DECISIONS = figures.decision_curve(EVENT.y_true, RISKS)
TIME = np.random.default_rng(0).exponential(10 / (0.1 + EVENT.y_prob))
POOLED = cal.inference.pool_estimates({"Leuven": 0.8, "Oxford": 1.1, "Rome": 0.9}, [0.1, 0.2, 0.1])
# Each figure, and its number of series.
FIGURES: dict[str, tuple[Any, int]] = {
    "line": (figures.reliability_diagram(Y, P, kind="bins", metrics=("ece",)), 1),
    "bars": (figures.reliability_diagram(Y, P, kind="bars"), 1),
    "roof": (figures.reliability_diagram(Y, P, kind="roof"), 1),
    "smooth": (figures.reliability_diagram(Y, P, kind="smooth"), 1),
    "corp": (figures.reliability_diagram(Y, P, kind="isotonic"), 1),
    "several": (figures.reliability_diagram(Y, PAIR, bins=15), 2),
    "classes": (figures.classwise_panels(Y, P, show=2, bins=15), 2),
    "murphy": (figures.murphy_diagram(Y, PAIR), 2),
    "decomposition": (figures.decomposition_diagram(EVENT.y_true, RISKS), 2),
    "decision": (DECISIONS, 2),
    "difference": (DECISIONS.difference("a model"), 1),
    "flexible": (figures.flexible_calibration_curve(EVENT.y_true, EVENT.y_prob), 1),
    "belt": (figures.calibration_belt(EVENT.y_true, EVENT.y_prob, method="likelihood_ratio"), 1),
    "risk": (figures.risk_coverage_diagram(Y, P, threshold=0.7), 1),
    "cumulative": (figures.cumulative_diagram(Y, P), 1),
    "heat": (figures.group_confidence_diagram(Y, P, hierarchy=TREE), 0),
    "groups": (figures.group_error_diagram(Y, PAIR, hierarchy=TREE), 2),
    "intervals": (figures.interval_error_diagram(Y, PAIR), 2),
    "topk": (figures.topk_diagram(Y, PAIR), 2),
    "variation": (figures.variation_diagram(Y, P), 1),
    "uce": (figures.uce_diagram(Y, P), 1),
    "stability": (figures.stability_diagram(Y, P, values=[2, 5, 10], n_resamples=3), 1),
    "forest": (figures.forest_diagram(POOLED), 1),
    "curves": (
        figures.curves_diagram(
            cal.Predictions(EVENT.y_true, EVENT.y_prob, groups=np.arange(len(EVENT.y_true)) % 3), points=9
        ),
        1,
    ),
    "calibrator": (figures.calibrator_curve(cal.PlattScaling().fit(EVENT.y_prob, EVENT.y_true)), 1),
    "survival": (
        figures.survival_diagram(EVENT.y_prob, time=TIME, event=TIME < 15, horizon=5, n_resamples=5),
        1,
    ),
}
SEVERAL = ("classes", "topk", "groups", "intervals", "stability")
every_figure = pytest.mark.parametrize("name", FIGURES)


@pytest.fixture(autouse=True)
def _default_settings() -> Iterator[None]:
    with matplotlib.rc_context({k: v for k, v in matplotlib.rcParamsDefault.items() if k != "backend"}):
        yield


def plotted(name: str, *args: Any, **style: Any) -> list[Any]:
    axes = FIGURES[name][0].plot(*args, **style)
    return axes if isinstance(axes, list) else [axes]


def colors_of(axes: list[Any]) -> set[str]:
    """Colors of all lines, areas and bars, without their opacity."""
    colors = set()
    for artist in (artist for ax in axes for artist in (*ax.lines, *ax.collections, *ax.patches)):
        for take in ("get_color", "get_facecolor", "get_edgecolor"):
            value = getattr(artist, take, lambda: "none")()
            rows = [value] if isinstance(value, str | tuple) else list(np.atleast_2d(value))
            colors |= {to_hex(row) for row in rows if not isinstance(row, str) or row != "none"}
    return colors


def test_every_figure_is_in_the_table() -> None:
    names = {name for name in figures.__all__ if inspect.isclass(getattr(figures, name))}
    assert {type(figure).__name__ for figure, _ in FIGURES.values()} | {"OptimismDiagram", "FeatureDiagram"} == names


@every_figure
def test_keywords_reach_the_figure_and_others_raise(name: str) -> None:
    count = FIGURES[name][1]
    if not count:
        return
    axes = plotted(name, color="#8B0000", label="mine", alpha=0.5)
    assert "#8b0000" in colors_of(axes)
    texts = [text.get_text() for ax in axes if ax.get_legend() for text in ax.get_legend().get_texts()]
    assert any("mine" in text for text in texts) == (count == 1 and name != "forest")
    if name in ("line", "smooth", "corp", "murphy", "decision", "flexible", "belt", "cumulative", "uce"):
        lines = plotted(name, linestyle=":", linewidth=2.5, marker="s")[0].lines
        assert any(line.get_linestyle() == ":" and line.get_linewidth() == 2.5 for line in lines)
    with pytest.raises(cal.CalibrantError) as error:
        plotted(name, colour="red")
    assert error.value.argument == "colour"


def test_several_models_keep_their_names_and_share_other_keywords() -> None:
    ax = DECISIONS.plot(linestyle="--", linewidth=3, label="mine")
    lines = [line for line in ax.lines if line.get_gid() == "series"]
    assert [line.get_label() for line in lines] == list(RISKS)
    assert {(line.get_linestyle(), line.get_linewidth()) for line in lines} == {("--", 3)}
    assert len({line.get_color() for line in lines}) == 2
    dashes = {line.get_label(): line.get_linestyle() for line in ax.lines}
    assert dashes["treat none"] == "-" != dashes["treat all"]


def arrays_of(value: Any) -> Iterator[Any]:
    """All lists of numbers of a figure as plain values, and its single numbers as lists of one; without missing ones."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        value = [value]
    numbers = [each for each in value if isinstance(each, int | float)]
    if numbers:
        yield np.array(numbers, dtype=np.float64)
        yield from (np.array([number]) for number in numbers)
    for each in value:
        if isinstance(each, dict | list):
            yield from arrays_of(each)


def holds(whole: Any, part: Any) -> bool:
    """Whether the values are those of an array, or of adjacent entries."""
    starts = range(len(whole) - len(part) + 1)
    return any(np.allclose(whole[start : start + len(part)], part, rtol=1e-9, atol=1e-12) for start in starts)


@every_figure
def test_what_is_drawn_is_in_the_data(name: str) -> None:
    figure = FIGURES[name][0]
    known = [*arrays_of(figure.to_dict()), *arrays_of(figure._columns())]
    heights = []
    for ax in plotted(name):
        lines = [
            line for line in ax.lines if line.get_gid() in ("curve", "path", "series", "expected", "estimate", "groups")
        ]
        heights += [np.asarray(line.get_ydata() if name != "forest" else line.get_xdata(), float) for line in lines]
        for bars in ax.containers:
            across = bars[0].get_height() == bars[1].get_height() if len(bars) > 1 else True
            heights.append(np.array([bar.get_width() if across else bar.get_height() for bar in bars]))
        heights += [np.asarray(image.get_array(), float).ravel() for image in ax.images]
    assert heights
    for drawn in heights:
        shown = drawn[np.isfinite(drawn)]
        assert any(holds(array, shown) for array in known), shown


@pytest.mark.sampled
@every_figure
def test_figures_are_readable(name: str) -> None:
    assert_readable(plotted(name))


@pytest.mark.sampled
@every_figure
def test_a_dark_style_gives_dark_figures_with_light_text(name: str) -> None:
    from matplotlib import style

    style.use("dark_background")
    axes = plotted(name)
    assert to_rgb(axes[0].figure.get_facecolor()) == (0, 0, 0)
    for ax in axes:
        for text in texts_of(ax):
            assert np.mean(to_rgb(text.get_color())) > 0.35 or name == "heat", text.get_text()
        for line in ax.lines:
            assert np.mean(to_rgb(line.get_color())) > 0.2, line.get_gid()


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in FIGURES if name not in SEVERAL])
def test_a_title_stays_clear_of_the_legend_on_axes_of_the_user(name: str) -> None:
    ax = Figure(figsize=(3.3, 3.8), layout="constrained").add_subplot()
    assert plotted(name, ax) == [ax]
    ax.set_title("A title of the user")
    png_of(ax)
    head = ax.title.get_window_extent()
    for text in texts_of(ax):
        box = text.get_window_extent()
        across, up = min(head.x1, box.x1) - max(head.x0, box.x0), min(head.y1, box.y1) - max(head.y0, box.y0)
        assert text is ax.title or across <= 1 or up <= 1, f"{text.get_text()!r} lies on the title"


@pytest.mark.parametrize(
    "name", ["line", "smooth", "corp", "murphy", "risk", "cumulative", "variation", "uce", "decision", "belt"]
)
def test_several_figures_on_one_ax_take_the_colors_of_its_cycle(name: str) -> None:
    ax = Figure(figsize=(5, 5)).add_subplot()
    ax.plot([0, 1], [0.2, 0.3])  # a line of the user
    ax.set_xlabel("my label")
    count = FIGURES[name][1]
    plotted(name, ax)
    plotted(name, ax, label="again")
    series = [line.get_color() for line in ax.lines if line.get_gid() in ("curve", "path", "series")]
    assert len(set(series)) == len(series) == 2 * count
    assert "C0" not in series
    assert ax.get_xlabel() == "my label"
    for gid in ("diagonal", "reference", "treat all"):
        assert sum(line.get_gid() == gid for line in ax.lines) <= 1
    corners = [text.get_text() for text in ax.texts if text.get_gid() == "side"]
    assert len(corners) == len(set(corners))


def test_diagrams_on_one_ax_share_the_strip_of_counts() -> None:
    ax = Figure(figsize=(4, 4)).add_subplot()
    figures.reliability_diagram(Y[:100], P[:100], bins=15).plot(ax, label="few")
    figures.reliability_diagram(Y, P, bins=15).plot(ax, label="many")
    (strip,) = (one for one in ax.child_axes if one.get_gid() == "strip")
    assert len(strip.containers) == 2
    assert strip.get_yticks()[0] == figures.reliability_diagram(Y, P, bins=15)["model"].table.weight.max()
    assert {"few", "many"} <= {text.get_text() for text in ax.get_legend().get_texts()}


def test_square_axes_keep_the_larger_end() -> None:
    rare = cal.inference.make_calibrated(2000, distribution=(1, 30), rng=0)
    small = figures.flexible_calibration_curve(rare.y_true, rare.y_prob)
    assert small.plot().get_xlim()[1] < 1
    (ax,) = plotted("flexible")
    small.plot(ax)
    assert (ax.get_xlim(), ax.get_aspect()) == ((0, 1), 1)


def test_settings_that_were_changed_are_kept() -> None:
    settings = {"font.size": 17, "axes.labelcolor": "#004400", "figure.facecolor": "#FFFFDD"}
    cycle = matplotlib.cycler(color=["#123456", "#654321"])
    (usual,) = plotted("line")
    with matplotlib.rc_context({**settings, "axes.edgecolor": "#440044", "axes.prop_cycle": cycle}):
        before = dict(matplotlib.rcParams)
        (ax,) = plotted("line")
        assert dict(matplotlib.rcParams) == before
    assert ax.xaxis.label.get_fontsize() == 2 * usual.xaxis.label.get_fontsize()
    assert ax.figure.get_size_inches()[0] == pytest.approx(2 * usual.figure.get_size_inches()[0])
    assert ax.xaxis.label.get_color() == "#004400"
    assert to_hex(ax.figure.get_facecolor()) == "#ffffdd"
    lines = {line.get_gid(): line.get_color() for line in ax.lines}
    assert (lines["diagonal"], lines["curve"]) == ("#440044", "#123456")


LONG = "temperature scaling of a large residual network with many layers and a $ in its name"


@pytest.mark.parametrize("letters", [10, 40, 80])
def test_long_names_leave_the_axes_their_room(letters: int) -> None:
    models = {LONG[:letters]: P, LONG[::-1][:letters]: P[:, ::-1]}
    for axes in (
        figures.reliability_diagram(Y, models, bins=15, metrics=("ece",)).plot(),
        figures.murphy_diagram(Y, models).plot(),
        figures.reliability_diagram(Y, models).plot(),
    ):
        assert_readable(axes)
        assert all(ax.get_position().width >= 0.25 for ax in (axes if isinstance(axes, list) else [axes]))


def test_names_of_classes_are_wrapped_on_axes() -> None:
    names = [f"a class with a name of about forty letters {i}" for i in range(4)]
    labels = [names[i] for i in Y]
    ax = call(figures.reliability_diagram, labels, P, lens=f"class:{names[3]}", classes=names).plot()
    assert ax.get_xlabel().replace("\n", " ") == f"mean predicted probability of {names[3]}"
    assert_readable(ax)


def test_without_matplotlib_a_notebook_shows_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise cal.errors.MissingDependencyError("matplotlib", "is not installed")

    monkeypatch.setattr("calibrant.figures.canvas.load_matplotlib", missing)
    assert FIGURES["line"][0]._repr_html_().startswith("<table>")


def test_figures_are_saved(tmp_path: Path) -> None:
    figure = FIGURES["difference"][0]
    for suffix, start in ((".svg", b"<?xml"), (".pdf", b"%PDF"), (".png", b"\x89PNG")):
        assert figure.save(tmp_path / f"figure{suffix}").read_bytes().startswith(start)
    again = figure.save(tmp_path / "again", format="svg")
    assert again.read_bytes() == (tmp_path / "figure.svg").read_bytes()
    assert figure.save(tmp_path / "figure.html").read_text().count("<img") == 1
    assert figure.save(tmp_path / "figure.json").read_text().startswith("{")
    for wrong in ("x.bmp", None):
        with pytest.raises(cal.CalibrantError) as error:
            figure.save(wrong)
        assert error.value.argument == "path"


@every_figure
def test_values_are_plain_and_tables_have_a_row_for_each_entry(name: str) -> None:
    figure = FIGURES[name][0]
    assert json.loads(json.dumps(figure.to_dict(), allow_nan=False))
    columns = figure._columns()
    assert len({len(values) for values in columns.values()}) == 1
    assert len(figure.to_frame()) == len(next(iter(columns.values())))
    assert repr(figure).startswith(figure._title())


def test_names_are_not_formulas() -> None:
    names = ["$a", "b_$", "c^{", "$d$"]
    models = {"US$ and CA$ \\frac": P, "x$^$": P[:, ::-1]}
    tree = {"$x_{$": names[:2], "y$$": names[2:]}
    labels = [names[c] for c in Y]
    for make, probs, options in (
        (figures.topk_diagram, models, {"k": 2}),
        (figures.group_error_diagram, models, {"hierarchy": tree}),
        (figures.group_confidence_diagram, P, {"hierarchy": tree}),
        (figures.reliability_diagram, P, {"lens": "class:$a", "level": None}),
        (figures.classwise_panels, P, {"level": None, "show": 1}),
        (figures.interval_error_diagram, models, {"names": ["$_$", "b", "c"]}),
        (figures.murphy_diagram, models, {}),
        (figures.risk_coverage_diagram, models, {}),
    ):
        assert len(png_of(call(make, labels, probs, classes=names, **options).plot())) > 4000


def test_pyplot_and_its_settings_are_left_alone() -> None:
    assert_no_global_state(
        "from tests.figures.test_look import FIGURES\nfor figure, _ in FIGURES.values():\n    figure.plot()\n"
    )
