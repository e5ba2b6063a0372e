"""scan: files of every kind give the bits that rows in memory give; what is wrong with a file is named."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calibrant as cal
from tests.calling import Run, check_refusal, raises, read_json

NAMES = np.array(["cat", "dog", "it's"])


def table(path: Path, **columns: Any) -> Path:
    """A Parquet or CSV file of columns."""
    with duckdb.connect() as connection:
        connection.register("t", {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in columns.items()})
        how = "(FORMAT parquet)" if path.suffix == ".parquet" else "(HEADER)"
        connection.execute(f"COPY t TO '{path}' {how}")
    return path


def two_classes(n: int = 900, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    p = np.concatenate([rng.beta(0.2, 20, n // 3), rng.random(n // 3), 1 - rng.beta(0.2, 20, n - 2 * (n // 3))])
    return (rng.random(n) < p).astype(np.int64), p


def three_classes(n: int = 700) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    p = rng.dirichlet([0.3, 0.7, 1.5], n)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, 2)
    return y, p, rng.choice(["a", "b"], n)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_two_classes(tmp_path: Path, kind: Any) -> None:
    y, p = two_classes()
    p = p.astype(kind)
    file = table(tmp_path / "p.parquet", y_true=y, score=p)
    assert cal.scan(file) == cal.Sketches.of(y, p)
    assert cal.scan(str(file), label="y_true", prob="score", lenses=["binary", "top_label"]) == (
        cal.Sketches.of(y, p, lenses=["binary", "top_label"])
    )


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_two_classes_as_two_columns(tmp_path: Path, kind: Any) -> None:
    y, p = two_classes()
    two = np.column_stack([1 - p, p]).astype(kind)
    group = np.array(["a", "b"])[np.arange(len(y)) % 2]
    columns = {f"p_{place}": two[:, place].copy() for place in (0, 1)}
    file = table(tmp_path / "p.parquet", y_true=y, g=group, **columns)
    found = cal.scan(file, by="g")
    assert found == cal.Sketches.of(cal.Predictions(y, two, groups=group))
    assert (found.kind, found.lenses) == ("binary", ("binary",))
    assert cal.ece(found) == pytest.approx(cal.ece(y, two), abs=1e-12)
    every = ["binary", "top_label", "classwise"]
    assert cal.scan(file, lenses=every) == cal.Sketches.of(y, two, lenses=every)
    for given in (["p_1", "p_0"], "p_1,p_0"):  # names that tell the positive class go before the order
        assert cal.scan(file, prob=given).sketch() == cal.Sketch.of(y, two[:, 1])
    turned = cal.scan(file, classes=[1, 0])
    assert (turned.classes, turned.sketch()) == ((1, 0), cal.Sketch.of(1 - y, two[:, 0]))


def test_two_classes_in_lists_and_by_name(tmp_path: Path) -> None:
    y, p = two_classes(60)
    two = np.column_stack([1 - p, p])
    lines = [json.dumps({"label": int(a), "probs": row.tolist()}) for a, row in zip(y, two, strict=True)]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    assert cal.scan(tmp_path / "p.jsonl") == cal.Sketches.of(y, two)
    names = np.array(["default", "ok"])
    file = table(tmp_path / "p.csv", label=names[y], p_default=two[:, 0].copy(), p_ok=two[:, 1].copy())
    found = cal.scan(file)
    assert (found.classes, found.sketch()) == (("default", "ok"), cal.Sketch.of(y, p))
    turned = cal.scan(file, classes=["ok", "default"])
    assert (turned.classes, turned.sketch()) == (("ok", "default"), cal.Sketch.of(1 - y, two[:, 0]))
    with pytest.raises(cal.errors.ArgumentError, match="classes: the columns are in another order: default, ok"):
        cal.scan(file, classes=["ok", "other"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_that_are_truth_values(tmp_path: Path, suffix: str) -> None:
    y, p = two_classes(60)
    two = {"p_yes": p, "p_no": 1 - p}
    found = cal.scan(table(tmp_path / f"p{suffix}", label=y.astype(bool), **two))
    assert (found.classes, found.sketch()) == (("no", "yes"), cal.Sketch.of(y, p))
    file = table(tmp_path / f"q{suffix}", label=y.astype(bool), prob=p)
    assert cal.scan(file) == cal.Sketches.of(y, p)
    assert cal.scan(file, classes=["no", "yes"]).sketch() == cal.Sketch.of(y, p)
    with pytest.raises(cal.errors.LabelError):
        cal.scan(file, classes=["bad", "good"])


def test_labels_that_are_words_name_the_classes(tmp_path: Path) -> None:
    y, p = two_classes(60)
    days = [table(tmp_path / "a.csv", label=np.where(y, "yes", "no"), prob=p)]
    days.append(table(tmp_path / "b.csv", label=np.array(["no"] * 60), prob=p))  # a day without an event
    days.append(table(tmp_path / "c.parquet", label=np.where(y, "yes", "no"), prob=p))
    found = [cal.scan(day) for day in days]
    assert [day.classes for day in found] == [("no", "yes")] * 3
    assert (found[0] + found[1] + found[2]).n == 180
    assert found[0] == found[2] == cal.Sketches.of(cal.Predictions(np.where(y, "yes", "no"), p, classes=["no", "yes"]))
    assert cal.evaluate(found[0], metrics=["ece"]).header.positive == "yes"
    signed = table(tmp_path / "s.parquet", label=2 * y - 1, prob=p)
    assert cal.scan(signed, classes=[-1, 1]).sketch() == cal.Sketch.of(y, p)


def test_the_header_of_two_columns_has_shares(tmp_path: Path) -> None:
    y, p = two_classes(60)
    file = table(tmp_path / "p.parquet", y=y, p_0=1 - p, p_1=p)
    whole = cal.evaluate(y, p, metrics=["ece"]).header
    for lenses in (None, ["top_label", "classwise"]):
        header = cal.evaluate(cal.scan(file, lenses=lenses), metrics=["nll"]).header
        assert header.prevalence == pytest.approx(whole.prevalence)
        assert header.event_mean_score == pytest.approx(whole.event_mean_score)


def test_several_files_classes_and_groups(tmp_path: Path) -> None:
    y, p, group = three_classes()
    for name, part in (("a", slice(0, 100)), ("b", slice(100, 101)), ("c", slice(101, None))):
        columns = {f"p_{label}": p[part, place].copy() for place, label in enumerate(NAMES)}
        table(tmp_path / f"{name}.parquet", y=NAMES[y[part]], g=group[part], **columns)
    whole = cal.Sketches.of(cal.Predictions(NAMES[y], p, classes=list(NAMES), groups=group))
    assert cal.scan(tmp_path / "*.parquet", by="g") == whole
    several = [tmp_path / "c.parquet", tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert cal.scan(several, prob="p_*", label="y", by="g") == whole
    part = cal.scan(tmp_path / "*.parquet", where="g = 'a'")
    assert part == cal.Sketches.of(cal.Predictions(NAMES[y[group == "a"]], p[group == "a"], classes=list(NAMES)))


def test_a_column_of_lists(tmp_path: Path) -> None:
    y, p, _ = three_classes(50)
    lines = [json.dumps({"label": int(a), "probs": row.tolist()}) for a, row in zip(y, p, strict=True)]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    assert cal.scan(tmp_path / "p.jsonl") == cal.Sketches.of(y, p)
    (tmp_path / "q.jsonl").write_text(lines[0] + '\n{"label": 1, "probs": [0.5, 0.5]}')
    with pytest.raises(cal.errors.ProbabilityError):
        cal.scan(tmp_path / "q.jsonl")


def test_text_and_databases(tmp_path: Path) -> None:
    y, p = two_classes(200)
    whole = cal.Sketches.of(y, p)
    assert cal.scan(table(tmp_path / "p.csv", y=y, p=p)) == whole
    with duckdb.connect(str(tmp_path / "store.duckdb")) as connection:
        connection.register("t", {"y": y, "p": p})
        connection.execute("CREATE TABLE preds AS SELECT * FROM t")
    assert cal.scan(tmp_path / "store.duckdb") == whole
    with duckdb.connect(str(tmp_path / "store.duckdb")) as connection:
        connection.execute("CREATE TABLE other AS SELECT * FROM preds")
    with pytest.raises(cal.errors.FileError):
        cal.scan(tmp_path / "store.duckdb")
    assert cal.scan(tmp_path / "store.duckdb", table="preds") == whole


def test_rows_must_sum_to_one_and_have_a_group(tmp_path: Path) -> None:
    y, p, _ = three_classes(40)
    p[11] *= 0.9
    columns = {f"p_{place}": p[:, place].copy() for place in range(3)}
    with pytest.raises(cal.errors.ProbabilityError):
        cal.scan(table(tmp_path / "p.parquet", y=y, **columns))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS y, 0.5 AS p, NULL::TEXT AS g) TO '{tmp_path / 'g.parquet'}'")
        connection.execute(f"COPY (SELECT 1 AS y, NULL::DOUBLE AS p) TO '{tmp_path / 'n.parquet'}'")
    with pytest.raises(cal.errors.GroupError):
        cal.scan(tmp_path / "g.parquet", by="g")
    with pytest.raises(cal.errors.ProbabilityError):
        cal.scan(tmp_path / "n.parquet")


def test_mistakes_are_named(tmp_path: Path) -> None:
    y, p = two_classes(30)
    file = table(tmp_path / "p.parquet", y=y, p=p)
    for words, error in (
        ({"where": "1 = 1; DROP TABLE x"}, cal.errors.ArgumentError),
        ({"label": "truth"}, cal.errors.ColumnError),
        ({"classes": [1, 2, 3]}, cal.errors.ArgumentError),
        ({"lenses": ["class:9"]}, cal.errors.ArgumentError),
        ({"table": "t"}, cal.errors.ArgumentError),
        ({"by": "region"}, cal.errors.ColumnError),
    ):
        with pytest.raises(error) as caught:
            cal.scan(file, **words)  # type: ignore[arg-type]
        assert caught.value.argument == next(iter(words))
    with pytest.raises(cal.errors.FileError, match=r"p\.parquet: has no rows that satisfy where"):
        cal.scan(file, where="p > 2")
    for source, match in (
        (tmp_path / "none.parquet", "no such file"),
        (tmp_path / "*.csv", "no file matches"),
        (tmp_path, "is a folder"),
        ([], "is empty"),
    ):
        with pytest.raises(cal.errors.FileError, match=match):
            cal.scan(source)
    (tmp_path / "empty.csv").touch()
    with pytest.raises(cal.errors.FileError):
        cal.scan(tmp_path / "empty.csv")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("7,0.5", r"label: .* got '7' in row 30 of .*x\.csv"),
        ("x,0.5", r"label: .* got 'x' in row 30 of .*x\.csv"),
        (",0.5", r"label: missing value in column 'y' in row 30 of .*x\.csv"),
        ("1,N/A", r"prob: missing value in column 'p' in row 30 of .*x\.csv"),
        ("1,high", "prob: .* got the text 'high' in row 30"),
        ("1,1.5", r'prob: .* got 1\.5 in "p" in row 30 of .*x\.csv'),
    ],
)
def test_printed_rows_are_named_by_number(tmp_path: Path, row: str, words: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text("y,p\n" + "0,0.2\n1,0.9\n" * 15 + row + "\n0,0.4\n")
    with pytest.raises(cal.CalibrantError, match=words):
        cal.scan(file)  # type: ignore[arg-type]


def test_a_file_whose_name_is_no_text_is_an_error(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/n\xe9.csv"
    Path(os.fsdecode(name)).write_text("y,p\n0,0.5\n")
    with pytest.raises(cal.errors.FileError):
        cal.scan(os.fsdecode(name))


def query_file(path: Path, query: str) -> Path:
    """A file of the rows of a query."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}'")
    return path


def test_columns_of_many_types(tmp_path: Path) -> None:
    rows = "SELECT i % 2 AS y, (i % 97) / 97.0 AS p, i FROM range(300) t(i)"
    place = np.arange(300)
    whole = cal.Sketches.of(place % 2, (place % 97) / 97.0)
    for kind in ("HUGEINT", "BOOLEAN", "DOUBLE", "DECIMAL(3, 1)"):
        file = query_file(tmp_path / "p.parquet", f"SELECT y::{kind} AS y, p::DOUBLE AS p FROM ({rows})")
        assert cal.scan(file) == whole
    decimal = query_file(tmp_path / "d.parquet", f"SELECT y, (i % 97 / 100)::DECIMAL(5, 2) AS p FROM ({rows})")
    assert cal.scan(decimal) == cal.Sketches.of(place % 2, np.round((place % 97) / 100, 2))
    date = query_file(
        tmp_path / "t.parquet", f"SELECT y, p::DOUBLE AS p, DATE '2024-01-01' + y::INT AS day FROM ({rows})"
    )
    found = cal.scan(date, by="day")
    assert found.groups == ("2024-01-01", "2024-01-02")
    assert cal.Sketches.from_bytes(found.to_bytes()) == found
    names = query_file(
        tmp_path / "n.parquet", f"SELECT y, p::DOUBLE AS p, 'x.png' AS filename, 1 AS file_row_number FROM ({rows})"
    )
    assert cal.scan(names, by="filename").group("x.png") == whole


def test_names_of_files_are_no_patterns(tmp_path: Path) -> None:
    y, p = two_classes(40)
    for name in ("a[1].parquet", "a*.parquet", "it is é.parquet"):
        table(tmp_path / name, y=y, p=p)
        assert cal.scan(tmp_path / name).n == 40
    table(tmp_path / "a1.parquet", y=y[:7], p=p[:7])
    assert cal.scan(tmp_path / "a[1].parquet").n == 40
    assert cal.scan([tmp_path / "a1.parquet", tmp_path / "a?.parquet"]).n == 47
    with gzip.open(tmp_path / "z.csv.gz", "wt") as file:
        file.write("y,p\n0,0.2\n1,0.4\n")
    assert cal.scan(tmp_path / "z.csv.gz").n == 2
    (tmp_path / "swapped.csv").write_text("p,y\n0.2,0\n")
    (tmp_path / "usual.csv").write_text("y,p\n1,0.4\n")
    both = cal.scan([tmp_path / "usual.csv", tmp_path / "swapped.csv"])
    assert both == cal.Sketches.of([0, 1], [0.2, 0.4])
    with pytest.raises(cal.errors.FileError):
        cal.scan([tmp_path / "a1.parquet", tmp_path / "usual.csv"])


def test_a_view_of_a_database_reads_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("y,p\n1,0.4\n")
    store = tmp_path / "store.duckdb"
    with duckdb.connect(str(store)) as connection:
        connection.execute(f"CREATE VIEW all_rows AS FROM read_csv('{tmp_path / 'secret.csv'}')")
    for named, problem in ((None, "has no table"), ("all_rows", "'all_rows' is a view, which may read other files")):
        with pytest.raises(cal.errors.FileError, match=problem):
            cal.scan(store, table=named)
    with duckdb.connect(str(store)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS y, 0.5 AS p")
    assert cal.scan(store).n == 1  # the only table


def test_a_file_counts_once_whatever_names_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = two_classes(40)
    table(tmp_path / "a.parquet", y=y, p=p)
    table(tmp_path / "b.parquet", y=y, p=p)  # the same content in another file is other data
    (tmp_path / "link.parquet").symlink_to("a.parquet")
    monkeypatch.chdir(tmp_path)
    others = ("link.parquet", "a*.parquet", f"../{tmp_path.name}/a.parquet")
    for name in ("a.parquet", "./a.parquet", tmp_path / "a.parquet", *others):
        assert cal.scan(["a.parquet", name]).n == 40
    assert cal.scan("*.parquet").n == 80


@pytest.mark.parametrize(
    "where",
    [
        "p > 0) LIMIT (3",
        "p > 0) GROUP BY ALL HAVING (1 = 1",
        "p > ?",
        " ",
        "p IN (SELECT 1)",
        "p > 0) USING SAMPLE (3",
    ],
)
def test_a_condition_is_one_expression(tmp_path: Path, where: str) -> None:
    y, p = two_classes(30)
    with raises(cal.errors.ArgumentError, "where"):
        cal.scan(table(tmp_path / "p.parquet", y=y, p=p), where=where)


def test_a_condition_that_fails_is_named(tmp_path: Path) -> None:
    file = query_file(tmp_path / "p.parquet", "SELECT 1 AS y, [0.5, 0.5] AS p, 'SUBQUERY' AS g")
    assert cal.scan(file, where="g = 'SUBQUERY' -- a word, no query").n == 1
    for where in ("g::INTEGER = 1", "nope = 1"):
        with raises(cal.errors.ArgumentError, "where"):
            cal.scan(file, where=where)


def test_sketches_on_the_command_line(tmp_path: Path, run: Run) -> None:
    y, p = two_classes(60)
    file = table(tmp_path / "p.parquet", y=y, p=p, g=np.array(["a", "b"])[y])
    one, two = tmp_path / "one.sketch", tmp_path / "two.sketch"
    assert run("scan", file, "--by", "g", "--out", one)[0] == 0
    assert run("scan", one, one, "--out", two)[0] == 0
    assert cal.Sketches.read(two).n == 60  # one file, named twice
    copy = tmp_path / "copy.sketch"
    copy.write_bytes(one.read_bytes())
    assert run("scan", one, copy, "--out", two)[0] == 0
    assert cal.Sketches.read(two).n == 120
    found = read_json(run("evaluate", two, "--metrics", "ece", "--json"))
    assert found["metrics"][0]["value"] == pytest.approx(cal.ece(y, p), abs=1e-12)
    code, _, errors = run("evaluate", one, "--metrics", "ece", "--fail-if", "ece > 0")
    assert (code, "(group a)" in errors) == (1, True)
    for words, message in (
        (["--where", "p > 0"], "applies to rows, and"),
        (["--by", "g"], "applies to rows, and"),
        (["--fail-if", "vce > 1"], "vce > 1 cannot be evaluated"),
    ):
        check_refusal(run("evaluate", one, *words), message)
    check_refusal(run("scan", one, file, "--out", two), "cannot be combined with .sketch files")


def test_combined_groups_keep_the_names_of_every_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("y,p,a,b\n0,0.1,True,t\n1,0.9,true,t\n1,0.8,FALSE,f\n")
    found = cal.scan(tmp_path / "t.csv", by="a x b")
    assert {name for name in found.parts if name is not None} == {"a: True, b: t", "a: true, b: t", "a: FALSE, b: f"}
    # Two spellings of a whole number are one name, as for a single column; other names are kept.
    (tmp_path / "t.csv").write_text("y,p,a,b\n0,0.1,1,07\n1,0.9,1.0,07\n1,0.8,2.0,7\n")
    found = cal.scan(tmp_path / "t.csv", by="a x b")
    assert {name for name in found.parts if name is not None} == {"a: 1, b: 07", "a: 2, b: 7"}
    assert {name for name in cal.scan(tmp_path / "t.csv", by="a").parts if name is not None} == {1, 2}


def test_lenses_may_be_an_iterator_where_labels_are_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the first labels, which are numbers, one is a name: the file is read again, with the same lenses."""
    monkeypatch.setattr("calibrant.sketches.files.scanning.FIRST_LABELS", 2)
    (tmp_path / "t.csv").write_text("y,p_1,p_x\n1,0.9,0.1\n1,0.8,0.2\nx,0.3,0.7\n")
    lenses = ["top_label", "binary"]
    found = cal.scan(tmp_path / "t.csv", prob="p_*", lenses=iter(lenses))
    assert set(found.lenses) == set(lenses)
    assert found == cal.scan(tmp_path / "t.csv", prob="p_*", lenses=lenses)


@pytest.mark.parametrize("second", ["p", "P", "y"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_two_columns_of_one_name_are_an_error(tmp_path: Path, ending: str, second: str) -> None:
    path, names = tmp_path / f"rows.{ending}", ["y", "p", second]
    if ending == "parquet":
        pq.write_table(pa.Table.from_arrays([pa.array([0.0, 1.0])] * 3, names=names), path)
    else:
        separator = "\t" if ending == "tsv" else ","
        path.write_text("\n".join(map(separator.join, [names, ["0", "0.1", "0.2"], ["1", "0.8", "0.7"]])) + "\n")
    with pytest.raises(cal.errors.FileError):
        cal.scan(path, label="y", prob="p")
