"""Scorers: every metric for `cross_val_score`, `GridSearchCV` and similar functions, larger being better."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from ..errors import ArgumentError, UnknownArgumentError
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..views.keywords import DATA_KEYWORDS, unknown_keyword
from .responses import FROM_ESTIMATOR, label_names, scores_of

PRECISION = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Scorer:
    """Metric as a scikit-learn scorer: called with a fitted classifier and data, larger is better.

    Use `scorer` to create one.

    Parameters
    ----------
    metric : str
        Identifier of the metric.
    options : tuple of (str, object), default ()
        Options of the metric, the lens and the selection.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from calibrant.sklearn import Scorer
    >>> X, y = make_classification(500, random_state=0)
    >>> round(Scorer("brier")(LogisticRegression().fit(X, y), X, y), 4)
    -0.1168
    """

    metric: str
    options: tuple[tuple[str, Any], ...] = ()
    _requests: dict[str, Any] = field(default_factory=dict, init=False, compare=False)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        metric = catalogue[self.metric]
        values, kind = scores_of(estimator, X)
        names, options = label_names(estimator, y), dict(self.options)
        rows = {"sample_weight": sample_weight, "classes": estimator.classes_}
        value = metric(Predictions(names, values, input=kind, **rows), **options)
        if math.isinf(value) and kind == "prob":  # one such fold would leave a grid search without a mean
            value = metric(Predictions(names, np.clip(values, PRECISION, 1 - PRECISION), **rows), **options)
        if metric.proper == "strictly" or metric.ideal is None:
            return -value
        return -abs(value - metric.ideal)

    def set_score_request(self, **requests: Any) -> Self:
        """Set which metadata the scorer requests, for ``enable_metadata_routing`` of scikit-learn.

        Parameters
        ----------
        **requests
            ``sample_weight``: whether it is requested, or its name in the call.

        Returns
        -------
        Scorer
            The scorer itself.
        """
        for word in requests:
            if word != "sample_weight":
                raise UnknownArgumentError(word, "unexpected keyword of set_score_request", "use sample_weight")
        self._requests.update(requests)
        return self

    def get_metadata_routing(self) -> Any:
        """Return which metadata the scorer requests.

        Returns
        -------
        MetadataRequest
            The requests.
        """
        request = MetadataRequest(owner=self)
        for word, alias in self._requests.items():
            request.score.add_request(param=word, alias=alias)
        return request

    def __repr__(self) -> str:
        return f"scorer({self.metric!r})"


def scorer(metric: str | Metric, **options: Any) -> Scorer:
    """Create the scorer of a metric, for ``cross_val_score``, ``GridSearchCV`` and similar functions.

    Scorers follow the convention that larger is better: the score is the negative distance of the metric from its ideal value, or the
    negative value of a proper score. Where the metric is infinite, as ``"nll"`` is if an observed class has probability 0, it is computed of
    probabilities clipped to [eps, 1 - eps] with eps = 2.2e-16, as by ``log_loss`` of scikit-learn. Of a classifier without ``predict_proba`` the decision function is read as logits, where the scorers of
    scikit-learn raise an error.

    Parameters
    ----------
    metric : str or Metric
        Identifier or alias of a metric that needs labels and probabilities only.
    **options
        Options of the metric, such as ``bins``, and ``lens`` and ``where``.

    Returns
    -------
    Scorer
        Callable with the signature ``(estimator, X, y, sample_weight=None)``.

    Raises
    ------
    ArgumentError
        If the metric needs more than labels and probabilities.
    UnknownArgumentError
        If a keyword is not an option of the metric.

    See Also
    --------
    scorers : Scorers of several metrics.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from calibrant.sklearn import scorer
    >>> X, y = make_classification(500, random_state=0)
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer("ece", bins=10)).round(2)
    array([-0.15, -0.11, -0.08, -0.09, -0.08])
    """
    chosen = metric if isinstance(metric, Metric) else catalogue[metric]
    if chosen.needs:
        raise ArgumentError(
            "metric", f"{chosen.id} requires {' and '.join(chosen.needs)}, which scorers do not receive"
        )
    known = (*chosen.options, "lens", "where")
    for keyword, value in options.items():
        if keyword in DATA_KEYWORDS:
            raise UnknownArgumentError(keyword, "unexpected keyword of scorer", FROM_ESTIMATOR)
        if keyword not in known:
            raise unknown_keyword("scorer", keyword, value, known)
    chosen._split(options)  # the values of options are checked now, not after the first fold
    return Scorer(chosen.id, tuple(sorted(options.items())))


def scorers(metrics: str | Metric | Iterable[str | Metric] | None = None) -> dict[str, Scorer]:
    """Create scorers of several metrics, as ``cross_validate`` expects them.

    Parameters
    ----------
    metrics : str, Metric or iterable of these, optional
        Metrics; by default all that need labels and probabilities only.

    Returns
    -------
    dict of str to Scorer
        Scorers by identifier of the metric.

    See Also
    --------
    scorer : The scorer of one metric, with options.

    Examples
    --------
    >>> from calibrant.sklearn import scorers
    >>> scorers(["ece", "Brier score"])
    {'ece': scorer('ece'), 'brier': scorer('brier')}
    """
    if metrics is None:
        metrics = [metric for metric in catalogue.values() if not metric.needs]
    all_scorers = [scorer(metric) for metric in ([metrics] if isinstance(metrics, (str, Metric)) else metrics)]
    return {each.metric: each for each in all_scorers}
