"""Calls of betacal."""

from experiments.migration.calls.call import drawn, of

SETUP = """from betacal import BetaCalibration"""

CALLS = [
    *of(
        "betacal",
        "binary",
        (
            'BetaCalibration("abm").fit(p, y).predict(new)',
            "cal.BetaCalibration().fit(p, y).predict_proba(new)",
            "its logistic regression has a penalty (C=99999) and stops earlier; scores of 0 and 1 are clipped to other values",
        ),
    ),
    *of(
        "betacal",
        "binary",
        (
            'BetaCalibration("am").fit(p, y).predict(new)',
            'cal.BetaCalibration(parameters="am").fit(p, y).predict_proba(new)',
            "as above",
        ),
        (
            'BetaCalibration("ab").fit(p, y).predict(new)',
            'cal.BetaCalibration(parameters="ab").fit(p, y).predict_proba(new)',
            "as above",
        ),
    ),
]

FIGURES = drawn(
    "betacal",
)
