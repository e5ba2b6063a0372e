"""Where the other packages live: one environment for those that fit together, and one each for those that clash with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
WITHOUT = "# without dependencies\n"
MAIN, TORCH_UNCERTAINTY, NEWER_PYTHON = "main", "torch-uncertainty", "python-3.12"


class NotInstallableError(Exception):
    """An environment cannot be made here; the text says why."""


@dataclass(frozen=True)
class Environment:
    """A folder with packages; without `python` it sees what is installed here, torch among it."""

    id: str
    folder: str
    requirements: str
    note: str
    python: tuple[int, int] | None = None

    @property
    def path(self) -> Path:
        return ROOT / self.folder

    @property
    def wanted(self) -> str:
        return (HERE / self.requirements).read_text()


@dataclass(frozen=True)
class Peer:
    """Another package: its name on the index, what is imported, and where it is installed."""

    name: str
    module: str
    environment: str = MAIN


ENVIRONMENTS = {
    each.id: each
    for each in (
        Environment(
            MAIN,
            ".bench",
            "requirements.txt",
            "MCGrad is installed without ax-platform and folktables, which only its tuning and its examples use.",
        ),
        Environment(
            TORCH_UNCERTAINTY,
            ".bench-torch-uncertainty",
            "requirements-torch-uncertainty.txt",
            "With the CPU build of torch, torchvision cannot load its compiled operators; two of them, which no metric uses, are "
            "declared without an implementation, so that torch-uncertainty can be imported. torchmetrics does not work with such a torchvision.",
        ),
        Environment(
            NEWER_PYTHON,
            ".bench-python-3.12",
            "requirements-python-3.12.txt",
            "The current versions of calibre and dirichletcal need Python 3.12.",
            python=(3, 12),
        ),
    )
}
PEERS = (
    Peer("scikit-learn", "sklearn"),
    Peer("torchmetrics", "torchmetrics"),
    Peer("torch-uncertainty", "torch_uncertainty", TORCH_UNCERTAINTY),
    Peer("netcal", "netcal"),
    Peer("uncertainty-calibration", "calibration"),
    Peer("relplot", "relplot"),
    Peer("probmetrics", "probmetrics"),
    Peer("probcal", "probcal"),
    Peer("calibre", "calibre", NEWER_PYTHON),
    Peer("MCGrad", "mcgrad"),
    Peer("MAPIE", "mapie"),
    Peer("pycaleva", "pycaleva"),
    Peer("calzone-tool", "calzone"),
    Peer("venn-abers", "venn_abers"),
    Peer("betacal", "betacal"),
    Peer("dirichletcal", "dirichletcal", NEWER_PYTHON),
    Peer("calibstats", "calibstats"),
)
UNDER = ("calibrant", "numpy", "scipy", "numba", "torch")


def python_of(environment: Environment) -> str:
    """The interpreter of an environment, which is made where it is not there or its requirements changed."""
    python = environment.path / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = environment.path / "installed.txt"
    if not done.exists() or done.read_text() != environment.wanted:
        shutil.rmtree(environment.path, ignore_errors=True)
        _make(environment)
        _install(str(python), environment)
        done.write_text(environment.wanted)
    return str(python)


def _make(environment: Environment) -> None:
    if environment.python is None:
        venv.create(environment.path, symlinks=os.name != "nt")
        seen = [path for path in sys.path if path.endswith("site-packages")]
    else:
        subprocess.run([_newer_python(environment.python), "-m", "venv", str(environment.path)], check=True)
        seen = [str(ROOT / "src")]
    (environment.path / ".gitignore").write_text("*\n")
    inside = "Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages"
    [packages] = environment.path.glob(inside)
    (packages / "here.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in seen))


def _install(python: str, environment: Environment) -> None:
    """By pip; what follows a line of its own comes without its dependencies, which would bring another torch."""
    usual, _, bare = environment.wanted.partition(WITHOUT)
    for lines, options in ((usual, ()), (bare, ("--no-deps",))):
        names = [line for line in lines.splitlines() if line and not line.startswith("#")]
        if not names:
            continue
        # The pip of this interpreter, for those that a new environment brings differ in age.
        command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", *options, *names]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise NotInstallableError((said or ["pip failed"])[0].removeprefix("ERROR: "))


def _newer_python(oldest: tuple[int, int]) -> str:
    """An interpreter at least this new: this one, one on the path, or one of pyenv."""
    if sys.version_info[:2] >= oldest:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(oldest[1], oldest[1] + 3)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [path for name in names if (path := shutil.which(name))]
    found += [str(path) for name in names for path in pyenv.glob(f"{name.removeprefix('python')}.*/bin/python")]
    for path in found:
        if subprocess.run([path, "-c", "import venv"], capture_output=True).returncode == 0:
            return path
    raise NotInstallableError(f"needs Python {oldest[0]}.{oldest[1]}, which is not installed here")


def versions(python: str, names: list[str]) -> dict[str, str]:
    """Of those that an interpreter has."""
    code = (
        "import json, platform, sys; from importlib.metadata import version, PackageNotFoundError\n"
        "found = {'python': platform.python_version()}\n"
        "for name in sys.argv[1:]:\n"
        "    try: found[name] = version(name)\n"
        "    except PackageNotFoundError: pass\n"
        "print(json.dumps(found))"
    )
    done = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ready(wanted: set[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The interpreters of these environments, and for the results what each holds or why it could not be made."""
    pythons, facts = {}, {}
    for id, environment in ENVIRONMENTS.items():
        if id not in wanted:
            continue
        packages = [peer.name for peer in PEERS if peer.environment == id]
        facts[id] = {"folder": environment.folder, "note": environment.note, "packages": packages, "absent": ""}
        try:
            pythons[id] = python_of(environment)
            facts[id]["versions"] = versions(pythons[id], [*UNDER, *packages])
        except NotInstallableError as error:
            facts[id] |= {"absent": str(error), "versions": {}}
    return pythons, facts
