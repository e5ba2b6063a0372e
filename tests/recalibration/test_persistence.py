"""Saved maps: bit for bit, nothing but maps, nothing that runs, and the old file or the new one at any moment."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration import METHODS
from calibrant.recalibration.base import CalibrationMap
from calibrant.recalibration.persistence import _checksum, load, map_types, save

BINARY = cal.make_miscalibrated(400, warp=cal.simulate.temperature(1.7), rng=0)
THREE = cal.make_miscalibrated(400, law=(1, 1, 1), warp=cal.simulate.temperature(1.7), rng=0)
NEW = {2: cal.make_calibrated(60, rng=1).y_prob, 3: cal.make_calibrated(60, law=(1, 1, 1), rng=1).y_prob}


def fitted(name: str, data: Any) -> CalibrationMap:
    return METHODS[name]().fit(data.y_prob, data.y_true)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("data", [BINARY, THREE], ids=["two", "three"])
def test_a_map_comes_back_bit_for_bit(name: str, data: Any, tmp_path: Path) -> None:
    map = fitted(name, data)
    path = save(map, tmp_path / "map.json")
    again = load(path)
    new = NEW[len(map.classes_)]
    assert type(again) is type(map)
    assert again.get_params() == map.get_params()
    assert again.predict_proba(new).tobytes() == map.predict_proba(new).tobytes()
    assert again.fit_record_ == map.fit_record_
    assert save(again, tmp_path / "again.json").read_bytes() == path.read_bytes()
    with pytest.warns(cal.FittedOnTheseRowsWarning):
        again.predict_proba(data.y_prob)


def test_names_of_classes_are_kept(tmp_path: Path) -> None:
    names = np.array(["no", "yes"])[BINARY.y_true]
    map = cal.TemperatureScaling().fit(BINARY.y_prob, names)
    again = load(save(map, tmp_path / "map.json"))
    assert again.classes_.tolist() == ["no", "yes"]
    assert set(again.predict(NEW[2])) == {"no", "yes"}


def test_how_scores_were_prepared_is_compared(tmp_path: Path) -> None:
    path = save(fitted("temperature", BINARY), tmp_path / "map.json", preprocessing="resize 224")
    assert load(path).fit_record_.preprocessing == "resize 224"
    assert load(path, preprocessing="resize 224").fit_record_.preprocessing == "resize 224"
    with pytest.raises(cal.FileError, match="prepared as 'resize 224', not 'resize 256'"):
        load(path, preprocessing="resize 256")


def changed(path: Path, change: Any, *, sealed: bool = True) -> Path:
    document = json.loads(path.read_text())
    change(document)
    if sealed:
        document["checksum"] = _checksum(document["content"])
    path.write_text(json.dumps(document))
    return path


CHANGES: dict[str, tuple[Any, bool, str]] = {
    "a changed number": (lambda d: d["content"]["fitted"].update(temperature_=9.0), False, "checksum does not match"),
    "an unknown type": (lambda d: d["content"].update(type="os.system"), True, "unknown type"),
    "a base class": (lambda d: d["content"].update(type="CalibrationMap"), True, "unknown type"),
    "a foreign parameter": (lambda d: d["content"]["params"].update(code="1"), True, "no valid map"),
    "a bad parameter": (lambda d: d["content"]["params"].update(input="pickle"), True, "no valid map"),
    "a missing value": (lambda d: d["content"].update(fitted={}), True, "not those of its type"),
    "an array of objects": (
        lambda d: d["content"].update(classes={"array": ["x"], "shape": [1], "dtype": "|O"}),
        True,
        "are not read",
    ),
    "a newer format": (lambda d: d.update(calibrant_map=2), True, "has format 2"),
    "no map": (lambda d: d.pop("calibrant_map"), True, "is no map of calibrant"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_no_map_is_refused(name: str, tmp_path: Path) -> None:
    change, sealed, text = CHANGES[name]
    path = changed(save(fitted("temperature", BINARY), tmp_path / "map.json"), change, sealed=sealed)
    with pytest.raises(cal.FileError, match=text):
        load(path)


def test_curves_are_checked_too(tmp_path: Path) -> None:
    path = save(fitted("isotonic", BINARY), tmp_path / "map.json")

    def fall(document: Any) -> None:
        curve = document["content"]["fitted"]["curves_"]["tuple"][0]
        curve["fields"]["scores"]["tuple"].reverse()

    with pytest.raises(cal.FileError, match="do not rise"):
        load(changed(path, fall))
    path = save(fitted("isotonic", BINARY), tmp_path / "map.json")
    with pytest.raises(cal.FileError, match="no valid map"):
        load(changed(path, lambda d: d["content"]["fitted"]["curves_"]["tuple"][0].update(curve="Popen")))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"calibrant_map": 1}', '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "\x00\xff"]
)
def test_damaged_files_are_clear_errors(text: str, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(cal.FileError):
        load(path)
    with pytest.raises(cal.FileError, match="cannot be read"):
        load(tmp_path / "absent.json")


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    whole = save(fitted("platt", THREE), tmp_path / "map.json").read_bytes()
    path = tmp_path / "part.json"
    for end in range(0, len(whole) - 2, max(1, len(whole) // 60)):
        path.write_bytes(whole[:end])
        with pytest.raises(cal.FileError):
            load(path)
    for place in range(0, len(whole) - 2, max(1, len(whole) // 60)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found = load(path)
        except cal.FileError:
            continue
        # The version that wrote it, and blanks, are outside the checksum.
        assert found.predict_proba(NEW[3]).tobytes() == fitted("platt", THREE).predict_proba(NEW[3]).tobytes()


def test_only_fitted_maps_are_saved(tmp_path: Path) -> None:
    with pytest.raises(cal.NotFittedError, match="is not fitted yet"):
        save(cal.TemperatureScaling(), tmp_path / "map.json")
    with pytest.raises(cal.InputTypeError, match="must be a fitted map"):
        save({"temperature": 1}, tmp_path / "map.json")  # type: ignore[arg-type]

    class Own(cal.TemperatureScaling):
        pass

    with pytest.raises(cal.InputTypeError, match="Own is no map of calibrant"):
        save(Own().fit(BINARY.y_prob, BINARY.y_true), tmp_path / "map.json")
    assert "TemperatureScaling" in map_types()
    assert list(tmp_path.iterdir()) == []


WRITER = """
import sys
import calibrant as cal
from calibrant.recalibration.persistence import save
data = cal.make_calibrated(2000, rng=0)
maps = [cal.KernelCalibration(bandwidth=h).fit(data.y_prob, data.y_true) for h in (0.05, 0.1)]
print("ready", flush=True)
while True:
    for map in maps:
        save(map, sys.argv[1])
"""


def test_a_kill_leaves_the_old_file_or_the_new(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kills = 200 if request.config.getoption("--deep") else 20
    path = tmp_path / "map.json"
    save(cal.KernelCalibration(bandwidth=0.05).fit(BINARY.y_prob, BINARY.y_true), path)
    rng = np.random.default_rng(0)
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(float(rng.uniform(0, 0.08)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        found = load(path)
        assert isinstance(found, cal.KernelCalibration)
        assert found.bandwidth in (0.05, 0.1)
