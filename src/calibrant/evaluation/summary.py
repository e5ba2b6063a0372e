"""The text of the summary of `evaluate`: six lines on all rows, and one row per group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..util.results import pvalue_clause
from .evidence import LEVEL, TEST
from .result import ALPHA, WORST, Evaluation, MetricResult, Table, pvalue_cell, shown_number


@dataclass(frozen=True, repr=False)
class EvaluationSummary(Evaluation):
    """Evaluation whose text is a summary: calibration error, direction, slope, Brier score, discrimination, and a test.

    Parameters
    ----------
    header, results, groups, left_out, remarks, grouping, group, n_resamples : object
        As in `Evaluation`.
    level : float, default 0.95
        Confidence level of the intervals.
    """

    level: float = LEVEL

    def _title(self) -> str:
        lens = self._lens
        return f"{self.header.counts}\nevaluated on: {self._named_lens(lens)}" if lens else self.header.counts

    @property
    def _lens(self) -> str:
        """The lens of the calibration error, which that of the summary is."""
        return self.results[0].lens

    def _named_lens(self, lens: str) -> str:
        if lens == "binary":
            return f"P({self.header.outcome or 'positive class'})"
        return f"P({lens.removeprefix('class:')})" if lens.startswith("class:") else lens.replace("_", " ")

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the summary as a table of text: for each quantity its name, its value and what to know about it."""
        rows = {r.metric: [f"{r.name} ({r.metric})", shown_number(r.value), self._remark(r)] for r in self.results}
        tested = next(r for r in self.results if r.metric == TEST)
        name = f"{tested.name[0].lower()}{tested.name[1:]}, {tested.metric}"
        verdict = f"not tested ({name}): {(tested.note or tested.reason).removeprefix('no p-value: ')}"
        if tested.pvalue is not None:
            outcome = "rejected" if tested.pvalue <= ALPHA else "not rejected"
            evidence = pvalue_clause(tested.pvalue, tested.least_pvalue)
            verdict = f"calibration is {outcome} at {100 * ALPHA:g}%: {evidence} ({name})"
        test = ["Test of calibration", "", verdict]
        first, score = rows.pop("ece"), rows.pop("brier")
        slope = [rows.pop("cox_slope")] if "cox_slope" in rows else []
        del rows[TEST]
        lines = [first, *self._direction(), *slope, score, *self._discrimination(), *rows.values(), test]
        return ["measure", "value", ""], lines

    def _direction(self) -> list[list[str]]:
        """Over- or underestimates an event, over- or underconfident; the header knows no other lens."""
        texts = {"binary": self.header.event, "class": self.header.event, "top_label": self.header.direction}
        text = texts.get(self._lens.partition(":")[0])
        return [["Direction", "", text]] if text else []

    def _discrimination(self) -> list[list[str]]:
        header = self.header
        if header.auroc is not None:
            return [["Area under the ROC curve (AUROC)", f"{header.auroc:.4f}", ""]]
        if header.event_rate is not None or header.accuracy is None:
            return []
        others = ", ".join(f"top-{k} accuracy {value:.4f}" for k, value in header.top_k_accuracy.items())
        return [["Accuracy", f"{header.accuracy:.4f}", others]]

    def _remark(self, result: MetricResult) -> str:
        """Interval, value by chance, direction and lens of a result, or why it has no value."""
        if result.value is None:
            return result.reason.removeprefix(f"{result.metric}: is ")
        parts = []
        if result.low is not None:
            parts.append(f"{100 * self.level:g}% interval {shown_number(result.low)} to {shown_number(result.high)}")
        if result.by_chance is not None:
            parts.append(f"{shown_number(result.by_chance)} by chance")
        if result.pvalue is not None and result is not self.results[0]:
            parts.append(pvalue_clause(result.pvalue, result.least_pvalue))
        if result.direction:
            parts.append(result.direction)
        if result.lens == "canonical" and self.header.kind != "binary":
            parts.append("of all classes")
        elif result.lens not in (self._lens, "canonical"):
            parts.append(f"evaluated on: {self._named_lens(result.lens)}")
        return "; ".join(parts)

    def group_tables(self) -> list[Table]:
        """Return the groups as a table of text: one row per group, the worst first, at most ten."""
        if not self.groups:
            return []
        shown = [result.metric for result in self.results if result.metric != TEST]
        is_event = self.header.event_rate is not None
        means = ["predicted", "observed", "AUROC"] if is_event else ["confidence", "accuracy"]
        rows = []
        for key in sorted(self.groups, key=self._deviation, reverse=True)[:WORST]:
            header, values = self.groups[key].header, {r.metric: r for r in self.groups[key].results}
            if is_event:
                described = [header.event_mean_score, header.event_rate, header.auroc]
            else:
                described = [header.mean_confidence, header.accuracy]
            cells = [shown_number(value) for value in [*(values[name].value for name in shown), *described]]
            rows.append([str(key), f"{header.n:,}", *cells, pvalue_cell(values[TEST].adjusted) or "not tested"])
        headings = ["group", "rows", *shown, *means, "p-value"]
        if all(row[-1] == "not tested" for row in rows):
            return [("", headings[:-1], [row[:-1] for row in rows])]
        return [(f"groups, worst first; p-values of {TEST}, adjusted by Holm for the groups", headings, rows)]

    def _deviation(self, group: Any) -> float:
        """The statistic of the test of a group in units of its standard error, which compares groups of any size, tested or not."""
        part = self.groups[group]
        value = next((result.value for result in part.results if result.metric == TEST), None)
        scale = part.header.standard_error
        if value is None or scale is None:
            return -math.inf
        return value / scale if scale > 0 else math.inf

    def _limits(self) -> list[str]:
        return [f"{WORST} of {len(self.groups):,} groups are shown"] if len(self.groups) > WORST else []

    def _note(self, result: MetricResult) -> str:
        """The note without a missing p-value, which the line of the test states."""
        return result.note.partition("no p-value")[0].strip("; ")
