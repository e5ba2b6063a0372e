"""Score distributions that are difficult for closed-form intervals: rare events, few grades, concentrated and confident scores, weights."""

from typing import Any

import numpy as np

import calibrant as cal
from calibrant.util.arrays import Floats
from experiments.simulations_plan import PLAN, SETTINGS

HARD_ROWS, HARD_RUNS = 1000, 400
HARD_SCORES: dict[str, str] = PLAN["hard_scores"]
HARD_INTERVALS: dict[str, list[str]] = PLAN["hard_intervals"]
HARD_TRUTHS: dict[str, float] = PLAN["hard_truths"]


def hard_scores(distribution: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
    """Scores, and weights where the distribution has some."""
    if distribution == "five grades":
        return rng.choice([0.02, 0.1, 0.3, 0.6, 0.9], n, p=[0.4, 0.3, 0.15, 0.1, 0.05]), None
    if distribution == "concentrated":
        return 0.3 + 0.01 * rng.random(n), None
    return SETTINGS[distribution.removesuffix(" events")](rng, n, 2)


def true_rate(score: Floats, truth: str) -> Floats:
    """The event rate at each score."""
    power = 1 / HARD_TRUTHS[truth]
    # Powers of odds instead of log-odds, so that scores of 0 and 1 are preserved.
    above, below = score**power, (1 - score) ** power
    return above / (above + below)


def hard_rows(distribution: str, truth: str, n: int, rng: np.random.Generator) -> cal.Predictions:
    """Predictions with these scores, whose outcomes follow the truth."""
    score, weight = hard_scores(distribution, n, rng)
    outcome = (rng.random(n) < true_rate(score, truth)).astype(np.uint8)
    return cal.Predictions(outcome, score, sample_weight=weight)


def hard_truth(metric: str, distribution: str, truth: str) -> float:
    """What the metric tends to: its mean over outcomes, at two million scores."""
    if metric == "cox_slope":
        return 1 / HARD_TRUTHS[truth]
    if metric == "cox_intercept":
        return 0.0
    p, _ = hard_scores(distribution, 2_000_000, np.random.default_rng(20))
    q = true_rate(p, truth)
    if metric == "expected_observed_ratio":
        return float(p.mean() / q.mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(p > 0, np.log(p), 0.0), np.where(p < 1, np.log1p(-p), 0.0)
    means: dict[str, Any] = {
        "brier": (p - q) ** 2 + q * (1 - q),
        "nll": -q * logs[0] - (1 - q) * logs[1],
        "ecd": (p - q) * (logs[0] - logs[1]),
        "calibration_in_the_large": p - q,
        "l2ce_interval": (p - q) ** 2,
    }
    return float(means[metric].mean())
