"""The results as a table in the terminal and as the page docs/benchmarks.md; ``page.py`` writes the page from results.json."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

from tables import BEGIN, END, environment_lines, feature_lines, rows_of, times_and_features

GROWTH, FEATURES = "growth", "features"
ON_LATTICE = "it takes rows together in cells of log-odds and stops its search at 1e-4, at a value 1 to 2 % higher"
COMPILED = "its loop over the fits is compiled (statsmodels); from 100 000 rows on, taking rows together outweighs that"
AROUND = (
    "about half of calibrant's work lies around the steps of the fit: a sort, orthogonal columns, checks, and the covariance of the "
    "coefficients"
)
LEVEL = "by less than runs differ"
ONE_COLUMN = "calibrant reads whole rows, here both columns, as it does for any number of classes"
PYCALEVA = "pycaleva, its object made beforehand"
# Why another package is faster, by the task and its name.
WHY_FASTER = {
    ("smece", "probcal"): ON_LATTICE,
    ("ici", "probcal"): LEVEL,
    ("lowess", "calzone"): COMPILED,
    ("cox", "probcal"): AROUND,
    ("cox", "calzone"): AROUND,
    **dict.fromkeys((("spiegelhalter", name) for name in ("probcal", "calzone", "MAPIE", PYCALEVA)), ONE_COLUMN),
}
HEADINGS = ["", "value", "reads", "at best", "median", "memory", "value beside calibrant's"]


def _heading(case: dict[str, Any]) -> str:
    shape = rows_of(case["rows"]) + ("" if case["classes"] == 1 else f" x {case['classes']}")
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
                name = entry["name"]
                why = WHY_FASTER.get((case["id"], name), WHY_FASTER.get((case["id"].split("_")[0], name), ""))
                lines.append(
                    f"- {_heading(case)}: {entry['name']} is faster than {' and '.join(behind)}{why and f': {why}'}."
                )
    return lines or ["- None of those above."]


def growth_lines(found: dict[str, Any]) -> list[str]:
    """Sections on how cost grows, on pairs of rows, on resampling and on all metrics together."""
    return [
        *_scaling_lines(found["scaling"]),
        *_pair_lines(found["pairs"]),
        *_resampling_lines(found["resampling"]),
        *_all_lines(found["all_metrics"]),
    ]


def _scaling_lines(entries: list[dict[str, Any]]) -> list[str]:
    sizes = sorted({entry["rows"] for entry in entries})
    lines = [
        f"## Growth with the rows, {', '.join(map(rows_of, sizes))} float32",
        "",
        "Medians of binary scores, all sizes in turns. *Growth* is the work (seconds of all cores together, the "
        "least of several calls) over that at the size before, as a share of what N log N grew: at most 1 where it grows no faster. "
        "An *argsort* is NumPy's stable one of the same scores in the same run, in work too; "
        "*memory* is the peak above the input at the most rows, and in brackets as a multiple of scores and labels.",
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
    """By how much work grew, as a share of what N log N grew."""
    work = [entry["rows"] * math.log2(entry["rows"]) for entry in (fewer, more)]
    return float(more["work_ms"] / fewer["work_ms"] / (work[1] / work[0]))


def _memory(entry: dict[str, Any]) -> str:
    if entry["peak_mb"] is None:
        return ""
    return f"{entry['peak_mb']:.0f} MB ({entry['peak_mb'] / entry['input_mb']:.1f})"


def _pair_lines(entries: list[dict[str, Any]]) -> list[str]:
    first = entries[0]
    return [
        f"## Errors over pairs of rows, {rows_of(first['rows'])} x {first['classes']} float32",
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
        "The bootstrap interval at 95 %; ends differ by chance, for each draws its own rows. calibrant draws counts in 300 cells "
        "of equal width, which are parts of the 15 bins, so that its cost hardly depends on the rows "
        "(`interval(..., exact=True)` draws single rows).",
        "",
        "| | rows | low | high | seconds | of calibrant's without numba |",
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
        f"## All metrics together, {rows_of(found['rows'])} x {found['classes']} float32",
        "",
        f'`evaluate(metrics="all")` gives {found["values"]} values in {found["seconds"]:.1f} s '
        f"({found['work_seconds']:.1f} s of all cores together). "
        f"Its default budget of 60 s leaves out {', '.join(found['left_out']) or 'nothing'}"
        f"{_and_unfinished(found['unfinished'])}; "
        f"{', '.join(found['without_input'])} need groups or features, which were not given. "
        f"All runs: {', '.join(f'{values} values in {seconds:.1f} s' for values, seconds in found['runs'])}.",
        "",
    ]


def _and_unfinished(names: list[str]) -> str:
    return f" beforehand and, once it was spent, {len(names)} more, from {names[0]} on" if names else " beforehand"


def _busy_lines(results: dict[str, Any]) -> list[str]:
    """What was measured while other work ran on all cores."""
    cores = results["machine"]["cores"]
    named = [(case["title"], case.get("load", 0)) for case in results["cases"]]
    named += [("growth, resampling and all metrics together", results.get(GROWTH, {}).get("load", 0))]
    busy = [(name, load) for name, load in named if load > cores + 1]
    if not busy:
        return []
    return [
        f"Other work ran on the machine (a load of {min(load for _, load in busy):.1f} to {max(load for _, load in busy):.1f} on "
        f"{cores} cores) while these were measured: {'; '.join(dict.fromkeys(name for name, _ in busy))}. That slows calls that use several "
        "cores, as many of calibrant's do, more than those that use one.",
        "",
    ]


def readme_table(results: dict[str, Any], features: dict[str, Any]) -> str:
    """For the README, between comments that mark where it stands: times over calibrant's, and features in short."""
    return times_and_features(results, features)


def write_page(results: dict[str, Any], features: dict[str, Any], path: Path) -> None:
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
        *_busy_lines(results),
        "A case beside a package that lives in an environment of its own times calibrant there too, in the same process and in "
        "turns: its ratios hold, while those of two cases with different kinds of numbers (float32, float64) are not to be mixed. "
        "A map is fitted to the first half of the rows and applied to the second; its value is the root mean square of the "
        "predictions, and what is compared is every prediction. Not set beside: ece-kde, which pip did not find.",
        "",
        *environment_lines(results),
        *feature_lines(features),
    ]
    for case in results["cases"]:
        lines += _as_markdown(as_table(case))
    if GROWTH in results:
        lines += growth_lines(results[GROWTH])
    if "import_seconds" in results:
        lines += ["## Import", "", "Best of several starts, the interpreter's own start taken off.", ""]
        lines += ["| | seconds | of NumPy's |", "| --- | ---: | ---: |"]
        numpy = results["import_seconds"]["numpy"]
        for name, seconds in results["import_seconds"].items():
            lines.append(f"| {name} | {seconds:.3f} | {seconds / numpy:.2f} |")
        lines.append("")
    lines += ["## Where another package is faster", "", *_faster_than_calibrant(results), ""]
    path.write_text("\n".join(lines))


def write_readme(results: dict[str, Any], features: dict[str, Any], path: Path) -> None:
    """Put the short tables where they stood."""
    before, _, rest = path.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(before + readme_table(results, features).strip() + after)


if __name__ == "__main__":
    here = Path(__file__).parent
    known = [json.loads((here / name).read_text()) for name in ("results.json", "features.json")]
    write_page(known[0], known[1], here.parent / "docs" / "benchmarks.md")
    write_readme(known[0], known[1], here.parent / "README.md")
