"""A callback for Lightning that logs calibration metrics, a reliability diagram and a fitted temperature after each validation.

It works with ``lightning`` and with ``pytorch_lightning``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor
from torchmetrics import MetricCollection

from ..errors import (
    ArgumentError,
    CalibrantWarning,
    InputTypeError,
    MissingDependencyError,
    UndefinedMetricError,
    warn_caller,
)
from ..figures.reliability_diagrams import reliability_diagram
from ..trackers import Content, write_mlflow, write_tensorboard, write_wandb
from .metrics import CalibrationMetric
from .modules import TemperatureModule
from .outputs import LABEL_KEYS, split_batch

__all__ = ["CalibrationCallback"]

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
Rows = Callable[[Any, Any], tuple[Tensor, Tensor]]


def _bases() -> tuple[type, ...]:
    """The callbacks of the packages that are in use, or of the first that is installed."""
    callbacks = [sys.modules[name].Callback for name in PACKAGES if hasattr(sys.modules.get(name), "Callback")]
    for name in PACKAGES:
        with suppress(ImportError):
            if not callbacks:
                callbacks.append(import_module(name).Callback)
    return tuple(callbacks)


if TYPE_CHECKING:
    Base = object
else:
    Base = type("Base", _bases() or (object,), {})


class CalibrationCallback(Base):
    """Log calibration after each validation epoch: metrics, a reliability diagram, and the temperature that would be fitted.

    Metrics are logged as ``self.log`` does, so that checkpoints, early stopping and schedulers can monitor ``"val/ece"``. The diagram goes to
    every logger that takes figures: TensorBoard, Weights & Biases and MLflow. Nothing is logged during the sanity check, and nothing but a warning
    where a metric is undefined, as for a validation in which all rows are ignored. The rows of several validation
    loaders are pooled.

    The ``validation_step`` of the model must return the logits: a tensor, or a mapping with ``"logits"``, and with the labels where the
    batch is not a pair of inputs and labels. Otherwise pass `rows`.

    Parameters
    ----------
    metrics : sequence of str, default ("ece", "mce", "smece")
        Score metrics of the catalogue, for the number of classes of the first batch. Logits of shape (N,) or (N, 1) are those of one event, and their labels may be
        floating point.
    prefix : str, default "val/"
        Text before each name.
    temperature : bool, default True
        Whether to fit a temperature, for which the logits of the epoch are kept in memory. It is an estimate of how overconfident the model is, not a
        calibrator that was evaluated on other data.
    diagram : bool, default True
        Whether to draw the reliability diagram; requires matplotlib.
    ignore_index : int, optional
        Label of rows to leave out.
    rows : callable, optional
        Function of the output of ``validation_step`` and the batch that returns logits and labels.

    Attributes
    ----------
    values : dict of str to float
        What the last validation logged.
    temperature_module : TemperatureModule or None
        The temperature fitted to the last validation.

    Raises
    ------
    MissingDependencyError
        If neither lightning nor pytorch_lightning is installed.

    See Also
    --------
    calibrant.torch.CalibrationMetric : A metric for ``self.log``.

    Examples
    --------
    >>> from calibrant.torch.lightning import CalibrationCallback  # doctest: +SKIP
    >>> trainer = Trainer(callbacks=[CalibrationCallback()])  # doctest: +SKIP
    """

    def __init__(
        self,
        metrics: Sequence[str] = ("ece", "mce", "smece"),
        *,
        prefix: str = "val/",
        temperature: bool = True,
        diagram: bool = True,
        ignore_index: int | None = None,
        rows: Rows | None = None,
    ) -> None:
        if not _bases():
            raise MissingDependencyError("lightning", "is not installed", "run pip install 'calibrant[lightning]'")
        if isinstance(metrics, str):
            raise InputTypeError("metrics", f"must be a list of names; got {metrics!r}", f"pass [{metrics!r}]")
        if not len(metrics):
            raise ArgumentError("metrics", "is empty", "name at least one metric, such as 'ece'")
        super().__init__()
        self.metrics, self.prefix, self.rows = metrics, prefix, rows
        self.temperature, self.diagram, self.ignore_index = temperature, diagram, ignore_index
        self.values: dict[str, float] = {}
        self.temperature_module: TemperatureModule | None = None
        self._create_metrics(2)  # unknown names are reported now, not after an epoch
        self._reset()

    def _reset(self) -> None:
        self._sums: MetricCollection | None = None
        self._kept: list[tuple[Tensor, Tensor]] = []

    def _create_metrics(self, classes: int) -> MetricCollection:
        """Empty metrics, for a number of classes, which is 1 for one event."""
        number = None if classes == 1 else classes
        options: dict[str, Any] = {"input": "logit", "ignore_index": self.ignore_index}
        return MetricCollection({str(name): CalibrationMetric(name, number, **options) for name in self.metrics})

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forget the rows of the last validation."""
        self._reset()

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Add the rows of a batch."""
        if trainer.sanity_checking:
            return
        logits, labels = self.rows(outputs, batch) if self.rows else _rows_of(outputs, batch, batch_idx)
        logits = logits.detach()
        if logits.ndim == 2 and logits.shape[1] == 1:  # one event
            logits, labels = logits[:, 0], labels[:, 0] if labels.ndim == 2 else labels
        if self._sums is None:
            self._sums = self._create_metrics(1 if logits.ndim == 1 else logits.shape[1])
            self._sums.to(logits.device)
        self._sums.update(logits, labels)
        if self.temperature:
            self._keep(logits, labels)

    def _keep(self, logits: Tensor, labels: Tensor) -> None:
        if logits.ndim == 1:
            logits = torch.stack([torch.zeros_like(logits), logits], dim=1)
        logits = logits.movedim(1, -1).flatten(0, -2).float().cpu()
        labels = labels.detach().reshape(-1).cpu().long()
        if self.ignore_index is not None:
            is_used = labels != self.ignore_index
            logits, labels = logits[is_used], labels[is_used]
        self._kept.append((logits, labels))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Compute and log."""
        if trainer.sanity_checking:
            return
        metrics = self._metrics_of_all()
        if metrics is None:
            return
        # A process must not be left waiting for one that found invalid rows: their counts are added like all others.
        try:
            self.values = {self.prefix + name: float(value) for name, value in metrics.compute().items()}
        except UndefinedMetricError as error:  # on every process: of the rows of all; training goes on
            self.values, self.temperature_module = {}, None
            self._reset()
            problem = "all rows are labelled ignore_index" if error.problem == "no rows were added" else str(error)
            warn_caller(f"CalibrationCallback logs nothing for this validation: {problem}")
            return
        if self.temperature:
            self.temperature_module = self._fitted()
            self.values[f"{self.prefix}temperature"] = float(self.temperature_module.temperature)
        # The same on every process; averaging them avoids a warning.
        dtype = torch.float32 if pl_module.device.type == "mps" else torch.float64
        logged = {
            name: torch.tensor(value, dtype=dtype, device=pl_module.device) for name, value in self.values.items()
        }
        pl_module.log_dict(logged, on_step=False, on_epoch=True, sync_dist=trainer.world_size > 1)
        if self.diagram:
            self._write_diagram(metrics[str(next(iter(self.metrics)))], trainer)
        self._reset()

    def _metrics_of_all(self) -> MetricCollection | None:
        """The metrics, created for a process without rows too, since all must take part; None if no process has rows."""
        if self._sums is not None:
            first: Any = next(iter(self._sums.values()))
            _gather(first.num_classes or 1)
            return self._sums
        classes = [number for number in _gather(None) if number is not None]
        return self._create_metrics(classes[0]) if classes else None

    def _write_diagram(self, metric: Any, trainer: Any) -> None:
        sketch = metric.sketch()  # of the rows of all processes, each of which must call it
        if not trainer.is_global_zero:
            return
        picture = reliability_diagram(sketch)._picture("png")
        content = Content(numbers={}, pictures={f"{self.prefix}reliability_diagram": picture})
        # The step under which Lightning logs the metrics.
        loop = getattr(trainer.fit_loop, "epoch_loop", None)
        step = getattr(loop, "_batches_that_stepped", trainer.global_step)
        for logger in trainer.loggers:
            _write(content, logger, step)

    def _fitted(self) -> TemperatureModule:
        parts = [part for parts in _gather(self._kept) for part in parts]
        logits, labels = (torch.cat(column) for column in zip(*parts, strict=True))
        with warnings.catch_warnings():
            # Of an untrained model the temperature often is at a bound, which the logged value shows.
            warnings.simplefilter("ignore", CalibrantWarning)
            return TemperatureModule().fit(logits, labels)


def _gather(value: Any) -> list[Any]:
    """The values of all processes."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return [value]
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def _rows_of(outputs: Any, batch: Any, number: int) -> tuple[Tensor, Tensor]:
    """Logits and labels of a batch."""
    logits = outputs.get("logits") if isinstance(outputs, Mapping) else outputs
    if not isinstance(logits, Tensor) or not logits.ndim:
        got = f"entries named {', '.join(map(repr, outputs))}" if isinstance(outputs, Mapping) else "no logits"
        raise InputTypeError(
            "validation_step",
            f"must return a tensor of logits or a mapping with 'logits'; it returned {got}",
            "or pass CalibrationCallback(rows=lambda outputs, batch: (logits, labels))",
        )
    keys = [key for key in LABEL_KEYS if isinstance(outputs, Mapping) and key in outputs]
    labels = outputs[keys[0]] if keys else split_batch(batch, None, number)[1]
    return logits, labels


def _write(content: Content, logger: Any, step: int) -> None:
    """Write figures to a logger that takes them."""
    kinds = {base.__name__ for base in type(logger).__mro__}
    if "TensorBoardLogger" in kinds:
        write_tensorboard(content, logger.experiment, step)
    elif "WandbLogger" in kinds:
        # As its own figures, which are shown over this number and not over the step of the run.
        write_wandb(replace(content, numbers={"trainer/global_step": step}), logger.experiment, None)
    elif "MLFlowLogger" in kinds:
        write_mlflow(content, logger.experiment, logger.run_id, step)
