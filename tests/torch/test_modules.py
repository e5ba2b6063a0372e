"""Maps as modules: the same numbers as the maps for arrays, fitted to the same optimum, kept, moved and exported."""

from __future__ import annotations

import io
import os
import warnings
from functools import partial
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
    ArgumentError,
    CalibrantWarning,
    InputError,
    InputTypeError,
    InSampleWarning,
    LabelError,
    NotFittedError,
    ShapeError,
    WeightError,
)
from calibrant.torch.rows import DeviceData  # noqa: E402
from tests.calling import raises  # noqa: E402

DEVICE = os.environ.get("CALIBRANT_TEST_DEVICE", "cpu")


def drawn(n: int = 800, k: int = 4, seed: int = 0, sharp: float = 2.5) -> tuple[Any, Any]:
    """Logits that are too sure, and labels of what they should have been."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, k)) * 1.5
    probs = np.exp(true) / np.exp(true).sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    return sharp * true + rng.normal(size=k) * 0.5, labels


def tensors(logits: Any, labels: Any, dtype: Any = None) -> tuple[Any, Any]:
    return torch.as_tensor(logits, dtype=dtype or torch.float64, device=DEVICE), torch.as_tensor(labels, device=DEVICE)


# The map, its module, and how a module of this kind is made.
PAIRS: list[tuple[str, Any, Any]] = [
    ("temperature", cal.TemperatureScaling, lambda k, **w: ct.TemperatureModule(k, **w)),
    ("bcts", cal.BiasCorrectedTemperature, lambda k, **w: ct.BiasCorrectedTemperatureModule(k, **w)),
    ("vector", cal.VectorScaling, lambda k, **w: ct.VectorModule(k, **w)),
    ("matrix", partial(cal.MatrixScaling, off_diagonal=0.1), lambda k, **w: ct.MatrixModule(k, off_diagonal=0.1, **w)),
    (
        "dirichlet",
        partial(cal.DirichletCalibration, off_diagonal=0.1, intercept=0.3),
        lambda k, **w: ct.DirichletModule(k, off_diagonal=0.1, intercept=0.3, **w),
    ),
]
pairs = pytest.mark.parametrize(("kind", "module_of"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])


def probabilities(module: Any, logits: Any) -> Any:
    with torch.no_grad():
        return module.predict_proba(logits).cpu().double().numpy()


@pairs
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("given", ["logit", "prob"])
def test_a_map_becomes_a_module_and_comes_back(kind: Any, module_of: Any, k: int, given: str) -> None:
    logits, labels = drawn(k=k)
    fresh, _ = drawn(k=k, seed=1)
    softmax = torch.softmax(torch.as_tensor(logits), 1).numpy(), torch.softmax(torch.as_tensor(fresh), 1).numpy()
    known, asked = (logits, fresh) if given == "logit" else softmax
    calibrator = kind(input=given).fit(known, labels)
    wide = ct.CalibratorModule.from_calibrator(calibrator, dtype=torch.float64, device=DEVICE)
    assert type(wide) is type(module_of(k))
    found, expected = probabilities(wide, tensors(fresh, labels)[0]), calibrator.predict_proba(asked)
    assert found == pytest.approx(expected, abs=1e-12)
    single = type(wide).from_calibrator(calibrator, device=DEVICE)
    assert probabilities(single, tensors(fresh, labels, torch.float32)[0]) == pytest.approx(expected, abs=1e-6)
    back = wide.to_calibrator()
    assert type(back) is type(calibrator)
    assert back.get_params() == calibrator.get_params()
    assert back.predict_proba(asked) == pytest.approx(expected, abs=1e-12)
    with pytest.warns(InSampleWarning):
        back.predict_proba(known)


@pairs
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("weighed", [None, "counts", "whole", "real"])
def test_fitting_finds_the_optimum_of_the_map(kind: Any, module_of: Any, k: int, weighed: str | None) -> None:
    logits, labels = drawn(n=400, k=k, seed=2)
    rng = np.random.default_rng(3)
    whole, real = rng.integers(0, 4, 400), rng.random(400) + 0.1
    weight = {None: {}, "counts": {"counts": whole}, "whole": {"sample_weight": whole}, "real": {"sample_weight": real}}
    calibrator = kind(input="logit").fit(logits, labels, **weight[weighed])
    module = module_of(k).double()
    given = {word: torch.as_tensor(values) for word, values in weight[weighed].items()}
    assert module.fit(*tensors(logits, labels), **given) is module
    fresh, _ = drawn(k=k, seed=4)
    assert probabilities(module, tensors(fresh, labels)[0]) == pytest.approx(calibrator.predict_proba(fresh), abs=2e-7)
    assert next(iter(module.state_dict().values())).device.type == torch.device(DEVICE).type


@pairs
def test_single_precision_and_probabilities_fit_alike(kind: Any, module_of: Any) -> None:
    logits, labels = drawn(n=300)
    fresh, _ = drawn(seed=5)
    asked = tensors(fresh, labels, torch.float32)[0]
    wide = module_of(4).double().fit(*tensors(logits, labels))
    single = module_of(4).fit(*tensors(logits, labels, torch.float32))
    assert single(asked).dtype == torch.float32
    assert probabilities(single, asked) == pytest.approx(probabilities(wide, asked.double()), abs=3e-6)
    of_probs = module_of(4, input="prob").double().fit(*tensors(logits, labels))
    softmax = torch.softmax(torch.as_tensor(logits), 1).numpy()
    expected = kind(input="prob").fit(softmax, labels).predict_proba(torch.softmax(torch.as_tensor(fresh), 1).numpy())
    assert probabilities(of_probs, asked.double()) == pytest.approx(expected, abs=1e-6)


@pairs
def test_half_precision_is_widened(kind: Any, module_of: Any) -> None:
    logits, labels = drawn(n=300)
    half = tensors(logits, labels, torch.float16)
    exact = module_of(4).fit(half[0].double(), half[1])
    module = module_of(4).fit(*half)
    out = module(half[0])
    assert out.dtype == torch.float32
    assert torch.allclose(out, exact(half[0].float()), atol=1e-5)
    assert probabilities(module, half[0]).sum(axis=1) == pytest.approx(np.ones(300), abs=1e-6)


@pairs
def test_the_state_is_kept(kind: Any, module_of: Any) -> None:
    logits, labels = tensors(*drawn(n=300))
    module = module_of(4).fit(logits, labels)
    kept = io.BytesIO()
    torch.save(module.state_dict(), kept)
    kept.seek(0)
    other = module_of(4).to(DEVICE)
    assert not torch.equal(other(logits), module(logits))
    other.load_state_dict(torch.load(kept, weights_only=True))
    assert torch.equal(other(logits), module(logits))
    # Without the record of its rows a map cannot warn, but it gives the same.
    expected = probabilities(module, logits)
    assert other.to_calibrator().predict_proba(logits.cpu().numpy()) == pytest.approx(expected, abs=1e-6)


@pairs
def test_a_module_starts_as_the_identity(kind: Any, module_of: Any) -> None:
    logits = tensors(*drawn(n=50))[0]
    out = probabilities(module_of(4).double().to(DEVICE), logits)
    assert out == pytest.approx(torch.softmax(logits, 1).cpu().numpy(), abs=1e-6)


@pairs
def test_gradients_reach_the_logits(kind: Any, module_of: Any) -> None:
    logits, labels = tensors(*drawn(n=100))
    module = module_of(4).double().fit(logits, labels)
    asked = logits.clone().requires_grad_()
    nn.functional.cross_entropy(module(asked), labels).backward()
    assert torch.isfinite(asked.grad).all()
    assert asked.grad.abs().sum() > 0


@pytest.mark.skipif(
    not DEVICE.startswith("cuda"), reason="NO GPU: set CALIBRANT_TEST_DEVICE=cuda to see that none waits"
)
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pairs
def test_forward_does_not_wait_for_the_device(kind: Any, module_of: Any) -> None:
    logits, labels = tensors(*drawn(n=200), torch.float32)
    for module in (module_of(4).fit(logits, labels), ct.OrderPreservingNetwork(4).to(DEVICE)):
        module(logits)
        torch.cuda.set_sync_debug_mode("error")
        try:
            out = module(logits)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert out.device == logits.device


@pairs
def test_export(kind: Any, module_of: Any) -> None:
    logits, labels = tensors(*drawn(n=200), torch.float32)
    module = module_of(4).fit(logits, labels)
    program = torch.export.export(module, (logits[:5],), dynamic_shapes=({0: ROWS},))
    for rows in (logits[:2], logits):
        assert torch.allclose(program.module()(rows), module(rows), atol=1e-6)
    whole = ct.CalibratedModule(nn.Linear(3, 4).to(DEVICE), module)
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    program = torch.export.export(whole, (x,), dynamic_shapes={"inputs": ({0: ROWS},)})
    assert torch.allclose(program.module()(x[:3]), whole(x[:3]), atol=1e-6)


def onnx_evaluator(module: Any, x: Any, shapes: Any) -> Any:
    from onnx.reference import ReferenceEvaluator

    program = torch.onnx.export(module.eval(), (x,), dynamo=True, dynamic_shapes=shapes, verbose=False)
    return ReferenceEvaluator(program.model_proto)


ROWS = torch.export.Dim("rows")
ONNX = find_spec("onnx") is not None and find_spec("onnxscript") is not None


@pytest.mark.skipif(not ONNX, reason="NO ONNX: pip install onnx onnxscript to test the export to ONNX")
@pytest.mark.filterwarnings("ignore")  # what the exporter itself warns of
@pairs
def test_onnx(kind: Any, module_of: Any) -> None:
    logits, labels = tensors(*drawn(n=200), torch.float32)
    module = module_of(4).fit(logits, labels).cpu()
    run = onnx_evaluator(module, logits[:5].cpu(), ({0: ROWS},))
    found = run.run(None, {run.input_names[0]: logits[:9].cpu().numpy()})[0]
    assert found == pytest.approx(module(logits[:9].cpu()).detach().numpy(), abs=1e-4)


@pytest.mark.skipif(not ONNX, reason="NO ONNX: pip install onnx onnxscript to test the export to ONNX")
@pytest.mark.filterwarnings("ignore")
def test_onnx_of_a_network_and_of_a_whole_model() -> None:
    logits, labels = (values.cpu() for values in tensors(*drawn(n=200), torch.float32))
    network = ct.OrderPreservingNetwork(4, hidden=(8,)).fit(logits, labels, epochs=2)
    whole = ct.CalibratedModule(nn.Linear(3, 4), network)
    shapes = {"inputs": ({0: ROWS},)}
    for module, x, axes in ((network, logits[:9], ({0: ROWS},)), (whole, logits[:9, :3], shapes)):
        run = onnx_evaluator(module, x[:5], axes)
        found = run.run(None, {run.input_names[0]: x.numpy()})[0]
        assert found == pytest.approx(module(x).detach().numpy(), abs=1e-4)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_the_temperature_is_the_best_of_a_dense_grid(seed: int, dtype: Any) -> None:
    logits, labels = tensors(*drawn(seed=seed, n=500, k=5), dtype)
    module = ct.TemperatureModule().double().fit(logits, labels)
    z = logits.double()
    low, high = 1e-3, 1e3
    for _ in range(8):  # ever finer grids around the best point
        grid = torch.linspace(np.log(low), np.log(high), 41, dtype=torch.float64).exp()
        loss = torch.stack([nn.functional.cross_entropy(z / t, labels) for t in grid])
        best = int(loss.argmin())
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 40)])
    assert module.temperature == pytest.approx(float(grid[best]), rel=1e-6)
    with torch.no_grad():  # where the loss is least, the mean logit of the label is what the probabilities say
        probs = module.predict_proba(z)
    surplus = z.gather(1, labels[:, None])[:, 0] - (probs * z).sum(dim=1)
    assert float(surplus.mean()) == pytest.approx(0, abs=1e-9)


def test_temperature_by_hand() -> None:
    # Three of four rows are right with log-odds 2, so the best log-odds are ln 3.
    logits, labels = tensors([[2.0, 0]] * 4, [0, 0, 0, 1])
    assert ct.TemperatureModule().double().fit(logits, labels).temperature == pytest.approx(2 / np.log(3), rel=1e-9)
    level = ct.TemperatureModule().double().fit(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0]))
    assert level.temperature == pytest.approx(1)


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
@pytest.mark.parametrize(("sign", "bound"), [(1, 1e-3), (-1, 1e3)])
def test_labels_that_the_logits_separate_do_not_run_away(sign: int, bound: float) -> None:
    logits, _ = drawn(n=100)
    labels = (sign * logits).argmax(axis=1)
    with pytest.warns(CalibrantWarning, match=f"{bound:g} is used"):
        module = ct.TemperatureModule().fit(*tensors(logits, labels))
    assert module.temperature == pytest.approx(bound, rel=1e-5)
    with pytest.warns(CalibrantWarning):
        vector = ct.VectorModule(4).fit(*tensors(logits, logits.argmax(axis=1)))
    assert torch.isfinite(vector.weight).all()


def test_the_penalty_is_chosen_in_the_same_folds() -> None:
    logits, labels = drawn(n=200, k=3)
    calibrator = cal.MatrixScaling(input="logit").fit(logits, labels)
    module = ct.MatrixModule(3).double().fit(*tensors(logits, labels))
    assert float(module.penalty) == calibrator.penalty_
    assert module.weight.detach().cpu().numpy() == pytest.approx(calibrator.matrix_, abs=1e-6)


def test_more_classes_than_newton_steps_are_for() -> None:
    logits, labels = drawn(n=400, k=21)
    calibrator = cal.MatrixScaling(input="logit", off_diagonal=10.0).fit(logits, labels)
    module = ct.MatrixModule(21, off_diagonal=10.0).double().fit(*tensors(logits, labels))
    fresh, _ = drawn(n=100, k=21, seed=1)
    assert probabilities(module, tensors(fresh, labels)[0]) == pytest.approx(calibrator.predict_proba(fresh), abs=1e-5)


@pytest.mark.parametrize("entries", [128, 1 << 24])
@pytest.mark.parametrize("name", ["temperature", "bcts", "vector", "matrix", "dirichlet"])
def test_solvers_on_a_device_find_what_those_of_arrays_find(
    name: str, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows as tensors, in one block and in many; on a CPU modules use arrays, so the tensors are set here."""
    monkeypatch.setattr("calibrant.recalibration.softmax_regression.DEVICE_ENTRIES", entries)
    kind = next(pair[1] for pair in PAIRS if pair[0] == name)
    logits, labels = drawn(n=100, k=3)
    known, found = kind(input="logit").fit(logits, labels), kind(input="logit")
    data, _, _ = found._read_training(logits, labels, None, None)
    found._fit_read(DeviceData(data._p, torch.device(DEVICE)), None, 3)
    for attribute in known.fitted:
        assert getattr(found, attribute) == pytest.approx(getattr(known, attribute), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", ["bcts", "vector"])
def test_more_rows_than_a_block_of_arrays(name: str) -> None:
    _, calibrator, make = next(pair for pair in PAIRS if pair[0] == name)
    logits, labels = drawn(n=30_000, k=5)
    module = make(5).double().fit(*tensors(logits, labels))
    known = calibrator(input="logit").fit(logits, labels).predict_proba(logits[:50])
    assert probabilities(module, tensors(logits[:50], labels[:50])[0]) == pytest.approx(known, abs=1e-9)


def test_mixed_precision_around_a_matrix() -> None:
    logits, labels = tensors(*drawn(n=200), torch.float32)
    module = ct.MatrixModule(4, off_diagonal=0.1).fit(logits, labels)
    expected = module(logits)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert torch.equal(module(logits), expected)


def test_a_map_made_with_torch_is_saved_and_used_without(tmp_path: Path) -> None:
    logits, labels = drawn(n=200)
    module = ct.VectorModule(4).fit(*tensors(logits, labels))
    cal.save(module.to_calibrator(), tmp_path / "map.json")
    loaded = cal.load(tmp_path / "map.json")
    fresh, _ = drawn(n=50, seed=1)
    assert loaded.predict_proba(fresh) == pytest.approx(probabilities(module, tensors(fresh, labels)[0]), abs=1e-6)
    assert ct.VectorModule.from_calibrator(loaded, device=DEVICE).weight.tolist() == module.weight.tolist()


# Order preserving.

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
    # The second class is believed too little by a factor that depends on the row: no temperature can mend that.
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
        assert torch.allclose(network.predict_proba(fresh), torch.softmax(network(fresh), 1))
    again = ct.OrderPreservingNetwork(4, hidden=(32,)).fit(bent, labels, epochs=15, rng=1)
    assert torch.allclose(again(fresh), network(fresh), atol=1e-5)


def test_a_network_exports_and_keeps_its_state() -> None:
    logits, labels = tensors(*drawn(n=200), torch.float32)
    network = ct.OrderPreservingNetwork(4, hidden=(8,), invariant=False).fit(logits, labels, epochs=2)
    assert torch.allclose(
        torch.export.export(network, (logits[:4],), dynamic_shapes=({0: ROWS},)).module()(logits),
        network(logits),
        atol=1e-5,
    )
    other = ct.OrderPreservingNetwork(4, hidden=(8,), invariant=False).to(DEVICE)
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(logits), network(logits))


def test_a_network_refuses() -> None:
    network = ct.OrderPreservingNetwork(4, hidden=(4,))
    with raises(ArgumentError, "rng"):
        network.fit(*tensors(*drawn(n=50)), rng=-1)
    with raises(ShapeError, "logits"):
        network.fit(*tensors(*drawn(n=2)))


# A model and its map.


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        return self.first(x), self.second(x)


def test_a_calibrated_module_is_the_map_of_the_model() -> None:
    torch.manual_seed(0)
    model, x = TwoHeads().to(DEVICE), torch.randn(7, 3).to(DEVICE)
    scaled = ct.TemperatureModule(temperature=2.0).to(DEVICE)
    whole = ct.CalibratedModule(model, scaled, output=0)
    assert torch.allclose(whole(x), model.first(x) / 2)
    assert torch.allclose(whole.predict_proba(x), torch.softmax(model.first(x) / 2, 1))
    # One output is the log-odds of the second class.
    binary = ct.CalibratedModule(model, scaled, output=lambda out: out[1])
    assert torch.allclose(binary.predict_proba(x)[:, 1], torch.sigmoid(model.second(x)[:, 0] / 2))
    with raises(ArgumentError, "output"):
        ct.CalibratedModule(model, scaled)(x)
    with raises(InputTypeError, "calibrator"):
        ct.CalibratedModule(model, cal.TemperatureScaling())  # type: ignore[arg-type]


# What is refused.


@pytest.mark.parametrize(
    ("logits", "labels", "error", "argument"),
    [
        (torch.zeros(3), [0, 1, 1], ShapeError, "logits"),
        (torch.zeros(3, 1), [0, 1, 1], ShapeError, "logits"),
        (torch.zeros(0, 3), [], ShapeError, "logits"),
        (torch.zeros(2, 3, 3), [0, 1], ShapeError, "logits"),
        (np.zeros((2, 3)), [0, 1], InputTypeError, "logits"),
        (torch.zeros(2, 3, dtype=torch.long), [0, 1], InputTypeError, "logits"),
        (torch.zeros(2, 3), [0], ShapeError, "labels"),
        (torch.zeros(2, 3), [[0, 0, 1], [1, 0, 0]], ShapeError, "labels"),
        (torch.zeros(2, 3), [0, 3], LabelError, "labels"),
        (torch.zeros(2, 3), [-100, 1], LabelError, "labels"),
        (torch.zeros(2, 3), [0.0, 0.5], LabelError, "labels"),
        (torch.tensor([[0.0, 1, 2], [0, float("nan"), 1]]), [0, 1], InputError, "logits"),
        (torch.tensor([[0.0, 1, -float("inf")]]), [0], InputError, "logits"),
        (torch.zeros(2, 4), [0, 1], ShapeError, "logits"),
    ],
)
def test_rows_that_cannot_be_fitted(logits: Any, labels: Any, error: type[Exception], argument: str) -> None:
    with raises(error, argument):
        ct.VectorModule(3).fit(logits, torch.as_tensor(labels))


def test_weights_that_cannot_be_used() -> None:
    with pytest.raises(WeightError, match="row 1"):
        ct.TemperatureModule().fit(torch.zeros(2, 3), [0, 1], sample_weight=[1.0, -1.0])
    with pytest.raises(ShapeError, match="sample_weight"):
        ct.TemperatureModule().fit(torch.zeros(2, 3), [0, 1], sample_weight=torch.ones(3))


def test_labels_may_be_whole_floats_or_a_list() -> None:
    logits, labels = drawn(n=60)
    z = torch.as_tensor(logits)
    one = ct.TemperatureModule().fit(z, labels.tolist())
    assert ct.TemperatureModule().fit(z, torch.as_tensor(labels).double()).temperature == one.temperature


def test_what_is_no_module_or_no_map_is_named() -> None:
    with raises(ShapeError, "logits"):
        ct.VectorModule(3)(torch.zeros(2, 4))
    with raises(ArgumentError, "n_classes"):
        ct.VectorModule(1)
    with raises(ArgumentError, "input"):
        ct.VectorModule(3, input="logits")  # type: ignore[arg-type]
    with raises(ArgumentError, "temperature"):
        ct.TemperatureModule(temperature=0)
    with pytest.raises(ArgumentError, match="off_diagonal"):
        ct.MatrixModule(3, off_diagonal=-1)
    with pytest.raises(NotFittedError, match=r"TemperatureScaling: is not fitted; call fit\(scores, y\) first"):
        ct.CalibratorModule.from_calibrator(cal.TemperatureScaling())
    with raises(InputTypeError, "calibrator"):
        ct.CalibratorModule.from_calibrator(cal.IsotonicCalibration())
    with raises(InputTypeError, "calibrator"):
        ct.VectorModule.from_calibrator(cal.TemperatureScaling())
    with raises(ArgumentError, "n_classes"):
        ct.TemperatureModule().to_calibrator()


@pytest.mark.parametrize(("kind", "module_of"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_classes_are_on_axis_1_of_dense_logits(kind: Any, module_of: Any) -> None:
    logits, labels = tensors(*drawn(n=400, k=4))
    module = module_of(4).fit(logits, labels)
    pixels = logits[:60].reshape(3, 4, 5, 4)  # (N, height, width, classes)
    dense = pixels.movedim(-1, 1)
    expected = module.predict_proba(pixels.reshape(-1, 4)).reshape(pixels.shape)
    assert torch.allclose(module.predict_proba(dense).movedim(1, -1), expected, atol=1e-12)
    assert torch.allclose(module.predict_proba(dense).sum(dim=1), torch.ones_like(dense[:, 0]))
    assert torch.allclose(module(dense).softmax(dim=1), module.predict_proba(dense), atol=1e-12)


def test_a_network_takes_dense_logits() -> None:
    network = ct.OrderPreservingNetwork(4, hidden=(8,))
    dense = torch.randn(2, 4, 3, 5, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(network(dense), dense, atol=1e-5)  # it starts as the identity
    assert torch.allclose(network.predict_proba(dense), dense.softmax(dim=1), atol=1e-5)


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


def test_whole_numbers_of_numpy_are_numbers_of_classes() -> None:
    assert ct.VectorModule(np.int64(3)).n_classes == 3
    with raises(ArgumentError, "n_classes"):
        ct.VectorModule(True)


def test_forward_takes_rows_of_any_shape_and_says_what_it_is() -> None:
    module = ct.VectorModule(3)
    assert module(torch.zeros(2, 3, 5)).shape == (2, 3, 5)
    assert module(torch.zeros(3)).shape == (3,)
    with raises(ShapeError, "logits"):
        module(torch.zeros(2, 5, 3))
    assert repr(module) == "VectorModule(n_classes=3)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "input='prob'" in repr(ct.TemperatureModule(3, input="prob"))
