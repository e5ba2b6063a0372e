"""Write docs/images/report.png, the report of `calibrant demo` as Chromium shows it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "images" / "report.png"
SIZE = (1180, 1060)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Run the demo and take the picture."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit(f"none of {', '.join(BROWSERS)} is installed")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        subprocess.run(
            [sys.executable, "-m", "calibrant", "demo", "--out", str(page)], check=True, stdout=subprocess.DEVNULL
        )
        options = ("--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=20000")
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        subprocess.run(
            [browser, *options, size, f"--screenshot={OUT}", page.as_uri()], check=True, stderr=subprocess.DEVNULL
        )
    print(f"wrote {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
