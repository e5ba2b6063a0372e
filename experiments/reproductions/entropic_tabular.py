"""Table 1 and figure 1: a small network on Adult income and Telco churn, bare and with two maps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant.util.arrays import Array
from experiments.reproductions import entropic_verdicts as judging
from experiments.reproductions.entropic_nets import train
from experiments.reproductions.entropic_rows import ADULT, FACTS, TELCO, Source, Split, read, split
from experiments.reproductions.study import Part, Row, Table

MAPS = ("none", "Platt", "isotonic")
METRICS = ("ECE", "MCE", "ECD")


class Plan(NamedTuple):
    """How much is done."""

    seeds: int = 10
    few_seeds: int = 3
    epochs: int = 100
    batch: int = 256
    small_batch: int = 32
    draws: int = 199
    sets: int = 400
    most: int | None = None


SMALL = Plan(seeds=2, few_seeds=1, epochs=2, batch=64, draws=19, sets=8, most=200)

PUBLISHED = {tuple(name.split(", ")): values for name, values in FACTS["tabular"].items()}


class Run(NamedTuple):
    """One network and one map: labels and probabilities of the test rows, and what was found."""

    y: Array
    prob: Array
    raw: Array
    """Before 0 and 1 were kept apart from the others."""
    bins: int
    ways: judging.Ways
    ecd: judging.Verdict


class Results(NamedTuple):
    """All runs on one table."""

    source: Source
    rows: Split
    trained: Array
    """Log-odds of the rows held out: seed, row."""
    few: Array
    runs: dict[str, list[Run]]

    def test(self, trained: Array) -> tuple[Array, Array]:
        """Labels and probabilities of the test rows, seed first."""
        logits = trained[:, self.rows.fitted :]
        return self.rows.held_labels[: len(logits), self.rows.fitted :], judging.kept_inside(1 / (1 + np.exp(-logits)))


def mapped(name: str, logits: Array, y: Array, test: Array) -> Array:
    """Probabilities of the test rows after recalibration on held-out rows."""
    if name == "none":
        return np.asarray(1 / (1 + np.exp(-test)))
    kind = cal.PlattScaling if name == "Platt" else cal.IsotonicCalibration
    return np.asarray(kind(input="logit").fit(logits, y).predict_proba(test)[:, 1])


def look(y: Array, raw: Array, draws: int, seed: int) -> Run:
    """Everything that is asked of one set of probabilities."""
    prob = judging.kept_inside(raw)
    ecd = judging.assessed(y, prob, "ecd", draws, seed)
    return Run(y, prob, raw, judging.adaptive_bins(y, prob), judging.every_way(y, prob, draws, seed), ecd)


def measure(source: Source, folder: Path, plan: Plan) -> Results:
    """Train, recalibrate, evaluate."""
    columns = read(source, folder, plan.most)
    rows = split(columns, plan.seeds)
    trained = train(rows, epochs=plan.epochs, batch=plan.batch)
    some = split(columns, plan.few_seeds)
    few = train(some, epochs=plan.epochs, batch=plan.small_batch)
    runs: dict[str, list[Run]] = {name: [] for name in MAPS}
    for seed, (logits, y) in enumerate(zip(trained, rows.held_labels, strict=True)):
        at = rows.fitted
        for name in MAPS:
            runs[name].append(look(y[at:], mapped(name, logits[:at], y[:at], logits[at:]), plan.draws, seed))
    return Results(source, rows, trained, few, runs)


def table_rows(results: Results) -> list[Row]:
    """Scores and thresholds beside those of Table 1."""
    rows: list[Row] = []
    for name, runs in results.runs.items():
        ours: dict[str, dict[str, Sequence[judging.Verdict]]] = {
            metric: {f"bins {way}": [run.ways[way][metric] for run in runs] for way in (judging.HELD, judging.ANEW)}
            for metric in METRICS[:2]
        }
        ours["ECD"] = {"": [run.ecd for run in runs]}
        for metric, published in zip(METRICS, PUBLISHED[results.source.name, name], strict=True):
            rows += judging.score_rows(
                f"{results.source.name}, {name}: {metric}", judging.Published(*published), ours[metric]
            )
    return rows


def bins_table(all_results: Sequence[Results]) -> Table:
    """What the number of bins does to scores, thresholds and verdicts."""
    lines: list[list[Any]] = []
    for results in all_results:
        for name, runs in results.runs.items():
            for way in (judging.HELD, judging.ANEW, judging.FIXED):
                found = [run.ways[way] for run in runs]
                line: list[Any] = [results.source.name, name, way]
                for metric in METRICS[:2]:
                    own = [verdicts[metric] for verdicts in found]
                    line += [
                        judging.mean([v.score for v in own]),
                        judging.mean([v.threshold for v in own]),
                        judging.rejections(own),
                    ]
                lines.append([*line, " ".join(str(run.bins) for run in runs) if way == judging.HELD else ""])
    heads = [f"{metric}{what}" for metric in METRICS[:2] for what in ("", " threshold", " rejects")]
    return Table(["", "calibrator", "number of bins", *heads, "bins found, each seed"], lines)


def held_bins_size(run: Run, sets: int, draws: int) -> float:
    """How often ECE rejects labels drawn from the scores if T-Cal's number of bins is found on them and then held."""
    rng = np.random.default_rng(5)
    limits: dict[int, float] = {}
    rejected = 0
    for y in (rng.random((sets, len(run.prob))) < run.prob).astype(int):
        bins = judging.adaptive_bins(y, run.prob)
        if bins not in limits:
            limits[bins] = judging.assessed(y, run.prob, "ece", draws, 0, bins=bins).threshold
        rejected += int(cal.ece(y, run.prob, bins=bins) > limits[bins])
    return rejected / sets


def size_table(all_results: Sequence[Results], plan: Plan) -> Table:
    """That share for the Platt-scaled scores of the first seed."""
    lines = [
        [results.source.name, plan.sets, held_bins_size(results.runs["Platt"][0], plan.sets, plan.draws), 0.05]
        for results in all_results
    ]
    return Table(["", "calibrated sets of labels", "rejected with fixed bins", "should be"], lines)


def floor_table(all_results: Sequence[Results]) -> Table:
    """ECD after isotonic regression, which predicts 0 and 1, for several clipping values."""
    floors = (1e-3, 1e-5, 1e-7, 1e-12)
    lines: list[list[Any]] = []
    for results in all_results:
        runs = results.runs["isotonic"]
        infinite = sum(not np.isfinite(cal.ecd(run.y, run.raw)) for run in runs)
        values = [
            judging.mean([cal.ecd(run.y, judging.kept_inside(run.raw, floor)) for run in runs]) for floor in floors
        ]
        lines.append([results.source.name, f"{infinite} of {len(runs)}", *values])
    return Table(["", "infinite without a floor", *(f"floor {floor:g}" for floor in floors)], lines)


def training_table(all_results: Sequence[Results], plan: Plan) -> Table:
    """The network as it is: what the size of batches does."""
    lines: list[list[Any]] = []
    for results in all_results:
        for batch, trained in ((plan.batch, results.trained), (plan.small_batch, results.few)):
            labels, probs = results.test(trained)
            pairs = list(zip(labels, probs, strict=True))
            ece, ecd = ([metric(y, p) for y, p in pairs] for metric in (cal.ece, cal.ecd))
            right = judging.mean([float(((p > 0.5) == y).mean()) for y, p in pairs])
            lines.append(
                [
                    results.source.name,
                    batch,
                    len(pairs),
                    right,
                    judging.mean(ece),
                    judging.spread(ece),
                    judging.mean(ecd),
                    judging.spread(ecd),
                ]
            )
    columns = ["", "rows in a batch", "seeds", "accuracy", "ECE, 15 bins", "± over seeds", "ECD", "± over seeds"]
    return Table(columns, lines)


def rows_implied(all_results: Sequence[Results]) -> Table:
    """How many test rows the published thresholds of ECD speak for: they shrink with the root of that number."""
    lines: list[list[Any]] = []
    for results in all_results:
        for name, runs in results.runs.items():
            printed = PUBLISHED[results.source.name, name][2][1]
            own = float(
                np.mean([cal.assess(run.y, run.prob, metric="ecd", method="normal").critical_value for run in runs])
            )
            n = len(runs[0].y)
            lines.append([results.source.name, name, printed, own, n, round(n * (own / printed) ** 2)])
    return Table(
        ["", "calibrator", "threshold published", "ours", "our test rows", "rows that would give the published one"],
        lines,
    )


def draw_reliability(all_results: Sequence[Results], path: Path) -> None:
    """Figure 1: the first seed, the probability of class 1."""
    panels = {results.source.name: {name: runs[0] for name, runs in results.runs.items()} for results in all_results}
    axes = {"xlabel": "mean probability of class 1", "ylabel": "share of class 1"}
    judging.draw_reliability(panels, path, (9, 4.4), bins=10, least=1, **axes)


def part(all_results: Sequence[Results], plan: Plan, pictures: Path) -> Part:
    """Table 1 and figure 1."""
    draw_reliability(all_results, pictures / "entropic_reliability.png")
    rows = [row for results in all_results for row in table_rows(results)]
    shown = [
        ("entropic_reliability.png", "Reliability of the first seed's network, with and without maps; 10 equal bins.")
    ]
    chosen = {name: getattr(plan, name) for name in ("epochs", "batch", "seeds", "draws")}
    values = chosen | {"few": judging.few_draws(plan.draws), "floor": f"{judging.FLOOR:g}"}
    return Part("binary", rows, pictures=shown, values=values)


def reasons(all_results: Sequence[Results], plan: Plan) -> Part:
    """What the choices that the paper leaves open do to the numbers."""
    tables = [
        training_table(all_results, plan),
        bins_table(all_results),
        size_table(all_results, plan),
        floor_table(all_results),
        rows_implied(all_results),
    ]
    return Part("choices", tables=tables)


def run(small: bool, folder: Path) -> tuple[list[Results], Plan]:
    """Both tables."""
    plan = SMALL if small else Plan()
    return [measure(source, folder, plan) for source in (ADULT, TELCO)], plan
