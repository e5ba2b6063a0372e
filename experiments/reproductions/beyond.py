"""What the papers leave open: recalibration for a target, power and rate of VCE with every measure of variation, and nonlinear trackers."""

from pathlib import Path

from experiments.reproductions import beyond_targets, beyond_tracker, beyond_variation
from experiments.reproductions.study import Part, Study


def run(small: bool, data: Path | None, pictures: Path) -> Study:
    """All parts; without data, those on simulated predictions. There are no pictures."""
    parts: list[Part] = [] if data is None else [beyond_targets.part(small, data)]
    return Study("beyond", [*parts, *beyond_variation.parts(small), beyond_tracker.part(small)])
