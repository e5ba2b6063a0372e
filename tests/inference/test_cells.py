"""Rows counted in cells before drawing: the distribution is that of rows, wherever the scores lie."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import calibrant as cal
from calibrant.inference import sampler_choice
from calibrant.inference.cells import BIN_CELLS, CellSampler
from calibrant.inference.resampling import RowSampler
from calibrant.inference.sampler_choice import Trial, changes, choose_sampler, grids
from tests.calling import call

Arrays = tuple[np.ndarray, np.ndarray]


def rows(distribution: str, n: int = 3000) -> Arrays:
    rng = np.random.default_rng([n, len(distribution)])
    distributions = {
        "spread": lambda: rng.random(n),
        "rare": lambda: rng.beta(2, 1000, n),
        "rarer": lambda: rng.beta(1, 99, n),
        "tight": lambda: rng.uniform(0.3, 0.301, n),
        "sure": lambda: 1 - rng.beta(1, 300, n),
        "ties": lambda: rng.beta(2, 50, n).round(3).clip(0.001, 1),
    }
    p = distributions[distribution]()
    return (rng.random(n) < p).astype(int), p


def check_draws(function: Any, *data: Any, **keywords: Any) -> tuple[Any, Any]:
    """Draws in cells and of rows are of one distribution, as far as so many can tell: cells that are too wide are off by far more. The results of both."""
    found, single = (
        call(function, *data, rng=rng, exact=exact, n_resamples=200, **keywords)
        for rng, exact in enumerate((False, True))
    )
    cells, rows = (each.null if function is cal.assess else each.sample for each in (found, single))
    assert ks_2samp(cells, rows).pvalue > 1e-4
    return found, single


METRICS = ["ece", "ece_em", "hosmer_lemeshow", "ece_lb", "ece_knn", "cce", "dce", "dici", "ecce_mad"]


@pytest.mark.deep
@pytest.mark.parametrize("distribution", ["rare", "tight", "sure", "ties"])
@pytest.mark.parametrize("metric", METRICS)
def test_outcomes_drawn_in_cells_have_the_distribution_of_rows(metric: str, distribution: str) -> None:
    found, single = check_draws(cal.assess, *rows(distribution, 4000), metric=metric, method="consistency")
    assert abs(found.pvalue - single.pvalue) < 0.16  # four standard errors at one half


@pytest.mark.deep
@pytest.mark.parametrize("distribution", ["spread", "rare", "tight"])
@pytest.mark.parametrize("metric", METRICS)
def test_rows_drawn_in_cells_have_the_distribution_of_rows(metric: str, distribution: str) -> None:
    check_draws(cal.interval, *rows(distribution, 4000), metric=metric, method="percentile")


@pytest.mark.parametrize("method", ["consistency", "resampled_scores"])
def test_counts_and_several_classes(method: str) -> None:
    y, p = rows("rare", 2000)
    counts = np.random.default_rng(1).integers(1, 5, 2000)
    sure = rows("sure", 4000)[1]
    three = np.column_stack([sure, 0.6 * (1 - sure), 0.4 * (1 - sure)])
    labels = (np.random.default_rng(1).random((4000, 1)) > three.cumsum(axis=1)).sum(axis=1)
    for data, more in (((y, p), {"counts": counts}), ((labels, three), {})):
        found, single = check_draws(cal.assess, *data, metric="ece_em", method=method, **more)
        assert "as counts per cell" in found.null_distribution
        assert "row by row" in single.null_distribution


def test_errors_of_one_sign_are_not_taken_for_sums() -> None:
    """Gaps of the same sign add up to the same in any bins, but those that chance gives have both."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 1000, 5000)
    y = (rng.random(5000) < p / 3).astype(int)
    assert cal.ece_em(y, p) == pytest.approx(p.mean() - y.mean(), rel=0.3)
    check_draws(cal.assess, y, p, metric="ece_em", method="consistency")


@pytest.mark.parametrize("bins", [15, 7, [0, 0.123, 0.7, 1], 40])
@pytest.mark.parametrize("distribution", ["spread", "rare"])
def test_bins_of_equal_width_are_made_of_whole_cells(distribution: str, bins: Any) -> None:
    y, p = rows(distribution)
    data = cal.Predictions(y, p)
    sampler = choose_sampler([(cal.ece, {"bins": bins})], data, exact=False)
    assert isinstance(sampler, CellSampler)
    assert sampler.whole().value(cal.ece, {"bins": bins}) == pytest.approx(cal.ece(y, p, bins=bins), rel=1e-12)
    assert sampler.count <= {15: BIN_CELLS, 7: 301, 40: 320}.get(bins if isinstance(bins, int) else 0, BIN_CELLS + 2)


def test_several_numbers_of_bins_share_their_cells() -> None:
    y, p = rows("spread")
    view = cal.ece.views(y, p)[0]
    first = next(grids(view, [(cal.ece, {"bins": 7}), (cal.ece, {"bins": [10, 20]})]))
    assert isinstance(first, cal.EqualWidth)
    assert first.bins == 420  # a multiple of 7, 10 and 20
    many = next(grids(view, [(cal.ece, {"bins": 7}), (cal.ece, {"bins": 299})]))
    assert isinstance(many, cal.EqualWidth)
    assert many.bins == BIN_CELLS


def test_cells_cut_by_rank_are_parts_of_both_kinds_of_bins() -> None:
    y, p = rows("spread", 5000)
    view = cal.ece.views(y, p)[0]
    rules = list(grids(view, [(cal.ece_em, {})]))
    assert len(rules) == 4
    for rule in rules[1:]:
        whole = CellSampler(view, rule).whole()
        for metric in (cal.ece, cal.ece_em):
            assert whole.value(metric, {}) == pytest.approx(metric(y, p), rel=1e-12)


def test_where_no_cells_will_do_rows_are_drawn() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(2, 1000, 5000)
    data = cal.Predictions((rng.random(5000) < p).astype(int), p)
    assert isinstance(choose_sampler([(cal.dce, {})], data, exact=False), RowSampler)
    assert isinstance(choose_sampler([(cal.ece, {})], data, exact=False), CellSampler)
    assert isinstance(choose_sampler([(cal.ece, {}), (cal.dce, {})], data, exact=False), RowSampler)


def test_scores_that_vary_more_than_outcomes_are_drawn_again_as_they_are() -> None:
    p = np.random.default_rng(0).uniform(0.3, 0.301, 3000)
    found = cal.interval(np.zeros(3000, int), p, metric="ece", method="percentile", rng=0, n_resamples=200)
    assert found.high - found.low == pytest.approx(2 * 1.96 * p.std() / np.sqrt(3000), rel=0.25)


def test_the_choice_does_not_depend_on_the_seed() -> None:
    y, p = rows("rare")
    words: dict[str, Any] = {"metric": "ece_em", "method": "percentile", "n_resamples": 200}
    one, again = (call(cal.interval, y, p, rng=3, **words) for _ in range(2))
    assert one.sample is not None
    assert again.sample is not None
    assert one.sample.tolist() == again.sample.tolist()
    samplers = [choose_sampler([(cal.ece_em, {})], cal.Predictions(y, p), False, "rows") for _ in range(2)]
    assert [type(sampler) for sampler in samplers] == [CellSampler] * 2
    assert samplers[0].rows.tolist() == samplers[1].rows.tolist()  # type: ignore[attr-defined]


def test_how_far_cells_change_a_metric() -> None:
    single = np.array([[1.0, 0.0, np.inf], [2.0, 0.0, 5.0], [4.0, 0.0, np.nan]])
    shift, noise = changes(single, single.copy())
    assert shift.tolist() == noise.tolist() == [0, 0, 0]
    shift, noise = changes(single[:, :1], single[:, :1] + [[0.1], [-0.1], [0.3]])
    assert shift[0] == pytest.approx(0.1 / np.std([1, 2, 4]))
    assert noise[0] == pytest.approx(np.sqrt(0.11 / 3) / np.std([1, 2, 4]))
    assert changes(np.zeros((3, 1)), np.full((3, 1), 1e-6))[1][0] == np.inf
    for lost in (np.nan, np.inf):
        assert changes(single[:, :1], np.array([[1.0], [lost], [4.0]]))[1][0] == np.inf
    # Equal values decide whether one draw is as large as another, and must stay equal.
    level = np.array([[1.0], [2.0], [1.0]])
    assert changes(level, level + 1e-6)[1][0] == np.inf
    assert changes(level, level + 1e-13)[1][0] == 0


def test_more_samples_tell_where_the_first_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = rows("spread", 30_000)
    asked: list[int] = []
    values = Trial.values

    def counting(self: Trial, sampler: Any, pilots: int) -> Any:
        asked.append(pilots)
        return values(self, sampler, pilots)

    monkeypatch.setattr(Trial, "values", counting)
    data = cal.Predictions(y, p)
    choose_sampler([(cal.ece, {})], data, exact=False)
    assert asked == []
    choose_sampler([(cal.ecce_l2, {})], data, exact=False)
    assert set(asked) == {sampler_choice.PILOTS}
    asked.clear()
    choose_sampler([(cal.ece_em, {})], data, False, "rows")
    assert max(asked) == sampler_choice.MOST_PILOTS
