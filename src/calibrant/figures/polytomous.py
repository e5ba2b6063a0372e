"""Polytomous calibration plot: the flexible calibration curve of each class, as panels or in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..util.checks import check_choice
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.resolve import resolve
from .base import Diagram, square
from .canvas import PAPER_WIDTH, grid_of_axes
from .flexible_curves import FlexibleCalibrationCurve, flexible_calibration_curve
from .labels import plain
from .panels import MOST_CLASSES, classes_shown, panels_across, with_rows
from .styling import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class ClasswiseCurves(Diagram):
    """Flexible calibration curves by class; `plot` draws them.

    Parameters
    ----------
    curves : dict of str to FlexibleCalibrationCurve
        The curve of each class; ``result["cat"]`` is one of them.
    """

    curves: dict[str, FlexibleCalibrationCurve]

    def __len__(self) -> int:
        return len(self.curves)

    def __getitem__(self, name: str) -> FlexibleCalibrationCurve:
        return self.curves[name]

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {"class": []}
        for name, curve in self.curves.items():
            columns["class"] += [name] * len(curve.risk)
            for heading, values in curve._columns().items():
                columns.setdefault(heading, []).extend(values)
        return columns

    def _title(self) -> str:
        return f"Flexible calibration curves of {len(self)} classes"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                name,
                *(number(value, 3) for value in (c.prevalence, c.intercept.value, c.slope.value, c.c_statistic.value)),
            ]
            for name, c in self.curves.items()
        ]
        return ["class", "observed rate", "intercept", "slope", "C-statistic"], rows

    @plots
    def plot(
        self,
        figure: Figure | None = None,
        *,
        layout: Literal["side_by_side", "overlay"] = "side_by_side",
        estimates: bool = False,
        **style: Any,
    ) -> list[Axes]:
        """Plot the curves.

        Parameters
        ----------
        figure : matplotlib.figure.Figure, optional
            Figure to plot into; by default a new one.
        layout : {"side_by_side", "overlay"}, default "side_by_side"
            One panel per class with the distribution of the risks, or all curves in one, without it.
        estimates : bool, default False
            Whether the legend states intercept, slope and C-statistic of each class against the rest.
        """
        check_choice(layout, "layout", ("side_by_side", "overlay"))
        style.pop("label", None)  # the curves are named by their classes
        if layout == "overlay":
            (ax,) = grid_of_axes(figure, 1, width=PAPER_WIDTH, height=PAPER_WIDTH)
            square(ax, max(curve.end for curve in self.curves.values()))
            for name, curve in self.curves.items():
                curve.plot(ax, distribution=False, estimates=estimates, label=plain(name), **style)
            ax.set(xlabel="predicted probability of the class", ylabel="observed rate of the class")
            return [ax]
        across = panels_across(len(self))
        axes = grid_of_axes(figure, len(self), columns=across, width=2.2, height=2.5, share=False)
        for place, (ax, name, curve) in enumerate(zip(axes, self.curves, self.curves.values(), strict=True)):
            curve.plot(ax, estimates=estimates, **style)
            ax.set_title(plain(name))
            ax.set_xlabel("predicted probability" if place >= len(self) - across else "")
            ax.set_ylabel("" if place % across else "observed rate")
            legend = ax.get_legend()
            if place and not estimates and legend is not None:
                legend.remove()  # as in the first
        return axes


@documents_keywords()
def classwise_curves(
    y_true: Any,
    y_prob: Any = None,
    *,
    show: int | Sequence[Any] = MOST_CLASSES,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> ClasswiseCurves:
    """Estimate the flexible calibration curve of each class: the polytomous calibration plot.

    For each class the occurrence of the class is smoothed against its predicted probability. Use it with `multinomial_recalibration` to validate risk models with more than
    two outcomes.

    Parameters
    ----------
    y_true
    y_prob
    show : int or sequence, default 12
        Number of classes, the most frequent ones in their own order, or the classes by name or index.
    sample_weight
    pos_label
    **options
        Keywords of `flexible_calibration_curve`, such as `smoother` and `level`.

    Returns
    -------
    ClasswiseCurves
        ``curves`` by class. ``plot()`` draws one panel per class, ``plot(layout="overlay")`` all in one.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or the intervals do not belong to the smoother.
    InputTypeError
        If a view or a sketch is given, which has one event per row.

    See Also
    --------
    flexible_calibration_curve : One event.
    classwise_panels : Reliability diagrams with bins.
    multinomial_recalibration : Intercepts and slopes of all classes.

    Notes
    -----
    Each curve averages over the probabilities of the other classes: all of them can lie on the diagonal while the
    probabilities of rows with the same vector are wrong.

    References
    ----------
    .. [1] Van Hoorde, K., Vergouwe, Y., Timmerman, D., Van Huffel, S., Steyerberg, E. W. and Van Calster, B. (2014). Assessing calibration of multinomial risk
       prediction models. Statistics in Medicine 33.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(600, warp=cal.inference.simulation.temperature(1.5), distribution=(1, 2, 3), rng=0)
    >>> found = cal.figures.classwise_curves(data.y_true, data.y_prob)
    >>> list(found.curves)
    ['class 0', 'class 1', 'class 2']
    """
    source = with_rows(resolve(y_true, y_prob, sample_weight, pos_label))
    return ClasswiseCurves(
        {
            name: flexible_calibration_curve(source, lens=f"class:{key}", **options)
            for name, key in classes_shown(source, show, in_order=True)
        }
    )
