"""Maps of one score, bins, Venn-Abers, priors, offsets, noise, groups: values worked out by other means, and edge cases."""

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from calibrant.errors import CalibrantWarning, GroupError
from calibrant.recalibration.adjust import OffsetAdjustment, PriorShift, prior_shift_em
from calibrant.recalibration.binary import (
    BetaCalibration,
    CenteredIsotonicCalibration,
    IsotonicCalibration,
    PlattScaling,
    SplineCalibration,
    with_top,
)
from calibrant.recalibration.binning import BayesianBinning, HistogramBinning
from calibrant.recalibration.class_temperature import MiscalibrationAwareTemperature
from calibrant.recalibration.grouped import GroupCalibration, MultiCalibration
from calibrant.recalibration.methods import TYPES
from calibrant.recalibration.ordered import winning_shares
from calibrant.recalibration.venn import VennAbers
from calibrant.validation.references import compare, load
from tests import checked
from tests.calling import raises

# As calibrators take them: scores first.
A, B, D = ((np.array(scores), np.array(labels)) for labels, scores in (checked.A, checked.B, checked.D))


def at(calibrator, scores):
    """Probabilities, on the rows fitted on too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        rows = calibrator.predict_proba(np.asarray(scores))
    return rows[:, 1] if rows.shape[1] == 2 else rows


def many(n, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 1.5, n)
    return score, (rng.random(n) < score**1.3).astype(int)


# One score


def line(calibrator):
    return calibrator.curves_[0].slope, calibrator.curves_[0].intercept


def rates(*scores):
    return lambda calibrator: at(calibrator, scores)


THIRD = 1 / 3
TOP = [0, THIRD, THIRD, THIRD, 0.5, 0.5, 1, 1, 1, 1]
CENTERED = [0, 1 / 6, 1 / 3, 0.4, 7 / 15, 2 / 3, 1, 1, 1, 1]
SPLINE = [0.450071, 0.443126, 0.232762, 0.164582, 0.380394, 0.641957, 0.865094, 0.941977, 0.93524, 0.998114]
# The average of one bin and two, weighed by their Bayesian scores.
SHARE = np.exp([-7.745002804, -8.235603562]) / np.exp([-7.745002804, -8.235603562]).sum()
LOW, HIGH = SHARE @ [7 / 12, 0.375], SHARE @ [7 / 12, 19 / 24]
EQUAL_WIDTH = HistogramBinning(bins=5, binning="equal_width")
ENDS = np.array([0.05, 0.95]), np.array([0, 1])
# A calibrator, the data it is fitted to, what is read from it, its value, and how many digits are known.
VALUES = [
    (PlattScaling(targets="plain"), B, line, (0.9985078395, 0.6035855103), 5e-11),
    (PlattScaling(targets="plain"), (1 - B[0], B[1]), line, (-0.9985078395, 0.6035855103), 5e-11),
    (PlattScaling(), B, line, (0.56925059, 0.441252065), 5e-9),
    (PlattScaling(), A, line, (0.4799910867, 0.7635408732), 5e-11),
    (PlattScaling(), A, rates(*A[0]), (0.42773279, 0.63851422, 0.80673763, 0.86034869), 5e-9),
    (PlattScaling(input="logit", targets="plain"), B, line, (5.278601915, -2.026352562), 5e-9),
    (PlattScaling(input="logit"), B, line, (3.182322816, -1.146641979), 5e-9),
    (
        BetaCalibration(),
        B,
        lambda c: (c.curves_[0].a, c.curves_[0].b, c.curves_[0].c),
        (0, 2.82676748, -1.609556854),
        5e-9,
    ),
    (IsotonicCalibration(), A, rates(*A[0]), (0, 1, 1, 1), 1e-12),
    (IsotonicCalibration(), B, rates(*B[0]), TOP, 1e-12),
    (CenteredIsotonicCalibration(), B, rates(*B[0]), CENTERED, 1e-12),
    (
        IsotonicCalibration(multiclass="pooled"),
        D,
        lambda c: c.curves_[0]([0.1, 0.2, 0.6, 0.8]),
        (0, 0.2, 4 / 9, 1),
        1e-12,
    ),
    (SplineCalibration(), B, rates(*B[0]), SPLINE, 5e-7),
    (EQUAL_WIDTH, B, rates(0.1, 0.3, 0.5, 0.7, 0.9), (0.5, 0, 0.5, 1, 1), 1e-12),
    (EQUAL_WIDTH, B, rates(0.2, 0.2 + 1e-12, 0, 1), (0.5, 0, 0.5, 1), 1e-12),  # an edge belongs to the bin below
    (HistogramBinning(bins=5), B, rates(*B[0]), np.repeat([0.5, 0, 0.5, 1, 1], 2), 1e-12),
    (HistogramBinning(bins=5), B, rates(0.2, 0.2 + 1e-12), (0.5, 0), 1e-12),
    (HistogramBinning(bins=5, shrink=0.5), B, rates(0.3, 0.9), (0.5 / 3, 2.5 / 3), 1e-12),
    (HistogramBinning(bins=4, binning="equal_width"), ENDS, rates(0.3, 0.7), (0.375, 0.625), 1e-12),
    (HistogramBinning(bins=4, binning="equal_width", empty="mean"), ENDS, rates(0.3, 0.7), (0.5, 0.5), 1e-12),
    (BayesianBinning(), B, rates(0.2, 0.5, 0.51, 0.9), (LOW, LOW, HIGH, HIGH), 1e-9),
    (VennAbers(), B, lambda c: np.ravel(c.predict_p0_p1([0.5, 0.2])), (1 / 3, 0.25, 2 / 3, 0.5), 1e-12),
    (VennAbers(), B, rates(0.5, 0.2), (0.5, 0.4), 1e-12),
    (VennAbers(rule="brier"), B, rates(0.5, 0.2), (2 / 3 + 1 / 18 - 2 / 9, 0.5 + 1 / 32 - 1 / 8), 1e-12),
]


@pytest.mark.parametrize(("calibrator", "data", "read", "expected", "digits"), VALUES)
def test_published_values(calibrator, data, read, expected, digits):
    assert read(calibrator.fit(*data)) == pytest.approx(expected, abs=digits)


@pytest.mark.parametrize("name", sorted(set(TYPES) - {"Identity"}))
def test_values_of_independent_definitions_and_other_packages(name):
    rows = [row for group in ("definitions", "peers", "stored") for row in load(group)]
    checks = [compare(row) for row in rows if row.kind == "calibrator" and row.topic == name]
    assert checks
    assert [check for check in checks if not check.passed] == []


# The top class


def test_with_top_keeps_the_largest():
    rng = np.random.default_rng(1)
    for k in (2, 3, 7):
        probs = rng.dirichlet(np.full(k, 0.4), 2000)
        probs[:4] = np.eye(k)[np.arange(4) % k]
        probs[4] = 1 / k
        confidence = rng.random(len(probs))
        confidence[:10] = np.linspace(0, 1, 10)
        out = with_top(probs, confidence)
        assert np.abs(out.sum(axis=1) - 1).max() < 1e-12
        assert out.min() >= 0
        assert (out.argmax(axis=1) == probs.argmax(axis=1)).all()
        top = out[np.arange(len(out)), probs.argmax(axis=1)]
        assert top == pytest.approx(np.maximum(confidence, 1 / k), abs=1e-11)
        # The others stay in their order; ties of the largest are broken by its place.
        order = np.argsort(probs[5:], axis=1)
        assert (np.diff(np.take_along_axis(out[5:], order, axis=1), axis=1) > -1e-11).all()


def test_with_top_shares_in_proportion_and_fills():
    out = with_top(np.array([[0.5, 0.3, 0.2], [0.5, 0.45, 0.05], [1.0, 0.0, 0.0]]), np.array([0.8, 0.4, 0.7]))
    assert out[0] == pytest.approx([0.8, 0.12, 0.08])
    assert out[1] == pytest.approx([0.4, 0.4, 0.2], abs=1e-11)  # 0.54 would exceed the top class
    assert out[2] == pytest.approx([0.7, 0.15, 0.15])


# Bins


def test_bins_of_scores_that_are_neighbours_in_floating_point():
    score, y = np.array([0.5]), np.array([0, 1, 0, 1])
    for _ in range(3):
        score = np.append(score, np.nextafter(score[-1], 1))
    for calibrator in (HistogramBinning(bins=4), VennAbers(), IsotonicCalibration()):
        rate = at(calibrator.fit(score, y), score)
        assert np.isfinite(rate).all()
    assert at(HistogramBinning(bins=4).fit(score, y), score) == pytest.approx(y)
    low, high = VennAbers().fit(score, y).predict_p0_p1(score)
    wanted = np.array([by_definition(score, y, np.ones(4), s) for s in score])
    assert np.column_stack([low, high]) == pytest.approx(wanted)


# Venn-Abers


def by_definition(score, y, weight, new):
    ends = []
    for answer in (0, 1):
        place = np.unique(np.append(score, new), return_inverse=True)[1]
        mass = np.bincount(place, np.append(weight, 1))
        rate = np.bincount(place, np.append(weight * y, answer)) / mass
        ends.append(isotonic_regression(rate, weights=mass).x[place[-1]])
    return ends


def test_venn_abers_is_two_isotonic_fits():
    rng = np.random.default_rng(5)
    new = np.arange(0, 19) / 18
    for number in range(40):
        n = int(rng.integers(2, 16))
        score, y, weight = rng.integers(1, 9, n) / 9, rng.integers(0, 2, n), rng.integers(1, 4, n)
        y[:2] = 0, 1
        weight = weight if number % 2 else np.ones(n)
        low, high = VennAbers().fit(score, y, counts=weight).predict_p0_p1(new)
        wanted = np.array([by_definition(score, y, weight, s) for s in new])
        assert np.column_stack([low, high]) == pytest.approx(wanted, abs=1e-12)
        assert (low < high).all()


def test_venn_abers_intervals_of_several_classes():
    calibrator = VennAbers().fit(*D)
    low, high = calibrator.predict_p0_p1(D[0])
    assert low.shape == high.shape == (8, 3)
    assert (low < high).all()
    single = VennAbers().fit(D[0][:, 1], (D[1] == 1).astype(int)).predict_p0_p1(D[0][:, 1])
    assert np.column_stack([low[:, 1], high[:, 1]]) == pytest.approx(np.column_stack(single))


# Priors and offsets


def test_prior_shift():
    calibrator = PriorShift((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)).fit(D[0])
    assert at(calibrator, D[0][:1])[0] == pytest.approx([0.3835616438, 0.2739726027, 0.3424657534], abs=5e-11)
    back = PriorShift((0.2, 0.3, 0.5), (0.5, 0.3, 0.2)).fit(D[0])
    assert at(back, at(calibrator, D[0])) == pytest.approx(D[0], abs=1e-12)
    assert at(PriorShift(0.3, 0.6).fit(B[0]), [0.05, 0.55]) == pytest.approx([0.1555555556, 0.8105263158], abs=5e-11)
    assert PriorShift(0.3, "labels").fit(*B).after_[1] == pytest.approx(0.6)


def test_prior_shift_em():
    found = prior_shift_em(D[0], (0.4, 0.3, 0.3))
    assert found.prior == pytest.approx((0.1343505336, 0.3540910475, 0.511558419), abs=5e-10)
    assert found.likelihood_ratio == pytest.approx(0.6795549176, abs=5e-11)
    assert found.pvalue == pytest.approx(0.7119287386, abs=5e-11)
    edge = prior_shift_em(D[0], (0.5, 0.3, 0.2))
    assert edge.prior == pytest.approx((0, 0.2039539689, 0.7960460311), abs=5e-10)
    assert edge.likelihood_ratio == pytest.approx(4.844687341, abs=5e-10)
    assert prior_shift_em(B[0], 0.3).prior[1] == pytest.approx(0.8812509131, abs=5e-11)
    assert PriorShift(0.3, "em").fit(B[0]).after_[1] == pytest.approx(0.8812509131, abs=5e-11)
    same = D[0].mean(axis=0)
    assert prior_shift_em(D[0], same).prior == pytest.approx(same, abs=1e-12)
    twice = prior_shift_em(np.repeat(D[0], 2, axis=0), (0.4, 0.3, 0.3))
    counted = prior_shift_em(D[0], (0.4, 0.3, 0.3), counts=np.full(8, 2))
    assert twice.likelihood_ratio == pytest.approx(counted.likelihood_ratio)
    assert "prior" in repr(found)
    assert found.to_dict()["prior"][0] == found.prior[0]


def test_the_test_of_a_prior_knows_weights_by_their_shape_alone():
    rng = np.random.default_rng(0)
    p, weight = rng.random(300), rng.random(300)
    plain = prior_shift_em(p, 0.45)
    for scale in (1, 100, 1e-6):
        even = prior_shift_em(p, 0.45, sample_weight=np.full(300, scale))
        assert even.pvalue == pytest.approx(plain.pvalue, rel=1e-6)
        uneven = prior_shift_em(p, 0.45, sample_weight=scale * weight)
        assert uneven.likelihood_ratio == pytest.approx(prior_shift_em(p, 0.45, sample_weight=weight).likelihood_ratio)
    share = weight / weight.sum()
    over = prior_shift_em(p, 0.45, sample_weight=weight).prior[1]
    gain = share @ (np.log(p * over / 0.45 + (1 - p) * (1 - over) / 0.55))
    assert prior_shift_em(p, 0.45, sample_weight=weight).likelihood_ratio == pytest.approx(2 * gain / (share @ share))
    assert prior_shift_em(p, 0.45, counts=np.full(300, 3)).likelihood_ratio == pytest.approx(3 * plain.likelihood_ratio)
    some = np.where(np.arange(300) < 200, weight, 0)
    assert prior_shift_em(p, 0.45, sample_weight=some).pvalue == pytest.approx(
        prior_shift_em(p[:200], 0.45, sample_weight=weight[:200]).pvalue
    )


def test_offset():
    assert OffsetAdjustment(target=0.5).fit(A[0]).offset_[1] == pytest.approx(-0.3402275803, abs=5e-11)
    calibrator = OffsetAdjustment(target=0.3).fit(B[0])
    assert calibrator.offset_[1] == pytest.approx(-1.254310855, abs=5e-10)
    assert at(calibrator, B[0]).mean() == pytest.approx(0.3, abs=1e-12)
    assert at(OffsetAdjustment().fit(*B), B[0]).sum() == pytest.approx(6, abs=1e-10)
    assert at(OffsetAdjustment(offset=math.log(2)).fit(B[0]), [0.5]) == pytest.approx([2 / 3])
    assert at(OffsetAdjustment().fit(*D), D[0]).mean(axis=0) == pytest.approx(np.array([2, 3, 3]) / 8, abs=1e-8)


# Logits


@pytest.mark.parametrize(
    ("centre", "factor", "temperatures"),
    [
        (False, -1.918, [1.9859180889, 1.3118670089, 2.4948174354]),
        (True, -0.695, [1.9311329884, 1.6868861164, 2.1155360363]),
    ],
)
def test_miscalibration_aware_temperature(centre, factor, temperatures):
    calibrator = MiscalibrationAwareTemperature(centre=centre).fit(*D)
    assert calibrator.factor_ == factor
    assert calibrator.miscalibration_ == pytest.approx([-0.0235766667, 0.1613887797, -0.1632230491], abs=5e-11)
    assert calibrator.temperature_ == pytest.approx(temperatures, abs=5e-11)


def test_consistency_values():
    z = np.log([[0.7, 0.2, 0.1]])
    assert winning_shares(z, 1.0, "gaussian")[0] == pytest.approx([0.7710292806, 0.1712443004, 0.0577264189], abs=5e-11)
    assert winning_shares(z, 2.0, "uniform")[0] == pytest.approx([0.929972229, 0.0697921008, 0.0002356703], abs=5e-10)
    x = 0.3
    two = winning_shares(np.array([[0.0, x]]), 1.0, "uniform")[0]
    assert two[1] == pytest.approx(1 - (1 - x) ** 2 / 2, abs=1e-14)
    assert winning_shares(np.array([[0.0, 3.0]]), 1.0, "uniform")[0] == pytest.approx([0, 1])


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
def test_consistency_shares_are_those_of_draws(noise):
    rng = np.random.default_rng(4)
    z = rng.normal(size=(1, 5))
    draws = rng.normal(size=(200_000, 5)) if noise == "gaussian" else 2 * rng.random((200_000, 5))
    drawn = np.bincount((z + draws).argmax(axis=1), minlength=5) / len(draws)
    exact = winning_shares(z, 1.0 if noise == "gaussian" else 2.0, noise)[0]
    assert drawn == pytest.approx(exact, abs=5 * 0.5 / math.sqrt(len(draws)))
    logits = rng.normal(size=(20, 50)) * 3
    assert np.abs(winning_shares(logits, 1.5, noise).sum(axis=1) - 1).max() < 1e-12
    logits[rng.random(logits.shape) < 0.1] = 0
    for strength in (0.01, 0.3, 1.5, 20.0, 900.0):  # one class of each row is computed in another way
        shares = winning_shares(logits, strength, noise)
        for own in (np.arange(20), logits.argmax(axis=1), logits.argmin(axis=1)):
            alone = winning_shares(logits, strength, noise, own)
            assert alone == pytest.approx(shares[np.arange(20), own], rel=1e-12, abs=1e-15)


# Groups


def test_logits_far_below_the_others_change_no_share() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (40, 10))
    z[:, 3], z[:, 4] = -1e4, -1e5
    own = rng.integers(0, 3, 40)
    far = np.where(z < -1e3, [-1e300], z)
    for label in (None, own):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (winning_shares(far, 1e-2, "gaussian", label) == winning_shares(z, 1e-2, "gaussian", label)).all()


def test_group_calibration_is_a_map_for_each_group():
    score, y = many(400)
    groups = np.where(np.arange(400) % 3 == 0, "a", "b")
    calibrator = GroupCalibration(PlattScaling()).fit(score, y, groups=groups)
    assert "groups_=[" in repr(calibrator)
    new = np.linspace(0.05, 0.95, 10)
    for name in "ab":
        alone = PlattScaling().fit(score[groups == name], y[groups == name])
        assert calibrator.predict_proba(new, np.full(10, name)) == pytest.approx(alone.predict_proba(new), abs=1e-12)
    together = GroupCalibration(PlattScaling(), unseen="together").fit(score, y, groups=groups)
    whole = PlattScaling().fit(score, y)
    assert together.predict_proba(new, np.full(10, "c")) == pytest.approx(whole.predict_proba(new))
    assert (
        calibrator.predict(new, np.full(10, "a")) == calibrator.predict_proba(new, np.full(10, "a")).argmax(axis=1)
    ).all()


def test_multicalibration_leaves_chance_alone():
    groups = np.arange(10) % 2
    calibrator = MultiCalibration(levels=1, min_size=1, held_out=0).fit(*B, groups=groups)
    assert len(calibrator.shifts_) == 0
    assert calibrator.predict_proba([0.3, 0.6], [0, 1])[:, 1] == pytest.approx([0.3, 0.6])


def test_multicalibration_repairs_a_group():
    rng = np.random.default_rng(8)
    score = rng.uniform(0.05, 0.95, 6000)
    groups = rng.integers(0, 3, 6000)
    odds = np.log(score / (1 - score)) + np.array([-1.0, 0.0, 1.0])[groups]
    y = (rng.random(6000) < 1 / (1 + np.exp(-odds))).astype(int)
    calibrator = MultiCalibration().fit(score[:4000], y[:4000], groups=groups[:4000])
    rate = calibrator.predict_proba(score[4000:], groups[4000:])[:, 1]
    before, after = ([abs((p - y[4000:])[groups[4000:] == g].mean()) for g in range(3)] for p in (score[4000:], rate))
    assert max(after) < 0.06 < 0.12 < max(before)
    masks = groups[:, None] == np.arange(3)
    same = MultiCalibration().fit(score[:4000], y[:4000], groups=masks[:4000])
    assert same.predict_proba(score[4000:], masks[4000:])[:, 1] == pytest.approx(rate)
    with raises(GroupError, "groups"):
        same.predict_proba(score[4000:], masks[4000:, :2])
