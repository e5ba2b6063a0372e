"""report: the calibration of predictions of one or several models, from the conclusion to the provenance, in bounded time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..binning.rules import BinningRule, EqualMass, EqualWidth
from ..binning.table import BinTable
from ..errors import ArgumentError, CalibrantError, LensError
from ..evaluation.header import outcome_of
from ..evaluation.result import Evaluation
from ..figures.base import MODELS_PARAMETERS, least_rows
from ..figures.models import ONE
from ..input.frames import check_same_rows
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..metrics.reliability_curve import calibration_curve
from ..plugins import installed
from ..sketches.collection import Sketches
from ..sketches.sketch import Sketch
from ..util.progress import loop
from ..util.results import Result, percent
from ..views.keywords import documents_keywords
from ..views.lenses import Lens, shared_name
from ..views.resolve import as_predictions, check_paired, paired_models, resolve, views_of
from ..views.view import VectorView, View
from .comparing import COMPARED, compare_models
from .content import (
    BeforeAfter,
    CalibratorTable,
    Clinical,
    ComparedModels,
    Diagram,
    DiagramBin,
    FeatureGaps,
    MetricRow,
    Metrics,
    Provenance,
    Section,
    Threshold,
    Verdict,
    Weaknesses,
)
from .feature_gaps import feature_charts, find_feature_gaps
from .forms import Form, framed
from .html import chart_texts, render_report, report_tiles
from .interactive import Interactive, benefit_columns, curve_columns, interactive
from .measuring import measure
from .overlay import report_sides
from .pictures import still, write_figures
from .plain import render_markdown
from .printing import docx_of, pdf_of
from .provenance import trace
from .recalibration import compare_calibrators, no_calibrators
from .sections import plugin_sections
from .settings import Settings
from .specs import png_of, svg_of
from .summary import summarize
from .tables import places_found, report_tables
from .thresholding import find_threshold
from .verdict import ALPHA, TEST, judge, recalibration_sentence
from .weaknesses import find_weaknesses
from .wording import mean_name, rate_name

BINS = 15
MOST_MODELS = 10
# With a larger share of the scores in one equal-width bin, bins of equal mass are used.
CROWDED = 0.95
# Below this observed rate of an event the diagram starts with logit axes.
RARE = 0.02


@dataclass(frozen=True, repr=False)
class Report(Result):
    """Calibration report; its sections are plain values. Of several models they describe the first, and ``comparison`` all of them.

    Returned by `report`. `to_html`, `to_markdown`, `to_model_card`, `to_json` and `save` render it, `save_figures` writes its charts, and `to_frame`
    has one row per metric and model.

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
        Confidence threshold with its guarantee.
    provenance : Provenance
        Versions, parameters, seed and fingerprint of the data.
    outcome : str
        Name of the positive class of two; empty where it has none.
    metadata : mapping of str to str
        Facts given by the user, such as model, version and owner.
    charts : Interactive or None
        Curves of the charts; only on the page and in pictures.
    before_after : BeforeAfter or None
        Effect of a calibrator, where the report describes calibrated probabilities.
    clinical : Clinical or None
        Validation of a risk model, with ``purpose="clinical"``: ``summary``, ``curve``, ``benefit`` and ``subgroups``.
    sections : tuple of Section
        Sections of plug-ins.
    features : FeatureGaps or None
        Subgroups found by features, where these are given, and the gap along the features.
    comparison : ComparedModels or None
        Several models side by side: ``sides``, ``metrics`` with all pairwise differences, and the ``reports`` of all models.

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

    _hidden = ("charts",)
    _formats = ("pdf", "docx")

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
    charts: Interactive | None = field(default=None, compare=False)
    before_after: BeforeAfter | None = None
    clinical: Clinical | None = None
    sections: tuple[Section, ...] = ()
    features: FeatureGaps | None = None
    comparison: ComparedModels | None = None

    @property
    def sentence(self) -> str:
        """Conclusion: that of the verdict, or of the comparison of several models."""
        return self.verdict.sentence if self.comparison is None else self.comparison.sentence

    @property
    def models(self) -> tuple[Report, ...]:
        """The report of each model; of a single one the report itself."""
        return (self,) if self.comparison is None else self.comparison.reports

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
            "report.md" if self.comparison is None else "comparison.md",
            report=self,
            comparison=self.comparison,
            tables=report_tables(self),
            best=recalibration_sentence(self.recalibration),
            places=places_found(self.weaknesses),
        )

    def to_model_card(self) -> str:
        """Render a section on calibration for a model card, as Markdown.

        Returns
        -------
        str
            Markdown text, from a heading of the second level on.
        """
        best = recalibration_sentence(self.recalibration)
        return render_markdown(
            "model_card.md",
            report=self,
            tables=report_tables(self),
            tiles=report_tiles(self),
            best="" if best in self.verdict.sentence else best,
        )

    def save_figures(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write each chart of the page as SVG and PNG.

        Parameters
        ----------
        folder : str or path-like
            Folder to write to; it is created.

        Returns
        -------
        list of Path
            The files.
        """
        more = {} if self.features is None else feature_charts(self.features)
        logit = self.diagram.scale == "logit"
        return write_figures(report_sides(self), chart_texts(self, self.diagram.lens), folder, more, logit=logit)

    def content(self, form: Form) -> bytes:
        """Render the report in one of its forms.

        Parameters
        ----------
        form : {"html", "md", "json", "pdf", "docx"}
            The form; a PDF is printed by an installed browser, and a Word document written by pandoc.

        Returns
        -------
        bytes
            The content of a file.
        """
        return self._content(form)

    def _content(self, format: str) -> bytes:
        if format == "pdf":
            return pdf_of(self.to_html())
        if format != "docx":
            return super()._content(format)
        overlay = report_sides(self)
        markdown, pictures = self.to_markdown(), {}
        if overlay.sides[0].series:
            shown = [side for side in overlay.sides if side.on and side.series]
            texts, logit = chart_texts(self, self.diagram.lens), self.diagram.scale == "logit"
            pictures["diagram.png"] = png_of(
                svg_of(still("isotonic", shown, overlay.sides[overlay.focus], texts, logit=logit))
            )
            heading = "## Reliability diagram\n" if "## Reliability diagram\n" in markdown else "## Metrics\n"
            markdown = markdown.replace(heading, f"{heading}\n![Reliability diagram](diagram.png)\n", 1)
        return docx_of(markdown, pictures)

    def _page(self) -> str:
        return self.to_html()

    def _markdown(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return framed(self.to_html(), super()._repr_html_())

    def __repr__(self) -> str:
        return self._title()

    def _fields(self) -> dict[str, Any]:
        optional = ("before_after", "clinical", "sections", "features", "comparison")
        return {
            name: part for name, part in super()._fields().items() if name not in optional or part not in (None, ())
        }

    def _columns(self) -> dict[str, list[Any]]:
        """One row per model and metric."""
        rows = [(report.title, row) for report in self.models for row in report.metrics.all_rows]
        columns = {f.name: [getattr(row, f.name) for _, row in rows] for f in fields(MetricRow)}
        return {"model": [ONE if self.comparison is None else name for name, _ in rows], **columns}

    def _title(self) -> str:
        lines = [f"{key}: {value}" for key, value in self.metadata.items()]
        if self.comparison is None:
            lines += self.header
        else:
            for p in self.comparison.sides:
                means = (
                    f"{mean_name(p.lens)} {percent(p.mean_score)}, {rate_name(p.lens, self.outcome)} {percent(p.rate)}"
                )
                lines.append(f"{p.name}: {p.rows:,} rows, {means}")
        return "\n".join([self.title, *(f"  {line}" for line in lines), self.sentence])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        table = report_tables(self)["metrics" if self.comparison is None else "Side by side"]
        return table.headings, table.cells


@documents_keywords(table=MODELS_PARAMETERS)
def report(
    y_true: Any,
    y_prob: Any = None,
    *,
    metrics: str | Metric | Iterable[str | Metric] = "recommended",
    purpose: str | None = None,
    lens: str | Lens | None = None,
    level: float | None = 0.95,
    n_resamples: int = 200,
    rng: Any = 0,
    title: str | None = None,
    outcome: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    recalibration: bool = True,
    features: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Report:
    """Report the calibration of predictions: conclusion, diagram, metrics, subgroups, recalibration and threshold.

    One test, chosen in advance, decides whether miscalibration is statistically significant. Subgroups are tested with an adjustment
    for their number, calibration methods are compared by cross-validation, and a confidence threshold is chosen that guarantees an
    accuracy of 95% of the accepted rows. Several models are compared on the same rows, with every pairwise difference, its confidence
    interval and an adjusted p-value; so are the scores of one before and after recalibration.
    Use it for a page to share; use `evaluate` for the metrics alone.

    Parameters
    ----------
    y_true
    y_prob
    metrics : {"recommended", "all"}, str, Metric or iterable of these, default "recommended"
        Metrics to compute, by id or alias. AUROC and average precision are always added. Of several models the first metric determines
        the best one, and the recommended ones are nll, brier, smece and ece.
    purpose : {"clinical"}, optional
        ``"clinical"`` for the validation of a risk model: the report has the table of `clinical.summary`, the flexible calibration curve
        and the decision curve, and speaks of risks; for one model.
    lens : str or Lens, optional
        Which binary event is evaluated; by default the positive class of two, else the top label.
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
        Whether to compare calibration methods on held-out data; for one model.
    features : frame, mapping of str to array-like, or array-like of shape (N, d), optional
        Features of each row, such as age and plan, among which `find_subgroups` searches for subgroups with a gap. By default those of
        ``Predictions(..., features=...)``; for one model.
    sample_weight
    pos_label

    Returns
    -------
    Report
        With the sections ``verdict``, ``diagram``, ``metrics``, ``weaknesses``, ``recalibration``, ``threshold`` and ``provenance``; of
        several models those of the first, and ``comparison`` with all of them. ``sentence`` is the conclusion.
        ``save("report.html")`` writes it; the suffix .html, .md, .json, .pdf or .docx determines the format; a PDF is printed by an
        installed browser, and a Word document written by pandoc.

    Raises
    ------
    ArgumentError
        If the value of an option is invalid.
    InputError
        If labels or probabilities are not valid.
    ShapeError
        If models have different numbers of rows or classes.

    See Also
    --------
    calibrant.compare : Differences of models alone.
    tripod : The items of TRIPOD+AI that the results of a validation answer.
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
    >>> y, good = [0, 1] * 100, [0.2, 0.8] * 100
    >>> report(y, {"good": good, "flat": [0.5] * 200}, metrics=["brier"]).sentence
    'good has the lowest Brier score, 0.04000 (difference from flat significant).'
    """
    several = isinstance(y_true, Mapping) or isinstance(y_prob, Mapping)
    settings = Settings(
        title=title,
        metrics=COMPARED if several and metrics == "recommended" else metrics,
        lens=lens,
        level=level,
        n_resamples=n_resamples,
        seed=rng,
        recalibration=recalibration,
        outcome=outcome,
        metadata=metadata,
        purpose=purpose,
    )
    if several:
        for argument, value in {"purpose": purpose, "features": features}.items():
            if value is not None:
                raise ArgumentError(argument, "is for one model", "report on each by itself")
        return build_models(paired_models(y_true, y_prob, sample_weight, pos_label), settings, {})
    data: Predictions | Sketch | Sketches
    if isinstance(y_true, (Sketch, Sketches)):
        resolve(y_true, y_prob, sample_weight, pos_label)
        data = y_true
    else:
        check_same_rows(y_true, {"features": features})
        data = as_predictions(y_true, y_prob, sample_weight, pos_label)
    return build(data, settings, {}, features=features)


def build(
    data: Predictions | Sketch | Sketches,
    settings: Settings,
    more: dict[str, Any],
    known: Evaluation | None = None,
    features: Any = None,
) -> Report:
    """Fill every section; an empty one has a reason. Metrics that are `known` are not computed again."""
    summary = summarize(data, whole=not any("groups" in metric.needs for metric in settings.metrics))
    p, grouped_rows = summary.rows, summary.grouped
    views, notes = _main_views(p, settings.lens)
    outcome = outcome_of(p, settings.outcome)
    level = settings.known_level
    with loop("sections", 3) as done:
        clinical = None
        if settings.purpose is not None:
            from .clinical import clinical_part  # its figures take long to import

            clinical = clinical_part(grouped_rows, settings, outcome)
        done(1)
        diagram, table, rule = _diagram(views, settings, notes)
        if settings.recalibration:
            calibrators = compare_calibrators(p, level, settings.seed)
        else:
            calibrators = no_calibrators(p, level, "not requested")
        charts = partial(charts_of, grouped_rows, settings, rule, clinical)
        metrics, header, curves = measure(p, settings, known, summary.sketches, charts)
        done(2)
        weaknesses = find_weaknesses(grouped_rows, _main_views(grouped_rows, settings.lens)[0], table, level, outcome)
        study = None if clinical is None else clinical.summary
        gaps = find_feature_gaps(data, features, settings)
        verdict = judge(p, views, calibrators, settings.seed, weaknesses, outcome, study, gaps)
    notes = [*notes, *(note for note in metrics.notes if note.startswith("Left out"))]
    if calibrators.entries and calibrators.rows < calibrators.of:
        notes.append(f"Calibration methods were compared on {calibrators.rows:,} of {calibrators.of:,} rows.")
    if p.weight_kind == "counts":  # counts are expanded
        header = replace(header, n=round(header.weight), weight=float(round(header.weight)))
    remarks = ["" if p.dropped is None else str(p.dropped), summary.sentence]
    sections = plugin_sections(grouped_rows)
    if packages := installed():
        more = {**more, "plugins": [f"{name} {version}".strip() for name, version in packages.items()]}
    parameters = {**settings.parameters(), "test": TEST, "alpha": ALPHA, "bins": BINS, **more}
    return Report(
        title=settings.title or (f"Calibration of P({outcome})" if outcome else "Calibration report"),
        header=(*header.lines(sentences=False), *filter(None, remarks)),
        verdict=verdict,
        diagram=diagram,
        metrics=metrics,
        weaknesses=weaknesses,
        recalibration=calibrators,
        threshold=find_threshold(p, settings.accuracy, settings.guarantee),
        provenance=trace(grouped_rows, settings.seed, parameters, notes, summary.sentence),
        outcome=outcome,
        metadata=settings.metadata,
        charts=curves,
        clinical=clinical,
        sections=sections,
        features=gaps,
    )


def build_models(models: Mapping[str, Predictions], settings: Settings, more: Mapping[str, Any]) -> Report:
    """Report on the first of several models, and compare all of them on the same rows; `more` are further parameters that the provenance states."""
    if not 2 <= len(models) <= MOST_MODELS:
        raise ArgumentError("y_prob", f"expected from 2 to {MOST_MODELS} sets of predictions; got {len(models)}")
    check_paired(models)
    reports = tuple(
        build(p, replace(settings, title=name, metadata={}, recalibration=False), dict(more))
        for name, p in models.items()
    )
    return replace(
        reports[0],
        title=settings.title or "Models compared",
        metadata=settings.metadata,
        comparison=compare_models(models, reports, settings),
    )


def _main_views(p: Predictions, lens: str | Lens | None) -> tuple[list[View], list[str]]:
    """Return the binary views for verdict, diagram and weaknesses."""
    views = views_of(p, "auto" if lens is None else lens)
    plain = [view for view in views if not isinstance(view, VectorView)]
    if len(plain) == len(views):
        return plain, []
    other = [view for view in views_of(p, "auto") if isinstance(view, View)]
    name = views[0].lens
    return other, [f"The lens {name} has no binary events; verdict, diagram and subgroups use {other[0].lens}."]


def _diagram(
    views: list[View], settings: Settings, notes: list[str]
) -> tuple[Diagram, BinTable | None, BinningRule | None]:
    """Return the diagram of one view, its bins and their rule."""
    view = views[0]
    kind = settings.diagram or ("smooth" if settings.purpose else "isotonic")
    if len(views) > 1:
        seen = shared_name(views)
        what = "cumulative probabilities" if seen == "ordinal" else "classes"
        reason = f"{len(views)} {what} have {len(views)} diagrams; choose one with a lens such as {view.lens}"
        return Diagram((), seen, "equal_width", None, tuple(notes), reason, kind), None, None
    extra = []
    least = least_rows(view)
    rule: BinningRule = EqualWidth(BINS, min_rows=least)
    share = rule.table(view).share
    if float(share.max()) > CROWDED and view.score.min() < view.score.max():
        rule = EqualMass(BINS, min_rows=least)
        extra = [f"More than {CROWDED:.0%} of the scores lie in one equal-width bin, so bins of equal mass are shown."]
    curve = calibration_curve(view, binning=rule, level=None if view.is_soft else settings.level)
    columns = {field.name: curve.to_dict()[field.name] for field in fields(DiagramBin)}
    if view.weight_kind == "counts":  # counts are expanded
        columns["rows"] = [round(weight) for weight in columns["weight"]]
    bins = tuple(DiagramBin(*row) for row in zip(*columns.values(), strict=True))
    if view.is_soft:
        extra.append("No intervals: the labels are soft.")
    rare = view.lens == "binary" and float(view.mean(view.raw_outcome)) < RARE
    diagram = Diagram(
        bins,
        view.lens,
        "equal_mass" if isinstance(rule, EqualMass) else "equal_width",
        curve.level,
        (*notes, *extra),
        kind=kind,
        scale="logit" if rare else "probability",
        min_rows=least,
    )
    return diagram, curve.table, rule


def charts_of(
    p: Predictions, settings: Settings, rule: BinningRule | None = None, clinical: Clinical | None = None
) -> Interactive | None:
    """Return the charts of the page; None where there are none. A validation study has its own smooth and decision curve."""
    charts: dict[str, Any] = {}
    if clinical is not None:
        charts["smooth"] = curve_columns(clinical.curve)
        if clinical.benefit is not None:
            charts["benefit"] = benefit_columns(clinical.benefit)
    more: dict[str, Any] = {"level": settings.known_level, "seed": settings.seed, "rule": rule, "clinical": charts}
    try:
        return interactive(p, lens="auto" if settings.lens is None else settings.lens, **more)
    except LensError:
        return interactive(p, **more)
    except CalibrantError:
        return None
