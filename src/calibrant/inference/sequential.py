"""E-values and sequential tests of calibration, which remain valid under optional stopping.

Under the null hypothesis an e-process started at 1 ever reaches 1/alpha with probability at most alpha (Ville's inequality).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ROWS_INSTEAD, ArgumentError, LensError, WeightsNotSupportedError
from ..util.arrays import Floats
from ..util.checks import check_fraction, check_whole
from ..util.results import Record, number, pvalue_clause, pvalue_text
from ..views.keywords import documents_keywords
from ..views.lenses import AnyView, Lens
from ..views.resolve import Source, resolve
from ..views.view import Summary, VectorView, View
from .e_values import (
    beta_increments,
    impossible_rows,
    infinite_from,
    infinite_where_impossible,
    isotonic_rates,
    likelihood_path,
    log_mean,
    newton_increments,
    past_isotonic_rates,
    transforms,
)
from .seeds import generator, seed_of
from .significance import single_view

# Random splits whose e-values are averaged (Henzi et al. 2023).
SPLITS = 10


@dataclass(frozen=True, repr=False)
class EValue(Record):
    """Result of a test by e-values: the e-process and the p-value derived from it.

    Parameters
    ----------
    method : str
        Description of the e-process.
    n : int
        Number of rows.
    lens : str
        The event that was evaluated.
    alpha : float
        Significance level.
    anytime : bool
        Whether the test is valid at every row (optional stopping); otherwise only the final value is valid.
    log_path : ndarray
        Logarithm of the e-value after each row; a single entry where rows have no order.
    parts : ndarray
        E-values whose mean is the final e-value: one per random split, or per component of a mixture.
    """

    method: str
    n: int
    lens: str
    alpha: float
    anytime: bool
    log_path: Floats = field(repr=False, compare=False)
    parts: Floats = field(repr=False, compare=False)

    @property
    def path(self) -> Floats:
        """The e-value after each row; infinite on overflow and after an outcome of probability 0."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_path)

    @property
    def value(self) -> float:
        """The e-value after the last row."""
        return float(self.path[-1])

    @property
    def best(self) -> float:
        """The largest e-value that the test may use."""
        return float(self.path.max()) if self.anytime else self.value

    @property
    def pvalue(self) -> float:
        """The reciprocal of the largest e-value, capped at 1; under the null hypothesis it is at most `alpha` with probability at most `alpha`."""
        top = float(self.log_path.max()) if self.anytime else float(self.log_path[-1])
        return math.exp(-top) if top > 0 else 1.0

    @property
    def rejected(self) -> bool:
        """Whether the e-process reached 1/alpha."""
        return self.pvalue <= self.alpha

    @property
    def rejected_at(self) -> int | None:
        """The row at which 1/alpha was reached first; None if it was not reached or rows have no order."""
        if not (self.anytime and self.rejected):
            return None
        return int(np.argmax(self.log_path >= -math.log(self.alpha))) + 1

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence; it never states that predictions are calibrated."""
        chance = pvalue_clause(self.pvalue)
        largest = "largest e-value" if self.anytime else "e-value"
        size, needed = f"{100 * self.alpha:.4g}%", number(1 / self.alpha)
        if self.rejected:
            when = f"; the critical value {needed} was reached at row {self.rejected_at:,}" if self.rejected_at else ""
            return f"Evidence against calibration is significant at {size} ({largest} {number(self.best)}, {chance}){when}."
        return (
            f"Evidence against calibration is not significant at {size} ({largest} {number(self.best)}, {chance}); "
            f"with {self.n:,} rows the critical value {needed} was not reached."
        )

    def _fields(self) -> dict[str, Any]:
        names = ("method", "n", "lens", "alpha", "anytime", "value", "pvalue", "rejected", "rejected_at", "verdict")
        return {name: getattr(self, name) for name in (*names, "path", "parts")}

    def _columns(self) -> dict[str, Sequence[Any]]:
        """One row per value of the path, with the running p-value."""
        top = np.maximum(np.maximum.accumulate(self.log_path), 0)
        return {
            "row": range(1, len(top) + 1) if self.anytime else [self.n],
            "e_value": self.path.tolist(),
            "log_e_value": self.log_path.tolist(),
            "pvalue": np.exp(-top).tolist(),
        }

    def _title(self) -> str:
        valid = "anytime-valid" if self.anytime else "valid for the whole sample only"
        return "\n".join(
            [
                self.verdict,
                "  null hypothesis: the labels are drawn from the predicted probabilities",
                f"  e-value {number(self.value)}, p-value {pvalue_text(self.pvalue)}, {valid}",
                f"  method: {self.method}",
            ]
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.method, number(self.value), number(self.best), pvalue_text(self.pvalue), self.lens, f"{self.n:,}"]
        return ["method", "e-value", "largest", "p-value", "lens", "rows"], [row]


@documents_keywords()
def safe_hosmer_lemeshow(
    y_true: Any,
    y_prob: Any = None,
    *,
    sequential: bool = False,
    alpha: float = 0.05,
    lens: str | Lens = "auto",
    rng: Any = 0,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> EValue:
    r"""Test calibration by an e-value with isotonic alternatives.

    The null hypothesis is that the labels are drawn from the predicted probabilities. The e-value is the likelihood ratio between an
    isotonic calibration curve, fitted to other rows, and the scores; it requires no choice of bins. With ``sequential=True`` the test
    may be evaluated after every row and stopped at any time.

    Parameters
    ----------
    y_true
    y_prob
    sequential : bool, default False
        Whether rows are in temporal order: the alternative of each row is then the curve of the earlier rows. Otherwise the curve is
        fitted to a random half of the rows and evaluated on the other half, and the e-values of 10 splits are averaged.
    alpha
    lens
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator of the splits.
    sample_weight
    pos_label

    Returns
    -------
    EValue
        Result with the attributes ``value``, ``path``, ``pvalue``, ``rejected``, ``rejected_at`` and ``verdict``.

    Raises
    ------
    LensError
        If the lens yields several views or no single score per row.
    WeightsNotSupportedError
        If rows have weights.

    See Also
    --------
    sequential_test : E-process of the online Newton step.
    pit_test : E-process of probability integral transforms, for several classes.
    assess : Tests with a fixed sample size.

    Notes
    -----
    With outcomes :math:`y_i`, scores :math:`p_i` and predictable alternatives :math:`q_i`,

    .. math:: E_n = \prod_{i \le n} \left(\frac{q_i}{p_i}\right)^{y_i} \left(\frac{1 - q_i}{1 - p_i}\right)^{1 - y_i}

    is a non-negative martingale with mean 1 under the null hypothesis, so :math:`P(\exists n: E_n \ge 1/\alpha) \le \alpha` by Ville's
    inequality. Labels must be independent given the scores and the past.

    References
    ----------
    .. [1] Henzi, A., Puke, M., Dimitriadis, T. and Ziegel, J. (2023). A safe Hosmer-Lemeshow test. New England Journal of
       Statistics in Data Science.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(2000, warp=cal.inference.simulation.bias(0.5), rng=0)
    >>> cal.inference.safe_hosmer_lemeshow(data.y_true, data.y_prob, sequential=True).rejected
    True
    """
    check_fraction(alpha, "alpha", 0.05)
    view = _one_score(_ordered("safe_hosmer_lemeshow", resolve(y_true, y_prob, sample_weight, pos_label), lens))
    if sequential:
        log_path = likelihood_path(view.outcome, view.score, past_isotonic_rates(view.outcome, view.score))
        return _result("isotonic, row by row", view, alpha, log_path)
    seed = seed_of(rng)
    # Log e-values of random splits: the curve of one half as the alternative on the other half.
    logs = np.full(SPLITS, math.inf)
    if not impossible_rows(view.outcome, view.score).any():
        for split in range(SPLITS):
            order = generator(seed, split).permutation(view.n)
            first, second = order[: view.n // 2], order[view.n // 2 :]
            alternative = isotonic_rates(view.outcome[first], view.score[first])(view.score[second])
            logs[split] = likelihood_path(view.outcome[second], view.score[second], alternative)[-1]
    return _result(f"isotonic, mean over {SPLITS} random splits", view, alpha, log_mean(logs)[None], logs, False)


@documents_keywords()
def sequential_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int | None = None,
    alpha: float = 0.05,
    lens: str | Lens = "auto",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> EValue:
    r"""Test calibration sequentially by an e-process of the residuals.

    The null hypothesis is that each label has the predicted probability given the past. The e-process multiplies factors
    :math:`1 + \lambda_i (y_i - p_i)` whose coefficient follows the online Newton step. The test may be evaluated after every row and stopped
    at any time.

    Parameters
    ----------
    y_true
    y_prob
    bins : int, optional
        Without bins one coefficient applies to all rows, which detects a deviation in the mean only. With `bins` bins of equal width the
        e-process is the mean over that of all rows, one per bin, and one with a separate coefficient for each bin; it also detects local
        deviations and overconfidence.
    alpha
    lens
    sample_weight
    pos_label

    Returns
    -------
    EValue
        Result with the attributes ``value``, ``path``, ``pvalue``, ``rejected``, ``rejected_at`` and ``verdict``.

    Raises
    ------
    LensError
        If the lens yields several views or no single score per row.
    WeightsNotSupportedError
        If rows have weights.

    See Also
    --------
    safe_hosmer_lemeshow : E-process with isotonic alternatives.
    assess : Tests with a fixed sample size.

    Notes
    -----
    .. math:: E_n = \prod_{i \le n} \left(1 + \lambda_i (y_i - p_i)\right),

    with :math:`\lambda_i` determined by the rows before i, is a non-negative martingale with mean 1 under the null hypothesis. Rows are read in
    the order given, which must be temporal.

    References
    ----------
    .. [1] Cutkosky, A. and Orabona, F. (2018). Black-box reductions for parameter-free online learning in Banach spaces. COLT.
    .. [2] Ramdas, A. et al. (2023). Game-theoretic statistics and safe anytime-valid inference. Statistical Science 38.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.inference.sequential_test([1] * 40, [0.5] * 40)
    >>> result.rejected, result.rejected_at
    (True, 9)
    """
    check_fraction(alpha, "alpha", 0.05)
    view = _one_score(_ordered("sequential_test", resolve(y_true, y_prob, sample_weight, pos_label), lens))
    outcome, score = view.outcome, view.score
    whole = np.cumsum(newton_increments(outcome, score))
    if bins is None:
        return _result("online Newton step, all rows", view, alpha, infinite_where_impossible(whole, outcome, score))
    count = check_whole(bins, "bins")
    cell = np.searchsorted(np.arange(1, count) / count, score, side="left")
    in_turn, total, ends = np.zeros(view.n), whole, [whole[-1]]
    for which in range(count):
        rows = cell == which
        gains = np.zeros(view.n)
        gains[rows] = newton_increments(outcome[rows], score[rows])
        own = np.cumsum(gains)
        total, in_turn = np.logaddexp(total, own), in_turn + own
        ends.append(own[-1])
    total = np.logaddexp(total, in_turn) - math.log(count + 2)
    method = f"online Newton step, all rows and {count} bins"
    return _result(
        method, view, alpha, infinite_where_impossible(total, outcome, score), np.array([*ends, in_turn[-1]])
    )


@documents_keywords()
def pit_test(
    y_true: Any,
    y_prob: Any = None,
    *,
    lag: int = 1,
    alpha: float = 0.05,
    lens: str | Lens = "canonical",
    rng: Any = 0,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> EValue:
    r"""Test calibration sequentially by probability integral transforms.

    The null hypothesis is that each label is drawn from the predicted distribution given the past. Its randomised probability integral
    transforms are then independent and uniform; the e-process is the likelihood ratio between beta distributions, fitted to earlier
    transforms, and the uniform distribution. It applies to ordered classes: the alternative is sensitive to shifts along the class order.

    Parameters
    ----------
    y_true
    y_prob
    lag : int, default 1
        Number of rows after which a label becomes available. The e-processes of `lag` interleaved subsequences are averaged, and for
        ``lag > 1`` only the final value is valid.
    alpha
    lens : str or Lens, default "canonical"
        The predictions to evaluate; by default the full distribution over the classes.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator of the randomised transforms.
    sample_weight
    pos_label

    Returns
    -------
    EValue
        Result with the attributes ``value``, ``path``, ``pvalue``, ``rejected``, ``rejected_at`` and ``verdict``.

    Raises
    ------
    LensError
        If the lens yields several views.
    WeightsNotSupportedError
        If rows have weights.

    See Also
    --------
    safe_hosmer_lemeshow : E-process with isotonic alternatives, for one score per row.

    Notes
    -----
    For label k the transform is :math:`\sum_{j < k} p_j + U p_k` with :math:`U` uniform on [0, 1].

    References
    ----------
    .. [1] Arnold, S., Henzi, A. and Ziegel, J. F. (2023). Sequentially valid tests for forecast calibration. Annals of Applied
       Statistics 17.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(2000, warp=cal.inference.simulation.bias(1), rng=0)
    >>> cal.inference.pit_test(data.y_true, data.y_prob).rejected
    True
    """
    check_fraction(alpha, "alpha", 0.05)
    check_whole(lag, "lag")
    view = _ordered("pit_test", resolve(y_true, y_prob, sample_weight, pos_label), lens, "canonical")
    point, impossible = transforms(view.as_vector() if isinstance(view, View) else view, generator(seed_of(rng), 0))
    paths = []
    for start in range(min(lag, view.n)):
        gains = np.zeros(view.n)
        gains[start::lag] = beta_increments(point[start::lag])
        paths.append(np.cumsum(gains))
    log_path = infinite_from(log_mean(np.array(paths)), impossible)
    ends = np.array([path[-1] for path in paths])
    return _result("beta distribution of the transforms", view, alpha, log_path, ends, lag == 1)


def _result(
    method: str, view: AnyView, alpha: float, log_path: Floats, parts: Floats | None = None, anytime: bool = True
) -> EValue:
    with np.errstate(over="ignore"):
        ends = np.exp(log_path[-1:] if parts is None else parts)
    if np.isposinf(log_path[-1]):
        ends = np.full(len(ends), np.inf)
    return EValue(method, view.n, view.lens, alpha, anytime, log_path if anytime else log_path[-1:], ends)


def _ordered(name: str, source: Source, lens: str | Lens, usual: str = "auto") -> AnyView:
    """The single view of rows in their order, without weights."""
    if isinstance(source, Summary):
        problem = f"{name} requires the order of the rows, which a sketch does not keep"
        raise ArgumentError("y_true", problem, ROWS_INSTEAD)
    view = single_view(name, source, lens, usual)
    if view.weight is not None and (view.weight != 1).any():
        raise WeightsNotSupportedError(name, "does not support weights", "drop the weights")
    return view


def _one_score(view: AnyView) -> View:
    if isinstance(view, VectorView):
        raise LensError("lens", "requires one score per row", "use 'top_label'")
    return view
