"""Measures and bins of other packages, reproduced: no number of bins divides the rows, ties, exact 0 and 1, 4 and 100 classes."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualMass, EqualWidth, Quantile

from .test_peers import peer

pytestmark = pytest.mark.filterwarnings("ignore")
NUMBERS = range(1, 51)


def on_edges(bins: int) -> tuple[np.ndarray, np.ndarray]:
    score = np.repeat(np.arange(bins + 1) / bins, 3)
    label = np.random.default_rng(bins).integers(0, 2, len(score))
    label[:2] = 0, 1
    return label, score


def several(seed: int, n: int, k: int, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.3), n)
    if ties:
        p = rng.multinomial(10, np.full(k, 1 / k), n) / 10
    p[:5] = np.eye(k)[rng.integers(0, k, 5)]
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1), p


def test_edges_of_netcal() -> None:
    error = peer("netcal.metrics", "ECE")
    for bins in NUMBERS:
        y, p = on_edges(bins)
        rule = EqualWidth(bins, closed="left", edges="linspace")
        assert cal.ece(y, p, binning=rule) == pytest.approx(error(bins=bins).measure(p, y), abs=1e-15)
    y, p = several(0, 211, 2)
    rule = Quantile(7, closed="left", edges="quantile")
    found = error(bins=7, equal_intervals=False).measure(p[:, 1], y)
    assert cal.ece(y, p[:, 1], binning=rule) == pytest.approx(found, abs=1e-15)


def test_edges_of_relplot() -> None:
    error = peer("relplot.metrics", "binnedECE")
    for bins in NUMBERS:
        y, p = on_edges(bins)
        rule = EqualWidth(bins, closed="left", edges="quotient")
        assert cal.ece(y, p, binning=rule) == pytest.approx(error(p, y, nbins=bins), abs=1e-15)


def test_edges_of_torchmetrics() -> None:
    torch = peer("torch")
    binary = peer("torchmetrics.functional.classification", "binary_calibration_error")
    multiclass = peer("torchmetrics.functional.classification", "multiclass_calibration_error")
    for bins in NUMBERS:
        y, p = on_edges(bins)
        for kind, edges, near in ((np.float32, "torch", 2e-7), (np.float64, "torch64", 1e-15)):
            given = p.astype(kind)
            rule = EqualWidth(bins, closed="left", edges=edges)
            found = float(binary(torch.tensor(given), torch.tensor(y), n_bins=bins))
            assert cal.ece(y, given, binning=rule) == pytest.approx(found, abs=near)
        rows = np.column_stack([p, (1 - p) / 3, (1 - p) / 3, (1 - p) / 3])
        label = np.random.default_rng(bins).integers(0, 4, len(p))
        found = float(multiclass(torch.tensor(rows), torch.tensor(label), num_classes=4, n_bins=bins))
        rule = EqualWidth(bins, closed="left", edges="torch")
        assert cal.ece(label, rows, binning=rule) == pytest.approx(found, abs=2e-7)


@pytest.mark.parametrize(("n", "k"), [(211, 4), (503, 100)])
def test_top_label_error_of_mapie(n: int, k: int) -> None:
    error = peer("mapie.metrics.calibration", "top_label_ece")
    for ties in (False, True):
        y, p = several(1, n, k, ties)
        # Its number is that of the edges.
        found = error(y, p, num_bins=8, split_strategy="uniform")
        own = cal.tl_ece(y, p, bins=7, binning=EqualWidth(edges="linspace"), average="macro")
        assert own == pytest.approx(found, abs=1e-15)


def test_errors_of_uncertainty_calibration() -> None:
    module = peer("calibration")
    y, p = several(2, 997, 4)
    rule = EqualMass(15, split="array_split")
    p = 0.98 * p + 0.005 + 1e-9 * np.random.default_rng(0).random(p.shape)  # without ties, which it keeps together
    p /= p.sum(axis=1, keepdims=True)
    for norm in (1, 3):
        found = module.get_calibration_error(p, y, p=norm, debias=False, mode="marginal")
        assert cal.rmsce(y, p, norm=norm, lens="classwise", binning=rule) == pytest.approx(found, abs=1e-15)
        np.random.seed(0)  # noqa: NPY002
        found = module.get_calibration_error(p, y, p=norm, debias=True, mode="top-label")
        assert cal.ece_db(y, p, norm=norm, lens="top_label", binning=rule) == pytest.approx(found, abs=3e-3)
    found = module.get_calibration_error(p, y, p=2, debias=True, mode="marginal")
    own = cal.drmsce(y, p, lens="classwise", single="zero", clip_each=True, binning=rule)
    assert own == pytest.approx(found, abs=1e-15)


def test_errors_and_distribution_functions_of_mcgrad() -> None:
    module = peer("mcgrad.metrics")
    y, p = several(3, 503, 4)
    y, p = (y == 0).astype(int), p[:, 0].clip(1e-4, 1 - 1e-9)
    rule = EqualWidth(40, closed="left", edges="linspace")
    weight = np.linspace(0.2, 3, len(y))
    for given in (None, weight):
        found = module.proportional_expected_calibration_error(y, p, num_bins=40, sample_weight=given)
        assert cal.proportional_ece(y, p, binning=rule, sample_weight=given) == pytest.approx(found, rel=1e-12)
    x = np.linspace(0.05, 8, 100)
    assert cal.inference.kuiper_cdf(x) == pytest.approx(module._ecce_cdf(x), abs=1e-15)
    log, scores = np.concatenate([np.zeros(503, int), np.ones(y.sum(), int)]), np.concatenate([p, p[y == 1]])
    found = module.calibration_ratio(log, scores, adjust_unjoined=True)
    assert cal.expected_observed_ratio(cal.input.join_events(log, scores)) == pytest.approx(found, rel=1e-12)
