"""Every result is saved by one method, whose format the suffix gives."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, FileError
from calibrant.util.results import markdown_text

RNG = np.random.default_rng(5)
SCORE = RNG.random(60)
LABEL = (RNG.random(60) < SCORE).astype(int)
GROUP = np.array(["a|b", "<b>x</b>", "c\nd"])[np.arange(60) % 3]
RESULTS = {
    "evaluation": cal.evaluate(cal.Predictions(LABEL, SCORE, groups=GROUP), metrics=["ece", "brier"]),
    "curve": cal.calibration_curve(LABEL, SCORE, bins=4),
    "comparison": cal.compare(LABEL, {"a": SCORE, "b": SCORE**2}, n_resamples=50, rng=0),
    "diagram": cal.reliability_diagram(LABEL, SCORE, bins=4),
    "scalar": cal.inference.power("ece", 100, deviation=0.1, repeats=50),
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_suffix_gives_the_format(name: str, tmp_path: Path) -> None:
    result: Any = RESULTS[name]
    frame = result.to_frame()
    assert json.loads(result.save(tmp_path / "r.json").read_text()) == json.loads(json.dumps(result.to_dict()))
    with result.save(str(tmp_path / "r.CSV")).open(newline="") as stream:
        head, *rows = csv.reader(stream)
    assert head == list(frame.columns)
    assert len(rows) == len(frame)
    for place, column in enumerate(head):
        if frame[column].dtype.kind == "f":
            read = [np.nan if row[place] == "" else float(row[place]) for row in rows]
            np.testing.assert_array_equal(read, frame[column])
    pd.testing.assert_frame_equal(pd.read_parquet(result.save(tmp_path / "r.parquet")), frame, check_dtype=False)
    page = result.save(tmp_path / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert result._repr_html_() in page
    text = result.save(tmp_path / "r.txt", format="md").read_text()
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")}) == 1
    assert "<b>" not in re.sub(r"\\<", "", page + text)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.CSV", "r.html", "r.json", "r.parquet", "r.txt"]


def test_what_can_be_drawn_is_saved_as_a_picture(tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    figure: Any = RESULTS["diagram"]
    opened = len(plt.get_fignums())
    for suffix, start in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        written = figure.save(tmp_path / f"f{suffix}").read_bytes()
        assert written.startswith(start)
        assert written == figure.save(tmp_path / f"g{suffix}").read_bytes()
    panels = cal.reliability_diagram(LABEL, {"a": SCORE, "b": SCORE}, bins=3)
    assert panels.save(tmp_path / "panels.svg").read_bytes().startswith(b"<?xml")
    assert len(plt.get_fignums()) == opened


@pytest.mark.parametrize(
    ("name", "path", "words", "says"),
    [
        ("curve", "r.doc", {}, r"path: the format of '.*r.doc' is unknown; end it in .json, .html, .md, .csv or .parq"),
        ("scalar", "r.svg", {}, "path: the format"),
        ("diagram", "r", {}, r"\.svg, \.png or \.pdf"),
        ("curve", "r.csv", {"format": "xls"}, "format: must be 'json', 'html', 'md', 'csv' or 'parquet'; got 'xls'"),
    ],
)
def test_unknown_formats_are_named(name: str, path: str, words: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=says):
        RESULTS[name].save(tmp_path / path, **words)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        RESULTS["curve"].save(tmp_path / "no" / "r.csv")


def test_markdown_is_text() -> None:
    assert markdown_text("# a\n*b* `c` <d>") == r"\# a \*b\* \`c\` \<d>"
