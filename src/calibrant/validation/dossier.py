"""The validation dossier: installation, operation, performance and known limits, as one result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from html import escape
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

from ..errors import ArgumentError
from ..metrics.properties import PROPERTIES
from ..metrics.registry import catalogue
from ..util.results import Result, html_lines, html_table, markdown_table, markdown_text, plain_value
from .identities import ENGINES, compare_identity, has_spark, identities, problem
from .installation import installation, origin
from .references import GROUPS, Compared, Reference, compare, load, stored_json
from .timing import timings
from .traceability import trace, without_outside_source

# Of the stored values of other kinds, which take long, the default evaluates one of each topic.
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
    traceability : list of dict
        For each requirement its definition, the rows that check it, their sources and the result.
    """

    installation: dict[str, Any]
    checks: tuple[Compared, ...]
    performance: dict[str, Any]
    limits: dict[str, Any]
    selection: str
    timings: list[dict[str, Any]]
    traceability: list[dict[str, Any]]

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
            ``summary``, ``passed``, ``checks``, ``failed`` (ids), ``selection``, ``installation``, ``traceability``, ``operation`` (one
            entry for each row), ``sources`` (what the calls of other packages need), ``performance``, ``known_limits`` and, if they were
            measured, ``timings``.
        """
        rows = [_row(check) for check in self.checks]
        content = {
            "summary": self._title(),
            "passed": self.passed,
            "checks": len(rows),
            "failed": [check.reference.id for check in self.failed],
            "selection": self.selection,
            "installation": self.installation,
            "traceability": self.traceability,
            "operation": rows,
            "sources": _setups(),
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
        here, limits = self.installation, self.limits
        names = ("calibrant", "python", "implementation", "platform", "origin", "checksum")
        packages = [[name, value] for name, value in here["packages"].items()]
        traced = [[*map(_listed, list(entry.values())[:5]), _outcome(entry)] for entry in self.traceability]
        sections = [
            Section("Summary", 2, [PROVES, self.selection, self._requirements()], *self._table()),
            Section("Installation", 2, [INSTALLED], ("", "value"), [[name, here[name]] for name in names] + packages),
            Section("Files", 3, ["SHA-256 of each file."], ("file", "checksum"), [*map(list, here["files"].items())]),
            Section("Traceability", 2, [TRACED], TRACEABILITY, traced),
            Section("Operation", 2, [READING], OPERATION, [_shown(check) for check in self.checks]),
            Section("How the values were obtained", 3, [RECOMPUTED], COLUMNS_OBTAINED, _obtained()),
            Section(
                "How other packages were called",
                3,
                [SETUP],
                ("source", "code before its calls"),
                [*map(list, _setups().items())],
            ),
            Section("Performance", 2, [self.performance["about"], *self.performance["how"]]),
            *(_simulated(3, title, self.performance[name]) for name, title in (TITLES | SETTINGS).items()),
            _simulated(3, "Time and memory beside a plain read", self.performance["times"]),
            *([self._timed()] if self.timings else []),
            Section("Known limits", 2, [LIMITS]),
            Section(
                "Definitions that are less than certain, or certain with a remark",
                3,
                [],
                ("metric", "definition"),
                limits["metrics"],
            ),
            Section("Values without a source outside calibrant", 3, [INSIDE_ONLY], ("kind", "of"), limits["inside"]),
            *(_simulated(3, f"Off its level: {title}", limits[name]) for name, title in LEVELS.items()),
            Section(
                "Conventions that differ from other packages",
                3,
                [*CONVENTIONS, limits["about"]],
                *limits["packages"].values(),
            ),
            Section("Calls that differ", 3, [], *limits["differences"].values()),
            Section("Conventions of R that differ", 3, [], *limits["r"].values()),
        ]
        return [section for section in sections if section.rows or section.text]

    def _requirements(self) -> str:
        counts = Counter(entry["result"] for entry in self.traceability)
        said = ", ".join(
            f"{counts[result]} {result}" for result in ("FAILED", "passed", "not evaluated") if counts[result]
        )
        return f"Requirements of the table of traceability: {said}."

    def _timed(self) -> Section:
        rows = [list(entry.values()) for entry in self.timings]
        return Section("Time and memory on this machine", 3, ["Measured now."], list(self.timings[0]), rows)

    def _repr_html_(self) -> str:
        parts = [html_lines(self._title(), *(f"failed: {_said(check)}" for check in self.failed))]
        sections = self._sections()
        chapters = [section.title for section in sections if section.level == 2]
        links = " · ".join(f'<a href="#{_anchor(title)}">{escape(title)}</a>' for title in chapters)
        parts.append(f"<p>{links}</p>")
        for section in sections:
            table = html_table(section.headings, section.rows) if section.headings else ""
            if section.headings == OPERATION:
                table = re.sub(r"<tr><td>([^<]+)</td>", r'<tr id="\1"><td>\1</td>', table)
            elif section.headings == TRACEABILITY:
                table = re.sub(r"(?<=[>\s])([a-z]+/\w+/\d+)(?=[ ;<])", self._link, table)
            if sum(len(str(cell)) for row in section.rows for cell in row) > FOLDED:
                table = f"<details><summary>{len(section.rows)} rows</summary>{table}</details>"
            head = f'<h{section.level} id="{_anchor(section.title)}">{escape(section.title)}</h{section.level}>'
            parts += [head, html_lines(*section.text), table]
        return f'<style>{STYLE}</style><div class="dossier">{"".join(parts)}</div>'

    def _link(self, found: re.Match[str]) -> str:
        """Return a link to the row, if it was evaluated."""
        known = any(check.reference.id == found[1] for check in self.checks)
        return f'<a href="#{found[1]}">{found[1]}</a>' if known else found[1]

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


NAMED = {
    "installation": "files of the wheel",
    **GROUPS,
    "identities": "bit-identities",
    "reversed": "definitions, rows in reversed order",
}
TITLES = {"size": "Size of tests", "few": "Size with few scores or events", "power": "Power", "coverage": "Coverage"}
SETTINGS = {"tests": "Tests that were simulated", "scores": "Scores that were simulated", "verdicts": "Verdicts"}
LEVELS = {name: title for name, title in TITLES.items() if name != "power"}
TRACEABILITY = ("id", "requirement", "definition", "checked by rows", "sources", "result")
OPERATION = (
    "id", "result", "call, and its data", "expected", "found", "difference", "tolerance, and why", "source, and its call",
)  # fmt: skip
# Tables of more characters are folded on the page.
FOLDED = 4000
STYLE = (
    ".dossier td{overflow-wrap:anywhere;vertical-align:top;min-width:5em;white-space:pre-wrap}body:has(.dossier){max-width:84rem}.dossier td:first-child{overflow-wrap:break-word}"
    ".dossier table{font-size:.8rem}"
    # Folded tables are printed too, in columns that fit.
    "@media print{.dossier details::details-content{content-visibility:visible;display:block;block-size:auto}.dossier summary{display:none}"
    ".dossier table{display:table;width:100%;font-size:6.5pt}.dossier td,.dossier th{padding:1pt 3pt}"
    ".dossier tr{break-inside:avoid}@page{size:A4 landscape;margin:1cm}}"
)
SPARK = dict.fromkeys([(True, False), (False, False)], " Spark is installed, but not the Java that it needs.")
SPARK |= {(True, True): "", (False, True): " Spark is installed, but only deep starts it."}
READING = (
    "A row passes if the difference, relative to the expected value where that exceeds 1, is at most the tolerance. The call can be typed "
    "in Python as it is, after 'import calibrant as cal, numpy as np, math'; data names its arrays, which calibrant/validation/references "
    "has in the file of the group, the first part of the id. Of long results the first numbers are shown; the JSON form has all. "
    "`calibrant validate --only ID` repeats a row. Identities evaluate two calls on this machine, on data and with functions of "
    "calibrant/validation/identities.py; expected is then the value of the second."
)
RECOMPUTED = (
    "The commands are run in a clone of the repository. With --check they compare and write nothing, and `make deep` runs them; they need the source, which is "
    "named where it is absent. Stored values have no other source: their command writes those of the version that runs it."
)
COLUMNS_OBTAINED = ("group", "values", "obtained by", "recomputed by")
OBTAINED = {
    "definitions": (
        "code in tests/oracles that shares nothing with the package, in rational arithmetic and with 50 digits, or by plain loops where the source says so",
        "--check definitions",
    ),
    "r": (
        "running the scripts of tests/r with R 4.2.2 and its packages in Debian, or from the sources of a package that is not there",
        "--check r",
    ),
    "peers": ("running the calls of experiments/migration in environments with the versions named", "--check peers"),
    "published": ("copying them from the tests of the package; nothing was run", "--check published"),
    "stored": ("running this package in the version named; no other source", "stored"),
}
INSTALLED = "origin says whether the files could be compared with the RECORD of the wheel from which they were installed; checksum is the SHA-256 of the table of files, as sha256sum prints it: one line 'CHECKSUM  FILE' for each."
TRACED = (
    "Each requirement with its definition, the rows of the operation that check it, where their values are from, and the result. The table is "
    "derived from the registry of metrics, the docstrings and the rows."
)
SETUP = "Calls of other packages are shown as they were evaluated, after this code; y, p, w and new are the arrays of the data."
LIMITS = "What is not certain, does not hold its level in every setting, has no other source, or differs from other packages by convention."
INSIDE_ONLY = "These are compared with values of an earlier version of calibrant only: that they are right is shown by tests of the repository, not here."


def validate(*, deep: bool = False, timing: bool = False, only: str | None = None) -> Dossier:
    """Compare what this installation computes with stored reference values.

    The values are of these sources: every metric's definition evaluated slowly by independent code, packages of R and of Python, and an earlier
    version of calibrant. If it was installed from a wheel, its files are compared with those of the wheel. Further rows check that the order of rows, chunks, threads and engines do not change a bit. No network is used, and the
    result depends on the installation only.

    Parameters
    ----------
    deep : bool, default False
        Whether to evaluate all stored values; otherwise one of the two of each test and interval is evaluated. It also evaluates
        the definitions with the rows in reversed order, and starts Spark where it is installed.
    timing : bool, default False
        Whether to add time and memory of some calls. The result then differs from run to run.
    only : str, optional
        Evaluate only the row with this id, or all rows whose id begins with this text or matches it as a pattern: ``"definitions/ece/"``,
        ``"*/PlattScaling/*"``.

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
    (True, 7)
    """
    chosen = _rows(deep) if only is None else _named(only, deep)
    if not chosen:
        raise ArgumentError("only", f"no row begins with or matches {only!r}", 'for example "definitions/ece/"')
    # Identities first: they write files, and a folder that cannot be written should be reported at once.
    identical: list[Compared] = []
    if same := [row for row in chosen if row.kind == "identity"]:
        with problem() as arrays:
            identical = [compare_identity(row, arrays) for row in same]
    found = [_files(row) if row.kind == "installation" else compare(row) for row in chosen if row.kind != "identity"]
    found += identical
    found.sort(key=lambda check: check.passed)
    every = [*_of_wheel(), *(row for group in GROUPS for row in load(group)), *identities(spark=deep)]
    traced = trace(every if only is None else chosen, found)
    return Dossier(
        installation(), tuple(found), _performance(), _limits(every), _selection(deep, only), timings() if timing else [], traced,
    )  # fmt: skip


def _of_wheel() -> list[Reference]:
    """Return the row that compares the files with those of the wheel, if the package was installed from one."""
    if origin().kind != "wheel":
        return []
    return [
        Reference(
            "installation/files/1", "files", "installation", "from calibrant.validation.installation import changed_files; len(changed_files())", "the files of the package",
            0.0, "RECORD of the wheel", "SHA-256 of each file", 0.0, "the same bytes",
        )
    ]  # fmt: skip


def _files(reference: Reference) -> Compared:
    """Compare the files with those of the wheel."""
    changed = origin().changed
    return Compared(reference, float(len(changed)), "; ".join(changed))


def _named(only: str, deep: bool) -> list[Reference]:
    """Return the rows that `only` names, among all that exist; Spark is started if it is asked for."""
    rows = _rows(deep=True)
    if exact := [row for row in rows if row.id == only]:
        return exact
    return [
        row
        for row in rows
        if only and (row.id.startswith(only) or fnmatchcase(row.id, only)) and (deep or row.topic != "pyspark")
    ]


def _rows(deep: bool) -> list[Reference]:
    stored = load("stored")
    if not deep:
        slow: dict[tuple[str, str], list[Reference]] = {}
        for row in stored:
            if row.kind not in QUICK:
                slow.setdefault((row.kind, row.topic), []).append(row)
        # In turn the first and the second, which have two and four classes.
        kept = {some[place % len(some)].id for place, some in enumerate(slow.values())}
        stored = [row for row in stored if row.kind in QUICK or row.id in kept]
    outside = [row for group in GROUPS if group != "stored" for row in load(group)]
    rows = [*_of_wheel(), *outside, *stored, *identities(spark=deep)]
    if deep:
        rows += [
            Reference(**{**vars(row), "id": row.id.replace("definitions", "reversed", 1)})
            for row in load("definitions")
            # Arrays in these words are not, or not all, columns that are reversed with the rows.
            if row.kind == "metric"
            and PROPERTIES["reproducible"].holds(catalogue[row.topic])
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


def _listed(value: Any) -> str:
    return "; ".join(value) if isinstance(value, list) else str(value)


def _outcome(entry: dict[str, Any]) -> str:
    """Return the result of a requirement with its counts."""
    counts = f": {entry['passed']} of {entry['evaluated']}" if entry["evaluated"] else ""
    return f"{entry['result']}{counts}"


def _shown(check: Compared) -> list[str]:
    """Return a row of the operation for reading: the same content in fewer and shorter cells."""
    of = check.reference
    found = _few(check.found) if not check.error else check.error
    return [
        of.id, _text(check.passed), f"{of.call}\n{of.data}", _few(of.value), found, f"{check.difference:.1g}",
        f"{of.tolerance:g}: {of.reason}", f"{of.source}\n{of.source_call}",
    ]  # fmt: skip


def _few(value: Any) -> str:
    """Return the first numbers of a result, and how many there are."""
    if isinstance(value, list) and len(value) > 3:
        return f"{', '.join(map(repr, value[:2]))}, ... ({len(value)} numbers)"
    return ", ".join(map(repr, value)) if isinstance(value, list) else _text(value)


def _said(check: Compared) -> str:
    """Return a row that failed in one line, of several numbers the one that is furthest away."""
    of, found = check.reference, check.found
    if check.error or not isinstance(of.value, list) or not isinstance(found, list) or len(found) != len(of.value):
        said = check.error or f"expected {_few(of.value)}, found {_few(found)}"
        return f"{of.id}: {of.call}: {said}"
    apart = [Compared(replace(of, value=one), other).difference for one, other in zip(of.value, found, strict=True)]
    worst = apart.index(max(apart))
    place = f" (number {worst + 1} of {len(found)})" if len(found) > 1 else ""
    return f"{of.id}: {of.call}: expected {of.value[worst]!r}, found {found[worst]!r}{place}"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z]+", "-", title.lower())


def _obtained() -> list[list[Any]]:
    """Return how the values of each group were obtained, and the command that recomputes them."""
    return [
        [group, len(load(group)), how, f"python tools/make_references.py {command}"]
        for group, (how, command) in OBTAINED.items()
    ]


def _setups() -> dict[str, str]:
    """Return what the calls of other packages need, by source."""
    return {name: text for group in ("r", "peers") for name, text in stored_json(group)["setup"].items()}


def _performance() -> dict[str, Any]:
    content = stored_json("simulations")
    return {name: content[name] for name in ("about", "how", *TITLES, *SETTINGS)} | {"times": stored_json("benchmarks")}


def _limits(references: Sequence[Reference]) -> dict[str, Any]:
    content = stored_json("simulations")
    off = {
        name: {**content[name], "rows": [row for row in content[name]["rows"] if row[-1] not in NEAR]}
        for name in LEVELS
    }
    uncertain = [
        [metric.id, metric.info.certainty] for metric in catalogue.values() if metric.info.certainty != "certain"
    ]
    inside = without_outside_source(references)
    return {
        "metrics": uncertain,
        "inside": inside,
        **off,
        "conventions": list(CONVENTIONS),
        **stored_json("conventions"),
    }


def _simulated(level: int, title: str, content: dict[str, Any]) -> Section:
    if not content["rows"]:
        return Section(title, level, [content["about"], "None."])
    return Section(title, level, [content["about"]], content["columns"], content["rows"])


def _selection(deep: bool, only: str | None) -> str:
    if only is not None:
        return f"Only rows whose id begins with or matches {only}."
    absent = [name for name in (*ENGINES, "pyspark") if not find_spec(name)]
    missing = f" Not installed, and so not compared: {', '.join(absent)}." if absent else ""
    spark = "" if "pyspark" in absent else SPARK[deep, has_spark()]
    kept = (
        "All rows."
        if deep
        else "Of the stored values of a test or interval, for two and for four classes, one was evaluated; deep evaluates all."
    )
    return kept + missing + spark
