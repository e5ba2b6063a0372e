"""Properties of every calibrator: only ratios of importance matter, counts are repeated rows, and the order of rows means nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.grouped import GroupedCalibrator
from calibrant.recalibration.methods import METHODS, TYPES
from tests.in_turn import spread

from .problems import COLUMNS, Problem, random_problem

# One of each type, and every way of counting rows that an option brings; what a type needs to be made or to have an effect.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "PlattScaling": [{}, {"targets": "plain"}],
    "VennAbers": [{}, {"rule": "brier"}],
    "CrossVennAbers": [{"folds": 3}, {"folds": 3, "rule": "brier", "calibrate_on": "others"}],
    "BetaCalibration": [{}, {"parameters": "ab"}],
    "HistogramBinning": [{}, {"binning": "equal_width", "shrink": 0.5}, {"binning": cal.EqualWidth(5)}],
    "TopLabelHistogramBinning": [{"points_per_bin": 20}],
    "TemperatureScaling": [{}, {"objective": "brier"}],
    "KernelCalibration": [{}, {"adaptive": True}],
    "ConsistencyCalibration": [{}, {"noise": "uniform"}],
    "PriorShift": [{"before": None}, {"before": None, "after": "labels"}],
    "GroupCalibration": [{"calibrator": cal.VennAbers()}],
    "LensCalibration": [
        {"calibrator": cal.PlattScaling(), "lens": "top_label"},
        {"calibrator": cal.TemperatureScaling(), "lens": "class:1"},
        {"calibrator": cal.IsotonicCalibration(), "lens": "band:0.2,0.9"},
    ],
    "MultiCalibration": [{"min_size": 20}, {"min_size": 20, "held_out": 0}],
    "SafeCalibration": [{}, {"calibrator": cal.PlattScaling(), "shrinkage": "uniform", "bins": 2, "alpha": 0.4}],
}
SOLVED = 1e-5  # how far a search for the optimum may stop from it, in probability
SCALES = (1000, 0.001, np.pi)


Variant = tuple[str, dict[str, Any]]
EVERY: list[Variant] = [(name, options) for name in sorted(TYPES) for options in VARIANTS.get(name, [{}])]


def made(variant: Variant, k: int) -> Calibrator:
    name, options = variant
    if "before" in options:
        options = {**options, "before": np.full(k, 1 / k)}
    return TYPES[name](**options)


def mapped(calibrator: Calibrator, given: Problem, new: Problem, **words: Any) -> NDArray[np.float64]:
    """What the calibrator, fitted on one problem, gives for the rows of another; the interval too where it has one."""
    grouped = isinstance(calibrator, GroupedCalibrator)
    fit_groups, new_groups = ({"groups": p.groups} if grouped else {} for p in (given, new))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrator.fit(given.p, given.y, **fit_groups, **words)
        found = calibrator.predict_proba(new.p, **new_groups)
        ends = calibrator.predict_interval(new.p) if isinstance(calibrator, cal.VennAbers) else ()
    return np.column_stack([found, *ends])


every_calibrator = spread("variant", EVERY)
shapes = pytest.mark.parametrize("shape", ["binary", pytest.param("three", marks=pytest.mark.deep), "four"])
tied = pytest.mark.parametrize("tied", [False, True], ids=["smooth", "tied"])
COLUMNS["four"] = 4


def problems(shape: str, tied: bool) -> tuple[Problem, Problem]:
    return random_problem(shape, 3, tied=tied, n=157), random_problem(shape, 8, n=50)


def test_every_calibrator_is_tried() -> None:
    assert {type(make()).__name__ for make in METHODS.values()} <= {name for name, _ in EVERY}
    assert set(VARIANTS) <= set(TYPES)


@shapes
@tied
@every_calibrator
def test_only_ratios_of_importance_matter(variant: Variant, shape: str, tied: bool, deep: bool) -> None:
    given, new = problems(shape, tied)
    rng = np.random.default_rng(8)
    for weight in (np.ones(given.n), 1.0 + rng.integers(0, 5, given.n), rng.uniform(0.1, 3, given.n)):
        wanted = mapped(made(variant, given.k), given, new, sample_weight=weight)
        for scale in SCALES if deep else SCALES[-1:]:
            found = mapped(made(variant, given.k), given, new, sample_weight=weight * scale)
            assert found == pytest.approx(wanted, abs=SOLVED), f"sample_weight times {scale}"
        if weight.max() == 1:  # equal weights are none
            plain = mapped(made(variant, given.k), given, new)
            assert wanted == pytest.approx(plain, abs=SOLVED)


@shapes
@tied
@every_calibrator
def test_counts_are_repeated_rows(variant: Variant, shape: str, tied: bool) -> None:
    given, new = problems(shape, tied)
    counts = np.random.default_rng(9).integers(0, 5, given.n)
    counts[[0, -1]] = 0
    rows = np.repeat(np.arange(given.n), counts)
    found = mapped(made(variant, given.k), given, new, counts=counts)
    wanted = mapped(made(variant, given.k), given.take(rows), new)
    assert found == pytest.approx(wanted, abs=SOLVED)


@shapes
@tied
@every_calibrator
def test_a_row_of_weight_zero_is_no_row(variant: Variant, shape: str, tied: bool) -> None:
    given, new = problems(shape, tied)
    rng = np.random.default_rng(7)
    weight = rng.integers(0, 3, given.n) * rng.uniform(0.1, 3, given.n)
    weight[[0, -1]] = 0
    kept = weight > 0
    found = mapped(made(variant, given.k), given, new, sample_weight=weight)
    wanted = mapped(made(variant, given.k), given.take(kept), new, sample_weight=weight[kept])
    assert found == pytest.approx(wanted, abs=SOLVED)


@shapes
@tied
@every_calibrator
def test_the_order_of_rows_changes_nothing(variant: Variant, shape: str, tied: bool, deep: bool) -> None:
    given, new = problems(shape, tied)
    rng = np.random.default_rng(11)
    weights: tuple[dict[str, Any], ...] = (
        {},
        {"counts": rng.integers(0, 4, given.n)},
        {"sample_weight": rng.exponential(size=given.n)},
    )
    for words in weights:
        wanted = mapped(made(variant, given.k), given, new, **words)
        for _ in range(4 if deep else 1):
            order = rng.permutation(given.n)
            moved = {word: weight[order] for word, weight in words.items()}
            found = mapped(made(variant, given.k), given.take(order), new, **moved)
            assert found == pytest.approx(wanted, abs=SOLVED), f"another order of the rows with {list(words)}"


@pytest.mark.parametrize(
    "name", ["MatrixScaling", "DirichletCalibration", "MultiCalibration", "ConsistencyCalibration"]
)
@pytest.mark.parametrize("k", [2, 4])
def test_the_order_of_rows_with_sharp_logits_changes_nothing(name: str, k: int) -> None:
    """Most of these logits have probabilities of exactly 0 and 1, which do not tell rows apart."""
    rng = np.random.default_rng(k)
    logits = rng.normal(0, 300, (400, k))
    y = (logits / 200 + rng.gumbel(size=(400, k))).argmax(axis=1)
    groups = rng.integers(0, 3, 400)
    given = {"groups": groups} if name == "MultiCalibration" else {}

    def applied(order: NDArray[Any]) -> NDArray[np.float64]:
        made = TYPES[name](input="logit")
        words = {word: values[order] for word, values in given.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.fit(logits[order], y[order], **words)
            return made.predict_proba(logits / 2, **given)

    wanted = applied(np.arange(400))
    for _ in range(2):
        assert applied(rng.permutation(400)) == pytest.approx(wanted, abs=SOLVED)
