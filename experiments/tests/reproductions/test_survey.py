"""The study of the survey: its short form runs, its own formulas are right, and the page says what was found."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from scipy import stats

import calibrant as cal
from calibrant.inference import simulation as simulate
from experiments.reproductions import (
    survey,
    survey_bias,
    survey_cases,
    survey_families,
    survey_figures,
    survey_ranking,
)
from experiments.reproductions.study import RESULTS, Part, Study, Table, as_page, data_folder, load
from experiments.reproductions.survey_data import answers, halves, read

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("survey")


@pytest.fixture(scope="module")
def small(pictures: Path) -> Study:
    return survey.run(True, data_folder(), pictures)


@pytest.mark.deep
def test_every_part_is_there_and_every_picture_drawn(small: Study, pictures: Path) -> None:
    keys = [part.key for part in small.parts]
    assert keys[:4] == ["curve", "line", "bars", "roof"]
    assert keys[-3:] == ["names", "families", "properties"]
    assert "claims" in keys
    if data_folder() is not None:
        assert keys[-8:-3] == ["classwise", "multiclass", "direction", "local", "analysis"]
    for part in small.parts:
        assert part.rows or part.tables
        for name, caption in part.pictures:
            assert caption.endswith(".")
            assert 5_000 < (pictures / name).stat().st_size < 150_000


@pytest.mark.deep
def test_nothing_breaks_a_table(small: Study) -> None:
    page = as_page(small)
    for block in page.split("\n\n"):
        if block.startswith("|"):
            widths = {line.count("|") for line in block.splitlines()}
            assert len(widths) == 1, block.splitlines()[0]


def test_without_data_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert survey_cases.parts(True, None, tmp_path) == []
    for module in (survey_figures, survey_ranking, survey_cases, survey_families):
        monkeypatch.setattr(module, "parts", lambda *_: [])
    monkeypatch.setattr(survey_bias, "part", lambda _: Part("claims"))
    assert "Real predictions were not at hand" in as_page(survey.run(True, None, tmp_path))


@pytest.mark.parametrize("error", [0.02, 0.1])
def test_a_temperature_with_a_given_error(error: float) -> None:
    k = survey_bias.temperature_of(error, (1, 1))
    assert k > 1
    assert cal.inference.true_calibration_error(simulate.temperature(k)) == pytest.approx(error, abs=1e-5)


def test_spearman_is_that_of_scipy_with_ties_and_infinity() -> None:
    first, second = np.array([0.1, 0.3, 0.3, np.inf, 0.2, np.inf]), np.array([1.0, 2.0, 5.0, 4.0, 4.0, 7.0])
    ranked = np.array([1, 3.5, 3.5, 5.5, 2, 5.5])
    assert survey_ranking.spearman(first, second) == pytest.approx(stats.spearmanr(ranked, second).statistic)
    assert survey_ranking.spearman(np.zeros(6), second) == 0
    matrix = survey_ranking.matrix_of(np.array([second, -second, first]))
    assert matrix[0, 1] == pytest.approx(-1)
    assert np.allclose(matrix, matrix.T)


def test_true_errors_put_equal_scores_together() -> None:
    drawn = cal.inference.make_miscalibrated(20_000, warp=simulate.temperature(2.0), rng=3)
    assert survey_ranking.true_errors(drawn.y_prob, drawn.truth) == pytest.approx(drawn.calibration_error(), abs=1e-3)
    halved = np.where(drawn.y_prob < 0.5, 0.25, 0.75)
    by_hand = sum(abs(drawn.truth[halved == p].sum() - p * (halved == p).sum()) for p in (0.25, 0.75)) / len(drawn)
    assert survey_ranking.true_errors(halved, drawn.truth) == pytest.approx(by_hand)


def test_the_stored_tables_list_the_catalogue() -> None:
    parts = {part.key: part for part in load(RESULTS / "survey.json").parts}
    listed = [str(line[0]).strip("`") for line in parts["properties"].tables[1].lines]
    branches = [name.strip("` ") for line in parts["families"].tables[1].lines for name in str(line[3]).split(",")]
    assert set(listed) == set(branches) == set(cal.catalogue)
    assert len(listed) == len(branches) == parts["families"].rows[0].ours


def test_a_cell_is_that_of_its_line_and_column() -> None:
    table = Table(["", "`ece`"], [["`brier`", 0.45]])
    assert table.cell("`brier`", "`ece`") == 0.45
    assert table.cell("`brier`", "`mce`") == table.cell("`nll`", "`ece`") == ""


def test_properties_are_measured() -> None:
    assert survey_families.measured(cal.catalogue["ece"]) == (True, True, False)
    assert survey_families.measured(cal.catalogue["brier"]) == (False, False, False)
    assert survey_families.measured(cal.catalogue["skce_ul"]).order is True


def test_real_rows_are_read(real_folder: Path) -> None:
    for name in ("mmlu_llama31_8b_instruct", "f538_nba_games", "c10_vgg16_kumar"):
        rows = read(real_folder, name)
        assert np.abs(rows.p.sum(axis=1) - 1).max() < 1e-12
        fit, test = halves(rows, 0, 1_000)
        assert len(fit.y) == len(test.y) == 500
    right = answers(real_folder, "top1_resnet110_c10")
    assert right.y.mean() == pytest.approx(0.9356)
