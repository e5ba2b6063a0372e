"""Alarms: windows are closed, and tested once, in order, when enough labels are available; scores are compared with the reference data.

Rows and labels that arrive after the test of a window are recorded and not tested again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

import numpy as np

from ..inference.multiplicity import adjust
from ..sketches.sketch import Sketch
from ..util.results import number, percent, pvalue_clause
from .changepoint import EDetector, goes_on, locate_change, start_detector
from .ingest import ALL_ROWS
from .labelfree import ScoreFindings
from .online import learn_window
from .queries import Part, Stream, Transaction, Window
from .sequential import RULED_OUT, EProcess, start_eprocess
from .settings import Settings

OOD = "ood:"
"""Prefix of the kind of an alarm of an out-of-distribution score in the store; its name follows."""


def start_stream(settings: Settings, name: str, group_number: int, declared: bool) -> Stream:
    """Initial sequential tests of all rows, or of a group with its share of the level."""
    share = 1.0 if name == ALL_ROWS else settings.share(group_number, declared)
    process = start_eprocess(alpha=settings.alpha * share, lens=settings.lens)
    detector = start_detector(run_length=settings.run_length / share, lens=settings.lens)
    return Stream(name, group_number, declared, process.to_dict(), detector.to_dict())


def fingerprint(sketch: Sketch) -> str:
    """A fingerprint of the content of a sketch."""
    return hashlib.sha256(sketch.to_bytes()).hexdigest()[:32]


def judged_rows(part: Part, settings: Settings, clock: int | None) -> Sketch:
    """The labelled rows; after the horizon all rows, if missing labels count as negative."""
    if settings.missing == "negative" and settings.is_past_horizon(part.place, clock):
        return complete_labels(part.scores, part.outcomes)
    return part.outcomes


def complete_labels(scores: Sketch, outcomes: Sketch) -> Sketch:
    """All rows, those without a label counted as negative."""
    place = np.searchsorted(scores._cells, outcomes._cells)
    positives = np.zeros(len(scores._cells), np.int64)
    positives[place] = outcomes._kept.positives
    sums = scores._kept
    return Sketch(scores._cells, sums._replace(positives=positives), scores.lens)


def clock_of(db: Transaction, settings: Settings) -> int | None:
    """The newest time, or the number of rows for windows of rows."""
    return db.meta("clock") if settings.rule.by_time else db.meta("rows_seen")


def settle(db: Transaction, settings: Settings) -> tuple[list[int], list[int]]:
    """Close the windows that have ended and test those that are ready; returns both."""
    clock = clock_of(db, settings)
    closed = []
    for window in db.waiting():
        if not window.closed and clock is not None and clock >= settings.rule.span(window.place)[1]:
            db.save_window(window._replace(closed=True))
            closed.append(window.place)
    tested = []
    unlabelled: list[Window] = []
    last = db.last_tested()
    for window in db.waiting():
        if last is not None and window.place < last:
            if window.closed:
                db.save_window(window._replace(tested=2))
            continue
        if not window.closed:
            break
        n, labelled = db.counts(window.place, ALL_ROWS)
        if not n or labelled < settings.mature * n:
            if not settings.is_past_horizon(window.place, clock):
                break
            if not labelled and settings.missing != "negative":
                unlabelled.append(window)  # nothing to test, and later windows do not wait for it
                continue
        _test(db, settings, window, clock)
        for earlier in unlabelled:
            db.save_window(earlier._replace(tested=2))
        unlabelled.clear()
        tested.append(window.place)
        last = window.place
    return closed, tested


def _test(db: Transaction, settings: Settings, window: Window, clock: int | None) -> None:
    streams = db.streams()
    for part in db.parts(window.place):
        stream = streams.get(part.stream)
        if stream is None:
            continue
        rows = judged_rows(part, settings, clock)
        before = EProcess.of_dict(stream.eprocess)
        process, detector = before.update(rows), EDetector.of_dict(stream.detector).update(rows)
        if settings.online and part.stream == ALL_ROWS and rows.n:
            learn_window(db, window.place, rows)
        logs = (_finite(process.log_value), _finite(detector.log_value))
        db.add_evidence(window.place, part.stream, fingerprint(rows), rows.n, *logs)
        db.save_stream(stream._replace(eprocess=process.to_dict(), detector=detector.to_dict()))
        if process.rejected and not before.rejected:
            windows = labelled_windows(db, settings, part.stream, clock, 0)
            sentence, onset = _add_onset(process.verdict, windows, settings)
            db.add_event(part.place, part.stream, "calibration", process.value, sentence, onset)
        if detector.alarmed:
            _note_change(db, settings, part, detector, clock)
    db.save_window(db.window(window.place)._replace(tested=1))


def _note_change(db: Transaction, settings: Settings, part: Part, detector: EDetector, clock: int | None) -> None:
    """Record an alarm of the change detector: a new change, or the continuation of the last one, with its onset and acknowledgement."""
    *earlier, started = (0, *detector.alarms[:-1])
    windows = labelled_windows(db, settings, part.stream, clock, started)
    onset, is_acknowledged = db.last_event(part.stream, "change")
    if onset is not None and earlier:
        before = labelled_windows(db, settings, part.stream, clock, earlier[-1], started)
        if before and windows and goes_on([s for _, s in before], [s for _, s in windows], detector.run_length):
            change = locate_change([sketch for _, sketch in windows])
            since = [sketch for _, sketch in windows[change.index :]]
            sentence = f"The change with estimated onset {settings.rule.name(onset)} continues: {_describe_change(change.alternative, since)}."
            db.add_event(part.place, part.stream, "change", detector.run_length, sentence, onset, is_acknowledged)
            return
    sentence = (
        f"Calibration lost: the change detector reached {number(detector.run_length)}, which under calibration occurs "
        f"at most once per {number(detector.run_length)} windows on average."
    )
    sentence, onset = _add_onset(sentence, windows, settings)
    db.add_event(part.place, part.stream, "change", detector.run_length, sentence, onset)


def _finite(value: float) -> float | None:
    """A logarithm for the store: None for that of 0, and a large finite number for that of infinity."""
    return None if value == -math.inf else min(value, 1e6)


def labelled_windows(
    db: Transaction, settings: Settings, stream: str, clock: int | None, start: int = 0, stop: int | None = None
) -> list[tuple[int, Sketch]]:
    """Tested windows of a stream that have labels, from `start` to `stop` in the order of the tests."""
    tested = [place for place, *_ in db.evidence(stream)][start:stop]
    parts = (db.part(place, stream, settings.lens) for place in tested)
    rows = ((past.place, judged_rows(past, settings, clock)) for past in parts)
    return [(place, sketch) for place, sketch in rows if sketch.n]


def _add_onset(sentence: str, windows: list[tuple[int, Sketch]], settings: Settings) -> tuple[str, int | None]:
    """Text of an alarm with the estimated onset of the change, and the window of the onset."""
    if not windows:
        return sentence, None
    change = locate_change([sketch for _, sketch in windows])
    onset = windows[change.index][0]
    since = [sketch for _, sketch in windows[change.index :]]
    return (
        f"{sentence} Estimated onset {settings.rule.name(onset)}: {_describe_change(change.alternative, since)}.",
        onset,
    )


def _describe_change(alternative: str, since: list[Sketch]) -> str:
    """Predicted and observed rates since the onset, and the meaning of a shift or slope of the logit."""
    if alternative == RULED_OUT:
        return alternative
    size = float(alternative.rsplit(" ", 1)[1])
    if "shift" in alternative:
        meaning = f"probabilities too {'high' if size < 0 else 'low'}"
    else:
        meaning = "overconfident" if size < 1 else "underconfident"
    rows = sum(sketch.n for sketch in since)
    predicted = sum(sketch.mean_score * sketch.n for sketch in since) / rows
    observed = sum(sketch.positives for sketch in since) / rows
    names = ("mean confidence", "accuracy") if since[0].lens == "top_label" else ("predicted", "observed")
    return f"{names[0]} {percent(predicted)}, {names[1]} {percent(observed)}; {meaning} ({alternative})"


def drift_alarms(findings_of: Mapping[str, ScoreFindings], alpha: float) -> list[tuple[str, str, float, str]]:
    """Stream, kind, p-value and text where the scores of one window have drifted, adjusted for distances, streams and scores (Holm).

    Predictions and out-of-distribution scores of all streams are one family: the probability of any false alarm in a window is at most
    alpha, however many scores are watched.

    False alarms accumulate: over w windows, w times alpha are expected on average over reference data. Windows that share the
    reference data are not independent, so for given reference data the number can be several times larger, or smaller.
    """
    best = {}
    text_of: dict[tuple[str, str], str] = {}
    for stream, findings in findings_of.items():
        drifts = {"scores": findings.drift, **{f"{OOD}{score.name}": score.drift for score in findings.ood}}
        text_of |= {(stream, f"{OOD}{score.name}"): f"{score.change}; " for score in findings.ood}
        for kind, drift in drifts.items():
            if drift is not None:
                best[stream, kind] = min(zip(drift.adjusted, drift.results, strict=True), key=lambda pair: pair[0])
    adjusted = adjust(np.array([p for p, _ in best.values()]), "holm").tolist() if best else []
    alarms = []
    for ((stream, kind), (_, r)), p in zip(best.items(), adjusted, strict=True):
        if p <= alpha:
            chance = pvalue_clause(p, p if r.is_bound else 0.0)
            text = f"{text_of.get((stream, kind), '')}{r.statistic} {number(r.value)}: {r.effect}"
            alarms.append((stream, kind, p, f"{text} ({chance}, adjusted for all tests of the window)"))
    return alarms
