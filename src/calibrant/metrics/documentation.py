"""The documentation of metrics: docstrings in the form of numpydoc, built from the entry, the formula text and the example.

The formulas in LaTeX, each with a paragraph on its use, are in ``formulas/``, the printed values of the examples in
``examples.json``, and the form in ``docstring.jinja``. Nothing here is read before a docstring is requested.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from ..views.keywords import SHARED
from .signature import build_signature
from .use_cases import related

if TYPE_CHECKING:
    from .registry import Metric

WIDTH = 79
HERE = Path(__file__).parent

# Options that several metrics share; a metric's own text takes precedence.
OPTIONS = {
    "bins": "Number of bins; several numbers, over which the value is averaged; increasing edges, between which all scores must lie; or a rule that chooses the "
    "number from the data: ``'sweep'``, ``'search'``, ``'search_pure'``, ``'cv'`` or ``'tcal'`` (``'sweep'`` takes the largest number with monotone rates). ``'levels'`` is one bin per distinct score, for scores with few values.",
    "binning": "Binning rule: ``'equal_width'``, ``'equal_width:1/K'`` (on [1/K, 1], for confidences), ``'equal_mass'``, ``'equal_area'``, ``'quantile'`` (at interpolated quantiles, as in scikit-learn), a rule such as ``EqualWidth(closed='left')``, or fitted bins.",
    "norm": "Exponent of the norm over bins: 1, 2, any number of at least 1, or ``inf``.",
    "class_weight": "Weight of each class.",
}
# Types of options whose annotation does not state them.
TYPES = {
    "Bins": "int, sequence of int or float, or str",
    "Binning": "str, binning rule or BinTable",
}
TYPES_BY_NAME = {
    "anchors": "int or array-like of shape (A, K)",
    "bandwidth": "float or str",
    "binning": "str or binning rule",
    "class_weight": "array-like of shape (K,)",
    "locations": "int or tuple of array-like",
    "matrix": "array-like of shape (K, K)",
    "partition_weight": "array-like of float",
    "partitions": "sequence of array-like of shape (N,)",
    "proximity": "array-like of shape (N,)",
    "rng": "None, int or numpy.random.Generator",
}
# Symbols that formulas share, explained where a formula uses them.
SYMBOLS = (
    (r"[py]_[ij](?![a-z{])", "$p_i$ and $y_i$ are the score and the outcome (0 or 1) of row $i$"),
    (
        r"[py]_\{\([ij]\)\}",
        "$p_{(i)}$ and $y_{(i)}$ are score and outcome (0 or 1) in increasing order of the score",
    ),
    (r"\bN\b", "$N$ is the number of rows"),
    (
        r"p_\{i[kjl]\}|p_\{i \\cdot\}",
        "$p_{ik}$ is the predicted probability of class $k$ of $K$ in row $i$, and $y_{ik}$ is 1 for the true class and 0 otherwise",
    ),
    (r"p_\{i c_i\}", "$c_i$ is the true class of row $i$"),
    (
        r"\\bar [py]_m(?![a-z{^])",
        r"bin $m$ of $M$ contains $n_m$ rows, with mean score $\bar p_m$ and outcome rate $\bar y_m$",
    ),
)
FUNCTIONS = {
    "decompose": "Decompose a proper score into miscalibration, discrimination and uncertainty.",
    "skill_score": "Score relative to that of a reference forecast.",
}


class FormulaText(NamedTuple):
    """The formula of a metric with its use, as Markdown."""

    use: str
    formula: str
    remarks: str


class Example(NamedTuple):
    """The example of a metric: lines of code that set up the data, the call, and the printed value."""

    setup: tuple[str, ...]
    call: str
    value: str


@cache
def formula_texts() -> dict[str, FormulaText]:
    """The formula text of each metric by its identifier."""
    texts: dict[str, FormulaText] = {}
    for path in sorted((HERE / "formulas").glob("*.md")):
        parts = re.split(r"^## (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for id, text in zip(parts[::2], parts[1::2], strict=True):
            use, formula, remarks = text.split("$$")
            texts[id] = FormulaText(use.strip(), formula.strip("\n"), remarks.strip())
    return texts


def explain_symbols(text: str) -> str:
    """A sentence on the shared symbols of a formula; empty where it has none."""
    own = [meaning for pattern, meaning in SYMBOLS if re.search(pattern, text)]
    return f"Here {'; '.join(own)}." if own else ""


# Examples: twelve rows of a binary problem, or six rows of three classes; the values are checked by the tests.
BINARY = (
    "y_true = [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0]",
    "y_prob = [0.1, 0.15, 0.3, 0.3, 0.45, 0.55, 0.6, 0.7, 0.8, 0.9, 0.9, 0.95]",
)
THREE_CLASSES = (
    "y_true = [0, 1, 2, 2, 1, 0]",
    "y_prob = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8],",
    "          [0.5, 0.2, 0.3], [0.3, 0.4, 0.3], [0.6, 0.3, 0.1]]",
)
NEEDED = {
    "groups": 'groups = ["a", "b", "b"] * 4',
    "features": "features = [1.2, 0.4, 2.1, 0.9, 1.7, 0.3, 2.5, 1.1, 0.8, 1.5, 1.9, 0.6]",
}
BINARY_LENSES = ("auto", "binary")
# Metrics that need more rows than that.
MANY_ROWS = ("knn_chi2",)


@cache
def example_values() -> dict[str, str]:
    """The printed value of each metric's example, by identifier."""
    return json.loads((HERE / "examples.json").read_text(encoding="utf-8"))


def example_of(metric: Metric) -> Example:
    """The example of a metric; its value is empty where none was stored, as for a metric that a user declares."""
    needs = [need for need in metric.needs if need in NEEDED]
    data: tuple[str, ...] = BINARY if needs or metric.lens in BINARY_LENSES else THREE_CLASSES
    if metric.id in MANY_ROWS:
        data = tuple(f"{line} * 5" for line in BINARY)
    further = "".join(f", {need}={need}" for need in needs)
    arguments = f"cal.Predictions(y_true, y_prob{further})" if needs else "y_true, y_prob"
    call = f"cal.{metric.id}({arguments})"
    return Example((*data, *(NEEDED[need] for need in needs)), call, example_values().get(metric.id, ""))


def reached_by(metric: Metric) -> str:
    """Which forecasts attain the ideal value, in words that follow "attained by"."""
    if metric.info.ideal_for == "calibrated":
        conditions = {"groups": " in every group", "features": " given the features"}
        return f"calibrated forecasts{''.join(conditions.get(need, '') for need in metric.needs)} up to sampling noise"
    if metric.info.ideal_for == "nothing":
        return "no class of forecasts in general: calibrated forecasts need not attain it"
    # A mean of losses over rows is 0 only where each of them is; single rows may attain an infinite ideal.
    if metric.info.family == "point" and metric.ideal is not None and math.isfinite(metric.ideal):
        return "forecasts of probability 1 for the true class only"
    return "forecasts of probability 1 for the true class; calibrated forecasts need not attain it"


def sign_of(metric: Metric) -> str:
    """What the side of the ideal value means, as a sentence; empty for a metric without sign."""
    if not metric.info.signed:
        return ""
    if metric.sides is None:
        return "Values occur on both sides of it, but the sign alone does not indicate over- or underestimation."
    return f"Above it {metric.sides[0]}; below it {metric.sides[1]}."


def certainty_of(metric: Metric) -> str:
    """How certain the definition is, in one or two sentences; empty where it is certain without a remark."""
    if metric.info.certainty == "certain":
        return ""
    if metric.certain:
        return f"The definition is certain{metric.info.certainty.removeprefix('certain')}."
    return f"The definition is less than certain, so the metric is not recommended: {metric.info.certainty}."


def _number(value: float) -> str:
    return "inf" if value == math.inf else "-inf" if value == -math.inf else f"{value:g}"


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _as_rst(text: str) -> str:
    """Inline Markdown as reStructuredText: formulas, links between metrics, code."""
    text = re.sub(r"\[(\w+)\]\(\w+\.md\)", r"`\1`", text)
    parts = re.split(r"\$([^$]+)\$", text)
    for place, part in enumerate(parts):
        if place % 2:
            parts[place] = f":math:`{part}`"
        else:
            parts[place] = re.sub(r"(?<!`)`([^`\n]*[=\"'][^`\n]*)`(?!`)", r"``\1``", part)
    return "".join(parts)


def signature_of(metric: Metric) -> list[str]:
    """The call with all defaults, as in the docstrings of NumPy's ufuncs."""
    parameters = list(build_signature(metric).parameters.values())
    shown = [
        each.name if each.default is inspect.Parameter.empty else f"{each.name}={each.default!r}" for each in parameters
    ]
    shown.insert(2, "*")
    start = f"{metric.id}("
    # Not one break inside an argument: spaces of defaults are none that a line may end at.
    arguments = ", ".join(word.replace(" ", "\0") for word in shown)
    lines = textwrap.wrap(
        f"{start}{arguments})",
        WIDTH,
        subsequent_indent=" " * min(len(start), 8),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


_hints = cache(get_type_hints)


def _type(metric: Metric, option: str) -> str:
    """The type of an option as a docstring states it."""
    annotation = str(metric.__signature__.parameters[option].annotation)
    bare = annotation.removesuffix(" | None")
    hint = _hints(metric.formula).get(option)
    literals = [each for each in (hint, *get_args(hint)) if get_origin(each) is Literal]
    if bare in TYPES:
        kind = TYPES[bare]
    elif literals:
        choices = [[repr(value) for value in get_args(each) if value is not None] for each in literals]
        kind = " or ".join("{" + ", ".join(each) + "}" for each in choices)
        kind += " or callable" if any(get_origin(each) is Callable for each in get_args(hint)) else ""
    elif bare in ("Any", "float | str") and option in TYPES_BY_NAME:
        kind = TYPES_BY_NAME[option]
    else:
        kind = re.sub(r"Sequence\[(\w+)\]", r"sequence of \1", bare)
        kind = re.sub(r"tuple\[[^]]*\]", "tuple of float", kind).replace(" | ", " or ")
    default = metric.options[option]
    return f"{kind}, optional" if default is None else f"{kind}, default {default!r}"


def _shared_parameter(metric: Metric, name: str) -> tuple[str, str, str]:
    kind, text = SHARED[name]
    text = " ".join(text.split())
    if name == "lens":
        kind = f'str or Lens, default "{metric.lens}"'
        text += f' The values of several classes are combined by ``"{metric.combine}"``'
        text += ', or by ``"max"`` with an infinite norm,' if "norm" in metric.options else ""
        text += ' unless the lens states it, as ``classwise(combine="max")``.'
    elif name == "y_true":
        own = [need for need in metric.needs if need != "labels"]
        instead = " or ".join(f"`{other}`" for other in metric.instead)
        for need in own:
            text += f" This metric requires ``Predictions(..., {need}=...)``" + (f", or {instead}." if instead else ".")
    return name, kind, text


def parameters_of(metric: Metric) -> list[tuple[str, str, str]]:
    """Name, type and description of every parameter of a metric's call, in the order of its signature."""
    own = []
    for name in metric.options:
        kind, text = _type(metric, name), metric.info.option_texts.get(name)
        if not text and name == "bins" and kind.startswith(("int or sequence of float", "int, default")):
            edges = "" if kind.startswith("int, default") else ", or increasing edges from 0 to 1"
            text = f"Number of bins{edges}."
        own.append((name, kind, _sentence(text or OPTIONS.get(name, ""))))
    shared = ("lens", "where", "sample_weight", "pos_label")
    first = [_shared_parameter(metric, name) for name in ("y_true", "y_prob")]
    return [*first, *own, *(_shared_parameter(metric, name) for name in shared)]


def related_to(metric: Metric, catalogue: Mapping[str, Metric]) -> list[tuple[str, str]]:
    """Metrics and functions to see beside a metric, each with a short description."""
    others = [m for m in catalogue.values() if m.id != metric.id]
    family = [m.id for m in others if metric.base == m.id]
    family += [m.id for m in others if m.base == metric.id]
    family += [m.id for m in others if m.base is not None and m.base == metric.base]
    family += [m.id for m in others if (m.info.family, m.info.subfamily) == (metric.info.family, metric.info.subfamily)]
    chosen = related()["see_also"].get(metric.id, [])
    names = list(dict.fromkeys((*chosen, *family)))[: max(4, len(chosen))]
    return [(name, FUNCTIONS.get(name) or _sentence(catalogue[name].name)) for name in names]


@cache
def _template() -> Any:
    """The template of docstrings."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("calibrant", "metrics")
    templates = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    templates.filters |= {
        "indented": partial(_wrap, indent="    "),
        "number": _number,
        "paragraphs": lambda text: "\n\n".join(_wrap(_as_rst(part)) for part in text.split("\n\n")),
    }
    return templates.get_template("docstring.jinja")


def build_doc(metric: Metric, catalogue: Mapping[str, Metric]) -> str:
    """The docstring of a metric in the form of numpydoc, with its signature on top."""
    formula, info = formula_texts().get(metric.id), metric.info
    body = "\n".join((metric.formula.__doc__ or "").strip().split("\n")[1:]).strip("\n")
    described = inspect.cleandoc(body) if body and metric.base is None else ""
    low, high = map(_number, metric.range)
    supported = {"`counts`": metric.counts, "`sample_weight`": metric.importance}
    text: str = _template().render(
        metric=metric,
        signature="\n".join(signature_of(metric)),
        use=described if formula is None else formula.use,
        parameters=parameters_of(metric),
        interval=("(" if low == "-inf" else "[") + f"{low}, {high}" + (")" if high == "inf" else "]"),
        reached_by=reached_by(metric),
        sign=sign_of(metric),
        needs=[need for need in metric.needs if need not in ("labels", "predicted")],
        without=[name for name, has in supported.items() if not has],
        related=related_to(metric, catalogue),
        formula=formula,
        symbols="" if formula is None else explain_symbols(f"$${formula.formula}$$ {formula.remarks}"),
        strengths=f"Strengths: {info.strengths}." if info.strengths else "",
        limits=f"Limitations: {info.limits}." if info.limits else "",
        certainty=certainty_of(metric),
        example=example_of(metric),
    )
    return text.rstrip()
