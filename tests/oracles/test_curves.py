"""Fitted curves and their coefficients: printed values, identities, separation, and large data against small."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, linprog

import calibrant as cal
from calibrant.curves import curves
from calibrant.curves.logistic_regression import (
    SeparatedError,
    fit_logistic,
    groups_of,
    logit,
    rows_of,
    separating_side,
)
from calibrant.views.view import View
from tests import checked
from tests.calling import raises

(Y_A, P_A), (Y_B, P_B) = checked.A, checked.B


def view_of(y: Any, p: Any, **weights: Any) -> View:
    kind = next(iter(weights), "unit")
    return View(np.asarray(p, float), np.asarray(y, np.uint8), weights.get(kind), kind)  # type: ignore[arg-type]


B = view_of(Y_B, P_B)


def printed(text: str) -> Any:
    """Half a unit of the last digit."""
    return pytest.approx(float(text), abs=0.5000001 * 10.0 ** -len(text.partition(".")[2]))


@pytest.mark.parametrize("seed", range(40))
def test_separation_is_found_exactly(seed: int) -> None:
    """The pattern of signs against a linear programme, for curves with one and with two zeros."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    p, y = rng.integers(1, 8, n) / 8, rng.integers(0, 2, n)
    low, high = curves.beta_features(p)
    different = len(np.unique(p))
    for columns in ([low + high], [low, high]):
        if different <= len(columns):
            continue
        x = np.column_stack([np.ones(n), *columns]) * np.where(y == 1, 1, -1)[:, None]
        found = linprog(-x.sum(axis=0), A_ub=-x, b_ub=np.zeros(n), bounds=(-1, 1))
        view = view_of(y, p)
        side = separating_side(groups_of(view), len(columns))
        assert bool(side) == (-found.fun > 1e-9)
        assert separating_side(rows_of(view), len(columns)) == side  # in any order


def exact_maximum(columns: Any, y: Any, weight: Any, start: Any) -> Any:
    """Newton steps in extended precision; the likelihood is concave, so where they end does not depend on the start."""
    x, y, w, beta = (np.asarray(values, np.longdouble) for values in (columns, y, weight, start))
    for _ in range(3):
        mu = 1 / (1 + np.exp(-(beta @ x)))
        bend = ((x * (w * mu * (1 - mu))) @ x.T).astype(float)
        beta = beta + np.linalg.solve(bend, (x @ (w * (y - mu))).astype(float))
    return beta.astype(float)


@pytest.mark.parametrize("kind", ["rows", "rounded", "float32", "counts", "edges", "rare", "almost separated"])
def test_large_data_have_the_exact_maximum(kind: str) -> None:
    """Rows that are first summarised in cells: the coefficients are those of the rows to the last digits."""
    rng = np.random.default_rng(5)
    z = 2 * rng.standard_normal(5000)
    p = 1 / (1 + np.exp(-1.5 * z))
    y = rng.random(5000) < (0.01 if kind == "rare" else 1) / (1 + np.exp(-z))
    weights: dict[str, Any] = {"counts": rng.integers(1, 100, 5000)} if kind == "counts" else {}
    if kind == "rounded":
        p = p.round(2)
    elif kind == "float32":
        p = p.astype(np.float32).astype(float)
    elif kind == "edges":
        p[:300] = y[:300] ^ (rng.random(300) < 0.1)
    elif kind == "almost separated":
        y = z > 0.5
        y[np.argsort(p)[3000:3020]] ^= True
    view = view_of(y, p, **weights)
    low, high = curves.beta_features(p)
    one, weight = np.ones(5000), weights.get("counts", np.ones(5000))
    line, bent, free = curves.logistic(view), curves.quadratic(view), curves.beta(view, constrained=False)
    for found, columns in (
        ([line.intercept, line.slope], [one, low + high]),
        ([bent.constant, bent.slope, bent.bend], [one, low + high, (low + high) ** 2]),
        ([free.a, free.b, free.c], [low, high, one]),
    ):
        assert found == pytest.approx(exact_maximum(columns, y, weight, found), rel=2e-13, abs=2e-13)
    shuffled = rng.permutation(5000)
    again = view_of(y[shuffled], p[shuffled], **{name: values[shuffled] for name, values in weights.items()})
    assert curves.logistic(again).slope == pytest.approx(line.slope, rel=1e-13)


def test_infinite_slopes_are_refused_and_named() -> None:
    for y, p in ((Y_A, P_A), ([0, 0, 1, 1], [0.2, 0.5, 0.5, 0.9]), ([1, 1, 0], [0.1, 0.2, 0.3]), ([1, 1], [0.1, 0.2])):
        for metric in (cal.cox_slope, cal.cox_intercept):
            with pytest.raises(cal.errors.UndefinedMetricError, match=f"{metric.id}.*infinite.*firth"):
                metric(y, p)
            assert math.isfinite(metric(y, p, penalty="firth"))
        with pytest.raises(SeparatedError):
            curves.logistic(view_of(y, p))
    with raises(cal.errors.UndefinedMetricError, "cox_slope"):
        cal.cox_slope([0, 1, 1], [0.3, 0.3, 0.3])


def test_what_separation_leaves_is_the_rates_seen() -> None:
    y, p = [0, 0, 1, 1, 1], [0.2, 0.5, 0.5, 0.5, 0.9]
    limit = (0.2 + 3 * abs(2 / 3 - 0.5) + 0.1) / 5
    for metric in (cal.metrics.fott_platt, cal.metrics.fott_beta, cal.metrics.fott_pl3):
        assert metric(y, p) == pytest.approx(limit, abs=1e-14)
    # Nearly separated data come near to it: many rows, of which one is on the wrong side.
    many = np.repeat([[0.2, 0], [0.6, 1]], 100_000, axis=0)
    near = np.vstack([many, [0.2, 1], [0.6, 0]])
    assert cal.metrics.fott_platt(near[:, 1].astype(int), near[:, 0]) == pytest.approx(
        cal.metrics.fott_platt(many[:, 1].astype(int), many[:, 0]), abs=1e-4
    )
    tests = [cal.sbct(rows[:, 1].astype(int), rows[:, 0]) for rows in (many, near)]
    assert tests[0] == pytest.approx(-2 * 100_000 * (math.log(0.8) + math.log(0.6)), rel=1e-12)
    assert tests[1] == pytest.approx(tests[0], rel=1e-3)


def test_an_offset_leaves_what_is_beyond_it() -> None:
    groups = groups_of(B)
    z = logit(groups.score)
    columns = np.column_stack([np.ones(10), z])
    whole = fit_logistic(groups, columns).coefficients
    beyond = fit_logistic(groups, columns, offset=z).coefficients
    assert beyond == pytest.approx(whole - [0, 1], abs=1e-12)
    shift = fit_logistic(groups, np.ones((10, 1)), offset=z)
    assert shift.coefficients[0] == printed("0.6040498931")
    assert math.sqrt(shift.covariance[0, 0]) == printed("0.786401516")
    assert fit_logistic(groups, columns, offset=z, ridge=1e9).coefficients == pytest.approx([0, 0], abs=1e-6)


def test_kernel_regression_is_its_sum() -> None:
    rng = np.random.default_rng(7)
    p, w = rng.random(60), rng.exponential(size=60)
    y = rng.integers(0, 2, 60)
    fixed = curves.kernel(view_of(y, p, importance=w), 0.1)
    at = np.array([0.0, 0.31, 0.77, 300.0])
    near = np.exp(-0.5 * ((at[:3, None] - p) / 0.1) ** 2) * w
    assert fixed(at[:3]) == pytest.approx(near @ y / near.sum(axis=1), abs=1e-13)
    assert fixed(at[3:])[0] == pytest.approx(y[p.argmax()], abs=1e-9)
    assert fixed(0.31).shape == ()
    pilot = np.exp(-0.5 * ((p[:, None] - p) / 0.1) ** 2) @ w
    widths = 0.1 / np.sqrt(pilot / np.exp(np.average(np.log(pilot), weights=w)))
    near = np.exp(-0.5 * ((at[:3, None] - p) / widths) ** 2) * w / widths
    adaptive = curves.kernel(view_of(y, p, importance=w), 0.1, adaptive=True)
    assert adaptive(at[:3]) == pytest.approx(near @ y / near.sum(axis=1), abs=1e-12)


@pytest.mark.parametrize("name", ["logistic", "beta", "isotonic", "centered_isotonic", "spline"])
def test_curves_stay_within_0_and_1_and_are_plain(name: str) -> None:
    rng = np.random.default_rng(8)
    p = rng.random(200)
    curve = getattr(curves, name)(view_of(rng.random(200) < p, p))
    rates = curve(np.linspace(0, 1, 101))
    assert (rates >= 0).all()
    assert (rates <= 1).all()
    if name != "spline":
        assert (np.diff(rates) >= 0).all()
    for value in vars(curve).values():
        assert isinstance(value, float | str | tuple)


def test_many_rows_are_the_same_as_their_groups() -> None:
    """Blocks and threads against one pass: 400 000 rows with 200 scores, as rows and as counts."""
    rng = np.random.default_rng(9)
    score = (1 + np.arange(200)) / 201
    ones = rng.binomial(2000, score**1.3)
    zeros = 2000 - ones
    p, y = np.repeat(np.tile(score, 2), [*ones, *zeros]), np.repeat([1, 0], [ones.sum(), zeros.sum()])
    counts = np.concatenate([ones, zeros])
    for name in ("cox_slope", "sbct", "pws", "fott_pl", "fott_pl3", "fott_platt", "fott_beta", "fott_spline"):
        metric = getattr(cal, name)
        kept = counts > 0
        wanted = metric(cal.Predictions(np.repeat([1, 0], 200)[kept], np.tile(score, 2)[kept], counts=counts[kept]))
        assert metric(y, p) == pytest.approx(wanted, rel=1e-10), name


def rows_with(rates: np.ndarray, each: int) -> View:
    """`each` rows at every score, of which as many are events as the rates say."""
    events = np.round(rates * each).astype(int)
    outcome = np.concatenate([np.arange(each) < count for count in events]).astype(np.uint8)
    return View(np.repeat(np.linspace(0.01, 0.99, len(rates)), each), outcome)


@pytest.mark.parametrize("rates", [
    np.sin(np.arange(300)) ** 2, np.append(np.linspace(0, 1, 300), np.zeros(200)), np.linspace(1, 0, 50), np.ones(5), np.array([0.5]),
    np.append(1.0, np.linspace(0, 0.2, 200)),
])  # fmt: skip
def test_isotonic_blocks_are_those_of_adjacent_violators(rates: np.ndarray) -> None:
    """The second case pools one further score in each pass, and leaves the rest to scipy."""
    view = rows_with(rates, 1000)
    known = isotonic_regression(np.round(rates * 1000) / 1000).x
    at = np.unique(view.score)
    assert curves.isotonic(view)(at) == pytest.approx(known, abs=1e-12)
