"""Calls of scikit-learn."""

from experiments.migration.calls.call import FLOOR, LINSPACE, QUANTILES, drawn, of

SETUP = """
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression, isotonic_regression
from sklearn.metrics import brier_score_loss, d2_brier_score, d2_log_loss_score, log_loss
"""

CALLS = [
    *of(
        "scikit-learn",
        "binary",
        ("brier_score_loss(y, p)", "cal.brier(y, p)", "`scale_by_half=` is `scale=`"),
        ("log_loss(y, p)", "cal.nll(y, p)", "infinite in calibrant if the true class has probability 0"),
        (
            "log_loss(y, p)",
            "cal.nll(y, p, floor=np.finfo(p.dtype).eps)",
            "its floor depends on the type: 2.2e-16 in double, 1.2e-7 in single precision",
        ),
        (
            "np.concatenate(calibration_curve(y, p, n_bins=10))",
            "curve(cal.calibration_curve(y, p, bins=10))",
            "it drops empty bins; its default is 5 bins",
        ),
        (
            "np.concatenate(calibration_curve(y, p, n_bins=30))",
            "curve(cal.calibration_curve(y, p, bins=30))",
            f"{LINSPACE}: below it for 30 bins",
        ),
        (
            "np.concatenate(calibration_curve(y, p, n_bins=30))",
            'curve(cal.calibration_curve(y, p, binning=cal.EqualWidth(30, edges="linspace")))',
        ),
        (
            'np.concatenate(calibration_curve(y, p, n_bins=10, strategy="quantile"))',
            'curve(cal.calibration_curve(y, p, bins=10, binning="equal_mass"))',
            QUANTILES,
        ),
        (
            'np.concatenate(calibration_curve(y, p, n_bins=10, strategy="quantile"))',
            "curve(cal.calibration_curve(y, p, binning=cal.Quantile(10)))",
        ),
        (
            'IsotonicRegression(out_of_bounds="clip").fit(p, y).predict(new)',
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
        ),
    ),
    *of(
        "scikit-learn",
        "classes",
        ("brier_score_loss(y, p)", "cal.brier(y, p)"),
        ("log_loss(y, p)", "cal.nll(y, p)", "infinite in calibrant if the true class has probability 0"),
        ("log_loss(y, p)", "cal.nll(y, p, floor=np.finfo(p.dtype).eps)"),
    ),
    *of(
        "scikit-learn",
        "decisions",
        *(
            (
                f'CalibratedClassifierCV(FrozenEstimator(m), method="{method}").fit(X, y).predict_proba(new)',
                f'CalibratedModel(m, method="{ours}", cv="prefit").fit(X, y).predict_proba(new)',
                note,
            )
            for method, ours, note in (
                (
                    "sigmoid",
                    "platt",
                    "for several classes it uses the decision value of each class, calibrant the log-odds of each class against the rest",
                ),
                (
                    "isotonic",
                    "isotonic",
                    "it interpolates between decision values, calibrant between probabilities; for several classes it uses the decision value of each class",
                ),
                ("temperature", "temperature", ""),
            )
        ),
        *(
            (
                f'CalibratedClassifierCV(FrozenEstimator(m), method="{method}").fit(X, y).predict_proba(new)',
                f'CalibratedModel(m, method="{method}", cv="prefit", convention="scikit-learn").fit(X, y).predict_proba(new)',
            )
            for method in ("sigmoid", "isotonic", "temperature")
        ),
        *(
            (
                f'CalibratedClassifierCV(m, method="{method}", cv=5).fit(X, y).predict_proba(new)',
                f'CalibratedModel(m, method="{method}", cv=5, convention="scikit-learn").fit(X, y).predict_proba(new)',
            )
            for method in ("sigmoid", "isotonic", "temperature")
        ),
    ),
    *of(
        "scikit-learn",
        "probabilities",
        *(
            (
                f'CalibratedClassifierCV(FrozenEstimator(m), method="{method}").fit(X, y).predict_proba(new)',
                f'CalibratedModel(m, method="{ours}", cv="prefit").fit(X, y).predict_proba(new)',
                note,
            )
            for method, ours, note in (
                ("sigmoid", "platt", "it fits a sigmoid to the probability, calibrant to its log-odds"),
                ("isotonic", "isotonic", ""),
                ("temperature", "temperature", ""),
            )
        ),
        *(
            (
                f'CalibratedClassifierCV(FrozenEstimator(m), method="{method}").fit(X, y).predict_proba(new)',
                f'CalibratedModel(m, method="{method}", cv="prefit", convention="scikit-learn").fit(X, y).predict_proba(new)',
            )
            for method in ("sigmoid", "isotonic", "temperature")
        ),
        (
            'CalibratedClassifierCV(m, cv=5, ensemble=False, method="isotonic").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, cv=5, method="isotonic").fit(X, y).predict_proba(new)',
        ),
        (
            'CalibratedClassifierCV(m, cv=5, method="isotonic").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, cv=5, method="isotonic").fit(X, y).predict_proba(new)',
            "it averages five models (`ensemble=True` is its default); calibrant keeps one",
        ),
        *(
            (
                f'CalibratedClassifierCV(m, cv=5, method="{method}").fit(X, y).predict_proba(new)',
                f'CalibratedModel(m, cv=5, method="{method}", convention="scikit-learn").fit(X, y).predict_proba(new)',
            )
            for method in ("sigmoid", "isotonic", "temperature")
        ),
    ),
    *of(
        "scikit-learn",
        "two classes",
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="sigmoid").fit(X, y, sample_weight=1.0 + (X[:, 0] > 0)).predict_proba(new)',
            'CalibratedModel(m, method="sigmoid", cv="prefit", convention="scikit-learn").fit(X, y, sample_weight=1.0 + (X[:, 0] > 0)).predict_proba(new)',
        ),
    ),
    *of(
        "scikit-learn",
        "binary",
        ("d2_brier_score(y, p)", "cal.metrics.skill_score(y, p)"),
        ("d2_log_loss_score(y, p)", 'cal.metrics.skill_score(y, p, score="nll")', FLOOR),
        ("np.concatenate(calibration_curve(y, p))", "curve(cal.calibration_curve(y, p, bins=5))"),
    ),
    *of(
        "scikit-learn",
        "classes",
        ("d2_brier_score(y, p)", "cal.metrics.skill_score(y, p)"),
        ("d2_log_loss_score(y, p)", 'cal.metrics.skill_score(y, p, score="nll")', FLOOR),
    ),
    *of(
        "scikit-learn",
        "weighted",
        ("brier_score_loss(y, p, sample_weight=w)", "cal.brier(y, p, sample_weight=w)"),
        ("log_loss(y, p, sample_weight=w)", "cal.nll(y, p, sample_weight=w)"),
        ("d2_brier_score(y, p, sample_weight=w)", "cal.metrics.skill_score(y, p, sample_weight=w)"),
        (
            'IsotonicRegression(out_of_bounds="clip").fit(p, y, sample_weight=w).predict(new)',
            "cal.IsotonicCalibration().fit(p, y, sample_weight=w).predict_proba(new)",
        ),
    ),
    *of(
        "scikit-learn",
        "binary",
        (
            "isotonic_regression(y[np.argsort(p)].astype(float))",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(np.sort(p))[:, 1]",
            "it sees outcomes only, in the order of the scores, and gives tied scores several values",
        ),
    ),
]

FIGURES = drawn(
    "scikit-learn",
    ("CalibrationDisplay.from_predictions(y, p)", "cal.reliability_diagram(y, p)"),
)
