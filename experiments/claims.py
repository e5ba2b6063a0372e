"""Statistical statements of the documentation, each with what supports it.

`claims.toml` lists the statements: page, text, and a simulation of this file, a test, a proof or a citation. ``python -m experiments.claims`` runs the
simulations and prints, for each number that a page states, the stated value, the simulated one and its Monte Carlo error; it exits with 1 if they differ by more
than three errors and the tolerance of the claim. claims.json keeps what was simulated. Run number i of a claim has its own generator, so that the number of processes changes nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tomllib
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit

import calibrant as cal
from experiments.studies import draw_labels

Rng = np.random.Generator
Run = Callable[[Rng], dict[str, float]]
LIST, RESULTS = Path(__file__).with_suffix(".toml"), Path(__file__).with_suffix(".json")
SIMULATIONS: dict[str, Run] = {}
"""Each gives the values of one run, whose means a page states."""


def simulation(run: Run) -> Run:
    """Register a simulation under the name of its function."""
    SIMULATIONS[run.__name__] = run
    return run


@simulation
def variation_of_few_rows(rng: Rng) -> dict[str, float]:
    """Rejections by `vce` and `vce_db` with 60 rows and 100 classes, of overconfident and of calibrated predictions."""
    true = rng.dirichlet(np.full(100, 0.1), 60)
    label = draw_labels(true, rng)
    sharp = np.maximum(true, 1e-12) ** 2
    sharp /= sharp.sum(axis=1, keepdims=True)
    values = {}
    for metric in ("vce", "vce_db"):
        values[metric] = cal.assess(label, sharp, metric=metric, n_resamples=199).rejected
        values[f"{metric} calibrated"] = cal.assess(label, true, metric=metric, n_resamples=199).rejected
    return values


@simulation
def means_by_chance(rng: Rng) -> dict[str, float]:
    """Errors of 200 rows with uniform scores whose labels follow the scores."""
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    return {id: cal.catalogue[id](y, p) for id in ("ece", "ece_db", "drmsce", "t_cal", "ce2_db", "skce_uq")}


@simulation
def coefficient_intervals(rng: Rng) -> dict[str, float]:
    """Whether intervals of slope, intercept and E/O contain their true values: of calibrated risks 1, 0 and 1."""
    values = {}
    # Log-odds of unit variance with mean risks of 0.2, 0.02 and 0.006; with a slope of 0.7 the intercept at slope 1 is 0.396.
    common, rare, rarest = -1.6496769875979125, -4.359674879503511, -5.599968998028051
    cases = (
        (100, 20, common),
        (500, 100, common),
        (500, 10, rare),
        (2000, 40, rare),
        (500, 3, rarest),
        (100, 20, common),
    )
    for (rows, events, centre), slope in zip(cases, (1, 1, 1, 1, 1, 0.7), strict=True):
        x = rng.normal(centre, 1, rows)
        p, y = expit(x), (rng.random(rows) < expit(slope * x)).astype(int)
        for metric, truth, methods in (
            ("cox_slope", slope, ("wald", "profile", "sandwich")),
            ("cox_intercept", 0.0, ("wald", "profile", "sandwich")),
            ("fixed_slope_intercept", 0.0 if slope == 1 else 0.39615, ("wald", "profile", "sandwich")),
            ("expected_observed_ratio", 1.0, ("asymptotic", "wald", "exact", "sandwich") if slope == 1 else ()),
        ):
            for method in methods:
                try:
                    ends = cal.interval(y, p, metric=metric, method=method)
                except cal.errors.UndefinedMetricError:
                    continue
                name = f"{metric} {method}, {rows} patients, {events} events" + f", slope {slope}" * (slope != 1)
                values[name] = ends.low <= truth <= ends.high
    return values


@simulation
def few_clusters(rng: Rng) -> dict[str, float]:
    """Rejections by `compare` of two models of equal Brier score, whose errors are common to the rows of a group."""
    values = {}
    for groups in (5, 8, 12, 30):
        group = np.repeat(np.arange(groups), 20)
        shift = rng.normal(0, 0.1, (2, groups))[:, group]
        p = rng.uniform(0.3, 0.7, len(group))
        y = (rng.random(len(group)) < p).astype(int)
        models = {
            name: cal.Predictions(y, np.clip(p + each, 0, 1), groups=group)
            for name, each in zip("ab", shift, strict=True)
        }
        values[f"{groups} groups"] = (
            cal.compare(models, metric="brier", cluster=True, n_resamples=400)["a", "b"].pvalue <= 0.05
        )
    return values


@simulation
def equal_models(rng: Rng) -> dict[str, float]:
    """Rejections by `compare` of two models that are equally miscalibrated, in 60 rows."""
    truth = rng.normal(0, 1.2, 60)
    y = (rng.random(60) < expit(truth)).astype(int)
    models = {name: expit(truth + rng.normal(0, 0.8, 60)) for name in ("a", "b")}
    return {
        metric: cal.compare(y, models, metric=metric, n_resamples=400)["a", "b"].pvalue <= 0.05
        for metric in ("ece", "ece_em", "brier")
    }


@simulation
def flexible_curves(rng: Rng) -> dict[str, float]:
    """Whether bands of flexible curves contain the true rate at the quartile, the median and the 95th percentile of the risks."""
    values = {}
    for rows, centre in ((400, -0.9), (1000, -3.5)):
        x = rng.normal(centre, 1.0, rows)
        y = (rng.random(rows) < expit(0.1 + 0.9 * x)).astype(int)
        for smoother, uncertainty in (("loess", "binomial"), ("loess", "residual"), ("rcs", "wald")):
            curve = cal.figures.flexible_calibration_curve(y, expit(x), smoother=smoother, uncertainty=uncertainty)
            for share in (25, 50, 95):
                risk = np.percentile(expit(x), share)
                low, high = (np.interp(risk, curve.risk, ends) for ends in (curve.low, curve.high))
                true = expit(0.1 + 0.9 * np.log(risk / (1 - risk)))
                values[f"{rows} rows, {smoother} {uncertainty}, {share}%"] = bool(low <= true <= high)
    return values


@simulation
def belts(rng: Rng) -> dict[str, float]:
    """Whether the calibration belt contains the whole true curve."""
    x = rng.normal(0, 1.2, 400)
    y = (rng.random(400) < expit(0.8 * x)).astype(int)
    belt = cal.figures.calibration_belt(y, expit(x))
    true = expit(0.8 * np.log(belt.risk / (1 - belt.risk)))
    return {
        f"{level:.0%}": bool(((low <= true) & (true <= high)).all())
        for level, low, high in zip(belt.levels, belt.low, belt.high, strict=True)
    }


@simulation
def densities(rng: Rng) -> dict[str, float]:
    """Rejections by `assess_density` of calibrated forecasts, by their log losses less the entropy; exponential forecasts have those of Laplace."""
    values = {}
    for rows in (20, 50, 200):
        losses = {"Gaussian": (rng.chisquare(1, rows) - 1) / 2, "Laplace": rng.exponential(size=rows) - 1}
        for name, law in (("Student", stats.t(5)), ("gamma", stats.gamma(3))):
            losses[name] = -law.logpdf(law.rvs(size=rows, random_state=rng)) - law.entropy()
        for (name, loss), side in product(losses.items(), ("greater", "less")):
            tested = cal.inference.assess_density(-loss, 0.0, alternative=side)
            values[f"{name}, {rows} rows, {side}"] = tested.rejected
    return values


@simulation
def adjusted_groups(rng: Rng) -> dict[str, float]:
    """Any adjusted p-value of at most 0.05 among 16 groups of two groupings, of calibrated predictions."""
    import pandas as pd

    rows, values = 1600, {}
    region, age = rng.integers(0, 12, rows), np.repeat(np.arange(4), [25, 175, 600, 800])
    for name, p in (
        ("continuous", rng.random(rows)),
        ("four scores", rng.choice([0.1, 0.3, 0.5, 0.8], rows)),
        ("rare", rng.beta(0.5, 30, rows)),
    ):
        y = (rng.random(rows) < p).astype(int)
        frame = pd.DataFrame({"y": y, "p": p, "region": region, "age": age})
        predictions = cal.Predictions(frame, label="y", prob="p", groups=["region", "age"])
        table = cal.evaluate(predictions, metrics=["calibration_in_the_large"], assess=True).to_frame()
        values[name] = bool((table["adjusted"].dropna() <= 0.05).any())
    return values


@simulation
def pooled_estimates(rng: Rng) -> dict[str, float]:
    """Whether confidence intervals of the pooled estimate contain the mean, and the probability of a new centre in prediction intervals."""
    kinds: dict[str, dict[str, Any]] = {
        "profile": {},
        "Hartung-Knapp": {"prediction": "k-1"},
        "Hartung-Knapp ad hoc": {"interval": "hartung_knapp_adhoc", "prediction": "k-1"},
        "normal": {"interval": "normal", "prediction": "k-2"},
        "DerSimonian-Laird, normal": {"method": "dersimonian_laird", "interval": "normal", "prediction": "normal"},
    }
    values = {}
    for centres in (5, 10, 30):
        for tau in (0.0, 0.1, 0.3):
            error = rng.uniform(0.05, 0.3, centres)
            estimates = rng.normal(0, np.sqrt(tau**2 + error**2))
            for name, options in kinds.items():
                pooled = cal.inference.pool_estimates(estimates, error, **options)
                values[f"confidence {name}, {centres} centres, tau {tau:g}"] = pooled.low <= 0 <= pooled.high
                ends = np.array([pooled.prediction_low, pooled.prediction_high])
                inside = float(np.diff(stats.norm.cdf(ends / tau))[0]) if tau else float(ends[0] <= 0 <= ends[1])
                values[f"prediction {name}, {centres} centres, tau {tau:g}"] = inside
    return values


@simulation
def venn_abers(rng: Rng) -> dict[str, float]:
    """Mean squared distance from the true probability of isotonic, Venn-Abers and cross-Venn-Abers probabilities."""
    values = {}
    for rows in (100, 500, 2000):
        score, new = (np.round(rng.beta(0.8, 0.8, size), 2) for size in (rows, 2000))
        y = (rng.random(rows) < score**2).astype(int)
        for calibrator in (cal.IsotonicCalibration(), cal.VennAbers(), cal.CrossVennAbers()):
            error = calibrator.fit(score, y).predict_proba(new)[:, 1] - new**2
            values[f"{type(calibrator).__name__}, {rows} rows"] = float(np.mean(error**2))
    return values


@simulation
def judges(rng: Rng) -> dict[str, float]:
    """Whether `corrected_rate` covers the true rate, from few gold labels among 2000 judgements."""
    values = {}
    for rate, labelled in product((0.3, 0.02), (30, 100, 300)):
        truth = rng.random(2000) < rate
        gold = np.where(np.arange(2000) < labelled, truth, np.nan)
        verdicts = {
            "accurate": np.where(truth, rng.random(2000) < 0.85, rng.random(2000) < 0.15),
            "lenient": np.where(truth, rng.random(2000) < 0.97, rng.random(2000) < 0.4),
            "noise": rng.random(2000) < 0.5,
            "marks": np.clip(np.round(rng.normal(5 + 2.5 * truth, 1.8)), 1, 10),
            "almost right": np.where(rng.random(2000) < 0.01, ~truth, truth),
        }
        for name, method in product(verdicts, ("calibrated", "ppi")):
            found = cal.inference.corrected_rate(verdicts[name], gold, method=method, rng=rng)
            values[f"{name}, {method}, rate {rate:g}, {labelled} labels"] = found.low <= rate <= found.high
    return values


@simulation
def new_centres(rng: Rng) -> dict[str, float]:
    """Probability that the curve of a new centre lies in the prediction band of `pooled_curve`, between the outer deciles of the risks."""
    values = {}
    for centres, least in ((5, 100), (10, 150)):
        centre = np.repeat(np.arange(centres), rng.integers(least, 3 * least, centres))
        risk = rng.beta(2, 5, len(centre))
        shift, slope = rng.normal(0, 0.3, centres)[centre], rng.normal(1, 0.15, centres)[centre]
        y = (rng.random(len(centre)) < expit(shift + slope * np.log(risk / (1 - risk)))).astype(int)
        band = cal.clinical.pooled_curve(cal.Predictions(y, risk, groups=centre), points=15)
        low, high = np.quantile(risk, [0.1, 0.9])
        x = np.log(band.score / (1 - band.score))
        ends = [np.log(end / (1 - end)) for end in (band.prediction_low, band.prediction_high)]
        inside = np.diff([stats.norm.cdf((end - x) / np.hypot(0.3, 0.15 * x)) for end in ends], axis=0)[0]
        values[f"{centres} centres"] = float(inside[(low <= band.score) & (band.score <= high)].mean())
    return values


@simulation
def updates(rng: Rng) -> dict[str, float]:
    """Whether `closed_test_update` changes a model of ten predictors more than it needs: not at all, or by an intercept."""
    values = {}
    for rows, intercept, shift in ((100, -1.0, 0.0), (300, -1.0, 0.0), (300, -3.2, 0.0), (300, -1.0, 0.7)):
        x = rng.normal(size=(rows, 10))
        odds = x @ np.repeat([0.4, 0.0], 5) + intercept
        y = (rng.random(rows) < expit(odds + shift)).astype(int)
        for resamples in (0, 99) if intercept == -3.2 else (0,):
            found = cal.clinical.closed_test_update(y, expit(odds), features=x, n_resamples=resamples)
            name = f"{rows} rows, intercept {intercept:g}, shift {shift:g}, {resamples} simulated"
            values[name] = found.chosen not in ("none", "intercept")[: 1 + (shift > 0)]
    return values


def one_run(name: str, run: int) -> dict[str, float]:
    """One simulated data set of a claim."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), run])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SIMULATIONS[name](rng)


def means(name: str, runs: int, pool: ProcessPoolExecutor) -> dict[str, tuple[float, float, int]]:
    """Mean, Monte Carlo error and number of runs of each value of a simulation."""
    results = list(pool.map(partial(one_run, name), range(runs), chunksize=max(1, runs // 16)))
    summary = {}
    for key in dict.fromkeys(key for result in results for key in result):
        values = np.array([result[key] for result in results if key in result], np.float64)
        spread = max(float(values.var(ddof=1)), 1 / len(values) if set(values) <= {0.0, 1.0} else 0.0)
        summary[key] = (float(values.mean()), math.sqrt(spread / len(values)), len(values))
    return summary


def main() -> int:
    """Print the table of the claims that are simulated here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="simulations; all of them by default")
    parser.add_argument("--runs", type=int, help="data sets of each, in place of the number in the list")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    chosen = parser.parse_args()
    outside = 0
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for claim in tomllib.loads(LIST.read_text(encoding="utf-8"))["claim"]:
            name = claim.get("simulation")
            if name is None or (chosen.names and name not in chosen.names):
                continue
            print(f"{claim['page']}: {claim['text']}")
            stated = claim.get("values", {})
            found = means(name, chosen.runs or claim["runs"], pool)
            stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            stored[name] = {key: [round(mean, 4), round(error, 4), runs] for key, (mean, error, runs) in found.items()}
            RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
            for key, (mean, error, runs) in found.items():
                line = f"  {name}: {key} {mean:.4g} ± {error:.2g} ({runs} runs)"
                if key in stated:
                    low, high = stated[key]
                    is_outside = not low - 3 * error <= mean <= high + 3 * error
                    outside += is_outside
                    line += f", stated {low:g} to {high:g}" + ("  OUTSIDE" if is_outside else "")
                print(line, flush=True)
    print(f"{outside} values outside what is stated")
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main())
