"""The table of docs/conventions.md on R: both numbers as printed, and the call that gives R's."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaincinv

import calibrant as cal
from tests.r.common import data, values

HEADING = "## R and calibrant: what differs by convention"
PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"


def rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").split(HEADING)[1].splitlines()
    table = [line for line in lines if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def printed(value: float, text: str) -> bool:
    """Whether a value is printed as this text."""
    digits = len(re.sub(r"e.*|[-.]", "", text).lstrip("0")) or 1
    return float(f"{value:.{digits}g}") == float(text)


def computed(call: str, name: str) -> float:
    d = data(name)
    known = {
        **vars(d),
        "cal": cal,
        "np": np,
        "w": 1 + np.arange(1, len(d.y) + 1) % 5,
        "replicates": gammaincinv(4, (np.arange(999) + 0.5) / 999) / 40,
    }
    return float(eval(call.strip("`"), known))


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[1]}-{row[0]}")
def test_both_numbers(row: list[str]) -> None:
    _, name, theirs, value, ours, number, same = row
    entry: dict[str, Any] = next(e for e in values("conventions") if (e["data"], f"`{e['call']}`") == (name, theirs))
    assert printed(entry["value"], value)
    assert printed(computed(ours, name), number)
    assert value != number
    if same != "–":  # noqa: RUF001 - as in the other tables
        assert computed(same, name) == pytest.approx(entry["value"], rel=1e-6)


def test_every_number_is_in_the_table() -> None:
    assert {(row[1], row[2]) for row in rows()} == {(e["data"], f"`{e['call']}`") for e in values("conventions")}
