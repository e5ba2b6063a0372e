"""What the numbers come in changes nothing: dtype, byte order, memory layout, lists, frames by column name, tensors."""

import random
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.metrics import Metric
from tests.calling import call

from .problems import COLUMNS, PROBLEMS, Problem, assert_same, clean_value, every_metric, problem_of

every_shape_name = pytest.mark.parametrize("shape", ["binary", "two_column", "three"])  # ten are read as three are


@cache
def coarse_problem(shape: str) -> Problem:
    """Probabilities in 128ths, which even bfloat16 holds exactly."""
    k = COLUMNS[shape]
    rng = np.random.default_rng(k)
    p = (1 + rng.multinomial(128 - k, rng.dirichlet(np.ones(k), 48))) / 128
    y = rng.integers(k, size=48)
    return problem_of(y, p[:, 1].copy() if shape == "binary" else p, f"{shape}-coarse")


Pair = tuple[Any, Any]


def array_forms(y: np.ndarray, p: np.ndarray, folder: Path) -> dict[str, Pair]:
    forms: dict[str, Pair] = {
        kind: (y, p.astype(kind)) for kind in ["float16", "float32", "longdouble", ">f4", ">f8", ">f2"]
    }
    forms["big-endian labels"] = (y.astype(">i4"), p)
    forms["objects"] = (y, p.astype(object))
    forms["fortran order"] = (y, np.asfortranarray(p))
    forms["fortran order in float32"] = (y, np.asfortranarray(p.astype(np.float32)))
    forms["every second row"] = (np.repeat(y, 2)[::2], np.repeat(p, 2, axis=0)[::2])
    forms["backwards"] = (y[::-1].copy()[::-1], p[::-1].copy()[::-1])
    if p.ndim == 2:
        forms["columns backwards"] = (y, p[:, ::-1].copy()[:, ::-1])
        forms["every third column"] = (y, np.repeat(p, 3, axis=1)[:, ::3])
    forms["read-only"] = (y.copy(), p.copy())
    for array in forms["read-only"]:
        array.flags.writeable = False
    mapped = np.memmap(folder / f"p{p.ndim}{p.shape[-1]}", dtype=np.float64, mode="w+", shape=p.shape)
    mapped[:] = p
    mapped.flush()
    forms["memory map"] = (y, np.memmap(mapped.filename, dtype=np.float64, mode="r", shape=p.shape))
    forms["masked array without a mask"] = (np.ma.masked_array(y), np.ma.masked_array(p))
    forms["lists"] = (y.tolist(), p.tolist())
    forms["tuples"] = (tuple(y.tolist()), tuple(map(tuple, p.tolist())) if p.ndim == 2 else tuple(p.tolist()))
    forms["list of arrays"] = (list(y), list(p))
    return forms


def column_forms(y: np.ndarray, p: np.ndarray) -> dict[str, Pair]:
    """Columns, and tables of columns, of each frame library."""
    index = np.arange(len(y))[::-1] + 100  # rows are met by place, never by the index of a frame
    forms: dict[str, Pair] = {}
    if p.ndim == 1:
        forms["pandas"] = (pd.Series(y, index), pd.Series(p))
        forms["pandas nullable"] = (pd.Series(y, dtype="Int64"), pd.Series(p, dtype="Float64"))
        forms["pandas over arrow"] = (pd.Series(y, dtype="int64[pyarrow]"), pd.Series(p, dtype="double[pyarrow]"))
        forms["polars"] = (pl.Series(y), pl.Series(p))
        forms["pyarrow"] = (pa.array(y), pa.array(p))
        forms["pyarrow in chunks"] = (pa.chunked_array([y[:5], y[5:]]), pa.chunked_array([p[:7], p[7:]]))
    else:
        columns = {f"p_{j}": p[:, j] for j in range(p.shape[1])}
        forms["pandas"] = (pd.Series(y, index), pd.DataFrame(columns))
        forms["pandas in float32"] = (pd.Series(y), pd.DataFrame(columns).astype(np.float32))
        forms["pandas nullable"] = (pd.Series(y, dtype="Int64"), pd.DataFrame(columns).astype("Float64"))
        forms["polars"] = (pl.Series(y), pl.DataFrame(columns))
        forms["polars lazy"] = (pl.Series(y), pl.LazyFrame(columns))
        forms["pyarrow"] = (pa.array(y), pa.table(columns))
    return forms


def tensor_forms(y: np.ndarray, p: np.ndarray) -> dict[str, Pair]:
    torch = pytest.importorskip("torch")
    forms: dict[str, Pair] = {
        kind: (torch.tensor(y), torch.tensor(p).to(getattr(torch, kind)))
        for kind in ["float64", "float32", "float16", "bfloat16"]
    }
    forms["float64 with gradient"] = (torch.tensor(y), torch.tensor(p, requires_grad=True))
    forms["bfloat16 with gradient"] = (
        torch.tensor(y, dtype=torch.int32),
        torch.tensor(p, dtype=torch.bfloat16, requires_grad=True),
    )
    if p.ndim == 2:
        forms["transposed"] = (torch.tensor(y), torch.tensor(p.T.copy()).T)
    return {f"torch {name}": form for name, form in forms.items()}


@pytest.fixture(scope="module")
def forms_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Pair]]:
    """All forms of one problem; made once, since the metrics only read them."""
    folder = tmp_path_factory.mktemp("calibrators")

    @cache
    def make(shape: str) -> dict[str, Pair]:
        problem = coarse_problem(shape)
        y, p = problem.y, problem.p
        return array_forms(y, p, folder) | column_forms(y, p) | tensor_forms(y, p)

    return make


@every_shape_name
def test_containers_and_dtypes_are_read_alike(shape: str, forms_of: Callable[[str], dict[str, Pair]]) -> None:
    problem = coarse_problem(shape)
    for form, (y, p) in forms_of(shape).items():
        found = cal.Predictions(y, p)
        assert found.labels.tolist() == problem.y.tolist(), form
        assert found.probs.astype(np.float64).tolist() == problem.p.tolist(), form
        assert found.probs.dtype in (np.float32, np.float64), form


# What is left of a container once it is read.
SEEN = ("float32", "fortran order", "fortran order in float32", "every second row")


@every_shape_name
@every_metric
def test_precision_and_layout_change_no_value(
    metric: Metric, shape: str, forms_of: Callable[[str], dict[str, Pair]]
) -> None:
    problem = coarse_problem(shape)
    wanted = clean_value(metric, problem)
    for form in SEEN:
        y, p = forms_of(shape)[form]
        assert_same(call(metric, y.astype(np.uint8), p, **problem.words(metric)), wanted, f"{shape} as {form}", 1e-15)


@pytest.mark.parametrize("shape", ["binary", "three"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_frames_are_read_by_column_name(kind: Callable[[dict[str, Any]], Any], shape: str) -> None:
    problem = coarse_problem(shape)
    p = problem.p if problem.p.ndim == 2 else problem.p[:, None]
    names = [f"p_{j}" for j in range(p.shape[1])]
    weight = 1 + np.arange(problem.n) % 4
    beside = {"y": problem.y, "weight": weight, "region": problem.groups}
    features = {"x_0": problem.features[:, 0], "x_1": problem.features[:, 1]}
    frame = kind(dict(zip(names, p.T, strict=True)) | beside | features)
    # One name is one column, so that it stands for scores of one dimension; a list or a pattern may name several.
    for by_name in (names[0],) if shape == "binary" else (names, "p_*"):
        for word in ("counts", "sample_weight"):
            found = cal.Predictions(
                frame, label="y", prob=by_name, groups="region", features=list(features), **{word: "weight"}
            )
            assert found.labels.tolist() == problem.y.tolist()
            assert found.probs.tolist() == problem.p.tolist()
            assert [found.group_names[code] for code in found.groups] == list(problem.groups)
            assert np.asarray(found.features).tolist() == problem.features.tolist()
            assert found.weight.tolist() == weight.tolist()
            assert found.weight_kind == {"counts": "counts", "sample_weight": "importance"}[word]


@every_shape_name
@every_metric
def test_arguments_are_left_as_they_were(metric: Metric, shape: str) -> None:
    problem = PROBLEMS[shape][0]
    clean_value(metric, problem)
    one_hot = np.eye(problem.k, dtype=int)[problem.y]
    logits = np.log(problem.p)
    weight = np.arange(problem.n) % 3
    calls: list[tuple[Any, Any, dict[str, Any]]] = [
        (problem.y, problem.p, {}),
        (one_hot, problem.p.astype(np.float32), {}),
        (problem.y, logits, {"input": "logit"}),
        (problem.y, problem.p, {"normalize": True, "clip": True}),
    ]
    if metric.counts:
        calls.append((problem.y, problem.p, {"counts": weight}))
    if metric.importance:
        calls.append((problem.y, problem.p, {"sample_weight": weight * 0.7}))
    for y, p, words in calls:
        for read_only in (False, True):
            given = {"y_true": y, "y_prob": p} | problem.words(metric) | words
            given = {word: entry.copy() if isinstance(entry, np.ndarray) else entry for word, entry in given.items()}
            arrays = {word: entry for word, entry in given.items() if isinstance(entry, np.ndarray)}
            before = {word: array.tobytes() for word, array in arrays.items()}
            for array in arrays.values():
                array.flags.writeable = not read_only
            call(metric, **given)
            changed = [word for word, array in arrays.items() if array.tobytes() != before[word]]
            assert not changed, f"{changed} changed in a call with {words}"


@every_shape_name
@every_metric
def test_nothing_is_drawn_warned_or_printed(metric: Metric, shape: str, capfd: pytest.CaptureFixture[str]) -> None:
    problem = PROBLEMS[shape][0]
    numpy_before, python_before = np.random.get_state(legacy=False), random.getstate()  # noqa: NPY002
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clean_value(metric, problem)
    numpy_after = np.random.get_state(legacy=False)  # noqa: NPY002
    assert numpy_after["state"]["pos"] == numpy_before["state"]["pos"]
    assert (numpy_after["state"]["key"] == numpy_before["state"]["key"]).all()
    assert random.getstate() == python_before
    assert [str(warning.message) for warning in caught] == []
    assert capfd.readouterr() == ("", "")
