"""Calls of other packages and the equivalent calls of calibrant, one file for each package."""

from __future__ import annotations

from experiments.migration.calls import (
    betacal,
    calibre,
    calibstats,
    calzone,
    dirichletcal,
    mapie,
    mcgrad,
    netcal,
    probcal,
    probmetrics,
    pycaleva,
    r,
    relplot,
    scikit_learn,
    torch_uncertainty,
    torchmetrics,
    uncertainty_calibration,
    venn_abers,
)
from experiments.migration.calls.call import Call, Figure
from experiments.migration.calls.ours import OURS

__all__ = ["CALLS", "FIGURES", "SETUP", "Call", "Figure"]

_FILES = {
    "scikit-learn": scikit_learn,
    "torchmetrics": torchmetrics,
    "netcal": netcal,
    "uncertainty-calibration": uncertainty_calibration,
    "probcal": probcal,
    "probmetrics": probmetrics,
    "relplot": relplot,
    "MAPIE": mapie,
    "MCGrad": mcgrad,
    "pycaleva": pycaleva,
    "calzone-tool": calzone,
    "betacal": betacal,
    "venn-abers": venn_abers,
    "calibstats": calibstats,
    "calibre": calibre,
    "dirichletcal": dirichletcal,
    "torch-uncertainty": torch_uncertainty,
}
CALLS: list[Call] = [call for file in (*_FILES.values(), r) for call in file.CALLS]
FIGURES: list[Figure] = [figure for file in (*_FILES.values(), r) for figure in file.FIGURES]
SETUP = {"calibrant": OURS} | {name: file.SETUP for name, file in _FILES.items()}
"""Imports of each package; the variables of the data set (data.py) are defined."""
