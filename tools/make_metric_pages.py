"""Write docs/metrics/: one page for each metric of the catalogue, and an index by family."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import calibrant as cal
from calibrant._references import REFERENCES
from calibrant._signature import EXPLAIN

# What the example passes to metrics that ask for more than labels and probabilities.
EXAMPLES = {"groups": ["a", "a", "b", "b"], "features": [1.0, 2.0, 3.0, 4.0]}
FOLDER = Path(__file__).parent.parent / "docs" / "metrics"


def shown(value: float) -> str:
    """A bound or an ideal value for reading."""
    return "∞" if value == math.inf else "-∞" if value == -math.inf else f"{value:g}"


def page(metric: cal.Metric) -> str:
    """One metric as Markdown."""
    low, high = metric.range
    facts = [
        ("range", f"[{shown(low)}, {shown(high)}]"),
        ("ideal", "none" if metric.ideal is None else shown(metric.ideal)),
        ("family", f"{metric.family}, {metric.subfamily}"),
        ("also called", ", ".join(metric.aliases) or "-"),
        ("lens", f"`{metric.lens}`"),
        ("sign", "positive is overconfident" if metric.signed else "none"),
        ("proper", metric.proper),
        (
            "weights",
            ", ".join(word for word, has in (("counts", metric.counts), ("sample_weight", metric.importance)) if has),
        ),
        ("soft labels", "yes" if metric.soft else "no"),
        ("needs", ", ".join(metric.needs) or "labels and probabilities"),
        ("cost", metric.cost),
        (
            "ideal for",
            {
                "calibrated": "calibrated forecasts",
                "sure": "sure and right forecasts only",
                "nothing": "no forecast exactly",
            }[metric.ideal_for],
        ),
        ("definition", metric.certainty),
    ]
    lines = [f"# {metric.id}: {metric.name}", "", metric.summary, "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {text} |" for name, text in facts]
    lines += ["", "## Options", ""]
    lines += [
        f"- `{word}={value!r}`: {metric.explain.get(word) or EXPLAIN.get(word, '')}"
        for word, value in metric.options.items()
    ]
    lines += [
        "",
        "and what every metric takes: `lens`, `where`, `combine`, `class_weight`, weights, groups, and the form of the input.",
        "",
    ]
    lines += ["## Reading it", "", f"Good: {metric.pros}.", "", f"Beware: {metric.cons}.", ""]
    if metric.notes:
        lines += [metric.notes, ""]
    lines += [
        "## Example",
        "",
        "```python",
        "import calibrant as cal",
        "",
        "y_true = [0, 1, 1, 1]",
        "y_prob = [0.1, 0.4, 0.8, 0.9]",
    ]
    words = {word: EXAMPLES[word] for word in metric.needs if word in EXAMPLES}
    try:
        value = f"{metric([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9], **words):.6g}"
    except cal.UndefinedMetricError as error:
        value = f"no value: {error.problem}"
    given = "".join(f", {word}={shown!r}" for word, shown in words.items())
    lines += [f"cal.{metric.id}(y_true, y_prob{given})  # {value}", "```", "", "## Paper", ""]
    url = REFERENCES[metric.cite].url
    lines += [metric.reference + (f" [{url.split('//')[1].split('/')[0]}]({url})" if url else ""), ""]
    return "\n".join(lines)


def index() -> str:
    """The metrics by family, with one line each."""
    lines = ["# Metrics", ""]
    for family, subfamilies in cal.catalogue.tree().items():
        for subfamily, metrics in subfamilies.items():
            lines += [
                f"## {family.capitalize()}: {subfamily}",
                "",
                "| metric | name | meaning |",
                "| --- | --- | --- |",
            ]
            lines += [f"| [{m.id}]({m.id}.md) | {m.name} | {m.summary} |" for m in metrics]
            lines.append("")
    lines += ["```{toctree}", ":hidden:", "", *cal.catalogue, "```", ""]
    return "\n".join(lines)


def main() -> None:
    """Write the pages anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    (FOLDER / "index.md").write_text(index(), encoding="utf-8")
    for metric in cal.catalogue.values():
        (FOLDER / f"{metric.id}.md").write_text(page(metric), encoding="utf-8")
    print(f"{len(cal.catalogue)} metric pages in docs/metrics")


if __name__ == "__main__":
    main()
