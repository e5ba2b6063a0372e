"""Resamples: counts stand for repeated rows, groups stay whole, and many resamples at once are the same as one by one."""

import warnings
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import CalibrantWarning, warn_caller
from calibrant.inference import cells
from calibrant.inference.pair_resampling import skce_draws, with_width_of_data
from calibrant.inference.replicates import many
from calibrant.inference.resampling import PredictionSampler, Resamples, values_on_resamples
from calibrant.inference.seeds import generator
from calibrant.metrics.kernel import pairs
from calibrant.metrics.kernel.pairs import Cloud, _median_distance
from tests.calling import call

Arrays = tuple[np.ndarray, np.ndarray]


def vectors(n: int, k: int, seed: int = 0, sure: float = 1.5) -> Arrays:
    rng = np.random.default_rng([n, k, seed])
    p = np.exp(sure * rng.normal(size=(n, k)))
    p /= p.sum(axis=1, keepdims=True)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), p


def counted() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.random(60)
    return (rng.random(60) < p).astype(int), p, rng.integers(0, 6, 60), np.repeat(np.arange(20), 3)


@pytest.mark.parametrize("words", [{"cluster": True}], ids=["cluster"])
@pytest.mark.parametrize("metric", ["brier", "ece", "esce"])
def test_counts_are_repeated_rows_to_the_last_bit(metric: str, words: dict[str, Any]) -> None:
    y, p, counts, groups = counted()
    draws: dict[str, Any] = {"metric": metric, "method": "percentile", "n_resamples": 200, "rng": 5, **words}
    found = call(cal.interval, y, p, counts=counts, groups=groups, **draws)
    y, p, groups = (np.repeat(values, counts) for values in (y, p, groups))
    written = call(cal.interval, y, p, groups=groups, **draws)
    assert found.sample is not None
    assert found.sample.tolist() == written.sample.tolist()  # type: ignore[union-attr]
    assert (found.low, found.high, found.n, found.note) == (written.low, written.high, written.n, written.note)
    assert found.low < found.value < found.high


def test_counts_are_repeated_rows_when_models_are_compared() -> None:
    y, p, counts, groups = counted()
    words: dict[str, Any] = {"n_resamples": 200, "rng": 1, "cluster": True}
    found = call(
        cal.compare,
        {
            "a": cal.Predictions(y, p, counts=counts, groups=groups),
            "b": cal.Predictions(y, p**2, counts=counts, groups=groups),
        },
        **words,
    )
    y, p, groups = (np.repeat(values, counts) for values in (y, p, groups))
    assert found == call(
        cal.compare, {"a": cal.Predictions(y, p, groups=groups), "b": cal.Predictions(y, p**2, groups=groups)}, **words
    )
    assert found.n == counts.sum()


@pytest.mark.parametrize(("groups", "few"), [(2, True), (19, True), (20, False)])
def test_few_groups_carry_a_note(groups: int, few: bool) -> None:
    y, p, _, _ = counted()
    words: dict[str, Any] = {"groups": np.arange(60) % groups, "cluster": True, "rng": 0, "n_resamples": 200}
    text = f"only {groups} groups: with few groups intervals are too short"
    assert (text in call(cal.interval, y, p, metric="brier", **words).note) is few
    compared = call(cal.compare, y, {"a": p, "b": p**2}, **words)
    assert compared.note.startswith(text) is few
    assert (f"note: {text}" in repr(compared)) is few
    assert compared.to_dict()["note"] == compared.note


OPTIONS: list[dict[str, Any]] = [
    {},
    {"bandwidth": 0.3},
    {"kernel": "gaussian"},
    {"kernel": "gaussian", "bandwidth": 0.05},
    {"distance": "l2"},
]


def one_by_one(sampler: PredictionSampler, options: dict[str, Any], count: int, seed: int) -> np.ndarray:
    options = with_width_of_data(cal.skce_uq, options, sampler)
    return np.array([sampler.resample(generator(seed, b), "rows").value(cal.skce_uq, options) for b in range(count)])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weights", ["none", "counts", "sample_weight", "groups"])
def test_all_resamples_at_once_are_as_one_by_one(weights: str, options: dict[str, Any]) -> None:
    y, p = vectors(90, 3)
    p[40:50] = p[30:40]  # equal predictions, not all with equal labels
    rng = np.random.default_rng(3)
    given = {"none": {}, "groups": {"groups": np.arange(90) // 3}, "counts": {"counts": rng.integers(0, 3, 90)}}
    words = given.get(weights, {"sample_weight": rng.random(90)})
    sampler = PredictionSampler(cal.Predictions(y, p, **words), cluster=weights == "groups")
    found = skce_draws(cal.skce_uq, options, [Resamples(sampler, "rows", 25, 7)])
    assert found is not None
    np.testing.assert_allclose(found, one_by_one(sampler, options, 25, 7), rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("k", [2, 3, 100])
@pytest.mark.parametrize("weights", ["none", "counts", "sample_weight"])
def test_all_simulated_labels_at_once_are_as_one_by_one(
    monkeypatch: pytest.MonkeyPatch, weights: str, k: int, options: dict[str, Any]
) -> None:
    monkeypatch.setattr("calibrant.inference.pair_resampling.TILE", 32)
    _, p = vectors(90, k)
    p[40:50], p[:3] = p[30:40], np.eye(k)[[0, 1, 1]]
    names = np.array([f"c{place:03}" for place in range(k)])
    words = {} if weights == "none" else {weights: np.arange(90) % 4}
    own = PredictionSampler(cal.Predictions(np.resize(names, 90), p, classes=names, **words))
    chance = own.class_chances**2
    sampler = own.with_chance(chance / chance.sum(axis=1, keepdims=True))
    found = skce_draws(cal.skce_uq, options, [Resamples(sampler, "outcomes", 10, 7)])
    assert found is not None
    one_each = values_on_resamples([(cal.skce_uq, options)], sampler, "outcomes", range(10), 7)[:, 0]
    np.testing.assert_allclose(found, one_each, rtol=0, atol=1e-12)
    found = skce_draws(cal.skce_uq, options, [Resamples(sampler, "population", 1, 7)])
    np.testing.assert_allclose(found, sampler.population_value(cal.skce_uq, options), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1001, 1500])
@pytest.mark.parametrize("sure", [0.3, 1.5, 6.0])
def test_widths_of_a_thousand_rows_and_more(n: int, sure: float) -> None:
    y, p = vectors(n, 4, sure=sure)
    sampler = PredictionSampler(cal.Predictions(y, p))
    found = skce_draws(cal.skce_uq, {}, [Resamples(sampler, "rows", 6, 0)])
    assert found is not None
    np.testing.assert_allclose(found, one_by_one(sampler, {}, 6, 0), rtol=0, atol=1e-12)


def test_two_classes_with_either_kernel_and_soft_labels() -> None:
    rng = np.random.default_rng(0)
    p, soft = rng.random(80), rng.random(80)
    sampler = PredictionSampler(cal.Predictions(soft, p, soft=True))
    for options in ({"kernel": "gaussian"}, {}):
        found = skce_draws(cal.skce_uq, options, [Resamples(sampler, "rows", 10, 0)])
        assert found is not None
        np.testing.assert_allclose(found, one_by_one(sampler, options, 10, 0), rtol=0, atol=1e-12)


def test_other_lenses_are_measured_one_by_one_and_tied_predictions_at_once() -> None:
    y, p = vectors(60, 3)
    sampler = PredictionSampler(cal.Predictions(y, p))
    assert skce_draws(cal.skce_uq, {"lens": "top_label"}, [Resamples(sampler, "rows", 5, 0)]) is None
    few = PredictionSampler(cal.Predictions(np.tile(y[:5], 12), np.tile(p[:5], (12, 1))))
    found = skce_draws(cal.skce_uq, {}, [Resamples(few, "rows", 5, 0)])
    np.testing.assert_allclose(found, one_by_one(few, {}, 5, 0), rtol=0, atol=1e-12)


def test_resamples_of_pairs_are_the_same_for_any_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = vectors(120, 3)
    words: dict[str, Any] = {"metric": "skce_uq", "rng": 2, "n_resamples": 200}
    found = call(cal.interval, y, p, **words)
    assert found.sample is not None
    monkeypatch.setattr("calibrant.inference.pair_resampling.COUNT_ENTRIES", 1000)
    monkeypatch.setattr("calibrant.inference.pair_resampling.TILE", 64)
    small = call(cal.interval, y, p, **words)
    np.testing.assert_allclose(small.sample, found.sample, rtol=0, atol=1e-14)  # type: ignore[arg-type]


def test_a_resample_without_pairs_has_no_value() -> None:
    y, p = vectors(3, 3)
    sampler = PredictionSampler(cal.Predictions(y, p, sample_weight=[1, 1e-14, 1e-14]))
    found = skce_draws(cal.skce_uq, {"bandwidth": 1.0}, [Resamples(sampler, "rows", 40, 0)])
    assert found is not None
    plain = one_by_one(sampler, {"bandwidth": 1.0}, 40, 0)
    assert np.isnan(plain).any()
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-12)


class Forgetful(dict[bytes, float]):
    """Keeps nothing."""

    def get(self, key: bytes, default: Any = None) -> Any:
        return default


@pytest.mark.parametrize("rows", [60, 1100])
def test_draws_of_labels_share_the_width_of_the_kernel(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    distances = pairs._distances

    def counting(points: np.ndarray, metric: str) -> np.ndarray:
        asked.append(len(points))
        return distances(points, metric)

    monkeypatch.setattr(pairs, "_KNOWN", {})
    monkeypatch.setattr(pairs, "_distances", counting)
    rng = np.random.default_rng(rows)
    p = rng.random((rows, 3))
    y = (rng.random((rows, 3)) < p).astype(int)
    words: dict[str, Any] = {"metric": "skce_uq", "multilabel": True, "n_resamples": 20, "rng": 0}
    found = call(cal.assess, y, p, **words)
    assert len(asked) == 3  # once for each label
    assert found.null is not None
    monkeypatch.setattr(pairs, "_KNOWN", Forgetful())
    again = call(cal.assess, y, p, **words)
    assert len(asked) == 3 + 3 * 21
    assert again.null is not None
    assert again.null.tobytes() == found.null.tobytes()


def test_a_width_is_kept_for_the_same_question_only() -> None:
    rng = np.random.default_rng(0)
    points, share = rng.dirichlet(np.ones(3), 30), np.full(30, 1 / 30)
    cloud = Cloud(points, share, points, share / 30, share, 30.0)
    wanted = np.median([np.abs(a - b).sum() for i, a in enumerate(points) for b in points[i + 1 :]])
    for _ in range(2):
        assert _median_distance(cloud, "cityblock", 1.0) == pytest.approx(wanted)
        assert _median_distance(cloud, "cityblock", 0.5) == pytest.approx(wanted / 2)
        assert _median_distance(cloud, "euclidean", 1.0) < wanted
        heavy = np.where(np.arange(30) < 2, 0.45, 0.1 / 28)
        two = cloud._replace(share=heavy, own=heavy**2)
        assert _median_distance(two, "cityblock", 1.0) == pytest.approx(np.abs(points[0] - points[1]).sum())
        apart = cloud._replace(points=points[::-1] ** 2)
        assert _median_distance(apart, "cityblock", 1.0) != pytest.approx(wanted)


def test_a_warning_about_a_resample_does_not_reach_the_user() -> None:
    """One event at the end of a simulated data set is an order of its rows, not of the user's."""
    y, p = np.zeros(40, dtype=int), np.full(40, 0.02)
    y[17] = 1
    found = cal.assess(y, p, metric="skce_ul", method="consistency", n_resamples=400)
    assert 0 < found.pvalue <= 1
    with pytest.warns(CalibrantWarning, match="sorted by labels"):
        cal.skce_ul(np.sort(y), p)


def test_resampling_in_threads_leaves_the_filters_of_warnings_as_they_were() -> None:
    """The filters belong to the process: two threads that change and restore them can leave calibrant silent for good."""
    entered, left = Event(), Event()
    before = list(warnings.filters)

    def first(number: int) -> None:
        entered.set()
        left.wait(10)

    thread = Thread(target=many, args=(first, 1))
    thread.start()
    entered.wait(10)
    with pytest.warns(CalibrantWarning, match="heard"):
        warn_caller("heard")  # only the resamples of the other thread are silent
    many(lambda _: left.set(), 1)
    thread.join()
    assert warnings.filters == before


def test_metrics_that_share_their_resamples_have_the_values_of_each_alone() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 2, 900)
    y = (rng.random(900) < p).astype(int)
    wanted = ["ece", "mce", "drmsce_bcs", "vce", "brier"]
    table = cal.evaluate(y, p, metrics=wanted, level=0.95, assess=True, n_resamples=200, rng=3)
    for result in table.results:
        alone = cal.interval(y, p, metric=result.metric, n_resamples=200, rng=3)
        test = cal.assess(y, p, metric=result.metric, n_resamples=200, rng=3)
        assert (result.value, result.low, result.high) == (alone.value, alone.low, alone.high)
        assert (result.value, result.pvalue) == (test.statistic, test.pvalue)


def test_what_is_shared_is_made_once_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "SHARED_BYTES", 10)
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    keys = ["a", "b", "a", "b"]
    with cells.sharing():
        assert [cells.shared(key, lambda key=key: make(key), 6) for key in keys] == keys  # type: ignore[misc]
    assert made == ["a", "b", "b"]  # no room for the second
    assert cells.shared("a", lambda: make("c")) == "c"
