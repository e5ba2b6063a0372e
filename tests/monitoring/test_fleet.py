"""The status of several monitors, the worst first, with false discoveries among them controlled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.monitoring import fleet_status


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Path]:
    """A calibrated model, one with reversed labels, and one without a store."""
    rng = np.random.default_rng(0)
    p, new = rng.beta(2, 2, 300), rng.beta(2, 2, 240)
    paths = {name: tmp_path / f"{name}.db" for name in ("quiet", "wrong", "lost")}
    for name, labels in (("quiet", rng.random(240) < new), ("wrong", rng.random(240) > new)):
        monitor = cal.Monitor.create(paths[name], reference=(rng.random(300) < p, p), every=80, n_resamples=19)
        monitor.update(labels, new)
    return paths


def test_the_worst_is_first(stores: dict[str, Path]) -> None:
    status = fleet_status(stores, alpha=0.1)
    assert [(each.model, each.state) for each in status.models] == [
        ("wrong", "alarm"),
        ("lost", "failed"),
        ("quiet", "quiet"),
    ]
    assert (status.selected, status.failed) == (("wrong",), ("lost",))
    assert "calibrated" not in status.verdict
    assert "lost: Failed: " in repr(status)
    assert status.to_frame()["open_alarms"].tolist()[1:] == [0, 0]
    again = fleet_status({**stores, "wrong": cal.Monitor.open(stores["wrong"])}, alpha=0.1)
    assert again.to_dict() == status.to_dict()
