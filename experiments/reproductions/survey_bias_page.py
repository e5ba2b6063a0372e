"""The part of the study that tells which estimator is least biased at which number of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import calibrant as cal
from experiments.rendering import number
from experiments.reproductions import survey_bias as bias
from experiments.reproductions.study import Part, Row, Table
from experiments.reproductions.survey_data import FACTS, answers

DRAWN = ("ece", "ece_em", "ece_sweep", "ece_db", "ece_knn", "skde", "fott_pl", "fott_isotonic")
MARKS = "osD^vPX*"
DISTRIBUTIONS = {"even scores": (1.0, 1.0), "scores near 1": (5.0, 1.0)}


def parts(small: bool, data: Path | None, pictures: Path) -> list[Part]:
    """Bias of the estimators of the calibration error, of its square, and of metrics with a limit of their own."""
    chosen = bias.scenarios(small, data)
    found = bias.measure(small, chosen)
    wrong = [scenario.name for scenario in chosen if scenario.name != "calibrated"]
    real = [scenario.name for scenario in chosen if scenario.real]
    return [
        bias_part(found, chosen, wrong, data, pictures),
        claims_part(small, found, wrong, real),
        other_part(found, wrong),
    ]


def sizes(found: bias.Found) -> list[int]:
    """The numbers of rows."""
    return list(next(iter(next(iter(found.values()))[bias.MEAN_GAP].values())).errors)


def heads(found: bias.Found) -> list[str]:
    """The same as headings of columns."""
    return [f"N = {n:,}".replace(",", " ") for n in sizes(found)]


def bias_part(
    found: bias.Found, chosen: list[bias.Scenario], wrong: list[str], data: Path | None, pictures: Path
) -> Part:
    """Section 4.13 of the survey, over again."""
    tables = [
        scenario_table(chosen, data),
        size_table(found, bias.MEAN_GAP, wrong),
        spread_table(found, bias.MEAN_GAP, ["calibrated"]),
        best_table(found, wrong),
        spread_table(found, bias.MEAN_GAP, wrong),
    ]
    picture = draw(found, pictures)
    caption = (
        "Bias of eight estimators of the mean gap against the number of rows; bars are two standard errors of the mean."
    )
    return Part("bias", tables=tables, pictures=[(picture, caption)])


def scenario_table(chosen: list[bias.Scenario], data: Path | None) -> Table:
    """What was drawn, and its true errors; for imitations the error of the real rows beside."""
    lines = []
    for of in chosen:
        rows = answers(data, bias.IMITATED[of.name][0]) if of.real and data is not None else None
        truths = [bias.truth_of(of, bias.MEAN_GAP, "ece"), bias.truth_of(of, bias.ROOT, "rmsce")]
        truths = [0.0 if abs(value) < 1e-12 else value for value in truths]
        real = None if rows is None else float(cal.ece(rows.y, rows.p))
        scores = f"Beta({of.distribution[0]:.3g}, {of.distribution[1]:.3g})"
        lines.append([of.name, of.words, scores, *truths, real])
    return Table(
        ["scenario", "what", "scores", "true mean gap", "true root mean square", "ece of the real rows"], lines
    )


def size_table(found: bias.Found, group: str, among: list[str]) -> Table:
    """Mean size of the bias over scenarios; the last line names the least biased."""
    lines: list[list[Any]] = [
        [f"`{name}`", *(bias.mean_size(found, group, name, n, among) for n in sizes(found))]
        for name in found[among[0]][group]
    ]
    lines.append(["least biased", *(f"`{bias.least(found, group, n, among)}`" for n in sizes(found))])
    lines.append(["least error", *(f"`{bias.least(found, group, n, among, 'rmse')}`" for n in sizes(found))])
    return Table([f"miscalibrated, mean of {len(among)}: size of bias", *heads(found)], lines)


def spread_table(found: bias.Found, group: str, among: list[str]) -> Table:
    """Bias and standard deviation of one estimate."""
    show = number if group == bias.SQUARE else "{:.4f}".format
    lines = [
        [scenario, f"`{name}`", *(f"{show(of.bias(n))} ± {show(of.spread(n))}" for n in sizes(found))]
        for scenario in among
        for name, of in found[scenario][group].items()
    ]
    return Table(["scenario", "estimator", *heads(found)], lines)


def best_table(found: bias.Found, wrong: list[str]) -> Table:
    """The least biased and the closest, in each scenario."""
    lines = []
    for scenario in ["calibrated", *wrong]:
        for word, of in (("least biased", "bias"), ("least error", "rmse")):
            names = [bias.least(found, bias.MEAN_GAP, n, [scenario], of) for n in sizes(found)]
            values = [
                getattr(found[scenario][bias.MEAN_GAP][name], of)(n)
                for name, n in zip(names, sizes(found), strict=True)
            ]
            cells = [f"`{name}` {value:.4f}" for name, value in zip(names, values, strict=True)]
            lines.append([scenario, word, *cells])
    return Table(["scenario", "", *heads(found)], lines)


def draw(found: bias.Found, pictures: Path) -> str:
    """One panel for each scenario."""
    across = 3 if len(found) > 2 else len(found)
    down = -(-len(found) // across)
    figure = Figure(figsize=(3.5 * across, 3.0 * down + 0.7), layout="constrained")
    axes = figure.subplots(down, across, sharex=True, squeeze=False)
    for ax, (scenario, groups) in zip(axes.ravel(), found.items(), strict=False):
        ax.axhline(0, color="0.3", linewidth=1)
        for at, (name, mark) in enumerate(zip(DRAWN, MARKS, strict=True)):
            of = groups[bias.MEAN_GAP][name]
            n = np.array(sizes(found))
            error = [2 * of.spread(rows) / np.sqrt(len(of.errors[rows])) for rows in sizes(found)]
            ax.errorbar(n * 1.03 ** (at - 4), [of.bias(rows) for rows in n], error, marker=mark, ms=4, lw=1, label=name)
        truth = groups[bias.MEAN_GAP]["ece"].truth
        ax.set_title(f"{scenario}: true error {truth:.3f}", fontsize=9)
        ax.set_xscale("log")
        ax.tick_params(labelsize=8)
        ax.grid(alpha=0.25)
    for ax in axes[-1]:
        ax.set_xlabel("rows", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("bias", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(pictures / "survey_bias.png", dpi=85, pil_kwargs={"optimize": True})
    return "survey_bias.png"


def over_rows(found: bias.Found, name: str, among: list[str], group: str = bias.MEAN_GAP) -> float:
    """Mean size of the bias over scenarios and numbers of rows."""
    return float(np.mean([bias.mean_size(found, group, name, n, among) for n in sizes(found)]))


def rank_rows(found: bias.Found, real: list[str]) -> list[Row]:
    """The published order of bias for realistic curves, and ours."""
    published = ("ece_sweep", "ece_db", "ece_em", "skde")
    ours = {name: over_rows(found, name, real) for name in published}
    order = sorted(published, key=ours.__getitem__)
    return [
        Row(
            f"place by bias, realistic curves: `{name}`",
            at,
            order.index(name) + 1,
            note=f"mean bias {number(ours[name])}",
        )
        for at, name in enumerate(published, 1)
    ]


def share_rows(found: bias.Found, wrong: list[str]) -> list[Row]:
    """How often one estimator has the smaller bias than another."""
    among = {"all": ["calibrated", *wrong], "wrong": wrong, "calibrated": ["calibrated"]}
    rows = []
    for first, second, where, note in FACTS["less_biased"]:
        won, of = bias.wins(found, first, second, among[where])
        what = f"share of cases in which `{first}` is less biased than `{second}`"
        rows.append(Row(what, None, won / of, note=f"{won} of {of}; {note}"))
    return rows


def claims_part(small: bool, found: bias.Found, wrong: list[str], real: list[str]) -> Part:
    """What the survey says of bias, checked."""
    rows = [*(rank_rows(found, real) if real else []), *share_rows(found, wrong)]
    few, many = min(sizes(found)), max(sizes(found))
    for name in ("ece", "ece_db"):
        means = {n: np.mean([found[s][bias.MEAN_GAP][name].bias(n) for s in wrong]) for n in (few, many)}
        what = f"`{name}` with {few} rows less the same with {many}, mean of the miscalibrated"
        rows.append(Row(what, None, float(means[few] - means[many]), note="the survey: ECE falls as rows are added"))
    for title, distribution in DISTRIBUTIONS.items():
        for published, error in ((500, 0.1), (10_000, 0.02)):
            needed, shares = bias.rows_needed(error, distribution, cal.ece_db, small)
            seen = "; ".join(f"{n}: {share:.2f}" for n, share in list(shares.items())[-3:])
            rows.append(
                Row(f"rows needed to detect an error of {error:g}, {title}", published, needed, note=f"power {seen}")
            )
    return Part("claims", rows)


def other_part(found: bias.Found, wrong: list[str]) -> Part:
    """Root mean square, mean square, and metrics with a limit of their own."""
    tables = [size_table(found, group, wrong) for group in (bias.ROOT, bias.SQUARE)]
    tables += [spread_table(found, group, ["calibrated"]) for group in (bias.ROOT, bias.SQUARE)]
    lines = []
    for name in bias.ESTIMATORS[bias.OWN]:
        for scenario in ["calibrated", *wrong]:
            of = found[scenario][bias.OWN][name]
            lines.append(
                [f"`{name}`", scenario, of.truth if of.truth > 1e-12 else 0.0, *(of.bias(n) for n in sizes(found))]
            )
    tables.append(Table(["bias against its own limit", "scenario", "limit", *heads(found)], lines))
    return Part("other_bias", tables=tables)
