"""The results of gates: lines on the screen, and annotations and a summary for jobs of GitHub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .screen import clean


class Checked(NamedTuple):
    """A gate for all rows or for one group."""

    gate: str
    place: str
    value: float | None
    limit: float | None
    failed: bool
    reason: str = ""
    """Why it cannot be evaluated; empty where it can."""
    contrary: str = ""
    """What a test that passes has shown; a test has no value and no limit."""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.gate} cannot be evaluated{self.place}: {self.reason}"
        if self.value is None:
            return f"{self.gate if self.failed else self.contrary}{self.place}"
        return f"{self.gate} {'holds' if self.failed else 'does not hold'}{self.place}: the value is {self.value:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        state = "error" if self.reason else "failed" if self.failed else "passed"
        where = self.place.strip() or "all rows"
        return {"gate": self.gate, "place": where, "value": self.value, "limit": self.limit, "state": state}


def pass_lines(checked: Sequence[Checked]) -> list[str]:
    """One line for each gate that holds nowhere."""
    lines = []
    for gate in dict.fromkeys(each.gate for each in checked):
        of_gate = [each for each in checked if each.gate == gate]
        if not any(each.failed or each.reason for each in of_gate):
            where = str(of_gate[0])
            lines.append(where if len(of_gate) == 1 else f"{gate} does not hold in any of {len(of_gate)} places")
    return lines


def annotation(title: str, text: str) -> str:
    """A line that GitHub shows as an error beside the job.

    >>> annotation("a: b, c", "50%")
    '::error title=a%3A b%2C c::50%25'
    """
    text, title = (clean(string).replace("%", "%25") for string in (text, title))
    return f"::error title={title.replace(':', '%3A').replace(',', '%2C')}::{text}"


def results_of(checked: Sequence[Checked]) -> dict[str, Any]:
    """The results of gates in the output of ``--json``."""
    gates = {"gates": [each.to_dict() for each in checked]} if checked else {}
    return {**gates, "failed": [str(each) for each in checked if each.failed]}
