"""The timeline of a monitor as one HTML page without scripts: windows, alarms and their interpretation."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ..monitoring.status import Alarm, MonitorStatus, stories_of
from ..util.files import write_atomic
from ..util.results import number, percent
from ..util.version import __version__
from .specs import image_of
from .tables import Column, Table, amount, text_column
from .templates import environment
from .timeline_charts import LINES, NARROW, WIDE, timeline_spec
from .wording import lens_text, mean_name, rate_name


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
    ...     page = cal.write_timeline(os.path.join(folder, "page.html"), monitor.status(), title="Churn").read_text()
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
    newest = status.last_closed or (status.windows[-1] if status.windows else None)
    page: str = (
        environment(number=number, percent=percent, lens=lens_text)
        .get_template("timeline.html")
        .render(
            title=title,
            version=__version__,
            status=status,
            newest=newest,
            labelled=status.last_labelled,
            mean_name=mean_name(status.lens),
            rate_name=rate_name(status.lens),
            pictures=[image_of(timeline_spec(status, width)) for width in (WIDE, NARROW)] if status.windows else [],
            table=window_table(status),
            alarms=_alarm_stories(status),
        )
    )
    return page


KINDS = {
    "calibration": "loss of calibration",
    "change": "change in calibration",
    "scores": "score drift",
    "ood": "drift of an out-of-distribution score",
}


class AlarmStory(NamedTuple):
    """Alarms of one kind, group and onset: the first one, and how often it was repeated."""

    heading: str
    words: str
    again: str
    seen: bool


def _alarm_stories(status: MonitorStatus) -> list[AlarmStory]:
    """Return one entry per kind, group and onset; open alarms first, all rows before groups, calibration before scores."""
    kinds = list(KINDS)

    def rank(found: list[Alarm]) -> tuple[Any, ...]:
        first = found[0]
        return first.acknowledged, first.group is not None, str(first.group), kinds.index(first.kind)

    return [_story(found) for found in sorted(stories_of(status.alarms), key=rank)]


def _story(found: list[Alarm]) -> AlarmStory:
    first, last = found[0], found[-1]
    named = "all rows" if first.group is None else f"group {first.group}"
    again = ""
    if len(found) > 1:
        times = "once" if len(found) == 2 else f"{len(found) - 1} times"
        again = f"Repeated {times}, last in window {last.window}."
    words = first.words if first.words.endswith(".") else first.words + "."
    kind = KINDS[first.kind] if first.score is None else f"{KINDS[first.kind]}, {first.score}"
    return AlarmStory(f"{first.window}: {kind}, {named}", words, again, first.acknowledged)


def window_table(status: MonitorStatus) -> Table:
    """Return the windows, the newest first."""

    def confidence(name: str) -> Callable[[Any], str]:
        return lambda scores: number(getattr(scores.confidence, name))

    def drift(place: int) -> Callable[[Any], str]:
        return lambda scores: "-" if scores.drift is None else number(scores.drift.results[place].value)

    def calibration(name: str) -> Callable[[Any], str]:
        return lambda found: "-" if found is None else number(getattr(found, name))

    def ood(place: int, name: str) -> Callable[[Any], str]:
        return lambda scores: (pvalue if name == "pvalue" else number)(getattr(scores.ood[place], name))

    columns = [
        text_column("window", "window"),
        text_column("state", "state"),
        Column("n", "rows", amount),
        Column("share_labelled", "labels", lambda share: percent(share, 0)),
        *(Column("scores", heading, confidence(name)) for name, heading in zip(LINES, CONFIDENCE, strict=True)),
        Column("scores", "drift p", lambda scores: pvalue(scores.drift_pvalue)),
        *(Column("scores", heading, drift(place)) for place, heading in enumerate(DRIFT)),
        Column("calibration", "gap", lambda found: "-" if found is None else _with_ends(found, "gap")),
        Column("calibration", "ece", lambda found: "-" if found is None else _with_ends(found, "ece")),
        Column("calibration", "smece", calibration("smece")),
        Column("calibration", "accuracy", calibration("accuracy")),
        Column("scores", "estimated", lambda scores: number(scores.accuracy[0].estimate) if scores.accuracy else "-"),
        Column("e_value", "e-value", number),
    ]
    for place, score in enumerate(status.settings.ood):
        columns += [
            Column("scores", f"{score.name} {heading}", ood(place, name))
            for name, heading in (("median", "median"), ("p99", "p99"), ("pvalue", "p"))
        ]
    return Table("windows", columns, status.windows[::-1])


CONFIDENCE = ("mean confidence", "median", "p90", "p99")
DRIFT = ("PSI", "KS", "Wasserstein", "JS")


def pvalue(value: float | None) -> str:
    """Format a p-value."""
    return "-" if value is None else f"{value:.3g}"


def _with_ends(found: Any, name: str) -> str:
    """Format a measure of the labelled rows with its interval, where it has one."""
    low, high = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
    ends = "" if low is None else f" ({number(low, 2)} to {number(high, 2)})"
    return f"{number(getattr(found, name))}{ends}"
