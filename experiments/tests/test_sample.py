"""The sample that stands in for real predictions: its numbers, computed without calibrant, are found again by every way to compute them."""

from pathlib import Path

import numpy as np
import pytest

from experiments import calibrators, published
from experiments.reproductions import entropic_rows, survey_data
from experiments.tests import sample


def test_numbers_of_the_sample_are_found_again(sample_folder: Path) -> None:
    cases = published.cases(sample_folder)
    assert len(cases) >= 60
    for case in cases:
        assert published.is_reproduced(case, case.compute()), case.id
        assert not published.is_reproduced(case, [value + 3 * case.tolerance + 1e-9 for value in case.compute()]), (
            case.id
        )
    assert published.left_out(sample_folder) == {}


def test_the_table_of_published_numbers_runs_on_the_sample(
    sample_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(sample_folder))
    assert published.main() == 0
    assert "OFF" not in capsys.readouterr().out
    monkeypatch.setitem(published.QUANTITIES, "MCE-15", lambda arrays: 0.5)
    assert published.main() == 1


def test_sets_have_rows_of_every_kind(sample_folder: Path) -> None:
    names = {path.stem for path in (sample_folder / "sets").iterdir()}
    assert names == {*sample.LOGITS, *sample.PROBS, *sample.STATED, *sample.TOP, *sample.CORRECT, *sample.BINARY}
    problems = list(calibrators.problems(sample_folder))
    assert len(problems) == len(sample.LOGITS) + len(sample.PROBS) + sum(map(len, sample.BINARY.values()))
    for problem in problems:
        assert np.abs(problem.fit.probs.sum(axis=1) - 1).max() < 1e-6
    rows = survey_data.read(sample_folder, "c10_vgg16_kumar")
    assert rows.p.shape == (sample.ROWS, 10)


def test_the_sample_is_the_same_each_time(sample_folder: Path, tmp_path: Path) -> None:
    again = sample.write_sample(tmp_path / "again")
    for path in sorted(sample_folder.rglob("*.json")) + sorted(sample_folder.rglob("*.csv")):
        assert (again / path.relative_to(sample_folder)).read_bytes() == path.read_bytes()
    first, second = (published.read_set(folder, "top1_snacks") for folder in (sample_folder, again))
    assert all((first[name] == second[name]).all() for name in first)
    assert len(entropic_rows.read(entropic_rows.ADULT, again / "tabular").labels) == 2 * sample.ROWS
