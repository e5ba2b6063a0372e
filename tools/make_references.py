"""Write the reference values of `calibrant validate` from their sources.

`python tools/make_references.py` rewrites src/calibrant/validation/references: definitions in exact arithmetic from
tests/oracles, values of R from tests/r, values of other packages of Python, stored values of what has no other source, and the simulations of experiments with
their verdicts. Names of groups rewrite only these: `python tools/make_references.py simulations`. `--check` recomputes the
values from their sources, where these are installed, compares them with the stored ones and writes nothing.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src" / "calibrant" / "validation" / "references"
CASES, MOST_ROWS, TRIES = 4, 24, 40


def definitions() -> dict[str, Any]:
    """For every metric some small problems, with the value of its definition in exact arithmetic."""
    from tests.oracles import test_definitions as oracles
    from tests.oracles.cases import draw_case

    data, topics = {}, []
    for name in oracles.EVERY:
        rows: list[dict[str, Any]] = []
        for number in range(10 * TRIES):
            case = draw_case(name, number, oracles.EVERY)
            # A metric that is undefined for few rows has to have more.
            if len(case.labels) < 4 or (len(case.labels) > MOST_ROWS and number < TRIES):
                continue
            try:
                value = oracles.exact_value(name, case)
                oracles.public_value(name, case)
            except (oracles.definitions.Undefined, oracles.cal.CalibrantError):
                continue
            if not math.isfinite(value) or abs(value) < 1e-9:  # 0 would hide an error of a factor
                continue
            arrays, words = arguments(name, case)
            label = f"{name} {number}"
            data[label] = arrays
            rows.append({"topic": name, "call": f"cal.{public_path(name)}({words})", "data": label, "value": value})
            if len(rows) == CASES:
                break
        # The tolerance of the tests is for random problems; a change of one part in a million must be seen.
        tolerance = min(max(oracles.TOLERANCES.get(name, oracles.TOLERANCE), 1e-12), 1e-8)
        common = {
            "kind": "metric",
            **oracle(oracles.definition_of(name).__module__, name),
            "tolerance": tolerance,
            "reason": "rounding" if tolerance <= 1e-12 else "a root, an integral or a division by a small number",
        }
        topics.append((common, rows))
    for name, rows in cumulative(data).items():
        common = {
            "kind": "metric",
            "tolerance": 1e-11,
            "reason": "rounding",
        }
        topics.append((common | {"topic": name, **oracle("tests.oracles.test_cumulative", name)}, rows))
    decided = common | {"kind": "decision"}
    topics += [
        (decided | {"topic": name, **oracle("tests.oracles.decision_definitions", name)}, rows)
        for name, rows in decisions(data).items()
    ]
    return {"rows": [*topics, *inferences(data), *calibrators(data)], "data": data}


def oracle(module: str, name: str) -> dict[str, str]:
    """Where a definition is, and whether its arithmetic is exact; with a single function of doubles in the file it is not called so."""
    path = f"{module.replace('.', '/')}.py"
    inexact = re.search(r"math\.(fsum|exp|log|sqrt|erf)|\bnp\.", (ROOT / path).read_text(encoding="utf-8"))
    source = "definition by plain loops, partly in double precision" if inexact else "definition in exact arithmetic"
    return {"source": source, "source_call": f"{path}, {name}"}


def decisions(data: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Decisions on two problems with ties, whose definitions are in tests/oracles/decision_definitions.py."""
    from fractions import Fraction

    from tests.oracles import decision_definitions as exact

    found: dict[str, list[dict[str, Any]]] = {}
    for label, arrays in stored_data().items():
        unequal = [place for place, p in enumerate(arrays["p"]) if np.size(p) == 1 or sorted(p)[-1] > sorted(p)[-2]]
        y, p = ([arrays[key][place] for place in unequal if arrays["p"][place] != 0.5] for key in ("y", "p"))
        rows = [(k, q if isinstance(q, list) else [1 - q, q]) for k, q in zip(y, p, strict=True)]
        data[f"decisions, {label}"] = {"y": y, "p": p}
        values = {
            **{
                f"cal.decision.topk_accuracy(y, p, k={k})": exact.topk_accuracy(rows, k)
                for k in (1, 2)[: len(rows[0][1]) - 1]
            },
            **{
                f"cal.decision.topk_confidence(y, p, k={k})": exact.topk_confidence(rows, k)
                for k in (1, 2)[: len(rows[0][1]) - 1]
            },
            "cal.decision.selective_risk(y, p, threshold=0.6)": exact.selective_risk(rows, 0.6),
            "cal.decision.selective_accuracy(y, p, threshold=0.6)": 1 - exact.selective_risk(rows, 0.6),
            "cal.decision.aurc(y, p)": exact.aurc(rows),
            "cal.decision.e_aurc(y, p)": exact.aurc(rows) - exact.perfect_aurc(rows),
            "cal.decision.augrc(y, p)": exact.augrc(rows),
            "cal.decision.e_augrc(y, p)": exact.augrc(rows) - exact.expected_cost(rows)[1] ** 2 / 2,
            "[(c := cal.decision.expected_cost(y, p, cost=1 - np.eye(np.max(y) + 1))).claimed, c.realised]": exact.expected_cost(
                rows
            ),
        }
        # An accuracy that these rows show for some thresholds and not for all.
        for target, least in (
            ("coverage", 0.5),
            ("coverage", 0.3),
            ("accuracy", 0.66 if len(rows[0][1]) == 2 else 0.33),
        ):
            words = f"{target}={least}" + ", method='bonferroni'" * (target == "accuracy")
            values[f"[(c := cal.choose_threshold(y, p, {words})).threshold, c.coverage, c.risk]"] = (
                exact.choose_threshold(rows, target, least)
            )
        if len(rows[0][1]) == 2:
            values["cal.decision.net_benefit(y, p, thresholds=[0.25, 0.5]).net_benefit"] = tuple(
                exact.net_benefit(rows, Fraction(t)) for t in (0.25, 0.5)
            )
        for call, value in values.items():
            plain = [float(one) for one in value] if isinstance(value, tuple) else float(value)
            row = {"call": call, "data": f"decisions, {label}", "value": plain}
            found.setdefault(function_of(call), []).append(row)
    return found


# A few rows, with a tie, whose 64 labellings are all evaluated.
FEW = {"y": [0, 1, 0, 1, 0, 1], "p": [0.1, 0.3, 0.3, 0.55, 0.8, 0.9]}
ENUMERATED = "cal.assess(y, p, metric={0!r}, method='enumeration', alternative='greater').pvalue"
NORMAL = "[(i := cal.interval(y, p, metric={0!r}, method='normal')).low, i.high]"
# Rows without a tie: tied scores may be drawn together.
DISTINCT = {
    "y": [0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1],
    "p": [0.05, 0.13, 0.2, 0.31, 0.36, 0.42, 0.48, 0.55, 0.64, 0.71, 0.83, 0.94],
}
PERCENTILE = (
    "[(i := cal.interval(y, p, metric={0!r}, method='percentile', n_resamples=21, level=0.5, rng=0)).low, i.high]"
)


def inferences(data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """p-values by the definition of the metric for every labelling of a few rows, and intervals by its values for each row and for bootstrap samples."""
    import calibrant as cal
    from calibrant.validation.references import evaluate
    from tests.oracles import inference_definitions as exact

    label, distinct, many = "six rows", "twelve rows", "two classes"
    data[label], data[distinct] = FEW, DISTINCT
    data[many] = {key: stored_data()[many][key] for key in ("y", "p")}
    for name in filter(exact.has_definition, cal.catalogue):
        for kind, call, where, value, tolerance in (
            ("test", ENUMERATED, label, exact.enumerated_pvalue, 1e-12),
            ("interval", NORMAL, many, exact.normal_ends, 1e-11),
            ("interval", PERCENTILE, distinct, exact.percentile_ends, 1e-9),
        ):
            columns = {key: np.array(column) for key, column in data[where].items()}
            # Metrics that depend on more than labels and scores, and means of no rows, have no such p-value or interval.
            if evaluate(call.format(name), columns)[1]:
                continue
            try:
                found = value(name, data[where]["y"], data[where]["p"])
            except exact.Undefined:  # for one of the bootstrap samples
                continue
            own = oracle(exact.module_of(name), name)
            common = {"topic": name, "kind": kind, "call": call.format(name), "data": where, "source": own["source"]}
            common |= {
                "source_call": f"tests/oracles/inference_definitions.py, {value.__name__} of {own['source_call']}"
            }
            reason = "rounding" if tolerance < 1e-9 else "a root, an integral or a division by a small number"
            yield common | {"tolerance": tolerance, "reason": reason}, [{"value": found}]


# Tolerances of calibrators that exceed rounding, and why.
CALIBRATOR_TOLERANCES = {
    "BoostedCalibration": (1e-11, "sums in another order"),
    "ConsistencyCalibration": (1e-7, "the strength is searched to nine digits"),
    "IntraOrderPreserving": (1e-10, "both sides iterate to a tolerance"),
    "OnlineCalibration": (1e-9, "both sides iterate to a tolerance"),
    "StructuredScaling": (1e-9, "both sides iterate to a tolerance"),
    "TopLabelHistogramBinning": (1e-11, "a predicted class stays ahead by one part in 1e12"),
}


def calibrators(data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Calibrators that no other package has, whose definitions are in tests/oracles/calibrator_definitions.py."""
    from tests.oracles import calibrator_definitions as exact

    for name, needs in exact.CALLS.items():
        tolerance, reason = CALIBRATOR_TOLERANCES.get(name, (1e-12, "rounding"))
        rows = []
        for label, arrays in stored_data().items():
            if name == "MultilabelCalibration" and np.ndim(arrays["p"]) == 1:
                continue
            call = FIT.format(name, *needs)
            found = getattr(exact, name)(arrays["y"], arrays["p"], groups=arrays["g"], features=arrays["x"])[:8]
            used = {key: arrays[key] for key in arrays if re.search(rf"\b{key}\b", call)}
            data[label] = data.get(label, {}) | used
            rows.append({"call": call, "data": label, "value": [float(q) for row in found for q in row]})
        common = {"topic": name, "kind": "calibrator", **oracle(exact.__name__, name)}
        yield common | {"tolerance": tolerance, "reason": reason}, rows


def cumulative(data: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The metrics of cumulative differences, whose definitions are in tests/oracles/test_cumulative.py."""
    from tests.oracles import test_checked_values as checked
    from tests.oracles import test_cumulative as oracles

    found: dict[str, list[dict[str, Any]]] = {}
    for seed in (10, 12, 13, 20):
        y, p, words, groups = oracles.draw(seed)
        rows, label = oracles.as_rows(y, p, words), f"cumulative {seed}"
        points, weighted = oracles.path(rows), "sample_weight" in words
        mean, bridge = oracles.bridge_statistics(rows, weighted)
        parts = [
            rows,
            *([row for row, g in zip(rows, groups, strict=True) if g == code] for code in set(groups.tolist())),
        ]
        spread = [max(oracles.path(part)) - min(oracles.path(part)) for part in parts]
        ratio = max(float(size) / oracles.scale(part, weighted) for size, part in zip(spread, parts, strict=True))
        more = "".join(f", {word}={word}" for word in words)
        data_words = f"cal.Predictions(y, p{more})" if "counts" in words else f"y, p{more}"
        columns = {"y": y, "p": p, "g": groups, **words}
        data[label] = {column: values.tolist() for column, values in columns.items()}
        values = {
            f"cal.ecce_mad({data_words})": max(map(abs, points)),
            f"cal.ecce_r({data_words})": spread[0],
            f"cal.ecce_mean_abs({data_words})": oracles.mean_along(rows, 1, "counts" in words),
            f"cal.ecce_l2({data_words})": oracles.mean_along(rows, 2, "counts" in words),
            f"cal.bbt({data_words}, form='mean')": mean,
            f"cal.bbt({data_words}, form='bridge')": bridge,
            f"cal.mcm(cal.Predictions(y, p, groups=g{more}), scale='sigma')": ratio,
            f"cal.mcm(cal.Predictions(y, p, groups=g{more}))": ratio * oracles.scale(rows, weighted),
        }
        for call, value in values.items():
            row = {"call": call, "data": label, "value": float(value)}
            found.setdefault(call[4 : call.index("(")], []).append(row)
    y, p = checked.D
    data["ranks"] = {"y": y, "p": p.tolist()}
    for name, _, words, value in checked.VALUES:
        if name.startswith("ks_") and float(value):
            row = {"call": f"cal.{name}(y, p, r={words['r']})", "data": "ranks", "value": float(value)}
            found.setdefault(name, []).append(row)
    return found


def arguments(name: str, case: Any) -> tuple[dict[str, Any], str]:
    """The arrays of a problem and the arguments of the call."""
    import calibrant as cal
    from calibrant.views.keywords import DATA_KEYWORDS

    arrays: dict[str, Any] = {"y": case.labels, "p": case.probs.astype(float).tolist()}
    words: list[str] = []
    options = dict(case.options)
    closed, bins = options.pop("closed", "right"), options.get("bins")
    if closed == "left":
        options.pop("binning", None)
        if isinstance(bins, int):
            words.append("binning=cal.EqualWidth(closed='left')")
        else:
            words.append(f"binning=cal.Edges({tuple(bins)!r}, closed='left')")
            del options["bins"]
    elif options.get("binning") == "equal_width" and isinstance(bins, (list, tuple)) and bins[0] == 0:
        del options["binning"]
    if isinstance(options.get("lens"), list):
        groups = {f"group {g}": group for g, group in enumerate(options.pop("lens"))}
        words.append(f"lens=cal.class_groups({groups!r})")
    if options.get("norm") == "inf":
        words.append("norm=math.inf")
        del options["norm"]
    own = cal.catalogue[name].options
    reading: list[str] = []
    combining: list[str] = []
    for word, value in {**options, **{k: v for k, v in case.weights().items() if v is not None}}.items():
        plain = np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        text = repr(plain)
        if isinstance(plain, (list, tuple)) and len(plain) == len(case.labels) and word not in ("bins", "partitions"):
            arrays[word] = list(plain)
            text = word
        if word in DATA_KEYWORDS:
            reading.append(f"{word}={text}")
        elif word in ("combine", "class_weight") and word not in own:
            combining.append(f"{word}={text}")
        else:
            words.append(f"{word}={text}")
    probs = "p" if case.probs.dtype == np.float64 else "np.float32(p)"
    if any(not word.startswith("sample_weight=") for word in reading):
        data = [f"cal.Predictions({', '.join(['y', probs, *reading])})"]
    else:
        data = ["y", probs]
        words += reading
    if combining:
        words = [word for word in words if not word.startswith("lens=")]
        words.append(f"lens=cal.classwise({', '.join(combining)})")
    return arrays, ", ".join([*data, *words])


# Calls of R in tests/r by their file, and the call here; those of experiments/migration are added.
ASSESS = "cal.assess(y, risk, metric='{}', method='{}'{})"
ENDS = "[(i := cal.interval(y, risk, metric='{}', method='{}'{})).low, i.high]"
BOTH = "[(i := cal.interval({1}, metric='cox_intercept', {0})).low, i.high, (j := cal.interval({1}, metric='cox_slope', {0})).low, j.high]"
LIMITS = "np.ravel((t := cal.calibration_curve(y, risk, bins=[0, 0.2, 0.4, 0.6, 0.8, 1]).table).interval({}, '{}'))[np.tile(t.weight > 0, 2)]"
GRADES = "[g.{} for g in cal.inference.grade_tests(cal.Predictions(y, risk, groups=centre){}).grades]"
GREATER = "tests(y, risk, centre, function(x, n, p) binom.test(x, n, p, alternative = 'greater')$p.value)"
ISOTONIC = "cal.IsotonicCalibration().fit(risk, y).predict_proba(risk)[:, 1]"
WEIGHTS = "1 + np.arange(1, len(y) + 1) % 5"
COUNTED = f"cal.Predictions(y, risk, counts={WEIGHTS})"
RANKED = "np.quantile(risk, [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])"
STAGES = "np.column_stack([p1, p2, p3, p4])"
SURVIVAL = "{{m.measure: m for m in cal.clinical.survival_summary(risk, time=time, event=event, groups=0 * time, horizon={}, n_resamples=0).measures}}"
QUANTILES = "np.unique(np.quantile(risk, np.arange({0} + 1) / {0}))"
POOLED = "[(p := cal.clinical.validate_by_group(cal.Predictions(y, risk, groups=centre), method='reml')['{}']).estimate, p.standard_error, p.low, p.high, p.tau2, p.i2, p.q, p.q_pvalue]"


def indices(options: str) -> str:
    """ICI, E50, E90 and Emax."""
    return "[" + ", ".join(f"cal.{name}(y, risk, {options})" for name in ("ici", "e50", "e90", "emax")) + "]"


R: dict[str, dict[str, str]] = {
    "recalibration": {
        "coef(shift(y, risk))": "cal.fixed_slope_intercept(y, risk)",
        "coef(line(y, risk))": "[cal.cox_intercept(y, risk), cal.cox_slope(y, risk)]",
        "own(y, risk) / 2 / length(y)": "cal.nll(y, risk)",
        "own(y, risk) - deviance(bent(y, risk, y ~ log(p) + log1p(-p)))": "cal.sbct(y, risk)",
        "own(y, risk) - deviance(line(y, risk))": ASSESS.format("cox_slope", "lr", "") + ".detail['chi_square']",
        "pchisq(own(y, risk) - deviance(line(y, risk)), 2, lower.tail = FALSE)": ASSESS.format("cox_slope", "lr", "")
        + ".pvalue",
        "away(line(y, risk)) %*% solve(vcov(line(y, risk)), away(line(y, risk)))": ASSESS.format(
            "cox_slope", "wald", ""
        )
        + ".detail['chi_square']",
        "sqrt(diag(vcov(line(y, risk))))": f"[(d := {ASSESS.format('cox_slope', 'wald', '')}.detail)['intercept_error'], d['slope_error']]",
        "coef(line(y, risk, weights = w(y)))": f"[cal.cox_intercept({COUNTED}), cal.cox_slope({COUNTED})]",
        "coef(shift(y, risk, weights = w(y)))": f"cal.fixed_slope_intercept({COUNTED})",
        "svymean(~I(risk - y), sampled(y, risk))": f"cal.calibration_in_the_large(y, risk, sample_weight={WEIGHTS})",
        "svyratio(~risk, ~y, sampled(y, risk))$ratio": f"cal.expected_observed_ratio(y, risk, sample_weight={WEIGHTS})",
        "coef(bent(y, risk, y ~ log(p) + I(-log1p(-p))))": "[(c := cal.BetaCalibration().fit(risk, y).curves_[0]).c, c.a, c.b]",
        "coef(bent(y, risk, y ~ lp + I(lp^2)))": "[(c := cal.QuadraticLogit().fit(risk, y).curves_[0]).constant, c.slope, c.bend]",
    },
    "val_prob": {
        "auc(y, risk, quiet = TRUE)": "cal.evaluation.auroc(y, risk)",
        "somers2(risk, y)[['C']]": "cal.evaluation.auroc(y, risk)",
        "val.prob(risk, y, pl = FALSE)[['S:z']]": ASSESS.format("spiegelhalter_z", "normal", "") + ".statistic",
        "wtd.mean((risk - y)^2, 1 + seq_along(y) %% 5)": f"cal.brier(y, risk, sample_weight={WEIGHTS})",
    },
    "hosmer_lemeshow": {
        "grouped(y, risk, Hmisc::cut2(risk, g = 10))": "cal.hosmer_lemeshow(y, risk)",
        **{
            f"statistic_of({call}(y, risk, g = {g}))": "[(t := "
            + ASSESS.format("hosmer_lemeshow", "chi_square_fitted_here", f", bins={QUANTILES.format(g)}")
            + ").statistic, t.detail['df'], t.pvalue]"
            for call, g in (("hoslem.test", 5), ("hoslem.test", 10), ("logitgof", 10))
        },
        **{
            f"statistic_of(logitgof(stage, cbind(p1, p2, p3, p4), g = {g}))": "[(t := cal.inference.hosmer_lemeshow_multinomial(stage - 1, "
            f"{STAGES}, bins={g}, fitted_here=True, method='chi_square')).statistic, t.detail['df'], t.pvalue]"
            for g in (6, 9)
        },
    },
    "intervals": {
        "slope_ends(y, risk)": ENDS.format("cox_slope", "profile", ""),
        "slope_ends(y, risk, 0.8)": ENDS.format("cox_slope", "profile", ", level=0.8"),
        "intercept_ends(y, risk)": ENDS.format("cox_intercept", "profile", ""),
        "shift_ends(y, risk)": ENDS.format("calibration_in_the_large", "profile", ", form='logit'"),
        "wald_shift(y, risk)": ENDS.format("fixed_slope_intercept", "wald", ""),
        "poisson.test(sum(y), sum(risk))$conf.int": ENDS.format(
            "expected_observed_ratio", "exact", ", form='observed_expected'"
        ),
    },
    "interval_methods": {
        "mean((risk - y)^2) + c(-1, 1) * qnorm(0.975) * sd((risk - y)^2) / sqrt(length(y))": ENDS.format(
            "brier", "normal", ""
        ),
        "normal(robust(y, risk))": BOTH.format("method='sandwich'", "y, risk"),
        "normal(robust(y, risk, ids = centre))": BOTH.format(
            "method='sandwich', cluster=True", "cal.Predictions(y, risk, groups=centre)"
        ),
    },
    "proportions": {
        "mean(abs(isotonic(y, risk) - sort(risk)))": "cal.metrics.fott_isotonic(y, risk)",
        "range(isotonic(y, risk))": f"[(q := {ISOTONIC}).min(), q.max()]",
        "mean((risk - y)^2) - mean((isotonic(y, risk) - y[order(risk, -y)])^2)": "cal.decompose(y, risk, score='brier', method='corp').miscalibration",
        "mean((mean(y) - y)^2) - mean((isotonic(y, risk) - y[order(risk, -y)])^2)": "cal.decompose(y, risk, score='brier', method='corp').discrimination",
        "limits(y, risk, function(x, n) binconf(x, n, method = 'exact')[2:3])": LIMITS.format(0.95, "clopper_pearson"),
        "limits(y, risk, function(x, n) prop.test(x, n, correct = FALSE)$conf.int)": LIMITS.format(0.95, "wilson"),
        "limits(y, risk, jeffreys)": LIMITS.format(0.95, "jeffreys"),
        GREATER: GRADES.format("pvalue", ""),
        f"p.adjust({GREATER}, 'holm')": GRADES.format("adjusted", ""),
        f"p.adjust({GREATER}, 'BH')": GRADES.format("adjusted", ", correction='benjamini_hochberg'"),
    },
    "smoothers": {
        "indices(curve_of(y, risk), risk)": indices("surface='interpolate'"),
        "indices(curve_of(y, risk, control = direct), risk)": indices("surface='direct'"),
        "indices(curve_of(y, risk, degree = 1), risk)": indices("degree=1, surface='interpolate'"),
        "indices(curve_of(y, risk, span = 0.5), risk)": indices("span=0.5, surface='interpolate'"),
        "indices(at_lowess(y, risk), risk)": indices("smoother='lowess'"),
        "100 * mean((curve_of(y, risk) - risk)^2)": "cal.eci(y, risk, smoother='loess', surface='interpolate')",
        **{f"indices(spline(y, risk, {k}), risk)": indices(f"smoother='rcs', knots={k}") for k in (3, 5)},
    },
    "flexible_curve": {
        "smooth(y, risk)": f"np.concatenate(cal.figures.flexible_calibration_curve(y, risk, uncertainty='residual').at({RANKED}))",
        "spline(y, risk, 3)": f"np.concatenate(cal.figures.flexible_calibration_curve(y, risk, smoother='rcs', knots=3).at({RANKED}))",
    },
    "regression_tests": {
        "wald(parabola(y, risk), implied(parabola(y, risk), risk))": "cal.pws(y, risk)",
        "wald(parabola(y, risk), vcov(parabola(y, risk)))": "cal.pws(y, risk, covariance='ols')",
        "wald(parabola(y, risk), vcovHC(parabola(y, risk), type = 'HC0'))": "cal.pws(y, risk, covariance='HC0')",
        "pooled(y, centre, 0.9)": "cal.decision.pluto_tasche(np.unique(centre, return_counts=True)[1], "
        "[y[centre == c].sum() for c in np.unique(centre)], level=0.9).bound",
        "local_mean(y, risk, seq(0.1, 0.9, 0.1), 0.05)": "cal.KernelCalibration(bandwidth=0.05).fit(risk, y).predict_proba(np.arange(1, 10) / 10)[:, 1]",
    },
    "several_classes": {
        "-mean(log(probs(p1, p2, p3, p4)[cbind(seq_along(stage), stage)]))": f"cal.nll(stage - 1, {STAGES})",
        "mean(rowSums((outer(stage, 1:4, '==') - probs(p1, p2, p3, p4))^2))": f"cal.brier(stage - 1, {STAGES})",
        "mean(rowSums((outer(stage, 1:3, '<=') - t(apply(probs(p1, p2, p3, p4), 1, cumsum))[, 1:3])^2)) / 3": f"cal.ranked_probability(stage - 1, {STAGES})",
        "mean(sapply(1:4, function(k) auc(stage == k, probs(p1, p2, p3, p4)[, k], direction = '<', quiet = TRUE)))": f"cal.evaluation.auroc(stage - 1, {STAGES})",
        "coef(chosen_by(chosen ~ lp + strata(row), stage, probs(p1, p2, p3, p4)))": f"1 / cal.TemperatureScaling().fit({STAGES}, stage - 1).temperature_",
        "coef(chosen_by(chosen ~ lp + stage + strata(row), stage, probs(p1, p2, p3, p4)))": f"[1 / (c := cal.BiasCorrectedTemperature().fit({STAGES}, stage - 1)).temperature_, *c.bias_[1:]]",
        "multinom(stage ~ log(p1) + log(p2) + log(p3) + log(p4), trace = FALSE, reltol = 1e-15, maxit = 5000)$deviance / 2 / length(stage)": (
            f"-np.log(cal.MatrixScaling(off_diagonal=0.0, intercept=0.0).fit({STAGES}, stage - 1).predict_proba({STAGES})"
            "[np.arange(len(stage)), stage - 1]).mean()"
        ),
        "coef(chosen_by(chosen ~ lp:stage + stage + strata(row), stage, probs(p1, p2, p3, p4)))[c(4:7, 1:3)]": f"[*(c := cal.VectorScaling().fit({STAGES}, stage - 1)).weight_, *c.bias_[1:]]",
    },
    "multinomial": {
        f"coef({theirs}(rows(stage, four(p1, p2, p3, p4), 1)))": f"np.concatenate([(f := cal.inference.multinomial_recalibration(stage - 1, {STAGES}, reference=0)"
        f".{ours}).intercepts{more}])"
        for theirs, ours, more in (
            ("large", "in_the_large", ""),
            ("own", "own", ", np.diag(f.slopes)"),
            ("full", "full", ", f.slopes.T.ravel()"),
        )
    },
    "survival": {
        f"kaplan_meier(time, event, {at})": f"[(m := {SURVIVAL.format(at)}['observed_risk']).value, m.standard_error, m.low, m.high]"
        for at in (1000.5, 1826.5)
    }
    | {
        f"indices(time, event, risk, {at})": f"[(m := {SURVIVAL.format(at)})['ici'].value, m['e50'].value, m['e90'].value]"
        for at in (1000.5, 1826.5)
    },
    "decision_curve": {
        "curves(y, risk = risk, risk2 = risk2)": "np.concatenate([(d := cal.figures.decision_curve(y, {'risk': risk, 'risk2': risk2}, "
        "thresholds=[0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9], level=None))['risk'].net_benefit, d['risk2'].net_benefit, "
        "d['treat all'].net_benefit, d['risk'].avoided_per_100, d['risk2'].avoided_per_100])",
    },
    "pooling": {
        f"facts(pool(by({measure}, y, risk, centre), test = 'knha'))": POOLED.format(measure)
        for measure in ("intercept", "slope")
    },
}
R_SETS = ("birthwt", "infert", "pima", "pbc", "ties")
# Tolerances that exceed the usual one, by a part of the call or the package, and why.
R_USUAL = (1e-7, "R iterates to its own tolerance, and prints 15 digits")
R_TOLERANCES = {
    "'Intercept'": (1e-6, "lrm stops once the deviance changes little"),
    "'Slope'": (1e-6, "lrm stops once the deviance changes little"),
    "found(y, risk)": (1e-6, "lrm stops once the deviance changes little"),
    "test_of(": (1e-6, "the p-values of givitiR have an absolute error of up to 1e-6"),
    "belt_of(": (5e-6, "the optimizer of givitiR stops at 1e-5"),
    "robust(": (1e-6, "survey takes its covariance from the last step of glm"),
    "smooth(": (1e-5, "least-squares problems, solved otherwise"),
    "spline(y, risk, 3)": (1e-5, "the covariance of glm is that of the step before the last"),
    "pool(": (1e-6, "metafor iterates to its own tolerance"),
    "multinomial": (1e-6, "VGAM iterates to its own tolerance"),
}


def r() -> dict[str, Any]:
    """Values of packages of R on five of the data sets of tests/r."""
    from calibrant.validation.references import Compared, Reference, evaluate
    from experiments.migration.calls import CALLS
    from tests.r import common

    calls = {topic: dict(entries) for topic, entries in R.items()}
    for call in CALLS:
        if call.stored:
            calls.setdefault(call.kind, {}).setdefault(call.theirs, inlined(call.ours))
    topics, used = [], {}
    for topic, of_topic in calls.items():
        for call, here in of_topic.items():
            entries = [entry for entry in common.values(topic) if entry["call"] == call and entry["data"] in R_SETS]
            assert entries or topic in ("survival", "belt", "giviti"), (topic, call)
            kind, name = subject(here)
            tolerance, reason = next((one for part, one in R_TOLERANCES.items() if part in f"{topic} {call}"), R_USUAL)
            rows = []
            for entry in entries:
                columns = {
                    key: value
                    for key, value in vars(common.data(entry["data"])).items()
                    if re.search(rf"\b{key}\b", here)
                }
                found, error = evaluate(here, columns)
                part = {"topic": name, "kind": kind, "call": here, "tolerance": tolerance, "reason": reason}
                part |= {
                    "source": f"{entry['package']} {entry['version']}, R 4.2.2; tests/r/{topic}.R",
                    "source_call": call,
                }
                row = {
                    "data": entry["data"],
                    "value": np.ravel(entry["value"]).tolist() if np.ndim(entry["value"]) else entry["value"],
                }
                compared = Compared(Reference("", **part, **row), found, error)
                if not compared.passed:
                    print(f"  not stored: {topic}, {call} on {entry['data']}: {error or compared.difference}")
                    continue
                used.setdefault(entry["data"], {}).update({key: value.tolist() for key, value in columns.items()})
                rows.append(row)
            if rows:
                topics.append((part, rows))
    scripts = dict.fromkeys(part["source"].partition("; ")[2] for part, _ in topics)
    setup = {name: (ROOT / name).read_text(encoding="utf-8").strip() for name in ("tests/r/common.R", *scripts)}
    return {"rows": topics, "data": used, "setup": setup}


# Kinds of data of the comparison with other packages that need no fitted model, and the sets of each that are stored.
PEER_SETS = {"binary": ("small", "tied"), "weighted": ("small", "tied"), "classes": ("small", "tied")}
PEER_SETS |= {"four classes": ("small", "tied"), "four once": ("small",), "once": ("small",)}
# Calls of calibrant in experiments/migration use these functions; a stored call is complete.
INLINE = {
    "curve": "np.concatenate([(c := {}).rate[full := ~c.table.empty], c.mean_score[full]])",
    "gap": "(c := {}).rate - c.mean_score",
    "parts": "[(d := {}).reliability, d.uncertainty - d.resolution, d.resolution, d.uncertainty]",
    "corp": "[(d := {}).miscalibration, d.discrimination, d.uncertainty]",
    "ends": "[(i := {}).low, i.high]",
    "tested": "[(t := {}).statistic, t.pvalue, t.detail['degree']]",
    "limits": "np.concatenate([(b := {}).risk, b.low[1], b.high[1], b.low[0], b.high[0]])",
}
# A call of calibrant alone, without tensors.
USABLE = r"(?!.*cal\.torch)(?!.*\btop\()(?=.*\bcal\.)"
LONGEST = 16
# The tolerance is the first of these that is not exceeded, so that a change by more is seen; a value that is further away is not stored.
ROUNDING, PEER_TOLERANCES = 1e-12, (1e-12, 1e-9, 1e-7, 1e-6)
STOPS, SINGLE = "its iterations stop at a tolerance of its own", "it computes in single precision"
# Why values of a package are further away than by rounding.
WHY = dict.fromkeys(("torchmetrics", "torch-uncertainty", "probmetrics"), SINGLE)
WHY |= {"MAPIE": "it adds noise of 1e-8 to the scores", "MCGrad": "it rounds the event rate to single precision"}


def inlined(call: str) -> str:
    """A call of experiments/migration without the functions that are defined there."""
    for name, text in INLINE.items():
        while found := re.search(rf"(?<![\w.]){name}\(", call):
            depth, end = 1, found.end()
            while depth:
                depth += {"(": 1, ")": -1}.get(call[end], 0)
                end += 1
            call = f"{call[: found.start()]}{text.format(call[found.end() : end - 1])}{call[end:]}"
    return call


def peer_calls() -> list[tuple[Any, str]]:
    """The calls of other packages, each with a data set on which the closest call of calibrant gives the same."""
    from experiments.migration.calls import CALLS
    from experiments.migration.table import is_same, load

    stored = load()["rows"]
    closest: dict[tuple[str, str, str, str], Any] = {}
    for call in CALLS:
        if call.kind not in PEER_SETS or not re.match(USABLE, call.ours):
            continue
        for found in stored[call.key]:
            if found["set"] in PEER_SETS[call.kind] and is_same(found):
                closest[call.peer, call.kind, call.theirs, found["set"]] = call
    return [(call, key[-1]) for key, call in closest.items()]


def source_values(names: Sequence[str] = ()) -> tuple[dict[tuple[str, str], Any], dict[str, str], dict[str, str]]:
    """Values of the other packages by call and data set, versions of the packages, and why an environment is absent."""
    from benchmarks.environments import PEERS, ready

    wanted = [(call.key, name) for call, name in peer_calls()]
    pythons, facts = ready({peer.environment for peer in PEERS if not names or peer.name in names})
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "PYTHONWARNINGS": "ignore"}
    values: dict[tuple[str, str], Any] = {}
    versions: dict[str, str] = {}
    for id, python in pythons.items():
        peers = [peer.name for peer in PEERS if peer.environment == id and (not names or peer.name in names)]
        versions |= {name: facts[id]["versions"][name] for name in peers}
        command = [python, "-m", "experiments.migration.compare", "--values", *peers]
        done = subprocess.run(
            command, input=json.dumps(wanted), stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env, check=True
        )
        values |= {(row["key"], row["set"]): row["value"] for row in map(json.loads, done.stdout.splitlines())}
    return values, versions, {id: fact["absent"] for id, fact in facts.items() if fact["absent"]}


def peers() -> dict[str, Any]:
    """Values of other packages of Python, each run in its environment, for calls of experiments/migration."""
    from calibrant.validation.references import Compared, Reference, evaluate
    from experiments.migration.calls import SETUP
    from experiments.migration.compare import few

    values, versions, absent = source_values()
    for id, reason in absent.items():
        raise SystemExit(f"{id}: {reason}; all environments are needed to write this group")
    data: dict[str, Any] = {}
    topics: dict[str, list[dict[str, Any]]] = {}
    for row, call, name in peer_rows(values, versions):
        columns = {key: np.asarray(few(call.kind, name)[key]) for key in ("y", "p", "w", "g", "new")}
        kind, topic = subject(row["call"])
        found, error = evaluate(row["call"], columns)
        apart = Compared(Reference("", topic, kind, **row, tolerance=0, reason=""), found, error).difference
        tolerance = next((each for each in PEER_TOLERANCES if apart <= each), None)
        if tolerance is None:
            print(
                f"  not stored: {row['source']}, {row['source_call']} on {row['data']}: {error or f'{apart:.1g}'}, {row['call']}"
            )
            continue
        reason = "rounding" if tolerance <= ROUNDING else WHY.get(call.peer, STOPS)
        used = {key: columns[key].tolist() for key in columns if re.search(rf"\b{key}\b", row["call"])}
        data[row["data"]] = data.get(row["data"], {}) | used
        topics.setdefault(topic, []).append({"kind": kind, **row, "tolerance": tolerance, "reason": reason})
    setup = {f"{peer} {version}": SETUP[peer].strip() for peer, version in sorted(versions.items())}
    return {"rows": [({"topic": topic}, rows) for topic, rows in topics.items()], "data": data, "setup": setup}


def peer_rows(
    values: dict[tuple[str, str], Any], versions: dict[str, str]
) -> Iterator[tuple[dict[str, Any], Any, str]]:
    """Call, data, value and source of each call that another package answers; a long result is cut on both sides."""
    from experiments.migration.compare import few

    for call, name in peer_calls():
        given, value = few(call.kind, name), values.get((call.key, name), "its package is not installed")
        if isinstance(value, str):
            continue
        classes = str(given["K"])
        theirs, ours = (re.sub(r"\bK\b", classes, text) for text in (call.theirs, inlined(call.ours)))
        here, calibrated = np.asarray(value, dtype=float), re.search(r"predict_proba\(\w+\)$", ours)
        if calibrated and call.kind in ("binary", "weighted") and here.ndim == 1:
            ours = f"{ours}[:, 1]"
        if here.size > LONGEST:
            theirs, ours = (f"np.ravel({one})[:{LONGEST}]" for one in (theirs, ours))
            here = here.ravel()[:LONGEST]
        data = f"{'two' if np.ndim(given['p']) == 1 else 'four'} classes, {name}"
        plain = here.ravel().tolist() if here.ndim else float(here)
        source = f"{call.peer} {versions[call.peer]}"
        yield {"call": ours, "data": data, "value": plain, "source": source, "source_call": theirs}, call, name


def subject(call: str) -> tuple[str, str]:
    """What a call computes: its kind, and the metric, calibrator or function."""
    import calibrant as cal
    from calibrant.recalibration.methods import TYPES

    if tested := re.search(r"cal\.(assess|interval)\(.*?metric=[\"'](\w+)", call):
        return {"assess": "test", "interval": "interval"}[tested[1]], tested[2]
    paths = [path for path in re.findall(r"cal\.([\w.]+)\(", call) if path != "Predictions"]
    for name in (path.rpartition(".")[2] for path in paths):
        if name in set(cal.catalogue):
            return "metric", name
        if name in TYPES:
            return "calibrator", name
    kinds = {"inference": "test", "decision": "decision"}
    return kinds.get(attrgetter(paths[0])(cal).__module__.split(".")[1], "summary"), function_of(call)


def function_of(call: str) -> str:
    """Name of the first function of a call, without its package."""
    return re.findall(r"cal\.(?:\w+\.)*(\w+)\(", call.replace("cal.Predictions(", ""))[0]


def public_path(name: str) -> str:
    """Where a metric is found below calibrant."""
    import calibrant as cal

    return name if name in cal.__all__ else f"metrics.{name}"


STORED_SETS = {"two classes": (2, 90), "four classes": (4, 120)}
TEST = "cal.assess({1}, metric={0!r}, n_resamples=99, rng=0).pvalue"
INTERVAL = "[(i := cal.interval({1}, metric={0!r}, n_resamples=200, rng=0)).low, i.high]"
VALUE = "cal.{0}({1})"
FIT = "cal.{0}({1}).fit(p, y{2}).predict_proba(p[:8]{3})"
DATA = dict.fromkeys(("pce", "fece", "mcm"), "cal.Predictions(y, p, groups=g)") | dict.fromkeys(
    ("vece", "piece", "mvce", "klce", "lce", "mlce"), "cal.Predictions(y, p, features=x)"
)
DECISIONS = (
    "cal.decision.aurc(y, p)",
    "cal.decision.e_aurc(y, p)",
    "cal.decision.augrc(y, p)",
    "cal.decision.e_augrc(y, p)",
    "cal.decision.topk_accuracy(y, p, k=1)",
    "cal.decision.topk_confidence(y, p, k=1)",
    "cal.decision.selective_risk(y, p, threshold=0.6)",
    "cal.decision.selective_accuracy(y, p, threshold=0.6)",
    "cal.decision.net_benefit(y, p, thresholds=[0.2, 0.4]).net_benefit",
    "[(c := cal.choose_threshold(y, p, coverage=0.5)).threshold, c.coverage, c.risk]",
    "[(c := cal.decision.expected_cost(y, p, cost=1 - np.eye(np.max(y) + 1))).claimed, c.realised]",
)
# What a calibrator needs to be made, to be fitted and to be applied.
NEEDS = {
    "BoostedCalibration": ("max_rounds=20", ", features=x", ", features=x[:8]"),
    "ChainedCalibration": ("[cal.TemperatureScaling(), cal.PlattScaling()]", "", ""),
    "GroupCalibration": ("cal.PlattScaling()", ", groups=g", ", groups=g[:8]"),
    "MultiCalibration": ("", ", groups=g", ", groups=g[:8]"),
    "MultilabelCalibration": ("cal.PlattScaling()", "[:, None] == np.arange(p.shape[1])", ""),
    "LensCalibration": ("cal.PlattScaling(), 'class:1'", "", ""),
    "PriorShift": ("before=np.full(np.max(y) + 1, 1 / (np.max(y) + 1))", "", ""),
}


def stored_data() -> dict[str, dict[str, Any]]:
    """Two problems whose probabilities have three decimals, with groups and features."""
    data = {}
    for name, (classes, rows) in STORED_SETS.items():
        rng = np.random.default_rng(classes)
        p = np.round(rng.dirichlet(np.full(classes, 0.8), rows), 3)
        p[:, -1] = np.round(1 - p[:, :-1].sum(axis=1), 3)
        y = [int(rng.choice(classes, p=row**0.7 / np.sum(row**0.7))) for row in p]
        data[name] = {"y": y, "p": (p if classes > 2 else p[:, 1]).tolist()}
        data[name] |= {"g": rng.integers(0, 3, rows).tolist(), "x": np.round(rng.normal(size=(rows, 2)), 3).tolist()}
    return data


def stored() -> dict[str, Any]:
    """Values that only this package gives: they show that another machine or version computes the same."""
    import calibrant as cal
    from calibrant.recalibration.methods import TYPES
    from calibrant.validation.references import evaluate

    data = stored_data()
    calls = [
        *(("metric", name, VALUE.format(public_path(name), DATA.get(name, "y, p")), 1e-9) for name in cal.catalogue),
        *(("test", name, TEST.format(name, DATA.get(name, "y, p")), 1e-9) for name in cal.catalogue),
        *(("interval", name, INTERVAL.format(name, DATA.get(name, "y, p")), 1e-7) for name in cal.catalogue),
        *(
            ("calibrator", name, FIT.format(name, *NEEDS.get(name, ("", "", ""))), 1e-7)
            for name in TYPES
            if name != "Identity"
        ),
    ]
    calls += [("decision", function_of(call), call, 1e-9) for call in DECISIONS]
    topics = []
    for kind, topic, call, tolerance in calls:
        common = {
            "topic": topic,
            "kind": kind,
            "call": call,
            "source": f"calibrant {cal.__version__}",
            "source_call": "the same",
            "tolerance": tolerance,
            "reason": "sums and searches of another machine may end at another last digit",
        }
        rows = []
        for name, arrays in data.items():
            columns = {key: np.array(column) for key, column in arrays.items()}
            value, error = evaluate(call, columns)
            if error:
                print(f"  {topic} has no {kind} for {name}: {error[:100]}")
            else:
                rows.append({"data": name, "value": value})
        topics.append((common, rows))
    return {"rows": topics, "data": data}


def simulations() -> dict[str, Any]:
    """Size, power and coverage of experiments/simulations.json with their verdicts, their settings, and how they were run."""
    from experiments import simulations_intervals, thin_data
    from experiments import simulations_page as page
    from experiments.simulations import SEED
    from experiments.simulations_hard import HARD_SCORES
    from experiments.simulations_plan import ALPHAS, FEW, PLAN, RARE, TESTS, TIED

    content = json.loads((ROOT / "experiments" / "simulations.json").read_text(encoding="utf-8"))
    # Runs before the first release did not record it.
    ran_with = f"calibrant {content['version']}" if "version" in content else "the development version before 1.0"
    kinds: dict[str, list[Any]] = {}
    for row in content["rows"]:
        kinds.setdefault(row["kind"], []).append(row)

    def share(count: int, runs: int) -> float:
        return round(count / runs, 4)

    def plain(text: str) -> str:
        return re.sub(r"[*`]", "", text)

    def scenario(row: dict[str, Any]) -> str:
        return f"{row['kind']} {row['scenario']} {row['classes']} {row['distribution']} {row['n']}"

    rates = [f"rejected at {alpha:g}" for alpha in ALPHAS]
    size = [
        [
            page.shown(row["test"]),
            row["classes"],
            page.shown(row["distribution"]),
            row["n"],
            row["runs"],
            row["draws"],
            *(share(count, row["runs"]) for count in row["rejected"]),
            scenario(row),
            plain(page.verdict(row, TESTS[row["test"]])),
        ]
        for row in kinds["size"]
    ]
    few = []
    for name, n in dict.fromkeys((row["test"], row["n"]) for row in kinds["few"]):
        for label, part in (("grades and points", TIED), ("rare events", RARE)):
            rows = [row for row in kinds["few"] if (row["test"], row["n"]) == (name, n) and row["distribution"] in part]
            runs = sum(row["runs"] - row["undefined"] for row in rows)
            if runs:
                rejected = sum(row["rejected"][1] for row in rows)
                low, high = page.band(runs, 0.05)
                verdict = "above" if rejected > high * runs else "conservative" if rejected < low * runs else "nominal"
                few.append([name, label, n, runs, share(rejected, runs), verdict])
    power = [
        [
            page.shown(row["test"]),
            row["scenario"],
            row["n"],
            row["runs"],
            share(row["rejected"][1], row["runs"]),
            scenario(row),
        ]
        for row in kinds["power"]
    ]
    coverage = [
        [
            plain(line[0]),
            line[1],
            page.shown(row["distribution"]),
            line[2],
            row["n"],
            line[4],
            line[5],
            line[6],
            scenario(row),
            plain(line[3]),
        ]
        for row in [*kinds["coverage"], *kinds["hard"]]
        for line in page.coverage_lines([row])
    ]
    stored = json.loads(simulations_intervals.STORED.read_text("utf-8"))
    thin = [
        [
            row["study"],
            ", ".join(f"{key} {value}" for key, value in row["setting"].items()),
            row["statement"],
            *(row[key] for key in ("runs", "share", "error")),
            " to ".join(map(str, row["band"])),
            "nominal" if row["inside"] else "outside",
        ]
        for row in json.loads(thin_data.RESULTS.read_text("utf-8"))
    ]
    seen = "Share of simulated calibrated data sets that are rejected."
    first = kinds["size"][0]
    tested = [
        [page.shown(name), plain(page.method_of(name)), PLAN["validity"][test.validity], test.documented]
        for name, test in TESTS.items()
    ]
    scores = {
        "uniform": "Beta(1, 1); with more classes a Dirichlet distribution with all parameters 1",
        "sharp": "Beta(0.5, 0.5); with more classes all parameters 0.5",
        "skewed": "Beta(5, 1); with more classes 5 for the first class and 1 for the others",
        **PLAN["settings"],
        **FEW,
        **{f"{name} (coverage)": text for name, text in HARD_SCORES.items()},
    }
    return {
        "about": "Simulated once with fixed seeds by `make simulate`, not on this installation. The counts are in experiments/simulations.json of the "
        "repository, docs/simulations.md describes the settings in full, and `make deep` compares these tables with the counts.",
        "how": [
            f"Run i of a scenario draws its rows with numpy.random.default_rng([{SEED}, zlib.crc32(scenario.encode()), i, 0]) and its resamples with "
            f"[..., i, 1], for i = 0 to runs - 1, where scenario is the text in the column of that name, for example {scenario(first)!r}: neither the "
            "number of processes nor the order of the work has an effect.",
            "Labels are drawn from the true probability, which is the score where it is calibrated, so that every rejection is a type I error there.",
            f"All runs took {content['minutes']:.0f} minutes on two processes with {ran_with}; experiments/simulations.py is the code.",
        ],
        "size": {
            "about": f"{seen} The call of each test is in the table of tests.",
            "columns": ["test", "classes", "scores", "rows", "runs", "resamples", *rates, "scenario", "verdict"],
            "rows": size,
        },
        "few": {
            "about": f"{seen} Default test of each metric, over all settings with few distinct scores or few events; scenarios are 'few calibrated 2 SCORES ROWS'.",
            "columns": ["metric", "scores", "rows", "runs", "rejected at 0.05", "verdict"],
            "rows": few,
        },
        "power": {
            "about": "Share of simulated data sets with p <= 0.05, for uniform scores s of two classes. The true probability is s^1.3, sigmoid(logit(s) / 1.25), or s plus a "
            "Gaussian bump of height 0.1 and width 0.1 around 0.7.",
            "columns": ["test", "true probability", "rows", "runs", "rejected at 0.05", "scenario"],
            "rows": power,
        },
        "coverage": {
            "about": "Share of 95% intervals that contain the population value.",
            "columns": [
                "metric",
                "method",
                "scores",
                "truth",
                "rows",
                "true value",
                "runs",
                "coverage",
                "scenario",
                "verdict",
            ],
            "rows": coverage,
        },
        "errors": {
            "about": "Share of 95% intervals of calibration errors that contain the error of the population, and that at the scores of the sample "
            "(docs/simulations-intervals.md).",
            "columns": list(simulations_intervals.COLUMNS),
            "rows": simulations_intervals.coverage_lines(stored),
        },
        "thin": {
            "about": "How often intervals contain the true value, and guarantees hold, with few rows or events (docs/thin-data.md).",
            "columns": ["study", "setting", "statement", "runs", "share", "Monte Carlo error", "band", "verdict"],
            "rows": thin,
        },
        "tests": {
            "about": "What was called, as assess(..., metric=, method=), and the validity of its null distribution.",
            "columns": ["test", "call", "null distribution", "documented limitation"],
            "rows": tested,
        },
        "scores": {
            "about": "Distributions of the scores.",
            "columns": ["scores", "distribution"],
            "rows": [*map(list, scores.items())],
        },
        "verdicts": {
            "about": "The 99.9% band is that of the binomial distribution with the number of runs.",
            "columns": ["verdict", "meaning"],
            "rows": [
                *([plain(name), plain(text)] for name, text in PLAN["verdicts"].items()),
                ["conservative", "rejects less often, or covers more often, than the band"],
                ["undercovers", "covers less often than the band around 0.95"],
            ],
        },
    }


def conventions() -> dict[str, Any]:
    """What differs from other packages: the comparisons of docs/migration.md, and the table of docs/conventions.md on R."""
    from experiments.migration import table

    stored = table.load()
    differ = []
    for line in table.lines(stored):
        closest = not table.agrees(line.found)
        if not closest and table.agrees(line.found_first):
            continue
        call, found = (line.closest, line.found) if closest else (line.first, line.found_first)
        shown = [one for one in found if "their_error" not in one and one.get("difference") != "nan"]
        remedy = "" if closest else line.closest.ours
        version = stored["versions"].get(line.peer, "")
        differ.append(
            [
                f"{line.peer} {version}".strip(),
                line.theirs,
                call.ours,
                table.cell(shown),
                call.note.replace("`", "").replace("*", ""),
                remedy,
            ]
        )
    text = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
    lines = text.partition("## R and calibrant: what differs by convention")[2].partition("\n## ")[0].splitlines()
    of_r = [
        [cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")
    ][2:]
    index = table.index(stored).splitlines()[2:]
    return {
        "about": "Both sides were run on the same data sets by experiments/migration; docs/migration.md lists every call, also those that agree.",
        "packages": {
            "columns": ["package", "calls compared", "the same to 1e-6"],
            "rows": [[cell.strip() for cell in line.split("|")[1:4]] for line in index],
        },
        "differences": {
            "columns": ["package", "its call", "call of calibrant", "largest difference", "reason", "what removes it"],
            "rows": differ,
        },
        "r": {
            "columns": [
                "what differs: R, or calibrant",
                "data",
                "R",
                "its value",
                "calibrant",
                "its value",
                "R's number in calibrant",
            ],
            "rows": of_r,
        },
    }


def benchmarks() -> dict[str, Any]:
    """Time and memory beside a plain read of the same arrays, of benchmarks/results.json."""
    content = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    machine = content["machine"]
    rows = []
    for case in content["cases"]:
        for one in case["contenders"]:
            if one["name"] == "calibrant" and "median_ms" in one and case["environment"] == "main":
                peak = one.get("peak_mb")
                rows.append(
                    [
                        case["title"], case["rows"], case["classes"], case["dtype"], float(f"{case['read_ms']:.3g}"), float(f"{one['median_ms']:.3g}"),
                        round(one["reads"], 1), "not measured" if peak is None else round(peak, 1),
                    ]
                )  # fmt: skip
    return {
        "about": f"Measured on {content['date']} with calibrant {content['versions']['calibrant']} on {machine['cores']} cores of {machine['cpu']} ({machine['architecture']}), "
        "not on this installation; docs/benchmarks.md has the other packages, `make bench` repeats it. A plain read "
        "is numpy.max of the probabilities.",
        "columns": [
            "case",
            "rows",
            "classes",
            "type",
            "plain read, ms",
            "calibrant, ms",
            "times a plain read",
            "MB beyond the input",
        ],
        "rows": rows,
    }


class Check(NamedTuple):
    """A group recomputed from its sources: how many values, those that differ, and what could not be recomputed with the reason."""

    values: int
    differ: list[str]
    absent: list[str]


def check(group: str) -> Check:
    """Recompute the stored values of a group from their sources, where these are installed."""
    if group in FROM_OUTSIDE:
        return FROM_OUTSIDE[group]()
    known = json.loads((FOLDER / f"{group}.json").read_text(encoding="utf-8"))
    found = json.loads(json.dumps(SOURCES[group]()))
    differ = [f"{group}: {name}" for name in known if found.get(name) != known[name]]
    tables = [known] if "columns" in known else [table for table in known.values() if isinstance(table, dict)]
    count = (
        sum(len(table.get("rows", ())) for table in tables)
        if "data" not in known
        else sum(len(rows) for _, rows in known["rows"])
    )
    return Check(count, differ, [])


def check_peers() -> Check:
    """Run the other packages of Python again."""
    from calibrant.validation.references import Compared, load

    values, versions, absent = source_values()
    key = ("call", "data", "source_call")
    now = {
        (row["source"].rpartition(" ")[0], *(row[name] for name in key)): row["value"]
        for row, _, _ in peer_rows(values, versions)
    }
    count, differ = 0, []
    for row in load("peers"):
        package = row.source.rpartition(" ")[0]
        if package not in versions:
            continue
        count += 1
        value = now.get((package, *(getattr(row, name) for name in key)))
        if not Compared(row, value).passed:
            differ.append(f"{row.id}: stored {row.value} of {row.source}; {package} {versions[package]} gives {value}")
    return Check(count, differ, [f"{id}: {reason}" for id, reason in absent.items()])


NOT_INSTALLED = ("no package called", "no library trees", "sources/")


def check_r() -> Check:
    """Run the scripts of tests/r again, and compare what they print with what is stored in tests/r and from there in the package."""
    known = json.loads((FOLDER / "r.json").read_text(encoding="utf-8"))
    differ = [] if json.loads(json.dumps(r())) == known else ["r: the values of tests/r are not those stored"]
    if not (command := shutil.which("Rscript")):
        return Check(0, differ, ["R is not installed"])
    count, absent = 0, []
    for script in [name for name in known["setup"] if name != "tests/r/common.R"]:
        path = ROOT / script
        done = subprocess.run([command, path.name], cwd=path.parent, capture_output=True, text=True, check=False)
        if done.returncode:
            found = [line.strip() for line in done.stderr.splitlines() if any(part in line for part in NOT_INSTALLED)]
            (absent if found else differ).append(f"{script}: {found[0] if found else done.stderr.strip()}")
            continue
        stored = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        for now, entry in zip(json.loads(done.stdout), stored, strict=True):
            count += 1
            same = [now[key] == entry[key] for key in ("data", "call")]
            close = isinstance(entry["value"], dict) or np.allclose(now["value"], entry["value"], rtol=1e-7, atol=1e-10)
            if not (all(same) and close):
                differ.append(
                    f"{script}, {entry['call']} on {entry['data']}: stored {entry['value']}; R gives {now['value']}"
                )
    return Check(count, differ, absent)


FROM_OUTSIDE = {"peers": check_peers, "r": check_r}


def published() -> dict[str, Any]:
    """Values that a package of Julia publishes as exact; it is not run here."""
    data, rows = {}, []
    for labels, unbiased, biased in (
        ([1, 0], -2 * math.exp(-1), 1 - math.exp(-1)),
        ([0, 0], 0.0, 0.5),
        ([0, 1], 0.0, 0.0),
    ):
        label = f"two sure forecasts, labels {labels}"
        data[label] = {"y": labels, "p": [[1.0, 0.0], [0.0, 1.0]]}
        for name, value in (("skce_uq", unbiased), ("skce_b", biased)):
            rows.append(
                {
                    "topic": name,
                    "call": f"cal.{name}(y, p, kernel='gaussian', bandwidth=1)",
                    "data": label,
                    "value": value,
                }
            )
    common = {
        "kind": "metric",
        "source": "CalibrationErrors.jl (Julia), exact values of its test suite",
        "source_call": "as printed there, with exp(-1); Julia was not run",
        "tolerance": 1e-12,
        "reason": "rounding",
    }
    return {"rows": [(common, rows)], "data": data}


def write(name: str, content: dict[str, Any]) -> None:
    """Write a group, one value on a line, so that a change shows which."""
    path = FOLDER / f"{name}.json"
    lines = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    for mark in ('},|{"', '},|"', "]],|[{", *(("],|[",) if "about" in content else ())):
        lines = lines.replace(mark.replace("|", ""), mark.replace("|", "\n"))
    path.write_text(lines + "\n", encoding="utf-8")
    print(path.relative_to(ROOT), path.stat().st_size, "bytes")


SOURCES = {"definitions": definitions, "r": r, "peers": peers, "published": published, "stored": stored}
SOURCES |= {"simulations": simulations, "conventions": conventions, "benchmarks": benchmarks}
# Stored values of an earlier version have no other source: `calibrant validate` itself compares them.
CHECKED = ("definitions", "r", "peers", "published", "simulations", "conventions", "benchmarks")

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    FOLDER.mkdir(parents=True, exist_ok=True)
    if sys.argv[1:2] == ["--check"]:
        found = {group: check(group) for group in sys.argv[2:] or CHECKED}
        for group, result in found.items():
            said = [*result.differ, *(f"not recomputed: {one}" for one in result.absent)]
            print("\n  ".join([f"{group}: {result.values} values recomputed, {len(result.differ)} differ", *said]))
        sys.exit(any(result.differ for result in found.values()))
    for group in sys.argv[1:] or SOURCES:
        write(group, SOURCES[group]())
