"""Options of metrics and of resampling on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..metrics.registry import Metric
from .listing import metric_named


class MetricOptions(NamedTuple):
    """The options that say what metrics evaluate, and how."""

    lens: str | None
    bins: int | str | list[float] | None
    binning: str | None
    further: dict[str, Any]

    @classmethod
    def take(cls, options: dict[str, Any]) -> MetricOptions:
        """Take these options from those of a command."""
        return cls(**{name: options.pop(name) for name in cls._fields})

    @property
    def stated(self) -> dict[str, Any]:
        """The options of metrics that were given, by their names."""
        options = {name: value for name, value in self._asdict().items() if name != "further"}
        return {name: value for name, value in {**options, **self.further}.items() if value is not None}

    def keywords(self) -> dict[str, Any]:
        """Keywords of `evaluate`."""
        stated = {"lens": self.lens, "bins": self.bins}
        binning = {} if self.binning is None else {"binning": self.binning}
        return {**{name: v for name, v in stated.items() if v is not None}, "options": {**binning, **self.further}}

    def keywords_of(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        """Keywords of `assess` and `compare`, with the further options of one metric."""
        if self.further and len(metrics) > 1:
            raise ArgumentError("--option", "applies to one metric", "use --metric")
        stated = {"lens": self.lens, "bins": self.bins, "binning": self.binning}
        options = {name: value for name, value in stated.items() if value is not None}
        for key, value in self.further.items():
            name, dot, option = key.rpartition(".")
            if dot and metric_named(name, "--option").id != metrics[0].id:
                raise ArgumentError("--option", f"{name} is not evaluated", f"the metric is {metrics[0].id}")
            if option not in metrics[0].options:
                accepted = ", ".join(metrics[0].options) or "none"
                raise ArgumentError("--option", f"{metrics[0].id} has no {option!r}", f"the options are {accepted}")
            options[option] = value
        return options


class Draws(NamedTuple):
    """The options of resampling."""

    resamples: int
    seed: int

    @classmethod
    def take(cls, options: dict[str, Any]) -> Draws:
        """Take these options from those of a command."""
        return cls(options.pop("resamples"), options.pop("seed"))

    def keywords(self) -> dict[str, Any]:
        """Keywords of functions that draw."""
        return {"n_resamples": self.resamples, "rng": self.seed}
