"""False subgroups and power of `find_subgroups`, coverage of `certify`, and errors of `assess(tolerance=...)`, by simulation.

``python -m experiments.subgroups`` runs all studies, ``python -m experiments.subgroups level`` one of them, ``--page`` writes docs/subgroups.md from
the stored results. Run i of a setting has its own generator, so that the number of processes changes nothing.
"""

from __future__ import annotations

import json
import math
import sys
import tomllib
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant.inference.equivalence import LEAST_RESAMPLES
from calibrant.util.arrays import Floats
from experiments import simulations_intervals
from experiments.rendering import ROOT, markdown_table, number, render
from experiments.studies import Case, command, crossed

Rng = np.random.Generator
Values = dict[str, float]
RESULTS, PAGE = Path(__file__).with_suffix(".json"), ROOT / "docs" / "subgroups.md"
DRAWN = 400_000
INTERVALS = ("inversion", "bootstrap", "percentile")
# Values that are shares of the runs.
SHARES = ("false", "any", "found", "holds", "shown")
# Metrics from whose ideal value calibrated predictions are at a distance of 0, and shapes of deviations.
METRICS = [
    id for id, metric in cal.catalogue.items() if metric.info.ideal_for == "calibrated" and metric.ideal is not None
]
SHAPES = ("constant", "alternating")
# Fewer runs of a metric do not tell whether a tolerance is shown too often.
LEAST_RUNS = 100


def features_of(rng: Rng, n: int, count: int) -> dict[str, Any]:
    """Numbers, whole numbers and categories in turn; every fourth column has missing values."""
    columns: dict[str, Any] = {}
    for place in range(count):
        if place % 3 == 2:
            values: Any = rng.choice([f"c{k}" for k in range(2 + place % 7)], n)
        else:
            values = rng.normal(size=n) if place % 3 == 0 else rng.poisson(3, n).astype(float)
        if place % 4 == 3:
            values = values.astype(object)
            values[rng.random(n) < 0.1] = None
        columns[f"x{place}"] = values
    return columns


def scores_of(rng: Rng, n: int, kind: str, x: Floats) -> Floats:
    """Scores that depend on a feature: moderate, rare events, or sharp."""
    shift, scale = {"moderate": (0.0, 1.0), "rare": (-4.0, 1.0), "sharp": (0.0, 5.0)}[kind]
    return np.asarray(1 / (1 + np.exp(-(shift + scale * (0.7 * x + 0.7 * rng.normal(size=n))))))


def level(rng: Rng, case: Case) -> Values:
    """Whether any subgroup of calibrated data is significant."""
    features = features_of(rng, case["rows"], case["features"])
    score = scores_of(rng, case["rows"], case["scores"], features["x0"])
    found = cal.find_subgroups(
        rng.random(case["rows"]) < score, score, features=features, method=case["method"], n_resamples=99, rng=rng
    )
    return {"false": float(len(found) > 0)}


def power(rng: Rng, case: Case) -> Values:
    """Whether a planted subgroup is found: significant, with at least half of the joint rows; and whether another one is false."""
    n = case["rows"]
    features = features_of(rng, n, 10)
    score = np.clip(scores_of(rng, n, "moderate", features["x0"]), 0.05, 0.75)
    wrong = (features["x2"] == "c0") & (features["x6"] > 0.3)
    y = rng.random(n) < score + case["gap"] * wrong
    found = cal.find_subgroups(y, score, features=features, method=case["method"], n_resamples=99, rng=rng)
    share = [float((each.mask & wrong).sum() / (each.mask | wrong).sum()) for each in found]
    disjoint = [not (each.mask & wrong).any() for each in found]
    return {"any": float(len(found) > 0), "found": float(max(share, default=0.0) >= 0.5), "false": float(any(disjoint))}


def stairs(s: Floats, steps: int) -> Floats:
    """A monotone curve of equal steps, whose errors cancel within bins that are wider than a step."""
    return np.floor(s * steps) / (steps - 1)


CURVES: dict[str, tuple[Callable[[Rng, int], Floats], Callable[[Floats], Floats]]] = {
    "calibrated, uniform": (lambda rng, n: rng.random(n), lambda s: s),
    "calibrated, rare events": (lambda rng, n: rng.beta(0.5, 99.5, n), lambda s: s),
    "calibrated, sharp": (lambda rng, n: rng.beta(0.1, 0.1, n), lambda s: s),
    "five grades, constant curve": (lambda rng, n: rng.choice([0.02, 0.1, 0.3, 0.6, 0.9], n), lambda s: 0 * s + 0.3),
    "concentrated, steep": (lambda rng, n: 0.3 + 0.01 * rng.random(n), lambda s: np.clip((s - 0.3) * 100, 0, 1)),
    "one step": (lambda rng, n: rng.random(n), lambda s: np.where(s < 0.5, 0.1, 0.9)),
    "20 steps": (lambda rng, n: rng.random(n), lambda s: stairs(s, 20)),
    "200 steps": (lambda rng, n: rng.random(n), lambda s: stairs(s, 200)),
    "overconfident, sharp": (lambda rng, n: rng.beta(0.1, 0.1, n), lambda s: 0.2 + 0.6 * s),
    "0 and 1, half wrong": (lambda rng, n: rng.integers(0, 2, n).astype(float), lambda s: 0.25 + 0.5 * s),
    "wave": (lambda rng, n: rng.random(n), lambda s: s + 0.1 * np.sin(10 * np.pi * s) * np.minimum(s, 1 - s) * 2),
    "20 levels, up and down": (
        lambda rng, n: rng.integers(1, 20, n) / 20,
        lambda s: np.clip(s + 0.2 * (-1) ** np.rint(20 * s), 0, 1),
    ),
}
# Curves that are not monotone.
WAVES = ("wave", "20 levels, up and down")


@lru_cache
def true_errors(curve: str) -> tuple[float, float, float]:
    """True error of the population, its error over 15 bins of equal width, and the variation of the curve."""
    draw, rate = CURVES[curve]
    s = draw(np.random.default_rng(0), DRAWN)
    error = rate(s) - s
    cells = np.clip(np.ceil(s * 15) - 1, 0, 14).astype(int)
    grid = np.linspace(0, 1, 100_001)
    variation = float(np.abs(np.diff(rate(grid))).sum())
    return float(np.abs(error).mean()), float(np.abs(np.bincount(cells, error)).sum() / DRAWN), variation


def certificate(rng: Rng, case: Case) -> Values:
    """Whether the bounds hold for all rows and, with `groups`, jointly for each group; and the mean bound."""
    draw, rate = CURVES[case["curve"]]
    s = draw(rng, case["rows"])
    truth, binned, variation = true_errors(case["curve"])
    groups = rng.integers(0, case["groups"], case["rows"]) if case["groups"] else None
    p = cal.Predictions.derived(rng.random(case["rows"]) < rate(s), s, groups=groups)
    assuming = case["assuming"]
    found = cal.certify(p, assuming=assuming, variation=variation if assuming == "variation" else None)
    limit = binned if assuming == "none" else truth
    # The truth is itself a mean of many scores, whose error is below this.
    holds = all(each.bound >= limit - 3 * 0.5 / math.sqrt(DRAWN) for each in found.bounds)
    return {"holds": float(holds), "bound": found.bound, "estimate": found.bounds[0].estimate, "truth": limit}


def width(rng: Rng, case: Case) -> Values:
    """Bounds beside upper limits of intervals of ECE, and the band of a monotone curve."""
    draw, rate = CURVES[case["curve"]]
    p = draw(rng, case["rows"])
    y = rng.random(case["rows"]) < rate(p)
    low, high = (band := cal.inference.calibration_band(y, p)).at(band.score)
    reach = np.maximum(high - band.score, band.score - low)
    limits = {method: cal.interval(y, p, method=method, n_resamples=400).high for method in INTERVALS}
    return {
        "truth": true_errors(case["curve"])[0],
        "binned": true_errors(case["curve"])[1],
        **limits,
        "none": cal.certify(y, p, assuming="none").bound,
        "monotone": cal.certify(y, p).bound,
        "band": float(np.average(reach, weights=band.rows)),
    }


def alternating(rng: Rng, case: Case) -> tuple[Floats, Any]:
    """Scores, and the direction of their deviation: 1, or -1 in every other bin."""
    p = 0.2 + 0.5 * rng.random(case["rows"])
    return p, 1 - 2 * ((15 * p).astype(int) % 2) if case["shape"] == "alternating" else 1


def tolerance(rng: Rng, case: Case) -> Values:
    """Whether an error of exactly the tolerance is declared to be smaller, and how often that of calibrated scores is."""
    p, side = alternating(rng, case)
    y = rng.random(case["rows"]) < p + case["shift"] * side
    found = cal.assess(y, p, metric=case["metric"], tolerance=0.03)
    return {"shown": float(found.rejected)}


def deviating(rng: Rng, case: Case) -> tuple[cal.Predictions, Floats]:
    """Scores with features and groups, and true probabilities that differ from them by 0.1: all higher, or lower in every other bin."""
    p, side = alternating(rng, case)
    features, groups = rng.normal(size=(case["rows"], 2)), rng.integers(0, 4, case["rows"])
    scores = cal.Predictions(rng.random(case["rows"]) < p, p, features=features, groups=groups)
    return scores, p + 0.1 * side


def with_labels(scores: cal.Predictions, labels: Any, **keywords: Any) -> cal.Predictions:
    """The same scores with other labels."""
    return cal.Predictions(labels, scores.probs, features=scores.features, groups=scores.groups, **keywords)


@lru_cache
def true_distance(metric: str, shape: str, rows: int) -> float:
    """Distance of the population from the ideal value; for estimates that need labels, of their mean from that of calibrated predictions."""
    chosen, rng = cal.catalogue[metric], np.random.default_rng(0)
    assert chosen.ideal is not None
    if chosen.soft:
        slow = "^2" in chosen.info.cost or "program" in chosen.info.cost
        scores, true = deviating(rng, {"rows": 2000 if slow else 20_000, "shape": shape})
        return abs(chosen(with_labels(scores, true, soft=True)) - chosen.ideal)
    differences = []
    for _ in range(400):
        scores, true = deviating(rng, {"rows": rows, "shape": shape})
        differences.append(chosen(with_labels(scores, rng.random(rows) < true)) - chosen(scores))
    return abs(float(np.mean(differences)))


def distance(rng: Rng, case: Case) -> Values:
    """Whether a metric whose distance from the ideal value is exactly the tolerance is shown to be nearer."""
    ideal, truth = cal.catalogue[case["metric"]].ideal, true_distance(case["metric"], case["shape"], case["rows"])
    assert ideal is not None
    scores, true = deviating(rng, case)
    data = with_labels(scores, rng.random(case["rows"]) < true)
    limits = cal.interval(data, metric=case["metric"], level=0.9, n_resamples=LEAST_RESAMPLES, rng=rng)
    return {"shown": float(ideal - truth < limits.low and limits.high < ideal + truth), "truth": truth}


class Study(NamedTuple):
    """A function of a generator and a setting, its settings, and the number of runs of each."""

    run: Callable[[Rng, Case], Values]
    cases: list[Case]
    runs: int


FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FUNCTIONS = {run.__name__: run for run in (level, power, certificate, width, tolerance)}
STUDIES = {
    name: Study(
        FUNCTIONS[name.partition("_")[0]], [case for block in facts["cases"] for case in crossed(block)], facts["runs"]
    )
    for name, facts in FACTS.items()
}
STUDIES["distance"] = Study(distance, crossed({"metric": METRICS, "shape": SHAPES, "rows": (500,)}), 100)


def one_run(study: str, case: Case, number: int) -> Values:
    """One run of a setting."""
    seed = zlib.crc32(f"{study.partition('_')[0]} {sorted(case.items())}".encode())
    return STUDIES[study].run(np.random.default_rng([seed, number]), case)


def run_study(study: str, runs: int, stored: list[dict[str, Any]], pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """A row for each setting: the mean of each value over the runs, of which those that are stored are not repeated, and the error of shares."""
    rows = []
    for case in STUDIES[study].cases:
        before = next((row for row in stored if row["study"] == study and case.items() <= row.items()), {"runs": 0})
        numbers = range(before["runs"], runs)
        values = list(pool.map(partial(one_run, study, case), numbers, chunksize=max(1, len(numbers) // 160)))
        if not values:
            rows.append(before)
            continue
        sums = {name: before["runs"] * before.get(name, 0.0) + math.fsum(v[name] for v in values) for name in values[0]}
        means = {name: round(total / runs, 9) for name, total in sums.items()}
        share = next(iter(means.values()))
        error = round(math.sqrt(share * (1 - share) / runs), 4) if share <= 1 else None
        rows.append({"study": study, **case, "runs": runs, **means, "error": error})
    return rows


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that contradict a guarantee by more than three Monte Carlo errors."""
    slack = lambda row, share: 3 * math.sqrt(share * (1 - share) / row["runs"])  # noqa: E731
    wrong = [row for row in rows if row["study"].startswith("level") and row["false"] > 0.05 + slack(row, 0.05)]
    wrong += [row for row in rows if row["study"] == "certificate" and row["holds"] < 0.95 - slack(row, 0.95)]
    at_limit = [row for row in rows if row["study"] == "tolerance" and row["shift"] > 0]
    return wrong + [row for row in at_limit if row["shown"] > 0.05 + slack(row, 0.05)]


def tolerated(rows: list[dict[str, Any]], intervals: list[dict[str, Any]]) -> set[str]:
    """The metrics whose upper limit was simulated, and lies below the error in no setting more often than its level and three Monte Carlo errors allow."""
    shown = [(row["metric"], row["shown"], row["runs"], 0.05) for row in rows if row["study"] == "distance"]
    # Ends of intervals at 95%.
    shown += [(each["metric"], each["below"] / each["runs"], each["runs"], 0.025) for each in intervals]
    runs: Counter[str] = Counter()
    for metric, _, count, _ in shown:
        runs[metric] += count
    wrong = {m for m, share, n, level in shown if share > level + 3 * math.sqrt(level * (1 - level) / n)}
    return {metric for metric, count in runs.items() if count >= LEAST_RUNS} - wrong


def page(rows: list[dict[str, Any]]) -> str:
    """The page of the stored results."""
    from scipy.stats import binomtest

    def cell(row: dict[str, Any], name: str) -> Any:
        if name not in SHARES:
            return row[name]
        low, high = binomtest(round(row[name] * row["runs"]), row["runs"]).proportion_ci(method="wilson")
        return f"{number(row[name])} [{low:.3f}, {high:.3f}]"

    def table(study: str, numbers: int, *columns: str) -> str:
        """The rows of a study; columns are values, or headings and values ("any significant = any")."""
        pairs = [column.partition(" = ") for column in columns]
        headings, values = [pair[0] for pair in pairs], [pair[2] or pair[0] for pair in pairs]
        own = [row for row in rows if row["study"].partition("_")[0] == study]
        return markdown_table(headings, [[cell(row, name) for name in values] for row in own], numbers)

    intervals = simulations_intervals.every(json.loads(simulations_intervals.STORED.read_text("utf-8")))
    simulated = {row["metric"] for row in rows if row["study"] == "distance"}
    missing = [metric for metric in METRICS if metric not in simulated]
    lists = {"accepted": sorted(tolerated(rows, intervals)), "missing": missing}
    texts = {name: ", ".join(f"`{metric}`" for metric in metrics) for name, metrics in lists.items()}
    return render("subgroups", {"table": table, "wrong": len(claims(rows)), **texts})


if __name__ == "__main__":
    sys.exit(command(STUDIES, run_study, page, claims, (RESULTS, PAGE)))
