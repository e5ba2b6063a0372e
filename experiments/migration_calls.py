"""What other packages are asked, and what calibrant is asked for the same: both as code that is run as it is printed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CALLS", "HELPERS", "MODULES", "SETUP", "Call"]

MODULES = {
    "scikit-learn": "sklearn",
    "netcal": "netcal",
    "torchmetrics": "torchmetrics",
    "uncertainty-calibration": "calibration",
    "probcal": "probcal",
    "relplot": "relplot",
    "MAPIE": "mapie",
    "MCGrad": "mcgrad",
    "pycaleva": "pycaleva",
    "calzone-tool": "calzone",
    "betacal": "betacal",
    "venn-abers": "venn_abers",
}
"""Packages by the name of their module."""

HELPERS = """\
import numpy as np
import calibrant as cal

LEFT = cal.EqualWidth(closed="left")


def edges(inner, closed="right"):
    # Bins between these edges, which NumPy or another package computed.
    inner = np.unique(np.asarray(inner, dtype=float))
    return cal.Edges([0, *inner[(inner > 0) & (inner < 1)], 1], closed=closed)


def linspace(bins, closed):
    return edges(np.linspace(0, 1, bins + 1), closed)


def quantiles(scores, bins, closed):
    # Edges at quantiles between rows.
    return edges(np.quantile(scores, np.linspace(0, 1, bins + 1)[1:-1]), closed)


def midway(scores, bins):
    # Edges midway between the parts of `array_split`.
    parts = np.array_split(np.sort(scores), bins)
    return edges([(low[-1] + high[0]) / 2 for low, high in zip(parts, parts[1:])])


def by_value(scores):
    # A bin for each distinct score.
    return midway(np.unique(scores), len(np.unique(scores)))


def curve(found):
    # Rates and mean scores of the bins that hold rows.
    full = ~found.table.empty
    return np.concatenate([found.rate[full], found.mean_score[full]])
"""
"""What the calls of calibrant use beside its own names; docs/migration.md shows it."""

SETUP = {
    "calibrant": HELPERS
    + """
try:
    from calibrant.sklearn import CalibratedModel
except ImportError:
    pass
""",
    "scikit-learn": """
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss
""",
    "netcal": """
from netcal.binning import BBQ, ENIR, HistogramBinning, IsotonicRegression
from netcal.metrics import ACE, ECE, MCE, MMCE
from netcal.scaling import BetaCalibration, LogisticCalibration, TemperatureScaling
""",
    "torchmetrics": """
import torch
from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

P, Y = torch.as_tensor(p), torch.as_tensor(y)


def torch_edges(bins, dtype):
    return torch.linspace(0, 1, bins + 1, dtype=dtype).tolist()
""",
    "uncertainty-calibration": """
import numpy as np
import calibration
from calibration import calibrators


def fitted(name, bins=10):
    made = getattr(calibrators, name)(len(p), bins)
    made.train_calibration(p, y)
    return np.asarray(made.calibrate(new))
""",
    "probcal": """
import numpy as np
import probcal
from probcal import metrics
""",
    "relplot": "import relplot\nimport relplot.metrics",
    "MAPIE": """
import numpy as np
from mapie.metrics import calibration as measures


def scale(p):
    return np.sqrt((p * (1 - p)).sum()) / len(p)
""",
    "MCGrad": "from mcgrad import metrics",
    "pycaleva": "from pycaleva import CalibrationEvaluator",
    "calzone-tool": """
import numpy as np
from calzone import metrics
from calzone.utils import reliability_diagram


def table(bins, equal_mass):
    rate, score, _, count = reliability_diagram(
        y, np.column_stack([1 - p, p]), bins, class_to_plot=1, is_equal_freq=equal_mass
    )
    return rate, score, count
""",
    "betacal": "from betacal import BetaCalibration",
    "venn-abers": """
import numpy as np
from venn_abers import VennAbers


def merged():
    made = VennAbers()
    made.fit(np.column_stack([1 - p, p]), y)
    return made.predict_proba(np.column_stack([1 - new, new]))[0][:, 1]
""",
}
"""What is imported before the calls of a package; `y`, `p` and `new` (further scores), or `X`, `m` and `new`, are there."""


@dataclass(frozen=True)
class Call:
    """One comparison: `kind` says which data sets it is made on."""

    peer: str
    theirs: str
    ours: str
    kind: str
    note: str = ""
    """Why they differ, and which option closes it."""


def of(peer: str, kind: str, *calls: tuple[str, ...]) -> list[Call]:
    """Several calls of a package on data of one kind."""
    return [Call(peer, theirs, ours, kind, *note) for theirs, ours, *note in calls]


QUANTILES = "its cuts are quantiles between rows, ours lie at rows: they agree only where the rows divide evenly"
LINSPACE = "its edges are those of `np.linspace`, a rounding off *k/M*"
CALLS: list[Call] = [
    *of(
        "scikit-learn",
        "binary",
        ("brier_score_loss(y, p)", "cal.brier(y, p)", "`scale_by_half=` is `scale=`"),
        ("log_loss(y, p)", "cal.nll(y, p)", "infinite here where the true class got probability 0"),
        (
            "log_loss(y, p)",
            "cal.nll(y, p, floor=np.finfo(p.dtype).eps)",
            "the floor is that of the type: 2.2e-16 in double, 1.2e-7 in single precision",
        ),
        (
            "np.concatenate(calibration_curve(y, p, n_bins=10))",
            "curve(cal.calibration_curve(y, p, bins=10))",
            "bins without rows are dropped there; 5 bins by default",
        ),
        (
            "np.concatenate(calibration_curve(y, p, n_bins=30))",
            "curve(cal.calibration_curve(y, p, bins=30))",
            f"{LINSPACE}: below it at 30 bins",
        ),
        (
            "np.concatenate(calibration_curve(y, p, n_bins=30))",
            'curve(cal.calibration_curve(y, p, binning=linspace(30, "right")))',
            "",
        ),
        (
            'np.concatenate(calibration_curve(y, p, n_bins=10, strategy="quantile"))',
            'curve(cal.calibration_curve(y, p, bins=10, binning="equal_mass"))',
            QUANTILES,
        ),
        (
            'np.concatenate(calibration_curve(y, p, n_bins=10, strategy="quantile"))',
            'curve(cal.calibration_curve(y, p, binning=quantiles(p, 10, "right")))',
            "",
        ),
        (
            'IsotonicRegression(out_of_bounds="clip").fit(p, y).predict(new)',
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
            "",
        ),
    ),
    *of(
        "scikit-learn",
        "classes",
        ("brier_score_loss(y, p)", "cal.brier(y, p)", ""),
        ("log_loss(y, p)", "cal.nll(y, p)", "infinite here where the true class got probability 0"),
        (
            "log_loss(y, p)",
            "cal.nll(y, p, floor=np.finfo(p.dtype).eps)",
            "",
        ),
    ),
    *of(
        "scikit-learn",
        "decisions",
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="sigmoid").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, method="platt", cv="prefit").fit(X, y).predict_proba(new)',
            "two classes: both fit a sigmoid of the log-odds; several: theirs of each class's decision value, ours of "
            "each class's log-odds against the rest",
        ),
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="isotonic").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, method="isotonic", cv="prefit").fit(X, y).predict_proba(new)',
            "two classes: theirs is linear between decision values, ours between probabilities; several: each class's "
            "decision value there, its probability here",
        ),
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="temperature").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, method="temperature", cv="prefit").fit(X, y).predict_proba(new)',
            "",
        ),
    ),
    *of(
        "scikit-learn",
        "probabilities",
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="sigmoid").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, method="platt", cv="prefit").fit(X, y).predict_proba(new)',
            "a sigmoid of the probability there, of its log-odds here",
        ),
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="isotonic").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, method="isotonic", cv="prefit").fit(X, y).predict_proba(new)',
            "",
        ),
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="temperature").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, method="temperature", cv="prefit").fit(X, y).predict_proba(new)',
            "",
        ),
        (
            'CalibratedClassifierCV(m, cv=5, ensemble=False, method="isotonic").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, cv=5, method="isotonic").fit(X, y).predict_proba(new)',
            "",
        ),
        (
            'CalibratedClassifierCV(m, cv=5, method="isotonic").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, cv=5, method="isotonic").fit(X, y).predict_proba(new)',
            "an average of five models there (`ensemble=True` is its default), one model here",
        ),
    ),
    *of(
        "scikit-learn",
        "two classes",
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="sigmoid").fit(X, y).predict_proba(new)',
            'cal.PlattScaling(input="logit").fit(m.predict_proba(X)[:, 1], y).predict_proba(m.predict_proba(new)[:, 1])',
            "the calibrator is given the probabilities of the second class as if they were log-odds",
        ),
    ),
    *of(
        "netcal",
        "binary",
        ("ECE(15).measure(p, y)", "cal.ece(y, p)", "a score on an edge belongs to the bin above there"),
        ("ECE(15).measure(p, y)", "cal.ece(y, p, binning=LEFT)", "at 15 bins its edges are *k/M* too"),
        ("ECE(10).measure(p, y)", "cal.ece(y, p, bins=10, binning=LEFT)", f"{LINSPACE}; 10 bins are its default"),
        ("ECE(10).measure(p, y)", 'cal.ece(y, p, binning=linspace(10, "left"))', ""),
        ("ECE(15, equal_intervals=False).measure(p, y)", "cal.ece_em(y, p)", QUANTILES),
        (
            "ECE(15, equal_intervals=False).measure(p, y)",
            'cal.ece_em(y, p, binning=quantiles(p, 15, "left"))',
            "its error: quantiles that are tied",
        ),
        ("MCE(15).measure(p, y)", 'cal.mce(y, p, binning=linspace(15, "left"))', ""),
        (
            "ACE(15).measure(p, y)",
            "cal.ace(y, p)",
            "another metric: the unweighted mean of the gaps of equal-width bins",
        ),
        (
            "MMCE().measure(p, y)",
            "cal.mmce(y, p)",
            "it compares P(y=1) with whether the prediction was right",
        ),
        (
            "TemperatureScaling().fit(p, y).transform(new)",
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "its `.temperature` is the inverse of our `.temperature_`; in single precision it stays at 1",
        ),
        (
            "LogisticCalibration().fit(p, y).transform(new)",
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "our default smooths the targets, as Platt did",
        ),
        (
            "BetaCalibration().fit(p, y).transform(new)",
            "cal.BetaCalibration().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "HistogramBinning(10).fit(p, y).transform(new)",
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            "there a score on an edge is fitted in the bin above and looked up in the bin below; our default is 15 bins "
            "of equal mass",
        ),
        (
            "IsotonicRegression().fit(p, y).transform(new)",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
            "",
        ),
        ("BBQ().fit(p, y).transform(new)", "cal.BayesianBinning().fit(p, y).predict_proba(new)", ""),
        (
            "ENIR().fit(p, y).transform(new)",
            "cal.NearIsotonicEnsemble().fit(p, y).predict_proba(new)",
            "",
        ),
    ),
    *of(
        "netcal",
        "classes",
        ("ECE(15).measure(p, y)", "cal.ece(y, p)", ""),
        ("ECE(15).measure(p, y)", 'cal.ece(y, p, binning=linspace(15, "left"))', ""),
        ("MCE(15).measure(p, y)", 'cal.mce(y, p, binning=linspace(15, "left"))', ""),
        ("MMCE().measure(p, y)", "cal.mmce(y, p)", ""),
        (
            "TemperatureScaling().fit(p, y).transform(new)",
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "LogisticCalibration().fit(p, y).transform(new)",
            "cal.VectorScaling().fit(p, y).predict_proba(new)",
            "the counterpart for several classes: a factor and a bias for each class",
        ),
        (
            "LogisticCalibration().fit(p, y).transform(new)",
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "not the counterpart: a logistic curve for each class against the rest",
        ),
        (
            "HistogramBinning(10).fit(p, y).transform(new)",
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            "NaN there where all classes of a row fall into bins without events; the row as it was here",
        ),
        (
            "IsotonicRegression().fit(p, y).transform(new)",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
            "",
        ),
    ),
    *of(
        "torchmetrics",
        "binary",
        (
            "binary_calibration_error(P, Y, n_bins=15)",
            "cal.ece(y, p)",
            "a score on an edge belongs to the bin above there, and the score 1 has a bin of its own",
        ),
        (
            "binary_calibration_error(P, Y, n_bins=15)",
            "cal.ece(y, p, binning=LEFT)",
            "",
        ),
        (
            "binary_calibration_error(P, Y, n_bins=10)",
            "cal.ece(y, p, bins=10, binning=LEFT)",
            "its edges are those of `torch.linspace`, a rounding off *k/M*",
        ),
        (
            "binary_calibration_error(P, Y, n_bins=15)",
            'cal.ece(y, p, binning=edges(torch_edges(15, P.dtype), "left"))',
            "what is left is the bin of the score 1",
        ),
        (
            'binary_calibration_error(P, Y, n_bins=15, norm="l2")',
            'cal.rmsce(y, p, binning=edges(torch_edges(15, P.dtype), "left"))',
            "the same",
        ),
        (
            'binary_calibration_error(P, Y, n_bins=15, norm="max")',
            'cal.mce(y, p, binning=edges(torch_edges(15, P.dtype), "left"))',
            "the same",
        ),
    ),
    *of(
        "torchmetrics",
        "classes",
        (
            "multiclass_calibration_error(P, Y, 4, n_bins=15)",
            "cal.ece(y, p)",
            "as for two classes, and confidences are rounded to single precision there",
        ),
        (
            "multiclass_calibration_error(P, Y, 4, n_bins=15)",
            'cal.ece(y, p.astype("f4"), binning=edges(torch_edges(15, torch.float32), "left"))',
            "what is left is the bin of the score 1",
        ),
        (
            'multiclass_calibration_error(P, Y, 4, n_bins=15, norm="l2")',
            'cal.rmsce(y, p.astype("f4"), binning=edges(torch_edges(15, torch.float32), "left"))',
            "the same",
        ),
        (
            'multiclass_calibration_error(P, Y, 4, n_bins=15, norm="max")',
            'cal.mce(y, p.astype("f4"), binning=edges(torch_edges(15, torch.float32), "left"))',
            "the same",
        ),
    ),
    *of(
        "uncertainty-calibration",
        "binary",
        ("calibration.get_ece(p, y)", "cal.ece(y, p)", ""),
        (
            "calibration.get_ece_em(p, y)",
            "cal.ece_em(y, p)",
            "its cuts lie midway between the parts of `array_split`, ours at ⌊M·C/W⌋",
        ),
        (
            "calibration.get_ece_em(p, y)",
            'cal.ece_em(y, p, binning=cal.EqualMass(split="array_split"))',
            "closes it without ties; ties stay together there and are cut here",
        ),
        ("calibration.get_ece_em(p, y)", "cal.ece_em(y, p, binning=midway(p, 15))", ""),
        (
            "calibration.get_calibration_error(p, y)",
            "cal.drmsce(y, p)",
            "debiased, L2, 15 bins; other cuts; with fewer distinct scores than a quarter of the rows, a bin for each",
        ),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, binning=midway(p, 15), single="zero")',
            "closes it where most scores are distinct",
        ),
        (
            "calibration.get_binning_ce(p, y)",
            'cal.drmsce(y, p, binning=by_value(p), single="zero")',
            "what `get_calibration_error` does with few distinct scores",
        ),
        (
            "calibration.lower_bound_scaling_ce(p, y, debias=False)",
            'cal.rmsce(y, p, binning="equal_mass")',
            "other cuts",
        ),
        (
            "calibration.lower_bound_scaling_ce(p, y, debias=False)",
            "cal.rmsce(y, p, binning=midway(p, 15))",
            "",
        ),
        (
            "calibration.get_ece(p, y, debias=True)",
            'cal.ece_db(y, p, binning="equal_width")',
            "it draws 1 000 times without a seed, ours is in closed form; a bin with one row is an error there",
        ),
        (
            'fitted("HistogramCalibrator")',
            "cal.HistogramBinning(bins=10).fit(p, y).predict_proba(new)",
            "other cuts",
        ),
        (
            'fitted("PlattCalibrator")',
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "its search stops earlier",
        ),
        (
            'fitted("PlattBinnerCalibrator")',
            "cal.ScalingBinning(bins=10).fit(p, y).predict_proba(new)",
            "other cuts",
        ),
    ),
    *of(
        "uncertainty-calibration",
        "classes",
        ("calibration.get_ece(p, y)", "cal.ece(y, p)", ""),
        ('calibration.get_ece(p, y, mode="marginal")', "cal.cwce(y, p)", ""),
        ("calibration.get_ece_em(p, y)", "cal.ece_em(y, p)", "other cuts, as above"),
        ("calibration.get_ece_em(p, y)", "cal.ece_em(y, p, binning=midway(p.max(axis=1), 15))", ""),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, lens="classwise")',
            "other cuts, and each class is cut at 0 there before the mean",
        ),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, lens="classwise", clip_each=True, binning=cal.EqualMass(split="array_split"))',
            "closes it without ties",
        ),
        (
            'calibration.get_calibration_error(p, y, mode="top-label")',
            'cal.drmsce(y, p, binning=midway(p.max(axis=1), 15), single="zero")',
            "closes it where most scores are distinct",
        ),
        (
            'fitted("HistogramMarginalCalibrator")',
            "cal.HistogramBinning(bins=10).fit(p, y).predict_proba(new)",
            "other cuts; rows do not sum to 1 there",
        ),
    ),
    *of(
        "probcal",
        "binary",
        ("metrics.ece(y, p)", "cal.ece_em(y, p)", QUANTILES),
        ("metrics.ece(y, p)", 'cal.ece_em(y, p, binning=quantiles(p, 15, "left"))', ""),
        ('metrics.ece(y, p, strategy="width")', "cal.ece(y, p)", "a score on an edge belongs to the bin above there"),
        ('metrics.ece(y, p, strategy="width")', 'cal.ece(y, p, binning=linspace(15, "left"))', ""),
        ('metrics.ece(y, p, strategy="width", norm="l2")', 'cal.rmsce(y, p, binning=linspace(15, "left"))', ""),
        ('metrics.ece(y, p, strategy="width", norm="max")', 'cal.mce(y, p, binning=linspace(15, "left"))', ""),
        (
            "metrics.ece_debiased(y, p)",
            "cal.ece_db(y, p)",
            "another estimate: each bin is debiased and cut at 0 by itself, then averaged",
        ),
        ("metrics.ece_sweep(y, p)", "cal.ece_sweep(y, p)", "other cuts, and at most 100 bins there"),
        ("metrics.smooth_ece(y, p)", "cal.smece(y, p)", "smooths over log-odds, and stops its search at 1e-4"),
        ("metrics.brier_score(y, p)", "cal.brier(y, p)", ""),
        ("metrics.log_loss(y, p)", "cal.nll(y, p)", "infinite here where the true class got probability 0"),
        ("metrics.brier_skill_score(y, p)", "cal.skill_score(y, p)", ""),
        ("metrics.calibration_slope(y, p)", "cal.cox_slope(y, p)", ""),
        (
            "metrics.calibration_intercept(y, p)",
            'cal.calibration_in_the_large(y, p, form="logit")',
            "**not** `cal.cox_intercept`, whose slope is free",
        ),
        (
            "metrics.calibration_test(y, p).pvalue",
            'cal.assess(y, p, metric="cox_slope", method="lr").pvalue',
            "both coefficients together; without `method` the slope alone is tested",
        ),
        ("metrics.ici(y, p)", "cal.ici(y, p, degree=1)", "our default is degree 2, as R's `loess`"),
        ("metrics.e90(y, p)", "cal.e90(y, p, degree=1)", ""),
        (
            "metrics.hosmer_lemeshow(y, p).statistic",
            "cal.hosmer_lemeshow(y, p)",
            QUANTILES,
        ),
        (
            "metrics.hosmer_lemeshow(y, p).statistic",
            'cal.hosmer_lemeshow(y, p, binning=quantiles(p, 10, "left"))',
            "",
        ),
        (
            "metrics.hosmer_lemeshow(y, p).pvalue",
            'cal.assess(y, p, metric="hosmer_lemeshow", method="chi_square").pvalue',
            "as the statistic; without `method` outcomes are simulated where groups are too small for chi-square",
        ),
        ("metrics.spiegelhalter_z(y, p).z", "cal.spiegelhalter_z(y, p)", ""),
        ("metrics.ecce(y, p).stat_max", "cal.ecce_mad(y, p)", ""),
        (
            "metrics.ecce(y, p).stat_mean",
            "cal.ecce_mean_abs(y, p)",
            "tied scores are one step there and as many as rows here",
        ),
        ("metrics.skce(y, p, bandwidth=1.0)", "cal.skce_uq(y, p, bandwidth=1.0)", ""),
        ("metrics.skce(y, p)", "cal.skce_uq(y, p)", ""),
        (
            "metrics.murphy_decomposition(y, p).reliability",
            'cal.decompose(y, p, method="murphy", bins=10, binning="equal_mass").miscalibration',
            QUANTILES,
        ),
        (
            "metrics.murphy_decomposition(y, p).reliability",
            'cal.decompose(y, p, method="murphy", binning=quantiles(p, 10, "left")).miscalibration',
            "",
        ),
        (
            "metrics.binomial_grade_test(y, p, np.digitize(p, [0.1, 0.3, 0.6]).astype(str)).p_exact",
            "[g.pvalue for g in cal.grade_tests(y, p, grades=np.digitize(p, [0.1, 0.3, 0.6]).astype(str)).grades]",
            "Holm's adjustment is added here",
        ),
        (
            "metrics.pluto_tasche([300, 400, 70], [0, 3, 5]).pd_upper",
            "cal.pluto_tasche([300, 400, 70], [0, 3, 5]).bound",
            "",
        ),
        (
            "probcal.LogitOffset(target_mean=0.3).fit(p).transform(p)",
            "cal.OffsetAdjustment(target=0.3).fit(p).predict_proba(p)",
            "",
        ),
        ("probcal.estimate_offset(y, p).delta", "float(cal.OffsetAdjustment().fit(p, y).offset_[1])", ""),
        (
            "probcal.TemperatureCalibrator().fit(p, y).predict_proba(new)",
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "scores of 0 and 1 are clipped elsewhere",
        ),
        (
            "probcal.PlattCalibrator().fit(p, y).predict_proba(new)",
            "cal.PlattScaling().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "probcal.BetaCalibrator().fit(p, y).predict_proba(new)",
            "cal.BetaCalibration().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "probcal.VennAbersCalibrator().fit(p, y).predict_proba(new)",
            "cal.VennAbers().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "probcal.IsotonicCalibrator().fit(p, y).predict_proba(p)",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(p)",
            "at the scores it was fitted on",
        ),
        (
            "probcal.IsotonicCalibrator().fit(p, y).predict_proba(new)",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
            "between them steps there, straight lines here",
        ),
        (
            "probcal.HistogramBinningCalibrator().fit(p, y).predict_proba(new)",
            "cal.HistogramBinning(bins=10, shrink=0.5).fit(p, y).predict_proba(new)",
            f"`shrinkage=None` is `shrink=0`; {QUANTILES}",
        ),
        (
            "probcal.ScalingBinningCalibrator().fit(p, y).predict_proba(new)",
            "cal.ScalingBinning().fit(p, y).predict_proba(new)",
            "other cuts",
        ),
        (
            "probcal.BBQCalibrator().fit(p, y).predict_proba(new)",
            "cal.BayesianBinning().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "probcal.ENIRCalibrator().fit(p, y).predict_proba(new)",
            "cal.NearIsotonicEnsemble().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "probcal.CenteredIsotonicCalibrator().fit(p, y).predict_proba(new)",
            "cal.CenteredIsotonicCalibration().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "probcal.SplineCalibrator().fit(p, y).predict_proba(new)",
            "cal.SplineCalibration().fit(p, y).predict_proba(new)",
            "",
        ),
    ),
    *of(
        "relplot",
        "binary",
        (
            "relplot.metrics.binnedECE(p, y, 15)",
            "cal.ece(y, p, binning=LEFT)",
            "a score of 1 has a bin of its own there, and bins are found by dividing",
        ),
        (
            "relplot.smECE(p, y)",
            "cal.smece(y, p)",
            "it keeps ten bits of the bandwidth, cuts its kernel, and inflates mass at 0 and 1",
        ),
    ),
    *of(
        "MAPIE",
        "binary",
        (
            'measures.expected_calibration_error(y, p, 16, "uniform")',
            'cal.ece(y, p, binning=linspace(15, "right"))',
            "16 is its number of edges; a score of 0 has a bin of its own there",
        ),
        (
            "measures.kolmogorov_smirnov_statistic(y, p) * scale(p)",
            "cal.ecce_mad(y, p)",
            "it shakes scores by 1e-8, which orders ties at random",
        ),
        (
            "measures.kuiper_statistic(y, p) * scale(p)",
            "cal.ecce_r(y, p)",
            "tied scores as above; it leaves out the 0 at which the differences begin, and is up to 1/N smaller where all lie on one side",
        ),
        ("measures.spiegelhalter_statistic(y, p)", "cal.spiegelhalter_z(y, p)", ""),
    ),
    *of(
        "MCGrad",
        "binary",
        (
            "metrics.expected_calibration_error(y, p, num_bins=15)",
            'cal.ece(y, p, binning=linspace(15, "left"))',
            "",
        ),
        ("metrics.ecce(y, p)", "cal.ecce_r(y, p)", "ties in row order there, taken together here"),
    ),
    *of(
        "pycaleva",
        "binary",
        (
            "CalibrationEvaluator(y, p, outsample=True, n_groups=10).hosmerlemeshow(verbose=False).statistic",
            "cal.hosmer_lemeshow(y, p)",
            "groups are cut elsewhere",
        ),
        (
            "CalibrationEvaluator(y, p, outsample=True, n_groups=10).pigeonheyse(verbose=False).statistic",
            'cal.hosmer_lemeshow(y, p, variance="exact")',
            "groups are cut elsewhere",
        ),
        (
            "CalibrationEvaluator(y, p, outsample=True, n_groups=10).z_test().statistic",
            "cal.spiegelhalter_z(y, p)",
            "",
        ),
    ),
    *of(
        "calzone-tool",
        "binary",
        (
            "metrics.calculate_ece_mce(*table(15, False))[0]",
            "cal.ece(y, p)",
            "scores of 0 are left out there: bins are open on the left",
        ),
        (
            "metrics.calculate_ece_mce(*table(15, True))[0]",
            "cal.ece_em(y, p)",
            f"{QUANTILES}; the lowest score is left out there",
        ),
        ("metrics.spiegelhalter_z_test(y, np.column_stack([1 - p, p]))[0]", "cal.spiegelhalter_z(y, p)", ""),
        ("metrics.cox_regression_analysis(y, np.column_stack([1 - p, p]))[0]", "cal.cox_slope(y, p)", ""),
    ),
    *of(
        "betacal",
        "binary",
        ('BetaCalibration("abm").fit(p, y).predict(new)', "cal.BetaCalibration().fit(p, y).predict_proba(new)", ""),
    ),
    *of(
        "venn-abers",
        "binary",
        ("merged()", "cal.VennAbers().fit(p, y).predict_proba(new)", ""),
    ),
]
