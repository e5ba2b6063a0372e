"""Export of calibrated models to programs that run without this library: `torch.export` and ONNX."""

from __future__ import annotations

import inspect
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputTypeError, MissingDependencyError, ShapeError
from ..util.files import write_atomic
from ..util.texts import parameter_texts
from ..views.keywords import documents_keywords
from .collecting import evaluating

documents_export = documents_keywords(table=parameter_texts("calibrant.torch")["export"])


@documents_export
def export_program(module: nn.Module, *example: Tensor, dynamic_batch: bool = True) -> torch.export.ExportedProgram:
    """Export a module as an `ExportedProgram`: a calibrator alone, or a model with its calibrator.

    Parameters
    ----------
    module
    *example
    dynamic_batch

    Returns
    -------
    torch.export.ExportedProgram
        The program; ``program.module()`` runs it.

    Raises
    ------
    InputTypeError
        If `module` is not a module, or the example tensors do not match its forward.
    ShapeError
        If the example has fewer than two rows and `dynamic_batch` is True.

    See Also
    --------
    export_onnx : Write an ONNX file.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import TemperatureModule, export_program
    >>> program = export_program(TemperatureModule(temperature=2.0), torch.zeros(4, 3))
    >>> program.module()(torch.full((7, 3), 3.0))[0].tolist()
    [1.5, 1.5, 1.5]
    """
    _check(module, example)
    with evaluating(module), torch.no_grad():
        return torch.export.export(module, example, dynamic_shapes=_shapes(module, example, dynamic_batch))


@documents_export
def export_onnx(module: nn.Module, path: str | os.PathLike[str], *example: Tensor, dynamic_batch: bool = True) -> Path:
    """Write a module to an ONNX file; requires the packages onnx and onnxscript.

    Parameters
    ----------
    module
    path : str or path
        File to write.
    *example
    dynamic_batch

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    MissingDependencyError
        If onnx or onnxscript is not installed.
    InputTypeError
        If `module` is not a module, or the example tensors do not match its forward.
    ShapeError
        If the example has fewer than two rows and `dynamic_batch` is True.

    See Also
    --------
    export_program : Export with `torch.export`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import TemperatureModule, export_onnx
    >>> export_onnx(TemperatureModule(temperature=2.0), "temperature.onnx", torch.zeros(4, 3))  # doctest: +SKIP
    PosixPath('temperature.onnx')
    """
    for name in ("onnx", "onnxscript"):
        if find_spec(name) is None:
            raise MissingDependencyError(
                "export_onnx", f"requires the package {name}", "run pip install onnx onnxscript"
            )
    _check(module, example)
    with evaluating(module), torch.no_grad():
        shapes = _shapes(module, example, dynamic_batch)
        program = torch.onnx.export(module, example, dynamo=True, dynamic_shapes=shapes, verbose=False)
    assert program is not None
    return write_atomic(path, program.model_proto.SerializeToString())


def _check(module: Any, example: tuple[Any, ...]) -> None:
    if not isinstance(module, nn.Module):
        raise InputTypeError("module", f"must be a torch module; got {type(module).__name__}")
    if not example or not all(isinstance(tensor, Tensor) for tensor in example):
        raise InputTypeError("example", "must be the input tensors of the module")


def _shapes(module: nn.Module, example: tuple[Tensor, ...], dynamic: bool) -> Any:
    """Dynamic axes: the first axis of every tensor with as many rows as the first tensor that has any."""
    try:
        given = inspect.signature(module.forward).bind(*example).arguments
    except TypeError as error:
        raise InputTypeError(
            "example", f"does not match the forward method of {type(module).__name__}: {error}"
        ) from None
    counts = [len(tensor) for tensor in example if tensor.ndim]
    if not dynamic or not counts:
        return None
    if counts[0] < 2:
        raise ShapeError(
            "example",
            f"a dynamic batch size requires at least two rows; got {counts[0]}",
            "pass two rows or use dynamic_batch=False",
        )
    rows = torch.export.Dim("rows")

    def axes(value: Any) -> Any:
        # A forward with *inputs has one parameter for all of them.
        if isinstance(value, tuple):
            return tuple(axes(one) for one in value)
        return {0: rows} if value.ndim and len(value) == counts[0] else None

    return {name: axes(value) for name, value in given.items()}
