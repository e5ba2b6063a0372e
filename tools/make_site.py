"""Put the documentation that `make docs` has built into a site with all versions.

    python tools/make_site.py SITE

SITE has one folder for each minor version (1.0/, 1.1/), which a later patch release or the release after a candidate replaces, `versions.js` with
their list for the menu, and `index.html`, which leads to the latest release. All links are relative, so the site works at any address and from
a disk. Publishing is copying SITE.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PREFIX = "window.calibrantVersions = "


def listed(site: Path) -> list[dict[str, Any]]:
    """Return the versions of a site, the newest first."""
    path = site / "versions.js"
    return json.loads(path.read_text(encoding="utf-8").removeprefix(PREFIX).rstrip(";\n")) if path.exists() else []


def add(site: Path, pages: Path, version: str) -> list[dict[str, Any]]:
    """Copy the pages of one version into a site, and return its versions; the latest release is the one marked stable."""
    parts = re.match(r"(\d+\.\d+)\.\d+(.*)", version)
    if parts is None:
        raise SystemExit(f"{version}: not a version MAJOR.MINOR.PATCH")
    folder = parts[1]
    shutil.rmtree(site / folder, ignore_errors=True)
    shutil.copytree(pages, site / folder, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
    versions = [each for each in listed(site) if each["folder"] != folder] + [{"folder": folder, "version": version}]
    versions.sort(key=lambda each: [int(part) for part in each["folder"].split(".")], reverse=True)
    released = [each for each in versions if re.fullmatch(r"[\d.]+", each["version"])]
    versions = [{**each, "stable": each in released[:1]} for each in versions]
    (site / "versions.js").write_text(f"{PREFIX}{json.dumps(versions, indent=1)};\n", encoding="utf-8")
    first = (released or versions)[0]["folder"]
    page = f'<!doctype html><title>calibrant</title><meta http-equiv="refresh" content="0; url={first}/index.html">'
    (site / "index.html").write_text(f'{page}<a href="{first}/index.html">calibrant</a>\n', encoding="utf-8")
    return versions


def main() -> None:
    """Add the version of this clone to the site of the first argument."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    text = (ROOT / "src" / "calibrant" / "util" / "version.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    pages = ROOT / "docs" / "_build" / "html"
    if not (pages / "index.html").exists():
        raise SystemExit("docs/_build/html: not built; run `make docs` first")
    versions = add(Path(sys.argv[1]), pages, version)
    print(f"{sys.argv[1]}: {', '.join(each['version'] for each in versions)}; open {sys.argv[1]}/index.html")


if __name__ == "__main__":
    main()
