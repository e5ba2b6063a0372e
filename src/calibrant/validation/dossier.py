"""The validation dossier: installation, operation, performance and known limits, as one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

from ..errors import ArgumentError
from ..metrics.properties import PROPERTIES
from ..metrics.registry import catalogue
from ..util.results import Result, html_lines, html_table, markdown_table, markdown_text, plain_value
from .identities import ENGINES, compare_identity, identities, problem
from .installation import installation
from .references import GROUPS, Compared, Reference, compare, load, stored_json
from .timing import timings

__all__ = ["Dossier", "validate"]

# Of the stored values that take long, the default evaluates one in so many.
ONE_IN = 3
QUICK = ("metric", "calibrator", "decision")
NEAR = ("nominal", "few runs")
PROVES = (
    "Each row of the operation compares a call on this installation with a stored value and its source. That the values are right for "
    "other data, and that a metric suits a question, is not shown by it."
)
CONVENTIONS = (
    "Labels are the first argument: (y_true, y_prob), as in scikit-learn; netcal, torchmetrics, uncertainty-calibration and calibstats "
    "have the probabilities first.",
    "Bins are closed on the right, (low, high], with edges at k/M rounded to the nearest double; most packages close them on the left.",
    "Calibrators are fitted on (scores, y), and predict_proba returns all columns, also for two classes.",
    "docs/migration.md gives for each function of these packages the call, the largest difference and its reason.",
)


class Section(NamedTuple):
    """A heading with text and a table."""

    title: str
    level: int
    text: Sequence[str] = ()
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True, repr=False)
class Dossier(Result):
    """The validation dossier of an installation, as returned by `validate`.

    Attributes
    ----------
    installation : dict
        Versions, platform and checksums.
    checks : tuple of Compared
        All rows of the operation, those that failed first.
    performance : dict
        Size, power and coverage by simulation, and the settings they hold for.
    limits : dict
        Metrics whose definition is less than certain, settings in which a test or an interval is off its level, and conventions.
    selection : str
        Which rows were evaluated.
    timings : list of dict
        Time and memory of some calls, if they were measured.
    """

    installation: dict[str, Any]
    checks: tuple[Compared, ...]
    performance: dict[str, Any]
    limits: dict[str, Any]
    selection: str
    timings: list[dict[str, Any]]

    _numeric: ClassVar[tuple[int, ...]] = (1, 2, 3)

    @property
    def failed(self) -> tuple[Compared, ...]:
        """The rows that failed."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def passed(self) -> bool:
        """Whether all rows passed."""
        return not self.failed

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON knows them: the line at the top, and the sections.

        Returns
        -------
        dict
            ``summary``, ``passed``, ``checks``, ``failed`` (ids), ``selection``, ``installation``, ``operation`` (one entry for each row),
            ``performance``, ``known_limits`` and, if they were measured, ``timings``.
        """
        rows = [_row(check) for check in self.checks]
        content = {
            "summary": self._title(),
            "passed": self.passed,
            "checks": len(rows),
            "failed": [check.reference.id for check in self.failed],
            "selection": self.selection,
            "installation": self.installation,
            "operation": rows,
            "performance": self.performance,
            "known_limits": self.limits,
        }
        return plain_value(content | ({"timings": self.timings} if self.timings else {}))

    def _columns(self) -> dict[str, list[Any]]:
        rows = [{name: _text(value) for name, value in _row(check).items()} for check in self.checks]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _title(self) -> str:
        count = len(self.checks)
        return f"FAILED: {len(self.failed)} of {count} checks" if self.failed else f"passed: {count} of {count} checks"

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        headings = ("compared with", "checks", "passed", "largest difference")
        groups: dict[str, list[Compared]] = {name: [] for name in NAMED}
        for check in self.checks:
            groups[check.reference.id.partition("/")[0]].append(check)
        rows = [
            [NAMED[name], len(some), sum(check.passed for check in some), f"{max(c.difference for c in some):.1g}"]
            for name, some in groups.items()
            if some
        ]
        return headings, rows

    def _notes(self) -> Sequence[str]:
        return [*(f"failed: {_said(check)}" for check in self.failed), self.selection]

    def _sections(self) -> list[Section]:
        """Return the document, for HTML and Markdown."""
        here, names = self.installation, list(_row(self.checks[0]))
        versions = [[name, here[name]] for name in ("calibrant", "python", "implementation", "platform", "checksum")]
        packages = [[name, value] for name, value in here["packages"].items()]
        operation = [[_text(value) for value in _row(check).values()] for check in self.checks]
        sections = [
            Section("Summary", 2, [PROVES, self.selection], *self._table()),
            Section("Installation", 2, [], ("", "value"), versions + packages),
            Section("Files", 3, ["SHA-256 of each file."], ("file", "checksum"), [*map(list, here["files"].items())]),
            Section("Operation", 2, [READING], names, operation),
            Section("Performance", 2, [self.performance["about"]]),
            *(_simulated(3, title, self.performance[name]) for name, title in TITLES.items()),
            Section("Known limits", 2),
            Section("Definitions that are less than certain", 3, [], ("metric", "definition"), self.limits["metrics"]),
            *(_simulated(3, f"Off its level: {title}", self.limits[name]) for name, title in LEVELS.items()),
            Section("Conventions that differ from other packages", 3, CONVENTIONS),
            Section("Calls compared with other packages", 3, [], *self.limits["packages"].values()),
        ]
        if self.timings:
            rows = [list(entry.values()) for entry in self.timings]
            sections.append(Section("Time and memory", 2, ["On this machine, now."], list(self.timings[0]), rows))
        return sections

    def _repr_html_(self) -> str:
        parts = [html_lines(self._title(), *(f"failed: {_said(check)}" for check in self.failed))]
        for section in self._sections():
            table = html_table(section.headings, section.rows) if section.headings else ""
            if len(section.rows) > FOLDED:
                table = f"<details><summary>{len(section.rows)} rows</summary>{table}</details>"
            parts += [f"<h{section.level}>{escape(section.title)}</h{section.level}>", html_lines(*section.text), table]
        return f'<div style="overflow-wrap:break-word">{"".join(parts)}</div>'

    def _page(self) -> str:
        page = super()._page()
        return page.replace("<body>", "<body>\n<h1>Validation dossier</h1>", 1)

    def _markdown(self) -> str:
        lines = ["# Validation dossier", markdown_text(self._title())]
        lines += [f"- {markdown_text('failed: ' + _said(check))}" for check in self.failed]
        for section in self._sections():
            lines += [f"{'#' * section.level} {markdown_text(section.title)}", *map(markdown_text, section.text)]
            if section.headings:
                lines.append("\n".join(markdown_table(section.headings, section.rows)))
        return "\n\n".join(lines) + "\n"


NAMED = {**GROUPS, "identities": "bit-identities", "reversed": "definitions, rows in reversed order"}
TITLES = {"size": "Size of tests", "few": "Size with few scores or events", "power": "Power", "coverage": "Coverage"}
LEVELS = {name: title for name, title in TITLES.items() if name != "power"}
# Longer tables are folded on the page.
FOLDED = 40
READING = (
    "A row passes if the difference, relative to the expected value where that exceeds 1, is at most the tolerance. The call can be typed "
    "in Python as it is; data names the arrays, which are in calibrant/validation/references."
)


def validate(*, deep: bool = False, timing: bool = False, only: str | None = None) -> Dossier:
    """Compare what this installation computes with stored reference values.

    The values are of three sources: every metric's definition evaluated in exact arithmetic, packages of R, and an earlier version of
    calibrant. Further rows check that the order of rows, chunks, threads and engines do not change a bit. No network is used, and the
    result depends on the installation only.

    Parameters
    ----------
    deep : bool, default False
        Whether to evaluate all stored values; otherwise a third of the tests and intervals among them is evaluated. It also evaluates
        the definitions with the rows in reversed order.
    timing : bool, default False
        Whether to add time and memory of some calls. The result then differs from run to run.
    only : str, optional
        Evaluate only rows whose id begins with this text, or matches it as a pattern: ``"definitions/ece/"``, ``"*/PlattScaling/*"``.

    Returns
    -------
    Dossier
        All rows with expected and found values, beside versions, checksums, simulated performance and known limits.

    Raises
    ------
    ArgumentError
        If no row matches `only`.

    See Also
    --------
    calibrant.evaluation.evaluate : Evaluate predictions.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.validation.validate(only="definitions/brier/")
    >>> found.passed, len(found.checks)
    (True, 4)
    """
    chosen = [row for row in _rows(deep) if only is None or row.id.startswith(only) or fnmatchcase(row.id, only)]
    if not chosen:
        raise ArgumentError("only", f"no row begins with or matches {only!r}", 'for example "definitions/ece/"')
    found = [compare(row) for row in chosen if row.kind != "identity"]
    if same := [row for row in chosen if row.kind == "identity"]:
        with problem() as arrays:
            found += [compare_identity(row, arrays) for row in same]
    found.sort(key=lambda check: check.passed)
    return Dossier(
        installation(), tuple(found), _performance(), _limits(), _selection(deep, only), timings() if timing else []
    )  # fmt: skip


def _rows(deep: bool) -> list[Reference]:
    stored = load("stored")
    if not deep:
        slow = [row for row in stored if row.kind not in QUICK]
        left_out = {row.id for place, row in enumerate(slow) if place % ONE_IN}
        stored = [row for row in stored if row.id not in left_out]
    outside = [row for group in GROUPS if group != "stored" for row in load(group)]
    rows = [*outside, *stored, *identities()]
    if deep:
        rows += [
            Reference(**{**vars(row), "id": row.id.replace("definitions", "reversed", 1)})
            for row in load("definitions")
            # Arrays in these words are not, or not all, columns that are reversed with the rows.
            if PROPERTIES["reproducible"].holds(catalogue[row.topic])
            and not any(word in row.call for word in ("groups=", "features=", "knots="))
        ]
    return rows


def _row(check: Compared) -> dict[str, Any]:
    """Return a row of the operation."""
    of = check.reference
    return {
        "id": of.id, "kind": of.kind, "passed": check.passed, "call": of.call, "data": of.data, "expected": of.value,
        "found": check.found, "difference": check.difference, "tolerance": of.tolerance, "reason": of.reason,
        "source": of.source, "source_call": of.source_call, "error": check.error,
    }  # fmt: skip


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "passed" if value else "FAILED"
    return f"{value!r}" if isinstance(value, float) else "" if value is None else str(value)


def _said(check: Compared) -> str:
    found = check.error or f"expected {_text(check.reference.value)}, found {_text(check.found)}"
    return f"{check.reference.id}: {check.reference.call}: {found}"


def _performance() -> dict[str, Any]:
    content = stored_json("simulations")
    return {name: content[name] for name in ("about", *TITLES)}


def _limits() -> dict[str, Any]:
    content = stored_json("simulations")
    off = {
        name: {**content[name], "rows": [row for row in content[name]["rows"] if row[-1] not in NEAR]}
        for name in LEVELS
    }
    uncertain = [[metric.id, metric.certainty] for metric in catalogue.values() if not metric.certain]
    return {"metrics": uncertain, **off, "conventions": list(CONVENTIONS), "packages": content["packages"]}


def _simulated(level: int, title: str, content: dict[str, Any]) -> Section:
    return Section(title, level, [content["about"]], content["columns"], content["rows"])


def _selection(deep: bool, only: str | None) -> str:
    if only is not None:
        return f"Only rows whose id begins with or matches {only}."
    absent = [name for name in (*ENGINES, "pyspark") if not find_spec(name)]
    missing = f" Not installed, and so not compared: {', '.join(absent)}." if absent else ""
    spark = " Spark is installed, but not started." if "pyspark" not in absent else ""
    kept = (
        "All rows." if deep else f"Of the stored tests and intervals one in {ONE_IN} was evaluated; deep evaluates all."
    )
    return kept + missing + spark
