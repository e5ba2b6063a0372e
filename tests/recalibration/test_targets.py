"""Calibrators of one event: groups of classes, the k most probable classes, bands of confidence; their definitions and held-out errors."""

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import CalibrantWarning
from calibrant.recalibration.targets import with_set


def network(n: int, k: int, seed: int, *, sharp: float = 2.0) -> tuple[np.ndarray, np.ndarray, dict[str, list[int]]]:
    """A network that knows the group and is overconfident within it, as in the study of CIFAR-100: labels, probabilities, groups."""
    rng = np.random.default_rng(seed)
    first = np.arange(k) < k // 2
    mass = rng.beta(0.6, 0.6, n)
    within = rng.gumbel(size=(n, k))
    truth, seen = np.empty((n, k)), np.empty((n, k))
    for own, share in ((first, mass), (~first, 1 - mass)):
        for out, scale in ((truth, 1.0), (seen, sharp)):
            part = np.exp(scale * within[:, own])
            out[:, own] = share[:, None] * part / part.sum(axis=1, keepdims=True)
    labels = (rng.random(n)[:, None] > truth.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    return labels, seen, {"one": np.flatnonzero(first).tolist(), "two": np.flatnonzero(~first).tolist()}


def nll(labels: np.ndarray, probs: np.ndarray) -> float:
    return float(-np.log(probs[np.arange(len(labels)), labels]).mean())


def event_of(labels: np.ndarray, probs: np.ndarray, groups: dict[str, list[int]]) -> tuple[np.ndarray, np.ndarray]:
    two = groups["two"]
    return np.isin(labels, two).astype(int), probs[:, two].sum(axis=1)


@pytest.mark.parametrize("k", [4, 100])
def test_groups_are_scaled_to_the_calibrated_probability(k: int) -> None:
    labels, probs, groups = network(701, k, 1)
    fitted = cal.LensCalibration(cal.PlattScaling(), groups).fit(probs, labels)
    outcome, mass = event_of(labels, probs, groups)
    inner = cal.PlattScaling().fit(np.column_stack([1 - mass, mass]), outcome)
    new = network(53, k, 2)[1]
    found = fitted.predict_proba(new)
    wanted = inner.predict_proba(new[:, groups["two"]].sum(axis=1))
    for row in range(len(new)):
        for place, members in enumerate(groups.values()):
            total = math.fsum(new[row, members])
            for member in members:
                assert found[row, member] == pytest.approx(wanted[row, place] * new[row, member] / total, rel=1e-9)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-12)


def test_the_gain_of_all_classes_is_that_of_the_event() -> None:
    labels, probs, groups = network(2003, 6, 3)
    found = cal.LensCalibration(cal.TemperatureScaling(), groups).fit(probs, labels)
    new_labels, new, _ = network(997, 6, 4)
    out = found.predict_proba(new)
    outcome, before = event_of(new_labels, new, groups)
    _, after = event_of(new_labels, out, groups)
    event = nll(outcome, np.column_stack([1 - before, before])) - nll(outcome, np.column_stack([1 - after, after]))
    assert nll(new_labels, new) - nll(new_labels, out) == pytest.approx(event, abs=1e-12)


@pytest.mark.parametrize("lens", ["within_top:3", "top_label"])
def test_the_most_probable_classes_are_calibrated_on_held_out_rows(lens: str) -> None:
    labels, probs, _ = network(6000, 20, 7, sharp=3.0)
    new_labels, new, _ = network(6000, 20, 8, sharp=3.0)
    out = cal.recalibrate(labels, probs, method="platt", lens=lens).predict_proba(new)
    before, after = (cal.ece(new_labels, p, lens=lens, binning="equal_mass") for p in (new, out))
    assert before > 0.05
    assert after < before / 3
    assert nll(new_labels, out) < nll(new_labels, new)
    k = 3 if lens == "within_top:3" else 1
    sets = [np.sort(np.argsort(-p, axis=1, kind="stable")[:, :k]) for p in (new, out)]
    assert (sets[0] == sets[1]).all()


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("k", "count"), [(3, 1), (4, 2), (7, 5), (100, 10)])
def test_a_set_keeps_its_members_its_order_and_gets_its_probability(k: int, count: int, zeros: bool) -> None:
    rng = np.random.default_rng(k + count)
    probs = rng.dirichlet(np.full(k, 0.4), 300)
    if zeros:
        probs = np.round(probs, 1)
        probs[probs.sum(axis=1) == 0, 0] = 1
    probs /= probs.sum(axis=1, keepdims=True)
    best = np.argsort(-probs, axis=1, kind="stable")[:, :count]
    inside = np.zeros(probs.shape, bool)
    np.put_along_axis(inside, best, True, axis=1)
    mass = rng.uniform(count / k, 1, 300)
    mass[:3] = 1, count / k, count / k + 1e-9
    out = with_set(probs, inside, mass)
    assert np.where(inside, out, 0).sum(axis=1) == pytest.approx(mass, abs=1e-9)
    assert out.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert (out >= 0).all()
    left = mass < 1  # all of it inside: classes of 0 are tied there as before
    assert (np.where(inside, out, np.inf).min(axis=1) > np.where(inside, 0, out).max(axis=1))[left].all()
    for row, found in zip(probs, out, strict=True):
        order = np.argsort(-row, kind="stable")
        moved = np.diff(found[order])
        assert (moved[np.diff(row[order]) < 0] <= 1e-12).all()


def test_a_set_by_hand_in_fractions() -> None:
    """Probabilities 6/10, 3/10, 1/10 and a mass of 4/10 for the first: the second must stay below it, so both sides meet."""
    scaled = Fraction(6, 10) * Fraction(3, 4)  # 0.45 exceeds 0.4
    low, high = max(Fraction(6, 10) / 2, Fraction(4, 10)), min(Fraction(4, 10), scaled)
    assert low == high == Fraction(4, 10)
    out = with_set(np.array([[0.6, 0.3, 0.1]]), np.array([[True, False, False]]), np.array([0.4]))
    assert out[0] == pytest.approx([0.4, 0.4, 0.2], abs=1e-9)
    assert out[0, 0] > out[0, 1]


@pytest.mark.parametrize("k", [2, 5])
def test_a_band_changes_its_rows_only_and_calibrates_them(k: int) -> None:
    labels, probs, _ = network(8000, k, 11, sharp=4.0)
    new_labels, new, _ = network(8000, k, 12, sharp=4.0)
    if k == 2:  # overconfident scores of the positive class
        labels, new_labels = (
            (np.random.default_rng(s).random(8000) < 0.2 + 0.6 * p[:, 1]).astype(int) for s, p in ((1, probs), (2, new))
        )
    found = cal.recalibrate(labels, probs, method="platt", lens="band:0.8,1")
    out = found.predict_proba(new)
    score = new[:, 1] if k == 2 else new.max(axis=1)
    within = (score >= 0.8) & (score <= 1)
    assert out[~within] == pytest.approx(new[~within], abs=1e-15)
    assert found.n == int(((probs[:, 1] if k == 2 else probs.max(axis=1)) >= 0.8).sum())
    lens = "binary" if k == 2 else "top_label"
    before, after = (cal.ece(new_labels[within], p[within], lens=lens, binning="equal_mass") for p in (new, out))
    assert before > 0.05
    assert after < before / 2
    if k > 2:
        assert (out.argmax(axis=1) == new.argmax(axis=1)).all()


@pytest.mark.parametrize(
    "lens", ["within_top:2", "top_label", "class:3", "band:0.4,0.9", {"a": [0, 2], "b": [1], "c": [3, 4]}]
)
def test_counts_are_repeated_rows_and_logits_are_probabilities(lens: Any) -> None:
    labels, probs, _ = network(400, 5, 21)
    counts = np.random.default_rng(2).integers(1, 4, 400)
    make = lambda **more: cal.LensCalibration(cal.VectorScaling(**more), lens)  # noqa: E731
    whole = make().fit(np.repeat(probs, counts, axis=0), np.repeat(labels, counts))
    counted = make().fit(probs, labels, counts=counts)
    new = network(60, 5, 22)[1]
    assert counted.predict_proba(new) == pytest.approx(whole.predict_proba(new), abs=1e-5)
    logits = make(input="logit").fit(np.log(probs) + 3, labels, counts=counts)
    assert logits.predict_proba(np.log(new) - 5) == pytest.approx(counted.predict_proba(new), abs=1e-5)


@pytest.mark.parametrize("k", [4, 100])
@pytest.mark.parametrize("lens", ["groups", "within_top:2", "class:c1", "band:0.5,1"])
def test_text_labels_survive_a_file(k: int, lens: str, tmp_path: Path) -> None:
    labels, probs, _ = network(900, k, 31)
    probs = np.square(probs) / np.square(probs).sum(axis=1, keepdims=True)
    names = [f"c{number}" for number in range(k)]
    target: Any = {"first": names[: k // 2], "rest": names[k // 2 :]} if lens == "groups" else lens
    p = cal.Predictions(np.array(names)[labels], probs, classes=names)
    found = cal.recalibrate(p, method="platt", lens=cal.class_groups(target) if lens == "groups" else target)
    assert found.calibrator.classes_.tolist() == names
    assert found.lens.startswith("class_groups:first,rest" if lens == "groups" else lens)
    cal.save(found, tmp_path / "map.json")
    loaded = cal.load(tmp_path / "map.json")
    new = network(50, k, 32)[1]
    assert (loaded.predict_proba(new) == found.predict_proba(new)).all()
    assert (loaded.predict(new) == np.array(names)[found.predict_proba(new).argmax(axis=1)]).all()
    assert repr(loaded).startswith("LensCalibration(calibrator=PlattScaling(), lens=")


def test_exact_zeros_and_ones_stay_distributions() -> None:
    rng = np.random.default_rng(3)
    probs = np.eye(4)[rng.integers(0, 4, 200)]
    labels = np.where(rng.random(200) < 0.7, probs.argmax(axis=1), rng.integers(0, 4, 200))
    for lens in ({"a": [0, 1], "b": [2, 3]}, "within_top:2", "top_label", "band:0.9,1"):
        for method in ("platt", "isotonic", "temperature"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CalibrantWarning)
                out = cal.recalibrate(labels, probs, method=method, lens=lens).predict_proba(np.eye(4)[[0, 3, 2]])
            assert np.isfinite(out).all()
            assert out.sum(axis=1) == pytest.approx(1, abs=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        fitted = cal.LensCalibration(cal.PlattScaling(), {"a": [0, 1], "b": [2, 3]}).fit(probs, labels)
    row = fitted.predict_proba([[1.0, 0.0, 0.0, 0.0]])[0]
    assert row[1] == 0  # within its group it has no share
    assert row[2] == row[3] > 0  # a group of probability 0 shares evenly


def test_several_groups_and_the_choice_among_methods() -> None:
    labels, probs, _ = network(3000, 9, 41)
    probs = np.square(probs) / np.square(probs).sum(axis=1, keepdims=True)
    groups = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7, 8]}
    found = cal.recalibrate(labels, probs, method=["temperature", "vector"], lens=groups)
    assert [c.method for c in found.candidates] == ["none", "temperature", "vector"]
    assert found.method != "none"
    assert found.to_dict()["lens"] == "class_groups:a,b,c"
    assert "for class_groups:a,b,c" in repr(found)
    labels, probs, groups = network(500, 4, 42)
    kept = cal.recalibrate(labels, probs, method="isotonic", lens=groups)
    assert kept.method == "none"
    assert kept.predict_proba(probs[:9] * 0.5 + 0.125) == pytest.approx(probs[:9] * 0.5 + 0.125)
