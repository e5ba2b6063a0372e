"""`precision_sample_size` and `expected_precision`: rows of a validation study, from the widths of its confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, UndefinedMetricError
from ..util.checks import check_choice, check_fraction, check_positive, check_whole, is_number
from ..util.results import Result, number
from ..views.keywords import documents_keywords, parameters_of
from .effects import nodes_of, normal_quantile
from .means import two_sided_quantile
from .simulation.warps import as_warp

Floats = NDArray[np.float64]
Convention = Literal["exact", "pmvalsampsize"]

# Nodes of each piece of a normal distribution, and the standard deviations that it is cut off at.
NODES, REACH = 400, 12.0
# pmvalsampsize searches standard errors in these steps.
STEP = 1e-4
# A prevalence that differs from the mean risk by more than this share is mentioned in a note.
NEAR = 0.1
# A C statistic that differs from the one of the distribution by more than this is mentioned in a note.
CLOSE = 0.02
# With fewer events or non-events the approximations behind the widths are poor.
FEW = 100


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
    convention : {"exact", "pmvalsampsize"}
        How rows are rounded.
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
    convention: str
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
    linear_predictor: tuple[float, float] | None = None,
    prevalence: float | None = None,
    auroc: float | None = None,
    oe: float | None = None,
    intercept: float = 0.0,
    slope: float = 1.0,
    threshold: float | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    oe_width: float | None = 0.2,
    slope_width: float | None = 0.2,
    auroc_width: float | None = 0.1,
    net_benefit_width: float | None = 0.2,
    level: float = 0.95,
    convention: Convention = "exact",
) -> PrecisionResult:
    r"""Compute the number of rows of an external validation study from the required precision of its estimates.

    A validation study estimates O/E, calibration slope, C statistic and net benefit; the sample is large enough if each of their confidence
    intervals is at most as wide as required. `sample_size` answers another question: the power of a test against a stated deviation.

    Parameters
    ----------
    scores : tuple, array-like of shape (N,), View or Sketch, optional
        Distribution of the predicted risks in the validation population: a tuple (a, b) for a Beta distribution, or recorded risks of
        the model. By default the linear predictor is normal with a common variance among events and non-events, which follows from
        `prevalence` and `auroc`.
    linear_predictor : tuple of (float, float), optional
        Mean and standard deviation of a normally distributed linear predictor (the log-odds of the predicted risk), in place of
        `scores`.
    prevalence : float, optional
        Anticipated proportion of events. By default the one that follows from the distribution, `intercept` and `slope`.
    auroc : float, optional
        Anticipated C statistic. By default the one that follows from the distribution, `intercept` and `slope`.
    oe : float, optional
        Anticipated ratio of observed to expected events. By default the one that follows from `intercept` and `slope`: 1 if the model is calibrated.
    intercept : float, default 0
        Anticipated intercept of the logistic recalibration model.
    slope : float, default 1
        Anticipated calibration slope.
    threshold : float, optional
        Threshold probability at which net benefit is evaluated; without it net benefit is left out.
    sensitivity : float, optional
        Anticipated sensitivity at `threshold`. By default the one that follows from the distribution.
    specificity : float, optional
        Anticipated specificity at `threshold`. By default the one that follows from the distribution.
    oe_width : float or None, default 0.2
        Required width of the interval of O/E; None leaves the criterion out. A rare event needs a wider one: with an observed rate of
        2%, a width of 1 is an error of one percentage point.
    slope_width : float or None, default 0.2
        Required width of the interval of the calibration slope; None leaves the criterion out.
    auroc_width : float or None, default 0.1
        Required width of the interval of the C statistic; None leaves the criterion out.
    net_benefit_width : float or None, default 0.2
        Required width of the interval of the standardised net benefit (net benefit divided by prevalence) at `threshold`; None leaves
        the criterion out.
    level : float, default 0.95
        Confidence level of the intervals.
    convention : {"exact", "pmvalsampsize"}, default "exact"
        ``"exact"`` returns the smallest number of rows that meets each width. ``"pmvalsampsize"`` rounds as the R package of that name
        does, and its numbers can miss the width slightly: the 97.5% quantile is 1.96 (at any `level`), standard errors of O/E and net benefit
        are searched in steps of 0.0001, that of net benefit is rounded to three decimals, and derived sensitivity and specificity
        to two.

    Returns
    -------
    PrecisionResult
        Result with the attributes ``n`` (the largest number of rows), ``events``, ``criteria`` (value, width, rows and events of each),
        ``decisive`` (the criterion that needs most rows) and ``note``.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or the distribution is given twice or not at all.
    UndefinedMetricError
        If all risks are equal, so the calibration slope cannot be estimated.

    See Also
    --------
    expected_precision : Expected confidence intervals for a given number of rows.
    sample_size : Number of rows for the power of a test.

    Notes
    -----
    With prevalence :math:`\phi`, :math:`z` the normal quantile of the level, and required widths :math:`\omega`:

    - O/E: :math:`\mathrm{SE}(\ln \mathrm{O/E}) = \sqrt{(1 - \phi) / (n \phi)}`, and the interval
      :math:`\mathrm{O/E} \cdot e^{\pm z\, \mathrm{SE}}` has width
      :math:`\omega` if :math:`\mathrm{SE} = \operatorname{arsinh}(\omega / (2\, \mathrm{O/E})) / z`.
    - Calibration slope: the variance is :math:`I_{00} / (n (I_{00} I_{11} - I_{01}^2))`, with
      :math:`I_{jk} = \mathrm{E}[x^{j + k} \pi (1 - \pi)]` over the distribution of the linear predictor :math:`x` and
      :math:`\operatorname{logit} \pi = \alpha + \beta x`. The integrals are computed by quadrature.
    - C statistic :math:`C`, by Newcombe's formula:
      :math:`\mathrm{SE}^2 = C (1 - C) \left[1 + (n/2 - 1) \left(\frac{1 - C}{2 - C} + \frac{C}{1 + C}\right)\right] / (n^2 \phi (1 - \phi))`.
    - Standardised net benefit at threshold :math:`t`, with sensitivity :math:`s`, specificity :math:`c` and
      :math:`w = \frac{1 - \phi}{\phi} \frac{t}{1 - t}`: :math:`n\,\mathrm{SE}^2 = \frac{s (1 - s)}{\phi} + \frac{w^2 c (1 - c)}{1 - \phi} + \frac{w^2 (1 - c)^2}{\phi (1 - \phi)}`.

    The standard error of O/E treats the expected number of events as fixed and the risks as unknown, which is conservative: the interval of
    `expected_observed_ratio` uses the risks and is narrower.

    Without `scores` and `linear_predictor`, the true log-odds among events and non-events are normal with variance
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
    anticipated = Anticipated(
        scores, linear_predictor, prevalence, auroc, oe, intercept, slope, threshold, sensitivity, specificity
    )
    study = _study(anticipated)
    check_choice(convention, "convention", ("exact", "pmvalsampsize"))
    check_fraction(level, "level")
    given: dict[str, Any] = {
        "oe_width": oe_width,
        "slope_width": slope_width,
        "auroc_width": auroc_width,
        "net_benefit_width": net_benefit_width if threshold is not None else None,
    }
    widths = {key: check_positive(value, key) for key, value in given.items() if value is not None}
    if "auroc_width" in widths:
        _check_between(auroc_width, "auroc_width", 0, 1)
    if not widths:
        raise ArgumentError("oe_width", "every criterion is left out", "give at least one width")
    rough = convention == "pmvalsampsize"
    z = 1.96 if rough else two_sided_quantile(level)
    measures = _measures(study, rough)
    sizes = {key: measures[key].rows(width, z, rough) for key, width in widths.items()}
    n = max(sizes.values())
    return _result(study, measures, n, z, level, convention, widths, sizes)


@documents_keywords(table=parameters_of(precision_sample_size))
def expected_precision(
    n: int,
    scores: Any = None,
    *,
    linear_predictor: tuple[float, float] | None = None,
    prevalence: float | None = None,
    auroc: float | None = None,
    oe: float | None = None,
    intercept: float = 0.0,
    slope: float = 1.0,
    threshold: float | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
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
    linear_predictor
    prevalence
    auroc
    oe
    intercept
    slope
    threshold
    sensitivity
    specificity
    level

    Returns
    -------
    PrecisionResult
        Result whose ``criteria`` have the expected limits ``low`` and ``high`` and their ``width``.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or the distribution is given twice or not at all.
    UndefinedMetricError
        If all risks are equal, so the calibration slope cannot be estimated.

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
    anticipated = Anticipated(
        scores, linear_predictor, prevalence, auroc, oe, intercept, slope, threshold, sensitivity, specificity
    )
    study = _study(anticipated)
    check_whole(n, "n", 2)
    check_fraction(level, "level")
    measures = _measures(study, False)
    widths, sizes = dict.fromkeys(measures), dict.fromkeys(measures, n)
    return _result(study, measures, n, two_sided_quantile(level), level, "exact", widths, sizes)


def _result(
    study: _Study,
    measures: Mapping[str, _Measure],
    n: int,
    z: float,
    level: float,
    convention: str,
    widths: Mapping[str, float | None],
    sizes: Mapping[str, int],
) -> PrecisionResult:
    """The criteria with their required widths and numbers of rows, and their expected limits with `n` rows."""

    def events(rows: int) -> int:
        return math.ceil(rows * study.prevalence * (1 - 1e-12))

    criteria = []
    for key, width in widths.items():
        measure, rows = measures[key], sizes[key]
        criteria.append(Criterion(measure.name, measure.value, width, rows, events(rows), *measure.ends(n, z)))
    note = _note(study, n)
    return PrecisionResult(n, events(n), study.prevalence, tuple(criteria), level, study.description, convention, note)


class Anticipated(NamedTuple):
    """What is anticipated of a validation study, None where it follows from the distribution of the risks."""

    scores: Any
    linear_predictor: Any
    prevalence: Any
    auroc: Any
    oe: Any
    intercept: Any
    slope: Any
    threshold: Any
    sensitivity: Any
    specificity: Any


@dataclass(frozen=True)
class _Study:
    """What is anticipated of a validation study, and the information about the slope that each row adds."""

    description: str
    mean_risk: float
    prevalence: float
    auroc: float
    implied_auroc: float
    oe: float
    slope: float
    information: tuple[float, float, float]
    threshold: float | None
    sensitivity: float
    specificity: float
    derived: bool
    """Whether sensitivity and specificity follow from the distribution."""


def _study(anticipated: Anticipated) -> _Study:
    """Check what is anticipated, and derive what is not given from the distribution of the linear predictor."""
    from scipy.special import expit

    _, _, prevalence, auroc, oe, intercept, slope, threshold, sensitivity, specificity = anticipated
    for argument, low, high in (("prevalence", 0, 1), ("auroc", 0.5, 1), ("threshold", 0, 1)):
        if (value := getattr(anticipated, argument)) is not None:
            _check_between(value, argument, low, high)
    for argument in ("sensitivity", "specificity"):
        value = getattr(anticipated, argument)
        if value is not None and not (is_number(value) and 0 <= value <= 1):
            raise ArgumentError(argument, f"must lie in [0, 1]; got {value!r}", "for example 0.8")
    if (sensitivity is None) != (specificity is None):
        missing = "specificity" if specificity is None else "sensitivity"
        raise ArgumentError(missing, "is missing", "give sensitivity and specificity, or neither")
    if oe is not None:
        check_positive(oe, "oe")
    check_positive(slope, "slope")
    if not (is_number(intercept) and math.isfinite(intercept)):
        raise ArgumentError("intercept", f"must be a finite number; got {intercept!r}", "for example 0")
    x, share, description = _linear_predictor(anticipated)
    truth, weight = expit(intercept + slope * x), share * expit(intercept + slope * x) * expit(-intercept - slope * x)
    risk = expit(x)
    mean_risk, rate = math.fsum(share * risk), math.fsum(share * truth)
    information = (math.fsum(weight), math.fsum(weight * x), math.fsum(weight * x * x))
    yes, no = share * truth / rate, share * (1 - truth) / (1 - rate)
    above = risk >= (threshold if threshold is not None else 0.5)
    implied = math.fsum(yes * (np.cumsum(no) - no / 2))
    derived = sensitivity is None
    return _Study(
        description,
        mean_risk,
        rate if prevalence is None else float(prevalence),
        implied if auroc is None else float(auroc),
        implied,
        rate / mean_risk if oe is None else float(oe),
        float(slope),
        information,
        None if threshold is None else float(threshold),
        math.fsum(yes[above]) if derived else float(sensitivity),
        math.fsum(no[~above]) if derived else float(specificity),
        derived,
    )


def _linear_predictor(anticipated: Anticipated) -> tuple[Floats, Floats, str]:
    """Nodes of the distribution of the linear predictor in increasing order, their shares, and a description."""
    scores, normal, prevalence, auroc, _, intercept, slope, threshold, *_ = anticipated
    if scores is not None and normal is not None:
        raise ArgumentError("linear_predictor", "cannot be combined with scores", "give one of them")
    if scores is not None:
        nodes = nodes_of(scores, as_warp(lambda s: s), [] if threshold is None else [threshold])
        if isinstance(scores, tuple):
            return nodes.log_odds, nodes.share, f"risks from Beta({scores[0]:g}, {scores[1]:g})"
        if not np.isfinite(nodes.log_odds).all():
            problem = "holds risks of exactly 0 or 1, whose log-odds are infinite"
            raise ArgumentError("scores", problem, "clip them, for example to 0.001")
        return nodes.log_odds, nodes.share, "recorded risks"
    if normal is not None:
        is_pair = isinstance(normal, (tuple, list)) and len(normal) == 2 and all(map(is_number, normal))
        if not is_pair or not (math.isfinite(normal[0]) and 0 < normal[1] < math.inf):
            problem = f"must be a mean and a positive standard deviation; got {normal!r}"
            raise ArgumentError("linear_predictor", problem, "for example (-1.5, 1)")
        parts = [(1.0, float(normal[0]), float(normal[1]))]
        text = f"linear predictor normal with mean {normal[0]:g} and SD {normal[1]:g}"
    else:
        if prevalence is None or auroc is None:
            problem = f"is missing, and so is {'prevalence' if prevalence is None else 'auroc'}"
            raise ArgumentError("scores", problem, "give the distribution of the risks, or prevalence and auroc")
        spread = 2 * normal_quantile(auroc) ** 2
        middle = math.log(prevalence / (1 - prevalence))
        parts = [
            (part, (middle + sign * spread / 2 - intercept) / slope, math.sqrt(spread) / slope)
            for part, sign in ((prevalence, 1), (1 - prevalence, -1))
        ]
        text = "linear predictor normal among events and non-events"
    cut = [] if threshold is None else [math.log(threshold / (1 - threshold))]
    return *_normal_nodes(parts, cut), text


def _normal_nodes(parts: list[tuple[float, float, float]], cuts: list[float]) -> tuple[Floats, Floats]:
    """Nodes and shares of a mixture of normal distributions, given as (share, mean, SD), by Gauss-Legendre rules between the cuts."""
    low = min(mean - REACH * sd for _, mean, sd in parts)
    high = max(mean + REACH * sd for _, mean, sd in parts)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    ends = np.array([low, *(cut for cut in cuts if low < cut < high), high])
    half = np.diff(ends)[:, None] / 2
    x = (ends[:-1, None] + half * (1 + node)).ravel()
    density = sum(share / sd * np.exp(-np.square((x - mean) / sd) / 2) for share, mean, sd in parts)
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
    decimals: int | None = None
    """Decimals to which pmvalsampsize rounds the standard error that it searches; None where it does not search."""

    def ends(self, n: int, z: float) -> tuple[float, float]:
        half = z * math.sqrt(self.variance(n))
        if self.is_log:
            return self.value * math.exp(-half), self.value * math.exp(half)
        return self.value - half, self.value + half

    def rows(self, width: float, z: float, rough: bool) -> int:
        error = math.asinh(width / (2 * self.value)) / z if self.is_log else width / (2 * z)
        if rough and self.decimals is not None:
            error = round(math.ceil(error / STEP - 1e-9) * STEP, self.decimals)
        needed = self.invert(error * error)
        if math.isinf(needed):
            raise UndefinedMetricError(
                self.name, "all risks are equal", "give a distribution of risks that vary, or slope_width=None"
            )
        return max(2, math.ceil(needed * (1 - 1e-12)))


def _measures(study: _Study, rough: bool) -> dict[str, _Measure]:
    """The measures, by the keyword of their width."""
    rate, c = study.prevalence, study.auroc
    found = {}

    def simple(key: str, name: str, value: float, each: float, **more: Any) -> None:
        found[key] = _Measure(name, value, lambda n: each / n, lambda variance: each / variance, **more)

    simple("oe_width", "O/E", study.oe, (1 - rate) / rate, is_log=True, decimals=4)
    i00, i01, i11 = study.information
    determinant = i00 * i11 - i01 * i01
    simple(
        "slope_width",
        "calibration slope",
        study.slope,
        i00 / determinant if determinant > 1e-12 * i00 * i11 else math.inf,
    )
    scale = c * (1 - c) / (rate * (1 - rate))
    part = (1 - c) / (2 - c) + c / (1 + c)
    found["auroc_width"] = _Measure(
        "C statistic",
        c,
        lambda n: scale * (1 - part + part * n / 2) / n**2,
        lambda variance: (
            (scale * part / 2 + math.sqrt((scale * part / 2) ** 2 + 4 * variance * scale * (1 - part))) / (2 * variance)
        ),
    )
    if study.threshold is not None:
        sensitivity, specificity = study.sensitivity, study.specificity
        if rough and study.derived:
            sensitivity, specificity = round(sensitivity, 2), round(specificity, 2)
        w = (1 - rate) / rate * study.threshold / (1 - study.threshold)
        each = (
            sensitivity * (1 - sensitivity) / rate
            + w**2 * specificity * (1 - specificity) / (1 - rate)
            + w**2 * (1 - specificity) ** 2 / (rate * (1 - rate))
        )
        if each == 0:
            problem = f"no risk reaches {study.threshold:g}, so the net benefit is 0 and has no interval"
            raise ArgumentError("threshold", problem, "choose a threshold inside the range of the risks")
        benefit = sensitivity - w * (1 - specificity)
        simple("net_benefit_width", "standardised net benefit", benefit, each, decimals=3)
    return found


def _note(study: _Study, n: int) -> str:
    notes = []
    expected = study.mean_risk * study.oe
    if abs(study.prevalence - expected) > NEAR * study.prevalence:
        notes.append(
            f"the mean risk {number(study.mean_risk)} and O/E {number(study.oe)} imply a prevalence of {number(expected)}, "
            f"not {number(study.prevalence)}: check the distribution"
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


def _check_between(value: Any, argument: str, low: float, high: float) -> None:
    if not (is_number(value) and low < value < high):
        middle = 0.8 if argument == "auroc" else 0.1
        raise ArgumentError(
            argument, f"must lie between {low:g} and {high:g}; got {value!r}", f"for example {middle:g}"
        )
