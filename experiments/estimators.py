"""Bias, variance and time of all metrics whose true value is known, in 30 scenarios of two classes and four sample sizes.

``python -m experiments.estimators FOLDER`` simulates (each size is one call of `cal.study`, which keeps what it has in the folder and
continues there), writes estimators.json beside this file and docs/estimators.md; ``--small`` takes two runs, ``--page`` writes the page alone.
"""

import argparse
import json
import time
import tomllib
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.inference import simulation as simulate
from calibrant.util.arrays import Floats
from experiments.rendering import ROOT, markdown_table, number, render

RESULTS, PAGE = Path(__file__).with_suffix(".json"), ROOT / "docs" / "estimators.md"
PLAN: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SIZES = [int(n) for n in PLAN["runs"]]
TARGETS: dict[str, list[str]] = PLAN["targets"]
TARGET_OF = {metric: target for target, metrics in TARGETS.items() for metric in metrics}
METRICS = [*TARGET_OF, *(metric for metrics in PLAN["own"].values() for metric in metrics)]
CALIBRATED = "calibrated"
CURVES = {
    CALIBRATED: simulate.temperature(1.0),
    "too extreme": simulate.temperature(1.5),
    "not extreme enough": simulate.temperature(0.7),
    "too high": simulate.bias(-0.5),
    "one bump": simulate.bump(0.15, 0.5, 0.1),
    "label noise": simulate.label_noise(0.1),
}
SCENARIOS = {f"{scores}, {curve}": (CURVES[curve], scores) for scores, curve in product(PLAN["scores"], CURVES)}
QUANTITIES: dict[str, Callable[[Floats], float]] = {
    "mean gap": lambda gap: float(gap.mean()),
    "root mean square gap": lambda gap: float((gap**2).mean() ** 0.5),
    "mean square gap": lambda gap: float((gap**2).mean()),
    "largest gap": lambda gap: float(gap.max()),
    "median gap": lambda gap: float(np.median(gap)),
    "90th percentile of the gap": lambda gap: float(np.quantile(gap, 0.9)),
}


def draw(scenario: str, n: int, seed: int) -> cal.Predictions:
    """The rows of one run."""
    warp, scores = SCENARIOS[scenario]
    key = [23, list(SCENARIOS).index(scenario), n, seed]
    return cal.inference.make_miscalibrated(n, warp=warp, distribution=PLAN["scores"][scores], rng=key).predictions


@cache
def population(scenario: str, quantiles: int) -> tuple[Floats, Floats]:
    """Scores at quantiles of their distribution, and the true probability at each."""
    from scipy.stats import beta

    warp, scores = SCENARIOS[scenario]
    score = beta.ppf((np.arange(quantiles) + 0.5) / quantiles, *PLAN["scores"][scores])
    return score, np.asarray(warp.curve(score))


def truth_of(scenario: str, metric: str) -> float:
    """The quantity that a metric estimates; where there is none, the value of its formula for the population."""
    if metric in TARGET_OF:
        score, rate = population(scenario, 20_000)
        gap = np.abs(score - rate)
        return QUANTITIES[TARGET_OF[metric]](np.where(gap < 1e-12, 0.0, gap))
    metric = PLAN["population_of"].get(metric, metric)
    score, rate = population(
        scenario, 400 if metric in ("dkde", "ckce") else 2000 if metric in PLAN["slow"] else 20_000
    )
    labels = np.repeat([1, 0], len(score))
    rows = cal.Predictions(labels, np.tile(score, 2), sample_weight=np.append(rate, 1 - rate))
    value = float(cal.catalogue[metric](rows))
    return value if abs(value) > 1e-12 else 0.0


def groups(n: int, small: bool) -> list[tuple[list[str], int]]:
    """The metrics that are run on as many data sets."""
    fast = [metric for metric in METRICS if metric not in PLAN["slow"]]
    return [(fast, 2 if small else PLAN["runs"][str(n)]), (PLAN["slow"], 2 if small else PLAN["slow_runs"][str(n)])]


def measure(folder: Path, small: bool, chosen: Sequence[str] = tuple(SCENARIOS)) -> dict[str, Any]:
    """Truth, bias and standard deviation by scenario and metric, with one number for each size; and milliseconds by metric."""
    truth = {scenario: {metric: truth_of(scenario, metric) for metric in METRICS} for scenario in chosen}
    found: dict[str, Any] = {
        key: {scenario: {metric: [] for metric in METRICS} for scenario in chosen} for key in ("bias", "deviation")
    }
    for n in SIZES[:2] if small else SIZES:
        for metrics, runs in groups(n, small):
            models = {scenario: partial(draw, scenario, n) for scenario in chosen}
            path = folder / f"{n}-{len(metrics)}.jsonl"
            for row in cal.study(models, metrics=metrics, seeds=range(runs), path=path).rows:
                values = np.array([value for value in row.values if value is not None and np.isfinite(value)])
                whole = len(values) == runs
                bias = float(values.mean()) - truth[row.model][row.metric] if whole else None
                found["bias"][row.model][row.metric].append(rounded(bias))
                found["deviation"][row.model][row.metric].append(rounded(float(values.std(ddof=1)) if whole else None))
    rounded_truth = {
        scenario: {metric: rounded(value) for metric, value in of.items()} for scenario, of in truth.items()
    }
    return {"truth": rounded_truth, **found, "milliseconds": milliseconds(small)}


def rounded(value: float | None) -> float | None:
    """Four digits; None where the metric was undefined or infinite in some run."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.4g}")


def milliseconds(small: bool) -> dict[str, list[float]]:
    """Processor time of one value by number of rows: the least of three calls."""
    times: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for n in SIZES[:2] if small else SIZES:
        drawn = draw(next(iter(SCENARIOS)), n, 0)
        for metric in [metric for metrics, _ in groups(n, small) for metric in metrics]:
            taken = []
            for _ in range(3):
                start = time.process_time()
                cal.catalogue[metric](cal.Predictions(drawn.labels, drawn.probs))
                taken.append(1000 * (time.process_time() - start))
            times[metric].append(float(f"{min(taken):.2g}"))
    return times


class Found:
    """The stored results as arrays, scenario by size, with what the page asks of them; NaN where a metric was undefined in some run."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.milliseconds = results["milliseconds"]
        self.bias, self.deviation = (
            {metric: np.array([of[metric] for of in results[key].values()], np.float64) for metric in METRICS}
            for key in ("bias", "deviation")
        )
        self.calibrated = np.array([scenario.endswith(f", {CALIBRATED}") for scenario in results["truth"]])
        self.wrong = ~self.calibrated

    def averages(self, metric: str, place: int, among: Any) -> tuple[float, float, float]:
        """Means over scenarios of the size of the bias, of the standard deviation and of the root mean square error."""
        bias, deviation = self.bias[metric][among, place], self.deviation[metric][among, place]
        size, spread, error = np.nanmean([np.abs(bias), deviation, np.hypot(bias, deviation)], axis=1).tolist()
        return size, spread, error

    def wins(self, first: str, second: str, where: str) -> tuple[int, int]:
        """In how many pairs of scenario and size the first is less biased, and of how many."""
        among = {"all": slice(None), "miscalibrated": self.wrong, CALIBRATED: self.calibrated}[where]
        one, other = (np.abs(self.bias[metric][among]) for metric in (first, second))
        return int((one < other).sum()), int((np.isfinite(one) & np.isfinite(other)).sum())

    def resolution(self, place: int) -> float:
        """Monte Carlo error of the bias of `ece` in one scenario, on average."""
        return float(self.deviation["ece"][:, place].mean()) / PLAN["runs"][str(SIZES[place])] ** 0.5


def target_table(found: Found, target: str) -> str:
    """Bias, standard deviation and error of the metrics of a target, in the order of their error with 500 rows."""
    heads = ["metric", *(f"N = {n:,}" for n in SIZES), f"{CALIBRATED}, N = {SIZES[1]:,}", f"ms, N = {SIZES[-1]:,}"]
    columns = [*((place, found.wrong) for place in range(len(SIZES))), (1, found.calibrated)]
    lines = []
    for metric in sorted(TARGETS[target], key=lambda metric: found.averages(metric, 1, found.wrong)[2]):
        cells = [" / ".join(f"{value:.4f}" for value in found.averages(metric, *column)) for column in columns]
        lines.append([f"`{metric}`", *cells, number(found.milliseconds[metric][-1])])
    return markdown_table(heads, lines, len(heads) - 1)


def own_table(found: Found, metrics: Sequence[str]) -> str:
    """Standard deviation of one estimate, and the bias as a multiple of it, of metrics with a limit of their own."""
    heads = ["metric", *(f"N = {n:,}" for n in SIZES), f"ms, N = {SIZES[-1]:,}"]
    lines = []
    for metric in metrics:
        averages = [found.averages(metric, place, slice(None)) for place in range(len(SIZES))]
        cells = [f"{spread:.3g}, {size / spread:.2f}" for size, spread, _ in averages]
        lines.append([f"`{metric}`", *cells, number(found.milliseconds[metric][-1])])
    return markdown_table(heads, lines, len(heads) - 1)


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    found = Found(results)
    claims = [
        [f"`{first}` less biased than `{second}`", where, "{} of {}".format(*found.wins(first, second, where))]
        for (first, second), where in ((claim["pair"], claim["where"]) for claim in PLAN["less_biased"])
    ]
    return render(
        "estimators",
        {
            "sizes": SIZES,
            "metrics": METRICS,
            "scenarios": len(results["truth"]),
            "plan": PLAN,
            "resolution": [f"{found.resolution(place):.4f}" for place in range(len(SIZES))],
            "unbiased": [[f"{0.8 / PLAN[runs][str(n)] ** 0.5:.2f}" for n in SIZES] for runs in ("runs", "slow_runs")],
            "targets": {target: target_table(found, target) for target in TARGETS},
            "own": {family: own_table(found, metrics) for family, metrics in PLAN["own"].items()},
            "claims": markdown_table(["statement", "scenarios", "holds in"], claims),
        },
    )


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="what was simulated so far")
    parser.add_argument("--small", action="store_true", help="two runs of the two smallest sizes; nothing is written")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    chosen = parser.parse_args(arguments)
    if not chosen.page:
        chosen.folder.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
            results = measure(chosen.folder, chosen.small)
        if chosen.small:
            return
        RESULTS.write_text(json.dumps(results, separators=(",", ":"), allow_nan=False).replace("},", "},\n") + "\n")
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
