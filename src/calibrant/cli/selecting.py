"""Options of metrics and of resampling on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..metrics.registry import Metric
from ..views.lenses import Lens, class_groups
from .listing import metric_named

EXAMPLE = 'write it as "animal=cat,dog; vehicle=car"'


class MetricOptions(NamedTuple):
    """The options that say what metrics evaluate, and how."""

    lens: str | None
    bins: int | str | list[float] | None
    binning: str | None
    class_groups: str | None
    further: dict[str, Any]

    @classmethod
    def take(cls, options: dict[str, Any]) -> MetricOptions:
        """Take these options from those of a command."""
        return cls(**{name: options.pop(name) for name in cls._fields})

    @property
    def stated(self) -> dict[str, Any]:
        """The options of metrics that were given, by their names."""
        own = {name: value for name, value in self._asdict().items() if name != "further"}
        return {name: value for name, value in {**own, **self.further}.items() if value is not None}

    def keywords(self) -> dict[str, Any]:
        """Keywords of `evaluate`."""
        stated = {"lens": self.chosen_lens, "bins": self.bins}
        binning = {} if self.binning is None else {"binning": self.binning}
        return {**{name: v for name, v in stated.items() if v is not None}, "options": {**binning, **self.further}}

    @property
    def chosen_lens(self) -> str | Lens | None:
        """The lens of ``--lens`` or ``--class-groups``."""
        chosen = lens_or_groups(self.lens, self.class_groups)
        return class_groups(chosen) if isinstance(chosen, dict) else chosen

    def keywords_of(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        """Keywords of `assess` and `compare`, with the further options of one metric."""
        if self.further and len(metrics) > 1:
            raise ArgumentError("--option", "applies to one metric", "use --metric")
        stated = {"lens": self.chosen_lens, "bins": self.bins, "binning": self.binning}
        found = {name: value for name, value in stated.items() if value is not None}
        for key, value in self.further.items():
            name, dot, option = key.rpartition(".")
            if dot and metric_named(name, "--option").id != metrics[0].id:
                raise ArgumentError("--option", f"{name} is not evaluated", f"the metric is {metrics[0].id}")
            if option not in metrics[0].options:
                known = ", ".join(metrics[0].options) or "none"
                raise ArgumentError("--option", f"{metrics[0].id} has no {option!r}", f"the options are {known}")
            found[option] = value
        return found


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


def lens_or_groups(lens: str | None, groups: str | None) -> str | dict[str, list[str]] | None:
    """The lens of ``--lens``, or the classes of each group of ``--class-groups``."""
    if groups is None:
        return lens
    if lens is not None:
        raise ArgumentError("--class-groups", "cannot be combined with --lens", "give one of them")
    mapping: dict[str, list[str]] = {}
    for part in groups.split(";"):
        name, sign, members = part.partition("=")
        classes = [member.strip() for member in members.split(",") if member.strip()]
        if not sign or not name.strip() or not classes:
            raise ArgumentError("--class-groups", f"{part.strip()!r} is not a group with its classes", EXAMPLE)
        if name.strip() in mapping:
            raise ArgumentError(
                "--class-groups", f"the group {name.strip()!r} was given twice", "give all its classes at once"
            )
        mapping[name.strip()] = classes
    if len(mapping) < 2:
        raise ArgumentError("--class-groups", "must have two or more groups; got 1", EXAMPLE)
    return mapping
