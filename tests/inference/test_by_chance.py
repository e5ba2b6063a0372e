"""The value expected by chance: the mean of the null distribution, simulated, enumerated or in closed form."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import calibrant as cal

Y, P = [0, 1, 1, 0, 1], [0.25, 0.5, 0.75, 0.5, 1.0]
MANY = cal.inference.make_calibrated(1500, rng=3)


def test_simulated_it_is_the_mean_of_the_simulated_values() -> None:
    found = cal.assess(MANY.y_true, MANY.y_prob, metric="ece", n_resamples=99, rng=1)
    assert found.null is not None
    assert found.by_chance == pytest.approx(found.null.mean(), rel=1e-14)
    assert found.to_dict()["by_chance"] == found.by_chance
    assert f"(by chance {found.by_chance:.5f})" in repr(found)
    [row] = cal.evaluate(MANY.y_true, MANY.y_prob, metrics=["ece"], assess=True, n_resamples=99, rng=1).results
    assert row.by_chance == found.by_chance


@pytest.mark.parametrize("metric", ["ece", "mce", "brier"])
def test_enumerated_it_is_the_expected_value(metric: str) -> None:
    wanted = Fraction(0)
    for labels in product((0, 1), repeat=len(P)):
        chance = Fraction(1)
        for label, p in zip(labels, P, strict=True):
            chance *= Fraction(p) if label else 1 - Fraction(p)
        if chance:
            wanted += chance * Fraction(cal.catalogue[metric](labels, P))
    assert cal.assess(Y, P, metric=metric).by_chance == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.parametrize(
    "metric",
    ["ecd", "spiegelhalter_z", "calibration_in_the_large", "hosmer_lemeshow", "ecce_mad", "ecce_r", "bbt", "skce_uq"],
)
def test_closed_forms_agree_with_simulation(metric: str) -> None:
    closed = cal.assess(MANY.y_true, MANY.y_prob, metric=metric, n_resamples=200, rng=0)
    assert closed.method != "consistency"
    drawn = cal.assess(MANY.y_true, MANY.y_prob, metric=metric, method="consistency", n_resamples=300, rng=0)
    assert closed.by_chance is not None
    assert drawn.null is not None
    error = drawn.null.std() / np.sqrt(300)
    # Asymptotic means of paths of 1500 steps are a little above those of the paths.
    assert closed.by_chance == pytest.approx(drawn.by_chance, abs=4 * error + 0.02 * abs(closed.by_chance))


def test_the_column_of_evaluate() -> None:
    assert "by chance" not in repr(cal.evaluate(MANY.y_true, MANY.y_prob, metrics=["ece", "ecd"]))
    plain = cal.evaluate(MANY.y_true, MANY.y_prob, metrics=["ece", "ecd"], level=0.9)
    assert plain.to_frame()["by_chance"].isna().all()
    found = cal.evaluate(MANY.y_true, MANY.y_prob, metrics=["ece", "ecd"], assess=True, n_resamples=50)
    frame = found.to_frame()
    assert frame["by_chance"].tolist() == [r.by_chance for r in found.results]
    assert 0 < frame["by_chance"][0] < 0.1
    assert frame["by_chance"][1] == 0
    headings, rows = found.table()
    assert headings[3:5] == ["by chance", "p-value"]
    assert [row[3] for row in rows][1] == "0"
    assert found.to_dict()["metrics"][0]["by_chance"] == found.results[0].by_chance
