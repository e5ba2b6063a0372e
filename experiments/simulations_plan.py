"""The design of the simulations: tests and their validity, distributions of scores, alternatives, and numbers of runs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from calibrant.inference.simulation.warps import bump, temperature
from calibrant.metrics.registry import catalogue

ALPHAS = (0.01, 0.05, 0.1)
DRAWS, SMALL_DRAWS, AUTO_DRAWS = 199, 39, 99


class Test(NamedTuple):
    """A test and its validity: ``asymptotic``, ``simulated`` (any number of rows) or ``bound`` (conservative).

    ``auto`` is the choice of `assess`, which is to hold its level in any setting.
    """

    __test__ = False

    metric: str
    method: str
    validity: str
    options: dict[str, Any]
    documented: str = ""
    """The documented limitation of a test that does not hold its level."""


def auto(metric: str) -> Test:
    """The test that `assess` chooses: asymptotic where that is accurate, by simulated labels elsewhere."""
    return Test(metric, "auto", "auto", {})


PLAN: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TESTS = {name: Test(**{"options": {}, **facts}) for name, facts in PLAN["tests"].items()}
AUTOMATIC = {name: test for name, test in TESTS.items() if test.validity == "auto"}
RESAMPLED = {name for name, test in TESTS.items() if test.validity == "simulated" or test.method == "bootstrap"}

DISTRIBUTIONS = {"even": (1.0, 1.0), "sharp": (0.5, 0.5), "skewed": (5.0, 1.0)}
Rows = tuple[Any, Any]


def _rare(rng: np.random.Generator, n: int, classes: int) -> Rows:
    if classes == 2:
        return rng.beta(0.5, 99.5, n), None
    return rng.dirichlet([99.5, *[0.5 / (classes - 1)] * (classes - 1)], n), None


def _five_grades(rng: np.random.Generator, n: int, classes: int) -> Rows:
    if classes == 2:
        return rng.choice([0.02, 0.06, 0.15, 0.3, 0.6], n), None
    return np.random.default_rng(5).dirichlet([1.0] * classes, 5)[rng.integers(5, size=n)], None


def _concentrated(rng: np.random.Generator, n: int, classes: int) -> Rows:
    if classes == 2:
        return rng.beta(300, 700, n), None
    return rng.dirichlet(1000 * np.arange(1, classes + 1) / (classes * (classes + 1) / 2), n), None


def _sharp_logits(rng: np.random.Generator, n: int, classes: int) -> Rows:
    if classes == 2:
        return 1 / (1 + np.exp(-rng.normal(0, 20, n))), None
    return softmax(rng.normal(0, 20, (n, classes)), axis=1), None


def _weighted(rng: np.random.Generator, n: int, classes: int) -> Rows:
    score = rng.random(n) if classes == 2 else rng.dirichlet([1.0] * classes, n)
    return score, rng.exponential(size=n)


SETTINGS: dict[str, Callable[[np.random.Generator, int, int], Rows]] = {
    "rare": _rare,
    "five grades": _five_grades,
    "concentrated": _concentrated,
    "sharp logits": _sharp_logits,
    "importance weights": _weighted,
}
"""Settings in which asymptotic null distributions are inaccurate: scores of each row, and weights or None."""
GRADES: dict[str, list[float]] = PLAN["grades"]


def few_scores(setting: str, rng: np.random.Generator, n: int) -> Any:
    """Calibrated scores with few distinct values or few events."""
    if setting in GRADES:
        return rng.choice(GRADES[setting], n)
    if setting == "points":
        return 1 / (1 + np.exp(4 - 0.35 * rng.binomial(20, 0.4, n)))
    mean = {"1% events": 0.01, "0.2% events": 0.002}[setting]
    return rng.beta(1, 1 / mean - 1, n)


FEW = {
    **{name: f"{name.split()[0]} equally frequent scores, {min(of):g} to {max(of):g}" for name, of in GRADES.items()},
    "points": "0 to 20 points, Binomial(20, 0.4), with log-odds 0.35 points - 4",
    "1% events": "Beta(1, 99)",
    "0.2% events": "Beta(1, 499)",
}
"""Settings with few distinct scores or few events, in which each metric is tested as `assess` does by default."""
ALTERNATIVES = {"power 1.3": lambda score: score**1.3, "temperature 1.25": temperature(1.25), "bump": bump()}


class Plan(NamedTuple):
    """Tests on the same rows, and how many runs they get for each number of rows."""

    tests: tuple[str, ...]
    runs: dict[int, int]
    classes: tuple[int, ...]
    distributions: tuple[str, ...]


GROUPS = {name: tuple(members) for name, members in PLAN["groups"].items()}
# Metrics with a test of their own (some take longer), and all others, whose labels are always simulated. The mean confidence does not
# depend on the labels, and has no test.
OWN, OWN_SLOWLY, SLOWLY, UNTESTED = (GROUPS[name] for name in ("own", "own slowly", "slowly", "untested"))
QUICKLY = tuple(metric for metric in catalogue if metric not in (*OWN, *OWN_SLOWLY, *SLOWLY, *UNTESTED))
GROUPS["quickly"] = QUICKLY
TIED, RARE = GROUPS["tied"], GROUPS["rare events"]
# 19 resamples suffice for the level 0.05: a test by simulated labels then rejects if the observed value is the most extreme of 20.
FEW_DRAWS = 19


def members(names: list[str]) -> tuple[str, ...]:
    """Names, with those of groups replaced by their members."""
    return tuple(member for name in names for member in GROUPS.get(name, (name,)))


def plans(kind: str) -> list[Plan]:
    """The plans of one kind."""
    return [
        Plan(
            members(facts["tests"]),
            {int(n): runs for n, runs in facts["runs"].items()},
            tuple(facts.get("classes", (2,))),
            members(facts.get("distributions", list(DISTRIBUTIONS))),
        )
        for facts in PLAN[kind]
    ]


# Of the choice of `assess` in settings that are difficult for asymptotic distributions (hard) a few runs show whether simulated labels,
# which hold their level by construction, were needed and used.
SIZE, HARD, EVERY_METRIC, POWER = (plans(kind) for kind in ("size", "hard", "every_metric", "power"))

TRUTHS = {"calibrated": temperature(1.0), "temperature 1.5": temperature(1.5)}
COVERAGE_ROWS, RESAMPLES = 1000, 200
COVERAGE: dict[str, dict[str, int]] = PLAN["coverage"]


def parameters(distribution: str, classes: int) -> tuple[float, ...]:
    """Parameters of the Beta or Dirichlet distribution of the scores."""
    first, second = DISTRIBUTIONS[distribution]
    return (first, *[second] * (classes - 1))
