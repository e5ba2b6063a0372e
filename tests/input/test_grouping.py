"""Groups of rows by columns, quantiles, SQL expressions, and their combinations, from frames, mappings and arrays."""

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.input.grouping import groups_of, parse_by, split_items
from calibrant.input.weights import read_groups
from tests.calling import raises

RNG = np.random.default_rng(0)
N = 240
FRAME = pd.DataFrame(
    {
        "y": RNG.integers(0, 2, N),
        "p": RNG.random(N),
        "contract": RNG.choice(["month", "year", "two years"], N),
        "tenure": RNG.integers(0, 72, N),
        "age": RNG.normal(50, 15, N),
        "senior": RNG.random(N) < 0.3,
        "day": pd.Timestamp("2023-11-01") + pd.to_timedelta(RNG.integers(0, 200, N), "D"),
        "few": RNG.choice([0, 1, 2], N, p=[0.7, 0.2, 0.1]),
        "same": np.ones(N),
        'a "b", c/4': RNG.choice(["u", "v"], N),
        "text": RNG.choice(["3", "14"], N),
    }
)


def grouped(by: Any, frame: Any = FRAME) -> cal.Predictions:
    return cal.Predictions(frame, label="y", prob="p", groups=by)


def members(p: cal.Predictions) -> dict[Any, set[int]]:
    """The rows of each group, by its name among those of all groupings."""
    return {g.labels[place]: set(rows.tolist()) for g, place, rows in groups_of(p)}


def quantile_groups(values: list[float], count: int) -> list[int]:
    """Index of the group of each value: how many of the edges lie below it; edge k is the smallest value with at least k/count below or at it."""
    edges = []
    for k in range(1, count):
        for candidate in sorted(values):
            at_most = sum(value <= candidate for value in values)
            if at_most * count >= k * len(values):
                edges.append(candidate)
                break
    return [sum(edge < value for edge in set(edges)) for value in values]


@pytest.mark.parametrize("name", ["tenure", "age", "few", "same"])
@pytest.mark.parametrize("count", [2, 7])
def test_quantile_groups_are_those_of_the_definition(name: str, count: int) -> None:
    values = FRAME[name].tolist()
    expected: dict[int, set[int]] = {}
    for row, group in enumerate(quantile_groups(values, count)):
        expected.setdefault(group, set()).add(row)
    p = grouped(f"{name}/{count}")
    found = members(p)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected.values()))
    for label, rows in found.items():
        low, _, high = str(label).removeprefix(f"{name} ").partition(" to ")
        held = [values[row] for row in rows]
        assert float(low) == pytest.approx(min(held), rel=1e-2)
        assert float(high or low) == pytest.approx(max(held), rel=1e-2)
    fewer = f"{name}/{count}: {len(found)} group{'s' if len(found) > 1 else ''} instead of {count}"
    note = p.groupings[0].note
    assert note.startswith(fewer) if len(found) < count else note == ""


def test_counts_are_repeated_rows() -> None:
    counts = RNG.integers(0, 5, N)
    rows = np.repeat(np.arange(N), counts)
    short = cal.Predictions(FRAME, label="y", prob="p", groups="tenure/4", counts=counts)
    long = grouped("tenure/4", FRAME.iloc[rows].reset_index(drop=True))
    assert [g.groups for g in short.groupings] == [g.groups for g in long.groupings]


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("contract", {"contract": ("month", "two years", "year")}),
        ("senior", {"senior": (False, True)}),
        ("contract, few", {"contract": ("month", "two years", "year"), "few": (0, 1, 2)}),
        (["contract", "few/2"], {"contract": ("month", "two years", "year"), "few/2": ("few 0", "few 1 to 2")}),
        ("contract, contract", {"contract": ("month", "two years", "year")}),
        ("age >= 65, few = 1", {"age >= 65": ("false", "true"), "few = 1": ("false", "true")}),
        ("year(day)", {"year(day)": (2023, 2024)}),
        ("AGE >= 65", {"AGE >= 65": ("false", "true")}),
        ("(few/2)", {"(few/2)": (0.0, 0.5, 1.0)}),
        ("few // 2", {"few // 2": (0, 1)}),
        ("coalesce(contract, 'x, y') in ('month', 'a x b')", {"coalesce(contract, 'x, y') in ('month', 'a x b')": ("false", "true")}),
        ("same/3", {"same/3": ("same 1",)}),
        ('a "b", c/4', {'a "b", c/4': ("u", "v")}),
        ('"a ""b"", c/4", few', {'a "b", c/4': ("u", "v"), "few": (0, 1, 2)}),
        ('"a ""b"", c/4" = \'u\'', {'"a ""b"", c/4" = \'u\'': ("false", "true")}),
        ("senior x few/2", {"senior x few/2": ("False, few 0", "False, few 1 to 2", "True, few 0", "True, few 1 to 2")}),
        ("day/2", {"day/2": None}),
    ],
)  # fmt: skip
def test_what_by_means(by: Any, names: dict[str, Any]) -> None:
    p = grouped(by)
    if "senior" in by or "day" in by:
        assert members(p) == members(grouped(by, pl.from_pandas(FRAME)))
    assert {g.name: g.groups for g in p.groupings if names[g.name] is not None} == {
        name: groups for name, groups in names.items() if groups is not None
    }
    assert list(names) == [g.name for g in p.groupings]
    for grouping in p.groupings:  # each grouping divides all rows
        rows = np.concatenate([rows for g, _, rows in groups_of(p) if g is grouping])
        assert sorted(rows.tolist()) == list(range(N))


def test_mappings_and_frames_have_one_grouping_in_each_column() -> None:
    plain = members(grouped(["contract", "tenure/4"]))
    of_arrays = {"contract": FRAME.contract.to_numpy(), "tenure/4": FRAME.tenure.tolist()}
    assert members(cal.Predictions(FRAME.y, FRAME.p, groups=of_arrays)) == plain
    both = cal.Predictions(FRAME.y, FRAME.p, groups=FRAME[["contract", "few"]])
    assert members(both) == members(grouped("contract, few"))
    with pytest.raises(cal.errors.ShapeError):
        cal.Predictions(FRAME.y, FRAME.p, groups=np.zeros((N, 2)))
    with raises(cal.errors.ArgumentError, "groups"):
        cal.Predictions(FRAME.y, FRAME.p, groups={"contract": None})
    with raises(cal.errors.InputError, "groups"):
        cal.Predictions(FRAME.y, FRAME.p, groups={"contract": FRAME.contract.iloc[::-1]})


def test_metrics_of_groups_use_the_combinations() -> None:
    crossed = FRAME.contract + FRAME.senior.astype(str)
    several = cal.fece(cal.Predictions(FRAME, label="y", prob="p", groups=["contract", "senior"]))
    assert several == cal.fece(cal.Predictions(FRAME.y, FRAME.p, groups=crossed))


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("contrct", "unknown column 'contrct'; did you mean 'contract'?"),
        ("tenur/4", "unknown column 'tenur'; did you mean 'tenure'?"),
        ("text/4", "text/4: quantile groups require numbers or dates, and the column holds text"),
        ("senior/2", "senior/2: quantile groups require numbers or dates, and the column holds bool"),
        ("tenure/1", "at least 2 quantile groups are required"),
        ("contract,", "has an empty item"),
        ("", "has an empty item"),
        ("agee > 3", "unknown column 'agee'"),
        ("age > limit", "syntax error"),
        ("age > many", "unknown column 'many'"),
        ("age >", "not a valid SQL expression"),
        ("'x", "quotation mark without its counterpart"),
        ("1 = 1", "names no column"),
        ("sum(age)", "has 1 values for 240 rows"),
        ("age in (select 1)", "without subqueries"),
        ("age) FROM rows; drop table x; SELECT (1", "SQL expression"),
        ("contract + 1", "No function matches"),
    ],
)
def test_bad_groups_are_named(by: str, message: str) -> None:
    with pytest.raises(cal.CalibrantError) as caught:
        cal.evaluate(cal.Predictions(FRAME, label="y", prob="p", groups=by), metrics="brier")
    assert str(caught.value).startswith("groups: ")
    assert message in str(caught.value)


def test_missing_values_are_an_error_unless_they_are_named() -> None:
    frame = FRAME.astype({"contract": object}).copy()
    frame.loc[3, "contract"] = None
    frame.loc[[5, 8], "age"] = np.nan
    for table in (frame, pl.from_pandas(frame)):
        for by, row in (("contract", 3), ("few, contract", 3), ("age/3", 5), ("age >= 65", 5)):
            with pytest.raises(cal.errors.GroupError, match=rf"^groups: .*missing .*row {row}"):
                grouped(by, table)
        found = members(grouped("age is null, coalesce(contract, 'none')", table))
        assert found["age is null: true"] == {5, 8}
        assert found["coalesce(contract, 'none'): none"] == {3}


def test_items_are_split_outside_of_quotes_and_brackets() -> None:
    assert split_items("a, round(b, 2), 'x, y' = c") == ["a", "round(b, 2)", "'x, y' = c"]
    (crossed,) = parse_by("x x tenure/4", ["x", "tenure"])
    assert [(f.kind, f.column, f.number) for f in crossed] == [("column", "x", 0), ("quantiles", "tenure", 4)]
    ((exact,),) = parse_by("tenure/4", ["tenure", "tenure/4"])
    assert exact.kind == "column"


def test_many_groups() -> None:
    n = 5000
    many = np.arange(n) % 1500
    p = cal.Predictions(RNG.integers(0, 2, n), RNG.random(n), groups={"many": many, "three": many % 3})
    assert [len(g.groups) for g in p.groupings] == [1500, 3]
    assert len(members(p)) == 1503


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, object])
def test_whole_numbers_are_groups_in_increasing_order_whatever_their_range(kind: Any) -> None:
    limits = np.iinfo(np.int64 if kind is object else kind)
    for values in ([limits.min, limits.max, limits.min, 5], [limits.max, limits.max - 2, limits.max], [7]):
        code, names = read_groups(np.array(values, kind), len(values))
        assert code is not None
        assert names == tuple(sorted(set(values)))
        assert {type(name) for name in names} == {int}
        assert [names[place] for place in code] == values


def test_days_in_nanoseconds_are_days() -> None:
    """As pandas stores them; two times within a microsecond are still two groups."""
    days = np.array(["2024-01-02", "2024-01-01", "2024-01-02"], "datetime64[ns]")
    code, names = read_groups(days, 3)
    assert code.tolist() == [1, 0, 1]
    assert [str(name) for name in names] == ["2024-01-01 00:00:00", "2024-01-02 00:00:00"]
    assert names == read_groups(pd.Series(days), 3)[1]
    close = np.array([1, 2], "datetime64[ns]")
    assert read_groups(close, 2)[1] == ("1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000000002")


def test_one_long_name_costs_its_own_length_only() -> None:
    names = ["north", "south"] * 1000
    names[7] = "x" * 100_000
    score, label = [0.2, 0.8] * 1000, [0, 1] * 1000
    tracemalloc.start()
    try:
        found = [
            cal.Predictions(label, score, groups=names),
            cal.Predictions(label, score, groups={"a": names, "b": names[::-1]}),
            cal.Predictions(label, score, groups=[*names[:-1], None], missing="drop"),
        ]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [len(each.group_names) for each in found[::2]] == [3, 3]
    assert peak < 20e6  # 800 MB as an array of texts of one length
