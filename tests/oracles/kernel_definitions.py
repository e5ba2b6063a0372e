"""Slow forms of the kernel regression metrics: double loops over rows in fifty digits, and quadrature for the integral."""

import itertools
import math
from fractions import Fraction

import numpy as np
from mpmath import mp
from scipy.optimize import brentq

from .cases import LENSES
from .definitions import DIGITS, Undefined, digits
from .parts import each_question

WIDTHS = [mp.mpf(10) ** (-2 + mp.mpf(2) * k / 29) for k in range(30)]
GAUSS = [values.tolist() for values in np.polynomial.legendre.leggauss(10)]


def size_of(question, importance):
    weights = [weight for _, _, weight in question]
    return sum(weights) ** 2 / sum(w * w for w in weights) if importance else sum(weights)


def deviation(question, importance):
    """ddof = 1 for whole rows; for importance W - sum w^2 / W."""
    total = sum(w for _, _, w in question)
    lost = sum(w * w for _, _, w in question) / total if importance else 1
    mean = sum(w * p for p, _, w in question) / total
    square = sum(w * (p - mean) ** 2 for p, _, w in question)
    return mp.mpf(0) if square == 0 else mp.sqrt(digits(square / (total - lost)))


def quantile(question, share, importance):
    """Type 7 of the repeated rows; for importance the same mean over a window of 1/n of the weight."""
    if not importance:
        values = sorted(p for p, _, w in question for _ in range(int(w)))
        place = share * (len(values) - 1)
        low = place.numerator // place.denominator
        high = min(low + 1, len(values) - 1)
        return values[low] + (place - low) * (values[high] - values[low])
    total = sum(w for _, _, w in question)
    window = total / size_of(question, importance)
    begin = share * (total - window)
    mean, before = Fraction(0), Fraction(0)
    for p, _, w in sorted(question):
        mean += p * max(min(before + w, begin + window) - max(before, begin), Fraction(0)) / window
        before += w
    return mean


def width_by_rule(question, rule, importance):
    if rule == "loo_cv":
        return cross_validated(question, importance)
    scale = deviation(question, importance)
    if rule != "scott":
        low, high = (quantile(question, Fraction(k, 4), importance) for k in (1, 3))
        if high > low:
            scale = min(scale, digits(high - low) / mp.mpf("1.34"))
    factor = mp.mpf("0.9" if rule == "silverman" else "1.06")
    return factor * scale / mp.root(digits(size_of(question, importance)), 5)


def gauss(t, p, width):
    return mp.exp(-((digits(t - p) / width) ** 2) / 2)


def cross_validated(question, importance):
    if (len(question) if importance else sum(w for _, _, w in question)) < 2:
        raise Undefined("nothing is left")
    best, chosen = None, None
    for width in WIDTHS:
        error = mp.mpf(0)
        for i, (t, y, weight) in enumerate(question):
            above = below = mp.mpf(0)
            for j, (p, z, w) in enumerate(question):
                left = digits(w if i != j else Fraction(0) if importance else w - 1)
                below += left * gauss(t, p, width)
                above += left * gauss(t, p, width) * z
            error += digits(weight) * (y - above / below) ** 2
        if best is None or error < best * (1 - mp.mpf("1e-9")):
            best, chosen = error, width
    return chosen


def curve(question, width, adaptive):
    total = sum(digits(w) for _, _, w in question)
    if width == 0:
        mean = sum(digits(w) * y for _, y, w in question) / total
        return [mean] * len(question)
    widths = [width] * len(question)
    if adaptive:
        pilot = [sum(digits(w) * gauss(t, p, width) for p, _, w in question) for t, _, _ in question]
        middle = mp.exp(
            sum(digits(w) * mp.log(f) for (_, _, w), f in zip(question, pilot, strict=True)) / total
        )  # the geometric mean
        widths = [width / mp.sqrt(f / middle) for f in pilot]
    found = []
    for t, _, _ in question:
        above = below = mp.mpf(0)
        for (p, y, w), h in zip(question, widths, strict=True):
            kernel = digits(w) * gauss(t, p, h) / h
            below += kernel
            above += kernel * y
        found.append(above / below)
    return found


def kernel_error(labels, probs, bandwidth, norm, adaptive, **rest):
    def of_question(question, importance):
        with mp.workdps(DIGITS):
            rule = bandwidth if isinstance(bandwidth, str) else None
            width = width_by_rule(question, rule, importance) if rule else digits(Fraction(bandwidth))
            means = curve(question, width, adaptive)
            total = sum(digits(w) for _, _, w in question)
            parts = [digits(w) * abs(m - digits(p)) ** norm for (p, _, w), m in zip(question, means, strict=True)]
            return sum(parts) / total

    return each_question(of_question, labels, probs, **rest)


def msce(labels, probs, *, bandwidth="default", adaptive=False, **rest):
    return kernel_error(labels, probs, bandwidth, 2, adaptive, **rest)


def sece(labels, probs, *, bandwidth=0.05, adaptive=False, **rest):
    return kernel_error(labels, probs, bandwidth, 1, adaptive, **rest)


def ls_ece(labels, probs, *, bandwidth=1.0, **rest):
    return each_question(lambda q, _: smoothed(q, bandwidth), labels, probs, **rest)


def log_odds(p):
    low = Fraction(1, 10**12)
    with mp.workdps(DIGITS):
        safe, rest = min(max(p, low), 1 - low), min(max(1 - p, low), 1 - low)
        return float(mp.log(digits(safe)) - mp.log(digits(rest)))


def smoothed(question, width):
    """Gauss-Legendre quadrature over quarters of a width, cut where the gap changes its sign."""
    rows = [(log_odds(p), float(y), float(w)) for p, y, w in question]
    total = math.fsum(w for _, _, w in rows)

    def gap(t):
        score = 1 / (1 + math.exp(-t)) if t > -700 else 0.0
        return math.fsum(w * (y - score) * math.exp(-(((t - h) / width) ** 2) / 2) for h, y, w in rows)

    points = sorted({h + width * k / 4 for h, _, _ in rows for k in range(-36, 37)})
    gaps = [gap(t) for t in points]
    value = 0.0
    for (a, left), (b, right) in zip(
        list(zip(points, gaps, strict=True))[:-1], list(zip(points, gaps, strict=True))[1:], strict=True
    ):
        if b - a > width:  # nothing is left between rows far apart
            continue
        cuts = [a, brentq(gap, a, b, xtol=1e-14), b] if left * right < 0 else [a, b]
        for low, high in itertools.pairwise(cuts):
            half, middle = (high - low) / 2, (high + low) / 2
            value += abs(half * math.fsum(c * gap(middle + half * x) for x, c in zip(*GAUSS, strict=True)))
    return value / (total * width * math.sqrt(2 * math.pi))


BANDWIDTHS = ("default", 0.05, 0.3, "silverman", "scott", 0.01, 1.5)


def _regression(number, rng):
    options = {**LENSES[number % len(LENSES)], "bandwidth": BANDWIDTHS[number % len(BANDWIDTHS)]}
    if number % 6 == 5:
        # Quartiles of nearly equal scores are a matter of the last digit.
        options |= {"bandwidth": "loo_cv", "style": "dyadic"}
    elif options["bandwidth"] in ("default", "silverman", "scott"):
        options["style"] = ("smooth", "ties", "dyadic", "certain")[number % 4]
    if number % 4 == 3:
        options["adaptive"] = True
    return options


def _logit(number, rng):
    lens = {} if "classwise" in str(LENSES[number % 12]) and number % 3 else LENSES[number % 12]
    return {**lens, "bandwidth": (1.0, 0.3, 2.0, 0.05, 1)[number % 5]}


OPTIONS = {"msce": _regression, "sece": _regression, "ls_ece": _logit}
TOLERANCES = {"msce": 1e-10, "sece": 1e-10, "ls_ece": 1e-9}
