"""Validation by centre against glm, pROC and metafor."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import calibrant as cal
from tests.r.common import Compute, compare, data, every_call, values

# metafor's Fisher scoring stops at steps of tau2 below 1e-13; estimates depend on it smoothly.
TOLERANCE, DECIMALS = 1e-6, 1e-9
MEASURES = {"intercept": "intercept", "slope": "slope", "oe": "oe", "cstat": "c"}
FORWARD: dict[str | None, Callable[[float], float]] = {
    None: float,
    "exp": math.log,
    "expit": lambda value: math.log(value / (1 - value)),
}


SETS = tuple(dict.fromkeys(entry["data"] for entry in values("pooling")))
NAME_OF = {id(data(name)): name for name in SETS}


@lru_cache
def validated(name: str, measure: str) -> Any:
    """The centres of a data set; pROC has no standard error of C for one event, and those centres are left out."""
    d = data(name)
    kept = np.ones(len(d.y), bool)
    if measure == "c":
        kept = np.isin(d.centre, [centre for centre in np.unique(d.centre) if d.y[d.centre == centre].sum() != 1])
    predictions = cal.Predictions(d.y[kept], d.risk[kept], groups=d.centre[kept])
    return cal.clinical.validate_by_group(predictions, metrics=measure, method="reml")


def result_of(d: Any, measure: str, **keywords: Any) -> Any:
    p = validated(NAME_OF[id(d)], measure)[measure]
    if not keywords:
        return p
    return cal.inference.pool_estimates(p.estimates, p.standard_errors, transform=p.transform, **keywords)


def by_centre(measure: str) -> Compute:
    def compute(d: Any) -> Any:
        found = validated(NAME_OF[id(d)], measure)
        forward = FORWARD[found[measure].transform]
        kept = [group.estimates[measure] for group in found.groups if not group.estimates[measure].reason]
        return [(forward(each.value), each.standard_error) for each in kept]

    return compute


def facts(measure: str, **keywords: Any) -> Compute:
    def compute(d: Any) -> Any:
        p = result_of(d, measure, **keywords)
        ends = [FORWARD[p.transform](value) for value in (p.estimate, p.low, p.high)]
        return [ends[0], p.standard_error, *ends[1:], p.tau2, p.i2, p.q, p.q_pvalue]

    return compute


def ahead(measure: str, **keywords: Any) -> Compute:
    def compute(d: Any) -> Any:
        p = result_of(d, measure, **keywords)
        return [FORWARD[p.transform](value) for value in (p.prediction_low, p.prediction_high)]

    return compute


def limits(measure: str) -> Compute:
    return lambda d: (result_of(d, measure).tau2_low, result_of(d, measure).tau2_high)


def trend(measure: str) -> Compute:
    return lambda d: list(result_of(d, measure, covariate=result_of(d, measure).names).trend)


COMPUTED: dict[str, Compute] = {}
for theirs, ours in MEASURES.items():
    parts = f"by({theirs}, y, risk, centre)"
    COMPUTED |= {
        f"t({parts})": by_centre(ours),
        f"facts(pool({parts}, test = 'knha'))": facts(ours),
        f"ahead(pool({parts}, test = 'knha'))": ahead(ours, prediction="k-1"),
        f"ahead(pool({parts}), pi.type = 'riley')": ahead(ours, interval="normal", prediction="k-2"),
        f"facts(pool({parts}))": facts(ours, interval="normal"),
        f"facts(pool({parts}, method = 'DL', test = 'knha'))": facts(ours, method="dersimonian_laird"),
        f"facts(pool({parts}, test = 'adhoc'))": facts(ours, interval="hartung_knapp_adhoc"),
        f"facts(pool({parts}, method = 'FE'))": facts(ours, method="fixed"),
        f"confint(pool({parts}), control = list(tol = 1e-13, maxiter = 10000, tau2.max = 1e4))$random[1, 2:3]": limits(
            ours
        ),
        f"trend({parts})": trend(ours),
    }


@every_call("pooling", COMPUTED)
def test_as_metafor(call: str, compute: Compute) -> None:
    compare("pooling", call, compute, TOLERANCE, DECIMALS)


def test_sets_with_and_without_variation_and_with_centres_left_out() -> None:
    tau2 = [result_of(data(name), measure).tau2 for name in SETS for measure in MEASURES.values()]
    assert min(tau2) == 0
    assert np.sum(np.array(tau2) > 0.01) > 3
    d = data("rare")
    left = cal.clinical.validate_by_group(
        cal.Predictions(d.y, d.risk, groups=d.centre), metrics=["slope", "c"], method="reml"
    ).left_out
    assert left["slope"] == left["c"]  # one rule for centres with one event
    assert set(left["c"].values()) == {"no events"}
