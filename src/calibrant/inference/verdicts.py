"""Results of `assess` and `assess_many`: p-values with what is needed to interpret them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ..errors import ArgumentError
from ..metrics.registry import catalogue
from ..util.arrays import Floats
from ..util.checks import least_simulations
from ..util.results import Record, Result, number, plain_value, pvalue_clause, pvalue_text, several


def degrees_of_freedom(df: float) -> str:
    """The number in words.

    >>> degrees_of_freedom(1), degrees_of_freedom(2.5)
    ('1 degree of freedom', '2.5 degrees of freedom')
    """
    return f"{df:g} degree{'' if df == 1 else 's'} of freedom"


@dataclass(frozen=True, repr=False)
class SignificanceResult(Record):
    """Result of a significance test of calibration.

    Parameters
    ----------
    metric : str
        Identifier of the metric or test.
    statistic : float
        Observed value of the test statistic.
    pvalue : float
        Probability, under the null hypothesis, of a statistic at least as extreme as the observed one.
    critical_value : float or None
        Value beyond which (below which, for ``alternative="less"``) the statistic is significant at `alpha`; None if unknown.
    lower_critical_value : float or None
        For two-sided tests, the value below which the statistic is significant at `alpha`.
    alpha : float
        Significance level.
    alternative : {"greater", "less", "two-sided"}
        Alternative hypothesis.
    null_hypothesis : str
        The null hypothesis as a sentence.
    method : str
        How the null distribution was obtained.
    null_distribution : str
        Description of the null distribution.
    n : int
        Number of rows; counts are added up.
    lens : str
        The event that was evaluated.
    n_resamples : int, default 0
        Number of simulated data sets; 0 for closed-form tests.
    null : ndarray, optional
        Values of the statistic for the simulated data sets.
    detail : mapping of str to float, optional
        Further quantities of the test, such as degrees of freedom. Where the test is one of another statistic than the metric, such as a
        likelihood ratio, these are that statistic (``chi_square`` with ``df``, or ``z``) and its ``critical_value``.
    by_chance : float, optional
        Expected value of the statistic under the null hypothesis: the mean of the simulated values, or that of the asymptotic null
        distribution; None if unknown.
    subgroup : str, optional
        For `mcm`, the subpopulation in which the deviation is largest.
    """

    _hidden: ClassVar[tuple[str, ...]] = ("null", "detail")

    metric: str
    statistic: float
    pvalue: float
    critical_value: float | None
    lower_critical_value: float | None
    alpha: float
    alternative: str
    null_hypothesis: str
    method: str
    null_distribution: str
    n: int
    lens: str
    n_resamples: int = 0
    null: Floats | None = field(default=None, repr=False, compare=False)
    detail: Mapping[str, float] = field(default_factory=dict)
    by_chance: float | None = None
    subgroup: str = ""

    @property
    def rejected(self) -> bool:
        """Whether the null hypothesis is rejected at `alpha`."""
        return self.pvalue <= self.alpha

    @property
    def least_pvalue(self) -> float:
        """The smallest p-value that so many resamples can have; 0 without resamples."""
        return 1 / (1 + self.n_resamples) if self.n_resamples else 0.0

    @property
    def verdict(self) -> str:
        """The conclusion in one or two sentences; it never states that predictions are calibrated."""
        chance = pvalue_clause(self.pvalue, self.least_pvalue)
        size = f"{100 * self.alpha:.4g}%"
        metric = catalogue.get(self.metric)
        name = self.metric if metric is None else f"{metric.name} ({self.metric})"
        value = f"{name} {number(self.statistic)}"
        if self.rejected:
            return f"{value}: statistically significant at {size} ({chance})."
        if 0 < self.n_resamples < (least := least_simulations(self.alpha)):
            return (
                f"{value}: cannot be significant at {size}, since with {self.n_resamples} resamples no p-value "
                f"falls below {1 / (1 + self.n_resamples):.3g}; use at least {least}."
            )
        always = self.null is None or bool((self.null == self.statistic).all())
        if self.pvalue >= 1 and math.isinf(self.statistic) and self.lens != "gaussian" and always:
            why = (
                "an outcome of density 0 was observed"
                if self.lens == "density"
                else "simulated labels always give this value"
            )
            return f"{value}: not significant (p = 1), since {why}."
        reach = ""
        if sides := [f"{side} {number(limit)}" for side, limit in self._sides() if math.isfinite(limit)]:
            reach = f" With {several(self.n, 'row')}, a value {' or '.join(sides)} would be significant."
        return f"{value}: not significant at {size} ({chance}).{reach}"

    def _sides(self) -> list[tuple[str, float]]:
        """The known critical values, each with the side on which a value is significant."""
        sides = (
            ("below", self.lower_critical_value),
            ("below" if self.alternative == "less" else "beyond", self.critical_value),
        )
        return [(side, value) for side, value in sides if value is not None]

    def _limits(self) -> str:
        """The critical values as text; the sides are named where there are two."""
        sides = self._sides()
        if not sides and (own := self._test_statistic()) and "critical_value" in self.detail:
            limit = number(self.detail["critical_value"])
            if own == "chi_square":
                return f"chi-square {limit}"
            return (
                f"|z| {limit}"
                if self.alternative == "two-sided"
                else f"z {'-' if self.alternative == 'less' else ''}{limit}"
            )
        return " or ".join(number(value) if len(sides) == 1 else f"{side} {number(value)}" for side, value in sides)

    def _test_statistic(self) -> str:
        """The name of the statistic that is tested in place of the metric; empty where it is the metric itself."""
        if self._sides():
            return ""
        return next((name for name in ("chi_square", "z") if name in self.detail), "")

    def _tested(self) -> str:
        own = self._test_statistic()
        if own == "chi_square":
            count = f" with {degrees_of_freedom(self.detail['df'])}" if "df" in self.detail else ""
            return f", chi-square {number(self.detail[own])}{count}"
        return f", z {number(self.detail[own])}" if own else ""

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "verdict": self.verdict}

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that JSON can represent, without the simulated values.

        Returns
        -------
        dict
            Fields by name, with ``verdict``.
        """
        return {**super().to_dict(), "detail": plain_value(self.detail)}

    def _cells(self) -> list[str]:
        return [
            self.metric,
            number(self.statistic),
            pvalue_text(self.pvalue, self.least_pvalue),
            self._limits(),
            self.method,
            self.lens,
        ]

    def _title(self) -> str:
        chance = "" if self.by_chance is None else f" (by chance {number(self.by_chance)})"
        lines = [
            self.verdict,
            f"  null hypothesis: {self.null_hypothesis}",
            f"  statistic {number(self.statistic)}{chance}{self._tested()}, p-value {pvalue_text(self.pvalue, self.least_pvalue)}, alternative {self.alternative}",
            f"  critical value at {self.alpha:g}: {self._limits() or 'unknown'}",
            f"  method: {self.method}; null distribution: {self.null_distribution}",
            *([f"  largest in: {self.subgroup}"] if self.subgroup else []),
        ]
        return "\n".join(lines)

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        return HEADINGS, [self._cells()]


HEADINGS = ["metric", "value", "p-value", "critical value", "method", "lens"]


@dataclass(frozen=True, repr=False)
class SignificanceTable(Result):
    """Results of several significance tests: of metrics on the same simulated data sets, and of models.

    Parameters
    ----------
    results : tuple of SignificanceResult
        One result per metric, model after model.
    adjusted : tuple of float
        P-values adjusted for multiplicity.
    correction : str
        Name of the correction.
    alpha : float
        Significance level.
    models : tuple of str
        Name of the model of each result; empty for a single model.
    """

    results: tuple[SignificanceResult, ...]
    adjusted: tuple[float, ...]
    correction: str
    alpha: float
    models: tuple[str, ...] = ()

    def __getitem__(self, metric: str | tuple[str, str]) -> SignificanceResult:
        *model, name = (metric,) if isinstance(metric, str) else metric
        wanted = catalogue[name].id
        for place, result in enumerate(self.results):
            if result.metric == wanted and model == list(self.models[place : place + 1]):
                return result
        problem = "is not a model and a metric that were tested" if self.models else "was not tested"
        raise ArgumentError("metric", f"{metric!r} {problem}")

    def __len__(self) -> int:
        return len(self.results)

    @property
    def rejected(self) -> tuple[Any, ...]:
        """Metrics that are significant at `alpha` after correction; pairs of model and metric for several models."""
        metrics = [result.metric for result in self.results]
        names = zip(self.models, metrics, strict=True) if self.models else metrics
        return tuple(name for name, pvalue in zip(names, self.adjusted, strict=True) if pvalue <= self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that JSON can represent.

        Returns
        -------
        dict
            The correction, the significance level and one entry per metric and model.
        """
        results = [result.to_dict() for result in self.results]
        return {"correction": self.correction, "alpha": self.alpha, "results": self._rows(results)}

    def _rows(self, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The fields of each result with its model, its adjusted p-value, and the verdict of that."""
        named = [{"model": model} for model in self.models] or [{} for _ in results]
        judged = [
            # Critical values are those of each test by itself.
            replace(result, pvalue=adjusted, critical_value=None, lower_critical_value=None)
            for result, adjusted in zip(self.results, self.adjusted, strict=True)
        ]
        each = zip(named, results, judged, strict=True)
        return [
            {**name, **fields, "verdict": result.verdict, "adjusted": result.pvalue} for name, fields, result in each
        ]

    def _columns(self) -> dict[str, list[Any]]:
        rows = self._rows([result._fields() for result in self.results])
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[*r._cells(), pvalue_text(a)] for r, a in zip(self.results, self.adjusted, strict=True)]
        if not self.models:
            return [*HEADINGS, self.correction], rows
        verdicts = ["significant" if pvalue <= self.alpha else "not significant" for pvalue in self.adjusted]
        rows = [[name, *row, verdict] for name, row, verdict in zip(self.models, rows, verdicts, strict=True)]
        return ["model", *HEADINGS, self.correction, f"at {self.alpha:g}"], rows
