"""``calibrant assess`` and ``calibrant compare``: significance tests, and comparison of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from ..errors import ArgumentError, ColumnError
from ..evaluation.header import positive_class
from ..inference.comparison import compare
from ..inference.significance import assess, assess_many
from ..inference.verdicts import SignificanceResult
from ..input.predictions import Predictions
from ..sketches.collection import Sketches
from ..util.checks import least_simulations
from . import options
from .conditions import ANY, INTERVAL, Gates, Measure, Place, check, named_file
from .gate_results import Checked
from .listing import metric_named
from .screen import print_lines
from .selecting import Draws, MetricOptions
from .source import Source
from .streaming import read_stream


@options.command("assess")
@options.source_options(
    options.score_options,
    options.groups_option("Groups, for metrics that use groups: pce, fece, mcm, of all combinations."),
)
@click.option(
    "--metric", metavar="NAME", help="Id or alias of the test statistic; ecce_mad by default, ece with --tolerance."
)
@click.option(
    "--tolerance",
    type=float,
    metavar="NUMBER",
    help="Test whether the metric is within this distance of its ideal value, such as an error below 0.02; exits with 0 only if this is shown.",
)
@click.option(
    "--method",
    metavar="NAME",
    help="'consistency' simulates labels, 'enumeration' evaluates all outcomes, other names are tests of the metric; by default a test that "
    "is valid for these data.",
)
@click.option("--metrics", metavar="NAMES", help="Comma-separated metrics, all tested on the same simulated labels.")
@click.option(
    "--correction",
    type=click.Choice(["holm", "benjamini_hochberg", "min_p", "none"]),
    default="holm",
    show_default=True,
    help="Correction of p-values for several metrics.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance level of the test.")
@options.metric_options
@options.draw_options(999)
@options.json_option
@click.option("--fail-if-rejected", is_flag=True, help="Exit with 1 if calibration is rejected.")
@options.debug_option
def run(
    file: str,
    *,
    metric: str | None,
    tolerance: float | None,
    method: str | None,
    metrics: str | None,
    alpha: float,
    as_json: bool,
    fail_if_rejected: bool,
    **options: Any,
) -> bool:
    """Test whether the predictions in FILE are calibrated.

    The null hypothesis is that the labels follow the predicted probabilities. With --tolerance it is that they are not good enough.
    """
    gates, source = Gates.take(options), Source.take(file, options)
    metric_options, draws = MetricOptions.take(options), Draws.take(options)
    if metrics is not None and (metric is not None or method is not None):
        option = "--metric" if method is None else "--method"
        raise ArgumentError("--metrics", f"cannot be combined with {option}", "give one of them")
    if tolerance is not None and (metrics is not None or method is not None or fail_if_rejected):
        raise ArgumentError("--tolerance", "cannot be combined with --metrics, --method or --fail-if-rejected")
    default = "ecce_mad" if tolerance is None else "ece"
    names = [metric or default] if metrics is None else [name.strip() for name in metrics.split(",")]
    tested = [metric_named(name, "--metric" if metrics is None else "--metrics") for name in names]
    if source.columns.by and not any("groups" in each.needs for each in tested):
        problem = f"{', '.join(each.id for each in tested)} would be tested for all rows together"
        raise ArgumentError("--by", problem, "use evaluate --by ... --assess to test each group")

    keywords = {"alpha": alpha, **draws.keywords(), **metric_options.keywords_of(tested)}
    sketches = read_stream(source, False)
    data = source.read() if sketches is None else sketches
    result: Any
    if metrics is not None:
        result = assess_many(data, metrics=names, **options, **keywords)
    elif tolerance is not None:
        result = assess(data, metric=names[0], tolerance=tolerance, **keywords)
    else:
        result = assess(data, metric=names[0], method=method or "auto", **keywords)

    gate_results = []
    if tolerance is not None:
        passes, fails = (f"{result.metric} is {each}shown to be {result.claim}" for each in ("", "not "))
        gate_results = [Checked(fails, "", None, None, failed=not result.rejected, contrary=passes)]
    elif fail_if_rejected and metrics is None:
        gate_results = _rejection_gates([result], [result.metric] if result.rejected else [], alpha)
    elif fail_if_rejected:
        gate_results = _rejection_gates(result.results, result.rejected, alpha)
    output = {"file": file, **_positive_class(data), **result.to_dict(), "rejected": result.rejected}
    title = f"calibrant assess {named_file(file)}"
    return gates.conclude(gate_results, title, output if as_json else lambda: _show(result, data))


def _rejection_gates(results: Sequence[SignificanceResult], rejected: Sequence[str], alpha: float) -> list[Checked]:
    """Gates that fail where calibration is rejected, or an error if simulated p-values cannot be as small as the level."""
    least = max(result.least_pvalue for result in results)
    if alpha < least:
        problem = f"simulated p-values cannot fall below {least:.3g}, so that this gate could not fail"
        raise ArgumentError("--alpha", problem, f"use --resamples {least_simulations(alpha)} or more")
    metrics = [result.metric for result in results]
    texts = [(f"{name} rejected at {alpha:g}", f"{name} not rejected at {alpha:g}") for name in metrics]
    return [
        Checked(fails, "", None, None, failed=name in rejected, contrary=passes)
        for name, (fails, passes) in zip(metrics, texts, strict=True)
    ]


def _positive_class(data: Predictions | Sketches) -> dict[str, str]:
    """The name of the positive class of two."""
    name = positive_class(data)
    return {"positive_class": name} if name else {}


def _show(result: Any, data: Predictions | Sketches) -> None:
    print_lines([*(f"positive class {name}" for name in _positive_class(data).values()), *repr(result).split("\n")])


@options.command("compare")
@options.source_options(
    click.option(
        "--models",
        metavar="COLUMNS",
        required=True,
        help="Comma-separated columns of probabilities, one for each model; for several classes patterns such as 'old_*,new_*'.",
    ),
    click.option("--logits", is_flag=True, help="The columns contain logits."),
)
@click.option("--metric", metavar="NAME", default="brier", show_default=True, help="Id or alias of the metric.")
@options.level_option
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="Column with the cluster of each row, such as a patient; clusters are resampled as a whole.",
)
@options.metric_options
@options.draw_options(1000)
@options.json_option
@options.gate_options(
    'Exit with 1 if a condition on the metric of a model, such as "brier > 0.2", or on its difference from the first, such as '
    '"difference.low > 0", holds. Can be repeated.',
)
@options.debug_option
def run_compare(
    file: str,
    *,
    models: str,
    logits: bool,
    metric: str,
    level: float,
    cluster: str | None,
    as_json: bool,
    **options: Any,
) -> bool:
    """Compare models on the same rows of FILE.

    Prints every pairwise difference of a metric with its confidence interval and p-value.
    """
    gates, source = Gates.take(options), Source.take(file, options)
    metric_options, draws = MetricOptions.take(options), Draws.take(options)
    compared = metric_named(metric, "--metric")
    keywords = {"level": level, **draws.keywords(), **metric_options.keywords_of([compared])}

    def find_measure(name: str) -> Measure:
        if name.lower() == "difference":
            return Measure("difference", (*INTERVAL, "pvalue"))
        if metric_named(name, "--fail-if").id != compared.id:
            raise ArgumentError("--fail-if", f"{name} is not compared", f"use {compared.id} or difference, or --metric")
        return Measure(compared.id, range=ANY if metric_options.further else compared.range)

    conditions = gates.conditions(find_measure, "difference.low > 0")
    # A model is its column, or the part of a pattern before the star.
    specs, scores = [spec.strip() for spec in models.split(",")], "logits" if logits else "probs"
    if len(set(specs)) < max(2, len(specs)):
        raise ArgumentError("--models", f"must name two or more columns; got {models!r}", "for example p_old,p_new")
    names = [spec[:-1].rstrip("_.") or spec if spec.endswith("*") else spec for spec in specs]
    try:
        predictions = source.read_each([replace(source.columns, **{scores: spec}, by=cluster) for spec in specs])
    except ColumnError as error:
        raise error.replaced({f"--{scores}": "--models", "--by": "--cluster"}) from None
    first = predictions[0]
    result = compare(dict(zip(names, predictions, strict=True)), metric=metric, cluster=cluster is not None, **keywords)
    object.__setattr__(result, "dropped", first.dropped)  # results are frozen
    values = [
        Place(name, {compared.id: {"value": value}}, word="model") for name, value in result.values[compared.id].items()
    ]
    differences = []
    for name in names[1:]:
        change = result[name, names[0]]
        fields = {"value": change.difference, "low": change.low, "high": change.high, "pvalue": change.pvalue}
        differences.append(Place(f"{name} - {names[0]}", {"difference": fields}, word="difference"))
    gate_results = []
    for condition in conditions:
        gate_results += check([condition], differences if condition.name == "difference" else values)
    output = {"file": file, **_positive_class(first), **result.to_dict()} if as_json else lambda: _show(result, first)
    return gates.conclude(gate_results, f"calibrant compare {named_file(file)}", output)
