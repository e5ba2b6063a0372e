"""tripod: the items of the TRIPOD+AI statement, filled where the results of a validation answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..clinical.performance import ClinicalRow, ClinicalSummary
from ..errors import ArgumentError, InputTypeError
from ..evaluation.header import check_outcome
from ..util.results import Result, number
from ..util.version import __version__
from .plain import render_markdown
from .provenance import time_stamp
from .tables import summary_table
from .wording import static_texts

if TYPE_CHECKING:
    from .building import Report

# Plots of a clinical report, and rows of the summary that a sentence quotes.
PLOTS = ("flexible calibration curve (loess)", "distribution of the risks by outcome", "decision curve")
QUOTED = ("c", "intercept", "slope", "oe", "ici", "scaled_brier")


class Item(NamedTuple):
    """Number, section, topic, studies that report it (D: development, E: evaluation), and what the authors write there."""

    number: str
    section: str
    topic: str
    studies: str
    prompt: str


@cache
def statement_items() -> tuple[Item, ...]:
    """Return the items of the statement."""
    return tuple(Item(*fields) for fields in static_texts("tripod.toml")["item"])


@dataclass(frozen=True)
class TripodItem:
    """One item: what these results say about it (empty where they say nothing), and what the authors add.

    ``studies`` is ``D`` for studies that develop a model, ``E`` for those that evaluate one, ``D;E`` for both.
    """

    number: str
    section: str
    topic: str
    studies: str
    filled: str
    prompt: str


@dataclass(frozen=True, repr=False)
class Tripod(Result):
    """Items of the TRIPOD+AI statement with what the results of a validation say about them.

    Returned by `tripod`; `to_markdown` renders it and `save` writes it.

    Parameters
    ----------
    items : tuple of TripodItem
        ``number``, ``section``, ``topic``, ``studies``, ``filled`` (text from the results, or empty) and ``prompt`` (for the authors).
    summary : ClinicalSummary
        The results.

    See Also
    --------
    tripod : Create it.

    Examples
    --------
    >>> import calibrant as cal
    >>> summary = cal.clinical.summary([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.8] * 25, n_resamples=0)
    >>> found = cal.reporting.tripod(summary, outcome="death within 30 days")
    >>> found["21"].filled
    'Evaluation: 100 patients, 50 events.'
    >>> len(found.items), found["17"].filled
    (52, '')
    """

    _hidden = ("summary",)
    _width: ClassVar[int] = 4

    items: tuple[TripodItem, ...]
    summary: ClinicalSummary

    def __getitem__(self, number: str) -> TripodItem:
        for item in self.items:
            if item.number == number:
                return item
        raise ArgumentError(
            "number", f"{number!r} is not an item", f"choose one of {', '.join(item.number for item in self.items)}"
        )

    @property
    def texts(self) -> dict[str, str]:
        """The ``note`` on the items, the text of an ``empty`` one, and the ``reference`` of the statement."""
        texts: dict[str, str] = static_texts("texts.toml")["tripod"]
        return texts

    def to_markdown(self) -> str:
        """Render the items as Markdown.

        Returns
        -------
        str
            Markdown text, with the table of performance measures at item 23a.
        """
        return render_markdown("tripod.md", tripod=self, summary=summary_table(self.summary))

    def _markdown(self) -> str:
        return self.to_markdown()

    def _columns(self) -> dict[str, Sequence[Any]]:
        return {name: [getattr(item, name) for item in self.items] for name in TripodItem.__dataclass_fields__}

    def _title(self) -> str:
        filled = sum(bool(item.filled) for item in self.items)
        return (
            f"TRIPOD+AI: {filled} of {len(self.items)} items have text from the results; the others are for the authors"
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[item.number, item.topic, item.filled or f"({item.prompt})"] for item in self.items]
        return ["item", "topic", "text"], rows


def tripod(
    summary: ClinicalSummary,
    *,
    outcome: str | None = None,
    model: str | None = None,
    date: str | None = None,
    groups: Sequence[str] = (),
    plots: Sequence[str] = (),
    updated: str = "",
) -> Tripod:
    """Fill the items of the TRIPOD+AI statement that the results of a validation answer.

    TRIPOD+AI lists what a publication on a clinical prediction model reports. Sample size, number of events, performance measures with
    their intervals and the methods behind them follow from a `clinical.summary`; all other items are listed with a question to the
    authors. The text is a draft to be edited: a filled item is not necessarily complete.

    Parameters
    ----------
    summary : ClinicalSummary
        Result of `clinical.summary`.
    outcome : str, optional
        Name of the outcome; by default that of the summary.
    model : str, optional
        Name of the model.
    date : str, optional
        Date of the analysis; by default that of the environment variable SOURCE_DATE_EPOCH, if it is set.
    groups : sequence of str, optional
        Names of the subgroups whose performance is reported beside the summary.
    plots : sequence of str, optional
        Names of the plots that are shown beside the summary.
    updated : str, default ""
        Sentence on recalibration or another update of the model.

    Returns
    -------
    Tripod
        ``items`` with ``number``, ``topic``, ``filled`` and ``prompt``; ``to_markdown()`` and ``write(path)`` render them.

    Raises
    ------
    InputTypeError
        If `summary` is not a `ClinicalSummary`.

    See Also
    --------
    calibrant.clinical.summary : The results.
    report : With ``purpose="clinical"`` the report of a validation study.

    Notes
    -----
    Numbers, sections and topics are those of the checklist of January 2024, published with the statement [1]_: 27 items, 52 with their parts.
    The questions are worded here; the statement itself has to be consulted for what an item asks.

    References
    ----------
    .. [1] Collins, G. S. et al. (2024). TRIPOD+AI statement: updated guidance for reporting clinical prediction models that use
       regression or machine learning methods. BMJ 385, e078378.

    Examples
    --------
    >>> import calibrant as cal
    >>> summary = cal.clinical.summary([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.8] * 25, n_resamples=0)
    >>> print(cal.reporting.tripod(summary, outcome="death")["20a"].filled)
    100 patients: 50 with death, 50 without.
    """
    if not isinstance(summary, ClinicalSummary):
        raise InputTypeError(
            "summary", f"expected the result of clinical.summary, got {type(summary).__name__}", "pass that result"
        )
    for name, value in (("model", model), ("date", date)):
        if value is not None and not (isinstance(value, str) and value.strip()):
            raise ArgumentError(name, f"must be text; got {value!r}")
    named = check_outcome(outcome) or summary.outcome
    filled = _filled(summary, named, model or "", date or time_stamp() or "", tuple(map(str, groups)), updated)
    if plots:
        filled["12e"] += f" Plots: {', '.join(plots)}."
    return Tripod(
        tuple(TripodItem(*item[:4], filled.get(item.number, ""), item.prompt) for item in statement_items()), summary
    )


def tripod_of(report: Report) -> Tripod:
    """The items that a clinical report answers."""
    assert report.clinical is not None
    return tripod(
        report.clinical.summary,
        outcome=report.outcome or None,
        model=report.metadata.get("model"),
        groups=[group.name for group in report.clinical.subgroups],
        plots=PLOTS,
    )


def _filled(
    summary: ClinicalSummary, outcome: str, model: str, date: str, groups: tuple[str, ...], updated: str
) -> dict[str, str]:
    """Return the text of each item that the results answer."""
    event, n, events = outcome or "the outcome", summary.n, summary.events
    complete = "Every row of the analysis has an outcome and a predicted risk"
    items = {
        "2": f"Draft of the results: {_results(summary, event)}",
        "10": f"{n:,} patients with {events:,.6g} events were available.",
        "11": f"{complete}; {summary.dropped}."
        if summary.dropped
        else f"{complete}: calibrant drops and imputes none.",
        "12e": _measures(summary),
        "12f": updated or "No updating is part of these results.",
        "18f": f"Analysis with calibrant {__version__}{f', {date}' if date else ''}.",
        "20a": f"{n:,} patients: {events:,.6g} with {event}, {n - events:,.6g} without.",
        "21": f"Evaluation: {n:,} patients, {events:,.6g} events.",
        "23a": _results(summary, event) + (f" Subgroups: {', '.join(groups)}." if groups else ""),
    }
    if model:
        items["1"] = f"Evaluation of {model}{f' for {outcome}' if outcome else ''}."
    if outcome:
        items["8a"] = f"Outcome: {outcome}."
    if summary.clusters:
        items["12d"] = f"Intervals are from a bootstrap of {summary.clusters:,} clusters."
    if updated:
        items["24"] = updated
    few = [note for note in summary.notes if note.startswith("only")]
    if few:
        items["26"] = f"Sample size: {few[0]}."
    return items


def _results(summary: ClinicalSummary, event: str) -> str:
    rows = [summary[id] for id in QUOTED]
    parts = []
    for row in rows:
        if row.value is None:
            continue
        part = f"{row.name} {number(row.value, 3)}"
        if row.low is not None and row.high is not None:
            part += f" ({100 * summary.level:g}% interval {number(row.low, 3)} to {number(row.high, 3)})"
        parts.append(part)
    return f"{summary.n:,} patients, {summary.events:,.6g} with {event}. {'; '.join(parts)}."


def _measures(summary: ClinicalSummary) -> str:
    """Return the measures by group, and the methods of their intervals."""
    groups = {group: [row.name for row in summary.rows if row.group == group and row.value is not None and not row.id.endswith(("_p", "_chi2"))] for group in
              ("discrimination", "overall", "calibration")}  # fmt: skip
    named = ". ".join(f"{group.capitalize()}: {'; '.join(names)}" for group, names in groups.items() if names)
    methods = dict.fromkeys(row.method for row in summary.rows if row.method)
    how = ", ".join(
        f"{method} ({', '.join(_short(row) for row in summary.rows if row.method == method)})" for method in methods
    )
    weights = " Rows have importance weights." if summary.weighted else ""
    drawn = f" The bootstrap has {summary.n_resamples:,} resamples." if any("bootstrap" in m for m in methods) else ""
    return f"{named}. Intervals ({100 * summary.level:g}%): {how}.{drawn}{weights}"


def _short(row: ClinicalRow) -> str:
    return row.name.split(" (")[0].split(",")[0]
