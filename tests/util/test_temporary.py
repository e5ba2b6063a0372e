"""Temporary files end with their process, and those of a killed process with the next one."""

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from calibrant.util.database import connect
from calibrant.util.files import write_atomic
from calibrant.util.temporary import claim, process_folder, remove_leftovers, temporary_folder

SOURCE = Path(__file__).parent.parent.parent / "src" / "calibrant"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_process_has_one_private_folder(place: Path) -> None:
    folder = process_folder()
    assert folder == process_folder()
    assert os.listdir(place) == [folder.name]
    assert folder.name.startswith(f"calibrant-{os.getpid()}-")
    assert folder.stat().st_mode & 0o777 == 0o700
    with temporary_folder() as inner:
        assert Path(inner).parent == folder
    assert os.listdir(folder) == []


def test_every_temporary_file_is_in_the_folder_of_the_process() -> None:
    """Outside `util`, `tempfile` serves only to make something within that folder."""
    for file in SOURCE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "tempfile" in text else ():
            if isinstance(node, ast.ImportFrom) and node.module == "tempfile":
                raise AssertionError(file)
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if (
                isinstance(node.func.value, ast.Name)
                and node.func.value.id == "tempfile"
                and node.func.attr != "gettempdir"
            ):
                places = [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "dir"]
                inside = (
                    ("process_folder()",) if file.parent.name != "util" else ("process_folder()", "place", "folder")
                )
                assert places[:1] in [[each] for each in inside], (file, node.lineno)


def test_queries_spill_into_folders_of_their_own_there(place: Path) -> None:
    with connect() as one, connect() as other:
        places = [c.execute("SELECT current_setting('temp_directory')").fetchall()[0][0] for c in (one, other)]
        assert len({*places}) == 2
        assert {Path(each).parent for each in places} == {process_folder()}
        one.execute("SET memory_limit = '60MB'")
        one.execute("SET threads = 1")
        one.execute("CREATE TEMP TABLE rows AS SELECT hash(i) AS h FROM range(12_000_000) t(i)")
        assert os.listdir(places[0])
        assert os.listdir(process_folder()) == [Path(places[0]).name]
    assert os.listdir(place) == [process_folder().name]


def test_queries_need_no_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", absent)
    with connect() as connection:
        assert connection.execute("SELECT sum(i) FROM range(5) t(i)").fetchall() == [(10,)]


def test_only_leftovers_are_removed(place: Path) -> None:
    release = claim(place / "calibrant-1-abc", os.mkdir)
    for name in ("calibrant-2-abc", "calibrant-install-3", "other"):
        (place / name).mkdir()
        (place / name / "rows").write_text("x")
    (place / "calibrant-4-link").symlink_to("other")
    remove_leftovers(place, "calibrant-[0-9]*-*")
    kept = {"calibrant-1-abc", "calibrant-install-3", "calibrant-4-link", "other"}
    assert {*os.listdir(place)} == kept
    release()
    remove_leftovers(place, "calibrant-[0-9]*-*")
    assert {*os.listdir(place)} == kept - {"calibrant-1-abc"}
    assert os.listdir(place / "other") == ["rows"]


def test_a_claim_that_comes_too_late_is_made_again(place: Path) -> None:
    turns = []

    def make(path: Path) -> None:
        path.mkdir()
        turns.append(path)
        if len(turns) == 1:
            subprocess.run([sys.executable, "-c", LATE, str(path)], check=True)

    release = claim(place / "folder", make)
    assert os.listdir(place) == ["folder"]
    assert len(turns) == 2
    release()


# Holds the lock while the other waits for it, and removes the folder.
LATE = """
import fcntl, os, sys, time
handle = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(handle, fcntl.LOCK_EX)
if os.fork() == 0:
    time.sleep(0.2)
    os.rmdir(sys.argv[1])
"""


def test_files_beside_the_target_that_a_killed_writer_left_are_removed(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from calibrant.util.files import atomic_file
with atomic_file(sys.argv[1]) as stream:
    stream.write(b"part")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "out")], check=False)
    (leftover,) = os.listdir(tmp_path)
    assert leftover.startswith(".calibrant-")
    (tmp_path / ".calibrant-notes").write_text("of the user")
    write_atomic(tmp_path / "other", b"x")
    assert {*os.listdir(tmp_path)} == {"other", ".calibrant-notes"}
