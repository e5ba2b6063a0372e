"""Fitted calibrators as an SQL query, a Python module without dependencies, or an ONNX model, all written from one formula."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..sketches.warehouse import DIALECTS, Dialect, quoted
from ..util.checks import check_choice
from ..util.files import write_atomic
from .base import Calibrator, as_fitted
from .choosing import Recalibration
from .formulas import TINY, Formula, Pieces, given, nodes_of, pieces_of
from .onnx_models import to_onnx

Target = Literal["sql", "python", "onnx"]


Term = str | float
"""The name of an earlier number, or a literal."""


class Step(NamedTuple):
    """One number: an operation on others."""

    op: str
    terms: tuple[Any, ...]
    data: Any = None
    """Coefficients of the terms of ``linear``, or the pieces of ``interpolate``."""


class Line(NamedTuple):
    """A step with a name of its own."""

    name: str
    text: str
    level: int
    """Number of lines that must precede it, counted along the longest path."""


class Program:
    """A formula as steps of single numbers, each with a name, in order."""

    def __init__(self, calibrator: Calibrator) -> None:
        self.columns = [f"x{number}" for number in range(calibrator.n_features_in_)]
        formula = calibrator.formula(given(len(self.columns)))
        self.steps: dict[Step, str] = {}
        names: dict[int, list[Term]] = {}
        for node in nodes_of(formula):
            names[id(node)] = self._names_of(node, [names[id(argument)] for argument in node.args])
        self.results = names[id(formula)]

    def _names_of(self, node: Formula, args: list[list[Term]]) -> list[Term]:
        if node.op == "input":
            return list(self.columns)
        if node.op == "constant":
            return list(node.data.tolist())
        if node.op == "join":
            return [name for names in args for name in names]
        if node.op == "linear":
            return [self._linear(row, args[0]) for row in node.data.tolist()]
        if node.op == "largest":
            return [self._name_step(Step("largest", tuple(args[0])))]
        pieces = pieces_of(*node.data) if node.op == "interpolate" else None
        broadcast = [names if len(names) == node.width else names * node.width for names in args]
        return [self._name_step(Step(node.op, terms, pieces)) for terms in zip(*broadcast, strict=True)]

    def _linear(self, row: list[float], names: list[Term]) -> Term:
        products = [(factor, name) for factor, name in zip(row, names, strict=True) if factor != 0]
        if len(products) == 1 and products[0][0] == 1:
            return products[0][1]
        factors, terms = zip(*products, strict=True) if products else ((0.0,), (names[0],))
        return self._name_step(Step("linear", terms, factors))

    def _name_step(self, step: Step) -> str:
        return self.steps.setdefault(step, f"s{len(self.steps) + 1}")

    def render(self, text: Callable[[Step], str], literal: Callable[[float], str]) -> tuple[list[Line], list[str]]:
        """Lines that compute the steps used more than once, and the texts of the results; other steps stand where they are used."""
        uses = Counter(term for step in self.steps for term in step.terms * (2 if step.op == "interpolate" else 1))
        uses.update(self.results)
        texts: dict[Term, str] = {name: name for name in self.columns}
        level = dict.fromkeys(texts, 0)
        lines = []
        for step, name in self.steps.items():
            terms = tuple(texts[term] if isinstance(term, str) else literal(term) for term in step.terms)
            expression = text(step._replace(terms=terms))
            level[name] = max((level[term] for term in step.terms if isinstance(term, str)), default=0)
            if uses[name] > 1:
                level[name] += 1
                lines.append(Line(name, expression, level[name]))
            texts[name] = name if uses[name] > 1 else f"({expression})"
        return lines, [texts[term] if isinstance(term, str) else literal(term) for term in self.results]


SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
PYTHON_NAMES = {"least": "min", "greatest": "max", "largest": "max"}
SQL_NAMES = {"least": "LEAST", "greatest": "GREATEST", "largest": "GREATEST", "log": "LN", "exp": "EXP"}


def export(calibrator: Calibrator | Recalibration, path: str | os.PathLike[str], *, to: Target, **options: Any) -> Path:
    """Write a fitted calibrator for use without calibrant.

    Parameters
    ----------
    calibrator : Calibrator or Recalibration
        Fitted calibrator.
    path : path-like
        File to write.
    to : {"sql", "python", "onnx"}
        What to write: the text of `to_sql` or `to_python`, or the model of `to_onnx`.
    **options
        Options of `to_sql`.

    Returns
    -------
    pathlib.Path
        Path of the file.

    Raises
    ------
    ArgumentError
        If `to` is unknown, or the calibrator has no formula that can be exported.

    See Also
    --------
    calibrant.save : A file that calibrant reads.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import calibrant as cal
    >>> calibrator = cal.PlattScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = cal.recalibration.export(calibrator, Path(folder) / "calibrator.py", to="python")
    ...     path.name
    'calibrator.py'
    """
    writers: dict[str, Callable[..., str | bytes]] = {"sql": to_sql, "python": to_python, "onnx": to_onnx}
    check_choice(to, "to", tuple(writers))
    content = writers[to](calibrator, **options)
    return write_atomic(path, content.encode() if isinstance(content, str) else content)


def to_python(calibrator: Calibrator | Recalibration) -> str:
    """Write a fitted calibrator as a Python module that needs no other package.

    Parameters
    ----------
    calibrator : Calibrator or Recalibration
        Fitted calibrator.

    Returns
    -------
    str
        Module with the function ``predict_proba(scores)``, which takes the score of one row (a number for two classes, otherwise one number
        per class) and returns the list of calibrated probabilities in the order of ``CLASSES``. It equals the method `predict_proba` up to 1e-12;
        scores below 1e-300 may count as 0.
        Where that method raises an error for a score, such as NaN or a probability outside [0, 1], all probabilities are NaN. Whether the
        probabilities of a row sum to 1 is not checked. Classes that are not str, int, float or bool, such as dates, are text in ``CLASSES``
        (``str(name)``).

    Raises
    ------
    ArgumentError
        If the calibrator has no formula that can be exported.

    See Also
    --------
    to_sql : The same for databases.

    Examples
    --------
    >>> import calibrant as cal
    >>> calibrator = cal.PlattScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])
    >>> module = {}
    >>> exec(cal.recalibration.to_python(calibrator), module)
    >>> [round(p, 4) for p in module["predict_proba"](0.7)]
    [0.4744, 0.5256]
    """
    calibrator = as_fitted(calibrator)
    program = Program(calibrator)
    lines, results = program.render(_python_expression, repr)
    names = ", ".join(program.columns)
    read_scores = f"{names} = float(scores)" if len(program.columns) == 1 else f"{names} = map(float, scores)"
    if _has_softmax(calibrator):
        valid = " and ".join([*(f"{name} < inf" for name in program.columns), f"max({names}) > -inf"])
    else:
        low, high = (0, 1) if calibrator.input == "prob" else ("-inf", "inf")
        valid = " and ".join(f"{low} <= {name} <= {high}" for name in program.columns)
    check = [f"if not ({valid}):", f"    return [nan] * {len(results)}"]  # NaN fulfils no condition
    steps = [f"{line.name} = {line.text}" for line in lines]
    values = [name.item() if isinstance(name, np.generic) else name for name in calibrator.classes_.tolist()]
    # Names of other types than these have no literal, and are text.
    classes = [name if type(name) in (str, int, float, bool) else str(name) for name in values]
    body = "\n    ".join([read_scores, *check, *steps, f"return [{', '.join(results)}]"])
    return f'''"""Calibrated probabilities: {type(calibrator).__name__}, written by calibrant."""

from bisect import bisect_right
from math import exp, inf, log, nan

CLASSES = {classes!r}


def piecewise(x, starts, knots, values, slopes):
    """Linear pieces; each but the first has a start."""
    at = bisect_right(starts, x)
    return values[at] + slopes[at] * (x - knots[at])


def predict_proba(scores):
    """Calibrated probabilities of one row, in the order of CLASSES; NaN if a score is invalid."""
    {body}
'''


def _has_softmax(calibrator: Calibrator) -> bool:
    """Whether the scores are logits of several classes, of which none may be inf, nor all -inf."""
    return calibrator.input == "logit" and calibrator.exclusive and calibrator.n_features_in_ > 1


def _python_expression(step: Step) -> str:
    if step.op == "interpolate":
        return f"piecewise({step.terms[0]}, {', '.join(map(repr, step.data))})"
    if step.op == "choose":
        return f"{step.terms[1]} if {step.terms[0]} > 0 else {step.terms[2]}"
    return _arithmetic(step, repr) or f"{PYTHON_NAMES.get(step.op, step.op)}({', '.join(step.terms)})"


def _arithmetic(step: Step, literal: Callable[[float], str]) -> str:
    """Sums, products and quotients, which all languages write alike; empty for other operations."""
    if step.op == "linear":
        pairs = zip(step.data, step.terms, strict=True)
        return " + ".join(name if factor == 1 else f"{literal(factor)} * {name}" for factor, name in pairs)
    return f" {SIGNS[step.op]} ".join(step.terms) if step.op in SIGNS else ""


def to_sql(
    calibrator: Calibrator | Recalibration,
    *,
    table: str = "predictions",
    prob: str | Sequence[str] = "p",
    keep: str | Sequence[str] = (),
    dialect: str = "duckdb",
) -> str:
    """Write a fitted calibrator as an SQL query.

    The query returns one column of calibrated probabilities for each column of scores. It can be the definition of a view.

    Parameters
    ----------
    calibrator : Calibrator or Recalibration
        Fitted calibrator.
    table : str, default "predictions"
        Name of the table; inserted as it is.
    prob : str or sequence of str, default "p"
        Columns of the scores: one for two classes, otherwise one per class, in the order of `classes_`. The calibrated columns have the same
        names and the ending ``_calibrated``.
    keep : str or sequence of str, optional
        Other columns of the table that the query returns too, such as an identifier.
    dialect : {"duckdb", "postgres"}, default "duckdb"
        Dialect of the engine.

    Returns
    -------
    str
        One SELECT statement. Its probabilities equal those of `predict_proba` up to 1e-12; scores below 1e-300 count as 0. They are NULL where a score of the row is missing, or
        where that method raises an error for it, such as NaN or a probability outside [0, 1]. Whether the probabilities of a row sum to 1 is
        not checked.

    Raises
    ------
    ArgumentError
        If the calibrator has no formula that can be exported, the number of columns is not that of the calibrator, or two columns of the
        query would have the same name.

    See Also
    --------
    calibrant.sketches.cells_query : The query that fills a sketch.

    Examples
    --------
    >>> import calibrant as cal, duckdb
    >>> calibrator = cal.PlattScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])
    >>> query = cal.recalibration.to_sql(calibrator, table="(VALUES (0.7)) AS t(p)")
    >>> round(duckdb.sql(query).fetchall()[0][0], 4)
    0.5256
    """
    check_choice(dialect, "dialect", ("duckdb", "postgres"))  # those that the tests run
    calibrator = as_fitted(calibrator)
    program, columns = Program(calibrator), [prob] if isinstance(prob, str) else list(prob)
    if len(columns) != len(program.columns):
        problem = f"has {len(columns)} columns, and the calibrator was fitted on {len(program.columns)}"
        raise ArgumentError("prob", problem, "name one column per class, or one of two classes")
    sql = DIALECTS[dialect]
    lines, results = program.render(partial(_sql_expression, sql=sql), _literal)
    scores = [f"CAST({quoted(name, sql, 'prob')} AS {sql.double})" for name in columns]
    infinity = f"CAST('Infinity' AS {sql.double})"
    # NULL where predict_proba raises; databases order NaN above all numbers.
    largest = f"{'<' if _has_softmax(calibrator) else '<='} {infinity}"
    valid = "BETWEEN 0e0 AND 1e0" if calibrator.input == "prob" else largest
    # A product with a subnormal number would be an error in some databases.
    score_columns = [
        f"CASE WHEN {score} {valid} THEN CASE WHEN ABS({score}) < {TINY!r} THEN 0e0 ELSE {score} END END AS x{i}"
        for i, score in enumerate(scores)
    ]
    kept = [quoted(name, sql, "keep") for name in ([keep] if isinstance(keep, str) else keep)]
    calibrated = [quoted(f"{name}_calibrated", sql, "prob") for name in columns]
    _check_distinct(calibrated, "prob", dialect)
    _check_distinct(kept + calibrated, "keep", dialect)
    short_names = {name: f"k{i}" for i, name in enumerate(kept)}
    # PostgreSQL would write each expression out wherever it is used.
    fence = " OFFSET 0" if dialect == "postgres" else ""
    query = f"SELECT {', '.join([f'{name} AS {short}' for name, short in short_names.items()] + score_columns)}\nFROM {table}"
    for level, same_level in groupby(sorted(lines, key=lambda line: line.level), key=lambda line: line.level):
        query = f"SELECT *, {', '.join(f'{line.text} AS {line.name}' for line in same_level)}\nFROM ({query}{fence}) AS c{level}"
    accepted = " AND ".join(f"{name} IS NOT NULL" for name in program.columns)
    if _has_softmax(calibrator):
        accepted += f" AND GREATEST({', '.join(program.columns)}) > -{infinity}"
    outputs = [f"{short} AS {name}" for name, short in short_names.items()] + [
        f"CASE WHEN {accepted} THEN {text} END AS {name}"
        for name, text in zip(calibrated, results[-len(columns) :], strict=True)
    ]
    return f"SELECT {', '.join(outputs)}\nFROM ({query}{fence}) AS c\n"


def _check_distinct(names: list[str], argument: str, dialect: str) -> None:
    """Raise if columns of the query have the same name; DuckDB does not distinguish upper and lower case of ASCII letters."""
    keys = [name.encode(errors="surrogatepass") for name in names]
    keys = [key.lower() for key in keys] if dialect == "duckdb" else keys
    repeated = next((name for name, key in zip(names, keys, strict=True) if keys.count(key) > 1), None)
    if repeated is not None:
        raise ArgumentError(argument, f"the query would return two columns named {repeated}", "name each column once")


def _literal(value: float) -> str:
    # With an exponent it is not a decimal number, or is converted to a double beside one.
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _sql_expression(step: Step, sql: Dialect) -> str:
    if step.op == "interpolate":
        return _sql_pieces(step.terms[0], step.data, sql)
    if step.op == "choose":
        return f"CASE WHEN {step.terms[0]} > 0 THEN {step.terms[1]} ELSE {step.terms[2]} END"
    return _arithmetic(step, _literal) or f"{SQL_NAMES[step.op]}({', '.join(step.terms)})"


def _sql_pieces(x: str, pieces: Pieces, sql: Dialect) -> str:
    """Linear pieces as nested conditions, found by bisection."""

    def text(low: int, high: int) -> str:
        if low == high:
            level = _literal(pieces.values[low])
            if pieces.slopes[low] == 0:
                return level
            return f"{level} + {_literal(pieces.slopes[low])} * ({x} - {_literal(pieces.knots[low])})"
        middle = (low + high) // 2
        start = _literal(pieces.starts[middle])
        return f"CASE WHEN {x} < {start} THEN {text(low, middle)} ELSE {text(middle + 1, high)} END"

    return f"CAST({text(0, len(pieces.starts))} AS {sql.double})"
