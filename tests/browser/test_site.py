"""The menu of versions of the documentation site, from a disk."""

import contextlib
import time
from pathlib import Path

import make_site

from .chromium import Browser

ROOT = Path(__file__).parent.parent.parent
PAGE = """<!doctype html><html data-content_root="{root}"><title>t</title>
<select id="versions"><option>{version}</option></select><p id="versions-note" hidden></p>
<script src="{root}_static/versions.js"></script></html>"""


def site_of(folder: Path, *versions: str) -> Path:
    for version in versions:
        pages = folder / version
        for name, root in (("index.html", "./"), ("guides/clinical.html", "../")):
            path = pages / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(PAGE.format(root=root, version=version), encoding="utf-8")
        (pages / "_static").mkdir()
        script = (ROOT / "docs" / "_static" / "versions.js").read_text(encoding="utf-8")
        (pages / "_static" / "versions.js").write_text(script, encoding="utf-8")
        make_site.add(folder / "site", pages, version)
    return folder / "site"


def test_menu_of_versions(browser: Browser, tmp_path: Path) -> None:
    site = site_of(tmp_path, "1.0.3", "1.1.0", "1.2.0rc1")
    until = "new Promise((done) => {{ const look = () => ({}) ? done(true) : setTimeout(look, 20); look(); }})"
    with browser.page(site / "1.0" / "guides" / "clinical.html") as page:
        page.run(until.format("document.getElementById('versions').options.length > 1"))
        shown = page.run(
            "Array.from(document.getElementById('versions').options, (o) => o.text + (o.selected ? '*' : ''))"
        )
        assert shown == ["1.2.0rc1", "1.1.0", "1.0.3*"]
        assert (
            page.run("document.getElementById('versions-note').textContent") == "This is not the latest release, 1.1.0."
        )
        assert page.run("document.querySelector('#versions-note a').href").endswith("/site/1.1/index.html")
        # From a disk the script cannot ask whether the other version has this page, and opens its first.
        page.run(
            "(() => { const menu = document.getElementById('versions'); menu.value = '1.1'; menu.dispatchEvent(new Event('change')); })()"
        )
        for _ in range(200):
            with contextlib.suppress(RuntimeError):  # the old page is going
                if page.run("location.pathname").endswith("/site/1.1/index.html"):
                    break
            time.sleep(0.05)
        assert page.run("location.pathname").endswith("/site/1.1/index.html")
    with browser.page(site / "1.1" / "index.html") as page:
        page.run(until.format("document.getElementById('versions').options.length > 1"))
        assert page.run("document.getElementById('versions-note').hidden") is True
    with browser.page(tmp_path / "1.1.0" / "index.html") as page:  # not in a site: this version only
        assert page.run("document.getElementById('versions').options.length") == 1
