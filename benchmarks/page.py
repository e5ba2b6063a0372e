"""Benchmark results as a table in the terminal and as the page docs/benchmarks.md; ``page.py`` writes the page from results.json."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

from tables import BEGIN, END, TIMES_HEAD, environment_lines, feature_lines, readme_table, rows_of, times_line, wrapped

GROWTH, FEATURES = "growth", "features"
ON_LATTICE = "it aggregates rows in cells of log-odds and stops its search at 1e-4, at a value 1 to 2% higher"
COMPILED = "its loop over the fits is compiled (statsmodels); from 100 000 rows on, the aggregation of rows in calibrant is faster"
AROUND = (
    "about half of the time of calibrant is spent outside the iterations of the fit: a sort, orthogonalization, checks, and the covariance of "
    "the coefficients"
)
LEVEL = "the difference is within the variation between runs"
UNCHECKED = "its object was checked as it was made, while calibrant checks labels and scores in each call"
PYCALEVA = "pycaleva, its object made beforehand"
# Why another package is faster, by the task and its name.
WHY_FASTER = {
    ("smece", "probcal"): ON_LATTICE,
    ("ici", "probcal"): LEVEL,
    ("lowess", "calzone"): COMPILED,
    ("cox", "probcal"): AROUND,
    ("cox", "calzone"): AROUND,
    ("spiegelhalter", PYCALEVA): UNCHECKED,
}
HEADINGS = ["", "value", "reads", "at best", "median", "memory", "compared with calibrant"]


def _heading(case: dict[str, Any]) -> str:
    shape = rows_of(case["rows"]) + ("" if case["classes"] == 1 else f" x {case['classes']}")
    return f"{case['title']}, {shape} {case['dtype']}"


def as_table(case: dict[str, Any]) -> tuple[str, list[list[str]]]:
    """A heading, and one row per contender, the fastest first; the first row is the plain read."""
    entries = sorted(case["contenders"], key=lambda entry: entry["median_ms"])
    rows = [
        [
            entry["name"],
            "" if entry["value"] is None else f"{entry['value']:.6f}",
            _ratio(entry["reads"]),
            _ratio(entry["best_reads"]),
            _duration(entry["median_ms"]),
            "" if entry["peak_mb"] is None else f"{entry['peak_mb']:.0f} MB",
            entry["verdict"] or "differs for unknown reasons",
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


def _faster_than_calibrant(results: dict[str, Any]) -> list[str]:
    lines = []
    for case in results["cases"]:
        own = {
            entry["name"]: entry["median_ms"] for entry in case["contenders"] if entry["name"].startswith("calibrant")
        }
        for entry in case["contenders"]:
            behind = [name for name, ms in own.items() if entry["median_ms"] < ms]
            if not entry["name"].startswith("calibrant") and behind:
                name = entry["name"]
                why = WHY_FASTER.get((case["id"], name), WHY_FASTER.get((case["id"].split("_")[0], name), ""))
                lines.append(
                    f"- {_heading(case)}: {entry['name']} is faster than {' and '.join(behind)}{why and f': {why}'}."
                )
    return lines or ["- None."]


def growth_lines(found: dict[str, Any]) -> list[str]:
    """Sections on the growth of cost, on pairs of rows, on resampling and on all metrics."""
    return [
        *_scaling_lines(found["scaling"]),
        *_pair_lines(found["pairs"]),
        *_resampling_lines(found["resampling"]),
        *_all_lines(found["all_metrics"]),
    ]


def _scaling_lines(entries: list[dict[str, Any]]) -> list[str]:
    sizes = sorted({entry["rows"] for entry in entries})
    lines = [
        f"## Growth with the number of rows, {', '.join(map(rows_of, sizes))} float32",
        "",
        "Median times for binary scores, all sizes in turn. *Growth* is the work (CPU seconds of all cores, the minimum of several "
        "calls) relative to the previous size, divided by the growth of N log N: at most 1 if it grows no faster. "
        "*Argsorts* is the work relative to a stable NumPy argsort of the same scores in the same run; "
        "*memory* is the peak above the input for the largest size, and in parentheses as a multiple of scores and labels.",
        "",
        "| | " + " | ".join(map(rows_of, sizes)) + " | growth | argsorts | memory |",
        "| --- |" + " ---: |" * (len(sizes) + 3),
    ]
    named: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in sorted(entries, key=lambda entry: entry["rows"]):
        named.setdefault((entry["metric"], entry["form"]), []).append(entry)
    for (metric, form), each in named.items():
        times = " | ".join(_duration(entry["ms"]) for entry in each)
        grown = ", ".join(f"{growth(a, b):.2f}" for a, b in pairwise(each))
        name = metric + form.removeprefix("calibrant")
        lines.append(f"| {name} | {times} | {grown} | {_ratio(each[-1]['argsorts'])} | {_memory(each[-1])} |")
    return [*lines, ""]


def growth(fewer: dict[str, Any], more: dict[str, Any]) -> float:
    """The growth of work divided by the growth of N log N."""
    work = [entry["rows"] * math.log2(entry["rows"]) for entry in (fewer, more)]
    return float(more["work_ms"] / fewer["work_ms"] / (work[1] / work[0]))


def _memory(entry: dict[str, Any]) -> str:
    if entry["peak_mb"] is None:
        return ""
    return f"{entry['peak_mb']:.0f} MB ({entry['peak_mb'] / entry['input_mb']:.1f})"


def _pair_lines(entries: list[dict[str, Any]]) -> list[str]:
    first = entries[0]
    return [
        f"## Kernel errors over pairs of rows, {rows_of(first['rows'])} x {first['classes']} float32",
        "",
        "| | median | argsorts of the columns | memory |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {entry['metric']} | {_duration(entry['ms'])} | {_ratio(entry['argsorts'])} | {_memory(entry)} |"
            for entry in entries
        ),
        "",
    ]


def _resampling_lines(entries: list[dict[str, Any]]) -> list[str]:
    return [
        f"## Interval of the binary ECE, 15 bins, {rows_of(entries[0]['resamples'])} resamples",
        "",
        "Bootstrap interval at 95%; the ends differ at random, since each package draws its own resamples. calibrant resamples counts in 300 "
        "cells of equal width, which subdivide the 15 bins, so that its cost hardly depends on the number of rows "
        "(`interval(..., exact=True)` resamples single rows).",
        "",
        "| | rows | low | high | seconds | relative to calibrant without numba |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {entry['name']} | {rows_of(entry['rows'])} | {entry['low']:.4f} | {entry['high']:.4f} | {entry['seconds']:.2f} "
            f"| {_ratio(entry['of_calibrant'])} |"
            for entry in entries
        ),
        "",
    ]


def _all_lines(found: dict[str, Any]) -> list[str]:
    return [
        f"## All metrics, {rows_of(found['rows'])} x {found['classes']} float32",
        "",
        f'`evaluate(metrics="all")` returns {found["values"]} values in {found["seconds"]:.1f} s '
        f"({found['work_seconds']:.1f} CPU seconds). "
        f"It left out {', '.join(found['left_out']) or 'nothing'}; "
        f"{', '.join(found['without_input'])} need groups or features, which are not given. "
        f"All runs: {', '.join(f'{values} values in {seconds:.1f} s' for values, seconds in found['runs'])}.",
        "",
    ]


def _busy_lines(results: dict[str, Any]) -> list[str]:
    """Cases that were measured while other processes ran on all cores."""
    cores = results["machine"]["cores"]
    named = [(case["title"], case.get("load", 0)) for case in results["cases"]]
    named += [("growth, resampling and all metrics together", results.get(GROWTH, {}).get("load", 0))]
    busy = [(name, load) for name, load in named if load > cores + 1]
    if not busy:
        return []
    return [
        f"Other processes ran on the machine (a load of {min(load for _, load in busy):.1f} to {max(load for _, load in busy):.1f} on "
        f"{cores} cores) while these cases were measured: {'; '.join(dict.fromkeys(name for name, _ in busy))}. This slows calls that use several "
        "cores, as many in calibrant do, more than calls that use one.",
        "",
    ]


def _earlier(results: dict[str, Any]) -> list[str]:
    """A sentence for each other day and processor on which some cases were measured."""
    titles: dict[tuple[str, str], dict[str, None]] = {}
    for case in results["cases"]:
        day = case.get("date", results["date"]), case.get("machine", results["machine"])["cpu"]
        titles.setdefault(day, {})[case["title"]] = None
    titles.pop((results["date"], results["machine"]["cpu"]), None)
    return [
        f" Measured on {date} on a {cpu}, with the version of calibrant of that day: {'; '.join(names)}."
        for (date, cpu), names in sorted(titles.items())
    ]


def write_page(results: dict[str, Any], features: dict[str, Any], path: Path) -> None:
    """Write the page of the documentation."""
    computer, versions = results["machine"], results["versions"]
    lines = [
        "# Benchmarks",
        "",
        "This page shows how fast calibrant is compared with a plain read of the data and with other packages, where it is slower, "
        "and which features each package has.",
        "",
        f"Measured on {results['date']} on {computer['cores']} cores of a {computer['cpu']} ({computer['architecture']}, "
        f"{computer['system']}), with "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + "."
        + "".join(_earlier(results)),
        "",
        "`make bench` repeats the measurements and writes this page. Values are compared before times. "
        "A *read* is `np.max` over the same array in the same run: ratios to it transfer to other machines better than seconds. "
        "Calls alternate, and the median of each is shown, including input validation. `benchmarks/results.json` has the values, the fastest "
        "calls, and the peaks of memory above the input.",
        "",
        "## Times",
        "",
        "Of each task the time of calibrant; the others are multiples of it.",
        "",
        *TIMES_HEAD,
        *(times_line(_heading(case), [case]) for case in results["cases"]),
        "",
        "## Where another package is faster",
        "",
        *_faster_than_calibrant(results),
        "",
        "## How it was measured",
        "",
        "If numba is installed (`pip install calibrant[fast]`), calibrant uses compiled loops once a process has processed some tens of "
        "millions of entries; the import of numba, about one second, is not included in the times. Results are identical with and without numba.",
        "",
        "Where rows must be ordered, the sort is the limit: of the p-value of the range of cumulative differences of 100 000 float64 scores, the sort of scores and outcomes in "
        "one array of integers takes about 45% of the processor time, cumulative sums and conditions of the test the rest, and the checks of labels and scores 2%. The Hosmer-Lemeshow "
        "statistic needs nine order statistics in place of a sort, which take half of its time. Spiegelhalter's z needs no order: its time is that of eight "
        "passes over the rows and of the checks.",
        "",
        *_busy_lines(results),
        "Packages that need an environment of their own are compared with calibrant in that environment, in the same process and "
        "alternating. Do not compare ratios between cases of different precision (float32, float64). "
        "Calibrators are fitted on the first half of the rows and applied to the second; the value shown is the root mean square of the "
        "predictions, while the comparison covers every prediction. Not included: ece-kde, which pip did not find.",
        "",
        "What is slow on a million rows is listed under [large data](scale.md#what-is-slow-on-a-million-rows).",
        "",
        *environment_lines(results),
        *feature_lines(features),
    ]
    if GROWTH in results:
        lines += growth_lines(results[GROWTH])
    if "import_seconds" in results:
        lines += ["## Import", "", "Best of several starts, minus the start of the interpreter.", ""]
        lines += ["| | seconds | relative to NumPy |", "| --- | ---: | ---: |"]
        numpy = results["import_seconds"]["numpy"]
        for name, seconds in results["import_seconds"].items():
            lines.append(f"| {name} | {seconds:.3f} | {seconds / numpy:.2f} |")
        lines.append("")
    path.write_text("\n".join(map(wrapped, lines)))


def write_readme(results: dict[str, Any], path: Path) -> None:
    """Replace the short table of the README."""
    before, _, rest = path.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(before + readme_table(results).strip() + after)


if __name__ == "__main__":
    here = Path(__file__).parent
    known = [json.loads((here / name).read_text()) for name in ("results.json", "features.json")]
    write_page(known[0], known[1], here.parent / "docs" / "benchmarks.md")
    write_readme(known[0], here.parent / "README.md")
