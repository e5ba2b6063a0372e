"""A gate for continuous integration: may a new version of a model replace the old one?

Both versions predict the same held-out data. The gate fails (exit code 1) if the new version is significantly worse, also if it is more
accurate but its probabilities are worse, which a gate on accuracy would not detect.

    python examples/ci_gate.py --candidate sharper     # a model that passes
    python examples/ci_gate.py --candidate overfitted  # one that does not

With predictions in files, `calibrant compare preds.csv --models 'old_*,new_*' --metric nll --fail-if 'difference.low > 0'` prints the same numbers and sets
the exit code.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import calibrant as cal

ALLOWED = 0.0  # largest accepted increase of the score; 0 accepts no significant increase


def logistic(strength: float) -> ClassifierMixin:
    """Logistic regression; a large strength means a weak penalty and overconfident predictions."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=5000))


CANDIDATES = {"sharper": logistic(0.1), "overfitted": logistic(1e4)}
OLD = logistic(0.01)


def worse(found: cal.inference.Comparison) -> bool:
    """Whether the interval of new minus old lies entirely above the accepted increase; lower scores are better."""
    difference = found["new", "old"]
    values = found.values[difference.metric]
    print(f"  {difference.metric:<6} old {values['old']:.4f}   new {values['new']:.4f}   ", end="")
    print(f"new - old {difference.difference:+.4f}, 95% interval {difference.low:+.4f} to {difference.high:+.4f}")
    return difference.low > ALLOWED


def main() -> int:
    """Train both versions, compare them on the same data, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidate", choices=CANDIDATES, default="sharper")
    name = parser.parse_args().candidate

    x, y = load_breast_cancer(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.6, random_state=0, stratify=y)
    fitted = {"new": CANDIDATES[name].fit(x_train, y_train), "old": OLD.fit(x_train, y_train)}
    models = {key: model.predict_proba(x_test)[:, 1] for key, model in fitted.items()}

    accuracy = {key: np.mean((p >= 0.5) == y_test) for key, p in models.items()}
    print(f"candidate {name!r} on {len(y_test)} held-out rows; accuracy {accuracy['old']:.3f} -> {accuracy['new']:.3f}")
    failed = [metric.id for metric in (cal.nll, cal.brier) if worse(cal.compare(y_test, models, metric=metric, rng=0))]
    print(f"  {cal.assess(y_test, models['new']).verdict}")
    if failed:
        print(f"FAIL: significantly worse by {' and '.join(failed)}")
        return 1
    print("PASS: no significant increase of the loss")
    return 0


if __name__ == "__main__":
    sys.exit(main())
