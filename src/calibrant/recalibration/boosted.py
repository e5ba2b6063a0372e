"""Boosted calibration: corrections of the log-odds that depend on features, as far as they reduce a cross-validated loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..errors import ArgumentError, ColumnError
from ..input.features import Column, read_features
from ..util.checks import check_number, check_whole
from ..util.progress import track
from .base import ContextCalibrator, CountingCalibrator, Input, columns_as_in_fit
from .scores import SMALLEST, Floats, Scores, TrainingData, dealt, order_of_content
from .softmax_regression import softmax
from .trees import Codes, Rules, Tree, check_categorical, encode, encode_numbers, grow, learn_codes, range_ends

# Rounds without a smaller held-out loss after which the search stops.
PATIENCE = 20
# Standard errors by which the held-out loss must fall; otherwise the scores are not changed.
LEAST_GAIN = 2.0


@dataclass(eq=False, repr=False)
class BoostedCalibration(ContextCalibrator, CountingCalibrator):
    r"""Boosted calibration: gradient boosting of the logits with the score as offset, on features of the rows and on the score.

    It corrects miscalibration that depends on more than the score, such as an interaction of two features that the classifier misses.
    The number of rounds is chosen by cross-validation; where the held-out loss does not fall by two standard errors, the scores stay
    as they are.

    Parameters
    ----------
    input
    categorical : sequence of str or int, default ()
        Columns of numbers that are categories, by name in a frame or by position. Columns of text are categories anyway.
    max_rounds : int, default 300
        Maximum number of rounds; each adds one tree, or one per class for three or more classes.
    learning_rate : float, default 0.1
        Factor of the values of each tree.
    depth : int, default 3
        Depth of the trees: the number of features that can interact within one.
    min_rows : float, default 20
        Minimum number of rows of a leaf.
    penalty : float, default 1
        Ridge penalty on the values of the leaves.
    folds : int, default 5
        Number of folds that choose the number of rounds, 2 or more; with 0, `max_rounds` rounds are used.

    Attributes
    ----------
    rounds_ : int
        Number of rounds; 0 if the scores are not changed.
    names_ : tuple of str
        Names of the columns of the features; empty for an array.
    columns_ : tuple of ndarray
        Upper ends of the ranges of each numeric column, or the names of its categories.
    score_ends_ : tuple of ndarray
        Upper ends of the ranges of the log-odds of each corrected class.
    split_columns_ : ndarray of shape (rounds, classes, 2**depth - 1)
        Column by which each node of each tree divides its rows; the last is the score.
    split_sets_ : ndarray of shape (rounds, classes, 2**depth - 1)
        Ranges or categories that go to the right at each node, as the bits of a number.
    leaves_ : ndarray of shape (rounds, classes, 2**depth)
        Value of each leaf.
    classes_
    fit_record_

    See Also
    --------
    GroupCalibration : One calibrator per group.
    MultiCalibration : Corrections of named groups.
    calibrant.grouping_loss : A measure of miscalibration that depends on features.

    Notes
    -----
    For logits :math:`z`, or :math:`z = \ln p` for probabilities, and features :math:`x`,

    .. math:: q = \operatorname{softmax}(z + \eta \sum_r f_r(x, z)),

    where each tree :math:`f_r` is a Newton step of the negative log-likelihood: a leaf has the value :math:`-G / (H + \lambda)` for the
    sums of first and second derivatives in it. For two classes only the logit of the second is corrected. Numeric columns have
    at most 62 ranges of equal weight, categorical ones the 62 most frequent categories. Missing values and rare categories go to the side where
    the loss is less. Masks of subgroups, as columns of 0 and 1, can be features.

    Extrapolation is constant beyond the features of the fit. With 20,000 rows of two features, a fit takes seconds.

    References
    ----------
    .. [1] Friedman, J. H. (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29.
    .. [2] Tax, N., Perini, L., Linder, F., et al. (2025). MCGrad: multicalibration at web scale. arXiv 2509.19884.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4000, 2))
    >>> y = rng.random(4000) < expit(x[:, 0] + 1.5 * x[:, 0] * x[:, 1])
    >>> calibrator = cal.BoostedCalibration().fit(expit(x[:2000, 0]), y[:2000], features=x[:2000])
    >>> after = calibrator.predict_proba(expit(x[2000:, 0]), features=x[2000:])
    >>> round(cal.nll(y[2000:], expit(x[2000:, 0])), 3), round(cal.nll(y[2000:], after), 3)
    (0.668, 0.55)
    """

    needs = "features"
    methods = ()
    fitted = ("rounds_", "names_", "columns_", "score_ends_", "split_columns_", "split_sets_", "leaves_")
    checks = {
        "categorical": check_categorical,
        "max_rounds": check_whole,
        "learning_rate": partial(check_number, above=True),
        "depth": check_whole,
        "min_rows": check_number,
        "penalty": partial(check_number, above=True),
        "folds": partial(check_whole, low=0),
    }
    least_probability = SMALLEST

    input: Input = "prob"
    categorical: tuple[Any, ...] = ()
    max_rounds: int = 300
    learning_rate: float = 0.1
    depth: int = 3
    min_rows: float = 20
    penalty: float = 1.0
    folds: int = 5

    def _check_params(self) -> None:
        super()._check_params()
        if self.folds == 1:
            raise ArgumentError("folds", "must be 0, or 2 or more; got 1")

    def _fit(self, data: TrainingData) -> None:
        weight = data.effective_weight
        columns = read_features(data.beside, data.rows_given, data.kept(np.arange(data.rows_given)))
        self.names_ = tuple(column.name for column in columns if column.name)
        chosen = self._categorical_columns(len(columns))
        self.columns_ = tuple(learn_codes(each, weight, place in chosen) for place, each in enumerate(columns))
        odds = [data.odds_of(c) for c in self._classes(data.k)]
        self.score_ends_ = tuple(range_ends(each, weight) for each in odds)
        codes = self._codes(columns, odds)
        self.rounds_ = self._best_rounds(data, codes, weight) if self.folds else self.max_rounds
        whole = self._boosting(data, codes, weight)
        trees = [whole.step() for _ in track(range(self.rounds_), "rounds")]
        shape = (self.rounds_, len(odds), -1) if trees else (0, len(odds), 0)
        flat = [tree for each in trees for tree in each]
        self.split_columns_ = np.array([tree.columns for tree in flat], np.int64).reshape(shape)
        self.split_sets_ = np.array([tree.sets for tree in flat], np.int64).reshape(shape)
        self.leaves_ = np.array([tree.leaves for tree in flat], np.float64).reshape(shape)

    def _classes(self, k: int) -> range:
        """The classes whose logits are corrected: one of two, or all."""
        return range(1, 2) if k == 2 else range(k)

    def _categorical_columns(self, count: int) -> set[int]:
        """The numbers of the columns that are named as categorical."""
        for entry in self.categorical:
            if entry not in self.names_ and entry not in range(count):
                raise ColumnError("categorical", f"{entry!r} is not a column of the features")
        return {self.names_.index(entry) if entry in self.names_ else int(entry) for entry in self.categorical}

    def _codes(self, columns: Sequence[Column], odds: list[Floats]) -> list[Codes]:
        """Codes of the features and of the score, for each corrected class."""
        shared = [encode(values, ends) for values, ends in zip(columns, self.columns_, strict=True)]
        return [
            np.column_stack([*shared, encode_numbers(own, ends)])
            for own, ends in zip(odds, self.score_ends_, strict=True)
        ]

    def _boosting(self, data: TrainingData, codes: list[Codes], weight: Floats) -> _Boosting:
        rules = Rules(self.depth, self.min_rows, self.penalty)
        unordered = [*(ends.dtype.kind == "U" for ends in self.columns_), False]
        return _Boosting(data, codes, weight, unordered, rules, self.learning_rate)

    def _best_rounds(self, data: TrainingData, codes: list[Codes], weight: Floats) -> int:
        """The number of rounds of least held-out loss; 0 if the loss falls by fewer than two standard errors."""
        order = order_of_content(data, beside=codes[0])
        parts = dealt(data, order, np.full(self.folds, 1 / self.folds)) * (weight / data.weight)
        boostings = [self._boosting(data, codes, weight - part) for part in parts]
        plain = boostings[0].row_loss()
        share = parts / weight.sum()
        best, rounds, error = 0.0, 0, 0.0
        for number in track(range(1, self.max_rounds + 1), "rounds"):
            for boosting in boostings:
                boosting.step()
            gains = plain - np.array([boosting.row_loss() for boosting in boostings])
            mean = float((share * gains).sum())
            if mean > best:
                spread = share / weight.sum() if data.counted else share**2
                best, rounds, error = mean, number, math.sqrt(float((spread * (gains - mean) ** 2).sum()))
            elif number - rounds >= PATIENCE:
                break
        return rounds if best > LEAST_GAIN * error else 0

    def _predict(self, data: Scores) -> Floats:
        columns = columns_as_in_fit(data, self.names_, len(self.columns_))
        classes = self._classes(data.k)
        codes = self._codes(columns, [data.odds_of(c) for c in classes])
        logits = data.logits.copy()
        for round_ in zip(self.split_columns_, self.split_sets_, self.leaves_, strict=True):
            for c, own, *parts in zip(classes, codes, *round_, strict=True):
                tree = Tree(*parts)
                logits[:, c] += self.learning_rate * tree.leaves[tree.leaf_of(own)]
        return softmax(logits)


class _Boosting:
    """Logits of all rows, to which each round adds a tree for each corrected class."""

    def __init__(
        self, data: TrainingData, codes: list[Codes], weight: Floats, unordered: list[bool], rules: Rules, rate: float
    ) -> None:
        self.logits, self.labels, self.weight = data.logits.copy(), data.labels, weight
        self.codes, self.unordered, self.rules, self.rate = codes, unordered, rules, rate
        self.rows, self.first = np.arange(data.n), data.k - len(codes)

    def step(self) -> list[Tree]:
        """One round: trees fitted to the derivatives of the negative log-likelihood at the current probabilities."""
        probs = softmax(self.logits)
        trees = []
        for c, codes in enumerate(self.codes, self.first):
            gradient = self.weight * (probs[:, c] - (self.labels == c))
            hessian = self.weight * probs[:, c] * (1 - probs[:, c])
            tree, leaf = grow(codes, self.unordered, gradient, hessian, self.weight, self.rules)
            self.logits[:, c] += self.rate * tree.leaves[leaf]
            trees.append(tree)
        return trees

    def row_loss(self) -> Floats:
        """Negative log-likelihood of each row."""
        shifted = self.logits - self.logits.max(axis=1, keepdims=True)
        return np.asarray(np.log(np.exp(shifted).sum(axis=1)) - shifted[self.rows, self.labels])
