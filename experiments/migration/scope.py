"""The public calibration functions of other packages, found in the installed packages, and those that calibrant does not answer."""

import contextlib
import dataclasses
import importlib
import inspect
import io
import sys
import warnings
from pathlib import Path
from typing import Any

from experiments.migration.calls import MODULES

METHODS = {"pycaleva": ("CalibrationEvaluator",), "calzone-tool": ("CalibrationMetrics",)}
"""Classes whose methods are the functions of a package."""


def public(peer: str) -> list[str]:
    """Return the names of the public functions and classes of a package, as installed."""
    found: dict[str, Any] = {}
    if peer == "torch-uncertainty":
        sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))
        importlib.import_module("adapters").let_torchvision_be_imported()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for place in MODULES[peer]:
            module = importlib.import_module(place)
            named = getattr(module, "__all__", None)
            for name in named or vars(module):
                value = getattr(module, name, None)
                if not name.startswith("_") and _counts(peer, place, value):
                    found[name] = value
    for name in METHODS.get(peer, ()):
        found |= {key: None for key in dir(found[name]) if not key.startswith("_")}
    return sorted(found)


def _counts(peer: str, place: str, value: Any) -> bool:
    """Whether it is a function or class of the package itself, which concerns probabilities or their calibration."""
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return False
    # Errors and results are not called by a user.
    if inspect.isclass(value) and (
        issubclass(value, BaseException) or (dataclasses.is_dataclass(value) and peer != "calibre")
    ):
        return False
    home = getattr(value, "__module__", "") or ""
    if home.split(".")[0] != place.split(".")[0]:
        return False
    if peer == "scikit-learn":
        # sklearn.metrics has many functions; those that read probabilities have a parameter for them.
        if place == "sklearn.metrics":
            return inspect.isfunction(value) and bool({"y_proba", "y_prob"} & set(inspect.signature(value).parameters))
        return home == place
    if peer in ("torchmetrics",):
        return "calibration" in value.__name__.lower()
    return True
