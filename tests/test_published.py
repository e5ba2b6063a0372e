"""Numbers printed in papers, manuals and other packages' tests, from the predictions they were about."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _load() -> ModuleType:
    path = Path(__file__).parent.parent / "experiments" / "published.py"
    spec = importlib.util.spec_from_file_location("published", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["published"] = module  # NamedTuple looks its own module up
    spec.loader.exec_module(module)
    return module


published = _load()
FOLDER = published.data_folder()
# Without the data there is one case, which the fixture skips by name.
CASES = published.cases(FOLDER) if (FOLDER / "checks.json").exists() else [None]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "no data" if case is None else case.id)
def test_published_number(case: Any, data_folder: Path) -> None:
    ours = case.compute()
    assert published.is_reproduced(case, ours), f"ours {ours}, published {case.published} in {case.source}"


def test_every_way_to_compute_is_used(data_folder: Path) -> None:
    """A quantity that is renamed in the data must not fall out of sight."""
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids) >= 107
    checks = published.json.loads((data_folder / "checks.json").read_text())
    vectors = published.json.loads((data_folder / "vectors.json").read_text())["vectors"]
    found = {published.first_match(published.QUANTITIES, check["quantity"]) for check in checks}
    used = {match[0].re.pattern for match in found if match}
    used |= {match[0].re.pattern for v in vectors if (match := published.first_match(published.VECTORS, v["id"]))}
    assert used == {*published.QUANTITIES, *published.VECTORS}


def test_a_number_that_is_off_is_called_off(data_folder: Path) -> None:
    for case in CASES:
        ours = case.compute()
        assert not published.is_reproduced(case, [value + 3 * case.tolerance + 1e-9 for value in ours]), case.id


@pytest.mark.parametrize(("bins", "printed"), [(10, 3.694947603203135), (15, 6.298957873650591)])
def test_groups_by_quantile_to_every_digit(bins: int, printed: float, data_folder: Path) -> None:
    """Without the row that calzone's open outermost edge loses, every digit it prints is reproduced."""
    arrays = published.read_set(data_folder, "calzone_welldata")
    score = arrays["p_class1"]
    edges = published.quantile_edges(score, bins)
    rows = published.welldata(arrays)
    value = published.cal.hosmer_lemeshow(rows, bins=edges, binning="equal_width", where=score > score.min())
    assert value == pytest.approx(printed, rel=1e-12)
    assert published.hl_quantile(arrays, bins) != pytest.approx(printed, rel=1e-8)


def test_script_prints_a_verdict_for_each(
    data_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert published.main() == 0
    text = capsys.readouterr().out
    assert all(case.id[:70] in text for case in CASES)
    assert "OFF" not in text
    monkeypatch.setitem(published.QUANTITIES, "MCE-15", lambda arrays: 0.5)
    assert published.main() == 1
    assert capsys.readouterr().out.count("OFF") == 2


def test_script_says_loudly_that_there_is_no_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(tmp_path))
    assert published.main() == 1
    assert "NO PUBLISHED NUMBERS" in capsys.readouterr().out
