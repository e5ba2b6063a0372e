"""Calibrators that use the group of each row: one calibrator per group, and multicalibration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrantError, GroupError, warn_caller
from ..input.weights import read_groups
from ..sketches.group_names import finder
from ..util.checks import check_fraction, check_whole
from ..util.progress import track
from .base import Calibrator, ContextCalibrator, CountingCalibrator, Input, fit_copy
from .scores import Floats, Scores, TrainingData, dealt, names_array, normalised, order_of_content

Masks = NDArray[np.bool_]


NEEDED = "pass the group of each row"
UNKNOWN = -1
EVERY_LEVEL = -1


@dataclass(eq=False, repr=False)
class GroupCalibration(ContextCalibrator):
    """One calibrator per group of rows.

    Use it if the groups are miscalibrated in different ways and each has enough rows for a fit of its own. Groups are passed to
    `fit` and to `predict_proba`.

    Parameters
    ----------
    calibrator : Calibrator
        Unfitted calibrator, copied for each group; its parameter `input` applies.
    unseen : {"error", "together"}, default "error"
        Treatment of rows whose group did not occur in `fit`: raise an error, or apply the calibrator of all rows together.

    Attributes
    ----------
    groups_ : ndarray of shape (G,)
        Names of the groups.
    calibrators_ : tuple of Calibrator
        Fitted calibrator of each group.
    together_ : Calibrator
        Calibrator fitted on all rows.
    classes_
    fit_record_

    See Also
    --------
    MultiCalibration : Corrections of overlapping groups.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> groups = ["a", "b"] * 1000
    >>> calibrator = cal.GroupCalibration(cal.TemperatureScaling()).fit(data.y_prob, data.y_true, groups=groups)
    >>> [round(each.temperature_, 2) for each in calibrator.calibrators_]
    [1.86, 1.81]
    >>> calibrator.predict_proba([0.9, 0.9], ["a", "b"])[:, 1].round(3)
    array([0.766, 0.771])
    """

    needs = "groups"
    methods = ()
    fitted = ("groups_", "calibrators_", "together_")

    calibrator: Calibrator
    unseen: Literal["error", "together"] = "error"

    @property
    def input(self) -> Input:  # type: ignore[override]
        """Whether the scores are probabilities or logits, according to `calibrator`."""
        return self.calibrator.input

    @property
    def takes_any_score(self) -> bool:  # type: ignore[override]
        """Whether ``input="logit"`` accepts any real score."""
        return self.calibrator.takes_any_score

    def _check_params(self) -> None:
        self._check_inner(self.calibrator, "pass the combinations of both groups")
        super()._check_params()

    def _fit(self, data: TrainingData) -> None:
        places, self.groups_ = learnt_groups(data.beside, data.rows_given)
        places = data.kept(places)
        self.together_ = fit_copy(self.calibrator, data._p)
        self.together_.classes_ = self.classes_
        calibrators = []
        for code, name in enumerate(track(self.groups_.tolist(), "groups")):
            part = data._p.take(places == code)
            try:
                calibrators.append(fit_copy(self.calibrator, part))
            except CalibrantError as error:
                rows = "1 row" if part.n == 1 else f"{part.n:,} rows"
                problem = f"the calibrator of group {name!r} cannot be fitted to its {rows}: {error.problem}"
                remedy = "merge small groups, or leave their rows out and use unseen='together'"
                raise GroupError("groups", problem, remedy) from error
        self.calibrators_ = tuple(calibrators)

    def _predict(self, data: Scores) -> Floats:
        place = known_groups(data.beside, self.groups_, data.n)
        if self.unseen == "error" and (place == UNKNOWN).any():
            row = int(np.argmax(place == UNKNOWN))
            problem = f"groups must be among those fitted; got {name_at(data.beside, row)!r}"
            raise GroupError("groups", problem, "use unseen='together'", row=row)
        out = np.empty((data.n, data.k))
        for code, calibrator in [*enumerate(self.calibrators_), (UNKNOWN, self.together_)]:
            rows = place == code
            if rows.any():
                out[rows] = calibrator.apply(Scores(data._p.take(rows)))
        return out


@dataclass(eq=False, repr=False)
class MultiCalibration(ContextCalibrator, CountingCalibrator):
    r"""Multicalibration: corrections of the log-odds until no group shows significant miscalibration.

    In each round the cell with the largest deviation of observed from expected events is corrected, where a cell is a group or a
    range of predicted probabilities within it. Use it for many or overlapping groups, which are too small for calibrators of their own.
    More than two classes are treated one-vs-rest.

    Parameters
    ----------
    input
    levels : int, default 10
        Number of ranges of the current probability examined within each group, besides the whole group; 1 examines the mean only.
    alpha : float, default 0.05
        Significance level of a correction in each round, over all cells (Bonferroni).
    min_size : int, optional
        Minimum number of rows of a cell. None: 50, or a thousandth of all rows if that is more.
    held_out : float, default 0.4
        Share of the rows that is held out to choose the number of rounds by log loss; with 0 all rows are used and `alpha` alone stops
        the rounds.
    max_rounds : int, default 100
        Maximum number of corrections.

    Attributes
    ----------
    groups_ : ndarray
        Names of the groups, or the column indices if masks were given.
    steps_ : ndarray of shape (R, 3)
        Class, group and level of each correction; -1 means all levels, and group 0 all rows.
    shifts_ : ndarray of shape (R,)
        Offset of the log-odds of each correction.
    scale_
    classes_
    fit_record_

    See Also
    --------
    GroupCalibration : One calibrator per group.

    Notes
    -----
    `groups` holds one name per row, or boolean masks of shape (N, G) of groups that may overlap. The statistic of a cell :math:`C` is

    .. math:: z_C = \frac{\left|\sum_{i \in C} w_i (y_i - q_i)\right|}{\sqrt{\sum_{i \in C} w_i q_i (1 - q_i)}},

    for rows with counts :math:`w_i`; importance weights are scaled to the effective sample size. The log-odds of the cell are shifted
    until its mean probability equals its observed rate, shrunk by one pseudo-observation. Rows of a name that did not occur in `fit` belong to no
    group.

    References
    ----------
    .. [1] Hébert-Johnson, Ú., Kim, M., Reingold, O., Rothblum, G. (2018). Multicalibration: calibration for the
       (computationally-identifiable) masses. ICML.
    .. [2] Kim, M., Ghorbani, A., Zou, J. (2019). Multiaccuracy: black-box post-processing for fairness in classification. AIES.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(2000, warp=temperature(2.0), rng=0)
    >>> groups = ["a", "b"] * 1000
    >>> calibrator = cal.MultiCalibration().fit(data.y_prob, data.y_true, groups=groups)
    >>> calibrator.predict_proba([0.05, 0.95], ["a", "b"])[:, 1].round(2)
    array([0.28, 0.95])
    """

    needs = "groups"
    methods = ()
    fitted = ("groups_", "steps_", "shifts_")
    checks = {
        "levels": check_whole,
        "max_rounds": partial(check_whole, low=0),
        "min_size": check_whole,
        "alpha": check_fraction,
    }

    input: Input = "prob"
    levels: int = 10
    alpha: float = 0.05
    min_size: int | None = None
    held_out: float = 0.4
    max_rounds: int = 100

    def _check_params(self) -> None:
        super()._check_params()
        if self.held_out != 0:
            check_fraction(self.held_out, "held_out", 0.4)

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        weight, (_, kind) = data.effective_weight, data.given_weight
        masks, self.groups_ = _masks_of(data.beside, None, data.rows_given)
        masks = np.column_stack([np.ones(data.n, bool), data.kept(masks)])
        audit = np.zeros(data.n)
        if self.held_out > 0:
            order = order_of_content(data, beside=np.packbits(masks, axis=1))
            audit = dealt(data, order, np.array([self.held_out, 1 - self.held_out]))[0] / data.weight
        steps: list[tuple[int, int, int]] = []
        shifts: list[float] = []
        for c in [1] if data.k == 2 else range(data.k):
            event = (data.labels == c).astype(np.float64)
            boost = _Boost(self, data.odds_of(c), event, weight, masks, weight * audit, kind == "importance")
            for group, level, shift in boost.run():
                steps.append((c, group, level))
                shifts.append(shift)
        self.steps_ = np.array(steps, dtype=np.int64).reshape(-1, 3)
        self.shifts_ = np.array(shifts, dtype=np.float64)

    def _predict(self, data: Scores) -> Floats:
        from scipy.special import expit

        masks, _ = _masks_of(data.beside, self.groups_, data.n)
        masks = np.column_stack([np.ones(data.n, bool), masks])
        rates = []
        for c in [1] if data.k == 2 else range(data.k):
            odds = data.odds_of(c).copy()
            for (of, group, level), shift in zip(self.steps_, self.shifts_, strict=True):
                if of == c:
                    odds[_cell(odds, masks, group, level, self.levels)] += shift
            rates.append(expit(odds))
        if data.k == 2:
            return np.column_stack([1 - rates[0], rates[0]])
        return normalised(np.column_stack(rates), data.probs)


def _level(odds: Floats, levels: int) -> NDArray[np.intp]:
    """The level of each probability; a level contains its lower end."""
    from scipy.special import expit

    return np.minimum((expit(odds) * levels).astype(np.intp), levels - 1)


def _cell(odds: Floats, masks: Masks, group: int, level: int, levels: int) -> Masks:
    """The rows of a group in one level, or in all levels."""
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


# Number of consecutive corrections that may fail to lower the held-out loss before the search stops: a cell holds few held-out rows, so
# its gain may be hidden by chance.
PATIENCE = 5


@dataclass(eq=False)
class _Boost:
    """The rounds of one yes-or-no question."""

    calibrator: MultiCalibration
    odds: Floats
    event: Floats
    weight: Floats
    masks: Masks
    audit_weight: Floats
    importance: bool

    def __post_init__(self) -> None:
        self.odds, self.weight = self.odds.copy(), self.weight - self.audit_weight
        least = self.calibrator.min_size
        self.least = max(50.0, 0.001 * self.weight.sum()) if least is None else float(least)

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
        """The cell with the largest deviation of observed from expected events, in standard errors; None if none is significant."""
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
        """The shift that makes the mean probability equal the observed rate, with one pseudo-observation at the mean prediction."""
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
        """Log loss of the held-out rows."""
        return float(self.audit_weight @ (np.logaddexp(0, self.odds) - self.event * self.odds))


def _with_every_level(cells: Floats) -> Floats:
    """Sums for each group and level, and for each whole group; with one level they coincide."""
    return cells if cells.shape[1] == 1 else np.column_stack([cells, cells.sum(axis=1)])


def _as_given(groups: Any, rows: int) -> NDArray[Any]:
    """One name per row, with its type preserved."""
    if groups is None:
        raise GroupError("groups", "are required", NEEDED)
    names = np.asarray(groups, dtype=object) if isinstance(groups, (list, tuple)) else np.asarray(groups)
    if names.shape != (rows,):
        raise GroupError("groups", f"must have one entry for each of {rows} rows; got shape {names.shape}", NEEDED)
    return names


def learnt_groups(groups: Any, rows: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The index of the group of each row, and the sorted names."""
    codes, names = read_groups(_as_given(groups, rows), rows)
    assert codes is not None
    return codes, names_array(names)


def known_groups(groups: Any, known: NDArray[Any], rows: int) -> NDArray[np.intp]:
    """The indices for groups seen in `fit`, or `UNKNOWN`; 1 and "1" are one group, as files of several formats write it."""
    names = _as_given(groups, rows).tolist()
    known_names = known.tolist()
    place: dict[Any, int] = {name: code for code, name in enumerate(known_names)}
    find = finder(known_names)
    try:
        for name in set(names) - place.keys():
            found = find(name)
            place[name] = UNKNOWN if found is None else found
    except TypeError as error:
        raise GroupError("groups", f"cannot be read as names of groups ({error})", "pass text or numbers") from None
    return np.fromiter(map(place.__getitem__, names), np.intp, rows)


def name_at(groups: Any, row: int) -> Any:
    """The name of the group of one row, as a Python object."""
    name = np.asarray(groups, dtype=object)[row]
    return name.item() if isinstance(name, np.generic) else name
