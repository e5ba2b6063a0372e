"""Temperature scaling and order-preserving networks as modules: the numbers of the calibrator for arrays, kept, moved and exported."""

import io
import math
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the modules")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402

import calibrant as cal  # noqa: E402
import calibrant.torch as ct  # noqa: E402
from calibrant.errors import (  # noqa: E402
    CalibrantWarning,
    InputTypeError,
    InSampleWarning,
    ShapeError,
)
from tests.calling import raises  # noqa: E402

DEVICE = os.environ.get("CALIBRANT_TEST_DEVICE", "cpu")
ROWS = torch.export.Dim("rows")


def drawn(n: int = 400, k: int = 4, seed: int = 0, sharp: float = 2.5) -> tuple[Any, Any]:
    """Overconfident logits, and labels of the true ones."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, k)) * 1.5
    probs = np.exp(true) / np.exp(true).sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    return sharp * true + rng.normal(size=k) * 0.5, labels


def tensors(logits: Any, labels: Any, dtype: Any = None) -> tuple[Any, Any]:
    return torch.as_tensor(logits, dtype=dtype or torch.float64, device=DEVICE), torch.as_tensor(labels, device=DEVICE)


def probabilities(module: Any, logits: Any) -> Any:
    with torch.no_grad():
        return module.predict_proba(logits).cpu().double().numpy()


def exported(module: Any, rows: Any) -> Any:
    """The exported program, for any number of rows."""
    shapes: Any = {"inputs": ({0: ROWS},)} if isinstance(module, ct.CalibratedModule) else ({0: ROWS},)
    return torch.export.export(module.eval(), (rows,), dynamic_shapes=shapes).module()


# Temperature scaling.


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("scale", ["logit", "prob"])
def test_a_calibrator_becomes_a_module_and_comes_back(k: int, scale: Any) -> None:
    logits, labels = drawn(k=k)
    fresh, _ = drawn(k=k, seed=1)
    softmax = torch.softmax(torch.as_tensor(logits), 1).numpy(), torch.softmax(torch.as_tensor(fresh), 1).numpy()
    known, asked = (logits, fresh) if scale == "logit" else softmax
    names = np.array(["ash", "birch", "cedar", "oak"])[:k]
    calibrator = cal.TemperatureScaling(input=scale, objective="brier").fit(known, names[labels])
    wide = ct.TemperatureModule.from_calibrator(calibrator, dtype=torch.float64, device=DEVICE)
    expected = calibrator.predict_proba(asked)
    assert probabilities(wide, tensors(fresh, labels)[0]) == pytest.approx(expected, abs=1e-12)
    single = ct.TemperatureModule.from_calibrator(calibrator, device=DEVICE)
    assert probabilities(single, tensors(fresh, labels, torch.float32)[0]) == pytest.approx(expected, abs=1e-6)
    back = wide.to_calibrator()
    assert back.get_params() == calibrator.get_params()
    assert back.predict_proba(asked) == pytest.approx(expected, abs=1e-12)
    assert set(back.predict(asked)) <= set(names)
    with pytest.warns(InSampleWarning):
        back.predict_proba(known)
    again = wide.fit(*tensors(logits, labels)).to_calibrator()  # a fit of its own, to class numbers
    assert again.objective == "nll"
    assert again.classes_.tolist() == list(range(k))


@pytest.mark.parametrize("weighed", ["none", "counts", "whole", "real"])
def test_fitting_finds_the_optimum_of_the_calibrator(weighed: str) -> None:
    logits, labels = drawn(seed=2)
    rng = np.random.default_rng(3)
    whole, real = rng.integers(0, 4, 400), rng.random(400) + 0.1
    weight = {
        "none": {},
        "counts": {"counts": whole},
        "whole": {"sample_weight": whole},
        "real": {"sample_weight": real},
    }[weighed]
    calibrator = cal.TemperatureScaling(input="logit").fit(logits, labels, **weight)
    module = ct.TemperatureModule().double()
    assert module.fit(*tensors(logits, labels), **{name: torch.as_tensor(v) for name, v in weight.items()}) is module
    assert module.temperature == pytest.approx(calibrator.temperature_, rel=1e-12)
    assert module.log_temperature.device.type == torch.device(DEVICE).type
    assert module.n_classes == 4


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_logits_of_any_precision_have_the_temperature_of_the_calibrator(dtype: Any) -> None:
    logits, labels = tensors(*drawn(n=500, k=5), dtype)
    module = ct.TemperatureModule().double().fit(logits, labels)
    z = logits.double()
    calibrator = cal.TemperatureScaling(input="logit").fit(z.cpu().numpy(), labels.cpu().numpy())
    assert module.temperature == pytest.approx(calibrator.temperature_, rel=1e-6)
    single = ct.TemperatureModule().fit(logits, labels)(logits)
    assert single.dtype == torch.promote_types(dtype, torch.float32)
    assert torch.allclose(single.double(), module(z), atol=1e-5)


def test_temperature_by_hand() -> None:
    # Three of four rows are right with log-odds 2, so the best log-odds are ln 3.
    logits, labels = tensors([[2.0, 0]] * 4, [0, 0, 0, 1])
    assert ct.TemperatureModule().double().fit(logits, labels).temperature == pytest.approx(2 / np.log(3), rel=1e-9)
    level = ct.TemperatureModule().fit(torch.zeros(4, 3), torch.tensor([0.0, 1, 2, 0]))
    assert level.temperature == pytest.approx(1)


def test_state_and_gradients() -> None:
    logits, labels = tensors(*drawn(n=300))
    start = ct.TemperatureModule(4).to(DEVICE)
    assert probabilities(start, logits) == pytest.approx(torch.softmax(logits, 1).cpu().numpy(), abs=1e-6)
    module = ct.TemperatureModule(4).fit(logits, labels)
    kept = io.BytesIO()
    torch.save(module.state_dict(), kept)
    kept.seek(0)
    start.load_state_dict(torch.load(kept, weights_only=True))
    assert torch.equal(start(logits), module(logits))
    # Without the record of its rows a calibrator cannot warn, but it predicts the same.
    found = start.to_calibrator().predict_proba(logits.cpu().numpy())
    assert found == pytest.approx(probabilities(module, logits), abs=1e-6)
    asked = logits.clone().requires_grad_()
    nn.functional.cross_entropy(module(asked), labels).backward()
    assert torch.isfinite(asked.grad).all()
    assert asked.grad.abs().sum() > 0


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
@pytest.mark.parametrize(("sign", "bound"), [(1, 1e-3), (-1, 1e3)])
def test_labels_that_the_logits_separate_do_not_run_away(sign: int, bound: float) -> None:
    logits, _ = drawn(n=100)
    with pytest.warns(CalibrantWarning):
        module = ct.TemperatureModule().fit(*tensors(logits, (sign * logits).argmax(axis=1)))
    assert module.temperature == pytest.approx(bound, rel=1e-5)


def test_a_class_ruled_out_is_read_as_the_calibrator_reads_it() -> None:
    calibrator = cal.TemperatureScaling(input="logit").fit(*drawn(n=200, k=3))
    asked = np.array([[1.0, 2.0, -np.inf], [-np.inf, 40.0, -np.inf], [0.5, -np.inf, 0.25]])
    module = ct.TemperatureModule.from_calibrator(calibrator, dtype=torch.float64, device=DEVICE)
    found = probabilities(module, torch.as_tensor(asked, device=DEVICE))
    assert found == pytest.approx(calibrator.predict_proba(asked), abs=1e-12)


def test_a_calibrator_made_with_torch_is_saved_and_used_without(tmp_path: Path) -> None:
    module = ct.TemperatureModule().fit(*tensors(*drawn(n=200)))
    loaded = cal.load(cal.save(module.to_calibrator(), tmp_path / "calibrator.json"))
    fresh, labels = drawn(n=50, seed=1)
    assert loaded.predict_proba(fresh) == pytest.approx(probabilities(module, tensors(fresh, labels)[0]), abs=1e-6)
    assert ct.TemperatureModule.from_calibrator(loaded).temperature == module.temperature


# Export.


@pytest.mark.skipif(
    not DEVICE.startswith("cuda"), reason="NO GPU: set CALIBRANT_TEST_DEVICE=cuda to see that none waits"
)
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_forward_does_not_wait_for_the_device() -> None:
    logits, labels = tensors(*drawn(n=200), torch.float32)
    for module in (ct.TemperatureModule(4).fit(logits, labels), ct.OrderPreservingNetwork(4).to(DEVICE)):
        module(logits)
        torch.cuda.set_sync_debug_mode("error")
        try:
            out = module(logits)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert out.device == logits.device


def modules_to_export() -> dict[str, tuple[Any, Any]]:
    """Each with rows to call it on."""
    logits, labels = tensors(*drawn(n=200), torch.float32)
    scaled = ct.TemperatureModule(4).fit(logits, labels)
    network = ct.OrderPreservingNetwork(4, hidden=(8,), invariant=False).fit(logits, labels, epochs=2)
    torch.manual_seed(0)
    pixels = torch.randn(4, 2, 5, 6).to(DEVICE)
    return {
        "temperature": (scaled, logits),
        "network": (network, logits),
        "model": (ct.CalibratedModule(nn.Linear(4, 4).to(DEVICE), network), logits),
        "dense": (ct.CalibratedModule(nn.Conv2d(2, 4, 1).to(DEVICE), scaled), pixels),
    }


@pytest.mark.parametrize("name", ["temperature", "network", "model", "dense"])
def test_export(name: str) -> None:
    module, rows = modules_to_export()[name]
    program = exported(module, rows[:3])
    for some in (rows[:2], rows):
        assert torch.allclose(program(some), module(some), atol=1e-5)


@pytest.mark.skipif(
    find_spec("onnx") is None or find_spec("onnxscript") is None,
    reason="NO ONNX: pip install onnx onnxscript to test the export to ONNX",
)
@pytest.mark.filterwarnings("ignore")  # what the exporter itself warns of
@pytest.mark.parametrize("name", ["temperature", "model"])
def test_onnx(name: str) -> None:
    from onnx.reference import ReferenceEvaluator

    module, rows = modules_to_export()[name]
    module, rows = module.cpu().eval(), rows.cpu()
    shapes: Any = {"inputs": ({0: ROWS},)} if name == "model" else ({0: ROWS},)
    program = torch.onnx.export(module, (rows[:5],), dynamo=True, dynamic_shapes=shapes, verbose=False)
    run = ReferenceEvaluator(program.model_proto)
    found = run.run(None, {run.input_names[0]: rows[:9].numpy()})[0]
    assert found == pytest.approx(module(rows[:9]).detach().numpy(), abs=1e-4)


# Order-preserving networks.

rows_of_logits = st.lists(
    st.lists(st.integers(-400, 400).map(lambda x: x / 16), min_size=4, max_size=4), min_size=1, max_size=8
)


@settings(max_examples=40, deadline=None)
@given(rows_of_logits, st.booleans())
def test_a_network_keeps_the_order_and_ties(rows: list[list[float]], invariant: bool) -> None:
    network = ct.OrderPreservingNetwork(4, hidden=(8,), invariant=invariant).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in network.network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
        z = torch.tensor(rows, dtype=torch.float64)
        out = network(z)
        gap, before = out[:, :, None] - out[:, None, :], z[:, :, None] - z[:, None, :]
        assert torch.equal(torch.sign(gap), torch.sign(before))
        # A constant added to a row changes nothing but that constant.
        assert torch.allclose(network(z + 3), out + 3)
        if invariant:
            assert torch.allclose(network(z[:, [2, 0, 3, 1]]), out[:, [2, 0, 3, 1]])


def test_a_network_starts_as_the_identity_and_is_no_worse_than_a_temperature() -> None:
    logits, labels = tensors(*drawn(n=1500, sharp=1.0), torch.float32)
    network = ct.OrderPreservingNetwork(4, hidden=(32,)).to(DEVICE)
    assert torch.allclose(network(logits), logits, atol=1e-5)
    dense = logits[:60].reshape(3, 4, 5, 4).movedim(-1, 1)
    assert torch.allclose(network.predict_proba(dense), dense.softmax(dim=1), atol=1e-5)
    # Small and large logits need different factors, which no temperature has.
    bent = logits.sign() * logits.abs().sqrt() * 3
    state = torch.random.get_rng_state()
    network.fit(bent, labels, epochs=15, rng=1)
    assert torch.equal(state, torch.random.get_rng_state())
    fresh, fresh_labels = tensors(*drawn(n=1500, sharp=1.0, seed=9), torch.float32)
    fresh = fresh.sign() * fresh.abs().sqrt() * 3
    with torch.no_grad():
        loss = float(nn.functional.cross_entropy(network(fresh), fresh_labels))
        plain = ct.TemperatureModule().fit(bent, labels)(fresh)
        assert loss < float(nn.functional.cross_entropy(plain, fresh_labels)) - 1e-3
        assert torch.equal(network(fresh).argmax(dim=1), fresh.argmax(dim=1))
    again = ct.OrderPreservingNetwork(4, hidden=(32,)).fit(bent, labels, epochs=15, rng=1)
    assert torch.allclose(again(fresh), network(fresh), atol=1e-5)
    again.load_state_dict(network.state_dict())
    assert torch.equal(again(fresh), network(fresh))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert torch.equal(network(fresh), again(fresh))


@pytest.mark.parametrize("mask", [-1e4, -1e9, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_masked_class_leaves_the_others_as_they_are(mask: float, dtype: Any) -> None:
    network = ct.OrderPreservingNetwork(3).to(DEVICE)
    logits = torch.tensor([[1.0, 1.5, mask], [mask, 0.25, 0.125]], dtype=dtype, device=DEVICE)
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
    labels = (np.where(mask, -1e9, true) + rng.gumbel(size=true.shape)).argmax(axis=1)
    logits = torch.as_tensor(np.where(mask, -1e9, 2 * true), dtype=torch.float32, device=DEVICE)
    network = ct.OrderPreservingNetwork(6, hidden=(8,)).fit(logits, labels, epochs=2)
    with torch.no_grad():
        assert torch.equal(network(logits).argmax(dim=1), logits.argmax(dim=1))


# A model and its calibrator.


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        return self.first(x), self.second(x)


def test_a_calibrated_module_is_the_calibrator_of_the_model() -> None:
    torch.manual_seed(0)
    model, x = TwoHeads().to(DEVICE), torch.randn(7, 3).to(DEVICE)
    scaled = ct.TemperatureModule(temperature=2.0).to(DEVICE)
    whole = ct.CalibratedModule(model, scaled, output=0)
    assert torch.allclose(whole(x), model.first(x) / 2)
    assert torch.allclose(whole.predict_proba(x), torch.softmax(model.first(x) / 2, 1))
    # One output is the log-odds of the second class.
    binary = ct.CalibratedModule(model, scaled, output=lambda out: out[1])
    assert torch.allclose(binary.predict_proba(x)[:, 1], torch.sigmoid(model.second(x)[:, 0] / 2))
    with raises(InputTypeError, "output"):
        ct.CalibratedModule(model, scaled)(x)
    with raises(InputTypeError, "calibrator"):
        ct.CalibratedModule(model, cal.TemperatureScaling())  # type: ignore[arg-type]


def test_one_row_is_not_as_many_rows_as_classes() -> None:
    calibrated = ct.CalibratedModule(nn.Linear(10, 4), ct.TemperatureModule(temperature=2.0))
    x = torch.randn(5, 10)
    with raises(ShapeError, "output"):
        calibrated.predict_proba(x[0])
    assert calibrated.predict_proba(x[:1]).shape == (1, 4)
    square = ct.CalibratedModule(nn.Linear(4, 4), ct.TemperatureModule(temperature=2.0))
    with raises(ShapeError, "output"):  # as many features as classes
        square.predict_proba(torch.randn(4))


def test_probabilities_are_those_of_evaluation_mode() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(10, 4))
    calibrated = ct.CalibratedModule(model, ct.TemperatureModule(temperature=2.0)).train()
    model[1].eval()
    x = torch.randn(50, 10)
    found = calibrated.predict_proba(x)
    assert torch.equal(found, calibrated.predict_proba(x))
    assert torch.allclose(found, torch.softmax(model[1](x) / 2, 1))
    assert [part.training for part in calibrated.modules()] == [True, True, True, False, True]


def test_numbers_of_numpy_are_numbers() -> None:
    module = ct.TemperatureModule(np.int64(3), temperature=np.float32(2))
    assert module(torch.zeros(2, 3, 5)).shape == (2, 3, 5)
    assert module(torch.zeros(3)).shape == (3,)
    assert repr(module) == "TemperatureModule(n_classes=3)"
