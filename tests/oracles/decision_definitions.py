"""Decisions by their definitions in exact arithmetic, with plain loops: the reference values of `calibrant validate`.

Rows are pairs of a label and the probabilities of all classes.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

Row = tuple[int, Sequence[float]]


def confidence(row: Row) -> Fraction:
    """The largest probability."""
    return max(map(Fraction, row[1]))


def is_wrong(row: Row) -> int:
    """1 if the class with the largest probability is not the label; it must be unique."""
    label, probs = row
    assert sum(p == max(probs) for p in probs) == 1
    return int(probs[label] != max(probs))


def topk_accuracy(rows: Sequence[Row], k: int) -> Fraction:
    """How often the true class is among the k most probable ones."""
    return Fraction(sum(sum(p > probs[label] for p in probs) < k for label, probs in rows), len(rows))


def topk_confidence(rows: Sequence[Row], k: int) -> Fraction:
    """The mean sum of the k largest probabilities."""
    return sum((sum(sorted(map(Fraction, probs))[-k:], Fraction(0)) for _, probs in rows), Fraction(0)) / len(rows)


def selective_risk(rows: Sequence[Row], threshold: float) -> Fraction:
    """The error rate of the rows with a confidence of at least the threshold."""
    kept = [row for row in rows if confidence(row) >= Fraction(threshold)]
    return Fraction(sum(map(is_wrong, kept)), len(kept))


def aurc(rows: Sequence[Row]) -> Fraction:
    """The error rate of the k most confident rows, averaged over k and over the orders of tied rows."""
    total, before, wrong = Fraction(0), 0, Fraction(0)
    for level in sorted(set(map(confidence, rows)), reverse=True):
        tied = [is_wrong(row) for row in rows if confidence(row) == level]
        for place in range(1, len(tied) + 1):
            total += (wrong + Fraction(sum(tied) * place, len(tied))) / (before + place)
        before, wrong = before + len(tied), wrong + sum(tied)
    return total / len(rows)


def perfect_aurc(rows: Sequence[Row]) -> Fraction:
    """The same for a ranking that places all errors last."""
    right = sum(1 - is_wrong(row) for row in rows)
    return sum((Fraction(max(0, k - right), k) for k in range(1, len(rows) + 1)), Fraction(0)) / len(rows)


def augrc(rows: Sequence[Row]) -> Fraction:
    """By the area under the ROC curve of ranking errors, over all pairs of a right and a wrong row; ties count half."""
    right = [confidence(row) for row in rows if not is_wrong(row)]
    wrong = [confidence(row) for row in rows if is_wrong(row)]
    area = sum((Fraction(a > b) + Fraction(a == b, 2) for a in right for b in wrong), Fraction(0)) / (
        len(right) * len(wrong)
    )
    accuracy = Fraction(len(right), len(rows))
    return (1 - area) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2


def net_benefit(rows: Sequence[Row], threshold: Fraction) -> Fraction:
    """True positives minus false positives times the odds of the threshold, per row; of two classes."""
    treated = [label for label, probs in rows if Fraction(probs[1]) >= threshold]
    harm = threshold / (1 - threshold)
    return (sum(treated) - (len(treated) - sum(treated)) * harm) / len(rows)


def expected_cost(rows: Sequence[Row]) -> tuple[Fraction, Fraction]:
    """The mean cost of the class with the largest probability if every error costs 1: predicted, and realised."""
    claimed = sum((1 - confidence(row) for row in rows), Fraction(0)) / len(rows)
    return claimed, Fraction(sum(map(is_wrong, rows)), len(rows))


def at_least(successes: int, trials: int, chance: Fraction) -> Fraction:
    """Probability of so many successes or more."""
    return sum(
        (comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(successes, trials + 1)), Fraction(0)
    )


def choose_threshold(rows: Sequence[Row], target: str, least: float) -> tuple[Fraction, Fraction, Fraction]:
    """Threshold among the confidences that accept 1 %, 2 %, ... of the rows, share of accepted rows and their error rate, with a guarantee of 90 %.

    Coverage: the largest one at which so many accepted rows would have a probability of at most 10 % if the coverage were `least`. Accuracy: the smallest
    one at which so few errors would have a probability of at most 10 %, divided by the number of thresholds, if the accuracy were `least`.
    """
    falling = sorted(map(confidence, rows), reverse=True)
    candidates = sorted({falling[-(-len(rows) * percent // 100) - 1] for percent in range(1, 101)})
    found = []
    for threshold in candidates:
        kept = [row for row in rows if confidence(row) >= threshold]
        wrong = sum(map(is_wrong, kept))
        if target == "coverage":
            passes = at_least(len(kept), len(rows), Fraction(least)) <= Fraction(1, 10)
        else:
            passes = bool(kept) and at_least(len(kept) - wrong, len(kept), Fraction(least)) <= Fraction(
                1, 10 * len(candidates)
            )
        if passes:
            found.append((threshold, Fraction(len(kept), len(rows)), Fraction(wrong, len(kept))))
    return found[-1] if target == "coverage" else found[0]
