"""Coverage of `estimate_performance`: on simulated windows, and on real streams whose labels came later.

``python -m experiments.labelfree`` simulates, ``python -m experiments.labelfree streams FOLDER`` reads predictions of others, which are not part of the
repository: ``f538_nba_games.npz``, ``f538_mlb_games.npz`` and ``mmlu_llama31_8b_instruct.npz``. Both store their part of labelfree.json, and write the
tables of docs/monitor.md. Run i of a setting has its own generator.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.errors import UndefinedMetricError
from calibrant.monitoring import performance
from experiments.rendering import ROOT, markdown_table
from experiments.studies import draw_labels, share_error

RESULTS = Path(__file__).with_suffix(".json")
METRICS = ("accuracy", "auroc", "f1", "precision", "recall", "brier", "expected_cost")
RUNS, RESAMPLES = 60, 200
PAGE, LABELS = ROOT / "docs" / "monitor.md", ("accuracy", "AUROC", "F1", "precision", "recall", "Brier", "cost")
SETTINGS: dict[str, tuple[int, int, Any, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


def draw(rng: np.random.Generator, n: int, shape: Any) -> tuple[Any, Any, Any, Any]:
    """Labels, scores, true probabilities of all classes and features; scores are overconfident by the third parameter of a shape."""
    if isinstance(shape, dict):
        feature, other = rng.normal(shape["mean"], 1, n), rng.normal(size=n)
        true, score = (1 / (1 + np.exp(0.5 - other - slope * feature)) for slope in (1.0, 0.3))
        return (rng.random(n) < true).astype(int), score, np.column_stack([1 - true, true]), feature[:, None]
    if isinstance(shape, list):
        true = rng.beta(*shape[:2], n)
        odds = np.log(true / (1 - true)) * (shape[2] if len(shape) > 2 else 1)
        return (rng.random(n) < true).astype(int), 1 / (1 + np.exp(-odds)), np.column_stack([1 - true, true]), None
    k = abs(shape)
    probs = rng.dirichlet(np.full(k, 2 / k if k > 4 else 0.5) * (np.linspace(0.3, 1.7, k) if shape < 0 else 1), n)
    probs = np.clip(probs, 1e-9, None) / np.clip(probs, 1e-9, None).sum(axis=1, keepdims=True)
    return draw_labels(probs, rng), probs, probs, None


def costs(classes: int) -> Any:
    """Costs of a wrong decision: five times as high if the last class is true."""
    return (1 - np.eye(classes)) * np.where(np.arange(classes) == classes - 1, 5, 1)[:, None]


def values_of(
    labels: Any, scores: Any, shares: Any, metrics: Any = METRICS, threshold: float = 0.5
) -> dict[str, float]:
    """The metrics of labels that may be shares of classes."""
    cost = costs(shares.shape[1])
    rows = performance.Rows.of(cal.Predictions.derived(labels, scores), threshold, cost)
    outcomes = performance.Outcomes(rows, shares, rows.weight)
    formulas = performance.FORMULAS | {"expected_cost": partial(performance.Outcomes.expected_cost, cost=cost)}
    return {name: formulas[name](outcomes) for name in metrics}


def compared(known: Any, new: Any, targets: dict[str, dict[str, float]], **options: Any) -> dict[str, bool]:
    """Whether the interval of each estimand and metric has the value; metrics without a value are left out."""
    inside = {}
    for about, values in targets.items():
        names = [name for name, value in values.items() if not math.isnan(value)]
        options |= {"metrics": names, "about": about, "cost": costs(known.k)}
        try:
            found = cal.monitoring.estimate_performance(known, new, **options)
        except UndefinedMetricError:
            continue
        for each in found.estimates:
            inside[f"{about} {each.metric}"] = each.low - 1e-9 <= values[each.metric] <= each.high + 1e-9
    return inside


def summed_up(runs: list[dict[str, bool]]) -> dict[str, list[float]]:
    """The share of runs in which the interval has the value, and the number of runs, for each estimand and metric."""
    keys = dict.fromkeys(key for run in runs for key in run)
    hits = {key: [run[key] for run in runs if key in run] for key in keys}
    return {key: [round(float(np.mean(each)), 4), len(each)] for key, each in hits.items()}


def simulate(name: str) -> dict[str, list[float]]:
    """The results of a setting for the rows of a window, and for their population."""
    n_reference, n, before, after = SETTINGS[name]
    seed = zlib.crc32(name.encode())
    metrics = ("accuracy", "brier", "expected_cost") if after == 100 else METRICS  # most classes are not in a window
    # Events are predicted above their rate in the reference data.
    threshold = before[0] / (before[0] + before[1]) if isinstance(before, list) else 0.5
    labels, scores, shares, _ = draw(np.random.default_rng(seed), 20_000 if before == 100 else 200_000, after)
    truth = values_of(labels, scores, shares, metrics, threshold)
    runs = []
    for run in range(RUNS):
        rng = np.random.default_rng([seed, run])
        reference, (labels, scores, shares, features) = draw(rng, n_reference, before), draw(rng, n, after)
        known = cal.Predictions.derived(*reference[:2], features=reference[3])
        new = cal.Predictions.derived(labels, scores, features=features)
        own = values_of(labels, scores, np.eye(shares.shape[1])[labels], metrics, threshold)
        method = "calibrated" if features is None else "density_ratio"
        targets = {"rows": own, "population": truth}
        options = {"method": method, "threshold": threshold, "n_resamples": RESAMPLES, "rng": run}
        runs.append(compared(known, new, targets, **options))
    return summed_up(runs)


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
    results["subjects of MMLU after other subjects"] = compare((y[old], probs[old]), subjects)
    order = np.random.default_rng(0).permutation(len(y))
    known, new = np.split(order, [len(y) // 2])
    parts = [new[a : a + 200] for a in range(0, len(new) - 199, 200)]
    results["questions at random"] = compare((y[known], probs[known]), [(y[rows], probs[rows]) for rows in parts])
    return results


def compare(reference: Any, windows: list[Any]) -> dict[str, list[float]]:
    """The results of windows whose labels came later, for their rows."""
    known = cal.Predictions.derived(*reference)
    targets = [values_of(labels, scores, np.eye(known.k)[labels]) for labels, scores in windows]
    return summed_up(
        [
            compared(known, cal.Predictions.derived(*window), {"rows": own}, n_resamples=RESAMPLES)
            for window, own in zip(windows, targets, strict=True)
        ]
    )


def main(arguments: list[str]) -> None:
    """Compute one part, store it and write the tables of the page."""
    stored = json.loads(RESULTS.read_text())
    if arguments:
        stored["streams"] = streams(Path(arguments[1]))
    else:
        stored["simulated"] = {name: simulate(name) for name in SETTINGS}
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(filled(PAGE.read_text(), stored))


def filled(page: str, stored: dict[str, Any]) -> str:
    """The page with the tables of these results, each below a comment with its part and estimand."""

    def table(match: re.Match[str]) -> str:
        part, about = match[1].split()
        keys = [f"{about} {metric}" for metric in METRICS]
        lines = [
            [name, *(share_text(*row[key]) if key in row else None for key in keys)]
            for name, row in stored[part].items()
        ]
        return f"<!-- {match[1]} -->\n{markdown_table([part, *LABELS], lines, len(METRICS))}\n"

    return re.sub(r"<!-- (\w+ \w+) -->\n(?:\|.*\n)*", table, page)


def share_text(share: float, n: int) -> str:
    """A share in percent, with its Monte Carlo error."""
    return f"{100 * share:.0f} ± {100 * share_error(share, n):.0f}"


if __name__ == "__main__":
    main(sys.argv[1:])
