"""Bias by construction: the true calibration error is known; what does each estimator make of few and many rows?"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.inference import simulation as simulate
from experiments.reproductions.survey_data import FACTS, Rows, answers, with_options

Floats = NDArray[np.float64]
SEED = 22
REPEATS = {100: 90, 300: 90, 1_000: 60, 3_000: 30, 10_000: 18, 30_000: 9}
FEW_REPEATS = {100: 9, 300: 6}
# These take long and see every third draw only.
SLOW, EVERY = {"ici", "fott_pl", "sece", "msce", "smece", "ece_ea"}, 3
LIMIT_ROWS = 1_000_000

MEAN_GAP = "mean gap"
ROOT = "root mean square"
SQUARE = "mean square"
OWN = "own limit"
ESTIMATORS = {group: with_options(table) for group, table in FACTS["estimators"].items()}


class Scenario(NamedTuple):
    """Scores by a Beta distribution, and the curve that makes them right or wrong."""

    name: str
    distribution: tuple[float, float]
    warp: Any
    words: str
    real: bool = False

    def draw(self, n: int, *seed: int) -> cal.inference.Simulation:
        key = [SEED, zlib.crc32(self.name.encode()), n, *seed]
        return cal.inference.make_miscalibrated(n, warp=self.warp, distribution=self.distribution, rng=key)


IMITATED: dict[str, list[str]] = FACTS["imitated"]


def plain_scenarios(small: bool) -> list[Scenario]:
    """Made up here."""
    found = [
        Scenario("calibrated", (1, 1), simulate.temperature(1.0), "even scores, every one right"),
        Scenario(
            "too extreme", (1, 1), simulate.temperature(1.5), "even scores, log-odds 1.5 times what they should be"
        ),
        Scenario(
            "one bump", (1, 1), simulate.bump(0.15, 0.5, 0.1), "even scores, too low around 0.5 and right elsewhere"
        ),
    ]
    return found[:2] if small else found


def fitted_scenario(rows: Rows, name: str, words: str) -> Scenario:
    """A Beta distribution and a Beta calibration curve fitted to real answers, which then count as the truth."""
    from scipy.stats import beta

    score = np.clip(rows.p, 1e-6, 1 - 1e-6)
    a, b, _, _ = beta.fit(score, floc=0, fscale=1)
    fitted = cal.BetaCalibration().fit(score, rows.y)

    def curve(s: Any) -> Floats:
        return fitted.predict_proba(np.clip(np.ravel(s), 1e-300, 1 - 1e-16))[:, 1].reshape(np.shape(s))

    return Scenario(name, (float(a), float(b)), simulate.function(curve), words, real=True)


def scenarios(small: bool, data: Path | None) -> list[Scenario]:
    """Made up ones, and ones that imitate real predictions."""
    found = plain_scenarios(small)
    if data is None or small:
        return found
    return found + [fitted_scenario(answers(data, name), title, words) for title, (name, words) in IMITATED.items()]


def truth_of(scenario: Scenario, group: str, name: str) -> float:
    """What an estimator should find; for metrics with a limit of their own, that limit."""
    if group != OWN:
        norm = 1 if group == MEAN_GAP else 2
        return cal.inference.true_calibration_error(scenario.warp, scenario.distribution, norm=norm) ** (
            2 if group == SQUARE else 1
        )
    if name != "smece":
        return simulate.true_value(scenario.warp, scenario.distribution, metric=name)
    if scenario.name == "calibrated":
        return 0.0
    drawn = scenario.draw(LIMIT_ROWS)
    return float(cal.smece(drawn.y_true, drawn.y_prob))


class Findings(NamedTuple):
    """Errors (estimate less truth) of one estimator in one scenario, by number of rows."""

    truth: float
    errors: dict[int, Floats]

    def bias(self, n: int) -> float:
        return float(self.errors[n].mean())

    def spread(self, n: int) -> float:
        return float(self.errors[n].std(ddof=1))

    def rmse(self, n: int) -> float:
        return float(np.sqrt(np.mean(self.errors[n] ** 2)))


Found = dict[str, dict[str, dict[str, Findings]]]


def measure(small: bool, chosen: list[Scenario]) -> Found:
    """Findings by scenario, group and estimator; all estimators see the same rows."""
    repeats = FEW_REPEATS if small else REPEATS
    found: Found = {}
    for scenario in chosen:
        calls = {
            (group, name): (cal.catalogue[of[0]], of[1])
            for group, of_group in ESTIMATORS.items()
            for name, of in of_group.items()
        }
        values: dict[tuple[str, str], dict[int, list[float]]] = {key: {n: [] for n in repeats} for key in calls}
        for n, times in repeats.items():
            for run in range(times):
                rows = scenario.draw(n, run).predictions
                for key, (metric, options) in calls.items():
                    if key[1] in SLOW and run % EVERY:
                        continue
                    values[key][n].append(float(metric(rows, **options)))
        groups: dict[str, dict[str, Findings]] = {}
        for (group, name), by_rows in values.items():
            truth = 0.0 if small and name == "smece" else truth_of(scenario, group, name)
            errors = {n: np.array(of_n) - truth for n, of_n in by_rows.items()}
            groups.setdefault(group, {})[name] = Findings(truth, errors)
        found[scenario.name] = groups
    return found


def mean_size(found: Found, group: str, name: str, n: int, among: list[str], of: str = "bias") -> float:
    """The mean over scenarios of the size of the bias, or of the root mean square error."""
    return float(np.mean([abs(getattr(found[scenario][group][name], of)(n)) for scenario in among]))


def least(found: Found, group: str, n: int, among: list[str], of: str = "bias") -> str:
    """The estimator of smallest mean size of bias or error."""
    names = found[among[0]][group]
    return min(names, key=lambda name: mean_size(found, group, name, n, among, of))


def wins(found: Found, first: str, second: str, among: list[str]) -> tuple[int, int]:
    """In how many pairs of scenario and number of rows the first has the smaller bias, and of how many."""
    pairs = [(found[s][MEAN_GAP][first], found[s][MEAN_GAP][second]) for s in among]
    outcomes = [abs(a.bias(n)) < abs(b.bias(n)) for a, b in pairs for n in a.errors]
    return sum(outcomes), len(outcomes)


def temperature_of(error: float, distribution: tuple[float, float]) -> float:
    """The temperature at which forecasts of this distribution have this true calibration error."""
    from scipy.optimize import brentq

    def gap(k: float) -> float:
        return cal.inference.true_calibration_error(simulate.temperature(k), distribution) - error

    return float(brentq(gap, 1 + 1e-9, 20, xtol=1e-6))


ROWS_TRIED = (100, 150, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 20_000)


def rows_needed(
    error: float, distribution: tuple[float, float], metric: Callable[..., float], small: bool
) -> tuple[int | None, dict[int, float]]:
    """The fewest rows with which 95% of samples exceed all but 5% of calibrated ones; and the shares found."""
    wrong = simulate.temperature(temperature_of(error, distribution))
    times = 20 if small else 200
    shares: dict[int, float] = {}
    # Errors of this size need about as many rows as their inverse square.
    tried = [n for n in ROWS_TRIED if n >= 0.8 / error**2] if not small else ROWS_TRIED[:3]
    for n in tried:
        values = {}
        for kind, warp in (("right", simulate.temperature(1.0)), ("wrong", wrong)):
            draws = (
                cal.inference.make_miscalibrated(n, warp=warp, distribution=distribution, rng=[SEED, n, i])
                for i in range(times)
            )
            values[kind] = np.array([metric(drawn.y_true, drawn.y_prob) for drawn in draws])
        shares[n] = float(np.mean(values["wrong"] > np.quantile(values["right"], 0.95)))
        if shares[n] >= 0.95:
            return n, shares
    return None, shares
