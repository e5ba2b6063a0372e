"""Maps that also look at the group of a row: one map for each group, and corrections until no group is off."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import logit
from ..errors import ArgumentError, CalibrantError, GroupError, Use, warn_caller
from ..input.convert import column
from ..input.frames import check_same_rows
from ..input.weights import read_groups, read_weights
from ..util.checks import check_whole
from .base import Calibrator, CountingCalibrator, Input
from .scores import Floats, Scores, TrainingData, dealt, named_as, names_array, normalised, order_of_content, read_rows

__all__ = ["GroupCalibration", "MultiCalibration"]

Masks = NDArray[np.bool_]


NEEDED = "pass the group of each row"
UNKNOWN = -1
EVERY_LEVEL = -1


class _Rows(NamedTuple):
    """What is given to predict with: scores, and the group of each."""

    scores: Any
    groups: Any


class GroupedScores(Scores):
    """Scores with the group of each row."""

    groups: Any = None


class GroupedCalibrator(Calibrator):
    """A map that asks for the groups of the rows too."""

    def predict_proba(self, scores: Any, groups: Any = None) -> Floats:
        """Calibrated probabilities, one column for each class; rows sum to 1."""
        return super().predict_proba(_Rows(scores, groups))

    def predict(self, scores: Any, groups: Any = None) -> NDArray[Any]:
        """The class of the largest calibrated probability."""
        return super().predict(_Rows(scores, groups))

    def _read(self, scores: Any) -> GroupedScores:
        rows = scores if isinstance(scores, _Rows) else _Rows(scores, None)
        data = GroupedScores(super()._read(rows.scores)._p)
        data.groups = rows.groups
        return data

    def _predict(self, data: Scores) -> Floats:
        return self._by_group(data, data.groups if isinstance(data, GroupedScores) else None)

    def _by_group(self, data: Scores, groups: Any) -> Floats:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class GroupCalibration(GroupedCalibrator):
    """One map for each group of rows: ``fit(scores, y, groups=groups)``, ``predict_proba(scores, groups)``.

    Parameters
    ----------
    map
        An unfitted map, of which each group gets a copy; what the scores are is said there.
    unseen
        What a row of a group that was not fitted gets: an ``"error"``, or the map of all rows ``"together"``.
    """

    methods = ()
    fitted = ("groups_", "maps_", "together_")

    calibrator: Calibrator
    unseen: Literal["error", "together"] = "error"

    @property
    def input(self) -> Input:  # type: ignore[override]
        """What the scores are, as the map says."""
        return self.calibrator.input

    def _check_params(self) -> None:
        if not isinstance(self.calibrator, Calibrator):
            raise ArgumentError(
                "calibrator", f"must be an unfitted calibrator; got {self.calibrator!r}", "for example PlattScaling()"
            )
        super()._check_params()

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, counts: Any = None) -> Self:
        """Fit a copy of the calibrator to the rows of each group; other parameters are those of `Calibrator.fit`."""
        self._check_params()
        with named_as():
            check_same_rows(y, {"y_prob": scores, "sample_weight": sample_weight, "counts": counts, "groups": groups})
            _, codes, rows = read_rows(y, scores)
            rows = column(rows, "y_prob").array
            weight, kind = read_weights(sample_weight, counts, len(rows))
        # Names of classes that a group lacks would be lost, so that groups see numbers.
        labels = np.asarray(codes)
        places, found = learnt_groups(groups, len(rows))
        word = "counts" if kind == "counts" else "sample_weight"
        whole = self._copy().fit(scores, y, **{word: weight})
        calibrators = []
        for code, name in enumerate(found.tolist()):
            part = places == code
            try:
                calibrators.append(
                    self._copy().fit(rows[part], labels[part], **{word: None if weight is None else weight[part]})
                )
            except CalibrantError as error:
                raise GroupError("groups", f"the calibrator of group {name!r} cannot be fitted: {error}") from error
        self.groups_, self.maps_, self.together_ = found, tuple(calibrators), whole
        self.classes_, self.n_features_in_, self.fit_record_ = whole.classes_, whole.n_features_in_, whole.fit_record_
        return self

    def _copy(self) -> Calibrator:
        return copy.deepcopy(self.calibrator)

    def _by_group(self, data: Scores, groups: Any) -> Floats:
        place = known_groups(groups, self.groups_, data.n)
        if self.unseen == "error" and (place == UNKNOWN).any():
            row = int(np.argmax(place == UNKNOWN))
            problem = f"the group {name_at(groups, row)!r} was not fitted"
            raise GroupError("groups", problem, Use("unseen", "together"), row=row)
        out = np.empty((data.n, data.k))
        for code, calibrator in [*enumerate(self.maps_), (UNKNOWN, self.together_)]:
            rows = place == code
            if rows.any():
                out[rows] = calibrator.apply(Scores(data._p.take(rows)))
        return out


@dataclass(eq=False, repr=False)
class MultiCalibration(GroupedCalibrator, CountingCalibrator):
    """Moves the log-odds of what is furthest off, a group or a band of its probabilities, again and again, until chance explains the rest.

    ``fit(scores, y, groups=groups)``, ``predict_proba(scores, groups)``; groups are one name for each row, or ``(N, G)`` masks that may
    overlap. Several classes are taken one against the rest (Hebert-Johnson et al. 2018; Kim et al. 2019). A row of a name that was not
    fitted belongs to no group.

    Parameters
    ----------
    input
        What the scores are.
    levels
        Bands of the current probability in which each group is looked at, beside all of its rows; 1 asks for the right mean only.
    alpha
        Chance of a correction where nothing is wrong, over all groups and levels together.
    min_size
        Rows that a group, or a level of it, must have; None takes 50 or a thousandth of all rows, whichever is more.
    held_out
        Share of the rows on which the loss decides which round was the best; 0 fits on all rows and trusts `alpha`.
    max_rounds
        Most corrections.
    """

    methods = ()
    fitted = ("groups_", "steps_", "shifts_")

    input: Input = "prob"
    levels: int = 10
    alpha: float = 0.05
    min_size: int | None = None
    held_out: float = 0.4
    max_rounds: int = 100

    def _check_params(self) -> None:
        super()._check_params()
        check_whole(self.levels, "levels")
        check_whole(self.max_rounds, "max_rounds", 0)
        if self.min_size is not None:
            check_whole(self.min_size, "min_size")
        for name, low in (("alpha", math.ulp(0)), ("held_out", 0)):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and low <= value < 1):
                raise ArgumentError(name, f"must be a number below 1, {'above' if low else 'from'} 0; got {value!r}")

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, counts: Any = None) -> Self:
        """Fit to validation rows and their groups; other parameters are those of `Calibrator.fit`."""
        self._masks, self.groups_ = _masks_of(groups, None, len(column(scores, "scores").array))
        try:
            return super().fit(scores, y, sample_weight, counts=counts)
        finally:
            del self._masks

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        given, kind = data.given_weight
        weight = data.weight if given is None else given.astype(np.float64)
        if kind == "importance":
            weight = weight * (weight.sum() / np.square(weight).sum())  # adds up to the effective size
        kept = data._p.kept  # rows without weight are dropped
        masks = np.column_stack([np.ones(data.n, bool), self._masks if kept is None else self._masks[kept]])
        audit = np.zeros(data.n)
        if self.held_out > 0:
            order = order_of_content(data, beside=np.packbits(masks, axis=1))
            audit = dealt(data, order, np.array([self.held_out, 1 - self.held_out]))[0] / data.weight
        steps: list[tuple[int, int, int]] = []
        shifts: list[float] = []
        for c in [1] if data.k == 2 else range(data.k):
            event = (data.labels == c).astype(np.float64)
            boost = _Boost(self, _log_odds_of(data, c), event, weight, masks, weight * audit, kind == "importance")
            for group, level, shift in boost.run():
                steps.append((c, group, level))
                shifts.append(shift)
        self.steps_ = np.array(steps, dtype=np.int64).reshape(-1, 3)
        self.shifts_ = np.array(shifts, dtype=np.float64)

    def _by_group(self, data: Scores, groups: Any) -> Floats:
        from scipy.special import expit

        masks, _ = _masks_of(groups, self.groups_, data.n)
        masks = np.column_stack([np.ones(data.n, bool), masks])
        rates = []
        for c in [1] if data.k == 2 else range(data.k):
            odds = _log_odds_of(data, c).copy()
            for (of, group, level), shift in zip(self.steps_, self.shifts_, strict=True):
                if of == c:
                    odds[_cell(odds, masks, group, level, self.levels)] += shift
            rates.append(expit(odds))
        if data.k == 2:
            return np.column_stack([1 - rates[0], rates[0]])
        return normalised(np.column_stack(rates), data.probs)


def _log_odds_of(data: Scores, c: int) -> Floats:
    return data.log_odds if data.k == 2 else logit(data.probs[:, c])


def _level(odds: Floats, levels: int) -> NDArray[np.intp]:
    """The band of each probability; a band holds its lower end."""
    from scipy.special import expit

    return np.minimum((expit(odds) * levels).astype(np.intp), levels - 1)


def _cell(odds: Floats, masks: Masks, group: int, level: int, levels: int) -> Masks:
    """The rows of a group in one level, or in all."""
    return masks[:, group] if level == EVERY_LEVEL else np.asarray(masks[:, group] & (_level(odds, levels) == level))


def _masks_of(groups: Any, names: NDArray[Any] | None, rows: int) -> tuple[Masks, NDArray[Any]]:
    """(N, G) masks and the names of the columns; unknown names belong to no group."""
    if groups is None:
        raise GroupError("groups", "are required", NEEDED)
    values = np.asarray(groups)
    if values.ndim == 2:
        if len(values) != rows or not np.isin(values, (0, 1)).all():
            raise GroupError("groups", f"must be {rows} rows of 0 and 1; got shape {values.shape}")
        if names is not None and values.shape[1] != len(names):
            raise GroupError("groups", f"have {values.shape[1]} columns; the calibrator was fitted with {len(names)}")
        return values.astype(bool), np.arange(values.shape[1])
    codes, known = learnt_groups(groups, rows) if names is None else (known_groups(groups, names, rows), names)
    if (codes == UNKNOWN).all():
        warn_caller(
            f"no row is in a group that was fitted: the first group is {name_at(groups, 0)!r}, and the fitted groups are "
            f"{', '.join(map(repr, known[:3].tolist()))}{', ...' if len(known) > 3 else ''}; name groups as in fit"
        )
    return codes[:, None] == np.arange(len(known)), known


# Corrections that may fail to lower the held-out loss, one after the other, before no more are tried: one cell holds few of those
# rows, and chance can hide what it gains.
PATIENCE = 5


class _Boost:
    """The rounds of one yes-or-no question."""

    def __init__(
        self,
        calibrator: MultiCalibration,
        odds: Floats,
        event: Floats,
        weight: Floats,
        masks: Masks,
        audit: Floats,
        importance: bool,
    ) -> None:
        self.calibrator, self.event, self.masks, self.audit_weight = calibrator, event, masks, audit
        self.odds, self.importance = odds.copy(), importance
        self.weight = weight - audit
        rows = self.weight.sum()
        self.least = max(50.0, 0.001 * rows) if calibrator.min_size is None else float(calibrator.min_size)

    def run(self) -> list[tuple[int, int, float]]:
        """Corrections in order, up to the round that was best on the rows held out."""
        steps: list[tuple[int, int, float]] = []
        best, kept = self._loss(), 0
        worse = 0
        for _ in range(self.calibrator.max_rounds):
            step = self._worst()
            if step is None:
                break
            rows = _cell(self.odds, self.masks, *step, self.calibrator.levels)
            shift = self._shift(rows)
            self.odds[rows] += shift
            steps.append((*step, shift))
            if not self.audit_weight.any():
                kept = len(steps)
                continue
            loss = self._loss()
            if loss < best:
                best, kept, worse = loss, len(steps), 0
            elif (worse := worse + 1) > PATIENCE:
                break
        return steps[:kept]

    def _worst(self) -> tuple[int, int] | None:
        """The cell whose events are furthest from what is expected, in standard errors; None where chance explains them all."""
        from scipy.special import expit, ndtri

        levels = self.calibrator.levels
        rate, level = expit(self.odds), _level(self.odds, levels)
        spread = rate * (1 - rate) * self.weight * (self.weight if self.importance else 1.0)
        sizes, sums, squares = (
            _with_every_level(np.array([np.bincount(level[mask], values[mask], levels) for mask in self.masks.T]))
            for values in (self.weight, self.weight * (self.event - rate), spread)
        )
        usable = (sizes >= self.least) & (squares > 0)
        if not usable.any():
            return None
        z = np.where(usable, np.abs(sums) / np.sqrt(np.where(usable, squares, 1.0)), 0.0)
        if z.max() <= ndtri(1 - self.calibrator.alpha / (2 * usable.sum())):
            return None
        group, found = np.unravel_index(int(np.argmax(z)), z.shape)
        return int(group), int(found) if found < levels else EVERY_LEVEL

    def _shift(self, rows: Masks) -> float:
        """What makes the mean probability of the rows their share of events, with one more row at the mean of the forecasts."""
        from scipy.optimize import brentq
        from scipy.special import expit

        odds, weight, event = self.odds[rows], self.weight[rows], self.event[rows]
        total = weight.sum()
        wanted = (weight @ event + weight @ expit(odds) / total) / (total + 1)

        def excess(d: float) -> float:
            return float(weight @ expit(odds + d) / total - wanted)

        reach = float(np.abs(odds).max()) + 60
        return float(brentq(excess, -reach, reach, xtol=1e-13))

    def _loss(self) -> float:
        """Log loss of the rows held out."""
        return float(self.audit_weight @ (np.logaddexp(0, self.odds) - self.event * self.odds))


def _with_every_level(cells: Floats) -> Floats:
    """Sums for each group and level, and for each group; one level is the group itself."""
    return cells if cells.shape[1] == 1 else np.column_stack([cells, cells.sum(axis=1)])


def _as_given(groups: Any, rows: int) -> NDArray[Any]:
    """One name for each row, of the type it has."""
    if groups is None:
        raise GroupError("groups", "are required", NEEDED)
    names = np.asarray(groups, dtype=object) if isinstance(groups, (list, tuple)) else np.asarray(groups)
    if names.shape != (rows,):
        raise GroupError("groups", f"must have one entry for each of {rows} rows; got shape {names.shape}", NEEDED)
    return names


def learnt_groups(groups: Any, rows: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The group of each row as a number, and the names in order."""
    codes, names = read_groups(_as_given(groups, rows), rows)
    assert codes is not None
    return codes, names_array(names)


def known_groups(groups: Any, known: NDArray[Any], rows: int) -> NDArray[np.intp]:
    """The same for groups fitted before, as Python compares names: 1 is 1.0, and never "1"; `UNKNOWN` for others."""
    names = _as_given(groups, rows)
    place = {name: code for code, name in enumerate(known.tolist())}
    if names.dtype.kind == "O":
        try:
            return np.fromiter((place.get(name, UNKNOWN) for name in names.tolist()), np.intp, rows)
        except TypeError as error:
            raise GroupError("groups", f"cannot be read as names of groups ({error})", "pass text or numbers") from None
    distinct, codes = np.unique(names, return_inverse=True)
    return np.array([place.get(name, UNKNOWN) for name in distinct.tolist()], dtype=np.intp)[codes]


def name_at(groups: Any, row: int) -> Any:
    """The name of the group of one row, as plain text or number."""
    name = np.asarray(groups, dtype=object)[row]
    return name.item() if isinstance(name, np.generic) else name
