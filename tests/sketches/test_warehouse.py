"""The query that fills a sketch in a warehouse: the bits of `Sketches.of` from every engine that runs here, and errors in place of wrong numbers."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import CalibrantError, GroupError, InputTypeError, LabelError, ProbabilityError, ShapeError
from calibrant.sketches import cells_query
from calibrant.sketches.grid import grid
from calibrant.sketches.warehouse import DIALECTS, literal, quoted
from tests.postgres import Server

ODD = 'odd "name` \\ of; -- 1'


def unfriendly() -> dict[str, np.ndarray]:
    """Scores at, just below and just above edges, exact 0 and 1, denormals, ties; groups whose names need quotes."""
    rng = np.random.default_rng(0)
    edges = grid().edges[np.r_[0:240, 240:19300:61, 19300:19577]]
    tiny = [5e-324, 1e-320, 2.0**-1022, 2.0**-600, 2.0**-500, 1e-181, 1e-10, 3e-10, 2.0**-31, 2.0**-52, 0.5, 0.5, 0.5]
    p = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1), tiny, 1 - np.array(tiny)])
    p = np.clip(np.concatenate([p, rng.beta(0.1, 0.1, 500), rng.random(500)]), 0, 1)
    y = rng.integers(0, 2, len(p))
    names = np.array(["a", "it's", "two\nlines", 'a "quote"', "back\\slash", "", "ö, x"], object)
    return {"y": y, "p": p, ODD: names[rng.integers(0, len(names), len(p))]}


@pytest.fixture(scope="module")
def rows() -> dict[str, np.ndarray]:
    return unfriendly()


@pytest.fixture
def ask(rows: dict[str, np.ndarray]) -> Callable[..., Any]:
    """Run a query in DuckDB on a table of the unfriendly rows, or on one made by a statement."""
    connection = duckdb.connect()

    def run(made: str = "", **words: Any) -> Any:
        connection.execute("DROP TABLE IF EXISTS preds")
        if made:
            connection.execute(f"CREATE TABLE preds AS {made}")
        else:
            listed = ", ".join(f"unnest(?) AS {quoted(name, DIALECTS['duckdb'], '')}" for name in rows)
            connection.execute(f"CREATE TABLE preds AS SELECT {listed}", [v.tolist() for v in rows.values()])
        words = {"dialect": "duckdb", "prob": "p", "label": "y", **words}
        return connection.execute(cells_query("preds", **words))

    return run


def columns_of(result: Any) -> dict[str, list[Any]]:
    names = [column[0] for column in result.description]
    return dict(zip(names, map(list, zip(*result.fetchall(), strict=True)), strict=True))


def test_duckdb_has_the_bits_of_the_rows(ask: Callable[..., Any], rows: dict[str, np.ndarray]) -> None:
    y, p, group = rows.values()
    found = cal.Sketches.from_cells(ask(by=ODD))
    expected = cal.Sketches.of(cal.Predictions(y, p, groups=group), scores=False)
    assert found == expected
    assert found.to_bytes() == expected.to_bytes()
    assert found.classes == (0, 1)
    some = cal.Sketches.from_cells(ask(where="p > 0.25 -- and no more"))
    assert some == cal.Sketches.of(y[p > 0.25], p[p > 0.25], scores=False)
    sure = cal.Sketches.from_cells(ask(input="confidence"))
    assert sure == cal.Sketches.of(cal.Predictions(y, p, input="confidence"))


def test_every_container_and_file(ask: Callable[..., Any], rows: dict[str, np.ndarray], tmp_path: Path) -> None:
    pa, pd, pl = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    columns = columns_of(ask(by=ODD))
    expected = cal.Sketches.of(cal.Predictions(rows["y"], rows["p"], groups=rows[ODD]), scores=False)
    table = pa.table(columns)
    listed = table.to_pylist()
    for form in (
        columns,
        table,
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        listed,
        pd.DataFrame(columns).rename(columns=str.upper),
    ):
        assert cal.Sketches.from_cells(form) == expected, type(form)
    duckdb.from_arrow(table).write_parquet(str(tmp_path / "a.parquet"))
    duckdb.from_arrow(table).write_csv(str(tmp_path / "a.csv"))
    assert cal.Sketches.from_cells(tmp_path / "a.parquet") == expected
    assert cal.Sketches.from_cells(str(tmp_path / "a.csv")) == expected
    # Names of groups that the engine has told apart stay apart, also as numbers.
    odd = ask("SELECT * FROM (VALUES (0, 0.2, '1'), (1, 0.2, '1.0')) t(y, p, g)", by="g")
    odd_table = pa.table(columns_of(odd))
    duckdb.from_arrow(odd_table).write_csv(str(tmp_path / "odd.csv"))
    assert cal.Sketches.from_cells(tmp_path / "odd.csv").groups == ("1", "1.0")
    lost = pd.DataFrame(columns).astype({"score_low_sum": float}) * 1
    lost["score_low_sum"] *= 2.0**30
    with pytest.raises(InputTypeError, match="'score_low_sum' does not hold exact integers of 64 bits"):
        cal.Sketches.from_cells(lost)


def test_labels_of_every_kind(ask: Callable[..., Any]) -> None:
    p = [0.1, 0.4, 0.8, 0.9]
    plain = cal.Sketches.of([0, 1, 1, 0], p, scores=False)
    for kind in ("INTEGER", "BOOLEAN", "DOUBLE", "DECIMAL(5, 2)", "VARCHAR", "FLOAT"):
        made = f"SELECT CAST(y AS {kind}) AS y, p FROM (VALUES (0, 0.1), (1, 0.4), (1, 0.8), (0, 0.9)) t(y, p)"
        assert cal.Sketches.from_cells(ask(made)) == plain, kind
    words = "SELECT * FROM (VALUES ('no', 0.1), ('it''s \\', 0.4), ('it''s \\', 0.8), ('no', 0.9)) t(y, p)"
    named = cal.Sketches.of(
        cal.Predictions(["no", "it's \\", "it's \\", "no"], p, classes=["no", "it's \\"]), scores=False
    )
    assert cal.Sketches.from_cells(ask(words, classes=["no", "it's \\"])) == named
    minus = "SELECT * FROM (VALUES (-1, 0.1), (1, 0.4), (1, 0.8), (-1, 0.9)) t(y, p)"
    assert cal.Sketches.from_cells(ask(minus, classes=[-1, 1])).classes == (-1, 1)


def test_top_label_of_several_columns(ask: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([0.5] * 4, 300)
    probs[:3] = [0.25] * 4, [0.4, 0.1, 0.4, 0.1], [0, 0, 0, 1]
    y = rng.integers(0, 4, len(probs))
    listed = ", ".join(
        f"({label}, {', '.join(map(repr, row))})" for label, row in zip(y.tolist(), probs.tolist(), strict=True)
    )
    made = f"SELECT * FROM (VALUES {listed}) t(y, a, b, c, d)"
    found = cal.Sketches.from_cells(ask(made, prob=["a", "b", "c", "d"]))
    assert found == cal.Sketches.of(y, probs, lenses=["top_label"], scores=False)
    wrong = "SELECT 1 AS y, 0.5 AS a, 0.3 AS b, 0.1 AS c"
    with pytest.raises(ProbabilityError):
        cal.Sketches.from_cells(ask(wrong, prob=["a", "b", "c"]))


FAULTY: dict[str, tuple[str, dict[str, Any], type[CalibrantError], str]] = {
    "null": ("(0, NULL, 'a'), (1, 0.5, 'a')", {}, ProbabilityError, r"prob: missing value in column 'p'.*missing='drop'"),
    "nan": ("(0, CAST('NaN' AS DOUBLE), 'a'), (1, 0.5, 'a')", {}, ProbabilityError, "missing value in column 'p'"),
    "outside": ("(0, 1.5, 'a'), (1, -0.5, 'a')", {}, ProbabilityError, r"2 rows have probability outside of \[0, 1\] in 'p'"),
    "infinite": ("(0, CAST('Infinity' AS DOUBLE), 'a'), (1, 0.5, 'a')", {}, ProbabilityError, "1 row has probability outside"),
    "label": ("(2, 0.5, 'a')", {}, LabelError, "1 row has unknown label in 'y'; the classes are 0, 1"),
    "soft": ("(0.7, 0.5, 'a')", {}, LabelError, "unknown label"),
    "no label": ("(NULL, 0.5, 'a'), (1, NULL, 'a')", {}, LabelError, r"2 missing values \(y 1, p 1\)"),
    "group": ("(1, 0.5, NULL)", {"by": "g"}, GroupError, "missing value in column 'g'"),
    "empty": ("(1, 0.5, 'a')", {"where": "p > 2"}, ShapeError, "has no rows"),
}  # fmt: skip


@pytest.mark.parametrize(("values", "words", "kind", "message"), FAULTY.values(), ids=FAULTY)
def test_invalid_rows_are_errors(ask: Callable[..., Any], values: str, words: dict[str, Any], kind: type[CalibrantError], message: str) -> None:  # fmt: skip
    made = f"SELECT y, CAST(p AS DOUBLE) AS p, g FROM (VALUES {values}) t(y, p, g)"
    with pytest.raises(kind, match=message):
        cal.Sketches.from_cells(ask(made, **words))


def test_missing_values_are_dropped_on_request(ask: Callable[..., Any]) -> None:
    made = "SELECT * FROM (VALUES (NULL, 0.5, 1), (1, NULL, 1), (1, 0.5, NULL), (NULL, NULL, 2), (0, 0.25, 2), (NULL, 7, 1)) t(y, p, g)"
    pd = pytest.importorskip("pandas")
    result = columns_of(ask(made, by="g"))
    found = cal.Sketches.from_cells(pd.DataFrame(result), missing="drop")
    assert found == cal.Sketches.of(cal.Predictions([0], [0.25], groups=[2]), scores=False)
    assert found.to_bytes() == cal.Sketches.of(cal.Predictions([0], [0.25], groups=[2]), scores=False).to_bytes()
    assert found.dropped is not None
    assert str(found.dropped) == "5 of 6 rows dropped because of missing values (y 3, p 2, g 1)"
    with pytest.raises(CalibrantError, match="all 1 rows have missing values"):
        cal.Sketches.from_cells(ask("SELECT 1 AS y, CAST(NULL AS DOUBLE) AS p"), missing="drop")


def test_a_damaged_result_is_an_error(ask: Callable[..., Any]) -> None:
    columns = columns_of(ask())
    cut = {name: values[:-1] for name, values in columns.items()}
    with pytest.raises(ShapeError):
        cal.Sketches.from_cells(cut)
    with pytest.raises(ShapeError):
        cal.Sketches.from_cells({n: [*values[:-1], values[0]] for n, values in columns.items()})
    uncounted = {name: values for name, values in cut.items() if name != "result_rows"}
    with pytest.raises(InputTypeError, match="lacks the column 'result_rows'"):
        cal.Sketches.from_cells(uncounted)
    changed = {**columns, "score_high_sum": [value + 2**40 for value in columns["score_high_sum"]]}
    with pytest.raises(InputTypeError, match="the engine rounded or overflowed"):
        cal.Sketches.from_cells(changed)
    for name, value, message in (
        ("calibrant", "calibrant=2&kind=binary", "has version 2"),
        ("outcome", list(range(2, 2 + len(columns["cell"]))), "cells or outcomes"),
        ("cell", -512, "cells that the query does not return"),
        ("row_count", None, "does not hold exact integers"),
        ("row_count", 0.5, "does not hold exact integers"),
    ):
        values = value if isinstance(value, list) else [value] * len(columns[name])
        with pytest.raises(InputTypeError, match=message):
            cal.Sketches.from_cells({**columns, name: values})
    for table, message in (
        ({"a": [1]}, "is not the result of a query"),
        (3, "must be a table"),
        ({**columns, "CELL": columns["cell"]}, "differ in capitals only"),
    ):
        with pytest.raises(InputTypeError, match=message):
            cal.Sketches.from_cells(table)
    for ragged in ([1, 2], 1):
        with pytest.raises(ShapeError):
            cal.Sketches.from_cells({**columns, "row_count": ragged})
    with pytest.raises(ShapeError):
        cal.Sketches.from_cells([])


def test_a_number_that_was_changed_by_hand_is_an_error(ask: Callable[..., Any]) -> None:
    made = "SELECT i % 2 AS y, i / 100 AS p, i % 3 AS g FROM range(0, 101) t(i)"
    columns = columns_of(ask(made, by="g"))
    cal.Sketches.from_cells(columns)  # is valid
    place = next(n for n, cell in enumerate(columns["cell"]) if 5000 < cell < 9000)
    sums = [name for name in columns if name.endswith("_sum")]
    changes = [(name, change) for name in sums for change in (-1, 2)] + [("row_count", 0), ("row_count", -1)]
    for name, factor in changes:
        old = columns[name][place]
        new = old * factor + (2**55 if name.endswith("high_sum") and factor == 2 else -1 if factor == -1 else 0)
        if new == old or (factor == 2 and name.endswith("low_sum")):
            continue  # a low part has less than 1e-6 of the number
        with pytest.raises(InputTypeError, match=r"which the query does not return|do not belong to their cells"):
            cal.Sketches.from_cells({**columns, name: [*columns[name][:place], new, *columns[name][place + 1 :]]})
    halves = [Decimal(value) + Decimal("0.5") for value in columns["row_count"]]
    spec = columns["calibrant"][0]
    for name, values, message in (
        ("row_count", [2**33 * value for value in columns["row_count"]], "do not belong to their cells"),
        ("row_count", halves, "does not hold exact integers"),
        ("calibrant", [spec.replace("kind=binary", "kind=x")] * len(halves), "'calibrant' was changed"),
        ("calibrant", [spec.replace("number=1", "number=x")] * len(halves), "'calibrant' was changed"),
        ("calibrant", [spec.replace("&by=g", "")] * len(halves), "has groups that the query did not ask for"),
    ):
        with pytest.raises(InputTypeError, match=message):
            cal.Sketches.from_cells({**columns, name: values})
    with pytest.raises(InputTypeError, match="lacks the column 'group_name'"):
        cal.Sketches.from_cells({name: values for name, values in columns.items() if name != "group_name"})


def test_a_quoted_table_keeps_its_dots() -> None:
    assert '"a"."b.c"' in cells_query('a."b.c"', dialect="duckdb", prob="p", label="y")


def test_the_command_line(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, query, _ = run(
        "sql", "preds", "--dialect", "duckdb", "--prob", "p", "--label", "y", "--by", "g", "--classes", "no,yes"
    )
    assert code == 0
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE preds AS SELECT * FROM (VALUES ('no', 0.1, 7), ('yes', 0.4, 7), ('yes', 0.8, 10)) t(y, p, g)"
    )
    connection.execute(f"COPY ({query}) TO 'day.csv'")
    assert run("scan", "day.csv", "--cells", "--out", "day.sketch")[0] == 0
    expected = cal.Sketches.of(
        cal.Predictions(["no", "yes", "yes"], [0.1, 0.4, 0.8], groups=[7, 7, 10], classes=["no", "yes"]), scores=False
    )
    assert cal.Sketches.read("day.sketch").to_bytes() == expected.to_bytes()
    code, _, err = run("scan", "day.csv", "--cells", "--by", "g", "--out", "x.sketch")
    assert (code, err) == (2, "error: --by: applies to rows, and --cells reads sums; give it to `calibrant sql`\n")
    Path("cut.csv").write_text("\n".join(Path("day.csv").read_text().splitlines()[:-1]) + "\n")
    code, _, err = run("scan", "cut.csv", "--cells", "--out", "x.sketch")
    assert code == 2
    assert "cut.csv: has 2 rows; the query returned 3" in err
    asked = ("sql", "preds", "--dialect", "duckdb", "--prob", "p", "--label", "y", "--by")
    assert '"a x b" AS group_name' in run(*asked, '"a x b"')[1]


def test_postgres_has_the_bits_of_the_rows(postgres: Server, rows: dict[str, np.ndarray]) -> None:
    psycopg = pytest.importorskip("psycopg")
    name = quoted(ODD, DIALECTS["postgres"], "by")
    y, p, group = rows.values()
    with psycopg.connect(postgres.url) as connection, connection.cursor() as cursor:
        cursor.execute(f'CREATE TEMP TABLE "Pre.ds" (y boolean, p double precision, {name} text)')
        with cursor.copy('COPY "Pre.ds" FROM STDIN') as copy:
            for row in zip((y == 1).tolist(), p.tolist(), group.tolist(), strict=True):
                copy.write_row(row)

        def found(**words: Any) -> cal.Sketches:
            words = {"dialect": "postgres", "prob": "p", "label": "y", **words}
            return cal.Sketches.from_cells(columns_of(cursor.execute(cells_query('"Pre.ds"', **words))))

        expected = cal.Sketches.of(cal.Predictions(y, p, groups=group), scores=False)
        assert found(by=ODD).to_bytes() == expected.to_bytes()
        few = cal.Sketches.of(y[p < 0.01], p[p < 0.01], scores=False)
        assert found(where="p < 0.01").to_bytes() == few.to_bytes()
        cursor.execute(
            f"INSERT INTO \"Pre.ds\" ({name}, y, p) VALUES ('a', NULL, 'NaN'), ('a', true, 2), (NULL, false, 'Infinity')"
        )
        with pytest.raises(LabelError):
            found(by=ODD)
        with pytest.raises(ProbabilityError):
            found(where="y IS NOT NULL")


def test_names_and_labels_cannot_change_the_query(ask: Callable[..., Any]) -> None:
    evil = "x'; DROP TABLE preds; --\n\"`\\"
    name = quoted(evil, DIALECTS["duckdb"], "label")
    text = literal(evil, DIALECTS["duckdb"])
    found = ask(f"SELECT {text} AS {name}, 0.5 AS p", label=evil, by=evil, classes=["no", evil])
    assert cal.Sketches.from_cells(found).groups == (evil,)
    spark = DIALECTS["spark"]
    assert quoted(evil, spark, "label") == f"`{evil.replace('`', '``')}`"
    assert literal(evil, spark) == "'x\\'; DROP TABLE preds; --\\n\"`\\\\'"
