"""Slow forms of the errors of fitted maps: rows laid out one by one, dense matrices, general optimisers."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from . import bin_definitions
from .cases import EQUAL_MASS_WITH_NORM, WITH_NORM, option, together, turns
from .counts_of_bins import effective_size
from .curve_definitions import (
    DIGITS,
    STYLED,
    STYLES,
    beta_fit,
    climbed,
    clipped_logs,
    inverse,
    likelihood,
    rates_by,
    separable,
)
from .definitions import Undefined, digits, rows_of, vectors
from .parts import combined, each_question, norm_default

RIDGE = 1e-3


def fitted_error(fit, labels, probs, norm=1, **rest):
    """Mean over rows of |rate - score|^norm, where `fit` gives each row's rate."""

    def error(question, importance):
        rates = fit(question, importance)
        with mp.workdps(DIGITS):
            gaps = [abs(digits(rate) - digits(row[0])) for rate, row in zip(rates, question, strict=True)]
            if norm == "inf":
                return max(gaps)
            total = sum(digits(row[2]) * gap**norm for gap, row in zip(gaps, question, strict=True))
            return total / digits(sum(row[2] for row in question))

    return each_question(error, labels, probs, default=norm_default(norm), **rest)


def fott_em(labels, probs, **options):
    return bin_definitions.ece(labels, probs, **{"binning": "equal_mass", **options})


def fott_ew(labels, probs, **options):
    return bin_definitions.ece(labels, probs, **options)


# Curves of greatest likelihood; where there is none, the rates that they tend to.


def seen_rates(question):
    rates = rates_by(question)
    return [rates[clipped_logs(score)] for score, _, _ in question]


def sigmoids(rows, found):
    with mp.workdps(DIGITS):
        return [1 / (1 + mp.exp(-sum(c * x for c, x in zip(found, f, strict=True)))) for f, _, _ in rows]


def term_rows(question, terms):
    """Rows of a regression on a constant and the given functions of (ln p, -ln(1 - p))."""
    with mp.workdps(DIGITS):
        return [((mpf(1), *(t(*clipped_logs(score)) for t in terms)), y, w) for score, y, w in question]


def platt_rates(question, importance):
    different = len({clipped_logs(score) for score, _, _ in question})
    rows = term_rows(question, [lambda low, high: low + high] if different > 1 else [])
    return seen_rates(question) if separable(rows) else sigmoids(rows, climbed(rows))


def fott_platt(labels, probs, **options):
    return fitted_error(platt_rates, labels, probs, **options)


LOW, HIGH = (lambda low, high: low), (lambda low, high: high)


def rising_or_flat(question, term):
    """Rates and likelihood of a regression on one term; flat where it would fall, None where it is infinitely steep."""
    flat = term_rows(question, [])
    if separable(flat):
        return None
    rows = term_rows(question, [term] if len({clipped_logs(score) for score, _, _ in question}) > 1 else [])
    if separable(rows):
        events = [score for score, y, _ in question if y]
        others = [score for score, y, _ in question if not y]
        if max(others) <= min(events):
            return None
        rows = flat
    found = climbed(rows)
    if len(found) > 1 and found[1] < 0:
        rows, found = flat, climbed(flat)
    return sigmoids(rows, found), likelihood([(f, y, digits(w)) for f, y, w in rows], found)


def beta_rates(question, importance):
    if len({clipped_logs(score) for score, _, _ in question}) < 3:
        found = rising_or_flat(question, lambda low, high: low + high)
        return found[0] if found else seen_rates(question)
    sides = [rising_or_flat(question, HIGH), rising_or_flat(question, LOW)]
    if None in sides:
        return seen_rates(question)
    free = term_rows(question, [LOW, HIGH])
    if separable(free):  # then the greatest likelihood lies where one of the terms is left out
        return max(sides, key=lambda side: side[1])[0]
    _, a, b = climbed(free)
    if a < 0:
        return sides[0][0]
    return sides[1][0] if b < 0 else beta_fit(question)


def fott_beta(labels, probs, **options):
    return fitted_error(beta_rates, labels, probs, **options)


# Isotonic: the largest over starts of the smallest over ends of the mean in between.


def isotonic_rates(question, importance):
    scores = sorted({score for score, _, _ in question})
    weight = [sum(w for score, _, w in question if score == s) for s in scores]
    events = [sum(w * y for score, y, w in question if score == s) for s in scores]

    def mean(start, end):
        return Fraction(sum(events[start : end + 1])) / sum(weight[start : end + 1])

    last = len(scores)
    rate = {
        scores[i]: max(min(mean(start, end) for end in range(i, last)) for start in range(i + 1)) for i in range(last)
    }
    return [rate[score] for score, _, _ in question]


def fott_isotonic(labels, probs, **options):
    return fitted_error(isotonic_rates, labels, probs, **options)


def corp_mcb(labels, probs, **options):
    def saved(question, importance):
        rates = isotonic_rates(question, importance)
        losses = [w * ((p - y) ** 2 - (q - y) ** 2) for (p, y, w), q in zip(question, rates, strict=True)]
        return sum(losses) / sum(w for _, _, w in question)

    return each_question(saved, labels, probs, **options)


# Rows laid out in order: a count is so many rows; tied rows weigh what they weigh on average and share their outcome rate.


def laid_out(question, importance):
    """(score, outcome rate, weight) of each row in rising order, and the place of each in [0, 1]."""
    rows = []
    for value in sorted({score for score, _, _ in question}):
        tied = [(y, w) for score, y, w in question if score == value]
        weight = sum(w for _, w in tied)
        count = len(tied) if importance else int(weight)
        rows += [(value, Fraction(sum(w * y for y, w in tied)) / weight, Fraction(weight) / count)] * count
    middles, before = [], Fraction(0)
    for _, _, weight in rows:
        middles.append(before + weight / 2)
        before += weight
    width = middles[-1] - middles[0]
    return rows, [(m - middles[0]) / width if width else Fraction(0) for m in middles]


def natural_basis(x, knots):
    """Truncated powers that are linear beyond the outer knots."""

    def power(k):
        cubes = [max(x - knots[j], 0) ** 3 for j in (k, -1)]
        return (cubes[0] - cubes[1]) / (knots[-1] - knots[k])

    return [Fraction(1), x, *(power(k) - power(len(knots) - 2) for k in range(len(knots) - 2))]


def natural_slope(x, knots):
    def power(k):
        squares = [3 * max(x - knots[j], 0) ** 2 for j in (k, -1)]
        return (squares[0] - squares[1]) / (knots[-1] - knots[k])

    return [Fraction(0), Fraction(1), *(power(k) - power(len(knots) - 2) for k in range(len(knots) - 2))]


def spline_rates(count):
    def rates(question, importance):
        rows, places = laid_out(question, importance)
        if len(rows) < count:
            raise Undefined("too few rows")
        # The exact places are doubles already where it matters; rounded, the Fractions stay short.
        places = [Fraction(float(x)) for x in places]
        knots = [Fraction(k, count - 1) for k in range(count)]
        basis = [natural_basis(x, knots) for x in places]
        total, path, height = sum(w for _, _, w in rows), Fraction(0), []
        for score, rate, weight in rows:
            path += weight * (rate - score)
            height.append(Fraction(float(path / total)))
        size = range(count)
        each = [Fraction(float(w / total)) for _, _, w in rows]
        matrix = [[sum(w * b[i] * b[j] for w, b in zip(each, basis, strict=True)) for j in size] for i in size]
        wanted = [sum(w * b[i] * h for w, b, h in zip(each, basis, height, strict=True)) for i in size]
        back = inverse(matrix)
        found = [sum(back[i][j] * wanted[j] for j in size) for i in size]
        rate = {}
        for value in {score for score, _, _ in question}:
            own = [x for x, row in zip(places, rows, strict=True) if row[0] == value]
            slope = natural_slope((own[0] + own[-1]) / 2, knots)
            rate[value] = min(max(value + sum(c * s for c, s in zip(found, slope, strict=True)), Fraction(0)), 1)
        return [rate[score] for score, _, _ in question]

    return rates


def fott_spline(labels, probs, *, knots=6, **options):
    return fitted_error(spline_rates(knots), labels, probs, **options)


# Straight pieces: dense hat functions over rows.


def hat_matrix(x, knots):
    return np.column_stack([np.interp(x, knots, unit) for unit in np.eye(len(knots))])


def quantile_knots(question, importance, count, ends, feature):
    rows, places = laid_out(question, importance)
    values = [feature(float(score)) for score, _, _ in rows]
    inner = np.interp(np.arange(1, count + 1) / (count + 1), [float(x) for x in places], values)
    return np.unique([ends[0], *inner, ends[1]])


def plain_logit(p):
    p = min(max(p, 1e-12), 1 - 1e-12)
    return math.log(p) - math.log1p(-p)


def squares_fit(x, y, w, knots):
    """Heights above the diagonal by least squares; the shortest of several."""
    root = np.sqrt(w)[:, None]
    return np.linalg.lstsq(root * hat_matrix(x, knots), root[:, 0] * (y - x), rcond=1e-5)[0]


def likelihood_fit(x, y, w, knots):
    """The same in log-odds by likelihood, with a small price on heights where there are interior knots."""
    hats, price = hat_matrix(x, knots), RIDGE if len(knots) > 2 else 0.0

    def value(d):
        eta = x + hats @ d
        return w @ (np.logaddexp(0, eta) - y * eta) + price / 2 * d @ d

    def slope(d):
        return hats.T @ (w * (expit(x + hats @ d) - y)) + price * d

    def bend(d):
        mu = expit(x + hats @ d)
        return hats.T @ ((w * mu * (1 - mu))[:, None] * hats) + price * np.eye(len(d))

    found = minimize(value, np.zeros(len(knots)), jac=slope, hess=bend, method="trust-exact", options={"gtol": 1e-9})
    for _ in range(3):
        found.x = found.x - np.linalg.solve(bend(found.x), slope(found.x))
    return found.x


def in_folds(question, importance):
    """Rows in order of score, outcome and weight, a count as so many rows; every tenth is a fold."""
    rows = []
    for score, outcome, weight in sorted(question):
        rows += [(float(score), outcome, float(weight))] if importance else [(float(score), outcome, 1.0)] * int(weight)
    return rows


def chosen_knots(question, importance, space):
    size = effective_size([w for _, _, w in question], importance)
    most = min(15, math.floor(round(float(size), 9) / 200))
    if most == 0:
        return 0
    rows = in_folds(question, importance)
    feature = plain_logit if space == "logit" else float
    x = np.array([feature(score) for score, _, _ in rows])
    y, w = (np.array([row[column] for row in rows], dtype=float) for column in (1, 2))
    w *= float(size) / w.sum()
    ends = (x.min(), x.max()) if space == "logit" else (0, 1)
    losses = []
    for count in range(most + 1):
        knots = quantile_knots(question, importance, count, ends, feature)
        loss = 0.0
        for fold in range(10):
            held = np.arange(len(x)) % 10 == fold
            fit = likelihood_fit if space == "logit" else squares_fit
            moved = x[held] + hat_matrix(x[held], knots) @ fit(x[~held], y[~held], w[~held], knots)
            if space == "logit":
                loss += w[held] @ (np.logaddexp(0, moved) - y[held] * moved)
            else:
                loss += w[held] @ (np.clip(moved, 0, 1) - y[held]) ** 2
        losses.append(loss)
    return next(count for count, loss in enumerate(losses) if loss <= 1.001 * min(losses))


def pieces_rates(space, count, clipped):
    def rates(question, importance):
        if space == "logit":
            line = term_rows(question, [lambda low, high: low + high])
            one = len({f for f, _, _ in line}) == 1
            if one or (not count and separable(line)):
                return seen_rates(question)
        number = chosen_knots(question, importance, space) if count is None else count
        feature = plain_logit if space == "logit" else float
        x = np.array([feature(float(score)) for score, _, _ in question])
        y, w = (np.array([float(row[column]) for row in question]) for column in (1, 2))
        ends = (x.min(), x.max()) if space == "logit" else (0, 1)
        knots = number
        if not isinstance(number, list):
            knots = quantile_knots(question, importance, number, ends, feature)
        if space == "logit":
            w *= float(effective_size([row[2] for row in question], importance)) / w.sum()
            return [mpf(float(r)) for r in expit(x + hat_matrix(x, knots) @ likelihood_fit(x, y, w, knots))]
        rate = x + hat_matrix(x, knots) @ squares_fit(x, y, w, knots)
        return [mpf(float(r)) for r in (np.clip(rate, 0, 1) if clipped else rate)]

    return rates


def fott_pl(labels, probs, *, knots=None, clipped=True, **options):
    return fitted_error(pieces_rates("probability", knots, clipped), labels, probs, **options)


def fott_pl3(labels, probs, *, knots=None, **options):
    return fitted_error(pieces_rates("logit", knots, True), labels, probs, **options)


def ce_variational(labels, probs, *, norm=1, direction="both", **options):
    """Over the rows of each fold, the loss of the score minus that of the isotonic curve of the other folds."""

    def saved(question, importance):
        size = Counter()
        for score, outcome, weight in question:
            size[score, outcome, weight if importance else 1] += 1 if importance else int(weight)
        draws = np.random.default_rng(0)
        folds = {row: draws.multinomial(size[row], [0.1] * 10).tolist() for row in sorted(size)}
        value = Fraction(0)
        for fold in range(10):
            rest = [(p, y, w * (sum(drawn) - drawn[fold])) for (p, y, w), drawn in folds.items()]
            rest = [row for row in rest if row[2] > 0]
            if not rest:
                raise Undefined
            curve = dict(zip([p for p, _, _ in rest], isotonic_rates(rest, importance), strict=True))
            for (p, y, w), drawn in folds.items():
                shift = between(curve, p) - p
                if abs(shift) < 1e-12 or direction == ("under" if shift < 0 else "over"):
                    continue
                gain = (y - p) ** 2 - (y - p - shift) ** 2 if norm == 2 else (y - p if shift > 0 else p - y)
                value += drawn[fold] * w * gain
        return value / sum(weight for _, _, weight in question)

    return each_question(saved, labels, probs, **options)


def between(curve, place):
    """Value of a piecewise linear function, constant beyond its ends."""
    below = max((x for x in curve if x <= place), default=min(curve))
    above = min((x for x in curve if x >= place), default=max(curve))
    if above == below:
        return curve[below]
    return curve[below] + (curve[above] - curve[below]) * Fraction(place - below) / (above - below)


# One rising function of all log-probabilities.


def fott_iop(labels, probs, *, pieces=5, norm=1, counts=None, sample_weight=None, lens="canonical"):
    values = []
    for seen, _ in vectors(rows_of(labels, probs, counts, sample_weight), lens):
        weights = [weight for _, _, weight in seen]
        w = np.array([float(weight) for weight in weights])
        w *= float(effective_size(weights, sample_weight is not None)) / w.sum()
        z = np.log(np.clip([[float(p) for p in row] for _, row, _ in seen], 1e-12, 1))
        values.append(mapped_error(z, [label for label, _, _ in seen], w, weights, sample_weight, pieces, norm))
    return combined(values)


def mapped_error(z, labels, w, weights, sample_weight, pieces, norm):
    entries = [(value, 0, weight) for row, weight in zip(z.tolist(), weights, strict=True) for value in row]
    spread, places = laid_out(entries, sample_weight is not None)
    levels = np.interp(np.arange(pieces + 1) / pieces, [float(x) for x in places], [row[0] for row in spread])
    knots = np.unique(levels)
    if len(knots) < 2:
        return 0.0
    rows = np.arange(len(z))

    def moved(slopes):
        return log_softmax(np.interp(z, knots, np.append(0, np.cumsum(slopes * np.diff(knots)))), axis=1)

    def loss(slopes):
        return -(w @ moved(slopes)[rows, labels]) + RIDGE / 2 * ((slopes - 1) ** 2).sum()

    below = np.clip(z[:, :, None] - knots[:-1], 0, np.diff(knots))

    def slope(slopes):
        surplus = np.einsum("nk,nkj->nj", np.exp(moved(slopes)), below) - below[rows, labels]
        return w @ surplus + RIDGE * (slopes - 1)

    start = np.ones(len(knots) - 1)
    bounds = [(0, None)] * len(start)
    tight = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000, "maxcor": 30}
    for _ in range(5):  # from where it stopped, its memory cleared
        start = minimize(loss, start, jac=slope, bounds=bounds, method="L-BFGS-B", options=tight).x
    gap = np.abs(np.exp(moved(start)) - np.exp(log_softmax(z, axis=1)))
    return float(gap.max()) if norm == "inf" else float(w @ (gap**norm).sum(axis=1) / 2 / w.sum())


CURVE = together(STYLED, option("norm", 1, 2, 1, "inf"))


def _pieces(number, rng):
    if number % 6 == 0:  # enough rows for a choice; one lens, for it takes a while
        return {"style": "inner", "lens": "top_label", "least_rows": 420}
    return {**CURVE(number, rng), "knots": (None, 0, 1, 2)[number % 4]}


def _pl(number, rng):
    given = {"knots": [0, 0.3, 0.5, 1]} if number % 6 == 1 else {}
    return {**_pieces(number, rng), "clipped": number % 4 != 3, **given}


OPTIONS = {
    "fott_em": EQUAL_MASS_WITH_NORM,
    "fott_ew": WITH_NORM,
    "fott_platt": CURVE,
    "fott_beta": CURVE,
    "fott_isotonic": CURVE,
    "ce_variational": together(
        turns([{}, {"direction": "over"}, {"norm": 2}, {"norm": 2, "direction": "under"}, {"direction": "under"}]),
        turns([{}, {}, {"lens": "class:1"}]),
    ),
    "fott_spline": together(CURVE, option("least_rows", 28), option("knots", 6, 4, 5)),
    "fott_pl": _pl,
    "fott_pl3": _pieces,
    "fott_iop": together(
        turns([{}, {}, {"lens": "top_label"}, {"lens": "class:1"}]),
        option("style", *STYLES),
        option("norm", 1, 2, 1, "inf"),
        option("pieces", 5, 1, 2, 8),
    ),
}
TOLERANCES = {
    "fott_platt": 1e-9,
    "fott_beta": 1e-9,
    "fott_spline": 1e-9,
    "fott_pl": 1e-9,
    "fott_pl3": 1e-6,
    "fott_iop": 1e-5,
}
