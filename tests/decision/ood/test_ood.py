"""Out-of-distribution scores, detectors and their evaluation: checked values, identities, other packages, errors."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calibrant as cal
from calibrant.decision import ood
from calibrant.decision.ood import OodDetector, OodKnn, OodMahalanobis
from calibrant.decision.ood.detection import delong

LOGITS = np.array([[2, 0, -1], [0.5, 0.4, 0.3], [5, 1, 1], [1, 1.2, -0.5]])
MEMBERS = np.array([[[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]], [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]])
FEATURES = np.array([[0, 0], [1, 0], [0, 1], [4, 4], [5, 4], [4, 5]], dtype=float)
CLASSES = [0, 0, 0, 1, 1, 1]
ASKED = np.array([[0, 0], [2, 2], [6, 6]], dtype=float)
INSIDE, OUTSIDE = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.35, 0.5, 0.7, 0.9]


def near(values: Any, expected: list[float]) -> None:
    np.testing.assert_allclose(values, expected, atol=6e-11, rtol=0)


def test_scores_of_outputs_have_their_checked_values() -> None:
    near(ood.msp(LOGITS, input="logit"), [0.1562052655, 0.6328345989, 0.035336844, 0.5003533194])
    near(ood.entropy(LOGITS, input="logit"), [0.5242666167, 1.0952872687, 0.1773236759, 0.9308405577])
    near(ood.energy(LOGITS), [-2.1698460196, -1.5019428482, -5.0359762997, -1.8938540692])
    near(ood.energy(LOGITS, temperature=2), [-2.9287375682, -2.5988908969, -5.4790895324, -2.8936689489])
    near(ood.max_logit(LOGITS), [-2, -0.5, -5, -1.2])
    near(ood.mutual_information(MEMBERS), [0.021901179, 0.1564194946])
    near(ood.variance(MEMBERS), [0.015, 0.105])


def test_identities_of_outputs() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(50, 5)) * 3
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    order = rng.permutation(5)
    for score in (ood.msp, ood.entropy):
        np.testing.assert_allclose(score(probs), score(probs[:, order]), atol=1e-13)
        np.testing.assert_allclose(score(probs), score(z, input="logit"), atol=1e-12)
    np.testing.assert_allclose(ood.energy(z), ood.max_logit(z) + np.log(probs.max(axis=1)), atol=1e-12)
    np.testing.assert_allclose(ood.energy(z, temperature=1e-3), ood.max_logit(z), atol=2e-3)
    np.testing.assert_allclose(ood.energy(z, temperature=1e5) + 1e5 * math.log(5), -z.mean(axis=1), atol=1e-3)
    assert ood.entropy(np.full((1, 4), 0.25), relative=True) == pytest.approx(1)
    assert ood.msp([0.3, 0.8]).tolist() == pytest.approx([0.3, 0.2])
    assert ood.entropy([[1.0, 0.0]])[0] == 0


def test_identities_of_ensembles() -> None:
    members = np.random.default_rng(0).dirichlet(np.ones(4), (6, 30))
    assert (ood.mutual_information(members) >= 0).all()
    assert ood.mutual_information(np.stack([members[0]] * 3)).max() < 1e-15
    mean = members.mean(axis=0)
    np.testing.assert_allclose(ood.variance(members), (members**2).sum(axis=2).mean(axis=0) - (mean**2).sum(axis=1))
    np.testing.assert_allclose(ood.variance(members, mean=True) * 4, ood.variance(members))
    entropy = stats.entropy(mean, axis=1) - stats.entropy(members, axis=2).mean(axis=0)
    np.testing.assert_allclose(ood.mutual_information(members), entropy, atol=1e-13)


def test_mahalanobis_has_its_checked_values() -> None:
    plain = OodMahalanobis(shrinkage="none").fit(FEATURES, CLASSES)
    near(plain.score(ASKED), [2, 50, 50])
    relative = OodMahalanobis(relative=True, shrinkage="none").fit(FEATURES, CLASSES)
    near(relative.score(ASKED), [0.6575342466, 49.9726027397, 46.6849315068])


def test_mahalanobis_is_the_literal_distance() -> None:
    rng = np.random.default_rng(1)
    f, y, asked = rng.normal(size=(300, 3)), rng.choice(["a", "b"], 300), rng.normal(size=(10, 3))
    means = {c: f[y == c].mean(axis=0) for c in ("a", "b")}
    off = np.array([row - means[c] for row, c in zip(f, y, strict=True)])
    inverse = np.linalg.inv(off.T @ off / 300)
    expected = [min((q - m) @ inverse @ (q - m) for m in means.values()) for q in asked]
    np.testing.assert_allclose(OodMahalanobis().fit(f, y).score(asked), expected, rtol=1e-10)


def test_mahalanobis_shrinks_where_it_must() -> None:
    sklearn = pytest.importorskip("sklearn.covariance")
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=(15, 6)) * np.arange(1, 7), np.zeros(15)
    fitted = OodMahalanobis().fit(f, y)
    reference = sklearn.LedoitWolf(assume_centered=True).fit(f - f.mean(axis=0)).covariance_
    np.testing.assert_allclose(fitted.factor_ @ fitted.factor_.T, reference, rtol=1e-6, atol=1e-6)
    twice = np.column_stack([f, f[:, 0]])
    assert np.isfinite(OodMahalanobis().fit(twice, y).score(twice)).all()
    assert np.isfinite(OodMahalanobis(shrinkage="ridge").fit(twice, y).score(twice)).all()


def test_neighbours_have_their_checked_values() -> None:
    near(OodKnn(k=1, normalise=False).fit(FEATURES).score(ASKED), [0, 2.2360679775, 2.2360679775])
    near(OodKnn(k=2, normalise=False).fit(FEATURES).score(ASKED), [1, 2.2360679775, 2.2360679775])


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("normalise", [False, True])
def test_neighbours_are_the_literal_ones(d: int, normalise: bool) -> None:
    rng = np.random.default_rng(0)
    f, asked = rng.normal(size=(120, d)), rng.normal(size=(30, d))
    a, b = ((x / np.linalg.norm(x, axis=1)[:, None] if normalise else x) for x in (f, asked))
    distance = np.sort(np.linalg.norm(b[:, None] - a, axis=2), axis=1)
    fitted = OodKnn(k=7, normalise=normalise).fit(f)
    np.testing.assert_allclose(fitted.score(asked), distance[:, 6], rtol=1e-9)
    np.testing.assert_allclose(OodKnn(normalise=normalise, k=500).fit(f).score(asked), distance[:, -1], rtol=1e-9)
    own = np.sort(np.linalg.norm(a[:, None] - a, axis=2), axis=1)
    np.testing.assert_allclose(fitted.score(f, exclude_self=True), own[:, 7], rtol=1e-9)


def test_evaluation_has_its_checked_values() -> None:
    found = ood.evaluate(INSIDE, OUTSIDE)
    assert found.auroc == 0.8125
    assert found.auroc_error == pytest.approx(0.149652375, abs=5e-10)
    assert found.auroc_error**2 == pytest.approx(0.02239583333, abs=5e-12)
    near([found.auroc_low, found.auroc_high], [0.3872227731, 0.9674433564])
    plain = ood.evaluate(INSIDE, OUTSIDE, interval="wald")
    assert (plain.auroc_low, plain.auroc_high) == pytest.approx((0.5191867349, 1.105813265), abs=5e-10)
    assert (found.aupr_out, found.aupr_in) == pytest.approx((0.7928571429, 0.8773809524), abs=5e-11)
    assert (found.fpr, found.threshold) == (0.5, 0.6)
    assert found.share_outside == 0.4


@pytest.mark.parametrize("seed", range(10))
def test_evaluation_is_the_literal_one(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    inside, outside = np.round(rng.normal(size=60), 1), np.round(rng.normal(1, 1, 40), 1)
    found = ood.evaluate(inside, outside, n_resamples=10)
    wins = (outside[:, None] > inside) + 0.5 * (outside[:, None] == inside)
    variance = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 60
    assert delong(outside, inside) == pytest.approx((wins.mean(), variance), abs=1e-12)
    kind, score = np.repeat([0, 1], [60, 40]), np.concatenate([inside, outside])
    assert found.aupr_out == pytest.approx(metrics.average_precision_score(kind, score))
    assert found.aupr_in == pytest.approx(metrics.average_precision_score(1 - kind, -score))
    assert found.fpr == (outside <= np.sort(inside)[56]).mean()
    swapped = ood.evaluate(-outside, -inside, n_resamples=10, positive="out")
    assert swapped.auroc == pytest.approx(found.auroc)
    assert (swapped.fpr, swapped.threshold) == (found.fpr, -found.threshold)


def test_the_bootstrap_is_that_of_rows() -> None:
    """Places drawn at once have the distribution of rows drawn one by one."""
    from calibrant.decision.ood.detection import _resample_fpr

    def false_positives(kept: np.ndarray, other: np.ndarray) -> float:
        return float((other <= np.sort(kept)[math.ceil(0.95 * len(kept)) - 1]).mean())

    rng = np.random.default_rng(0)
    inside, outside = rng.normal(size=50), rng.normal(1, 1, 40)
    slow = [false_positives(rng.choice(inside, 50), rng.choice(outside, 40)) for _ in range(3000)]
    assert stats.ks_2samp(slow, _resample_fpr(inside, outside, 0.95, 3000, 1)).pvalue > 1e-3


def test_a_detector_learns_and_is_calibrated() -> None:
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(size=(300, 3)), rng.normal(1, 1, (200, 3))
    fitted = OodDetector().fit(inside, outside)
    fresh = ood.evaluate(fitted.score(rng.normal(size=(1000, 3))), fitted.score(rng.normal(1, 1, (1000, 3))))
    assert fresh.auroc > 0.85
    kept = ood.evaluate(fitted.inside_scores_, fitted.outside_scores_)
    assert abs(kept.auroc - fresh.auroc) < 0.06
    whole = np.concatenate([fitted.inside_scores_, fitted.outside_scores_])
    assert whole.mean() == pytest.approx(0.4, abs=1e-6)


def test_the_detector_is_penalised_logistic_regression() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(size=(80, 2)), rng.normal(0.7, 1, (60, 2))
    fitted = OodDetector().fit(inside, outside).fitted_
    x = np.concatenate([inside, outside])
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    peer = linear.LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(z, np.repeat([0, 1], [80, 60]))
    np.testing.assert_allclose(fitted.beta, [peer.intercept_[0], *peer.coef_[0]], atol=1e-5)
    other = OodDetector(model=linear.LogisticRegression()).fit(inside, outside)
    assert ood.evaluate(other.inside_scores_, other.outside_scores_).auroc > 0.6


def test_new_rows_are_tested() -> None:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(80, 2))
    shifted = OodDetector().test(reference, rng.normal(1, 1, (60, 2)), n_resamples=40)
    assert shifted.pvalue == pytest.approx(1 / 41)
    assert shifted.auroc > 0.7
    pvalues = [OodDetector(rng=i).test(reference, rng.normal(size=(60, 2)), n_resamples=19).pvalue for i in range(8)]
    assert np.mean(pvalues) > 0.2


def test_a_rate_of_no_false_positive_has_an_upper_bound() -> None:
    near, far = [0.1, 0.2, 0.3, 0.4], [0.9, 0.95, 0.97]
    found = cal.decision.ood.evaluate(near, far)
    assert (found.fpr_low, found.fpr_high) == (0, pytest.approx(1 - 0.025 ** (1 / 3)))
    found = cal.decision.ood.evaluate(far, near)
    assert (found.fpr_low, found.fpr_high) == (pytest.approx(0.025 ** (1 / 4)), 1)


def test_tensors_are_read_as_arrays() -> None:
    torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test tensors")
    z = torch.tensor(np.random.default_rng(0).normal(size=(40, 3)), requires_grad=True)
    for score in (ood.energy, ood.max_logit, partial(ood.msp, input="logit"), partial(ood.entropy, input="logit")):
        assert np.array_equal(score(z), score(z.detach().numpy()))
    members = torch.stack([z, z / 2])
    assert np.array_equal(ood.variance(members, input="logit"), ood.variance(members.detach().numpy(), input="logit"))
    for fitted in (ood.OodMahalanobis(), ood.OodKnn(k=3)):
        scores = fitted.fit(z, torch.arange(40) % 2).score(z)
        assert np.array_equal(scores, fitted.fit(z.detach().numpy(), np.arange(40) % 2).score(z.detach().numpy()))
