"""clinical.summary against rms::val.prob, pROC::ci.auc, stats::glm, prop.test and loess."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.clinical import ClinicalSummary
from calibrant.clinical.performance import one_event
from calibrant.evaluation.discrimination import auroc_with_error
from calibrant.inference.means import two_sided_quantile
from tests.r.common import SETS, data, values

LISTED = (
    "Dxy", "C (ROC)", "R2", "D", "D:Chi-sq", "U", "U:Chi-sq", "U:p", "Q", "Brier", "Intercept", "Slope", "Emax", "E90", "Eavg", "S:z", "S:p",
)  # fmt: skip
# lrm rounds risks to multiples of 0.002 before it counts pairs; pROC does not, and its area and limits agree to rounding.
# lrm.fit stops at 8 digits of the deviance.
ROUNDED = {"Dxy": 1e-3, "C (ROC)": 1e-3, "Intercept": 1e-6, "Slope": 1e-6}
LIMITS = {"ci.auc": "c", "confint.default": "intercept", "prop.test": "prevalence"}


@lru_cache
def summary(name: str, column: str, smoother: str, level: float = 0.5) -> ClinicalSummary:
    d = data(name)
    return cal.clinical.summary(d.y, getattr(d, column), smoother=smoother, level=level, n_resamples=0)


def entries(*parts: str) -> list[Any]:
    return [e for e in values("clinical_summary") if any(part in e["call"] for part in parts)]


@pytest.mark.parametrize("column", ["risk", "risk2"])
def test_every_entry_of_val_prob(column: str) -> None:
    found = entries(f"val.prob({column},")
    assert len(found) >= 7
    for entry in found:
        ours = summary(entry["data"], column, "lowess")
        for name, value in zip(LISTED, entry["value"], strict=True):
            assert ours[name].value == pytest.approx(value, rel=ROUNDED.get(name, 1e-7), abs=1e-12), (
                entry["data"],
                name,
            )


def test_loess_and_scaled_brier() -> None:
    for entry in entries("distance("):
        ours = [summary(entry["data"], "risk", "loess")[id].value for id in ("ici", "e50", "e90", "emax")]
        np.testing.assert_allclose(np.array(ours, dtype=float), entry["value"], rtol=1e-9)
    for entry in entries("1 - mean("):
        assert summary(entry["data"], "risk", "loess")["scaled_brier"].value == pytest.approx(entry["value"], rel=1e-9)


def test_limits_in_closed_form() -> None:
    found = entries(*LIMITS)
    assert len(found) == len(LIMITS) * len(SETS)
    for entry in found:
        id = next(id for part, id in LIMITS.items() if part in entry["call"])
        low, high = entry["value"]
        if id == "c":
            d = data(entry["data"])
            value, error = auroc_with_error(one_event(cal.Predictions(d.y, d.risk)))
            limits = [value - two_sided_quantile(0.95) * error, value + two_sided_quantile(0.95) * error]
        else:
            ours = summary(entry["data"], "risk", "loess", 0.95)[id]
            limits = [ours.low, ours.high]
        np.testing.assert_allclose(np.array(limits, dtype=float), (low, high), rtol=1e-6, err_msg=entry["data"])
