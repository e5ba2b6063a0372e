"""What users pass becomes predictions, views or sketches in one place."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.views import View, resolve

Y, P = [0, 1, 1, 0], [0.2, 0.8, 0.6, 0.3]


def view() -> View:
    return View(np.array(P), np.array(Y, np.uint8))


def test_arrays_become_predictions_of_the_rows_chosen() -> None:
    found = resolve.resolve(Y, P, [1, 2, 1, 1], None, [True, True, True, False])
    assert isinstance(found, cal.Predictions)
    assert (found.n, found.weight_kind) == (3, "importance")
    checked = cal.Predictions(Y, P)
    assert resolve.resolve(checked) is checked


@pytest.mark.parametrize(
    "source", [view(), cal.Sketch.of(Y, P), cal.Sketches.of(Y, P)], ids=["view", "sketch", "sketches"]
)
def test_views_and_sketches_stay_as_they_are(source: Any) -> None:
    assert resolve.resolve(source) is source


def test_the_lens_of_a_view_is_its_own() -> None:
    rows = view()
    for lens in ("auto", "binary", "canonical"):
        assert resolve.views_of(rows, lens, "canonical") == [rows]
    sketch = cal.Sketch.of(Y, P)
    assert resolve.views_of(sketch, "binary") == [sketch.view()]


def test_sketches_have_a_view_for_each_class() -> None:
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    found = cal.Sketches.of(np.arange(60) % 3, probs)
    assert [one.lens for one in resolve.views_of(found, "classwise")] == ["class:0", "class:1", "class:2"]
    assert found.view("class:1").lens == "class:1"
