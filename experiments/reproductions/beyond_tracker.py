"""ECD and NEES of nonlinear trackers: a target that moves in a plane, seen by distance and direction, followed by an EKF and a UKF."""

from typing import Any

import numpy as np

import calibrant as cal
from experiments.reproductions.study import Part, Table

F = np.kron(np.eye(2), [[1.0, 1.0], [0.0, 1.0]])
Q = np.kron(np.eye(2), 0.02 * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]]))
START, START_COVARIANCE = np.array([30.0, 0.0, 30.0, 0.0]), np.diag([25.0, 0.5, 25.0, 0.5])


def seen(x: Any) -> Any:
    """Distance and direction of the place, which is in columns 0 and 2."""
    return np.stack([np.hypot(x[..., 0], x[..., 2]), np.arctan2(x[..., 2], x[..., 0])], axis=-1)


def turned(difference: Any) -> Any:
    """Differences of measurements, directions between -pi and pi."""
    difference = np.array(difference)
    difference[..., 1] = (difference[..., 1] + np.pi) % (2 * np.pi) - np.pi
    return difference


def slope_of(x: Any) -> Any:
    """Jacobian of the measurement, for each target."""
    distance = np.hypot(x[:, 0], x[:, 2])
    slope = np.zeros((len(x), 2, 4))
    slope[:, 0, 0], slope[:, 0, 2] = x[:, 0] / distance, x[:, 2] / distance
    slope[:, 1, 0], slope[:, 1, 2] = -x[:, 2] / distance**2, x[:, 0] / distance**2
    return slope


def extended(mean: Any, cov: Any, z: Any, noise: Any) -> tuple[Any, Any]:
    """Update of the extended Kalman filter: the measurement made linear at the prediction."""
    slope = slope_of(mean)
    gain = np.swapaxes(np.linalg.solve(slope @ cov @ np.swapaxes(slope, 1, 2) + noise, slope @ cov), 1, 2)
    rest = np.eye(4) - gain @ slope
    return mean + np.einsum("nij,nj->ni", gain, turned(z - seen(mean))), rest @ cov @ np.swapaxes(
        rest, 1, 2
    ) + gain @ noise @ np.swapaxes(gain, 1, 2)


def unscented(mean: Any, cov: Any, z: Any, noise: Any) -> tuple[Any, Any]:
    """Update of the unscented Kalman filter: the measurement at eight points with the mean and the covariance of the prediction."""
    root = np.swapaxes(np.linalg.cholesky(4 * cov), 1, 2)
    points = mean[:, None] + np.concatenate([root, -root], axis=1)
    measured = seen(points)
    centre = seen(mean)[:, None]
    off = turned(measured - centre)
    middle = off.mean(axis=1, keepdims=True)
    spread, away = off - middle, points - mean[:, None]
    innovation = np.einsum("nsi,nsj->nij", spread, spread) / 8 + noise
    cross = np.einsum("nsi,nsj->nij", away, spread) / 8
    gain = np.swapaxes(np.linalg.solve(innovation, np.swapaxes(cross, 1, 2)), 1, 2)
    update = mean + np.einsum("nij,nj->ni", gain, turned(z - centre[:, 0] - middle[:, 0]))
    cov = cov - gain @ innovation @ np.swapaxes(gain, 1, 2)
    return update, (cov + np.swapaxes(cov, 1, 2)) / 2


FILTERS = {"EKF": extended, "UKF": unscented}


def judge(rng: Any, targets: int, steps: int, direction: float, scale: float) -> dict[str, tuple[float, float, bool]]:
    """NEES, ECD and verdict of both filters at the last step; they assume measurement noise `scale` times the true one."""
    noise = np.diag([0.25, direction**2])
    state = START + rng.standard_normal((targets, 4)) @ np.linalg.cholesky(START_COVARIANCE).T
    means = {name: np.tile(START, (targets, 1)) for name in FILTERS}
    covs = {name: np.tile(START_COVARIANCE, (targets, 1, 1)) for name in FILTERS}
    for _ in range(steps):
        state = state @ F.T + rng.standard_normal((targets, 4)) @ np.linalg.cholesky(Q).T
        z = seen(state) + rng.standard_normal((targets, 2)) @ np.sqrt(noise)
        for name, update in FILTERS.items():
            means[name], covs[name] = update(means[name] @ F.T, F @ covs[name] @ F.T + Q, z, scale * noise)
    tested = {name: cal.inference.assess_gaussian(state, means[name], covs[name], metric="ecd") for name in FILTERS}
    return {name: (2 * one.statistic + 4, one.statistic, bool(one.rejected)) for name, one in tested.items()}


def part(small: bool) -> Part:
    """Right and wrong noise, exact and vague directions."""
    seeds, targets, steps = (2, 20, 5) if small else (50, 100, 30)
    lines: list[list[Any]] = []
    for direction in (0.01, 0.1, 0.3):
        for scale in (1.0, 0.5):
            found = [judge(np.random.default_rng([4, seed]), targets, steps, direction, scale) for seed in range(seeds)]
            for name in FILTERS:
                nees, ecd, unsafe = np.array([one[name] for one in found]).T
                cells = [round(float(nees.mean()), 3), round(float(ecd.mean()), 3), round(float(ecd.std(ddof=1)), 3)]
                lines.append([name, direction, scale, *cells, f"{int(unsafe.sum())} of {seeds}"])
    heads = [
        "filter",
        "noise of the direction (rad)",
        "assumed variance / true",
        "NEES",
        "ECD",
        "± over seeds",
        "unsafe at 5%",
    ]
    return Part("nonlinear", tables=[Table(heads, lines)], values={"seeds": seeds, "targets": targets, "steps": steps})
