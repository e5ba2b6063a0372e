"""Short tests of many values in one: a test of its own for each value costs several times what it checks."""

import functools
import inspect
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

__all__ = ["in_turn", "spread"]
MANY = 8  # fewer values are all checked in every case
only: set[str] = set()
"""Names of the values to check, from `--only`; all if there are none."""


def in_turn(parameter: str, values: Sequence[Any], name: Callable[[Any], object] = repr) -> Callable[[Any], Any]:
    """Decorate a test, or a class of tests, to check all values one after another; errors of several are raised together, with their names."""

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            for method in [method for method in vars(test) if method.startswith("test")]:
                setattr(test, method, decorate(vars(test)[method]))
            return test

        @functools.wraps(test)
        def of_all(*given: Any, **fixtures: Any) -> None:
            errors = []
            for value in filter(lambda value: not only or str(name(value)) in only, values):
                try:
                    test(*given, **fixtures, **{parameter: value})
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    # A skipped value would be one that nobody checks.
                    error.add_note(f"{parameter}: {name(value)}")
                    errors.append(error)
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(values)} fail", errors)

        signature = inspect.signature(test)
        kept = [each for each in signature.parameters.values() if each.name != parameter]
        of_all.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return of_all

    return decorate


def spread(parameter: str, values: Sequence[Any], name: Callable[[Any], object] = repr) -> Callable[[Any], Any]:
    """Decorate a test to check values one after another, in the short form each of them in one case of the other parameters.

    Of a test marked `sampled`, a third of the values are checked in each case. Which they are depends on the names of test and value alone. A test may
    skip some values, but not all of them.
    """

    def decorate(test: Any) -> Any:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def of_some(*, deep: bool, **fixtures: Any) -> None:
            short = not deep and len(values) >= MANY
            place, period = _turn(getattr(of_some, "pytestmark", []), fixtures) if short else (0, 1)
            chosen = [
                value
                for value in values
                if (not only or str(name(value)) in only)
                and (zlib.crc32(f"{test.__name__} {name(value)}".encode()) + place) % period == 0
            ]
            if "deep" in signature.parameters:
                fixtures["deep"] = deep
            errors: list[BaseException] = []
            skipped = 0
            for value in chosen:
                try:
                    test(**fixtures, **{parameter: value})
                except pytest.skip.Exception:
                    skipped += 1
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"{parameter}: {name(value)}")
                    errors.append(error)
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(chosen)} fail", errors)
            assert only or skipped < len(chosen), "every value is skipped"

        kept = [each for each in signature.parameters.values() if each.name not in (parameter, "deep")]
        deep = inspect.Parameter("deep", inspect.Parameter.KEYWORD_ONLY)
        of_some.__signature__ = signature.replace(parameters=[*kept, deep])  # type: ignore[attr-defined]
        return of_some

    return decorate


def _turn(marks: list[pytest.Mark], fixtures: dict[str, Any]) -> tuple[int, int]:
    """The place of the case of all other parameters, and the number of such cases; three where the test is marked `sampled`."""
    place, count = 0, 1
    for mark in marks:
        if mark.name != "parametrize":
            continue
        names = mark.args[0] if isinstance(mark.args[0], (tuple, list)) else mark.args[0].split(",")
        sets = [ParameterSet.extract_from(case, force_tuple=len(names) == 1) for case in mark.args[1]]
        own = [case.values[0] for case in sets if all(each.name != "deep" for each in case.marks)]
        place = place * len(own) + own.index(fixtures[names[0].strip()])
        count *= len(own)
    return place, 3 if any(mark.name == "sampled" for mark in marks) else count
