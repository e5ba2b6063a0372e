"""Warnings about input that is in order and yet looks like a mistake; and data that are in order, of which nothing is said."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import (
    BoundaryScoresWarning,
    HardPredictionsWarning,
    ProbabilitiesAsLogitsWarning,
    ReversedClassesWarning,
)


@contextmanager
def no_warning() -> Iterator[None]:
    """Assert that nothing inside warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert [str(each.message) for each in caught] == []


def two(n: int = 501, a: float = 0.5, b: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(a, b, n)
    return (rng.random(n) < p).astype(int), p


def several(classes: int, n: int = 501, sharp: float = 0.4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(classes, sharp), n)
    return (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), probs


@pytest.mark.parametrize("classes", [2, 4, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rows_that_sum_to_one_are_no_logits(classes: int, dtype: Any) -> None:
    y, probs = several(classes)
    with pytest.warns(
        ProbabilitiesAsLogitsWarning,
        match=r"these values look like probabilities \(every row is non-negative and sums to 1, or every entry lies in \[0, 1\] and fits the labels better that way\); as logits they pass through a softmax or sigmoid once more; drop input='logit', or .*output=lambda p: p\.log\(\)",
    ):
        cal.ece(cal.Predictions(y, probs.astype(dtype), input="logit"))
    for metric in (cal.nll, cal.brier):
        with pytest.warns(ProbabilitiesAsLogitsWarning):
            metric(cal.Predictions(y[:5], probs[:5].astype(dtype), input="logit"))
    assert cal.ece(cal.Predictions(y, np.log(probs + 1e-9), input="logit")) < 0.2


def test_one_column_of_probabilities_as_logits() -> None:
    y, p = two()
    with pytest.warns(ProbabilitiesAsLogitsWarning):
        cal.ece(cal.Predictions(y, p, input="logit"))
    with pytest.warns(ProbabilitiesAsLogitsWarning):
        cal.ece(cal.Predictions(y, np.column_stack([np.zeros(len(p)), p]), input="logit"))
    with pytest.warns(ProbabilitiesAsLogitsWarning):
        cal.ece(cal.Predictions(np.column_stack([y, y]), np.column_stack([p, p]), input="logit", multilabel=True))
    with pytest.warns(ProbabilitiesAsLogitsWarning):
        cal.TemperatureScaling(input="logit").fit(np.column_stack([1 - p, p]), y)


@pytest.mark.parametrize("seed", range(5))
def test_logits_that_happen_to_be_small_are_left_alone(seed: int) -> None:
    with no_warning():
        rng = np.random.default_rng(seed)
        z = np.clip(rng.normal(0.5, 0.15, 300), 0, 1)  # a model that knows little, at a base rate of 62%
        cal.ece(cal.Predictions((rng.random(300) < 1 / (1 + np.exp(-z))).astype(int), z, input="logit"))
        cal.ece(cal.Predictions([0, 1, 1], [[0.0, 1.0], [1.0, 0.0], [0.25, 0.75]], input="logit"))
        cal.nll(cal.Predictions(rng.integers(0, 3, 50), rng.random((50, 3)), input="logit"))


def test_hard_predictions() -> None:
    y, p = two()
    labels, probs = several(4)
    for arguments in (
        (y, (p > 0.5).astype(float)),
        (y, (p > 0.5).astype(int)),
        (y, p > 0.5),
        (y, np.column_stack([p <= 0.5, p > 0.5]).astype(np.float32)),
        (labels, np.eye(4)[probs.argmax(axis=1)]),
    ):
        with pytest.warns(
            HardPredictionsWarning,
            match="y_prob: every entry is exactly 0 or 1, so these look like predicted classes rather than probabilities; pass the output of predict_proba",
        ):
            cal.ece(*arguments)


def test_reversed_classes() -> None:
    y, p = two()
    for arguments, words in (
        ((y, 1 - p), {}),
        ((y, np.column_stack([p, 1 - p])), {}),
        ((np.where(y, "yes", "no"), p), {"pos_label": "no"}),
        ((y, 1 - p), {"sample_weight": np.linspace(0.5, 2, len(y))}),
        ((y, 1 - p), {"counts": np.full(len(y), 3)}),
        ((y, np.log(1 - p) - np.log(p)), {"input": "logit"}),
    ):
        with pytest.warns(
            ReversedClassesWarning,
            match=r"y_prob: accuracy is 1[79]\.\d% at a mean confidence of 81\.7%, so the classes look reversed; check which class each column belongs to or pass pos_label",
        ):
            cal.Predictions(*arguments, **words)
    labels, probs = several(4, sharp=0.1)
    with pytest.warns(
        ReversedClassesWarning,
        match=r"y_prob: accuracy is 6\.4% at a mean confidence of 85\.1%, so the classes look permuted; check that the columns are in the order of the classes",
    ):
        cal.ece(labels, probs[:, [1, 2, 3, 0]])


@pytest.mark.parametrize("seed", range(6))
def test_data_in_order_are_left_alone(seed: int) -> None:
    with no_warning():
        rng = np.random.default_rng(seed)
        for a, b, n in ((0.5, 99.5, 4001), (0.01, 0.01, 501), (5, 5, 2003), (0.5, 0.5, 7), (99.5, 0.5, 333)):
            y, p = two(n, a, b, seed)  # rare, nearly sure, vague, few, common
            p = np.clip(p, 1e-9, 1 - 1e-9)
            cal.ece(y, p)
            cal.ece(y, np.column_stack([1 - p, p]).astype(np.float32))
            cal.ece(y, np.clip(p**3, 1e-9, 1 - 1e-9))  # far too low, but in the right order
        y = (rng.random(400) < 0.2).astype(int)
        cal.ece(y, np.full(400, 0.6))  # a base rate that has moved: wrong four times in five, not reversed
        cal.ece(y, np.clip(0.55 + 0.05 * y + rng.normal(0, 0.02, 400), 0, 1))
        cal.ece(np.ones(200, int), rng.beta(1, 9, 200))  # one class only
        cal.ece(rng.integers(0, 2, 200), rng.random(200))  # no skill
        for classes in (3, 10, 100):
            cal.ece(*several(classes, 803, 0.3, seed))
            cal.ece(rng.integers(0, classes, 300), rng.dirichlet(np.full(classes, 0.1), 300))
        cal.ece([0, 1, 0], [1.0, 0.0, 0.0])  # made by hand
        cal.ece(cal.Predictions([1, 0, 1] * 20, [1.0, 1.0, 1.0] * 20, input="confidence"))


@pytest.mark.parametrize("metric", ["cox_slope", "cox_intercept", "sbct", "ls_ece", "fott_platt", "fott_beta"])
def test_scores_of_0_and_1_in_log_odds(metric: str) -> None:
    y, p = two(300, 2, 2)
    formula = cal.catalogue[metric]
    formula(y, p)
    p[[3, 7, 11]] = [1.0, 0.0, 1e-13]
    y[[3, 7, 11]] = 0, 1, 0
    predictions = cal.Predictions(y, p)
    with pytest.warns(BoundaryScoresWarning, match=f"{metric}: 3 of 300 rows have a score within 1e-12 of 0 or 1"):
        formula(predictions)
    with warnings.catch_warnings():  # once is enough
        warnings.simplefilter("error")
        formula(predictions)
    with pytest.warns(BoundaryScoresWarning, match="3 of 300"):
        cal.evaluate(y, p, metrics=[metric])


def test_sure_scores_in_tests_curves_and_calibrators() -> None:
    y, p = two(300, 2, 2)
    p[0], y[0] = 1.0, 0
    with pytest.warns(BoundaryScoresWarning, match="1 of 300"):
        cal.assess(y, p, metric="cox_slope")
    with pytest.warns(BoundaryScoresWarning, match="1 of 300"):
        cal.inference.giviti_test(y, p)
    with pytest.warns(BoundaryScoresWarning, match="1 of 300"):
        cal.ici(y, p, smoother="rcs")
    cal.ici(y, p)  # reads no log-odds
    p[1], y[1] = 1 - 1e-9, 1  # half of this distance stands for the score of 1
    for name in ("PlattScaling", "BetaCalibration", "QuadraticLogit", "ScalingBinning", "TemperatureScaling"):
        with pytest.warns(BoundaryScoresWarning, match=f"{name}: 1 of 300 rows give their class a probability below"):
            getattr(cal, name)().fit(p, y)
    cal.IsotonicCalibration().fit(p, y)
    y[0] = 1  # sure and right
    cal.PlattScaling().fit(p, y)
    z = np.where(p == 1, 60.0, np.log(p) - np.log1p(-np.minimum(p, 0.999)))
    cal.TemperatureScaling(input="logit").fit(z, y)


STATED = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8, 0.9]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_float32_scores_on_the_edges(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    p = rng.choice(STATED, 400)
    y = (rng.random(400) < p).astype(int)
    single = p.astype(dtype)
    # Rounded doubles have the value that was meant.
    rounded = single.astype("float64").round(3)
    assert cal.ece(y, rounded, bins=10) == cal.ece(y, p, bins=10)
    # Edges between the scores leave nothing to rounding.
    between = [0, 0.15, 0.25, 0.45, 0.65, 0.75, 0.85, 1]
    assert cal.ece(y, single, bins=between) == pytest.approx(cal.ece(y, p, bins=between), abs=1e-3)


def test_the_library_does_not_warn_of_what_it_made_itself() -> None:
    with no_warning():
        _, p = two(400, 2, 2)
        with pytest.raises(cal.errors.UndefinedMetricError):  # the reference is a sure forecast
            cal.metrics.skill_score(np.ones(40, int), p[:40])
        order = np.argsort(p)
        cal.recalibrate((np.arange(400) > 200).astype(int), p[order], method="isotonic", rng=0)


def test_a_torch_model_that_ends_in_a_softmax() -> None:
    torch = pytest.importorskip("torch")
    from calibrant.torch import collect, evaluate

    y, probs = several(3, 40)
    batches = [(torch.from_numpy(np.log(probs + 1e-6)), torch.from_numpy(y))]
    with pytest.warns(ProbabilitiesAsLogitsWarning, match=r"output=lambda p: p.log\(\)"):
        evaluate(torch.nn.Softmax(dim=1), batches)
    with pytest.warns(ProbabilitiesAsLogitsWarning):
        collect(torch.nn.Softmax(dim=1), batches).predictions()
    rows = collect(torch.nn.Softmax(dim=1), batches, output=lambda p: p.log())
    assert evaluate(rows)["nll"] == pytest.approx(evaluate(torch.nn.Identity(), batches)["nll"])


@pytest.mark.parametrize("classes", [2, 3])
def test_a_module_is_fitted_to_logits(classes: int) -> None:
    torch = pytest.importorskip("torch")
    from calibrant.torch import TemperatureModule

    y, probs = several(classes)
    weight = np.arange(len(y)) % 3
    for dtype in (torch.float64, torch.float32):
        values = torch.as_tensor(probs, dtype=dtype)
        with pytest.warns(
            ProbabilitiesAsLogitsWarning, match="^logits: these values look like .*; pass their logarithms$"
        ):
            TemperatureModule().fit(values, y, weight)
        with no_warning():
            TemperatureModule().fit((values + 1e-6).log(), y, weight)
