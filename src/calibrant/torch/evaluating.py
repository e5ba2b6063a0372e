"""evaluate: the metrics of the library for a model and a loader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from ..errors import ArgumentError, InputError, InSampleWarning, warn_caller
from ..evaluation.measure import evaluate as evaluate_arrays
from ..evaluation.result import Evaluation
from ..input.predictions import Predictions
from ..recalibration.scores import fingerprint
from ..views.keywords import DATA_KEYWORDS, documents_keywords
from .collecting import PARAMETERS, Collected, collect, evaluating, named_labels, without_input
from .modules import CalibratorModule
from .outputs import Output, Unpack

# In addition to accuracy and mean confidence, which every evaluation has.
COMPACT = ("nll", "brier", "ece")


@documents_keywords(table=PARAMETERS)
def evaluate(
    model: Any,
    loader: Iterable[Any] | None = None,
    *,
    calibrator: Any = None,
    metrics: Any = COMPACT,
    samples: int | Iterable[Any] | None = None,
    device: Any = None,
    layer: str | None = None,
    output: Output = None,
    autocast: bool | torch.dtype | None = None,
    unpack: Unpack = None,
    progress: bool = True,
    check: bool = True,
    **keywords: Any,
) -> Evaluation:
    """Evaluate a model over a loader: accuracy, mean confidence, log loss, Brier score and calibration error.

    Parameters
    ----------
    model : torch.nn.Module, callable, iterable of these, or Collected
        Model that returns logits, or the members of an ensemble; or the result of `collect`, `loader` is then left out.
    loader
    calibrator : CalibratorModule, Calibrator, str or path, optional
        Fitted calibrator, as a module or for arrays, or the file it was saved to; its output is evaluated.
    metrics : str or iterable of str, default ("nll", "brier", "ece")
        Identifiers of the catalogue, ``"recommended"`` or ``"all"``.
    samples
    device
    layer
    output
    autocast
    unpack
    progress
    check
    **keywords
        Keywords of `calibrant.evaluate`, such as ``lens``, ``bins``, ``interval`` and ``assess``, and of `Predictions`, such as
        ``classes`` and ``groups``.

    Returns
    -------
    Evaluation
        Values by metric; ``header`` has accuracy and mean confidence.

    Raises
    ------
    InputError
        If `loader` is missing.
    ArgumentError
        If `samples` is given for rows that are collected.

    Warns
    -----
    InSampleWarning
        If `calibrator` was fitted on these rows.

    See Also
    --------
    collect : Collect once and evaluate several times.
    calibrant.evaluate : The same for arrays.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import evaluate
    >>> logits, labels = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 0])
    >>> found = evaluate(torch.nn.Identity(), [(logits, labels)])
    >>> found.header.accuracy, round(found["nll"], 4)
    (0.5, 0.7201)
    """
    keywords = without_input(keywords)
    rows = model if isinstance(model, Collected) else None
    if rows is not None and samples is not None:
        raise ArgumentError("samples", "has no effect on collected rows", "pass it to collect")
    if rows is None:
        if loader is None:
            raise InputError("loader", "is missing", "pass a loader, or the output of collect in place of the model")
        collecting: dict[str, Any] = {"device": device, "layer": layer, "output": output, "autocast": autocast}
        if samples is not None:
            collecting |= {"samples": samples, "rng": keywords.get("rng", 0)}
            if keywords.get("interval") is None and not keywords.get("assess"):
                keywords.pop("rng", None)  # used up: without resampling it would be reported as having no effect
        rows = collect(model, loader, unpack=unpack, progress=progress, check=check, **collecting)
    logits = rows.logits
    if isinstance(calibrator, nn.Module):
        logits, calibrator = _calibrated(rows, calibrator), None
    if rows.features is not None:
        keywords.setdefault("features", rows.features.numpy())
    labels = named_labels(rows.labels.numpy(), keywords.get("classes"), rows.n_classes)
    reading = {name: keywords.pop(name) for name in DATA_KEYWORDS if name in keywords}
    predictions = Predictions(labels, logits.numpy(), input="logit", **reading)
    return evaluate_arrays(predictions, metrics=metrics, calibrator=calibrator, **keywords)


def _calibrated(rows: Collected, module: nn.Module) -> torch.Tensor:
    known = module.fit_record if isinstance(module, CalibratorModule) else None
    if known is not None and known.fingerprint and known.fingerprint == fingerprint(rows.logits.double().numpy()):
        warn_caller(
            f"{type(module).__name__} was fitted on these rows, so the estimate is optimistic; evaluate it on held-out data",
            InSampleWarning,
        )
    home = next(iter([*module.parameters(), *module.buffers()]), rows.logits).device
    # Not as a decorator: the warning above looks for the frame of the caller, and would find that of torch.
    with evaluating(module), torch.no_grad():
        found: torch.Tensor = module(rows.logits.to(home))
    return found.cpu()
