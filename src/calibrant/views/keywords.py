"""Keywords that functions share, and the error that answers an unknown one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UnknownArgumentError
from ..input.predictions import Predictions

if TYPE_CHECKING:
    from ..metrics.registry import Metric

__all__ = ["PREDICTION_WORDS", "VIEW_WORDS", "check_words", "unknown_word"]

VIEW_WORDS = ("lens", "where", "combine", "class_weight")


PREDICTION_WORDS = tuple(Predictions.__init__.__kwdefaults__ or {})


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


def unknown_word(owner: str, word: str, value: Any, known: Sequence[str]) -> UnknownArgumentError:
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


def check_words(function: Callable[..., Any], words: Mapping[str, Any], *metrics: Metric) -> None:
    """Refuse the first of a function's further keywords that neither predictions nor any of its metrics take."""
    import inspect

    options = [word for metric in metrics for word in (*metric.options, *VIEW_WORDS)]
    theirs = (*options, *PREDICTION_WORDS)
    for word, value in words.items():
        if word not in theirs:
            parameters = inspect.signature(function).parameters.values()
            own = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
            whose = [function.__name__] + ([metrics[0].id] if len(metrics) == 1 else ["its metrics"] if metrics else [])
            raise unknown_word(" or ".join(whose), word, value, list(dict.fromkeys([*own, *theirs])))
