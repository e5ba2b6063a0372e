"""The timeline of a monitor as one HTML page without scripts: windows, alarms and their interpretation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from ..monitoring.ood import OodFindings
from ..monitoring.status import Alarm, MonitorStatus, WindowStatus, stories_of
from ..util.files import write_atomic
from ..util.results import number, percent
from ..util.version import __version__
from .specs import image_of
from .templates import environment
from .timeline_charts import LINES, NARROW, WIDE, timeline_spec
from .wording import lens_text, mean_name, rate_name

HEADINGS = (
    "window", "state", "rows", "labels", "mean confidence", "median", "p90", "p99", "drift p", "PSI", "KS", "Wasserstein", "JS",
    "gap", "ece", "smece", "accuracy", "estimated", "e-value",
)  # fmt: skip


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
            headings=(
                *HEADINGS,
                *(f"{name}{part}" for name in _ood_names(status) for part in (" median", " p99", " p")),
            ),
            rows=[_row(window) for window in reversed(status.windows)],
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


def _row(w: WindowStatus) -> list[str]:
    s, c = w.scores, w.calibration
    drift = ["-"] * 4 if s.drift is None else [number(result.value) for result in s.drift.results]
    labelled = ["-"] * 4
    if c is not None:
        interval = "" if c.ece_low is None else f" ({number(c.ece_low, 2)} to {number(c.ece_high, 2)})"
        labelled = [
            f"{number(c.gap)} ({number(c.gap_low, 2)} to {number(c.gap_high, 2)})",
            number(c.ece) + interval,
            number(c.smece),
            number(c.accuracy),
        ]
    return [
        w.window,
        w.state,
        f"{w.n:,}",
        percent(w.share_labelled, 0),
        *(number(getattr(s.confidence, name)) for name in LINES),
        "-" if s.drift_pvalue is None else f"{s.drift_pvalue:.3g}",
        *drift,
        *labelled,
        number(s.accuracy[0].estimate) if s.accuracy else "-",
        number(w.e_value),
        *(cell for score in s.ood for cell in _ood_cells(score)),
    ]


def _ood_names(status: MonitorStatus) -> list[str]:
    return [each.name for each in status.settings.ood]


def _ood_cells(score: OodFindings) -> list[str]:
    return [number(score.median), number(score.p99), "-" if score.pvalue is None else f"{score.pvalue:.3g}"]
