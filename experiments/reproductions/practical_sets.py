"""Sets of real predictions, their groups of classes, the split in two parts, and the calibrators fitted to one "
"of them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.util.arrays import Floats
from experiments.published import probabilities_of

Ints = NDArray[np.intp]

RAW = "as trained"
TEMPERATURE, BIASED, HISTOGRAM, TOP_HISTOGRAM = MAPS = (
    "temperature",
    "bias-corrected temperature",
    "histogram binning",
    "histogram, top class",
)
MODELS = (RAW, *MAPS)

CLASSES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("practical_classes.toml").read_text(encoding="utf-8"))
SUPERCLASSES, KINDS = CLASSES["superclasses"], CLASSES["kinds"]
CIFAR100 = tuple(sorted(name for names in SUPERCLASSES.values() for name in names))
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def cifar100_tree() -> dict[str, dict[str, dict[str, list[int]]]]:
    """Living or not, kind, superclass; classes by their number in the usual, alphabetical order."""
    place = {name: number for number, name in enumerate(CIFAR100)}
    return {
        life: {
            kind: {name: [place[one] for one in SUPERCLASSES[name]] for name in names} for kind, names in kinds.items()
        }
        for life, kinds in KINDS.items()
    }


VEHICLES = [CIFAR10.index(name) for name in ("airplane", "automobile", "ship", "truck")]
CIFAR10_GROUPS = {"animals": [number for number in range(10) if number not in VEHICLES], "vehicles": VEHICLES}


@dataclass(frozen=True)
class Source:
    """What is asked of one set of predictions."""

    file: str
    title: str
    k: list[int]
    levels: list[str] = field(default_factory=list)
    """Names of the levels of its hierarchy of classes, the coarsest first; none where it has no hierarchy."""
    group: str = ""
    """The coarsest group whose probability is shown as a word; empty asks whether the likeliest class is right."""

    @property
    def hierarchy(self) -> dict[str, Any]:
        """Its groups of classes."""
        return cifar100_tree() if len(self.levels) > 1 else CIFAR10_GROUPS


SOURCES = tuple(Source(**facts) for facts in CLASSES["sources"])
C100, VGG, LENET, RESNET, MNIST, LLAMA8, LLAMA70 = SOURCES
FEW_SOURCES = (C100, LENET, LLAMA8)


@dataclass(frozen=True)
class Rows:
    """Labels and probabilities."""

    labels: Ints
    probs: Floats

    def take(self, rows: Ints) -> Rows:
        """Some of them."""
        return Rows(self.labels[rows], self.probs[rows])


def read(data: Path, source: Source) -> Rows:
    """All rows of a set, with probabilities that sum to 1 in double precision."""
    with np.load(data / "sets" / f"{source.file}.npz", allow_pickle=False) as stored:
        return Rows(stored["labels"].astype(np.intp), probabilities_of(stored))


def split(rows: Rows, seed: int, each: int | None = None) -> tuple[Rows, Rows]:
    """Two halves drawn at random, for maps and for measuring; of `each` rows if that is given."""
    order = np.random.default_rng(seed).permutation(len(rows.labels))
    half = len(order) // 2 if each is None else each
    return rows.take(order[:half]), rows.take(order[half : 2 * half])


def models_of(fit: Rows, measure: Rows, small: bool) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Probabilities of the rows to measure by each model, and what was fitted: temperatures, and bins that were "
    "chosen."""
    bins, binning = (10, "equal_width") if small else chosen_bins(fit)
    makers: dict[str, Callable[[], Any]] = {
        TEMPERATURE: cal.TemperatureScaling,
        BIASED: cal.BiasCorrectedTemperature,
        HISTOGRAM: lambda: cal.HistogramBinning(bins=bins, binning=binning),
        TOP_HISTOGRAM: lambda: cal.HistogramBinning(multiclass="top_versus_all"),
    }
    calibrators = {name: make().fit(fit.probs, fit.labels) for name, make in makers.items()}
    probs = {name: fitted.predict_proba(measure.probs) for name, fitted in calibrators.items()}
    about = {"temperature": calibrators[TEMPERATURE].temperature_, "bins": bins, "binning": binning.replace("_", " ")}
    return {RAW: measure.probs, **probs}, about


def histograms_of(fit: Rows, measure: Rows) -> dict[str, Floats]:
    """Probabilities of the rows to measure, as they are and by the histogram of every member of the grid."""
    found = {RAW: measure.probs}
    for bins, binning in bin_grid(fit.probs.shape[1]):
        fitted = cal.HistogramBinning(bins=bins, binning=binning).fit(fit.probs, fit.labels)
        found[f"{bins} of {binning.replace('_', ' ')}"] = fitted.predict_proba(measure.probs)
    return found


def chosen_bins(fit: Rows) -> tuple[int, Any]:
    """The paper's rule: the least traditional error among those that lose at most 5 points of accuracy, by three "
    "folds."""
    raw = float((fit.probs.argmax(axis=1) == fit.labels).mean())
    found = []
    for bins, binning in bin_grid(fit.probs.shape[1]):
        probs = histogram_folds(fit, bins, binning)
        lost = raw - float((probs.argmax(axis=1) == fit.labels).mean())
        error = cal.ece(fit.labels, probs, lens="top_label")
        found.append((max(lost - 0.05, 0.0), error, bins, binning))
    return min(found)[2:]


def bin_grid(classes: int) -> list[tuple[int, Any]]:
    """The bins among which the rule chooses.

    A class is predicted in about one row of `classes`, so that fewer bins of equal mass than classes put the rows
    where it is predicted into one bin with rows where it is not. The grid therefore reaches the number of classes.
    """
    counts = sorted({10, 20, 40, max(40, classes)})
    return [(bins, binning) for binning in ("equal_width", "equal_mass") for bins in counts]


def histogram_folds(fit: Rows, bins: int, binning: Any, folds: int = 3) -> Floats:
    """Probabilities of the rows by histograms that were fitted to the other folds."""
    probs = np.empty_like(fit.probs)
    fold = np.empty(len(fit.labels), np.intp)
    fold[np.argsort(fit.labels, kind="stable")] = np.arange(len(fold)) % folds  # every fold has its part of every class
    for number in range(folds):
        inside = fold == number
        fitted = cal.HistogramBinning(bins=bins, binning=binning).fit(fit.probs[~inside], fit.labels[~inside])
        probs[inside] = fitted.predict_proba(fit.probs[inside])
    return probs


def untied(p: cal.Predictions) -> cal.Predictions:
    """The same forecasts, moved at random by a billionth: a k-d tree cannot halve a cell at a median that most rows share.

    Three quarters of what histogram binning gives out are zeros. Left as they are, all its rows stay in one cell, in which
    errors of all classes cancel.
    """
    probs = np.asarray(p.probs, dtype=np.float64)
    probs = probs + 1e-9 * np.random.default_rng(0).random(probs.shape)
    return cal.Predictions(p.labels, probs / probs.sum(axis=1, keepdims=True))
