"""What the slow definitions share: one value over several questions, several numbers of bins, infinities."""

import math
from fractions import Fraction
from functools import wraps

from mpmath import mp

from .definitions import DIGITS, digits, questions, rows_of


def each_question(
    formula,
    labels,
    probs,
    *,
    combine=None,
    default="mean",
    counts=None,
    sample_weight=None,
    lens="auto",
    class_weight=None,
):
    """`formula` of each yes-or-no question and of whether weights are importance, combined."""
    every = questions(rows_of(labels, probs, counts, sample_weight), lens)
    values = [formula(question, sample_weight is not None) for question in every]
    prevalence = [sum(w * outcome for _, outcome, w in question) for question in every]
    return combined(values, combine or default, class_weight, prevalence)


def combined(values, how="mean", class_weight=None, prevalence=None):
    """One value from one for each class; an infinitely bad class decides, a class without weight does not."""
    if len(values) == 1:
        return values[0]
    if how == "max":
        return max(values)
    weight = [Fraction(1)] * len(values) if class_weight is None else [Fraction(w) for w in class_weight]
    if how == "prevalence":
        weight = prevalence
    used = [(w, value) for w, value in zip(weight, values, strict=True) if w > 0]
    for infinity in (math.inf, -math.inf):
        if any(value == infinity for _, value in used):
            return infinity
    with mp.workdps(DIGITS):
        if not all(isinstance(value, Fraction) for _, value in used):
            used = [(digits(w), digits(value)) for w, value in used]
        total = sum(w * value for w, value in used)
        return total if how == "sum" else total / sum(w for w, _ in used)


def norm_default(norm):
    """Classes are averaged, but the largest of them is what an infinite norm is about."""
    return "max" if norm == "inf" else "mean"


def rooted(value, norm):
    if norm in (1, "inf"):
        return value
    with mp.workdps(DIGITS):
        return digits(value) ** (1 / digits(Fraction(norm)))


def weighted_power(pairs, norm):
    """Sum of share times distance to the power `norm`; the largest distance for the infinite one."""
    if norm == "inf":
        return max(distance for _, distance in pairs)
    if norm == int(norm):
        return sum(share * distance ** int(norm) for share, distance in pairs)
    with mp.workdps(DIGITS):
        return sum(digits(share) * digits(distance) ** digits(Fraction(norm)) for share, distance in pairs)


DEFAULT = object()  # None is a value of `bins`


def averaged(definition):
    """`bins` may be several numbers or widths (no list that starts at 0, which is edges): the mean of their values."""

    @wraps(definition)
    def over_bins(labels, probs, *, bins=DEFAULT, **options):
        if bins is DEFAULT:
            return definition(labels, probs, **options)
        if not isinstance(bins, list) or bins[0] == 0:
            return definition(labels, probs, bins=bins, **options)
        whole = all(b == int(b) for b in bins)
        numbers = [int(b) if whole else round(1 / Fraction(b)) for b in bins]
        return combined([definition(labels, probs, bins=number, **options) for number in numbers])

    return over_bins
