"""The timeline of a monitor as one HTML page without scripts: windows, alarms and their interpretation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from ..monitoring.status import Alarm, MonitorStatus, WindowStatus, stories_of
from ..util.files import write_atomic
from ..util.results import number, percent
from ..util.version import __version__
from .specs import image_of
from .tables import Column, Table, amount, pvalue_cell, text_column
from .templates import environment
from .timeline_charts import LINES, NARROW, WIDE, timeline_spec
from .wording import lens_text, mean_name, rate_name, static_texts


def write_timeline(path: str | os.PathLike[str], status: MonitorStatus, *, title: str = "Monitor") -> Path:
    """Write the timeline of a monitor as an HTML page.

    The page shows confidence, score drift, calibration gap and evidence against calibration over the windows, the alarms, and the
    table of windows. It is self-contained; the same status gives the same bytes.

    Parameters
    ----------
    path : str or path-like
        File to write.
    status : MonitorStatus
        Result of `Monitor.status`.
    title : str, default "Monitor"
        Heading of the page.

    Returns
    -------
    pathlib.Path
        The file written.

    See Also
    --------
    calibrant.Monitor : Monitor calibration over time.

    Examples
    --------
    >>> import os, tempfile
    >>> import calibrant as cal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     monitor = cal.Monitor.create(os.path.join(folder, "watch.db"), reference=([0, 1, 1], [0.1, 0.4, 0.8]), every="1d")
    ...     page = cal.reporting.write_timeline(os.path.join(folder, "page.html"), monitor.status(), title="Churn").read_text()
    >>> "No rows yet." in page
    True
    """
    return write_atomic(path, render_timeline(status, title=title).encode())


def render_timeline(status: MonitorStatus, *, title: str = "Monitor") -> str:
    """Render the timeline of a monitor as an HTML page.

    Parameters
    ----------
    status : MonitorStatus
        Result of `Monitor.status`.
    title : str
        Heading of the page.

    Returns
    -------
    str
        The page; it opens from disk without network access.
    """
    page: str = (
        environment(number=number, percent=percent, lens=lens_text)
        .get_template("timeline.html")
        .render(
            title=title,
            version=__version__,
            status=status,
            newest=status.last_closed or (status.windows[-1] if status.windows else None),
            labelled=status.last_labelled,
            mean_name=mean_name(status.lens),
            rate_name=rate_name(status.lens),
            pictures=[image_of(timeline_spec(status, width)) for width in (WIDE, NARROW)] if status.windows else [],
            windows=window_table(status),
            groups=group_table(status),
            alarms=_alarm_stories(status),
        )
    )
    return page


class AlarmStory(NamedTuple):
    """Alarms of one kind, group and onset: the first one, and how often it was repeated."""

    heading: str
    words: str
    again: str
    seen: bool


def _alarm_stories(status: MonitorStatus) -> list[AlarmStory]:
    """Alarms of one kind and group, one after the other, are one story; the open ones and those of all rows first."""
    kinds = static_texts("texts.toml")["alarms"]

    def rank(alarms: list[Alarm]) -> tuple[Any, ...]:
        first = alarms[0]
        return first.acknowledged, first.group is not None, str(first.group), list(kinds).index(first.kind)

    stories = []
    for first, *others in sorted(stories_of(status.alarms), key=rank):
        rows = "all rows" if first.group is None else f"group {first.group}"
        kind = ", ".join(filter(None, [kinds[first.kind], first.score]))
        again = ""
        if others:
            times = "once" if len(others) == 1 else f"{len(others)} times"
            again = f"Repeated {times}, last in window {others[-1].window}."
        text = first.words.removesuffix(".") + "."
        stories.append(AlarmStory(f"{first.window}: {kind}, {rows}", text, again, first.acknowledged))
    return stories


def group_table(status: MonitorStatus) -> Table:
    """One row for each group."""
    columns = (
        text_column("group", "group"),
        Column("n", "rows", amount),
        Column("labelled", "labelled", amount),
        Column("e_value", "e-value", number),
        Column("needed", "needed", number),
        text_column("rejected", "sequential test rejects", _yes_or_no),
        text_column("flagged", "e-BH rejects", _yes_or_no),
        Column("changes", "changes"),
        Column("drift_pvalue", "drift p", pvalue_cell),
    )
    return Table("groups", columns, status.groups)


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def window_table(status: MonitorStatus) -> Table:
    """Return the windows, the newest first."""
    rows = [_window_cells(window) for window in status.windows[::-1]]
    headings = list(rows[0]) if rows else []
    return Table("windows", [Column(name, name, is_numeric=name not in ("window", "state")) for name in headings], rows)


def _window_cells(window: WindowStatus) -> dict[str, str]:
    """Return the cells of a window by their headings."""
    scores = window.scores
    confidence = [getattr(scores.confidence, name) for name in LINES]
    drift = [None] * len(DRIFT) if scores.drift is None else [result.value for result in scores.drift.results]
    cells = {
        "window": window.window,
        "state": window.state,
        "rows": amount(window.n),
        "labels": percent(window.share_labelled, 0),
        **dict(zip(CONFIDENCE, map(number, confidence), strict=True)),
        "drift p": pvalue_cell(scores.drift_pvalue),
        **dict(zip(DRIFT, map(number, drift), strict=True)),
    }
    for name in ("gap", "ece", "smece", "accuracy"):
        found = window.calibration
        cells[name] = "-" if found is None else number(getattr(found, name)) + _ends(found, f"{name}_")
    estimates = () if scores.performance is None else scores.performance.estimates
    text = [f"{each.metric} {number(each.estimate)}{_ends(each)}" for each in estimates[:1]]
    cells["estimated without labels"] = text[0] if text else "-"
    cells["e-value"] = number(window.e_value)
    for score in scores.ood:
        cells[f"{score.name} median"] = number(score.median)
        cells[f"{score.name} p99"] = number(score.p99)
        cells[f"{score.name} p"] = pvalue_cell(score.pvalue)
    return cells


CONFIDENCE = ("mean confidence", "median", "p90", "p99")
DRIFT = ("PSI", "KS", "Wasserstein", "JS")


def _ends(found: Any, start: str = "") -> str:
    """Ends of an interval in brackets; empty without an interval."""
    low, high = (getattr(found, f"{start}{end}", None) for end in ("low", "high"))
    return "" if low is None else f" ({number(low, 2)} to {number(high, 2)})"
