"""What the survey says of the number of rows that an error needs to be seen, tried where the true error is known."""

from collections.abc import Callable

import numpy as np

import calibrant as cal
from calibrant.inference import simulation as simulate
from experiments.reproductions.study import Part, Row

SEED = 22
DISTRIBUTIONS = {"even scores": (1.0, 1.0), "scores near 1": (5.0, 1.0)}


def part(small: bool) -> Part:
    """Rows with which `ece_db` of a wrong forecast exceeds nearly all values of calibrated ones."""
    rows = []
    for title, distribution in DISTRIBUTIONS.items():
        for published, error in ((500, 0.1), (10_000, 0.02)):
            needed, shares = rows_needed(error, distribution, cal.ece_db, small)
            seen = "; ".join(f"{n}: {share:.2f}" for n, share in list(shares.items())[-3:])
            rows.append(
                Row(f"rows needed to detect an error of {error:g}, {title}", published, needed, note=f"power {seen}")
            )
    return Part("claims", rows)


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
