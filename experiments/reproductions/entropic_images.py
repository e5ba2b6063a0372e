"""Tables 2 and 3 with other networks: whole vectors and a temperature for CIFAR, confidences alone for ImageNet."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant.util.arrays import Array
from experiments.published import probabilities_of
from experiments.reproductions import entropic_verdicts as verdicts
from experiments.reproductions.entropic_rows import FACTS
from experiments.reproductions.study import Part, Row, Table

STAGES = ("none", "temperature")
FORMS = {"ECD (eq. 15)": "true_vs_rest", "ECD (eq. 11)": "full"}


class Network(NamedTuple):
    """A set of predictions, and the network of the paper that is nearest to it."""

    set: str
    name: str
    nearest: str | None = None


NETWORKS, IMAGENET = (tuple(Network(**facts) for facts in FACTS[name]) for name in ("networks", "imagenet"))
PUBLISHED = {tuple(name.split(", ")): values for name, values in FACTS["images"].items()}


class Found(NamedTuple):
    """One split of one set at one stage."""

    ways: verdicts.Ways
    forms: dict[str, verdicts.Verdict]
    """Each form of ECD."""
    calibrated: dict[str, float]
    """The mean of each form of ECD over labels drawn from the scores."""
    top: float
    """ECD of the question whether the first choice is right."""
    y: Array
    prob: Array


class Results(NamedTuple):
    """All splits of one set."""

    network: Network
    found: dict[str, list[Found]]
    temperatures: list[float]


def expected(prob: Array, form: str) -> float:
    """The mean of ECD over labels drawn from the scores, in closed form; 0 for equation 11 whatever the scores."""
    if form == "full":
        return 0.0
    odds = np.log(prob) - np.log1p(-prob)
    return float((prob * (prob - 1) * odds).sum(axis=1).mean())


def look(y: Array, prob: Array, draws: int, seed: int) -> Found:
    """Everything that is asked of one set of vectors."""
    forms = {name: verdicts.assessed(y, prob, "ecd", draws, seed, multiclass=form) for name, form in FORMS.items()}
    inside = verdicts.kept_inside(prob, 1e-15)
    means = {name: expected(inside, form) for name, form in FORMS.items()}
    top = cal.ecd((prob.argmax(axis=1) == y).astype(int), verdicts.kept_inside(prob.max(axis=1)))
    return Found(verdicts.every_way(y, prob, draws, seed), forms, means, top, y, prob)


def halves(network: Network, folder: Path, splits: int, most: int | None) -> Iterator[tuple[Array, ...]]:
    """Probabilities and labels of a fifth of the rows, and those of the rest; several such splits."""
    stored = np.load(folder / f"{network.set}.npz", allow_pickle=False)
    probs, labels = probabilities_of(stored)[:most], stored["labels"][:most].astype(np.int64)
    for seed in range(splits):
        order = np.random.default_rng([11, seed]).permutation(len(labels))
        fit, test = np.split(order, [len(order) // 5])
        yield probs[fit], labels[fit], probs[test], labels[test]


def measure(network: Network, folder: Path, splits: int, draws: int, most: int | None) -> Results:
    """Temperature from a fifth of the rows, everything measured on the rest."""
    found: dict[str, list[Found]] = {stage: [] for stage in STAGES}
    temperatures = []
    for seed, (fit, fit_labels, test, labels) in enumerate(halves(network, folder, splits, most)):
        scaling = cal.TemperatureScaling().fit(fit, fit_labels)
        temperatures.append(float(scaling.temperature_))
        for stage, prob in (("none", test), ("temperature", scaling.predict_proba(test))):
            found[stage].append(look(labels, prob, draws, seed))
    return Results(network, found, temperatures)


def table_rows(results: Results) -> list[Row]:
    """Scores and thresholds beside those of the nearest network of the paper."""
    data = results.network.name.split(", ")[1]
    rows: list[Row] = []
    for stage, found in results.found.items():
        published = PUBLISHED[data, results.network.nearest or "", stage]
        ours: dict[str, dict[str, Sequence[verdicts.Verdict]]] = {
            metric: {f"bins {way}": [one.ways[way][metric] for one in found] for way in (verdicts.HELD, verdicts.ANEW)}
            for metric in ("ECE", "MCE")
        }
        ours |= {name: {"": [one.forms[name] for one in found]} for name in FORMS}
        for at, metric in enumerate(ours):
            printed = verdicts.Published(*published[at]) if at < 3 else None
            what = f"{results.network.name}, {stage}: {metric}"
            rows += verdicts.score_rows(what, printed, ours[metric], other=results.network.nearest or "")
    return rows


def centre_table(all_results: Sequence[Results]) -> Table:
    """Each form of ECD beside the value that calibrated labels would give it."""
    lines: list[list[Any]] = []
    for results in all_results:
        for stage, found in results.found.items():
            line: list[Any] = [results.network.name, stage]
            for name in FORMS:
                values, centre = (np.array(part) for part in zip(*_pairs(found, name), strict=True))
                line += [verdicts.mean(values), verdicts.mean(centre), verdicts.mean(values - centre)]
            lines.append([*line, verdicts.mean([one.top for one in found])])
    heads = [f"{name}{what}" for name in FORMS for what in ("", ", if calibrated", ", excess")]
    return Table(["", "calibrator", *heads, "ECD of the first choice (eq. 14)"], lines)


def _pairs(found: Sequence[Found], name: str) -> list[tuple[float, float]]:
    return [(one.forms[name].score, one.calibrated[name]) for one in found]


def confidences(network: Network, folder: Path, most: int | None) -> tuple[Array, Array]:
    """Whether the first choice was right, and its confidence."""
    stored = np.load(folder / f"{network.set}.npz", allow_pickle=False)
    right = stored["correct"] if "correct" in stored else stored["pred"] == stored["label"]
    return right[:most].astype(int), stored["confidence"][:most].astype(np.float64)


class Confident(NamedTuple):
    """One ImageNet network: ECE, MCE, ECD of whether the first choice is right, and how many rows make it infinite."""

    network: Network
    binned: dict[str, verdicts.Verdict]
    first: verdicts.Verdict
    lost: int


def look_at_confidences(network: Network, folder: Path, draws: int, most: int | None) -> Confident:
    """Everything that is asked of confidences alone."""
    right, confidence = confidences(network, folder, most)
    inside = verdicts.kept_inside(confidence)
    found = verdicts.every_way(right, inside, draws, 0, [verdicts.HELD])[verdicts.HELD]
    lost = int(((confidence >= 1) & (right == 0)).sum())
    return Confident(network, found, verdicts.assessed(right, inside, "ecd", draws, 0), lost)


def imagenet_rows(found: Sequence[Confident]) -> list[Row]:
    """The residual networks beside the one of the paper."""
    rows: list[Row] = []
    for one in found:
        if one.network.nearest:
            for metric, printed in zip(
                ("ECE", "MCE"), PUBLISHED["ImageNet", one.network.nearest, "none"], strict=False
            ):
                what, ours = f"{one.network.name}: {metric}", {f"bins {verdicts.HELD}": [one.binned[metric]]}
                rows += verdicts.score_rows(what, verdicts.Published(*printed), ours, other=one.network.nearest)
    return rows


def imagenet_table(found: Sequence[Confident]) -> Table:
    """All networks: what confidences tell."""
    heads = [
        f"{name}{what}" for name in ("ECE", "MCE", "ECD of the first choice") for what in ("", " threshold", " H0")
    ]
    lines: list[list[Any]] = []
    for one in found:
        line: list[Any] = [one.network.name]
        for verdict in (one.binned["ECE"], one.binned["MCE"], one.first):
            line += [verdict.score, verdict.threshold, "rejected" if verdict.rejected else "accepted"]
        lines.append([*line, one.lost])
    return Table(["", *heads, "wrong at confidence 1"], lines)


def draw(all_results: Sequence[Results], path: Path) -> None:
    """Reliability of the first choice before and after, the first split."""
    panels = {
        results.network.name: {stage: found[0] for stage, found in results.found.items()} for results in all_results
    }
    axes = {"xlabel": "mean confidence", "ylabel": "share right"}
    verdicts.draw_reliability(panels, path, (3.4 * len(panels), 3.6), bins=15, least=5, **axes)


def temperature_text(all_results: Sequence[Results]) -> str:
    """The temperatures found."""
    said = []
    for results in all_results:
        wide = verdicts.spread(results.temperatures)
        said.append(f"{results.network.name} {np.mean(results.temperatures):.3f}" + (f" ± {wide:.3f}" if wide else ""))
    return "; ".join(said)


def run(small: bool, folder: Path) -> list[Results]:
    """All sets with whole vectors."""
    networks = (NETWORKS[1], NETWORKS[4]) if small else NETWORKS
    return [measure(network, folder, *((2, 19, 600) if small else (5, 99, None))) for network in networks]


def parts(small: bool, all_results: Sequence[Results], folder: Path, pictures: Path) -> list[Part]:
    """Tables 2 and 3, and what can be said of ImageNet."""
    near = [results for results in all_results if results.network.nearest]
    draw(near, pictures / "entropic_images.png")
    rows = [row for results in near for row in table_rows(results)]
    caption = "Reliability of the first choice before and after the temperature, first split; bins of 5 rows and more."
    tables = [centre_table(all_results), ways_table(all_results)]
    shown = [("entropic_images.png", caption)]
    first = Part("images", rows, tables, shown, {"temperatures": temperature_text(all_results)})
    limits = (19, 500) if small else (99, None)
    found = [look_at_confidences(network, folder, *limits) for network in IMAGENET[: 3 if small else None]]
    confident = Part("imagenet", imagenet_rows(found), [imagenet_table(found)])
    return [first, confident]


def ways_table(all_results: Sequence[Results]) -> Table:
    """How often ECE and MCE reject, for each way to come to a number of bins."""
    lines: list[list[Any]] = []
    for results in all_results:
        for stage, found in results.found.items():
            counts = [
                verdicts.rejections([one.ways[way][metric] for one in found])
                for metric in ("ECE", "MCE")
                for way in found[0].ways
            ]
            lines.append([results.network.name, stage, *counts])
    heads = [
        f"{metric} rejects, bins {way}"
        for metric in ("ECE", "MCE")
        for way in (verdicts.HELD, verdicts.ANEW, verdicts.FIXED)
    ]
    return Table(["", "calibrator", *heads], lines)
