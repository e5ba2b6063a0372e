"""The page of the study from its numbers.

python -m experiments.images.page [--results FOLDER] [--out docs/reproductions/images.md]
"""

import argparse
import math
import statistics
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from experiments.images.claims import (
    AFTER,
    BASE,
    CLAIMS,
    MODELS,
    Method,
    Results,
    average,
    mean,
    moved,
    values,
    verdict,
)
from experiments.images.measure import BINS, CLASSES, GROUPS, HERE, INTERVALS, NONE, SHARPER, TOP, load
from experiments.rendering import markdown_table, render
from experiments.reproductions.study import PAGES

NAMES = {"resnet": "ResNet", "vgg": "VGG"}
PICTURE = "images_errors.png"
ARROWS = {-1: " ↓", 0: "", 1: " ↑"}


def cell(
    results: Results, method: Method, key: str, place: int | None = None, scale: float = 100, digits: int = 2
) -> str:
    """Mean ± standard deviation, with an arrow for a clear difference from the base network."""
    found = [scale * one for one in values(results, method, key, place)]
    endless = sum(math.isinf(one) for one in found)
    if endless:
        text = "infinite" if endless == len(found) else f"infinite ({endless} of {len(found)})"
    else:
        text = f"{statistics.fmean(found):.{digits}f} ± {statistics.stdev(found):.{digits}f}"
    return text if method == BASE else text + ARROWS[moved(results, method, key, place)]


def safety(seeds: Sequence[dict[str, Any]]) -> str:
    """Verdict of the test of ECD: overconfident (unsafe), safe, or safe and underconfident, with the number of seeds."""
    over = sum(one["ecd"] > one["ecd_critical"] for one in seeds)
    under = sum(one["ecd"] < -one["ecd_critical"] for one in seeds)
    counts = {"overconfident": over, "neither": len(seeds) - over - under, "underconfident": under}
    return ", ".join(f"{name} {count}" if count < len(seeds) else name for name, count in counts.items() if count)


def tables(networks: dict[str, Results], columns: dict[str, tuple[Any, ...]], verdicts: bool) -> str:
    """A table for each network, with the verdict of ECD, or with a line of drawn labels where they were drawn."""
    found = []
    for name, results in networks.items():
        lines = []
        for model, after in product(MODELS, (NONE, *AFTER)):
            cells = [cell(results, (model, after), *column) for column in columns.values()]
            seeds = results["measured"][model][after]
            lines.append([MODELS[model], after, *cells, *([safety(seeds)] if verdicts else [])])
            if not verdicts and "chance ece" in seeds[0]:
                lines.append(["", "by chance", *(drawn(seeds, *column) for column in columns.values())])
        heads = ["network", "calibrator", *columns, *(["ECD verdict"] if verdicts else [])]
        found += [f"**{NAMES[name]}**", markdown_table(heads, lines)]
    return "\n\n".join(found)


def drawn(seeds: Sequence[dict[str, Any]], key: str, place: int | None = None) -> str:
    """Mean over seeds of an error of drawn labels, in %."""
    name = f"chance {key}" if place is None else f"chance {key} {place}"
    return f"{100 * average(seeds, name):.2f}"


def gap_deviation(seeds: Sequence[dict[str, Any]]) -> float:
    """Standard deviation over seeds of confidence less accuracy, in points."""
    return statistics.stdev(100 * (one["confidence"] - one["accuracy"]) for one in seeds)


def best(results: Results, key: str, place: int | None = None) -> str:
    """The intervention and calibrator with the least mean."""
    every = [(model, after) for model in MODELS for after in results["measured"][model]]
    model, after = min(every, key=lambda one: mean(results, one, key, place))
    value = mean(results, (model, after), key, place)
    return f"{MODELS[model]}{'' if after == NONE else f' with {after}'} ({value:.4f})"


def draw(networks: dict[str, Results], path: Path) -> None:
    """Traditional, full and group errors of each intervention, without a calibrator and with a temperature."""
    from experiments.reproductions.practical_pictures import COLORS, axes_of, finish

    kinds = {
        "traditional error, %": ("ece", None),
        "full error, %": ("top_k", len(TOP) - 1),
        "groups, %": ("group", None),
    }
    figure, axes = axes_of(len(networks), len(kinds), 9.0, 3.0 * len(networks))
    places = range(len(MODELS))
    for number, (name, results) in enumerate(networks.items()):
        for column, (title, key) in enumerate(kinds.items()):
            ax = axes[number * len(kinds) + column]
            for after, color, marker in ((NONE, COLORS[0], "o"), ("temperature", COLORS[1], "s")):
                found = [[100 * one for one in values(results, (model, after), *key)] for model in MODELS]
                middle, wide = [statistics.fmean(one) for one in found], [statistics.stdev(one) for one in found]
                label = "no calibrator" if after == NONE else after
                ax.errorbar(middle, places, xerr=wide, fmt=marker, color=color, markersize=4, capsize=2, label=label)
            ax.set(xlim=(0, None), xlabel=title if number == len(networks) - 1 else "")
            ax.set_yticks(places, MODELS.values() if column == 0 else [""] * len(MODELS))
            ax.invert_yaxis()
            ax.xaxis.label.set_fontsize(8)
            if column == 0:
                ax.set_title(NAMES[name], fontsize=9, loc="left")
    finish(figure, path, axes[0].get_legend_handles_labels(), 2)


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    networks: dict[str, Results] = results["networks"]
    spans = [f"{low:g} to {high:g}" for low, high in INTERVALS]
    columns: dict[str, dict[str, tuple[Any, ...]]] = {
        "accuracy": {
            "accuracy, %": ("accuracy",),
            "confidence, %": ("confidence",),
            "log loss": ("nll", None, 1, 4),
            "traditional error, %": ("ece",),
            "ECD": ("ecd", None, 1, 4),
        },
        "top": {f"k = {k}" if k < 10 else "full": ("top_k", place) for place, k in enumerate(TOP)},
        "groups": {"groups": ("group",)} | {name: ("by_group", place) for place, name in enumerate(GROUPS)},
        "intervals": {f"outside, {span}": ("outside", place) for place, span in enumerate(spans)}
        | {f"images, {span}": ("interval_rows", place) for place, span in enumerate(spans[:3])},
    }
    return render(
        "images",
        {
            "networks": networks,
            "names": NAMES,
            "models": MODELS,
            "average": average,
            "best": best,
            "gap_deviation": gap_deviation,
            "claims": [(claim["paper"], claim["text"], *verdict(claim, networks, NAMES)) for claim in CLAIMS],
            "seeds": results["seeds"],
            "trained": min(one["networks_trained"] for one in networks.values()),
            "picture": PICTURE,
            "error_bins": BINS,
            "groups": {name: ", ".join(CLASSES[one] for one in members) for name, members in GROUPS.items()},
            "last": len(TOP) - 1,
            "tables": {name: tables(networks, shown, name == "accuracy") for name, shown in columns.items()},
            "factor": f"{SHARPER:g}",
        },
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--results", type=Path, default=HERE, help="folder of the numbers")
    parser.add_argument("--out", type=Path, default=PAGES / "images.md")
    given = parser.parse_args(arguments)
    results = load(given.results)
    given.out.write_text(page(results), encoding="utf-8")
    draw(results["networks"], given.out.parent / PICTURE)


if __name__ == "__main__":
    main()
