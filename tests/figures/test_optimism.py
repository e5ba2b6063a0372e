"""The calibration curve of an internal validation as a figure."""

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.clinical import InternalValidation, OptimismCurve
from calibrant.errors import ArgumentError, InputTypeError

AT = np.linspace(0.1, 0.9, 9)


def validation(curve: Any, event: Any = 1) -> InternalValidation:
    return InternalValidation((), "bootstrap", 100, 30, event, 200, {}, {}, curve)


CORRECTED = 0.5 + 0.7 * (AT - 0.5)
CURVE = OptimismCurve(AT, AT, CORRECTED, np.full(9, 200), CORRECTED - 0.1, CORRECTED + 0.1)


def test_both_curves_and_the_diagonal() -> None:
    pytest.importorskip("matplotlib")
    ax = cal.figures.optimism_diagram(validation(CURVE)).plot()
    assert [line.get_gid() for line in ax.lines] == ["diagonal", "curve", "curve"]
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), CURVE.corrected)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["apparent", "corrected for optimism", "95% limits"]
    (band,) = [each for each in ax.collections if each.get_gid() == "band"]
    assert band.get_datalim(ax.transData).y0 == pytest.approx(CURVE.low[0])
    assert ax.get_xlabel() == "predicted probability of the event"
    assert cal.figures.optimism_diagram(validation(CURVE, "death")).plot().get_xlabel().endswith("death")


def test_data_of_the_figure() -> None:
    diagram = cal.figures.optimism_diagram(validation(CURVE))
    assert diagram.mean_error == pytest.approx(float(np.abs(CURVE.corrected - AT).mean()))
    assert diagram.to_dict()["method"] == "bootstrap"
    assert list(diagram.to_frame().columns) == ["score", "apparent", "corrected", "low", "high"]
    assert "corrected for optimism (bootstrap)" in repr(diagram)


def test_messages() -> None:
    with pytest.raises(ArgumentError, match="validation: has no curve"):
        cal.figures.optimism_diagram(validation(None))
    with pytest.raises(InputTypeError, match="must be the result of internal_validation; got list"):
        cal.figures.optimism_diagram([])
