"""Ends of bootstrap intervals from given replicates, against boot."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from calibrant.inference import intervals
from tests.r.common import Compute, compare, every_call, values

TOLERANCE = 1e-6
REPLICATES = gammaincinv(4, (np.arange(999) + 0.5) / 999) / 40


def percentile(level: float) -> Compute:
    """boot takes the k-th replicate of 999 for k = 1000 alpha, which is the quantile of type 6."""
    return lambda d: np.quantile(REPLICATES, [(1 - level) / 2, (1 + level) / 2], method="weibull")


COMPUTED: dict[str, Compute] = {
    "boot.ci(made(999, 0.1), type = 'perc')$percent[4:5]": percentile(0.95),
    "boot.ci(made(999, 0.1), type = 'perc', conf = 0.9)$percent[4:5]": percentile(0.9),
    "boot.ci(made(999, 0.1), type = 'basic')$basic[4:5]": lambda d: 0.2 - percentile(0.95)(d)[::-1],
}


@every_call("boot", COMPUTED)
def test_boot(call: str, compute: Compute) -> None:
    compare("boot", call, compute, TOLERANCE)


def test_quantiles_of_type_7_lie_between_the_same_replicates() -> None:
    entry = next(e for e in values("boot") if "type = 'perc')" in e["call"])
    ours = intervals.quantiles(REPLICATES, (0.025, 0.975))
    place = np.searchsorted(REPLICATES, np.array([ours, entry["value"]]) * (1 + 1e-12))
    assert np.abs(place[0] - place[1]).max() <= 1
    np.testing.assert_allclose(ours, entry["value"], rtol=0.02)
