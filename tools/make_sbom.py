"""Write the software bill of materials of an installation as CycloneDX JSON: calibrant, what it depends on, and what is inside its pages.

Run it with the interpreter of an environment in which the wheel is installed; it needs nothing but the standard library. Packages that only an
extra asks for have the scope `optional`. The same environment gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import uuid
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DEVELOPMENT = ("dev", "docs", "all")  # extras that are for developers, or consist of others
# The libraries that draw in the browser, both under the licence of Vega: Vega with what it imports and the interpreter of its expressions, as
# vl-convert-python has them inside. Both are copied into each page.
INTERPRETER = "2.0.0"
PAGE_LICENCE = "BSD-3-Clause"


def key(name: str) -> str:
    """Return the normalized name of a package."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(package: Distribution, extras: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return the packages that a package requires, with their extras; those of other extras are left out."""
    found = []
    for line in package.requires or []:
        requirement, _, marker = line.partition(";")
        asked = re.findall(r"""extra\s*==\s*["']([\w.-]+)["']""", marker)
        if asked and not {key(name) for name in asked} & {key(name) for name in extras}:
            continue
        parts = re.match(r"([\w.-]+)\s*(?:\[([^\]]*)\])?", requirement.strip())
        assert parts is not None
        found.append((key(parts[1]), [word.strip() for word in (parts[2] or "").split(",") if word.strip()]))
    return found


def reachable(start: str, extras: Iterable[str]) -> dict[str, tuple[Distribution, set[str]]]:
    """Return the installed packages that a package leads to, each with the packages it requires itself."""
    found: dict[str, tuple[Distribution, set[str]]] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(start, ["", *extras])]
    while waiting:
        name, wanted = waiting.pop()
        if not (new := [extra for extra in ["", *wanted] if (name, extra) not in seen]):
            continue
        seen |= {(name, extra) for extra in new}
        try:
            package = found[name][0] if name in found else distribution(name)
        except PackageNotFoundError:  # for another platform or Python
            continue
        required = needed(package, new)
        found.setdefault(name, (package, set()))[1].update(other for other, _ in required if other != name)
        waiting += required
    return found


def licences(package: Distribution) -> list[dict[str, Any]]:
    """Return the licence as the package states it: an expression, else the classifiers, else its own words."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return [{"expression": expression}]
    named = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    words = (about.get("License") or "").strip().splitlines()
    named = [name for name in named if name != "OSI Approved"] or ([words[0]] if words else [])
    return [{"license": {"name": name}} for name in named]


def component(package: Distribution, scope: str | None = None) -> dict[str, Any]:
    """Return the entry of one package."""
    name, version = key(package.metadata["Name"]), package.version
    entry: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
    }
    entry["purl"] = entry["bom-ref"].replace("+", "%2B")
    if scope:
        entry["scope"] = scope
    return entry | ({"licenses": found} if (found := licences(package)) else {})


def page_libraries() -> list[dict[str, Any]]:
    """Return the JavaScript libraries inside each page."""
    import vl_convert

    return [
        {
            "type": "library",
            "bom-ref": f"pkg:npm/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:npm/{name}@{version}",
            "scope": "required",
            "licenses": [{"license": {"id": PAGE_LICENCE}}],
            "description": "copied, with what it imports, into the pages that calibrant writes",
        }
        for name, version in (("vega", vl_convert.get_vega_version()), ("vega-interpreter", INTERPRETER))
    ]


def page_files() -> list[dict[str, Any]]:
    """Return the templates, styles and scripts of the pages that are calibrant's own."""
    spec = find_spec("calibrant")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    paths = sorted(path for kind in ("static", "templates") for path in (folder / "reporting" / kind).iterdir())
    return [
        {"type": "file", "name": path.relative_to(folder.parent).as_posix(), "hashes": [sha256(path)]} for path in paths
    ]


def sha256(path: Path) -> dict[str, str]:
    """Return the checksum of a file as an entry."""
    return {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}


def document(wheel: Path | None = None) -> dict[str, Any]:
    """Return the bill of materials of this environment; `wheel` adds its checksum."""
    own = distribution("calibrant")
    extras = [name for name in own.metadata.get_all("Provides-Extra") or [] if name not in DEVELOPMENT]
    core, everything = reachable("calibrant", []), reachable("calibrant", extras)
    packages = {
        name: component(package, "required" if name in core else "optional")
        for name, (package, _) in everything.items()
    }
    packages["calibrant"] = component(own)
    in_pages = page_libraries()
    edges = {
        entry["bom-ref"]: sorted(packages[other]["bom-ref"] for other in everything[name][1] if other in packages)
        for name, entry in packages.items()
    }
    edges[packages["vl-convert-python"]["bom-ref"]] += [entry["bom-ref"] for entry in in_pages]
    whole = packages.pop("calibrant") | {"components": page_files()}
    if wheel is not None:
        whole["hashes"] = [sha256(wheel)]
    content: dict[str, Any] = {
        "metadata": {
            "component": whole,
            "tools": {"components": [{"type": "application", "name": "make_sbom.py", "version": own.version}]},
        },
        "components": [*(packages[name] for name in sorted(packages)), *in_pages],
        "dependencies": [{"ref": ref, "dependsOn": edges[ref]} for ref in sorted(edges)],
    }
    number = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
    } | content


def main() -> None:
    """Write the bill of materials to a file or to the standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="the wheel that was installed, for its checksum")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    text = json.dumps(document(given.wheel), indent=1) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
