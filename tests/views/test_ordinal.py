"""Ordered classes: the cumulative probabilities P(Y <= k), their order, their rounding and their tests."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal

NAMES = np.array(["poor", "fair", "good", "great"])
ALPHABETICAL = np.argsort(NAMES)


def sample(n: int, k: int, rng: np.random.Generator, decimals: int | None = None) -> tuple[Any, Any]:
    """Calibrated rows; with `decimals`, few distinct scores, many ties and exact zeros."""
    p = rng.dirichlet(np.full(k, 0.7), n)
    if decimals is not None:
        p = np.round(p, decimals)
        p[:, 0] = np.round(1 - p[:, 1:].sum(axis=1), decimals)
        p = p[p[:, 0] >= 0]
    path = np.cumsum(p, axis=1)
    return np.minimum((rng.random(len(p))[:, None] * path[:, -1:] > path).sum(axis=1), k - 1), p


@pytest.mark.parametrize(("k", "decimals"), [(3, None), (4, 1), (5, 2), (20, None), (2, None)])
def test_the_mean_brier_score_of_the_cuts_is_the_ranked_probability_score(k: int, decimals: int | None) -> None:
    y, p = sample(57, k, np.random.default_rng(k), decimals)
    by_cut = [cal.brier(y, p, lens=f"ordinal:{cut}") for cut in range(k - 1)]
    assert cal.ranked_probability(y, p) == pytest.approx(np.mean(by_cut), abs=1e-14)
    assert cal.brier(y, p, lens="ordinal") == pytest.approx(np.mean(by_cut), abs=1e-14)
    assert cal.brier(y, p, lens=cal.ordinal(combine="sum")) == pytest.approx(np.sum(by_cut), abs=1e-13)


@pytest.mark.parametrize("metric", ["ece", "smece", "ecce_mad", "nll", "mce", "cox_slope"])
def test_each_cut_is_the_binary_problem_of_its_sums(metric: str) -> None:
    rng = np.random.default_rng(3)
    y, p = sample(211, 4, rng)
    weight = rng.integers(1, 4, 211)
    for cut in range(3):
        expected = cal.catalogue[metric](cal.Predictions(y <= cut, p[:, : cut + 1].sum(axis=1), counts=weight))
        assert cal.catalogue[metric](cal.Predictions(y, p, counts=weight), lens=cal.ordinal(cut)) == pytest.approx(
            expected, abs=1e-9
        )


def test_sums_of_decimals_are_tied_and_lie_on_edges() -> None:
    """0.1 + 0.2 and 0.7 + 0.1 are not 0.3 and 0.8 in floating point."""
    rows = np.array([[0.1, 0.2, 0.7], [0.3, 0.0, 0.7], [0.7, 0.1, 0.2], [0.8, 0.0, 0.2]])
    (view,) = cal.ordinal(1).views(cal.Predictions([0, 1, 2, 1], rows))
    assert view.score.tolist() == [0.3, 0.3, 0.8, 0.8]
    bins = cal.calibration_curve([0, 1, 2, 1], rows, lens="ordinal:1", bins=10).table.rows
    assert bins.tolist() == [0, 0, 2, 0, 0, 0, 0, 2, 0, 0]


def test_sums_stay_in_the_unit_interval_and_keep_small_digits() -> None:
    rows = np.array(
        [[0.6, 0.4 + 4e-7, 0.0, 0.0], [1e-20, 3e-20, 1.0, 0.0], [0.5, 0.5 - 1e-18, 1e-18, 0.0], [0, 0, 0, 1]]
    )
    views = cal.views.lenses.parse_lens("ordinal", cal.Predictions([0, 1, 2, 3], rows)).views(
        cal.Predictions([0, 1, 2, 3], rows)
    )
    scores, rests = np.array([view.score for view in views]), np.array([view.rest for view in views])
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores, axis=0) >= 0).all()
    assert scores[:2, 1].tolist() == [1e-20, pytest.approx(4e-20, rel=1e-15)]
    assert rests[1, 2] == 1e-18
    assert cal.nll([2], rows[2:3], lens="ordinal:1") == pytest.approx(-np.log(1e-18), rel=1e-12)


def test_single_precision_is_summed_in_double() -> None:
    y, p = sample(300, 6, np.random.default_rng(5))
    single = p.astype(np.float32)
    (view,) = cal.ordinal(4).views(cal.Predictions(y, single))
    assert view.score == pytest.approx(single[:, :5].astype(np.float64).sum(axis=1), abs=1e-15)


def test_logits_give_the_sums_of_their_probabilities() -> None:
    rng = np.random.default_rng(6)
    z = rng.normal(size=(80, 4))
    y = rng.integers(0, 4, 80)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert cal.ece(cal.Predictions(y, z, input="logit"), lens="ordinal") == pytest.approx(
        cal.ece(y, p, lens="ordinal"), abs=1e-12
    )


class TestOrder:
    """Which order the classes have: ordered categories, numbers, the classes given; never that of column names."""

    y, p = sample(157, 4, np.random.default_rng(8))
    value = cal.ece(y, p, lens="ordinal:1")
    frame = pd.DataFrame(p, columns=NAMES)

    def test_given_classes(self) -> None:
        assert cal.ece(cal.Predictions(NAMES[self.y], self.p, classes=list(NAMES)), lens="ordinal:fair") == self.value

    def test_ordered_categories_reorder_the_columns(self) -> None:
        labels = pd.Series(pd.Categorical(NAMES[self.y], categories=NAMES, ordered=True))
        shuffled = self.frame[NAMES[ALPHABETICAL]]
        assert cal.ece(labels, shuffled, lens="ordinal:fair") == pytest.approx(self.value, abs=1e-15)
        columns = self.p[:, ALPHABETICAL]
        found = cal.ece(cal.Predictions(labels, columns, classes=NAMES[ALPHABETICAL]), lens="ordinal:fair")
        assert found == pytest.approx(self.value, abs=1e-15)
        expected = cal.ranked_probability(self.y, self.p)
        assert cal.ranked_probability(labels, shuffled) == pytest.approx(expected, abs=1e-15)
        assert cal.evaluate(labels, shuffled, metrics="ece", lens="ordinal").results[0].value == pytest.approx(
            cal.ece(self.y, self.p, lens="ordinal"), abs=1e-15
        )

    def test_enums_of_polars(self) -> None:
        polars = pytest.importorskip("polars")
        labels = polars.Series(NAMES[self.y].tolist(), dtype=polars.Enum(NAMES.tolist()))
        frame = polars.DataFrame({name: self.p[:, k] for k, name in enumerate(NAMES)})[list(NAMES[ALPHABETICAL])]
        assert cal.ece(labels, frame, lens="ordinal:fair") == pytest.approx(self.value, abs=1e-15)

    def test_numbers_as_names(self) -> None:
        stars = pd.DataFrame(self.p, columns=["p_1", "p_2", "p_5", "p_10"])[["p_10", "p_1", "p_2", "p_5"]]
        found = cal.ece(np.array([1, 2, 5, 10])[self.y], stars, lens="ordinal:2")
        assert found == pytest.approx(self.value, abs=1e-15)

    def test_a_list_of_columns_is_in_order(self) -> None:
        table = self.frame.assign(label=NAMES[self.y])
        assert cal.ece(cal.Predictions(table, label="label", prob=list(NAMES)), lens="ordinal:fair") == self.value


def test_inference_names_the_lens_and_selection_keeps_it() -> None:
    y, p = sample(150, 4, np.random.default_rng(2))
    assert cal.assess(y, p, metric="ece", lens="ordinal", n_resamples=19, rng=0).lens == "ordinal"
    found = cal.interval(y, p, metric="brier", lens="ordinal", n_resamples=200, rng=0)
    assert (found.lens, found.low < found.value < found.high) == ("ordinal", True)
    low = p[:, 0] > 0.2
    assert cal.ece(y, p, lens="ordinal", where=low) == cal.ece(y[low], p[low], lens="ordinal")


def test_sketches_have_the_cuts() -> None:
    y, p = sample(400, 4, np.random.default_rng(4))
    named = NAMES[y]
    kept = cal.Sketches.of(cal.Predictions(named, p, classes=list(NAMES)), lenses=["ordinal"])
    assert kept.lenses == ("ordinal:poor", "ordinal:fair", "ordinal:good")
    assert cal.ece(kept, lens="ordinal") == pytest.approx(cal.ece(y, p, lens="ordinal"), abs=1e-12)
    assert cal.reliability_diagram(kept, lens="ordinal:fair")["model"].lens == "ordinal:fair"


def test_panels_have_one_diagram_per_cut() -> None:
    y, p = sample(300, 4, np.random.default_rng(4))
    panels = cal.figures.ordinal_panels(cal.Predictions(NAMES[y], p, classes=list(NAMES)))
    assert [panel.name for panel in panels.models] == ["at most poor", "at most fair", "at most good"]
    expected = cal.reliability_diagram(y <= 1, p[:, 0] + p[:, 1])
    assert panels["at most fair"].rate == pytest.approx(expected["model"].rate, abs=1e-15, nan_ok=True)
    drawn = cal.reliability_diagram(cal.Predictions(NAMES[y], p, classes=list(NAMES)), lens="ordinal:fair").plot()
    assert drawn.get_xlabel() == "mean predicted probability of at most fair"
    assert drawn.get_ylabel() == "observed rate of at most fair"
    assert [panel.name for panel in cal.figures.ordinal_panels(y, p, show=[1]).models] == ["at most 1"]
    assert [panel.name for panel in cal.figures.ordinal_panels(y, p, show=2).models] == ["at most 0", "at most 2"]
    with pytest.raises(cal.errors.LensError, match="drop lens"):
        cal.figures.ordinal_panels(y, p, lens="ordinal:1")


def test_a_report_names_the_cuts_and_not_the_classes() -> None:
    y, p = sample(200, 4, np.random.default_rng(4))
    labels = pd.Series(pd.Categorical(NAMES[y], categories=NAMES, ordered=True))
    frame = pd.DataFrame(p, columns=NAMES)[NAMES[ALPHABETICAL]]
    found = cal.report(labels, frame, lens="ordinal", metrics=["ece"], recalibration=False, level=None)
    page = found.to_markdown()
    assert [name for name in NAMES if f"at most {name}" in found.to_html()] == ["poor", "fair", "good"]
    assert "3 cumulative probabilities have 3 diagrams; choose one with a lens such as ordinal" in page
    assert "Evaluated on: cumulative probabilities of ordered classes" in page
    assert "for each of 3 cuts, with Bonferroni correction" in page
    assert "Each cumulative probability is evaluated" in page


# (classes, decimals, rows): ordinary, ties and exact zeros, many classes; -4 stands for four classes of which two are rare.
DESIGNS = [
    (4, None, 150),
    (4, 1, 150),
    (12, None, 60),
    (-4, None, 150),
    pytest.param(100, None, 60, marks=pytest.mark.deep),
]


@pytest.mark.deep
@pytest.mark.parametrize(("k", "decimals", "n"), DESIGNS)
@pytest.mark.parametrize("metric", ["ecce_mad", "brier"])
def test_the_level_holds(k: int, decimals: int | None, n: int, metric: str, deep: bool) -> None:
    """With 19 simulated data sets, a test at 10% rejects if the value is among the two largest of 20."""
    repeats, rejected = ((100 if k == 100 else 600) if deep else 20), 0
    rng = np.random.default_rng(abs(k) + n)
    for number in range(repeats):
        if k < 0:
            p = rng.dirichlet([0.02, 0.05, 3.0, 3.0], n)
            y = (rng.random(n)[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        else:
            y, p = sample(n, k, rng, decimals)
        found = cal.assess(y, p, metric=metric, lens="ordinal", alpha=0.1, n_resamples=19, rng=number)
        rejected += found.pvalue <= 0.1
    spread = 4 * np.sqrt(0.1 * 0.9 * repeats)
    assert rejected <= 0.1 * repeats + spread
    assert rejected >= (0.1 * repeats - spread if deep else 0)
