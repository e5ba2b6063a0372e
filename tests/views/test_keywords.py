"""Unknown keywords are answered with what was probably meant; shared texts are inserted into docstrings."""

import inspect
from typing import Any

import calibrant as cal
from calibrant.views.keywords import documents_keywords

Y, P = [0, 1, 1, 0] * 10, [0.2, 0.7, 0.9, 0.4] * 10


@documents_keywords(table={"width": ("float", "Width of it.")})
def repeated(y_true: Any, *, width: float = 1.0, n_resamples: int = 3, **options: Any) -> Any:
    """Return its options.

    Parameters
    ----------
    y_true
    width
    n_resamples
    **options
        Anything.
    """
    return options


def test_shared_texts_are_inserted_and_progress_is_taken_off() -> None:
    assert repeated([0], progress=False, more=1) == {"more": 1}
    assert list(inspect.signature(repeated).parameters) == ["y_true", "width", "n_resamples", "progress", "options"]
    doc = repeated.__doc__ or ""
    assert "width : float\n    Width of it." in doc
    assert "progress : bool, optional" in doc
    assert doc.index("progress : ") < doc.index("**options\n    Anything.")


def test_results_state_the_rows_that_predictions_dropped() -> None:
    predictions = cal.Predictions([*Y, None], [*P, 0.5], missing="drop")
    assert cal.evaluate(predictions, metrics="ece").dropped.n == 1
    other = cal.Predictions([*Y, 1], [*P, float("nan")], missing="drop")
    assert cal.compare({"a": predictions, "b": other}, n_resamples=20, rng=0).dropped.n == 1
