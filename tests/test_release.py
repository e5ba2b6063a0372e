"""What a release rests on: one version everywhere, and files that earlier versions have written."""

from __future__ import annotations

import gzip
import re
import runpy
import tomllib
from pathlib import Path

import numpy as np

import calibrant as cal

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Written by 0.1.0 from 60 rows: a calibrator, a sketch, sketches of three groups, and the store of a monitor.
OLD = Path(__file__).parent / "formats" / "0.1.0"


def test_the_version_is_written_once_and_followed() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).samefile(
        Path(cal.__file__).parent / "util" / "version.py"
    )
    assert re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE) == [
        cal.__version__
    ]
    settings = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    assert settings["release"] == cal.__version__
    final = re.fullmatch(r"\d+\.\d+\.\d+", cal.__version__) is not None
    [status] = [line for line in PROJECT["project"]["classifiers"] if line.startswith("Development Status")]
    assert status == f"Development Status :: {'5 - Production/Stable' if final else '4 - Beta'}"


def test_files_of_earlier_versions_open(tmp_path: Path) -> None:
    platt = cal.load(OLD / "platt.json")
    assert np.allclose(platt.predict_proba([0.2, 0.9])[:, 1], [0.38677597, 0.8107792], atol=1e-8)
    assert cal.ece(cal.Sketch.from_bytes((OLD / "scores.sketch").read_bytes())) == 0.21623333333333333
    assert sorted(cal.Sketches.from_bytes((OLD / "groups.sketch").read_bytes()).groups) == ["a", "b", "c"]
    store = tmp_path / "monitor.db"
    store.write_bytes(gzip.decompress((OLD / "monitor.db.gz").read_bytes()))
    assert str(cal.Monitor.open(store).status()).startswith("No alarm in 3 windows with 60 labelled rows.")
