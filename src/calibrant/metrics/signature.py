"""The call signature of a metric: its keywords and their checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from ..binning.parse import binning_rule, block_rule
from ..binning.partition import partition_rule
from ..errors import ArgumentError
from ..input.predictions import Predictions
from ..util.checks import check_rng, is_number

if TYPE_CHECKING:
    from .registry import Metric


# Options of every formula that reads a table or a rule of bins: defaults and annotations.
BIN_OPTIONS: dict[str, Any] = {"bins": 15, "binning": "equal_width"}
BIN_ANNOTATIONS = {"bins": "Bins | None", "binning": "Binning"}
# How these options are read as one rule, by the annotation of the argument that receives it.
RULE_READERS: dict[str, Callable[..., Any]] = {
    "BinTable": binning_rule,
    "BinningRule": binning_rule,
    "Partition": partition_rule,
    "Blocks": block_rule,
}


def first_annotation(formula: Callable[..., Any]) -> str:
    """Return the name of the type of a formula's first argument."""
    annotation = next(iter(formula.__annotations__.values()), None)
    return str(getattr(annotation, "__name__", annotation)).rsplit(".", 1)[-1]


def rule_reader(formula: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the function that reads the options of a formula's bins as one rule; None if it has no bins."""
    if first_annotation(formula) == "BinTable":
        return RULE_READERS["BinTable"]
    annotation = formula.__annotations__.get("rule")
    return None if annotation is None else RULE_READERS[str(getattr(annotation, "__name__", annotation))]


def formula_options(formula: Callable[..., Any]) -> dict[str, Any]:
    """Return the options of a formula and their defaults; those of the bins stand where the formula has the rule."""
    options = dict(BIN_OPTIONS) if first_annotation(formula) == "BinTable" else {}
    defaults = formula.__kwdefaults__ or {}
    for name in formula.__annotations__:
        if name == "rule":
            options |= BIN_OPTIONS
        elif name in defaults:
            options[name] = defaults[name]
    return options


@lru_cache(maxsize=1024)
def _choices(formula: Callable[..., Any], name: str) -> tuple[Any, ...]:
    hint = get_type_hints(formula).get(name)
    return get_args(hint) if get_origin(hint) is Literal else ()


def check_option(formula: Callable[..., Any], name: str, value: Any) -> Any:
    """Return the value of an option, or raise if it is invalid."""
    choices = _choices(formula, name)
    if choices and value not in choices:
        raise ArgumentError(name, f"must be one of {', '.join(map(repr, choices))}; got {value!r}")
    if name in OPTION_CHECKS:
        return OPTION_CHECKS[name](value)
    annotation = str(formula.__annotations__.get(name))
    takes_none = annotation.endswith(" | None")
    if annotation.removesuffix(" | None") in ("int", "float") and not (
        is_number(value) or (takes_none and value is None)
    ):
        raise ArgumentError(name, f"must be a number; got {value!r}")
    return value


def check_norm(norm: Any) -> float:
    """Return the exponent of a norm, a number of at least 1 or infinity."""
    if isinstance(norm, str):
        hint = {"l1": "1", "l2": "2", "max": "math.inf", "linf": "math.inf", "inf": "math.inf"}.get(norm.lower())
        raise ArgumentError(
            "norm", f"must be a number of at least 1, or inf; got {norm!r}", f"use {hint}" if hint else ""
        )
    if not (is_number(norm) and norm >= 1):
        raise ArgumentError(
            "norm", f"must be a number of at least 1, or inf; got {norm!r}", "for example 1, 2 or math.inf"
        )
    return math.inf if math.isinf(norm) else float(norm)


# Options with a check of their own; bins are checked where they are read as a rule.
OPTION_CHECKS: dict[str, Callable[[Any], Any]] = {"norm": check_norm, "rng": check_rng, "bins": lambda bins: bins}


def build_signature(metric: Metric) -> Any:
    """Build the full signature of a metric, for editors, ``help()`` and the stub."""
    import inspect

    formula = inspect.signature(metric.formula).parameters
    predictions = inspect.signature(Predictions.__init__).parameters
    keyword = inspect.Parameter.KEYWORD_ONLY
    first = [
        parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for parameter in (predictions["y_true"], predictions["y_prob"])
    ]
    own = [
        formula[word].replace(default=value)
        if word in formula
        else inspect.Parameter(word, keyword, default=value, annotation=BIN_ANNOTATIONS[word])
        for word, value in metric.options.items()
    ]
    lens = inspect.Parameter("lens", keyword, default=metric.lens, annotation="str | Lens")
    where = inspect.Parameter("where", keyword, default=None, annotation="Any")
    rest = [predictions[name] for name in ("sample_weight", "pos_label")]
    return inspect.Signature([*first, *own, lens, where, *rest], return_annotation="float")
