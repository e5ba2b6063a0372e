"""Write docs/metrics/: one page for each metric of the catalogue, an index by family, and the figures they share.

The values of the examples are computed first and stored in ``examples.json`` beside the metrics, where their docstrings find them.
`--times` measures the computing times anew and stores them in metric_times.json; a new metric is always measured.
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
from calibrant.figures.canvas import figure_style
from calibrant.metrics import documentation
from calibrant.metrics.properties import PROPERTIES
from calibrant.metrics.references import reference_of
from calibrant.validation.references import GROUPS, Reference, load
from calibrant.validation.traceability import spans
from make_gallery import plain_settings, png_of

TOOLS = Path(__file__).parent
FOLDER = TOOLS.parent / "docs" / "metrics"
TIMES = TOOLS / "metric_times.json"
TIMED_ROWS, TIMED_CLASSES = 10_000, 10

ROWS = """\
All figures show the same 600 rows of three classes. The model is nearly calibrated in group a and strongly overconfident in group b,
and therefore overconfident overall. Formulas are written for rows of equal weight; with weights, sums over rows are weighted."""

GROWTH = {
    "N": "the number of rows",
    "N K": "the number of rows times the number of classes",
    "N log N": "N log N (a sort of the rows)",
    "N K log N": "N log N for each class (a sort of the rows)",
    "N log N per step": "N log N for each step of a fit or search",
    "N K log N per step": "N log N for each class and each step of a fit",
    "N^2": "the square of the number of rows",
    "N^2 K": "the square of the number of rows times the number of classes",
    "N^2 K or a sort": "the square of the number of rows times the number of classes; N log N for two classes",
    "N^2 K in parts": "the square of the number of rows times the number of classes up to some seconds; beyond that rows are processed in blocks",
    "N K by landmarks": "the number of rows times the number of classes, with a large constant",
    "a linear program": "a linear program over at most 2000 distinct scores",
}


def shown(value: float) -> str:
    """A bound or an ideal value for reading."""
    return "∞" if value == math.inf else "-∞" if value == -math.inf else f"{value:g}"


def formulas() -> dict[str, str]:
    """The formula of each metric with the meaning of its own symbols, as Markdown, by identifier."""
    return {
        id: f"$$\n{text.formula}\n$$" + (f"\n\n{text.remarks}" if text.remarks else "")
        for id, text in documentation.formula_texts().items()
    }


@cache
def times() -> dict[str, float]:
    """Milliseconds of processor time that each metric took when it was last measured."""
    return json.loads(TIMES.read_text(encoding="utf-8"))


def symbols(formula: str) -> str:
    """A sentence on the shared symbols of a formula."""
    return documentation.explain_symbols(formula)


def sentence(text: str) -> str:
    """A phrase with a capital and a stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def bullets(phrases: str) -> list[str]:
    """Phrases between semicolons, one to a line."""
    return [f"- {sentence(phrase)}" for phrase in phrases.split("; ")] + [""]


def meaning(metric: cal.metrics.Metric) -> list[str]:
    """What the metric measures, when to use it, and how to read a value."""
    low, high = metric.range
    ideal = "No value is ideal."
    if metric.ideal is not None:
        ideal = f"The ideal value is {shown(metric.ideal)}, attained by {documentation.reached_by(metric)}."
    use = documentation.formula_texts()[metric.id].use
    values = f"Values lie in [{shown(low)}, {shown(high)}]. {ideal} {documentation.sign_of(metric)}"
    doubt = [] if metric.certain else [documentation.certainty_of(metric).replace("``", "`"), ""]
    return [metric.summary, "", *([" ".join(use.split()), ""] if use else []), values.strip(), "", *doubt]


def example(metric: cal.metrics.Metric) -> list[str]:
    """The example of the docstring, and the figure of the family with the value for its rows."""
    code = documentation.example_of(metric)
    setup = re.sub(r"\n +", " ", "\n".join(code.setup))  # one statement per line, as the formatter has it
    lines = ["```python", "import calibrant as cal", "", setup, f"{code.call}  # {code.value}", "```", ""]
    picture, data = metric_pictures.picture_of(metric), metric_pictures.rows()
    extras = metric_pictures.extras_of(metric)
    found = float(metric(cal.Predictions(data.y_true, data.y_prob, **extras)))
    named = "".join(f", {name}={name}" for name in extras)
    call = f"cal.{metric.id}({f'cal.Predictions(y_true, y_prob{named})' if extras else 'y_true, y_prob'})"
    lines += [f"![{metric.name}](pictures/{picture.name}.png)", "", picture.look, ""]
    where = "The figure shows [600 rows of an overconfident model](index.md#the-rows-in-the-figures)"
    return [*lines, f"{where}; for them `{call}` is **{found:.4g}**.", ""]


def facts(metric: cal.metrics.Metric) -> list[str]:
    """The entry of the catalogue as a table."""
    low, high = metric.range
    weights = [word for word, has in (("counts", metric.counts), ("sample_weight", metric.importance)) if has]
    rows = {
        "range": f"[{shown(low)}, {shown(high)}]",
        "ideal": "none" if metric.ideal is None else shown(metric.ideal),
        "family": f"{metric.info.family}, {metric.info.subfamily}",
        "aliases": ", ".join(metric.info.names) or "-",
        "lens": f"`{metric.lens}`",
        "sign": {"nothing": "both sides, without direction"}.get(metric.info.sign_of, f"of {metric.info.sign_of}")
        if metric.info.signed
        else "none",
        "proper": metric.proper,
        "tests": ", ".join(f"`{method}`" for method in metric.tests) or "by simulation in `assess`",
        "weights": ", ".join(weights) or "none",
        "soft labels": "yes" if metric.soft else "no",
        "needs": ", ".join(metric.needs) or "labels and probabilities",
        "definition": metric.info.certainty,
    }
    return ["| | |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in rows.items()), ""]


def parameters(metric: cal.metrics.Metric) -> list[str]:
    """All parameters with type, default and description."""
    lines = []
    for name, kind, text in documentation.parameters_of(metric):
        lines.append(f"- `{name}` ({kind}): {text.replace('``', '`')}")
    return [*lines, ""]


def see_also(metric: cal.metrics.Metric) -> list[str]:
    """Related metrics, and the functions that test the value."""
    lines = []
    for name, text in documentation.related_to(metric, cal.catalogue):
        spoken = f"[{name}]({name}.md)" if name in set(cal.catalogue) else f"`{name}`"
        lines.append(f"- {spoken}: {text}")
    return [*lines, f'- `cal.assess(y_true, y_prob, metric="{metric.id}")`: test of calibration with this metric.', ""]


@cache
def references_of(metric_id: str) -> list[Reference]:
    """The stored values of a metric, its tests and its intervals in the validation dossier."""
    return [row for group in GROUPS for row in load(group) if row.topic == metric_id]


def validation(metric: cal.metrics.Metric) -> list[str]:
    """The rows of the validation dossier, by source."""
    rows = references_of(metric.id)
    lines = [
        f'`calibrant validate --only "*/{metric.id}/*"` compares the metric, its tests and its intervals with {len(rows)} stored values, and the',
        "[validation dossier](../validation.md#how-to-read-a-row) lists them as these rows:",
        "",
        "| rows | source | its call | tolerance |",
        "| --- | --- | --- | --- |",
    ]
    by_source: dict[str, list[Reference]] = {}
    for row in rows:
        by_source.setdefault(row.source.partition(";")[0], []).append(row)
    for source, some in by_source.items():
        calls = list(dict.fromkeys(row.source_call for row in some))
        more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
        text = calls[0].replace("|", "\\|")
        call = f"`{text}`{more}" if "(" in text else text
        ids = ", ".join(f"`{span}`" for span in spans([row.id for row in some]))
        lines.append(f"| {ids} | {source} | {call} | {max(row.tolerance for row in some):g} |")
    return [*lines, ""]


def cost(metric: cal.metrics.Metric) -> str:
    """Order of growth, and what was measured."""
    taken = times()[metric.id]
    measured = f"{taken:g} ms" if taken < 100 else f"{taken / 1000:g} s"
    size = f"{TIMED_ROWS:,} rows of {TIMED_CLASSES} classes"
    return f"`{metric.info.cost}`: the computing time grows with {GROWTH[metric.info.cost]}. About {measured} of processor time for {size}."


@cache
def page(metric: cal.metrics.Metric) -> str:
    """One metric as Markdown."""
    formula = formulas()[metric.id]
    url = reference_of(metric.cite).url
    link = f" [{url.split('//')[1].split('/')[0]}]({url})" if url else ""
    lines = [f"# {metric.id}: {metric.name}", "", "```text", *documentation.signature_of(metric), "```", ""]
    lines += [*meaning(metric), "## Formula", "", formula, ""]
    lines += [symbols(formula), ""] if symbols(formula) else []
    lines += ["## Strengths", "", *bullets(metric.info.strengths), "## Limitations", "", *bullets(metric.info.limits)]
    lines += ["## Notes", "", metric.info.notes.replace("``", "`"), ""] if metric.info.notes else []
    lines += ["## Parameters", "", *parameters(metric), "## Example", "", *example(metric)]
    lines += ["## See also", "", *see_also(metric), "## Cost", "", cost(metric), "", "## Facts", "", *facts(metric)]
    lines += ["## Validation", "", *validation(metric)]
    return "\n".join([*lines, "## References", "", metric.reference + link, ""])


def index() -> str:
    """The metrics by family, with one line each, and the rows that the figures show."""
    lines = [
        "# Metrics",
        "",
        "Look up a metric: what it measures, its formula, limitations, parameters, cost, an example and its paper. The",
        "[table of properties](properties.md) shows which metrics are proper, have a test, show a direction, need bins, and more.",
        "",
        "![Families and subfamilies of the metrics](../images/families.svg)",
        "",
    ]
    for family, subfamilies in cal.catalogue.tree().items():
        for subfamily, metrics in subfamilies.items():
            heading = f"## {family.capitalize()}: {subfamily}"
            lines += [heading, "", "| metric | name | meaning |", "| --- | --- | --- |"]
            lines += [f"| [{m.id}]({m.id}.md) | {m.name} | {m.summary} |" for m in metrics]
            lines.append("")
    lines += ["## The rows in the figures", "", ROWS]
    lines += ["", "```python", *metric_pictures.SETUP.splitlines(), "```", ""]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", "properties", *cal.catalogue, "```", ""])


def properties() -> str:
    """The properties of every metric as a table, with the number of metrics of each family that have them."""
    titles = {name: name.replace("_", " ") for name in PROPERTIES}
    head = ["| metric |", " | ".join(titles.values()), "|"]
    rule = "| --- " * (len(titles) + 1) + "|"

    def row(first: str, cells: list[str]) -> str:
        return f"| {first} | {' | '.join(cells)} |"

    lines = [
        "# Properties of the metrics",
        "",
        "Look up which metrics have a property, or select them: `cal.catalogue.find(test=True, bins=False)` in Python,",
        "`calibrant metrics --test --no-bins` on the command line. The last five are those that Hagopian et al. (2023) require of a good",
        "metric, as the survey of calibration metrics cites them, each in a form that can be computed: tests compute all but `certain`.",
        "",
        "| property | meaning |",
        "| --- | --- |",
    ]
    for name, one in PROPERTIES.items():
        origin = f" (Hagopian: {one.hagopian})" if one.hagopian else ""
        lines.append(f"| {titles[name]}{origin} | {one.text} |")
    lines += ["", "## Families", "", " ".join(["| family | metrics |", *head[1:]]), "| --- " + rule]
    families: dict[str, list[cal.metrics.Metric]] = {}
    for metric in cal.catalogue.values():
        families.setdefault(metric.info.family, []).append(metric)
    for family, metrics in {**families, "all": list(cal.catalogue.values())}.items():
        counts = [str(sum(m.properties[name] for m in metrics)) for name in PROPERTIES]
        lines.append(row(family, [str(len(metrics)), *counts]))
    for family, metrics in families.items():
        lines += ["", f"## {family.capitalize()}", "", " ".join(head), rule]
        for metric in metrics:
            cells = ["yes" if has else "" for has in metric.properties.values()]
            lines.append(row(f"[{metric.id}]({metric.id}.md)", cells))
    return "\n".join([*lines, ""])


def measure(known: dict[str, float]) -> None:
    """Milliseconds of processor time of every metric that has none yet, the best of three."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(TIMED_CLASSES, 0.3), TIMED_ROWS)
    labels = (rng.random((TIMED_ROWS, 1)) > np.cumsum(probs, axis=1)).sum(axis=1).clip(0, TIMED_CLASSES - 1)
    extras = {"groups": rng.integers(0, 20, TIMED_ROWS), "features": rng.normal(size=(TIMED_ROWS, 3))}
    found = {}
    for metric in cal.catalogue.values():
        if metric.id in known:
            found[metric.id] = known[metric.id]
            continue
        needed = {need: extras[need] for need in metric.needs if need in extras}
        taken: list[float] = []
        while len(taken) < 3 and sum(taken) < 2:
            start = time.process_time()
            metric(cal.Predictions(labels, probs, **needed))
            taken.append(time.process_time() - start)
        found[metric.id] = float(f"{1000 * min(taken):.2g}")
    TIMES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def example_values() -> dict[str, str]:
    """The printed value of each metric's example, computed."""
    values = {}
    for metric in cal.catalogue.values():
        code = documentation.example_of(metric)
        names = {"cal": cal}
        exec("\n".join(code.setup), names)
        values[metric.id] = repr(round(eval(code.call, names), 4))
    return values


def write_examples() -> None:
    """Store the values of the examples where the docstrings find them."""
    path = documentation.HERE / "examples.json"
    path.write_text(json.dumps(example_values(), indent=1) + "\n", encoding="utf-8")
    documentation.example_values.cache_clear()


def main() -> None:
    """Write the examples and the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", action="store_true")
    known = {} if parser.parse_args().times else json.loads(TIMES.read_text(encoding="utf-8"))
    if set(known) != set(cal.catalogue):
        measure(known)
    write_examples()
    pages = {
        "index": index(),
        "properties": properties(),
        **{metric.id: page(metric) for metric in cal.catalogue.values()},
    }
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "pictures").mkdir(parents=True)
    for name, text in pages.items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    for picture in metric_pictures.PICTURES.values():
        with plain_settings(), figure_style():
            figure = picture.draw()
        (FOLDER / "pictures" / f"{picture.name}.png").write_bytes(png_of(figure))
    print(f"{len(cal.catalogue)} metric pages and {len(metric_pictures.PICTURES)} figures in docs/metrics")


if __name__ == "__main__":
    main()
