"""Several reliability diagrams: models side by side or overlaid, before and after recalibration, one panel per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ArgumentError, InputTypeError, LensError
from ..evaluation.header import class_shares
from ..input.predictions import Predictions
from ..util.checks import check_choice, check_whole
from ..util.results import number
from ..views.keywords import documents_keywords
from ..views.resolve import Source, resolve, views_of
from .base import Diagram, axis_names, width_of
from .canvas import PAPER_WIDTH, Axes, grid_of_axes, grow
from .drawing import DrawOptions, bound_label, draw_overlay, draw_reliability, legend_lines
from .labels import fit, plain
from .reliability_diagrams import ReliabilityDiagram, reliability_diagram
from .styling import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CLASSES = 12


@dataclass(frozen=True, repr=False)
class ReliabilityPanels(Diagram):
    """Reliability diagrams by name; `plot` draws one panel per diagram, or all in one.

    Parameters
    ----------
    diagrams : dict of str to ReliabilityDiagram
        The diagrams.
    """

    diagrams: dict[str, ReliabilityDiagram]

    def __len__(self) -> int:
        return len(self.diagrams)

    def __getitem__(self, name: str) -> ReliabilityDiagram:
        return self.diagrams[name]

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for name, diagram in self.diagrams.items():
            bins = {**diagram.table.to_dict(), **diagram._listed("low", "high")}
            columns.setdefault("name", []).extend([name] * len(diagram.table))
            for heading, values in bins.items():
                columns.setdefault(heading, []).extend(values)
        return columns

    def _table(self) -> tuple[list[str], list[list[str]]]:
        ids = list(dict.fromkeys(id for diagram in self.diagrams.values() for id in diagram.metrics))
        rows = [
            [name, f"{diagram.table.total:,.6g}", *(number(diagram.metrics.get(id)) for id in ids)]
            for name, diagram in self.diagrams.items()
        ]
        return ["name", "rows", *ids], rows

    def _title(self) -> str:
        kinds = ", ".join(dict.fromkeys(diagram.kind for diagram in self.diagrams.values()))
        return f"Reliability diagrams ({len(self)}, {kinds})"

    @plots
    def plot(
        self,
        figure: Figure | None = None,
        *,
        layout: Literal["side_by_side", "overlay"] = "side_by_side",
        counts: Literal["strip"] | None = "strip",
        scale: Literal["probability", "logit"] = "probability",
        **style: Any,
    ) -> list[Axes]:
        """Plot the diagrams.

        Parameters
        ----------
        figure : matplotlib.figure.Figure, optional
            Figure to plot into; by default a new one.
        layout : {"side_by_side", "overlay"}, default "side_by_side"
            One panel per diagram, or all in one, distinguished by color, marker and dashes.
        counts : {"strip"} or None, default "strip"
            Whether to show a strip of counts above each panel; not in an overlay.
        scale : {"probability", "logit"}, default "probability"
            Scale of both axes.
        """
        check_choice(layout, "layout", ("side_by_side", "overlay"))
        small = len(self) > 3
        options = DrawOptions(counts=counts, scale=scale, small=small, named=False)
        if layout == "overlay":
            ax = grid_of_axes(figure, 1, width=PAPER_WIDTH, height=PAPER_WIDTH)[0]
            return [draw_overlay(self.diagrams, ax, options, style)]
        # Up to three panels in one row; else the number that leaves the fewest places empty.
        across = len(self) if not small else min((4, 3, 5), key=lambda across: -len(self) % across)
        size: dict[str, Any] = {"width": 1.75, "height": 2.3} if small else {"width": 2.6, "height": 3.05}
        axes = grid_of_axes(figure, len(self), columns=across, **size)
        several = len({diagram.lens for diagram in self.diagrams.values()}) > 1
        most_lines = 0
        for place, (ax, name, diagram) in enumerate(zip(axes, self.diagrams, self.diagrams.values(), strict=True)):
            draw_reliability(diagram, ax, options, style, self.diagrams.values())
            bounds = [] if small or diagram.how is None else [bound_label(diagram)]
            lines = [plain(name), *legend_lines(diagram), *bounds]
            title = "\n".join(fit(line, 0.8 * width_of(ax)) for line in lines)
            most_lines = max(most_lines, title.count("\n"))
            # The title belongs to the strip; that of the axes would be moved above the strip too late.
            titled: Any = next((one for one in ax.child_axes if one.get_gid() == "strip"), ax)
            titled.set_title(title, fontsize="small", pad=3)
            if small and titled is not ax:
                titled.set(ylabel="", yticks=[])
            predicted, observed = axis_names("binary" if several else diagram.lens)  # the titles name the classes
            ax.set_xlabel(fit(predicted, width_of(ax)) if place >= len(self) - across else "")
            ax.set_ylabel("" if place % across else fit(observed, width_of(ax)))
        grow(axes[0].figure, most_lines * -(-len(self) // across))
        return axes


@documents_keywords()
def reliability_panels(y_true: Any, models: Mapping[str, Any] | None = None, **options: Any) -> ReliabilityPanels:
    """Compute reliability diagrams of several models on the same rows.

    Parameters
    ----------
    y_true : array-like of shape (N,) or mapping
        Labels; or, without `models`, a mapping from names to Predictions, Views or Sketches.
    models : mapping of str to array-like, optional
        Probabilities of each model.
    **options
        Keywords of `reliability_diagram`, such as `bins`, `lens` and `level`.

    Returns
    -------
    ReliabilityPanels
        ``diagrams`` by name. ``plot()`` draws them side by side, ``plot(layout="overlay")`` in one.

    See Also
    --------
    reliability_diagram : One model.

    References
    ----------
    .. [1] Broecker and Smith (2007): Increasing the reliability of reliability diagrams. Weather and Forecasting 22.

    Examples
    --------
    >>> from calibrant.figures.panels import reliability_panels
    >>> models = {"bold": [0.1, 0.2, 0.9, 0.9], "shy": [0.4, 0.4, 0.6, 0.6]}
    >>> panels = reliability_panels([0, 1, 1, 1], models, bins=2, metrics=("ece",))
    >>> {name: round(diagram.metrics["ece"], 2) for name, diagram in panels.diagrams.items()}
    {'bold': 0.22, 'shy': 0.25}
    """
    argument, named = ("y_true", y_true) if models is None else ("models", models)
    if not isinstance(named, Mapping) or not named:
        raise InputTypeError(argument, "must be a mapping from names to models", "for example {'model': y_prob}")
    sources = {str(name): (source,) if models is None else (y_true, source) for name, source in named.items()}
    return ReliabilityPanels({name: reliability_diagram(*source, **options) for name, source in sources.items()})


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
        ``diagrams`` by class. ``plot()`` draws them.

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
    >>> list(classwise_panels(drawn.y_true, drawn.y_prob, show=2).diagrams)
    ['class 2', 'class 1']
    """
    source = _with_rows(resolve(y_true, y_prob, sample_weight, pos_label))
    diagrams = {}
    for index in _classes(source, show):
        name = _name_of(source, index)
        shown = f"class {name}" if source.classes is None else str(name)
        diagrams[shown] = reliability_diagram(source, lens=f"class:{name}", **options)
    return ReliabilityPanels(diagrams)


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
        ``diagrams`` of the probability of at most each class. ``plot()`` draws them.

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
    >>> list(cal.figures.ordinal_panels(drawn.y_true, drawn.y_prob).diagrams)
    ['at most 0', 'at most 1']
    """
    source = _with_rows(resolve(y_true, y_prob, sample_weight, pos_label))
    cuts = [view.lens.removeprefix("ordinal:") for view in views_of(source, "ordinal")]
    if isinstance(show, (int, np.integer)) and not isinstance(show, bool):
        count = min(check_whole(show, "show"), len(cuts))
        chosen: Sequence[Any] = [cuts[round(place)] for place in np.linspace(0, len(cuts) - 1, count)]
    else:
        chosen = [_name_of(source, index) for index in _classes(source, show)]
    return ReliabilityPanels(
        {f"at most {name}": reliability_diagram(source, lens=f"ordinal:{name}", **options) for name in chosen}
    )


def _name_of(source: Predictions, index: int) -> Any:
    return index if source.classes is None else source.classes[index]


def _with_rows(source: Source) -> Predictions:
    """Return predictions with rows, for figures of all classes."""
    if not isinstance(source, Predictions):
        remedy = (
            "pass labels and probabilities, or a mapping such as {'cat': sketches['class:cat']} to reliability_panels"
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
