"""The tests that other packages install with themselves, run against calibrant: their functions are replaced by calls of calibrant.

``python tests/peers/suite_adapter.py MAPIE results.xml`` in an environment that has the package. Only tests of functions that are
replaced run, and what they ask of other functions is answered by the package itself.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

import calibrant as cal


def _uncertainty_calibration() -> dict[str, Any]:
    def rule(scheme: Any, bins: int | None) -> Any:
        name = getattr(scheme, "__name__", "get_equal_bins")
        if name == "get_discrete_bins":
            return cal.Levels()
        return cal.Quantile(bins, edges="midway") if name == "get_equal_bins" else cal.EqualWidth(bins)

    def of_scheme(
        probs: Any,
        labels: Any,
        p: int = 2,
        debias: bool = False,
        num_bins: Any = 15,
        binning_scheme: Any = None,
        mode: str = "marginal",
    ) -> float:
        probs, labels = np.asarray(probs, float), np.asarray(labels)
        given: dict[str, Any] = {"binning": rule(binning_scheme, num_bins), "normalize": 0.1}
        if probs.ndim == 2:
            given |= {"lens": "top_label" if mode == "top-label" else "classwise", "classes": range(probs.shape[1])}
        if debias:
            return cal.drmsce(labels, probs, **given) if p == 2 else cal.ece_db(labels, probs, norm=p, **given)
        return cal.rmsce(labels, probs, norm=p, **given)

    def get_calibration_error(
        probs: Any, labels: Any, p: int = 2, debias: bool = True, mode: str = "marginal"
    ) -> float:
        scheme = of_scheme.__globals__["suite"].get_discrete_bins
        return of_scheme(probs, labels, p, debias, None, scheme, mode)

    def get_ece(probs: Any, labels: Any, debias: bool = False, num_bins: int = 15, mode: str = "top-label") -> float:
        return _plain(probs, labels, cal.EqualWidth(num_bins), mode)

    def get_ece_em(probs: Any, labels: Any, debias: bool = False, num_bins: int = 15, mode: str = "top-label") -> float:
        return _plain(probs, labels, cal.Quantile(num_bins, edges="midway"), mode)

    def _plain(probs: Any, labels: Any, binning: Any, mode: str) -> float:
        probs, labels = np.asarray(probs, float), np.asarray(labels)
        if probs.ndim == 1:
            return cal.ece(labels, probs, binning=binning)
        lens = "top_label" if mode == "top-label" else "classwise"
        return cal.ece(
            cal.Predictions(labels, probs, classes=range(probs.shape[1]), normalize=0.1), binning=binning, lens=lens
        )

    def difference_mean(data: Any) -> float:
        scores, labels = np.asarray(data, float).T
        return cal.calibration_in_the_large(cal.Predictions(labels, scores, soft=True))

    return {
        "_get_ce": of_scheme,
        "lower_bound_scaling_ce": of_scheme,
        "get_calibration_error": get_calibration_error,
        "get_ece": get_ece,
        "get_ece_em": get_ece_em,
        "difference_mean": difference_mean,
    }


def _mapie() -> dict[str, Any]:
    def expected_calibration_error(
        y_true: Any,
        y_scores: Any,
        num_bins: int = 50,
        split_strategy: Any = None,
        classwise: bool = False,
        class_labels: Any = None,
    ) -> float:
        y_scores = np.asarray(y_scores)
        binning = cal.EqualWidth(num_bins - 1, edges="linspace")
        if classwise:
            if y_scores.ndim != 2:
                raise ValueError("y_scores must be 2D")
            if class_labels is None:
                raise ValueError("class_labels must be provided")
            return cal.cwce(
                cal.Predictions(class_labels, y_scores, classes=range(y_scores.shape[1])),
                binning=binning,
                lens="classwise",
            )
        return cal.ece(y_true, y_scores.max(axis=1) if y_scores.ndim == 2 else y_scores, binning=binning)

    def top_label_ece(
        y_true: Any,
        y_scores: Any,
        y_score_arg: Any = None,
        num_bins: int = 50,
        split_strategy: Any = None,
        classes: Any = None,
    ) -> float:
        y_scores, binning = np.asarray(y_scores), cal.EqualWidth(num_bins - 1, edges="linspace")
        if y_score_arg is None:
            names = range(y_scores.shape[1]) if classes is None else classes
            return cal.tl_ece(
                cal.Predictions(y_true, y_scores, classes=names, normalize=1.0), average="macro", binning=binning
            )
        right = np.asarray(y_true) == y_score_arg
        found = [
            cal.ece(right[y_score_arg == k], y_scores[y_score_arg == k], binning=binning)
            for k in np.unique(y_score_arg)
        ]
        return float(np.mean(found))

    def scale(y_score: Any) -> float:
        return float(np.sqrt((y_score * (1 - y_score)).sum()) / len(y_score))

    def p_value(metric: str) -> Any:
        return lambda y, p: cal.assess(y, p, metric=metric, method="series").pvalue

    return {
        "expected_calibration_error": expected_calibration_error,
        "top_label_ece": top_label_ece,
        "kolmogorov_smirnov_statistic": lambda y, p: cal.ecce_mad(y, p) / scale(p),
        "kuiper_statistic": lambda y, p: cal.ecce_r(y, p) / scale(p),
        "spiegelhalter_statistic": lambda y, p: cal.spiegelhalter_z(y, p),
        "kolmogorov_smirnov_p_value": p_value("ecce_mad"),
        "kuiper_p_value": p_value("ecce_r"),
        "spiegelhalter_p_value": lambda y, p: (
            cal.assess(y, p, metric="spiegelhalter_z", method="normal", alternative="greater").pvalue
        ),
    }


def _mcgrad() -> dict[str, Any]:
    def width(metric: Any) -> Any:
        def measure(
            labels: Any, predicted_scores: Any, sample_weight: Any = None, num_bins: int = 40, **_: Any
        ) -> float:
            binning = cal.EqualWidth(num_bins, closed="left", edges="linspace")
            return metric(labels, predicted_scores, sample_weight=sample_weight, binning=binning)

        return measure

    return {
        "expected_calibration_error": width(cal.ece),
        "proportional_expected_calibration_error": width(cal.proportional_ece),
        "ecce": lambda labels, predicted_scores, sample_weight=None: cal.ecce_r(
            labels, predicted_scores, sample_weight=sample_weight
        ),
        "normalized_entropy": lambda labels, predicted_scores, sample_weight=None: (
            1 - cal.metrics.skill_score(labels, predicted_scores, score="nll", sample_weight=sample_weight)
        ),
    }


SUITES: dict[str, tuple[str, str, Any, str]] = {
    "uncertainty-calibration": (
        "calibration.util_test",
        "calibration.util_test",
        _uncertainty_calibration,
        "_ce or ece or difference_mean",
    ),
    "MAPIE": (
        "mapie.tests.test_metrics",
        "mapie.tests.test_metrics",
        _mapie,
        "ece or kolmogorov or kuiper or spiegelhalter or top_label",
    ),
    "MCGrad": (
        "mcgrad.tests.test_metrics",
        "mcgrad.metrics",
        _mcgrad,
        "test_ecce_gives_expected_result or proportional_expected or test_normalized_entropy or expected_calibration_error",
    ),
}
"""Of each package: the tests, the module whose names they look up, the replacements, and which tests concern them."""


class _Replace:
    """A plugin that replaces the functions after the tests are collected, so that parameters are still the package's."""

    def __init__(self, module: str, ours: dict[str, Any]) -> None:
        self.module, self.ours = module, ours

    def pytest_collection_finish(self) -> None:
        module = importlib.import_module(self.module)
        for name, function in self.ours.items():
            getattr(module, name)  # it must exist
            setattr(module, name, function)


def main(peer: str, results: str) -> int:
    """Run the tests of one package."""
    global suite
    tests, module, replaced, chosen = SUITES[peer]
    suite = importlib.import_module(tests)
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
        "--import-mode=importlib",
        "-o",
        "addopts=",
        f"--junitxml={results}",
    ]
    return pytest.main([*options, "-k", chosen, "--pyargs", tests], plugins=[_Replace(module, replaced())])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
