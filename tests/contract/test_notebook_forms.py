"""The forms of a result: a notebook shows everything that the text shows, and what is exported is JSON and a table with rows."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.decision.costs import cost_decision, expected_cost, net_benefit
from calibrant.decision.likert import likert_error
from calibrant.decision.low_default import pluto_tasche
from calibrant.decision.routing import review_routing
from calibrant.decision.selective import risk_coverage
from calibrant.decision.thresholds import choose_threshold
from calibrant.inference.grades import grade_tests
from calibrant.inference.power_analysis import power
from calibrant.monitoring.changepoint import locate_change, start_detector
from calibrant.monitoring.drift import score_drift
from calibrant.monitoring.labelfree import confidence_summary, read_change
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.sequential import start_eprocess
from calibrant.reporting import html

TWO = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(2.0), rng=6)
Y, P = TWO.y_true, TWO.y_prob
MANY = cal.inference.make_miscalibrated(
    300, warp=cal.inference.simulation.temperature(1.5), distribution=[0.4] * 4, rng=7
)
KY, KP = MANY.y_true, MANY.y_prob
PAIR = {"old": P, "new": np.sqrt(P)}
SEVERAL = {"old": KP, "new": KP[:, ::-1]}
TREE = {"a": [0, 1], "b": [2, 3]}
GROUPS = np.array(["east", "west"])[np.arange(400) % 2]


def told(*, chosen: bool = True) -> Any:
    """A choice of a calibrator with a note: some labels had probability 0."""
    y = (np.random.default_rng(0).random(300) < 0.3).astype(int)
    return cal.recalibrate(
        y, np.where(np.arange(300) < 30, 1 - y, y).astype(float), method="platt" if chosen else "none"
    )


class Constant:
    """Predicts the event rate, whose slope is undefined, which a note says."""

    def fit(self, X: Any, y: Any) -> Constant:
        self.rate = float(np.mean(y))
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), [1 - self.rate, self.rate])


RESULTS: dict[str, Callable[[], Any]] = {
    "recalibrate": lambda: cal.recalibrate(Y, P),
    "recalibrate, a note": told,
    "recalibrate, none": lambda: told(chosen=False),
    "recalibrate, several": lambda: cal.recalibrate(KY, KP),
    "compare": lambda: cal.compare(Y, PAIR, rng=0, n_resamples=50),
    "compare, a note": lambda: cal.compare(
        {name: cal.Predictions(Y, each, groups=GROUPS) for name, each in PAIR.items()},
        rng=0,
        n_resamples=50,
        cluster=True,
    ),
    "compare, three": lambda: cal.compare(Y, {**PAIR, "flat": np.full(400, 0.5)}, rng=0, n_resamples=50),
    "prior": lambda: cal.recalibration.prior_shift_em(P, 0.4),
    "evaluate": lambda: cal.evaluate(Y, P),
    "evaluate, more": lambda: cal.evaluate(
        cal.Predictions(Y, P, groups=GROUPS), level=0.9, assess=True, rng=0, n_resamples=200
    ),
    "assess": lambda: cal.assess(Y, P, rng=0, n_resamples=99),
    "assess, several": lambda: cal.assess_many(Y, P, metrics=["ece", "brier"], rng=0, n_resamples=99),
    "interval": lambda: cal.interval(Y, P, metric="ece", rng=0, n_resamples=200),
    "power": lambda: power("brier", 100, deviation=0.1, repeats=100),
    "internal validation": lambda: cal.clinical.internal_validation(
        Constant(), np.zeros((400, 1)), Y, resamples=2, rng=0, metrics=["brier", "cox_slope"]
    ),
    "precision": lambda: cal.inference.precision_sample_size((2, 8), prevalence=0.4),
    "grades": lambda: grade_tests(cal.Predictions(Y, P, groups=np.digitize(P, [0.3, 0.7]))),
    "band": lambda: cal.inference.calibration_band(Y, P),
    "e-value": lambda: cal.inference.sequential_test(Y, P),
    "safe test": lambda: cal.inference.safe_hosmer_lemeshow(Y, P),
    "recommend": lambda: cal.recommend("comparison"),
    "decompose": lambda: cal.decompose(Y, P),
    "decompose, murphy": lambda: cal.decompose(Y, P, method="murphy"),
    "curve": lambda: cal.calibration_curve(Y, P),
    "bins": lambda: cal.calibration_curve(Y, P).table,
    "simulation": lambda: TWO,
    "expected cost": lambda: expected_cost(Y, P, cost=[[0, 1], [5, 0]]),
    "net benefit": lambda: net_benefit(Y, P, thresholds=[0.1, 0.5]),
    "routing": lambda: review_routing(Y, P, accept=0.8, review=0.6),
    "decision": lambda: cost_decision(P, [[0, 1], [5, 0]]),
    "ood": lambda: cal.decision.ood.evaluate(P[:200], np.sqrt(P[200:])),
    "bounds": lambda: pluto_tasche([100, 200], [0, 3]),
    "risk": lambda: risk_coverage(Y, P),
    "threshold": lambda: choose_threshold(Y, P, accuracy=0.8),
    "likert": lambda: likert_error(Y, P),
    "catalogue": lambda: cal.catalogue,
    "reliability": lambda: cal.reliability_diagram(Y, P, metrics=("ece",)),
    "reliability, corp": lambda: cal.reliability_diagram(Y, P, kind="isotonic", metrics=("ece",)),
    "panels": lambda: cal.reliability_diagram(Y, PAIR, metrics=("ece",)),
    "classes": lambda: cal.figures.classwise_panels(KY, KP, metrics=("ece",)),
    "murphy": lambda: cal.figures.murphy_diagram(Y, PAIR),
    "risk diagram": lambda: cal.figures.risk_coverage_diagram(Y, PAIR),
    "cumulative": lambda: cal.figures.cumulative_diagram(Y, P),
    "groups": lambda: cal.figures.group_error_diagram(KY, SEVERAL, hierarchy=TREE),
    "heat": lambda: cal.figures.group_confidence_diagram(KY, KP, hierarchy=TREE),
    "topk": lambda: cal.figures.topk_diagram(KY, SEVERAL),
    "stability": lambda: cal.figures.stability_diagram(Y, P, values=[2, 5, 10], n_resamples=5, rng=0),
    "variation": lambda: cal.figures.variation_diagram(KY, KP),
    "uce": lambda: cal.figures.uce_diagram(KY, KP),
    "summary": lambda: confidence_summary(P),
    "change": lambda: read_change(P[:200], P[200:]),
    "drift": lambda: score_drift(P[:200], np.sqrt(P[200:]), rng=0)["psi"],
    "drift report": lambda: score_drift(P[:200], np.sqrt(P[200:]), rng=0),
    "performance": lambda: cal.monitoring.estimate_performance((Y, P), P, n_resamples=20),
    "change point": lambda: locate_change([cal.Sketch.of(Y, P)] * 3),
    "e-process": lambda: start_eprocess(lens="binary").update(cal.Sketch.of(Y, P)),
    "detector": lambda: start_detector(run_length=100, lens="binary").update(cal.Sketch.of(Y, P)),
    "centres": lambda: cal.clinical.validate_by_group(cal.Predictions(Y, P, groups=GROUPS)),
    "survival": lambda: cal.clinical.survival_summary(
        P, time=1 + np.arange(400) % 7, event=Y, horizon=4, rng=1, n_resamples=20
    ),
    "update": lambda: cal.clinical.closed_test_update(Y, P),
    "pooled": lambda: cal.inference.pool_estimates([0.8, 1.1, 0.9], [0.1, 0.2, 0.1]),
    "multinomial": lambda: cal.inference.multinomial_recalibration(KY, KP),
    "forest": lambda: cal.figures.forest_diagram(
        cal.clinical.validate_by_group(cal.Predictions(Y, P, groups=GROUPS)), metric="oe"
    ),
    "report": lambda: cal.report(Y, P),
}


def plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<(style|script).*?</\1>", " ", html, flags=re.DOTALL)))


def tokens(text: str) -> set[str]:
    """Numbers and words, without the signs that part or join them."""
    return set(re.findall(r"\w(?:[\w.,-]*\w)?", text))


def assert_says_all(result: Any) -> None:
    shown = plain(result._repr_html_())
    missing = {token for token in tokens(repr(result)) if token not in shown}
    assert not missing, f"only the text of {type(result).__name__} says {sorted(missing)}"


def assert_exported(result: Any) -> None:
    if hasattr(result, "to_dict"):
        assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
    if hasattr(result, "to_frame"):
        assert len(result.to_frame()) > 0


@pytest.mark.sampled
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_all_its_forms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_drawing_library", lambda: "0;")  # bundling it takes seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = RESULTS[name]()
        assert_says_all(result)
        assert_exported(result)


def test_a_notebook_says_what_a_monitor_says(tmp_path: Path) -> None:
    monitor = Monitor.create(tmp_path / "watch.db", reference=(Y, P), every="1d", n_resamples=39)
    assert_says_all(monitor.status())
    when = np.datetime64("2026-01-05T00:00") + (np.arange(400) * 720).astype("timedelta64[s]")
    done = monitor.update(1 - Y, P, when=when, ids=np.arange(400))  # labels turned round, so that it finds something
    assert_says_all(done)
    status = monitor.status()
    for found in (status, *status.windows, *status.groups, *status.alarms):
        assert_says_all(found)
    assert status.alarms
