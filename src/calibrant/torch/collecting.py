"""collect: logits, labels and features of a whole loader, without side effects on the model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ArgumentError, InputError, InputTypeError, ShapeError
from ..input.labels import class_names
from ..input.predictions import Predictions
from ..util.checks import check_whole
from ..util.progress import track
from ..util.results import Result
from ..util.texts import parameter_texts
from ..views.keywords import documents_keywords
from .ensembles import Moments, dropout_active, groups_of, is_several, read_seed
from .outputs import Output, Unpack, arguments, chosen_output, label_tensor, own_copy, split_batch, to_device
from .rows import as_classes, at_least_single, read_labels


@dataclass(frozen=True, eq=False, repr=False)
class Collected(Result):
    """Logits and labels of all rows of a loader, in its order, and features of a layer if one was named.

    Returned by `collect`; all tensors are on the CPU.

    Parameters
    ----------
    logits : torch.Tensor of shape (N, K)
        Logits, at least in single precision; of several members, the logarithm of their mean probabilities.
    labels : torch.Tensor of shape (N,)
        Class indices.
    features : torch.Tensor of shape (N, d), optional
        Output of the named layer, flattened.
    spread : torch.Tensor of shape (N, K), optional
        Standard deviation of the probabilities over the members of an ensemble, with divisor M.
    mutual_information : torch.Tensor of shape (N,), optional
        Mutual information between prediction and member in nats: the entropy of the mean minus the mean entropy.
    members : int, default 1
        Number M of members.
    """

    logits: Tensor
    labels: Tensor
    features: Tensor | None = None
    spread: Tensor | None = None
    mutual_information: Tensor | None = None
    members: int = 1

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.logits.shape[1])

    def predictions(self, *, classes: Sequence[Any] | None = None, **keywords: Any) -> Predictions:
        """Return the rows as `Predictions`, which every function of the library accepts in place of ``(y_true, y_prob)``.

        Parameters
        ----------
        classes : sequence, optional
            Class names in the order of the logits.
        **keywords
            Keywords of `Predictions`, such as ``groups``.

        Returns
        -------
        Predictions
            The predictions.
        """
        labels: Any = self.labels.numpy()
        names = class_names(classes, self.n_classes)
        if names is not None:
            table = np.empty(self.n_classes, object)
            table[:] = names
            labels = table[labels]
        features = None if self.features is None else self.features.numpy()
        return Predictions(
            labels, self.logits.numpy(), input="logit", classes=classes, **{"features": features, **keywords}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as lists.

        Returns
        -------
        dict
            Lists ``logits``, ``labels``, ``features``, ``spread`` and ``mutual_information``, and the number of ``members``.
        """
        return {name: value.tolist() if isinstance(value, Tensor) else value for name, value in self._fields().items()}

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"label": self.labels.tolist()}
        columns |= {f"logit_{k}": self.logits[:, k].tolist() for k in range(self.n_classes)}
        if self.features is not None:
            columns |= {f"feature_{j}": self.features[:, j].tolist() for j in range(self.features.shape[1])}
        if self.spread is not None and self.mutual_information is not None:
            columns |= {f"spread_{k}": self.spread[:, k].tolist() for k in range(self.n_classes)}
            columns["mutual_information"] = self.mutual_information.tolist()
        return columns

    def _title(self) -> str:
        features = "" if self.features is None else f", {self.features.shape[1]} features"
        features += "" if self.spread is None else f", {self.members} member{'s' * (self.members != 1)}"
        accuracy = float((self.logits.argmax(dim=1) == self.labels).double().mean())
        return f"Collected({len(self):,} rows, {self.n_classes} classes{features}, accuracy {accuracy:.4f})"


@documents_keywords(table=parameter_texts("calibrant.torch")["collect"])
def collect(
    model: Any,
    loader: Iterable[Any],
    *,
    samples: int | None = None,
    rng: Any = 0,
    layer: str | None = None,
    output: Output = None,
    unpack: Unpack = None,
) -> Collected:
    r"""Run a model over a loader in evaluation mode without gradients, and collect its logits and the labels.

    Batches are moved to the device of the parameters of the model, whose training mode is restored, also after an error. Half
    precision is converted to float32. For a model with a single output z per row the logits are the two columns 0 and z, which have the same
    probabilities.

    For an ensemble, the probabilities of its members are averaged: pass several models, or `samples` of one. Memory does
    not grow with the number of members. The loader is read once for a list of models and for dropout samples, and once
    for each member of a generator of models; it must then return the same rows in the same order each time.

    Parameters
    ----------
    model
    loader
    samples
    rng
    layer
    output
    unpack

    Returns
    -------
    Collected
        Tensors ``logits``, ``labels`` and ``features`` on the CPU; ``predictions()`` passes them to the library. For an
        ensemble also ``spread`` and ``mutual_information``.

    See Also
    --------
    evaluate : Collect and evaluate.
    calibrant.decision.ood.mutual_information : Mutual information of the probabilities of members.

    Notes
    -----
    With probabilities :math:`p_{mk}` of members :math:`m = 1, \dots, M`, logits are :math:`\log \bar p_k` with
    :math:`\bar p_k = \tfrac1M \sum_m p_{mk}`, the spread is :math:`\sqrt{\tfrac1M \sum_m (p_{mk} - \bar p_k)^2}`,
    and the mutual information is :math:`H(\bar p) - \tfrac1M \sum_m H(p_m)` with the entropy
    :math:`H(p) = -\sum_k p_k \log p_k`.

    Dropout that a module applies with a function, as ``F.dropout(x, training=self.training)``, is not sampled: only layers
    such as ``nn.Dropout``, and dropout inside attention and recurrent layers, are known.

    References
    ----------
    .. [1] Lakshminarayanan, Pritzel and Blundell (2017): Simple and scalable predictive uncertainty estimation using deep
       ensembles. NeurIPS.
    .. [2] Gal and Ghahramani (2016): Dropout as a Bayesian approximation: representing model uncertainty in deep
       learning. ICML.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import collect
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    >>> batches = [(torch.zeros(5, 2), torch.zeros(5, dtype=torch.long)), (torch.ones(2, 2), torch.ones(2, dtype=torch.long))]
    >>> rows = collect(model, batches, layer="1")
    >>> rows.logits.shape, rows.features.shape, model.training
    (torch.Size([7, 3]), torch.Size([7, 4]), True)

    An ensemble, here of two members that always disagree:

    >>> members = [lambda x: torch.tensor([[0.0, 4.0]]), lambda x: torch.tensor([[4.0, 0.0]])]
    >>> both = collect(members, [(torch.zeros(1, 2), torch.tensor([1]))])
    >>> both.logits.exp(), both.spread, both.mutual_information
    (tensor([[0.5000, 0.5000]]), tensor([[0.4820, 0.4820]]), tensor([0.6031]))
    """
    run = partial(_run, output=output, unpack=unpack)
    if samples is not None or is_several(model):
        if layer is not None:
            raise ArgumentError("layer", "the features of several members differ", "collect them from a single model")
        return _collect_members(_passes(model, samples, rng), loader, run)
    batches = []
    with evaluating(model), _keep_output(model, layer) as outputs:
        for number, batch in enumerate(track(loader, "batches")):
            logits, labels = run(model, number, batch)
            batches.append((logits, labels, None if layer is None else _features(outputs, layer, len(logits), number)))
    return _join(batches)


def _run(model: Any, number: int, batch: Any, output: Output, unpack: Unpack) -> tuple[Tensor, Tensor]:
    """Logits and labels of a batch, which is moved to the device of the model."""
    if not callable(model):
        raise InputTypeError("model", f"must be a module or a function; got {type(model).__name__}")
    inputs, raw_labels = split_batch(batch, unpack, number)
    # Copied, in this order: loaders may reuse one buffer, and models may write into inputs and earlier outputs.
    labels = label_tensor(raw_labels, number)
    positional, keywords = arguments(to_device(inputs, _device_of(model)))
    with torch.no_grad():
        logits = own_copy(as_classes(chosen_output(model(*positional, **keywords), output)))
    if labels.numel() != len(logits):
        raise ShapeError(
            "labels",
            f"expected one class index for each of {len(logits)} rows, got shape {tuple(labels.shape)} in batch {number}",
        )
    return at_least_single(logits), labels.reshape(-1)


def _device_of(model: Any) -> torch.device | None:
    tensors = chain(model.parameters(), model.buffers()) if isinstance(model, nn.Module) else iter(())
    first = next(tensors, None)
    return None if first is None else first.device


def _collect_members(
    passes: Generator[Sequence[Any], None, None], loader: Iterable[Any], run: Callable[..., tuple[Tensor, Tensor]]
) -> Collected:
    """Run all members over the loader, and keep the moments of their probabilities for each batch."""
    summaries_kept: list[tuple[Moments, Tensor]] = []
    members = 0
    with closing(passes):  # so that modes are restored at once after an error
        for models in passes:
            count = 0
            for number, batch in enumerate(track(loader, "batches")):
                for place, model in enumerate(models):
                    logits, labels = run(model, number, batch)
                    if members + place == 0:
                        summaries_kept.append((Moments(), labels))
                    if number >= len(summaries_kept) or not torch.equal(summaries_kept[number][1], labels):
                        problem = f"returned other rows for another member, from batch {number} on"
                        raise InputError("loader", problem, "set shuffle=False")
                    summaries_kept[number][0].add(logits)
                count += 1
            if count != len(summaries_kept):
                raise InputError(
                    "loader",
                    f"returned {len(summaries_kept)} batches for the first member and {count} for another",
                    "pass a loader that can be read repeatedly, such as a DataLoader or a list of batches",
                )
            members += len(models)
    summaries = [(*moments.summary(), labels) for moments, labels in summaries_kept]
    collected = _join([(logits, labels, None) for logits, _, _, labels in summaries])
    spread, shared = torch.cat([summary[1] for summary in summaries]), torch.cat([summary[2] for summary in summaries])
    return Collected(collected.logits, collected.labels, None, spread, shared, members)


def _passes(model: Any, samples: int | None, rng: Any) -> Generator[Sequence[Any], None, None]:
    """The members of each pass over the loader, in evaluation mode, or with dropout for samples of one model."""
    if samples is None:
        for models in groups_of(model):
            with ExitStack() as stack:
                for member in models:
                    stack.enter_context(evaluating(member))
                yield models
        return
    if not isinstance(model, nn.Module):
        raise ArgumentError("samples", f"requires one torch module; the model is a {type(model).__name__}")
    count, device = check_whole(samples, "samples", 2), _device_of(model)
    devices = [device] if device is not None and device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), evaluating(model):
        torch.manual_seed(read_seed(rng))
        dropout_active(model)
        yield [model] * count


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode; every part of the model gets its own mode back, whatever happens."""
    modes = [(module, module.training) for module in model.modules()] if isinstance(model, nn.Module) else []
    try:
        if modes:
            try:
                model.eval()
            except (
                NotImplementedError
            ):  # an exported program keeps the mode it was exported in; parts around it have their own
                for module, _ in modes:
                    module.training = False
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def _keep_output(model: Any, layer: str | None) -> Iterator[dict[str, Any]]:
    """Keep the output of a layer."""
    outputs: dict[str, Any] = {}
    if layer is None:
        yield outputs
        return
    layers = dict(model.named_modules()) if isinstance(model, nn.Module) else {}
    if layer not in layers:
        raise ArgumentError(
            "layer", f"the model has no layer {layer!r}", f"choose one of {', '.join(filter(None, layers))}"
        )

    def keep(module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, (tuple, list)) and len(output) == 1:
            output = output[0]
        # Copied, so that later operations in place do not change it.
        outputs["output"] = output.detach().clone() if isinstance(output, Tensor) else output

    hook = layers[layer].register_forward_hook(keep)
    try:
        yield outputs
    finally:
        hook.remove()


def _features(outputs: dict[str, Any], layer: str, rows: int, number: int) -> Tensor:
    output = outputs.pop("output", None)
    if output is None:
        raise ArgumentError(
            "layer",
            f"{layer!r} was not called by the model",
            "name another layer, or pass the model before it was compiled",
        )
    if not isinstance(output, Tensor) or output.ndim == 0 or len(output) != rows:
        shape = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ShapeError("layer", f"expected {rows} rows, got {shape} from {layer!r} in batch {number}")
    flat = output.flatten(1) if output.ndim > 1 else output[:, None]
    return at_least_single(flat).cpu()


def _join(batches: list[tuple[Tensor, Tensor, Tensor | None]]) -> Collected:
    rows = sum(len(batch[0]) for batch in batches)
    if not rows:
        raise InputError("loader", "returned no rows", "an iterator can be consumed only once")
    logits = torch.cat([batch[0] for batch in batches])
    labels = read_labels(torch.cat([batch[1] for batch in batches]), rows, logits.shape[1])
    features = [batch[2] for batch in batches if batch[2] is not None]
    return Collected(logits, labels, torch.cat(features) if features else None)
