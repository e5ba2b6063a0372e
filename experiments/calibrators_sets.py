"""Sets of predictions beside the published ones: models of scikit-learn trained here, and simulations whose truth is known.

Models are trained on 40 % of the rows; the others are split in half, for the fit of calibrators and for their evaluation. Simulations have a
fit of the stated size and 20,000 rows for the evaluation.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant.inference.simulation import bias, bump, confusion, softmax_map, temperature
from calibrant.util.arrays import Floats

SEED, TRAINED_SHARE, TEST_ROWS = 20_241, 0.4, 20_000


class Half(NamedTuple):
    """Probabilities and labels of one half; two classes have two columns."""

    probs: Floats
    labels: NDArray[np.int64]


class Problem(NamedTuple):
    """One set of predictions, split in half."""

    name: str
    fit: Half
    test: Half

    @property
    def k(self) -> int:
        return self.fit.probs.shape[1]


def split(name: str, probs: Floats, labels: NDArray[np.int64], most: int) -> Problem:
    """Two random halves of at most `most` rows in total."""
    order = np.random.default_rng(SEED).permutation(len(labels))[:most]
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    return Problem(name, Half(probs[first], labels[first]), Half(probs[second], labels[second]))


def classifiers() -> dict[str, Any]:
    """Classifiers that are miscalibrated in different ways."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPClassifier((64,), alpha=0, max_iter=150, random_state=0)
    return {
        "naive_bayes": GaussianNB(),
        "forest": RandomForestClassifier(50, random_state=0),
        "network": make_pipeline(StandardScaler(), network),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=100, max_iter=300)),
        "boosting": HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0),
    }


def built_in(name: str) -> tuple[Floats, NDArray[np.int64]]:
    """Features and classes of a data set that comes with scikit-learn."""
    from sklearn import datasets

    return getattr(datasets, f"load_{name}")(return_X_y=True)


def clusters(rows: int, classes: int) -> tuple[Floats, NDArray[np.int64]]:
    """Normal clusters, two for each class, in 12 of 20 dimensions."""
    from sklearn.datasets import make_classification

    shape = {"n_features": 20, "n_informative": 12, "n_clusters_per_class": 2, "class_sep": 1.2}
    return make_classification(rows, n_classes=classes, random_state=SEED, **shape)


def table(folder: Path, names: list[str], outcome: str) -> tuple[Floats, NDArray[np.int64]]:
    """Features, with a column for each category, and labels of CSV files."""
    import pandas as pd

    frame = pd.concat([pd.read_csv(folder / "tabular" / name) for name in names], ignore_index=True)
    labels = pd.factorize(frame.pop(outcome), sort=True)[0].astype(np.int64)
    frame = frame[[column for column in frame if frame[column].nunique() < 1000 or frame[column].dtype.kind in "if"]]
    return pd.get_dummies(frame).to_numpy(np.float64), labels


def train(name: str, data: Callable[[], tuple[Any, Any]], classifier: str) -> Problem:
    """Predictions of a model on rows that it was not trained on."""
    features, labels = data()
    order = np.random.default_rng(SEED).permutation(len(labels))
    cut = round(TRAINED_SHARE * len(labels))
    first, rest = order[:cut], order[cut:]
    model = classifiers()[classifier].fit(features[first], labels[first])
    return split(name, model.predict_proba(features[rest]), labels[rest].astype(np.int64), len(rest))


def simulate(name: str, warp: Any, distribution: list[float], rows: int) -> Problem:
    """Simulated rows for the fit and for the evaluation; without a warp they are calibrated."""
    halves = []
    for number, size in enumerate((rows, TEST_ROWS)):
        rng = np.random.default_rng([SEED, rows, len(distribution), number])
        if warp is None:
            data = cal.inference.make_calibrated(size, distribution=distribution, rng=rng)
        else:
            data = cal.inference.make_miscalibrated(size, warp=warp, distribution=distribution, rng=rng)
        p = data.y_prob
        halves.append(Half(np.column_stack([1 - p, p]) if p.ndim == 1 else p, data.y_true))
    return Problem(name, *halves)


TRAINED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[str]]] = {
    "digits": (built_in, ("digits",), ["naive_bayes", "forest", "network", "logistic"]),
    "breast_cancer": (built_in, ("breast_cancer",), ["naive_bayes", "forest"]),
    "wine": (built_in, ("wine",), ["naive_bayes"]),
    "clusters_3": (clusters, (6000, 3), ["naive_bayes", "forest", "network"]),
    "clusters_10": (clusters, (12_000, 10), ["naive_bayes", "forest", "network"]),
    "clusters_30": (clusters, (40_000, 30), ["naive_bayes", "forest", "network"]),
    "clusters_100": (clusters, (60_000, 100), ["naive_bayes", "logistic"]),
}
TABLES = {
    "churn": (["WA_Fn-UseC_-Telco-Customer-Churn.csv"], "Churn"),
    "adult": (["adult_data.csv", "adult_test.csv"], "class"),
}


def shifted(classes: int) -> Any:
    """Overconfident, with shifts of the classes."""
    return softmax_map(1.8, np.linspace(-0.6, 0.6, classes).tolist())


def confused(classes: int, share: float = 0.2) -> Any:
    """A share of the labels of each class is that of the next class."""
    return confusion(((1 - share) * np.eye(classes) + share * np.roll(np.eye(classes), 1, axis=1)).tolist())


SIMULATED: list[tuple[str, Any, int, list[int]]] = [
    ("overconfident", temperature(2.0), 2, [200, 1000, 200_000]),
    ("underestimated", bias(0.7), 2, [200, 2000]),
    ("bump", bump(-0.2, 0.6, 0.1), 2, [500, 20_000]),
    ("calibrated", None, 2, [300, 5000]),
    ("overconfident", temperature(2.0), 3, [200, 3000]),
    ("shifted", shifted(4), 4, [400, 200_000]),
    ("calibrated", None, 4, [400, 10_000]),
    ("confused", confused(10), 10, [500, 5000, 50_000]),
    ("shifted", shifted(10), 10, [1000]),
    ("confused", confused(30), 30, [3000, 30_000]),
    ("calibrated", None, 30, [5000]),
    ("shifted", shifted(100), 100, [5000]),
    ("confused", confused(100), 100, [20_000]),
]


def sources(folder: Path) -> Iterator[tuple[str, Callable[[], Problem]]]:
    """The name of each set, and how it is made."""
    for name, (make, arguments, models) in TRAINED.items():
        for model in models:
            title = f"{name} {model}"
            yield title, partial(train, title, partial(make, *arguments), model)
    for name, (files, outcome) in TABLES.items():
        for model in ("naive_bayes", "forest", "boosting"):
            title = f"{name} {model}"
            yield title, partial(train, title, partial(table, folder, files, outcome), model)
    for name, warp, classes, sizes in SIMULATED:
        alpha = [1.0 if classes == 2 else 3 / classes] * classes
        for rows in sizes:
            title = f"simulated {name}, {classes} classes, {rows} rows"
            yield title, partial(simulate, title, warp, alpha, rows)
