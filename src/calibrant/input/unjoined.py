"""Rows whose labels were not joined: every instance has a row with label 0, and an event has a further row with label 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InputTypeError, ShapeError
from .convert import as_entries, codes_of
from .predictions import Predictions


def join_events(
    y_true: Any, y_prob: Any = None, *, keys: Any = None, sample_weight: Any = None, pos_label: Any = None
) -> Predictions:
    """Join the two rows of each event in logs whose labels were not joined to the predictions.

    Such a log has one row with label 0 for every prediction, written when it was made, and a further row with label 1 for each event, written
    when it occurred. The rate of label 1 is then too small: events divided by predictions plus events. The row with label 0 of each event is
    removed, so that every metric, curve and test of the result refers to predictions.

    Parameters
    ----------
    y_true : array-like of shape (N,) or Predictions
        Labels, 0 and 1 or two class names; `pos_label` names the event. Or `Predictions`, and `y_prob` is then left out.
    y_prob : array-like of shape (N,), optional
        Predicted probabilities of the event.
    keys : array-like of shape (N,), optional
        Identifier of the prediction that a row belongs to. By default rows with the same probability, weight, group and features
        belong together, which is sufficient for metrics: which of several equal rows is removed does not matter.
    sample_weight : array-like of shape (N,), optional
        Importance weight of each row.
    pos_label : object, optional
        Label of the event.

    Returns
    -------
    Predictions
        One row per prediction, in the original order.

    Raises
    ------
    InputError
        If an event has no row with label 0, or `keys` have missing values.
    InputTypeError
        If there are more than two classes, soft labels or `counts`.
    ShapeError
        If `keys` does not have one entry per row.

    See Also
    --------
    Predictions : Checked labels and probabilities.

    Notes
    -----
    MCGrad calls these data unjoined. Its ``adjust_unjoined=True`` compares the mean prediction of every bin with the overall rate; here each
    bin has its own.

    Examples
    --------
    >>> import calibrant as cal
    >>> y_true, y_prob = [0, 0, 0, 1, 0, 1], [0.2, 0.6, 0.6, 0.6, 0.9, 0.9]
    >>> joined = cal.input.join_events(y_true, y_prob)
    >>> joined.labels.tolist(), joined.probs.tolist()
    ([0, 0, 1, 1], [0.2, 0.6, 0.6, 0.9])
    >>> round(cal.expected_observed_ratio(joined), 4)
    1.15
    """
    alone = y_prob is None and sample_weight is None and pos_label is None
    if isinstance(y_true, Predictions) and alone:
        rows = y_true
    else:
        rows = Predictions(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    if rows.kind != "binary" or rows.labels is None:
        raise InputTypeError("y_true", f"unjoined rows have one event with hard labels; got {rows.kind} predictions")
    if rows.weight_kind == "counts":
        raise InputTypeError("counts", "are not supported for unjoined rows", "repeat the rows")
    number = _numbers(rows, keys)
    is_event = rows.labels == 1
    size = int(number.max(initial=-1)) + 1
    missing = np.bincount(number[is_event], minlength=size) - np.bincount(number[~is_event], minlength=size)
    if (missing > 0).any():
        first = int(np.flatnonzero(is_event & (missing[number] > 0))[0])
        if rows.kept is not None:  # the row as it was given
            first = int(np.flatnonzero(rows.kept)[first])
        key_text = "the same key" if keys is not None else "the same probability, weight, group and features"
        raise InputError(
            "y_true",
            f"{int(missing[missing > 0].sum()):,} of {int(is_event.sum()):,} events have no row with label 0 and {key_text}, such as that of row {first}",
            "pass keys, or drop join_events if the labels are joined" if keys is None else "check the keys",
        )
    # The last rows with label 0 of each number are removed, as many as it has events.
    order = np.argsort(number[~is_event], kind="stable")
    sorted_number = number[~is_event][order]
    ends = np.searchsorted(sorted_number, sorted_number, side="right")
    from_end = ends - np.arange(len(order))
    events = np.bincount(number[is_event], minlength=size)
    removed = np.flatnonzero(~is_event)[order[from_end <= events[sorted_number]]]
    return rows.take(np.delete(np.arange(rows.n), removed))


def _numbers(rows: Predictions, keys: Any) -> NDArray[np.intp]:
    """Return a number for each row, which the rows of one prediction share."""
    if keys is not None:
        values = as_entries(keys)
        if rows.kept is not None and values.shape == rows.kept.shape:
            values = values[rows.kept]  # without rows of weight 0
        if values.shape != (rows.n,):
            raise ShapeError("keys", f"must have one entry for each of {rows.n} rows; got shape {values.shape}")
        return codes_of(values, "keys")
    score = rows.probs if rows.probs.ndim == 1 else rows.probs[:, 1]
    arrays = [score.astype(np.float64), rows.weight, rows.groups, rows.features]
    columns = np.column_stack([np.asarray(array, np.float64) for array in arrays if array is not None])
    return np.unique(columns, axis=0, return_inverse=True)[1].ravel()
