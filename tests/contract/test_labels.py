"""The spelling of the labels changes nothing: numbers of any type, names, categories, one-hot rows, shares."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import UndefinedMetricError
from calibrant.metrics import Metric
from tests.calling import call

from .problems import PROBLEMS, TIED, Problem, assert_same, clean_value, every_metric, every_shape, metrics_that, value

NAMES = np.array(["cat", "ant", "eel", "dog", "bat", "fox", "gnu", "hen", "ibex", "jay"])


def spellings(problem: Problem) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The same labels in every way they may be written, with the keywords each needs."""
    y, k = problem.y, problem.k
    names = NAMES[:k]
    numbers = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
    named: dict[str, Any] = {
        "text": names[y],
        "text objects": names[y].astype(object),
        "text list": names[y].tolist(),
        "text column": pd.Series(names[y]),
        "category": pd.Series(pd.Categorical(names[y], categories=sorted(names))),
        "bare category": pd.Categorical(names[y]),
    }
    one_hot = np.eye(k, dtype=int)[y]
    plain: dict[str, Any] = {kind: y.astype(kind) for kind in numbers}
    plain |= {"list": y.tolist(), "tuple": tuple(y.tolist()), "objects": y.astype(object)}
    plain |= {"one-hot": one_hot, "boolean one-hot": one_hot.astype(bool), "one-hot of floats": one_hot * 1.0}
    plain["category of numbers"] = pd.Series(pd.Categorical(y))
    if k == 2:
        plain |= {"boolean": y == 1, "minus one": 2 * y - 1, "minus one in floats": 2.0 * y - 1}
        plain |= {"boolean list": (y == 1).tolist(), "minus one in bytes": (2 * y - 1).astype(np.int8)}
    found: dict[str, tuple[Any, dict[str, Any]]] = {name: (labels, {}) for name, labels in plain.items()}
    found |= {name: (labels, {"classes": names.tolist()}) for name, labels in named.items()}
    found["numbers as names"] = (y + 5, {"classes": list(range(5, 5 + k))})
    if problem.p.ndim == 1:
        found["text against pos_label"] = (names[y], {"pos_label": names[1]})
        found["numbers against pos_label"] = (y + 1, {"pos_label": 2})
    return found


# Ten classes are spelt as three are.
SPELLINGS = {shape: spellings(PROBLEMS[shape][TIED]) for shape in ("binary", "two_column", "three")}


@pytest.mark.parametrize("shape", list(SPELLINGS))
def test_labels_may_be_spelt_in_any_way(shape: str) -> None:
    problem = PROBLEMS[shape][TIED]
    wanted = cal.Predictions(problem.y, problem.p).labels
    for spelling, (labels, words) in SPELLINGS[shape].items():
        found = cal.Predictions(labels, problem.p, **words).labels
        assert found.tolist() == wanted.tolist(), spelling
        assert found.dtype in (np.uint8, np.int64), spelling


@every_shape
@every_metric
def test_sure_shares_are_labels(metric: Metric, problems: list[Problem]) -> None:
    for problem in problems:
        shares = np.eye(problem.k)[problem.y]
        forms = [shares, shares[:, 1]] if problem.p.ndim == 1 else [shares]
        wanted = clean_value(metric, problem)
        for form in forms:
            if metric.soft:
                found = call(metric, form, problem.p, soft=True, **problem.words(metric))
                assert_same(found, wanted, f"sure shares of shape {form.shape} on {problem}")
            else:
                with pytest.raises(UndefinedMetricError):
                    call(metric, form, problem.p, soft=True, **problem.words(metric))


@metrics_that(lambda m: m.soft)
def test_shares_lie_between_the_labels(metric: Metric) -> None:
    problem = PROBLEMS["three"][0]
    clean_value(metric, problem)
    sure = np.eye(3)[problem.y]
    words = problem.words(metric)
    # A share is read as such: not rounded to the likelier class, and not ignored.
    softened = call(metric, 0.8 * sure + 0.2 / 3, problem.p, soft=True, **words)
    low, high = metric.range
    assert low <= softened <= high
    assert (softened != value(metric, problem)) == (
        metric.id != "mean_confidence"
    )  # which does not depend on the labels
