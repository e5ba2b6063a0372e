"""Hold the docstrings of all public names against numpydoc's validation; exit 1 where one falls short.

Public are the names of the packages' namespaces (functions, classes and their public methods, metrics) and of the modules
`calibrant.sklearn` and `calibrant.spark`. ``python tools/check_docstrings.py calibrant.inference`` looks at one package only.
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
    "calibrant.views.lenses",
    "calibrant.views.selections",
    "calibrant.binning",
    "calibrant.sketches",
    "calibrant.curves",
    "calibrant.metrics",
    "calibrant.inference",
    "calibrant.inference.simulation",
    "calibrant.recalibration",
    "calibrant.decision",
    "calibrant.decision.ood",
    "calibrant.evaluation",
    "calibrant.monitoring",
    "calibrant.figures",
    "calibrant.reporting",
    "calibrant.sklearn",
    "calibrant.spark",
    "calibrant.torch",
    "calibrant.torch.losses",
)

# What is not asked for, and why.
EXCEPTIONS = {
    "GL01": "a summary stands on the line of the quotes, as PEP 257 has it",
    "GL02": "short docstrings close on their own line",
    "GL03": "false alarms where shared parameters are inserted",
    "GL08": "methods without a docstring inherit it, and private ones need none",
    "ES01": "the summary is enough where there is nothing to add",
    "SA01": "a function that stands alone has nothing to see beside it",
    "SA04": "names of See Also explain themselves",
    "EX01": "attributes, results and methods are shown in the example of what makes them; functions and classes are asked below",
    "SS06": "a long first line is cut by the line length of the linter",
    "YD01": "there are no generators in the interface",
}
RESULT_BASES = ("Result", "Record")


def _names(module: Any) -> list[str]:
    listed = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    return [name for name in listed if not name.startswith("_")]


def public_objects(packages: tuple[str, ...] = PACKAGES) -> Iterator[tuple[str, Any]]:
    """Each public object once, under the first name that leads to it."""
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
    """The codes and texts of what numpydoc finds wrong, without the exceptions."""
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
    """Whether it is a class that users get and do not make: a result, an exception, a record."""
    if not inspect.isclass(found):
        return False
    return issubclass(found, (Exception, Warning)) or any(base.__name__ in RESULT_BASES for base in found.__mro__)


def main(arguments: list[str]) -> int:
    """Print what falls short and how much there is of it."""
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
