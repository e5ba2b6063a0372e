"""Whether a certificate of the calibration error still holds: sequential evidence that the error is above the certified bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evaluation.certificates import CertifiedError
from ..util.arrays import Floats
from ..util.results import Record, number, several
from .sequential import Counted

# Bins of equal mass in which past windows tell the sign of the error, and the standard errors from which on a sign is fully trusted.
BINS, CERTAIN = 10, 2.0
# Factors of the evidence of a row are 1 + rate * (gain - bound); the mixture has these rates, as shares of the largest that keeps factors positive.
RATES = np.array([0.01, 0.03, 0.1, 0.3, 0.6])


@dataclass(frozen=True, repr=False)
class CertificateStatus(Record):
    """Whether the bounds of a certificate still hold on the windows of a monitor.

    Parameters
    ----------
    groups : tuple of str
        All rows, and each group with a bound that is monitored.
    bounds : tuple of float
        The certified bound of each.
    e_values : tuple of float
        The largest e-value so far: evidence that the error is above the bound.
    critical_value : float
        E-value from which on a bound is withdrawn.
    withdrawn : tuple of (str or None)
        The window in which each bound was withdrawn; None if it stands.
    windows : int
        Number of tested windows.
    rows : int
        Number of labelled rows in them.
    """

    groups: tuple[str, ...]
    bounds: tuple[float, ...]
    e_values: tuple[float, ...]
    critical_value: float
    withdrawn: tuple[str | None, ...]
    windows: int
    rows: int

    @property
    def valid(self) -> bool:
        """Whether no bound is withdrawn."""
        return not any(self.withdrawn)

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "valid": self.valid}

    def _columns(self) -> dict[str, list[Any]]:
        names = ("groups", "bounds", "e_values", "withdrawn")
        columns = zip(("group", "bound", "e_value", "withdrawn"), names, strict=True)
        return {column: list(getattr(self, name)) for column, name in columns}

    def _title(self) -> str:
        data = f"{several(self.windows, 'window')}, {self.rows:,} labelled rows"
        if self.valid:
            return f"The certificate stands: no significant evidence against its bounds in {data}."
        lost = [
            f"{group} at most {number(bound)}, withdrawn in window {window} (e-value {number(value)})"
            for group, bound, value, window in zip(self.groups, self.bounds, self.e_values, self.withdrawn, strict=True)
            if window is not None
        ]
        return f"The certificate is withdrawn after {data}: {'; '.join(lost)}."


def e_process(windows: Iterable[Counted], bound: float, bins: int | None = None) -> Floats:
    r"""Compute the e-value after each window against the hypothesis that the calibration error is at most a bound.

    For a function a of the score between -1 and 1 that depends on earlier windows alone, the mean of a(s) (y - s) is at most
    E|P(Y = 1 | s) - s|. If that is at most the bound, products of 1 + r (a(s) (y - s) - bound) are a test supermartingale for each rate r,
    and so is their mean over rates. With `bins` the function is constant in bins of equal width, so that only the error over these bins counts.
    """
    rates = RATES / (1 + bound)
    logs, values = np.zeros(len(rates)), []
    earlier = Counted(np.empty(0), np.empty(0), np.empty(0))
    for window in windows:
        sign = _expected_sign(earlier, window.score, bins)
        if sign is not None:
            for outcome, rows in ((1.0, window.positives), (0.0, window.rows - window.positives)):
                gain = sign * (outcome - window.score) - bound
                logs = logs + np.log1p(rates[:, None] * gain) @ rows
        values.append(float(np.exp(min(np.logaddexp.reduce(logs) - np.log(len(rates)), 700.0))))
        earlier = Counted(*(np.concatenate(pair) for pair in zip(earlier, window, strict=True)))
    return np.array(values)


def _expected_sign(earlier: Counted, score: Floats, bins: int | None) -> Floats | None:
    """Return the sign of observed minus predicted rates near each score in the past, smaller where it is uncertain; None without a past."""
    if not earlier.total:
        return None
    order = np.argsort(earlier.score, kind="stable")
    score_before, rows, positives = (column[order] for column in earlier)
    if bins is None:
        shares = np.cumsum(rows) / rows.sum()
        edges = np.unique(score_before[np.searchsorted(shares, np.arange(1, BINS) / BINS)])
    else:
        edges = np.arange(1, bins) / bins
    place = np.searchsorted(edges, score_before)
    gap = np.bincount(place, positives - rows * score_before, len(edges) + 1)
    variance = np.bincount(place, rows * score_before * (1 - score_before), len(edges) + 1)
    sign = np.clip(gap / np.sqrt(np.maximum(variance, 1.0)) / CERTAIN, -1, 1)
    return np.asarray(sign[np.searchsorted(edges, score)])


def certificate_status(
    streams: Iterable[tuple[CertifiedError, list[tuple[str, Counted]]]], alpha: float, bins: int | None
) -> CertificateStatus:
    """Test each bound on the windows of its rows, at an equal share of the level.

    Parameters
    ----------
    streams : iterable of (CertifiedError, list)
        For all rows first, and each group, the bound, and names and labelled rows of the windows.
    alpha : float
        Probability that any bound that holds is ever withdrawn.
    bins : int or None
        Bins of the certified error; None for the true error.

    Returns
    -------
    CertificateStatus
        The evidence against each bound.
    """
    processes = list(streams)
    critical = len(processes) / alpha
    e_values, withdrawn = [], []
    for certified, windows in processes:
        values = e_process([counted for _, counted in windows], certified.bound, bins)
        reached = np.flatnonzero(values >= critical)
        e_values.append(float(values.max(initial=1.0)))
        withdrawn.append(windows[reached[0]][0] if len(reached) else None)
    all_rows = processes[0][1]
    return CertificateStatus(
        tuple(certified.group for certified, _ in processes),
        tuple(certified.bound for certified, _ in processes),
        tuple(e_values),
        critical,
        tuple(withdrawn),
        len(all_rows),
        sum(counted.total for _, counted in all_rows),
    )
