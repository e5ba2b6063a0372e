"""Intervals and p-values of groups: Holm over all groups of a metric, the worst groups first."""

import numpy as np
import pytest

import calibrant as cal

RNG = np.random.default_rng(4)
N = 1200
SCORE = RNG.choice([0.05, 0.2, 0.45, 0.8, 0.95], N)  # few distinct scores
SITE = RNG.choice(["a", "b", "c", "d"], N)
AGE = RNG.normal(60, 12, N)
Y = (RNG.random(N) < np.where(SITE == "c", SCORE**1.8, SCORE)).astype(int)
BY = {"site": SITE, "age/3": AGE}
LARGE = "calibration_in_the_large"


def holm(pvalues: list[float]) -> list[float]:
    """Holm (1979): the smallest of m p-values times m, the next times m - 1, ..., each at least as large as those before it."""
    adjusted = [0.0] * len(pvalues)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(pvalues)), key=lambda i: pvalues[i])):
        largest = max(largest, min(1.0, (len(pvalues) - rank) * pvalues[place]))
        adjusted[place] = largest
    return adjusted


@pytest.fixture(scope="module")
def found() -> cal.evaluation.Evaluation:
    return cal.evaluate(
        cal.Predictions(Y, SCORE, groups=BY), metrics=[LARGE, "ece"], level=0.9, assess=True, n_resamples=100
    )


def test_a_group_has_the_interval_and_p_value_of_its_rows(found: cal.evaluation.Evaluation) -> None:
    for name in "abcd":
        rows = name == SITE
        result = found.groups[f"site: {name}"].results[0]
        assert result.value == pytest.approx(SCORE[rows].mean() - Y[rows].mean(), abs=1e-12)
        tested = cal.assess(Y[rows], SCORE[rows], metric=LARGE)
        assert (tested.method, result.pvalue) == ("normal", tested.pvalue)
        own = cal.interval(Y[rows], SCORE[rows], metric=LARGE, level=0.9)
        assert (result.low, result.high) == (own.low, own.high)


def test_p_values_are_adjusted_over_all_groups_of_a_metric(found: cal.evaluation.Evaluation) -> None:
    assert len(found.groups) == 7
    for place in range(2):
        results = [part.results[place] for part in found.groups.values()]
        assert [r.adjusted for r in results] == pytest.approx(holm([r.pvalue for r in results]))  # type: ignore[misc]
        assert all(r.direction == "" for r in results if r.adjusted > 0.05)  # type: ignore[operator]
    assert all(result.adjusted is None for result in found.results)  # all rows are one test
    worst = found.worst_first(LARGE)
    assert worst[0] == "site: c"
    assert found.groups["site: c"].results[0].direction == "overestimates"
    tests = [(found.groups[key].results[0].adjusted, found.groups[key].results[0].pvalue) for key in worst]
    assert tests == sorted(tests)


def test_the_frame_has_the_groups_of_each_metric_worst_first(found: cal.evaluation.Evaluation) -> None:
    frame = found.to_frame()
    assert list(frame)[:3] == ["grouping", "group", "n"]
    assert {"value", "low", "high", "pvalue", "adjusted"} <= set(frame)
    assert list(frame["group"][:2]) == ["all", "all"]
    for place, metric in enumerate((LARGE, "ece")):
        part = frame[(frame["metric"] == metric) & (frame["grouping"] != "")]
        groups = [found.groups[key] for key in found.worst_first(place)]
        assert list(zip(part["grouping"], part["group"], strict=True)) == [(g.grouping, g.group) for g in groups]
        assert part["adjusted"].is_monotonic_increasing
    assert set(frame["grouping"]) == {"", "site", "age/3"}


def test_many_groups_can_be_significant_and_the_worst_ten_are_shown() -> None:
    """39 simulations alone would leave the smallest adjusted p-value of 12 groups at 12/40."""
    group = np.arange(N) % 12
    y = np.where(group == 7, SCORE < 0.5, Y).astype(int)
    found = cal.evaluate(cal.Predictions(y, SCORE, groups=group), metrics=["ece"], assess=True, n_resamples=39)
    assert found.groups[7].results[0].adjusted < 0.05  # type: ignore[operator]
    ((title, headings, rows),) = found.group_tables()
    assert title == "ece by group, worst first; p-values adjusted by Holm for 12 groups"
    assert (headings[0], rows[0][0], len(rows)) == ("group", "7", 10)
    assert "the worst 10 of 12 groups are shown" in found.notes()
    assert repr(found).count("\n7 ") == 1
    assert len(found.to_frame()) == 13


def test_small_and_undefined_groups_are_named() -> None:
    group = np.where(np.arange(N) < 9, "tiny", SITE)
    y = np.where(group == "a", 1, Y)
    words = {"metrics": ["cox_slope"], "level": 0.9, "assess": True, "n_resamples": 100}
    found = cal.evaluate(cal.Predictions(y, SCORE, groups=group), **words)  # type: ignore[arg-type]
    notes = "\n".join(found.notes())
    assert "tiny: fewer than 10 rows, so that intervals are not reliable" in notes
    assert "cox_slope of a" in notes
    tested = [part.results[0].adjusted for part in found.groups.values()]
    assert found.groups["a"].results[0].adjusted is None
    assert found.worst_first("cox_slope")[-1] in ("a", "tiny")
    assert sum(value is not None for value in tested) >= 3


def test_more_metrics_have_one_table_with_stars() -> None:
    found = cal.evaluate(
        cal.Predictions(Y, SCORE, groups=BY),
        metrics=[LARGE, "spiegelhalter_z", "ecce_mad", "ecce_r"],
        assess=True,
        n_resamples=39,
    )
    ((title, headings, rows),) = found.group_tables()
    assert "adjusted by Holm for the groups of each metric" in title
    assert headings[:3] == ["group", "rows", LARGE]
    assert rows[0][0] == "site: c"
    assert rows[0][2].endswith("*")
