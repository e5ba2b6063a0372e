"""What `recalibrate` selects, and how well the gain that it reports holds on new data.

``python -m experiments.calibrators_choice --jobs 2`` simulates samples whose calibration is known and writes calibrators_choice.json beside this
file. For each setting it prints a row with the share of samples in which a method is selected that is worse than none, the mean of the reported and of the true gain,
and the share of intervals that cover the true gain, each with its Monte Carlo error; the same for the method of least held-out loss, whose gain is
then that of its cross-validation. Settings outside their bands are marked, and the command exits with 1. Sample number i of a setting has its
own generator, so that the number of processes changes nothing.
"""

import argparse
import json
import math
import sys
import warnings
import zlib
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant.inference.simulation import Simulation, temperature
from calibrant.recalibration.methods import METHODS
from calibrant.recalibration.safe import row_losses
from experiments.studies import share_error

RESULTS = Path(__file__).with_suffix(".json")
TEMPERATURES = {"calibrated": 1.0, "slightly overconfident": 1.3, "overconfident": 2.0}
# Samples of each setting, by the number of rows.
RUNS = {100: 300, 200: 200, 1000: 100}
NEW_ROWS = 10_000
LEAST_COVERAGE, MOST_WORSE = 0.93, 0.08
SEED = 2


class Setting(NamedTuple):
    """Population and size of a sample."""

    calibration: str
    classes: int
    n: int
    loss: str

    def sample(self, rows: int, rng: np.random.Generator) -> Simulation:
        """Rows of this population."""
        warp = temperature(TEMPERATURES[self.calibration])
        return cal.inference.make_miscalibrated(rows, warp=warp, distribution=(1,) * self.classes, rng=rng)


SETTINGS = [
    *(Setting(name, k, n, "nll") for name, k, n in product(TEMPERATURES, (2, 3), RUNS)),
    *(Setting(name, 2, 200, "brier") for name in TEMPERATURES),
]


def simulate_gains(setting: Setting, run: int) -> dict[str, list[float]]:
    """Reported gain, ends of its interval and true gain of the selection, and of the method of least held-out loss."""
    rng = np.random.default_rng([SEED, zlib.crc32(repr(tuple(setting)).encode()), run])
    data, new = setting.sample(setting.n, rng), setting.sample(NEW_ROWS, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.CalibrantWarning)
        result = cal.recalibrate(data.y_true, data.y_prob, loss=setting.loss)
        least = min(result.candidates, key=lambda c: c.loss)
        other = METHODS[least.method]().fit(data.y_prob, data.y_true)
        return {
            "selection": [result.gain, result.low, result.high, true_gain(result.calibrator, new, setting.loss)],
            "least loss": [least.gain, least.low, least.high, true_gain(other, new, setting.loss)],
        }


def true_gain(calibrator: cal.recalibration.Calibrator, new: Simulation, loss: str) -> float:
    """Mean reduction of the loss on new rows, with labels replaced by their true probabilities."""
    if isinstance(calibrator, METHODS["none"].calibrator):
        return 0.0
    before, truth = (np.column_stack([1 - p, p]) if p.ndim == 1 else p for p in (new.y_prob, new.truth))
    after = calibrator.predict_proba(new.y_prob)
    gain = 0.0
    for label in range(truth.shape[1]):
        labels = np.full(len(truth), label)
        gain += float(truth[:, label] @ (row_losses(before, labels, loss) - row_losses(after, labels, loss)))
    return gain / len(truth)


def summarize(setting: Setting, rule: str, gains: Any) -> dict[str, Any]:
    """One row of the results, with Monte Carlo errors."""
    reported, low, high, true = np.array(gains).T
    covers = (low <= true + 1e-12) & (true <= high + 1e-12)
    bias = reported - true
    return {
        **setting._asdict(),
        "rule": rule,
        "runs": len(true),
        "selected": float((true != 0).mean()),
        "worse": float((true < 0).mean()),
        "reported": float(reported.mean()),
        "true": float(true.mean()),
        "bias_error": float(bias.std() / math.sqrt(len(bias))),
        "coverage": float(covers.mean()),
        "coverage_error": share_error(covers.mean(), len(true)),
    }


def faults(row: dict[str, Any]) -> list[str]:
    """Bands that a row of the selection misses by more than three Monte Carlo errors."""
    if row["rule"] != "selection":
        return []
    faults = []
    if row["coverage"] < LEAST_COVERAGE - 3 * row["coverage_error"]:
        faults.append("coverage")
    if abs(row["reported"] - row["true"]) > 3 * row["bias_error"]:
        faults.append("bias")
    worse_error = math.sqrt(MOST_WORSE * (1 - MOST_WORSE) / row["runs"])
    if row["calibration"] == "calibrated" and row["worse"] > MOST_WORSE + 3 * worse_error:
        faults.append("selects on calibrated data")
    return faults


def main() -> int:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--share", type=float, default=1.0, help="share of the runs, to see that everything works")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for setting in SETTINGS:
            runs = max(2, round(chosen.share * RUNS[setting.n]))
            results = list(pool.map(partial(simulate_gains, setting), range(runs), chunksize=10))
            for rule in ("selection", "least loss"):
                row = summarize(setting, rule, [result[rule] for result in results])
                rows.append(row)
                print(json.dumps(row), " ".join(faults(row)).upper(), flush=True)
            lines = ",\n".join(json.dumps(row) for row in rows)
            chosen.out.write_text(f'{{"rows": [\n{lines}\n]}}\n', encoding="utf-8")
    return int(any(faults(row) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
