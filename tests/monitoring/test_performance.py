"""Performance without labels: formulas, what is estimated, covariate shift, and agreement with the labels that come later."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.curves.logistic_regression import fit_logistic, groups_of
from calibrant.errors import WeightsNotSupportedError
from calibrant.monitoring.performance import (
    FORMULAS,
    DensityRatio,
    LabelModel,
    Outcomes,
    Rows,
    estimate_performance,
    restored_performance,
    spline_design,
)
from calibrant.views.view import View
from tests.calling import raises

RNG = np.random.default_rng(3)
SCORE = RNG.beta(2, 2, 1500)
YES = (RNG.random(1500) < SCORE).astype(int)
NEW = RNG.beta(1, 3, 200)


def draw_classes(n: int, k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    probs = rng.dirichlet(np.full(k, 0.5), n)
    return (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1), probs


def reference_metrics(labels: Any, probs: Any) -> dict[str, float]:
    """The metrics of known labels, from counts of pairs."""
    if probs.ndim == 1:
        probs = np.column_stack([1 - probs, probs])
    k = probs.shape[1]
    chosen = (probs[:, 1] > 0.5).astype(int) if k == 2 else probs.argmax(axis=1)
    classes = [1] if k == 2 else range(k)
    areas, precision, recall, f1 = [], [], [], []
    for c in classes:
        yes, no = probs[labels == c, c], probs[labels != c, c]
        areas.append(np.mean([(a > b) + (a == b) / 2 for a, b in product(yes, no)]))
        right = np.sum((labels == c) & (chosen == c))
        precision += [right / np.sum(chosen == c)] if (chosen == c).any() else []
        recall.append(right / np.sum(labels == c))
        f1.append(2 * right / (np.sum(labels == c) + np.sum(chosen == c)))
    squares = np.sum((probs - np.eye(k)[labels]) ** 2, axis=1).mean() / (2 if k == 2 else 1)
    means = {"auroc": areas, "precision": precision, "recall": recall, "f1": f1}
    return {
        "accuracy": np.mean(chosen == labels),
        "brier": squares,
        **{name: np.mean(each) for name, each in means.items()},
    }


@pytest.mark.parametrize("k", [2, 4])
def test_formulas_on_known_labels(k: int) -> None:
    labels, probs = (YES[:80], SCORE[:80].round(1)) if k == 2 else draw_classes(80, k, np.random.default_rng(0))
    rows = Rows.of(cal.Predictions(labels, probs), 0.5, None)
    wanted = reference_metrics(labels, probs)
    for name, formula in FORMULAS.items():
        assert formula(Outcomes(rows, np.eye(k)[labels], rows.weight)) == pytest.approx(wanted[name], abs=1e-12), name
    assert wanted["auroc"] == pytest.approx(cal.evaluation.auroc(labels, probs))
    assert wanted["brier"] == pytest.approx(cal.brier(labels, probs))


def test_estimates_are_means_over_all_labels() -> None:
    """The expected accuracy and Brier score of three rows over their eight sets of labels, with the fitted probabilities."""
    window = np.array([0.2, 0.6, 0.9])
    found = estimate_performance((YES, SCORE), window, cost=[[0, 1], [5, 0]], n_resamples=20)
    model = LabelModel.fit(cal.Predictions(YES, SCORE), cal.Predictions([0, 0, 1], window), "calibrated")
    rate = 1 / (1 + np.exp(-model.design(window) @ model.coefficients))
    chance = {labels: np.prod(np.where(labels, rate, 1 - rate)) for labels in product((0, 1), repeat=3)}
    assert sum(chance.values()) == pytest.approx(1)
    for name, metric in (("accuracy", cal.accuracy), ("brier", cal.brier)):
        options = {"lens": "top_label"} if name == "accuracy" else {}
        wanted = sum(
            p * metric(cal.Predictions(labels, window, classes=(0, 1)), **options) for labels, p in chance.items()
        )
        assert found[name].estimate == pytest.approx(wanted, abs=1e-12)
    cost = sum(
        p * cal.decision.expected_cost(cal.Predictions(labels, window, classes=(0, 1)), cost=[[0, 1], [5, 0]]).realised
        for labels, p in chance.items()
    )
    assert found["expected_cost"].estimate == pytest.approx(cost, abs=1e-12)


def test_intervals_for_rows_have_label_noise_and_those_for_the_population_do_not() -> None:
    """Equal scores: the population's rows do not vary, and its interval is that of the recalibration alone."""
    window = np.full(400, 0.7)
    rows, population = (
        estimate_performance((YES, SCORE), window, metrics=["accuracy"], about=about)["accuracy"]
        for about in ("rows", "population")
    )
    model = LabelModel.fit(cal.Predictions(YES, SCORE), cal.Predictions(YES[:400], window), "calibrated")
    design, rate = model.design(window[:1])[0], rows.estimate
    recalibration = rate * (1 - rate) * np.sqrt(design @ model.covariance @ design)
    noise = np.sqrt(rate * (1 - rate) / 400)
    assert population.high - population.low == pytest.approx(3.92 * recalibration, rel=0.15)
    assert rows.high - rows.low == pytest.approx(3.92 * np.hypot(recalibration, noise), rel=0.15)


@pytest.mark.parametrize(
    ("k", "about"),
    [
        (2, "rows"),
        (4, "population"),
        *(pytest.param(*case, marks=pytest.mark.deep) for case in [(2, "population"), (4, "rows")]),
    ],
)
def test_coverage_under_a_shift_of_the_scores(k: int, about: Any, deep: bool) -> None:
    rng, (runs, least) = np.random.default_rng(k), (80, 69) if deep else (30, 25)

    def sample(n: int, shifted: bool) -> tuple[Any, Any]:
        if k == 2:
            score = rng.beta(1, 3, n) if shifted else rng.beta(2, 2, n)
            return (rng.random(n) < score).astype(int), score
        labels, probs = draw_classes(3 * n, k, rng)
        kept = np.argsort(probs[:, 0] * shifted, kind="stable")[:n] if shifted else np.arange(n)
        return labels[kept], probs[kept]

    many_labels, many = sample(40_000, True)
    truth = cal.accuracy(many_labels, many, lens="top_label")
    hits = 0
    for seed in range(runs):
        labels, probs = sample(100, True)
        target = cal.accuracy(labels, probs, lens="top_label") if about == "rows" else truth
        found = estimate_performance(
            sample(500, False), probs, metrics=["accuracy"], about=about, n_resamples=150, rng=seed
        )
        hits += found["accuracy"].low - 1e-12 <= target <= found["accuracy"].high + 1e-12
    assert hits >= least  # a coverage of 93% has fewer with probability 0.03


def features_under_shift(n: int, mean: float, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """A model that ignores a feature which matters, and whose distribution shifts."""
    x = rng.normal([0.0, mean], 1.0, (n, 2))
    score = 1 / (1 + np.exp(-x[:, 0]))
    labels = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0] - x[:, 1]))).astype(int)
    return labels, score, x


def test_density_ratio_corrects_a_shift_of_the_features() -> None:
    rng = np.random.default_rng(1)
    old, new = (
        cal.Predictions(y, s, features=x) for y, s, x in (features_under_shift(4000, m, rng) for m in (0.0, 1.0))
    )
    plain, weighted = (
        estimate_performance(old, new, metrics=["brier"], method=method)["brier"]
        for method in ("calibrated", "density_ratio")
    )
    truth = cal.brier(new.labels, new.probs)
    assert weighted.low <= truth <= weighted.high
    assert not plain.low <= truth <= plain.high


def test_ratio_of_two_normal_densities() -> None:
    rng = np.random.default_rng(0)
    old, new = (rng.normal(mean, 1, (20_000, 1)) for mean in (0.0, 0.7))
    fake = [cal.Predictions(np.arange(20_000) % 2, np.full(20_000, 0.5) + 1e-3, features=x) for x in (old, new)]
    ratio = DensityRatio.fit(*fake).value
    wanted = np.exp(0.7 * old[:, 0] - 0.245)
    assert np.corrcoef(np.log(ratio), np.log(wanted))[0, 1] > 0.995
    assert ratio.mean() == pytest.approx(1, abs=0.03)


def test_counts_and_sketches_are_repeated_rows() -> None:
    counts = np.arange(1500) % 3 + 1
    rows = estimate_performance((np.repeat(YES, counts), np.repeat(SCORE, counts)), np.repeat(NEW, 2), n_resamples=300)
    counted = estimate_performance(
        cal.Predictions(YES, SCORE, counts=counts),
        cal.Predictions(np.arange(200) % 2, NEW, counts=np.full(200, 2)),
        n_resamples=300,
    )
    sketch = estimate_performance(
        cal.Sketch.of(cal.Predictions(YES, SCORE, counts=counts)),
        cal.Sketch.of(cal.Predictions(np.arange(200) % 2, NEW, counts=np.full(200, 2))),
        n_resamples=300,
    )
    assert rows.n == counted.n == sketch.n == 400
    for a, b, c in zip(rows.estimates, counted.estimates, sketch.estimates, strict=True):
        assert b.estimate == pytest.approx(a.estimate, abs=1e-9)
        assert c.estimate == pytest.approx(a.estimate, abs=1e-3)
        assert (b.high - b.low) == pytest.approx(a.high - a.low, rel=0.2)


def test_any_metric_of_the_catalogue() -> None:
    found = estimate_performance((YES, SCORE), NEW, metrics={"brier": cal.brier, "nll": cal.nll}, n_resamples=50)
    own = estimate_performance((YES, SCORE), NEW, metrics=["brier"], n_resamples=50)["brier"]
    assert (found["brier"].low, found["brier"].high) == pytest.approx((own.low, own.high), abs=1e-12)
    assert found["brier"].estimate == pytest.approx(own.estimate, abs=0.005)  # a mean over 50 sets of labels
    assert found["nll"].reference == pytest.approx(cal.nll(YES, SCORE))


@pytest.mark.parametrize("names", [("no", "yes"), None])
def test_text_labels_and_confidences(names: Any) -> None:
    if names:
        reference = cal.Predictions(np.array(names)[YES], SCORE, classes=names)
        plain = estimate_performance((YES, SCORE), NEW, n_resamples=20)
        assert estimate_performance(reference, NEW, n_resamples=20).to_dict() == plain.to_dict()
    else:
        reference = cal.Predictions(YES, SCORE, input="confidence")
        found = estimate_performance(reference, NEW, n_resamples=20)
        assert [each.metric for each in found.estimates] == ["accuracy", "brier"]
        assert found["accuracy"].reference == YES.mean()


def test_few_and_extreme_rows() -> None:
    """Reference data without an event, scores of exactly 0 and 1, equal scores, and one row."""
    for labels, score in (([0] * 50, SCORE[:50]), (YES[:50], SCORE[:50].round()), ([0, 1] * 4, SCORE[:8])):
        found = estimate_performance(
            cal.Predictions.derived(labels, score, classes=(0, 1)), [0.0, 1.0, 0.5], metrics=["accuracy", "brier"]
        )
        for each in found.estimates:
            assert -1e-12 <= each.low <= each.high <= 1 + 1e-12
            assert found["accuracy"].low < found["accuracy"].high
    alone = estimate_performance((YES, SCORE), [0.3])
    assert (alone["accuracy"].low, alone["accuracy"].high) == (0.0, 1.0)
    assert "precision" not in alone._columns()["metric"]


def test_result_states_what_it_estimates() -> None:
    for about, words in (("rows", "of these 200 rows"), ("population", "of the population of these 200 rows")):
        found = estimate_performance((YES, SCORE), NEW, metrics=["accuracy", "brier"], about=about, n_resamples=20)
        assert words in repr(found)
        assert words in found.words
        assert "assuming that labels occur as often" in found.words
        assert "cannot detect a change of the labels that leaves the scores unchanged" in repr(found)
        assert list(found.to_frame()["metric"]) == ["accuracy", "brier"]
        assert (
            restored_performance(
                json.loads(json.dumps({**vars(found), "estimates": [vars(e) for e in found.estimates]}))
            )
            == found
        )


def test_the_estimate_of_a_calibration_error_lies_in_its_interval() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = rng.random(400) < p
    found = cal.monitoring.estimate_performance((y, p), p, metrics={"ece": cal.ece}, n_resamples=100)["ece"]
    assert found.low < found.estimate < found.high


def test_counts_have_no_density_ratio() -> None:
    x = np.arange(40.0)[:, None]
    y, p = np.arange(40) % 2, np.linspace(0.1, 0.9, 40)
    counted = cal.Predictions(y, p, features=x, counts=np.full(40, 3))
    with raises(WeightsNotSupportedError, "counts"):
        cal.monitoring.estimate_performance(counted, cal.Predictions(y, p, features=x), method="density_ratio")


def test_firth_finds_its_maximum_by_the_derivatives_of_its_objective() -> None:
    """Of a curve with knots, and of a handful of rows, whose first step leaves no information."""
    eight = np.array([0.275, 0.3021, 0.6942, 0.0264, 0.0008, 0.3626, 0.2228, 0.4417])
    cases = [
        (eight, np.arange(8) == 2, np.array([2, 4, 4, 1, 2, 3, 1, 2]), np.array([])),
        (SCORE[:300], YES[:300], np.ones(300, int), np.array([-1.0, 0.0, 0.5, 1.0])),
    ]
    for score, label, count, knots in cases:
        groups = groups_of(View(score, label.astype(np.uint8), count, "counts"))
        design = spline_design(groups.score, knots, 1e-3)
        fit = fit_logistic(groups, design, firth=True)
        assert fit.converged

        def objective(theta: Any, groups: Any = groups, design: Any = design) -> float:
            mean = 1 / (1 + np.exp(-design @ theta))
            weight = groups.weight * mean * (1 - mean)
            loss = groups.events @ np.log(mean) + groups.others @ np.log(1 - mean)
            return float(loss + np.linalg.slogdet((weight[:, None] * design).T @ design)[1] / 2)

        for step in 1e-4 * np.eye(design.shape[1]):
            best, below, above = (objective(fit.coefficients + shift) for shift in (0, -step, step))
            assert best > max(below, above)
            assert abs(above - below) < 1e-7
        model, width = fit._model, 1e-5
        inner = fit._inner + 0.1  # away from the maximum, where terms of the derivative do not cancel
        differences = [
            (model.slopes(inner - d)[0] - model.slopes(inner + d)[0]) / (2 * width) for d in width * np.eye(len(inner))
        ]
        assert model.bend(inner, model.slopes(inner)[1]) == pytest.approx(np.array(differences), rel=1e-5, abs=1e-6)
