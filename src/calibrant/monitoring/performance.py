"""Performance of rows without labels: labels are simulated from their distribution given the scores, which reference data determine.

No such estimate can detect a change of the labels that leaves the scores unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ..curves.local_regression import spline_columns, weighted_quantile
from ..curves.logistic_regression import Groups, fit_logistic, groups_of, logit, rows_of
from ..errors import ArgumentError, InputTypeError, LensError, UndefinedMetricError, WeightsNotSupportedError
from ..inference.replicates import many, quantile_bounds
from ..inference.seeds import generator, seed_of
from ..input.predictions import Predictions
from ..recalibration.scores import named_as
from ..sketches.sketch import Sketch
from ..util.arrays import Array, Floats
from ..util.cached import cached_property
from ..util.checks import check_choice, check_fraction, check_whole, suggest
from ..util.results import Result, number
from ..views.view import View, sigmoid

Generator = np.random.Generator
Formula = Callable[["Outcomes"], float]
PredictionsLike = Predictions | Sketch | tuple[Any, Any]

ASSUMPTIONS = {
    "calibrated": "labels occur as often as in the reference data given the score",
    "density_ratio": (
        "labels occur as often as in the reference data given the features, and the logarithm of the ratio of the densities "
        "of the features is quadratic"
    ),
}
ABOUT = {"rows": "these {n} rows", "population": "the population of these {n} rows"}
CAVEAT = "The estimate uses no labels of the window and cannot detect a change of the labels that leaves the scores unchanged."
# Knots of the recalibration curve, by the least number of reference rows of the rarer outcome; with fewer it is a line.
KNOTS = {1000: 8, 100: 4}


@dataclass(frozen=True)
class MetricEstimate:
    """A metric estimated without labels.

    Parameters
    ----------
    metric : str
        Name of the metric.
    estimate : float
        Estimated value.
    low : float
        Lower limit of the interval.
    high : float
        Upper limit.
    reference : float
        Value on the labelled reference data; NaN where it is undefined.

    Examples
    --------
    >>> import calibrant as cal
    >>> reference = ([0, 1, 0, 1, 1, 1, 0, 0], [0.2, 0.4, 0.4, 0.6, 0.8, 0.8, 0.6, 0.2])
    >>> found = cal.monitoring.estimate_performance(reference, [0.1, 0.9, 0.7], metrics=["accuracy"])
    >>> found["accuracy"].metric, found["accuracy"].reference
    ('accuracy', 0.75)
    """

    metric: str
    estimate: float
    low: float
    high: float
    reference: float


@dataclass(frozen=True, repr=False)
class PerformanceEstimate(Result):
    """Performance of a window estimated without its labels; valid only under `assumption`.

    Parameters
    ----------
    estimates : tuple of MetricEstimate
        One for each metric; ``result["auroc"]`` returns one by name.
    about : {"rows", "population"}
        Whether intervals cover the value of these rows, or that of the population they come from.
    method : {"calibrated", "density_ratio"}
        How the reference data determine the distribution of labels.
    level : float
        Level of the intervals.
    n : float
        Number of rows of the window.
    n_reference : float
        Number of labelled rows of the reference data.
    """

    estimates: tuple[MetricEstimate, ...]
    about: str
    method: str
    level: float
    n: float
    n_reference: float

    @property
    def assumption(self) -> str:
        return ASSUMPTIONS[self.method]

    def __getitem__(self, metric: str) -> MetricEstimate:
        for each in self.estimates:
            if each.metric == metric:
                return each
        raise ArgumentError("metric", f"{metric!r} was not estimated; the metrics are {self._columns()['metric']}")

    @property
    def words(self) -> str:
        """The first estimate with its assumption as text."""
        first = self.estimates[0]
        interval = f"{number(first.low)} to {number(first.high)}, {number(first.reference)} in the reference data"
        return f"Estimated {first.metric} of {self._described}: {number(first.estimate)} ({interval}), assuming that {self.assumption}. {CAVEAT}"

    @property
    def _described(self) -> str:
        return ABOUT[self.about].format(n=f"{self.n:,.6g}")

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "assumption": self.assumption, "caveat": CAVEAT}

    def _columns(self) -> dict[str, list[Any]]:
        names = ("metric", "estimate", "low", "high", "reference")
        return {name: [getattr(each, name) for each in self.estimates] for name in names}

    def _title(self) -> str:
        return f"Estimated performance of {self._described}, without labels; {self.level:.0%} intervals"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [each.metric, *map(number, (each.estimate, each.low, each.high, each.reference))] for each in self.estimates
        ]
        return list(self._columns()), rows

    def _notes(self) -> list[str]:
        return [f"Assumes that {self.assumption}.", CAVEAT]


def restored_performance(plain: Mapping[str, Any] | None) -> PerformanceEstimate | None:
    """Return the estimate of the plain values of its fields; None stays None."""
    if plain is None:
        return None
    return PerformanceEstimate(**{**plain, "estimates": tuple(MetricEstimate(**each) for each in plain["estimates"])})


def estimate_performance(
    reference: PredictionsLike,
    window: Any,
    *,
    metrics: Sequence[str] | Mapping[str, Callable[..., float]] | None = None,
    method: Literal["calibrated", "density_ratio"] = "calibrated",
    about: Literal["rows", "population"] = "rows",
    threshold: float = 0.5,
    cost: Any = None,
    level: float = 0.95,
    n_resamples: int = 500,
    rng: Any = 0,
) -> PerformanceEstimate:
    r"""Estimate accuracy and other metrics of rows without labels.

    The scores are recalibrated on labelled reference data, which gives the distribution of the labels of the window. Use it where labels
    arrive late, and compare the estimates with the labels when they have come.

    Parameters
    ----------
    reference : Predictions, Sketch or tuple (y_true, y_prob)
        Labelled predictions of the same model, not used to train it.
    window : array-like of shape (N,) or (N, K), Predictions or Sketch
        Predicted probabilities of the rows without labels, as those of the reference data; labels of `Predictions` are ignored.
    metrics : sequence of str or mapping, optional
        Among ``"accuracy"``, ``"auroc"``, ``"brier"``, ``"f1"``, ``"precision"``, ``"recall"`` and ``"expected_cost"``; by default all that
        are defined. A mapping from names to functions of weighted `Predictions`, such as ``{"nll": cal.nll}``, gives any other metric.
    method : {"calibrated", "density_ratio"}, default "calibrated"
        ``"calibrated"`` assumes that the share of events at each score is that of the reference data. ``"density_ratio"`` allows for
        covariate shift: reference rows are weighted by the ratio of the densities of the features of window and reference data. It
        requires `features` of both `Predictions`.
    about : {"rows", "population"}, default "rows"
        What the intervals cover: the value that these rows will have once their labels are known, or that of the population from which
        they are drawn.
    threshold : float, default 0.5
        Threshold of the probability above which the positive class is predicted; of several classes the most probable one is.
    cost : array-like of shape (K, A), optional
        Costs of ``"expected_cost"``: entry (k, a) is the cost of action a if class k is true. Actions are chosen by `decision.cost_decision`.
    level : float, default 0.95
        Level of the intervals.
    n_resamples : int, default 500
        Number of simulated sets of labels.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.

    Returns
    -------
    PerformanceEstimate
        With ``estimates``, each with ``estimate``, ``low``, ``high`` and the value on the ``reference`` data.

    Raises
    ------
    InputTypeError
        If the reference data have no labels, or ``"density_ratio"`` has no features.
    ArgumentError
        If a metric is unknown, or the numbers of classes differ.
    UndefinedMetricError
        If a metric has no value, such as the precision without a predicted event.

    See Also
    --------
    Monitor : Windows over time, with these estimates until their labels arrive.

    Notes
    -----
    With several classes, the probability of the predicted class is recalibrated to the accuracy, and the others are scaled. The curve is a
    logistic regression on the log-odds of the score with Firth's penalty; a restricted cubic spline with 4 knots if the reference data
    have 100 rows of either outcome, and with 8 if they have 1000. Its coefficients :math:`\hat\theta` have the covariance :math:`V`. For each simulation
    :math:`\theta_b` is drawn from the multivariate t distribution with location :math:`\hat\theta`, scale :math:`V` and as many degrees of
    freedom as there are rows of the rarer outcome; then

    - ``"rows"``: labels :math:`y_b \sim q_{\theta_b}(\cdot \mid s)` are drawn, and the metric is computed from them: label noise, and the
      error of the recalibration;
    - ``"population"``: rows are drawn with replacement, and the metric is that of the expected labels: sampling of rows, and the error of
      the recalibration.

    Intervals are quantiles of the simulated values; for ``"population"`` they are moved by twice the difference of the estimate from the
    mean of these values, because the simulation adds the bias of the estimate once more. The estimate is the metric of the expected labels [1]_, and for functions and ``"rows"``
    the mean of the simulated values. For ``"density_ratio"`` [2]_ the
    covariance includes the error of the estimated ratio, a logistic regression on the features and their squares.

    References
    ----------
    .. [1] Bialek, J., Kuberski, W., Perrakis, N. and Bifet, A. (2024). Estimating model performance under covariate shift without labels.
       arXiv:2401.08348.
    .. [2] Sugiyama, M., Krauledat, M. and Müller, K.-R. (2007). Covariate shift adaptation by importance weighted cross validation. Journal
       of Machine Learning Research 8, 985-1005.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> old = cal.inference.make_calibrated(2000, rng=0)
    >>> new = np.random.default_rng(1).beta(1, 3, 300)  # lower scores than before
    >>> found = cal.monitoring.estimate_performance((old.y_true, old.y_prob), new, metrics=["accuracy", "brier"])
    >>> [round(float(x), 2) for x in (found["accuracy"].estimate, found["accuracy"].low, found["accuracy"].high)]
    [0.77, 0.72, 0.81]
    """
    check_choice(method, "method", tuple(ASSUMPTIONS))
    check_choice(about, "about", tuple(ABOUT))
    check_fraction(level, "level")
    check_fraction(threshold, "threshold", 0.5)
    check_whole(n_resamples, "n_resamples")
    known = _read_reference(reference)
    new = _read_window(window, known)
    formulas = _formulas(metrics, known, cost)
    old_rows, rows = (Rows.of(each, threshold, cost) for each in (known, new))
    labels = LabelModel.fit(known, new, method)
    design = labels.design(rows.score)
    expected = rows.expected_labels(sigmoid(design @ labels.coefficients))
    observed = np.eye(old_rows.probs.shape[1])[known.labels]
    factor = np.linalg.cholesky(labels.covariance + 1e-12 * np.diag(np.diag(labels.covariance)))
    seed = seed_of(rng)

    def simulate(replicate: int) -> list[float]:
        random = generator(seed, replicate)
        wider = math.sqrt(labels.freedom / random.chisquare(labels.freedom))
        drawn = labels.coefficients + wider * factor @ random.standard_normal(len(factor))
        simulated = rows.expected_labels(sigmoid(design @ drawn))
        weight = rows.weight
        if about == "rows":
            simulated = random.multinomial(rows.copies, simulated) / rows.copies[:, None]
        else:
            weight = weight / rows.copies * random.multinomial(rows.copies.sum(), rows.copies / rows.copies.sum())
        outcomes = Outcomes(rows, simulated, weight)
        return [formula(outcomes) for formula in formulas.values()]

    values_of_sets = np.array(many(simulate, n_resamples))
    limits = quantile_bounds(values_of_sets, level)
    estimates = []
    estimated, known_outcomes = Outcomes(rows, expected, rows.weight), Outcomes(old_rows, observed, old_rows.weight)
    for place, (name, formula) in enumerate(formulas.items()):
        # A metric of the expected labels is far below those of drawn ones if it measures their noise, as calibration errors do.
        is_drawn = isinstance(metrics, Mapping) and about == "rows"
        value = float(values_of_sets[:, place].mean()) if is_drawn else formula(estimated)
        low, high = (float(end[place]) for end in limits)
        if math.isnan(value + low + high):
            if metrics is not None:
                raise UndefinedMetricError(name, "has no value in this window", "leave it out of metrics")
            continue
        if about == "population" and math.isfinite(value):
            low, high = without_bias(low, high, value, values_of_sets[:, place])
        estimates.append(MetricEstimate(name, value, low, high, formula(known_outcomes)))
    sizes = (float(each.copies.sum()) for each in (rows, old_rows))
    return PerformanceEstimate(tuple(estimates), about, method, level, *sizes)


def without_bias(low: float, high: float, value: float, simulated: Floats) -> tuple[float, float]:
    """The limits without the bias of the estimate, which the simulated values have twice; within these values."""
    bias = float(np.nanmean(simulated)) - value
    return max(low - 2 * bias, float(np.nanmin(simulated))), min(high - 2 * bias, float(np.nanmax(simulated)))


# Input


def _read_reference(reference: PredictionsLike) -> Predictions:
    if isinstance(reference, Sketch):
        return predictions_of(reference.view(), "reference")
    if isinstance(reference, tuple) and len(reference) == 2:
        reference = Predictions(*reference)
    if not isinstance(reference, Predictions) or reference.labels is None or reference.kind == "multilabel":
        problem = f"must be labelled Predictions of exclusive classes, a Sketch or (y_true, y_prob); got {type(reference).__name__}"
        raise InputTypeError("reference", problem)
    return reference


def _read_window(window: Any, reference: Predictions) -> Predictions:
    if isinstance(window, Sketch):
        window = predictions_of(window.view(), "window")
    if not isinstance(window, Predictions):
        classes, source = (None, "confidence") if reference.kind == "confidence" else (reference.classes, "prob")
        with named_as(y_prob="window", y_true="window"):
            window = Predictions.unlabelled(window, classes=classes, input=source)
    if (window.kind, window.k) != (reference.kind, reference.k):
        problem = f"has {window.kind} predictions of {window.k} classes, and the reference {reference.kind} ones of {reference.k}"
        raise ArgumentError("window", problem)
    return window


def predictions_of(view: View, argument: str) -> Predictions:
    """The rows of a sketch: confidences for the lens ``"top_label"``, else probabilities of one event."""
    if not view.n:
        raise UndefinedMetricError("estimate_performance", f"{argument} has no rows", "wait for more data")
    source: Any = "confidence" if view.lens == "top_label" else "prob"
    outcome, counts = view.outcome.astype(np.int64), view.weights.astype(np.int64)
    return Predictions.derived(outcome, view.score, counts=counts, input=source)


class Rows(NamedTuple):
    """The rows of a window: what is predicted, and what is decided."""

    probs: Floats
    """One column for each class; of confidences, wrong and correct."""
    score: Floats
    """Probability of the event, or confidence in the predicted class."""
    action: Array
    """The predicted class; that a confidence is of a correct prediction."""
    cheapest: Array | None
    """The action of least expected cost."""
    places: list[tuple[int, Array]]
    """For each class the number of distinct probabilities, and the place of each row among them."""
    copies: Array
    weight: Floats
    is_binary: bool

    @classmethod
    def of(cls, p: Predictions, threshold: float, cost: Any) -> Rows:
        probs = np.asarray(p.probs, dtype=np.float64)
        is_binary = p.k == 2 or p.kind == "confidence"
        if is_binary:
            score = probs if probs.ndim == 1 else probs[:, 1]
            probs = np.column_stack([1 - score, score])
            action = np.ones(p.n, np.intp) if p.kind == "confidence" else (score > threshold).astype(np.intp)
        else:
            score, action = probs.max(axis=1), p.predicted
        cheapest = None
        if cost is not None:
            from ..decision.costs import cost_decision  # imports all metrics

            cheapest = cost_decision(probs, cost).action
        places = [(len(distinct), place) for distinct, place in (np.unique(q, return_inverse=True) for q in probs.T)]
        weight = np.ones(p.n) if p.weight is None else np.asarray(p.weight, dtype=np.float64)
        count = weight.astype(np.int64) if p.weight_kind == "counts" else np.ones(p.n, np.int64)
        return cls(probs, score, action, cheapest, places, count, weight, is_binary)

    def expected_labels(self, rate: Floats) -> Floats:
        """The probability of each class, if that of the event or of the predicted class is `rate`."""
        if self.is_binary:
            return np.column_stack([1 - rate, rate])
        top = np.arange(len(rate)), self.action
        others = self.probs.copy()
        others[top] = 0
        total = others.sum(axis=1, keepdims=True)
        others = np.where(total > 0, others / np.where(total > 0, total, 1), 1 / (others.shape[1] - 1))
        expected = (1 - rate)[:, None] * others
        expected[top] = rate
        return expected / expected.sum(axis=1, keepdims=True)


# The distribution of labels given the scores


@dataclass(frozen=True)
class LabelModel:
    """Logistic regression of the event, or of a correct prediction, on the log-odds of the score."""

    knots: Floats
    boundary: float
    """Scores nearer to 0 or 1 count as this one, so that rounded probabilities of 0 and 1 have no influence by their log-odds."""
    coefficients: Floats
    covariance: Floats
    freedom: float
    """Degrees of freedom of the coefficients' distribution: rows of the rarer outcome."""

    @classmethod
    def fit(cls, reference: Predictions, window: Predictions, method: str) -> LabelModel:
        rows = Rows.of(reference, 0.5, None)
        # Whether the event occurred, or the prediction was correct.
        outcome = np.asarray(reference.labels) == (1 if rows.is_binary else rows.action)
        view = View(rows.score, outcome.astype(np.uint8), reference.weight, reference.weight_kind)
        ratio = None
        if method == "density_ratio":
            ratio = DensityRatio.fit(reference, window)
            view = View(view.score, view.raw_outcome, view.weights * ratio.value, "importance")
        groups = groups_of(view) if ratio is None else rows_of(view)
        freedom = float(min(groups.events.sum(), groups.others.sum()))
        distance = np.minimum(groups.score, 1 - groups.score)
        boundary = float(distance[distance > 0].min()) / 2 if distance.any() else 0.25
        count = next((count for least, count in KNOTS.items() if freedom >= least), 0)
        log_odds = logit(np.clip(groups.score, boundary, 1 - boundary))
        knots = np.unique(weighted_quantile(log_odds, groups.weight, np.linspace(0.05, 0.95, count).tolist()))
        design = spline_design(groups.score, knots, boundary)
        fit = fit_logistic(groups, design, firth=True)
        covariance = fit.covariance if view.weight_kind != "importance" else fit.sandwich
        if ratio is not None:
            covariance = ratio.covariance(groups, design, fit.coefficients, fit.covariance)
        return cls(knots, boundary, fit.coefficients, covariance, max(1.0, freedom))

    def design(self, score: Floats) -> Floats:
        """The columns of the regression, whose products with the coefficients are log-odds."""
        return spline_design(score, self.knots, self.boundary)


def spline_design(score: Floats, knots: Floats, boundary: float) -> Floats:
    """A constant and the columns of a restricted cubic spline of the log-odds."""
    log_odds = logit(np.clip(score, boundary, 1 - boundary))
    return np.column_stack([np.ones(len(score)), spline_columns(log_odds, knots)])


class DensityRatio(NamedTuple):
    """Ratio of the densities of the features of window and reference data, by logistic regression on the features and their squares."""

    value: Floats
    """The ratio of each reference row."""
    columns: Floats
    """Columns of the regression, reference rows first."""
    influence: Floats
    """Influence of each row on its coefficients."""

    @classmethod
    def fit(cls, reference: Predictions, window: Predictions) -> DensityRatio:
        if reference.features is None or window.features is None:
            problem = "'density_ratio' requires features of reference and window, Predictions(..., features=...)"
            raise InputTypeError("method", f"{problem}; without them use method='calibrated'")
        if "counts" in (reference.weight_kind, window.weight_kind):
            problem = "are not supported by method='density_ratio'"
            raise WeightsNotSupportedError("counts", problem, "repeat the rows")
        features = np.vstack([reference.features, window.features]).astype(np.float64)
        width = features.std(axis=0)
        z = (features - features.mean(axis=0)) / np.where(width > 0, width, 1)
        squares = z[:, [len(np.unique(column)) > 2 for column in z.T]] ** 2
        columns = np.column_stack([np.ones(len(z)), z[:, width > 0], squares])
        is_new = np.arange(len(z)) >= reference.n
        weight = np.concatenate(
            [np.ones(p.n) if p.weight is None else np.asarray(p.weight) for p in (reference, window)]
        )
        groups = rows_of(View(np.full(len(z), 0.5), is_new.astype(np.uint8), weight, "counts"))
        fit = fit_logistic(groups, columns, firth=True)
        odds = np.exp(columns @ fit.coefficients)
        residual = weight * (is_new - odds / (1 + odds))
        return cls(odds[: reference.n], columns, (residual[:, None] * columns) @ fit.covariance)

    def covariance(self, groups: Groups, design: Floats, coefficients: Floats, inverse: Floats) -> Floats:
        """Covariance of the weighted regression of the labels, with the error of the ratio: a sum over rows of squared influences."""
        n = len(design)
        mean = sigmoid(design @ coefficients)
        scores = (groups.events - groups.weight * mean)[:, None] * design
        influence = self.influence @ (self.columns[:n].T @ scores)
        influence[:n] += scores
        influence = influence @ inverse
        return np.asarray(influence.T @ influence)


# Metrics of labels that may be shares of classes


class Outcomes:
    """Labels of rows with their weights, from which metrics are computed; what several metrics need is computed once."""

    def __init__(self, rows: Rows, labels: Floats, weight: Floats) -> None:
        self.rows, self.labels, self.weight = rows, labels, weight

    @cached_property
    def right(self) -> Floats:
        """Share of each row whose class is the predicted one."""
        return self.labels[np.arange(len(self.labels)), self.rows.action]

    @cached_property
    def hits(self) -> tuple[Array, Array, Array]:
        """Weight of the rows that are predicted rightly, predicted, and occur: of the event, or of each class."""
        action, classes = self.rows.action, self.labels.shape[1]
        hits, predicted = (np.bincount(action, values, classes) for values in (self.weight * self.right, self.weight))
        first = int(self.rows.is_binary)
        return hits[first:], predicted[first:], (self.weight @ self.labels)[first:]

    def accuracy(self) -> float:
        return float(self.weight @ self.right / self.weight.sum())

    def brier(self) -> float:
        labels, probs = self.labels, self.rows.probs
        loss = (labels * (1 - probs) ** 2 + (1 - labels) * probs**2).sum(axis=1)
        return float(self.weight @ loss / self.weight.sum()) / (2 if self.rows.is_binary else 1)

    def auroc(self) -> float:
        areas = []
        for (distinct, place), share in list(zip(self.rows.places, self.labels.T, strict=True))[self.rows.is_binary :]:
            weights = self.weight * share, self.weight * (1 - share)
            events, others = (np.bincount(place, values, distinct) for values in weights)
            areas.append(_ratio(events @ (np.cumsum(others) - others / 2), events.sum() * others.sum()))
        return _mean(areas)

    def expected_cost(self, cost: Floats) -> float:
        loss = (self.labels * cost.T[self.rows.cheapest]).sum(axis=1)
        return float(self.weight @ loss / self.weight.sum())

    def precision(self) -> float:
        hits, predicted, _ = self.hits
        return _mean(_ratio(hits, predicted))

    def recall(self) -> float:
        hits, _, occurring = self.hits
        return _mean(_ratio(hits, occurring))

    def f1(self) -> float:
        hits, predicted, occurring = self.hits
        return _mean(_ratio(2 * hits, predicted + occurring))


def _ratio(part: Any, whole: Any) -> Any:
    """The ratio; NaN where it is undefined."""
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) > 0)


def _mean(values: Any) -> float:
    """The mean over classes for which the metric is defined."""
    values = np.asarray(values)
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


FORMULAS: dict[str, Formula] = {
    "accuracy": Outcomes.accuracy,
    "auroc": Outcomes.auroc,
    "brier": Outcomes.brier,
    "f1": Outcomes.f1,
    "precision": Outcomes.precision,
    "recall": Outcomes.recall,
}


def _formulas(metrics: Any, reference: Predictions, cost: Any) -> dict[str, Formula]:
    """The formula of each metric."""
    known = dict(FORMULAS)
    if reference.kind == "confidence":
        known = {name: known[name] for name in ("accuracy", "brier")}
    if cost is not None:
        matrix = np.asarray(cost, dtype=np.float64)
        known["expected_cost"] = partial(Outcomes.expected_cost, cost=matrix)
    if isinstance(metrics, Mapping):
        return {name: _formula_of(function, reference.kind) for name, function in metrics.items()}
    if isinstance(metrics, str):
        raise ArgumentError("metrics", f"must be a list of names or a mapping; got {metrics!r}")
    for name in metrics or ():
        if name == "expected_cost" and cost is None:
            raise ArgumentError("cost", "is required by 'expected_cost'; pass one row for each class")
        if name in FORMULAS and name not in known:
            raise LensError("metrics", f"{name!r} is not defined for confidences; pass class probabilities")
        if name not in known:
            raise ArgumentError(
                "metrics", f"unknown metric {name!r}", suggest(name, known, f"choose among {', '.join(known)}")
            )
    return known if metrics is None else {name: known[name] for name in metrics}


def _formula_of(metric: Callable[..., float], kind: str) -> Formula:
    """A metric of rows with weights: each row counts once for each class, with the share of that class."""

    def value(outcomes: Outcomes) -> float:
        shares = outcomes.weight[:, None] * outcomes.labels
        row, label = np.nonzero(shares)
        probs = outcomes.rows.probs[:, 1] if outcomes.rows.is_binary else outcomes.rows.probs
        keywords = {"input": "confidence"} if kind == "confidence" else {}
        return float(metric(Predictions.derived(label, probs[row], sample_weight=shares[row, label], **keywords)))

    return value
