"""Write docs/metrics/: one page for each metric of the catalogue, an index by family, and the pictures they share.

`--times` measures the metrics first and keeps what it finds in metric_times.json, which the pages quote; a new metric is measured anyway.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import time
from functools import cache
from pathlib import Path

import numpy as np

import calibrant as cal
import metric_pictures
from calibrant.metrics.references import references
from calibrant.metrics.signature import EXPLAIN
from make_gallery import plain_settings, png_of

TOOLS = Path(__file__).parent
FOLDER = TOOLS.parent / "docs" / "metrics"
TIMES = TOOLS / "metric_times.json"
# What the example passes to metrics that ask for more than labels and probabilities.
EXAMPLES = {"groups": ["a", "a", "b", "b"], "features": [1.0, 2.0, 3.0, 4.0]}
FOUR: tuple[list[float], list[float]] = ([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
TWENTY: tuple[list[float], list[float]] = ([0, 1, 0, 1, 1] * 4, [0.1, 0.4, 0.6, 0.8, 0.9] * 4)
TIMED_ROWS, TIMED_CLASSES = 10_000, 10

ROWS = """\
All pictures show the same 600 rows of three classes. The model is nearly calibrated in group a and far too confident in group b, so
that it is overconfident on the whole. Formulas are written for rows of equal weight; with weights, sums over rows are weighted."""

# Symbols that formulas share: explained on a page where its formula has them.
SYMBOLS = (
    (r"[py]_[ij](?![a-z{])", "$p_i$ and $y_i$ are the score and the outcome (0 or 1) of row $i$"),
    (r"[py]_\{\([ij]\)\}", "$p_{(i)}$ and $y_{(i)}$ are score and outcome (0 or 1) in rising order of score"),
    (r"\bN\b", "$N$ is the number of rows"),
    (
        r"p_\{i[kjl]\}|p_\{i \\cdot\}",
        "$p_{ik}$ is the probability that row $i$ gives class $k$ of $K$, and $y_{ik}$ is 1 for its true class and 0 for the others",
    ),
    (r"p_\{i c_i\}", "$c_i$ is the true class of row $i$"),
    (
        r"\\bar [py]_m(?![a-z{^])",
        r"$n_m$ rows are in bin $m$ of $M$, with mean score $\bar p_m$ and outcome rate $\bar y_m$",
    ),
)
GROWTH = {
    "N": "the number of rows",
    "N K": "rows times classes",
    "N log N": "N log N, a sort of the rows",
    "N K log N": "N log N for each class, a sort of the rows",
    "N log N per step": "N log N for each step of a fit or search",
    "N K log N per step": "N log N for each class and each step of a fit",
    "N^2": "the square of the rows",
    "N^2 K": "the square of the rows, times classes",
    "N^2 K or a sort": "the square of the rows, times classes; N log N for two classes",
    "N^2 K in parts": "the square of the rows, times classes, up to some seconds; beyond that the rows are taken in parts",
    "N K by landmarks": "rows times classes, with a large constant",
    "a linear program": "a linear program over the distinct scores, of at most 2000 places",
}


def shown(value: float) -> str:
    """A bound or an ideal value for reading."""
    return "∞" if value == math.inf else "-∞" if value == -math.inf else f"{value:g}"


@cache
def formulas() -> dict[str, str]:
    """The formula of each metric with its own symbols, as Markdown, by id."""
    found: dict[str, str] = {}
    for path in sorted((TOOLS / "formulas").glob("*.md")):
        parts = re.split(r"^## (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        found.update({id: text.strip() for id, text in zip(parts[::2], parts[1::2], strict=True)})
    return found


@cache
def times() -> dict[str, float]:
    """Milliseconds of processor time that each metric took when it was last measured."""
    return json.loads(TIMES.read_text(encoding="utf-8"))


def symbols(formula: str) -> str:
    """A sentence for the shared symbols of a formula, after those it explains itself."""
    own = [text for pattern, text in SYMBOLS if re.search(pattern, formula)]
    return f"Here {'; '.join(own)}." if own else ""


def sentence(text: str) -> str:
    """A phrase with a capital and a stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def bullets(phrases: str) -> list[str]:
    """Phrases between semicolons, one to a line."""
    return [f"- {sentence(phrase)}" for phrase in phrases.split("; ")] + [""]


def reaches(metric: cal.metrics.Metric) -> str:
    """Which forecasts reach the ideal, no more than its fact says."""
    if metric.ideal_for == "calibrated":
        given = {"groups": " in every group", "features": " whatever the features"}
        where = "".join(given.get(need, "") for need in metric.needs)
        forecasts = f"forecasts that are calibrated{where}" if where else "calibrated forecasts"
        return f"{forecasts} reach it, up to chance"
    if metric.ideal_for == "nothing":
        return "calibrated forecasts need not reach it"
    # A mean of losses over rows is 0 only where each of them is; a part of the rows may reach what is infinite.
    if metric.family == "point" and metric.ideal is not None and math.isfinite(metric.ideal):
        return "only forecasts that are sure and right reach it"
    return "forecasts that are sure and right reach it; calibrated ones need not"


def sign(metric: cal.metrics.Metric) -> str:
    """What the side of the ideal says, in a sentence."""
    if not metric.signed:
        return ""
    if metric.sides is None:
        return " Values lie on both sides of it; the sign alone does not say that forecasts are too high or too low."
    return f" Above it {metric.sides[0]}; below it {metric.sides[1]}."


def meaning(metric: cal.metrics.Metric) -> list[str]:
    """What a value says, and what speaks for the metric."""
    low, high = metric.range
    ideal = (
        f"The ideal is {shown(metric.ideal)}: {reaches(metric)}." if metric.ideal is not None else "No value is ideal."
    )
    values = f"Values lie in [{shown(low)}, {shown(high)}]."
    return [f"{metric.summary} {values} {ideal}{sign(metric)}", "", *bullets(metric.pros)]


def _short(values: list[float]) -> str:
    """A list as typed: one that repeats itself is written so."""
    once = values[: len(values) // 4]
    return f"{once} * 4" if len(once) > 1 and once * 4 == values else str(values)


def example(metric: cal.metrics.Metric) -> list[str]:
    """Code on four rows, and the picture of the family with the value for its rows."""
    words = {word: EXAMPLES[word] for word in metric.needs if word in EXAMPLES}
    y_true, y_prob = FOUR
    try:
        value = metric(y_true, y_prob, **words)
    except cal.UndefinedMetricError:  # too few rows, or outcomes that a threshold separates
        y_true, y_prob = TWENTY
        value = metric(y_true, y_prob, **words)
    given = "".join(f", {word}={json.dumps(what)}" for word, what in words.items())
    lines = ["```python", "import calibrant as cal", "", f"y_true = {_short(y_true)}", f"y_prob = {_short(y_prob)}"]
    lines += [f"cal.{metric.id}(y_true, y_prob{given})  # {value:.6g}", "```", ""]
    picture, data = metric_pictures.picture_of(metric), metric_pictures.rows()
    words = metric_pictures.words_of(metric)
    found = float(metric(data.y_true, data.y_prob, **words))
    call = f"cal.{metric.id}(y_true, y_prob{''.join(f', {word}={word}' for word in words)})"
    lines += [f"![{metric.name}](pictures/{picture.name}.png)", "", picture.look, ""]
    where = "The picture shows [600 rows of an overconfident model](index.md#the-rows-in-the-pictures)"
    return [*lines, f"{where}; on them `{call}` is **{found:.4g}**.", ""]


def facts(metric: cal.metrics.Metric) -> list[str]:
    """The entry of the catalogue as a table."""
    low, high = metric.range
    weights = [word for word, has in (("counts", metric.counts), ("sample_weight", metric.importance)) if has]
    rows = {
        "range": f"[{shown(low)}, {shown(high)}]",
        "ideal": "none" if metric.ideal is None else shown(metric.ideal),
        "family": f"{metric.family}, {metric.subfamily}",
        "also called": ", ".join(metric.aliases) or "-",
        "lens": f"`{metric.lens}`",
        "sign": {"nothing": "on both sides, without a direction"}.get(metric.sign_of, f"of {metric.sign_of}")
        if metric.signed
        else "none",
        "proper": metric.proper,
        "tests": ", ".join(f"`{method}`" for method in metric.tests) or "none of its own; `assess` simulates outcomes",
        "weights": ", ".join(weights) or "none",
        "soft labels": "yes" if metric.soft else "no",
        "needs": ", ".join(metric.needs) or "labels and probabilities",
        "definition": metric.certainty,
    }
    return ["| | |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in rows.items()), ""]


def options(metric: cal.metrics.Metric) -> list[str]:
    """The keywords of the metric's own."""
    own = [
        f"- `{word}={value!r}`: {metric.explain.get(word) or EXPLAIN.get(word, '')}"
        for word, value in metric.options.items()
    ]
    every = "`lens`, `where`, `combine`, `class_weight`, weights, groups, and the form of the input"
    return [*own, "", f"{'And what' if own else 'What'} every metric takes: {every}.", ""]


def cost(metric: cal.metrics.Metric) -> str:
    """Order of growth, and what was measured."""
    taken = times()[metric.id]
    measured = f"{taken:g} ms" if taken < 100 else f"{taken / 1000:g} s"
    size = f"{TIMED_ROWS:,} rows of {TIMED_CLASSES} classes"
    return f"`{metric.cost}`: grows with {GROWTH[metric.cost]}. About {measured} of processor time for {size}."


@cache
def page(metric: cal.metrics.Metric) -> str:
    """One metric as Markdown."""
    formula = formulas()[metric.id]
    url = references()[metric.cite].url
    link = f" [{url.split('//')[1].split('/')[0]}]({url})" if url else ""
    lines = [f"# {metric.id}: {metric.name}", "", "## Meaning", "", *meaning(metric), "## Formula", "", formula, ""]
    lines += [symbols(formula), ""] if symbols(formula) else []
    lines += ["## When it misleads", "", *bullets(metric.cons)]
    lines += ["## Notes", "", metric.notes, ""] if metric.notes else []
    lines += ["## Example", "", *example(metric), "## Options", "", *options(metric)]
    lines += ["## Cost", "", cost(metric), "", "## Facts", "", *facts(metric)]
    return "\n".join([*lines, "## Paper", "", metric.reference + link, ""])


def index() -> str:
    """The metrics by family, with one line each, and the rows that the pictures show."""
    lines = ["# Metrics", "", "One page for each: formula, meaning, when it misleads, cost, example and paper.", ""]
    for family, subfamilies in cal.catalogue.tree().items():
        for subfamily, metrics in subfamilies.items():
            heading = f"## {family.capitalize()}: {subfamily}"
            lines += [heading, "", "| metric | name | meaning |", "| --- | --- | --- |"]
            lines += [f"| [{m.id}]({m.id}.md) | {m.name} | {m.summary} |" for m in metrics]
            lines.append("")
    lines += ["## The rows in the pictures", "", ROWS]
    lines += ["", "```python", *metric_pictures.SETUP.splitlines(), "```", ""]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *cal.catalogue, "```", ""])


def measure(known: dict[str, float]) -> None:
    """Milliseconds of processor time of every metric that has none yet, the best of three."""
    draw = np.random.default_rng(0)
    probs = draw.dirichlet(np.full(TIMED_CLASSES, 0.3), TIMED_ROWS)
    labels = (draw.random((TIMED_ROWS, 1)) > np.cumsum(probs, axis=1)).sum(axis=1).clip(0, TIMED_CLASSES - 1)
    extras = {"groups": draw.integers(0, 20, TIMED_ROWS), "features": draw.normal(size=(TIMED_ROWS, 3))}
    found = {}
    for metric in cal.catalogue.values():
        if metric.id in known:
            found[metric.id] = known[metric.id]
            continue
        words = {need: extras[need] for need in metric.needs if need in extras}
        taken: list[float] = []
        while len(taken) < 3 and sum(taken) < 2:
            start = time.process_time()
            metric(labels, probs, **words)
            taken.append(time.process_time() - start)
        found[metric.id] = float(f"{1000 * min(taken):.2g}")
    TIMES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write the pages anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", action="store_true")
    known = {} if parser.parse_args().times else json.loads(TIMES.read_text(encoding="utf-8"))
    if set(known) != set(cal.catalogue):
        measure(known)
    pages = {"index": index(), **{metric.id: page(metric) for metric in cal.catalogue.values()}}
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "pictures").mkdir(parents=True)
    for name, text in pages.items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    for picture in metric_pictures.PICTURES.values():
        with plain_settings():
            figure = picture.draw()
        (FOLDER / "pictures" / f"{picture.name}.png").write_bytes(png_of(figure))
    print(f"{len(cal.catalogue)} metric pages and {len(metric_pictures.PICTURES)} pictures in docs/metrics")


if __name__ == "__main__":
    main()
