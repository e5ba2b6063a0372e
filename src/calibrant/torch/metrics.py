"""Metric objects with the interface of torchmetrics: any score metric of the catalogue, or the binned error under its
torchmetrics name.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import ArgumentError, UndefinedMetricError, UnknownArgumentError, Use
from ..metrics.registry import Metric, catalogue
from ..sketches.collection import Sketches
from ..sketches.sketch import cell_view
from ..util.checks import check_choice, check_whole
from ..views.keywords import documents_keywords, unknown_keyword
from ..views.view import View
from . import sketching
from .accumulating import PARAMETERS, SketchMetric
from .sketching import Cells, cells_of

__all__ = ["BinaryCalibrationError", "CalibrationMetric", "MulticlassCalibrationError"]

Norm = Literal["l1", "l2", "max"]
# Keywords of `SketchMetric`; all others are options of the metric.
_TAKEN = tuple(name for name in SketchMetric.__init__.__kwdefaults__ or {} if name != "lenses")
_KEYWORDS = tuple(name for name in _TAKEN if name != "cells")
_OWN_KEYWORDS = tuple(name for name in _KEYWORDS if name not in ("ignore_index", "validate_args"))
_CLASS_KEYWORDS = ("combine", "class_weight")
# Keywords of every metric of torchmetrics: the first two are ignored, the others accepted with their defaults only.
_IGNORED = ("compute_on_cpu", "compute_with_cache")
_DEFAULT_ONLY = {"dist_sync_on_step": False, "dist_sync_fn": None, "distributed_available_fn": None}


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
        self, metric: str | Metric, num_classes: int | None = None, *, lens: str | None = None, **options: Any
    ) -> None:
        found = catalogue[metric] if isinstance(metric, str) else metric
        if found.takes != "View" or not found.sketch or found.needs:
            raise ArgumentError("metric", f"{found.id} cannot be computed from accumulated sums", "collect the rows")
        asked = lens or ("binary" if num_classes is None else found.lens)
        asked = ("binary" if num_classes in (None, 2) else "top_label") if asked == "auto" else asked
        super().__init__(num_classes, lenses=asked, **{word: options.pop(word) for word in _TAKEN if word in options})
        known = (*found.options, *_CLASS_KEYWORDS, "lens", *_KEYWORDS)
        for word, value in options.items():  # reported now, not after an epoch
            if word not in (*found.options, *_CLASS_KEYWORDS):
                raise unknown_keyword(f"CalibrationMetric({found.id!r})", word, value, known)
        found._split(options)
        self.metric, self.lens, self.options = found, asked, options

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
        if self.num_groups is None:
            raise ArgumentError("what", "'groups' requires groups", Use("num_groups"))

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

    def __init__(
        self,
        num_classes: int | None,
        n_bins: int,
        norm: Norm,
        ignore_index: int | None,
        validate_args: bool,
        keywords: dict[str, Any],
    ) -> None:
        n_bins = check_whole(n_bins, "n_bins")
        keywords = _own_keywords(keywords, type(self).__name__, num_classes is not None)
        check_choice(norm, "norm", ("l1", "l2", "max"))
        found, more = ("mce", {}) if norm == "max" else ("ece", {"norm": 1 if norm == "l1" else 2})
        # There may be as many groups as images, so only their bins are kept, not the cells of a sketch.
        cells = cells_of(n_bins) if keywords.get("num_groups") is None else Cells(n_bins, False)
        lens = "binary" if num_classes is None else "top_label"
        keywords |= {"ignore_index": ignore_index, "validate_args": validate_args, "cells": cells}
        super().__init__(found, num_classes, lens=lens, bins=n_bins, **more, **keywords)
        self.n_bins, self.norm = n_bins, norm

    def _value(self, sums: Tensor) -> Tensor:
        return self._tensor(self._of_view(self._view(self._checked(sums), None)))

    def _view(self, kept: NDArray[np.int64], group: int | None) -> View:
        edges = self.plan.cells.edges
        return cell_view(sketching.section_sums(kept, self.plan, group, 0), edges[:-1], edges[1:], self.lens)

    def _of_view(self, view: View) -> float:
        if not len(view.score):
            raise UndefinedMetricError(type(self).__name__, "no rows were added", "call update first")
        return self.metric(view, **self.options)

    def compute_by(self, what: Literal["groups", "classes"] = "groups") -> dict[int, Tensor]:
        """Compute the value of each group.

        Parameters
        ----------
        what : {"groups"}, default "groups"
            Groups, which require `num_groups`.

        Returns
        -------
        dict of int to torch.Tensor
            Value by index; groups without rows are left out.
        """
        if what != "groups":
            raise ArgumentError(
                "what", f"must be 'groups'; got {what!r}", "use CalibrationMetric('cwce', ...) for classes"
            )
        self._check_groups()
        kept = self._checked(self._total())
        views = ((group, self._view(kept, group)) for group in range(self.plan.groups))
        return {group: self._tensor(self._of_view(view)) for group, view in views if len(view.score)}


def _own_keywords(keywords: dict[str, Any], owner: str, classes: bool) -> dict[str, Any]:
    """The keywords of `SketchMetric`; raises for keywords of torchmetrics that would change the result."""
    known = (*(("num_classes",) if classes else ()), "n_bins", "norm", "ignore_index", "validate_args", *_OWN_KEYWORDS)
    for word, value in keywords.items():
        if word == "lens":
            raise UnknownArgumentError(
                "lens", f"unexpected keyword of {owner}", "use CalibrationMetric('ece', ..., lens=...)"
            )
        if word in _DEFAULT_ONLY and value is not _DEFAULT_ONLY[word]:
            raise ArgumentError(
                word,
                f"must be {_DEFAULT_ONLY[word]}: a call returns the value of its batch, and compute combines the processes",
                "use process_group and sync_on_compute instead",
            )
        if word not in (*_OWN_KEYWORDS, *_IGNORED, *_DEFAULT_ONLY):
            raise unknown_keyword(owner, word, value, known)
    return {word: value for word, value in keywords.items() if word in _OWN_KEYWORDS}


@documents_keywords(taken=_OWN_KEYWORDS, source=SketchMetric.__init__, table=PARAMETERS)
class BinaryCalibrationError(_BinnedError):
    r"""Binned calibration error of the probability of one event, a replacement for that of torchmetrics.

    It accepts the arguments of `torchmetrics.classification.BinaryCalibrationError` (``dist_sync_on_step``,
    ``dist_sync_fn`` and ``distributed_available_fn`` only with their defaults) and returns the same value, except that

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
        **keywords: Any,
    ) -> None:
        super().__init__(None, n_bins, norm, ignore_index, validate_args, keywords)


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
        **keywords: Any,
    ) -> None:
        if num_classes is None:
            raise ArgumentError("num_classes", "must be 2 or more; got None")
        super().__init__(num_classes, n_bins, norm, ignore_index, validate_args, keywords)
