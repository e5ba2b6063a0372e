"""Kernel errors of whole distributions: published values, identities, edges, and the fast forms against slow ones."""

import warnings
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.kernel import embeddings
from calibrant.metrics.kernel import pairs as _pairs
from calibrant.util import blocks
from calibrant.views.resolve import views_of
from tests.calling import call


def draw(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident predictions."""
    rng = np.random.default_rng([seed, n, k])
    p = rng.dirichlet(np.ones(k), n)
    truth = p**0.5 / (p**0.5).sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
    return y, p[:, 1].copy() if k == 2 else p


@pytest.mark.parametrize(("n", "k"), [(700, 3), (1000, 10), (999, 5)])
def test_tiles_add_up_to_all_pairs(n: int, k: int) -> None:
    y, p = draw(n, k)
    near = np.exp(-np.abs(p[:, None] - p[None]).sum(axis=2) / 2 / 0.25)
    residual = np.eye(k)[y] - p
    terms = near * (residual @ residual.T)
    assert cal.skce_b(y, p, bandwidth=0.25) == pytest.approx(terms.mean(), abs=1e-13)
    np.fill_diagonal(terms, 0)
    assert cal.skce_uq(y, p, bandwidth=0.25) == pytest.approx(terms.sum() / n / (n - 1), abs=1e-13)


@pytest.mark.parametrize("metric", [cal.skce_b, cal.skce_uq, cal.ucme, cal.ckce, cal.skce_ul], ids=lambda m: m.id)
def test_the_number_of_threads_changes_not_a_bit(metric: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = draw(400 if metric is cal.ckce else 1500, 4)
    found = set()
    for cores in (1, 2, 7):
        monkeypatch.setattr(blocks, "cores", lambda cores=cores: cores)
        found.add(metric(y, p))
    assert len(found) == 1


# The median distance, beyond 1000 rows.


def median_width(y: Any, p: Any, **words: Any) -> float:
    view = views_of(cal.Predictions(y, p, **words), "canonical")[0]
    vector = _pairs.one_column(view if isinstance(view, cal.views.VectorView) else view.as_vector())
    return _pairs.choose_kernel(_pairs.cloud_of(vector), "exponential", "tv", "median").width


@pytest.mark.parametrize("k", [2, 3, 10])
def test_the_median_of_many_rows_is_near_that_of_all(k: int) -> None:
    y, p = draw(2600, k)
    rows = p[:, None] if k == 2 else p
    gaps = [np.abs(rows[i + 1 :] - rows[i]).sum(axis=1) for i in range(len(rows))]
    assert median_width(y, p) == pytest.approx(float(np.median(np.concatenate(gaps))) / (1 if k == 2 else 2), rel=0.03)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_many_rows_have_no_order(k: int) -> None:
    """Neither the rows of the median, nor the locations, landmarks and parts follow the order of rows or classes."""
    y, p = draw(1700, k)
    p = p.astype(np.float32).astype(np.float64)
    rng = np.random.default_rng(1)
    order, classes = rng.permutation(len(y)), rng.permutation(k)
    options: dict[Any, dict[str, Any]] = {cal.ckce: {"landmarks": 50, "normalize": True}}
    for metric in (cal.skce_b, cal.skce_uq, cal.ucme, cal.ckce):
        words = options.get(metric, {"normalize": True})
        wanted = call(metric, y, p, **words)
        assert call(metric, y[order], p[order], **words) == pytest.approx(wanted, abs=1e-12)
        if k > 2:
            assert call(metric, np.argsort(classes)[y], p[:, classes], **words) == pytest.approx(wanted, abs=1e-12)


def test_the_median_may_be_zero() -> None:
    """Then the mean distance is taken; and all predictions alike are a kernel of 1."""
    p = np.array([[0.5, 0.3, 0.2]] * 9 + [[0.2, 0.5, 0.3]])
    y = np.array([0, 1, 2, 0, 0, 1, 1, 2, 0, 1])
    assert median_width(y, p) == pytest.approx(0.3 * 9 / 45)
    assert cal.skce_uq(y, p) == pytest.approx(cal.skce_uq(y, p, bandwidth=0.06), abs=1e-15)
    residual = (np.eye(3)[y] - p[0]).mean(axis=0)
    assert cal.skce_b(y, p[[0] * 10]) == pytest.approx(float(residual @ residual), abs=1e-16)
    assert cal.skce_uq([0, 1], [0.3, 0.3]) == pytest.approx(2 * -0.3 * 0.7, abs=1e-15)


# Many rows: parts instead of all pairs.


def test_parts_are_blocks_of_an_order_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = draw(1200, 3)
    monkeypatch.setattr(embeddings, "MOST_PAIR_WORK", 1200**2 * 18 / 4)
    by_top = np.argsort(p.max(axis=1))
    residual = np.eye(3)[y] - p
    terms, pairs = 0.0, 0
    for start in range(4):
        rows = by_top[start::4]
        near = np.exp(-np.abs(p[rows][:, None] - p[rows][None]).sum(axis=2) / 2 / 0.3)
        block = near * (residual[rows] @ residual[rows].T)
        terms += block.sum() - np.trace(block)
        pairs += len(rows) * (len(rows) - 1)
    unbiased = terms / pairs
    assert cal.skce_uq(y, p, bandwidth=0.3) == pytest.approx(unbiased, abs=1e-14)
    biased = 1199 / 1200 * unbiased + np.square(residual).sum() / 1200**2
    assert cal.skce_b(y, p, bandwidth=0.3) == pytest.approx(biased, abs=1e-14)
    for metric in (cal.skce_b, cal.skce_uq):
        exact = metric(y, p, exact=True)
        assert metric(y, p) != exact
        assert metric(y, p) == pytest.approx(exact, abs=0.003)
        assert metric(cal.Predictions(y, p, counts=np.full(1200, 2))) == pytest.approx(
            metric(np.repeat(y, 2), np.repeat(p, 2, axis=0)), abs=1e-12
        )


def test_two_classes_are_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = draw(1500, 2)
    wanted = cal.skce_uq(y, p)
    monkeypatch.setattr(embeddings, "MOST_PAIR_WORK", 1.0)
    assert cal.skce_uq(y, p) == wanted
    assert cal.skce_uq(y, p, kernel="gaussian") != cal.skce_uq(y, p, kernel="gaussian", exact=True)


# Test locations.


def test_locations_may_be_given() -> None:
    y, p = draw(50, 3)
    places, classes = [[0.2, 0.3, 0.5], [0.8, 0.1, 0.1], [0.8, 0.1, 0.1]], [2, 0, 1]
    squares = []
    for place, c in zip(places, classes, strict=True):
        near = np.exp(-np.abs(p - place).sum(axis=1) / 2 / 0.4)
        squares.append(float((near * ((y == c) - p[:, c])).mean()) ** 2)
    assert cal.ucme(y, p, locations=(places, classes), bandwidth=0.4) == pytest.approx(np.mean(squares), abs=1e-15)
    y, p = draw(50, 2)
    one, two = ([0.2, 0.7], [1, 0]), ([[0.8, 0.2], [1 - 0.7, 0.7]], [1, 0])
    assert cal.ucme(y, p, locations=one) == cal.ucme(y, p, locations=two)
    assert cal.ucme(y, p, locations=one) == pytest.approx(
        np.mean([np.mean(np.exp(-np.abs(p - t) / median_width(y, p)) * (y - p)) ** 2 for t in (0.2, 0.7)]), abs=1e-15
    )


def test_locations_are_columns_of_the_lens() -> None:
    """`top_k:1` has the top label first and the rest second."""
    y, p = draw(60, 4)
    top, right = p.max(axis=1), (p.argmax(axis=1) == y).astype(int)
    asked = ([[0.7, 0.3], [0.4, 0.6]], [0, 1])
    wanted = cal.ucme(right, top, locations=([0.7, 0.4], [1, 0]))
    assert cal.ucme(y, p, lens="top_k:1", locations=asked) == pytest.approx(wanted, abs=1e-15)
    near = np.exp(-np.abs(top[:, None] - [0.7, 0.4]) / 0.2)
    expected = np.square((near * (right - top)[:, None]).mean(axis=0)).mean()
    assert cal.ucme(y, p, lens="top_k:1", locations=asked, bandwidth=0.2) == pytest.approx(expected, abs=1e-15)


# The ridge regression.


def low_rank(y: np.ndarray, p: np.ndarray, count: int, ridge: float) -> float:
    """The definition with the Gram matrix G replaced by G_nm G_mm^-1 G_mn, landmarks in the middle of equal parts of the rows."""
    n, k = p.shape
    place = np.floor((np.arange(count) + 0.5 - 1e-6) * n / count).astype(int)
    marks = np.argsort(p.max(axis=1))[place]
    gram = np.exp(-np.abs(p[:, None] - p[None]).sum(axis=2) / 2 / 0.4)
    gram = gram[:, marks] @ np.linalg.inv(gram[np.ix_(marks, marks)]) @ gram[marks]
    residual = np.eye(k)[y] - p
    inverse = np.linalg.inv(gram + n * ridge * np.eye(n))
    return float(np.trace(inverse @ gram @ inverse @ residual @ residual.T))


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("count", [1, 7, 100, 199])
def test_landmarks_span_the_fit(k: int, count: int) -> None:
    y, p = draw(200, k)
    found = cal.ckce(y, p, landmarks=count, ridge=0.05, bandwidth=0.4)
    assert found == pytest.approx(low_rank(y, p, count, 0.05), rel=1e-9)
    assert cal.ckce(y, p, landmarks=200) == cal.ckce(y, p, landmarks=5000) == cal.ckce(y, p)
    assert cal.ckce(y, p, landmarks=199) == pytest.approx(cal.ckce(y, p), rel=0.01)


def test_more_predictions_than_a_matrix_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = draw(300, 3)
    whole = cal.ckce(y, p)
    monkeypatch.setattr(embeddings, "EXACT_PREDICTIONS", 300)
    monkeypatch.setattr(embeddings, "LANDMARKS", 100)
    assert cal.ckce(y, p) == whole
    monkeypatch.setattr(embeddings, "EXACT_PREDICTIONS", 299)
    assert cal.ckce(y, p) == cal.ckce(y, p, landmarks=100) != whole


# Order, soft labels, options, edges.


def test_sorted_rows_are_told_of() -> None:
    y, p = draw(100, 3)
    for order, word in ((np.argsort(y, kind="stable"), "labels"), (np.argsort(-p.max(axis=1)), "scores")):
        with pytest.warns(cal.CalibrantWarning, match=word) as caught:
            cal.skce_ul(y[order], p[order])
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mixed = cal.skce_ul(y[order], p[order], rng=0)
            assert mixed == cal.skce_ul(y[order], p[order], rng=np.random.default_rng(0))
            cal.skce_ul(y[order][:19], p[order][:19])
    rows = np.random.default_rng(5).permutation(100)
    assert cal.skce_ul(y, p, rng=5) == pytest.approx(cal.skce_ul(y[rows], p[rows]), abs=1e-15)


def test_one_row_has_no_pairs() -> None:
    assert cal.skce_uq(cal.Predictions([1], [0.2], counts=[2])) == pytest.approx(2 * 0.64)
    assert cal.skce_b([1], [0.2]) == pytest.approx(2 * 0.64)
    assert cal.ucme([1], [0.2]) == pytest.approx(0.64)
    assert cal.ckce([1], [0.2], ridge=1) == pytest.approx(2 * 0.64 / 4)
