"""Do metrics agree which map is best? Spearman's correlation of their rankings, on real rows and on known truth."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

import calibrant as cal
from calibrant.errors import CalibrantError
from calibrant.inference import simulation as simulate
from calibrant.recalibration.methods import METHODS
from calibrant.util.arrays import Floats
from experiments.reproductions.study import Part, Row, Table
from experiments.reproductions.survey_data import FACTS, Rows, halves, read, table_rows, with_options

SEED = 31
SETS: list[str] = FACTS["ranked"]
# Too slow for ten classes and five thousand rows.
LEFT_OUT = {"matrix", "dirichlet", "kernel", "consistency", "miscalibration_aware_temperature"}
FEW_MAPS = ("none", "temperature", "platt", "beta", "isotonic", "histogram", "venn_abers")
METRICS = with_options(FACTS["metrics"])


def value(name: str, rows: Rows) -> float:
    """How bad a forecast is by a metric: signed ones without their sign."""
    metric, options = (METRICS | KNOWN_METRICS)[name]
    return abs(float(cal.catalogue[metric](rows.y, rows.p, **options)))


def maps_for(classes: int, small: bool) -> list[str]:
    """Calibrators that are fast enough; for two classes both isotonic ones are the same."""
    if small:
        return list(FEW_MAPS)
    same = {"isotonic_pooled"} if classes == 2 else set()
    return [name for name in METHODS if name not in LEFT_OUT | same]


def mapped(fit: Rows, test: Rows, names: list[str]) -> dict[str, Rows]:
    """The rows to measure on, after each map."""
    found = {}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes without rows, and separated labels
            try:
                probs = METHODS[name]().fit(fit.p, fit.y).predict_proba(test.p)
            except CalibrantError:
                continue
        found[name] = Rows(test.y, probs)
    return found


def table_of(forecasts: dict[str, Rows], metrics: list[str]) -> Floats:
    """A line for each metric, a column for each map."""
    return np.array([[value(name, rows) for rows in forecasts.values()] for name in metrics])


def spearman(first: Floats, second: Floats) -> float:
    """Correlation of ranks; ties share theirs, and infinity is the worst rank. One that ranks nothing has none: 0."""
    a, b = rankdata(first), rankdata(second)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def matrix_of(values: Floats) -> Floats:
    """Spearman's correlation of each two lines."""
    return np.array([[spearman(a, b) for b in values] for a in values])


def parts(small: bool, data: Path | None) -> list[Part]:
    """Rankings on real rows, and where the truth is known."""
    found = [] if data is None else real_parts(small, data)
    return [*found, known_part(small)]


def real_parts(small: bool, data: Path) -> list[Part]:
    """Correlations between metrics on the test half."""
    metrics = [name for name in METRICS if not (small and name in ("skce_uq", "fott_pl"))]
    matrices, lines = [], []
    for name in SETS[5:7] if small else SETS:
        rows = read(data, name)
        fit, test = halves(rows, SEED, 1_000 if small else 10_000)
        forecasts = mapped(fit, test, maps_for(rows.p.shape[1], small))
        values = table_of(forecasts, metrics)
        matrices.append(matrix_of(values))
        best = {metric: list(forecasts)[int(np.argmin(line))] for metric, line in zip(metrics, values, strict=True)}
        infinite = int(np.isinf(values[metrics.index("nll")]).sum())
        counts = [name, rows.p.shape[1], len(test.y), len(forecasts), infinite]
        lines.append([*counts, best["brier"], best["ece"], best["drmsce_bcs"], best["ecce_mad"]])
    return [matrix_part(metrics, matrices, lines)]


def matrix_part(metrics: list[str], matrices: list[Floats], lines: list[list[Any]]) -> Part:
    """The mean matrix."""
    mean, spread = np.mean(matrices, axis=0), np.std(matrices, axis=0)
    table = Table(
        ["", *(f"`{name}`" for name in metrics)],
        [
            [f"`{name}`", *(f"{mean[i, j]:.2f} ± {spread[i, j]:.2f}" if i != j else "1" for j in range(len(metrics)))]
            for i, name in enumerate(metrics)
        ],
    )
    heads = ["set", "classes", "rows measured", "calibrators", "maps with infinite nll"]
    sets = Table([*heads, *(f"best by `{name}`" for name in ("brier", "ece", "drmsce_bcs", "ecce_mad"))], lines)
    others = ~np.eye(len(metrics), dtype=bool)
    binned = [metrics.index(name) for name in ("ece", "ece_em", "ece_sweep", "drmsce_bcs", "smece", "ecce_mad")]
    inner = mean[np.ix_(binned, binned)][~np.eye(len(binned), dtype=bool)]
    against = mean[metrics.index("brier"), binned]
    others_with_brier = [float(mean[metrics.index(name), metrics.index("brier")]) for name in ("cwce", "nll")]
    overall = [float(values.mean()) for values in (mean[others], inner, against)]
    rows = table_rows("agreement", [*overall, *others_with_brier])
    return Part("agreement", rows, [sets, table])


KNOWN_METRICS = with_options(FACTS["known_metrics"])
WARPS = {"temperature": simulate.temperature(1.7), "bias": simulate.bias(-0.6), "bump": simulate.bump(0.2, 0.4, 0.15)}
FIT_ROWS, TEST_ROWS, TRUTH_ROWS, TRUTH_BINS = 1_000, 1_000, 100_000, 1_000


def true_errors(forecasts: Floats, truth: Floats) -> float:
    """The true mean gap of mapped scores: equal ones together, others with their nearest, a hundred to a bin."""
    return float(cal.ece_em(cal.Predictions(truth, forecasts, soft=True), bins=TRUTH_BINS))


def known_run(warp: Any, seed: int, metrics: list[str], small: bool) -> Floats:
    """Correlation of the ranking by each metric with that by the true error."""
    drawn = cal.inference.make_miscalibrated(
        FIT_ROWS + TEST_ROWS + TRUTH_ROWS, warp=warp, distribution=(1, 1), rng=[SEED, seed]
    )
    both = np.column_stack([1 - drawn.y_prob, drawn.y_prob])
    fit = Rows(drawn.y_true[:FIT_ROWS], both[:FIT_ROWS])
    after = mapped(fit, Rows(drawn.y_true[FIT_ROWS:], both[FIT_ROWS:]), maps_for(2, small))
    truth = drawn.truth[FIT_ROWS + TEST_ROWS :]
    true = np.array([true_errors(of.p[TEST_ROWS:, 1], truth) for of in after.values()])
    values = table_of({name: of.take(slice(0, TEST_ROWS)) for name, of in after.items()}, metrics)
    return np.array([spearman(line, true) for line in values])


def known_part(small: bool) -> Part:
    """Rankings against the true error."""
    metrics = [name for name in METRICS | KNOWN_METRICS if name != "cwce"]
    if small:
        metrics = ["brier", "ece", "ece_em", "drmsce_bcs", "fott_isotonic"]
    times = 1 if small else 5
    runs = [
        known_run(warp, seed, metrics, small)
        for warp in list(WARPS.values())[: 1 if small else 3]
        for seed in range(times)
    ]
    mean, spread = np.mean(runs, axis=0), np.std(runs, axis=0)
    order = np.argsort(-mean)
    lines = [[place, f"`{metrics[at]}`", float(mean[at]), float(spread[at])] for place, at in enumerate(order, 1)]
    rows = []
    if not small:
        errors = [name for name in metrics if name not in ("brier", "nll", "skce_uq", "esce")]
        ranks = sorted(errors, key=lambda name: -mean[metrics.index(name)])
        published = {"fott_isotonic": 1, "ece_em": 2}
        rows = [
            Row(f"place among {len(errors)} calibration errors: `{name}`", at, ranks.index(name) + 1)
            for name, at in published.items()
        ]
        gain = mean[metrics.index("fott_pl")] - mean[metrics.index("fott_pl3")]
        rows.append(Row("correlation of fott_pl less that of fott_pl3", None, float(gain), note="the survey: above 0"))
    table = Table(["place", "metric", "mean correlation with the true ranking", "± over runs"], lines)
    return Part("truth", rows, [table])
