"""macOS and Windows, as far as Linux can tell: names that only POSIX has stand in guarded places, and commands work without them."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import calibrant as cal
from tests.calling import IN_TURN

ROOT = Path(cal.__file__).parent
# Attributes that Windows does not have, by module.
POSIX = {
    "os": {
        "fork", "getuid", "geteuid", "getgid", "sched_getaffinity", "sysconf", "mkfifo", "uname", "getpgid", "setsid", "killpg",
        "fchmod", "chown", "lchown", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "WNOHANG", "register_at_fork",
    },
    "signal": {"SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE", "alarm", "pause", "setitimer"},
    "time": {"tzset"},
    "socket": {"AF_UNIX"},
}  # fmt: skip
MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "syslog"}
# Functions that return before, or catch the absence, on a system without the name.
GUARDED = {
    "util/blocks.py": {"sched_getaffinity"},  # AttributeError
    "util/files.py": {"O_DIRECTORY"},  # hasattr
    "util/processes.py": {"SIGHUP", "SIGKILL"},  # of a fork, on Linux only
    "util/temporary.py": {"O_NOFOLLOW", "O_NONBLOCK", "getuid", "fcntl"},  # sys.platform
}


def sources(*names: str) -> Iterator[tuple[Path, str, ast.Module]]:
    """Path, text and tree of every file of the package where one of the names stands."""
    named = re.compile(rf"\b({'|'.join(names)})\b")
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if named.search(text):
            yield path, text, ast.parse(text)


def posix_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in POSIX.get(node.value.id, ()):
                yield node.attr
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            if node.module in MODULES:
                yield str(node.module)
            yield from (alias.name for alias in node.names if alias.name in POSIX.get(node.module or "", ()))


def test_names_of_posix_alone_are_guarded() -> None:
    found = {}
    attributes = [rf"{module}\.(?:{'|'.join(names)})" for module, names in POSIX.items()]
    imports = rf"(?:import|from) +(?:{'|'.join([*MODULES, *POSIX])})"
    for path, _, tree in sources(*attributes, imports):
        if names := set(posix_names(tree)):
            found[path.relative_to(ROOT).as_posix()] = names
    assert found == GUARDED
    assert set(posix_names(ast.parse("import os, fcntl\nfrom signal import SIGHUP\nos.fork()"))) == {
        "fcntl", "SIGHUP", "fork",
    }  # fmt: skip


def text_calls(tree: ast.AST) -> Iterator[tuple[str, set[str | None]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            modes = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            binary = any("b" in mode for mode in modes if set(mode) <= set("rwaxbt+"))
            if name in ("read_text", "write_text") or (name == "open" and modes and not binary):
                yield name, {keyword.arg for keyword in node.keywords}


def test_text_files_have_an_encoding_and_written_ones_their_line_ends() -> None:
    """Windows would read and write the code page, and write CRLF."""
    for path, text, tree in sources("read_text", "write_text", "open"):
        for name, keywords in text_calls(tree):
            if "tomllib" not in text or name != "read_text":
                assert "encoding" in keywords, path
            if name == "write_text":
                assert "newline" in keywords, path


# What a process of Windows lacks, taken away once the libraries of others are loaded, which have their own code for it.
WITHOUT = """
import sys, os, signal, subprocess, tempfile, pathlib, multiprocessing, concurrent.futures.process
import numpy, scipy.stats, scipy.optimize, scipy.special, duckdb, pyarrow.parquet, click, rich.console, jinja2, narwhals, vl_convert
import sqlite3, pandas
for module, names in {posix!r}.items():
    for name in names:
        if hasattr(sys.modules.get(module), name):
            delattr(sys.modules[module], name)
for name in {modules!r}:
    sys.modules[name] = None
sys.platform = "win32"

def reopened(*args, **kwargs):
    raise PermissionError(13, "a temporary file that is open cannot be opened again")

tempfile.NamedTemporaryFile = reopened
sys.argv[0] = "calibrant"
"""
ONE = "from calibrant.cli import main\nmain()\n"


def on_windows(folder: Path, program: str, *arguments: str, data: bytes = b"", **environment: str) -> str:
    """What a program prints in a process like one of Windows."""
    script = folder / "windows.py"
    script.write_text(WITHOUT.format(posix=POSIX, modules=MODULES) + program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        input=data,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT.parent), **environment},
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def commands_on_windows(folder: Path, *commands: str, data: bytes = b"") -> list[str]:
    """Outputs of commands."""
    printed = on_windows(folder, IN_TURN, json.dumps([shlex.split(command) for command in commands]), data=data)
    answers = json.loads(printed)
    assert {code for code, _, _ in answers} <= {0, 3}, answers
    return [out for _, out, _ in answers]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    lines = [f"{'ja' if i % 3 else 'ναί'},{(i % 50 + 1) / 52:.4f}\r\n" for i in range(400)]
    path.write_bytes(("label,prob\r\n" + "".join(lines)).encode())
    return path


def test_commands_work_without_posix(tmp_path: Path, rows: Path) -> None:
    measure, columns = "--pos-label ja --metrics ece,brier --json", "--label label --prob prob"
    out, piped, *_, status = commands_on_windows(
        tmp_path,
        f"evaluate rows.csv {measure}",
        f"evaluate - {measure}",
        "fit rows.csv --pos-label ja --method isotonic --out calibrator.json",
        "apply calibrator.json rows.csv --out calibrated.csv",
        "report rows.csv --pos-label ja --metrics brier --no-recalibration --out page.html",
        f"monitor init store.db --reference rows.csv {columns} --classes ναί,ja --rows 100",
        f"monitor update store.db rows.csv {columns}",
        "monitor status store.db --json",
        data=rows.read_bytes(),
    )
    values = [row["value"] for row in json.loads(out)["metrics"]]
    y = [i % 3 > 0 for i in range(400)]
    p = [round((i % 50 + 1) / 52, 4) for i in range(400)]
    assert values == [cal.ece(y, p), cal.brier(y, p)]
    assert [row["value"] for row in json.loads(piped)["metrics"]] == values
    assert len((tmp_path / "calibrated.csv").read_bytes().splitlines()) == 401
    page = (tmp_path / "page.html").read_bytes()
    assert b"ja" in page
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".calibrant-")]
    assert json.loads(status)["n"] == 400


def test_output_in_another_code_page_is_escaped(tmp_path: Path, rows: Path) -> None:
    command = ("evaluate", "rows.csv", "--pos-label", "ναί", "--metrics", "ece")
    out = on_windows(tmp_path, ONE, *command, PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert "\\u03bd\\u03b1\\u03af" in out


def test_files_without_numbers_are_not_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from calibrant.sketches.files.reading import paths_of

    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("y,p\n1,0.5\n")
    stat = Path.stat

    def without_number(self: Path, **keywords: bool) -> os.stat_result:
        found = list(stat(self, **keywords))
        found[1] = 0
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", without_number)
    assert len(paths_of(str(tmp_path / "*.csv"))) == 2


def test_a_file_in_use_keeps_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not replace a file that another program has open."""
    path = tmp_path / "calibrator.json"
    path.write_text("old")

    def refused(source: object, target: object) -> None:
        raise PermissionError(13, "The process cannot access the file because it is being used by another process")

    monkeypatch.setattr(os, "replace", refused)
    fitted = cal.PlattScaling().fit([0.1, 0.2, 0.9, 0.8], [0, 1, 1, 0])
    with pytest.raises(cal.errors.FileError, match="being used by another process"):
        cal.save(fitted, path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["calibrator.json"]


def test_processes_are_started_on_linux_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from calibrant.util import processes

    def refused(*arguments: object) -> None:
        raise AssertionError("no process may be started")

    monkeypatch.setattr(processes, "_distribute", refused)
    for platform in ("darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        with processes.in_processes():
            assert processes.run_all([lambda: 1, lambda: 2]) == [1, 2]
