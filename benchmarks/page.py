"""The results as a table in the terminal and as the page docs/benchmarks.md; ``page.py`` writes the page from results.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEADINGS = ["", "value", "reads", "at best", "median", "memory", "value beside calibrant's"]


def _heading(case: dict[str, Any]) -> str:
    shape = f"{case['rows']:,}".replace(",", " ") + ("" if case["classes"] == 1 else f" x {case['classes']}")
    return f"{case['title']}, {shape} {case['dtype']}"


def as_table(case: dict[str, Any]) -> tuple[str, list[list[str]]]:
    """A heading, and a row for each contender, the fastest first; the first row is the read."""
    entries = sorted(case["contenders"], key=lambda entry: entry["median_ms"])
    rows = [
        [
            entry["name"],
            "" if entry["value"] is None else f"{entry['value']:.6f}",
            _ratio(entry["reads"]),
            _ratio(entry["best_reads"]),
            _duration(entry["median_ms"]),
            "" if entry["peak_mb"] is None else f"{entry['peak_mb']:.0f} MB",
            entry["verdict"] or "differs, and nobody knows why",
        ]
        for entry in entries
    ]
    return _heading(case), [["a read (np.max)", "", "1", "1", _duration(case["read_ms"]), "", ""], *rows]


def _ratio(reads: float) -> str:
    return f"{reads:.1f}" if reads < 100 else f"{reads:.0f}"


def _duration(ms: float) -> str:
    if ms < 1:
        return f"{ms * 1e3:.0f} µs"
    return f"{ms:.1f} ms" if ms < 100 else f"{ms:.0f} ms"


def as_text(table: tuple[str, list[list[str]]]) -> str:
    """For the terminal."""
    title, rows = table
    lines = [HEADINGS, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEADINGS))]
    body = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([title, *body, ""])


def _as_markdown(table: tuple[str, list[list[str]]]) -> list[str]:
    title, rows = table
    return [
        f"## {title}",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def _faster_than_calibrant(results: dict[str, Any]) -> list[str]:
    lines = []
    for case in results["cases"]:
        own = {
            entry["name"]: entry["median_ms"] for entry in case["contenders"] if entry["name"].startswith("calibrant")
        }
        for entry in case["contenders"]:
            behind = [name for name, ms in own.items() if entry["median_ms"] < ms]
            if not entry["name"].startswith("calibrant") and behind:
                lines.append(f"- {_heading(case)}: {entry['name']} is faster than {' and '.join(behind)}.")
    return lines or ["- None of those above."]


def write_page(results: dict[str, Any], path: Path) -> None:
    """For the documentation."""
    computer, versions = results["machine"], results["versions"]
    lines = [
        "# Benchmarks",
        "",
        f"Measured on {results['date']} on {computer['cores']} cores of a {computer['cpu']} ({computer['architecture']}, "
        f"{computer['system']}), with " + ", ".join(f"{name} {number}" for name, number in versions.items()) + ".",
        "",
        "`make bench` runs it again and writes this page. Values are compared before times: a fast wrong answer is no answer. "
        "A *read* is `np.max` over the same array in the same run; seconds do not carry over to another machine, ratios "
        "mostly do. All calls take turns, and the median of each is shown, checks of the input included; *at best* is the fastest "
        "call over the fastest read, which other work on the machine disturbs less. *Memory* is the peak "
        "above the input, with everything imported and compiled beforehand.",
        "",
        "calibrant takes its compiled loops once a process has gone over some tens of millions of entries and numba is "
        "installed (`pip install calibrant[fast]`); the import of numba, about a second once, is not in the times. Both "
        "forms give the same bits.",
        "",
    ]
    for case in results["cases"]:
        lines += _as_markdown(as_table(case))
    if "import_seconds" in results:
        lines += ["## Import", "", "Best of several starts, the interpreter's own start taken off.", ""]
        lines += ["| | seconds | of NumPy's |", "| --- | ---: | ---: |"]
        numpy = results["import_seconds"]["numpy"]
        for name, seconds in results["import_seconds"].items():
            lines.append(f"| {name} | {seconds:.3f} | {seconds / numpy:.2f} |")
        lines.append("")
    lines += ["## Where another package is faster", "", *_faster_than_calibrant(results), ""]
    path.write_text("\n".join(lines))


if __name__ == "__main__":
    here = Path(__file__).parent
    write_page(json.loads((here / "results.json").read_text()), here.parent / "docs" / "benchmarks.md")
