"""The study of the entropic calibration difference: it runs, its formulas hold, its page is that of its results."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import calibrant as cal
from experiments.rendering import ROOT
from experiments.reproductions import (
    entropic,
    entropic_images,
    entropic_rows,
    entropic_tabular,
    entropic_tracker,
    entropic_verdicts,
)
from experiments.reproductions.study import RESULTS, Study, as_page, load
from experiments.tests.sample import TELCO_CATEGORIES


@pytest.fixture(scope="module")
def study(real_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    pictures = tmp_path_factory.mktemp("pictures")
    return entropic.run(True, real_folder, pictures), pictures


@pytest.mark.deep
def test_small_form_gives_every_part_and_its_pictures(study: tuple[Study, Path]) -> None:
    found, pictures = study
    assert [len(part.rows) for part in found.parts] == [48, 0, 40, 12, 0]
    for part in found.parts:
        for name, caption in part.pictures:
            assert caption
            assert (pictures / name).stat().st_size > 5000
    assert sum(len(part.pictures) for part in found.parts) == 3


def test_without_data_only_the_tracker_is_left_and_the_summary_says_so(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(entropic_tracker, "FILTERS", entropic_tracker.FILTERS[:3])
    found = entropic.run(True, None, tmp_path)
    assert [part.key for part in found.parts] == ["tracker"]
    assert "left out" in as_page(found)


def test_rows_are_dealt_once_and_numbers_standardised_by_training_rows(data_folder: Path) -> None:
    columns = entropic_rows.read(entropic_rows.TELCO, data_folder / "tabular", 200)
    dealt = entropic_rows.split(columns, 2)
    assert (dealt.train.shape[1], dealt.fitted, dealt.held.shape[1]) == (120, 40, 80)
    np.testing.assert_allclose(dealt.train[:, :, :3].mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(dealt.train[:, :, :3].std(axis=1), 1, atol=1e-5)
    # Columns of categories: each row has one 1 in each.
    categories = len(TELCO_CATEGORIES) if "sample" in str(data_folder) else 16
    assert set(dealt.train[:, :, 3:].sum(axis=2).ravel()) == {float(categories)}
    for seed in range(2):
        together = np.concatenate([dealt.train_labels[seed], dealt.held_labels[seed]])
        assert together.sum() == columns.labels.sum()


def test_calibrated_mean_of_equation_15_is_that_of_drawn_labels_and_of_equation_11_is_0() -> None:
    drawn = cal.inference.make_calibrated(400, classes=5, rng=0)
    prob = drawn.y_prob
    for form in ("true_vs_rest", "full"):
        found = cal.assess(
            drawn.y_true, prob, metric="ecd", multiclass=form, method="consistency", n_resamples=400, rng=1, exact=True
        )
        error = found.null.std() / 20
        assert abs(entropic_images.expected(prob, form) - found.null.mean()) < 4 * error
    assert entropic_images.expected(prob, "true_vs_rest") > 0.1


STORED = {row.what: row for part in load(RESULTS / "entropic.json").parts if part.key == "binary" for row in part.rows}


@pytest.mark.parametrize("name", entropic_rows.FACTS["tabular"])
def test_ecd_agrees_with_the_paper_as_far_as_the_page_claims(name: str) -> None:
    score, critical, rejected = entropic_rows.FACTS["tabular"][name][2]
    ecd, limit = STORED[f"{name}: ECD"], STORED[f"{name}: ECD, threshold"]
    assert (ecd.published, limit.published) == (score, critical)
    assert limit.ours == pytest.approx(critical, rel=0.12)
    if name.endswith("none"):
        assert rejected
        assert ecd.note.startswith("H0 rejected in 10 of 10")
    else:
        assert abs(ecd.ours - score) <= 1.3 * ecd.spread


def test_the_table_of_the_page_of_the_paper_is_that_of_the_results() -> None:
    text = (ROOT / "docs" / "papers" / "entropic.md").read_text(encoding="utf-8").replace("\N{MINUS SIGN}", "-")
    lines = [line.strip("| ").split(" | ") for line in text.partition("## Table 1, run again")[2].splitlines()]
    numbers = [line[-4:] for line in lines if line[-1].startswith("0.")]
    for name, shown in zip(entropic_rows.FACTS["tabular"], numbers, strict=True):
        rows = (STORED[f"{name}: ECD"], STORED[f"{name}: ECD, threshold"])
        assert shown == [f"{value:.4f}" for row in rows for value in (row.published, row.ours)], name


def test_verdict_is_by_the_threshold_and_floor_keeps_probabilities_inside() -> None:
    assert entropic_verdicts.Verdict(0.2, 0.1).rejected
    assert not entropic_verdicts.Verdict(-0.2, 0.1).rejected
    assert entropic_verdicts.kept_inside(np.array([0.0, 0.5, 1.0]), 0.01).tolist() == [0.01, 0.5, 0.99]
    ours = {"": [entropic_verdicts.Verdict(0.2, 0.1), entropic_verdicts.Verdict(0.0, 0.3)]}
    rows = entropic_verdicts.score_rows("a", entropic_verdicts.Published(0.3, 0.1, True), ours, other="B")
    assert rows[0].ours == pytest.approx(0.1)
    assert rows[0].note == "H0 rejected in 1 of 2; published (B): rejected"
    assert (rows[1].what, rows[1].published, rows[1].ours) == ("a, threshold", 0.1, pytest.approx(0.2))
    assert entropic_verdicts.mean([1.0, np.inf]) is None


def test_held_bins_reject_everything_only_where_the_scores_are_wrong() -> None:
    drawn = cal.inference.make_calibrated(300, rng=2)
    run = entropic_tabular.look(drawn.y_true, drawn.y_prob, 19, 0)
    assert 0 <= entropic_tabular.held_bins_size(run, 20, 39) < 0.6
    assert run.bins in {2**power for power in range(1, 9)}


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0])
def test_filter_that_scales_all_noise_has_nees_of_d_over_the_factor(factor: float) -> None:
    scaled = entropic_tracker.Filter("scaled", factor, factor, factor)
    np.testing.assert_allclose(entropic_tracker.expected_nees(scaled, 15), 4 / factor, rtol=1e-10)


def test_expected_nees_is_met_by_simulation_and_gives_ecd() -> None:
    plan = entropic_tracker.Plan(seeds=1, targets=4000, steps=12)
    for assumed in (entropic_tracker.FILTERS[3], entropic_tracker.FILTERS[6]):
        found = entropic_tracker.judge(assumed, plan, 0)
        np.testing.assert_allclose(found.path, entropic_tracker.expected_nees(assumed, 12), rtol=0.12)
        assert found.ecd.statistic == pytest.approx((found.nees.statistic - 4) / 2)
        unsafe = assumed.process < 1
        assert found.nees.rejected
        assert [found.ecd.rejected, found.over_steps.rejected, found.innovations.rejected] == [unsafe] * 3


def test_covariance_of_the_right_filter_is_that_of_the_textbook_form() -> None:
    m = entropic_tracker.model()
    covariance = m.P
    for _, stated, _ in entropic_tracker.steps_of(entropic_tracker.FILTERS[0], 5):
        ahead = m.F @ covariance @ m.F.T + m.Q
        covariance = np.linalg.inv(np.linalg.inv(ahead) + m.H.T @ np.linalg.inv(m.R) @ m.H)
        np.testing.assert_allclose(stated, covariance, rtol=1e-9, atol=1e-12)
