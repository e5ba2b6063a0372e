"""``calibrant metrics``: the catalogue as a tree, one entry in full, or the metrics recommended for a use case."""

from __future__ import annotations

import click

from .. import catalogue
from ..errors import ArgumentError, CalibrantError
from ..evaluation.recommendation import recommend
from ..metrics.registry import Metric
from . import options
from .screen import print_json, print_lines


@options.command("metrics")
@click.argument("name", required=False)
@click.option(
    "--for",
    "use_case",
    metavar="USE_CASE",
    help="Only the metrics recommended for a use case, the best first, and why: classwise, multiclass, direction, local, analysis, "
    "parameter-free, safety, comparison, familiar or clinical.",
)
@options.json_option
@options.debug_option
def run(name: str | None, use_case: str | None, as_json: bool) -> None:
    """List the metrics, or describe the metric NAME: definition, range, defaults, cautions and reference.

    NAME is an id, or a name of the literature such as "Kuiper statistic".
    """
    if name is not None and use_case is not None:
        raise ArgumentError("NAME", "cannot be combined with --for", "give either NAME or --for")
    if use_case is not None:
        recommended = recommend(use_case)
        if as_json:
            print_json(recommended.to_dict())
        else:
            print_lines(repr(recommended).split("\n"))
    elif name is not None:
        metric = metric_named(name, "NAME")
        if as_json:
            print_json({**metric.to_dict(), "properties": metric.properties})
        else:
            print_lines(describe(metric))
    elif as_json:
        print_json([metric.to_dict() for metric in catalogue.values()])
    else:
        closing = "`calibrant metrics NAME` describes one metric; `calibrant metrics --for USE_CASE` recommends some."
        print_lines([*repr(catalogue).split("\n"), "", closing])


def metric_named(name: str, option: str) -> Metric:
    """The metric of this name; errors name the option or argument."""
    try:
        return catalogue[name]
    except CalibrantError as error:
        raise error.replaced(argument=option) from None


def describe(metric: Metric) -> list[str]:
    """A metric's entry as text."""
    low, high = metric.range
    facts = {
        "meaning": metric.summary,
        "range": f"{low:g} to {high:g}" + ("" if metric.ideal is None else f", ideal {metric.ideal:g}"),
        "family": f"{metric.info.family}, {metric.info.subfamily}",
        "also called": ", ".join(metric.info.names),
        "lens": metric.lens,
        "options": ", ".join(f"{keyword}={value!r}" for keyword, value in metric.options.items()),
        "proper": metric.proper,
        "direction": "" if metric.sides is None else f"{metric.sides[0]} above the ideal, {metric.sides[1]} below",
        "tests": ", ".join(metric.tests),
        "weights": " and ".join(
            kind for kind, has in (("counts", metric.counts), ("sample_weight", metric.importance)) if has
        ),
        "needs": ", ".join(metric.needs),
        "cost": metric.info.cost,
        "advantages": metric.info.strengths,
        "cautions": metric.info.limits,
        "notes": metric.info.notes,
        "properties": ", ".join(name.replace("_", " ") for name, has in metric.properties.items() if has),
        "certainty": metric.info.certainty,
        "reference": metric.reference,
    }
    return [f"{metric.id}: {metric.name}", *(f"  {name + ':':<12} {text}" for name, text in facts.items() if text)]
