"""Keywords that functions share: the decorator that inserts their documentation, and the error for unknown keywords."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, wraps
from typing import Any, ParamSpec, Self, TypeVar

from ..errors import InputTypeError, UnknownArgumentError
from ..input.convert import is_frame
from ..input.predictions import Predictions
from ..util.progress import allow_bars
from ..util.results import Result
from .view import Summary

P = ParamSpec("P")
T = TypeVar("T")
Table = Mapping[str, tuple[str, str]]

# A function with one of these parameters has a loop, and accepts `progress`.
REPEATING = frozenset({"n_resamples", "resamples", "repeats", "folds"})
# How data are read: keywords of `Predictions`.
DATA_KEYWORDS = tuple(Predictions.__init__.__kwdefaults__ or {})

# Parameters that many functions share: type and description for their docstrings. A docstring that names one of them on a line
# of its own, without type or text, receives the entry from here.
SHARED = {
    "y_true": (
        "array-like of shape (N,), Predictions, View or Sketch",
        """Observed labels: class indices, booleans, -1 and 1, names that determine the positive class of two, or one-hot rows. Alternatively
an object that holds labels and probabilities; `y_prob` is then omitted. `Predictions` reads frames, logits, counts, groups and more.""",
    ),
    "y_prob": (
        "array-like of shape (N,) or (N, K), optional",
        """Predicted probabilities: of the positive class, or one column per class. Lists, NumPy arrays, pandas, polars, pyarrow and
torch objects are accepted and matched by position.""",
    ),
    "sample_weight": (
        "array-like of shape (N,), optional",
        "Importance weight of each row; only ratios matter.",
    ),
    "pos_label": ("object, optional", "Label of the positive class of a binary problem."),
    "lens": (
        "str or Lens, optional",
        """What is evaluated: ``"binary"``, ``"top_label"``, ``"classwise"``, ``"ordinal"`` (at most each of the ordered classes),
``"class:NAME"``, ``"rank:2"``, or a lens such as ``top_k(5)``. By default the lens of the metric; ``"auto"`` is ``"binary"`` for two
classes and ``"top_label"`` for more.""",
    ),
    "where": (
        "array-like of bool or Selection, optional",
        "Rows to use: a boolean mask, or a selection such as ``select.output(low=0.9)``.",
    ),
    "metric": (
        "str or Metric",
        "Identifier or alias of a metric; its options, such as ``bins=``, are accepted as keywords.",
    ),
    "level": ("float, default 0.95", "Confidence level of the interval."),
    "alpha": ("float, default 0.05", "Significance level of the test."),
    "n_resamples": ("int", "Number of resamples."),
    "rng": (
        "None, int or numpy.random.Generator, default 0",
        "Seed or random generator. The same seed gives the same result.",
    ),
    "progress": (
        "bool, optional",
        """Whether to show a progress bar on a terminal or in a notebook if the call takes more than two seconds, which is the default;
the environment variable ``CALIBRANT_PROGRESS=0`` switches all of them off.""",
    ),
    "ax": ("matplotlib.axes.Axes, optional", "Axes to draw into; by default a new figure."),
}


def shared_entry(name: str, table: Table = SHARED) -> list[str]:
    """Return the lines of a shared parameter in a docstring."""
    kind, text = table[name]
    return [f"{name} : {kind}", *(f"    {line}" for line in text.split("\n"))]


def parameters_of(function: Callable[..., Any]) -> dict[str, tuple[str, str]]:
    """Type and text of each parameter in the docstring of a function, for other functions that have the same parameters."""
    lines, start, end = parameter_lines(function.__doc__ or "")
    kinds: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    for line in lines[start:end]:
        if line and line[0] != " ":
            name, _, kinds[name] = line.partition(" : ")
            texts[name] = []
        elif line:
            texts[name].append(line.strip())
    return {name: (kind, "\n".join(texts[name])) for name, kind in kinds.items()}


def documents_keywords(
    *,
    table: Table | None = None,
    sections: Mapping[str, str] | None = None,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Insert shared parameters into the docstring of a function or class.

    A function that repeats something also accepts `progress`, and the result of a function of predictions states how many rows they lost
    to missing values.

    Parameters
    ----------
    table : mapping of str to (str, str), optional
        Further shared parameters, type and text by name; they take precedence over `SHARED`.
    sections : mapping of str to str, optional
        Sections such as ``"Returns"`` that are inserted after the parameters of a docstring without them.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        inner = inspect.unwrap(function)
        signed: Any = inner.__init__ if inspect.isclass(inner) else function
        signature = inspect.signature(inspect.unwrap(signed))
        names = list(signature.parameters)
        repeats = inspect.isfunction(function) and not REPEATING.isdisjoint(names)
        if repeats:
            progress = inspect.Parameter("progress", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
            parameters = list(signature.parameters.values())
            has_options = parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
            parameters.insert(len(parameters) - has_options, progress)
            signed.__signature__ = signature.replace(parameters=parameters)
            names.append("progress")
        if function.__doc__:
            shared = {**SHARED, **(table or {})}
            function.__doc__ = _complete_doc(function.__doc__, shared, sections or {}, progress=repeats)
        if inspect.isfunction(function) and (repeats or names[:1] in (["y_true"], ["predictions"])):
            return _check_calls(function, names)
        return function

    return decorate


def _check_calls(function: Callable[P, T], parameters: list[str]) -> Callable[P, T]:
    """The function with a check of its keywords, which also obeys `progress` and notes dropped rows in its result.

    An unknown keyword is an error that shows where it belongs or what it is called here; `check_options` checks those of ``**options``.
    """
    kinds = {name: parameter.kind for name, parameter in inspect.signature(function).parameters.items()}
    by_position = [name for name, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    has_options = inspect.Parameter.VAR_KEYWORD in kinds.values()
    of_data = parameters[0] in ("y_true", "predictions")

    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> T:
        refuse_column_names(function.__name__, args)
        if len(args) > len(by_position):
            problem = f"takes only {' and '.join(by_position)} by position"
            raise InputTypeError(function.__name__, problem, "pass options by keyword")
        checked = {name: keywords[name] for name in keywords if name in DATA_KEYWORDS or not has_options}
        check_keywords(function.__name__, checked, parameters, of_data)
        has_bars = "progress" not in parameters or keywords.pop("progress", True) is not False
        with allow_bars(has_bars):
            result = function(*args, **keywords)
        if isinstance(result, Result) and result.dropped is None:
            dropped = _dropped_from(args[0] if args else keywords.get(parameters[0]))
            if dropped is not None:
                object.__setattr__(result, "dropped", dropped)  # results are frozen
        return result

    return call


def _dropped_from(source: Any) -> Any:
    """The rows that predictions, or models on the same rows, lost to missing values; None without any."""
    if not isinstance(source, Mapping):
        return source.dropped if isinstance(source, (Predictions, Summary)) else None
    models = {name: model for name, model in source.items() if isinstance(model, Predictions)}
    if all(model.dropped is None for model in models.values()):
        return None
    from ..input.missing import on_same_rows

    return next(iter(on_same_rows(models).values())).dropped


def refuse_column_names(owner: str, args: Sequence[Any]) -> None:
    """Raise for a frame with the names of its columns by position, which `Predictions` takes by keyword."""
    if len(args) > 1 and isinstance(args[1], str) and is_frame(args[0]):
        prob = repr(args[2]) if len(args) > 2 else "..."
        line = f"{owner}(Predictions(frame, label={args[1]!r}, prob={prob}))"
        raise InputTypeError("y_prob", f"{args[1]!r} is the name of a column", f"use {line}")


def parameter_lines(doc: str) -> tuple[list[str], int, int]:
    """The lines of a docstring, and where those of its section Parameters begin and end."""
    lines = inspect.cleandoc(doc).split("\n")
    if "Parameters" not in lines:
        return lines, 0, 0
    start = lines.index("Parameters") + 2
    end = next((i - 1 for i in range(start, len(lines)) if lines[i] and set(lines[i]) == {"-"}), len(lines))
    return lines, start, end


def _complete_doc(doc: str, table: Table, sections: Mapping[str, str], *, progress: bool) -> str:
    """Give shared parameters their type and text, add `progress` before ``**options`` or at the end, and missing sections below."""
    lines, start, end = parameter_lines(doc)
    if not end:
        return doc
    below = lines[end:]
    while not lines[end - 1]:
        end -= 1
    parameters = lines[start:end]
    if progress:
        options = next((i for i, line in enumerate(parameters) if line.startswith("**")), len(parameters))
        parameters.insert(options, "progress")
    entries = [entry for line in parameters for entry in (shared_entry(line, table) if line in table else [line])]
    missing = {heading: text for heading, text in sections.items() if heading not in lines}
    added = [line for heading, text in missing.items() for line in (heading, "-" * len(heading), *text.split("\n"), "")]
    blank = [""] if added or below else []
    return "\n".join([*lines[:start], *entries, *blank, *added, *below])


# What other packages call a keyword, and what it is called here.
SPELLINGS = {
    "n_bins": "bins",
    "num_bins": "bins",
    "strategy": "binning",
    "p": "norm",
    "weights": "sample_weight",
    "weight": "sample_weight",
    "seed": "rng",
    "random_state": "rng",
    "n_boot": "n_resamples",
    "n_bootstrap": "n_resamples",
    "confidence_level": "level",
    "confidence": "level",
    "alpha": "level",
    "y_pred": "y_prob",
    "y_proba": "y_prob",
    "preds": "y_prob",
    "target": "y_true",
}


def unknown_keyword(
    owner: str, keyword: str, value: Any, known: Sequence[str], of_data: bool = True
) -> UnknownArgumentError:
    """Build the error for an unknown keyword, with what was probably intended; `of_data` states that the owner accepts `Predictions`."""
    similar = get_close_matches(keyword, known, 1, 0.75)
    counterpart = SPELLINGS.get(keyword, "")
    text = repr(value) if isinstance(value, (str, bool, int, float)) else "..."
    if of_data and keyword in ("from_logits", "logits"):
        hint = f"pass {owner}(Predictions(y_true, y_prob, input='logit'))"
    elif of_data and keyword in ("combine", "average", "class_weight"):
        name, text = ("combine", "'mean'") if keyword == "average" else (keyword, text)
        hint = f"pass it to the lens: {owner}(..., lens=classwise({name}={text}))"
    elif of_data and keyword in ("label", "prob"):
        columns = {"label": "...", "prob": "...", keyword: text}
        hint = f"pass {owner}(Predictions(frame, label={columns['label']}, prob={columns['prob']}))"
    elif of_data and keyword == "groups":
        by_group = f"evaluate(Predictions(y_true, y_prob, groups={text}), metrics=[...], level=0.95)"
        hint = f"pass it to Predictions; values by group are those of {by_group}"
    elif of_data and keyword in DATA_KEYWORDS:
        hint = f"pass it to Predictions: {owner}(Predictions(y_true, y_prob, {keyword}={text}))"
    elif keyword in ("path", "out", "filename"):
        hint = f"write the result by {owner}(...).save(path)"
    elif counterpart and counterpart in (*known, "y_true", "y_prob"):
        hint = f"use {counterpart}"
    elif similar:
        hint = f"did you mean {similar[0]!r}?"
    else:
        hint = f"{owner} accepts {', '.join(known)}"
    return UnknownArgumentError(keyword, f"unexpected keyword of {owner}", hint)


def check_keywords(owner: str, keywords: Mapping[str, Any], known: Sequence[str], of_data: bool = True) -> None:
    """Raise for the first keyword that is not known."""
    for keyword, value in keywords.items():
        if keyword not in known:
            raise unknown_keyword(owner, keyword, value, known, of_data)


_signature_of = cache(inspect.getfullargspec)


class NamedKeywords:
    """Base of classes whose constructor states what an unknown keyword is called here, as functions do."""

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        """Check the keywords against the parameters of the class."""
        parameters = _signature_of(cls)  # type: ignore[arg-type]  # of type Self, which is hashable
        if parameters.varkw is None:
            check_keywords(cls.__name__, keywords, [*parameters.args[1:], *parameters.kwonlyargs], of_data=False)
        return super().__new__(cls)


def check_options(function: Callable[..., Any], options: Mapping[str, Any], *owners: Any) -> None:
    """Raise for the first of the ``**options`` of a function that none of the metrics or functions has to which they are passed."""
    accepted: set[str] = set()
    for owner in owners:
        accepted.update(inspect.getfullargspec(owner).kwonlyargs if inspect.isfunction(owner) else owner.options)
    if not accepted.issuperset(options):
        inner = inspect.unwrap(function)
        check_keywords(inner.__name__, options, [*inspect.getfullargspec(inner).kwonlyargs, *sorted(accepted)])
