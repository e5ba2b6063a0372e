"""The page on maps and real predictions, from the numbers in calibrators.json."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "calibrators.md"
CLOSE = 1.01

# Why calibrant's loss can be higher than another package's, map by map.
REASONS: dict[str, str] = {
    "ensemble_temperature": "46 rows; not looked into further",
    "matrix": "46 rows, and a penalty here that there is not elsewhere",
    "vector": "the likelihood of the 101 rows of the fit is higher here (0.345 against 0.361 for each row), and fits them too well",
    "histogram": "98 to 219 test rows in all but one set, where a few rows in a bin of rate 0 (27.6 each) decide; how edges are placed "
    "decides which. The fitted rows have the lower loss here in all of them",
    "histogram of equal width": "for mturk, scores on an edge, which belong to the bin below it here and to the one above it elsewhere; "
    "MCEVOL was not explained by that",
    "scaling_binning": "46 rows in 10 bins; not looked into further",
    "near_isotonic": "not looked into; the fitted rows have the lower loss here",
}


class Pair(NamedTuple):
    """A map on a set of predictions: the loss here, and the least loss elsewhere."""

    name: str
    set: str
    ours: float
    best: float
    package: str

    @property
    def ratio(self) -> float:
        return self.ours / self.best


def pairs(losses: dict[str, Any]) -> Iterator[Pair]:
    """Every map on every set where somebody else has it too."""
    for title, entry in losses.items():
        ours = {row["calibrator"]: row["loss"] for row in entry["ours"] if "loss" in row}
        theirs: dict[str, list[tuple[float, str]]] = {}
        for row in entry["theirs"]:
            if "loss" in row:
                theirs.setdefault(row["calibrator"], []).append((row["loss"], row["package"]))
        for name, found in theirs.items():
            if name in ours:
                yield Pair(name, title, ours[name], *min(found))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Rows as Markdown."""
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def by_map(found: list[Pair]) -> str:
    """Ratios of each map over all sets."""
    rows = []
    for name in dict.fromkeys(pair.name for pair in found):
        of = [pair for pair in found if pair.name == name]
        ratios = [pair.ratio for pair in of]
        packages = ", ".join(sorted({pair.package for pair in of}))
        within = sum(ratio <= CLOSE for ratio in ratios)
        numbers = [f"{value:.4f}" for value in (min(ratios), statistics.median(ratios), max(ratios))]
        rows.append([f"`{name}`", packages, str(len(of)), str(within), *numbers])
    return table(["calibrator", "best elsewhere", "sets", "within 1 %", "least ratio", "median", "greatest"], rows)


def exceptions(found: list[Pair]) -> str:
    """Pairs further apart than CLOSE, and why."""
    rows = [
        [pair.set, f"`{pair.name}`", f"{pair.ours:.4f}", f"{pair.best:.4f}", pair.package, f"{pair.ratio:.3f}"]
        for pair in found
        if pair.ratio > CLOSE
    ]
    if not rows:
        return "None."
    reasons = [f"- `{name}`: {REASONS[name]}" for name in dict.fromkeys(p.name for p in found if p.ratio > CLOSE)]
    head = ["predictions", "calibrator", "calibrant", "best elsewhere", "which", "ratio"]
    return table(head, rows) + "\n\n" + "\n".join(reasons)


def undefined(losses: dict[str, Any]) -> str:
    """Fits that ended in an error."""
    rows = [
        [title, f"`{row['map']}`", row.get("package", "calibrant"), row["undefined"].split("\n")[0]]
        for title, entry in losses.items()
        for row in [*entry["ours"], *entry["theirs"]]
        if "undefined" in row
    ]
    return table(["predictions", "calibrator", "package", "what it says"], rows) if rows else "None."


def times(measured: dict[str, Any]) -> str:
    """Seconds beside those of the fastest other package."""
    rows = []
    for case, entry in measured.items():
        own = entry["seconds"]["calibrant"]
        others = {name: value for name, value in entry["seconds"].items() if name != "calibrant"}
        fastest = min(others, key=others.__getitem__)
        rest = ", ".join(f"{name} {value:.2f}" for name, value in others.items() if name != fastest)
        rows.append(
            [case, f"{own:.2f}", f"{others[fastest]:.2f}", fastest, f"{others[fastest] / own:.1f}", rest or "-"]
        )
    return table(["calibrator", "calibrant, s", "fastest elsewhere, s", "which", "times as fast", "others, s"], rows)


def own_losses(losses: dict[str, Any]) -> str:
    """What every map does to the loss of the predictions as they are, in per cent."""
    names = dict.fromkeys(
        row["calibrator"] for entry in losses.values() for row in entry["ours"] if row["calibrator"] != "none"
    )
    rows = []
    for name in names:
        change = []
        for entry in losses.values():
            of = {row["calibrator"]: row["loss"] for row in entry["ours"] if "loss" in row}
            if name in of:
                change.append(100 * (of[name] / of["none"] - 1))
        better = sum(value < 0 for value in change)
        numbers = [f"{value:+.1f} %" for value in (min(change), statistics.median(change), max(change))]
        rows.append([f"`{name}`", f"{better} of {len(change)}", *numbers])
    return table(["calibrator", "lower loss", "best", "median", "worst"], rows)


def every_pair(found: list[Pair]) -> str:
    """One row for each pair."""
    rows = [
        [pair.set, f"`{pair.name}`", f"{pair.ours:.5f}", f"{pair.best:.5f}", pair.package, f"{pair.ratio:.4f}"]
        for pair in found
    ]
    return table(["predictions", "calibrator", "calibrant", "best elsewhere", "which", "ratio"], rows)


def page(results: dict[str, Any]) -> str:
    """The whole text."""
    losses, measured = results["losses"], results["times"]
    found = list(pairs(losses))
    rows = [sum(entry["rows"]) for entry in losses.values()]
    close = sum(pair.ratio <= CLOSE for pair in found)
    load = max(entry["load"] for entry in measured.values())
    cores = next(iter(measured.values()))["cores"]
    busy = f" Other work ran on the machine (up to {load:.0f} tasks for {cores} cores)." if load > 1 else ""
    return TEXT.format(
        packages=", ".join(f"{name} {version}" for name, version in results["versions"].items()),
        sets=len(losses),
        least=f"{min(rows):,}",
        most=f"{max(rows):,}",
        pairs=len(found),
        close=close,
        by_map=by_map(found),
        exceptions=exceptions(found),
        undefined=undefined(losses),
        times=times(measured),
        busy=busy,
        own=own_losses(losses),
        every=every_pair(found),
    )


TEXT = """# Maps on real predictions

{sets} sets of predictions that others published (image classifiers, language models, forecasts of weather, games, recidivism and
solar flares, intensive care; {least} to {most} rows, 2 to 100 classes), each split in half at random: maps are fitted to one half, and the mean negative
log likelihood of the other is what counts here (a probability below 1e-12 counts as 1e-12). All packages get the same rows and the same
probabilities. Maps of one score are fitted to each class against the rest, and rows divided by their sum.

Beside calibrant: {packages}.

`experiments/calibrators.py` computes the losses, `experiments/calibrators_times.py` the times, and `experiments/calibrators_page.py` writes this page.

## The same map elsewhere

The ratio is calibrant's loss divided by the least loss of any other package's version of the same map: below 1, calibrant is better.
Of {pairs} pairs, {close} are within 1 % of the best or better.

{by_map}

`platt` has smoothed labels, as in the paper, of which scikit-learn has the only other version; with plain labels it is compared with the
three others. On `c100_wrn16_4_netcal` (100 classes, 5000 rows) smoothing costs 1.3 %: 0.9465 against 0.9342 with plain labels.
Rates outside [0, 1], which the spline elsewhere gives, are clipped. `matrix` here has a penalty chosen by cross-validation; the one elsewhere has none. For `ensemble_temperature` both minimise the Brier
score. Left out for time: `matrix`, `dirichlet`, `kernel`, `consistency` and `miscalibration_aware_temperature` above 20 classes, most other
packages there too, `near_isotonic` elsewhere above 2 classes.

### More than 1 % above the best

{exceptions}

### No fit

{undefined}

## What each map does

The change of the loss against the predictions as they are, over all sets. A small set (46 rows to fit in the smallest) punishes maps
with many parameters, and a single confident error counts 27.6 where a map gives a 0.

{own}

## Time

Seconds to fit one half of the rows and to predict the other, median of three turns in one process.{busy}

{times}

## Every pair

{every}
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(json.loads((HERE / "calibrators.json").read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
