"""What a comparison of two samples of scores gives: one distance with its p-value, or several with theirs corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentError
from ..util.results import frame_of, html_lines, html_table, number, pvalue_text, text_table

__all__ = ["DriftReport", "DriftResult"]

NAMES = {
    "psi": "population stability index",
    "ks_2samp": "Kolmogorov-Smirnov distance",
    "wasserstein": "Wasserstein distance",
    "jensen_shannon": "Jensen-Shannon divergence (bits)",
    "energy_distance": "energy distance",
    "mean_shift": "difference of means",
}
HEADINGS = ["statistic", "value", "p-value", "adjusted", "threshold", "size of the change"]


@dataclass(frozen=True)
class DriftResult:
    """How far the scores of a window lie from those of a reference, and whether chance does that too."""

    statistic: str
    value: float
    pvalue: float
    threshold: float
    """Values from here on have a p-value of at most `alpha`, for samples of these sizes."""
    alpha: float
    method: str
    """How the p-value was found."""
    n_reference: float
    n_window: float
    effect: str
    """How big the change is, in words: no test."""
    details: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def rejected(self) -> bool:
        """Whether chance alone gives so large a value with probability at most `alpha`."""
        return self.pvalue <= self.alpha

    @property
    def verdict(self) -> str:
        """One sentence; it speaks of scores, never of calibration."""
        chance = f"p = {self.pvalue:.3g}" if self.pvalue >= 0.001 else "p < 0.001"
        sizes = f"{self.n_window:,.6g} against {self.n_reference:,.6g} rows"
        if self.rejected:
            return f"The scores have changed ({chance}; {sizes}): {self.effect}. That is a reason to look, not proof of miscalibration."
        return f"No change of the scores was found ({chance}; {sizes}). Calibration may have changed all the same."

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = ("statistic", "value", "pvalue", "threshold", "alpha", "method", "n_reference", "n_window", "effect")
        return {**{name: getattr(self, name) for name in names}, "rejected": self.rejected, **self.details}

    def to_frame(self) -> Any:
        """One row, as a frame of the library at hand."""
        return frame_of({key: [value] for key, value in self.to_dict().items()})

    def __repr__(self) -> str:
        found = (
            f"{NAMES[self.statistic]} {number(self.value)}, threshold {number(self.threshold)} at level {self.alpha:g}"
        )
        return f"{self.verdict}\n  {found}\n  p-value {pvalue_text(self.pvalue)} by {self.method}"

    def _repr_html_(self) -> str:
        row = [
            NAMES[self.statistic],
            number(self.value),
            pvalue_text(self.pvalue),
            "-",
            number(self.threshold),
            self.effect,
        ]
        return html_lines(repr(self)) + html_table(HEADINGS, [row])


@dataclass(frozen=True)
class DriftReport:
    """Several distances between the same two samples, with p-values corrected for looking at them all."""

    results: tuple[DriftResult, ...]
    adjusted: tuple[float, ...]
    alpha: float

    @property
    def rejected(self) -> bool:
        """Whether any corrected p-value is at most `alpha`: chance does that with probability at most `alpha`."""
        return min(self.adjusted) <= self.alpha

    def __getitem__(self, statistic: str) -> DriftResult:
        for result in self.results:
            if result.statistic == statistic:
                return result
        raise ArgumentError("statistic", f"{statistic!r} is not here", f"one of {[r.statistic for r in self.results]}")

    def to_dict(self) -> dict[str, list[Any]]:
        """One list for each column."""
        columns = {name: [getattr(r, name) for r in self.results] for name in ("statistic", "value", "pvalue")}
        rest = {name: [getattr(r, name) for r in self.results] for name in ("threshold", "effect", "method")}
        return {**columns, "adjusted": list(self.adjusted), **rest}

    def to_frame(self) -> Any:
        """One row for each statistic, as a frame of the library at hand."""
        return frame_of(self.to_dict())

    def _cells(self) -> list[list[str]]:
        pairs = zip(self.results, self.adjusted, strict=True)
        return [
            [NAMES[r.statistic], number(r.value), pvalue_text(r.pvalue), pvalue_text(p), number(r.threshold), r.effect]
            for r, p in pairs
        ]

    def _title(self) -> str:
        first = self.results[0]
        return f"Scores of {first.n_window:,.6g} rows against {first.n_reference:,.6g}"

    def __repr__(self) -> str:
        return "\n".join([self._title(), *text_table(HEADINGS, self._cells())])

    def _repr_html_(self) -> str:
        return html_table(HEADINGS, self._cells(), self._title())
