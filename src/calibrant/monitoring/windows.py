"""Assignment of rows to windows: half-open intervals of time in UTC, or a number of rows in order of arrival."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Argument, ArgumentError, InputError, InputTypeError, InPython, ShapeError
from ..util.checks import check_whole

__all__ = ["WindowRule", "read_duration", "read_time", "read_times"]

Whole = NDArray[np.int64]
SECOND = 1_000_000
UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86400 * SECOND, "w": 7 * 86400 * SECOND}
# The first Monday after 1970-01-01, so that windows of weeks begin on Mondays.
MONDAY = 4 * UNITS["d"]
# Years 1 to 9999, as in Python's datetime.
EARLIEST, LATEST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND
WRITTEN = "write times as 2026-01-31 or 2026-01-31T12:00:00Z"
FORM = (
    "give datetimes such as 2026-01-31T12:00",
    InPython("convert numbers of seconds with np.array(x, 'datetime64[s]')"),
)


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
        raise ArgumentError(
            argument, f"must be a positive integer followed by s, m, h, d or w; got {text!r}", "for example '1d'"
        )
    return int(match[1]) * UNITS[match[2]]


@dataclass(frozen=True)
class WindowRule:
    """Rule that assigns rows to windows, which are identified by an integer, their place."""

    width: int | None
    """Microseconds; None for windows of a number of rows."""
    rows: int | None

    @classmethod
    def of(cls, every: Any = None, rows: Any = None) -> WindowRule:
        """Windows of a duration, or of a number of rows.

        >>> WindowRule.of(every="1d").name(20454)
        '2026-01-01'
        >>> WindowRule.of(rows=100).name(2)
        'rows 201-300'
        """
        if (every is None) == (rows is None):
            problem = "is required unless " if every is None else "cannot be combined with "
            more = " is given" if every is None else ""
            raise ArgumentError("every", (problem, Argument("rows"), more), "give one of them")
        if every is not None:
            return cls(read_duration(every, "every"), None)
        return cls(None, check_whole(rows, "rows"))

    @property
    def by_time(self) -> bool:
        return self.width is not None

    @property
    def _offset(self) -> int:
        return MONDAY if self.width is not None and self.width % UNITS["w"] == 0 else 0

    def place_of(self, position: Whole) -> Whole:
        """Window of each time in microseconds, or of each row index."""
        if self.width is not None:
            return np.asarray((position - self._offset) // self.width)
        assert self.rows is not None
        return np.asarray(position // self.rows)

    def span(self, place: int) -> tuple[int, int]:
        """Start of the window and of the next: microseconds, or row indices."""
        size = self.width or self.rows or 1
        return place * size + self._offset, (place + 1) * size + self._offset

    def name(self, place: int) -> str:
        """Name of the window."""
        start, end = self.span(place)
        if self.width is None:
            return f"rows {start + 1}-{end}"
        return time_text(start, days=self.width % UNITS["d"] == 0)

    @property
    def words(self) -> str:
        """Length of a window as text."""
        if self.width is None:
            return f"{self.rows:,} rows"
        for unit, name in (("w", "week"), ("d", "day"), ("h", "hour"), ("m", "minute"), ("s", "second")):
            if self.width % UNITS[unit] == 0:
                count = self.width // UNITS[unit]
                return f"1 {name}" if count == 1 else f"{count} {name}s"
        return f"{self.width} microseconds"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"width": self.width, "rows": self.rows}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> WindowRule:
        return cls(plain["width"], plain["rows"])


def time_text(micros: int, *, days: bool = False) -> str:
    """A time in UTC as text, without trailing zeros."""
    if not EARLIEST <= micros < LATEST:
        return "beyond the calendar"
    whole, rest = divmod(micros, SECOND)
    moment = datetime.fromtimestamp(whole, UTC).replace(tzinfo=None)
    if days:
        return moment.date().isoformat()
    text = moment.isoformat(timespec="seconds" if moment.second or rest else "minutes")
    return f"{text}.{rest:06d}Z" if rest else f"{text}Z"


def read_time(when: Any, argument: str = "when") -> int:
    """One time in microseconds since 1970 in UTC."""
    try:
        return int(_times(np.array([_plain(when)], object) if np.ndim(when) == 0 else when, argument)[0])
    except InputError as error:
        raise error.replaced(argument=argument, row=None) from None


def read_times(when: Any, n: int, argument: str = "when") -> Whole:
    """The time of each row in microseconds since 1970 in UTC; a single one is that of all rows.

    Parameters
    ----------
    when
        Datetimes, datetime64, dates or text in ISO form. Those without a zone are in UTC.
    n
        Number of rows.
    argument
        Its name, for the message.

    Examples
    --------
    >>> read_times("1970-01-01T00:00:01", 2).tolist()
    [1000000, 1000000]
    """
    if isinstance(when, str) or np.ndim(when) == 0:
        return np.full(n, read_time(when, argument), np.int64)
    found = _times(when, argument)
    if found.shape != (n,):
        raise ShapeError(argument, f"expected {n} times, one for each row; got {len(found)}")
    return found


def _plain(when: Any) -> Any:
    return when.to_pydatetime() if hasattr(when, "to_pydatetime") else when


def _times(when: Any, argument: str) -> Whole:
    if hasattr(when, "dt") and getattr(getattr(when, "dtype", None), "tz", None) is not None:
        when = when.dt.tz_convert("UTC").dt.tz_localize(None)  # a pandas column with a zone
    try:
        array = np.asarray(when.to_numpy() if hasattr(when, "to_numpy") else when)
    except (TypeError, ValueError) as error:
        raise InputTypeError(argument, f"cannot be read as times ({error})", FORM) from None
    if np.ma.is_masked(when):
        row = int(np.argmax(np.ma.getmaskarray(when)))
        raise InputError(argument, "missing time", "drop or fill the row", row=row)
    if array.ndim != 1:
        raise ShapeError(argument, f"expected one time for each row, got {array.ndim} dimensions")
    if array.dtype.kind == "M":
        return _checked(array, argument)
    if array.dtype.kind not in "UTSO":
        raise InputTypeError(argument, f"expected times, got {array.dtype.name}", FORM)
    # Distinct values only: files have far fewer times than rows.
    distinct, first, place = np.unique(array.astype(str), return_index=True, return_inverse=True)
    found = np.empty(len(distinct), np.int64)
    for which in np.argsort(first).tolist():
        found[which] = _micros(str(distinct[which]), int(first[which]), argument)
    return found[place]


def _micros(text: str, row: int, argument: str) -> int:
    text = text.strip()
    try:
        if text.isdigit() and len(text) != len("20260131"):  # Python would read 1767101600000 as the year 1767
            raise ValueError
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(argument, f"{text[:40]!r} is not a time", WRITTEN, row=row) from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return int(np.datetime64(moment, "us").astype(np.int64))


def _checked(array: NDArray[Any], argument: str) -> Whole:
    hole = np.isnat(array)
    if hole.any():
        row = int(np.argmax(hole))
        raise InputError(argument, "missing time", "drop or fill the row", row=row)
    days = array.astype("datetime64[D]").astype(np.int64)
    far = (days < EARLIEST // UNITS["d"]) | (days >= LATEST // UNITS["d"])
    if far.any():
        row = int(np.argmax(far))
        raise InputError(
            argument, f"times must lie in the years 1 to 9999; got {array[row]}", "check the unit of the times", row=row
        )
    return np.asarray(array.astype("datetime64[us]").astype(np.int64))
