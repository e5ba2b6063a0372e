"""How far the error depends on the size of cells and on the number of rows: bootstrap means and intervals."""

import math
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.figures.stability import stability_diagram
from calibrant.util.arrays import Floats
from experiments.reproductions import practical_pictures as pictures_of
from experiments.reproductions.practical_sets import C100, LENET, Source, read, split
from experiments.reproductions.study import Part, Row, Table
from experiments.studies import draw_labels

FULL, TOP = "full", "top-1"
CURVES: tuple[tuple[Source, str], ...] = ((C100, FULL), (LENET, FULL), (LENET, TOP))
GAMMAS = tuple(2.0**-k for k in range(1, 7))
FRACTION_GAMMAS = (0.25, 0.1)


def title_of(source: Source, lens: str) -> str:
    """What a curve is called."""
    return f"{source.title}, {lens}"


def predictions(data: Path, source: Source, lens: str, rows: int | None) -> cal.Predictions:
    """The network as trained on the rows of the first split; for the top-1 lens, whether it was right and how "
    "sure it was."""
    _, held = split(read(data, source), 0, rows)
    once = np.ones(len(held.labels), np.int64)
    if lens == FULL:
        return cal.Predictions(held.labels, held.probs, counts=once)
    right = (held.probs.argmax(axis=1) == held.labels).astype(int)
    return cal.Predictions(right, np.clip(held.probs.max(axis=1), 0, 1), counts=once)


def lens_words(lens: str) -> str:
    """The lens by the name that metrics know it by."""
    return "canonical" if lens == FULL else "binary"


def redrawn(p: cal.Predictions, lens: str, gamma: float, fractions: tuple[float, ...], draws: int) -> dict[str, Any]:
    """Mean, standard deviation and 95% interval over resamples, for each share of the rows.

    Rows carry counts of 1, so that a row drawn twice is one row that counts twice: the same cells and errors, faster.
    """
    options: dict[str, Any] = {"binning": cal.KDTree(gamma=gamma), "lens": lens_words(lens), "n_resamples": draws}
    shown = stability_diagram(p, metric="gece", over="fraction", values=fractions, rng=0, **options)
    names = {"mean": shown.metric_value, "spread": shown.spread, "low": shown.low, "high": shown.high}
    return {name: values.tolist() for name, values in names.items()}


def over_gamma(p: cal.Predictions, lens: str, gammas: tuple[float, ...], draws: int) -> dict[str, Any]:
    """At each gamma: the error of all rows, that of labels drawn from the probabilities, and the bootstrap."""
    found: dict[str, Any] = {"gamma": list(gammas), "value": [], "chance": [], "mean": [], "spread": []}
    found |= {"low": [], "high": []}
    for gamma in gammas:
        tree = cal.KDTree(gamma=gamma)
        found["value"].append(cal.gece(p, lens=lens_words(lens), binning=tree))
        found["chance"].append(chance(p, lens, tree, 3 if draws < 100 else 20))
        for name, values in redrawn(p, lens, gamma, (1.0,), draws).items():
            found[name].append(values[0])
    return found


def chance(p: cal.Predictions, lens: str, tree: cal.KDTree, draws: int) -> float:
    """The mean error where labels are drawn from the probabilities."""
    rng = np.random.default_rng(0)
    probs = np.asarray(p.probs, dtype=np.float64)
    both = probs if probs.ndim == 2 else np.column_stack([1 - probs, probs])
    lots = [p.with_labels(draw_labels(both, rng)) for _ in range(draws)]
    return float(np.mean([cal.gece(lot, lens=lens_words(lens), binning=tree) for lot in lots]))


def measure_stability(data: Path, small: bool) -> dict[str, Any]:
    """All curves: over gamma, and over the share of the rows."""
    draws, rows = (6, 600) if small else (1000, None)
    gammas = GAMMAS[::2] if small else GAMMAS
    fractions = (0.1, 0.4, 1.0) if small else tuple(k / 10 for k in range(1, 11))
    found: dict[str, Any] = {"draws": draws, "fractions": list(fractions), "gamma": {}, "fraction": {}}
    for source, lens in CURVES:
        p = predictions(data, source, lens, rows)
        found["rows"] = p.n
        found["gamma"][title_of(source, lens)] = over_gamma(p, lens, gammas, draws)
        if source is LENET:
            for gamma in FRACTION_GAMMAS:
                name = f"{title_of(source, lens)}, gamma {gamma:g}"
                found["fraction"][name] = redrawn(p, lens, gamma, fractions, draws)
    return found


def steps(curve: dict[str, Any]) -> Floats:
    """How much the error grows, as a part of itself, when gamma is halved."""
    value = np.array(curve["value"])
    return value[1:] / value[:-1] - 1


def stability_part(found: dict[str, Any], pictures: Path) -> Part:
    """The error against gamma and against the share of the rows."""
    pictures_of.gamma_curves(found["gamma"], pictures / "practical_gamma.png")
    tables = [
        Table(
            (name, "the rows as they are", "by chance", "bootstrap mean", "95%", "standard deviation", "growth"),
            gamma_lines(curve),
        )
        for name, curve in found["gamma"].items()
    ]
    shares = [f"{share:g}" for share in found["fractions"]]
    lines = [[name, *(round(value, 4) for value in curve["spread"])] for name, curve in found["fraction"].items()]
    tables.append(Table(("standard deviation, at a share of the rows of", *shares), lines))
    caption = "The error against gamma; the dashed line is 2^-4, where the paper sees it stabilise."
    numbers = {"rows": f"{found['rows']:,}", "draws": f"{found['draws']:,}"}
    return Part("stability", stability_rows(found), tables, [("practical_gamma.png", caption)], numbers)


def gamma_lines(curve: dict[str, Any]) -> list[list[Any]]:
    """A line for each gamma."""
    growth = ["", *(f"{round(100 * step)}%" for step in steps(curve))]
    return [
        [
            f"gamma = 2^{np.log2(gamma):.0f}",
            *(round(curve[key][place], 4) for key in ("value", "chance", "mean")),
            f"{curve['low'][place]:.4f} to {curve['high'][place]:.4f}",
            round(curve["spread"][place], 4),
            growth[place],
        ]
        for place, gamma in enumerate(curve["gamma"])
    ]


def stability_rows(found: dict[str, Any]) -> list[Row]:
    """What the paper says of its own curves in numbers, beside ours."""
    note = "another network"
    curve = found["gamma"][title_of(C100, FULL)]
    near = curve["gamma"].index(min(curve["gamma"], key=lambda gamma: abs(gamma - 2**-4)))
    rows = [
        Row(
            "full error at gamma = 2^-4, CIFAR-100",
            0.14,
            curve["value"][near],
            note=f"{note}; about, and the set is not named: open",
        ),
        Row("the same, bootstrap mean", 0.14, curve["mean"][near], curve["spread"][near], note),
    ]
    spread_over_gamma = "largest less smallest full error over gamma, CIFAR-100"
    for key, what in (("value", spread_over_gamma), ("mean", "the same, bootstrap means")):
        rows.append(Row(what, 0.08, float(np.ptp(curve[key])), note=f"{note}; {inner_range(curve, key)}"))
    for name, line in found["fraction"].items():
        rows.append(
            Row(f"largest standard deviation over shares: {name}", 0.01, max(line["spread"]), note=enough(found, line))
        )
    return rows


def inner_range(curve: dict[str, Any], key: str) -> str:
    """How far apart the errors are without the largest and the smallest gamma."""
    inner = curve[key][1:-1]
    ends = f"2^{math.log2(curve['gamma'][1]):.0f} and 2^{math.log2(curve['gamma'][-2]):.0f}"
    return f"{np.ptp(inner):.3f} between gamma = {ends}; the paper's gammas are open"


def enough(found: dict[str, Any], line: dict[str, Any]) -> str:
    """From how many rows on the standard deviation is below 0.01."""
    below = [share for share, spread in zip(found["fractions"], line["spread"], strict=True) if spread < 0.01]
    rows = f"from {min(below) * found['rows']:,.0f} rows on" if below else "at no share"
    return f"published: below; here below {rows}; the paper's number of rows is open"


def sensitivity(found: dict[str, Any], lens: str) -> float:
    """How many times larger the standard deviation is at the least share of the rows than with all, mean over "
    "gammas."""
    ratios = [
        line["spread"][0] / line["spread"][-1] for name, line in found["fraction"].items() if f", {lens}," in name
    ]
    return float(np.mean(ratios))


def gamma_spread(found: dict[str, Any], lens: str, place: int) -> float:
    """How far the standard deviations of two gammas are apart at one share of the rows."""
    values = [line["spread"][place] for name, line in found["fraction"].items() if f", {lens}," in name]
    return float(np.ptp(values))
