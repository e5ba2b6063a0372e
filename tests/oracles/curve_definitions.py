"""Slow forms of the coefficients and test statistics of fitted curves: likelihoods climbed with thirty digits, matrices in Fractions."""

from fractions import Fraction

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import linprog, minimize

from .cases import LENS, ROWS_OR_COUNTS, option, together, turns
from .counts_of_bins import effective_size
from .definitions import Undefined, digits
from .parts import each_question

DIGITS = 30
CLIP = mpf("1e-12")
STYLES = ("smooth", "ties", "dyadic", "inner", "certain")


# Logistic regression, row by row.


def clipped_logs(score):
    """ln p and -ln(1 - p) with p within [1e-12, 1 - 1e-12]."""
    with mp.workdps(DIGITS):
        p = min(max(digits(score), CLIP), 1 - CLIP)
        return mp.log(p), -mp.log(1 - p)


def separable(rows):
    """Whether some line is on the right side of every outcome, or on it, and not on it everywhere: a linear programme.

    `rows` are (features, outcome, weight).
    """
    signed = np.array([[float(x) * (1 if outcome else -1) for x in features] for features, outcome, _ in rows])
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1))
    return -found.fun > 1e-7


def likelihood(rows, coefficients):
    total = mpf(0)
    for features, outcome, weight in rows:
        eta = sum(c * x for c, x in zip(coefficients, features, strict=True))
        total -= weight * mp.log(1 + mp.exp(-eta if outcome else eta))
    return total


def information(rows, coefficients):
    size = len(coefficients)
    score, matrix = mp.matrix(size, 1), mp.matrix(size, size)
    for features, outcome, weight in rows:
        mu = 1 / (1 + mp.exp(-sum(c * x for c, x in zip(coefficients, features, strict=True))))
        for i in range(size):
            score[i] += weight * (outcome - mu) * features[i]
            for j in range(size):
                matrix[i, j] += weight * mu * (1 - mu) * features[i] * features[j]
    return score, matrix


def climbed(rows):
    """The coefficients of greatest likelihood by Newton steps, halved where they go down."""
    with mp.workdps(DIGITS):
        rows = [(features, outcome, digits(weight)) for features, outcome, weight in rows]
        found = [mpf(0)] * len(rows[0][0])
        height = likelihood(rows, found)
        for _ in range(200):
            score, matrix = information(rows, found)
            step = mp.lu_solve(matrix, score)
            while likelihood(rows, [c + s for c, s in zip(found, step, strict=True)]) < height:
                step = step / 2
                if max(abs(s) for s in step) < mpf("1e-22"):
                    return found
            found = [c + s for c, s in zip(found, step, strict=True)]
            height = likelihood(rows, found)
            if max(abs(s) for s in step) < mpf("1e-18"):
                return found
    raise AssertionError("no maximum found")


def firth_climbed(rows):
    """The same with half the log-determinant of the information added: where the gradient of that sum is 0."""
    with mp.workdps(DIGITS):
        rows = [(features, outcome, digits(weight)) for features, outcome, weight in rows]
        size = range(len(rows[0][0]))

        def height(found):
            return likelihood(rows, found) + mp.log(mp.det(information(rows, found)[1])) / 2

        def gradient(*found):
            score, matrix = information(rows, found)
            inverse = matrix**-1
            for features, _, weight in rows:
                mu = 1 / (1 + mp.exp(-sum(c * x for c, x in zip(found, features, strict=True))))
                lever = sum(features[i] * inverse[i, j] * features[j] for i in size for j in size)
                for i in size:
                    score[i] += weight * mu * (1 - mu) * lever * (mpf(1) / 2 - mu) * features[i]
            return list(score)

        start = minimize(lambda found: -float(height(found)), np.zeros(len(size)), method="Nelder-Mead")
        return list(mp.findroot(gradient, [mpf(float(c)) for c in start.x], tol=1e-24))


def line_rows(question):
    with mp.workdps(DIGITS):
        return [((mpf(1), sum(clipped_logs(score))), outcome, weight) for score, outcome, weight in question]


def coefficients_of_line(question, importance, penalty):
    rows = line_rows(question)
    if len({features for features, _, _ in rows}) == 1:
        raise Undefined("one score")
    if penalty == "firth":
        weights = [weight for _, _, weight in rows]
        scale = effective_size(weights, importance) / sum(weights)
        return firth_climbed([(features, outcome, weight * scale) for features, outcome, weight in rows])
    if separable(rows):
        raise Undefined("infinite slope")
    return climbed(rows)


def cox_intercept(labels, probs, *, penalty=None, **rest):
    return each_question(lambda q, importance: coefficients_of_line(q, importance, penalty)[0], labels, probs, **rest)


def cox_slope(labels, probs, *, penalty=None, **rest):
    return each_question(lambda q, importance: coefficients_of_line(q, importance, penalty)[1], labels, probs, **rest)


# The beta test.


def rates_by(question):
    """The rate of events at each score that clipping tells apart."""
    found = {}
    for score, outcome, weight in question:
        entry = found.setdefault(clipped_logs(score), [Fraction(0), Fraction(0)])
        entry[0] += weight * outcome
        entry[1] += weight
    return {key: events / weight for key, (events, weight) in found.items()}


def beta_fit(question):
    """For each row the fitted rate; what it tends to where the likelihood has no maximum."""
    different = len({clipped_logs(score) for score, _, _ in question})
    rows = []
    with mp.workdps(DIGITS):
        for score, outcome, weight in question:
            low, high = clipped_logs(score)
            terms = ((mpf(1),), (mpf(1), low + high), (mpf(1), low, high))[min(different, 3) - 1]
            rows.append((terms, outcome, weight))
        if separable(rows):
            rates = rates_by(question)
            return [digits(rates[clipped_logs(score)]) for score, _, _ in question]
        found = climbed(rows)
        return [1 / (1 + mp.exp(-sum(c * x for c, x in zip(found, f, strict=True)))) for f, _, _ in rows]


def sbct(labels, probs, *, statistic="lr", **rest):
    def tested(question, importance):
        fitted = beta_fit(question)
        with mp.workdps(DIGITS):
            if statistic == "l2":
                squares = [
                    digits(w) * (mu - digits(score)) ** 2 for mu, (score, _, w) in zip(fitted, question, strict=True)
                ]
                return sum(squares) / digits(sum(weight for _, _, weight in question))
            gain = mpf(0)
            for mu, (score, outcome, weight) in zip(fitted, question, strict=True):
                p = min(max(digits(score), CLIP), 1 - CLIP)
                gain += 2 * digits(weight) * mp.log(mu / p if outcome else (1 - mu) / (1 - p))
            return gain

    return each_question(tested, labels, probs, **rest)


# The parabola.


def inverse(matrix):
    """Gauss-Jordan in Fractions."""
    size = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = next((r for r in range(i, size) if rows[r][i] != 0), None)
        if pivot is None:
            raise Undefined("singular")
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(size):
            if r != i and rows[r][i] != 0:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[size:] for row in rows]


def times(a, b):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def moments(columns, factors):
    """Sum over rows of factor times x x'."""
    size = range(len(columns[0]))
    return [[sum(f * x[i] * x[j] for f, x in zip(factors, columns, strict=True)) for j in size] for i in size]


def pws(labels, probs, *, covariance="null", lags=None, **rest):
    def wald(question, importance):
        size = min(3, len({score for score, _, _ in question}))
        x = [[score**power for power in range(size)] for score, _, _ in question]
        w = [weight for _, _, weight in question]
        own = [weight**2 for weight in w] if importance else w
        bread = inverse(moments(x, w))
        push = [[sum(w[i] * x[i][j] * (question[i][1] - question[i][0]) for i in range(len(x)))] for j in range(size)]
        theta = times(bread, push)  # of y - p, so that all are 0 under calibration
        left = [
            outcome - score - sum(t[0] * value for t, value in zip(theta, row, strict=True))
            for row, (score, outcome, _) in zip(x, question, strict=True)
        ]
        meat = moments(x, middle(question, own, w, left, importance, size, covariance))
        if covariance == "HAC":
            add_neighbours(meat, x, left, lags)
        variance = times(times(bread, meat), bread)
        return times(times([[t[0] for t in theta]], inverse(variance)), theta)[0][0]

    return each_question(wald, labels, probs, **rest)


def middle(question, own, w, left, importance, size, covariance):
    if covariance == "null":
        return [u * score * (1 - score) for u, (score, _, _) in zip(own, question, strict=True)]
    if covariance == "ols":
        rows = effective_size(w, importance)
        if rows - size <= Fraction(1, 10**9):
            raise Undefined("no degree of freedom")
        noise = sum(weight * e * e for weight, e in zip(w, left, strict=True)) / sum(w) * rows / (rows - size)
        return [u * noise for u in own]
    return [u * e * e for u, e in zip(own, left, strict=True)]


def add_neighbours(meat, x, left, lags):
    n = len(x)
    most = int(4 * (n / 100) ** (2 / 9)) if lags is None else lags
    for lag in range(1, min(most, n - 1) + 1):
        share = 1 - Fraction(lag, most + 1)
        for i in range(len(meat)):
            for j in range(len(meat)):
                meat[i][j] += share * sum(
                    left[t] * left[t - lag] * (x[t][i] * x[t - lag][j] + x[t - lag][i] * x[t][j]) for t in range(lag, n)
                )


def _pws(number, rng):
    options = together(
        LENS,
        option("covariance", "null", "HC0", "ols", "null", "HAC"),
        option("style", "smooth", "ties", "dyadic", "inner"),
        option("least_rows", 12),
    )(number, rng)
    if options["covariance"] == "HAC":
        options |= {"weight_kinds": ("none",), "lags": (None, 2, 0)[number % 3]}
    return options


STYLED = together(LENS, option("style", *STYLES), option("least_rows", 4))
COX = together(STYLED, option("penalty", None, None, "firth"))
OPTIONS = {
    "cox_intercept": COX,
    "cox_slope": COX,
    "sbct": together(STYLED, option("statistic", "lr", "l2"), turns([ROWS_OR_COUNTS])),
    "pws": _pws,
}
TOLERANCES = {"cox_intercept": 1e-8, "cox_slope": 1e-8, "sbct": 1e-8, "pws": 1e-7}
