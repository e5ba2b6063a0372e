"""Several models in one figure: reading them by name, bars, legends and panels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, InputTypeError, UndefinedMetricError
from ..input.predictions import Predictions
from ..metrics.registry import catalogue
from ..views.lenses import Lens
from ..views.resolve import Source, as_predictions, paired_models, resolve
from ..views.view import Summary, VectorView, View
from .base import none_for_nan, one_view
from .canvas import Axes, grid_of_axes, new_ax
from .labels import plain, shorten
from .styling import Series, series_of

if TYPE_CHECKING:
    from matplotlib.container import BarContainer

ONE = "model"
"""Name of a model without one."""
# Letters of names beside axes.
NAME_LETTERS = 22


def read_models(y_true: Any, y_prob: Any = None, sample_weight: Any = None, pos_label: Any = None) -> dict[str, Source]:
    """Models by name: from a mapping as `y_prob` (same labels), from a mapping of Predictions, or a single one."""
    models = y_prob if isinstance(y_prob, Mapping) else y_true if isinstance(y_true, Mapping) else None
    if models is None:
        return {ONE: resolve(y_true, y_prob, sample_weight, pos_label)}
    argument = "y_prob" if models is y_prob else "y_true"
    if not models or len({str(name) for name in models}) < len(models):
        raise ArgumentError(
            argument, "must contain one or more models with different names", "for example {'before': p, 'after': q}"
        )
    if models is y_true and any(isinstance(source, (View, VectorView, Summary)) for source in models.values()):
        return {str(name): resolve(source) for name, source in models.items()}
    parts = paired_models(y_true, y_prob, sample_weight, pos_label)
    return {name: as_predictions(part) for name, part in parts.items()}


class Named(Protocol):
    """Data of one model."""

    @property
    def name(self) -> str: ...


Part = TypeVar("Part", bound=Named)


def model_named(parts: Sequence[Part], name: str) -> Part:
    """Data of the model of this name."""
    for part in parts:
        if part.name == name:
            return part
    raise ArgumentError("name", f"unknown model {name!r}", f"choose one of {[part.name for part in parts]}")


def by_model(parts: Sequence[Any], names: Sequence[str], repeated: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Columns of all models below each other: those `repeated` for each, then the fields `names`."""
    values = {name: [none_for_nan(getattr(part, name)) for part in parts] for name in names}
    sizes = [len(held) for held in next(iter(values.values()))]
    columns: dict[str, list[Any]] = {
        "model": [part.name for part, n in zip(parts, sizes, strict=True) for _ in range(n)]
    }
    columns |= {name: list(own) * len(parts) for name, own in repeated.items()}
    return columns | {name: [value for held in each for value in held] for name, each in values.items()}


def read_predictions(who: str, models: Mapping[str, Source]) -> dict[str, Predictions]:
    """The models of `read_models`, if they have a probability for each class; `who` is the public function that was called."""
    checked: dict[str, Predictions] = {}
    for name, source in models.items():
        if not isinstance(source, Predictions):
            raise InputTypeError("y_true", f"{who} requires every class; got a view", "pass labels and probabilities")
        if source.kind not in ("binary", "multiclass"):
            raise InputTypeError(
                "y_prob", f"{who} requires a probability for each class; got {source.kind} predictions"
            )
        checked[name] = source
    return checked


def model_views(who: str, models: Mapping[str, Source], lens: str | Lens) -> dict[str, View]:
    """The view of the event of each model, with observed outcomes."""
    views = {name: one_view(source, lens) for name, source in models.items()}
    if any(view.is_soft for view in views.values()):
        raise UndefinedMetricError(who, "is not defined for soft labels")
    return views


def row_weights(view: View | VectorView) -> NDArray[np.float64]:
    """Weight of each row: its count, or its importance scaled to sum to the number of rows."""
    return view.weights * (view.n / view.total) if view.weight_kind == "importance" else view.weights


def value_or_nan(metric: Callable[..., float], *views: Any, **options: Any) -> float:
    """Return a metric, or NaN where it is undefined."""
    try:
        return metric(*views, **options)
    except UndefinedMetricError:
        return np.nan


def model_series(ax: Axes, style: Mapping[str, Any], parts: Iterable[Named], **more: Any) -> list[Series]:
    """Look of the series of each model; a model without a name has no label."""
    return series_of(ax, style, [None if part.name == ONE else part.name for part in parts], **more)


def single_point(x: Any) -> dict[str, Any]:
    """Marker style of a curve with a single point."""
    return {"marker": "o", "markersize": 4, "clip_on": False} if len(x) == 1 else {}


def metric_label(metric: str, lens: str) -> str:
    """Identifier of the metric; with the lens, if the usual value is of whole rows and this one is of a single event."""
    whole = catalogue[metric].takes != "View" and lens != "binary"
    return f"{metric} of {lens}" if whole else metric


def panels(ax: Any, count: int, *, columns: int, width: float, height: float, share: bool = False) -> list[Axes]:
    """One axes per panel: those given, or those of a new figure."""
    if ax is None:
        return grid_of_axes(None, count, columns=columns, width=width, height=height, share=share)
    given = [ax] if hasattr(ax, "add_patch") else list(ax)
    if len(given) != count:
        raise ArgumentError("ax", f"expected {count} axes, one for each panel; got {len(given)}", "drop ax")
    return [new_ax(one) for one in given]


def in_octaves(ax: Axes, values: Sequence[float], most: int = 7) -> None:
    """A logarithmic x axis with plain labels at values that do not overlap."""
    ax.set_xscale("log")
    place = np.log(np.asarray(values, dtype=np.float64))
    room = (place.max() - place.min()) / most
    kept = [0]
    for number, at in enumerate(place):
        if at - place[kept[-1]] >= room * (1 - 1e-9):
            kept.append(number)
    ax.set_xticks([values[i] for i in kept], [_short(values[i]) for i in kept])
    ax.set_xticks([], minor=True)


def _short(value: float) -> str:
    """A short text of a number; small ones as fractions 1/n if exact."""
    parts = round(1 / value)
    return f"1/{parts}" if parts >= 8 and abs(value * parts - 1) < 1e-9 else f"{value:.3g}"


def grouped_bars(
    ax: Axes, labels: Sequence[str], heights: Mapping[str, Any], looks: Sequence[Series], *, across: bool = False
) -> list[BarContainer]:
    """A group of bars per label, one per model; horizontal with `across`, the first label on top."""
    width = 0.8 / len(heights)
    labels = [plain(label) for label in labels]
    if across:
        labels = [shorten(label, NAME_LETTERS) for label in labels]
    middle = np.arange(len(labels))
    drawn = []
    for place, (values, look) in enumerate(zip(heights.values(), looks, strict=True)):
        at = middle + (place - (len(heights) - 1) / 2) * width
        style: dict[str, Any] = {"color": look.color, "alpha": look.line.get("alpha"), "linewidth": 0, "zorder": 2}
        style["label"] = look.label
        drawn.append(ax.barh(at, values, width, **style) if across else ax.bar(at, values, width, **style))
    if across:
        ax.set_yticks(middle, labels)
        ax.set_ylim(len(labels) - 0.5, -0.5)
        ax.yaxis.grid(False)
    else:
        ax.set_xticks(middle, labels)
        ax.xaxis.grid(False)
    return drawn
