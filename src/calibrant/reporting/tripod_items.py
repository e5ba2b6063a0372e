"""tripod: the items of the TRIPOD+AI statement as Markdown, with what the results of a validation say about them."""

from __future__ import annotations

from ..clinical.performance import ClinicalSummary
from ..errors import InputTypeError
from ..evaluation.header import check_outcome
from ..util.version import __version__
from .plain import render_markdown
from .provenance import time_stamp
from .tables import summary_table
from .wording import static_texts

# Measures that the draft of the results quotes.
QUOTED = ("c", "intercept", "slope", "oe", "ici", "scaled_brier")


def tripod(summary: ClinicalSummary, *, outcome: str | None = None, model: str = "", date: str | None = None) -> str:
    """List the items of the TRIPOD+AI statement, with what the results of a validation say about them.

    TRIPOD+AI lists what a publication on a clinical prediction model reports. Sample size, number of events, performance measures with
    their intervals and the methods behind them follow from a `clinical.summary`; all other items are listed with a question to the
    authors. The text is a draft to be edited: a filled item is not necessarily complete.

    Parameters
    ----------
    summary : ClinicalSummary
        Result of `clinical.summary`.
    outcome : str, optional
        Name of the outcome; by default that of the summary.
    model : str, default ""
        Name of the model.
    date : str, optional
        Date of the analysis; by default that of the environment variable SOURCE_DATE_EPOCH, if it is set.

    Returns
    -------
    str
        Markdown text, with the table of performance measures at item 23a.

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
    >>> items = cal.reporting.tripod(summary, outcome="death")
    >>> "100 patients: 50 with death, 50 without." in items
    True
    """
    if not isinstance(summary, ClinicalSummary):
        raise InputTypeError(
            "summary", f"expected the result of clinical.summary, got {type(summary).__name__}", "pass that result"
        )
    return render_markdown(
        "tripod.md",
        summary=summary,
        measures=[summary[id] for id in QUOTED],
        outcome=check_outcome(outcome) or summary.outcome,
        model=model,
        date=date or time_stamp() or "",
        version=__version__,
        items=static_texts("tripod.toml")["item"],
        texts=static_texts("texts.toml")["tripod"],
        table=summary_table(summary),
    )
