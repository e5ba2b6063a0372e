"""``calibrant evaluate --horizon``: predicted risks of a time to event, from a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import ArgumentError, ColumnError, UndefinedMetricError
from ..evaluation.survival import NAMES, SurvivalSummary, survival_summary
from ..input.convert import match_columns
from ..input.grouping import GroupColumns, check_length, group_columns, parse_by, plain_columns, read_groupings
from ..input.missing import Dropped
from ..sketches.files.columns import PROB_NAMES, Columns
from ..sketches.files.reading import PRINTED
from ..util.files import read_arrays
from ..util.version import __version__
from .conditions import Gates, Place, check, measure_named, named_file, places_of
from .config import is_configured
from .gate_results import markdown_list, markdown_table, results_of
from .places import remember_read
from .rows import kind_of_all, on_disk, open_rows
from .screen import print_json, print_lines, print_table
from .source import complete, factor_key, named_as_written, split, stack_columns, typed_groups
from .wording import in_options

RISK_NAMES = ("risk", *PROB_NAMES)
# Options that concern an outcome that is known for all rows, by the value without effect.
OTHERS: dict[str, Any] = {
    "label": None,
    "logits": None,
    "confidence": None,
    "counts": None,
    "classes": None,
    "pos_label": None,
    "normalize": False,
    "clip": False,
    "metrics": "recommended",
    "lens": None,
    "bins": None,
    "binning": None,
    "gamma": None,
    "distance": None,
    "class_groups": None,
    "further": {},
    "selections": (),
    "assess": False,
    "calibrator": None,
    "outcome": None,
    "purpose": None,
    "pool": False,
    "trend": False,
}


def run(
    file: str,
    *,
    time: str | None,
    event: str | None,
    horizons: tuple[float, ...],
    cause: int | None,
    link: str | None,
    interval: float | None,
    resamples: int,
    seed: int,
    as_json: bool,
    gates: Gates,
    stream: bool | None = None,
    **given: Any,
) -> bool:
    """Evaluate and print; True if a gate failed."""
    if not (time and event and horizons):
        missing = [
            option for option, value in (("--time", time), ("--event", event), ("--horizon", horizons)) if not value
        ]
        raise ArgumentError(missing[0], "is required for a time to event", "give --time, --event and --horizon")
    further = dict(given.get("further", {}))
    edge = further.pop("edge", "clip")
    given["further"] = further
    for name, default in OTHERS.items():
        if given.get(name, default) != default and not is_configured(name):
            option = {
                "selections": "--select",
                "purpose": "--for",
                "further": "--option",
                "confidence": "--confidence-column",
            }.get(name, f"--{name.replace('_', '-')}")
            raise ArgumentError(option, "cannot be combined with --horizon", "drop it")
    if stream:
        raise ArgumentError("--stream", "cannot be combined with --horizon", "use --no-stream")
    conditions = gates.conditions(
        lambda name: measure_named(name, NAMES), lambda _: ("value", "low", "high"), "calibration_slope < 0.8"
    )
    columns, source = split({name: value for name, value in given.items() if name not in OTHERS})
    arrays, dropped = _load(file, columns, time, event, **source)
    by = arrays.pop("by", None)
    options: dict[str, Any] = {
        "horizon": list(horizons) if len(horizons) > 1 else horizons[0],
        "cause": cause,
        "link": link or "logit",
        "edge": edge,
        "level": 0.95 if interval is None else interval,
        "n_resamples": resamples,
        "rng": seed,
    }
    parts = {"": survival_summary(**arrays, **options)}
    undefined: dict[str, str] = {}
    for name, rows in _groups(by):
        try:
            parts[str(name)] = survival_summary(**{word: values[rows] for word, values in arrays.items()}, **options)
        except UndefinedMetricError as error:
            undefined[str(name)] = in_options(error)
    whole = parts.pop("")
    plain = {**whole.to_dict(), "groups": {name: part.to_dict() for name, part in parts.items()}}
    places = places_of(plain) + [
        Place(name, {measure: {"reason": why} for measure in NAMES}) for name, why in undefined.items()
    ]
    checked = check(conditions, places, gates.earlier(), columns.by)
    title = f"calibrant evaluate {named_file(file)}"
    gates.stop(checked, title)
    if as_json:
        each = {name: part.to_dict() for name, part in parts.items()} | {
            name: {"error": why} for name, why in undefined.items()
        }
        groups = {"groups": each} if by is not None else {}
        left = {} if dropped is None else {"missing_values": dropped.to_dict()}
        print_json({"calibrant": __version__, "file": file, **whole.to_dict(), **left, **groups, **results_of(checked)})
    else:
        print_lines([] if dropped is None else [str(dropped)])
        show(whole)
        column = f"{columns.by} = " if by is not None and by.plain else ""
        for name, part in parts.items():
            print_lines(["", f"{column}{name}"])
            show(part)
        print_lines([f"{column}{name}: {why}" for name, why in undefined.items()])
    headings, rows = whole._table()
    stated = [*whole._title().split("\n"), *([] if dropped is None else [str(dropped)])]
    details = [*markdown_list(*stated), "", *markdown_table(headings, rows)]
    return gates.finish(checked, title, details)


def _groups(by: GroupColumns | None) -> Iterator[tuple[Any, Any]]:
    """The name and the rows of each group."""
    if by is None:
        return
    code, _, groupings = read_groupings(by, len(next(iter(by.values.values()))))
    for grouping in groupings:
        for place, name in enumerate(grouping.labels):
            yield name, grouping.place[code] == place


def show(result: SurvivalSummary) -> None:
    """Print the counts, the table and the notes."""
    print_lines([*result._title().split("\n"), ""])
    headings, rows = result._table()
    print_table(headings, rows, range(1, 4))
    print_lines(result._notes())


def _load(
    file: str,
    columns: Columns,
    time: str,
    event: str,
    where: str | None = None,
    format: str | None = None,
    table: str | None = None,
    drop_missing: bool = False,
) -> tuple[dict[str, Any], Dropped | None]:
    """Arguments for `survival_summary`, and the groups of ``--by``, from the columns of a file, and what was dropped."""
    with on_disk(file) as paths:
        kind = kind_of_all(paths, format)
        if kind == "npz":
            if where is not None:
                raise ArgumentError("--where", "does not apply to the arrays of an .npz file", "filter before saving")
            remember_read(paths, kind, where)
            arrays = read_arrays(paths[0], (time, event, columns.weight, columns.by))
            risks, named = _named(list(arrays), columns, time, event)
            given = group_columns(columns.by, list(arrays), arrays.__getitem__, "--by") if columns.by else None
            by = () if given is None else given.factors
            arrays |= {} if given is None else {factor_key(factor): values for factor, values in given.values.items()}
        else:
            with open_rows(paths, file, kind, where=where, table=table) as rows:
                by = parse_by(columns.by, rows.names, "--by") if columns.by else ()
                texts = plain_columns(columns.by, rows.names, "--by", quantiles=False)
                risks, named = _named(rows.names, columns, time, event)
                wanted = dict.fromkeys([*risks, *named.values()])
                arrays = rows.fetch([name for name in wanted if name not in texts], texts)
                for factor, values in typed_groups(by, rows).items():
                    check_length(factor, len(values), len(arrays[time]), "--by")
                    arrays[factor_key(factor)] = values
            if len(arrays[time]) == 0:
                raise rows.no_rows()
    every = list(dict.fromkeys(factor for each in by for factor in each))
    roles = {**dict.fromkeys(risks, "y_prob"), **{name: word for word, name in named.items()}}
    roles |= {factor_key(factor): "by" for factor in every}
    arrays, dropped = complete({name: arrays[name] for name in roles}, roles, drop=drop_missing)
    for factor in every if kind in PRINTED else ():
        if factor.kind == "column":
            arrays[factor.column] = named_as_written(arrays[factor.column])
    groups = GroupColumns(by, {factor: arrays[factor_key(factor)] for factor in every}) if by else None
    read = {
        "y_prob": stack_columns([arrays[name] for name in risks]),
        **{word: arrays[name] for word, name in named.items()},
    }
    return {**read, "by": groups}, dropped


def _named(existing: list[str], columns: Columns, time: str, event: str) -> tuple[list[str], dict[str, str]]:
    """The columns of the risks, and the other columns by argument."""
    options = {"--time": time, "--event": event, "--weight": columns.weight}
    words = {"--time": "time", "--event": "event", "--weight": "sample_weight"}
    named = {words[option]: match_columns(existing, [name], option)[0] for option, name in options.items() if name}
    if columns.prob and columns.probs:
        raise ArgumentError("--probs", "cannot be combined with --prob", "give one of them")
    if columns.prob or columns.probs:
        option = "--prob" if columns.prob else "--probs"
        spec = [part.strip() for part in (columns.prob or columns.probs or "").split(",")]
        risks = match_columns(existing, spec, option)
    else:
        lower = {name.lower(): name for name in reversed(existing)}
        risks = [lower[name] for name in RISK_NAMES if name in lower][:1]
        if not risks:
            remedy = f"name the column; the columns are {', '.join(existing[:20])}"
            raise ColumnError("--prob", "no column has a common name for risks", remedy)
    used = [*risks, *named.values(), *plain_columns(columns.by, existing, "--by")]
    twice = next((name for name in [*risks, *named.values()] if used.count(name) > 1), None)
    if twice is not None:
        raise ColumnError(twice, "the column is named for two purposes", "name different columns")
    return risks, named
