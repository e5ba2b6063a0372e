"""Bias, variance and time of all metrics whose true value is known, in 30 scenarios of two classes and four sample sizes.

``python -m experiments.estimators FOLDER`` simulates (each size is one call of `cal.study`, which keeps what it has in the folder and
continues there), writes estimators.json beside this file and docs/estimators.md; ``--small`` takes two runs, ``--page`` writes the page alone.
"""

import argparse
import json
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.inference import simulation as simulate
from experiments.rendering import ROOT, markdown_table, number, render

Floats = NDArray[np.float64]
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
    slow = [metric for metric in PLAN["slow"] if n < PLAN["omitted"].get(metric, np.inf)]
    fast = [metric for metric in METRICS if metric not in PLAN["slow"]]
    return [(fast, 2 if small else PLAN["runs"][str(n)]), (slow, 2 if small else PLAN["slow_runs"][str(n)])]


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
    """The stored results, with what the page asks of them."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results
        self.wrong = [scenario for scenario in results["truth"] if not scenario.endswith(f", {CALIBRATED}")]
        self.calibrated = [scenario for scenario in results["truth"] if scenario not in self.wrong]

    def bias(self, scenario: str, metric: str, place: int) -> float | None:
        """Bias with this size; None where it was not run or undefined."""
        return next(iter(self.results["bias"][scenario][metric][place : place + 1]), None)

    def deviation(self, scenario: str, metric: str, place: int) -> float | None:
        """Standard deviation of one estimate."""
        return next(iter(self.results["deviation"][scenario][metric][place : place + 1]), None)

    def size(self, metric: str, place: int, among: Iterable[str], squared: bool = False) -> float | None:
        """Mean over scenarios of the size of the bias, or of the root mean square error."""
        cells = [(self.bias(scenario, metric, place), self.deviation(scenario, metric, place)) for scenario in among]
        known = [(bias, deviation) for bias, deviation in cells if bias is not None and deviation is not None]
        if not known:
            return None
        return float(np.mean([np.hypot(bias, deviation) if squared else abs(bias) for bias, deviation in known]))

    def relative(self, metric: str, place: int) -> float | None:
        """Mean size of the bias over mean standard deviation, of all scenarios."""
        cells = [
            (self.bias(scenario, metric, place), self.deviation(scenario, metric, place))
            for scenario in self.results["truth"]
        ]
        known = [(abs(bias), deviation) for bias, deviation in cells if bias is not None and deviation is not None]
        return sum(bias for bias, _ in known) / sum(deviation for _, deviation in known) if known else None

    def wins(self, first: str, second: str, where: str) -> tuple[int, int]:
        """In how many pairs of scenario and size the first is less biased, and of how many."""
        among = {"all": [*self.calibrated, *self.wrong], "miscalibrated": self.wrong, CALIBRATED: self.calibrated}[
            where
        ]
        pairs = [(self.bias(s, first, at), self.bias(s, second, at)) for s in among for at in range(len(SIZES))]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        return sum(abs(a) < abs(b) for a, b in known), len(known)

    def resolution(self, place: int) -> float:
        """Monte Carlo error of the bias of `ece` in one scenario, on average."""
        errors = [self.deviation(scenario, "ece", place) or 0.0 for scenario in self.results["truth"]]
        return float(np.mean(errors)) / PLAN["runs"][str(SIZES[place])] ** 0.5


def target_table(found: Found, target: str) -> str:
    """Bias and error of the metrics of a target, in the order of their error with 500 rows."""
    heads = ["metric", *(f"N = {n:,}" for n in SIZES), f"{CALIBRATED}, N = {SIZES[1]:,}", f"ms, N = {SIZES[-1]:,}"]
    places = range(len(SIZES))
    lines = []
    for metric in sorted(TARGETS[target], key=lambda metric: found.size(metric, 1, found.wrong, True) or np.inf):
        cells = [pair(found.size(metric, at, found.wrong), found.size(metric, at, found.wrong, True)) for at in places]
        calm = pair(found.size(metric, 1, found.calibrated), found.size(metric, 1, found.calibrated, True))
        lines.append([f"`{metric}`", *cells, calm, cost(found, metric)])
    return markdown_table(heads, lines, len(heads) - 1)


def own_table(found: Found, metrics: Sequence[str]) -> str:
    """Bias as a multiple of the standard deviation of one estimate, of metrics with a limit of their own."""
    heads = ["metric", *(f"N = {n:,}" for n in SIZES), f"ms, N = {SIZES[-1]:,}"]
    cells = {metric: [found.relative(metric, place) for place in range(len(SIZES))] for metric in metrics}
    lines = [
        [f"`{metric}`", *("" if value is None else f"{value:.2f}" for value in values), cost(found, metric)]
        for metric, values in cells.items()
    ]
    return markdown_table(heads, lines, len(heads) - 1)


def pair(bias: float | None, error: float | None) -> str:
    """Bias and root mean square error in one cell."""
    return "" if bias is None or error is None else f"{bias:.4f} / {error:.4f}"


def cost(found: Found, metric: str) -> str:
    """Milliseconds with the most rows."""
    times = found.results["milliseconds"][metric]
    return number(times[-1]) if len(times) == len(SIZES) else ""


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
            "unbiased": [f"{0.8 / PLAN['runs'][str(n)] ** 0.5:.2f}" for n in SIZES],
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
