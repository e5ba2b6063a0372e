"""Plug-ins: the example package, installed by pip without a network; modules and files of `--plugin`; plug-ins that fail."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest

import calibrant as cal
from calibrant import plugins
from calibrant.cli.main import cli
from calibrant.errors import ArgumentError, PluginError
from tests.calling import IN_TURN, Run, check_refusal, raises

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "plugin"
Process = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed example."""
    pytest.importorskip("pip", reason="installs a package")
    pytest.importorskip("hatchling", reason="builds a package without a network")
    target = tmp_path_factory.mktemp("installed")
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, str(EXAMPLE)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target


def python(*arguments: str, path: Path | None, folder: Path) -> subprocess.CompletedProcess[str]:
    places = [str(Path(cal.__file__).parents[1]), *([] if path is None else [str(path)])]
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    )


def commands(*written: str, path: Path | None, folder: Path) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of commands in one process."""
    arguments = json.dumps([shlex.split(command) for command in written])
    done = python("-c", IN_TURN, arguments, path=path, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return [tuple(answer) for answer in json.loads(done.stdout)]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Overconfident predictions of two classes in the format of the example, and as CSV."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.01, 0.99, 400).round(3)
    y = (rng.random(400) < 0.3 + 0.3 * p).astype(int)
    pairs = tmp_path / "rows.pairs"
    pairs.write_text("".join(f"{label}:{prob}\n" for label, prob in zip(y, p, strict=True)))
    lines = "".join(f"{label},{prob}\n" for label, prob in zip(y, p, strict=True))
    (tmp_path / "rows.csv").write_text(f"label,prob\n{lines}")
    return pairs


def test_an_installed_plugin_is_found_by_name_in_python(installed: Path, tmp_path: Path, rows: Path) -> None:
    code = """
import sys
import calibrant as cal
y, p = [0, 1, 1, 0] * 25, [0.2, 0.8, 0.6, 0.3] * 25
cal.ece(y, p); cal.catalogue["ECE"]; cal.recalibrate(y, p, method="platt"); cal.evaluate(y, p)
assert "importlib.metadata" not in sys.modules or not cal.plugins._loaded, "a known name loads no plug-in"
assert abs(cal.mean_absolute_gap(y, p) - 0.275) < 1e-12
assert cal.metrics.mean_absolute_gap is cal.catalogue["mean_absolute_gap"]
assert cal.catalogue["mean_absolute_gap"].reference.startswith("The documentation")
assert cal.evaluate(y, p, metrics=["ece", "mean_absolute_gap"])["mean_absolute_gap"] == cal.mean_absolute_gap(y, p)
found = cal.recalibrate(y, p, method="base_rate_shrinkage")
assert [row.method for row in found.candidates] == ["none", "base_rate_shrinkage"]
half = cal.recalibration.methods.METHODS["base_rate_shrinkage"]().fit(p, [0, 1, 0, 1] * 25)
assert 0 < half.factor_ < 1
band = half.predict_interval([0.9], n_resamples=20)
assert band.low < half.predict_proba([0.9])[0, 1] < band.high
cal.save(half, "half.json")
assert dict(cal.plugins.installed()) == {"calibrant-example": "0.1.0"}
try:
    cal.catalogue["no such metric"]
except cal.errors.UnknownMetricError:
    pass
with open("found.txt", "w") as stream:
    print(cal.load("half.json").predict_proba([0.9])[0, 1].hex(), file=stream)
"""
    done = python("-c", code, path=installed, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    code = """
import calibrant as cal
print(cal.load("half.json").predict_proba([0.9])[0, 1].hex())
assert len({cal.ece(cal.scan(name, label="label", prob="prob")) for name in ("rows.pairs", "rows.csv")}) == 1
"""
    again = python("-c", code, path=installed, folder=tmp_path)
    assert again.stdout == (tmp_path / "found.txt").read_text()


@pytest.mark.parametrize("how", ["installed", "a file", "a module"])
def test_the_command_line_finds_plugins(installed: Path, tmp_path: Path, rows: Path, how: str) -> None:
    option = {
        "installed": "",
        "a file": f"--plugin {EXAMPLE / 'calibrant_example.py'}",
        "a module": "--plugin calibrant_example",
    }[how]
    path = {"installed": installed, "a file": None, "a module": EXAMPLE}[how]
    out = "page.html" if how == "installed" else "page.json"
    written = [
        "metrics mean_absolute_gap",
        "evaluate rows.pairs --metrics mean_absolute_gap --json",
        "fit rows.pairs --method base_rate_shrinkage --out half.json",
        "evaluate rows.csv --metrics mean_absolute_gap --calibrator half.json",
        "apply half.json rows.csv --out calibrated.csv",
        f"report rows.pairs --metrics mean_absolute_gap --no-recalibration --out {out}",
        "validate --only definitions/brier/ --json --out dossier.html",
    ]
    answers = commands(*(f"{command} {option}" for command in written), path=path, folder=tmp_path)
    assert {code for code, _, _ in answers} == {0}, answers
    printed = [printed for _, printed, _ in answers]
    assert "Mean absolute gap" in printed[0]
    assert [row["metric"] for row in json.loads(printed[1])["metrics"]] == ["mean_absolute_gap"]
    calibrated = np.loadtxt(tmp_path / "calibrated.csv", delimiter=",", skiprows=1)
    content = json.loads((tmp_path / "half.json").read_text())["content"]
    rate, factor = content["fitted"]["rate_"]["array"][1], content["fitted"]["factor_"]
    assert np.allclose(calibrated[:, -1], rate + factor * (calibrated[:, 1] - rate), atol=1e-12)
    name = "calibrant-example 0.1.0" if how == "installed" else "calibrant_example"
    page = (tmp_path / out).read_text(encoding="utf-8")
    assert "Cost of decisions" in page
    assert "missed event costs as much as ten" in page
    assert name in page
    assert "mean_absolute_gap" in page
    dossier = json.loads(printed[6])
    known = {"calibrant-example": "0.1.0"} if how == "installed" else {"calibrant_example": ""}
    assert dossier["installation"]["plugins"] == known
    assert dossier["passed"]
    assert dossier["known_limits"]["plugins"] == [
        ["metric", "mean_absolute_gap", "calibrant_example"],
        ["calibrator", "base_rate_shrinkage", "calibrant_example"],
    ]
    assert "base_rate_shrinkage" in (tmp_path / "dossier.html").read_text(encoding="utf-8")


def test_without_the_plugin_the_command_line_says_what_is_missing(installed: Path, tmp_path: Path, rows: Path) -> None:
    fitted = commands("fit rows.pairs --method base_rate_shrinkage", path=installed, folder=tmp_path)
    assert fitted[0][0] == 0, fitted
    written = ("apply calibrator.json rows.csv --out o.csv", "evaluate rows.pairs")
    applied, evaluated = commands(*written, path=None, folder=tmp_path)
    assert (applied[0], evaluated[0]) == (2, 2)
    assert applied[2] == (
        "error: calibrator.json: unknown type 'BaseRateShrinkage'; install the package that defines it, or import its module "
        "(on the command line: --plugin MODULE)\n"
    )


def broken(folder: Path, content: str, kind: str = "metrics") -> Path:
    """A folder as pip leaves it, with a package whose module has this content."""
    info = folder / "half_broken-2.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: half-broken\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text(f"[calibrant.{kind}]\nany = half_broken\n")
    (folder / "half_broken.py").write_text(content)
    return folder


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (
            "from calibrant.metrics import metric\nfrom calibrant.views import View\n"
            "@metric('Mine', family='e', subfamily='e', range=(0, 1), ideal=0, cite='me', strengths='s', limits='l')\n"
            "def ece(view: View) -> float:\n    'Mine.'\n    return 0.0\n",
            "ArgumentError: metric: the id 'ece' is already in use; choose another id",
        ),
    ],
    ids=["a missing package", "an error", "a name that exists"],
)
def test_a_plugin_that_fails_is_named(tmp_path: Path, rows: Path, content: str, why: str) -> None:
    place = broken(tmp_path / "site", content)
    message = (
        f"package half-broken: its plug-in half_broken cannot be imported ({why}); correct or uninstall the package"
    )
    code = (
        "import calibrant as cal\nfrom calibrant.cli import main\nassert cal.ece([0, 1], [0.2, 0.8]) > 0\nfor _ in range(2):\n    try:\n"
        "        cal.catalogue['mine']\n    except cal.errors.PluginError as error:\n        print(error)\nmain(['evaluate', 'rows.csv'])"
    )
    done = python("-c", code, path=place, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, f"{message}\n" * 2, f"error: {message}\n")


def test_help_imports_no_plugin_and_every_command_has_the_option(tmp_path: Path) -> None:
    place = broken(tmp_path / "site", "1 / 0")
    done = python("-m", "calibrant", "evaluate", "--help", path=place, folder=tmp_path)
    assert done.returncode == 0
    assert "--plugin MODULE" in done.stdout

    def check(group: click.Group) -> int:
        context, count = click.Context(group), 0
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if isinstance(command, click.Group):
                count += check(command)
            else:
                assert "--plugin" in [text for each in command.params for text in each.opts], name
                count += 1
        return count

    assert check(cli) > 20


def test_a_configuration_runs_no_code(tmp_path: Path, rows: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "calibrant.toml").write_text('[evaluate]\nplugin = ["half.py"]\n')
    (tmp_path / "half.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    check_refusal(run("evaluate", "rows.csv"), "plugin: unknown option of evaluate")


def test_a_section_that_does_not_apply_states_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(preds: cal.Predictions) -> str:
        raise ArgumentError("y_true", "has three classes")

    def hostile(preds: cal.Predictions) -> dict[str, list[object]]:
        """<b>bold</b> | text"""
        return {"<i>name</i>": ["<script>alert(1)</script>", "a|b"], "value": [0.25, None]}

    monkeypatch.setattr(plugins, "SECTIONS", {})
    monkeypatch.setattr("calibrant.reporting.sections.SECTIONS", plugins.SECTIONS)
    plugins.report_section("Costs")(refused)
    plugins.report_section("<u>Own</u>")(hostile)
    plugins.report_section("Plain")(lambda preds: f"{preds.n} rows")
    found = cal.report([0, 1] * 50, [0.3, 0.6] * 50, metrics=["brier"], recalibration=False)
    assert [section.title for section in found.sections] == ["Costs", "<u>Own</u>", "Plain"]
    assert found.sections[0].reason == "y_true: has three classes"
    assert found.sections[2].text == "100 rows"
    page, text = found.to_html(), found.to_markdown()
    assert "<script>alert" not in page
    assert "<u>" not in page
    assert "<i>name" not in page
    assert "y_true: has three classes" in page
    assert "a\\|b" in text
    assert found.to_dict()["sections"][1]["columns"]["value"] == [0.25, None]
    assert "sections" not in cal.report([0, 1] * 50, [0.3, 0.6] * 50, metrics=["brier"]).to_dict() or found.sections
    with raises(ArgumentError, "name"):
        plugins.report_section("Plain")(cal.ece.formula)


def test_sections_must_be_text_or_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (3, {"a": [1], "b": [1, 2]}):
        monkeypatch.setattr("calibrant.reporting.sections.SECTIONS", {"Own": lambda preds, content=content: content})
        with raises(ArgumentError, "report section 'Own'"):
            cal.report([0, 1] * 50, [0.3, 0.6] * 50, metrics=["brier"], recalibration=False)


def test_a_reader_that_fails_names_file_and_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "READERS", {})
    monkeypatch.setattr("calibrant.sketches.files.converting.READERS", plugins.READERS)

    @plugins.reader(".odd", ".odder")
    def read_odd(path: str) -> object:
        if path.endswith(".odder"):
            pd = pytest.importorskip("pandas")
            return pd.DataFrame({"label": [0, 1] * 5, "prob": [0.2, 0.7] * 5})
        raise KeyError("line 3")

    for name in ("a.odd", "a.odder"):
        (tmp_path / name).write_text("content")
    with pytest.raises(cal.errors.FileError, match=r"a\.odd: cannot be read by .*read_odd \(KeyError: 'line 3'\)"):
        cal.scan(tmp_path / "a.odd", label="label", prob="prob")
    found = cal.scan(tmp_path / "a.odder", label="label", prob="prob")
    assert found.n == 10
    for suffix in ("odd", ".ODD"):
        with raises(ArgumentError, "suffixes"):
            plugins.reader(suffix)


def test_kinds_and_modules_are_checked(tmp_path: Path) -> None:
    with raises(ArgumentError, "kinds"):
        plugins.load("figures")
    own = tmp_path / "json.py"
    own.write_text("x = 1\n")
    for name in ("no_such_module", str(own), str(tmp_path / "absent.py")):
        with raises(PluginError, "plugin"):
            plugins.load_module(name)
    assert "absent" not in sys.modules
