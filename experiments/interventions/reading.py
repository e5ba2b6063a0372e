"""The texts of the page, with the results of the tables in sentences."""

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
    """Which models differ from the base network, by measure."""
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


# Written after the results were known; a test checks each statement against the numbers.
WORDS = """In sentences:

- **By the traditional error everything helped.** It falls from {base_ece} to between {low_ece} and {high_ece}; labels simulated from the
  probabilities have an error of {chance_ece}. With so few rows the remaining error cannot be distinguished from sampling noise.
- **By the full error nothing helped.** It is {base_full} before, and {low_full} to {high_full} after. Part of it is the bias of the estimate: less confident models
  have more sampling noise ({base_chance} before, up to {high_chance} after), and without it the error falls from {base_rest} to between {low_rest} and
  {high_rest}, significantly for four of the seven. The remainder was not investigated. The errors of the k most likely classes, whose cells are formed over ranks,
  fall at every k, except for histogram binning.
- **Temperature scaling is the cheapest and has the best likelihood** ({temperature_nll}, base network {base_nll}): one parameter, no training, the same
  predicted classes. Here it makes the network slightly underconfident: confidence minus accuracy is {temperature_gap}.
- **Label smoothing followed by temperature scaling does not improve on temperature scaling alone** ({both_nll} against {temperature_nll}).
- **Histogram binning has a cost.** Its log loss is infinite, its top-2 and top-3 accuracies are lower, and its error grows from {binned_first} for the most
  likely class to {binned_third} for the three most likely.
- **The strength matters more than the method.** Label smoothing of 0.2 has a traditional error of {strong} on validation data, more than
  twice that without intervention, at the same accuracy: the strength must be tuned.
- **The accuracy did not change** significantly with five seeds.
- **The error on rows of a group** is higher after almost every intervention. This does not indicate miscalibration, because these rows were selected by their label.
"""


def in_sentences(results: dict[str, Any]) -> str:
    """The sentences with their numbers."""

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


TEXT = """# Training and recalibration compared

This page shows which interventions improve the calibration of an overconfident network, and by which metric: different training, and recalibration afterwards, of
the same small network. Every model is evaluated by the errors that matter in different contexts: of the most likely class, of the k most likely, of groups of classes,
and of words such as *high*. It is a small-scale version of the study of Kirchenbauer, Oaks and Heim (2022): What is your metric telling you? Evaluating classifier
calibration under context-specific definitions of reliability (arXiv:2205.11454).

- **Images**: the handwritten digits of scikit-learn, 8 x 8, with noise of {noise} of the grey range (without noise the accuracy is 95%,
  and the remaining error is hidden by sampling noise). {train} training rows and {validation} validation rows for tuning and recalibration, resampled for each of {seeds} seeds; {test} fixed test rows.
- **Network**: two hidden layers of {width} units, {epochs} epochs of AdamW; learning rate and weight decay with the best validation accuracy.
- **Strengths**: smallest traditional error on validation data, mean over seeds, among those that lose at most {loss} percentage points of accuracy.
- **Errors**: the traditional error has {bins} bins of equal width of the largest probability, as do the errors of intervals. All others are total variation
  distances in cells of a k-d tree (at most {gamma} of the rows per cell). Ties are broken at random first: most probabilities of histogram binning are 0, and rows with
  equal probabilities stay in one cell, in which errors cancel. A median shared by most rows of a cell does not end the tree: the cell is split above
  the tied rows, or by another coordinate.
- **Arrows**: ↓ and ↑ mark values significantly lower and higher than those of the base network: the 95% interval of the paired differences excludes 0. With
  {seeds} seeds and this many comparisons some arrows are false positives; ± is the standard deviation over seeds, which does not include the sampling error of the
  fixed test rows.
- **Not preregistered**: the noise and the epochs come from a trial on one split. After a first full run, with its test results known, ranges of strengths were extended and ties
  were broken; this is the run after that. The statements below were written with these results, without new data.

`python -m experiments.interventions.run` computes the results ({minutes} minutes on one core), and with `--page` writes this page. It also accepts
a folder of images: see `experiments/interventions/README.md`.

## What helped

{reading}

{words}

## Strengths

Means over seeds on validation data. The number of bins is tuned by the same rule, with cross-validation.

{strengths}

Fitted temperatures: {temperatures}.

## Accuracy

{accuracies}

{top_k_accuracy}

The second table shows the top-k accuracy.

## Errors

{errors}

Histogram binning gives some classes a probability of exactly 0; if one of them is the true class the log loss is infinite.

How much of this is sampling noise? Labels simulated from the probabilities are perfectly calibrated, and still have an error on {test} rows (mean of {draws}
simulations), larger for less confident models. *Excess* is the error minus that of simulated labels; errors are not additive, so it is only a guide.

{by_chance}

## The k most likely classes

{top_k}

![Error, accuracy and confidence of the k most likely classes](interventions/top_k.png)

Top: the error. Middle: top-k accuracy. Bottom: mean k-th largest probability minus that of the base network. Means over seeds; the figures omit label smoothing
with temperature scaling. The error of all ten ranks differs from the full error: its cells are formed over ranks, those of the full error over classes.

![Mean entropy](interventions/entropy.png)

## Groups of classes

Digits with a closed loop (0, 6, 8, 9) and open ones, these by stroke: straight (1, 4, 7) and curved (2, 3, 5). Probabilities of a group are
summed. The last columns use the rows whose label is in a group. They are not 0 for calibrated predictions: any probability below 1 for the true group
is an error there, so it grows when overconfidence is removed.

{groups}

![Errors by group](interventions/groups.png)

Mean probability of each group for rows whose true group is *{given}*:

{group_confidence}

![Confidence by group](interventions/group_confidence.png)

## Low, medium, high

The event is *{group}*. A reader of *high* in place of a number is misled only if the observed rate lies outside the interval of the word. *Outside* is the distance of
the rates of bins from the interval, *error* the calibration error inside it.

{intervals}

{interval_rows}

![Errors and rows by interval](interventions/intervals.png)

## Size of the cells

The full error of the base network (first seed) against the largest share of rows in a cell. With few cells errors cancel, with many cells sampling noise counts as error.

![Full error against the size of cells](interventions/stability.png)
"""
