"""``calibrant run``: fit a calibrator on validation data, evaluate it on test data, choose a threshold, and report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ..decision.thresholds import ThresholdChoice, choose_threshold
from ..errors import ArgumentError, CalibrantError, InSampleWarning, WeightsNotSupportedError, warn_caller
from ..evaluation.measure import calibrate_predictions, evaluate
from ..evaluation.result import NOT_SIGNIFICANT, Evaluation, Header
from ..inference.comparison import Comparison, compare
from ..input.predictions import Predictions
from ..metrics.registry import catalogue
from ..recalibration.choosing import Recalibration, rows_summing_to_one
from ..recalibration.persistence import save
from ..recalibration.scores import Scores, TrainingData, mixed_rows
from ..reporting.building import Report, build, charts_of
from ..reporting.comparing import compared_metric
from ..reporting.content import BeforeAfter, Change
from ..reporting.recalibration import calibrators_of
from ..reporting.settings import Settings
from ..reporting.tables import changes_table
from ..reporting.thresholding import threshold_of
from ..reporting.wording import level_text
from ..util.checks import check_fraction
from ..util.files import make_folder, write_atomic
from ..util.processes import run_all
from ..util.results import json_text, number, percent
from ..util.version import __version__
from . import options
from .conditions import Gates, check, gate_metrics, metric_conditions, needs_test, places_of
from .config import used_configuration
from .fitting import apply_calibrator, fit_calibrator, rows_in
from .rows import is_log
from .screen import print_lines, print_table
from .selecting import Draws
from .source import Source

# Strictly proper scores first, which measure the probabilities as a whole.
COMPARED = ("nll", "brier", "smece", "ece")
WRITTEN = {
    "calibrator.json": "a calibrator",
    "metrics.json": "a document",
    "calibrated.parquet": "a table",
    "report.html": "a document",
}
CHOSEN = (
    "It was chosen on validation data that the calibrator was not fitted on; accuracy and coverage are those of the test data. The "
    "guarantee holds for new data from the same source.",
)
SAME_ROWS = "the test data are the validation data, so the results after recalibration are optimistic"


class HeldOutThreshold(NamedTuple):
    """A threshold chosen on validation rows that the calibrator was not fitted on."""

    on_validation: ThresholdChoice | None = None
    on_test: ThresholdChoice | None = None
    """The same threshold on the test data."""
    reason: str = ""
    """Why there is none; also empty if no rows were held out for it."""

    def sentences(self) -> list[str]:
        """The threshold and what it accepts of the test data, or why there is none."""
        if self.on_validation is None:
            return [f"No threshold: {self.reason}."] if self.reason else []
        if self.on_validation.threshold is None or self.on_test is None:
            return [f"No threshold: {self.on_validation.statement.removeprefix('none: ')}."]
        lines = [f"Threshold {number(self.on_validation.threshold)}: {self.on_validation.statement}."]
        if not self.on_test.accepted:
            return [*lines, "It accepts none of the test rows."]
        accuracy = f"with an accuracy of {percent(1 - self.on_test.risk)}"
        return [*lines, f"On the test data it accepts {percent(self.on_test.coverage)} of the rows, {accuracy}."]


@dataclass(frozen=True)
class Outcome:
    """All results, before any of them is written."""

    validation: Predictions
    held_out: int
    """Number of validation rows held out from fitting."""
    test: Predictions
    recalibrated: Predictions
    """The test data after recalibration."""
    recalibration: Recalibration
    before: Evaluation
    after: Evaluation
    changes: Comparison
    threshold: HeldOutThreshold
    same_rows: bool

    def sentences(self) -> list[str]:
        """The results in words."""
        rows = rows_in(self.validation)
        held_out = f", {self.held_out:,} for the threshold" if self.held_out else ""
        lines = [
            f"{rows:,} validation rows ({rows - self.held_out:,} for the calibrator{held_out}), {rows_in(self.test):,} test rows."
        ]
        for name, data in (("Validation", self.validation), ("Test", self.test)):
            lines += [] if data.dropped is None else [f"{name} data: {data.dropped}."]
        if self.same_rows:
            lines.append(f"Warning: {SAME_ROWS}.")
        lines.append(self.choice())
        if self.recalibration.method == "none":
            lines.append(f"On the test data: {'; '.join(means_of(self.before.header))}.")
        else:
            lines += [
                f"{when}: {'; '.join(means_of(evaluation.header))}."
                for when, evaluation in (("Before", self.before), ("After", self.after))
            ]
            lines += [_describe_change(self.changes, metric) for metric in self.changes.metrics]
        return lines + self.threshold.sentences()

    def choice(self) -> str:
        """Which calibrator was selected, or that none was."""
        if self.recalibration.method == "none":
            reason = f"no calibration method lowers the cross-validated {self.recalibration.loss} reliably"
            return f"The probabilities are unchanged: {reason}."
        fitted = sum(not candidate.reason for candidate in self.recalibration.candidates)
        return f"Calibrator: {self.recalibration.method}, selected from {fitted} candidates by the cross-validated {self.recalibration.loss}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for metrics.json."""
        return {
            "recalibration": self.recalibration.to_dict(),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "changes": self.changes.to_dict(),
            "threshold": _without_tests(self.threshold.on_validation),
            "threshold_on_test": _without_tests(self.threshold.on_test),
            "fitted_on_test_rows": self.same_rows,
            "summary": self.sentences(),
        }


@options.command("run")
@click.option(
    "--validation", required=True, metavar="FILE", help="Validation data, for the calibrator and the threshold."
)
@click.option("--test", required=True, metavar="FILE", help="Test data, evaluated before and after recalibration.")
@options.written_option("--out", folder=True, required=True, help="Output folder; created if it does not exist.")
@options.column_options(options.class_score_options)
@options.fit_options
@options.preprocessing_option
@click.option(
    "--accuracy", type=float, default=0.95, show_default=True, help="Minimum accuracy of the accepted predictions."
)
@options.guarantee_option
@click.option("--metrics", metavar="NAMES", default="recommended", help=options.METRIC_NAMES)
@options.outcome_option
@options.meta_option
@click.option(
    "--hold-out",
    type=float,
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="Share of the validation data held out from fitting, for the threshold; 0 for no threshold.",
)
@options.level_option
@options.draw_options(200)
@options.json_option
@options.gate_options(
    'Exit with 1, after the files were written, if a condition such as "ece > 0.05" holds for the test data after recalibration. Can be '
    "repeated.",
)
@options.debug_option
def run(
    *, validation: str, test: str, out: str, metrics: str, hold_out: float, level: float, as_json: bool, **options: Any
) -> bool:
    """Fit a calibrator on validation data, evaluate it on test data, choose a threshold and write a report.

    Writes calibrator.json, metrics.json, calibrated.parquet and report.html.
    """
    gates, draws, source = Gates.take(options), Draws.take(options), Source.take(test, options)
    fit = {name: options.pop(name) for name in ("method", "loss", "folds")} | {"seed": draws.seed}
    conditions = metric_conditions(gates)
    names = [*(name.strip() for name in metrics.split(",")), *gate_metrics(conditions)]
    if not 0 <= hold_out < 1:
        raise ArgumentError("--hold-out", f"must be in [0, 1); got {hold_out:g}", "for example 0.3")
    target: dict[str, Any] = {"accuracy": check_fraction(options["accuracy"], "--accuracy", 0.9)}
    target["guarantee"] = check_fraction(options["guarantee"], "--guarantee")
    _check_files(validation, test, out)
    settings = Settings(
        metrics=names,
        level=level,
        n_resamples=draws.resamples,
        seed=draws.seed,
        recalibration=False,
        outcome=options["outcome"],
        metadata=options["metadata"],
        **target,
    )
    evaluation: dict[str, Any] = {"metrics": names, "level": level, "outcome": options["outcome"], **draws.keywords()}
    result = _measure(
        _read_choices(replace(source, file=validation)), _read_choices(source), fit, target, evaluation, hold_out
    )
    method = result.recalibration.method
    inputs = {"validation": Path(validation).name, "test": Path(test).name, "hold_out": hold_out}
    title = f"{inputs['test']}, {'not recalibrated' if method == 'none' else f'recalibrated ({method})'}"
    parameters = {**inputs, **used_configuration(), "calibration method": method}
    page = _report(result, replace(settings, title=title), fit["folds"], parameters)
    content = {"calibrant": __version__, "validation": validation, "test": test, **result.to_dict()}
    folder = _write(out, result, page, content, source, options["preprocessing"])
    after = content["after"]
    if needs_test(conditions):
        after = evaluate(result.recalibrated, assess=True, **evaluation).to_dict()
    gate_results = check(conditions, places_of(after))
    assert page.before_after is not None
    changes = changes_table(page.before_after)

    def show() -> None:
        print_table(changes.headings, changes.cells, range(1, 5))
        print_lines(result.after.notes())
        print_lines(["", *result.sentences(), f"Wrote {', '.join(WRITTEN)} in {folder}."])

    output = content if as_json else show
    return gates.conclude(gate_results, f"calibrant run {inputs['test']}", output)


def _check_files(validation: str, test: str, out: str) -> None:
    """Raise for files that cannot be read twice, and for results that would replace something else."""
    if "-" in (validation, test):
        raise ArgumentError("-", "standard input can be read only once, and two files are required", "name both files")
    for name, kind in WRITTEN.items():
        target = Path(out) / name
        for path in (validation, test):
            if target.exists() and Path(path).exists() and target.samefile(path):
                raise ArgumentError("--out", f"would overwrite the input {path}", "name another folder")
        options.check_replaceable("--out", target, kind)


def _read_choices(source: Source) -> Predictions:
    """Read predictions; raise for answers of which only the correctness is known, whose threshold would be one of two classes."""
    p = source.read()
    if is_log(source.format) and p.label_name == "correct":
        remedy = 'select questions of one kind with --where "n_choices = 4", or use fit, evaluate --calibrator and select --calibrator'
        raise ArgumentError("--format", "run requires the same number of choices in all questions", remedy)
    return p


def _write(
    out: str, result: Outcome, page: Report, content: dict[str, Any], source: Source, preprocessing: str | None
) -> Path:
    """Write the four files and return their folder."""
    folder = make_folder(out)
    scores = replace(source, columns=replace(source.columns, weight=None, counts=None), pos_label=None)
    apply_calibrator(result.recalibration.calibrator, scores, str(folder / "calibrated.parquet"))
    save(result.recalibration.calibrator, folder / "calibrator.json", preprocessing=preprocessing)
    page.save(folder / "report.html")
    write_atomic(folder / "metrics.json", json_text(content).encode())
    return folder


def _measure(
    validation: Predictions,
    test: Predictions,
    fit: dict[str, Any],
    target: dict[str, Any],
    evaluation: dict[str, Any],
    hold_out: float,
) -> Outcome:
    """Fit a calibrator on validation data, and evaluate the test data before and after it."""
    if test.k != validation.k:
        raise ArgumentError("--test", f"has {test.k} classes, and the validation data have {validation.k}")
    order = mixed_rows(TrainingData(validation), fit["seed"])
    n_held_out = int(hold_out * validation.n)
    held_out = validation.take(np.sort(order[:n_held_out])) if n_held_out else None
    recalibration = fit_calibrator(validation.take(np.sort(order[n_held_out:])), **fit)
    same_rows = Scores(validation).fingerprint == Scores(test).fingerprint
    recalibrated = calibrate_predictions(test, recalibration.calibrator)
    if same_rows and held_out is not None:  # the calibrator itself warns only of the rows that it was fitted on
        warn_caller(SAME_ROWS, InSampleWarning)
    draws = {"level": evaluation["level"], "n_resamples": evaluation["n_resamples"], "rng": evaluation["rng"]}
    scaled = rows_summing_to_one(test)
    # Without a calibrator both are equal up to rounding, which is not to be compared.
    compared = {"after": scaled if recalibration.method == "none" else recalibrated, "before": scaled}
    tasks: list[Callable[[], Any]] = [partial(evaluate, p, **evaluation) for p in (test, recalibrated)]
    tasks.append(partial(compare, compared, metric=COMPARED, **draws))
    before, after, changes = run_all(tasks, test.n * test.k)
    return Outcome(
        validation=validation,
        held_out=0 if held_out is None else rows_in(held_out),
        test=test,
        recalibrated=recalibrated,
        recalibration=recalibration,
        before=before,
        after=after,
        changes=changes,
        threshold=_choose_threshold(held_out, recalibration, recalibrated, target),
        same_rows=same_rows,
    )


def _choose_threshold(
    held_out: Predictions | None, recalibration: Recalibration, test: Predictions, target: dict[str, Any]
) -> HeldOutThreshold:
    """The threshold on rows held out from fitting, and the same on the recalibrated test data."""
    choice = None
    if held_out is None:
        return HeldOutThreshold()
    try:
        choice = choose_threshold(calibrate_predictions(held_out, recalibration.calibrator), **target)
        if choice.threshold is None:
            return HeldOutThreshold(choice)
        guarantee = target["guarantee"]
        on_test = choose_threshold(test, method="fixed", grid=choice.threshold, guarantee=guarantee)
        return HeldOutThreshold(choice, on_test)
    except WeightsNotSupportedError:
        return HeldOutThreshold(choice, reason="guarantees are not available with weighted rows")
    except CalibrantError as error:
        if error.argument in target:
            raise
        return HeldOutThreshold(choice, reason=error.problem)


def _describe_change(comparison: Comparison, metric: str) -> str:
    change = comparison[metric, "after", "before"]
    verb = "fell" if change.difference < 0 else "rose"
    before, after = (comparison.values[metric][name] for name in ("before", "after"))
    values = f"{number(before)} to {number(after)}"
    if not math.isfinite(change.difference):
        return f"{metric} {verb} from {values}."
    chance = "" if change.low > 0 or change.high < 0 else ", not significant"
    low, high = (-change.high, -change.low) if verb == "fell" else (change.low, change.high)
    return (
        f"{metric} {verb} from {values} (by [{number(low)}, {number(high)}] at {level_text(comparison.level)}{chance})."
    )


def _report(outcome: Outcome, settings: Settings, folds: int, parameters: dict[str, Any]) -> Report:
    """The report of the test data after recalibration, with what it changed; calibrators and threshold are those of the validation data."""
    report = build(outcome.recalibrated, settings, parameters, outcome.after)
    heads = zip(_summary_rows(outcome.before), _summary_rows(outcome.after), strict=True)
    changes = [Change(name, old, None, None, new, None, None) for (name, old), (_, new) in heads]
    for old, new in zip(outcome.before.results, outcome.after.results, strict=False):
        changes.append(Change(old.metric, old.value, old.low, old.high, new.value, new.low, new.high))
    unchanged = outcome.recalibration.method == "none"
    threshold = outcome.threshold
    reason = threshold.reason or ("" if outcome.held_out else "no validation data were kept for it")
    return replace(
        report,
        before_after=BeforeAfter(
            tuple(outcome.sentences()),
            tuple(changes),
            ()
            if unchanged
            else tuple(compared_metric(catalogue[name], outcome.changes) for name in outcome.changes.metrics),
            settings.known_level,
            None if unchanged else charts_of(outcome.test, settings),
        ),
        recalibration=calibrators_of(outcome.recalibration, folds),
        threshold=threshold_of(threshold.on_validation, threshold.on_test, report.threshold.guarantee, reason, CHOSEN),
    )


def _summary_rows(evaluation: Evaluation) -> list[tuple[str, float | None]]:
    """The rows above the metrics: for two classes those of the positive class; accuracy and confidence."""
    header = evaluation.header
    rows = [("accuracy", header.accuracy), ("mean confidence", header.mean_confidence)]
    if header.event_mean_score is not None:
        name = header.outcome or "the positive class"
        event = [
            (f"observed rate of {name}", header.prevalence[1]),
            (f"mean predicted probability of {name}", header.event_mean_score),
        ]
        return [*event, *rows]
    return rows


def means_of(header: Header) -> list[str]:
    """Phrases for the mean prediction and the observed rate; significant differences come first."""
    phrases = filter(None, [header.event, header.direction])
    return sorted(phrases, key=lambda phrase: phrase.endswith(f"({NOT_SIGNIFICANT})"))


def _without_tests(choice: ThresholdChoice | None) -> dict[str, Any] | None:
    return None if choice is None else {key: value for key, value in choice.to_dict().items() if key != "tests"}
