"""Plug-ins: metrics, calibrators, readers of files and sections of reports of other packages.

A package names a module under one of the entry points ``calibrant.metrics``, ``calibrant.calibrators``, ``calibrant.readers`` and
``calibrant.report_sections``. Importing the module registers what it defines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module, util
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ArgumentError, PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KINDS = ("metrics", "calibrators", "readers", "report_sections")
READERS: dict[str, Callable[[str], Any]] = {}
"""Functions that read a file, by its suffix."""
SECTIONS: dict[str, Callable[[Any], Any]] = {}
"""Functions that compute a section of a report, by its heading."""
F = TypeVar("F", bound=Callable[[Any], Any])
# The kinds that were looked for, each with the error of a plug-in that could not be imported.
_loaded: dict[str, PluginError | None] = {}
_packages: dict[str, str] = {}
_lock = RLock()

__all__ = ["installed", "load", "load_module", "reader", "report_section"]


def load(*kinds: str) -> bool:
    """Import the plug-ins of all installed packages.

    The command line does so when it starts. In Python, plug-ins of a kind are imported when a name is looked up that is not known
    otherwise; call it for plug-ins to be listed in `catalogue` or to take part in ``method="auto"`` from the start.

    Parameters
    ----------
    *kinds : {"metrics", "calibrators", "readers", "report_sections"}
        What to import; by default all kinds.

    Returns
    -------
    bool
        Whether something was imported; False if these kinds were imported before, or no package has any.

    Raises
    ------
    PluginError
        If a plug-in cannot be imported.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.plugins.load("readers"), cal.plugins.load("readers")
    (False, False)
    """
    from importlib.metadata import EntryPoints, entry_points

    kinds = kinds or KINDS
    with _lock:  # another thread waits until all are imported
        new = [kind for kind in kinds if kind not in _loaded]
        points = entry_points() if new else EntryPoints()  # read once: they are in a file of each installed package
        imported = [_import_kind(kind, points.select(group=f"calibrant.{kind}")) for kind in new]
        for error in filter(None, map(_loaded.get, kinds)):
            raise error
    return any(imported)


def _import_kind(kind: str, points: Collection[EntryPoint]) -> bool:
    """Import the plug-ins of a kind; an error is kept, since half of what a module defines may be registered already."""
    if kind not in KINDS:
        raise ArgumentError("kinds", f"unknown kind {kind!r}", f"choose from {', '.join(KINDS)}")
    _loaded[kind] = None  # a plug-in may look up names while it is imported
    for point in points:
        package = point.dist
        assert package is not None
        try:
            point.load()
        except Exception as error:
            problem = f"its plug-in {point.value} cannot be imported ({type(error).__name__}: {error})"
            _loaded[kind] = PluginError(f"package {package.name}", problem, "correct or uninstall the package")
            break
        _packages[package.name] = package.version
    return bool(points)


def load_module(name: str) -> None:
    """Import a plug-in that no package declares, as the option ``--plugin`` does.

    Parameters
    ----------
    name : str
        Name of a module, or path of a Python file.

    Raises
    ------
    PluginError
        If it cannot be imported.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.plugins.load_module("nothing")
    Traceback (most recent call last):
    calibrant.errors.PluginError: plugin: nothing cannot be imported (ModuleNotFoundError: No module named 'nothing'); correct it, or name another module or file
    """
    try:
        if name.endswith(".py"):
            _import_file(Path(name).resolve())
        else:
            import_module(name)
        _packages.setdefault(Path(name).stem if name.endswith(".py") else name, "")
    except Exception as error:
        problem = f"{name} cannot be imported ({type(error).__name__}: {error})"
        raise PluginError("plugin", problem, "correct it, or name another module or file") from error


def _import_file(path: Path) -> None:
    known = sys.modules.get(path.stem)
    if known is not None:
        if getattr(known, "__file__", None) != str(path):
            raise ImportError(f"a module {path.stem} exists already; rename the file")
        return
    spec = util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[path.stem] = module = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise


def installed() -> Mapping[str, str]:
    """Return the packages whose plug-ins were imported.

    Returns
    -------
    mapping of str to str
        Versions by name; empty for a module that was imported by `load_module`.

    Examples
    --------
    >>> import calibrant as cal
    >>> dict(cal.plugins.installed())
    {}
    """
    return dict(sorted(_packages.items()))


def reader(*suffixes: str) -> Callable[[F], F]:
    """Declare a function that reads files of a format.

    Wherever calibrant reads files, on the command line and in Python, it calls the function with the path of a file that has one of the
    suffixes. Formats that calibrant reads itself cannot be replaced.

    Parameters
    ----------
    *suffixes : str
        Endings of the names of the files, such as ``".arff"``.

    Returns
    -------
    callable
        Decorator of a function of a path that returns a frame, or a mapping of column names to arrays with as many rows.

    Raises
    ------
    ArgumentError
        If a suffix is not one, or has another reader.

    Examples
    --------
    >>> import calibrant as cal
    >>> @cal.plugins.reader(".pairs")
    ... def read_pairs(path):
    ...     rows = [line.split(":") for line in open(path)]
    ...     return {"label": [int(row[0]) for row in rows], "prob": [float(row[1]) for row in rows]}
    """
    for suffix in suffixes:
        if not suffix.startswith(".") or suffix != suffix.lower():
            raise ArgumentError("suffixes", f"must be lower-case suffixes such as '.arff'; got {suffix!r}")
    return lambda function: _register(READERS, suffixes, function)


def report_section(title: str) -> Callable[[F], F]:
    """Declare a function that computes a section of a report.

    The section stands between the confidence threshold and the provenance of every report.

    Parameters
    ----------
    title : str
        Heading of the section.

    Returns
    -------
    callable
        Decorator of a function of `Predictions` that returns text, or a table as a mapping of headings to columns of numbers and text.
        The first line of its docstring stands above the table. If it raises an error of calibrant, the section states the reason.

    Raises
    ------
    ArgumentError
        If the heading belongs to another function.

    Examples
    --------
    >>> import calibrant as cal
    >>> @cal.plugins.report_section("Sizes")
    ... def sizes(preds):
    ...     "Rows and classes."
    ...     return {"rows": [preds.n], "classes": [preds.k]}
    >>> cal.report([0, 1] * 50, [0.3, 0.6] * 50, metrics=["brier"]).sections[0].columns
    {'rows': (100,), 'classes': (2,)}
    """
    return lambda function: _register(SECTIONS, (title,), function)


def _register(table: dict[str, Callable[[Any], Any]], names: tuple[str, ...], function: F) -> F:
    for name in names:
        other = table.get(name, function)
        if other.__module__ != function.__module__:
            raise ArgumentError("name", f"{name!r} is already used by {other.__module__}.{other.__qualname__}")
        table[name] = function
    return function
