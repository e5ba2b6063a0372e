"""Options for the random problems of the metrics beside the first ones; `cases` draws the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import BINNINGS, COMBINATIONS, GIVEN_EDGES, JOINT_LENSES, LENSES, NORMS, POINT_LENSES, _pick

Options = dict[str, Any]
Rng = np.random.Generator

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
# A bin whose score is one rounding away from 0 or 1 has a variance that doubles do not hold.
CONDITIONED = ("smooth", "ties", "dyadic", "certain", "inner")


def scalar(number: int, rng: Rng) -> Options:
    return {**_pick(LENSES, number), **_pick(BINNINGS, number)}


def plain_lens(number: int, rng: Rng) -> Options:
    return dict(_pick(LENSES, number))


def searched(number: int, rng: Rng) -> Options:
    return {**_pick(LENSES[:3] + LENSES[9:], number), **_pick(SEARCHED, number), "norm": NORMS[rng.integers(4)]}


def equal_mass(number: int, rng: Rng) -> Options:
    options: list[Options] = [
        {},
        {"bins": 2},
        {"bins": 5},
        {"bins": 4, "binning": "equal_width"},
        {"bins": GIVEN_EDGES[1], "binning": "equal_width"},
        {"bins": [3, 8]},
        {"bins": 10, "binning": "equal_width", "closed": "left"},
        {"bins": 1},
    ]
    return {**_pick(LENSES, number), **_pick(options, number // 2)}


def point(number: int, rng: Rng) -> Options:
    return dict(_pick(POINT_LENSES, number))


def focal(number: int, rng: Rng) -> Options:
    options = {**_pick(POINT_LENSES[:3], number), "gamma": _pick((2, 0, 0.5, 1, 5), number)}
    return {**options, "class_weight": True} if number % 3 == 0 else options


def floored(number: int, rng: Rng) -> Options:
    return {**point(number, rng), "floor": _pick((None, 1e-6, None, 0.1), number)}


def normed_point(number: int, rng: Rng) -> Options:
    return {**point(number, rng), "norm": _pick((1, 2, 3, "inf", 1.5), number // 2)}


def smoothed(number: int, rng: Rng) -> Options:
    return {**point(number, rng), "eps": _pick((0.01, 0, 1, 1e-6), number)}


def huber(number: int, rng: Rng) -> Options:
    delta, form = _pick((0.5, 0.3, 1, 2, 0.05), number), _pick(("standard", "isotone"), number)
    return {**_pick(POINT_LENSES, number // 2), "delta": delta, "form": form}


def squared_bias(number: int, rng: Rng) -> Options:
    return {**point(number, rng), "scale": _pick(("auto", "half", "sum", "per_class"), number)}


def in_the_large(number: int, rng: Rng) -> Options:
    if number % 2:
        return plain_lens(number // 2, rng)
    return {**fixed_slope(number // 2, rng), "form": "logit"}


def fixed_slope(number: int, rng: Rng) -> Options:
    """Scores away from 0 and 1, whose complements a double holds: a score of 1 less a rounding has other log-odds than its row."""
    return {**_pick(LENSES, number), "style": _pick(("inner", "dyadic"), number)}


def spiegelhalter(number: int, rng: Rng) -> Options:
    return {**_pick(POINT_LENSES, number), "style": _pick(CONDITIONED, number // 2)}


def balanced(number: int, rng: Rng) -> Options:
    return {**scalar(number, rng), "min_count": _pick((0, 0, 1, 2, 5), number)}


def distance(number: int, rng: Rng) -> Options:
    options = {
        **scalar(number, rng),
        "aggregate": _pick(("max", "upper_edge", "mean"), number),
        "variant": _pick(("sum", "pointwise"), number // 3),
        "bound": bool(number % 4 == 1),
    }
    if number % 2:
        return {word: value for word, value in options.items() if word not in ("bins", "closed")}
    return options


def normed_equal_mass(number: int, rng: Rng) -> Options:
    return {**equal_mass(number, rng), "norm": NORMS[rng.integers(4)]}


def width(number: int, rng: Rng) -> Options:
    return {**_pick(LENSES, number), "width": _pick((1 / 15, 1, 0.5, 0.3, 0.01, 0.1), number)}


def levels(number: int, rng: Rng) -> Options:
    return {**_pick(LENSES[:3] + LENSES[9:], number), **_pick(({}, {"levels": 4}, {"levels": 1}), number)}


def by_true_class(number: int, rng: Rng) -> Options:
    return dict(_pick(({}, {"lens": "top_label"}, {"lens": "class:1"}, {"lens": "rank:2"}), number))


def debiased(number: int, rng: Rng) -> Options:
    return {**equal_mass(number, rng), "single": _pick(("keep", "zero", "keep", "raise"), number)}


def debiased_root(number: int, rng: Rng) -> Options:
    return {**debiased(number, rng), "clip_each": bool(number // 2 % 2)}


def debiased_search(number: int, rng: Rng) -> Options:
    return {**_pick(LENSES[:7], number), "binning": _pick(("equal_mass", "equal_width"), number // 2), "least_rows": 12}


def chi_square(number: int, rng: Rng) -> Options:
    options: list[Options] = [{}, {"bins": 4}, {"binning": "equal_width"}, {"bins": 1}, {"bins": [5, 10]}, {"bins": 40}]
    variance, style = _pick(("binomial", "exact"), number // 3), _pick(CONDITIONED, number)
    return {**_pick(LENSES, number), **_pick(options, number), "variance": variance, "style": style}


def pairs(number: int, rng: Rng) -> Options:
    options: Options = {
        "lens": _pick(("auto", "canonical", "top_label", "canonical", "classwise", "top_k:2", "class:1"), number),
        "unbiased": bool(number // 2 % 2),
        "smoothness": _pick((1, 0.25, 1, 2), number),
    }
    return {**options, **_pick(({}, {"bins": 3}, {"bins": 10}, {"bins": [2, 5]}), number // 3)}


def blocks(number: int, rng: Rng) -> Options:
    rules: list[Options] = [
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
    alpha = _pick((0.05, 0.3, 0.01), number)
    return {**_pick(LENSES, number), **_pick(rules, number), "alpha": alpha, "weight_kinds": ("none", "counts")}


def thresholded(number: int, rng: Rng) -> Options:
    rules: list[Options] = [{}, {"bins": 2}, {"bins": 5, "binning": "equal_width"}, {"bins": [2, 4]}]
    threshold, mode = _pick((0.01, 0, 0.1, 0.3, 0.125), number), _pick(("drop", "zero"), number // 2)
    lens = _pick([*COMBINATIONS, {"lens": "top_label"}, {"lens": "class:1"}], number)
    return {**lens, **_pick(rules, number // 3), "threshold": threshold, "mode": mode}


def by_rank(number: int, rng: Rng) -> Options:
    rules: list[Options] = [{}, {"bins": 2}, {"bins": 5, "binning": "equal_mass"}, {"bins": [3, 7]}]
    options = {**_pick(rules, number), "reading": _pick(("rank", "cumulative"), number // 2)}
    options = {**options, **_pick(({}, {"k": 1}, {"k": 2}), number // 3)}
    if options["reading"] == "cumulative" and "k" not in options:
        options["style"] = _pick(("smooth", "dyadic"), number)  # sums of more than two are not one rounding
    return options


def simplex(number: int, rng: Rng) -> Options:
    lens = _pick(JOINT_LENSES, number)
    options: Options = {
        "distance": _pick(("tv", "l1", "l2"), number),
        **_pick(({}, {"bins": 2}, {"bins": [1, 3]}), number // 2),
    }
    if lens is None:
        return {**options, **({"class_weight": True} if options["distance"] == "l2" else {})}
    return {**options, "lens": lens}


def equal_area(number: int, rng: Rng) -> Options:
    rules: list[Options] = [{"bins": 4}, {}, {"bins": 2}, {"bins": 1}, {"bins": [3, 9]}, {"bins": 40}]
    # Scores one rounding apart leave no room for an edge between them.
    style = _pick(CONDITIONED, number // 2)
    return {**_pick(LENSES, number), **_pick(rules, number), "norm": NORMS[rng.integers(4)], "style": style}


def widths(number: int, rng: Rng) -> Options:
    return {**_pick(LENSES, number), **_pick(({}, {"widths": [0.25, 0.1, 0.7]}, {}, {"widths": [1.0]}), number)}


def monotone(number: int, rng: Rng) -> Options:
    return {
        **_pick(LENSES, number),
        **_pick(({}, {"binning": "equal_width"}), number // 2),
        "norm": NORMS[rng.integers(4)],
    }


def soft(number: int, rng: Rng) -> Options:
    rules: list[Options] = [{}, {"bins": 5}, {"bins": 2, "temperature": 1.0}, {"bins": 4, "temperature": 1e-4}]
    options = {**_pick(LENSES[:3] + LENSES[9:], number), **_pick(rules, number // 2), "norm": _pick((2, 1, 3), number)}
    options["form"] = _pick(("soft", "soft", "label_binned"), number // 3)
    if options["form"] == "soft" and "temperature" not in options and number % 5 == 0:
        options["norm"] = "inf"
    return options


def differentiable(number: int, rng: Rng) -> Options:
    rules: list[Options] = [{}, {"bins": 2}, {"bins": 5, "bin_temperature": 0.1}, {"rank_sharpness": 3}]
    return {**_pick(({}, {"lens": "top_label"}, {}, {"lens": "classwise"}), number), **_pick(rules, number // 3)}


def log_sum_exp(number: int, rng: Rng) -> Options:
    rules: list[Options] = [
        {},
        {"bins": 2},
        {"temperature": 0.2},
        {"bins": 4, "binning": "equal_mass"},
        {"bins": [3, 5]},
    ]
    return {**_pick(({}, {}, {"lens": "top_label"}, {}, {"lens": "classwise"}), number), **_pick(rules, number // 2)}


def by_predicted_class(number: int, rng: Rng) -> Options:
    rules: list[Options] = [
        {},
        {"bins": 2, "average": "macro"},
        {"bins": 3, "binning": "equal_mass"},
        {"bins": [3, 5], "average": "macro"},
        {"bins": GIVEN_EDGES[0]},
        {"bins": "levels", "average": "macro"},
    ]
    return {**_pick(rules, number), "norm": NORMS[rng.integers(4)]}


def fuzzy(number: int, rng: Rng) -> Options:
    return {**_pick(LENSES, number), **_pick(({}, {"bins": 2}, {"bins": 1}, {"bins": [3, 10]}), number)}


def windows(number: int, rng: Rng) -> Options:
    size = _pick(({}, {"size": 1}, {"size": 3}, {"size": 7}, {"size": 1000}), number)
    return {**_pick(COMBINATIONS, number), **size, "inner": _pick(("mean_abs", "abs_mean"), number // 2)}


def neighbours(number: int, rng: Rng) -> Options:
    chosen = _pick(({}, {"neighbours": 0}, {"neighbours": 2}, {"neighbours": 5}, {"neighbours": 1000}), number)
    return {**_pick(LENSES, number), **chosen}


# Groups and features.


GROUP_LENSES: list[Options] = [{}, {"lens": "class:1"}, {"lens": "top_label"}, {"lens": "classwise"}]


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


def partitioned(number: int, rng: Rng) -> Options:
    rules: list[Options] = [{}, {"bins": 3}, {"bins": 4, "binning": "equal_mass"}, {"bins": [2, 5]}, {"bins": None}]
    options: Options = {**_pick(GROUP_LENSES, number), **_pick(rules, number // 2), "groups": draw_groups}
    if number % 3 == 1:
        options["partitions"] = lambda rng, n: [draw_numbers(rng, n), draw_groups(rng, n)]
        if number % 2:
            options["partition_weight"] = [1, 0.5, 2]
    return options


def fields(number: int, rng: Rng) -> Options:
    relative = _pick(({}, {"relative": True}, {"relative": True, "eps": 0.5}), number // 2)
    return {**_pick(GROUP_LENSES, number), **relative, "groups": draw_groups}


def variable(number: int, rng: Rng) -> Options:
    rules: list[Options] = [{}, {"bins": 3}, {"feature": 1}, {"bins": [2, 5]}]
    return {**_pick(GROUP_LENSES, number), **_pick(rules, number // 2), "features": draw_features}


def views(number: int, rng: Rng) -> Options:
    rules: list[Options] = [{}, {"bins": 3}, {"views": 5, "rng": 7}, {"views": 1, "rng": 3, "bins": 2}]
    return {**_pick(GROUP_LENSES, number), **_pick(rules, number // 2), "features": draw_features}


def proximity(number: int, rng: Rng) -> Options:
    rules: list[Options] = [
        {},
        {"bins": 3, "proximity_bins": 2},
        {"neighbours": 3, "binning": "equal_width"},
        {"proximity": draw_numbers},
        {"neighbours": 1, "proximity_bins": 4, "bins": 1},
    ]
    return {**_pick(GROUP_LENSES, number), **_pick(rules, number // 2), "features": draw_features}


MORE_OPTIONS = {
    "focal_loss": focal,
    "spherical": point,
    "ranked_probability": point,
    "ranked_log": lambda number, rng: {**point(number, rng), **_pick(({}, {"base": 2}, {"floor": 1e-6}), number)},
    "accuracy": plain_lens,
    "mean_confidence": plain_lens,
    "proportional_ece": scalar,
    "tl_ece": by_predicted_class,
    "nses": floored,
    "dawid_sebastiani": floored,
    "lp_error": normed_point,
    "l1_eps": smoothed,
    "huber": huber,
    "global_squared_bias": squared_bias,
    "expected_observed_ratio": plain_lens,
    "calibration_in_the_large": in_the_large,
    "fixed_slope_intercept": fixed_slope,
    "spiegelhalter_z": spiegelhalter,
    "rbece": balanced,
    "smbs": scalar,
    "dce": distance,
    "ece_lb": normed_equal_mass,
    "rice": width,
    "sice": levels,
    "cce": plain_lens,
    "wsmcs": by_true_class,
    "dici": equal_mass,
    "sbece": soft,
    "dece": differentiable,
    "lse_ece": log_sum_exp,
    "fce": fuzzy,
    "calbin": windows,
    "ece_knn": neighbours,
    "ce2_db": debiased,
    "drmsce": debiased_root,
    "drmsce_bcs": debiased_search,
    "ece_db": equal_mass,
    "hosmer_lemeshow": chi_square,
    "t_cal": pairs,
    "l2ce_interval": pairs,
    "tce": blocks,
    "tace": thresholded,
    "topk_ece": by_rank,
    "multiclass_ce": simplex,
    "ece_ea": equal_area,
    "ece_widths": widths,
    "ece_sweep": monotone,
    "pce": partitioned,
    "fece": fields,
    "vece": variable,
    "piece": proximity,
    "mvce": views,
}
