"""Deliveries: arriving rows, checked once and added to their windows.

What is new counts, what came before does not, what was corrected replaces the old. Sketches of a window are whole numbers added and
taken away, so that any order of rows, labels and corrections gives the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.exact_sums import CellSums
from ..errors import InputError, InputTypeError, LensError, ProbabilityError, ShapeError
from ..input.convert import Column, as_entries, column
from ..input.grouping import one_group_column
from ..input.labels import encode_labels
from ..input.missing import missing_rows
from ..input.predictions import Predictions
from ..sketches.files.columns import EXACT, WHOLE
from ..sketches.grid import cell_sums
from ..sketches.group_names import finder, plain_name
from ..sketches.sketch import Sketch
from ..util.arrays import Floats
from .features import features_as_text
from .ood import LENS, watched_ood
from .queries import KnownRows, Part, Stream, Texts, Transaction
from .settings import Settings
from .windows import read_times

Whole = NDArray[np.int64]
WHOLE_ID = re.compile(WHOLE)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
CONVERT = "give probabilities as in the reference data: drop invalid rows, rescale sums, and convert logits before"
UNKNOWN = -1
"""Code of a missing label."""
ALL_ROWS = "null"
"""The key of the stream of all rows."""
Start = Callable[[str, int, bool], Stream]
SCORES, OUTCOMES, REMOVED = 0, 1, 2


@dataclass(frozen=True)
class Arrivals:
    """Rows of one delivery."""

    score: Floats
    target: Whole
    """The class that makes the outcome of the row 1."""
    label: Whole
    """Class of each row, -1 where the label is missing."""
    time: Whole | None
    """Microseconds since 1970."""
    ids: list[str] | None
    group: list[str] | None
    """Key of the group of each row."""
    ood: Floats
    """Out-of-distribution scores, one column for each score of the monitor."""
    features: list[str] | None = None
    """Features of each row as JSON, for a monitor that stores them."""

    @property
    def n(self) -> int:
        return len(self.score)

    def digest(self) -> str:
        """A fingerprint of the content."""
        fingerprint = hashlib.sha256()
        for array in (self.score, self.target, self.label, self.time):
            fingerprint.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
        fingerprint.update(json.dumps([self.ids, self.group, self.features]).encode())
        fingerprint.update(np.ascontiguousarray(self.ood).tobytes())
        return fingerprint.hexdigest()


def read_arrivals(
    y_true: Any,
    y_prob: Any,
    *,
    settings: Settings,
    when: Any,
    ids: Any,
    groups: Any,
    ood: Any = None,
    features: Any = None,
) -> Arrivals:
    """Check the arguments of an update and convert them to rows.

    Parameters
    ----------
    y_true
        Labels, with None or NaN where they are not known; None where none is.
    y_prob
        Probabilities, as for `Predictions`.
    settings
        Those of the monitor.
    when, ids, groups
        Time, id and group of each row.
    ood
        Out-of-distribution scores, those of the monitor.
    features
        Features, those of the monitor.

    Examples
    --------
    >>> from calibrant.monitoring.ingest import read_labels
    >>> read_labels([1, None, 0], 3, k=2, classes=None).tolist()
    [1, -1, 0]
    """
    scores = column(y_prob, "y_prob").array
    n = len(scores)
    form: Any = "confidence" if settings.kind == "confidence" else "prob"
    try:
        p = Predictions.unlabelled(scores, input=form)
    except ProbabilityError as error:
        raise error.replaced(remedy=CONVERT) from None
    if p.kind != settings.kind or p.k != settings.k:
        raise ShapeError(
            "y_prob",
            f"expected {settings.kind} predictions of {settings.k} classes, as in the reference; got {p.kind} of {p.k}",
        )
    score, target = watched_scores(p, settings)
    label = read_labels(y_true, n, k=settings.k, classes=settings.names)
    if when is None and settings.rule.by_time:
        raise InputError("when", "is required for windows of time", "give the time of each prediction")
    time = None if when is None else read_times(when, n)
    codes, group_names = one_group_column(groups, n, "updates")
    group = None if codes is None else np.array([group_key(name) for name in group_names], object)[codes].tolist()
    names = read_ids(ids, n)
    texts = features_as_text(features, settings.features, names, n)
    return Arrivals(score, target, label, time, names, group, watched_ood(ood, settings.ood, n), texts)


def watched_scores(p: Predictions, settings: Settings) -> tuple[Floats, Whole]:
    """Score of each row, and the class it refers to."""
    probs, lens = p.probs, settings.lens
    if p.kind == "confidence":
        return np.asarray(probs, np.float64), np.ones(p.n, np.int64)
    if lens == "binary":
        return np.asarray(probs if probs.ndim == 1 else probs[:, 1], np.float64), np.ones(p.n, np.int64)
    if lens == "top_label":
        best = np.asarray(p.predicted, np.int64)
        top = np.maximum(probs, 1 - probs) if probs.ndim == 1 else probs[np.arange(p.n), best]
        return np.asarray(top, np.float64), best
    names = [str(name) for name in settings.classes]
    if lens.removeprefix("class:") not in names:
        raise LensError("lens", f"unknown class {lens.removeprefix('class:')!r}", f"the classes are {names[:20]}")
    watched = names.index(lens.removeprefix("class:"))
    score = (probs if watched else 1 - probs) if probs.ndim == 1 else probs[:, watched]
    return np.asarray(score, np.float64), np.full(p.n, watched, np.int64)


def read_labels(y_true: Any, n: int, *, k: int, classes: tuple[Any, ...] | None) -> Whole:
    """Class indices of labels, -1 where missing."""
    if y_true is None:
        return np.full(n, UNKNOWN, np.int64)
    array = as_entries(y_true.data if isinstance(y_true, np.ma.MaskedArray) else y_true)
    if array.shape != (n,):
        raise ShapeError("y_true", f"expected {n} labels, one for each row; got shape {array.shape}")
    given = np.flatnonzero(~missing_rows(y_true if isinstance(y_true, np.ma.MaskedArray) else array, texts=False))
    if not len(given):
        return np.full(n, UNKNOWN, np.int64)
    try:
        codes = encode_labels(Column(as_entries(array[given].tolist()), "float64"), k, classes, None, np.full(1, 0.5))
    except InputError as error:
        raise error if error.row is None else error.replaced(row=int(given[error.row])) from None
    labels = np.full(n, UNKNOWN, np.int64)
    labels[given] = codes
    return labels


def read_ids(ids: Any, n: int | None) -> list[str] | None:
    """Ids as text, in one spelling for each id, since files and databases write the same id differently.

    Ids are compared without blanks around them, whole numbers without a fraction of zeros, UUIDs without regard to case. Leading zeros
    count: merging two accounts would lose rows in silence, while an id that is not recognized is reported.

    Parameters
    ----------
    ids
        One for each row.
    n
        Number of rows, where it is known.

    Examples
    --------
    >>> read_ids([7, "7.0", " 7 ", "07", " a ", "A3BB189E-8BF9-3888-9912-ACE4E6543002"], None)
    ['7', '7', '7', '07', 'a', 'a3bb189e-8bf9-3888-9912-ace4e6543002']
    """
    if ids is None:
        return None
    try:
        array = as_entries(ids)
    except (TypeError, ValueError) as error:
        raise InputTypeError("ids", f"cannot be read as ids ({error})") from None
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise ShapeError("ids", f"expected one id for each row, got shape {array.shape}")
    missing = missing_rows(ids if isinstance(ids, np.ma.MaskedArray) else array, texts=False)
    if missing.any():
        problem, remedy = "missing id", "every row must have an id"
        raise InputError("ids", problem, remedy, row=int(np.argmax(missing)), count=int(missing.sum()))
    if array.dtype.kind == "f" and (np.abs(array) >= EXACT).any():
        row = int(np.argmax(np.abs(array) >= EXACT))
        problem = f"{array[row].item()!r} is a float so large that neighbouring ids are indistinguishable"
        raise InputError("ids", problem, "store ids as text or as integers", row=row)
    if array.dtype.kind == "f" and (array == np.floor(array)).all():
        array = array.astype(np.int64)
    names = [id_text(str(value)) for value in array.tolist()]
    for row, name in enumerate(names):
        try:
            name.encode()
        except UnicodeEncodeError:
            problem = f"{name[:40]!a} is not valid Unicode text, with half of a surrogate pair"
            raise InputError("ids", problem, "check the encoding of the file", row=row) from None
    return names


def id_text(text: str) -> str:
    """Return the one spelling of an id: without blanks around it, whole numbers without a fraction of zeros, UUIDs in small letters."""
    text = text.strip()
    if number := WHOLE_ID.fullmatch(text):
        return number[1]
    return text.lower() if UUID.fullmatch(text) else text


def group_key(name: Any) -> str:
    """Key of a group: its name as text that preserves the type; None is all rows."""
    return json.dumps(None if name is None else plain_name(name))


def group_name(key: str) -> Any:
    """The name of a group from its key."""
    return json.loads(key)


def known_keys(keys: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The key of the stream of each group: that of a group known by another spelling, or its own.

    >>> known_keys(["7.0", '"7"', '"07"', '"TRUE"', '"b"'], ["null", "7", "true", '"b"'])
    {'7.0': '7', '"7"': '7', '"07"': '"07"', '"TRUE"': 'true', '"b"': '"b"'}
    """
    existing = [key for key in dict.fromkeys(known) if key != ALL_ROWS]
    streams = {key: key for key in keys}
    if set(existing) >= streams.keys():
        return streams
    find = finder([group_name(key) for key in existing])
    for key in streams.keys() - set(existing):
        index = find(group_name(key))
        streams[key] = key if index is None else existing[index]
    return streams


def some_names(names: Sequence[Any]) -> str:
    """The first names as text, with the number of further ones.

    >>> some_names(["a", "b"]), some_names(range(9))
    ('a, b', '0, 1, 2, 3, 4 and others')
    """
    return ", ".join(map(str, names[:5])) + (" and others" if len(names) > 5 else "")


# What becomes of a row or of a label of a delivery, with its text.
PARTS: dict[str, dict[str, str]] = {
    "rows": {
        "added": "added",
        "repeated": "duplicates",
        "pruned": "pruned before, ignored",
        "dropped_rows": "dropped",
    },
    "labels": {
        "labelled": "added",
        "revised": "corrected",
        "repeated": "duplicates",
        "unknown": "with unknown ids, kept for their predictions",
        "missing": "missing, ignored",
        "pruned": "of pruned rows, ignored",
    },
}


def balance(counts: Mapping[str, Any]) -> dict[str, int]:
    """The number of rows or labels delivered, and of those in each part."""
    unit = "rows" if counts.get("labels") is None else "labels"
    return {name: counts.get(name) or 0 for name in (unit, *PARTS[unit])}


def balance_text(counts: Mapping[str, int]) -> str:
    """A balance in words.

    >>> balance_text({"rows": 1200, "added": 1199, "repeated": 1, "pruned": 0, "dropped_rows": 0})
    '1,200 rows: 1,199 added, 1 duplicate'
    """
    (unit, delivered), *counts_by_part = counts.items()
    parts_text = ", ".join(f"{count:,} {PARTS[unit][name]}" for name, count in counts_by_part if count)
    return re.sub(r"\b1 (row|label|duplicate)s\b", r"1 \1", f"{delivered:,} {unit}: {parts_text}")


def reconcile(counts: Mapping[str, int]) -> None:
    """Raise unless the first number, that of the rows or labels delivered, is the sum of the others.

    >>> reconcile({"rows": 3, "added": 2, "repeated": 1})
    """
    (unit, delivered), *counts_by_part = counts.items()
    total = sum(count for _, count in counts_by_part)
    if total != delivered:
        parts_text = ", ".join(f"{count:,} {name}" for name, count in counts_by_part)
        problem = f"{delivered:,} were delivered, and {total:,} are accounted for ({parts_text})"
        raise InputError(unit, problem, "nothing was stored; this is an error of calibrant, please report it")


class _Change(NamedTuple):
    """Rows to add to the scores or outcomes, or to remove from the outcomes."""

    kind: int
    place: Whole
    stream: Texts
    score: NDArray[np.float64]
    outcome: NDArray[np.bool_]
    ood: NDArray[np.float64]


def take_in(db: Transaction, settings: Settings, rows: Arrivals, start: Start) -> Counter[str]:
    """Add a delivery to its windows; returns what became of its rows, by the fields of `Update`.

    Parameters
    ----------
    db
        The store inside a transaction.
    settings
        Those of the monitor.
    rows
        The rows of the delivery.
    start
        Makes the stream of a group that was never seen.
    """
    delivered = rows.n
    rows, repeated = _distinct(rows)
    is_pruned = db.is_pruned(rows.ids or [])
    if is_pruned.any():
        rows = _subset(rows, ~is_pruned)
    known = db.find_rows(rows.ids or [], [each.name for each in settings.ood])
    is_new = np.ones(rows.n, bool)
    is_new[known.row] = False
    if rows.ids is not None:
        row, early = db.take_early()
        label = rows.label.copy()
        label[row] = np.where(label[row] == UNKNOWN, early, label[row])  # one that comes with the prediction is newer
        rows = replace(rows, label=label)
    stream = np.full(rows.n, ALL_ROWS, object) if rows.group is None else np.array(rows.group, object)
    place = _places(db, settings, rows, is_new, known)
    _check_unchanged(rows, known, place, stream, settings)
    is_correct = rows.label == rows.target
    is_labelled = is_new & (rows.label != UNKNOWN)
    changes = [
        _Change(kind, place[selected], stream[selected], rows.score[selected], is_correct[selected], rows.ood[selected])
        for kind, selected in ((SCORES, is_new), (OUTCOMES, is_labelled))
    ]
    counts = Counter(rows=delivered, added=int(is_new.sum()), repeated=repeated + len(known.row))
    counts["pruned"] = int(is_pruned.sum())
    counts["labelled"] = int(is_labelled.sum())
    if rows.ids is not None:
        ids = np.array(rows.ids, object)
        columns = (ids, place, stream, rows.score, rows.target, rows.label)
        db.add_rows(zip(*(column[is_new].tolist() for column in columns), strict=True))
        for number, each in enumerate(settings.ood):
            names = [each.name] * int(is_new.sum())
            db.add_ood(zip(ids[is_new].tolist(), names, rows.ood[is_new, number].tolist(), strict=True))
        if rows.features is not None:
            db.add_features(zip(ids[is_new].tolist(), np.array(rows.features, object)[is_new].tolist(), strict=True))
        changes += _relabel(db, ids, rows.label, known, counts)
    existing = db.streams()
    new_groups = [name for name in dict.fromkeys(stream.tolist()) if name not in existing]
    for number, name in enumerate(new_groups, len(existing)):
        db.save_stream(start(name, number, False))
    counts["late_rows"] = _count_late(db, place[is_new], "late_rows")
    _apply(db, settings, changes)
    return counts


def put_labels(db: Transaction, settings: Settings, ids: list[str], label: Whole) -> Counter[str]:
    """Add labels to rows delivered before; the others are kept until their predictions arrive.

    Parameters
    ----------
    db, settings
        As for `take_in`.
    ids, label
        Ids as text, and the class number of each, -1 where it is not known.
    """
    names = np.array(ids, object)
    first = _first_of(ids)
    contradicting = np.flatnonzero(label != label[first])
    if len(contradicting):
        row = int(contradicting[0])
        raise InputError("ids", f"the id {ids[row]!r} is repeated with another label", "ids must be unique", row=row)
    is_first = first == np.arange(len(ids))
    repeated, is_given = int((~is_first).sum()), is_first & (label != UNKNOWN)
    missing = int((is_first & ~is_given).sum())
    names, label = names[is_given], label[is_given]
    known = db.find_rows(names.tolist())
    early = np.ones(len(names), bool)
    early[known.row] = False
    pruned = np.zeros(len(names), bool)
    pruned[early] = db.is_pruned(names[early].tolist())
    early &= ~pruned
    db.count_ignored(int(pruned.sum()))
    counts = Counter(labels=len(ids), repeated=repeated, missing=missing, unknown=int(early.sum()))
    counts["pruned"] = int(pruned.sum())
    if early.any():
        db.keep_early(zip(names[early].tolist(), label[early].tolist(), strict=True))
    # Labels change no scores; the columns are those that `_apply` expects.
    known = known._replace(ood=np.zeros((len(known.row), len(settings.ood))))
    changes = _relabel(db, names, label, known, counts)
    counts["repeated"] += len(known.row) - counts["labelled"] - counts["revised"]
    _apply(db, settings, changes)
    return counts


def _first_of(ids: list[str]) -> Whole:
    """Index of the first row with the same id."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(name, row) for row, name in enumerate(ids)], np.int64)


def _distinct(rows: Arrivals) -> tuple[Arrivals, int]:
    """Remove duplicate ids; rows with the same id must be identical."""
    if rows.ids is None:
        return rows, 0
    first = _first_of(rows.ids)
    is_first = first == np.arange(rows.n)
    if is_first.all():
        return rows, 0
    columns: list[NDArray[Any]] = [rows.target, rows.label]
    columns += [] if rows.time is None else [rows.time]
    columns += [np.array(texts, object) for texts in (rows.group, rows.features) if texts is not None]
    scores = [_differ(score, score[first]) for score in (rows.score, *rows.ood.T)]
    differing = np.flatnonzero(np.any([*scores, *(column != column[first] for column in columns)], axis=0))
    if len(differing):
        row = int(differing[0])
        problem = f"the id {rows.ids[row]!r} is repeated with other values"
        raise InputError("ids", problem, "ids must be unique", row=row)
    return _subset(rows, is_first), int((~is_first).sum())


def _differ(score: Floats, reference: Floats) -> NDArray[np.bool_]:
    """Which scores differ by more than one that was rounded to float32 and printed differs from itself."""
    single = np.finfo(np.float32)
    return np.asarray(~np.isclose(score, reference, rtol=float(single.eps), atol=float(single.tiny)))


def _subset(rows: Arrivals, at: NDArray[np.bool_]) -> Arrivals:
    time = None if rows.time is None else rows.time[at]
    group, features = (
        None if texts is None else np.array(texts, object)[at].tolist() for texts in (rows.group, rows.features)
    )
    ids = np.array(rows.ids, object)[at].tolist()
    columns = (rows.score[at], rows.target[at], rows.label[at], time, ids, group, rows.ood[at], features)
    return Arrivals(*columns)


def _places(db: Transaction, settings: Settings, rows: Arrivals, is_new: NDArray[np.bool_], known: KnownRows) -> Whole:
    """Window of each row; windows of a number of rows are filled in the order of arrival."""
    if settings.rule.by_time:
        assert rows.time is not None
        return settings.rule.place_of(rows.time)
    place = np.zeros(rows.n, np.int64)
    rows_before, added = int(db.meta("rows_seen") or 0), int(is_new.sum())
    place[is_new] = settings.rule.place_of(rows_before + np.arange(added))
    place[known.row] = known.place
    db.set_meta("rows_seen", rows_before + added)
    return place


def _check_unchanged(rows: Arrivals, known: KnownRows, place: Whole, stream: Texts, settings: Settings) -> None:
    """Raise if a known row has another prediction; only its label may change."""
    at = known.row
    score_differs = _differ(rows.score[at], known.score) | (known.target != rows.target[at])
    window_differs, group_differs = known.place != place[at], known.stream != stream[at]
    ood_differs = _differ(rows.ood[at], known.ood)
    changed = np.flatnonzero(score_differs | window_differs | group_differs | ood_differs.any(axis=1))
    if not len(changed) or rows.ids is None:
        return
    first = int(changed[0])
    row = int(at[first])
    if score_differs[first]:
        change = f"score {float(rows.score[row])!r}, previously {float(known.score[first])!r}"
    elif window_differs[first]:
        name = settings.rule.name
        change = f"window {name(int(place[row]))}, previously {name(int(known.place[first]))}"
    elif ood_differs[first].any():
        column = int(np.argmax(ood_differs[first]))
        change = f"{settings.ood[column].name} {rows.ood[row, column]:.6g}, previously {known.ood[first, column]:.6g}"
    else:
        change = f"group {group_name(stream[row])!r}, previously {group_name(known.stream[first])!r}"
    problem = f"the id {rows.ids[row]!r} is already stored with other values ({change})"
    raise InputError("ids", problem, "give a new prediction a new id", row=row)


def _relabel(db: Transaction, ids: Texts, label: Whole, known: KnownRows, counts: Counter[str]) -> list[_Change]:
    """Changes from labels of known rows; repeated labels change nothing."""
    new = label[known.row]
    is_changed = (new != UNKNOWN) & (new != known.label)
    rows, new = known.take(is_changed), new[is_changed]
    was_labelled = rows.label != UNKNOWN
    old = rows.take(was_labelled)
    counts["labelled"] += int((~was_labelled).sum())
    counts["revised"] += int(was_labelled.sum())
    db.relabel(zip(new.tolist(), ids[rows.row].tolist(), strict=True))
    _count(db, old.place, "revised")
    counts["late_labels"] += _count_late(db, rows.place, "late_labels")
    return [
        _Change(REMOVED, old.place, old.stream, old.score, old.label == old.target, old.ood),
        _Change(OUTCOMES, rows.place, rows.stream, rows.score, new == rows.target, rows.ood),
    ]


def _count(db: Transaction, place: Whole, field: str) -> None:
    for number, count in zip(*(array.tolist() for array in np.unique(place, return_counts=True)), strict=True):
        window = db.window(number)
        db.save_window(window._replace(**{field: getattr(window, field) + count}))


def _count_late(db: Transaction, place: Whole, field: str) -> int:
    """Count rows of closed windows, or labels of tested windows, in their window; returns the total."""
    windows = {number: db.window(number) for number in np.unique(place).tolist()}
    late = [
        number for number, window in windows.items() if (window.closed if field == "late_rows" else window.tested == 1)
    ]
    late_places = place[np.isin(place, late)]
    _count(db, late_places, field)
    return len(late_places)


def _apply(db: Transaction, settings: Settings, changes: list[_Change]) -> None:
    """Apply changes by window and stream."""
    kind = np.concatenate([np.full(len(c.place), c.kind) for c in changes])
    place, stream, score, outcome, ood = (np.concatenate([c[i] for c in changes]) for i in range(1, 6))
    if not len(place):
        return
    order = np.argsort(place, kind="stable")
    windows, starts = np.unique(place[order], return_index=True)
    for number, rows in zip(windows.tolist(), np.split(order, starts[1:]), strict=True):
        for name in [ALL_ROWS, *sorted(set(stream[rows].tolist()) - {ALL_ROWS})]:
            own = rows if name == ALL_ROWS else rows[stream[rows] == name]
            new, labelled, removed = (own[kind[own] == change] for change in (SCORES, OUTCOMES, REMOVED))
            part = db.part(number, name, settings.lens)
            scores = part.scores.merge(sketch_of(score[new], None, settings.lens))
            outcomes = part.outcomes.merge(sketch_of(score[labelled], outcome[labelled], settings.lens))
            if len(removed):
                outcomes = minus(outcomes, sketch_of(score[removed], outcome[removed], settings.lens))
            ood_sketches = {}
            for index, scale in enumerate(settings.ood if len(new) else ()):
                before = part.ood.get(scale.name, Sketch.empty(LENS))
                ood_sketches[scale.name] = before.merge(sketch_of(scale.placed(ood[new, index]), None, LENS))
            drift = None if len(new) else part.drift
            db.save_part(Part(number, name, scores.n, outcomes.n, scores, outcomes, drift, None, ood_sketches))


def sketch_of(score: Floats, outcome: NDArray[Any] | None, lens: str) -> Sketch:
    """The sketch of rows; missing outcomes are set to 0 and not used.

    >>> sketch_of(np.array([0.2, 0.9]), np.array([0, 1]), "binary").positives
    1
    """
    if not len(score):
        return Sketch.empty(lens)
    outcomes = np.zeros(len(score), np.uint8) if outcome is None else outcome.astype(np.uint8)
    return Sketch.of_sums(cell_sums(np.ascontiguousarray(score), outcomes), lens)


def minus(sketch: Sketch, other: Sketch) -> Sketch:
    """The sketch without the rows of another, which it must contain.

    >>> both = sketch_of(np.array([0.2, 0.9]), np.array([0, 1]), "binary")
    >>> minus(both, sketch_of(np.array([0.9]), np.array([1]), "binary")).n
    1
    """
    if not np.isin(other._cells, sketch._cells).all():
        raise InputError("other", "contains rows that are not in the sketch")
    cells = np.searchsorted(sketch._cells, other._cells)
    sums = [each_sum.copy() for each_sum in sketch._kept]
    for each_sum, less in zip(sums, other._kept, strict=True):
        each_sum[cells] -= less
    rows, positives = sums[:2]
    if (rows < 0).any() or (positives < 0).any() or (positives > rows).any():
        raise InputError("other", "contains rows that are not in the sketch")
    remaining = rows > 0
    return Sketch(
        sketch._cells[remaining], CellSums.with_carry(*(each_sum[remaining] for each_sum in sums)), sketch.lens
    )
