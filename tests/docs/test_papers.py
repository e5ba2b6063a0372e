"""The pages of the papers: their examples run, and every call of their tables gives a result."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

PAPERS = Path(__file__).parents[2] / "docs" / "papers"
PAGES = [page for page in sorted(PAPERS.glob("*.md")) if page.stem != "index"]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CALL = re.compile(r"`([^`]+)`")


def calls(text: str) -> list[str]:
    """The calls in the last column of the tables whose last heading is "call"."""
    table, found = False, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        table = bool(cells) and (table or cells[-1] == "call")
        if table:
            found += CALL.findall(cells[-1])
    return found


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
        listed = calls(text)
        assert len(listed) > 10
        for call in listed:
            assert eval(call, names) is not None, call


def test_readme_and_index_name_the_pages() -> None:
    root = PAPERS.parents[1]
    for document, prefix in ((root / "README.md", "docs/papers/"), (root / "docs" / "index.md", "papers/")):
        missing = [page.name for page in PAGES if f"{prefix}{page.name}" not in document.read_text(encoding="utf-8")]
        assert not missing, document
