"""The complete registry of calibration methods: all modules that define calibrators are imported here."""

from __future__ import annotations

import re
from importlib import import_module

from ..errors import ArgumentError
from ..plugins import load
from .base import METHODS as METHODS
from .base import TYPES as TYPES
from .base import Method

# The modules that hold calibrators, in the order in which these are listed.
_MODULES = (
    "base",
    "scaling",
    "structured",
    "binary",
    "binning",
    "class_temperature",
    "grouped",
    "boosted",
    "online",
    "ordered",
    "targets",
    "venn",
    "safe",
    "chains",
    "multilabel",
    "adjust",
)


def _complete() -> None:
    """Import all calibrators and sort the methods in the order of their modules."""
    modules = [import_module(f".{name}", __package__).__name__ for name in _MODULES]
    place = {name: number for number, name in enumerate(modules)}
    in_order = sorted(
        METHODS.items(), key=lambda item: place.get(getattr(item[1].calibrator, "__module__", ""), len(place))
    )
    METHODS.clear()
    METHODS.update(in_order)


_complete()


# Names in other packages and in papers that are not spellings of the name here.
OTHER_NAMES = {
    "sigmoid": "platt",
    "logistic": "platt",
    "temp": "temperature",
    "ets": "ensemble_temperature",
    "bcts": "bias_corrected_temperature",
    "sms": "structured",
    "svs": "structured_vector",
    "bbq": "bayesian_binning",
    "enir": "near_isotonic",
    "cir": "centered_isotonic",
    "ivap": "venn_abers",
    "cvap": "cross_venn_abers",
    "platt_binner": "scaling_binning",
}
_ENDING = re.compile("_(scaling|scaler|calibration|calibrator|regression|binning)$")


def method_elsewhere(name: str) -> Method | None:
    """The method that has this name in another package, as a function, an option or a class: ``"platt_scaling"``, ``"BBQ"``."""
    word = re.sub("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().replace("-", "_")
    while True:
        if (word := OTHER_NAMES.get(word, word)) in METHODS:
            return METHODS[word]
        word, endings = _ENDING.subn("", word)
        if not endings:
            return None


def find_method(name: str) -> Method:
    """The method of this name, or an error that lists the known names."""
    if name not in METHODS and not (load("calibrators") and name in METHODS):
        from difflib import get_close_matches

        same = method_elsewhere(name)
        near = [same.name] if same else get_close_matches(name, ["auto", *METHODS], 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"choose one of auto, {', '.join(METHODS)}"
        raise ArgumentError("method", f"unknown method {name!r}", remedy)
    return METHODS[name]
