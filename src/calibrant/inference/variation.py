"""Null distributions of variation calibration errors from simulated ranks of the true class; the bins do not depend on the labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import several_bins
from ..binning.table import weighted_power
from ..metrics.bin.variation import SimulatedVariation
from ..metrics.registry import norm_root
from .asymptotic import vector_view
from .metric_tests import NULL_DRAWS, TestInput
from .resampling import ROW_BY_ROW
from .seeds import generator

Floats = NDArray[np.float64]


def _draws(of: Callable[[TestInput], Floats]) -> tuple[str, Callable[[TestInput], Floats | None]]:
    def draws(asked: TestInput) -> Floats | None:
        if several_bins(asked.options["bins"]) is not None:  # averaged outside the formula
            return None
        return of(asked)

    return ROW_BY_ROW, draws


def _simulated(asked: TestInput) -> SimulatedVariation:
    options = asked.options
    return SimulatedVariation(vector_view(asked), options["variation"], options["binning"], options["bins"])


def _vce(asked: TestInput) -> Floats:
    simulated = _simulated(asked)
    norm = asked.options["norm"]
    gaps = np.abs(simulated.draw(generator(asked.seed, 0), asked.n_resamples) - simulated.stated)
    return np.array([norm_root(weighted_power(gap, simulated.share, norm), asked.options) for gap in gaps])


def _vce_db(asked: TestInput) -> Floats:
    # Centre and variance are those of the observed value, hence functions of the scores and the seed of the metric alone: observed and
    # simulated values remain exchangeable under the null hypothesis.
    simulated = _simulated(asked)
    reference = simulated.reference(asked.options["rng"], asked.options["n_draws"])
    values = simulated.draw(generator(asked.seed, 0), asked.n_resamples)
    return simulated.corrected(values, reference) @ simulated.share


NULL_DRAWS |= {"vce": _draws(_vce), "vce_db": _draws(_vce_db)}
