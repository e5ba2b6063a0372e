"""Numbers printed in papers, manuals and other packages' tests, from the predictions they were about."""

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import published
from tests.in_turn import in_turn

FOLDER = published.data_folder()
# Without the data there is one case, which the fixture skips by name.
CASES: list[Any] = [None]
if (FOLDER / "checks.json").exists():  # each is computed once for all tests
    CASES = [case._replace(compute=functools.cache(case.compute)) for case in published.cases(FOLDER)]


@in_turn("case", CASES, lambda case: case.id)
def test_published_number(case: Any, real_folder: Path) -> None:
    ours = case.compute()
    assert published.is_reproduced(case, ours), f"ours {ours}, published {case.published} in {case.source}"


def test_every_way_to_compute_is_used(real_folder: Path) -> None:
    """A quantity that is renamed in the data must not fall out of sight."""
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids) >= 176
    checks = published.json.loads((real_folder / "checks.json").read_text())
    vectors = published.json.loads((real_folder / "vectors.json").read_text())["vectors"]
    found = {published.first_match(published.QUANTITIES, check["quantity"]) for check in checks}
    used = {match[0].re.pattern for match in found if match}
    used |= {match[0].re.pattern for v in vectors if (match := published.first_match(published.VECTORS, v["id"]))}
    assert used == {*published.QUANTITIES, *published.VECTORS}


def test_only_what_does_not_fit_its_own_data_is_left_out(real_folder: Path) -> None:
    reasons = published.left_out(real_folder)
    assert all("its own predictions give" in why for why in reasons.values()), reasons
    assert {name.split()[0] for name in reasons} == {
        "agnews_bert_n1000_bihani",
        "agnews_bert_n10000_bihani",
        "sciq_stated_claude_3_haiku",
    }


@pytest.mark.parametrize(("bins", "printed"), [(10, 3.694947603203135), (15, 6.298957873650591)])
def test_groups_by_quantile_to_every_digit(bins: int, printed: float, real_folder: Path) -> None:
    """Without the row that calzone's open outermost edge loses, every digit it prints is reproduced."""
    arrays = published.read_set(real_folder, "calzone_welldata")
    score = arrays["p_class1"]
    edges = published.quantile_edges(score, bins)
    rows = published.welldata(arrays)
    value = published.cal.hosmer_lemeshow(rows, bins=edges, where=score > score.min())
    assert value == pytest.approx(printed, rel=1e-12)
    assert published.hl_quantile(arrays, bins) != pytest.approx(printed, rel=1e-8)


def test_calzone_to_ten_digits(real_folder: Path) -> None:
    """The manual prints them all, where it does not round; the tolerance of the vector is far wider."""
    own = [case for case in CASES if "calzone_ref" in case.id]
    assert len(own) == 14
    for case in own:
        assert case.compute() == pytest.approx(case.published, rel=1e-9), case.id


def test_giviti_p_value(real_folder: Path) -> None:
    """Printed in the vignette beside the statistic; the distribution allows for the choice of the degree."""
    arrays = published.read_set(real_folder, "icu_saps2_giviti")
    found = published.giviti_test(arrays["label"], arrays["p_saps2"])
    assert found.pvalue == pytest.approx(6.27e-10, abs=0.005e-10)
    assert found.detail["degree"] == 2


@pytest.mark.parametrize(
    ("name", "column", "printed"),
    [
        ("top1_in1k_resnet34_timm", None, 0.0779),
        ("solarflare_c1_dgj", "DAFFS", 0.0674),
        ("top1_resnet110_c10", None, 0.0475),  # relplot prints 0.0707: its grid fails where confidences pile up at 1
    ],
)
def test_smooth_error_solves_its_equation_by_direct_integration(
    name: str, column: str | None, printed: float, real_folder: Path
) -> None:
    """A reflected Gaussian summed over the rows at each of 400 points: as wide as the error that it leaves."""
    arrays = published.read_set(real_folder, name)
    if column is None:
        outcome, score = arrays["pred"] == arrays["label"], arrays["confidence"].astype(float)
        found = published.cal.smece(published.top1(arrays))
    else:
        outcome, score = arrays["label"], arrays[f"p_{column}"].astype(float)
        found = published.cal.smece(outcome, score)
    assert found == pytest.approx(printed, abs=0.5e-4)
    # Rows are put together only where they share a score.
    places, row = np.unique(score, return_inverse=True)
    mass = np.bincount(row, outcome - score) / len(score)
    at = (np.arange(400) + 0.5) / 400
    smoothed = np.zeros(400)
    for part in np.array_split(np.arange(len(places)), 1 + len(places) // 2000):
        images = [sign * places[part] + shift for sign in (1, -1) for shift in (-2, 0, 2)]
        for image in images:
            near = (image > -9 * found) & (image < 1 + 9 * found)
            smoothed += np.exp(-(((at[:, None] - image[near]) / found) ** 2) / 2) @ mass[part[near]]
    integral = np.abs(smoothed).mean() / (found * math.sqrt(2 * math.pi))
    assert integral == pytest.approx(found, abs=1e-6)


def test_script_says_loudly_that_there_is_no_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(tmp_path))
    assert published.main() == 1
    assert "NO PUBLISHED NUMBERS" in capsys.readouterr().out
