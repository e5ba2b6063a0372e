"""Use cases of calibration metrics: the metrics for each of them, the best first, with reasons."""

from __future__ import annotations

from typing import NamedTuple


class UseCase(NamedTuple):
    """A question about a model, and the metrics that answer it."""

    question: str
    metrics: dict[str, str]  # id and reason: the recommendation, the runner-up, and then special cases
    why: str
    functions: tuple[str, ...] = ()  # of calibrant, to use before or beside the metrics


# The five use cases of the survey (Lane, 2025), in its order, and further ones. Only metrics whose definition is certain.
USE_CASES = {
    "classwise": UseCase(
        "How well is each class calibrated, to compare models or recalibration?",
        {
            "drmsce_bcs": "debiased, with a data-driven number of bins: depends less on the sample size and the bins than ece; use lens='classwise'",
            "cwce": "the class-wise error that most papers report; includes classes that are never predicted",
            "brier": "always in addition: a proper score, where the errors above are 0 for a constant forecast at the observed rates",
            "ece": "for comparison with papers: the top-label error; depends on the bins",
            "ace": "for concentrated scores: cwce over equal-mass bins",
            "tace": "for many classes: ace above a threshold, so that thousands of near-zero probabilities do not dominate",
        },
        "A constant forecast at the base rate has no binned error, so read a proper score (brier) beside them.",
    ),
    "multiclass": UseCase(
        "Is the whole predicted distribution calibrated, not only the top label?",
        {
            "skce_uq": "no bins, unbiased, and with a test; can be negative for calibrated forecasts",
            "dkde": "on the scale of a probability, summed over the classes; kernels instead of cells; requires a bandwidth, and is above 0 for calibrated forecasts",
            "gece": "for a subset of the classes: with lens='top_k:3' it evaluates the three most probable classes and the remainder",
            "multiclass_ce": "for up to about four classes: cells of a grid on the simplex, which are sparse for more classes",
            "vce": "for many classes: only the sorted probabilities are binned, so that errors which differ between classes of the same rank cancel",
        },
        "Bins in many dimensions hold few rows each. Forecasts can be calibrated for the top label and for every class and still be wrong as "
        "a distribution; skce_uq, dkde, gece and multiclass_ce show this.",
    ),
    "direction": UseCase(
        "Is the model over- or underconfident?",
        {
            "esce": "one signed number: mean confidence minus accuracy with lens='top_label'; for one class over- or underestimation",
            "abc_below": "for errors of both signs, with abc_above: the overconfident part, where a signed mean would cancel",
            "abc_above": "for errors of both signs, with abc_below: the underconfident part",
            "cox_slope": "for two classes: below 1 too extreme, above 1 too moderate; no bins",
            "ecd": "for any number of classes, without bins: confidence minus accuracy, weighted by log-odds",
            "nses": "for moderate forecasts: above 1 for overconfidence; no bins; dominated by wrong forecasts near 0 and 1",
            "spiegelhalter_z": "as a test: confidence minus accuracy, weighted towards confident rows, in standard deviations",
            "expected_observed_ratio": "for the total number of events: over- or underestimation overall; not informative about single scores",
        },
        "esce is one signed number; abc_above and abc_below show both sides where they would cancel; ecd needs no bins. For one class a sign "
        "means over- or underestimation, which differs from over- or underconfidence.",
    ),
    "local": UseCase(
        "Is the model calibrated in every group or region, not only on average?",
        {
            "pce": "cells of group and score: errors of opposite sign in two groups do not cancel",
            "klce": "no bins, any number of classes, and a permutation test; depends on its kernel",
            "fece": "for small groups: only the mean of each group",
            "vece": "for a numeric feature: along one feature",
            "piece": "for rare rows: by proximity to other rows in feature space",
            "ecmmd": "as a test by nearest neighbours, which must be meaningful in the feature space",
        },
        "Errors of opposite sign in two groups cancel over all rows but not between groups; pass groups= or features=.",
    ),
    "analysis": UseCase(
        "Where, and in which direction, do predictions deviate?",
        {
            "ici": "mean distance between the scores and a smooth calibration curve, the number that belongs to the picture",
            "emax": "largest distance of the same curve; a few rows can determine it",
            "e90": "distance that 90% of the rows do not exceed",
            "abc_above": "with abc_below: how much of the area lies above and below the diagonal",
            "abc_below": "with abc_above: how much of the area lies above and below the diagonal",
        },
        "Errors that cancel in one number are visible in a calibration curve: plot it with its confidence intervals first, and read the "
        "numbers beside it.",
        ("figures.reliability", "calibration_curve", "inference.calibration_band"),
    ),
    "parameter-free": UseCase(
        "Is there any miscalibration, without choosing bins or bandwidths?",
        {
            "ecce_mad": "as a test: no parameter, and its asymptotic null distribution is known, so that the test costs a sort; the default of assess",
            "smece": "as an effect size: the bandwidth equals the resulting error; continuous in the scores; of the order N^(-1/3) for calibrated forecasts",
        },
        "ecce_mad has a test with a known asymptotic null distribution; the bandwidth of smece equals the error it estimates.",
        ("assess",),
    ),
    "safety": UseCase(
        "Could overconfidence do harm?",
        {
            "ecd": "grows without bound with confident mistakes; its test is one-sided against overconfidence",
            "abc_below": "with lens='top_label' the overconfident part of ece; underconfident bins cannot offset it",
            "mce": "the worst bin; choose bins with enough rows",
        },
        "With lens='top_label' abc_below is the overconfident part of ece, and the test of ecd has overconfidence as its alternative; mce is "
        "the error of the worst bin.",
    ),
    "comparison": UseCase(
        "Which of several models gives the better probabilities?",
        {
            "brier": "strictly proper and bounded, so that single rows have little influence",
            "nll": "strictly proper; choose it if confident mistakes must be penalised strongly; infinite if a true class has probability 0",
        },
        "The true probabilities have the best expected value of a strictly proper score; it measures discrimination as well as calibration.",
        ("compare",),
    ),
    "familiar": UseCase(
        "Which metrics do most papers report?",
        {
            "ece": "15 equal-width bins here; state the binning with the value",
            "mce": "the largest difference over the same bins",
        },
        "ece and mce with 15 equal-width bins; both depend on the bins and on the sample size.",
    ),
    "clinical": UseCase(
        "How well does a clinical or credit risk model perform on new patients or borrowers?",
        {
            "cox_slope": "the calibration slope: below 1 risks are too extreme, as after overfitting",
            "fixed_slope_intercept": "the calibration intercept, calibration-in-the-large: above 0 risks are too low on average",
            "expected_observed_ratio": "the same question as a ratio of numbers of events; papers often report its inverse, O/E",
            "ici": "mean distance of a flexible calibration curve, where intercept and slope miss a bend",
            "e50": "median distance on the same curve",
            "e90": "distance that 90% of the patients do not exceed, on the same curve",
            "emax": "largest distance on the same curve; uncertain at its ends",
            "brier": "overall performance; report it scaled by the prevalence",
            "spiegelhalter_z": "as a test without groups, in place of the Hosmer-Lemeshow test",
        },
        "clinical.summary computes all of them with intervals, and the C statistic; show the flexible calibration curve, and the decision "
        "curve for clinical usefulness.",
        ("clinical.summary", "figures.decision_curve", "report", "reporting.tripod"),
    ),
}
