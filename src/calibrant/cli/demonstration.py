"""``calibrant demo``: predictions of a real model that come with the package, measured, assessed and repaired, and a report to open."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from ..errors import ArgumentError
from ..evaluation.measure import Evaluation, calibrated, evaluate
from ..inference.significance import assess
from ..input.predictions import Predictions
from ..recalibration.choosing import recalibrate
from ..reporting.building import report
from ..reporting.forms import form_of
from ..util.files import make_folder, write_atomic
from ..util.results import number
from .evaluating import show
from .fitting import read
from .screen import print_lines, print_table, say

__all__ = ["run"]

NAMES = ("digits_validation", "digits_test")
STORY = (
    "Boosted trees read handwritten digits. They were trained on 200 of the 1797 images that come with scikit-learn; "
    "these are their probabilities for 899 images that they never saw. A map was chosen on 698 others."
)


def run(out: str, save_data: str | None = None) -> None:
    """Measure the packaged predictions, ask whether it is chance, repair them on other rows, and write the report."""
    path = Path(out)
    try:
        form_of(path, None)
    except ArgumentError as error:
        raise ArgumentError("--out", error.problem, "end it in .html, .md or .json") from None
    folder = None if save_data is None else make_folder(save_data)
    validation, test = (_packaged(name) for name in NAMES)
    before = evaluate(test)
    print_lines([STORY, ""])
    show(before)
    chance = [assess(test, metric=metric, rng=0).verdict for metric in ("ecce_mad", "ecd")]
    print_lines(["", "Could it be chance?", *chance, ""])
    found = recalibrate(validation.labels, validation.probs)
    mended = calibrated(test, found.calibrator)
    after = evaluate(mended)
    print_lines(["What repairs it, on held-out validation rows:", *repr(found).splitlines(), ""])
    headings, rows = _side_by_side(before, after)
    print_table(headings, rows, range(1, 3))
    report(test, path=path, title="Handwritten digits, read by boosted trees")
    say(f"\nwrote {path.resolve()}: open it in a browser")
    for name in NAMES if folder is not None else ():
        content = (files("calibrant") / "cli" / "data" / f"{name}.csv").read_bytes()
        say(f"wrote {write_atomic(Path(folder or '') / f'{name}.csv', content)}")


def _packaged(name: str) -> Predictions:
    with as_file(files("calibrant") / "cli" / "data" / f"{name}.csv") as path:
        return read(str(path))


def _side_by_side(before: Evaluation, after: Evaluation) -> tuple[list[str], list[list[str]]]:
    rows = [
        [old.metric, number(old.value), number(new.value)]
        for old, new in zip(before.results, after.results, strict=True)
        if old.value is not None
    ]
    return ["metric", "before", "after"], rows
