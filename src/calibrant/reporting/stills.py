"""The reliability diagram as an SVG image, for readers without scripts.

Drawn here, as the page draws it: starting the interpreter of Vega-Lite for one picture would take longer than the rest of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from .specs import ON_PAPER, SHARE
from .wording import ABOVE, BELOW

Values = Sequence[Mapping[str, Any]]

WIDTH, HEIGHT, BARS = 420, 400, 80
# Room for the vertical axis; for the legend, or half of a label, above; and for the horizontal axis below a panel.
LEFT, LEGEND, TOP, BELOW_PANEL = 69, 44, 12, 57
SIZE = 12
# Area of a symbol in square pixels: of the points of several sides, and of one side by its share of the rows.
AREA, LEAST_AREA, MOST_AREA, MOST_SHARE = 55, 28, 170, 0.5


def diagram_image(values: Values, titles: tuple[str, str]) -> str:
    """Return the diagram and histogram of one side.

    `values` have `low`, `high`, `rows`, `mean_score`, `rate`, `lower`, `upper`, `side` and `share`; `titles` are those of the axes.
    """
    colours = {ABOVE: ON_PAPER.over, BELOW: ON_PAPER.under}
    points = [(x_of(v["mean_score"]), colours[v["side"]], v) for v in values if v["rate"] is not None]
    marks = [_diagonal()]
    marks += [_line([(x, y_of(v["mean_score"])), (x, y_of(v["rate"]))], c, 7, opacity=0.3) for x, c, v in points]
    marks += [_span(x, c, v, 1.5) for x, c, v in points if v["lower"] is not None]
    for x, colour, value in points:
        area = LEAST_AREA + (MOST_AREA - LEAST_AREA) * min(value["share"], MOST_SHARE) / MOST_SHARE
        marks.append(_symbol("circle", x, y_of(value["rate"]), area, colour))
    rows = [value["rows"] for value in values]
    top, ticks = _nice(max(rows, default=1) or 1)
    bars = [
        f'<rect x="{_px(x_of(v["low"]) + 1)}" y="{_px(BARS * (1 - v["rows"] / top))}" '
        f'width="{_px(max(x_of(v["high"]) - x_of(v["low"]) - 1, 0.5))}" height="{_px(BARS * v["rows"] / top)}" '
        f'fill="{ON_PAPER.soft}" opacity="0.75"/>'
        for v in values
    ]
    legend = "".join(
        f'<circle cx="{left + 6}" cy="-33" r="5" fill="{colour}"/>'
        + _text(name, left + 16, -29, "start", ON_PAPER.ink, SIZE)
        for left, (name, colour) in zip((0, 164), colours.items(), strict=True)
    )
    return _image(LEGEND, titles, [legend, *marks], bars, "rows", top, ticks, _with_prefix)


def compared_image(lines: Values, spans: Values, steps: Values, titles: tuple[str, str]) -> str:
    """Return the diagrams of several sides over each other, and the distributions of their scores.

    `lines` and `spans` have `mean_score`, `rate`, `lower`, `upper`, `place`, `colour`, `dash` and `shape`; `steps` have `at`, `share`,
    `place`, `colour` and `dash`.
    """
    marks = [_diagonal()]
    marks += [_span(x_of(v["mean_score"]), v["colour"], v, 1.2, 0.6) for v in spans]
    for own in _sides(lines):
        path = [(x_of(v["mean_score"]), y_of(v["rate"])) for v in sorted(own, key=lambda v: v["mean_score"])]
        marks.append(_line(path, own[0]["colour"], 2, own[0]["dash"]))
    marks += [_symbol(v["shape"], x_of(v["mean_score"]), y_of(v["rate"]), AREA, v["colour"]) for v in lines]
    top, ticks = _nice(max((v["share"] for v in steps), default=1) or 1)
    outlines = []
    for own in _sides(steps):
        path = []
        for value in own:
            at, height = x_of(value["at"]), BARS * (1 - value["share"] / top)
            path += [(at, path[-1][1]), (at, height)] if path else [(at, height)]
        outlines.append(_line(path, own[0]["colour"], 1.6, own[0]["dash"]))
    return _image(TOP, titles, marks, outlines, SHARE, top, ticks, lambda value: f"{100 * value:.12g}%")


def x_of(value: float) -> float:
    """The horizontal position of a score."""
    return WIDTH * value


def y_of(value: float) -> float:
    """The vertical position of a rate."""
    return HEIGHT * (1 - value)


def _image(
    above: int,
    titles: tuple[str, str],
    marks: Iterable[str],
    bars: Iterable[str],
    height_title: str,
    top: float,
    ticks: Sequence[float],
    height_text: Callable[[float], str],
) -> str:
    """Two panels with the same horizontal axis: the diagram, and below it the distribution of the scores."""
    shares = [step / 5 for step in range(6)]
    upper = _panel(HEIGHT, titles, shares, [(y_of(v), f"{v:.1f}") for v in shares], shares)
    at = [(BARS * (1 - value / top), height_text(value)) for value in ticks]
    lower = _panel(BARS, ("score", height_title), shares, at, ())
    width, height = LEFT + WIDTH + 8, above + HEIGHT + BELOW_PANEL + BARS + 41
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="system-ui, sans-serif"><rect width="{width}" height="{height}" fill="{ON_PAPER.paper}"/>'
        f'<g fill="none" transform="translate({LEFT}.5,{above}.5)">{upper}{"".join(marks)}</g>'
        f'<g fill="none" transform="translate({LEFT}.5,{above + HEIGHT + BELOW_PANEL}.5)">{lower}{"".join(bars)}</g></svg>'
    )


def _panel(
    height: int,
    titles: tuple[str, str],
    across: Sequence[float],
    up: Sequence[tuple[float, str]],
    grid: Sequence[float],
) -> str:
    """The frame, grid, ticks, labels and titles of a panel; `up` are the positions and labels of the vertical axis."""
    parts = [f'<rect width="{WIDTH}" height="{height}" stroke="{ON_PAPER.line}"/>']
    rules = [f"M{_px(x_of(v))},{height}v5" for v in across] + [f"M0,{_px(y)}h-5" for y, _ in up]
    rules += [f"M{_px(x_of(v))},0v{height}" for v in grid] + [f"M0,{_px(y)}h{WIDTH}" for y, _ in up]
    parts.append(f'<path d="{"".join(rules)}" stroke="{ON_PAPER.line}"/>')
    for value in across:
        anchor = "start" if value == 0 else "end" if value == 1 else "middle"
        parts.append(_text(f"{value:.1f}", x_of(value), height + 16, anchor, ON_PAPER.soft, SIZE))
    parts += [_text(label, -7, y + 4, "end", ON_PAPER.soft, SIZE) for y, label in up]
    parts.append(_text(titles[0], WIDTH / 2, height + 32, "middle", ON_PAPER.ink, SIZE + 1))
    middle = f"translate(-50,{height / 2:g}) rotate(-90) translate(0,-3)"
    return "".join(parts) + _text(titles[1], 0, 0, "middle", ON_PAPER.ink, SIZE + 1, f' transform="{middle}"')


def _text(text: str, x: float, y: float, anchor: str, colour: str, size: int, more: str = "") -> str:
    weight = ' font-weight="500"' if size > SIZE else ""
    place = more or f' x="{_px(x)}" y="{_px(y)}"'
    return f'<text{place} text-anchor="{anchor}" font-size="{size}px"{weight} fill="{colour}">{escape(text)}</text>'


def _diagonal() -> str:
    return _line([(0, HEIGHT), (WIDTH, 0)], ON_PAPER.soft, 1.5, (5, 4))


def _span(x: float, colour: str, value: Mapping[str, Any], width: float, opacity: float = 1) -> str:
    return _line([(x, y_of(value["lower"])), (x, y_of(value["upper"]))], colour, width, opacity=opacity)


def _line(
    path: Iterable[tuple[float, float]], colour: str, width: float, dash: Sequence[float] = (), opacity: float = 1
) -> str:
    points = "L".join(f"{_px(x)},{_px(y)}" for x, y in path)
    more = f' stroke-dasharray="{" ".join(f"{part:g}" for part in dash)}"' if dash and any(dash[1:]) else ""
    more += f' opacity="{opacity:g}"' if opacity < 1 else ""
    return f'<path d="M{points}" stroke="{colour}" stroke-width="{width:g}"{more}/>'


def _symbol(shape: str, x: float, y: float, area: float, colour: str) -> str:
    """A filled symbol of an area, in the sizes of Vega."""
    half = math.sqrt(area) / 2
    tall = half * math.sqrt(3)
    if shape == "circle":
        return f'<circle cx="{_px(x)}" cy="{_px(y)}" r="{_px(math.sqrt(area / math.pi))}" fill="{colour}"/>'
    corners = {
        "square": ((-half, -half), (half, -half), (half, half), (-half, half)),
        "diamond": ((0, -half * 1.2), (half * 1.2, 0), (0, half * 1.2), (-half * 1.2, 0)),
        "triangle-up": ((0, -tall / 2), (half, tall / 2), (-half, tall / 2)),
        "triangle-down": ((0, tall / 2), (half, -tall / 2), (-half, -tall / 2)),
    }[shape]
    return f'<path d="M{"L".join(f"{_px(x + a)},{_px(y + b)}" for a, b in corners)}Z" fill="{colour}"/>'


def _sides(values: Values) -> Iterator[list[Mapping[str, Any]]]:
    for place in dict.fromkeys(value["place"] for value in values):
        yield [value for value in values if value["place"] == place]


def _nice(largest: float) -> tuple[float, list[float]]:
    """The round end of an axis from 0 to `largest`, and about three ticks, as Vega chooses them."""
    fine = _step(largest / 10)
    end = math.ceil(largest / fine - 1e-9) * fine
    step = _step(end / 3)
    return end, [step * place for place in range(int(end / step + 1e-9) + 1)]


def _step(size: float) -> float:
    """The number 1, 2, 5 or 10 times a power of ten that is nearest to `size` as a ratio."""
    power = 10.0 ** math.floor(math.log10(size))
    return power * next(
        (factor for factor, most in ((1, 2**0.5), (2, 10**0.5), (5, 50**0.5)) if size < most * power), 10
    )


def _with_prefix(value: float) -> str:
    """A number with the prefix k, M or G.

    >>> [_with_prefix(value) for value in (50, 1500, 2e6)]
    ['50', '1.5k', '2M']
    """
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.6g}{prefix}"
    return f"{value:.6g}"


def _px(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
