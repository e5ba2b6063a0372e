"""Slow, exact forms of the binned metrics of one score: partly binned, over many partitions, signed, debiased, tests."""

import math
from fractions import Fraction
from itertools import pairwise

from mpmath import mp, mpf

from .counts_of_bins import debiased_sum, effective_size, partition
from .definitions import DIGITS, Undefined, cut, digits, falling, nearest_double, questions, rows_of, vectors
from .parts import averaged, combined, each_question, norm_default, rooted, weighted_power


def cut_options(options):
    return {word: options.pop(word) for word in ("bins", "binning", "closed") if word in options}


def means(question, members):
    """Weight, mean score and mean outcome of some rows."""
    weight = sum(question[i][2] for i in members)
    score = sum(question[i][2] * question[i][0] for i in members) / weight
    return weight, score, sum(question[i][2] * question[i][1] for i in members) / weight


def over_bins(formula, labels, probs, how, **rest):
    """`formula` of the question, its non-empty bins as (members, low edge, high edge, weight, score, rate), and of importance."""

    def of_question(question, importance):
        cells = partition(question, importance, **how)
        bins = [(*cell, *means(question, cell[0])) for cell in cells]
        return formula(question, bins, importance)

    return each_question(of_question, labels, probs, **rest)


def total_weight(question):
    return sum(weight for _, _, weight in question)


@averaged
def ece(labels, probs, *, norm=1, **options):
    def power(question, bins, importance):
        total = total_weight(question)
        return weighted_power([(weight / total, abs(score - rate)) for *_, weight, score, rate in bins], norm)

    how = cut_options(options)
    return rooted(over_bins(power, labels, probs, how, default=norm_default(norm), **options), norm)


def rmsce(labels, probs, **options):
    return ece(labels, probs, **{"norm": 2, **options})


def ece_em(labels, probs, **options):
    return ece(labels, probs, **{"binning": "equal_mass", **options})


def cwce(labels, probs, **options):
    return ece(labels, probs, **{"lens": "classwise", **options})


def ace(labels, probs, **options):
    return ece(labels, probs, **{"lens": "classwise", "binning": "equal_mass", **options})


def large_enough(bins, importance, min_count):
    """Bins with as many rows; the weight says how many there were unless it is importance."""
    kept = [b for b in bins if (len(b[0]) if importance else b[3]) >= min_count]
    if not kept:
        raise Undefined("every bin is too small")
    return kept


def mce(labels, probs, *, min_count=0, **options):
    def largest(question, bins, importance):
        return max(abs(score - rate) for *_, score, rate in large_enough(bins, importance, min_count))

    return over_bins(largest, labels, probs, cut_options(options), default="max", **options)


def esce(labels, probs, *, representative="mean", **options):
    def signed(question, bins, importance):
        gaps = [
            weight * ((low + high) / 2 - rate if representative == "midpoint" else score - rate)
            for _, low, high, weight, score, rate in bins
        ]
        return sum(gaps) / total_weight(question)

    return over_bins(signed, labels, probs, cut_options(options), **options)


def area(labels, probs, side, *, measure="density", **options):
    """Where `side` times (score - outcome) is positive: over bins by their share, or under the drawn polyline."""

    def one_side(question, bins, importance):
        if measure == "density":
            gaps = [weight * max(side * (score - rate), 0) for *_, weight, score, rate in bins]
            return sum(gaps) / total_weight(question)
        points = [(score, side * (score - rate)) for *_, score, rate in bins]
        return sum((positive_area(*one, *other) for one, other in pairwise(points)), Fraction(0))

    return over_bins(one_side, labels, probs, cut_options(options), **options)


def positive_area(x0, gap0, x1, gap1):
    """Area between 0 and the positive part of the straight line from (x0, gap0) to (x1, gap1)."""
    if gap0 * gap1 < 0:
        crossing = x0 + (x1 - x0) * gap0 / (gap0 - gap1)
        return positive_area(x0, gap0, crossing, Fraction(0)) + positive_area(crossing, Fraction(0), x1, gap1)
    return (x1 - x0) * (max(gap0, 0) + max(gap1, 0)) / 2


def abc_above(labels, probs, **options):
    return area(labels, probs, -1, **options)


def abc_below(labels, probs, **options):
    return area(labels, probs, 1, **options)


@averaged
def proportional_ece(labels, probs, **options):
    def relative(question, bins, importance):
        total, result = total_weight(question), Fraction(0)
        for *_, weight, score, rate in bins:
            if score == 0 and rate > 0:
                return math.inf
            if score > 0:
                result += weight / total * abs(score - rate) / score
        return result

    how = cut_options(options)
    return over_bins(relative, labels, probs, how, **options)


@averaged
def tl_ece(labels, probs, *, norm=1, average="weighted", counts=None, sample_weight=None, **options):
    """The error of the confidence inside each predicted class, then their average."""
    groups = {}
    for label, row, weight in rows_of(labels, probs, counts, sample_weight):
        best = falling(row)[0]
        groups.setdefault(best, []).append((row[best], int(best == label), weight))
    errors, shares = [], []
    for question in groups.values():
        total = total_weight(question)
        cells = [
            means(question, members) for members, _, _ in partition(question, sample_weight is not None, **options)
        ]
        errors.append(weighted_power([(weight / total, abs(score - rate)) for weight, score, rate in cells], norm))
        shares.append(total if average == "weighted" else Fraction(1))
    if norm == "inf":
        return max(errors)
    value = sum(share * error for share, error in zip(shares, errors, strict=True)) / sum(shares)
    return rooted(value, norm)


def ece_sweep(labels, probs, **options):
    return ece(labels, probs, **{"binning": "equal_mass", "bins": "sweep", **options})


def ece_widths(labels, probs, *, widths=None, **options):
    """Over 1/h bins, rounded, for each width h: 0.005, 0.010, ..., 0.050 unless others are given."""

    def mean(question, importance):
        total, errors = total_weight(question), []
        for width in [Fraction(j, 200) for j in range(1, 11)] if widths is None else widths:
            number = math.floor(
                1 / Fraction(width) + Fraction(1, 2)
            )  # no width here is 1 over a whole number and a half
            cells = partition(question, importance, bins=number)
            found = [means(question, members) for members, _, _ in cells]
            errors.append(sum(weight * abs(score - rate) for weight, score, rate in found) / total)
        return sum(errors) / len(errors)

    return each_question(mean, labels, probs, **options)


def ece_ea(labels, probs, **options):
    return ece(labels, probs, **{"binning": "equal_area", **options})


@averaged
def rbece(labels, probs, *, min_count=0, **options):
    def balanced(question, bins, importance):
        kept = large_enough(bins, importance, min_count)
        return sum(abs(score - rate) for *_, score, rate in kept) / len(kept)

    return over_bins(balanced, labels, probs, cut_options(options), **options)


@averaged
def smbs(labels, probs, **options):
    def squares(question, bins, importance):
        total = sum(question[i][2] * (question[i][1] - score) ** 2 for members, *_, score, _ in bins for i in members)
        return total / total_weight(question)

    return over_bins(squares, labels, probs, cut_options(options), **options)


@averaged
def dce(labels, probs, *, bins=None, aggregate="max", variant="sum", bound=False, **options):
    rest = dict(options)
    how = cut_options(rest)

    def distance(question, importance):
        count = bins
        if count is None:
            size = effective_size([weight for _, _, weight in question], importance)
            count = next(m for m in range(1, 10**6) if m**3 >= size)
        result = Fraction(0)
        for members, _, high in partition(question, importance, bins=count, **how):
            weight, score, rate = means(question, members)
            stand = {"max": max(question[i][0] for i in members), "upper_edge": high, "mean": score}[aggregate]
            if variant == "sum":
                result += abs(weight * rate - stand * weight)
            else:
                result += sum(question[i][2] * abs(question[i][1] - stand) for i in members)
            if bound:
                result += sum(question[i][2] * abs(question[i][0] - stand) for i in members)
        return result / total_weight(question)

    return each_question(distance, labels, probs, **rest)


@averaged
def ece_lb(labels, probs, *, norm=1, **options):
    how = cut_options({"binning": "equal_mass", **options})
    cut_options(options)

    def power(question, bins, importance):
        total = total_weight(question)
        pairs = [(question[i][2] / total, abs(question[i][0] - rate)) for members, *_, rate in bins for i in members]
        return weighted_power(pairs, norm)

    return rooted(over_bins(power, labels, probs, how, default=norm_default(norm), **options), norm)


# Many partitions.


def shifted(question, width):
    """Error averaged over all shifts u in [0, width): constant between the shifts at which a score changes its bin."""
    turns = {width * (score // width + 1) - score for score, _, _ in question}
    stops = sorted({Fraction(0), width, *turns})
    area = Fraction(0)
    for k in range(len(stops) - 1):
        inside, sums = (stops[k] + stops[k + 1]) / 2, {}
        for score, outcome, weight in question:
            place = (score + inside) // width
            sums[place] = sums.get(place, 0) + weight * (score - outcome)
        area += (stops[k + 1] - stops[k]) * sum(abs(value) for value in sums.values())
    return area / width / total_weight(question)


def rice(labels, probs, *, width=1 / 15, **rest):
    return each_question(lambda question, _: shifted(question, Fraction(width)), labels, probs, **rest)


def sice(labels, probs, *, levels=10, **rest):
    def least(question, importance):
        return min(shifted(question, Fraction(1, 2**k)) + Fraction(1, 2**k) for k in range(levels))

    return each_question(least, labels, probs, **rest)


def cce(labels, probs, **rest):
    def worst(question, importance):
        values = sorted({score for score, _, _ in question})
        largest = Fraction(0)
        for low in values:
            for high in values:
                inside = [w * (score - outcome) for score, outcome, w in question if low <= score <= high]
                largest = max(largest, abs(sum(inside)))
        return largest / total_weight(question)

    return each_question(worst, labels, probs, **rest)


# Over all thresholds.


def atb(labels, probs, **rest):
    def mean(question, importance):
        ends = sorted({Fraction(0), Fraction(1), *(score for score, _, _ in question)})
        value = Fraction(0)
        for low, high in pairwise(ends):
            threshold = (low + high) / 2
            sides = [[w * (p - y) for p, y, w in question if (p < threshold) == below] for below in (True, False)]
            value += (high - low) * sum(sum(side) ** 2 for side in sides)
        return value / total_weight(question) ** 2

    return each_question(mean, labels, probs, **rest)


def u_cal(labels, probs, **rest):
    """Largest mean of the V-shaped loss minus that of the best constant, a hair beside each score, where it is largest."""

    def loss(question, decide, v):
        return sum(w * (v - y) * (1 if decide(p) else -1) for p, y, w in question)

    def largest(question, importance):
        ends = sorted({Fraction(0), Fraction(1), *(score for score, _, _ in question)})
        regrets = [Fraction(0)]
        for low, high in pairwise(ends):
            for v in (low, high):
                own = loss(question, lambda p, low=low: p > low, v)
                regrets.append(own - min(loss(question, lambda p, side=side: side, v) for side in (True, False)))
        return max(regrets) / total_weight(question)

    return each_question(largest, labels, probs, **rest)


# Signed.


def wsmcs(labels, probs, *, counts=None, sample_weight=None, lens="top_label"):
    rows = rows_of(labels, probs, counts, sample_weight)
    values = []
    for question in questions(rows, lens):
        scores = []
        for true in sorted({label for label, _, _ in rows}):
            chosen = [i for i in range(len(rows)) if rows[i][0] == true]
            _, score, rate = means(question, chosen)
            gap = score - rate
            scores.append(Fraction(0) if abs(gap) < Fraction(1, 10**12) else gap)
        over, under = [s for s in scores if s >= 0], [s for s in scores if s < 0]
        values.append((len(over) * sum(over) + len(under) * sum(under)) / len(scores))
    return combined(values)


@averaged
def dici(labels, probs, **options):
    how = cut_options({"binning": "equal_mass", **options})
    cut_options(options)

    def index(question, bins, importance):
        def side(sign):
            pairs = [
                (weight, abs(score - rate) / max(score, 1 - score))
                for *_, weight, score, rate in bins
                if sign * (score - rate) > Fraction(1, 10**12)
            ]
            return sum(w * relative for w, relative in pairs) / sum(w for w, _ in pairs) if pairs else Fraction(0)

        return side(1) - side(-1)

    return over_bins(index, labels, probs, how, **options)


# Debiased.


def rate_variance(question, members, rate, importance, unbiased):
    """Variance of a bin's rate: one copy (counts) or the row itself (importance) is taken out where it is unbiased."""
    weight = sum(question[i][2] for i in members)
    spread = rate * (1 - rate)
    if importance:
        concentration = sum(question[i][2] ** 2 for i in members) / weight**2
        return spread * concentration / (1 - concentration if unbiased else 1)
    return spread / (weight - 1 if unbiased else weight)


@averaged
def ce2_db(labels, probs, *, single="keep", clip=False, **options):
    how = cut_options({"binning": "equal_mass", **options})
    cut_options(options)

    def debiased(question, bins, importance):
        total, result = total_weight(question), Fraction(0)
        for members, _, _, weight, score, rate in bins:
            alone = (len(members) if importance else weight) == 1
            if alone and single == "raise":
                raise Undefined("a bin of one row")
            if alone:
                result += weight / total * (score - rate) ** 2 if single == "keep" else 0
            else:
                variance = rate_variance(question, members, rate, importance, unbiased=True)
                result += weight / total * ((score - rate) ** 2 - variance)
        return max(result, Fraction(0)) if clip else result

    return over_bins(debiased, labels, probs, how, **options)


@averaged
def drmsce(labels, probs, *, clip_each=False, **options):
    value = ce2_db(labels, probs, clip=clip_each, **options)
    with mp.workdps(DIGITS):
        return mp.sqrt(digits(max(value, Fraction(0))))


def drmsce_bcs(labels, probs, **options):
    return drmsce(labels, probs, **{"bins": "search", **options})


@averaged
def ece_db(labels, probs, **options):
    how = cut_options({"binning": "equal_mass", **options})
    cut_options(options)

    def debiased(question, bins, importance):
        total, result = total_weight(question), mpf(0)
        with mp.workdps(DIGITS):
            for members, _, _, weight, score, rate in bins:
                gap = digits(abs(score - rate))
                variance = rate_variance(question, members, rate, importance, unbiased=False)
                redrawn = gap
                if variance > 0:  # the mean of |gap + deviation * normal|, as an integral of its distribution
                    deviation = mp.sqrt(digits(variance))
                    redrawn = deviation * mp.sqrt(2 / mp.pi) * mp.exp(-((gap / deviation) ** 2) / 2)
                    redrawn += gap * mp.erf(gap / deviation / mp.sqrt(2))
                result += digits(weight / total) * (2 * gap - redrawn)
        return result

    return over_bins(debiased, labels, probs, how, **options)


@averaged
def hosmer_lemeshow(labels, probs, *, variance="binomial", **options):
    how = {"bins": 10, "binning": "equal_mass", **cut_options(options)}

    def statistic(question, bins, importance):
        result = Fraction(0)
        for members, _, _, weight, score, rate in bins:
            own = [question[i][2] ** 2 if importance else question[i][2] for i in members]
            if variance == "binomial":
                spread = sum(own) * score * (1 - score)
            else:
                spread = sum(w * question[i][0] * (1 - question[i][0]) for w, i in zip(own, members, strict=True))
            excess = weight * (score - rate)
            if spread == 0 and excess != 0:
                return math.inf
            result += excess**2 / spread if spread else 0
        return result

    return over_bins(statistic, labels, probs, how, **options)


def scored(seen, columns, lens):
    """The yes-or-no question inside a view of two columns, or None where the whole vector is looked at."""
    if columns is not None:
        return None
    column = 0 if lens.startswith("top_k") else 1
    return [(row[column], int(label == column), weight) for label, row, weight in seen]


@averaged
def t_cal(labels, probs, *, bins=None, smoothness=1, unbiased=False, counts=None, sample_weight=None, lens="auto"):
    rows, importance, values = rows_of(labels, probs, counts, sample_weight), sample_weight is not None, []
    for seen, columns in vectors(rows, lens):
        question = scored(seen, columns, lens)
        weights = [weight for _, _, weight in seen]
        classes = 2 if question else len(seen[0][1])
        count = bins
        if count is None:
            with mp.workdps(DIGITS):
                power = mpf(2) / (4 * digits(Fraction(smoothness)) + classes - 1)
                size = digits(effective_size(weights, importance)) ** power
                count = max(1, int(mp.floor(size + mpf(10) ** -9)))
        if question:
            cells = [members for members, _, _ in cut([score for score, _, _ in question], weights, count)]
            one_by_one = [question]
        else:
            cells = simplex_cells([row[:columns] for _, row, _ in seen], count)
            one_by_one = [[(row[k], int(label == k), w) for label, row, w in seen] for k in range(classes)]
        result = Fraction(0)
        for members in cells:
            cross = sum(debiased_sum(part, importance, [(members, 0, 1)]) for part in one_by_one)
            mass = sum(weights[i] for i in members)
            if unbiased:  # what is left of the weight when a row (importance) or a copy does not meet itself
                left = mass - sum(weights[i] ** 2 if importance else weights[i] for i in members) / mass
                cross = cross * mass / left if left > 0 else 0
            result += cross
        values.append(result / sum(weights))
    return combined(values)


def l2ce_interval(labels, probs, **options):
    return t_cal(labels, probs, **options)


def simplex_cells(rows, bins):
    """Rows whose probabilities fall into the same equal-width bins, class by class."""
    edges, found = [Fraction(m / bins) for m in range(bins + 1)], {}
    for i, row in enumerate(rows):
        doubles = [nearest_double(p) for p in row]
        key = tuple(next(m for m in range(1, bins + 1) if p <= edges[m]) for p in doubles)
        found.setdefault(key, []).append(i)
    return list(found.values())
