"""Slow forms of the indices of fitted curves: row by row as in R's sources, with general solvers of SciPy where a fit is sought."""

import math
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog, minimize, root
from scipy.special import expit

from .cases import LENSES, option, together, turns
from .definitions import Undefined, questions, rows_of
from .parts import each_question

EPS = 2.0**-52
KNOTS = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}


def plain_rows(question, importance):
    """(score, outcome, weight) as floats in rising order of score, a count of 3 as three rows; outcomes of ties are shared."""
    rows = []
    for score, outcome, weight in question:
        copies = 1 if importance else int(weight)
        rows += [(float(score), float(outcome), float(weight) if importance else 1.0)] * copies
    rows.sort()
    means = {}
    for score in {row[0] for row in rows}:
        tied = [(y, w) for x, y, w in rows if x == score]
        means[score] = math.fsum(y * w for y, w in tied) / math.fsum(w for _, w in tied)
    return [(x, means[x], w) for x, _, w in rows]


def local_polynomial(rows, at, span, degree):
    """Value and slope at a place: rows weighted by tricube, columns of length 1, the shortest solution."""
    near = max(1, min(len(rows), math.floor(len(rows) * span + 1e-5)))
    h = sorted(abs(x - at) for x, _, _ in rows)[near - 1] * math.sqrt(max(1, span))
    if h < 1e-150:
        tied = [(y, w) for x, y, w in rows if abs(x - at) < 1e-150]
        return math.fsum(y * w for y, w in tied) / math.fsum(w for _, w in tied), 0.0
    kernel = [w * max(0.0, 1 - (abs(x - at) / h) ** 3) ** 3 for x, _, w in rows]
    if not any(kernel):
        kernel = [w * (abs(x - at) <= h) for x, _, w in rows]
    kept = [(x, y, math.sqrt(k)) for k, (x, y, _) in zip(kernel, rows, strict=True) if k > 0]
    design = np.array([[k * ((x - at) / h) ** j for j in range(degree + 1)] for x, _, k in kept])
    target = np.array([k * y for _, y, k in kept])
    length = np.array([math.sqrt(math.fsum(column**2)) or 1.0 for column in design.T])
    found = np.linalg.lstsq(design / length, target, rcond=100 * EPS)[0] / length
    return float(found[0]), float(found[1]) / h if degree else 0.0


def tree_borders(scores, most):
    """Borders of the cells of R's k-d tree; `scores` are sorted, a row for each."""
    low, high = scores[0], scores[-1]
    margin = 0.005 * max(high - low, 1e-10 * max(abs(low), abs(high)) + 1e-30)
    borders = [low - margin, high + margin]

    def split(first, last, lower, upper):
        if last - first + 1 <= most:
            return
        middle, offset = (first + last) // 2, 0
        while first <= middle + offset < last:
            if scores[middle + offset] != scores[middle + offset + 1]:
                middle += offset
                break
            offset = -offset
            if offset >= 0:
                offset += 1
        border = scores[middle]
        if border in (lower, upper):
            return
        borders.append(border)
        split(first, middle, lower, border)
        split(middle + 1, last, border, upper)

    # Counted from 1, so that the middle of an even number of rows is the lower one of the two.
    scores = [None, *scores]
    split(1, len(scores) - 1, *borders)
    return sorted(set(borders))


def blended(borders, fits, x):
    cell = next(i for i in range(len(borders) - 1) if x <= borders[i + 1])
    width = borders[cell + 1] - borders[cell]
    t = (x - borders[cell]) / width
    (v0, s0), (v1, s1) = fits[cell], fits[cell + 1]
    return (
        (1 - t) ** 2 * (1 + 2 * t) * v0
        + t**2 * (3 - 2 * t) * v1
        + width * (t * (1 - t) ** 2 * s0 - t**2 * (1 - t) * s1)
    )


def loess_curve(rows, span, degree, surface):
    if surface == "direct":
        return {x: local_polynomial(rows, x, span, degree)[0] for x, _, _ in rows}
    borders = tree_borders([x for x, _, _ in rows], math.floor(len(rows) * span * 0.2))
    fits = [local_polynomial(rows, border, span, degree) for border in borders]
    return {x: blended(borders, fits, x) for x, _, _ in rows}


def lowess_curve(rows, span, delta):
    """R's lowess without robustness steps: a window that moves along the sorted rows, and straight lines over what it skips."""
    x = [row[0] for row in rows]
    n = len(rows)
    size = max(min(2, n), min(n, math.floor(span * n + 1e-7)))
    extent, step = x[-1] - x[0], delta * (x[-1] - x[0])
    left, last, i, fitted = 0, -1, 0, [0.0] * n
    while True:
        while left + size < n and x[i] - x[left] > x[left + size] - x[i]:
            left += 1
        fitted[i] = local_line(rows, x[i], max(x[i] - x[left], x[left + size - 1] - x[i]), extent)
        for j in range(last + 1, i):
            fitted[j] = fitted[last] + (x[j] - x[last]) / (x[i] - x[last]) * (fitted[i] - fitted[last])
        last, j = i, i + 1
        while j < n and x[j] <= x[last] + step:
            if x[j] == x[last]:
                fitted[j] = fitted[last]
                last = j
            j += 1
        if last >= n - 1:
            return dict(zip(x, fitted, strict=True))
        i = max(last + 1, j - 1)


def local_line(rows, at, h, extent):
    kept, h = [], max(h, 1e-150)
    for x, y, w in rows:
        r = abs(x - at)
        if r <= 0.999 * h:
            kept.append((x, y, w * (1.0 if r <= 0.001 * h else (1 - (r / h) ** 3) ** 3)))
    total = math.fsum(w for _, _, w in kept)
    weights = [w / total for _, _, w in kept]
    centre = math.fsum(w * x for w, (x, _, _) in zip(weights, kept, strict=True))
    spread = math.fsum(w * (x - centre) ** 2 for w, (x, _, _) in zip(weights, kept, strict=True))
    if math.sqrt(spread) > 0.001 * extent:
        weights = [w * (1 + (at - centre) / spread * (x - centre)) for w, (x, _, _) in zip(weights, kept, strict=True)]
    return math.fsum(w * y for w, (_, y, _) in zip(weights, kept, strict=True))


def quantile(values, weights, importance, q):
    """Type 7 of values with exact weights; importance is brought to sum to the number of rows."""
    total = sum(weights)
    size = len(values) if importance else int(total)
    place = Fraction(q) * (size - 1)
    low = math.floor(place)

    def ranked(rank):
        within = Fraction(0)
        for value, weight in sorted(zip(values, weights, strict=True)):
            within += weight * size / total
            if within >= rank:
                return value
        return max(values)

    a, b = ranked(low + 1), ranked(low + 2)
    return a + float(place - low) * (b - a)


def spline_columns(values, weights, importance, knots):
    at = sorted({quantile(values, weights, importance, q) for q in KNOTS[knots]})
    columns = [list(values)]
    if len(at) >= 3:
        k, before, last = at[:-2], at[-2], at[-1]
        for t in k:
            columns.append(
                [
                    (
                        max(x - t, 0) ** 3
                        - max(x - before, 0) ** 3 * (last - t) / (last - before)
                        + max(x - last, 0) ** 3 * (before - t) / (last - before)
                    )
                    / (last - at[0]) ** 2
                    for x in values
                ]
            )
    return columns


def logistic_fit(question, importance, knots):
    """A root of the score equations; none where outcomes are separated, which is a linear programme."""
    scores = [min(max(float(score), 1e-12), 1 - 1e-12) for score, _, _ in question]
    logits = [math.log(p) - math.log1p(-p) for p in scores]
    exact = [weight for _, _, weight in question]
    columns = [logits] if knots is None else spline_columns(logits, exact, importance, knots)
    design = np.column_stack([np.ones(len(scores)), *columns])
    design = design / np.abs(design).max(axis=0).clip(1e-12)
    u, s, _ = np.linalg.svd(design, full_matrices=False)
    design = u[:, s > 1e-10 * s[0]]
    y = np.array([float(outcome) for _, outcome, _ in question])
    w = np.array([float(weight) for weight in exact])
    signed = design * (2 * y - 1)[:, None]
    best = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(y)), bounds=(-1, 1))
    if -best.fun > 1e-7:
        raise Undefined("separated")
    w = w / w.sum()

    def equations(beta):
        p = expit(design @ beta)
        return design.T @ (w * (y - p)), -(design.T * (w * p * (1 - p))) @ design

    start = minimize(
        lambda b: float((w * (np.logaddexp(0, design @ b) - y * (design @ b))).sum()), np.zeros(design.shape[1])
    ).x
    beta = root(equations, start, jac=True, tol=1e-14).x
    return expit(design @ beta).tolist()


def fitted_values(question, importance, smoother, span, degree, surface, delta, knots, bounded):
    """The curve at the score of each row of the question."""
    if len({score for score, _, _ in question}) == 1:
        fitted = [plain_rows(question, importance)[0][1]] * len(question)
    elif smoother in ("rcs", "logistic"):
        fitted = logistic_fit(question, importance, knots if smoother == "rcs" else None)
    else:
        rows = plain_rows(question, importance)
        span = {"loess": 0.75, "lowess": 2 / 3}[smoother] if span is None else span
        curve = lowess_curve(rows, span, delta) if smoother == "lowess" else loess_curve(rows, span, degree, surface)
        fitted = [curve[float(score)] for score, _, _ in question]
    return [min(max(value, 0.0), 1.0) for value in fitted] if bounded else fitted


def indexed(statistic):
    def definition(labels, probs, **options):
        words = {
            "smoother": "loess",
            "span": None,
            "degree": 2,
            "surface": "interpolate",
            "delta": 0.01,
            "knots": 5,
            "bounded": False,
        }
        words |= {word: options.pop(word) for word in list(options) if word in words}
        q = options.pop("q", None)

        def formula(question, importance):
            fitted = fitted_values(question, importance, **words)
            distances = [abs(value - float(score)) for value, (score, _, _) in zip(fitted, question, strict=True)]
            return Fraction(statistic(distances, [w for _, _, w in question], importance, q))

        return each_question(formula, labels, probs, **options)

    return definition


def weighted_mean(values, weights, importance, q):
    return math.fsum(v * float(w) for v, w in zip(values, weights, strict=True)) / float(sum(weights))


ici = indexed(weighted_mean)
ep = indexed(lambda v, w, importance, q: quantile(v, w, importance, 0.9 if q is None else q))
e50 = indexed(lambda v, w, importance, q: quantile(v, w, importance, 0.5))
e90 = indexed(lambda v, w, importance, q: quantile(v, w, importance, 0.9))
emax = indexed(lambda v, w, importance, q: max(v))


def eci(labels, probs, *, smoother="auto", relative=False, penalty=1.0, **options):
    weights = {word: options.pop(word) for word in ("counts", "sample_weight")}
    rows = rows_of(labels, probs, **weights)
    importance = weights["sample_weight"] is not None
    classes = len(rows[0][1])
    if smoother == "spline" or (smoother == "auto" and 2 < classes <= 5):
        fitted = multinomial_fit(rows, importance, penalty, options.get("knots", 5))
    else:
        words = {"span": None, "degree": 2, "surface": "direct", "delta": 0.01, "knots": 5, "bounded": False} | options
        columns = []
        for k in range(classes) if classes > 2 else [1]:
            (question,) = questions(rows, f"class:{k}")
            columns.append(fitted_values(question, importance, "loess" if smoother == "auto" else smoother, **words))
        columns = columns if classes > 2 else [[1 - value for value in columns[0]], columns[0]]
        fitted = list(zip(*columns, strict=True))
    total = float(sum(weight for _, _, weight in rows))
    shares = [float(sum(w for label, _, w in rows if label == k)) / total for k in range(classes)]
    error = reference = 0.0
    for (_, row, weight), mu in zip(rows, fitted, strict=True):
        error += float(weight) / total * math.fsum((float(p) - m) ** 2 for p, m in zip(row, mu, strict=True))
        reference += float(weight) / total * math.fsum((s - m) ** 2 for s, m in zip(shares, mu, strict=True))
    if not relative:
        return 50 * error
    if reference <= 1e-12:
        raise Undefined("flat")
    return error / reference


def multinomial_fit(rows, importance, penalty, knots):
    """Minimum of the penalised loss by a general minimiser."""
    exact = [weight for _, _, weight in rows]
    logs = np.log(np.maximum([[float(p) for p in row] for _, row, _ in rows], 1e-12))
    ratios = logs - logs.mean(axis=1, keepdims=True)
    w = np.array([float(weight) for weight in exact])
    size = float(w.sum() ** 2 / (w**2).sum()) if importance else float(w.sum())
    columns = [np.ones(len(rows))]
    for ratio in ratios.T:
        for column in spline_columns(ratio.tolist(), exact, importance, knots):
            centred = np.array(column) - np.average(column, weights=w)
            deviation = math.sqrt(np.average(centred**2, weights=w))
            if deviation > 1e-10 * max(np.abs(centred).max(), 1e-12):
                columns.append(centred / deviation)
    design = np.column_stack(columns)
    target = np.eye(logs.shape[1])[[label for label, _, _ in rows]]
    w = w / w.sum() * size

    def parts(flat):
        eta = ratios + design @ flat.reshape(design.shape[1], -1)
        return eta - np.log(np.exp(eta - eta.max(1, keepdims=True)).sum(1, keepdims=True)) - eta.max(1, keepdims=True)

    def loss(flat):
        found = parts(flat)
        slope = design.T @ (w[:, None] * (np.exp(found) - target)) + penalty * flat.reshape(design.shape[1], -1)
        return float(penalty / 2 * (flat**2).sum() - (w[:, None] * target * found).sum()), slope.ravel()

    start = np.zeros(design.shape[1] * logs.shape[1])
    best = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    return np.exp(parts(best.x)).tolist()


SMOOTHERS = (
    {},
    {"span": 0.4, "degree": 1},
    {"smoother": "lowess"},
    {"surface": "direct"},
    {"span": 1.7},
    {"smoother": "logistic", "style": "inner"},
    {"bounded": True, "degree": 0},
    {"smoother": "rcs", "knots": 3, "style": "inner"},
    {"surface": "direct", "span": 0.5, "degree": 1},
    {"smoother": "lowess", "span": 0.4, "delta": 0.1},
    {"span": 0.3},
)


def curve_options(number, rng):
    """Scores that differ by rounding alone are left out: a line through two of them has any slope."""
    options = {**LENSES[number % len(LENSES)], **SMOOTHERS[number % len(SMOOTHERS)]}
    return {"style": str(rng.choice(["smooth", "ties", "certain", "dyadic"])), **options}


def ep_options(number, rng):
    return {**curve_options(number, rng), "q": float(rng.choice([0, 0.25, 0.9, 1, 0.6180339887]))}


OPTIONS = {
    "ici": curve_options,
    "ep": ep_options,
    "e50": curve_options,
    "e90": curve_options,
    "emax": curve_options,
    "eci": together(
        turns(
            [
                {},
                {"smoother": "loess"},
                {"relative": True},
                {"smoother": "spline", "penalty": 3.0, "knots": 3},
                {"smoother": "lowess"},
                {"smoother": "loess", "relative": True},
            ]
        ),
        option("style", "smooth", "ties", "dyadic", "inner"),
    ),
}
# Least squares near singular designs lose digits, and general minimisers stop early.
TOLERANCES = {"ici": 1e-9, "ep": 1e-9, "e50": 1e-9, "e90": 1e-9, "emax": 1e-9, "eci": 1e-7}
