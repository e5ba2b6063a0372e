"""What is measured of errors without bins: smoothed, over pairs of rows, cumulative and fitted, beside the packages that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases import Call, Case, Contender, Prepare, calibrant_twice

# Large enough that the kernel reaches many rows; both packages are given it, for each finds a median of its own.
BANDWIDTH = 0.3
# Packages that hold all pairs of rows: their memory is measured although the input is small.
IN_PAIRS = ("mmce_10000", "skce_10000")

TEN_BITS = "keeps ten bits of the bandwidth and truncates its kernel"
ON_LOG_ODDS = "smooths on the scale of log-odds and stops its search at 1e-4"
FLOAT32 = "adds up in float32"
GRID = "straight lines between 512 fits, where calibrant has cubics between fewer"
CLIPPED = "clips scores at 1e-7"


def probcal_metric(name: str, read: Callable[[Any], float] = float, **options: Any) -> Prepare:
    """A metric of probcal, which takes the labels first."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import probcal.metrics

        metric = getattr(probcal.metrics, name)
        return lambda: read(metric(y, p, **options))

    return prepare


def _relplot_smooth(y: np.ndarray, p: np.ndarray) -> Call:
    from relplot.metrics import smECE

    return lambda: float(smECE(p, y))


def _probmetrics(name: str) -> Prepare:
    """A metric of probmetrics, which takes tensors of both classes."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import torch
        from probmetrics.metrics import Metrics

        labels, probs = torch.from_numpy(y), torch.from_numpy(np.column_stack([1 - p, p]))
        metrics = Metrics.from_names([name])
        return lambda: float(metrics.compute_all_from_labels_probs(labels, probs)[name])

    return prepare


def _netcal_pairs(y: np.ndarray, p: np.ndarray) -> Call:
    from netcal.metrics import MMCE

    measure = MMCE()
    return lambda: float(measure.measure(p, y))


def calzone_analysis(name: str) -> Prepare:
    """The first number of an analysis of calzone, which takes both classes."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import calzone.metrics

        both = np.column_stack([1 - p, p])
        analysis = getattr(calzone.metrics, name)
        return lambda: float(analysis(y, both)[0])

    return prepare


def _cases_of(rows: int) -> list[Case]:
    """The same tasks on few and on more rows."""
    return [
        Case(
            f"smece_{rows}",
            "Smooth ECE",
            rows,
            1,
            [
                *calibrant_twice("smece"),
                Contender("relplot", "relplot", _relplot_smooth, TEN_BITS),
                Contender("probmetrics (calls relplot)", "probmetrics", _probmetrics("smece"), TEN_BITS),
                Contender("probcal", "probcal", probcal_metric("smooth_ece"), ON_LOG_ODDS),
            ],
        ),
        Case(
            f"ecce_{rows}",
            "Maximum cumulative difference",
            rows,
            1,
            [
                *calibrant_twice("ecce_mad"),
                Contender("probcal", "probcal", probcal_metric("ecce", lambda found: float(found.stat_max))),
            ],
        ),
        Case(
            f"kuiper_{rows}",
            "Range of cumulative differences",
            rows,
            1,
            [
                *calibrant_twice("ecce_r"),
                Contender("probmetrics", "probmetrics", _probmetrics("kuiper"), FLOAT32),
            ],
        ),
        Case(
            f"ici_{rows}",
            "Integrated calibration index, local lines over 3/4 of the rows",
            rows,
            1,
            [
                *calibrant_twice("ici", degree=1, span=0.75, surface="direct"),
                Contender("probcal", "probcal", probcal_metric("ici"), GRID),
            ],
        ),
        Case(
            f"lowess_{rows}",
            "Integrated calibration index, lowess over half of the rows",
            rows,
            1,
            [
                *calibrant_twice("ici", smoother="lowess", span=0.5, delta=0.001),
                Contender("calzone", "calzone", calzone_analysis("lowess_regression_analysis")),
            ],
        ),
        Case(
            f"cox_{rows}",
            "Cox calibration slope",
            rows,
            1,
            [
                *calibrant_twice("cox_slope"),
                Contender("calzone", "calzone", calzone_analysis("cox_regression_analysis"), CLIPPED),
                Contender("probcal", "probcal", probcal_metric("calibration_slope")),
            ],
        ),
    ]


KERNEL_CASES = [
    *_cases_of(10_000),
    *_cases_of(100_000),
    Case(
        "mmce_10000",
        "Maximum mean calibration error, top label",
        10_000,
        2,
        [*calibrant_twice("mmce", lens="top_label"), Contender("netcal", "netcal", _netcal_pairs, FLOAT32)],
    ),
    Case(
        "skce_10000",
        "Squared kernel calibration error, unbiased",
        10_000,
        1,
        [
            *calibrant_twice("skce_uq", bandwidth=BANDWIDTH),
            Contender("probcal", "probcal", probcal_metric("skce", bandwidth=BANDWIDTH)),
        ],
    ),
]
