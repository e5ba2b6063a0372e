"""Inputs and outputs of models: unpacking of batches, and the choice among several outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ArgumentError, InputError, InputTypeError

Output = int | str | Callable[[Any], Tensor] | None
Unpack = Callable[[Any], tuple[Any, Any]] | None
LABEL_KEYS = ("labels", "label", "targets", "target", "y")


def chosen_output(outputs: Any, output: Output) -> Tensor:
    """The logits among the outputs of a model; ambiguous outputs raise."""
    if callable(output):
        logits = output(outputs)
    elif output is not None:
        logits = _at(outputs, output)
    elif isinstance(outputs, Mapping) and "logits" in outputs:
        logits = outputs["logits"]
    elif not isinstance(outputs, Tensor) and isinstance(getattr(outputs, "logits", None), Tensor):
        logits = outputs.logits
    elif isinstance(outputs, (tuple, list, Mapping)) and len(outputs) == 1:
        logits = next(iter(outputs.values() if isinstance(outputs, Mapping) else outputs))
    else:
        logits = outputs
    if not isinstance(logits, Tensor):
        raise InputTypeError(
            "output",
            f"must be a tensor; the model returned {_kind(logits)}",
            "choose one with output=0, a key or a function",
        )
    if not logits.is_floating_point():
        raise InputTypeError("output", f"must be floating point; the model returned {logits.dtype}")
    return logits


def _at(outputs: Any, output: int | str) -> Any:
    if isinstance(outputs, Tensor) and (isinstance(output, str) or outputs.ndim < 3):
        raise ArgumentError(
            "output",
            f"the model returned a single tensor of shape {tuple(outputs.shape)}; got {output!r}"
            + ("" if isinstance(output, str) else ", which would select one of its rows"),
            "drop output or pass a function",
        )
    if isinstance(output, str) and hasattr(outputs, output) and not isinstance(outputs, Mapping):
        return getattr(outputs, output)
    try:
        return outputs[output]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ArgumentError("output", f"the model returned {_kind(outputs)}; got {output!r}") from None


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"entries named {', '.join(map(repr, value))}"
    if isinstance(value, (tuple, list)):
        return f"{len(value)} outputs"
    return f"a {type(value).__name__}"


def split_batch(batch: Any, unpack: Unpack, number: int) -> tuple[Any, Any]:
    """Inputs of the model, and labels."""
    if unpack is not None:
        return unpack(batch)
    if isinstance(batch, Mapping):
        keys = [key for key in LABEL_KEYS if key in batch]
        if len(keys) == 1:
            inputs = {key: value for key, value in batch.items() if key != keys[0]}
            return (next(iter(inputs.values())) if len(inputs) == 1 else inputs), batch[keys[0]]
        problem = f"batch {number} has the entries {', '.join(map(repr, batch))}, and one of them must be the labels, named {' or '.join(LABEL_KEYS)}"
    elif isinstance(batch, (tuple, list)):
        if len(batch) == 2:
            return batch[0], batch[1]
        problem = f"batch {number} has {len(batch)} parts, and inputs and labels are needed"
    else:
        problem = f"batch {number} is a {type(batch).__name__}, and inputs and labels are needed"
    raise InputError("loader", problem, "unpack it with unpack=lambda batch: (inputs, labels)")


def label_tensor(labels: Any, number: int) -> Tensor:
    """The labels of a batch as a copied tensor."""
    if not isinstance(labels, Tensor):
        try:
            labels = torch.as_tensor(np.asarray(labels))
        except (TypeError, ValueError):
            raise InputTypeError(
                "labels",
                f"expected class indices, got {_kind(labels)} in batch {number}",
                "number the classes from 0, in the dataset or with unpack=lambda batch: (inputs, labels)",
            ) from None
    return own_copy(labels)


def own_copy(tensor: Tensor) -> Tensor:
    """A copy on the CPU."""
    return tensor.detach().to("cpu", copy=True)


def arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a model: keywords from a mapping, several from a tuple or list, else one."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    return (inputs,), {}


def row_counts(positional: tuple[Any, ...], named: Mapping[str, Any]) -> list[int]:
    """Number of rows of each input tensor; a floating-point tensor of one dimension is a single row."""
    tensors = [tensor for tensor in (*positional, *named.values()) if isinstance(tensor, Tensor) and tensor.ndim]
    rows = [tensor.shape[0] for tensor in tensors if tensor.ndim > 1 or not tensor.is_floating_point()]
    return rows if rows or not tensors else [1]


def to_device(value: Any, device: torch.device | None) -> Any:
    """The same structure with its tensors moved to a device."""
    if device is None:
        return value
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {key: to_device(item, device) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(to_device(item, device) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(to_device(item, device) for item in value)
    return value
