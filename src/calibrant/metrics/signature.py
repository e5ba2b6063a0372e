"""The call form of a metric as data: its keywords, their checks, its signature and its documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import ArgumentError
from ..input.predictions import Predictions
from ..views.keywords import PREDICTION_KEYWORDS, VIEW_KEYWORDS

if TYPE_CHECKING:
    from .registry import Metric

__all__ = [
    "EXPLAIN",
    "build_doc",
    "build_signature",
    "check_class_weight",
    "check_norm",
    "check_option",
    "formula_options",
]


EXPLAIN = {
    "bins": "Number of bins, or rising edges from 0 to 1.",
    "binning": "How to cut the scores: ``'equal_width'``, ``'equal_mass'``, a rule such as `EqualWidth(closed='left')`, or fitted bins.",
    "norm": "Exponent of the norm over bins: 1, 2, any number from 1 up, or ``inf``.",
    "lens": "Which question is asked: ``'auto'``, ``'binary'``, ``'top_label'``, ``'classwise'``, ``'class:NAME'``, ``'rank:2'``, a Lens, ...",
    "where": "Which rows: a boolean mask or a Selection such as ``select.output(low=0.9)``.",
    "combine": "How one value per class becomes one: ``'mean'``, ``'sum'``, ``'max'`` or ``'prevalence'``.",
    "class_weight": "One weight per class, for ``combine='mean'`` or ``'sum'``.",
}


def formula_options(formula: Callable[..., Any]) -> dict[str, Any]:
    """The formula's own keywords and their defaults."""
    return dict(formula.__kwdefaults__ or {})


@lru_cache(maxsize=1024)
def _choices(formula: Callable[..., Any], word: str) -> tuple[Any, ...]:
    hint = get_type_hints(formula).get(word)
    return get_args(hint) if get_origin(hint) is Literal else ()


def check_option(formula: Callable[..., Any], word: str, value: Any) -> Any:
    """The value of an option, refused with what it must be; bins and binning are checked where they are used."""
    choices = _choices(formula, word)
    if choices and value not in choices:
        raise ArgumentError(word, f"must be one of {', '.join(map(repr, choices))}; got {value!r}")
    if word == "class_weight":
        return check_class_weight(value)
    return check_norm(value) if word == "norm" else value


def check_class_weight(value: Any) -> Any:
    """Weights of classes as an array, or None; how many there must be is known where they are used."""
    if value is None:
        return None
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            "class_weight", f"must be one number per class; got {value!r}", "for example [1, 1, 2]"
        ) from None


def check_norm(norm: Any) -> float:
    """An exponent from 1 up, or infinity."""
    if isinstance(norm, str):
        hint = {"l1": "1", "l2": "2", "max": "math.inf", "linf": "math.inf", "inf": "math.inf"}.get(norm.lower())
        raise ArgumentError(
            "norm", f"must be a number of at least 1, or inf; got {norm!r}", f"use {hint}" if hint else ""
        )
    if isinstance(norm, bool) or not isinstance(norm, (int, float, np.integer, np.floating)) or not norm >= 1:
        raise ArgumentError(
            "norm", f"must be a number of at least 1, or inf; got {norm!r}", "for example 1, 2 or math.inf"
        )
    return math.inf if math.isinf(norm) else float(norm)


def build_signature(metric: Metric) -> Any:
    """The full signature, for editors, help() and the stub."""
    import inspect

    formula = inspect.signature(metric.formula)
    predictions = inspect.signature(Predictions.__init__).parameters
    keyword = inspect.Parameter.KEYWORD_ONLY
    first = [
        parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for parameter in (predictions["y_true"], predictions["y_prob"])
    ]
    own = [formula.parameters[word].replace(default=value) for word, value in metric.options.items()]
    lens = inspect.Parameter("lens", keyword, default=metric.lens, annotation="str | Lens")
    view = [
        inspect.Parameter("where", keyword, default=None, annotation="Any"),
        inspect.Parameter("combine", keyword, default=None, annotation="Combine | None"),
        inspect.Parameter("class_weight", keyword, default=None, annotation="Any"),
    ]
    view = [parameter for parameter in view if parameter.name not in metric.options]
    rest = [predictions[word] for word in PREDICTION_KEYWORDS]
    return inspect.Signature([*first, *own, lens, *view, *rest], return_annotation="float")


def build_doc(metric: Metric) -> str:
    """A numpydoc docstring from the declaration."""
    low, high = metric.range
    body = "\n".join((metric.formula.__doc__ or "").strip().split("\n")[1:]).strip("\n") if metric.base is None else ""
    lines = [
        metric.summary,
        "",
        *([body, ""] if body else []),
        "Parameters",
        "----------",
        "y_true, y_prob",
        "    Labels and probabilities; see `Predictions`, whose keywords are taken too.",
    ]
    for word, value in metric.options.items():
        lines += [f"{word} : default {value!r}", f"    {metric.explain.get(word) or EXPLAIN.get(word, '')}"]
    lines += [f"lens : default {metric.lens!r}", f"    {EXPLAIN['lens']}"]
    own = {"combine": f" None is ``{metric.combine!r}``, with an infinite norm ``'max'``."}
    lines += [
        f"{word}\n    {EXPLAIN[word]}{own.get(word, '')}" for word in VIEW_KEYWORDS[1:] if word not in metric.options
    ]
    lines += [
        "",
        "Returns",
        "-------",
        "float",
        f"    In [{low:g}, {high:g}]" + ("" if metric.ideal is None else f"; {metric.ideal:g} is ideal") + ".",
    ]
    facts = [
        f"Good: {metric.pros}." if metric.pros else "",
        f"Beware: {metric.cons}." if metric.cons else "",
        metric.notes,
    ]
    facts += ["" if metric.certainty == "certain" else f"Certainty of the definition: {metric.certainty}."]
    facts = [fact for fact in facts if fact]
    if facts:
        lines += ["", "Notes", "-----", "\n\n".join(facts)]
    lines += ["", "References", "----------", metric.reference]
    lines += [
        "",
        "Examples",
        "--------",
        ">>> import calibrant as cal",
        f">>> value = cal.{metric.id}([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]{''.join(f', {need}=[1, 1, 2, 2]' for need in metric.needs if need != 'labels')})",
    ]
    return "\n".join(lines)
