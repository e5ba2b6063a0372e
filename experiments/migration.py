"""Equivalent calls of calibrant and of other packages on difficult data, and the differences of their values.

Run it in an environment with the packages (`make bench` creates one): ``python -m experiments.migration``. It prints one line
per comparison, stores migration.json, and writes the tables of docs/migration.md between their markers; ``--page`` writes
the tables from the stored values.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import math
import re
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.migration_calls import CALLS, HELPERS, MODULES, SETUP, Call

Array = NDArray[Any]
Row = dict[str, Any]
STORED = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parent.parent / "docs" / "migration.md"
SAME = 1e-6
"""Values within this distance are reported as the same."""
NEAR = 1e-4
"""Differences up to this size are not listed individually."""

SETS = {
    "binary": ("even", "odd", "tied", "on edges", "0 and 1", "single", "rare", "sharp"),
    "classes": ("even", "odd", "tied", "zeros"),
    "decisions": ("2 classes", "2 tied", "2 rare", "4 classes", "4 tied"),
    "probabilities": ("2 classes", "2 tied", "2 rare", "4 classes", "4 tied"),
    "two classes": ("2 classes", "2 tied", "2 rare"),
}
"""The data sets of each kind of comparison; the page describes them."""
ROWS = {"even": 900, "odd": 1003, "tied": 1007, "on edges": 997, "0 and 1": 509, "zeros": 509}
ROWS |= {"single": 1003, "rare": 2003, "sharp": 1201}
"""The first number of rows is divisible by 10 and 15, the others by neither."""


@cache
def data(kind: str, name: str) -> dict[str, Any]:
    """Predictions that are not calibrated: `y`, `p` and `new` (other scores of the same kind), or `X`, `y`, a fitted `m` and `new`."""
    if kind not in ("binary", "classes"):
        return _model(kind, name)
    rng = np.random.default_rng(sum(map(ord, kind + name)))
    y, p = (_binary if kind == "binary" else _classes)(name, ROWS[name], rng)
    new = (_binary if kind == "binary" else _classes)(name, 211, rng)[1]
    return {"y": y, "p": p, "new": new}


def _binary(name: str, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    odds = rng.normal(-4.4 if name == "rare" else -0.4, 4 if name == "sharp" else 1.3, rows)
    y = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    p = 1 / (1 + np.exp(-odds - 0.9 if name == "rare" else -_warped(odds)))
    if name == "tied":
        p = np.clip(p.round(2), 0.01, 0.99)
    elif name == "on edges":
        p = np.clip((p * 30).round(), 1, 29) / 30
    elif name == "0 and 1":
        p = np.where(p < 0.06, 0.0, np.where(p > 0.94, 1.0, p))
    elif name == "single":
        p = p.astype(np.float32)
    return y, p


def _warped(odds: Array) -> Array:
    """Oscillating overconfidence: deviations of neighbouring bins differ in sign, so that every edge matters."""
    return 1.25 * odds + 0.3 * np.sin(4 * odds)


def _classes(name: str, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    odds = rng.normal(0, 1.2, (rows, 4)) + np.array([0.6, 0.0, -0.3, -0.8])
    y = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1).astype(np.int64)
    p = np.exp(_warped(odds))
    p /= p.sum(axis=1, keepdims=True)
    if name == "tied":
        p = np.array([rng.multinomial(20, row) for row in p]) / 20
    elif name == "zeros":
        p = np.where(p < 0.05, 0.0, p)
        p /= p.sum(axis=1, keepdims=True)
    return y, p


def _model(kind: str, name: str) -> dict[str, Any]:
    """A fitted classifier with a decision function, or with probabilities only, and held-out data."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(sum(map(ord, kind + name)))
    classes = int(name[0])
    centres = rng.normal(size=(classes, 3))
    y = rng.choice(classes, 1703, p=(0.96, 0.04) if "rare" in name else None)
    X = centres[y] + rng.normal(0, 1.5, (len(y), 3)) @ np.array([[1, 0.6, 0], [0, 1, 0.4], [0, 0, 1]])
    if "tied" in name:
        X = np.column_stack([X[:, 0].round(), X[:, 1] > 0, X[:, 2] > 1]).astype(float)
    m = (LogisticRegression(C=100) if kind == "decisions" else GaussianNB()).fit(X[:500], y[:500])
    return {"X": X[500:1503], "y": y[500:1503], "new": X[1503:], "m": m}


def run(call: Call, name: str) -> Row:
    """Both results on one data set: values or shapes, their difference, and errors."""
    given = data(call.kind, name)
    theirs, ours = (_answer(code, peer, given) for code, peer in ((call.theirs, call.peer), (call.ours, "calibrant")))
    found: Row = {"set": name}
    for side, answer in (("theirs", theirs), ("ours", ours)):
        if isinstance(answer, str):
            found[side] = answer
        elif answer.ndim == 0:
            found[side] = float(answer)
    if isinstance(theirs, str) or isinstance(ours, str):
        return found
    theirs, ours = _alike(theirs, ours)
    if theirs.shape != ours.shape:
        return {**found, "shapes": [list(theirs.shape), list(ours.shape)]}
    with np.errstate(invalid="ignore"):
        return {**found, "difference": float(np.where(theirs == ours, 0.0, np.abs(theirs - ours)).max())}


def _answer(code: str, peer: str, given: dict[str, Any]) -> Array | str:
    """The result of a call as an array of doubles, or the first line of its error."""
    names = dict(given)
    np.random.seed(0)  # noqa: NPY002  some packages draw from the global generator
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        try:
            exec(SETUP[peer], names)
            if peer == "calibrant" and "torch" in code:
                exec(SETUP["torchmetrics"], names)
            return np.asarray(eval(code, names), dtype=np.float64)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90] if str(error).strip() else ''}"


def _alike(theirs: Array, ours: Array) -> tuple[Array, Array]:
    """The second column if the other side returns the positive class only."""
    if theirs.ndim == 1 and ours.ndim == 2 and ours.shape[1] == 2:
        ours = ours[:, 1]
    if theirs.ndim == 2 and ours.ndim == 1:
        theirs = theirs[:, 1]
    return theirs, ours


def rows(calls: list[Call] = CALLS) -> Iterator[Row]:
    """Every comparison whose package is installed."""
    for call in calls:
        if importlib.util.find_spec(MODULES[call.peer]) is None:
            continue
        found = [run(call, name) for name in SETS[call.kind]]
        yield {"peer": call.peer, "kind": call.kind, "theirs": call.theirs, "ours": call.ours, "found": found}


def cell(found: list[Row]) -> str:
    """*Same*, or the data sets on which the values differ, with the differences."""
    near = [one["difference"] for one in found if one.get("difference", math.inf) <= NEAR]
    apart = {one["set"]: _difference(one) for one in found if not one.get("difference", math.inf) <= NEAR}
    first = "" if not near else "same" if max(near) <= SAME else f"at most {_number(max(near))}"
    if apart and not first and len(set(apart.values())) == 1:
        return next(iter(apart.values()))
    listed = ", ".join(f"{name}: {words}" for name, words in apart.items())
    return "; ".join(filter(None, (first, listed)))


def _difference(one: Row) -> str:
    for side, where in (("theirs", "in the other package"), ("ours", "in calibrant")):
        if isinstance(one.get(side), str):
            return f"error {where}"
    if "shapes" in one:
        return "different bins"
    if math.isnan(one["difference"]):
        return "NaN in the other package"
    return "infinite in calibrant" if math.isinf(one["difference"]) else _number(one["difference"])


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1g}"


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The table of each package and kind of data, by the name of its marker."""
    notes = {(call.peer, call.kind, call.theirs, call.ours): call.note for call in CALLS}
    made: dict[str, list[str]] = {}
    for row in stored["rows"]:
        lines = made.setdefault(f"{row['peer']}, {row['kind']}", [])
        note = notes[row["peer"], row["kind"], row["theirs"], row["ours"]]
        lines.append(f"| `{row['theirs']}` | `{row['ours']}` | {cell(row['found'])} | {note} |")
    head = (
        "| other package | calibrant | largest difference | reason, and how to remove it |\n| --- | --- | --- | --- |\n"
    )
    versions = ", ".join(f"{name} {number}" for name, number in stored["versions"].items())
    return {
        "helpers": f"```python\n{HELPERS}```",
        "versions": f"Run with {versions}.",
        **{name: head + "\n".join(lines) for name, lines in made.items()},
    }


def written(page: str, stored: dict[str, Any]) -> str:
    """The page with its tables; the text between the markers is replaced."""
    for name, table in tables(stored).items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        page, count = pattern.subn(lambda _, text=f"{begin}{table}\n{end}": text, page)
        if count != 1:
            raise SystemExit(f"docs/migration.md has {count} places for the table {name!r}; it needs one")
    return page


def main(arguments: list[str] | None = None) -> int:
    """Compare, print, store and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--page", action="store_true", help="write the tables from the stored values only")
    if parser.parse_args(arguments).page:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), json.loads(STORED.read_text())), encoding="utf-8")
        return 0
    found = []
    for row in rows():
        found.append(row)
        print(f"{row['peer']:24} {row['kind']:14} {row['theirs']:70} {row['ours']:70} {cell(row['found'])}", flush=True)
    missing = [name for name, module in MODULES.items() if importlib.util.find_spec(module) is None]
    if missing:
        print(f"not installed, and nothing is stored: {', '.join(missing)}")
        return 1
    versions = {name: metadata.version(name) for name in MODULES}
    STORED.write_text(json.dumps({"versions": versions, "rows": found}, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), json.loads(STORED.read_text())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
