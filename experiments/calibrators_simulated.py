"""Calibrators whose claims need known truth: boosted calibration with features, online calibration of a drifting stream, and intervals.

``python -m experiments.calibrators_simulated`` writes calibrators_simulated.json and docs/calibrators-simulated.md; with names of studies only
these are repeated, and ``--page`` writes the page alone. Losses are expectations over labels, from the true probabilities.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

import calibrant as cal
from calibrant.recalibration.methods import METHODS
from calibrant.util.arrays import Floats
from experiments.rendering import render

RESULTS = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "calibrators-simulated.md"
SEED, NEW_ROWS = 44, 10_000
# Coefficients of the best logistic regression without the interaction, fitted to 600,000 rows of `interaction`.
INTERCEPT, SLOPES = -0.400, [0.475, 0.061]


def expected_loss(truth: Floats, p: Floats) -> float:
    """Mean negative log-likelihood of the event, over labels with these true probabilities."""
    return float(-(truth * np.log(p) + (1 - truth) * np.log1p(-p)).mean())


def summary(values: list[float]) -> dict[str, float | None]:
    """Mean and Monte Carlo error; one run has none."""
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "error": error}


def interaction(rows: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Features, true probabilities, and the scores of a logistic regression without the interaction of the features."""
    x = rng.normal(size=(rows, 2))
    return x, expit(0.8 * x[:, 0] - 0.5 + 1.5 * x[:, 0] * x[:, 1]), expit(INTERCEPT + x @ SLOPES)


def missed_interaction(rows: int, runs: int) -> dict[str, Any]:
    """Loss of the truth, of the score, of Platt scaling and of boosted calibration."""
    losses: dict[str, list[float]] = {"truth": [], "score": [], "platt": [], "boosted": []}
    for run in range(runs):
        rng = np.random.default_rng([SEED, rows, run])
        (x, truth, score), (x_new, truth_new, score_new) = interaction(rows, rng), interaction(NEW_ROWS, rng)
        y = (rng.random(rows) < truth).astype(int)
        platt = cal.PlattScaling().fit(score, y).predict_proba(score_new)[:, 1]
        boosted = cal.BoostedCalibration().fit(score, y, features=x).predict_proba(score_new, features=x_new)[:, 1]
        for name, p in {"truth": truth_new, "score": score_new, "platt": platt, "boosted": boosted}.items():
            losses[name].append(expected_loss(truth_new, p))
    above = [b - t for b, t in zip(losses["boosted"], losses["truth"], strict=True)]
    return {"rows": rows, "runs": runs, **{name: summary(v) for name, v in losses.items()}, "above": summary(above)}


def calibrated_scores(rows: int, runs: int) -> dict[str, Any]:
    """Rise of the loss of calibrated scores by boosted calibration, and the standard error of the loss of one data set."""
    rises, changed, errors = [], 0, []
    for run in range(runs):
        rng = np.random.default_rng([SEED, 1, rows, run])
        x = rng.normal(size=(rows + NEW_ROWS, 4))
        x[:, 3] = np.round(x[:, 3])
        truth = expit(x[:, 0] - 0.5 * x[:, 1] + 0.3 * rng.normal(size=len(x)))
        y = (rng.random(rows) < truth[:rows]).astype(int)
        calibrator = cal.BoostedCalibration().fit(truth[:rows], y, features=x[:rows])
        changed += calibrator.rounds_ > 0
        after = calibrator.predict_proba(truth[rows:], features=x[rows:])[:, 1]
        rises.append(expected_loss(truth[rows:], after) - expected_loss(truth[rows:], truth[rows:]))
        own = -np.log(np.where(y, truth[:rows], 1 - truth[:rows]))
        errors.append(float(own.std() / math.sqrt(rows)))
    return {
        "rows": rows,
        "runs": runs,
        "changed": changed,
        "rise": summary(rises),
        "largest": max(rises),
        "standard_error": float(np.mean(errors)),
    }


STREAMS = {
    "no drift": lambda t: (0.5 * np.ones_like(t), np.zeros_like(t)),
    "gradual drift": lambda t: (0.5 * np.ones_like(t), 3 * t),
    "change at half time": lambda t: (np.where(t < 0.5, 0.5, 1.5), np.where(t < 0.5, 0.0, 1.0)),
}


def drifting_stream(drift: str, rows: int, runs: int) -> dict[str, Any]:
    """Losses on a stream, each row predicted before its label: fixed calibrators and online ones."""
    names = ["truth", "score", "first", "best_fixed", "online", "beta", "calibeaten"]
    losses: dict[str, list[float]] = {name: [] for name in names}
    for run in range(runs):
        rng = np.random.default_rng([SEED, 2, rows, run])
        p = rng.beta(1, 1, rows)
        slope, shift = STREAMS[drift](np.arange(rows) / rows)
        truth = expit(slope * logit(p) + shift)
        y = (rng.random(rows) < truth).astype(int)
        start = rows // 10
        hindsight = cal.PlattScaling(targets="plain").fit(p, y)
        first = cal.PlattScaling().fit(p[:start], y[:start])
        predictions = {
            "truth": truth,
            "score": p,
            "first": first.predict_proba(p[start - 1 :])[:, 1],
            "best_fixed": hindsight.predict_proba(np.append(0.5, p))[1:, 1],
            "online": cal.OnlineCalibration(bins=0).update(p, y)[:, 1],
            "beta": cal.OnlineCalibration(bins=0, form="beta").update(p, y)[:, 1],
            "calibeaten": cal.OnlineCalibration().update(p, y)[:, 1],
        }
        later = slice(start, None)
        for name, q in predictions.items():
            losses[name].append(expected_loss(truth[later], q[-(rows - start) :]))
    regret = [online - fixed for online, fixed in zip(losses["online"], losses["best_fixed"], strict=True)]
    tables = {name: summary(values) for name, values in losses.items()}
    return {"drift": drift, "rows": rows, "runs": runs, **tables, "regret": summary(regret)}


# True log-odds of uniform scores p, c + a ln p - b ln(1 - p), which each method can represent: c, a and b.
LINE, TEMPERATURE = (-0.4, 0.6, 0.6), (0.0, 0.6, 0.6)
FORMULAS = {
    "platt": LINE,
    "logistic_recalibration": LINE,
    "quadratic_logit": LINE,
    "beta": (-0.4, 0.5, 1.1),
    "temperature": TEMPERATURE,
    "histogram": LINE,
    "isotonic": LINE,
    "venn_abers": LINE,
}
RESAMPLED = {"offset_adjustment": (-0.4, 1.0, 1.0), "spline": LINE}
SCORES = np.array([0.02, 0.1, 0.3, 0.6, 0.8, 0.95])
GRID = (np.arange(20_000) + 0.5) / 20_000


def interval_coverage(method: str, curve: tuple[float, float, float], rows: int, runs: int) -> dict[str, Any]:
    """How often 95 % intervals contain the true probability of each score: of histograms, the mean of its bin."""
    constant, a, b = curve

    def truth(p: Floats) -> Floats:
        return np.asarray(expit(constant + a * np.log(p) - b * np.log1p(-p)))

    covered, widths = np.zeros(len(SCORES)), []
    for run in range(runs):
        rng = np.random.default_rng([SEED, 3, rows, run])
        p = rng.uniform(size=rows)
        calibrator: Any = METHODS[method]().fit(p, (rng.random(rows) < truth(p)).astype(int))
        found, target = calibrator.predict_interval(SCORES), truth(SCORES)
        if method == "histogram":
            edges = calibrator.edges_[0][1:-1]
            bins = np.searchsorted(edges, GRID)
            target = (np.bincount(bins, truth(GRID)) / np.bincount(bins))[np.searchsorted(edges, SCORES)]
        covered += (found.low <= target) & (target <= found.high)
        widths.append(float((found.high - found.low).mean()))
    shares = covered / runs
    cell = {"coverage": shares.tolist(), "mean": float(shares.mean()), "least": float(shares.min())}
    return {"method": method, "rows": rows, "runs": runs, **cell, "width": float(np.mean(widths))}


STUDIES = {
    "missed_interaction": lambda: [missed_interaction(rows, runs) for rows, runs in ((2000, 30), (10_000, 20))],
    "calibrated_scores": lambda: [calibrated_scores(rows, runs) for rows, runs in ((500, 200), (5000, 60))],
    "drifting_stream": lambda: [drifting_stream(drift, 2500, 40) for drift in STREAMS],
    "intervals": lambda: [
        interval_coverage(*each, rows, 1000) for each in FORMULAS.items() for rows in (100, 300, 1000)
    ],
    "resampled": lambda: [interval_coverage(*each, rows, 30) for each in RESAMPLED.items() for rows in (100, 300)],
}


def main() -> None:
    """Simulate, store and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", choices=[[], *STUDIES])
    parser.add_argument("--page", action="store_true", help="write the page alone")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in [] if options.page else options.studies or STUDIES:
        results[name] = STUDIES[name]()
        text = json.dumps({key: results[key] for key in STUDIES if key in results}, indent=1)
        RESULTS.write_text(text + "\n", encoding="utf-8")
        print(name, json.dumps(results[name]), flush=True)
    PAGE.write_text(render("calibrators-simulated", results), encoding="utf-8")


if __name__ == "__main__":
    main()
