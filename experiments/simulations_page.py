"""The page of the simulations: what is inside its band, what is not and why, from the rows of simulations.json."""

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
    SETTINGS,
    TESTS,
    TRUTHS,
    Test,
    parameters,
)

Row = dict[str, Any]

# Laws of many rows are held to these rates, two standard errors added, once the rows hold this much information.
ALLOWED = {0.01: 0.02, 0.05: 0.06, 0.1: 0.115}
ENOUGH = 30
# Of fewer runs nothing good is said.
LEAST_RUNS = 100


@cache
def band(runs: int, alpha: float) -> tuple[float, float]:
    """Where 99.9 % of the rejection rates lie if the test holds its level."""
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
    """One word for how the rates lie beside their bands."""
    rates = [count / row["runs"] for count in row["rejected"]]
    bands = [band(row["runs"], alpha) for alpha in ALPHAS]
    if all(low <= rate <= high for rate, (low, high) in zip(rates, bands, strict=True)):
        return "inside" if row["runs"] >= LEAST_RUNS else "few runs"
    below = all(rate <= high for rate, (_, high) in zip(rates, bands, strict=True))
    if test.promise == "auto":
        return "simulated, ties" if below and row["simulated"] == row["runs"] - row["undefined"] else "**outside**"
    if test.documented:
        return "documented"
    if test.promise == "bound" and below:
        return "bound"
    if test.promise == "limit":
        if below:
            return "asymptotic, rarely"
        if row["n"] * information(row["distribution"], row["classes"]) < ENOUGH:
            return "asymptotic, few rows"
        if all(rate <= _allowed(alpha, row["runs"]) for alpha, rate in zip(ALPHAS, rates, strict=True)):
            return "asymptotic, near"
    return "**outside**"


def _allowed(alpha: float, runs: int) -> float:
    most = ALLOWED[alpha]
    return most + 2 * math.sqrt(most * (1 - most) / runs)


def table(headings: list[str], rows: list[list[str]], numbers: int) -> str:
    """A table of Markdown whose last `numbers` columns are set to the right."""
    line = [*["---"] * (len(headings) - numbers), *["---:"] * numbers]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [headings, line, *rows])


def rate(count: int, runs: int) -> str:
    """A share with three digits."""
    return f"{count / runs:.3f}"


def method_of(name: str) -> str:
    """The call behind a row, in a few words."""
    test = TESTS[name]
    options = ", ".join(f"{word}={value!r}" for word, value in test.options.items())
    if test.metric == name.split()[0] and test.metric.startswith(("giviti", "hosmer_lemeshow_m")):
        return f"`{test.metric}`"
    return f"`{test.metric}`, `{test.method}`" + (f", `{options}`" if options else "")


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
        lines.append([row["test"], row["distribution"], found, runs, str(row["draws"] or ""), *rates])
    headings = ["test", "scores", "verdict", "runs", "draws", *[f"{alpha:g}" for alpha in ALPHAS]]
    return table(headings, lines, 5)


def hard_table(rows: list[Row]) -> str:
    """What `assess` chose in hard settings, and how often it then rejected."""
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
    """How many rows have which verdict, and those outside."""
    found = [(verdict(row, TESTS[row["test"]]), row) for row in rows]
    words = ["inside", *MEANING]
    counts = [[word, str(sum(v == word for v, _ in found)), MEANING.get(word, INSIDE)] for word in words]
    outside = [
        [row["test"], str(row["classes"]), row["distribution"], f"{row['n']}", str(row["runs"])]
        + [rate(count, row["runs"]) for count in row["rejected"]]
        for word, row in found
        if word == "**outside**"
    ]
    headings = ["test", "classes", "scores", "rows", "runs", *[f"{alpha:g}" for alpha in ALPHAS]]
    text = table(["verdict", "rows", "meaning"], counts, 0)
    return text + ("\n\nOutside:\n\n" + table(headings, outside, 5) if outside else "")


INSIDE = "all three rates lie in the band that holds 99.9 % of the rates of a test that keeps its level"
MEANING = {
    "few runs": f"inside, but fewer than {LEAST_RUNS} runs do not say much",
    "bound": "rejects less often than its level, as a bound does",
    "asymptotic, rarely": "a distribution for many rows; some rate is below its band, none above: it errs on the safe side",
    "asymptotic, few rows": f'a distribution for many rows, and the variances of the outcomes add up to less than {ENOUGH}: draw outcomes instead (`method="consistency"`)',
    "asymptotic, near": "a distribution for many rows; at most 0.02, 0.06 and 0.115 at 0.01, 0.05 and 0.1, plus two standard errors",
    "simulated, ties": "labels were simulated, and few values occur: equal ones count as extreme, so that it rejects less often than its level",
    "documented": "known and said of the test: see the list of tests",
    "**outside**": "none of these",
}


def power_table(rows: list[Row]) -> str:
    """Rejection at 0.05 for each alternative and number of rows."""
    columns = [(name, n) for name in ALTERNATIVES for n in sorted({row["n"] for row in rows})]
    at = {(row["test"], row["scenario"], row["n"]): row for row in rows}
    lines = []
    for name in TESTS:
        cells = [at.get((name, *column)) for column in columns]
        if any(cells):
            runs = sorted({cell["runs"] for cell in cells if cell})
            counted = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
            shares = ["" if cell is None else rate(cell["rejected"][1], cell["runs"]) for cell in cells]
            lines.append([name, counted, *shares])
    return table(["test", "runs", *[f"{name}, {n}" for name, n in columns]], lines, len(columns) + 1)


def coverage_table(rows: list[Row]) -> str:
    """Share of intervals that held the true value, and on which side the others lay."""
    lines = coverage_lines(rows, "scenario")
    lines.sort(key=lambda line: (list(COVERAGE).index(line[0].strip("`")), line[1], list(TRUTHS).index(line[2])))
    return table(["metric", "method", "scores", *COVERAGE_HEADINGS], lines, 6)


def hard_coverage_table(rows: list[Row]) -> str:
    """The same for scores that are hard to get right."""
    lines = [
        [*line[:2], distribution, *line[2:]]
        for distribution in HARD_SCORES
        for line in coverage_lines([row for row in rows if row["distribution"] == distribution], "scenario")
    ]
    metrics, distributions = list(HARD_INTERVALS), list(HARD_SCORES)
    lines.sort(key=lambda line: (metrics.index(line[0].strip("`")), line[1], distributions.index(line[2]), line[3]))
    return table(["metric", "method", "scores", "truth", *COVERAGE_HEADINGS], lines, 7)


COVERAGE_HEADINGS = ("verdict", "true value", "runs", "covers", "above it", "below it", "width")


def coverage_lines(rows: list[Row], named: str) -> list[list[str]]:
    """Cells of one line for each row."""
    lines = []
    for row in rows:
        runs = row["runs"] - row["undefined"]
        share = 1 - (row["above"] + row["below"]) / runs
        low, high = band(runs, 0.95)
        found = "holds" if low <= share <= high else "covers more" if share > high else "**fails**"
        found = "few runs" if found == "holds" and runs < LEAST_RUNS else found
        shares = [f"{share:.3f}", rate(row["above"], runs), rate(row["below"], runs)]
        words = [f"`{row['metric']}`", row["method"], row[named], found]
        width = "infinite" if math.isinf(row["width"]) else f"{row['width']:.4f}"
        lines.append([*words, f"{row['truth']:.5f}", str(runs), *shares, width])
    return lines


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    kinds = ("size", "power", "coverage", "hard")
    rows = {kind: [row for row in results["rows"] if row["kind"] == kind] for kind in kinds}
    hard = [row for row in rows["size"] if row["distribution"] in SETTINGS]
    rows["size"] = [row for row in rows["size"] if row["distribution"] not in SETTINGS]
    tested = [name for name in TESTS if any(row["test"] == name for row in rows["size"])]
    notes = [[name, method_of(name), PROMISES[TESTS[name].promise], TESTS[name].documented] for name in tested]
    limits = ", ".join(f"{alpha:g}: {low:.4f} to {high:.4f}" for alpha in ALPHAS for low, high in [band(5000, alpha)])
    short = "" if results["complete"] else f" {STOPPED.format(**results)} {results.get('note', '')}".rstrip()
    parts = [
        "# Size, power and coverage",
        f"Do the tests of `assess` reject as often as they say, and do the intervals of `interval` cover as often as they say? `make simulate` draws predictions whose calibration is known, counts, and writes this page; the counts lie in `experiments/simulations.json`. Run i of a scenario has its own generator, so the number of processes changes nothing.{short}",
        "## Size: calibrated scores",
        f"Labels are drawn from the scores, so every rejection is a false alarm. Scores: *even* Beta(1, 1), *sharp* Beta(0.5, 0.5), *skewed* Beta(5, 1); with more classes Dirichlet distributions with all parameters 1, all 0.5, or 5 for the first class and 1 for the others. The band of 5000 runs is {limits}; fewer runs have a wider one. Of a thousand rates at their level one lies outside by chance. *Runs* is the number of simulations: slow tests got fewer. *Draws* is how many samples a test drew for itself.",
        exceptions(rows["size"]),
        FINDINGS_SIZE,
        table(["test", "call", "distribution", "known"], notes, 0),
        size_tables(rows["size"]),
        "## Size in hard settings: what `assess` chooses",
        HARD_SETTINGS,
        exceptions(hard) if hard else "",
        hard_table(hard) if hard else "",
        "## Power: three ways to be wrong",
        "Even scores; the true probability is s^1.3, sigmoid(logit(s) / 1.25), or s plus a hill of height 0.1 and width 0.1 around 0.7. Share of runs with p <= 0.05, for 500 and 2000 rows.",
        power_table(rows["power"]),
        FINDINGS_POWER,
        "## Coverage of 95 % intervals",
        "1000 rows with even scores, calibrated or overconfident (temperature 1.5), 200 resamples. The true value is what the metric tends to for endlessly many rows, by quadrature; of `drmsce_bcs` and `smece` at temperature 1.5 it is the value of two million rows. *Above it* is the share of intervals that lie wholly above the true value. *Holds* means inside the 99.9 % band around 0.95. Percentile and basic are read off the same resamples; *asymptotic* is the metric's own interval.",
        coverage_table(rows["coverage"]),
        FINDINGS_COVERAGE,
        "## Coverage where it is hard",
        f"{HARD_ROWS} rows, intervals in closed form. Scores: {'; '.join(f'*{name}* {what}' for name, what in HARD_SCORES.items())}. Outcomes follow the scores, or sigmoid(logit(s) / 1.5).",
        hard_coverage_table(rows["hard"]),
        FINDINGS_HARD,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


PROMISES = {
    "limit": "for many rows",
    "drawn": "drawn, any number of rows",
    "bound": "a bound, any number of rows",
    "auto": "chosen by the rows",
}
HARD_SETTINGS = """Calibrated scores for which null distributions of many rows are off, and `method="auto"`, which then simulates labels by itself (99 times here): *simulated* is the share of runs in which it did.

- *Rare*: Beta(0.5, 99.5), an event in 200 rows; with three classes the second and third share it.
- *Five grades*: five distinct scores (0.02, 0.06, 0.15, 0.3, 0.6) or forecasts.
- *Concentrated*: Beta(300, 700), a standard deviation of 0.014; with three classes a Dirichlet distribution of the same precision.
- *Sharp logits*: normal with a standard deviation of 20, so that few scores are neither 0 nor 1 to two digits.
- *Importance weights*: even scores whose weights are exponential."""
STOPPED = "This run was stopped after {minutes:g} minutes and holds a part of the runs planned: `runs` says how many each row got."
FINDINGS_SIZE = """What this shows:

- Tests that draw outcomes from the scores need no large number of rows. `t_cal` with `adaptive_joint` is one of them: where the smallest p-values of all widths tie, the next smallest decide.
- Asymptotic distributions rows are off at 100 rows, most at the level 0.01: `hosmer_lemeshow` with sharp or skewed scores (groups in which hardly an outcome is expected) and `ucme` reject up to twice as often as they should at 0.05, `ecd` and `ecmmd` with sharp scores too often at 0.01. With 1000 rows or more none of them was found above its band. With few rows `method="auto"` simulates labels by itself (see below).
- `skce_ul` rejects too rarely where scores are skewed or classes many: the products of pairs that it adds up are far from normal.
- `knn_chi2` with `bonferroni` or `holm` rejects every time at 100 rows. It judges the rows around an anchor by the anchor's forecast, not by their own, and with few rows some are far away. `method="auto"` therefore draws outcomes for it.
- `ucme` with `chi_square_sample`, and `hosmer_lemeshow` with `chi_square_fitted_here` on rows that the model was not fitted to, are no tests to decide by, and `t_cal` with `normal` leans to too many rejections; `hosmer_lemeshow_multinomial` rejects far too rarely with many classes or sharp scores."""
FINDINGS_POWER = """What this shows:

- A test sees what it asks for. `calibration_in_the_large` is blind to a wrong temperature, `spiegelhalter_z` and `ecd` to a wrong mean; `ecd` has one side, and asks only for overconfidence.
- Without an idea of what is wrong, `bbt`, `cox lr`, `giviti_test` and `pws` have some power against all three.
- `skce_ul` uses one pair for every two rows and sees little; `skce_uq` with its bootstrap uses all pairs. `t_cal` with `adaptive_joint` pays for looking at all widths."""
FINDINGS_COVERAGE = """Where intervals fail, and what the default does instead:

| metric | what happens | default |
| --- | --- | --- |
| `ece`, `smece`, `ecce_mad` | an error cannot be negative, so chance always shows one above 0, and resampling adds to it: percentile and bca never hold 0, basic too rarely | `corrected`: the bias is removed on the scale of squares; covers more than it says |
| `ce2_db` | the estimate is free of bias, its bootstrap is not: percentile lies too high, basic and bca too low | `corrected`: the bootstrap is moved back to the estimate |
| `drmsce_bcs` | percentile holds; basic lies too low | `corrected`, not simulated here |
| `l2ce_interval` | covers more than it says | its own, `asymptotic` |
| `brier`, `ecd` | means over rows: normal holds with even scores, and so do percentile and basic | `gamma`, which holds for few events too |
| `cox_slope` | its own interval holds | `asymptotic` |"""
FINDINGS_HARD = """What this shows:

- Normal limits of a mean miss the true value on one side where a few costly rows carry the mean: with rare events and sharp scores they lie too low. `gamma`, the default, takes the skewness into account and grants one more surprising row to that side; with few events it covers more than it says, as exact limits of numbers of events do.
- `l2ce_interval` lies too low where nearly all rows fall into one bin and the scores are off by different amounts inside it (rare events at temperature 1.5): the interval says so.
- `cox_slope` and `cox_intercept` have no interval in the few samples in which a threshold separates the outcomes; with fewer than 30 events their note says that they may cover too rarely."""
