"""What users pass becomes predictions, views or sketches in one place."""

from __future__ import annotations

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
def test_nothing_is_added_to_views_and_sketches(source: Any) -> None:
    assert resolve.resolve(source) is source
    kind = "view" if isinstance(source, View) else "sketch"
    for more in ((P,), (None, [1] * 4), (None, None, 1), (None, None, None, [True] * 4)):
        with pytest.raises(
            cal.InputTypeError, match=f"y_true: a {kind} cannot be combined with other arguments; pass the {kind} alone"
        ):
            resolve.resolve(source, *more)
    with pytest.raises(cal.InputTypeError, match=f"y_true: expected rows, got a {kind}; pass labels and probabilities"):
        resolve.as_predictions(source)


def test_the_lens_of_a_view_is_its_own() -> None:
    rows = view()
    for lens in ("auto", "binary", "canonical"):
        assert resolve.views_of(rows, lens, "canonical") == [rows]
    with pytest.raises(cal.LensError, match="lens: is determined by the view; drop lens"):
        resolve.views_of(rows, "top_label")
    sketch = cal.Sketch.of(Y, P)
    assert resolve.views_of(sketch, "binary") == [sketch.view()]
    with pytest.raises(
        cal.LensError,
        match="lens: the sketch has 'binary'; got 'top_label'; use lens='binary' or pass the rows instead of a sketch",
    ):
        resolve.views_of(sketch, "top_label")


def test_sketches_have_a_view_for_each_class() -> None:
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    found = cal.Sketches.of(np.arange(60) % 3, probs)
    assert [one.lens for one in resolve.views_of(found, "classwise")] == ["class:0", "class:1", "class:2"]
    assert found.view("class:1").lens == "class:1"
    with pytest.raises(
        cal.LensError,
        match="lens: these sketches have no lens 'rank:3'; choose one of top_label, class:0, class:1, class:2",
    ):
        found.view("rank:3")
