"""The true rate from many judgements of a model and few of a person: prediction-powered inference, with a calibrated judge or as it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..curves.logistic_regression import fit_logistic, rows_of
from ..errors import ArgumentError, InputError
from ..input.convert import as_entries, column, is_missing, numbers
from ..input.frames import check_same_rows
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.results import Record, number, pvalue_text
from ..views.view import View, sigmoid
from .means import Moments, gamma_limits, two_sided_quantile
from .seeds import generator, seed_of

METHODS = ("calibrated", "ppi")
# Half the penalty of a squared coefficient, so that few or separated labels have a finite fit.
RIDGE = 0.5
# Fewer gold labels than this leave no fold with both outcomes.
LEAST_GOLD = 10


@dataclass(frozen=True, repr=False)
class CorrectedRate(Record):
    """True rate of an outcome that a model judges everywhere and a person on few rows.

    Parameters
    ----------
    estimate : float
        Estimated rate.
    low : float
        Lower limit of the interval.
    high : float
        Upper limit.
    level : float
        Level of the interval.
    method : {"calibrated", "ppi"}
        Whether the judge was calibrated on the gold labels first.
    n : int
        Number of rows.
    n_gold : int
        Number of rows with a gold label.
    judge_rate : float
        Mean of the judge over all rows; NaN for scores outside [0, 1].
    gold_rate : float
        Mean of the gold labels alone.
    power : float
        Weight of the judge: 0 where it carries no information.
    judge_pvalue : float
        P-value of the hypothesis that the judge is calibrated; NaN for scores outside [0, 1].
    test : str
        The test of the judge.
    variances : tuple of float
        Variance of a gold label that the judge does not explain, and of the judge's part.

    Examples
    --------
    >>> import calibrant as cal
    >>> judge, gold = [1, 1, 0, 0] * 50, [1, 0, 0, 0] * 10 + [None] * 160
    >>> found = cal.inference.corrected_rate(judge, gold)
    >>> found.judge_rate, found.gold_rate, found.n_gold
    (0.5, 0.25, 40)
    """

    _hidden = ("variances",)

    estimate: float
    low: float
    high: float
    level: float
    method: str
    n: int
    n_gold: int
    judge_rate: float
    gold_rate: float
    power: float
    judge_pvalue: float
    test: str
    variances: tuple[float, float] = field(default=(0.0, 0.0), compare=False)

    def gold_needed(self, width: float) -> int:
        """Compute the number of gold labels for an interval of this width, with as many judgements in all.

        Parameters
        ----------
        width : float
            Width of the interval, upper minus lower limit.

        Returns
        -------
        int
            Number of gold labels.

        Raises
        ------
        ArgumentError
            If more judgements are needed for this width.
        """
        check_fraction(width, "width", 0.1)
        unexplained, judged = self.variances
        allowed = (width / 2 / two_sided_quantile(self.level)) ** 2
        needed = next(
            (k for k in range(LEAST_GOLD, self.n) if unexplained / k + judged / (self.n - k) <= allowed), self.n
        )
        if needed == self.n and self.gold_rate * (1 - self.gold_rate) / self.n > allowed:
            problem = f"{width:g} is not reached with gold labels for all {self.n:,} rows; judge more rows"
            raise ArgumentError("width", problem)
        return needed

    def _title(self) -> str:
        interval = f"{number(self.estimate)} ({number(self.low)} to {number(self.high)} at {self.level:.0%})"
        rows = f"{self.n:,} judgements, {self.n_gold:,} gold labels, method {self.method}"
        return f"Rate {interval}\n  {rows}; the gold labels alone {number(self.gold_rate)}, the judge {number(self.judge_rate)}"

    def _notes(self) -> list[str]:
        return [f"  {self.test}: p {pvalue_text(self.judge_pvalue)}"] if self.test else []


def corrected_rate(
    judge: Any,
    gold: Any,
    *,
    method: Literal["calibrated", "ppi"] = "calibrated",
    level: float = 0.95,
    folds: int = 5,
    rng: Any = 0,
) -> CorrectedRate:
    r"""Estimate the true rate from many judgements of a model and few of a person.

    A language model that judges answers is cheap and biased; the rate of its verdicts is the rate of verdicts. Gold labels of a random
    sample of the rows correct it, and the interval is shorter than that of the gold labels alone where the judge is informative.

    Parameters
    ----------
    judge : array-like of shape (N,)
        Verdict (0 and 1, or booleans) or score of the judge for each row, on any increasing scale.
    gold : array-like of shape (N,)
        Verdict of a person, 0 or 1; None or NaN where there is none. The rows with gold labels must be a random sample.
    method : {"calibrated", "ppi"}, default "calibrated"
        ``"calibrated"`` turns scores into probabilities by a penalised logistic regression on the gold labels, with cross-fitting; ``"ppi"`` uses
        them as they are. For verdicts both agree, but for the error of the fit.
    level : float, default 0.95
        Level of the interval.
    folds : int, default 5
        Number of folds of the cross-fitting.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator of the folds.

    Returns
    -------
    CorrectedRate
        With ``estimate``, ``low``, ``high``, a test of the judge, and ``gold_needed(width)``.

    Raises
    ------
    InputError
        If `gold` has another length than `judge`, values other than 0 and 1, or fewer than ten labels.

    See Also
    --------
    precision_sample_size : Sample sizes without a judge.

    Notes
    -----
    With :math:`n` gold labels :math:`y_i`, the judge's values :math:`f` and :math:`N` rows without labels [1]_,

    .. math:: \hat\theta = \frac{1}{n} \sum_{i=1}^n (y_i - \lambda f_i) + \frac{\lambda}{N} \sum_{j=1}^N f_j, \qquad
              \hat\lambda = \frac{\widehat{\mathrm{Cov}}(y, f)}{(1 + n / N) \widehat{\mathrm{Var}}(f)}.

    For a given :math:`\lambda` it is unbiased whatever the judge. The one that minimises its variance (power tuning) is estimated, which leaves a bias of
    order 1/n that matters for few gold labels of a rare outcome; the limits held with it in simulations. For ``"calibrated"`` [2]_, :math:`\lambda` lies in [0, 1], and :math:`f_i` is
    the probability that was fitted without the fold of row i, so that the first mean includes the error of the calibration. Limits are those
    of a mean with skewed rows and Student's t, with one more label on each side that the judge contradicts, so that they hold for rare outcomes and
    for judges that are right on all gold rows.

    The judge is tested on the gold rows: scores by `assess` (metric ``ecce_mad``), verdicts by McNemar's exact test of as many false positives
    as false negatives.

    References
    ----------
    .. [1] Angelopoulos, A. N., Duchi, J. C. and Zrnic, T. (2023). PPI++: Efficient prediction-powered inference. arXiv:2311.01453.
    .. [2] Landesberg, E. (2025). Causal judge evaluation: calibrated surrogate metrics for LLM systems. arXiv:2512.11150.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(5000) < 0.3
    >>> judge = np.where(truth, rng.random(5000) < 0.9, rng.random(5000) < 0.3)  # too lenient
    >>> gold = np.where(np.arange(5000) < 200, truth, np.nan)
    >>> found = cal.inference.corrected_rate(judge, gold)
    >>> round(found.judge_rate, 3), round(found.estimate, 3), found.low < 0.3 < found.high
    (0.467, 0.274, True)
    """
    check_choice(method, "method", METHODS)
    check_fraction(level, "level")
    check_whole(folds, "folds", 2)
    check_same_rows(judge, {"gold": gold}, "judge")
    score = numbers(column(judge, "judge").array, "judge").astype(np.float64)
    if score.ndim != 1 or not np.isfinite(score).all():
        raise InputError("judge", "must have one finite verdict or score for each row")
    label = _read_gold(gold, len(score))
    is_gold = ~np.isnan(label)
    y, n, unlabelled = label[is_gold], int(is_gold.sum()), int((~is_gold).sum())
    judgement = score if method == "ppi" else _cross_fitted(score, label, folds, rng)
    covariance = float(np.mean((y - y.mean()) * (judgement[is_gold] - judgement[is_gold].mean())))
    variance = float(judgement.var())
    # The weight of the judge with the least variance of the estimate.
    power = covariance / ((1 + n / unlabelled) * variance) if unlabelled and variance > 0 else 0.0
    if method == "calibrated":  # a fit without information differs between folds only, which is noise
        power = min(max(power, 0.0), 1.0)
    residual = y - power * judgement[is_gold]
    judged = power * judgement[~is_gold]
    estimate = float(residual.mean()) + (float(judged.mean()) if unlabelled else 0.0)
    # One degree of freedom for the mean, and one for the weight of the judge.
    correct = n / (n - 2)
    parts = [(residual - residual.mean()) * math.sqrt(correct) / n]
    if unlabelled:
        parts.append((judged - judged.mean()) / unlabelled)
    second, third = (sum(float(np.sum(part**exponent)) for part in parts) for exponent in (2, 3))
    moments = Moments(estimate, second, third, n - 1)
    low, high = _corrected_limits(moments, level, n, float(y.mean()), power * covariance)
    is_share = bool((score >= 0).all() and (score <= 1).all())
    pvalue, test = _judge_test(score[is_gold], y) if is_share else (math.nan, "")
    return CorrectedRate(
        estimate=float(np.clip(estimate, 0, 1)),
        low=max(low, 0.0),
        high=min(high, 1.0),
        level=level,
        method=method,
        n=len(score),
        n_gold=n,
        judge_rate=float(score.mean()) if is_share else math.nan,
        gold_rate=float(y.mean()),
        power=power,
        judge_pvalue=pvalue,
        test=test,
        variances=(correct * float(residual.var()), float(judged.var()) if unlabelled else 0.0),
    )


def _corrected_limits(moments: Moments, level: float, n: int, rate: float, explained: float) -> tuple[float, float]:
    """Limits with one more label that the judge contradicts: the rarer one where it expects the other, and the other where it expects the rarer."""
    rarer, other = 1.0, explained / max(min(rate, 1 - rate), 1 / n)
    up, down = (rarer, other) if moments.mean <= 0.5 else (other, rarer)
    return gamma_limits(moments, level, -down / n)[0], gamma_limits(moments, level, up / n)[1]


def _read_gold(gold: Any, rows: int) -> Floats:
    """Gold labels as 0, 1 and NaN."""
    values = gold if isinstance(gold, list) else (gold if isinstance(gold, np.ndarray) else as_entries(gold)).tolist()
    if len(values) != rows:
        problem = (
            f"has {len(values):,} entries for {rows:,} judgements; give one for each, None where there is no gold label"
        )
        raise InputError("gold", problem)
    label = np.full(rows, np.nan)
    for place, value in enumerate(values):
        if not is_missing(value):
            if value not in (0, 1):
                raise InputError("gold", f"must be 0 or 1, and None without gold label; got {value!r}", row=place)
            label[place] = value
    if (known := int(np.sum(~np.isnan(label)))) < LEAST_GOLD:
        raise InputError("gold", f"has {known} labels; label at least {LEAST_GOLD} rows")
    return label


def _cross_fitted(score: Floats, label: Floats, folds: int, rng: Any) -> Floats:
    """Probability of the outcome at each score, by regressions that do not use the row's own gold label; their mean without label."""
    gold = np.flatnonzero(~np.isnan(label))
    if score.std() == 0:
        return score
    design = np.column_stack([np.ones(len(score)), (score - score.mean()) / score.std()])
    fold = generator(seed_of(rng), 0).permutation(len(gold)) % folds
    values = np.zeros(len(score))
    for turn in range(folds):
        rows = gold[fold != turn]
        curve = np.full(len(score), label[rows].mean())
        if np.ptp(score[rows]) > 0:
            groups = rows_of(View(np.full(len(rows), 0.5), label[rows].astype(np.uint8)))
            curve = sigmoid(design @ fit_logistic(groups, design[rows], ridge=RIDGE).coefficients)
        values += np.where(np.isnan(label), curve / folds, 0)
        held_out = gold[fold == turn]
        values[held_out] = curve[held_out]
    return values


def _judge_test(score: Floats, y: Floats) -> tuple[float, str]:
    """P-value and name of the test that the judge is calibrated."""
    if np.isin(score, (0, 1)).all():
        from scipy.stats import binomtest

        positives, negatives = int(np.sum((score == 1) & (y == 0))), int(np.sum((score == 0) & (y == 1)))
        errors = positives + negatives
        pvalue = float(binomtest(positives, errors).pvalue) if errors else 1.0
        return pvalue, f"McNemar's test of the judge, {positives:,} false positives and {negatives:,} false negatives"
    from .significance import assess

    return assess(y.astype(np.int64), score, metric="ecce_mad").pvalue, "Test that the judge's scores are calibrated"
