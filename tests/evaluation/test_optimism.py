"""Internal validation: definitions as plain loops, resamples of clusters and classes, failures, containers, and known truth."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import logit

import calibrant as cal
from calibrant.errors import ArgumentError, CalibrantWarning, UndefinedMetricError
from tests.calling import raises


class Logistic:
    """Logistic regression with a slight ridge, by Newton's method."""

    def __init__(self, ridge: float = 1e-6) -> None:
        self.ridge = ridge

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Logistic:
        self.classes_ = np.unique(y)
        y = (y == self.classes_[1]).astype(float)
        Z = np.column_stack([np.ones(len(X)), np.asarray(X, dtype=float)])
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        b = np.zeros(Z.shape[1])
        for _ in range(12):
            p = 1 / (1 + np.exp(-Z @ b))
            H = (Z.T * (w * p * (1 - p))) @ Z + self.ridge * np.eye(len(b))
            b = b + np.linalg.solve(H, Z.T @ (w * (y - p)) - self.ridge * b)
        self.b = b
        return self

    def predict_proba(self, X: Any) -> Any:
        p = 1 / (1 + np.exp(-(self.b[0] + np.asarray(X, dtype=float) @ self.b[1:])))
        return np.column_stack([1 - p, p])


def sample(n: int, rng: Any, d: int = 5) -> tuple[Any, Any]:
    X = rng.normal(size=(n, d))
    return X, (rng.random(n) < 1 / (1 + np.exp(1 - 0.8 * X[:, 0] - 0.4 * X[:, 1]))).astype(int)


X, Y = sample(80, np.random.default_rng(0))
ROWS = [np.random.default_rng(b).integers(80, size=80) for b in range(15)]


def area(y: Any, p: Any) -> float:
    won = [float(a > b) + 0.5 * float(a == b) for a in p[y == 1] for b in p[y == 0]]
    return sum(won) / len(won)


def brier(y: Any, p: Any) -> float:
    return sum((float(b) - float(a)) ** 2 for a, b in zip(y, p, strict=True)) / len(y)


def risks(rows: Any) -> Any:
    return Logistic().fit(X[rows], Y[rows]).predict_proba(X)[:, 1]


EVERY = np.arange(80)


def validate(**given: Any) -> Any:
    return cal.clinical.internal_validation(Logistic(), X, Y, **{"metrics": ["auroc", "brier"], **given})


def test_bootstrap_is_its_definition() -> None:
    found = validate(resamples=ROWS)
    for name, formula in (("auroc", area), ("brier", brier)):
        apparent = formula(Y, risks(EVERY))
        train = [formula(Y[rows], risks(rows)[rows]) for rows in ROWS]
        test = [formula(Y, risks(rows)) for rows in ROWS]
        each = np.subtract(train, test)
        row = found[name]
        assert row.apparent == pytest.approx(apparent)
        assert (row.training, row.test) == pytest.approx((np.mean(train), np.mean(test)))
        assert row.optimism == pytest.approx(each.mean())
        assert row.corrected == pytest.approx(apparent - each.mean())
        assert row.error == pytest.approx(each.std(ddof=1) / math.sqrt(15))
        assert row.n == 15


def test_limits_of_the_corrected_values() -> None:
    """The larger of the standard deviations of the optimism and of the model over resampled rows, on the logit or log scale."""
    found = validate(resamples=ROWS, metrics=["auroc", "brier", "ici", area])
    for name, formula, scale in (("auroc", area, logit), ("brier", brier, np.log)):
        train = np.array([formula(Y[rows], risks(rows)[rows]) for rows in ROWS])
        test = np.array([formula(Y, risks(rows)) for rows in ROWS])
        fixed = np.array([formula(Y[rows], risks(EVERY)[rows]) for rows in ROWS])
        spread = max(np.std(scale(train) - scale(test), ddof=1), np.std(scale(fixed), ddof=1))
        row = found[name]
        assert scale([row.low, row.high]) == pytest.approx(
            scale(row.corrected) + 1.96 * spread * np.array([-1, 1]), abs=1e-4
        )
    # A function of the user has no known range; an error, which is 0 at best, has no limits.
    assert found["area"].high - found["area"].corrected == pytest.approx(found["area"].corrected - found["area"].low)
    assert (found["ici"].low, found["ici"].high) == (None, None)
    assert validate(method="cross_validation", resamples=4)["auroc"].low is None


def test_limits_of_the_curve_are_nowhere_inside_those_of_wilson() -> None:
    """Effective rows of the local line at a risk: one over the sum of its squared weights, with tricube weights of the nearest two thirds."""
    curve, score = validate(resamples=ROWS).curve, risks(EVERY)
    for at, rate, low, high in zip(curve.score, curve.corrected, curve.low, curve.high, strict=True):
        away = np.abs(score - at)
        tricube = np.clip(1 - (away / np.sort(away)[len(score) * 2 // 3 - 1]) ** 3, 0, None) ** 3
        centre = np.average(score, weights=tricube)
        line = tricube / tricube.sum() + tricube * (score - centre) * (at - centre) / (tricube @ (score - centre) ** 2)
        rows = 1 / np.square(line).sum()
        middle, half = rate + 1.96**2 / (2 * rows), 1.96 * np.sqrt(rate * (1 - rate) / rows + (1.96 / (2 * rows)) ** 2)
        least, most = (middle - half) / (1 + 1.96**2 / rows), (middle + half) / (1 + 1.96**2 / rows)
        assert low <= max(0, least) + 1e-5
        assert high >= min(1, most) - 1e-5
        assert high - low < 2.5 * (most - least)
    assert np.isnan(validate(method="cross_validation", resamples=4).curve.low).all()


def test_cross_validation_pools_the_folds() -> None:
    folds = [(np.setdiff1d(EVERY, rows), rows) for rows in np.array_split(np.random.default_rng(1).permutation(80), 4)]
    held_out = np.empty(80)
    for train, test in folds:
        held_out[test] = risks(train)[test]
    pooled = validate(method="cross_validation", resamples=folds)
    assert pooled["auroc"].corrected == pytest.approx(area(Y, held_out))
    assert pooled["brier"].corrected == pytest.approx(brier(Y, held_out))
    assert (pooled["brier"].n, pooled["brier"].error) == (1, None)
    twice = validate(method="cross_validation", resamples=[*folds, *folds])
    assert twice["auroc"].n == 2
    assert twice["auroc"].corrected == pytest.approx(pooled["auroc"].corrected)


@pytest.mark.filterwarnings("ignore:y_prob. every entry is exactly 0 or 1")
def test_a_model_that_memorises_is_noted() -> None:
    """Nearest neighbours on labels without information have apparent error 0 and true error 1/2."""

    class Memory:
        def fit(self, X: Any, y: Any) -> Memory:
            self.X, self.y, self.classes_ = X, y, np.unique(y)
            return self

        def predict_proba(self, X: Any) -> Any:
            near = np.square(X[:, None] - self.X[None]).sum(axis=2).argmin(axis=1)
            return np.eye(2)[self.y[near]]

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), np.arange(200) % 2
    found = cal.clinical.internal_validation(Memory(), X, y, metrics=["brier"], resamples=20)
    assert "the model memorises its training rows: C statistic 1.00" in found.note
    assert (found["brier"].apparent, found["brier"].low) == (0, None)
    folds = cal.clinical.internal_validation(Memory(), X, y, metrics=["brier"], method="cross_validation")
    assert folds.note == ""
    assert folds["brier"].corrected == pytest.approx(0.5, abs=0.05)


def test_the_curve_counts_the_resamples_that_reach_each_risk() -> None:
    found = validate(resamples=ROWS[:5]).curve
    assert found.n.max() == 5
    assert list(found.to_frame().columns) == ["score", "apparent", "corrected", "n", "low", "high"]


def test_the_same_seed_gives_the_same_result() -> None:
    given: dict[str, Any] = {"resamples": 5}
    assert validate(rng=3, **given).to_dict() == validate(rng=3, **given).to_dict()
    assert validate(rng=3, **given)["brier"] != validate(rng=4, **given)["brier"]
    one, two = (validate(rng=np.random.default_rng(8), **given)["brier"] for _ in range(2))
    assert one == two


class Recorder(Logistic):
    """Keeps the rows that it was fitted on, which the first column numbers."""

    seen: list[Any] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Recorder:
        Recorder.seen.append((np.asarray(X)[:, 0].astype(int), np.asarray(y), sample_weight))
        super().fit(np.asarray(X)[:, 1:], y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(np.asarray(X)[:, 1:])


def recorded(**given: Any) -> list[Any]:
    Recorder.seen = []
    numbered = np.column_stack([EVERY, X])
    count = {} if given.get("method") == "cross_validation" else {"resamples": 6}
    cal.clinical.internal_validation(Recorder(), numbered, Y, **{"metrics": ["brier"], "rng": 0, **count, **given})
    return Recorder.seen


def test_whole_clusters_are_resampled_and_split() -> None:
    patient = np.repeat(np.arange(20), 4)[np.random.default_rng(0).permutation(80)]
    size = np.bincount(patient)
    for rows, _, _ in recorded(groups=patient)[1:]:
        times = np.bincount(rows, minlength=80)
        for one in range(20):
            assert len(set(times[patient == one])) == 1
    for rows, _, _ in recorded(groups=patient, method="cross_validation", resamples=5)[1:]:
        inside = set(patient[rows])
        assert len(rows) == size[list(inside)].sum()


def test_folds_keep_the_number_of_events() -> None:
    counts = [y.sum() for _, y, _ in recorded(method="cross_validation", resamples=5)[1:]]
    assert max(counts) - min(counts) <= 1


def test_failures_are_counted_and_reported() -> None:
    rare = np.zeros(80, int)
    rare[0] = 1
    with pytest.warns(CalibrantWarning, match="refits failed"):
        found = cal.clinical.internal_validation(Logistic(), X[:20], rare[:20], resamples=60, rng=0, metrics=["brier"])
    assert found.failures["one class only in a resample"] > 0
    assert found["brier"].n == 60 - sum(found.failures.values())
    assert "refits failed and were left out: one class only in a resample" in repr(found)

    class Fails(Logistic):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Fails:
            if len(np.unique(X[:, 0])) < 50:
                raise ValueError("singular matrix")
            if len(np.unique(X[:, 0])) < 53:
                warnings.warn("slow", RuntimeWarning, stacklevel=2)
            super().fit(X, y)
            return self

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrantWarning)
        found = cal.clinical.internal_validation(Fails(), X, Y, resamples=40, rng=0, metrics=["brier"])
    assert found.failures["ValueError: singular matrix"] == 40 - found["brier"].n > 0
    assert found.warned["RuntimeWarning"] > 0
    assert "refits emitted RuntimeWarning" in found.note
    half = [rows for rows in ROWS if len(np.unique(rows)) < 50]
    with pytest.raises(UndefinedMetricError, match="every refit failed: ValueError: singular matrix"):
        cal.clinical.internal_validation(Fails(), X, Y, resamples=half)


def test_a_metric_undefined_in_a_resample_is_left_out_there() -> None:
    flat = np.concatenate([np.zeros((40, 1)), np.ones((40, 1))])  # one binary predictor, absent from some resamples
    rows = [np.arange(40, 80), EVERY]
    found = cal.clinical.internal_validation(Logistic(), flat, Y, resamples=rows, metrics=["cox_slope", "brier"])
    assert (found["cox_slope"].n, found["brier"].n) == (1, 2)
    constant = cal.clinical.internal_validation(
        Logistic(), np.zeros((80, 1)), Y, resamples=[EVERY], metrics=["cox_slope"]
    )
    assert constant["cox_slope"].apparent is None
    assert "cox_slope is undefined on the training rows" in constant.note


@pytest.mark.parametrize("kind", ["pandas", "polars", "list", "sparse", "float32"])
def test_containers_give_the_same_numbers(kind: str) -> None:
    whole = np.round(X * 4)
    expected = cal.clinical.internal_validation(Logistic(), whole, Y, resamples=3, rng=0)
    columns = {f"x{place}": whole[:, place] for place in range(5)}
    if kind in ("pandas", "polars"):
        library = pytest.importorskip(kind)
        given = library.DataFrame(columns)
        labels = library.Series(Y)
    elif kind == "sparse":
        given, labels = pytest.importorskip("scipy.sparse").coo_matrix(whole), Y

        class Dense(Logistic):
            def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Dense:
                super().fit(X.toarray(), y)
                return self

            def predict_proba(self, X: Any) -> Any:
                return super().predict_proba(X.toarray())

        found = cal.clinical.internal_validation(Dense(), given, labels, resamples=3, rng=0)
        assert found.rows == expected.rows
        return
    else:
        given, labels = (whole.tolist(), Y.tolist()) if kind == "list" else (whole.astype(np.float32), Y)
    found = cal.clinical.internal_validation(Logistic(), given, labels, resamples=3, rng=0)
    for one, other in zip(found.rows, expected.rows, strict=True):
        assert one.corrected == pytest.approx(other.corrected, abs=1e-6)


def test_scikit_learn_pipeline_with_names_of_columns() -> None:
    pytest.importorskip("sklearn")
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = pandas.DataFrame(X, columns=list("abcde"), index=np.arange(80) + 500)
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"])), LogisticRegression(C=1e6, max_iter=500)
    )
    found = cal.clinical.internal_validation(
        model,
        frame,
        np.where(Y, "yes", "no"),
        resamples=3,
        rng=0,
    )
    assert (found.event, found.events) == ("yes", int(Y.sum()))
    assert not hasattr(model, "n_features_in_")  # the estimator that was passed is not fitted
    assert found.estimator.predict_proba(frame).shape == (80, 2)
    assert found["cox_slope"].apparent == pytest.approx(1, abs=0.01)


def test_four_classes() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    labels = np.array(list("abcd"))[np.random.default_rng(0).integers(0, 4, 80)]
    found = cal.clinical.internal_validation(linear.LogisticRegression(), X, labels, resamples=5, rng=0)
    assert [row.metric for row in found.rows] == ["auroc", "brier", "nll"]
    assert found.curve is None
    assert found.events is None
    assert found["auroc"].corrected < found["auroc"].apparent
    missing = np.arange(80)[labels != "d"]
    given = cal.clinical.internal_validation(
        linear.LogisticRegression(), X, labels, resamples=[EVERY, missing, EVERY, *[EVERY] * 20]
    )
    assert given.failures == {"a class is missing in a resample": 1}


def test_a_slope_that_is_infinite_on_the_training_rows_is_found_by_cross_validation() -> None:
    """A model that memorises its rows separates their outcomes, but not those of new rows."""

    class Memory(Logistic):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Memory:
            super().fit(X, y)
            self.known = {tuple(row): label for row, label in zip(X.tolist(), y.tolist(), strict=True)}
            return self

        def predict_proba(self, X: Any) -> Any:
            p = super().predict_proba(X)[:, 1]
            shift = np.array([2 * self.known.get(tuple(row), 0.5) - 1 for row in X.tolist()])
            p = np.clip(p * 0.2 + 0.4 + 0.35 * shift, 0, 1)
            return np.column_stack([1 - p, p])

    found = cal.clinical.internal_validation(Memory(), X, Y, metrics="cox_slope", method="cross_validation", rng=0)[
        "cox_slope"
    ]
    assert found.apparent is None
    assert math.isfinite(found.corrected)
    assert found.corrected == found.test


def test_metrics_of_every_kind() -> None:
    def share(y: Any, p: Any) -> float:
        return float(np.mean((p > 0.5) == y))

    found = cal.clinical.internal_validation(
        Logistic(),
        X,
        Y,
        metrics=["C", cal.brier, "calibration slope", share, cal.evaluation.average_precision],
        resamples=3,
        rng=0,
    )
    assert [row.metric for row in found.rows] == ["auroc", "brier", "cox_slope", "share", "average_precision"]
    assert found["share"].apparent == pytest.approx(share(Y, risks(EVERY)))
    assert found["calibration slope"] is found["cox_slope"]
    assert list(found.to_frame()["metric"])[:2] == ["auroc", "brier"]
    assert "auroc" in found._repr_html_()
    with raises(ArgumentError, "metric"):
        found["slop"]


@pytest.mark.parametrize("method", ["bootstrap", "cross_validation"])
def test_linear_algebra_of_the_refits_uses_one_thread(method: str) -> None:
    threads = pytest.importorskip("threadpoolctl")
    seen: list[set[int]] = []

    class Watched(Logistic):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Logistic:
            seen.append({each["num_threads"] for each in threads.threadpool_info() if each["user_api"] == "blas"})
            return super().fit(X, y, sample_weight)

    with threads.threadpool_limits(2, "blas"):
        cal.clinical.internal_validation(Watched(), X, Y, method=method, metrics=["auroc"], resamples=3)  # type: ignore[arg-type]
    assert len(seen) == 4
    assert all(each == {1} for each in seen[1:])
