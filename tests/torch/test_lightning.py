"""Metric objects and the callback in Lightning: logged once an epoch, the values of the library, and the figure in the logger."""

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test the callback")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    L = pytest.importorskip("lightning.pytorch", reason="NO LIGHTNING: pip install 'calibrant[lightning]' to test it")
import torchmetrics as tm  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import calibrant as cal  # noqa: E402
import calibrant.torch as ct  # noqa: E402
from calibrant.errors import ArgumentError, InputTypeError  # noqa: E402
from calibrant.torch import lightning as home  # noqa: E402
from calibrant.torch.lightning import CalibrationCallback  # noqa: E402
from tests.calling import raises  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning gives many hints
torch.manual_seed(0)
X = torch.randn(120, 3)
Y = torch.distributions.Categorical(logits=X).sample()


class Net(L.LightningModule):
    """A model that logs metric objects, and returns its logits."""

    def __init__(self, returns: Any = None) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.returns = returns
        self.seen = ct.CalibrationMetric("ece", 3, input="logit")
        self.top = ct.MulticlassCalibrationError(3, norm="max", input="logit")
        self.both = tm.MetricCollection(
            {name: ct.CalibrationMetric(name, 3, input="logit") for name in ("ece", "smece")}, prefix="both/"
        )
        self.steps: list[float] = []
        self.epochs: list[float] = []

    def training_step(self, batch: Any, number: int) -> Any:
        logits = self.layer(batch[0])
        self.steps.append(float(self.seen(logits, batch[1])))
        self.log("seen", self.seen, on_step=True, on_epoch=True)
        return nn.functional.cross_entropy(logits, batch[1])

    def validation_step(self, batch: Any, number: int) -> Any:
        logits = self.layer(batch[0])
        if self.returns:
            return self.returns(logits, batch[1])
        self.top.update(logits, batch[1])
        self.log("top", self.top)
        self.both.update(logits, batch[1])
        self.log_dict(self.both)
        return {"logits": logits}

    def on_validation_epoch_end(self) -> None:
        self.epochs.append(self.top.sketch().n)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.5)


def trainer(folder: Any, *callbacks: Any, package: Any = L, **words: Any) -> Any:
    return package.Trainer(
        default_root_dir=folder, accelerator="cpu", callbacks=list(callbacks), enable_progress_bar=False,
        enable_model_summary=False, log_every_n_steps=1, **{"logger": False, "max_epochs": 2} | words,
    )  # fmt: skip


def loader() -> Any:
    return DataLoader(TensorDataset(X, Y), batch_size=50)


def test_metrics_that_are_logged(tmp_path: Any) -> None:
    net, callback = Net(), CalibrationCallback(["ece", "mce"], prefix="cb/")
    logger = L.loggers.TensorBoardLogger(tmp_path)
    run = trainer(tmp_path, callback, logger=logger)
    run.fit(net, loader(), loader())
    probs, y = net.layer(X).softmax(dim=1).detach().numpy(), Y.numpy()
    found = {name: float(value) for name, value in run.callback_metrics.items()}
    expected = {
        "top": cal.mce(y, probs),
        "both/ece": cal.ece(y, probs),
        "both/smece": cal.smece(cal.Sketch.of(y, probs)),
        "cb/ece": cal.ece(y, probs),
        "cb/mce": cal.mce(y, probs),
        "cb/temperature": cal.TemperatureScaling(input="logit").fit(net.layer(X).detach().numpy(), y).temperature_,
        "seen_step": net.steps[-1],
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-6), name
    # Each epoch starts without rows, also after the sanity check.
    assert net.epochs[-2:] == [120, 120]
    assert net.both.compute_groups == {0: ["ece", "smece"]}
    assert callback.values == {name: value for name, value in found.items() if name.startswith("cb/")}
    assert callback.temperature_module is not None
    # A model that is loaded again, or trained further, does not count rows of the run before.
    file = run.checkpoint_callback.best_model_path
    assert not [name for name in torch.load(file, weights_only=False)["state_dict"] if "sums" in name]
    again = trainer(tmp_path, max_epochs=3)
    again.fit(other := Net(), loader(), loader(), ckpt_path=file)
    assert len(other.steps) == 3
    with torch.no_grad():
        accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
        events = accumulator.EventAccumulator(logger.log_dir, size_guidance={"images": 0, "scalars": 0})
        events.Reload()
    assert len(events.Images("cb/reliability_diagram")) == 2
    assert events.Scalars("cb/ece")[-1].value == pytest.approx(expected["cb/ece"], abs=1e-6)


def test_outputs_of_one_event_and_of_other_steps(tmp_path: Any) -> None:
    # Logits of shape (N, 1), and rows to ignore.
    marked = torch.where(torch.arange(120) % 7 == 0, -1, (Y > 0).long())
    net = Net(lambda z, y: {"logits": z[:, :1], "target": y})
    callback = CalibrationCallback(["ece"], ignore_index=-1, diagram=False)
    rows = DataLoader(TensorDataset(X, marked), batch_size=8)
    trainer(tmp_path, callback).validate(net, rows, verbose=False)
    used = (marked >= 0).numpy()
    probs = net.layer(X)[:, 0].sigmoid().detach().numpy()
    assert callback.values["val/ece"] == pytest.approx(cal.ece(marked.numpy()[used], probs[used]), abs=1e-6)
    # Labels as binary cross-entropy takes them.
    for labels in (marked[:, None], marked.double()[:, None]):
        other = CalibrationCallback(["ece"], ignore_index=-1, diagram=False)
        rows = DataLoader(TensorDataset(X, labels), batch_size=8)
        trainer(tmp_path, other).validate(net, rows, verbose=False)
        assert other.values == callback.values
    assert 0.001 <= callback.values["val/temperature"] <= 1000
    plain = CalibrationCallback(["ece"], temperature=False, rows=lambda outputs, batch: (outputs, batch[1]))
    trainer(tmp_path, plain, logger=[L.loggers.CSVLogger(tmp_path)]).validate(
        Net(lambda z, y: z), loader(), verbose=False
    )
    assert list(plain.values) == ["val/ece"]
    assert plain._kept == []
    for returns in (lambda z, y: None, lambda z, y: z.sum(), lambda z, y: {"loss": z.sum()}):
        with raises(InputTypeError, "validation_step"):
            trainer(tmp_path, CalibrationCallback()).validate(Net(returns), loader(), verbose=False)


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deep: bool) -> None:
    """The code of the guide on training, as pasted; in the long form with its trackers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # as the page sets it; restored afterwards
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    page = (Path(__file__).parents[2] / "docs/guides/training.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    for block in blocks if deep else blocks[:2]:
        exec(block, names)
    assert set(names["callback"].values) == {"cal/ece", "cal/cwce", "cal/temperature"}
    assert names["trainer"].callback_metrics["val/ece"] == pytest.approx(names["callback"].values["cal/ece"])


def test_arguments() -> None:
    for words, kind, text in (
        ({"metrics": "ece"}, InputTypeError, r"metrics: must be a list of names; got 'ece'; pass \['ece'\]"),
        ({"metrics": []}, ArgumentError, "metrics: is empty"),
        ({"metrics": ["brier"]}, ArgumentError, "metric: brier cannot be computed from accumulated sums"),
    ):
        with pytest.raises(kind, match=text):
            CalibrationCallback(**words)  # type: ignore[arg-type]


def test_several_processes_that_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without rows takes part."""
    whole = CalibrationCallback()
    whole._keep(X, Y)
    monkeypatch.setattr(home, "_gather", lambda value: [[], whole._kept])
    assert whole._fitted().temperature == pytest.approx(ct.TemperatureModule().fit(X, Y).temperature)


def test_the_other_package(tmp_path: Any) -> None:
    other = pytest.importorskip("pytorch_lightning", reason="NO PYTORCH_LIGHTNING")

    class Small(other.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def validation_step(self, batch: Any, number: int) -> Any:
            return self.layer(batch[0])

    callback, net = CalibrationCallback(["ece"], diagram=False), Small()
    trainer(tmp_path, callback, package=other).validate(net, loader(), verbose=False)
    probs = net.layer(X).softmax(dim=1).detach().numpy()
    assert callback.values["val/ece"] == pytest.approx(cal.ece(Y.numpy(), probs), abs=1e-6)
    assert {"lightning.pytorch", "pytorch_lightning"} <= set(sys.modules)
    assert len(home._bases()) == 2


def test_figures_have_the_step_of_the_metrics(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, deep: bool) -> None:
    """In the real loggers of MLflow and, in the long form, of Weights & Biases, whose process takes seconds to start."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    logger = L.loggers.MLFlowLogger("runs", tracking_uri=tmp_path.as_uri())
    returned = Net(returns=lambda logits, labels: logits)
    trainer(tmp_path, CalibrationCallback(["ece"]), logger=logger, max_epochs=1).fit(returned, loader(), loader())
    client = mlflow.MlflowClient(tmp_path.as_uri())
    (point,) = client.get_metric_history(logger.run_id, "val/ece")
    (folder,) = client.list_artifacts(logger.run_id)
    assert folder.path == f"step_{point.step}"
    assert [file.path for file in client.list_artifacts(logger.run_id, f"{folder.path}/val")] == [
        f"step_{point.step}/val/reliability_diagram.png"
    ]
    if deep:
        logger = L.loggers.WandbLogger(project="p", offline=True, save_dir=tmp_path)
        trainer(tmp_path, CalibrationCallback(["ece"]), logger=logger, max_epochs=1).fit(returned, loader(), loader())
        summary = dict(logger.experiment.summary)
        assert summary["trainer/global_step"] == point.step
        assert "val/reliability_diagram" in summary
        logger.experiment.finish()


def test_a_validation_without_labelled_rows_does_not_end_the_training(tmp_path: Any) -> None:
    masked = DataLoader(TensorDataset(X, torch.full_like(Y, -100)), batch_size=50)
    callback = CalibrationCallback(["ece"], ignore_index=-100)
    run = trainer(tmp_path, callback, max_epochs=1)
    with pytest.warns(
        cal.CalibrantWarning, match="logs nothing for this validation: all rows are labelled ignore_index"
    ):
        run.fit(Net(returns=lambda logits, labels: logits), loader(), masked)
    assert callback.values == {}
    assert callback.temperature_module is None
    assert "val/ece" not in run.callback_metrics
