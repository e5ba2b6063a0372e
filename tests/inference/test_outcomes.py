"""What a test may conclude from: every outcome in the form that the metric reads, both sides, rows not chosen by their labels."""

import itertools
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from tests.calling import call, raises

SCORES = [[0.2, 0.35, 0.7, 0.9], [0.2, 0.35, 0.5, 0.9]]
LABELS = [0, 1, 1, 1]


def by_hand(metric: Any, y: Any, p: Any, side: str) -> float:
    """The probability of all outcomes at least as extreme, the metric asked as everyone asks it."""
    own, total = metric(y, p), 0.0
    for outcome in itertools.product((0, 1), repeat=len(p)):
        value = metric(outcome, p)
        if (value >= own - 1e-12) if side == "greater" else (value <= own + 1e-12):
            total += float(np.prod(np.where(outcome, p, 1 - np.asarray(p))))
    return total


@pytest.mark.parametrize("metric", ["gece", "dece", "lse_ece", "brier", "skce_b", "dkde"])
@pytest.mark.parametrize("p", SCORES)
@pytest.mark.parametrize("side", ["greater", "less"])
def test_every_outcome_of_two_columns_is_measured_as_the_sample_is(metric: str, p: list[float], side: Any) -> None:
    wanted = by_hand(cal.catalogue[metric], LABELS, p, side)
    assert cal.assess(LABELS, p, metric=metric, alternative=side).pvalue == pytest.approx(wanted)
    both = np.column_stack([1 - np.array(p), p])
    found = cal.assess(LABELS, both, metric=metric, alternative=side)
    assert (found.method, found.pvalue) == ("enumeration", pytest.approx(wanted))


def test_metrics_of_the_true_class_are_not_enumerated() -> None:
    p = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6], [0.45, 0.35, 0.2]]
    y = [0, 1, 2, 1]
    words: dict[str, Any] = {"metric": "wsmcs", "alternative": "greater", "classes": [0, 1, 2]}
    with raises(cal.errors.ArgumentError, "method"):
        call(cal.assess, y, p, method="enumeration", **words)
    own, wanted = cal.wsmcs(cal.Predictions(y, p, classes=[0, 1, 2])), 0.0
    for labels in itertools.product(range(3), repeat=4):
        chance = float(np.prod([row[label] for row, label in zip(p, labels, strict=True)]))
        wanted += chance * (cal.wsmcs(cal.Predictions(labels, p, classes=[0, 1, 2])) >= own - 1e-12)
    assert wanted == pytest.approx(0.838, abs=5e-4)
    assert call(cal.assess, y, p, rng=0, n_resamples=2000, **words).pvalue == pytest.approx(wanted, abs=0.04)


def underconfident(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.ones(k), 1000)
    y = (rng.random((1000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    return y, (p + 1 / k) / 2


@pytest.mark.parametrize(
    "metric", ["wsmcs", "dici", "root_brier", "smbs", "focal_loss", "lp_error", "huber", "l1_eps", "brier", "nll"]
)
def test_gross_underconfidence_is_no_chance(metric: str) -> None:
    y, p = underconfident(2 if metric == "smbs" else 3)
    found = cal.assess(y, p, metric=metric, rng=0, n_resamples=199, method="consistency")
    assert found.alternative == "two-sided"
    assert found.pvalue <= 0.02
    if metric != "dici":  # its distribution has its middle at 0
        assert found.lower_critical_value is not None
        assert found.statistic < found.lower_critical_value


def test_calibrated_forecasts_have_a_wsmcs_other_than_0() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([6, 1, 1], 1000)
    y = (rng.random((1000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    found = cal.assess(y, p, metric="wsmcs", rng=0, n_resamples=199)
    assert found.null is not None
    assert abs(found.null.mean()) > 3 * found.null.std()  # so that the distance from 0 would tell nothing
    assert found.pvalue > 0.05


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("brier", {"metric": "root_brier"}),
        ("brier", {"metric": "lp_error", "norm": 2}),
        ("nll", {"metric": "focal_loss", "gamma": 0}),
    ],
)
def test_monotone_functions_of_a_score_have_its_p_value(first: str, second: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y = (rng.random(300) < 0.8 * p + 0.1).astype(int)
    words: dict[str, Any] = {"rng": 0, "n_resamples": 199, "method": "consistency"}
    assert call(cal.assess, y, p, **second, **words).pvalue == call(cal.assess, y, p, metric=first, **words).pvalue


LABEL, SURE = cal.select.label(1), cal.select.output(low=0.7)


@pytest.mark.parametrize("where", [LABEL, ~LABEL, LABEL & SURE, SURE | LABEL])
def test_rows_chosen_by_their_labels_are_not_tested(where: Any) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    text = "selects rows by their labels, which then do not follow the predicted probabilities"
    with pytest.raises(cal.errors.ArgumentError, match=text):
        cal.assess(y, p, where=where)
    with pytest.raises(cal.errors.ArgumentError, match=text):
        cal.assess_many(y, p, metrics=["ece"], where=where)
    with pytest.raises(cal.errors.ArgumentError, match=text):
        cal.evaluate(y, p, metrics=["ece"], assess=True, where=where)
    assert cal.evaluate(y, p, metrics=["ece"], where=where)["ece"] > 0
    assert cal.interval(y, p, metric="ece", where=where, rng=0).high > 0


@pytest.mark.parametrize("where", [SURE, ~SURE, SURE & cal.select.predicted(1), np.arange(200) < 100])
def test_rows_chosen_by_anything_else_are_tested(where: Any) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    assert cal.assess(y, p, where=where).pvalue > 0.01


def test_the_remedy_of_pws_is_no_default() -> None:
    y, p = [0, 0, 1, 1], [0, 1 / 6, 5 / 6, 1]
    with pytest.raises(cal.errors.UndefinedMetricError, match=r"; give scores inside \(0, 1\)$"):
        cal.pws(y, p)
    with pytest.raises(cal.errors.UndefinedMetricError, match=r"; use covariance='null' and scores inside \(0, 1\)$"):
        cal.pws([0, 0, 1, 1], [0, 0, 1, 1], covariance="HC0")
