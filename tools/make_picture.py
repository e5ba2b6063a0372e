"""Draw docs/images/reliability.svg, the picture in the README, from the demo's predictions."""

from __future__ import annotations

from pathlib import Path

import calibrant as cal
from calibrant.cli.source import Columns, load
from calibrant.reporting.diagram import reliability_spec, svg_of

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Draw and write the picture."""
    words = load(str(ROOT / "src/calibrant/data/digits_test.csv"), Columns())
    curve = cal.calibration_curve(words.pop("y_true"), words.pop("y_prob"), bins=10, **words)
    target = ROOT / "docs" / "images" / "reliability.svg"
    target.parent.mkdir(exist_ok=True)
    target.write_text(svg_of(reliability_spec(curve)), encoding="utf-8")


if __name__ == "__main__":
    main()
