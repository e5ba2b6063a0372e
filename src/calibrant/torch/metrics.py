"""Metric objects with the interface of torchmetrics: any score metric of the catalogue, or the binned error under its
torchmetrics name.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..binning.peer_edges import MOST_TORCH_BINS
from ..binning.rules import Edges
from ..errors import ArgumentError, LensError, ShapeError, UndefinedMetricError
from ..metrics.registry import Metric, catalogue
from ..sketches.collection import ALL, GroupSketch, Sketches
from ..sketches.sketch import Sketch, cell_views
from ..util.checks import check_choice, check_whole
from ..views.lenses import Lens, text_of_lens
from ..views.view import View
from . import sketching
from .accumulating import SketchMetric, documents_metric
from .sketching import Cells, cells_of

Norm = Literal["l1", "l2", "max"]
Arithmetic = Literal["exact", "linspace", "torch", "torch64"]


@documents_metric
class CalibrationMetric(SketchMetric):
    """Any score metric of the catalogue, computed from sums on the device.

    It has the interface of torchmetrics: ``update``, ``compute``, ``forward`` and ``reset``.

    Parameters
    ----------
    metric : str or Metric
        Identifier such as ``"smece"``, or the metric; it must be defined on sketches.
    num_classes
    lens : str or Lens, optional
        One lens of `SketchMetric`, or ``classwise(combine="max")``. By default that of the metric, which for two classes mostly is ``"binary"``, the
        probability of the second; for one event it is always ``"binary"``.
    num_labels
    **options
        Options of the metric, such as ``bins=20``, and keywords of `SketchMetric`, such as ``input``.

    Raises
    ------
    ArgumentError
        If the metric needs the individual rows.

    See Also
    --------
    SketchMetric : The sketches alone.
    calibrant.catalogue : The metrics.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.metrics import CalibrationMetric
    >>> metric = CalibrationMetric("smece", 3)
    >>> metric.update(torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]), torch.tensor([0, 1]))
    >>> round(float(metric.compute()), 3)
    0.197
    """

    def __init__(
        self,
        metric: str | Metric,
        num_classes: int | None = None,
        *,
        lens: str | Lens | None = None,
        num_labels: int | None = None,
        **options: Any,
    ) -> None:
        formula = catalogue[metric] if isinstance(metric, str) else metric
        if formula.takes != "View" or not formula.sketch or formula.needs:
            raise ArgumentError("metric", f"{formula.id} cannot be computed from accumulated sums", "collect the rows")
        formula_options = {name: value for name, value in options.items() if name in formula.options}
        keywords = {name: value for name, value in options.items() if name not in formula.options}
        combining = lens if isinstance(lens, Lens) else None
        lens = text_of_lens(lens)
        if num_labels is None:
            lens = lens or ("binary" if num_classes is None else formula.lens)
            if lens == "auto":
                lens = "binary" if num_classes in (None, 2) else "top_label"
            super().__init__(num_classes, lenses=lens, **keywords)
        else:
            if num_classes is not None or "num_groups" in keywords:
                raise ArgumentError("num_labels", "cannot be combined with num_classes and num_groups")
            if lens not in (None, "auto", "classwise"):
                raise LensError("lens", f"multilabel predictions have the lens 'classwise'; got {lens!r}")
            lens = "classwise"
            # Each label is a group of its own.
            super().__init__(lenses="binary", num_groups=check_whole(num_labels, "num_labels"), **keywords)
        self.metric, self.lens, self.options, self.num_labels = formula, lens, formula_options, num_labels
        self.combining_lens = lens if combining is None else combining

    def _groups_of(self, preds: Tensor, groups: Tensor | None) -> Tensor | None:
        if self.num_labels is None:
            return groups
        if preds.ndim < 2 or preds.shape[1] != self.num_labels:
            shape = tuple(preds.shape)
            raise ShapeError(
                "preds", f"must have shape (N, {self.num_labels}, ...), a probability per label; got {shape}"
            )
        label = torch.arange(self.num_labels, device=preds.device)
        return label.view(-1, *[1] * (preds.ndim - 2)).expand(preds.shape)

    def _sketches(self) -> Sketches:
        if self.num_labels is None:
            return super()._sketches()
        sums, labels = self._checked_sums(), range(self.num_labels)
        by_label = {
            f"class:{k}": Sketch.of_sums(sketching.section_sums(sums, self.plan, k, 0), f"class:{k}") for k in labels
        }
        return Sketches("multiclass", tuple(labels), {ALL: GroupSketch(by_label, None)})

    def _value(self) -> Tensor:
        return self._tensor(self._of_sketches(self._sketches()))

    def _of_sketches(self, sketches: Sketches) -> float:
        if not sketches.n:
            raise UndefinedMetricError(self.metric.id, "no rows were added", "call update first")
        return self.metric(sketches, lens=self.combining_lens, **self.options)

    def compute_by(self, what: Literal["groups", "classes"]) -> dict[int, Tensor]:
        """Compute the value of each group, or of each class against the rest.

        Parameters
        ----------
        what : {"groups", "classes"}
            Groups require `num_groups`, classes ``lens="classwise"``.

        Returns
        -------
        dict of int to torch.Tensor
            Value by index; groups and classes without rows are left out.
        """
        sketches = self.sketches()
        if what == "groups" and self.num_groups is not None and self.num_labels is None:
            return {group: self._tensor(self._of_sketches(sketches.group(group))) for group in sketches.groups}
        if what != "classes" or self.lens != "classwise":
            raise ArgumentError(
                "what", f"must be 'groups' with num_groups, or 'classes' with the lens 'classwise'; got {what!r}"
            )
        by_class = enumerate(sketches.sketches_of("classwise"))
        return {k: self._tensor(self.metric(sketch.view(), **self.options)) for k, sketch in by_class if sketch.n}

    def _tensor(self, value: float) -> Tensor:
        return torch.tensor(value, dtype=torch.float64, device=self.sums.device)

    def extra_repr(self) -> str:
        """Return the settings shown in the representation of the module.

        Returns
        -------
        str
            Metric, number of classes and kind of input.
        """
        return f"{self.metric.id}, {super().extra_repr()}"


class _BinnedError(CalibrationMetric):
    """Exact calibration error over bins of equal width."""

    higher_is_better = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        n_bins: int = 15,
        norm: Norm = "l1",
        ignore_index: int | None = None,
        validate_args: bool = True,
        *,
        edges: Arithmetic = "exact",
        **keywords: Any,
    ) -> None:
        check_choice(norm, "norm", ("l1", "l2", "max"))
        check_choice(edges, "edges", ("exact", "linspace", "torch", "torch64"))
        n_bins = check_whole(n_bins, "n_bins")
        if edges in ("torch", "torch64") and n_bins > MOST_TORCH_BINS:
            raise ArgumentError("n_bins", f"must be at most {MOST_TORCH_BINS:,} with edges={edges!r}; got {n_bins:,}")
        # There may be as many groups as images, so only their bins are kept, not the cells of a sketch.
        keeps_cells = edges != "exact" or any(keywords.get(name) is not None for name in ("num_labels", "num_groups"))
        cells = Cells(n_bins, False, edges) if keeps_cells else cells_of(n_bins)
        options: dict[str, Any] = {} if norm == "max" else {"norm": 1 if norm == "l1" else 2}
        options |= {"bins": n_bins} if edges == "exact" else {"binning": Edges(tuple(cells.edges.tolist()))}
        options |= {"ignore_index": ignore_index, "validate_args": validate_args}
        super().__init__("mce" if norm == "max" else "ece", cells=cells, **options, **keywords)
        self.n_bins, self.norm, self.edges = n_bins, norm, edges

    def _value(self) -> Tensor:
        sums = self._checked_sums()
        if self.num_labels is None:
            return self._tensor(self._of_view(self._view(sums, None), "no rows were added"))
        values = [
            self._of_view(self._view(sums, label), f"label {label} has no rows") for label in range(self.num_labels)
        ]
        if self.norm == "max":
            return self._tensor(max(values))
        power = 1 if self.norm == "l1" else 2
        return self._tensor((math.fsum(value**power for value in values) / len(values)) ** (1 / power))

    def _view(self, counters: NDArray[np.int64], group: int | None) -> View:
        edges = self.plan.cells.edges
        sums = sketching.section_sums(counters, self.plan, group, 0)
        return cell_views(sums, edges[:-1], edges[1:], np.array([len(edges) - 1]), self.lens)[0]

    def _of_view(self, view: View, problem: str = "") -> float:
        if not len(view.score):
            raise UndefinedMetricError(type(self).__name__, problem, "call update first")
        return self.metric(view, **self.options)

    def compute_by(self, what: Literal["groups", "classes"] = "groups") -> dict[int, Tensor]:
        """Compute the value of each group, or of each label of multilabel predictions.

        Parameters
        ----------
        what : {"groups", "classes"}, default "groups"
            Groups require `num_groups`; ``"classes"`` are the labels of multilabel predictions.

        Returns
        -------
        dict of int to torch.Tensor
            Value by index; groups and labels without rows are left out.
        """
        required = "groups" if self.num_labels is None else "classes"
        if what != required or self.num_groups is None:
            raise ArgumentError(
                "what",
                f"must be 'groups' with num_groups, or 'classes' with num_labels; got {what!r}",
                "use CalibrationMetric('cwce', ...) for classes",
            )
        with self._all_processes():
            sums = self._checked_sums()
        views = {group: self._view(sums, group) for group in range(self.plan.groups)}
        return {group: self._tensor(self._of_view(view)) for group, view in views.items() if len(view.score)}


@documents_metric
class BinaryCalibrationError(_BinnedError):
    r"""Binned calibration error of the probability of one event, a replacement for that of torchmetrics.

    It accepts the arguments of `torchmetrics.classification.BinaryCalibrationError` and returns the same value, except that

    - sums are exact integers: neither half precision, nor more than 2^24 rows, nor their order change the result;
    - a score of 1 belongs to the last bin, not to a bin of its own;
    - bins are closed on the right, with edges k/M, as everywhere in this library: a score on an edge belongs to the lower bin;
    - logits are declared with ``input="logit"``, not inferred per batch from entries outside [0, 1];
    - NaN, entries outside [0, 1], invalid labels and an empty metric raise errors at `compute`;
    - no rows are stored, and processes exchange sums.

    Parameters
    ----------
    n_bins
    norm
    ignore_index
    validate_args
    edges
    **keywords
        Keywords of `SketchMetric`, such as ``input``, ``num_groups`` and ``sync_on_compute``.

    See Also
    --------
    MulticlassCalibrationError : For the predicted class.
    CalibrationMetric : Other metrics and options.

    Notes
    -----
    With :math:`n_m` of :math:`n` rows in bin m, mean probability :math:`c_m` and observed rate :math:`a_m`, ``"l1"`` is
    :math:`\sum_m \frac{n_m}{n} |a_m - c_m|`, ``"l2"`` :math:`\sqrt{\sum_m \frac{n_m}{n} (a_m - c_m)^2}` and ``"max"``
    :math:`\max_m |a_m - c_m|`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.metrics import BinaryCalibrationError
    >>> metric = BinaryCalibrationError(n_bins=2)
    >>> round(float(metric(torch.tensor([0.25, 0.25, 0.55, 0.75, 0.75]), torch.tensor([0, 0, 1, 1, 1]))), 6)
    0.29
    """


@documents_metric
class MulticlassCalibrationError(_BinnedError):
    """Binned calibration error of the predicted class, a replacement for that of torchmetrics.

    It differs from `torchmetrics.classification.MulticlassCalibrationError` as `BinaryCalibrationError` states; in
    addition a row that does not sum to 1 raises an error instead of being passed through a softmax. With two classes
    it is the error of the predicted class too; ``CalibrationMetric("ece", 2)`` is that of the probability of the
    second.

    Parameters
    ----------
    num_classes : int
        Number of classes, at least 2.
    n_bins
    norm
    ignore_index
    validate_args
    edges
    **keywords
        Keywords of `SketchMetric`, such as ``input``, ``num_groups`` and ``sync_on_compute``.

    See Also
    --------
    BinaryCalibrationError : For the probability of one event, with the formula.
    CalibrationMetric : Other metrics and options.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.metrics import MulticlassCalibrationError
    >>> preds = torch.tensor([[0.25, 0.20, 0.55], [0.55, 0.05, 0.40], [0.10, 0.30, 0.60], [0.90, 0.05, 0.05]])
    >>> metric = MulticlassCalibrationError(num_classes=3, n_bins=3)
    >>> round(float(metric(preds, torch.tensor([0, 1, 2, 0]))), 6)
    0.2
    """

    def __init__(
        self,
        num_classes: int,
        n_bins: int = 15,
        norm: Norm = "l1",
        ignore_index: int | None = None,
        validate_args: bool = True,
        *,
        edges: Arithmetic = "exact",
        **keywords: Any,
    ) -> None:
        keywords |= {"num_classes": check_whole(num_classes, "num_classes", 2), "lens": "top_label"}
        super().__init__(n_bins, norm, ignore_index, validate_args, edges=edges, **keywords)


@documents_metric
class MultilabelCalibrationError(_BinnedError):
    """Binned calibration error of each label of multilabel predictions, averaged over the labels.

    `preds` and `target` have the shape (N, L, ...). Each label is an event of its own, and probabilities need not sum to 1.
    The value is that of ``calibrant.ece(y_true, y_prob, multilabel=True)``, and of ``calibrant.mce`` with the norm ``"max"``:
    the mean over the labels, or their maximum. torchmetrics has no such metric.

    Parameters
    ----------
    num_labels : int
        Number of labels.
    n_bins
    norm
    ignore_index
    validate_args
    edges
    **keywords
        Keywords of `SketchMetric`, such as ``input``, ``num_groups`` and ``sync_on_compute``.

    See Also
    --------
    BinaryCalibrationError : For a single event, with the formula.
    CalibrationMetric : Other metrics, with `num_labels`.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.metrics import MultilabelCalibrationError
    >>> metric = MultilabelCalibrationError(num_labels=2, n_bins=2)
    >>> preds, target = torch.tensor([[0.2, 0.9], [0.4, 0.7]]), torch.tensor([[0, 1], [1, 1]])
    >>> round(float(metric(preds, target)), 6)
    0.2
    >>> {label: round(float(value), 6) for label, value in metric.compute_by("classes").items()}
    {0: 0.2, 1: 0.2}
    """

    def __init__(
        self,
        num_labels: int,
        n_bins: int = 15,
        norm: Norm = "l1",
        ignore_index: int | None = None,
        validate_args: bool = True,
        *,
        edges: Arithmetic = "exact",
        **keywords: Any,
    ) -> None:
        keywords |= {"num_labels": check_whole(num_labels, "num_labels")}
        super().__init__(n_bins, norm, ignore_index, validate_args, edges=edges, **keywords)
