"""How many bins the data bear, and bins of equal area, written out: every number of bins is tried by cutting anew."""

import math
from fractions import Fraction

from mpmath import mp, mpf

from .definitions import DIGITS, Undefined, cut, digits

FOLDS, MOST_FOLD_BINS = 10, 40
# Areas of bins that agree to twelve digits are equal: midpoints of scores are rounded.
SAME_AREA = Fraction(1, 10**12)


def effective_size(weights, importance):
    """The weight of counts; for importance how many equal rows it is worth."""
    return sum(weights) ** 2 / sum(w * w for w in weights) if importance else sum(weights)


def parts(question):
    return [score for score, _, _ in question], [weight for _, _, weight in question]


def partition(question, importance, bins=15, binning="equal_width", closed="right"):
    """The non-empty bins in rising order, as (row numbers, low edge, high edge), for every form of `bins` and `binning`."""
    if isinstance(bins, str) and bins != "levels":
        bins = SEARCHES[bins](question, importance, binning)
    scores, weights = parts(question)
    if binning == "equal_area":
        return cut_equal_area(scores, weights, bins)
    return cut(scores, weights, bins, binning, closed)


def rates_rise(question, cells):
    rates = [
        sum(question[i][2] * question[i][1] for i in members) / sum(question[i][2] for i in members)
        for members, _, _ in cells
    ]
    return all(rates[m] <= rates[m + 1] for m in range(len(rates) - 1))


def rows_in(question, members, importance):
    return len(members) if importance else sum(question[i][2] for i in members)


def sweep(question, importance, binning):
    """The largest M such that rates rise for 2, 3, ... M bins, below the number of rows."""
    most = rows_in(question, range(len(question)), importance) - 1
    count = 1
    while count < most and rates_rise(question, partition(question, importance, count + 1, binning)):
        count += 1
    return count


def search(question, importance, binning, practical=True):
    """Doubling and halving; the practical form wants ten rows in a bin."""
    n = rows_in(question, range(len(question)), importance)
    if practical and n < 10:
        raise Undefined("fewer than ten rows")
    distinct = len({score for score, _, _ in question})
    upper = max(1, min(round(n / 10), distinct, 100)) if practical else max(1, round(n / 2))

    def fits(count):
        cells = partition(question, importance, count, binning)
        full = all(rows_in(question, members, importance) >= (10 if practical else 0) for members, _, _ in cells)
        return count == 1 or (full and rates_rise(question, cells))

    low, high, now = 1, upper, min(10 if practical else 15, upper)
    while not low == high == now:
        if fits(now):
            low = now
            now = min(2 * now, round(low + (high - low) / 2))
        else:
            high = now - 1
            now = round(low + (high - low) / 2)
        now = min(high, max(low + 1, now))
    return now


def search_pure(question, importance, binning):
    return search(question, importance, binning, practical=False)


def cross_validated(question, importance, binning):
    """Least held-out squared error of the tilted roof; folds are every tenth row by score, outcome and weight.

    A count is that many rows. Losses that agree to twelve digits are a tie, and the smaller number of bins wins.
    """
    rows = sorted(question)
    if not importance:
        rows = [(score, outcome, Fraction(1)) for score, outcome, weight in rows for _ in range(int(weight))]
    losses = []
    for count in range(1, MOST_FOLD_BINS + 1):
        loss = Fraction(0)
        for held in range(min(FOLDS, len(rows))):
            train = [row for i, row in enumerate(rows) if i % FOLDS != held]
            if train:
                roof = tilted_roof(train, count, binning)
                tests = [row for i, row in enumerate(rows) if i % FOLDS == held]
                loss += sum(w * (roof(score) - outcome) ** 2 for score, outcome, w in tests)
        losses.append(round(float(loss / sum(w for _, _, w in rows)), 12))
    return losses.index(min(losses)) + 1


def tilted_roof(train, count, binning):
    """Score minus the gap of its bin; an empty bin leaves the score as it is."""
    scores, weights = parts(train)
    cells = cut(scores, weights, count, binning)
    gaps = [
        sum(weights[i] * (scores[i] - train[i][1]) for i in members) / sum(weights[i] for i in members)
        for members, _, _ in cells
    ]

    def roof(score):
        for m, (_, low, high) in enumerate(cells):
            if score <= high and (low < score or m == 0 == low):
                return score - gaps[m]
        return score

    return roof


def null_variance(question, importance, cells):
    """Variance of the sum over bins of (R^2 - own squares) / weight, labels drawn from the scores."""
    total = Fraction(0)
    for members, _, _ in cells:
        size = sum(question[i][2] for i in members)
        if importance:  # every pair of different rows, weighed by both
            spread = [question[i][2] ** 2 * question[i][0] * (1 - question[i][0]) for i in members]
        else:  # every pair of different copies
            spread = [p * (1 - p) for p, _, w in (question[i] for i in members) for _ in range(int(w))]
        total += 2 * (sum(spread) ** 2 - sum(v * v for v in spread)) / size**2
    return total


def debiased_sum(question, importance, cells):
    """Sum over bins of products of residuals of different rows, divided by the bin's weight."""
    total = Fraction(0)
    for members, _, _ in cells:
        size = sum(question[i][2] for i in members)
        excess = sum(question[i][2] * (question[i][0] - question[i][1]) for i in members)
        own = sum(
            (question[i][2] ** 2 if importance else question[i][2]) * (question[i][0] - question[i][1]) ** 2
            for i in members
        )
        total += (excess * excess - own) / size
    return total


def dyadic(question, importance, binning):
    """Of 2, 4, 8, ... bins those at which the debiased error is most null deviations above 0; the first of equals."""
    size = effective_size(parts(question)[1], importance)
    best, chosen = -mp.inf, 2
    with mp.workdps(DIGITS):
        for power in range(1, max(2, math.floor(mp.log(digits(max(size, Fraction(2))), 2) + mpf(10) ** -12) + 1)):
            cells = partition(question, importance, 2**power, binning)
            variance = null_variance(question, importance, cells)
            if variance > 0:
                ratio = digits(debiased_sum(question, importance, cells)) / mp.sqrt(digits(variance))
                if ratio > best + mpf(10) ** -12:
                    best, chosen = ratio, 2**power
    return chosen


SEARCHES = {
    "sweep": sweep,
    "search": search,
    "search_pure": search_pure,
    "cv": cross_validated,
    "tcal": dyadic,
}


def cut_equal_area(scores, weights, bins):
    """Close a bin once width times weight reaches the area; the area is the least that gives at most `bins` bins.

    Between two areas that stretches of the line can have nothing changes, so all of those are tried, from the least up.
    """
    values = sorted(set(scores))
    mass = [sum(weights[i] for i in range(len(scores)) if scores[i] == value) for value in values]
    edges = [Fraction(0)]
    edges += [Fraction((float(values[j]) + float(values[j + 1])) / 2) for j in range(len(values) - 1)]
    edges.append(Fraction(1))

    def close(area):
        ends, start = [], 0
        for end in range(1, len(edges)):
            held = (edges[end] - edges[start]) * sum(mass[start:end])
            if held >= area * (1 - SAME_AREA) or end == len(edges) - 1:
                ends.append(end)
                start = end
        return ends

    areas = {(edges[b] - edges[a]) * sum(mass[a:b]) for a in range(len(values)) for b in range(a + 1, len(edges))}
    in_order = sorted(areas)
    low, high = -1, len(in_order) - 1  # the largest area is one bin
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if len(close(in_order[middle])) <= bins else (middle, high)
    result, start = [], 0
    for end in close(in_order[high]):
        members = [i for i in range(len(scores)) if values[start] <= scores[i] <= values[end - 1]]
        result.append((members, edges[start], edges[end]))
        start = end
    return result
