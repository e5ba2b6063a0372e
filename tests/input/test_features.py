"""Features as columns: types, missing values, and the same columns from every form of data."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant.errors import CalibrantError
from calibrant.input.features import frequent_categories, quantile_ends, read_features

OBJECTS = [
    ([Decimal("1.5"), None, 2], "f", [1.5, np.nan, 2.0]),
    ([1, True, np.nan], "f", [1.0, 1.0, np.nan]),
    ([True, None, np.bool_(False)], "b", [1.0, np.nan, 0.0]),
    ([date(2024, 1, 2), None, date(2024, 1, 3)], "M", [19724.0, np.nan, 19725.0]),
    ([datetime(2024, 1, 2, 1, tzinfo=timezone(timedelta(hours=1))), None, None], "M", [19724.0, np.nan, np.nan]),
    (["2024-01-02", None, "2024-01-03 12:00:00Z"], "M", [19724.0, np.nan, 19725.5]),
    (["2024-01-02", "2024-02-30", ""], "O", None),
    (["2024", "2025", "today"], "O", None),
    (["a", 1, " "], "O", None),
    ([None, np.nan, ""], "O", [np.nan] * 3),
    (np.array(["a", "", "b"]), "O", None),
    (np.ma.masked_array([1, 2, 3], [False, True, False]), "i", [1.0, np.nan, 3.0]),
]


@pytest.mark.parametrize(("values", "kind", "numbers"), OBJECTS)
def test_types_of_values(values, kind, numbers):
    (column,) = read_features({"x": values}, 3)
    assert column.values.dtype.kind == kind
    found = column.numbers()
    assert found is None if numbers is None else np.array_equal(found, numbers, equal_nan=True)
    holes = [None, np.nan, "", " "]
    assert column.missing.tolist() == [
        value is np.ma.masked or any(value is hole or value == hole for hole in holes) for value in values
    ]


def test_categories_are_text_and_1_is_1_0():
    (column,) = read_features({"x": [1, 1.0, "b", None, True]}, 5)
    assert column.categories() == ["1", "1", "b", "", "True"]


def test_every_form_of_data_is_the_same():
    frame = pd.DataFrame({"x": [0.5, np.nan, 2.0], "plan": ["pro", None, "basic"]})
    forms = [frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy(), pl.from_pandas(frame).to_arrow(), dict(frame)]
    for each in [*forms, {name: frame[name].tolist() for name in frame}]:
        x, plan = read_features(each, 3)
        assert (x.name, plan.name) == ("x", "plan")
        assert np.array_equal(x.numbers(), [0.5, np.nan, 2], equal_nan=True)
        assert plan.categories() == ["pro", "", "basic"]
    rows = read_features(frame.values.tolist(), 3)
    assert [each.name for each in rows] == ["", ""]
    assert rows[1].categories() == ["pro", "", "basic"]
    assert [each.numbers()[2] for each in read_features([[1, 0], [2, 0], [3, 0]], 3)] == [3, 0]
    assert read_features(frame["plan"], 3)[0].name == "plan"
    assert read_features(frame, 3, np.array([0, 2]))[1].categories() == ["pro", "basic"]
    assert read_features(pd.DataFrame({0: [1], 1: [2]}), 1)[1].name == "1"


def test_what_cannot_be_read():
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    for features in (None, {}, twice, ["age", "plan"], [[1, 2], [3]], np.zeros((3, 2, 2)), "age"):
        with pytest.raises(CalibrantError) as error:
            read_features(features, 3)
        assert error.value.argument == "features"


def test_ranges_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(200):
        weight = rng.integers(1, 30, rng.integers(5, 40)).astype(float)
        ranges = int(rng.integers(2, 5))
        ends = quantile_ends(weight, ranges).tolist()
        for level, end in zip(range(1, ranges), ends, strict=True):
            below = [weight[: place + 1].sum() * ranges >= level * weight.sum() for place in range(len(weight) - 1)]
            assert end == (below.index(True) if any(below) else len(weight) - 2)


def test_frequent_categories_are_those_of_most_weight():
    assert frequent_categories(["a", "b", "b", "", "c"], np.array([2.5, 1, 1, 9, 1]), 2) == ("a", "b")
    assert frequent_categories([], np.ones(0), 2) == ()
