"""Probability calibration of classifiers: metrics, tests, recalibration, reports, decisions and monitoring.

>>> import calibrant as cal
>>> round(cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2), 4)
0.2

Metrics, calibrators and the functions of everyday use are attributes of ``calibrant``; everything else is an attribute of its package
(``calibrant.inference``, ``calibrant.figures``, ...). Public names are listed in ``__init__.pyi`` and imported on first use.
"""

from importlib import import_module
from typing import Any

from lazy_loader import attach_stub

from .util.version import __version__ as __version__

# What a star import must not bring: the name of a builtin, and packages that import a framework.
_MODULES = {
    "input": "input",
    "sklearn": "sklearn",
    "spark": "spark",
    "torch": "torch",
    "trackers": "trackers",
}
# Names of earlier versions and of other packages that are found neither in a package nor in the catalogue.
_ELSEWHERE = {
    "clinical_summary": "clinical.summary",
    "simulate": "inference.simulation",
    **{f"ood_{name}": f"decision.ood.{name}" for name in ("energy", "entropy", "evaluate", "max_logit", "msp")},
    **{f"ood_{name}": f"decision.ood.{name}" for name in ("mutual_information", "variance")},
    **{name: f"decision.ood.{name}" for name in ("OodDetector", "OodKnn", "OodMahalanobis")},
    **dict.fromkeys(("calibration_error", "ece_score", "get_ece"), "ece"),
    **dict.fromkeys(("binary_calibration_error", "multiclass_calibration_error"), "ece"),
    "get_calibration_error": "drmsce",
    "dca": "figures.decision_curve",
    **dict.fromkeys(("hosmer", "hl_test"), "hosmer_lemeshow"),
    **dict.fromkeys(("plot", "reliability", "reliability_plot", "plot_reliability"), "reliability_diagram"),
    "plot_calibration_curve": "reliability_diagram",
    "CalibratedClassifierCV": "sklearn.CalibratedModel",
    "CalibrationDisplay": "sklearn.ReliabilityDisplay",
    "METHODS": "recalibration.methods.METHODS",
    "compare_reports": "report",
    "reliability_panels": "reliability_diagram",
}

_load, _, __all__ = attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if name in __all__ or name.startswith("_"):  # tools ask every module for such names; no search for similar ones
        return _load(name)
    catalogue = _load("catalogue")
    if name not in set(catalogue):  # a metric of the user, or of a plug-in; `in catalogue` would accept aliases
        _load("plugins").load("metrics")
    if name in set(catalogue):
        return catalogue[name]
    raise AttributeError(f"calibrant has no {name!r}{_hint(name)}")


def _hint(name: str) -> str:
    """Where the name is, or the name here of what has this name elsewhere, or a similar name."""
    from difflib import get_close_matches
    from pathlib import Path

    if name in _ELSEWHERE:
        return f"; use calibrant.{_ELSEWHERE[name]}"
    for package in sorted(
        {stub.parent.name for stub in Path(__file__).parent.glob("*/__init__.pyi")} & {*__all__, "input"}
    ):
        if name in import_module(f".{package}", __name__).__all__:
            return f"; use calibrant.{package}.{name}"
    if hasattr(import_module(".errors", __name__), name):
        return f"; use calibrant.errors.{name}"
    catalogue = _load("catalogue")
    # An alias resolves to its metric or calibrator; among similar names the one of similar length is suggested.
    method = import_module(".recalibration.methods", __name__).method_elsewhere(name)
    if name in catalogue:
        near = [catalogue[name].id]
    elif method:
        near = [method.calibrator.__name__]
    else:
        near = sorted(get_close_matches(name, __all__, 3, 0.75), key=lambda other: abs(len(other) - len(name)))
    return f"; did you mean {near[0]!r}?" if near else ""


def __dir__() -> list[str]:
    return [*__all__, *_MODULES, "__version__"]
