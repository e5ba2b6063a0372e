"""The reliability diagram with the interface of scikit-learn's displays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, Drop, LabelError, Use
from ..figures.reliability_diagrams import ReliabilityDiagram
from ..metrics.reliability_curve import CalibrationCurve, calibration_curve
from ..views.keywords import documents_keywords
from .responses import label_names, scores_of

__all__ = ["ReliabilityDisplay"]


def _place_of(pos_label: Any, classes: Any) -> int:
    """The column of the positive class; by default the second."""
    if pos_label is None:
        return 1
    if len(classes) != 2:
        raise ArgumentError(
            "pos_label", f"requires two classes; the estimator has {len(classes)}", Use("lens", f"class:{pos_label}")
        )
    names = classes.tolist()
    if pos_label not in names:
        raise LabelError("pos_label", f"must be one of the classes {names}; got {pos_label!r}")
    return names.index(pos_label)


class ReliabilityDisplay:
    """Reliability diagram with the interface of scikit-learn's displays.

    Create one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    curve : CalibrationCurve
        Calibration curve, as returned by `calibration_curve`.
    name : str, optional
        Name in the legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Axes of the diagram.
    figure_ : matplotlib.figure.Figure
        Figure of the diagram.
    line_ : matplotlib.lines.Line2D
        Calibration curve.

    See Also
    --------
    calibrant.reliability_diagram : The diagram without scikit-learn.

    Examples
    --------
    >>> from calibrant.sklearn import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], bins=2)
    >>> type(display.ax_).__name__
    'Axes'
    """

    def __init__(self, curve: CalibrationCurve, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    @documents_keywords(taken=())
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, name: str | None = None, ax: Any = None, **keywords: Any
    ) -> ReliabilityDisplay:
        """Plot the reliability diagram of labels and probabilities.

        Parameters
        ----------
        y_true : array-like of shape (N,)
            Observed labels.
        y_prob : array-like of shape (N,) or (N, K)
            Predicted probabilities; one-dimensional ones are those of `pos_label`, which is required for text labels.
        name : str, optional
            Name in the legend.
        ax
        **keywords
            Keywords of `calibration_curve`, such as ``bins`` and ``pos_label``.

        Returns
        -------
        ReliabilityDisplay
            The display, with attributes `ax_`, `figure_` and `line_`.
        """
        return cls(calibration_curve(y_true, y_prob, **keywords), name).plot(ax)

    @classmethod
    @documents_keywords(taken=())
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **keywords: Any,
    ) -> ReliabilityDisplay:
        """Plot the reliability diagram of a fitted classifier.

        Parameters
        ----------
        estimator : estimator object
            Fitted classifier with ``predict_proba`` or ``decision_function``.
        X : array-like of shape (N, D)
            Features.
        y : array-like of shape (N,)
            Observed classes.
        pos_label : object, optional
            Class whose probability is evaluated, for two classes; by default the second of ``estimator.classes_``.
        name : str, optional
            Name in the legend; by default the name of the class of the estimator.
        ax
        **keywords
            Keywords of `calibration_curve`, such as ``bins``; ``classes`` and ``input`` are taken from the estimator.

        Returns
        -------
        ReliabilityDisplay
            The display, with attributes `ax_`, `figure_` and `line_`.

        Raises
        ------
        ArgumentError
            If `classes` or `input` is passed, or `pos_label` for more than two classes.
        """
        for word in ("classes", "input"):
            if word in keywords:
                raise ArgumentError(word, "is determined by the estimator", Drop(word))
        classes = np.asarray(estimator.classes_)
        positive = _place_of(pos_label, classes)
        values, kind = scores_of(estimator, X, positive=positive)
        if len(classes) == 2:
            keywords["pos_label"] = classes.tolist()[positive]
            if keywords.get("lens", "auto") == "auto":
                keywords["lens"] = f"class:{keywords['pos_label']}"  # the axes name the class
        keywords |= {"input": kind, "classes": classes.tolist(), "name": name or type(estimator).__name__}
        return cls.from_predictions(label_names(estimator, y), values, ax=ax, **keywords)

    def plot(self, ax: Any = None, **options: Any) -> ReliabilityDisplay:
        """Plot the diagram.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default a new figure.
        **options
            Options of the method `plot` of a `ReliabilityDiagram`.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        self.ax_ = ReliabilityDiagram.of_curve(self.curve).plot(ax, name=self.name, **options)
        self.figure_ = self.ax_.figure
        self.line_ = next(line for line in self.ax_.lines if line.get_gid() == "curve")
        return self
