"""Coverage of `estimate_performance`: on simulated windows, and on real streams whose labels came later.

``python -m experiments.labelfree`` simulates, ``python -m experiments.labelfree streams FOLDER`` reads predictions of others, which are not part of the
repository: ``f538_nba_games.npz``, ``f538_mlb_games.npz`` and ``mmlu_llama31_8b_instruct.npz``. Both store their part of labelfree.json, and print it as
the tables of docs/monitor.md. Run i of a setting has its own generator.
"""

from __future__ import annotations

import json
import math
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.errors import UndefinedMetricError
from calibrant.monitoring import performance
from experiments.rendering import markdown_table

RESULTS = Path(__file__).with_suffix(".json")
METRICS = ("accuracy", "auroc", "brier")
RUNS, RESAMPLES = 150, 200
# Name of the setting: rows of the reference data and of the window; classes, the parameters of a beta distribution or the mean of a feature that
# the scores use too little; and those of the window.
SETTINGS: dict[str, tuple[int, int, Any, Any]] = {
    "200 reference rows, 50 rows": (200, 50, (2, 2), (2, 2)),
    "500 reference rows, 200 shifted rows": (500, 200, (2, 2), (3, 1.5)),
    "events of 5%, 200 rows": (1000, 200, (1, 19), (1, 19)),
    "events of 1%, 200 rows": (1000, 200, (0.5, 50), (0.5, 50)),
    "overconfident scores, 200 shifted rows": (500, 200, (2, 2, 2), (3, 1.5, 2)),
    "4 classes, 200 shifted rows": (1000, 200, 4, -4),
    "100 classes, 200 rows": (2000, 200, 100, 100),
    "`density_ratio`, 300 rows": (1000, 300, {"mean": 0.0}, {"mean": 1.0}),
    "`density_ratio`, 100 rows": (300, 100, {"mean": 0.0}, {"mean": 0.7}),
}


def draw(rng: np.random.Generator, n: int, shape: Any) -> tuple[Any, Any, Any, Any]:
    """Labels, scores, true probabilities of all classes and features; scores are overconfident by the third parameter of a shape."""
    if isinstance(shape, dict):
        feature, other = rng.normal(shape["mean"], 1, n), rng.normal(size=n)
        true, score = (1 / (1 + np.exp(0.5 - other - slope * feature)) for slope in (1.0, 0.3))
        return (rng.random(n) < true).astype(int), score, np.column_stack([1 - true, true]), feature[:, None]
    if isinstance(shape, tuple):
        true = rng.beta(*shape[:2], n)
        odds = np.log(true / (1 - true)) * (shape[2] if len(shape) > 2 else 1)
        return (rng.random(n) < true).astype(int), 1 / (1 + np.exp(-odds)), np.column_stack([1 - true, true]), None
    k = abs(shape)
    probs = rng.dirichlet(np.full(k, 2 / k if k > 4 else 0.5) * (np.linspace(0.3, 1.7, k) if shape < 0 else 1), n)
    probs = np.clip(probs, 1e-9, None) / np.clip(probs, 1e-9, None).sum(axis=1, keepdims=True)
    return (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1), probs, probs, None


def values_of(labels: Any, scores: Any, shares: Any) -> dict[str, float]:
    """The metrics of labels that may be shares of classes."""
    rows = performance.Rows.of(cal.Predictions.derived(labels, scores), 0.5, None)
    return {name: performance.FORMULAS[name](rows, shares, rows.weight) for name in METRICS}


def simulate(name: str) -> dict[str, list[float]]:
    """The share of runs in which the interval has the value, and the number of runs, for each estimand and metric."""
    n_reference, n, before, after = SETTINGS[name]
    seed = zlib.crc32(name.encode())
    labels, scores, shares, _ = draw(np.random.default_rng(seed), 20_000 if before == 100 else 200_000, after)
    truth = values_of(labels, scores, shares)
    metrics = ("accuracy", "brier") if after == 100 else METRICS  # the area of each of many classes takes long
    hits: dict[str, list[bool]] = {f"{about} {metric}": [] for about in ("rows", "population") for metric in metrics}
    for run in range(RUNS):
        rng = np.random.default_rng([seed, run])
        reference, (labels, scores, shares, features) = draw(rng, n_reference, before), draw(rng, n, after)
        known = cal.Predictions.derived(*reference[:2], features=reference[3])
        new = cal.Predictions.derived(labels, scores, features=features)
        own = values_of(labels, scores, np.eye(shares.shape[1])[labels])
        for about, values in (("rows", own), ("population", truth)):
            try:
                found = cal.monitoring.estimate_performance(
                    known,
                    new,
                    metrics=metrics,
                    about=about,
                    method="calibrated" if features is None else "density_ratio",
                    n_resamples=RESAMPLES,
                    rng=run,
                )
            except UndefinedMetricError:
                continue
            for each in found.estimates:
                if not math.isnan(values[each.metric]):
                    hits[f"{about} {each.metric}"].append(each.low - 1e-9 <= values[each.metric] <= each.high + 1e-9)
    return {key: [float(np.mean(found)), len(found)] for key, found in hits.items()}


def streams(folder: Path) -> dict[str, dict[str, list[float]]]:
    """Real windows: games in the order of time after two seasons, and subjects after half of the subjects."""
    results = {}
    for name, title in (("f538_nba_games", "games of the NBA"), ("f538_mlb_games", "games of the MLB")):
        data = np.load(folder / f"{name}.npz")
        order = np.argsort(data["season"][::-1], kind="stable")
        season, y, p = (data[key][::-1][order] for key in ("season", "label", "p_team1"))
        first = int(np.sum(season <= season.min() + 1))
        windows = [slice(a, a + 200) for a in range(first, len(y) - 199, 200)]
        results[title] = compare((y[:first], p[:first]), [(y[rows], p[rows]) for rows in windows])
    data = np.load(folder / "mmlu_llama31_8b_instruct.npz")
    probs = np.exp(data["logits"] - data["logits"].max(axis=1, keepdims=True)).astype(float)
    probs, y, subject = probs / probs.sum(axis=1, keepdims=True), data["labels"], data["subject"]
    old = subject % 2 == 0
    subjects = [(y[subject == s], probs[subject == s]) for s in np.unique(subject[~old])]
    results["subjects of MMLU, Llama 3.1 8B"] = compare((y[old], probs[old]), subjects)
    results["the same, subjects in random halves"] = compare(*halves(y, probs))
    return results


def halves(y: Any, probs: Any) -> tuple[Any, list[Any]]:
    """Half of the questions as reference data, and windows of 200 of the others."""
    order = np.random.default_rng(0).permutation(len(y))
    known, new = np.split(order, [len(y) // 2])
    parts = [new[a : a + 200] for a in range(0, len(new) - 199, 200)]
    return (y[known], probs[known]), [(y[rows], probs[rows]) for rows in parts]


def compare(reference: Any, windows: list[Any]) -> dict[str, list[float]]:
    """The share of windows whose labels gave a value in the interval, and the number of windows, for each metric."""
    known = cal.Predictions.derived(*reference)
    hits: dict[str, list[bool]] = {f"rows {metric}": [] for metric in METRICS}
    for labels, scores in windows:
        own = values_of(labels, scores, np.eye(known.k)[labels])
        found = cal.monitoring.estimate_performance(known, cal.Predictions.derived(labels, scores), metrics=METRICS)
        for each in found.estimates:
            hits[f"rows {each.metric}"].append(each.low - 1e-9 <= own[each.metric] <= each.high + 1e-9)
    return {key: [float(np.mean(found)), len(found)] for key, found in hits.items()}


def main(arguments: list[str]) -> None:
    """Compute one part, store it and print its table."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if arguments:
        stored["streams"] = streams(Path(arguments[1]))
    for name in () if arguments else SETTINGS:
        stored.setdefault("simulated", {})[name] = simulate(name)
        RESULTS.write_text(json.dumps(stored) + "\n")
    RESULTS.write_text(json.dumps(stored) + "\n")
    part = "streams" if arguments else "simulated"
    columns = [f"{about} {metric}" for about in ("rows", "population")[: 2 - len(arguments[:1])] for metric in METRICS]
    cells = [[name, *(share_text(row.get(column)) for column in columns)] for name, row in stored[part].items()]
    print(markdown_table([part, *columns], cells, len(columns)))


def share_text(found: list[float] | None) -> str:
    """A share with its Monte Carlo error, in percent."""
    if found is None:
        return ""
    share, n = found
    return f"{100 * share:.1f}% ± {100 * math.sqrt(share * (1 - share) / n):.1f}"


if __name__ == "__main__":
    main(sys.argv[1:])
