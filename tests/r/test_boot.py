"""Ends of bootstrap intervals from given replicates, against boot."""

import numpy as np
from scipy.special import gammaincinv

from calibrant.inference import intervals
from tests.r.common import values

REPLICATES = gammaincinv(4, (np.arange(999) + 0.5) / 999) / 40


def test_quantiles_of_type_7_lie_between_the_same_replicates() -> None:
    """boot takes the k-th replicate of 999 for k = 1000 alpha, which is the quantile of type 6."""
    entry = next(e for e in values("boot") if "type = 'perc')" in e["call"])
    ours = intervals.quantiles(REPLICATES, (0.025, 0.975))
    place = np.searchsorted(REPLICATES, np.array([ours, entry["value"]]) * (1 + 1e-12))
    assert np.abs(place[0] - place[1]).max() <= 1
    np.testing.assert_allclose(ours, entry["value"], rtol=0.02)
