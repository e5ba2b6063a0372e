"""How often intervals cover, guarantees hold and alarms are false where rows, events or cells are few.

``make simulate`` runs all studies; ``python -m experiments.thin_data summary --runs 1000`` runs one of them. thin_data.json beside this file has
a row for each setting and statement: the share of runs in which it holds with its Monte Carlo error, the band in which the share must lie, and the mean of the
estimate. docs/thin-data.md shows them; ``--page`` writes it again. The command exits with 1 where a share lies outside of its band by more than three standard errors.
Run number i of a setting has its own generator, so that the number of processes changes nothing.
"""

from __future__ import annotations

import json
import math
import sys
import tomllib
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from calibrant.clinical.performance import one_event, statistics
from calibrant.clinical.summary_intervals import limits_of
from experiments.rendering import ROOT, markdown_table, render
from experiments.studies import Case, Row, command, crossed, draw_labels, share_error

Rng = np.random.Generator
Runs = dict[str, tuple[bool, float]]
RESULTS, PAGE = Path(__file__).with_suffix(".json"), ROOT / "docs" / "thin-data.md"


def net_benefit(rng: Rng, shape: tuple[float, float], n: int, t: float) -> Runs:
    """Intervals of `decision_curve` for one model, and for its difference from a second one with noisier risks."""
    p = rng.beta(*shape, n)
    noisy = np.clip(p * rng.choice([0.6, 1.4], n), 0, 1)
    curve = cal.figures.decision_curve(rng.random(n) < p, {"model": p, "noisy": noisy}, thresholds=t)
    between = curve.difference("model", "noisy")
    alone, apart = _true_benefits(shape, t)
    model = curve["model"]
    return {
        "net benefit": (bool(model.low[0] <= alone <= model.high[0]), float(model.net_benefit[0])),
        "difference": (bool(between.low[0] <= apart <= between.high[0]), float(between.difference[0])),
    }


def _true_benefits(shape: tuple[float, float], t: float) -> tuple[float, float]:
    """Net benefit of risks with this beta distribution, and its excess over that of the noisier risks."""
    from scipy.stats import beta

    def benefit(least: float) -> float:
        events = beta(shape[0] + 1, shape[1]).sf(least) * shape[0] / sum(shape)
        return events - (beta(*shape).sf(least) - events) * t / (1 - t)

    return benefit(t), benefit(t) - (benefit(t / 0.6) + benefit(t / 1.4)) / 2


def threshold(rng: Rng, confidences: str, n: int, method: str) -> Runs:
    """The accuracy that `choose_threshold` guarantees with probability 0.9, on new rows of the same distribution."""
    sample, rate, accuracy = CONFIDENCES[confidences]
    confidence = sample(rng, n)
    right = (rng.random(n) < rate(confidence)).astype(int)
    predictions = cal.Predictions(right, confidence, input="confidence")
    chosen = cal.choose_threshold(predictions, accuracy=accuracy, guarantee=0.9, method=method)
    kept = np.sort(_many(confidences))
    true = np.cumsum(rate(kept)[::-1]) / np.arange(1, len(kept) + 1)
    accepted = 0 if chosen.threshold is None else len(kept) - int(np.searchsorted(kept, chosen.threshold))
    return {"guarantee": (accepted == 0 or bool(true[accepted - 1] >= accuracy), accepted / len(kept))}


@lru_cache
def _many(confidences: str) -> Any:
    return CONFIDENCES[confidences][0](np.random.default_rng(0), 200_000)


def centres(rng: Rng, count: int, rows: int, spread: float) -> Runs:
    """Pooled intercept, slope, O/E and C of `validate_by_group` in centres with few events; log-odds vary by `spread` between centres."""
    centre = np.repeat(np.arange(count), rows)
    p = rng.beta(*CENTRES, len(centre))
    shift = rng.normal(0, spread, count)[centre]
    y = (rng.random(len(centre)) < 1 / (1 + (1 - p) / p * np.exp(-shift))).astype(int)
    truth = {"intercept": 0.0, "slope": 1.0}
    truth |= {} if spread else {"oe": 1.0, "c": _truth(CENTRES, 1.0)["c"]}  # which have no simple true value otherwise
    pooled = cal.clinical.validate_by_group(cal.Predictions(y, p, groups=centre), metrics=list(truth))
    return {id: (bool(pooled[id].low <= value <= pooled[id].high), pooled[id].estimate) for id, value in truth.items()}


def summary(rng: Rng, shape: tuple[float, float], n: int, slope: float) -> Runs:
    """Intervals of `clinical.summary` with 5 to 25 events; log-odds of the event are `slope` times those of the risks."""
    risk = np.clip(rng.beta(*shape, n), 1e-9, 1 - 1e-9)
    y = (rng.random(n) < 1 / (1 + (1 / risk - 1) ** slope)).astype(int)
    if not 2 <= y.sum() <= n - 2:
        return {}
    view = one_event(cal.Predictions(y, risk))
    values, _ = statistics(view, "loess", ("n", *_truth(shape, slope)))
    limits = limits_of(view, values, 0.95, None)
    return {
        id: (bool(limits[id][1][0] <= value <= limits[id][1][1]), values[id])
        for id, value in _truth(shape, slope).items()
        if id in limits
    }


@lru_cache
def _truth(shape: tuple[float, float], slope: float) -> dict[str, float]:
    """The statistics in the population."""
    risk = np.clip(np.random.default_rng(0).beta(*shape, 1_000_000), 1e-9, 1 - 1e-9)
    chance = 1 / (1 + (1 / risk - 1) ** slope)
    rate, brier = chance.mean(), np.mean(chance * (1 - risk) ** 2 + (1 - chance) * risk**2)
    null, own, best = (
        float(np.mean(chance * np.log(q) + (1 - chance) * np.log1p(-q))) for q in (np.full(1, rate), risk, chance)
    )
    order = np.argsort(risk)
    below = np.cumsum(1 - chance[order]) - (1 - chance[order]) / 2
    return {
        "c": float(chance[order] @ below / chance.sum() / (1 - chance).sum()),
        "brier": float(brier),
        "scaled_brier": float(1 - brier / (rate * (1 - rate))),
        "r2": math.expm1(2 * (null - own)) / math.expm1(2 * null),
        "d": 2 * (own - null),
        "u": 2 * (best - own),
        "q": 2 * (2 * own - null - best),
        "slope": slope,
        "oe": float(rate / risk.mean()),
    }


def censoring(rng: Rng, n: int, dependence: float) -> Runs:
    """Intervals of `survival_summary` of calibrated risks, where the log hazard of censoring rises by `dependence` over the range of the risk."""
    risk = rng.beta(2, 3, n)
    event_time = rng.exponential(-5 / np.log1p(-risk))
    censored = rng.exponential(1 / (0.06 * np.exp(dependence * (risk - 0.4))))
    time, event = np.minimum(event_time, censored), (event_time <= censored).astype(int)
    found = cal.clinical.survival_summary(risk, time=time, event=event, horizon=5, n_resamples=0)
    known = _truth((2.0, 3.0), 1.0)
    truth = {
        "observed_risk": 0.4,
        "observed_expected_ratio": 1.0,
        "calibration_intercept": 0.0,
        "calibration_slope": 1.0,
        "brier": known["brier"],
        "scaled_brier": known["scaled_brier"],
        "auroc": known["c"],
    }
    rows = {row.measure: row for row in found.measures}
    return {id: (bool(rows[id].low <= value <= rows[id].high), rows[id].value) for id, value in truth.items()}


def optimism(rng: Rng, rows: int, predictors: int, intercept: float) -> Runs:
    """Limits of `internal_validation`: performance of a logistic model in the population; half of its predictors are noise."""
    from sklearn.linear_model import LogisticRegression

    effect = np.where(np.arange(predictors) < predictors // 2, 0.5, 0.0)

    def patients(n: int) -> tuple[Any, Any]:
        x = rng.normal(size=(n, predictors))
        return x, 1 / (1 + np.exp(-intercept - x @ effect))

    x, chance = patients(rows)
    y = rng.random(rows) < chance
    if not 4 <= y.sum() <= rows - 4:
        return {}
    model = LogisticRegression(C=np.inf, solver="newton-cholesky")
    found = cal.clinical.internal_validation(model, x, y, metrics=[*POPULATION, "oe"], resamples=100, rng=rng)
    deciles = np.quantile(found.estimator.predict_proba(x)[:, 1], [0.1, 0.5, 0.9])
    x, chance = patients(100_000)
    risk = found.estimator.predict_proba(x)[:, 1]
    outcome = rng.random(len(risk)) < chance
    truth = {name: measure(outcome, risk) for name, measure in POPULATION.items()} | {
        "oe": outcome.mean() / risk.mean()
    }
    runs: Runs = {
        name: (bool(found[name].low <= true <= found[name].high), found[name].corrected) for name, true in truth.items()
    }
    curve = found.curve
    assert curve is not None
    for name, place in zip(
        ("curve, low", "curve, median", "curve, high"), np.searchsorted(curve.score, deciles), strict=True
    ):
        near = np.argsort(np.abs(risk - curve.score[place]))[:2000]
        true = np.polyfit(risk[near] - curve.score[place], chance[near], 1)[1]
        runs[name] = bool(curve.low[place] <= true <= curve.high[place]), curve.corrected[place]
    return runs


def season(rng: Rng, rows: int, season: str | None) -> Runs:
    """Two weeks of a monitor whose scores are higher at weekends, in the reference data of eight weeks too."""

    def days(first: str, count: int) -> tuple[Any, Any, Any]:
        day = np.datetime64(first) + np.repeat(np.arange(count), rows)
        score = np.where(np.is_busday(day), rng.beta(2, 4, len(day)), rng.beta(2.5, 3.5, len(day)))
        return rng.random(len(day)) < score, score, day

    y, p, when = days("2026-01-05", 56)
    rule = cal.monitoring.window_rule("1d", season=season)
    with TemporaryDirectory() as folder:
        store = Path(folder) / "monitor.db"
        monitor = cal.Monitor.create(store, reference=(y, p), when=when, every=rule, n_resamples=199)
        y, p, when = days("2026-03-02", 14)
        monitor.update(y, p, when=when)
        monitor.advance("2026-03-16")
        alarms = len([alarm for alarm in monitor.status().alarms if alarm.kind == "scores"])
    return {"no alarm in 14 windows": (alarms == 0, alarms / 14)}


def plateau(rng: Rng, design: str, lens: str, classes: int, n: int) -> Runs:
    """Stable regions of `gece` over gamma: false if the error without sampling noise differs by more than a quarter inside."""
    p = rng.dirichlet(np.full(classes, min(1.0, 10 / classes)), n)
    truth = p if design == "calibrated" else p**0.5 if design == "overconfident" else 0.7 * p + 0.3 * np.eye(classes)[0]
    truth = truth / truth.sum(axis=1, keepdims=True)
    y = draw_labels(truth, rng)
    keywords: dict[str, Any] = {"metric": "gece", "over": "gamma", "lens": lens}
    shown = cal.figures.stability_diagram(y, p, rng=int(rng.integers(1 << 31)), **keywords)
    assert shown.suggested in (shown.stable or (None,))
    noiseless = cal.Predictions(truth, p, soft=True)
    errors = [cal.gece(noiseless, lens=lens, gamma=gamma) for gamma in shown.stable]
    holds = not errors or min(errors) >= max(0.75 * max(errors), 1e-9)
    return {"not false": (holds, 0.0), "announced": (bool(errors), shown.plateau if errors else 0.0)}


def simplex_test(rng: Rng, design: str, classes: int, n: int) -> Runs:
    """T-Cal of whole vectors over all numbers of bins at 5%: for calibrated predictions, the waves of its paper, and predictions that are too extreme.

    The waves (s = 0.6, rho = 100, m = 40, also stretched to m = 5 at the same error) move probability between two classes; others share a fifth.
    """
    if design.startswith("waves"):
        count, z = int(design.split()[-1]), rng.random(n)
        place = 2 * count * (z - 0.25)
        inner, part = (z > 0.25) & (z < 0.75), np.clip(place % 1, 1e-9, 1 - 1e-9)
        wave = inner * 100 * 40**-0.6 * np.exp(-1 / part / (1 - part)) * (-1) ** np.floor(place)
        share = 0.2 if classes > 2 else 0.0
        rest = share * rng.dirichlet(np.ones(classes - 2), n) if classes > 2 else np.empty((n, 0))
        p, truth = (np.column_stack([(1 - share) * (1 - x), (1 - share) * x, rest]) for x in (z, z + wave))
        order = rng.permutation(classes)
        p, truth = p[:, order], truth[:, order]
    else:
        p = rng.dirichlet(np.full(classes, min(1.0, 10 / classes)), n)
        truth = p if design == "calibrated" else p**0.5 / (p**0.5).sum(axis=1, keepdims=True)
    y = draw_labels(truth, rng)
    tested = cal.assess(
        y, p, metric="t_cal", lens="canonical", method="adaptive_joint", n_resamples=99, rng=int(rng.integers(1 << 31))
    )
    holds = "not rejected" if design == "calibrated" else "rejected"
    return {holds: (tested.rejected == (holds == "rejected"), tested.detail["bins"])}


# Confidences of n rows, the probability of being right given the confidence, and the accuracy wanted, which rows at the border just miss.
CONFIDENCES: dict[str, tuple[Callable[[Rng, int], Any], Callable[[Any], Any], float]] = {
    "even": (lambda rng, n: 0.5 + rng.random(n) / 2, lambda c: c - 0.02, 0.95),
    "none is accurate enough": (lambda rng, n: 0.5 + rng.random(n) / 2, lambda c: np.full_like(c, 0.949), 0.95),
    "sharp": (lambda rng, n: 1 - 10.0 ** (-6 * rng.random(n)), lambda c: np.where(c > 0.999, 0.995, 0.9), 0.98),
    "the surest are wrong": (lambda rng, n: 0.5 + rng.random(n) / 2, lambda c: np.where(c > 0.97, 0.9, 0.97), 0.95),
    "waves": (lambda rng, n: rng.random(n), lambda c: 0.9 + 0.09 * np.sin(40 * c), 0.91),
}
CENTRES = (1.0, 12.0)
POPULATION = {
    "auroc": cal.evaluation.auroc,
    "brier": cal.brier,
    "fixed_slope_intercept": cal.fixed_slope_intercept,
    "cox_slope": cal.cox_slope,
}


class Study(NamedTuple):
    """Function of one run, its settings, the band of the share of runs in which its statements hold, but one, and the number of runs."""

    run: Callable[..., Runs]
    cases: list[Case]
    band: tuple[float, float]
    runs: int
    free: str = ""


def read_study(run: Callable[..., Runs], facts: dict[str, Any]) -> Study:
    """A study of thin_data.toml."""
    return Study(run, crossed(facts["options"]), tuple(facts["band"]), facts["runs"], facts.get("free", ""))


FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FUNCTIONS = (net_benefit, threshold, centres, summary, censoring, optimism, season, plateau, simplex_test)
STUDIES = {run.__name__: read_study(run, FACTS[run.__name__]) for run in FUNCTIONS}
# A net benefit of 0 has no interval.
STUDIES["net_benefit"].cases[:] = [
    case for case in STUDIES["net_benefit"].cases if _true_benefits(case["shape"], case["t"])[0] > 1e-6
]


def one_run(study: str, case: Case, run: int) -> Runs:
    """One simulated data set."""
    rng = np.random.default_rng([zlib.crc32(repr((study, case)).encode()), run])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return STUDIES[study].run(rng, **case)


def run_study(name: str, runs: int, _: list[Row], pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """One row for each setting and statement; prints them."""
    study, rows = STUDIES[name], []
    for case in study.cases:
        results = list(pool.map(partial(one_run, name, case), range(runs), chunksize=max(1, runs // 16)))
        for statement in dict.fromkeys(key for result in results for key in result):
            held, values = np.array([result[statement] for result in results if statement in result]).T
            share = float(held.mean())
            error = share_error(share, len(held))
            low, high = (0, 1) if statement == study.free else study.band
            inside = low - 3 * error <= share <= high + 3 * error
            row = {"study": name, "setting": case, "statement": statement, "share": round(share, 4)}
            row |= {"error": round(error, 4), "runs": len(held), "band": [low, high], "inside": inside}
            rows.append(row | {"mean": float(f"{values.mean():.4g}")})
            print(f"{name} {case}: {statement} {share:.3f} ± {error:.3f}{'' if inside else '  OUTSIDE'}", flush=True)
    return rows


def page(rows: list[Row]) -> str:
    """The page of the results: for each study one table with a column for each statement."""
    tables = {}
    for name, study in STUDIES.items():
        own = [row for row in rows if row["study"] == name]
        if not own:
            tables[name] = f"Not simulated yet; `python -m experiments.thin_data {name}` does it."
            continue
        statements = list(dict.fromkeys(row["statement"] for row in own))
        lines = []
        for case in study.cases:
            found = {row["statement"]: row for row in own if row["setting"] == json.loads(json.dumps(case))}
            cells = [f"{found[key]['share']:.3f}" if key in found else None for key in statements]
            runs = min((row["runs"] for row in found.values()), default=0)
            lines.append([", ".join(f"{key} {value}" for key, value in case.items()), runs, *cells])
        error = max((row["error"] for row in own), default=0.0)
        table = markdown_table(["setting", "runs", *statements], lines, 1 + len(statements))
        tables[name] = f"{table}\n\nMonte Carlo error at most {error:.3f}."
    return render("thin_data", {**tables, "outside": len(outside(rows)), "rows": len(rows)})


def outside(rows: list[Row]) -> list[Row]:
    """The rows whose share lies outside of its band."""
    return [row for row in rows if not row["inside"]]


if __name__ == "__main__":
    sys.exit(command(STUDIES, run_study, page, outside, (RESULTS, PAGE)))
