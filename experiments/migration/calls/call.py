"""One comparison: a call of another package and the call of calibrant that answers it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Call:
    """One comparison, on the data sets of `kind`; both calls are executed as printed."""

    peer: str
    kind: str
    theirs: str
    ours: str
    note: str = ""
    """Why the values differ, and which option removes the difference."""
    topic: str = ""
    """For R: the file of tests/r that holds its values."""

    @property
    def key(self) -> str:
        return " | ".join((self.peer, self.kind, self.theirs, self.ours))


@dataclass(frozen=True)
class Figure:
    """A function that draws or reports: no number is compared, and the call of calibrant only has to run."""

    peer: str
    theirs: str
    ours: str


def of(peer: str, kind: str, *calls: tuple[str, ...]) -> list[Call]:
    """Several calls of a package on data of one kind; of calls with the same left side, the last one is the closest."""
    return [Call(peer, kind, *parts) for parts in calls]


def drawn(peer: str, *calls: tuple[str, str]) -> list[Figure]:
    """Several figures and reports."""
    return [Figure(peer, *parts) for parts in calls]


QUANTILES = "its edges are interpolated quantiles, those of calibrant lie at rows"
LINSPACE = "its edges are those of `np.linspace`, which differ from *k/M* by rounding"
ABOVE = "it assigns a score on an edge to the bin above"
FLOOR = "infinite in calibrant if the true class has probability 0"
