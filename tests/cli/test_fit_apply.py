"""`calibrant fit`, `apply`, `select` and `run`: calibrators, calibrated rows, thresholds and reports from validation data."""

import json
import re
from collections.abc import Callable
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.decision.thresholds import choose_threshold
from calibrant.recalibration.methods import METHODS
from tests.calling import Run, check_refusal

NAMES = ["cat", "dog", "eel"]


def rows(seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Labels and overconfident probabilities of three classes."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, 3))
    true = np.exp(logits)
    true /= true.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1)
    sure = np.exp(2.5 * logits)
    return labels, sure / sure.sum(axis=1, keepdims=True)


LABELS, PROBS = rows(0)
NEW_LABELS, NEW_PROBS = rows(1)


def frame(labels: np.ndarray, probs: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame(
        {"id": np.arange(len(labels)), "label": labels, **{f"p_{k}": probs[:, k] for k in range(probs.shape[1])}}
    )


@pytest.fixture
def validation(tmp_path: Path) -> Path:
    path = tmp_path / "validation.parquet"
    frame(LABELS, PROBS).write_parquet(path)
    return path


@pytest.fixture
def new_rows(tmp_path: Path) -> Path:
    path = tmp_path / "test.parquet"
    frame(NEW_LABELS, NEW_PROBS).write_parquet(path)
    return path


@pytest.fixture
def fitted(tmp_path: Path, validation: Path, run: Run) -> Path:
    path = tmp_path / "calibrator.json"
    assert run("fit", validation, "--method", "temperature", "--out", path)[0] == 0
    return path


def calibrated(path: Path, columns: int = 3) -> np.ndarray:
    read = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema_length=None)
    return read.select([f"p_{k}_calibrated" for k in range(columns)]).to_numpy()


# fit


def test_fit_prints_the_candidates_and_writes_what_the_library_would(
    tmp_path: Path, validation: Path, run: Run
) -> None:
    code, out, err = run("fit", validation, "--method", "temperature,vector", "--out", tmp_path / "m.json")
    assert (code, err) == (0, "")
    expected = cal.recalibrate(LABELS, PROBS, method=["temperature", "vector"])
    assert out.startswith(repr(expected))
    assert f"Wrote {tmp_path / 'm.json'}" in out
    assert np.array_equal(
        cal.load(tmp_path / "m.json").predict_proba(NEW_PROBS), expected.calibrator.predict_proba(NEW_PROBS)
    )


def test_fit_as_json_with_its_options(tmp_path: Path, validation: Path, run: Run) -> None:
    words = ("--loss", "brier", "--folds", "3", "--seed", "4", "--method", "temperature", "--json")
    code, out, _ = run("fit", validation, "--out", tmp_path / "m.json", *words)
    found = json.loads(out)
    expected = cal.recalibrate(LABELS, PROBS, method="temperature", loss="brier", folds=3, rng=4)
    assert (code, found["method"], found["calibrator"]) == (0, "temperature", str(tmp_path / "m.json"))
    assert found["candidates"][1]["loss"] == pytest.approx(expected.candidates[1].loss)


def test_a_calibrated_model_is_left_alone(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(400)
    pd.DataFrame({"y": (rng.random(400) < p).astype(int), "p": p}).to_csv(tmp_path / "v.csv", index=False)
    code, out, _ = run("fit", tmp_path / "v.csv", "--method", "kernel", "--out", tmp_path / "m.json")
    assert code == 0
    assert out.startswith("none: no calibrator reduces the held-out loss")
    assert "It leaves the probabilities unchanged" in out


def test_counts_are_rows_and_weights_are_not(tmp_path: Path, run: Run) -> None:
    weight = np.arange(600) % 4
    frame(LABELS, PROBS).with_columns(pl.Series("w", weight)).write_parquet(tmp_path / "v.parquet")
    found = {}
    for kind in ("--weight", "--counts"):
        words = (kind, "w", "--method", "isotonic_pooled", "--out", tmp_path / "m.json")
        code, out, _ = run("fit", tmp_path / "v.parquet", *words)
        assert (code, f"fitted on {900 if kind == '--counts' else 450:,} rows" in out) == (0, True)
        found[kind] = json.loads(run("fit", tmp_path / "v.parquet", *words, "--json")[1])
    expected = cal.recalibrate(cal.Predictions(LABELS, PROBS, counts=weight), method="isotonic_pooled")
    assert (found["--counts"]["n"], found["--weight"]["n"]) == (900, 450)
    assert found["--counts"]["candidates"][1]["low"] == pytest.approx(expected.candidates[1].low)
    assert found["--counts"]["candidates"][1]["low"] != pytest.approx(found["--weight"]["candidates"][1]["low"])


def test_fit_from_logits(tmp_path: Path, run: Run) -> None:
    np.savez(tmp_path / "v.npz", labels=LABELS, logits=np.log(PROBS) + 3)
    np.savez(tmp_path / "t.npz", labels=NEW_LABELS, logits=np.log(NEW_PROBS) - 1, name=NEW_LABELS.astype(str))
    assert run("fit", tmp_path / "v.npz", "--method", "temperature", "--out", tmp_path / "m.json")[0] == 0
    assert cal.load(tmp_path / "m.json").input == "logit"
    assert run("apply", tmp_path / "m.json", tmp_path / "t.npz", "--out", tmp_path / "c.parquet")[0] == 0
    read = pl.read_parquet(tmp_path / "c.parquet")
    found = np.array(read["logits_calibrated"].to_list())
    expected = cal.TemperatureScaling().fit(PROBS, LABELS).predict_proba(NEW_PROBS)
    assert found == pytest.approx(expected, abs=1e-6)
    assert read["name"].to_list() == NEW_LABELS.astype(str).tolist()
    frame(NEW_LABELS, NEW_PROBS).write_parquet(tmp_path / "p.parquet")
    code, _, err = run("apply", tmp_path / "m.json", tmp_path / "p.parquet", "--out", tmp_path / "c.csv")
    assert (code, "fitted on logits" in err) == (2, True)


# apply


def test_apply_judges_no_labels(tmp_path: Path, run: Run) -> None:
    rare = np.array([0.02, 0.28, 0.7]) * np.random.default_rng(0).dirichlet([1, 1, 1], 600) ** 3
    probs = rare / rare.sum(axis=1, keepdims=True)
    frame(probs.argmax(axis=1), probs).write_csv(tmp_path / "v.csv")
    assert run("fit", tmp_path / "v.csv", "--method", "temperature", "--out", tmp_path / "m.json")[0] == 0
    frame(LABELS, probs).drop("label").write_csv(tmp_path / "t.csv")
    code, _, err = run("apply", tmp_path / "m.json", tmp_path / "t.csv", "--out", tmp_path / "c.csv")
    assert (code, "permuted" in err) == (0, False)


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv"])
def test_apply_adds_columns_and_keeps_the_others(
    tmp_path: Path, fitted: Path, new_rows: Path, run: Run, kind: str
) -> None:
    target = tmp_path / f"calibrated.{kind}"
    code, out, err = run("apply", fitted, new_rows, "--out", target)
    assert (code, err) == (0, "")
    assert f"Wrote {target}: 600 rows" in out
    read = (
        pl.read_parquet(target) if kind == "parquet" else pl.read_csv(target, separator="," if kind == "csv" else "\t")
    )
    names = ["id", "label", "p_0", "p_1", "p_2"]
    assert read.columns == [*names, "p_0_calibrated", "p_1_calibrated", "p_2_calibrated"]
    assert read.select(names).equals(frame(NEW_LABELS, NEW_PROBS))
    found = read.select(read.columns[5:]).to_numpy()
    assert np.array_equal(found, cal.load(fitted).predict_proba(NEW_PROBS))


def test_apply_reads_jsonl_standard_input_and_where(
    tmp_path: Path, fitted: Path, run: Run, standard_input: Callable[[bytes], None]
) -> None:
    frame(NEW_LABELS, NEW_PROBS).write_ndjson(tmp_path / "t.jsonl")
    standard_input((tmp_path / "t.jsonl").read_bytes())
    assert run("apply", fitted, "-", "--out", tmp_path / "c.csv", "--where", "id < 100")[0] == 0
    assert np.array_equal(calibrated(tmp_path / "c.csv"), cal.load(fitted).predict_proba(NEW_PROBS[:100]))


def test_apply_to_a_list_of_probabilities(tmp_path: Path, fitted: Path, run: Run) -> None:
    pl.DataFrame({"label": NEW_LABELS, "probs": NEW_PROBS.tolist()}).write_parquet(tmp_path / "t.parquet")
    assert run("apply", fitted, tmp_path / "t.parquet", "--out", tmp_path / "c.parquet")[0] == 0
    found = np.array(pl.read_parquet(tmp_path / "c.parquet")["probs_calibrated"].to_list())
    assert np.array_equal(found, cal.load(fitted).predict_proba(NEW_PROBS))


def test_classes_are_matched_by_name_and_not_by_place(tmp_path: Path, run: Run) -> None:
    names = np.array(NAMES)
    columns = {f"p_{name}": PROBS[:, k] for k, name in enumerate(NAMES)}
    pl.DataFrame({"label": names[LABELS], **columns}).write_csv(tmp_path / "v.csv")
    assert run("fit", tmp_path / "v.csv", "--method", "vector", "--out", tmp_path / "m.json")[0] == 0
    calibrator = cal.load(tmp_path / "m.json")
    assert calibrator.classes_.tolist() == NAMES
    order = [2, 0, 1]
    pl.DataFrame({f"p_{NAMES[k]}": NEW_PROBS[:, k] for k in order}).write_csv(tmp_path / "t.csv")
    assert run("apply", tmp_path / "m.json", tmp_path / "t.csv", "--out", tmp_path / "c.csv")[0] == 0
    found = pl.read_csv(tmp_path / "c.csv").select([f"p_{name}_calibrated" for name in NAMES]).to_numpy()
    assert found == pytest.approx(calibrator.predict_proba(NEW_PROBS), abs=1e-12)
    pl.DataFrame({f"p_{name}": NEW_PROBS[:, k] for k, name in enumerate(("cat", "dog", "fox"))}).write_csv(
        tmp_path / "t.csv"
    )
    check_refusal(run("apply", tmp_path / "m.json", tmp_path / "t.csv", "--out", tmp_path / "c.csv"), "'fox'")


def test_the_rows_of_the_fit_are_noticed(tmp_path: Path, fitted: Path, validation: Path, run: Run) -> None:
    code, _, err = run("apply", fitted, validation, "--out", tmp_path / "c.parquet")
    assert code == 0
    assert len(err.splitlines()) == 1
    assert err.startswith("warning: TemperatureScaling was fitted on these rows")


def test_preprocessing_must_agree(tmp_path: Path, validation: Path, new_rows: Path, run: Run) -> None:
    path = tmp_path / "m.json"
    assert run("fit", validation, "--method", "temperature", "--preprocessing", "resize 224", "--out", path)[0] == 0
    target = tmp_path / "c.csv"
    assert run("apply", path, new_rows, "--out", target, "--preprocessing", "resize 224")[0] == 0
    code, _, err = run("apply", path, new_rows, "--out", target, "--preprocessing", "resize 256")
    assert (code, "'resize 224'" in err, "'resize 256'" in err) == (2, True, True)


# errors


def test_what_is_read_is_never_written_over(tmp_path: Path, fitted: Path, validation: Path, run: Run) -> None:
    rows = tmp_path / "rows.csv"
    frame(NEW_LABELS, NEW_PROBS).write_csv(rows)
    link = tmp_path / "link.csv"
    link.symlink_to(rows)
    made = tmp_path / "calibrated.parquet"
    frame(NEW_LABELS, NEW_PROBS).write_parquet(made)
    before = {path: path.read_bytes() for path in (rows, fitted, validation, made)}
    quick = ("--method", "temperature")
    for command in (
        ("fit", rows, *quick, "--out", rows),
        ("fit", rows, *quick, "--out", tmp_path / "." / "link.csv"),
        ("apply", fitted, rows, "--out", rows),
        ("apply", fitted, link, "--out", rows),
        ("run", "--validation", validation, "--test", made, "--out", tmp_path),
        ("run", "--validation", made, "--test", rows, "--out", tmp_path),
    ):
        check_refusal(run(*command), "--out", "would overwrite the input")
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "report.html").exists()


def test_maps_for_groups_are_applied_in_python(tmp_path: Path, new_rows: Path, run: Run) -> None:
    each = cal.GroupCalibration(cal.TemperatureScaling()).fit(PROBS, LABELS, groups=np.arange(600) % 2)
    path = cal.save(each, tmp_path / "each.json")
    check_refusal(run("apply", path, new_rows, "--out", tmp_path / "c.csv"), "GroupCalibration", "in Python")
    assert not (tmp_path / "c.csv").exists()


# select


def test_select_prints_threshold_promise_and_coverage(tmp_path: Path, run: Run) -> None:
    drawn = cal.inference.make_calibrated(3000, rng=0)
    pd.DataFrame({"y": drawn.y_true, "p": drawn.y_prob}).to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run("select", tmp_path / "t.csv", "--accuracy", "0.8", "--guarantee", "0.95")
    expected = choose_threshold(drawn.y_true, drawn.y_prob, accuracy=0.8, guarantee=0.95)
    assert (code, out) == (0, f"{expected!r}\n")
    code, out, _ = run("select", tmp_path / "t.csv", "--coverage", "0.8", "--json")
    assert (code, json.loads(out)["coverage"] >= 0.8) == (0, True)


def test_select_fails_where_nothing_can_be_promised(tmp_path: Path, run: Run) -> None:
    (tmp_path / "t.csv").write_text("y,p\n0,0.6\n1,0.7\n0,0.8\n")
    code, out, err = run("select", tmp_path / "t.csv", "--accuracy", "0.95")
    assert (code, "threshold  none" in out) == (1, True)
    assert err == "no threshold found for an accuracy of at least 0.95\n"


# run

QUICK = ("--metrics", "nll,brier,ece", "--level", "0.8", "--resamples", "50", "--method", "temperature")


def test_run_does_the_whole_workflow(tmp_path: Path, validation: Path, new_rows: Path, run: Run) -> None:
    folder = tmp_path / "made" / "out"
    words = ("--validation", validation, "--test", new_rows, "--out", folder)
    code, out, err = run("run", *words, *QUICK, "--accuracy", "0.7", "--preprocessing", "none")
    assert (code, err) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == [
        "calibrated.parquet",
        "calibrator.json",
        "metrics.json",
        "report.html",
    ]
    calibrator = cal.load(folder / "calibrator.json", preprocessing="none")
    after = calibrator.predict_proba(NEW_PROBS)
    assert np.array_equal(calibrated(folder / "calibrated.parquet"), after)
    found = json.loads((folder / "metrics.json").read_text())
    for key, probs in (("before", NEW_PROBS), ("after", after)):
        values = {entry["metric"]: entry for entry in found[key]["metrics"]}
        for id in ("nll", "brier", "ece"):
            assert values[id]["value"] == pytest.approx(cal.catalogue[id](NEW_LABELS, probs))
        assert values["nll"]["low"] < values["nll"]["value"] < values["nll"]["high"]
    assert found["recalibration"]["n"] == 420
    assert "600 validation rows (420 for the calibrator, 180 for the threshold), 600 test rows." in out
    assert "Calibrator: temperature" in out
    assert "nll fell from" in out
    assert "Threshold 0." in out
    accepted = after.max(axis=1) >= found["threshold"]["threshold"]
    right = (after.argmax(axis=1) == NEW_LABELS)[accepted]
    assert f"accepts {accepted.mean():.1%} of the rows, with an accuracy of {right.mean():.1%}" in out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<h2 ") == 7
    assert "<bdi>Before</bdi></label>" in page
    assert "temperature" in page[page.index('id="recalibration"') : page.index('id="threshold"')]
    assert all(f"<li>{escape(line)}</li>" in page for line in found["summary"])
    assert f"{found['before']['metrics'][0]['value']:.4f}" in page
    assert f"{found['threshold']['threshold']:.4f}" in page[page.index('id="threshold"') :]


def test_run_notices_that_test_rows_are_validation_rows(tmp_path: Path, validation: Path, run: Run) -> None:
    words = ("--validation", validation, "--test", validation, "--out", tmp_path / "o", *QUICK)
    code, out, err = run("run", *words)
    assert (code, len(err.splitlines())) == (0, 1)
    assert err.startswith("warning: ")
    assert "Warning: the test data are the validation data" in out


def weighted_files(folder: Path, weight: np.ndarray) -> tuple[object, ...]:
    for name, labels, probs in (("v", LABELS, PROBS), ("t", NEW_LABELS, NEW_PROBS)):
        frame(labels, probs).with_columns(pl.Series("w", weight)).write_csv(folder / f"{name}.csv")
    return "--validation", folder / "v.csv", "--test", folder / "t.csv", "--out", folder / "o"


def test_run_with_importance_has_no_threshold_and_says_why(tmp_path: Path, run: Run) -> None:
    code, out, _ = run("run", *weighted_files(tmp_path, np.linspace(0.5, 1.5, 600)), *QUICK, "--weight", "w")
    assert code == 0
    assert "No threshold: guarantees are not available with weighted rows." in out


def test_run_counts_rows_and_says_by_how_much_a_loss_fell(tmp_path: Path, run: Run) -> None:
    code, out, _ = run("run", *weighted_files(tmp_path, np.full(600, 3)), *QUICK, "--counts", "w")
    assert code == 0
    assert "1,800 validation rows (1,260 for the calibrator, 540 for the threshold), 1,800 test rows." in out
    fell = re.search(r"nll fell from (\S+) to (\S+) \(by \[(\S+), (\S+)\] at 80%\)", out)
    before, after, low, high = map(float, fell.groups())
    assert 0 < low < before - after < high


# evaluate(calibrator=)


def test_evaluate_with_a_map(fitted: Path) -> None:
    calibrator = cal.load(fitted)
    expected = cal.evaluate(NEW_LABELS, calibrator.predict_proba(NEW_PROBS), metrics=["nll", "ece"])
    for given in (calibrator, fitted, str(fitted)):
        found = cal.evaluate(NEW_LABELS, NEW_PROBS, metrics=["nll", "ece"], calibrator=given)
        assert [r.value for r in found.results] == [r.value for r in expected.results]
    with pytest.warns(cal.errors.InSampleWarning):
        cal.evaluate(LABELS, PROBS, metrics=["nll"], calibrator=calibrator)
    two = cal.inference.make_miscalibrated(500, warp=cal.inference.simulation.temperature(2.0), rng=0)
    platt = cal.PlattScaling().fit(two.y_prob[:250], two.y_true[:250])
    y, p = two.y_true[250:], two.y_prob[250:]
    found = cal.evaluate(cal.Predictions(y, p, groups=np.arange(250) % 2), metrics=["nll"], calibrator=platt)
    assert found["nll"] == cal.nll(y, platt.predict_proba(p)[:, 1])
    assert set(found.groups) == {0, 1}


def test_the_table_of_maps_in_the_docs_is_true() -> None:
    """Every map by name stands in it, with its class and what it keeps."""
    page = (Path(__file__).parents[2] / "docs" / "improve.md").read_text(encoding="utf-8")
    listed = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0].startswith("`"):
            name = cells[1].strip("`").partition("(")[0]  # some state an option
            listed[cells[0].strip("`")] = (name, cells[3] == "yes", cells[4] == "yes")
    known = {name: make() for name, make in METHODS.items()}
    assert listed == {
        name: (type(calibrator).__name__, calibrator.keeps_order, calibrator.keeps_argmax)
        for name, calibrator in known.items()
    }


def test_fit_for_one_event(run: Run, validation: Path, new_rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "calibrated.csv"
    code, text, _ = run("fit", validation, "--lens", "within_top:2", "--method", "platt", "--out", tmp_path / "m.json")
    assert code == 0
    assert "platt: selected by cross-validation on 600 rows for" in text
    assert run("apply", tmp_path / "m.json", new_rows, "--out", out)[0] == 0
    direct = cal.recalibrate(LABELS, PROBS, method="platt", lens="within_top:2").predict_proba(NEW_PROBS)
    written = pl.read_csv(out).select(pl.col("^p_.*_calibrated$")).to_numpy()
    assert written == pytest.approx(direct, abs=1e-12)
    code, _, err = run("fit", validation, "--lens", "rank", "--out", tmp_path / "m.json")
    assert code == 2
    assert "--lens: 'rank' is incomplete" in err


def test_evaluate_with_a_map_of_named_classes() -> None:
    names = np.array(NAMES)
    calibrator = cal.VectorScaling().fit(PROBS, names[LABELS])
    order = [1, 2, 0]
    expected = cal.nll(NEW_LABELS, calibrator.predict_proba(NEW_PROBS))
    turned = cal.Predictions(names[NEW_LABELS], NEW_PROBS[:, order], classes=[NAMES[k] for k in order])
    assert cal.evaluate(turned, metrics=["nll"], calibrator=calibrator)["nll"] == pytest.approx(expected)
