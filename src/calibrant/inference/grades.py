"""Tests of groups of rows: rating grades one by one, and groups by risk for several classes at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.partition import bin_of_each
from ..errors import Argument, ArgumentError, InputTypeError, InPython, UndefinedMetricError, Use
from ..input.convert import is_number
from ..input.predictions import Predictions
from ..util.checks import check_whole
from ..util.results import Result, number, pvalue_text
from ..views.keywords import checks_keywords
from ..views.resolve import views_of
from ..views.view import VectorView, View
from .asymptotic import too_few
from .belt import check_method, simulated, view_to_test
from .fitted import refuse_importance
from .metric_tests import few_events
from .resampling import generator, many, seed_of
from .significance import _check_alpha, adjust, read_source, refuse_rows_by_label
from .verdicts import SignificanceResult

__all__ = ["GradeTest", "GradeTests", "grade_tests", "hosmer_lemeshow_multinomial"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Side = Literal["greater", "less", "two-sided"]

HEADINGS = ["grade", "rows", "events", "score", "p-value", "adjusted", "light"]


@dataclass(frozen=True)
class GradeTest:
    """One grade: whether its events are more than its score allows. A grade without rows has NaN for what it does not know."""

    grade: Any
    rows: int
    events: int
    score: float
    """The probability under test: the mean score of the grade's rows, or the one fixed for the grade."""
    pvalue: float
    adjusted: float
    """The p-value corrected for the number of grades that hold rows."""
    light: str
    """``"green"``, ``"amber"`` or ``"red"`` by the p-value as it is; empty for a grade without rows."""


@dataclass(frozen=True, repr=False)
class GradeTests(Result):
    """The tests of all grades, in the order of the grades."""

    grades: tuple[GradeTest, ...]
    method: str
    alternative: str
    correction: str
    alpha: float

    @property
    def rejected(self) -> tuple[Any, ...]:
        """The grades whose corrected p-value is at most `alpha`."""
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


@checks_keywords()
def grade_tests(
    y_true: Any,
    y_prob: Any = None,
    *,
    grades: Any = None,
    edges: Any = None,
    method: Literal["binomial", "jeffreys"] = "binomial",
    alternative: Side = "greater",
    correction: Literal["holm", "benjamini_hochberg", "none"] = "holm",
    rates: Mapping[Any, float] | None = None,
    lights: tuple[float, float] = (0.05, 0.01),
    alpha: float = 0.05,
    lens: Any = "auto",
    where: Any = None,
    **keywords: Any,
) -> GradeTests:
    """Test each rating grade: do events occur more often than its scores say?

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions (whose groups are then the grades); keywords of `Predictions` are taken too.
    grades
        The grade of each row. Left out, the grades are the groups given, or bands of the score between `edges`.
    edges
        Rising edges of bands ``[low, high)``, the last one closed; a grade is then named by its two edges.
    method
        ``"binomial"`` is the exact test; ``"jeffreys"`` the posterior probability that the true rate is below the score,
        under the prior Beta(1/2, 1/2).
    alternative
        ``"greater"`` looks for scores that are too low, ``"less"`` for too high ones; ``"two-sided"`` doubles the smaller tail.
    correction
        ``"holm"``, ``"benjamini_hochberg"`` or ``"none"``, for the number of grades that hold rows.
    rates
        A fixed probability for each grade by name, in place of the mean score of its rows.
    lights
        At or below which p-values a grade is amber, and red.
    alpha
        Level of `rejected`.
    lens, where
        Which question is asked of the predictions, and which rows.

    Examples
    --------
    >>> from calibrant.inference.grades import grade_tests
    >>> found = grade_tests([0] * 195 + [1] * 5, [0.01] * 200, grades=["B"] * 200)
    >>> round(found["B"].pvalue, 4)
    0.0517
    """
    _check_alpha(alpha)
    _check_words(method, alternative, correction, lights)
    if grades is not None:
        if edges is not None or "groups" in keywords:
            raise ArgumentError(
                "grades",
                ("cannot be combined with ", Argument("edges"), " or ", Argument("groups")),
                "give one of them",
            )
        keywords["groups"] = grades
    if isinstance(y_true, Predictions) and grades is not None:
        raise InputTypeError(
            "grades", "cannot be combined with Predictions", InPython("pass Predictions(..., groups=...)")
        )
    view = view_to_test("grade_tests", y_true, y_prob, lens, where, keywords)
    place, names = _bands(view, edges) if edges is not None else _given(view)
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
        GradeTest(name, int(n), int(k), float(p) if n or rates else math.nan, float(v), float(a), _light(v, lights))
        for name, n, k, p, v, a in zip(names, rows, events, score, pvalue, adjusted, strict=True)
    )
    return GradeTests(tests, method, alternative, correction, alpha)


def _check_words(method: Any, alternative: Any, correction: Any, lights: Any) -> None:
    known = {
        "method": (method, ("binomial", "jeffreys")),
        "alternative": (alternative, ("greater", "less", "two-sided")),
        "correction": (correction, ("holm", "benjamini_hochberg", "none")),
    }
    for name, (value, words) in known.items():
        if value not in words:
            raise ArgumentError(name, f"must be one of {', '.join(map(repr, words))}; got {value!r}")
    if not (len(lights) == 2 and all(is_number(level) for level in lights) and 0 <= lights[1] <= lights[0] <= 1):
        raise ArgumentError("lights", f"must be two decreasing levels; got {lights!r}", "for example (0.05, 0.01)")


def _bands(view: View, edges: Any) -> tuple[Places, list[Any]]:
    try:
        cuts = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        cuts = np.empty(0)
    if cuts.ndim != 1 or len(cuts) < 2 or not (np.diff(cuts) > 0).all():
        raise ArgumentError("edges", f"must be increasing numbers; got {edges!r}", "for example [0, 0.01, 0.05, 1]")
    if view.score.min() < cuts[0] or view.score.max() > cuts[-1]:
        raise ArgumentError("edges", "some scores lie outside all grades", "start at 0 and end at 1")
    place = np.minimum(np.searchsorted(cuts, view.score, side="right") - 1, len(cuts) - 2)
    return place, [(float(low), float(high)) for low, high in pairwise(cuts)]


def _given(view: View) -> tuple[Places, list[Any]]:
    if view.rows is None or view.rows.groups is None:
        raise InputTypeError("grades", "is missing", ("pass the grade of each row", Use("edges")))
    names = view.rows._predictions.group_names
    return view.rows.groups.astype(np.intp), list(names)


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
    """Tails of the binomial distribution, or of the posterior of the rate, at the score."""
    from scipy.special import betainc, betaincc

    others = rows - events
    if method == "jeffreys":
        above, below = (tail(events + 0.5, others + 0.5, score) for tail in (betainc, betaincc))
    else:
        # P(at least k of n) is the chance that the k-th smallest of n uniform numbers is below the score.
        above = np.where(events == 0, 1.0, betainc(np.maximum(events, 1), others + 1, score))
        below = np.where(others == 0, 1.0, betaincc(events + 1, np.maximum(others, 1), score))
    if alternative == "two-sided":
        return np.minimum(1.0, 2 * np.minimum(above, below))
    return np.asarray(above if alternative == "greater" else below)


def _light(pvalue: float, lights: tuple[float, float]) -> str:
    if math.isnan(pvalue):
        return ""
    return "red" if pvalue <= lights[1] else "amber" if pvalue <= lights[0] else "green"


@checks_keywords()
def hosmer_lemeshow_multinomial(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int = 10,
    reference: Any = 0,
    fitted_here: bool = False,
    alpha: float = 0.05,
    method: Literal["auto", "chi_square", "consistency"] = "auto",
    n_resamples: int = 999,
    rng: Any = None,
    where: Any = None,
    **keywords: Any,
) -> SignificanceResult:
    """Hosmer and Lemeshow's test for several classes (Fagerland, Hosmer and Bofin 2008).

    Rows are grouped by how unlikely the reference class is; in each group the labels of all classes are compared with the
    sums of their probabilities. The null distribution is chi-square with one degree of freedom for each group and class but one. It
    rejects too rarely, for inside a group the probabilities of the other classes differ; simulated labels keep the level.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions; keywords of `Predictions` are taken too.
    bins
        Number of groups of equal weight.
    reference
        The class that orders the rows, by name or number.
    fitted_here
        Whether the probabilities were fitted to these very rows: two groups then count as used up.
    alpha
        Level at which `critical_value` and `verdict` are given.
    method
        ``"chi_square"``, which needs five expected labels in most groups; ``"consistency"`` compares the statistic with those of simulated
        labels. ``"auto"`` simulates where expected labels are few or the sum of p(1 - p) is below 30, unless `fitted_here`.
    n_resamples, rng
        How many times labels are simulated, and from which seed or Generator.
    where
        Which rows.

    Examples
    --------
    >>> from calibrant.inference.grades import hosmer_lemeshow_multinomial
    >>> probs = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5], [0.4, 0.35, 0.25]]
    >>> round(hosmer_lemeshow_multinomial([0, 1, 1, 0], probs, bins=2).statistic, 4)
    4.0808
    """
    from scipy.special import chdtrc, chdtri

    _check_alpha(alpha)
    refuse_rows_by_label(where)
    source, _ = read_source(y_true, y_prob, where, keywords)
    if not isinstance(source, Predictions) or source.kind not in ("binary", "multiclass") or source.labels is None:
        raise InputTypeError("y_true", "one hard label and one distribution are required for each row")
    chosen = source.class_index(reference, "reference")
    view: Any = views_of(source, "canonical")[0]
    refuse_importance(view, "hosmer_lemeshow_multinomial", "drop them, or use assess(metric='skce_uq')")
    check_method(method, ("auto", "chi_square", "consistency"))
    check_whole(n_resamples, "n_resamples")
    table = _Table(view, chosen, bins)
    statistic = table.statistic(table.observed)
    # A class that no row of a group can have, or that all have, leaves nothing to compare.
    varying = int((table.varies.sum(axis=1) - 1).clip(0).sum())
    df = varying - (2 * (source.k - 1) if fitted_here else 0)
    few = "" if math.isinf(statistic) else few_events(view) or too_few(table.expected)
    groups = len(table.expected)
    if fitted_here and method == "consistency":
        raise ArgumentError("method", "'consistency' does not apply to fitted models", "use 'chi_square'")
    if not math.isinf(statistic) and df <= 0 and (method == "chi_square" or fitted_here):
        raise UndefinedMetricError("hosmer_lemeshow_multinomial", "leaves no degree of freedom for a test")
    pvalue = 0.0 if math.isinf(statistic) else float(chdtrc(max(df, 1), statistic))
    result = SignificanceResult(
        metric="hosmer_lemeshow_multinomial",
        statistic=statistic,
        pvalue=pvalue,
        critical_value=float(chdtri(df, alpha)) if df > 0 else None,
        lower_critical_value=None,
        alpha=alpha,
        alternative="greater",
        hypothesis="the labels are drawn from the probabilities given",
        method="chi_square",
        null_distribution=f"chi-square with {df} degrees of freedom",
        n=int(view.total),
        lens="canonical",
        detail={"chi_square": statistic, "df": float(df), "groups": float(groups)},
    )
    if method == "chi_square" or fitted_here or not (few or method == "consistency"):
        return (
            replace(result, null_distribution=f"{result.null_distribution}, which is rough: {few}") if few else result
        )
    seed = seed_of(rng)
    null = np.array(many(lambda number: table.statistic(table.drawn(generator(seed, number))), n_resamples))
    return simulated(result, np.asarray(chdtrc(max(df, 1), null)), few if method == "auto" else "")


class _Table:
    """Labels of each class, expected and observed, in groups of equal weight by how unlikely the reference class is."""

    def __init__(self, view: VectorView, reference: int, bins: Any) -> None:
        block = view.block(0, view.n)
        cell, count = bin_of_each(view, np.clip(1 - block.probs[:, reference], 0, 1), "equal_mass", bins)
        full = np.bincount(cell, minlength=count) > 0
        self.cell, self.count = (np.cumsum(full) - 1)[cell], int(full.sum())
        self.probs, self.weights = block.probs, view.weights
        self.expected = self._sums(block.probs)
        self.observed = self._sums(block.targets)
        # Sums of p and of 1 - p, for the difference of two large sums would miss 0 by rounding.
        self.varies = (self.expected > 0) & (self._sums(1 - block.probs) > 0)

    def _sums(self, columns: Floats) -> Floats:
        return np.array([np.bincount(self.cell, self.weights * column, self.count) for column in columns.T]).T

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Labels drawn from the probabilities; a row with a count draws so many."""
        rows = np.repeat(np.arange(len(self.cell)), self.weights.astype(np.int64))
        k = self.probs.shape[1]
        path = np.cumsum(self.probs, axis=1)
        labels = (path[rows] <= rng.random(len(rows))[:, None] * path[rows, -1:]).sum(axis=1)
        # A draw at the very end belongs to the last class that can occur.
        labels = np.minimum(labels, k - 1 - (self.probs[rows, ::-1] > 0).argmax(axis=1))
        return np.bincount(self.cell[rows] * k + labels, minlength=self.count * k).reshape(self.count, k).astype(float)

    def statistic(self, observed: Floats) -> float:
        """Squared differences of observed and expected labels over what is expected."""
        with np.errstate(over="ignore"):
            never = np.where(observed > 0, np.inf, 0.0)  # an outcome of probability 0 occurred
            away = np.square(observed - self.expected)
            terms = np.divide(away, self.expected, out=never, where=self.expected > 0)
        return float(terms.sum())
