"""Metric objects with the interface of torchmetrics: any score metric of the catalogue, or the binned error under its
torchmetrics name.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..binning.peer_edges import MOST_TORCH_BINS
from ..binning.rules import Edges
from ..errors import ArgumentError, LensError, ShapeError, UndefinedMetricError, UnknownArgumentError
from ..metrics.registry import Metric, catalogue
from ..sketches.collection import ALL, GroupSketch, Sketches
from ..sketches.sketch import Sketch, cell_view
from ..util.checks import check_choice, check_whole
from ..views.keywords import documents_keywords, unknown_keyword
from ..views.view import View
from . import sketching
from .accumulating import PARAMETERS, SketchMetric
from .sketching import Cells, cells_of

Norm = Literal["l1", "l2", "max"]
Task = Literal["binary", "multiclass", "multilabel"]
Arithmetic = Literal["exact", "linspace", "torch", "torch64"]
# Keywords of `SketchMetric`; all others are options of the metric.
_TAKEN = tuple(name for name in SketchMetric.__init__.__kwdefaults__ or {} if name != "lenses")
_KEYWORDS = tuple(name for name in _TAKEN if name != "cells")
_OWN_KEYWORDS = tuple(name for name in _KEYWORDS if name not in ("ignore_index", "validate_args"))
_CLASS_KEYWORDS = ("combine", "class_weight")


@documents_keywords(taken=_KEYWORDS, source=SketchMetric.__init__, table=PARAMETERS)
class CalibrationMetric(SketchMetric):
    """Any score metric of the catalogue, computed from sums on the device.

    It has the interface of torchmetrics: ``update``, ``compute``, ``forward`` and ``reset``.

    Parameters
    ----------
    metric : str or Metric
        Identifier such as ``"smece"``, or the metric; it must be defined on sketches.
    num_classes
    lens : str, optional
        One lens of `SketchMetric`. By default that of the metric, which for two classes mostly is ``"binary"``, the
        probability of the second; for one event it is always ``"binary"``.
    task : {"binary", "multiclass", "multilabel"}, optional
        What is predicted, as in torchmetrics; by default `num_classes` and `num_labels` decide. With ``"multiclass"`` the
        default lens of two classes is ``"top_label"``.
    num_labels
    **options
        Options of the metric, such as ``bins=20``, and ``combine`` and ``class_weight``.

    Raises
    ------
    ArgumentError
        If the metric needs the individual rows.
    UnknownArgumentError
        If an option is unknown.

    See Also
    --------
    MetricCollection : Several metrics that share their sums.
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
        lens: str | None = None,
        task: Task | None = None,
        num_labels: int | None = None,
        **options: Any,
    ) -> None:
        found = catalogue[metric] if isinstance(metric, str) else metric
        if found.takes != "View" or not found.sketch or found.needs:
            raise ArgumentError("metric", f"{found.id} cannot be computed from accumulated sums", "collect the rows")
        check_task(task, num_classes, num_labels)
        known = (*found.options, *_CLASS_KEYWORDS, "lens", "task", "num_labels", *_KEYWORDS)
        own = {word: options.pop(word) for word in _TAKEN if word in options}
        if num_labels is not None:
            num_labels = check_whole(num_labels, "num_labels")
            if own.get("num_groups") is not None:
                raise ArgumentError("num_groups", "cannot be combined with num_labels", "create one metric per group")
            if lens not in (None, "auto", "classwise"):
                raise LensError("lens", f"multilabel predictions have the lens 'classwise'; got {lens!r}")
            asked, own["num_groups"] = "classwise", num_labels
        else:
            asked = lens or ("binary" if num_classes is None else found.lens)
            two = "binary" if num_classes is None or (num_classes == 2 and task is None) else "top_label"
            asked = two if asked == "auto" else asked
        super().__init__(num_classes, lenses="binary" if num_labels else asked, **own)
        for word, value in options.items():  # reported now, not after an epoch
            if word not in (*found.options, *_CLASS_KEYWORDS):
                raise unknown_keyword(f"CalibrationMetric({found.id!r})", word, value, known)
        found._split(options)
        self.metric, self.lens, self.options, self.num_labels = found, asked, options, num_labels

    def _groups_of(self, preds: Tensor, target: Tensor, groups: Tensor | None) -> Tensor | None:
        if self.num_labels is None:
            return groups
        if groups is not None:
            raise ArgumentError("groups", "cannot be combined with num_labels")
        if not isinstance(preds, Tensor) or preds.ndim < 2 or preds.shape[1] != self.num_labels:
            got = tuple(preds.shape) if isinstance(preds, Tensor) else type(preds).__name__
            raise ShapeError(
                "preds", f"must have shape (N, {self.num_labels}, ...), a probability per label; got {got}"
            )
        label = torch.arange(self.num_labels, device=preds.device)
        return label.view(-1, *[1] * (preds.ndim - 2)).expand(preds.shape)

    def _sketches(self, sums: Tensor) -> Sketches:
        if self.num_labels is None:
            return super()._sketches(sums)
        kept = self._cell_sums(sums)
        names = [f"class:{k}" for k in range(self.num_labels)]
        found = {
            name: Sketch.of_sums(sketching.section_sums(kept, self.plan, k, 0), name) for k, name in enumerate(names)
        }
        return Sketches("multiclass", tuple(range(self.num_labels)), {ALL: GroupSketch(found, None)})

    def compute(self) -> Tensor:
        """Compute the value of all rows of all processes.

        Returns
        -------
        torch.Tensor
            A scalar in double precision, on the device of the sums.
        """
        found: Tensor = super().compute()
        return found

    def _value(self, sums: Tensor) -> Tensor:
        sketches = self._sketches(sums)
        return self._tensor(self._of_sketches(sketches))

    def _of_sketches(self, sketches: Sketches) -> float:
        if not sketches.n:
            raise UndefinedMetricError(self.metric.id, "no rows were added", "call update first")
        return self.metric(sketches, lens=self.lens, **self.options)

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
        if what == "groups":
            self._check_groups()
            return {group: self._tensor(self._of_sketches(sketches.group(group))) for group in sketches.groups}
        if what != "classes" or self.lens != "classwise":
            raise ArgumentError("what", f"must be 'groups', or 'classes' with the lens 'classwise'; got {what!r}")
        found = enumerate(sketches.sketches_of("classwise"))
        return {k: self._tensor(self.metric(one.view(), **self.options)) for k, one in found if one.n}

    def _check_groups(self) -> None:
        if self.num_groups is None or self.num_labels is not None:
            raise ArgumentError("what", "'groups' requires groups", "pass num_groups")

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
        num_classes: int | None,
        n_bins: int,
        norm: Norm,
        ignore_index: int | None,
        validate_args: bool,
        keywords: dict[str, Any],
        num_labels: int | None = None,
    ) -> None:
        n_bins = check_whole(n_bins, "n_bins")
        first = "num_classes" if num_classes is not None else "num_labels" if num_labels is not None else ""
        keywords = _own_keywords(keywords, type(self).__name__, first)
        edges = keywords.pop("edges", "exact")
        check_choice(edges, "edges", ("exact", "linspace", "torch", "torch64"))
        if edges in ("torch", "torch64") and n_bins > MOST_TORCH_BINS:
            raise ArgumentError("n_bins", f"must be at most {MOST_TORCH_BINS:,} with edges={edges!r}; got {n_bins:,}")
        check_choice(norm, "norm", ("l1", "l2", "max"))
        found = "mce" if norm == "max" else "ece"
        more: dict[str, Any] = {} if norm == "max" else {"norm": 1 if norm == "l1" else 2}
        # There may be as many groups as images, so only their bins are kept, not the cells of a sketch.
        apart = edges != "exact" or num_labels is not None or keywords.get("num_groups") is not None
        cells = Cells(n_bins, False, edges) if apart else cells_of(n_bins)
        rule: dict[str, Any] = {"bins": n_bins} if edges == "exact" else {"binning": Edges(tuple(cells.edges.tolist()))}
        lens = "top_label" if num_classes is not None else "binary" if num_labels is None else "classwise"
        keywords |= {"ignore_index": ignore_index, "validate_args": validate_args, "cells": cells}
        super().__init__(found, num_classes, lens=lens, num_labels=num_labels, **rule, **more, **keywords)
        self.n_bins, self.norm, self.edges = n_bins, norm, edges

    def _value(self, sums: Tensor) -> Tensor:
        kept = self._checked(sums)
        views = [self._view(kept, group) for group in ([None] if self.num_labels is None else range(self.num_labels))]
        return self._tensor(self._of_views(views))

    def _view(self, kept: NDArray[np.int64], group: int | None) -> View:
        edges = self.plan.cells.edges
        return cell_view(sketching.section_sums(kept, self.plan, group, 0), edges[:-1], edges[1:], self.lens)

    def _of_views(self, views: list[View]) -> float:
        empty = [label for label, view in enumerate(views) if not len(view.score)]
        if len(empty) == len(views):
            raise UndefinedMetricError(type(self).__name__, "no rows were added", "call update first")
        if empty:
            raise UndefinedMetricError(type(self).__name__, f"label {empty[0]} has no rows", "leave it out")
        options, _, _, combine, class_weight, _ = self.metric._split(self.options)
        return self.metric._value(list(views), options, combine, class_weight)

    def compute_by(self, what: Literal["groups", "classes"] = "groups") -> dict[int, Tensor]:
        """Compute the value of each group, or of each label of multilabel predictions.

        Parameters
        ----------
        what : {"groups", "classes"}, default "groups"
            Groups, which require `num_groups`; ``"classes"`` for labels.

        Returns
        -------
        dict of int to torch.Tensor
            Value by index; groups and labels without rows are left out.
        """
        if what == "groups" and self.num_labels is None:
            self._check_groups()
        elif what != "classes" or self.num_labels is None:
            words = "'groups'" if self.num_labels is None else "'classes'"
            raise ArgumentError(
                "what", f"must be {words}; got {what!r}", "use CalibrationMetric('cwce', ...) for classes"
            )
        kept = self._checked(self._total())
        views = ((group, self._view(kept, group)) for group in range(self.plan.groups))
        return {group: self._tensor(self._of_views([view])) for group, view in views if len(view.score)}


def _own_keywords(keywords: dict[str, Any], owner: str, first: str) -> dict[str, Any]:
    """The keywords of `SketchMetric`, checked."""
    known = (*((first,) if first else ()), "n_bins", "norm", "ignore_index", "validate_args", "edges", *_OWN_KEYWORDS)
    for word, value in keywords.items():
        if word == "lens":
            raise UnknownArgumentError(
                "lens", f"unexpected keyword of {owner}", "use CalibrationMetric('ece', ..., lens=...)"
            )
        if word not in known:
            raise unknown_keyword(owner, word, value, known)
    return dict(keywords)


def check_task(task: str | None, num_classes: Any, num_labels: Any) -> None:
    """Raise unless the numbers of classes and labels are those that a task of torchmetrics needs."""
    if task is not None:
        check_choice(task, "task", ("binary", "multiclass", "multilabel"))
    if num_classes is not None and num_labels is not None:
        raise ArgumentError("num_labels", "cannot be combined with num_classes", "labels are not exclusive classes")
    for name, number, needed in (("num_classes", num_classes, "multiclass"), ("num_labels", num_labels, "multilabel")):
        if task == needed and number is None:
            raise ArgumentError(name, f"required by task={task!r}")
        if task not in (None, needed) and number is not None:
            raise ArgumentError(name, f"cannot be combined with task={task!r}", f"use task={needed!r}")


@documents_keywords(taken=_OWN_KEYWORDS, source=SketchMetric.__init__, table=PARAMETERS)
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
        super().__init__(None, n_bins, norm, ignore_index, validate_args, keywords | {"edges": edges})


@documents_keywords(taken=_OWN_KEYWORDS, source=SketchMetric.__init__, table=PARAMETERS)
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
        if num_classes is None:
            raise ArgumentError("num_classes", "must be 2 or more; got None")
        super().__init__(num_classes, n_bins, norm, ignore_index, validate_args, keywords | {"edges": edges})


@documents_keywords(taken=_OWN_KEYWORDS, source=SketchMetric.__init__, table=PARAMETERS)
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

    See Also
    --------
    BinaryCalibrationError : For a single event, with the formula.
    CalibrationMetric : Other metrics, with ``task="multilabel"``.

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
        if num_labels is None:
            raise ArgumentError("num_labels", "must be 1 or more; got None")
        super().__init__(None, n_bins, norm, ignore_index, validate_args, keywords | {"edges": edges}, num_labels)


@documents_keywords(taken=_OWN_KEYWORDS, source=SketchMetric.__init__, table=PARAMETERS)
def CalibrationError(
    task: Task,
    n_bins: int = 15,
    norm: Norm = "l1",
    num_classes: int | None = None,
    ignore_index: int | None = None,
    validate_args: bool = True,
    *,
    num_labels: int | None = None,
    edges: Arithmetic = "exact",
    **keywords: Any,
) -> BinaryCalibrationError | MulticlassCalibrationError | MultilabelCalibrationError:
    """Create the binned calibration error of a task, as `torchmetrics.CalibrationError` does.

    Parameters
    ----------
    task : {"binary", "multiclass", "multilabel"}
        What is predicted: one event, one of several classes, or several labels.
    n_bins
    norm
    num_classes : int, optional
        Number of classes; required by ``"multiclass"``.
    ignore_index
    validate_args
    num_labels : int, optional
        Number of labels; required by ``"multilabel"``.
    edges
    **keywords

    Returns
    -------
    BinaryCalibrationError, MulticlassCalibrationError or MultilabelCalibrationError
        The metric.

    See Also
    --------
    calibrant.torch.functional.calibration_error : The value of tensors.

    Examples
    --------
    >>> import calibrant.torch as ct
    >>> ct.CalibrationError(task="multiclass", num_classes=3)
    MulticlassCalibrationError(ece, 3, input='prob')
    """
    check_task(task, num_classes, num_labels)
    shared: dict[str, Any] = {"ignore_index": ignore_index, "validate_args": validate_args, "edges": edges, **keywords}
    if num_classes is not None:
        return MulticlassCalibrationError(num_classes, n_bins, norm, **shared)
    if num_labels is not None:
        return MultilabelCalibrationError(num_labels, n_bins, norm, **shared)
    if task != "binary":
        raise ArgumentError("task", f"must be 'binary', 'multiclass' or 'multilabel'; got {task!r}")
    return BinaryCalibrationError(n_bins, norm, **shared)
