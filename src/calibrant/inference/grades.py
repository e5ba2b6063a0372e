"""Tests of groups of rows: rating grades, and groups by risk for several classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..binning.partition import bin_of_each
from ..binning.rules import EqualMass, check_bins
from ..errors import ArgumentError, GroupError, InputTypeError, UndefinedMetricError
from ..input.predictions import Predictions
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_whole, is_number
from ..util.results import Result, number, pvalue_text
from ..views.keywords import documents_keywords
from ..views.resolve import as_predictions, resolve, views_of
from ..views.view import VectorView
from .asymptotic import too_few
from .belt import result_of_view, simulated_where_inaccurate
from .fitted import refuse_importance
from .metric_tests import ANY_SIDE, few_events
from .multiplicity import adjust
from .replicates import cumulative, draw_classes, many
from .seeds import generator, seed_of
from .significance import view_to_test
from .verdicts import SignificanceResult, degrees_of_freedom

Side = Literal["greater", "less", "two-sided"]

# P-values at or below which a grade is amber and red.
AMBER, RED = 0.05, 0.01
HEADINGS = ["grade", "rows", "events", "score", "p-value", "adjusted", "light"]


@dataclass(frozen=True)
class GradeTest:
    """Test of one rating grade.

    Parameters
    ----------
    grade : object
        Name of the grade.
    rows : int
        Number of rows.
    events : int
        Number of events.
    score : float
        Probability under test: the mean score of the grade's rows, or the rate fixed for the grade; NaN if unknown.
    pvalue : float
        P-value; NaN for a grade without rows.
    adjusted : float
        P-value adjusted for the number of grades with rows.
    light : {"green", "amber", "red", ""}
        Traffic light by the unadjusted p-value: amber up to 0.05, red up to 0.01; empty for a grade without rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.inference.grade_tests(cal.Predictions([0] * 195 + [1] * 5, [0.01] * 200, groups=["B"] * 200))["B"].light
    'green'
    """

    grade: Any
    rows: int
    events: int
    score: float
    pvalue: float
    adjusted: float
    light: str


@dataclass(frozen=True, repr=False)
class GradeTests(Result):
    """Tests of all rating grades, in the order of the grades.

    ``result["B"]`` is the `GradeTest` of one grade.

    Parameters
    ----------
    grades : tuple of GradeTest
        One test per grade.
    method : {"binomial", "jeffreys"}
        The test.
    alternative : {"greater", "less", "two-sided"}
        Alternative hypothesis.
    correction : {"holm", "benjamini_hochberg", "none"}
        Adjustment for multiplicity.
    alpha : float
        Significance level.
    """

    grades: tuple[GradeTest, ...]
    method: str
    alternative: str
    correction: str
    alpha: float

    @property
    def rejected(self) -> tuple[Any, ...]:
        """The grades whose adjusted p-value is at most `alpha`."""
        return tuple(test.grade for test in self.grades if test.adjusted <= self.alpha)

    def __len__(self) -> int:
        return len(self.grades)

    def __getitem__(self, grade: Any) -> GradeTest:
        for test in self.grades:
            if test.grade == grade:
                return test
        raise ArgumentError("grade", f"unknown grade {grade!r}", f"choose one of {[t.grade for t in self.grades]}")

    def _columns(self) -> dict[str, list[Any]]:
        rows = [vars(test) for test in self.grades]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return HEADINGS, [
            [
                str(t.grade),
                str(t.rows),
                str(t.events),
                number(t.score),
                pvalue_text(t.pvalue),
                pvalue_text(t.adjusted),
                t.light,
            ]
            for t in self.grades
        ]


@documents_keywords()
def grade_tests(
    predictions: Predictions,
    *,
    method: Literal["binomial", "jeffreys"] = "binomial",
    alternative: Side = "greater",
    correction: Literal["holm", "benjamini_hochberg", "none"] = "holm",
    rates: Mapping[Any, float] | None = None,
    alpha: float = 0.05,
) -> GradeTests:
    r"""Test the calibration of each rating grade.

    The null hypothesis for a grade is that its event rate equals its predicted probability: the mean score of its rows, or a fixed rate.
    Use it to validate PD models by rating grade.

    Parameters
    ----------
    predictions : Predictions
        Labels and scores, with the grade of each row as ``groups``.
    method : {"binomial", "jeffreys"}, default "binomial"
        Exact binomial test, or the posterior tail probability of the rate under Jeffreys' prior.
    alternative : {"greater", "less", "two-sided"}, default "greater"
        ``"greater"`` tests for underestimated risk, ``"less"`` for overestimated risk; ``"two-sided"`` doubles the smaller tail.
    correction : {"holm", "benjamini_hochberg", "none"}, default "holm"
        Adjustment for the number of grades with rows.
    rates : mapping, optional
        Fixed probability of each grade, by name, in place of the mean score.
    alpha

    Returns
    -------
    GradeTests
        Result with the attributes ``grades`` (one `GradeTest` per grade) and ``rejected``; ``result["B"]`` is the test of one grade.

    Raises
    ------
    ArgumentError
        If an argument is out of range.
    GroupError
        If there are no groups.
    WeightsNotSupportedError
        If rows have importance weights; counts are supported.

    See Also
    --------
    pluto_tasche : Upper bounds of default rates of low-default portfolios.
    hosmer_lemeshow_multinomial : One test over groups by risk.

    Notes
    -----
    For a grade with n rows, k events and probability p, the binomial p-value for ``"greater"`` is :math:`P(\mathrm{Bin}(n, p) \ge k)`, and
    Jeffreys' is :math:`P(\mathrm{Beta}(k + 1/2, n - k + 1/2) \le p)`. Outcomes are assumed independent; defaults that are positively correlated
    make both tests reject too often.

    References
    ----------
    .. [1] European Central Bank (2019). Instructions for reporting the validation results of internal models.
    .. [2] Tasche, D. (2008). Validation of internal rating systems and PD estimates. The Analytics of Risk Model Validation.

    Examples
    --------
    >>> import calibrant as cal
    >>> tests = cal.inference.grade_tests(cal.Predictions([0] * 195 + [1] * 5, [0.01] * 200, groups=["B"] * 200))
    >>> round(tests["B"].pvalue, 4)
    0.0517
    """
    check_fraction(alpha, "alpha", 0.05)
    check_choice(method, "method", ("binomial", "jeffreys"))
    check_choice(alternative, "alternative", ANY_SIDE)
    check_choice(correction, "correction", ("holm", "benjamini_hochberg", "none"))
    p = as_predictions(predictions)
    if p.groups is None:
        raise GroupError("groups", "are missing: they are the grade of each row", "pass Predictions(..., groups=...)")
    view, place, names = view_to_test("grade_tests", p, "auto"), p.groups.astype(np.intp), list(p.group_names)
    sums = [np.bincount(place, w, len(names)) for w in (view.weights, view.weights * view.outcome)]
    rows, events = (np.asarray(values, dtype=np.float64) for values in sums)
    mean = np.bincount(place, view.weights * view.score, len(names)) / np.maximum(rows, 1)
    score = np.clip(mean, 0, 1) if rates is None else _fixed(rates, names)
    pvalue = np.full(len(names), math.nan)
    full = rows > 0
    pvalue[full] = _pvalues(rows[full], events[full], score[full], method, alternative)
    adjusted = pvalue.copy()
    adjusted[full] = adjust(pvalue[full], correction)
    tests = tuple(
        GradeTest(name, int(n), int(k), float(p) if n or rates else math.nan, float(v), float(a), _light(v))
        for name, n, k, p, v, a in zip(names, rows, events, score, pvalue, adjusted, strict=True)
    )
    return GradeTests(tests, method, alternative, correction, alpha)


def _fixed(rates: Mapping[Any, float], names: list[Any]) -> Floats:
    missing = [name for name in names if name not in rates]
    if missing:
        raise ArgumentError("rates", f"has no rate for grade {missing[0]!r}", "give one for each grade")
    values = [rates[name] for name in names]
    for value in values:
        if not (is_number(value) and 0 <= value <= 1):
            raise ArgumentError("rates", f"must be probabilities; got {value!r}")
    return np.array(values, dtype=np.float64)


def _pvalues(rows: Floats, events: Floats, score: Floats, method: str, alternative: str) -> Floats:
    """Tails of the binomial distribution, or of the posterior distribution of the rate, at the score."""
    from scipy.special import betainc, betaincc

    others = rows - events
    if method == "jeffreys":
        above, below = (tail(events + 0.5, others + 0.5, score) for tail in (betainc, betaincc))
    else:
        # P(at least k of n) is the probability that the k-th smallest of n uniform variables is below the score.
        above = np.where(events == 0, 1.0, betainc(np.maximum(events, 1), others + 1, score))
        below = np.where(others == 0, 1.0, betaincc(events + 1, np.maximum(others, 1), score))
    if alternative == "two-sided":
        return np.minimum(1.0, 2 * np.minimum(above, below))
    return np.asarray(above if alternative == "greater" else below)


def _light(pvalue: float) -> str:
    if math.isnan(pvalue):
        return ""
    return "red" if pvalue <= RED else "amber" if pvalue <= AMBER else "green"


@documents_keywords()
def hosmer_lemeshow_multinomial(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int = 10,
    fitted_here: bool = False,
    alpha: float = 0.05,
    method: Literal["auto", "chi_square", "consistency"] = "auto",
    n_resamples: int = 999,
    rng: Any = 0,
) -> SignificanceResult:
    r"""Test the calibration of all classes by the multinomial Hosmer-Lemeshow test.

    The null hypothesis is that the labels are drawn from the predicted distributions. Rows are grouped by one minus the probability of the
    first class, the reference; in each group observed and expected counts of all classes are compared.

    Parameters
    ----------
    y_true
    y_prob
    bins : int, default 10
        Number of groups of equal weight.
    fitted_here : bool, default False
        Whether the model was fitted to these rows; the degrees of freedom are then those of two groups fewer.
    alpha
    method : {"auto", "chi_square", "consistency"}, default "auto"
        ``"chi_square"`` is the asymptotic null distribution, which requires expected counts of 5 in most cells; ``"consistency"`` compares
        the statistic with those of simulated labels. ``"auto"`` simulates if expected counts are small or the sum of p(1 - p) is
        below 30, unless `fitted_here`.
    n_resamples : int, default 999
        Number of simulated data sets.
    rng

    Returns
    -------
    SignificanceResult
        Result with the attributes ``statistic``, ``pvalue``, ``critical_value``, ``verdict`` and ``detail`` (degrees of freedom, groups).

    Raises
    ------
    InputTypeError
        If the predictions are not hard labels with one distribution per row.
    UndefinedMetricError
        If no degrees of freedom remain.
    WeightsNotSupportedError
        If rows have importance weights; counts are supported.

    See Also
    --------
    assess : ``metric="hosmer_lemeshow"`` is the test for two classes.

    Notes
    -----
    With observed and expected counts :math:`O_{gk}, E_{gk}` of class k in group g,

    .. math:: C = \sum_{g=1}^{G} \sum_{k=1}^{K} \frac{(O_{gk} - E_{gk})^2}{E_{gk}}

    is compared with a chi-square distribution with G (K - 1) degrees of freedom, and (G - 2)(K - 1) with ``fitted_here=True``. The
    chi-square test is conservative for external data, because probabilities of the other classes vary within groups; simulated labels
    maintain the level.

    References
    ----------
    .. [1] Fagerland, M. W., Hosmer, D. W. and Bofin, A. M. (2008). Multinomial goodness-of-fit tests for logistic regression models.
       Statistics in Medicine 27.

    Examples
    --------
    >>> import calibrant as cal
    >>> probs = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5], [0.4, 0.35, 0.25]]
    >>> round(cal.inference.hosmer_lemeshow_multinomial([0, 1, 1, 0], probs, bins=2).statistic, 4)
    4.0808
    """
    from scipy.special import chdtrc, chdtri

    check_fraction(alpha, "alpha", 0.05)
    source = resolve(y_true, y_prob)
    if not isinstance(source, Predictions) or source.kind not in ("binary", "multiclass") or source.labels is None:
        raise InputTypeError("y_true", "one hard label and one distribution are required for each row")
    view: Any = views_of(source, "canonical")[0]
    refuse_importance(view, "hosmer_lemeshow_multinomial", "drop them, or use assess(metric='skce_uq')")
    check_choice(method, "method", ("auto", "chi_square", "consistency"))
    check_whole(n_resamples, "n_resamples")
    table = _Table(view, bins)
    statistic = table.statistic(table.observed)
    # A class with probability 0 or 1 throughout a group contributes no degree of freedom.
    varying = int((table.varies.sum(axis=1) - 1).clip(0).sum())
    df = varying - (2 * (source.k - 1) if fitted_here else 0)
    few = "" if math.isinf(statistic) else few_events(view) or too_few(table.expected)
    if fitted_here and method == "consistency":
        raise ArgumentError("method", "'consistency' does not apply to fitted models", "use 'chi_square'")
    if not math.isinf(statistic) and df <= 0 and (method == "chi_square" or fitted_here):
        raise UndefinedMetricError("hosmer_lemeshow_multinomial", "leaves no degree of freedom for a test")
    pvalue = 0.0 if math.isinf(statistic) else float(chdtrc(max(df, 1), statistic))
    facts = {
        "critical_value": float(chdtri(df, alpha)) if df > 0 else None,
        "alpha": alpha,
        "method": "chi_square",
        "null_distribution": f"chi-square with {degrees_of_freedom(df)}",
        "detail": {"chi_square": statistic, "df": float(df), "groups": float(len(table.expected))},
    }
    result = result_of_view(view, "hosmer_lemeshow_multinomial", statistic, pvalue, **facts)

    def simulate() -> Floats:
        seed, drawn = seed_of(rng), table.simulation()
        null = np.array(many(lambda number: table.statistic(drawn(generator(seed, number))), n_resamples))
        return np.asarray(chdtrc(max(df, 1), null))

    return simulated_where_inaccurate(result, "chi_square" if fitted_here else method, few, simulate)


class _Table:
    """Expected and observed class counts in groups of equal weight by one minus the probability of the first class."""

    def __init__(self, view: VectorView, bins: Any) -> None:
        block = view.block(0, view.n)
        cell, count = bin_of_each(view, np.clip(1 - block.probs[:, 0], 0, 1), EqualMass(check_bins(bins)))
        full = np.bincount(cell, minlength=count) > 0
        self.cell, self.count = (np.cumsum(full) - 1)[cell], int(full.sum())
        self.probs, self.weights = block.probs, view.weights
        self.expected = self._sums(block.probs)
        self.observed = self._sums(block.targets)
        # Sums of p and of 1 - p, because the difference of two large sums is not exactly 0 after rounding.
        self.varies = (self.expected > 0) & (self._sums(1 - block.probs) > 0)

    def _sums(self, columns: Floats) -> Floats:
        return np.array([np.bincount(self.cell, self.weights * column, self.count) for column in columns.T]).T

    def simulation(self) -> Callable[[np.random.Generator], Floats]:
        """A function that simulates labels and returns the class counts; a row with a count simulates that many labels."""
        rows = np.repeat(np.arange(len(self.cell)), self.weights.astype(np.int64))
        probs = self.probs[rows]
        k = probs.shape[1]
        paths = np.ascontiguousarray(cumulative(probs).T)
        # Rounding at the upper end must not select a class of probability 0.
        last = k - 1 - (probs[:, ::-1] > 0).argmax(axis=1)
        first = self.cell[rows] * k

        def drawn(rng: np.random.Generator) -> Floats:
            place = first + np.minimum(draw_classes(probs, rng, paths), last)
            return np.bincount(place, minlength=self.count * k).reshape(self.count, k).astype(float)

        return drawn

    def statistic(self, observed: Floats) -> float:
        """Sum of squared differences of observed and expected counts over the expected ones."""
        with np.errstate(over="ignore"):
            never = np.where(observed > 0, np.inf, 0.0)  # an outcome of probability 0 occurred
            away = np.square(observed - self.expected)
            terms = np.divide(away, self.expected, out=never, where=self.expected > 0)
        return float(terms.sum())
