"""On Spark: the same bits as in one process, whatever the partitions, retries and files; errors that name column and partition."""

import doctest
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import (
    ArgumentError,
    CalibrantError,
    ColumnError,
    FileError,
    GroupError,
    InputTypeError,
    LabelError,
    LensError,
    MissingDependencyError,
    NotFittedError,
    ProbabilityError,
    ShapeError,
)

pa = pytest.importorskip("pyarrow", reason="NO PYARROW: pip install 'calibrant[spark]' to test on Spark")
pytest.importorskip("pyspark", reason="NO PYSPARK: pip install 'calibrant[spark]' to test on Spark")
JAVA = shutil.which("java") or os.environ.get("JAVA_HOME")
pytestmark = [
    pytest.mark.skipif(not JAVA, reason="NO JAVA: install Java 17 to test on Spark"),
    # PySpark says so at every Arrow call; nothing here goes through pandas.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

import calibrant.spark as cs  # noqa: E402
from calibrant.spark import executors  # noqa: E402
from tests.calling import call  # noqa: E402
from tests.sketches.test_warehouse import unfriendly  # noqa: E402

ROWS = 3000
CLASSES = ["cat", "dog", "owl"]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """One session of two cores, in which a task may fail twice."""
    from pyspark.sql import SparkSession

    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    builder = SparkSession.builder.master("local[2,3]").appName("calibrant")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.sql.codegen.wholeStage": "false",
        "spark.python.daemon.module": "preloaded",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        "spark.log.level": "OFF",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    monkeypatch.undo()


@pytest.fixture(autouse=True)
def few_mergers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task costs a little, and most tests have few partitions."""
    monkeypatch.setattr(cs.api, "MERGERS", 2)


def frame(spark: Any, table: Any, sizes: list[int], crash: tuple[int, str] | None = None) -> Any:
    """A DataFrame whose partitions hold so many rows of a table each.

    With `crash`, the worker of that partition dies once, halfway, and leaves a file that says so.
    """
    assert sum(sizes) == table.num_rows
    ends = np.cumsum([0, *sizes])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()

    def emit(batches: Any) -> Any:
        import os

        import pyarrow as pa
        from pyspark import TaskContext

        whole = pa.ipc.open_stream(content).read_all()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = whole.slice(ends[number], ends[number + 1] - ends[number])
                for place, part in enumerate(rows.to_batches(max_chunksize=200)):
                    if crash and number == crash[0] and place == 1 and TaskContext.get().attemptNumber() == 0:
                        os.close(os.open(crash[1], os.O_CREAT))
                        os._exit(1)
                    yield part

    from pyspark.sql.pandas.types import from_arrow_schema

    return spark.range(0, len(sizes), 1, len(sizes)).mapInArrow(emit, from_arrow_schema(table.schema))


@pytest.fixture(scope="module")
def binary() -> Any:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, ROWS)
    p[:3] = 0.0, 1.0, 1e-5
    y = (rng.random(ROWS) < p).astype(np.int32)
    return pa.table({"y": y, "p": p, "region": rng.choice(["north", "south", "östlich"], ROWS)})


@pytest.fixture(scope="module")
def several() -> Any:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([0.6, 0.6, 0.6], ROWS)
    codes = (rng.random(ROWS)[:, None] > probs.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    return pa.table(
        {
            "y": codes,
            "name": np.array(CLASSES)[codes],
            "probs": list(probs),
            "narrow": list(probs.astype(np.float32)),
            **{f"p_{c}": probs[:, c] for c in range(3)},
            "shift": rng.integers(0, 3, ROWS),
            "n": rng.integers(0, 4, ROWS),
        }
    )


def rows_of(column: Any) -> np.ndarray:
    return np.array(column.to_pylist())


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([ROWS], id="1", marks=pytest.mark.deep),
        pytest.param([1000, 2000], id="2", marks=pytest.mark.deep),
        pytest.param([400, 0, 1, 599, 1000, 700, 300], id="7, one empty, one of one row"),
    ],
)
def test_partitions_change_no_bit(spark: Any, binary: Any, sizes: list[int]) -> None:
    y, p, region = (rows_of(binary[name]) for name in ("y", "p", "region"))
    expected = cal.Sketches.of(cal.Predictions(y, p, groups=region))
    found = cs.sketch(frame(spark, binary, sizes), label="y", prob="p", by="region")
    assert found == expected
    assert found.to_bytes() == expected.to_bytes()
    assert cal.ece(found) == pytest.approx(cal.ece(y, p), rel=1e-12)
    assert found.groups == ("north", "south", "östlich")


def test_many_partitions_go_through_all_mergers(spark: Any, binary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert cs.api.MERGERS == 16
    rows: list[Any] = []
    merge_partials = cs.api.merge_partials
    monkeypatch.setattr(
        cs.api, "merge_partials", lambda parts: merge_partials(rows.append(part) or part for part in parts)
    )
    found = cs.sketch(frame(spark, binary, [150] * 20), label="y", prob="p")
    assert found == cal.Sketches.of(rows_of(binary["y"]), rows_of(binary["p"]))
    assert 1 < len(rows) <= 16  # 20 partitions, and no more rows than mergers reach the driver


def test_a_task_that_died_counts_once(spark: Any, binary: Any, tmp_path: Path) -> None:
    expected = cal.Sketches.of(rows_of(binary["y"]), rows_of(binary["p"])).to_bytes()
    df = frame(spark, binary, [1000, 1500, 500], crash=(1, str(tmp_path / "died")))
    assert cs.sketch(df, label="y", prob="p").to_bytes() == expected
    assert (tmp_path / "died").exists()


FORMS = {
    "array": ({"prob": "probs", "label": "y"}, {}),
    "array of floats": ({"prob": "narrow", "label": "y"}, {}),
    "pattern": ({"prob": "p_*", "label": "y", "by": "shift"}, {}),
    "columns in another order": ({"prob": ["p_2", "p_0", "p_1"], "label": "name"}, {"classes": ["owl", "cat", "dog"]}),
    "names": ({"prob": "probs", "label": "name"}, {"classes": CLASSES, "lenses": ["class:dog", "rank:2"]}),
    "logits": ({"prob": "probs", "label": "y"}, {"input": "logit"}),
}
SIMPLE = ("array", "names", "logits")  # parts of which the other forms have too


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
@pytest.mark.parametrize(
    ("columns", "words"),
    [pytest.param(*form, id=name, marks=[pytest.mark.deep] * (name in SIMPLE)) for name, form in FORMS.items()],
)
def test_every_form_of_columns(spark: Any, several: Any, columns: dict[str, Any], words: dict[str, Any]) -> None:
    prob = columns["prob"]
    names = [f"p_{c}" for c in range(3)] if prob == "p_*" else prob
    y_prob = (
        rows_of(several[prob]) if isinstance(names, str) else np.stack([rows_of(several[n]) for n in names], axis=1)
    )
    if prob == "narrow":
        y_prob = y_prob.astype(np.float32)
    more = {"groups": rows_of(several[columns["by"]])} if "by" in columns else {}
    expected = call(cal.Sketches.of, rows_of(several[columns["label"]]), y_prob, **more, **words)
    found = cs.sketch(frame(spark, several, [7, 2000, 993]), **columns, **words)
    assert found == expected
    assert found.to_bytes() == expected.to_bytes()


def test_vectors_decimals_doubles_booleans_and_odd_names(spark: Any) -> None:
    from decimal import Decimal

    from pyspark.ml.linalg import Vectors

    p = [0.125, 0.5, 0.875, 0.25]
    rows = [
        (float(i % 2), bool(i % 2), Vectors.dense([1 - q, q]), Decimal(str(q)), [1 - q, q], ("ja", "nein")[1 - i % 2])
        for i, q in enumerate(p)
    ]
    df = spark.createDataFrame(rows, ["real", "flag", "vector", "exact", "a.b `c`", "word"]).withColumnRenamed(
        "flag", "wahr?"
    )
    both = np.column_stack([1 - np.array(p), p])
    for label, prob, y_prob in (("real", "vector", both), ("wahr?", "exact", np.array(p)), ("real", "a.b `c`", both)):
        assert cs.sketch(df, label=label, prob=prob) == cal.Sketches.of([0, 1, 0, 1], y_prob), (label, prob)
    named = cs.sketch(df, label="word", prob="exact", classes=["nein", "ja"])
    assert named == cal.Sketches.of(cal.Predictions(["nein", "ja", "nein", "ja"], p, classes=["nein", "ja"]))


def bad(table: Any, column: str, row: int, value: Any) -> Any:
    entries = table[column].to_pylist()
    entries[row] = value
    place = table.column_names.index(column)
    return table.set_column(place, column, pa.array(entries, table.schema.field(column).type))


# Column, row, value; the arguments; the error; what its message says.
WRONG = {
    "nan": ("p_1", 1500, float("nan"), {}, ProbabilityError, "missing value in row 300, column 'p_1' of partition 2; drop or fill these rows"),
    "null": ("p_1", 1500, None, {}, ProbabilityError, "missing value in row 300, column 'p_1' of partition 2; drop or fill these rows"),
    "outside": ("probs", 5, [1.5, -0.5, 0.0], {"prob": "probs"}, ProbabilityError, "probabilities must be in [0, 1]; got 1.5 in row 5, column '0' of partition 0"),
    "sum": ("probs", 5, [0.5, 0.25, 0.0], {"prob": "probs"}, ProbabilityError, "each row must sum to 1 within 1e-06; got a sum of 0.75 in row 5 of partition 0; use normalize=True"),
    "entry": ("probs", 1500, [0.5, None, 0.5], {"prob": "probs"}, ProbabilityError, "missing value in row 300, column '1' of partition 2; drop or fill these rows"),
    "no array": ("probs", 1500, None, {"prob": "probs"}, ShapeError, "one for each of at least 2 classes; got 0 in row 300 of partition 2"),
    "length": ("probs", 1500, [0.5, 0.5], {"prob": "probs"}, ShapeError, "one for each of at least 2 classes; got 2 in row 300 of partition 2"),
    "length of names": (
        "probs", 1200, [0.5, 0.5], {"prob": "probs", "label": "name", "classes": CLASSES}, ShapeError,
        "one for each of at least 2 classes; got 2 in row 0 of partition 2",
    ),
    "label": ("y", 2999, 3, {}, LabelError, "label (column 'y'): labels must be among the classes [0, 1, 2]; got 3 in row 1799 of partition 2; pass classes"),
    "minus one": ("y", 2999, -1, {}, LabelError, "label (column 'y'): labels must be among the classes [0, 1, 2]; got -1 in row 1799 of partition 2"),
    "no label": ("y", 2999, None, {}, InputTypeError, "label (column 'y'): missing value in row 1799 of partition 2; drop or fill these rows"),
    "unknown name": (
        "name", 2999, "cow", {"label": "name", "classes": CLASSES}, LabelError,
        "label (column 'name'): labels must be among the classes ['cat', 'dog', 'owl']; got 'cow' in row 1799 of partition 2",
    ),
    "no group": ("shift", 1199, None, {"by": "shift"}, GroupError, "by (column 'shift'): missing value in row 199 of partition 1; drop or fill these rows"),
}  # fmt: skip


def filled(table: Any, sizes: list[int], monkeypatch: pytest.MonkeyPatch, **words: Any) -> Any:
    """What the partitions leave, worked out here without Spark, in batches of 100 rows."""
    words = {"label": "y", "prob": ["p_0", "p_1", "p_2"], **words}
    single = {name: words.pop(name, None) for name in ("label", "by", "classes", "lenses")}
    prob = words.pop("prob")
    many = not isinstance(prob, str)
    columns = executors.Columns(single["label"], tuple(prob) if many else (prob,), many, single["by"])
    plan = {
        "columns": vars(columns),
        "classes": single["classes"],
        "lenses": single["lenses"],
        "keywords": words,
    }
    chosen = table.select(columns.names)
    rows: list[Any] = []
    nothing = chosen.slice(0, 1).to_batches()[0].slice(0, 0)
    for number, start in enumerate(np.cumsum([0, *sizes[:-1]])):
        monkeypatch.setattr(executors, "_partition", lambda number=number: number)
        part = chosen.slice(start, sizes[number]).to_batches(max_chunksize=100)
        rows += executors.fill(plan, iter([*part, nothing]))
    return executors.merge_partials(executors.Partial.of_row(row) for batch in rows for row in batch.to_pylist())


@pytest.mark.parametrize("chunk", [1, 1 << 20], ids=["chunks of one batch", "one chunk"])
@pytest.mark.parametrize(("column", "row", "value", "words", "kind", "message"), WRONG.values(), ids=WRONG)
def test_errors_name_column_row_and_partition(
    several: Any, monkeypatch: pytest.MonkeyPatch, chunk: int, column: str, row: int, value: Any, words: dict[str, Any],
    kind: type[CalibrantError], message: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(executors, "CHUNK_ENTRIES", chunk)
    found = filled(bad(several, column, row, value), [1000, 200, 1800], monkeypatch, **words)
    assert type(found.error) is kind
    assert message in str(found.error)
    assert repr(column) in str(found.error)
    assert not re.search(r"y_true|y_prob|soft=|multilabel=|pos_label", str(found.error))
    assert found.sketches is None


def test_chunks_change_no_bit(several: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words: dict[str, Any] = {"prob": "probs", "label": "name", "classes": tuple(CLASSES), "by": "shift"}
    whole = filled(several, [ROWS], monkeypatch, **words).sketches
    monkeypatch.setattr(executors, "CHUNK_ENTRIES", 1)
    assert filled(several, [1, 0, 1999, 1000], monkeypatch, **words).sketches.to_bytes() == whole.to_bytes()


def test_confidences_and_words_of_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    p, y = np.array([0.5, 0.75, 1.0000001, 0.25]), np.array([True, True, False, False])
    table = pa.table({"y": y, "p": p})
    words: dict[str, Any] = {"input": "confidence", "clip": True}
    found = filled(table, [3, 1], monkeypatch, label="y", prob="p", **words).sketches
    assert found == call(cal.Sketches.of, y, p, **words)
    assert found.kind == "confidence"
    error = filled(table, [3, 1], monkeypatch, label="y", prob="p").error
    assert "got 1.0000001 in row 2 of partition 0" in str(error)
    assert "clip=True" in str(error)


def test_groups_that_are_equal_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import date

    table = pa.table({"y": [0, 1, 1], "p": [0.1, 0.8, 0.9], "zero": [0.0, -0.0, 1.5], "day": [date(2024, 1, 1)] * 3})
    found = filled(table, [2, 1], monkeypatch, label="y", prob="p", by="zero").sketches
    assert found == cal.Sketches.of(cal.Predictions([0, 1, 1], [0.1, 0.8, 0.9], groups=[0.0, -0.0, 1.5]))
    assert found.group(0.0).n == 2
    assert filled(table, [3], monkeypatch, label="y", prob="p", by="day").sketches.groups == ("2024-01-01",)
    holes = bad(table, "zero", 1, float("nan"))
    assert "missing value in row 1 of partition 0" in str(
        filled(holes, [3], monkeypatch, label="y", prob="p", by="zero").error
    )


def test_the_error_of_the_lowest_partition_is_told(several: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = bad(bad(several, "p_0", 2500, 7.0), "p_0", 1500, 9.0)
    for sizes in ([1000, 1000, 1000], [1400, 1600]):
        assert "got 9.0 in row" in str(filled(table, sizes, monkeypatch).error)


def test_errors_reach_the_driver_as_they_are(spark: Any, several: Any) -> None:
    df = frame(spark, bad(several, "p_1", 2500, float("nan")), [1000, 1000, 1000])
    with pytest.raises(ProbabilityError) as caught:
        cs.sketch(df, label="y", prob="p_*")
    assert str(caught.value) == (
        "prob (columns 'p_0' to 'p_2'): missing value in row 500, column 'p_1' of partition 2; drop or fill these rows"
    )
    assert (caught.value.argument, caught.value.row) == ("prob (columns 'p_0' to 'p_2')", 500)


def test_partitions_of_other_widths(spark: Any) -> None:
    table = pa.table({"y": [0, 1, 0, 1], "q": [[0.5, 0.5], [0.25, 0.75], [0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]})
    with pytest.raises(ShapeError):
        cs.sketch(frame(spark, table, [2, 2]), label="y", prob="q")
    with pytest.raises(ShapeError):
        cs.sketch(frame(spark, table, [2, 2]), label="y", prob="q", classes=[0, 1])


def test_no_rows(spark: Any, binary: Any) -> None:
    df = frame(spark, binary.slice(0, 0), [0, 0])
    with pytest.raises(ShapeError):
        cs.sketch(df, label="y", prob="p")


def files(folder: Path, *tables: Any) -> str:
    import pyarrow.parquet as pq

    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return str(folder)


def test_files_that_disagree(spark: Any, tmp_path: Path) -> None:
    y, p = [0, 1, 1], np.array([0.1, 0.7, 0.9])
    wide, narrow = pa.table({"y": y, "p": p}), pa.table({"p": p.astype(np.float32), "y": y})
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    expected = cal.Sketches.of(y + y, np.concatenate([p, p.astype(np.float32).astype(np.float64)]))
    both = files(tmp_path / "a", wide, narrow)  # the columns of the second come in another order
    assert cs.sketch(spark.read.parquet(both), label="y", prob="p") == expected
    turned = files(tmp_path / "b", narrow, wide)
    with pytest.raises(Exception, match="Encountered error while reading file"):
        cs.sketch(spark.read.parquet(turned), label="y", prob="p")
    assert cs.sketch(spark.read.schema("y long, p double").parquet(turned), label="y", prob="p") == expected
    lacking = spark.read.parquet(files(tmp_path / "c", wide, pa.table({"y": y})))
    with pytest.raises(ProbabilityError):
        cs.sketch(lacking, label="y", prob="p")
    with pytest.raises(ColumnError):
        cs.sketch(spark.read.parquet(str(tmp_path / "c" / "1.parquet")), label="y", prob="q")


CALLS = {
    "label": ({"label": "why"}, ColumnError, "unknown column 'why'; the columns are 'y', 'name', 'probs',"),
    "near": ({"label": "nam"}, ColumnError, "did you mean 'name'?"),
    "by": ({"by": 3}, ColumnError, "by: must be the name of a column; got 3"),
    "prob": ({"prob": []}, ColumnError, "prob: must be the name of a column, or a list of names; got []"),
    "pattern": ({"prob": "z_*"}, ColumnError, "prob: no column matches 'z_*'; the columns are"),
    "one": ({"prob": ["p_1"]}, ShapeError, "prob: the single column 'p_1' could be that of either class"),
    "text": ({"label": "name"}, LabelError, "labels must be among the classes [0, 1, 2]; got "),
    "type": ({"prob": "name"}, InputTypeError, "prob (column 'name')"),
    "input": ({"input": "logits"}, ArgumentError, "input: must be"),
    "lens": ({"lenses": ["class:cow"], "label": "name", "classes": CLASSES}, ArgumentError, "unknown class 'cow'"),
    "lenses": ({"lenses": ["canonical"]}, LensError, "has several scores per row"),
    "classes": ({"classes": ["a", "b"]}, LabelError, "classes: has 2 names"),
    "twice": ({"classes": ["a", "b", "a"]}, LabelError, "classes: 'a' occurs twice"),
    "set": (
        {"classes": {"a", "b"}},
        InputTypeError,
        "classes: expected a list of names in the order of the columns, got set",
    ),
    "tolerance": ({"normalize": -1}, ArgumentError, "normalize: must be"),
}


def test_wrong_calls(spark: Any, several: Any) -> None:
    df = frame(spark, several, [ROWS])
    for name, (words, kind, message) in CALLS.items():
        with pytest.raises(kind) as caught:
            cs.sketch(df, **{"label": "y", "prob": "p_*", **words})
        assert message in str(caught.value), name
    twice = df.select("y", "p_0", df["p_1"].alias("p_0"))
    with pytest.raises(ColumnError):
        cs.sketch(twice, label="y", prob="p_0")
    with pytest.raises(InputTypeError, match=r"df: must be a Spark DataFrame; got list; use Sketches\.of for arrays"):
        cs.sketch([1, 2], label="y", prob="p")


def test_executors_without_calibrant_or_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    task = cloudpickle.dumps(cs.api._task("fill", {"columns": {}}))
    monkeypatch.setitem(sys.modules, "calibrant.spark", None)  # what travels must not ask for it
    monkeypatch.setitem(sys.modules, "calibrant.spark.executors", None)
    monkeypatch.delattr(cs, "executors")
    (batch,) = cloudpickle.loads(task)(iter([]))
    monkeypatch.undo()
    error = executors.Partial.of_row(batch.to_pylist()[0]).error
    assert isinstance(error, MissingDependencyError)
    assert "calibrant: cannot be imported on the executors" in str(error)
    monkeypatch.setattr(cal, "__version__", "0.0.1")
    (batch,) = cloudpickle.loads(task)(iter([]))
    error = executors.Partial.of_row(batch.to_pylist()[0]).error
    assert "has version 0.0.1 on the executors and" in str(error)
    with pytest.raises(ImportError, match=r"calibrant: has version 0\.0\.1"):
        list(cs.api._task("calibrate", {"calibrator": ""})(iter([])))


@pytest.fixture(scope="module")
def calibrators(several: Any, binary: Any) -> dict[str, Any]:
    probs, y = rows_of(several["probs"]), rows_of(several["y"])
    p, y2 = rows_of(binary["p"]), rows_of(binary["y"])
    half = slice(0, ROWS // 2)
    return {
        "temperature": cal.TemperatureScaling().fit(probs[half], y[half]),
        "dirichlet": cal.DirichletCalibration().fit(probs[half], y[half]),
        "isotonic": cal.IsotonicCalibration().fit(p[half], y2[half]),
        "platt of logits": cal.PlattScaling(input="logit").fit(p[half], y2[half]),
        "groups": cal.GroupCalibration(cal.PlattScaling()).fit(
            p[half], y2[half], groups=rows_of(binary["region"])[half]
        ),
    }


def test_a_map_gives_what_it_gives_here(
    spark: Any, several: Any, binary: Any, calibrators: dict[str, Any], tmp_path: Path
) -> None:
    p, probs = rows_of(binary["p"]), rows_of(several["probs"])
    path = cal.save(calibrators["isotonic"], tmp_path / "map.json")
    two = frame(spark, binary, [1, 0, 1999, 1000])
    for calibrator in (calibrators["isotonic"], path):
        found = cs.apply(calibrator, two, prob="p").toArrow()
        assert found.column_names == ["y", "p", "region", "calibrated"]
        assert found["calibrated"].type == pa.float64()
        assert (rows_of(found["calibrated"]) == calibrators["isotonic"].predict_proba(p)[:, 1]).all()
        assert found.select(["y", "p", "region"]).to_pylist() == binary.to_pylist()
    grouped = cs.apply(calibrators["groups"], two, prob="p", by="region", out="q").toArrow()
    expected = calibrators["groups"].predict_proba(p, rows_of(binary["region"]))[:, 1]
    np.testing.assert_allclose(rows_of(grouped["q"]), expected, rtol=1e-14)
    raw = cs.apply(calibrators["platt of logits"], two, prob="p").toArrow()
    np.testing.assert_allclose(
        rows_of(raw["calibrated"]), calibrators["platt of logits"].predict_proba(p)[:, 1], rtol=1e-14
    )
    many = frame(spark, several, [2000, 1000])
    for name, columns in (("temperature", "probs"), ("dirichlet", ["p_0", "p_1", "p_2"])):
        found = cs.apply(calibrators[name], many, prob=columns).toArrow()
        assert pa.types.is_list(found["calibrated"].type)
        np.testing.assert_allclose(rows_of(found["calibrated"]), calibrators[name].predict_proba(probs), rtol=1e-13)


def test_what_recalibrate_chose_and_scores_that_need_converting(spark: Any) -> None:
    from decimal import Decimal

    from pyspark.ml.linalg import Vectors

    p = np.array([0.125, 0.5, 0.875])
    df = spark.createDataFrame([(Decimal(str(q)), Vectors.dense([1 - q, q])) for q in p.tolist()], ["d", "v"])
    drawn = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(2.0), rng=0)
    chosen = cal.recalibrate(drawn.y_true, drawn.y_prob, method="platt")
    for prob in ("d", "v"):
        rows = cs.apply(chosen, df, prob=prob).collect()
        assert [row.calibrated for row in rows] == pytest.approx(chosen.predict_proba(p)[:, 1], rel=1e-14)
        assert rows[1].d == Decimal("0.5")
        assert rows[1].v == Vectors.dense([0.5, 0.5])


def test_rows_without_a_score_stay_without(spark: Any, calibrators: dict[str, Any]) -> None:
    two = spark.createDataFrame([(0.2,), (None,), (0.4,)], "p double").coalesce(1)
    found = [row.calibrated for row in cs.apply(calibrators["isotonic"], two, prob="p").collect()]
    low, high = calibrators["isotonic"].predict_proba([0.2, 0.4])[:, 1]
    assert found == [low, None, high]
    many = spark.createDataFrame([([0.2, 0.3, 0.5],), (None,)], "q array<double>").coalesce(1)
    rows = cs.apply(calibrators["temperature"], many, prob="q").collect()
    assert rows[0].calibrated == pytest.approx(
        calibrators["temperature"].predict_proba([[0.2, 0.3, 0.5]])[0], rel=1e-14
    )
    assert rows[1].calibrated is None
    wrong = spark.createDataFrame([(None,), (0.2,), (1.5,)], "p double").coalesce(1)
    with pytest.raises(
        Exception,
        match=r"ProbabilityError: prob \(column 'p'\): probabilities must be in \[0, 1\]; got 1\.5 in row 2 of partition 0",
    ):
        cs.apply(calibrators["isotonic"], wrong, prob="p").collect()


def test_wrong_maps(spark: Any, binary: Any, calibrators: dict[str, Any], tmp_path: Path) -> None:
    df = frame(spark, binary, [ROWS])
    with pytest.raises(InputTypeError, match="calibrator: must be a fitted calibrator or the path"):
        cs.apply(3, df, prob="p")
    with pytest.raises(NotFittedError):
        cs.apply(cal.PlattScaling(), df, prob="p")
    with pytest.raises(FileError):
        cs.apply(tmp_path / "none.json", df, prob="p")
    with pytest.raises(ColumnError):
        cs.apply(calibrators["isotonic"], df, prob="p", out="Region")
    with pytest.raises(ArgumentError, match="by: is required by GroupCalibration"):
        cs.apply(calibrators["groups"], df, prob="p")
    with pytest.raises(ArgumentError, match="by: is not supported by IsotonicCalibration"):
        cs.apply(calibrators["isotonic"], df, prob="p", by="region")
    with pytest.raises(ShapeError):
        cs.apply(calibrators["temperature"], df, prob=["p", "y"])


@pytest.mark.deep
def test_docstrings_and_page_run_as_shown(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their examples need a session, so that they are run here and not with the others."""
    tests = [
        test for test in doctest.DocTestFinder().find(cs.api, globs={**vars(cs.api), "spark": spark}) if test.examples
    ]
    assert len(tests) == 2
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        for example in test.examples:
            example.options.pop(doctest.SKIP, None)
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parent.parent.parent / "docs" / "spark.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert blocks
    exec("\n".join(blocks), {"spark": spark})


def test_listed_columns_are_read_by_their_names(spark: Any) -> None:
    rng = np.random.default_rng(4)
    p, q = rng.uniform(size=200), rng.dirichlet([1, 1, 1], 200)
    y, z = (rng.uniform(size=200) < p).astype(int), rng.integers(0, 3, 200)
    rows = np.column_stack([p, 1 - p, q, y, z]).tolist()
    frame = spark.createDataFrame(rows, ["p_yes", "p_no", "prob_0", "prob_1", "prob_2", "y", "z"])
    for prob in (["p_yes", "p_no"], ["p_no", "p_yes"], "p_*"):
        assert cs.sketch(frame, label="y", prob=prob) == cal.Sketches.of(y, np.column_stack([1 - p, p]))
    turned = cs.sketch(frame, label="z", prob=["prob_2", "prob_0", "prob_1"])
    assert turned == cal.Sketches.of(z, q)

    calibrator = cal.PlattScaling().fit(p[:150], y[:150])
    expected = calibrator.predict_proba(p)[:, 1]
    found = [row.calibrated for row in cs.apply(calibrator, frame, prob=["p_yes", "p_no"]).collect()]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    named = cal.VectorScaling().fit(q[:150], np.array(CLASSES)[z[:150]])
    other = frame.selectExpr("prob_2 AS p_owl", "prob_0 AS p_cat", "prob_1 AS p_dog")
    found = [row.calibrated for row in cs.apply(named, other, prob="p_*").collect()]
    np.testing.assert_allclose(found, named.predict_proba(q), rtol=1e-9)


@pytest.mark.deep
def test_a_query_for_spark_has_the_same_bits(spark: Any) -> None:
    y, p, *_ = unfriendly().values()
    df = frame(spark, pa.table({"y": y, "p": p}), [100, len(p) - 100])
    df.createOrReplaceTempView("preds")
    query = cal.sketches.cells_query("preds", dialect="spark", prob="p", label="y", where="p < 0.3")
    found = cal.Sketches.from_cells(spark.sql(query).toArrow())
    assert found == cal.Sketches.of(y[p < 0.3], p[p < 0.3], scores=False)
