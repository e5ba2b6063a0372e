"""Calls of other packages and the equivalent calls of calibrant, from one file for each package in packages/."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Call:
    """One comparison, on the data sets of `kind`; both calls are executed as printed."""

    peer: str
    kind: str
    theirs: str
    ours: str
    note: str = ""
    """Why the values differ, and which option removes the difference."""
    stored: bool = False
    """The values of R lie in the file of tests/r that is named like the kind."""

    @property
    def key(self) -> str:
        return " | ".join((self.peer, self.kind, self.theirs, self.ours))


@dataclass(frozen=True)
class Figure:
    """A function that draws or reports: no number is compared, and the call of calibrant only has to run."""

    peer: str
    theirs: str
    ours: str


# The order of the page: packages of Python, packages of R, and what calibrant's own calls import.
ORDER = """
scikit_learn torchmetrics netcal uncertainty_calibration probcal probmetrics relplot mapie mcgrad pycaleva calzone_tool
betacal venn_abers calibstats calibre dirichletcal torch_uncertainty r_rms r_calibrationcurves r_givitir r_dcurves calibrant
"""


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "packages" / f"{name}.toml").read_text(encoding="utf-8"))


_FILES = {file["name"]: file for file in map(_read, ORDER.split())}
CALLS = [Call(peer, **call) for peer, file in _FILES.items() for call in file.get("calls", ())]
"""Of calls with the same left side, the last one is the closest."""
FIGURES = [Figure(peer, **figure) for peer, file in _FILES.items() for figure in file.get("figures", ())]
SETUP: dict[str, str] = {peer: file["setup"] for peer, file in _FILES.items() if "setup" in file}
"""Imports of each package; the variables of the data set (data.py) are defined."""
MODULES: dict[str, list[str]] = {peer: file["modules"] for peer, file in _FILES.items() if "modules" in file}
"""Modules whose public functions and classes count."""
OUTSIDE: dict[str, dict[str, list[str]]] = {peer: file["outside"] for peer, file in _FILES.items() if "outside" in file}
"""Public functions that calibrant does not answer, by package and reason."""
