"""Gates: conditions such as ``ece.high > 0.05`` by which a command fails, and their results for CI."""

from __future__ import annotations

import dataclasses
import math
import operator
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ArgumentError, CalibrantError
from ..util.checks import suggest
from ..util.version import __version__
from .gate_results import Checked, annotation, pass_lines, results_of
from .screen import clean, print_json, say

COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
SHARE, COUNT, ANY = (0.0, 1.0), (0.0, math.inf), (-math.inf, math.inf)
INTERVAL = ("value", "low", "high")
# The numbers of the header of an evaluation, with their ranges.
HEADER = dict.fromkeys(("n", "events", "observed_expected"), COUNT)
HEADER |= dict.fromkeys(("accuracy", "auroc", "average_precision", "mean_confidence", "prevalence"), SHARE)


class Measure(NamedTuple):
    """What a gate can be about."""

    name: str
    fields: Sequence[str] = ("value",)
    range: tuple[float, float] = ANY


class Condition(NamedTuple):
    """A condition that makes a command fail."""

    name: str
    field: str
    group: str | None
    """The only group it applies to; None for all rows and every group."""
    sign: str
    limit: float

    def __str__(self) -> str:
        field = "" if self.field == "value" else f".{self.field}"
        group = "" if self.group is None else f"@{self.group}"
        return f"{self.name}{field}{group} {self.sign} {self.limit:.12g}"


class Place(NamedTuple):
    """The measures of all rows or of a group, or of one model."""

    group: str
    """Empty for all rows."""
    measures: Mapping[str, Mapping[str, Any]]
    """For each measure its fields, and a reason where it has no value."""
    word: str = "group"

    def __str__(self) -> str:
        return f" ({self.word} {self.group})" if self.group else ""


class Gates(NamedTuple):
    """The gates of a command."""

    texts: tuple[str, ...]

    @classmethod
    def take(cls, options: dict[str, Any]) -> Gates:
        """Take the options of gates from those of a command."""
        return cls(tuple(options.pop("gates", ())))

    def conditions(self, find_measure: Callable[[str], Measure], example: str) -> list[Condition]:
        """Parse the gates; `find_measure` returns the measure of a name or raises."""
        parsed = [parse_condition(text, find_measure, example) for text in self.texts]
        return list({str(each): each for each in parsed}.values())

    def conclude(self, checked: Sequence[Checked], title: str, output: Mapping[str, Any] | Callable[[], None]) -> bool:
        """Print the result of a command, as JSON or by a function, then finish; a gate that cannot be evaluated raises before."""
        if any(each.reason for each in checked):
            self.finish(checked, title)
        if callable(output):
            output()
        else:
            print_json({"calibrant": __version__, **output, **results_of(checked)})
        return self.finish(checked, title)

    def finish(self, checked: Sequence[Checked], title: str) -> bool:
        """Print the results of the gates, in a job of GitHub also as annotations; True if a gate failed.

        A gate that could not be evaluated is an error.
        """
        failed = [each for each in checked if each.failed]
        undefined = [each for each in checked if each.reason]
        for line in pass_lines(checked):
            say(clean(f"gate passed: {line}"), err=True)
        for each in failed:
            say(clean(f"gate failed: {each}"), err=True)
        if checked and os.environ.get("GITHUB_ACTIONS") == "true":
            # The runner reads them from standard error too, which leaves --json intact.
            for each in (*failed, *undefined):
                say(annotation(f"{title}: gate {'failed' if each.failed else 'undefined'}", str(each)), err=True)
        if undefined:
            further = f" (and {len(undefined) - 1} more)" if len(undefined) > 1 else ""
            raise ArgumentError("--fail-if", f"{undefined[0]}{further}")
        return bool(failed)


def parse_condition(text: str, find_measure: Callable[[str], Measure], example: str) -> Condition:
    """Parse ``NAME[.FIELD][@GROUP] SIGN LIMIT``; the last sign separates, so that names of groups may contain others."""
    match = re.fullmatch(r"(\s*[^<>=!@\s][^<>=!@]*(?:@.*)?)(>=|<=|==|!=|>|<)(\s*[^<>=!\s][^<>=!]*)", text, re.DOTALL)
    if match is None:
        raise ArgumentError("--fail-if", f"{text!r} is not a condition", f'write it as "{example}"')
    target, at, group = (text.strip() for text in match[1].partition("@"))
    if at and not group:
        raise ArgumentError("--fail-if", f"{text!r} names no group after @", f'write it as "{example}"')
    field = "value"
    try:
        measure = find_measure(target)
    except CalibrantError:
        if "." not in target:
            raise
        name, field = (text.strip() for text in target.rsplit(".", 1))
        measure = find_measure(name)
        if field not in measure.fields:
            problem = f"{measure.name} has no field {field!r}"
            raise ArgumentError("--fail-if", problem, f"use {', '.join(measure.fields)}") from None
    try:
        limit = float(match[3])
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise ArgumentError("--fail-if", f"{text!r}: {match[3].strip()!r} cannot be read", "the limit is a number")
    low, high = SHARE if field in ("pvalue", "adjusted") else measure.range
    if not low <= limit <= high:
        problem = f"{text!r}: the limit is outside the range of {target}"
        raise ArgumentError("--fail-if", problem, f"it is {low:g} to {high:g}")
    return Condition(measure.name, field, group if at else None, match[2], limit)


def check(conditions: Iterable[Condition], places: Sequence[Place], by: str | None = None) -> list[Checked]:
    """Check each condition for all rows and every group, or for the group that it names."""
    checked = []
    for condition in conditions:
        for place in _select_places(condition, places, by):
            value, reason = _field(place, condition.name, condition.field)
            failed = value is not None and COMPARE[condition.sign](value, condition.limit)
            checked.append(Checked(str(condition), str(place), value, condition.limit, failed, reason))
    return checked


def _select_places(condition: Condition, places: Sequence[Place], by: str | None) -> list[Place]:
    if condition.group is None:
        groups = [place for place in places if place.group]
        # Only groups have a p-value that is adjusted for their number.
        return groups if condition.field == "adjusted" and groups else list(places)
    if condition.group == "all":  # even if a group has this name
        return [place for place in places if not place.group]
    column, sign, value = (text.strip() for text in condition.group.partition("="))
    # Of one column, a group has the name of the value; of several, it is named with its column.
    names_column = sign and column == re.sub(r'^"(.*)"$', r"\1", (by or "").strip())
    names = {condition.group, f"{column}: {value}", value if names_column else condition.group}
    selected = [place for place in places if place.group and place.group in names]
    if not selected:
        selected = [place for place in places if place.group and place.group.partition(": ")[2] == condition.group]
        if len(selected) > 1:
            remedy = f"name its column, as in {condition.name}@{'='.join(str(selected[0].group).split(': ', 1))}"
            raise ArgumentError("--fail-if", f"'{condition}' names {len(selected)} groups", remedy)
    if not selected:
        existing = [place.group for place in places if place.group]
        remedy = f"use all, {', '.join(existing[:10])}" if existing else "name the column of groups with --by"
        raise ArgumentError("--fail-if", f"'{condition}' names an unknown group {condition.group!r}", remedy)
    return selected


def _field(place: Place, name: str, field: str) -> tuple[float | None, str]:
    """The value of a field, or the reason why there is none."""
    fields = place.measures.get(name)
    if fields is None:
        return None, "left out for this number of rows"
    value = fields.get(field)
    try:
        number = None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = None
    if number is None or math.isnan(number):
        missing = "" if field == "value" else f"there is no {field}" + (f" of {place.word}s" if place.group else "")
        notes = [fields.get("reason"), fields.get("note"), missing]
        return None, next((str(note) for note in notes if note), "it is undefined")
    return number, ""


def places_of(plain: Mapping[str, Any]) -> list[Place]:
    """The measures of all rows and of each group in the plain values of an evaluation, a validation study or a time to event."""
    results: list[tuple[str, Any]] = [("", plain)]
    groups = plain.get("groups")
    if isinstance(groups, Mapping):
        results += [(str(name), result) for name, result in groups.items() if isinstance(result, Mapping)]
    return [Place(name, _measures_of(result)) for name, result in results]


def _measures_of(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The measures of all rows or of a group, those of the header among them."""
    if isinstance(result.get("measures"), Mapping):  # of a time to event
        return _measures(result["measures"])
    header = result.get("header")
    measures: dict[str, dict[str, Any]] = {}
    if isinstance(header, Mapping):
        measures = {name: {"value": header.get(name)} for name in HEADER if name in header}
        shares = header.get("prevalence")
        if isinstance(shares, (list, tuple)) and len(shares) == 2:
            measures["prevalence"] = {"value": shares[1]}
        for name in ("auroc", "average_precision", "prevalence"):
            if name in measures and header.get("kind") != "binary":
                measures[name]["reason"] = "it is available for two classes"
    return measures | _measures(result.get("metrics", result.get("rows", ())))


def _measures(rows: Any) -> dict[str, dict[str, Any]]:
    """The fields of each measure, by its id."""
    measures: dict[str, dict[str, Any]] = {}
    if isinstance(rows, Mapping):
        rows = [{"id": name, **each} for name, each in rows.items() if isinstance(each, Mapping)]
    for each in rows if isinstance(rows, (list, tuple)) else ():
        if isinstance(each, Mapping):
            id = next((each[key] for key in ("metric", "id", "measure") if isinstance(each.get(key), str)), None)
            if id is not None:
                measures[id] = dict(each)
    return measures


def metric_conditions(gates: Gates, extra: Collection[str] = (), *, with_options: bool = False) -> list[Condition]:
    """The gates on metrics, on the numbers of the header, such as AUROC and accuracy, and on `more` measures with intervals.

    The range of a metric is that of its usual options; `with_options` states that others may be in use.
    """
    from ..evaluation.result import MetricResult
    from ..metrics.names import function_named
    from .listing import metric_named

    numbers = [each.name for each in dataclasses.fields(MetricResult) if each.type == "float | None"]
    fields = [name for name in numbers if name != "ideal"]

    def find_measure(name: str) -> Measure:
        key = name.lower().replace(" ", "_")
        if key in extra:
            return Measure(key, INTERVAL)
        key = (function_named(name) or key).removeprefix("evaluation.")
        if key in HEADER:
            return Measure(key, range=HEADER[key])
        try:
            metric = metric_named(name, "--fail-if")
        except CalibrantError as error:
            names = f"a gate names a metric, with a field such as ece.pvalue or ece.high, or one of {', '.join((*extra, *HEADER))}"
            raise error.replaced(remedy=f"{error.remedy.rstrip('?')}; {names}") from None
        return Measure(metric.id, fields, ANY if with_options else metric.range)

    return gates.conditions(find_measure, "ece > 0.05")


def gate_metrics(conditions: Iterable[Condition]) -> list[str]:
    """The metrics that gates need, beside the header."""
    return list(dict.fromkeys(each.name for each in conditions if each.name not in HEADER))


def needs_interval(conditions: Iterable[Condition]) -> bool:
    """Whether a gate needs an interval."""
    return any(each.field in ("low", "high") for each in conditions)


def needs_test(conditions: Iterable[Condition]) -> bool:
    """Whether a gate needs a p-value."""
    return any(each.field not in INTERVAL for each in conditions)


def measure_named(name: str, known: Iterable[str]) -> Measure:
    """The measure of this name, which has an interval."""
    key = name.lower().replace(" ", "_")
    if key in known:
        return Measure(key, INTERVAL)
    similar, listed = suggest(key, known), ", ".join(known)
    raise ArgumentError(
        "--fail-if", f"unknown measure {name!r}", f"{similar} The measures are {listed}" if similar else f"use {listed}"
    )


def named_file(file: str) -> str:
    """The name of a file without its folder, for the title of the results."""
    return "standard input" if file == "-" else Path(file).name
