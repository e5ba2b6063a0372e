"""The tables of docs/migration.md, from the stored comparisons."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from experiments.migration.calls import CALLS, FIGURES, Call
from experiments.migration.outside import OUTSIDE

Row = dict[str, Any]
STORED = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parent.parent.parent / "docs" / "migration.md"
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
    apart = {one["set"]: words(one) for one in found if not difference(one) <= NEAR}
    first = number(max(near)) if near else ""
    if apart and not first and len(set(apart.values())) == 1:
        return next(iter(apart.values()))
    if len(apart) > 3 and not any(re.search("[a-z]{3}", said) for said in apart.values()):
        largest = max(apart, key=lambda name: float(apart[name]))
        return f"up to {apart[largest]} ({largest})"
    return "; ".join(filter(None, (first, ", ".join(f"{name}: {said}" for name, said in apart.items()))))


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


def groups() -> dict[tuple[str, str, str], list[Call]]:
    """Return the calls that answer one call of another package; the last is the closest."""
    found: dict[tuple[str, str, str], list[Call]] = {}
    for call in CALLS:
        found.setdefault((call.peer, call.kind, call.theirs), []).append(call)
    return found


def differences(peer: str, stored: dict[str, Any]) -> str:
    """Return the table of what differs: calls whose values are not the same on all data sets, and their remedy."""
    lines = []
    for (name, _, theirs), calls in groups().items():
        if name != peer:
            continue
        for call in calls:
            found = stored["rows"][call.key]
            if agrees(found):
                continue
            closest = calls[-1]
            closes = closest is not call and agrees(stored["rows"][closest.key])
            remedy = f"`{closest.ours}`" if closes else ""
            note = "; ".join(filter(None, (call.note, remedy)))
            lines.append(f"| `{theirs}` | `{call.ours}` | {cell(found)} | {note} |")
    head = f"| {peer} | calibrant | difference | reason; what removes it |\n| --- | --- | --- | --- |\n"
    return head + "\n".join(lines) if lines else "No call differs."


def everything(stored: dict[str, Any]) -> str:
    """Return the table of all functions, each with the closest call of calibrant."""
    lines = []
    for (peer, _, theirs), calls in groups().items():
        lines.append((peer, f"| {peer} | `{theirs}` | `{calls[-1].ours}` | {cell(stored['rows'][calls[-1].key])} |"))
    lines += [(one.peer, f"| {one.peer} | `{one.theirs}` | `{one.ours}` | no number |") for one in FIGURES]
    order = list(dict.fromkeys(peer for peer, _ in lines))
    lines.sort(key=lambda line: order.index(line[0]))
    head = "| package | function | calibrant | largest difference |\n| --- | --- | --- | --- |\n"
    return head + "\n".join(line for _, line in lines)


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
        "versions": f"Run with {versions}.",
        **{f"{peer}: differences": differences(peer, stored) for peer in peers},
        "everything": everything(stored),
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
