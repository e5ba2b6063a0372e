"""Keywords that functions share: their documentation, and decorators that insert it and check for unknown keywords."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..errors import UnknownArgumentError
from ..input.predictions import Predictions
from ..util.progress import allow_bars
from .view import Summary

if TYPE_CHECKING:
    from ..metrics.registry import Metric

P = ParamSpec("P")
T = TypeVar("T")
Table = Mapping[str, tuple[str, str]]

# Functions with one of these parameters repeat something, and can show how far they are.
REPEATING = frozenset({"n_resamples", "repeats", "folds"})
VIEW_KEYWORDS = ("lens", "where", "combine", "class_weight")
PREDICTION_KEYWORDS = tuple(Predictions.__init__.__kwdefaults__ or {})

# Parameters that many functions share: type and description for their docstrings. A docstring that names one of them on a line
# of its own, without type or text, receives the entry from here; ``**keywords`` becomes all keywords of `Predictions`.
SHARED = {
    "y_true": (
        "array-like of shape (N,), frame, Predictions, View or Sketch",
        """Observed labels: class indices, booleans, -1 and 1, class names, or one-hot rows. Alternatively
a frame, with `label` and `prob` naming its columns, or an object that holds both labels and probabilities; `y_prob` is then omitted.""",
    ),
    "y_prob": (
        "array-like of shape (N,) or (N, K), optional",
        """Predicted probabilities: of the positive class, or one column per class. Lists, NumPy arrays, pandas, polars, pyarrow and
torch objects are accepted and matched by position.""",
    ),
    "label": ("str, optional", "Column of the frame `y_true` that holds the labels."),
    "prob": (
        "str or list of str, optional",
        """Columns of the frame `y_true` that hold the probabilities; a pattern such as ``"p_*"`` is allowed.""",
    ),
    "sample_weight": (
        "array-like of shape (N,) or str, optional",
        "Importance weight of each row, or its column in the frame; only ratios matter.",
    ),
    "counts": (
        "array-like of shape (N,) or str, optional",
        "Number of identical rows that each row represents; excludes `sample_weight`.",
    ),
    "groups": (
        "array-like of shape (N,) or str, optional",
        "Group of each row, or its column in the frame, for metrics and selections that use groups.",
    ),
    "features": (
        "array-like of shape (N, d) or list of str, optional",
        "Numeric features of each row, for metrics that use them.",
    ),
    "classes": ("sequence, optional", "Class names in the order of the columns of `y_prob`."),
    "pos_label": ("object, optional", "Label of the positive class of a binary problem."),
    "input": (
        '{"prob", "logit", "confidence"}, default "prob"',
        """What `y_prob` holds: probabilities, logits, or the confidence of the predicted class (`y_true` then states whether the
prediction was correct). It is never inferred.""",
    ),
    "soft": ("bool, default False", "Whether `y_true` holds class probabilities instead of classes."),
    "multilabel": ("bool, default False", "Whether each column of `y_prob` is an independent binary problem."),
    "normalize": ("bool, default False", "Whether to rescale each row of `y_prob` to sum to 1."),
    "clip": ("bool, default False", "Whether to clip probabilities to [0, 1]."),
    "sum_tolerance": (
        "float, optional",
        "Largest accepted deviation of a row sum from 1; by default it follows the precision of the data, or the decimals of rounded ones.",
    ),
    "missing": (
        '{"raise", "drop"}, default "raise"',
        """What to do about rows with a missing label, probability, weight, group or feature: raise an error that counts them, or drop
them. Printed results and `to_dict` state how many rows were dropped.""",
    ),
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
    "combine": (
        '{"mean", "sum", "max", "prevalence"}, optional',
        "How the values of several classes are combined.",
    ),
    "class_weight": (
        "array-like of shape (K,), optional",
        """Weight of each class (of each cut for ``"ordinal"``), for ``combine="mean"`` or ``"sum"``.""",
    ),
    "metric": (
        "str or Metric",
        "Identifier or alias of a metric; its options, such as ``bins=``, are accepted as keywords.",
    ),
    "level": ("float, default 0.95", "Confidence level of the interval."),
    "alpha": ("float, default 0.05", "Significance level of the test."),
    "n_resamples": ("int", "Number of resamples."),
    "rng": (
        "None, int or numpy.random.Generator, optional",
        "Seed or random generator. The same seed gives the same result with any number of workers.",
    ),
    "workers": ("int, optional", "Number of threads; by default one."),
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


def documents_keywords(
    *,
    taken: Sequence[str] = PREDICTION_KEYWORDS,
    view: Sequence[str] = (),
    source: Callable[..., Any] | None = None,
    table: Table | None = None,
    sections: Mapping[str, str] | None = None,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make the signature and the docstring of a function or class show the keywords that it passes on.

    Parameters
    ----------
    taken : sequence of str
        Keywords of `Predictions`, or of `source`, that ``**keywords`` accepts.
    view : sequence of str
        Keywords of views that it accepts.
    source : callable, optional
        What the keywords in `taken` are passed on to; by default `Predictions`.
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
        called: Any = inner.__init__ if inspect.isclass(inner) else function
        own = inspect.signature(inspect.unwrap(called))
        passed = [word for word in (*view, *taken) if word not in own.parameters]
        variable = [each for each in own.parameters.values() if each.kind is each.VAR_KEYWORD]
        if variable:
            given = inspect.signature(source or Predictions.__init__).parameters
            more = [
                given[word].replace(kind=inspect.Parameter.KEYWORD_ONLY)
                if word in given
                else inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
                for word in passed
            ]
            rest = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
            options = variable if _has_options(inner.__doc__, variable[0].name) else []
            called.__signature__ = own.replace(parameters=[*rest, *more, *options])
        if function.__doc__:
            entries = {**SHARED, **(table or {})}
            doc = _filled(function.__doc__, variable[0].name if variable else "", passed, entries)
            function.__doc__ = _with_sections(doc, sections or {})
        return _noting(function) if "missing" in passed and inspect.isfunction(function) else function

    return decorate


def _noting(function: Callable[P, T]) -> Callable[P, T]:
    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> T:
        return noting_dropped(function, *args, **keywords)

    return call


def _has_options(doc: str | None, variable: str) -> bool:
    """Whether the docstring describes ``**keywords`` as more than the keywords of `Predictions`, such as options of a metric."""
    lines = [line.strip() for line in (doc or "").split("\n")]
    place = lines.index(f"**{variable}") if f"**{variable}" in lines else -1
    return 0 <= place < len(lines) - 1 and bool(lines[place + 1])


def parameter_lines(doc: str) -> tuple[list[str], int, int]:
    """The lines of a docstring, and where those of its section Parameters begin and end."""
    lines = inspect.cleandoc(doc).split("\n")
    if "Parameters" not in lines:
        return lines, 0, 0
    start = lines.index("Parameters") + 2
    end = next((i - 1 for i in range(start, len(lines)) if lines[i] and set(lines[i]) == {"-"}), len(lines))
    return lines, start, end


def _with_sections(doc: str, sections: Mapping[str, str]) -> str:
    lines, _, end = parameter_lines(doc)
    missing = [(heading, text) for heading, text in sections.items() if heading not in lines]
    if not end or not missing:
        return doc
    added = [line for heading, text in missing for line in (heading, "-" * len(heading), *text.split("\n"), "")]
    return "\n".join([*lines[:end], *([""] if lines[end - 1] else []), *added, *lines[end:]])


def _filled(doc: str, variable: str, passed: Sequence[str], table: Table = SHARED) -> str:
    """Insert type and text of shared parameters into a docstring."""
    lines, start, end = parameter_lines(doc)
    if not end:
        return doc
    filled: list[str] = []
    for line in lines[start:end]:
        if line in table:
            filled += shared_entry(line, table)
        elif variable and line == f"**{variable}":
            filled += [each for word in passed for each in shared_entry(word, table)]
            if _has_options(doc, variable):
                filled.append(line)
        else:
            filled.append(line)
    return "\n".join([*lines[:start], *filled, *lines[end:]])


# Keywords of other packages, and their counterparts here, some with the value.
OTHER_SPELLINGS = {
    "n_bins": "bins",
    "num_bins": "bins",
    "nbins": "bins",
    "bin_count": "bins",
    "n_groups": "bins",
    "num_groups": "bins",
    "g": "bins",
    "strategy": "binning",
    "scheme": "binning",
    "bin_strategy": "binning",
    "binning_scheme": "binning",
    "equal_intervals": "binning",
    "adaptive": "binning='equal_mass'",
    "p": "norm",
    "power": "norm",
    "weights": "sample_weight",
    "weight": "sample_weight",
    "sample_weights": "sample_weight",
    "w": "sample_weight",
    "labels": "classes",
    "class_names": "classes",
    "group": "groups",
    "status": "event",
    "durations": "time",
    "duration": "time",
    "horizons": "horizon",
    "by": "groups",
    "average": "combine",
    "seed": "rng",
    "cv": "folds",
    "n_splits": "folds",
    "random_state": "rng",
    "n_boot": "n_resamples",
    "n_bootstrap": "n_resamples",
    "n_bootstraps": "n_resamples",
    "mode": "lens",
    "classwise": "lens='classwise'",
    "class_wise": "lens='classwise'",
    "ignore_index": "where, a mask of the rows to keep",
    "from_logits": "input='logit'",
    "logits": "input='logit'",
    "eps": "floor",
    "sigma": "bandwidth",
    "frac": "span",
    "scale_by_half": "scale='half' or scale='sum'",
    "reg_lambda": "off_diagonal",
    "reg_mu": "intercept",
    "estimator_name": "name",
}
# Those without one, and what to do instead.
OTHER_USES = {
    **dict.fromkeys(("y_pred", "y_proba", "y_score", "preds", "probs"), "use y_prob (the second argument)"),
    **dict.fromkeys(("target", "targets", "y"), "use y_true (the first argument)"),
    **dict.fromkeys(
        ("n_resamples", "n_boot", "n_bootstrap", "n_bootstraps", "confidence_level", "ci"),
        "use the function interval for confidence intervals",
    ),
    "debias": "drop it; ece_db and drmsce are debiased",
    "num_classes": "drop it; the number of classes is inferred from y_prob",
    "task": "drop it; the number of classes is inferred from y_prob",
    "validate_args": "drop it; arguments are always validated",
    "detection": "drop it; object detection is not supported",
    "ref_line": "drop it; the diagonal is always drawn",
    "out_of_bounds": "drop it; scores outside the range of the fit are clipped",
    "max_iter": "drop it; the fit iterates until it converges",
}
BINNINGS = {
    "uniform": "equal_width",
    "width": "equal_width",
    "quantile": "quantile",
    "equal-mass": "equal_mass",
    True: "equal_width",
    False: "equal_mass",
}
"""Values of `strategy`, and those of `equal_intervals`."""


# Keywords for related ideas; functions differ in which of them they accept.
LEVELS = ("level", "interval", "confidence_level", "alpha", "ci")


def unknown_keyword(owner: str, word: str, value: Any, known: Sequence[str]) -> UnknownArgumentError:
    """Build the error for an unknown keyword, with the keyword that was probably intended."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, 1, 0.75)
    counterpart = OTHER_SPELLINGS.get(word, "")
    level = next((other for other in LEVELS if word in LEVELS and other in known), "")
    if level:
        hint = f"use {level}" + (f" = 1 - {word}" if "alpha" in (word, level) else "")
    elif re.split("[=,]", counterpart)[0] in known:
        value = BINNINGS.get(value) if counterpart == "binning" and isinstance(value, str | bool) else None
        hint = f"use {counterpart}" + (f"={value!r}" if value else "")
    elif word in OTHER_USES:
        hint = OTHER_USES[word]
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"{owner} accepts {', '.join(known)}"
    return UnknownArgumentError(word, f"unexpected keyword of {owner}", hint)


def check_fields(kind: type[Any], keywords: Mapping[str, Any]) -> None:
    """Raise for the first keyword that the constructor of a dataclass does not accept; for use in ``__new__``."""
    if all(word in getattr(kind, "__dataclass_fields__", ()) for word in keywords):
        return
    taken = inspect.signature(kind.__init__).parameters
    word = next((word for word in keywords if word not in taken), "")
    if word and not any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        raise unknown_keyword(kind.__name__, word, keywords[word], list(taken)[1:])


def checks_keywords(
    argument: str = "",
    table: Mapping[Any, Metric] | None = None,
    *,
    taken: Sequence[str] = PREDICTION_KEYWORDS,
    view: Sequence[str] = VIEW_KEYWORDS,
    unlisted: Collection[str] = (),
    texts: Table | None = None,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function raise for an unknown keyword with a list of those that it accepts: its own, those of `Predictions`, options of its metrics.

    Its metrics are given by its keyword `argument`, as entries of `table`; they accept the keywords in `view` besides their options. Keywords in
    `unlisted` are passed on, for the function to raise its own error, and are neither documented nor suggested. `texts` are shared
    parameters of the docstring besides those of `SHARED`.
    """
    taken = tuple(word for word in taken if word not in unlisted)

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        known = {*names, *taken, *unlisted}
        repeats = not REPEATING.isdisjoint(names)

        @wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> T:
            with allow_bars(not repeats or keywords.pop("progress", True) is not False):
                if not known.issuperset(keywords):
                    metrics: list[Metric] = []
                    if table is not None:
                        defaults = function.__kwdefaults__ or {}
                        given: Any = dict(zip(names, args, strict=False)).get(
                            argument, keywords.get(argument, defaults.get(argument))
                        )
                        if given is None or (callable(given) and not hasattr(given, "options")):
                            return function(*args, **keywords)  # a function of the user, whose keywords are unknown
                        if not (isinstance(given, str) or callable(given)):
                            keywords[argument] = given = list(given)
                        metrics = [table[m] for m in (given if isinstance(given, list) else [given])]
                    listed = {word: value for word, value in keywords.items() if word not in unlisted}
                    check_keywords(function, listed, *metrics, taken=taken, view=view)
                return function(*args, **keywords)

        documented = (*taken, "progress") if repeats else taken
        return documents_keywords(taken=documented, view=view if table is not None else (), table=texts)(call)

    return decorate


def noting_dropped(function: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """Call a function; a result that it returns states how many rows were dropped because of missing values."""
    if keywords.get("missing", "raise") != "raise":
        from ..input.missing import dropped_by

        with dropped_by() as context:
            result = function(*args, **keywords)
        dropped = context.found
    else:
        result = function(*args, **keywords)
        held: Any = args[0] if args else keywords.get("y_true")
        dropped = getattr(held, "dropped", None) if isinstance(held, (Predictions, Summary)) else None
    if dropped is not None:
        from ..util.results import Result

        if isinstance(result, Result):
            object.__setattr__(result, "dropped", dropped)  # results are frozen
    return result


def check_keywords(
    function: Callable[..., Any],
    keywords: Mapping[str, Any],
    *metrics: Metric,
    taken: Sequence[str] = PREDICTION_KEYWORDS,
    view: Sequence[str] = VIEW_KEYWORDS,
) -> None:
    """Raise for the first keyword that neither the function, nor `Predictions`, nor any of its metrics accept."""
    code = inspect.unwrap(function).__code__
    own = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    first = code.co_varnames[: code.co_argcount]
    known = list(dict.fromkeys([*own, *(word for m in metrics for word in (*m.options, *view)), *taken]))
    for word, value in keywords.items():
        if word not in known and word not in first:
            whose = [function.__name__] + ([metrics[0].id] if len(metrics) == 1 else ["its metrics"] if metrics else [])
            raise unknown_keyword(" or ".join(whose), word, value, known)
