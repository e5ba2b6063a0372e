"""Keywords that functions share, and the decorator that answers an unknown one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..errors import UnknownArgumentError
from ..input.predictions import Predictions

if TYPE_CHECKING:
    from ..metrics.registry import Metric

__all__ = ["PREDICTION_KEYWORDS", "VIEW_KEYWORDS", "check_keywords", "checks_keywords", "unknown_keyword"]

P = ParamSpec("P")
T = TypeVar("T")

VIEW_KEYWORDS = ("lens", "where", "combine", "class_weight")


PREDICTION_KEYWORDS = tuple(Predictions.__init__.__kwdefaults__ or {})


# What users of other packages type, and the word here.
FOREIGN = {
    "n_bins": "bins",
    "num_bins": "bins",
    "nbins": "bins",
    "bin_count": "bins",
    "strategy": "binning",
    "scheme": "binning",
    "bin_strategy": "binning",
    "p": "norm",
    "power": "norm",
    "weights": "sample_weight",
    "weight": "sample_weight",
    "sample_weights": "sample_weight",
    "labels": "classes",
    "class_names": "classes",
    "group": "groups",
    "by": "groups",
    "y_pred": "y_prob (the second argument)",
    "y_proba": "y_prob (the second argument)",
    "preds": "y_prob (the second argument)",
    "target": "y_true (the first argument)",
    "from_logits": 'input="logit"',
    "logits": 'input="logit"',
    "average": "combine",
    "num_classes": "nothing: the number of classes is read from y_prob",
    "seed": "rng",
    "cv": "folds",
    "n_splits": "folds",
    "random_state": "rng",
    "mode": "lens",
}


# Four words for one idea; functions differ in which of them they take.
LEVELS = ("level", "interval", "confidence_level", "alpha")


def unknown_keyword(owner: str, word: str, value: Any, known: Sequence[str]) -> UnknownArgumentError:
    """The error for a keyword nobody knows, with the word that was probably meant."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, 1)
    level = next((other for other in LEVELS if word in LEVELS and other in known), "")
    if level:
        hint = f"here it is {level}" + (f" = 1 - {word}" if "alpha" in (word, level) else "")
    elif word in FOREIGN and (FOREIGN[word].split()[0] in known or " " in FOREIGN[word] or "=" in FOREIGN[word]):
        hint = f"here it is {FOREIGN[word]}"
        swaps = {"uniform": "'equal_width'", "quantile": "'equal_mass'", "equal-mass": "'equal_mass'"}
        if FOREIGN[word] == "binning" and value in swaps:
            hint = f"here it is binning={swaps[value]}"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"{owner} takes {', '.join(known)}"
    return UnknownArgumentError(word, f"is no argument of {owner}", hint)


def checks_keywords(
    argument: str = "",
    table: Mapping[Any, Metric] | None = None,
    *,
    taken: Sequence[str] = PREDICTION_KEYWORDS,
    view: Sequence[str] = VIEW_KEYWORDS,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function answer an unknown keyword by naming those that it takes: its own, those of predictions, options of its metrics.

    Its metrics are given by its keyword `argument`, as entries of `table`; with their options they take those in `view`.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        known = {*names, *taken}

        @wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> T:
            if not known.issuperset(keywords):
                metrics: list[Metric] = []
                if table is not None:
                    defaults = function.__kwdefaults__ or {}
                    given: Any = dict(zip(names, args, strict=False)).get(
                        argument, keywords.get(argument, defaults.get(argument))
                    )
                    if given is None or (callable(given) and not hasattr(given, "options")):
                        return function(*args, **keywords)  # a function of the user, which takes what it likes
                    if not (isinstance(given, str) or callable(given)):
                        keywords[argument] = given = list(given)
                    metrics = [table[m] for m in (given if isinstance(given, list) else [given])]
                check_keywords(function, keywords, *metrics, taken=taken, view=view)
            return function(*args, **keywords)

        return call

    return decorate


def check_keywords(
    function: Callable[..., Any],
    keywords: Mapping[str, Any],
    *metrics: Metric,
    taken: Sequence[str] = PREDICTION_KEYWORDS,
    view: Sequence[str] = VIEW_KEYWORDS,
) -> None:
    """Raise for the first keyword that neither the function, nor predictions, nor any of its metrics take."""
    code = inspect.unwrap(function).__code__
    own = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    first = code.co_varnames[: code.co_argcount]
    known = list(dict.fromkeys([*own, *(word for m in metrics for word in (*m.options, *view)), *taken]))
    for word, value in keywords.items():
        if word not in known and word not in first:
            whose = [function.__name__] + ([metrics[0].id] if len(metrics) == 1 else ["its metrics"] if metrics else [])
            raise unknown_keyword(" or ".join(whose), word, value, known)
