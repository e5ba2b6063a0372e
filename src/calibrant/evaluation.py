"""evaluate: many metrics of one set of predictions, with what to know before reading them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from . import metrics as _metrics  # noqa: F401 - fills the catalogue
from ._blocks import map_blocks, rows_per_block
from ._convert import is_frame, is_number
from ._gather import as_predictions, views_of
from ._metric import Metric
from ._results import frame_of, html_table, number
from ._signature import PREDICTION_WORDS, unknown_word
from .errors import ArgumentError, CalibrantError, GroupError, InputError, LensError
from .lenses import Lens
from .predictions import Predictions
from .registry import catalogue
from .selections import parse_selection
from .view import VectorView, View

__all__ = ["Evaluation", "Header", "Result", "Skipped", "evaluate"]


@dataclass(frozen=True)
class Header:
    """What to know before reading a number: how many rows, which classes, how often right, how sure."""

    n: int
    weight: float
    kind: str
    classes: int
    prevalence: tuple[float, ...]
    """Share of each class (of each label, for multilabel; of right answers, where only confidences are known)."""
    accuracy: float | None
    top_k_accuracy: dict[int, float]
    mean_confidence: float | None

    @property
    def direction(self) -> str:
        """Whether the model is surer than it is right, in words."""
        if self.accuracy is None or self.mean_confidence is None:
            return ""
        gap = self.mean_confidence - self.accuracy
        if abs(gap) < 5e-4:
            return "as sure as it is right"
        return (
            f"{'over' if gap > 0 else 'under'}confident: says {self.mean_confidence:.1%}, is right {self.accuracy:.1%}"
        )

    def lines(self) -> list[str]:
        """The header as text."""
        rows = f"{self.n:,} rows" + ("" if self.weight == self.n else f" (weight {self.weight:,.6g})")
        first = f"{rows}, {self.classes} classes" if self.kind in ("binary", "multiclass") else f"{rows}, {self.kind}"
        if self.kind == "binary":
            first += f", prevalence {self.prevalence[1]:.4g}"
        parts = [f"accuracy {self.accuracy:.4f}"] if self.accuracy is not None else []
        parts += [f"top-{k} accuracy {value:.4f}" for k, value in self.top_k_accuracy.items()]
        parts += [f"mean confidence {self.mean_confidence:.4f}"] if self.mean_confidence is not None else []
        return [line for line in (first, ", ".join(parts), self.direction) if line]


@dataclass(frozen=True)
class Result:
    """One metric of an evaluation; where it has no value, `reason` says why."""

    metric: str
    name: str
    value: float | None
    lens: str
    ideal: float | None
    direction: str
    reason: str = ""


@dataclass(frozen=True)
class Skipped:
    """A metric that the budget left out, and what it would have cost."""

    metric: str
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """Metrics of one set of predictions, and of each group of rows where `by` was given."""

    header: Header
    results: tuple[Result, ...]
    groups: dict[Any, Evaluation]
    left_out: tuple[Skipped, ...] = ()

    def __getitem__(self, metric: str) -> float:
        """The value of a metric by id or alias; raises its reason where it has none."""
        wanted = catalogue[metric].id
        for result in self.results:
            if result.metric == wanted:
                if result.value is None:
                    raise CalibrantError(wanted, result.reason)
                return result.value
        raise ArgumentError("metric", f"{wanted!r} was not evaluated", f"evaluate(..., metrics=[{wanted!r}])")

    def to_dict(self) -> dict[str, Any]:
        """Plain values under stable keys; an infinite value is the text ``"inf"``, so that the result is valid JSON."""
        header = {**asdict(self.header), "direction": self.header.direction}
        header["top_k_accuracy"] = {str(k): value for k, value in self.header.top_k_accuracy.items()}
        header["prevalence"] = list(self.header.prevalence)
        return {
            "header": header,
            "metrics": [
                {**asdict(result), "value": _json_number(result.value), "ideal": _json_number(result.ideal)}
                for result in self.results
            ],
            "groups": {str(name): part.to_dict() for name, part in self.groups.items()},
            "left_out": [asdict(skipped) for skipped in self.left_out],
        }

    def to_frame(self) -> Any:
        """One row for each metric and group, as a frame of the library at hand; the group of all rows is ``"all"``."""
        columns: dict[str, list[Any]] = {key: [] for key in ("group", "n", *Result.__dataclass_fields__)}
        for name, part in [("all", self), *self.groups.items()]:
            for result in part.results:
                for key, value in {"group": str(name), "n": part.header.n, **asdict(result)}.items():
                    columns[key].append(value)
        return frame_of(columns)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of text; with groups, a column for each."""
        parts: list[tuple[str, Evaluation]] = [("all" if self.groups else "value", self)]
        parts += [(str(name), part) for name, part in self.groups.items()]
        rows = []
        for position, result in enumerate(self.results):
            cells = [number(part.results[position].value) for _, part in parts]
            words = result.reason or result.direction
            rows.append([result.metric, result.name, *cells, result.lens, words])
        return ["metric", "name", *(name for name, _ in parts), "lens", ""], rows

    def notes(self) -> list[str]:
        """What was left out, in words."""
        if not self.left_out:
            return []
        listed = ", ".join(f"{skipped.metric} (about {skipped.seconds:.3g} s)" for skipped in self.left_out)
        return [f"left out by the budget: {listed}"]

    def __repr__(self) -> str:
        headings, rows = self.table()
        widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
        numeric = range(2, len(headings) - 2)
        lines = [
            "  ".join(
                c.rjust(w) if i in numeric else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in [headings, *rows]
        ]
        return "\n".join([*self.header.lines(), "", *(line.rstrip() for line in lines), *self.notes()])

    def _repr_html_(self) -> str:
        from html import escape

        lines = "<br>".join(escape(line) for line in [*self.header.lines(), *self.notes()])
        return f"<p>{lines}</p>" + html_table(*self.table())


def _json_number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def evaluate(
    y_true: Any,
    y_prob: Any = None,
    *,
    metrics: str | Metric | Iterable[str | Metric] = "recommended",
    by: Any = None,
    lens: str | Lens | None = None,
    bins: Any = None,
    binning: Any = None,
    where: Any = None,
    budget: float = 60.0,
    **words: Any,
) -> Evaluation:
    """Measure predictions with many metrics at once.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities; see `Predictions`, whose keywords are taken too.
    metrics
        ``"recommended"``, ``"all"``, or ids and aliases.
    by
        A group for each row, or the name of a column of the frame: every metric is given for each group as well.
    lens, bins, binning
        Used by every metric that has the option, in place of its own default.
    where
        Which rows: a boolean mask or a Selection.
    budget
        Seconds; metrics whose estimated time no longer fits are left out by name.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.evaluate([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], metrics=["ece", "brier"], bins=2)
    >>> round(result["brier"], 4)
    0.105
    """
    for word, value in words.items():
        if word not in PREDICTION_WORDS:
            known = ["metrics", "by", "lens", "bins", "binning", "where", "budget", *PREDICTION_WORDS]
            raise unknown_word("evaluate", word, value, known)
    if by is not None:
        if "groups" in words:
            raise GroupError("by", "and groups= were both given", "pass the groups once, as by=")
        if isinstance(y_true, (Predictions, View, VectorView)):
            raise GroupError(
                "by", "cannot be added to checked predictions", "pass groups= to Predictions and by=None here"
            )
        if isinstance(by, str) and not is_frame(y_true):
            raise GroupError(
                "by", f"{by!r} names a column, and the first argument is no frame", "pass one group per row"
            )
        words["groups"] = by
    if not (is_number(budget) and budget > 0):
        raise ArgumentError("budget", f"must be a number of seconds above 0; got {budget!r}")
    chosen = choose_metrics(metrics)
    given = {"lens": lens, "bins": bins, "binning": binning}
    try:
        checked = as_predictions(y_true, y_prob, words)
    except InputError as error:
        if by is None or error.argument != "groups":
            raise
        raise type(error)("by", error.problem, error.remedy, row=error.row) from None
    predictions = parse_selection(where, checked)
    if lens is not None:
        views_of(
            predictions, lens
        )  # a lens that does not fit the data is a mistake; one that a metric cannot read, a reason
    plan, left_out = _within(budget, chosen, predictions)
    groups = {}
    if by is not None and predictions.groups is not None:
        for code, name in enumerate(predictions.group_names):
            rows = predictions.groups == code
            if rows.any():
                groups[name] = _evaluate(predictions.take(rows), plan, given, {}, ())
    return _evaluate(predictions, plan, given, groups, left_out)


def choose_metrics(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """Metrics by name: the recommended, all, or those listed."""
    if isinstance(metrics, Metric):
        return [metrics]
    if isinstance(metrics, str):
        if metrics == "recommended":
            return [m for m in catalogue.values() if m.recommended]
        if metrics == "all":
            return list(catalogue.values())
        return [catalogue[metrics]]
    if not isinstance(metrics, Iterable):
        raise ArgumentError(
            "metrics", f"must be 'recommended', 'all', or names; got {metrics!r}", "for example ['ece']"
        )
    chosen = [m if isinstance(m, Metric) else catalogue[m] for m in metrics]
    if not chosen:
        raise ArgumentError("metrics", "is an empty list", "name at least one, for example ['ece']")
    return chosen


def _within(budget: float, chosen: list[Metric], p: Predictions) -> tuple[list[Metric], tuple[Skipped, ...]]:
    plan, left_out, spent = [], [], 0.0
    for m in chosen:
        seconds = m.seconds(p.n, p.k)
        if spent + seconds > budget:
            left_out.append(Skipped(m.id, seconds))
        else:
            plan.append(m)
            spent += seconds
    return plan, tuple(left_out)


def _evaluate(
    p: Predictions,
    plan: list[Metric],
    given: Mapping[str, Any],
    groups: dict[Any, Evaluation],
    left_out: tuple[Skipped, ...],
) -> Evaluation:
    results = []
    for m in plan:
        options = {
            word: value for word, value in given.items() if value is not None and (word == "lens" or word in m.options)
        }
        try:
            value, lens = m.of(p, **options)
        except ArgumentError as error:
            # An option that no metric could take is the caller's mistake; a lens that this one cannot read is its reason.
            if not isinstance(error, LensError):
                raise
            results.append(Result(m.id, m.name, None, "", m.ideal, "", str(error)))
        except CalibrantError as error:
            results.append(Result(m.id, m.name, None, "", m.ideal, "", str(error)))
        else:
            results.append(Result(m.id, m.name, value, lens, m.ideal, m.direction(value, lens)))
    return Evaluation(_header(p), tuple(results), groups, left_out)


def _header(p: Predictions) -> Header:
    accuracy = confidence = None
    if p.kind != "multilabel":
        view = views_of(p, "top_label")[0]
        assert isinstance(view, View)
        confidence = view.mean(view.score)
        accuracy = None if view.is_soft else view.mean(view.raw_outcome)
    if p.kind == "confidence":
        shares: tuple[float, ...] = ()
    elif p.kind == "multilabel":
        shares = tuple(v.mean(v.raw_outcome) for v in views_of(p, "classwise") if isinstance(v, View))
    else:
        shares = _class_shares(p)
    weight = float(p.n if p.weight is None else p.weight.sum())
    return Header(p.n, weight, p.kind, p.k, shares, accuracy, _top_k_accuracy(p), confidence)


def _class_shares(p: Predictions) -> tuple[float, ...]:
    weight = None if p.weight is None else p.weight.astype(np.float64)
    if p.labels is not None:
        share = np.bincount(p.labels, weight, p.k)
        return tuple((share / share.sum()).tolist())
    assert p.soft is not None
    soft = p.soft if p.soft.ndim == 2 else np.column_stack([1 - p.soft, p.soft])
    return tuple(np.average(soft, axis=0, weights=weight).tolist())


def _top_k_accuracy(p: Predictions) -> dict[int, float]:
    """How often the true class is among the k largest; ties in favour of the lower class, as for the first."""
    wanted = [k for k in (3, 5) if k < p.k] or ([2] if p.k == 3 else [])
    if p.kind != "multiclass" or p.labels is None or not wanted:
        return {}
    labels = p.labels

    def work(start: int, stop: int) -> Any:
        probs, label = p.probs[start:stop], labels[start:stop, None]
        own = np.take_along_axis(probs, label, 1)
        ahead = (probs > own) | ((probs == own) & (np.arange(p.k) < label))
        return ahead.sum(axis=1)

    ahead = np.concatenate(map_blocks(work, p.n, rows_per_block(p.k), columns=p.k))
    return {k: float(np.average(ahead < k, weights=p.weight)) for k in wanted}
