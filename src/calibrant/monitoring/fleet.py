"""A fleet of monitored models: the table of models in configuration files, and the status of all of them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import CalibrantError, FileError, InputTypeError
from ..inference.multiplicity import e_bh
from ..util.checks import check_fraction
from ..util.configuration import OWN, Configuration, find_configuration, read_configuration
from ..util.results import Record, percent, plain_value, several
from .monitor import Monitor
from .status import Alarm

SOURCES = ("predictions", "labels")
"""Entries of a model that name its files; each may be a table, so that no model can have such a name."""
STATES = ("alarm", "failed", "drift", "quiet")
"""What a model is listed as, from the worst: calibration alarms, a failed update, other alarms, none of these."""


@dataclass(frozen=True, repr=False)
class FleetModel(Record):
    """A monitored model, as named in a configuration file.

    Parameters
    ----------
    name : str
        Name of the model: that of its table.
    store : str
        Path or address of its store.
    options : mapping
        Further entries of its table, such as sources, columns and levels, over those of ``[models]``.
    configuration : Configuration
        The file that names it.
    """

    _hidden = ("store", "options", "configuration")  # addresses may contain passwords

    name: str
    store: str
    options: Mapping[str, Any]
    configuration: Configuration

    @property
    def folder(self) -> Path:
        """The folder of the configuration file, to which paths are relative."""
        return self.configuration.path.parent

    @property
    def exists(self) -> bool:
        """Whether the store is a file that exists, or a database on a server."""
        return "://" in self.store or os.path.exists(self.store)

    def _title(self) -> str:
        return self.name


def model_error(model: FleetModel, problem: str, remedy: str = "", key: str | None = None) -> FileError:
    """An error about an entry of the table of a model, with the line of the file."""
    table = f"models.{model.name}"
    if key is None:
        return FileError(model.configuration.name, f"[{table}]: {problem}", remedy)
    own = model.configuration.tables["models"].get(model.name, {})
    return model.configuration.error(problem, remedy, table if key in own else "models", key)


def load_fleet(path: str | os.PathLike[str] | None = None) -> tuple[FleetModel, ...]:
    """Read the models that a configuration names, without opening their stores.

    Each table ``[models.NAME]`` is a model; entries of ``[models]`` itself are defaults of all of them, in which ``{model}`` stands for
    the name. Paths are relative to the folder of the file.

    Parameters
    ----------
    path : str or path-like, optional
        A configuration file, or a folder with a ``calibrant.toml``. By default the configuration that the command line finds here.

    Returns
    -------
    tuple of FleetModel
        The models with ``name`` and ``store``, in the order of the file.

    Raises
    ------
    FileError
        If the file cannot be read, a model has no store, or two models have the same store.

    Examples
    --------
    >>> import os, tempfile
    >>> from calibrant.monitoring import load_fleet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "calibrant.toml"), "w") as file:
    ...         _ = file.write('[models]\\nstore = "{model}.db"\\n[models.churn]\\n[models.fraud]\\n')
    ...     models = load_fleet(folder)
    >>> [(model.name, os.path.basename(model.store)) for model in models]
    [('churn', 'churn.db'), ('fraud', 'fraud.db')]
    """
    file = _configuration(path)
    models = _models_of(file)
    seen: dict[str, FleetModel] = {}
    for model in models:
        place = model.store if "://" in model.store else os.path.realpath(model.store)
        before = seen.setdefault(place, model)
        if before is not model:
            problem = f"the model {before.name!r} has the same store"
            raise model_error(model, problem, "give each model its own store")
    return tuple(models)


def _configuration(path: str | os.PathLike[str] | None) -> Configuration:
    """The file at a path, in a folder, or the one that is found from here."""
    if path is None:
        found = find_configuration()
    else:
        place = Path(path)
        found = read_configuration(place / OWN if place.is_dir() else place, named=True)
    if found is None:
        raise FileError(OWN, "no such file here or in a folder above", "name the file or folder with the models")
    return found


def _models_of(file: Configuration) -> list[FleetModel]:
    tables = file.tables.get("models", {})
    if not isinstance(tables, dict):
        raise file.error("must be a table", "write [models]", "", "models")
    both = {key: value for key, value in tables.items() if not _is_model(key, value)}
    found = []
    for name, own in tables.items():
        if not _is_model(name, own):
            if isinstance(own, dict) and "store" in own:
                raise file.error("is an entry of models, and cannot be the name of one", "rename it", "models", name)
            continue
        entries = {**{key: _named(value, name, key in SOURCES) for key, value in both.items()}, **own}
        store = entries.pop("store", None)
        if not isinstance(store, str) or not store:
            raise file.error("expected the path of its store", 'write store = "NAME.db"', "models", name)
        store = store if "://" in store else str(file.path.parent / store)
        found.append(FleetModel(name, store, entries, file))
    return found


def _is_model(key: str, value: Any) -> bool:
    return isinstance(value, dict) and key not in SOURCES


def _named(value: Any, name: str, is_file: bool) -> Any:
    """A default with the name of the model in place of ``{model}``; in the pattern of files, the name stands for itself."""
    if isinstance(value, list):
        return [_named(each, name, is_file) for each in value]
    if isinstance(value, dict):
        return {key: _named(each, name, key == "file") for key, each in value.items()}
    return value.replace("{model}", glob.escape(name) if is_file else name) if isinstance(value, str) else value


@dataclass(frozen=True, repr=False)
class ModelStatus(Record):
    """Status of one model of a fleet.

    Parameters
    ----------
    model : str
        Name of the model.
    state : {"alarm", "failed", "drift", "quiet"}
        An alarm about calibration that is not acknowledged; a failed update or an unusable store; an alarm about scores; or none of these.
    selected : bool
        Whether the e-BH procedure over all models selects it as miscalibrated.
    verdict : str
        Verdict of its monitor, in one sentence.
    error : str or None
        Why it could not be updated or read.
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
    intake : tuple of mapping
        Files that the run added, each with its number of rows or labels and what became of them.
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
    intake: tuple[Mapping[str, Any], ...] = ()

    @property
    def words(self) -> str:
        """What is wrong, or the verdict of the monitor."""
        if self.error is None:
            return self.verdict
        return f"Failed: {self.error}{'' if self.error.endswith(('.', '?')) else '.'} {self.verdict}".rstrip()

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
        """Models that could not be updated or read."""
        return tuple(each.model for each in self.models if each.error is not None)

    @property
    def verdict(self) -> str:
        """One sentence; it never claims that predictions are calibrated."""
        open_alarms = sum(bool(each.alarms) for each in self.models)
        parts = [f"{open_alarms:,} of {several(len(self.models), 'model')} with an open alarm"]
        if self.selected:
            parts.append(f"{len(self.selected):,} selected by e-BH (false discovery rate {percent(self.alpha, 0)})")
        if self.failed:
            parts.append(f"{len(self.failed):,} failed")
        return "; ".join(parts) + "."

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain values.

        Returns
        -------
        dict
            JSON values; infinite numbers are text.
        """
        names = ("verdict", "alpha", "selected", "failed", "models")
        found: dict[str, Any] = plain_value({name: getattr(self, name) for name in names})
        return found

    def _columns(self) -> dict[str, list[Any]]:
        """One row per model."""
        names = [name for name in ModelStatus.__dataclass_fields__ if name not in ("alarms", "intake")]
        columns = {name: [getattr(each, name) for each in self.models] for name in names}
        return {**columns, "open_alarms": [len(each.alarms) for each in self.models]}

    def _title(self) -> str:
        shown = [f"  {each!r}" for each in self.models[:10]]
        more = len(self.models) - len(shown)
        return "\n".join([self.verdict, *shown, *([f"  and {more:,} more"] if more > 0 else [])])


def fleet_status(
    models: Mapping[str, str | os.PathLike[str] | Monitor],
    *,
    alpha: float = 0.05,
    errors: Mapping[str, str] | None = None,
    intake: Mapping[str, Iterable[Mapping[str, Any]]] | None = None,
) -> FleetStatus:
    """Return the status of several monitored models, the worst first, with the false discoveries among all of them controlled.

    Each monitor keeps its own alarms at its own levels. With two hundred models some of them are false; the e-BH procedure over the
    e-values of their sequential tests selects the models for which the evidence suffices among so many.

    Parameters
    ----------
    models : mapping of str to str, path or Monitor
        The stores by the name of the model, such as ``{model.name: model.store for model in load_fleet()}``.
    alpha : float, default 0.05
        False discovery rate among the selected models.
    errors : mapping of str to str, optional
        What else went wrong, by model, for example with the source of its data.
    intake : mapping of str to iterable of mapping, optional
        Files that were added, by model, each with its number of rows or labels and what became of them.

    Returns
    -------
    FleetStatus
        ``models``, ``selected``, ``failed`` and ``verdict``; ``to_frame()`` has one row per model. A store that cannot be read is
        an ``error`` of its model.

    See Also
    --------
    calibrant.inference.e_bh : The procedure.
    calibrant.monitoring.load_fleet : Read the models from configuration files.

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
        error = (errors or {}).get(name)
        try:
            status = _model_status(name, store if isinstance(store, Monitor) else Monitor.open(store), error)
        except (CalibrantError, OSError) as problem_of_store:
            status = ModelStatus(name, "failed", False, "", error or " ".join(str(problem_of_store).split()))
        statuses.append(replace(status, intake=tuple((intake or {}).get(name, ()))))
    chosen = e_bh([each.e_value or 0.0 for each in statuses], alpha=alpha)
    statuses = [replace(each, selected=bool(is_selected)) for each, is_selected in zip(statuses, chosen, strict=True)]
    return FleetStatus(tuple(sorted(statuses, key=_rank)), float(alpha))


def _rank(each: ModelStatus) -> tuple[Any, ...]:
    return (not each.selected, STATES.index(each.state), -(each.e_value or 0.0), each.model)


def _model_status(name: str, monitor: Monitor, error: str | None) -> ModelStatus:
    """The status of one model before the selection among all models."""
    status = monitor.status(last=1)
    kinds = {alarm.kind for alarm in status.open_alarms}
    if kinds & {"calibration", "change"}:
        state = "alarm"
    else:
        state = "failed" if error is not None else "drift" if kinds else "quiet"
    last = status.windows[-1].window if status.windows else None
    evidence = (status.n, status.labelled, status.process.value, status.open_alarms)
    return ModelStatus(name, state, False, status.verdict, error, last, *evidence)
