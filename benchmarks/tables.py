"""Tables of the page and the README that compare packages, not calls: their environments and their features."""

from __future__ import annotations

import textwrap
from typing import Any

# Letters of a line of a page.
WIDTH = 120
BEGIN, END = "<!-- peers: written by benchmarks/page.py -->", "<!-- end of peers -->"
SELF, PLAIN = "calibrant", "calibrant without numba"
# Tasks of the README and the cases that measure them.
SHORT_TIMES = (
    ("top-label ECE, 1 000 000 x 10", ("top_label_10", "tu_top_label")),
    ("binary ECE, 10 000 000", ("binary", "calibre_binary")),
    ("smooth ECE, 100 000", ("smece_100000", "calibre_smece")),
    ("p-value of Kuiper's statistic, 100 000", ("kuiper_pvalue",)),
    ("isotonic regression, 200 000", ("map_isotonic", "map_isotonic_312")),
    ("temperature, 20 000 x 10", ("map_temperature", "map_temperature_tu", "map_temperature_312")),
)


def rows_of(count: int) -> str:
    """A number of rows in the format of the page."""
    return f"{count:,}".replace(",", " ")


def environment_lines(results: dict[str, Any]) -> list[str]:
    """The environment of each package, and packages that could not be installed."""
    places = results.get("environments", {})
    if not places:
        return []
    lines = ["## Packages", "", "| package | version | environment | Python |", "| --- | --- | --- | --- |"]
    notes = []
    for place in places.values():
        found = place["versions"]
        for name in place["packages"]:
            here = found.get(name, f"not installable here: {place['absent'] or 'pip left it out'}")
            lines.append(f"| {name} | {here} | {place['folder']} | {found.get('python', '')} |")
        notes += [place["note"]] if place["note"] else []
    return [*lines, "", *(f"{note}\n" for note in notes)]


def feature_lines(features: dict[str, Any]) -> list[str]:
    """The complete table of features, with the evidence for each entry."""
    if not features:
        return []
    packages = list(features["features"][0]["cells"])
    lines = [
        "## Features",
        "",
        f"Checked on {features['date']} by `python benchmarks/run.py --only features`. For a *yes*, the name below the table is imported. "
        "For a *no*, no module, function, class or parameter of the package matches the search terms, or the match is something else, as "
        "stated. In scikit-learn and torchmetrics, the parts on calibration and classification are searched.",
        "",
        "| | " + " | ".join(packages) + " |",
        "| --- |" + " :---: |" * len(packages),
    ]
    for row in features["features"]:
        cells = [_mark(row["cells"][name]) for name in packages]
        lines += [f"| {row['title']} | " + " | ".join(cells) + " |"]
    return [*lines, "", *(line for row in features["features"] for line in _behind(row)), ""]


def _mark(cell: dict[str, Any] | None) -> str:
    if cell is None or cell["value"] is None:
        return "?"
    if isinstance(cell["value"], bool):
        return "yes" if cell["value"] else "no"
    return str(cell["value"] or "no")


def _behind(row: dict[str, Any]) -> list[str]:
    """One line: the names for each yes, the search terms, and matches that are something else."""
    if not row["words"]:
        return []
    by = [f"{name} `{cell['by']}`" for name, cell in row["cells"].items() if cell and cell.get("by")]
    but = [f"{name} ({cell['but']})" for name, cell in row["cells"].items() if cell and cell.get("but")]
    other = f" Matches of something else: {'; '.join(but)}." if but else ""
    words = row["words"].replace("|", " or ")
    return [f"- *{row['title']}*: {', '.join(by)}. Search terms: `{words}`.{other}"]


TIMES_HEAD = ["| task | calibrant | without numba | fastest other | others |", "| --- | ---: | ---: | --- | --- |"]


def wrapped(line: str) -> str:
    """A line of text, broken at 120 letters."""
    if len(line) <= WIDTH or line.startswith(("|", "#")):
        return line
    hanging = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def readme_table(results: dict[str, Any]) -> str:
    """The times of the README, between the comments that mark them."""
    computer = results["machine"]
    lines = [
        BEGIN,
        wrapped(
            "Run times of calibrant, with all checks of the input; other figures are multiples of it. The packages run in the same process, and their values are "
            f"compared first ({computer['cores']} cores of a {computer['cpu']}, {results['date']}; `make bench` repeats it):"
        ),
        "",
        *TIMES_HEAD,
        *_short_times({case["id"]: case for case in results["cases"]}),
        "",
        END,
    ]
    return "\n".join(lines) + "\n"


def _short_times(cases: dict[str, Any]) -> list[str]:
    chosen = [(title, [cases[id] for id in ids if id in cases]) for title, ids in SHORT_TIMES]
    return [times_line(title, known) for title, known in chosen if known]


def times_line(title: str, cases: list[dict[str, Any]]) -> str:
    """Time of calibrant on one task, and those of others as multiples of it; a task may have been measured in several environments."""
    plain, others = "", {}
    for case in cases:
        ms = {entry["name"]: entry["median_ms"] for entry in case["contenders"]}
        own = ms.get(SELF, ms[PLAIN])
        plain = plain or _times(ms[PLAIN] / own)
        others |= {_short(name): took / own for name, took in ms.items() if name not in (SELF, PLAIN)}
    first = {entry["name"]: entry["median_ms"] for entry in cases[0]["contenders"]}
    ranked = [f"{name} {_times(ratio)}" for name, ratio in sorted(others.items(), key=lambda item: item[1])]
    own_ms = first.get(SELF, first[PLAIN])
    return f"| {title} | {own_ms:.3g} ms | {plain} | {ranked[0] if ranked else ''} | {', '.join(ranked[1:])} |"


def _short(name: str) -> str:
    """The name without parentheses or additions after a comma."""
    return name.split(" (")[0].split(",")[0]


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}"
