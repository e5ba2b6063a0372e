"""Names of any length leave the picture whole: labels are cut into lines, shortened or moved, and the ax keeps its room."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from calibrant.figures.labels import entry, shortened, width_of, wrapped

from .pictures import assert_readable, heights, png_of

WORDS = "temperature scaling of a large residual network with many layers"
SIM = cal.inference.make_calibrated(400, classes=10, rng=1)
Y = np.asarray(SIM.y_true)
P = SIM.y_prob
Q = P**0.5 / (P**0.5).sum(axis=1, keepdims=True)
LONG = [f"a class with a name of about forty letters {i}" for i in range(10)]
GROUPS = {f"a group of classes with quite a long name {i}": [LONG[2 * i], LONG[2 * i + 1]] for i in range(5)}
NAMED: dict[str, Any] = {"classes": LONG}
LABELS = [LONG[i] for i in Y]


def overlay(models: Any) -> Any:
    return cal.figures.reliability_panels(Y, models, metrics=("ece", "brier")).plot(layout="overlay")[0]


def risk(models: Any) -> Any:
    return cal.figures.risk_coverage_diagram(Y, models, accuracy=0.6).plot()


def murphy(models: Any) -> Any:
    return cal.figures.murphy_diagram(Y, models).plot()


@pytest.mark.parametrize("draw", [overlay, risk, murphy])
@pytest.mark.parametrize("letters", [10, 25, 40, 60])
def test_names_of_models_leave_the_ax_its_room(draw: Any, letters: int) -> None:
    ax = draw({WORDS[:letters]: P, f"{'MW' * letters}"[:letters]: Q})
    assert_readable(ax)
    assert ax.get_position().width >= 0.6
    assert ax.get_position().height >= 0.4
    box, page = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert page.x0 <= box.x0
    assert box.x1 <= page.x1
    assert box.y1 <= page.y1


def test_values_stand_on_a_line_of_their_own_where_a_name_is_long() -> None:
    short, long = (text.get_text() for text in murphy({"a": P, WORDS[:40]: Q}).get_legend().get_texts())
    assert short.startswith("a (brier of top_label 0.")
    assert long.splitlines()[-1].startswith("(brier of top_label 0.")
    assert " ".join(long.splitlines()[:-1]) == WORDS[:40]


def test_a_figure_that_was_given_keeps_its_size_and_ours_grows() -> None:
    models = {f"{WORDS[:50]} {i}": P for i in range(3)}
    given = Figure(figsize=(3.3, 3.3), layout="constrained")
    cal.figures.reliability_panels(Y, models).plot(given, layout="overlay")
    assert given.get_size_inches().tolist() == [3.3, 3.3]
    assert overlay(models).figure.get_size_inches()[1] > 3.5


def test_titles_of_panels_stay_apart() -> None:
    models = {WORDS[:50]: P, WORDS[5:55]: Q, WORDS[10:60]: P}
    axes = cal.figures.reliability_panels(Y, models).plot()
    png_of(axes)
    boxes = [ax.child_axes[0].title.get_window_extent() for ax in axes]
    page = axes[0].figure.bbox
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and box.y1 <= page.y1 + 1 for box in boxes)


def test_names_of_classes_on_axes_are_cut_into_lines() -> None:
    lens = f"class:{LONG[3]}"
    ax = call(cal.figures.reliability, LABELS, P, lens=lens, metrics=("ece", "brier"), **NAMED).plot()
    assert ax.get_xlabel().replace("\n", " ") == f"mean predicted probability of {LONG[3]}"
    assert "\n" in ax.get_xlabel()
    assert_readable(ax)
    shown = call(cal.figures.score_histogram, LABELS, P, lens=lens, **NAMED).plot()
    assert_readable(shown)
    assert shown.get_legend().get_window_extent().y0 >= shown.bbox.y1 - 1
    assert_readable(
        cal.figures.murphy_diagram(Y, {WORDS: P, "b": Q}, difference=(WORDS, "b"), n_resamples=5).plot_difference()
    )


@pytest.mark.parametrize("names", [[str(i) for i in range(10)], [f"class{i}" for i in range(10)], LONG])
def test_the_legend_of_points_lies_below_the_triangle(names: list[str]) -> None:
    shown = cal.figures.simplex_diagram(
        cal.Predictions([names[i] for i in Y], P, classes=names), corners=names[:3], kind="points"
    )
    ax = shown.plot()
    assert_readable(ax)
    below = min(text.get_window_extent().y0 for text in ax.texts)
    assert ax.get_legend().get_window_extent().y1 <= below + 4


def test_groups_with_long_names_are_shortened_in_their_middle() -> None:
    axes = call(cal.figures.group_error_diagram, LABELS, {"a": P, WORDS[:30]: Q}, hierarchy=GROUPS, **NAMED).plot()
    assert_readable(axes)
    assert all(ax.get_position().width >= 0.5 for ax in axes)
    first = axes[1].get_yticklabels()[0].get_text()
    assert first.startswith("a gr")
    assert first.endswith(" 0")
    assert "\u2026" in first
    bars = call(
        cal.figures.group_confidence_diagram,
        LABELS,
        {"a": P, "b": Q},
        hierarchy=GROUPS,
        given=next(iter(GROUPS)),
        **NAMED,
    )
    ax = bars.plot()
    assert_readable(ax)
    assert heights(ax.containers[0], across=True) == pytest.approx(bars.confidence[0].tolist())
    assert_readable(cal.figures.entropy_diagram(Y, {WORDS: P, WORDS[::-1]: Q}).plot())


def test_cells_too_narrow_for_their_numbers_have_none() -> None:
    few = call(cal.figures.group_confidence_diagram, LABELS, P, hierarchy=GROUPS, **NAMED).plot()
    many = cal.figures.group_confidence_diagram(Y, P, hierarchy={f"group number {i}": [i] for i in range(10)}).plot()
    bare = cal.figures.group_confidence_diagram(
        Y, P, hierarchy={str(i): [i] for i in range(7)} | {"7": [7, 8, 9]}
    ).plot()
    for ax in (few, bare):
        png_of(ax)
        cell = ax.bbox.width / len(ax.get_xticks())
        assert ax.texts
        assert all(text.get_window_extent().width < cell for text in ax.texts)
    assert not many.texts


def test_groups_left_out_are_said() -> None:
    shown = cal.figures.group_error_diagram(Y, P, hierarchy={f"g{i}": [i] for i in range(10)})
    assert "(4 of 10 groups, the largest errors)" in shown.plot(most=4)[1].get_xlabel()
    assert "groups" not in shown.plot()[1].get_xlabel()


def test_words_are_cut_between_words_and_shortened_in_the_middle() -> None:
    assert wrapped("a b", 5, 8) == "a b"
    lines = wrapped(WORDS, 1.5, 8)
    assert lines.replace("\n", " ") == WORDS
    assert all(width_of(line, 8) <= 1.5 for line in lines.split("\n"))
    assert wrapped(WORDS * 5, 1.5, 8, most=2).count("\n") == 1
    for text in (r"\$" * 40, r"costs in \$ of a long long name \$ of \$ all kinds"):
        assert "$" not in wrapped(text, 1.0, 8).replace(r"\$", "")
        assert "$" not in shortened(text, 1.0, 8).replace(r"\$", "")
    cut = shortened(WORDS, 1.0, 7)
    assert width_of(cut, 7) <= 1.0
    assert cut.startswith("temp")
    assert cut.endswith("layers"[-4:])
    assert shortened("short", 1.0, 7) == "short"
    assert entry("name (a 1, b 2)", 0.6, 7) == "name\n(a 1, b 2)"
    assert entry("name alone, quite long", 0.6, 7).replace("\n", " ") == "name alone, quite long"
