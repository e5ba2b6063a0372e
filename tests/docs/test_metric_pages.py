"""The page of every metric: use, formula, strengths and limitations, parameters, an example with a figure, cost, and the paper."""

from __future__ import annotations

import inspect
import io
import re
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


def test_formulas_differ_in_words_where_not_in_symbols() -> None:
    assert len(set(maker.formulas().values())) == len(METRICS)


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


def assert_runs(section: str) -> None:
    """The code as pasted gives the value in its comment."""
    found = re.search(r"```python\n(.*)\n(cal\..*)  # (.*)\n```", section, re.DOTALL)
    assert found is not None
    names: dict[str, object] = {}
    exec(found.group(1), names)
    assert repr(round(eval(found.group(2), names), 4)) == found.group(3)


@in_turn("metric", METRICS, lambda metric: metric.id)
def test_page_has_all_its_parts(metric: cal.metrics.Metric) -> None:
    page = maker.page(metric)
    assert [part for part in re.findall(r"^## (.*)$", page, re.MULTILINE) if part != "Notes"] == SECTIONS
    parts = dict(zip(*[iter(re.split(r"^## (.*)\n", page, flags=re.MULTILINE)[1:])] * 2, strict=True))
    head = page.split("\n## ")[0]
    assert metric.summary in head
    assert documentation.signature_of(metric)[0] in head
    assert all(f"\n- `{name}` (" in f"\n{parts['Parameters']}" for name in inspect.signature(metric).parameters)
    assert maker.formulas()[metric.id] in parts["Formula"]
    assert len(parts["Limitations"].strip()) > 10
    assert_runs(parts["Example"])
    name = re.search(r"!\[.*\]\(pictures/(\w+)\.png\)", parts["Example"])
    assert name is not None
    assert name.group(1) in pictures.PICTURES
    assert re.search(r"\*\*-?\d[\d.e+-]*\*\*\.$", parts["Example"].strip())
    assert re.search(r"About [\d.e+]+ m?s of processor time", parts["Cost"])
    assert metric.info.cost in parts["Cost"]
    assert metric.reference in parts["References"]
    assert f"`definitions/{metric.id}/1" in parts["Validation"]
    assert "](../validation.md#how-to-read-a-row)" in parts["Validation"]


# The one score comes true as often as it says, and the one value of feature or group knows no more.
HALVES = ([0, 1] * 20, [0.5] * 40)
REACHED_BY_TIES = [
    "mvce",
    "vece",
    "piece",
    "ece_lb",
    "wsmcs",
    "dce",
    "calbin",
    "bbt",
    "skde",
    "sece",
    "msce",
    "mmce_w",
    "knn_chi2",
    "tce",
]


def value_of_halves(metric: cal.metrics.Metric) -> float:
    needed = {name: [1.0] * 40 for name in metric.needs if name in ("groups", "features")}
    return metric(cal.Predictions(*HALVES, **needed))


def test_what_calibrated_forecasts_reach_is_not_kept_for_others() -> None:
    for metric in METRICS:
        text = maker.page(metric).split("## Formula")[0]
        if "the true class only" in text:
            assert value_of_halves(metric) > metric.ideal + 0.1, metric.id
    for id in REACHED_BY_TIES:
        assert value_of_halves(cal.catalogue[id]) == pytest.approx(0, abs=1e-12), id
        assert "only" not in documentation.reached_by(cal.catalogue[id]), id


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


def test_what_tce_finds_in_calibrated_forecasts() -> None:
    assert "rejected too, some by chance and more where a block spans distant scores" in cal.tce.info.limits
    many = cal.inference.make_calibrated(3000, rng=1)
    assert 0 < cal.tce(many.y_true, many.y_prob) < 5
    # Eight sure and right rows join the forty before them, with which 28 of 48 come true.
    y, p = np.repeat([0, 1, 1], [20, 20, 8]), np.repeat([0.5, 1.0], [40, 8])
    assert cal.tce(y, p) == pytest.approx(100 * 8 / 48)
    assert "join the block before them" in cal.tce.info.notes
    # More rows than min_block with the last score are pooled like any others.
    y, p = np.repeat([0, 1, 1], [20, 20, 11]), np.repeat([0.5, 1.0], [40, 11])
    assert cal.tce(y, p) == 0
    assert "more rows than that share the last score" in cal.tce.info.notes


def test_pictures_show_what_the_metric_reads() -> None:
    assert pictures.picture_of(cal.wsmcs).name == "true_classes"
    assert pictures.picture_of(cal.lse_ece).name == "bars"
    assert "how far each label is from the mean score" in pictures.picture_of(cal.smbs).look
    data = pictures.rows()
    label = data.y_true[data.order]
    gaps = [float((data.score - data.outcome)[label == k].mean()) for k in range(3)]
    assert min(gaps) > 0  # as the caption says
    assert cal.wsmcs(data.y_true, data.y_prob) == pytest.approx(sum(gaps))


def test_value_in_the_caption_is_that_of_the_rows_shown() -> None:
    names: dict[str, np.ndarray] = {}
    exec(pictures.SETUP, names)
    confidence, right = names["y_prob"].max(axis=1), names["y_prob"].argmax(axis=1) == names["y_true"]
    gap = confidence.mean() - right.mean()
    assert gap > 0.05  # overconfident
    assert f"**{gap:.4g}**" in maker.page(cal.esce)
    assert f"**{confidence.sum() / right.sum():.4g}**" in maker.page(cal.expected_observed_ratio)
    group = names["groups"] == "b"
    assert (confidence - right)[group].mean() > 2 * abs((confidence - right)[~group].mean())
    assert pictures.SETUP in maker.index()


def test_every_picture_is_used_and_every_family_has_one() -> None:
    used = {pictures.picture_of(metric).name for metric in METRICS}
    assert used == set(pictures.PICTURES)


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
        above = maker.page(metric).split("## Formula")[0]
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

    def test_it_fits_a_telephone(self) -> None:
        drawing = ElementTree.fromstring(self.picture)
        assert drawing.attrib["width"] == "390"
        for text in drawing.iter("{http://www.w3.org/2000/svg}text"):
            # Bold letters of the other classes are narrower than 8.5 px on average.
            letter = tree.LETTER if text.attrib["class"] == "leaf" else 8.5
            assert float(text.attrib["x"]) + letter * len(text.text or "") <= 390
            assert float(text.attrib["y"]) < float(drawing.attrib["height"])
