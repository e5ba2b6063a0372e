"""The named tests of regression, kernel and grade statistics: checked values, slow definitions, distributions by enumeration."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize, stats

import calibrant as cal
from calibrant.errors import ArgumentError, UndefinedMetricError, WeightsNotSupportedError
from calibrant.inference import neighbour_tests
from calibrant.inference.asymptotic import too_few
from calibrant.inference.belt import belt_survival, giviti_test
from calibrant.inference.dyadic import Dyadic, dyadic_levels
from calibrant.inference.grades import grade_tests, hosmer_lemeshow_multinomial
from calibrant.inference.metric_tests import DEFAULT_TESTS
from calibrant.inference.pairs import bootstrap_sums
from calibrant.inference.replicates import Replicates
from calibrant.inference.seeds import generator
from calibrant.inference.simplex import SimplexBins
from calibrant.metrics.registry import OWN_TESTS
from tests.calling import call, raises
from tests.checked import A, B, C, D

from .test_assess import ODD


def assessed(data: Any, metric: str, method: str, **options: Any) -> Any:
    return call(cal.assess, *data, metric=metric, method=method, **{"rng": 0, **options})


def close(value: float, printed: str) -> None:
    """Within half a unit of the last printed digit."""
    digits = len(printed.rstrip("0").split(".")[1])
    assert abs(value - float(printed)) <= 0.5 * 10.0**-digits + 1e-15, (value, printed)


def sample(n: int, seed: int, power: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p**power).astype(int), p


def vectors(n: int, seed: int, k: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n)
    return (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1), probs


# Values.


def test_parabola_and_beta_curve() -> None:
    close(assessed(A, "pws", "chi_square").pvalue, "0.5908091647")
    close(assessed(B, "pws", "chi_square").pvalue, "0.6562707823")
    close(assessed(B, "pws", "chi_square", covariance="HC0").pvalue, "0.2912302674")
    found = assessed(B, "sbct", "chi_square")
    close(found.statistic, "1.271093205")
    close(found.pvalue, "0.7360084551")


def test_anchors() -> None:
    found = assessed(C, "knn_chi2", "bonferroni", anchors=[[0.5, 0.3, 0.2]], neighbours=3, min_expected=0)
    close(found.pvalue, "0.677809578")
    data = vectors(400, 3)
    by = {method: assessed(data, "knn_chi2", method) for method in ("bonferroni", "holm")}
    count = int(by["holm"].detail["anchors"])
    alone = [by["holm"].detail[f"pvalue_{i}"] for i in range(1, count + 1)]
    assert_allclose(by["bonferroni"].pvalue, min(1, count * min(alone)))
    assert_allclose(by["holm"].pvalue, by["bonferroni"].pvalue)
    corrected = [by["holm"].detail[f"corrected_{i}"] for i in range(1, count + 1)]
    assert corrected == sorted(corrected)


def test_belt_law() -> None:
    for x, added, printed in ((6, 1, "0.3249607449"), (14, 2, "0.6721342348"), (18, 3, "0.4860169641")):
        close(1 - belt_survival(x, added, 2), printed)
    k = stats.chi2.ppf(0.95, 1)
    for x in (5.0, 9.0, 20.0):  # internal, one degree added: a published integral
        inside = integrate.quad(
            lambda r: r * math.exp(-r * r / 2) * math.acos(math.sqrt(k) / r), math.sqrt(k), math.sqrt(x)
        )
        assert_allclose(1 - belt_survival(x, 1, 1), 2 / (math.pi * 0.05) * inside[0], atol=1e-10)


def test_belt_starts_as_cox() -> None:
    found = giviti_test(*B, method="likelihood_ratio")
    assert found.detail["degree"] == 1
    assert_allclose(found.statistic, assessed(B, "cox_slope", "lr").detail["chi_square"])
    close(found.pvalue, "0.7406285971")
    close(
        giviti_test(*A, method="likelihood_ratio").pvalue, "0.2592"
    )  # separable: the likelihood of the labels, exp(-x / 2)


@pytest.mark.parametrize(
    ("n", "k", "score", "binomial", "jeffreys"),
    [
        (200, 5, 0.01, "0.05174626363", "0.02935006305"),
        (500, 20, 0.02, "0.003126342685", "0.002109890913"),
        (50, 3, 0.05, "0.4594668773", "0.3399832539"),
        (100, 0, 0.01, "1.0", "0.8442592798"),
    ],
)
def test_grades(n: int, k: int, score: float, binomial: str, jeffreys: str) -> None:
    y, p, grade = [1] * k + [0] * (n - k), [score] * n, ["g"] * n
    exact = grade_tests(cal.Predictions(y, p, groups=grade))["g"]
    close(exact.pvalue, binomial)
    close(grade_tests(cal.Predictions(y, p, groups=grade), method="jeffreys")["g"].pvalue, jeffreys)
    assert (exact.rows, exact.events) == (n, k)


def test_grades_table() -> None:
    y, p = sample(300, 4)
    names = np.array(["A", "B", "C"])[np.digitize(p, [0.3, 0.7])]
    by_name = grade_tests(cal.Predictions(y, p, groups=names))
    alone = np.sort([t.pvalue for t in by_name.grades])
    holm = np.minimum(1, np.maximum.accumulate(alone * [3, 2, 1]))
    assert_allclose(np.sort([t.adjusted for t in by_name.grades]), holm)
    weighed = grade_tests(cal.Predictions(y, p, counts=np.full(300, 2), groups=names))
    doubled = grade_tests(cal.Predictions(np.tile(y, 2), np.tile(p, 2), groups=np.tile(names, 2)))
    assert_allclose([t.pvalue for t in weighed.grades], [t.pvalue for t in doubled.grades], rtol=1e-9)
    assert by_name.to_dict()["grades"][1]["grade"] == "B"
    assert len(repr(by_name).splitlines()) == 4


def test_grades_lights_and_grades_without_rows() -> None:
    every = cal.Predictions([0, *[1] * 5, *[0] * 195], [0.3, *[0.01] * 200], groups=["y", *["x"] * 200])
    found = grade_tests(every.take(slice(1, None)))
    assert [t.light for t in found.grades] == ["green", ""]
    assert math.isnan(found["y"].pvalue)
    assert found["x"].adjusted == found["x"].pvalue
    strict = grade_tests(cal.Predictions([1] * 5 + [0] * 195, [0.01] * 200, groups=["x"] * 200), rates={"x": 0.005})
    assert strict["x"].light == "red"
    assert strict["x"].score == 0.005
    assert strict.rejected == ("x",)


def test_multinomial_hosmer_lemeshow() -> None:
    found = hosmer_lemeshow_multinomial(*B, bins=5, method="chi_square")
    close(found.statistic, "5.492063492")
    close(found.pvalue, "0.3588169327")
    close(hosmer_lemeshow_multinomial(*B, bins=5, fitted_here=True).pvalue, "0.1391140798")
    # Of C the rows 0 and 3 have the likeliest reference class.
    expected = np.array([[1.1, 0.55, 0.35], [0.3, 0.9, 0.8]])
    observed = np.array([[2, 0, 0], [0, 2, 0]])
    found = hosmer_lemeshow_multinomial(*C, bins=2)
    assert_allclose(found.statistic, ((observed - expected) ** 2 / expected).sum())
    assert found.detail["df"] == 4
    y, p = vectors(500, 1)
    weight = np.random.default_rng(0).integers(0, 3, 500)
    assert_allclose(
        hosmer_lemeshow_multinomial(cal.Predictions(y, p, counts=weight)).statistic,
        hosmer_lemeshow_multinomial(np.repeat(y, weight), np.repeat(p, weight, axis=0)).statistic,
    )


def test_kernel_values() -> None:
    close(assessed(B, "skce_uq", "bootstrap", bandwidth=0.4).detail["observed"], "-0.0388502941")
    found = assessed(B, "skce_ul", "asymptotic", bandwidth=0.4)
    close(found.detail["z"], "-0.4519996405")
    close(found.pvalue, "0.6743653793")
    assert (
        assessed(B, "skce_uq", "distribution_free", bandwidth=0.4).pvalue == 1
    )  # a bound, and the estimate is below 0
    close(math.exp(-5 * (-0.02060665624 / 2) ** 2 / 2), "0.9997346388")
    assert assessed(B, "skce_b", "distribution_free", bandwidth=0.4).pvalue == 1


@pytest.mark.parametrize(
    ("data", "k", "variance", "z", "two", "one"),
    [
        (A, 1, "0.004", "-0.632455532", "0.5270892569", "0.7364553716"),
        (B, 2, "0.045886875", "-1.482276097", "0.1382668456", "0.9308665771"),
    ],
)
def test_neighbours_values(data: Any, k: int, variance: str, z: str, two: str, one: str) -> None:
    found = assessed(data, "ecmmd", "normal", neighbours=k, alternative="two-sided")
    close(found.detail["variance"], variance)
    close(found.detail["z"], z)
    close(found.pvalue, two)
    one_sided = assessed(data, "ecmmd", "normal", neighbours=k, alternative="greater").pvalue
    assert abs(one_sided - float(one)) < 1e-10
    assert_allclose(one_sided, stats.norm.sf(found.detail["z"]))


def test_subpopulations_values() -> None:
    found = assessed(A, "mcm", "unadjusted", groups=[0, 0, 1, 1])
    close(found.pvalue, "0.8090575576")
    assert found.detail["subpopulations"] == 3
    data = sample(300, 2, 1.3)
    groups = np.arange(300) % 4
    alone = assessed(data, "mcm", "unadjusted", groups=groups).pvalue
    assert_allclose(assessed(data, "mcm", "bonferroni", groups=groups).pvalue, min(1, 5 * alone))
    parts = [cal.assess(data[0], data[1], metric="ecce_r").pvalue]
    parts += [cal.assess(data[0][groups == g], data[1][groups == g], metric="ecce_r").pvalue for g in range(4)]
    assert_allclose(alone, min(parts))


def test_defaults() -> None:
    assert {m: DEFAULT_TESTS.get(m) for m in ("skce_uq", "skce_ul", "ucme", "ecmmd", "cox_slope", "pws")} == {
        "skce_uq": "bootstrap",
        "skce_ul": "asymptotic",
        "ucme": "chi_square",
        "ecmmd": "normal",
        "cox_slope": "profile",
        "pws": "chi_square",
    }
    for metric in ("klce", "mcm", "t_cal", "l2ce_interval", "skce_b"):
        assert metric not in DEFAULT_TESTS
        assert OWN_TESTS[metric]
    y, p = sample(40, 0)
    assert cal.assess(y, p, metric="t_cal", n_resamples=19, rng=0).method == "consistency"
    assert cal.assess(cal.Predictions(y, p, groups=y * 0), metric="mcm", n_resamples=19, rng=0).method == "consistency"
    assert cal.assess(*sample(400, 0), metric="cox_slope").method == "profile"


def line_likelihood(y: Any, p: Any, intercept: float | None, slope: float | None) -> float:
    """The largest log-likelihood of a line in log-odds; None is a coefficient that is free."""
    x = np.log(p / (1 - p))

    def loss(free: Any) -> float:
        rest = iter(free)
        a, b = (next(rest) if c is None else c for c in (intercept, slope))
        eta = a + b * x
        return float((np.logaddexp(0, eta) - y * eta).sum())

    start = [usual for c, usual in ((intercept, 0.0), (slope, 1.0)) if c is None]
    found = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-9})
    return -float(found.fun)


@pytest.mark.parametrize(("metric", "fixed"), [("cox_intercept", (0.0, None)), ("cox_slope", (None, 1.0))])
def test_each_coefficient_has_a_test_of_its_own(metric: str, fixed: Any) -> None:
    for seed in range(3):
        y, p = sample(150, seed, 1.3)
        gain = 2 * (line_likelihood(y, p, None, None) - line_likelihood(y, p, *fixed))
        found = assessed((y, p), metric, "profile")
        assert_allclose(found.pvalue, stats.chi2.sf(gain, 1), rtol=1e-5)
        assert_allclose(abs(found.detail["z"]), math.sqrt(gain), rtol=1e-5)
        away = found.statistic - cal.catalogue[metric].ideal
        above, below = (assessed((y, p), metric, "profile", alternative=side).pvalue for side in ("greater", "less"))
        assert_allclose(above + below, 1)
        assert_allclose(min(above, below), found.pvalue / 2)
        assert (above < below) == (away > 0)


def test_separated_outcomes_have_a_limit_for_each_coefficient() -> None:
    """The slope grows without end; with the slope held at 1 an intercept is left to fit, and the other way round."""
    y, p = np.array(A[0]), np.array(A[1])
    for metric, fixed in (("cox_intercept", (0.0, None)), ("cox_slope", (None, 1.0))):
        found = assessed(A, metric, "profile", penalty="firth")
        assert_allclose(found.pvalue, stats.chi2.sf(-2 * line_likelihood(y, p, *fixed), 1), rtol=1e-4)
    steep = ([0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.9])
    assert cal.cox_slope(*steep, penalty="firth") < 1
    assert assessed(steep, "cox_slope", "profile", penalty="firth").detail["z"] > 0  # it grows without end
    assert assessed((1 - np.array(steep[0]), steep[1]), "cox_slope", "profile", penalty="firth").detail["z"] < 0
    sided = ([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])  # a line through the middle separates them too
    assert_allclose(assessed(sided, "cox_intercept", "profile", penalty="firth").pvalue, 1)


# Sides, and distributions that are off.


@pytest.mark.parametrize("metric", ["ecce_mad", "hosmer_lemeshow", "pws", "skce_uq"])
def test_labels_are_simulated_for_the_side_that_a_one_sided_distribution_lacks(metric: str) -> None:
    data = sample(60, 2)
    drawn = cal.assess(*data, metric=metric, alternative="less", n_resamples=99, rng=0)
    assert drawn.method == "consistency"
    opposite = cal.assess(*data, metric=metric, method="consistency", alternative="greater", n_resamples=99, rng=0)
    assert drawn.pvalue + opposite.pvalue >= 1


@pytest.mark.parametrize("binning", ["equal_mass", "equal_width"])
def test_enough_expected_events_have_a_chi_square_distribution(binning: str) -> None:
    found = cal.assess(*sample(2000, 1), metric="hosmer_lemeshow", binning=binning)
    assert (found.method, found.null_distribution) == ("chi_square", "chi-square with 10 degrees of freedom")


def test_few_expected_events_in_some_bins_are_simulated() -> None:
    score = np.concatenate([np.full(200, 0.001), np.linspace(0.2, 0.8, 300)])
    found = cal.assess([0] * 200 + [0, 1] * 150, score, metric="hosmer_lemeshow", n_resamples=19, rng=0)
    assert found.method == "consistency"
    assert "expected counts are below 5" in found.null_distribution


def test_cochrans_rule() -> None:
    assert too_few(np.full(20, 5.0)) == ""
    assert too_few(np.array([4.0] * 4 + [6.0] * 16)) == ""
    assert "5 of 20" in too_few(np.array([4.0] * 5 + [6.0] * 15))
    assert too_few(np.array([0.9] + [6.0] * 19)) == "1 of 20 expected counts are below 5 (1 below 1)"
    assert "approximate" in hosmer_lemeshow_multinomial(*D, bins=2, method="chi_square").null_distribution
    assert hosmer_lemeshow_multinomial(*D, bins=2, rng=0).method == "consistency"
    assert "approximate" not in hosmer_lemeshow_multinomial(*vectors(900, 0), bins=3).null_distribution


# Slow definitions.


def membership(position: Any, k: int) -> Any:
    """What part of a neighbour each row is of each."""
    n = len(position)
    part = np.zeros((n, n))
    for i in range(n):
        distance = np.sqrt(((position - position[i]) ** 2).sum(axis=1))
        others = [j for j in range(n) if j != i]
        radius = sorted(distance[j] for j in others)[k - 1]
        inner = [j for j in others if distance[j] < radius * (1 - 1e-12)]
        edge = [j for j in others if abs(distance[j] - radius) <= radius * 1e-12]
        part[i, inner] = 1
        part[i, edge] = (k - len(inner)) / len(edge)
    return part


def test_variance_of_neighbours() -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        n, width = int(rng.integers(2, 25)), int(rng.choice([1, 1, 2, 9]))
        k, columns = int(rng.integers(1, n)), int(rng.choice([1, 1, 3]))
        levels = int(rng.choice([2, 4, 50]))
        position = rng.integers(0, levels, (n, width)) / levels
        gaps = np.round(rng.normal(size=(n, columns)), int(rng.choice([0, 3])))
        part, product = membership(position, k), gaps @ gaps.T
        whole, code = np.unique(np.column_stack([position, gaps]), axis=0, return_inverse=True)
        size = np.bincount(code.ravel()).astype(float)
        found = neighbour_tests.graph_variance(np.ascontiguousarray(whole[:, :width]), whole[:, width:], size, k)
        assert_allclose(found, ((part**2 + part * part.T) * product**2).sum() / (n * k), rtol=1e-9, atol=1e-12)
        question = neighbour_tests.Question(position, gaps, gaps, np.ones(n), k)
        place, code = neighbour_tests.distinct_rows(position)
        assert_allclose(
            neighbour_tests._Statistic(question, place, code)(gaps), (part * product).sum() / (n * k), atol=1e-12
        )


@pytest.mark.parametrize("kernel", ["exponential", "gaussian"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("tile", [1024, 7])
def test_bootstrap_sums(kernel: str, k: int, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from calibrant.inference import pairs
    from calibrant.metrics.kernel.pairs import one_column

    monkeypatch.setattr(pairs, "TILE", tile)
    y, p = vectors(40, 2, k)
    p = np.vstack([p, p[:5]])
    y = np.append(y, y[:5])
    view = one_column(cal.skce_uq.views(y, p)[0])
    terms = pairs._terms(view)
    near_by = pairs.choose_kernel(pairs.cloud_of(view), kernel, "auto", 0.3)
    (counts,) = Replicates(terms.rows, 6, 0).batches(1 << 20)
    assert (counts.sum(axis=1) == 45).all()
    gram = near_by.between(terms.points, terms.points) * (terms.residual @ terms.residual.T)
    square, cross = bootstrap_sums(terms, near_by, counts)
    assert_allclose(square, np.einsum("bi,ij,bj->b", counts, gram, counts), atol=1e-10)
    assert_allclose(cross, counts @ gram @ terms.rows, atol=1e-10)
    assert_allclose(gram.diagonal(), terms.own)


def test_bootstrap_by_its_formula() -> None:
    y, p = np.array(D[0]), D[1]
    n, width = 8, 0.4
    distance = np.abs(p[:, None] - p).sum(axis=2) / 2
    residual = np.eye(3)[y] - p
    gram = np.exp(-distance / width) * (residual @ residual.T)
    observed = n / (n - 1) * (gram.sum() - np.trace(gram)) / (n * (n - 1)) - gram.mean()
    found = assessed(D, "skce_uq", "bootstrap", bandwidth=width, n_resamples=4000)
    assert_allclose(found.detail["observed"], observed)
    rng = np.random.default_rng(1)
    drawn = []
    for c in rng.multinomial(n, np.full(n, 1 / n), 4000):
        inner = (n / (n - 1) * (c[None, :] - np.eye(n)) - 2) * gram
        drawn.append((c[:, None] * inner).sum() / n**2)
    assert abs(found.pvalue - np.mean(np.array(drawn) >= observed)) < 0.03


def test_blocks_of_rows() -> None:
    y, p = vectors(50, 6)
    values = [cal.skce_uq(y[s : s + 5], p[s : s + 5], bandwidth=0.3) for s in range(0, 50, 5)]
    found = assessed((y, p), "skce_ul", "asymptotic", block=5, bandwidth=0.3)
    assert_allclose(found.statistic, np.mean(values))
    z = np.mean(values) / (np.std(values, ddof=1) / math.sqrt(10))
    assert_allclose(found.pvalue, stats.norm.sf(z))
    assert_allclose(assessed((y, p), "skce_ul", "asymptotic", rng=3).n, 50)


def test_mean_embedding_by_enumeration() -> None:
    p = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2]])
    places, classes = np.array([[0.4, 0.4, 0.2], [0.1, 0.3, 0.6]]), np.array([0, 2])
    kernel = np.exp(-np.abs(places[:, None] - p).sum(axis=2) / 2 / 0.3)
    labels = [0, 2, 1]

    def drift(y: Any) -> Any:
        return (kernel * (np.equal.outer(classes, y) - p[:, classes].T)).mean(axis=1)

    every = list(itertools.product(range(3), repeat=3))
    chance = np.array([np.prod(p[range(3), y]) for y in every])
    values = np.array([drift(y) for y in every])
    assert_allclose(chance @ values, 0, atol=1e-15)
    covariance = values.T @ (chance[:, None] * values)
    found = assessed((labels, p), "ucme", "chi_square", locations=(places, classes), bandwidth=0.3)
    x = drift(labels)
    assert_allclose(found.detail["chi_square"], x @ np.linalg.solve(covariance, x))
    assert found.detail["df"] == 2
    assert_allclose(found.statistic, np.mean(x**2))


def test_mean_embedding_sample_covariance() -> None:
    y, p = vectors(60, 9)
    places, classes = p[:4], np.array([0, 1, 2, 0])
    kernel = np.exp(-np.abs(places[:, None] - p).sum(axis=2) / 2 / 0.3)
    rows = (kernel * (np.equal.outer(classes, y) - p[:, classes].T)).T
    x = rows.mean(axis=0)
    found = assessed((y, p), "ucme", "chi_square_sample", locations=(places, classes), bandwidth=0.3)
    assert_allclose(found.detail["chi_square"], 60 * x @ np.linalg.solve(np.cov(rows.T), x))
    assert found.detail["df"] == 4


def test_deviation_by_enumeration() -> None:
    p = np.array([0.1, 0.2, 0.35, 0.6, 0.9, 0.7])
    weight = np.array([1.0, 0.5, 2.0, 1.5, 0.3, 1.0])
    for options in ({}, {"sample_weight": weight}, {"unbiased": True}, {"sample_weight": weight, "unbiased": True}):
        values, chance = [], []
        for y in itertools.product((0, 1), repeat=6):
            values.append(call(cal.t_cal, list(y), p, bins=2, **options))
            chance.append(np.prod(np.where(y, p, 1 - p)))
        exact = math.sqrt(np.dot(chance, np.square(values)))
        found = assessed(([0, 1, 0, 1, 1, 0], p), "t_cal", "normal", bins=2, **options)
        assert_allclose(found.detail["deviation"], exact)


@pytest.mark.parametrize("kind", ["unit", "counts", "importance", "unbiased"])
def test_dyadic_levels_are_the_metric(kind: str) -> None:
    rng = np.random.default_rng(2)
    p = np.round(rng.random(60), 2)
    y = (rng.random(60) < p).astype(int)
    words = {
        "unit": {},
        "counts": {"counts": rng.integers(1, 4, 60)},
        "importance": {"sample_weight": rng.random(60) + 0.1},
        "unbiased": {"unbiased": True},
    }[kind]
    view = call(cal.t_cal.views, y, p, **{w: v for w, v in words.items() if w != "unbiased"})[0].as_vector()
    values = Dyadic(view, view.raw_probs, view.labels == 1, kind == "unbiased").observed()
    for level, value in enumerate(values[:10], 1):
        assert_allclose(value, call(cal.t_cal, y, p, bins=2**level, **words), atol=1e-13)


def corners_of(row: np.ndarray, halvings: int) -> np.ndarray:
    """The corners of the part of the simplex that a row lies in, after so many halvings: its edge x0-xk is halved, for k = d, ..., 1, d, ..."""
    corners, last = np.eye(len(row)), len(row) - 1
    for number in range(halvings):
        k = last - number % last
        place = np.linalg.solve(corners.T, row)  # coordinates from the corners
        middle = (corners[0] + corners[k]) / 2
        halves = [
            np.vstack([corners[:k], middle, corners[k + 1 :]]),
            np.vstack([corners[1 : k + 1], middle, corners[k + 1 :]]),
        ]
        corners = halves[int(place[k] > place[0])]
    return corners


@pytest.mark.parametrize("kind", ["unit", "counts", "importance", "unbiased"])
def test_bins_of_whole_vectors_halve_the_simplex(kind: str) -> None:
    """Sums of products of residuals over pairs of rows, in parts of the simplex that are followed corner by corner."""
    rng = np.random.default_rng(4)
    p = np.vstack([rng.dirichlet([1, 0.5, 1, 2], 30), np.eye(4), [[0.5, 0.5, 0, 0]] * 2])
    y = np.array([rng.choice(4, p=row) for row in p])
    copies, weight = np.ones(len(p), int), np.ones(len(p))
    if kind == "counts":
        copies = rng.integers(1, 4, len(p))
    elif kind == "importance":
        weight = rng.random(len(p)) + 0.1
    keywords = {"counts": {"counts": copies}, "importance": {"sample_weight": weight}}.get(kind, {})
    view = cal.t_cal.views(cal.Predictions(y, p, **keywords), lens="canonical")[0]
    values = SimplexBins(view, 7, kind == "unbiased").observed()
    p, y, weight = p.repeat(copies, 0), y.repeat(copies), weight.repeat(copies)
    residual = p - np.eye(4)[y]
    for halvings, value in enumerate(values, 1):
        corners = [corners_of(row, halvings) for row in p]
        assert_allclose([abs(np.linalg.det(part)) for part in corners], 0.5**halvings)
        cells = [part.round(9).tobytes() for part in corners]
        total = 0.0
        for cell in set(cells):
            own = np.flatnonzero([each == cell for each in cells])
            mass = weight[own].sum()
            divisor = mass - (weight[own] ** 2).sum() / mass if kind == "unbiased" else mass
            for i, j in itertools.permutations(own, 2):
                total += weight[i] * weight[j] * residual[i] @ residual[j] / divisor
        assert_allclose(value, total / weight.sum(), atol=1e-13)


def test_whole_vectors_are_tested_at_every_number_of_bins() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(10), 600)
    truth = p**0.3 / (p**0.3).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(10, p=row) for row in truth])
    keywords: dict[str, Any] = {"lens": "canonical", "n_resamples": 99}
    joint = assessed((y, p), "t_cal", "adaptive_joint", **keywords)
    assert (joint.pvalue, joint.detail["levels"]) == (0.01, dyadic_levels(600))
    assert assessed((y, p), "t_cal", "adaptive", lens="canonical", n_resamples=399).rejected
    labels = (rng.random((40, 100, 1)) > p[:100].cumsum(axis=1)).sum(axis=2).clip(0, 9)
    assert sum(assessed((y, p[:100]), "t_cal", "adaptive_joint", **keywords).rejected for y in labels) <= 5
    with raises(ArgumentError, "counts"):
        assessed([cal.Predictions(y, p, counts=np.full(600, 20_000))], "t_cal", "adaptive_joint", **keywords)


def test_number_of_levels() -> None:
    assert [dyadic_levels(n) for n in (1, 2, 4, 10)] == [1, 1, 3, 5]


def test_adaptive_finds_what_wide_bins_miss() -> None:
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 3000)
    y = rng.random(3000) < np.clip(p + 0.15 * np.sin(2 * np.pi * 8 * p), 0, 1)
    found = {method: assessed((y, p), "t_cal", method, n_resamples=399) for method in ("adaptive", "adaptive_joint")}
    assert found["adaptive"].detail["p_2_bins"] > 0.05
    assert found["adaptive"].detail["p_16_bins"] <= 0.01
    assert found["adaptive_joint"].rejected
    assert found["adaptive_joint"].pvalue <= found["adaptive"].pvalue
    levels = [v for name, v in found["adaptive"].detail.items() if name.startswith("p_")]
    assert_allclose(found["adaptive"].pvalue, min(1, len(levels) * min(levels)))
    for result in found.values():  # the value in the bins that decide, with its critical value
        assert_allclose(result.statistic, cal.t_cal(y, p, bins=int(result.detail["bins"])), atol=1e-13)
        assert result.statistic > result.critical_value
        assert result.detail[f"p_{int(result.detail['bins'])}_bins"] == min(levels)


def slow_adaptive(y: Any, p: Any, n_resamples: int, seed: int, joint: bool) -> float:
    """The p-value by loops over data sets and widths, with the metric itself."""
    widths = [2**level for level in range(1, dyadic_levels(len(p)) + 1)]
    order = np.argsort(p, kind="stable")
    sets = [np.asarray(y, int)]
    for number in range(n_resamples):
        labels = np.empty(len(p), int)
        labels[order] = generator(seed, number).random(len(p)) < p[order]
        sets.append(labels)
    errors = [[round(cal.t_cal(labels, p, bins=width), 12) for width in widths] for labels in sets]
    pvalues = [
        [sum(other[place] >= own[place] for other in errors) / len(errors) for place in range(len(widths))]
        for own in errors
    ]
    if not joint:
        return min(1.0, len(widths) * min(pvalues[0]))
    ranked = [sorted(each) for each in pvalues]
    return sum(each <= ranked[0] for each in ranked) / len(ranked)


def test_adaptive_against_loops_and_critical_values_that_decide() -> None:
    """The critical value and the p-value give the same verdict, on either side of it and with ties of the smallest p-value."""
    rejected = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        p = np.round(rng.random(40), 2)
        y = (rng.random(40) < p ** (1 + seed % 3)).astype(int)
        for method, least in (("adaptive", 159), ("adaptive_joint", 19)):
            found = assessed((y, p), "t_cal", method, n_resamples=least, rng=seed)
            assert found.rejected == (found.statistic > found.critical_value + 1e-12)
            rejected += found.rejected
            if seed == 1:
                assert_allclose(found.pvalue, slow_adaptive(y, p, least, seed, method == "adaptive_joint"))
    assert 3 < rejected < 27


@pytest.mark.deep
def test_pseudo_labels_follow_the_exact_law() -> None:
    for alternative in ("two-sided", "greater"):
        exact = assessed(B, "ecmmd", "enumeration", neighbours=2, alternative=alternative).pvalue
        drawn = assessed(B, "ecmmd", "pseudo_labels", neighbours=2, alternative=alternative, n_resamples=3000).pvalue
        assert abs(exact - drawn) < 0.03
    y, p = vectors(60, 4)
    features = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    found = assessed((y, p), "ecmmd", "pseudo_labels", space="features", features=features, n_resamples=199)
    drawn = assessed((y, p), "ecmmd", "consistency", space="features", features=features, n_resamples=199)
    assert abs(found.pvalue - drawn.pvalue) < 0.15


def test_permutations_of_residuals() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(6, 1))
    y, p = np.array([0, 1, 1, 0, 1, 1]), rng.uniform(0.2, 0.8, 6)
    words = {"bandwidth": 1.0, "score_bandwidth": 0.5}
    kernel = np.exp(-((p[:, None] - p) ** 2) / 0.25 - (features - features.T) ** 2)
    np.fill_diagonal(kernel, 0)
    every = [np.array(order) for order in itertools.permutations(p - y)]
    null = np.array([r @ kernel @ r for r in every]) / 30
    found = assessed((y, p), "klce", "permutation", features=features, n_resamples=4000, **words)
    assert_allclose(found.statistic, null[0])
    assert abs(found.pvalue - (null >= null[0] - 1e-12).mean()) < 0.03
    other = assessed((y, p), "klce", "permutation", features=features, n_resamples=4000, normalised=True, **words)
    assert other.pvalue == found.pvalue


# Weights, order, sizes.


def test_importance_is_refused_by_functions() -> None:
    weight = np.arange(1.0, 11.0)
    weighted = cal.Predictions(*B, sample_weight=weight)
    for test in (giviti_test, hosmer_lemeshow_multinomial):
        with pytest.raises(WeightsNotSupportedError):
            test(weighted)
    with pytest.raises(WeightsNotSupportedError):
        grade_tests(cal.Predictions(*B, groups=[0] * 10, sample_weight=weight))


def test_bounds_hold_what_they_promise() -> None:
    y, p = sample(4000, 1, 3.0)
    found = assessed((y, p), "skce_uq", "distribution_free")
    assert_allclose(found.pvalue, math.exp(-2000 * (found.statistic / 2) ** 2 / 2))
    again = math.exp(-2000 * (found.critical_value / 2) ** 2 / 2)
    assert_allclose(again, 0.05)
    biased = assessed((y, p), "skce_b", "distribution_free")
    assert_allclose(math.exp(-((math.sqrt(4000 * biased.critical_value / 2) - 1) ** 2) / 2), 0.05)


# Separated outcomes and other edges.


def test_separated_outcomes() -> None:
    """The metric itself has no value there unless it is penalised, and its test needs that value."""
    with pytest.raises(UndefinedMetricError):
        assessed(A, "cox_slope", "score")
    likelihood = 0.9 * 0.4 * 0.8 * 0.9
    assert_allclose(assessed(A, "cox_slope", "lr", penalty="firth").pvalue, likelihood)
    p = np.array(A[1])
    columns = np.column_stack([np.ones(4), np.log(p / (1 - p))])
    drift = columns.T @ (np.array(A[0]) - p)
    score = drift @ np.linalg.solve(columns.T @ ((p * (1 - p))[:, None] * columns), drift)
    assert_allclose(assessed(A, "cox_slope", "score", penalty="firth").detail["chi_square"], score)
    for method in ("wald", "sandwich"):
        with raises(UndefinedMetricError, "cox_slope"):
            assessed(A, "cox_slope", method, penalty="firth")


@pytest.mark.filterwarnings("ignore::calibrant.errors.BoundaryScoresWarning")
def test_what_could_not_happen() -> None:
    y, p = [1, *B[0]], [0.0, *B[1]]
    assert assessed((y, p), "cox_slope", "score").pvalue == 0
    assert assessed((y, p), "ucme", "chi_square").pvalue == 0
    assert hosmer_lemeshow_multinomial([1, 0, 1], [0.0, 0.3, 0.6], bins=3).pvalue == 0


@pytest.mark.parametrize("case", ODD)
@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
def test_functions_of_odd_data(case: str) -> None:
    y, p = ODD[case]
    if np.ndim(p) == 1:
        for external in (True, False):
            if len(np.unique(p)) <= (1 if external else 2):
                with raises(UndefinedMetricError, "giviti_test"):
                    giviti_test(y, p, external=external)
            else:
                assert 0 <= giviti_test(y, p, external=external, n_resamples=19, rng=0).pvalue <= 1
        assert len(grade_tests(cal.Predictions(y, p, groups=[0] * len(y)), method="jeffreys")) == 1
    assert 0 <= hosmer_lemeshow_multinomial(y, p, rng=0).pvalue <= 1


def test_a_bootstrap_of_too_many_pairs_is_refused() -> None:
    with raises(UndefinedMetricError, "skce_uq"):
        assessed(vectors(2000, 0), "skce_uq", "bootstrap", n_resamples=10**6)


def test_top_label_is_the_default_of_many_classes() -> None:
    data = vectors(200, 5, 4)
    assert assessed(data, "cox_slope", "lr").lens == "top_label"
    assert giviti_test(*data).lens == "top_label"
    right, score = (data[1].argmax(axis=1) == data[0]).astype(int), data[1].max(axis=1)
    assert_allclose(giviti_test(*data).pvalue, giviti_test(right, score).pvalue)
