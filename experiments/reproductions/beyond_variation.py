"""VCE with all eleven measures of variation: power against ECE and UCE under designed miscalibration, and its decay over rows and classes."""

from typing import Any, get_args

import numpy as np

import calibrant as cal
from calibrant.metrics.bin.variation import Variation
from experiments.reproductions.study import Part, Table
from experiments.studies import draw_labels

MEASURES = get_args(Variation)
Rng = np.random.Generator


def designs(p: Any) -> dict[str, Any]:
    """True probabilities for these predictions: the largest probability is right or wrong, or only what lies below it."""
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    rest = ranked[:, 1:]
    flat = np.column_stack([ranked[:, 0], 0.5 * rest + 0.5 * rest.mean(axis=1, keepdims=True)])
    lower = np.empty_like(p)
    np.put_along_axis(lower, order, flat, axis=1)
    extreme = p**0.8 / (p**0.8).sum(axis=1, keepdims=True)
    swapped = 0.85 * p + 0.15 * np.roll(p, 1, axis=1)
    return {"calibrated": p, "too extreme": extreme, "only below the top wrong": lower, "classes confused": swapped}


def rejections(rng: Rng, n: int, classes: int) -> dict[tuple[str, str], bool]:
    """Which tests at 5% reject which design: one data set of each."""
    p = rng.dirichlet(np.ones(classes), n)
    found = {}
    for design, truth in designs(p).items():
        y, seed = draw_labels(truth, rng), int(rng.integers(1 << 31))
        tests = {"ece": {"metric": "ece"}, "uce": {"metric": "uce"}}
        tests |= {f"vce {name}": {"metric": "vce", "variation": name} for name in MEASURES}
        for name, options in tests.items():
            tested = cal.assess(y, p, n_resamples=99, rng=seed, method="consistency", **options)
            found[design, name] = bool(tested.rejected)
    return found


def power_table(runs: int, n: int, classes: int) -> Table:
    """Share of rejections by test and design."""
    every = [rejections(np.random.default_rng([1, run]), n, classes) for run in range(runs)]
    rows = list(dict.fromkeys(name for _, name in every[0]))
    columns = list(dict.fromkeys(design for design, _ in every[0]))
    lines = [
        [
            name.replace("_", " "),
            *(round(float(np.mean([run[design, name] for run in every])), 3) for design in columns),
        ]
        for name in rows
    ]
    return Table(["test", *columns], lines)


def rate_table(runs: int, sizes: tuple[int, ...], classes: tuple[int, ...]) -> Table:
    """Mean of calibrated predictions at the smallest and largest number of rows, and the exponent of its decay with its interval over runs."""
    lines: list[list[Any]] = []
    measures = {"ece": cal.ece} | {
        f"vce {name}": (lambda y, p, name=name: cal.vce(y, p, variation=name, bins=10)) for name in MEASURES
    }
    for k in classes:
        values = np.empty((len(measures), runs, len(sizes)))
        for run in range(runs):
            for place, n in enumerate(sizes):
                rng = np.random.default_rng([2, k, n, run])
                p = rng.dirichlet(np.ones(k), n)
                data = cal.Predictions(draw_labels(p, rng), p)
                values[:, run, place] = [metric(data, None) for metric in measures.values()]
        x = np.log(sizes) - np.log(sizes).mean()
        slopes = np.log(values) @ x / (x @ x)
        for name, own, slope in zip(measures, values, slopes, strict=True):
            half = 1.96 * float(slope.std(ddof=1)) / runs**0.5
            interval = f"{slope.mean():.2f} [{slope.mean() - half:.2f}, {slope.mean() + half:.2f}]"
            lines.append([k, name.replace("_", " "), *(round(float(mean), 4) for mean in own.mean(axis=0)), interval])
    return Table(["classes", "error", *(f"{n:,} rows" for n in sizes), "exponent [95% interval]"], lines)


def parts(small: bool) -> list[Part]:
    """Power, then rates."""
    runs, n, classes = (2, 100, 4) if small else (60, 400, 5)
    repeats, sizes, several = (2, (100, 200), (3,)) if small else (10, (1000, 4000, 16_000), (3, 10, 50))
    error = round((0.25 / runs) ** 0.5, 3)
    power = Part(
        "power",
        tables=[power_table(runs, n, classes)],
        values={"runs": runs, "n": n, "classes": classes, "error": error},
    )
    return [power, Part("rate", tables=[rate_table(repeats, sizes, several)], values={"runs": repeats})]
