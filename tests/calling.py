"""Call a function with keywords that belong to `Predictions` and to the lens, and expect an error that names its argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

import calibrant as cal
from calibrant.views.keywords import DATA_KEYWORDS


def call(function: Any, y_true: Any, y_prob: Any = None, **keywords: Any) -> Any:
    """The result of a function or metric: what describes the data goes to `Predictions`, and how classes are combined to the lens."""
    own = getattr(function, "options", {})
    reading = {name: keywords.pop(name) for name in DATA_KEYWORDS if name in keywords}
    combining = {
        name: keywords.pop(name) for name in ("combine", "class_weight") if name in keywords and name not in own
    }
    if combining:
        lens = cal.ordinal if keywords.get("lens") == "ordinal" else cal.classwise
        keywords["lens"] = lens(**combining)
    if isinstance(y_prob, Mapping) and reading:
        models = {name: cal.Predictions(y_true, each, **reading) for name, each in y_prob.items()}
        return function(models, **keywords)
    if isinstance(y_prob, Mapping):
        return function(y_true, y_prob, **keywords)
    data = y_true if y_prob is None and not reading else cal.Predictions(y_true, y_prob, **reading)
    return function(data, **keywords)


@contextmanager
def raises(kind: Any, argument: str) -> Iterator[pytest.ExceptionInfo[cal.CalibrantError]]:
    """An error of this class about this argument; how it is worded is held by tests/faults."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.argument == argument, str(caught.value)
