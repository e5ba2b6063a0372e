"""Windows of neighbouring rows with weights of any range, against their definition in fractions."""

import numpy as np
import pytest

import calibrant as cal

from ..oracles import soft_definitions


@pytest.mark.parametrize("decades", [0, 2, 7, 16])
def test_weights_of_any_range(decades: int) -> None:
    rng = np.random.default_rng(decades)
    labels, scores = rng.integers(0, 2, 43).tolist(), rng.random(43).tolist()
    weight = (10 ** rng.uniform(-decades, decades, 43)).tolist()
    for inner in ("mean_abs", "abs_mean"):
        options = {"sample_weight": weight, "lens": "binary", "size": 6, "inner": inner}
        wanted = float(soft_definitions.calbin(labels, scores, **options))
        assert cal.calbin(labels, scores, **options) == pytest.approx(wanted, rel=1e-12)
    wanted = float(soft_definitions.ece_knn(labels, scores, neighbours=4, sample_weight=weight))
    assert cal.ece_knn(labels, scores, neighbours=4, sample_weight=weight) == pytest.approx(wanted, rel=1e-12)


def test_a_weight_that_hides_all_others() -> None:
    """Each window is one row, so that weights cancel."""
    assert cal.calbin([0, 1, 0], [0.1, 0.5, 0.9], sample_weight=[1e17, 1, 1], size=1) == pytest.approx(0.5)
