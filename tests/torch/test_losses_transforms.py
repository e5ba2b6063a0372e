"""Losses under what torch does to functions: compiled, over several batches at once, gradients of gradients, in tiles; how often values are read."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from calibrant.torch.losses import kernel

from .loss_cases import ALL, HARD_ONLY, NAMES, batch, loss_of, named

FIRST = list({case[0]: case for case in reversed(ALL)}.values())  # one form of each loss
COMPILED = [(case, False) for case in FIRST] + [(("focal_loss", {}), True), (("kde_ece_loss", {}), True)]
MORE = [pytest.param(case, False, marks=pytest.mark.deep) for case in ALL if case not in FIRST]


@pytest.mark.sampled
@pytest.mark.parametrize(("case", "soft"), COMPILED + MORE, ids=named)
def test_compiled_in_one_graph(case: tuple[str, dict[str, Any]], soft: bool) -> None:
    name, options = case
    logits, y = batch(rows=12)
    logits[5, 1] = -torch.inf
    if soft:
        y = F.one_hot(y, 4).double()  # rows of the first class have no weight
    else:
        logits[2], y[2] = torch.nan, -100
    weight = torch.tensor([0.0, 1.0, 2.0, 0.5], dtype=torch.float64)

    def loss(rows: Tensor) -> Tensor:
        return loss_of(name)(rows, y, weight=weight, **options)

    torch.compiler.reset()
    found = []
    for function in (loss, torch.compile(loss, backend="eager", fullgraph=True)):
        leaf = logits.clone().requires_grad_()
        value = function(leaf)
        value.backward()
        found.append((value.detach(), leaf.grad))
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("name", ["weighted_mmce_loss", pytest.param("focal_loss", marks=pytest.mark.deep)])
def test_compiled_for_any_number_of_rows(name: str) -> None:
    torch.compiler.reset()
    compiled = torch.compile(loss_of(name), backend="eager", fullgraph=True, dynamic=True)
    for rows in (12, 17, 1, 0):
        logits, y = batch(rows=rows)
        torch.testing.assert_close(compiled(logits, y), loss_of(name)(logits, y))


@pytest.mark.parametrize("case", ALL, ids=named)
def test_gradients_of_several_batches_at_once(case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    several = [batch(rows=12, seed=seed) for seed in range(3)]
    logits, y = (torch.stack(parts) for parts in zip(*several, strict=True))
    y[:, 3] = -100
    y[0, :11] = -100  # one row is left

    def loss(rows: Tensor, labels: Tensor) -> Tensor:
        return loss_of(name)(rows, labels, **options)

    found = torch.func.vmap(torch.func.grad_and_value(loss))(logits, y)
    expected = [torch.func.grad_and_value(loss)(*pair) for pair in zip(logits, y, strict=True)]
    torch.testing.assert_close(found, tuple(torch.stack(parts) for parts in zip(*expected, strict=True)))


@pytest.mark.parametrize("case", ALL, ids=named)
def test_several_models_on_the_same_rows(case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    logits = torch.stack([batch(rows=12, seed=seed)[0] for seed in range(3)])
    y = batch(rows=12)[1].index_fill(0, torch.tensor([4, 7]), -100)
    found = torch.func.vmap(lambda rows: loss_of(name)(rows, y, **options))(logits)
    torch.testing.assert_close(found, torch.stack([loss_of(name)(rows, y, **options) for rows in logits]))


@pytest.mark.parametrize("case", ALL, ids=named)
def test_what_cannot_be_refused_is_no_number(case: tuple[str, dict[str, Any]]) -> None:
    """Where values cannot be read, the loss of a wrong class, share or weight is NaN."""
    name, options = case
    logits, y = batch()
    y[2] = -100
    weight = torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=torch.float64)
    shares = torch.softmax(logits, 1)

    def over(target: Tensor, weight: Tensor) -> Tensor:
        several = (part[None].expand(2, *part.shape) for part in (logits, target, weight))
        return torch.func.vmap(lambda z, t, w: loss_of(name)(z, t, weight=w, **options))(*several)

    assert over(y, weight).isfinite().all()
    for wrong in (-1, 4):
        assert over(y.index_fill(0, torch.tensor([3]), wrong), weight).isnan().all()
    for number in (-1.0, torch.nan, torch.inf):
        assert over(y, weight.index_fill(0, torch.tensor([1]), number)).isnan().all()
    if name not in HARD_ONLY:
        assert over(shares, weight).isfinite().all()
        assert over(shares * 1.1, weight).isnan().all()


@pytest.mark.sampled
@pytest.mark.parametrize("case", ALL, ids=named)
def test_gradients_of_gradients(case: tuple[str, dict[str, Any]]) -> None:
    name, options = case
    if options.get("bandwidth") == 0.001:
        options = {"bandwidth": 0.02}
    logits, y = batch(rows=5)
    logits.requires_grad_()
    assert torch.autograd.gradgradcheck(lambda z: loss_of(name)(z, y, **options), (logits,), atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_read_once(name: str, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    logits, y = batch()
    read: list[int] = []
    whole = Tensor.__int__
    monkeypatch.setattr(Tensor, "__int__", lambda one: read.append(1) or whole(one))
    for other in ("__bool__", "__float__", "item", "tolist"):
        monkeypatch.setattr(Tensor, other, lambda one: pytest.fail("read again"))
    loss_of(name)(logits, y, weight=torch.ones(4) if weighted else None)
    assert len(read) == 1


# Tiles of pairs.

PAIRS = [
    ("mmce_loss", {}),
    ("weighted_mmce_loss", {}),
    ("sece_loss", {}),
    ("kde_ece_loss", {}),
    ("kde_ece_loss", {"bandwidth": 0.1}),
    ("kde_ece_loss", {"bandwidth": 0.1, "lens": "top_label"}),
]


@pytest.mark.parametrize(("name", "options"), PAIRS)
def test_tiles_change_neither_value_nor_gradient(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    logits, y = batch(3, rows=80)
    found = []
    for tile in (kernel.TILE, 7 * len(y)):
        monkeypatch.setattr(kernel, "TILE", tile)
        leaf = logits.clone().requires_grad_()
        value = loss_of(name)(leaf, y, **options)
        value.backward()
        found.append((value.detach(), leaf.grad))
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(torch.func.grad(lambda rows: loss_of(name)(rows, y, **options))(logits), found[0][1])


def test_the_search_of_a_width_works_in_tiles_too(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, y = batch(3, rows=80)
    sizes: list[int] = []
    logs = kernel.dirichlet_logs

    def watched(*given: Any) -> Any:
        log_kernel = logs(*given)

        def tile(start: int, stop: int) -> Tensor:
            made = log_kernel(start, stop)
            sizes.append(made.numel())
            return made

        return tile

    monkeypatch.setattr(kernel, "dirichlet_logs", watched)
    monkeypatch.setattr(kernel, "TILE", 7 * len(y))
    loss_of("kde_ece_loss")(logits, y)
    assert max(sizes) <= 7 * len(y)
