"""Every number of the page from the stored outputs: each intervention, then each calibrator after it.

python -m experiments.images.measure FOLDER [--seeds 5] [--out results.json]
"""

import argparse
import json
import math
import re
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

import calibrant as cal
from calibrant.errors import InSampleWarning
from calibrant.figures.classgroups import group_error_diagram
from calibrant.figures.intervals import inside
from calibrant.figures.topk import topk_diagram
from experiments.images import stored as store
from experiments.reproductions.practical_sets import untied

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
Floats = NDArray[np.float64]
CLASSES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
GROUPS = {"tops": [0, 2, 4, 6], "trousers": [1], "dresses": [3], "shoes": [5, 7, 9], "bags": [8]}
SHIRT = CLASSES.index("shirt")
TOP = (1, 2, 3, 5, 10)
INTERVALS = ((0.0, 0.33), (0.33, 0.66), (0.66, 1.0), (0.0, 0.8), (0.9, 1.0))
NONE = "none"
GAMMA, BINS, DRAWS = 0.1, 15, 99
MASS_BINS = (15, 30, 60, 120)
SHARPER = 1.25
"""Calibrated logits are multiplied and divided by this to compare over- with underconfidence."""


def calibrators(penalty: float, bins: int) -> dict[str, Callable[[], cal.recalibration.Calibrator]]:
    """What is fitted to the validation images."""
    return {
        "temperature": lambda: cal.TemperatureScaling(input="logit"),
        "bias-corrected temperature": lambda: cal.BiasCorrectedTemperature(input="logit"),
        "histogram binning": lambda: cal.HistogramBinning(input="logit", binning="equal_mass", bins=bins),
        "Dirichlet": lambda: cal.DirichletCalibration(input="logit", off_diagonal=penalty),
    }


def chosen_bins(one: store.Outputs, held: Any, folds: int = 5) -> int:
    """Bins of the least traditional error among those that lose at most five points of accuracy, by cross-validation."""
    fold = np.empty(len(held), int)
    fold[np.argsort(held, kind="stable")] = np.arange(len(held)) % folds
    accuracy = (one.validation.argmax(axis=1) == held).mean()
    found = {}
    for bins in MASS_BINS:
        probs = np.empty_like(one.validation)
        for number in range(folds):
            inner = fold == number
            fitted = cal.HistogramBinning(input="logit", binning="equal_mass", bins=bins)
            fitted.fit(one.validation[~inner], held[~inner])
            probs[inner] = fitted.predict_proba(one.validation[inner])
        if (probs.argmax(axis=1) == held).mean() >= accuracy - 0.05:
            found[bins] = cal.ece(held, probs, lens="top_label", bins=BINS)
    return min(found, key=lambda bins: found[bins])


def measure(labels: Any, probs: Floats, seed: int, *, chance: bool = False) -> dict[str, Any]:
    """All numbers of one model on the test images; `chance` adds the errors of labels drawn from the probabilities."""
    p = cal.Predictions(labels, probs)
    apart = untied(p)
    shown = topk_diagram(p, k=TOP, metric="ece", lens="within_top")["model"]
    tested = cal.assess_many(p, metrics=["ece", "mce"], lens="top_label", bins=BINS, n_resamples=DRAWS, rng=seed)
    safe = cal.assess(p, metric="ecd", multiclass="full")
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(probs > 0, probs * np.log(probs), 0).sum(axis=1).mean()
    return {
        "accuracy": float(shown.accuracy[0]),
        "confidence": float(shown.confidence[0]),
        "entropy": float(entropy),
        "nll": cal.nll(p),
        "ece": tested["ece"].statistic,
        "ece_critical": tested["ece"].critical_value,
        "mce": tested["mce"].statistic,
        "mce_critical": tested["mce"].critical_value,
        "ecd": safe.statistic,
        "ecd_critical": safe.critical_value,
        "rank_confidence": shown.rank_confidence.tolist(),
        "rank_rate": shown.rank_rate.tolist(),
        **errors(apart),
        **({"chance": by_chance(apart, seed)} if chance else {}),
        **by_interval(labels, probs),
    }


def errors(apart: cal.Predictions) -> dict[str, Any]:
    """Errors of the k likeliest classes, of all classes and of groups, with cells of a k-d tree."""
    tree: dict[str, Any] = {"binning": cal.KDTree(gamma=GAMMA)}
    shown = group_error_diagram(apart, hierarchy=GROUPS, level=1, rows="label", **tree)
    top = topk_diagram(apart, k=TOP[:-1], metric="gece", **tree)["model"].error.tolist()
    return {
        "top_k": [*top, cal.gece(apart, lens="canonical", **tree)],
        "group": float(shown.level_errors["model"][0]),
        "by_group": shown.group_errors["model"].tolist(),
    }


def by_chance(apart: cal.Predictions, seed: int) -> dict[str, Any]:
    """The same errors with labels drawn from the probabilities."""
    probs = np.asarray(apart.probs, dtype=np.float64)
    edges = np.cumsum(probs, axis=1)
    edges[:, -1] = 1
    draw = np.random.default_rng([3, seed, zlib.crc32(np.ascontiguousarray(probs))])  # others for every model
    drawn = (draw.random((len(probs), 1)) >= edges).sum(axis=1)
    again = cal.Predictions(drawn, probs)
    return {
        **errors(again),
        **by_interval(drawn, probs),
        "ece": cal.ece(again, lens="top_label", bins=BINS),
        "ecd": cal.ecd(again),
    }


def by_interval(labels: Any, probs: Floats) -> dict[str, list[float]]:
    """For P(shirt): the share of images in each interval, and how far rates of bins lie outside of it, weighted by rows."""
    score, outcome = np.clip(probs[:, SHIRT], 0, 1), (labels == SHIRT).astype(int)
    rows, outside = [], []
    for low, high in INTERVALS:
        held = inside(score, low, high)
        count = int(held.sum())
        rows.append(count / len(score))
        options: dict[str, Any] = {"distance": "interval", "interval": (low, high), "lens": "binary"}
        options |= {"binning": "equal_mass", "bins": max(1, min(10, count // 100))}
        outside.append(cal.gece(outcome[held], score[held], **options) if count else 0.0)
    return {"interval_rows": rows, "outside": outside}


def extras(labels: Any, base: store.Outputs, held: Any, seed: int) -> dict[str, Any]:
    """Of a base network: ECD of equation 15 as published; ECD of sharper and softer forecasts, as seen and as expected if
    the temperature calibrates, with the gap of the mean confidence; and what a temperature from test images does."""
    fitted = cal.TemperatureScaling(input="logit").fit(base.validation, held)
    found: dict[str, Any] = {"temperature": float(fitted.temperature_)}
    calibrated = base.test / fitted.temperature_
    for name, scores in (("none", base.test), ("temperature", calibrated)):
        probs = np.clip(store.probabilities(scores), 1e-7, 1 - 1e-7)
        probs /= probs.sum(axis=1, keepdims=True)
        options: dict[str, Any] = {"metric": "ecd", "multiclass": "true_vs_rest", "method": "resampled_scores"}
        tested = cal.assess(labels, probs, n_resamples=39, exact=True, rng=seed, **options)
        odds = np.log(probs) - np.log1p(-probs)
        expected = float((probs * (probs - 1) * odds).sum(axis=1).mean())
        found[f"eq15_{name}"] = [tested.statistic, tested.critical_value, expected]
    true = store.probabilities(calibrated)
    for name, factor in (("sharper", SHARPER), ("softer", 1 / SHARPER)):
        shown = store.probabilities(calibrated * factor)
        expected = float(((shown - true) * np.log(shown)).sum(axis=1).mean())
        gap = float((shown.max(axis=1) - true.max(axis=1)).mean())
        found[name] = [cal.ecd(labels, shown), expected, gap]
    found["validation_accuracy"] = float((base.validation.argmax(axis=1) == held).mean())
    found["crossed"] = crossed(labels, base, seed)
    return found


def crossed(labels: Any, base: store.Outputs, seed: int) -> dict[str, Any]:
    """ECE and ECD with a temperature that is fitted to one half of the test images and applied to the other."""
    half = np.random.default_rng([4, seed]).permutation(len(labels)) % 2 == 0
    probs = np.empty_like(base.test)
    for side in (half, ~half):
        fitted = cal.TemperatureScaling(input="logit").fit(base.test[~side], labels[~side])
        probs[side] = fitted.predict_proba(base.test[side])
    found = measure(labels, probs, seed)
    return {key: found[key] for key in ("ece", "ece_critical", "ecd", "ecd_critical", "confidence", "accuracy")}


def calibrated_members(members: Sequence[store.Outputs], held: Any) -> Floats:
    """Mean of the members' probabilities, each with its own temperature."""
    each = []
    for member in members:
        fitted = cal.TemperatureScaling(input="logit").fit(member.validation, held)
        each.append(store.probabilities(member.test / fitted.temperature_))
    return np.mean(each, axis=0)


def disagreement(labels: Any, outputs: store.Outputs) -> dict[str, float]:
    """Mean mutual information of right and wrong predictions, and how well it and the confidence rank them."""
    probs = store.probabilities(outputs.test)
    wrong = probs.argmax(axis=1) != labels
    shared = np.maximum(outputs.shared, 0)
    return {
        "right": float(shared[~wrong].mean()),
        "wrong": float(shared[wrong].mean()),
        "auroc_shared": ranked(shared, wrong),
        "auroc_confidence": ranked(-probs.max(axis=1), wrong),
    }


def ranked(score: Floats, positive: Any) -> float:
    """Probability that a positive row has the higher score; ties count one half."""
    return float(mannwhitneyu(score[positive], score[~positive]).statistic / (positive.sum() * (~positive).sum()))


def everything(folder: Path, seeds: int = store.SEEDS) -> dict[str, Any]:
    """All numbers of all networks."""
    stored = np.load(folder / store.LABELS)
    held, labels = stored["validation"].astype(int), stored["test"].astype(int)
    start = time.perf_counter()
    found: dict[str, Any] = {"rows": {"validation": len(held), "test": len(labels)}, "seeds": seeds, "networks": {}}
    for network in store.NETWORKS:
        count = len(list(folder.glob(f"{network}-base-*.npz")))
        bases = [store.read(folder, store.Training(network, "base", seed)) for seed in range(count)]
        groups = store.members_of(count)[:seeds]
        searched = cal.DirichletCalibration(input="logit").fit(bases[0].validation, held)
        bins = chosen_bins(bases[0], held)
        models: dict[str, list[store.Outputs]] = {"base": bases[:seeds]}
        for name in store.INTERVENTIONS[1:]:
            models[name] = [store.read(folder, store.Training(network, name, seed)) for seed in range(seeds)]
        models["dropout"] = [
            store.read(folder, store.Training(network, "mc_dropout", seed), "_fixed") for seed in range(seeds)
        ]
        models["ensemble"] = [store.ensemble([bases[at] for at in group]) for group in groups]
        measured: dict[str, Any] = {}
        for name, outputs in models.items():
            measured[name] = measure_model(
                outputs, held, labels, calibrators(searched.penalty_, bins), chance=name == "base"
            )
            print(f"{network} {name}: {time.perf_counter() - start:.0f} s", flush=True)
        means = [calibrated_members([bases[at] for at in group], held) for group in groups]
        found["networks"][network] = {
            "networks_trained": count,
            "members": groups,
            "penalty": searched.penalty_,
            "bins": bins,
            "train_accuracy": {name: train_accuracies(folder, network, name, seeds) for name in store.INTERVENTIONS},
            "measured": measured,
            "extras": [extras(labels, one, held, seed) for seed, one in enumerate(models["base"])],
            "calibrated_members": [measure(labels, probs, seed) for seed, probs in enumerate(means)],
            "disagreement": {
                name: [disagreement(labels, one) for one in models[name]] for name in ("ensemble", "mc_dropout")
            },
        }
    return plainly(found)


def train_accuracies(folder: Path, network: str, name: str, seeds: int) -> list[float]:
    """Accuracy on the training images, for each seed."""
    files = [folder / store.Training(network, name, seed).file for seed in range(seeds)]
    return [float(np.load(file)["train_accuracy"]) for file in files]


def measure_model(
    outputs: Sequence[store.Outputs],
    held: Any,
    labels: Any,
    after: dict[str, Callable[[], cal.recalibration.Calibrator]],
    *,
    chance: bool,
) -> dict[str, list[dict[str, Any]]]:
    """The numbers of each seed, without and with each calibrator; errors of drawn labels with calibrators if `chance`."""
    found = {
        NONE: [measure(labels, store.probabilities(one.test), seed, chance=True) for seed, one in enumerate(outputs)]
    }
    for name, make in after.items():
        found[name] = []
        for seed, one in enumerate(outputs):
            fitted = make().fit(one.validation, held)
            found[name].append(measure(labels, fitted.predict_proba(one.test), seed, chance=chance))
    return found


def plainly(value: Any) -> Any:
    """Five digits, and words for numbers that JSON has not."""
    if isinstance(value, dict):
        return {str(key): plainly(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plainly(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else str(value)
    return value


def load(path: Path = RESULTS) -> dict[str, Any]:
    """The numbers that were written, with infinite ones as numbers."""
    text = re.sub(r'"(-?)inf"', r"\1Infinity", path.read_text(encoding="utf-8"))
    found: dict[str, Any] = json.loads(text.replace('"nan"', "NaN"))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="what experiments.images.train stored")
    parser.add_argument("--seeds", type=int, default=store.SEEDS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", InSampleWarning)
    found = everything(given.folder, given.seeds)
    given.out.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
