"""Published calibration numbers, computed again from the predictions they were about.

Run it as a script for a table of published value, ours, difference and verdict; it exits with 1 if one is off. The
predictions and the published numbers lie outside the repository, in the folder that CALIBRANT_DATA names. What stands here
is how each quantity is computed: two tables, from the words of a publication to a call of calibrant. The tests read them too.
"""

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant.curves.logistic_regression import fit_logistic, groups_of, logit
from calibrant.inference.belt import giviti_test
from calibrant.util.arrays import Array

Arrays = Mapping[str, Array]

# Kumar's bins of equal size: np.array_split of the sorted rows.
SPLIT = cal.EqualMass(ties="split", split="array_split")
LEFT = cal.EqualWidth(closed="left")


class Case(NamedTuple):
    """One published number (or list of numbers), how to compute it, and how far off it may be."""

    id: str
    source: str
    published: list[float]
    tolerance: float
    compute: Callable[[], list[float]]
    recomputed: float | None = None
    """What a plain computation, without any library, gave for the same predictions."""
    verdict: str = "reproduced"
    """What it means that ours is near enough: a mean over folds can only be near, whatever is computed of all rows."""


# Sets of predictions.


def probabilities_of(arrays: Arrays) -> Array:
    """A row of probabilities for each row of stored probabilities or logits, in double precision."""
    p = arrays["probs" if "probs" in arrays else "logits"].astype(np.float64)
    if "probs" not in arrays:
        p = np.exp(p - p.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def top1(arrays: Arrays) -> cal.Predictions:
    """Sets that hold the confidence of the predicted class only."""
    return cal.Predictions(arrays["pred"] == arrays["label"], arrays["confidence"], input="confidence")


def stated(arrays: Arrays) -> cal.Predictions:
    """Confidence a language model stated in words, and whether the answer it gave was right; rows need not sum to 1."""
    return cal.Predictions(arrays["answer"] == arrays["labels"], arrays["stated_probs"].max(axis=1), input="confidence")


def flattened(arrays: Arrays) -> cal.Predictions:
    """Every probability of every class as one yes-or-no question."""
    many = cal.Predictions(arrays["labels"], arrays["logits"], input="logit")
    return cal.Predictions(np.eye(many.k, dtype=int)[arrays["labels"]].ravel(), many.probs.ravel())


def welldata(arrays: Arrays) -> cal.Predictions:
    """The simulated set of calzone's manual, with both classes as columns."""
    p = arrays["p_class1"]
    return cal.Predictions(arrays["label"], np.column_stack([1 - p, p]))


def cross_validated(arrays: Arrays, quantity: str, _deviation: str) -> float:
    """All rows of a set whose publication averages over test folds of them, and gives the deviation between folds."""
    labels, probs = arrays["labels"], arrays["probs"]
    if quantity == "log-loss":
        return cal.nll(labels, probs)
    top = cal.Predictions(probs.argmax(axis=1) == labels, probs.max(axis=1), input="confidence")
    return mean_outcome(top) if quantity == "accuracy" else mean_score(top)


def decisions(arrays: Arrays) -> cal.Predictions:
    """Hard decisions at the published threshold, as sure forecasts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.errors.HardPredictionsWarning)
        return cal.Predictions(arrays["label"], (arrays["decile"] >= 5).astype(float), groups=arrays["race_code"])


def corp(arrays: Arrays, part: str, name: str) -> float:
    """One part of the CORP decomposition; a set of a single forecast does not name it."""
    found = cal.decompose(arrays["label"], arrays[f"p_{name or 'forecast'}"], method="corp")
    return {"MCB": found.miscalibration, "DSC": found.discrimination, "UNC": found.uncertainty}[part]


def quantile_edges(score: Array, bins: int) -> list[float]:
    """Edges at the interpolated quantiles of the scores."""
    return [0.0, *np.quantile(score, np.arange(1, bins) / bins).tolist(), 1.0]


def hl_quantile(arrays: Arrays, bins: int) -> float:
    """The Hosmer-Lemeshow statistic over groups cut at quantiles."""
    edges = quantile_edges(arrays["p_class1"], bins)
    return cal.hosmer_lemeshow(welldata(arrays), bins=edges)


def hl_fitted(arrays: Arrays, bins: int) -> Any:
    """The test of it as R does it, which takes the scores for fitted to the very rows."""
    edges = quantile_edges(arrays["p_class1"], bins)
    words: dict[str, Any] = {"bins": edges, "method": "chi_square_fitted_here"}
    return cal.assess(welldata(arrays), metric="hosmer_lemeshow", **words)


def belt_coefficient(arrays: Arrays, power: str) -> float:
    """One coefficient of the parabola in log-odds that the test of the calibration belt compares with the diagonal."""
    groups = groups_of(cal.views.View(arrays["p_saps2"], arrays["label"]))
    return float(fit_logistic(groups, np.vander(logit(groups.score), 3, increasing=True)).coefficients[int(power)])


def slope_interval(arrays: Arrays) -> list[float]:
    """Cox's slope and 1.96 of its errors to either side, as far as they were printed."""
    found = cal.assess(welldata(arrays), metric="cox_slope", method="wald").detail
    return [round(found["slope"] + side * 1.959964 * found["slope_error"], 3) for side in (-1, 1)]


def mean_outcome(predictions: cal.Predictions) -> float:
    """Accuracy, where the outcome is whether the prediction was right."""
    return float(cal.calibration_curve(predictions, bins=1, level=None).rate[0])


def mean_score(predictions: cal.Predictions) -> float:
    """Mean confidence."""
    return float(cal.calibration_curve(predictions, bins=1, level=None).mean_score[0])


AFRICAN_AMERICAN = cal.select.group(1)
NEGATIVE, POSITIVE = cal.select.label(0), cal.select.label(1)

# The words of a publication, as a pattern, and the same quantity here. A group of the pattern names a column.
QUANTITIES: dict[str, Callable[..., float]] = {
    r"ECE-10 over all class-probabilities flattened": lambda s: cal.ece(flattened(s), bins=10),
    r"accuracy of the answer %": lambda s: 100 * mean_outcome(stated(s)),
    r"mean stated max confidence": lambda s: mean_score(stated(s)),
    r"error %": lambda s: 100 * (1 - mean_outcome(top1(s))),
    r"ECE-10 %": lambda s: 100 * cal.ece(top1(s), bins=10),
    r"ECE-15( \(relplot figure\))?": lambda s, *_: cal.ece(top1(s), bins=15),
    r"MCE-15": lambda s: cal.mce(top1(s), bins=15),
    r"ECE-15 (\w+) \(relplot figure\)": lambda s, name: cal.ece(s["label"], s[f"p_{name}"], bins=15),
    r"CORP Brier (MCB|DSC|UNC) (\w*)": corp,
    r"rows": lambda s: len(cal.Predictions(s["label"], s["p_decile_linear"])),
    # Among the negatives a sure forecast is too high by the rate of false alarms, among the positives too low by the misses.
    r"FPR % \(score>=5\)": lambda s: 100 * cal.esce(decisions(s), where=NEGATIVE),
    r"FNR %": lambda s: -100 * cal.esce(decisions(s), where=POSITIVE),
    r"FPR % African-American": lambda s: 100 * cal.esce(decisions(s), where=NEGATIVE & AFRICAN_AMERICAN),
    r"FNR % African-American": lambda s: -100 * cal.esce(decisions(s), where=POSITIVE & AFRICAN_AMERICAN),
    r"Spiegelhalter Z": lambda s: cal.spiegelhalter_z(welldata(s)),
    r"HL-H (\d+) equal-width": lambda s, bins: cal.hosmer_lemeshow(welldata(s), bins=int(bins), binning="equal_width"),
    # Not by rank but at the quantiles, which NumPy interpolates; that differs where the bins do not divide the rows. calzone
    # loses the row with the lowest score, which shows in the seventh digit.
    r"HL-C (\d+) quantile groups": lambda s, bins: hl_quantile(s, int(bins)),
    r"ECE-H class1 10 bins": lambda s: cal.ece(welldata(s), bins=10),
    r"MCE-H class1 10 bins": lambda s: cal.mce(welldata(s), bins=10),
    r"ECE-H top-class 10 bins": lambda s: cal.ece(welldata(s), bins=10, lens="top_label"),
    r"Spiegelhalter p \(2-sided\)": lambda s: cal.assess(welldata(s), metric="spiegelhalter_z").pvalue,
    r"Cox slope": lambda s: cal.cox_slope(welldata(s)),
    r"Cox intercept": lambda s: cal.cox_intercept(welldata(s)),
    r"Cox ICI": lambda s: cal.ici(welldata(s), smoother="logistic"),
    r"beta(\d) of logit-polynomial degree 2": belt_coefficient,
    r"GiViTI LR statistic": lambda s: giviti_test(s["label"], s["p_saps2"]).statistic,
    # The table of the paper was quoted from memory.
    r"KS top-1 %": lambda s: 100 * cal.ecce_mad(top1(s)),
    # The integral itself. relplot's grids differ from it in the fourth digit, more where confidences pile up at 1.
    r"smECE": lambda s: cal.smece(top1(s)),
    r"smECE (\w+)": lambda s, name: cal.smece(s["label"], s[f"p_{name}"]),
    r"(accuracy|log-loss|avg_confidence) \(CV mean, sd=([\d.e-]+)\)": cross_validated,
}

# Inputs and results printed in the tests and manuals of other packages.


def between(values: Any) -> list[float]:
    """Edges that give every distinct value a bin of its own."""
    distinct = np.unique(values)
    return [0.0, *((distinct[1:] + distinct[:-1]) / 2).tolist(), 1.0]


def curve(v: Any, part: str, **options: Any) -> list[float]:
    """One column of a reliability curve, empty bins left out as scikit-learn does."""
    binning = {"uniform": "equal_width", "quantile": "equal_mass"}[v["params"]["strategy"]]
    found = cal.calibration_curve(*pair(v), bins=v["params"]["n_bins"], binning=binning, **options)
    return [value for value in getattr(found, part).tolist() if not math.isnan(value)]


def pair(v: Any) -> tuple[Any, Any]:
    """Labels and probabilities."""
    return v["inputs"]["y_true"], v["inputs"]["y_prob"]


def top_pair(v: Any) -> cal.Predictions:
    """The top class of rows that do not all sum to 1: confidence and correctness."""
    labels, rows = (np.array(part) for part in pair(v))
    return cal.Predictions(rows.argmax(axis=1) == labels, rows.max(axis=1), input="confidence")


def given_pair(v: Any) -> cal.Predictions:
    """Confidence and correctness, as they came."""
    return cal.Predictions(v["inputs"]["correct"], v["inputs"]["confidence"], input="confidence")


def norm(v: Any) -> float:
    """The exponent, as a number."""
    return v["params"].get("p") or {"l1": 1, "l2": 2, "max": math.inf}[v["params"]["norm"]]


def torchmetrics_error(v: Any) -> float:
    """Left-closed bins of class 1 (two classes) or of the top class (more)."""
    return cal.ece(*pair(v), bins=v["params"]["n_bins"], binning=LEFT, norm=norm(v))


def plug_in(v: Any) -> float:
    """Rows already in bins: edges between the bins' scores put them there again."""
    groups = v["inputs"]["binned"]
    scores, labels = zip(*(row for group in groups for row in group), strict=True)
    return cal.rmsce([int(y) for y in labels], scores, bins=between(scores), norm=norm(v))


def equal_bins(v: Any) -> list[float]:
    """Upper edges halfway between neighbouring scores of two bins; the last is 1."""
    scores = np.array(v["inputs"]["probs"])
    sizes = cal.calibration_curve(np.zeros(len(scores), int), scores, bins=v["params"]["n_bins"], binning=SPLIT).weight
    ends = sizes.cumsum().astype(int)[:-1]
    return [*((scores[ends - 1] + scores[ends]) / 2).tolist(), 1.0]


def without_lowest(arrays: Arrays, lens: str) -> float:
    """calzone's outermost quantile edge is open, which loses the row with the lowest score."""
    whole = welldata(arrays)
    score = arrays["p_class1"] if lens == "binary" else whole.probs.max(axis=1)
    return cal.ece(whole, bins=quantile_edges(score, 10), lens=lens, where=score > score.min())


def mapie_error(arrays: Arrays) -> float:
    """MAPIE's edges are `linspace(0, 1, 15)`, which makes 14 bins; the two predicted classes weigh the same."""
    words: dict[str, Any] = {"bins": 14, "lens": "top_label"}
    return sum(cal.ece(welldata(arrays), where=cal.select.predicted(name), **words) for name in (0, 1)) / 2


def platt(v: Any) -> list[float]:
    """Cox's line through labels moved off 0 and 1 as Platt does, the decision values taken for log-odds; signs are LIBSVM's."""
    labels = np.array(v["inputs"]["y"])
    ones, others = (labels == 1).sum(), (labels != 1).sum()
    moved = np.where(labels == 1, (ones + 1) / (ones + 2), 1 / (others + 2))
    rows = cal.Predictions(moved, v["inputs"]["f"], input="logit", soft=True)
    return [-cal.cox_slope(rows), -cal.cox_intercept(rows)]


def pooled(v: Any) -> Array:
    """Pooled neighbours, with values brought into [0, 1] by a power of two so that no digit is lost."""
    values = np.array(v["inputs"]["y"]) / 16
    scores = np.arange(len(values)) / 16
    return cal.curves.isotonic(cal.views.View(scores, values))(scores) * 16


# The id of a vector, as a pattern, and a function for its result, or one for each of its results by name.
VECTORS: dict[str, Callable[[Any], Any] | dict[str, Callable[[Any], Any]]] = {
    r"sk_calcurve_4bins_neg": {"prob_true": lambda v: curve(v, "rate", pos_label=0)},
    r"sk_calcurve_4bins": {"prob_true": lambda v: curve(v, "rate")},
    r"sk_calcurve_\w+": {"prob_true": lambda v: curve(v, "rate"), "prob_pred": lambda v: curve(v, "mean_score")},
    r"sk_brier_\w+": lambda v: cal.brier(*pair(v)),
    r"sk_logloss_\w+": lambda v: cal.nll(*pair(v)),
    r"sk_d2_brier_\w+": lambda v: cal.metrics.skill_score(*pair(v)),
    r"tm_(binary|multi)_\w+": torchmetrics_error,
    r"uc_binary_discrete_p\d": lambda v: cal.rmsce(*pair(v), bins=between(pair(v)[1]), norm=norm(v)),
    r"uc_marginal_p\d": lambda v: cal.cwce(*pair(v), bins=between(pair(v)[1]), norm=norm(v)),
    r"uc_top_p\d": lambda v: cal.rmsce(*pair(v), bins=between(pair(v)[1]), norm=norm(v)),
    r"uc_ece3": lambda v: cal.ece(top_pair(v), bins=3),
    r"uc_top_lower_p\d": lambda v: cal.rmsce(top_pair(v), bins=2, binning=SPLIT, norm=norm(v)),
    r"uc_ece_binary2": lambda v: cal.ece(*pair(v), bins=2),
    r"uc_ece_em_\d+": lambda v: cal.ece_em(given_pair(v), bins=v["params"]["n_bins"]),
    r"uc_equal_bins": equal_bins,
    r"uc_plugin_\d": plug_in,
    r"pc_conf_mce_\w+": lambda v: cal.mce(top_pair(v), bins=v["params"].get("n_bins", 15)),
    r"pc_ece_zero": lambda v: [metric(*pair(v)) for metric in (cal.ece, cal.cwce, cal.gece)],
    r"sk_platt_libsvm": platt,
    r"sk_isotonic_\d": pooled,
    r"pc_brier_mean": lambda v: cal.brier(*pair(v), scale="per_class"),
    r"calzone_ref": {
        "HL_C_15": lambda v: round(hl_quantile(v["arrays"], 15), 3),  # as R prints it
        "ECE_C_top": lambda v: without_lowest(v["arrays"], "top_label"),
        "ECE_C_class1": lambda v: without_lowest(v["arrays"], "binary"),
        "MCE_C_top": lambda v: cal.mce(welldata(v["arrays"]), bins=10, binning="equal_mass", lens="top_label"),
        "MCE_C_class1": lambda v: cal.mce(welldata(v["arrays"]), bins=10, binning="equal_mass"),
        "calzone_top_ECE_H_15": lambda v: cal.ece(welldata(v["arrays"]), bins=15, lens="top_label"),
        "R_hoslem_df": lambda v: hl_fitted(v["arrays"], 15).detail["df"],
        "R_hoslem_p": lambda v: round(hl_fitted(v["arrays"], 15).pvalue, 4),
        "loess_ICI": lambda v: cal.ici(welldata(v["arrays"]), smoother="lowess", span=0.5, delta=0.001),
        "cox_ICI": lambda v: cal.ici(welldata(v["arrays"]), smoother="logistic"),
        "cox_slope": lambda v: cal.cox_slope(welldata(v["arrays"])),
        "cox_intercept": lambda v: round(cal.cox_intercept(welldata(v["arrays"])), 3),
        "cox_slope_ci": lambda v: slope_interval(v["arrays"]),
        "MAPIE_top_label_ECE_H_15": lambda v: mapie_error(v["arrays"]),
    },
}


def data_folder() -> Path:
    """Where the predictions lie."""
    return Path(os.environ.get("CALIBRANT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def read_set(folder: Path, name: str) -> dict[str, Array]:
    """The arrays of one set."""
    with np.load(folder / "sets" / f"{name}.npz", allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}


def first_match(patterns: Mapping[str, Any], text: str) -> tuple[re.Match[str], Any] | None:
    """What the first pattern that fits all of `text` stands for."""
    found = ((re.fullmatch(pattern, text), value) for pattern, value in patterns.items())
    return next(((match, value) for match, value in found if match), None)


def cases_of_sets(folder: Path) -> Iterator[Case]:
    """The published numbers of whole sets that these metrics can give; those that do not fit their own data are left out."""
    for check in json.loads((folder / "checks.json").read_text()):
        known = first_match(QUANTITIES, check["quantity"])
        if known is None or check["verdict"].startswith("NOT"):
            continue
        match, quantity = known
        # What relplot gave is no plain computation: see smECE above. The tests integrate instead.
        is_plain = "relplot 1.0.3 itself" not in check["note"]
        yield Case(
            id=name_of(check),
            source=check["source"],
            published=[check["published"]],
            tolerance=tolerance_of(check),
            compute=partial(_of_set, folder, check["set"], quantity, match.groups()),
            recomputed=check["computed"] if is_plain else None,
            verdict="within sd" if check["verdict"].startswith("within") else "reproduced",
        )


def name_of(check: Mapping[str, Any]) -> str:
    """The set and what was computed of it."""
    return f"{check['set']} {check['quantity'].strip()}"


def tolerance_of(check: Mapping[str, Any]) -> float:
    """Half a printed digit; for a mean over folds their deviation, and five digits where the authors worked in single precision."""
    if check["verdict"].startswith("within"):
        return float(check["quantity"].partition("sd=")[2].rstrip(")"))
    if "significant digits" in check["verdict"]:
        return abs(float(check["published"])) * 5e-6
    return 0.5 * 10.0 ** -check["printed_decimals"] + 1e-12


def _of_set(folder: Path, name: str, quantity: Callable[..., float], groups: tuple[str, ...]) -> list[float]:
    return [float(quantity(read_set(folder, name), *groups))]


def cases_of_vectors(folder: Path) -> Iterator[Case]:
    """Inputs and results from other packages' tests; one case for each result of a vector that has several by name."""
    for vector in json.loads((folder / "vectors.json").read_text())["vectors"]:
        known = first_match(VECTORS, vector["id"])
        if known is None:
            continue
        recipes = known[1] if isinstance(known[1], dict) else {"": known[1]}
        for name, recipe in recipes.items():
            yield Case(
                id=result_name(vector, name),
                source=vector["source"],
                published=as_list(vector["expected"][name] if name else vector["expected"]),
                tolerance=vector["tolerance"],
                compute=partial(_of_vector, folder, vector, recipe),
            )


def result_name(vector: Mapping[str, Any], name: str) -> str:
    """The package, the id of the vector and which of its results."""
    return f"{vector['source'].partition(' ')[0].partition('@')[0]} {vector['id']} {name}".strip()


def _of_vector(folder: Path, vector: dict[str, Any], recipe: Callable[[Any], Any]) -> list[float]:
    name = vector["inputs"].get("dataset")
    arrays = {"arrays": read_set(folder, Path(name).stem)} if name else {}
    return as_list(recipe({**vector, **arrays}))


def as_list(value: Any) -> list[float]:
    """One number or several, as a list."""
    return np.atleast_1d(np.asarray(value, dtype=float)).tolist()


def cases(folder: Path) -> list[Case]:
    """Every published number that these metrics can give."""
    return [*cases_of_sets(folder), *cases_of_vectors(folder)]


def is_reproduced(case: Case, ours: list[float]) -> bool:
    """Whether our numbers are the published ones as far as they were printed, and those recomputed to nine digits."""
    published = case.published * len(ours) if len(case.published) == 1 else case.published
    printed = all(abs(value - other) <= case.tolerance for value, other in zip(ours, published, strict=True))
    return printed and (case.recomputed is None or math.isclose(ours[0], case.recomputed, rel_tol=1e-8))


def left_out(folder: Path) -> dict[str, str]:
    """Published numbers that stand in no case, and why."""
    checks = json.loads((folder / "checks.json").read_text())
    reasons = {name_of(check): "no metric here gives it" for check in checks}
    for check in checks:
        if check["verdict"].startswith("NOT"):
            why = f"published {check['published']:.6g}, but its own predictions give {check['computed']:.6g}"
            reasons[name_of(check)] = why
    for vector in json.loads((folder / "vectors.json").read_text())["vectors"]:
        known = first_match(VECTORS, vector["id"])
        by_name = isinstance(vector["expected"], dict) and not (known and callable(known[1]))
        for name in vector["expected"] if by_name else [""]:
            reasons[result_name(vector, name)] = "no metric here gives it"
    covered = {case.id for case in cases(folder)}
    return {name: why for name, why in reasons.items() if name not in covered}


def main() -> int:
    """Print the table; 1 where a number is off or there is nothing to check."""
    folder = data_folder()
    if not (folder / "checks.json").exists():
        print(f"NO PUBLISHED NUMBERS in {folder}: set CALIBRANT_DATA to the folder that holds checks.json")
        return 1
    every, verdicts = cases(folder), []
    print(f"{'quantity':<75}{'published':>16}{'ours':>16}{'difference':>12}  verdict")
    for case in every:
        ours = case.compute()
        fine = is_reproduced(case, ours)
        verdicts.append(case.verdict if fine else "OFF")
        published = case.published * len(ours) if len(case.published) == 1 else case.published
        for value, other in zip(ours, published, strict=True):
            print(f"{case.id[:74]:<75}{other:>16.10g}{value:>16.10g}{value - other:>12.1e}  {verdicts[-1]}")
    near = verdicts.count("within sd")
    print(f"\n{verdicts.count('reproduced')} of {len(every)} reproduced, {near} means over folds within sd; left out:")
    for name, why in left_out(folder).items():
        print(f"  {name}: {why}")
    return 1 if "OFF" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
