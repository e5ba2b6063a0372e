"""Experiment trackers: log results, figures and reports to MLflow, Weights & Biases and TensorBoard.

>>> import calibrant as cal
>>> from calibrant.trackers import scalars
>>> result = cal.evaluate([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], metrics=["brier"])
>>> {name: round(value, 3) for name, value in scalars(result).items() if "/" not in name}
{'brier': 0.105}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from .errors import ArgumentError, InputTypeError, MissingDependencyError
from .recalibration.base import Calibrator
from .util.results import Result, plain_value
from .util.temporary import temporary_folder

__all__ = ["log_mlflow", "log_tensorboard", "log_wandb", "scalars"]

# What MLflow and TensorBoard accept in a name, apart from the slash between levels.
NOT_A_NAME = re.compile(r"[^\w.-]")
# Keys under which an entry of a list states its name, and the one that holds its main value.
NAMED_BY, MAIN = ("metric", "name", "group", "label", "method"), "value"


def __dir__() -> list[str]:
    return __all__


def scalars(result: Any, prefix: str = "") -> dict[str, float]:
    """Flatten a result to numbers by name, as trackers store them.

    These are the numbers of ``result.to_dict()``. Levels are separated by a slash; the metrics of an evaluation stand under their
    identifiers, ``"ece"`` with ``"ece_low"`` and ``"ece_pvalue"`` beside it. Texts, missing values and lists of numbers, such as the points of a
    curve, are left out. Characters that a tracker does not accept become an underscore.

    Parameters
    ----------
    result : Result or mapping
        A result of the library, or numbers and mappings by name.
    prefix : str, default ""
        Text before each name, such as ``"val/"``.

    Returns
    -------
    dict of str to float
        The numbers.

    See Also
    --------
    log_mlflow : Log them, with figures and reports.

    Examples
    --------
    >>> from calibrant.trackers import scalars
    >>> scalars({"loss": 0.5, "by class": {"a/b": 1, "note": "text"}}, prefix="val/")
    {'val/loss': 0.5, 'val/by_class/a_b': 1.0}
    """
    if isinstance(result, Result):
        result = result.to_dict()
    if not isinstance(result, Mapping):
        raise InputTypeError("result", f"must be a result or a mapping; got {type(result).__name__}")
    return {prefix + "/".join(levels): value for levels, value in _numbers(plain_value(result), ())}


def _numbers(value: Any, levels: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    used: set[str] = set()
    if isinstance(value, Mapping):
        for key, inner in value.items():
            level = _level(key, used)
            # The list of metrics is a level of the result, not of its names.
            yield from _numbers(inner, levels if key == "metrics" and isinstance(inner, list) else (*levels, level))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for entry in value:
            stated = _name_of(entry) if isinstance(entry, Mapping) else None
            if stated is not None:
                name = _level(stated, used)
                for other, inner in entry.items():
                    # Not a level below the value: a store of files cannot hold a file and a folder of the same name.
                    place = name if other == MAIN else f"{name}_{_level(other)}"
                    yield from _numbers(None if other == "ideal" else inner, (*levels, place))
    elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and np.isfinite(value):
        yield levels, float(value)


def _name_of(entry: Mapping[str, Any]) -> str | None:
    """The name that an entry of a list states: its own, or those of the two that it compares."""
    if isinstance(entry.get("first"), str) and isinstance(entry.get("second"), str):
        names = f"{entry['first']}_vs_{entry['second']}"
        return f"{entry['metric']}_{names}" if isinstance(entry.get("metric"), str) else names
    return next((entry[key] for key in NAMED_BY if isinstance(entry.get(key), str)), None)


def _level(key: Any, used: set[str] | None = None) -> str:
    """A key as one level of a name, other than those `used`; a leading dot would be a hidden file or another folder."""
    level = NOT_A_NAME.sub("_", str(key)).lstrip(".") or "_"
    if used is not None:
        while level in used:  # keys that differ only in characters that are not accepted
            level += "_"
        used.add(level)
    return level


@dataclass
class Content:
    """What is logged of some results."""

    numbers: dict[str, float] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    """PNG files."""
    pages: dict[str, Any] = field(default_factory=dict)
    """Reports, whose method ``to_html`` takes a second."""
    texts: dict[str, str] = field(default_factory=dict)
    """Markdown."""
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Everything, as JSON knows it."""


def content_of(results: Sequence[Any], prefix: str = "") -> Content:
    """Collect what is logged of results: one mechanism for all trackers."""
    if not isinstance(prefix, str):
        raise InputTypeError("prefix", f"must be text; got {type(prefix).__name__}")
    if not results:
        raise ArgumentError("results", "there is nothing to log", "pass results of the library")
    content = Content()
    for name, one, is_named in _each(results):
        if name in content.values:
            raise ArgumentError("results", f"two are named {name!r}", "pass a mapping from names to results")
        content.values[name] = {}
        if isinstance(one, (int, float, np.number)) and not isinstance(one, bool):
            content.numbers |= {prefix + _level(name): float(one)}
            continue
        if not isinstance(one, Result):
            kind = type(one).__name__
            remedy = "log the file of calibrant.save as an artifact" if isinstance(one, Calibrator) else ""
            raise InputTypeError("results", f"must be results of the library or numbers; got {kind}", remedy)
        content.values[name] = one.to_dict()
        if hasattr(one, "to_html"):
            content.pages[prefix + name] = one
            content.texts[prefix + name] = one.to_markdown() if hasattr(one, "to_markdown") else ""
        elif hasattr(one, "_picture"):
            content.pictures[prefix + name] = one._picture("png")
        else:
            # The metrics of the only evaluation need no level of their own.
            level = f"{prefix}{name}/" if is_named or name != "evaluation" else prefix
            content.numbers |= scalars(one, level)
            content.texts[prefix + name] = one._markdown()
    content.values = {prefix + name: value for name, value in content.values.items() if value}
    return content


def _each(results: Sequence[Any]) -> Iterator[tuple[str, Any, bool]]:
    for one in results:
        if isinstance(one, Mapping):
            yield from ((_level(name), inner, True) for name, inner in one.items())
        else:
            kind = type(one).__name__.removesuffix("Result")
            yield re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower(), one, False


def _imported(module: str, extra: str = "trackers") -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingDependencyError(name, "is not installed", f"run pip install 'calibrant[{extra}]'") from error


def log_mlflow(*results: Any, prefix: str = "", step: int | None = None, run_id: str | None = None) -> None:
    """Log results to MLflow: numbers as metrics, figures, reports and all values as artifacts.

    An evaluation becomes the metrics ``ece``, ``ece_low`` and so on, and the file ``evaluation.json``; a figure ``reliability_diagram.png``;
    a report ``report.html``. Names come from the classes; a mapping states others.

    Parameters
    ----------
    *results : Result, or mapping of str to Result or number
        Results of the library: evaluations, tests, figures, reports.
    prefix : str, default ""
        Text before each name, such as ``"val/"``.
    step : int, optional
        Step of the metrics. Files of a step are stored in a folder of its name.
    run_id : str, optional
        The run; by default the active one.

    Raises
    ------
    MissingDependencyError
        If MLflow is not installed.
    ArgumentError
        If there is no active run, or two results have the same name.

    See Also
    --------
    calibrant.save : Write a calibrator to a file, which ``mlflow.log_artifact`` logs.
    scalars : The names of the metrics.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.trackers import log_mlflow
    >>> import mlflow  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     log_mlflow(cal.evaluate(y_true, y_prob), cal.reliability_diagram(y_true, y_prob))
    """
    content = content_of(results, prefix)
    mlflow = _imported("mlflow")
    if run_id is None:
        active = mlflow.active_run()
        if active is None:
            raise ArgumentError("run_id", "there is no active run", "use it inside mlflow.start_run()")
        run_id = active.info.run_id
    write_mlflow(content, mlflow.MlflowClient(), run_id, step)


def write_mlflow(content: Content, client: Any, run_id: str, step: int | None) -> None:
    """Write what is logged with a client of MLflow."""
    from time import time

    metric = _imported("mlflow.entities").Metric
    now = int(time() * 1000)
    numbers = [metric(name, value, now, step or 0) for name, value in content.numbers.items()]
    for first in range(0, len(numbers), 1000):  # the most that a request may hold
        client.log_batch(run_id, metrics=numbers[first : first + 1000])
    folder = "" if step is None else f"step_{step}/"
    for name, page in content.pages.items():
        client.log_text(run_id, page.to_html(), f"{folder}{name}.html")
    for name, values in content.values.items():
        client.log_text(run_id, json.dumps(plain_value(values), indent=2), f"{folder}{name}.json")
    with temporary_folder() as place:
        for name, picture in content.pictures.items():
            file = Path(place, f"{name.rpartition('/')[2]}.png")
            file.write_bytes(picture)
            client.log_artifact(run_id, str(file), (folder + name.rpartition("/")[0]).strip("/") or None)


def log_wandb(*results: Any, prefix: str = "", step: int | None = None, run: Any = None) -> None:
    """Log results to Weights & Biases: numbers, figures as images, reports as HTML panels.

    Parameters
    ----------
    *results : Result, or mapping of str to Result or number
        Results of the library: evaluations, tests, figures, reports.
    prefix : str, default ""
        Text before each name, such as ``"val/"``.
    step : int, optional
        Step; by default that of the run.
    run : wandb.Run, optional
        The run; by default the current one.

    Raises
    ------
    MissingDependencyError
        If wandb is not installed.
    ArgumentError
        If there is no current run, or two results have the same name.

    See Also
    --------
    scalars : The names of the numbers.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.trackers import log_wandb
    >>> import wandb  # doctest: +SKIP
    >>> with wandb.init(project="churn") as run:  # doctest: +SKIP
    ...     log_wandb(cal.evaluate(y_true, y_prob), cal.reliability_diagram(y_true, y_prob), run=run)
    """
    content = content_of(results, prefix)
    if run is None:
        run = _imported("wandb").run
        if run is None:
            raise ArgumentError("run", "there is no current run", "call wandb.init() first")
    write_wandb(content, run, step)


def write_wandb(content: Content, run: Any, step: int | None) -> None:
    """Write what is logged to a run of Weights & Biases, in one call and thus one step."""
    wandb = _imported("wandb")
    logged: dict[str, Any] = dict(content.numbers)
    if content.pictures:
        image = _imported("PIL.Image", "plot")
        logged |= {name: wandb.Image(image.open(BytesIO(png))) for name, png in content.pictures.items()}
    logged |= {name: wandb.Html(page.to_html(), inject=False) for name, page in content.pages.items()}
    run.log(logged, step=step)


def log_tensorboard(*results: Any, writer: Any, prefix: str = "", step: int | None = None) -> None:
    """Log results to TensorBoard: numbers as scalars, figures as images, tables and reports as text.

    Parameters
    ----------
    *results : Result, or mapping of str to Result or number
        Results of the library: evaluations, tests, figures, reports.
    writer : torch.utils.tensorboard.SummaryWriter
        Where to write, or any object with its methods ``add_scalar``, ``add_image`` and ``add_text``.
    prefix : str, default ""
        Text before each name, such as ``"val/"``.
    step : int, optional
        Step.

    Raises
    ------
    ArgumentError
        If two results have the same name.

    See Also
    --------
    scalars : The names of the numbers.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.trackers import log_tensorboard
    >>> from torch.utils.tensorboard import SummaryWriter  # doctest: +SKIP
    >>> with SummaryWriter("runs") as writer:  # doctest: +SKIP
    ...     log_tensorboard(cal.evaluate(y_true, y_prob), writer=writer, step=1)
    """
    if not hasattr(writer, "add_scalar"):
        raise InputTypeError("writer", f"must be a SummaryWriter; got {type(writer).__name__}")
    write_tensorboard(content_of(results, prefix), writer, step)


def write_tensorboard(content: Content, writer: Any, step: int | None) -> None:
    """Write what is logged with a summary writer."""
    for name, value in content.numbers.items():
        writer.add_scalar(name, value, step)
    for name, text in content.texts.items():
        writer.add_text(name, text, step)
    if content.pictures:
        read = _imported("matplotlib.image", "plot").imread
        for name, png in content.pictures.items():
            pixels = (read(BytesIO(png), format="png")[..., :3] * 255).round().astype(np.uint8)
            writer.add_image(name, pixels, step, dataformats="HWC")
