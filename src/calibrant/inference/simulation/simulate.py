"""Simulated predictions whose true calibration is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...binning.rules import Edges, check_bins
from ...errors import ArgumentError
from ...input.convert import frozen
from ...input.predictions import Predictions
from ...metrics.signature import check_norm
from ...util.arrays import Array, Floats
from ...util.checks import check_whole, is_number
from ...util.results import Record, number
from .population import Population, true_values
from .warps import Warp, as_warp, by_group

Distribution = float | Sequence[float]


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Record):
    """Simulated labels, predicted probabilities and true probabilities.

    Parameters
    ----------
    y_true : ndarray of shape (N,)
        Labels.
    y_prob : ndarray of shape (N,) or (N, K)
        Predicted probabilities: of class 1, or one column per class.
    truth : ndarray of shape (N,) or (N, K)
        True probabilities given the prediction, in the same form.
    groups : ndarray of shape (N,), optional
        Group of each row.
    """

    y_true: Array
    y_prob: Floats
    truth: Floats
    groups: Array | None = None

    def __post_init__(self) -> None:
        for name in ("y_true", "y_prob", "truth", "groups"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.y_true)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return 2 if self.y_prob.ndim == 1 else self.y_prob.shape[1]

    @property
    def predictions(self) -> Predictions:
        """Labels, predicted probabilities and groups as `Predictions`."""
        return Predictions(self.y_true, self.y_prob, groups=self.groups)

    def calibration_error(self, norm: float = 1) -> float:
        """Compute the calibration error of these rows from the true probabilities.

        It uses neither labels nor bins. For several classes the distance of two distributions is the total variation distance, half the
        sum of absolute differences.

        Parameters
        ----------
        norm : float, default 1
            Exponent of the norm; ``inf`` for the largest error.

        Returns
        -------
        float
            The calibration error.
        """
        norm = check_norm(norm)
        gap = np.abs(self.y_prob - self.truth)
        gap = gap if gap.ndim == 1 else gap.sum(axis=1) / 2
        return float(gap.max()) if norm == math.inf else float((gap**norm).mean() ** (1 / norm))

    def _fields(self) -> dict[str, Any]:
        """The columns; several classes have columns ``y_prob_0``, ``y_prob_1``, ..."""
        columns: dict[str, Any] = {"y_true": self.y_true}
        for name, values in (("y_prob", self.y_prob), ("truth", self.truth)):
            if values.ndim == 1:
                columns[name] = values
            else:
                columns.update({f"{name}_{k}": values[:, k] for k in range(values.shape[1])})
        return columns if self.groups is None else {**columns, "groups": self.groups}

    def _columns(self) -> dict[str, Any]:
        return self.to_dict()

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("rows", f"{len(self):,}"), ("classes", str(self.classes))]
        if self.groups is not None:
            facts.append(("groups", str(len(set(self.groups.tolist())))))
        return [*facts, ("calibration error", number(self.calibration_error()))]

    def _title(self) -> str:
        return f"Simulation({', '.join(f'{name} {value}' for name, value in self._facts())})"

    def _table(self) -> tuple[list[str], list[tuple[str, str]]]:
        return ["", ""], self._facts()


def make_calibrated(n: int, *, distribution: Distribution = (1, 1), classes: int = 2, rng: Any = 0) -> Simulation:
    """Simulate calibrated predictions.

    Labels are drawn from the predicted probabilities, so the predictions are calibrated under every lens.

    Parameters
    ----------
    n : int
        Number of rows.
    distribution : float or sequence of float, default (1, 1)
        Distribution of the predictions: the parameters (a, b) of a Beta distribution for two classes, one parameter per class of a
        Dirichlet distribution for more. A single number applies to all classes; values below 1 give confident predictions.
    classes : int, default 2
        Number of classes; it may also follow from the length of `distribution`.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator; the same seed gives the same data.

    Returns
    -------
    Simulation
        Result with the attributes ``y_true``, ``y_prob`` and ``truth``.

    See Also
    --------
    make_miscalibrated : Predictions with a known calibration curve.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.inference.make_calibrated(1000, rng=0)
    Simulation(rows 1,000, classes 2, calibration error 0)
    >>> cal.inference.make_calibrated(1000, distribution=0.3, classes=5, rng=0).y_prob.shape
    (1000, 5)
    """
    n, distribution = check_whole(n, "n"), _distribution(distribution, check_whole(classes, "classes", 2))
    draw = _generator(rng)
    if len(distribution) == 2:
        score = draw.beta(distribution[0], distribution[1], n)
        return Simulation(_labels(score, draw), score, score)
    rows = draw.dirichlet(distribution, n)
    return Simulation(_labels(rows, draw), rows, rows)


def make_miscalibrated(n: int, *, warp: Any, distribution: Distribution = (1, 1), rng: Any = 0) -> Simulation:
    """Simulate predictions with a known calibration curve.

    For two classes the predicted score follows the distribution and the label is drawn with probability ``warp.curve(score)``, so the warp is
    the calibration curve. For more classes, rows follow a Dirichlet distribution, and the warp determines predicted and true probabilities.

    Parameters
    ----------
    n : int
        Number of rows.
    warp : Warp or callable
        Form of the miscalibration: `temperature`, `bias`, `bump`, `label_noise`, `prior_shift` or `by_group`; for more than two classes
        `temperature`, `softmax_map`, `label_noise`, `confusion` or `by_group`; or a function from scores to true probabilities.
    distribution : float or sequence of float, default (1, 1)
        Parameters (a, b) of a Beta distribution, or of a Dirichlet distribution with one per class.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator; the same seed gives the same data.

    Returns
    -------
    Simulation
        Result with the attributes ``y_true``, ``y_prob``, ``truth`` and ``groups``.

    See Also
    --------
    make_calibrated : Calibrated predictions.
    true_calibration_error : The calibration error of the population.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(100_000, warp=temperature(1.5), rng=0)
    >>> round(cal.ece(data.y_true, data.y_prob), 2), round(cal.inference.true_calibration_error(temperature(1.5)), 4)
    (0.06, 0.0587)
    """
    n, distribution, warp, draw = check_whole(n, "n"), _distribution(distribution), as_warp(warp), _generator(rng)
    drawn = (
        _scores(n, distribution[0], distribution[1], warp, draw)
        if len(distribution) == 2
        else draw.dirichlet(distribution, n)
    )
    if not isinstance(warp, by_group):
        report, truth = _report(warp, drawn)
        return Simulation(_labels(truth, draw), report, truth)
    names = list(warp.warps)
    code = draw.integers(0, len(names), n)
    report, truth = np.empty_like(drawn), np.empty_like(drawn)
    for number_of_group, part in enumerate(warp.warps.values()):
        rows = code == number_of_group
        report[rows], truth[rows] = _report(part, drawn[rows])
    plain = len({type(name) for name in names}) == 1 and isinstance(names[0], (str, int))
    groups = np.asarray(names) if plain else np.array([*names, None], dtype=object)[:-1]
    return Simulation(_labels(truth, draw), report, truth, groups[code])


def true_calibration_error(
    warp: Any, distribution: Distribution = (1, 1), *, norm: float = 1, bins: int | Sequence[float] | None = None
) -> float:
    r"""Compute the population calibration error of a warp by quadrature.

    Parameters
    ----------
    warp : Warp or callable
        The calibration curve; see `make_miscalibrated`.
    distribution : float or sequence of float, default (1, 1)
        Parameters (a, b) of the Beta distribution of the scores.
    norm : float, default 1
        Exponent of the norm: 1 for the mean absolute error, 2 for the root mean square error, ``inf`` for the largest error.
    bins : int or sequence of float, optional
        Number of bins of equal width, or bin edges: the error after averaging within bins, which is never larger. By default the error
        without bins.

    Returns
    -------
    float
        The calibration error.

    See Also
    --------
    true_value : Population value of other metrics.
    make_miscalibrated : Samples from the same population.

    Notes
    -----
    With score S and calibration curve c,

    .. math:: \left( E |c(S) - S|^p \right)^{1/p}.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import label_noise, temperature
    >>> round(cal.inference.true_calibration_error(label_noise(0.1)), 10)
    0.05
    >>> round(cal.inference.true_calibration_error(temperature(1.5), distribution=(2, 2), norm=2), 10)
    0.0590748922
    """
    population, norm = _population(warp, distribution), check_norm(norm)
    if bins is None:
        return population.norm(norm)
    if isinstance(bins, (int, np.integer)) or not isinstance(bins, (Sequence, np.ndarray)):
        count = check_bins(bins)
        return population.binned_norm(norm, (np.arange(count + 1) / count).tolist())
    edges = [float(edge) for edge in Edges(tuple(bins)).edges]
    if (edges[0], edges[-1]) != (0, 1):  # scores may be anywhere
        raise ArgumentError("bins", f"edges must begin at 0 and end at 1; got {edges}", "for example [0, 0.5, 0.9, 1]")
    return population.binned_norm(norm, edges)


def true_value(warp: Any, distribution: Distribution = (1, 1), *, metric: str = "ece") -> float:
    """Compute the population value of a metric for a warp by quadrature.

    Parameters
    ----------
    warp : Warp or callable
        The calibration curve; see `make_miscalibrated`.
    distribution : float or sequence of float, default (1, 1)
        Parameters (a, b) of the Beta distribution of the scores.
    metric : str, default "ece"
        One of ``"ece"``, ``"rmsce"``, ``"mce"``, ``"esce"``, ``"calibration_in_the_large"``, ``"abc_above"``, ``"abc_below"``, ``"mdca"``,
        ``"global_squared_bias"``, ``"expected_observed_ratio"``, ``"brier"``, ``"root_brier"``, ``"nll"``, ``"ecd"``, ``"ecce_mad"``,
        ``"ecce_r"``. For binned metrics it is the limit of ever narrower bins.

    Returns
    -------
    float
        The value to which the metric converges as the number of rows grows.

    Raises
    ------
    ArgumentError
        If the limit of the metric is not implemented.

    See Also
    --------
    true_calibration_error : Calibration error in any norm, also after binning.

    Examples
    --------
    >>> from calibrant.inference.simulation import temperature, true_value
    >>> round(true_value(temperature(1.5), metric="ecd"), 8)
    0.09373049
    """
    forms = true_values()
    if metric not in forms:
        raise ArgumentError(
            "metric", f"the population value of {metric!r} is unknown", f"choose one of {', '.join(forms)}"
        )
    return forms[metric](_population(warp, distribution))


def _population(warp: Any, distribution: Distribution) -> Population:
    a, *rest = _distribution(distribution)
    if len(rest) > 1:
        raise ArgumentError(
            "distribution", f"the integral is over one score; got {len(rest) + 1} classes", "simulate instead"
        )
    return Population(as_warp(warp), (a, rest[0]))


def _distribution(distribution: Any, classes: int = 2) -> tuple[float, ...]:
    """Parameters of the Beta or Dirichlet distribution, one per class; ones if only the number of classes was given."""
    values = (distribution,) * classes if is_number(distribution) else distribution
    try:
        values = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        values = ()
    if len(values) < 2 or not all(0 < value < math.inf for value in values):
        raise ArgumentError(
            "distribution", f"must be two or more positive numbers; got {distribution!r}", "for example (1, 1)"
        )
    if classes > 2 and values == (1.0, 1.0):
        return (1.0,) * classes
    if classes not in (2, len(values)):
        raise ArgumentError(
            "distribution", f"has {len(values)} numbers for {classes} classes", "give one number per class"
        )
    return values


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ArgumentError("rng", f"must be None, a seed or a Generator; got {rng!r}") from None


def _scores(n: int, a: float, b: float, warp: Warp, draw: np.random.Generator) -> Floats:
    """Predicted scores of two classes: from Beta(a, b), or from the mixture into which the warp turns it."""
    parts = warp.distributions(a, b)
    if len(parts) == 1:
        return draw.beta(a, b, n)
    part = draw.choice(len(parts), n, p=[share for share, _, _ in parts])
    return draw.beta(np.array([a for _, a, _ in parts])[part], np.array([b for _, _, b in parts])[part])


def _report(warp: Warp, drawn: Floats) -> tuple[Floats, Floats]:
    return (drawn, warp.curve(drawn)) if drawn.ndim == 1 else warp.rows(drawn)


def _labels(truth: Floats, draw: np.random.Generator) -> NDArray[np.int64]:
    """One label per row, drawn from its probabilities; a class of probability 0 is never drawn."""
    chance = draw.random(len(truth))
    if truth.ndim == 1:
        return (chance < truth).astype(np.int64)
    upper = np.cumsum(truth, axis=1)
    return (chance[:, None] * upper[:, -1:] >= upper[:, :-1]).sum(axis=1)
