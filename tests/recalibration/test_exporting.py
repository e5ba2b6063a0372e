"""Exports of calibrators, evaluated where they will be used, against predict_proba; and the inverse and chains."""

import datetime
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError
from calibrant.recalibration import ChainedCalibration, export, to_onnx, to_python, to_sql
from calibrant.recalibration.methods import METHODS
from tests.postgres import Server

WARP = cal.inference.simulation.temperature(1.7)
TWO = cal.inference.make_miscalibrated(300, warp=WARP, rng=0)
THREE = cal.inference.make_miscalibrated(300, distribution=(1, 1, 1), warp=WARP, rng=0)
NEAR = np.array([[0.0, 1.0], [0.5, 0.5], [1e-310, 1 - 1e-12], [1e-16, 1e-12]]).ravel()
PROBS = {
    2: np.concatenate([NEAR, [5e-324, np.nextafter(1, 0), 0.2, 0.999], TWO.y_prob[:8]]),
    3: np.vstack(
        [
            np.eye(3),
            np.full((1, 3), 1 / 3),
            [[0.5, 0.5, 0], [5e-324, 1 - 1e-16, 1e-16], [0.2, 0.3, 0.5]],
            THREE.y_prob[:5],
        ]
    ),
}
LOGITS = {
    2: np.array([-np.inf, np.inf, 0, 5e-324, -1e-310, 0.3, 1, -1, 20, -20, 27, -27, 36, -40, 800, -800.0]),
    3: np.array(
        [[0, -np.inf, 1], [5, -np.inf, -np.inf], [1, 2, 3], [800, 0, -800], [0, 0, 0], [30, 0, -30], [5e-324, 0, 1]]
    ),
}
# Calibrators without a formula, and those that require more than scores.
WITHOUT = {
    "kernel",
    "top_label_histogram",
    "intra_order_preserving",
    "consistency",
    "group",
    "multicalibration",
    "boosted",
    "online",
}


def fitted(name: str, k: int, input: str) -> cal.recalibration.Calibrator:
    data = TWO if k == 2 else THREE
    p = data.y_prob
    scores = p if input == "prob" else np.log(p) - (np.log1p(-p) if k == 2 else 0)
    calibrator = METHODS[name]()
    return calibrator.set_params(input=input).fit(scores, data.y_true)


def exportable() -> list[Any]:
    names = [name for name, method in METHODS.items() if not method().needs and name not in WITHOUT]
    return [(name, k, input) for name in names for k in (2, 3) for input in ("prob", "logit")]


CASES = exportable()


@cache
def case(name: str, k: int, input: str) -> tuple[Any, np.ndarray, np.ndarray]:
    calibrator, new = fitted(name, k, input), (PROBS if input == "prob" else LOGITS)[k]
    return calibrator, new, calibrator.apply(calibrator._read(new))


def test_most_methods_can_be_exported() -> None:
    assert len({name for name, _, _ in CASES}) >= 25


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_a_python_module_equals_predict_proba() -> None:
    for name, k, input in CASES:
        calibrator, new, expected = case(name, k, input)
        module: dict[str, Any] = {}
        exec(to_python(calibrator), module)
        found = [module["predict_proba"](row.tolist()) for row in new]
        assert found == pytest.approx(expected, abs=1e-12), (name, k, input)
        assert module["CLASSES"] == calibrator.classes_.tolist()


def test_a_python_module_needs_nothing_else(tmp_path: Path) -> None:
    calibrator, new, expected = case("platt", 2, "logit")
    path = export(calibrator, tmp_path / "calibrated.py", to="python")
    code = f"import {path.stem} as m, json, sys; print(json.dumps([m.predict_proba(float(x)) for x in sys.argv[1:]]))"
    words = [sys.executable, "-S", "-c", code, *map(repr, new.tolist())]
    out = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True, env={}).stdout
    assert np.array(eval(out)) == pytest.approx(expected, abs=1e-12)


def table_of(new: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    rows = new[:, None] if new.ndim == 1 else new
    columns = ["a score", "s1", "x0"][: rows.shape[1]]  # also names that the query itself uses
    return columns, [[number, *row] for number, row in enumerate(rows.tolist())]


def quoted_columns(columns: list[str], kind: str) -> str:
    return ", ".join(f'"{name}" {kind}' for name in columns)


def check_queries(cursor: Any, dialect: str, double: str, mark: str) -> None:
    """Queries for the scores, which are in one table for each number of classes and input."""
    for k, input in {(k, input) for _, k, input in CASES}:
        columns, rows = table_of((PROBS if input == "prob" else LOGITS)[k])
        cursor.execute(f"CREATE TEMP TABLE {input}{k} (k0 INT, {quoted_columns(columns, double)})")
        cursor.executemany(f"INSERT INTO {input}{k} VALUES ({', '.join([mark] * (len(columns) + 1))})", rows)
    for name, k, input in CASES:
        calibrator, new, expected = case(name, k, input)
        columns, _ = table_of(new)
        prob = columns if k > 2 else columns[0]
        query = to_sql(calibrator, table=f"{input}{k}", prob=prob, keep=["k0"], dialect=dialect)
        found = np.array(cursor.execute(f"{query} ORDER BY k0").fetchall(), dtype=float)
        assert found[:, 0].tolist() == list(range(len(new)))
        assert found[:, 1:] == pytest.approx(expected if k > 2 else expected[:, 1:], abs=1e-12), (name, k, input)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_sql_in_duckdb_equals_predict_proba() -> None:
    check_queries(duckdb.connect(), "duckdb", "DOUBLE", "?")


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_sql_in_postgres_equals_predict_proba(postgres: Server) -> None:
    with pytest.importorskip("psycopg").connect(postgres.url) as connection:
        check_queries(connection.cursor(), "postgres", "DOUBLE PRECISION", "%s")


def test_sql_leaves_missing_scores_missing() -> None:
    query = to_sql(fitted("isotonic", 2, "prob"), table="(VALUES (NULL), (0.5)) AS t(p)")
    (missing,), (known,) = duckdb.sql(query).fetchall()
    assert missing is None
    assert 0 <= known <= 1


INVALID: dict[tuple[int, str], list[Any]] = {
    (2, "prob"): [np.nan, -0.1, -1e-310, 1.1, np.inf, -np.inf],
    (2, "logit"): [np.nan],
    (3, "prob"): [[np.nan, 0.5, 0.5], [0.5, 0.5, np.nan], [1.2, -0.2, 0], [0.5, 0.5, -1e-310], [np.inf, 0, 0]],
    (3, "logit"): [[0, np.nan, 0], [np.inf, 0, 0], [-np.inf] * 3],
}
INVALID_CASES = [(name, *case) for name in ("temperature", "platt", "isotonic", "histogram") for case in INVALID]


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_a_python_module_returns_nan_for_invalid_scores() -> None:
    for name, k, input in INVALID_CASES:
        calibrator, module = fitted(name, k, input), dict[str, Any]()
        exec(to_python(calibrator), module)
        for scores in INVALID[k, input]:
            with pytest.raises(ValueError, match="scores"):
                calibrator.predict_proba([scores])
            found = module["predict_proba"](scores)
            assert len(found) == k
            assert np.isnan(found).all(), (name, k, input, scores)


def invalid_in(execute: Any, dialect: str, double: str) -> None:
    for name, k, input in INVALID_CASES:
        columns, rows = table_of(np.array(INVALID[k, input]))
        values = [", ".join(f"CAST('{score}' AS {double})" for score in row[1:]) for row in rows]
        table = f"(VALUES ({'), ('.join(values)})) AS t({quoted_columns(columns, '')})"
        query = to_sql(fitted(name, k, input), table=table, prob=columns, dialect=dialect)
        assert execute(query).fetchall() == [(None,) * len(columns)] * len(rows), (name, k, input)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_sql_returns_null_for_invalid_scores_in_duckdb() -> None:
    invalid_in(duckdb.connect().execute, "duckdb", "DOUBLE")


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_sql_returns_null_for_invalid_scores_in_postgres(postgres: Server) -> None:
    with pytest.importorskip("psycopg").connect(postgres.url) as connection:
        invalid_in(connection.execute, "postgres", "DOUBLE PRECISION")


def test_sql_keeps_one_column_given_as_text() -> None:
    calibrator, table = fitted("platt", 2, "prob"), "(VALUES (7, 0.5)) AS t(id, p)"
    assert to_sql(calibrator, table=table, keep="id") == to_sql(calibrator, table=table, keep=["id"])
    assert duckdb.sql(to_sql(calibrator, table=table, keep="id")).columns == ["id", "p_calibrated"]


def test_columns_of_a_query_have_different_names() -> None:
    two, three = fitted("platt", 2, "prob"), fitted("temperature", 3, "prob")
    for keep in (["p_calibrated"], ["id", "id"], ["id", "ID"]):
        with pytest.raises(ArgumentError, match=r"^keep: the query would return two columns named "):
            to_sql(two, keep=keep)
    with pytest.raises(ArgumentError, match=r'^prob: the query would return two columns named "p_calibrated"'):
        to_sql(three, prob=["p", "q", "p"])
    assert '"ID"' in to_sql(two, keep=["id", "ID"], dialect="postgres")
    assert '"Ä"' in to_sql(two, keep=["ä", "Ä"])


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_an_onnx_model_equals_predict_proba() -> None:
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for name, k, input in CASES:
        calibrator, new, expected = case(name, k, input)
        session = onnxruntime.InferenceSession(to_onnx(calibrator), options)
        rows = new[:, None] if new.ndim == 1 else new
        found = session.run(["probabilities"], {"scores": rows})[0]
        assert found == pytest.approx(expected, abs=1e-9), (name, k, input)


@pytest.mark.parametrize("name", sorted(WITHOUT & set(METHODS)))
def test_other_calibrators_raise_one_error(name: str) -> None:
    calibrator = METHODS[name]()
    beside = {"groups": {"groups": np.arange(300) % 2}, "features": {"features": np.arange(300)[:, None] % 3}}
    calibrator.fit(TWO.y_prob, TWO.y_true, **beside.get(calibrator.needs, {}))
    with pytest.raises(ArgumentError, match="has no formula that can be exported"):
        to_python(calibrator)


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
def test_four_and_a_hundred_classes_with_text_labels() -> None:
    for k in (4, 100):
        data = cal.inference.make_miscalibrated(600, distribution=[0.5] * k, warp=WARP, rng=1)
        names = np.array([f"c{number:03d}" for number in range(k)])
        calibrator = cal.TemperatureScaling().fit(data.y_prob[:500], names[np.arange(500) % k])
        module: dict[str, Any] = {}
        exec(to_python(calibrator), module)
        expected = calibrator.predict_proba(data.y_prob[500:])
        assert [module["predict_proba"](row) for row in data.y_prob[500:]] == pytest.approx(expected, abs=1e-12)


def test_class_names_of_a_python_module_are_literals() -> None:
    dates = [datetime.date(2020 + year, 1, 1) for year in range(3)]
    for names, written in [
        (dates, ["2020-01-01", "2021-01-01", "2022-01-01"]),
        ([1.5, np.inf, 2.5], [1.5, np.inf, 2.5]),
        ([np.str_("a"), "b", 7], ["a", "b", 7]),
        (["it's", "\n", '"'], ["it's", "\n", '"']),
        ([True, False, None], [True, False, "None"]),
    ]:
        calibrator = fitted("temperature", 3, "prob")
        calibrator.classes_ = np.array(names, dtype=object)
        module: dict[str, Any] = {}
        exec(to_python(calibrator), module)
        assert module["CLASSES"] == written
    labels = np.array(dates, dtype=object)[THREE.y_true]
    exec(to_python(cal.TemperatureScaling().fit(THREE.y_prob, labels)), module)
    assert module["CLASSES"] == ["2020-01-01", "2021-01-01", "2022-01-01"]


# The inverse

INCREASING = [
    name
    for name, method in METHODS.items()
    if name
    not in {"kernel", "bayesian_binning", "near_isotonic", "spline", "quadratic_logit", "histogram", "histogram_levels"}
    and name not in WITHOUT
    and not method().needs
    and (method().keeps_order or name in {"platt", "logistic_recalibration", "scaling_binning"})
]


@pytest.mark.filterwarnings("ignore::calibrant.errors.CalibrantWarning")
@pytest.mark.parametrize("input", ["prob", "logit"])
def test_the_inverse_is_the_same_decision(input: str) -> None:
    assert {"platt", "beta", "isotonic", "temperature", "venn_abers"} <= set(INCREASING)
    for name in INCREASING:
        calibrator = fitted(name, 2, input)
        low, high = (0.0, 1.0) if input == "prob" else (-60.0, 60.0)
        scores = np.sort(np.concatenate([np.linspace(low, high, 501), TWO.y_prob if input == "prob" else []]))
        calibrated = calibrator.apply(calibrator._read(scores))[:, 1]
        for threshold in (0.0, 0.3, 1.0, *calibrated[::200].tolist()):
            raw = float(calibrator.inverse(threshold))
            assert ((scores >= raw) == (calibrated >= threshold)).all(), (name, threshold)
            if low < raw < high:
                assert calibrator.predict_proba([raw])[0, 1] >= threshold
                assert calibrator.predict_proba([np.nextafter(raw, -np.inf)])[0, 1] < threshold


def test_the_inverse_of_a_known_curve() -> None:
    shift = cal.OffsetAdjustment(offset=1.0).fit([0.2, 0.7])
    wanted = 1 / (1 + np.exp(1 - np.log(np.array([[0.25, 0.5, 0.75]]) / [[0.75, 0.5, 0.25]])))
    assert shift.inverse([[0.25, 0.5, 0.75]]) == pytest.approx(wanted)
    assert shift.inverse(0.5).shape == ()


@pytest.mark.filterwarnings("ignore::calibrant.errors.ReversedClassesWarning")
def test_a_falling_curve_has_no_inverse() -> None:
    with pytest.raises(ArgumentError, match="two classes and an increasing"):
        cal.PlattScaling().fit(1 - TWO.y_prob, TWO.y_true).inverse(0.5)


# Chains


@pytest.mark.parametrize("k", [2, 3])
def test_a_chain_applies_one_after_the_other(k: int, tmp_path: Path) -> None:
    first = fitted("temperature", k, "logit")
    second = cal.PriorShift(np.full(k, 1 / k).tolist(), np.arange(1, k + 1) / sum(range(1, k + 1))).fit(PROBS[k])
    chain = ChainedCalibration.of(first, second)
    new = LOGITS[k]
    expected = second.apply(second._read(first.apply(first._read(new))))
    assert chain.apply(chain._read(new)) == pytest.approx(expected, abs=1e-15)
    module: dict[str, Any] = {}
    exec(to_python(chain), module)
    assert [module["predict_proba"](row.tolist()) for row in new] == pytest.approx(expected, abs=1e-12)
    again = cal.load(cal.save(chain, tmp_path / "chain.json"))
    assert (again.apply(again._read(new)) == chain.apply(chain._read(new))).all()


def test_a_chain_fits_each_to_the_one_before() -> None:
    weight = np.random.default_rng(0).integers(0, 4, len(TWO.y_prob))
    chain = ChainedCalibration((cal.TemperatureScaling(), cal.IsotonicCalibration()))
    chain.fit(TWO.y_prob, TWO.y_true, counts=weight)
    first = cal.TemperatureScaling().fit(TWO.y_prob, TWO.y_true, counts=weight)
    inner = first.apply(first._read(TWO.y_prob))
    second = cal.IsotonicCalibration().fit(inner, TWO.y_true, counts=weight)
    new = PROBS[2]
    expected = second.apply(second._read(first.apply(first._read(new))))
    assert chain.predict_proba(new) == pytest.approx(expected, abs=1e-12)
    rows = np.repeat(np.arange(len(weight)), weight)[::-1]
    repeated = ChainedCalibration(chain.calibrators).fit(TWO.y_prob[rows], TWO.y_true[rows])
    assert repeated.predict_proba(new) == pytest.approx(expected, abs=1e-9)
    assert chain.keeps_order
    assert float(chain.inverse(0.4)) == pytest.approx(float(repeated.inverse(0.4)), abs=1e-6)


def test_a_chain_has_the_class_names_of_its_calibrators() -> None:
    plain, names = fitted("temperature", 3, "prob"), np.array(["a", "b", "c"])
    named = cal.TemperatureScaling().fit(THREE.y_prob, names[THREE.y_true])
    other = cal.TemperatureScaling().fit(THREE.y_prob, np.array(["a", "b", "d"])[THREE.y_true])
    for parts in ((named, plain), (plain, named), (plain, named, plain, named)):
        chain = ChainedCalibration.of(*parts)
        assert chain.classes_.tolist() == ["a", "b", "c"]
        assert set(chain.predict(THREE.y_prob)) <= set(names)
    assert ChainedCalibration.of(plain, plain).classes_.tolist() == [0, 1, 2]
    two, truth = fitted("temperature", 2, "prob"), fitted("platt", 2, "prob")
    truth.classes_ = np.array([False, True])
    assert ChainedCalibration.of(two, truth).classes_.dtype == bool
    with pytest.raises(
        ArgumentError, match=r"calibrators: have different classes: \['a', 'b', 'c'\] and \['a', 'b', 'd'\]"
    ):
        ChainedCalibration.of(named, plain, other)
