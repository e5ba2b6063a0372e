"""Slow, exact forms of soft and overlapping bins: memberships to fifty digits, windows row by row."""

from fractions import Fraction

from mpmath import mp, mpf

from .counts_of_bins import effective_size, partition
from .definitions import DIGITS, digits, falling, nearest_double, rows_of, vectors
from .parts import averaged, combined, each_question, norm_default, rooted

# Scores that lie equally far to either side, up to this, are equally near.
SAME_DISTANCE = Fraction(1, 10**12)


def softmax(logits):
    largest = max(logits)
    shares = [mp.exp(logit - largest) for logit in logits]
    return [share / sum(shares) for share in shares]


@averaged
def sbece(labels, probs, *, bins=15, temperature=0.01, norm=2, form="soft", **rest):
    width = digits(Fraction(temperature))
    anchors = [Fraction(2 * j + 1, 2 * bins) for j in range(bins)]

    def soft(question, importance):
        member = [softmax([-digits((score - anchor) ** 2) / width for anchor in anchors]) for score, _, _ in question]
        total = digits(sum(weight for _, _, weight in question))
        result = mpf(0)
        for j in range(bins):
            shares = [digits(row[2]) * u[j] for row, u in zip(question, member, strict=True)]
            mass = sum(shares)
            rate = sum(u * outcome for u, (_, outcome, _) in zip(shares, question, strict=True)) / mass
            scores = [digits(score) for score, _, _ in question]
            if form == "soft":
                gap = abs(sum(u * score for u, score in zip(shares, scores, strict=True)) / mass - rate)
                result = max(result, gap) if norm == "inf" else result + mass * gap**norm
            else:
                result += sum(u * abs(rate - score) ** norm for u, score in zip(shares, scores, strict=True))
        return result if norm == "inf" else result / total

    with mp.workdps(DIGITS):
        return rooted(each_question(soft, labels, probs, default=norm_default(norm), **rest), norm)


@averaged
def dece(
    labels,
    probs,
    *,
    bins=15,
    rank_sharpness=100,
    bin_temperature=0.01,
    counts=None,
    sample_weight=None,
    lens="canonical",
):
    sharp, width = digits(Fraction(rank_sharpness)), digits(Fraction(bin_temperature))
    values = []
    with mp.workdps(DIGITS):
        for seen, columns in vectors(rows_of(labels, probs, counts, sample_weight), lens):
            sums = [mpf(0)] * bins
            for label, row, weight in seen:
                if columns is None:  # one score: right or wrong is known
                    score, right = row[1], mpf(label)
                else:
                    score = max(row)
                    rank = mpf(1) / 2 + sum(1 / (1 + mp.exp(-sharp * digits(p - row[label]))) for p in row)
                    right = max(mpf(0), 2 - rank)
                cuts = [Fraction(m, bins) for m in range(bins)]
                member = softmax([digits((j + 1) * score - sum(cuts[: j + 1])) / width for j in range(bins)])
                for j in range(bins):
                    sums[j] += digits(weight) * member[j] * (right - digits(score))
            values.append(sum(abs(part) for part in sums) / digits(sum(weight for _, _, weight in seen)))
    return combined(values)


@averaged
def lse_ece(
    labels,
    probs,
    *,
    bins=15,
    binning="equal_width",
    temperature=0.01,
    counts=None,
    sample_weight=None,
    lens="canonical",
):
    width, values = digits(Fraction(temperature)), []
    for seen, columns in vectors(rows_of(labels, probs, counts, sample_weight), lens):
        question = []
        for label, row, weight in seen:
            if columns is None:  # one score: there is no maximum to smooth
                question.append((row[1], label, weight))
                continue
            with mp.workdps(DIGITS):
                best = digits(max(row))
                smooth = best + width * mp.log(sum(mp.exp((digits(p) - best) / width) for p in sorted(row)))
            score = min(Fraction(float(smooth)), Fraction(1))
            question.append((score, int(falling(row)[0] == label), weight))
        total = sum(weight for _, _, weight in question)
        cells = partition(question, sample_weight is not None, bins, binning)
        gaps = [
            abs(sum(question[i][2] * (question[i][0] - question[i][1]) for i in members)) for members, _, _ in cells
        ]
        values.append(sum(gaps) / total)
    return combined(values)


@averaged
def fce(labels, probs, *, bins=15, **rest):
    def membership(score, m):
        """Rises from 0 to 1 over half a width around the lower edge, falls likewise around the upper."""
        low, high, width = Fraction(m, bins), Fraction(m + 1, bins), Fraction(1, bins)
        rise, fall = (score - low) / (width / 2) + Fraction(1, 2), (high - score) / (width / 2) + Fraction(1, 2)
        return max(Fraction(0), min(Fraction(1), rise, fall))

    def fuzzy(question, importance):
        gaps, mass = Fraction(0), Fraction(0)
        for m in range(bins):
            shares = [weight * membership(score, m) for score, _, weight in question]
            gaps += abs(sum(u * (score - outcome) for u, (score, outcome, _) in zip(shares, question, strict=True)))
            mass += sum(shares)
        return gaps / mass

    return each_question(fuzzy, labels, probs, **rest)


# Windows.


def laid_out(question, importance):
    """Rows by score, counts as so many rows; tied rows share their mean outcome and their mean weight."""
    rows = []
    for value in sorted({score for score, _, _ in question}):
        tied = [(outcome, weight) for score, outcome, weight in question if score == value]
        weight = sum(w for _, w in tied)
        rate = sum(w * outcome for outcome, w in tied) / weight
        if importance:
            rows += [(value, rate, weight / len(tied))] * len(tied)
        else:
            rows += [(value, rate, Fraction(1))] * int(weight)
    return rows


def window_means(window):
    weight = sum(w for _, _, w in window)
    score = sum(w * p for p, _, w in window) / weight
    return weight, score, sum(w * y for _, y, w in window) / weight


def calbin(labels, probs, *, size=None, inner="mean_abs", **rest):
    def over_windows(question, importance):
        rows = laid_out(question, importance)
        length = size
        if size is None:
            length = max(1, round(effective_size([w for _, _, w in question], importance) / 10))
        length = min(length, len(rows))
        gaps = []
        for start in range(len(rows) - length + 1):
            window = rows[start : start + length]
            weight, score, rate = window_means(window)
            if inner == "abs_mean":
                gaps.append(abs(score - rate))
            else:
                gaps.append(sum(w * abs(p - rate) for p, _, w in window) / weight)
        return sum(gaps) / len(gaps)

    return each_question(over_windows, labels, probs, **{"lens": "classwise", **rest})


def ece_knn(labels, probs, *, neighbours=None, **rest):
    def over_rows(question, importance):
        rows = laid_out(question, importance)
        k = neighbours
        if k is None:
            with mp.workdps(DIGITS):
                k = int(mp.nint(mp.sqrt(digits(effective_size([w for _, _, w in question], importance)))))
        total = Fraction(0)
        for i, (score, _, weight) in enumerate(rows):
            low = high = i  # the row itself; then the nearer of the next below and the next above, k times
            while high - low < min(k, len(rows) - 1):
                below = score - rows[low - 1][0] if low > 0 else None
                above = rows[high + 1][0] - score if high + 1 < len(rows) else None
                if above is None or (below is not None and below <= above + SAME_DISTANCE):
                    low -= 1
                else:
                    high += 1
            _, mean, rate = window_means(rows[low : high + 1])
            total += weight * abs(mean - rate)
        return total / sum(weight for _, _, weight in rows)

    return each_question(over_rows, labels, probs, **rest)


# Many classes.


@averaged
def tace(labels, probs, *, bins=15, binning="equal_mass", threshold=0.01, mode="drop", **rest):
    limit = Fraction(threshold)

    def thresholded(question, importance):
        if mode == "drop":
            kept = [row for row in question if row[0] > limit]
        else:
            kept = [(Fraction(0) if score < limit else score, outcome, w) for score, outcome, w in question]
        if not kept:
            return Fraction(0)
        gaps = Fraction(0)
        for members, _, _ in partition(kept, importance, bins, binning):
            gaps += abs(sum(kept[i][2] * (kept[i][0] - kept[i][1]) for i in members))
        return gaps / sum(w for _, _, w in kept)

    return each_question(thresholded, labels, probs, **{"lens": "classwise", **rest})


@averaged
def topk_ece(labels, probs, *, k=None, bins=15, binning="equal_width", reading="rank", counts=None, sample_weight=None):
    rows = rows_of(labels, probs, counts, sample_weight)
    first = min(5, len(rows[0][1])) if k is None else k
    spans = [range(first)] if reading == "cumulative" else [range(r, r + 1) for r in range(first)]
    errors = []
    for span in spans:
        question = []
        for label, row, weight in rows:
            chosen = [falling(row)[r] for r in span]
            score = min(nearest_double(sum(row[c] for c in chosen)), Fraction(1))
            question.append((score, int(label in chosen), weight))
        cells = partition(question, sample_weight is not None, bins, binning)
        gaps = [
            abs(sum(question[i][2] * (question[i][0] - question[i][1]) for i in members)) for members, _, _ in cells
        ]
        errors.append(sum(gaps) / sum(weight for _, _, weight in rows))
    return sum(errors) / len(errors)
