"""The page of the simulations: size, power and coverage with their verdicts, from the rows of simulations.json."""

import math
from collections import Counter
from functools import cache
from typing import Any

from experiments import simulations_plan as plan
from experiments.rendering import csv_table, markdown_table, render
from experiments.simulations_hard import HARD_INTERVALS, HARD_ROWS, HARD_SCORES

Row = dict[str, Any]

# Largest accepted rates of asymptotic tests, plus two standard errors, once the rows have this much information.
ALLOWED = {0.01: 0.02, 0.05: 0.06, 0.1: 0.115}
ENOUGH = 30
# With fewer runs no positive verdict is given.
LEAST_RUNS = 100


@cache
def band(runs: int, alpha: float) -> tuple[float, float]:
    """The range of 99.9% of the rejection rates of a test that holds its level."""
    from scipy.stats import binom

    low, high = binom.ppf([0.0005, 0.9995], runs, alpha)
    return float(low) / runs, float(high) / runs


@cache
def information(distribution: str, classes: int) -> float:
    """Mean variance of one outcome: of class 1 for two classes, of the top class for more."""
    import numpy as np

    first, *rest = plan.parameters(distribution, classes)
    if classes == 2:
        whole = first + rest[0]
        return first * rest[0] / (whole * (whole + 1))
    top = np.random.default_rng(0).dirichlet((first, *rest), 100_000).max(axis=1)
    return float((top * (1 - top)).mean())


def verdict(row: Row, test: plan.Test) -> str:
    """The verdict on the rejection rates."""
    rates = [count / row["runs"] for count in row["rejected"]]
    bands = [band(row["runs"], alpha) for alpha in plan.ALPHAS]
    if all(low <= rate <= high for rate, (low, high) in zip(rates, bands, strict=True)):
        return "nominal" if row["runs"] >= LEAST_RUNS else "few runs"
    below = all(rate <= high for rate, (_, high) in zip(rates, bands, strict=True))
    if test.validity == "auto":
        return "conservative, ties" if below and row["simulated"] == row["runs"] - row["undefined"] else "**outside**"
    if test.documented:
        return "documented"
    if test.validity == "bound" and below:
        return "conservative bound"
    if test.validity == "asymptotic":
        if below:
            return "asymptotic, conservative"
        if row["n"] * information(row["distribution"], row["classes"]) < ENOUGH:
            return "asymptotic, few rows"
        if all(rate <= _allowed(alpha, row["runs"]) for alpha, rate in zip(plan.ALPHAS, rates, strict=True)):
            return "asymptotic, slightly liberal"
    return "**outside**"


def _allowed(alpha: float, runs: int) -> float:
    most = ALLOWED[alpha]
    return most + 2 * math.sqrt(most * (1 - most) / runs)


def rate(count: int, runs: int) -> str:
    """A proportion with three decimals."""
    return f"{count / runs:.3f}"


def method_of(name: str) -> str:
    """The call behind a row."""
    test = plan.TESTS[name]
    options = ", ".join(f"{name_}={value!r}" for name_, value in test.options.items())
    if test.metric == name.split()[0] and test.metric.startswith(("giviti", "hosmer_lemeshow_m")):
        return f"`{test.metric}`"
    return f"`{test.metric}`, `{test.method}`" + (f", `{options}`" if options else "")


def shown(name: str) -> str:
    """The name of a test or distribution in the tables."""
    return "uniform" if name == "even" else name.replace(" drawn", " simulated")


def size_lines(rows: list[Row]) -> list[list[str]]:
    """The rejection rates of each test by number of classes, number of rows and scores."""
    lines = []
    tests, distributions = list(plan.TESTS), list(plan.DISTRIBUTIONS)
    for row in sorted(
        rows,
        key=lambda r: (r["classes"], r["n"], tests.index(r["test"]), distributions.index(r["distribution"])),
    ):
        rates = [rate(count, row["runs"]) for count in row["rejected"]]
        name, found = shown(row["test"]), verdict(row, plan.TESTS[row["test"]])
        counts = [str(row["runs"]), str(row["undefined"] or ""), str(row["draws"] or "")]
        lines.append([str(row["classes"]), str(row["n"]), name, shown(row["distribution"]), found, *counts, *rates])
    return lines


def hard_lines(rows: list[Row]) -> list[list[str]]:
    """The choice of `assess` in difficult settings, and its rejection rates."""
    lines = []
    order = [list(plan.TESTS), list(plan.SETTINGS)]
    for row in sorted(
        rows, key=lambda r: (r["classes"], order[1].index(r["distribution"]), order[0].index(r["test"]), r["n"])
    ):
        runs = str(row["runs"]) + (f" ({row['undefined']} undefined)" if row["undefined"] else "")
        found = verdict(row, plan.TESTS[row["test"]])
        shares = [f"{row['simulated'] / row['runs']:.0%}", *[rate(count, row["runs"]) for count in row["rejected"]]]
        name = row["test"].removesuffix(" auto")
        lines.append([name, str(row["classes"]), row["distribution"], found, str(row["n"]), runs, *shares])
    return lines


def verdict_counts(rows: list[Row]) -> dict[str, Any]:
    """The number of rows with each verdict, and a table of the rows outside."""
    verdicts = [verdict(row, plan.TESTS[row["test"]]) for row in rows]
    outside = [
        [shown(row["test"]), str(row["classes"]), shown(row["distribution"]), f"{row['n']}", str(row["runs"])]
        + [rate(count, row["runs"]) for count in row["rejected"]]
        for each, row in zip(verdicts, rows, strict=True)
        if each == "**outside**"
    ]
    headings = ["test", "classes", "scores", "rows", "runs", *[f"{alpha:g}" for alpha in plan.ALPHAS]]
    return {"counts": Counter(verdicts), "outside": markdown_table(headings, outside, 5) if outside else ""}


def power_table(rows: list[Row]) -> str:
    """Power at 0.05 for each alternative and number of rows."""
    columns = [(name, n) for name in plan.ALTERNATIVES for n in sorted({row["n"] for row in rows})]
    at = {(row["test"], row["scenario"], row["n"]): row for row in rows}
    lines = []
    for name in plan.TESTS:
        cells = [at.get((name, *column)) for column in columns]
        if any(cells):
            runs = sorted({cell["runs"] for cell in cells if cell})
            counted = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
            shares = ["" if cell is None else rate(cell["rejected"][1], cell["runs"]) for cell in cells]
            lines.append([shown(name), counted, *shares])
    return markdown_table(["test", "runs", *[f"{name}, {n}" for name, n in columns]], lines, len(columns) + 1)


def coverage_table(rows: list[Row]) -> str:
    """Coverage of intervals, and on which side the others lie."""
    lines = coverage_lines(rows)
    lines.sort(
        key=lambda line: (list(plan.COVERAGE).index(line[0].strip("`")), line[1], list(plan.TRUTHS).index(line[2]))
    )
    return markdown_table(["metric", "method", "scores", *COVERAGE_HEADINGS], lines, 6)


def few_cell(rows: list[Row]) -> str:
    """The rejection rate at 0.05 among the runs in which the metric is defined, marked where it is outside its band."""
    runs, simulated, rejected = (
        sum(row["runs"] - row["undefined"] for row in rows),
        sum(row["simulated"] for row in rows),
        sum(row["rejected"][1] for row in rows),
    )
    if not runs:
        return ""
    low, high = band(runs, 0.05)
    kind = "**" if rejected > high * runs else "*" if simulated < runs else ""
    mark = " ↓" if rejected < low * runs else ""
    return f"{kind}{rate(rejected, runs)}{kind}{mark} ({runs})"


def few_tables(rows: list[Row]) -> tuple[str, str]:
    """The size of the tests of metrics that have one of their own, and of all others."""
    columns = [(n, part) for n in sorted({row["n"] for row in rows}) for part in (plan.TIED, plan.RARE)]
    lines = [
        [
            metric,
            *[
                few_cell([r for r in rows if (r["test"], r["n"]) == (metric, n) and r["distribution"] in part])
                for n, part in columns
            ],
        ]
        for metric in (*plan.OWN, *plan.OWN_SLOWLY)
    ]
    headings = [
        "metric",
        *[f"{'grades, points' if part == plan.TIED else 'rare events'}, {n:,} rows" for n, part in columns],
    ]
    others = sorted({row["test"] for row in rows} - {*plan.OWN, *plan.OWN_SLOWLY})
    cells = [f"`{name}` {few_cell([row for row in rows if row['test'] == name])}" for name in others]
    return markdown_table(headings, lines, len(columns)), "; ".join(cells) + "."


def hard_coverage_lines(rows: list[Row]) -> list[list[str]]:
    """The same for difficult score distributions."""
    lines = [
        [*line[:2], distribution, *line[2:]]
        for distribution in HARD_SCORES
        for line in coverage_lines([row for row in rows if row["distribution"] == distribution])
    ]
    metrics, distributions = list(HARD_INTERVALS), list(HARD_SCORES)
    lines.sort(key=lambda line: (metrics.index(line[0].strip("`")), line[1], distributions.index(line[2]), line[3]))
    return lines


COVERAGE_HEADINGS = ("verdict", "true value", "runs", "coverage", "above", "below", "width")


def coverage_lines(rows: list[Row]) -> list[list[str]]:
    """Cells of one line for each row."""
    lines = []
    for row in rows:
        runs = row["runs"] - row["undefined"]
        share = 1 - (row["above"] + row["below"]) / runs
        low, high = band(runs, 0.95)
        found = "nominal" if low <= share <= high else "conservative" if share > high else "**undercovers**"
        found = "few runs" if found == "nominal" and runs < LEAST_RUNS else found
        shares = [f"{share:.3f}", rate(row["above"], runs), rate(row["below"], runs)]
        cells = [f"`{row['metric']}`", row["method"], row["scenario"], found]
        width = "infinite" if math.isinf(row["width"]) else f"{row['width']:.4f}"
        lines.append([*cells, f"{row['truth']:.5f}", str(runs), *shares, width])
    return lines


def rows_by_kind(results: dict[str, Any]) -> tuple[dict[str, list[Row]], list[Row]]:
    """The rows of each kind, and those of the size in difficult settings."""
    kinds = ("size", "few", "power", "coverage", "hard")
    rows = {kind: [row for row in results["rows"] if row["kind"] == kind] for kind in kinds}
    hard = [row for row in rows["size"] if row["distribution"] in plan.SETTINGS]
    rows["size"] = [row for row in rows["size"] if row["distribution"] not in plan.SETTINGS]
    return rows, hard


def long_tables(results: dict[str, Any]) -> dict[str, str]:
    """The tables that are files beside the page, by name."""
    rows, hard = rows_by_kind(results)
    rates = [f"rate at {alpha:g}" for alpha in plan.ALPHAS]
    headings = ["classes", "rows", "test", "scores", "verdict", "runs", "undefined", "resamples", *rates]
    hard_headings = ["test", "classes", "setting", "verdict", "rows", "runs", "simulated", *rates]
    coverage_headings = ["metric", "method", "scores", "truth", *COVERAGE_HEADINGS]
    return {
        "size.csv": csv_table(headings, size_lines(rows["size"])),
        "size-difficult.csv": csv_table(hard_headings, hard_lines(hard)),
        "coverage-difficult.csv": csv_table(coverage_headings, hard_coverage_lines(rows["hard"])),
    }


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    rows, hard = rows_by_kind(results)
    tested = [name for name in plan.TESTS if any(row["test"] == name for row in rows["size"])]
    below = [line for line in hard_coverage_lines(rows["hard"]) if line[4] == "**undercovers**"]
    own, others = few_tables(rows["few"]) if rows["few"] else ("", "")
    values = {
        "complete": results["complete"],
        "minutes": results["minutes"],
        "note": results.get("note", ""),
        "limits": {alpha: band(5000, alpha) for alpha in plan.ALPHAS},
        "size": verdict_counts(rows["size"]),
        "tests": {(shown(name), method_of(name)): plan.TESTS[name] for name in tested},
        "hard": verdict_counts(hard) if hard else None,
        "validity": plan.PLAN["validity"],
        "meanings": plan.PLAN["verdicts"],
        "settings": plan.PLAN["settings"],
        "few_settings": plan.FEW,
        "few_draws": plan.FEW_DRAWS,
        "few_own": own,
        "few_others": others,
        "power": power_table(rows["power"]),
        "coverage": coverage_table(rows["coverage"]),
        "hard_rows": HARD_ROWS,
        "hard_scores": HARD_SCORES,
        "hard_coverage": markdown_table(["metric", "method", "scores", "truth", *COVERAGE_HEADINGS], below, 7),
    }
    return render("simulations", values)
