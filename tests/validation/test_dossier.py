"""The validation dossier: it fails if a formula changes by one part in a million, names the row, and is the same bytes each time."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import metric_tests
from calibrant.metrics.registry import Metric
from calibrant.recalibration.methods import TYPES
from calibrant.validation import dossier, references
from calibrant.validation.identities import compare_identity, identities, problem
from calibrant.validation.installation import checksums
from calibrant.validation.references import GROUPS, Compared, Reference, compare, load, stored_json
from calibrant.validation.traceability import trace
from tests.calling import Run

ROOT = Path(cal.__file__).parents[2]
SLIGHTLY = 1 + 1e-6
SMALL = "definitions/brier/"
# Of every family: scores, bins, kernels, curves, cumulative differences.
METRICS = ("brier", "nll", "ece", "mce", "cwce", "smece", "skce_ul", "ici", "cox_slope", "ecce_mad")


def validate(only: str = SMALL) -> dossier.Dossier:
    return cal.validation.validate(only=only)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_that_is_off_by_one_part_in_a_million_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    formula = Metric._formula_value

    def off(self: Metric, *arguments: Any) -> float:
        return formula(self, *arguments) * (SLIGHTLY if self.id == name else 1.0)

    assert validate(f"definitions/{name}/").passed
    monkeypatch.setattr(Metric, "_formula_value", off)
    found = validate(f"definitions/{name}/")
    assert found.failed
    assert {check.reference.topic for check in found.failed} == {name}
    assert repr(found).startswith(f"FAILED: {len(found.failed)} of {len(found.checks)} checks")
    assert f"failed: {found.failed[0].reference.id}: cal.{name}(" in repr(found)


@pytest.mark.parametrize("name", ["spiegelhalter_z", "hosmer_lemeshow"])
def test_a_test_that_is_off_by_one_part_in_a_million_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = metric_tests.OwnTest.__call__

    def off(self: metric_tests.OwnTest, asked: metric_tests.TestInput) -> metric_tests.TestOutcome:
        found = run(self, asked)
        return replace(found, pvalue=found.pvalue * SLIGHTLY)

    assert validate(f"r/{name}/").passed
    monkeypatch.setattr(metric_tests.OwnTest, "__call__", off)
    failed = validate(f"r/{name}/").failed
    assert failed
    assert {check.reference.kind for check in failed} == {"test"}


@pytest.mark.parametrize("name", ["TemperatureScaling", "PlattScaling"])
def test_a_calibrator_that_is_off_by_one_part_in_a_million_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = getattr(cal, name)
    apply = kind.apply

    def off(self: Any, data: Any) -> Any:
        columns = apply(self, data)
        columns[:, -1] *= SLIGHTLY
        return columns

    assert validate(f"stored/{name}/").passed
    monkeypatch.setattr(kind, "apply", off)
    failed = validate(f"stored/{name}/").failed
    assert [check.reference.topic for check in failed] == [name] * len(failed)
    assert failed


def test_every_metric_and_calibrator_has_a_row_that_sees_one_part_in_a_million() -> None:
    """The most that a factor of 1 + 1e-6 changes a row exceeds its tolerance."""

    def seen(reference: Reference) -> bool:
        values = np.ravel(reference.value)
        return Compared(reference, (values * SLIGHTLY).tolist()).difference > reference.tolerance

    rows = [row for group in GROUPS for row in load(group)]
    assert {row.topic for row in load("definitions") if row.kind == "metric" and seen(row)} == set(cal.catalogue)
    assert {row.topic for row in rows if row.kind == "calibrator" and seen(row)} >= set(TYPES) - {"Identity"}
    assert {row.topic for row in rows if row.kind == "test" and seen(row)} >= set(METRICS)
    assert len({row.id for row in rows}) == len(rows)
    assert all(row.source and row.source_call and row.reason for row in rows)
    outside = ("r", "peers")  # these have errors of their own, each with its reason
    assert all(row.tolerance <= (1e-5 if row.id.startswith(outside) else 1e-7) for row in rows)
    # A change by one part in a million is seen beside all but a few of them.
    assert sum(row.tolerance > 1e-7 for row in rows) < 0.07 * len(rows)


def test_where_the_values_are_from() -> None:
    """Each source has its version, and what its calls need is stored beside them."""
    sources = {row.source for row in load("peers")}
    assert len(sources) >= 16
    assert sources <= set(stored_json("peers")["setup"])
    assert all(re.fullmatch(r"[\w-]+ [\d.]+", source) for source in sources)
    scripts = {row.source.partition("; ")[2] for row in load("r")}
    assert scripts <= set(stored_json("r")["setup"])
    assert all(
        (ROOT / name).read_text(encoding="utf-8").strip() == text for name, text in stored_json("r")["setup"].items()
    )
    assert all("Julia was not run" in row.source_call for row in load("published"))
    # Nothing but the values of an earlier version names calibrant, and no row depends on which one it is.
    assert not any(cal.__version__ in row.call for group in GROUPS for row in load(group))


def test_identities_hold_and_a_lost_bit_is_seen() -> None:
    with problem(3000) as arrays:
        quick = [row for row in identities() if row.topic not in ("torch", "polars")]  # importing them takes longer
        found = [compare_identity(row, arrays) for row in quick]
        assert [check.reference.id for check in found if not check.passed] == []
        assert all(check.found != [] for check in found)
        arrays["in_chunks"] = lambda y, p: cal.Sketches.of(y[1:], p[1:])
        chunks = next(row for row in quick if row.topic == "chunks")
        assert not compare_identity(chunks, arrays).passed


def test_an_error_is_a_failed_row() -> None:
    reference = replace(load("definitions")[0], call="cal.no_such_metric(y, p)")
    found = compare(reference)
    assert not found.passed
    assert found.error.startswith("AttributeError: calibrant has no 'no_such_metric'")
    assert not Compared(reference, [1.0, 2.0]).passed  # another shape


def test_the_same_installation_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = validate("r/cox*"), validate("r/cox*")
    for suffix in ("html", "md", "json", "csv"):
        once, again = (found.save(tmp_path / f"d.{suffix}").read_bytes() for found in (first, second))
        assert once == again
        assert str(ROOT).encode() not in once
        assert b"passed" in once


def test_content(tmp_path: Path) -> None:
    found = validate("r/cox")
    content = found.to_dict()
    assert list(content) == [
        "summary", "passed", "checks", "failed", "selection", "installation", "traceability", "operation", "sources", "performance",
        "known_limits",
    ]  # fmt: skip
    rows = [row for row in load("r") if row.id.startswith("r/cox")]
    count = len(rows)
    assert count > 70
    assert content["summary"] == f"passed: {count} of {count} checks"
    assert (
        content["installation"]["files"]["validation/dossier.py"]
        == checksums(Path(dossier.__file__).parent)["dossier.py"]
    )
    assert {row["id"] for row in content["operation"]} == {row.id for row in rows}
    limits = content["known_limits"]
    assert dict(limits["metrics"]).keys() == {
        name for name in cal.catalogue if cal.catalogue[name].info.certainty != "certain"
    }
    assert {row[0].partition(" ")[0] for row in limits["differences"]["rows"]} >= {
        "scikit-learn",
        "netcal",
        "betacal",
        "R",
    }
    assert all(row[3] and row[4] for row in limits["r"]["rows"])
    # No metric or decision, one calibrator, and only tests that need groups, features or many rows are compared with calibrant alone.
    inside = {kind: topics.split(", ") for kind, topics in limits["inside"]}
    assert not {"metric", "decision"} & inside.keys()
    assert inside["calibrator"] == ["SafeCalibration"]
    assert len(inside["test"]) <= 20
    assert len(inside["interval"]) <= 12
    assert {row[-1] for row in limits["size"]["rows"]}.isdisjoint({"nominal", "few runs"})
    performance = content["performance"]
    assert {row[0] for row in performance["coverage"]["rows"]} <= set(cal.catalogue)
    assert {row[0] for row in performance["size"]["rows"]} <= {row[0] for row in performance["tests"]["rows"]}
    verdicts = {row[0] for row in performance["verdicts"]["rows"]}
    assert {row[-1] for name in ("size", "few", "coverage") for row in performance[name]["rows"]} <= verdicts
    assert performance["times"]["columns"][6] == "times a plain read"
    assert len(found.to_frame()) == count
    page = found.save(tmp_path / "d.html").read_text(encoding="utf-8")
    assert "http://" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert markup_is_balanced(page)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r' id="([^"]+)"', page))
    assert 'href="#r/cox_slope/1"' in page


def test_every_requirement_is_traced_to_a_definition_rows_and_a_result() -> None:
    everything = [row for group in GROUPS for row in load(group)] + identities()
    checks = [compare(row) for row in load("definitions") if row.topic in ("brier", "ece")]
    checks[0] = Compared(checks[0].reference, 0.5)
    entries = {entry["id"]: entry for entry in trace(everything, checks)}
    names = {
        "metric": cal.catalogue,
        "calibrator": set(TYPES) - {"Identity"},
        "test": METRICS,
        "interval": METRICS,
    }
    assert entries.keys() >= {f"{kind}/{name}" for kind, some in names.items() for name in some}
    assert all(
        entry["requirement"] and entry["definition"] and entry["rows"] and entry["sources"]
        for entry in entries.values()
    )
    of = entries[f"metric/{checks[0].reference.topic}"]
    assert (of["result"], of["evaluated"] - of["passed"]) == ("FAILED", 1)
    assert entries["metric/nll"]["result"] == "not evaluated"
    assert entries["metric/ece"]["rows"][0] == "definitions/ece/1 to 4"
    assert "Naeini" in entries["metric/ece"]["definition"]
    assert sum(len(entry["rows"]) for entry in entries.values()) > len(entries)


def markup_is_balanced(page: str) -> bool:
    """Whether every element is closed in order."""
    stack: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            if tag not in ("meta", "br"):
                stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert stack.pop() == tag

    Reader().feed(page)
    return not stack


@pytest.fixture
def run(run: Run) -> Run:
    return lambda *arguments: run("validate", *arguments)


def test_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "dossier.html"
    code, printed, _ = run("--only", SMALL, "--out", str(out))
    assert (code, printed.split("\n")[0]) == (0, "passed: 7 of 7 checks")
    assert "<h1>Validation dossier</h1>" in out.read_text(encoding="utf-8")
    code, printed, _ = run("--only", SMALL, "--json")
    assert (code, json.loads(printed)["passed"]) == (0, True)
    monkeypatch.setattr(Metric, "_formula_value", lambda *_: 0.5)
    code, printed, _ = run("--only", SMALL, "--out", str(tmp_path / "failed.md"))
    # Limits too: they end at the loss of a certain prediction, which the formula gives.
    assert (code, printed.split("\n")[0]) == (1, "FAILED: 7 of 7 checks")
    assert "failed: definitions/brier/1: cal.brier(" in (tmp_path / "failed.md").read_text(encoding="utf-8")


def test_rows_are_repeated_by_their_id_and_each_topic_is_evaluated() -> None:
    """As the dossier says: every row that its tables name, also one that only the long form evaluates, and no other."""
    assert [row.id for row in dossier._select_rows("r/cox_intercept/1", deep=False)] == ["r/cox_intercept/1"]
    short, every = dossier._rows(deep=False), load("stored")
    left_out = {row.id for row in every} - {row.id for row in short}
    assert left_out
    assert all([row.id for row in dossier._select_rows(name, deep=False)] == [name] for name in list(left_out)[:3])
    assert {(row.kind, row.topic) for row in every} <= {(row.kind, row.topic) for row in short}
    assert not [row for row in dossier._select_rows("identities/", deep=False) if row.topic == "pyspark"]


@pytest.mark.parametrize("content", [None, '{"rows": ['])
def test_a_damaged_file_of_values_is_named(
    content: str | None, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "references").mkdir()
    if content:
        (tmp_path / "references" / "stored.json").write_text(content)
    references.stored_json.cache_clear()
    monkeypatch.setattr(references, "files", lambda _: tmp_path)
    code, _, error = run("--only", SMALL)
    references.stored_json.cache_clear()
    assert code == 2
    assert "stored.json: cannot be read (" in error
    assert "; install calibrant again" in error


def test_no_temporary_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: Any, **__: Any) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", absent)
    monkeypatch.setenv("TMPDIR", "/no/such/folder")
    with (
        pytest.raises(
            cal.errors.FileError,
            match=r"/no/such/folder: cannot be written \(No usable .*\); set TMPDIR to another folder",
        ),
        problem(10),
    ):
        pass


def test_a_full_temporary_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with (
        pytest.raises(cal.errors.FileError, match=r"cannot be written \(No space left on device\); set TMPDIR"),
        problem(10),
    ):
        pass


@pytest.mark.parametrize("only", ["definitions/", "r/", "peers/", "published/", *(f"*/{name}/*" for name in METRICS)])
def test_the_rows_of_packages_and_of_each_family_pass(only: str) -> None:
    found = validate(only)
    assert found.failed == ()
    assert found.checks


@pytest.mark.deep
def test_everything_passes() -> None:
    found = cal.validation.validate(deep=True)
    assert found.failed == ()
    assert len(found.checks) > 1_600


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "group",
    [
        "simulations",
        *(
            pytest.param(name, marks=pytest.mark.deep)
            for name in ("definitions", "r", "peers", "published", "conventions", "benchmarks")
        ),
    ],
)
def test_values_are_those_of_their_sources(group: str) -> None:
    """Packages of Python and R are run again where they are installed."""
    import make_references

    found = make_references.check(group)
    assert found.differ == []
    if not found.values:
        pytest.skip("; ".join(found.absent))
    assert found.values >= (100 if group == "r" else len(load(group)) if group in GROUPS else 1)
