"""The survey of calibration metrics (Lane 2025): its figures, its claims about bias and ranking, use cases, tables."""

from pathlib import Path

from experiments.reproductions import survey_bias, survey_cases, survey_families, survey_figures, survey_ranking
from experiments.reproductions.study import Study


def run(small: bool, data: Path | None, pictures: Path) -> Study:
    """All parts; the short form takes few rows and repetitions."""
    parts = [
        *survey_figures.parts(small, data, pictures),
        survey_bias.part(small),
        *survey_ranking.parts(small, data),
        *survey_cases.parts(small, data, pictures),
        *survey_families.parts(small),
    ]
    return Study("survey", parts)
