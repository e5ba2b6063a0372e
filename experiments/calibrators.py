"""Every calibrator on real predictions, compared with other packages that have the same method.

Each set of predictions is split in half; a calibrator is fitted on one half, and its loss is computed on the other. Run it in the environment
created by `make bench`, with betacal and venn-abers added (missing packages are skipped and listed); the losses are written to
calibrators.json, from which calibrators_page.py writes the page. The predictions are outside the repository, in the folder CALIBRANT_DATA.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.errors import CalibrantError
from calibrant.recalibration.methods import METHODS
from experiments.published import data_folder

Floats = NDArray[np.float64]

HERE = Path(__file__).parent
RESULTS = HERE / "calibrators.json"
SEED, MOST_ROWS, MANY_CLASSES, FLOOR = 20_241, 20_000, 20, 1e-12
# Too slow for many classes: the number of parameters is quadratic, or every row is compared with every other.
FEW_CLASSES = {"matrix", "dirichlet", "kernel", "consistency", "miscalibration_aware_temperature"}
CALIBRATORS = {
    **METHODS,
    "platt of plain labels": partial(cal.PlattScaling, targets="plain"),
    "histogram of equal width": partial(cal.HistogramBinning, binning="equal_width"),
}
# Stated confidences, which are not distributions over the classes.
LEFT_OUT = "sciq_stated"


class Half(NamedTuple):
    """Probabilities and labels of one half; two classes have two columns."""

    probs: Floats
    labels: NDArray[np.int64]


class Problem(NamedTuple):
    """One set of predictions, split in half."""

    name: str
    fit: Half
    test: Half

    @property
    def k(self) -> int:
        return self.fit.probs.shape[1]


def problems(folder: Path, only: set[str] | None = None, most: int = MOST_ROWS) -> Iterator[Problem]:
    """All data sets with a probability per class, or the named ones, with at most `most` rows each."""
    for path in sorted((folder / "sets").glob("*.npz")):
        if path.stem.startswith(LEFT_OUT) or (only is not None and path.stem not in only):
            continue
        with np.load(path, allow_pickle=False) as arrays:
            for name, probs, labels in _read(path.stem, dict(arrays)):
                yield split(name, probs, labels, most)


def _read(name: str, arrays: dict[str, Any]) -> Iterator[tuple[str, Floats, NDArray[np.int64]]]:
    if "logits" in arrays or "probs" in arrays:
        labels = arrays["labels"].astype(np.int64)
        if "logits" in arrays:
            shifted = arrays["logits"].astype(np.float64)
            probs = np.exp(shifted - shifted.max(axis=1, keepdims=True))
        else:
            probs = arrays["probs"].astype(np.float64)
        yield name, probs / probs.sum(axis=1, keepdims=True), labels
        return
    columns = [column for column in arrays if column.startswith("p_")]
    # Missing forecasts are negative; these rows are dropped for all forecasters of a data set.
    known = np.all([(arrays[column] >= 0) & (arrays[column] <= 1) for column in columns], axis=0)
    for column in columns:
        p = arrays[column].astype(np.float64)
        title = name if len(columns) == 1 else f"{name} {column[2:]}"
        yield title, np.column_stack([1 - p, p])[known], arrays["label"].astype(np.int64)[known]


def split(name: str, probs: Floats, labels: NDArray[np.int64], most: int) -> Problem:
    """Two random halves of at most `most` rows in total."""
    order = np.random.default_rng(SEED).permutation(len(labels))[:most]
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    return Problem(name, Half(probs[first], labels[first]), Half(probs[second], labels[second]))


def loss(probs: Floats, labels: NDArray[np.int64]) -> float:
    """Mean negative log-likelihood; probabilities below 1e-12 are replaced by 1e-12."""
    return float(-np.log(np.maximum(probs[np.arange(len(labels)), labels], FLOOR)).mean())


def names_for(problem: Problem) -> list[str]:
    """The methods that are fast enough for the number of classes."""
    return [name for name in CALIBRATORS if problem.k <= MANY_CLASSES or name not in FEW_CLASSES]


def predicted(name: str, problem: Problem) -> Floats:
    """Probabilities of the test half, calibrated by one method of calibrant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes without rows, and separable labels
        return CALIBRATORS[name]().fit(*problem.fit).predict_proba(problem.test.probs)


def ours(problem: Problem) -> Iterator[dict[str, Any]]:
    """Loss and seconds of each method of calibrant, or the reason why it cannot be fitted."""
    for name in names_for(problem):
        start = time.perf_counter()
        try:
            probs = predicted(name, problem)
        except CalibrantError as error:
            yield {"calibrator": name, "undefined": str(error)}
            continue
        assert probs.shape == problem.test.probs.shape
        assert np.abs(probs.sum(axis=1) - 1).max() <= 1e-12
        yield {"calibrator": name, "loss": loss(probs, problem.test.labels), "seconds": time.perf_counter() - start}


def theirs(problem: Problem) -> Iterator[dict[str, Any]]:
    """Loss and seconds of the other packages."""
    from experiments import calibrators_peers

    for peer in calibrators_peers.available(problem.k):
        start = time.perf_counter()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                probs = np.asarray(peer.predict(problem.fit, problem.test.probs), dtype=np.float64)
            probs = np.where(np.isfinite(probs), probs, 0.0)
            value: dict[str, Any] = {"loss": loss(probs, problem.test.labels)}
        except Exception as error:  # another package may fail in any way
            value = {"undefined": f"{type(error).__name__}: {error}"[:200]}
        yield {"calibrator": peer.method, "package": peer.package, "seconds": time.perf_counter() - start, **value}


def main(names: list[str]) -> None:
    """Compute the losses of the named data sets, or of all."""
    from experiments import calibrators_peers

    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["versions"] = calibrators_peers.versions()
    print("not installed:", ", ".join(calibrators_peers.MODULES.keys() - results["versions"].keys()) or "none")
    for problem in problems(data_folder(), set(names) or None):
        facts = {"rows": [len(problem.fit.labels), len(problem.test.labels)], "classes": problem.k}
        entry = {**facts, "ours": list(ours(problem)), "theirs": list(theirs(problem))}
        results.setdefault("losses", {})[problem.name] = entry
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        seconds = sum(row.get("seconds", 0) for row in entry["ours"]), sum(row["seconds"] for row in entry["theirs"])
        print(f"{problem.name}: {problem.k} classes, {seconds[0]:.1f} s here, {seconds[1]:.1f} s there", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
