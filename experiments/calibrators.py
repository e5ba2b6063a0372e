"""Every calibrator on sets of predictions, compared with `recalibrate(method="auto")` and with other packages that have the same method.

A calibrator is fitted on one half of a set and evaluated on the other. ``python -m experiments.calibrators`` computes what is missing in
calibrators.json, set by set, so that it can be stopped at any time. ``--minutes 15`` stops it, ``--fast`` leaves slow methods and packages out, names of
sets select and repeat them, and ``--auto`` repeats the choice of `recalibrate` alone. calibrators_page.py writes the page. Run it in the environment created by `make bench`, with betacal and
venn-abers added (missing packages are skipped and listed). The published predictions are outside the repository, in the folder CALIBRANT_DATA.
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.errors import CalibrantError
from calibrant.recalibration.methods import METHODS
from experiments import calibrators_peers, calibrators_sets
from experiments.calibrators_peers import Peer
from experiments.calibrators_sets import Floats, Problem, split
from experiments.published import data_folder, probabilities_of

HERE = Path(__file__).parent
RESULTS = HERE / "calibrators.json"
MOST_ROWS, MANY_CLASSES, FLOOR = 20_000, 20, 1e-12
# Too slow for many classes: the number of parameters is quadratic, or every row is compared with every other.
FEW_CLASSES = {"matrix", "venn_abers_one_vs_one", "kernel", "consistency", "miscalibration_aware_temperature"}
# Too slow for many rows; `--fast` leaves them out everywhere.
SLOW = FEW_CLASSES | {"intra_order_preserving", "cross_venn_abers", "bayesian_binning"}
# For scores with few values, for a risk that no loss measures, and the same as matrix scaling where the scores are probabilities.
OTHER_PURPOSES = {"histogram_levels", "safe_temperature", "beta_ab", "offset_adjustment", "dirichlet"}
CALIBRATORS = {
    **{name: method for name, method in METHODS.items() if name not in OTHER_PURPOSES},
    "histogram of equal width": partial(cal.HistogramBinning, binning="equal_width"),
}
# Stated confidences, which are not distributions over the classes.
LEFT_OUT = "sciq_stated"


def problems(folder: Path, only: set[str] | None = None, most: int = MOST_ROWS) -> Iterator[Problem]:
    """All published sets with a probability per class, or the named ones, with at most `most` rows each."""
    for path in sorted((folder / "sets").glob("*.npz")):
        if path.stem.startswith(LEFT_OUT) or (only is not None and path.stem not in only):
            continue
        with np.load(path, allow_pickle=False) as arrays:
            for name, probs, labels in _read(path.stem, dict(arrays)):
                yield split(name, probs, labels, most)


def _read(name: str, arrays: dict[str, Any]) -> Iterator[tuple[str, Floats, NDArray[np.int64]]]:
    if "logits" in arrays or "probs" in arrays:
        yield name, probabilities_of(arrays), arrays["labels"].astype(np.int64)
        return
    columns = [column for column in arrays if column.startswith("p_")]
    # Missing forecasts are negative; these rows are dropped for all forecasters of a data set.
    known = np.all([(arrays[column] >= 0) & (arrays[column] <= 1) for column in columns], axis=0)
    for column in columns:
        p = arrays[column].astype(np.float64)
        title = name if len(columns) == 1 else f"{name} {column[2:]}"
        yield title, np.column_stack([1 - p, p])[known], arrays["label"].astype(np.int64)[known]


def sources(folder: Path) -> Iterator[tuple[str, str, Callable[[], Problem]]]:
    """Kind and name of each set, and how it is made; the published ones from small to large."""
    for problem in sorted(problems(folder), key=lambda problem: problem.fit.probs.size):
        yield "published", problem.name, partial(lambda stored: stored, problem)
    for name, make in calibrators_sets.sources(folder):
        yield "simulated" if name.startswith("simulated") else "trained", name, make


def loss(probs: Floats, labels: NDArray[np.int64]) -> float:
    """Mean negative log-likelihood; probabilities below 1e-12 are replaced by 1e-12."""
    return float(-np.log(np.maximum(probs[np.arange(len(labels)), labels], FLOOR)).mean())


def measures(probs: Floats, labels: NDArray[np.int64]) -> dict[str, float]:
    """Loss, Brier score and smooth calibration error of the test half."""
    whole = cal.Predictions(labels, probs)
    return {"loss": loss(probs, labels), "brier": cal.brier(whole), "smece": cal.smece(whole)}


def names_for(classes: int, rows: int, fast: bool = False) -> list[str]:
    """The methods that are fast enough for the number of classes and rows."""
    left_out = FEW_CLASSES if classes > MANY_CLASSES else set()
    left_out = SLOW if fast or rows > MOST_ROWS else left_out
    return [name for name in CALIBRATORS if name not in left_out]


def predicted(name: str, problem: Problem) -> Floats:
    """Probabilities of the test half, calibrated by one method of calibrant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes without rows, and separable labels
        return METHODS.get(name, CALIBRATORS.get(name))().fit(*problem.fit).predict_proba(problem.test.probs)


def ours(problem: Problem, names: list[str]) -> Iterator[dict[str, Any]]:
    """Measures and seconds of methods of calibrant, or the reason why one cannot be fitted."""
    for name in names:
        start = time.perf_counter()
        try:
            probs = predicted(name, problem)
        except CalibrantError as error:
            yield {"calibrator": name, "undefined": str(error)}
            continue
        seconds = time.perf_counter() - start
        assert probs.shape == problem.test.probs.shape
        assert np.abs(probs.sum(axis=1) - 1).max() <= 1e-12
        yield {"calibrator": name, **measures(probs, problem.test.labels), "seconds": seconds}


def choice(problem: Problem) -> dict[str, Any]:
    """Measures and seconds of the method that `recalibrate` selects, and the losses by which it selects."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = cal.recalibrate(problem.fit.labels, problem.fit.probs)
    seconds = time.perf_counter() - start
    probs = result.predict_proba(problem.test.probs)
    held_out = {c.method: float(f"{c.loss:.6g}") for c in result.candidates if not c.reason}
    chosen = {"method": result.method, **measures(probs, problem.test.labels), "seconds": seconds}
    return {**chosen, "gain": result.gain, "low": result.low, "high": result.high, "held_out": held_out}


def theirs(problem: Problem, peers: list[Peer]) -> Iterator[dict[str, Any]]:
    """Loss and seconds of methods of other packages."""
    for peer in peers:
        start = time.perf_counter()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                probs = np.asarray(peer.predict(problem.fit, problem.test.probs), dtype=np.float64)
            seconds = time.perf_counter() - start
            probs = np.where(np.isfinite(probs), probs, 0.0)
            value: dict[str, Any] = {"loss": loss(probs, problem.test.labels)}
        except Exception as error:  # another package may fail in any way
            seconds = time.perf_counter() - start
            value = {"undefined": f"{type(error).__name__}: {error}"[:200]}
        yield {"calibrator": peer.method, "package": peer.package, **value, "seconds": seconds}


def store(results: dict[str, Any]) -> None:
    """Write the results, one calibrator in each line, with five digits."""
    plain = json.loads(json.dumps(results), parse_float=lambda text: float(f"{float(text):.6g}"))
    lines = [f'"versions": {json.dumps(plain["versions"])}']
    for name, entry in plain["losses"].items():
        rows = {key: ",\n".join(map(json.dumps, entry[key])) for key in ("ours", "theirs")}
        facts = json.dumps({key: value for key, value in entry.items() if key not in rows})
        tables = ", ".join(f"{json.dumps(key)}: [\n{text}]" for key, text in rows.items())
        lines.append(f"{json.dumps(name)}: {facts[:-1]}, {tables}}}")
    body = ",\n".join(lines[1:])
    RESULTS.write_text(f'{{{lines[0]},\n"losses": {{\n{body}\n}}}}\n', encoding="utf-8")


def complete(known: dict[str, Any], problem: Problem, fast: bool) -> None:
    """Compute what an entry of the results lacks."""
    classes, rows = problem.k, len(problem.fit.labels)
    known |= {"rows": [rows, len(problem.test.labels)], "classes": classes}
    own, others = known.setdefault("ours", []), known.setdefault("theirs", [])
    done = {row["calibrator"] for row in own}
    own += ours(problem, [name for name in names_for(classes, rows, fast) if name not in done])
    done = {(row["calibrator"], row["package"]) for row in others}
    peers = calibrators_peers.available(classes, rows, fast)
    others += theirs(problem, [peer for peer in peers if (peer.method, peer.package) not in done])
    if "auto" not in known:
        known["auto"] = choice(problem)


def main() -> None:
    """Compute what the results lack, or the named sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="sets that are computed again")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further set after this time")
    parser.add_argument(
        "--fast", action="store_true", help="without the methods and packages that take most of the time"
    )
    parser.add_argument("--auto", action="store_true", help="repeat the choice of recalibrate alone")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"losses": {}}
    results["versions"] = calibrators_peers.versions()
    print("not installed:", ", ".join(calibrators_peers.MODULES.keys() - results["versions"].keys()) or "none")
    for kind, name, make in sources(data_folder()):
        known = results["losses"].get(name, {})
        if time.monotonic() > end or (options.names and name not in options.names):
            continue
        if options.fast and "auto" in known and not (options.names or options.auto):
            continue
        problem = make()
        if options.names and not options.auto:
            known = {}
        if options.auto and known:
            known["auto"] = choice(problem)
        else:
            complete(known, problem, options.fast)
        results["losses"][name] = {"kind": kind} | known
        store(results)
        print(f"{name}: {problem.k} classes, {known['auto']['method']} in {known['auto']['seconds']:.1f} s", flush=True)


if __name__ == "__main__":
    main()
