"""The validation dossier: installation, operation, performance and known limits, as one result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Any, ClassVar

from ..errors import ArgumentError
from ..metrics.registry import catalogue
from ..recalibration.methods import METHODS
from ..reporting.templates import environment
from ..util.results import Result, markdown_table, markdown_text, plain_value
from .identities import ENGINES, compare_identity, has_spark, identities, problem
from .installation import installation
from .references import GROUPS, Compared, Reference, compare, load, stored_json
from .traceability import trace, without_outside_source

# Of the stored values of other kinds, which take long, the default evaluates one of each topic.
QUICK = ("metric", "calibrator", "decision")
NEAR = ("nominal", "few runs")
CONVENTIONS = (
    "Labels are the first argument: (y_true, y_prob), as in scikit-learn; netcal, torchmetrics, uncertainty-calibration and calibstats "
    "have the probabilities first.",
    "Bins are closed on the right, (low, high], with edges at k/M rounded to the nearest double; most packages close them on the left.",
    "Calibrators are fitted on (scores, y), and predict_proba returns all columns, also for two classes.",
)


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
    traceability : list of dict
        For each requirement its definition, the rows that check it, their sources and the result.
    """

    installation: dict[str, Any]
    checks: tuple[Compared, ...]
    performance: dict[str, Any]
    limits: dict[str, Any]
    selection: str
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
            entry for each row), ``sources`` (what the calls of other packages need), ``performance`` and ``known_limits``.
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
        return plain_value(content)

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
        return [*(f"failed: {_describe_failure(check)}" for check in self.failed), self.selection]

    def _repr_html_(self) -> str:
        return self._render("dossier_html.jinja", autoescape=True)

    def _markdown(self) -> str:
        def table_of(rows: Sequence[Sequence[Any]], headings: Sequence[str]) -> str:
            return "\n".join(markdown_table(list(headings), rows))

        text = self._render("dossier_markdown.jinja", autoescape=False, plain=markdown_text, table_of=table_of)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def _render(self, form: str, *, autoescape: bool, **filters: Any) -> str:
        """Render the document with the macros of a form."""
        here = self.installation
        names = ("calibrant", "python", "implementation", "platform", "checksum")
        results = Counter(entry["result"] for entry in self.traceability)
        page: str = (
            environment(autoescape=autoescape, list_values=lambda entry: list(entry.values()), **filters)
            .get_template("dossier.jinja")
            .render(
                form=form,
                dossier=self,
                title=self._title(),
                failed=[_describe_failure(check) for check in self.failed],
                ids={check.reference.id for check in self.checks},
                requirements=", ".join(f"{count} {result}" for result, count in sorted(results.items())),
                summary=self._table(),
                installed=[(name, here[name]) for name in names]
                + [*here["packages"].items(), *here.get("plugins", {}).items()],
                operation=[_operation_row(check) for check in self.checks],
                counts={group: len(load(group)) for group in GROUPS},
                setups=_setups(),
            )
        )
        return page


NAMED = {
    **GROUPS,
    "identities": "bit-identities",
}
# Content of the file of simulations, and those of its tables that show whether a test or interval has its level.
SIMULATED = ("about", "how", "size", "few", "power", "coverage", "errors", "thin", "tests", "scores", "verdicts")
LEVELS = ("size", "few", "coverage")
SPARK = dict.fromkeys([(True, False), (False, False)], " Spark is installed, but not the Java that it needs.")
SPARK |= {(True, True): "", (False, True): " Spark is installed, but only deep starts it."}


def validate(*, deep: bool = False, only: str | None = None) -> Dossier:
    """Compare what this installation computes with stored reference values.

    The values are of these sources: every metric's definition evaluated slowly by independent code, packages of R and of Python, and an earlier
    version of calibrant. Further rows check that the order of rows, chunks, threads and engines do not change a bit. No network is used, and the
    result depends on the installation only.

    Parameters
    ----------
    deep : bool, default False
        Whether to evaluate all stored values; otherwise one of the two of each test and interval is evaluated. It also
        starts Spark where it is installed.
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
    chosen = _rows(deep) if only is None else _select_rows(only, deep)
    if not chosen:
        raise ArgumentError("only", f"no row begins with or matches {only!r}", 'for example "definitions/ece/"')
    # Identities first: they write files, and a folder that cannot be written should be reported at once.
    identical: list[Compared] = []
    if same := [row for row in chosen if row.kind == "identity"]:
        with problem() as arrays:
            identical = [compare_identity(row, arrays) for row in same]
    checks = [*(compare(row) for row in chosen if row.kind != "identity"), *identical]
    checks.sort(key=lambda check: check.passed)
    every = [*(row for group in GROUPS for row in load(group)), *identities(spark=deep)]
    traced = trace(every if only is None else chosen, checks)
    simulated = stored_json("simulations")
    performance = {name: simulated[name] for name in SIMULATED} | {"times": stored_json("benchmarks")}
    return Dossier(
        installation(), tuple(checks), performance, _limits(every), _selection(deep, only), traced,
    )  # fmt: skip


def _select_rows(only: str, deep: bool) -> list[Reference]:
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
        sampled = {alike[index % len(alike)].id for index, alike in enumerate(slow.values())}
        stored = [row for row in stored if row.kind in QUICK or row.id in sampled]
    outside = [row for group in GROUPS if group != "stored" for row in load(group)]
    return [*outside, *stored, *identities(spark=deep)]


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


def _operation_row(check: Compared) -> list[str]:
    """Return a row of the operation for reading: the same content in fewer and shorter cells."""
    row = check.reference
    return [
        row.id,
        _text(check.passed),
        f"{row.call}\n{row.data}",
        _short_text(row.value),
        check.error or _short_text(check.found),
        f"{check.difference:.1g}",
        f"{row.tolerance:g}: {row.reason}",
        f"{row.source}\n{row.source_call}",
    ]


def _short_text(value: Any) -> str:
    """Return the first numbers of a result, and how many there are."""
    if isinstance(value, list) and len(value) > 3:
        return f"{', '.join(map(repr, value[:2]))}, ... ({len(value)} numbers)"
    return ", ".join(map(repr, value)) if isinstance(value, list) else _text(value)


def _describe_failure(check: Compared) -> str:
    """Return a row that failed in one line, of several numbers the one that is furthest away."""
    row, value = check.reference, check.found
    if check.error or not isinstance(row.value, list) or not isinstance(value, list) or len(value) != len(row.value):
        problem = check.error or f"expected {_short_text(row.value)}, found {_short_text(value)}"
        return f"{row.id}: {row.call}: {problem}"
    pairs = list(zip(row.value, value, strict=True))
    differences = [Compared(replace(row, value=expected), number).difference for expected, number in pairs]
    worst = differences.index(max(differences))
    position = f" (number {worst + 1} of {len(pairs)})" if len(pairs) > 1 else ""
    return f"{row.id}: {row.call}: expected {row.value[worst]!r}, found {value[worst]!r}{position}"


def _setups() -> dict[str, str]:
    """Return what the calls of other packages need, by source."""
    return {name: text for group in ("r", "peers") for name, text in stored_json(group)["setup"].items()}


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
    added = [["metric", metric.id, metric.formula.__module__] for metric in catalogue.values()]
    added += [["calibrator", method.name, str(method.calibrator.__module__)] for method in METHODS.values()]
    return {
        "metrics": uncertain,
        "plugins": [entry for entry in added if entry[-1].partition(".")[0] != "calibrant"],
        "inside": inside,
        **off,
        "conventions": list(CONVENTIONS),
        **stored_json("conventions"),
    }


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
