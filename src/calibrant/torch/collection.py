"""MetricCollection: several metric objects updated together, sharing sums where possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ArgumentError, InputTypeError
from .accumulating import SketchMetric, documents_metric, untraced


class MetricCollection(nn.Module):
    """Several metrics with the interface of one; results are dictionaries by name.

    Metrics with the same lens and settings share one set of sums, which is updated and reduced over processes only
    once. They must be empty or have counted the same rows when the collection is built.

    Parameters
    ----------
    metrics : mapping of str to SketchMetric, iterable of SketchMetric, or SketchMetric
        Metrics by name, or metrics that are named after the catalogue or their class; or one metric, followed by
        `others`.
    *others : SketchMetric
        Further metrics, if `metrics` is a single one.
    prefix : str, optional
        Text before the names in results.
    postfix : str, optional
        Text after the names in results.
    compute_groups : object, default True
        Accepted for compatibility with torchmetrics and ignored; sums are always shared where possible.

    See Also
    --------
    CalibrationMetric : One metric.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.collection import MetricCollection
    >>> from calibrant.torch.metrics import CalibrationMetric
    >>> both = MetricCollection([CalibrationMetric("ece", 3), CalibrationMetric("smece", 3)], prefix="val_")
    >>> both.update(torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]), torch.tensor([0, 1]))
    >>> {name: round(float(value), 3) for name, value in both.compute().items()}
    {'val_ece': 0.35, 'val_smece': 0.197}
    """

    def __init__(
        self,
        metrics: Mapping[str, SketchMetric] | Iterable[SketchMetric] | SketchMetric,
        *others: SketchMetric,
        prefix: str | None = None,
        postfix: str | None = None,
        compute_groups: Any = True,
    ) -> None:
        super().__init__()
        alone = isinstance(metrics, nn.Module) and not isinstance(metrics, Iterable)
        if others and not alone:
            raise InputTypeError(
                "others", "cannot be combined with a list of metrics", "pass all metrics in one list or mapping"
            )
        named = _named([metrics, *others] if alone else metrics)
        self.prefix, self.postfix = _affix(prefix, "prefix"), _affix(postfix, "postfix")
        self.metrics = nn.ModuleDict(named)
        leaders: dict[Any, str] = {}
        self._leader = {name: leaders.setdefault(metric._shared(), name) for name, metric in named.items()}
        for name, lead in self._leader.items():
            if not _same_rows(self[name], self[lead]):
                raise ArgumentError(
                    "metrics",
                    f"{name!r} and {lead!r} share their sums but were updated with other rows",
                    "call reset()",
                )
        self._join()

    @documents_metric
    @untraced
    def update(self, preds: Tensor, target: Tensor, groups: Tensor | None = None) -> None:
        """Add a batch to all metrics.

        Parameters
        ----------
        preds
        target
        groups
        """
        for metric in self._leading():
            metric.update(preds, target, groups)
        self._join()

    @documents_metric
    @untraced
    def forward(self, preds: Tensor, target: Tensor, groups: Tensor | None = None) -> dict[str, Any]:
        """Add a batch and return the values of this batch alone; synchronizes with the device.

        Parameters
        ----------
        preds
        target
        groups

        Returns
        -------
        dict
            Value of the batch by name.
        """
        batch = {name: self[name]._added(preds, target, groups) for name in self._led()}
        self._join()
        return {self._label(name): self[name]._value(batch[lead]) for name, lead in self._leader.items()}

    @untraced
    def compute(self) -> dict[str, Any]:
        """Compute the values of all rows of all processes.

        Returns
        -------
        dict
            Value by name.
        """
        self._join()
        totals = {name: self[name]._total() for name in self._led()}
        return {self._label(name): self[name]._value(totals[lead]) for name, lead in self._leader.items()}

    def reset(self) -> None:
        """Remove all rows."""
        for metric in self._leading():
            metric.reset()
        self._join()

    def merge_state(self, incoming: MetricCollection) -> None:
        """Add the rows of another collection of the same metrics.

        Parameters
        ----------
        incoming : MetricCollection
            The other collection.
        """
        if not isinstance(incoming, MetricCollection) or incoming._leader != self._leader:
            raise InputTypeError("incoming", "must be a collection of the same metrics")
        for name in self._led():
            self[name].merge_state(incoming[name])
        self._join()

    def persistent(self, mode: bool = True) -> None:
        """Set whether the state dict of a model that contains the collection includes its rows.

        By default it does not. The state dict of the collection itself always does.

        Parameters
        ----------
        mode : bool, default True
            Whether it does.
        """
        for metric in self.values():
            metric.persistent(mode)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if not prefix:
            for name, metric in self.items():
                destination |= metric._saved(f"metrics.{name}.")

    def _join(self) -> None:
        """Share the sums again; moving to another device separates them."""
        for name, lead in self._leader.items():
            if name != lead:
                self[name]._follow(self[lead])

    def _led(self) -> list[str]:
        return list(dict.fromkeys(self._leader.values()))

    def _leading(self) -> Iterator[SketchMetric]:
        return (self[name] for name in self._led())

    def _label(self, name: str) -> str:
        return f"{self.prefix}{name}{self.postfix}"

    def __getitem__(self, name: str) -> SketchMetric:
        if name not in self.metrics:
            raise ArgumentError("name", f"unknown metric {name!r}", f"choose one of {', '.join(self.metrics)}")
        found = self.metrics[name]
        assert isinstance(found, SketchMetric)
        return found

    def __len__(self) -> int:
        return len(self.metrics)

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.metrics

    def keys(self) -> Iterable[str]:
        """Return the names of the metrics, without prefix and postfix.

        Returns
        -------
        iterable of str
            The names.
        """
        return self.metrics.keys()

    def values(self) -> Iterable[SketchMetric]:
        """Return the metrics.

        Returns
        -------
        iterable of SketchMetric
            The metrics.
        """
        return [self[name] for name in self]

    def items(self) -> Iterable[tuple[str, SketchMetric]]:
        """Return names and metrics.

        Returns
        -------
        iterable of (str, SketchMetric)
            Pairs of name and metric.
        """
        return [(name, self[name]) for name in self]


def _affix(text: Any, argument: str) -> str:
    if text is not None and not isinstance(text, str):
        raise InputTypeError(argument, f"must be text or None; got {type(text).__name__}")
    return text or ""


def _same_rows(one: SketchMetric, other: SketchMetric) -> bool:
    return one is other or torch.equal(one._carried().cpu(), other._carried().cpu())


def _named(metrics: Any) -> dict[str, SketchMetric]:
    """Metrics by names that are valid for submodules."""
    if not isinstance(metrics, Iterable):
        raise InputTypeError("metrics", f"must be metrics, or a mapping to them; got {type(metrics).__name__}")
    pairs = metrics.items() if isinstance(metrics, Mapping) else ((_name_of(metric), metric) for metric in metrics)
    found: dict[str, SketchMetric] = {}
    empty = nn.ModuleDict()
    for name, metric in pairs:
        if not isinstance(metric, SketchMetric):
            raise InputTypeError("metrics", f"{name!r} must be a metric of calibrant; got {type(metric).__name__}")
        if not isinstance(name, str) or not name or "." in name or hasattr(empty, name):
            raise ArgumentError(
                "metrics",
                f"names must be text without dots that is not an attribute of torch modules; got {name!r}",
                "choose another name; prefix and postfix can be any text",
            )
        if name in found:
            raise ArgumentError("metrics", f"two metrics are named {name!r}", "pass a mapping from names to metrics")
        found[name] = metric
    return found


def _name_of(metric: Any) -> str:
    kind = type(metric).__name__
    return kind if kind.endswith("CalibrationError") else str(getattr(getattr(metric, "metric", None), "id", kind))
