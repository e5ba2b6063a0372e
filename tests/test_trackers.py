"""Trackers: what is logged arrives in the local stores of MLflow, Weights & Biases and TensorBoard, and a logged calibrator predicts."""

import json
import math
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import trackers
from calibrant.errors import ArgumentError, InputTypeError, MissingDependencyError
from calibrant.trackers import log_mlflow, log_tensorboard, log_wandb, scalars
from calibrant.util.results import Result
from tests.calling import raises

pytestmark = pytest.mark.filterwarnings("ignore")  # of the trackers


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    prob = np.round(rng.random(200), 2)
    return (rng.random(200) < prob**1.5).astype(int), prob


@dataclass(frozen=True, repr=False)
class Report(Result):
    """What is used of a report, which takes seconds to make."""

    n: int = 200

    def to_html(self) -> str:
        return "<html>Report</html>"

    def to_markdown(self) -> str:
        return "# Report"


@pytest.fixture(scope="module")
def results(data: tuple[Any, Any], request: pytest.FixtureRequest) -> tuple[Any, ...]:
    """An evaluation with groups, a figure, a test, and a report, in the long form a real one."""
    y, p = data
    report = cal.report(y, p) if request.config.getoption("--deep") else Report()
    evaluation = cal.evaluate(
        cal.Predictions(y, p, groups=np.array(["a/b", "a b"])[y]), metrics=["ece", "brier"], assess=True, rng=0
    )
    return evaluation, cal.reliability_diagram(y, p), cal.assess(y, p), report


def test_names_and_numbers(results: tuple[Any, ...]) -> None:
    found = scalars(results[0], "val/")
    evaluation = results[0]
    assert found["val/ece"] == evaluation["ece"]
    assert found["val/ece_pvalue"] == evaluation.results[0].pvalue
    assert found["val/header/n"] == 200
    assert len([name for name in found if name.startswith("val/groups/")]) > 4
    # No name is a level of another: a store of files cannot hold both.
    assert not {name for name in found if any(other.startswith(f"{name}/") for other in found)}
    odd = {
        "a b": 1,
        "a/b": 2,
        "..": {"x": 3},
        "": 4,
        "ok": None,
        "t": "text",
        "yes": True,
        "list": [1, 2],
        "inf": math.inf,
    }
    assert scalars(odd) == {"a_b": 1, "a_b_": 2, "_/x": 3, "__": 4}
    assert scalars({"rows": [{"name": "é", "value": 0.5, "low": np.float32(0.25)}, 3]}) == {
        "rows/é": 0.5,
        "rows/é_low": 0.25,
    }
    assert scalars({"rows": [{"name": name, "value": 1} for name in ("a b", "a/b")]}) == {"rows/a_b": 1, "rows/a_b_": 1}
    y, p = np.arange(60) % 3 // 2, np.linspace(0.1, 0.6, 60)
    compared = scalars(cal.compare(y, {"new": p, "old": p**2}, metric="brier", n_resamples=20, rng=0))
    assert (
        compared["differences/brier_new_vs_old_difference"]
        == compared["values/brier/new"] - compared["values/brier/old"]
    )
    chosen = scalars(cal.recalibrate(y, p, method=["temperature"]))
    assert {"candidates/none_loss", "candidates/temperature_loss", "candidates/temperature_gain"} <= set(chosen)
    for wrong in ([1], 3, "x"):
        with raises(InputTypeError, "result"):
            scalars(wrong)


def test_what_cannot_be_logged(results: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    class Writer:
        add_scalar = print

    for given, kind, text in (
        ((), ArgumentError, "results: "),
        ((results[0], results[0]), ArgumentError, "results: "),
        (([1, 2],), InputTypeError, "results: "),
        ((cal.PlattScaling(),), InputTypeError, "results: "),
    ):
        with pytest.raises(kind, match=text):
            log_tensorboard(*given, writer=Writer())
    with raises(InputTypeError, "writer"):
        log_tensorboard(results[0], writer="runs")
    monkeypatch.setattr(trackers, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    for log in (log_mlflow, log_wandb):
        with pytest.raises(MissingDependencyError):
            log(results[0])


def test_mlflow(results: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The store of files needs no database package; telemetry would ask the network.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow = pytest.importorskip("mlflow", reason="NO MLFLOW: pip install 'calibrant[trackers]' to test it")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())  # a logger of Lightning may have set another one
    with raises(ArgumentError, "run_id"):
        log_mlflow(results[0])
    with mlflow.start_run() as run:
        log_mlflow(*results, prefix="val/")
        log_mlflow({"later": results[0], "loss": 0.5}, step=3)
    client = mlflow.MlflowClient()
    found = client.get_run(run.info.run_id).data.metrics
    assert found == scalars(results[0], "val/") | scalars(results[2], "val/significance/") | scalars(
        results[0], "later/"
    ) | {"loss": 0.5}
    assert client.get_metric_history(run.info.run_id, "loss")[0].step == 3
    place = Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path=str(tmp_path / "files")))
    names = {str(file.relative_to(place)) for file in place.rglob("*.*")}
    assert {"val/evaluation.json", "val/reliability_diagram.png", "val/report.html", "step_3/later.json"} <= names
    assert json.loads((place / "val/evaluation.json").read_text()) == json.loads(results[0].to_json())
    assert (place / "val/reliability_diagram.png").read_bytes()[1:4] == b"PNG"
    assert "<html" in (place / "val/report.html").read_text()


def test_wandb(results: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wandb = pytest.importorskip("wandb", reason="NO WANDB: pip install 'calibrant[trackers]' to test it")
    with raises(ArgumentError, "run"):
        log_wandb(results[0])

    class Run:  # what a run gets; the process of an offline run takes seconds to start
        def log(self, values: dict[str, Any], step: int | None = None) -> None:
            self.values, self.step = values, step

    run = Run()
    log_wandb(*results, prefix="val/", step=2, run=run)
    numbers = scalars(results[0], "val/") | scalars(results[2], "val/significance/")
    assert {name: value for name, value in run.values.items() if name in numbers} == numbers
    assert isinstance(run.values["val/reliability_diagram"], wandb.Image)
    assert isinstance(run.values["val/report"], wandb.Html)
    assert run.step == 2


def records(log: bytes) -> Iterator[bytes]:
    """The records of a log of LevelDB: blocks of 32 KiB, with parts that have a checksum, a length and a kind before them."""
    place, whole = 7, b""
    while place + 7 <= len(log):
        if (rest := 32768 - place % 32768) < 7:
            place += rest
        length, kind = struct.unpack_from("<HB", log, place + 4)
        whole += log[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or last part
            yield whole
            whole = b""


@pytest.mark.deep
def test_wandb_files(results: tuple[Any, ...], tmp_path: Path) -> None:
    """An offline run, read from its file; starting its process takes seconds."""
    wandb = pytest.importorskip("wandb")
    with wandb.init(mode="offline", dir=str(tmp_path), project="test", settings=wandb.Settings(silent=True)) as run:
        log_wandb(*results)
    wandb.teardown()  # its process writes the file
    from wandb.proto import wandb_internal_pb2

    found: dict[str, Any] = {}
    for data in records(next(tmp_path.rglob("*.wandb")).read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        for item in record.history.item:
            found[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
    assert run is not None
    assert {name: found.get(name) for name in scalars(results[0])} == scalars(results[0])
    assert "reliability_diagram" in {name.partition("/")[0] for name in found}, sorted(found)
    assert list(tmp_path.rglob("reliability_diagram*.png"))


def test_tensorboard(results: tuple[Any, ...], tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="NO TORCH: its writer is used")
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="NO TENSORBOARD: pip install 'calibrant[trackers]'",
    )
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        for step in (1, 2):
            log_tensorboard(*results, {"extra": step}, writer=writer, prefix="val/", step=step)
    events = accumulator.EventAccumulator(str(tmp_path), size_guidance={"scalars": 0, "images": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    expected = scalars(results[0], "val/") | scalars(results[2], "val/significance/") | {"val/extra": 2}
    assert set(tags["scalars"]) == set(expected)
    for name, value in expected.items():
        assert events.Scalars(name)[-1].value == pytest.approx(value, rel=1e-6), name
    assert [event.step for event in events.Scalars("val/ece")] == [1, 2]
    image = events.Images("val/reliability_diagram")[0]
    assert image.width > 300
    assert {"val/evaluation/text_summary", "val/report/text_summary"} <= set(tags["tensors"])
