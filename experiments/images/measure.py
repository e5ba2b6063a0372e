"""Every number of the page from the stored outputs: each intervention, then each calibrator after it.

Of each network, all trainings, calibrators and numbers are one call of `cal.study`, which keeps what it has in the folder and continues there.

python -m experiments.images.measure FOLDER [--seeds 5] [--out FOLDER]
"""

import argparse
import json
import shutil
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr
from scipy.stats import mannwhitneyu

import calibrant as cal
from calibrant.errors import InSampleWarning
from calibrant.figures.classgroups import group_error_diagram
from calibrant.figures.intervals import inside
from calibrant.figures.topk import topk_diagram
from calibrant.util.arrays import Floats
from experiments.images import stored as store
from experiments.reproductions.practical_sets import Rows, histogram_folds, untied
from experiments.studies import draw_labels

HERE = Path(__file__).parent
RESULTS, MEASURED = "results.json", "measured.jsonl"
CLASSES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
GROUPS = {"tops": [0, 2, 4, 6], "trousers": [1], "dresses": [3], "shoes": [5, 7, 9], "bags": [8]}
SHIRT = CLASSES.index("shirt")
TOP = (1, 2, 3, 5, 10)
INTERVALS = ((0.0, 0.33), (0.33, 0.66), (0.66, 1.0), (0.0, 0.8), (0.9, 1.0))
NONE = "none"
MODELS = ("base", *store.INTERVENTIONS[1:], "dropout", "ensemble")
GAMMA, BINS, DRAWS = 0.1, 15, 99
MASS_BINS = (15, 30, 60, 120)
SHARPER = 1.25
"""Calibrated logits are multiplied and divided by this to compare over- with underconfidence."""


def interventions(penalty: float, bins: int) -> dict[str, cal.recalibration.Calibrator | None]:
    """What is fitted to the validation images, after none."""
    return {
        NONE: None,
        "temperature": cal.TemperatureScaling(input="logit"),
        "bias-corrected temperature": cal.BiasCorrectedTemperature(input="logit"),
        "histogram binning": cal.HistogramBinning(input="logit", binning="equal_mass", bins=bins),
        "Dirichlet": cal.DirichletCalibration(input="logit", off_diagonal=penalty),
    }


def chosen_bins(one: store.Outputs, held: Any, folds: int = 5) -> int:
    """Bins of the least traditional error among those that lose at most five points of accuracy, by cross-validation."""
    rows = Rows(held, store.probabilities(one.validation))
    accuracy = (one.validation.argmax(axis=1) == held).mean()
    found = {}
    for bins in MASS_BINS:
        probs = histogram_folds(rows, bins, "equal_mass", folds)
        if (probs.argmax(axis=1) == held).mean() >= accuracy - 0.05:
            found[bins] = cal.ece(held, probs, lens="top_label", bins=BINS)
    return min(found, key=lambda bins: found[bins])


def measure(p: cal.Predictions) -> dict[str, float]:
    """All numbers of one model on the test images, with errors of labels drawn from the probabilities; five digits."""
    apart = untied(p)
    found = plain_numbers(p) | errors(apart) | by_interval(p.labels, p.probs)
    found |= {f"chance {name}": value for name, value in by_chance(apart).items()}
    return {name: float(f"{value:.5g}") for name, value in found.items()}


def plain_numbers(p: cal.Predictions) -> dict[str, float]:
    """Accuracy, proper scores, and errors with their critical values."""
    shown = topk_diagram(p, k=TOP, metric="ece", lens="within_top")["model"]
    tested = cal.assess_many(p, metrics=["ece", "mce"], lens="top_label", bins=BINS, n_resamples=DRAWS)
    safe = cal.assess(p, metric="ecd", multiclass="full")
    return {
        "accuracy": shown.accuracy[0],
        "confidence": shown.confidence[0],
        "entropy": entr(p.probs).sum(axis=1).mean(),
        "nll": cal.nll(p),
        "ece": tested["ece"].statistic,
        "ece_critical": tested["ece"].critical_value,
        "mce": tested["mce"].statistic,
        "mce_critical": tested["mce"].critical_value,
        "ecd": safe.statistic,
        "ecd_critical": safe.critical_value,
        **numbered("rank_confidence", shown.rank_confidence),
        **numbered("rank_rate", shown.rank_rate),
    }


def numbered(name: str, values: Iterable[float]) -> dict[str, float]:
    """Values by their place."""
    return {f"{name} {place}": float(value) for place, value in enumerate(values)}


def errors(apart: cal.Predictions) -> dict[str, float]:
    """Errors of the k likeliest classes, of all classes and of groups, with cells of a k-d tree."""
    tree: dict[str, Any] = {"binning": cal.KDTree(gamma=GAMMA)}
    shown = group_error_diagram(apart, hierarchy=GROUPS, depth=1, rows="label", **tree)
    top = topk_diagram(apart, k=TOP[:-1], metric="gece", **tree)["model"].error
    return {
        **numbered("top_k", [*top, cal.gece(apart, lens="canonical", **tree)]),
        "group": shown.level_errors["model"][0],
        **numbered("by_group", shown.group_errors["model"]),
    }


def by_chance(apart: cal.Predictions) -> dict[str, float]:
    """The same errors with labels drawn from the probabilities."""
    probs = np.asarray(apart.probs, dtype=np.float64)
    draw = np.random.default_rng([3, zlib.crc32(np.ascontiguousarray(probs))])  # others for every model
    drawn = draw_labels(probs, draw)
    again = cal.Predictions(drawn, probs)
    return {
        **errors(again),
        **by_interval(drawn, probs),
        "ece": cal.ece(again, lens="top_label", bins=BINS),
        "ecd": cal.ecd(again),
    }


def by_interval(labels: Any, probs: Floats) -> dict[str, float]:
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
    return numbered("interval_rows", rows) | numbered("outside", outside)


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
    return plain_numbers(cal.Predictions(labels, probs))


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


class Bench(NamedTuple):
    """The stored outputs of one network, with the labels of the validation and test images."""

    folder: Path
    network: str
    held: Any
    labels: Any
    bases: list[store.Outputs]
    groups: list[list[int]]

    def outputs(self, model: str, seed: int) -> store.Outputs:
        """Those of a model, which is an intervention, an ensemble of base networks, or dropout that is not sampled."""
        if model == "ensemble":
            return store.ensemble([self.bases[at] for at in self.groups[seed]])
        name, suffix = ("mc_dropout", "_fixed") if model == "dropout" else (model, "")
        return store.read(self.folder, store.Training(self.network, name, seed), suffix)

    def predictions(self, model: str, seed: int) -> tuple[cal.Predictions, cal.Predictions]:
        """Validation and test images."""
        found = self.outputs(model, seed)
        sides = ((self.held, found.validation), (self.labels, found.test))
        fit, test = (cal.Predictions(labels, logits, input="logit", classes=range(10)) for labels, logits in sides)
        return fit, test


def everything(folder: Path, seeds: int = store.SEEDS) -> dict[str, Any]:
    """Study both networks, and return the numbers that are not in the file of the studies."""
    stored = np.load(folder / store.LABELS)
    held, labels = stored["validation"].astype(int), stored["test"].astype(int)
    found: dict[str, Any] = {"rows": {"validation": len(held), "test": len(labels)}, "seeds": seeds, "networks": {}}
    for network in store.NETWORKS:
        count = len(list(folder.glob(f"{network}-base-*.npz")))
        bases = [store.read(folder, store.Training(network, "base", seed)) for seed in range(count)]
        bench = Bench(folder, network, held, labels, bases, store.members_of(count)[:seeds])
        penalty = cal.DirichletCalibration(input="logit").fit(bases[0].validation, held).penalty_
        bins = chosen_bins(bases[0], held)
        models = {f"{network} {name}": partial(bench.predictions, name) for name in MODELS}
        cal.study(models, interventions(penalty, bins), metrics=measure, seeds=range(seeds), path=folder / MEASURED)
        means = [calibrated_members([bases[at] for at in group], held) for group in bench.groups]
        found["networks"][network] = {
            "networks_trained": count,
            "members": bench.groups,
            "penalty": penalty,
            "bins": bins,
            "train_accuracy": {name: train_accuracies(folder, network, name, seeds) for name in store.INTERVENTIONS},
            "extras": [extras(labels, base, held, seed) for seed, base in enumerate(bases[:seeds])],
            "calibrated_members": [plain_numbers(cal.Predictions(labels, probs)) for probs in means],
            "disagreement": {
                name: [disagreement(labels, bench.outputs(name, seed)) for seed in range(seeds)]
                for name in ("ensemble", "mc_dropout")
            },
        }
    return plainly(found)


def train_accuracies(folder: Path, network: str, name: str, seeds: int) -> list[float]:
    """Accuracy on the training images, for each seed."""
    files = [folder / store.Training(network, name, seed).file for seed in range(seeds)]
    return [float(np.load(file)["train_accuracy"]) for file in files]


def plainly(value: Any) -> Any:
    """Numbers of five digits."""
    if isinstance(value, Mapping):
        return {str(key): plainly(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plainly(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def load(folder: Path = HERE) -> dict[str, Any]:
    """The numbers that were written; those of the studies by network, model, calibrator and seed."""
    found: dict[str, Any] = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    for line in (folder / MEASURED).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        network, model = row["model"].split(" ")
        seeds = found["networks"][network].setdefault("measured", {}).setdefault(model, {})
        seeds.setdefault(row["intervention"], []).append({key[1:]: value for key, value in row["values"].items()})
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the outputs lie")
    parser.add_argument("--seeds", type=int, default=store.SEEDS)
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InSampleWarning)
        found = everything(given.folder, given.seeds)
    (given.out / RESULTS).write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    shutil.copy(given.folder / MEASURED, given.out / MEASURED)


if __name__ == "__main__":
    main()
