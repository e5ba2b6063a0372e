"""Coverage and width of the default interval of calibration errors, over metrics, rows, classes, rare events and miscalibration.

``python -m experiments.simulations_intervals`` simulates the populations that are not in ``simulations_intervals.json`` yet, the quick ones first, for at
most ``--minutes``, and writes the page. ``--check`` simulates nothing and exits with 1 if an interval covers too rarely. Run number i of a population has
its own generator, so that the number of processes changes nothing; all metrics are evaluated on the same runs. There are two true values: that of the
metric in 200,000 rows (fewer for metrics whose cost grows faster) and that at the scores of the run, both with the true probabilities as soft labels.
"""

import argparse
import json
import math
import sys
import time
import warnings
import zlib
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from experiments.rendering import ROOT, markdown_table, render
from experiments.studies import draw_labels

STORED = Path(__file__).with_suffix(".json")
LEVEL, RESAMPLES = 0.95, 200
# Runs of a quick population; slow ones have fewer, at least the second number.
RUNS, FEWEST_RUNS = 100, 20
LEAST, LEAST_MEAN = 0.93, 0.945
BINARY = ("ece", "ece_em", "rmsce", "mce", "ece_db", "ce2_db", "ecce_mad", "smece")
SEVERAL = ("ece", "tl_ece", "cwce", "ace", "mdca")
ROWS = (50, 200, 1000, 10_000)
# Temperature of the predictions, and a shift of their log-odds.
MISCALIBRATION = {"none": (1.0, 0.0), "slight": (0.85, 0.1), "strong": (0.5, 0.3)}
TRUE_ROWS = {"smece": 5000}
# Intervals by the bootstrap are simulated beside those by inversion, for two classes without rare events and up to so many rows.
BOOTSTRAPS, BOOTSTRAP_RUNS, BOOTSTRAP_ROWS = ("bootstrap", "percentile"), 60, 1000
COLUMNS = ("metric", "classes", "events", "miscalibration", "rows", "true value", "runs", "coverage", "at the scores")
COLUMNS += ("Monte Carlo error", "median width")
BOOTSTRAP_COLUMNS = ("metric", "miscalibration", "rows", *(f"width, {name}" for name in ("inversion", *BOOTSTRAPS)))
BOOTSTRAP_COLUMNS += tuple(f"coverage, {name}" for name in ("inversion", *BOOTSTRAPS))


class Population(NamedTuple):
    """A distribution of predictions and labels, and a number of rows."""

    classes: int
    rare: bool
    miscalibration: str
    rows: int

    @property
    def key(self) -> str:
        return " ".join(map(str, self))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The errors whose intervals are simulated."""
        return BINARY if self.classes == 2 else SEVERAL

    @property
    def cost(self) -> int:
        """Approximate time of one run, in steps of the quickest."""
        return 1 + (1000 + self.rows) * (self.classes - 1) // 9000

    @property
    def runs(self) -> int:
        """Number of simulated data sets."""
        return max(FEWEST_RUNS, RUNS * 2 // (1 + self.cost))

    @property
    def is_bootstrapped(self) -> bool:
        """Whether bootstrap intervals are simulated too."""
        return self.classes == 2 and not self.rare and self.rows <= BOOTSTRAP_ROWS


def populations() -> list[Population]:
    """All populations, the quick ones first."""
    two = product((2,), (False, True), MISCALIBRATION, ROWS)
    several = product((10, 100), (False,), MISCALIBRATION, ROWS)
    return sorted((Population(*each) for each in (*two, *several)), key=lambda population: population.cost)


def sample(population: Population, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Predicted and true probabilities of rows."""
    temperature, shift = MISCALIBRATION[population.miscalibration]
    if population.classes == 2:
        predicted = np.clip(rng.beta(0.4, 19.6, n) if population.rare else rng.beta(1, 1.5, n), 1e-6, 1 - 1e-6)
        logit = temperature * (np.log(predicted) - np.log1p(-predicted)) + shift
        return predicted, predicted if population.miscalibration == "none" else 1 / (1 + np.exp(-logit))
    predicted = np.exp(rng.normal(0, 2.5, (n, population.classes)))
    predicted /= predicted.sum(axis=1, keepdims=True)
    true = predicted**temperature
    return predicted, true / true.sum(axis=1, keepdims=True)


def true_value(population: Population, name: str) -> float:
    """The error of the population; debiased errors are evaluated on labels of many rows."""
    if population.miscalibration == "none":
        return 0.0
    rng, metric = np.random.default_rng(1), cal.catalogue[name]
    predicted, true = sample(population, TRUE_ROWS.get(name, 200_000), rng)
    if metric.soft:
        return metric(cal.Predictions(true, predicted, soft=True))
    copies = 20
    return metric(draw_labels(np.tile(true, copies), rng), np.tile(predicted, copies))


def one_sample(population: Population, run: int) -> tuple[cal.Predictions, Any, Any]:
    """The predictions of a run, with their predicted and true probabilities."""
    rng = np.random.default_rng([zlib.crc32(population.key.encode()), run])
    predicted, true = sample(population, population.rows, rng)
    return cal.Predictions(draw_labels(true, rng), predicted, classes=range(population.classes)), predicted, true


def one_run(population: Population, run: int) -> list[tuple[float, float, float]]:
    """For each metric the limits of its interval, and its value at the scores of the run; not a number if it needs labels."""
    data, predicted, true = one_sample(population, run)
    chances = cal.Predictions(true, predicted, soft=True)
    result = cal.evaluate(data, metrics=list(population.metrics), level=LEVEL, n_resamples=RESAMPLES, rng=run)
    own = [cal.catalogue[name](chances) if cal.catalogue[name].soft else math.nan for name in population.metrics]
    return [(row.low, row.high, value) for row, value in zip(result.results, own, strict=True)]


def simulate(population: Population) -> list[dict[str, Any]]:
    """For each metric, how often its interval contains the true values, lies above or below that of the population, and its median width."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = np.array([one_run(population, run) for run in range(population.runs)])
        errors = [true_value(population, name) for name in population.metrics]
    results = []
    for name, error, (low, high, own) in zip(population.metrics, errors, runs.transpose(1, 2, 0), strict=True):
        above, below = int(np.sum(low > error + 1e-12)), int(np.sum(high < error - 1e-12))
        at_scores = int(np.sum((low <= own + 1e-12) & (own <= high + 1e-12)))
        results.append(
            {
                "metric": name,
                "true": round(error, 5),
                "runs": len(low),
                "covered": len(low) - above - below,
                "above": above,
                "below": below,
                "covered_at_scores": None if np.isnan(own).any() else at_scores,
                "width": round(float(np.median(high - low)), 5),
            }
        )
    return bootstrapped(population, results) if population.is_bootstrapped else results


def bootstrapped(population: Population, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results with coverage and median width of both bootstrap intervals, and the standard error of that width."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = [one_sample(population, run)[0] for run in range(BOOTSTRAP_RUNS)]
        for result, method in product(results, BOOTSTRAPS):
            found = [
                cal.interval(data, metric=result["metric"], method=method, level=LEVEL, n_resamples=RESAMPLES, rng=run)
                for run, data in enumerate(samples)
            ]
            widths = np.array([each.high - each.low for each in found])
            lower, upper = np.quantile(widths, 0.5 + np.array([-0.5, 0.5]) / math.sqrt(len(widths)))
            result[method] = {
                "runs": len(found),
                "covered": sum(each.low <= result["true"] <= each.high for each in found),
                "width": round(float(np.median(widths)), 5),
                "error": round(float(upper - lower) / 2, 5),
            }
    return results


def fails(result: dict[str, Any]) -> bool:
    """Whether neither true value is covered often enough, by three Monte Carlo errors."""
    covered = max(result["covered"], result["covered_at_scores"] or 0)
    return bool(covered / result["runs"] < LEAST - 3 * math.sqrt(LEAST * (1 - LEAST) / result["runs"]))


def every(results: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The results of all metrics in all populations."""
    return [result for of_population in results.values() for result in of_population]


def coverage_lines(results: dict[str, list[dict[str, Any]]]) -> list[list[Any]]:
    """The cells of each setting, as the page and the validation dossier have them."""
    lines = []
    for population in populations():
        for result in results.get(population.key, []):
            runs, share, at_scores = result["runs"], result["covered"] / result["runs"], result["covered_at_scores"]
            line = [result["metric"], population.classes, "2%" if population.rare else "", *population[2:]]
            line += [result["true"], runs, round(share, 4), None if at_scores is None else round(at_scores / runs, 4)]
            lines.append([*line, round(math.sqrt(share * (1 - share) / runs), 4), result["width"]])
    return sorted(lines, key=lambda line: line[:5])


def bootstrap_values(results: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Median widths and coverages of intervals by inversion and by the bootstrap, in the settings where both were simulated."""
    lines, errors = [], []
    for population in populations():
        for result in results.get(population.key, []) if population.is_bootstrapped else []:
            kinds = [result, *(result[method] for method in BOOTSTRAPS)]
            line = [f"`{result['metric']}`", population.miscalibration, population.rows]
            line += [kind["width"] for kind in kinds]
            lines.append([*line, *(round(kind["covered"] / kind["runs"], 4) for kind in kinds)])
            errors += [kind["error"] / kind["width"] for kind in kinds[1:]]
    widths, covered = (np.array([line[part] for line in lines]) for part in (slice(3, 6), slice(6, 9)))
    calibrated = np.array([line[1] == "none" for line in lines])
    return {
        "runs": BOOTSTRAP_RUNS,
        "rows": BOOTSTRAP_ROWS,
        "settings": len(lines),
        "table": markdown_table(BOOTSTRAP_COLUMNS, sorted(lines, key=lambda line: line[:3]), 7),
        "covered": covered.mean(axis=0),
        "calibrated": covered[calibrated].mean(axis=0),
        "wrong": covered[~calibrated].mean(axis=0),
        "ratios": np.median(widths[:, 1:] / widths[:, :1], axis=0),
        "errors": (np.median(errors), max(errors)),
    }


def page(results: dict[str, list[dict[str, Any]]]) -> str:
    """The page of all stored populations."""
    lines = coverage_lines(results)
    missing = [population for population in populations() if population.key not in results]
    values = {
        "table": markdown_table(COLUMNS, [[f"`{name}`", *cells] for name, *cells in lines], 7),
        "missing": ", ".join(
            f"{each.classes} classes with {each.rows:,} rows ({each.miscalibration})" for each in missing
        ),
        "shares": [line[COLUMNS.index("coverage")] for line in lines],
        "at_scores": [line[COLUMNS.index("at the scores")] for line in lines if line[8] is not None],
        "low": sum(map(fails, every(results))),
        "resamples": RESAMPLES,
        "bootstrap": bootstrap_values(results),
    }
    return render("intervals", values)


def main(arguments: list[str] | None = None) -> int:
    """Simulate what is missing, write the results and the page, and return 1 if the coverage is too low."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    results = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    missing = [] if options.check else [population for population in populations() if population.key not in results]
    stop = time.monotonic() + 60 * options.minutes
    with ProcessPoolExecutor(options.jobs) as pool:
        while missing and time.monotonic() < stop:
            some, missing = missing[: options.jobs], missing[options.jobs :]
            for population, simulated in zip(some, pool.map(simulate, some), strict=True):
                results[population.key] = simulated
                print(population.key, [result["covered"] / result["runs"] for result in simulated], flush=True)
            rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(each)}" for key, each in sorted(results.items()))
            STORED.write_text(f"{{\n{rows}\n}}\n", "utf-8")
    (ROOT / "docs" / "simulations-intervals.md").write_text(page(results), "utf-8")
    mean = sum(result["covered"] / result["runs"] for result in every(results)) / max(len(every(results)), 1)
    low = sum(map(fails, every(results)))
    print(f"{len(every(results))} settings, mean coverage {mean:.3f}, {low} too low")
    return int(mean < LEAST_MEAN or low > 0)


if __name__ == "__main__":
    sys.exit(main())
