"""A fleet of models: its configuration, its status, and the false discovery rate over all models."""

from __future__ import annotations

from pathlib import Path

import pytest

import calibrant as cal
from calibrant.errors import FileError
from calibrant.monitoring import load_fleet


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


class TestConfiguration:
    def test_a_file_names_models(self, tmp_path: Path) -> None:
        shared = '[models]\nstore = "{model}.db"\nevery = "1d"\n'
        own = '[models.churn]\nrows = 3\n[models."a b"]\n[models.c]\nstore = "postgresql://u:secret@h/d"\n'
        path = write(tmp_path, "calibrant.toml", shared + own)
        for place in (path, tmp_path):
            found = {model.name: model for model in load_fleet(place)}
            assert list(found) == ["churn", "a b", "c"]
            assert found["churn"].store == str(tmp_path / "churn.db")
            assert found["churn"].options == {"every": "1d", "rows": 3}
            assert found["c"].store.startswith("postgresql://")
            assert "secret" not in f"{found['c']!r}{found['c'].to_dict()}"

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("[models.a]\n", r"models.*store"),
            ("models = 3\n", "must be a table"),
            ('[models.labels]\nstore = "a"\n', "cannot be the name"),
            ('[models.a]\nstore = "a"\n[models.b]\nstore = "./a"\n', "same store"),
            ('[models.a\nstore = "a"\n', "not valid TOML"),
        ],
    )
    def test_errors_name_the_place(self, tmp_path: Path, text: str, problem: str) -> None:
        path = write(tmp_path, "calibrant.toml", text)
        with pytest.raises(FileError, match=problem):
            load_fleet(path)

    def test_missing_places(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / ".git").mkdir()
        monkeypatch.chdir(tmp_path)
        for place in (None, tmp_path, tmp_path / "none.toml"):
            with pytest.raises(FileError):
                load_fleet(place)
        write(tmp_path, "calibrant.toml", 'label = "y"\n')
        assert cal.monitoring.load_fleet() == ()
