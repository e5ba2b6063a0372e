"""assess: values checked by hand, exact nulls by enumeration, shared draws, and every metric on every kind of data."""

import json
import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.multiplicity import adjust
from calibrant.util.results import pvalue_text
from tests.calling import call, raises
from tests.checked import A, B, D
from tests.in_turn import spread

CHECKED: list[tuple[Any, str, str, dict[str, Any], float]] = [
    (A, "ecce_mad", "enumeration", {}, 0.5176),
    (A, "ecce_r", "enumeration", {}, 0.5464),
    (A, "spiegelhalter_z", "enumeration", {}, 1.0),
    (B, "ecce_mad", "enumeration", {}, 0.7893261387),
    (B, "ecce_r", "enumeration", {}, 0.8795587636),
    (A, "ecce_mad", "series", {}, 0.5837711879),
    (B, "ecce_mad", "series", {}, 0.8387636484),
    (A, "ecce_r", "series", {}, 0.8090575576),
    (B, "ecce_r", "series", {}, 0.9928101379),
    (A, "bbt", "series", {}, 0.6533060777),
    (B, "bbt", "series", {}, 0.7765274206),
    (A, "bbt", "series", {"form": "mean"}, 0.2935105954),
    (A, "bbt", "series", {"form": "bridge"}, 0.9999944467),
    (B, "bbt", "series", {"form": "bridge"}, 0.9348966007),
    (A, "spiegelhalter_z", "normal", {}, 0.7079324418),
    (B, "spiegelhalter_z", "normal", {}, 0.9318205692),
    (D, "spiegelhalter_z", "normal", {}, 0.8621348932),
    (A, "calibration_in_the_large", "normal", {}, 0.2935105954),
    (B, "hosmer_lemeshow", "chi_square", {"bins": 5}, 0.3588169327),
    (B, "hosmer_lemeshow", "chi_square_fitted_here", {"bins": 5}, 0.1391140798),
    (A, "hosmer_lemeshow", "chi_square", {"bins": 2}, 0.6006133346),
    (B, "hosmer_lemeshow", "chi_square", {"bins": 5, "variance": "exact"}, 0.3448970167),
    (A, "hosmer_lemeshow", "chi_square", {"bins": 2, "variance": "exact"}, 0.5719018583),
]


@pytest.mark.parametrize(("data", "metric", "method", "options", "pvalue"), CHECKED)
def test_checked_values(data: Any, metric: str, method: str, options: dict[str, Any], pvalue: float) -> None:
    found = call(cal.assess, *data, metric=metric, method=method, **options)
    assert found.pvalue == pytest.approx(pvalue, abs=6e-11)
    assert found.statistic == getattr(cal, metric)(*data, **options)
    assert found.method == method


def overconfident(n: int, k: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    found = cal.inference.make_miscalibrated(
        n, distribution=(1,) * k, warp=cal.inference.simulation.temperature(1.6), rng=seed
    )
    return found.y_true, found.y_prob


@pytest.mark.parametrize("metric", ["ece", "ecce_r", "smece", "cwce", "skce_uq", "brier"])
@pytest.mark.parametrize("method", ["consistency", "resampled_scores"])
def test_the_same_seed_gives_the_same_bits(metric: str, method: str) -> None:
    y, p = overconfident(300, 3)
    words: dict[str, Any] = {"metric": metric, "method": method, "n_resamples": 24}
    first = call(cal.assess, y, p, rng=5, **words)
    assert first.null is not None
    longer = call(cal.assess, y, p, rng=5, **{**words, "n_resamples": 40})
    assert longer.null is not None
    assert longer.null[:24].tobytes() == first.null.tobytes()
    assert call(cal.assess, y, p, rng=6, **words).null.tobytes() != first.null.tobytes()  # type: ignore[union-attr]


@pytest.mark.parametrize(("n", "k"), [(4000, 2), (300, 3)])
def test_large_errors_are_found_and_verdicts_say_what_was_looked_for(n: int, k: int) -> None:
    y, p = overconfident(n, k)
    found = cal.assess(y, p, metric="ece", rng=0, n_resamples=199)
    assert found.rejected
    assert found.pvalue <= 2 / 200
    assert found.critical_value is not None
    assert found.statistic > found.critical_value
    assert ": statistically significant at 5%" in found.verdict
    calm = cal.inference.make_calibrated(n, classes=k, rng=3)
    quiet = cal.assess(calm.y_true, calm.y_prob, metric="ece", rng=0, n_resamples=199)
    assert not quiet.rejected
    assert ": not significant at 5%" in quiet.verdict
    assert f"With {n:,} rows, a value beyond" in quiet.verdict
    assert "calibrated" not in quiet.verdict
    assert quiet.verdict in repr(quiet)


def test_safety_is_one_sided() -> None:
    y, p = overconfident(2000)
    found = cal.assess(y, p, metric="ecd")
    assert found.alternative == "greater"
    assert "safe" in found.null_hypothesis
    assert found.rejected
    shy = cal.inference.make_miscalibrated(2000, warp=cal.inference.simulation.temperature(0.6), rng=0)
    assert cal.assess(shy.y_true, shy.y_prob, metric="ecd").pvalue > 0.9
    both = cal.assess(shy.y_true, shy.y_prob, metric="ecd", alternative="two-sided")
    assert both.rejected
    assert "safe" not in both.null_hypothesis


def test_counts_in_cells_stand_for_rows() -> None:
    """The two ways of drawing give the same threshold, up to the noise of the draws."""
    y, p = overconfident(6000)
    for metric in ("ece", "ecce_mad", "mmce"):
        cells = cal.assess(y, p, metric=metric, method="consistency", n_resamples=800, rng=1)
        rows = cal.assess(y, p, metric=metric, method="consistency", n_resamples=800, rng=2, exact=True)
        assert "per cell" in cells.null_distribution
        assert "per cell" not in rows.null_distribution
        assert cells.null is not None
        assert rows.null is not None
        spread = np.std(rows.null) * np.sqrt(2 / 800)
        assert abs(np.mean(cells.null) - np.mean(rows.null)) < 5 * spread
        assert cells.critical_value == pytest.approx(rows.critical_value, rel=0.15)


def test_corrections_are_the_textbook_ones() -> None:
    pvalues = np.array([0.01, 0.04, 0.03, 0.005])
    assert adjust(pvalues, "holm").tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust(pvalues, "benjamini_hochberg").tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert adjust(np.array([0.9, 0.8]), "holm").tolist() == [1.0, 1.0]


ODD = {
    "one row": ([1], [0.7]),
    "one class": ([1, 1, 1, 1, 1], [0.7, 0.2, 0.9, 0.4, 0.6]),
    "sure and right": ([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0]),
    "sure and wrong": ([1, 0, 1, 0], [0.0, 1.0, 1.0, 0.0]),
    "all equal": ([0, 1, 1, 0, 1, 0], [0.5] * 6),
    "two scores": ([0, 1, 1, 0] * 8, [0.3, 0.3, 0.8, 0.8] * 8),
    "nearly 0": ([0, 1, 0, 0, 0] * 4, [1e-9, 1e-8, 1e-9, 1e-9, 1e-10] * 4),
    "three classes, one row": ([2], [[0.2, 0.3, 0.5]]),
    "three classes, ties": ([0, 1, 2, 0] * 5, [[0.2, 0.3, 0.5]] * 20),
}


@pytest.mark.filterwarnings("ignore::calibrant.errors.HardPredictionsWarning")
@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
@pytest.mark.parametrize("name", ODD)
@pytest.mark.sampled
@spread("metric", list(cal.catalogue))
def test_odd_data_give_a_result_or_a_reason(metric: str, name: str) -> None:
    y, p = ODD[name]
    words: dict[str, Any] = {}
    if "groups" in cal.catalogue[metric].needs:
        words["groups"] = ["a", "b"] * (len(y) // 2) + ["a"] * (len(y) % 2)
    if "features" in cal.catalogue[metric].needs:
        words["features"] = np.arange(len(y))[:, None] % 3
    for method in ("auto", *cal.catalogue[metric].tests):
        more = {"n_resamples": 399 if method == "adaptive" else 19}
        try:
            found = call(cal.assess, y, p, metric=metric, method=method, rng=0, **more, **words)
        except cal.CalibrantError:  # anything else fails
            continue
        assert 0 <= found.pvalue <= 1
        assert found.verdict


def test_one_metric_may_be_named_alone() -> None:
    y, p = overconfident(200)
    several = cal.assess_many(y, p, metrics=["ece"], bins=3, rng=0, n_resamples=19)
    for metrics in ("ece", cal.ece):
        alone = cal.assess_many(y, p, metrics=metrics, bins=3, rng=0, n_resamples=19)
        assert alone.results == several.results
    assert several["ece"].statistic == cal.ece(y, p, bins=3)


def test_p_values_are_never_printed_as_0() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 60_000)
    y = (rng.random(60_000) < p**4).astype(int)
    found = cal.assess(y, p)
    assert found.pvalue == 0
    assert "p-value < 1e-300," in repr(found)
    assert "&lt; 1e-300" in found._repr_html_()
    grades = cal.inference.grade_tests(cal.Predictions(1 - y, 1 - p, groups=p < 0.5))
    assert grades[False].pvalue == 0
    assert "< 1e-300" in repr(grades)
    assert [pvalue_text(value) for value in (0.0, 1e-310, 1.23456e-299, 0.05, 1.0, np.nan)] == [
        "< 1e-300",
        "< 1e-300",
        "1.235e-299",
        "0.05",
        "1",
        "-",
    ]


def test_the_law_of_one_question_is_not_taken_for_several() -> None:
    """The mean of a statistic over classes has a distribution of its own, which is drawn."""
    rows = cal.inference.make_calibrated(300, distribution=(1.0, 1.0, 1.0), rng=0).predictions
    assert cal.assess(rows, metric="ecce_mad", lens="classwise", n_resamples=99, rng=0).method == "consistency"
    with raises(cal.errors.ArgumentError, "method"):
        cal.assess(rows, metric="ecce_mad", lens="classwise", method="series")


@pytest.mark.parametrize("metric", ["cox_slope", "cox_intercept", "skce_uq"])
def test_outcomes_are_drawn_where_the_own_test_counts_rows_and_these_have_weights(metric: str) -> None:
    rng = np.random.default_rng(51)
    score = rng.beta(2, 2, 120)
    label = (rng.random(120) < score).astype(int)
    words: dict[str, Any] = {"metric": metric, "sample_weight": rng.random(120) + 0.5, "rng": 0, "n_resamples": 99}
    found = call(cal.assess, label, score, **words)
    assert found.method == "consistency"
    assert "is not used: importance weights are not counts of rows" in found.null_distribution
    assert found.pvalue == call(cal.assess, label, score, method="consistency", **words).pvalue
    table = cal.evaluate(
        label, score, metrics=[metric], sample_weight=words["sample_weight"], assess=True, rng=0, n_resamples=99
    )
    assert table.results[0].pvalue == found.pvalue


def test_outcomes_are_drawn_for_the_form_of_ecd_that_has_no_law() -> None:
    rng = np.random.default_rng(52)
    probs = rng.dirichlet([1, 1, 1], 60)
    label = np.array([rng.choice(3, p=row) for row in probs])
    found = cal.assess(label, probs, metric="ecd", multiclass="true_vs_rest", rng=0, n_resamples=99)
    assert found.method == "consistency"
    assert "'normal' is not used: it is for the sum over all classes" in found.null_distribution
    with raises(cal.errors.UndefinedMetricError, "ecd"):
        cal.assess(label, probs, metric="ecd", multiclass="true_vs_rest", method="normal")


@pytest.mark.parametrize("metric", ["ks_top_r", "ks_within_top_r"])
def test_tests_of_ranks_read_a_question_as_the_distribution_that_it_is(metric: str) -> None:
    rng = np.random.default_rng(53)
    probs = rng.dirichlet([1, 1, 1], 200)
    label = np.array([rng.choice(3, p=row) for row in probs])
    found = cal.assess(label, probs, metric=metric, r=1, lens="top_label")
    assert found.method == "series"
    right, sure = probs.argmax(axis=1) == label, probs.max(axis=1)
    assert found.pvalue == cal.assess(right, sure, metric=metric, r=1).pvalue


def test_an_infinite_statistic_is_text_for_json_and_a_number_in_a_frame() -> None:
    label, score = [0, 1] * 20, [0.3, 0.6] * 19 + [0.3, 0.0]
    found = cal.assess(label, score, metric="hosmer_lemeshow", bins=4, binning="equal_width", rng=0)
    assert found.statistic == math.inf
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["statistic"] == "inf"
    assert found.to_frame()["statistic"].tolist() == [math.inf]
    table = cal.assess_many(label, score, metrics=["nll", "ece"], rng=0, n_resamples=49)
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False)) == table.to_dict()
    assert table.to_frame()["statistic"].tolist() == [r.statistic for r in table.results]


@pytest.mark.parametrize("metric", ["cox_slope", "cox_intercept"])
def test_a_likelihood_ratio_shows_its_statistic(metric: str) -> None:
    """The test is one of a chi-square statistic, not of the coefficient, whose critical value is unknown."""
    y, p = overconfident(300)
    found = cal.assess(y, p, metric=metric, method="lr")
    assert found.critical_value is None
    assert found.detail["critical_value"] == pytest.approx(5.991464547107979, rel=1e-12)
    shown = f"chi-square {found.detail['chi_square']:.4g} with 2 degrees of freedom"
    assert shown in repr(found)
    assert "critical value at 0.05: chi-square 5.991" in repr(found)
    assert "chi-square 5.991" in found._repr_html_()
    assert found.to_dict()["detail"]["critical_value"] == found.detail["critical_value"]
    assert (found.detail["chi_square"] > found.detail["critical_value"]) == found.rejected
    alone = cal.assess(y, p, metric=metric, method="profile")
    assert "critical value at 0.05: |z| 1.960" in repr(alone)
    assert alone.detail["critical_value"] == pytest.approx(1.959963984540054, rel=1e-12)
    less = cal.assess(y, p, metric=metric, method="profile", alternative="less")
    assert "critical value at 0.05: z -1.645" in repr(less)


def test_the_verdict_of_a_table_is_that_of_the_adjusted_p_value() -> None:
    drawn = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(1.25), rng=3)
    table = cal.assess_many(drawn.y_true, drawn.y_prob, metrics=["ece", "mce", "ecd", "esce"], rng=0, n_resamples=99)
    lost = [place for place, result in enumerate(table.results) if result.rejected and table.adjusted[place] > 0.05]
    assert lost
    verdicts = table.to_frame()["verdict"].tolist()
    for place in lost:
        assert ": statistically significant at 5%" in table.results[place].verdict
        assert f": not significant at 5% (p = {table.adjusted[place]:.3g})." in verdicts[place]


def test_models_and_metrics_in_one_table() -> None:
    drawn = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(2.0), rng=3)
    y, p = drawn.y_true, drawn.y_prob
    metrics, keywords = ["ece", "ecd"], {"rng": 4, "n_resamples": 99}
    models = {"before": p, "after": drawn.truth}
    table = call(cal.assess_many, y, models, metrics=metrics, **keywords)
    alone = {name: call(cal.assess_many, y, q, metrics=metrics, **keywords) for name, q in models.items()}
    for name, own in alone.items():
        for metric in metrics:
            assert table[name, metric].to_dict() == own[metric].to_dict()
    # Holm over the whole table, by its definition.
    raw = [result.pvalue for result in table.results]
    order = np.argsort(raw, kind="stable")
    steps = np.minimum(1, np.maximum.accumulate([(4 - rank) * raw[place] for rank, place in enumerate(order)]))
    assert [table.adjusted[place] for place in order] == pytest.approx(steps.tolist())
    assert set(table.rejected) == {("before", "ece"), ("before", "ecd")}
    assert table.to_frame()["model"].tolist() == ["before", "before", "after", "after"]
    assert [row["model"] for row in table.to_dict()["results"]] == list(table.models)
    assert "not significant" in repr(table)
    for result, row in zip(table.results, table.to_dict()["results"], strict=True):
        assert (": not significant" in row["verdict"]) == (row["adjusted"] > 0.05)
        assert row["critical_value"] == result.critical_value
    named = {name: cal.Predictions(y, q) for name, q in models.items()}
    assert call(cal.assess_many, named, metrics=metrics, **keywords).adjusted == table.adjusted
    for key in ("ece", ("before", "brier"), ("other", "ece")):
        with raises(cal.errors.ArgumentError, "metric"):
            table[key]
    with raises(cal.errors.ArgumentError, "correction"):
        cal.assess_many(y, models, metrics=metrics, correction="min_p")
