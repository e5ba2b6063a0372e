"""What figures do not accept: each call raises an error of its class that names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import errors, figures

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

EVENT = cal.inference.make_miscalibrated(200, warp=cal.inference.simulation.temperature(2.0), rng=3)
Y, P = EVENT.y_true, EVENT.y_prob
MANY = cal.inference.make_calibrated(200, distribution=[0.3] * 6, classes=6, rng=5)
K, Q = MANY.y_true, MANY.y_prob
TREE = {"animal": {"pet": [0, 1], "wild": [2]}, "thing": {"car": [3, 4], "ship": [5]}}
NO_WILD, WILD = (K[K != 2], Q[K != 2]), {"hierarchy": TREE, "depth": 2, "given": "wild"}
SOFT = cal.Predictions(np.full((2, 6), 1 / 6), Q[:2], soft=True)
CONFIDENCE = cal.Predictions([0, 1], [0.6, 0.7], input="confidence")
SKETCH = cal.Sketch.of(Y, P)
PAIR = {"a": P, "b": P**2}
TIME: dict[str, Any] = {"time": np.arange(1, 201), "event": Y, "horizon": 5, "n_resamples": 0}
POOLED = cal.inference.pool_estimates([1, 2], [1, 1])
line, classes = figures.reliability_diagram, figures.classwise_panels
topk, groups, confidences = figures.topk_diagram, figures.group_error_diagram, figures.group_confidence_diagram
risk, murphy = figures.risk_coverage_diagram, figures.murphy_diagram
spans, flexible = figures.interval_error_diagram, figures.flexible_calibration_curve
decision, survival, forest = figures.decision_curve, figures.survival_diagram, figures.forest_diagram
stability, belt = figures.stability_diagram, figures.calibration_belt
# Without intervals, which tests of refusals have no use for.
DIAGRAM, PANELS = line(Y, P, level=None), classes(K, Q, show=2, level=None)
REFUSED: list[tuple[Any, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    (line, (Y, P), {"kind": "pie"}, errors.ArgumentError, "kind"),
    (line, (Y, P), {"uncertainty": "magic"}, errors.ArgumentError, "uncertainty"),
    (line, (Y, P), {"level": 95}, errors.ArgumentError, "level"),
    (line, (K, Q), {"lens": "classwise"}, errors.LensError, "lens"),
    (line, (Y, P), {"kind": "isotonic", "uncertainty": "wilson"}, errors.UndefinedMetricError, "uncertainty"),
    (line, (Y, P), {"uncertainty": "bootstrap", "n_resamples": 3}, errors.ArgumentError, "n_resamples"),
    (line, (Y, P), {"uncertainty": "bootstrap", "rng": "x"}, errors.ArgumentError, "rng"),
    (line, (Y, P), {"kind": "smooth", "bandwidth": 0}, errors.ArgumentError, "bandwidth"),
    (line, (Y, P), {"kind": "smooth", "bandwidth": "wide"}, errors.ArgumentError, "bandwidth"),
    (line, (Y, P), {"metrics": ("eze",)}, errors.UnknownMetricError, "metric"),
    (line, (Y, P), {"uncertainty": "band", "sample_weight": P + 1}, errors.WeightsNotSupportedError, "sample_weight"),
    (line, (SKETCH, P), {}, errors.InputTypeError, "y_true"),
    (line, (SKETCH,), {"lens": "top_label"}, errors.LensError, "lens"),
    (DIAGRAM.plot, ("here",), {}, errors.InputTypeError, "ax"),
    (DIAGRAM.plot, (), {"counts": "bars"}, errors.ArgumentError, "counts"),
    (DIAGRAM.plot, (), {"scale": "log"}, errors.ArgumentError, "scale"),
    (line, (Y, {}), {}, errors.ArgumentError, "y_prob"),
    (line(Y, PAIR, kind="bars", level=None).plot, (), {}, errors.ArgumentError, "kind"),
    (PANELS.plot, (3,), {}, errors.InputTypeError, "figure"),
    (classes, (K, Q), {"show": "cat"}, errors.ArgumentError, "show"),
    (classes, (K, Q), {"show": [9]}, errors.ArgumentError, "show"),
    (classes, (K, Q), {"show": 0}, errors.ArgumentError, "show"),
    (classes, (SKETCH,), {}, errors.InputTypeError, "y_true"),
    (classes, (CONFIDENCE,), {}, errors.LensError, "y_prob"),
    (figures.cumulative_diagram, (Y, P), {"level": 2}, errors.ArgumentError, "level"),
    (figures.cumulative_diagram, (K, Q), {"lens": "canonical"}, errors.LensError, "lens"),
    (figures.variation_diagram, (Y, P), {"variation": "mood"}, errors.ArgumentError, "variation"),
    (figures.uce_diagram, (Y, P), {"level": 0}, errors.ArgumentError, "level"),
    (figures.uce_diagram, (Y, P), {"bins": 0}, errors.ArgumentError, "bins"),
    (topk, (K, Q), {"k": 7}, errors.ArgumentError, "k"),
    (topk, (K, Q), {"k": 0}, errors.ArgumentError, "k"),
    (topk, (K, Q), {"k": []}, errors.ArgumentError, "k"),
    (topk, (K, Q), {"metric": "eece"}, errors.UnknownMetricError, "metric"),
    (topk, (K, Q), {"metric": "ece"}, errors.LensError, "lens"),
    (topk, (K, Q), {"lens": "top"}, errors.ArgumentError, "lens"),
    (topk, (K, Q), {"baseline": "plain"}, errors.ArgumentError, "baseline"),
    (topk, (K, Q), {"topk": 3}, errors.UnknownArgumentError, "topk"),
    (topk, (SKETCH,), {}, errors.InputTypeError, "y_true"),
    (topk, (CONFIDENCE,), {}, errors.InputTypeError, "y_prob"),
    (topk(K, Q).plot, (Figure().subplots(2),), {}, errors.ArgumentError, "ax"),
    (groups, (K, Q), {"hierarchy": TREE, "depth": 3}, errors.ArgumentError, "depth"),
    (groups, (K, Q), {"hierarchy": {"a": [0, 1], "b": [2]}}, errors.LensError, "lens"),
    (groups, (K, Q), {"hierarchy": {}}, errors.LensError, "lens"),
    (groups, (K, Q), {"hierarchy": TREE, "metric": "nothing"}, errors.UnknownMetricError, "metric"),
    (groups, (SOFT,), {"hierarchy": TREE, "rows": "label"}, errors.LensError, "rows"),
    (confidences, (K, {"a": Q, "b": Q}), {"hierarchy": TREE}, errors.ArgumentError, "given"),
    (confidences, (K, Q), {"hierarchy": TREE, "given": "fish"}, errors.ArgumentError, "given"),
    (confidences, NO_WILD, WILD, errors.UndefinedMetricError, "group_confidence_diagram"),
    (risk, (K, Q), {"risk": "both"}, errors.ArgumentError, "risk"),
    (risk, (K, Q), {"lens": "classwise"}, errors.LensError, "lens"),
    (risk, (K, {}), {}, errors.ArgumentError, "y_prob"),
    (risk, (K, {1: Q, "1": Q}), {}, errors.ArgumentError, "y_prob"),
    (risk, ({"a": (K, Q)},), {}, errors.InputTypeError, "y_true"),
    (risk, ({"a": cal.Predictions(K, Q)},), {"sample_weight": K}, errors.InputTypeError, "sample_weight"),
    (risk(K, Q).__getitem__, ("b",), {}, errors.ArgumentError, "name"),
    (murphy, (K, Q), {"lens": "canonical"}, errors.LensError, "lens"),
    (murphy, (cal.Predictions([0.5, 0.2], [0.4, 0.3], soft=True),), {}, errors.UndefinedMetricError, "murphy_diagram"),
    (spans, (Y, P), {"intervals": [(0.5, 0.5)]}, errors.ArgumentError, "intervals"),
    (spans, (Y, P), {"intervals": [(0, 2)]}, errors.ArgumentError, "intervals"),
    (spans, (Y, P), {"intervals": "seven"}, errors.ArgumentError, "edges"),
    (spans, (Y, P), {"intervals": [0, 0.5]}, errors.ArgumentError, "edges"),
    (spans, (Y, P), {"names": ["a"]}, errors.ArgumentError, "names"),
    (spans, (Y, P), {"metric": "nonsense"}, errors.UnknownMetricError, "metric"),
    (spans, (K, Q), {"lens": "classwise"}, errors.LensError, "lens"),
    (flexible, (Y, P), {"smoother": "spline"}, errors.ArgumentError, "smoother"),
    (flexible, (Y, P), {"uncertainty": "wald"}, errors.ArgumentError, "uncertainty"),
    (flexible, (Y, P), {"level": 95}, errors.ArgumentError, "level"),
    (flexible, (Y, P), {"knots": 7}, errors.ArgumentError, "knots"),
    (flexible, (Y, P), {"degree": 3}, errors.ArgumentError, "degree"),
    (flexible, (Y, P), {"span": 0}, errors.ArgumentError, "span"),
    (flexible, (cal.Predictions(P, P, soft=True),), {}, errors.UndefinedMetricError, "level"),
    (decision, (Y, P), {"thresholds": [0, 0.5]}, errors.ArgumentError, "thresholds"),
    (decision, (Y, P), {"level": 95}, errors.ArgumentError, "level"),
    (decision, (Y, {"treat all": P}), {}, errors.ArgumentError, "y_prob"),
    (decision, (Y, {"a": P, "b": P[:-1]}), {}, errors.ShapeError, "y_prob"),
    (decision, (K, Q), {"lens": "classwise"}, errors.LensError, "lens"),
    (decision(Y, PAIR).difference, (), {}, errors.ArgumentError, "first"),
    (decision(Y, PAIR).difference, ("c",), {}, errors.ArgumentError, "name"),
    (decision, (cal.Predictions(P, P, soft=True),), {}, errors.UndefinedMetricError, "decision_curve"),
    (survival, (P,), {**TIME, "horizon": [1, 2]}, errors.ArgumentError, "horizon"),
    (survival, (P,), {**TIME, "bins": 0}, errors.ArgumentError, "bins"),
    (survival, (P,), {**TIME, "level": 2}, errors.ArgumentError, "level"),
    (forest, (POOLED,), {"metric": "slope"}, errors.ArgumentError, "metric"),
    (forest, ([1, 2],), {}, errors.InputTypeError, "validation"),
    (stability, (Y, P), {"metric": "eec"}, errors.UnknownMetricError, "metric"),
    (stability, (Y, P), {"over": "gamma"}, errors.ArgumentError, "over"),
    (stability, (Y, P), {"over": "binning"}, errors.ArgumentError, "over"),
    (stability, (Y, P), {"values": []}, errors.ArgumentError, "values"),
    (stability, (Y, P), {"values": 5}, errors.ArgumentError, "values"),
    (stability, (Y, P), {"values": [0, 5]}, errors.ArgumentError, "values"),
    (stability, (Y, P), {"over": "fraction", "values": [0, 1]}, errors.ArgumentError, "values"),
    (stability, (Y, P), {"over": "fraction", "n_resamples": 0}, errors.ArgumentError, "n_resamples"),
    (stability, (Y, P), {"bins": 5}, errors.ArgumentError, "bins"),
    (stability, (Y, P), {"bin": 5}, errors.UnknownArgumentError, "bin"),
    (stability, (K, Q), {"metric": "gece", "n_resamples": 2}, errors.LensError, "bins"),
    (stability, (SKETCH,), {"lens": "binary"}, errors.ArgumentError, "lens"),
    (
        stability,
        cal.top_k(2).views(cal.Predictions(K, Q)),
        {"metric": "gece", "over": "gamma"},
        errors.InputTypeError,
        "y_true",
    ),
    (
        stability,
        ([0, 0, 0], [0.2, 0.3, 0.4]),
        {"metric": "cox_slope", "over": "fraction"},
        errors.UndefinedMetricError,
        "cox_slope",
    ),
    (belt, (Y, P), {"levels": (0.8, 95)}, errors.ArgumentError, "levels"),
    (belt, (Y, P), {"levels": ()}, errors.ArgumentError, "levels"),
    (belt, (Y, P), {"levels": (0.8, 0.8)}, errors.ArgumentError, "levels"),
    (belt, (Y, P), {"points": 1}, errors.ArgumentError, "points"),
    (belt, (np.zeros(40), np.linspace(0.1, 0.5, 40)), {}, errors.UndefinedMetricError, "calibration_belt"),
    (belt, (cal.Predictions(P, P, soft=True),), {}, errors.UndefinedMetricError, "calibration_belt"),
    (belt, (Y, P), {"sample_weight": P + 1}, errors.WeightsNotSupportedError, "sample_weight"),
    (belt, (K, Q), {"lens": "classwise"}, errors.LensError, "lens"),
    (figures.optimism_diagram, ([1, 2],), {}, errors.InputTypeError, "validation"),
]


@pytest.mark.parametrize(("function", "args", "keywords", "error", "argument"), REFUSED)
def test_calls_that_are_refused_name_the_argument(
    function: Any, args: tuple[Any, ...], keywords: dict[str, Any], error: type[Exception], argument: str
) -> None:
    with pytest.raises(error) as raised:
        function(*args, **keywords)
    assert raised.value.argument == argument  # type: ignore[attr-defined]
