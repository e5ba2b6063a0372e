"""Online recalibration beside a monitor: it learns from each tested window, and is compared with the scores as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..inference.seeds import generator
from ..sketches.sketch import Sketch
from ..util.results import Record, number, several
from .queries import Transaction
from .sequential import as_counted
from .settings import Settings

if TYPE_CHECKING:
    from ..recalibration.online import OnlineCalibration

# Rows of a window from which the calibrator learns at most, drawn at random: it takes them one by one.
MOST_ROWS = 5000
STATE = "online"


@dataclass(frozen=True, repr=False)
class OnlineRecalibration(Record):
    """Online recalibration and the scores as they are, compared on each tested window before its labels were learned from.

    Parameters
    ----------
    windows : tuple of str
        The windows shown.
    rows : tuple of int
        Number of labelled rows of each.
    brier : tuple of float
        Brier score of the scores.
    recalibrated : tuple of float
        Brier score of the recalibrated scores.
    total_rows : int
        Labelled rows of all tested windows.
    mean_brier : float
        Brier score of the scores, over all of these rows.
    mean_recalibrated : float
        Brier score of the recalibrated scores, over all of these rows.
    """

    windows: tuple[str, ...]
    rows: tuple[int, ...]
    brier: tuple[float, ...]
    recalibrated: tuple[float, ...]
    total_rows: int
    mean_brier: float
    mean_recalibrated: float

    def _columns(self) -> dict[str, list[Any]]:
        return {name: list(getattr(self, name)) for name in ("windows", "rows", "brier", "recalibrated")}

    def _title(self) -> str:
        lower = sum(new < old for new, old in zip(self.recalibrated, self.brier, strict=True))
        return (
            f"Online recalibration: Brier score {number(self.mean_recalibrated)}, that of the scores {number(self.mean_brier)} "
            f"({self.total_rows:,} labelled rows); lower in {lower} of the last {several(len(self.windows), 'window')}."
        )


def learn_window(db: Transaction, place: int, labelled: Sketch) -> None:
    """Compare the calibrator with the scores on the labelled rows of a window, then learn from these, and store both."""
    from ..recalibration.online import OnlineCalibration
    from ..recalibration.persistence import to_text

    score, rows, events = as_counted(labelled)
    calibrator = stored_calibrator(db)
    recalibrated = score if calibrator is None else calibrator.predict_proba(score)[:, 1]
    calibrator = OnlineCalibration() if calibrator is None else calibrator
    losses = [float(events @ (1 - p) ** 2 + (rows - events) @ p**2) for p in (score, recalibrated)]
    # A window has no order of its rows, which the calibrator takes one by one.
    each = np.repeat(np.arange(2 * len(score)), np.concatenate([rows - events, events]).astype(np.int64))
    each = generator(0, abs(place)).permutation(each)[:MOST_ROWS]
    calibrator.update(score[each % len(score)], each // len(score))
    before = db.meta(STATE) or {"rows": 0, "losses": [0.0, 0.0]}
    totals = [old + new for old, new in zip(before["losses"], losses, strict=True)]
    state = {"calibrator": to_text(calibrator), "rows": before["rows"] + labelled.n, "losses": totals}
    db.set_meta(STATE, state)
    db.set_meta(f"{STATE} {place}", [labelled.n, *(loss / labelled.n for loss in losses)])


def stored_calibrator(db: Transaction) -> OnlineCalibration | None:
    """Return the calibrator after the newest tested window; None before the first."""
    from ..recalibration.persistence import from_text

    state = db.meta(STATE)
    return None if state is None else cast("OnlineCalibration", from_text(state["calibrator"].encode(), "store"))


def online_status(db: Transaction, settings: Settings, places: Sequence[int]) -> OnlineRecalibration | None:
    """Return the comparison in some windows, and in all; None before a window was tested."""
    state = db.meta(STATE)
    if state is None:
        return None
    windows = {settings.rule.name(place): db.meta(f"{STATE} {place}") for place in places}
    windows = {name: content for name, content in windows.items() if content is not None}
    rows, brier, recalibrated = zip(*windows.values(), strict=True) if windows else ((), (), ())
    means = (loss / state["rows"] for loss in state["losses"])
    return OnlineRecalibration(tuple(windows), rows, brier, recalibrated, state["rows"], *means)
