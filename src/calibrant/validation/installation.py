"""What is installed: versions, platform, checksums of the package's files, and whether they are those of the wheel."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import platform
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any, NamedTuple

from ..util.version import __version__

PACKAGE = Path(__file__).parent.parent
REQUIRED = (
    *("numpy", "scipy", "narwhals", "duckdb", "jinja2", "vl-convert-python"),
    *("click", "rich", "lazy-loader", "pyarrow"),
)
OPTIONAL = ("numba", "pandas", "polars", "scikit-learn", "matplotlib", "torch", "pyspark")
# Written by interpreters, and in no wheel.
COMPILED = (".pyc", ".nbi", ".nbc")


class Origin(NamedTuple):
    """Where the files of the package are from."""

    kind: str
    """``"wheel"``, ``"editable"`` or ``"folder"``."""
    text: str
    changed: list[str]
    """Files that are not those of the wheel, each with what is wrong."""


def installation() -> dict[str, Any]:
    """Versions, platform and checksums; without a date or a path, so that one installation always gives the same."""
    files = checksums(PACKAGE)
    whole = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    return {
        "calibrant": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()} {platform.machine()}, {sys.byteorder} endian",
        "origin": origin(files=files).text,
        "packages": {name: _version(name) for name in REQUIRED + OPTIONAL},
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


def origin(folder: Path = PACKAGE, files: dict[str, str] | None = None) -> Origin:
    """Say where the files of the package are from, and compare them with the RECORD of the wheel if they are from one.

    Parameters
    ----------
    folder : Path
        Folder of the package.
    files : dict of str to str, optional
        Its checksums, where they are known.
    """
    found = _distribution(folder)
    if found is None:
        return Origin(
            "folder", "not installed from a wheel: the files of a folder, which nothing can be compared with", []
        )
    direct = json.loads(found.read_text("direct_url.json") or "{}")
    if direct.get("dir_info", {}).get("editable"):
        return Origin(
            "editable", "an editable installation: the files of a clone, which nothing can be compared with", []
        )
    # Not `found.files`, which leaves out missing files from Python 3.12 on.
    known = {
        name.partition("/")[2]: base64.urlsafe_b64decode(f"{digest.removeprefix('sha256=')}==").hex()
        for name, digest, *_ in csv.reader((found.read_text("RECORD") or "").splitlines())
        if name.startswith(f"{folder.name}/") and digest.startswith("sha256=")
    }
    if not known:
        return Origin(
            "wheel", "a wheel without its RECORD", ["RECORD of the wheel is missing: no file can be compared"]
        )
    here = checksums(folder) if files is None else files
    changed = [f"{name} was changed" for name in sorted(known.keys() & here.keys()) if known[name] != here[name]]
    changed += [f"{name} is missing" for name in sorted(known.keys() - here.keys()) if not name.endswith(COMPILED)]
    changed += [f"{name} is not of the wheel" for name in sorted(here.keys() - known.keys())]
    said = f"{len(changed)} files are not those" if changed else f"all {len(here)} files are those"
    return Origin("wheel", f"a wheel: {said} of its RECORD", changed)


def changed_files() -> list[str]:
    """Files that are not those of the wheel from which the package was installed."""
    return origin().changed


def _distribution(folder: Path) -> Distribution | None:
    """Return the metadata that belong to this folder; a clone on the path has none, or those of another installation."""
    try:
        found = distribution("calibrant")
    except PackageNotFoundError:
        return None
    if Path(str(found.locate_file(folder.name))).resolve() == folder.resolve():
        return found
    # An editable installation has its metadata elsewhere, with the address of the clone.
    address = json.loads(found.read_text("direct_url.json") or "{}").get("url", "")
    inside = address.startswith("file://") and folder.resolve().is_relative_to(Path(address.removeprefix("file://")))
    return found if inside else None


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
