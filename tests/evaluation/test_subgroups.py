"""find_subgroups: the search equals an exhaustive enumeration, names select the rows that they name, and both tests hold."""

import math
import re
from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, CalibrantError
from calibrant.evaluation import subgroups
from calibrant.evaluation.features import encode_features
from calibrant.evaluation.subgroup_search import Space, evidence
from calibrant.views import View
from tests.calling import raises

DATES = pd.date_range("2023-01-01", periods=240, freq="D")


def unfriendly(n=240, seed=0):
    """Scores with ties, 0 and 1, and features with ties, missing values, rare categories, dates and infinite values."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(0.7, 0.9, n), 1)
    y = (rng.random(n) < score).astype(int)
    age = np.where(rng.random(n) < 0.1, np.nan, np.round(rng.normal(50, 20, n), 1))
    age[:2] = np.inf, -np.inf
    plan = rng.choice(np.array(["basic", "pro", "rare", None], object), n, p=[0.5, 0.35, 0.05, 0.1])
    frame = pd.DataFrame({"age": age, "plan": plan, "children": rng.integers(0, 3, n), "day": DATES[:n]})
    return frame, y, score


def satisfies(text, frame):
    """Rows that satisfy the text of a condition, read from the text alone."""
    number = r"(\S+)"
    if match := re.fullmatch(r"(\S+) is (missing|known)", text):
        missing = frame[match[1]].isna().to_numpy()
        return missing if match[2] == "missing" else ~missing

    def value(name, written):
        kind = frame[name].dtype.kind
        return np.datetime64(written) if kind == "M" else float(written) if kind in "if" else written

    with np.errstate(invalid="ignore"):
        if match := re.fullmatch(rf"{number} ≤ (\S+) < {number}", text):
            column = frame[match[2]].to_numpy()
            return (column >= value(match[2], match[1])) & (column < value(match[2], match[3]))
        name, sign, written = text.split(" ")
        column = frame[name].to_numpy()
        limit = value(name, written)
        return (
            {"≥": column >= limit, "<": column < limit, "=": column == limit}[sign] if sign != "=" else column == limit
        )


def exhaustive(space, frame, score, outcome, weight, kind, depth, min_rows):
    """Every conjunction of conditions on different features: its name and penalised evidence, by definition."""
    units = weight / (np.square(weight).sum() / weight.sum()) if kind == "importance" else weight
    masks = [satisfies(condition.text, frame) for condition in space.conditions]
    by_feature = [[i for i, c in enumerate(space.conditions) if c.feature == f] for f in range(frame.shape[1])]
    found = {}
    for count in range(1, depth + 1):
        conjunctions = [each for chosen in combinations(by_feature, count) for each in product(*chosen)]
        for conjunction in conjunctions:
            inside = np.logical_and.reduce([masks[place] for place in conjunction])
            if (weight[inside].sum() if kind == "counts" else inside.sum()) < min_rows:
                continue
            excess = math.fsum(units[inside] * (outcome - score)[inside])
            square = units**2 if kind == "importance" else units
            variance = max(math.fsum((square * score * (1 - score))[inside]), 1e-9)
            ratio = abs(excess) / variance
            bennett = variance * ((1 + ratio) * math.log1p(ratio) - ratio)
            found[" and ".join(space.conditions[place].text for place in conjunction)] = bennett - math.log(
                len(conjunctions)
            )
    return found


@pytest.mark.parametrize("kind", ["unit", "counts", "importance"])
def test_a_wide_beam_finds_what_exhaustive_enumeration_finds(kind):
    frame, y, score = unfriendly()
    rng = np.random.default_rng(1)
    weight = {"unit": np.ones(240), "counts": rng.integers(1, 4, 240), "importance": rng.gamma(2, size=240)}[kind]
    p = cal.Predictions(
        y, score, **{} if kind == "unit" else {"counts" if kind == "counts" else "sample_weight": weight}
    )
    space = Space(encode_features(frame, p, 4), 3, 10**6, 7, 1)
    view = View(score, y, None if kind == "unit" else weight, kind)
    rows = space.rows(view, np.arange(240), view.weights)
    found = {space.name(each.conditions): each.evidence for each in space.search([rows])}
    wanted = exhaustive(space, frame, score, y, np.asarray(weight, float), kind, 3, 7)
    assert found.keys() == wanted.keys()
    assert len(found) > 1000
    assert all(math.isclose(found[name], wanted[name], rel_tol=1e-6, abs_tol=1e-6) for name in wanted)
    assert space.size >= len(wanted)
    # The usual beam keeps the best one.
    narrow = Space(encode_features(frame, p, 4), 3, 20, 7, 1)
    assert narrow.search([rows])[0].evidence == pytest.approx(max(wanted.values()), abs=1e-6)


def planted(n=6000, seed=2):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 90, n), "plan": rng.choice(["basic", "pro"], n)})
    for place in range(6):
        frame[f"noise{place}"] = rng.normal(size=n)
    score = rng.uniform(0.1, 0.6, n)
    wrong = ((frame["age"] >= 60) & (frame["plan"] == "basic")).to_numpy()
    return frame, (rng.random(n) < score + 0.2 * wrong).astype(int), score, wrong


@pytest.mark.parametrize("method", ["split", "simulation"])
def test_a_planted_subgroup_is_found_and_described(method):
    frame, y, score, wrong = planted(3000)
    found = cal.find_subgroups(
        y, score, features=frame, method=method, max_features=2, n_resamples=19, alpha=0.1, rng=1
    )
    first = found[0]
    assert (first.mask == wrong).mean() > 0.95
    assert first.low <= first.gap <= first.high < 0
    inside = np.logical_and.reduce([satisfies(text, frame) for text in first.name.split(" and ")])
    assert np.array_equal(inside, first.mask)
    assert all(0.2 * wrong[each.mask].mean() > 0.02 for each in found)
    if method == "simulation":
        wanted = [inside.sum(), score[inside].mean(), y[inside].mean()]
        assert [first.rows, first.mean_score, first.rate] == pytest.approx(wanted)
        assert first.pvalue == 1 / 20
    columns = found.to_frame()
    assert columns["name"].tolist() == [each.name for each in found]
    assert found.to_dict()["subgroups"][0]["gap"] == first.gap


def test_counts_are_divided_as_the_rows_that_they_represent():
    frame, y, score, _ = planted(3000)
    twice = cal.find_subgroups(cal.Predictions(y, score, counts=np.full(3000, 2)), features=frame, max_features=1)
    assert twice.n + twice.n_tested == 6000
    assert abs(twice.n - 3000) < 200
    assert twice[0].rows <= 6000


def test_names_of_features_are_kept_and_the_outcome_is_not_a_feature():
    frame, y, score, _ = planted(3000)
    data = frame[["age"]].assign(y=y, p=score)
    named = cal.Predictions(data, label="y", prob="p", features=["age"])
    assert cal.find_subgroups(named, max_features=1)[0].name.split(" ")[0] == "age"
    assert cal.find_subgroups(named.take(slice(2900)), max_features=1)[0].name.split(" ")[0] == "age"
    for features in (data, data["y"], None):
        own = named if features is not None else cal.Predictions(data, label="y", prob="p", features=["y"])
        with raises(CalibrantError, "features"):
            cal.find_subgroups(own, features=features)
    with pytest.raises(CalibrantError, match="find_subgroups"):
        cal.Predictions(frame.assign(y=y, p=score), label="y", prob="p", features=["age", "plan"])


def test_features_without_conditions_have_no_subgroups():
    y, score = [0, 1] * 100, [0.4, 0.6] * 100
    for column in ([None] * 200, np.ones(200), [f"id{place}" for place in range(200)]):
        found = cal.find_subgroups(y, score, features={"a": column, "b": [np.nan] * 200}, method="simulation")
        assert (len(found), found.candidates) == (0, 0)


def test_several_classes_are_events_of_the_lens():
    rng = np.random.default_rng(3)
    n, plan = 4000, rng.choice(["basic", "pro"], 4000)
    probs = rng.dirichlet([2, 2, 2, 2], n)
    labels = np.array(["a", "b", "c", "d"])[(probs.cumsum(1) > rng.random((n, 1))).argmax(1)]
    labels[(plan == "pro") & (rng.random(n) < 0.4)] = "c"
    p = cal.Predictions(labels, probs, classes=["a", "b", "c", "d"])
    found = cal.find_subgroups(p, features={"plan": plan}, lens="classwise")
    assert ("plan = pro", "class:c") in {(each.name, each.lens) for each in found}
    assert "lens" in repr(found)
    assert cal.find_subgroups(p, features={"plan": plan})[0].lens == "top_label"


def test_rows_without_labels_are_left_out_of_the_features():
    frame, y, score, _ = planted(1000)
    labels = pd.Series(y, dtype=object)
    labels[::10] = None
    kept = np.arange(1000) % 10 > 0
    dropped = cal.find_subgroups(cal.Predictions(labels, score, missing="drop"), features=frame, max_features=1)
    apart = cal.find_subgroups(y[kept], score[kept], features=frame[kept], max_features=1)
    assert dropped == apart
    assert np.array_equal(dropped[0].mask[kept], apart[0].mask)
    assert not dropped[0].mask[~kept].any()
    p = cal.Predictions(labels, score, missing="drop")
    assert cal.brier(p, where=dropped[0].mask) == cal.brier(y[kept], score[kept], where=apart[0].mask)


@pytest.mark.parametrize("kind", ["unit", "counts"])
def test_an_interval_excludes_0_exactly_where_its_test_rejects(kind):
    rng, rejected = np.random.default_rng(4), 0
    for _ in range(60):
        n = int(rng.integers(3, 900))
        score = np.round(rng.beta(*rng.choice([0.3, 1, 3], 2), n), int(rng.integers(1, 4)))
        y = (rng.random(n) < np.clip(score + rng.choice([-0.05, 0, 0.05]), 0, 1)).astype(float)
        weight = rng.integers(1, 4, n).astype(float) if kind == "counts" else np.ones(n)
        part = View(score, y, None if kind == "unit" else weight, kind)
        gap = np.average(score - y, weights=weight)
        for pvalue, limits in subgroups._held_out_tests([part], 0.05):
            low, high = limits()
            assert low - 1e-9 <= gap <= high + 1e-9
            assert (pvalue <= 0.05) == (not low <= 0 <= high)
            rejected += pvalue <= 0.05
        searched = evidence(weight @ (y - score), weight @ (score * (1 - score)))
        low, high = subgroups._unrejected_gaps(part, evidence, 4.0)
        assert (searched > 4) == (not low <= 0 <= high)
    assert 10 < rejected < 50


def test_subgroups_that_are_not_significant_are_counted_and_not_listed():
    frame, _, score, _ = planted(1000)
    calibrated = np.random.default_rng(0).random(1000) < score
    found = cal.find_subgroups(calibrated, score, features=frame, max_subgroups=4, max_features=1)
    assert (len(found), found.candidates, found.to_frame().shape[0]) == (0, 4, 0)
    assert "No subgroup with a statistically significant gap at 5%; 4 others tested" in repr(found)


def test_frames_of_all_libraries_are_the_same_features():
    frame, y, score = unfriendly()
    frame["plan"] = frame["plan"].astype("category")
    p = cal.Predictions(y, score)
    wanted = [(f.name, f.labels(), f.code.tolist()) for f in encode_features(frame, p, 5)]
    other = pl.from_pandas(frame)
    masked = {name: np.ma.masked_array(frame[name], frame[name].isna()) for name in ("age", "children")}
    for each in (other, other.lazy(), other.to_arrow(), dict(frame.items())):
        assert [(f.name, f.labels(), f.code.tolist()) for f in encode_features(each, p, 5)] == wanted
    assert [f.code.tolist() for f in encode_features(masked, p, 5)] == [wanted[0][2], wanted[2][2]]


def test_rare_categories_are_pooled_and_said():
    names = [f"c{place % 30}" for place in range(600)]
    found = cal.find_subgroups([0, 1] * 300, [0.4, 0.6] * 300, features={"city": names}, min_rows=5)
    assert found.notes == ("city: 10 rare categories were not searched",)


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 19), (0.1, 9), (0.03, 33)])
def test_too_few_simulations_to_be_significant(alpha, least):
    rng = np.random.default_rng(0)
    score, feature = rng.random(200), rng.random(200)
    words = {"features": {"a": feature}, "method": "simulation", "alpha": alpha, "bins": 2}
    y = rng.random(200) < score * (feature > 0.5)
    assert len(cal.find_subgroups(y, score, n_resamples=least, **words)) > 0
    with raises(ArgumentError, "n_resamples"):
        cal.find_subgroups(y, score, n_resamples=least - 1, **words)
