"""What is measured: the data, and for each task what calibrant and every other package is asked to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

BINS = 15
# Values this close are the same; what differs by more must have a reason that is known and written down.
SAME = 1e-6

# What a call gives: a number, an array of predictions, or nothing that could be compared.
Value = float | np.ndarray | None
Call = Callable[[], Value]
Prepare = Callable[[np.ndarray, np.ndarray], Call]


@dataclass(frozen=True)
class Contender:
    """One package doing one task: `prepare` gets labels and probabilities and gives the call that is timed."""

    name: str
    needs: str
    prepare: Prepare
    why: str = ""
    """Why its value may differ from calibrant's."""

    @property
    def is_here(self) -> bool:
        return find_spec(self.needs) is not None


@dataclass(frozen=True)
class Case:
    """One task on one array; `classes` is 1 for a score of the positive class, a `slope` of 1 is well calibrated."""

    id: str
    title: str
    rows: int
    classes: int
    contenders: list[Contender] = field(default_factory=list)
    quick_rows: int = 2000
    environment: str = "main"
    slope: float = 1.5
    dtype: str = "float32"

    def data(self, quick: bool = False) -> tuple[np.ndarray, np.ndarray]:
        rows, classes = (self.quick_rows, min(self.classes, 20)) if quick else (self.rows, self.classes)
        labels, probs = make_data(rows, classes, self.slope)
        if self.dtype == "float32":
            return labels, probs
        wide = probs.astype(self.dtype)
        return labels, wide if wide.ndim == 1 else wide / wide.sum(axis=1, keepdims=True)


def make_data(rows: int, classes: int, slope: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident float32 predictions and int64 labels, made block by block."""
    rng = np.random.default_rng(0)
    labels = np.empty(rows, np.int64)
    probs = np.empty(rows if classes == 1 else (rows, classes), np.float32)
    step = max(1, (1 << 20) // classes)
    for start in range(0, rows, step):
        span = slice(start, min(start + step, rows))
        size = span.stop - start
        if classes == 1:
            logit = 2 * rng.standard_normal(size)
            labels[span] = rng.random(size) < 1 / (1 + np.exp(-logit))
            probs[span] = 1 / (1 + np.exp(-slope * logit))
        else:
            logit = 2 * rng.standard_normal((size, classes))
            labels[span] = (logit + rng.gumbel(size=logit.shape)).argmax(axis=1)
            power = np.exp(slope * (logit - logit.max(axis=1, keepdims=True)))
            probs[span] = power / power.sum(axis=1, keepdims=True)
    return labels, probs


FLOAT32 = "adds up in float32"
LEFT = "bins closed on the left, with edges rounded to float32"
QUANTILES = "edges at interpolated quantiles, which split ties"


def _calibrant_does(name: str, **options: Any) -> Prepare:
    """A metric of calibrant with these options."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import calibrant

        metric = getattr(calibrant, name)
        return lambda: metric(y, p, **options)

    return prepare


def calibrant_twice(name: str, **options: Any) -> list[Contender]:
    """With numba and without; run.py tells the second by its name."""
    prepare = _calibrant_does(name, **options)
    return [Contender("calibrant", "numba", prepare), Contender("calibrant without numba", "calibrant", prepare)]


def _torch(y: np.ndarray, p: np.ndarray) -> tuple[Any, Any]:
    import torch

    return torch.from_numpy(p), torch.from_numpy(y)


def _torchmetrics_top(y: np.ndarray, p: np.ndarray) -> Call:
    from torchmetrics.functional.classification import multiclass_calibration_error

    preds, target = _torch(y, p)
    return lambda: float(multiclass_calibration_error(preds, target, num_classes=p.shape[1], n_bins=BINS, norm="l1"))


def _torchmetrics_binary(y: np.ndarray, p: np.ndarray) -> Call:
    from torchmetrics.functional.classification import binary_calibration_error

    preds, target = _torch(y, p)
    return lambda: float(binary_calibration_error(preds, target, n_bins=BINS, norm="l1"))


def _torchmetrics_each_class(y: np.ndarray, p: np.ndarray) -> Call:
    from torchmetrics.functional.classification import binary_calibration_error

    preds, target = _torch(y, p)

    def call() -> float:
        values = [
            float(binary_calibration_error(preds[:, k].contiguous(), (target == k).long(), n_bins=BINS, norm="l1"))
            for k in range(p.shape[1])
        ]
        return sum(values) / len(values)

    return call


def _top_label(y: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a user of a binary package does first."""
    if p.ndim == 1:
        return y, p
    return (p.argmax(axis=1) == y).astype(np.int64), p.max(axis=1)


def _relplot_width(y: np.ndarray, p: np.ndarray) -> Call:
    from relplot.metrics import binnedECE

    def call() -> float:
        outcome, score = _top_label(y, p)
        return float(binnedECE(score, outcome, nbins=BINS))

    return call


def _probcal_does(strategy: str) -> Prepare:
    """The expected calibration error of probcal, which is binary only."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        from probcal.metrics import ece

        def call() -> float:
            outcome, score = _top_label(y, p)
            return float(ece(outcome, score, n_bins=BINS, strategy=strategy))

        return call

    return prepare


def _probcal_each_class(y: np.ndarray, p: np.ndarray) -> Call:
    from probcal.metrics import ece

    def call() -> float:
        values = [
            ece((y == k).astype(np.int64), p[:, k], n_bins=BINS, strategy="width")
            for k in range(p.shape[1])
            if (y == k).any()
        ]
        return float(np.mean(values))

    return call


def _netcal_does(equal_width: bool) -> Prepare:
    """The expected calibration error of netcal."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        from netcal.metrics import ECE

        measure = ECE(bins=BINS, equal_intervals=equal_width)
        return lambda: float(measure.measure(p, y))

    return prepare


def _uncertainty_calibration_does(name: str, **options: Any) -> Prepare:
    """A function of uncertainty-calibration, whose module is called calibration."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import calibration

        return lambda: float(getattr(calibration, name)(p, y, num_bins=BINS, **options))

    return prepare


def _sklearn_score(name: str) -> Prepare:
    """A score of scikit-learn."""

    def prepare(y: np.ndarray, p: np.ndarray) -> Call:
        import sklearn.metrics

        score = getattr(sklearn.metrics, name)
        labels = np.arange(p.shape[1])
        return lambda: float(score(y, p, labels=labels))

    return prepare


def _sklearn_curve(y: np.ndarray, p: np.ndarray) -> Call:
    from sklearn.calibration import calibration_curve

    def call() -> None:
        calibration_curve(y, p, n_bins=BINS)

    return call


def _calibstats_debiased(y: np.ndarray, p: np.ndarray) -> Call:
    from calibstats import debiased_ece

    return lambda: float(debiased_ece(p, y, n_bins=BINS))


def _probcal_debiased(y: np.ndarray, p: np.ndarray) -> Call:
    from probcal.metrics import ece_debiased

    return lambda: float(ece_debiased(y, p, n_bins=BINS, strategy="width"))


def _probcal_sweep(y: np.ndarray, p: np.ndarray) -> Call:
    from probcal.metrics import ece_sweep

    return lambda: float(ece_sweep(y, p))


def _probcal_each_class_mass(y: np.ndarray, p: np.ndarray) -> Call:
    from probcal.metrics import ece

    def call() -> float:
        values = [ece((y == k).astype(np.int64), p[:, k], n_bins=BINS) for k in range(p.shape[1]) if (y == k).any()]
        return float(np.mean(values))

    return call


def _sort_columns(y: np.ndarray, p: np.ndarray) -> Call:
    def call() -> None:
        np.sort(p, axis=0)

    return call


UNCERTAINTY = "uncertainty-calibration"
TOP = [
    *calibrant_twice("ece"),
    Contender("torchmetrics", "torchmetrics", _torchmetrics_top, f"{FLOAT32}; {LEFT}"),
    Contender("relplot", "relplot", _relplot_width, f"{FLOAT32}; bins closed on the left"),
    Contender("probcal", "probcal", _probcal_does("width"), "bins closed on the left"),
    Contender("netcal", "netcal", _netcal_does(True), "bins closed on the left"),
    Contender(UNCERTAINTY, "calibration", _uncertainty_calibration_does("get_ece"), FLOAT32),
]

CASES = [
    Case("top_label_10", "Top-label ECE, 15 bins", 1_000_000, 10, TOP),
    Case("top_label_1000", "Top-label ECE, 15 bins", 100_000, 1000, TOP),
    Case(
        "binary",
        "Binary ECE, 15 bins",
        10_000_000,
        1,
        [
            *calibrant_twice("ece"),
            Contender("torchmetrics", "torchmetrics", _torchmetrics_binary, f"{FLOAT32}; {LEFT}"),
            *TOP[3:6],
            Contender(UNCERTAINTY, "calibration", _uncertainty_calibration_does("get_ece"), FLOAT32),
        ],
    ),
    Case(
        "class_wise",
        "Class-wise ECE, 15 bins of equal width",
        100_000,
        100,
        [
            *calibrant_twice("cwce"),
            Contender(
                "torchmetrics, a call for each class", "torchmetrics", _torchmetrics_each_class, f"{FLOAT32}; {LEFT}"
            ),
            Contender("probcal, a call for each class", "probcal", _probcal_each_class, "bins closed on the left"),
            Contender(UNCERTAINTY, "calibration", _uncertainty_calibration_does("get_ece", mode="marginal"), FLOAT32),
        ],
    ),
    Case(
        "equal_mass",
        "Binary ECE, 15 bins of equal mass",
        1_000_000,
        1,
        [
            *calibrant_twice("ece_em"),
            Contender("probcal", "probcal", _probcal_does("mass"), QUANTILES),
            Contender("netcal", "netcal", _netcal_does(False), QUANTILES),
            Contender(UNCERTAINTY, "calibration", _uncertainty_calibration_does("get_ece_em"), QUANTILES),
        ],
    ),
    Case(
        "class_wise_mass",
        "Class-wise ECE, 15 bins of equal mass",
        100_000,
        100,
        [
            *calibrant_twice("ace"),
            Contender("sorting the columns with NumPy", "numpy", _sort_columns),
            Contender("probcal, a call for each class", "probcal", _probcal_each_class_mass, QUANTILES),
        ],
    ),
    Case(
        "debiased",
        "Debiased root mean squared error, 15 bins of equal width",
        1_000_000,
        1,
        [
            *calibrant_twice("drmsce", binning="equal_width"),
            Contender("calibstats", "calibstats", _calibstats_debiased, "bins closed on the left"),
            Contender(
                "probcal", "probcal", _probcal_debiased, "truncates each bin at 0 and does not take the square root"
            ),
        ],
    ),
    Case(
        "sweep",
        "Monotonic sweep ECE",
        1_000_000,
        1,
        [
            *calibrant_twice("ece_sweep"),
            Contender("probcal", "probcal", _probcal_sweep, "tries at most 100 bins, at quantiles"),
        ],
    ),
    Case(
        "brier",
        "Brier score",
        1_000_000,
        10,
        [*calibrant_twice("brier"), Contender("scikit-learn", "sklearn", _sklearn_score("brier_score_loss"))],
    ),
    Case(
        "nll",
        "Log loss",
        1_000_000,
        10,
        [*calibrant_twice("nll"), Contender("scikit-learn", "sklearn", _sklearn_score("log_loss"), FLOAT32)],
    ),
    Case(
        "small",
        "Binary ECE, one small call",
        100,
        1,
        [
            *calibrant_twice("ece"),
            Contender("torchmetrics", "torchmetrics", _torchmetrics_binary, f"{FLOAT32}; {LEFT}"),
            Contender("scikit-learn (calibration_curve)", "sklearn", _sklearn_curve),
        ],
        quick_rows=100,
    ),
]


def verdict(contender: Contender, value: Value, expected: Value) -> str:
    """``"agrees"``, ``"does not return this value"``, or by how much and why the value differs; empty where nobody knows why."""
    if value is None or expected is None:
        return "does not return this value"
    gap = float(np.max(np.abs(np.subtract(value, expected))))
    if gap <= SAME:  # False for NaN
        return "agrees"
    size = f"{gap:.1g}" if np.ndim(value) == 0 else f"up to {gap:.1g}"
    return f"differs by {size}: {contender.why}" if contender.why and not math.isnan(gap) else ""


def as_number(value: Value) -> float | None:
    """For the table: predictions are shown by their root mean square."""
    if value is None or np.ndim(value) == 0:
        return None if value is None else float(value)
    return float(np.sqrt(np.mean(np.square(value))))
