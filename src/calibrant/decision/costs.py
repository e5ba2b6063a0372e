"""Costs of decisions: cost-minimal actions, expected and realised costs, decision curves, top-k predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.table import binomial_interval
from ..errors import ArgumentError, ShapeError
from ..input.convert import column, numbers
from ..input.predictions import Predictions
from ..metrics.cumulative.thresholds import threshold_regrets
from ..util.arrays import Floats
from ..util.checks import check_number, check_whole, is_number
from ..util.results import Record, Result, number
from ..views.keywords import documents_keywords
from ..views.lenses import within_top
from ..views.resolve import as_predictions, resolve, views_of
from ..views.view import Block, VectorView, View
from .rows import INPUT, finite_column, one_view, read_distributions, several_classes

Rule = NDArray[np.intp] | int


@dataclass(frozen=True, repr=False)
class CostDecision(Result):
    """Cost-minimal action for each row.

    Parameters
    ----------
    action : ndarray of int
        Column of the cost matrix for each row; the number of columns stands for rejection if a rejection cost was given.
    cost : ndarray
        Expected cost of the action of each row under the predicted probabilities.
    threshold : float or None
        For two classes and two actions, the probability above which action 1 is taken; None otherwise and with a rejection cost.
    """

    action: NDArray[np.intp]
    cost: Floats
    threshold: float | None

    _hidden = ("threshold",)

    def _columns(self) -> dict[str, Any]:
        return self._fields()

    def _title(self) -> str:
        shares = ", ".join(f"{name}: {count}" for name, count in self._counts())
        limit = "" if self.threshold is None else f", action 1 above probability {number(self.threshold)}"
        return f"{len(self.action)} decisions (action: rows) {shares}; mean expected cost {number(float(self.cost.mean()))}{limit}"

    def _table(self) -> tuple[list[str], list[tuple[int, int]]]:
        return ["action", "rows"], self._counts()

    def _counts(self) -> list[tuple[int, int]]:
        names, counts = np.unique(self.action, return_counts=True)
        return list(zip(names.tolist(), counts.tolist(), strict=True))

    def __repr__(self) -> str:
        return self._title()


@dataclass(frozen=True, repr=False)
class ExpectedCost(Result):
    """Expected and realised mean cost of cost-minimal actions.

    Parameters
    ----------
    claimed : float
        Mean cost expected under the predicted probabilities.
    realised : float
        Mean cost given the observed labels.
    gap : float
        Realised minus claimed cost: near 0 for calibrated probabilities, positive if they are overconfident for this decision.
    gap_error : float
        Standard error of the gap.
    baseline : float or None
        Realised mean cost of the reference policy; None if there is none.
    regret : float or None
        Realised cost minus that of the reference policy; negative if the cost-minimal actions were cheaper.
    action : ndarray of int
        Action of each row.
    """

    claimed: float
    realised: float
    gap: float
    gap_error: float
    baseline: float | None
    regret: float | None
    action: NDArray[np.intp]

    def _title(self) -> str:
        return "Mean cost"

    def _table(self) -> tuple[list[str], list[tuple[str, str]]]:
        names = ("claimed", "realised", "gap", "gap_error", "baseline", "regret")
        return ["", "mean cost"], [(name.replace("_", " "), number(getattr(self, name))) for name in names]

    def __repr__(self) -> str:
        lines = (f"  {name:<10} {text}" for name, text in self._table()[1])
        return "\n".join([self._title(), *self._dropped_lines(), *lines])


@documents_keywords(table=INPUT)
def cost_decision(
    y_prob: Any, cost: Any, *, reject: float | None = None, input: Literal["prob", "logit"] = "prob"
) -> CostDecision:
    r"""Choose the action with the smallest expected cost for each row.

    Parameters
    ----------
    y_prob : array-like of shape (N,) or (N, K), or Predictions
        Predicted probabilities.
    cost : array-like of shape (K, A)
        Entry (k, a) is the cost of action a if class k is true. The number of actions may differ from the number of classes.
    reject : float, optional
        Cost of rejecting a row; it is rejected if every action has a larger expected cost.
    input

    Returns
    -------
    CostDecision
        Result with the attributes ``action``, ``cost`` and ``threshold``. The first of several equally cheap actions is taken.

    Raises
    ------
    ShapeError
        If the cost matrix does not have one row per class.

    See Also
    --------
    expected_cost : Evaluation of these decisions with labels.

    Notes
    -----
    The action minimises :math:`\sum_k p_k c_{ka}` over a. With two classes, two actions and zero cost for correct decisions, action 1 is
    taken above :math:`c_{01} / (c_{01} + c_{10})`.

    References
    ----------
    .. [1] Elkan, C. (2001). The foundations of cost-sensitive learning. IJCAI.
    .. [2] Chow, C. K. (1970). On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory 16.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.cost_decision([0.1, 0.3], [[0, 1], [4, 0]]).action.tolist()
    [0, 1]
    """
    view = _whole_rows(read_distributions("cost_decision", y_prob, input))
    matrix = _matrix(cost, view.k)
    action, claimed = _cheapest(view, matrix, None if reject is None else check_number(reject, "reject"))
    threshold = None
    if reject is None and matrix.shape == (2, 2):
        needless, missed = matrix[0, 1] - matrix[0, 0], matrix[1, 0] - matrix[1, 1]
        if needless >= 0 and missed >= 0 and needless + missed > 0:
            threshold = float(needless / (needless + missed))
    return CostDecision(action, claimed, threshold)


@documents_keywords()
def expected_cost(
    y_true: Any,
    y_prob: Any = None,
    *,
    cost: Any,
    reject: float | None = None,
    policy: Any = None,
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> ExpectedCost:
    """Estimate the mean cost of cost-minimal actions, as predicted and as realised.

    The predicted cost is the expectation under the predicted probabilities; the realised cost uses the labels. Their gap measures
    calibration for this particular decision.

    Parameters
    ----------
    y_true
    y_prob
    cost : array-like of shape (K, A)
        Entry (k, a) is the cost of action a if class k is true.
    reject : float, optional
        Cost of rejecting a row.
    policy : array-like of shape (N,), optional
        Action of each row under a reference policy; by default the most probable class.
    where
    sample_weight
    pos_label

    Returns
    -------
    ExpectedCost
        Result with the attributes ``claimed``, ``realised``, ``gap``, ``gap_error``, ``baseline``, ``regret`` and ``action``.

    See Also
    --------
    cost_decision : The actions, without labels.
    net_benefit : Decision curve for two classes.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.decision.expected_cost([0, 1], [0.1, 0.3], cost=[[0, 1], [4, 0]])
    >>> round(result.claimed, 4), result.realised
    (0.55, 0.0)
    """
    source = as_predictions(y_true, y_prob, sample_weight, pos_label, where)
    if where is not None and policy is not None:
        raise ArgumentError("where", "cannot be combined with policy", "select the rows of both first")
    view = _whole_rows(several_classes("expected_cost", source))
    matrix = _matrix(cost, view.k)
    reject = None if reject is None else check_number(reject, "reject")
    action, claimed = _cheapest(view, matrix, reject)
    table = matrix if reject is None else np.column_stack([matrix, np.full(view.k, reject)])
    realised = _realised_cost(view, table, action)
    mean_claimed, mean_realised = view.mean(claimed), view.mean(realised)
    other = _policy(policy, source, table)
    baseline = None if other is None else view.mean(_realised_cost(view, table, other))
    gap = mean_realised - mean_claimed
    spread = view.weights**2 if view.weight_kind == "importance" else view.weights
    error = math.sqrt(float(spread @ (realised - claimed - gap) ** 2)) / view.total
    regret = None if baseline is None else mean_realised - baseline
    return ExpectedCost(mean_claimed, mean_realised, gap, error, baseline, regret, action)


def _whole_rows(source: Predictions) -> VectorView:
    view = views_of(source, "canonical")[0]
    assert isinstance(view, VectorView)
    return view


def _matrix(cost: Any, k: int) -> Floats:
    matrix = numbers(column(cost, "cost").array, "cost").astype(np.float64)
    if matrix.ndim != 2 or len(matrix) != k or matrix.shape[1] < 1:
        raise ShapeError("cost", f"expected {k} rows, one for each true class; got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ArgumentError("cost", "must be finite", "use a large number for a forbidden action")
    return matrix


def _cheapest(view: VectorView, matrix: Floats, reject: float | None) -> tuple[NDArray[np.intp], Floats]:
    def decide(block: Block) -> Floats:
        expected = block.probs @ matrix
        action = expected.argmin(axis=1)
        least = expected[np.arange(len(action)), action]
        if reject is not None:
            action, least = np.where(least > reject, matrix.shape[1], action), np.minimum(least, reject)
        return np.column_stack([action, least])

    both = view.each_row(decide)
    return both[:, 0].astype(np.intp), both[:, 1]


def _realised_cost(view: VectorView, table: Floats, action: NDArray[np.intp]) -> Floats:
    """Realised cost of the action of each row; the mean over classes for soft labels."""
    parts = [(block.targets * table[:, action[rows]].T).sum(axis=1) for rows, block in view.blocks()]
    return np.concatenate(parts)


def _policy(policy: Any, source: Predictions, table: Floats) -> NDArray[np.intp] | None:
    if policy is None:
        return np.asarray(source.predicted, dtype=np.intp) if table.shape[1] >= source.k else None
    actions = finite_column(policy, "policy", source.n, source.kept)
    bad = actions[~((actions == np.floor(actions)) & (actions >= 0) & (actions < table.shape[1]))]
    if len(bad):
        raise ArgumentError("policy", f"actions must be integers from 0 to {table.shape[1] - 1}; got {bad[0]:g}")
    return actions.astype(np.intp)


@dataclass(frozen=True, repr=False)
class LargestRegret(Record):
    """The threshold at which deciding by the scores loses most against the same decision for all rows.

    Parameters
    ----------
    regret : float
        Mean loss of the decisions by the scores minus that of the better decision for all rows; 0 if there is no such loss.
    threshold : float
        The threshold.
    better : {"all", "none"}
        Whether acting on all rows, or on none, is better there.
    """

    regret: float
    threshold: float
    better: str

    def _title(self) -> str:
        if self.regret == 0:
            return "At every threshold, deciding by the scores is at least as good as acting on all rows or on none."
        where = f"at threshold {number(self.threshold)}, where acting on {self.better} rows is better"
        return f"Largest regret {number(self.regret)}, {where.replace('none rows', 'no row')}"


@dataclass(frozen=True, repr=False)
class NetBenefit(Result):
    """Decision curve of a prediction model.

    Parameters
    ----------
    threshold : ndarray
        Threshold probabilities.
    net_benefit : ndarray
        Net benefit of acting on rows with a risk at or above the threshold; "treat none" has net benefit 0.
    treat_all : ndarray
        Net benefit of acting on all rows.
    standardised : ndarray
        Net benefit divided by its maximum, the prevalence; NaN if there are no events.
    avoided : ndarray
        Net number of interventions avoided per row, compared with treating all.
    standard_error : ndarray
        Standard error of the net benefit.
    prevalence : float
        Share of events.
    """

    threshold: Floats
    net_benefit: Floats
    treat_all: Floats
    standardised: Floats
    avoided: Floats
    standard_error: Floats
    prevalence: float

    def __len__(self) -> int:
        return len(self.threshold)

    _hidden = ("prevalence",)
    _numeric, _width = range(6), 9

    def _columns(self) -> dict[str, Any]:
        return self._fields()

    def _title(self) -> str:
        return f"Net benefit at {len(self)} threshold{'' if len(self) == 1 else 's'}; treating none has net benefit 0"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        shown = np.unique(np.linspace(0, len(self) - 1, min(len(self), 10)).astype(int))
        rows = [[number(values[i]) for values in self._fields().values()] for i in shown]
        return ["threshold", "benefit", "all", "standard", "avoided", "error"], rows


@documents_keywords()
def largest_regret(
    y_true: Any,
    y_prob: Any = None,
    *,
    lens: Any = "auto",
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> LargestRegret:
    r"""Find the threshold at which deciding by the scores loses most against acting on all rows or on none.

    The value is the U-calibration error `u_cal`. Use it where the users of the scores, and their costs, are unknown.

    Parameters
    ----------
    y_true
    y_prob
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    LargestRegret
        Result with the attributes ``regret``, ``threshold`` and ``better``.

    See Also
    --------
    net_benefit : The net benefit at given thresholds.

    Notes
    -----
    Acting on a row costs v if the event does not occur, and not acting costs 1 - v if it does, both counted twice, as in the V-shaped loss of [1]_.

    References
    ----------
    .. [1] Kleinberg, R., Paes Leme, R., Schneider, J. and Teng, Y. (2023). U-calibration: forecasting for an unknown agent. COLT.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.largest_regret([0, 0, 0, 1], [0.2, 0.7, 0.8, 0.9])
    Largest regret 0.5500, at threshold 0.7000, where acting on no row is better
    """
    view = one_view("largest_regret", resolve(y_true, y_prob, sample_weight, pos_label, where), lens)
    thresholds, regrets = threshold_regrets(view)
    worst = int(regrets.argmax())
    better = "all" if thresholds[worst] < view.mean(view.outcome) else "none"
    return LargestRegret(max(0.0, float(regrets[worst])), float(thresholds[worst]), better)


@documents_keywords()
def net_benefit(
    y_true: Any,
    y_prob: Any = None,
    *,
    thresholds: Any = None,
    lens: Any = "auto",
    where: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> NetBenefit:
    r"""Compute the net benefit of a prediction model over a range of threshold probabilities (decision curve analysis).

    Net benefit counts true positives minus false positives, weighted by the odds of the threshold probability at which a decision maker
    would act. Compare it with acting on all rows and on none.

    Parameters
    ----------
    y_true
    y_prob
    thresholds : float or array-like, optional
        Threshold probabilities between 0 and 1; by default 0.01, 0.02, ..., 0.99.
    lens
    where
    sample_weight
    pos_label

    Returns
    -------
    NetBenefit
        Result with the attributes ``threshold``, ``net_benefit``, ``treat_all``, ``standardised``, ``avoided`` and ``standard_error``.

    Raises
    ------
    ArgumentError
        If a threshold is not between 0 and 1.

    See Also
    --------
    decision_curve : Several models, with confidence intervals and a figure.
    expected_cost : Costs of decisions for any number of classes and actions.

    Notes
    -----
    At threshold probability t, with n rows,

    .. math:: \mathrm{NB}(t) = \frac{\mathrm{TP}(t)}{n} - \frac{\mathrm{FP}(t)}{n} \cdot \frac{t}{1 - t}.

    References
    ----------
    .. [1] Vickers, A. J. and Elkin, E. B. (2006). Decision curve analysis. Medical Decision Making 26.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.net_benefit([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], thresholds=[0.5]).net_benefit.tolist()
    [0.5]
    """
    view = one_view("net_benefit", resolve(y_true, y_prob, sample_weight, pos_label, where), lens)
    t = check_thresholds(np.arange(1, 100) / 100 if thresholds is None else thresholds)
    order = np.argsort(view.score, kind="stable")
    score, weight, hit = view.score[order], view.weights[order], view.outcome[order].astype(np.float64)
    first = np.searchsorted(score, t, side="left")
    odds, total = t / (1 - t), view.total
    spread = weight**2 if view.weight_kind == "importance" else weight

    def above(values: Floats) -> Floats:
        """Sum over the rows at or above each threshold."""
        return np.append(np.cumsum(values[::-1])[::-1], 0.0)[first]

    positives, negatives = above(weight * hit), above(weight * (1 - hit))
    prevalence = float((weight * hit).sum()) / total
    benefit = (positives - odds * negatives) / total
    everyone = prevalence - (1 - prevalence) * odds
    # Each row contributes hit - odds (1 - hit) if acted on and 0 otherwise; sums of squares and products of these.
    square = (
        above(spread * hit**2) - 2 * odds * above(spread * hit * (1 - hit)) + odds**2 * above(spread * (1 - hit) ** 2)
    )
    product = above(spread * hit) - odds * above(spread * (1 - hit))
    variance = square - 2 * benefit * product + benefit**2 * spread.sum()
    return NetBenefit(
        threshold=t,
        net_benefit=benefit,
        treat_all=everyone,
        standardised=benefit / prevalence if prevalence > 0 else np.full(len(t), math.nan),
        avoided=(benefit - everyone) / odds,
        standard_error=np.sqrt(np.maximum(variance, 0)) / total,
        prevalence=prevalence,
    )


@dataclass(frozen=True)
class BenefitRows:
    """Outcomes and weights of rows on which rules of action are compared at several thresholds.

    A rule is the number of thresholds at which it acts on each row, or one number for all rows whatever their scores: 0
    for treating none, the number of thresholds for treating all.
    """

    view: View
    threshold: Floats

    def rule(self, score: Floats) -> Rule:
        """The rule of acting on rows whose score is at least the threshold."""
        return np.searchsorted(np.sort(self.threshold), score, side="right")

    def difference(self, first: Rule, second: Rule, level: float | None) -> tuple[Floats, Floats, Floats]:
        """Net benefit of one rule minus that of another at each threshold, with limits (NaN without a level).

        The difference is a sum over the shares of rows, with and without the event, on which only one of the rules acts.
        Its limits follow from the exact limits of the shares and their multinomial correlations (the method of variance
        estimates recovery of Zou and Donner 2008), so that they have a width where no row is seen.
        """
        odds, hit = self.threshold / (1 - self.threshold), self.view.raw_outcome > 0
        cells = []
        for more, less, sign in ((first, second, 1.0), (second, first, -1.0)):
            never = (np.ndim(more) == 0 and more == 0) or (np.ndim(less) == 0 and less == len(odds))
            for rows, benefit in ((hit, np.ones_like(odds)), (~hit, -odds)):
                if not never:
                    cells.append((sign * benefit, *self._share(more, less, rows)))
        if not cells:
            return np.zeros_like(odds), np.zeros_like(odds), np.zeros_like(odds)
        benefit, rate, worth = (np.array(part) for part in zip(*cells, strict=True))
        value = np.asarray((benefit * rate).sum(axis=0))
        if level is None:
            return value, np.full_like(value, np.nan), np.full_like(value, np.nan)
        low, high = binomial_interval(worth * rate, worth, 1 - level, "clopper_pearson")
        # Correlations of two shares are -sqrt(a b), a and b their odds.
        root = np.sqrt(rate / np.maximum(1 - rate, np.finfo(float).tiny))

        def spread(distance: Floats) -> Floats:
            squares = ((1 + root**2) * distance**2).sum(axis=0) - (root * distance).sum(axis=0) ** 2
            return np.asarray(np.sqrt(np.maximum(squares, 0)))

        down = spread(benefit * np.where(benefit > 0, rate - low, high - rate))
        up = spread(benefit * np.where(benefit > 0, high - rate, rate - low))
        return value, value - down, value + up

    def _share(self, more: Rule, less: Rule, rows: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Share at each threshold of those of `rows` on which only the first rule acts, and the number of rows it is worth."""
        weights, count = self.view.weights, len(self.threshold)
        rows = rows & (more > less)
        begin, end = (np.broadcast_to(rule, rows.shape)[rows] for rule in (less, more))
        place = np.argsort(np.argsort(self.threshold, kind="stable"), kind="stable")

        def total(weight: Floats) -> Floats:
            change = np.bincount(begin, weight[rows], count + 1) - np.bincount(end, weight[rows], count + 1)
            return np.maximum(np.cumsum(change)[place], 0.0)

        rate = np.minimum(total(weights) / self.view.total, 1.0)
        if self.view.weight_kind != "importance":
            return rate, np.full_like(rate, self.view.total)
        squares = weights**2
        # As many rows as give a binomial share the variance of this one.
        variance = ((1 - 2 * rate) * total(squares) + rate**2 * squares.sum()) / self.view.total**2
        inner = (rate > 0) & (rate < 1) & (variance > 0)
        whole = self.view.total**2 / squares.sum()
        return rate, np.divide(rate * (1 - rate), variance, out=np.full_like(rate, whole), where=inner)


def check_thresholds(thresholds: Any) -> Floats:
    """Return one or several threshold probabilities as an array; raises unless they lie strictly between 0 and 1."""
    t = finite_column([thresholds] if is_number(thresholds) else thresholds, "thresholds")
    bad = t[(t <= 0) | (t >= 1)]
    if len(bad):
        remedy = "leave out 0 and 1" if bad[0] in (0, 1) else "give probabilities, for example 0.1"
        raise ArgumentError("thresholds", f"must lie between 0 and 1; got {bad[0]:g}", remedy)
    return t


@documents_keywords()
def topk_accuracy(
    y_true: Any, y_prob: Any = None, *, k: int, where: Any = None, sample_weight: Any = None, pos_label: Any = None
) -> float:
    """Compute the top-k accuracy: how often the true class is among the k most probable ones.

    Parameters
    ----------
    y_true
    y_prob
    k : int
        Number of classes; ties are resolved in favour of the lower class index.
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        Share of rows whose true class is among the k most probable.

    See Also
    --------
    topk_confidence : The predicted counterpart.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decision.topk_accuracy([0, 1], [[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]], k=2)
    1.0
    """
    return _top("topk_accuracy", as_predictions(y_true, y_prob, sample_weight, pos_label, where), k)[0]


@documents_keywords()
def topk_confidence(
    y_true: Any, y_prob: Any = None, *, k: int, where: Any = None, sample_weight: Any = None, pos_label: Any = None
) -> float:
    """Compute the mean top-k confidence: the mean sum of the k largest predicted probabilities.

    It is the predicted counterpart of `topk_accuracy`; calibrated predictions have equal values of both. Their calibration in detail is
    evaluated with ``lens="within_top:k"``.

    Parameters
    ----------
    y_true
    y_prob
    k : int
        Number of classes.
    where
    sample_weight
    pos_label

    Returns
    -------
    float
        Mean predicted probability that the true class is among the k most probable.

    See Also
    --------
    topk_accuracy : The observed counterpart.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.decision.topk_confidence([0, 1], [[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]], k=2), 4)
    0.85
    """
    return _top("topk_confidence", as_predictions(y_true, y_prob, sample_weight, pos_label, where), k)[1]


def _top(who: str, source: Predictions, k: Any) -> tuple[float, float]:
    k = check_whole(k, "k")
    several_classes(who, source)
    if k >= source.k:
        return 1.0, 1.0
    view = one_view(who, source, within_top(k))
    return view.mean(view.raw_outcome), view.mean(view.score)
