"""A value means the same wherever it stands: no result of a command changes when an odd row moves from the first line to a late one."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.calling import Run, check_refusal

Row = dict[str, Any]

# DuckDB infers types, quotes and keys from the first 20 480 rows.
ROWS = 21_000
PLACES = {"first": 0, "late": 20_900, "last": ROWS}


def plain_rows(*, whole: bool = False) -> list[Row]:
    """Rows with scores of few digits or, with `whole`, with 0 and 1 only, whose order does not matter."""
    rows = []
    for number in range(ROWS):
        score = float(number % 7 == 0) if whole else (number * 37 % 100 + 0.5) / 101
        event = int((number * 61 % 100) / 100 < (0.2 + 0.6 * score))
        rows.append(
            {
                "id": f"a{number}",
                "when": "2026-01-05",
                "y": event,
                "p": int(score) if whole else round(score, 4),
                "q": round(0.1 + 0.8 * score, 4),
                "t": 1 + number * 13 % 50 / 10,
                "w": 1 + number % 3,
                "age": 20 + number % 50,
                "note": "plain",
            }
        )
    return rows


def odd_row(**values: Any) -> Row:
    return {
        "id": "odd",
        "when": "2026-01-05",
        "y": 1,
        "p": 0.7824,
        "q": 0.6,
        "t": 2.5,
        "w": 2,
        "age": 33,
        "note": "plain",
        **values,
    }


ODD: dict[str, tuple[bool, Row]] = {
    "fraction": (True, odd_row()),
    "fractional weight": (False, odd_row(w=2.5)),
    "fractional age": (False, odd_row(age=44.5)),
    "missing score": (False, odd_row(p="NA")),
    "missing label": (False, odd_row(y="NA")),
    "quoted comma": (False, odd_row(note='a, "b"; c\td')),
    "line break": (False, odd_row(note="two\nlines")),
    "new key": (False, {**odd_row(), "extra": "x"}),
    "long text": (False, odd_row(note="x" * 3_000_000)),
    "other date": (False, odd_row(when="2026-01-05T10:00:00Z")),
    "fractional label": (False, odd_row(y=0.7)),
    "text label": (False, odd_row(y="maybe")),
    "text score": (False, odd_row(p="high")),
}


def text_of(rows: Iterable[Row], suffix: str, names: tuple[str, ...]) -> list[str]:
    """Each row as it stands in a file."""
    if suffix.startswith(".json"):
        return [json.dumps(row) + "\n" for row in rows]
    texts = []
    for row in rows:
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow(row.get(name, "") for name in names)
        texts.append(stream.getvalue())
    return texts


@functools.cache
def plain_text(suffix: str, names: tuple[str, ...], whole: bool) -> tuple[str, ...]:
    return tuple(text_of(plain_rows(whole=whole), suffix, names))


def write_rows(path: Path, place: int, odd: Row, *, whole: bool) -> None:
    """Write plain rows with an odd one among them."""
    names = tuple(odd)
    lines = list(plain_text(path.suffix, names, whole))
    lines[place:place] = text_of([odd], path.suffix, names)
    if path.suffix == ".json":
        path.write_text(f"[{','.join(lines)}]", encoding="utf-8")
        return
    header = [] if path.suffix == ".jsonl" else text_of([dict(zip(names, names, strict=True))], path.suffix, names)
    path.write_text("".join([*header, *lines]), encoding="utf-8")


def evaluate(run: Run, folder: Path, file: str, *more: str) -> Any:
    return run("evaluate", folder / file, "--metrics", "ece,brier", "--json", *more)


def scan_rows(run: Run, folder: Path, file: str) -> Any:
    said = run("scan", folder / file, "--drop-missing", "--out", folder / "all.sketch")
    return said, run("evaluate", folder / "all.sketch", "--metrics", "ece,brier", "--json") if said[0] == 0 else None


def fit_and_apply(run: Run, folder: Path, file: str) -> Any:
    options = ("--method", "platt", "--drop-missing")
    said = run("fit", folder / file, *options, "--out", folder / "cal.json")
    if said[0]:
        return said
    out = "calibrated.tsv" if file.endswith(".tsv") else "calibrated.csv"
    applied = run("apply", folder / "cal.json", folder / file, "--drop-missing", "--out", folder / out)
    return said, applied, sorted((folder / out).read_text(encoding="utf-8").splitlines())


def report(run: Run, folder: Path, file: str) -> Any:
    said = run("report", folder / file, "--drop-missing", "--by", "w", "--features", "age", "--out", folder / "r.json")
    return said, json.loads((folder / "r.json").read_text()) if said[0] == 0 else None


def run_steps(run: Run, folder: Path, file: str) -> Any:
    files = ("--validation", folder / file, "--test", folder / file, "--out", folder / "out")
    said = run("run", *files, "--drop-missing", "--method", "platt,isotonic", "--accuracy", "0.7")
    names = ("metrics.json", "calibrator.json")
    return said, [json.loads((folder / "out" / name).read_text()) for name in names] if said[0] == 0 else None


def survival(run: Run, folder: Path, file: str) -> Any:
    columns = ("--time", "t", "--event", "y", "--prob", "p", "--horizon", "4", "--by", "w")
    return run("survival", folder / file, *columns, "--drop-missing", "--resamples", "40", "--json")


def monitor(run: Run, folder: Path, file: str) -> Any:
    reference = [{"y": number % 2, "p": 0.3 + 0.4 * (number % 2)} for number in range(40)]
    (folder / "reference.csv").write_text("y,p\n" + "".join(f"{row['y']},{row['p']}\n" for row in reference))
    store = folder / "m.db"
    columns = ("--id", "id", "--time", "when", "--drop-missing")
    steps = [
        run("monitor", "init", store, "--reference", folder / "reference.csv", "--every", "1d", "--resamples", "19"),
        run("monitor", "update", store, folder / file, *columns, "--fail-on-alarm", "never"),
    ]
    status = json.loads(run("monitor", "status", store, "--json", "--fail-on-alarm", "never")[1])
    return steps, [(window["window"], window["n"], window.get("labelled")) for window in status["windows"]]


def late_labels(run: Run, folder: Path, file: str) -> Any:
    """Labels that come in a file of their own; the predictions have none."""
    (folder / "reference.csv").write_text("y,p\n0,0.3\n1,0.7\n0,0.2\n1,0.8\n")
    (folder / "scores.csv").write_text("id,p\n" + "".join(f"a{n},0.5\n" for n in range(50)) + "odd,0.5\n")
    store = folder / "m.db"
    never = ("--fail-on-alarm", "never")
    return [
        run("monitor", "init", store, "--reference", folder / "reference.csv", "--rows", "60", "--resamples", "19"),
        run("monitor", "update", store, folder / "scores.csv", "--id", "id", *never),
        run("monitor", "labels", store, folder / file, "--id", "id", "--label", "y", *never),
    ]


COMMANDS: dict[str, Callable[[Run, Path, str], Any]] = {
    "evaluate": evaluate,
    "drop missing": lambda run, folder, file: evaluate(run, folder, file, "--drop-missing"),
    "stream": lambda run, folder, file: evaluate(run, folder, file, "--drop-missing", "--stream"),
    "weights": lambda run, folder, file: evaluate(run, folder, file, "--weight", "w", "--drop-missing"),
    "where": lambda run, folder, file: evaluate(run, folder, file, "--where", "age > 44 AND p < 0.9"),
    "groups": lambda run, folder, file: evaluate(run, folder, file, "--by", "age >= 44.25", "--drop-missing"),
    "scan": scan_rows,
    "assess": lambda run, folder, file: run("assess", folder / file, "--drop-missing", "--json"),
    "select": lambda run, folder, file: run("select", folder / file, "--drop-missing", "--coverage", "0.5", "--json"),
    "fit and apply": fit_and_apply,
    "compare": lambda run, folder, file: run(
        "compare", folder / file, "--models", "p,q", "--drop-missing", "--resamples", "40", "--json"
    ),
    "clinical": lambda run, folder, file: run(
        "clinical", folder / file, "--drop-missing", "--resamples", "40", "--json"
    ),
    "survival": survival,
    "certify": lambda run, folder, file: run("certify", folder / file, "--drop-missing", "--by", "w", "--json"),
    "report": report,
    "run": run_steps,
    "monitor": monitor,
    "labels": late_labels,
}
QUICK = [
    *(("evaluate", ".csv"), ("stream", ".jsonl"), ("where", ".tsv"), ("monitor", ".csv"), ("labels", ".jsonl")),
    *(("report", ".json"), ("compare", ".csv"), ("clinical", ".tsv"), ("survival", ".json")),
    ("certify", ".jsonl"),
]
# Each odd row with one of them.
SOME = [(*QUICK[place % len(QUICK)], odd) for place, odd in enumerate(ODD)]
EVERY = [(command, suffix) for command in COMMANDS for suffix in (".csv", ".tsv", ".jsonl", ".json")]


def without_order(outcome: str) -> str:
    """An outcome without what follows the order of the rows: the line of an error and the value there, and last digits of sums."""
    places = r"(on line|in row|line) [\d,]+|got \W*'[^']*'|got \d+ |rows \(\d[^)]*counted from 0\)"
    outcome = re.sub(places, "PLACE", outcome)
    return re.sub(r"\d+\.\d{12,}(e-?\d+)?", lambda number: f"{float(number[0]):.9g}", outcome)


def results(run: Run, folder: Path, command: str, suffix: str, odd: str, *, places: list[str]) -> list[Any]:
    whole, row = ODD[odd]
    outcomes = []
    for place in places:
        own = folder / place
        own.mkdir()
        write_rows(own / f"rows{suffix}", PLACES[place], row, whole=whole)
        outcome = repr(COMMANDS[command](run, own, f"rows{suffix}")).replace(str(own), "DIR")
        outcomes.append(without_order(outcome))
    return outcomes


@pytest.mark.parametrize(("command", "suffix", "odd"), SOME)
def test_a_late_row_counts_as_an_early_one(tmp_path: Path, run: Run, command: str, suffix: str, odd: str) -> None:
    first, late = results(run, tmp_path, command, suffix, odd, places=["first", "late"])
    assert "Traceback" not in late
    assert late == first


@pytest.mark.deep
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(("command", "suffix"), EVERY)
def test_no_place_of_a_row_changes_a_result(tmp_path: Path, run: Run, command: str, suffix: str, odd: str) -> None:
    first, late, last = results(run, tmp_path, command, suffix, odd, places=["first", "late", "last"])
    assert "Traceback" not in late
    assert late == first
    assert last == first


TYPES = {
    "STRUCT(a INTEGER)": "{'a': 1}",
    "MAP(VARCHAR, INTEGER)": "MAP {'a': 1}",
    "BLOB": "'a'::BLOB",
    "INTEGER[]": "[1, 2]",
    "DATE": "DATE '2026-01-05'",
    "UUID": "gen_random_uuid()",
    "INTERVAL": "INTERVAL 1 DAY",
}
NESTED = list(TYPES)[:4]


def write_typed(path: Path, **columns: str) -> Path:
    """Rows whose columns have the values of these SQL expressions."""
    with duckdb.connect() as connection:
        listed = ", ".join(f"{value} AS {name}" for name, value in {"label": "1", "prob": "0.5", **columns}.items())
        connection.execute(f"COPY (SELECT {listed} FROM range(9)) TO '{path}' (FORMAT parquet)")
    return path


@pytest.mark.parametrize("stream", [(), ("--stream",)])
@pytest.mark.parametrize("type", [type for type in TYPES if type != "INTEGER[]"])
@pytest.mark.parametrize("role", ["label", "prob"])
def test_a_type_that_a_role_cannot_have_is_one_sentence(
    tmp_path: Path, run: Run, role: str, type: str, stream: tuple[str, ...]
) -> None:
    path = write_typed(tmp_path / "rows.parquet", **{role: TYPES[type]})
    check_refusal(run("evaluate", path, *stream), type)


@pytest.mark.parametrize("type", NESTED)
def test_groups_and_ids_are_neither_nested_nor_bytes(tmp_path: Path, run: Run, type: str) -> None:
    path = write_typed(tmp_path / "rows.parquet", g=TYPES[type], t="TIMESTAMP '2026-01-05'")
    store, reference = tmp_path / "m.db", tmp_path / "reference.csv"
    reference.write_text("label,prob\n0,0.3\n1,0.7\n0,0.2\n1,0.8\n")
    assert run("monitor", "init", store, "--reference", reference, "--every", "1d")[0] == 0
    for command in (
        ("evaluate", path, "--by", "g"),
        ("evaluate", path, "--by", "g x label", "--stream"),
        ("scan", path, "--by", "g", "--out", tmp_path / "all.sketch"),
        ("monitor", "init", tmp_path / "n.db", "--reference", path, "--every", "1d", "--by", "g"),
        ("monitor", "update", store, path, "--time", "t", "--id", "g"),
        ("monitor", "labels", store, path, "--id", "g", "--label", "label"),
    ):
        check_refusal(run(*command), f"g: has values of type {type}; expected numbers, text, truth values or dates")


def brier(run: Run, path: Path, content: str, *options: str) -> tuple[int, Any]:
    """Exit code, and the number of rows with their Brier score, or the error."""
    path.write_text(content)
    code, out, err = run("evaluate", path, "--metrics", "brier", "--json", *options)
    result = json.loads(out) if code == 0 else None
    return code, err if result is None else (result["header"]["n"], round(result["metrics"][0]["value"], 10))


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_codes_and_long_ids_are_text_in_expressions(tmp_path: Path, run: Run, stream: tuple[str, ...]) -> None:
    rows = "".join(f"{number % 2},0.{number % 9 + 1},{'01123' if number % 4 else '1123'}\n" for number in range(40))
    path = tmp_path / "codes.csv"
    assert brier(run, path, f"label,prob,zip\n{rows}", "--where", "zip = '1123'", *stream)[1][0] == 10
    assert brier(run, path, f"label,prob,zip\n{rows}", "--where", "zip LIKE '01%'", *stream)[1][0] == 30
    ids = "".join(f"{number % 2},0.5,9999999999999999999{number % 2}\n" for number in range(40))
    where = ("--where", "c = '99999999999999999991'")
    assert brier(run, path, f"label,prob,c\n{ids}", *where, *stream)[1][0] == 20


def test_lists_are_read_as_lists_only_where_all_entries_are(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "lists.csv"
    lists = 'label,prob\n1,"[0.4,0.6]"\n0,"[0.3,0.7]"\n'
    expected = (0, (2, round((0.4**2 + 0.7**2) / 2, 10)))
    assert brier(run, path, lists) == expected
    for missing in ("NA", '"[0.2,null]"'):
        for place in (1, 3):  # above the first list, and below the last
            lines = lists.splitlines()
            lines.insert(place, f"0,{missing}")
            assert brier(run, path, "\n".join(lines) + "\n", "--drop-missing") == expected
    for content, problem in (
        (f"{lists}0,0.3\n", "expected numbers, got the text '[0.4,0.6]'"),
        (f'{lists}0,"[0.2,0.3,0.5]"\n', "has lists of 2 to 3 entries"),
        ("label,prob\n1,[0.4 0.6]\n0,[0.3 0.7]\n", "expected numbers, got the text '[0.4 0.6]'"),
    ):
        code, error = brier(run, path, content, "--drop-missing")
        assert (code, problem in error, error.count("\n")) == (2, True, 1), error


def test_a_label_none_is_the_name_of_a_class(tmp_path: Path, run: Run) -> None:
    code, error = brier(run, tmp_path / "none.csv", "label,prob\n1,0.5\n0,0.2\nNone,0.3\n", "--stream")
    assert (code, "got 'None' on line 4" in error) == (2, True)


def test_single_quotes_in_the_first_rows_are_quotes(tmp_path: Path, run: Run) -> None:
    rows = "".join(f"{number % 2},0.3,'a,{number % 3}'\n" for number in range(30))
    assert brier(run, tmp_path / "quotes.csv", f"label,prob,g\n{rows}", "--where", "g = 'a,1'") == (0, (10, 0.29))


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
@pytest.mark.parametrize("label", ["true", "yes"])
def test_a_late_word_among_numbers_is_an_error_in_memory_and_in_a_stream(
    run: Run, tmp_path: Path, label: str, stream: str
) -> None:
    rows = [f"{number % 2},0.{number % 9 + 1}" for number in range(ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,p", *rows, f"{label},0.5"]) + "\n")
    code, _, error = run("evaluate", tmp_path / "rows.csv", "--metrics", "ece", stream)
    assert code == 2
    assert error.startswith("error: --label")
