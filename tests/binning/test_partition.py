"""A k-d tree that is fitted once: its cells against a walk down the splits, and the errors that rest on them."""

import pickle
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import KDTree, Predictions
from calibrant.errors import InputError, LensError
from calibrant.views.resolve import views_of


def vectors(n: int, k: int, seed: int, *, ties: bool = False) -> np.ndarray:
    probs = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), n)
    if ties:
        probs = np.round(4 * probs) / 4
        probs[:, -1] += 1 - probs.sum(axis=1)
        probs = np.where((probs < 0).any(axis=1, keepdims=True), np.eye(k)[0], probs)
    return probs


def walked(tree: KDTree, row: Any) -> int:
    """The cell of one row, from the root down."""
    place = 0
    if not tree.nodes_:
        return 0
    while place >= 0:
        axis, threshold, below, above = tree.nodes_[place]
        place = below if float(row[axis]) < threshold else above
    return -place - 1


@pytest.mark.parametrize(("n", "k", "ties"), [(157, 3, False), (211, 4, True), (300, 100, False), (9, 3, False)])
@pytest.mark.parametrize("weighted", ["", "counts", "sample_weight"])
def test_fitted_on_the_same_rows_it_has_the_same_cells(n: int, k: int, ties: bool, weighted: str) -> None:
    probs = vectors(n, k, n, ties=ties)
    rng = np.random.default_rng(k)
    weights = {"counts": rng.integers(0, 4, n), "sample_weight": rng.random(n)}
    words = {weighted: weights[weighted]} if weighted else {}
    found = Predictions(rng.integers(0, k, n), probs, **words)
    [view] = views_of(found, "canonical")
    plain, fitted = KDTree(0.07, 3), KDTree(0.07, 3).fit(found)
    for one, other in zip(plain.cells(view), fitted.cells(view), strict=True):
        np.testing.assert_array_equal(one, other)
    other = vectors(83, k, 5, ties=ties)
    [view] = views_of(Predictions(np.zeros(83, int), other), "canonical")
    assert fitted.cells(view)[0].tolist() == [walked(fitted, row) for row in other]
    assert cal.gece(found, binning=fitted) == pytest.approx(cal.gece(found, gamma=0.07, min_size=3), abs=1e-14)


def test_the_error_of_other_rows_by_its_definition() -> None:
    tree = KDTree(0.1, 5).fit(vectors(400, 4, 0))
    probs = vectors(61, 4, 1)
    labels = np.random.default_rng(2).integers(0, 4, 61)
    total = 0.0
    cells = [walked(tree, row) for row in probs]
    for cell in set(cells):
        members = [i for i in range(61) if cells[i] == cell]
        total += sum(
            abs(sum(probs[i][k] for i in members) - sum(labels[i] == k for i in members)) for k in range(4)
        ) / (2 * 61)
    assert cal.gece(labels, probs, binning=tree) == pytest.approx(total, abs=1e-14)
    assert len(set(cells)) < len(tree.nodes_ or ()) + 1  # some of its cells are empty here
    # Text labels, a frame order of its own, and cells without rows in the other users of a partition.
    names = np.array(["a", "b", "c", "d"])[labels]
    assert cal.gece(cal.Predictions(names, probs, classes=list("abcd")), binning=tree) == pytest.approx(
        total, abs=1e-14
    )
    assert cal.multiclass_ce(labels, probs, binning=tree) == pytest.approx(total, abs=1e-14)
    assert np.isfinite(cal.decompose(labels, probs, bins=tree).reliability)


def test_selections_and_models_share_cells() -> None:
    probs = vectors(500, 3, 3)
    labels = np.random.default_rng(4).integers(0, 3, 500)
    tree = KDTree(0.1).fit(probs)
    parts = [np.arange(500) % 3 == k for k in range(3)]
    shares = [cal.gece(labels, probs, where=part, binning=tree) * part.mean() for part in parts]
    # Cells of the parts are those of the whole, so that errors of parts can only cancel in the whole.
    assert sum(shares) >= cal.gece(labels, probs, binning=tree)
    own = [cal.gece(labels, probs, where=part) for part in parts]
    assert own != [cal.gece(labels, probs, where=part, binning=tree) for part in parts]


@pytest.mark.parametrize("lens", ["top_label", "top_k:1", "top_k:2", "class:1", "binary"])
def test_other_lenses(lens: str) -> None:
    probs = vectors(130, 3, 8)[:, :2] if lens != "binary" else vectors(130, 2, 8)
    probs = np.column_stack([probs, 1 - probs.sum(axis=1)]) if lens != "binary" else probs[:, 1]
    labels = np.random.default_rng(9).integers(0, 2, 130)
    tree = KDTree(0.2).fit(probs, lens=lens)
    assert cal.gece(labels, probs, lens=lens, binning=tree) == cal.gece(labels, probs, lens=lens, binning=KDTree(0.2))


def test_single_precision_and_a_grouping() -> None:
    probs = vectors(200, 4, 10).astype(np.float32)
    labels = np.random.default_rng(9).integers(0, 4, 200)
    lens = cal.class_groups({"a": [0, 1], "b": [2, 3]})
    tree = KDTree(0.1).fit(probs, lens=lens)
    assert cal.gece(labels, probs, lens=lens, binning=tree) == pytest.approx(cal.gece(labels, probs, lens=lens))


def test_a_tree_survives_pickle() -> None:
    tree = KDTree(0.1, 4).fit(vectors(200, 3, 1))
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert repr(tree) == "KDTree(gamma=0.1, min_size=4), fitted: 16 cells of 'canonical'"
    assert KDTree(0.3) != KDTree(0.3).fit([0.1, 0.9])
    assert repr(KDTree().fit([0.1, 0.9])).endswith("fitted: 1 cell of 'canonical'")


def test_bad_uses_are_refused() -> None:
    probs = vectors(100, 3, 1)
    labels = np.zeros(100, int)
    tree = KDTree(0.2).fit(probs)
    message = (
        "binning: the tree was fitted for 'canonical' with 3 columns; got 'top_k:2' with 2; fit it with lens='top_k:2'"
    )
    with pytest.raises(LensError, match=message):
        cal.gece(labels, probs, lens="top_k:2", binning=tree)
    with pytest.raises(LensError, match="got 'canonical' with 4; fit it on such vectors"):
        cal.gece(labels, vectors(100, 4, 1), binning=tree)
    with pytest.raises(LensError, match="'classwise' has one view for each class"):
        tree.fit(probs, lens="classwise")
    for bad in (5, [], [[0.5, 0.6]], [[np.nan, 1.0]]):
        with pytest.raises(InputError):
            tree.fit(bad)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("classes", [3, 4, 10])
def test_one_hot_forecasts_that_are_all_wrong_have_the_largest_error(classes: int) -> None:
    truth = np.tile(np.arange(classes), 100)
    probs = np.eye(classes)[truth]
    wrong = (truth + 1) % classes
    assert cal.gece(wrong, probs) == 1
    assert cal.gece(truth, probs) == 0
    assert cal.gece_db(wrong, probs) == pytest.approx(1)
    assert cal.gece(wrong, probs, binning=KDTree().fit(probs)) == 1
    found = cal.decompose(wrong, probs, bins=KDTree())
    assert found.reliability == pytest.approx(2)
    assert found.resolution == pytest.approx(found.uncertainty)


def test_ties_at_the_least_value_are_split_above() -> None:
    scores = np.r_[np.full(90, 0.2), np.full(10, 0.7)]
    tree = KDTree(0.1, 10).fit(scores)
    assert tree.nodes_ is not None
    assert len(tree.nodes_) == 1
    assert KDTree(0.1, 11).fit(scores).nodes_ == ()
    assert KDTree(0.1, 1).fit(np.full(50, 0.3)).nodes_ == ()
    # Too few rows below the median, enough above it.
    three = np.r_[np.full(5, 0.1), np.full(60, 0.2), np.full(35, 0.7)]
    for given in (three, 1 - three):
        assert len(KDTree(0.1).fit(given).nodes_ or ()) == 1


def test_the_next_widest_coordinate_is_split_where_the_widest_cannot_be() -> None:
    # The first column varies most, by five rows; the others by half of the rows each.
    rows = [[0.9, 0.05, 0.05]] * 5 + [[0.1, 0.4, 0.5]] * 45 + [[0.1, 0.5, 0.4]] * 50
    tree = KDTree(0.1, 10).fit(rows)
    assert np.var(rows, axis=0).argmax() == 0
    assert tree.nodes_ == ((1, 0.5, -1, -2),) or tree.nodes_ == ((1, 0.5, -2, -1),)


def test_a_tree_knows_the_order_of_its_classes() -> None:
    pd = pytest.importorskip("pandas")
    probs = vectors(300, 4, 2)
    names = np.array(list("abcd"))[np.random.default_rng(3).integers(0, 4, 300)]
    frame = pd.DataFrame(probs, columns=list("abcd"))
    turned = frame[list("dcba")]
    message = (
        "binning: the tree was fitted on the classes a, b, c, d in this order; got d, c, b, a; "
        "pass the columns in that order"
    )
    expected = cal.gece(names, frame)
    for tree in (KDTree().fit(Predictions(names, frame)), KDTree().fit(Predictions(names, frame.add_prefix("p_")))):
        assert tree.classes_ == tuple("abcd")
        for same in (frame, frame.add_prefix("p_")):
            assert cal.gece(names, same, binning=tree) == pytest.approx(expected, abs=1e-14)
        for other in (turned, turned.add_prefix("p_")):
            with pytest.raises(LensError, match=message):
                cal.gece(names, other, binning=tree)
    # Without names there is nothing to compare.
    plain = KDTree().fit(probs)
    assert plain.classes_ is None
    assert cal.gece(names, frame, binning=plain) == pytest.approx(expected, abs=1e-14)
    # Sorted probabilities do not depend on the order of the classes.
    ranked = KDTree().fit(Predictions(names, frame), lens="top_k:2")
    assert ranked.classes_ is None
    assert cal.gece(names, turned, lens="top_k:2", binning=ranked) == cal.gece(
        names, frame, lens="top_k:2", binning=ranked
    )


def test_a_frame_is_read_by_predictions() -> None:
    pd = pytest.importorskip("pandas")
    two = vectors(200, 2, 6)
    labels = np.where(two[:, 0] > 0.5, "yes", "no")
    frame = pd.DataFrame(two, columns=["yes", "no"])
    with pytest.raises(cal.errors.InputTypeError) as raised:
        KDTree().fit(frame)
    assert raised.value.argument == "y_prob"
    tree = KDTree().fit(Predictions(labels, frame))
    assert tree.classes_ == ("no", "yes")  # the positive class is last, as in every metric
    for columns in (["yes", "no"], ["no", "yes"]):
        assert cal.gece(labels, frame[columns], lens="canonical", binning=tree) == cal.gece(
            labels, frame, lens="canonical", binning=tree
        )
