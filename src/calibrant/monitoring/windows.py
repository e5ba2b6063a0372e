"""Assignment of rows to windows: half-open intervals of time, in UTC or of days of a time zone, or a number of rows in order of arrival."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputError, InputTypeError, ShapeError
from ..input.convert import as_entries
from ..util.checks import check_choice, check_whole, is_number

Whole = NDArray[np.int64]
SECOND = 1_000_000
UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86400 * SECOND, "w": 7 * 86400 * SECOND}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The first Monday after 1970-01-01, so that windows of weeks begin on Mondays.
MONDAY = 4 * UNITS["d"]
# Years 1 to 9999, as in Python's datetime.
EARLIEST, LATEST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND
WRITTEN = "write times as 2026-01-31 or 2026-01-31T12:00:00Z"
FORM = "give datetimes such as 2026-01-31T12:00, or convert numbers of seconds with np.array(x, 'datetime64[s]')"


def read_duration(text: Any, argument: str) -> int:
    """Parse a duration to microseconds.

    Parameters
    ----------
    text
        A whole number and a unit: ``"30s"``, ``"15m"``, ``"1h"``, ``"1d"`` or ``"1w"``.
    argument
        Its name, for the message.

    Examples
    --------
    >>> read_duration("1h", "every")
    3600000000
    """
    match = re.fullmatch(r"\s*(\d{1,9})\s*([smhdw])\s*", text) if isinstance(text, str) else None
    if match is None or not int(match[1]):
        problem = f"must be a positive integer followed by s, m, h, d or w; got {text!r}"
        raise ArgumentError(argument, problem, "for example '1d'")
    return int(match[1]) * UNITS[match[2]]


@dataclass(frozen=True)
class WindowRule:
    """Rule that assigns rows to windows, which are identified by an integer, their place."""

    width: int | None
    """Microseconds; None for windows of a number of rows."""
    rows: int | None
    zone: str | None = None
    """Time zone of windows of days, which have 23 or 25 hours when the clocks change; None for UTC."""
    season: str | None = None
    """``"week"`` where a window is compared with the reference data of the same part of the week."""

    @property
    def by_time(self) -> bool:
        return self.width is not None

    @property
    def _offset(self) -> int:
        return MONDAY if self.width is not None and self.width % UNITS["w"] == 0 else 0

    def place_of(self, position: Whole) -> Whole:
        """Window of each time in microseconds, or of each row index."""
        if self.zone is not None:
            return self._place_of_days(position)
        if self.width is not None:
            return np.asarray((position - self._offset) // self.width)
        assert self.rows is not None
        return np.asarray(position // self.rows)

    def span(self, place: int) -> tuple[int, int]:
        """Start of the window and of the next: microseconds, or row indices."""
        if self.zone is not None:
            first, end = self._days(place)
            return day_start(self.zone, first), day_start(self.zone, end)
        size = self.width or self.rows or 1
        return place * size + self._offset, (place + 1) * size + self._offset

    def name(self, place: int) -> str:
        """Name of the window."""
        if self.zone is not None:
            return time_text(self._days(place)[0] * UNITS["d"], days=True)
        start, end = self.span(place)
        if self.width is None:
            return f"rows {start + 1}-{end}"
        return time_text(start, days=self.width % UNITS["d"] == 0)

    def phase(self, place: int) -> int:
        """Part of the season in which a window begins, in microseconds; 0 without a season.

        >>> window_rule("1d", season="week").phase(20454) // UNITS["d"]  # a Thursday
        3
        """
        if self.season is None:
            return 0
        start = self.span(place)[0] if self.zone is None else UNITS["d"] * self._days(place)[0]
        return (start - MONDAY) % UNITS["w"]

    def _days(self, place: int) -> tuple[int, int]:
        """First day of the window and of the next, in days since 1970."""
        assert self.width is not None
        size, offset = self.width // UNITS["d"], self._offset // UNITS["d"]
        return place * size + offset, (place + 1) * size + offset

    def _place_of_days(self, position: Whole) -> Whole:
        assert self.zone is not None
        assert self.width is not None
        near = np.unique(np.asarray(position) // UNITS["d"])
        days = np.unique(np.concatenate([near - 1, near, near + 1]))  # no zone is more than a day from UTC
        starts = np.array([day_start(self.zone, day) for day in days.tolist()], np.int64)
        place = (days - self._offset // UNITS["d"]) // (self.width // UNITS["d"])
        return np.asarray(place[np.searchsorted(starts, position, side="right") - 1])

    @property
    def words(self) -> str:
        """Length of a window as text."""
        if self.width is None:
            return f"{self.rows:,} rows"
        if self.zone is not None:
            return f"{WindowRule(self.width, None).words} ({self.zone})"
        for unit, name in (("w", "week"), ("d", "day"), ("h", "hour"), ("m", "minute"), ("s", "second")):
            if self.width % UNITS[unit] == 0:
                count = self.width // UNITS[unit]
                return f"1 {name}" if count == 1 else f"{count} {name}s"
        return f"{self.width} microseconds"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the input of `of_dict`."""
        return asdict(self)

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> WindowRule:
        return cls(**plain)


def window_rule(every: Any, *, time_zone: Any = None, season: Any = None) -> WindowRule:
    """Return windows of a duration or of a number of rows.

    Parameters
    ----------
    every : str or int
        Length of a window: ``"1h"``, ``"1d"`` or ``"1w"``; or a number of rows.
    time_zone : str, optional
        Time zone of windows of days, such as ``"Europe/Berlin"``; a day on which the clocks change has 23 or 25 hours.
    season : {"week"}, optional
        Compare the scores of a window with the reference data of the same part of the week, such as Mondays with Mondays.

    Returns
    -------
    WindowRule
        The rule.

    Examples
    --------
    >>> window_rule("1d").name(20454), window_rule(100).name(2)
    ('2026-01-01', 'rows 201-300')
    """
    by_rows = is_number(every)
    if by_rows and (time_zone is not None or season is not None):
        argument = "season" if time_zone is None else "time_zone"
        raise ArgumentError(argument, "applies to windows of time, and these are counted in rows")
    check_choice(season, "season", (None, "week"))
    if by_rows:
        return WindowRule(None, check_whole(every, "every"))
    width = read_duration(every, "every")
    if time_zone is not None and width % UNITS["d"]:
        raise ArgumentError("time_zone", "applies to windows of days", "use whole days or weeks, or leave it out")
    if season is not None and (width == UNITS["w"] or UNITS["w"] % width):
        raise ArgumentError("season", "a week must be several windows", "use windows of hours or of a day")
    return WindowRule(width, None, None if time_zone is None else read_zone(time_zone), season)


def read_zone(time_zone: Any) -> str:
    """The name of a time zone, which must be known on this machine."""
    try:
        return ZoneInfo(time_zone).key
    except (KeyError, ValueError, TypeError, OSError):
        raise ArgumentError(
            "time_zone", f"unknown time zone {time_zone!r}", "use a name of the IANA database, such as 'Europe/Berlin'"
        ) from None


@lru_cache(maxsize=4096)
def day_start(zone: str, day: int) -> int:
    """First moment of a day, numbered from 1970-01-01, in a time zone: microseconds in UTC.

    A midnight that the clocks skip is the moment at which they do, and of one that comes twice it is the first.

    >>> (day_start("Europe/Berlin", 20543) - day_start("Europe/Berlin", 20541)) // UNITS["h"]  # 2026-03-29 has 23 hours
    47
    """
    if not EARLIEST // UNITS["d"] + 1 < day < LATEST // UNITS["d"] - 1:
        return day * UNITS["d"]
    midnight = datetime(1970, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(days=day)
    return round((midnight.astimezone(UTC) - EPOCH) / timedelta(seconds=1)) * SECOND


def time_text(micros: int, *, days: bool = False) -> str:
    """A time in UTC as text, without trailing zeros."""
    if not EARLIEST <= micros < LATEST:
        return "beyond the calendar"
    seconds, remainder = divmod(micros, SECOND)
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    if days:
        return moment.date().isoformat()
    text = moment.isoformat(timespec="seconds" if moment.second or remainder else "minutes")
    return f"{text}.{remainder:06d}Z" if remainder else f"{text}Z"


def read_time(when: Any, argument: str = "when") -> int:
    """One time in microseconds since 1970 in UTC."""
    try:
        when = when.to_pydatetime() if hasattr(when, "to_pydatetime") else when
        return int(_times(np.array([when], object) if np.ndim(when) == 0 else when, argument)[0])
    except InputError as error:
        raise error.replaced(argument=argument, row=None) from None


def read_times(when: Any, n: int) -> Whole:
    """The time of each row in microseconds since 1970 in UTC; a single one is that of all rows.

    Parameters
    ----------
    when
        Datetimes, datetime64, dates or text in ISO form. Those without a zone are in UTC.
    n
        Number of rows.

    Examples
    --------
    >>> read_times("1970-01-01T00:00:01", 2).tolist()
    [1000000, 1000000]
    """
    if not isinstance(when, (list, tuple)) and np.ndim(when) == 0:
        return np.full(n, read_time(when), np.int64)
    times = _times(when, "when")
    if times.shape != (n,):
        raise ShapeError("when", f"expected {n} times, one for each row; got {len(times)}")
    return times


def _times(when: Any, argument: str) -> Whole:
    if hasattr(when, "dt") and getattr(getattr(when, "dtype", None), "tz", None) is not None:
        when = when.dt.tz_convert("UTC").dt.tz_localize(None)  # a pandas column with a zone
    try:
        array = as_entries(when)
    except (TypeError, ValueError) as error:
        raise InputTypeError(argument, f"cannot be read as times ({error})", FORM) from None
    if np.ma.is_masked(when):
        row = int(np.argmax(np.ma.getmaskarray(when)))
        raise InputError(argument, "missing time", "drop or fill the row", row=row)
    if array.ndim != 1:
        raise ShapeError(argument, f"expected one time for each row, got {array.ndim} dimensions")
    if array.dtype.kind == "M":
        hole = np.isnat(array)
        if hole.any():
            raise InputError(argument, "missing time", "drop or fill the row", row=int(np.argmax(hole)))
        days = array.astype("datetime64[D]").astype(np.int64)
        is_outside = (days < EARLIEST // UNITS["d"]) | (days >= LATEST // UNITS["d"])
        if is_outside.any():
            row = int(np.argmax(is_outside))
            problem = f"times must lie in the years 1 to 9999; got {array[row]}"
            raise InputError(argument, problem, "check the unit of the times", row=row)
        return np.asarray(array.astype("datetime64[us]").astype(np.int64))
    if array.dtype.kind not in "UTSO":
        raise InputTypeError(argument, f"expected times, got {array.dtype.name}", FORM)
    texts = [value.decode() if isinstance(value, bytes) else str(value) for value in array.tolist()]
    micros: dict[str, int] = {}  # of distinct values only: files have far fewer times than rows
    for row, text in enumerate(texts):
        if text in micros:
            continue
        stripped = text.strip()
        try:
            if stripped.isdigit() and len(stripped) != len("20260131"):
                raise ValueError  # Python would read 1767101600000 as the year 1767
            moment = datetime.fromisoformat(stripped)
        except ValueError:
            raise InputError(argument, f"{stripped[:40]!r} is not a time", WRITTEN, row=row) from None
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        micros[text] = int(np.datetime64(moment, "us").astype(np.int64))
    return np.array([micros[text] for text in texts], np.int64)
