"""Sumler, Devlin, Maskell and Lane (2025): the entropic calibration difference, its tables and its relation to NEES."""

from pathlib import Path

from experiments.reproductions import entropic_images, entropic_tabular, entropic_tracker
from experiments.reproductions.study import Part, Study


def run(small: bool, data: Path | None, pictures: Path) -> Study:
    """All tables and figures; without data, the tracker alone."""
    parts: list[Part] = []
    if data is not None:
        results, plan = entropic_tabular.run(small, data / "tabular")
        parts += [
            entropic_tabular.part(results, plan, pictures),
            entropic_tabular.reasons(results, plan),
            *entropic_images.parts(small, entropic_images.run(small, data / "sets"), data / "sets", pictures),
        ]
    parts.append(entropic_tracker.part(*entropic_tracker.run(small), pictures))
    return Study("entropic", parts)
