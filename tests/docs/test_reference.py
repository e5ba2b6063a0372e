"""The reference has every public name, once, as its docstring says, and its links lead somewhere."""

import inspect
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import calibrant as cal
import make_reference as maker

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return maker.pages()


@pytest.fixture(scope="module")
def headings(pages: dict[str, str]) -> dict[str, list[str]]:
    return {name: re.findall(r"^### (.*)$", text, re.MULTILINE) for name, text in pages.items()}


def test_every_public_name_is_there_once(headings: dict[str, list[str]]) -> None:
    wanted = {name for name in cal.__all__ if not inspect.ismodule(getattr(cal, name))} - set(cal.catalogue)
    found = Counter(entry.name for entry in maker.entries() if entry.spoken == "cal.")
    assert set(found) == wanted
    assert set(found.values()) == {1}
    shown = {name for page, names in headings.items() if page != "torch.md" for name in names}
    assert wanted <= shown


def test_every_metric_is_linked(pages: dict[str, str]) -> None:
    assert all(f"[{id}](../metrics/{id}.md)" in pages["measure.md"] for id in cal.catalogue)


def test_every_module_belongs_to_one_room() -> None:
    placed = Counter(module for room in maker.ROOMS.values() for section in room.sections for module in section.modules)
    own = {module for module in placed if not module.endswith(".*")}
    assert own == set(maker.homes())
    assert set(placed.values()) == {1}


@pytest.mark.parametrize("module", ["inference.simulation", "curves", "sklearn", "spark"])
def test_names_of_modules_are_there(module: str, headings: dict[str, list[str]]) -> None:
    home = import_module(f"calibrant.{module}")
    shown = {name for names in headings.values() for name in names}
    assert set(home.__all__) <= shown


def test_torch_is_there(headings: dict[str, list[str]]) -> None:
    pytest.importorskip("torch")
    homes = [import_module(f"calibrant.torch{part}") for part in ("", ".lightning", ".losses")]
    names = [name for home in homes for name in home.__all__ if not inspect.ismodule(getattr(home, name))]
    assert sorted(headings["torch.md"]) == sorted(names)


def test_labels_are_there_once_and_links_lead_to_them(pages: dict[str, str]) -> None:
    labels = Counter(label for text in pages.values() for label in re.findall(r"^\((.+)\)=$", text, re.MULTILINE))
    assert set(labels.values()) == {1}
    for page, text in pages.items():
        for target in re.findall(r"\]\(#([^)]+)\)", text):
            assert target in labels, (page, target)
        for target in re.findall(r"\]\(\.\./([^)#]+)\)", text):
            made = target.removeprefix("metrics/").removesuffix(".md")
            is_metric = target.startswith("metrics/") and made in {"index", *cal.catalogue}
            assert is_metric or (ROOT / "docs" / target).exists(), (page, target)


def test_every_entry_says_something(pages: dict[str, str]) -> None:
    for page, text in pages.items():
        for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
            name, _, rest = part.partition("\n")
            told = re.sub(r"```python\n.*?```", "", rest, flags=re.DOTALL)
            told = re.split(r"^\(.*\)=$|^## ", told, flags=re.MULTILINE)[0]
            assert len(told.strip()) > 10, (page, name)
            assert text.count("```") % 2 == 0


def test_no_address_of_a_machine_gets_in(pages: dict[str, str]) -> None:
    for page, text in pages.items():
        assert not re.search(r" at 0x[0-9a-f]+", text), page
        assert str(ROOT) not in text, page
        assert f"{Path.home()}/" not in text, page
