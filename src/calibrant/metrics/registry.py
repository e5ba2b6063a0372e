"""@metric, preset and the catalogue: one declaration gives the call, the checks, the documentation and the entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import as_default, several_bins
from ..errors import (
    PASS_ROWS,
    AmbiguousMetricError,
    ArgumentError,
    InputTypeError,
    LensError,
    UndefinedMetricError,
    UnknownMetricError,
    Use,
    WeightsNotSupportedError,
)
from ..input.predictions import Predictions
from ..sketches.collection import Sketches, row_metric
from ..util.blocks import map_blocks
from ..util.namespace import fill
from ..views.keywords import PREDICTION_KEYWORDS, VIEW_KEYWORDS, unknown_keyword
from ..views.lenses import Lens
from ..views.resolve import are_kept, combine_values, resolve, views_of
from ..views.view import Summary, VectorView, View
from .hints import hint_at_edges, warn_of_sure_scores
from .references import references
from .signature import build_doc, build_signature, check_class_weight, check_option, formula_options

__all__ = [
    "COSTS",
    "OWN_TESTS",
    "SIDES",
    "Above",
    "Catalogue",
    "Combine",
    "Facts",
    "IdealFor",
    "Metric",
    "SignOf",
    "Takes",
    "catalogue",
    "metric",
    "norm_root",
    "preset",
]

Takes = Literal["View", "VectorView", "Block"]
Combine = Literal["mean", "sum", "max", "prevalence"]
IdealFor = Literal["calibrated", "sure", "nothing"]
SignOf = Literal["level", "confidence", "midpoint", "spread", "nothing"]
Above = Literal["over", "under"]

# What the two sides of the ideal say of the forecasts, "over" first; a value whose sign says nothing of the kind has none.
SIDES: dict[str, tuple[str, str] | None] = {
    "level": (
        "predicted probabilities are too high on average (of the top label: overconfident)",
        "predicted probabilities are too low on average (of the top label: underconfident)",
    ),
    "confidence": ("forecasts are overconfident", "forecasts are underconfident"),
    "midpoint": ("forecasts of 0.5 are too high", "forecasts of 0.5 are too low"),
    "spread": ("forecasts are too extreme", "forecasts are too moderate"),
    "nothing": None,
}

# Nanoseconds per unit of work, rough on purpose: it only decides what a budget leaves out.
COSTS: dict[str, Callable[[float, float], float]] = {
    "N": lambda n, k: n * 10,
    "N K": lambda n, k: n * k * 10,
    "N log N": lambda n, k: n * math.log2(n + 2) * 10,
    "N K log N": lambda n, k: n * k * math.log2(n + 2) * 10,
    # Fits and searches go over the rows again and again.
    "N log N per step": lambda n, k: n * math.log2(n + 2) * 500,
    "N K log N per step": lambda n, k: n * k * math.log2(n + 2) * 150,
    "N^2": lambda n, k: n * n * 2,
    "N^2 K": lambda n, k: n * n * k * 3,
    # Two classes are one score, which a sort puts in order.
    "N^2 K or a sort": lambda n, k: n * math.log2(n + 2) * 100 if k == 2 else n * n * k * 2,
    "N^2 K in parts": lambda n, k: n * k * 100 + (0 if k == 2 else min(n * n * (k + 15) / 2, 3e9)),
    "N K by landmarks": lambda n, k: n * k * 10_000,
    "a linear program": lambda n, k: min(n / 2000, 1) * 5e8,
}


Array = NDArray[Any]
AnyView = View | VectorView

# Values of several classes whose sum is smaller than this share of the largest are the opposite of each other.
CANCELLED = 1e-9


OWN_TESTS: dict[str, dict[str, Any]] = {}
"""The tests of metrics by id and method; `calibrant.inference` enters them, which `fill` imports when they are asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """What a declaration says of a metric, and a preset takes over."""

    family: str
    subfamily: str
    range: tuple[float, float]
    ideal: float | None
    ideal_for: IdealFor | None = None
    """Which forecasts reach the ideal: calibrated ones; sure and right ones, where calibrated ones need not; or none that can be named."""
    signed: bool = False
    sign_of: SignOf = "level"
    """What the side of the ideal says: the level of the scores, confidence, the level at 0.5, their spread, or nothing."""
    above: Above = "over"
    """Which deviation a value above the ideal shows under the default options."""
    proper: Literal["strictly", "no"] = "no"
    alternative: Literal["greater", "less", "two-sided"] = "greater"
    needs: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """What may be given in place of what it needs."""
    lens: str = "auto"
    combine: Combine = "mean"
    counts: bool = True
    importance: bool = True
    soft: bool = True
    sketch: bool = True
    cost: str = "N"
    deterministic: bool = True
    order_dependent: bool = False
    repeatable: bool = True
    """Whether a count of 3 is the same as three equal rows; not so where neighbours are counted in rows."""
    ordinal: bool = False
    """Whether the classes have an order that the metric reads."""
    use_cases: tuple[str, ...] = ()
    pros: str = ""
    cons: str = ""
    certainty: str = "certain"
    notes: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Metric(Facts):
    """A calibration metric: call it with ``(y_true, y_prob)``; its attributes are its entry in the catalogue."""

    formula: Callable[..., Any]
    id: str
    name: str
    _: KW_ONLY
    takes: Takes
    cite: str
    aliases: tuple[str, ...] = ()
    recommended: bool = False
    reversed_by: Mapping[str, Any] = field(default_factory=dict)
    """Values of options under which the two sides of the ideal change places."""
    reads_log_odds: bool | Callable[[AnyView, Mapping[str, Any]], bool] = False
    """Whether it takes logarithms of scores, cut at 1e-12: always, or for some views and options."""
    explain: Mapping[str, str] = field(default_factory=dict)
    finish: Callable[[float, Mapping[str, Any]], float] | None = None
    row_form: Callable[..., Any] | None = None
    """Of a formula over a View that is a mean over rows: one number for each, or None where an option makes it none."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Defaults of options where they are not those of the formula."""
    base: str | None = None
    options: dict[str, Any] = field(init=False)
    is_row_mean: bool = field(init=False)
    """Whether it is, with its own options, a mean of one number for each row."""

    def __post_init__(self) -> None:
        options = {**formula_options(self.formula), **self.defaults}
        options |= {word: as_default(options[word]) for word in ("bins", "binning") if word in options}
        taken = set(options) & set(PREDICTION_KEYWORDS)
        if taken:
            raise ArgumentError(self.id, f"{taken.pop()!r} is an option of every metric", "choose another name")
        self.__dict__.update(
            options=options,
            is_row_mean=self.finish is None and (self.takes == "Block" or self.row_form is not None),
            ideal_for=self.ideal_for or ("sure" if self.proper == "strictly" else "calibrated"),
            __name__=self.id,
            __qualname__=self.id,
            __module__="calibrant",
        )

    def __call__(self, y_true: Any, y_prob: Any = None, **keywords: Any) -> float:
        return self._found(y_true, y_prob, keywords)[0]

    def of(self, predictions: Predictions | Sketches, **keywords: Any) -> tuple[float, str]:
        """The value for checked predictions, and the name of the lens it was seen through."""
        return self._found(predictions, None, keywords)

    def _found(self, y_true: Any, y_prob: Any, keywords: Mapping[str, Any]) -> tuple[float, str]:
        options, lens, where, combine, class_weight, words = self._split(keywords)
        if isinstance(y_true, Sketches) and self.takes == "Block":
            resolve(y_true, y_prob, words, where)
            value = self._of_row_sums(y_true, options, lens)
            return combine_values([value], [], self.combine if combine is None else combine, class_weight), "canonical"
        views = self._views(y_true, y_prob, lens, where, words, options)
        name = views[0].lens if len(views) == 1 else "classwise"
        value = self._value(views, options, combine, class_weight)
        if views[0].rows is not None and not isinstance(y_true, (Predictions, View, VectorView)):
            views[0].rows.part()
        return value, name

    def of_views(self, views: list[AnyView], /, **keywords: Any) -> float:
        """The value for views at hand, such as resampled ones."""
        options, _, _, combine, class_weight, _ = self._split(keywords)
        return self._value(views, options, combine, class_weight)

    def views(self, y_true: Any, y_prob: Any = None, **keywords: Any) -> list[AnyView]:
        """The views that this metric reads of the predictions."""
        options, lens, where, _, _, words = self._split(keywords)
        return self._views(y_true, y_prob, lens, where, words, options)

    def rows(self, y_true: Any, y_prob: Any = None, **keywords: Any) -> NDArray[np.float64]:
        """What each row contributes; the (weighted) mean of it is the metric."""
        if isinstance(y_true, Summary):
            raise InputTypeError("y_true", "contributions of rows cannot be computed from a sketch", PASS_ROWS)
        if not self.is_row_mean:
            raise self._no_row_mean()
        # A weight says how much a contribution counts, not what it is; without it every row given is answered.
        keywords = {word: value for word, value in keywords.items() if word not in ("sample_weight", "counts")}
        options, lens, where, _, _, words = self._split(keywords)
        views = self._views(y_true, y_prob, lens, where, words, options)
        if len(views) > 1:
            raise LensError("lens", "a row has several contributions under this lens", "use 'class:NAME'")
        found = self.rows_of(views[0], options)
        if found is None:
            raise self._no_row_mean()
        return found

    def rows_of(self, view: AnyView, options: Mapping[str, Any]) -> NDArray[np.float64] | None:
        """What each row of a view contributes; None where it is no mean over rows with these options."""
        if self.takes == "Block" and self.finish is None:
            return _as_vector(view).each_row(lambda block: self.formula(block, **options))
        found = None if self.row_form is None else self.row_form(view, **options)
        return None if found is None else np.asarray(found, np.float64)

    def _no_row_mean(self) -> UndefinedMetricError:
        return UndefinedMetricError(
            self.id,
            f"is not a mean over rows{' with these options' if self.is_row_mean else ''}, so rows have no contributions",
            "see calibration_curve for the deviations by score",
        )

    def _split(self, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], Any, Any, Any, Any, dict[str, Any]]:
        options = dict(self.options)
        words: dict[str, Any] = {}
        view_words: dict[str, Any] = dict.fromkeys(VIEW_KEYWORDS)
        for word, value in keywords.items():
            if word in options:
                options[word] = check_option(self.formula, word, value)
            elif word in VIEW_KEYWORDS:
                view_words[word] = check_class_weight(value) if word == "class_weight" else value
            elif word in PREDICTION_KEYWORDS:
                words[word] = value
            else:
                raise unknown_keyword(self.id, word, value, [*options, *VIEW_KEYWORDS, *PREDICTION_KEYWORDS])
        lens = self.lens if view_words["lens"] is None else view_words["lens"]
        return options, lens, view_words["where"], view_words["combine"], view_words["class_weight"], words

    def _views(
        self, y_true: Any, y_prob: Any, lens: str | Lens, where: Any, words: dict[str, Any], options: Mapping[str, Any]
    ) -> list[AnyView]:
        source = resolve(y_true, y_prob, words, where)
        if isinstance(source, Summary):
            if not self.sketch or self.takes != "View":
                raise InputTypeError("y_true", f"{self.id} cannot be computed from a sketch", PASS_ROWS)
        elif lens == "canonical" == self.lens and getattr(source, "kind", "") in ("multilabel", "confidence"):
            lens = "auto"  # a metric of whole distributions reads what there is, unless the lens was asked for
        views = views_of(source, lens, self.lens)
        for view in views:
            self._check_view(view, options)
        return views

    def _of_row_sums(self, sketches: Sketches, options: dict[str, Any], lens: str | Lens) -> float:
        if lens not in (self.lens, "canonical", "auto"):
            raise LensError("lens", f"sketches keep {self.id} of whole rows only; got {lens!r}", PASS_ROWS)
        if options != self.options:
            raise InputTypeError("y_true", f"sketches keep {self.id} with default options only", PASS_ROWS)
        return row_metric(sketches, self.id)

    def _check_view(self, view: AnyView, options: Mapping[str, Any]) -> None:
        if self.takes == "View" and isinstance(view, VectorView):
            raise LensError(
                "lens",
                f"{self.id} requires one score per row, and {view.lens!r} has several",
                "use 'top_label' or 'classwise', or the metric gece",
            )
        if view.is_soft and not self.soft:
            raise UndefinedMetricError(
                self.id,
                "is not defined for soft labels",
                "use a metric that is linear in the label, such as ece or nll",
            )
        if view.weight is not None and not (view.weight == 1).all():
            if view.weight_kind == "counts" and not self.counts:
                raise WeightsNotSupportedError(
                    "counts", f"{self.id} does not support counts", "repeat the rows instead"
                )
            if view.weight_kind == "importance" and not self.importance:
                raise WeightsNotSupportedError(
                    "sample_weight",
                    f"{self.id} does not support real weights",
                    Use("counts", None, "for integer counts"),
                )
        reads = self.reads_log_odds
        if reads and (reads is True or reads(view, options)):
            warn_of_sure_scores(view, self.formula.__name__)
        if "binning" in options and isinstance(view, View) and view.raw_score.dtype == np.float32:
            hint_at_edges(view, options["binning"], options["bins"])
        for need in self.needs:
            if need == "labels" and (view.rows is None or view.rows.labels is None):
                raise LensError("lens", f"{self.id} requires the true class of each row, which is unknown here")
            enough = (need, *self.instead)
            if all(getattr(view.rows, word, None) is None and options.get(word) is None for word in enough):
                raise InputTypeError(need, f"required by {self.id}", tuple(map(Use, enough)))

    def _value(self, views: list[AnyView], options: dict[str, Any], combine: Any, class_weight: Any) -> float:
        bins = options.get("bins")
        several = None if bins is None or isinstance(bins, int) else several_bins(bins)
        if several:
            values = [self._value(views, {**options, "bins": count}, combine, class_weight) for count in several]
            return math.fsum(values) / len(values)
        if class_weight is not None and "class_weight" in options:
            options["class_weight"], class_weight = class_weight, None
        if len(views) == 1:
            values = [self._formula_value(views[0], options)]
        else:
            values = self._values(views, options)
            cancels = combine in (None, "mean", "sum") and class_weight is None and self.ideal == 0
            largest = max(map(abs, values))
            if cancels and CANCELLED < largest < math.inf and abs(math.fsum(values)) < CANCELLED * largest:
                self._refuse_cancelled(views)
        default = "max" if options.get("norm") == math.inf else self.combine
        value = combine_values(values, views, default if combine is None else combine, class_weight)
        if self.finish is not None:
            value = self.finish(value, options)
        if math.isnan(value):
            raise UndefinedMetricError(self.id, "is undefined for these data")
        value = float(value)
        inside = min(max(value, self.range[0]), self.range[1])
        # Rounding may step out of the range by an ulp; further out is where options widen it.
        return inside if abs(value - inside) <= 1e-12 else value

    def _values(self, views: list[AnyView], options: dict[str, Any]) -> list[float]:
        """One value for each class."""
        # The first may find what all classes share; then one view a task, for sorting runs outside the interpreter's lock.
        keep = are_kept(views)
        values = [self._formula_value(views[0], options, keep)]
        rest = views[1:]
        return values + map_blocks(
            lambda a, b: self._formula_value(rest[a], options, keep), len(rest), 1, columns=views[0].n
        )

    def _refuse_cancelled(self, views: list[AnyView]) -> None:
        """Raise where these are classes of which each row has one, so that their probabilities add up to 1."""
        if views[0].rows is None or not views[0].rows.is_multilabel:
            raise LensError(
                "lens",
                f"values of {self.id} cancel over the classes, whose probabilities sum to 1",
                f"use one class, such as {views[-1].lens!r}",
            )

    def _formula_value(self, view: AnyView, options: dict[str, Any], keep: bool = True) -> float:
        if not view.n:
            raise UndefinedMetricError(self.id, "is undefined: there are no rows")
        try:
            if self.takes == "View":
                value = float(self.formula(view, **options))
            elif self.takes == "Block":
                value = _as_vector(view).mean_of(lambda block: self.formula(block, **options))
            else:
                value = float(self.formula(_as_vector(view), **options))
            if not keep and isinstance(view, View):
                view.forget()
            return value
        except UndefinedMetricError as error:
            if error.argument == self.id:
                raise
            raise UndefinedMetricError(self.id, f"is undefined: {error.problem}", error.remedies) from None

    @property
    def __signature__(self) -> Any:
        return build_signature(self)

    @cached_property
    def __doc__(self) -> str:  # type: ignore[override]
        return build_doc(self)

    @property
    def reference(self) -> str:
        """The paper, with its DOI or arXiv number where it has one."""
        return str(references()[self.cite])

    @property
    def summary(self) -> str:
        """One sentence: what it measures."""
        return (self.explain.get("summary") or self.formula.__doc__ or "").strip().split("\n")[0]

    @property
    def tests(self) -> tuple[str, ...]:
        """Methods of `assess` that are tests of this metric alone; empty where outcomes are simulated."""
        fill("tests of metrics")
        return tuple(OWN_TESTS.get(self.id, ()))

    def _above(self, options: Mapping[str, Any]) -> Above:
        """Which deviation a value above the ideal shows under these options."""
        if all(
            (options.get(word) == value) == (self.options.get(word) == value)
            for word, value in self.reversed_by.items()
        ):
            return self.above
        return "under" if self.above == "over" else "over"

    @property
    def sides(self) -> tuple[str, str] | None:
        """What a value above the ideal says, and one below it; None where the sign says nothing of the forecasts."""
        words = SIDES[self.sign_of] if self.signed else None
        return words if words is None or self.above == "over" else words[::-1]

    def direction(self, value: float, lens: str = "top_label", options: Mapping[str, Any] | None = None) -> str:
        """Which way the forecasts deviate, in words; empty where the value does not say.

        The probability of one class (or the positive one) can be too high or too low, which differs from overconfidence; which
        of them a sign shows is `sign_of`. `options` are those the value was computed with.
        """
        if not self.signed or self.ideal is None or abs(value - self.ideal) < 1e-12:  # what rounding leaves
            return ""
        over = (value > self.ideal) == (self._above({**self.options, **(options or {})}) == "over")
        if self.sign_of in ("spread", "nothing"):
            return "" if self.sign_of == "nothing" else "too extreme" if over else "too moderate"
        one_class = lens == "binary" or lens.startswith(("class", "pair"))
        deviation = "estimates" if one_class and self.sign_of != "confidence" else "confident"
        return f"{'over' if over else 'under'}{deviation}{' at 0.5' if self.sign_of == 'midpoint' else ''}"

    def seconds(self, n: int, k: int) -> float:
        """A rough estimate of the time it takes, from its order of growth."""
        return COSTS[self.cost](n, k) * 1e-9

    def to_dict(self) -> dict[str, Any]:
        """The catalogue entry as plain values."""
        facts = [fact.name for fact in fields(Facts)]
        further = ("tests", "recommended", "reference", "summary", "base")
        return {name: getattr(self, name) for name in ("id", "name", "aliases", *facts, *further)}

    def __repr__(self) -> str:
        return f"<metric {self.id}: {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_find, (self.id,))


def norm_root(value: float, options: Mapping[str, Any]) -> float:
    """The root that ends a norm: powers are averaged, classes are combined, and the root is taken once over all of them."""
    norm = options["norm"]
    return value if norm in (1, math.inf) else float(value ** (1 / norm))


def _find(id: str) -> Metric:
    return catalogue[id]


def _as_vector(view: AnyView) -> VectorView:
    return view.as_vector() if isinstance(view, View) else view


class Catalogue(Mapping[str, Metric]):
    """Every metric by id; lookup also takes the names and aliases of the literature."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}

    def add(self, metric: Metric) -> None:
        """Enter a metric; ids are unique."""
        if metric.id in self._metrics:
            raise ArgumentError("metric", f"the id {metric.id!r} is already in use", "choose another id")
        self._metrics[metric.id] = metric

    def __getitem__(self, name: str | Metric) -> Metric:
        """The metric of this id, name or alias; a metric is itself."""
        if isinstance(name, Metric):
            return name
        if not isinstance(name, str):
            raise UnknownMetricError("metric", f"must be a name; got {type(name).__name__}", "for example 'ece'")
        if name in self._metrics:
            return self._metrics[name]
        found = [
            m for m in self._metrics.values() if _plain(name) in {_plain(alias) for alias in (m.id, m.name, *m.aliases)}
        ]
        if len(found) == 1:
            return found[0]
        if found:
            listed = "; ".join(f"{m.id} ({m.reference.split(':')[0]}: {m.name})" for m in found)
            raise AmbiguousMetricError(
                "metric", f"{name!r} is the name of {len(found)} metrics", f"use the id: {listed}"
            )
        from difflib import get_close_matches

        ids = {_plain(alias): m.id for m in self._metrics.values() for alias in (*m.aliases, m.name, m.id)}
        near = list(dict.fromkeys(ids[match] for match in get_close_matches(_plain(name), ids, 3, 0.6)))
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`calibrant metrics` lists all metrics"
        raise UnknownMetricError("metric", f"unknown metric {name!r}", hint)

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except (UnknownMetricError, AmbiguousMetricError):
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """The metric of this name, or `default` where there is none; a name of several metrics still raises."""
        try:
            return self[name]
        except UnknownMetricError:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def find(self, text: str = "", **criteria: Any) -> list[Metric]:
        """Metrics whose entry has these values; a tuple field matches if it holds the value, or with a bool if it holds any.

        `text` is searched everywhere.

        >>> import calibrant as cal
        >>> [m.id for m in cal.catalogue.find(proper="strictly")]
        ['brier', 'nll', 'spherical', 'ranked_probability', 'dawid_sebastiani']
        """
        known = next(iter(self._metrics.values())).to_dict() if self._metrics else {}
        for name in criteria:
            if name not in known:
                raise unknown_keyword("find", name, criteria[name], list(known))

        def fits(entry: dict[str, Any]) -> bool:
            for name, wanted in criteria.items():
                value = entry[name]
                if isinstance(value, tuple) and isinstance(wanted, bool):
                    value = bool(value)
                if value != wanted and not (isinstance(value, tuple) and name != "range" and wanted in value):
                    return False
            return text.lower() in " ".join(map(str, entry.values())).lower()

        return [m for m in self._metrics.values() if fits(m.to_dict())]

    def tree(self) -> dict[str, dict[str, list[Metric]]]:
        """Metrics by family and subfamily."""
        branches: dict[str, dict[str, list[Metric]]] = {}
        for m in self._metrics.values():
            branches.setdefault(m.family, {}).setdefault(m.subfamily, []).append(m)
        return branches

    def __repr__(self) -> str:
        lines = [f"{len(self)} calibration metrics"]
        width = max(map(len, self), default=0)
        for family, subfamilies in self.tree().items():
            lines.append(family)
            for subfamily, metrics in subfamilies.items():
                lines.append(f"  {subfamily}")
                lines.extend(f"    {m.id:<{width}}  {m.name}" for m in metrics)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        parts = [f"<p>{len(self)} calibration metrics</p>"]
        for family, subfamilies in self.tree().items():
            inner = "".join(
                f"<li>{escape(subfamily)}<ul>"
                + "".join(f"<li><code>{escape(m.id)}</code> {escape(m.name)}</li>" for m in metrics)
                + "</ul></li>"
                for subfamily, metrics in subfamilies.items()
            )
            parts.append(f"<details open><summary>{escape(family)}</summary><ul>{inner}</ul></details>")
        return "".join(parts)


catalogue = Catalogue()


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def metric(name: str, **facts: Any) -> Callable[[Callable[..., Any]], Metric]:
    """Declare a metric: the decorated function is its formula over a View, a VectorView or the Blocks of one.

    What the formula reads is said by the annotation of its first argument. A Block formula gives one number per row, and
    the metric is their weighted mean.
    """

    def declare(formula: Callable[..., Any]) -> Metric:
        annotation = next(iter(formula.__annotations__.values()), None)
        takes = str(getattr(annotation, "__name__", annotation)).rsplit(".", 1)[-1]
        if takes not in ("View", "VectorView", "Block"):
            raise ArgumentError(
                formula.__name__,
                "the first argument must be annotated with View, VectorView or Block",
                "for example def gap(view: View) -> float",
            )
        made = Metric(formula, formula.__name__, name, takes=takes, **facts)  # type: ignore[arg-type]
        catalogue.add(made)
        return made

    return declare


def preset(base: Metric, id: str, name: str, *, summary: str, **changes: Any) -> Metric:
    """Another metric that is `base` with other defaults: options of its formula, its lens, or facts of its entry."""
    options = {word: changes.pop(word) for word in base.options if word in changes}
    defaults = {**base.options, **options}
    facts: dict[str, Any] = {"aliases": (), "recommended": False, "above": base._above(defaults), **changes}
    facts["explain"] = {**base.explain, **changes.get("explain", {}), "summary": summary}
    made = replace(base, id=id, name=name, defaults=defaults, base=base.id, **facts)
    catalogue.add(made)
    return made
