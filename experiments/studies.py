"""What studies over settings share: the settings, labels drawn from probabilities, the error of a share, and the command that runs, stores and shows them."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

Case = dict[str, Any]
Row = dict[str, Any]


def crossed(options: Mapping[str, Any]) -> list[Case]:
    """Every combination of the values of options; options that go together have names joined by a comma."""
    cases = []
    for values in product(*options.values()):
        case: Case = {}
        for names, value in zip(options, values, strict=True):
            case |= dict(zip(names.split(", "), value if ", " in names else [value], strict=True))
        cases.append({name: tuple(value) if isinstance(value, list) else value for name, value in case.items()})
    return cases


def draw_labels(probs: Any, rng: np.random.Generator) -> Any:
    """Labels with these probabilities of the event, or of all classes."""
    if probs.ndim == 1:
        return (rng.random(len(probs)) < probs).astype(int)
    return (rng.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, probs.shape[1] - 1)


def share_error(share: float, runs: int) -> float:
    """Monte Carlo error of a share of runs, not 0 where it is 0 or 1."""
    return math.sqrt(max(share * (1 - share), 1 / runs) / runs)


def write_rows(rows: list[Row], studies: Iterable[str], path: Path) -> list[Row]:
    """Store rows, one to a line, in the order of the studies; those of other packages are last."""
    order = [*studies]
    rows = sorted(rows, key=lambda row: order.index(row["study"]) if row["study"] in order else len(order))
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    return rows


def command(
    studies: Mapping[str, Any],
    run_study: Callable[[str, int, list[Row], ProcessPoolExecutor], list[Row]],
    page: Callable[[list[Row]], str],
    faults: Callable[[list[Row]], list[Row]],
    files: tuple[Path, Path],
) -> int:
    """Run studies, store their rows, write the page, and return 1 if a row is at fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("study", nargs="*", help=f"all by default: {', '.join(studies)}")
    parser.add_argument("--runs", type=int, help="simulated data sets of each setting")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--page", action="store_true", help="write the page from the stored results")
    chosen = parser.parse_args()
    results, shown = files
    rows: list[Row] = json.loads(results.read_text()) if results.exists() else []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for name in [] if chosen.page else chosen.study or studies:
            fresh = run_study(name, chosen.runs or studies[name].runs, rows, pool)
            rows = [row for row in rows if row["study"] != name] + fresh
            rows = write_rows(rows, studies, results)
    shown.write_text(page(rows))
    wrong = faults(rows)
    print(f"{len(wrong)} of {len(rows)} rows lie outside of their bands")
    return int(bool(wrong))
