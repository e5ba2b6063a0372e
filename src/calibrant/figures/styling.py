"""Keywords of matplotlib that every plot takes: how they are checked and documented, and the look of each series."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ..errors import ArgumentError
from ..views.keywords import documents_keywords, parameter_lines, unknown_keyword
from .base import FIGURE_PARAMETERS, plain, series_on
from .canvas import grow, ink_on, load_matplotlib, next_color, title_size
from .labels import label_room, relabel, wrapped

# Keywords of the main artists, their short forms, and keywords of the axes.
LINES = ("color", "label", "linestyle", "linewidth", "marker", "alpha")
BARS = ("color", "label", "alpha")
SHORT = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
AXES = ("title", "xlabel", "ylabel")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 1)), (0, (1, 2.5)), "-")

STYLE_PARAMETERS = {
    **FIGURE_PARAMETERS,
    "color": (
        "color of matplotlib, list or mapping, optional",
        "Color; by default the next one of the axes. For several models one of each, as a list or by name; so for the next five.",
    ),
    "label": ("str, optional", "Name in the legend; values that the legend states follow it."),
    "linestyle": ("str or tuple, optional", 'Style of the line, such as ``":"``; also ``ls``.'),
    "linewidth": ("float, optional", "Width of the line in points; also ``lw``."),
    "marker": ("str, optional", "Marker of the points."),
    "alpha": ("float, optional", "Opacity between 0 and 1."),
    "title": ("str, optional", "Title."),
    "xlabel": ("str, optional", "Label of the horizontal axis."),
    "ylabel": ("str, optional", "Label of the vertical axis; a list where panels have different ones."),
}

P = ParamSpec("P")
T = TypeVar("T")


def _keywords(
    *,
    color: Any = None,
    label: Any = None,
    linestyle: Any = None,
    linewidth: Any = None,
    marker: Any = None,
    alpha: Any = None,
    title: str | None = None,
    xlabel: str | None = None,
    ylabel: Any = None,
) -> None:
    """Signature of the keywords."""


def plots(*words: str, axes: Sequence[str] = AXES) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a method that draws take keywords of matplotlib: `words` for its main artists, and `axes` for its axes.

    The method receives those of the artists as ``**style``, checked and under their long names; an unknown keyword raises. The docstring
    gets the sections that are missing.
    """

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        code = inspect.unwrap(method).__code__
        own = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        known = (*own, *words, *axes)

        @wraps(method)
        def call(*args: P.args, **keywords: P.kwargs) -> T:
            load_matplotlib()
            values: dict[str, Any] = {SHORT.get(word, word): value for word, value in keywords.items()}
            for word, value in values.items():
                if word not in known:
                    raise unknown_keyword(f"{type(args[0]).__name__}.{method.__name__}", word, value, known)
                if word in words and word not in own and value is not None:
                    _check(word, value)
            texts = {word: value for word in axes if (value := values.pop(word, None)) is not None}
            drawn = method(*args, **{word: value for word, value in values.items() if value is not None or word in own})
            _name_axes(drawn, texts, whole=own[0] == "figure")
            return drawn

        call.__doc__ = _with_parameters(method.__doc__ or "", own[0])
        several = "list" in str(method.__annotations__.get("return"))
        returns = "list of matplotlib.axes.Axes\n    The axes." if several else "matplotlib.axes.Axes\n    The axes."
        taken = tuple(word for word in (*words, *axes) if word not in own)
        return documents_keywords(taken=taken, source=_keywords, table=STYLE_PARAMETERS, sections={"Returns": returns})(
            call
        )

    return decorate


def _with_parameters(doc: str, first: str) -> str:
    """A docstring whose parameters end with the keywords of matplotlib."""
    lines, _, end = parameter_lines(doc)
    if not end:
        return "\n".join([*lines, "", "Parameters", "----------", first, "**style", ""])
    while not lines[end - 1]:
        end -= 1
    return "\n".join([*lines[:end], "**style", *(lines[end:] or [""])])


def _check(word: str, value: Any) -> None:
    """Raise where matplotlib would not accept the value of a keyword, or one of several."""
    from matplotlib.lines import Line2D

    for one in _several(word, value) or [value]:
        if word == "label":
            if not isinstance(one, str):
                raise ArgumentError("label", f"must be text; got {one!r}")
            continue
        try:
            Line2D([], [], **{word: one})
        except (TypeError, ValueError) as error:
            raise ArgumentError(word, f"matplotlib does not accept {one!r}") from error


def _several(word: str, value: Any) -> list[Any] | None:
    """The values of a list or mapping with one for each series; None for one value for all."""
    from matplotlib.colors import is_color_like

    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, str) or (word == "color" and is_color_like(value)):
        return None
    several = isinstance(value, Sequence | np.ndarray) if word == "color" else isinstance(value, list)
    return list(value) if several else None


def each_of(word: str, value: Any, names: Sequence[str | None]) -> list[Any]:
    """The value of a keyword for each series."""
    if isinstance(value, Mapping):
        for name in value:
            if name not in names:
                raise ArgumentError(word, f"unknown name {name!r}", f"choose one of {[one for one in names if one]}")
        return [value.get(name) for name in names]
    values = _several(word, value)
    if values is not None:
        if len(values) != len(names):
            raise ArgumentError(word, f"expected {len(names)}, one for each series; got {len(values)}")
        return values
    if word == "label" and value is not None and len(names) > 1:
        raise ArgumentError("label", f"is one for {len(names)} series", f"pass a list of {len(names)}")
    return [value] * len(names)


def style_of_each(style: Mapping[str, Any], names: Sequence[str | None]) -> list[dict[str, Any]]:
    """The keywords of each series."""
    columns = {keyword: each_of(keyword, value, names) for keyword, value in style.items()}
    return [{keyword: values[place] for keyword, values in columns.items()} for place in range(len(names))]


class Series(NamedTuple):
    """Look of one series of a figure."""

    label: str | None
    """Name in the legend: the one given, or that of the model."""
    color: Any
    line: dict[str, Any]
    """Keywords of its line."""

    def shade(
        self, ax: Any, x: Any, low: Any, high: Any, label: str = "", alpha: float = 0.15, half: float = 0.005
    ) -> None:
        """Shade a band around the series; a single point has a band of twice the width `half`."""
        if np.isnan(low).all():
            return
        if len(x) == 1:
            x, low, high = np.array([x[0] - half, x[0] + half]), np.repeat(low, 2), np.repeat(high, 2)
        faint = alpha * self.line.get("alpha", 1.0)
        band = ax.fill_between(x, low, high, color=self.color, alpha=faint, linewidth=0, gid="band")
        band.set_label(label or "_band")


def series_of(
    ax: Any,
    style: Mapping[str, Any],
    names: Sequence[str | None] = (None,),
    *,
    width: float = 1.2,
    marker: str | bool = False,
) -> list[Series]:
    """Look of each series: the keywords given for it, else `colors` or the next color of the axes, and the dashes of its number.

    A `marker` of True is that of its number.
    """
    series = []
    for number, (name, keywords) in enumerate(zip(names, style_of_each(style, names), strict=True)):
        place = series_on(ax) + number
        own = {keyword: value for keyword, value in keywords.items() if value is not None}
        label = own.pop("label", None if name is None else plain(name))
        line: dict[str, Any] = {"linestyle": DASHES[place % len(DASHES)], "linewidth": width}
        if marker or "marker" in own:
            line |= {"marker": MARKERS[place % len(MARKERS)] if marker is True else marker, "markersize": 3}
        line |= own
        if "color" not in line:
            line["color"] = next_color(ax)
        series.append(Series(label, line["color"], line))
    return series


def _name_axes(drawn: Any, texts: Mapping[str, Any], *, whole: bool) -> None:
    """Set title and labels; those of several panels above the figure, or at the panels that have labels."""
    axes = drawn if isinstance(drawn, list) else [drawn]
    figure = axes[0].figure
    for word in ("xlabel", "ylabel"):
        if word not in texts:
            continue
        shown = [ax for ax in axes if getattr(ax, f"get_{word}")()] or [axes[-1]]
        value = texts[word]
        different = len({getattr(ax, f"get_{word}")() for ax in shown}) > 1
        if isinstance(value, str) and different:
            raise ArgumentError(word, f"the {len(shown)} panels have different ones", f"pass a list of {len(shown)}")
        if not isinstance(value, str) and len(value) != len(shown):
            raise ArgumentError(word, f"expected {len(shown)}, one for each panel; got {len(value)}")
        for ax, text in zip(shown, [value] * len(shown) if isinstance(value, str) else value, strict=True):
            relabel(ax, **{word: text}) if text else getattr(ax, f"set_{word}")("")
    if "title" in texts:
        size, ink = title_size(), ink_on(figure.get_facecolor())
        if whole and len(axes) > 1:
            text = wrapped(texts["title"], figure.get_size_inches()[0] * 0.95, size)
            figure.suptitle(text, fontsize=size, color=ink)
        else:
            text = wrapped(texts["title"], label_room(axes[0], size)[0], size)
            axes[0].set_title(text, fontsize=size, color=ink)
        grow(figure, text.count("\n") + 1)
