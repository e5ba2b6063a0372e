"""The study of networks for images: storage, ensembles, measures, and a page whose verdicts follow from its numbers."""

import argparse
import gzip
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the modules")
pytest.importorskip("matplotlib")

import calibrant as cal  # noqa: E402
import calibrant.torch as ct  # noqa: E402
from experiments.images import claims, measure, page, stored, train  # noqa: E402
from experiments.images.stored import Training  # noqa: E402

ROWS = np.random.default_rng(0)


def idx(path: Path, values: Any) -> None:
    """Write bytes in the IDX format."""
    path.write_bytes(
        gzip.compress(struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.tobytes())
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four tiny files of the data set."""
    path = tmp_path_factory.mktemp("fashion")
    for kind, rows in (("train", 24), ("t10k", 9)):
        images, labels = train.FILES[kind]
        idx(path / images, ROWS.integers(256, size=(rows, 28, 28), dtype=np.uint8))
        idx(path / labels, np.arange(rows, dtype=np.uint8) % 10)
    return path


def test_the_split_is_the_same_each_time_and_has_no_image_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "VALIDATION", 7)
    found = train.read_images(folder)
    assert [len(part[1]) for part in found] == [17, 7, 9]
    assert torch.equal(found.validation[0], train.read_images(folder).validation[0])
    every = torch.cat([found.train[0], found.validation[0]]).flatten(1)
    assert len(torch.unique(every, dim=0)) == 24
    with pytest.raises(SystemExit, match=r"has no train-images-idx3-ubyte\.gz"):
        train.read_images(folder / "none")
    (folder / "odd.gz").write_bytes(gzip.compress(b"\1\0\0\0"))
    with pytest.raises(ValueError, match="not an IDX file of bytes"):
        train.read_idx(folder / "odd.gz")


@pytest.mark.parametrize("intervention", ["mixup", "mmce", "mc_dropout"])
def test_a_training_stores_what_can_be_read(
    intervention: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "VALIDATION", 7)
    monkeypatch.setattr(train, "SAMPLES", 2)
    monkeypatch.setitem(train.MAKE, "vgg", lambda dropout: train.vgg(dropout, (4, 4, 4)))
    options = argparse.Namespace(batch=8, epochs=1, rate=0.1, out=tmp_path)
    one = Training("vgg", intervention, 3)
    with torch.random.fork_rng():
        line = train.train(one, train.read_images(folder), options)
    assert line.startswith(f"vgg {intervention} 3: validation ")
    found = stored.read(tmp_path, one)
    assert found.validation.shape == (7, 10)
    assert found.test.shape == (9, 10)
    assert (found.test.max(axis=1) == 0).all()
    assert (found.shared is not None) == (intervention == "mc_dropout")
    if found.shared is not None:
        assert (found.shared > -1e-3).all()
        assert stored.read(tmp_path, one, "_fixed").shared is None


def test_sampled_dropout_is_that_of_collect() -> None:
    net = train.vgg(0.4, (4, 4, 4))
    images = torch.from_numpy(ROWS.integers(256, size=(6, 1, 28, 28), dtype=np.uint8))
    with torch.random.fork_rng():
        torch.manual_seed(7)
        log_mean, entropy = train.sampled(net, images, 5)
    found = ct.collect(net, [(train.scaled(images), torch.zeros(6))], samples=5, rng=7)
    np.testing.assert_allclose(log_mean, found.logits, atol=1e-5)
    shared = torch.special.entr(log_mean.exp()).sum(1) - entropy
    np.testing.assert_allclose(shared, found.mutual_information, atol=1e-5)


def test_stored_logits_lose_less_than_a_two_thousandth(tmp_path: Path) -> None:
    logits = ROWS.normal(size=(50, 10)) * 8
    one = Training("vgg", "base", 0)
    stored.save(tmp_path, one, {"validation": logits, "test": logits * 3}, 0.5)
    found = stored.read(tmp_path, one)
    exact = logits - logits.max(axis=1, keepdims=True)
    assert np.abs(found.validation - exact).max() <= 0.5 / stored.UNITS + 1e-12
    np.testing.assert_allclose(stored.probabilities(found.validation), stored.probabilities(logits), rtol=1.1e-3)
    assert found.test.min() >= -64
    assert [path.name for path in tmp_path.iterdir()] == [one.file]


def test_an_ensemble_is_that_of_collect() -> None:
    y = torch.from_numpy(ROWS.integers(10, size=40))
    members = [torch.from_numpy(ROWS.normal(size=(40, 10)) * 3) for _ in range(3)]
    found = stored.ensemble([stored.Outputs(one.numpy(), one.numpy()) for one in members])
    other = ct.collect([lambda x, one=one: one for one in members], [(torch.zeros(40, 1), y)])
    np.testing.assert_allclose(found.test, other.logits, atol=1e-12)
    np.testing.assert_allclose(found.shared, other.mutual_information, atol=1e-12)


def test_members_are_disjoint_where_there_are_enough() -> None:
    assert sorted(one for group in stored.members_of(25) for one in group) == list(range(25))
    drawn = stored.members_of(10)
    assert all(len(set(group)) == 5 and max(group) < 10 for group in drawn)
    trained = stored.trainings(25)
    assert len(trained) == len(set(trained)) == 110
    assert {one.intervention for one in trained[:14]} == set(stored.INTERVENTIONS)


def test_ranks_against_plain_counts() -> None:
    score, wrong = ROWS.integers(5, size=30).astype(float), ROWS.random(30) < 0.4
    pairs = [(a > b) + 0.5 * (a == b) for a in score[wrong] for b in score[~wrong]]
    assert measure.ranked(score, wrong) == pytest.approx(np.mean(pairs))
    assert claims.concordance([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)
    assert claims.concordance([1, 2, 3], [3, 2, 1]) == -1


def test_the_measures_of_calibrated_and_of_sharpened_forecasts() -> None:
    drawn = cal.inference.make_calibrated(1500, distribution=(0.2,) * 10, rng=0)
    probs = np.asarray(drawn.y_prob) * (1 - 1e-6) + 1e-7
    sharp = probs**2 / (probs**2).sum(axis=1, keepdims=True)
    right, over = (measure.measure(cal.Predictions(drawn.y_true, one)) for one in (probs, sharp))
    assert right["ece"] <= right["ece_critical"]
    assert abs(right["ecd"]) < right["ecd_critical"] * 1.5
    assert over["ece"] > over["ece_critical"]
    assert over["ecd"] > over["ecd_critical"]
    assert over["top_k 0"] > right["top_k 0"]
    assert sum(over[f"interval_rows {place}"] for place in range(3)) == pytest.approx(1, abs=1e-4)
    full = f"top_k {len(measure.TOP) - 1}"
    assert right[f"chance {full}"] == pytest.approx(right[full], abs=0.03)
    drawn_again = {name.split()[1] for name in right if name.startswith("chance ")}
    assert drawn_again == {"top_k", "group", "by_group", "interval_rows", "outside", "ece", "ecd"}


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")  # few images
def test_a_network_is_one_study_of_stored_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "NETWORKS", ("vgg",))
    monkeypatch.setattr(measure, "MODELS", ("base", "dropout", "ensemble"))
    monkeypatch.setattr(measure, "chosen_bins", lambda *_: 2)
    labels = {part: np.arange(60, dtype=np.uint8) % 10 for part in stored.PARTS}
    np.savez(tmp_path / stored.LABELS, **labels)

    def logits(seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        return {part: rng.normal(size=(60, 10)) + 2 * np.eye(10)[labels[part]] for part in stored.PARTS}

    for name in stored.INTERVENTIONS:
        for seed in range(5):
            rows = logits(seed)
            if name == "mc_dropout":
                rows |= {f"{part}_fixed": rows[part] for part in stored.PARTS}
                rows |= {f"{part}_entropy": stored.entropy(stored.probabilities(rows[part])) for part in stored.PARTS}
            stored.save(tmp_path, Training("vgg", name, seed), rows, 0.5)
    (tmp_path / "out").mkdir()

    def refused(_: cal.Predictions) -> dict[str, float]:
        pytest.fail("measured again")

    refused.__qualname__ = measure.measure.__qualname__  # the name under which the file has the numbers
    for _ in range(2):  # the second time nothing is measured again
        measure.main([str(tmp_path), "--seeds", "2", "--out", str(tmp_path / "out")])
        monkeypatch.setattr(measure, "measure", refused)
    network = measure.load(tmp_path / "out")["networks"]["vgg"]
    assert list(network["measured"]) == list(measure.MODELS)
    outputs = stored.read(tmp_path, Training("vgg", "base", 1))
    fitted = cal.TemperatureScaling(input="logit").fit(outputs.validation, labels["validation"])
    scaled = fitted.predict_proba(outputs.test)
    one = network["measured"]["base"]["temperature"][1]
    assert one["nll"] == pytest.approx(cal.nll(labels["test"], scaled), rel=1e-4)
    assert one["ece"] == pytest.approx(cal.ece(labels["test"], scaled, bins=measure.BINS), rel=1e-4)
    assert network["measured"]["dropout"] == network["measured"]["base"]
    assert len(network["extras"]) == len(network["measured"]["ensemble"]["none"]) == 2


def test_a_temperature_from_the_other_half_calibrates() -> None:
    drawn = cal.inference.make_calibrated(2000, distribution=(0.3,) * 10, rng=1)
    true = np.log(np.asarray(drawn.y_prob) * (1 - 1e-6) + 1e-7)
    outputs = stored.Outputs(2 * true, 2 * true)
    labels = np.asarray(drawn.y_true)
    found = measure.extras(labels, outputs, labels, 0)
    assert found["temperature"] == pytest.approx(2, rel=0.1)
    assert found["crossed"]["ecd"] < found["crossed"]["ecd_critical"]
    assert found["sharper"][1] > 0 > found["softer"][1]
    assert found["sharper"][2] > 0 > found["softer"][2]
    # Expected ECD by a plain sum over rows and classes, with the fitted temperature taken for the truth.
    probs = stored.probabilities(2 * true / found["temperature"])
    shown = stored.probabilities(2 * true / found["temperature"] * measure.SHARPER)
    plain = [
        sum(q * math.log(q) for q in row) - sum(p * math.log(q) for p, q in zip(truth, row, strict=True))
        for truth, row in zip(probs, shown, strict=True)
    ]
    assert found["sharper"][1] == pytest.approx(np.mean(plain))


def test_bins_that_lose_accuracy_are_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = cal.inference.make_calibrated(1500, distribution=(0.2,) * 10, rng=2)
    logits, labels = np.log(np.asarray(drawn.y_prob) + 1e-7), np.asarray(drawn.y_true)
    monkeypatch.setattr(measure, "MASS_BINS", (2, 60))
    assert measure.chosen_bins(stored.Outputs(logits, logits), labels) == 60  # two bins tie most classes


def test_verdicts_of_two_networks_are_joined() -> None:
    claim = {"rule": "{% set seen = yes %}1"}
    names = {"a": "A", "b": "B"}
    models = ("base", *claims.STUDIED)
    network = {"measured": {model: {after: [] for after in (measure.NONE, *claims.AFTER)} for model in models}}
    cases = {(True, True): "seen", (False, False): "not seen", (True, False): "seen with A, not seen with B"}
    for (one, other), words in cases.items():
        assert claims.verdict(claim, {"a": network | {"yes": one}, "b": network | {"yes": other}}, names) == (
            words,
            "A: 1; B: 1",
        )
    assert claims.verdict({"why": "no data"}, {}, {}) == ("not testable here", "no data")


def test_infinite_losses_are_named() -> None:
    seeds = [{"nll": 0.5}, {"nll": math.inf}, {"nll": 0.7}]
    network = {"measured": {"base": {measure.NONE: [{"nll": 0.5}] * 3, "histogram binning": seeds}}}
    assert page.cell(network, ("base", "histogram binning"), "nll", None, 1, 4) == "infinite (1 of 3) ↑"
    assert page.cell(network, claims.BASE, "nll", None, 1, 4) == "0.5000 ± 0.0000"
