"""The state of metric objects: sketches as integer sums on the device, added over batches and processes, checked when
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import wraps
from hashlib import blake2b
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from ..errors import (
    ArgumentError,
    CalibrantError,
    InputTypeError,
    MissingDependencyError,
    ProbabilityError,
    UndefinedMetricError,
)
from ..sketches.collection import ALL, GroupSketch, Sketches
from ..sketches.sketch import Sketch
from ..util.texts import parameter_texts
from ..views.keywords import documents_keywords
from . import sketching
from .metric_inputs import as_rows, check_arguments, check_lenses, fault_error
from .sketching import CARRY_ROWS, MOST_ROWS, NEVER, Cells, Plan, cells_of

try:
    from torchmetrics import Metric
    from torchmetrics.utilities.distributed import gather_all_tensors
except ImportError as error:
    raise MissingDependencyError("torchmetrics", "is not installed", "pip install 'calibrant[torch]'") from error

Input = Literal["prob", "logit"]
documents_metric = documents_keywords(table=parameter_texts("calibrant.torch")["metrics"])
P = ParamSpec("P")
T = TypeVar("T")


def untraced(method: Callable[P, T]) -> Callable[P, T]:
    """Exclude a method from `torch.compile`, which would recompute the tables of a sketch in single precision."""

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if torch.compiler.is_compiling():
            # Applied only here: as a decorator it would import the compiler, which takes as long as importing torch.
            return torch.compiler.disable(method)(*args, **kwargs)  # type: ignore[no-untyped-call]
        return method(*args, **kwargs)

    return run


@documents_metric
class SketchMetric(Metric):
    """Sketches of all rows passed to `update`, kept as integer sums on the device of the tensors.

    It is a `torchmetrics.Metric`, for ``self.log`` of Lightning and for the collections and wrappers of torchmetrics.

    Use it to evaluate during training, over several processes, or over more rows than fit in memory: memory is
    constant, `update` does not synchronize with the device, and processes are combined by an all-reduce of integers.
    Any split over batches and processes gives exactly the result of `Sketch.of` for the same probabilities.

    Invalid rows (NaN, an entry outside [0, 1], a row that does not sum to 1, a label that is not a class) are counted
    on the device and raise an error at `compute`, until `reset`. Rows labelled `ignore_index` are left out silently.

    Parameters
    ----------
    num_classes
    lenses : str or iterable of str, optional
        Events to sketch: ``"top_label"`` and ``"classwise"``, or ``"binary"`` for one event. With two classes
        ``"binary"`` is the second class, in place of ``"top_label"``. By default ``"binary"`` for one event and two
        classes, ``"top_label"`` for more.
    input
    ignore_index
    num_groups
    validate_args
    cells : Cells, optional
        Cells of the score; set by subclasses.
    **keywords
        Keywords of `torchmetrics.Metric`, such as ``sync_on_compute`` and ``process_group``.

    See Also
    --------
    CalibrationMetric : A metric of the catalogue computed from these sketches.
    calibrant.Sketch : The same summary for arrays.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch.accumulating import SketchMetric
    >>> metric = SketchMetric(3)
    >>> metric.update(torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]), torch.tensor([0, 1]))
    >>> metric.sketch()
    Sketch(top_label, 2 rows in 2 cells)
    """

    sums: Tensor
    first_fault: Tensor
    settings: Tensor

    is_differentiable: bool | None = False
    higher_is_better: bool | None = None
    full_state_update: bool | None = False

    def __init__(
        self,
        num_classes: int | None = None,
        *,
        lenses: Iterable[str] | str | None = None,
        input: Input = "prob",
        ignore_index: int | None = None,
        num_groups: int | None = None,
        validate_args: bool = True,
        cells: Cells | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        num_classes, ignore_index, num_groups = check_arguments(num_classes, input, ignore_index, num_groups)
        names = check_lenses(lenses, num_classes)
        self.num_classes, self.input, self.ignore_index, self.num_groups = num_classes, input, ignore_index, num_groups
        event = num_classes is not None and "binary" in names
        self.plan = Plan(
            cells or cells_of(None),
            num_classes,
            event or "top_label" in names,
            "classwise" in names,
            num_groups or 1,
            ignore_index,
            validate_args,
            event,
        )
        # A collection of torchmetrics lets metrics of equal states share them, which must have the same settings too. As bits,
        # because it compares with a tolerance.
        digest = blake2b(repr((self.plan, input)).encode(), digest_size=8).digest()
        bits = torch.tensor([byte >> bit & 1 for byte in digest for bit in range(8)])
        self.add_state("settings", bits, dist_reduce_fx="max")
        self.add_state("sums", sketching.new_sums(self.plan), dist_reduce_fx="sum")
        self.add_state("first_fault", torch.tensor(NEVER), dist_reduce_fx="min")
        self._seen = self._pending = 0

    @property
    def lenses(self) -> tuple[str, ...]:
        """Names of the sketches, in the order in which they are stored."""
        if self.num_classes is None:
            return ("binary",)
        names = ("binary",) if self.plan.event else ("top_label",) if self.plan.top_label else ()
        return names + (tuple(f"class:{k}" for k in range(self.num_classes)) if self.plan.classwise else ())

    @documents_metric
    @untraced
    def update(self, preds: Tensor, target: Tensor, groups: Tensor | None = None) -> None:
        """Add a batch, without synchronizing with the device.

        The first batch moves the metric to its device.

        Parameters
        ----------
        preds
        target
        groups
        """
        # Outside inference mode: tensors created in it could not be changed later.
        with torch.inference_mode(False), torch.no_grad():
            rows = as_rows(preds, target, self._groups_of(preds, groups), self.plan)
            if not self._seen:
                self.to(preds.device)
            if self.sums.is_inference():
                self.sums, self.first_fault = self.sums.clone(), self.first_fault.clone()
            rows = rows._replace(start=self._seen)
            for block in sketching.blocks_of(rows, self.plan, logits=self.input == "logit"):
                count = block.target.numel()
                if self._pending + count > CARRY_ROWS:
                    self._carry()
                sketching.add_block(self.sums, self.first_fault, block, self.plan)
                self._pending += count
            self._seen += target.numel()

    def compute(self) -> Any:
        """Compute the value of all rows of all processes.

        Returns
        -------
        torch.Tensor or Sketches
            The value; for `SketchMetric` the sketches.
        """
        try:
            return self._value()
        except CalibrantError:
            if self._is_synced:  # torchmetrics restores the state of this process only where no error is raised
                self.unsync()
            raise

    def reset(self) -> None:
        """Remove all rows."""
        super().reset()
        self._seen = self._pending = 0

    def sketch(self, lens: str = "auto", group: int | None = None) -> Sketch:
        """Return the sketch of one lens, for all rows or for a group.

        Parameters
        ----------
        lens : str, default "auto"
            Name of the sketch, such as ``"top_label"`` or ``"class:2"``; by default the first.
        group : int, optional
            Index of the group; by default all rows.

        Returns
        -------
        Sketch
            The sketch.
        """
        return self.sketches().sketch(lens, group)

    def sketches(self) -> Sketches:
        """Return all sketches of all processes.

        Returns
        -------
        Sketches
            The sketches.
        """
        if not self.plan.cells.is_grid:
            raise ArgumentError(
                "n_bins", "this metric accumulates bins instead of a sketch", "use SketchMetric or CalibrationMetric"
            )
        with self._all_processes():
            return self._sketches()

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw one value or several, as the metrics of torchmetrics do.

        ``calibrant.reliability_diagram(metric.sketch())`` draws the reliability diagram of the rows.

        Parameters
        ----------
        val : torch.Tensor, or sequence of them, optional
            Values of `compute` or of calls, one for each step; by default the current value.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        tuple of matplotlib.figure.Figure and matplotlib.axes.Axes
            The figure and its axes.
        """
        return self._plot(val, ax)

    def _groups_of(self, preds: Tensor, groups: Tensor | None) -> Tensor | None:
        return groups

    def _carry(self) -> None:
        sketching.carry(self.sums)
        self._pending = 0

    def _reduce_states(self, incoming_state: dict[str, Any]) -> None:
        """Add another state, as `forward` and `merge_state` of torchmetrics do."""
        same_device = {name: value.to(getattr(self, name).device) for name, value in incoming_state.items()}
        if not torch.equal(same_device["settings"], self.settings):
            raise InputTypeError("incoming_state", "comes from a metric with other settings")
        super()._reduce_states(same_device)
        self._computed = None
        self._carry()

    def _all_processes(self) -> AbstractContextManager[None]:
        """The sums of all processes, while they are read."""
        context: AbstractContextManager[None] = self.sync_context(
            dist_sync_fn=self.dist_sync_fn, should_sync=self._to_sync and not self._is_synced
        )
        return context

    def _sync_dist(self, dist_sync_fn: Callable[..., Any] = gather_all_tensors, process_group: Any = None) -> None:
        """Add the sums by all-reduce, where torchmetrics would gather those of every process."""
        self._carry()
        if dist_sync_fn is not gather_all_tensors:
            super()._sync_dist(dist_sync_fn, process_group)
            return
        for name, operation in (("sums", dist.ReduceOp.SUM), ("first_fault", dist.ReduceOp.MIN)):
            total = getattr(self, name).clone()
            dist.all_reduce(total, operation, group=process_group or self.process_group)
            setattr(self, name, total)

    def _checked_sums(self) -> NDArray[np.int64]:
        """The sums on the CPU, carried; raises if there were invalid rows."""
        sums = self.sums.clone()
        sketching.carry(sums)
        faults = sketching.tallies(sums, self.plan)
        if self.ignore_index is None and faults[0]:
            raise ProbabilityError(
                "preds", f"{faults[0]} rows contain NaN or an entry above 1", "pass validate_args=True to locate them"
            )
        if any(faults[1:]):
            raise fault_error(faults, int(self.first_fault), self.input)
        checked: NDArray[np.int64] = sums.cpu().numpy()
        if checked[0, : self.plan.trash].sum() > MOST_ROWS * self.plan.sections:
            raise UndefinedMetricError(
                "compute", f"more than {MOST_ROWS} rows were accumulated", "call reset() in between"
            )
        return checked

    def _sketches(self) -> Sketches:
        sums = self._checked_sums()

        groups: dict[Any, GroupSketch] = {}
        for group in (ALL, *range(self.num_groups or 0)):
            place = None if group is ALL else group
            by_lens = {
                lens: Sketch.of_sums(sketching.section_sums(sums, self.plan, place, section), lens)
                for section, lens in enumerate(self.lenses)
            }
            if group is ALL or by_lens[self.lenses[0]].n:
                groups[group] = GroupSketch(by_lens, None)
        kind = "binary" if "binary" in self.lenses else "multiclass"
        return Sketches(kind, tuple(range(self.num_classes or 2)), groups)

    def _value(self) -> Any:
        return self._sketches()

    def extra_repr(self) -> str:
        """Return the settings shown in the representation of the module.

        Returns
        -------
        str
            The settings.
        """
        return f"{'binary' if self.num_classes is None else self.num_classes}, input={self.input!r}"
