"""Tables of the page and the README that compare packages, not calls: their environments and their features."""

from __future__ import annotations

from typing import Any

BEGIN, END = "<!-- peers: written by benchmarks/page.py -->", "<!-- end of peers -->"
SELF, PLAIN = "calibrant", "calibrant without numba"
# Tasks of the README and the cases that measure them.
SHORT_TIMES = (
    ("top-label ECE, 1 000 000 x 10", ("top_label_10", "tu_top_label")),
    ("top-label ECE, 100 000 x 1000", ("top_label_1000",)),
    ("binary ECE, 10 000 000", ("binary", "calibre_binary")),
    ("class-wise ECE, 100 000 x 100", ("class_wise", "tu_class_wise")),
    ("debiased error, 1 000 000", ("debiased", "calibre_debiased")),
    ("monotonic sweep, 1 000 000", ("sweep", "calibre_sweep")),
    ("smooth ECE, 100 000", ("smece_100000", "calibre_smece")),
    ("Hosmer-Lemeshow, 100 000", ("hosmer_lemeshow",)),
    ("p-value of Kuiper's statistic, 100 000", ("kuiper_pvalue",)),
    ("worst of 20 groups, 100 000", ("multicalibration",)),
    ("isotonic regression, 200 000", ("map_isotonic", "map_isotonic_312")),
    ("Platt scaling, 200 000", ("map_platt",)),
    ("beta calibration, 200 000", ("map_beta",)),
    ("Venn-Abers, 200 000", ("map_venn_abers",)),
    ("temperature, 20 000 x 10", ("map_temperature", "map_temperature_tu", "map_temperature_312")),
    ("Dirichlet, 10 000 x 5", ("map_dirichlet", "map_dirichlet_tu")),
)
# Features of the README, by their titles in features.toml, with their headings.
SHORT_FEATURES = {
    "measures of calibration and proper scores": "metrics",
    "calibrators (post-hoc recalibration)": "calibrators",
    "tests with p-values": "p-values",
    "confidence intervals of an error": "intervals of an error",
    "sample weights in errors and scores": "weights in metrics",
    "errors by group": "errors by group",
    "mergeable state of fixed size": "mergeable state of fixed size",
    "files larger than memory": "files larger than memory",
    "monitoring over time": "monitoring",
    "losses for training": "training losses",
    "command line": "command line",
}


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


def times_and_features(results: dict[str, Any], features: dict[str, Any]) -> str:
    """The two short tables, between the comments that mark them."""
    computer = results["machine"]
    lines = [
        BEGIN,
        "The column *calibrant* is its run time, including input validation; all other figures are multiples of it, so a value below 1 is faster. "
        "The packages run in the same process, after a check that their values agree, or why they differ "
        f"({computer['cores']} cores of a {computer['cpu']}, {results['date']}; [all figures](docs/benchmarks.md), "
        "`make bench` reproduces them):",
        "",
        "| task | calibrant | without numba | fastest other | others |",
        "| --- | ---: | ---: | --- | --- |",
        *_short_times({case["id"]: case for case in results["cases"]}),
        "",
        "Features, as checked by `python benchmarks/run.py --only features`; [benchmarks](docs/benchmarks.md) lists the evidence for each entry:",
        "",
        *_short_features(features),
        END,
    ]
    return "\n".join(lines) + "\n"


def _short_times(cases: dict[str, Any]) -> list[str]:
    lines = []
    for title, ids in SHORT_TIMES:
        known = [cases[id] for id in ids if id in cases]
        if not known:
            continue
        plain, others = "", {}
        for case in known:
            ms = {entry["name"]: entry["median_ms"] for entry in case["contenders"]}
            own = ms.get(SELF, ms[PLAIN])
            plain = plain or _times(ms[PLAIN] / own)
            others |= {_short(name): took / own for name, took in ms.items() if name not in (SELF, PLAIN)}
        first = {entry["name"]: entry["median_ms"] for entry in known[0]["contenders"]}
        ranked = [f"{name} {_times(ratio)}" for name, ratio in sorted(others.items(), key=lambda item: item[1])]
        own_ms = first.get(SELF, first[PLAIN])
        lines.append(
            f"| {title} | {own_ms:.3g} ms | {plain} | {ranked[0] if ranked else ''} | {', '.join(ranked[1:])} |"
        )
    return lines


def _short(name: str) -> str:
    """The name without parentheses or additions after a comma."""
    return name.split(" (")[0].split(",")[0]


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}"


def _short_features(features: dict[str, Any]) -> list[str]:
    if not features:
        return []
    rows = {row["title"]: row["cells"] for row in features["features"]}
    titles = [title for title in SHORT_FEATURES if title in rows]
    lines = [
        "| | " + " | ".join(SHORT_FEATURES[title] for title in titles) + " |",
        "| --- |" + " :---: |" * len(titles),
    ]
    for name in next(iter(rows.values())):
        cells = [_mark(rows[title][name]) for title in titles]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""]
