"""Windows, tests and distances of a monitor that cannot be."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.monitoring import fleet_status
from calibrant.monitoring.changepoint import EDetector, locate_change, start_detector
from calibrant.monitoring.drift import score_drift
from calibrant.monitoring.ingest import read_ids
from calibrant.monitoring.labelfree import confidence_summary
from calibrant.monitoring.ood import read_ood
from calibrant.monitoring.performance import estimate_performance
from calibrant.monitoring.sequential import Alternatives, EProcess, start_eprocess
from calibrant.monitoring.windows import read_duration, read_time, read_times, window_rule
from calibrant.views.view import View

from .cases import P3, Y3, Call, P, Y

BINARY, TOP = cal.Sketch.of(Y, P), cal.Sketch.of(Y3, P3)
NO_ROWS = cal.Sketch.empty("top_label")
WEIGHTED = View(np.array(P), np.array(Y, np.uint8), np.arange(1, 5) / 3, "importance")
UNLABELLED = View(np.array([0.7, 0.8]), None, lens="top_label")
STATE = start_eprocess(lens="top_label")
STORED = STATE.to_dict()
ALTERNATIVES: list[dict[str, Any]] = [
    {"shifts": (0.0,)},
    {"slopes": (1.0,)},
    {"learner": "newton"},
    {"shifts": (), "slopes": (), "learner": None},
    {"shifts": [0.5]},
]
NOT_STORED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "one e-value": {**STORED, "logs": [0.0]},
    "other edges": {**STORED, "alternatives": {**STORED["alternatives"], "edges": [0.0, 0.5, 1.0]}},
    "no number of rows": {name: value for name, value in STORED.items() if name != "rows"},
}
TIMES: dict[str, Any] = {
    "whole numbers": [1, 2],
    "a word": ["2026-01-01", "soon"],
    "a missing one": np.array(["2026-01-01", "NaT"], "datetime64[D]"),
    "three for two rows": ["2026-01-01"] * 3,
    "the year 50000": np.array(["2026-01-01", "50000-01-01"], "datetime64[s]"),
    "a masked one": np.ma.masked_array(np.array(["2026-01-01"] * 2, "datetime64[us]"), [False, True]),
}
RULES: list[dict[str, Any]] = [
    {"every": "1d", "time_zone": "Europe/Berln"},
    {"every": "1d", "time_zone": "../../etc/passwd"},
    {"every": "1d", "time_zone": 3},
    {"every": "6h", "time_zone": "Europe/Berlin"},
    {"every": 5, "time_zone": "Europe/Berlin"},
    {"every": 5, "season": "week"},
    {"every": "5h", "season": "week"},
    {"every": "1d", "season": "year"},
]

TABLE: dict[str, Call] = {
    # Detectors of a change.
    "a run length of 1": lambda: start_detector(run_length=1),
    "an unknown detector": lambda: start_detector(run_length=10, kind="ewma"),  # type: ignore[arg-type]
    "a detector that learns": lambda: start_detector(run_length=10, alternatives=Alternatives()),
    "a detector of another lens": lambda: start_detector(run_length=10).update(BINARY),
    "a change in no windows": lambda: locate_change([]),
    "a change in windows of two lenses": lambda: locate_change([BINARY, TOP]),
    "a change under importance": lambda: locate_change([WEIGHTED]),
    "a detector from nothing": lambda: EDetector.of_dict({}),
    # Sequential tests.
    "a test of another lens": lambda: STATE.update(BINARY),
    "a test of a list": lambda: STATE.update(P),
    "a test under importance": lambda: start_eprocess(lens="binary").update(WEIGHTED),
    "a test without labels": lambda: STATE.update(UNLABELLED),
    "a test at level 1": lambda: start_eprocess(alpha=1),
    **{f"alternatives {words}": partial(Alternatives, **words) for words in ALTERNATIVES},
    **{f"a test from {name}": partial(EProcess.of_dict, plain) for name, plain in NOT_STORED.items()},
    # Distances.
    "an unknown distance": lambda: score_drift(P, P, statistics=("psi", "hellinger")),
    "a distance twice": lambda: score_drift(P, P, statistics=("psi", "psi")),
    "a distance from no rows": lambda: score_drift(P, cal.Sketch.empty("binary")),
    "a distance between lenses": lambda: score_drift(BINARY, TOP),
    "a distance at level 0": lambda: score_drift(P, P, alpha=0),
    "a distance under importance": lambda: score_drift(P, WEIGHTED),
    # Estimates without labels.
    "a performance by another method": lambda: estimate_performance((Y, P), P, method="cbpe"),  # type: ignore[arg-type]
    "a performance of something else": lambda: estimate_performance((Y, P), P, about="window"),  # type: ignore[arg-type]
    "a performance by unlabelled rows": lambda: estimate_performance(P, P),  # type: ignore[arg-type]
    "a performance of other classes": lambda: estimate_performance((Y, P), P3),
    "an unknown performance": lambda: estimate_performance((Y, P), P, metrics=["f2"]),
    "a performance that is one name": lambda: estimate_performance((Y, P), P, metrics="f1"),
    "a cost without costs": lambda: estimate_performance((Y, P), P, metrics=["expected_cost"]),
    "the AUROC of confidences": lambda: estimate_performance(TOP, P, metrics=["auroc"]),
    "a density ratio without features": lambda: estimate_performance((Y, P), P, method="density_ratio"),
    "a precision without predicted events": lambda: estimate_performance((Y, P), [0.1, 0.2], metrics=["precision"]),
    "a performance above 1": lambda: estimate_performance((Y, P), [1.5, 0.2]),
    "a performance of no rows": lambda: estimate_performance(TOP, NO_ROWS),
    "a performance by no rows": lambda: estimate_performance(NO_ROWS, TOP),
    "a summary of no rows": lambda: confidence_summary(NO_ROWS),
    "a summary of nan": lambda: confidence_summary([0.5, float("nan")]),
    "a summary of columns": lambda: confidence_summary([[0.5, 0.5]]),
    # Several monitors.
    **{f"monitors {models!r}": partial(fleet_status, models) for models in ([], {}, "x.db", {"a": 3})},
    # Windows, times and ids.
    **{f"windows {words}": partial(window_rule, **words) for words in RULES},
    **{f"times, {name}": partial(read_times, when, 2) for name, when in TIMES.items()},
    **{f"time {text}": partial(read_time, text) for text in ("1767225600", "1767101600000", "17671016000")},
    **{
        f"duration {text!r}": partial(read_duration, text, "every")
        for text in ("", "1", "d", "0d", "-1d", "1.5h", "1 month", 3, None)
    },
    "an id that a float cannot hold": lambda: read_ids(np.array([7.0, 2.0**53]), 2),
    "an id that is no text": lambda: read_ids(["a", "b\ud800"], 2),
    "a score with a number as name": lambda: read_ood({3: [1.0]}, 1),
}
