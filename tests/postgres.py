"""A PostgreSQL server in a temporary folder, reached by a socket there, and stopped at the end."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

__all__ = ["MISSING", "Server", "running_server"]

PROGRAMS = next((path for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
PASSWORD = "s3cret/w@rd"


def _missing() -> str | None:
    """Why no server can be started, or None."""
    if PROGRAMS is None:
        return "PostgreSQL is not installed"
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        return "PostgreSQL does not run as root, and runuser is not installed"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    return None


MISSING = _missing()


class Server:
    """A server in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"postgresql://postgres:{quote(PASSWORD, safe='')}@/postgres?host={quote(str(folder), safe='')}"

    def store(self, schema: str) -> str:
        """The URL of a store."""
        return f"{self.url}&schema={schema}"

    def start(self) -> None:
        # What a process has written survives its end; fsync is for the end of the machine.
        options = (
            f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c shared_buffers=16MB -c fsync=off"
        )
        self.control("start", "-w", "-l", f"{self.folder}/log", "-o", options)

    def control(self, *arguments: str) -> None:
        self.program("pg_ctl", "-D", f"{self.folder}/data", *arguments)

    def program(self, name: str, *arguments: str) -> None:
        """Run one of the server's programs; it does not run as root."""
        assert PROGRAMS is not None
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        # pg_ctl leaves the server running, which must not hold on to a pipe.
        done = subprocess.run(
            [*prefix, str(PROGRAMS / name), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            check=False,
        )
        if done.returncode:
            log = self.folder / "log"
            raise RuntimeError(f"{name} failed: {log.read_text()[-500:] if log.exists() else ''}")


@contextmanager
def running_server() -> Iterator[Server]:
    """A server that is stopped and deleted at the end."""
    if MISSING is not None:
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    server = Server(folder)
    try:
        (folder / "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (folder, folder / "password"):
                shutil.chown(path, "postgres")
        access = ("-A", "scram-sha-256", "-U", "postgres", f"--pwfile={folder}/password")
        server.program("initdb", "-D", f"{folder}/data", "-N", "-E", "UTF8", "--locale=C.UTF-8", *access)
        server.start()
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.control("stop", "-m", "immediate", "-w")
        shutil.rmtree(folder)
