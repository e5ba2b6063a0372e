"""What a command leaves when a signal, a kill, or a lack of memory ends it: one line, its exit code, and no file of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calibrant.cli.main import NO_MEMORY
from tests.calling import AS_OWNER, needs_permissions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

COLUMNS = ("--label", "label", "--prob", "prob")
COMMANDS = {
    "scan": ("scan", "rows.csv", *COLUMNS, "--out", "out.sketch"),
    "evaluate": ("evaluate", "book.xlsx", *COLUMNS),
    "report": ("report", "rows.csv", *COLUMNS, "--metrics", "brier", "--no-recalibration", "--out", "out.html"),
    "apply": ("apply", "calibrator.json", "book.xlsx", *COLUMNS, "--out", "out.csv"),
}
CALIBRANT = (sys.executable, "-m", "calibrant")
# Stops at the first event of the interpreter that has this name and these characters, and then waits there for the signal, which the system may give
# to another thread first: so no outcome depends on the speed of a machine.
STOPPED = """
import os, signal, sys, time
event, text = sys.argv[1:3]
sys.argv[1:3] = []
def hook(name, arguments):
    global text
    if text is not None and name == event and text in str(arguments[0]):
        text = None
        os.kill(os.getpid(), signal.SIGSTOP)
        while signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            time.sleep(0.01)
sys.addaudithook(hook)
from calibrant.cli.main import main
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signals")
    rng = np.random.default_rng(3)
    score = rng.random(400)
    yes = (rng.random(400) < score).astype(int)
    lines = [f"{label},{p:.6f}" for label, p in zip(yes, score, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["label,prob", *lines]) + "\n")
    (folder / "large.csv").write_text("\n".join(["label,prob", *lines * 750]) + "\n")
    write_workbook(folder / "book.xlsx", [("label", "prob"), *zip(yes.tolist(), score.tolist(), strict=True)])
    fit = (*CALIBRANT, "fit", "rows.csv", *COLUMNS, "--method", "platt", "--out", "calibrator.json")
    subprocess.run(fit, cwd=folder, check=True, capture_output=True)
    return folder


def write_workbook(path: Path, rows: list[tuple[object, ...]]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


@pytest.fixture
def start(folder: Path, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    (tmp_path / "temporary").mkdir()

    def start(*command: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, error = process.communicate()
    return process.returncode, error


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), process.communicate()


def end(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send the signal twice, as `timeout` does, and check how the command ends."""
    process.send_signal(number)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    assert finish(process) == (128 + number, f"interrupted by {number.name}\n")


def leftovers(folder: Path, tmp_path: Path) -> list[str]:
    beside = [name for name in os.listdir(folder) if name.startswith((".", "out"))]
    return beside + os.listdir(tmp_path / "temporary")


POINTS = [
    ("scan", "os.mkdir", "calibrant-"),
    ("scan", "open", ".calibrant-"),
    ("evaluate", "tempfile.mkdtemp", "calibrant-"),
    pytest.param("evaluate", "open", "book.xlsx.csv", marks=pytest.mark.deep),
    pytest.param("report", "open", "report.html", marks=pytest.mark.deep),
    ("report", "os.rename", ".calibrant-"),
    ("apply", "open", "book.xlsx.csv"),
    ("apply", "open", ".calibrant-"),
    pytest.param("apply", "os.chmod", ".calibrant-", marks=pytest.mark.deep),
]


@pytest.mark.parametrize(("command", "event", "text"), POINTS)
def test_a_signal_ends_a_command_in_order(
    command: str, event: str, text: str, folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start(sys.executable, "-c", STOPPED, event, text, *COMMANDS[command])
    wait_until_stopped(process)
    end(process, signal.SIGHUP if command == "report" else signal.SIGTERM)
    assert leftovers(folder, tmp_path) == []


@pytest.mark.deep
@pytest.mark.parametrize("command", COMMANDS)
def test_signals_at_random_times(
    command: str, folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    rng = np.random.default_rng(7)
    began = time.perf_counter()
    assert finish(start(*CALIBRANT, *COMMANDS[command])) == (0, "")
    whole = time.perf_counter() - began
    for _ in range(12):
        for name in leftovers(folder, tmp_path):
            (folder / name).unlink()
        process = start(*CALIBRANT, *COMMANDS[command])
        time.sleep(whole * rng.random())
        number = (signal.SIGTERM, signal.SIGHUP)[rng.integers(2)]
        process.send_signal(number)
        # Before the command begins, the interpreter ends at once; after it, nothing is left to end.
        assert finish(process) in [(128 + number, f"interrupted by {number.name}\n"), (-number, ""), (0, "")]
        assert [name for name in leftovers(folder, tmp_path) if not name.startswith("out")] == []


def test_a_command_under_nohup_outlives_the_terminal(folder: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("nohup", sys.executable, "-c", STOPPED, "os.mkdir", "calibrant-", *COMMANDS["scan"])
    wait_until_stopped(process)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGCONT)
    assert finish(process) == (0, "")
    (folder / "out.sketch").unlink()


# When a file is renamed, both the workbook as text and the output beside its name are there.
@pytest.mark.parametrize(
    ("event", "text"), [pytest.param("open", "book.xlsx.csv", marks=pytest.mark.deep), ("os.rename", "")]
)
def test_the_next_command_removes_what_a_killed_one_left(
    event: str, text: str, folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    killed = start(sys.executable, "-c", STOPPED, event, text, *COMMANDS["apply"])
    wait_until_stopped(killed)
    during = leftovers(folder, tmp_path)
    assert during
    # While the process lives, another command leaves its files alone.
    assert finish(start(*CALIBRANT, *COMMANDS["apply"])) == (0, "")
    assert {*during} <= {*leftovers(folder, tmp_path)}
    killed.kill()
    killed.communicate()
    assert {*during} <= {*leftovers(folder, tmp_path)}
    assert finish(start(*CALIBRANT, *COMMANDS["apply"])) == (0, "")
    assert leftovers(folder, tmp_path) == ["out.csv"]
    (folder / "out.csv").unlink()


def test_outputs_keep_their_mode_and_links(folder: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    (folder / "page.html").touch(0o600)
    (folder / "out.html").symlink_to("page.html")
    assert finish(start(*CALIBRANT, *COMMANDS["report"])) == (0, "")
    assert (folder / "out.html").is_symlink()
    assert (folder / "page.html").stat().st_mode & 0o777 == 0o600
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    (folder / "out.html").unlink()


@needs_permissions
def test_read_only_outputs_stay(folder: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    (folder / "out.html").write_text("<!doctype html>")
    (folder / "out.html").chmod(0o444)
    problem = "error: out.html: cannot be written (it is write-protected); name another file\n"
    assert finish(start(*AS_OWNER, *CALIBRANT, *COMMANDS["report"])) == (2, problem)
    assert (folder / "out.html").read_text() == "<!doctype html>"
    (folder / "out.html").unlink()


LACK = f"error: {NO_MEMORY}\n"


def test_a_lack_of_memory_is_one_line(
    folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    program = """
import numpy as np
from calibrant.cli import evaluating
from calibrant.cli.main import main
evaluating.evaluate = lambda *arguments, **keywords: np.ones(1 << 58)
main()
"""
    assert finish(start(sys.executable, "-c", program, "evaluate", "rows.csv", *COLUMNS)) == (2, LACK)
    assert leftovers(folder, tmp_path) == []


@pytest.mark.deep
def test_any_limit_of_memory_gives_the_result_or_ends_the_command_and_leaves_nothing(
    folder: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """The modules need less than the lowest limit, and the work more. DuckDB and OpenBLAS may end the process where they find no memory."""
    native = [(-signal.SIGSEGV, ""), (-signal.SIGABRT, ""), (1, "OpenBLAS error")]
    (folder / "huge.csv").write_text((folder / "rows.csv").read_text() + (folder / "rows.csv").read_text()[11:] * 7500)
    for limit in range(900, 2500, 200):
        command = f'ulimit -v {limit * 1024}; exec "$@"'
        code, error = finish(start("bash", "-c", command, "bash", *CALIBRANT, "evaluate", "huge.csv", *COLUMNS))
        ended = any(code == native_code and error.startswith(beginning) for native_code, beginning in native)
        assert ended or (code, error) == (0, "") or (code, error.splitlines()[-1][:7]) == (2, "error: "), error
        assert ended or leftovers(folder, tmp_path) == []
    assert finish(start(*CALIBRANT, "evaluate", "rows.csv", *COLUMNS)) == (0, "")
    assert leftovers(folder, tmp_path) == []
    (folder / "huge.csv").unlink()


@pytest.mark.parametrize("command", ["scan", "report"])
def test_a_memory_limit_is_one_line(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[..., subprocess.Popen[str]]
) -> None:
    monkeypatch.setenv("CALIBRANT_MEMORY_LIMIT", "1MB")
    code, error = finish(start(*CALIBRANT, command, "large.csv", *COMMANDS[command][2:]))
    assert (code, error.count("\n"), error[:7]) == (2, 1, "error: "), error
