"""Sample sizes by precision against R's pmvalsampsize; precision.json is written by precision.R."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri

import calibrant as cal

ENTRIES = json.loads((Path(__file__).parent / "precision.json").read_text())
WIDTHS = {"O/E": "oeciwidth", "calibration slope": "csciwidth", "C statistic": "cstatciwidth"}
# pmvalsampsize has 1.96 for the normal quantile.
LEVEL = 2 * float(ndtr(1.96)) - 1


def rows(call: dict[str, Any]) -> list[int]:
    """Rows for O/E, calibration slope and C statistic; R ignores the distribution in the other two."""
    scores = tuple(call["lpbeta"]) if "lpbeta" in call else None
    if "lpnormal" in call:
        mean, deviation = call["lpnormal"]
        scores = expit(mean + deviation * ndtri((np.arange(100_000) + 0.5) / 100_000))
    widths = {name: call.get(key, 0.1 if name == "C statistic" else 0.2) for name, key in WIDTHS.items()}
    widths["O/E"] /= call.get("oe", 1)
    found = cal.inference.precision_sample_size(
        scores, prevalence=call["prevalence"], auroc=call["cstatistic"], widths=widths, level=LEVEL
    )
    return [criterion.n for criterion in found.criteria]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: str(e["call"]))
def test_rows_of_every_criterion_are_those_of_r(entry: dict[str, Any]) -> None:
    oe, slope, c = rows(entry["call"])
    # R searches the standard error of O/E in steps of 0.0001, and simulates the linear predictor of "seed" entries.
    assert oe == pytest.approx(entry["value"][0], rel=0.01)
    assert slope == pytest.approx(entry["value"][1], rel=0.005 if entry["data"] == "seed" else 0, abs=1)
    assert c == entry["value"][2]
