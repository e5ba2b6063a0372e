"""What is to be done, read from a TOML file and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

NEEDED = {
    "data": ("train", "validation"),
    "network": ("kind", "width", "epochs", "batch", "rates", "weight_decays"),
    "tuning": ("most_loss", "label_smoothing", "mixup", "focal", "histogram_bins"),
    "measuring": ("seeds", "bins", "gamma", "top_k", "chance_draws", "stability_draws"),
}
OPTIONAL = ("intervals", "hierarchy")


@dataclass(frozen=True)
class Plan:
    """The sections of a configuration."""

    data: dict[str, Any]
    network: dict[str, Any]
    tuning: dict[str, Any]
    measuring: dict[str, Any]
    intervals: dict[str, Any] | None = None
    hierarchy: dict[str, Any] | None = None

    def with_classes(self, names: tuple[str, ...]) -> Plan:
        """The same plan with classes of the hierarchy by their number, where they were given by name."""
        if self.hierarchy is None:
            return self
        return replace(self, hierarchy={**self.hierarchy, "groups": numbered(self.hierarchy["groups"], names)})

    def smaller(self) -> Plan:
        """One seed, few epochs, two strengths of each: to see that everything runs."""
        short = {key: value[:2] for key, value in self.tuning.items() if isinstance(value, list)}
        return replace(
            self,
            network={**self.network, "epochs": 4, "rates": self.network["rates"][:1]},
            tuning={**self.tuning, **short},
            measuring={
                **self.measuring,
                "seeds": self.measuring["seeds"][:1],
                "chance_draws": 1,
                "stability_draws": 3,
            },
        )


def read_plan(path: Path) -> Plan:
    """A configuration, or a ValueError that names what is missing or unknown."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := set(found) - set(NEEDED) - set(OPTIONAL):
        raise ValueError(f"{path.name}: unknown section [{min(unknown)}]; known: {', '.join([*NEEDED, *OPTIONAL])}")
    for section, keys in NEEDED.items():
        if missing := [key for key in keys if key not in found.get(section, {})]:
            raise ValueError(f"{path.name}: [{section}] needs {missing[0]!r}")
    if found["network"]["kind"] not in ("mlp", "cnn"):
        raise ValueError(f"{path.name}: [network] kind must be 'mlp' or 'cnn'; got {found['network']['kind']!r}")
    if "intervals" in found and "hierarchy" not in found:
        raise ValueError(f"{path.name}: [intervals] asks about a group, and there is no [hierarchy]")
    return Plan(**found)


def numbered(groups: Any, names: tuple[str, ...]) -> Any:
    """Lists of classes by number, however deep the groups are nested."""
    if isinstance(groups, Mapping):
        return {name: numbered(part, names) for name, part in groups.items()}
    if unknown := [one for one in groups if str(one) not in names]:
        raise ValueError(f"hierarchy: there is no class {unknown[0]!r}; classes: {', '.join(names)}")
    return [names.index(str(one)) for one in groups]


def classes_of(groups: Any, name: str) -> list[int] | None:
    """All classes of a group, found at any depth; None where there is no such group."""

    def every(part: Any) -> list[int]:
        return [one for inner in part.values() for one in every(inner)] if isinstance(part, Mapping) else list(part)

    for key, part in groups.items():
        if key == name:
            return every(part)
        if isinstance(part, Mapping) and (found := classes_of(part, name)) is not None:
            return found
    return None
