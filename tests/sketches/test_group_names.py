"""Names of groups: the same column is read as integers, floats, truth values, dates or text, and its groups are the same."""

import datetime
import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.sketches.group_names import common_names, finder

DAYS = [datetime.date(2026, 1, 2), datetime.date(2026, 1, 3)]
# Names of two groups in one source, in another, and in both.
PAIRS: list[tuple[Any, Any, tuple[Any, ...]]] = [
    ([1, 2], ["1", "2"], ("1", "2")),
    ([1, 2], [1.0, 2.0], (1, 2)),
    ([1.0, 2.0], ["1", "2"], ("1", "2")),
    ([1, 2], [1, 0.5], (0.5, 1.0, 2.0)),
    ([0.5, 2.5], ["0.5", "2.5"], ("0.5", "2.5")),
    (np.array([1, 2], np.int8), [1, 2], (1, 2)),
    (np.array([np.int64(1), np.float32(2)], object), ["1", "2"], ("1", "2")),
    ([1, 2], ["01", "2"], ("01", "1", "2")),
    ([1, 2], ["1", "b"], ("1", "2", "b")),
    ([True, False], ["True", "False"], ("False", "True")),
    ([True, False], ["true", "false"], ("false", "true")),
    ([True, False], ["TRUE", "x"], ("FALSE", "TRUE", "x")),
    ([True, False], [False, True], (False, True)),
    ([True, False], [1, 0], ("0", "1", "False", "True")),
    ([np.True_, np.False_], ["true", "false"], ("false", "true")),
    (DAYS, ["2026-01-02", "2026-01-03"], ("2026-01-02", "2026-01-03")),
    (np.array(DAYS, "M8[D]"), DAYS, ("2026-01-02", "2026-01-03")),
    (pd.period_range("2026-01", periods=2, freq="M"), ["2026-01", "2026-02"], ("2026-01", "2026-02")),
    (pd.Categorical([1, 2]), ["1", "2"], ("1", "2")),
    (["a", "b"], ["b", "c"], ("a", "b", "c")),
    (["1", "1.0"], ["1", "b"], ("1", "1.0", "b")),
    ([2**60, 2**60 + 1], [str(2**60), "b"], (str(2**60), str(2**60 + 1), "b")),
    ([2**60, 2**60 + 1], [0.5, 2.0], ("0.5", str(2**60), str(2**60 + 1), "2")),
    ([1, 2], ["None", "nan"], ("1", "2", "None", "nan")),
]


def sketched(groups: Any) -> cal.Sketches:
    return cal.Sketches.of(cal.Predictions([0, 1], [0.2, 0.7], groups=groups))


@pytest.mark.parametrize(("one", "other", "both"), PAIRS)
def test_names_of_two_sources(one: Any, other: Any, both: tuple[Any, ...]) -> None:
    first, second = sketched(one), sketched(other)
    for merged in (first + second, second + first):
        assert [(type(name), name) for name in merged.groups] == [(type(name), name) for name in both]
        assert sum(merged.sketch(group=name).n for name in merged.groups) == merged.n == 4
        assert cal.Sketches.from_bytes(merged.to_bytes()) == merged
        assert merged.predictions().group_names == tuple(sorted(both))
        frame = cal.evaluate(merged, metrics=["ece"]).to_frame()
        assert {str(name) for name in both} <= set(frame["group"])
    assert (first + second).to_bytes() == (second + first).to_bytes()
    assert (first + first).groups == first.groups, "sources of one type keep their names"


@pytest.mark.parametrize(
    "sources", [([1, 2], ["1", "b"], [3.0, 1.0]), ([True], ["true"], [False]), ([1], [0.5], ["1"])]
)
def test_the_order_of_sources_does_not_matter(sources: tuple[list[Any], ...]) -> None:
    found = {
        json.dumps([part.groups for part in (((a + b) + c), (a + (b + c)))])
        for a, b, c in itertools.permutations(
            cal.Sketches.of(cal.Predictions([1] * len(s), [0.5] * len(s), groups=s)) for s in sources
        )
    }
    assert len(found) == 1


def test_a_group_is_found_by_any_of_its_names() -> None:
    numbers, texts = sketched([1, 2]), sketched(["1", "b"])
    assert numbers.sketch(group="1") == numbers.sketch(group="1.0") == numbers.sketch(group=np.int8(1))
    assert texts.sketch(group=1) == texts.sketch(group=1.0) == texts.sketch(group="1")
    for unknown in ("01", 3, "None", True):
        with pytest.raises(cal.errors.GroupError):
            texts.group(unknown)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT", "s")])
def test_a_missing_name_is_not_a_group(missing: Any) -> None:
    assert finder(["None", "nan", "NaT", "<NA>"])(missing) is None
    with pytest.raises(cal.errors.GroupError):
        sketched(np.array(["a", missing], object))


def test_nothing_to_name() -> None:
    assert common_names([]) == []
    assert finder([])("a") is None
