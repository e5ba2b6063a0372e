"""Every new call of the upgrade page runs, and every old call raises an error that names the new one, or Python's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest

import calibrant as cal

PAGE = (Path(__file__).parents[2] / "docs" / "upgrade.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", PAGE, re.M)
SETUP = re.search(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    assert SETUP is not None
    mpl.use("Agg")
    space: dict[str, Any] = {}
    exec(SETUP[1], space)
    space["frame"] = pd.DataFrame(space["frame"])
    return space


def test_the_page_has_its_table() -> None:
    assert len(ROWS) > 25


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("new", [new for _, new in ROWS])
def test_new_calls_run(new: str, names: dict[str, Any]) -> None:
    assert eval(new, names) is not None


@pytest.mark.parametrize("old", [old for old, _ in ROWS])
def test_old_calls_say_what_to_write(old: str, names: dict[str, Any]) -> None:
    with pytest.raises((cal.CalibrantError, TypeError)) as caught:
        eval(old, names)
    if isinstance(caught.value, cal.CalibrantError):
        assert re.search(r"Predictions\(|lens=classwise\(", str(caught.value))
    else:
        assert re.search("unexpected keyword argument|positional argument", str(caught.value))
