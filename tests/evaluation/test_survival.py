"""Time to event at a horizon: slow definitions, identities, derivatives by differences, unfriendly data, and coverage."""

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import calibrant as cal
from calibrant.clinical.censoring import log_rank_pvalue, read_follow_up
from calibrant.clinical.survival import _brier, _point_measures, read_survival
from calibrant.errors import BoundaryScoresWarning, CalibrantError, InputWarning
from tests.calling import raises

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
MEASURES = ("observed_risk", "calibration_intercept", "calibration_slope", "brier", "scaled_brier", "auroc")


def data(n: int = 80, *, seed: int = 0, rate: float = 0.1, causes: int = 1, ties: bool = True) -> Arrays:
    """Risks by time 5, and times that are tied when rounded up."""
    rng = np.random.default_rng(seed)
    risk = np.round(rng.beta(2, 3, n), 2 if ties else 12).clip(0.02, 0.98)
    death = rng.exponential(-5 / np.log1p(-risk))
    censored = rng.exponential(1 / rate, n) if rate else np.full(n, np.inf)
    time = np.minimum(death, censored)
    event = np.where(death <= censored, rng.integers(1, causes + 1, n), 0)
    return risk, np.ceil(time) if ties else time, event


def weights_by_loops(time: Any, event: Any, horizon: float, own: Any = None) -> np.ndarray:
    """Inverse probability of censoring weights by the product-limit definition, row by row."""
    own = np.ones(len(time)) if own is None else own
    found = np.zeros(len(time))
    for i in range(len(time)):
        if time[i] < horizon and event[i] == 0:
            continue
        stay = 1.0
        for t in sorted(set(time)):
            if t < min(time[i], horizon):
                leaving = sum(w for w, s, e in zip(own, time, event, strict=True) if s == t and e == 0)
                # At a tied time events come first, so rows with an event are not at risk of censoring.
                at_risk = sum(w for w, s, e in zip(own, time, event, strict=True) if s > t or (s == t and e == 0))
                stay *= 1 - (leaving / at_risk if at_risk else 0.0)
        found[i] = own[i] / stay
    return found


def aalen_johansen(time: Any, event: Any, horizon: float) -> float:
    """Cumulative incidence of the event 1 by loops; with one kind of event it is one minus Kaplan-Meier."""
    free, risk = 1.0, 0.0
    for t in sorted(set(time)):
        if t <= horizon:
            at_risk = sum(s >= t for s in time)
            own = sum(s == t and e == 1 for s, e in zip(time, event, strict=True))
            every = sum(s == t and e != 0 for s, e in zip(time, event, strict=True))
            risk += free * own / at_risk
            free *= 1 - every / at_risk
    return risk


@pytest.mark.parametrize("horizon", [3, 4.5])
@pytest.mark.parametrize("causes", [1, 3])
def test_weights_and_observed_risk_agree_with_loops(causes: int, horizon: float) -> None:
    _, time, event = data(causes=causes)
    found = cal.clinical.horizon_outcomes(time, event, horizon=horizon)
    np.testing.assert_allclose(found.weight, weights_by_loops(time, event, horizon), rtol=1e-12)
    assert found.weight.sum() == pytest.approx(len(time), rel=1e-12)
    assert found.observed_risk == pytest.approx(aalen_johansen(time, event, horizon), abs=1e-13)
    assert found.n_events + found.n_competing + found.n_event_free + found.n_censored == len(time) == found.n
    assert (found.n_competing > 0) == (causes > 1)
    own = np.random.default_rng(1).exponential(1, len(time))
    weighted = cal.clinical.horizon_outcomes(time, event, horizon=horizon, sample_weight=own)
    np.testing.assert_allclose(weighted.weight, weights_by_loops(time, event, horizon, own), rtol=1e-12)


def test_weights_by_group_are_those_of_each_group_alone() -> None:
    _, time, event = data(120)
    group = np.array(["a", "b", "c"])[np.arange(120) % 3]
    found = cal.clinical.horizon_outcomes(time, event, horizon=4, groups=group)
    for name in "abc":
        part = group == name
        alone = cal.clinical.horizon_outcomes(time[part], event[part], horizon=4)
        np.testing.assert_array_equal(found.weight[part], alone.weight)


def test_times_at_the_horizon_and_ties() -> None:
    # An event at the horizon counts; a row censored at the horizon is event-free; the event at 2 precedes the censoring at 2.
    found = cal.clinical.horizon_outcomes([5, 5, 2, 2, 7], [1, 0, 1, 0, 1], horizon=5)
    assert found.outcome.tolist() == [1, 0, 1, 0, 0]
    np.testing.assert_allclose(found.weight, [4 / 3, 4 / 3, 1, 0, 4 / 3])
    assert (found.n_events, found.n_event_free, found.n_censored) == (2, 2, 1)
    # Administrative censoring at the horizon loses nothing.
    everyone = cal.clinical.horizon_outcomes([1, 5, 5, 5], [1, 0, 0, 0], horizon=5)
    assert everyone.weight.tolist() == [1, 1, 1, 1]


def slow_auc(risk: Any, outcome: Any, weight: Any) -> float:
    won = total = 0.0
    for i in np.flatnonzero(outcome == 1):
        for j in np.flatnonzero(outcome == 0):
            pair = weight[i] * weight[j]
            total += pair
            won += pair * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return won / total


@pytest.mark.parametrize("causes", [1, 2])
def test_scores_agree_with_loops(causes: int) -> None:
    risk, time, event = data(causes=causes)
    result = cal.clinical.survival_summary(risk, time=time, event=event, horizon=4, n_resamples=0)
    weight = weights_by_loops(time, event, 4)
    outcome = np.array([t <= 4 and e == 1 for t, e in zip(time, event, strict=True)]).astype(int)
    brier = sum(w * (y - p) ** 2 for w, y, p in zip(weight, outcome, risk, strict=True)) / sum(weight)
    rate = aalen_johansen(time, event, 4)
    assert result["brier"] == pytest.approx(brier, abs=1e-12)
    assert result["scaled_brier"] == pytest.approx(1 - brier / (rate * (1 - rate)), abs=1e-12)
    assert result["auroc"] == pytest.approx(slow_auc(risk, outcome, weight), abs=1e-12)
    assert result["observed_expected_ratio"] == pytest.approx(rate / risk.mean(), abs=1e-12)


@pytest.mark.parametrize("ties", [True, False])
def test_without_censoring_it_is_the_binary_result(ties: bool) -> None:
    risk, time, event = data(200, rate=0, ties=ties)
    horizon = 4.0
    y = (time <= horizon).astype(int)
    result = cal.clinical.survival_summary(risk, time=time, event=event, horizon=horizon, n_resamples=0)
    binary = {
        "observed_risk": y.mean(),
        "observed_expected_ratio": y.mean() / risk.mean(),
        "calibration_intercept": cal.fixed_slope_intercept(y, risk),
        "calibration_slope": cal.cox_slope(y, risk),
        "ici": cal.ici(y, risk),
        "e50": cal.e50(y, risk),
        "e90": cal.e90(y, risk),
        "brier": cal.brier(y, risk),
        "auroc": cal.evaluation.auroc(y, risk),
    }
    for name, value in binary.items():
        assert result[name] == pytest.approx(value, abs=1e-13), name
    assert set(cal.clinical.horizon_outcomes(time, event, horizon=horizon).weight) == {1.0}


@pytest.mark.parametrize("strata", [1, 2])
def test_standard_errors_are_derivatives_in_the_weights_of_the_rows(strata: int) -> None:
    """The infinitesimal jackknife, by differences: every row's weight up and down, the censoring weights estimated anew."""
    risk, time, event = data(45, seed=3, causes=2)
    own = np.random.default_rng(2).exponential(1, 45)
    groups = np.arange(45) % strata

    def measured(weight: np.ndarray) -> dict[str, Any]:
        follow_up = read_follow_up(time, event, None, groups, weight)
        read = read_survival(risk, follow_up, 4, stratify=groups is None)
        return {m.measure: m for m in _point_measures(read.outcomes(), risk, 0.95)}

    step = 1e-5
    sums = dict.fromkeys(MEASURES, 0.0)
    for row in range(45):
        change = np.where(np.arange(45) == row, step, 0.0)
        more, less = measured(own * (1 + change)), measured(own * (1 - change))
        for name in MEASURES:
            sums[name] += ((more[name].value - less[name].value) / (2 * step)) ** 2
    found = measured(own)
    for name in MEASURES:
        assert found[name].standard_error == pytest.approx(np.sqrt(sums[name]), rel=1e-5), name


def test_weights_of_two_are_rows_that_occur_twice() -> None:
    risk, time, event = data(60)
    twice = np.where(np.arange(60) % 4 == 0, 2, 1)
    repeated = [np.repeat(values, twice) for values in (risk, time, event)]
    weighted = cal.clinical.survival_summary(
        risk, time=time, event=event, horizon=4, sample_weight=twice, n_resamples=0
    )
    plain = cal.clinical.survival_summary(repeated[0], time=repeated[1], event=repeated[2], horizon=4, n_resamples=0)
    for name in (*MEASURES, "mean_predicted_risk", "observed_expected_ratio"):
        assert weighted[name] == pytest.approx(plain[name], abs=1e-9), name


def test_greenwood_without_censoring_is_binomial() -> None:
    risk, time, event = data(150, rate=0)
    result = cal.clinical.survival_summary(risk, time=time, event=event, horizon=4, n_resamples=0)
    found = next(m for m in result.measures if m.measure == "observed_risk")
    assert found.standard_error == pytest.approx(np.sqrt(found.value * (1 - found.value) / 150), rel=1e-12)


RISK, TIME, EVENT = data()


def test_everyone_had_the_event_before_the_horizon() -> None:
    result = cal.clinical.survival_summary(
        [0.2, 0.4, 0.6, 0.9], time=[1, 2, 3, 4], event=[1, 1, 0, 1], horizon=9, n_resamples=0
    )
    assert result["observed_risk"] == 1
    assert result["auroc"] is None
    assert result["calibration_slope"] is None
    assert result["scaled_brier"] is None
    assert "has the event by 9" in repr(result)


def test_no_event_by_the_horizon() -> None:
    result = cal.clinical.survival_summary(
        [0.2, 0.4, 0.6, 0.9], time=[7, 8, 3, 4], event=[1, 1, 0, 0], horizon=5, n_resamples=0
    )
    assert result["observed_risk"] == 0
    assert result["observed_expected_ratio"] == 0
    assert result["calibration_intercept"] == -np.inf
    assert result["auroc"] is None
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_separated_and_constant_risks_state_why() -> None:
    words: dict[str, Any] = {"time": [1, 2, 3, 8, 9, 9], "event": [1, 1, 0, 0, 0, 0], "horizon": 5, "n_resamples": 0}
    apart = cal.clinical.survival_summary([0.8, 0.9, 0.5, 0.1, 0.2, 0.3], **words)
    assert apart["calibration_slope"] is None
    assert "separates" in repr(apart)
    assert apart["auroc"] == 1
    constant = cal.clinical.survival_summary([0.4] * 6, **words)
    assert constant["calibration_slope"] is None
    assert constant["auroc"] == 0.5
    assert np.isfinite(constant["calibration_intercept"])


def test_few_rows_have_no_interval_where_replicates_are_undefined() -> None:
    result = cal.clinical.survival_summary(
        [0.2, 0.7, 0.4, 0.6], time=[1, 9, 2, 3], event=[0, 1, 1, 0], horizon=5, rng=0, n_resamples=40
    )
    assert "no interval: undefined for" in repr(result)


def test_boundary_risks_and_survival_probabilities_warn() -> None:
    risk, time, event = data(300)
    with pytest.warns(BoundaryScoresWarning, match="of 221 risks are 0 or 1"):
        cal.clinical.survival_summary(np.where(risk > 0.8, 1.0, risk), time=time, event=event, horizon=5, n_resamples=0)
    with pytest.warns(InputWarning, match="probabilities of survival"):
        cal.clinical.survival_summary(1 - risk**2, time=time, event=event, horizon=5, n_resamples=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cal.clinical.survival_summary(risk, time=time, event=event, horizon=5, n_resamples=0)


def test_two_columns_of_one_code_need_the_cause() -> None:
    risk, time, event = data(80, causes=2, rate=0)
    result = cal.clinical.survival_summary(risk, time=time, event=event, horizon=4, cause=2, n_resamples=0)
    turned = cal.clinical.survival_summary(risk, time=time, event=3 - event, horizon=4, cause=1, n_resamples=0)
    assert result.to_dict() == turned.to_dict()


def test_an_unknown_measure_is_named() -> None:
    result = cal.clinical.survival_summary(RISK, time=TIME, event=EVENT, horizon=4, n_resamples=0)
    with raises(CalibrantError, "measure"):
        result["slope"]


def test_scaled_brier_of_the_observed_risk_is_zero() -> None:
    _, time, event = data()
    rate = aalen_johansen(time, event, 4)
    result = cal.clinical.survival_summary(np.full(80, rate), time=time, event=event, horizon=4, n_resamples=0)
    assert result["scaled_brier"] == pytest.approx(0, abs=1e-12)
    assert result["observed_expected_ratio"] == pytest.approx(1, abs=1e-12)
    read = read_survival(np.full(80, rate), read_follow_up(time, event, None, None, None), 4)
    assert _brier(read.outcomes(), np.full(80, rate), 0.95).value == pytest.approx(rate * (1 - rate), abs=1e-12)


def test_no_interval_where_the_variance_is_0_or_the_area_is_1() -> None:
    time, event = np.array([1.0, 2, 3, 3.5, 6, 7, 8, 9, 9, 9]), np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 1])
    risk = np.where((time <= 5) & (event == 1), 0.8, 0.1) + 0.01 * np.arange(10)
    found = cal.clinical.survival_summary(risk, time=time, event=event, horizon=5, n_resamples=0)
    assert found["auroc"] == pytest.approx(1)
    assert found.measures[-1].low is None
    one = cal.clinical.survival_summary([0.2], time=[4], event=[0], horizon=3, n_resamples=0)
    assert all(measure.low is None for measure in one.measures)


def test_intercept_is_not_identified_where_every_risk_is_0_or_1() -> None:
    time, event = np.arange(1.0, 21), np.tile([1, 0, 1, 1], 5)
    with pytest.warns(BoundaryScoresWarning):
        found = cal.clinical.survival_summary(np.tile([0.0, 1.0], 10), time=time, event=event, horizon=9, n_resamples=0)
    assert found["calibration_intercept"] is None
    assert "not identified" in str(found)


def test_few_resamples_are_noted() -> None:
    rng = np.random.default_rng(0)
    time, event = rng.exponential(5, 40), rng.integers(0, 2, 40)
    found = cal.clinical.survival_summary(rng.random(40), time=time, event=event, horizon=3, n_resamples=20, rng=0)
    assert "at least 200 resamples" in str(found)


def test_risks_of_0_and_1_are_noted() -> None:
    risk, time, event = data(300)
    with pytest.warns(BoundaryScoresWarning):
        found = cal.clinical.survival_summary(
            np.where(risk < 0.3, 0.0, risk), time=time, event=event, horizon=5, n_resamples=0
        )
    assert "are 0 or 1" in found.to_dict()["notes"][0]


def test_weights_are_those_given_the_risk_where_censoring_depends_on_it() -> None:
    rng = np.random.default_rng(5)
    risk = rng.beta(2, 3, 3000)
    death = rng.exponential(-5 / np.log1p(-risk))
    for dependence, text in ((0.0, "no significant dependence"), (6.0, "within 5 groups of risk")):
        lost = rng.exponential(1 / (0.06 * np.exp(dependence * (risk - 0.4))))
        keywords = {"time": np.minimum(death, lost), "event": (death <= lost).astype(int), "horizon": 5}
        found = cal.clinical.survival_summary(risk, **keywords, n_resamples=0)
        assert text in found.censoring
        covered = {
            "observed_risk": risk.mean(),
            "calibration_slope": 1,
            "calibration_intercept": 0,
            "brier": np.mean(risk * (1 - risk)),
        }
        for measure in found.measures:
            if measure.measure in covered:
                error = measure.value - covered[measure.measure]
                assert abs(error) < 2.5 * measure.standard_error, (dependence, measure)
    plain = cal.clinical.survival_summary(risk, **keywords, groups=np.zeros(3000), n_resamples=0)
    assert plain.censoring == "Kaplan-Meier"
    assert abs(plain["brier"] - np.mean(risk * (1 - risk))) > 0.005


def test_log_rank_test_by_its_definition() -> None:
    time, event = np.array([1, 2, 2, 3, 4, 4, 5, 6.0]), np.array([0, 1, 0, 0, 0, 1, 0, 1])
    groups = np.array([0, 0, 1, 0, 1, 1, 0, 1])
    follow_up = read_follow_up(time, event, 1, groups, None)
    difference = variance = 0.0
    for at in (1, 2, 3, 4, 5):
        here = (time > at) | ((time == at) & (event == 0))
        lost = (time == at) & (event == 0)
        n, d, share = here.sum(), lost.sum(), groups[here].mean()
        difference += groups[lost].sum() - d * share
        variance += d * (n - d) / max(n - 1, 1) * share * (1 - share)
    assert log_rank_pvalue(follow_up, 6.0) == pytest.approx(chi2.sf(difference**2 / variance, 1))
