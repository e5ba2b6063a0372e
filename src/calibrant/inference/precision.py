"""`precision_sample_size` and `expected_precision`: rows of a validation study, from the widths of its confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, UndefinedMetricError
from ..util.arrays import Floats
from ..util.checks import check_choice, check_fraction, check_positive, check_whole, is_number
from ..util.results import Result, number
from ..views.keywords import documents_keywords, parameters_of
from .effects import nodes_of, normal_quantile
from .means import two_sided_quantile
from .simulation.warps import as_warp

# Nodes of each piece of a normal distribution, and the standard deviations that it is cut off at.
NODES, REACH = 400, 12.0
# A prevalence that differs from the mean risk by more than this share is mentioned in a note.
NEAR = 0.1
# A C statistic that differs from the one of the distribution by more than this is mentioned in a note.
CLOSE = 0.02
# With fewer events or non-events the approximations behind the widths are poor.
FEW = 100
# Widths that Riley et al. (2021) suggest for the confidence interval of each measure.
WIDTHS = {"O/E": 0.2, "calibration slope": 0.2, "C statistic": 0.1, "standardised net benefit": 0.2}


@dataclass(frozen=True)
class Criterion:
    """Sample size and expected confidence interval for one measure of performance.

    Parameters
    ----------
    name : {"O/E", "calibration slope", "C statistic", "standardised net benefit"}
        The measure.
    value : float
        Its anticipated value.
    target : float, optional
        Required width of its confidence interval; None for `expected_precision`.
    n : int
        Number of rows for the required width; for `expected_precision` the number given.
    events : int
        Number of events among them, rounded up.
    low, high : float
        Expected confidence limits with the rows of the whole study, the largest `n` of all criteria.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.inference.precision_sample_size((2, 8))["O/E"].n
    1542
    """

    name: str
    value: float
    target: float | None
    n: int
    events: int
    low: float
    high: float

    @property
    def width(self) -> float:
        """Expected width of the confidence interval with the rows of the whole study."""
        return self.high - self.low


@dataclass(frozen=True, repr=False)
class PrecisionResult(Result):
    """Sample size of a validation study by the precision of its estimates, one row per criterion.

    ``result["O/E"]`` is one `Criterion`.

    Parameters
    ----------
    n : int
        Number of rows: the largest of all criteria, or the number given to `expected_precision`.
    events : int
        Expected number of events among them, rounded up.
    prevalence : float
        Anticipated proportion of events.
    criteria : tuple of Criterion
        One entry per measure.
    level : float
        Confidence level.
    distribution : str
        Description of the distribution of the linear predictor.
    note : str, default ""
        Caveats; empty if there are none.
    """

    _numeric = (1, 2, 3, 4, 5, 6)

    n: int
    events: int
    prevalence: float
    criteria: tuple[Criterion, ...]
    level: float
    distribution: str
    note: str = ""

    def __getitem__(self, name: str) -> Criterion:
        for criterion in self.criteria:
            if criterion.name == name:
                return criterion
        raise ArgumentError("name", f"unknown criterion {name!r}", f"choose one of {[c.name for c in self.criteria]}")

    @property
    def decisive(self) -> str:
        """The criterion that requires the most rows."""
        return max(self.criteria, key=lambda criterion: criterion.n).name

    def _columns(self) -> dict[str, list[Any]]:
        rows = [{**vars(criterion), "width": criterion.width} for criterion in self.criteria]
        return {("criterion" if name == "name" else name): [row[name] for row in rows] for name in rows[0]}

    def _title(self) -> str:
        size = f"{self.n:,} rows with {self.events:,} events"
        if self.criteria[0].target is None:
            return f"Expected {100 * self.level:g}% confidence intervals with {size}; {self.distribution}."
        return f"{size} for {100 * self.level:g}% confidence intervals of these widths, decided by {self.decisive}; {self.distribution}."

    def _table(self) -> tuple[list[str], list[list[str]]]:
        last = f"interval with {self.n:,} rows"
        if self.criteria[0].target is None:
            headings = ["", "anticipated", "low", "high", "width"]
            return headings, [
                [c.name, number(c.value), number(c.low), number(c.high), number(c.width)] for c in self.criteria
            ]
        return ["", "anticipated", "width", "rows", "events", last], [
            [
                c.name,
                number(c.value),
                number(c.target),
                f"{c.n:,}",
                f"{c.events:,}",
                f"{number(c.low)} to {number(c.high)}",
            ]
            for c in self.criteria
        ]

    def _notes(self) -> list[str]:
        return [f"note: {self.note}"] if self.note else []


@documents_keywords()
def precision_sample_size(
    scores: Any = None,
    *,
    prevalence: float | None = None,
    auroc: float | None = None,
    threshold: float | None = None,
    widths: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> PrecisionResult:
    r"""Compute the number of rows of an external validation study from the required precision of its estimates.

    A validation study estimates O/E, calibration slope, C statistic and net benefit; the sample is large enough if each of their confidence
    intervals is at most as wide as required. `sample_size` answers another question: the power of a test against a stated deviation.

    Parameters
    ----------
    scores : tuple, array-like of shape (N,), View or Sketch, optional
        Distribution of the predicted risks in the validation population, for which the model is assumed to be calibrated: a tuple (a, b)
        for a Beta distribution, or recorded risks of the model. By default the linear predictor is normal with a common variance among
        events and non-events, which follows from `prevalence` and `auroc`.
    prevalence : float, optional
        Anticipated proportion of events. By default the mean risk.
    auroc : float, optional
        Anticipated C statistic. By default the one that follows from the distribution.
    threshold : float, optional
        Threshold probability at which net benefit is evaluated; without it net benefit is left out.
    widths : mapping of str to float, optional
        Required width of the interval of each measure; measures that are not named are left out. By default 0.2 for ``"O/E"`` and
        ``"calibration slope"``, 0.1 for ``"C statistic"``, and 0.2 for ``"standardised net benefit"`` (net benefit divided by
        prevalence). A rare event needs a wider interval of O/E: with an observed rate of 2%, a width of 1 is an error of one percentage
        point.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    PrecisionResult
        Result with the attributes ``n`` (the largest number of rows), ``events``, ``criteria`` (value, width, rows and events of each),
        ``decisive`` (the criterion that needs most rows) and ``note``.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or there is no distribution of the risks.
    UndefinedMetricError
        If all risks are equal, so the calibration slope cannot be estimated.

    See Also
    --------
    expected_precision : Expected confidence intervals for a given number of rows.
    sample_size : Number of rows for the power of a test.

    Notes
    -----
    With prevalence :math:`\phi`, :math:`z` the normal quantile of the level, and required widths :math:`\omega`:

    - O/E: :math:`\mathrm{SE}(\ln \mathrm{O/E}) = \sqrt{(1 - \phi) / (n \phi)}`, and the interval :math:`e^{\pm z\, \mathrm{SE}}` has width
      :math:`\omega` if :math:`\mathrm{SE} = \operatorname{arsinh}(\omega / 2) / z`.
    - Calibration slope: the variance is :math:`I_{00} / (n (I_{00} I_{11} - I_{01}^2))`, with
      :math:`I_{jk} = \mathrm{E}[x^{j + k} \pi (1 - \pi)]` over the distribution of the linear predictor
      :math:`x = \operatorname{logit} \pi`. The integrals are computed by quadrature.
    - C statistic :math:`C`, by Newcombe's formula:
      :math:`\mathrm{SE}^2 = C (1 - C) \left[1 + (n/2 - 1) \left(\frac{1 - C}{2 - C} + \frac{C}{1 + C}\right)\right] / (n^2 \phi (1 - \phi))`.
    - Standardised net benefit at threshold :math:`t`, with sensitivity :math:`s` and specificity :math:`c` of the distribution and
      :math:`w = \frac{1 - \phi}{\phi} \frac{t}{1 - t}`: :math:`n\,\mathrm{SE}^2 = \frac{s (1 - s)}{\phi} + \frac{w^2 c (1 - c)}{1 - \phi} + \frac{w^2 (1 - c)^2}{\phi (1 - \phi)}`.

    The standard error of O/E treats the expected number of events as fixed and the risks as unknown, which is conservative: the interval of
    `expected_observed_ratio` uses the risks and is narrower.

    Without `scores`, the log-odds among events and non-events are normal with variance
    :math:`v = 2 \Phi^{-1}(C)^2` and means :math:`\operatorname{logit} \phi \pm v / 2`, for which prevalence and C statistic are as given.

    References
    ----------
    .. [1] Riley, R. D. et al. (2021). Minimum sample size for external validation of a clinical prediction model with a binary outcome.
       Statistics in Medicine 40, 4230-4251.
    .. [2] Riley, R. D. et al. (2024). Evaluation of clinical prediction models (part 3): calculating the sample size required for an
       external validation study. BMJ 384, e074821.
    .. [3] Newcombe, R. G. (2006). Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Statistics in
       Medicine 25, 559-573.

    Examples
    --------
    >>> from calibrant.inference import precision_sample_size
    >>> precision_sample_size((2, 8), auroc=0.68, threshold=0.2)  # Beta-distributed risks
    5,154 rows with 1,031 events for 95% confidence intervals of these widths, decided by calibration slope; risks from Beta(2, 8).
                              anticipated   width   rows  events  interval with 5,154 rows
    O/E                             1.000  0.2000  1,542     309           0.9469 to 1.056
    calibration slope               1.000  0.2000  5,154   1,031           0.9000 to 1.100
    C statistic                    0.6800  0.1000    678     136          0.6619 to 0.6981
    standardised net benefit       0.3020  0.2000    872     175          0.2609 to 0.3431
    note: a calibrated model with these risks has C statistic 0.7090, not 0.6800: check the distribution
    """
    study = _study(scores, prevalence, auroc, threshold)
    check_fraction(level, "level")
    measures = _measures(study)
    if widths is None:
        widths = {name: WIDTHS[name] for name in measures}
    if not widths:
        raise ArgumentError("widths", "is empty", "name at least one measure")
    for name, width in widths.items():
        check_choice(name, "widths", tuple(measures))
        check_positive(width, "widths")
    z = two_sided_quantile(level)
    sizes = {name: measures[name].rows(width, z) for name, width in widths.items()}
    return _result(study, max(sizes.values()), level, sizes, widths)


@documents_keywords(table=parameters_of(precision_sample_size))
def expected_precision(
    n: int,
    scores: Any = None,
    *,
    prevalence: float | None = None,
    auroc: float | None = None,
    threshold: float | None = None,
    level: float = 0.95,
) -> PrecisionResult:
    """Compute the expected confidence intervals of a validation study with a given number of rows.

    Use it where the number of rows is fixed, as in an existing cohort, to see how precise O/E, calibration slope, C statistic and net
    benefit will be.

    Parameters
    ----------
    n : int
        Number of rows.
    scores
    prevalence
    auroc
    threshold
    level

    Returns
    -------
    PrecisionResult
        Result whose ``criteria`` have the expected limits ``low`` and ``high`` and their ``width``.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or there is no distribution of the risks.

    See Also
    --------
    precision_sample_size : Number of rows for required widths, with the formulas.
    detectable_shift : Minimum detectable effect of a test for a number of rows.

    Examples
    --------
    >>> from calibrant.inference import expected_precision
    >>> expected_precision(1000, (2, 8))
    Expected 95% confidence intervals with 1,000 rows with 200 events; risks from Beta(2, 8).
                       anticipated     low    high    width
    O/E                      1.000  0.8834   1.132   0.2486
    calibration slope        1.000  0.7730   1.227   0.4540
    C statistic             0.7090  0.6691  0.7488  0.07969
    """
    study = _study(scores, prevalence, auroc, threshold)
    check_whole(n, "n", 2)
    check_fraction(level, "level")
    return _result(study, n, level, dict.fromkeys(_measures(study), n), {})


def _result(
    study: _Study, n: int, level: float, sizes: Mapping[str, int], widths: Mapping[str, float]
) -> PrecisionResult:
    """The criteria with their numbers of rows and required widths, and their expected limits with `n` rows."""

    def events(rows: int) -> int:
        return math.ceil(rows * study.prevalence * (1 - 1e-12))

    measures, z = _measures(study), two_sided_quantile(level)
    criteria = [
        Criterion(name, measures[name].value, widths.get(name), rows, events(rows), *measures[name].ends(n, z))
        for name, rows in sizes.items()
    ]
    note = _note(study, n)
    return PrecisionResult(n, events(n), study.prevalence, tuple(criteria), level, study.description, note)


@dataclass(frozen=True)
class _Study:
    """What is anticipated of a validation study."""

    description: str
    mean_risk: float
    prevalence: float
    auroc: float
    implied_auroc: float
    slope_variance: float
    """Variance of the calibration slope times the number of rows."""
    threshold: float | None
    sensitivity: float
    specificity: float


def _study(scores: Any, prevalence: Any, auroc: Any, threshold: Any) -> _Study:
    """Check what is anticipated, and derive what is not given from the distribution of the linear predictor."""
    from scipy.special import expit

    for argument, value, low in (("prevalence", prevalence, 0), ("auroc", auroc, 0.5), ("threshold", threshold, 0)):
        if value is not None and not (is_number(value) and low < value < 1):
            problem = f"must lie between {low:g} and 1; got {value!r}"
            raise ArgumentError(argument, problem, f"for example {0.8 if argument == 'auroc' else 0.1}")
    x, share = _linear_predictor(scores, prevalence, auroc, threshold)
    description = "recorded risks" if scores is not None else "linear predictor normal among events and non-events"
    if isinstance(scores, tuple):
        description = f"risks from Beta({scores[0]:g}, {scores[1]:g})"
    risk = expit(x)
    mean_risk = math.fsum(share * risk)
    # Shares of the nodes among events and among non-events.
    event, other = share * risk / mean_risk, share * (1 - risk) / (1 - mean_risk)
    above = risk >= (threshold if threshold is not None else 0.5)
    implied_auroc = math.fsum(event * (np.cumsum(other) - other / 2))
    return _Study(
        description=description,
        mean_risk=mean_risk,
        prevalence=mean_risk if prevalence is None else float(prevalence),
        auroc=implied_auroc if auroc is None else float(auroc),
        implied_auroc=implied_auroc,
        slope_variance=_slope_variance(x, share * risk * expit(-x)),
        threshold=threshold,
        sensitivity=math.fsum(event[above]),
        specificity=math.fsum(other[~above]),
    )


def _slope_variance(x: Floats, weight: Floats) -> float:
    """Inverse of the Fisher information of one row about the slope of a logistic line; infinite if all `x` are equal."""
    i00, i01, i11 = math.fsum(weight), math.fsum(weight * x), math.fsum(weight * x * x)
    determinant = i00 * i11 - i01 * i01
    return i00 / determinant if determinant > 1e-12 * i00 * i11 else math.inf


def _linear_predictor(scores: Any, prevalence: Any, auroc: Any, threshold: Any) -> tuple[Floats, Floats]:
    """Nodes of the distribution of the linear predictor in increasing order, and their shares."""
    cuts = [] if threshold is None else [float(threshold)]
    if scores is not None:
        nodes = nodes_of(scores, as_warp(lambda s: s), cuts)
        if not isinstance(scores, tuple) and not np.isfinite(nodes.log_odds).all():
            problem = "holds risks of exactly 0 or 1, whose log-odds are infinite"
            raise ArgumentError("scores", problem, "clip them, for example to 0.001")
        return nodes.log_odds, nodes.share
    if prevalence is None or auroc is None:
        problem = f"is missing, and so is {'prevalence' if prevalence is None else 'auroc'}"
        raise ArgumentError("scores", problem, "give the distribution of the risks, or prevalence and auroc")
    variance = 2 * normal_quantile(auroc) ** 2
    middle = math.log(prevalence / (1 - prevalence))
    parts = ((prevalence, middle + variance / 2), (1 - prevalence, middle - variance / 2))
    cuts = [math.log(cut / (1 - cut)) for cut in cuts]
    return _normal_nodes(parts, math.sqrt(variance), cuts)


def _normal_nodes(
    parts: Sequence[tuple[float, float]], deviation: float, cuts: Sequence[float]
) -> tuple[Floats, Floats]:
    """Nodes and shares of a mixture of normal distributions, given as (share, mean), by Gauss-Legendre rules between the cuts."""
    low = min(mean for _, mean in parts) - REACH * deviation
    high = max(mean for _, mean in parts) + REACH * deviation
    node, weight = np.polynomial.legendre.leggauss(NODES)
    ends = np.array([low, *(cut for cut in cuts if low < cut < high), high])
    half = np.diff(ends)[:, None] / 2
    x = (ends[:-1, None] + half * (1 + node)).ravel()
    density = sum(share * np.exp(-np.square((x - mean) / deviation) / 2) for share, mean in parts)
    mass = (half * weight).ravel() * density
    return x, mass / mass.sum()


@dataclass(frozen=True)
class _Measure:
    """A measure: its anticipated value, the variance of its estimate, and the scale of its interval."""

    name: str
    value: float
    variance: Callable[[float], float]
    invert: Callable[[float], float]
    """Number of rows for a variance."""
    is_log: bool = False

    def ends(self, n: int, z: float) -> tuple[float, float]:
        half = z * math.sqrt(self.variance(n))
        if self.is_log:
            return self.value * math.exp(-half), self.value * math.exp(half)
        return self.value - half, self.value + half

    def rows(self, width: float, z: float) -> int:
        error = math.asinh(width / (2 * self.value)) / z if self.is_log else width / (2 * z)
        needed = self.invert(error * error)
        if math.isinf(needed):
            problem = "all risks are equal"
            raise UndefinedMetricError(self.name, problem, "give risks that vary, or widths without it")
        return max(2, math.ceil(needed * (1 - 1e-12)))


def _measures(study: _Study) -> dict[str, _Measure]:
    """The measures by name."""
    rate, c = study.prevalence, study.auroc

    def mean(name: str, value: float, each: float, is_log: bool = False) -> _Measure:
        """A measure whose variance is `each` over the number of rows."""
        return _Measure(name, value, lambda n: each / n, lambda variance: each / variance, is_log)

    scale = c * (1 - c) / (rate * (1 - rate))
    part = (1 - c) / (2 - c) + c / (1 + c)
    half = scale * part / 2
    measures = [
        mean("O/E", 1.0, (1 - rate) / rate, is_log=True),
        mean("calibration slope", 1.0, study.slope_variance),
        _Measure(
            "C statistic",
            c,
            lambda n: scale * (1 - part + part * n / 2) / n**2,
            lambda variance: (half + math.sqrt(half**2 + 4 * variance * scale * (1 - part))) / (2 * variance),
        ),
    ]
    if study.threshold is not None:
        sensitivity, specificity = study.sensitivity, study.specificity
        w = (1 - rate) / rate * study.threshold / (1 - study.threshold)
        each = (
            sensitivity * (1 - sensitivity) / rate
            + w**2 * specificity * (1 - specificity) / (1 - rate)
            + w**2 * (1 - specificity) ** 2 / (rate * (1 - rate))
        )
        if each == 0:
            problem = f"no risk reaches {study.threshold:g}, so the net benefit is 0 and has no interval"
            raise ArgumentError("threshold", problem, "choose a threshold inside the range of the risks")
        measures.append(mean("standardised net benefit", sensitivity - w * (1 - specificity), each))
    return {measure.name: measure for measure in measures}


def _note(study: _Study, n: int) -> str:
    notes = []
    if abs(study.prevalence - study.mean_risk) > NEAR * study.prevalence:
        notes.append(
            f"the mean risk {number(study.mean_risk)} is not the prevalence {number(study.prevalence)}: check the distribution"
        )
    if abs(study.auroc - study.implied_auroc) > CLOSE:
        notes.append(
            f"a calibrated model with these risks has C statistic {number(study.implied_auroc)}, "
            f"not {number(study.auroc)}: check the distribution"
        )
    fewer = min(n * study.prevalence, n * (1 - study.prevalence))
    if fewer < FEW:
        notes.append(f"only {fewer:.0f} rows have the rarer outcome; with fewer than {FEW} the formulas are rough")
    return "; ".join(notes)
