"""The documentation of metrics: docstrings in the form of numpydoc, built from the entry, the formula text and the example.

The formulas in LaTeX, each with a paragraph on its use, are in ``formulas/``, and the printed values of the examples in
``examples.json``. Nothing here is read before a docstring is requested.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
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
    found: dict[str, FormulaText] = {}
    for path in sorted((HERE / "formulas").glob("*.md")):
        parts = re.split(r"^## (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for id, text in zip(parts[::2], parts[1::2], strict=True):
            use, formula, remarks = text.split("$$")
            found[id] = FormulaText(use.strip(), formula.strip("\n"), remarks.strip())
    return found


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
        given = {"groups": " in every group", "features": " given the features"}
        return f"calibrated forecasts{''.join(given.get(need, '') for need in metric.needs)} up to sampling noise"
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


def _wrapped(text: str, indent: str = "", width: int = WIDTH) -> list[str]:
    return textwrap.wrap(
        text,
        width,
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


def _paragraphs(text: str) -> list[str]:
    """Paragraphs of Markdown, wrapped, with blank lines between."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += [*_wrapped(_as_rst(" ".join(paragraph.split()))), ""]
    return lines


def signature_of(metric: Metric) -> list[str]:
    """The call with all defaults, as in the docstrings of NumPy's ufuncs."""
    parameters = list(build_signature(metric).parameters.values())
    shown = [
        each.name if each.default is inspect.Parameter.empty else f"{each.name}={each.default!r}" for each in parameters
    ]
    shown.insert(2, "*")
    start = f"{metric.id}("
    # Not one break inside an argument: spaces of defaults are none that a line may end at.
    words = ", ".join(word.replace(" ", "\0") for word in shown)
    lines = textwrap.wrap(
        f"{start}{words})",
        WIDTH,
        subsequent_indent=" " * min(len(start), 8),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


@cache
def _hints(formula: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(formula)


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


def _shared(metric: Metric, name: str) -> tuple[str, str, str]:
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


def _option_text(name: str, kind: str) -> str:
    if name == "bins" and kind.startswith("int or sequence of float"):
        return "Number of bins, or increasing edges from 0 to 1."
    return "Number of bins." if name == "bins" and kind.startswith("int, default") else OPTIONS.get(name, "")


def parameters_of(metric: Metric) -> list[tuple[str, str, str]]:
    """Name, type and description of every parameter of a metric's call, in the order of its signature."""
    own = [
        (name, kind, _sentence(metric.info.option_texts.get(name) or _option_text(name, kind)))
        for name in metric.options
        for kind in [_type(metric, name)]
    ]
    shared = ("lens", "where", "sample_weight", "pos_label")
    first = [_shared(metric, name) for name in ("y_true", "y_prob")]
    return [*first, *own, *(_shared(metric, name) for name in shared)]


def _parameters(metric: Metric) -> list[str]:
    lines = ["Parameters", "----------"]
    for name, kind, text in parameters_of(metric):
        lines += [f"{name} : {kind}", *_wrapped(text, "    ")]
    return [*lines, ""]


def _returns(metric: Metric) -> list[str]:
    low, high = map(_number, metric.range)
    brackets = ("(" if low == "-inf" else "[") + f"{low}, {high}" + (")" if high == "inf" else "]")
    text = "Any real number" if metric.range == (-math.inf, math.inf) else f"Value in {brackets}"
    if metric.ideal is None:
        text += ". No value is ideal."
    else:
        text += f". The ideal value is {_number(metric.ideal)}, attained by {reached_by(metric)}. {sign_of(metric)}"
    return ["Returns", "-------", "float", *_wrapped(text, "    "), ""]


def _raises(metric: Metric) -> list[str]:
    without = [name for name, has in (("counts", metric.counts), ("sample_weight", metric.importance)) if not has]
    needs = [need for need in metric.needs if need not in ("labels", "predicted")]
    undefined = "If the metric has no value for these data" + (
        ", or the labels are soft." if not metric.soft else ", for example without rows."
    )
    reads_rows = not metric.sketch or metric.takes != "View"
    entries = {
        "InputError": "If labels, probabilities, weights or groups are invalid, such as missing values or rows that do not sum to 1.",
        "InputTypeError": "If an argument has an unsupported type"
        + (f", `{needs[0]}` is missing" if needs else "")
        + (", or a sketch is passed, since this metric needs the rows." if reads_rows else "."),
        "ArgumentError": "If the value of an option is invalid; its subclass `LensError` if the lens does not apply.",
        "UnknownArgumentError": "If a keyword is unknown.",
        "UndefinedMetricError": undefined,
    }
    if without:
        entries["WeightsNotSupportedError"] = f"If {' or '.join(f'`{name}`' for name in without)} is given."
    return ["Raises", "------", *_entries(entries)]


def _warns(metric: Metric) -> list[str]:
    entries = {
        "InputWarning": "If the input looks unintended: hard predictions in place of probabilities, probabilities passed as logits, "
        "or reversed classes.",
    }
    if metric.reads_log_odds:
        entries["BoundaryScoresWarning"] = "If scores are within 1e-12 of 0 or 1, where log-odds are truncated."
    if "binning" in metric.options:
        entries["EdgeRoundingWarning"] = "If many scores in single precision coincide with bin edges up to rounding."
    if metric.info.order_dependent:
        entries["CalibrantWarning"] = "If the rows are sorted, since the value depends on their order."
    return ["Warns", "-----", *_entries(entries)]


def _entries(entries: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for name, text in entries.items():
        lines += [name, *_wrapped(text, "    ")]
    return [*lines, ""]


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


def _see_also(metric: Metric, catalogue: Mapping[str, Metric]) -> list[str]:
    lines = ["See Also", "--------", *(f"{name} : {text}" for name, text in related_to(metric, catalogue))]
    tests = f" Methods: {', '.join(f'``{method!r}``' for method in metric.tests)}." if metric.tests else ""
    lines += [
        "assess : Test whether the value is compatible with calibration:",
        *_wrapped(f'``assess(y_true, y_prob, metric="{metric.id}")``.{tests}', "    "),
        "interval : Confidence interval of the value.",
        "",
    ]
    return lines


def _notes(metric: Metric) -> list[str]:
    lines = ["Notes", "-----"]
    text = formula_texts().get(metric.id)
    if text is not None:
        lines += ["The metric is defined as [1]_", "", ".. math::", ""]
        lines += [f"    {line.strip()}" for line in text.formula.split("\n")]
        lines += [""]
        lines += _paragraphs(text.remarks) if text.remarks else []
        symbols = explain_symbols(f"$${text.formula}$$ {text.remarks}")
        lines += _paragraphs(symbols) if symbols else []
        lines += _paragraphs("With weights, sums over rows are weighted.") if metric.counts or metric.importance else []
    else:
        lines += ["The metric is described in [1]_.", ""]
    lines += _paragraphs(f"Strengths: {metric.info.strengths}.") if metric.info.strengths else []
    lines += _paragraphs(f"Limitations: {metric.info.limits}.") if metric.info.limits else []
    lines += _paragraphs(metric.info.notes) if metric.info.notes else []
    lines += _paragraphs(certainty_of(metric)) if certainty_of(metric) else []
    return lines


def _examples(metric: Metric) -> list[str]:
    example = example_of(metric)
    if not example.value:
        return []
    lines = ["Examples", "--------", ">>> import calibrant as cal"]
    lines += [f"{'...' if line.startswith(' ') else '>>>'} {line}" for line in example.setup]
    return [*lines, f">>> round({example.call}, 4)", example.value]


def build_doc(metric: Metric, catalogue: Mapping[str, Metric]) -> str:
    """The docstring of a metric in the form of numpydoc, with its signature on top."""
    text = formula_texts().get(metric.id)
    body = "\n".join((metric.formula.__doc__ or "").strip().split("\n")[1:]).strip("\n")
    use = text.use if text is not None else inspect.cleandoc(body) if body and metric.base is None else ""
    lines = [*signature_of(metric), "", metric.summary, ""]
    lines += _paragraphs(use) if use else []
    lines += [*_parameters(metric), *_returns(metric), *_raises(metric), *_warns(metric)]
    lines += [*_see_also(metric, catalogue), *_notes(metric)]
    # On one line: the reference is searched for and copied as it is.
    lines += ["References", "----------", f".. [1] {metric.reference}", "", *_examples(metric)]
    return "\n".join(lines).rstrip("\n")
