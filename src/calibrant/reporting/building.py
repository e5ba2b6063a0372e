"""report: the calibration of one set of predictions, from the conclusion to the provenance, in bounded time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..binning.rules import few_levels
from ..errors import (
    ArgumentError,
    CalibrantError,
    LensError,
)
from ..evaluation.evidence import Inference
from ..evaluation.header import check_outcome, outcome_of
from ..evaluation.measure import choose_metrics
from ..evaluation.result import Evaluation, Header
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..metrics.reliability_curve import calibration_curve
from ..sketches.collection import Sketches
from ..sketches.sketch import Sketch
from ..util.checks import check_choice, check_fraction, check_whole
from ..util.files import check_writable
from ..util.progress import loop
from ..util.version import __version__
from ..views.keywords import documents_keywords
from ..views.lenses import Lens, shared_name
from ..views.resolve import as_predictions, resolve, views_of
from ..views.view import VectorView, View
from .content import (
    BeforeAfter,
    CalibratorTable,
    Clinical,
    Diagram,
    DiagramBin,
    MetricRow,
    Metrics,
    Provenance,
    Threshold,
    Verdict,
    Weaknesses,
)
from .forms import Document, form_of
from .html import render_report
from .interactive import Interactive, interactive
from .measuring import measure
from .plain import render_markdown
from .provenance import trace
from .recalibration import compare_calibrators, no_calibrators
from .summary import summarize
from .tables import best_method, metric_table, places_found, report_tables, summary_table
from .thresholding import find_threshold
from .verdict import ALPHA, TEST, judge
from .weaknesses import find_weaknesses

BINS = 15
PURPOSES = ("clinical",)
# With a larger share of the scores in one equal-width bin, bins of equal mass are used.
CROWDED = 0.95


@dataclass(frozen=True)
class Options:
    """Checked options of a report."""

    title: str
    metrics: list[Metric]
    lens: str | Lens | None
    level: float | None
    n_resamples: int
    seed: int
    recalibration: bool
    accuracy: float
    guarantee: float
    outcome: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    purpose: str | None = None

    @property
    def known_level(self) -> float:
        """Level of the intervals that are always computed."""
        return 0.95 if self.level is None else self.level


@dataclass(frozen=True, repr=False)
class Report(Document):
    """Calibration report of one set of predictions; its sections are plain values.

    Returned by `report`. `to_html`, `to_markdown`, `to_json` and `save` render it, `to_frame` has one row per metric.

    Parameters
    ----------
    title : str
        Heading.
    header : tuple of str
        Number of rows, classes, accuracy and mean confidence, as lines of text.
    verdict : Verdict
        Conclusion: ``sentence``, ``headline``, ``direction``, ``mean_score``, ``rate``, ``pvalue``, ``detectable``.
    diagram : Diagram
        Reliability diagram: ``bins`` with mean score, rate and interval.
    metrics : Metrics
        Metrics with intervals and p-values; ``metrics["ece"]`` is one row.
    weaknesses : Weaknesses
        Classes, groups and ranges of scores, tested together.
    recalibration : CalibratorTable
        Calibration methods compared on held-out data.
    threshold : Threshold
        Confidence threshold with its guarantee, and other operating points.
    provenance : Provenance
        Versions, parameters, seed and fingerprint of the data.
    outcome : str
        Name of the positive class of two; empty where it has none.
    metadata : mapping of str to str
        Facts given by the user, such as model, version and owner.
    cells : Interactive or None
        Data of the interactive page; in no other form.
    before_after : BeforeAfter or None
        Effect of a calibrator, where the report describes calibrated probabilities.
    clinical : Clinical or None
        Validation of a risk model, with ``purpose="clinical"``: ``summary``, ``curve``, ``risks``, ``benefit``, ``subgroups`` and
        ``tripod``.

    See Also
    --------
    report : Create it.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.report([0, 1] * 50, [0.3, 0.6] * 50, metrics=["brier"], outcome="churn", metadata={"model": "A"})
    >>> found.outcome, found.metadata["model"], found.metrics["brier"].group
    ('churn', 'A', 'proper score')
    """

    _hidden = ("cells",)

    title: str
    header: tuple[str, ...]
    verdict: Verdict
    diagram: Diagram
    metrics: Metrics
    weaknesses: Weaknesses
    recalibration: CalibratorTable
    threshold: Threshold
    provenance: Provenance
    outcome: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    cells: Interactive | None = field(default=None, compare=False)
    before_after: BeforeAfter | None = None
    clinical: Clinical | None = None

    def to_html(self) -> str:
        """Render one self-contained HTML page.

        Returns
        -------
        str
            The page; it opens from disk without network access.
        """
        return render_report(self)

    def to_markdown(self) -> str:
        """Render the report as Markdown.

        Returns
        -------
        str
            Markdown text.
        """
        return render_markdown(
            "report.md",
            report=self,
            tables=report_tables(self),
            summary=None if self.clinical is None else summary_table(self.clinical.summary),
            best=best_method(self.recalibration),
            places=places_found(self.weaknesses),
        )

    def _fields(self) -> dict[str, Any]:
        found = super()._fields()
        return {
            name: part for name, part in found.items() if part is not None or name not in ("before_after", "clinical")
        }

    def _columns(self) -> dict[str, list[Any]]:
        return {f.name: [getattr(row, f.name) for row in self.metrics.all_rows] for f in fields(MetricRow)}

    def _title(self) -> str:
        facts = (f"{key}: {value}" for key, value in self.metadata.items())
        return "\n".join([self.title, *(f"  {line}" for line in (*facts, *self.header)), self.verdict.sentence])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        table = metric_table(self.metrics.all_rows, self.metrics.level, self.outcome)
        return table.headings, table.cells


@documents_keywords()
def report(
    y_true: Any,
    y_prob: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    metrics: str | Metric | Iterable[str | Metric] = "recommended",
    purpose: str | None = None,
    lens: str | Lens | None = None,
    where: Any = None,
    level: float | None = 0.95,
    n_resamples: int = 200,
    rng: Any = 0,
    title: str | None = None,
    outcome: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    recalibration: bool = True,
    accuracy: float = 0.95,
    guarantee: float = 0.9,
    format: str | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Report:
    """Report the calibration of predictions: conclusion, diagram, metrics, subgroups, recalibration and threshold.

    One test, chosen in advance, decides whether miscalibration is statistically significant. Subgroups are tested with an adjustment
    for their number, calibration methods are compared by cross-validation, and a confidence threshold is chosen with a guarantee.
    Use it for a page to share; use `evaluate` for the metrics alone.

    Parameters
    ----------
    y_true
    y_prob
    path : str or path-like, optional
        File to write; the suffix .html, .md or .json determines the format.
    metrics : {"recommended", "all"}, str, Metric or iterable of these, default "recommended"
        Metrics to compute, by id or alias. AUROC and average precision are always added.
    purpose : {"clinical"}, optional
        ``"clinical"`` for the validation of a risk model: the report opens with the table of `clinical.summary`, the flexible calibration
        curve, the distribution of the risks and the decision curve, and closes with the items of TRIPOD+AI.
    lens : str or Lens, optional
        Which binary event is evaluated; by default the positive class of two, else the top label.
    where
    level : float or None, default 0.95
        Confidence level of the intervals; None omits the intervals of the metrics.
    n_resamples : int, default 200
        Number of resamples for intervals and simulated p-values.
    rng : None, int or numpy.random.Generator, default 0
        Seed or random generator of all resamples, folds and subsets.
    title : str, optional
        Heading of the report.
    outcome : str, optional
        Name of the event that the positive class of two represents, such as ``"churn"``. By default the name of the positive class
        or, for labels 0 and 1, of the label column.
    metadata : mapping, optional
        Facts to show at the head of the report, such as ``{"model": "churn-gbm", "version": "3.2", "owner": "Risk"}``.
    recalibration : bool, default True
        Whether to compare calibration methods on held-out data.
    accuracy : float, default 0.95
        Accuracy of the accepted rows that the threshold guarantees.
    guarantee : float, default 0.9
        Probability with which the guarantee holds.
    format : {"html", "md", "json"}, optional
        Format of the file, if the suffix of `path` does not determine it.
    sample_weight
    pos_label

    Returns
    -------
    Report
        With the sections ``verdict``, ``diagram``, ``metrics``, ``weaknesses``, ``recalibration``, ``threshold`` and ``provenance``,
        and the methods ``to_html``, ``to_markdown``, ``to_json`` and ``save``.

    Raises
    ------
    ArgumentError
        If the value of an option is invalid.
    InputError
        If labels or probabilities are not valid.

    See Also
    --------
    compare_reports : Several models or periods side by side.
    calibrant.evaluate : The metrics alone.

    Notes
    -----
    The output is deterministic: the same input gives an identical file. Steps that would take too long for the number of rows use a random subset or are left out,
    which the report states. A `Sketch` or `Sketches` is accepted in place of rows; scores are then the means of its cells. More than
    1,000,000 rows of two classes are summarized in such a sketch, unless they have weights, soft labels or features; the report says so.

    Examples
    --------
    >>> from calibrant import report
    >>> from calibrant.inference import make_miscalibrated, simulation as simulate
    >>> data = make_miscalibrated(3000, warp=simulate.temperature(2.0), rng=0)
    >>> found = report(data.y_true, data.y_prob, metrics=["ece"])
    >>> found.verdict.headline
    'Overconfident: mean confidence 75%, accuracy 66%.'
    >>> found.to_markdown().splitlines()[0]
    '# Calibration report'
    """
    form = None if path is None else form_of(path, format)
    if path is not None:
        check_writable(path)
    options = read_options(
        title,
        metrics,
        lens,
        level,
        n_resamples,
        rng,
        recalibration,
        accuracy,
        guarantee,
        outcome,
        metadata,
        purpose,
    )
    grouped = isinstance(y_true, Predictions) and y_true.groups is not None
    more: dict[str, Any] = {"by": "given" if grouped else None, "where": None if where is None else "given"}
    data: Predictions | Sketch | Sketches
    if isinstance(y_true, (Sketch, Sketches)):
        resolve(y_true, y_prob, sample_weight, pos_label, where)
        data = y_true
    else:
        data = as_predictions(y_true, y_prob, sample_weight, pos_label, where)
    found = build(data, options, more)
    if path is not None:
        found.save(path, format=form)
    return found


def read_options(
    title: Any,
    metrics: Any,
    lens: Any,
    level: Any,
    n_resamples: Any,
    rng: Any,
    recalibration: Any,
    accuracy: Any,
    guarantee: Any,
    outcome: Any = None,
    metadata: Any = None,
    purpose: Any = None,
) -> Options:
    """Check the options of a report before anything is computed."""
    if level is not None:
        check_fraction(level, "level")
    infer = Inference.read(level, True, check_whole(n_resamples, "n_resamples"), rng)
    assert infer is not None
    check_choice(purpose, "purpose", (None, *PURPOSES))
    if not isinstance(recalibration, bool):
        raise ArgumentError("recalibration", f"must be True or False; got {recalibration!r}")
    if title is not None and not isinstance(title, str):
        raise ArgumentError("title", f"must be text; got {type(title).__name__}")
    return Options(
        title=title or "Calibration report",
        metrics=choose_metrics(metrics),
        lens=lens,
        level=level,
        n_resamples=infer.n_resamples,
        seed=infer.seed,
        recalibration=recalibration,
        accuracy=check_fraction(accuracy, "accuracy", 0.9),
        guarantee=check_fraction(guarantee, "guarantee"),
        outcome=check_outcome(outcome),
        metadata=_check_metadata(metadata),
        purpose=purpose,
    )


def _check_metadata(metadata: Any) -> dict[str, str]:
    """Return metadata as text by name."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise ArgumentError(
            "metadata", f"must be a mapping; got {type(metadata).__name__}", 'for example {"model": "churn-gbm"}'
        )
    for key, value in metadata.items():
        if not (isinstance(key, str) and key.strip()):
            raise ArgumentError(
                "metadata", f"has a key that is not text: {key!r}", 'for example {"model": "churn-gbm"}'
            )
        if isinstance(value, (Mapping, list, tuple, set)):
            raise ArgumentError("metadata", f"{key!r} must be one value; got {type(value).__name__}", "join it to text")
    return {key: str(value) for key, value in metadata.items()}


def build(
    data: Predictions | Sketch | Sketches, options: Options, more: dict[str, Any], known: Evaluation | None = None
) -> Report:
    """Fill every section; an empty one has a reason. Metrics that are `known` are not computed again."""
    summary = summarize(data, whole=not any("groups" in metric.needs for metric in options.metrics))
    p, grouped_rows = summary.rows, summary.grouped
    views, notes = _main_views(p, options.lens)
    outcome = outcome_of(p, options.outcome)
    with loop("sections", 3) as done:
        clinical = _clinical(grouped_rows, options, outcome)
        done(1)
        diagram, table = _diagram(views, options.level, notes)
        settings = options.metrics, options.lens, options.level, options.n_resamples, options.seed
        level = options.known_level

        def tried_calibrators() -> CalibratorTable:
            if options.recalibration:
                return compare_calibrators(p, level, options.seed)
            return no_calibrators(p, level, "not requested")

        metrics, header, tried = measure(p, *settings, known, options.outcome, tried_calibrators, summary.sketches)
        assert tried is not None
        done(2)
        weaknesses = find_weaknesses(grouped_rows, _main_views(grouped_rows, options.lens)[0], table, level, outcome)
        verdict = judge(p, views, tried, options.seed, weaknesses.found, outcome)
    return Report(
        title=options.title,
        header=_header(p, header, summary.sentence),
        verdict=verdict,
        diagram=diagram,
        metrics=metrics,
        weaknesses=weaknesses,
        recalibration=tried,
        threshold=find_threshold(p, options.accuracy, options.guarantee, level),
        provenance=trace(
            grouped_rows,
            __version__,
            options.seed,
            _parameters(options, more),
            _bounded(notes, metrics, tried),
            summary.sentence,
        ),
        outcome=outcome,
        metadata=options.metadata,
        cells=cells_of(grouped_rows, options.lens),
        clinical=clinical,
    )


def _clinical(p: Predictions, options: Options, outcome: str) -> Clinical | None:
    if options.purpose is None:
        return None
    from .clinical import clinical_part  # its figures take long to import

    settings = options.known_level, options.n_resamples, options.seed
    return clinical_part(p, options.lens, *settings, outcome, options.metadata)


def _header(p: Predictions, found: Header, sketch: str) -> tuple[str, ...]:
    """Return the lines of the header without the directions, which the verdict states; counts are expanded."""
    if p.weight_kind == "counts":
        found = replace(found, n=round(found.weight), weight=float(round(found.weight)))
    remarks = ["" if p.dropped is None else str(p.dropped), sketch]
    return (*found.lines(sentences=False), *filter(None, remarks))


def _bounded(notes: list[str], metrics: Metrics, tried: CalibratorTable) -> list[str]:
    """List the steps that used a subset of the rows, or were left out."""
    found = list(notes)
    found += [note for note in metrics.notes if note.startswith("Left out")]
    if tried.entries and tried.rows < tried.of:
        found.append(f"Calibration methods were compared on {tried.rows:,} of {tried.of:,} rows.")
    return found


def _parameters(options: Options, more: dict[str, Any]) -> dict[str, Any]:
    lens = options.lens
    return {
        "metrics": [metric.id for metric in options.metrics],
        "lens": lens.name if isinstance(lens, Lens) else lens,
        "level": options.level,
        "n_resamples": options.n_resamples,
        "recalibration": options.recalibration,
        "accuracy": options.accuracy,
        "guarantee": options.guarantee,
        "test": TEST,
        "alpha": ALPHA,
        "bins": BINS,
        **({} if options.purpose is None else {"purpose": options.purpose}),
        **more,
    }


def _main_views(p: Predictions, lens: str | Lens | None) -> tuple[list[View], list[str]]:
    """Return the binary views for verdict, diagram and weaknesses."""
    views = views_of(p, "auto" if lens is None else lens)
    plain = [view for view in views if not isinstance(view, VectorView)]
    if len(plain) == len(views):
        return plain, []
    other = [view for view in views_of(p, "auto") if isinstance(view, View)]
    name = views[0].lens
    return other, [f"The lens {name} has no binary events; verdict, diagram and subgroups use {other[0].lens}."]


def diagram_of(p: Predictions, lens: str | Lens | None, level: float | None) -> Diagram:
    """Return the reliability diagram of a report."""
    views, notes = _main_views(p, lens)
    return _diagram(views, level, notes)[0]


def _diagram(views: list[View], level: float | None, notes: list[str]) -> tuple[Diagram, Any]:
    """Return the diagram of one view, and its bins."""
    view = views[0]
    if len(views) > 1:
        seen = shared_name(views)
        what = "cumulative probabilities" if seen == "ordinal" else "classes"
        reason = f"{len(views)} {what} have {len(views)} diagrams; choose one with a lens such as {view.lens}"
        return Diagram((), seen, "equal_width", None, "clopper_pearson", tuple(notes), reason), None
    own = None if view.is_soft else level
    curve = calibration_curve(view, bins=BINS, level=own)
    binning = "equal_width"
    extra = []
    if float(curve.table.share.max()) > CROWDED and view.score.min() < view.score.max():
        binning = "equal_mass"
        curve = calibration_curve(view, bins=BINS, binning="equal_mass", level=own)
        extra = [f"More than {CROWDED:.0%} of the scores lie in one equal-width bin, so bins of equal mass are shown."]
    columns = {field.name: curve.to_dict()[field.name] for field in fields(DiagramBin)}
    if view.weight_kind == "counts":  # counts are expanded
        columns["rows"] = [round(weight) for weight in columns["weight"]]
    bins = tuple(DiagramBin(*row) for row in zip(*columns.values(), strict=True))
    if view.is_soft:
        extra.append("No intervals: the labels are soft.")
    levels = few_levels(view.raw_score, view.total if view.weight_kind == "counts" else None)
    if levels is not None and int((curve.table.rows > 0).sum()) < len(levels):
        extra.append(f"The {len(levels)} distinct scores share bins; evaluate with --bins levels has one bin for each.")
    return Diagram(bins, view.lens, binning, curve.level, curve.method, (*notes, *extra)), curve.table


def cells_of(p: Predictions, lens: str | Lens | None) -> Interactive | None:
    """Return the data of the interactive page; None where there are none."""
    try:
        return interactive(p, lens="auto" if lens is None else lens, bins=BINS)
    except LensError:
        return interactive(p, bins=BINS)
    except CalibrantError:
        return None
