"""Build wheel and source distribution of the last commit, and check them as a user would meet them.

    python tools/check_release.py                     everything, which takes half an hour and some gigabytes
    python tools/check_release.py build               two builds with the same bytes; contents and metadata
    python tools/check_release.py extras -k core,plot  installations into fresh environments
    python tools/check_release.py pythons             the plain installation with each Python that is found
    python tools/check_release.py screen              README's first screen and the bill of materials

The files are left in dist/. It is run by an interpreter that has hatchling and twine (tools/release-requirements.txt); `make
release-check` does so. Environments are made one after another in a temporary folder and removed.
"""

from __future__ import annotations

import argparse
import base64
import csv
import email
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
SPACE = 12e9  # bytes on disk for the largest environment
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# A build for the CPU where one is found: a plain `torch` may bring gigabytes of libraries for GPUs.
FIRST = {"torch": "torch==2.13.0", "lightning": "torch==2.13.0", "all": "torch==2.13.0"}
DATA = "import calibrant as cal, numpy as np; y = np.arange(400) % 2; p = np.clip(0.3 + 0.4 * y + np.linspace(-0.3, 0.3, 400), 0, 1); "
# What each extra is for, in one line that fails without it.
PROBES = {
    "core": DATA + "print(cal.evaluate(y, p)); print(cal.assess(y, p)); cal.report(y, p).save('report.html')",
    "fast": DATA + "from calibrant.util import kernels; import numba; print(cal.ece(y, p))",
    "plot": DATA
    + "import matplotlib; matplotlib.use('agg'); cal.reliability_diagram(y, p).plot().figure.savefig('figure.png')",
    "torch": DATA
    + "import torch, calibrant.torch as ct; m = ct.BinaryCalibrationError(); m.update(torch.tensor(p), torch.tensor(y)); "
    "print(m.compute())",
    "sklearn": DATA
    + "from sklearn.linear_model import LogisticRegression as L; from calibrant.sklearn import CalibratedModel as C; "
    "print(C(L()).fit(p[:, None], y).predict_proba(p[:3, None]))",
    "lightning": "from calibrant.torch.lightning import CalibrationCallback; print(CalibrationCallback)",
    "trackers": DATA
    + "import tensorboard, wandb; from calibrant import trackers; import mlflow; print(trackers.scalars(cal.evaluate(y, p)))",
    "excel": DATA + "import openpyxl; b = openpyxl.Workbook(); s = b.active; s.append(['label', 'prob']); "
    "[s.append(r) for r in zip(y.tolist(), p.tolist())]; b.save('preds.xlsx'); from calibrant.cli import main; "
    "main(['evaluate', 'preds.xlsx'])",
    "onnx": DATA + "print(len(cal.recalibration.to_onnx(cal.PlattScaling().fit(p, y))))",
    "postgres": "import psycopg; print(psycopg.pq.version()); import calibrant.monitoring.databases",
    "spark": DATA
    + "import os, sys; os.environ['PYSPARK_PYTHON'] = sys.executable; import pandas as pd; from calibrant import spark; "
    "from pyspark.sql import SparkSession as S; s = S.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate(); "
    "d = s.createDataFrame(pd.DataFrame({'label': y, 'prob': p})); k = spark.sketch(d, label='label', prob='prob'); "
    "assert cal.ece(k) == cal.ece(cal.Sketch.of(y, p)); s.stop()",
    "all": DATA + "import torch, pyspark, lightning, wandb, sklearn, numba, psycopg; print(cal.evaluate(y, p))",
}


class Failed(Exception):
    """A check of the release that did not hold."""


def say(text: str) -> None:
    """Print one line at once."""
    print(text, flush=True)


def expect(holds: bool, text: str) -> None:
    """Print what was checked, or raise."""
    if not holds:
        raise Failed(text)
    say(f"  ok  {text}")


def run(*words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Return what a command prints; without the clone on its path."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | (env or {})
    done = subprocess.run(
        [*map(str, words)],
        cwd=cwd,
        env=clean,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        raise Failed(f"{' '.join(map(str, words))[:300]} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


# ---- the two files ---------------------------------------------------------------------------------------------------


def tracked() -> set[str]:
    """Return the names of the files of the last commit."""
    return set(run("git", "ls-tree", "-r", "-z", "--name-only", "HEAD", cwd=ROOT).split("\0")) - {""}


def build_once(into: Path, umask: int, seed: str) -> list[Path]:
    """Build from a fresh copy of the last commit, at another place, with other permissions and another hash seed."""
    with tempfile.TemporaryDirectory(prefix=f"calibrant-build-{seed}-") as folder:
        before = os.umask(umask)
        try:
            archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
            subprocess.run(["tar", "-x", "-m"], cwd=folder, input=archive, check=True)
            epoch = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
            env = {"SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": seed}
            run(sys.executable, "-m", "hatchling", "build", "-d", into, cwd=Path(folder), env=env)
        finally:
            os.umask(before)
    return sorted(into.iterdir())


def wheel_names(wheel: Path) -> set[str]:
    """Return the files of a wheel, after comparing each with the checksum that its RECORD has."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [record] = [name for name in names if name.endswith(".dist-info/RECORD")]
        listed = {row[0]: row[1] for row in csv.reader(io.StringIO(archive.read(record).decode()))}
        for name in names - {record}:
            digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
            if listed.get(name) != f"sha256={digest}":
                raise Failed(f"{name}: not the file that RECORD lists")
    return names


def check_contents(wheel: Path, source: Path, names: set[str]) -> None:
    """Compare the files of wheel and source distribution with those of the repository."""
    package = {name.removeprefix("src/") for name in names if name.startswith("src/calibrant/")}
    found = wheel_names(wheel)
    inside = {name for name in found if ".dist-info/" not in name}
    expect(inside == package, f"the wheel has the {len(package)} files of src/calibrant and no other")
    needed = ["calibrant/py.typed", "calibrant/__init__.pyi", "calibrant/metrics/references.json"]
    needed += [
        f"calibrant/reporting/{name}" for name in ("templates/report.html", "static/report.js", "static/report.css")
    ]
    needed += [f"calibrant/validation/references/{name}.json" for name in ("definitions", "r", "stored", "simulations")]
    needed += ["calibrant/cli/data/digits_test.csv", "calibrant/cli/data/digits_validation.csv"]
    expect(set(needed) <= inside, "types, templates, scripts, reference values and the data of the demo are in it")
    beside = {name.partition(".dist-info/")[2] for name in found - inside}
    expect(
        beside == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"},
        "it has its metadata and the licence",
    )
    with tarfile.open(source) as archive:
        listed = {name.partition("/")[2] for name in archive.getnames()}
    expect(
        listed == names | {"PKG-INFO"}, f"the source distribution has the {len(names)} files of the commit and no other"
    )


def check_metadata(wheel: Path) -> None:
    """Check the metadata that installers and package indexes read."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        about = email.message_from_bytes(archive.read(name))
    version = wheel.name.split("-")[1]
    text = (ROOT / "src" / "calibrant" / "util" / "version.py").read_text(encoding="utf-8")
    expect(f'__version__ = "{version}"' in text and about["Version"] == version, f"the version is {version}")
    expect(
        (about["License-Expression"], about["License-File"]) == ("Apache-2.0", "LICENSE"), "the licence is Apache-2.0"
    )
    expect(about["Requires-Python"] == project["requires-python"], f"it requires Python {about['Requires-Python']}")
    core = [line for line in about.get_all("Requires-Dist") or [] if "extra ==" not in line]
    expect(sorted(core) == sorted(project["dependencies"]), f"{len(core)} dependencies")
    extras = sorted(about.get_all("Provides-Extra") or [])
    expect(extras == sorted(project["optional-dependencies"]), f"the extras are {', '.join(extras)}")
    expect({*PROBES, "dev", "docs"} == {*extras, "core"}, "each extra has a line that uses it")


def build() -> Path:
    """Build twice, compare, check, and leave the files in dist/; return the wheel."""
    say("build")
    if run("git", "status", "--porcelain", cwd=ROOT).strip():
        say("  note: uncommitted changes are not part of what is built")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory(prefix="calibrant-second-") as folder:
        first, second = build_once(DIST, 0o022, "1"), build_once(Path(folder) / "dist", 0o077, "2")
        expect(
            [a.name for a in first] == [b.name for b in second] and len(first) == 2,
            "wheel and source distribution are built",
        )
        same = [a.read_bytes() == b.read_bytes() for a, b in zip(first, second, strict=True)]
        expect(
            all(same), "two builds at different places, with different permissions and hash seeds, have the same bytes"
        )
        wheel, source = first
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        env = {"SOURCE_DATE_EPOCH": run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()}
        again = Path(folder) / "again"
        run(
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            "wheel",
            "-d",
            again,
            cwd=Path(folder) / source.name[:-7],
            env=env,
        )
        expect((again / wheel.name).read_bytes() == wheel.read_bytes(), "the source distribution builds the same wheel")
    check_contents(wheel, source, tracked())
    check_metadata(wheel)
    expect(
        run(sys.executable, "-m", "twine", "check", "--strict", wheel, source).count("PASSED") == 2,
        "twine accepts both files",
    )
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    expect(heading is not None and heading[1] == wheel.name.split("-")[1], "CHANGELOG.md begins with this version")
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (wheel, source))
    (DIST / "SHA256SUMS").write_text(sums, encoding="utf-8")
    say(sums.rstrip())
    return wheel


# ---- installations ---------------------------------------------------------------------------------------------------


@contextmanager
def environment(python: str, *packages: str | Path) -> Iterator[tuple[Path, Path]]:
    """Give the programs of a fresh environment with packages, and an empty folder to work in; both are removed."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < SPACE:
        raise Failed(f"{free / 1e9:.0f} GB free in {tempfile.gettempdir()}, {SPACE / 1e9:.0f} GB needed; set TMPDIR")
    with tempfile.TemporaryDirectory(prefix="calibrant-install-") as folder:
        run(python, "-m", "venv", Path(folder) / "env")
        programs, work = Path(folder) / "env" / "bin", Path(folder) / "work"
        work.mkdir()
        for package in packages:
            run(programs / "python", "-m", "pip", "install", "-q", "--no-compile", package, cwd=work)
        run(programs / "python", "-m", "pip", "check", cwd=work)
        yield programs, work


def check_extra(wheel: Path, extra: str) -> None:
    """Install the wheel with one extra alone, and use what the extra is for."""
    asked = f"{wheel}[{extra}]" if extra != "core" else str(wheel)
    packages = [FIRST[extra], asked] if extra in FIRST else [asked]
    with environment(sys.executable, *packages) as (programs, work):
        run(programs / "python", "-c", PROBES[extra], cwd=work)
        count = len(run(programs / "python", "-m", "pip", "list", "--format=freeze", cwd=work).splitlines())
        size = sum(
            path.stat().st_size for path in programs.parent.rglob("*") if path.is_file() and not path.is_symlink()
        )
        if extra in ("core", "all"):
            out = DIST / f"{'-'.join(wheel.name.split('-')[:2])}{'' if extra == 'core' else '-all'}.cdx.json"
            run(programs / "python", ROOT / "tools" / "make_sbom.py", "--wheel", wheel, "--out", out, cwd=work)
        expect(True, f"[{extra}]: {count} packages, {size / 1e6:.0f} MB")


def check_python(wheel: Path, version: str) -> None:
    """Install the wheel alone with one Python and the newest dependencies, and run the tests of a plain installation."""
    program = shutil.which(f"python{version}")
    if program is None or subprocess.run([program, "--version"], capture_output=True, check=False).returncode:
        say(f"  --  Python {version} was not found; not checked")
        return
    with environment(program, wheel, "pytest", "hypothesis") as (programs, work):
        run(
            programs / "python",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            ROOT / "tests" / "test_minimal.py",
            cwd=ROOT,
        )
        shown = run(
            programs / "python",
            "-c",
            "import calibrant, numpy, scipy, platform, sys\n"
            "assert 'site-packages' in calibrant.__file__\n"
            "print(f'Python {platform.python_version()}, numpy {numpy.__version__}, scipy {scipy.__version__}')",
            cwd=work,
        )
        expect(True, f"{shown.strip()}: the tests of a plain installation pass")


def check_screen(wheel: Path) -> None:
    """Run README's first screen from the wheel, in an empty folder."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```python\n(.*?)^```", text[: text.index("## Comparison")], re.MULTILINE | re.DOTALL)
    with environment(sys.executable, wheel) as (programs, work):
        shown = run(programs / "calibrant", "demo", cwd=work)
        expect("ece" in shown.lower() and any(work.glob("*.html")), "`calibrant demo` evaluates, and writes its page")
        say("\n".join(f"      | {line}" for line in shown.splitlines()))
        shown = run(programs / "calibrant", "validate", "--out", "dossier.html", cwd=work)
        expect(re.search(r"passed: (\d+) of \1 checks", shown) is not None, shown.splitlines()[0])
        (work / "screen.py").write_text(block, encoding="utf-8")
        run(programs / "python", "-W", "error", "screen.py", cwd=work)
        expect(True, "README's Python runs as it is printed")
        run(programs / "calibrant", "demo", "--save-data", ".", cwd=work)
        columns = ["digits_test.csv"]
        for words in (["evaluate", *columns, "--fail-if", "ece > 0.5"], ["report", *columns, "--out", "report.html"]):
            run(programs / "calibrant", *words, cwd=work)
        run(
            programs / "calibrant",
            "run",
            "--validation",
            "digits_validation.csv",
            "--test",
            *columns,
            "--out",
            "report",
            cwd=work,
        )
        expect(True, "so do its commands on the data of the demo")


def main() -> None:
    """Run the steps asked for; the exit code is 1 where one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", nargs="?", choices=["all", "build", "extras", "pythons", "screen"], default="all")
    parser.add_argument("-k", dest="names", help="only these extras or Pythons, separated by commas")
    given = parser.parse_args()
    names = given.names.split(",") if given.names else None
    try:
        wheel = build() if given.step in ("all", "build") else next(iter(sorted(DIST.glob("*.whl"))), None)
        if wheel is None:
            raise Failed("dist/ has no wheel; run the step build first")
        if given.step in ("all", "screen"):
            say("first screen")
            check_screen(wheel)
        if given.step in ("all", "pythons"):
            say("versions of Python")
            for version in names or PYTHONS:
                check_python(wheel, version)
        if given.step in ("all", "extras"):
            say("extras, each alone in a fresh environment")
            for extra in names or PROBES:
                check_extra(wheel, extra)
    except Failed as problem:
        say(f"FAILED: {problem}")
        sys.exit(1)


if __name__ == "__main__":
    main()
