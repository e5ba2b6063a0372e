"""Lenses of classes that have no order or no single event, sketches in place of rows, and keywords in the wrong place."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

import calibrant as cal
from calibrant.views import resolve

from .cases import COLUMNS, LABELS, P3, Y3, Call, P, Y

NAMES = np.array(["poor", "fair", "good"])
FRAME = pd.DataFrame(P3, columns=NAMES)
MULTILABEL = cal.Predictions(LABELS, COLUMNS, multilabel=True)
CONFIDENCE = cal.Predictions(Y, P, input="confidence")
GROUPED = cal.Predictions(Y3, P3, groups=Y3)
VIEW = cal.views.View(np.array(P), np.array(Y, np.uint8))
SKETCH, SKETCHES = cal.Sketch.of(Y, P), cal.Sketches.of(Y3, P3)
EVENTS: dict[str, Call] = {
    "a curve": partial(cal.calibration_curve, Y3, P3),
    "GiViTI's test": partial(cal.inference.giviti_test, Y3, P3),
    "a sketch": partial(cal.Sketch.of, Y3, P3),
    "a reliability diagram": partial(cal.reliability_diagram, Y3, P3),
    "a sequential test": partial(cal.inference.sequential_test, Y3, P3),
}
OTHERS = {
    "labels": (P,),
    "weights": (None, [1] * 4),
    "pos_label": (None, None, 1),
    "a mask": (None, None, None, [True] * 4),
}
KEYWORDS = {
    "seed of an interval": partial(cal.interval, Y, P, seed=3),
    "n_boot of an interval": partial(cal.interval, Y, P, n_boot=3),
    "groups of an interval": partial(cal.interval, Y, P, groups=Y),
    "input of a metric": partial(cal.ece, Y, P, input="logit"),
    "combine of a metric": partial(cal.ece, Y, P, combine="max"),
    "average of a test": partial(cal.assess, Y, P, metric="ece", average="macro"),
    "correctoin of several tests": partial(cal.assess_many, Y, P, metrics=["ece", "nll"], correctoin="holm"),
    "preds and target": partial(cal.ece, preds=P, target=Y),
    "n_bins of a curve": partial(cal.calibration_curve, Y, P, n_bins=3),
    "seed of an evaluation": partial(cal.evaluate, Y, P, seed=3),
}
FUNCTIONS = (cal.evaluate, cal.calibration_curve, cal.evaluation.auroc, cal.choose_threshold)

TABLE: dict[str, Call] = {
    # All probabilities as one event.
    **{f"flattened for {name}": partial(call, lens="flattened") for name, call in EVENTS.items()},
    "flattened for a series": lambda: cal.assess(Y3, P3, metric="ecce_r", lens="flattened", method="series"),
    "flattened for groups": lambda: cal.pce(GROUPED, lens="flattened"),
    "flattened rows": lambda: cal.brier.rows(Y3, P3, lens="flattened"),
    "flattened confidence": lambda: cal.ece(CONFIDENCE, lens="flattened"),
    "right ones in a test": lambda: cal.assess(Y3, P3, where=cal.select.correct()),
    "right ones of multilabel": lambda: cal.cwce(MULTILABEL, where=cal.select.correct()),
    # Ordered classes.
    "the last cut": lambda: cal.ece(Y3, P3, lens="ordinal:2"),
    "an unknown cut": lambda: cal.ece(Y3, P3, lens="ordinal:7"),
    "weights of too many cuts": lambda: cal.ece(Y3, P3, lens=cal.ordinal(class_weight=[1, 2, 3])),
    "cuts of multilabel": lambda: cal.ece(MULTILABEL, lens="ordinal"),
    "cuts of confidence": lambda: cal.ece(CONFIDENCE, lens="ordinal"),
    "cuts of text names": lambda: cal.ece(NAMES[Y3], FRAME, lens="ordinal"),
    "a ranked probability score of text names": lambda: cal.ranked_probability(NAMES[Y3], FRAME),
    "cuts in a diagram": lambda: cal.reliability_diagram(Y3, P3, lens="ordinal"),
    "cuts in a curve": lambda: cal.calibration_curve(Y3, P3, lens="ordinal"),
    "cuts decomposed": lambda: cal.decompose(Y3, P3, lens="ordinal"),
    "cuts of a sketch": lambda: cal.ece(SKETCHES, lens="ordinal"),
    # Signed values of all classes.
    "esce of all classes": lambda: cal.esce(Y3, P3, lens="classwise"),
    "a test of esce of all classes": lambda: cal.assess(Y3, P3, metric="esce", lens="classwise"),
    # Views and sketches.
    **{f"a view and {name}": partial(resolve.resolve, VIEW, *more) for name, more in OTHERS.items()},
    **{f"a sketch and {name}": partial(resolve.resolve, SKETCH, *more) for name, more in OTHERS.items()},
    "rows of a view": lambda: resolve.as_predictions(VIEW),
    "rows of a sketch": lambda: resolve.as_predictions(SKETCH),
    "Predictions of a sketch": lambda: cal.Predictions(SKETCH),
    "another lens of a view": lambda: resolve.views_of(VIEW, "top_label"),
    "another lens of a sketch": lambda: resolve.views_of(SKETCH, "top_label"),
    "another lens of sketches": lambda: SKETCHES.view("rank:3"),
    # Keywords.
    **{f"keyword {name}": call for name, call in KEYWORDS.items()},
    **{f"missing of {each.__name__}": partial(each, Y, P, missing="drop") for each in FUNCTIONS},
    **{f"columns of {each.__name__}": partial(each, FRAME, "y", "p") for each in (cal.evaluate, cal.ece, cal.interval)},
    **{f"a frame for {each.__name__}": partial(each, FRAME) for each in (cal.evaluate, cal.ece, cal.interval)},
    "weights beside Predictions": lambda: cal.evaluate(cal.Predictions(Y, P), sample_weight=Y),
    "pos_label beside Predictions": lambda: cal.interval(cal.Predictions(Y, P), pos_label=1),
    # Missing values and events.
    "no row is left": lambda: cal.Predictions([0, None], [float("nan"), 0.3], missing="drop"),
    "an unknown way with missing values": lambda: cal.Predictions(Y, P, missing="omit"),
    "fewer scores than labels with missing ones": lambda: cal.Predictions([0, None, 1], [0.1, None], missing="drop"),
    "a missing score of a calibrator": lambda: cal.PlattScaling().fit([0.1, None, 0.7], [0, 1, 1]),
    "an event without its row": lambda: cal.input.join_events([0, 1, 1], [0.2, 0.2, 0.9]),
    "an event with another key": lambda: cal.input.join_events([0, 1], [0.2, 0.2], keys=["a", "b"]),
    "fewer keys": lambda: cal.input.join_events([0, 1], [0.2, 0.2], keys=["a"]),
    "a missing key": lambda: cal.input.join_events([0, 0, 1], [0.2, 0.2, 0.2], keys=[1, None, 1]),
    "a key that is nan": lambda: cal.input.join_events([0, 0, 1], [0.2, 0.2, 0.2], keys=[1, np.nan, 1]),
    "events of several classes": lambda: cal.input.join_events([0, 1], [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]),
    "counts of events": lambda: cal.input.join_events(cal.Predictions([0, 1], [0.2, 0.2], counts=[1, 2])),
    "an event without its row, beside one without weight": lambda: cal.input.join_events(
        [0, 0, 1, 1], [0.9, 0.2, 0.2, 0.9], sample_weight=[0, 1, 1, 1]
    ),
}
