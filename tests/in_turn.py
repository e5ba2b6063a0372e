"""Short tests of many values in one: a test of its own for each value costs several times what it checks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import pytest

__all__ = ["in_turn"]


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
            for value in values:
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
