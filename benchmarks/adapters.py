"""How MAPIE, MCGrad, pycaleva, calzone, torch-uncertainty and calibre are asked for what calibrant gives too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases import BINS, Call, Contender, Prepare

# linspace(0, 1, n) gives n edges and so n - 1 bins, and n is what MAPIE calls the number of bins.
MAPIE_BINS = BINS + 1
SUBGROUPS = 20


def groups_of(rows: int) -> np.ndarray:
    """A group for each row, the same in every package."""
    return np.arange(rows) % SUBGROUPS


def calibrant_pvalue(metric: str) -> list[Contender]:
    """The p-value of a metric's own test."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import calibrant

        return lambda: float(calibrant.assess(y, p, metric=metric).pvalue)

    return [Contender("calibrant", "numba", prepare), Contender("calibrant without numba", "calibrant", prepare)]


def calibrant_in_groups(metric: str, **options: Any) -> list[Contender]:
    """A metric over subpopulations."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import calibrant

        groups = groups_of(len(y))
        return lambda: float(getattr(calibrant, metric)(calibrant.Predictions(y, p, groups=groups), **options))

    return [Contender("calibrant", "numba", prepare), Contender("calibrant without numba", "calibrant", prepare)]


def mapie_ece(strategy: str, classwise: bool = False) -> Prepare:
    """Its error of the top label wants to be told which rows were right."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        from mapie.metrics.calibration import expected_calibration_error

        def call() -> float:
            if classwise:
                told: dict[str, Any] = {"classwise": True, "class_labels": y}
                return float(expected_calibration_error(y, p, MAPIE_BINS, strategy, **told))
            right = y if p.ndim == 1 else (p.argmax(axis=1) == y).astype(np.int64)
            return float(expected_calibration_error(right, p, MAPIE_BINS, strategy))

        return call

    return prepare


def mapie(name: str, read: Callable[[Any], float] = float) -> Prepare:
    """A function of two arrays."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import mapie.metrics.calibration as measures

        return lambda: read(getattr(measures, name)(y, p))

    return prepare


def highest(differences: np.ndarray) -> float:
    """Of cumulative differences, which begin at 0."""
    return float(np.abs(differences).max())


def spread(differences: np.ndarray) -> float:
    """From the lowest to the highest, 0 among them."""
    return float(max(differences.max(), 0) - min(differences.min(), 0))


def mcgrad(name: str, **options: Any) -> Prepare:
    """A function of two arrays."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import mcgrad.metrics as measures

        return lambda: float(getattr(measures, name)(y, p, **options))

    return prepare


def mcgrad_in_groups(y: np.ndarray, p: np.ndarray) -> Call:
    """The largest error over all rows and each group; the table is made beforehand."""
    import pandas as pd
    from mcgrad.metrics import MulticalibrationError

    frame = pd.DataFrame({"label": y, "score": p, "group": groups_of(len(y))})
    options: dict[str, Any] = {"min_samples_per_segment": 1, "max_depth": 1}

    def call() -> float:
        found = MulticalibrationError(
            df=frame, label_column="label", score_column="score", categorical_segment_columns=["group"], **options
        )
        return float(found.mce_sigma)

    return call


def pycaleva_rows(y: np.ndarray, p: np.ndarray) -> Call:
    """Spiegelhalter's test, which reads the rows; the object around it is made beforehand."""
    made = _pycaleva(y, p)
    return lambda: float(made.z_test().statistic)


def pycaleva_groups(test: str) -> Prepare:
    """A test over groups, which are found as the object is made."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        return lambda: float(getattr(_pycaleva(y, p), test)(verbose=False).statistic)

    return prepare


def _pycaleva(y: np.ndarray, p: np.ndarray) -> Any:
    from pycaleva import CalibrationEvaluator

    return CalibrationEvaluator(y, p, outsample=True, n_groups=10)


def calzone_table(name: str, bins: int, equal_mass: bool, place: int = 0) -> Prepare:
    """What calzone finds from its table of bins."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import calzone.metrics
        from calzone.utils import reliability_diagram

        both = np.column_stack([1 - p, p])

        def call() -> float:
            rate, score, _, count = reliability_diagram(y, both, bins, class_to_plot=1, is_equal_freq=equal_mass)
            return float(getattr(calzone.metrics, name)(rate, score, count)[place])

        return call

    return prepare


def let_torchvision_be_imported() -> None:
    """Declare the two operators that torchvision describes as it is imported, and cannot load beside torch for the CPU."""
    import torch

    if not hasattr(let_torchvision_be_imported, "library"):
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        let_torchvision_be_imported.library = library  # type: ignore[attr-defined]


def torch_uncertainty(name: str, **options: Any) -> Prepare:
    """One of its metrics, a new object for each call."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import torch

        let_torchvision_be_imported()
        from torch_uncertainty.metrics import classification

        given = dict(options)
        if p.ndim == 2 and "Smooth" not in name:
            given["num_classes"] = p.shape[1]
        if "Classwise" not in name and "Smooth" not in name:
            given["task"] = "binary" if p.ndim == 1 else "multiclass"
        preds, target = torch.from_numpy(p), torch.from_numpy(y)

        def call() -> float:
            metric = getattr(classification, name)(**given)
            metric.update(preds, target)
            return float(metric.compute())

        return call

    return prepare


def calibre(name: str, **options: Any) -> Prepare:
    """A function of two arrays."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import calibre as measures

        return lambda: float(getattr(measures, name)(y, p, **options))

    return prepare
