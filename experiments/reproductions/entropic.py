"""Sumler, Devlin, Maskell and Lane (2025): the entropic calibration difference, its tables and its relation to NEES."""

from __future__ import annotations

from pathlib import Path

from experiments.reproductions import (
    entropic_images,
    entropic_safe,
    entropic_tabular,
    entropic_texts,
    entropic_tracker,
)
from experiments.reproductions.study import Part, Study

PAPER = (
    "D. J. Sumler, L. Devlin, S. Maskell and R. O. Lane: "
    "An entropic metric for measuring calibration of machine learning models. "
    "TRUST-AI at ECAI 2025, CEUR Workshop Proceedings 4132."
)


def run(small: bool, data: Path | None, pictures: Path) -> Study:
    """All tables and figures; without data, the tracker alone."""
    parts: list[Part] = []
    summary = entropic_texts.SUMMARY
    if data is None:
        summary = "The tables and predictions of tables 1 to 3 were not there, so those parts are left out."
    else:
        results, plan = entropic_tabular.run(small, data / "tabular")
        parts += [
            entropic_tabular.part(results, plan, pictures, entropic_texts.BINARY),
            entropic_tabular.reasons(results, plan, pictures, entropic_texts.REASONS),
        ]
        images = entropic_images.run(small, data / "sets")
        texts = (entropic_texts.images(entropic_images.temperature_text(images)), entropic_texts.IMAGENET)
        parts += entropic_images.parts(small, images, data / "sets", pictures, texts)
        parts.append(entropic_safe.part(small, data / "sets"))
    parts.append(entropic_tracker.part(*entropic_tracker.run(small), pictures, entropic_texts.TRACKER))
    return Study("entropic", "The entropic calibration difference", PAPER, summary, parts)
