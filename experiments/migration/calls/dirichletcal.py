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
        ),
        (
            "FullDirichletCalibrator(reg_lambda=0.01, reg_mu=0.01).fit(p, y).predict_proba(new)",
            "cal.DirichletCalibration(off_diagonal=0.01, intercept=0.01).fit(p, y).predict_proba(new)",
            "it sums the penalty, calibrant averages it (`reg_norm=True`), and fixes the last class at 0 (`ref_row=False` does not)",
        ),
        (
            "FullDirichletCalibrator(reg_lambda=0.01, reg_mu=0.01, reg_norm=True, ref_row=False).fit(p, y).predict_proba(new)",
            "cal.DirichletCalibration(off_diagonal=0.01, intercept=0.01).fit(p, y).predict_proba(new)",
        ),
        (
            "DiagonalDirichletCalibrator().fit(p, y).predict_proba(new)",
            "cal.VectorScaling().fit(p, y).predict_proba(new)",
        ),
    ),
]

FIGURES = drawn(
    "dirichletcal",
)
