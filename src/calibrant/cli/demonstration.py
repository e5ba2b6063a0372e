"""``calibrant demo``: predictions of a real model that come with the package, measured, and a page to open."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import click

from ..calibration import calibration_curve
from ..evaluation import evaluate
from ..predictions import Predictions
from ..reporting import write_page
from .evaluating import show
from .source import Columns, load

__all__ = ["run"]

STORY = (
    "Boosted trees read handwritten digits. They were trained on 200 of the 1797 images that come with scikit-learn; "
    "these are their probabilities for 899 images that they never saw."
)


def run(out: str) -> None:
    """Measure the packaged predictions and write the page."""
    with as_file(files("calibrant") / "data" / "digits_test.csv") as path:
        words = load(str(path), Columns(), None, None)
    predictions = Predictions(words.pop("y_true"), words.pop("y_prob"), **words)
    result = evaluate(predictions)
    click.echo(STORY + "\n")
    show(result)
    curve = calibration_curve(predictions, bins=10)
    page = write_page(Path(out), result, curve, title="Handwritten digits", story=STORY)
    click.echo(f"\nwrote {page.resolve()}: open it in a browser")
