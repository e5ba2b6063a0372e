"""Scores of foreign rows for tensors: the numbers of the scores for arrays, on the device of the tensors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the modules")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import calibrant as cal  # noqa: E402
import calibrant.torch as ct  # noqa: E402
from calibrant.errors import (  # noqa: E402
    ArgumentError,
    InputError,
    InputTypeError,
    NotFittedError,
    ShapeError,
    UndefinedMetricError,
)

DEVICE = os.environ.get("CALIBRANT_TEST_DEVICE", "cpu")
DTYPES = [torch.float32, torch.float64]
Z = [[2, 0, -1], [0.5, 0.4, 0.3], [5, 1, 1], [1, 1.2, -0.5]]
E = [[[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]], [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]]
KNOWN = [[0, 0], [1, 0], [0, 1], [4, 4], [5, 4], [4, 5]]


def tensor(values: Any, dtype: Any = torch.float64) -> Any:
    return torch.as_tensor(np.asarray(values, dtype=np.float64), dtype=dtype, device=DEVICE)


def near(found: Any, expected: Any, dtype: Any = torch.float64) -> bool:
    tolerance = 1e-6 if dtype == torch.float32 else 1e-12
    return found.cpu().double().numpy() == pytest.approx(np.asarray(expected), abs=tolerance, rel=tolerance)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: ct.ood_msp(tensor(Z)), [0.1562052655, 0.6328345989, 0.035336844, 0.5003533194]),
        (lambda: ct.ood_entropy(tensor(Z)), [0.5242666167, 1.0952872687, 0.1773236759, 0.9308405577]),
        (lambda: ct.ood_energy(tensor(Z)), [-2.1698460196, -1.5019428482, -5.0359762997, -1.8938540692]),
        (
            lambda: ct.ood_energy(tensor(Z), temperature=2),
            [-2.9287375682, -2.5988908969, -5.4790895324, -2.8936689489],
        ),
        (lambda: ct.ood_max_logit(tensor(Z)), [-2, -0.5, -5, -1.2]),
        (lambda: ct.ood_mutual_information(tensor(E).log()), [0.021901179, 0.1564194946]),
        (lambda: ct.ood_variance(tensor(E).log()), [0.015, 0.105]),
    ],
)
def test_published_values(found: Any, expected: Any) -> None:
    assert found().cpu().numpy() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [2, 10, 200])
def test_scores_of_outputs_are_those_of_arrays(dtype: Any, k: int) -> None:
    z = tensor(np.random.default_rng(k).normal(size=(300, k)) * 4, dtype)
    arrays = z.cpu().double().numpy()
    assert near(ct.ood_msp(z), cal.decision.ood.msp(arrays, input="logit"), dtype)
    assert near(ct.ood_entropy(z), cal.decision.ood.entropy(arrays, input="logit"), dtype)
    assert near(ct.ood_entropy(z, relative=True), cal.decision.ood.entropy(arrays, input="logit", relative=True), dtype)
    assert near(ct.ood_energy(z), cal.decision.ood.energy(arrays), dtype)
    assert near(ct.ood_energy(z, temperature=3.0), cal.decision.ood.energy(arrays, temperature=3.0), dtype)
    assert near(ct.ood_max_logit(z), cal.decision.ood.max_logit(arrays), dtype)
    probs = torch.softmax(z.double(), 1)
    assert near(ct.ood_msp(probs.log()), cal.decision.ood.msp(probs.cpu().numpy()))
    assert ct.ood_msp(z).dtype == dtype
    assert ct.ood_msp(z).device == z.device


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_of_ensembles_are_those_of_arrays(dtype: Any) -> None:
    members = tensor(np.random.default_rng(0).normal(size=(5, 100, 4)) * 2, dtype)
    arrays = members.cpu().double().numpy()
    assert near(ct.ood_mutual_information(members), cal.decision.ood.mutual_information(arrays, input="logit"), dtype)
    assert near(ct.ood_variance(members), cal.decision.ood.variance(arrays, input="logit"), dtype)
    assert near(ct.ood_variance(members, mean=True), cal.decision.ood.variance(arrays, mean=True, input="logit"), dtype)
    assert torch.equal(ct.ood_variance(list(members)), ct.ood_variance(members))
    assert not ct.ood_mutual_information(torch.stack([members[0]] * 3)).round(decimals=5).any()


def test_half_precision_is_widened_and_certainty_keeps_its_digits() -> None:
    z = tensor(np.random.default_rng(0).normal(size=(50, 3)), torch.float16)
    for score in (ct.ood_msp, ct.ood_entropy, ct.ood_energy, ct.ood_max_logit):
        assert score(z).dtype == torch.float32
        assert torch.allclose(score(z), score(z.float()))
    # 1 - max p would be 0 for all three in single precision.
    sure = tensor([[20, 0], [30, 0], [40, 0]], torch.float32)
    assert ct.ood_msp(sure).cpu().numpy() == pytest.approx(np.exp([-20.0, -30.0, -40.0]), rel=1e-5)
    assert ct.ood_entropy(tensor([[1.0, 0.0]]).log()).tolist() == [0.0]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.floats(-30, 30), min_size=3, max_size=3), min_size=1, max_size=6), st.permutations(range(3))
)
def test_the_order_of_classes_does_not_matter(rows: Any, order: Any) -> None:
    z = torch.tensor(rows, dtype=torch.float64)
    for score in (ct.ood_msp, ct.ood_entropy):
        assert torch.allclose(score(z), score(z[:, order]), atol=1e-12)
    energy = ct.ood_energy(z)
    assert torch.allclose(energy, ct.ood_max_logit(z) + torch.log1p(-ct.ood_msp(z)), atol=1e-9)


def test_graphs_and_gradients() -> None:
    z = tensor(Z).requires_grad_()
    ct.ood_energy(z).sum().backward()
    assert torch.allclose(z.grad, -torch.softmax(z, 1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ct.ood_energy(tensor(Z), temperature=0), ArgumentError, "temperature"),
        (
            lambda: ct.ood_msp(tensor([1.0, 2.0])[:1]),
            ShapeError,
            r"logits: must have one column for each class, at least two; got shape \(1,\); for one output z of two classes, pass torch\.stack\(\[torch\.zeros_like\(z\), z\], dim=-1\)",
        ),
        (lambda: ct.ood_msp(np.zeros((2, 2))), InputTypeError, "must be a torch tensor"),
        (
            lambda: ct.ood_variance(tensor(E)[:1]),
            UndefinedMetricError,
            "ood_variance: requires at least two members",
        ),
        (
            lambda: ct.ood_variance(tensor(Z)),
            ShapeError,
            r"members: must have three dimensions \(members, rows, classes\); got \(4, 3\)",
        ),
        (lambda: ct.ood_variance([np.zeros((2, 3))] * 2), InputTypeError, "must be a torch tensor; got ndarray"),
    ],
)
def test_outputs_that_cannot_be_scored(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# Features.


def test_published_distances() -> None:
    asked, labels = tensor([[0, 0], [2, 2], [6, 6]]), torch.tensor([0, 0, 0, 1, 1, 1])
    plain = ct.OodMahalanobis(shrinkage="none").fit(tensor(KNOWN), labels)
    assert plain.score(asked).tolist() == pytest.approx([2, 50, 50])
    relative = ct.OodMahalanobis(relative=True, shrinkage="none").fit(tensor(KNOWN), labels)
    assert relative.score(asked).tolist() == pytest.approx([0.6575342466, 49.9726027397, 46.6849315068])
    for k, expected in ((1, [0, 5**0.5, 5**0.5]), (2, [1, 5**0.5, 5**0.5])):
        assert ct.OodKnn(k=k, normalise=False).fit(tensor(KNOWN)).score(asked).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shrinkage", ["auto", "none", "ledoit_wolf", "ridge"])
@pytest.mark.parametrize("relative", [False, True])
def test_mahalanobis_is_that_of_arrays(dtype: Any, shrinkage: Any, relative: bool) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400)
    # Far from the origin, where subtracting squares would lose most digits.
    features = tensor(rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6)) + 1000 + labels[:, None] * 3, dtype)
    asked = tensor(rng.normal(size=(90, 6)) * 5 + 1003, dtype)
    array = cal.decision.ood.OodMahalanobis(relative=relative, shrinkage=shrinkage).fit(
        features.cpu().double().numpy(), labels
    )
    fitted = ct.OodMahalanobis(relative=relative, shrinkage=shrinkage).fit(features, torch.as_tensor(labels))
    found = fitted.score(asked)
    assert found.device == asked.device
    assert found.cpu().numpy() == pytest.approx(array.score(asked.cpu().double().numpy()), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [3, 40])
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("exclude_self", [False, True])
def test_neighbours_are_those_of_arrays(dtype: Any, columns: int, normalise: bool, exclude_self: bool) -> None:
    rng = np.random.default_rng(1)
    known = tensor(np.repeat(rng.normal(size=(150, columns)) + 5, 2, axis=0), dtype)
    asked = known if exclude_self else torch.cat([known[:20], tensor(rng.normal(size=(50, columns)) + 5, dtype)])
    for k in (1, 7, 1000):
        array = cal.decision.ood.OodKnn(k=k, normalise=normalise).fit(known.cpu().double().numpy())
        expected = array.score(asked.cpu().double().numpy(), exclude_self=exclude_self)
        found = ct.OodKnn(k=k, normalise=normalise).fit(known).score(asked, exclude_self=exclude_self)
        assert found.cpu().numpy() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("far", [[1e6], [0.0, 1e6]], ids=["one offset", "two clusters"])
def test_neighbours_far_from_the_origin_are_the_nearest(far: list[float], normalise: bool) -> None:
    """Distances of 0.01 between features of 1,000,000: a difference of squares holds no digit of them."""
    rng = np.random.default_rng(0)
    known, asked = (np.concatenate([rng.normal(size=(n, 6)) / 100 + place for place in far]) for n in (200, 40))
    read = [one / np.linalg.norm(one, axis=1, keepdims=True) if normalise else one for one in (known, asked)]
    every = np.sqrt(np.square(read[1][:, None] - read[0]).sum(axis=2))
    found = ct.OodKnn(k=3, normalise=normalise).fit(tensor(known)).score(tensor(asked)).cpu().numpy()
    assert found == pytest.approx(np.sort(every, axis=1)[:, 2], rel=1e-6)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    known, asked, labels = tensor(rng.normal(size=(80, 4))), tensor(rng.normal(size=(30, 4))), torch.arange(80) % 3

    def scores() -> list[Any]:
        distance = ct.OodMahalanobis(relative=True, shrinkage="ledoit_wolf").fit(known, labels).score(asked)
        return [distance, ct.OodKnn(k=5).fit(known).score(asked)]

    whole = scores()
    monkeypatch.setattr("calibrant.torch.rows.BLOCK", 100)
    assert all(torch.allclose(one, two) for one, two in zip(whole, scores(), strict=True))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ct.OodMahalanobis(shrinkage="half"), ArgumentError, "shrinkage: must be"),
        (lambda: ct.OodMahalanobis().score(tensor(KNOWN)), NotFittedError, "call fit"),
        (
            lambda: ct.OodMahalanobis().fit(tensor(KNOWN), [0, 1]),
            ShapeError,
            "y: expected one class for each of 6 rows",
        ),
        (
            lambda: ct.OodMahalanobis().fit(tensor([[1, 2]]), [0]),
            UndefinedMetricError,
            "OodMahalanobis: the features are constant within classes",
        ),
        (
            lambda: ct.OodMahalanobis(shrinkage="none").fit(tensor([[0, 0], [1, 1], [2, 2]]), [0, 0, 0]),
            UndefinedMetricError,
            "covariance of the features is singular; use shrinkage='auto'",
        ),
        (lambda: ct.OodKnn(k=0), ArgumentError, "k: must be an integer of at least 1; got 0"),
        (lambda: ct.OodKnn().score(tensor(KNOWN)), NotFittedError, "call fit"),
        (
            lambda: ct.OodKnn().fit(tensor(KNOWN)),
            InputError,
            "features: a vector of length 0 cannot be normalised in row 0; use normalise=False",
        ),
        (
            lambda: ct.OodKnn().fit(tensor([[1, float("nan")]])),
            InputError,
            "features: values must be finite; got nan in row 0",
        ),
        (lambda: ct.OodKnn().fit(torch.zeros(2, 3, 4)), ShapeError, r"features.flatten\(1\)"),
        (
            lambda: ct.OodKnn().fit(np.ones((2, 2))),
            ShapeError,
            r"features: must be a tensor of rows and columns; got ndarray; use features\.flatten\(1\)",
        ),
        (
            lambda: ct.OodKnn(normalise=False).fit(tensor(KNOWN)).score(tensor([[1, 2, 3]])),
            ShapeError,
            "features: expected 2 columns, as in fit; got 3",
        ),
        (
            lambda: ct.OodKnn().fit(tensor([[1, 2]])).score(tensor([[1, 2]]), exclude_self=True),
            UndefinedMetricError,
            "OodKnn: a single training row has no neighbours",
        ),
    ],
)
def test_features_that_cannot_be_scored(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_repr() -> None:
    assert repr(ct.OodMahalanobis()) == repr(cal.decision.ood.OodMahalanobis())
    assert repr(ct.OodKnn(k=3)) == repr(cal.decision.ood.OodKnn(k=3))


@pytest.mark.parametrize("score", [ct.ood_msp, ct.ood_entropy, ct.ood_energy, ct.ood_max_logit])
def test_no_rows_have_no_scores_and_dense_logits_are_rows_first(score: Any) -> None:
    assert score(torch.zeros(0, 4, device=DEVICE)).shape == (0,)
    dense = torch.randn(2, 4, 5, 3, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    with pytest.raises(ShapeError, match="logits: "):
        score(dense)
    assert score(dense.movedim(1, -1).flatten(0, -2)).shape == (30,)
