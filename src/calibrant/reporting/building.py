"""report: everything about one set of predictions, from the verdict to the provenance, in bounded time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..binning.table import check_interval
from ..decision.rows import check_level
from ..errors import (
    Argument,
    ArgumentError,
    CalibrantError,
    Drop,
    GroupError,
    InputError,
    InputTypeError,
    InPython,
    LensError,
)
from ..evaluation.measure import Evaluation, Inference, choose_metrics
from ..evaluation.result import Header
from ..inference.resampling import progress
from ..input.convert import is_frame, is_number
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..metrics.reliability_curve import calibration_curve
from ..sketches.collection import Sketches
from ..sketches.sketch import Sketch
from ..util.checks import check_whole
from ..util.results import number
from ..util.version import __version__
from ..views.keywords import check_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions, views_of
from ..views.selections import parse_selection
from ..views.view import VectorView, View
from .content import (
    BeforeAfter,
    Diagram,
    DiagramBin,
    MetricRow,
    Metrics,
    Provenance,
    Repairs,
    Threshold,
    Verdict,
    Weaknesses,
)
from .forms import Document, form_of
from .html import render_report
from .interactive import Interactive, interactive
from .measuring import measure
from .plain import markdown_of
from .provenance import trace
from .repairs import find_repairs, no_repairs
from .thresholding import find_threshold
from .verdict import ALPHA, TEST, judge
from .weaknesses import find_weaknesses

__all__ = ["Options", "Report", "build", "diagram_of", "report"]

BINS = 15
# Where one bin of equal width holds more than this, it would be the whole diagram.
CROWDED = 0.95


@dataclass(frozen=True)
class Options:
    """What a report was asked for, checked."""

    title: str
    metrics: list[Metric]
    lens: str | Lens | None
    level: float | None
    n_resamples: int
    seed: int
    repair: bool
    accuracy: float
    confidence_level: float

    @property
    def known_level(self) -> float:
        """Level of intervals that cost nothing, which are there in any case."""
        return 0.95 if self.level is None else self.level


@dataclass(frozen=True, repr=False)
class Report(Document):
    """Everything about one set of predictions, in the order in which it is read."""

    _hidden = ("cells",)

    title: str
    header: tuple[str, ...]
    """Rows, classes, accuracy and mean confidence, as lines of text."""
    verdict: Verdict
    diagram: Diagram
    metrics: Metrics
    weaknesses: Weaknesses
    repairs: Repairs
    threshold: Threshold
    provenance: Provenance
    cells: Interactive | None = field(default=None, compare=False)
    """What the page calculates from, made by `interactive.interactive`; in no other form, and None where no lens has a score."""
    before_after: BeforeAfter | None = None
    """Where the probabilities come from a calibrator: what it changed."""

    def to_html(self) -> str:
        """One self-contained page to open in a browser."""
        return render_report(self)

    def to_markdown(self) -> str:
        """The report to read as text, or to paste into a document."""
        return markdown_of(self)

    def _fields(self) -> dict[str, Any]:
        found = super()._fields()
        return found if self.before_after is not None else {k: v for k, v in found.items() if k != "before_after"}

    def _columns(self) -> dict[str, list[Any]]:
        return {f.name: [getattr(row, f.name) for row in self.metrics.rows] for f in fields(MetricRow)}

    def _title(self) -> str:
        return "\n".join([self.title, *(f"  {line}" for line in self.header), self.verdict.sentence])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        known = [(row.id, row.value, row.low, row.high) for row in self.metrics.rows]
        rows = [[id, *("" if value is None else number(value) for value in values)] for id, *values in known]
        return ["metric", "value", "low", "high"], rows


def report(
    y_true: Any,
    y_prob: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    by: Any = None,
    metrics: str | Metric | Iterable[str | Metric] = "recommended",
    lens: str | Lens | None = None,
    where: Any = None,
    interval: float | None = 0.95,
    n_resamples: int = 200,
    rng: Any = 0,
    title: str | None = None,
    repair: bool = True,
    accuracy: float = 0.95,
    confidence_level: float = 0.9,
    format: str | None = None,
    **words: Any,
) -> Report:
    """Say whether probabilities mean what they say, where not, what repairs it and which threshold to use; write it if asked.

    Parameters
    ----------
    y_true, y_prob
        Labels and probabilities; see `Predictions`, whose keywords are taken too. Or a `Sketch` or `Sketches`, with its groups.
    path
        Where to write it; the suffix .html, .md or .json says as what.
    by
        A group for each row, or the name of a column of the frame: each is looked at by itself.
    metrics
        ``"recommended"``, ``"all"``, or ids and aliases.
    lens
        Which question is asked; by default the positive class of two, the predicted class of more.
    where
        Which rows: a boolean mask or a Selection.
    interval
        Level of the intervals; None for none of the metrics.
    n_resamples, rng
        How many samples are drawn for intervals and p-values, and the seed of everything that is drawn.
    title
        Heading of the report.
    repair
        Whether maps are tried that could make the probabilities better.
    accuracy, confidence_level
        What the threshold promises: this accuracy of the rows accepted, with this probability.
    format
        ``"html"``, ``"md"`` or ``"json"``, where the suffix of `path` does not say it.

    Examples
    --------
    >>> from calibrant import make_miscalibrated, simulate
    >>> sure = make_miscalibrated(3000, warp=simulate.temperature(2.0), rng=0)
    >>> found = report(sure.y_true, sure.y_prob, metrics=["ece"])
    >>> found.verdict.sentence.split(";")[0]
    'Overconfident: says 75%, is right 66%'
    >>> found.to_markdown().splitlines()[0]
    '# Calibration report'
    """
    check_keywords(report, words)
    form = None if path is None else form_of(path, format)
    asked = read_options(title, metrics, lens, interval, n_resamples, rng, repair, accuracy, confidence_level)
    more: dict[str, Any] = {"by": _shown(by), "where": None if where is None else "given"}
    if isinstance(y_true, (Sketch, Sketches)):
        if y_prob is not None or by is not None or words:
            raise InputTypeError(
                "y_true", "a sketch cannot be combined with other arguments", InPython("pass the sketch alone")
            )
        y_true, more["rows"] = y_true.predictions(), f"{y_true.n:,}, read from a sketch: scores are the means of cells"
    p = parse_selection(where, grouped(y_true, y_prob, by, words))
    found = build(p, asked, more)
    if path is not None:
        found.write(path, format=form)
    return found


def read_options(
    title: Any,
    metrics: Any,
    lens: Any,
    interval: Any,
    n_resamples: Any,
    rng: Any,
    repair: Any,
    accuracy: Any,
    confidence_level: Any,
) -> Options:
    """The options of a report, checked before anything is calculated."""
    if interval is not None:
        if not is_number(interval):
            raise ArgumentError("interval", f"must lie between 0 and 1; got {interval!r}", "for example 0.95")
        check_interval(interval, "wilson", "interval")
    infer = Inference.read(interval, True, check_whole(n_resamples, "n_resamples"), rng)
    assert infer is not None
    if not isinstance(repair, bool):
        raise ArgumentError("repair", f"must be True or False; got {repair!r}")
    if title is not None and not isinstance(title, str):
        raise ArgumentError("title", f"must be text; got {type(title).__name__}")
    return Options(
        title=title or "Calibration report",
        metrics=choose_metrics(metrics),
        lens=lens,
        level=interval,
        n_resamples=infer.n_resamples,
        seed=infer.seed,
        repair=repair,
        accuracy=check_level(accuracy, "accuracy"),
        confidence_level=check_level(confidence_level, "confidence_level"),
    )


def grouped(y_true: Any, y_prob: Any, by: Any, words: dict[str, Any]) -> Predictions:
    """Checked predictions with the groups of `by`."""
    if by is not None:
        if "groups" in words:
            raise GroupError("by", ("cannot be combined with ", Argument("groups")), Drop("groups"))
        if isinstance(y_true, Predictions):
            raise GroupError("by", "cannot be combined with Predictions", InPython("pass Predictions(..., groups=...)"))
        if isinstance(by, str) and not is_frame(y_true):
            raise GroupError(
                "by", f"{by!r} is the name of a column, and the first argument is not a frame", "pass one group per row"
            )
        words = {**words, "groups": by}
    try:
        return as_predictions(y_true, y_prob, words)
    except InputError as error:
        if by is None or error.argument != "groups":
            raise
        raise error.replaced(argument="by") from None


def build(p: Predictions, asked: Options, more: dict[str, Any], known: Evaluation | None = None) -> Report:
    """Fill every section; one that has nothing to say carries the reason. Metrics that are `known` are not measured again."""
    views, notes = _main_views(p, asked.lens)
    with _staged(len(asked.metrics) + 2) as stage:
        diagram, table = _diagram(views, asked.level, notes)
        options = asked.metrics, asked.lens, asked.level, asked.n_resamples, asked.seed
        metrics, header = measure(p, *options, stage, known)
        stage()
        level = asked.known_level
        repairs = find_repairs(p, level, asked.seed) if asked.repair else no_repairs(p, level, "not asked for")
        stage()
        weaknesses = find_weaknesses(p, views, table, level)
        verdict = judge(p, views, repairs, asked.seed, weaknesses.found)
    return Report(
        title=asked.title,
        header=_header(p, header),
        verdict=verdict,
        diagram=diagram,
        metrics=metrics,
        weaknesses=weaknesses,
        repairs=repairs,
        threshold=find_threshold(p, asked.accuracy, asked.confidence_level, level),
        provenance=trace(p, __version__, asked.seed, _parameters(asked, more), _bounded(notes, metrics, repairs)),
        cells=_cells(p, asked.lens),
    )


def _header(p: Predictions, found: Header) -> tuple[str, ...]:
    """Its lines without the directions, which are the verdict's; counts are rows."""
    if p.weight_kind == "counts":
        found = replace(found, n=round(found.weight), weight=float(round(found.weight)))
    return tuple(line for line in found.lines() if line not in (found.direction, found.event))


def _bounded(notes: list[str], metrics: Metrics, repairs: Repairs) -> list[str]:
    """What was done on fewer rows, or left out."""
    found = list(notes)
    found += [note for note in metrics.notes if note.startswith("Left out")]
    if repairs.entries and repairs.rows < repairs.of:
        found.append(f"Maps were compared on {repairs.rows:,} of {repairs.of:,} rows.")
    return found


def _parameters(asked: Options, more: dict[str, Any]) -> dict[str, Any]:
    lens = asked.lens
    return {
        "metrics": [metric.id for metric in asked.metrics],
        "lens": lens.name if isinstance(lens, Lens) else lens,
        "interval": asked.level,
        "n_resamples": asked.n_resamples,
        "repair": asked.repair,
        "accuracy": asked.accuracy,
        "confidence_level": asked.confidence_level,
        "test": TEST,
        "alpha": ALPHA,
        "bins": BINS,
        **more,
    }


def _shown(by: Any) -> str | None:
    return None if by is None else by if isinstance(by, str) else "given"


def _main_views(p: Predictions, lens: str | Lens | None) -> tuple[list[View], list[str]]:
    """The yes-or-no questions that verdict, diagram and weaknesses are about."""
    views = views_of(p, "auto" if lens is None else lens)
    plain = [view for view in views if not isinstance(view, VectorView)]
    if len(plain) == len(views):
        return plain, []
    other = [view for view in views_of(p, "auto") if isinstance(view, View)]
    name = views[0].lens
    return other, [f"The lens {name} keeps whole vectors; verdict, diagram and weaknesses look at {other[0].lens}."]


def diagram_of(p: Predictions, lens: str | Lens | None, level: float | None) -> Diagram:
    """The reliability diagram of a report."""
    views, notes = _main_views(p, lens)
    return _diagram(views, level, notes)[0]


def _diagram(views: list[View], level: float | None, notes: list[str]) -> tuple[Diagram, Any]:
    """The diagram of one question, and its bins."""
    view = views[0]
    if len(views) > 1:
        reason = f"{len(views)} classes are {len(views)} diagrams: choose one with a lens such as {view.lens}"
        return Diagram((), "classwise", "equal_width", None, "clopper_pearson", tuple(notes), reason), None
    own = None if view.is_soft else level
    curve = calibration_curve(view, bins=BINS, interval=own)
    binning = "equal_width"
    extra = []
    if float(curve.table.share.max()) > CROWDED and view.score.min() < view.score.max():
        binning = "equal_mass"
        curve = calibration_curve(view, bins=BINS, binning="equal_mass", interval=own)
        extra = [
            f"More than {CROWDED:.0%} of the scores lie in one bin of equal width, so bins of equal size are shown."
        ]
    columns = {field.name: curve.to_dict()[field.name] for field in fields(DiagramBin)}
    if view.weight_kind == "counts":  # a reader counts the rows that a row stands for
        columns["rows"] = [round(weight) for weight in columns["weight"]]
    bins = tuple(DiagramBin(*row) for row in zip(*columns.values(), strict=True))
    if view.is_soft:
        extra.append("No intervals: the labels are soft.")
    return Diagram(bins, view.lens, binning, curve.level, curve.method, (*notes, *extra)), curve.table


def _cells(p: Predictions, lens: str | Lens | None) -> Any:
    try:
        return interactive(p, lens="auto" if lens is None else lens, bins=BINS)
    except LensError:
        return interactive(p, bins=BINS)
    except CalibrantError:
        return None


@contextmanager
def _staged(stages: int) -> Iterator[Callable[[], None]]:
    """Progress of the whole out of that of its parts: each stage has the same share, and what draws tells how far it is."""
    tell = progress.get()
    if tell is None:
        yield lambda: None
        return
    done = told = 0

    def part(now: int, count: int) -> None:
        nonlocal told
        # A stage that draws twice does not go back, and what draws after the last one does not go beyond it.
        told = min(max(told, 100 * done + (100 * now) // max(count, 1)), 100 * stages)
        tell(told, 100 * stages)

    def stage() -> None:
        nonlocal done, told
        done = min(done + 1, stages)
        told = 100 * done
        tell(told, 100 * stages)

    token = progress.set(part)
    try:
        yield stage
    finally:
        progress.reset(token)
