"""`calibrant evaluate`: every kind of file, columns found and named, gates, exit codes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from tests.calling import Run, check_refusal, read_json

RNG = np.random.default_rng(3)
PROBS = RNG.dirichlet(np.ones(3), 60)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
SCORE = RNG.random(60)
YES = (RNG.random(60) < SCORE).astype(int)
LAND = np.array(["FR", "DE"])[np.arange(60) % 2]


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "binary.csv"
    pd.DataFrame({"y": YES, "p": SCORE, "country": LAND, "w": np.arange(60) % 4}).to_csv(path, index=False)
    return path


def values(output: str) -> dict[str, float]:
    return {entry["metric"]: entry["value"] for entry in json.loads(output)["metrics"]}


def write_table(path: Path, columns: dict[str, object]) -> None:
    frame = pl.DataFrame(columns)
    writers: dict[str, Callable[[], object]] = {
        ".csv": lambda: frame.write_csv(path),
        ".tsv": lambda: frame.write_csv(path, separator="\t"),
        ".parquet": lambda: frame.write_parquet(path),
        ".jsonl": lambda: frame.write_ndjson(path),
    }
    writers[path.suffix]()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_every_kind_of_table_gives_the_library_s_numbers(tmp_path: Path, run: Run, suffix: str) -> None:
    path = tmp_path / f"preds{suffix}"
    write_table(path, {"label": LABELS, **{f"p_{k}": PROBS[:, k] for k in range(3)}})
    code, out, _ = run("evaluate", path, "--json", "--metrics", "ece,brier,cwce")
    assert code == 0
    expected = {id: cal.catalogue[id](LABELS, PROBS) for id in ("ece", "brier", "cwce")}
    assert values(out) == pytest.approx(expected, abs=1e-12)


def test_npz_with_probabilities_or_logits(tmp_path: Path, run: Run) -> None:
    """An array of another length is left out, one of half precision is converted, text needs the names of the classes."""
    names = np.array(["a", "b", "c"])
    np.savez(tmp_path / "a.npz", labels=LABELS, probs=PROBS)
    np.savez(tmp_path / "b.npz", labels=LABELS, logits=np.log(PROBS).astype(np.float16), names=names)
    np.savez(tmp_path / "c.npz", labels=names[LABELS], probs=PROBS)
    for name, more in (("a.npz", ()), ("b.npz", ()), ("c.npz", ("--classes", "a,b,c"))):
        code, out, err = run("evaluate", tmp_path / name, "--json", "--metrics", "nll", *more)
        assert code == 0, err
        assert values(out)["nll"] == pytest.approx(cal.nll(LABELS, PROBS), rel=1e-3)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_standard_input_is_recognised(
    tmp_path: Path, run: Run, standard_input: Callable[[bytes], None], kind: str
) -> None:
    path = tmp_path / f"x.{kind}"
    write_table(path, {"y": YES, "p": SCORE})
    standard_input(path.read_bytes())
    _, out, _ = run("evaluate", "-", "--json", "--metrics", "ece")
    assert values(out)["ece"] == pytest.approx(cal.ece(YES, SCORE))


def test_named_columns(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "odd.csv"
    pd.DataFrame({"a": YES, "b": SCORE, "c": np.log(SCORE / (1 - SCORE)), "ok": YES, "n": np.arange(60) % 3}).to_csv(
        path, index=False
    )
    base = ("evaluate", path, "--json", "--metrics", "ece", "--label", "a")
    assert values(run(*base, "--prob", "b")[1])["ece"] == pytest.approx(cal.ece(YES, SCORE))
    assert values(run(*base, "--logits", "c")[1])["ece"] == pytest.approx(cal.ece(YES, SCORE))
    weighted = values(run(*base, "--prob", "b", "--weight", "n")[1])["ece"]
    assert weighted == pytest.approx(cal.ece(YES, SCORE, sample_weight=np.arange(60) % 3))
    counted = values(run(*base, "--prob", "b", "--counts", "n")[1])["ece"]
    assert counted == pytest.approx(weighted)
    sure = values(run("evaluate", path, "--json", "--metrics", "ece", "--label", "ok", "--confidence-column", "b")[1])[
        "ece"
    ]
    assert sure == pytest.approx(cal.ece(cal.Predictions(YES, SCORE, input="confidence")))


def test_a_comma_inside_parentheses_belongs_to_an_expression(binary: Path, run: Run) -> None:
    _, out, _ = run(
        "evaluate", str(binary), "--prob", "least(greatest(p, 0.1), 0.9)", "--metrics", "brier,ece", "--json"
    )
    clipped = np.clip(SCORE, 0.1, 0.9)
    assert values(out) == pytest.approx({"brier": cal.brier(YES, clipped), "ece": cal.ece(YES, clipped)})


def test_where_and_by(binary: Path, run: Run) -> None:
    _, out, _ = run("evaluate", binary, "--json", "--metrics", "ece", "--where", "country = 'FR' AND p > 0.2")
    rows = (LAND == "FR") & (SCORE > 0.2)
    assert values(out)["ece"] == pytest.approx(cal.ece(YES[rows], SCORE[rows]))
    groups = read_json(run("evaluate", binary, "--json", "--metrics", "ece", "--by", "country"))["groups"]
    assert groups["DE"]["metrics"][0]["value"] == pytest.approx(cal.ece(YES[LAND == "DE"], SCORE[LAND == "DE"]))


def test_output_in_a_pipe_is_plain(binary: Path, run: Run) -> None:
    _, out, _ = run("evaluate", binary)
    assert "\x1b" not in out
    assert "60 rows, " in out
    assert " events, prevalence" in out
    assert any(line.startswith("Expected calibration error (ece) ") for line in out.splitlines())
    assert "rejected at 5%: p " in out


@pytest.mark.parametrize(
    ("command", "reader", "printed"),
    [("--help", "true", ["0"]), ("evaluate {} --metrics ece --json --fail-if 'ece > 0'", "head -n 1", ["{", "1"])],
)
def test_a_closed_pipe_leaves_the_exit_code(binary: Path, command: str, reader: str, printed: list[str]) -> None:
    line = f"{sys.executable} -m calibrant {command.format(binary)} | {reader}; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.split() == printed
    assert "Traceback" not in done.stderr


def test_an_output_that_cannot_be_written(binary: Path) -> None:
    line = f"{sys.executable} -m calibrant evaluate {binary} --metrics ece"
    full = subprocess.run(["bash", "-c", f"{line} > /dev/full"], capture_output=True, text=True, check=False)
    assert full.returncode == 2
    assert full.stderr.startswith("error: standard output: cannot be written (")
    assert full.stderr.count("\n") == 1


def test_rows_that_begin_with_a_hash_are_rows(tmp_path: Path, run: Run) -> None:
    lines = [f"{'#' if i % 2 else ''}{i},{i % 2},{(i % 9 + 1) / 10}" for i in range(1000)]
    path = tmp_path / "tickets.csv"
    path.write_text("ticket,y,p\n" + "\n".join(lines) + "\n")
    _, out, _ = run("evaluate", path, "--metrics", "ece", "--json")
    assert json.loads(out)["header"]["n"] == 1000
    run("fit", path, "--method", "temperature", "--out", tmp_path / "calibrator.json")
    run("apply", tmp_path / "calibrator.json", path, "--out", tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv")["ticket"].to_list() == [line.split(",")[0] for line in lines]
    path.write_text("# made by a machine\n# on a day\n" + path.read_text())
    _, out, _ = run("evaluate", path, "--metrics", "ece", "--json")
    assert json.loads(out)["header"]["n"] == 1000


def test_large_numbers_and_dates_are_groups_of_their_own(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "x.csv"
    large = [str(2**64 - 1), str(2**64 - 2)]
    days = ["03/05/2026", "03/06/2026"]
    rows = [f"{i % 2},0.{i % 9 + 1},{large[i % 2]},2026-03-0{i % 2 + 1},{days[i % 2]},{i % 2}" for i in range(40)]
    path.write_text("y,p,large,day,us,small\n" + "\n".join(rows) + "\n")
    for by, names in (
        ("large", sorted(large)),
        ("day", ["2026-03-01", "2026-03-02"]),
        ("us", days),
        ("small", ["0", "1"]),
    ):
        groups = json.loads(run("evaluate", path, "--metrics", "ece", "--json", "--by", by)[1])["groups"]
        assert sorted(groups) == names
        assert {part["header"]["n"] for part in groups.values()} == {20}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_patterns_are_read_as_rows_too(tmp_path: Path, run: Run, suffix: str) -> None:
    for part in range(3):
        which = np.arange(60) % 3 == part
        write_table(tmp_path / f"part[{part}]{suffix}", {"y": YES[which], "p": SCORE[which]})
    pattern = tmp_path / f"part*{suffix}"
    _, out, _ = run("evaluate", pattern, "--no-stream", "--metrics", "ece,skce_uq", "--json")
    assert json.loads(out)["header"]["n"] == 60
    assert values(out)["ece"] == pytest.approx(cal.ece(YES, SCORE))
    assert values(out)["skce_uq"] == pytest.approx(cal.skce_uq(YES, SCORE))  # which needs the rows
    assert json.loads(run("assess", pattern, "--json")[1])["statistic"] == pytest.approx(cal.ecce_mad(YES, SCORE))
    (tmp_path / "part.tsv").write_text("y\tp\n0\t0.5\n")
    check_refusal(run("assess", tmp_path / "part*"), "name files of one format")


def test_databases_are_read_as_rows_too(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        for name in ("one", "two"):
            connection.execute(f"CREATE TABLE {name} AS SELECT i % 2 AS y, (i % 9 + 1) / 10 AS p FROM range(90) t(i)")
    check_refusal(run("assess", path), "has several tables; the tables are one, two; use --table")
    _, out, _ = run("assess", path, "--table", "one", "--metric", "ece", "--resamples", "99", "--json")
    i = np.arange(90)
    assert json.loads(out)["statistic"] == pytest.approx(cal.ece(i % 2, (i % 9 + 1) / 10))


def test_sketches_are_assessed_and_reported(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "x.sketch"
    cal.Sketches.of(YES, SCORE).write(path)
    _, out, _ = run("assess", path, "--metric", "ece", "--resamples", "99", "--json")
    assert json.loads(out)["statistic"] == pytest.approx(cal.ece(YES, SCORE))
    code, out, _ = run("report", path, "--out", "-", "--as", "md")
    assert code == 0
    assert "from a sketch of 60 rows: scores are the means of its cells" in out
    assert run("fit", path, "--out", tmp_path / "calibrator.json")[0] == 0
    check_refusal(run("assess", path, "--prob", "p"), "--prob: applies to rows")


def test_many_groups_stand_below_each_other(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "x.csv"
    group = np.arange(60) % 12
    pd.DataFrame({"y": YES, "p": SCORE, "g": group}).to_csv(path, index=False)
    _, out, _ = run("evaluate", path, "--by", "g", "--metrics", "brier,nll")
    lines = [line.split() for line in out.splitlines()]
    assert ["group", "rows", "brier", "nll"] in lines
    shown = next(line for line in lines if line[:2] == ["7", "5"])
    assert float(shown[2]) == pytest.approx(cal.brier(YES[group == 7], SCORE[group == 7]), rel=1e-3)
    assert "8 of " in run("evaluate", path, "--by", "g", "--metrics", "recommended")[1]
    assert "10 of 12 groups are shown" in run("evaluate", path, "--by", "g")[1]


def test_names_cannot_drive_the_terminal(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "x.csv"
    pd.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "g": ["a\x1b[31mred", "b"]}).to_csv(path, index=False)
    _, out, _ = run("evaluate", path, "--by", "g", "--metrics", "ece")
    assert "\x1b" not in out
    assert "red" in out


def test_bins_of_confidences_begin_at_1_over_k(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "preds.csv"
    write_table(path, {"label": LABELS, **{f"p_{k}": PROBS[:, k] for k in range(3)}})
    binned = ("--bins", "7", "--binning", "equal_width:1/K")
    code, out, _ = run("evaluate", path, "--json", "--metrics", "ece", *binned)
    assert (code, values(out)["ece"]) == (0, pytest.approx(cal.ece(LABELS, PROBS, bins=7, binning="equal_width:1/K")))
    code, out, _ = run("evaluate", path, "--metrics", "cwce", *binned)
    assert "--binning: the range (0.333333, 1) for 3 classes excludes" in " ".join(out.split())


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_different_line_ends_are_an_error(tmp_path: Path, run: Run, stream: str) -> None:
    path = tmp_path / "mixed.csv"
    rows = [f"{y},{p:.4f}" for y, p in zip(YES, SCORE, strict=True)]
    path.write_bytes(("y,p\r\n" + "\r\n".join(rows[:30]) + "\r\n" + "\n".join(rows[30:]) + "\n").encode())
    code, _, err = run("evaluate", path, stream)
    assert code == 2
    assert err.startswith(f"error: {path}: cannot be read as csv")
