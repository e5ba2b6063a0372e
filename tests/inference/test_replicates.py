"""Replicates depend on the seed and their number alone, and their counts have the distribution of drawn rows."""

import numpy as np
import pytest

from calibrant.inference.replicates import Replicates, draw_classes, draw_events, quantile_bounds


def test_a_replicate_is_determined_by_the_seed_and_its_number() -> None:
    few, many = Replicates(30, 3, 7), Replicates(30, 50, 7)
    for number in range(3):
        assert few.rows(number).tolist() == many.rows(number).tolist()
        assert few.counts(number).tolist() == np.bincount(few.rows(number), minlength=30).tolist()
    batches = np.concatenate(list(many.batches(4 * 30)))
    assert batches.tolist() == [many.counts(number).tolist() for number in range(50)]
    assert many.values(lambda counts: counts[0]).tolist() == batches[:, 0].tolist()
    assert many.values(lambda counts: counts[0]).tolist() == batches[:, 0].tolist()


def test_copies_are_drawn_as_often_as_the_rows_they_stand_for() -> None:
    copies = np.array([1, 4, 0, 15])
    counts = np.concatenate(list(Replicates(copies, 4000, 1).batches(1 << 10)))
    assert (counts.sum(axis=1) == 20).all()
    assert counts.mean(axis=0) == pytest.approx(copies, abs=0.2)
    assert counts.var(axis=0) == pytest.approx(copies * (1 - copies / 20), rel=0.1)


def test_a_replicate_of_another_size() -> None:
    assert len(Replicates(30, 1, 0, size=12).rows(0)) == 12
    assert Replicates(np.array([0.5, 0.25, 3.25]), 1, 0, size=9).counts(0).sum() == 9


def test_clusters_stay_together() -> None:
    parts = [np.array([0, 3]), np.array([1, 2, 4])]
    for number in range(20):
        counts = Replicates(5, 20, 2, clusters=parts).counts(number)
        assert all(len(set(counts[part])) == 1 for part in parts)
        assert counts.sum() in (4, 5, 6)


def test_events_among_the_drawn_rows() -> None:
    replicates = Replicates(np.array([10, 10, 20]), 2000, 3)
    chance = np.array([0.0, 0.3, 1.0])
    pairs = [replicates.counts_and_events(number, chance) for number in range(2000)]
    counts, events = (np.array(part) for part in zip(*pairs, strict=True))
    assert counts.tolist() == [replicates.counts(number).tolist() for number in range(2000)]
    assert (events[:, 0] == 0).all()
    assert (events[:, 2] == counts[:, 2]).all()
    assert events[:, 1].mean() == pytest.approx(3, abs=0.15)


def test_a_band_is_the_quantiles_of_a_curve() -> None:
    replicates = Replicates(40, 300, 5)
    lower, upper = replicates.band(lambda counts: np.array([counts[0], np.nan, counts[:20].sum()]), 0.9)
    first = replicates.values(lambda counts: counts[0])
    assert [lower[0], upper[0]] == np.quantile(first, [0.05, 0.95]).tolist()
    assert np.isnan([lower[1], upper[1]]).all()
    assert lower[2] < 20 < upper[2]
    assert np.isnan(quantile_bounds(np.full((3, 1), np.nan), 0.9).low).all()


def test_classes_and_events_have_their_probabilities() -> None:
    rng = np.random.default_rng(0)
    probs = np.tile([0.0, 0.2, 0.5, 0.3], (20_000, 1))
    paths = np.cumsum(probs, axis=1).T
    labels = draw_classes(probs, np.random.default_rng(1))
    assert np.bincount(labels, minlength=4) / 20_000 == pytest.approx([0, 0.2, 0.5, 0.3], abs=0.015)
    assert labels.tolist() == draw_classes(probs, np.random.default_rng(1), paths).tolist()
    assert draw_events(np.full(20_000, 0.3), rng).mean() == pytest.approx(0.3, abs=0.015)
    assert draw_events(np.full(200, 0.3), rng, np.full(200, 100)).mean() == pytest.approx(30, abs=1)
