"""certify: each inequality of its proof by itself, the bound by definition, and the verification of a certificate."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import calibrant as cal
from calibrant.errors import CalibrantError
from calibrant.evaluation import load_certificate
from calibrant.inference.error_bounds import mean_limit, sum_limit, variation_within


@pytest.mark.parametrize("risk", [0.5, 0.05, 1e-4])
@pytest.mark.parametrize("n", [1, 7, 60, 900])
def test_the_chernoff_limit_fails_at_most_as_often_as_it_may(n, risk):
    counts = np.arange(n + 1)
    limits = np.array([mean_limit(count / n, n, math.log(1 / risk)) for count in counts])
    for rate in (0.001, 0.02, 0.3, 0.5, 0.9, 1.0):
        assert binom.pmf(counts, n, rate)[limits < rate - 1e-9].sum() <= risk * (1 + 1e-9)
    assert (limits >= counts / n).all()


@pytest.mark.parametrize("rate", [0.003, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("n", [5, 80, 3000])
def test_the_bennett_limit_fails_at_most_as_often_as_it_may(n, rate):
    for risk in (0.2, 0.05, 1e-3):
        limit = sum_limit(n * rate * (1 - rate), 1.0, math.log(1 / risk))
        assert binom.cdf(math.floor(n * rate - limit - 1e-9), n, rate) <= risk
        assert binom.sf(math.ceil(n * rate + limit + 1e-9) - 1, n, rate) <= risk


@pytest.mark.parametrize("seed", range(40))
def test_the_error_within_bins_is_bounded_for_every_curve_of_that_variation(seed):
    """Against random curves: monotone ones with few large steps, and ones that go up and down."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(2, 60)), int(rng.integers(1, 9))
    score = np.sort(rng.beta(*rng.uniform(0.2, 3, 2), n))
    cuts = np.unique(np.append(0, rng.integers(0, n, count - 1)))
    bins = np.split(np.arange(n), cuts[1:])
    steps = rng.dirichlet(np.full(n, 0.05))
    monotone = rng.uniform() + np.cumsum(steps) * rng.uniform()
    rough = np.clip(0.5 + np.cumsum(steps * rng.choice([-1, 1], n)), 0, 1)
    for curve, variation in ((np.clip(monotone, 0, 1), None), (rough, float(np.abs(np.diff(rough)).sum()))):
        error = curve - score
        binned = sum(len(rows) / n * abs(error[rows].mean()) for rows in bins)
        share, width = np.array([len(rows) / n for rows in bins]), np.array([np.ptp(score[rows]) for rows in bins])
        assert np.abs(error).mean() <= binned + variation_within(share, width, variation) + 1e-12


def bound_by_definition(y, score, bins, risk):
    """The bound of a monotone curve, from loops over rows; a grid search in place of root finders."""
    n, log_risk = len(y), math.log(3 / risk)
    order = np.argsort(score, kind="stable")
    cells = np.array_split(order, bins)

    def limit(mean):
        grid = np.linspace(mean, 1 - 1e-9, 200_001)[1:]
        divergence = (mean * np.log(mean / grid) if mean else 0) + (1 - mean) * np.log((1 - mean) / (1 - grid))
        return grid[np.searchsorted(n * divergence, log_risk)]

    estimate = sum(abs(sum(y[i] - score[i] for i in cell)) for cell in cells) / n
    variance = n * limit(sum((y[i] - score[i]) ** 2 for i in range(n)) / n)
    ratio = np.linspace(0, 5, 500_001)
    deviation = variance * ratio[np.searchsorted(variance * ((1 + ratio) * np.log1p(ratio) - ratio), log_risk)]
    share, width = [len(cell) / n for cell in cells], [score[cell].max() - score[cell].min() for cell in cells]
    pairs = list(zip(share, width, strict=True))
    within = sum(a * b for a, b in pairs) / 2 + max(a * (1 - b) for a, b in pairs) / 2
    return limit(min(1, estimate + deviation / n + within)), estimate


def test_the_bound_is_its_definition():
    rng = np.random.default_rng(5)
    score = rng.random(720)
    y = (rng.random(720) < score**1.4).astype(int)
    found = cal.certify(y, score, level=0.9)
    bins = found.bounds[0].bins
    assert bins > 5
    wanted = bound_by_definition(y, score, bins, 0.1)
    # Bins of nearly equal numbers of rows may differ by one row at an edge.
    assert (found.bound, found.bounds[0].estimate) == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("assuming", ["monotone", "none", "variation"])
def test_counts_are_rows_and_groups_are_certified_at_once(assuming):
    rng = np.random.default_rng(6)
    score, region = np.round(rng.random(400), 2), rng.choice(["north", "south"], 400)
    y, counts = (rng.random(400) < score).astype(int), rng.integers(1, 5, 400)
    options = {"assuming": assuming, "variation": 1.5 if assuming == "variation" else None}
    counted = cal.certify(cal.Predictions(y, score, counts=counts, groups=region), **options)
    rows = np.repeat(np.arange(400), counts)
    repeated = cal.certify(cal.Predictions(y[rows], score[rows], groups=region[rows]), **options)
    assert [each.group for each in counted.bounds] == ["all rows", "north", "south"]
    for one, other in zip(counted.bounds, repeated.bounds, strict=True):
        assert (one.n, one.bound) == (other.n, pytest.approx(other.bound))
        assert one.bound > one.estimate
    # More groups at the same joint level, or another level, are wider.
    assert counted.bound > cal.certify(cal.Predictions(y, score, counts=counts), **options).bound
    assert (
        counted.bound
        < cal.certify(cal.Predictions(y, score, counts=counts, groups=region), level=0.999, **options).bound
    )


@pytest.mark.parametrize(
    ("y", "score"),
    [([0, 1], [0.0, 1.0]), ([1, 0], [0.0, 1.0]), ([0] * 50, [0.5] * 50), ([0, 1] * 20, [0.3, 0.3] * 20)],
)
def test_extreme_data_have_bounds_in_the_unit_interval(y, score):
    for assuming in ("monotone", "none"):
        found = cal.certify(y, score, assuming=assuming)
        assert found.bounds[0].estimate <= found.bound <= 1
    assert cal.certify(["b", "a"] * 9, [0.2, 0.7] * 9, pos_label="b").bound <= 1


def test_a_certificate_is_verified_against_the_data(tmp_path):
    data = cal.inference.make_calibrated(900, rng=1)
    p = cal.Predictions(data.y_true, data.y_prob, groups=np.arange(900) % 2)
    written = cal.certify(p)
    path = written.save(tmp_path / "certificate.json")
    read = load_certificate(path)
    assert read == written
    assert read.check(p) == ()
    assert read.check(p.take(np.arange(900)[::-1])) == ()  # the order of the rows does not matter
    assert "fingerprint" in read.check(p.take(np.arange(899)))[0]
    assert "groups" in read.check(p.with_groups(np.arange(900) % 3))[0]
    content = json.loads(path.read_text())
    assert {"calibrant", "numpy"} <= content["versions"].keys()
    assert "non-decreasing" in " ".join(content["assumptions"])
    for forged in ({"statement": "The error is at most 0.01."}, {"assumptions": []}):
        path.write_text(json.dumps({**content, **forged}))
        with pytest.raises(CalibrantError, match="statement or assumptions"):
            load_certificate(path)
    content["bounds"][1]["bound"] /= 2  # of a group, which the statement does not name
    path.write_text(json.dumps(content))
    assert len(load_certificate(path).check(p)) == 1
    path.write_text("{}")
    with pytest.raises(CalibrantError, match="not a certificate"):
        load_certificate(path)


def test_a_certificate_of_other_groups_is_not_confirmed():
    y, score, group = np.array([0, 1] * 100), np.array([0.3, 0.7] * 100), np.array(["a", "b"] * 100)
    grouped = cal.Predictions(y, score, groups=group)
    assert cal.certify(grouped).check(y, score) == (
        "The groups differ: those of the certificate are a, b, those of the data none.",
    )
    assert len(cal.certify(y, score).check(grouped)) == 1


def test_scores_with_few_values_need_no_assumption_on_the_curve():
    score = np.tile([0.1, 0.2, 0.3, 0.4], 5000)
    y = np.random.default_rng(4).random(len(score)) < np.where(score * 10 % 2 > 0.5, score + 0.2, score)
    by_level = cal.certify(y, score, assuming="levels")
    gaps = [abs(y[score == s].mean() - s) / 4 for s in np.unique(score)]
    assert by_level.bounds[0].estimate == pytest.approx(sum(gaps))
    assert by_level.bounds[0].bins == 4
    assert 0.1 < by_level.bound < 0.16
    assert by_level.check(y, score) == ()
    assert len(by_level.assumptions) == 1
    assert "E|P(Y = 1 | score) - score|" in by_level.statement
