"""What README and docs show works: code blocks run, commands exist, links lead somewhere, and every metric has its page."""

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib import pyplot

import calibrant as cal
from reference_rooms import ROOMS
from tests.in_turn import in_turn

ROOT = Path(__file__).parent.parent.parent
DOCS = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "guides").glob("*.md"))]
PAGES = [ROOT / "README.md", *DOCS, ROOT / "CONTRIBUTING.md"]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


CODE = [page for page in PAGES if blocks(page, "python")]
FRESH = ("README.md", "add-a-metric.md", "add-a-calibrator.md")
"""Run as pasted in the short form too: what is read first, and what adds to a registry."""


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=p.name, marks=[pytest.mark.deep] * (p.name not in FRESH)) for p in CODE]
)
def test_code_runs_as_pasted(page: Path, tmp_path: Path) -> None:
    """All blocks of a page in one fresh process, in order, as a reader would paste them."""
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page, "python")), encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "error", str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("quick_windows", "quick_intervals")
@pytest.mark.parametrize("page", [p for p in CODE if p.name not in (*FRESH, "gallery.md")], ids=lambda p: p.name)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in this process, whose modules are loaded, and with short reports and few draws."""
    short = functools.partial(cal.report, metrics=["ece"], recalibration=False, level=None, n_resamples=19)
    monkeypatch.setattr(cal, "report", short)
    monkeypatch.setattr(cal, "assess", functools.partial(cal.assess, n_resamples=99))
    monkeypatch.setattr(cal.inference, "power", functools.partial(cal.inference.power, repeats=5))
    monkeypatch.chdir(tmp_path)
    code = re.sub(r"n_resamples=\d{3,}", "n_resamples=200", "\n".join(blocks(page, "python")))
    code = re.sub(r"\bresamples=\d+", "resamples=10", code)  # refits of internal validation
    code = code.replace("for _ in range(60)", "for _ in range(20)")  # epochs
    # Of a summary only the distances of the curve are resampled.
    code = re.sub(r"(clinical\.summary\(.*)n_resamples=\d+", r"\1n_resamples=0", code)
    code = re.sub(r"repeats=\d{3,}", "repeats=5", code)
    try:
        exec(compile(code, page.name, "exec"), {"__name__": "page"})
    finally:
        pyplot.close("all")


def test_commands_shown_exist(run: Callable[..., tuple[int, str, str]]) -> None:
    shown = {
        match
        for page in PAGES
        for block in blocks(page, "bash")
        for match in re.findall(r"(?:^|\| )calibrant ([a-z]+)", block, re.MULTILINE)
    }
    assert shown >= {"evaluate", "metrics", "demo"}
    for name in shown:
        assert run(name, "--help")[0] == 0, name


def test_calibrant_is_installed_from_a_clone_or_a_wheel() -> None:
    """It is not on a package index: its name is no source."""
    for page in DOCS:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"pip install (?:[^\n`]* )?calibrant(?![\w./-])", text), page.name


def test_make_targets_shown_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = {target for page in PAGES for target in re.findall(r"\bmake ([a-z]+)", page.read_text(encoding="utf-8"))}
    assert {"demo", "test", "deep", "bench", "docs", "reproduce"} <= set(
        re.findall(r"^([a-z]+):", makefile, re.MULTILINE)
    )
    for target in shown & {"demo", "test", "deep", "lint", "bench", "docs", "reproduce", "stub"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert shown >= {"demo", "test"}


@in_turn("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith(("http", "#"))]
    for link in links:
        target = page.parent / link.split("#")[0]
        assert target.exists() or is_built(target), f"{page.name}: {link}"


def is_built(target: Path) -> bool:
    """Whether `make docs` makes the page: one of each metric, and one of each room of the reference."""
    built = {"metrics": {"index", "properties", *cal.catalogue}, "reference": {"index", *ROOMS}}
    return target.parent.parent == ROOT / "docs" and target.stem in built.get(target.parent.name, ())


def test_the_repository_speaks_of_calibrant_alone() -> None:
    """No machine's paths and no package host's address."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = (
        listed.stdout.split()
        if listed.returncode == 0
        else [str(p.relative_to(ROOT)) for p in (ROOT / "src").rglob("*.py")]
    )
    own = os.path.relpath(__file__, ROOT)
    for name in names:
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".html", ".cff", ".txt") and name != own and path.exists():
            assert not re.search(
                r"/home/|/root/|/opt/|pypi\.org|files\.pythonhosted", path.read_text(encoding="utf-8")
            ), name
