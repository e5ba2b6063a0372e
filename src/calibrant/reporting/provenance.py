"""Provenance: versions, parameters and a fingerprint of the data, so that the report can be reproduced."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ..evaluation.certificates import data_fingerprint
from ..input.grouping import groupings_of
from ..input.predictions import Predictions
from ..util.version import __version__
from .content import Provenance


def trace(p: Predictions, seed: int, parameters: Mapping[str, Any], notes: Sequence[str], sketch: str) -> Provenance:
    """Return the data, versions and parameters of a report."""
    return Provenance(
        calibrant=__version__,
        numpy=np.__version__,
        python=platform.python_version(),
        kind=p.kind,
        rows=p.n,
        weight=float(p.n if p.weight is None else p.weight.sum()),
        weight_kind=p.weight_kind,
        classes=p.k,
        class_names=() if p.classes is None else tuple(str(name) for name in p.classes),
        group_names=tuple(str(label) for grouping in groupings_of(p) for label in grouping.labels),
        fingerprint=data_fingerprint(p),
        seed=seed,
        parameters=parameters,
        made=time_stamp(),
        notes=tuple(notes),
        dropped="" if p.dropped is None else str(p.dropped),
        sketch=sketch,
    )


def time_stamp() -> str | None:
    """Return the time of SOURCE_DATE_EPOCH in UTC; None where it is not set."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not seconds.isdigit() or len(seconds) > 11:
        return None
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
