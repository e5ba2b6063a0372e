"""``calibrant assess`` and ``calibrant compare``: significance tests, and comparison of models."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..errors import ArgumentError, ColumnError
from ..inference.comparison import Comparison, Difference, compare
from ..inference.significance import assess, assess_many
from ..metrics.registry import Metric, catalogue
from ..util.version import __version__
from .conditions import FIRST, Baseline, Condition, Gates, Place, check, named_file
from .config import is_configured
from .evaluating import named_classes, positive_class, rows_of
from .gate_results import Checked, fenced, results_of
from .listing import metric_named
from .screen import clean, print_json, print_lines, say
from .selecting import cell_options, lens_of, selection_of
from .source import load_each, split
from .streaming import read_stream


def run(
    file: str,
    *,
    metric: str | None,
    method: str | None,
    metrics: str | None,
    correction: str | None,
    alpha: float,
    lens: str | None,
    bins: int | str | None,
    binning: str | None,
    gamma: float | None,
    distance: str | None,
    class_groups: str | None,
    selections: tuple[str, ...],
    further: dict[str, Any],
    resamples: int,
    seed: int,
    as_json: bool,
    fail_if_rejected: bool,
    **source: Any,
) -> bool:
    """Test and print; True if the command has to fail because calibration was rejected."""
    gates = Gates.take(source, tested=fail_if_rejected, remedy="--fail-if-rejected")
    _check_words(metric, method, metrics, correction)
    chosen = [metric or "ecce_mad"] if metrics is None else [name.strip() for name in metrics.split(",")]
    asked = [metric_named(name, "--metric" if metrics is None else "--metrics") for name in chosen]
    if source.get("by"):
        _check_groups(asked)
    cells = cell_options(asked, gamma=gamma, distance=distance) | _own_options(further, asked)
    where = selection_of(selections)
    sketches = read_stream(file, False, *split(source))
    if sketches is not None and where is not None:
        raise ArgumentError("--select", "requires the rows", "evaluate the files that the sketch summarizes")
    keywords: dict[str, Any] = rows_of(file, source) if sketches is None else {"y_true": sketches}
    positive = positive_class(keywords if sketches is None else {"classes": sketches.classes})
    keywords |= {"alpha": alpha, "n_resamples": resamples, "rng": seed}
    keywords |= {**cells, **_given(lens=lens_of(lens, class_groups), bins=bins, binning=binning, where=where)}
    result: Any
    if metrics is None:
        result = assess(**keywords, metric=chosen[0], method=method or "auto")
        result = result._replaced(unused=_in_vain(result.unused, seed))
    else:
        result = assess_many(**keywords, metrics=chosen, correction=correction or "holm")  # type: ignore[arg-type]
    if as_json:
        plain = {**result.to_dict(), "rejected": result.rejected}
        print_json({"calibrant": __version__, "file": file, **_positive(positive), **plain})
    else:
        print_lines([*_positive_line(positive), *repr(result).split("\n")])
    rejected = ([result.metric] if result.rejected else []) if metrics is None else list(result.rejected)
    failed = fail_if_rejected and bool(rejected)
    if failed:
        say(clean(f"gate failed: {', '.join(rejected)} rejected at {alpha:g}"), err=True)
    ids = [each.id for each in asked] if fail_if_rejected else []
    tests = [Checked(f"{id} rejected at {alpha:g}", "", None, None, id in rejected) for id in ids]
    gates.finish([], f"calibrant assess {named_file(file)}", fenced(repr(result)), tests)
    return failed


def _own_options(further: dict[str, Any], metrics: list[Metric]) -> dict[str, Any]:
    """The options of ``--option``, for one metric."""
    if further and len(metrics) > 1:
        raise ArgumentError("--option", "applies to one metric", "use --metric")
    found = {}
    for key, value in further.items():
        name, dot, option = key.rpartition(".")
        if dot and metric_named(name, "--option").id != metrics[0].id:
            raise ArgumentError("--option", f"{name} is not evaluated", f"the metric is {metrics[0].id}")
        if option not in metrics[0].options:
            known = ", ".join(metrics[0].options) or "none"
            raise ArgumentError("--option", f"{metrics[0].id} has no {option!r}", f"the options are {known}")
        found[option] = value
    return found


def _check_words(metric: str | None, method: str | None, metrics: str | None, correction: str | None) -> None:
    if metrics is None:
        if correction is not None:
            raise ArgumentError("--correction", "applies to several metrics", "name them with --metrics")
    elif metric is not None:
        raise ArgumentError("--metrics", "cannot be combined with --metric", "give one of them")
    elif method is not None:
        raise ArgumentError("--method", "applies to one metric; several are tested on simulated labels", "use --metric")


def _check_groups(metrics: list[Metric]) -> None:
    """Raise if no metric uses the groups: a gate on them would pass silently."""
    if any("groups" in metric.needs for metric in metrics):
        return
    readers = [metric.id for metric in catalogue.values() if "groups" in metric.needs]
    asked = metrics[0].id if len(metrics) == 1 else "these metrics"
    raise ArgumentError(
        "--by",
        f"applies to metrics of groups ({', '.join(readers)}); {asked} would test all rows together",
        "drop it; --where selects one group, and evaluate --by measures each",
    )


def _in_vain(unused: tuple[str, ...], seed: int) -> tuple[str, ...]:
    """The options that were given and had no effect; a seed of 0 is the default of the command."""
    options = {"n_resamples": "--resamples"} | ({"rng": "--seed"} if seed and not is_configured("seed") else {})
    return tuple(options[word] for word in unused if word in options)


def _positive(name: str) -> dict[str, str]:
    return {"positive_class": name} if name else {}


def _positive_line(name: str) -> list[str]:
    return [f"positive class {name}"] if name else []


def _given(**keywords: Any) -> dict[str, Any]:
    return {word: value for word, value in keywords.items() if value is not None}


def run_compare(
    file: str,
    *,
    models: str,
    logits: bool,
    metric: str,
    level: float,
    cluster: str | None,
    lens: str | None,
    bins: int | str | None,
    binning: str | None,
    gamma: float | None,
    distance: str | None,
    class_groups: str | None,
    selections: tuple[str, ...],
    further: dict[str, Any],
    resamples: int,
    seed: int,
    as_json: bool,
    fail_if_worse: bool = False,
    **source: Any,
) -> bool:
    """Compare and print; True if a gate failed, or if ``--fail-if-worse`` was given and a model is worse than the first."""
    gates = Gates.take(source, tested=fail_if_worse)
    specs = [spec.strip() for spec in models.split(",")]
    if len(set(specs)) < max(2, len(specs)):
        raise ArgumentError("--models", f"must name two or more columns; got {models!r}", "for example p_old,p_new")
    asked = metric_named(metric, "--metric")
    cells = cell_options([asked], gamma=gamma, distance=distance) | _own_options(further, [asked])
    where = selection_of(selections)
    if fail_if_worse:
        _check_lower_is_better(asked)
    conditions = _conditions(gates, asked)
    scores = "logits" if logits else "probs"
    columns, given = split(source)
    choices = [replace(columns, **{scores: spec}, by=cluster) for spec in specs]
    try:
        options = {name: value for name, value in given.items() if name not in ("normalize", "clip")}
        parts = load_each(file, choices, **options)
    except ColumnError as error:
        names = {f"--{scores}": "--models", "--by": "--cluster"}
        raise error.replaced(names) from None
    _order_classes(parts, named=given["classes"] is not None)
    for part in parts:
        part["by_place"] = part.get("by_place", False) and part is parts[0]  # one note is enough
        named_classes(part, given["classes"], given["pos_label"])
    keywords = parts[0]
    positive = positive_class(keywords)
    probs = {_name(spec): part.pop("y_prob") for spec, part in zip(specs, parts, strict=True)}
    if "sum_tolerance" in keywords:
        keywords["sum_tolerance"] = max(part.get("sum_tolerance", 0.0) for part in parts)
    keywords |= {"level": level, "n_resamples": resamples, "rng": seed}
    keywords |= {
        "normalize": given["normalize"],
        "clip": given["clip"],
        **cells,
        **_given(lens=lens_of(lens, class_groups), bins=bins, binning=binning, where=where),
    }
    result = compare(models=probs, metric=metric, cluster=cluster is not None, **keywords)
    checked = _checked(conditions, result)
    title = f"calibrant compare {named_file(file)}"
    gates.stop(checked, title)
    if as_json:
        more = results_of(checked) if checked else {}
        print_json({"calibrant": __version__, "file": file, **_positive(positive), **result.to_dict(), **more})
    else:
        print_lines([*_positive_line(positive), *repr(result).split("\n")])
    first, *others = result.values
    worse = [name for name in others if fail_if_worse and _is_worse(result[first, name])]
    if worse:
        line = (
            f"gate failed: {', '.join(worse)} significantly worse than {first} by {result.metric} at level {level:.0%}"
        )
        say(clean(line), err=True)
    compared = others if fail_if_worse else []
    text = f"significantly worse than {first} by {result.metric} at level {level:.0%}"
    tests = [Checked(text, f" (model {name})", None, None, name in worse) for name in compared]
    failed = gates.finish(checked, title, fenced(repr(result)), tests)
    return failed or bool(worse)


def _conditions(gates: Gates, metric: Metric) -> list[Condition]:
    """The gates on the values of the metric, and on the difference from the first model."""

    def known(name: str) -> str:
        if name.lower() == "difference":
            return "difference"
        if metric_named(name, "--fail-if").id != metric.id:
            raise ArgumentError("--fail-if", f"{name} is not compared", f"use {metric.id} or difference, or --metric")
        return metric.id

    fields = {"difference": ("value", "low", "high", "pvalue")}
    # The first model is the baseline.
    return gates._replace(baseline=FIRST).conditions(
        known, lambda name: fields.get(name, ("value",)), f"{metric.id} > 1.05 * baseline"
    )


def _checked(conditions: list[Condition], result: Comparison) -> list[Checked]:
    first, *others = result.values
    places = [Place(name, {result.metric: {"value": value}}, word="model") for name, value in result.values.items()]
    baseline = Baseline(FIRST, [Place(name, places[0].measures) for name in result.values])
    differences = []
    for name in others:
        found = result[name, first]
        fields = {"value": found.difference, "low": found.low, "high": found.high, "pvalue": found.pvalue}
        differences.append(Place(name, {"difference": fields}, word="model"))
    checked = []
    for each in conditions:
        compared = differences if each.name == "difference" else places[1:] if each.references else places
        checked += check([each], compared, baseline)
    return checked


def _is_worse(found: Difference) -> bool:
    """Whether the first is significantly better than the second; an infinite loss is worse than any other."""
    if math.isnan(found.difference):
        raise ArgumentError(
            "--fail-if-worse",
            f"undecidable: the metric is infinite for {found.first} and {found.second}",
            "use --metric brier",
        )
    return found.high < 0 or found.difference == -math.inf


def _check_lower_is_better(metric: Metric) -> None:
    if metric.info.signed or not (metric.proper == "strictly" or metric.ideal == metric.range[0]):
        raise ArgumentError(
            "--fail-if-worse", f"requires a metric for which lower is better, unlike {metric.id}", "use --metric brier"
        )


def _name(spec: str) -> str:
    """The name of a model: its column, or the part of a pattern before the star."""
    return spec[:-1].rstrip("_.") or spec if spec.endswith("*") else spec


def _order_classes(parts: list[dict[str, Any]], *, named: bool) -> None:
    """Bring the columns of all models into the order of the classes of the first; `named` if an option names the classes."""
    first = parts[0].get("classes")
    for part in parts[1:]:
        own = part.get("classes")
        if own == first:
            continue
        if own is not None and first is not None and set(own) == set(first):
            part |= {"y_prob": part["y_prob"][:, [own.index(name) for name in first]], "classes": first}
        elif not named:
            raise ArgumentError("--models", f"the models have different classes: {first} and {own}", "use --classes")
