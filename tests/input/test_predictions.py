"""Predictions: every spelling of labels and probabilities becomes the same checked arrays."""

import math
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import calibrant as cal
from calibrant import Predictions
from calibrant.errors import LabelError, ProbabilityError
from calibrant.input.frames import classes_of_columns
from tests.calling import raises

Y = [0, 1, 1, 0]
P = [0.2, 0.8, 0.6, 0.3]
Y3 = [0, 2, 1, 2]
P3 = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]


def two_columns(p: Any) -> np.ndarray:
    return np.column_stack([1 - np.asarray(p), p])


@pytest.mark.parametrize(
    ("given", "kind", "k", "shown"),
    [
        (Predictions(Y, P), "binary", 2, "Predictions(binary, n=4, k=2)"),
        (Predictions(Y, two_columns(P)), "binary", 2, "Predictions(binary, n=4, k=2)"),
        (Predictions(Y3, P3), "multiclass", 3, "Predictions(multiclass, n=4, k=3)"),
        (Predictions(np.eye(3)[Y3], P3, multilabel=True), "multilabel", 3, "Predictions(multilabel, n=4, k=3)"),
        (Predictions(Y, P, input="confidence"), "confidence", 2, "Predictions(confidence, n=4, k=2)"),
        (Predictions(Y, P, counts=[1, 2, 3, 4]), "binary", 2, "Predictions(binary, n=4, k=2, counts weights)"),
    ],
)
def test_kind_of_problem(given: Predictions, kind: str, k: int, shown: str) -> None:
    assert (given.kind, given.k, given.n, len(given), repr(given)) == (kind, k, 4, 4, shown)


def test_arrays_are_kept_without_a_copy_and_cannot_be_written_through() -> None:
    probs = np.array(P3)
    before = probs.copy()
    given = Predictions(Y3, probs)
    assert np.shares_memory(given.probs, probs)
    with pytest.raises(ValueError, match="read-only"):
        given.probs[0, 0] = 1
    assert probs.flags.writeable
    assert (probs == before).all()


def test_a_later_change_of_the_callers_weights_is_not_seen() -> None:
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    given = Predictions(Y, P, sample_weight=weight)
    before = cal.ece(given)
    weight[:] = [9, 0, 0, 0]
    assert cal.ece(given) == before


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ([7, 3, 3, 7], {"classes": [7, 3]}),
        ([2.5, 3.5, 3.5, 2.5], {"classes": (2.5, 3.5)}),
        (pl.Series(["no", "yes", "yes", "no"]), {"pos_label": "yes"}),
        (torch.tensor(Y, dtype=torch.bool), {}),
    ],
)
def test_labels_that_the_contract_does_not_spell(labels: Any, options: dict[str, Any]) -> None:
    given = Predictions(labels, P, **options)
    assert given.labels.tolist() == Y
    assert given.labels.dtype.kind in "iu"


def test_logits_become_probabilities_and_are_kept() -> None:
    z = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
    given = Predictions([1, 2], z, input="logit")
    expected = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert np.allclose(given.probs, expected, rtol=1e-14)
    assert given.logits is not None
    assert (given.logits == z).all()
    one = Predictions([1, 0], [math.log(3), -math.log(3)], input="logit")
    assert np.allclose(one.probs, [0.75, 0.25], rtol=1e-15)


def test_the_loss_of_an_extreme_logit_is_not_infinite() -> None:
    assert cal.nll(cal.Predictions([1, 0], [-800.0, 800.0], input="logit")) == pytest.approx(800, rel=1e-14)
    assert cal.nll(cal.Predictions([1], [[800.0, 0.0]], input="logit")) == pytest.approx(800, rel=1e-14)
    assert cal.nll([1], [0.0]) == math.inf


def test_multilabel_logits_are_independent() -> None:
    given = Predictions([[0, 1, 1]], [[0.0, math.log(3), 800.0]], input="logit", multilabel=True)
    assert np.allclose(given.probs, [[0.5, 0.75, 1.0]])


def test_columns_of_labels_are_matched_by_name() -> None:
    probs = pd.DataFrame(np.array(P3), columns=["p_a", "p_b", "p_c"])
    labels = pd.DataFrame([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], columns=["c", "a", "b"])
    several = Predictions(labels, probs, multilabel=True)
    assert several.labels.tolist() == labels[["a", "b", "c"]].to_numpy().tolist()
    shares = labels / labels.sum(axis=1).to_numpy()[:, None]
    assert np.array_equal(Predictions(shares, probs, soft=True).soft, shares[["a", "b", "c"]])
    assert Predictions(labels[1:], probs[1:]).labels.tolist() == [0, 1, 2]
    by_position = Predictions(labels.to_numpy(), probs, multilabel=True)
    assert by_position.labels.tolist() == labels.to_numpy().tolist()


def test_soft_labels() -> None:
    shares = [0.1, 0.9, 0.5, 0.0]
    assert Predictions(shares, P, soft=True).soft.tolist() == shares
    columns = Predictions(two_columns(shares), P, soft=True)
    assert (columns.soft.tolist(), columns.labels) == (shares, None)
    both = Predictions(two_columns(shares), two_columns(P), soft=True)
    assert both.soft.shape == (4, 2)
    free = Predictions([[0.5, 0.9], [0.1, 0.2]], [[0.4, 0.8], [0.3, 0.3]], soft=True, multilabel=True)
    assert free.soft.tolist() == [[0.5, 0.9], [0.1, 0.2]]


def test_weights_are_kept_as_given_and_extreme_ones_scaled_by_a_power_of_two() -> None:
    given = Predictions(Y, P, sample_weight=[3, 1.5, 6, 0.75])
    assert given.weight_kind == "importance"
    assert given.weight.tolist() == [3, 1.5, 6, 0.75]
    extreme = Predictions(Y, P, sample_weight=[3e-200, 1.5e-200, 6e-200, 0.75e-200]).weight
    assert 0.5 <= extreme.max() < 1
    assert math.frexp(extreme[0] / 3e-200)[0] == 0.5
    assert (extreme / extreme[0]).tolist() == [1, 0.5, 2, 0.25]
    counts = Predictions(Y, P, counts=[3.0, 1.0, 6.0, 2.0])
    assert (counts.weight_kind, counts.weight.tolist(), counts.weight.dtype) == ("counts", [3, 1, 6, 2], np.int64)


def test_rows_without_weight_are_removed_with_all_that_belongs_to_them() -> None:
    given = Predictions(
        Y3, P3, counts=[1, 0, 2, 0], groups=["b", "a", "b", "c"], features=[[1, 2], [3, 4], [5, 6], [7, 8]]
    )
    assert given.n == 2
    assert given.kept.tolist() == [True, False, True, False]
    assert given.groups is not None
    assert given.labels.tolist() == [0, 1]
    assert given.features.tolist() == [[1, 2], [5, 6]]
    assert [given.group_names[code] for code in given.groups] == ["b", "b"]


@pytest.mark.parametrize(
    ("groups", "names", "codes"),
    [
        (["b", "a", "b", "c"], ("a", "b", "c"), [1, 0, 1, 2]),
        ([20, 3, 20, 3], (3, 20), [1, 0, 1, 0]),
        ([True, False, True, True], (False, True), [1, 0, 1, 1]),
        (["b", 1, "b", 2], (1, 2, "b"), [2, 0, 2, 1]),
        (pd.Series(["x", "y", "x", "y"], dtype="category"), ("x", "y"), [0, 1, 0, 1]),
    ],
)
def test_groups_are_coded_in_order_of_their_names(groups: Any, names: tuple[Any, ...], codes: list[int]) -> None:
    given = Predictions(Y, P, groups=groups)
    assert (given.group_names, given.groups.tolist()) == (names, codes)


def test_features_become_columns() -> None:
    assert Predictions(Y, P, features=[1, 2, 3, 4]).features.tolist() == [[1], [2], [3], [4]]


def test_class_index_takes_names_and_numbers() -> None:
    named = Predictions(["a", "c", "b", "c"], P3, classes=["a", "b", "c"])
    assert (named.class_index("b"), Predictions(Y3, P3).class_index(2), Predictions(Y3, P3).class_index("1")) == (
        1,
        2,
        1,
    )
    assert Predictions([10, 30, 20, 30], P3, classes=[10, 20, 30]).class_index("20") == 1
    for bad in (3, -1, True, "b", 1.0):
        with raises(cal.errors.ArgumentError, "lens"):
            Predictions(Y3, P3).class_index(bad)


@pytest.mark.parametrize("rows", [np.array([True, False, True, False]), slice(0, 4, 2), np.array([0, 2])])
def test_take_keeps_rows_and_what_belongs_to_them(rows: Any) -> None:
    whole = Predictions(Y3, P3, sample_weight=[1, 2, 4, 8], groups=["b", "a", "b", "c"])
    assert whole.predicted.tolist() == [0, 1, 0, 2]
    part = whole.take(rows)
    assert (part.n, part.labels.tolist(), part.predicted.tolist()) == (2, [0, 1], [0, 0])
    assert part.weight[1] / part.weight[0] == 4
    assert part.probs.tolist() == [P3[0], P3[2]]
    assert cal.ece(part) == cal.ece([0, 1], [P3[0], P3[2]], sample_weight=[1, 4])


def test_nothing_is_rescaled_unless_asked() -> None:
    doubled = 2 * np.array(P3)
    assert np.allclose(Predictions(Y3, doubled, normalize=True).probs, P3, rtol=1e-15)
    clipped = Predictions([0, 1], [[1.2, 0.0], [-0.1, 1.0]], clip=True)
    assert clipped.probs.tolist() == [[1, 0], [0, 1]]
    assert doubled[0, 0] == 1.2


NAMES = ["cat", "dog", "eel"]
MATRIX = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
NAMED_ROWS = ["cat", "eel", "cat", "dog"]


def table(library: str, columns: list[Any]) -> Any:
    content = dict(zip(columns, MATRIX.T, strict=True))
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](content)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_a_frame_name_the_classes(library: str) -> None:
    frame = table(library, NAMES)
    assert Predictions(NAMED_ROWS, frame).classes == tuple(NAMES)
    assert Predictions(NAMED_ROWS, frame, classes=NAMES).classes == tuple(NAMES)
    turned = frame.select(NAMES[::-1]) if library != "pandas" else frame[NAMES[::-1]]
    read = Predictions(NAMED_ROWS, turned)
    assert read.classes == ("eel", "dog", "cat")
    assert read.labels.tolist() == [2, 0, 2, 1]
    assert read.top_correct.tolist() == [1, 1, 0, 0]
    with pytest.raises(
        cal.errors.ArgumentError,
        match=r"classes: the columns of the probabilities are in another order: \['eel', 'dog', 'cat'\]; drop classes",
    ):
        Predictions(NAMED_ROWS, turned, classes=NAMES)


def test_columns_name_classes_only_where_labels_are_among_them() -> None:
    assert Predictions([0, 2, 0, 1], table("pandas", NAMES)).classes is None  # labels are numbers of columns
    assert Predictions([0, 2, 0, 1], pd.DataFrame(MATRIX)).classes is None
    from_one = Predictions([1, 3, 1, 2], pd.DataFrame(MATRIX, columns=[1, 2, 3]))
    assert from_one.classes == (1, 2, 3)
    given = table("pandas", NAMES).assign(truth=NAMED_ROWS)
    read = Predictions(given, label="truth", prob=["dog", "eel", "cat"])
    assert read.classes == ("dog", "eel", "cat")


@pytest.mark.parametrize("labels", [["cat", "dog", "bird", "eel"], ["bird", "cat", "dog", "eel"]])
def test_a_label_that_no_column_is_called_is_named(labels: list[str]) -> None:
    row = labels.index("bird")
    with pytest.raises(
        cal.errors.LabelError,
        match=rf"labels must be among the classes \['cat', 'dog', 'eel'.*\]; got 'bird' in row {row}",
    ) as raised:
        Predictions(labels, table("pandas", NAMES))
    assert raised.value.row == row
    with pytest.raises(cal.errors.LabelError):
        Predictions(["p", "q", "p", "q"], table("pandas", NAMES))  # none of them is a column


@pytest.mark.parametrize("columns", [[1, 2, 3], [2, 0, 1], [1.0, 2.0, 3.0]])
def test_numbers_that_could_be_names_or_positions_are_refused(columns: list[Any]) -> None:
    frame, labels = pd.DataFrame(MATRIX, columns=columns), [1, 2, 1, 2]
    with pytest.raises(cal.errors.LabelError):
        Predictions(labels, frame)
    counted = Predictions(labels, frame.to_numpy()).labels
    assert counted.tolist() == labels
    named = Predictions(labels, frame, classes=columns).labels
    assert named.tolist() == [columns.index(label) for label in labels]


def test_numbers_that_have_one_reading_are_taken_so() -> None:
    for columns, labels, codes, classes in (
        ([1, 2, 3], [0, 2, 1, 2], [0, 2, 1, 2], None),  # 0 is no name
        ([1, 2, 3], [1, 2, 3, 1], [0, 1, 2, 0], (1, 2, 3)),  # 3 is no position
        ([10, 20, 30], [0, 2, 1, 2], [0, 2, 1, 2], None),
        ([0, 1, 5], [0, 1, 1, 0], [0, 1, 1, 0], (0, 1, 5)),  # both are the same
    ):
        read = Predictions(labels, pd.DataFrame(MATRIX, columns=columns))
        assert (read.labels.tolist(), read.classes) == (codes, classes)
    turned = Predictions([True, False, True, True], pd.DataFrame(MATRIX[:, :2], columns=[True, False]), normalize=True)
    assert turned.labels.tolist() == [1, 0, 1, 1]  # True is the positive class
    assert turned.probs[:, 1].tolist() == (MATRIX[:, 0] / MATRIX[:, :2].sum(axis=1)).tolist()


def test_names_are_sought_among_labels_of_every_type() -> None:
    frame = table("pandas", NAMES)
    for labels in (np.array(NAMED_ROWS), np.array(NAMED_ROWS, dtype=object), pd.Series(NAMED_ROWS, dtype="category")):
        assert Predictions(labels, frame).classes == tuple(NAMES)
    with pytest.raises(cal.CalibrantError):
        Predictions(np.array(["cat", ["dog"], "cat", "eel"], dtype=object), frame)


@pytest.mark.parametrize("labels", [np.arange(30_000) % 3, np.array(NAMES)[np.arange(30_000) % 3]], ids=["int", "text"])
@pytest.mark.parametrize("kind", [None, object])
def test_no_call_is_made_for_each_label(labels: Any, kind: Any) -> None:
    calls: list[str] = []
    given = labels if kind is None else labels.astype(kind)
    sys.setprofile(lambda frame, event, argument: calls.append(event))
    try:
        classes_of_columns(tuple(NAMES), None, given)
    finally:
        sys.setprofile(None)
    assert 0 < len(calls) < 200


def test_an_index_in_another_order_is_refused() -> None:
    labels, frame = pd.Series([0, 2, 0, 1]), pd.DataFrame(MATRIX)
    with pytest.raises(cal.errors.InputError, match=r"y_prob: has the same index .* pass y_prob.loc\[y_true.index\]"):
        Predictions(labels, frame.iloc[::-1])
    with raises(cal.errors.InputError, "groups"):
        Predictions(labels, frame, groups=pd.Series(list("abcd")).iloc[[1, 0, 2, 3]])
    assert Predictions(labels, frame.iloc[::-1].to_numpy()).n == 4
    assert Predictions(labels, frame.set_index(pd.Index([7, 8, 9, 10]))).n == 4  # other rows: read by position
    assert Predictions(labels.set_axis(list("dcba")), frame.set_index(pd.Index(list("dcba")))).n == 4
    partly = Predictions(
        labels, frame.set_index(pd.Index([3, 2, 1, 9]))
    )  # some rows are others: the index means another thing
    assert np.array_equal(partly.probs, MATRIX)
    assert Predictions(labels, frame.set_index(pd.Index([1, 0, 0, 1]))).n == 4  # names rows twice


@pytest.mark.parametrize(
    ("labels", "classes", "positive", "names"),
    [
        (["alive", "dead", "alive", "dead"], None, "dead", ("alive", "dead")),
        (["alive", "dead", "alive", "dead"], ["dead", "alive"], "dead", ("alive", "dead")),
        ([2, 1, 1, 2], None, 1, (2, 1)),
        (["dead"] * 4, None, "dead", ("not dead", "dead")),
    ],
)
def test_the_positive_label_names_the_second_class(labels: Any, classes: Any, positive: Any, names: Any) -> None:
    read = Predictions(labels, [0.1, 0.7, 0.4, 0.8], classes=classes, pos_label=positive)
    assert read.classes == names
    assert read.labels is not None
    assert [names[code] for code in read.labels] == labels


# Two classes whose names tell the positive one

EVENT = np.array([1, 0, 0, 1, 0, 1, 0])
RISK = np.array([0.9, 0.3, 0.2, 0.6, 0.4, 0.7, 0.1])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "labels", [EVENT, EVENT.astype(bool), np.array(["no", "yes"])[EVENT]], ids=["int", "bool", "text"]
)
@pytest.mark.parametrize("names", [("p_yes", "p_no"), ("yes", "no"), ("p_no", "p_yes"), ("no", "yes")])
def test_a_frame_tells_the_positive_class_by_the_names_of_its_columns(library: str, labels: Any, names: Any) -> None:
    columns = {name: RISK if "yes" in name else 1 - RISK for name in names}
    frame = pd.DataFrame({"y": labels, **columns})
    table = frame if library == "pandas" else pl.from_pandas(frame)
    for read in (
        Predictions(table, label="y", prob=list(names)),
        Predictions(table, label="y", prob="*[so]"),
        Predictions(labels, table[list(names)]),
    ):
        assert (read.labels.tolist(), read.probs[:, 1].tolist()) == (EVENT.tolist(), RISK.tolist())
    if labels.dtype.kind == "U":
        turned = Predictions(table, label="y", prob=list(names), pos_label="no")
        assert (turned.labels.tolist(), turned.classes) == ((1 - EVENT).tolist(), ("yes", "no"))
        assert turned.probs[:, 1].tolist() == (1 - RISK).tolist()
        assert "positive class no" in repr(cal.evaluate(turned, metrics=["ece"]))


@pytest.mark.parametrize("names", [("p_1", "p_0"), ("p_0", "p_1"), ("prob_1", "prob_0")])
def test_numbered_columns_of_two_classes_are_read_by_their_numbers(names: tuple[str, str]) -> None:
    frame = pd.DataFrame({"y": EVENT, **{name: RISK if name.endswith("1") else 1 - RISK for name in names}})
    assert cal.esce(cal.Predictions(frame, label="y", prob=list(names))) == cal.esce(EVENT, RISK)
    assert cal.esce(EVENT, frame[list(names)]) == cal.esce(EVENT, RISK)
    fitted = cal.PlattScaling().fit(np.tile(RISK, 4), np.tile(EVENT, 4))
    rows = pd.concat([frame] * 4, ignore_index=True)
    named = cal.PlattScaling().fit(rows[list(names)], rows["y"])
    np.testing.assert_allclose(named.predict_proba(frame[list(names)]), fitted.predict_proba(RISK), atol=1e-12)


def test_numbered_columns_of_several_classes_are_read_by_their_numbers() -> None:
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(4), 60), np.arange(60) % 4
    frame = pd.DataFrame({f"p_{k}": probs[:, k] for k in (2, 0, 3, 1)})
    assert cal.nll(labels, frame) == pytest.approx(cal.nll(labels, probs), rel=1e-12)
    assert cal.nll(cal.Predictions(frame.assign(y=labels), label="y", prob="p_*")) == pytest.approx(
        cal.nll(labels, probs), rel=1e-12
    )
    left = cal.VectorScaling().fit(frame, labels).predict_proba(frame.iloc[:9])
    right = cal.VectorScaling().fit(probs, labels).predict_proba(probs[:9])
    np.testing.assert_allclose(left, right, atol=1e-9)


def test_names_that_tell_nothing_keep_the_order_of_the_columns() -> None:
    frame = pd.DataFrame({"dog": RISK, "cat": 1 - RISK})
    read = Predictions(np.array(["cat", "dog"])[EVENT], frame)
    assert read.classes == ("dog", "cat")
    assert read.probs[:, 1].tolist() == (1 - RISK).tolist()


@pytest.mark.parametrize("decimals", [3, 4, 6, 7])
@pytest.mark.parametrize("k", [3, 10])
def test_rows_of_printed_numbers_miss_1_by_their_rounding(decimals: int, k: int) -> None:
    rows = np.round(np.random.default_rng(k).dirichlet(np.ones(k), 300), decimals)
    assert np.abs(rows.sum(axis=1) - 1).max() > 0.5 * 10**-decimals
    assert cal.Predictions(np.arange(300) % k, rows).n == 300


@pytest.mark.parametrize(
    ("row", "options"),
    [
        ([0.333, 0.333, 0.332], {}),
        ([0.333333, 0.333333, 0.333332], {}),
        ([0.33, 0.33, 0.33], {}),
        ([0.5, 0.3, 0.1], {}),
        ([0.333333] * 3, {"normalize": 1e-8}),
        ([1 / 3, 1 / 3, 1 / 3 + 1e-5], {}),  # rows that are not rounded have the tolerance of their precision
    ],
)
def test_a_sum_beyond_rounding_is_an_error(row: list[float], options: dict[str, Any]) -> None:
    with pytest.raises(ProbabilityError):
        cal.Predictions([0], [row], **options)


def test_ordered_categories_name_the_columns_of_an_array() -> None:
    pandas = pytest.importorskip("pandas")
    rows = np.eye(3) * 0.7 + 0.1
    labels = pandas.Categorical(["a", "b", "c"], categories=["a", "b", "c"], ordered=True)
    assert cal.Predictions(labels, rows).classes == ("a", "b", "c")
    labels = pandas.Categorical(["low", "mid", "high"], categories=["low", "mid", "high"], ordered=True)
    with pytest.raises(LabelError):
        cal.Predictions(labels, rows)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [3, 10, 30])
def test_the_largest_entry_of_each_row_is_found_among_ties(classes: int, dtype: Any, order: Any) -> None:
    rng = np.random.default_rng(classes)
    probs = rng.multinomial(8, np.full(classes, 1 / classes), 501) / 8  # exact in float32, and most rows have a tie
    probs[probs == 0] = rng.choice([0.0, -0.0], np.count_nonzero(probs == 0))
    labels = rng.integers(0, classes, len(probs))
    p = Predictions(labels, np.array(probs, dtype, order=order))
    assert p.top_score.tolist() == probs.max(axis=1).tolist()
    assert p.top_correct.tolist() == (probs.argmax(axis=1) == labels).tolist()
    assert p.predicted.tolist() == probs.argmax(axis=1).tolist()
    assert Predictions([0, 1], np.array([0.5, 0.5], dtype)).predicted.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("names", "pos_label"), [(("no", "yes"), None), (("no", "yes"), "yes"), (("bad", "good"), "good"), ((0, 1), 1)]
)
def test_two_unnamed_columns_are_in_the_sorted_order_of_the_labels(names: Any, pos_label: Any) -> None:
    codes, score = np.array([0, 1, 1, 0]), np.array([0.1, 0.8, 0.6, 0.3])
    p = cal.Predictions(np.array(names)[codes], np.column_stack([1 - score, score]), pos_label=pos_label)
    assert (p.labels.tolist(), list(p.classes or ())) == (codes.tolist(), list(names))


@pytest.mark.parametrize(
    ("names", "pos_label", "argument"),
    [
        (("churn", "no_churn"), None, "y_true"),
        (("churn", "no_churn"), "churn", "pos_label"),
        (("a", "b"), None, "y_true"),
    ],
)
def test_two_unnamed_columns_in_an_order_that_is_not_known(names: Any, pos_label: Any, argument: str) -> None:
    with pytest.raises(cal.errors.LabelError) as caught:
        cal.Predictions(np.array(names)[[0, 1]], [[0.4, 0.6], [0.2, 0.8]], pos_label=pos_label)
    assert caught.value.argument == argument
