"""E-values: bets against the scores that gain nothing on average if the scores are right, so that one may look after every row.

The value of a bet started at 1 is at least 1/alpha with probability at most alpha, at whatever row one chooses to stop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PASS_ROWS, ArgumentError, LensError, UndefinedMetricError, WeightsNotSupportedError
from ..input.convert import is_number
from ..sketches.sketch import Sketch
from ..util.checks import check_whole
from ..util.results import Record, number, pvalue_text
from ..views.keywords import checks_keywords
from ..views.lenses import AnyView, Lens
from ..views.resolve import views_of
from ..views.view import VectorView, View
from .e_values import (
    bet_gains,
    beta_gains,
    impossible_rows,
    infinite_from,
    infinite_where_impossible,
    isotonic_rates,
    learnt_before,
    likelihood_path,
    log_mean,
    transforms,
)
from .resampling import generator, seed_of
from .significance import read_source, refuse_rows_by_label

__all__ = ["EValue", "check_level", "one_view", "pit_test", "safe_hosmer_lemeshow", "sequential_test"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class EValue(Record):
    """What betting against the scores made of a stake of 1; large values speak against the scores."""

    method: str
    n: int
    lens: str
    alpha: float
    anytime: bool
    """Whether one may look after every row; else the end of the path counts alone."""
    log_path: Floats = field(repr=False, compare=False)
    """Logarithm of the value after each row; a single entry where rows have no order."""
    parts: Floats = field(repr=False, compare=False)
    """Values whose mean the last one is: of each split, or of each member of a mixture."""

    @property
    def path(self) -> Floats:
        """The value after each row; infinite beyond what a double holds, and where the scores were impossible."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_path)

    @property
    def value(self) -> float:
        """The value after the last row."""
        return float(self.path[-1])

    @property
    def best(self) -> float:
        """The largest value that may be looked at."""
        return float(self.path.max()) if self.anytime else self.value

    @property
    def pvalue(self) -> float:
        """1 over the largest value: at most `alpha` with probability at most `alpha` if the scores are right."""
        top = float(self.log_path.max()) if self.anytime else float(self.log_path[-1])
        return math.exp(-top) if top > 0 else 1.0

    @property
    def rejected(self) -> bool:
        """Whether 1/alpha was reached."""
        return self.pvalue <= self.alpha

    @property
    def rejected_at(self) -> int | None:
        """How many rows it took; None where 1/alpha was not reached or rows have no order."""
        if not (self.anytime and self.rejected):
            return None
        return int(np.argmax(self.log_path >= -math.log(self.alpha))) + 1

    @property
    def verdict(self) -> str:
        """One sentence; it never claims that predictions are calibrated."""
        chance = f"p = {self.pvalue:.3g}" if self.pvalue >= 0.001 else "p < 0.001"
        made = f"A bet against the scores turned 1 into {number(self.best)}"
        if self.rejected:
            when = f", with {number(1 / self.alpha)} reached at row {self.rejected_at:,}" if self.rejected_at else ""
            return f"{made}{when} ({chance}): rejected is that the labels are drawn from the probabilities given."
        need = f"{number(1 / self.alpha)} would have been needed"
        return f"{made} within {self.n:,} rows ({chance}), and {need}; no deviation was found."

    def _fields(self) -> dict[str, Any]:
        names = ("method", "n", "lens", "alpha", "anytime", "value", "pvalue", "rejected", "rejected_at", "verdict")
        return {name: getattr(self, name) for name in (*names, "path", "parts")}

    def _columns(self) -> dict[str, Sequence[Any]]:
        """One row for each value of the path, with the p-value up to there."""
        top = np.maximum(np.maximum.accumulate(self.log_path), 0)
        return {
            "row": range(1, len(top) + 1) if self.anytime else [self.n],
            "e_value": self.path.tolist(),
            "log_e_value": self.log_path.tolist(),
            "pvalue": np.exp(-top).tolist(),
        }

    def _title(self) -> str:
        look = "valid whenever one looks" if self.anytime else "for these rows as a whole"
        return f"{self.verdict}\n  e-value {number(self.value)}, p-value {pvalue_text(self.pvalue)}, {look}\n  method {self.method}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.method, number(self.value), number(self.best), pvalue_text(self.pvalue), self.lens, f"{self.n:,}"]
        return ["method", "e-value", "largest", "p-value", "lens", "rows"], [row]


@checks_keywords()
def safe_hosmer_lemeshow(
    y_true: Any,
    y_prob: Any = None,
    *,
    sequential: bool = False,
    splits: int = 10,
    alpha: float = 0.05,
    lens: str | Lens = "auto",
    rng: Any = 0,
    where: Any = None,
    **keywords: Any,
) -> EValue:
    """An isotonic curve learnt from some rows bets against the scores of others (Henzi, Puke, Dimitriadis and Ziegel 2023).

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities, or Predictions or a View; keywords of `Predictions` are taken too. No weights.
    sequential
        Rows are in order of time: each is bet on with the curve of the rows before it, and one may look after every row. Else
        random halves teach the other halves.
    splits
        Number of random halves; their e-values are averaged.
    alpha
        Level of `rejected`.
    lens
        Which question is asked; one with one score for each row.
    rng
        None, a seed or a Generator, for the halves.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.sequential import safe_hosmer_lemeshow
    >>> drawn = cal.make_miscalibrated(2000, warp=cal.simulate.bias(0.5), rng=0)
    >>> safe_hosmer_lemeshow(drawn.y_true, drawn.y_prob, sequential=True).rejected
    True
    """
    check_level(alpha)
    check_whole(splits, "splits")
    view = _one_score(_ordered(y_true, y_prob, lens, where, keywords, "safe_hosmer_lemeshow"))
    if sequential:
        log_path = likelihood_path(view.outcome, view.score, learnt_before(view.outcome, view.score))
        return _result("isotonic, row by row", view, alpha, log_path)
    seed = seed_of(rng)
    logs = np.array([_split_value(view, generator(seed, split)) for split in range(splits)])
    return _result(f"isotonic, mean of {splits} random halves", view, alpha, log_mean(logs)[None], logs, False)


@checks_keywords()
def sequential_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int | None = None,
    alpha: float = 0.05,
    lens: str | Lens = "auto",
    where: Any = None,
    **keywords: Any,
) -> EValue:
    """Stake part of the capital on events being more, or less, frequent than the scores say; the stake follows past gains.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities in order of time, or Predictions or a View; keywords of `Predictions` are taken too. No weights.
    bins
        None bets on all rows alike, which sees a wrong mean only. A number of bins of equal width adds a capital for each bin,
        and one that keeps a stake of its own for each: their mean sees local errors and overconfidence too.
    alpha
        Level of `rejected`.
    lens
        Which question is asked; one with one score for each row.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> from calibrant.inference.sequential import sequential_test
    >>> found = sequential_test([1] * 40, [0.5] * 40)
    >>> found.rejected, found.rejected_at
    (True, 9)
    """
    check_level(alpha)
    view = _one_score(_ordered(y_true, y_prob, lens, where, keywords, "sequential_test"))
    outcome, score = view.outcome, view.score
    whole = np.cumsum(bet_gains(outcome, score))
    if bins is None:
        return _result("betting on all rows", view, alpha, infinite_where_impossible(whole, outcome, score))
    count = check_whole(bins, "bins")
    cell = np.searchsorted(np.arange(1, count) / count, score, side="left")
    in_turn, total, ends = np.zeros(view.n), whole, [whole[-1]]
    for which in range(count):
        rows = cell == which
        gains = np.zeros(view.n)
        gains[rows] = bet_gains(outcome[rows], score[rows])
        own = np.cumsum(gains)
        total, in_turn = np.logaddexp(total, own), in_turn + own
        ends.append(own[-1])
    total = np.logaddexp(total, in_turn) - math.log(count + 2)
    method = f"betting on all rows and in {count} bins"
    return _result(
        method, view, alpha, infinite_where_impossible(total, outcome, score), np.array([*ends, in_turn[-1]])
    )


@checks_keywords()
def pit_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    lag: int = 1,
    alpha: float = 0.05,
    lens: str | Lens = "canonical",
    rng: Any = 0,
    where: Any = None,
    **keywords: Any,
) -> EValue:
    """A beta distribution learnt from past probability integral transforms bets that the next is not uniform (Arnold, Henzi and Ziegel 2023).

    The transform of a label is a random point of the stretch that its class has among all, in the order of the classes.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities in order of time, or Predictions or a view; keywords of `Predictions` are taken too. No weights.
    lag
        How many rows later a label becomes known: that many interleaved bets are averaged, and only the end counts.
    alpha
        Level of `rejected`.
    lens
        Which question is asked; by default the whole row of probabilities.
    rng
        None, a seed or a Generator, for the random points.
    where
        Which rows: a mask or a Selection.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.sequential import pit_test
    >>> drawn = cal.make_miscalibrated(2000, warp=cal.simulate.bias(1), rng=0)
    >>> pit_test(drawn.y_true, drawn.y_prob).rejected
    True
    """
    check_level(alpha)
    check_whole(lag, "lag")
    view = _ordered(y_true, y_prob, lens, where, keywords, "pit_test")
    point, impossible = transforms(view.as_vector() if isinstance(view, View) else view, generator(seed_of(rng), 0))
    paths = []
    for start in range(min(lag, view.n)):
        gains = np.zeros(view.n)
        gains[start::lag] = beta_gains(point[start::lag])
        paths.append(np.cumsum(gains))
    log_path = infinite_from(log_mean(np.array(paths)), impossible)
    ends = np.array([path[-1] for path in paths])
    return _result("beta distribution of the transforms", view, alpha, log_path, ends, lag == 1)


def _split_value(view: View, rng: np.random.Generator) -> float:
    """The curve of one half bets on the other; logarithm of the outcome."""
    order = rng.permutation(view.n)
    first, second = order[: view.n // 2], order[view.n // 2 :]
    if impossible_rows(view.outcome, view.score).any():
        return math.inf
    rival = isotonic_rates(view.outcome[first], view.score[first])(view.score[second])
    return float(likelihood_path(view.outcome[second], view.score[second], rival)[-1])


def _result(
    method: str, view: AnyView, alpha: float, log_path: Floats, parts: Floats | None = None, anytime: bool = True
) -> EValue:
    with np.errstate(over="ignore"):
        ends = np.exp(log_path[-1:] if parts is None else parts)
    if np.isposinf(log_path[-1]):
        ends = np.full(len(ends), np.inf)
    return EValue(method, view.n, view.lens, alpha, anytime, log_path if anytime else log_path[-1:], ends)


def check_level(alpha: Any) -> None:
    """A level between 0 and 1."""
    if not (is_number(alpha) and 0 < alpha < 1):
        raise ArgumentError("alpha", f"must lie between 0 and 1; got {alpha!r}", "for example 0.05")


def one_view(y_true: Any, y_prob: Any, lens: str | Lens, where: Any, keywords: dict[str, Any], who: str) -> AnyView:
    """The one view of hard labels that a lens gives."""
    refuse_rows_by_label(where)
    source, _ = read_source(y_true, y_prob, where, keywords)
    views = views_of(source, lens, "canonical")
    if len(views) > 1:
        raise LensError(
            "lens", f"{who} requires one event per row; this lens has {len(views)}", "use 'class:NAME' or 'top_label'"
        )
    if views[0].is_soft:
        raise UndefinedMetricError(who, "is not defined for soft labels")
    return views[0]


def _ordered(y_true: Any, y_prob: Any, lens: str | Lens, where: Any, keywords: dict[str, Any], who: str) -> AnyView:
    if isinstance(y_true, Sketch):
        raise ArgumentError("y_true", f"{who} requires the order of the rows, which a sketch does not keep", PASS_ROWS)
    view = one_view(y_true, y_prob, lens, where, keywords, who)
    if view.weight is not None and (view.weight != 1).any():
        raise WeightsNotSupportedError(who, "does not support weights", "drop the weights")
    return view


def _one_score(view: AnyView) -> View:
    if isinstance(view, VectorView):
        raise LensError("lens", "requires one score per row", "use 'top_label'")
    return view
