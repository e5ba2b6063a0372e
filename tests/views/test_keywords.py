"""Unknown keywords are answered with what was probably meant; shared texts are inserted into docstrings."""

from __future__ import annotations

import inspect
from typing import Any

import pandas as pd
import pytest

import calibrant as cal
from calibrant.views.keywords import documents_keywords

Y, P = [0, 1, 1, 0] * 10, [0.2, 0.7, 0.9, 0.4] * 10
PREDICTIONS = "pass it to Predictions: {}(Predictions(y_true, y_prob, {}))"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.ece(Y, P, weights=P), "weights: unexpected keyword of ece; use sample_weight"),
        (lambda: cal.ece(Y, P, binns=3), "binns: unexpected keyword of ece; did you mean 'bins'?"),
        (
            lambda: cal.ece(Y, P, input="logit"),
            "input: unexpected keyword of ece; " + PREDICTIONS.format("ece", "input='logit'"),
        ),
        (
            lambda: cal.interval(Y, P, groups=Y),
            "groups: unexpected keyword of interval; " + PREDICTIONS.format("interval", "groups=..."),
        ),
        (
            lambda: cal.ece(Y, P, combine="max"),
            "combine: unexpected keyword of ece; pass it to the lens: ece(..., lens=classwise(combine='max'))",
        ),
        (
            lambda: cal.assess(Y, P, metric="ece", average="macro"),
            "average: unexpected keyword of assess; pass it to the lens: assess(..., lens=classwise(combine='mean'))",
        ),
        (lambda: cal.interval(Y, P, seed=3), "seed: unexpected keyword of interval; use rng"),
        (lambda: cal.interval(Y, P, n_boot=3), "n_boot: unexpected keyword of interval; use n_resamples"),
        (
            lambda: cal.assess_many(Y, P, metrics=["ece", "nll"], nothing=1),
            "nothing: unexpected keyword of assess_many; ",
        ),
        (lambda: cal.ece(preds=P, target=Y), "preds: unexpected keyword of ece; use y_prob"),
        (lambda: cal.calibration_curve(Y, P, n_bins=3), "n_bins: unexpected keyword of calibration_curve; use bins"),
        (lambda: cal.evaluate(Y, P, seed=3), "seed: unexpected keyword of evaluate; use rng"),
    ],
)
def test_unknown_keywords_are_answered(call: Any, message: str) -> None:
    with pytest.raises(cal.errors.UnknownArgumentError) as caught:
        call()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("call", [cal.evaluate, cal.calibration_curve, cal.evaluation.auroc, cal.choose_threshold])
def test_functions_without_options_say_where_data_are_read(call: Any) -> None:
    line = rf"pass it to Predictions: {call.__name__}\(Predictions\(y_true, y_prob, missing='drop'\)\)"
    with pytest.raises(cal.errors.UnknownArgumentError, match=line):
        call(Y, P, missing="drop")
    with pytest.raises(TypeError, match="unexpected keyword argument 'unknown'"):
        call(Y, P, unknown=1)


@pytest.mark.parametrize(("call", "name"), [(cal.evaluate, "evaluate"), (cal.ece, "ece"), (cal.interval, "interval")])
def test_columns_by_position_show_the_right_line(call: Any, name: str) -> None:
    frame = pd.DataFrame({"y": Y, "p": P})
    with pytest.raises(cal.errors.InputTypeError) as caught:
        call(frame, "y", "p")
    assert f"use {name}(Predictions(frame, label='y', prob='p'))" in str(caught.value)
    with pytest.raises(cal.errors.InputTypeError, match="Predictions"):
        call(frame)


@pytest.mark.parametrize("keyword", ["sample_weight", "pos_label"])
def test_rows_of_predictions_belong_in_it(keyword: str) -> None:
    for call in (cal.ece, cal.evaluate, cal.interval):
        with pytest.raises(cal.errors.InputTypeError, match=rf"{keyword}: cannot be combined with Predictions"):
            call(cal.Predictions(Y, P), **{keyword: Y})


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
