"""Several reliability diagrams: one panel per class, or per cut of ordered classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ArgumentError, InputTypeError, LensError
from ..evaluation.header import class_shares
from ..input.predictions import Predictions
from ..util.checks import check_whole
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.resolve import Source, resolve, views_of
from .base import axis_names, width_of
from .canvas import Axes, grid_of_axes, grow
from .drawing import DrawOptions, bound_label, draw_reliability, legend_lines
from .labels import fit, plain
from .reliability_diagrams import Reliabilities, reliability_diagram
from .styling import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CLASSES = 12


@dataclass(frozen=True, repr=False)
class ReliabilityPanels(Reliabilities):
    """Reliability diagrams of classes; `plot` draws one panel for each.

    Parameters
    ----------
    kind : str
        Form of the diagrams.
    models : tuple of ModelReliability
        Bins, intervals and curve of each class; ``panels[name]`` returns one.
    """

    def _table(self) -> tuple[list[str], list[list[str]]]:
        ids = list(self.models[0].metrics)
        rows = [[one.name, f"{one.table.total:,.6g}", *(number(one.metrics[id]) for id in ids)] for one in self.models]
        return ["name", "rows", *ids], rows

    def _title(self) -> str:
        return f"Reliability diagrams ({len(self.models)}, {self.kind})"

    @plots
    def plot(
        self,
        figure: Figure | None = None,
        *,
        counts: Literal["strip"] | None = "strip",
        scale: Literal["probability", "logit"] = "probability",
        **style: Any,
    ) -> list[Axes]:
        """Plot the diagrams side by side.

        Parameters
        ----------
        figure : matplotlib.figure.Figure, optional
            Figure to plot into; by default a new one.
        counts : {"strip"} or None, default "strip"
            Whether to show a strip of counts above each panel.
        scale : {"probability", "logit"}, default "probability"
            Scale of both axes.
        """
        count = len(self.models)
        small = count > 3
        options = DrawOptions(counts=counts, scale=scale, small=small, named=False)
        # Up to three panels in one row; else the number that leaves the fewest places empty.
        across = count if not small else min((4, 3, 5), key=lambda across: -count % across)
        size: dict[str, Any] = {"width": 1.75, "height": 2.3} if small else {"width": 2.6, "height": 3.05}
        axes = grid_of_axes(figure, count, columns=across, **size)
        several = len({model.lens for model in self.models}) > 1
        most_lines = 0
        for place, (ax, model) in enumerate(zip(axes, self.models, strict=True)):
            draw_reliability(self.kind, [model], ax, options, style, self.models)
            bounds = [] if small or model.how is None else [bound_label(model)]
            lines = [plain(model.name), *legend_lines(model), *bounds]
            title = "\n".join(fit(line, 0.8 * width_of(ax)) for line in lines)
            most_lines = max(most_lines, title.count("\n"))
            # The title belongs to the strip; that of the axes would be moved above the strip too late.
            titled: Any = next((one for one in ax.child_axes if one.get_gid() == "strip"), ax)
            titled.set_title(title, fontsize="small", pad=3)
            if small and titled is not ax:
                titled.set(ylabel="", yticks=[])
            predicted, observed = axis_names("binary" if several else model.lens)  # the titles name the classes
            ax.set_xlabel(fit(predicted, width_of(ax)) if place >= count - across else "")
            ax.set_ylabel("" if place % across else fit(observed, width_of(ax)))
        grow(axes[0].figure, most_lines * -(-count // across))
        return axes


@documents_keywords()
def classwise_panels(
    y_true: Any,
    y_prob: Any = None,
    *,
    show: int | Sequence[Any] = MOST_CLASSES,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> ReliabilityPanels:
    """Compute a reliability diagram of the probability of each class.

    Parameters
    ----------
    y_true
    y_prob
    show : int or sequence, default 12
        Number of classes, the most frequent ones, or the classes by name or index.
    sample_weight
    pos_label
    **options
        Keywords of `reliability_diagram`, such as `bins` and `level`.

    Returns
    -------
    ReliabilityPanels
        ``models`` by class; ``panels[name]`` is one. ``plot()`` draws them.

    See Also
    --------
    reliability_diagram : One lens.

    References
    ----------
    .. [1] Broecker and Smith (2007): Increasing the reliability of reliability diagrams. Weather and Forecasting 22.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.figures.panels import classwise_panels
    >>> drawn = cal.inference.make_calibrated(500, distribution=(1, 2, 3), classes=3, rng=0)
    >>> [panel.name for panel in classwise_panels(drawn.y_true, drawn.y_prob, show=2).models]
    ['class 2', 'class 1']
    """
    source = _with_rows(resolve(y_true, y_prob, sample_weight, pos_label))
    names = [_name_of(source, index) for index in _classes(source, show)]
    prefix = "class " if source.classes is None else ""
    return _panels(source, {f"{prefix}{name}": f"class:{name}" for name in names}, options)


@documents_keywords()
def ordinal_panels(
    y_true: Any,
    y_prob: Any = None,
    *,
    show: int | Sequence[Any] = MOST_CLASSES,
    sample_weight: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> ReliabilityPanels:
    """Compute a reliability diagram of each cumulative probability of ordered classes.

    Parameters
    ----------
    y_true
    y_prob
    show : int or sequence, default 12
        Largest number of cuts, evenly spread over the classes, or the classes at which the order is cut, by name or index.
    sample_weight
    pos_label
    **options
        Keywords of `reliability_diagram`, such as `bins` and `level`.

    Returns
    -------
    ReliabilityPanels
        ``models`` of the probability of at most each class; ``panels[name]`` is one. ``plot()`` draws them.

    Raises
    ------
    LensError
        If the order of the classes is unknown.

    See Also
    --------
    ordinal : The lens of one cut.
    classwise_panels : Classes without an order.

    References
    ----------
    .. [1] Broecker and Smith (2007): Increasing the reliability of reliability diagrams. Weather and Forecasting 22.

    Examples
    --------
    >>> import calibrant as cal
    >>> drawn = cal.inference.make_calibrated(500, distribution=(1, 2, 3), classes=3, rng=0)
    >>> [panel.name for panel in cal.figures.ordinal_panels(drawn.y_true, drawn.y_prob).models]
    ['at most 0', 'at most 1']
    """
    source = _with_rows(resolve(y_true, y_prob, sample_weight, pos_label))
    cuts = [view.lens.removeprefix("ordinal:") for view in views_of(source, "ordinal")]
    if isinstance(show, (int, np.integer)) and not isinstance(show, bool):
        count = min(check_whole(show, "show"), len(cuts))
        chosen: Sequence[Any] = [cuts[round(place)] for place in np.linspace(0, len(cuts) - 1, count)]
    else:
        chosen = [_name_of(source, index) for index in _classes(source, show)]
    return _panels(source, {f"at most {name}": f"ordinal:{name}" for name in chosen}, options)


def _panels(source: Predictions, lenses: Mapping[str, str], options: Mapping[str, Any]) -> ReliabilityPanels:
    """The diagram of each lens, by its name."""
    found = reliability_diagram({name: views_of(source, lens)[0] for name, lens in lenses.items()}, **options)
    return ReliabilityPanels(found.kind, found.models)


def _name_of(source: Predictions, index: int) -> Any:
    return index if source.classes is None else source.classes[index]


def _with_rows(source: Source) -> Predictions:
    """Return predictions with rows, for figures of all classes."""
    if not isinstance(source, Predictions):
        remedy = (
            "pass labels and probabilities, or a mapping such as {'cat': sketches['class:cat']} to reliability_diagram"
        )
        raise InputTypeError("y_true", "views and sketches have one event per row", remedy)
    return source


def _classes(source: Predictions, show: Any) -> list[int]:
    """Columns of the classes to show: those named, or the most frequent; ties by index."""
    if source.kind == "confidence":
        raise LensError("y_prob", "contains confidences only", "pass one column per class")
    if not isinstance(show, (int, np.integer)) or isinstance(show, bool):
        if isinstance(show, (str, bytes)) or not isinstance(show, Sequence) or len(show) == 0:
            raise ArgumentError("show", f"must be a number of classes or a list of them; got {show!r}")
        return [source.class_index(name, "show") for name in show]
    often = np.argsort(-np.array(class_shares(source)), kind="stable")
    return [int(index) for index in often[: check_whole(show, "show")]]
