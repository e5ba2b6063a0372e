"""Model revision: a logistic regression of the outcome on features and, where it adds to them, the log-odds of the score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..curves.logistic_regression import fit_logistic, rows_of
from ..errors import ArgumentError, InputTypeError, UndefinedMetricError
from ..input.features import Column, read_features
from ..views.view import View
from .base import ContextCalibrator, Input, columns_as_in_fit
from .scores import SMALLEST, Floats, Scores, TrainingData

# A score whose log-odds the features explain to this share of their spread is a linear predictor of the features.
EXPLAINED = 1e-8
# Fitted log-odds beyond it may be on their way to infinity.
SURE = 15.0


@dataclass(eq=False, repr=False)
class ModelRevision(ContextCalibrator):
    r"""Model revision: the coefficients of a risk model estimated anew, for two classes.

    A logistic regression of the outcome on the features and on the log-odds of the score. The score is left out if it is a linear function of the
    features on the log-odds scale, as that of a logistic regression model is; the coefficients are then those of a new fit of the model.

    Parameters
    ----------
    input

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficient of each feature.
    slope_ : float
        Coefficient of the log-odds of the score; 0 if it is left out.
    intercept_ : float
        Intercept.
    names_ : tuple of str
        Names of the columns of the features; empty for an array.
    classes_
    fit_record_

    See Also
    --------
    calibrant.clinical.closed_test_update : Whether so thorough an update is needed.
    BoostedCalibration : Corrections that are not linear.

    Notes
    -----
    .. math:: q = \frac{1}{1 + e^{-(a + b \ell + \gamma^T x)}}, \qquad \ell = \ln\frac{p}{1 - p}.

    It has a parameter for each feature and so needs many events; ten or twenty for each are few. It is for two classes only, is not a method of
    `recalibrate`, and is not written by `save`: `intercept_`, `slope_` and `coef_` are the model.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> from scipy.special import expit
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4000, 2))
    >>> y = rng.random(4000) < expit(x @ [1.0, -0.5])
    >>> fitted = cal.recalibration.ModelRevision().fit(expit(x[:, 0]), y, features=x)
    >>> fitted.coef_.round(1), fitted.slope_
    (array([ 1. , -0.5]), 0.0)
    """

    needs = "features"
    fitted = ("coef_", "slope_", "intercept_", "names_")
    least_probability = SMALLEST

    input: Input = "prob"

    def _fit(self, data: TrainingData) -> None:
        if data.k != 2:
            raise ArgumentError("y", f"has {data.k} classes; a revision is one of two")
        columns = read_features(data.beside, data.rows_given, data.kept(np.arange(data.rows_given)))
        self.names_ = tuple(column.name for column in columns if column.name)
        x = as_matrix(columns)
        view = View(
            data.score, (data.labels == 1).astype(np.float64), data.weight, "counts" if data.counted else "importance"
        )
        fit, with_score = fit_revision(view, data.log_odds, x)
        self.intercept_, *slopes = fit.coefficients.tolist()
        self.slope_ = slopes.pop() if with_score else 0.0
        self.coef_ = np.array(slopes)

    def _predict(self, data: Scores) -> Floats:
        from scipy.special import expit

        x = as_matrix(columns_as_in_fit(data, self.names_, len(self.coef_)))
        risk = expit(self.intercept_ + self.slope_ * data.log_odds + x @ self.coef_)
        return np.column_stack([1 - risk, risk])


def as_matrix(columns: Iterable[Column]) -> Floats:
    """Return features as a matrix of numbers."""
    numbers = [column.numbers() for column in columns]
    if any(each is None or np.isnan(each).any() for each in numbers):
        raise InputTypeError("features", "must be numbers without missing values", "encode categories and impute first")
    return np.column_stack([each for each in numbers if each is not None])


def fit_revision(view: View, log_odds: Floats, x: Floats) -> tuple[Any, bool]:
    """Regress the outcome on a constant, the features and the log-odds, and tell whether the features do not explain the latter."""
    design = np.column_stack([np.ones(view.n), x])
    explained = design @ np.linalg.lstsq(design, log_odds, rcond=None)[0]
    with_score = float(np.ptp(log_odds - explained)) > EXPLAINED * max(float(np.ptp(log_odds)), 1.0)
    design = np.column_stack([design, log_odds]) if with_score else design
    try:
        fit = fit_logistic(rows_of(view), design)
    except UndefinedMetricError:
        problem = "a feature is constant or a linear function of the others"
        raise UndefinedMetricError("features", problem, "leave it out") from None
    if not fit.converged or (np.abs(design @ fit.coefficients).max() > SURE and _separates(design, view.outcome)):
        raise UndefinedMetricError("features", "separate the outcomes", "use fewer features, or more rows")
    return fit, with_score


def _separates(design: Floats, outcome: Floats) -> bool:
    """Whether a linear function of the columns is never on the wrong side of 0, and somewhere on the right one."""
    from scipy.optimize import linprog

    signed = (2 * outcome - 1)[:, None] * design
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1))
    return bool(found.success and -found.fun > EXPLAINED)
