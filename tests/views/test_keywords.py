"""Unknown keywords are answered with what was probably meant; shared texts are inserted into docstrings."""

import inspect
from typing import Any

import pytest

import calibrant as cal
from calibrant.errors import UnknownArgumentError
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


@pytest.mark.parametrize(
    ("make", "keyword", "remedy"),
    [
        (cal.HistogramBinning, "n_bins", "use bins"),
        (cal.EqualWidth, "n_bins", "use bins"),
        (cal.EqualMass, "n", "EqualMass accepts bins, ties, split, min_rows"),
        (cal.TemperatureScaling, "objektive", "did you mean 'objective'?"),
    ],
)
def test_classes_answer_unknown_keywords_as_functions_do(make: Any, keyword: str, remedy: str) -> None:
    with pytest.raises(UnknownArgumentError) as caught:
        make(**{keyword: 5})
    assert str(caught.value) == f"{keyword}: unexpected keyword of {make.__name__}; {remedy}"


def test_options_that_a_function_passes_on_are_checked_by_that_function() -> None:
    with pytest.raises(UnknownArgumentError, match="did you mean 'span'"):
        cal.figures.flexible_calibration_curve([0, 1], [0.2, 0.7], spam=0.5)
