"""The pages of the papers: their examples run, and every call of their tables gives a result."""

from __future__ import annotations

import ast
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

PAPERS = Path(__file__).parents[2] / "docs" / "papers"
PAGES = [page for page in sorted(PAPERS.glob("*.md")) if page.stem != "index"]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CALL = re.compile(r"`([^`]+)`")
OUTPUT = re.compile(r"(\S.*?)  # (?:about )?(-?\d[.\d]*|\(.*\)|True|False)(?:[:,;] .*)?")
MEASURES_SENTENCE = re.compile(r"Eleven measures of variation are built in: (.*?)\.", re.DOTALL)


def calls(text: str) -> list[str]:
    """The calls in the last column of the tables whose last heading is "call"."""
    table, found = False, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        table = bool(cells) and (table or cells[-1] == "call")
        if table:
            found += CALL.findall(cells[-1])
    return found


def output_of(line: str) -> tuple[str, str] | None:
    """A call, and the output that stands in the comment beside it."""
    match = OUTPUT.fullmatch(line)
    return (match[1], match[2]) if match else None


def printed(value: Any, output: str) -> str:
    """A value as the page prints it: a number with the digits of `output`."""
    if isinstance(ast.literal_eval(output), float):
        return f"{value:.{len(output.partition('.')[2])}f}"
    return repr(value).replace("'", '"')


def test_an_output_beside_a_call_is_read() -> None:
    assert output_of("cal.ecd(y, p)  # 0.09: the loss exceeds it") == ("cal.ecd(y, p)", "0.09")
    assert output_of('table.rejected  # (("none", "ece"),)') == ("table.rejected", '(("none", "ece"),)')
    assert output_of("cal.gece(y, p)  # all classes") is None
    assert (printed(0.094, "0.09"), printed(0.094, "0.10")) == ("0.09", "0.09")
    assert printed((("none", "ece"),), "()") == '(("none", "ece"),)'


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_call_of_the_page_of_a_paper_gives_a_result(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if "import torch" in text:
        pytest.importorskip("torch")
    if "diagram(" in text:
        pytest.importorskip("matplotlib")
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in BLOCK.findall(text):
            exec(block, names)
            for code, output in filter(None, map(output_of, block.splitlines())):
                assert printed(eval(code, names), output) == output, code
        listed = calls(text)
        assert len(listed) > 10
        for call in listed:
            assert eval(call, names) is not None, call


def test_readme_and_index_name_the_pages() -> None:
    root = PAPERS.parents[1]
    for document, prefix in ((root / "README.md", "docs/papers/"), (root / "docs" / "index.md", "papers/")):
        missing = [page.name for page in PAGES if f"{prefix}{page.name}" not in document.read_text(encoding="utf-8")]
        assert not missing, document


def test_the_page_names_all_measures_of_variation() -> None:
    from calibrant.metrics.bin.variation import MEASURES

    sentence = MEASURES_SENTENCE.search((PAPERS / "variation.md").read_text(encoding="utf-8"))
    assert sentence is not None
    assert re.findall(r'"(\w+)"', sentence[1]) == list(MEASURES)
    assert len(MEASURES) == 11


def test_outputs_stand_on_every_page() -> None:
    """A comment in another form would not be checked."""
    stated = {page.stem for page in PAGES if any(map(output_of, page.read_text(encoding="utf-8").splitlines()))}
    assert stated == {page.stem for page in PAGES}


def test_every_metric_of_the_survey_is_in_a_row_of_its_page() -> None:
    named = json.loads((PAPERS.parents[1] / "tests" / "metrics" / "survey_names.json").read_text(encoding="utf-8"))
    rows = " ".join(calls((PAPERS / "survey.md").read_text(encoding="utf-8")))
    assert set(named.values()) <= set(re.findall(r"cal\.(?:metrics\.)?(\w+)\(", rows))
