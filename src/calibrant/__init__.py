"""Probability calibration of classifiers: metrics, tests, recalibration, reports, decisions and monitoring.

>>> import calibrant as cal
>>> round(cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2), 4)
0.2

All functions, metrics and calibrators are available as attributes of ``calibrant``; the packages (``calibrant.metrics``,
``calibrant.inference``, ...) are namespaces of their own. Modules are imported on first use; signatures are in ``__init__.pyi``.
"""

from importlib import import_module
from typing import Any

from .util.namespace import fill_from
from .util.version import __version__ as __version__

# Packages whose functions and classes are also attributes of calibrant, and modules available by their own name only.
_NAMESPACES = (
    "input",
    "views",
    "binning",
    "sketches",
    "metrics",
    "inference",
    "recalibration",
    "decision",
    "evaluation",
    "monitoring",
    "figures",
    "reporting",
)
_MODULES = ("curves", "errors", "validation", *_NAMESPACES[1:])  # a star import must not shadow the builtin input
_EXTRAS = ("input", "sklearn", "spark", "torch", "trackers")
# Names in other packages of what is neither a metric nor a calibration method, or has no such name here.
_ELSEWHERE = {
    **dict.fromkeys(("calibration_error", "ece_score", "get_ece"), "ece"),
    **dict.fromkeys(("binary_calibration_error", "multiclass_calibration_error"), "ece"),
    "get_calibration_error": "drmsce",
    "dca": "decision_curve",
    "CalibratedClassifierCV": "calibrant.sklearn.CalibratedModel",
    "CalibrationDisplay": "calibrant.sklearn.ReliabilityDisplay",
    "METHODS": "calibrant.recalibration.methods.METHODS",
}

fill_from("tests of metrics", "calibrant.inference.significance")


def _names_of(package: str, kind: str = "NAMES") -> set[str]:
    homes = getattr(import_module(f".{package}", __name__), kind, {})
    return {name for names in homes.values() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return public_names()
    if name.startswith("_"):  # tools ask every module for such names; no search for similar ones
        raise AttributeError(f"calibrant has no {name!r}")
    if name in _MODULES or name in _EXTRAS:
        return import_module(f".{name}", __name__)
    if name == "simulate":
        return import_module(".inference.simulation", __name__)
    errors = import_module(".errors", __name__)
    if name in errors.__all__:
        value = getattr(errors, name)
    else:
        # Metrics last, since importing them loads every formula.
        order = sorted(_NAMESPACES, key=lambda package: package == "metrics")
        home = next((package for package in order if name in _names_of(package)), None)
        value = getattr(import_module(f".{home}", __name__), name) if home else _find_metric(name)
    globals()[name] = value
    return value


def _find_metric(name: str) -> Any:
    known = import_module(".metrics.registry", __name__).catalogue
    if name in set(known):  # `in known` would accept aliases
        return known[name]
    for package in _NAMESPACES:
        if name in _names_of(package, "TYPES"):
            raise AttributeError(f"calibrant has no {name!r}; the class is calibrant.{package}.{name}")
    if name in _ELSEWHERE:
        raise AttributeError(f"calibrant has no {name!r}; use {_ELSEWHERE[name]}")
    from difflib import get_close_matches

    # An alias resolves to its metric or calibrator; among similar names the one of similar length is suggested.
    method = import_module(".recalibration.methods", __name__).method_elsewhere(name)
    if name in known:
        near = [known[name].id]
    elif method:
        near = [method.calibrator.__name__]
    else:
        near = sorted(get_close_matches(name, public_names(), 3), key=lambda word: abs(len(word) - len(name)))
    raise AttributeError(f"calibrant has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def public_names() -> list[str]:
    """Return all public names, including the metrics."""
    errors = import_module(".errors", __name__)
    known = import_module(".metrics.registry", __name__).catalogue
    names = {name for package in _NAMESPACES for name in _names_of(package)}
    return sorted({*names, *_MODULES, "simulate", *errors.__all__, *known})


def __dir__() -> list[str]:
    return [*public_names(), *_EXTRAS, "__version__"]
