"""Every notebook is valid and stored without outputs; with --deep, each runs from top to bottom in a fresh process.

The cells are run by `play` below, without Jupyter. They are plain Python (no magics, which a test holds them to), so a kernel would add a
dependency on half a dozen packages and processes, and check nothing more. What Jupyter does with the value of a cell is done here too: its
`repr` and `_repr_html_` are called, and every figure is drawn to PNG and closed.
"""

from __future__ import annotations

import ast
import io
import json
import linecache
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str = "code") -> list[str]:
    """Sources of the cells of one kind, in order."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def show(value: Any) -> str:
    """What a notebook would show of the value of a cell; results must be readable as text and as HTML."""
    if value is None:
        return ""
    text = repr(value)
    if type(value).__module__.startswith("calibrant"):
        assert not re.search(r" object at 0x|\barray\(", text), f"an unreadable repr: {text}"
    as_html = getattr(value, "_repr_html_", None)
    if as_html is not None:
        html = as_html()
        assert html is None or html.lstrip().startswith("<"), f"no HTML: {html!r}"
    return text


def play(path: Path) -> None:
    """Run the cells in one namespace, show the last expression of each, draw and close its figures, and print a count."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    space: dict[str, Any] = {"__name__": "__main__"}
    figures = shown = 0
    for number, source in enumerate(cells(path), 1):
        name = f"{path.stem}[cell {number}]"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        tree = ast.parse(source, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), space)
        if last is not None:
            assert isinstance(last, ast.Expr)
            shown += bool(show(eval(compile(ast.Expression(last.value), name, "eval"), space)))
        for figure in map(plt.figure, plt.get_fignums()):
            figure.savefig(io.BytesIO(), format="png")
            figures += 1
        plt.close("all")
    sys.stdout.write(f"{path.stem}: {figures} figures, {shown} values\n")


def test_there_are_notebooks_and_all_are_listed() -> None:
    listed = re.findall(
        r"^\| \[(\w+\.ipynb)\]\(\1\) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(listed) == [path.name for path in NOTEBOOKS]
    assert len(NOTEBOOKS) >= 4


@each_notebook
def test_is_valid_and_holds_no_outputs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    assert content["nbformat"] == 4
    assert content["nbformat_minor"] >= 5
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in content["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in content["cells"]:
        assert set(cell) <= {"cell_type", "id", "metadata", "source", "execution_count", "outputs"}
        assert cell["cell_type"] in ("markdown", "code")
        assert isinstance(cell["source"], list)
        assert "".join(cell["source"]).strip()
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    assert text == json.dumps(content, indent=1, ensure_ascii=False) + "\n"  # as Jupyter saves it: small diffs


@pytest.mark.deep
@each_notebook
def test_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    """In a fresh process and an empty folder, which stays empty; warnings are errors."""
    pytest.importorskip("matplotlib", reason="NO MATPLOTLIB: pip install 'calibrant[plot]' to run the notebooks")
    if "sklearn" in "".join(cells(path)):
        pytest.importorskip("sklearn", reason="NO SCIKIT-LEARN: pip install 'calibrant[sklearn]' to run this notebook")
    command = [sys.executable, "-W", "error", __file__, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=3600)
    assert done.returncode == 0, done.stderr
    figures, values = map(int, re.findall(r"(\d+) figures, (\d+) values", done.stdout)[0])
    assert figures >= 1
    assert values >= 2
    assert not list(tmp_path.iterdir())


if __name__ == "__main__":
    play(Path(sys.argv[1]))
