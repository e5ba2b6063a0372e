"""Metric objects with the verbs of torchmetrics: any score metric of the catalogue, or the binned error under their names."""

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
from ..views.keywords import unknown_keyword
from ..views.view import View
from . import sketching
from .accumulating import SketchMetric
from .sketching import Cells, cells_of

__all__ = ["BinaryCalibrationError", "CalibrationMetric", "MulticlassCalibrationError"]

Norm = Literal["l1", "l2", "max"]
# What `SketchMetric` takes; the rest are options of the metric.
_OWN_WORDS = ("input", "num_groups", "sum_tolerance", "sync_on_compute", "process_group", "sync_timeout", "fused")
_WORDS = (*_OWN_WORDS, "ignore_index", "validate_args")
_TAKEN = (*_WORDS, "cells")
# How one value for each class becomes one.
_CLASS_WORDS = ("combine", "class_weight")
# What every metric of torchmetrics takes. The first two change nothing here; the others are known by their defaults alone.
_NO_MATTER = ("compute_on_cpu", "compute_with_cache")
_DEFAULT_ONLY = {"dist_sync_on_step": False, "dist_sync_fn": None, "distributed_available_fn": None}


class CalibrationMetric(SketchMetric):
    """Any metric of scores of the catalogue, from sums on the device.

    Parameters
    ----------
    metric
        Its name, such as ``"smece"``, or the metric.
    num_classes, lens, input, ignore_index, num_groups
        As in `SketchMetric`; one lens, by default the metric's own, which for two classes is mostly ``"binary"``: the probability of the
        second. For one event it is ``"binary"`` always.
    options
        Those of the metric, such as ``bins=20``; ``combine`` and ``class_weight``; and those of `SketchMetric`.

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
        known = (*found.options, *_CLASS_WORDS, "lens", *_WORDS)
        for word, value in options.items():  # what cannot be used is refused now, not after an epoch
            if word not in (*found.options, *_CLASS_WORDS):
                raise unknown_keyword(f"CalibrationMetric({found.id!r})", word, value, known)
        found._split(options)
        self.metric, self.lens, self.options = found, asked, options

    def compute(self) -> Tensor:
        """The value for all rows of all processes: a tensor with one number, on the device of the sums."""
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
        """The value of each group, or of each class against the rest; those without rows are left out."""
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
        """What is asked, for the representation of a module."""
        return f"{self.metric.id}, {super().extra_repr()}"


class _BinnedError(CalibrationMetric):
    """Gaps over bins of equal width, exactly."""

    def __init__(
        self,
        num_classes: int | None,
        n_bins: int,
        norm: Norm,
        ignore_index: int | None,
        validate_args: bool,
        words: dict[str, Any],
    ) -> None:
        n_bins = check_whole(n_bins, "n_bins")
        words = _own_words(words, type(self).__name__, num_classes is not None)
        check_choice(norm, "norm", ("l1", "l2", "max"))
        found, more = ("mce", {}) if norm == "max" else ("ece", {"norm": 1 if norm == "l1" else 2})
        # Groups may be as many as images, so they keep their bins and not the cells of a sketch.
        cells = cells_of(n_bins) if words.get("num_groups") is None else Cells(n_bins, False)
        lens = "binary" if num_classes is None else "top_label"
        words |= {"ignore_index": ignore_index, "validate_args": validate_args, "cells": cells}
        super().__init__(found, num_classes, lens=lens, bins=n_bins, **more, **words)
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
        """The value of each group; those without rows are left out."""
        if what != "groups":
            raise ArgumentError(
                "what", f"must be 'groups'; got {what!r}", "use CalibrationMetric('cwce', ...) for classes"
            )
        self._check_groups()
        kept = self._checked(self._total())
        views = ((group, self._view(kept, group)) for group in range(self.plan.groups))
        return {group: self._tensor(self._of_view(view)) for group, view in views if len(view.score)}


def _own_words(words: dict[str, Any], owner: str, classes: bool) -> dict[str, Any]:
    """The words that mean something here; those of torchmetrics that would change something are refused."""
    known = (*(("num_classes",) if classes else ()), "n_bins", "norm", "ignore_index", "validate_args", *_OWN_WORDS)
    for word, value in words.items():
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
        if word not in (*_OWN_WORDS, *_NO_MATTER, *_DEFAULT_ONLY):
            raise unknown_keyword(owner, word, value, known)
    return {word: value for word, value in words.items() if word in _OWN_WORDS}


class BinaryCalibrationError(_BinnedError):
    """The calibration error of the probability of one event over bins, as in torchmetrics but for its faults.

    Takes what `torchmetrics.classification.BinaryCalibrationError` takes (``dist_sync_on_step``, ``dist_sync_fn`` and
    ``distributed_available_fn`` by their defaults alone) and gives its number, except that here

    - sums are whole numbers: half precision or more than 2^24 rows do not spoil the result, nor does their order;
    - a score of 1 belongs to the last bin, not to one of its own;
    - bins are closed on the right, with edges k/M, as everywhere in this library: a score on an edge counts in the bin below;
    - logits are said (``input="logit"``), not guessed for each batch from one entry outside 0 and 1;
    - NaN, entries outside 0 and 1 and foreign labels are errors at `compute`; no rows too;
    - no row is kept, and processes exchange sums.

    Rows are checked on the device; ``validate_args=False`` promises that they need not be, which helps where no fused kernel runs (see
    `SketchMetric`).

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
        **words: Any,
    ) -> None:
        super().__init__(None, n_bins, norm, ignore_index, validate_args, words)


class MulticlassCalibrationError(_BinnedError):
    """The calibration error of the predicted class over bins, as in torchmetrics but for its faults.

    Those are the ones that `BinaryCalibrationError` names; and a row that does not sum to 1 is an error instead of a softmax. Of two classes too
    it is the error of the predicted class; ``CalibrationMetric("ece", 2)`` is that of the probability of the second.

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
        **words: Any,
    ) -> None:
        if num_classes is None:
            raise ArgumentError("num_classes", "must be 2 or more; got None")
        super().__init__(num_classes, n_bins, norm, ignore_index, validate_args, words)
