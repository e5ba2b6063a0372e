"""evaluate: the metrics of the library for a model and a loader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from ..errors import InputError, InSampleWarning, warn_caller
from ..evaluation.measure import evaluate as evaluate_arrays
from ..evaluation.result import Evaluation
from ..util.hashes import fingerprint
from .collecting import Collected, collect, evaluating
from .modules import TemperatureModule

# In addition to accuracy and mean confidence, which every evaluation has.
COMPACT = ("nll", "brier", "ece")


def evaluate(
    model: Any,
    loader: Iterable[Any] | None = None,
    *,
    calibrator: Any = None,
    metrics: Any = COMPACT,
    **keywords: Any,
) -> Evaluation:
    """Evaluate a model over a loader: accuracy, mean confidence, log loss, Brier score and calibration error.

    Parameters
    ----------
    model : torch.nn.Module, callable, iterable of these, or Collected
        Model that returns logits, or the members of an ensemble; or the result of `collect`, which has more options and takes
        `loader` itself.
    loader : iterable, optional
        Batches, as for `collect`.
    calibrator : torch.nn.Module, Calibrator, str or path, optional
        Fitted calibrator, as a module or for arrays, or the file it was saved to; its output is evaluated.
    metrics : str or iterable of str, default ("nll", "brier", "ece")
        Identifiers of the catalogue, ``"recommended"`` or ``"all"``.
    **keywords
        Keywords of `calibrant.evaluate`, such as ``lens``, ``bins``, ``interval`` and ``assess``.

    Returns
    -------
    Evaluation
        Values by metric; ``header`` has accuracy and mean confidence.

    Raises
    ------
    InputError
        If `loader` is missing.

    Warns
    -----
    InSampleWarning
        If `calibrator` was fitted on these rows.

    See Also
    --------
    collect : Collect once and evaluate several times; its ``predictions()`` have names of classes and groups.
    calibrant.evaluate : The same for arrays.

    Examples
    --------
    >>> import torch
    >>> from calibrant.torch import evaluate
    >>> logits, labels = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 0])
    >>> result = evaluate(torch.nn.Identity(), [(logits, labels)])
    >>> result.header.accuracy, round(result["nll"], 4)
    (0.5, 0.7201)
    """
    if not isinstance(model, Collected) and loader is None:
        raise InputError("loader", "is missing", "pass a loader, or the output of collect in place of the model")
    rows = model if isinstance(model, Collected) else collect(model, loader)  # type: ignore[arg-type]
    if isinstance(calibrator, nn.Module):
        record = calibrator.fit_record if isinstance(calibrator, TemperatureModule) else None
        trained_on = None if record is None else record.fingerprint
        if trained_on and trained_on == fingerprint(rows.logits.double().numpy()):
            problem = f"{type(calibrator).__name__} was fitted on these rows, so the estimate is optimistic"
            warn_caller(f"{problem}; evaluate it on held-out data", InSampleWarning)
        device = next(iter([*calibrator.parameters(), *calibrator.buffers()]), rows.logits).device
        # Not as a decorator: the warning above looks for the frame of the caller, and would find that of torch.
        with evaluating(calibrator), torch.no_grad():
            rows, calibrator = replace(rows, logits=calibrator(rows.logits.to(device)).cpu()), None
    return evaluate_arrays(rows.predictions(), metrics=metrics, calibrator=calibrator, **keywords)
