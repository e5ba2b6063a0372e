"""compare: pairs are of the same rows, and what is infinite is not tested."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import calibrant as cal


def two_models() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    half = np.arange(200) < 100
    y = (rng.random(200) < 0.75).astype(int)
    return y, {"a": np.where(half, 0.9, 0.6), "b": np.where(half, 0.6, 0.9)}


def test_rows_that_differ_between_models_are_no_pairs() -> None:
    y, models = two_models()
    with pytest.raises(cal.ShapeError, match=r"leave different rows: 0.8 to 1.0 of top keeps row 0 of only one of 'a'"):
        cal.compare(y, models, where=cal.select.output(low=0.8), n_resamples=50)
    with pytest.raises(cal.ShapeError, match="different rows"):
        cal.compare(y, {**models, "c": models["a"]}, where=cal.select.output(low=0.95) | cal.select.output(high=0.7))


def test_the_row_named_is_that_of_the_rows_given() -> None:
    y, models = two_models()
    weight = np.ones(200)
    weight[:7] = 0
    with pytest.raises(cal.ShapeError, match="keeps row 7 of only one") as caught:
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
    assert "an infinite value has no difference that could be tested" in found.note
    assert alone.note == ""
    assert "nan" not in repr(found) + repr(worse) + found._repr_html_()
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["values"]["hard"], plain["differences"][0]["difference"]) == ("inf", "inf")
    assert plain["differences"][0]["pvalue"] is None
    assert plain["values"]["soft"] == found.values["soft"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"random_state": 0}, "random_state: is no argument of {} or brier; here it is rng"),
        ({"alpha": 0.05}, "alpha: is no argument of {} or brier; here it is level = 1 - alpha"),
        ({"n_resample": 100}, "n_resample: is no argument of {} or brier; did you mean 'n_resamples'"),
    ],
)
def test_unknown_words_are_answered_with_those_of_the_function(words: dict[str, Any], text: str) -> None:
    y, models = two_models()
    with pytest.raises(cal.UnknownArgumentError, match=text.format("compare")):
        cal.compare(y, models, **words)
    with pytest.raises(cal.UnknownArgumentError, match=text.format("interval")):
        cal.interval(y, models["a"], metric="brier", **words)
