"""The calibration curve of an internal validation, apparent and corrected for optimism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..clinical.optimism import InternalValidation
from ..errors import ArgumentError, InputTypeError
from ..util.results import number
from .base import Diagram, Floats, finish, square
from .canvas import PAPER_WIDTH, Axes, new_ax
from .styling import plots, series_of


@dataclass(frozen=True, repr=False)
class OptimismDiagram(Diagram):
    """Data of the calibration curve of an internal validation.

    Parameters
    ----------
    score : ndarray of shape (G,)
        Predicted risks.
    apparent : ndarray of shape (G,)
        Calibration curve on the rows that the model was fitted on.
    corrected : ndarray of shape (G,)
        The curve corrected for optimism; NaN where no resample reaches the risk.
    low, high : ndarray of shape (G,)
        Its 95% limits; NaN for cross-validation.
    mean_error : float
        Mean absolute difference between the corrected curve and the diagonal.
    method : str
        How the optimism was estimated.
    event : str
        The event.
    """

    score: Floats
    apparent: Floats
    corrected: Floats
    low: Floats
    high: Floats
    mean_error: float
    method: str
    event: str

    def _title(self) -> str:
        return f"Calibration curve corrected for optimism ({self.method}); mean error {number(self.mean_error)}"

    @plots
    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the apparent curve, and the corrected one with its limits and the diagonal; keywords with one value are those of the corrected one."""
        ax = new_ax(ax, width=PAPER_WIDTH, height=PAPER_WIDTH)
        (look,) = series_of(ax, style, width=1.6)
        (other,) = series_of(ax, {"linestyle": (0, (5, 1.5))}, width=1.3)
        square(ax)
        look.shade(ax, self.score, self.low, self.high, "95% limits")
        ax.plot(self.score, self.apparent, gid="curve", **other.line, label="apparent")
        ax.plot(self.score, self.corrected, gid="curve", **look.line, label=look.named("corrected for optimism"))
        finish(ax, f"predicted probability of {self.event}", "observed rate")
        return ax


def optimism_diagram(validation: InternalValidation) -> OptimismDiagram:
    """Show the calibration curve of an internal validation: apparent, and corrected for optimism.

    The apparent curve of an overfitted model lies on the diagonal; the corrected one is flatter, as the curve on new data is expected to be.

    Parameters
    ----------
    validation : InternalValidation
        Result of `internal_validation` with a curve.

    Returns
    -------
    OptimismDiagram
        Data of the figure; ``plot()`` draws it.

    Raises
    ------
    ArgumentError
        If the validation has no curve.

    See Also
    --------
    internal_validation : Computes the curve.
    reliability_diagram : Calibration curve on held-out data.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 12))
    >>> y = rng.random(150) < 1 / (1 + np.exp(-X[:, 0]))
    >>> found = cal.clinical.internal_validation(LogisticRegression(C=np.inf), X, y, resamples=20, rng=0)
    >>> diagram = cal.figures.optimism_diagram(found)
    >>> diagram.corrected.shape
    (50,)
    """
    if not isinstance(validation, InternalValidation):
        raise InputTypeError(
            "validation", f"must be the result of internal_validation; got {type(validation).__name__}"
        )
    if validation.curve is None:
        raise ArgumentError("validation", "has no curve", "it has one for two classes")
    curve = validation.curve
    event = "the event" if isinstance(validation.event, (bool, int, float)) else str(validation.event)
    curves = curve.score, curve.apparent, curve.corrected, curve.low, curve.high
    return OptimismDiagram(*curves, curve.mean_error, validation.method, event)
