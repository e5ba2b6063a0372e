"""Saved maps: bit for bit, nothing but maps, nothing that runs, and the old file or the new one at any moment."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.recalibration.base import Calibrator
from calibrant.recalibration.methods import METHODS, TYPES
from calibrant.recalibration.persistence import _checksum, load, save
from tests.calling import raises
from tests.killing import kill_while_writing

BINARY = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(1.7), rng=0)
THREE = cal.inference.make_miscalibrated(
    400, distribution=(1, 1, 1), warp=cal.inference.simulation.temperature(1.7), rng=0
)
NEW = {
    2: cal.inference.make_calibrated(60, rng=1).y_prob,
    3: cal.inference.make_calibrated(60, distribution=(1, 1, 1), rng=1).y_prob,
}


def fitted(name: str, data: Any) -> Calibrator:
    return METHODS[name]().fit(data.y_prob, data.y_true)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("data", [BINARY, THREE], ids=["two", "three"])
def test_a_map_comes_back_bit_for_bit(name: str, data: Any, tmp_path: Path) -> None:
    calibrator = fitted(name, data)
    path = save(calibrator, tmp_path / "map.json")
    again = load(path)
    new = NEW[len(calibrator.classes_)]
    assert type(again) is type(calibrator)
    assert repr(again.get_params()) == repr(
        calibrator.get_params()
    )  # calibrators inside others are compared by their parameters
    assert again.predict_proba(new).tobytes() == calibrator.predict_proba(new).tobytes()
    assert again.fit_record_ == calibrator.fit_record_
    assert save(again, tmp_path / "again.json").read_bytes() == path.read_bytes()
    if name != "none":  # which fits nothing
        with pytest.warns(cal.errors.InSampleWarning):
            again.predict_proba(data.y_prob)


def test_how_scores_were_prepared_is_compared(tmp_path: Path) -> None:
    path = save(fitted("temperature", BINARY), tmp_path / "map.json", preprocessing="resize 224")
    assert load(path).fit_record_.preprocessing == "resize 224"
    assert load(path, preprocessing="resize 224").fit_record_.preprocessing == "resize 224"
    with pytest.raises(cal.errors.FileError, match="prepared as 'resize 224', not 'resize 256'"):
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
    "unknown type": (lambda d: d["content"].update(type="os.system"), True, "unknown type"),
    "a base class": (lambda d: d["content"].update(type="Calibrator"), True, "unknown type"),
    "a foreign parameter": (lambda d: d["content"]["params"].update(code="1"), True, r"is not a valid calibrator \("),
    "a bad parameter": (lambda d: d["content"]["params"].update(input="pickle"), True, r"is not a valid calibrator \("),
    "a missing value": (lambda d: d["content"].update(fitted={}), True, "the fitted values do not match the type"),
    "an array of objects": (
        lambda d: d["content"].update(classes={"array": ["x"], "shape": [1], "dtype": "|O"}),
        True,
        r"map\.json: is not a valid calibrator \(arrays of type '\|O' are not supported\); save it again",
    ),
    "names that are none": (
        lambda d: d["content"].update(classes={"names": [None, {"tuple": []}]}),
        True,
        "text or numbers",
    ),
    "a class beyond every number": (
        lambda d: d["content"].update(classes={"array": [0, 10**30], "shape": [2], "dtype": "<i8"}),
        True,
        r"is not a valid calibrator \(",
    ),
    "names that are no names": (
        lambda d: d["content"].update(classes={"names": [None, "a"]}),
        True,
        r"is not a valid calibrator \(",
    ),
    "a scale of a map without": (
        lambda d: d["content"]["fitted"].update(scale_=2.0),
        True,
        "the fitted values do not match the type",
    ),
    "a newer format": (lambda d: d.update(calibrant_map=2), True, "has format 2"),
    "no map": (
        lambda d: d.pop("calibrant_map"),
        True,
        r"map\.json: is not a calibrant calibrator; give a file that `calibrant fit` or the function save wrote",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_no_map_is_refused(name: str, tmp_path: Path) -> None:
    change, sealed, text = CHANGES[name]
    path = changed(save(fitted("temperature", BINARY), tmp_path / "map.json"), change, sealed=sealed)
    with pytest.raises(cal.errors.FileError, match=text):
        load(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"calibrant_map": 1}', '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "\x00\xff"]
)
def test_damaged_files_are_clear_errors(text: str, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(cal.errors.FileError):
        load(path)
    with pytest.raises(cal.errors.FileError, match="cannot be read"):
        load(tmp_path / "absent.json")


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    whole = save(fitted("platt", THREE), tmp_path / "map.json").read_bytes()
    path = tmp_path / "part.json"
    for end in range(0, len(whole) - 2, max(1, len(whole) // 60)):
        path.write_bytes(whole[:end])
        with pytest.raises(cal.errors.FileError):
            load(path)
    for place in range(0, len(whole) - 2, max(1, len(whole) // 60)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found = load(path)
        except cal.errors.FileError:
            continue
        # The version that wrote it, and blanks, are outside the checksum.
        assert found.predict_proba(NEW[3]).tobytes() == fitted("platt", THREE).predict_proba(NEW[3]).tobytes()


def test_only_fitted_maps_are_saved(tmp_path: Path) -> None:
    with raises(cal.errors.NotFittedError, "TemperatureScaling"):
        save(cal.TemperatureScaling(), tmp_path / "map.json")
    with raises(cal.errors.InputTypeError, "calibrator"):
        save({"temperature": 1}, tmp_path / "map.json")  # type: ignore[arg-type]

    class Own(cal.TemperatureScaling):
        pass

    with raises(cal.errors.InputTypeError, "calibrator"):
        save(Own().fit(BINARY.y_prob, BINARY.y_true), tmp_path / "map.json")
    assert "TemperatureScaling" in TYPES
    assert list(tmp_path.iterdir()) == []


WRITER = """
import calibrant as cal
from calibrant.recalibration.persistence import save
data = cal.inference.make_calibrated(2000, rng=0)
maps = [cal.KernelCalibration(bandwidth=h).fit(data.y_prob, data.y_true) for h in (0.05, 0.1)]
save(maps[1], path)
"""


def test_a_kill_leaves_the_old_file_or_the_new(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "map.json"
    size = save(cal.KernelCalibration(bandwidth=0.05).fit(BINARY.y_prob, BINARY.y_true), path).stat().st_size
    for seed in range(200 if request.config.getoption("--deep") else 3):
        kill_while_writing(WRITER, "save(maps[turn % 2], path)", str(path), size, seed)
        found = load(path)
        assert isinstance(found, cal.KernelCalibration)
        assert found.bandwidth in (0.05, 0.1)


def test_a_length_of_text_asks_for_no_memory(tmp_path: Path) -> None:
    names = np.array(["no", "yes"])[BINARY.y_true]
    both = np.column_stack([1 - BINARY.y_prob, BINARY.y_prob])
    path = save(cal.TemperatureScaling().fit(both, names), tmp_path / "map.json")
    again = load(changed(path, lambda d: d["content"]["classes"].update(dtype="<U500000000")))
    assert again.classes_.tolist() == ["no", "yes"]
    assert again.classes_.dtype == np.dtype("U3")


def test_names_as_a_frame_holds_them_are_saved(tmp_path: Path) -> None:
    names = np.array(["no", "yes"], dtype=object)[BINARY.y_true]
    calibrator = cal.TemperatureScaling().fit(np.column_stack([1 - BINARY.y_prob, BINARY.y_prob]), names)
    calibrator.classes_ = np.array(["no", "yes"], dtype=object)
    again = load(save(calibrator, tmp_path / "map.json"))
    assert again.classes_.tolist() == ["no", "yes"]
    calibrator.classes_ = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    with pytest.raises(cal.errors.InputTypeError, match=r"array of datetime64.*text or numbers"):
        save(calibrator, tmp_path / "dates.json")
    assert not (tmp_path / "dates.json").exists()


def test_what_recalibrate_found_is_saved_and_measured_as_its_map(tmp_path: Path) -> None:
    found = cal.recalibrate(BINARY.y_true, BINARY.y_prob, method="temperature")
    path = save(found, tmp_path / "map.json", preprocessing="none")
    assert found.save(tmp_path / "same.json", preprocessing="none").read_bytes() == path.read_bytes()
    assert load(path).temperature_ == found.calibrator.temperature_  # type: ignore[attr-defined]
    new = cal.inference.make_calibrated(60, rng=1)
    with_map, with_found = (
        cal.evaluate(new.y_true, new.y_prob, metrics=["nll"], calibrator=calibrator)["nll"]
        for calibrator in (found.calibrator, found)
    )
    assert with_map == with_found
