"""Slow, exact forms of the pointwise losses and of the comparisons of sums over all rows."""

import math
import sys
from fractions import Fraction

from mpmath import mp, mpf

from .definitions import DIGITS, Undefined, complement, digits, nearest_double, rows_of, vectors
from .parts import combined, each_question, norm_default, rooted


def over_vectors(formula, labels, probs, *, counts=None, sample_weight=None, lens="canonical", default="mean"):
    """`formula` of the rows seen through each view of the lens, and of whether weights are importance."""
    values = []
    with mp.workdps(DIGITS):
        for rows, columns in vectors(rows_of(labels, probs, counts, sample_weight), lens):
            if columns is None:  # of one score the other class has what is missing to 1, as a double
                rows = [(label, [nearest_double(row[0]), row[1]], weight) for label, row, weight in rows]
            values.append(formula(rows, sample_weight is not None))
        return combined(values, default)


def row_mean(loss, labels, probs, **rest):
    """Weighted mean of one number for each row; a row that is infinitely bad decides, then one infinitely good."""

    def mean(rows, importance):
        terms = [(loss(label, row), weight) for label, row, weight in rows]
        for infinity in (math.inf, -math.inf):
            if any(term == infinity for term, _ in terms):
                return infinity
        return sum(digits(weight) * digits(term) for term, weight in terms) / digits(sum(w for _, w in terms))

    return over_vectors(mean, labels, probs, **rest)


def entry_mean(loss, labels, probs, **rest):
    """The same for a loss of one probability and whether its class is the true one, averaged over the classes."""

    def of_row(label, row):
        terms = [loss(p, complement(row, [k]), int(k == label)) for k, p in enumerate(row)]
        for infinity in (math.inf, -math.inf):
            if infinity in terms:
                return infinity
        return sum(digits(term) for term in terms) / len(terms)

    return row_mean(of_row, labels, probs, **rest)


def focal_loss(labels, probs, *, gamma=2, class_weight=None, **rest):
    def loss(label, row):
        p, factor = row[label], Fraction(1 if class_weight is None else class_weight[label])
        if factor == 0 or p == 1:
            return Fraction(0)
        if p == 0:
            return mp.inf
        return -digits(factor) * digits(complement(row, [label])) ** digits(Fraction(gamma)) * mp.log(digits(p))

    return row_mean(loss, labels, probs, **rest)


def spherical(labels, probs, **rest):
    return row_mean(
        lambda label, row: -digits(row[label]) / mp.sqrt(digits(sum(p * p for p in row))), labels, probs, **rest
    )


def ranked_probability(labels, probs, **rest):
    def loss(label, row):
        total = Fraction(0)
        for last in range(len(row) - 1):
            total += (sum(row[: last + 1]) - (1 if label <= last else 0)) ** 2
        return total / (len(row) - 1)

    return row_mean(loss, labels, probs, **rest)


def ranked_log(labels, probs, *, floor=None, base=None, **rest):
    def loss(label, row):
        total = mpf(0)
        for last in range(len(row) - 1):
            chance = min(sum(row[: last + 1] if label <= last else row[last + 1 :]), Fraction(1))
            if chance == 0 and floor is None:
                return mp.inf
            total -= mp.log(digits(chance if floor is None else max(chance, Fraction(floor))))
        return total / (len(row) - 1) / (1 if base is None else mp.log(base))

    return row_mean(loss, labels, probs, **rest)


def accuracy(labels, probs, *, lens="top_label", **rest):
    def right(question, importance):
        return sum(weight * outcome for _, outcome, weight in question) / sum(weight for *_, weight in question)

    return each_question(right, labels, probs, lens=lens, **rest)


def mean_confidence(labels, probs, *, lens="top_label", **rest):
    def mean(question, importance):
        return sum(weight * score for score, _, weight in question) / sum(weight for *_, weight in question)

    return each_question(mean, labels, probs, lens=lens, **rest)


def moved_inside(p, floor):
    return p if floor is None else min(max(p, Fraction(floor)), 1 - Fraction(floor))


def squared_over_variance(p, rest, y):
    if p == 0 or rest == 0:
        return Fraction(0) if (p == 0) == (y == 0) else math.inf
    value = rest / p if y else p / rest
    return math.inf if value > Fraction(sys.float_info.max) else value


def nses(labels, probs, *, floor=None, **rest):
    def loss(p, other, y):
        return squared_over_variance(moved_inside(p, floor), moved_inside(other, floor), y)

    return entry_mean(loss, labels, probs, **rest)


def dawid_sebastiani(labels, probs, *, floor=None, **rest):
    def loss(p, other, y):
        p, other = moved_inside(p, floor), moved_inside(other, floor)
        if p == 0 or other == 0:
            return -math.inf if (p == 0) == (y == 0) else math.inf
        return digits(squared_over_variance(p, other, y)) + mp.log(digits(p)) + mp.log(digits(other))

    return entry_mean(loss, labels, probs, **rest)


def lp_error(labels, probs, *, norm=1, **rest):
    def power(rows, importance):
        total, entries = digits(sum(weight for _, _, weight in rows)), []
        for label, row, weight in rows:
            entries += [(weight, abs(p - int(k == label))) for k, p in enumerate(row)]
        if norm == "inf":
            return max(error for _, error in entries)
        exponent = digits(Fraction(norm))
        return sum(digits(w) * digits(e) ** exponent for w, e in entries) / total / len(rows[0][1])

    return rooted(over_vectors(power, labels, probs, default=norm_default(norm), **rest), norm)


def l1_eps(labels, probs, *, eps=0.01, **rest):
    return entry_mean(lambda p, _, y: mp.sqrt(digits((p - y) ** 2 + Fraction(eps))), labels, probs, **rest)


def huber(labels, probs, *, delta=0.5, form="standard", **rest):
    turn = Fraction(delta)

    def standard(p, _, y):
        error = abs(p - y)
        return error**2 / 2 if error <= turn else turn * (error - turn / 2)

    def isotone(p, _, y):
        error, eps = abs(p - y), turn / 2
        return error**2 / (4 * eps) if error < 2 * eps else error - eps

    return entry_mean(standard if form == "standard" else isotone, labels, probs, **rest)


def global_squared_bias(labels, probs, *, scale="auto", **rest):
    def bias(rows, importance):
        classes, total = len(rows[0][1]), sum(weight for _, _, weight in rows)
        gaps = [sum(w * (row[k] - int(label == k)) for label, row, w in rows) / total for k in range(classes)]
        halves = {"auto": classes == 2, "half": True}.get(scale, False)
        return sum(gap * gap for gap in gaps) / (2 if halves else classes if scale == "per_class" else 1)

    return over_vectors(bias, labels, probs, **rest)


def expected_observed_ratio(labels, probs, **rest):
    def ratio(question, importance):
        expected = sum(weight * score for score, _, weight in question)
        observed = sum(weight * outcome for _, outcome, weight in question)
        if observed == 0 and expected == 0:
            raise Undefined("nothing happened and nothing was expected")
        return math.inf if observed == 0 else expected / observed

    return each_question(ratio, labels, probs, **rest)


def calibration_in_the_large(labels, probs, *, form="mean", **rest):
    def difference(question, importance):
        total = sum(weight for _, _, weight in question)
        return sum(weight * (score - outcome) for score, outcome, weight in question) / total

    return each_question(difference if form == "mean" else logit_shift, labels, probs, **rest)


def fixed_slope_intercept(labels, probs, *, form="logit", **rest):
    return calibration_in_the_large(labels, probs, form=form, **rest)


def logit_shift(question, importance):
    """The shift in log-odds that makes the mean right, by halving an interval; sure scores stay where they are."""
    wanted = sum(weight * outcome for _, outcome, weight in question)
    fixed = sum(weight for score, _, weight in question if score == 1)
    free = [(score, weight) for score, _, weight in question if 0 < score < 1]
    room = sum(weight for _, weight in free)
    if room == 0 and wanted == fixed:
        raise Undefined("no score can move")
    if wanted <= fixed:
        return -math.inf
    if wanted >= fixed + room:
        return math.inf
    with mp.workdps(DIGITS):
        logits = [(mp.log(digits(score) / digits(1 - score)), digits(weight)) for score, weight in free]

        def excess(shift):
            return sum(w / (1 + mp.exp(-shift - logit)) for logit, w in logits) - digits(wanted - fixed)

        low, high = mpf(-2000), mpf(2000)
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if excess(middle) > 0 else (middle, high)
        return (low + high) / 2


def spiegelhalter_z(labels, probs, **rest):
    def statistic(rows, importance):
        surprise, variance = Fraction(0), Fraction(0)
        for label, row, weight in rows:
            square, cube = sum(p**2 for p in row), sum(p**3 for p in row)
            surprise += weight * (square - row[label])
            # Rows that sum to 1 up to rounding: the variance about their own mean.
            total = sum(row)
            variance += (weight**2 if importance else weight) * (cube - 2 * square**2 + total * square**2)
        if variance == 0:
            if surprise == 0:
                raise Undefined("sure and even forecasts tell nothing")
            return math.inf if surprise > 0 else -math.inf
        return digits(surprise) / mp.sqrt(digits(variance))

    return over_vectors(statistic, labels, probs, **rest)
