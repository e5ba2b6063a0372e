"""Modules at the ends of their range: classes that all but tie, classes ruled out, scales at a bound, large margins, what is refused."""

from __future__ import annotations

import math
import os
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the modules")

from torch import nn  # noqa: E402

import calibrant as cal  # noqa: E402
import calibrant.torch as ct  # noqa: E402
from calibrant.errors import (  # noqa: E402
    ArgumentError,
    CalibrantWarning,
    InputTypeError,
    ShapeError,
)
from tests.calling import raises  # noqa: E402

DEVICE = os.environ.get("CALIBRANT_TEST_DEVICE", "cpu")
MAPS = [
    cal.TemperatureScaling,
    cal.BiasCorrectedTemperature,
    cal.VectorScaling,
    cal.MatrixScaling,
    cal.DirichletCalibration,
]
calibrators = pytest.mark.parametrize("kind", MAPS, ids=lambda kind: kind.__name__)


def noise(seed: int, n: int = 500, k: int = 3) -> tuple[Any, Any]:
    """Logits, and labels that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.integers(0, k, n)


def tensor(values: Any, dtype: Any = torch.float64) -> Any:
    return torch.as_tensor(values, device=DEVICE).to(dtype)


def quietly(make: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        return make()


# The predicted class.


@pytest.mark.parametrize("mask", [-1e4, -1e9, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_masked_class_leaves_the_others_as_they_are(mask: float, dtype: Any) -> None:
    network = ct.OrderPreservingNetwork(3).to(DEVICE)
    logits = tensor([[1.0, 1.5, mask], [mask, 0.25, 0.125]], dtype)
    with torch.no_grad():
        found = network(logits)
    assert found.dtype == dtype
    kept = logits > -1e3
    assert torch.allclose(found[kept], logits[kept], rtol=1e-6)
    assert bool((found[~kept] < -30).all())


def test_a_fitted_network_keeps_the_class_beside_masks() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=(600, 6))
    mask = rng.random((600, 6)) < 0.3
    mask[:, 0] = False
    masked = np.where(mask, -1e9, true)
    labels = (masked + rng.gumbel(size=masked.shape)).argmax(axis=1)
    logits = tensor(np.where(mask, -1e9, 2 * true), torch.float32)
    network = ct.OrderPreservingNetwork(6, hidden=(8,)).fit(logits, labels, epochs=2)
    with torch.no_grad():
        assert torch.equal(network(logits).argmax(dim=1), logits.argmax(dim=1))


def test_mixed_precision_around_a_network() -> None:
    logits, labels = noise(0, n=200, k=4)
    network = ct.OrderPreservingNetwork(4, hidden=(8,)).fit(tensor(logits, torch.float32), labels, epochs=2)
    asked = tensor(logits, torch.float32)
    expected = network(asked)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert torch.equal(network(asked), expected)


# Classes ruled out.


@calibrators
@pytest.mark.parametrize("k", [2, 3])
def test_a_class_ruled_out_is_read_as_the_map_reads_it(kind: Any, k: int) -> None:
    logits, labels = noise(0, n=200, k=k)
    calibrator = quietly(lambda: kind(input="logit").fit(logits, labels))
    asked = np.array([[1.0, 2.0, -np.inf], [-np.inf, 40.0, -np.inf], [0.5, -np.inf, 0.25]])[:, -k:]
    asked = asked[np.isfinite(asked).any(axis=1)]
    module = ct.CalibratorModule.from_calibrator(calibrator, dtype=torch.float64, device=DEVICE)
    with torch.no_grad():
        found = module.predict_proba(tensor(asked)).cpu().numpy()
    assert found == pytest.approx(calibrator.predict_proba(asked), abs=1e-12)
    # As a logit 16 decimal orders below the largest, which is what a probability of 0 stands for.
    top = asked.max(axis=1, keepdims=True)
    assert found == pytest.approx(
        calibrator.predict_proba(np.where(np.isinf(asked), top + np.log(1e-16), asked)), abs=1e-12
    )


# Scales at a bound.


def mean_loss(probs: Any, labels: Any) -> float:
    return float(-np.log(probs[np.arange(len(labels)), labels]).mean())


@pytest.mark.parametrize("which", ["module", "calibrator"])
def test_the_bias_is_that_of_the_scale_in_use(which: str) -> None:
    """Logits that point away from the labels, around offsets: the best scale is below 0, and the bias that goes with it is wrong here."""
    rng = np.random.default_rng(0)
    away = rng.normal(size=(500, 3))
    logits = away + np.array([8.0, 0, -8])
    labels = (-0.3 * away + rng.gumbel(size=away.shape)).argmax(axis=1)
    fit = {
        "calibrator": lambda: cal.BiasCorrectedTemperature(input="logit").fit(logits, labels),
        "module": lambda: ct.BiasCorrectedTemperatureModule(3).double().fit(tensor(logits), labels).to_calibrator(),
    }[which]
    with pytest.warns(
        CalibrantWarning,
        match=r"the logits are negatively associated with the labels, so the best temperature is infinite; 1000 is used",
    ):
        fitted = fit()
    found = mean_loss(fitted.apply(fitted._read(logits)), labels)
    # With the scale fixed, the loss is least where the mean probability of each class is its share of the labels.
    shares = np.bincount(labels, minlength=3) / 500
    assert fitted.apply(fitted._read(logits)).mean(axis=0) == pytest.approx(shares, abs=1e-6)
    assert found < -(shares @ np.log(shares)) + 0.01
    assert fitted.temperature_ == pytest.approx(1000)


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (1e-4, "the best temperature lies below 0.001: multiply the logits by a number first; 0.001 is used"),
        (1e4, "the best temperature lies above 1000: divide the logits by a number first; 1000 is used"),
    ],
)
def test_an_unusual_scale_is_called_so(factor: float, message: str) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    fits = [
        lambda: ct.TemperatureModule().fit(tensor(factor * logits), labels),
        lambda: ct.BiasCorrectedTemperatureModule(3).fit(tensor(factor * logits), labels),
        lambda: cal.TemperatureScaling(input="logit").fit(factor * logits, labels),
        lambda: cal.TemperatureScaling(input="logit", objective="brier").fit(factor * logits, labels),
        lambda: cal.BiasCorrectedTemperature(input="logit").fit(factor * logits, labels),
    ]
    for fit in fits:
        with pytest.warns(CalibrantWarning) as caught:
            fit()
        assert [str(one.message) for one in caught] == [message]


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_separated_labels_and_logits_that_mislead_are_called_so() -> None:
    logits, _ = noise(0)
    for labels, message in (
        (logits.argmax(axis=1), "has the largest logit"),
        (
            logits.argmin(axis=1),
            "the logits are negatively associated with the labels, so the best temperature is infinite; 1000 is used",
        ),
    ):
        for fit in (
            lambda labels=labels: ct.TemperatureModule().fit(tensor(logits), labels),
            lambda labels=labels: cal.TemperatureScaling(input="logit").fit(logits, labels),
            lambda labels=labels: cal.TemperatureScaling(input="logit", objective="brier").fit(logits, labels),
        ):
            with pytest.warns(CalibrantWarning, match=message):
                fit()


# Classes without rows, and names of classes.


@pytest.mark.parametrize("module", [ct.BiasCorrectedTemperatureModule, ct.VectorModule, ct.MatrixModule])
def test_a_class_without_rows_is_told(module: Any) -> None:
    logits, labels = noise(0, n=100)
    with pytest.warns(
        CalibrantWarning, match="class 2 has no rows, so the calibrator shrinks its probability towards 0"
    ):
        module(3).fit(tensor(logits), labels % 2)


def test_what_a_map_knows_comes_back_with_it() -> None:
    logits, labels = noise(0, n=60)
    names = np.array(["ash", "birch", "cedar"])
    calibrator = quietly(lambda: cal.TemperatureScaling(input="logit", objective="brier").fit(logits, names[labels]))
    module = ct.CalibratorModule.from_calibrator(calibrator, dtype=torch.float64)
    back = module.to_calibrator()
    assert back.get_params() == calibrator.get_params()
    assert back.predict(logits[:9]).tolist() == calibrator.predict(logits[:9]).tolist()
    assert set(back.predict(logits)) == set(names)
    again = quietly(
        lambda: module.fit(torch.as_tensor(logits), labels)
    ).to_calibrator()  # a fit of its own, to class numbers
    assert again.objective == "nll"
    assert again.classes_.tolist() == [0, 1, 2]


# Shapes and types.


def test_a_calibrated_model_takes_dense_outputs() -> None:
    torch.manual_seed(0)
    model, x = nn.Conv2d(2, 3, 1).to(DEVICE), torch.randn(4, 2, 5, 6).to(DEVICE)
    labels = torch.randint(3, (4, 5, 6)).to(DEVICE)
    logits = model(x).detach()
    with raises(ShapeError, "logits"):
        ct.TemperatureModule().fit(logits, labels)
    with pytest.raises(ShapeError, match=r"labels.flatten\(\)"):
        ct.OrderPreservingNetwork(3).fit(logits, labels)
    module = quietly(lambda: ct.VectorModule(3).fit(logits.movedim(1, -1).flatten(0, -2), labels.flatten()))
    whole = ct.CalibratedModule(model, module)
    assert torch.equal(whole(x), module(model(x)))
    assert whole.predict_proba(x).shape == logits.shape
    assert torch.allclose(whole.predict_proba(x).sum(dim=1), torch.ones(4, 5, 6, device=DEVICE))
    assert torch.allclose(
        torch.export.export(whole.eval(), (x,), dynamic_shapes={"inputs": ({0: torch.export.Dim("rows")},)}).module()(
            x[:2]
        ),
        whole(x[:2]),
    )


@pytest.mark.parametrize("labels", [list("abcab"), np.array(list("abcab")), [None] * 5])
def test_names_are_no_class_numbers(labels: Any) -> None:
    z = tensor(noise(0, n=5)[0])
    for call in (lambda: ct.TemperatureModule().fit(z, labels),):
        with pytest.raises(
            InputTypeError,
            match=r"(labels|y): must be class indices; got ('a'|None) in row 0; number the classes from 0 up, in the order of the columns",
        ):
            call()


def test_numbers_of_numpy_are_numbers() -> None:
    assert ct.TemperatureModule(temperature=np.float32(2)).temperature == pytest.approx(2)
    assert ct.MatrixModule(3, off_diagonal=np.float32(0.5)).off_diagonal == 0.5
    with raises(ArgumentError, "temperature"):
        ct.TemperatureModule(temperature=True)
