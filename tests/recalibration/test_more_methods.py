"""Calibrators that other packages have too: definitions written out slowly, edge cases, coefficients and edges under one name."""

import itertools
import math
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

import calibrant as cal
from calibrant.recalibration.methods import METHODS
from tests.calling import raises

Floats = NDArray[np.float64]
NEW = np.concatenate([[0.0, 1.0, 0.5, 0.3], np.random.default_rng(1).random(40)])


def problem(n: int, seed: int = 0, digits: int | None = None) -> tuple[Floats, NDArray[np.int64]]:
    """Overconfident scores; rounded ones have ties and are exactly 0 or 1."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-0.3, 1.2, n)
    p = 1 / (1 + np.exp(-2 * odds))
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    return (p if digits is None else p.round(digits)), y


def classes(n: int, k: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1)
    p = p**1.7
    return p / p.sum(axis=1, keepdims=True), y


UNFRIENDLY = {
    "no bin count divides": problem(131),
    "ties, exact 0 and 1": problem(97, 1, 1),
    "few scores": (np.array([0.2, 0.2, 0.2, 0.7, 0.7, 0.7, 0.7]), np.array([0, 1, 0, 1, 0, 1, 1])),
    "tiny": (np.array([0.3, 0.6, 0.1, 0.9, 0.8]), np.array([1, 0, 0, 1, 1])),
}


def at(calibrator: Any, scores: Any, **given: Any) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.InSampleWarning)
        return np.asarray(calibrator.predict_proba(scores, **given))


def fitted(calibrator: Any, *given: Any, **words: Any) -> Any:
    """Fitted without warnings about boundary scores and single outcomes, which other tests hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.CalibrantWarning)
        return calibrator.fit(*given, **words)


# Venn-Abers


def isotonic_rate(scores: list[float], events: list[float], weight: list[float], s: float) -> float:
    """The isotonic regression at an observed score: the largest of the smallest means over ranges of scores around it."""
    levels = sorted(set(scores))
    sums = {t: [0.0, 0.0] for t in levels}
    for t, e, w in zip(scores, events, weight, strict=True):
        sums[t][0] += w * e
        sums[t][1] += w
    below, above = [t for t in levels if t <= s], [t for t in levels if t >= s]

    def mean(first: float, last: float) -> float:
        inside = [sums[t] for t in levels if first <= t <= last]
        return sum(e for e, _ in inside) / sum(w for _, w in inside)

    return max(min(mean(first, last) for last in above) for first in below)


def both(p: Floats, y: Any, w: Floats, s: float) -> tuple[float, float]:
    found = [isotonic_rate([*p.tolist(), s], [*map(float, y), e], [*w.tolist(), 1.0], s) for e in (0.0, 1.0)]
    return found[0], found[1]


@pytest.mark.parametrize("rule", ["log", "brier"])
@pytest.mark.parametrize("calibrate_on", ["fold", "others"])
def test_cross_venn_abers_merges_the_predictors_of_folds(rule: Any, calibrate_on: Any) -> None:
    for name, (p, y) in UNFRIENDLY.items():
        p, y = p[:40], y[:40]
        fold = np.array(["a", "b", "c"])[np.arange(len(y)) % 3]
        counts = 1 + np.arange(len(y)) % 2
        calibrator = fitted(cal.CrossVennAbers(rule=rule, calibrate_on=calibrate_on), p, y, fold=fold, counts=counts)
        new = NEW[:9]
        ends = []
        for f in "abc":
            rows = (fold == f) == (calibrate_on == "fold")
            ends.append([both(p[rows], y[rows], counts[rows].astype(float), s) for s in new])
        wanted = []
        for j in range(len(new)):
            p0, p1 = zip(*(each[j] for each in ends), strict=True)
            if rule == "log":
                event, other = math.prod(p1) ** (1 / 3), math.prod(1 - x for x in p0) ** (1 / 3)
                wanted.append(event / (event + other))
            else:
                wanted.append(sum(b + a * a / 2 - b * b / 2 for a, b in zip(p0, p1, strict=True)) / 3)
        assert at(calibrator, new)[:, 1] == pytest.approx(wanted, abs=1e-12), name
        low, high = calibrator.predict_p0_p1(new)
        assert low == pytest.approx([min(e[j][0] for e in ends) for j in range(len(new))], abs=1e-12)
        assert high == pytest.approx([max(e[j][1] for e in ends) for j in range(len(new))], abs=1e-12)


def test_a_score_of_few_rows_keeps_its_rate_beside_one_of_many() -> None:
    counts = [10**9, 2, 4]
    calibrator = fitted(cal.VennAbers(), [0.25, 0.25, 0.75], [1, 0, 1], counts=counts)
    low, high = calibrator.predict_p0_p1([0.75])
    assert (low[0], high[0]) == (pytest.approx((10**9 + 4) / (10**9 + 7), abs=1e-13), 1)


def test_folds_divide_every_class_and_do_not_depend_on_the_order() -> None:
    p, y = problem(403)
    calibrator = cal.CrossVennAbers(folds=4).fit(p, y)
    assert [len(each) for each in calibrator.low_] == [4]
    sizes = [len(curve.scores) for curve in calibrator.low_[0]]
    assert max(sizes) - min(sizes) <= 4  # two per distinct score, and one row more or less of each class
    order = np.random.default_rng(5).permutation(403)
    assert at(cal.CrossVennAbers(folds=4).fit(p[order], y[order]), NEW) == pytest.approx(at(calibrator, NEW), abs=1e-15)
    two = cal.CrossVennAbers(folds=2).fit([0.2, 0.8], [0, 1])  # a fold without rows is left out
    assert [len(each) for each in two.low_] == [2]


def test_a_model_passes_the_folds_of_its_cross_validation() -> None:
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    from calibrant.sklearn import CalibratedModel

    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 3)) + y[:, None]
    fold = np.empty(120, int)
    for number, (_, test) in enumerate(StratifiedKFold(4).split(X, y)):
        fold[test] = number
    scores = cross_val_predict(GaussianNB(), X, y, cv=4, method="predict_proba")[:, 1]
    own = cal.CrossVennAbers(rule="brier").fit(scores, y, fold=fold)
    model = CalibratedModel(GaussianNB(), method=cal.CrossVennAbers(rule="brier"), cv=4).fit(X, y)
    new = X[:20] + 0.1
    assert model.predict_proba(new) == pytest.approx(
        at(own, GaussianNB().fit(X, y).predict_proba(new)[:, 1]), abs=1e-14
    )


@pytest.mark.parametrize("k", [4, 12])
def test_pairs_of_classes_are_coupled(k: int) -> None:
    p, y = classes(60 if k == 4 else 150, k)
    y = np.where(y == 1, 0, y) if k == 4 else y  # a class without rows
    new = classes(5, k, 9)[0]
    calibrator = fitted(cal.VennAbers(multiclass="one_vs_one"), p, y)
    total = np.zeros((5, k))
    if k == 4:  # the definition is slow
        for a, b in itertools.combinations(range(k), 2):
            rows = (y == a) | (y == b)
            share = p[rows, a] / (p[rows, a] + p[rows, b])
            for i, row in enumerate(new):
                p0, p1 = both(share, y[rows] == a, np.ones(rows.sum()), row[a] / (row[a] + row[b]))
                q = p1 / (1 - p0 + p1)
                total[i, a] += 1 / q
                total[i, b] += 1 / (1 - q)
        wanted = 1 / (total - (k - 2))
        assert at(calibrator, new) == pytest.approx(wanted / wanted.sum(axis=1, keepdims=True), abs=1e-12)
    cross = fitted(cal.CrossVennAbers(multiclass="one_vs_one"), p, y)  # folds without a pair of classes are left out
    for found in (at(calibrator, new), at(cross, new)):
        assert np.isfinite(found).all()
        assert found.sum(axis=1) == pytest.approx(1)


# Beta calibration


def beta_loss(parameters: str, p: Floats, y: Any, weight: Floats, x: Any) -> float:
    a, b = (x[0], x[1]) if "b" in parameters else (x[0], x[0])
    c = x[-1] if parameters.endswith("m") else (a - b) * math.log(2)
    clipped = np.clip(p, 1e-12, 1 - 1e-12)
    eta = a * np.log(clipped) - b * np.log1p(-clipped) + c
    return float(weight @ (np.logaddexp(0, eta) - y * eta) / weight.sum())


@pytest.mark.parametrize("parameters", ["abm", "ab", "am", "a"])
def test_beta_calibration_is_the_likeliest_curve_of_its_family(parameters: Any) -> None:
    for name, (p, y) in {**UNFRIENDLY, "falling": (1 - problem(150, 4)[0], problem(150, 4)[1])}.items():
        weight = 1.0 + np.arange(len(y)) % 3
        calibrator = fitted(cal.BetaCalibration(parameters=parameters), p, y, sample_weight=weight)
        (a, b), c = calibrator.coef_[0], calibrator.intercept_[0]
        assert min(a, b) >= 0
        if parameters in ("am", "a"):
            assert a == b
        if parameters in ("ab", "a"):
            assert c == pytest.approx((a - b) * math.log(2), abs=1e-12)
        boundary = calibrator.fit_record_.boundary
        loss = partial(beta_loss, parameters, np.clip(p, boundary, 1 - boundary), y, weight)
        free = {"abm": 3, "ab": 2, "am": 2, "a": 1}[parameters]
        limits = [(0, None), (0, None), (None, None)][:free] if parameters != "am" else [(0, None), (None, None)]
        best = min(
            minimize(loss, [s] * free, bounds=limits, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}).fun
            for s in (0.1, 1.0)
        )
        own = {"abm": (a, b, c), "ab": (a, b), "am": (a, c), "a": (a,)}[parameters]
        assert loss(own) <= best + 1e-7, (name, own)


def test_beta_calibration_through_one_half_keeps_the_predicted_class() -> None:
    p, y = problem(500, 2)
    found = at(cal.BetaCalibration(parameters="ab").fit(p, y), np.array([0.2, 0.499, 0.5, 0.501, 0.8]))[:, 1]
    assert found[2] == pytest.approx(0.5, abs=1e-15)
    assert (np.sign(found - 0.5) == [-1, -1, 0, 1, 1])[[0, 1, 3, 4]].all()
    for parameters in ("ab", "a"):
        with pytest.raises(cal.errors.UndefinedMetricError, match="a threshold separates the outcomes"):
            cal.BetaCalibration(parameters=parameters).fit([0.1, 0.3, 0.6, 0.9], [0, 0, 1, 1])
        half = fitted(cal.BetaCalibration(parameters=parameters), [0.5] * 4, [0, 1, 1, 1])
        assert at(half, [0.5])[0, 1] == 0.5
    with raises(cal.errors.ArgumentError, "parameters"):
        cal.BetaCalibration(parameters="abc").fit(p, y)  # type: ignore[arg-type]


# Bins by any rule


RULES: list[dict[str, Any]] = [
    {"bins": 7, "binning": "equal_width"},
    {"bins": (0, 0.1, 0.25, 0.8, 1)},
    {"binning": cal.Edges((0, 0.1, 0.3, 0.5, 1), closed="left")},
    {"binning": cal.EqualWidth(7, closed="left")},
    {"binning": cal.EqualWidth(7, range=(0.0, 1.0)), "empty": "interpolate"},
    {"bins": 6, "binning": "equal_area"},
    {"bins": 6, "binning": "quantile"},
    {"binning": cal.Quantile(5, closed="left")},
    {"binning": cal.EqualWidth(6, closed="left", edges="torch")},
    {"bins": "sweep"},
    {"bins": "tcal", "binning": "equal_width", "empty": "mean"},
    {"bins": "cv"},
    {"binning": cal.EqualMass(5, ties="split")},
    {"binning": cal.EqualMass(7)},
    {"binning": "levels", "shrink": 0.5},
]


@pytest.mark.parametrize("options", RULES, ids=str)
def test_a_histogram_has_the_rate_of_each_bin_of_any_rule(options: dict[str, Any], tmp_path: Path) -> None:
    for name in ("no bin count divides", "ties, exact 0 and 1", "tiny"):
        p, y = UNFRIENDLY[name]
        calibrator = fitted(cal.HistogramBinning(**options), p, y)
        (edges,), (values,) = calibrator.edges_, calibrator.values_
        assert edges[0] == 0
        assert edges[-1] == 1
        assert len(values) == len(edges) - 1
        left = getattr(options.get("binning"), "closed", "right") == "left"
        shrink = options.get("shrink", 0.0)

        def place(s: float, edges: Any = edges, left: bool = left) -> int:
            for b in range(len(edges) - 2):
                if s < edges[b + 1] or (s == edges[b + 1] and not left):
                    return b
            return len(edges) - 2

        inside = [[int(e) for s, e in zip(p, y, strict=True) if place(s) == b] for b in range(len(values))]
        rates = [(sum(of) + shrink) / (len(of) + 2 * shrink) if of else None for of in inside]
        for b, rate in enumerate(rates):
            if rate is None:
                full = [(j, r) for j, r in enumerate(rates) if r is not None]
                rate = {
                    "midpoint": (edges[b] + edges[b + 1]) / 2,
                    "mean": float(np.mean(y)),
                    "interpolate": float(np.interp(b, *zip(*full, strict=True))),
                }[options.get("empty", "midpoint")]
            assert values[b] == pytest.approx(rate, abs=1e-12), name
        new = np.concatenate([NEW, edges, np.nextafter(edges[1:-1], 0), np.nextafter(edges[1:-1], 1)])
        assert (at(calibrator, new)[:, 1] == values[[place(s) for s in new]]).all()
        again = cal.load(cal.save(calibrator, tmp_path / "calibrator.json"))
        assert (at(again, new) == at(calibrator, new)).all()
        assert repr(again) == repr(calibrator)


def test_bins_are_checked_when_a_histogram_is_fitted(tmp_path: Path) -> None:
    p, y = problem(30)

    class Halves(cal.EqualWidth):
        pass

    own = cal.HistogramBinning(binning=Halves(2)).fit(p, y)
    assert own.edges_[0].tolist() == [0, 0.5, 1]
    with pytest.raises(cal.errors.InputTypeError, match="contains a Halves, which cannot be saved"):
        cal.save(own, tmp_path / "calibrator.json")


# Coefficients, edges and knots under the same names


LEVELS = {"histogram_levels"}


@pytest.mark.parametrize("name", METHODS)
def test_coefficients_and_edges_are_public(name: str) -> None:
    """They predict what the calibrator predicts, and its repr shows them."""
    p, y = problem(200, 3, 2)
    calibrator = fitted(METHODS[name](), p, y)
    new = NEW[2:]
    got = at(calibrator, new)[:, 1]
    odds = np.log(new / (1 - new))
    if "values_" in calibrator.derived and name != "top_label_histogram":
        (values,) = calibrator.values_
        if "knots_" in calibrator.derived:
            assert got == pytest.approx(np.interp(new, calibrator.knots_[0], values), abs=1e-12)
        else:
            assert (got == values[np.searchsorted(calibrator.edges_[0][1:-1], new)]).all()
    if "coef_" in calibrator.derived:
        coef, intercept = calibrator.coef_, calibrator.intercept_
        if coef.shape == (2, 2):
            z = np.column_stack([np.log1p(-new), np.log(new)]) @ coef.T + intercept
            eta = z[:, 1] - z[:, 0]
        else:
            features = {
                "PlattScaling": [odds],
                "QuadraticLogit": [odds, odds**2],
                "BetaCalibration": [np.log(new), -np.log1p(-new)],
            }[type(calibrator).__name__]
            eta = np.column_stack(features) @ coef[0] + intercept[0]
        assert got == pytest.approx(1 / (1 + np.exp(-eta)), abs=1e-9)
    for text in calibrator.derived if calibrator.fitted == ("curves_",) else calibrator.fitted:
        assert text in repr(calibrator)


def test_an_unfitted_calibrator_has_no_values() -> None:
    assert not hasattr(cal.PlattScaling(), "coef_")
    assert repr(cal.PlattScaling()) == "PlattScaling()"
    several = fitted(cal.PlattScaling(), *classes(200, 4))
    assert several.coef_.shape == (4, 1)
    assert several.intercept_.shape == (4,)


@pytest.mark.parametrize("name", ["spline", "isotonic", "centered_isotonic", "histogram"])
def test_subnormal_scores_have_finite_rates(name: str) -> None:
    p = np.concatenate([np.arange(30) * 5e-324, np.linspace(0.01, 0.99, 70)])
    y = (np.arange(100) % 10 < 1 + p * 8).astype(int)
    y[:15] = 0
    y[15:30] = 1
    rates = METHODS[name]().fit(p, y).predict_proba(np.append(p[::7], [3e-322, 1e-308]))
    assert ((rates >= 0) & (rates <= 1)).all()
