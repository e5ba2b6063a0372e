"""Every loss with the options under which it is tried, and a batch to try it on."""

from typing import Any

import torch
from torch import Tensor

from calibrant.torch import losses

# In place of cross-entropy, and to be added to it.
IN_PLACE: list[tuple[str, dict[str, Any]]] = [
    ("label_smoothing_loss", {}),
    ("label_smoothing_loss", {"spread": "others"}),
    ("margin_label_smoothing_loss", {"margin": 1.0}),
    ("focal_loss", {}),
    ("focal_loss", {"gamma": 0.5}),
    ("flsd_loss", {}),
    ("dual_focal_loss", {}),
    ("dual_focal_loss", {"gamma": 0.5}),
    ("confidence_penalty_loss", {}),
    ("confidence_penalty_loss", {"threshold": 0.5}),
    ("logit_norm_loss", {}),
    ("max_ent_loss", {}),
    ("max_ent_loss", {"constraint": "second_moment"}),
    ("max_ent_loss", {"constraint": "both"}),
]
TERMS: list[tuple[str, dict[str, Any]]] = [
    ("mmce_loss", {}),
    ("mmce_loss", {"squared": True}),
    ("weighted_mmce_loss", {}),
    ("weighted_mmce_loss", {"normalisation": "code"}),
    ("dca_loss", {}),
    ("mdca_loss", {}),
    ("ecd_loss", {}),
    ("ecd_loss", {"form": "over"}),
    ("ecd_loss", {"form": "signed", "multiclass": "true_vs_rest"}),
    ("soft_binned_ece_loss", {}),
    ("soft_binned_ece_loss", {"form": "label_binned"}),
    ("soft_binned_ece_loss", {"norm": 1}),
    ("dece_loss", {}),
    ("sece_loss", {}),
    ("kde_ece_loss", {}),
    ("kde_ece_loss", {"bandwidth": 0.001}),
    ("kde_ece_loss", {"bandwidth": 0.05, "lens": "auto"}),
    ("avuc_loss", {}),
    ("avuc_loss", {"threshold": 0.4}),
]
ALL = IN_PLACE + TERMS
HARD_ONLY = {"dual_focal_loss", "weighted_mmce_loss", "dece_loss", "avuc_loss"}
ONE_VALUE = {
    "mmce_loss",
    "weighted_mmce_loss",
    "dca_loss",
    "mdca_loss",
    "soft_binned_ece_loss",
    "dece_loss",
    "avuc_loss",
}
NAMES = sorted({name for name, _ in ALL})


def named(case: Any) -> str | None:
    return "-".join([case[0], *map(str, case[1].values())]) if isinstance(case, tuple) else None


def loss_of(name: str) -> Any:
    return getattr(losses, name)


def batch(classes: int = 4, rows: int = 9, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, classes, generator=draw, dtype=torch.float64) * 1.5
    return logits, torch.randint(classes, (rows,), generator=draw)
