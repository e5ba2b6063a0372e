"""The state of metric objects: sketches as integer sums on the device, added over batches and processes, checked when
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from hashlib import blake2b
from typing import Any, Literal, ParamSpec, Self, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

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
from ..views.keywords import documents_keywords
from . import sketching
from .fused import add_fused, can_fuse
from .metric_base import GATHER, REAL, MetricBase
from .metric_inputs import as_rows, check_arguments, check_lenses, fault_error
from .sketching import CARRY_ROWS, MOST_ROWS, NEVER, Cells, Plan, cells_of

Input = Literal["prob", "logit"]
# Entries of `state_dict`.
KEPT = ("sums", "first_fault")
# Parameters that the metric objects share, for their docstrings.
PARAMETERS = {
    "num_classes": (
        "int, optional",
        """Number of classes K, for `preds` of shape (N, K, ...); by default `preds` are the probabilities of one event, of any
shape.""",
    ),
    "input": (
        '{"prob", "logit"}, default "prob"',
        """What `preds` hold. Logits are converted by a sigmoid or softmax, half precision in float32. It is never inferred.""",
    ),
    "ignore_index": ("int, optional", "Label of rows to leave out."),
    "num_groups": (
        "int, optional",
        "Number of groups of rows, such as images, to keep separate; `update` then needs `groups`.",
    ),
    "sum_tolerance": (
        "float, optional",
        "Largest accepted deviation of a row sum from 1; by default it follows the precision of the data.",
    ),
    "sync_on_compute": ("bool, default True", "Whether `compute` adds the sums of all distributed processes."),
    "process_group": ("torch.distributed.ProcessGroup, optional", "The processes to add; by default all."),
    "sync_timeout": ("float, optional", "Seconds to wait for the other processes."),
    "dist_sync_on_step": (
        "bool, default False",
        "Whether a call of the metric returns the value of the batches of all processes instead of that of its own.",
    ),
    "dist_sync_fn": (
        "callable, optional",
        """Function of a tensor and ``group`` that returns the tensors of all processes; by default they are added by one
all-reduce.""",
    ),
    "distributed_available_fn": (
        "callable, optional",
        "Function that returns whether there are other processes; by default `torch.distributed` is asked.",
    ),
    "compute_on_cpu": ("bool, default False", "Accepted as in torchmetrics, without effect: no rows are stored."),
    "compute_with_cache": ("bool, default True", "Accepted as in torchmetrics, without effect: nothing is cached."),
    "fused": ("bool, default True", "Whether to use the Triton kernel where it is available."),
    "validate_args": (
        "bool, default True",
        """Whether to check the rows. Without checks an invalid label counts as a wrong prediction; this saves most of the work
unless the fused kernel, groups, the lens ``"classwise"`` or `ignore_index` is used, where rows are always checked.""",
    ),
    "preds": (
        "torch.Tensor of shape (N, K, ...)",
        "Probabilities or logits, such as (B, C, H, W) for images; any shape for one event.",
    ),
    "target": ("torch.Tensor of shape (N, ...)", "Class indices, or 0 and 1 for one event, also as floating point."),
    "groups": (
        "torch.Tensor of the shape of `target` or (N,), optional",
        "Group of each row, counted from 0; of shape (N,) for all of an image at once.",
    ),
    "num_labels": (
        "int, optional",
        """Number of labels L of multilabel predictions, for `preds` and `target` of shape (N, L, ...): each is an event of its
own.""",
    ),
    "edges": (
        '{"exact", "linspace", "torch", "torch64"}, default "exact"',
        """Arithmetic of the edges, as of `calibrant.EqualWidth`. ``"torch"`` reproduces torchmetrics: edges of ``torch.linspace`` in
float32, bins closed on the left, and a bin of its own for the score 1. ``"torch64"`` does so for float64 scores of one
event.""",
    ),
    "n_bins": ("int, default 15", "Number of bins of equal width."),
    "norm": ('{"l1", "l2", "max"}, default "l1"', "Mean, root mean square, or maximum of the calibration gaps."),
}
documents_metric = documents_keywords(table=PARAMETERS)
P = ParamSpec("P")
T = TypeVar("T")


class SyncError(CalibrantError, RuntimeError):
    """The sums of the distributed processes could not be added.

    Parameters
    ----------
    argument : str
        The argument at fault.
    problem : str
        What went wrong.
    remedy : str, default ""
        What to do about it.
    row : int, optional
        The first offending row, counted from 0.
    column : int or str, optional
        The column of the offending entry.
    count : int, optional
        How many rows are at fault.
    source : str, default ""
        The file or partition that contains the row.
    """


def untraced(method: Callable[P, T]) -> Callable[P, T]:
    """Exclude a method from `torch.compile`, which would recompute the tables of a sketch in single precision."""

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if torch.compiler.is_compiling():
            # Applied only here: as a decorator it would import the compiler, which takes as long as importing torch.
            return torch.compiler.disable(method)(*args, **kwargs)  # type: ignore[no-untyped-call]
        return method(*args, **kwargs)

    return run


@dataclass(slots=True)
class Rows:
    """Numbers of rows that a metric has counted."""

    seen: int = 0
    pending: int = 0
    """Rows added since the low parts were last carried; an upper bound where that is not known."""
    sums: Tensor | None = None
    """The sums that hold these rows. Others were set from outside, such as those shared by a collection of torchmetrics."""
    shared: bool = False
    """Whether the metrics of a `MetricCollection` share them."""


@documents_metric
class SketchMetric(MetricBase):
    """Sketches of all rows passed to `update`, kept as integer sums on the device of the tensors.

    Where torchmetrics is installed it is a `torchmetrics.Metric`, for ``self.log`` of Lightning and for its collections
    and wrappers.

    Use it to evaluate during training, over several processes, or over more rows than fit in memory: memory is
    constant, `update` does not synchronize with the device, and processes are combined by one all-reduce of one
    integer tensor. Any split over batches and processes gives exactly the result of `Sketch.of` for the same
    probabilities.

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
    sum_tolerance
    sync_on_compute
    process_group
    sync_timeout
    fused
    cells : Cells, optional
        Cells of the score; set by subclasses.
    validate_args
    dist_sync_on_step
    dist_sync_fn
    distributed_available_fn
    compute_on_cpu
    compute_with_cache

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

    # Not buffers: distributed training broadcasts the buffers of the first process, which would overwrite the counts of the others.
    sums: Tensor
    first_fault: Tensor

    # A collection of torchmetrics must not see state that changes while it hashes; the identity is enough.
    __hash__ = nn.Module.__hash__
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
        sum_tolerance: float | None = None,
        sync_on_compute: bool = True,
        process_group: Any = None,
        sync_timeout: float | None = None,
        fused: bool = True,
        cells: Cells | None = None,
        validate_args: bool = True,
        dist_sync_on_step: bool = False,
        dist_sync_fn: Callable[..., Any] | None = None,
        distributed_available_fn: Callable[[], bool] | None = None,
        compute_on_cpu: bool = False,
        compute_with_cache: bool = True,
    ) -> None:
        for name, flag in (
            ("sync_on_compute", sync_on_compute),
            ("dist_sync_on_step", dist_sync_on_step),
            ("compute_on_cpu", compute_on_cpu),
            ("compute_with_cache", compute_with_cache),
        ):
            if not isinstance(flag, bool):
                raise ArgumentError(name, f"must be True or False; got {flag!r}")
        for name, function in (
            ("dist_sync_fn", dist_sync_fn),
            ("distributed_available_fn", distributed_available_fn),
        ):
            if function is not None and not callable(function):
                raise InputTypeError(name, f"must be a function or None; got {type(function).__name__}")
        super().__init__(
            process_group=process_group,
            sync_on_compute=sync_on_compute,
            dist_sync_on_step=dist_sync_on_step,
            dist_sync_fn=dist_sync_fn,
            distributed_available_fn=distributed_available_fn,
            compute_on_cpu=compute_on_cpu,
            compute_with_cache=compute_with_cache,
        )
        num_classes, ignore_index, num_groups = check_arguments(num_classes, input, ignore_index, num_groups)
        names = check_lenses(lenses, num_classes)
        self.num_classes, self.input, self.ignore_index, self.num_groups = num_classes, input, ignore_index, num_groups
        self.sync_timeout, self.fused = sync_timeout, fused
        event = num_classes is not None and "binary" in names
        self.plan = Plan(
            cells or cells_of(None),
            num_classes,
            event or "top_label" in names,
            "classwise" in names,
            num_groups or 1,
            ignore_index,
            sum_tolerance,
            validate_args,
            event,
        )
        with _ordinary():
            for name, reduction in (("settings", "max"), ("sums", "sum"), ("first_fault", "min")):
                self.add_state(name, torch.tensor(0), dist_reduce_fx=reduction, persistent=False)
            self.sums, self.first_fault = sketching.new_sums(self.plan), torch.tensor(NEVER)
            self.settings = self._fingerprint()
            self._defaults = self._empty_states()
        self._rows = Rows(sums=self.sums)

    @property
    def device(self) -> torch.device:
        """Device of the sums; the first `update` moves them to that of its tensors."""
        return self.sums.device

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

        Parameters
        ----------
        preds
        target
        groups
        """
        with _ordinary():
            rows = as_rows(preds, target, self._groups_of(preds, target, groups), self.plan)
            self._go_to(preds.device)
            self._own()
            fill, chunk = sketching.add_block, None
            if self.fused and self.plan.cells.arithmetic == "exact" and can_fuse(preds):
                fill, chunk = add_fused, CARRY_ROWS
            sums, first_fault, known = self.sums, self.first_fault, self._rows
            rows = rows._replace(start=known.seen)
            for block in sketching.blocks_of(rows, self.plan, logits=self.input == "logit", chunk=chunk):
                count = block.target.numel()
                if known.pending + count > CARRY_ROWS:
                    self._carry()
                fill(sums, first_fault, block, self.plan)
                known.pending += count
            known.seen += target.numel()

    @documents_metric
    @untraced
    def forward(self, preds: Tensor, target: Tensor, groups: Tensor | None = None) -> Any:
        """Add a batch and return the value of this batch alone; synchronizes with the device.

        Parameters
        ----------
        preds
        target
        groups

        Returns
        -------
        torch.Tensor or Sketches
            The value of the batch.
        """
        batch = self._added(preds, target, groups)
        self._forward_cache = None
        self._forward_cache = self._value(self._over_ranks(batch) if self.dist_sync_on_step else batch)
        return self._forward_cache

    def _added(self, preds: Tensor, target: Tensor, groups: Tensor | None) -> Tensor:
        """Add a batch and return its sums."""
        with _ordinary():
            self._own()
            before, pending = self.sums, self._rows.pending
            self._set(torch.zeros_like(before), 0)
            try:
                self.update(preds, target, groups)
                self._carry()
            finally:
                batch = self.sums
                # What the batch left in the low parts is less than the contribution of one row.
                self._set(before.to(batch.device), pending + 1)
            # Not in place: a collection of torchmetrics passes one tensor to several metrics and calls each of them.
            self._set(self.sums + batch, pending + 1)
            return batch

    @untraced
    def compute(self) -> Any:
        """Compute the value of all rows of all processes.

        Returns
        -------
        Sketches
            The sketches of all lenses and groups.
        """
        return self._value(self._total())

    def reset(self) -> None:
        """Remove all rows."""
        if not self._rows.shared or self._rows.sums is not self.sums:
            with _ordinary():  # wrappers of torchmetrics keep the tensors of a window
                self.first_fault = torch.empty_like(self.first_fault)
                self._set(torch.empty_like(self.sums), 0)
        self.sums.zero_()
        self.first_fault.fill_(NEVER)
        self._rows.seen = self._rows.pending = self._update_count = 0
        self._forward_cache = self._computed = self._cache = None
        self._is_synced = False

    def merge_state(self, incoming: Self | Mapping[str, Tensor]) -> None:
        """Add the rows of another metric of the same kind.

        Parameters
        ----------
        incoming : SketchMetric or mapping
            The other metric, or its ``state_dict()``.
        """
        if isinstance(incoming, SketchMetric):
            if incoming._kind() != self._kind():
                raise InputTypeError("incoming", "has other lenses than this metric", "merge metrics of the same kind")
            more = incoming._carried()
        elif isinstance(incoming, Mapping) and isinstance(incoming.get("sums"), Tensor):
            more = incoming["sums"]
            if more.shape != self.sums.shape:
                raise InputTypeError("incoming", "has sums of another size", "merge metrics of the same kind")
        else:
            got = "a mapping without sums" if isinstance(incoming, Mapping) else type(incoming).__name__
            raise InputTypeError(
                "incoming", f"must be a metric or its state_dict(); got {got}", "merge several one by one"
            )
        self._carry()
        with _ordinary():
            self.sums += more.to(self.sums.device)
        self._carry()
        self._update_count += 1

    def sketch(self, lens: str = "auto", group: int | None = None) -> Sketch:
        """Return the sketch of one lens, for all rows or for a group.

        Parameters
        ----------
        lens : str, default "auto"
            Name of the lens, such as ``"top_label"`` or ``"class:2"``.
        group : int, optional
            Index of a group; by default all rows.

        Returns
        -------
        Sketch
            The sketch, which functions of the library accept in place of labels and probabilities.
        """
        return self.sketches().sketch(lens, group)

    @untraced
    def sketches(self) -> Sketches:
        """Return all sketches of all processes.

        Returns
        -------
        Sketches
            The sketches, which functions of the library accept in place of labels and probabilities.
        """
        return self._sketches(self._total())

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

        Raises
        ------
        MissingDependencyError
            If torchmetrics is not installed.
        """
        if not REAL:
            raise MissingDependencyError("plot", "torchmetrics is not installed", "pip install torchmetrics")
        return self._plot(val, ax)  # type: ignore[operator]

    def _fingerprint(self) -> Tensor:
        """Settings that decide which rows are counted and how, as bits.

        A collection of torchmetrics lets metrics share their state if it is equal after the first batch. With these bits in
        the state, metrics that would treat a later batch differently are not equal.
        """
        digest = blake2b(repr((*self._shared(), self.dist_sync_fn)).encode(), digest_size=8).digest()
        return torch.tensor([byte >> bit & 1 for byte in digest for bit in range(8)])

    def _set(self, sums: Tensor, pending: int) -> None:
        self.sums = self._rows.sums = sums
        self._rows.pending = pending

    def _own(self) -> None:
        """Copy sums that were set from outside, which others may hold too, before they are changed in place."""
        if self._is_synced:
            raise SyncError("update", "the metric holds the sums of all processes", "call unsync() first")
        given = self._rows.sums is not self.sums
        if given and self._version != _version_of(self.sums):
            raise ArgumentError(
                "update",
                "another metric of the collection shares these sums and was updated since",
                "call reset() after adding metrics to a collection",
            )
        if given or self.sums.is_inference():
            self.first_fault = self.first_fault.clone()
            self._set(self.sums.clone(), CARRY_ROWS)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "sums":
            self.__dict__["_version"] = _version_of(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._version = _version_of(self.sums)

    def _groups_of(self, preds: Tensor, target: Tensor, groups: Tensor | None) -> Tensor | None:
        return groups

    def _go_to(self, device: torch.device) -> None:
        if self.sums.device == device:
            return
        if self._rows.seen:
            raise ArgumentError(
                "preds", f"are on {device}, and the metric is on {self.sums.device}", f"call metric.to({str(device)!r})"
            )
        self.to(device)

    def _carry(self) -> None:
        with _ordinary():
            self._own()
            sketching.carry(self.sums)
        self._rows.pending = 0

    def _kind(self) -> tuple[Any, ...]:
        """Settings that two metrics must share so that their sums can be added."""
        return (self.plan, self.input)

    def _shared(self) -> tuple[Any, ...]:
        """Settings that two metrics of a collection must share so that they can share one set of sums."""
        return (
            *self._kind(),
            self.plan.checks,
            self.fused,
            self.sync_on_compute,
            id(self.process_group),
            self.sync_timeout,
        )

    def _follow(self, leader: SketchMetric) -> None:
        """Share the sums of another metric."""
        self.sums, self.first_fault, self._rows = leader.sums, leader.first_fault, leader._rows
        self._update_count, self._rows.shared = leader._update_count, True

    def _total(self) -> Tensor:
        """The sums of all processes."""
        sums = self._carried()
        return self._over_ranks(sums) if self.sync_on_compute and not self._is_synced else sums

    def _carried(self) -> Tensor:
        """The sums with their low parts carried: a copy, so that reading them changes nothing that others share."""
        with _ordinary():
            sums = self.sums.clone()
            sketching.carry(sums)
        return sums

    def _over_ranks(self, sums: Tensor, gather: Callable[..., Any] | None = None, group: Any = None) -> Tensor:
        gather, group = gather or self.dist_sync_fn, group or self.process_group
        if not self.distributed_available_fn():
            return sums
        if gather is not None:
            return torch.stack(list(gather(sums, group=group))).sum(dim=0)
        return sums if dist.get_world_size(group) == 1 else added_over_ranks(sums, group, self.sync_timeout)

    def _sync_dist(self, dist_sync_fn: Callable[..., Any] | None = None, process_group: Any = None) -> None:
        """Replace the sums by those of all processes, when `sync` of torchmetrics asks for it."""
        self.sums = self._over_ranks(self._carried(), None if dist_sync_fn is GATHER else dist_sync_fn, process_group)

    def _wrap_compute(self, compute: Callable[[], Any]) -> Callable[[], Any]:
        """Leave `compute` as it is: it adds the processes without exchanging the state, also where it raises."""
        return compute

    def _checked(self, sums: Tensor) -> NDArray[np.int64]:
        """The sums on the CPU; raises if there were invalid rows."""
        faults = sketching.tallies(sums, self.plan)
        if self.ignore_index is None and faults[0]:
            raise ProbabilityError(
                "preds",
                f"{faults[0]} rows contain NaN or an entry above 1",
                "pass validate_args=True to locate them",
            )
        if any(faults[1:]):
            raise fault_error(faults, int(self.first_fault), self.input)
        kept: NDArray[np.int64] = sums.cpu().numpy()
        if kept[0, : self.plan.trash].sum() > MOST_ROWS * self.plan.sections:
            raise UndefinedMetricError(
                "compute", f"more than {MOST_ROWS} rows were accumulated", "call reset() in between"
            )
        return kept

    def _cell_sums(self, sums: Tensor) -> NDArray[np.int64]:
        """The sums on the CPU, if they are those of the cells of a sketch."""
        if not self.plan.cells.is_grid:
            raise ArgumentError(
                "n_bins", "this metric accumulates bins instead of a sketch", "use SketchMetric or CalibrationMetric"
            )
        return self._checked(sums)

    def _sketches(self, sums: Tensor) -> Sketches:
        kept = self._cell_sums(sums)

        def part(group: int | None) -> GroupSketch:
            found = {
                lens: Sketch.of_sums(sketching.section_sums(kept, self.plan, group, section), lens)
                for section, lens in enumerate(self.lenses)
            }
            return GroupSketch(found, None)

        parts: dict[Any, GroupSketch] = {ALL: part(None)}
        for group in range(self.num_groups or 0):
            one = part(group)
            if next(iter(one.lenses.values())).n:
                parts[group] = one
        kind = "binary" if "binary" in self.lenses else "multiclass"
        return Sketches(kind, tuple(range(self.num_classes or 2)), parts)

    def _value(self, sums: Tensor) -> Any:
        return self._sketches(sums)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        # The states are left to the lines below: whatever the type, counts stay integers.
        defaults, self._defaults = self._defaults, {}
        super()._apply(fn)  # type: ignore[no-untyped-call]
        for name in defaults:
            value = getattr(self, name)
            moved = fn(value)
            setattr(self, name, moved if moved.dtype == value.dtype else value.to(moved.device))
        self._defaults = self._empty_states()
        self._set(self.sums, CARRY_ROWS)
        return self

    def _empty_states(self) -> dict[str, Tensor]:
        """The states without rows; that of the sums is a single zero in their shape, not a second copy of their size."""
        like = {"dtype": torch.int64, "device": self.sums.device}
        zeros = torch.zeros((), **like).expand(self.sums.shape)  # type: ignore[call-overload]
        # The settings come first: torchmetrics before 1.5 compares only the first state to find metrics that may share theirs.
        return {
            "settings": self.settings,
            "sums": zeros,
            "first_fault": torch.tensor(NEVER, **like),  # type: ignore[arg-type]
        }

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        # Not within a model, unless asked for, as in torchmetrics: a run resumed in a later epoch would count these rows too.
        if not prefix or self._persistent["sums"]:
            destination |= self._saved(prefix)

    def _saved(self, prefix: str) -> dict[str, Tensor]:
        return {prefix + name: getattr(self, name) for name in KEPT}

    def persistent(self, mode: bool = False) -> None:
        """Set whether the state dict of a model that contains the metric includes its rows.

        By default it does not. The state dict of the metric itself always does.

        Parameters
        ----------
        mode : bool, default False
            Whether it does.
        """
        self._persistent |= dict.fromkeys(KEPT, mode)

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        given = {name: state_dict[prefix + name] for name in KEPT if prefix + name in state_dict}
        rest = {key: value for key, value in state_dict.items() if key not in (prefix + name for name in KEPT)}
        super()._load_from_state_dict(rest, prefix, metadata, strict, missing_keys, unexpected_keys, error_msgs)
        # A checkpoint from before the model had a metric holds no rows.
        if not given and prefix:
            return
        missing_keys += [prefix + name for name in KEPT if name not in given]
        with _ordinary():
            self._own()
            for name, value in given.items():
                mine = getattr(self, name)
                if value.shape == mine.shape:
                    mine.copy_(value)
                else:
                    error_msgs.append(f"{prefix}{name} is of another kind of metric: {value.shape}, not {mine.shape}")
        self._rows.seen, self._rows.pending = 0, CARRY_ROWS

    def extra_repr(self) -> str:
        """Return the settings shown in the representation of the module.

        Returns
        -------
        str
            Number of classes and kind of input.
        """
        return f"{'binary' if self.num_classes is None else self.num_classes}, input={self.input!r}"


def _version_of(sums: Tensor) -> int:
    """How often a tensor was changed in place; those of inference mode do not count it."""
    return 0 if sums.is_inference() else sums._version


def _ordinary() -> AbstractContextManager[Any]:
    """Leave inference mode: tensors created in it could not be changed outside."""
    return torch.inference_mode(False) if torch.is_inference_mode_enabled() else nullcontext()


def added_over_ranks(sums: Tensor, group: Any, timeout: float | None) -> Tensor:
    """The sums of all processes, by one all-reduce of one tensor; every process gets the same result."""
    total = sums.clone()
    if dist.get_backend(group) == "nccl" and not total.is_cuda:
        total = total.cuda()
    try:
        work = dist.all_reduce(total, group=group, async_op=True)
        if timeout is None:
            work.wait()
        else:
            work.wait(timedelta(seconds=timeout))
    except RuntimeError as error:
        raise SyncError(
            "process_group",
            f"the processes could not combine their sums: {str(error).splitlines()[0]}",
            "check whether a process has ended or hangs; sync_timeout sets the time limit",
        ) from error
    return total
