"""``calibrant evaluate --horizon``: predicted risks of a time to event, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ArgumentError, ColumnError, FileError, UndefinedMetricError
from ..evaluation.survival import NAMES, SurvivalSummary, survival_summary
from ..input.convert import match_columns
from ..input.missing import Dropped
from ..input.weights import read_groups
from ..sketches.files.columns import PROB_NAMES, Columns, lossless, quoted
from ..sketches.files.reading import PRINTED
from ..util.files import read_npz
from ..util.version import __version__
from .conditions import Gates, Place, check, markdown_table, measure_named, named_file, places_of, results_of
from .config import is_configured
from .places import remember_read
from .rows import connect, kind_of_all, on_disk, open_rows
from .screen import print_json, print_lines, print_table, resampling_bar, warnings_as_lines
from .source import complete, named_as_written, split, stacked
from .wording import in_options

__all__ = ["run"]

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
    "budget": 60.0,
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
    if by is not None:
        code, names = read_groups(by, len(by))
        assert code is not None
    options: dict[str, Any] = {
        "horizon": list(horizons) if len(horizons) > 1 else horizons[0],
        "cause": cause,
        "link": link or "logit",
        "level": 0.95 if interval is None else interval,
        "n_resamples": resamples,
        "rng": seed,
    }
    with warnings_as_lines(), resampling_bar():
        parts = {"": survival_summary(**arrays, **options)}
        undefined: dict[str, str] = {}
        for place, name in [] if by is None else enumerate(names):
            rows = code == place
            try:
                parts[str(name)] = survival_summary(
                    **{word: values[rows] for word, values in arrays.items()}, **options
                )
            except UndefinedMetricError as error:
                undefined[str(name)] = in_options(error)
    whole = parts.pop("")
    plain = {**whole.to_dict(), "groups": {name: part.to_dict() for name, part in parts.items()}}
    places = places_of(plain) + [
        Place(name, {measure: {"reason": why} for measure in NAMES}) for name, why in undefined.items()
    ]
    checked = check(conditions, places, gates.earlier(), columns.by)
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
        for name, part in parts.items():
            print_lines(["", f"{columns.by} = {name}"])
            show(part)
        print_lines([f"{columns.by} = {name}: {why}" for name, why in undefined.items()])
    headings, rows = whole._table()
    details = [*whole._title().split("\n"), "", *markdown_table(headings, rows)]
    return gates.finish(checked, f"calibrant evaluate {named_file(file)}", details)


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
    text = [("--by", columns.by)] if columns.by else []
    with on_disk(file) as paths:
        kind = kind_of_all(paths, format)
        if kind == "npz":
            if where is not None:
                raise ArgumentError("--where", "does not apply to the arrays of an .npz file", "filter before saving")
            remember_read(paths, kind, where)
            arrays = read_npz(Path(paths[0]))
            risks, named = _named(list(arrays), columns, time, event)
        else:
            connection = connect()
            try:
                rows = open_rows(connection, paths, file, kind, where=where, table=table, as_text=text)
                risks, named = _named(rows.names, columns, time, event)
                wanted = dict.fromkeys([*risks, *named.values()])
                listed = [
                    f"{lossless(n, rows.types[n])} AS {quoted(n)}" if n == columns.by else quoted(n) for n in wanted
                ]
                arrays = rows.execute(f"SELECT {', '.join(listed)} FROM {rows.sql}").fetchnumpy()  # noqa: S608 - quoted names
            finally:
                connection.close()
            if len(arrays[time]) == 0:
                remedy = "relax --where" if where is not None else "check the program that wrote it"
                raise FileError(file, "has no rows" + (" that satisfy --where" if where is not None else ""), remedy)
    roles = {**dict.fromkeys(risks, "y_prob"), **{name: word for word, name in named.items()}}
    arrays, dropped = complete({name: arrays[name] for name in roles}, roles, drop=drop_missing)
    if columns.by and kind in PRINTED:
        arrays[columns.by] = named_as_written(arrays[columns.by])
    read = {"y_prob": stacked([arrays[name] for name in risks]), **{word: arrays[name] for word, name in named.items()}}
    return read, dropped


def _named(existing: list[str], columns: Columns, time: str, event: str) -> tuple[list[str], dict[str, str]]:
    """The columns of the risks, and the other columns by argument."""
    options = {"--time": time, "--event": event, "--weight": columns.weight, "--by": columns.by}
    words = {"--time": "time", "--event": "event", "--weight": "sample_weight", "--by": "by"}
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
    twice = next((name for name in [*risks, *named.values()] if [*risks, *named.values()].count(name) > 1), None)
    if twice is not None:
        raise ColumnError(twice, "the column is named for two purposes", "name different columns")
    return risks, named
