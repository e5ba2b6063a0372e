"""The reliability diagram with the interface of scikit-learn's displays."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ..errors import ArgumentError, LabelError, UnknownArgumentError
from ..figures.labels import plain
from ..figures.reliability_diagrams import ReliabilityDiagram
from ..figures.styling import KEYWORDS
from ..input.predictions import Predictions
from ..metrics.reliability_curve import CalibrationCurve, calibration_curve
from ..views.keywords import DATA_KEYWORDS, check_keywords, documents_keywords
from .responses import FROM_ESTIMATOR, check_classifier, label_names, scores_of

# Keywords of the curve, and of its drawing.
CURVE = tuple(inspect.signature(calibration_curve).parameters)[2:]
DRAWING = ("counts", "labels", "scale", *KEYWORDS)


def _place_of(pos_label: Any, classes: Any) -> int:
    """The column of the positive class; by default the second."""
    if pos_label is None:
        return 1
    if len(classes) != 2:
        raise ArgumentError(
            "pos_label", f"requires two classes; the estimator has {len(classes)}", f"use lens={f'class:{pos_label}'!r}"
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
    @documents_keywords()
    def from_predictions(
        cls, y_true: Any, y_prob: Any = None, *, name: str | None = None, ax: Any = None, **keywords: Any
    ) -> ReliabilityDisplay:
        """Plot the reliability diagram of labels and probabilities.

        Parameters
        ----------
        y_true : array-like of shape (N,) or Predictions
            Observed labels, or `Predictions`, and `y_prob` is then left out.
        y_prob : array-like of shape (N,) or (N, K), optional
            Predicted probabilities; one-dimensional ones are those of `pos_label`.
        name : str, optional
            Name in the legend.
        ax
        **keywords
            Keywords of `calibration_curve`, such as ``bins`` and ``pos_label``, and of the line, such as ``color``, ``linestyle`` and
            ``marker``, as in `plot`.

        Returns
        -------
        ReliabilityDisplay
            The display, with attributes `ax_`, `figure_` and `line_`.

        Raises
        ------
        UnknownArgumentError
            If a keyword is unknown; for keywords of scikit-learn, such as ``n_bins``, it names the one to use.
        """
        drawing = _drawing_keywords("from_predictions", keywords)
        return cls(calibration_curve(y_true, y_prob, **keywords), name).plot(ax, **drawing)

    @classmethod
    @documents_keywords()
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
            Keywords of `calibration_curve`, such as ``bins``, and of the line, such as ``color``, ``linestyle`` and ``marker``, as in `plot`.

        Returns
        -------
        ReliabilityDisplay
            The display, with attributes `ax_`, `figure_` and `line_`.

        Raises
        ------
        ArgumentError
            If `pos_label` is given for more than two classes.
        UnknownArgumentError
            If a keyword is unknown; for keywords of scikit-learn, such as ``n_bins``, it names the one to use.
        """
        for keyword in keywords:
            if keyword in DATA_KEYWORDS and keyword not in (*CURVE, *DRAWING):
                raise UnknownArgumentError(
                    keyword, "unexpected keyword of ReliabilityDisplay.from_estimator", FROM_ESTIMATOR
                )
        drawing = _drawing_keywords("from_estimator", keywords)
        check_classifier(estimator)
        classes = np.asarray(estimator.classes_)
        positive = _place_of(pos_label, classes)
        values, kind = scores_of(estimator, X, positive=positive)
        event = None
        if len(classes) == 2:
            event = classes.tolist()[positive]
            if keywords.get("lens", "auto") == "auto":
                keywords["lens"] = f"class:{event}"  # the axes name the class
        predictions = Predictions(
            label_names(estimator, y),
            values,
            input=kind,
            classes=classes.tolist(),
            pos_label=event,
            sample_weight=keywords.pop("sample_weight", None),
        )
        name = name or type(estimator).__name__
        return cls.from_predictions(predictions, name=name, ax=ax, **keywords, **drawing)

    def plot(self, ax: Any = None, *, name: str | None = None, **options: Any) -> ReliabilityDisplay:
        """Plot the diagram.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into, which may hold other displays; by default a new figure.
        name : str, optional
            Name in the legend; by default that of the display.
        **options
            Options of the method `plot` of a `ReliabilityDiagram`: ``color``, ``linestyle``, ``linewidth``, ``marker``, ``alpha``, ``label``, ``counts``,
            ``labels`` and ``scale``.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        shown = self.name if name is None else name
        options.setdefault("label", None if shown is None else plain(shown))
        self.ax_ = ReliabilityDiagram.of_curve(self.curve).plot(ax, **options)
        self.figure_ = self.ax_.figure
        self.line_ = next(line for line in reversed(self.ax_.lines) if line.get_gid() == "curve")
        return self


def _drawing_keywords(owner: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """Take the keywords of the drawing out of those of a display; an unknown one raises."""
    known = tuple(dict.fromkeys([*CURVE, *DRAWING, "name", "ax"]))
    check_keywords(f"ReliabilityDisplay.{owner}", keywords, known)
    return {keyword: keywords.pop(keyword) for keyword in list(keywords) if keyword not in CURVE}
