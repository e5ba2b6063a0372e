"""The status of a fleet of monitored models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import CalibrantError, InputTypeError
from ..inference.multiplicity import e_bh
from ..util.checks import check_fraction
from ..util.results import Record, plain_value, several
from .monitor import Monitor
from .status import Alarm

STATES = ("alarm", "failed", "drift", "quiet")
"""What a model is listed as, from the worst: calibration alarms, an unusable store, other alarms, none of these."""


@dataclass(frozen=True, repr=False)
class ModelStatus(Record):
    """Status of one model of a fleet.

    Parameters
    ----------
    model : str
        Name of the model.
    state : {"alarm", "failed", "drift", "quiet"}
        An alarm about calibration that is not acknowledged; a store that cannot be read; an alarm about scores; or none of these.
    selected : bool
        Whether the e-BH procedure over all models selects it as miscalibrated.
    verdict : str
        Verdict of its monitor, in one sentence.
    error : str or None
        Why its store could not be read.
    last_window : str or None
        The newest window with rows.
    n : int
        Number of rows.
    labelled : int
        Number of labelled rows.
    e_value : float or None
        Current e-value of the sequential test of all rows; None if the store cannot be read.
    alarms : tuple of Alarm
        Alarms that are not acknowledged.
    """

    model: str
    state: str
    selected: bool
    verdict: str
    error: str | None = None
    last_window: str | None = None
    n: int = 0
    labelled: int = 0
    e_value: float | None = None
    alarms: tuple[Alarm, ...] = ()

    @property
    def words(self) -> str:
        """What is wrong, or the verdict of the monitor."""
        return self.verdict if self.error is None else f"Failed: {self.error}"

    def _title(self) -> str:
        return f"{self.model}: {self.words}"


@dataclass(frozen=True, repr=False)
class FleetStatus(Record):
    """Status of all models of a fleet, the worst first.

    Parameters
    ----------
    models : tuple of ModelStatus
        The models: those selected by the e-BH procedure first, then by state and evidence.
    alpha : float
        False discovery rate of the e-BH procedure.
    """

    models: tuple[ModelStatus, ...]
    alpha: float

    @property
    def selected(self) -> tuple[str, ...]:
        """Models that the e-BH procedure selects as miscalibrated."""
        return tuple(each.model for each in self.models if each.selected)

    @property
    def failed(self) -> tuple[str, ...]:
        """Models whose stores could not be read."""
        return tuple(each.model for each in self.models if each.error is not None)

    @property
    def verdict(self) -> str:
        """One sentence; it never claims that predictions are calibrated."""
        open_alarms = sum(bool(each.alarms) for each in self.models)
        phrases = [f"{open_alarms:,} of {several(len(self.models), 'model')} with an open alarm"]
        if self.selected:
            phrases.append(f"{len(self.selected):,} selected by e-BH (false discovery rate {100 * self.alpha:g}%)")
        if self.failed:
            phrases.append(f"{len(self.failed):,} failed")
        return "; ".join(phrases) + "."

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain values.

        Returns
        -------
        dict
            JSON values; infinite numbers are text.
        """
        names = ("verdict", "alpha", "selected", "failed", "models")
        plain: dict[str, Any] = plain_value({name: getattr(self, name) for name in names})
        return plain

    def _columns(self) -> dict[str, list[Any]]:
        """One row per model."""
        names = [name for name in ModelStatus.__dataclass_fields__ if name != "alarms"]
        columns = {name: [getattr(each, name) for each in self.models] for name in names}
        return {**columns, "open_alarms": [len(each.alarms) for each in self.models]}

    def _title(self) -> str:
        lines = [f"  {each!r}" for each in self.models[:10]]
        unlisted = len(self.models) - len(lines)
        return "\n".join([self.verdict, *lines, *([f"  and {unlisted:,} more"] if unlisted > 0 else [])])


def fleet_status(
    models: Mapping[str, str | os.PathLike[str] | Monitor],
    *,
    alpha: float = 0.05,
) -> FleetStatus:
    """Return the status of several monitored models, the worst first, with the false discoveries among all of them controlled.

    Each monitor keeps its own alarms at its own levels. With two hundred models some of them are false; the e-BH procedure over the
    e-values of their sequential tests selects the models for which the evidence suffices among so many.

    Parameters
    ----------
    models : mapping of str to str, path or Monitor
        The stores by the name of the model, such as ``{path.stem: path for path in Path("stores").glob("*.db")}``.
    alpha : float, default 0.05
        False discovery rate among the selected models.

    Returns
    -------
    FleetStatus
        ``models``, ``selected``, ``failed`` and ``verdict``; ``to_frame()`` has one row per model. A store that cannot be read is
        an ``error`` of its model.

    See Also
    --------
    calibrant.inference.e_bh : The procedure.

    Notes
    -----
    The null hypothesis of a model is that its labels follow its predicted probabilities. Its e-value is the current value of the
    e-process of all rows, 1 before the first tested window; the e-BH procedure counts all models, including those that cannot be
    read. The expected share of calibrated models among the selected ones of one examination is at most `alpha`, under any dependence between
    models. The union of the selections of many examinations has no such guarantee, nor have the alarms of change detectors and of drift.

    Examples
    --------
    >>> import os, tempfile
    >>> import calibrant as cal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stores = {name: os.path.join(folder, f"{name}.db") for name in ("churn", "fraud")}
    ...     monitor = cal.Monitor.create(stores["churn"], reference=([0, 1, 1, 0] * 9, [0.1, 0.4, 0.8, 0.2] * 9), every="1d")
    ...     _ = monitor.update([1] * 60, [0.1] * 60, when="2026-01-05")
    ...     _ = monitor.advance("2026-01-06")
    ...     status = cal.monitoring.fleet_status(stores)
    >>> status.selected, status.failed
    (('churn',), ('fraud',))
    """
    check_fraction(alpha, "alpha", 0.05)
    if not isinstance(models, Mapping) or not models:
        raise InputTypeError("models", f"must be a mapping; got {models!r:.80}", 'for example {"churn": "churn.db"}')
    statuses = []
    for name, store in models.items():
        if not isinstance(name, str) or not isinstance(store, str | os.PathLike | Monitor):
            problem = f"must be names with paths of stores or monitors; got {name!r}: {type(store).__name__}"
            raise InputTypeError("models", problem)
        try:
            monitor = store if isinstance(store, Monitor) else Monitor.open(store)
            status = monitor.status(last=1)
            alarm_kinds = {alarm.kind for alarm in status.open_alarms}
            state = "alarm" if alarm_kinds & {"calibration", "change"} else "drift" if alarm_kinds else "quiet"
            last = status.windows[-1].window if status.windows else None
            evidence = (status.n, status.labelled, status.process.value, status.open_alarms)
            statuses.append(ModelStatus(name, state, False, status.verdict, None, last, *evidence))
        except (CalibrantError, OSError) as error:
            statuses.append(ModelStatus(name, "failed", False, "", " ".join(str(error).split())))
    selected = e_bh([each.e_value or 0.0 for each in statuses], alpha=alpha)
    statuses = [replace(each, selected=bool(is_selected)) for each, is_selected in zip(statuses, selected, strict=True)]
    statuses.sort(key=lambda each: (not each.selected, STATES.index(each.state), -(each.e_value or 0.0), each.model))
    return FleetStatus(tuple(statuses), float(alpha))
