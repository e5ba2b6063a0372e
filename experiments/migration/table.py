"""The tables of docs/migration.md, from the stored comparisons."""

import json
import math
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.migration.calls import CALLS, FIGURES, OUTSIDE, Call
from experiments.migration.compare import worst

Row = dict[str, Any]
STORED = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parent.parent.parent / "docs" / "migration.md"
EVERYTHING = PAGE.parent / "tables" / "migration.csv"
SAME = 1e-6
"""Values within this distance are reported as the same."""
NEAR = 1e-4
"""Differences up to this size are not listed individually."""


def load() -> dict[str, Any]:
    """Return the stored comparisons."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def store(found: dict[str, Any]) -> None:
    """Write the comparisons, one on each line."""
    rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in found["rows"].items())
    names = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in found["public"].items())
    text = f'{{\n "versions": {json.dumps(found["versions"])},\n "public": {{\n{names}\n }},\n "rows": {{\n{rows}\n }}\n}}\n'
    STORED.write_text(text, encoding="utf-8")


def difference(one: Row) -> float:
    """Return the difference on one data set; NaN if there is none."""
    return float(one.get("difference", math.nan))


def is_same(one: Row) -> bool:
    """Say whether the values on one data set are the same."""
    return difference(one) <= SAME


def agrees(found: list[Row]) -> bool:
    """Say whether the values are the same wherever the other package has one."""
    return all(is_same(one) or "their_error" in one or one.get("difference") == "nan" for one in found)


def cell(found: list[Row]) -> str:
    """Return the largest difference, and the data sets on which it is larger than elsewhere."""
    near = [difference(one) for one in found if difference(one) <= NEAR]
    apart: dict[str, Row] = {}
    for one in found:
        if not difference(one) <= NEAR:
            apart[one["set"]] = worst([one, apart[one["set"]]]) if one["set"] in apart else one
    said = {name: words(one) for name, one in apart.items()}
    first = number(max(near)) if near else ""
    if said and not first and len(set(said.values())) == 1:
        return next(iter(said.values()))
    numbers = {name: float(text) for name, text in said.items() if not re.search("[a-z]{3}", text)}
    texts: dict[str, list[str]] = {}
    for name, text in said.items():
        if name not in numbers:
            texts.setdefault(text, []).append(name)
    if len(numbers) > 2:
        largest = max(numbers, key=lambda name: numbers[name])
        parts = [f"up to {number(numbers[largest])} ({largest})"]
    else:
        listed = ", ".join(f"{name}: {said[name]}" for name in numbers)
        parts = [part for part in (first, listed) if part]
    return "; ".join([*parts, *(f"{', '.join(names)}: {text}" for text, names in texts.items())])


def words(one: Row) -> str:
    """Say how far apart two values are, or why there are not two."""
    for side, where in (("their_error", "in the other package"), ("our_error", "in calibrant")):
        if side in one:
            return f"error {where}"
    if "shapes" in one:
        return "different bins"
    value = difference(one)
    if math.isnan(value):
        return "NaN in the other package"
    return "infinite in calibrant" if math.isinf(value) else number(value)


def number(value: float) -> str:
    """Write a difference with one digit."""
    return "0" if value == 0 else f"{value:.0f}" if value >= 10 else f"{value:.1g}"


@dataclass
class Line:
    """A call of another package, the call of calibrant that comes first to mind, and the closest one."""

    peer: str
    theirs: str
    first: Call
    closest: Call
    found_first: list[Row]
    found: list[Row]


def lines(stored: dict[str, Any]) -> list[Line]:
    """Return one line for each call of another package; calls that are alike for several kinds of data are one line."""
    by_kind: dict[tuple[str, str, str], list[Call]] = {}
    for call in CALLS:
        by_kind.setdefault((call.peer, call.theirs, call.kind), []).append(call)
    made: dict[tuple[str, ...], Line] = {}
    for (peer, theirs, _), calls in by_kind.items():
        first, closest = calls[0], calls[-1]
        rows, closer = stored["rows"][first.key], stored["rows"][closest.key]
        key = (peer, theirs, first.ours, closest.ours)
        if key in made:
            made[key].found_first += rows
            made[key].found += closer
        else:
            made[key] = Line(peer, theirs, first, closest, list(rows), list(closer))
    return sorted(made.values(), key=lambda line: _PLACE[line.peer])


_PLACE = {peer: place for place, peer in enumerate(dict.fromkeys(call.peer for call in CALLS))}


def differences(peer: str, stored: dict[str, Any]) -> str:
    """Return the table of what differs, in the closest call or in the one that comes first to mind, and the remedy."""
    written = []
    for line in lines(stored):
        if line.peer != peer:
            continue
        if not agrees(line.found):
            call, found, remedy = line.closest, line.found, ""
        elif not agrees(line.found_first):
            call, found, remedy = line.first, line.found_first, f"`{line.closest.ours}`"
        else:
            continue
        shown = [one for one in found if "their_error" not in one and one.get("difference") != "nan"]
        note = "; ".join(filter(None, (call.note, remedy)))
        written.append(f"| `{line.theirs}` | `{call.ours}` | {cell(shown)} | {note} |")
    head = f"| {peer} | calibrant | difference | reason; what removes it |\n| --- | --- | --- | --- |\n"
    return head + "\n".join(written) if written else "No call differs."


def everything(stored: dict[str, Any]) -> str:
    """Return all functions of all packages as CSV, each with the closest call of calibrant."""
    made: dict[str, list[list[str]]] = {peer: [] for peer in _PLACE}
    for line in lines(stored):
        made[line.peer].append([line.peer, line.theirs, line.closest.ours, cell(line.found)])
    for one in FIGURES:
        made[one.peer].append([one.peer, one.theirs, one.ours, "no number"])
    from experiments.rendering import csv_table  # not in the environments of the packages

    return csv_table(
        ["package", "function", "calibrant", "largest difference"], [row for rows in made.values() for row in rows]
    )


def index(stored: dict[str, Any]) -> str:
    """Return the table of packages: how many calls agree, and where to read on."""
    written = []
    for peer in _PLACE:
        own = [line for line in lines(stored) if line.peer == peer]
        same = sum(agrees(line.found) and any(map(is_same, line.found)) for line in own)
        figures = sum(one.peer == peer for one in FIGURES)
        section = "r" if peer.startswith("R ") else peer.lower().replace(" ", "-")
        written.append(f"| {peer} | {len(own)} | {same} | {figures} | [what differs](#{section}) |")
    head = "| package | calls compared | the same to 1e-6 | figures and reports | differences |\n| --- | --- | --- | --- | --- |\n"
    return head + "\n".join(written)


def outside() -> str:
    """Return the table of functions that calibrant does not have."""
    lines = [
        f"| {peer} | {', '.join(f'`{name}`' for name in names)} | {reason} |"
        for peer, reasons in OUTSIDE.items()
        for reason, names in reasons.items()
    ]
    return "| package | functions | reason |\n| --- | --- | --- |\n" + "\n".join(lines)


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """Return the text of each marker of the page."""
    versions = ", ".join(f"{name} {version}" for name, version in stored["versions"].items())
    peers = dict.fromkeys(call.peer for call in CALLS)
    return {
        "index": index(stored),
        "versions": textwrap.fill(f"Run with {versions}.", 120, break_on_hyphens=False),
        **{f"{peer}: differences": differences(peer, stored) for peer in peers},
        "outside": outside(),
    }


def written(page: str, stored: dict[str, Any]) -> str:
    """Return the page with its tables; the text between the markers is replaced."""
    for name, table in tables(stored).items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        page, count = pattern.subn(lambda _, text=f"{begin}{table}\n{end}": text, page)
        if count != 1:
            raise SystemExit(f"docs/migration.md has {count} places for {name!r}; it needs one")
    return page
