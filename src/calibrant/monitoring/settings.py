"""Settings of a monitor, fixed at its creation: lens, windows, significance levels, and the horizon of labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentError, LensError
from ..util.checks import check_choice, check_fraction, check_whole, is_number
from .changepoint import check_detector
from .ood import OodScale
from .windows import WindowRule, read_duration

# What a monitor can remember of the files that it is updated from.
COLUMNS = ("label", "prob", "probs", "logits", "confidence", "time", "id", "by")


@dataclass(frozen=True)
class Settings:
    """Settings that are fixed at the creation of a monitor."""

    kind: str
    """``"binary"``, ``"multiclass"`` or ``"confidence"``."""
    classes: tuple[Any, ...]
    named: bool
    """Whether labels are these names; otherwise they are class indices."""
    lens: str
    rule: WindowRule
    alpha: float
    run_length: float
    drift_alpha: float
    mature: float
    """Share of labelled rows at which a window is tested."""
    horizon: int | None
    """Microseconds (or rows) after the end of a window at which it is tested regardless."""
    missing: str
    """After the horizon: whether to ``"ignore"`` unlabelled rows or to count them as ``"negative"``."""
    n_resamples: int
    declared: int
    """Number of groups declared at creation."""
    by: str | None = None
    """Column of groups in files."""
    ood: tuple[OodScale, ...] = ()
    """Out-of-distribution scores that are watched beside the predictions."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of labels, scores, times and ids in files."""
    keep: int | str | None = None
    """How long rows are kept: a duration, or a number of windows; None for ever."""
    features: tuple[str, ...] = ()
    """Columns of features that are stored with the rows."""
    online: bool = False
    """Whether an online recalibration of the scores is kept up to date."""

    def __post_init__(self) -> None:
        check_fraction(self.alpha, "alpha", 0.05)
        check_fraction(self.drift_alpha, "drift_alpha", 0.01)
        check_detector(self.run_length, "sr")
        if not (is_number(self.mature) and 0 < self.mature <= 1):
            raise ArgumentError("mature", f"must be in (0, 1]; got {self.mature!r}", "for example 0.95")
        check_whole(self.n_resamples, "n_resamples", 19)
        if self.missing not in ("ignore", "negative"):
            raise ArgumentError("missing", f"must be 'ignore' or 'negative'; got {self.missing!r}")
        if self.missing == "negative" and self.horizon is None:
            raise ArgumentError(
                "missing", "'negative' requires horizon", "give the time after which a missing label means no event"
            )
        if self.missing == "negative" and (self.kind != "binary" or self.lens != "binary"):
            raise ArgumentError("missing", "'negative' is supported for two classes only", "use 'ignore'")
        check_watched(self.lens)
        check_choice(self.online, "online", (True, False))

    @property
    def k(self) -> int:
        """Number of classes."""
        return max(2, len(self.classes))

    @property
    def names(self) -> tuple[Any, ...] | None:
        """Names of the labels; None for class indices."""
        return self.classes if self.named else None

    def share(self, number: int, declared: bool) -> float:
        """Share of the level of the group with this number, counted from 1; all shares sum to at most 1."""
        if not self.declared:
            return 1 / (number * (number + 1))
        return 1 / (2 * self.declared) if declared else 1 / (2 * number * (number + 1))

    def is_past_horizon(self, place: int, clock: int | None) -> bool:
        """Whether the horizon of the window has passed."""
        if self.horizon is None or clock is None:
            return False
        return clock >= self.rule.span(place)[1] + self.horizon

    def to_dict(self) -> dict[str, Any]:
        """Plain values, the input of `of_dict`."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        lists = {
            "classes": list(self.classes),
            "features": list(self.features),
            "ood": [each._asdict() for each in self.ood],
        }
        return {**values, **lists, "rule": self.rule.to_dict(), "columns": dict(self.columns)}

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> Settings:
        plain = {"features": (), "online": False, **plain}  # older stores have none
        values = {name: plain[name] for name in cls.__dataclass_fields__}
        tuples: dict[str, Any] = {name: tuple(plain[name]) for name in ("classes", "features")}
        tuples["ood"] = tuple(OodScale(**each) for each in plain["ood"])
        return cls(**{**values, **tuples, "rule": WindowRule.of_dict(plain["rule"])})


def check_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """Check the names of columns."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) and name for name in columns.values()):
        raise ArgumentError("columns", f"must be a mapping to names of columns; got {columns!r}")
    unknown = next((key for key in columns if key not in COLUMNS), None)
    if unknown is not None:
        raise ArgumentError("columns", f"unknown key {unknown!r}", f"use {', '.join(COLUMNS)}")
    return dict(columns)


def check_watched(lens: Any) -> None:
    """Check that the lens has one score per row."""
    if not isinstance(lens, str) or (lens not in ("binary", "top_label") and not lens.startswith("class:")):
        raise LensError("lens", f"{lens!r} cannot be monitored", "use 'binary', 'top_label' or 'class:NAME'")


def read_horizon(horizon: Any, rule: WindowRule) -> int | None:
    """Parse the horizon: a duration, or a number of rows for windows of rows."""
    if horizon is None:
        return None
    if rule.by_time:
        return read_duration(horizon, "horizon")
    if isinstance(horizon, str) or not is_number(horizon) or not math.isfinite(horizon):
        raise ArgumentError("horizon", f"must be a number of rows for windows of rows; got {horizon!r}")
    return check_whole(horizon, "horizon")


def read_keep(keep: Any, rule: WindowRule) -> int | str | None:
    """Check how long rows are kept: a duration, or a number of windows."""
    if isinstance(keep, str) and keep.strip().isdigit():
        keep = int(keep)
    if keep is None or (isinstance(keep, str) and rule.by_time and read_duration(keep, "keep")):
        return keep
    if isinstance(keep, str) or not is_number(keep) or not math.isfinite(keep):
        example = "for example '90d' or 90" if rule.by_time else "for example 90"
        expected = "a duration or a number of windows" if rule.by_time else "a number of windows"
        raise ArgumentError("keep", f"must be {expected}; got {keep!r}", example)
    return check_whole(keep, "keep")
