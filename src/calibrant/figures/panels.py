"""Several reliability diagrams at once: models side by side or overlaid, before and after, one small panel for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ArgumentError, Drop, InputTypeError, InPython, LensError
from ..input.predictions import Predictions
from ..util.checks import check_whole
from ..util.results import number
from .base import COLOURS, SMALL, TEXT, Diagram, axis_words, check_choice, halo, plain, source_of
from .canvas import PAPER_WIDTH, grid_of_axes, grow, ink_on, tones_of
from .drawing import draw_overlay, draw_reliability, legend_corner
from .labels import label_room, wrapped
from .reliability_diagrams import OWN_KEYWORDS, ReliabilityDiagram, reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ReliabilityPanels", "before_after", "classwise_panels", "reliability_panels"]

MOST_CLASSES = 12


@dataclass(frozen=True, repr=False)
class ReliabilityPanels(Diagram):
    """Reliability diagrams by name; `plot` draws one panel for each, or all in one."""

    diagrams: dict[str, ReliabilityDiagram]
    layout: str = "side_by_side"

    def __len__(self) -> int:
        return len(self.diagrams)

    def __getitem__(self, name: str) -> ReliabilityDiagram:
        return self.diagrams[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain values and lists of each diagram, by name."""
        return {name: diagram.to_dict() for name, diagram in self.diagrams.items()}

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for name, diagram in self.diagrams.items():
            bins = diagram.to_dict()["bins"]
            columns.setdefault("name", []).extend([name] * len(diagram.table))
            for word, values in bins.items():
                columns.setdefault(word, []).extend(values)
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

    def _axis_words(self, diagram: ReliabilityDiagram) -> tuple[str, str]:
        """Words of the axes; a panel's title names its class already."""
        if len({diagram.lens for diagram in self.diagrams.values()}) > 1:
            return "predicted probability", "how often it was true"
        return axis_words(diagram.lens)

    def plot(
        self,
        figure: Figure | None = None,
        *,
        layout: Literal["side_by_side", "overlay"] | None = None,
        columns: int | None = None,
        counts: Literal["strip"] | None = "strip",
        scale: Literal["probability", "logit"] = "probability",
        legend: Sequence[str] | None = None,
    ) -> list[Axes]:
        """Draw on `figure`, or on a new one; gives the axes in order.

        Parameters
        ----------
        layout
            ``"side_by_side"``: a panel for each. ``"overlay"``: all in one, told apart by colour, marker and dashes.
        columns
            Panels in a row; by default 3 to 5, so that few places stay empty.
        counts
            A ``"strip"`` of counts above each panel, or None; an overlay has none.
        scale, legend
            As in the plot of one diagram.
        """
        layout = check_choice(layout or self.layout, ("side_by_side", "overlay"), "layout")
        if layout == "overlay":
            ax = grid_of_axes(figure, 1, width=PAPER_WIDTH, height=PAPER_WIDTH)[0]
            return [draw_overlay(self.diagrams, ax, scale=scale, legend=legend)]
        across = check_whole(columns, "columns") if columns is not None else _across(len(self))
        small = len(self) > 3
        letters = SMALL if small else TEXT
        size: dict[str, Any] = {"width": 1.75, "height": 2.15} if small else {"width": 2.6, "height": 3.05}
        axes = grid_of_axes(figure, len(self), columns=across, **size)
        titles = [wrapped(plain(name), label_room(axes[0], SMALL)[0], letters) for name in self.diagrams]
        grow(axes[0].figure, max(title.count("\n") for title in titles) * -(-len(self) // across))
        for place, (ax, diagram) in enumerate(zip(axes, self.diagrams.values(), strict=True)):
            quiet: dict[str, Any] = {"labels": False, "name": None, "colour": COLOURS[0], "sides": not small}
            every = self.diagrams.values()
            draw_reliability(diagram, ax, counts=counts, scale=scale, legend=legend, beside=every, **quiet)
            # A title of the strip is laid out with it; one of the ax would be moved above the strip too late.
            titled: Any = ax.child_axes[-1] if counts == "strip" else ax
            ink, (wide, high) = ink_on(ax.figure.get_facecolor()), label_room(ax, SMALL)
            titled.set_title(titles[place], fontsize=letters, color=ink, pad=3)
            if small:
                _quiet(ax, diagram)
            said, happened = self._axis_words(diagram)
            ax.set_xlabel(wrapped(said, wide, TEXT) if place >= len(self) - across else "")
            ax.set_ylabel("" if place % across else wrapped(happened, high, TEXT))
        return axes


def _across(count: int) -> int:
    """Panels in a row: up to three in one, of more the number that leaves the fewest places empty."""
    return count if count <= 3 else min((4, 3, 5), key=lambda across: -count % across)


def _quiet(ax: Any, diagram: ReliabilityDiagram) -> None:
    """A small panel: what the bounds are is said once, outside; the strip needs no words."""
    from matplotlib.ticker import NullLocator

    for strip in ax.child_axes:
        strip.set_ylabel("")
        strip.yaxis.set_major_locator(NullLocator())
    entries = [
        (handle, text)
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)
        if handle.get_gid() == "curve"
    ]
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    if entries:
        upper = legend_corner(ax, diagram, 0.0) == "upper left"
        place: dict[str, Any] = {"va": "top", "ha": "left"} if upper else {"va": "bottom", "ha": "right"}
        at = (0.04, 0.96) if upper else (0.96, 0.04)
        style: dict[str, Any] = {"fontsize": SMALL, "color": tones_of(ax).ink, "path_effects": halo(ax), "zorder": 4}
        ax.text(*at, entries[0][1], transform=ax.transAxes, **style, **place)


def reliability_panels(y_true: Any, models: Mapping[str, Any] | None = None, **options: Any) -> ReliabilityPanels:
    """Reliability diagrams of several models on the same rows.

    Parameters
    ----------
    y_true
        Labels; or, without `models`, a mapping from names to Predictions, Views or Sketches.
    models
        Probabilities of each model by name.
    options
        Keywords of `reliability`, for all models.

    Examples
    --------
    >>> from calibrant.figures.panels import reliability_panels
    >>> models = {"bold": [0.1, 0.2, 0.9, 0.9], "shy": [0.4, 0.4, 0.6, 0.6]}
    >>> panels = reliability_panels([0, 1, 1, 1], models, bins=2, metrics=("ece",))
    >>> {name: round(diagram.metrics["ece"], 2) for name, diagram in panels.diagrams.items()}
    {'bold': 0.22, 'shy': 0.25}
    """
    if models is None:
        _check_models(y_true, "y_true", "a mapping from names to Predictions")
        return ReliabilityPanels({str(name): reliability(given, **options) for name, given in y_true.items()})
    _check_models(models, "models", "a mapping from names to probabilities")
    return ReliabilityPanels({str(name): reliability(y_true, probs, **options) for name, probs in models.items()})


def _check_models(models: Any, argument: str, what: str) -> None:
    if not isinstance(models, Mapping) or not models:
        raise InputTypeError(argument, f"must be {what}; got {type(models).__name__}", "for example {'model': y_prob}")


def before_after(y_true: Any, before: Any, after: Any, **options: Any) -> ReliabilityPanels:
    """Reliability diagrams before and after recalibration, on the same rows.

    Parameters
    ----------
    y_true
        Labels.
    before, after
        Probabilities without and with the map.
    options
        Keywords of `reliability`, for both.

    Examples
    --------
    >>> from calibrant.figures.panels import before_after
    >>> list(before_after([0, 1, 1], [0.2, 0.9, 0.9], [0.3, 0.8, 0.8], bins=2).diagrams)
    ['before', 'after']
    """
    return reliability_panels(y_true, {"before": before, "after": after}, **options)


def classwise_panels(
    y_true: Any, y_prob: Any = None, *, show: int | Sequence[Any] = MOST_CLASSES, where: Any = None, **options: Any
) -> ReliabilityPanels:
    """A reliability diagram for each class: its probability against how often it was the true one.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions.
    show
        How many of the most frequent classes, or which classes by name or number.
    where
        Which rows: a boolean mask or a Selection.
    options
        Keywords of `reliability` and of `Predictions`; ``classes=`` names the classes.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.figures.panels import classwise_panels
    >>> drawn = cal.make_calibrated(500, distribution=(1, 2, 3), classes=3, rng=0)
    >>> list(classwise_panels(drawn.y_true, drawn.y_prob, show=2).diagrams)
    ['class 2', 'class 1']
    """
    own = {word: value for word, value in options.items() if word in OWN_KEYWORDS}
    words = {word: value for word, value in options.items() if word not in OWN_KEYWORDS}
    if "lens" in own:
        raise LensError("lens", "is determined by the classes", (Drop("lens"), InPython("use reliability_panels")))
    source = source_of(classwise_panels, y_true, y_prob, where, words, OWN_KEYWORDS)
    if not isinstance(source, Predictions):
        raise InputTypeError(
            "y_true",
            "views and sketches have one event per row",
            InPython(
                "pass labels and probabilities, or a mapping such as {'cat': sketches['class:cat']} to reliability_panels"
            ),
        )
    chosen = _classes(source, show)
    named = [str(source.classes[index]) if source.classes is not None else f"class {index}" for index in chosen]
    keys = [index if source.classes is None else source.classes[index] for index in chosen]
    return ReliabilityPanels(
        {name: reliability(source, lens=f"class:{key}", **own) for name, key in zip(named, keys, strict=True)}
    )


def _classes(source: Predictions, show: Any) -> list[int]:
    """Columns of the classes to show: those named, or the most frequent, the lowest first where they tie."""
    if source.kind == "confidence":
        raise LensError("y_prob", "contains confidences only", "pass one column per class")
    if not isinstance(show, (int, np.integer)) or isinstance(show, bool):
        if isinstance(show, (str, bytes)) or not isinstance(show, Sequence) or len(show) == 0:
            raise ArgumentError("show", f"must be a number of classes or a list of them; got {show!r}")
        return [source.class_index(name, "show") for name in show]
    weight = np.ones(source.n) if source.weight is None else source.weight.astype(np.float64)
    if source.labels is not None and source.labels.ndim == 1:
        often: Any = np.bincount(source.labels, weight, source.k)
    else:
        shares = source.soft if source.soft is not None else source.labels
        assert shares is not None
        often = weight @ shares if shares.ndim == 2 else np.array([weight @ (1 - shares), weight @ shares])
    return [int(index) for index in np.argsort(-often, kind="stable")[: check_whole(show, "show")]]
