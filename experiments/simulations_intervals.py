"""Coverage and width of the default interval of calibration errors, over metrics, rows, classes, rare events and miscalibration.

``python -m experiments.simulations_intervals`` simulates the settings that are not in ``simulations_intervals.json`` yet, the quick ones first, for at most
``--minutes``, and writes the page. ``--check`` simulates nothing and exits with 1 if a stored setting covers too rarely. Run number i of a setting has its own
generator, so that the number of processes changes nothing. The true value is that of the metric in 200,000 rows (fewer for metrics whose cost grows faster),
with the true probabilities as soft labels.
"""

import argparse
import json
import math
import sys
import time
import warnings
import zlib
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from experiments.rendering import ROOT, markdown_table, render

STORED = Path(__file__).with_suffix(".json")
LEVEL, RESAMPLES = 0.95, 200
# Runs of a quick setting; slow ones have fewer, at least the second number.
RUNS, FEWEST_RUNS = 50, 20
LEAST, LEAST_MEAN = 0.93, 0.945
BINARY = ("ece", "ece_em", "rmsce", "mce", "ece_db", "ce2_db", "ecce_mad", "smece")
SEVERAL = ("ece", "tl_ece", "cwce", "ace", "mdca")
ROWS = (50, 200, 1000, 10_000)
# Temperature of the predictions, and a shift of their log-odds.
MISCALIBRATION = {"none": (1.0, 0.0), "slight": (0.85, 0.1), "strong": (0.5, 0.3)}
TRUE_ROWS = {"smece": 5000}


class Setting(NamedTuple):
    """A metric and the distribution of the predictions and labels."""

    metric: str
    classes: int
    rare: bool
    miscalibration: str
    rows: int

    @property
    def key(self) -> str:
        return " ".join(map(str, self))

    @property
    def cost(self) -> int:
        """Approximate time of one run, in steps."""
        effort = (500 + self.rows) * (self.classes if self.classes > 2 else 1) * (20 if self.metric == "smece" else 1)
        return effort // 12_000

    @property
    def runs(self) -> int:
        """Number of simulated data sets."""
        return max(FEWEST_RUNS, 4 * RUNS // (4 + self.cost))


def settings() -> list[Setting]:
    """All settings: each metric with each number of classes and of rows once, then the other distributions; the quick ones first."""
    distributions = list(product(("slight", "none", "strong"), (False, True)))
    two = product(BINARY, (2,), distributions, ROWS)
    several = product(SEVERAL, (10, 100), distributions[::2], ROWS)
    every = [Setting(metric, k, rare, how, rows) for metric, k, (how, rare), rows in (*two, *several)]
    return sorted(
        every, key=lambda setting: (distributions.index((setting.miscalibration, setting.rare)), setting.cost)
    )


def sample(setting: Setting, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Predicted and true probabilities of rows."""
    temperature, shift = MISCALIBRATION[setting.miscalibration]
    if setting.classes == 2:
        predicted = np.clip(rng.beta(0.4, 19.6, n) if setting.rare else rng.beta(1, 1.5, n), 1e-6, 1 - 1e-6)
        logit = temperature * (np.log(predicted) - np.log1p(-predicted)) + shift
        return predicted, predicted if setting.miscalibration == "none" else 1 / (1 + np.exp(-logit))
    predicted = np.exp(rng.normal(0, 2.5, (n, setting.classes)))
    predicted /= predicted.sum(axis=1, keepdims=True)
    true = predicted**temperature
    return predicted, true / true.sum(axis=1, keepdims=True)


@lru_cache
def true_value(setting: Setting) -> float:
    """The error of the population; debiased errors are evaluated on labels of many rows."""
    if setting.miscalibration == "none":
        return 0.0
    rng, metric = np.random.default_rng(1), cal.catalogue[setting.metric]
    predicted, true = sample(setting, TRUE_ROWS.get(setting.metric, 400_000 // setting.classes), rng)
    if metric.soft:
        return metric(cal.Predictions(true, predicted, soft=True))
    copies = 20
    return metric(draw(np.tile(true, copies), rng), np.tile(predicted, copies))


def draw(true: Any, rng: np.random.Generator) -> Any:
    """Labels with these probabilities."""
    if true.ndim == 1:
        return (rng.random(len(true)) < true).astype(int)
    return np.minimum((true.cumsum(axis=1) < rng.random((len(true), 1))).sum(axis=1), true.shape[1] - 1)


def simulate(setting: Setting) -> dict[str, Any]:
    """How often the interval contains the true value, lies above and below it, and its median width."""
    error, ends = true_value(setting), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in range(setting.runs):
            rng = np.random.default_rng([zlib.crc32(setting.key.encode()), run])
            predicted, true = sample(setting, setting.rows, rng)
            data = cal.Predictions(draw(true, rng), predicted, classes=range(setting.classes))
            interval = cal.interval(data, metric=setting.metric, level=LEVEL, n_resamples=RESAMPLES, rng=run)
            ends.append((interval.low, interval.high))
    low, high = np.array(ends).T
    above, below = int(np.sum(low > error + 1e-12)), int(np.sum(high < error - 1e-12))
    return {
        "setting": setting._asdict(),
        "true": round(error, 5),
        "runs": setting.runs,
        "covered": setting.runs - above - below,
        "above": above,
        "below": below,
        "width": round(float(np.median(high - low)), 5),
    }


def fails(result: dict[str, Any]) -> bool:
    """Whether the coverage lies below its least value by more than two Monte Carlo errors."""
    return bool(result["covered"] / result["runs"] < LEAST - 2 * math.sqrt(LEAST * (1 - LEAST) / result["runs"]))


def page(results: dict[str, dict[str, Any]]) -> str:
    """The page of all stored settings."""
    lines = []
    for result in results.values():
        share = result["covered"] / result["runs"]
        error = math.sqrt(share * (1 - share) / result["runs"])
        where = Setting(**result["setting"])
        events = "2%" if where.rare else ""
        row = [f"`{where.metric}`", where.classes, events, where.miscalibration, where.rows, result["true"]]
        row += [result["runs"], f"{share:.3f}{' **low**' if fails(result) else ''}", f"{error:.3f}", result["width"]]
        lines.append(row)
    columns = ["metric", "classes", "events", "miscalibration", "rows", "true value", "runs", "coverage"]
    table = markdown_table([*columns, "Monte Carlo error", "median width"], sorted(lines, key=lambda row: row[:5]), 6)
    shares = [result["covered"] / result["runs"] for result in results.values()]
    missing = [setting for setting in settings() if setting.key not in results]
    by_rows = {rows: sum(setting.rows == rows for setting in missing) for rows in ROWS}
    return render(
        "intervals",
        {
            "table": table,
            "simulated": len(shares),
            "missing": len(missing),
            "missing_rows": ", ".join(f"{count} with {rows:,} rows" for rows, count in by_rows.items() if count),
            "mean": f"{np.mean(shares):.3f}",
            "least": f"{min(shares):.3f}",
            "low": sum(map(fails, results.values())),
            "resamples": RESAMPLES,
        },
    )


def main(arguments: list[str] | None = None) -> int:
    """Simulate what is missing, write the results and the page, and return 1 if the coverage is too low."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    results = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    missing = [] if options.check else [setting for setting in settings() if setting.key not in results]
    stop = time.monotonic() + 60 * options.minutes
    with ProcessPoolExecutor(options.jobs) as pool:
        while missing and time.monotonic() < stop:
            some, missing = missing[: options.jobs], missing[options.jobs :]
            for setting, result in zip(some, pool.map(simulate, some), strict=True):
                results[setting.key] = result
                print(setting.key, result["covered"] / result["runs"], result["width"], flush=True)
            rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(result)}" for key, result in sorted(results.items()))
            STORED.write_text(f"{{\n{rows}\n}}\n", "utf-8")
    (ROOT / "docs" / "simulations-intervals.md").write_text(page(results), "utf-8")
    mean = sum(result["covered"] / result["runs"] for result in results.values()) / max(len(results), 1)
    print(f"{len(results)} settings, mean coverage {mean:.3f}, {sum(map(fails, results.values()))} too low")
    return int(mean < LEAST_MEAN or any(map(fails, results.values())))


if __name__ == "__main__":
    sys.exit(main())
