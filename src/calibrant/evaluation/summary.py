"""The text of the summary of `evaluate`: six lines on all rows, and one row per group."""

from __future__ import annotations

from dataclasses import dataclass

from ..util.results import number
from .evidence import LEVEL, TEST
from .result import ALPHA, WORST, Evaluation, MetricResult, pvalue_cell, shown_number

# Quantities of the header that the summary shows between its metrics, after the metric named.
AFTER = {"ece": "direction", "brier": "discrimination"}


@dataclass(frozen=True, repr=False)
class EvaluationSummary(Evaluation):
    """Evaluation whose text is a summary: calibration error, direction, slope, Brier score, discrimination, and a test.

    Parameters
    ----------
    header, results, groups, left_out, remarks, grouping, group : object
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
        rows = []
        for result in self.results:
            if result.metric == TEST:
                continue
            rows.append([f"{result.name} ({result.metric})", shown_number(result.value), self._remark(result)])
            if AFTER.get(result.metric) == "direction" and self._direction:
                rows.append(["Direction", "", self._direction])
            if AFTER.get(result.metric) == "discrimination":
                rows += self._discrimination()
        rows += [["Test of calibration", "", _verdict(result)] for result in self.results if result.metric == TEST]
        return ["measure", "value", ""], rows

    @property
    def _direction(self) -> str:
        """Over- or underestimates, over- or underconfident; the header knows it for the lenses of all rows."""
        return {"binary": self.header.event, "top_label": self.header.direction}.get(self._lens, "")

    def _discrimination(self) -> list[list[str]]:
        if self.header.auroc is not None:
            return [["Area under the ROC curve (AUROC)", f"{self.header.auroc:.4f}", ""]]
        if self.header.kind == "binary" or self.header.accuracy is None:
            return []
        others = ", ".join(f"top-{k} accuracy {value:.4f}" for k, value in self.header.top_k_accuracy.items())
        return [["Accuracy", f"{self.header.accuracy:.4f}", others]]

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
            parts.append(_pvalue(result.pvalue))
        if result.direction:
            parts.append(result.direction)
        if result.lens == "canonical" and self.header.kind != "binary":
            parts.append("of all classes")
        elif result.lens not in (self._lens, "canonical"):
            parts.append(f"evaluated on: {self._named_lens(result.lens)}")
        return "; ".join(parts)

    @property
    def has_many_groups(self) -> bool:
        """Whether groups have a table of their own."""
        return bool(self.groups)

    def group_tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Return the groups as a table of text: one row per group, the worst first, at most ten."""
        shown = [result.metric for result in self.results if result.metric != TEST]
        is_event = self.header.kind == "binary"
        means = ["predicted", "observed"] if is_event else ["confidence", "accuracy"]
        headings = ["group", "rows", *shown, *means, *(["AUROC"] if is_event else []), "p-value"]
        rows = []
        for key in self.worst_first(TEST)[:WORST]:
            part = self.groups[key]
            header, values = part.header, {result.metric: result for result in part.results}
            pair = (
                (header.event_mean_score, header.prevalence[1])
                if is_event
                else (header.mean_confidence, header.accuracy)
            )
            cells = [str(key), f"{header.n:,}", *(shown_number(values[name].value) for name in shown)]
            cells += [number(mean) for mean in pair] + [number(header.auroc)] * is_event
            rows.append([*cells, pvalue_cell(values[TEST].adjusted)])
        title = f"groups, worst first; p-values of {TEST}, adjusted by Holm for the groups"
        return [(title, headings, rows)]

    def _limits(self) -> list[str]:
        return [f"{WORST} of {len(self.groups):,} groups are shown"] if len(self.groups) > WORST else []

    def _note(self, result: MetricResult) -> str:
        """The note without a missing p-value, which the line of the test states, and without how the interval was computed."""
        from ..inference.intervals import CORRECTED

        return result.note.replace(CORRECTED, "").partition("no p-value")[0].strip("; ")


def _verdict(result: MetricResult) -> str:
    """The conclusion of the test in words."""
    name = f"{result.name[0].lower()}{result.name[1:]}, {result.metric}"
    if result.pvalue is None:
        return f"not tested ({name}): {(result.note or result.reason).removeprefix('no p-value: ')}"
    outcome = "rejected" if result.pvalue <= ALPHA else "not rejected"
    return f"calibration is {outcome} at {100 * ALPHA:g}%: {_pvalue(result.pvalue)} ({name})"


def _pvalue(value: float) -> str:
    return f"p = {value:.3g}" if value >= 0.001 else "p < 0.001"
