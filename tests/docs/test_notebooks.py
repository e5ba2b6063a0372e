"""Every notebook is valid, and stored without outputs unless it is to be read without training; with --deep, each runs from top to bottom.

The cells are run by `play` below, without Jupyter. They are plain Python (no magics, which a test holds them to), so a kernel would add a
dependency on half a dozen packages and processes, and check nothing more. What Jupyter does with the value of a cell is done here too: its
`repr` and `_repr_html_` are called, and every figure is drawn to PNG and closed. ``python tests/docs/test_notebooks.py PATH --store`` runs a
notebook in the same way and stores its outputs.
"""

import ast
import base64
import contextlib
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
WITH_OUTPUTS = {"image_workflow"}
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


def play(path: Path) -> list[list[dict[str, Any]]]:
    """Run the cells in one namespace, show the last expression of each, draw and close its figures, and print a count; return the outputs."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    space: dict[str, Any] = {"__name__": "__main__"}
    figures = shown = 0
    outputs: list[list[dict[str, Any]]] = []
    for number, source in enumerate(cells(path), 1):
        name = f"{path.stem}[cell {number}]"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        tree = ast.parse(source, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed, text = io.StringIO(), ""
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, name, "exec"), space)
            if last is not None:
                assert isinstance(last, ast.Expr)
                text = show(eval(compile(ast.Expression(last.value), name, "eval"), space))
        shown += bool(text or printed.getvalue())
        own = (
            [{"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())}]
            if printed.getvalue()
            else []
        )
        if text:
            data: dict[str, Any] = {"text/plain": lines(text)}
            own.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
        for figure in map(plt.figure, plt.get_fignums()):
            picture = io.BytesIO()
            figure.savefig(picture, format="png")
            data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
            own.append({"data": data, "metadata": {}, "output_type": "display_data"})
            figures += 1
        plt.close("all")
        outputs.append(own)
    sys.stdout.write(f"{path.stem}: {figures} figures, {shown} values\n")
    return outputs


def lines(text: str) -> list[str]:
    """Text as notebooks store it."""
    return text.splitlines(keepends=True)


def store(path: Path) -> None:
    """Run a notebook and write its outputs into it."""
    content = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(code, play(path), strict=True), 1):
        cell["execution_count"], cell["outputs"] = number, outputs
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def test_there_are_notebooks_and_all_are_listed() -> None:
    listed = re.findall(
        r"^\| \[(\w+\.ipynb)\]\(\1\) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(listed) == [path.name for path in NOTEBOOKS]
    assert len(NOTEBOOKS) >= 4


@each_notebook
def test_is_valid_and_holds_outputs_only_where_training_takes_long(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    assert content["nbformat"] == 4
    assert content["nbformat_minor"] >= 5
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in content["cells"]]
    numbers = iter(range(1, len(ids) + 1))
    assert len(set(ids)) == len(ids)
    for cell in content["cells"]:
        assert set(cell) <= {"cell_type", "id", "metadata", "source", "execution_count", "outputs"}
        assert cell["cell_type"] in ("markdown", "code")
        assert isinstance(cell["source"], list)
        assert "".join(cell["source"]).strip()
        if cell["cell_type"] == "code" and path.stem in WITH_OUTPUTS:
            assert cell["execution_count"] == next(numbers)
            assert {each["output_type"] for each in cell["outputs"]} <= {"stream", "execute_result", "display_data"}
        elif cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    kept = [each["output_type"] for cell in content["cells"] for each in cell.get("outputs", [])]
    assert set(kept) >= ({"stream", "execute_result", "display_data"} if path.stem in WITH_OUTPUTS else set())
    assert text == json.dumps(content, indent=1, ensure_ascii=False) + "\n"  # as Jupyter saves it: small diffs


@pytest.mark.deep
@each_notebook
def test_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    """In a fresh process and an empty folder, which stays empty; warnings are errors."""
    pytest.importorskip("matplotlib", reason="NO MATPLOTLIB: pip install 'calibrant[plot]' to run the notebooks")
    if "torch" in "".join(cells(path)):
        pytest.importorskip("torch", reason="NO PYTORCH: pip install 'calibrant[torch]' to run this notebook")
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
    (store if "--store" in sys.argv else play)(Path(sys.argv[1]))
