"""Tables 2 and 3 with other networks: whole vectors and a temperature for CIFAR, confidences alone for ImageNet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import calibrant as cal
from experiments.reproductions.entropic_verdicts import (
    ANEW,
    FIXED,
    HELD,
    Published,
    Verdict,
    Ways,
    assessed,
    every_way,
    kept_inside,
    mean,
    rejections,
    score_rows,
    spread,
)
from experiments.reproductions.study import Part, Row, Table

Array = NDArray[Any]
STAGES = ("none", "temperature")
FORMS = {"ECD (eq. 15)": "true_vs_rest", "ECD (eq. 11)": "full"}


class Network(NamedTuple):
    """A set of predictions, and the network of the paper that is nearest to it."""

    set: str
    name: str
    nearest: str | None


NETWORKS = (
    Network("c10h_resnet110_kerrigan", "ResNet-110, CIFAR-10", "ResNet32"),
    Network("c10_vgg16_kumar", "VGG-16, CIFAR-10", "VGG-19"),
    Network("c10_lenet5_netcal", "LeNet-5, CIFAR-10", None),
    Network("c10h_cnn889_kerrigan", "small CNN, CIFAR-10", None),
    Network("c100_wrn16_4_netcal", "Wide ResNet-16-4, CIFAR-100", "ResNet32"),
)
IMAGENET = (
    Network("top1_in1k_resnet34_timm", "ResNet-34", "ResNet50"),
    Network("top1_in1k_resnet101_tv", "ResNet-101", "ResNet50"),
    Network("tcal_imagenet_resnet152", "ResNet-152", "ResNet50"),
    Network("top1_in1k_densenet161_tv", "DenseNet-161", None),
    Network("top1_in1k_tf_inception_v3_timm", "Inception-v3", None),
    Network("top1_in1k_efficientnet_b1_timm", "EfficientNet-B1", None),
    Network("top1_in1k_mixnet_m_timm", "MixNet-M", None),
    Network("top1_in1k_gluon_senet154_timm", "SENet-154", None),
)
# Tables 2 (none) and 3 (temperature): score, threshold, whether rejected, for ECE, MCE and ECD.
PUBLISHED = {
    ("CIFAR-10", "ResNet32", "none"): ((0.0490, 0.0056, True), (0.3476, 0.8631, False), (0.2830, 0.0452, True)),
    ("CIFAR-10", "VGG-19", "none"): ((0.0520, 0.0032, True), (0.4136, 0.6555, False), (0.3706, 0.0135, True)),
    ("CIFAR-100", "ResNet32", "none"): ((0.1444, 0.0112, True), (0.2725, 0.0342, True), (1.4324, 0.5181, True)),
    ("ImageNet", "ResNet50", "none"): ((0.4067, 0.0066, True), (0.4932, 0.0126, True), (0.8754, 4.1264, False)),
    ("CIFAR-10", "ResNet32", "temperature"): ((0.0173, 0.0077, True), (0.2884, 0.2180, True), (0.1485, 0.1231, True)),
    ("CIFAR-10", "VGG-19", "temperature"): ((0.0323, 0.0052, True), (0.1874, 0.7257, False), (0.1893, 0.0656, True)),
    ("CIFAR-100", "ResNet32", "temperature"): (
        (0.0310, 0.0144, True),
        (0.0776, 0.0246, True),
        (1.1259, 1.0507, True),
    ),
}


class Found(NamedTuple):
    """One split of one set at one stage."""

    ways: Ways
    forms: dict[str, Verdict]
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
    forms = {name: assessed(y, prob, "ecd", draws, seed, multiclass=form) for name, form in FORMS.items()}
    inside = kept_inside(prob, 1e-15)
    means = {name: expected(inside, form) for name, form in FORMS.items()}
    top = cal.ecd((prob.argmax(axis=1) == y).astype(int), kept_inside(prob.max(axis=1)))
    return Found(every_way(y, prob, draws, seed), forms, means, top, y, prob)


def measure(network: Network, folder: Path, splits: int, draws: int, most: int | None) -> Results:
    """Temperature from a fifth of the rows, everything measured on the rest; several such splits."""
    stored = np.load(folder / f"{network.set}.npz", allow_pickle=False)
    probs, labels = stored["probs"][:most].astype(np.float64), stored["labels"][:most].astype(np.int64)
    probs /= probs.sum(axis=1, keepdims=True)
    found: dict[str, list[Found]] = {stage: [] for stage in STAGES}
    temperatures = []
    for seed in range(splits):
        order = np.random.default_rng([11, seed]).permutation(len(labels))
        fit, test = np.split(order, [len(order) // 5])
        scaling = cal.TemperatureScaling().fit(probs[fit], labels[fit])
        temperatures.append(float(scaling.temperature_))
        for stage, prob in (("none", probs[test]), ("temperature", scaling.predict_proba(probs[test]))):
            found[stage].append(look(labels[test], prob, draws, seed))
    return Results(network, found, temperatures)


def table_rows(results: Results) -> list[Row]:
    """Scores and thresholds beside those of the nearest network of the paper."""
    data = results.network.name.split(", ")[1]
    rows: list[Row] = []
    for stage, found in results.found.items():
        published = PUBLISHED[data, results.network.nearest or "", stage]
        ours: dict[str, dict[str, Sequence[Verdict]]] = {
            metric: {f"bins {way}": [one.ways[way][metric] for one in found] for way in (HELD, ANEW)}
            for metric in ("ECE", "MCE")
        }
        ours |= {name: {"": [one.forms[name] for one in found]} for name in FORMS}
        for at, metric in enumerate(ours):
            printed = Published(*published[at]) if at < 3 else None
            what = f"{results.network.name}, {stage}: {metric}"
            rows += score_rows(what, printed, ours[metric], other=results.network.nearest or "")
    return rows


def centre_table(all_results: Sequence[Results]) -> Table:
    """Each form of ECD beside the value that calibrated labels would give it."""
    lines: list[list[Any]] = []
    for results in all_results:
        for stage, found in results.found.items():
            line: list[Any] = [results.network.name, stage]
            for name in FORMS:
                values, centre = (np.array(part) for part in zip(*_pairs(found, name), strict=True))
                line += [mean(values), mean(centre), mean(values - centre)]
            lines.append([*line, mean([one.top for one in found])])
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
    binned: dict[str, Verdict]
    first: Verdict
    lost: int


def look_at_confidences(network: Network, folder: Path, draws: int, most: int | None) -> Confident:
    """Everything that is asked of confidences alone."""
    right, confidence = confidences(network, folder, most)
    inside = kept_inside(confidence)
    found = every_way(right, inside, draws, 0, [HELD])[HELD]
    lost = int(((confidence >= 1) & (right == 0)).sum())
    return Confident(network, found, assessed(right, inside, "ecd", draws, 0), lost)


def imagenet_rows(found: Sequence[Confident]) -> list[Row]:
    """The residual networks beside the one of the paper."""
    rows: list[Row] = []
    for one in found:
        if one.network.nearest:
            for metric, printed in zip(
                ("ECE", "MCE"), PUBLISHED["ImageNet", one.network.nearest, "none"], strict=False
            ):
                what, ours = f"{one.network.name}: {metric}", {f"bins {HELD}": [one.binned[metric]]}
                rows += score_rows(what, Published(*printed), ours, other=one.network.nearest)
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
    figure = Figure(figsize=(3.4 * len(all_results), 3.6), layout="constrained")
    for ax, results in zip(np.atleast_1d(figure.subplots(1, len(all_results))), all_results, strict=True):
        ax.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1)
        for stage, found in results.found.items():
            table = cal.reliability_diagram(found[0].y, found[0].prob, bins=15, level=None).table
            full = table.rows >= 5
            rate = table.positives[full] / table.weight[full]
            label = "no map" if stage == "none" else "temperature"
            ax.plot(table.mean_score[full], rate, marker="o", markersize=4, label=label)
        ax.set(title=results.network.name, xlabel="mean confidence", ylabel="share right", aspect="equal")
        ax.title.set_fontsize(10)
        ax.legend(frameon=False)
    figure.savefig(path, dpi=110)


def temperature_text(all_results: Sequence[Results]) -> str:
    """The temperatures found."""
    said = []
    for results in all_results:
        wide = spread(results.temperatures)
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
                rejections([one.ways[way][metric] for one in found])
                for metric in ("ECE", "MCE")
                for way in found[0].ways
            ]
            lines.append([results.network.name, stage, *counts])
    heads = [f"{metric} rejects, bins {way}" for metric in ("ECE", "MCE") for way in (HELD, ANEW, FIXED)]
    return Table(["", "calibrator", *heads], lines)
