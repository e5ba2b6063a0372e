"""compare: pairs are of the same rows, and what is infinite is not tested."""

import json
import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import comparison
from calibrant.inference.resampling import values_on_resamples
from calibrant.inference.seeds import generator
from calibrant.util.hashes import content_order
from tests.calling import call, raises


def two_models() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    half = np.arange(200) < 100
    y = (rng.random(200) < 0.75).astype(int)
    return y, {"a": np.where(half, 0.9, 0.6), "b": np.where(half, 0.6, 0.9)}


def test_rows_that_differ_between_models_are_no_pairs() -> None:
    y, models = two_models()
    with raises(cal.errors.ShapeError, "y_prob"):
        cal.compare(y, models, where=cal.select.output(low=0.8), n_resamples=50)
    with raises(cal.errors.ShapeError, "y_prob"):
        cal.compare(y, {**models, "c": models["a"]}, where=cal.select.output(low=0.95) | cal.select.output(high=0.7))


def test_the_row_named_is_that_of_the_rows_given() -> None:
    y, models = two_models()
    weight = np.ones(200)
    weight[:7] = 0
    with raises(cal.errors.ShapeError, "y_prob") as caught:
        cal.compare(y, models, where=cal.select.output(low=0.8), sample_weight=weight)
    assert caught.value.row == 7


def test_selections_that_keep_the_same_rows_are_compared() -> None:
    y, models = two_models()
    models["b"] = 0.9 * models["a"]
    chosen = cal.select.output(low=0.8)
    found = cal.compare(y, models, where=chosen, rng=0, n_resamples=50)
    mask = models["a"] >= 0.8
    assert found == cal.compare(y, models, where=mask, rng=0, n_resamples=50)
    assert found == cal.compare(y[mask], {name: p[mask] for name, p in models.items()}, rng=0, n_resamples=50)
    assert found.n == 100


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_an_infinite_value_is_not_tested() -> None:
    y, p = np.tile([0, 1, 1, 0], 25), np.tile([0.0, 1.0, 0.0, 0.0], 25)
    models = {"hard": p, "soft": np.clip(p, 0.1, 0.9), "flat": np.full(100, 0.5), "same": p}
    found = cal.compare(y, models, metric="nll", rng=0, n_resamples=200)
    worse, equal, fine = found["hard", "soft"], found["hard", "same"], found["soft", "flat"]
    assert worse.difference == math.inf
    assert all(map(math.isnan, (worse.low, worse.high, worse.pvalue, equal.difference, equal.pvalue)))
    assert fine.low < fine.difference < fine.high
    alone = cal.compare(y, {"soft": models["soft"], "flat": models["flat"]}, metric="nll", rng=0, n_resamples=200)
    assert fine == alone["soft", "flat"]
    assert "differences from an infinite value cannot be tested" in found.note
    assert alone.note == ""
    assert "nan" not in repr(found) + repr(worse) + found._repr_html_()
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["values"]["nll"]["hard"], plain["differences"][0]["difference"]) == ("inf", "inf")
    assert plain["differences"][0]["pvalue"] is None
    assert plain["values"]["nll"]["soft"] == found.values["nll"]["soft"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"random_state": 0}, "random_state: unexpected keyword of {}; use rng"),
        ({"n_resample": 100}, "n_resample: unexpected keyword of {}; did you mean 'n_resamples'"),
    ],
)
def test_unknown_words_are_answered_with_those_of_the_function(words: dict[str, Any], text: str) -> None:
    y, models = two_models()
    with pytest.raises(cal.errors.UnknownArgumentError, match=text.format("compare")):
        call(cal.compare, y, models, **words)
    with pytest.raises(cal.errors.UnknownArgumentError, match=text.format("interval")):
        call(cal.interval, y, models["a"], metric="brier", **words)


def test_several_metrics_are_those_of_single_comparisons() -> None:
    y, models = two_models()
    models["c"] = np.full(200, 0.7)
    found = cal.compare(y, models, metric=["brier", cal.catalogue["ece"], "nll"], bins=5, n_resamples=50)
    assert found.metrics == ("brier", "ece", "nll")
    assert len(found.to_frame()) == 9
    for name, options in {"brier": {}, "ece": {"bins": 5}, "nll": {}}.items():
        one = cal.compare(y, models, metric=name, n_resamples=50, **options)
        assert one.values[name] == found.values[name]
        assert [found[name, first, second] for first, second in ("ab", "ac", "bc")] == list(one.differences)
    assert found["b", "a"] == found["brier", "b", "a"]
    assert found["nll", "c", "a"].low == -found["nll", "a", "c"].high
    assert [line.split()[0] for line in repr(found).split("\n")[:3]] == ["brier", "ece", "nll"]
    with raises(cal.errors.ArgumentError, "pair"):
        found["smece", "a", "b"]
    with raises(cal.errors.ArgumentError, "metric"):
        cal.compare(y, models, metric=[])
    with raises(cal.errors.UnknownArgumentError, "bins"):
        cal.compare(y, models, metric=["brier", "nll"], bins=5)


def close_models(n: int, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Two that are equally far from calibrated: which is which is a toss of a coin."""
    rng = np.random.default_rng([n, seed])
    odds = 1.5 * rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    return y, {name: 1 / (1 + np.exp(-odds - 0.5 * rng.normal(size=n))) for name in "ab"}


@pytest.mark.parametrize("metric", ["ece_em", "ece", "brier"])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_the_interval_and_the_p_value_say_the_same(metric: str, level: float, deep: bool) -> None:
    for seed in range(8 if deep else 3):
        y, models = close_models(60, seed)
        found = cal.compare(y, models, metric=metric, level=level, n_resamples=199, rng=seed)["a", "b"]
        assert (found.low > 0 or found.high < 0) == (found.pvalue <= 1 - level + 1e-12)
        assert (found.low + found.high) / 2 == pytest.approx(found.difference, abs=1e-14)


def test_the_interval_is_as_wide_as_resampled_differences_stray() -> None:
    y, models = close_models(60, 1)
    found = cal.compare(y, models, metric="ece", level=0.9, n_resamples=99, rng=0)["a", "b"]
    order = content_order(*(column for name in "ab" for column in cal.Predictions(y, models[name]).content))
    off = []
    for number in range(99):
        at = order[generator(0, number).integers(60, size=60)]
        off.append(abs(cal.ece(y[at], models["a"][at]) - cal.ece(y[at], models["b"][at]) - found.difference))
    assert found.high - found.difference == pytest.approx(sorted(off)[-10])
    assert found.pvalue == pytest.approx((1 + sum(o >= abs(found.difference) for o in off)) / 100)


@pytest.mark.parametrize(("level", "least"), [(0.9, 9), (0.95, 19), (0.99, 99)])
def test_no_interval_from_fewer_resamples_than_its_level_needs(level: float, least: int) -> None:
    """With fewer, the largest of them was the limit: 0 lay outside a 95% interval while p was 0.5."""
    y, models = close_models(60, 0)
    with pytest.raises(cal.errors.ArgumentError, match=f"must be at least {least} for a level of {level}"):
        cal.compare(y, models, level=level, n_resamples=least - 1)
    for seed in range(20):
        found = cal.compare(y, models, level=level, n_resamples=least, rng=seed)["a", "b"]
        assert (found.low > 0 or found.high < 0) == (found.pvalue <= 1 - level + 1e-12)


def one_by_one(plans: Any, sampler: Any, draws: Any, count: int, seed: int) -> Any:
    return values_on_resamples(plans, sampler, draws, range(count), seed)


@pytest.mark.parametrize(
    "more", [{}, {"sample_weight": True}, {"counts": True}, {"cluster": True}, {"lens": "top_label"}]
)
def test_replicates_from_few_columns_are_those_of_whole_rows(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    n, k = 180, 4
    models = {name: rng.dirichlet(np.ones(k), n) for name in ("a", "b")}
    models["a"][:20] = np.eye(k)[models["a"][:20].argmax(axis=1)]
    y = rng.integers(0, k, n)
    y[:20] = models["a"][:20].argmax(axis=1)
    options = dict(more)
    options |= {word: rng.integers(1, 4, n) for word in ("sample_weight", "counts") if word in more}
    options |= {"groups": rng.integers(0, 30, n)} if "cluster" in more else {}

    def found() -> list[dict[str, Any]]:
        return [call(cal.compare, y, models, metric=m, n_resamples=30, rng=2, **options).to_dict() for m in ("nll", "brier", "ece", "smece")]  # fmt: skip

    short = found()
    monkeypatch.setattr(comparison, "resampled_values", one_by_one)
    monkeypatch.setattr(comparison, "sampler_of", lambda metric, options, sampler: sampler)
    for one, other in zip(short, found(), strict=True):
        for own, wanted in zip(one["differences"], other["differences"], strict=True):
            numbers = ("difference", "low", "high", "pvalue")
            assert [own[name] for name in numbers] == pytest.approx([wanted[name] for name in numbers], rel=1e-9)


def test_errors_about_labels_name_no_model() -> None:
    y, p = np.arange(40) % 2, np.linspace(0.1, 0.9, 40)
    with pytest.raises(cal.errors.LabelError) as labels:
        cal.compare([*y[:-1], 7], {"old": p, "new": p})
    assert "model" not in str(labels.value)
