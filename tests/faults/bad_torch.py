"""Modules, loaders, models, losses and metric objects of PyTorch that cannot be used."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

import calibrant as cal
import calibrant.torch as ct
from calibrant.torch import losses
from calibrant.torch.accumulating import SketchMetric
from calibrant.torch.metrics import BinaryCalibrationError, CalibrationMetric, MulticlassCalibrationError

from .cases import INF, NAN, Call

ZEROS, NET = torch.zeros(2, 3), torch.nn.Linear(3, 3)
X = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
Y = torch.arange(12) % 4
DROPOUT = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
FITTED: dict[str, tuple[Any, Any]] = {
    "one row": (torch.zeros(3), [0, 1, 1]),
    "one column": (torch.zeros(3, 1), [0, 1, 1]),
    "no rows": (torch.zeros(0, 3), []),
    "pixels": (torch.zeros(2, 3, 3), [0, 1]),
    "an array": (np.zeros((2, 3)), [0, 1]),
    "whole numbers": (torch.zeros(2, 3, dtype=torch.long), [0, 1]),
    "one label of two": (ZEROS, [0]),
    "one-hot labels": (ZEROS, [[0, 0, 1], [1, 0, 0]]),
    "label K": (ZEROS, [0, 3]),
    "label -100": (ZEROS, [-100, 1]),
    "half a label": (ZEROS, [0.0, 0.5]),
    "names": (ZEROS, ["a", "b"]),
    "missing labels": (ZEROS, [None, None]),
    "a logit of nan": (torch.tensor([[0.0, 1, 2], [0, NAN, 1]]), [0, 1]),
    "a logit of -inf": (torch.tensor([[0.0, 1, -INF]]), [0]),
    "four classes": (torch.zeros(2, 4), [0, 1]),
}
MODULES = ct.TemperatureModule(3), ct.OrderPreservingNetwork(3, hidden=(4,))
LOADERS: dict[str, list[Any]] = {
    "no batches": [],
    "no rows": [(torch.zeros(0, 3), torch.zeros(0))],
    "label K": [(ZEROS, torch.tensor([0, 3]))],
    "label -100": [(ZEROS, torch.tensor([0, -100]))],
    "half a label": [(ZEROS, torch.tensor([0.0, 0.5]))],
    "one-hot labels": [(ZEROS, torch.eye(3)[:2])],
    "columns of labels": [(ZEROS, torch.zeros(2, 7))],
    "three labels of two": [(ZEROS, torch.zeros(3))],
    **{
        f"labels as {type(labels).__name__}": [(ZEROS, torch.tensor([0, 1])), (ZEROS, labels)]
        for labels in (["ant"] * 2, np.array(["ant"] * 2), None, {"left": 1, "right": 2})
    },
    "ragged labels": [(ZEROS, [[1], [2, 3]])],
}
OUTPUTS: dict[str, tuple[Any, Any]] = {
    "two outputs": (lambda x: (x, x), None),
    "the sixth of two": (lambda x: (x, x), 5),
    "an unknown entry": (lambda x: {"aux": x, "logits": x}, "probs"),
    "an attribute that is a number": (lambda x: type("Out", (), {"logits": x, "other": 1})(), "other"),
    "whole numbers": (lambda x: x.argmax(dim=1), None),
}
MEMBERS: dict[str, dict[str, Any]] = {
    "several with samples": {"model": [DROPOUT, DROPOUT], "samples": 3},
    "several with a layer": {"model": [DROPOUT, DROPOUT], "layer": "0"},
    "rng as text": {"samples": 3, "rng": "a"},
    "samples of a function": {"model": torch.Tensor.clone, "samples": 3},
    **{f"{few!r} samples": {"samples": few} for few in (1, 0, 2.5, True)},
    "no members": {"model": []},
    "a number as member": {"model": [DROPOUT, 3]},
    "members of other classes": {"model": [torch.nn.Linear(3, 3), torch.nn.Linear(3, 4)]},
}
OPTIONS: tuple[tuple[str, str, Any], ...] = (
    ("label_smoothing_loss", "smoothing", 1.5),
    ("label_smoothing_loss", "spread", "some"),
    ("margin_label_smoothing_loss", "margin", -1),
    ("margin_label_smoothing_loss", "over_classes", "max"),
    ("focal_loss", "gamma", -1),
    ("focal_loss", "gamma", "2"),
    ("focal_loss", "gamma", True),
    ("flsd_loss", "cut", 2),
    ("dual_focal_loss", "gamma", NAN),
    ("confidence_penalty_loss", "beta", -0.1),
    ("logit_norm_loss", "temperature", 0),
    ("max_ent_loss", "constraint", "median"),
    ("max_ent_loss", "class_share", [0.5, 0.6]),
    ("max_ent_loss", "class_share", 0.5),
    ("mmce_loss", "bandwidth", 0),
    ("mmce_loss", "lens", "canonical"),
    ("weighted_mmce_loss", "normalisation", "both"),
    ("dca_loss", "lens", "rank:2"),
    ("ecd_loss", "form", "square"),
    ("ecd_loss", "multiclass", "top"),
    ("soft_binned_ece_loss", "bins", 0),
    ("soft_binned_ece_loss", "norm", INF),
    ("soft_binned_ece_loss", "form", "hard"),
    ("dece_loss", "bin_temperature", -1),
    ("sece_loss", "bandwidth", "silverman"),
    ("kde_ece_loss", "bandwidth", "scott"),
    ("kde_ece_loss", "lens", "classwise"),
    ("avuc_loss", "threshold", -1),
)


def collect(model: Any = DROPOUT, **keywords: Any) -> object:
    return ct.collect(model, [(torch.zeros(2, 3), torch.tensor([0, 1]))], **keywords)


def count(preds: Any, target: Any) -> object:
    return SketchMetric(3).update(preds, target)


TABLE: dict[str, Call] = {
    **{
        f"{type(module).__name__}, {name}": partial(module.fit, *rows)
        for module in MODULES
        for name, rows in FITTED.items()
    },
    "a module of one class": lambda: ct.TemperatureModule(1),
    "a module of True classes": lambda: ct.TemperatureModule(True),
    "temperature 0": lambda: ct.TemperatureModule(temperature=0),
    "temperature True": lambda: ct.TemperatureModule(temperature=True),
    "four logits of three classes": lambda: MODULES[0](torch.zeros(2, 4)),
    "dense logits of five classes": lambda: MODULES[0](torch.zeros(2, 5, 3)),
    "a calibrator of unknown classes": lambda: ct.TemperatureModule().to_calibrator(),
    "a module of vector scaling": lambda: ct.TemperatureModule.from_calibrator(cal.VectorScaling()),
    "a module of what is not fitted": lambda: ct.TemperatureModule.from_calibrator(cal.TemperatureScaling()),
    "a negative weight": lambda: ct.TemperatureModule().fit(ZEROS, [0, 1], sample_weight=[1.0, -1.0]),
    "three weights of two": lambda: ct.TemperatureModule().fit(ZEROS, [0, 1], sample_weight=torch.ones(3)),
    "seed -1 of a network": lambda: ct.OrderPreservingNetwork(4, hidden=(4,)).fit(X, Y, rng=-1),
    "a network of two rows": lambda: ct.OrderPreservingNetwork(4, hidden=(4,)).fit(X[:2], Y[:2]),
    **{f"collect, {name}": partial(ct.collect, torch.nn.Identity(), loader) for name, loader in LOADERS.items()},
    **{f"collect, {name}": partial(collect, model, output=output) for name, (model, output) in OUTPUTS.items()},
    "collect, a name as model": lambda: collect("resnet50"),
    **{f"members, {name}": partial(collect, **keywords) for name, keywords in MEMBERS.items()},
    **{
        f"{loss}, {option}={value!r}": partial(getattr(losses, loss), X[:, :2], Y % 2, **{option: value})
        for loss, option, value in OPTIONS
    },
    "two columns of three classes": lambda: count(torch.zeros(4, 2), torch.zeros(4, dtype=torch.long)),
    "five targets of four": lambda: count(torch.zeros(4, 3), torch.zeros(5, dtype=torch.long)),
    "whole numbers as predictions": lambda: count(torch.zeros(4, 3, dtype=torch.long), torch.zeros(4).long()),
    "fractions as targets": lambda: count(torch.zeros(4, 3), torch.zeros(4)),
    "lists of predictions": lambda: count([[0.1, 0.9]], [1]),
    "a metric of one class": lambda: SketchMetric(1),
    "a metric of no number of classes": lambda: MulticlassCalibrationError(None),  # type: ignore[arg-type]
    "a metric of 0 bins": lambda: BinaryCalibrationError(0),
    "an unknown norm": lambda: BinaryCalibrationError(norm="l3"),  # type: ignore[arg-type]
    "sums of ranks": lambda: SketchMetric(3, lenses="rank:2"),
    "classes of one event": lambda: CalibrationMetric("cwce", lens="classwise"),
    "groups that are missing": lambda: SketchMetric(num_groups=4).update(torch.tensor([0.5]), torch.tensor([1])),
    "a sketch of few bins": lambda: BinaryCalibrationError(7).sketch(),
}
