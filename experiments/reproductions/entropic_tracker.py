"""Section 4.2: Gaussian ECD against NEES on a simulated target, followed by right and wrong Kalman filters."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import calibrant as cal
from calibrant.util.arrays import Array
from experiments.reproductions.entropic_verdicts import mean, spread
from experiments.reproductions.study import Part, Table

DIMENSIONS = 4
"""Place and speed along two axes."""
PROCESS, MEASUREMENT = 0.05, 1.0


class Plan(NamedTuple):
    """How much is simulated."""

    seeds: int = 100
    targets: int = 100
    steps: int = 60


class Filter(NamedTuple):
    """What a filter assumes: true noise times these."""

    name: str
    process: float = 1.0
    measurement: float = 1.0
    start: float = 1.0


FILTERS = (
    Filter("right"),
    Filter("all noise assumed half as large", 0.5, 0.5, 0.5),
    Filter("all noise assumed twice as large", 2.0, 2.0, 2.0),
    Filter("process noise a tenth", process=0.1),
    Filter("process noise tenfold", process=10.0),
    Filter("measurement noise a quarter", measurement=0.25),
    Filter("measurement noise fourfold", measurement=4.0),
)


class Model(NamedTuple):
    """x' = F x + noise(Q), z = H x + noise(R), x at the start from N(0, P)."""

    F: Array
    Q: Array
    H: Array
    R: Array
    P: Array


class Step(NamedTuple):
    """One step of a filter: the gain and the covariances it states, of the state and of the innovation. None depends on what is measured."""

    gain: Array
    covariance: Array
    innovation: Array


def model(assumed: Filter = FILTERS[0]) -> Model:
    """Nearly constant speed, one second a step; both axes alike."""
    axes = np.eye(2)
    noise = PROCESS * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])
    return Model(
        np.kron(axes, np.array([[1.0, 1.0], [0.0, 1.0]])),
        np.kron(axes, noise) * assumed.process,
        np.kron(axes, np.array([[1.0, 0.0]])),
        np.eye(2) * MEASUREMENT * assumed.measurement,
        np.kron(axes, np.diag([10.0, 1.0])) * assumed.start,
    )


def steps_of(assumed: Filter, steps: int) -> list[Step]:
    """Gains and stated covariances of a Kalman filter."""
    m = model(assumed)
    covariance, found = m.P, []
    for _ in range(steps):
        ahead = m.F @ covariance @ m.F.T + m.Q
        innovation = m.H @ ahead @ m.H.T + m.R
        gain = np.linalg.solve(innovation, m.H @ ahead).T
        rest = np.eye(DIMENSIONS) - gain @ m.H
        covariance = rest @ ahead @ rest.T + gain @ m.R @ gain.T
        found.append(Step(gain, (covariance + covariance.T) / 2, (innovation + innovation.T) / 2))
    return found


def expected_nees(assumed: Filter, steps: int) -> Array:
    """The mean of NEES at each step: the covariance that errors really have, against the one that is stated."""
    true = model()
    error, values = true.P, []
    for gain, stated, _ in steps_of(assumed, steps):
        rest = np.eye(DIMENSIONS) - gain @ true.H
        error = rest @ (true.F @ error @ true.F.T + true.Q) @ rest.T + gain @ true.R @ gain.T
        values.append(float(np.trace(np.linalg.solve(stated, error))))
    return np.array(values)


def simulate(plan: Plan, seed: int) -> tuple[Array, Array]:
    """States and measurements: step, target, component."""
    true, rng = model(), np.random.default_rng([3, seed])

    def drawn(covariance: Array) -> Array:
        return rng.standard_normal((plan.targets, len(covariance))) @ np.linalg.cholesky(covariance).T

    x, states, measured = drawn(true.P), [], []
    for _ in range(plan.steps):
        x = x @ true.F.T + drawn(true.Q)
        states.append(x)
        measured.append(x @ true.H.T + drawn(true.R))
    return np.stack(states), np.stack(measured)


class Followed(NamedTuple):
    """Estimates of all targets at each step (step, target, component) and predicted measurements, with the covariances stated."""

    estimates: Array
    stated: Array
    predicted: Array
    innovation: Array


def follow(assumed: Filter, measured: Array) -> Followed:
    """Run a filter over the measurements."""
    true, steps = model(), steps_of(assumed, len(measured))
    estimate, estimates, predicted = np.zeros((measured.shape[1], DIMENSIONS)), [], []
    for z, step in zip(measured, steps, strict=True):
        ahead = estimate @ true.F.T
        predicted.append(ahead @ true.H.T)
        estimate = ahead + (z - predicted[-1]) @ step.gain.T
        estimates.append(estimate)
    return Followed(
        np.stack(estimates),
        np.stack([step.covariance for step in steps]),
        np.stack(predicted),
        np.stack([step.innovation for step in steps]),
    )


class Found(NamedTuple):
    """One filter on the targets of one seed, at the last step and over the track."""

    nees: Any
    """Two-sided test at the last step."""
    ecd: Any
    """One-sided test at the last step."""
    over_steps: Any
    """One-sided test of ECD at the step with the smallest p-value, at a level divided by the number of steps."""
    innovations: Any
    """One-sided test of all innovations together, which are independent if the filter is correct."""
    path: Array
    """NEES at each step."""


def judge(assumed: Filter, plan: Plan, seed: int) -> Found:
    """The tests of one filter."""
    states, measured = simulate(plan, seed)
    found = follow(assumed, measured)
    last = (states[-1], found.estimates[-1], found.stated[-1])
    over_steps = [
        cal.inference.assess_gaussian(*rows, metric="ecd", alpha=0.05 / plan.steps)
        for rows in zip(states, found.estimates, found.stated, strict=True)
    ]
    every = (each.reshape(-1, each.shape[-1]) for each in (measured, found.predicted))
    innovations = (*every, np.repeat(found.innovation, plan.targets, axis=0))
    return Found(
        cal.inference.assess_gaussian(*last),
        cal.inference.assess_gaussian(*last, metric="ecd"),
        min(over_steps, key=lambda result: result.pvalue),
        cal.inference.assess_gaussian(*innovations, metric="ecd"),
        np.array([2 * result.statistic + DIMENSIONS for result in over_steps]),
    )


Judged = dict[Filter, list[Found]]


def table(judged: Judged, plan: Plan) -> Table:
    """Both statistics and all verdicts."""
    lines: list[list[Any]] = []
    for assumed, found in judged.items():
        nees, ecd = [one.nees.statistic for one in found], [one.ecd.statistic for one in found]
        theory = round(float(expected_nees(assumed, plan.steps)[-1]), 12)
        off, unsafe, track, innovations = (
            f"{sum(getattr(one, name).rejected for one in found)} of {len(found)}"
            for name in ("nees", "ecd", "over_steps", "innovations")
        )
        values = [theory, mean(nees), spread(nees), off, (theory - DIMENSIONS) / 2, mean(ecd), spread(ecd), unsafe]
        lines.append([assumed.name, *values, track, innovations])
    nees_heads = ["NEES, theory", "simulated", "± over seeds", "rejected (two-sided)"]
    ecd_heads = ["ECD, theory", "simulated", "± over seeds", "rejected as unsafe"]
    return Table(["filter", *nees_heads, *ecd_heads, "unsafe at some step (Holm)", "innovations unsafe"], lines)


def identity_table(judged: Judged) -> Table:
    """How far ECD is from (NEES - d) / 2, and how often the verdict of one-sided NEES is another than that of ECD."""
    from scipy.stats import chi2

    every = [one for found in judged.values() for one in found]
    worst = max(abs(one.ecd.statistic - (one.nees.statistic - DIMENSIONS) / 2) for one in every)
    parted = 0
    for one in every:
        limit = chi2.ppf(0.95, one.nees.n * DIMENSIONS) / one.nees.n
        parted += bool(one.nees.statistic > limit) != one.ecd.rejected
    heads = [
        "cases",
        "largest distance of ECD from (NEES - 4) / 2",
        "verdicts of one-sided NEES and of ECD that differ",
    ]
    return Table(heads, [[len(every), worst, parted]])


def draw(judged: Judged, plan: Plan, path: Path) -> None:
    """NEES along the track, and what an assumed noise of c times the true one does."""
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for assumed in FILTERS[:3]:
        (line,) = left.plot(range(1, plan.steps + 1), judged[assumed][0].path, label=assumed.name)
        left.plot(range(1, plan.steps + 1), expected_nees(assumed, plan.steps), color=line.get_color(), linestyle=":")
    one = judged[FILTERS[0]][0].nees
    left.axhspan(one.lower_critical_value, one.critical_value, color="grey", alpha=0.2, label="95% of right filters")
    left.set(xlabel="step", ylabel=f"NEES, mean of {plan.targets} targets", ylim=(0, 13))
    left.legend(frameon=False, fontsize=9)
    scale = left.secondary_yaxis("right", functions=(lambda v: (v - DIMENSIONS) / 2, lambda v: 2 * v + DIMENSIONS))
    scale.set_ylabel("ECD")
    factor = np.geomspace(0.25, 4, 50)
    right.plot(factor, DIMENSIONS / 2 * (1 / factor - 1), color="black", label="(d / 2)(1 / c - 1)")
    scaled = [(assumed.process, mean([f.ecd.statistic for f in judged[assumed]])) for assumed in FILTERS[:3]]
    right.plot(*zip(*scaled, strict=True), "o", label="simulated")
    right.axhline(0, color="grey", linewidth=0.8)
    right.set(xscale="log", xlabel="assumed noise / true noise (c)", ylabel="ECD")
    right.set_xticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
    right.minorticks_off()
    right.legend(frameon=False)
    figure.savefig(path, dpi=110)


def run(small: bool) -> tuple[Judged, Plan]:
    """All filters on all seeds."""
    plan = Plan(seeds=2, targets=30, steps=15) if small else Plan()
    return {assumed: [judge(assumed, plan, seed) for seed in range(plan.seeds)] for assumed in FILTERS}, plan


def part(judged: Judged, plan: Plan, pictures: Path) -> Part:
    """Statistics, verdicts and the picture."""
    draw(judged, plan, pictures / "entropic_tracker.png")
    caption = (
        "Left: NEES (left scale) and ECD (right scale) of three filters along the track, first seed; dotted: theory. "
        "Right: ECD when all noise is assumed c times as large as it is."
    )
    tables: Sequence[Table] = [table(judged, plan), identity_table(judged)]
    return Part("tracker", (), tables, [("entropic_tracker.png", caption)], plan._asdict())
