"""Properties of every calibrator: probabilities, weights, counts, order of rows and columns, refits, names of classes, and errors."""

import copy
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.binary import Multiclass, ScoreCalibrator
from calibrant.recalibration.methods import METHODS, TYPES
from tests.calling import raises
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
    "ChainedCalibration": [{"calibrators": (cal.TemperatureScaling(), cal.BetaCalibration(multiclass="pooled"))}],
    "MultiCalibration": [{"min_size": 20}, {"min_size": 20, "held_out": 0}],
    "BoostedCalibration": [{"folds": 2, "depth": 2, "min_rows": 5, "max_rounds": 3}],
    "OnlineCalibration": [{}, {"form": "beta", "bins": 0}],
    "StructuredScaling": [{}, {"form": "vector"}],
    "SafeCalibration": [{}, {"calibrator": cal.PlattScaling(), "shrinkage": "uniform", "bins": 2, "alpha": 0.4}],
}
SOLVED = 1e-5  # how far a search for the optimum may stop from it, in probability
SCALES = (1000, 0.001, np.pi)
SPLIT = ("CrossVennAbers", "MatrixScaling", "DirichletCalibration")  # into folds by the numbers of the classes


Variant = tuple[str, dict[str, Any]]
# Labels that do not exclude each other have tests of their own.
EVERY: list[Variant] = [
    (name, options) for name in sorted(set(TYPES) - {"MultilabelCalibration"}) for options in VARIANTS.get(name, [{}])
]


def made(variant: Variant, k: int) -> Calibrator:
    name, options = variant
    if "before" in options:
        options = {**options, "before": np.full(k, 1 / k)}
    return TYPES[name](**options)


def beside(calibrator: Calibrator, problem: Problem) -> dict[str, Any]:
    """Groups or features, for a calibrator that needs them."""
    return {calibrator.needs: getattr(problem, calibrator.needs)} if calibrator.needs else {}


def mapped(calibrator: Calibrator, given: Problem, new: Problem, **words: Any) -> NDArray[np.float64]:
    """What the calibrator, fitted on one problem, gives for the rows of another; the interval too where it has one."""
    fit_words, new_words = beside(calibrator, given), beside(calibrator, new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrator.fit(given.p, given.y, **fit_words, **words)
        found = calibrator.predict_proba(new.p, **new_words)
        ends = calibrator.predict_p0_p1(new.p) if isinstance(calibrator, cal.VennAbers) else ()
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


def fit(variant: Variant, given: Problem, labels: Any = None) -> Calibrator:
    """The calibrator fitted to a problem; `labels` in place of its own."""
    calibrator = made(variant, given.k)
    words = beside(calibrator, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.CalibrantWarning)
        return calibrator.fit(given.p, given.y if labels is None else labels, **words)


def apply(calibrator: Calibrator, new: Problem) -> NDArray[np.float64]:
    words = beside(calibrator, new)
    return calibrator.predict_proba(new.p, **words)


@shapes
@every_calibrator
def test_probabilities_refits_and_errors(variant: Variant, shape: str) -> None:
    given, new = problems(shape, True)
    with pytest.raises(cal.errors.NotFittedError):
        apply(made(variant, given.k), new)
    calibrator = fit(variant, given)
    rows = apply(calibrator, new)
    assert rows.shape == (new.n, given.k)
    assert ((rows >= 0) & (rows <= 1)).all()
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12
    if calibrator.keeps_argmax:
        predicted = new.p.argmax(axis=1) if new.p.ndim == 2 else (new.p > 0.5).astype(int)
        assert (rows[np.arange(new.n), predicted] >= rows.max(axis=1) - 1e-12).all()
    assert "\n" not in repr(calibrator)
    assert len(repr(calibrator)) < 300
    other = random_problem(shape, 5, n=90)
    words = beside(calibrator, other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.CalibrantWarning)
        fit(variant, other)
        calibrator.fit(other.p, other.y, **words)
    assert (apply(calibrator, new) == apply(fit(variant, other), new)).all()  # a refit forgets
    with raises(cal.errors.ShapeError, "scores"):
        apply(calibrator, random_problem("three" if shape != "three" else "four", 4, n=new.n))


@shapes
@every_calibrator
def test_rows_that_were_fitted_are_noticed_in_any_order(variant: Variant, shape: str) -> None:
    given, new = problems(shape, False)
    calibrator = fit(variant, given)
    order = np.random.default_rng(0).permutation(given.n)
    if calibrator.fitted:
        with pytest.warns(cal.errors.InSampleWarning):
            apply(calibrator, given.take(order))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apply(calibrator, new)


@every_calibrator
def test_classes_have_names_and_copies_are_not_fitted(variant: Variant) -> None:
    given, new = problems("four", False)
    names = np.array(["ash", "birch", "cedar", "oak"])
    if variant[1].get("lens") == "class:1":  # a class by its number
        return
    named = fit(variant, given, names[given.y])
    assert named.classes_.tolist() == names.tolist()
    assert (apply(named, new) == apply(fit(variant, given), new)).all()
    sklearn = pytest.importorskip("sklearn.base")
    copied = sklearn.clone(named)
    assert repr(copied) == repr(made(variant, 4))
    assert not hasattr(copied, "fit_record_")


@every_calibrator
def test_two_columns_are_as_one_and_logits_as_probabilities(variant: Variant) -> None:
    given, new = problems("binary", False)
    one = apply(fit(variant, given), new)
    columns = [replace(each, p=np.column_stack([1 - each.p, each.p])) for each in (given, new)]
    assert apply(fit(variant, columns[0]), columns[1]) == pytest.approx(one, abs=1e-9)
    calibrator = made(variant, 2)
    inner = [name for name in calibrator.get_params() if name == "input" or name.endswith("__input")]
    calibrator = copy.deepcopy(calibrator).set_params(**dict.fromkeys(inner, "logit"))
    if isinstance(calibrator, cal.ChainedCalibration):
        calibrator.calibrators[0].set_params(input="logit")
    words = [beside(calibrator, p) for p in (given, new)]
    logits = [np.log(each.p / (1 - each.p)) for each in (given, new)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.CalibrantWarning)
        found = calibrator.fit(logits[0], given.y, **words[0]).predict_proba(logits[1], **words[1])
    if variant[0] not in ("VectorScaling", "MatrixScaling"):  # which depend on a constant in each row
        assert found == pytest.approx(one, abs=1e-5)


@every_calibrator
def test_order_is_kept_and_one_class_is_defined_or_refused(variant: Variant) -> None:
    given, new = problems("binary", True)
    calibrator = fit(variant, given)
    if calibrator.keeps_order:
        rising = replace(new, p=np.linspace(0, 1, new.n))
        assert np.diff(apply(calibrator, rising)[:, 1]).min() >= -1e-12
    with suppress(cal.CalibrantError):
        assert np.isfinite(apply(fit(variant, given, np.ones(given.n, int)), new)).all()


@pytest.mark.parametrize("strategy", get_args(Multiclass))
@every_calibrator
def test_reductions_to_binary_problems(variant: Variant, strategy: str) -> None:
    given, new = problems("four", False)
    calibrator = made(variant, 4)
    if not isinstance(calibrator, ScoreCalibrator):
        return
    rows = apply(fit((variant[0], {**variant[1], "multiclass": strategy}), given), new)
    assert ((rows >= 0) & (rows <= 1)).all()
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12
    if strategy == "top_versus_all" or (strategy == "pooled" and calibrator.keeps_order):
        assert (rows.argmax(axis=1) == new.p.argmax(axis=1)).all()


@every_calibrator
def test_exchanged_columns_give_exchanged_probabilities(variant: Variant) -> None:
    given, new = problems("four", False)
    turn = np.array([2, 0, 3, 1])
    if variant[1].get("lens") == "class:1" or variant[0] in SPLIT:
        return
    turned = [replace(each, p=each.p[:, turn], y=np.argsort(turn)[each.y]) for each in (given, new)]
    assert apply(fit(variant, turned[0]), turned[1]) == pytest.approx(
        apply(fit(variant, given), new)[:, turn], abs=SOLVED
    )
