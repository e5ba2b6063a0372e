"""The words of the page, and what the tables say put into sentences."""

from __future__ import annotations

import statistics
from typing import Any

from .summary import beyond_chance, change, number
from .train import BASE

ASKED: dict[str, tuple[Any, ...]] = {
    "traditional error": ("ece",),
    "top-2 error": ("top_k", 1),
    "full error": ("full",),
    "error of the coarsest groups": ("levels", 0),
    "negative log likelihood": ("nll",),
    "Brier score": ("brier",),
    "accuracy": ("accuracy",),
}


def reading(results: dict[str, Any]) -> str:
    """Which models clearly differ from the base network, measure by measure."""
    lines = []
    for words, (key, *places) in ASKED.items():
        if key not in results["measured"][BASE][0]:
            continue
        base = number(results, BASE, key, *places)
        found: dict[int, list[str]] = {-1: [], 1: [], 0: []}
        for model in results["measured"]:
            if model != BASE:
                found[change(base, number(results, model, key, *places))].append(model)
        parts = [
            f"{name} with {'any' if len(found[sign]) == len(results['measured']) - 1 else ', '.join(found[sign])}"
            for sign, name in ((-1, "lower"), (1, "higher"), (0, "no clear change"))
            if found[sign]
        ]
        lines.append(f"- **{words}**: {'; '.join(parts)}.")
    return "\n".join(lines)


# Written after reading the tables; a test holds each of these to the numbers.
WORDS = """In words:

- **The traditional error says that everything helped.** It falls from {base_ece} to between {low_ece} and {high_ece}, and labels drawn from the
  probabilities show {chance_ece} by chance. On so few rows nothing more can be seen of it, whichever intervention was taken.
- **The full error says that nothing helped.** It is {base_full} before, and {low_full} to {high_full} after. A part of that is the estimate: less sure models show
  more of it by chance ({base_chance} before, up to {high_chance} after), and without that it falls from {base_rest} to between {low_rest} and
  {high_rest}, clearly so for four of the seven. What remains was not looked into. The errors of the k likeliest classes, whose cells are cut over ranks, do fall at
  every k, but for histogram binning.
- **Temperature is the cheapest and the best by the likelihood** ({temperature_nll}, base network {base_nll}): one number, no training, the same
  predictions. It overshoots a little here, to {temperature_gap} of confidence less accuracy.
- **Smoothing first and a temperature afterwards is no better than a temperature alone** ({both_nll} against {temperature_nll}).
- **Histogram binning pays for its error.** Its likelihood is infinite, the true class is less often among its two or three likeliest, and its
  error grows from {binned_first} for the likeliest class to {binned_third} for the likeliest three.
- **The strength matters more than the kind.** Label smoothing of 0.2 has a traditional error of {strong} on validation rows, more than
  twice that of no intervention, and loses no accuracy: only tuning tells.
- **No accuracy was lost** that five seeds could show, and none was won.
- **Rows of a group** have a higher error after almost everything. That is no harm: these rows were chosen by their label.
"""


def in_sentences(results: dict[str, Any]) -> str:
    """The reading with its numbers."""

    def mean(model: str, key: str, *places: Any) -> float:
        return statistics.fmean(number(results, model, key, *places))

    others = [model for model in results["measured"] if model != BASE]
    ece, full = ([mean(model, key) for model in others] for key in ("ece", "full"))
    chance = [mean(model, "chance", "full") for model in others]
    rest = {model: statistics.fmean(beyond_chance(results, model, "full")) for model in results["measured"]}
    strongest = results["choices"]["label smoothing"][-1]
    found = {
        "base_ece": mean(BASE, "ece"),
        "low_ece": min(ece),
        "high_ece": max(ece),
        "chance_ece": statistics.fmean(mean(model, "chance", "ece") for model in others),
        "base_full": mean(BASE, "full"),
        "low_full": min(full),
        "high_full": max(full),
        "base_chance": mean(BASE, "chance", "full"),
        "high_chance": max(chance),
        "base_rest": rest[BASE],
        "low_rest": min(rest[model] for model in others),
        "high_rest": max(rest[model] for model in others),
        "temperature_nll": mean("temperature", "nll"),
        "base_nll": mean(BASE, "nll"),
        "both_nll": mean("smoothing + temperature", "nll"),
        "temperature_gap": mean("temperature", "confidence") - mean("temperature", "accuracy"),
        "binned_first": mean("histogram binning", "top_k", 0),
        "binned_third": mean("histogram binning", "top_k", 2),
        "strong": strongest["ece"],
    }
    return WORDS.format(**{key: f"{value:.3f}" for key, value in found.items()}).rstrip()


TEXT = """# Training and maps, side by side

A network that is too sure can be trained differently, or be mended afterwards. Here both are done to the same small network, and every model is
judged by the errors that matter in one use or another: of the likeliest class, of the k likeliest, of groups of classes, of words such
as *high*. The study is that of Kirchenbauer, Oaks and Heim (2022): What is your metric telling you? Evaluating classifier calibration
under context-specific definitions of reliability (arXiv:2205.11454), made small enough for one core.

- **Images**: the handwritten digits of scikit-learn, 8 x 8, with noise of {noise} of the grey range (without it 95 % are right, and chance hides what
  is left). {train} rows to train on, {validation} to tune and to fit maps, both drawn anew for each of {seeds} seeds; {test} to test, always the same.
- **Network**: two hidden layers of {width}, {epochs} epochs of AdamW; rate and weight decay with the best validation accuracy.
- **Strengths**: the least traditional error on validation rows, mean over seeds, among those that lose at most {loss} points of accuracy.
- **Errors**: the traditional one has {bins} bins of equal width over the largest probability. Those of intervals have the same bins. All others are total
  variation distances in cells of a k-d tree (at most {gamma} of the rows in each). Ties are broken at random first: most probabilities of histogram binning are 0, and a cell cannot
  be halved at a median that most of its rows share. Left as they are, they would all stay in one cell, whose full error is small because errors cancel.
- **Arrows**: ↓ and ↑ mark numbers that are lower and higher than the base network's: the differences seed by seed have a 95 % interval that leaves
  out 0. With {seeds} seeds and this many comparisons some arrows are chance; ± is the standard deviation over seeds, which does not hold the chance
  of the test rows, for they stay the same.
- **Not fixed beforehand**: the noise and the epochs come from a trial on one split. After one full run, with its test numbers seen, strengths at an end of
  their range got neighbours and ties came to be broken; this is the run after that. The words below were written on its numbers, without fresh rows.

`python -m experiments.interventions.run` computes the numbers ({minutes} minutes on one busy core), and with `--page` writes this page. It takes
a folder of your own images too: see `experiments/interventions/README.md`.

## What helped

{reading}

{words}

## Strengths

Means over seeds on validation rows. The number of bins is tuned by the same rule, each row seen by histograms that were fitted to other rows.

{strengths}

Temperatures that were fitted: {temperatures}.

## Accuracy

{accuracies}

{top_k_accuracy}

The second table: how often the true class is among the k likeliest.

## Errors

{errors}

Histogram binning gives some classes a probability of exactly 0; where one of them is true the likelihood is infinite.

How much of that is chance? Labels drawn from the probabilities themselves are perfectly calibrated, and still show an error on {test} rows
(mean of {draws} draws). Models that are less sure show more of it. *The rest* is the error less that; errors do not simply add up, so
it is a guide and no estimate.

{by_chance}

## The k likeliest classes

{top_k}

![Error, accuracy and confidence of the k likeliest classes](interventions/top_k.png)

Top: the error. Middle: how often the true class is among the k. Bottom: the mean k-th largest probability, less that of the base network. Means over
seeds; figures leave out smoothing with a temperature. The error of all ten likeliest classes is not the full error: its cells are cut over ranks, those of
the full error over classes.

![Mean entropy](interventions/entropy.png)

## Groups of classes

Digits with a closed loop (0, 6, 8, 9) and open ones, these by stroke: straight (1, 4, 7) and curved (2, 3, 5). Probabilities of a group are
added up. The last columns are of the rows whose label lies in a group. These are not 0 for calibrated predictions: whoever gives the right
group less than 1 has an error there, so a model that was too sure and no longer is has more of it.

{groups}

![Errors by group](interventions/groups.png)

Where the confidence goes for rows that are *{given}*:

{group_confidence}

![Confidence by group](interventions/group_confidence.png)

## Low, medium, high

The question: is it *{group}*? Somebody who reads *high* in place of a number is misled only where what happens leaves the interval of the word.
*Outside*: how far the rates of bins lie outside it. *Error*: the usual distance inside the interval.

{intervals}

{interval_rows}

![Errors and rows by interval](interventions/intervals.png)

## How fine the cells are

The full error of the base network (first seed) against the largest share of the rows in a cell. Few cells hide errors, many count chance.

![Full error against the size of cells](interventions/stability.png)
"""
