"""A fleet of monitored models: the table of models in configuration files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..util.configuration import OWN, Configuration, find_configuration, read_configuration
from ..util.results import Record

__all__ = ["SOURCES", "FleetModel", "load_fleet", "model_error"]

SOURCES = ("predictions", "labels")
"""Entries of a model that name its files; each may be a table, so that no model can have such a name."""


@dataclass(frozen=True, repr=False)
class FleetModel(Record):
    """A monitored model, as named in a configuration file.

    Parameters
    ----------
    name : str
        Name of the model: that of its table.
    store : str
        Path or address of its store.
    owner : str or None
        Who is responsible for it.
    options : mapping
        Further entries of its table, such as sources, columns and levels, over those of ``[models]``.
    alerts : mapping
        Where alarms are sent: the entries of ``[alerts]`` and of its own table ``alerts``.
    configuration : Configuration
        The file that names it.
    """

    _hidden = ("store", "options", "alerts", "configuration")  # addresses may contain passwords

    name: str
    store: str
    """Path, or address with ``://``."""
    owner: str | None
    options: Mapping[str, Any]
    """Sources, columns and levels."""
    alerts: Mapping[str, Any]
    """Where alarms are sent; empty for nowhere."""
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
        return self.name if self.owner is None else f"{self.name} ({self.owner})"


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
        A configuration file, or a folder with several; in a folder, ``calibrant.toml`` gives defaults (``[models]`` and ``[alerts]``) to
        the other files. By default the configuration that the command line finds here.

    Returns
    -------
    tuple of FleetModel
        The models with ``name``, ``store`` and ``owner``, in the order of the files.

    Raises
    ------
    FileError
        If a file cannot be read, a model has no store, or two models have the same name or store.

    Examples
    --------
    >>> import os, tempfile
    >>> from calibrant.monitoring import load_fleet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "calibrant.toml"), "w") as file:
    ...         _ = file.write('[models]\\nstore = "{model}.db"\\n[models.churn]\\nowner = "Risk"\\n[models.fraud]\\n')
    ...     models = load_fleet(folder)
    >>> [(model.name, os.path.basename(model.store), model.owner) for model in models]
    [('churn', 'churn.db', 'Risk'), ('fraud', 'fraud.db', None)]
    """
    found = [model for file, shared in _files(path) for model in _models_of(file, shared)]
    for what in ("name", "store"):
        seen: dict[str, FleetModel] = {}
        for model in found:
            before = seen.setdefault(_identity(model, what), model)
            if before is not model:
                name, file = before.name, before.configuration.name
                raise model_error(
                    model, f"the model {name!r} in {file} has the same {what}", f"give each model its own {what}"
                )
    return tuple(found)


def _identity(model: FleetModel, what: str) -> str:
    value = getattr(model, what)
    return os.path.realpath(value) if what == "store" and "://" not in value else value


def _files(path: str | os.PathLike[str] | None) -> list[tuple[Configuration, Mapping[str, Any]]]:
    """The files, each with the tables of the file that gives it defaults."""
    if path is None:
        found = find_configuration()
        if found is None:
            raise FileError(OWN, "no such file here or in a folder above", "name the file or folder with the models")
        return [(found, {})]
    place = Path(path)
    if not place.is_dir():
        found = read_configuration(place, named=True)
        assert found is not None
        return [(found, {})]
    names = sorted(name for name in os.listdir(place) if name.endswith(".toml") and not name.startswith("."))
    read = [file for name in names if (file := read_configuration(place / name)) is not None]
    if not read:
        raise FileError(str(path), "has no configuration files", "add files that end in .toml")
    shared = next((file.tables for file in read if file.name == OWN), {})
    return [(file, {} if file.name == OWN else shared) for file in read]


def _models_of(file: Configuration, shared: Mapping[str, Any]) -> list[FleetModel]:
    tables, defaults = (_table(file, each, "models") for each in (file.tables, shared))
    alerts, general = (_table(file, each, "alerts") for each in (file.tables, shared))
    both = {key: value for each in (defaults, tables) for key, value in each.items() if not _is_model(key, value)}
    found = []
    for name, own in tables.items():
        if not _is_model(name, own):
            continue
        entries = {**{key: _named(value, name) for key, value in both.items()}, **own}
        store, owner, sent = entries.pop("store", None), entries.pop("owner", None), entries.pop("alerts", {})
        if not isinstance(store, str) or not store:
            raise file.error("expected the path of its store", 'write store = "NAME.db"', "models", name)
        if not isinstance(owner, str | None):
            raise file.error(f"expected text, got {owner!r}", "", f"models.{name}", "owner")
        if sent is not False and not isinstance(sent, dict):
            raise file.error("expected a table, or false", f"write [models.{name}.alerts]", f"models.{name}", "alerts")
        store = store if "://" in store else str(file.path.parent / store)
        channels = {} if sent is False else {**general, **alerts, **sent}
        found.append(FleetModel(name, store, owner, entries, channels, file))
    return found


def _is_model(key: str, value: Any) -> bool:
    return isinstance(value, dict) and key not in SOURCES


def _table(file: Configuration, tables: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = tables.get(key, {})
    if not isinstance(found, dict):
        raise file.error("must be a table", f"write [{key}]", "", key)
    return found


def _named(value: Any, name: str) -> Any:
    """A default with the name of the model in place of ``{model}``."""
    if isinstance(value, list):
        return [_named(each, name) for each in value]
    if isinstance(value, dict):
        return {key: _named(each, name) for key, each in value.items()}
    return value.replace("{model}", name) if isinstance(value, str) else value
