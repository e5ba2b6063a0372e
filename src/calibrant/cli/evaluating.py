"""``calibrant evaluate``: evaluate a file, print the table, check the gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..evaluation.header import event_name
from ..evaluation.measure import LEVELS_KEYWORD, calibrated, choose_metrics, evaluate
from ..evaluation.result import Evaluation, MetricResult, numeric_columns
from ..input.frames import as_booleans
from ..input.predictions import Predictions
from ..metrics.registry import Metric
from ..sketches.collection import Sketches
from ..sketches.files.columns import check_class_order
from ..util.version import __version__
from .conditions import (
    Gates,
    check,
    check_metrics,
    gate_metrics,
    measure_named,
    metric_conditions,
    named_file,
    needs_interval,
    needs_test,
    places_of,
)
from .config import is_configured
from .gate_results import markdown_list, markdown_table, results_of
from .places import label_column
from .rows import is_sketch
from .screen import note_positive, print_json, print_lines, print_table
from .selecting import cell_options, lens_of, selection_of
from .source import load, split
from .streaming import read_stream
from .wording import in_options

if TYPE_CHECKING:
    from ..evaluation.group_validation import GroupValidation

# The default of --resamples.
RESAMPLES = 200
# Options that --for clinical excludes, and what to do instead of dropping them.
CLINICAL_REMEDIES = {
    "--by": "use calibrant report --for clinical --by for subgroups, or evaluate --by --pool for centres",
    "--pool": "drop --for clinical",
    "--trend": "drop --for clinical",
}
# Options that a validation study does not have.
NOT_CLINICAL = (
    *("metrics", "pool", "trend", "by", "assess", "calibrator", "stream"),
    *("bins", "binning", "gamma", "distance", "class_groups", "further"),
)


def run(
    file: str,
    *,
    time: str | None = None,
    event: str | None = None,
    horizons: tuple[float, ...] = (),
    cause: int | None = None,
    link: str | None = None,
    **options: Any,
) -> bool:
    """Evaluate and print; True if a gate failed."""
    gates = Gates.take(options)
    if time or event or horizons:
        from . import surviving

        survival: dict[str, Any] = {"time": time, "event": event, "horizons": horizons, "cause": cause, "link": link}
        return surviving.run(file, gates=gates, **survival, **options)
    for option, value in (("--cause", cause), ("--link", link)):
        if value is not None:
            raise ArgumentError(option, "has no effect without a time to event", "add --time, --event and --horizon")
    if options.pop("purpose", None) is None:
        return _evaluate(file, gates=gates, **options)
    for name in NOT_CLINICAL:
        value = options.pop(name, None)
        unset = value is None or value is False or value == {} or (name == "metrics" and value == "recommended")
        if not unset and not is_configured(name):
            option = "--option" if name == "further" else f"--{name.replace('_', '-')}"
            remedy = CLINICAL_REMEDIES.get(option, f"drop {option}")
            raise ArgumentError(option, "cannot be combined with --for clinical", remedy)
    return _clinical(file, gates=gates, **options)


def _evaluate(
    file: str,
    *,
    metrics: str,
    lens: str | None,
    bins: int | str | None,
    binning: str | None,
    gamma: float | None,
    distance: str | None,
    class_groups: str | None,
    selections: tuple[str, ...],
    further: dict[str, Any],
    interval: float | None,
    assess: bool,
    resamples: int,
    seed: int,
    as_json: bool,
    gates: Gates,
    calibrator: str | None = None,
    stream: bool | None = None,
    outcome: str | None = None,
    pool: bool = False,
    trend: bool = False,
    **source: Any,
) -> bool:
    if trend and not pool:
        raise ArgumentError("--trend", "requires --pool", "add --pool")
    if pool and source.get("by") is None:
        raise ArgumentError("--pool", "requires groups", "name their column with --by")
    conditions = metric_conditions(gates)
    names = [*(name.strip() for name in metrics.split(",")), *gate_metrics(conditions)]
    chosen = choose_metrics(names)
    interval = 0.95 if interval is None and needs_interval(conditions) else interval
    assess = assess or needs_test(conditions)
    cells = cell_options(chosen, gamma=gamma, distance=distance)
    where = selection_of(selections)
    sketches = read_stream(file, stream, *split(source))
    if sketches is not None:
        _check_sketches(sketches, lens, where, calibrator, pool)
        binning = _of_classes(binning, lens, sketches)
    keywords: dict[str, Any] = {"y_true": sketches}
    given: dict[str, Any] = {}
    if sketches is None:
        keywords = given = rows_of(file, source)
        keywords = {"y_true": Predictions(**given), "calibrator": calibrator}
        outcome = outcome or _outcome(given)
    options: dict[str, Any] = {
        "lens": lens_of(lens, class_groups),
        "bins": bins,
        "binning": binning,
        "interval": interval,
        "assess": assess,
        "outcome": outcome,
        "options": _of_metrics(further, chosen, pool),
        **cells,
        **_read_draws(resamples, seed, interval is not None or assess),
    }
    result = evaluate(
        keywords.pop("y_true"),
        metrics=names,
        where=where,
        **options,
        **keywords,
    )
    pooled = _pooled(given, calibrator, where, lens, interval, trend, further) if pool else None
    result = _spoken(result, None if sketches is None else file)
    plain = result.to_dict()
    given_options = {"lens": lens, "bins": bins, "binning": binning, "class_groups": class_groups, **cells, **further}
    given_options = {name: value for name, value in given_options.items() if value is not None}

    def of_sketch(sketches: Sketches) -> dict[str, Any]:
        return evaluate(sketches, metrics=names, **options).to_dict()

    checked = check_metrics(gates, conditions, plain, of_sketch, given_options, source.get("by"))
    title = f"calibrant evaluate {named_file(file)}"
    gates.stop(checked, title)
    if as_json:
        more = {} if pooled is None else {"pooled": pooled.to_dict()}
        content = {"calibrant": __version__, "file": file, **plain, **more, "options": given_options}
        print_json(content | results_of(checked))
    else:
        show(result, pooled)

    def details() -> list[str]:
        lines = markdown_list(*result.header.lines(), *result._dropped_lines())
        return [*lines, "", *markdown_table(*result.table())]

    return gates.finish(checked, title, details)


def _check_sketches(sketches: Sketches, lens: str | None, where: Any, calibrator: str | None, pool: bool) -> None:
    """Raise for options that require the rows."""
    if where is not None:
        raise ArgumentError("--select", "requires the rows", "use --no-stream, or --where")
    if calibrator is not None:
        remedy = "use --no-stream, or calibrant apply first"
        raise ArgumentError("--calibrator", "cannot be applied to a stream", remedy)
    if pool:
        raise ArgumentError("--pool", "requires the rows", "use --no-stream")
    if lens is not None:
        sketches.views(lens)  # raises if they do not have it, which would otherwise be a reason beside every metric


def _read_draws(resamples: int, seed: int, infers: bool) -> dict[str, int]:
    """The options of resampling; raise for those that have no effect."""
    if infers:
        return {"n_resamples": resamples, "rng": seed}
    changed = {"--resamples": resamples != RESAMPLES, "--seed": seed != 0}
    vain = next((option for option, differs in changed.items() if differs and not is_configured(option[2:])), None)
    if vain is not None:
        raise ArgumentError(vain, "has no effect without intervals or p-values", "add --interval or --assess")
    return {}


def _clinical(
    file: str,
    *,
    lens: str | None,
    selections: tuple[str, ...],
    interval: float | None,
    resamples: int,
    seed: int,
    as_json: bool,
    gates: Gates,
    outcome: str | None = None,
    **source: Any,
) -> bool:
    """Print the table of a validation study; True if a gate failed."""
    from ..evaluation.clinical import ROWS, clinical_summary

    conditions = gates.conditions(
        lambda name: measure_named(name, ROWS), lambda _: ("value", "low", "high"), "slope < 0.8"
    )
    keywords = rows_of(file, source)
    outcome = outcome or (_outcome(keywords) if lens in (None, "auto", "binary") else None)
    found = clinical_summary(
        Predictions(**keywords),
        level=0.95 if interval is None else interval,
        n_resamples=resamples,
        rng=seed,
        lens=lens or "auto",
        where=selection_of(selections),
        outcome=outcome,
    )
    checked = check(conditions, places_of(found.to_dict()), gates.earlier())
    title = f"calibrant evaluate {named_file(file)} --for clinical"
    gates.stop(checked, title)
    headings, rows = found._table()
    if as_json:
        print_json({"calibrant": __version__, "file": file, **found.to_dict(), **results_of(checked)})
    else:
        print_lines([found._title(), *found._dropped_lines(), ""])
        print_table(list(headings), [list(row) for row in rows], range(1, 4))
        print_lines([f"note: {note}" for note in found.notes])
    details = [*markdown_list(found._title(), *found._dropped_lines()), "", *markdown_table(headings, rows)]
    return gates.finish(checked, title, details)


def _pooled(
    keywords: Mapping[str, Any],
    calibrator: str | None,
    where: Any,
    lens: str | None,
    level: float | None,
    trend: bool,
    further: Mapping[str, Any],
) -> GroupValidation:
    """Validate each group of ``--by`` and pool the results."""
    from ..evaluation.group_validation import validate_by_group, validate_by_period

    p = Predictions(**keywords)
    p = p if calibrator is None else calibrated(p, calibrator)
    validate = validate_by_period if trend else validate_by_group
    edge = {name: value for name, value in further.items() if name == "edge"}
    return validate(p, where=where, lens=lens or "auto", level=0.95 if level is None else level, **edge)


def _of_metrics(further: dict[str, Any], chosen: list[Metric], pool: bool) -> dict[str, Any]:
    """The options of ``--option`` for the metrics; edge may be meant for the pooled estimates alone."""
    if pool and not any("edge" in metric.options for metric in chosen):
        return {name: value for name, value in further.items() if name != "edge"}
    return further


def _of_classes(binning: str | None, lens: str | None, sketches: Sketches) -> str | None:
    """The binning with the number of classes in place of K, which a sketch of the top label does not know."""
    if binning is None or "1/K" not in binning:
        return binning
    if len(sketches.classes) <= 2 or lens not in (None, "auto", "top_label"):
        problem = "'1/K' requires the confidence in one of several classes"
        raise ArgumentError("--binning", problem, "give the number, such as equal_width:0.5")
    return binning.replace("1/K", f"1/{len(sketches.classes)}")


def _outcome(keywords: Mapping[str, Any]) -> str | None:
    """Return the name of the event: the positive class, or the label column where the labels are 0 and 1."""
    positive = keywords.get("pos_label")
    classes = keywords.get("classes") if positive is None else [positive, positive]
    return event_name(classes, label_column()) or None


def _spoken(result: Evaluation, streamed: str | None) -> Evaluation:
    """The reasons for missing values in the terms of the command; `streamed` is a file that was not read as rows."""

    def spoken(found: MetricResult) -> MetricResult:
        if found.error is None:
            return found
        if streamed is not None and found.error.argument == "y_true":
            remedy = "evaluate the files that it summarizes" if is_sketch(streamed) else "use --no-stream"
            return replace(found, reason=f"{found.error.problem}; {remedy}")
        return replace(found, reason=in_options(found.error))

    results = tuple(map(spoken, result.results))
    groups = {name: _spoken(part, streamed) for name, part in result.groups.items()}
    remarks = tuple(text.replace(LEVELS_KEYWORD, "--bins levels") for text in result.remarks)
    found: Evaluation = result._replaced(results=results, groups=groups, remarks=remarks)
    return found


def rows_of(file: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for `Predictions` from the rows of a file and the options for its columns."""
    columns, given = split(source)
    options = {name: value for name, value in given.items() if name not in ("normalize", "clip")}
    found = load(file, columns, **options, event="confidence" not in source)
    keywords = named_classes(found, given.get("classes"), given.get("pos_label"))
    return keywords | {name: given.get(name, False) for name in ("normalize", "clip")}


def named_classes(keywords: dict[str, Any], classes: str | None, pos_label: str | None) -> dict[str, Any]:
    """Apply ``--classes`` and ``--pos-label`` to what was read from a file; of two columns, that of the positive class is last."""
    several = getattr(keywords["y_prob"], "ndim", 2) == 2
    own = list(keywords.get("classes", ())) if several else []
    by_place = keywords.pop("by_place", False)
    if by_place and classes is None and pos_label is None:
        note_positive(own)
    if classes is not None:
        given = like_labels([name.strip() for name in classes.split(",")], keywords["y_true"])
        if len(own) == 2 and [str(name) for name in given] == [str(name) for name in reversed(own)]:
            keywords["y_prob"] = keywords["y_prob"][:, ::-1]
            own = given
        check_class_order(given, own, "--classes")
        keywords["classes"] = own = given
    if pos_label is not None:
        positive = like_labels([pos_label], keywords["y_true"])[0]
        if len(own) == 2 and positive not in own:
            raise ArgumentError("--pos-label", f"must be one of the classes {own[0]}, {own[1]}; got {positive!r}")
        if len(own) == 2:
            turned = positive == own[0]
            keywords |= {"y_prob": keywords["y_prob"][:, ::-1], "classes": own[::-1]} if turned else {}
        else:
            keywords["pos_label"] = positive
    return keywords


def positive_class(keywords: dict[str, Any]) -> str:
    """The name of the positive class of two; empty for several classes, or if its only name is 1."""
    classes = keywords.get("classes", ())
    name = keywords.get("pos_label", classes[1] if len(classes) == 2 else "")
    return "" if [str(each) for each in classes] == ["0", "1"] and "pos_label" not in keywords else str(name)


def like_labels(names: list[str], labels: Any) -> list[Any]:
    """Names from the command line or from columns, converted to numbers or Booleans if the labels are."""
    if labels.dtype.kind == "b":
        return as_booleans(names) or list(names)
    if labels.dtype.kind not in "iuf":
        return list(names)
    try:
        return [int(name) if float(name).is_integer() else float(name) for name in names]
    except ValueError:
        return list(names)


def show(result: Evaluation, pooled: GroupValidation | None = None) -> None:
    """Print the header and the table, and the pooled estimates of groups."""
    print_lines([*result.header.lines(), *result._dropped_lines(), ""])
    headings, rows = result.table()
    print_table(headings, rows, range(2, len(headings) - 2))
    for title, headings, rows in result.group_tables() if result.has_many_groups else ():
        print_lines(["", *([title] if title else [])])
        print_table(headings, rows, numeric_columns(headings))
    print_lines(result.notes())
    if pooled is not None:
        print_lines(["", pooled._title()])
        print_table(*pooled._table(), pooled._numeric)
        print_lines(pooled._notes())
