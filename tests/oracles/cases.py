"""Random small problems that press where metrics break: ties, scores on edges and one step beside them, sure forecasts, weights."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import calibrant as cal
from tests.calling import call

Options = dict[str, Any]
Rng = np.random.Generator
Draw = Callable[[int, Rng], Options]

STYLES = ("smooth", "ties", "edges", "sure", "dyadic")
WEIGHTS = ("none", "counts", "eighths", "real")
GIVEN_EDGES = ([0, 0.25, 0.5, 1], [0, 0.1, 0.35, 0.7, 0.9, 1])

LENSES: list[Options] = [
    {},
    {"lens": "binary"},
    {"lens": "top_label"},
    {"lens": "classwise"},
    {"lens": "classwise", "combine": "sum"},
    {"lens": "classwise", "combine": "max"},
    {"lens": "classwise", "combine": "prevalence"},
    {"lens": "classwise", "combine": "mean", "class_weight": True},
    {"lens": "classwise", "combine": "sum", "class_weight": True},
    {"lens": "class:1"},
    {"lens": "rank:2"},
    {"lens": "within_top:2"},
    {"lens": "ordinal"},
]
COMBINATIONS = [{word: value for word, value in lens.items() if word != "lens"} for lens in LENSES[3:9]]
BINNINGS: list[Options] = [
    {},
    {"bins": 1},
    {"bins": 2, "closed": "left"},
    {"bins": 10},
    {"bins": GIVEN_EDGES[0]},
    {"bins": 5, "binning": "equal_mass"},
    {"bins": 10, "closed": "left"},
    {"bins": 3, "binning": "equal_mass"},
    {"bins": 49},
    {"bins": GIVEN_EDGES[1], "closed": "left"},
    {"binning": "equal_mass"},
    {"bins": "levels"},
]
POINT_LENSES: list[Options] = [{}, {}, {"lens": "class:1"}, {"lens": "top_label"}, {"lens": "classwise"}]
GROUP_LENSES: list[Options] = [{}, {"lens": "class:1"}, {"lens": "top_label"}, {"lens": "classwise"}]
ONE_SCORE = LENSES[:3] + LENSES[9:]  # without several classes
JOINT_BINNINGS: list[Options] = [
    {},
    {"bins": 2},
    {"bins": 4},
    {"bins": 3, "binning": "equal_mass"},
    {"bins": 1},
    {"bins": GIVEN_EDGES[0]},
    {"binning": "equal_mass"},
]
JOINT_LENSES: list[Any] = [
    None,
    "binary",
    "top_label",
    "top_k:2",
    ["groups"],
    "class:1",
    None,
    "top_k:1",
    "rank:2",
    "classwise",
    "within_top:2",
]
EQUAL_MASS: list[Options] = [
    {},
    {"bins": 2},
    {"bins": 5},
    {"bins": 4, "binning": "equal_width"},
    {"bins": GIVEN_EDGES[1], "binning": "equal_width"},
    {"bins": [3, 8]},
    {"bins": 10, "binning": "equal_width", "closed": "left"},
    {"bins": 1},
]
# Bins that follow from the data, several numbers of bins, and widths.
SEARCHED: list[Options] = [
    {"bins": "sweep", "binning": "equal_mass"},
    {"bins": "search", "binning": "equal_mass"},
    {"bins": "tcal", "binning": "equal_width"},
    {"bins": [4, 7, 10]},
    {"bins": "search_pure", "binning": "equal_mass"},
    {"bins": "sweep", "binning": "equal_width"},
    {"bins": [0.05, 0.1, 0.25]},
    {"bins": "search", "binning": "equal_width"},
    {"bins": 4, "binning": "equal_area", "style": "smooth"},
    {"bins": "tcal", "binning": "equal_mass"},
    {"bins": "search_pure", "binning": "equal_width"},
    {"bins": "cv", "binning": "equal_mass", "lens": "top_label"},
    {"bins": [2, 6], "binning": "equal_mass"},
    {"bins": "levels"},
    {"bins": "cv", "binning": "equal_width", "lens": "top_label"},
]
NORMS = (1, 2, 3, "inf")
# A bin whose score is one rounding away from 0 or 1 has a variance that doubles do not hold.
CONDITIONED = ("smooth", "ties", "dyadic", "certain", "inner")
ROWS_OR_COUNTS: Options = {"weight_kinds": ("none", "counts")}


@dataclass(frozen=True)
class Case:
    labels: list[int]
    probs: np.ndarray
    counts: list[int] | None
    sample_weight: list[float] | None
    options: dict[str, Any]

    @property
    def classes(self) -> int:
        return 2 if self.probs.ndim == 1 else self.probs.shape[1]

    def weights(self) -> dict[str, Any]:
        return {"counts": self.counts, "sample_weight": self.sample_weight}


def draw_case(name: str, number: int, table: dict[str, Draw]) -> Case:
    """Problem `number` for the metric `name`; the options run through all theirs, the data are drawn.

    An option that is a function of the generator and the number of rows is drawn once that is known.
    """
    rng = np.random.default_rng([number, *name.encode()])
    options = table[name](number, rng)
    classes = 2 if options.get("lens") == "binary" else int(rng.choice([2, 2, 3, 4, 5]))
    if isinstance(
        options.get("lens"), list
    ):  # groups of classes: at most two together, so that their sum is one rounding
        classes = max(classes, 3)
        options["lens"] = {3: [[0, 2], [1]], 4: [[3], [0, 1], [2]], 5: [[4, 1], [0], [3, 2]]}[classes]
    if options.get("class_weight"):
        options["class_weight"] = [*rng.uniform(0.1, 3, classes - 1).tolist(), float(rng.integers(0, 2))]
    n = int(rng.choice([1, 2, 3, rng.integers(4, 41)], p=[0.04, 0.04, 0.04, 0.88]))
    n = max(n, options.pop("least_rows", 1))
    kinds = options.pop("weight_kinds", WEIGHTS)
    options = {word: value(rng, n) if callable(value) else value for word, value in options.items()}
    style = options.pop("style", None) or str(rng.choice(STYLES))
    if style == "edges" and options.get("lens") == "ordinal":
        style = "dyadic"  # whether a sum one step beside a decimal is that decimal, is left open
    bins = options.get("bins", 15)
    probs = draw_probs(rng, n, classes, style, bins if isinstance(bins, int) else 20)
    if rng.random() < 0.25:
        probs = probs.astype(np.float32)
    counts = sample_weight = None
    kind = str(rng.choice(kinds))
    if kind == "counts":
        counts = [*rng.integers(0, 5, n - 1).tolist(), int(rng.integers(1, 5))]
    elif kind == "eighths":
        sample_weight = [*(rng.integers(0, 17, n - 1) / 8).tolist(), 0.125]
    elif kind == "real":
        sample_weight = rng.uniform(0.01, 20, n).tolist()
    return Case(draw_labels(rng, probs), probs, counts, sample_weight, options)


def draw_probs(rng: Rng, n: int, classes: int, style: str, bins: int) -> np.ndarray:
    rows = _rows(rng, n, classes, style, bins)
    if classes > 2 or rng.random() < 0.4:
        return rows
    return np.ascontiguousarray(rows[:, 1])


def _rows(rng: Rng, n: int, classes: int, style: str, bins: int) -> np.ndarray:
    smooth = rng.dirichlet(np.full(classes, rng.choice([0.3, 1.0, 3.0])), n)
    if style == "ties":
        rows = smooth[rng.integers(0, min(n, 3), n)]
        return rng.permuted(rows, axis=1) if classes > 2 else rows
    if style == "edges":
        # Shares k/M, each the double nearest to its edge, some moved to the next double on either side.
        rows = rng.multinomial(bins, np.full(classes, 1 / classes), n) / bins
        step = rng.integers(-1, 2, rows.shape) * (rng.random(rows.shape) < 0.5)
        return np.clip(np.where(step == 0, rows, np.nextafter(rows, rows + step)), 0, 1)
    if style in ("sure", "certain"):
        sure = np.eye(classes)[rng.integers(0, classes, n)]
        almost = np.where(sure == 1, np.nextafter(1, 0), 5e-324) if style == "sure" else sure
        choice = rng.integers(0, 4, (n, 1))
        return np.select([choice == 0, choice == 1], [sure, almost], smooth)
    if style == "inner":  # for what is badly conditioned near 0 and 1
        return 0.9 * smooth + 0.1 / classes
    if style == "dyadic":
        return rng.multinomial(8, np.full(classes, 1 / classes), n) / 8
    return smooth


def draw_labels(rng: Rng, probs: np.ndarray) -> list[int]:
    """Half of the labels follow the forecast, the others come from anywhere."""
    rows = probs if probs.ndim == 2 else np.column_stack([1 - probs.astype(float), probs])
    classes = rows.shape[1]
    shares = rows.astype(float) / rows.astype(float).sum(axis=1, keepdims=True)
    follow = np.array([rng.choice(classes, p=share) for share in shares])
    return np.where(rng.random(len(rows)) < 0.5, follow, rng.integers(0, classes, len(rows))).tolist()


# What a metric is tried with: lists of options that are gone through side by side, some of them more slowly.


def turns(choices: Sequence[Options], every: int = 1) -> Draw:
    """The options of a list in turn, each of them `every` times."""
    return lambda number, rng: dict(choices[number // every % len(choices)])


def option(name: str, *values: Any, every: int = 1) -> Draw:
    return turns([{name: value} for value in values], every)


def together(*draws: Draw) -> Draw:
    """The options of all of them; a later one replaces an earlier one of the same name."""

    def draw(number: int, rng: Rng) -> Options:
        found: Options = {}
        for each in draws:
            found |= each(number, rng)
        return found

    return draw


def norm(number: int, rng: Rng) -> Options:
    return {"norm": NORMS[rng.integers(4)]}


LENS, POINT, GROUP = turns(LENSES), turns(POINT_LENSES), turns(GROUP_LENSES)
# 13 lenses and 12 binnings have no common divisor, so a long run meets every pair.
SCALAR = together(LENS, turns(BINNINGS))
WITH_NORM = together(SCALAR, norm)
NUMBER_OF_BINS = option("bins", 1, 2, 4, 7, 15)
EQUAL_MASS_WITH_NORM = together(LENS, NUMBER_OF_BINS, norm)
MIN_COUNT = option("min_count", 0, 0, 1, 2, 5)
SCALE = option("scale", "auto", "half", "sum", "per_class")
FLOORED = together(POINT, option("floor", None, 1e-6, None, 0.1))
MASS_LENS = together(LENS, turns(EQUAL_MASS, 2))
DEBIASED = together(MASS_LENS, option("single", "keep", "zero", "keep", "raise"))
# Scores away from 0 and 1, whose complements a double holds: a score of 1 less a rounding has other log-odds than its row.
FIXED_SLOPE = together(LENS, option("style", "inner", "dyadic"))
PAIRS = together(
    option("lens", "auto", "canonical", "top_label", "canonical", "classwise", "top_k:2", "class:1"),
    option("unbiased", False, True, every=2),
    option("smoothness", 1, 0.25, 1, 2),
    turns([{}, {"bins": 3}, {"bins": 10}, {"bins": [2, 5]}], 3),
)

INEXACT = ("wilcox_variation_ratio", "avdev", "mndif", "stdev")
VARIATIONS = ("entropy", "confidence", "freeman_variation_ratio", "iqv", "gini", "varnc", "hrel", *INEXACT)


def _vce(number: int, rng: Rng) -> Options:
    options = together(option("variation", *VARIATIONS), turns(JOINT_BINNINGS), norm)(number, rng)
    if options["variation"] in INEXACT:
        # Dividing by K - 1 rounds, so that a value may miss an edge or a tie.
        options["style"] = "smooth"
    elif options["variation"] not in ("confidence", "freeman_variation_ratio"):
        # A sum of squared tenths may miss an edge by its rounding alone; eighths are exact and meet edges too.
        options["style"] = str(rng.choice(["smooth", "ties", "sure", "dyadic"]))
    return options


def _vce_db(number: int, rng: Rng) -> Options:
    options = {name: value for name, value in _vce(number, rng).items() if name != "norm"}
    return {**options, "n_draws": (2, 3, 7)[number % 3], "rng": number}


def _joint(number: int, options: Options) -> Options:
    """The options of an error of whole vectors through one of the lenses; classes are weighted in the Euclidean distance only."""
    lens = JOINT_LENSES[number % len(JOINT_LENSES)]
    if lens is None:
        return {**options, **({"class_weight": True} if options["distance"] == "l2" else {})}
    return {**options, "lens": lens}


def _gece(number: int, rng: Rng) -> Options:
    options = together(option("distance", "tv", "l1", "l2"))(number, rng)
    lens = JOINT_LENSES[number % len(JOINT_LENSES)]
    if lens is None or isinstance(lens, list) or lens == "top_k:2":  # a tree
        # Over rows that differ by rounding alone it would cut noise; one step beside is tried on its median by itself.
        cut = together(
            option("gamma", 0.1, 0.25, 0.02, 0.5),
            option("min_size", 1, 2, 4, 10, 3),
            option("style", "smooth", "ties", "dyadic", "certain"),
        )
    else:
        cut = option("bins", 15, 4, 10)
    return _joint(number, {**options, **cut(number, rng)})


def _gece_db(number: int, rng: Rng) -> Options:
    options = _gece(number, rng)
    options.pop("class_weight", None)
    return {**options, "distance": ("tv", "l1")[number % 2], **ROWS_OR_COUNTS}


def _multiclass_ce(number: int, rng: Rng) -> Options:
    rules = turns([{}, {"bins": 2}, {"bins": [1, 3]}], 2)
    return _joint(number, together(option("distance", "tv", "l1", "l2"), rules)(number, rng))


def _focal(number: int, rng: Rng) -> Options:
    options = together(turns(POINT_LENSES[:3]), option("gamma", 2, 0, 0.5, 1, 5))(number, rng)
    return {**options, "class_weight": True} if number % 3 == 0 else options


def _in_the_large(number: int, rng: Rng) -> Options:
    if number % 2:
        return LENS(number // 2, rng)
    return {**FIXED_SLOPE(number // 2, rng), "form": "logit"}


def _dce(number: int, rng: Rng) -> Options:
    options = together(
        SCALAR,
        option("aggregate", "max", "upper_edge", "mean"),
        option("variant", "sum", "pointwise", every=3),
        option("bound", False, True, False, False),
    )(number, rng)
    if number % 2:
        return {word: value for word, value in options.items() if word not in ("bins", "closed")}
    return options


def _topk_ece(number: int, rng: Rng) -> Options:
    options = together(
        turns([{}, {"bins": 2}, {"bins": 5, "binning": "equal_mass"}, {"bins": [3, 7]}]),
        option("reading", "rank", "cumulative", every=2),
        turns([{}, {"k": 1}, {"k": 2}], 3),
    )(number, rng)
    if options["reading"] == "cumulative" and "k" not in options:
        options["style"] = ("smooth", "dyadic")[number % 2]  # sums of more than two are not one rounding
    return options


def _sbece(number: int, rng: Rng) -> Options:
    rules = [{}, {"bins": 5}, {"bins": 2, "temperature": 1.0}, {"bins": 4, "temperature": 1e-4}]
    options = together(turns(ONE_SCORE), turns(rules, 2), option("norm", 2, 1, 3))(number, rng)
    options["form"] = ("soft", "soft", "label_binned")[number // 3 % 3]
    if options["form"] == "soft" and "temperature" not in options and number % 5 == 0:
        options["norm"] = "inf"
    return options


# Groups and features.


def draw_groups(rng: Rng, n: int) -> list[str]:
    return [["north", "east", "south"][g] for g in rng.integers(0, 3, n)]


def draw_numbers(rng: Rng, n: int) -> list[float]:
    return rng.normal(size=n).round(int(rng.integers(0, 4))).tolist()


def draw_features(rng: Rng, n: int) -> list[list[float]]:
    """Some on a grid, where distances tie, some far apart, some anywhere."""
    columns = int(rng.integers(2, 4))
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(0, 3, (n, columns)).astype(float).tolist()
    return (rng.normal(size=(n, columns)) * (1000 if kind == 1 else 1)).tolist()


def _pce(number: int, rng: Rng) -> Options:
    rules = [{}, {"bins": 3}, {"bins": 4, "binning": "equal_mass"}, {"bins": [2, 5]}, {"bins": None}]
    options = together(GROUP, turns(rules, 2), option("groups", draw_groups))(number, rng)
    if number % 3 == 1:
        options["partitions"] = lambda rng, n: [draw_numbers(rng, n), draw_groups(rng, n)]
        if number % 2:
            options["partition_weight"] = [1, 0.5, 2]
    return options


def _of_features(*rules: Options) -> Draw:
    return together(GROUP, turns(rules, 2), option("features", draw_features))


OPTIONS: dict[str, Draw] = {
    "ece": WITH_NORM,
    "rmsce": WITH_NORM,
    "mce": together(SCALAR, MIN_COUNT),
    "ece_em": EQUAL_MASS_WITH_NORM,
    "cwce": together(turns(COMBINATIONS), turns(BINNINGS), norm),
    "ace": together(turns(COMBINATIONS), NUMBER_OF_BINS, norm),
    "esce": together(SCALAR, option("representative", "mean", "midpoint", every=2)),
    "abc_above": together(SCALAR, option("measure", "density", "lebesgue", every=2)),
    "abc_below": together(SCALAR, option("measure", "density", "lebesgue", every=2)),
    "brier": together(POINT, SCALE),
    "root_brier": together(POINT, SCALE),
    "nll": together(POINT, option("floor", None, 1e-15, 0.01, 0.3), option("base", None, 2, 10)),
    "ecd": together(POINT, option("multiclass", "full", "true_vs_rest")),
    "vce": _vce,
    "vce_db": _vce_db,
    "uce": together(turns(JOINT_BINNINGS), option("style", "smooth", "ties", "sure", "dyadic")),
    "gece": _gece,
    "gece_db": _gece_db,
    "focal_loss": _focal,
    "spherical": POINT,
    "ranked_probability": POINT,
    "ranked_log": together(POINT, turns([{}, {"base": 2}, {"floor": 1e-6}])),
    "accuracy": LENS,
    "mean_confidence": LENS,
    "proportional_ece": SCALAR,
    "tl_ece": together(
        turns(
            [
                {},
                {"bins": 2, "average": "macro"},
                {"bins": 3, "binning": "equal_mass"},
                {"bins": [3, 5], "average": "macro"},
                {"bins": GIVEN_EDGES[0]},
                {"bins": "levels", "average": "macro"},
            ]
        ),
        norm,
    ),
    "nses": FLOORED,
    "dawid_sebastiani": FLOORED,
    "lp_error": together(POINT, option("norm", 1, 2, 3, "inf", 1.5, every=2)),
    "l1_eps": together(POINT, option("eps", 0.01, 0, 1, 1e-6)),
    "huber": together(
        turns(POINT_LENSES, 2), option("delta", 0.5, 0.3, 1, 2, 0.05), option("form", "standard", "isotone")
    ),
    "global_squared_bias": together(POINT, SCALE),
    "expected_observed_ratio": LENS,
    "calibration_in_the_large": _in_the_large,
    "fixed_slope_intercept": FIXED_SLOPE,
    "spiegelhalter_z": together(POINT, option("style", *CONDITIONED, every=2)),
    "rbece": together(SCALAR, MIN_COUNT),
    "smbs": SCALAR,
    "dce": _dce,
    "ece_lb": together(MASS_LENS, norm),
    "rice": together(LENS, option("width", 1 / 15, 1, 0.5, 0.3, 0.01, 0.1)),
    "sice": together(turns(ONE_SCORE), turns([{}, {"levels": 4}, {"levels": 1}])),
    "cce": LENS,
    "wsmcs": turns([{}, {"lens": "top_label"}, {"lens": "class:1"}, {"lens": "rank:2"}]),
    "dici": MASS_LENS,
    "sbece": _sbece,
    "dece": together(
        turns([{}, {"lens": "top_label"}, {}, {"lens": "classwise"}]),
        turns([{}, {"bins": 2}, {"bins": 5, "bin_temperature": 0.1}, {"rank_sharpness": 3}], 3),
    ),
    "lse_ece": together(
        turns([{}, {}, {"lens": "top_label"}, {}, {"lens": "classwise"}]),
        turns([{}, {"bins": 2}, {"temperature": 0.2}, {"bins": 4, "binning": "equal_mass"}, {"bins": [3, 5]}], 2),
    ),
    "fce": together(LENS, turns([{}, {"bins": 2}, {"bins": 1}, {"bins": [3, 10]}])),
    "calbin": together(
        turns(COMBINATIONS),
        turns([{}, {"size": 1}, {"size": 3}, {"size": 7}, {"size": 1000}]),
        option("inner", "mean_abs", "abs_mean", every=2),
    ),
    "ece_knn": together(
        LENS, turns([{}, {"neighbours": 0}, {"neighbours": 2}, {"neighbours": 5}, {"neighbours": 1000}])
    ),
    "ce2_db": DEBIASED,
    "drmsce": together(DEBIASED, option("clip_each", False, True, every=2)),
    "drmsce_bcs": together(
        turns(LENSES[:7]), option("binning", "equal_mass", "equal_width", every=2), option("least_rows", 12)
    ),
    "ece_db": MASS_LENS,
    "hosmer_lemeshow": together(
        LENS,
        turns([{}, {"bins": 4}, {"binning": "equal_width"}, {"bins": 1}, {"bins": [5, 10]}, {"bins": 40}]),
        option("variance", "binomial", "exact", every=3),
        option("style", *CONDITIONED),
    ),
    "t_cal": PAIRS,
    "l2ce_interval": PAIRS,
    "tce": together(
        LENS,
        turns(
            [
                {},
                {"min_block": 2},
                {"binning": "equal_mass"},
                {"min_block": 0, "max_block": 1000},
                {"min_block": 5, "max_block": 8},
                {"binning": "equal_width", "bins": 4},
                {"min_block": 3, "max_block": 12},
                {"binning": "equal_mass", "bins": 2},
                {"min_block": 5, "max_block": 5},
            ]
        ),
        option("alpha", 0.05, 0.3, 0.01),
        turns([ROWS_OR_COUNTS]),
    ),
    "tace": together(
        turns([*COMBINATIONS, {"lens": "top_label"}, {"lens": "class:1"}]),
        turns([{}, {"bins": 2}, {"bins": 5, "binning": "equal_width"}, {"bins": [2, 4]}], 3),
        option("threshold", 0.01, 0, 0.1, 0.3, 0.125),
        option("mode", "drop", "zero", every=2),
    ),
    "topk_ece": _topk_ece,
    "multiclass_ce": _multiclass_ce,
    # Scores one rounding apart leave no room for an edge between them.
    "ece_ea": together(
        LENS,
        turns([{"bins": 4}, {}, {"bins": 2}, {"bins": 1}, {"bins": [3, 9]}, {"bins": 40}]),
        norm,
        option("style", *CONDITIONED, every=2),
    ),
    "ece_widths": together(LENS, turns([{}, {"widths": [0.25, 0.1, 0.7]}, {}, {"widths": [1.0]}])),
    "ece_sweep": together(LENS, turns([{}, {"binning": "equal_width"}], 2), norm),
    "pce": _pce,
    "fece": together(
        GROUP,
        turns([{}, {"relative": True}, {"relative": True, "eps": 0.5}], 2),
        option("groups", draw_groups),
    ),
    "vece": _of_features({}, {"bins": 3}, {"feature": 1}, {"bins": [2, 5]}),
    "piece": _of_features(
        {},
        {"bins": 3, "proximity_bins": 2},
        {"neighbours": 3, "binning": "equal_width"},
        {"proximity": draw_numbers},
        {"neighbours": 1, "proximity_bins": 4, "bins": 1},
    ),
    "mvce": _of_features({}, {"bins": 3}, {"views": 5, "rng": 7}, {"views": 1, "rng": 3, "bins": 2}),
}


def public_value(name: str, case: Case) -> float:
    """What the package gives, with the options in its own words."""
    options = dict(case.options)
    bins, closed = options.get("bins"), options.pop("closed", "right")
    if closed == "left":
        if isinstance(bins, int):
            options["binning"] = cal.EqualWidth(closed="left")
        else:
            options["binning"] = cal.Edges(tuple(bins), closed="left")
            del options["bins"]
    elif (
        bins is not None
        and not isinstance(bins, (int, str))
        and options.get("binning") == "equal_width"
        and bins[0] == 0
    ):
        del options["binning"]  # edges stand alone
    if options.get("norm") == "inf":
        options["norm"] = math.inf
    if isinstance(options.get("lens"), list):
        options["lens"] = cal.class_groups({f"group {g}": group for g, group in enumerate(options["lens"])})
    return call(getattr(cal, name), case.labels, case.probs, **options, **case.weights())
