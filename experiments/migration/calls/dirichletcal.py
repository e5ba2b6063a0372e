"""Calls of dirichletcal."""

from experiments.migration.calls.call import drawn, of

SETUP = """
import numpy as np
from dirichletcal import DiagonalDirichletCalibrator, DirichletCalibrator, FullDirichletCalibrator
"""

CALLS = [
    *of(
        "dirichletcal",
        "four once",
        (
            "FullDirichletCalibrator().fit(p, y).predict_proba(new)",
            "cal.DirichletCalibration(off_diagonal=0, intercept=0).fit(p, y).predict_proba(new)",
            "probably its optimizer stops earlier; zeros are clipped to other values",
        ),
        (
            "FullDirichletCalibrator(reg_lambda=0.01, reg_mu=0.01).fit(p, y).predict_proba(new)",
            "cal.DirichletCalibration(off_diagonal=0.01, intercept=0.01).fit(p, y).predict_proba(new)",
            "probably as above",
        ),
        (
            "DiagonalDirichletCalibrator().fit(p, y).predict_proba(new)",
            "cal.VectorScaling().fit(p, y).predict_proba(new)",
            "probably as above",
        ),
    ),
]

FIGURES = drawn(
    "dirichletcal",
)
