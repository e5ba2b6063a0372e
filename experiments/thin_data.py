"""How often intervals cover and guarantees hold where rows, events or cells are few.

``python -m experiments.thin_data net_benefit --jobs 2 --runs 1000`` prints a line for each setting: the share of runs in which the statement holds, with
its Monte Carlo error, and the least share that it must have. Settings below it are marked, and the command exits with 1. Run number i of a setting has its own
generator, so that the number of processes changes nothing.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

import calibrant as cal

Rng = np.random.Generator
Case = dict[str, Any]


def net_benefit(rng: Rng, shape: tuple[float, float], n: int, t: float) -> dict[str, bool]:
    """Intervals of `decision_curve` for one model, and for its difference from a second one with noisier risks."""
    p = rng.beta(*shape, n)
    noisy = np.clip(p * rng.choice([0.6, 1.4], n), 0, 1)
    curve = cal.figures.decision_curve(rng.random(n) < p, {"model": p, "noisy": noisy}, thresholds=t)
    between = curve.difference("model", "noisy")
    alone, apart = _true_benefits(shape, t)
    model = curve["model"]
    return {
        "net benefit": bool(model.low[0] <= alone <= model.high[0]),
        "difference": bool(between.low[0] <= apart <= between.high[0]),
    }


def _true_benefits(shape: tuple[float, float], t: float) -> tuple[float, float]:
    """Net benefit of risks with this beta distribution, and its excess over that of the noisier risks."""
    from scipy.stats import beta

    def benefit(least: float) -> float:
        events = beta(shape[0] + 1, shape[1]).sf(least) * shape[0] / sum(shape)
        return events - (beta(*shape).sf(least) - events) * t / (1 - t)

    return benefit(t), benefit(t) - (benefit(t / 0.6) + benefit(t / 1.4)) / 2


def threshold(rng: Rng, confidences: str, n: int, method: str) -> dict[str, bool]:
    """The accuracy that `choose_threshold` guarantees with probability 0.9, on new rows of the same distribution."""
    sample, rate, accuracy = CONFIDENCES[confidences]
    confidence = sample(rng, n)
    right = (rng.random(n) < rate(confidence)).astype(int)
    predictions = cal.Predictions(right, confidence, input="confidence")
    found = cal.choose_threshold(predictions, accuracy=accuracy, guarantee=0.9, method=method)
    kept = np.sort(_many(confidences))
    true = np.cumsum(rate(kept)[::-1]) / np.arange(1, len(kept) + 1)
    accepted = 0 if found.threshold is None else len(kept) - int(np.searchsorted(kept, found.threshold))
    return {"guarantee": accepted == 0 or bool(true[accepted - 1] >= accuracy)}


@lru_cache
def _many(confidences: str) -> Any:
    return CONFIDENCES[confidences][0](np.random.default_rng(0), 200_000)


def centres(rng: Rng, count: int, rows: int, spread: float, method: str) -> dict[str, bool]:
    """Pooled intercept, slope and O/E of `validate_by_group` in centres with few events; log-odds vary by `spread` between centres."""
    centre = np.repeat(np.arange(count), rows)
    p = rng.beta(1, 12, len(centre))
    shift = rng.normal(0, spread, count)[centre]
    y = (rng.random(len(centre)) < 1 / (1 + (1 - p) / p * np.exp(-shift))).astype(int)
    measures = (
        ["intercept", "slope"] if spread else ["intercept", "slope", "oe"]
    )  # O/E has no simple true value otherwise
    found = cal.clinical.validate_by_group(cal.Predictions(y, p, groups=centre), metrics=measures, method=method)
    truth = {"intercept": 0.0, "slope": 1.0, "oe": 1.0}
    return {name: bool(found[name].low <= truth[name] <= found[name].high) for name in measures}


# Confidences of n rows, the probability of being right given the confidence, and the accuracy wanted, which rows at the border just miss.
CONFIDENCES: dict[str, tuple[Callable[[Rng, int], Any], Callable[[Any], Any], float]] = {
    "even": (lambda rng, n: 0.5 + rng.random(n) / 2, lambda c: c - 0.02, 0.95),
    "none is accurate enough": (lambda rng, n: 0.5 + rng.random(n) / 2, lambda c: np.full_like(c, 0.949), 0.95),
    "sharp": (lambda rng, n: 1 - 10.0 ** (-6 * rng.random(n)), lambda c: np.where(c > 0.999, 0.995, 0.9), 0.98),
    "the surest are wrong": (lambda rng, n: 0.5 + rng.random(n) / 2, lambda c: np.where(c > 0.97, 0.9, 0.97), 0.95),
    "waves": (lambda rng, n: rng.random(n), lambda c: 0.9 + 0.09 * np.sin(40 * c), 0.91),
}
SHAPES = ((0.5, 99.5), (0.5, 24.5), (2.0, 18.0), (1.0, 1.0))
STUDIES: dict[str, tuple[Callable[..., dict[str, bool]], float, list[Case]]] = {
    "net_benefit": (
        net_benefit,
        0.93,
        [
            {"shape": shape, "n": n, "t": t}
            for shape, n, t in product(SHAPES, (50, 300, 5000), (0.02, 0.1, 0.2, 0.5))
            if _true_benefits(shape, t)[0] > 1e-6
        ],
    ),
    "threshold": (
        threshold,
        0.9,
        [
            {"confidences": name, "n": n, "method": method}
            for name, n, method in product(CONFIDENCES, (100, 1000, 10_000), ("sequence", "bonferroni"))
        ],
    ),
    "centres": (
        centres,
        0.93,
        [
            {"count": count, "rows": rows, "spread": spread, "method": "one_stage"}
            for count, rows, spread in product((10, 40), (30, 60, 200), (0.0, 0.3))
        ],
    ),
}
"""Function of one run, the least share of runs in which its statements must hold, and the settings."""


def one_run(study: str, case: Case, run: int) -> dict[str, bool]:
    """One simulated data set."""
    rng = np.random.default_rng([zlib.crc32(repr((study, case)).encode()), run])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return STUDIES[study][0](rng, **case)


def main() -> int:
    """Print the table of one study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--runs", type=int, default=400, help="simulated data sets of each setting")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    chosen = parser.parse_args()
    _, least, cases = STUDIES[chosen.study]
    below = 0
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for case in cases:
            each = partial(one_run, chosen.study, case)
            results = list(pool.map(each, range(chosen.runs), chunksize=math.ceil(chosen.runs / chosen.jobs / 4)))
            for name in dict.fromkeys(name for result in results for name in result):
                held = np.array([result[name] for result in results if name in result])
                error = math.sqrt(max(held.mean() * (1 - held.mean()), 1 / len(held)) / len(held))
                is_below = held.mean() < least - 3 * error
                below += is_below
                setting = ", ".join(f"{key} {value}" for key, value in case.items())
                mark = "  BELOW" if is_below else ""
                print(f"{setting}: {name} {held.mean():.3f} ± {error:.3f} ({len(held)} runs, at least {least:g}){mark}")
    print(f"{below} settings below")
    return int(below > 0)


if __name__ == "__main__":
    sys.exit(main())
