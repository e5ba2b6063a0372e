"""Logistic recalibration with further features of the rows beside the score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from ..curves.logistic_regression import CLIP, Groups, SeparatedError, groups_of, quantiles, separating_side
from ..errors import ArgumentError, InputError, InputTypeError, ShapeError, UndefinedMetricError
from ..input.convert import column, is_missing, missing_values, numbers, pick_columns
from ..input.frames import check_same_rows, column_names
from ..input.weights import WeightKind
from ..util.checks import check_positive, check_whole, is_number
from ..views.view import View
from .base import Calibrator, Input
from .scores import Array, Floats, Scores, TrainingData, named_as, names_array, normalised
from .softmax_regression import by_newton

# Quantiles closer than this are one edge, as in scikit-learn's KBinsDiscretizer.
NARROW = 1e-8


@dataclass(eq=False, repr=False)
class PlattScalingWithFeatures(Calibrator):
    r"""Platt scaling with features: logistic regression of the outcome on the log-odds of the score and on further features of the rows.

    Corrects over- or underestimation that depends on known features, such as age or centre, with one model: it needs fewer rows than one
    calibrator per group (`GroupCalibration`), but the slope is the same everywhere. Features are passed to `fit` and to `predict_proba`.

    Parameters
    ----------
    input
    penalty : float, default 1.0
        Ridge penalty of the coefficients of the features, in rows; larger values shrink them towards 0, that is towards Platt scaling of the
        score alone.
    shrink_slope : bool, default False
        Whether the slope of the log-odds is penalized as well, which biases it towards 0 but is always finite.
    numeric_bins : int or None, default 3
        Number of quantile bins into which a numeric feature is divided. None: the feature enters linearly, divided by its standard deviation.
    categorical : sequence of str or int, default ()
        Names (or positions, for an array) of columns of numbers that are codes of categories. Columns of text and booleans always are.

    Attributes
    ----------
    coef_ : ndarray of shape (P, 1 + D)
        Coefficients of each of P binary problems: of the log-odds and of the D columns that encode the features.
    intercept_ : ndarray of shape (P,)
        Intercept of each binary problem.
    feature_names_ : list of str
        Names of the columns to which the coefficients belong.
    columns_ : ndarray
        Names, or positions, of the columns of `features`.
    levels_ : tuple of ndarray or None
        Categories of each categorical column.
    edges_ : tuple of ndarray or None
        Inner edges of the bins of each numeric column.
    spreads_ : ndarray
        Number by which each numeric column is divided if it enters linearly; 1 otherwise.
    classes_
    fit_record_

    See Also
    --------
    GroupCalibration : One calibrator per group.
    MultiCalibration : Corrections of many or overlapping groups.
    PlattScaling : The same without features.

    Notes
    -----
    With :math:`\ell = \ln(p / (1 - p))` and the encoded features :math:`x`,

    .. math:: q = \frac{1}{1 + e^{-(A \ell + \beta^\top x + B)}}, \qquad
              \sum_i w_i \ln\bigl(1 + e^{-(2 y_i - 1) \eta_i}\bigr) + \frac{\lambda}{2} \lVert \beta \rVert^2 \to \min,

    where :math:`\eta` is the linear predictor; importance weights are scaled to the effective sample size. Each category and each bin has a column; a category that did not occur in `fit` has none, and then
    only the score and the intercept count. Several classes are treated one-vs-rest. ``penalty=10, shrink_slope=True`` is the method of [1]_.

    References
    ----------
    .. [1] Tax, N., Perini, L., Linder, F., et al. (2025). MCGrad: multicalibration at web scale. arXiv:2509.19884.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p, centre = rng.uniform(0.1, 0.9, 2000), np.array(["a", "b"])[rng.integers(0, 2, 2000)]
    >>> y = (rng.random(2000) < np.where(centre == "a", p, p / 2)).astype(int)  # the risk is overestimated in one centre
    >>> calibrator = cal.PlattScalingWithFeatures().fit(p, y, features=centre)
    >>> calibrator.predict_proba([0.6, 0.6], features=["a", "b"])[:, 1].round(2)
    array([0.58, 0.29])
    >>> calibrator.feature_names_
    ['log_odds', '0=a', '0=b']
    """

    methods = ()
    needs = "features"
    fitted: ClassVar[tuple[str, ...]] = ("columns_", "levels_", "edges_", "spreads_", "coef_", "intercept_")
    derived: ClassVar[tuple[str, ...]] = ("feature_names_",)
    checks = {"penalty": check_positive, "numeric_bins": lambda bins, name: bins is None or check_whole(bins, name, 2)}
    least_probability = CLIP

    input: Input = "prob"
    penalty: float = 1.0
    shrink_slope: bool = False
    numeric_bins: int | None = 3
    categorical: Sequence[Any] = ()

    def _check_params(self) -> None:
        super()._check_params()
        if not isinstance(self.shrink_slope, bool):
            raise ArgumentError("shrink_slope", f"must be True or False; got {self.shrink_slope!r}")
        if isinstance(self.categorical, str) or not isinstance(self.categorical, (Sequence, np.ndarray)):
            raise ArgumentError("categorical", f"must be a list of columns; got {self.categorical!r}")

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, features: Any = None, *, counts: Any = None) -> Self:
        """Fit the regression on held-out data and its features.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Probabilities or logits, according to the parameter `input`.
        y : array-like of shape (N,)
            Observed class of each row.
        sample_weight : array-like of shape (N,), optional
            Importance weight of each row; only ratios matter.
        features : array-like of shape (N,) or (N, d), frame or mapping of columns
            Features of each row: numbers, text or booleans.
        counts : array-like of shape (N,), optional
            Number of identical rows that each row represents; excludes `sample_weight`.

        Returns
        -------
        Calibrator
            The fitted calibrator itself.

        Raises
        ------
        InputError
            If `features` are missing, or have missing values.
        InputTypeError
            If a column has dates or times.
        UndefinedMetricError
            If all outcomes are equal, or a threshold of the score separates them.
        """
        with named_as():
            check_same_rows(y, {"features": features})
        return self._fit_beside(features, scores, y, sample_weight, counts)

    def predict_proba(self, scores: Any, features: Any = None) -> Floats:
        """Predict calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Scores of the same kind as those passed to `fit`.
        features : array-like of shape (N,) or (N, d), frame or mapping of columns
            Features of each row, in the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities, one column per class; rows sum to 1.
        """
        return self._calibrate(scores, features)

    def predict(self, scores: Any, features: Any = None) -> Array:
        """Predict the class with the largest calibrated probability.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Scores of the same kind as those passed to `fit`.
        features : array-like of shape (N,) or (N, d), frame or mapping of columns
            Features of each row, in the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (N,)
            Predicted classes, as in `classes_`.
        """
        return self._top_classes(scores, features)

    @property
    def feature_names_(self) -> list[str]:
        """Names of the columns to which the coefficients belong."""
        names = ["log_odds"]
        for name, levels, edges in zip(self.columns_.tolist(), self.levels_, self.edges_, strict=True):
            if levels is not None:
                names += [f"{name}={level}" for level in levels.tolist()]
            elif edges is None:
                names.append(str(name))
            else:
                ends = [-math.inf, *edges.tolist(), math.inf]
                names += [f"{name} in [{low:.6g}, {high:.6g})" for low, high in pairwise(ends)]
        return names

    def _fit(self, data: TrainingData) -> None:
        absent = self._absent(data)
        if absent:
            problem = f"{absent}, so all outcomes are equal and the coefficients are infinite"
            raise SeparatedError("y", problem, "fit on rows of every class")
        given = _columns(data.beside, data.rows_given)
        unknown = [name for name in self.categorical if name not in given]
        if unknown:
            raise ArgumentError("categorical", f"{unknown[0]!r} is not a column; the columns are {list(given)}")
        given = {name: data.kept(values) for name, values in given.items()}
        weight, kind = data.given_weight
        self._encode(given, weight, kind)
        design = self._design(given)
        found = []
        for c in [1] if data.k == 2 else range(data.k):
            odds, outcome = data.odds_of(c), (data.labels == c).astype(np.float64)
            if not self.shrink_slope:
                _check_slope(odds, outcome, weight, kind)
            penalty = np.full(2 + design.shape[1], self.penalty)
            penalty[0], penalty[1] = 0.0, self.penalty * self.shrink_slope
            columns = np.column_stack([np.ones(data.n), odds, design])
            found.append(ridge_logistic(columns, outcome, data.effective_weight, penalty))
        self.coef_, self.intercept_ = np.array(found)[:, 1:], np.array(found)[:, 0]

    def _encode(self, given: Mapping[Any, Array], weight: Array | None, kind: WeightKind) -> None:
        """Learn the categories, edges and spreads of the columns."""
        levels: list[Array | None] = []
        edges: list[Floats | None] = []
        spreads = np.ones(len(given))
        for j, (name, values) in enumerate(given.items()):
            if name in self.categorical or not _is_numeric(values):
                levels.append(names_array(sorted(set(values.tolist()), key=lambda value: (str(type(value)), value))))
                edges.append(None)
                continue
            x = numbers(values, "features").astype(np.float64)
            levels.append(None)
            edges.append(None if self.numeric_bins is None else _edges(x, weight, kind, self.numeric_bins))
            if self.numeric_bins is None:
                spreads[j] = math.sqrt(float(np.cov(x, aweights=weight, ddof=0))) or 1.0
        self.columns_ = names_array(list(given))
        self.levels_, self.edges_, self.spreads_ = tuple(levels), tuple(edges), spreads

    def _design(self, given: Mapping[Any, Array]) -> Floats:
        """The columns that encode the features."""
        parts: list[Floats] = []
        learnt = zip(self.columns_.tolist(), self.levels_, self.edges_, self.spreads_, strict=True)
        for name, levels, edges, spread in learnt:
            values = given[name]
            if levels is not None:
                place = {level: code for code, level in enumerate(levels.tolist())}
                codes = np.fromiter((place.get(value, -1) for value in values.tolist()), np.intp, len(values))
                parts.append((codes[:, None] == np.arange(len(levels))).astype(np.float64))
                continue
            x = numbers(values, "features").astype(np.float64)
            if edges is None:
                parts.append(x[:, None] / spread)
            else:
                bins = np.searchsorted(edges, x, side="right")
                parts.append((bins[:, None] == np.arange(len(edges) + 1)).astype(np.float64))
        return np.column_stack(parts)

    def _predict(self, data: Scores) -> Floats:
        from scipy.special import expit

        given = _columns(data.beside, data.n)
        known = self.columns_.tolist()
        lacking = [name for name in known if name not in given]
        if lacking:
            raise ShapeError("features", f"lack the column {lacking[0]!r}; the calibrator was fitted with {known}")
        design = self._design(given)
        rates = [
            expit(intercept + coef[0] * data.odds_of(c) + design @ coef[1:])
            for c, coef, intercept in zip(
                [1] if data.k == 2 else range(data.k), self.coef_, self.intercept_, strict=True
            )
        ]
        if data.k == 2:
            return np.column_stack([1 - rates[0], rates[0]])
        return normalised(np.column_stack(rates), data.probs)


def _columns(features: Any, rows: int) -> dict[Any, Array]:
    """The columns of features by name, or by position; missing values raise."""
    if features is None:
        raise InputError("features", "are required", "pass the features of each row")
    names = column_names(features)
    if names is not None:
        found = {name: column(pick_columns(features, [name], "features"), "features").array[:, 0] for name in names}
    elif isinstance(features, Mapping):
        found = {name: column(values, "features").array for name, values in features.items()}
    else:
        array = column(features, "features").array
        array = array[:, None] if array.ndim == 1 else array
        found = {j: array[:, j] for j in range(array.shape[1])}
    if not found:
        raise ShapeError("features", "have no columns")
    for name, values in found.items():
        if values.shape != (rows,):
            raise ShapeError("features", f"expected {rows} rows, one for each score; got {len(values)}")
        if values.dtype.kind in "Mm" or any(isinstance(value, (date, timedelta)) for value in values[:1].tolist()):
            problem = f"column {name!r} has dates or times, each of which would be a category"
            raise InputTypeError("features", problem, "pass numbers, such as days, or text")
        if values.dtype.kind in "fO":
            missing = np.array([is_missing(value) for value in values.tolist()])
            if missing.any():
                problem = f"{missing_values(int(missing.sum()))} in column {name!r}"
                raise InputError("features", problem, "drop or fill these rows", row=int(np.argmax(missing)))
        if _is_numeric(values) and not np.isfinite(values.astype(np.float64)).all():
            row = int(np.argmin(np.isfinite(values.astype(np.float64))))
            raise InputError("features", f"must be finite; got {values[row]}", "drop or fill the row", row=row)
    return found


def _is_numeric(values: Array) -> bool:
    return values.dtype.kind in "iuf" or (values.dtype.kind == "O" and all(map(is_number, values.tolist())))


def _edges(x: Floats, weight: Array | None, kind: WeightKind, bins: int) -> Floats:
    """Inner edges of quantile bins, with linear interpolation between rows (type 7); of the repeated rows with counts."""
    share = np.linspace(0, 100, bins + 1) / 100
    if weight is None:
        found = np.quantile(x, share)
    elif kind == "importance":
        found = quantiles(_ties(x, np.zeros(len(x)), weight, kind), np.unique(x), share)
    else:
        order = np.argsort(x)
        ends = np.cumsum(weight[order])
        place = (float(ends[-1]) - 1) * share
        low, high = (
            x[order][np.searchsorted(ends, np.minimum(rank, ends[-1] - 1), side="right")]
            for rank in (np.floor(place), np.floor(place) + 1)
        )
        part, width = place - np.floor(place), high - low
        found = np.where(part < 0.5, low + width * part, high - width * (1 - part))  # the two forms of numpy.quantile
    return found[np.append(True, np.diff(found) > NARROW)][1:-1]


def _ties(x: Floats, outcome: Floats, weight: Array | None, kind: WeightKind) -> Groups:
    """Tie groups of any numbers; a view holds scores between 0 and 1, so their ranks take the place of the numbers."""
    values, rank = np.unique(x, return_inverse=True)
    return groups_of(View(rank / len(values), outcome.astype(np.uint8), weight, kind))


def _check_slope(odds: Floats, outcome: Floats, weight: Array | None, kind: WeightKind) -> None:
    """Raise unless the slope of the log-odds is finite and identified without a penalty."""
    if odds.min() == odds.max():
        raise UndefinedMetricError(
            "scores", "are constant, so the slope is not identified", "pass shrink_slope=True to penalize it"
        )
    if separating_side(_ties(odds, outcome, weight, kind), 1):
        problem = "a threshold of the score separates the outcomes, so the slope is infinite"
        raise SeparatedError("y", problem, "pass shrink_slope=True to penalize it")


def ridge_logistic(columns: Floats, outcome: Floats, weight: Floats, penalty: Floats) -> Floats:
    """The coefficients of least weighted log loss with a ridge penalty, one number for each column."""
    from scipy.special import expit

    def loss(beta: Floats) -> tuple[float, Floats, Floats]:
        eta = columns @ beta
        rate = expit(eta)
        value = float(weight @ (np.logaddexp(0, eta) - outcome * eta) + penalty @ beta**2 / 2)
        slope = columns.T @ (weight * (rate - outcome)) + penalty * beta
        return value, slope, columns.T @ ((weight * rate * (1 - rate))[:, None] * columns) + np.diag(penalty)

    return by_newton(loss, np.zeros(columns.shape[1]))
