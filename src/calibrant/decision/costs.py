"""What decisions cost: the cheapest action, what it is claimed to cost and what it did, decision curves, top-k answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Argument, ArgumentError, ShapeError
from ..input.convert import column, is_number, numbers
from ..input.predictions import Predictions
from ..util.checks import check_whole
from ..util.results import Result, number
from ..views.keywords import check_keywords
from ..views.lenses import within_top
from ..views.resolve import as_predictions, views_of
from ..views.view import Block, VectorView
from .rows import check_cost, finite_column, one_view, read_distributions, several_classes

__all__ = [
    "CostDecision",
    "ExpectedCost",
    "NetBenefit",
    "cost_decision",
    "expected_cost",
    "net_benefit",
    "topk_accuracy",
    "topk_confidence",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class CostDecision(Result):
    """The cheapest action of each row, by the probabilities given."""

    action: NDArray[np.intp]
    """Columns of the cost matrix; its number of columns stands for "reject" where a cost of rejecting was given."""
    cost: Floats
    """What the action of each row is expected to cost."""
    threshold: float | None
    """For two classes and two actions, the probability above which action 1 is taken; None elsewhere, and beside a cost of rejecting."""

    _hidden = ("threshold",)

    def _columns(self) -> dict[str, Any]:
        return self._fields()

    def _title(self) -> str:
        shares = ", ".join(f"{name}: {count}" for name, count in self._counts())
        limit = "" if self.threshold is None else f", action 1 above probability {number(self.threshold)}"
        return f"{len(self.action)} decisions (action: rows) {shares}; claimed cost {number(float(self.cost.mean()))}{limit}"

    def _table(self) -> tuple[list[str], list[tuple[int, int]]]:
        return ["action", "rows"], self._counts()

    def _counts(self) -> list[tuple[int, int]]:
        names, counts = np.unique(self.action, return_counts=True)
        return list(zip(names.tolist(), counts.tolist(), strict=True))

    def __repr__(self) -> str:
        return self._title()


@dataclass(frozen=True, repr=False)
class ExpectedCost(Result):
    """What the cheapest actions are claimed to cost, and what they did."""

    claimed: float
    realised: float
    gap: float
    """Realised less claimed; about 0 for calibrated probabilities, positive where they are too sure for this decision."""
    gap_error: float
    """Standard error of the gap."""
    baseline: float | None
    """Realised cost of the policy to compare with; None where there is none."""
    regret: float | None
    """Realised cost less that of the baseline; negative where the costs were worth looking at."""
    action: NDArray[np.intp]

    def _title(self) -> str:
        return "Mean cost"

    def _table(self) -> tuple[list[str], list[tuple[str, str]]]:
        names = ("claimed", "realised", "gap", "gap_error", "baseline", "regret")
        return ["", "mean cost"], [(name.replace("_", " "), number(getattr(self, name))) for name in names]

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {name:<10} {text}" for name, text in self._table()[1])])


def cost_decision(y_prob: Any, cost: Any, *, reject: float | None = None, **keywords: Any) -> CostDecision:
    """The action with the least expected cost for each row; the first one where several are as cheap.

    Parameters
    ----------
    y_prob
        Probabilities as `Predictions` takes them, or Predictions; the keywords `input`, `normalize` and `clip` are taken too.
    cost
        ``cost[k][a]``: what action a costs when class k is true. There may be more actions than classes.
    reject
        What it costs to decide nothing; rejected where every action is expected to cost more (Chow 1970).

    Examples
    --------
    >>> from calibrant.decision.costs import cost_decision
    >>> cost_decision([0.1, 0.3], [[0, 1], [4, 0]]).action.tolist()
    [0, 1]
    """
    view = _whole_rows(read_distributions("cost_decision", y_prob, keywords, ["reject"]))
    matrix = _matrix(cost, view.k)
    action, claimed = _cheapest(view, matrix, None if reject is None else check_cost(reject, "reject"))
    return CostDecision(action, claimed, _binary_threshold(matrix) if reject is None else None)


def expected_cost(
    y_true: Any,
    y_prob: Any = None,
    *,
    cost: Any,
    reject: float | None = None,
    policy: Any = None,
    where: Any = None,
    **keywords: Any,
) -> ExpectedCost:
    """Mean cost of the cheapest actions: as the probabilities claim it, and as the labels showed it.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions; keywords of `Predictions` are taken too.
    cost, reject
        As in `cost_decision`.
    policy
        The action of each row under another policy, as baseline; left out, the likeliest class is taken as the action.
    where
        Which rows.

    Examples
    --------
    >>> from calibrant.decision.costs import expected_cost
    >>> found = expected_cost([0, 1], [0.1, 0.3], cost=[[0, 1], [4, 0]])
    >>> round(found.claimed, 4), found.realised
    (0.55, 0.0)
    """
    check_keywords(expected_cost, keywords)
    source = as_predictions(y_true, y_prob, keywords, where)
    if where is not None and policy is not None:
        raise ArgumentError("where", ("cannot be combined with ", Argument("policy")), "select the rows of both first")
    view = _whole_rows(several_classes("expected_cost", source))
    matrix = _matrix(cost, view.k)
    reject = None if reject is None else check_cost(reject, "reject")
    action, claimed = _cheapest(view, matrix, reject)
    table = matrix if reject is None else np.column_stack([matrix, np.full(view.k, reject)])
    realised = _realised(view, table, action)
    mean_claimed, mean_realised = view.mean(claimed), view.mean(realised)
    other = _policy(policy, source, table)
    baseline = None if other is None else view.mean(_realised(view, table, other))
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


def _realised(view: VectorView, table: Floats, action: NDArray[np.intp]) -> Floats:
    """What each row's action cost, by its label or shares."""
    parts = [(block.targets * table[:, action[rows]].T).sum(axis=1) for rows, block in view.blocks()]
    return np.concatenate(parts)


def _policy(policy: Any, source: Predictions, table: Floats) -> NDArray[np.intp] | None:
    if policy is None:
        return np.asarray(source.predicted, dtype=np.intp) if table.shape[1] >= source.k else None
    given = finite_column(policy, "policy", source.n, source.kept)
    if not ((given == np.floor(given)) & (given >= 0) & (given < table.shape[1])).all():
        raise ArgumentError("policy", f"actions must be integers from 0 to {table.shape[1] - 1}")
    return given.astype(np.intp)


def _binary_threshold(matrix: Floats) -> float | None:
    """From which probability action 1 is cheaper, for two classes and two actions of which each suits one class."""
    if matrix.shape != (2, 2):
        return None
    needless, missed = matrix[0, 1] - matrix[0, 0], matrix[1, 0] - matrix[1, 1]
    return float(needless / (needless + missed)) if needless >= 0 and missed >= 0 and needless + missed > 0 else None


@dataclass(frozen=True, repr=False)
class NetBenefit(Result):
    """The decision curve: what acting on rows with at least `threshold` gains over treating none."""

    threshold: Floats
    net_benefit: Floats
    treat_all: Floats
    standardised: Floats
    """Net benefit over its largest possible value, the share of positives; NaN where there are none."""
    avoided: Floats
    """Interventions avoided for each row, compared with treating all."""
    standard_error: Floats
    prevalence: float

    def __len__(self) -> int:
        return len(self.threshold)

    _hidden = ("prevalence",)
    _numeric, _width = range(6), 9

    def _columns(self) -> dict[str, Any]:
        return self._fields()

    def _title(self) -> str:
        return f"Net benefit at {len(self)} thresholds; treating none gains 0"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        shown = np.unique(np.linspace(0, len(self) - 1, min(len(self), 10)).astype(int))
        rows = [[number(values[i]) for values in self._fields().values()] for i in shown]
        return ["threshold", "benefit", "all", "standard", "avoided", "error"], rows


def net_benefit(
    y_true: Any, y_prob: Any = None, *, thresholds: Any = None, lens: Any = "auto", where: Any = None, **keywords: Any
) -> NetBenefit:
    """Decision curve (Vickers and Elkin 2006): true positives less false ones, weighed by the odds of each threshold.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, Predictions or a Sketch; keywords of `Predictions` are taken too.
    thresholds
        Numbers between 0 and 1; 0.01, 0.02, ..., 0.99 unless given.
    lens, where
        Which yes-or-no question, and which rows.

    Examples
    --------
    >>> from calibrant.decision.costs import net_benefit
    >>> net_benefit([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], thresholds=[0.5]).net_benefit.tolist()
    [0.5]
    """
    view = one_view(net_benefit, y_true, y_prob, lens, where, keywords)
    given = np.arange(1, 100) / 100 if thresholds is None else thresholds
    t = finite_column([given] if is_number(given) else given, "thresholds")
    if (t <= 0).any() or (t >= 1).any():
        raise ArgumentError("thresholds", "must lie between 0 and 1", "leave out 0 and 1")
    order = np.argsort(view.score, kind="stable")
    score, weight, hit = view.score[order], view.weights[order], view.outcome[order].astype(np.float64)
    first = np.searchsorted(score, t, side="left")
    odds, total = t / (1 - t), view.total
    spread = weight**2 if view.weight_kind == "importance" else weight

    def above(values: Floats) -> Floats:
        """Sum over the rows from each threshold up."""
        return np.append(np.cumsum(values[::-1])[::-1], 0.0)[first]

    positives, negatives = above(weight * hit), above(weight * (1 - hit))
    prevalence = float((weight * hit).sum()) / total
    benefit = (positives - odds * negatives) / total
    everyone = prevalence - (1 - prevalence) * odds
    # Each row gains hit - odds (1 - hit) when acted on and 0 otherwise; squares and products of that, summed.
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


def topk_accuracy(y_true: Any, y_prob: Any = None, *, k: int, where: Any = None, **keywords: Any) -> float:
    """How often the true class is among the k likeliest; of equal probabilities the lower class comes first."""
    return _top(topk_accuracy, y_true, y_prob, k, where, keywords)[0]


def topk_confidence(y_true: Any, y_prob: Any = None, *, k: int, where: Any = None, **keywords: Any) -> float:
    """How often the true class is claimed to be among the k likeliest: the mean sum of the k largest probabilities.

    It says nothing of the likeliest class alone. Its calibration is looked at by ``lens="within_top:k"``.
    """
    return _top(topk_confidence, y_true, y_prob, k, where, keywords)[1]


def _top(
    function: Callable[..., Any], y_true: Any, y_prob: Any, k: Any, where: Any, keywords: dict[str, Any]
) -> tuple[float, float]:
    k = check_whole(k, "k")
    check_keywords(function, keywords)
    source = as_predictions(y_true, y_prob, keywords, where)
    several_classes(function.__name__, source)
    if k >= source.k:
        return 1.0, 1.0
    view = one_view(function, source, None, within_top(k), None, {})
    return view.mean(view.raw_outcome), view.mean(view.score)
