"""``calibrant report``: a report on the predictions of one file, or of several models in several files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..clinical.performance import ROWS
from ..errors import ArgumentError
from ..evaluation.measure import evaluate
from ..input.predictions import Predictions
from ..reporting.building import Report, build, build_models
from ..reporting.comparing import COMPARED
from ..reporting.forms import Form, form_of
from ..reporting.settings import Settings
from ..reporting.tripod_items import tripod as tripod_items
from ..sketches.collection import Sketches
from ..util.files import check_writable, write_atomic
from . import options
from .conditions import (
    HEADER,
    Gates,
    check,
    gate_metrics,
    metric_conditions,
    named_file,
    needs_interval,
    needs_test,
    places_of,
)
from .config import used_configuration
from .gate_results import Checked
from .options import check_replaceable
from .pairing import pair_rows
from .screen import clean, print_lines, say
from .selecting import Draws
from .source import Source, is_expression
from .streaming import is_large, not_streamed, read_stream


@options.command("report")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.column_options(
    options.score_options,
    options.groups_option("Groups that are also tested and reported."),
)
@options.written_option(
    "--out",
    printed=True,
    help="Where to write: .html, .md, .json, .pdf (printed by an installed browser) or .docx (by pandoc), or - to print; "
    "report.html by default.",
)
@click.option(
    "--as",
    "form",
    type=click.Choice(["html", "md", "json", "pdf", "docx"]),
    help="Format of the report, if --out does not imply it.",
)
@click.option(
    "--id",
    "id_column",
    metavar="COLUMN",
    help="With several files: column that has the same id for the same row in every file; by default a column such "
    "as id or row_id that all files have, else rows are paired by their order.",
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["clinical"]),
    help="clinical: the report opens with the table, calibration curve and decision curve of a validation study.",
)
@options.written_option(
    "--tripod", suffixes=(".md",), help="As --for clinical, and also write the items of TRIPOD+AI to this .md file."
)
@options.written_option(
    "--model-card", suffixes=(".md",), help="Also write a section for a model card to this .md file."
)
@options.written_option("--figures", folder=True, help="Also write each chart to this folder, as SVG and PNG.")
@click.option(
    "--diagram",
    type=click.Choice(["isotonic", "bins", "smooth", "cumulative"]),
    help="Calibration curve that the page shows first; by default isotonic, or smooth with --for clinical.",
)
@click.option("--title", metavar="TEXT", help="Heading of the report.")
@options.outcome_option
@options.features_option
@options.meta_option
@click.option("--metrics", metavar="NAMES", default="recommended", help=options.METRIC_NAMES)
@click.option("--lens", help="What is evaluated: top_label, class:NAME, ...")
@options.level_option
@click.option(
    "--recalibration/--no-recalibration",
    default=True,
    show_default=True,
    help="Compare calibration methods on held-out data.",
)
@click.option("--accuracy", type=float, default=0.95, show_default=True, help="Accuracy that the threshold guarantees.")
@options.guarantee_option
@options.draw_options(200)
@options.gate_options(
    'Exit with 1, after the report was written, if a condition such as "ece.high > 0.05" holds for all rows or a group of --by. Can be '
    "repeated.",
)
@options.debug_option
def run(files: tuple[str, ...], *, id_column: str | None, **options: Any) -> bool:
    """Write a report on the predictions in FILE: calibration, metrics, subgroups, recalibration and threshold.

    Several files are the predictions of models on the same rows, which the report compares.
    """
    gates, source = Gates.take(options), Source.take(files[0], options)
    features = options.pop("features")
    several = len(files) > 1
    if several and "-" in files:
        raise ArgumentError(
            "-", "standard input can be read only once, and several files are required", "name the files"
        )
    single = {
        "--fail-if": gates.texts,
        "--for": options["purpose"],
        "--model-card": options["model_card"],
        "--features": features,
    }
    stated = [name for name, value in single.items() if value]
    if several and stated:
        raise ArgumentError(stated[0], "cannot be combined with several files", "report on one file")
    output = Output.take(options)
    if output.tripod is not None:
        options["purpose"] = "clinical"
    metrics, draws = options.pop("metrics"), Draws.take(options)
    names = COMPARED if several and metrics == "recommended" else [name.strip() for name in metrics.split(",")]
    settings = Settings(metrics=names, n_resamples=draws.resamples, seed=draws.seed, **options)
    more = {"files": [named_file(file) for file in files], "by": source.columns.by, "where": source.where}
    more |= used_configuration()
    if several:
        output.write(build_models(_models(files, source, id_column), settings, more), {})
        return False
    check_gates = _read_gates(gates, source, settings)
    data = source.read() if features else _read(source)
    columns = source.read_features(features, data) if features and isinstance(data, Predictions) else None
    report = build(data, settings, more, features=columns)
    texts = {} if output.model_card is None else {output.model_card: report.to_model_card()}
    if output.tripod is not None:
        assert report.clinical is not None
        model = report.metadata.get("model", "")
        texts[output.tripod] = tripod_items(report.clinical.summary, outcome=report.outcome or None, model=model)
    output.write(report, texts)
    return gates.finish(check_gates(data, report), f"calibrant report {named_file(files[0])}")


class Output(NamedTuple):
    """Where a report is written, or - to print it, and the files beside it."""

    target: str
    form: Form
    figures: str | None
    model_card: str | None
    tripod: str | None

    @classmethod
    def take(cls, options: dict[str, Any]) -> Output:
        """Take the options of the output from those of a command."""
        out, form = options.pop("out"), options.pop("form")
        if out == "-" and form in ("pdf", "docx"):
            raise ArgumentError("--out", f"a {form} cannot be printed", "name a file")
        target = out or f"report.{form or 'html'}"
        try:
            form = form_of("x.md" if target == "-" else target, form)
        except ArgumentError as error:
            remedy = "end it in .html, .md, .json, .pdf or .docx, or use --as"
            raise error.replaced(argument="--out", remedy=remedy) from None
        if out is None:  # the others are checked with the options
            check_writable(target)
            check_replaceable("--out", target, "a document")
        return cls(target, form, *(options.pop(name) for name in ("figures", "model_card", "tripod")))

    def write(self, report: Report, texts: Mapping[str, str]) -> None:
        """Write or print the report, and write texts by their paths and the figures."""
        content = report.content(self.form)
        paths = [write_atomic(path, text.encode()) for path, text in texts.items()]
        if self.figures is not None:
            report.save_figures(self.figures)
            paths.append(Path(self.figures))
        if self.target == "-":
            say(content.decode(), nl=False)
            return
        names = [str(path) for path in (write_atomic(self.target, content), *paths)]
        sketches = dict.fromkeys(each.provenance.sketch for each in report.models)
        print_lines([report.sentence, *filter(None, sketches)])
        say(clean(f"Wrote {', '.join(names[:-1])} and {names[-1]}." if len(names) > 1 else f"Wrote {names[0]}."))


def _read_gates(gates: Gates, source: Source, settings: Settings) -> Callable[[Any, Report], list[Checked]]:
    """A function that checks the gates, on metrics and on the table of a validation study, for data and their report."""
    study = [name for name in ROWS if name not in HEADER] if settings.purpose is not None else []
    conditions = metric_conditions(gates, study)
    clinical = [each for each in conditions if each.name in study]
    on_metrics = [each for each in conditions if each.name not in study]

    def check_all(data: Predictions | Sketches, report: Report) -> list[Checked]:
        checked: list[Checked] = []
        if clinical:  # the table of a validation study is about all rows
            assert report.clinical is not None
            checked += check(clinical, places_of(report.clinical.summary.to_dict()))
        if on_metrics:
            level = settings.level if needs_interval(on_metrics) else None
            evaluation = evaluate(
                data,
                metrics=gate_metrics(on_metrics) or ["brier"],
                lens=settings.lens,
                level=level,
                assess=needs_test(on_metrics),
                n_resamples=settings.n_resamples,
                rng=settings.seed,
            )
            checked += check(on_metrics, places_of(evaluation.to_dict()), source.columns.by)
        return checked

    return check_all


def _read(source: Source) -> Predictions | Sketches:
    """The rows of a file; the sketches of one that is too large for memory, or that holds them."""
    path, columns = Path(source.file), source.columns
    plain = not not_streamed(source) and not any(map(is_expression, (columns.label, columns.prob)))
    sketches = read_stream(source, plain and path.is_file() and is_large(path))
    return source.read() if sketches is None else sketches


def _models(files: tuple[str, ...], source: Source, id_column: str | None) -> Mapping[str, Predictions]:
    """Predictions by the names of their files, or by their paths if two files have the same name."""
    stems = [Path(file).stem for file in files]
    names = stems if len(set(stems)) == len(files) else list(files)
    if len(set(names)) < len(files):
        raise ArgumentError("FILE", "the same file is given twice", "name each file once")
    sources = [replace(source, file=file) for file in files]
    models = {}
    for name, each in zip(names, sources, strict=True):
        sketches = read_stream(each, False)
        models[name] = each.read() if sketches is None else sketches.predictions()
    return pair_rows(models, sources, id_column)
