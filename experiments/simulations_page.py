"""The page of the simulations: size, power and coverage with their verdicts, from the rows of simulations.json."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from experiments.simulations_hard import HARD_INTERVALS, HARD_ROWS, HARD_SCORES
from experiments.simulations_plan import (
    ALPHAS,
    ALTERNATIVES,
    COVERAGE,
    DISTRIBUTIONS,
    FEW,
    FEW_DRAWS,
    OWN,
    OWN_SLOWLY,
    RARE,
    SETTINGS,
    TESTS,
    TIED,
    TRUTHS,
    Test,
    parameters,
)

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

    first, *rest = parameters(distribution, classes)
    if classes == 2:
        whole = first + rest[0]
        return first * rest[0] / (whole * (whole + 1))
    top = np.random.default_rng(0).dirichlet((first, *rest), 100_000).max(axis=1)
    return float((top * (1 - top)).mean())


def verdict(row: Row, test: Test) -> str:
    """The verdict on the rejection rates."""
    rates = [count / row["runs"] for count in row["rejected"]]
    bands = [band(row["runs"], alpha) for alpha in ALPHAS]
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
        if all(rate <= _allowed(alpha, row["runs"]) for alpha, rate in zip(ALPHAS, rates, strict=True)):
            return "asymptotic, slightly liberal"
    return "**outside**"


def _allowed(alpha: float, runs: int) -> float:
    most = ALLOWED[alpha]
    return most + 2 * math.sqrt(most * (1 - most) / runs)


def table(headings: list[str], rows: list[list[str]], numbers: int) -> str:
    """A Markdown table whose last `numbers` columns are right-aligned."""
    line = [*["---"] * (len(headings) - numbers), *["---:"] * numbers]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [headings, line, *rows])


def rate(count: int, runs: int) -> str:
    """A proportion with three decimals."""
    return f"{count / runs:.3f}"


def method_of(name: str) -> str:
    """The call behind a row."""
    test = TESTS[name]
    options = ", ".join(f"{name_}={value!r}" for name_, value in test.options.items())
    if test.metric == name.split()[0] and test.metric.startswith(("giviti", "hosmer_lemeshow_m")):
        return f"`{test.metric}`"
    return f"`{test.metric}`, `{test.method}`" + (f", `{options}`" if options else "")


def shown(name: str) -> str:
    """The name of a test or distribution in the tables."""
    return "uniform" if name == "even" else name.replace(" drawn", " simulated")


def size_tables(rows: list[Row]) -> str:
    """One table for each number of classes and of rows."""
    parts = []
    for classes in sorted({row["classes"] for row in rows}):
        for n in sorted({row["n"] for row in rows if row["classes"] == classes}):
            here = [row for row in rows if row["classes"] == classes and row["n"] == n]
            parts += [f"### {classes} classes, {n} rows", _size_table(here)]
    return "\n\n".join(parts)


def _size_table(rows: list[Row]) -> str:
    lines = []
    for row in sorted(
        rows, key=lambda row: (list(TESTS).index(row["test"]), list(DISTRIBUTIONS).index(row["distribution"]))
    ):
        rates = [rate(count, row["runs"]) for count in row["rejected"]]
        runs = str(row["runs"]) + (f" ({row['undefined']} undefined)" if row["undefined"] else "")
        found = verdict(row, TESTS[row["test"]])
        lines.append([shown(row["test"]), shown(row["distribution"]), found, runs, str(row["draws"] or ""), *rates])
    headings = ["test", "scores", "verdict", "runs", "resamples", *[f"{alpha:g}" for alpha in ALPHAS]]
    return table(headings, lines, 5)


def hard_table(rows: list[Row]) -> str:
    """The choice of `assess` in difficult settings, and its rejection rates."""
    lines = []
    order = [list(TESTS), list(SETTINGS)]
    for row in sorted(
        rows, key=lambda r: (r["classes"], order[1].index(r["distribution"]), order[0].index(r["test"]), r["n"])
    ):
        runs = str(row["runs"]) + (f" ({row['undefined']} undefined)" if row["undefined"] else "")
        found = verdict(row, TESTS[row["test"]])
        shares = [f"{row['simulated'] / row['runs']:.0%}", *[rate(count, row["runs"]) for count in row["rejected"]]]
        name = row["test"].removesuffix(" auto")
        lines.append([name, str(row["classes"]), row["distribution"], found, str(row["n"]), runs, *shares])
    headings = ["test", "classes", "setting", "verdict", "rows", "runs", "simulated", *[f"{a:g}" for a in ALPHAS]]
    return table(headings, lines, 6)


def exceptions(rows: list[Row]) -> str:
    """The number of rows with each verdict, and the rows outside."""
    found = [(verdict(row, TESTS[row["test"]]), row) for row in rows]
    verdicts = ["nominal", *MEANING]
    counts = [[each, str(sum(v == each for v, _ in found)), MEANING.get(each, NOMINAL)] for each in verdicts]
    outside = [
        [shown(row["test"]), str(row["classes"]), shown(row["distribution"]), f"{row['n']}", str(row["runs"])]
        + [rate(count, row["runs"]) for count in row["rejected"]]
        for each, row in found
        if each == "**outside**"
    ]
    headings = ["test", "classes", "scores", "rows", "runs", *[f"{alpha:g}" for alpha in ALPHAS]]
    text = table(["verdict", "rows", "meaning"], counts, 0)
    return text + ("\n\nOutside:\n\n" + table(headings, outside, 5) if outside else "")


NOMINAL = "all three rates lie in the 99.9% band of a test that holds its level"
MEANING = {
    "few runs": f"nominal, but with fewer than {LEAST_RUNS} runs",
    "conservative bound": "rejects less often than its level, as a bound does",
    "asymptotic, conservative": "asymptotic null distribution; some rate is below its band, none above",
    "asymptotic, few rows": f'asymptotic null distribution, and the sum of the variances of the outcomes is below {ENOUGH}: simulate labels instead (`method="consistency"`)',
    "asymptotic, slightly liberal": "asymptotic null distribution; at most 0.02, 0.06 and 0.115 at 0.01, 0.05 and 0.1, plus two standard errors",
    "conservative, ties": "simulated labels, and few distinct values: ties count as extreme, so that the test is conservative",
    "documented": "a documented limitation: see the list of tests",
    "**outside**": "none of these",
}


def power_table(rows: list[Row]) -> str:
    """Power at 0.05 for each alternative and number of rows."""
    columns = [(name, n) for name in ALTERNATIVES for n in sorted({row["n"] for row in rows})]
    at = {(row["test"], row["scenario"], row["n"]): row for row in rows}
    lines = []
    for name in TESTS:
        cells = [at.get((name, *column)) for column in columns]
        if any(cells):
            runs = sorted({cell["runs"] for cell in cells if cell})
            counted = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
            shares = ["" if cell is None else rate(cell["rejected"][1], cell["runs"]) for cell in cells]
            lines.append([shown(name), counted, *shares])
    return table(["test", "runs", *[f"{name}, {n}" for name, n in columns]], lines, len(columns) + 1)


def coverage_table(rows: list[Row]) -> str:
    """Coverage of intervals, and on which side the others lie."""
    lines = coverage_lines(rows, "scenario")
    lines.sort(key=lambda line: (list(COVERAGE).index(line[0].strip("`")), line[1], list(TRUTHS).index(line[2])))
    return table(["metric", "method", "scores", *COVERAGE_HEADINGS], lines, 6)


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


def few_tables(rows: list[Row]) -> str:
    """The size of the tests of metrics that have one of their own, then of all others."""
    columns = [(n, part) for n in sorted({row["n"] for row in rows}) for part in (TIED, RARE)]
    lines = [
        [
            metric,
            *[
                few_cell([r for r in rows if (r["test"], r["n"]) == (metric, n) and r["distribution"] in part])
                for n, part in columns
            ],
        ]
        for metric in (*OWN, *OWN_SLOWLY)
    ]
    headings = [
        "metric",
        *[f"{'grades, points' if part == TIED else 'rare events'}, {n:,} rows" for n, part in columns],
    ]
    others = sorted({row["test"] for row in rows} - {*OWN, *OWN_SLOWLY})
    cells = [f"`{name}` {few_cell([row for row in rows if row['test'] == name])}" for name in others]
    return "\n\n".join([table(headings, lines, len(columns)), FEW_OTHERS, "; ".join(cells) + "."])


def hard_coverage_table(rows: list[Row]) -> str:
    """The same for difficult score distributions."""
    lines = [
        [*line[:2], distribution, *line[2:]]
        for distribution in HARD_SCORES
        for line in coverage_lines([row for row in rows if row["distribution"] == distribution], "scenario")
    ]
    metrics, distributions = list(HARD_INTERVALS), list(HARD_SCORES)
    lines.sort(key=lambda line: (metrics.index(line[0].strip("`")), line[1], distributions.index(line[2]), line[3]))
    return table(["metric", "method", "scores", "truth", *COVERAGE_HEADINGS], lines, 7)


COVERAGE_HEADINGS = ("verdict", "true value", "runs", "coverage", "above", "below", "width")


def coverage_lines(rows: list[Row], named: str) -> list[list[str]]:
    """Cells of one line for each row."""
    lines = []
    for row in rows:
        runs = row["runs"] - row["undefined"]
        share = 1 - (row["above"] + row["below"]) / runs
        low, high = band(runs, 0.95)
        found = "nominal" if low <= share <= high else "conservative" if share > high else "**undercovers**"
        found = "few runs" if found == "nominal" and runs < LEAST_RUNS else found
        shares = [f"{share:.3f}", rate(row["above"], runs), rate(row["below"], runs)]
        cells = [f"`{row['metric']}`", row["method"], row[named], found]
        width = "infinite" if math.isinf(row["width"]) else f"{row['width']:.4f}"
        lines.append([*cells, f"{row['truth']:.5f}", str(runs), *shares, width])
    return lines


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    kinds = ("size", "few", "power", "coverage", "hard")
    rows = {kind: [row for row in results["rows"] if row["kind"] == kind] for kind in kinds}
    hard = [row for row in rows["size"] if row["distribution"] in SETTINGS]
    rows["size"] = [row for row in rows["size"] if row["distribution"] not in SETTINGS]
    tested = [name for name in TESTS if any(row["test"] == name for row in rows["size"])]
    notes = [[shown(name), method_of(name), VALIDITY[TESTS[name].validity], TESTS[name].documented] for name in tested]
    limits = ", ".join(f"{alpha:g}: {low:.4f} to {high:.4f}" for alpha in ALPHAS for low, high in [band(5000, alpha)])
    short = "" if results["complete"] else f" {STOPPED.format(**results)} {results.get('note', '')}".rstrip()
    parts = [
        "# Size, power and coverage",
        f"This page shows whether the tests of `assess` hold their level, which deviations they detect, and whether the intervals of `interval` attain their nominal coverage. `make simulate` simulates predictions whose calibration is known and writes this page; the counts are in `experiments/simulations.json`. Run i of a scenario has its own random generator, so the number of processes has no effect.{short}",
        "## Size: calibrated scores",
        f"Labels are drawn from the scores, so every rejection is a type I error. Scores: *uniform* Beta(1, 1), *sharp* Beta(0.5, 0.5), *skewed* Beta(5, 1); with more classes Dirichlet distributions with all parameters 1, all 0.5, or 5 for the first class and 1 for the others. The 99.9% band of 5000 runs is {limits}; with fewer runs it is wider. *Runs* is the number of simulated data sets, smaller for slow tests. *Resamples* is the number of resamples within each test.",
        exceptions(rows["size"]),
        FINDINGS_SIZE,
        table(["test", "call", "null distribution", "limitation"], notes, 0),
        size_tables(rows["size"]),
        "## Size in difficult settings: the choice of `assess`",
        HARD_SETTINGS,
        exceptions(hard) if hard else "",
        hard_table(hard) if hard else "",
        "## Few distinct scores and rare events: every metric",
        FEW_SETTINGS,
        few_tables(rows["few"]) if rows["few"] else "",
        "## Power: three alternatives",
        "Uniform scores; the true probability is s^1.3, sigmoid(logit(s) / 1.25), or s plus a Gaussian bump of height 0.1 and width 0.1 around 0.7. Share of runs with p <= 0.05, for 500 and 2000 rows.",
        power_table(rows["power"]),
        FINDINGS_POWER,
        "## Coverage of 95% intervals",
        "1000 rows with uniform scores, calibrated or overconfident (temperature 1.5), 200 resamples. The true value is the population value of the metric by quadrature; for `drmsce_bcs` and `smece` at temperature 1.5 it is the value for two million rows. *Above* is the share of intervals that lie entirely above the true value. *Nominal* means within the 99.9% band around 0.95. *Asymptotic* is the interval derived for the metric.",
        coverage_table(rows["coverage"]),
        FINDINGS_COVERAGE,
        "## Coverage in difficult settings",
        f"{HARD_ROWS} rows, closed-form intervals. Scores: {'; '.join(f'*{name}* {what}' for name, what in HARD_SCORES.items())}. The true probability is the score, or sigmoid(logit(s) / 1.5).",
        hard_coverage_table(rows["hard"]),
        FINDINGS_HARD,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


VALIDITY = {
    "asymptotic": "asymptotic",
    "simulated": "simulated, any number of rows",
    "bound": "bound, any number of rows",
    "auto": "chosen by the data",
}
HARD_SETTINGS = """Calibrated scores for which asymptotic null distributions are inaccurate, with `method="auto"`, which then simulates labels (99 times here): *simulated* is the share of runs in which it did.

- *Rare*: Beta(0.5, 99.5), one event in 200 rows; with three classes the second and third share it.
- *Five grades*: five distinct scores (0.02, 0.06, 0.15, 0.3, 0.6) or forecasts.
- *Concentrated*: Beta(300, 700), a standard deviation of 0.014; with three classes a Dirichlet distribution of the same precision.
- *Sharp logits*: normal logits with a standard deviation of 20, so that most scores are 0 or 1 to two decimals.
- *Importance weights*: uniform scores with exponential weights."""
FEW_SETTINGS = f"""The default test (`assess(..., metric=...)`) of every metric of an event, on calibrated scores with few distinct values or few events:

{chr(10).join(f"- *{name}*: {what}." for name, what in FEW.items())}

The table shows the share of runs with p <= 0.05 among those for which the metric is defined, with their number in parentheses ({FEW_DRAWS} simulated sets of labels in each). *Italics*: the closed-form test was used in some runs; otherwise labels were simulated in all. ↓ is below the 99.9% band, **bold** above it. With few events or scores a metric has few possible values, and a test by simulated labels, which counts ties as extreme, rejects less often than its level: such tests are discrete, and conservative for that reason. None may be above its band; the counts of each setting are in the results."""
FEW_OTHERS = "All other metrics are always tested by simulated labels. Their size over all six settings, at 100 rows:"
STOPPED = "This run was stopped after {minutes:g} minutes and contains part of the planned runs; the column `runs` gives their number."
FINDINGS_SIZE = """What this shows:

- Tests by simulated labels hold their level for any number of rows. `t_cal` with `adaptive_joint` is one of them: ties of the smallest p-values over all widths are resolved by the next smallest.
- Asymptotic null distributions are inaccurate at 100 rows, most of all at the level 0.01: `hosmer_lemeshow` with sharp or skewed scores (groups with small expected counts) and `ucme` reject up to twice as often as they should at 0.05, `ecd` and `ecmmd` with sharp scores too often at 0.01. With 1000 rows or more none of them was above its band. With few rows `method="auto"` simulates labels (see below).
- `skce_ul` is conservative for skewed scores or many classes: the products of pairs that it averages are far from normal.
- `knn_chi2` with `bonferroni` or `holm` always rejects at 100 rows. It compares the rows around an anchor with the forecast of the anchor, not with their own, and with few rows some of them are distant. `method="auto"` therefore simulates labels for it.
- `ucme` with `chi_square_sample`, and `hosmer_lemeshow` with `chi_square_fitted_here` on external data, are not valid tests, and `t_cal` with `normal` tends to reject too often; `hosmer_lemeshow_multinomial` is very conservative with many classes or sharp scores."""
FINDINGS_POWER = """What this shows:

- Tests have power against the alternatives they are designed for. `calibration_in_the_large` has none against a temperature, `spiegelhalter_z` and `ecd` little against a shift of the mean; `ecd` is one-sided, against overconfidence.
- Without a specific alternative, `bbt`, `cox lr`, `giviti_test` and `pws` have some power against all three.
- `skce_ul` uses one pair for every two rows and has low power; `skce_uq` with its bootstrap uses all pairs. `t_cal` with `adaptive_joint` loses power by adapting to all widths."""
FINDINGS_COVERAGE = """Where intervals undercover, and the default:

| metric | finding | default |
| --- | --- | --- |
| `ece`, `smece`, `ecce_mad` | a non-negative error is biased upwards, and resampling adds to the bias: percentile never contains 0 | `inversion`, see [coverage of intervals of errors](simulations-intervals.md); `bootstrap` is the default for clusters |
| `ce2_db` | the estimate is unbiased, its bootstrap is not: percentile is too high | `inversion` |
| `drmsce_bcs` | percentile is nominal | `inversion` |
| `l2ce_interval` | conservative | `asymptotic` |
| `brier`, `ecd` | means over rows: normal and percentile are nominal for uniform scores | `gamma`, which is valid for few events too |
| `cox_slope` | asymptotic is nominal | `asymptotic` |"""
FINDINGS_HARD = """What this shows:

- Normal limits of a mean miss the true value on one side if a few rows with a large loss dominate the mean: with rare events and sharp scores they are too low. `gamma`, the default, accounts for the skewness and for one further such row on that side; with few events it is conservative, as exact limits of counts are.
- `l2ce_interval` is too low if nearly all rows fall into one bin within which the error varies (rare events at temperature 1.5); its note states this.
- `cox_slope` and `cox_intercept` have no interval in the few samples with separated outcomes; with fewer than 30 events their note states that they may undercover."""
