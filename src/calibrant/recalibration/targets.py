"""Calibrators fitted to one event: the group of the class, the k most probable classes, or the rows of a band of confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import LensError, UndefinedMetricError
from ..input.predictions import Predictions
from ..views.lenses import Lens
from .base import Calibrator, FitRecord, Input, fit_copy
from .binary import AHEAD, fill_classes
from .scores import Floats, Scores, TrainingData, names_array

Masks = NDArray[np.bool_]
KNOWN = (
    "choose 'class:NAME', 'top_label', 'within_top:K', 'band:LOW,HIGH' or groups of classes, for example 'within_top:5'"
)
REST = "other classes"


class Target(NamedTuple):
    """A lens whose event divides the classes of each row into cells."""

    name: str
    groups: Mapping[Any, Sequence[Any]] | None = None
    """Classes of each group; one class alone is a group against ``None``, the others."""
    k: int = 0
    """Number of most probable classes that form the event; 0 for groups."""
    low: float = 0.0
    high: float = 1.0
    """Band of the confidence in which rows are calibrated."""

    @property
    def is_band(self) -> bool:
        return self.name.startswith("band:")


def read_target(lens: Any) -> Target:
    """Return the target of a lens.

    >>> read_target("within_top:5").k, read_target("band:0.9,1").low
    (5, 0.9)
    """
    if isinstance(lens, Lens):
        lens = lens.groups if lens.groups is not None else lens.name
    if isinstance(lens, Mapping):
        if len(lens) < 2:
            problem = f"must have two or more groups; got {len(lens)}"
            raise LensError("lens", problem, "divide the classes between groups")
        groups = {}
        for group, members in lens.items():
            if isinstance(members, (Mapping, str)) or not isinstance(members, (list, tuple, set, frozenset, range)):
                problem = f"the classes of group {group!r} must be a list; got {type(members).__name__}"
                raise LensError("lens", problem, "for example {'animal': ['cat', 'dog'], 'vehicle': ['car']}")
            groups[group] = list(members)
        return Target("class_groups:" + ",".join(map(str, lens)), groups)
    if not isinstance(lens, str):
        raise LensError("lens", f"must be a name, a mapping or a Lens; got {type(lens).__name__}", KNOWN)
    kind, _, detail = lens.partition(":")
    if kind == "class" and detail:
        return Target(lens, {REST: [], detail: [detail]})
    if lens == "top_label":
        return Target(lens, k=1)
    if kind == "within_top":
        if not (detail.isdigit() and int(detail) >= 1):
            raise LensError("lens", f"'within_top' requires an integer of at least 1; got {detail!r}", KNOWN)
        return Target(lens, k=int(detail))
    if kind == "band":
        return _band(lens, detail)
    raise LensError("lens", f"recalibration for the lens {lens!r} is not supported", KNOWN)


def _band(lens: str, detail: str) -> Target:
    try:
        low, high = map(float, detail.split(","))
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 <= low < high <= 1:
        problem = f"'band' requires two bounds with 0 <= low < high <= 1; got {detail!r}"
        raise LensError("lens", problem, "for example 'band:0.9,1'")
    return Target(lens, k=1, low=low, high=high)


def owners(target: Target, names: Sequence[Any]) -> NDArray[np.int64]:
    """Return the group of each class; empty for a lens without groups."""
    if target.groups is None:
        if target.k >= len(names):
            problem = f"{target.name!r} requires fewer than {len(names)}, the number of classes"
            raise LensError("lens", problem, "the event would always occur")
        return np.zeros(0, np.int64)
    whole = target.name.startswith("class_groups")
    owner = np.full(len(names), -1 if whole else 0)
    for group, members in enumerate(target.groups.values()):
        for member in members:
            found = [place for place, name in enumerate(names) if name == member or str(name) == str(member)]
            if not found:
                shown = ", ".join(map(str, names[:10])) + (" ..." if len(names) > 10 else "")
                raise LensError("lens", f"unknown class {member!r}", f"the classes are {shown}")
            if whole and owner[found[0]] >= 0:
                raise LensError("lens", f"class {member!r} is in two groups", "assign every class to one group")
            owner[found[0]] = group
    if (owner < 0).any():
        missing = names[int(np.argmin(owner))]
        raise LensError("lens", f"class {missing!r} is not in any group", "assign every class to one group")
    return owner


class Cells(NamedTuple):
    """The cells of the classes of some rows, and their probabilities."""

    rows: NDArray[np.intp]
    """Rows that the lens concerns."""
    cell: NDArray[np.int64]
    """Cell of each class: of shape (K,), or (n, K) where it depends on the row."""
    scores: Floats
    """Probabilities of the cells, or their logarithms if logits were given."""


def cells_of(data: Scores, target: Target, owner: NDArray[np.int64]) -> Cells:
    """Divide the classes of each row into cells and add up their probabilities."""
    from scipy.special import logsumexp

    rows = np.arange(data.n)
    probs, logits = data.probs, None if data._p.logits is None else data.logits
    if target.groups is not None:
        cell, count = owner, len(target.groups)
    else:
        count = 2
        if target.is_band:
            score = data.score if data.k == 2 else probs.max(axis=1)
            rows = np.flatnonzero((score >= target.low) & (score <= target.high))
            probs, logits = probs[rows], None if logits is None else logits[rows]
        cell = np.zeros(probs.shape, np.int64)
        if target.is_band and data.k == 2:
            cell[:, 1] = 1
        else:
            best = np.argsort(-probs, axis=1, kind="stable")[:, : target.k]
            np.put_along_axis(cell, best, 1, axis=1)
    held = [np.broadcast_to(cell == number, probs.shape) for number in range(count)]
    if logits is not None:
        with np.errstate(divide="ignore"):
            scores = np.column_stack([logsumexp(np.where(mask, logits, -np.inf), axis=1) for mask in held])
        return Cells(rows, cell, scores - logsumexp(scores, axis=1, keepdims=True))
    mass = np.column_stack([np.where(mask, probs, 0).sum(axis=1) for mask in held])
    return Cells(rows, cell, mass / mass.sum(axis=1, keepdims=True))


def induced(data: TrainingData, target: Target, owner: NDArray[np.int64]) -> Predictions:
    """Return the predictions of the cells: the problem that the calibrator is fitted to."""
    found = cells_of(data, target, owner)
    if not len(found.rows):
        raise UndefinedMetricError("lens", f"no row lies in {target.name!r}", "choose a wider band")
    label = data.labels[found.rows]
    cell = found.cell[label] if found.cell.ndim == 1 else found.cell[np.arange(len(label)), label]
    if (cell == cell[0]).all():
        problem = f"all {len(cell):,} rows have the same outcome under the lens {target.name!r}"
        raise UndefinedMetricError("y_true", problem, "recalibration requires rows with and without the event")
    weight = None if data._p.weight is None else data._p.weight[found.rows]
    keywords = {"counts" if data.counted else "sample_weight": weight}
    return Predictions.derived(cell, found.scores, input=_input_of(data), **keywords)


def _input_of(data: Scores) -> Input:
    return "prob" if data._p.logits is None else "logit"


@dataclass(eq=False, repr=False)
class LensCalibration(Calibrator):
    r"""A calibrator of one event, such as the group of the class, whose effect is carried over to all classes.

    A calibrator that minimizes the loss of all classes can make the event worse that a decision uses: one temperature for 100 classes need
    not suit the sum of 60 of them. Here the probability of the event is calibrated, and the classes share it in proportion to their
    probabilities as before, so that each row is still a distribution.

    Parameters
    ----------
    calibrator : Calibrator
        Unfitted calibrator of the event; its parameter `input` applies. For more than two groups it must support several classes.
    lens : str or mapping
        Event that is calibrated: a mapping from groups to lists of classes, in which every class occurs once; ``"class:NAME"``;
        ``"top_label"``; ``"within_top:K"``, the set of the K most probable classes; or ``"band:LOW,HIGH"``, the rows whose largest
        probability (for two classes the probability of the positive one) lies in the band.

    Attributes
    ----------
    calibrator_ : Calibrator
        Calibrator fitted to the event.
    owner_ : ndarray of shape (K,)
        Group of each class; empty for a lens without groups.
    classes_
    fit_record_

    See Also
    --------
    recalibrate : Chooses the calibrator of a lens by cross-validation.
    calibrant.class_groups : The same groups as a lens of metrics.

    Notes
    -----
    With cells :math:`c` of classes, :math:`P_c = \sum_{k \in c} p_k` and calibrated probabilities :math:`Q_c` of the cells,

    .. math:: q_k = Q_{c(k)} \, \frac{p_k}{P_{c(k)}}.

    The negative log-likelihood of a label is the sum of that of its cell and that of the class within the cell, and the second term does
    not change. Fitting :math:`Q` therefore reduces the loss of all classes by the same amount as that of the event. A cell of
    probability 0 shares what it receives evenly.

    Groups: the most probable class can change, since the probability of a whole group moves. With ``"within_top:K"`` and
    ``"top_label"`` the set of the K most probable classes stays the same: where a class outside of it would overtake one inside, both are
    moved to a common value, and the probability of the set is at least K divided by the number of classes. With ``"band:LOW,HIGH"`` rows
    outside the band are not changed. The result is therefore discontinuous at the bounds, and a row in the band can end above or
    below rows outside; within the band the order follows the calibrator. Evaluate it on the rows that were in the band before.

    The event is calibrated, not every class: errors within a cell remain.

    References
    ----------
    .. [1] Kirchenbauer, J., Oaks, J., Heim, E. (2022). What is your metric telling you? Evaluating classifier calibration under
       context-specific definitions of reliability. arXiv:2205.11454. Section 6 asks for calibrators that target such an error.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_prob = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]] * 5
    >>> y_true = [2, 2, 0, 0] * 5
    >>> groups = {"animal": [0, 1], "vehicle": [2]}
    >>> calibrator = cal.LensCalibration(cal.PlattScaling(), groups).fit(y_prob, y_true)
    >>> calibrator.predict_proba([[0.45, 0.15, 0.4]]).round(3)
    array([[0.364, 0.121, 0.515]])
    """

    methods = ()
    fitted = ("calibrator_", "owner_")

    calibrator: Calibrator
    lens: str | Mapping[Any, Sequence[Any]]

    @property
    def input(self) -> Input:  # type: ignore[override]
        """Whether the scores are probabilities or logits, according to `calibrator`."""
        return self.calibrator.input

    def _check_params(self) -> None:
        self._check_inner(self.calibrator, "use GroupCalibration(LensCalibration(...))")
        if isinstance(self.lens, Lens):
            raise LensError("lens", "must be text or a mapping, so that it can be saved", "pass the mapping itself")
        read_target(self.lens)
        super()._check_params()

    def _fit(self, data: TrainingData) -> None:
        target = read_target(self.lens)
        self.owner_ = owners(target, self.classes_.tolist())
        self.calibrator_ = fit_copy(self.calibrator, induced(data, target, self.owner_))

    def _predict(self, data: Scores) -> Floats:
        target = read_target(self.lens)
        found = cells_of(data, target, self.owner_)
        if not len(found.rows):
            return data.probs
        mass = self.calibrator_.apply(Scores.read(found.scores, _input_of(data)))
        if target.groups is not None:
            return _shared(data, self.owner_, mass)
        out = data.probs.copy()
        if data.k == 2 and target.is_band:
            out[found.rows] = mass
        else:
            out[found.rows] = with_set(out[found.rows], found.cell == 1, mass[:, 1])
        return out


def carried_over(
    target: Target, fitted: Calibrator, data: TrainingData, names: Sequence[Any] | None, owner: NDArray[np.int64]
) -> LensCalibration:
    """Return the calibrator of all classes whose event was calibrated by `fitted`."""
    whole = target.groups is not None and target.name.startswith("class_groups")
    made = LensCalibration(
        type(fitted)(**fitted.get_params(deep=False)), target.groups if whole and target.groups else target.name
    )
    made.calibrator_, made.owner_ = fitted, owner
    made.classes_ = np.arange(data.k) if names is None else names_array(names)
    made.n_features_in_ = 1 if data._p.probs.ndim == 1 else data.k
    made.fit_record_ = FitRecord(data.n, float(data.weight.sum()), data.fingerprint)
    return made


def _shared(data: Scores, owner: NDArray[np.int64], mass: Floats) -> Floats:
    """Share the probability of each group in proportion to the probabilities of its classes."""
    from scipy.special import softmax

    out = np.empty((data.n, data.k))
    for group in range(mass.shape[1]):
        own = np.flatnonzero(owner == group)
        probs = data.probs[:, own]
        total = probs.sum(axis=1, keepdims=True)
        # Logits distinguish classes whose probabilities underflow; probabilities of 0 are shared evenly.
        share = np.divide(probs, total, out=softmax(data.logits[:, own], axis=1), where=total > 0)
        out[:, own] = share * mass[:, [group]]
    return out


def with_set(probs: Floats, inside: Masks, mass: Floats) -> Floats:
    """Give a set of the most probable classes of each row this probability; it stays the set of the most probable ones.

    Both sides are scaled. Where a class outside would then exceed one inside, values inside are raised, and values outside lowered, to a
    common value, and the others of each side are scaled to keep its sum.

    >>> with_set(np.array([[0.5, 0.3, 0.2]]), np.array([[True, False, False]]), np.array([0.4])).round(4)
    array([[0.4 , 0.36, 0.24]])
    """
    count, classes = int(inside[0].sum()), probs.shape[1]
    mass = np.clip(mass, count / classes * (1 + 4 * AHEAD), 1.0)
    out = fill_classes(probs, inside, mass) + fill_classes(probs, ~inside, 1 - mass)
    least = np.where(inside, out, np.inf).min(axis=1)
    most = np.where(inside, 0, out).max(axis=1)
    crowded = np.flatnonzero((least <= most) & (most > 0))
    if len(crowded):
        part, own, amount = probs[crowded], inside[crowded], mass[crowded]
        # Any value between these two leaves room for both sides; the geometric mean moves neither more than needed.
        low = np.maximum((1 - amount) / (classes - count), least[crowded])
        high = np.minimum(amount / count, most[crowded])
        level = np.sqrt(low * np.maximum(high, low))
        out[crowded] = fill_classes(part, own, amount, floor=level * (1 + AHEAD)) + fill_classes(
            part, ~own, 1 - amount, cap=level * (1 - AHEAD)
        )
    return out
