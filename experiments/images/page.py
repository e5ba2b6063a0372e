"""The page of the study from its numbers.

python -m experiments.images.page [--results results.json] [--out docs/reproductions/images.md]
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.images.claims import CLAIMS, Results, mean, moved, values, verdict
from experiments.images.measure import BINS, CLASSES, GROUPS, INTERVALS, NONE, RESULTS, SHARPER, TOP, load
from experiments.rendering import markdown_table, render
from experiments.reproductions.study import PAGES

NAMES = {"resnet": "ResNet", "vgg": "VGG"}
MODELS = {
    "base": "base (cross entropy)",
    "label_smoothing": "label smoothing 0.05",
    "mixup": "mixup 0.2",
    "focal": "focal loss, gamma 3",
    "flsd": "focal loss, FLSD-53",
    "mmce": "MMCE, weight 2",
    "dropout": "dropout 0.25, not sampled",
    "mc_dropout": "Monte Carlo dropout, 30 samples",
    "ensemble": "ensemble of 5",
}
PICTURE = "images_errors.png"
ARROWS = {-1: " ↓", 0: "", 1: " ↑"}


def cell(
    results: Results, model: str, after: str, key: str, place: int | None = None, scale: float = 100, digits: int = 2
) -> str:
    """Mean ± standard deviation, with an arrow for a clear difference from the base network."""
    found = [scale * one for one in values(results, model, after, key, place)]
    endless = sum(math.isinf(one) for one in found)
    if endless:
        text = "infinite" if endless == len(found) else f"infinite ({endless} of {len(found)})"
    else:
        text = f"{statistics.fmean(found):.{digits}f} ± {statistics.stdev(found):.{digits}f}"
    return text if (model, after) == ("base", NONE) else text + ARROWS[moved(results, (model, after), key, place)]


def safety(results: Results, model: str, after: str) -> str:
    """Verdict of the test of ECD: overconfident (unsafe), safe, or safe and underconfident, with the number of seeds."""
    found = results["measured"][model][after]
    over = sum(one["ecd"] > one["ecd_critical"] for one in found)
    under = sum(one["ecd"] < -one["ecd_critical"] for one in found)
    words = {"overconfident": over, "neither": len(found) - over - under, "underconfident": under}
    return ", ".join(f"{word} {count}" if count < len(found) else word for word, count in words.items() if count)


def lines(
    results: Results, columns: Sequence[tuple[Any, ...]], verdicts: bool = False, chance: bool = False
) -> list[list[str]]:
    """A line for each intervention and calibrator; with `chance` also that of drawn labels, where they were drawn."""
    found = []
    for model in MODELS:
        for after in results["measured"][model]:
            cells = [cell(results, model, after, *column) for column in columns]
            found.append([MODELS[model], after, *cells, *([safety(results, model, after)] if verdicts else [])])
            seeds = results["measured"][model][after]
            if chance and "chance" in seeds[0]:
                found.append(["", "by chance", *(drawn(seeds, *column) for column in columns)])
    return found


def drawn(seeds: Sequence[dict[str, Any]], key: str, place: int | None = None) -> str:
    """Mean over seeds of an error of drawn labels, in %."""
    parts = [one["chance"][key] for one in seeds]
    return f"{100 * statistics.fmean(one if place is None else one[place] for one in parts):.2f}"


def tables(
    networks: dict[str, Results],
    heads: Sequence[str],
    columns: Sequence[tuple[Any, ...]],
    *,
    verdicts: bool = False,
    chance: bool = False,
) -> str:
    """A table for each network."""
    found = []
    for name, results in networks.items():
        body = lines(results, columns, verdicts, chance)
        found += [f"**{NAMES[name]}**", markdown_table(["network", "calibrator", *heads], body)]
    return "\n\n".join(found)


def claims_table(networks: dict[str, Results]) -> str:
    """Each claim, its verdict and the numbers."""
    return markdown_table(
        ("paper", "claim", "here", "numbers"),
        [[claim.paper, claim.text, *verdict(claim, networks, NAMES)] for claim in CLAIMS],
    )


def best(results: Results, key: str, place: int | None = None) -> str:
    """The intervention and calibrator with the least mean."""
    every = [(model, after) for model in MODELS for after in results["measured"][model]]
    model, after = min(every, key=lambda one: mean(results, *one, key, place))
    value = mean(results, model, after, key, place)
    return f"{MODELS[model]}{'' if after == NONE else f' with {after}'} ({value:.4f})"


def network_values(name: str, results: Results) -> dict[str, Any]:
    """What the sentences of the page quote of one network: shares in per cent, gaps between confidence and accuracy in points."""
    base, tempered = results["measured"]["base"][NONE], results["measured"]["base"]["temperature"]
    crossed = [one["crossed"] for one in results["extras"]]
    ece = {model: percent(results["measured"][model][NONE], "ece") for model in MODELS}
    return {
        "name": NAMES[name],
        "trained": percent([{"accuracy": one} for one in results["train_accuracy"]["base"]], "accuracy"),
        "validation": percent(results["extras"], "validation_accuracy"),
        "accuracy": percent(base, "accuracy"),
        "confidence": percent(base, "confidence"),
        "nll": f"{mean(results, 'base', NONE, 'nll'):.4f}",
        "ece": ece,
        "best": [best(results, "nll"), best(results, "ece"), best(results, "top_k", len(TOP) - 1)],
        "gaps": [gap(seeds) for seeds in (tempered, crossed, results["calibrated_members"])],
        "ecd": [f"{statistics.fmean(one['ecd'] for one in seeds):.4f}" for seeds in (tempered, crossed)],
    }


def percent(seeds: Sequence[dict[str, Any]], key: str) -> str:
    """Mean of a share over seeds, in per cent."""
    return f"{100 * statistics.fmean(one[key] for one in seeds):.2f}"


def gap(seeds: Sequence[dict[str, Any]]) -> str:
    """Mean confidence less accuracy, in points."""
    return f"{100 * statistics.fmean(one['confidence'] - one['accuracy'] for one in seeds):+.2f}"


def ensembles_table(networks: dict[str, Results]) -> str:
    """Mutual information of right and wrong predictions, and how well it ranks them."""
    found = []
    for name, results in networks.items():
        for model, seeds in results["disagreement"].items():
            cells = [
                f"{statistics.fmean(one[key] for one in seeds):.4f}"
                for key in ("right", "wrong", "auroc_shared", "auroc_confidence")
            ]
            found.append([NAMES[name], MODELS[model], *cells])
    return markdown_table(
        ("network", "members", "right", "wrong", "AUROC of mutual information", "AUROC of confidence"), found
    )


def order_table(networks: dict[str, Results]) -> str:
    """Average first or calibrate first."""
    found = []
    for name, results in networks.items():
        rows = {
            "no temperature": results["measured"]["ensemble"][NONE],
            "each member has its temperature": results["calibrated_members"],
            "one temperature for the mean": results["measured"]["ensemble"]["temperature"],
        }
        for word, seeds in rows.items():
            gap = [100 * (one["confidence"] - one["accuracy"]) for one in seeds]
            cells = [f"{statistics.fmean(gap):+.2f} ± {statistics.stdev(gap):.2f}"]
            cells += [
                f"{statistics.fmean(scale * one[key] for one in seeds):.{digits}f}"
                for key, scale, digits in (("ece", 100, 2), ("nll", 1, 4))
            ]
            found.append([NAMES[name], word, *cells])
    return markdown_table(
        ("network", "ensemble", "confidence less accuracy, %", "traditional error, %", "log loss"), found
    )


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
                found = [[100 * one for one in values(results, model, after, *key)] for model in MODELS]
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
    penalties = ", ".join(f"{NAMES[name]} {one['penalty']:g}" for name, one in networks.items())
    bins = ", ".join(f"{NAMES[name]} {one['bins']}" for name, one in networks.items())
    groups = "; ".join(f"{name}: {', '.join(CLASSES[one] for one in members)}" for name, members in GROUPS.items())
    spans = [f"{low:g} to {high:g}" for low, high in INTERVALS]
    top = [(f"k = {k}" if k < 10 else "full", ("top_k", place)) for place, k in enumerate(TOP)]
    by_group = [("groups", ("group",)), *((name, ("by_group", place)) for place, name in enumerate(GROUPS))]
    intervals = [(f"outside, {span}", ("outside", place)) for place, span in enumerate(spans)]
    intervals += [(f"images, {span}", ("interval_rows", place)) for place, span in enumerate(spans[:3])]
    first = [
        ("accuracy, %", ("accuracy",)),
        ("confidence, %", ("confidence",)),
        ("log loss", ("nll", None, 1, 4)),
        ("traditional error, %", ("ece",)),
        ("ECD", ("ecd", None, 1, 4)),
    ]
    return render(
        "images",
        {
            "networks": [network_values(name, one) for name, one in networks.items()],
            "verdicts": [verdict(claim, networks, NAMES)[0] for claim in CLAIMS],
            "seeds": results["seeds"],
            "trained": min(one["networks_trained"] for one in networks.values()),
            "bins": bins,
            "penalties": penalties,
            "claims": claims_table(networks),
            "picture": PICTURE,
            "error_bins": BINS,
            "groups": groups,
            "accuracy_tables": tables(
                networks, [*(head for head, _ in first), "ECD verdict"], [column for _, column in first], verdicts=True
            ),
            "top_tables": tables(networks, [head for head, _ in top], [column for _, column in top], chance=True),
            "group_tables": tables(
                networks, [head for head, _ in by_group], [column for _, column in by_group], chance=True
            ),
            "interval_tables": tables(
                networks, [head for head, _ in intervals], [column for _, column in intervals], chance=True
            ),
            "ensembles_table": ensembles_table(networks),
            "order_table": order_table(networks),
            "factor": f"{SHARPER:g}",
        },
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, default=PAGES / "images.md")
    given = parser.parse_args(arguments)
    results = load(given.results)
    given.out.write_text(page(results), encoding="utf-8")
    draw(results["networks"], given.out.parent / PICTURE)


if __name__ == "__main__":
    main()
