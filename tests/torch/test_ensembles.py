"""Ensembles and samples: moments against plain loops, everything restored, deterministic with a generator, and messages."""

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the modules")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import calibrant as cal  # noqa: E402
import calibrant.torch as ct  # noqa: E402
from calibrant.decision import ood  # noqa: E402
from calibrant.errors import ArgumentError, InputError  # noqa: E402
from tests.calling import raises  # noqa: E402


def rows(n: int = 23, classes: int = 4) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, 5, generator=generator), torch.randint(classes, (n,), generator=generator)


def loader(n: int = 23, classes: int = 4, batch: int = 7, **options: Any) -> Any:
    return DataLoader(TensorDataset(*rows(n, classes)), batch_size=batch, **options)


def net(seed: int = 1, classes: int = 4, dropout: float = 0.5) -> Any:
    torch.manual_seed(seed)
    body = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, classes))
    body(torch.randn(50, 5))  # batch statistics that are not the initial ones
    return body


def softmax(z: list[float]) -> list[float]:
    top = max(z)
    parts = [math.exp(one - top) for one in z]
    return [one / sum(parts) for one in parts]


def plainly(members: list[Any]) -> tuple[Any, Any, Any]:
    """Mean, standard deviation and mutual information by loops over rows, classes and members, from their definitions."""
    means, spreads, shared = [], [], []
    for row in range(len(members[0])):
        probs = [softmax([float(z) for z in member[row]]) for member in members]
        mean = [sum(p[k] for p in probs) / len(probs) for k in range(len(probs[0]))]
        spreads.append([math.sqrt(sum((p[k] - mean[k]) ** 2 for p in probs) / len(probs)) for k in range(len(mean))])
        entropies = [-sum(one * math.log(one) for one in p if one > 0) for p in (*probs, mean)]
        shared.append(entropies[-1] - sum(entropies[:-1]) / len(probs))
        means.append(mean)
    return np.array(means), np.array(spreads), np.array(shared)


def check(found: Any, members: list[Any], tolerance: float = 2e-6) -> None:
    mean, spread, shared = plainly(members)
    np.testing.assert_allclose(found.logits.exp().numpy(), mean, atol=tolerance)
    np.testing.assert_allclose(found.spread.numpy(), spread, atol=tolerance)
    np.testing.assert_allclose(found.mutual_information.numpy(), shared, atol=tolerance)
    assert found.members == len(members)


@pytest.mark.parametrize("as_generator", [False, True])
def test_an_ensemble_equals_a_plain_loop(as_generator: bool) -> None:
    models = [net(seed) for seed in range(3)]
    _, y = rows()
    apart = [ct.collect(model, loader()).logits for model in models]
    found = ct.collect((model for model in models) if as_generator else models, loader())
    check(found, apart)
    assert torch.equal(found.labels, y)
    assert found.logits.dtype == torch.float32
    assert all(model.training for model in models)
    stacked = torch.stack(apart)
    shared, spread = (score(stacked, input="logit") for score in (ood.mutual_information, ood.variance))
    np.testing.assert_allclose(found.mutual_information, shared, atol=1e-6)
    np.testing.assert_allclose(found.spread.square().sum(1), spread, atol=1e-6)
    assert repr(found).startswith("Collected(23 rows, 4 classes, 3 members, accuracy ")
    assert found.predictions().probs == pytest.approx(found.logits.exp().numpy(), abs=1e-6)
    assert found.to_frame()["mutual_information"].tolist() == found.mutual_information.tolist()
    assert found.to_dict()["members"] == 3
    assert found.spread.shape == (23, 4)


def test_a_module_list_is_an_ensemble_and_a_sequential_is_one_model() -> None:
    models = nn.ModuleList([net(0), net(1)])
    assert torch.equal(ct.collect(models, loader()).logits, ct.collect(list(models), loader()).logits)
    assert ct.collect(net(0), loader()).members == 1
    assert ct.collect(net(0), loader()).spread is None


def test_certain_and_opposite_members() -> None:
    batch = [(torch.zeros(2, 1), torch.tensor([0, 1]))]
    sure = [
        lambda x: torch.tensor([[800.0, -800.0], [0.0, 0.0]]),
        lambda x: torch.tensor([[-800.0, 800.0], [0.0, 0.0]]),
    ]
    found = ct.collect(sure, batch)
    np.testing.assert_allclose(found.mutual_information, [math.log(2), 0], atol=1e-7)
    np.testing.assert_allclose(found.spread, [[0.5, 0.5], [0, 0]], atol=1e-7)
    alone = ct.collect(sure[:1], batch)
    assert torch.isfinite(alone.logits).all()
    assert not alone.spread.any()
    assert not alone.mutual_information.any()
    assert "1 member," in repr(alone)
    one_output = ct.collect([lambda x: torch.zeros(2), lambda x: torch.zeros(2)], batch)
    assert one_output.logits.shape == (2, 2)


def test_dropout_samples_equal_a_plain_loop() -> None:
    model, (x, y) = net(), rows()
    state = torch.random.get_rng_state()
    found = ct.collect(model, [(x, y)], samples=6, rng=3)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(part.training for part in model.modules())
    model.eval()
    model[3].train()
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(3)
        members = [model(x) for _ in range(6)]
    check(found, members)
    assert found.spread.max() > 0.01


@pytest.mark.parametrize(
    "make", [lambda: 5, lambda: np.random.default_rng(5), lambda: torch.Generator().manual_seed(5)]
)
def test_the_same_generator_gives_the_same_samples(make: Any) -> None:
    model = net()
    one, two = (ct.collect(model, loader(), samples=4, rng=make()) for _ in range(2))
    assert torch.equal(one.logits, two.logits)
    assert torch.equal(one.spread, two.spread)
    assert not torch.equal(one.logits, ct.collect(model, loader(), samples=4, rng=6).logits)


def test_modes_are_restored_after_an_error() -> None:
    model = net(0)
    with pytest.raises(RuntimeError):
        ct.collect(model, [(torch.zeros(2, 9), torch.zeros(2))], samples=2)
    assert all(part.training for part in model.modules())


class Attention(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=dropout, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x).mean(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lstm = nn.LSTM(8, 8, 2, dropout=0.4, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0][:, -1])


@pytest.mark.parametrize("make", [lambda: Attention(0.3), Recurrent])
def test_dropout_inside_attention_and_recurrent_layers_is_active(make: Any) -> None:
    batch = [(torch.randn(5, 4, 8), torch.tensor([0, 1, 2, 0, 1]))]
    assert ct.collect(make(), batch, samples=3, rng=0).spread.max() > 1e-4


def test_a_model_without_dropout_has_no_samples() -> None:
    for model in (net(dropout=0.0), Attention(0.0)):
        with raises(ArgumentError, "samples"):
            ct.collect(model, loader(), samples=3)


def test_the_loader_must_return_the_same_rows_each_time() -> None:
    torch.manual_seed(0)
    with raises(InputError, "loader"):
        ct.collect(map(net, range(2)), loader(shuffle=True))
    with raises(InputError, "loader"):
        ct.collect(map(net, range(2)), iter(list(loader())))
    # Read once, all the same: shuffled and consumed loaders will do.
    assert ct.collect([net(0), net(1)], loader(shuffle=True)).members == 2
    assert ct.collect(net(), iter(list(loader())), samples=3).members == 3


def test_evaluate_takes_ensembles_and_samples() -> None:
    models = [net(seed) for seed in range(3)]
    kept = ct.collect(models, loader())
    assert ct.evaluate(models, loader())["nll"] == ct.evaluate(kept)["nll"]
    assert ct.evaluate(models, loader())["nll"] == pytest.approx(cal.nll(kept.predictions()), rel=1e-6)
    sampled = ct.collect(models[0], loader(), samples=4, rng=0)
    assert ct.evaluate(sampled)["nll"] == pytest.approx(cal.nll(sampled.predictions()), rel=1e-6)
