"""Every new call of the upgrade page runs, every old call raises an error that names the new one, or Python's own, and names are where it says."""

import functools
import operator
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest

import calibrant as cal
from tests.in_turn import in_turn

PAGE = (Path(__file__).parents[2] / "docs" / "upgrade.md").read_text(encoding="utf-8")
CALLS, _, NAMES = PAGE.partition("## Names that moved")
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", CALLS, re.M)
MOVED = {
    name: f"{package}.{name}"
    for package, names in re.findall(r"^\| `([a-z.]+)` \| (.+) \|$", NAMES, re.M)
    for name in re.findall(r"`(\w+)`", names)
} | dict(re.findall(r"^\| `cal\.(\w+)` \| `cal\.([\w.]+)` \|$", NAMES, re.M))
SETUP = re.search(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    mpl.use("Agg")
    space: dict[str, Any] = {}
    exec(SETUP[1], space)
    space["frame"] = pd.DataFrame(space["frame"])
    return space


def test_the_page_has_its_tables() -> None:
    assert len(ROWS) > 25
    assert len(MOVED) > 100


@in_turn("name", list(MOVED))
def test_moved_names_are_where_the_page_says(name: str) -> None:
    new = operator.attrgetter(MOVED[name])(cal)
    assert name not in cal.__all__
    if name in set(cal.catalogue):
        assert getattr(cal, name) is new
        return
    with pytest.raises(AttributeError, match=rf"calibrant has no '{name}'; use calibrant\.{re.escape(MOVED[name])}$"):
        getattr(cal, name)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("new", [new for _, new in ROWS])
def test_new_calls_run(new: str, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Resamples of its curve take most of the time.
    monkeypatch.setattr(cal.clinical, "summary", functools.partial(cal.clinical.summary, n_resamples=0))
    assert eval(new, names) is not None


@pytest.mark.parametrize("old", [old for old, _ in ROWS])
def test_old_calls_say_what_to_write(old: str, names: dict[str, Any]) -> None:
    with pytest.raises((cal.CalibrantError, TypeError, AttributeError)) as caught:
        eval(old, names)
    if isinstance(caught.value, cal.CalibrantError):
        assert re.search(r"Predictions\(|lens=classwise\(|must be|unexpected keyword|takes only", str(caught.value))
    elif isinstance(caught.value, AttributeError):
        assert re.search(r"; use calibrant\.\w+\.", str(caught.value))
    else:
        assert re.search("unexpected keyword argument|positional argument|missing 1 required", str(caught.value))
