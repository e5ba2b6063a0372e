"""The page of every metric: use, formula, strengths and limitations, parameters, an example with a figure, cost, and the paper."""

import inspect
import io
import re
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest

import calibrant as cal

pytest.importorskip("matplotlib")
from PIL import Image

import make_family_tree as tree
import make_metric_pages as maker
import metric_pictures as pictures
from calibrant.metrics import documentation
from tests.in_turn import in_turn

SECTIONS = [
    "Formula",
    "Strengths",
    "Limitations",
    "Parameters",
    "Example",
    "See also",
    "Cost",
    "Facts",
    "Validation",
    "References",
]


METRICS = list(cal.catalogue.values())
page_of = cache(maker.page)


def outside_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "", text)


def math_of(text: str) -> list[str]:
    shown = re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)
    inline = re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.*?\$\$", "", outside_code(text), flags=re.DOTALL))
    return shown + inline


def test_every_metric_has_one_formula() -> None:
    written = [
        id
        for path in (documentation.HERE / "formulas").glob("*.md")
        for id in re.findall(r"^## (\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(written) == sorted(cal.catalogue)
    assert set(maker.formulas()) == set(cal.catalogue)


@in_turn("id", list(cal.catalogue))
def test_formula_is_well_formed(id: str) -> None:
    text = maker.formulas()[id]
    assert text.startswith("$$\n")
    assert len(re.findall(r"^\$\$$", text, re.MULTILINE)) == 2
    assert outside_code(text).count("$") % 2 == 0
    for part in math_of(text):
        bare = re.sub(r"\\[{}]", "", part)
        assert bare.count("{") == bare.count("}"), part
        depth = np.cumsum([{"{": 1, "}": -1}.get(letter, 0) for letter in bare])
        assert depth.min() >= 0, part
        assert len(re.findall(r"\\left(?![a-z])", part)) == len(re.findall(r"\\right(?![a-z])", part)), part
        for size in ("big", "Big", "bigg"):
            assert part.count(f"\\{size}l") == part.count(f"\\{size}r"), part
        assert part.count(r"\lvert") == part.count(r"\rvert"), part
        assert part.count("(") == part.count(")"), part
        assert re.findall(r"\\begin\{(\w+)\}", part) == re.findall(r"\\end\{(\w+)\}", part)
    for target in re.findall(r"\]\((\w+)\.md\)", text):
        assert target in set(cal.catalogue)


def test_symbols_that_are_used_are_explained() -> None:
    for id, text in maker.formulas().items():
        explained = text + maker.symbols(text)
        words = re.sub(r"\$\$.*?\$\$", "", explained, flags=re.DOTALL)
        for symbol in (r"\kappa", r"\tau", r"\gamma", r"\delta", r"\lambda", r"\nu", r"\xi_m", r"\alpha"):
            if re.search(re.escape(symbol) + r"(?![a-z_])", text):
                assert symbol in words, (id, symbol)
        for symbol in ("n_m", r"\bar p_m", "N", "p_i", "p_{ik}", r"\varphi_h", r"\bar y_{mk}", "M_+"):
            if re.search(r"(?<![A-Za-z\\])" + re.escape(symbol) + r"(?![A-Za-z{^])", text):
                assert symbol in words, (id, symbol)


@in_turn("metric", METRICS, lambda metric: metric.id)
def test_page_has_all_its_parts(metric: cal.metrics.Metric) -> None:
    page = page_of(metric)
    assert [part for part in re.findall(r"^## (.*)$", page, re.MULTILINE) if part != "Notes"] == SECTIONS
    parts = dict(zip(*[iter(re.split(r"^## (.*)\n", page, flags=re.MULTILINE)[1:])] * 2, strict=True))
    head = page.split("\n## ")[0]
    assert metric.summary in head
    assert documentation.signature_of(metric)[0] in head
    assert all(f"\n- `{name}` (" in f"\n{parts['Parameters']}" for name in inspect.signature(metric).parameters)
    assert maker.formulas()[metric.id] in parts["Formula"]
    assert len(parts["Limitations"].strip()) > 10
    name = re.search(r"!\[.*\]\(pictures/(\w+)\.png\)", parts["Example"])
    assert name.group(1) in pictures.PICTURES
    assert re.search(r"\*\*-?\d[\d.e+-]*\*\*\.$", parts["Example"].strip())
    assert re.search(r"About [\d.e+]+ m?s of processor time", parts["Cost"])
    assert metric.info.cost in parts["Cost"]
    assert metric.reference in parts["References"]
    assert f"`definitions/{metric.id}/1" in parts["Validation"]
    assert "](../validation.md#how-to-read-a-row)" in parts["Validation"]


def test_who_reaches_the_ideal() -> None:
    reached_by = documentation.reached_by
    assert reached_by(cal.brier) == "forecasts of probability 1 for the true class only"
    assert reached_by(cal.ece) == "calibrated forecasts up to sampling noise"
    assert reached_by(cal.pce) == "calibrated forecasts in every group up to sampling noise"
    assert reached_by(cal.vece) == "calibrated forecasts given the features up to sampling noise"
    assert "calibrated forecasts need not" in reached_by(cal.ece_lb)
    # One row with probability 1 for the true class suffices for the infinite ideal.
    assert cal.dawid_sebastiani([1, 0], [1.0, 0.5]) == cal.dawid_sebastiani.ideal
    assert "only" not in reached_by(cal.dawid_sebastiani)


def test_every_metric_was_timed_and_every_growth_is_explained() -> None:
    assert set(maker.times()) == set(cal.catalogue)
    assert all(taken > 0 for taken in maker.times().values())
    assert {metric.info.cost for metric in METRICS} <= set(maker.GROWTH)


def assert_drawn(name: str) -> None:
    with maker.plain_settings():
        figure = pictures.PICTURES[name].draw()
    data = maker.png_of(figure)
    assert len(data) < 60_000
    with Image.open(io.BytesIO(data)) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    painted = (pixels.min(axis=2) < 250).mean()
    assert 0.01 < painted < 0.6
    assert pixels.shape[1] > 400


@pytest.mark.parametrize("name", ["losses", "soft", "sanders", "true_classes", "witness", "loess"])
def test_pictures_are_drawn(name: str) -> None:
    assert_drawn(name)


@pytest.mark.deep
@pytest.mark.parametrize("name", list(pictures.PICTURES))
def test_all_pictures_are_drawn(name: str) -> None:
    assert_drawn(name)


def test_the_table_of_properties_has_every_metric() -> None:
    text = maker.properties()
    rows = {row[0]: row[1:] for row in (line.split("|")[1:-1] for line in text.splitlines()) if len(row) > 10}
    for metric in METRICS:
        cells = rows[f" [{metric.id}]({metric.id}.md) "]
        assert [cell.strip() == "yes" for cell in cells] == list(metric.properties.values())
    assert len(re.findall("Hagopian: ", text)) == 5
    assert "properties" in maker.index().split("{toctree}")[1]


def test_the_page_of_an_uncertain_metric_says_so_before_its_formula() -> None:
    for metric in METRICS:
        above = page_of(metric).split("## Formula")[0]
        assert ("The definition is less than certain, so the metric is not recommended: " in above) != metric.certain


class TestFamilyTree:
    picture = tree.family_tree()

    def test_the_stored_picture_is_that_of_the_catalogue(self) -> None:
        assert tree.FILE.read_text(encoding="utf-8") == self.picture
        assert "](../images/families.svg)" in maker.index()

    def test_it_shows_every_family_subfamily_and_metric_once(self) -> None:
        drawing = ElementTree.fromstring(self.picture)
        texts: dict[str, list[str]] = {kind: [] for kind in ("root", "family", "branch", "leaf")}
        for text in drawing.iter("{http://www.w3.org/2000/svg}text"):
            texts[text.attrib["class"]].append(text.text or "")
        families = cal.catalogue.tree()
        assert [text.split()[0] for text in texts["family"]] == list(families)
        assert texts["branch"] == [name for branches in families.values() for name in branches]
        ids = [m.id for branches in families.values() for metrics in branches.values() for m in metrics]
        assert " ".join(texts["leaf"]).split() == ids
