"""Write the reference values of `calibrant validate` from their sources.

`python tools/make_references.py` rewrites src/calibrant/validation/references: definitions in exact arithmetic from
tests/oracles, values of R from tests/r, stored values of what has no other source, and the simulations of experiments with
their verdicts. Names of groups rewrite only these: `python tools/make_references.py simulations`.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

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
            arrays, words = arguments(case)
            label = f"{name} {number}"
            data[label] = arrays
            rows.append({"topic": name, "call": f"cal.{name}({', '.join(words)})", "data": label, "value": value})
            if len(rows) == CASES:
                break
        # The tolerance of the tests is for random problems; a change of one part in a million must be seen.
        tolerance = min(max(oracles.TOLERANCES.get(name, oracles.TOLERANCE), 1e-12), 1e-8)
        common = {
            "kind": "metric",
            "source": "definition in exact arithmetic",
            "source_call": f"tests/oracles, {name}",
            "tolerance": tolerance,
            "reason": "rounding" if tolerance <= 1e-12 else "a root, an integral or a division by a small number",
        }
        topics.append((common, rows))
    for name, rows in cumulative(data).items():
        common = {
            "kind": "metric",
            "source": "definition in exact arithmetic",
            "tolerance": 1e-11,
            "reason": "rounding",
        }
        topics.append((common | {"topic": name, "source_call": f"tests/oracles, {name}"}, rows))
    return {"rows": topics, "data": data}


def cumulative(data: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The metrics of cumulative differences, whose definitions are in tests/oracles/test_cumulative.py."""
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
        columns = {"y": y, "p": p, "g": groups, **words}
        data[label] = {column: values.tolist() for column, values in columns.items()}
        values = {
            f"cal.ecce_mad(y, p{more})": max(map(abs, points)),
            f"cal.ecce_r(y, p{more})": spread[0],
            f"cal.ecce_mean_abs(y, p{more})": oracles.mean_along(rows, 1, "counts" in words),
            f"cal.ecce_l2(y, p{more})": oracles.mean_along(rows, 2, "counts" in words),
            f"cal.bbt(y, p, form='mean'{more})": mean,
            f"cal.bbt(y, p, form='bridge'{more})": bridge,
            f"cal.mcm(y, p, groups=g, scale='sigma'{more})": ratio,
            f"cal.mcm(y, p, groups=g{more})": ratio * oracles.scale(rows, weighted),
        }
        for call, value in values.items():
            row = {"call": call, "data": label, "value": float(value)}
            found.setdefault(call[4 : call.index("(")], []).append(row)
    y, p = oracles.D
    data["ranks"] = {"y": y, "p": p}
    for name, _, words, value in oracles.CHECKED:
        if name.startswith("ks_") and value:
            row = {"call": f"cal.{name}(y, p, r={words['r']})", "data": "ranks", "value": value}
            found.setdefault(name, []).append(row)
    return found


def arguments(case: Any) -> tuple[dict[str, Any], list[str]]:
    """The arrays of a problem and the words of the call."""
    arrays: dict[str, Any] = {"y": case.labels, "p": case.probs.astype(float).tolist()}
    words = ["y", "p" if case.probs.dtype == np.float64 else "np.float32(p)"]
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
    for word, value in {**options, **{k: v for k, v in case.weights().items() if v is not None}}.items():
        plain = np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        if isinstance(plain, (list, tuple)) and len(plain) == len(case.labels) and word not in ("bins", "partitions"):
            arrays[word] = list(plain)
            words.append(f"{word}={word}")
        else:
            words.append(f"{word}={plain!r}")
    return arrays, words


# Topic and call of R in tests/r: kind, metric or other topic, and the call here.
LINE = "cal.assess(y, risk, metric='cox_slope', method='{}')"
R = {
    ("recalibration", "coef(shift(y, risk))"): (
        "metric",
        "fixed_slope_intercept",
        "cal.fixed_slope_intercept(y, risk)",
    ),
    ("recalibration", "coef(line(y, risk))"): (
        "metric",
        "cox_slope",
        "[cal.cox_intercept(y, risk), cal.cox_slope(y, risk)]",
    ),
    ("recalibration", "own(y, risk) / 2 / length(y)"): ("metric", "nll", "cal.nll(y, risk)"),
    ("recalibration", "own(y, risk) - deviance(bent(y, risk, y ~ log(p) + log1p(-p)))"): (
        "metric",
        "sbct",
        "cal.sbct(y, risk)",
    ),
    ("recalibration", "own(y, risk) - deviance(line(y, risk))"): (
        "test",
        "cox_slope",
        LINE.format("lr") + ".detail['chi_square']",
    ),
    ("recalibration", "pchisq(own(y, risk) - deviance(line(y, risk)), 2, lower.tail = FALSE)"): (
        "test",
        "cox_slope",
        LINE.format("lr") + ".pvalue",
    ),
    ("recalibration", "coef(bent(y, risk, y ~ log(p) + I(-log1p(-p))))"): (
        "calibrator",
        "beta",
        "[*cal.BetaCalibration().fit(risk, y).intercept_, *np.ravel(cal.BetaCalibration().fit(risk, y).coef_)]",
    ),
    ("val_prob", "auc(y, risk, quiet = TRUE)"): ("metric", "auroc", "cal.auroc(y, risk)"),
    ("val_prob", "val.prob(risk, y, pl = FALSE)[['Brier']]"): ("metric", "brier", "cal.brier(y, risk)"),
    ("val_prob", "val.prob(risk, y, pl = FALSE)[['S:z']]"): (
        "test",
        "spiegelhalter_z",
        "cal.assess(y, risk, metric='spiegelhalter_z', method='normal').statistic",
    ),
    ("val_prob", "val.prob(risk, y, pl = FALSE)[['S:p']]"): (
        "test",
        "spiegelhalter_z",
        "cal.assess(y, risk, metric='spiegelhalter_z', method='normal').pvalue",
    ),
    ("hosmer_lemeshow", "grouped(y, risk, Hmisc::cut2(risk, g = 10))"): (
        "metric",
        "hosmer_lemeshow",
        "cal.hosmer_lemeshow(y, risk)",
    ),
    ("hosmer_lemeshow", "statistic_of(hoslem.test(y, risk, g = 10))"): (
        "test",
        "hosmer_lemeshow",
        "[(t := cal.assess(y, risk, metric='hosmer_lemeshow', bins=np.unique(np.quantile(risk, np.arange(11) / 10)), "
        "method='chi_square_fitted_here')).statistic, t.detail['df'], t.pvalue]",
    ),
    ("intervals", "slope_ends(y, risk)"): (
        "interval",
        "cox_slope",
        "[(i := cal.interval(y, risk, metric='cox_slope', method='profile')).low, i.high]",
    ),
    ("intervals", "wald_shift(y, risk)"): (
        "interval",
        "fixed_slope_intercept",
        "[(i := cal.interval(y, risk, metric='fixed_slope_intercept', method='wald')).low, i.high]",
    ),
    ("proportions", "mean(abs(isotonic(y, risk) - sort(risk)))"): (
        "metric",
        "fott_isotonic",
        "cal.fott_isotonic(y, risk)",
    ),
}
R_SETS = ("birthwt", "infert", "pima", "ties")


def r() -> dict[str, Any]:
    """Values of packages of R on four of the data sets of tests/r."""
    from tests.r import common

    data = {name: {"y": common.data(name).y.tolist(), "risk": common.data(name).risk.tolist()} for name in R_SETS}
    topics = []
    for (topic, call), (kind, name, here) in R.items():
        entries = [entry for entry in common.values(topic) if entry["call"] == call and entry["data"] in R_SETS]
        assert entries, call
        common_part = {
            "topic": name,
            "kind": kind,
            "call": here,
            "source": f"{entries[0]['package']} {entries[0]['version']}, R 4.2.2",
            "source_call": call,
            "tolerance": 1e-7,
            "reason": "R iterates to its own tolerance, and prints 15 digits",
        }
        topics.append((common_part, [{"data": entry["data"], "value": entry["value"]} for entry in entries]))
    return {"rows": topics, "data": data}


STORED_SETS = {"two classes": (2, 90), "four classes": (4, 120)}
TEST = "cal.assess(y, p, metric={0!r}, n_resamples=99, rng=0{1}).pvalue"
INTERVAL = "[(i := cal.interval(y, p, metric={0!r}, n_resamples=200, rng=0{1})).low, i.high]"
VALUE = "cal.{0}(y, p{1})"
FIT = "cal.{0}({1}).fit(p, y{2}).predict_proba(p[:8]{3})"
WORDS = dict.fromkeys(("pce", "fece", "mcm"), ", groups=g") | dict.fromkeys(
    ("vece", "piece", "mvce", "klce", "lce", "mlce"), ", features=x"
)
DECISIONS = (
    "cal.aurc(y, p)",
    "cal.e_aurc(y, p)",
    "cal.augrc(y, p)",
    "cal.e_augrc(y, p)",
    "cal.topk_accuracy(y, p, k=1)",
    "cal.topk_confidence(y, p, k=1)",
    "cal.selective_risk(y, p, threshold=0.6)",
    "cal.selective_accuracy(y, p, threshold=0.6)",
    "cal.net_benefit(y, p, thresholds=[0.2, 0.4]).net_benefit",
    "[(c := cal.choose_threshold(y, p, coverage=0.5)).threshold, c.coverage, c.risk]",
    "[(c := cal.expected_cost(y, p, cost=1 - np.eye(np.max(y) + 1))).claimed, c.realised]",
)
# What a calibrator needs to be made, to be fitted and to be applied.
NEEDS = {
    "PlattScalingWithFeatures": ("", ", features=x", ", features=x[:8]"),
    "GroupCalibration": ("cal.PlattScaling()", ", groups=g", ", groups=g[:8]"),
    "MultiCalibration": ("", ", groups=g", ", groups=g[:8]"),
    "LensCalibration": ("cal.PlattScaling(), 'class:1'", "", ""),
    "PriorShift": ("before=np.full(np.max(y) + 1, 1 / (np.max(y) + 1))", "", ""),
}


def stored() -> dict[str, Any]:
    """Values that only this package gives: they show that another machine or version computes the same."""
    import calibrant as cal
    from calibrant.recalibration.methods import calibrator_types
    from calibrant.validation.references import evaluate

    data = {}
    for name, (classes, rows) in STORED_SETS.items():
        rng = np.random.default_rng(classes)
        p = np.round(rng.dirichlet(np.full(classes, 0.8), rows), 3)
        p[:, -1] = np.round(1 - p[:, :-1].sum(axis=1), 3)
        y = [int(rng.choice(classes, p=row**0.7 / np.sum(row**0.7))) for row in p]
        data[name] = {"y": y, "p": (p if classes > 2 else p[:, 1]).tolist()}
        data[name] |= {"g": rng.integers(0, 3, rows).tolist(), "x": np.round(rng.normal(size=(rows, 2)), 3).tolist()}
    calls = [
        *(("metric", name, VALUE.format(name, WORDS.get(name, "")), 1e-9) for name in cal.catalogue),
        *(("test", name, TEST.format(name, WORDS.get(name, "")), 1e-9) for name in cal.catalogue),
        *(("interval", name, INTERVAL.format(name, WORDS.get(name, "")), 1e-7) for name in cal.catalogue),
        *(
            ("calibrator", name, FIT.format(name, *NEEDS.get(name, ("", "", ""))), 1e-7)
            for name in calibrator_types()
            if name != "Identity"
        ),
    ]
    calls += [("decision", call.partition("cal.")[2].partition("(")[0], call, 1e-9) for call in DECISIONS]
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
    """Size, power and coverage of experiments/simulations.json with their verdicts, and the index of docs/migration.md."""
    from experiments import simulations_page as page
    from experiments.simulations_plan import ALPHAS, RARE, TESTS, TIED

    results = json.loads((ROOT / "experiments" / "simulations.json").read_text(encoding="utf-8"))["rows"]
    kinds: dict[str, list[Any]] = {}
    for row in results:
        kinds.setdefault(row["kind"], []).append(row)

    def share(count: int, runs: int) -> float:
        return round(count / runs, 4)

    def plain(verdict: str) -> str:
        return verdict.strip("*")

    rates = [f"rejected at {alpha:g}" for alpha in ALPHAS]
    size = [
        [
            page.shown(row["test"]),
            page.method_of(row["test"]).replace("`", ""),
            row["classes"],
            page.shown(row["distribution"]),
            row["n"],
            row["runs"],
            row["draws"],
            *(share(count, row["runs"]) for count in row["rejected"]),
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
        [page.shown(row["test"]), row["scenario"], row["n"], row["runs"], share(row["rejected"][1], row["runs"])]
        for row in kinds["power"]
    ]
    coverage = [
        [
            line[0].strip("`"),
            line[1],
            page.shown(row["distribution"]),
            line[2],
            row["n"],
            line[4],
            line[5],
            line[6],
            plain(line[3]),
        ]
        for row in [*kinds["coverage"], *kinds["hard"]]
        for line in page.coverage_lines([row], "scenario")
    ]
    seen = "Share of simulated calibrated data sets that are rejected; nominal: within the band of 99.9% of a test that holds its level."
    index = (
        (ROOT / "docs" / "migration.md")
        .read_text(encoding="utf-8")
        .partition("<!-- index -->")[2]
        .partition("<!-- end -->")[0]
    )
    packages = [[cell.strip() for cell in line.split("|")[1:4]] for line in index.strip().split("\n")[2:]]
    return {
        "about": "Simulated once with fixed seeds by `make simulate`, not on this installation; docs/simulations.md has the settings in full.",
        "size": {
            "about": seen,
            "columns": ["test", "call", "classes", "scores", "rows", "runs", "resamples", *rates, "verdict"],
            "rows": size,
        },
        "few": {
            "about": f"{seen} Default test of each metric, over all settings with few distinct scores or few events.",
            "columns": ["metric", "scores", "rows", "runs", "rejected at 0.05", "verdict"],
            "rows": few,
        },
        "power": {
            "about": "Share of simulated data sets with p <= 0.05, for uniform scores of two classes.",
            "columns": ["test", "true probability", "rows", "runs", "rejected at 0.05"],
            "rows": power,
        },
        "coverage": {
            "about": "Share of 95% intervals that contain the population value.",
            "columns": ["metric", "method", "scores", "truth", "rows", "true value", "runs", "coverage", "verdict"],
            "rows": coverage,
        },
        "packages": {"columns": ["package", "calls compared", "the same to 1e-6"], "rows": packages},
    }


def write(name: str, content: dict[str, Any]) -> None:
    """Write a group, one value on a line, so that a change shows which."""
    path = FOLDER / f"{name}.json"
    lines = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    for mark in ('},|{"', '},|"', "]],|[{", *(("],|[",) if "about" in content else ())):
        lines = lines.replace(mark.replace("|", ""), mark.replace("|", "\n"))
    path.write_text(lines + "\n", encoding="utf-8")
    print(path.relative_to(ROOT), path.stat().st_size, "bytes")


SOURCES = {"definitions": definitions, "r": r, "stored": stored, "simulations": simulations}

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for group in sys.argv[1:] or SOURCES:
        write(group, SOURCES[group]())
