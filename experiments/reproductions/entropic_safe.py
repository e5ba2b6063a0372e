"""What the paper leaves to future work: recalibration that is safe, on the same networks and splits as tables 2 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from experiments.reproductions.entropic_images import NETWORKS, Network, halves
from experiments.reproductions.entropic_verdicts import kept_inside, mean
from experiments.reproductions.study import Part, Table

CALIBRATORS = {"temperature": cal.TemperatureScaling, "safe temperature": cal.SafeCalibration}


class Found(NamedTuple):
    """One calibrator on the test rows of one split."""

    overconfidence: float
    top: bool
    """Whether overconfidence of the top label is significant (one-sided, 5%)."""
    ecd: float
    unsafe: bool
    """Whether ECD is significant (one-sided, 5%)."""
    nll: float
    brier: float


def look(y: Any, prob: Any) -> Found:
    """Overconfidence, ECD and proper scores."""
    inside = kept_inside(prob, 1e-15)
    ecd = cal.assess(y, inside, metric="ecd", rng=0)
    top = cal.assess(y, inside, metric="calibration_in_the_large", lens="top_label", alternative="greater", rng=0)
    over = float(np.mean(prob.max(axis=1) - (prob.argmax(axis=1) == y)))
    return Found(over, top.rejected, ecd.statistic, ecd.rejected, cal.nll(y, inside), cal.brier(y, inside))


def measure(network: Network, folder: Path, splits: int, most: int | None) -> dict[str, list[Found]]:
    """Both calibrators fitted on a fifth of the rows and measured on the rest; the splits of tables 2 and 3."""
    found: dict[str, list[Found]] = {name: [] for name in CALIBRATORS}
    for fit, fit_labels, test, labels in halves(network, folder, splits, most):
        for name, calibrator in CALIBRATORS.items():
            found[name].append(look(labels, calibrator().fit(fit, fit_labels).predict_proba(test)))
    return found


def table(results: dict[str, dict[str, list[Found]]]) -> Table:
    """Means over the splits, and verdicts."""
    lines: list[list[Any]] = []
    for network, by_name in results.items():
        for name, found in by_name.items():
            values = [mean([getattr(one, each) for one in found]) for each in ("overconfidence", "ecd", "nll", "brier")]
            above, top, unsafe = (
                f"{sum(each)} of {len(found)}"
                for each in zip(*((one.overconfidence > 0, one.top, one.unsafe) for one in found), strict=True)
            )
            lines.append([network, name, values[0], above, top, values[1], unsafe, *values[2:]])
    heads = ["overconfidence", "above 0", "significant", "ECD (eq. 11)", "unsafe", "nll", "brier"]
    return Table(["", "calibrator", *heads], lines)


def part(small: bool, folder: Path, networks: Sequence[Network] = NETWORKS) -> Part:
    """All networks."""
    splits, most = (2, 2000) if small else (5, None)
    results = {network.name: measure(network, folder, splits, most) for network in networks}
    return Part("safe", tables=[table(results)])
