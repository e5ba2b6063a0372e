"""The page on calibrators and real predictions, from the numbers in calibrators.json."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from experiments.rendering import render

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "calibrators.md"
CLOSE = 1.01


class Pair(NamedTuple):
    """A method on a data set: the loss of calibrant, and the least loss of another package."""

    name: str
    set: str
    ours: float
    best: float
    package: str

    @property
    def ratio(self) -> float:
        return self.ours / self.best


def pairs(losses: dict[str, Any]) -> Iterator[Pair]:
    """All methods and data sets for which another package has the same method."""
    for title, entry in losses.items():
        ours = {row["calibrator"]: row["loss"] for row in entry["ours"] if "loss" in row}
        theirs: dict[str, list[tuple[float, str]]] = {}
        for row in entry["theirs"]:
            if "loss" in row:
                theirs.setdefault(row["calibrator"], []).append((row["loss"], row["package"]))
        for name, found in theirs.items():
            if name in ours:
                yield Pair(name, title, ours[name], *min(found))


def by_method(found: list[Pair]) -> Iterator[dict[str, Any]]:
    """Ratios of each method over all data sets."""
    for name in dict.fromkeys(pair.name for pair in found):
        of = [pair for pair in found if pair.name == name]
        ratios = [pair.ratio for pair in of]
        yield {
            "name": name,
            "packages": sorted({pair.package for pair in of}),
            "sets": len(of),
            "close": sum(ratio <= CLOSE for ratio in ratios),
            "ratios": [min(ratios), statistics.median(ratios), max(ratios)],
        }


def own_losses(losses: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Change of the loss relative to no recalibration for every method, in per cent."""
    ours = [{row["calibrator"]: row["loss"] for row in entry["ours"] if "loss" in row} for entry in losses.values()]
    for name in dict.fromkeys(row["calibrator"] for entry in losses.values() for row in entry["ours"]):
        change = [100 * (of[name] / of["none"] - 1) for of in ours if name in of]
        if name != "none":
            ends = [min(change), statistics.median(change), max(change)]
            yield {"name": name, "better": sum(value < 0 for value in change), "sets": len(change), "change": ends}


def page(results: dict[str, Any]) -> str:
    """The whole text."""
    losses = results["losses"]
    found = list(pairs(losses))
    values = {
        "versions": results["versions"],
        "rows": [sum(entry["rows"]) for entry in losses.values()],
        "pairs": len(found),
        "by_method": by_method(found),
        "exceptions": [pair for pair in found if pair.ratio > CLOSE],
        "undefined": [
            (title, row)
            for title, entry in losses.items()
            for row in [*entry["ours"], *entry["theirs"]]
            if "undefined" in row
        ],
        "own": own_losses(losses),
    }
    return render("calibrators", values)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(json.loads((HERE / "calibrators.json").read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
