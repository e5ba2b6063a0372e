"""feature_diagram: the means of each bin by definition, missing values and rare categories, several models."""

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import CalibrantError

RNG = np.random.default_rng(0)
N = 500
AGE = pd.Series(np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(50, 15, N)), name="age")
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)


@pytest.mark.parametrize("weights", [None, "counts", "sample_weight"])
def test_bins_have_the_means_of_their_rows(weights):
    weight = {None: np.ones(N), "counts": RNG.integers(1, 4, N), "sample_weight": RNG.gamma(2, size=N)}[weights]
    p = cal.Predictions(Y, P, **({} if weights is None else {weights: weight}))
    shown = cal.figures.feature_diagram(p, feature=AGE, bins=4)
    edges = [float(name.split(" ")[2]) for name in shown.bins[:1]]
    edges += [float(name.split(" < ")[1]) for name in shown.bins[1:-2]]
    code = np.where(AGE.isna(), 4, np.digitize(AGE, edges))
    assert shown.bins[-1] == "missing"
    curve = shown["model"]
    for place in range(5):
        rows = code == place
        assert curve.mean_score[place] == pytest.approx(np.average(P[rows], weights=weight[rows]))
        assert curve.rate[place] == pytest.approx(np.average(Y[rows], weights=weight[rows]))
        assert curve.low[place] <= curve.rate[place] <= curve.high[place]
    assert curve.rows.sum() == (weight.sum() if weights == "counts" else N)


def test_several_models_share_the_rates_of_one_event():
    shown = cal.figures.feature_diagram(Y, {"a": P, "b": P**2}, feature={"plan": np.where(P > 0.5, "x", "y")})
    assert np.array_equal(shown["a"].rate, shown["b"].rate)
    assert (shown["b"].mean_score < shown["a"].mean_score).all()
    assert shown.to_frame().shape[0] == 4
    axes = shown.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["a: mean prediction", "b: mean prediction", "observed rate, 95% interval"]


def test_one_feature_of_rows_is_required():
    for feature in ({"a": P, "b": P}, {"a": P[:-1]}):
        with pytest.raises(CalibrantError):
            cal.figures.feature_diagram(Y, P, feature=feature)
