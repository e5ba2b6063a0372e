"""Nested cross-validation of calibration methods: held-out gains of each method, and of the selection among them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrantError, CalibrantWarning, InputWarning
from ..inference.means import Moments
from ..input.predictions import Predictions
from ..util.processes import run_all
from ..util.progress import track
from .base import Calibrator
from .safe import row_losses
from .scores import Floats, Scores, TrainingData, names_array

# Share of the variance between the fits of the folds that is added to the variance between rows (experiments/calibrators_choice.py).
REFIT_SHARE = 0.5
# Held-out log-likelihood beyond that of no recalibration that is enough in spite of a larger standard error: a ratio of 20, an e-value at 5 %.
EVIDENCE = math.log(20)
# Standard errors by which a held-out loss exceeds that of the selected method, from which on parts of the rows are not asked to select it: they
# did so in 2 of 1735 folds of 347 simulated samples of 100 to 1000 rows.
CLEARLY_WORSE = 2.5


@dataclass(frozen=True)
class FoldFits:
    """All fits of one calibrator: on all rows, without one fold, and without two folds.

    A gain is the loss of a row without recalibration minus that with the calibrator.
    """

    calibrator: Calibrator
    """Fitted on all rows."""
    warnings: tuple[str, ...]
    """Of the fits without one fold, and last of the fit on all rows."""
    probs: Floats
    """Held-out probabilities of shape (N, K): each from the fit without the fold of its row."""
    whole: Floats
    """Gain of each row with the fit on all rows."""
    without: Floats
    """Gain of each row, of shape (folds, N), with the fits without one fold."""


class CrossValidation:
    """Calibrators fitted without each fold and without each pair of folds, and the selection among them.

    The first of the `selectable` names is selected unless another method improves on it.
    """

    def __init__(
        self,
        calibrators: Mapping[str, Calibrator],
        p: Predictions,
        fold: NDArray[Any],
        loss: str,
    ) -> None:
        assert p.labels is not None
        self.fold, self.labels, self.loss = fold, p.labels, loss
        weight = np.ones(p.n) if p.weight is None else p.weight.astype(np.float64)
        self.weight = weight / weight.sum()
        # A row with a count represents as many independent rows; each contributes this weight.
        self.unit = 1 / weight.sum() if p.weight_kind == "counts" else self.weight
        self.spread = self.weight * self.unit
        folds = range(int(fold.max()) + 1)

        def fit(names: Iterable[str], left_out: list[tuple[int, ...]]) -> dict[str, dict[tuple[int, ...], Any]]:
            compared = {name: calibrators[name] for name in names}
            tasks = [partial(fit_without, compared, p, fold, each, loss) for each in left_out]
            parts = run_all(tasks, p.n * p.k / len(folds))
            return {name: {each: part[name] for each, part in zip(left_out, parts, strict=True)} for name in compared}

        single = fit(calibrators, [(), *((k,) for k in folds)])
        self.plain = single["none"][()].losses  # no recalibration is always possible
        self.reasons = {name: reason for name, fits in single.items() if (reason := _failure(fits))}
        self.fits = {name: self._gains(fits, folds) for name, fits in single.items() if name not in self.reasons}
        double = fit(self._contenders(), list(combinations(folds, 2)))
        self.inner = {name: self._inner_gains(fits) for name, fits in double.items() if not _failure(fits)}

    def _gains(self, fits: Mapping[Any, Any], folds: range) -> FoldFits:
        probs = np.empty_like(fits[()].probs)
        for k in folds:
            probs[self.fold == k] = fits[k,].probs
        return FoldFits(
            calibrator=fits[()].calibrator,
            warnings=(*(fits[k,].warning for k in folds), fits[()].warning),
            probs=probs,
            whole=self.plain - fits[()].losses,
            without=np.array([self.plain - fits[k,].losses for k in folds]),
        )

    def _contenders(self) -> list[str]:
        """The methods that some folds could select: those whose loss is not clearly above that of the method selected on all rows."""
        best = self.fits[self.selected]
        behind = {
            name: self._moments(best.without - fits.without, best.whole - fits.whole)
            for name, fits in self.fits.items()
        }
        return [name for name, loss in behind.items() if loss.mean <= CLEARLY_WORSE * math.sqrt(loss.variance)]

    def _inner_gains(self, fits: Mapping[Any, Any]) -> Floats:
        """Gain of each row, of shape (folds, N), with the fit without that fold and the fold of the row, where these differ."""
        inner = np.empty((len(self.fold_shares), len(self.fold)))
        for pair, fit in fits.items():
            rows = np.isin(self.fold, pair)
            inner[np.ix_(pair, rows)] = self.plain[rows] - fit.losses
        return inner

    def loss_of(self, name: str) -> float:
        """Mean loss of the held-out rows."""
        return float(self.weight @ row_losses(self.fits[name].probs, self.labels, self.loss))

    def held_out(self, without: Floats) -> Floats:
        """The gain of each row with the fit without its fold."""
        return np.asarray(without[self.fold, np.arange(len(self.fold))])

    def gain(self, name: str) -> Moments:
        """Cross-validated gain of one method."""
        fits = self.fits[name]
        return self._moments(fits.without, fits.whole)

    def _moments(self, without: Floats, whole: Floats) -> Moments:
        """Mean held-out gain; its variance is that between rows, and a share of that between fits."""
        held = self.held_out(without)
        mean = float(self.weight @ held)
        moved = without - whole
        moved -= (moved @ self.weight)[:, None]
        between_fits = (len(without) - 1) * float(self.fold_shares @ (np.square(moved) @ self.spread))
        variance = float(self.spread @ np.square(held - mean)) + REFIT_SHARE * between_fits
        third = float((self.spread * self.unit) @ (held - mean) ** 3)
        return Moments(mean, variance, third, 1 / float(self.spread.sum()))

    @cached_property
    def fold_shares(self) -> Floats:
        """Share of the weight in each fold."""
        return np.asarray(np.bincount(self.fold, self.weight), np.float64)

    @cached_property
    def selected(self) -> str:
        """The method selected on all rows."""
        return self._select({name: self.held_out(fits.without) for name, fits in self.fits.items()}, -1)

    def _select(self, gains: Mapping[str, Floats], place: int) -> str:
        """The method with the largest gain on all rows or, in the place of a fold, those of the others, if it exceeds one standard error or its
        log-likelihood is evidence enough.

        A method whose fit in this place warned is selected only if there is no other.
        """
        rows = self.fold != place
        share = self.weight[rows].sum()
        weight, spread = self.weight[rows] / share, self.spread[rows] / share**2
        enough = EVIDENCE * float(spread.sum()) if self.loss == "nll" else math.inf
        means = {}
        for name in gains:
            over = gains[name][rows]
            mean = float(weight @ over)
            if mean > min(enough, math.sqrt(float(spread @ np.square(over - mean)))):
                means[name] = mean
        calm = {name: mean for name, mean in means.items() if not self.fits[name].warnings[place]}
        eligible = calm or means
        return max(eligible, key=eligible.__getitem__) if eligible else "none"

    @cached_property
    def nested_gain(self) -> Moments:
        """Gain of the selection: in each fold of the method that the other folds select, corrected for the rows that those lack.

        The correction of Burman (1989) adds the difference on all rows between the fit on all rows and the fits without a fold.
        """
        without = np.empty((len(self.fold_shares), len(self.fold)))
        for k in range(len(without)):
            inner = {name: gains[k] for name, gains in self.inner.items()}
            without[k] = self.fits[self._select(inner, k)].without[k]
        whole = self.fits[self.selected].whole
        gain = self._moments(without, whole)
        correction = self.weight @ whole - self.fold_shares @ (without @ self.weight)
        return replace(gain, mean=float(gain.mean + correction))


def _failure(fits: Mapping[Any, Any]) -> str | None:
    """Why a calibrator could not be fitted in one of these places; None if it could."""
    return next((fit for fit in fits.values() if isinstance(fit, str)), None)


class Fit(NamedTuple):
    """A calibrator fitted without some folds, and what it warned of."""

    calibrator: Calibrator | None
    warning: str
    probs: Floats
    """Of the rows of the folds; of all rows without folds."""
    losses: Floats | None
    """Of these rows if there are two folds, else of all rows; None for metrics that are not a mean of them."""


def fit_without(
    calibrators: Mapping[str, Calibrator],
    p: Predictions,
    fold: NDArray[Any],
    left_out: tuple[int, ...],
    loss: str | None = None,
) -> dict[str, Fit | str]:
    """Each calibrator fitted without these folds and applied to them if they are two, else to all rows; or the reason why it cannot be fitted."""
    excluded = np.isin(fold, left_out)
    data = TrainingData(p.take(~excluded) if left_out else p)
    applied = p.take(excluded) if len(left_out) == 2 else p
    assert applied.labels is not None
    test = Scores(applied)
    read: dict[Any, Any] = {}
    fits: dict[str, Fit | str] = {}
    for name, calibrator in track(calibrators.items(), "fits"):
        try:
            fitted, warning = fit_quietly(calibrator, data, read)
            test.beside = beside_scores(calibrator, applied)
            probs = np.asarray(fitted.apply(test))
            losses = None if loss is None else row_losses(probs, applied.labels, loss)
            # Probabilities that are not used any more would take long to send to another process.
            if len(left_out) == 1:
                probs = probs[excluded]
            elif left_out and loss is not None:
                probs = probs[:0]
            fits[name] = Fit(None if left_out else fitted, warning, probs, losses)
        except CalibrantError as error:
            fits[name] = error.problem
    return fits


def fit_quietly(calibrator: Calibrator, data: TrainingData, read: dict[Any, Any]) -> tuple[Calibrator, str]:
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
