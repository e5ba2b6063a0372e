"""Selection of a calibration method by cross-validation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import few_levels
from ..errors import (
    ArgumentError,
    CalibrantError,
    CalibrantWarning,
    InputWarning,
    UndefinedMetricError,
)
from ..inference.means import two_sided_quantile
from ..input.convert import summing_to_one
from ..input.predictions import Predictions
from ..metrics.registry import catalogue
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.processes import run_all
from ..util.progress import track
from ..util.results import Result, number
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions
from .base import Calibrator, Input
from .methods import METHODS, find_method
from .safe import FLOOR, SafeCalibration, row_losses
from .scores import Floats, Scores, TrainingData, fold_of_rows, names_array
from .targets import carried_over, induced, owners, read_target

Loss = Literal["nll", "brier"]
# Prefix of the names of safe counterparts.
SAFE = "safe_"


@dataclass(frozen=True)
class Candidate:
    """Cross-validated result of one calibration method.

    Parameters
    ----------
    method : str
        Name of the method.
    loss : float
        Mean loss on the held-out folds.
    gain : float
        Reduction of the loss relative to no recalibration.
    low : float
        Lower end of the confidence interval of the gain.
    high : float
        Upper end of the confidence interval of the gain.
    ece : float
        Expected calibration error on the held-out folds.
    reason : str, default ""
        Why the method could not be fitted; empty if it was fitted.
    note : str, default ""
        Remarks: labels with a predicted probability of 0, or the warnings of the fit on all rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> candidate = cal.recalibrate(data.y_true, data.y_prob, method="platt").candidates[1]
    >>> candidate.method, round(candidate.gain, 4)
    ('platt', 0.0354)
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
        Name of the selected method; ``"none"`` if no calibrator reduces the loss.
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
    note : str
        Remarks on the selection; empty if there are none.
    warned : str
        Warnings of the fit of the selected calibrator, which `note` includes; empty if there were none.
    lens : str
        Event that was calibrated and on which the methods were compared; empty for all classes.
    """

    method: str
    calibrator: Calibrator
    candidates: tuple[Candidate, ...]
    loss: str
    level: float
    n: int
    note: str = ""
    warned: str = ""
    lens: str = ""

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

    @property
    def gain(self) -> float:
        """Reduction of the held-out loss relative to no recalibration."""
        return next(c.gain for c in self.candidates if c.method == self.method)

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("method", "loss", "lens", "level", "n", "note", "candidates")}

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
            tried = len(self.candidates) > 1
            return "none: no calibrator reduces the held-out loss" if tried else "none: no calibrator was tried"
        event = f" for {self.lens}" if self.lens else ""
        return f"{self.method}: selected by cross-validation on {self.n:,} rows{event}"

    def _notes(self) -> list[str]:
        return [f"note: {self.note}"] if self.note else []


@documents_keywords()
def recalibrate(
    y_true: Any,
    y_prob: Any = None,
    *,
    method: str | Calibrator | Iterable[str] = "auto",
    loss: Loss = "nll",
    folds: int = 5,
    level: float = 0.95,
    safe: float | None = None,
    rng: Any = 0,
    lens: str | Lens | Mapping[Any, Any] | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Recalibration:
    r"""Select a calibrator by cross-validation and fit it on all rows.

    Compares calibration methods, including no recalibration, by their mean loss on held-out folds, and fits the best on all
    rows. Pass validation data that the classifier was not trained on.

    Parameters
    ----------
    y_true : array-like of shape (N,), frame or Predictions
        Observed labels: class indices, booleans, -1 and 1, class names, or one-hot rows. Alternatively a frame, with `label` and `prob`
        naming its columns, or `Predictions`; `y_prob` is then omitted.
    y_prob
    method : str, iterable of str or Calibrator, default "auto"
        Name of a method (``"temperature"``, ``"platt"``, ``"isotonic"``, ...), several names, or an unfitted calibrator. ``"auto"``
        compares the methods suited to the number of rows and classes.
    loss : {"nll", "brier"}, default "nll"
        Strictly proper scoring rule by which methods are compared. In the negative log-likelihood, probabilities below 1e-12 are
        replaced by 1e-12.
    folds : int, default 5
        Number of folds. All observations that a row represents (`counts`) are in the same fold.
    level : float, default 0.95
        Confidence level of the interval of the gain.
    safe : float, optional
        Probability with which the selected calibrator may be overconfident, such as 0.05. Every method, and the scores without
        recalibration, then has a counterpart made safe by `SafeCalibration`, at this level divided by the number of methods. Only these
        counterparts, whose names begin with ``"safe_"``, are selected; the others show what safety costs. With `sample_weight` the
        probability is approximate, because weights count relative to the largest one, which is taken from the data.
    rng : None, int or numpy.random.Generator, default 0
        Seed of the assignment to folds. The result does not depend on the order of the rows.
    lens : str, Lens or mapping, optional
        Event that is calibrated in place of all classes, and on which the methods are compared: a mapping from groups to classes or
        `calibrant.class_groups`, ``"class:NAME"``, ``"top_label"``, ``"within_top:K"``, or ``"band:LOW,HIGH"`` for the rows of a band of
        confidence. The result is carried over to all classes; see `LensCalibration`.
    sample_weight
    pos_label

    Returns
    -------
    Recalibration
        Result with attributes `method`, `calibrator`, `candidates`, `gain` and `note`, and the method `predict_proba`.

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
    The gain of a method is the mean of the difference of the losses of each row without and with recalibration; its interval is the
    normal approximation

    .. math:: \bar{d} \pm z_{(1 + \text{level}) / 2} \sqrt{\textstyle\sum_i w_i^2 (d_i - \bar{d})^2}, \qquad \textstyle\sum_i w_i = 1.

    A calibrator whose fit on all rows warns, because a parameter lies at its bound or a class has no rows, is selected only if no
    other improves on no recalibration, since cross-validation on similar rows cannot reveal its errors.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_miscalibrated(2000, warp=cal.inference.simulation.temperature(2.0), rng=0)
    >>> found = cal.recalibrate(data.y_true, data.y_prob)
    >>> found.method, round(found.gain, 4)
    ('temperature', 0.0365)
    >>> found.predict_proba([0.95]).round(3)
    array([[0.167, 0.833]])
    """
    return recalibrated(
        as_predictions(y_true, y_prob, sample_weight, pos_label),
        method=method,
        loss=loss,
        folds=folds,
        level=level,
        safe=safe,
        rng=rng,
        lens=lens,
    )[0]


def recalibrated(
    predictions: Predictions,
    *,
    method: str | Calibrator | Iterable[str] = "auto",
    loss: Loss = "nll",
    folds: int,
    level: float,
    safe: float | None = None,
    rng: Any,
    lens: Any = None,
) -> tuple[Recalibration, Floats | None]:
    """The result of `recalibrate`, and the cross-validated probabilities of the selected calibrator."""
    check_choice(loss, "loss", ("nll", "brier"))
    check_whole(folds, "folds", 2)
    check_fraction(level, "level")
    if safe is not None:
        check_fraction(safe, "safe", 0.05)
    if safe is not None and lens is not None:
        raise ArgumentError("safe", "cannot be combined with lens", "use one of them")
    p, names = _one_class_per_row(predictions, folds), predictions.classes
    target = None if lens is None else read_target(lens)
    whole = TrainingData(p)
    if target is not None:
        owner = owners(target, range(p.k) if names is None else names)
        p = induced(whole, target, owner)
        _check_rows(p, folds)
    kind: Input = "prob" if p.logits is None else "logit"
    calibrators = {"none": METHODS["none"](input=kind), **_named(method, p, kind)}
    if safe is not None:
        _refuse_safe(calibrators)
        calibrators = {**calibrators, **_made_safe(calibrators, kind, safe)}
    fold = fold_of_rows(TrainingData(p), folds, rng)
    held = _held_out(calibrators, p, fold, folds)
    candidates = _compared(held, p, loss, level)
    # The others are then candidates for comparison only: they show what safety costs.
    selectable = [c for c in candidates if safe is None or c.method.startswith(SAFE)]
    best, chosen, told = _chosen(selectable, calibrators, TrainingData(p))
    if target is not None:
        chosen = (
            carried_over(target, chosen, whole, names, owner)
            if best.method != "none"
            else _fitted(calibrators["none"], whole, {})[0]
        )
    if names is not None:
        chosen.classes_ = names_array(names)
    safety = _safety(chosen, safe, best, candidates, p.weight_kind == "importance")
    note = "; ".join(filter(None, (_whole_note(best, candidates, told), safety)))
    noted = (replace(c, note="; ".join(filter(None, (told.get(c.method), c.note)))) for c in candidates)
    event = "" if target is None else target.name
    found = Recalibration(
        best.method, chosen, tuple(noted), loss, level, _rows(p), note, told.get(best.method, ""), event
    )
    own = held[best.method]
    return found, None if isinstance(own, str) else own


def _one_class_per_row(p: Predictions, folds: int) -> Predictions:
    """The predictions with rows that sum to 1, if there is one class for each row."""
    if p.labels is None or p.kind not in ("binary", "multiclass"):
        raise UndefinedMetricError("y_true", "recalibration requires one class for each row", _remedy(p))
    if (p.labels == p.labels[0]).all():
        raise UndefinedMetricError(
            "y_true", "recalibration requires rows of at least two classes; all labels are equal"
        )
    _check_rows(p, folds)
    return rows_summing_to_one(p)


def _check_rows(p: Predictions, folds: int) -> None:
    if p.n < 2 * folds:
        raise UndefinedMetricError(
            "y_true", f"too few rows for {folds} folds: at least {2 * folds} are required; got {p.n}"
        )


def _remedy(p: Predictions) -> str:
    """How to obtain one class per row."""
    if p.kind == "multilabel":
        return "fit one calibrator per label: recalibrate(y_true[:, k], y_prob[:, k])"
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


def _named(method: Any, p: Predictions, input: Input) -> dict[str, Calibrator]:
    if isinstance(method, Calibrator):
        if method.needs and beside_scores(method, p) is None:
            problem = f"{type(method).__name__} requires {method.needs}"
            raise ArgumentError("method", problem, f"pass Predictions(..., {method.needs}=...)")
        if method.input != input:
            problem = f"{method!r} expects {SCALES[method.input]}, and the scores are {SCALES[input]}"
            raise ArgumentError("method", problem, "use the same input for both")
        return {type(method).__name__: method}
    listed = [method] if isinstance(method, str) else list(method)
    names = _automatic(p) if method == "auto" else listed
    return {name: find_method(name)(input=input) for name in names if name != "none"}


def _refuse_safe(calibrators: Mapping[str, Calibrator]) -> None:
    """Raise for a calibrator with a level of its own, which would be selected in place of one with the level `safe`."""
    for name, calibrator in calibrators.items():
        if isinstance(calibrator, SafeCalibration):
            problem = "has a level of its own and cannot be combined with safe"
            raise ArgumentError("method", f"{name} {problem}", "name the method that is to be made safe or drop safe")


def _made_safe(calibrators: Mapping[str, Calibrator], input: Input, alpha: float) -> dict[str, Calibrator]:
    """Safe counterparts, each at its share of the level, so that the level holds for any of them that is selected."""
    each = alpha / len(calibrators)
    return {f"{SAFE}{name}": SafeCalibration(inner, input=input, alpha=each) for name, inner in calibrators.items()}


# Rows per distinct score from which the rate of each is a candidate.
ROWS_FOR_A_RATE = 20


def _automatic(p: Predictions) -> list[str]:
    """The methods whose required number of rows is met, those with the smallest requirement first."""
    n = _rows(p)
    known = sorted((method.candidate[p.kind], name) for name, method in METHODS.items() if p.kind in method.candidate)
    names = [name for (rows, each), name in known if n >= max(rows, each * p.k)]
    # With many rows at each of few scores, no curve needs to be assumed.
    levels = few_levels(p.probs if p.probs.ndim == 1 else p.probs[:, -1], n) if p.kind == "binary" else None
    return names if levels is None or n < ROWS_FOR_A_RATE * len(levels) else [*names, "histogram_levels"]


def _fitted(calibrator: Calibrator, data: TrainingData, read: dict[Any, Any]) -> tuple[Calibrator, str]:
    """A fitted copy, and the warnings of its fit; `read` keeps the data for other calibrators that read them in the same way."""
    copy = type(calibrator)(**calibrator.get_params(deep=False))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrantWarning)
        warnings.simplefilter("ignore", InputWarning)  # it concerns the data, not this calibrator
        copy._check_params()
        way = copy._way_of_reading()
        if way not in read:
            scores = data._p.logits if data._p.logits is not None else data._p.probs
            weight: dict[str, Any] = {"sample_weight": None, "counts": None}
            weight["counts" if data.counted else "sample_weight"] = data._p.weight
            read[way] = copy._read_training(scores, data.labels, **weight)
        read[way][0].beside = beside_scores(copy, data._p)
        copy._fit_read(*read[way])
    own = [warning for warning in caught if issubclass(warning.category, CalibrantWarning)]
    for other in caught:
        if other not in own:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return copy, "; ".join(dict.fromkeys(str(warning.message) for warning in own))


def beside_scores(calibrator: Calibrator, p: Predictions) -> Any:
    """What a calibrator needs beside the scores of predictions: their groups, by name, or their features; else None."""
    if calibrator.needs == "groups" and p.groups is not None and p.group_names is not None:
        return names_array(p.group_names)[p.groups]
    return p.features if calibrator.needs == "features" else None


def _chosen(
    candidates: list[Candidate], calibrators: Mapping[str, Calibrator], data: TrainingData
) -> tuple[Candidate, Calibrator, dict[str, str]]:
    """The candidate of least loss whose fit on all rows does not warn, its calibrator, and the warnings of candidates of lower loss.

    A candidate that warns is selected only if no other improves on no recalibration, which never warns, or all of them warn.
    """
    told: dict[str, str] = {}
    warned: tuple[Candidate, Calibrator] | None = None
    for candidate in sorted((c for c in candidates if not c.reason), key=lambda c: c.loss):
        calibrator, warning = _fitted(calibrators[candidate.method], data, {})
        if not warning:
            break
        told[candidate.method] = warning
        warned = warned or (candidate, calibrator)
    if warned is not None and (candidate.method == "none" or warning):
        candidate, calibrator = warned
    return candidate, calibrator, told


def _held_out(
    calibrators: Mapping[str, Calibrator], p: Predictions, fold: NDArray[Any], folds: int
) -> dict[str, Floats | str]:
    """Cross-validated probabilities of each calibrator, or the reason why it cannot be fitted."""
    held: dict[str, Floats | str] = {name: np.empty((p.n, p.k)) for name in calibrators}

    def of_fold(number_: int) -> dict[str, Floats | str]:
        rows = fold == number_
        data, test = TrainingData(p.take(~rows)), Scores(p.take(rows))
        read: dict[Any, Any] = {}
        found: dict[str, Floats | str] = {}
        for name, calibrator in track(calibrators.items(), "fits"):
            if isinstance(held[name], str):
                continue
            try:
                # Warnings of these fits are ignored; their consequences show in the held-out loss.
                fitted, _ = _fitted(calibrator, data, read)
                test.beside = beside_scores(calibrator, test._p)
                found[name] = np.asarray(fitted.apply(test))
            except CalibrantError as error:
                found[name] = error.problem
                if isinstance(held[name], np.ndarray):
                    held[name] = error.problem
        return found

    tasks = [partial(of_fold, number_) for number_ in range(folds)]
    for number_, found in enumerate(run_all(tasks, p.n * p.k / folds)):
        for name, part in found.items():
            out = held[name]
            if isinstance(part, str):
                held[name] = out if isinstance(out, str) else part
            elif not isinstance(out, str):
                out[fold == number_] = part
    return held


def _compared(held: dict[str, Floats | str], p: Predictions, loss: str, level: float) -> list[Candidate]:

    assert p.labels is not None
    weight = np.ones(p.n) if p.weight is None else p.weight.astype(np.float64)
    weight = weight / weight.sum()
    # Variance of the mean: a row with a count represents as many independent rows.
    spread = weight / _rows(p) if p.weight_kind == "counts" else weight**2
    plain: Floats | None = None
    found = []
    for name, probs in held.items():
        if isinstance(probs, str):
            found.append(Candidate(name, math.inf, -math.inf, -math.inf, math.inf, math.nan, probs))
            continue
        rows = row_losses(probs, p.labels, loss)
        plain = rows if plain is None else plain
        gain = plain - rows
        mean = float(weight @ gain)
        half = two_sided_quantile(level) * math.sqrt(float(spread @ np.square(gain - mean)))
        ece = catalogue["ece"](Predictions.derived(p.labels, probs, sample_weight=p.weight))
        note = _floored(probs, p.labels) if loss == "nll" else ""
        found.append(Candidate(name, float(weight @ rows), mean, mean - half, mean + half, ece, note=note))
    return found


def _floored(probs: Floats, labels: NDArray[Any]) -> str:
    """The number of labels whose predicted probability is below the bound."""
    own = probs[np.arange(len(labels)), labels]
    none, little = int((own == 0).sum()), int((own < FLOOR).sum())
    if none:
        return f"{none:,} label{'s' * (none > 1)} had predicted probability 0: the nll is infinite and computed with {FLOOR:g}"
    if little:
        return f"{little:,} label{'s' * (little > 1)} had predicted probability below {FLOOR:g}; the nll is computed with {FLOOR:g}"
    return ""


def _whole_note(best: Candidate, candidates: list[Candidate], told: Mapping[str, str]) -> str:
    """Remarks on the selection: candidates of lower loss that were not selected, the significance of the gain, bounded losses."""
    plain = candidates[0]
    parts = [told.get(best.method, "")]
    if best.method not in told:
        parts += [f"{name} has a lower loss but was not selected ({why})" for name, why in told.items()]
    parts.append(_note(best, plain))
    parts += [f"{c.method}: {c.note}" for c in dict.fromkeys((plain, best)) if c.note]
    return "; ".join(filter(None, parts))


def _safety(
    chosen: Calibrator, safe: float | None, best: Candidate, candidates: list[Candidate], weighted: bool
) -> str:
    """The guarantee of a safe calibrator and what it costs; empty for others, and where the bound was not reached."""
    if not isinstance(chosen, SafeCalibration) or chosen.bound_ > chosen.tolerance:
        return ""
    margin = f" by more than {chosen.tolerance:g}" if chosen.tolerance > 0 else ""
    stated = f"mean confidence exceeds accuracy{margin} with probability at most {safe or chosen.alpha:g}"
    stated += ", approximately because of the weights" if weighted else ""
    if safe is None:
        return f"{stated}; on held-out rows the shrinkage changes nll by {chosen.cost_nll_:+.3g} and brier by {chosen.cost_brier_:+.3g}"
    free = min((c for c in candidates if not c.method.startswith(SAFE) and not c.reason), key=lambda c: c.loss)
    change = best.loss - free.loss
    moved = f"{'raises' if change > 0 else 'lowers'} the held-out loss by {abs(change):.3g}"
    return f"{stated}; compared with {free.method} without this bound, it {moved}"


def _note(best: Candidate, plain: Candidate) -> str:
    if best.method == "none":
        return ""
    if best.gain <= 0:  # of a safe calibrator, which no recalibration cannot replace
        return (
            f"the held-out loss is higher than without recalibration ({number(best.loss)} against {number(plain.loss)})"
        )
    if best.ece > plain.ece:
        return (
            f"ece rose from {number(plain.ece)} to {number(best.ece)} although the loss fell: ece evaluates one event in bins, where "
            "errors can cancel; the loss is a proper scoring rule and the better guide"
        )
    return "" if best.low > 0 else "the gain is not statistically significant: its interval contains 0"
