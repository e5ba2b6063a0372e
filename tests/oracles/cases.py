"""Random small problems that press where metrics break: ties, scores on edges and one step beside them, sure forecasts, weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import calibrant as cal
from tests.calling import call

STYLES = ("smooth", "ties", "edges", "sure", "dyadic")
WEIGHTS = ("none", "counts", "eighths", "real")
GIVEN_EDGES = ([0, 0.25, 0.5, 1], [0, 0.1, 0.35, 0.7, 0.9, 1])

LENSES: list[dict[str, Any]] = [
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
BINNINGS: list[dict[str, Any]] = [
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
NORMS = (1, 2, 3, "inf")


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


def draw_case(name: str, number: int, table: dict[str, Any] | None = None) -> Case:
    """Problem `number` for the metric `name`; the options run through all theirs, the data are drawn.

    An option that is a function of the generator and the number of rows is drawn once that is known.
    """
    rng = np.random.default_rng([number, *name.encode()])
    options = (OPTIONS if table is None else table)[name](number, rng)
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


def draw_probs(rng: np.random.Generator, n: int, classes: int, style: str, bins: int) -> np.ndarray:
    rows = _rows(rng, n, classes, style, bins)
    if classes > 2 or rng.random() < 0.4:
        return rows
    return np.ascontiguousarray(rows[:, 1])


def _rows(rng: np.random.Generator, n: int, classes: int, style: str, bins: int) -> np.ndarray:
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


def draw_labels(rng: np.random.Generator, probs: np.ndarray) -> list[int]:
    """Half of the labels follow the forecast, the others come from anywhere."""
    rows = probs if probs.ndim == 2 else np.column_stack([1 - probs.astype(float), probs])
    classes = rows.shape[1]
    shares = rows.astype(float) / rows.astype(float).sum(axis=1, keepdims=True)
    follow = np.array([rng.choice(classes, p=share) for share in shares])
    return np.where(rng.random(len(rows)) < 0.5, follow, rng.integers(0, classes, len(rows))).tolist()


def _pick(choices: Any, number: int) -> Any:
    return choices[number % len(choices)]


def _scalar(number: int, rng: np.random.Generator) -> dict[str, Any]:
    # 12 lenses and 11 binnings have no common divisor, so a long run meets every pair.
    return {**_pick(LENSES, number), **_pick(BINNINGS, number)}


def _with_norm(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_scalar(number, rng), "norm": NORMS[rng.integers(4)]}


def _equal_mass(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_pick(LENSES, number), "bins": _pick((1, 2, 4, 7, 15), number), "norm": NORMS[rng.integers(4)]}


def _classwise(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_pick(COMBINATIONS, number), **_pick(BINNINGS, number), "norm": NORMS[rng.integers(4)]}


def _adaptive(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_pick(COMBINATIONS, number), "bins": _pick((1, 2, 4, 7, 15), number), "norm": NORMS[rng.integers(4)]}


def _mce(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_scalar(number, rng), "min_count": _pick((0, 0, 1, 2, 5), number)}


def _esce(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_scalar(number, rng), "representative": _pick(("mean", "midpoint"), number // 2)}


def _area(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_scalar(number, rng), "measure": _pick(("density", "lebesgue"), number // 2)}


POINT_LENSES: list[dict[str, Any]] = [{}, {}, {"lens": "class:1"}, {"lens": "top_label"}, {"lens": "classwise"}]


def _brier(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_pick(POINT_LENSES, number), "scale": _pick(("auto", "half", "sum", "per_class"), number)}


def _nll(number: int, rng: np.random.Generator) -> dict[str, Any]:
    floor, base = _pick((None, 1e-15, 0.01, 0.3), number), _pick((None, 2, 10), number)
    return {**_pick(POINT_LENSES, number), "floor": floor, "base": base}


def _ecd(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_pick(POINT_LENSES, number), "multiclass": _pick(("full", "true_vs_rest"), number)}


def _mdca(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {}


INEXACT = ("wilcox_variation_ratio", "avdev", "mndif", "stdev")
VARIATIONS = ("entropy", "confidence", "freeman_variation_ratio", "iqv", "gini", "varnc", "hrel", *INEXACT)


def _vce(number: int, rng: np.random.Generator) -> dict[str, Any]:
    variation = _pick(VARIATIONS, number)
    options = {"variation": variation, **_pick(JOINT_BINNINGS, number), "norm": NORMS[rng.integers(4)]}
    if variation in INEXACT:
        # Dividing by K - 1 rounds, so that a value may miss an edge or a tie.
        options["style"] = "smooth"
    elif variation not in ("confidence", "freeman_variation_ratio"):
        # A sum of squared tenths may miss an edge by its rounding alone; eighths are exact and meet edges too.
        options["style"] = str(rng.choice(["smooth", "ties", "sure", "dyadic"]))
    return options


def _vce_db(number: int, rng: np.random.Generator) -> dict[str, Any]:
    options = {name: value for name, value in _vce(number, rng).items() if name != "norm"}
    return {**options, "n_draws": _pick((2, 3, 7), number), "rng": number}


def _uce(number: int, rng: np.random.Generator) -> dict[str, Any]:
    return {**_pick(JOINT_BINNINGS, number), "style": _pick(("smooth", "ties", "sure", "dyadic"), number)}


JOINT_BINNINGS: list[dict[str, Any]] = [
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


def _gece(number: int, rng: np.random.Generator) -> dict[str, Any]:
    lens = _pick(JOINT_LENSES, number)
    options: dict[str, Any] = {
        "distance": _pick(("tv", "l1", "l2"), number),
        "gamma": _pick((0.1, 0.25, 0.02, 0.5), number),
        "min_size": _pick((1, 2, 4, 10, 3), number),
        "bins": _pick((15, 4, 10), number),
    }
    if lens is None or isinstance(lens, list) or lens == "top_k:2":
        del options["bins"]  # a tree takes none
        # A tree over rows that differ by rounding alone would cut noise; one step beside is tried on its median by itself.
        options["style"] = _pick(("smooth", "ties", "dyadic", "certain"), number)
    else:
        del options["gamma"], options["min_size"]  # without a tree they have no effect, which is an error
    if lens is None:
        return {**options, **({"class_weight": True} if options["distance"] == "l2" else {})}
    return {**options, "lens": lens}


def _gece_db(number: int, rng: np.random.Generator) -> dict[str, Any]:
    options = _gece(number, rng)
    options.pop("class_weight", None)
    return {**options, "distance": _pick(("tv", "l1"), number), "weight_kinds": ("none", "counts")}


OPTIONS = {
    "ece": _with_norm,
    "rmsce": _with_norm,
    "mce": _mce,
    "ece_em": _equal_mass,
    "cwce": _classwise,
    "ace": _adaptive,
    "esce": _esce,
    "abc_above": _area,
    "abc_below": _area,
    "brier": _brier,
    "root_brier": _brier,
    "nll": _nll,
    "ecd": _ecd,
    "mdca": _mdca,
    "vce": _vce,
    "vce_db": _vce_db,
    "uce": _uce,
    "gece": _gece,
    "gece_db": _gece_db,
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
