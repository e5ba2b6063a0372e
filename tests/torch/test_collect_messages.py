"""What collect and evaluate refuse, and the remedies that they name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the modules")

from torch import nn  # noqa: E402

import calibrant.torch as ct  # noqa: E402
from calibrant.errors import ArgumentError, InputTypeError, ShapeError  # noqa: E402
from tests.calling import raises  # noqa: E402


def rows(n: int = 12, classes: int = 4) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, classes, generator=generator), torch.randint(classes, (n,), generator=generator)


def net() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)).eval()


def test_a_squeezed_batch_of_one_row() -> None:
    x, y = rows()
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
    x, y = rows()
    plain = net()
    torch.compiler.reset()
    model = torch.compile(net(), backend="eager") if made == "compiled" else torch.jit.trace(plain, x)
    assert torch.allclose(ct.collect(model, [(x, y)]).logits, ct.collect(plain, [(x, y)]).logits)
    with raises(ArgumentError, "layer"):
        ct.collect(model, [(x, y)], layer="_orig_mod.1" if made == "compiled" else "1")
    assert ct.collect(plain, [(x, y)], layer="1").features.shape == (12, 8)


@pytest.mark.parametrize("labels", [["ant"] * 12, np.array(["ant"] * 12), None, {"left": 1, "right": 2}, [[1], [2, 3]]])
def test_labels_that_are_no_numbers(labels: Any) -> None:
    x, y = rows()
    with raises(InputTypeError, "labels"):
        ct.collect(nn.Identity(), [(x, y), (x, labels)])


def test_one_tensor_is_not_several_outputs() -> None:
    x, y = rows(4)
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
