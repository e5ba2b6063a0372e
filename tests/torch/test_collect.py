"""Collecting logits, evaluating a model over a loader, and abstaining: right numbers, everything left as it was, and what is refused."""

import os
import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the modules")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset  # noqa: E402

import calibrant as cal  # noqa: E402
import calibrant.torch as ct  # noqa: E402
from calibrant.errors import (  # noqa: E402
    ArgumentError,
    InputError,
    InSampleWarning,
    LabelError,
    ShapeError,
)
from tests.calling import raises  # noqa: E402

DEVICE = os.environ.get("CALIBRANT_TEST_DEVICE", "cpu")


def rows(n: int = 23, classes: int = 3) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, 5, generator=generator), torch.randint(classes, (n,), generator=generator)


class Net(nn.Module):
    """Has batch normalisation and dropout, both of which change with the mode."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.body = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(8, classes)

    def forward(self, x: Any) -> Any:
        return self.head(self.drop(self.body(x)))


def net(classes: int = 3) -> Any:
    return Net(classes).to(DEVICE)


def expected(model: Any, x: Any) -> Any:
    model.eval()
    with torch.no_grad():
        found = model(x.to(DEVICE)).cpu()
    model.train()
    return found


@pytest.mark.parametrize("batch", [1, 4, 23, 50])
def test_all_rows_in_order_whatever_the_batches(batch: int) -> None:
    x, y = rows()
    model = net()
    found = ct.collect(model, DataLoader(TensorDataset(x, y), batch_size=batch))
    assert torch.allclose(found.logits, expected(model, x), atol=1e-6)
    assert torch.equal(found.labels, y)
    assert found.features is None
    assert (len(found), found.n_classes) == (23, 3)
    assert not found.logits.requires_grad
    assert found.logits.device.type == "cpu"
    # What was collected may be trained on: it is an ordinary tensor.
    weight = torch.ones(3, requires_grad=True)
    (found.logits * weight).sum().backward()
    assert weight.grad is not None


def test_features_of_a_layer_and_the_hook_is_gone() -> None:
    x, y = rows()
    model = net()
    found = ct.collect(model, [(x[:20], y[:20]), (x[20:], y[20:])], layer="body")
    model.eval()
    with torch.no_grad():
        assert torch.allclose(found.features, model.body(x.to(DEVICE)).cpu(), atol=1e-6)
    assert not model.body._forward_hooks
    assert found.predictions().features.shape == (23, 8)


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.unused = nn.Linear(1, 1)
        self.pair = Pair()

    def forward(self, x: Any) -> Any:
        self.pair(x)
        return self.pool(self.conv(x)).flatten(1)


class Pair(nn.Module):
    def forward(self, x: Any) -> Any:
        return x, x


def test_features_are_flat_and_their_layer_must_be_reached() -> None:
    model, loader = Pooled().to(DEVICE), [(torch.zeros(4, 1, 6, 6), torch.zeros(4, dtype=torch.long))]
    assert ct.collect(model, loader, layer="pool").features.shape == (4, 2)
    assert ct.collect(model, loader, layer="conv").features.shape == (4, 2 * 4 * 4)
    with raises(ArgumentError, "layer"):
        ct.collect(model, loader, layer="unused")
    with raises(ShapeError, "layer"):
        ct.collect(model, loader, layer="pair")
    with raises(ArgumentError, "layer"):
        ct.collect(model, loader, layer="pol")
    assert not any(part._forward_hooks for part in model.modules())


def test_features_are_safe_from_a_later_layer_that_works_in_place() -> None:
    x, y = rows()
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(inplace=True), nn.Linear(8, 3)).to(DEVICE)
    found = ct.collect(model, [(x, y)], layer="0")
    with torch.no_grad():
        wanted = model[0](x.to(DEVICE)).cpu()
    assert (wanted < 0).any()
    assert torch.equal(found.features, wanted)


class Sometimes(nn.Module):
    """Goes through one of its parts for large inputs alone."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Identity()

    def forward(self, x: Any) -> Any:
        return self.part(x) if x.max() > 10 else x


def test_features_are_never_those_of_another_batch() -> None:
    x, y = rows()
    with raises(ArgumentError, "layer"):
        ct.collect(Sometimes(), [(x + 20, y), (x, y)], layer="part")


@pytest.mark.parametrize("kind", ["tensor", "array"])
def test_a_loader_may_fill_the_same_memory_again(kind: str) -> None:
    x, y = rows(24)

    def loader() -> Any:
        inputs, labels = torch.empty(8, 5), torch.empty(8, dtype=torch.int64)
        for start in range(0, 24, 8):
            inputs.copy_(x[start : start + 8])
            labels.copy_(y[start : start + 8])
            yield inputs, labels if kind == "tensor" else labels.numpy()

    for model in (nn.Identity(), lambda x: x):
        found = ct.collect(model, loader(), layer="" if isinstance(model, nn.Module) else None)
        assert torch.equal(found.labels, y)
        assert torch.equal(found.logits, x)
        assert found.features is None or torch.equal(found.features, x)


def test_a_model_may_write_into_the_same_memory_again() -> None:
    x, y = rows(24)
    answer = torch.empty(8, 3)
    found = ct.collect(lambda x: answer.copy_(x[:, :3]), list(zip(x.split(8), y.split(8), strict=True)))
    assert torch.equal(found.logits, x[:, :3])


def test_labels_are_read_before_a_model_writes_into_its_inputs() -> None:
    whole = torch.cat([torch.arange(12.0).reshape(4, 3), torch.tensor([[0.0], [1.0], [2.0], [0.0]])], dim=1)
    found = ct.collect(lambda x: x[:, :3].clone() + x.zero_()[:, :3], [whole], unpack=lambda x: (x, x[:, 3]))
    assert found.labels.tolist() == [0, 1, 2, 0]


def exported(model: Any) -> Any:
    batch = torch.export.Dim("batch")
    return torch.export.export(model, (torch.zeros(4, 5, device=DEVICE),), dynamic_shapes=({0: batch},)).module()


def test_an_exported_program_is_collected_and_parts_around_it_keep_their_modes() -> None:
    x, y = rows()
    model = net().eval()
    program = exported(model)
    wanted = ct.collect(model, [(x, y)]).logits
    assert torch.allclose(ct.collect(program, [(x, y)]).logits, wanted, atol=1e-6)
    around = nn.Sequential(program, nn.Dropout(0.5))  # its eval stops at the program, before the dropout
    assert torch.allclose(ct.collect(around, [(x, y)]).logits, wanted, atol=1e-6)
    assert around[1].training
    as_calibrator = exported(nn.Identity())  # of five classes
    assert ct.evaluate(ct.Collected(x, y), calibrator=as_calibrator)["nll"] == nll(x, y)


def test_every_part_gets_its_own_mode_back() -> None:
    x, y = rows()
    model = net()
    model.train()
    model.body.eval()  # a frozen body stays frozen
    before = [part.training for part in model.modules()]
    assert any(before)
    assert not all(before)
    statistics = model.body[1].running_mean.clone()
    ct.collect(model, [(x, y)])
    assert [part.training for part in model.modules()] == before
    assert torch.equal(model.body[1].running_mean, statistics)

    def broken() -> Any:
        yield x, y
        assert not model.drop.training
        raise RuntimeError("no more disk")

    with pytest.raises(RuntimeError, match="no more disk"):
        ct.collect(model, broken(), layer="head")
    assert [part.training for part in model.modules()] == before
    assert not model.head._forward_hooks
    assert torch.is_grad_enabled()


# Outputs and batches of every shape.


class Told(nn.Module):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def forward(self, x: Any, mask: Any = None) -> Any:
        z = x[:, :3] if mask is None else x[:, :3] * mask
        return {
            "tuple": (x[:, 3:], z),
            "dict": {"aux": x[:, 3:], "logits": z},
            "single": (z,),
            "object": type("Out", (), {"logits": z, "other": 1})(),
        }[self.form]


@pytest.mark.parametrize(
    ("form", "output"),
    [
        ("tuple", 1),
        ("tuple", lambda out: out[1]),
        ("dict", None),
        ("dict", "logits"),
        ("single", None),
        ("object", None),
        ("object", "logits"),
    ],
)
def test_one_of_several_outputs(form: str, output: Any) -> None:
    x, y = rows()
    assert torch.equal(ct.collect(Told(form), [(x, y)], output=output).logits, x[:, :3])


def test_batches_that_are_mappings_or_need_taking_apart() -> None:
    x, y = rows()
    model = Told("dict")
    for batch in ({"image": x, "label": y}, {"x": x, "mask": torch.full((23, 1), 2.0), "labels": y}, [x, y]):
        found = ct.collect(model, [batch])
        assert torch.equal(found.logits, x[:, :3] * (2 if "mask" in batch else 1))
        assert torch.equal(found.labels, y)
    several = ct.collect(model, [((x, torch.full((23, 1), 2.0)), y)])
    assert torch.equal(several.logits, x[:, :3] * 2)
    apart = ct.collect(model, [("name", y, x)], unpack=lambda batch: (batch[2], batch[1]))
    assert torch.equal(apart.labels, y)
    for batch, message in [
        ((x, y, y), "loader: batch 0 has 3 parts.*unpack=lambda batch"),
        (
            {"image": x, "class": y},
            "loader: batch 0 has the entries 'image', 'class', and one of them must be the labels, named labels or label or targets or target or y",
        ),
        ({"x": x, "y": y, "label": y}, "one of them must be the labels"),
        (x, "loader: batch 0 is a Tensor"),
    ]:
        with pytest.raises(InputError, match=message):
            ct.collect(model, [batch])


def test_one_output_is_two_classes() -> None:
    x, _ = rows()
    y = (x[:, 1] > 0).float()  # as for a binary cross-entropy
    for model in (lambda x: x[:, 0], lambda x: x[:, :1]):
        found = ct.collect(model, [(x, y[:, None])])
        assert torch.equal(found.logits, torch.stack([torch.zeros(23), x[:, 0]], dim=1))
        assert found.labels.dtype == torch.int64
        assert cal.brier(found.predictions()) == pytest.approx(
            float(((torch.sigmoid(x[:, 0].double()) - y) ** 2).mean()), abs=1e-12
        )


def test_pixels_are_rows_once_the_classes_are_last() -> None:
    z, y = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(0)), torch.zeros(2, 4, 4, dtype=torch.long)
    with raises(ShapeError, "output"):
        ct.collect(nn.Identity(), [(z, y)])
    found = ct.collect(nn.Identity(), [(z, y)], output=lambda out: out.movedim(1, -1).flatten(0, -2))
    assert found.logits.shape == (32, 3)
    assert torch.equal(found.logits[1], z[0, :, 0, 1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_kept_as_single(dtype: Any) -> None:
    x, y = rows()
    assert ct.collect(nn.Identity(), [(x.to(dtype), y % 5)]).logits.dtype == torch.float32
    assert ct.collect(nn.Identity(), [(x.double(), y)]).logits.dtype == torch.float64
    model = net()
    with torch.autocast(DEVICE, dtype):
        mixed = ct.collect(model, [(x, y)], layer="head")
    assert mixed.logits.dtype == mixed.features.dtype == torch.float32
    plain = ct.collect(model, [(x, y)])
    assert not torch.equal(mixed.logits, plain.logits)
    assert torch.allclose(mixed.logits, plain.logits, atol=0.05)
    assert not torch.is_autocast_enabled(DEVICE)


# Outputs that change from run to run.


class Streamed(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(zip(*rows(), strict=True))


class Named(Dataset[Any]):
    """Rows that have names, not numbers."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, row: str) -> Any:
        return {"a": (torch.zeros(3), 0), "b": (torch.ones(3), 1)}[row]


def test_other_datasets() -> None:
    assert len(ct.collect(nn.Identity(), DataLoader(Streamed(), batch_size=4))) == 23
    assert ct.collect(nn.Identity(), DataLoader(Named(), sampler=["a", "b"], batch_size=2)).labels.tolist() == [0, 1]  # type: ignore[arg-type]


def test_collected_rows_are_arrays_predictions_and_a_frame() -> None:
    x, y = rows()
    found = ct.collect(nn.Identity(), [(x, y)], layer="")
    assert torch.equal(found.logits, x)
    assert torch.equal(found.labels, y)
    assert torch.equal(found.features, x)
    assert cal.nll(found.predictions()) == pytest.approx(float(nn.functional.cross_entropy(x.double(), y)), abs=1e-12)
    assert found.predictions(groups=["a"] * 23).groups is not None
    names = ["ant", "bee", "cat", "dog", "elk"]
    named = found.predictions(classes=names)
    assert named.classes == tuple(names)
    assert np.array_equal(named.labels, y.numpy())
    assert cal.ece(named, lens="class:bee") == cal.ece(found.predictions(), lens="class:1")
    # Numbers are names too, and say nothing of the order.
    assert cal.nll(found.predictions(classes=[4, 3, 2, 1, 0])) == cal.nll(found.predictions())
    with raises(LabelError, "classes"):
        found.predictions(classes=["no", "yes"])
    frame = found.to_frame()
    assert list(frame.columns) == ["label", *(f"logit_{k}" for k in range(5)), *(f"feature_{j}" for j in range(5))]
    assert found.to_dict()["labels"] == y.tolist()
    accuracy = float((x.argmax(1) == y).double().mean())
    assert repr(found) == f"Collected(23 rows, 5 classes, 5 features, accuracy {accuracy:.4f})"
    with pytest.raises(FrozenInstanceError):
        found.labels = y  # type: ignore[misc]


# Batches and outputs that are easily mistaken.


def logits_of(n: int = 12, classes: int = 4) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, classes, generator=generator), torch.randint(classes, (n,), generator=generator)


def plain_net() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)).eval()


def test_a_squeezed_batch_of_one_row() -> None:
    x, y = logits_of()
    loader = [(x, y % 2), (x[:1], y[:1] % 2)]
    with raises(ShapeError, "output"):
        ct.collect(lambda x: x[:, :1].squeeze(), loader)
    assert len(ct.collect(lambda x: x[:, :1].squeeze(-1), loader)) == 13
    with raises(ShapeError, "labels"):
        ct.collect(lambda x: x.squeeze(), loader)
    assert len(ct.collect(lambda x: x.squeeze(-1), loader)) == 13


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("made", ["compiled", "traced"])
def test_a_layer_of_a_model_that_passes_hooks_by(made: str) -> None:
    x, y = logits_of()
    plain = plain_net()
    torch.compiler.reset()
    model = torch.compile(plain_net(), backend="eager") if made == "compiled" else torch.jit.trace(plain, x)
    assert torch.allclose(ct.collect(model, [(x, y)]).logits, ct.collect(plain, [(x, y)]).logits)
    with raises(ArgumentError, "layer"):
        ct.collect(model, [(x, y)], layer="_orig_mod.1" if made == "compiled" else "1")
    assert ct.collect(plain, [(x, y)], layer="1").features.shape == (12, 8)


def test_one_tensor_is_not_several_outputs() -> None:
    x, y = logits_of(4)
    # Four rows of four classes: a row of them would pass for the outputs of four rows.
    for call in (
        lambda: ct.collect(nn.Identity(), [(x, y % 2)], output=0),
        lambda: ct.predict_with_threshold(nn.Identity(), x, 0.5, output=0),
        lambda: ct.CalibratedModule(nn.Identity(), nn.Identity(), output=0)(x),
        lambda: ct.collect(nn.Identity(), [(x, y)], output="T"),
    ):
        with raises(ArgumentError, "output"):
            call()
    members = ct.collect(lambda x: torch.stack([x, 2 * x]), [(x, y)], output=1)
    assert torch.equal(members.logits, 2 * x)


# Evaluation.


def nll(logits: Any, labels: Any) -> Any:
    return pytest.approx(float(nn.functional.cross_entropy(logits.double(), labels)), abs=1e-6)


def test_the_compact_evaluation() -> None:
    x, y = rows(200)
    model = net()
    found = ct.evaluate(model, DataLoader(TensorDataset(x, y), batch_size=32))
    logits = expected(model, x)
    wanted = cal.evaluate(cal.Predictions(y.numpy(), logits.numpy(), input="logit"), metrics=["nll", "brier", "ece"])
    assert [result.metric for result in found.results] == ["nll", "brier", "ece"]
    for name in ("nll", "brier", "ece"):
        assert found[name] == pytest.approx(wanted[name], abs=1e-6)
    confidence, predicted = torch.softmax(logits.double(), dim=1).max(dim=1)
    assert found.header.accuracy == pytest.approx(float((predicted == y).double().mean()))
    assert found.header.mean_confidence == pytest.approx(float(confidence.mean()), abs=1e-6)


def test_the_whole_catalogue_is_behind_it() -> None:
    x, y = rows(120)
    model = net()
    kept = ct.collect(model, [(x, y)])
    found = ct.evaluate(kept, metrics=["cwce", "brier"], bins=5, level=0.9, n_resamples=100)
    direct = cal.evaluate(cal.Predictions(kept.labels.numpy(), kept.logits.numpy(), input="logit"), metrics=["cwce", "brier"], bins=5, level=0.9, n_resamples=100)  # fmt: skip
    assert found == direct
    features = ct.evaluate(ct.collect(model, [(x, y)], layer="body"), metrics=["lce"])
    assert features.results[0].value is not None


def test_a_map_is_measured_and_its_own_rows_are_noticed() -> None:
    x, y = rows(300)
    model = net()
    y = torch.where(torch.arange(300) % 3 == 0, y, expected(model, x).argmax(dim=1))
    kept, other = ct.collect(model, [(x[:150], y[:150])]), ct.collect(model, [(x[150:], y[150:])])
    module = ct.TemperatureModule().fit(kept.logits, kept.labels)
    found = ct.evaluate(other, calibrator=module.to(DEVICE))
    wanted = nll(other.logits / module.temperature, other.labels)
    assert found["nll"] == wanted
    assert ct.evaluate(other, calibrator=module.to_calibrator())["nll"] == wanted
    for calibrator in (module, module.to_calibrator()):
        with pytest.warns(
            InSampleWarning,
            match="was fitted on these rows, so the estimate is optimistic; evaluate it on held-out data",
        ):
            ct.evaluate(kept, calibrator=calibrator)


def test_a_stream_is_evaluated_and_a_missing_loader_is_named() -> None:
    found = ct.evaluate(nn.Identity(), DataLoader(Streamed(), batch_size=4))
    assert found["nll"] == nll(*rows())
    with raises(InputError, "loader"):
        ct.evaluate(nn.Identity())


# Abstention.


def test_rows_below_the_threshold_are_not_answered() -> None:
    x, _ = rows(60)
    model = net()
    model.drop.train()
    found = ct.predict_with_threshold(model, x.to(DEVICE), 0.45)
    assert model.drop.training
    probs = torch.softmax(expected(model, x).double(), dim=1)
    assert torch.equal(found.label.cpu(), probs.argmax(dim=1))
    assert torch.allclose(found.confidence.cpu(), probs.max(dim=1).values, atol=1e-6)
    sure = probs.max(dim=1).values >= 0.45
    assert torch.equal(found.accepted.cpu(), sure)
    assert 0 < found.coverage < 1
    assert found.coverage == pytest.approx(float(sure.double().mean()))
    assert repr(found) == f"ThresholdedPrediction({int(sure.sum())} of 60 rows accepted at threshold 0.45)"
    assert list(found.to_frame().columns) == ["label", "confidence", "accepted"]
    assert found.to_dict()["threshold"] == 0.45
    assert not found.confidence.requires_grad


def test_a_threshold_is_compared_as_a_double_and_includes_itself() -> None:
    z = torch.tensor([[0.0, 0.0], [5.0, 0.0]], device=DEVICE)
    assert ct.predict_with_threshold(nn.Identity(), z, 0.5).accepted.tolist() == [True, True]
    sure = float(cal.Predictions([0, 0], z.cpu().numpy(), input="logit").probs.max())
    assert ct.predict_with_threshold(nn.Identity(), z, sure).accepted.tolist() == [False, True]
    assert ct.predict_with_threshold(nn.Identity(), z, np.nextafter(sure, 2)).accepted.tolist() == [False, False]
    half = ct.predict_with_threshold(nn.Identity(), z.half(), 0.5)
    assert half.confidence.dtype == torch.float64
    assert half.confidence.device.type == torch.device(DEVICE).type


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_the_confidences_are_those_of_the_library_to_the_last_bit(dtype: Any) -> None:
    z = (torch.randn(200, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 9).to(dtype)
    sure = cal.Predictions(np.zeros(200, int), z.numpy(), input="logit").probs.max(axis=1)
    found = ct.predict_with_threshold(nn.Identity(), z.to(DEVICE), 0.5)
    assert np.array_equal(found.confidence.cpu().numpy(), sure)
    for threshold in sure[:40]:
        accepted = ct.predict_with_threshold(nn.Identity(), z.to(DEVICE), float(threshold)).accepted
        assert np.array_equal(accepted.cpu().numpy(), sure >= threshold)


def test_rows_without_a_number_are_not_answered_and_no_rows_are_none() -> None:
    z = torch.tensor([[float("nan"), 1.0], [9.0, 0.0]], device=DEVICE)
    assert ct.predict_with_threshold(nn.Identity(), z, 0.5).accepted.tolist() == [False, True]
    assert len(ct.predict_with_threshold(nn.Identity(), z[:0], 0.5)) == 0


def test_one_row_needs_its_batch_dimension() -> None:
    x, _ = rows()
    model = nn.Linear(5, 4).to(DEVICE)
    with raises(ShapeError, "output"):
        ct.predict_with_threshold(model, x[6].to(DEVICE), 0.1)
    assert len(ct.predict_with_threshold(model, x[6][None].to(DEVICE), 0.1)) == 1
    with raises(ShapeError, "output"):  # as many features as classes
        ct.predict_with_threshold(nn.Linear(5, 5).to(DEVICE), x[6].to(DEVICE), 0.1)
    single = nn.Sequential(nn.Linear(5, 1), nn.Flatten(0)).to(DEVICE)
    assert len(ct.predict_with_threshold(single, x[6].to(DEVICE), 0.1)) == 1
    tokens = nn.Sequential(nn.Embedding(9, 1), nn.Flatten(0)).to(DEVICE)
    assert len(ct.predict_with_threshold(tokens, torch.arange(9, device=DEVICE), 0.1)) == 9
    assert len(ct.predict_with_threshold(single, x.to(DEVICE), 0.1)) == 23


def test_a_threshold_with_a_promise_or_none() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(int)
    choice = cal.choose_threshold(y, p, accuracy=0.9)
    z = torch.tensor([[0.0, 8.0], [0.0, 0.1]], device=DEVICE)
    assert ct.predict_with_threshold(nn.Identity(), z, choice).accepted.tolist() == [True, False]
    none = cal.choose_threshold(y[:20], p[:20], accuracy=0.999)
    assert none.threshold is None
    found = ct.predict_with_threshold(nn.Identity(), z, none)
    assert not found.accepted.any()
    assert "threshold none" in repr(found)
    for wrong in (None, float("nan"), "0.9", True):
        with raises(ArgumentError, "threshold"):
            ct.predict_with_threshold(nn.Identity(), z, wrong)  # type: ignore[arg-type]


# The package.


def test_without_torch_the_error_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import calibrant\n"
        "try:\n    import calibrant.torch\n"
        "except calibrant.errors.MissingDependencyError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "torch: is not installed; pip install 'calibrant[torch]'", done.stderr
