"""The page on calibrators and real predictions, from the numbers in calibrators.json."""

import json
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from experiments.rendering import render

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "calibrators.md"
CLOSE = 1.01
# Sets of calibrators.py: 43 published ones, and those of calibrators_sets.py.
PLANNED = 91


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


def choices(losses: dict[str, Any]) -> list[dict[str, Any]]:
    """Mean regret to the best method of each set: of `auto`, of each single method that every set has, and of the best without `auto`."""
    tables = []
    for title, of in (
        ("all sets", lambda entry: True),
        ("two classes, fewer than 1000 rows", lambda entry: entry["classes"] == 2 and entry["rows"][0] < 1000),
        ("two classes, 1000 rows or more", lambda entry: entry["classes"] == 2 and entry["rows"][0] >= 1000),
        ("three or more classes", lambda entry: entry["classes"] > 2),
    ):
        entries = [entry for entry in losses.values() if "auto" in entry and of(entry)]
        own = [{row["calibrator"]: row for row in entry["ours"] if "loss" in row} for entry in entries]
        every = set.intersection(*(set(rows) for rows in own))
        regrets = {name: [rows[name]["loss"] - least(rows) for rows in own] for name in every}
        auto = [entry["auto"]["loss"] - least(rows) for entry, rows in zip(entries, own, strict=True)]
        ranks = {
            name: [sum(r["loss"] < rows[name]["loss"] for r in rows.values()) + 1 for rows in own] for name in every
        }
        means = sorted((statistics.fmean(values), name) for name, values in regrets.items())
        worse = [entry["auto"]["loss"] / rows["none"]["loss"] - 1 for entry, rows in zip(entries, own, strict=True)]
        tables.append(
            {
                "title": title,
                "sets": len(entries),
                "auto": [statistics.fmean(auto), max(auto)],
                "worse": [100 * statistics.fmean(worse), 100 * max(worse)],
                "seconds": statistics.median(entry["auto"]["seconds"] for entry in entries),
                "single": [
                    {
                        "name": name,
                        "regret": [mean, max(regrets[name])],
                        "rank": statistics.fmean(ranks[name]),
                        **{
                            key: statistics.fmean(rows[name][key] for rows in own)
                            for key in ("brier", "smece", "seconds")
                        },
                    }
                    for mean, name in means[:8] + [entry for entry in means[8:] if entry[1] == "none"]
                ],
            }
        )
    return tables


def least(rows: dict[str, Any]) -> float:
    """The least loss of a set."""
    return min(row["loss"] for row in rows.values())


def page(results: dict[str, Any]) -> str:
    """The whole text."""
    losses = {name: entry for name, entry in results["losses"].items() if entry["ours"]}
    found = list(pairs(losses))
    values = {
        "versions": results["versions"],
        "kinds": Counter(entry["kind"] for entry in losses.values()),
        "left": len(results["losses"]) - len(losses),
        "planned": PLANNED,
        "choices": choices(losses),
        "rows": [sum(entry["rows"]) for entry in losses.values()],
        "classes": [entry["classes"] for entry in losses.values()],
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
