"""The registry of metrics: the decorator `metric`, `preset`, and the catalogue.

One declaration gives a metric its call, its checks, its documentation and its entry in the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, asdict, dataclass, field, fields, replace
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ..binning.parse import Averaged, as_default, bin_table, fill_tables, several_bins
from ..binning.table import BinTable
from ..errors import (
    ROWS_INSTEAD,
    AmbiguousMetricError,
    ArgumentError,
    InputTypeError,
    LensError,
    UndefinedMetricError,
    UnknownMetricError,
    WeightsNotSupportedError,
)
from ..input.predictions import Predictions
from ..plugins import load
from ..sketches.collection import Sketches, row_metric
from ..util.blocks import map_blocks
from ..views.keywords import DATA_KEYWORDS, check_keywords, refuse_column_names, unknown_keyword
from ..views.lenses import Combine, Lens, combination, has_one_event, shared_name, single_event
from ..views.resolve import are_kept, combine_values, resolve, views_of
from ..views.view import Summary, VectorView, View
from .forms import FORMS, Fitted, Form, Path
from .hints import warn_of_sure_scores
from .names import function_named, metric_with_option, metrics_named, nearest
from .properties import PROPERTIES
from .references import reference_of
from .signature import BIN_OPTIONS, build_signature, check_option, first_annotation, formula_options, rule_reader
from .use_cases import related, use_cases

IdealFor = Literal["calibrated", "sure", "nothing"]
SignOf = Literal["level", "confidence", "midpoint", "spread", "nothing"]
Above = Literal["over", "under"]

# What a value above and below the ideal means, "over" first; None where the sign has no such meaning.
SIDES: dict[str, tuple[str, str] | None] = {
    "level": (
        "predicted probabilities are too high on average (top label: overconfident)",
        "predicted probabilities are too low on average (top label: underconfident)",
    ),
    "confidence": ("forecasts are overconfident", "forecasts are underconfident"),
    "midpoint": ("forecasts of 0.5 are too high", "forecasts of 0.5 are too low"),
    "spread": ("forecasts are too extreme", "forecasts are too moderate"),
    "nothing": None,
}

AnyView = View | VectorView

# Keywords of every metric besides its options.
SHARED_KEYWORDS = ("lens", "where", "sample_weight", "pos_label")
# Values of several classes cancel where their sum is smaller than this fraction of the largest.
CANCELLED = 1e-9


OWN_TESTS: dict[str, dict[str, Any]] = {}
"""Tests of metrics by identifier and method; `calibrant.inference` registers them."""


class _OnMetric:
    """Descriptor of an attribute that differs between the class `Metric` and a metric, built on first use."""

    def __init__(self, build: Callable[[Metric], Any], of_class: Any = None) -> None:
        self.build, self.of_class = build, of_class

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, metric: Metric | None, owner: type) -> Any:
        if metric is not None:
            return metric.__dict__.setdefault(self.name, self.build(metric))
        if self.of_class is None:
            raise AttributeError(self.name)
        return self.of_class


def _build_doc(metric: Metric) -> str:
    from .documentation import build_doc

    return build_doc(metric, catalogue)


@dataclass(frozen=True, kw_only=True)
class MetricInfo:
    """What is known about a metric beyond its computation.

    Entries of calibrant's own metrics are in ``metrics/catalogue/*.toml``, one file for each family; a preset inherits what its entry
    does not state, except names, recommendation and what was simulated.

    Parameters
    ----------
    family : str
        Family: ``"point"``, ``"bin"``, ``"kernel"``, ``"curve"`` or ``"cumulative"``.
    subfamily : str
        Group of metrics inside the family.
    summary : str
        One sentence on what the metric measures; by default that of its formula.
    names : tuple of str
        Other names in the literature, accepted by the catalogue.
    strengths : str
        Strengths, separated by semicolons.
    limits : str
        Limitations, separated by semicolons.
    notes : str
        Further remarks on definition and computation.
    certainty : str, default "certain"
        How certain it is that the definition is that of the paper; ``"certain; ..."`` adds a remark on the defaults.
    option_texts : mapping of str to str
        Description of each option.
    recommended : bool, default False
        Whether the metric is among those recommended for common use.
    proper : {"strictly", "no"}, default "no"
        Whether the metric is a strictly proper score.
    ideal_for : {"calibrated", "sure", "nothing"}
        Forecasts that attain the ideal value: calibrated ones; only those that predict the true class with probability 1; or no
        class of forecasts in general.
    signed : bool, default False
        Whether values occur on both sides of the ideal value.
    sign_of : {"level", "confidence", "midpoint", "spread", "nothing"}, default "level"
        What the sign refers to: the level of the scores, confidence, the level at 0.5, the spread of the scores, or nothing.
    above : {"over", "under"}, default "over"
        Deviation that a value above the ideal indicates with the default options.
    reversed_by : mapping, optional
        Values of options under which the two sides of the ideal value change their meaning.
    one_sided : bool, default False
        Whether only deviations in the direction `above` contribute.
    cost : str, default "N"
        Order of growth of the computing time with the numbers of rows, N, and of classes, K.
    deterministic : bool, default True
        Whether the value is a function of the data alone.
    order_dependent : bool, default False
        Whether the value depends on the order of the rows.
    repeatable : bool, default True
        Whether a count of 3 is equivalent to three identical rows; it is not where neighbours are counted in rows.
    full_vector : bool, default False
        Whether the default value shows errors of the whole predicted distribution where the top label and every class are calibrated.
    probability_scale : bool, default False
        Whether forecasts that are all too high by d, or all too low by d, have the value d.
    robust : bool, default True
        Whether one row among many has little influence: one of 200 changes the value by at most two standard deviations of its
        sampling noise.
    tolerance : bool, default False
        Whether ``assess(tolerance=...)`` held its level in simulations of the metric (``experiments/subgroups.py``).
    """

    family: str
    subfamily: str
    summary: str = ""
    names: tuple[str, ...] = ()
    strengths: str = ""
    limits: str = ""
    notes: str = ""
    certainty: str = "certain"
    option_texts: Mapping[str, str] = field(default_factory=dict)
    recommended: bool = False
    proper: Literal["strictly", "no"] = "no"
    ideal_for: IdealFor = "calibrated"
    signed: bool = False
    sign_of: SignOf = "level"
    above: Above = "over"
    reversed_by: Mapping[str, Any] = field(default_factory=dict)
    one_sided: bool = False
    cost: str = "N"
    deterministic: bool = True
    order_dependent: bool = False
    repeatable: bool = True
    full_vector: bool = False
    probability_scale: bool = False
    robust: bool = True
    tolerance: bool = False


INFO_FIELDS = frozenset(each.name for each in fields(MetricInfo))


@cache
def _read_records() -> dict[str, dict[str, Any]]:
    """The entries of calibrant's own metrics by identifier."""
    import tomllib
    from importlib.resources import files

    records: dict[str, dict[str, Any]] = {}
    for file in files(__package__).joinpath("catalogue").iterdir():
        for id, record in tomllib.loads(file.read_text("utf-8")).items():
            records[id] = {"family": file.name.removesuffix(".toml"), **record, "names": tuple(record.get("names", ()))}
    return records


@dataclass(frozen=True, eq=False, repr=False)
class Metric:
    """A calibration metric: a function of labels and predicted probabilities, and its entry in the catalogue.

    Metrics are declared with the decorator `metric` or derived with `preset`, and are then available as ``calibrant.ID`` and in
    `catalogue`. A metric is called as ``metric(y_true, y_prob, **keywords)`` and returns a float; ``help(calibrant.ece)`` describes
    the call of one of them. The parameters below are the facts that a declaration states, and attributes of the metric.

    Parameters
    ----------
    formula : callable
        Function of a `BinTable`, a `View`, a `VectorView` or a `Block`, with the options of the metric as keyword-only arguments. A
        `BinTable`, or an argument `rule`, gives the metric the options `bins` and `binning`. It returns a number or, if it is
        a function of sums over rows, a form of ``metrics/forms.py``, by which resamples are evaluated together.
    id : str
        Identifier, the name of the metric in Python and on the command line.
    name : str
        Name in the literature.
    cite : str
        Key of the paper in ``references.json``.
    range : tuple of float
        Smallest and largest possible value.
    ideal : float or None
        Ideal value; None if there is none.
    alternative : {"greater", "less", "two-sided"}, default "greater"
        Alternative hypothesis of a test of calibration with this metric.
    lens : str, default "auto"
        Default lens.
    combine : {"mean", "sum", "max", "prevalence"}, default "mean"
        How the values of several classes are combined by default.
    needs : tuple of str
        Data needed beyond labels and probabilities: ``"groups"``, ``"features"``, ``"labels"``.
    instead : tuple of str
        Data that may replace what is needed.
    counts : bool, default True
        Whether `counts` is supported.
    importance : bool, default True
        Whether `sample_weight` is supported.
    soft : bool, default True
        Whether soft labels are supported.
    sketch : bool, default True
        Whether the metric can be computed from a sketch.
    ordinal : bool, default False
        Whether the metric uses the order of the classes.
    reads_log_odds : bool or callable, default False
        Whether the metric uses log-odds of the scores, which are truncated at 1e-12: always, or as a function of view and options, which can
        return what scores of 0 and 1 then mean, as text of the warning.
    finish : callable, optional
        Function of the value and the options that is applied after classes are combined, such as a root.
    row_form : callable, optional
        For a formula over a View that is a mean over rows: the function that returns the contribution of each row.
    defaults : mapping, optional
        Defaults of options that differ from those of the formula.
    base : str, optional
        Identifier of the metric that this metric is a preset of.
    facts : mapping, optional
        Fields of `info` that are stated in the declaration.

    See Also
    --------
    metric : Declare a metric.
    preset : Derive a metric from another one.
    catalogue : All metrics by identifier.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ece
    <metric ece: Expected calibration error>
    >>> cal.ece.range, cal.ece.ideal, cal.ece.options
    ((0, 1), 0, {'bins': 15, 'binning': 'equal_width', 'norm': 1})
    >>> round(cal.ece([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]), 4)
    0.25
    """

    __doc__ = _OnMetric(_build_doc, __doc__)
    __signature__ = _OnMetric(build_signature)

    formula: Callable[..., Any]
    id: str
    name: str
    _: KW_ONLY
    cite: str
    range: tuple[float, float]
    ideal: float | None
    alternative: Literal["greater", "less", "two-sided"] = "greater"
    lens: str = "auto"
    combine: Combine = "mean"
    needs: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    counts: bool = True
    importance: bool = True
    soft: bool = True
    sketch: bool = True
    ordinal: bool = False
    reads_log_odds: bool | Callable[[AnyView, Mapping[str, Any]], bool | str] = False
    finish: Callable[[Any, Mapping[str, Any]], Any] | None = None
    row_form: Callable[..., Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    base: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.__dict__.update(__name__=self.id, __qualname__=self.id, __module__="calibrant")
        if self.takes not in ("View", "VectorView", "Block"):
            raise ArgumentError(
                self.id,
                "the first argument must be annotated with BinTable, View, VectorView or Block",
                "for example def gap(view: View) -> float",
            )
        taken = set(self.options) & {"lens", "where", *DATA_KEYWORDS}
        if taken:
            raise ArgumentError(self.id, f"{taken.pop()!r} is an option of every metric", "choose another name")

    @cached_property
    def takes(self) -> str:
        """What the formula reads: one score per row, the whole vector of probabilities, or blocks of rows of the latter."""
        return "View" if self.reads_table else first_annotation(self.formula)

    @cached_property
    def reads_table(self) -> bool:
        """Whether the formula reads the table of its bins and nothing else of one score per row."""
        return first_annotation(self.formula) == "BinTable"

    @cached_property
    def reads_tables(self) -> bool:
        """Whether the formula also takes the tables of several data sets."""
        return self.reads_table and self.formula.__annotations__.get("return") == "OfTables"

    @cached_property
    def options(self) -> dict[str, Any]:
        """Options of the metric and their defaults."""
        options = {**formula_options(self.formula), **self.defaults}
        return options | {word: as_default(options[word]) for word in ("bins", "binning") if word in options}

    @cached_property
    def _read_rule(self) -> Callable[..., Any] | None:
        return rule_reader(self.formula)

    def arguments(self, keywords: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the keyword arguments of the formula: all options, with one `rule` in place of those of the bins.

        Parameters
        ----------
        keywords : mapping, optional
            Values of options; further entries are ignored.

        Returns
        -------
        dict
            Keyword arguments of the formula, and the rule of a formula that reads a table.
        """
        options = dict(self.options)
        if keywords:
            options |= {name: value for name, value in keywords.items() if name in options}
        if self._read_rule is None:
            return options
        bins, binning = map(options.pop, BIN_OPTIONS)
        numbers = None if isinstance(bins, int) else several_bins(bins)
        if numbers is None:
            rule = self._read_rule(bins, binning)
        else:
            rule = Averaged(tuple(self._read_rule(number, binning) for number in numbers))
        return {"rule": rule, **options}

    def averaged(self, options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the arguments of the formula over whose values the metric is averaged, one for each number of bins.

        Parameters
        ----------
        options : mapping
            Arguments of the formula.

        Returns
        -------
        list of mapping
            Arguments with one number of bins; usually the given ones alone.
        """
        rule, bins = options.get("rule"), options.get("bins")
        if isinstance(rule, Averaged):
            return [{**options, "rule": each} for each in rule.rules]
        numbers = None if bins is None or isinstance(bins, int) else several_bins(bins)
        return [options] if numbers is None else [{**options, "bins": number} for number in numbers]

    @cached_property
    def is_row_mean(self) -> bool:
        """Whether the value with default options is a mean of one number per row."""
        return self.finish is None and (self.takes == "Block" or self.row_form is not None)

    @cached_property
    def info(self) -> MetricInfo:
        """Names in the literature, strengths, limits and properties."""
        record = {**_read_records().get(self.id, {}), **self.facts}
        if self.base is None:
            ideal_for: IdealFor = "sure" if record.get("proper") == "strictly" else "calibrated"
            return MetricInfo(**{"ideal_for": ideal_for, **record})
        base = catalogue[self.base]
        texts = {**base.info.option_texts, **record.pop("option_texts", {})}
        fresh = {"names": (), "recommended": False, "tolerance": False, "above": base._above(self.options)}
        return replace(base.info, **{**fresh, **record, "option_texts": texts})

    def __call__(self, y_true: Any = None, y_prob: Any = None, *more: Any, **keywords: Any) -> float:
        """Compute the value of the metric; the docstring of the metric describes all keywords."""
        if isinstance(y_prob, str):
            refuse_column_names(self.id, (y_true, y_prob, *more))
        if y_true is None:
            self._split(keywords)  # reports the names of other packages, such as preds and target
            if y_prob is None:
                raise InputTypeError("y_true", "is missing", "pass (y_true, y_prob) or Predictions")
        if more:
            raise InputTypeError(self.id, "takes only y_true and y_prob by position", "pass options by keyword")
        return self._evaluate(y_true, y_prob, keywords)[0]

    def of(self, predictions: Predictions | Sketches, **keywords: Any) -> tuple[float, str]:
        """Compute the value for checked predictions, and return it with the name of the lens.

        Parameters
        ----------
        predictions : Predictions or Sketches
            Labels and probabilities.
        **keywords
            Options of the metric, `lens` and `where`.

        Returns
        -------
        value : float
            Value of the metric.
        lens : str
            Name of the lens through which the predictions were evaluated.
        """
        return self._evaluate(predictions, None, keywords)

    def _evaluate(self, y_true: Any, y_prob: Any, keywords: Mapping[str, Any]) -> tuple[float, str]:
        options, lens, where, rows = self._split(keywords)
        together = combination(lens)
        if isinstance(y_true, Sketches) and self.takes == "Block":
            resolve(y_true, y_prob, **rows, where=where)
            value = self._of_row_sums(y_true, options, lens)
            return combine_values([value], [], self.combine, together.get("class_weight")), "canonical"
        views = self._views(y_true, y_prob, lens, where, rows, options)
        name = views[0].lens if len(views) == 1 else shared_name(views)
        value = self.value_of(views, options, **together)
        if views[0].rows is not None and not isinstance(y_true, (Predictions, View, VectorView)):
            views[0].rows.views.clear()  # which would otherwise form a reference cycle
        return value, name

    def of_views(self, views: list[AnyView], /, **keywords: Any) -> float:
        """Compute the value for given views, such as resampled ones.

        Parameters
        ----------
        views : list of View or VectorView
            One view, or one view per class.
        **keywords
            Options of the metric, and the `lens` if it states how classes are combined.

        Returns
        -------
        float
            Value of the metric.
        """
        return self.with_options(**keywords)(views)

    def with_options(self, **keywords: Any) -> Callable[[list[AnyView]], float]:
        """Return the metric as a function of views, such as those of many resamples.

        Parameters
        ----------
        **keywords
            Options of the metric, and `lens`.

        Returns
        -------
        callable
            Function from a list of views to the value.
        """
        options, lens, *_ = self._split(keywords)
        how = combination(lens)
        return lambda views: self.value_of(views, options, **how)

    def fill_views(self, views: Sequence[View], options: Mapping[str, Any]) -> None:
        """Compute what the formula reads of several views with counts in one pass over all; each view keeps its own.

        Parameters
        ----------
        views : sequence of View
            Views of one lens.
        options : mapping
            Arguments of the formula.
        """
        if "rule" in options:
            fill_tables(views, options["rule"])
        form = self.form(views[0], options) if self.takes == "View" else None
        if isinstance(form, (Path, Fitted)) and form.fill is not None:
            form.fill(views)

    def form(self, view: AnyView | None, options: Mapping[str, Any]) -> Form | None:
        """Return the sums of which the metric is a function, and the function; None if the formula computes the value itself.

        Parameters
        ----------
        view : View, VectorView or None
            Scores, outcomes and weights; None for a function of paths, which resamples share.
        options : mapping
            Arguments of the formula.

        Returns
        -------
        Form or None
            What the formula returns, unless it is a number.
        """
        if not self._returns_form:
            return None
        form = self.formula(view, **options)
        return form if isinstance(form, FORMS) else None

    @cached_property
    def _returns_form(self) -> bool:
        annotation = str(self.formula.__annotations__.get("return"))
        return any(form.__name__ in annotation for form in FORMS)

    def views(self, y_true: Any, y_prob: Any = None, **keywords: Any) -> list[AnyView]:
        """Return the views of the predictions that this metric evaluates.

        Parameters
        ----------
        y_true : array-like of shape (N,), frame, Predictions, View or Sketch
            Observed labels, or an object that already holds labels and probabilities.
        y_prob : array-like of shape (N,) or (N, K), optional
            Predicted probabilities.
        **keywords
            Keywords of the metric's call.

        Returns
        -------
        list of View or VectorView
            One view, or one view per class.
        """
        options, lens, where, rows = self._split(keywords)
        return self._views(y_true, y_prob, lens, where, rows, options)

    def rows(self, y_true: Any, y_prob: Any = None, **keywords: Any) -> NDArray[np.float64]:
        """Compute the contribution of each row to a metric that is a mean over rows.

        Parameters
        ----------
        y_true : array-like of shape (N,), frame, Predictions or View
            Observed labels, or an object that already holds labels and probabilities.
        y_prob : array-like of shape (N,) or (N, K), optional
            Predicted probabilities.
        **keywords
            Keywords of the metric's call; weights are ignored.

        Returns
        -------
        numpy.ndarray of shape (N,)
            Contribution of each row; the (weighted) mean of the contributions is the metric.

        Raises
        ------
        UndefinedMetricError
            If the metric is not a mean over rows.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.brier.rows([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9]).round(2)
        array([0.01, 0.36, 0.04, 0.01])
        """
        if isinstance(y_true, Summary):
            raise InputTypeError("y_true", "contributions of rows cannot be computed from a sketch", ROWS_INSTEAD)
        if not self.is_row_mean:
            raise self._no_row_mean()
        options, lens, where, rows = self._split(keywords)
        rows.pop("sample_weight", None)  # the contribution of a row does not depend on it
        views = self._views(y_true, y_prob, lens, where, rows, options)
        if not has_one_event(views):
            raise LensError("lens", "a row has several contributions under this lens", f"use {single_event(views)!r}")
        values = self.rows_of(views[0], options)
        if values is None:
            raise self._no_row_mean()
        return values

    def rows_of(self, view: AnyView, options: Mapping[str, Any]) -> NDArray[np.float64] | None:
        """Compute the contribution of each row of a view.

        Parameters
        ----------
        view : View or VectorView
            Scores, outcomes and weights.
        options : mapping
            All options of the metric.

        Returns
        -------
        numpy.ndarray of shape (N,) or None
            Contributions; None if the metric is not a mean over rows with these options.
        """
        if self.takes == "Block" and self.finish is None:
            return _as_vector(view).each_row(lambda block: self.formula(block, **options))
        values = None if self.row_form is None else self.row_form(view, **options)
        return None if values is None else np.asarray(values, np.float64)

    def _no_row_mean(self) -> UndefinedMetricError:
        return UndefinedMetricError(
            self.id,
            f"is not a mean over rows{' with these options' if self.is_row_mean else ''}, so rows have no contributions",
            "see calibration_curve for the deviations by score",
        )

    def _split(self, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], str | Lens, Any, dict[str, Any]]:
        """Return the arguments of the formula, the lens, the selected rows, and the keywords for `resolve`."""
        options: dict[str, Any] = {}
        shared: dict[str, Any] = {}
        for keyword, value in keywords.items():
            if keyword in self.options:
                options[keyword] = check_option(self.formula, keyword, value)
            elif keyword in SHARED_KEYWORDS:
                shared[keyword] = value
            else:
                raise unknown_keyword(self.id, keyword, value, [*self.options, *SHARED_KEYWORDS])
        lens = shared.pop("lens", None)
        return self.arguments(options), self.lens if lens is None else lens, shared.pop("where", None), shared

    def _views(
        self, y_true: Any, y_prob: Any, lens: str | Lens, where: Any, rows: dict[str, Any], options: Mapping[str, Any]
    ) -> list[AnyView]:
        source = resolve(y_true, y_prob, **rows, where=where)
        if isinstance(source, Summary):
            if not self.sketch or self.takes != "View":
                raise InputTypeError("y_true", f"{self.id} cannot be computed from a sketch", ROWS_INSTEAD)
        elif lens == "canonical" == self.lens and getattr(source, "kind", "") in ("multilabel", "confidence"):
            lens = "auto"  # a metric of whole distributions evaluates what is there, unless the lens was given
        if self.ordinal and isinstance(source, Predictions) and source.kind == "multiclass":
            source = source.in_order(self.id)
        views = views_of(source, lens, self.lens, flattened=True)
        for view in views:
            self._check_view(view, options)
        return views

    def _of_row_sums(self, sketches: Sketches, options: dict[str, Any], lens: str | Lens) -> float:
        if lens not in (self.lens, "canonical", "auto"):
            raise LensError("lens", f"sketches keep {self.id} of whole rows only; got {lens!r}", ROWS_INSTEAD)
        if options != self.options:
            raise InputTypeError("y_true", f"sketches keep {self.id} with default options only", ROWS_INSTEAD)
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
        supported = {"unit": True, "counts": self.counts, "importance": self.importance}[view.weight_kind]
        if not supported and view.weight is not None and not (view.weight == 1).all():
            if view.weight_kind == "counts":
                raise WeightsNotSupportedError(
                    "counts", f"{self.id} does not support counts", "repeat the rows instead"
                )
            raise WeightsNotSupportedError(
                "sample_weight",
                f"{self.id} does not support real weights",
                "pass counts for integer counts",
            )
        reads = self.reads_log_odds(view, options) if callable(self.reads_log_odds) else self.reads_log_odds
        if reads:
            effect = {"effect": reads} if isinstance(reads, str) else {}
            warn_of_sure_scores(view, self.id, **effect)
        for need in self.needs:
            if isinstance(view, View) and view.events > 1:
                raise LensError(
                    "lens", f"{self.id} requires one event per row, and {view.lens!r} has one for each class"
                )
            unknown = view.rows is None or view.rows.labels is None or view.rows.kind == "confidence"
            if need == "labels" and unknown:
                raise LensError("lens", f"{self.id} requires the true class of each row, which is unknown here")
            enough = (need, *self.instead)
            if all(getattr(view.rows, word, None) is None and options.get(word) is None for word in enough):
                remedies = [f"pass {word}" if word in options else f"pass {word} to Predictions" for word in enough]
                raise InputTypeError(need, f"required by {self.id}", ", or ".join(remedies))

    def value_of(
        self,
        views: list[AnyView],
        options: Mapping[str, Any],
        combine: Combine | None = None,
        class_weight: Any = None,
    ) -> float:
        """Compute the value for given views from arguments of the formula.

        Parameters
        ----------
        views : list of View or VectorView
            One view, or one view per class.
        options : mapping
            Arguments of the formula, as `arguments` returns them.
        combine : {"mean", "sum", "max", "prevalence"}, optional
            How the values of several classes are combined; by default as the metric does.
        class_weight : array-like of shape (K,), optional
            Weight of each class.

        Returns
        -------
        float
            Value of the metric.
        """
        several = self.averaged(options)
        if several != [options]:
            values = [self.value_of(views, each, combine, class_weight) for each in several]
            return math.fsum(values) / len(values)
        if len(views) == 1:
            values = [self._formula_value(views[0], options)]
        else:
            values = self._values(views, options)
            cancels = combine in (None, "mean", "sum") and class_weight is None and self.ideal == 0
            largest = max(map(abs, values))
            if cancels and CANCELLED < largest < math.inf and abs(math.fsum(values)) < CANCELLED * largest:
                self._refuse_cancelled(views)
        return self.combined(values, views, options, combine, class_weight)

    def combined(
        self,
        values: list[float],
        views: list[AnyView],
        options: Mapping[str, Any],
        combine: Any = None,
        class_weight: Any = None,
    ) -> float:
        """Compute the value of the metric from those of its views.

        Parameters
        ----------
        values : list of float
            Value of the formula for each view.
        views : list of View or VectorView
            One view, or one view per class.
        options : mapping
            All options of the metric.
        combine : str, optional
            How classes are combined; by default as the metric does.
        class_weight : array-like, optional
            Weight of each class.

        Returns
        -------
        float
            Value of the metric.
        """
        if len(values) == 1 and combine is None and class_weight is None:
            value = values[0]
        else:
            default = "max" if options.get("norm") == math.inf else self.combine
            value = combine_values(values, views, default if combine is None else combine, class_weight)
        value = float(self.finished(value, options))
        if math.isnan(value):
            raise UndefinedMetricError(self.id, "is undefined for these data")
        return value

    def finished(self, value: Any, options: Mapping[str, Any]) -> Any:
        """Apply the last step to one or several values of the formula, and keep them inside the range.

        Parameters
        ----------
        value : float or ndarray
            Values of the formula, of classes combined.
        options : mapping
            Arguments of the formula.

        Returns
        -------
        ndarray
            Values of the metric.
        """
        if self.finish is not None:
            value = self.finish(value, options)
        inside = np.minimum(np.maximum(value, self.range[0]), self.range[1])
        # Rounding may leave the range by an ulp; values further outside occur where options widen the range.
        return np.where((value < inside - 1e-12) | (value > inside + 1e-12), value, inside)

    def _values(self, views: list[AnyView], options: Mapping[str, Any]) -> list[float]:
        """Compute one value for each class."""
        # The first may cache what all classes share; then one task per view, since sorting releases the interpreter's lock.
        keep = are_kept(views)
        values = [self._formula_value(views[0], options, keep)]
        rest = views[1:]
        return values + map_blocks(
            lambda a, b: self._formula_value(rest[a], options, keep), len(rest), 1, columns=views[0].n
        )

    def _refuse_cancelled(self, views: list[AnyView]) -> None:
        """Raise for classes that exclude each other, since their probabilities sum to 1 and signed values cancel."""
        exclusive = views[0].rows is None or views[0].rows.kind != "multilabel"
        if exclusive and shared_name(views) != "ordinal":
            raise LensError(
                "lens",
                f"values of {self.id} cancel over the classes, whose probabilities sum to 1",
                f"use one class, such as {views[-1].lens!r}",
            )

    def _formula_value(self, view: AnyView, options: Mapping[str, Any], keep: bool = True) -> float:
        if not view.n:
            raise UndefinedMetricError(self.id, "is undefined: there are no rows")
        try:
            if self.reads_table:
                value = self.value_of_table(bin_table(cast(View, view), options["rule"]), options)
            elif self.takes == "Block":
                value = _as_vector(view).mean_of(lambda block: self.formula(block, **options))
            else:
                form = self.formula(view if self.takes == "View" else _as_vector(view), **options)
                value = float(form.result() if isinstance(form, FORMS) else form)
            if not keep and isinstance(view, View):
                view.clear_cache()
            return value
        except UndefinedMetricError as error:
            if error.argument == self.id:
                raise
            raise UndefinedMetricError(self.id, f"is undefined: {error.problem}", error.remedy) from None

    def value_of_table(self, table: BinTable, options: Mapping[str, Any]) -> float:
        """Compute the formula of a metric that reads the table of its bins, before classes are combined.

        Parameters
        ----------
        table : BinTable
            Sums over the bins, of rows or of a resample.
        options : mapping
            Arguments of the formula.

        Returns
        -------
        float
            Value of the formula.
        """
        own = dict(options)
        del own["rule"]
        return float(self.formula(table, **own))

    def values_of_tables(self, tables: BinTable, options: Mapping[str, Any]) -> NDArray[np.float64]:
        """Compute the formula for each of several tables of bins, before classes are combined.

        Parameters
        ----------
        tables : BinTable
            Sums over the bins, one line for each data set.
        options : mapping
            Arguments of the formula.

        Returns
        -------
        ndarray
            Value of the formula for each data set; NaN where it is undefined.
        """
        if self.reads_tables:
            own = {name: value for name, value in options.items() if name != "rule"}
            with suppress(UndefinedMetricError):  # for one of them
                return np.asarray(self.formula(tables, **own))
        values = np.full(len(tables.weight), np.nan)
        for number, table in enumerate(tables.each()):
            with suppress(UndefinedMetricError):
                values[number] = self.value_of_table(table, options)
        return values

    @property
    def reference(self) -> str:
        """The paper, with its DOI or arXiv number where it has one."""
        return str(reference_of(self.cite))

    @property
    def summary(self) -> str:
        """One sentence on what the metric measures."""
        return (self.info.summary or self.formula.__doc__ or "").strip().split("\n")[0]

    @property
    def proper(self) -> str:
        """Whether the metric is a strictly proper score: ``"strictly"`` or ``"no"``."""
        return self.info.proper

    @property
    def certain(self) -> bool:
        """Whether the definition is certainly that of the paper; only such metrics are recommended."""
        return self.info.certainty.split(";")[0] == "certain"

    @property
    def use_cases(self) -> tuple[str, ...]:
        """Use cases of `recommend` that list the metric."""
        return tuple(name for name, use_case in use_cases().items() if self.id in use_case.metrics)

    @property
    def properties(self) -> dict[str, bool]:
        """Whether the metric has each of the properties that `Catalogue.find` accepts."""
        return {name: one.holds(self) for name, one in PROPERTIES.items()}

    @property
    def tests(self) -> tuple[str, ...]:
        """Methods of `assess` that are specific to this metric; empty if its null distribution is only simulated."""
        import_module("calibrant.inference.significance")  # registers them; by name, since it is in a layer above
        return tuple(OWN_TESTS.get(self.id, ()))

    def _above(self, options: Mapping[str, Any]) -> Above:
        """Which deviation a value above the ideal indicates with these options."""
        reversing = self.info.reversed_by.items()
        if all((options.get(word) == value) == (self.options.get(word) == value) for word, value in reversing):
            return self.info.above
        return "under" if self.info.above == "over" else "over"

    @property
    def sides(self) -> tuple[str, str] | None:
        """What a value above and a value below the ideal mean; None where the sign has no such meaning."""
        sides = SIDES[self.info.sign_of] if self.info.signed else None
        return sides if sides is None or self.info.above == "over" else sides[::-1]

    def direction(self, value: float, lens: str = "top_label", options: Mapping[str, Any] | None = None) -> str:
        """Describe the direction of miscalibration that a value indicates.

        The probability of one class (such as the positive class) can be over- or underestimated, which differs from
        overconfidence; `sign_of` determines which of them the sign of this metric shows.

        Parameters
        ----------
        value : float
            Value of the metric.
        lens : str, default "top_label"
            Lens through which it was computed.
        options : mapping, optional
            Options with which it was computed.

        Returns
        -------
        str
            Direction such as ``"overconfident"``, ``"underestimates"``, ``"too extreme"`` or ``"reversed"``; empty if the value does not determine it.

        Examples
        --------
        >>> import calibrant as cal
        >>> cal.esce.direction(0.08)
        'overconfident'
        """
        if not self.info.signed or self.ideal is None or abs(value - self.ideal) < 1e-12:  # rounding error
            return ""
        over = (value > self.ideal) == (self._above({**self.options, **(options or {})}) == "over")
        if self.info.sign_of == "nothing":
            return ""
        if self.info.sign_of == "spread":
            return "reversed" if value < 0 else "too extreme" if over else "too moderate"
        one_class = lens == "binary" or lens.startswith(("class", "pair"))
        deviation = "estimates" if one_class and self.info.sign_of != "confidence" else "confident"
        return f"{'over' if over else 'under'}{deviation}{' at 0.5' if self.info.sign_of == 'midpoint' else ''}"

    def to_dict(self) -> dict[str, Any]:
        """Convert the catalogue entry to plain values.

        Returns
        -------
        dict
            Facts of the metric by name.
        """
        callables = {"formula", "reads_log_odds", "finish", "row_form", "defaults", "facts", "cite"}
        own = [each.name for each in fields(self) if each.name not in callables]
        further = ["tests", "use_cases", "certain", "reference", "summary"]
        return {**asdict(self.info), **{name: getattr(self, name) for name in own + further}}

    def __repr__(self) -> str:
        return f"<metric {self.id}: {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_find, (self.id,))


def norm_root(value: Any, options: Mapping[str, Any]) -> Any:
    """Take the root of a norm once, after powers are averaged and classes are combined."""
    norm = options["norm"]
    return value if norm in (1, math.inf) else value ** (1 / norm)


def _find(id: str) -> Metric:
    return catalogue[id]


def _as_vector(view: AnyView) -> VectorView:
    return view.as_vector() if isinstance(view, View) else view


class Catalogue(Mapping[str, Metric]):
    """Mapping of all metrics by identifier; lookup also accepts names and aliases of the literature.

    Methods
    -------
    find(text="", **criteria)
        Search the entries.
    tree()
        Group the metrics by family and subfamily.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.catalogue["static calibration error"].id
    'cwce'
    """

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}

    def add(self, metric: Metric) -> None:
        """Add a metric under its identifier, which must be unique."""
        if metric.id in self._metrics:
            raise ArgumentError("metric", f"the id {metric.id!r} is already in use", "choose another id")
        self._metrics[metric.id] = metric

    def __getitem__(self, name: str | Metric) -> Metric:
        """Return the metric with this identifier, name or alias; a metric is returned unchanged."""
        if isinstance(name, Metric):
            return name
        if not isinstance(name, str):
            raise UnknownMetricError("metric", f"must be a name; got {type(name).__name__}", "for example 'ece'")
        if name in self._metrics:
            return self._metrics[name]
        optional = metric_with_option(name)
        if optional is not None:
            raise UnknownMetricError("metric", f"{name!r} is a metric with an option", f"use {optional}")
        metrics = metrics_named(name, self._metrics.values())
        meanings = related()["meanings"].get(name.upper()) or [
            f"{m.id} ({m.reference.split(':')[0]}: {m.name})" for m in metrics
        ]
        if len(meanings) == 1:
            return metrics[0]
        if not meanings and load("metrics"):
            return self[name]
        if meanings:
            raise AmbiguousMetricError(
                "metric", f"{name!r} is the name of {len(meanings)} metrics", f"use the id: {'; '.join(meanings)}"
            )
        function = function_named(name)
        if function is not None:
            raise UnknownMetricError(
                "metric",
                f"{name!r} is not a metric; in Python, it is {function}",
                "`calibrant metrics` lists all metrics",
            )
        near = nearest(name, self._metrics.values())
        hint = (
            f"did you mean {' or '.join(', '.join(map(repr, near)).rsplit(', ', 1))}?"
            if near
            else "`calibrant metrics` lists all metrics"
        )
        raise UnknownMetricError("metric", f"unknown metric {name!r}", hint)

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except (UnknownMetricError, AmbiguousMetricError):
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """Return the metric of this name, or `default` if there is none; an ambiguous name still raises."""
        try:
            return self[name]
        except UnknownMetricError:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def find(self, text: str = "", **criteria: Any) -> list[Metric]:
        """Find metrics by the facts of their entries.

        Parameters
        ----------
        text : str, default ""
            Name of the metric in any spelling, or text that must occur in a field of the entry; case is ignored.
        **criteria
            Properties, True or False: `proper`, `test`, `direction`, `bins`, `full_vector`, `weights`, `sketch`, `certain`, and Hagopian's
            five, `reproducible`, `representative`, `interpretable`, `parsimonious` and `efficient`. Or values of fields of the entry;
            a field that is a tuple matches if it contains the value, and True or False whether it is non-empty.

        Returns
        -------
        list of Metric
            Metrics that satisfy all criteria, in the order of the catalogue.

        Raises
        ------
        UnknownArgumentError
            If a criterion is neither a property nor a field of the entries.

        Examples
        --------
        >>> import calibrant as cal
        >>> [m.id for m in cal.catalogue.find(proper=True)]
        ['brier', 'nll', 'spherical', 'ranked_probability', 'ranked_log', 'dawid_sebastiani']
        >>> [m.id for m in cal.catalogue.find(test=True, direction=True, bins=False, interpretable=True)]
        ['calibration_in_the_large']
        """
        known = [*PROPERTIES, *next(iter(self._metrics.values())).to_dict()]
        check_keywords("find", criteria, known)

        def fits(metric: Metric) -> bool:
            entry = metric.to_dict()
            for name, wanted in criteria.items():
                if name in PROPERTIES and isinstance(wanted, bool):
                    if PROPERTIES[name].holds(metric) != wanted:
                        return False
                    continue
                value = entry.get(name)
                if isinstance(value, tuple) and isinstance(wanted, bool):
                    value = bool(value)
                if value != wanted and not (isinstance(value, tuple) and name != "range" and wanted in value):
                    return False
            return metric.id in called or text.lower() in " ".join(map(str, entry.values())).lower()

        called = {m.id for m in metrics_named(text, self._metrics.values())}
        return [m for m in self._metrics.values() if fits(m)]

    def tree(self) -> dict[str, dict[str, list[Metric]]]:
        """Group the metrics by family and subfamily.

        Returns
        -------
        dict of dict of list
            Metrics by family and subfamily.
        """
        branches: dict[str, dict[str, list[Metric]]] = {}
        for m in self._metrics.values():
            branches.setdefault(m.info.family, {}).setdefault(m.info.subfamily, []).append(m)
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

        return f"<pre>{escape(repr(self))}</pre>"


catalogue = Catalogue()


def metric(name: str, **facts: Any) -> Callable[[Callable[..., Any]], Metric]:
    """Declare a metric whose formula is the decorated function.

    The annotation of the first argument of the formula determines what it reads: a `BinTable` (sums over bins of one score per row), a `View`
    (one score per row), a `VectorView` (the whole vector of probabilities) or a `Block` (some rows of the latter). A formula over blocks returns one number per row, and
    the metric is their weighted mean. Keyword-only arguments of the formula are the options of the metric. One whose formula reads a
    `BinTable`, or a `BinningRule` as its argument `rule`, has the options `bins` and `binning`.

    Parameters
    ----------
    name : str
        Name of the metric.
    **facts
        Fields of `Metric` and `MetricInfo`: `family`, `subfamily`, `range`, `ideal` and `cite` are required. Also defaults of options
        that differ from those of the formula, such as ``bins=10``.

    Returns
    -------
    callable
        Decorator that turns the formula into a `Metric` and adds it to the catalogue.

    Raises
    ------
    ArgumentError
        If the first argument of the formula has another annotation, an option has the name of a keyword of `Predictions`, or the
        identifier is taken.

    See Also
    --------
    preset : Derive a metric from another one.
    Metric : The facts of a metric.

    Examples
    --------
    >>> import calibrant as cal
    >>> @cal.metrics.metric("Mean absolute gap", family="example", subfamily="plug-in", range=(0, 1), ideal=None, cite="naeini2015")
    ... def example_gap(view: cal.views.View) -> float:
    ...     "Mean absolute difference between score and outcome."
    ...     return view.mean(abs(view.score - view.outcome))
    >>> example_gap([0, 1], [0.25, 0.75])
    0.25

    Remove the example from the catalogue:

    >>> del cal.catalogue._metrics["example_gap"]
    """

    def declare(formula: Callable[..., Any]) -> Metric:
        options = formula_options(formula)
        record, own = _split_facts({fact: value for fact, value in facts.items() if fact not in options})
        defaults = {option: facts[option] for option in options if option in facts}
        declared = Metric(formula, formula.__name__, name, defaults=defaults, facts=record, **own)
        catalogue.add(declared)
        return declared

    return declare


def _split_facts(facts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of `MetricInfo`, and those of `Metric`."""
    record = {name: value for name, value in facts.items() if name in INFO_FIELDS}
    return record, {name: value for name, value in facts.items() if name not in INFO_FIELDS}


def preset(base: Metric, id: str, name: str, **changes: Any) -> Metric:
    """Derive a metric from another one by changing defaults.

    Parameters
    ----------
    base : Metric
        Metric to start from.
    id : str
        Identifier of the new metric.
    name : str
        Name of the new metric.
    **changes
        New defaults of options, the lens, or other fields of `Metric` and `MetricInfo`.

    Returns
    -------
    Metric
        The new metric, which is also added to the catalogue.

    Raises
    ------
    ArgumentError
        If the identifier is taken.

    See Also
    --------
    metric : Declare a metric by its formula.

    Examples
    --------
    >>> import calibrant as cal
    >>> coarse = cal.metrics.preset(cal.ece, "example_coarse", "ECE, 5 bins", summary="Expected calibration error over five bins.", bins=5)
    >>> coarse.options["bins"]
    5

    Remove the example from the catalogue:

    >>> del cal.catalogue._metrics["example_coarse"]
    """
    options = {word: changes.pop(word) for word in base.options if word in changes}
    record, own = _split_facts(changes)
    derived = replace(base, id=id, name=name, defaults={**base.options, **options}, base=base.id, facts=record, **own)
    catalogue.add(derived)
    return derived
