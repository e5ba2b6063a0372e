"""Data sets of the comparison with other packages: predictions that are not calibrated, and difficult in one way each.

Draw 0 is what docs/migration.md describes; further draws have other rows and another number of them.
"""

from functools import cache
from typing import Any

import numpy as np

from calibrant.util.arrays import Array

BINARY = ("small", "even", "odd", "tied", "on edges", "0 and 1", "single", "rare", "sharp")
MODELS = ("2 small", "2 classes", "2 tied", "2 rare", "4 classes", "4 tied")
SETS = {
    "binary": BINARY,
    "weighted": ("small", "odd", "tied", "on edges", "rare"),
    "classes": ("small", "even", "odd", "tied", "zeros", "single", "100 classes"),
    "four classes": ("small", "even", "odd", "tied", "zeros"),
    "four once": ("small",),
    "decisions": MODELS,
    "probabilities": MODELS,
    "two classes": MODELS[:4],
    "once": ("small",),
}
"""The data sets of each kind of comparison."""
ROWS = {"small": 149, "even": 900, "odd": 1003, "tied": 1007, "on edges": 997, "0 and 1": 509, "zeros": 509}
ROWS |= {"single": 1003, "rare": 2003, "sharp": 1201, "100 classes": 1201}
"""Only the rows of `even` are divisible by 10 and 15."""


@cache
def data(kind: str, name: str, draw: int = 0) -> dict[str, Any]:
    """Return the variables of a comparison.

    `y`, `p`, weights `w`, groups `g`, the number of classes `K` and `new` (other scores of the same kind); or `X`, `y`, a
    fitted `m` and `new`.
    """
    if kind in ("decisions", "probabilities", "two classes"):
        return _model(kind, name, draw)
    family = "classes" if "classes" in kind or "four" in kind else "binary"
    seed = sum(map(ord, family + name))
    rng = np.random.default_rng(seed if not draw else [seed, draw])
    rows = ROWS[name] if not draw else _rows(name, rng)
    made = _binary if family == "binary" else _classes
    y, p = made(name, rows, rng)
    new = made(name, 211, rng)[1]
    extra = np.random.default_rng([seed, draw, 1])
    w = extra.gamma(2.0, 0.6, rows) + 0.05
    g = np.array(["a", "b", "c"])[extra.choice(3, rows, p=(0.5, 0.3, 0.2))]
    return {"y": y, "p": p, "new": new, "w": w, "g": g, "K": 1 if p.ndim == 1 else p.shape[1]}


def _rows(name: str, rng: np.random.Generator) -> int:
    """A number that no usual number of bins divides; for the first data set, one that all do."""
    if name == "even":
        return 30 * int(rng.integers(10, 40))
    if name == "small":
        return int(rng.choice([113, 127, 149, 173]))
    low, high = (1500, 2500) if name in ("rare", "100 classes") else (300, 1300)
    return next(rows for rows in range(int(rng.integers(low, high)), 10**6) if rows % 2 and rows % 3 and rows % 5)


def _binary(name: str, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    odds = rng.normal(-4.4 if name == "rare" else -0.4, 4 if name == "sharp" else 1.3, rows)
    y = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    p = 1 / (1 + np.exp(-odds - 0.9 if name == "rare" else -_warped(odds)))
    if name == "tied":
        p = np.clip(p.round(2), 0.01, 0.99)
    elif name == "on edges":
        p = np.clip((p * 30).round(), 1, 29) / 30
    elif name == "0 and 1":
        p = np.where(p < 0.06, 0.0, np.where(p > 0.94, 1.0, p))
    elif name == "single":
        p = p.astype(np.float32)
    return y, p


def _warped(odds: Array) -> Array:
    """Oscillating overconfidence: deviations of neighbouring bins differ in sign, so that every edge matters."""
    return 1.25 * odds + 0.3 * np.sin(4 * odds)


def _classes(name: str, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    if name == "100 classes":
        odds = rng.normal(0, 2.5, (rows, 100))
    else:
        odds = rng.normal(0, 1.2, (rows, 4)) + np.array([0.6, 0.0, -0.3, -0.8])
    y = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1).astype(np.int64)
    p = np.exp(_warped(odds))
    p /= p.sum(axis=1, keepdims=True)
    if name == "tied":
        p = np.array([rng.multinomial(20, row) for row in p]) / 20
    elif name == "zeros":
        p = np.where(p < 0.05, 0.0, p)
        p /= p.sum(axis=1, keepdims=True)
    elif name == "single":
        p = p.astype(np.float32)
    return y, p


def _model(kind: str, name: str, draw: int) -> dict[str, Any]:
    """A fitted classifier with a decision function, or with probabilities only, and held-out data."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    seed = sum(map(ord, kind + name))
    rng = np.random.default_rng(seed if not draw else [seed, draw])
    classes = int(name[0])
    centres = rng.normal(size=(classes, 3))
    rows = 349 if "small" in name else 1703
    y = rng.choice(classes, rows, p=(0.96, 0.04) if "rare" in name else None)
    X = centres[y] + rng.normal(0, 1.5, (len(y), 3)) @ np.array([[1, 0.6, 0], [0, 1, 0.4], [0, 0, 1]])
    if "tied" in name:
        X = np.column_stack([X[:, 0].round(), X[:, 1] > 0, X[:, 2] > 1]).astype(float)
    first, last = (100, 249) if "small" in name else (500, 1503)
    m = (LogisticRegression(C=100) if "decisions" in kind else GaussianNB()).fit(X[:first], y[:first])
    return {"X": X[first:last], "y": y[first:last], "new": X[last:], "m": m}
