"""Every decision function, and others of one event: counts are repeated rows, and the order of the rows changes nothing."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import decision

COST = [[0, 1, 5], [1, 0, 5], [10, 10, 0]]
ROUTES: dict[str, Any] = {"errors": {"review": 0.1}, "cost": {"error": 5, "review": 1}}
# The numbers of each result, for predictions of three classes.
FUNCTIONS: dict[str, Any] = {
    "aurc": decision.aurc,
    "e_aurc": decision.e_aurc,
    "augrc": decision.augrc,
    "e_augrc": decision.e_augrc,
    "risk_coverage": lambda p: list(decision.risk_coverage(p).to_dict().values()),
    "expected_cost": lambda p: [
        getattr(decision.expected_cost(p, cost=COST), name)
        for name in ("claimed", "realised", "gap", "gap_error", "baseline", "regret")
    ],
    "net_benefit": lambda p: list(decision.net_benefit(p, lens="class:1").to_dict().values())[:6],
    "likert_error": lambda p: [
        (band.rows, band.rate, band.error, band.pvalue) for band in decision.likert_error(p, lens="class:1").bands
    ],
    "review_routing": lambda p: list(decision.review_routing(p, **ROUTES).table.values()),
    "topk_accuracy": lambda p: decision.topk_accuracy(p, k=2),
    "topk_confidence": lambda p: decision.topk_confidence(p, k=2),
    "choose_threshold": lambda p: [cal.choose_threshold(p, coverage=0.5).threshold],
    "auroc": cal.evaluation.auroc,
    "average_precision": cal.evaluation.average_precision,
    "calibration_band": lambda p: [
        getattr(cal.inference.calibration_band(p, lens="class:1"), name) for name in ("n", "score", "low", "high")
    ],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_counts_are_repeated_rows_in_any_order(name: str) -> None:
    rng = np.random.default_rng(5)
    probs = rng.multinomial(10, [0.3, 0.3, 0.4], 60) / 10  # with ties
    labels, counts = rng.integers(0, 3, 60), rng.integers(0, 4, 60)
    rows = rng.permutation(np.repeat(np.arange(60), counts))
    repeated = FUNCTIONS[name](cal.Predictions(labels[rows], probs[rows]))
    weighed = FUNCTIONS[name](cal.Predictions(labels, probs, counts=counts))
    if np.isscalar(repeated):
        repeated, weighed = [repeated], [weighed]
    for one, other in zip(weighed, repeated, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
