"""Fitted calibrators as ONNX models, written from their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import MissingDependencyError
from ..util.version import __version__
from .base import Calibrator, as_fitted
from .choosing import Recalibration
from .formulas import Formula, given, nodes_of, pieces_of

OPSET, IR_VERSION = 17, 8
OPERATORS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "least": "Min",
    "greatest": "Max",
    "log": "Log",
    "exp": "Exp",
}


def to_onnx(calibrator: Calibrator | Recalibration) -> bytes:
    """Write a fitted calibrator as an ONNX model.

    Requires the package onnx.

    Parameters
    ----------
    calibrator : Calibrator or Recalibration
        Fitted calibrator.

    Returns
    -------
    bytes
        Serialized model with the input ``scores``, of type double and shape (N, 1) for one score of two classes or (N, K), and the output
        ``probabilities``, of type double and shape (N, K).

    Raises
    ------
    ArgumentError
        If the calibrator has no formula that can be exported.
    MissingDependencyError
        If onnx is not installed.

    See Also
    --------
    to_python : The same without a runtime.

    Examples
    --------
    >>> import calibrant as cal
    >>> calibrator = cal.PlattScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])
    >>> model = cal.recalibration.to_onnx(calibrator)  # doctest: +SKIP
    """
    calibrator = as_fitted(calibrator)
    formula = calibrator.formula(given(calibrator.n_features_in_))
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError("to_onnx", "requires onnx", "run pip install 'calibrant[onnx]'") from error
    graph = _Graph(onnx)
    names: dict[int, str] = {}
    for node in nodes_of(formula):
        names[id(node)] = graph.name_of(node, [names[id(part)] for part in node.args])
    graph.add("Identity", names[id(formula)], output="probabilities")
    double, make = onnx.TensorProto.DOUBLE, onnx.helper
    inputs = [make.make_tensor_value_info("scores", double, ["N", calibrator.n_features_in_])]
    outputs = [make.make_tensor_value_info("probabilities", double, ["N", formula.width])]
    whole = make.make_graph(graph.nodes, type(calibrator).__name__, inputs, outputs, graph.constants)
    model = make.make_model(whole, opset_imports=[make.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    model.producer_name, model.producer_version = "calibrant", __version__
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


class _Graph:
    """Nodes and constants of a model."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, values: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def name_of(self, node: Formula, args: list[str]) -> str:
        """The name of the values of a part of the formula."""
        if node.op == "input":
            return "scores"
        if node.op == "constant":
            return self._in_rows(node.data)
        if node.op == "join":
            return self.add("Concat", *args, axis=1)
        if node.op == "largest":
            return self.add("ReduceMax", *args, axes=[1], keepdims=1)
        if node.op == "choose":
            return self.add("Where", self.add("Greater", args[0], self.constant(0.0)), *args[1:])
        if node.op == "interpolate":
            return self._interpolated(args[0], *node.data)
        if node.op == "linear":
            rows = node.data
            if ((rows != 0).sum(axis=1) == 1).all() and rows.max() == rows.min(where=rows != 0, initial=1.0) == 1:
                return self.add("Gather", *args, self.constant(rows.argmax(axis=1)), axis=1)
            return self.add("MatMul", *args, self.constant(rows.T.copy()))
        return self.add(OPERATORS[node.op], *args)

    def _in_rows(self, values: Any) -> str:
        """Numbers repeated in every row."""
        rows = self.add("Shape", "scores", start=0, end=1)
        shape = self.add("Concat", rows, self.constant(np.array([len(values)])), axis=0)
        return self.add("Expand", self.constant(values[None, :]), shape)

    def _interpolated(self, x: str, knots: Any, values: Any) -> str:
        """The piece of each number is found by bisection."""
        pieces = pieces_of(knots, values)
        depth = len(pieces.starts).bit_length()
        starts = self.constant(np.array([*pieces.starts, *[np.inf] * (2**depth - 1 - len(pieces.starts))]))
        place = self.constant(np.array(0))
        for power in reversed(range(depth)):
            ahead = self.add("Add", place, self.constant(np.array(2**power)))
            before = self.add("Sub", ahead, self.constant(np.array(1)))
            reached = self.add("GreaterOrEqual", x, self.add("Gather", starts, before, axis=0))
            place = self.add("Where", reached, ahead, place)
        knot, level, slope = (
            self.add("Gather", self.constant(np.array(part)), place, axis=0)
            for part in (pieces.knots, pieces.values, pieces.slopes)
        )
        return self.add("Add", level, self.add("Mul", slope, self.add("Sub", x, knot)))
