"""Calibration of a language model on multiple-choice questions: its logits and its verbalized confidence.

The model returns logits for the options A to D, and states a confidence such as "90%". Stated values are few and round, so that almost all rows
are tied, and the usual ten bins combine several of them. The script evaluates both kinds of confidence, shows the effect of ties on bins, and
recalibrates each on half of the questions. The answers are simulated: about three quarters are correct, A is favoured, and 90% is stated too often.

    python examples/stated_confidence.py
"""

from __future__ import annotations

import numpy as np

import calibrant as cal

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0])


def questions(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The correct option of each question, the logits of the model, and its stated confidence."""
    knows = 2.2 * rng.normal(size=(n, 4))
    right = (knows + rng.gumbel(size=(n, 4))).argmax(axis=1)
    logits = 2.0 * knows + [0.8, 0, 0, 0]
    certainty = knows.max(axis=1) - knows.mean(axis=1) + rng.normal(0, 0.8, n)
    said = LEVELS[np.searchsorted(np.quantile(certainty, [0.03, 0.06, 0.12, 0.26, 0.38, 0.65, 0.9]), certainty)]
    return right, logits, said


def main() -> None:
    """Evaluate the logits, then the stated confidence."""
    right, logits, said = questions(3000, np.random.default_rng(0))
    fit, new = slice(0, 1500), slice(1500, None)

    print("logits of the options, on held-out questions:")
    calibrators = {
        "uncalibrated": None,
        "temperature": cal.TemperatureScaling(input="logit").fit(logits[fit], right[fit]),
        "temperature and biases": cal.BiasCorrectedTemperature(input="logit").fit(logits[fit], right[fit]),
    }
    for title, calibrator in calibrators.items():
        found = cal.evaluate(
            cal.Predictions(right[new], logits[new], input="logit"),
            metrics=["nll", "ece", "cwce"],
            calibrator=calibrator,
        )
        print(f"  {title:<28}", "  ".join(f"{id} {found[id]:.3f}" for id in ("nll", "ece", "cwce")))
    favoured = cal.calibration_in_the_large(cal.Predictions(right[new], logits[new], input="logit"), lens="class:0")
    print(f"  option A: mean predicted probability minus observed rate {favoured:+.3f}\n")

    correct = (logits.argmax(axis=1) == right).astype(int)
    answers = cal.Predictions(correct, said, input="confidence")
    between = np.concatenate([[0], (LEVELS[1:] + LEVELS[:-1]) / 2, [1]])
    print(
        f"stated confidence: {len(np.unique(said))} distinct values in {len(said)} answers; accuracy {correct.mean():.0%}"
    )
    print("  stated  answers  accuracy")
    curve = cal.calibration_curve(answers, bins=between)
    for level, count, rate in zip(LEVELS, curve.weight, curve.rate, strict=True):
        print(f"  {level:6.0%}  {count:7.0f}  {rate:8.0%}")
    pooled = cal.calibration_curve(answers, bins=10).rate[-1]
    print(
        f"  ten bins combine 95% and 100%: accuracy {pooled:.0%} together, {curve.rate[-2]:.0%} and {curve.rate[-1]:.0%} separately"
    )
    mass = len(cal.calibration_curve(answers, binning="equal_mass", bins=15))
    print(f"  of 15 bins of equal mass {mass} remain, since ties are never split")
    print(f"  {cal.assess(answers).verdict}")

    table = cal.HistogramBinning(bins=100, shrink=0.5).fit(
        said[fit], correct[fit]
    )  # so fine that every stated value has its own bin
    read = table.predict_proba(said[new])[:, 1]
    before, after = (
        cal.brier(cal.Predictions(correct[new], scores, input="confidence")) for scores in (said[new], read)
    )
    print(f'\nrecalibrated on the other half: brier {before:.4f} -> {after:.4f}; "90%" becomes', end=" ")
    print(f"{table.predict_proba([0.9])[0, 1]:.0%}")


if __name__ == "__main__":
    main()
