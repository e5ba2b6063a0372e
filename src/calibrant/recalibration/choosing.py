"""recalibrate: which map, if any, makes held-out probabilities better, and by how much?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentError,
    CalibrantError,
    CalibrantWarning,
    Drop,
    InputWarning,
    InPython,
    UndefinedMetricError,
)
from ..input.convert import is_number, summing_to_one
from ..input.predictions import Predictions
from ..metrics.registry import catalogue
from ..util.checks import check_choice, check_whole
from ..util.results import Result, number
from ..views.keywords import PREDICTION_KEYWORDS, unknown_keyword
from ..views.resolve import as_predictions
from .base import Calibrator, Input
from .methods import METHODS, find_method
from .scores import Floats, Scores, TrainingData, fold_of_rows, names_array

__all__ = ["Candidate", "Recalibration", "recalibrate"]

Loss = Literal["nll", "brier"]
# The smallest probability that a held-out label is taken to have had.
FLOOR = 1e-12
OWN_KEYWORDS = ("method", "loss", "folds", "level", "rng")
# Words of `Predictions` that the choice of one map for all rows does not look at, and what does.
NOT_TAKEN = {
    "groups": InPython("use GroupCalibration(calibrator).fit(scores, y, groups) for one calibrator per group"),
    "features": Drop("features"),
}


@dataclass(frozen=True)
class Candidate:
    """One map tried on held-out rows: its mean loss, and how much lower that is than without any map."""

    method: str
    loss: float
    gain: float
    low: float
    high: float
    ece: float
    reason: str = ""
    """Why it could not be fitted; empty where it could."""
    note: str = ""
    """What to know of it: labels that had no probability, or what its fit on all rows warned of."""


@dataclass(frozen=True, repr=False)
class Recalibration(Result):
    """The chosen calibrator, fitted on all rows, and what every candidate gained on held-out rows."""

    method: str
    calibrator: Calibrator
    candidates: tuple[Candidate, ...]
    loss: str
    level: float
    n: int
    note: str = ""
    warned: str = ""
    """What the fit of the chosen map on all rows warned of, which the note says too; empty where of nothing."""

    def predict_proba(self, scores: Any) -> Floats:
        """Probabilities of the chosen map."""
        return self.calibrator.predict_proba(scores)

    @property
    def gain(self) -> float:
        """How much lower the held-out loss is than without any map."""
        return next(c.gain for c in self.candidates if c.method == self.method)

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("method", "loss", "level", "n", "note", "candidates")}

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
            return "leave it alone: no map helps" if len(self.candidates) > 1 else "none: no map was tried"
        return f"{self.method}: chosen on {self.n:,} rows"

    def _notes(self) -> list[str]:
        return [f"note: {self.note}"] if self.note else []


def recalibrate(
    y_true: Any,
    y_prob: Any = None,
    *,
    method: str | Calibrator | Iterable[str] = "auto",
    loss: Loss = "nll",
    folds: int = 5,
    level: float = 0.95,
    rng: Any = 0,
    **words: Any,
) -> Recalibration:
    """Choose a map by its loss on held-out folds, and fit it on all rows; leaving the scores alone is always a candidate.

    A map whose fit warns (a parameter at its bound, a class without rows) is chosen only where no other is better than none: what it
    would do wrong cannot be seen on rows like these.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities (or logits, with ``input="logit"``) of validation rows; see `Predictions`, whose keywords are taken
        too. With ``classes=`` the map's `predict` gives names. A row with a count goes to one fold as a whole.
    method
        ``"auto"``, the name of one map, several names, or a map; the names are in `METHODS`.
    loss
        Strictly proper score to compare by: ``"nll"`` or ``"brier"``; a probability below 1e-12 counts as 1e-12 in the former.
    folds
        Number of folds.
    level
        Of the interval for the gain.
    rng
        Seed of the shuffle that makes the folds; rows are first put into an order of their content, so that their own does not matter.

    Examples
    --------
    >>> import calibrant as cal
    >>> sure = cal.make_miscalibrated(2000, warp=cal.simulate.temperature(2.0), rng=0)
    >>> found = cal.recalibrate(sure.y_true, sure.y_prob)
    >>> found.method != "none", found.gain > 0
    (True, True)
    """
    check_choice(loss, "loss", ("nll", "brier"))
    check_whole(folds, "folds", 2)
    if not (is_number(level) and 0 < level < 1):
        raise ArgumentError("level", f"must lie between 0 and 1; got {level!r}", "for example 0.95")
    p, names = _read(y_true, y_prob, words, folds)
    kind: Input = "prob" if p.logits is None else "logit"
    calibrators = {"none": METHODS["none"](input=kind), **_named(method, p, kind)}
    fold = fold_of_rows(TrainingData(p), folds, rng)
    held = {name: _held_out(calibrator, p, fold, folds) for name, calibrator in calibrators.items()}
    candidates = _compared(held, p, loss, level)
    best, chosen, told = _chosen(candidates, calibrators, TrainingData(p))
    if names is not None:
        chosen.classes_ = names_array(names)
    note = _whole_note(best, candidates, told)
    noted = (replace(c, note="; ".join(filter(None, (told.get(c.method), c.note)))) for c in candidates)
    return Recalibration(best.method, chosen, tuple(noted), loss, level, _rows(p), note, told.get(best.method, ""))


def _read(y_true: Any, y_prob: Any, words: Mapping[str, Any], folds: int) -> tuple[Predictions, tuple[Any, ...] | None]:
    """Checked rows that a map can be fitted to, and the names of their classes where they have some."""
    for word, value in words.items():
        if word not in PREDICTION_KEYWORDS:
            known = [*OWN_KEYWORDS, *(own for own in PREDICTION_KEYWORDS if own not in NOT_TAKEN)]
            raise unknown_keyword("recalibrate", word, value, known)
        if word in NOT_TAKEN and value is not None:
            raise ArgumentError(word, "is not supported: one calibrator is fitted to all rows", NOT_TAKEN[word])
    p = as_predictions(y_true, y_prob, words)
    if p.labels is None or p.kind not in ("binary", "multiclass"):
        raise UndefinedMetricError("y_true", "recalibration requires one class for each row", _remedy(p))
    if (p.labels == p.labels[0]).all():
        raise UndefinedMetricError("y_true", "recalibration requires rows of two classes; all labels are equal")
    if p.n < 2 * folds:
        raise UndefinedMetricError("y_true", f"{folds} folds require at least {2 * folds} rows; got {p.n}")
    return rows_summing_to_one(p), p.classes


def _remedy(p: Predictions) -> str:
    """How to get one class for each row."""
    if p.kind == "multilabel":
        return "fit a map for each label: recalibrate(y_true[:, k], y_prob[:, k])"
    if p.kind == "confidence":
        return 'pass all probabilities, or drop input="confidence": being right is then the class'
    return "pass the class of each row; where several people labelled a row, repeat it for each of them"


def rows_summing_to_one(p: Predictions) -> Predictions:
    """Itself, or with rows divided by their sums where a wider tolerance let them through: maps check them once more."""
    probs = p.probs if p.logits is not None else summing_to_one(p.probs)
    if probs is p.probs:
        return p
    weight: dict[str, Any] = {"counts" if p.weight_kind == "counts" else "sample_weight": p.weight}
    return Predictions.derived(p.labels, probs, **weight)


def _rows(p: Predictions) -> int:
    """How many rows there are; one given with a count is so many."""
    return round(float(p.weight.sum())) if p.weight is not None and p.weight_kind == "counts" else p.n


def _named(method: Any, p: Predictions, input: Input) -> dict[str, Calibrator]:
    if isinstance(method, Calibrator):
        if method.input != input:
            problem = f"{method!r} expects {method.input}s, and the scores are {input}s"
            raise ArgumentError("method", problem, InPython("use the same input for both"))
        return {type(method).__name__: method}
    listed = [method] if isinstance(method, str) else list(method)
    names = _automatic(p) if method == "auto" else listed
    return {name: find_method(name)(input=input) for name in names if name != "none"}


def _automatic(p: Predictions) -> list[str]:
    """Few parameters for few rows: the methods whose need of rows is met, those that need least first."""
    n = _rows(p)
    known = sorted((method.candidate[p.kind], name) for name, method in METHODS.items() if p.kind in method.candidate)
    return [name for (rows, each), name in known if n >= max(rows, each * p.k)]


def _fitted(calibrator: Calibrator, data: TrainingData) -> tuple[Calibrator, str]:
    """A fitted copy, and what its fit warned of."""
    copy = type(calibrator)(**calibrator.get_params(deep=False))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrantWarning)
        warnings.simplefilter("ignore", InputWarning)  # it says something about the rows, not about this map
        given = data._p.logits if data._p.logits is not None else data._p.probs
        copy.fit(given, data.labels, **{"counts" if data.counted else "sample_weight": data._p.weight})
    own = [warning for warning in caught if issubclass(warning.category, CalibrantWarning)]
    for other in caught:
        if other not in own:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return copy, "; ".join(dict.fromkeys(str(warning.message) for warning in own))


def _chosen(
    candidates: list[Candidate], calibrators: Mapping[str, Calibrator], data: TrainingData
) -> tuple[Candidate, Calibrator, dict[str, str]]:
    """The candidate of least loss whose fit on all rows warns of nothing, its map, and what the fits of lower loss warned of.

    One that warns is taken only where no other is better than none. Leaving the scores alone warns of nothing, so the search ends.
    """
    told: dict[str, str] = {}
    warned: tuple[Candidate, Calibrator] | None = None
    for candidate in sorted((c for c in candidates if not c.reason), key=lambda c: c.loss):
        calibrator, warning = _fitted(calibrators[candidate.method], data)
        if not warning:
            break
        told[candidate.method] = warning
        warned = warned or (candidate, calibrator)
    if candidate.method == "none" and warned is not None:
        candidate, calibrator = warned
    return candidate, calibrator, told


def _held_out(calibrator: Calibrator, p: Predictions, fold: NDArray[Any], folds: int) -> Floats | str:
    """Probabilities of rows by a map that has not seen them, or why there are none."""
    out = np.empty((p.n, p.k))
    try:
        for number_ in range(folds):
            rows = fold == number_
            # What the fit warns of is the business of its held-out loss.
            fitted, _ = _fitted(calibrator, TrainingData(p.take(~rows)))
            out[rows] = fitted.apply(Scores(p.take(rows)))
    except CalibrantError as error:
        return error.problem
    return out


def _compared(held: dict[str, Floats | str], p: Predictions, loss: str, level: float) -> list[Candidate]:
    from scipy.special import ndtri

    assert p.labels is not None
    weight = np.ones(p.n) if p.weight is None else p.weight.astype(np.float64)
    weight = weight / weight.sum()
    # The variance of a mean: a row that stands for several counts as so many draws.
    spread = weight / _rows(p) if p.weight_kind == "counts" else weight**2
    plain: Floats | None = None
    found = []
    for name, probs in held.items():
        if isinstance(probs, str):
            found.append(Candidate(name, math.inf, -math.inf, -math.inf, math.inf, math.nan, probs))
            continue
        rows = _losses(probs, p.labels, loss)
        plain = rows if plain is None else plain
        gain = plain - rows
        mean = float(weight @ gain)
        half = float(ndtri((1 + level) / 2)) * math.sqrt(float(spread @ np.square(gain - mean)))
        ece = catalogue["ece"](Predictions.derived(p.labels, probs, sample_weight=p.weight))
        note = _floored(probs, p.labels) if loss == "nll" else ""
        found.append(Candidate(name, float(weight @ rows), mean, mean - half, mean + half, ece, note=note))
    return found


def _losses(probs: Floats, labels: NDArray[Any], loss: str) -> Floats:
    own = probs[np.arange(len(labels)), labels]
    if loss == "nll":
        return -np.log(np.maximum(own, FLOOR))
    scale = 0.5 if probs.shape[1] == 2 else 1.0  # as the metric `brier` has it
    return np.asarray(scale * (np.square(probs).sum(axis=1) - 2 * own + 1))


def _floored(probs: Floats, labels: NDArray[Any]) -> str:
    """How many labels had less probability than is counted."""
    own = probs[np.arange(len(labels)), labels]
    none, little = int((own == 0).sum()), int((own < FLOOR).sum())
    if none:
        return (
            f"{none:,} label{'s' * (none > 1)} had probability 0: the nll is infinite and counted here as of {FLOOR:g}"
        )
    if little:
        return f"{little:,} label{'s' * (little > 1)} had less probability than {FLOOR:g}, as which it is counted"
    return ""


def _whole_note(best: Candidate, candidates: list[Candidate], told: Mapping[str, str]) -> str:
    """What to know of the choice: why a lower loss was passed over, whether the gain is real, which losses were cut."""
    plain = candidates[0]
    parts = [told.get(best.method, "")]
    if best.method not in told:
        parts += [f"{name} was passed over in spite of its lower loss ({why})" for name, why in told.items()]
    parts.append(_note(best, plain))
    parts += [f"{c.method}: {c.note}" for c in dict.fromkeys((plain, best)) if c.note]
    return "; ".join(filter(None, parts))


def _note(best: Candidate, plain: Candidate) -> str:
    if best.method == "none":
        return ""
    if best.ece > plain.ece:
        return (
            f"ece rose from {number(plain.ece)} to {number(best.ece)} although the loss fell: ece looks at one question in bins, "
            "where errors can cancel; the loss is a proper score of every row, so trust it more"
        )
    return "" if best.low > 0 else "the gain may be chance: its interval holds 0"
