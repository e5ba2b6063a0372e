"""``calibrant demo``: evaluate, test and recalibrate packaged predictions of a real model, and write a report."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from ..errors import ArgumentError
from ..evaluation.measure import calibrate_predictions, evaluate
from ..inference.significance import assess
from ..recalibration.choosing import recalibrate
from ..reporting.building import build
from ..reporting.forms import form_of
from ..reporting.settings import Settings
from ..util.files import make_folder, write_atomic
from ..util.results import number
from . import options
from .evaluating import show
from .screen import print_lines, print_table, say
from .source import Source

# The same number for all tests, so that they can have the same p-values.
RESAMPLES = 999
NAMES = ("digits_validation", "digits_test")
STORY = (
    "A gradient boosting classifier of handwritten digits, trained on 200 of the 1797 images of scikit-learn's digits data. "
    "It is evaluated on 899 test images; calibrators are compared on 698 validation images."
)


@options.command("demo")
@options.written_option("--out", default="calibrant-demo.html", show_default=True, help="Where to write the report.")
@options.written_option(
    "--save-data", folder=True, help="Folder to write the predictions to, for use with other commands."
)
@options.debug_option
def run(out: str, save_data: str | None = None) -> None:
    """Evaluate, test and recalibrate the predictions of a real model, and write a report."""
    path = Path(out)
    try:
        form_of(path, None)
    except ArgumentError as error:
        raise error.replaced(argument="--out") from None
    folder = None if save_data is None else make_folder(save_data)
    packaged = [files("calibrant") / "cli" / "data" / f"{name}.csv" for name in NAMES]
    with as_file(packaged[0]) as validation_file, as_file(packaged[1]) as test_file:
        validation, test = Source(str(validation_file)).read(), Source(str(test_file)).read()
    before = evaluate(test, n_resamples=RESAMPLES)
    print_lines([STORY, ""])
    show(before)
    chance = [assess(test, metric=metric, n_resamples=RESAMPLES).verdict for metric in ("ecce_mad", "ecd")]
    print_lines(["", "Tests of calibration:", *chance, ""])
    recalibration = recalibrate(validation.labels, validation.probs)
    after = evaluate(calibrate_predictions(test, recalibration.calibrator), n_resamples=RESAMPLES)
    print_lines(["Recalibration, by cross-validation on the validation data:", *repr(recalibration).splitlines(), ""])
    pairs = [(old, new) for old, new in zip(before.results, after.results, strict=True) if old.value is not None]
    rows = [[old.metric, number(old.value), number(new.value)] for old, new in pairs]
    print_table(["metric", "before", "after"], rows, range(1, 3))
    settings = Settings(title="Handwritten digits, gradient boosting", n_resamples=RESAMPLES)
    build(test, settings, {}).save(path)
    say(
        f"\nWrote {path.resolve()}; open it in a browser. It compares calibrators by cross-validation on the test images, so that part "
        "differs from the one above."
    )
    for file in packaged if folder is not None else ():
        say(f"Wrote {write_atomic(Path(folder or '') / file.name, file.read_bytes())}")
