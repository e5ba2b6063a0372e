"""Null distribution of the debiased variation calibration error from simulated ranks of the true class; the bins do not depend on the labels."""

from __future__ import annotations

from ..metrics.bin.variation import SimulatedVariation
from ..util.arrays import Floats
from .asymptotic import vector_view
from .metric_tests import NULL_DRAWS, TestInput
from .seeds import generator


def _vce_db(asked: TestInput) -> Floats | None:
    options = asked.options
    if asked.metric.averaged(options) != [options]:
        return None
    simulated = SimulatedVariation(vector_view(asked), options["variation"], options["rule"])
    # Centre and variance are those of the observed value, hence functions of the scores and the seed of the metric alone: observed and
    # simulated values remain exchangeable under the null hypothesis.
    reference = simulated.reference(options["rng"], options["n_draws"])
    values = simulated.draw(generator(asked.seed, 0), asked.n_resamples)
    return simulated.corrected(values, reference) @ simulated.share


NULL_DRAWS["vce_db"] = _vce_db
