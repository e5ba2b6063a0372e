"""Train, tune, recalibrate and evaluate; write results.json. With --page write the page and its figures.

    python -m experiments.interventions.run [--config digits.toml] [--images FOLDER] [--small] [--out results.json] [--page]

--page trains nothing: it writes the page from the numbers that are there.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from .images import Images, Split, digits, folder, split
from .measure import measure, stability
from .pictures import draw_all
from .plan import Plan, read_plan
from .tables import page
from .train import BASE, MAPS, TRAINED, Choice, Trial, choose, histogram_folds, mapped, seen_on, taken, trial

HERE = Path(__file__).parent
RESULTS, DOCS = HERE / "results.json", HERE.parents[1] / "docs"
Say = Callable[[str], None]


class Bench:
    """The rows of every seed, and trials that are trained on them."""

    def __init__(self, plan: Plan, images: Images, device: str, say: Say) -> None:
        self.plan, self.classes, self.device, self.say = plan, len(images.names), device, say
        self.seeds: list[int] = plan.measuring["seeds"]
        self.rows: list[Split] = [split(images, seed, plan.data) for seed in self.seeds]

    def trials(self, name: str, strength: Any, rate: float, weight_decay: float) -> list[Trial]:
        """One for each seed."""
        start = time.perf_counter()
        settings = {"rate": rate, "weight_decay": weight_decay, "device": self.device}
        found = [
            trial(name, strength, rows, self.classes, self.plan, seed, settings)
            for rows, seed in zip(self.rows, self.seeds, strict=True)
        ]
        words = f"{name}, {strength}" if strength is not None else f"{name}, rate {rate}, weight decay {weight_decay}"
        self.say(f"{words}: {time.perf_counter() - start:.1f} s")
        return found

    def seen(self, trials: list[Trial]) -> tuple[float, float]:
        """Accuracy and traditional error on validation rows."""
        return seen_on([one.validation for one in trials], self.plan.measuring["bins"])


def trained(bench: Bench) -> tuple[dict[str, list[Trial]], dict[str, list[Choice]]]:
    """The base network and each intervention on training, at the strengths chosen."""
    grid = [(r, d) for r in bench.plan.network["rates"] for d in bench.plan.network["weight_decays"]]
    bases = {pair: bench.trials(BASE, None, *pair) for pair in grid}
    seen = {pair: bench.seen(trials) for pair, trials in bases.items()}
    best = max(grid, key=lambda pair: seen[pair][0])
    models = {BASE: bases[best]}
    choices = {BASE: [Choice(list(pair), *seen[pair], chosen=pair == best) for pair in grid]}
    for name, key in TRAINED.items():
        runs = [(strength, bench.trials(name, strength, *best)) for strength in bench.plan.tuning[key]]
        tried = [(strength, *bench.seen(trials)) for strength, trials in runs]
        choices[name] = choose(tried, seen[best][0], bench.plan.tuning["most_loss"])
        models[name] = next(trials for strength, trials in runs if strength == taken(choices[name]))
    return models, choices


def bins_chosen(bench: Bench, base: list[Trial]) -> list[Choice]:
    """The number of bins by the same rule; each validation row is seen by histograms fitted to the others."""
    tried = []
    for bins in bench.plan.tuning["histogram_bins"]:
        outs = [histogram_folds(one, bins) for one in base]
        tried.append((bins, *seen_on(outs, bench.plan.measuring["bins"])))
    return choose(tried, bench.seen(base)[0], bench.plan.tuning["most_loss"])


def everything(plan: Plan, images: Images, *, device: str = "cpu", say: Say = lambda words: None) -> dict[str, Any]:
    """All numbers of the experiment."""
    start = time.perf_counter()
    plan = plan.with_classes(images.names)
    bench = Bench(plan, images, device, say)
    models, choices = trained(bench)
    choices["histogram binning"] = bins_chosen(bench, models[BASE])
    shown = {name: [one.test for one in trials] for name, trials in models.items()}
    temperatures: dict[str, list[float]] = {}
    for name, (source, make) in MAPS.items():
        words = [taken(choices[name])] if name in choices else []
        pairs = [mapped(lambda make=make, words=words: make(*words), one) for one in models[source]]
        shown[name] = [out for out, _ in pairs]
        if hasattr(pairs[0][1], "temperature_"):
            temperatures[name] = [float(fitted.temperature_) for _, fitted in pairs]
    measured = {name: [measure(out.predictions(), plan) for out in outs] for name, outs in shown.items()}
    found = {
        "plan": vars(plan),
        "classes": list(images.names),
        "rows": {part: len(rows[1]) for part, rows in bench.rows[0]._asdict().items()},
        "choices": {name: [one._asdict() for one in tried] for name, tried in choices.items()},
        "temperatures": temperatures,
        "measured": measured,
        "stability": stability(shown[BASE][0].predictions(), plan.measuring["stability_draws"]),
        "seconds": round(time.perf_counter() - start),
    }
    return plainly(found)


def plainly(value: Any) -> Any:
    """Six digits, and words for numbers that JSON has not."""
    if isinstance(value, dict):
        return {str(key): plainly(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plainly(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else str(value)
    return value


def write_page(results: dict[str, Any], docs: Path = DOCS) -> None:
    """The page and its figures."""
    home = docs / "interventions"
    home.mkdir(exist_ok=True)
    draw_all(results, home)
    (docs / "interventions.md").write_text(page(results), encoding="utf-8")


def main(words: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.interventions.run", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--config", type=Path, default=HERE / "digits.toml", help="what to do; digits.toml unless given"
    )
    parser.add_argument("--images", type=Path, help="a folder with a sub-folder of images for each class")
    parser.add_argument(
        "--side", type=int, default=32, help="images of a folder are resized to this many pixels a side"
    )
    parser.add_argument("--grey", action="store_true", help="images of a folder lose their colour")
    parser.add_argument("--device", default="cpu", help="where to train")
    parser.add_argument("--small", action="store_true", help="one seed, few epochs, two strengths of each")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the numbers go, or come from")
    parser.add_argument("--page", action="store_true", help="write the page from the numbers, without training")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the page")
    given = parser.parse_args(words)
    if given.page:
        found = json.loads(given.out.read_text(encoding="utf-8"))
        if found["plan"]["hierarchy"] is None or found["plan"]["intervals"] is None:
            parser.error("--page needs results with a [hierarchy] and [intervals]")
        write_page(found, given.docs)
        return
    if given.images is not None and given.out == RESULTS:
        parser.error("--images needs --out: results.json is for the digits")
    torch.set_num_threads(1)
    plan = read_plan(given.config)
    images = digits() if given.images is None else folder(given.images, side=given.side, grey=given.grey)
    found = everything(plan.smaller() if given.small else plan, images, device=given.device, say=print)
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
