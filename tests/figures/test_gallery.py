"""The gallery shows every figure, by code that runs, with pictures that are there; and faults once seen in them stay away."""

from __future__ import annotations

import inspect
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant import figures

pytest.importorskip("matplotlib")
from matplotlib import pyplot
from PIL import Image

import make_gallery as gallery

from .pictures import assert_readable

ROOT = Path(__file__).parents[2]


ENTRIES = {entry.name: entry for entry in gallery.ENTRIES}
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


@cache
def start() -> dict[str, Any]:
    return gallery.start()


def run(code: str) -> dict[str, Any]:
    names = dict(start())
    exec(code, names)
    return names


def public_figures() -> set[str]:
    """Functions of figures."""
    return {name for name in figures.__all__ if inspect.isfunction(getattr(figures, name))}


def assert_picture(data: bytes) -> None:
    """A PNG of a readable size that is neither blank nor a blot."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    with Image.open(io.BytesIO(data)) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    assert pixels.shape[1] >= 2 * 72 * 3.2
    assert len(np.unique(pixels @ [65536, 256, 1])) > 20
    painted = (pixels.min(axis=2) < 250).mean()
    assert 0.01 < painted < 0.7


def test_every_figure_is_in_the_gallery() -> None:
    wanted = public_figures()
    assert len(wanted) == 23
    code = "\n".join(entry.code for entry in gallery.ENTRIES)
    shown = {getattr(figures, name) for name in wanted if f"cal.figures.{name}(" in code or f"cal.{name}(" in code}
    assert {name for name in wanted if getattr(figures, name) not in shown} == set()


def test_every_kind_and_every_uncertainty_of_a_reliability_diagram_is_shown() -> None:
    code = "\n".join(entry.code for entry in gallery.ENTRIES)
    shown = {word for word in ("bars", "roof", "smooth", "isotonic") if f'kind="{word}"' in code}
    assert shown == {"bars", "roof", "smooth", "isotonic"}
    ways = {"standard_error", "clopper_pearson", "bootstrap", "consistency", "band"}
    assert {way for way in ways if f'uncertainty="{way}"' in code} == ways
    for option in ('scale="logit"', 'over="bins"', 'over="gamma"', 'over="fraction"'):
        assert option in code, option


def test_the_page_is_what_the_script_writes() -> None:
    assert gallery.page() == PAGE, "run tools/make_gallery.py"


def test_pictures_are_there_small_and_not_blank() -> None:
    referred = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert len(referred) == len(gallery.ENTRIES)
    files = [ROOT / "docs" / name for name in referred]
    assert sorted(files) == sorted((ROOT / "docs" / "gallery").iterdir())
    sizes = [path.stat().st_size for path in files]
    assert max(sizes) <= 60_000
    assert sum(sizes) < 2_000_000
    for path in files:
        assert_picture(path.read_bytes())


@pytest.mark.parametrize("name", ["line", "group_confidence"])
def test_code_draws_its_picture(name: str) -> None:
    first, again = (gallery.png_of(gallery.drawn(ENTRIES[name], start())) for _ in range(2))
    assert_picture(first)
    assert first == again
    with Image.open(ROOT / "docs" / "gallery" / f"{name}.png") as stored, Image.open(io.BytesIO(first)) as made:
        assert np.allclose(made.size, stored.size, atol=2)


@pytest.mark.deep
def test_all_code_runs() -> None:
    for entry in gallery.ENTRIES:
        assert_picture(gallery.png_of(gallery.drawn(entry, start())))
        pyplot.close("all")


def test_no_score_below_one_is_named_one() -> None:
    ax = run(ENTRIES["cumulative"].code)["ax"]
    above = ax.child_axes[0]
    words = [label.get_text() for label in above.get_xticklabels()]
    assert start()["p"].max() < 1
    assert "1" not in words
    assert words[:2] == ["0.18", "0.97"]
    assert_readable(ax)
