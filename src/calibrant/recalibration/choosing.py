"""Selection of a calibration method by cross-validation."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import few_levels
from ..errors import ArgumentError, UndefinedMetricError
from ..inference.means import gamma_limits
from ..input.convert import codes_of, column, summing_to_one
from ..input.predictions import Predictions
from ..metrics.registry import Metric, catalogue
from ..sketches.collection import Sketches
from ..sketches.sketch import Sketch
from ..util.checks import check_fraction, check_whole
from ..util.results import Result, number
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions
from .base import Calibrator, Identity, Input
from .cross_validation import CrossValidation, beside_scores, fit_quietly
from .methods import METHODS, find_method
from .metric_targets import MetricTarget, MetricValidation, lens_name, read_loss, target_fits
from .safe import FLOOR
from .scores import Floats, TrainingData, fold_of_rows, names_array, split_cells
from .targets import Target, carried_over, induced, owners, read_target

if TYPE_CHECKING:
    from .intervals import CalibrationInterval


@dataclass(frozen=True)
class Candidate:
    """Cross-validated result of one calibration method.

    Parameters
    ----------
    method : str
        Name of the method.
    loss : float
        Mean loss on the held-out folds, or the distance of a metric from its ideal value.
    gain : float
        Reduction of the loss relative to no recalibration, without correction for the selection.
    low : float
        Lower end of the confidence interval of the gain.
    high : float
        Upper end of the confidence interval of the gain.
    ece : float
        Expected calibration error on the held-out folds.
    reason : str, default ""
        Why the method could not be fitted; empty if it was fitted.
    note : str, default ""
        Remarks: the warnings of the fit on all rows, and labels with a predicted probability of 0.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> candidate = cal.recalibrate(data.y_true, data.y_prob, method="platt").candidates[1]
    >>> candidate.method, round(candidate.gain, 4)
    ('platt', 0.0355)
    """

    method: str
    loss: float
    gain: float
    low: float
    high: float
    ece: float
    reason: str = ""
    note: str = ""


@dataclass(frozen=True, repr=False)
class Recalibration(Result):
    """Result of `recalibrate`: the selected calibrator and the cross-validated gain of every candidate.

    Attributes
    ----------
    method : str
        Name of the selected method; ``"none"`` if no calibrator reduces the loss reliably.
    calibrator : Calibrator
        Selected calibrator, fitted on all rows.
    candidates : tuple of Candidate
        Loss, gain, interval and expected calibration error of every method; the first is ``"none"``.
    loss : str
        Loss by which the methods were compared.
    level : float
        Confidence level of the intervals.
    n : int
        Number of rows.
    gain : float
        Estimated reduction of the loss on new data by this selection and fit, from nested cross-validation. Where the method is ``"none"``, the
        calibrator changes nothing, and the gain is that of the methods that parts of the rows select.
    low : float
        Lower end of the confidence interval of the gain.
    high : float
        Upper end of the confidence interval of the gain.
    note : str
        Remarks on the selection; empty if there are none.
    warned : str
        Warnings of the fit of the selected calibrator, which `note` includes; empty if there were none.
    lens : str
        Event that was calibrated and on which the methods were compared; empty for all classes.
    held_out : ndarray of shape (N, K)
        Probabilities of the selected method, each from a fit without the fold of its row.
    """

    method: str
    calibrator: Calibrator
    candidates: tuple[Candidate, ...]
    loss: str
    level: float
    n: int
    gain: float
    low: float
    high: float
    note: str = ""
    warned: str = ""
    lens: str = ""
    held_out: Any = None

    def predict_proba(self, scores: Any, **beside: Any) -> Floats:
        """Predict calibrated probabilities with the selected calibrator.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Scores of the same kind as those passed to `recalibrate`.
        **beside
            ``groups`` or ``features`` of each row, if the calibrator needs them.

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities, one column per class; rows sum to 1.
        """
        return self.calibrator.predict_proba(scores, **beside)

    def predict_interval(self, scores: Any = None, **options: Any) -> CalibrationInterval:
        """Compute confidence intervals of calibrated probabilities of the selected calibrator.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame, optional
            Scores of the same kind as those passed to `recalibrate`; by default these.
        **options
            ``rows``, ``level``, ``n_resamples`` and ``rng`` of `Calibrator.predict_interval`.

        Returns
        -------
        CalibrationInterval
            Result with attributes `probability`, `low` and `high`, for this calibrator without the selection.
        """
        return self.calibrator.predict_interval(scores, **options)

    def save(  # type: ignore[override]
        self, path: str | os.PathLike[str], *, preprocessing: str | None = None
    ) -> Path:
        """Write the selected calibrator to a JSON file, as `calibrant.save` does; `calibrant.load` reads it.

        The table of candidates is given by `to_frame` and `to_json`.

        Parameters
        ----------
        path : str or path-like
            File to write.
        preprocessing : str, optional
            Description of how the scores are computed; `load` compares it with its own argument.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        from .persistence import save

        return save(self.calibrator, path, preprocessing=preprocessing)

    def _fields(self) -> dict[str, Any]:
        names = ("method", "loss", "lens", "level", "n", "gain", "low", "high", "note", "candidates")
        return {name: getattr(self, name) for name in names}

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [getattr(c, name) for c in self.candidates] for name in Candidate.__dataclass_fields__}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for c in self.candidates:
            mark = "*" if c.method == self.method else ""
            if c.reason:
                rows.append([mark, c.method, "", "", "", "", c.reason])
                continue
            span = "" if c.method == "none" else f"[{number(c.low)}, {number(c.high)}]"
            rows.append([mark, c.method, number(c.loss), number(c.gain), span, number(c.ece), c.note])
        return ["", "method", f"held-out {self.loss}", "gain", f"{100 * self.level:g}% interval", "ece", ""], rows

    def _title(self) -> str:
        if self.method == "none":
            reduces = "no calibrator reduces the held-out loss by more than its standard error"
            reason = "no calibrator was tried" if len(self.candidates) == 1 else reduces
            return f"none: {reason}; predict_proba returns the probabilities unchanged"
        event = f" for {self.lens}" if self.lens else ""
        span = f"{100 * self.level:g}% interval {number(self.low)} to {number(self.high)}"
        return (
            f"{self.method}: selected by cross-validation on {self.n:,} rows{event}\n"
            f"estimated gain on new data: {number(self.gain)}, {span}"
        )

    def _notes(self) -> list[str]:
        return [f"note: {self.note}"] if self.note else []


@documents_keywords()
def recalibrate(
    y_true: Any,
    y_prob: Any = None,
    *,
    method: str | Calibrator | Iterable[str] = "auto",
    loss: str | Metric = "nll",
    folds: Any = 5,
    level: float = 0.95,
    rng: Any = 0,
    lens: str | Lens | Mapping[Any, Any] | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Recalibration:
    r"""Select a calibrator by cross-validation and fit it on all rows.

    Compares calibration methods by their mean loss on held-out folds and fits the best on all rows, unless its gain over no
    recalibration is small relative to its standard error. The gain is estimated by nested cross-validation. Pass validation data that the
    classifier was not trained on.

    Parameters
    ----------
    y_true : array-like of shape (N,), frame, Predictions or Sketch
        Observed labels: class indices, booleans, -1 and 1, class names, or one-hot rows. Alternatively a frame, with `label` and `prob`
        naming its columns, `Predictions`, or a `Sketch` of two classes; `y_prob` is then omitted.
    y_prob
    method : str, iterable of str or Calibrator, default "auto"
        Name of a method (``"temperature"``, ``"platt"``, ``"isotonic"``, ...), several names, or an unfitted calibrator. ``"auto"``
        compares the methods suited to the number of rows and classes.
    loss : str or Metric, default "nll"
        What methods are compared by: ``"nll"`` or ``"brier"``, strictly proper scoring rules that are means over rows (in the negative
        log-likelihood, probabilities below 1e-12 are replaced by 1e-12), or any metric whose ideal value is known, such as ``"ece"``,
        ``"cwce"``, ``"gece"``, ``"vce"``, ``"ecd"`` or ``"smece"``, evaluated on all held-out rows together.
    folds : int or array-like of shape (N,), default 5
        Number of folds, at least 3; or the fold of each row, for rows that belong together or follow one another in time: any three or more
        values. All observations that a row represents (`counts`) are in the same fold.
    level : float, default 0.95
        Confidence level of the interval of the gain.
    rng : None, int or numpy.random.Generator, default 0
        Seed of the assignment to folds. The result does not depend on the order of the rows.
    lens : str, Lens or mapping, optional
        Event that is calibrated in place of all classes, and on which the methods are compared: a mapping from groups to classes or
        `calibrant.class_groups`, ``"class:NAME"``, ``"top_label"``, ``"within_top:K"``, or ``"band:LOW,HIGH"`` for the rows of a band of
        confidence. The result is carried over to all classes; see `LensCalibration`. With ``"classwise"``, ``"top_k:K"``, ``"rank:K"``,
        ``"ordinal"`` or ``"canonical"`` all classes are calibrated, and the loss, as a metric, is evaluated under this lens.
    sample_weight
    pos_label

    Returns
    -------
    Recalibration
        Result with attributes `method`, `calibrator`, `gain`, `low`, `high`, `candidates` and `note`, and the method `predict_proba`.

    Raises
    ------
    UndefinedMetricError
        If labels are soft or multilabel, all labels are equal, or there are fewer than two rows per fold.
    ArgumentError
        If a parameter is invalid.

    See Also
    --------
    save : Write the result to a file.
    SafeCalibration : A calibrator with a bound on its overconfidence.
    GroupCalibration : One calibrator per group.
    LensCalibration : The calibrator of one event that `lens` selects.
    calibrant.sklearn.CalibratedModel : The same as a scikit-learn meta-estimator.

    Notes
    -----
    The gain of a candidate is the mean :math:`\bar d` of the differences :math:`d_i` of the losses of each row without and with
    recalibration, where the fit lacks the fold of the row. The method with the largest gain is selected if :math:`\bar d` exceeds one standard
    error of the rows, :math:`\sqrt{\sum_i w_i^2 (d_i - \bar d)^2}` with :math:`\sum_i w_i = 1` [1]_, or if the held-out log-likelihood of all rows
    is more than log 20 above that without recalibration (loss ``"nll"``), since few rows of a very large loss make the standard error large;
    otherwise none is, and the calibrator is the identity. Since the held-out loss already includes the cost of estimation, calibrated data
    exceed this in 0 to 6 % of samples.

    Having been selected makes a gain look larger than it is. The reported gain therefore repeats the selection without the rows on which it is
    measured [2]_: each fold :math:`k` contributes the gain of the method that the other folds select by cross-validation among themselves. The
    correction of Burman [3]_ adds :math:`\sum_i w_i e_i - \sum_k s_k \sum_i w_i e_{ik}`, where :math:`e_i` and :math:`e_{ik}` are the gains of
    row i with the selection on all rows and without fold k, whose share of the weight is :math:`s_k`, since a fit without a fold has fewer rows.
    The variance of intervals is that between rows plus half of that between fits,

    .. math:: \sum_i w_i^2 (d_i - \bar d)^2 + \tfrac{K - 1}{2} \sum_k s_k \sum_i w_i^2 (e_{ik} - e_i - \overline{e_k - e})^2 .

    Their limits are quantiles of a gamma distribution with this variance and the third moment of the rows, because a few rows with large losses
    make gains skewed. In simulations with 100 to 1000 rows, intervals of 95 % cover the gain on new data in 92 to 100 % of
    samples, with Monte Carlo errors of up to 3 points.

    Methods whose held-out loss exceeds that of the selected one by more than 2.5 standard errors, of the same variance, are not among those that
    the other folds select from, so that they need no fits without two folds. In simulations with 100 to 1000 rows, these would have been selected in
    2 of 1735 folds.

    A metric of all rows, such as the expected calibration error, is not a mean over rows. Its gain is then the reduction of its distance from the
    ideal value on the held-out rows, with the standard error of 50 resamples of these rows; the nested estimate evaluates the metric once on
    the rows of all folds, each with the method that the other folds select. A low calibration error does not show whether classes are distinguished,
    so that a note says where the negative log-likelihood rises. Methods are fitted by their own objective. For a metric that is continuous in the
    probabilities, such as ``"smece"``, ``"mmce"``, ``"skce_uq"`` or ``"ecd"``, ``"auto"`` also fits temperature scaling, and with up to five classes
    bias-corrected temperature scaling, to the metric itself (``"temperature:smece"``): squared distance from the ideal value, by L-BFGS from the
    fit of largest likelihood, with a penalty where the likelihood is below that without recalibration.

    Of a sketch, the rows of a cell have the mean score of the cell, and the folds divide them at random. Parametric methods give the same
    curve as the rows up to about 5e-6 over their range, or 1e-4 where most scores are near 0; scores below 1e-6 are in one cell. Of isotonic regression, the sum of the calibrated probabilities up to any edge of a cell differs by at
    most a quarter of the rows of the largest cell; of `histogram` with B bins of equal mass, the probability of a bin differs by at most
    :math:`4 B s`, with :math:`s` the largest share of the rows in one cell, and with edges of the grid not at all.

    A calibrator whose fit warns, because a parameter lies at its bound or a class has no rows, is selected only if no
    other is eligible, since cross-validation on similar rows cannot reveal its errors.

    References
    ----------
    .. [1] Breiman, L., Friedman, J. H., Olshen, R. A., Stone, C. J. (1984). Classification and regression trees. Wadsworth, section 3.4.3.
    .. [2] Varma, S., Simon, R. (2006). Bias in error estimation when using cross-validation for model selection. BMC Bioinformatics 7.
    .. [3] Burman, P. (1989). A comparative study of ordinary cross-validation, v-fold cross-validation and the repeated learning-testing
       methods. Biometrika 76, 503-514.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(2000, warp=cal.inference.simulation.temperature(2.0), rng=0)
    >>> found = cal.recalibrate(data.y_true, data.y_prob)
    >>> found.method, round(found.gain, 4)
    ('temperature', 0.036)
    >>> found.predict_proba([0.95]).round(3)
    array([[0.167, 0.833]])
    """
    aim, event_lens = read_loss(loss, lens)
    check_fraction(level, "level")
    if np.ndim(folds) == 0:
        check_whole(folds, "folds", 3)
    fold = None
    if isinstance(y_true, (Sketch, Sketches)) and y_prob is None:
        predictions, fold = cells_of_sketch(y_true, folds, rng, event_lens)
    else:
        predictions = as_predictions(y_true, y_prob, sample_weight, pos_label)
        fold = given_folds(folds, predictions) if np.ndim(folds) else None
    folds = folds if fold is None else int(fold.max()) + 1
    problem = _read_problem(predictions, event_lens, folds)
    p = problem.event
    calibrators = _compared_methods(method, p, aim)
    fold = fold_of_rows(TrainingData(p), folds, rng) if fold is None else fold
    if len(fold) != p.n:
        raise ArgumentError("folds", "must be a number for a band, which leaves out rows", "pass a number")
    cv: CrossValidation | MetricValidation
    if isinstance(aim, MetricTarget):
        cv, loss = MetricValidation(calibrators, p, fold, aim), aim.metric.id
    else:
        cv, loss = CrossValidation(calibrators, p, fold, aim), aim
    candidates = _candidates(cv, calibrators, p, loss, level)
    best = next(c for c in candidates if c.method == cv.selected)
    chosen = problem.whole_calibrator(cv.fits[best.method].calibrator)
    low, high = gamma_limits(cv.nested_gain, level)
    assert p.labels is not None
    floored = {name: _floored(cv.fits[name].probs, p.labels, loss) for name in ("none", best.method)}
    notes = [
        *_notes_on_selection(best, candidates, cv, low <= 0 <= high),
        *(f"{name}: {note}" for name, note in floored.items() if note),
    ]
    return Recalibration(
        method=best.method,
        calibrator=chosen,
        candidates=tuple(candidates),
        loss=loss,
        level=level,
        n=_rows(p),
        gain=cv.nested_gain.mean,
        low=low,
        high=high,
        note="; ".join(filter(None, notes)),
        warned=cv.fits[best.method].warnings[-1],
        lens=problem.target.name if problem.target is not None else lens_name(lens),
        held_out=cv.fits[best.method].probs,
    )


def cells_of_sketch(sketch: Sketch | Sketches, folds: Any, rng: Any, lens: Any) -> tuple[Predictions, NDArray[np.intp]]:
    """The cells of a sketch as rows with counts, divided among the folds."""
    for argument, given in (("lens", lens is not None), ("folds", np.ndim(folds))):
        if given:
            raise ArgumentError(argument, "cannot be used with a sketch, which has no rows", "pass the rows")
    return split_cells(sketch.predictions(), folds, rng)


def given_folds(folds: Any, p: Predictions) -> NDArray[np.intp]:
    """The number of the fold of each row that has a weight, from one value for each row."""
    codes = codes_of(column(folds, "folds").array, "folds")
    rows = p.n if p.kept is None else len(p.kept)
    if len(codes) != rows:
        raise ArgumentError("folds", f"must be a number, or one value for each of {rows} rows; got {len(codes)}")
    names, codes = np.unique(codes if p.kept is None else codes[p.kept], return_inverse=True)
    if len(names) < 3:
        raise ArgumentError("folds", f"must have three or more values; got {len(names)}")
    return codes


class _Problem(NamedTuple):
    """The predictions of all classes, and those of the event that is calibrated."""

    whole: Predictions
    event: Predictions
    """The same as `whole` without a lens."""
    target: Target | None
    owner: Any
    """Which part of the event each class belongs to."""

    def whole_calibrator(self, chosen: Calibrator) -> Calibrator:
        """The calibrator of the event, carried over to all classes, with their names."""
        names = self.whole.classes
        if self.target is not None and isinstance(chosen, Identity):
            chosen = fit_quietly(chosen, TrainingData(self.whole), {})[0]
        elif self.target is not None:
            chosen = carried_over(self.target, chosen, TrainingData(self.whole), names, self.owner)
        if names is not None:
            chosen.classes_ = names_array(names)
        return chosen


def _read_problem(predictions: Predictions, lens: Any, folds: int) -> _Problem:
    if predictions.labels is None or predictions.kind not in ("binary", "multiclass"):
        raise UndefinedMetricError("y_true", "recalibration requires one class for each row", _remedy(predictions))
    if (predictions.labels == predictions.labels[0]).all():
        raise UndefinedMetricError(
            "y_true", "recalibration requires rows of at least two classes; all labels are equal"
        )
    _check_rows(predictions, folds)
    whole = rows_summing_to_one(predictions)
    if lens is None:
        return _Problem(whole, whole, None, None)
    target = read_target(lens)
    owner = owners(target, range(whole.k) if whole.classes is None else whole.classes)
    event = induced(TrainingData(whole), target, owner)
    _check_rows(event, folds)
    return _Problem(whole, event, target, owner)


def _check_rows(p: Predictions, folds: int) -> None:
    if p.n < 2 * folds:
        raise UndefinedMetricError(
            "y_true", f"too few rows for {folds} folds: at least {2 * folds} are required; got {p.n}"
        )


def _remedy(p: Predictions) -> str:
    """How to obtain one class per row."""
    if p.kind == "multilabel":
        return "use MultilabelCalibration, or choose per label: recalibrate(y_true[:, k], y_prob[:, k])"
    if p.kind == "confidence":
        return 'pass all probabilities, or drop input="confidence": being right is then the class'
    return "pass the class of each row; where several people labelled a row, repeat it for each of them"


def rows_summing_to_one(p: Predictions) -> Predictions:
    """Divide rows by their sums if a wider tolerance admitted them, since calibrators check the sums again."""
    probs = p.probs if p.logits is not None else summing_to_one(p.probs)
    return p if probs is p.probs else p.with_probs(probs)


def _rows(p: Predictions) -> int:
    """The number of rows, each with its count."""
    return round(float(p.weight.sum())) if p.weight is not None and p.weight_kind == "counts" else p.n


SCALES = {"prob": "probabilities", "logit": "logits"}


def _compared_methods(method: Any, p: Predictions, aim: Any) -> dict[str, Calibrator]:
    """No recalibration, and the methods that are compared with it for the loss or metric `aim`."""
    input: Input = "prob" if p.logits is None else "logit"
    none = METHODS["none"](input=input)
    if isinstance(method, Calibrator):
        if method.needs and beside_scores(method, p) is None:
            problem = f"{type(method).__name__} requires {method.needs}"
            raise ArgumentError("method", problem, f"pass Predictions(..., {method.needs}=...)")
        if method.input != input:
            problem = f"{method!r} expects {SCALES[method.input]}, and the scores are {SCALES[input]}"
            raise ArgumentError("method", problem, "use the same input for both")
        return {"none": none, type(method).__name__: method}
    if method == "auto":
        names, fits = _automatic(p), target_fits(aim, p) if isinstance(aim, MetricTarget) else {}
    else:
        names, fits = [method] if isinstance(method, str) else list(method), {}
    return {"none": none} | {name: find_method(name)(input=input) for name in names if name != "none"} | fits


# Rows per distinct score from which the rate of each is a candidate.
ROWS_FOR_A_RATE = 20
# Candidates up to this product of rows and a power of the classes, the first of both numbers: some seconds for each fit.
MOST_PRODUCTS = {"structured": (2, 1e8), "venn_abers": (1, 2e5)}


def _automatic(p: Predictions) -> list[str]:
    """The methods whose required number of rows is met, those with the smallest requirement first."""
    n = _rows(p)
    known = sorted((method.candidate[p.kind], name) for name, method in METHODS.items() if p.kind in method.candidate)
    names = []
    for (rows, each), name in known:
        power, most = MOST_PRODUCTS.get(name, (1, math.inf))
        if n >= max(rows, each * p.k) and p.n * p.k**power <= most:
            names.append(name)
    # With many rows at each of few scores, no curve needs to be assumed.
    levels = few_levels(p.probs if p.probs.ndim == 1 else p.probs[:, -1], n) if p.kind == "binary" else None
    return names if levels is None or n < ROWS_FOR_A_RATE * len(levels) else [*names, "histogram_levels"]


def _candidates(
    cv: CrossValidation | MetricValidation, names: Iterable[str], p: Predictions, loss: str, level: float
) -> list[Candidate]:
    """Held-out loss, gain and calibration error of each method."""
    assert p.labels is not None
    candidates = []
    for name in names:
        if name in cv.reasons:
            candidates.append(Candidate(name, math.inf, -math.inf, -math.inf, math.inf, math.nan, cv.reasons[name]))
            continue
        fits = cv.fits[name]
        gain = cv.gain(name)
        low, high = gamma_limits(gain, level)
        ece = catalogue["ece"](Predictions.derived(p.labels, fits.probs, sample_weight=p.weight))
        notes = [fits.warnings[-1], _floored(fits.probs, p.labels, loss)]
        candidates.append(
            Candidate(
                method=name,
                loss=cv.loss_of(name),
                gain=gain.mean,
                low=low,
                high=high,
                ece=ece,
                note="; ".join(filter(None, notes)),
            )
        )
    return candidates


def _floored(probs: Floats, labels: NDArray[Any], loss: str) -> str:
    """The number of labels whose predicted probability is below the bound of the negative log-likelihood."""
    if loss != "nll":
        return ""
    own = probs[np.arange(len(labels)), labels]
    count = int((own < FLOOR).sum())
    return f"the nll is computed with {FLOOR:g} for {count:,} labels of smaller predicted probability" if count else ""


def _notes_on_selection(
    best: Candidate, candidates: list[Candidate], cv: CrossValidation | MetricValidation, contains_zero: bool
) -> list[str]:
    """All remarks that apply to the selected candidate, and those of lower loss that were not selected."""
    plain = candidates[0]
    warned = {name: fits.warnings[-1] for name, fits in cv.fits.items()}
    notes = [warned[best.method]]
    if not warned[best.method]:
        better = [c.method for c in candidates if c.loss < best.loss]
        notes += [f"{name} has a lower loss but was not selected ({warned[name]})" for name in better if warned[name]]
    if isinstance(cv, MetricValidation):
        before, after = cv.nll_of("none"), cv.nll_of(best.method)
        if after > before:
            notes.append(f"the held-out nll rises from {number(before)} to {number(after)}")
    elif best.ece > plain.ece:
        notes.append(
            f"ece rose from {number(plain.ece)} to {number(best.ece)} although the loss fell: ece evaluates one event in bins, where "
            "errors can cancel; the loss is a proper scoring rule and the better guide"
        )
    if best.method != "none" and contains_zero:
        notes.append("the gain is not statistically significant: its interval contains 0")
    return notes
