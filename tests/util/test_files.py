"""Writing leaves the old file or the new one; reading has limits and runs nothing."""

import io
import os
import pickle
import stat
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import FileError
from calibrant.sketches.files.converting import as_tables
from calibrant.util.files import cache_folder, cached_text, check_writable, make_folder, read_npz, write_atomic
from tests.killing import kill_while_writing


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path, deep: bool) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"a" * 3_000_000)
    setup = "from calibrant.util.files import write_atomic\ncontent = [b'a' * 3_000_000, b'b' * 3_000_000]"
    for seed in range(200 if deep else 6):
        kill_while_writing(setup, "write_atomic(path, content[turn % 2])", str(target), 3_000_000, seed)
        assert target.read_bytes() in (b"a" * 3_000_000, b"b" * 3_000_000)


def test_a_failed_write_keeps_the_old_file_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(FileError):
        write_atomic(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("place", ["missing/out", "."])
def test_an_impossible_place_is_named(tmp_path: Path, place: str) -> None:
    with pytest.raises(FileError) as caught:
        write_atomic(tmp_path / place, b"x")
    assert isinstance(caught.value, OSError)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_missing_is_named_and_can_be_made(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        write_atomic(tmp_path / "a" / "b" / "out.html", b"x")
    assert write_atomic(make_folder(tmp_path / "a" / "b") / "out.html", b"x").read_bytes() == b"x"
    with pytest.raises(FileError):
        make_folder(tmp_path / "a" / "b" / "out.html" / "c")


def test_npz_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (os.system, (f"touch {tmp_path / 'ran'}",))

    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("labels.npy", pickle.dumps(Bomb()))
    with pytest.raises(FileError):
        read_npz(tmp_path / "bad.npz")
    np.savez(tmp_path / "objects.npz", labels=np.array([Bomb()], dtype=object))
    with pytest.raises(FileError):
        read_npz(tmp_path / "objects.npz")
    assert not (tmp_path / "ran").exists()


def test_archives_that_unpack_to_more_than_half_of_the_memory_limit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", labels=np.zeros(10_000_000))
    assert read_npz(tmp_path / "bomb.npz")["labels"].size == 10_000_000
    monkeypatch.setenv("CALIBRANT_MEMORY_LIMIT", "100MiB")
    (tmp_path / "bomb.xlsx").write_bytes((tmp_path / "bomb.npz").read_bytes())
    for name, read in (("bomb.npz", read_npz), ("bomb.xlsx", lambda path: as_tables([str(path)]))):
        with pytest.raises(
            FileError,
            match=rf"{name}: unpacks to 80,000,128 bytes, more than half of the memory limit \(52,428,800 bytes\); read it as Parquet",
        ):
            read(tmp_path / name)


def test_arrays_that_declare_more_than_memory_holds_are_an_error(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("probs.npy", header.getvalue() + bytes(64))
    with pytest.raises(FileError):
        read_npz(tmp_path / "huge.npz")


def test_damaged_npz_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", probs=np.random.default_rng(0).random(1000))
    whole = (tmp_path / "x.npz").read_bytes()
    parts = [whole[: int(len(whole) * part)] for part in (0.2, 0.5, 0.99)]
    for content in (b"", b"PK\x03\x04 and no more", b"not an archive", *parts):
        (tmp_path / "x.npz").write_bytes(content)
        with pytest.raises(FileError):
            read_npz(tmp_path / "x.npz")


def test_the_cache_keeps_only_what_has_the_expected_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRANT_CACHE", str(tmp_path / "own"))
    made = []

    def make() -> str:
        made.append("ä\r\nb")
        return made[-1]

    known = sha256("ä\r\nb".encode()).hexdigest()
    assert [cached_text("a", known, make) for _ in range(3)] == ["ä\r\nb"] * 3
    assert len(made) == 1
    (tmp_path / "own" / "a").write_text("alert(1)")  # whoever wrote it
    assert cached_text("a", known, make) == cached_text("a", known, make) == "ä\r\nb"
    assert len(made) == 2
    for sum_ in (None, "0" * 64):
        assert cached_text("b", sum_, make) == "ä\r\nb"
    assert os.listdir(tmp_path / "own") == ["a"]
    monkeypatch.setenv("CALIBRANT_CACHE", "")
    assert cached_text("a", known, make) == "ä\r\nb"
    assert len(made) == 5
    monkeypatch.setenv("CALIBRANT_CACHE", "/dev/null/none")
    assert cached_text("a", known, make) == "ä\r\nb"


def test_the_cache_holds_no_code_of_pages_but_the_known_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vl_convert = pytest.importorskip("vl_convert")
    from calibrant.reporting import html

    monkeypatch.setenv("CALIBRANT_CACHE", str(tmp_path))
    html._drawing_library.cache_clear()
    quick = {"metrics": ["ece"], "level": None, "n_resamples": 19, "recalibration": False}
    cal.report([0, 1, 1, 0] * 10, [0.2, 0.7, 0.9, 0.4] * 10, **quick).to_html()
    known = [f"vega-{vl_convert.__version__}.js"] if vl_convert.__version__ in html.DRAWING_LIBRARIES else []
    assert os.listdir(tmp_path) == known


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder of XDG_CACHE_HOME")
def test_the_cache_is_not_below_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CALIBRANT_CACHE", raising=False)
    for name in ("XDG_CACHE_HOME", "CALIBRANT_CACHE"):
        monkeypatch.setenv(name, "relative" if name == "XDG_CACHE_HOME" else "~/.cache/calibrant")
        assert cache_folder() == tmp_path / "home" / ".cache" / "calibrant"
    assert os.listdir(tmp_path) == ["home"]


def test_a_replaced_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    target, link = tmp_path / "place" / "out", tmp_path / "link"
    link.symlink_to("place/out")
    old = os.umask(0o022)
    try:
        for mode, prepare in ((0o644, False), (0o600, True), (0o664, True)):
            if prepare:
                target.chmod(mode)
            write_atomic(link, b"%o" % mode)
            assert link.is_symlink()
            assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"%o" % mode, mode)
    finally:
        os.umask(old)
    assert os.listdir(tmp_path / "place") == ["out"]


def test_what_is_not_a_file_to_write_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "protected").write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "protected")  # the superuser may write all
    for name, problem in (("pipe", "it is not a regular file"), ("protected", "it is write-protected")):
        for call in (check_writable, lambda path: write_atomic(path, b"new")):
            with pytest.raises(FileError, match=rf"{name}: cannot be written \({problem}\); name another file"):
                call(tmp_path / name)
    assert (tmp_path / "protected").read_bytes() == b"old"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
