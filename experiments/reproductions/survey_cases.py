"""The five use cases of the survey's section 7.2: does the recommended metric do what the case needs?"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import calibrant as cal
from experiments.published import read_set
from experiments.reproductions.study import Part, Row, Table
from experiments.reproductions.survey_data import FACTS, Rows, answers, halves, read, table_rows

SEED = 41
DIRECTED: list[str] = FACTS["directed"]


def parts(small: bool, data: Path | None, pictures: Path) -> list[Part]:
    """One part for each use case; all need real predictions."""
    if data is None:
        return []
    return [
        classwise_part(small, data),
        multiclass_part(small, data),
        direction_part(data),
        local_part(small, data),
        analysis_part(data, pictures),
    ]


def tempered(p: Any, k: float) -> Any:
    """Probabilities at a temperature; above 1 they are less sure."""
    log = np.log(np.maximum(p, 1e-12)) / k
    powered = np.exp(log - log.max(axis=1, keepdims=True))
    return powered / powered.sum(axis=1, keepdims=True)


def fitted_temperature(fit: Rows, test: Rows) -> Rows:
    """The test rows after temperature scaling on the others."""
    return Rows(test.y, cal.TemperatureScaling().fit(fit.p, fit.y).predict_proba(test.p))


def classwise_part(small: bool, data: Path) -> Part:
    """Use case 1: drmsce_bcs with brier beside it."""
    fit, test = halves(read(data, "c10_lenet5_netcal"), SEED, 2_000 if small else 10_000)
    after = fitted_temperature(fit, test)
    share = np.bincount(test.y, minlength=test.p.shape[1]) / len(test.y)
    constant = Rows(test.y, np.tile(share, (len(test.y), 1)))
    forecasts = {"as trained": test, "with temperature": after, "class shares for every row": constant}
    asked: dict[str, Any] = {
        "drmsce_bcs, top label": lambda of: cal.drmsce_bcs(of.y, of.p),
        "drmsce_bcs, every class": lambda of: cal.drmsce_bcs(of.y, of.p, lens="classwise"),
        "ece": lambda of: cal.ece(of.y, of.p),
        "brier": lambda of: cal.brier(of.y, of.p),
    }
    lines = [[name, *(float(ask(of)) for ask in asked.values())] for name, of in forecasts.items()]
    gain = lines[0][2] - lines[1][2]
    cost = lines[2][4] - lines[0][4]
    rows = [*table_rows("classwise", [gain, lines[2][2], cost]), *stability_rows(after, small)]
    return Part("classwise", rows, [Table(["forecast", *asked], lines)])


def stability_rows(after: Rows, small: bool) -> list[Row]:
    """Mean of 300 rows less the value of all, for both errors."""
    rng = np.random.default_rng(SEED)
    draws = [after.take(rng.permutation(len(after.y))[:300]) for _ in range(10 if small else 200)]
    found = []
    for name in ("drmsce_bcs", "ece"):
        metric = cal.catalogue[name]
        values = [float(metric(of.y, of.p)) for of in draws]
        whole = float(metric(after.y, after.p))
        what = f"{name} with temperature: mean of 300 rows less the value of all {len(after.y)}"
        found.append(Row(what, None, float(np.mean(values)) - whole, float(np.std(values)), f"all rows {whole:.4f}"))
    return found


def others_reversed(rows: Rows) -> Rows:
    """The same top class and confidence; all other classes change places, smallest for largest."""
    order = np.argsort(-rows.p, axis=1, kind="stable")
    sorted_p = np.take_along_axis(rows.p, order, axis=1)
    moved = np.concatenate([sorted_p[:, :1], sorted_p[:, :0:-1]], axis=1)
    p = np.empty_like(rows.p)
    np.put_along_axis(p, order, moved, axis=1)
    return Rows(rows.y, p)


def multiclass_part(small: bool, data: Path) -> Part:
    """Use case 2: skce_uq sees errors beyond the top class."""
    fit, test = halves(read(data, "agnews_bert_n1000_bihani"), SEED, 800 if small else 6_000)
    right = Rows(test.y, cal.VectorScaling().fit(fit.p, fit.y).predict_proba(test.p))
    wrong = others_reversed(right)
    lines = []
    for name, of in (("as trained", test), ("with vector scaling", right), ("then other classes reversed", wrong)):
        found = cal.assess(of.y, of.p, metric="skce_uq", bandwidth=0.5, n_resamples=49 if small else 199, rng=SEED)
        value = float(cal.skce_uq(of.y, of.p, bandwidth=0.5))
        lines.append([name, float(cal.ece(of.y, of.p)), value, float(found.pvalue), float(cal.brier(of.y, of.p))])
    rows = table_rows("multiclass", [lines[2][1] - lines[1][1], lines[2][2] / abs(lines[1][2]), lines[2][3]])
    return Part("multiclass", rows, [Table(["forecast", "ece", "skce_uq", "p-value", "brier"], lines)])


def binned_excess(rows: Rows, bins: int) -> float:
    """ESCE as a sum over the bins of a diagram: share times (mean confidence less accuracy)."""
    table = cal.reliability_diagram(rows.y, rows.p, bins=bins)["model"].table
    full = table.weight > 0
    return float(np.sum(table.share[full] * (table.mean_score - table.rate)[full]))


def direction_part(data: Path) -> Part:
    """Use case 3: esce, abc_above, abc_below."""
    lenet = read(data, "c10_lenet5_netcal")
    best = float(cal.TemperatureScaling().fit(lenet.p, lenet.y).temperature_)
    lines = []
    for k in (0.5, 0.75, 1.0, best, 2.0, 3.0):
        p = tempered(lenet.p, k)
        lines.append([k, *(float(metric(lenet.y, p)) for metric in (cal.esce, cal.abc_below, cal.abc_above, cal.ece))])
    esce = [line[1] for line in lines]
    by_bins = [binned_excess(lenet, bins) for bins in range(20, 201, 10)]
    agreed, signs = sign_table(data)
    values = [
        agreed,
        float(np.mean(np.diff(esce) < 0)),
        abs(esce[3]),
        lines[2][2] - lines[2][3] - lines[2][1],
        max(by_bins) - min(by_bins),
        float(np.mean(by_bins)) - esce[2],
    ]
    rows = table_rows("direction", values, sets=len(signs.lines), best=best)
    table = Table(
        ["temperature of LeNet-5", "esce", "abc_below (overconfident)", "abc_above (underconfident)", "ece"], lines
    )
    return Part("direction", rows, [signs, table])


def sign_table(data: Path) -> tuple[int, Table]:
    """The temperature that fits best and esce, for sets of several classes; and in how many both say the same."""
    lines: list[list[Any]] = []
    for name in DIRECTED:
        rows = read(data, name)
        best = float(cal.TemperatureScaling().fit(rows.p, rows.y).temperature_)
        lines.append([name, best, float(cal.esce(rows.y, rows.p))])
    agreed = sum((line[1] > 1) == (line[2] > 0) for line in lines)
    return agreed, Table(["set", "best temperature (above 1: overconfident)", "esce (above 0: overconfident)"], lines)


def shuffled(rows: Rows, groups: Any, bins: int, times: int) -> tuple[float, float, float]:
    """pce, its mean when groups are dealt out at random, and the share of those that are as large."""
    value = float(cal.pce(cal.Predictions(rows.y, rows.p, groups=groups), bins=bins))
    rng = np.random.default_rng(SEED)
    by_chance = [
        float(cal.pce(cal.Predictions(rows.y, rows.p, groups=rng.permutation(groups)), bins=bins)) for _ in range(times)
    ]
    return value, float(np.mean(by_chance)), (1 + sum(v >= value for v in by_chance)) / (1 + times)


def local_part(small: bool, data: Path) -> Part:
    """Use case 4: pce by subject and by race."""
    times = 19 if small else 199
    stored = read_set(data, "mmlu_llama31_8b_instruct")
    rows = read(data, "mmlu_llama31_8b_instruct")
    order = np.random.default_rng(SEED).permutation(len(rows.y))
    fit, at = rows.take(order[: len(order) // 2]), order[len(order) // 2 :]
    test = rows.take(at)
    after = Rows(test.y, cal.VectorScaling().fit(fit.p, fit.y).predict_proba(test.p))
    subjects = stored["subjects"][stored["subject"][at]]
    cooled = Rows(test.y, cal.TemperatureScaling().fit(fit.p, fit.y).predict_proba(test.p))
    lines = [_local_line("Llama 3.1 8B on MMLU after vector scaling, 57 subjects", after, subjects, 3, times)]
    lines.append(_local_line("the same after a temperature", cooled, subjects, 3, times))
    lines.append(_local_line("the same before recalibration", test, subjects, 3, times))
    lines.append(_local_line("COMPAS after isotonic, groups of race", *_compas(data), 5, times))
    single = cal.evaluate(cal.Predictions(after.y, after.p, groups=subjects), metrics=["esce"])
    gaps = sorted(((float(of["esce"]), name) for name, of in single.groups.items()), key=lambda pair: pair[0])
    worst = [Row(f"esce of {name}", None, gap) for gap, name in (gaps[-1], gaps[-2], gaps[0])]
    excess = [lines[0][2] - lines[0][3], lines[3][2] - lines[3][3]]
    rows_out = [*table_rows("local", excess, mmlu=lines[0][4], compas=lines[3][4]), *worst]
    heads = ["set and groups", "ece", "pce", "pce of random groups", "share as large", "p-value of mcm"]
    return Part("local", rows_out, [Table(heads, lines)])


def _compas(data: Path) -> tuple[Rows, Any]:
    """Half of COMPAS with a curve fitted on the other half, and the groups of race with at least 300 rows in all."""
    rows, race = answers(data, "compas_two_year"), read_set(data, "compas_two_year")["race_code"]
    order = np.random.default_rng(SEED).permutation(len(rows.y))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    second = second[np.isin(race[second], np.flatnonzero(np.bincount(race) >= 300))]
    fitted = cal.IsotonicCalibration().fit(rows.p[first], rows.y[first])
    return Rows(rows.y[second], fitted.predict_proba(rows.p[second])[:, 1]), race[second]


def _local_line(name: str, rows: Rows, groups: Any, bins: int, times: int) -> list[Any]:
    value, by_chance, pvalue = shuffled(rows, groups, bins, times)
    worst = cal.assess(cal.Predictions(rows.y, rows.p, groups=groups), metric="mcm", method="bonferroni")
    return [name, float(cal.ece(rows.y, rows.p, bins=bins)), value, by_chance, pvalue, float(worst.pvalue)]


def analysis_part(data: Path, pictures: Path) -> Part:
    """Use case 5: a reliability plot with intervals."""
    rows = read(data, "mmlu_llama31_70b_base")
    diagram = cal.reliability_diagram(rows.y, rows.p, metrics=("ece", "esce"))
    figure = Figure(figsize=(4.8, 5.0), layout="constrained")
    ax = figure.subplots()
    diagram.plot(ax)
    ax.set_title("Llama 3.1 70B on MMLU, top answer", fontsize=10)
    figure.savefig(pictures / "survey_analysis.png", dpi=100)
    bins = diagram["model"]
    timid = int((bins.low > bins.mean_score).sum())
    sure = int((bins.high < bins.mean_score).sum())
    filled = int((bins.table.weight > 0).sum())
    esce, ece = float(cal.esce(rows.y, rows.p)), float(cal.ece(rows.y, rows.p))
    found = table_rows("analysis", [esce, ece, abs(esce) / ece, timid, sure], filled=filled)
    caption = "Reliability of Llama 3.1 70B on MMLU with 95% intervals: errors of both signs."
    return Part("analysis", found, pictures=[("survey_analysis.png", caption)])
