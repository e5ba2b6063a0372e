"""What is installed: versions, platform and checksums of the package's files."""

from __future__ import annotations

import hashlib
import platform
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..plugins import installed, load
from ..util.version import __version__

PACKAGE = Path(__file__).parent.parent
REQUIRED = (
    *("numpy", "scipy", "narwhals", "duckdb", "jinja2", "vl-convert-python"),
    *("click", "rich", "lazy-loader", "pyarrow"),
)
OPTIONAL = ("numba", "pandas", "polars", "scikit-learn", "matplotlib", "torch", "pyspark")
# Written by interpreters, and in no wheel.
COMPILED = (".pyc", ".nbi", ".nbc")


def installation() -> dict[str, Any]:
    """Versions, platform and checksums; without a date or a path, so that one installation always gives the same."""
    load()
    files = checksums(PACKAGE)
    packages = dict.fromkeys(REQUIRED + OPTIONAL, "not installed")
    for name in packages:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    whole = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    return {
        "calibrant": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()} {platform.machine()}, {sys.byteorder} endian",
        "packages": packages,
        **({"plugins": dict(installed())} if installed() else {}),
        "checksum": hashlib.sha256(whole.encode()).hexdigest(),
        "files": files,
    }


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file below a folder by its name, without compiled files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    digests = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.suffix not in COMPILED
    }
    return dict(sorted(digests.items()))
