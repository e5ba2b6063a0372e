"""The fast Gauss transform is the sum over all pairs, also where it is small."""

from typing import Any

import numpy as np
import pytest

from calibrant.metrics.kernel import gauss_transform as fast

RNG = np.random.default_rng(0)


def over_pairs(targets: Any, sources: Any, parts: Any, width: float) -> Any:
    return np.exp(-0.5 * np.square((targets[:, None] - sources) / width)) @ parts


@pytest.mark.parametrize("width", [0.01, 0.05, 0.3, 2.0])
@pytest.mark.parametrize(
    "sources",
    [[0.3], [0.0, 1.0], np.round(RNG.random(50), 1), RNG.random(300) ** 8, [0.0, *(0.9 + 0.1 * RNG.random(100))]],
    ids=["one", "ends", "ties", "skewed", "far"],
)
def test_the_transform_is_the_sum_over_pairs(sources: Any, width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "BLOCK", 7)
    places = np.sort(sources)
    parts = RNG.random((len(places), 2)) * [40, 1]
    for targets in (places, np.sort(3 * RNG.random(40) - 1)):
        near = np.abs(targets[:, None] - places).min(axis=1) < 8 * width
        found, expected = fast.gauss_transform(targets, places, parts, width), over_pairs(targets, places, parts, width)
        assert np.allclose(found[near], expected[near], rtol=1e-13, atol=0)
        assert np.allclose(found, expected, rtol=1e-13, atol=1e-27)  # cut at 12 bandwidths


def test_few_points_in_many_boxes_are_summed_in_pairs() -> None:
    assert fast.is_dense(0.0, 1.0, 1000, 0.05)
    assert not fast.is_dense(0.0, 1.0, 1000, 1e-3)
    assert not fast.is_dense(0.0, 1.0, 7, 1.0)
