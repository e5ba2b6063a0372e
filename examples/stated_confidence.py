"""How far to trust a language model that says how sure it is: for whoever runs an evaluation of multiple-choice questions.

The model gives logits for the options A to D, and says a number such as "90 %". The numbers are few and round, so that almost all rows
are tied, and the usual ten bins put several of them together. The script measures both kinds of confidence, shows what ties do to bins, and
repairs each on half of the questions. The answers are simulated: a model that knows about three quarters, likes A, and says 90 % too often.

    python examples/stated_confidence.py
"""

from __future__ import annotations

import numpy as np

import calibrant as cal

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0])


def questions(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The right option of each question, the model's logits, and how sure it says it is."""
    knows = 2.2 * rng.normal(size=(n, 4))
    right = (knows + rng.gumbel(size=(n, 4))).argmax(axis=1)
    logits = 2.0 * knows + [0.8, 0, 0, 0]
    sureness = knows.max(axis=1) - knows.mean(axis=1) + rng.normal(0, 0.8, n)
    said = LEVELS[np.searchsorted(np.quantile(sureness, [0.03, 0.06, 0.12, 0.26, 0.38, 0.65, 0.9]), sureness)]
    return right, logits, said


def main() -> None:
    """Logits first, then what was said."""
    right, logits, said = questions(3000, np.random.default_rng(0))
    fit, new = slice(0, 1500), slice(1500, None)

    print("logits of the options, on questions that the maps have not seen:")
    calibrators = {
        "as they come": None,
        "one temperature": cal.TemperatureScaling(input="logit").fit(logits[fit], right[fit]),
        "and a shift for each letter": cal.BiasCorrectedTemperature(input="logit").fit(logits[fit], right[fit]),
    }
    for words, calibrator in calibrators.items():
        found = cal.evaluate(
            right[new], logits[new], input="logit", metrics=["nll", "ece", "cwce"], calibrator=calibrator
        )
        print(f"  {words:<28}", "  ".join(f"{id} {found[id]:.3f}" for id in ("nll", "ece", "cwce")))
    favoured = cal.calibration_in_the_large(right[new], logits[new], input="logit", lens="class:0")
    print(f"  option A is given {favoured:+.3f} more than it deserves\n")

    correct = (logits.argmax(axis=1) == right).astype(int)
    words = {"input": "confidence"}
    between = np.concatenate([[0], (LEVELS[1:] + LEVELS[:-1]) / 2, [1]])
    print(
        f"stated confidence: {len(np.unique(said))} different numbers in {len(said)} answers; {correct.mean():.0%} are right"
    )
    print("  said  answers  right")
    curve = cal.calibration_curve(correct, said, bins=between, **words)
    for level, count, rate in zip(LEVELS, curve.weight, curve.rate, strict=True):
        print(f"  {level:4.0%}  {count:7.0f}  {rate:5.0%}")
    pooled = cal.calibration_curve(correct, said, bins=10, **words).rate[-1]
    print(
        f"  ten bins pool 95 % and 100 %: right {pooled:.0%} together, {curve.rate[-2]:.0%} and {curve.rate[-1]:.0%} apart"
    )
    mass = len(cal.calibration_curve(correct, said, binning="equal_mass", bins=15, **words))
    print(f"  of 15 bins of equal mass {mass} come back: answers that said the same stay together")
    print(f"  {cal.assess(correct, said, **words).verdict}")

    table = cal.HistogramBinning(bins=100, shrink=0.5).fit(
        said[fit], correct[fit]
    )  # so fine that no two numbers share a bin
    read = table.predict_proba(said[new])[:, 1]
    before, after = cal.brier(correct[new], said[new], **words), cal.brier(correct[new], read, **words)
    print(f'\nread with a table made of the other half: brier {before:.4f} -> {after:.4f}; "90 %" reads', end=" ")
    print(f"{table.predict_proba([0.9])[0, 1]:.0%}")


if __name__ == "__main__":
    main()
