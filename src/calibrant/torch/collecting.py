"""collect: logits, labels and features of a whole loader, without side effects on the model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from ..errors import ArgumentError, CalibrantWarning, InputError, InputTypeError, ShapeError, warn_caller
from ..input.labels import class_names
from ..input.predictions import Predictions
from ..util.progress import track
from ..util.results import Result
from ..views.keywords import documents_keywords
from .ensembles import Moments, dropout_active, groups_of, is_several, read_generator, read_samples, weights_in_turn
from .outputs import Output, Unpack, arguments, chosen_output, label_tensor, moved, own_copy, unpacked
from .rows import as_classes, at_least_single, read_labels

# Number of rows of a dataset that are read twice.
LOOKED_AT = 4
# Parameters of `collect` and `evaluate`, for their docstrings.
PARAMETERS = {
    "model": (
        "torch.nn.Module, callable, or iterable of these",
        """Model that returns logits; or the members of an ensemble, in a list, or in a generator that loads one after the
other.""",
    ),
    "loader": (
        "iterable",
        """Batches: ``(inputs, labels)``, or mappings with an entry named labels, label, targets, target or y. A tuple of inputs
is passed to the model as positional, a mapping of inputs as keyword arguments.""",
    ),
    "samples": (
        "int or iterable, optional",
        """Members that are sampled from one model: a number of Monte Carlo dropout samples, for which only dropout layers are
in training mode; or the weights of each member, as state dicts or as functions that are called with the model and set
them, as for SWAG. The weights are restored.""",
    ),
    "rng": (
        "None, int, numpy.random.Generator or torch.Generator, optional",
        "Seed or generator of `samples`; by default the global generator of torch.",
    ),
    "device": (
        "str or torch.device, optional",
        "Device the batches are moved to; by default that of the model's parameters. The model is not moved.",
    ),
    "layer": (
        "str, optional",
        """Name of a submodule, such as ``"avgpool"``, whose output is kept as features.""",
    ),
    "output": (
        "int, str or callable, optional",
        """Which of several outputs holds the logits: an index, a key or a function. An entry named ``logits`` is found
automatically.""",
    ),
    "autocast": (
        "bool or torch.dtype, optional",
        "Mixed precision: on, off, or the dtype to use; by default that of the calling context.",
    ),
    "unpack": ("callable, optional", "Function from a batch to ``(inputs, labels)``, for other kinds of batches."),
    "progress": (
        "bool, default True",
        "Whether to show a progress bar on a terminal or in a notebook if it takes more than two seconds.",
    ),
    "check": (
        "bool, default True",
        "Whether to run the first batch and read a few rows of the dataset twice, and warn if they differ.",
    ),
}


class UnstableOutputsWarning(CalibrantWarning):
    """The same rows give different outputs: transforms are random, or a layer such as dropout is active.

    Parameters
    ----------
    argument : str
        The argument that the warning is about, or the whole text.
    problem : str, optional
        What is wrong.
    remedy : str, default ""
        What to do about it.
    row : int, optional
        The first offending row, counted from 0.
    column : int or str, optional
        The column of the offending entry.
    count : int, optional
        How many rows are at fault.
    source : str, default ""
        The file or partition that contains the row.
    """


@dataclass(frozen=True, eq=False)
class CollectedArrays:
    """Logits, labels and features as NumPy arrays.

    Parameters
    ----------
    logits : ndarray of shape (N, K)
        Logits.
    labels : ndarray of shape (N,)
        Class indices.
    features : ndarray of shape (N, d) or None
        Features of a layer.
    spread : ndarray of shape (N, K) or None, default None
        Standard deviation of the probabilities over the members of an ensemble.
    mutual_information : ndarray of shape (N,) or None, default None
        Mutual information between prediction and member.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import Collected
    >>> Collected(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])).numpy().labels
    array([0, 1, 2, 0])
    """

    logits: NDArray[Any]
    labels: NDArray[np.int64]
    features: NDArray[Any] | None
    spread: NDArray[Any] | None = None
    mutual_information: NDArray[Any] | None = None


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

    def numpy(self) -> CollectedArrays:
        """Return the tensors as arrays, without copying.

        Returns
        -------
        CollectedArrays
            Arrays ``logits``, ``labels``, ``features``, ``spread`` and ``mutual_information``.
        """
        others = (self.features, self.spread, self.mutual_information)
        return CollectedArrays(
            self.logits.numpy(), self.labels.numpy(), *(None if one is None else one.numpy() for one in others)
        )

    def predictions(self, **keywords: Any) -> Predictions:
        """Return the rows as `Predictions`, which every function of the library accepts in place of ``(y_true, y_prob)``.

        Parameters
        ----------
        **keywords
            Keywords of `Predictions`, such as ``classes``, ``groups`` and ``counts``.

        Returns
        -------
        Predictions
            Labels and probabilities. Labels are class indices, or the names given by ``classes``.
        """
        arrays, keywords = self.numpy(), without_input(keywords)
        if arrays.features is not None:
            keywords.setdefault("features", arrays.features)
        labels = named_labels(arrays.labels, keywords.get("classes"), self.n_classes)
        return Predictions(labels, arrays.logits, input="logit", **keywords)

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


def without_input(keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords of `Predictions` without ``input``, which is always logits here."""
    if keywords.get("input", "logit") != "logit":
        raise ArgumentError(
            "input",
            f"logits are collected; got {keywords['input']!r}",
            "for a model that returns probabilities, collect their logarithms with output=lambda p: p.log()",
        )
    return {word: value for word, value in keywords.items() if word != "input"}


def named_labels(labels: NDArray[np.int64], classes: Any, count: int) -> NDArray[Any]:
    """Labels as names of their classes, if the classes are named."""
    names = class_names(classes, count)
    if names is None:
        return labels
    table = np.empty(count, object)
    table[:] = names
    found: NDArray[Any] = table[labels]
    return found


@documents_keywords(table=PARAMETERS)
def collect(
    model: Any,
    loader: Iterable[Any],
    *,
    samples: int | Iterable[Any] | None = None,
    rng: Any = None,
    device: Any = None,
    layer: str | None = None,
    output: Output = None,
    autocast: bool | torch.dtype | None = None,
    unpack: Unpack = None,
    progress: bool = True,
    check: bool = True,
) -> Collected:
    r"""Run a model over a loader in evaluation mode without gradients, and collect its logits and the labels.

    The training mode of the model and of all its parts is restored, also after an error. Half precision is converted to
    float32. For a model with a single output z per row the logits are the two columns 0 and z, which have the same
    probabilities.

    For an ensemble, the probabilities of its members are averaged: pass several models, or `samples` of one. Memory does
    not grow with the number of members. The loader is read once for a list of models and for dropout samples, and once
    for each member of a generator of models and for each set of weights; it must then return the same rows in the
    same order each time.

    Parameters
    ----------
    model
    loader
    samples
    rng
    device
    layer
    output
    autocast
    unpack
    progress
    check

    Returns
    -------
    Collected
        Tensors ``logits``, ``labels`` and ``features`` on the CPU; ``predictions()`` passes them to the library. For an
        ensemble also ``spread`` and ``mutual_information``.

    Warns
    -----
    UnstableOutputsWarning
        If two runs of the first batch, or two reads of the same rows, differ.

    See Also
    --------
    evaluate : Collect and evaluate.
    ood_mutual_information : Mutual information of the stacked logits of members.

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
    .. [3] Maddox, Garipov, Izmailov, Vetrov and Wilson (2019): A simple baseline for Bayesian uncertainty in deep
       learning. NeurIPS.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import collect
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    >>> batches = [(torch.zeros(5, 2), torch.zeros(5, dtype=torch.long)), (torch.ones(2, 2), torch.ones(2, dtype=torch.long))]
    >>> found = collect(model, batches, layer="1")
    >>> found.logits.shape, found.features.shape, model.training
    (torch.Size([7, 3]), torch.Size([7, 4]), True)

    An ensemble, here of two members that always disagree:

    >>> members = [lambda x: torch.tensor([[0.0, 4.0]]), lambda x: torch.tensor([[4.0, 0.0]])]
    >>> both = collect(members, [(torch.zeros(1, 2), torch.tensor([1]))])
    >>> both.logits.exp(), both.spread, both.mutual_information
    (tensor([[0.5000, 0.5000]]), tensor([[0.4820, 0.4820]]), tensor([0.6031]))
    """
    if samples is not None or is_several(model):
        return _collect_members(model, loader, samples, rng, layer, check, progress, (device, output, autocast, unpack))
    if rng is not None:
        raise ArgumentError("rng", "is used with samples only")
    _check_callable(model)
    runner = _Runner(model, _device_of(model, device), output, unpack)
    with evaluating(model), _hooked(model, layer) as kept, torch.no_grad(), _precision(autocast, runner.device):
        parts = []
        for number, batch in enumerate(track(loader, "batches") if progress else loader):
            parts.append(runner.batch(number, batch, kept, check and number == 0))
    if check:
        check_dataset(loader)
    return _joined(parts, layer)


def _check_callable(model: Any) -> None:
    if not callable(model):
        raise InputTypeError("model", f"must be a module or a function; got {type(model).__name__}")


def _collect_members(
    model: Any,
    loader: Iterable[Any],
    samples: Any,
    rng: Any,
    layer: str | None,
    check: bool,
    progress: bool,
    options: tuple[Any, Output, bool | torch.dtype | None, Unpack],
) -> Collected:
    """Run all members over the loader, and keep the moments of their probabilities for each batch."""
    if layer is not None:
        raise ArgumentError("layer", "the features of several members differ", "collect them from a single model")
    if samples is not None and is_several(model):
        raise ArgumentError("samples", "cannot be combined with several models", "collect the samples of one model")
    if samples is None and rng is not None:
        raise ArgumentError("rng", "is used with samples only")
    device, output, autocast, unpack = options
    found: list[tuple[Moments, Tensor]] = []
    members = 0
    passes = _passes(model, samples, rng, lambda one: _Runner(one, _device_of(one, device), output, unpack))
    with closing(passes):  # so that modes and weights are restored at once after an error
        for turn, (runners, stable) in enumerate(passes):
            count, members = 0, members + len(runners)
            with torch.no_grad(), _precision(autocast, runners[0].device):
                for number, batch in enumerate(track(loader, "batches") if progress else loader):
                    _add_batch(found, turn, number, batch, runners, check and stable and number == 0)
                    count += 1
            if count != len(found):
                raise InputError(
                    "loader",
                    f"returned {len(found)} batches for the first member and {count} for member {turn}",
                    "pass a loader that can be read repeatedly, such as a DataLoader or a list of batches",
                )
    if not members:
        raise InputError(
            "model" if samples is None else "samples", "has no members", "an iterator can be consumed only once"
        )
    if check:
        check_dataset(loader)
    parts = [(*moments.summary(), labels) for moments, labels in found]
    whole = _joined([(logits, labels, None) for logits, _, _, labels in parts], None)
    spread, shared = torch.cat([part[1] for part in parts]), torch.cat([part[2] for part in parts])
    if samples is not None and not isinstance(samples, Iterable) and not bool(spread.any()):
        raise ArgumentError(
            "samples",
            "all samples are equal, so dropout is not active",
            "pass the model before it was compiled or exported",
        )
    return Collected(whole.logits, whole.labels, None, spread, shared, members)


def _add_batch(
    found: list[tuple[Moments, Tensor]], turn: int, number: int, batch: Any, runners: Sequence[_Runner], twice: bool
) -> None:
    """Add the members of one pass to the moments of a batch."""
    for runner in runners:
        logits, labels, _ = runner.batch(number, batch, {}, twice)
        if number == len(found) and turn == 0:
            found.append((Moments(), labels))
        if number >= len(found) or not torch.equal(found[number][1], labels):
            raise InputError(
                "loader", f"returned other rows for member {turn}, from batch {number} on", "set shuffle=False"
            )
        found[number][0].add(logits)


def _passes(
    model: Any, samples: Any, rng: Any, runner: Callable[[Any], _Runner]
) -> Generator[tuple[Sequence[_Runner], bool], None, None]:
    """The members of each pass over the loader, in evaluation mode, and whether they give the same output each time."""
    if samples is None:
        for group in groups_of(model):
            with ExitStack() as stack:
                for one in group:
                    _check_callable(one)
                    stack.enter_context(evaluating(one))
                yield [runner(one) for one in group], True
        return
    read = read_samples(samples, model)
    single = runner(model)
    with _seeded(rng, single.device):
        if isinstance(read, int):
            with evaluating(model), dropout_active(model):
                yield [single] * read, False
            return
        with evaluating(model), closing(weights_in_turn(model, read)) as draws:
            for _ in draws:
                with evaluating(model):  # a draw may have trained the model, for example to renew batch statistics
                    yield [single], True


@contextmanager
def _seeded(rng: Any, device: torch.device | None) -> Iterator[None]:
    """Seed the generator of torch, and restore its state on exit."""
    seed = read_generator(rng)
    if seed is None:
        yield
        return
    with same_random_state(device):
        torch.manual_seed(seed)
        yield


class _Runner:
    """A model with its device and the rules for its inputs and outputs."""

    def __init__(self, model: Any, device: torch.device | None, output: Output, unpack: Unpack) -> None:
        self.model, self.device, self.output, self.unpack = model, device, output, unpack

    def batch(self, number: int, batch: Any, kept: dict[str, Any], twice: bool) -> tuple[Tensor, Tensor, Tensor | None]:
        inputs, given = unpacked(batch, self.unpack, number)
        # Copied, in this order: loaders may reuse one buffer, and models may write into inputs and earlier outputs.
        labels = label_tensor(given, number)
        logits = own_copy(self._logits(inputs))
        features = _features(kept, len(logits), number)
        if twice:
            with same_random_state(self.device):
                compare(logits, own_copy(self._logits(inputs)))
            kept.pop("value", None)
        _check_fit(labels, logits, number)
        return at_least_single(logits), labels.reshape(-1), features

    def _logits(self, inputs: Any) -> Tensor:
        positional, named = arguments(moved(inputs, self.device))
        return as_classes(chosen_output(self.model(*positional, **named), self.output))


def _check_fit(labels: Tensor, logits: Tensor, number: int) -> None:
    """Check that there is one label per row of logits."""
    if labels.numel() == len(logits):
        return
    if labels.shape[:1] == logits.shape[:1]:
        raise ShapeError(
            "labels",
            f"expected one class index per row, got shape {tuple(labels.shape)} in batch {number}",
            "pass labels.argmax(dim=1), in the loader or with unpack" if labels.shape == logits.shape else "",
        )
    raise ShapeError(
        "labels",
        f"batch {number} has {labels.numel()} labels, and the model returned {len(logits)} rows",
        "use squeeze(-1), which keeps the dimension of a batch of one row, instead of squeeze()"
        if labels.numel() == 1
        else "",
    )


def _device_of(model: Any, device: Any) -> torch.device | None:
    """Where batches go; the model must have something there."""
    tensors = [*model.parameters(), *model.buffers()] if isinstance(model, nn.Module) else []
    homes = list(dict.fromkeys(tensor.device for tensor in tensors))
    if homes and all(home.type == "meta" for home in homes):
        raise ArgumentError(
            "model",
            "is on the meta device, where tensors have no data",
            "load its weights: model.to_empty(device='cpu'), then model.load_state_dict(...)",
        )
    homes = [home for home in homes if home.type != "meta"]
    if device is None:
        return homes[0] if homes else None
    wanted = _read_device(device)
    near = [home for home in homes if home.type == wanted.type and wanted.index in (None, home.index)]
    if homes and not near:
        raise ArgumentError(
            "device", f"the model is on {homes[0]}; got {wanted}", f"move it with model.to({str(wanted)!r})"
        )
    return near[0] if near else wanted


def _read_device(device: Any) -> torch.device:
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise ArgumentError(
            "device", f"{device!r} is not a torch device", "for example 'cpu', 'cuda', 'cuda:1' or 'mps'"
        ) from None
    if found.type == "meta":
        raise ArgumentError("device", "tensors on the meta device have no data", "for example 'cpu' or 'cuda'")
    return found


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode; every part of the model gets its own mode back, whatever happens."""
    modes = [(part, part.training) for part in model.modules()] if isinstance(model, nn.Module) else []
    try:
        if modes:
            _set_evaluation(model, modes)
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def _set_evaluation(model: nn.Module, modes: list[tuple[nn.Module, bool]]) -> None:
    try:
        model.eval()
    except NotImplementedError:  # an exported program keeps the mode it was exported in; parts around it have their own
        for part, _ in modes:
            part.training = False


@contextmanager
def _hooked(model: Any, layer: str | None) -> Iterator[dict[str, Any]]:
    """Keeps what a layer gives; the hook is gone afterwards."""
    kept: dict[str, Any] = {}
    if layer is None:
        yield kept
        return
    names = dict(model.named_modules()) if isinstance(model, nn.Module) else {}
    if layer not in names:
        near = get_close_matches(layer, names, 3) or [name for name in names if name][-3:]
        raise ArgumentError("layer", f"the model has no layer {layer!r}", f"some of its layers are {', '.join(near)}")
    kept |= {"layer": layer, "remedy": _way_to_a_layer(names.values())}
    try:
        hook = names[layer].register_forward_hook(lambda part, given, out: kept.__setitem__("value", _held(out)))
    except RuntimeError as error:  # scripted modules do not support hooks
        raise ArgumentError("layer", f"{layer!r} does not support hooks: {error}", kept["remedy"]) from None
    try:
        yield kept
    finally:
        hook.remove()


def _way_to_a_layer(parts: Iterable[nn.Module]) -> str:
    frozen = (torch.jit.ScriptModule, torch.fx.GraphModule)
    for part in parts:
        if isinstance(part, frozen) or hasattr(part, "_orig_mod") or getattr(part, "_compiled_call_impl", None):
            return "pass the model that this one was made of: where it is compiled, scripted or exported, hooks are passed by"
    return "name another layer"


def _held(out: Any) -> Any:
    """Output of a layer, copied so that later in-place operations do not change it."""
    if isinstance(out, (tuple, list)) and len(out) == 1:
        out = out[0]
    return out.detach().clone() if isinstance(out, Tensor) else out


def _features(kept: dict[str, Any], rows: int, number: int) -> Tensor | None:
    if "layer" not in kept:
        return None
    value, layer = kept.pop("value", None), kept["layer"]
    if value is None:
        raise ArgumentError("layer", f"{layer!r} was not called by the model", kept["remedy"])
    if not isinstance(value, Tensor):
        raise ArgumentError(
            "layer", f"expected a tensor, got {type(value).__name__} from {layer!r}", "name another layer"
        )
    if value.ndim == 0 or len(value) != rows:
        raise ShapeError(
            "layer", f"expected {rows} rows, got shape {tuple(value.shape)} from {layer!r} in batch {number}"
        )
    flat = value.flatten(1) if value.ndim > 1 else value[:, None]
    return at_least_single(flat).cpu()


def _precision(autocast: bool | torch.dtype | None, device: torch.device | None) -> Any:
    if autocast is None:
        return nullcontext()
    if not isinstance(autocast, (bool, torch.dtype)):
        raise ArgumentError("autocast", f"must be None, True, False or a dtype; got {autocast!r}")
    kind = "cpu" if device is None else device.type
    if isinstance(autocast, bool):
        return torch.autocast(kind, enabled=autocast)
    return torch.autocast(kind, dtype=autocast)


def _joined(parts: list[tuple[Tensor, Tensor, Tensor | None]], layer: str | None) -> Collected:
    rows = sum(len(part[0]) for part in parts)
    if not rows:
        raise InputError("loader", "returned no rows", "an iterator can be consumed only once")
    classes = int(parts[0][0].shape[1])
    for number, part in enumerate(parts):
        if part[0].shape[1] != classes:
            raise ShapeError("output", f"has {part[0].shape[1]} classes in batch {number} and {classes} in batch 0")
    labels = read_labels(torch.cat([part[1] for part in parts]), rows, classes)
    features = [part[2] for part in parts if part[2] is not None]
    if len({part.shape[1] for part in features}) > 1:
        raise ShapeError("layer", f"rows of {layer!r} differ in length", "name a layer after the pooling")
    return Collected(torch.cat([part[0] for part in parts]), labels, torch.cat(features) if features else None)


@contextmanager
def same_random_state(device: torch.device | None) -> Iterator[None]:
    """Restore the random state on exit."""
    devices = [device] if device is not None and device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        yield


def compare(first: Tensor, again: Tensor) -> None:
    """Warn if two runs of one batch differ by more than the order of summation explains."""
    # On a device the order of summation may vary; dropout changes the outputs far more than that.
    near = 1e-2 if first.dtype in (torch.float16, torch.bfloat16) else 1e-4
    one, two = at_least_single(first), at_least_single(again)
    scale = float(one[torch.isfinite(one)].abs().max()) if bool(torch.isfinite(one).any()) else 1.0
    if one.shape != two.shape or not torch.allclose(one, two, rtol=near, atol=near * scale, equal_nan=True):
        _warn(
            "the model gives different outputs for the same batch in evaluation mode; look for dropout applied by a "
            "function and for a forward that changes its inputs in place"
        )


def check_dataset(loader: Any) -> None:
    """Read a few rows twice, after the workers have finished, so that no file opened here is shared with them.

    Some datasets can be read only by their workers. The collected rows are valid regardless, so failures of this check
    are ignored.
    """
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        return
    dataset: Any = loader.dataset
    with same_random_state(None):
        try:
            unstable = any(_differ(dataset[row], dataset[row]) for row in _some_rows(loader))
        except Exception:
            return
    if unstable:
        _warn("the dataset gives the same rows differently each time; use transforms without randomness")


def _some_rows(loader: DataLoader[Any]) -> Sequence[Any]:
    """Rows that the loader reads, where they can be determined without advancing its sampler."""
    if isinstance(loader.batch_sampler, Sequence):
        return list(loader.batch_sampler[0])[:LOOKED_AT]
    rows: Any = getattr(loader.sampler, "indices", loader.sampler)
    if isinstance(rows, (Sequence, Tensor, np.ndarray)):
        return list(rows[:LOOKED_AT])
    dataset: Any = loader.dataset
    return range(min(LOOKED_AT, len(dataset)))


def _differ(one: Any, two: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        return one.shape != two.shape or not bool(torch.isclose(one, two, rtol=0, atol=0, equal_nan=True).all())
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return _differ(torch.as_tensor(one), torch.as_tensor(two)) if one.dtype.kind in "biuf" else False
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() != two.keys() or any(_differ(one[key], two[key]) for key in one)
    if isinstance(one, (tuple, list)) and isinstance(two, (tuple, list)):
        return len(one) != len(two) or any(map(_differ, one, two))
    return False


def _warn(problem: str) -> None:
    warn_caller(f"{problem}; otherwise results vary between runs", UnstableOutputsWarning)
