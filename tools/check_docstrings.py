"""Validate the docstrings of all public names with numpydoc; exit 1 if one is incomplete.

Public are the names of the packages' namespaces (functions, classes and their public methods, metrics) and of the modules
`calibrant.sklearn` and `calibrant.spark`. ``python tools/check_docstrings.py calibrant.inference`` checks one package only.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

PACKAGES = (
    "calibrant",
    "calibrant.input",
    "calibrant.views",
    "calibrant.binning",
    "calibrant.sketches",
    "calibrant.curves",
    "calibrant.metrics",
    "calibrant.inference",
    "calibrant.inference.simulation",
    "calibrant.recalibration",
    "calibrant.decision",
    "calibrant.decision.ood",
    "calibrant.clinical",
    "calibrant.evaluation",
    "calibrant.monitoring",
    "calibrant.figures",
    "calibrant.reporting",
    "calibrant.plugins",
    "calibrant.sklearn",
    "calibrant.spark",
    "calibrant.torch",
    "calibrant.torch.losses",
)

# Rules of numpydoc that are not applied, and why.
EXCEPTIONS = {
    "GL01": "the summary is on the line of the opening quotes, as in PEP 257",
    "GL02": "short docstrings close on their own line",
    "GL03": "false alarms where shared parameters are inserted",
    "GL08": "methods without a docstring inherit it, and private ones need none",
    "ES01": "a summary is sufficient for simple functions",
    "SA01": "not every function has related ones",
    "SA04": "names in See Also are self-explanatory",
    "EX01": "results and methods are shown in the examples of the functions that return them; functions and classes are checked below",
    "SS06": "the line length of the linter limits the first line",
    "YD01": "there are no generators in the interface",
}
RESULT_BASES = ("Result", "Record")


def _names(module: Any) -> list[str]:
    listed = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    return [name for name in listed if not name.startswith("_")]


def public_objects(packages: tuple[str, ...] = PACKAGES) -> Iterator[tuple[str, Any]]:
    """Iterate over all public objects, each once under its first name."""
    seen: set[int] = set()
    for package in packages:
        module = importlib.import_module(package)
        for name in _names(module):
            found = getattr(module, name)
            if inspect.ismodule(found) or not callable(found) or id(found) in seen:
                continue
            if not str(getattr(found, "__module__", "calibrant")).startswith("calibrant"):
                continue
            seen.add(id(found))
            yield f"{package}.{name}", found
            if inspect.isclass(found):
                for method, value in vars(found).items():
                    if not method.startswith("_") and (
                        inspect.isfunction(value) or isinstance(value, (classmethod, staticmethod))
                    ):
                        yield f"{package}.{name}.{method}", getattr(found, method)


def errors_of(name: str, found: Any) -> list[tuple[str, str]]:
    """Return the codes and texts of the errors that numpydoc finds, without the exceptions."""
    doc = inspect.getdoc(found) or ""
    if not doc:
        return [("GL08", "The object does not have a docstring")]
    result = validate(get_doc_object(found))
    errors = [(code, text) for code, text in result["errors"] if code not in EXCEPTIONS]
    # Users never call these constructors: results list their attributes, and errors take the parameters of their base.
    if _is_plain_result(found) and ("\nAttributes\n" in doc or issubclass(found, Exception)):
        errors = [(code, text) for code, text in errors if code != "PR01"]
    if not _is_method(name, found) and ">>>" not in doc and not _is_plain_result(found):
        errors.append(("EX01", "No examples section found"))
    return errors


def _is_method(name: str, found: Any) -> bool:
    return name.rsplit(".", 2)[-2][:1].isupper() or "." in getattr(found, "__qualname__", "")


def _is_plain_result(found: Any) -> bool:
    """Whether it is a class that users receive but do not construct: a result, an exception, a record."""
    if not inspect.isclass(found):
        return False
    return issubclass(found, (Exception, Warning)) or any(base.__name__ in RESULT_BASES for base in found.__mro__)


def main(arguments: list[str]) -> int:
    """Print all errors and their number."""
    packages = tuple(arguments) or PACKAGES
    short = 0
    for name, found in public_objects(packages):
        for code, text in errors_of(name, found):
            short += 1
            print(f"{name}: {code} {text}")
    print(f"{short} shortcomings" if short else "docstrings: all complete")
    return bool(short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
