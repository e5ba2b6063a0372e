"""The settings of a report, read and checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from ..evaluation.evidence import Inference
from ..evaluation.header import check_outcome
from ..evaluation.measure import choose_metrics
from ..util.checks import check_choice, check_fraction
from ..views.lenses import Lens

PURPOSES = ("clinical",)
DIAGRAMS = ("isotonic", "bins", "smooth", "cumulative")


@dataclass(frozen=True)
class Settings:
    """Settings of a report; metrics may be given by name, the seed as anything that is accepted as `rng`."""

    title: str | None = None
    metrics: Any = "recommended"
    lens: str | Lens | None = None
    level: float | None = 0.95
    n_resamples: int = 200
    seed: Any = 0
    recalibration: bool = True
    accuracy: float = 0.95
    guarantee: float = 0.9
    outcome: str | None = None
    metadata: Any = None
    purpose: str | None = None
    diagram: str | None = None

    def __post_init__(self) -> None:
        inference = Inference.read(self.level, True, self.n_resamples, self.seed)
        assert inference is not None
        check_choice(self.purpose, "purpose", (None, *PURPOSES))
        check_choice(self.diagram, "diagram", (None, *DIAGRAMS))
        if not isinstance(self.recalibration, bool):
            raise ArgumentError("recalibration", f"must be True or False; got {self.recalibration!r}")
        if self.title is not None and not isinstance(self.title, str):
            raise ArgumentError("title", f"must be text; got {type(self.title).__name__}")
        read = {
            "accuracy": check_fraction(self.accuracy, "accuracy", 0.9),
            "guarantee": check_fraction(self.guarantee, "guarantee"),
            "metrics": choose_metrics(self.metrics),
            "seed": inference.seed,
            "outcome": check_outcome(self.outcome),
            "metadata": _read_metadata(self.metadata),
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)

    @property
    def known_level(self) -> float:
        """The level of intervals that every report has, such as those of calibration methods."""
        return 0.95 if self.level is None else self.level

    def parameters(self) -> dict[str, Any]:
        """The settings that the provenance of a report states."""
        threshold = () if self.purpose == "clinical" else ("accuracy", "guarantee")
        names = ("level", "n_resamples", "recalibration", *threshold)
        purpose = {} if self.purpose is None else {"purpose": self.purpose}
        return {
            "metrics": [metric.id for metric in self.metrics],
            "lens": self.lens.name if isinstance(self.lens, Lens) else self.lens,
            **{name: getattr(self, name) for name in names},
            **purpose,
        }


def _read_metadata(metadata: Any) -> dict[str, str]:
    if metadata is None:
        return {}
    example = 'for example {"model": "churn-gbm"}'
    if not isinstance(metadata, Mapping):
        raise ArgumentError("metadata", f"must be a mapping; got {type(metadata).__name__}", example)
    for key, value in metadata.items():
        if not (isinstance(key, str) and key.strip()):
            raise ArgumentError("metadata", f"has a key that is not text: {key!r}", example)
        if isinstance(value, (Mapping, list, tuple, set)):
            raise ArgumentError("metadata", f"{key!r} must be one value; got {type(value).__name__}", "join it to text")
    return {key: str(value) for key, value in metadata.items()}
