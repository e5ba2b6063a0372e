"""Seconds to fit a calibrator and to predict with it, in calibrant and in other packages with the same method; added to calibrators.json.

Contenders take turns in one process, and the median of the turns counts, so that what else runs on the machine meets all alike.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from experiments import calibrators_peers as peers
from experiments.calibrators import RESULTS

Array = NDArray[Any]
Call = Callable[[Array, Array], Any]
TURNS, PATIENCE = 3, 120.0


def here(make: Callable[..., Any], scores: Array, labels: Array) -> None:
    """Fit a method of calibrant on half of the rows, predict the others."""
    half = len(labels) // 2
    make().fit(scores[:half], labels[:half]).predict_proba(scores[half:])


def there(curve: peers.Curve, scores: Array, labels: Array) -> None:
    """Fit and predict with a curve of another package."""
    half = len(labels) // 2
    curve(scores[:half], labels[:half], scores[half:])


def rows_there(predict: peers.Predict, scores: Array, labels: Array) -> None:
    """Fit and predict with rows of logits."""
    half = len(labels) // 2
    predict((scores[:half], labels[:half]), scores[half:])


def probmetrics_logits(fit: tuple[Array, Array], new: Array) -> Array:
    """Temperature scaling of logits."""
    import torch
    from probmetrics.calibrators import TemperatureScalingCalibrator
    from probmetrics.distributions import CategoricalLogits

    logits, labels = map(torch.as_tensor, fit)
    model = TemperatureScalingCalibrator().fit_torch(CategoricalLogits(logits), labels)
    return model.predict_proba_torch(CategoricalLogits(torch.as_tensor(new))).get_probs().numpy()


def netcal_logits(fit: tuple[Array, Array], new: Array) -> Array:
    """netcal accepts probabilities only."""
    logits, labels = fit
    temperature = partial(peers.netcal_rows, peers.SCALING("TemperatureScaling"))
    return temperature((softmax(logits), labels), softmax(new))


def softmax(logits: Array) -> Array:
    """Row by row."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


BINARY: dict[str, dict[str, Call]] = {
    "isotonic": {
        "calibrant": partial(here, cal.IsotonicCalibration),
        "scikit-learn": partial(there, peers.sklearn_isotonic),
        "netcal": partial(there, partial(peers.netcal_curve, peers.BINNING("IsotonicRegression"))),
    },
    "platt": {
        "calibrant": partial(here, cal.PlattScaling),
        "scikit-learn": partial(there, peers.sklearn_platt),
        "netcal": partial(there, partial(peers.netcal_curve, peers.SCALING("LogisticCalibration"))),
        "uncertainty-calibration": partial(there, partial(peers.uncertainty, "PlattCalibrator", 10)),
    },
    "beta": {
        "calibrant": partial(here, cal.BetaCalibration),
        "betacal": partial(there, peers.betacal_beta),
        "netcal": partial(there, partial(peers.netcal_curve, peers.SCALING("BetaCalibration"))),
    },
    "venn_abers": {"calibrant": partial(here, cal.VennAbers), "venn-abers": partial(there, peers.venn_abers)},
}
MANY: dict[str, Call] = {
    "calibrant": partial(here, partial(cal.TemperatureScaling, input="logit")),
    "probmetrics": partial(rows_there, probmetrics_logits),
    "netcal": partial(rows_there, netcal_logits),
}


def binary_rows(n: int) -> tuple[Array, Array]:
    """Scores of an overconfident model."""
    drawn = cal.inference.make_miscalibrated(n, warp=cal.inference.simulation.temperature(2.0), rng=0)
    return np.asarray(drawn.y_prob), np.asarray(drawn.y_true).astype(np.int64)


def logit_rows(n: int, k: int) -> tuple[Array, Array]:
    """Logits twice as large as they should be."""
    rng = np.random.default_rng(0)
    fair = 2 * rng.standard_normal((n, k))
    labels = (fair + rng.gumbel(size=(n, k))).argmax(axis=1)
    return 2 * fair, labels


def timed(calls: dict[str, Call], scores: Array, labels: Array) -> dict[str, float]:
    """The median seconds of each; a call that took too long once is not repeated."""
    small = max(2000, len(labels) // 100)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call(scores[:small], labels[:small])  # imports
    for _ in range(TURNS):
        for name, call in calls.items():
            if not seconds[name] or seconds[name][0] < PATIENCE / TURNS:
                start = time.perf_counter()
                call(scores, labels)
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main(names: list[str]) -> None:
    """Time the cases whose names begin with the given prefixes, or all."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    warnings.simplefilter("ignore")
    cases: dict[str, tuple[dict[str, Call], Callable[[], tuple[Array, Array]]]] = {
        f"{name}, 1,000,000 rows": (calls, partial(binary_rows, 1_000_000)) for name, calls in BINARY.items()
    }
    for n, k in ((50_000, 100), (1_000_000, 10)):
        cases[f"temperature, {n:,} x {k} logits"] = (MANY, partial(logit_rows, n, k))
    for case, (calls, data) in cases.items():
        if names and not any(case.startswith(name) for name in names):
            continue
        here_now = {c: f for c, f in calls.items() if c == "calibrant" or importlib.util.find_spec(peers.MODULES[c])}
        measured = timed(here_now, *data())
        entry = {"seconds": measured, "load": os.getloadavg()[0], "cores": os.cpu_count()}
        results.setdefault("times", {})[case] = entry
        print(
            case, {name: round(value, 3) for name, value in measured.items()}, f"load {entry['load']:.1f}", flush=True
        )
    latest = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(
        json.dumps({**latest, "times": {**latest.get("times", {}), **results.get("times", {})}}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
