"""``calibrant run``: fit a calibrator on validation data, evaluate it on test data, choose a threshold, and report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..decision.thresholds import ThresholdChoice, choose_threshold
from ..errors import (
    ArgumentError,
    CalibrantError,
    InSampleWarning,
    WeightsNotSupportedError,
    warn_caller,
)
from ..evaluation.measure import calibrate_predictions, choose_metrics, evaluate
from ..evaluation.result import NOT_SIGNIFICANT, Evaluation, Header
from ..inference.comparison import Comparison, compare
from ..input.predictions import Predictions
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


@dataclass(frozen=True)
class Outcome:
    """All results, before any of them is written."""

    validation: Predictions
    held_out: int
    """Number of validation rows held out from fitting."""
    test: Predictions
    mapped: Predictions
    """The test data after recalibration."""
    found: Recalibration
    before: Evaluation
    after: Evaluation
    changes: tuple[Comparison, ...]
    chosen: ThresholdChoice | None
    """On the validation rows held out from fitting."""
    seen: ThresholdChoice | None
    """The same threshold on the test data."""
    without: str
    """Why there is no threshold; empty if there is one."""
    same_rows: bool

    def sentences(self) -> list[str]:
        """The results in words."""
        rows = rows_in(self.validation)
        kept = f", {self.held_out:,} for the threshold" if self.held_out else ""
        lines = [
            f"{rows:,} validation rows ({rows - self.held_out:,} for the calibrator{kept}), {rows_in(self.test):,} test rows."
        ]
        for name, part in (("Validation", self.validation), ("Test", self.test)):
            lines += [] if part.dropped is None else [f"{name} data: {part.dropped}."]
        if self.same_rows:
            lines.append(f"Warning: {SAME_ROWS}.")
        lines.append(self.choice())
        if self.found.method == "none":
            lines.append(f"On the test data: {'; '.join(means_of(self.before.header))}.")
        else:
            lines += [
                f"{when}: {'; '.join(means_of(evaluation.header))}."
                for when, evaluation in (("Before", self.before), ("After", self.after))
            ]
            lines += [_describe_change(change) for change in self.changes]
        return lines + self._threshold()

    def choice(self) -> str:
        """Which calibrator was selected, or that none was."""
        if self.found.method == "none":
            reason = f"no calibration method lowers the cross-validated {self.found.loss} reliably"
            return f"The probabilities are unchanged: {reason}."
        fitted = [candidate for candidate in self.found.candidates if not candidate.reason]
        return f"Calibrator: {self.found.method}, selected from {len(fitted)} candidates by the cross-validated {self.found.loss}."

    def _threshold(self) -> list[str]:
        if self.chosen is None:
            return [f"No threshold: {self.without}."] if self.without else []
        if self.chosen.threshold is None or self.seen is None:
            return [f"No threshold: {self.chosen.statement.removeprefix('none: ')}."]
        lines = [f"Threshold {number(self.chosen.threshold)}: {self.chosen.statement}."]
        if not self.seen.accepted:
            return [*lines, "It accepts none of the test rows."]
        right = f"with an accuracy of {percent(1 - self.seen.risk)}"
        return [*lines, f"On the test data it accepts {percent(self.seen.coverage)} of the rows, {right}."]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for metrics.json."""
        return {
            "recalibration": self.found.to_dict(),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "changes": [change.to_dict() for change in self.changes],
            "threshold": None if self.chosen is None else _without_tests(self.chosen),
            "threshold_on_test": None if self.seen is None else _without_tests(self.seen),
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
    outcome, described = options["outcome"], {name: options[name] for name in ("outcome", "metadata")}
    settings = Settings(
        metrics=names,
        level=level,
        n_resamples=draws.resamples,
        seed=draws.seed,
        recalibration=False,
        **target,
        **described,
    )
    evaluation: dict[str, Any] = {"metrics": names, "level": level, "outcome": outcome, **draws.keywords()}
    result = _measure(
        _read_choices(replace(source, file=validation)), _read_choices(source), fit, target, evaluation, hold_out
    )
    method = result.found.method
    named = {"validation": Path(validation).name, "test": Path(test).name, "hold_out": hold_out}
    title = f"{named['test']}, {'not recalibrated' if method == 'none' else f'recalibrated ({method})'}"
    parameters = {**named, **used_configuration(), "calibration method": method}
    page = _report(result, replace(settings, title=title), fit["folds"], parameters)
    content = {"calibrant": __version__, "validation": validation, "test": test, **result.to_dict()}
    folder = _write(out, result, page, content, source, options["preprocessing"])
    after = content["after"]
    if needs_test(conditions):
        after = evaluate(result.mapped, assess=True, **evaluation).to_dict()
    checked = check(conditions, places_of(after))
    assert page.before_after is not None
    changed = changes_table(page.before_after)
    table = changed.headings, changed.cells

    def show() -> None:
        print_table(*table, range(1, 5))
        print_lines(result.after.notes())
        print_lines(["", *result.sentences(), f"Wrote {', '.join(WRITTEN)} in {folder}."])

    output = content if as_json else show
    return gates.conclude(checked, f"calibrant run {named['test']}", output)


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
    apply_calibrator(result.found.calibrator, scores, str(folder / "calibrated.parquet"))
    save(result.found.calibrator, folder / "calibrator.json", preprocessing=preprocessing)
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
    held_out = int(hold_out * validation.n)
    kept = validation.take(np.sort(order[:held_out])) if held_out else None
    recalibration = fit_calibrator(validation.take(np.sort(order[held_out:])), **fit)
    same = Scores(validation).fingerprint == Scores(test).fingerprint
    mapped = calibrate_predictions(test, recalibration.calibrator)
    if same and kept is not None:  # the calibrator itself warns only of the rows that it was fitted on
        warn_caller(SAME_ROWS, InSampleWarning)
    draws = {"level": evaluation["level"], "n_resamples": evaluation["n_resamples"], "rng": evaluation["rng"]}
    plain = rows_summing_to_one(test)
    # Without a calibrator both sides are equal up to rounding, which is not to be compared.
    sides = {"after": plain if recalibration.method == "none" else mapped, "before": plain}
    tasks: list[Callable[[], Any]] = [partial(evaluate, p, **evaluation) for p in (test, mapped)]
    tasks += [partial(compare, sides, metric=metric, **draws) for metric in COMPARED]
    before, after, *changes = run_all(tasks, test.n * test.k)
    chosen, seen, without = _threshold(kept, recalibration, mapped, target)
    apart = 0 if kept is None else rows_in(kept)
    return Outcome(
        validation, apart, test, mapped, recalibration, before, after, tuple(changes), chosen, seen, without, same
    )


def _threshold(
    kept: Predictions | None, recalibration: Recalibration, mapped: Predictions, target: dict[str, Any]
) -> tuple[ThresholdChoice | None, ThresholdChoice | None, str]:
    """The threshold on rows held out from fitting, the same on the test data, and why there is none."""
    chosen = seen = None
    if kept is None:
        return chosen, seen, ""
    try:
        chosen = choose_threshold(calibrate_predictions(kept, recalibration.calibrator), **target)
        if chosen.threshold is not None:
            level = target["guarantee"]
            seen = choose_threshold(mapped, method="fixed", grid=chosen.threshold, guarantee=level)
    except WeightsNotSupportedError:
        return chosen, seen, "guarantees are not available with weighted rows"
    except CalibrantError as error:
        if error.argument in target:
            raise
        return chosen, seen, error.problem
    return chosen, seen, ""


def _describe_change(comparison: Comparison) -> str:
    moved = comparison["after", "before"]
    word = "fell" if moved.difference < 0 else "rose"
    values = f"{number(comparison.values['before'])} to {number(comparison.values['after'])}"
    if not math.isfinite(moved.difference):
        return f"{comparison.metric} {word} from {values}."
    chance = "" if moved.low > 0 or moved.high < 0 else ", not significant"
    low, high = (-moved.high, -moved.low) if word == "fell" else (moved.low, moved.high)
    return f"{comparison.metric} {word} from {values} (by [{number(low)}, {number(high)}] at {level_text(comparison.level)}{chance})."


def _report(outcome: Outcome, settings: Settings, folds: int, parameters: dict[str, Any]) -> Report:
    """The report of the test data after recalibration, with what it changed; calibrators and threshold are those of the validation data."""
    report = build(outcome.mapped, settings, parameters, outcome.after)
    heads = zip(_summary_rows(outcome.before), _summary_rows(outcome.after), strict=True)
    changes = [Change(name, old, None, None, new, None, None) for (name, old), (_, new) in heads]
    for old, new in zip(outcome.before.results, outcome.after.results, strict=False):
        changes.append(Change(old.metric, old.value, old.low, old.high, new.value, new.low, new.high))
    unchanged = outcome.found.method == "none"
    without = outcome.without or ("" if outcome.held_out else "no validation data were kept for it")
    return replace(
        report,
        before_after=BeforeAfter(
            tuple(outcome.sentences()),
            tuple(changes),
            ()
            if unchanged
            else tuple(compared_metric(choose_metrics(each.metric)[0], each) for each in outcome.changes),
            settings.known_level,
            None if unchanged else charts_of(outcome.test, settings),
        ),
        recalibration=calibrators_of(outcome.found, folds),
        threshold=threshold_of(outcome.chosen, outcome.seen, report.threshold.guarantee, without, CHOSEN),
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


def _without_tests(choice: ThresholdChoice) -> dict[str, Any]:
    return {key: value for key, value in choice.to_dict().items() if key != "tests"}
