"""What tests of pictures share: an ax, its PNG, its visible texts, and whether any of them overlap or are too small."""

import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure


def new_ax() -> Any:
    return Figure(figsize=(3.3, 3.7), layout="constrained").add_subplot()


def drawn(ax: Any, gid: str) -> list[Any]:
    return [artist for artist in (*ax.lines, *ax.collections, *ax.patches, *ax.texts) if artist.get_gid() == gid]


def new_axes(count: int = 1, height: float = 2.6) -> list[Any]:
    figure = Figure(figsize=(3.3, height * count), layout="constrained")
    return list(figure.subplots(count, 1, squeeze=False).ravel())


def png_of(axes: Any) -> bytes:
    ax = axes[0] if isinstance(axes, list) else axes
    stream = io.BytesIO()
    ax.figure.savefig(stream, format="png", dpi=100)
    return stream.getvalue()


def texts_of(ax: Any) -> list[Any]:
    """Every text that is seen: ticks inside the limits, labels, notes and the legend."""
    found = [ax.title, *ax.texts]
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        low, high = sorted(limits)
        slack = 1e-9 * (high - low)
        ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
        found += [label for at, label in ticks if low - slack <= at <= high + slack]
        found.append(axis.label)
    if ax.get_legend() is not None:
        found += ax.get_legend().get_texts()
    if not ax.axison:
        found = [ax.title, *ax.texts, *(ax.get_legend().get_texts() if ax.get_legend() else [])]
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def assert_readable(axes: Any) -> None:
    """The picture is not empty, no text is smaller than 7 points, none lies on another or outside the picture."""
    axes = axes if isinstance(axes, list) else [axes]
    picture = png_of(axes)
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 4000
    figure = axes[0].figure
    figure.canvas.draw()
    page = figure.bbox
    boxes = []
    for ax in axes:
        for text in texts_of(ax):
            assert text.get_fontsize() >= 7, text.get_text()
            box = text.get_window_extent()
            assert box.x0 >= page.x0 - 1, text.get_text()
            assert box.x1 <= page.x1 + 1, text.get_text()
            assert box.y0 >= page.y0 - 1, text.get_text()
            assert box.y1 <= page.y1 + 1, text.get_text()
            boxes.append((text.get_text(), box))
    for i, (one, a) in enumerate(boxes):
        for other, b in boxes[i + 1 :]:
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            up = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across <= 1 or up <= 1, f"{one!r} lies on {other!r}"


def assert_same(drawn: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(drawn, dtype=float), np.asarray(wanted, dtype=float), rtol=0, atol=1e-12)


def heights(container: Any, across: bool = False) -> list[float]:
    return [bar.get_width() if across else bar.get_height() for bar in container]


def assert_no_global_state(code: str) -> None:
    """`code` draws `axes`; afterwards pyplot was not even imported and no setting of matplotlib has changed."""
    script = (
        "import sys, matplotlib; matplotlib.use('Agg'); before = dict(matplotlib.rcParams)\n"
        "import numpy as np, calibrant as cal\n" + code + "\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert dict(matplotlib.rcParams) == before\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
