"""Which column belongs to which class: options, names of columns and calibrated columns never swap classes silently."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.input.frames import as_booleans, class_names
from calibrant.sketches.files.columns import Columns, check_class_order, find_columns
from tests.calling import Run, check_refusal

RNG = np.random.default_rng(11)
PROBS = RNG.dirichlet(np.ones(3), 200)
LABELS = (PROBS.cumsum(axis=1) < RNG.random((200, 1))).sum(axis=1).clip(0, 2)
NAMES = np.array(["cat", "dog", "eel"])
TWO = np.column_stack([1 - PROBS[:, 0], PROBS[:, 0]])
YES = (RNG.random(200) < TWO[:, 1]).astype(int)
ORDER = "the columns are in another order"


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    path = tmp_path / "animals.csv"
    pd.DataFrame({"label": NAMES[LABELS], **{f"p_{name}": PROBS[:, k] for k, name in enumerate(NAMES)}}).to_csv(
        path, index=False
    )
    return path


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    """Two classes by name, the positive one second."""
    path = tmp_path / "loans.csv"
    words = np.array(["default", "ok"])[YES]
    pd.DataFrame({"label": words, "p_default": TWO[:, 0], "p_ok": TWO[:, 1]}).to_csv(path, index=False)
    return path


def ece(answer: tuple[int, str, str]) -> float:
    assert answer[0] == 0, answer[2]
    return float(json.loads(answer[1])["metrics"][0]["value"])


MEASURE = ("--metrics", "ece", "--json")


# --classes


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_classes_in_another_order_than_the_columns_are_refused(animals: Path, run: Run, stream: list[str]) -> None:
    assert ece(run("evaluate", animals, *MEASURE, *stream, "--classes", "cat,dog,eel")) == pytest.approx(
        cal.ece(LABELS, PROBS), abs=1e-12
    )
    for given in ("dog,cat,eel", "dog,cat,other"):
        code, out, err = run("evaluate", animals, *MEASURE, *stream, "--classes", given)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"--classes: {ORDER}: cat, dog, eel" in err


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_two_classes_have_their_positive_one_by_the_order_of_the_columns(
    loans: Path, run: Run, stream: list[str]
) -> None:
    right = pytest.approx(cal.ece(YES, TWO), abs=1e-12)
    turned = pytest.approx(cal.ece(1 - YES, TWO[:, ::-1]), abs=1e-12)
    assert ece(run("evaluate", loans, *MEASURE, *stream)) == right
    assert ece(run("evaluate", loans, *MEASURE, *stream, "--probs", "p_ok,p_default")) == turned
    assert ece(run("evaluate", loans, *MEASURE, *stream, "--classes", "ok,default")) == turned


def test_the_positive_class_of_two_columns_can_be_named(loans: Path, run: Run) -> None:
    turned = pytest.approx(cal.ece(1 - YES, TWO[:, 0]), abs=1e-12)
    assert ece(run("evaluate", loans, *MEASURE, "--pos-label", "default")) == turned
    assert ece(run("evaluate", loans, *MEASURE, "--pos-label", "ok")) == pytest.approx(cal.ece(YES, TWO), abs=1e-12)
    code, _, err = run("evaluate", loans, *MEASURE, "--pos-label", "okay")
    assert (code, "--pos-label: must be one of the classes default, ok; got 'okay'" in err) == (2, True)
    assert ece(run("evaluate", loans, *MEASURE, "--prob", "p_default", "--pos-label", "default")) == turned
    code, _, err = run("evaluate", loans, *MEASURE, "--stream", "--pos-label", "default")
    assert (code, "--prob COLUMN --classes NEGATIVE,POSITIVE" in err) == (2, True)
    words = ("--stream", "--prob", "p_default", "--classes", "ok,default")
    assert ece(run("evaluate", loans, *MEASURE, *words)) == turned


def test_a_map_is_fitted_and_applied_to_classes_in_the_order_of_the_columns(
    tmp_path: Path, animals: Path, run: Run
) -> None:
    out = tmp_path / "calibrator.json"
    code, _, err = run("fit", animals, "--out", out, "--classes", "eel,dog,cat")
    assert (code, ORDER in err, out.exists()) == (2, True, False)
    assert run("fit", animals, "--out", out, "--method", "vector")[0] == 0
    check_refusal(run("apply", out, animals, "--out", tmp_path / "c.csv", "--classes", "eel,dog,cat"), ORDER)
    assert run("apply", out, animals, "--out", tmp_path / "c.csv", "--classes", "cat,dog,eel")[0] == 0


def test_shifted_numbers_and_new_names_are_no_other_order() -> None:
    check_class_order([1, 2, 3], [0, 1, 2])
    check_class_order(["kitten", "puppy"], ["cat", "dog"])
    check_class_order(["0", "1"], [0, 1])
    for given, own in (([1, 0], [0, 1]), (["b", "c"], ["a", "b"]), ([False, True], [True, False])):
        with pytest.raises(cal.errors.ArgumentError, match=ORDER):
            check_class_order(given, own)


# Labels that are read as truth values


def test_numbered_columns_of_truth_values_keep_their_numbers(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "truth.csv"
    pd.DataFrame({"label": YES.astype(bool), "p_1": TWO[:, 1], "p_0": TWO[:, 0]}).to_csv(path, index=False)
    for stream in ([], ["--stream"]):
        found = ece(run("evaluate", path, *MEASURE, *stream, "--probs", "p_0,p_1"))
        assert found == pytest.approx(cal.ece(YES, TWO), abs=1e-12)
    assert ece(run("evaluate", path, *MEASURE, "--lens", "class:1")) == pytest.approx(cal.ece(YES, TWO), abs=1e-12)


def test_words_for_truth() -> None:
    assert as_booleans(["Yes", "no", 1]) == [True, False, True]
    assert as_booleans(["yes", "maybe"]) is None


# Calibrated columns next to the scores


def test_of_scores_and_calibrated_ones_a_set_must_be_named(tmp_path: Path, animals: Path, run: Run) -> None:
    fitted, made = tmp_path / "calibrator.json", tmp_path / "made.csv"
    assert run("fit", animals, "--method", "vector", "--out", fitted)[0] == 0
    assert run("apply", fitted, animals, "--out", made)[0] == 0
    new = cal.ece(LABELS, pd.read_csv(made)[[f"p_{name}_calibrated" for name in NAMES]].to_numpy())
    for stream in ([], ["--stream"]):
        code, out, err = run("evaluate", made, *MEASURE, *stream)
        assert (code, out) == (2, "")
        assert "prob=" not in err
        assert "name one set: " in err
        assert "'p_*_calibrated'" in err
        assert "--normalize" not in err
        old = ece(run("evaluate", made, *MEASURE, *stream, "--probs", "p_*"))
        assert old == pytest.approx(cal.ece(LABELS, PROBS), abs=1e-9)
        listed = ",".join(f"p_{name}_calibrated" for name in NAMES)
        for pattern in ("p_*_calibrated", "*_calibrated", listed):
            found = ece(run("evaluate", made, *MEASURE, *stream, "--probs", pattern))
            assert found == pytest.approx(new, abs=1e-9)


def test_one_column_and_its_calibrated_counterpart(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "both.csv"
    pd.DataFrame({"y": YES, "p": TWO[:, 1], "p_calibrated": TWO[:, 1] ** 2}).to_csv(path, index=False)
    check_refusal(run("evaluate", path, *MEASURE), "--prob 'p' or --prob 'p_calibrated'")
    assert ece(run("evaluate", path, *MEASURE, "--prob", "p_calibrated")) == pytest.approx(cal.ece(YES, TWO[:, 1] ** 2))
    with pytest.raises(cal.errors.ColumnError):
        cal.scan(path)


def test_calibrated_columns_alone_are_scores_like_others() -> None:
    names = ["label", "p_cat_calibrated", "p_dog_calibrated"]
    assert find_columns(names, Columns()) == ("label", names[1:])
    assert class_names(names[1:], "") == ["cat", "dog"]
    assert class_names(names[1:], "*_calibrated") == ["cat", "dog"]
    assert class_names(["p_0_calibrated", "p_1_calibrated"], "p_*_calibrated") == [0, 1]


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["says: cat", "says: dog"], "says: *"),
        (["a_cat", "a_dog"], "a_cat,a_dog"),
        (["a_cat", "a_dog"], "a_*"),
        (["p_cat", "p_dog"], "p*"),
        (["cat prob", "dog prob"], "* prob"),
        (["cat", "dog"], "cat,dog"),
    ],
)
def test_columns_name_their_classes_whatever_their_order(names: list[str], pattern: str) -> None:
    assert class_names(names, pattern) == ["cat", "dog"]
    assert class_names(names[::-1], pattern) == ["dog", "cat"]


# A monitor knows the classes of its reference


@pytest.fixture
def store(tmp_path: Path, animals: Path, run: Run) -> Path:
    path = tmp_path / "watch.db"
    assert run("monitor", "init", path, "--reference", animals, "--every", "1d", "--resamples", "19")[0] == 0
    return path


def delivery(path: Path, names: list[str], order: tuple[int, ...]) -> Path:
    columns: dict[str, Any] = {f"p_{names[k]}": PROBS[:, k] for k in order}
    rest = {"label": NAMES[LABELS], "made": "2026-01-05T10:00:00Z", "row": np.arange(200)}
    pd.DataFrame({**columns, **rest}).to_csv(path, index=False)
    return path


def test_a_monitor_reads_columns_by_the_classes_they_name(tmp_path: Path, store: Path, run: Run) -> None:
    file = delivery(tmp_path / "turned.csv", list(NAMES), (2, 0, 1))
    assert run("monitor", "update", store, file, "--time", "made", "--id", "row")[0] == 0
    code, out, _ = run("monitor", "status", store, "--json")
    window = json.loads(out)["windows"][0]
    assert (code, window["calibration"]["ece"]) == (0, pytest.approx(cal.ece(LABELS, PROBS), abs=1e-9))


def test_a_monitor_refuses_columns_of_other_classes(tmp_path: Path, store: Path, run: Run) -> None:
    file = delivery(tmp_path / "other.csv", ["cat", "dog", "emu"], (2, 0, 1))
    code, _, err = run("monitor", "update", store, file, "--time", "made", "--id", "row")
    assert (code, "the columns are emu, cat, dog, and the classes of the reference cat, dog, eel" in err) == (2, True)
    unknown = delivery(tmp_path / "unknown.csv", ["a", "b", "c"], (0, 1, 2))  # names that say nothing: by place
    assert run("monitor", "update", store, unknown, "--time", "made", "--id", "row")[0] == 0


# Errors in the words of options


def test_what_has_no_value_says_why_in_options(tmp_path: Path, loans: Path, run: Run) -> None:
    code, out, _ = run("evaluate", loans, "--metrics", "pce,lce,mcm", "--json")
    reasons = {found["metric"]: found["reason"] for found in json.loads(out)["metrics"]}
    assert code == 0
    assert reasons["pce"] == "--by: required by pce; use --by"
    assert reasons["mcm"].startswith("--by: required by mcm; use --by")
    assert reasons["lce"] == "--features: required by lce; use --features"


def test_what_a_stream_does_not_keep_is_read_without_one(tmp_path: Path, loans: Path, run: Run) -> None:
    pattern = tmp_path / "loan*.csv"
    code, out, _ = run("evaluate", pattern, "--metrics", "skce_uq")
    assert (code, "skce_uq cannot be computed from a sketch; use --no-stream" in out) == (0, True)
    code, _, err = run("evaluate", pattern, "--metrics", "ece", "--fail-if", "skce_uq > 1")
    assert (code, "cannot be computed from a sketch; use --no-stream" in err) == (2, True)
    assert run("evaluate", pattern, "--metrics", "skce_uq", "--no-stream", "--fail-if", "skce_uq > 1")[0] == 0
    kept = tmp_path / "loans.sketch"
    assert run("scan", loans, "--out", kept)[0] == 0
    out = run("evaluate", kept, "--metrics", "skce_uq")[1]
    assert "skce_uq cannot be computed from a sketch; evaluate the files that it summarizes" in out


# Ordered classes


def test_an_order_of_text_classes_has_to_be_given(animals: Path, run: Run) -> None:
    expected = cal.ece(LABELS, PROBS, lens="ordinal")
    for given in (["--classes", "cat,dog,eel"], ["--probs", "p_cat,p_dog,p_eel"]):
        assert ece(run("evaluate", str(animals), *given, "--lens", "ordinal", *MEASURE)) == pytest.approx(expected)
    check_refusal(
        run("evaluate", str(animals), "--lens", "ordinal", *MEASURE),
        "--classes: 'ordinal' requires the order of the classes, and the order of the columns (cat, dog, eel) may be arbitrary",
    )


def test_columns_listed_in_another_order_are_evaluated_in_it(animals: Path, run: Run) -> None:
    expected = cal.ece(np.array([2, 0, 1])[LABELS], PROBS[:, [1, 2, 0]], lens="ordinal:0")
    given = ["--probs", "p_dog,p_eel,p_cat", "--lens", "ordinal:dog"]
    assert ece(run("evaluate", str(animals), *given, *MEASURE)) == pytest.approx(expected)


def test_groups_by_the_label_or_the_score_leave_them_in_use() -> None:
    assert find_columns(["y", "p", "x y"], Columns(by="x y")) == ("y", ["p"])
    for by in ("y", "p", "p/4", "y x p/4"):
        assert find_columns(["y", "p"], Columns(by=by)) == ("y", ["p"])
    # Another column comes first.
    assert find_columns(["y", "target", "p", "score"], Columns(by="target, score/4")) == ("y", ["p"])
    with pytest.raises(cal.errors.ColumnError):
        find_columns(["target", "p"], Columns(prob="target"))
