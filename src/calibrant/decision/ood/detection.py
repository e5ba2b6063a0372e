"""A detector of out-of-distribution rows trained on examples, and the evaluation of out-of-distribution scores."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from ...errors import InputTypeError, NotFittedError, ShapeError, UndefinedMetricError
from ...inference.means import two_sided_quantile
from ...inference.seeds import generator, seed_of
from ...recalibration.softmax_regression import ridge_logistic
from ...util.arrays import Floats
from ...util.checks import check_choice, check_fraction, check_whole
from ...util.results import Result, number
from ..rows import finite_column, lower_bound, upper_bound
from .scores import finite_matrix

PENALTY = 1.0


@dataclass(frozen=True, repr=False)
class OodEvaluation(Result):
    """Evaluation of an out-of-distribution score.

    Parameters
    ----------
    auroc : float
        Area under the ROC curve.
    auroc_low, auroc_high : float
        Confidence interval of the AUROC.
    auroc_error : float or None
        DeLong's standard error of the AUROC; None if the rows are separated perfectly or the variance is undefined.
    aupr_out : float
        Average precision with out-of-distribution rows as positives.
    aupr_in : float
        Average precision with in-distribution rows as positives.
    fpr : float
        False positive rate at the true positive rate `tpr`.
    fpr_low, fpr_high : float
        Confidence interval of the false positive rate.
    threshold : float
        Score at which the true positive rate is attained.
    inside : int
        Number of in-distribution rows.
    outside : int
        Number of out-of-distribution rows.
    tpr : float
        True positive rate at which `fpr` is evaluated.
    positive : {"in", "out"}
        The positive class of `tpr` and `fpr`.
    level : float
        Confidence level of the intervals.
    """

    auroc: float
    auroc_low: float
    auroc_high: float
    auroc_error: float | None
    aupr_out: float
    aupr_in: float
    fpr: float
    fpr_low: float
    fpr_high: float
    threshold: float
    inside: int
    outside: int
    tpr: float
    positive: str
    level: float
    _numeric, _width = range(4), 9

    @property
    def share_outside(self) -> float:
        """Share of out-of-distribution rows, on which both average precisions depend."""
        return self.outside / (self.inside + self.outside)

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "share_outside": self.share_outside}

    def _columns(self) -> dict[str, list[Any]]:
        return dict(
            zip(("measure", "value", "low", "high"), map(list, zip(*self._measures(), strict=True)), strict=True)
        )

    def _measures(self) -> list[tuple[str, float, float | None, float | None]]:
        return [
            ("auroc", self.auroc, self.auroc_low, self.auroc_high),
            ("aupr_out", self.aupr_out, None, None),
            ("aupr_in", self.aupr_in, None, None),
            (f"fpr{round(100 * self.tpr)}", self.fpr, self.fpr_low, self.fpr_high),
        ]

    def _title(self) -> str:
        return f"Out-of-distribution detection: {self.inside} in-distribution rows, {self.outside} out-of-distribution; {self.level:.0%} intervals"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[name, *(number(value) for value in rest)] for name, *rest in self._measures()]
        return ["measure", "value", "low", "high"], rows


def evaluate(
    inside: Any,
    outside: Any,
    *,
    tpr: float = 0.95,
    positive: Literal["in", "out"] = "in",
    level: float = 0.95,
    interval: Literal["logit", "wald"] = "logit",
    n_resamples: int = 1000,
    rng: Any = 0,
) -> OodEvaluation:
    """Evaluate an out-of-distribution score by AUROC, average precision and false positive rate.

    Parameters
    ----------
    inside : array-like of shape (N,)
        Scores of in-distribution rows.
    outside : array-like of shape (M,)
        Scores of out-of-distribution rows, which should be higher.
    tpr : float, default 0.95
        True positive rate at which the false positive rate is evaluated.
    positive : {"in", "out"}, default "in"
        ``"in"``: the share of out-of-distribution rows accepted at the threshold that accepts the share `tpr` of in-distribution rows
        (FPR95 of the literature). ``"out"``: the share of in-distribution rows flagged at the threshold that flags the share `tpr` of
        out-of-distribution rows.
    level : float, default 0.95
        Confidence level of the intervals.
    interval : {"logit", "wald"}, default "logit"
        Scale of DeLong's interval of the AUROC.
    n_resamples : int, default 1000
        Number of bootstrap replicates for the interval of the false positive rate, stratified by kind of row.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator.

    Returns
    -------
    OodEvaluation
        Result with the attributes ``auroc``, ``auroc_low``, ``auroc_high``, ``aupr_out``, ``aupr_in``, ``fpr``, ``fpr_low``, ``fpr_high`` and ``threshold``.

    See Also
    --------
    OodDetector : A detector trained on examples.
    msp : A score of the predicted probabilities.

    Notes
    -----
    The evaluation holds for the kind of out-of-distribution rows that is given, not for others. Average precision depends on the share
    of out-of-distribution rows.

    References
    ----------
    .. [1] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated receiver operating
       characteristic curves. Biometrics 44.
    .. [2] Liang, S., Li, Y. and Srikant, R. (2018). Enhancing the reliability of out-of-distribution image detection in neural networks. ICLR.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.ood.evaluate([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.35, 0.5, 0.7, 0.9]).auroc
    0.8125
    """
    near, far = finite_column(inside, "inside"), finite_column(outside, "outside")
    check_fraction(tpr, "tpr", 0.9)
    check_fraction(level, "level")
    check_choice(positive, "positive", ("in", "out"))
    check_choice(interval, "interval", ("logit", "wald"))
    auroc, variance = delong(far, near)
    kept, other = (near, far) if positive == "in" else (-far, -near)
    place = math.ceil(tpr * len(kept) - 1e-9) - 1
    threshold = float(np.partition(kept, place)[place])
    fpr = float((other <= threshold).mean())
    draws = _resample_fpr(kept, other, tpr, check_whole(n_resamples, "n_resamples"), seed_of(rng))
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
    # If no row or every row is a false positive, all replicates agree: an exact bound takes the place of the quantile.
    if fpr == 0:
        high = max(high, float(upper_bound(0, len(other), (1 - level) / 2)))
    elif fpr == 1:
        low = min(low, float(lower_bound(len(other), len(other), (1 - level) / 2)))
    certain = auroc in (0.0, 1.0)
    auroc_low, auroc_high = _auroc_interval(auroc, variance, min(len(near), len(far)), level, interval)
    return OodEvaluation(
        auroc=auroc,
        auroc_low=auroc_low,
        auroc_high=auroc_high,
        auroc_error=None if certain or math.isnan(variance) else math.sqrt(variance),
        aupr_out=average_precision(far, near),
        aupr_in=average_precision(-near, -far),
        fpr=fpr,
        fpr_low=low,
        fpr_high=high,
        threshold=threshold if positive == "in" else -threshold,
        inside=len(near),
        outside=len(far),
        tpr=float(tpr),
        positive=positive,
        level=float(level),
    )


def delong(high: Floats, low: Floats) -> tuple[float, float]:
    """AUROC of separating `high` from `low`, and DeLong's variance (1988) by midranks (Sun and Xu 2014); NaN for a single row."""
    from scipy.stats import rankdata

    m, n = len(high), len(low)
    pooled = rankdata(np.concatenate([high, low]))
    above = (pooled[:m] - rankdata(high)) / n
    below = 1 - (pooled[m:] - rankdata(low)) / m
    auroc = float(above.mean())
    if m < 2 or n < 2:
        return auroc, math.nan
    return auroc, float(above.var(ddof=1)) / m + float(below.var(ddof=1)) / n


def _auroc_interval(auroc: float, variance: float, pairs: int, level: float, scale: str) -> tuple[float, float]:
    from scipy.special import expit
    from scipy.special import logit as log_odds

    if auroc in (
        0.0,
        1.0,
    ):  # the variance is 0; disjoint pairs, all in the same order, still bound the chance of that order
        edge = ((1 - level) / 2) ** (1 / pairs)
        return (edge, 1.0) if auroc == 1 else (0.0, 1 - edge)
    half = two_sided_quantile(level) * math.sqrt(variance)
    if scale == "wald" or math.isnan(half):
        return auroc - half, auroc + half
    centre, width = float(log_odds(auroc)), half / (auroc * (1 - auroc))
    return float(expit(centre - width)), float(expit(centre + width))


def average_precision(positives: Floats, negatives: Floats) -> float:
    """Mean precision over the positives, with tied scores taken together."""
    values, place = np.unique(-np.concatenate([positives, negatives]), return_inverse=True)
    hits = np.bincount(place[: len(positives)], minlength=len(values)).astype(np.float64)
    rows = np.bincount(place, minlength=len(values))
    return float((hits * np.cumsum(hits) / np.cumsum(rows)).sum()) / len(positives)


def _resample_fpr(kept: Floats, other: Floats, tpr: float, count: int, seed: int) -> Floats:
    """False positive rates of bootstrap replicates, from the beta distribution of a resampled order statistic: no rows are drawn."""
    n, m = len(kept), len(other)
    rising, others = np.sort(kept), np.sort(other)
    rng = generator(seed, 0)
    # The j-th order statistic of n resampled rows is at the j-th of n uniform variables, which has a beta distribution.
    rank = math.ceil(tpr * n - 1e-9)
    spot = rng.beta(rank, n - rank + 1, count)
    threshold = rising[np.minimum((spot * n).astype(np.intp), n - 1)]
    share = np.searchsorted(others, threshold, side="right") / m
    return rng.binomial(m, share) / m


@dataclass(frozen=True, repr=False)
class OodResult(Result):
    """Result of a classifier two-sample test of new against reference rows.

    Parameters
    ----------
    auroc : float
        AUROC of the out-of-fold scores; 0.5 if the samples are not distinguishable.
    pvalue : float
        Permutation p-value of the null hypothesis that both samples have the same distribution.
    reference : int
        Number of reference rows.
    new : int
        Number of new rows.
    n_resamples : int
        Number of permutations.
    """

    auroc: float
    pvalue: float
    reference: int
    new: int
    n_resamples: int

    def _title(self) -> str:
        return f"Classifier two-sample test: AUROC {number(self.auroc)} of new against reference rows, p-value {number(self.pvalue)}"


class OodDetector:
    """Detector of out-of-distribution rows, trained on examples of both kinds.

    A penalised logistic regression, or another classifier, is fitted to standardised features; out-of-fold scores calibrate its
    probability by Platt scaling. Its performance is specific to the kind of out-of-distribution rows it was trained on.

    Parameters
    ----------
    model : estimator, optional
        Classifier with ``fit`` and ``predict_proba``; by default a ridge-penalised logistic regression.
    folds : int, default 5
        Number of folds for out-of-fold scores.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator of the folds.

    See Also
    --------
    evaluate : Evaluation of any score.
    OodMahalanobis : A score that needs no out-of-distribution examples.

    References
    ----------
    .. [1] Lopez-Paz, D. and Oquab, M. (2017). Revisiting classifier two-sample tests. ICLR.

    Examples
    --------
    >>> import calibrant as cal
    >>> detector = cal.decision.ood.OodDetector(folds=2).fit([[0.0], [0.1], [0.2], [0.3]], [[1.0], [1.1], [1.2], [1.3]])
    >>> bool(detector.score([[1.2]])[0] > detector.score([[0.1]])[0])
    True
    """

    def __init__(self, *, model: Any = None, folds: int = 5, rng: Any = 0) -> None:
        if model is not None and not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
            raise InputTypeError("model", "must have fit and predict_proba", "pass a scikit-learn classifier")
        self.model = model
        self.folds = check_whole(folds, "folds", 2)
        self.rng = rng

    def fit(self, inside: Any, outside: Any) -> Self:
        """Fit the detector.

        Parameters
        ----------
        inside : array-like of shape (N, d)
            Features of in-distribution rows.
        outside : array-like of shape (M, d)
            Features of out-of-distribution rows.

        Returns
        -------
        OodDetector
            The fitted detector.
        """
        x, y = self._rows(inside, outside)
        raw = self._out_of_fold(x, y, seed_of(self.rng))
        slope = _Logistic(penalty=1e-6).fit(raw[:, None], y)
        self.calibration_ = slope
        self.inside_scores_, self.outside_scores_ = (slope.probability(raw[y == kind][:, None]) for kind in (0, 1))
        self.fitted_ = self._fitted(x, y)
        self.columns_ = x.shape[1]
        return self

    def score(self, features: Any) -> Floats:
        """Predict the probability that each row is out-of-distribution.

        Parameters
        ----------
        features : array-like of shape (N, d)
            Features.

        Returns
        -------
        ndarray of shape (N,)
            Probability of being out-of-distribution, at the share of such rows in training.
        """
        if not hasattr(self, "fitted_"):
            raise NotFittedError("OodDetector", "is not fitted", "call fit(inside, outside) first")
        x = finite_matrix(features, "features", self.columns_)
        return self.calibration_.probability(_raw(self.fitted_, x)[:, None])

    def test(self, reference: Any, new: Any, *, n_resamples: int = 200) -> OodResult:
        """Test whether new rows have the same distribution as reference rows (classifier two-sample test).

        Parameters
        ----------
        reference : array-like of shape (N, d)
            Features of reference rows.
        new : array-like of shape (M, d)
            Features of new rows.
        n_resamples : int, default 200
            Number of permutations.

        Returns
        -------
        OodResult
            Result with the attributes ``auroc`` and ``pvalue``.
        """
        x, y = self._rows(reference, new)
        seed = seed_of(self.rng)

        def value(kinds: Floats, number_: int) -> float:
            raw = self._out_of_fold(x, kinds, seed + number_)
            return delong(raw[kinds == 1], raw[kinds == 0])[0]

        statistic = value(y, 0)
        count = check_whole(n_resamples, "n_resamples")
        drawn = np.array([value(generator(seed, i).permutation(y), i) for i in range(1, count + 1)])
        pvalue = (1 + int((drawn >= statistic - 1e-12).sum())) / (count + 1)
        return OodResult(statistic, pvalue, int((y == 0).sum()), int((y == 1).sum()), count)

    def _rows(self, inside: Any, outside: Any) -> tuple[Floats, Floats]:
        near = finite_matrix(inside, "inside")
        far = finite_matrix(outside, "outside")
        if near.shape[1] != far.shape[1]:
            raise ShapeError(
                "outside",
                f"has {far.shape[1]} columns, and the in-distribution data have {near.shape[1]}",
                "pass the same features",
            )
        if min(len(near), len(far)) < self.folds:
            raise UndefinedMetricError(
                "OodDetector", f"each of {self.folds} folds requires rows of both kinds", "use fewer folds"
            )
        return np.concatenate([near, far]), np.repeat([0.0, 1.0], [len(near), len(far)])

    def _out_of_fold(self, x: Floats, y: Floats, seed: int) -> Floats:
        """Out-of-fold log-odds of being out-of-distribution."""
        rng = generator(seed, 0)
        fold = np.empty(len(y), dtype=np.intp)
        for kind in (0, 1):  # every fold holds both kinds
            rows = np.flatnonzero(y == kind)
            fold[rng.permutation(rows)] = np.arange(len(rows)) % self.folds
        raw = np.empty(len(y))
        for i in range(self.folds):
            held = fold == i
            raw[held] = _raw(self._fitted(x[~held], y[~held]), x[held])
        return raw

    def _fitted(self, x: Floats, y: Floats) -> Any:
        model = _Logistic(PENALTY) if self.model is None else copy.deepcopy(self.model)
        model.fit(x, y)
        return model

    def __repr__(self) -> str:
        return f"OodDetector(model={self.model!r}, folds={self.folds})"


def _raw(model: Any, x: Floats) -> Floats:
    if isinstance(model, _Logistic):
        return model.log_odds(x)
    from scipy.special import logit

    return np.asarray(logit(np.clip(np.asarray(model.predict_proba(x))[:, 1], 1e-12, 1 - 1e-12)))


class _Logistic:
    """Ridge-penalised logistic regression on standardised features."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def fit(self, x: Floats, y: Floats) -> Self:
        self.mean, spread = x.mean(axis=0), x.std(axis=0)
        self.spread = np.where(spread > 0, spread, 1.0)
        z = np.column_stack([np.ones(len(x)), (x - self.mean) / self.spread])
        ridge = np.full(z.shape[1], self.penalty)
        ridge[0] = 1e-9  # keeps the intercept finite without a noticeable effect
        self.beta = ridge_logistic(z, y, np.ones(len(y)), ridge)
        return self

    def log_odds(self, x: Floats) -> Floats:
        return np.asarray(self.beta[0] + (x - self.mean) / self.spread @ self.beta[1:])

    def probability(self, x: Floats) -> Floats:
        from scipy.special import expit

        return np.asarray(expit(self.log_odds(x)))
