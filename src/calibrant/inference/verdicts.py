"""What assess returns: a p-value with all that is needed to read it, and several of them corrected for their number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError
from ..metrics.registry import catalogue
from ..util.results import Record, Result, number, plain_value, pvalue_text
from .resampling import not_used

__all__ = ["SignificanceResult", "SignificanceTable"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class SignificanceResult(Record):
    """Whether a metric's value could be chance: `pvalue` is how often chance alone gives such a value if the scores are right."""

    _hidden = ("null", "detail", "unused")

    metric: str
    statistic: float
    pvalue: float
    critical_value: float | None
    """The value beyond which (below which, where `alternative` is less) the p-value is at most `alpha`: smaller deviations these rows
    cannot show. None where it is unknown."""
    lower_critical_value: float | None
    """Where both sides speak against the hypothesis, the value below which the p-value is at most `alpha` as well."""
    alpha: float
    alternative: str
    hypothesis: str
    method: str
    null_distribution: str
    n: int
    lens: str
    n_resamples: int = 0
    null: Floats | None = field(default=None, repr=False, compare=False)
    """The values that chance gave, where they were drawn."""
    detail: Mapping[str, float] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    """Arguments that were given and made no difference, for nothing was simulated."""

    @property
    def rejected(self) -> bool:
        """Whether the hypothesis is rejected at `alpha`."""
        return self.pvalue <= self.alpha

    @property
    def verdict(self) -> str:
        """One sentence; it never claims that predictions are calibrated."""
        chance = f"p = {self.pvalue:.3g}" if self.pvalue >= 0.001 else "p < 0.001"
        if self.rejected:
            return f"{self.metric} = {number(self.statistic)} is unlikely to be chance ({chance}): the hypothesis that {self.hypothesis} is rejected."
        reach = ""
        if 0 < self.n_resamples < round(1 / self.alpha, 9) - 1:
            least = math.ceil(round(1 / self.alpha, 9)) - 1
            return (
                f"{self.metric} = {number(self.statistic)} cannot be significant at {self.alpha:g}: {self.n_resamples} resamples give no "
                f"p-value below {1 / (1 + self.n_resamples):.3g}, and it takes at least {least}."
            )
        if self.pvalue >= 1 and math.isinf(self.statistic):
            return f"{self.metric} = {number(self.statistic)} is not significant (p = 1): calibrated labels always give this value."
        if sides := [f"{side} {number(value)}" for side, value in self._sides() if math.isfinite(value)]:
            reach = f" {self.n:,} rows would have shown a value {' or '.join(sides)}."
        return f"{self.metric} = {number(self.statistic)} could be chance ({chance}); no deviation was found.{reach}"

    def _sides(self) -> list[tuple[str, float]]:
        """The limits that are known, each with the side of it on which a value is significant."""
        sides = (
            ("below", self.lower_critical_value),
            ("below" if self.alternative == "less" else "beyond", self.critical_value),
        )
        return [(side, value) for side, value in sides if value is not None]

    def _limits(self) -> str:
        """The limits as text; the side is named where there are two."""
        sides = self._sides()
        return " or ".join(number(value) if len(sides) == 1 else f"{side} {number(value)}" for side, value in sides)

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "verdict": self.verdict}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON knows them; the simulated sample is left out."""
        return {**super().to_dict(), "detail": plain_value(self.detail), "unused": list(self.unused)}

    def _cells(self) -> list[str]:
        return [self.metric, number(self.statistic), pvalue_text(self.pvalue), self._limits(), self.method, self.lens]

    def _title(self) -> str:
        lines = [
            self.verdict,
            f"  statistic {number(self.statistic)}, p-value {pvalue_text(self.pvalue)}, alternative {self.alternative}",
            f"  critical value at {self.alpha:g}: {self._limits() or 'unknown'}",
            f"  method {self.method}: {self.null_distribution}",
        ]
        return "\n".join(lines)

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        return HEADINGS, [self._cells()]

    def _notes(self) -> list[str]:
        note = not_used(self.unused, f"the test by {self.method!r} does not simulate with them")
        return [f"  note: {note}"] if note else []


HEADINGS = ["metric", "value", "p-value", "critical value", "method", "lens"]


@dataclass(frozen=True, repr=False)
class SignificanceTable(Result):
    """Several metrics assessed on the same draws; `adjusted` are p-values corrected for their number."""

    results: tuple[SignificanceResult, ...]
    adjusted: tuple[float, ...]
    correction: str
    alpha: float

    def __getitem__(self, metric: str) -> SignificanceResult:
        wanted = catalogue[metric].id
        for result in self.results:
            if result.metric == wanted:
                return result
        raise ArgumentError("metric", f"{wanted!r} was not tested")

    def __len__(self) -> int:
        return len(self.results)

    @property
    def rejected(self) -> tuple[str, ...]:
        """The metrics that reject, after correction."""
        both = zip(self.results, self.adjusted, strict=True)
        return tuple(result.metric for result, pvalue in both if pvalue <= self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        rows = [{**r.to_dict(), "adjusted": a} for r, a in zip(self.results, self.adjusted, strict=True)]
        return {"correction": self.correction, "alpha": self.alpha, "results": rows}

    def _columns(self) -> dict[str, list[Any]]:
        rows = [{**r._fields(), "adjusted": a} for r, a in zip(self.results, self.adjusted, strict=True)]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[*r._cells(), pvalue_text(a)] for r, a in zip(self.results, self.adjusted, strict=True)]
        return [*HEADINGS, self.correction], rows
