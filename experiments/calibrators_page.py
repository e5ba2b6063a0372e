"""The page on calibrators and real predictions, from the numbers in calibrators.json."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from experiments.rendering import markdown_table, render

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


def by_method(found: list[Pair]) -> str:
    """Ratios of each method over all data sets."""
    rows = []
    for name in dict.fromkeys(pair.name for pair in found):
        of = [pair for pair in found if pair.name == name]
        ratios = [pair.ratio for pair in of]
        packages = ", ".join(sorted({pair.package for pair in of}))
        within = sum(ratio <= CLOSE for ratio in ratios)
        numbers = [f"{value:.4f}" for value in (min(ratios), statistics.median(ratios), max(ratios))]
        rows.append([f"`{name}`", packages, str(len(of)), str(within), *numbers])
    return markdown_table(
        ["method", "best other package", "data sets", "within 1%", "smallest ratio", "median", "largest"], rows
    )


def exceptions(found: list[Pair]) -> str:
    """Pairs with a ratio above CLOSE."""
    rows = [
        [pair.set, f"`{pair.name}`", f"{pair.ours:.4f}", f"{pair.best:.4f}", pair.package, f"{pair.ratio:.3f}"]
        for pair in found
    ]
    head = ["data set", "method", "calibrant", "best other", "package", "ratio"]
    return markdown_table(head, rows) if rows else "None."


def undefined(losses: dict[str, Any]) -> str:
    """Fits that ended in an error."""
    rows = [
        [title, f"`{row['calibrator']}`", row.get("package", "calibrant"), row["undefined"].split("\n")[0]]
        for title, entry in losses.items()
        for row in [*entry["ours"], *entry["theirs"]]
        if "undefined" in row
    ]
    return markdown_table(["data set", "method", "package", "message"], rows) if rows else "None."


def own_losses(losses: dict[str, Any]) -> str:
    """Change of the loss relative to no recalibration for every method, in per cent."""
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
        numbers = [f"{value:+.1f}%" for value in (min(change), statistics.median(change), max(change))]
        rows.append([f"`{name}`", f"{better} of {len(change)}", *numbers])
    return markdown_table(["method", "lower loss", "best", "median", "worst"], rows)


def page(results: dict[str, Any]) -> str:
    """The whole text."""
    losses = results["losses"]
    found = list(pairs(losses))
    rows = [sum(entry["rows"]) for entry in losses.values()]
    above = [pair for pair in found if pair.ratio > CLOSE]
    values = {
        "packages": ", ".join(f"{name} {version}" for name, version in results["versions"].items()),
        "sets": len(losses),
        "least": f"{min(rows):,}",
        "most": f"{max(rows):,}",
        "pairs": len(found),
        "close": len(found) - len(above),
        "by_method": by_method(found),
        "exceptions": exceptions(above),
        "exceptional": list(dict.fromkeys(pair.name for pair in above)),
        "undefined": undefined(losses),
        "own": own_losses(losses),
    }
    return render("calibrators", values)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(json.loads((HERE / "calibrators.json").read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
