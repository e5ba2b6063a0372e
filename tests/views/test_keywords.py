"""Unknown keywords are answered with those that a function and its metrics take."""

from __future__ import annotations

from typing import Any

import pytest

import calibrant as cal
from calibrant.views.keywords import checks_keywords


@checks_keywords()
def plain(y_true: Any, y_prob: Any = None, *, level: float = 0.9, **keywords: Any) -> dict[str, Any]:
    """Return what it was given."""
    return {"level": level, **keywords}


@checks_keywords("metric", cal.catalogue)
def measured(y_true: Any, *, metric: Any = "ece", **keywords: Any) -> Any:
    return metric, keywords


@checks_keywords("metrics", cal.catalogue)
def many(y_true: Any, *, metrics: Any, **keywords: Any) -> Any:
    return list(metrics)


@checks_keywords("test", cal.catalogue, taken=("lens",), view=())
def powered(test: Any, **keywords: Any) -> Any:
    return keywords


def test_known_keywords_pass() -> None:
    assert plain([0], y_prob=[1], level=0.5, counts=[1]) == {"level": 0.5, "counts": [1]}
    assert measured([0], bins=3, lens="auto", groups=[1])[1] == {"bins": 3, "lens": "auto", "groups": [1]}
    assert measured([0], metric=cal.smece, bandwidth=0.1)[0] is cal.smece
    assert powered("ece", bins=3, lens="auto") == {"bins": 3, "lens": "auto"}
    assert powered(lambda y, p: 0.0, anything=1) == {"anything": 1}
    assert plain.__name__ == "plain"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plain([0], alpha=0.1), "alpha: unexpected keyword of plain; use level = 1 - alpha"),
        (lambda: plain([0], bins=3), "bins: unexpected keyword of plain; plain accepts level, label, prob, "),
        (lambda: measured([0], n_bins=3), "n_bins: unexpected keyword of measured or ece; use bins"),
        (lambda: measured([0], metric="smece", bins=3), "bins: unexpected keyword of measured or smece; "),
        (
            lambda: many([0], metrics=["ece", "nll"], binns=3),
            "binns: unexpected keyword of many or its metrics; did you mean 'bins'?",
        ),
        (
            lambda: powered("ece", groups=[1]),
            "groups: unexpected keyword of powered or ece; powered or ece accepts bins, binning, norm, lens",
        ),
        (lambda: measured([0], n_groups=10), "n_groups: unexpected keyword of measured or ece; use bins"),
        (
            lambda: measured([0], classwise=True),
            "classwise: unexpected keyword of measured or ece; use lens='classwise'",
        ),
        (
            lambda: measured([0], equal_intervals=False),
            "equal_intervals: unexpected keyword of measured or ece; use binning='equal_mass'",
        ),
        (
            lambda: measured([0], debias=True),
            "debias: unexpected keyword of measured or ece; drop it; ece_db and drmsce are debiased",
        ),
        (
            lambda: measured([0], n_boot=9),
            "n_boot: unexpected keyword of measured or ece; use the function interval for confidence intervals",
        ),
        (lambda: measured([0], metric="smece", n_bins=3), "n_bins: unexpected keyword of measured or smece; "),
        (
            lambda: cal.HistogramBinning(strategy="uniform"),
            "strategy: unexpected keyword of HistogramBinning; use binning='equal_width'",
        ),
        (
            lambda: cal.DirichletCalibration(reg_lambda=1),
            "reg_lambda: unexpected keyword of DirichletCalibration; use off_diagonal",
        ),
        (
            lambda: cal.VennAbers(inductive=True),
            "inductive: unexpected keyword of VennAbers; VennAbers accepts input, rule",
        ),
    ],
)
def test_unknown_ones_are_answered(call: Any, message: str) -> None:
    with pytest.raises(cal.UnknownArgumentError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_metrics_from_a_generator_are_read_once() -> None:
    assert many([0], metrics=(name for name in ("ece", "nll")), bins=3) == ["ece", "nll"]
    with pytest.raises(TypeError, match="metrics"):
        many([0], bins=3)
