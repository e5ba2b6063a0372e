"""Hosmer-Lemeshow tests against ResourceSelection, generalhoslem and the groups of Hmisc."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.r.common import Compute, compare, data, every_call

# The same sums; p-values of R are 1 - pchisq and have 16 decimals, not 16 digits.
TOLERANCE, DECIMALS = 1e-9, 1e-14


def by_quantiles(g: int) -> Compute:
    """Groups between quantiles of type 7, as in R, with equal ones merged; the test of a model fitted here has two degrees of freedom fewer."""

    def compute(d: Any) -> list[float]:
        edges = np.unique(np.quantile(d.risk, np.arange(g + 1) / g))
        test = cal.assess(d.y, d.risk, metric="hosmer_lemeshow", bins=edges, method="chi_square_fitted_here")
        return [test.statistic, test.detail["df"], test.pvalue]

    return compute


def by_stage(g: int) -> Compute:
    def compute(d: Any) -> list[float]:
        probs = np.column_stack([d.p1, d.p2, d.p3, d.p4])
        test = cal.inference.hosmer_lemeshow_multinomial(
            d.stage - 1, probs, bins=g, fitted_here=True, method="chi_square"
        )
        return [test.statistic, test.detail["df"], test.pvalue]

    return compute


def cut2(d: Any) -> Any:
    """The cuts of Hmisc: groups end at quantiles without interpolation, and a cut is the first risk of the next group."""
    ends = np.unique(np.quantile(d.risk, np.arange(11) / 10, method="inverted_cdf"))
    risk = np.unique(d.risk)
    return [risk[0], *risk[np.searchsorted(risk, ends[1:-1]) + 1], risk[-1]]


COMPUTED: dict[str, Compute] = {
    **{f"statistic_of(hoslem.test(y, risk, g = {g}))": by_quantiles(g) for g in (8, 20)},
    "statistic_of(logitgof(y, risk, g = 5))": by_quantiles(5),
    **{f"statistic_of(logitgof(stage, cbind(p1, p2, p3, p4), g = {g}))": by_stage(g) for g in (4, 12)},
    "Hmisc::cut2(risk, g = 10, onlycuts = TRUE)": cut2,
}


@every_call("hosmer_lemeshow", COMPUTED)
def test_hosmer_lemeshow(call: str, compute: Compute) -> None:
    compare("hosmer_lemeshow", call, compute, TOLERANCE, DECIMALS)


@pytest.mark.parametrize("g", [5, 10, 20])
@pytest.mark.parametrize("name", ["rotterdam", "rare"])
def test_groups_of_equal_mass_are_those_of_quantiles_where_g_divides_n(name: str, g: int) -> None:
    d = data(name)
    ours = cal.hosmer_lemeshow(d.y, d.risk, bins=g)
    assert ours == pytest.approx(by_quantiles(g)(d)[0], rel=1e-12)
