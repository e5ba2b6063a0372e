"""Write one file of each kind into a folder named after the version; later versions must open them (tests/test_release.py)."""

import gzip
import tempfile
from pathlib import Path

import numpy as np

import calibrant as cal


def main() -> None:
    """Write a calibrator, a sketch, sketches of groups and the store of a monitor, all of 60 simulated rows."""
    folder = Path(__file__).parent / cal.__version__
    folder.mkdir()
    data = cal.inference.make_miscalibrated(60, warp=cal.inference.simulation.temperature(3.0), rng=1)
    y, p = np.asarray(data.y_true), np.round(np.asarray(data.y_prob), 3)
    cal.save(cal.PlattScaling().fit(p, y), folder / "platt.json")
    (folder / "scores.sketch").write_bytes(cal.Sketch.of(y, p).to_bytes())
    groups = np.array(["a", "b", "c"])[np.arange(60) % 3]
    (folder / "groups.sketch").write_bytes(cal.Sketches.of(cal.Predictions(y, p, groups=groups)).to_bytes())
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "monitor.db"
        cal.Monitor.create(store, reference=(y, p), every=20).update(y, p)
        (folder / "monitor.db.gz").write_bytes(gzip.compress(store.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
