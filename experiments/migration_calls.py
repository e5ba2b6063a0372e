"""Calls of other packages and the equivalent calls of calibrant; both are executed as printed."""

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
    # Bins with edges computed by NumPy or another package.
    inner = np.unique(np.asarray(inner, dtype=float))
    return cal.Edges([0, *inner[(inner > 0) & (inner < 1)], 1], closed=closed)


def linspace(bins, closed):
    return edges(np.linspace(0, 1, bins + 1), closed)


def quantiles(scores, bins, closed):
    # Edges at interpolated quantiles.
    return edges(np.quantile(scores, np.linspace(0, 1, bins + 1)[1:-1]), closed)


def midway(scores, bins):
    # Edges midway between the parts of `array_split`.
    parts = np.array_split(np.sort(scores), bins)
    return edges([(low[-1] + high[0]) / 2 for low, high in zip(parts, parts[1:])])


def by_value(scores):
    # One bin per distinct score.
    return midway(np.unique(scores), len(np.unique(scores)))


def curve(found):
    # Rates and mean scores of nonempty bins.
    full = ~found.table.empty
    return np.concatenate([found.rate[full], found.mean_score[full]])
"""
"""Functions that the calls of calibrant use; docs/migration.md shows them."""

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
"""Imports of each package; `y`, `p` and `new` (further scores), or `X`, `m` and `new`, are defined."""


@dataclass(frozen=True)
class Call:
    """One comparison, on the data sets of `kind`."""

    peer: str
    theirs: str
    ours: str
    kind: str
    note: str = ""
    """Why the values differ, and which option removes the difference."""


def of(peer: str, kind: str, *calls: tuple[str, ...]) -> list[Call]:
    """Several calls of a package on data of one kind."""
    return [Call(peer, theirs, ours, kind, *note) for theirs, ours, *note in calls]


QUANTILES = "its edges are interpolated quantiles, those of calibrant lie at rows; they agree only if the bins divide the number of rows"
LINSPACE = "its edges are those of `np.linspace`, which differ from *k/M* by rounding"
CALLS: list[Call] = [
    *of(
        "scikit-learn",
        "binary",
        ("brier_score_loss(y, p)", "cal.brier(y, p)", "`scale_by_half=` is `scale=`"),
        ("log_loss(y, p)", "cal.nll(y, p)", "infinite in calibrant if the true class has probability 0"),
        (
            "log_loss(y, p)",
            "cal.nll(y, p, floor=np.finfo(p.dtype).eps)",
            "its floor depends on the type: 2.2e-16 in double, 1.2e-7 in single precision",
        ),
        (
            "np.concatenate(calibration_curve(y, p, n_bins=10))",
            "curve(cal.calibration_curve(y, p, bins=10))",
            "it drops empty bins; its default is 5 bins",
        ),
        (
            "np.concatenate(calibration_curve(y, p, n_bins=30))",
            "curve(cal.calibration_curve(y, p, bins=30))",
            f"{LINSPACE}: below it for 30 bins",
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
        ("log_loss(y, p)", "cal.nll(y, p)", "infinite in calibrant if the true class has probability 0"),
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
            "two classes: both fit a sigmoid to the log-odds; several: it uses the decision value of each class, calibrant "
            "the log-odds of each class against the rest",
        ),
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="isotonic").fit(X, y).predict_proba(new)',
            'CalibratedModel(m, method="isotonic", cv="prefit").fit(X, y).predict_proba(new)',
            "two classes: it interpolates between decision values, calibrant between probabilities; several: it uses the "
            "decision value of each class, calibrant its probability",
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
            "it fits a sigmoid to the probability, calibrant to its log-odds",
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
            "it averages five models (`ensemble=True` is its default); calibrant keeps one",
        ),
    ),
    *of(
        "scikit-learn",
        "two classes",
        (
            'CalibratedClassifierCV(FrozenEstimator(m), method="sigmoid").fit(X, y).predict_proba(new)',
            'cal.PlattScaling(input="logit").fit(m.predict_proba(X)[:, 1], y).predict_proba(m.predict_proba(new)[:, 1])',
            "passes the probabilities of the second class to the calibrator as if they were log-odds",
        ),
    ),
    *of(
        "netcal",
        "binary",
        ("ECE(15).measure(p, y)", "cal.ece(y, p)", "it assigns a score on an edge to the bin above"),
        ("ECE(15).measure(p, y)", "cal.ece(y, p, binning=LEFT)", "for 15 bins its edges are *k/M*, too"),
        ("ECE(10).measure(p, y)", "cal.ece(y, p, bins=10, binning=LEFT)", f"{LINSPACE}; its default is 10 bins"),
        ("ECE(10).measure(p, y)", 'cal.ece(y, p, binning=linspace(10, "left"))', ""),
        ("ECE(15, equal_intervals=False).measure(p, y)", "cal.ece_em(y, p)", QUANTILES),
        (
            "ECE(15, equal_intervals=False).measure(p, y)",
            'cal.ece_em(y, p, binning=quantiles(p, 15, "left"))',
            "it raises for tied quantiles",
        ),
        ("MCE(15).measure(p, y)", 'cal.mce(y, p, binning=linspace(15, "left"))', ""),
        (
            "ACE(15).measure(p, y)",
            "cal.ace(y, p)",
            "a different metric: the unweighted mean over equal-width bins",
        ),
        (
            "MMCE().measure(p, y)",
            "cal.mmce(y, p)",
            "it compares P(y=1) with the correctness of the prediction",
        ),
        (
            "TemperatureScaling().fit(p, y).transform(new)",
            "cal.TemperatureScaling().fit(p, y).predict_proba(new)",
            "its `.temperature` is the inverse of `.temperature_`; in single precision it remains 1",
        ),
        (
            "LogisticCalibration().fit(p, y).transform(new)",
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "the default of calibrant smooths the targets, as in the paper of Platt",
        ),
        (
            "BetaCalibration().fit(p, y).transform(new)",
            "cal.BetaCalibration().fit(p, y).predict_proba(new)",
            "",
        ),
        (
            "HistogramBinning(10).fit(p, y).transform(new)",
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            "it fits a score on an edge in the bin above and applies the bin below; the default of calibrant is 15 bins of "
            "equal mass",
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
            "the counterpart for several classes: one factor and one bias per class",
        ),
        (
            "LogisticCalibration().fit(p, y).transform(new)",
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "not the counterpart: one logistic curve per class against the rest",
        ),
        (
            "HistogramBinning(10).fit(p, y).transform(new)",
            'cal.HistogramBinning(bins=10, binning="equal_width").fit(p, y).predict_proba(new)',
            "if all classes of a row fall into bins without events, it returns NaN and calibrant the original row",
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
            "it assigns a score on an edge to the bin above, and the score 1 to a separate bin",
        ),
        (
            "binary_calibration_error(P, Y, n_bins=15)",
            "cal.ece(y, p, binning=LEFT)",
            "",
        ),
        (
            "binary_calibration_error(P, Y, n_bins=10)",
            "cal.ece(y, p, bins=10, binning=LEFT)",
            "its edges are those of `torch.linspace`, which differ from *k/M* by rounding",
        ),
        (
            "binary_calibration_error(P, Y, n_bins=15)",
            'cal.ece(y, p, binning=edges(torch_edges(15, P.dtype), "left"))',
            "the remaining difference is its bin of the score 1",
        ),
        (
            'binary_calibration_error(P, Y, n_bins=15, norm="l2")',
            'cal.rmsce(y, p, binning=edges(torch_edges(15, P.dtype), "left"))',
            "as above",
        ),
        (
            'binary_calibration_error(P, Y, n_bins=15, norm="max")',
            'cal.mce(y, p, binning=edges(torch_edges(15, P.dtype), "left"))',
            "as above",
        ),
    ),
    *of(
        "torchmetrics",
        "classes",
        (
            "multiclass_calibration_error(P, Y, 4, n_bins=15)",
            "cal.ece(y, p)",
            "as for two classes, and it rounds confidences to single precision",
        ),
        (
            "multiclass_calibration_error(P, Y, 4, n_bins=15)",
            'cal.ece(y, p.astype("f4"), binning=edges(torch_edges(15, torch.float32), "left"))',
            "the remaining difference is its bin of the score 1",
        ),
        (
            'multiclass_calibration_error(P, Y, 4, n_bins=15, norm="l2")',
            'cal.rmsce(y, p.astype("f4"), binning=edges(torch_edges(15, torch.float32), "left"))',
            "as above",
        ),
        (
            'multiclass_calibration_error(P, Y, 4, n_bins=15, norm="max")',
            'cal.mce(y, p.astype("f4"), binning=edges(torch_edges(15, torch.float32), "left"))',
            "as above",
        ),
    ),
    *of(
        "uncertainty-calibration",
        "binary",
        ("calibration.get_ece(p, y)", "cal.ece(y, p)", ""),
        (
            "calibration.get_ece_em(p, y)",
            "cal.ece_em(y, p)",
            "its edges lie midway between the parts of `array_split`, those of calibrant at ⌊M·C/W⌋",
        ),
        (
            "calibration.get_ece_em(p, y)",
            'cal.ece_em(y, p, binning=cal.EqualMass(split="array_split"))',
            "agrees without ties; it keeps ties together, this call splits them",
        ),
        ("calibration.get_ece_em(p, y)", "cal.ece_em(y, p, binning=midway(p, 15))", ""),
        (
            "calibration.get_calibration_error(p, y)",
            "cal.drmsce(y, p)",
            "debiased, L2, 15 bins; different edges; if fewer than a quarter of the scores are distinct, it uses one bin per score",
        ),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, binning=midway(p, 15), single="zero")',
            "agrees if most scores are distinct",
        ),
        (
            "calibration.get_binning_ce(p, y)",
            'cal.drmsce(y, p, binning=by_value(p), single="zero")',
            "the case of few distinct scores in `get_calibration_error`",
        ),
        (
            "calibration.lower_bound_scaling_ce(p, y, debias=False)",
            'cal.rmsce(y, p, binning="equal_mass")',
            "different edges",
        ),
        (
            "calibration.lower_bound_scaling_ce(p, y, debias=False)",
            "cal.rmsce(y, p, binning=midway(p, 15))",
            "",
        ),
        (
            "calibration.get_ece(p, y, debias=True)",
            'cal.ece_db(y, p, binning="equal_width")',
            "it simulates 1 000 times without a seed, calibrant uses a closed form; it raises for a bin with one row",
        ),
        (
            'fitted("HistogramCalibrator")',
            "cal.HistogramBinning(bins=10).fit(p, y).predict_proba(new)",
            "different edges",
        ),
        (
            'fitted("PlattCalibrator")',
            'cal.PlattScaling(targets="plain").fit(p, y).predict_proba(new)',
            "its optimizer stops earlier",
        ),
        (
            'fitted("PlattBinnerCalibrator")',
            "cal.ScalingBinning(bins=10).fit(p, y).predict_proba(new)",
            "different edges",
        ),
    ),
    *of(
        "uncertainty-calibration",
        "classes",
        ("calibration.get_ece(p, y)", "cal.ece(y, p)", ""),
        ('calibration.get_ece(p, y, mode="marginal")', "cal.cwce(y, p)", ""),
        ("calibration.get_ece_em(p, y)", "cal.ece_em(y, p)", "different edges, as above"),
        ("calibration.get_ece_em(p, y)", "cal.ece_em(y, p, binning=midway(p.max(axis=1), 15))", ""),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, lens="classwise")',
            "different edges, and it truncates each class at 0 before averaging",
        ),
        (
            "calibration.get_calibration_error(p, y)",
            'cal.drmsce(y, p, lens="classwise", clip_each=True, binning=cal.EqualMass(split="array_split"))',
            "agrees without ties",
        ),
        (
            'calibration.get_calibration_error(p, y, mode="top-label")',
            'cal.drmsce(y, p, binning=midway(p.max(axis=1), 15), single="zero")',
            "agrees if most scores are distinct",
        ),
        (
            'fitted("HistogramMarginalCalibrator")',
            "cal.HistogramBinning(bins=10).fit(p, y).predict_proba(new)",
            "different edges; its rows do not sum to 1",
        ),
    ),
    *of(
        "probcal",
        "binary",
        ("metrics.ece(y, p)", "cal.ece_em(y, p)", QUANTILES),
        ("metrics.ece(y, p)", 'cal.ece_em(y, p, binning=quantiles(p, 15, "left"))', ""),
        ('metrics.ece(y, p, strategy="width")', "cal.ece(y, p)", "it assigns a score on an edge to the bin above"),
        ('metrics.ece(y, p, strategy="width")', 'cal.ece(y, p, binning=linspace(15, "left"))', ""),
        ('metrics.ece(y, p, strategy="width", norm="l2")', 'cal.rmsce(y, p, binning=linspace(15, "left"))', ""),
        ('metrics.ece(y, p, strategy="width", norm="max")', 'cal.mce(y, p, binning=linspace(15, "left"))', ""),
        (
            "metrics.ece_debiased(y, p)",
            "cal.ece_db(y, p)",
            "a different estimate: each bin is debiased and truncated at 0 before averaging",
        ),
        ("metrics.ece_sweep(y, p)", "cal.ece_sweep(y, p)", "different edges, and it uses at most 100 bins"),
        (
            "metrics.smooth_ece(y, p)",
            "cal.smece(y, p)",
            "it smooths on the scale of log-odds and stops its search at 1e-4",
        ),
        ("metrics.brier_score(y, p)", "cal.brier(y, p)", ""),
        ("metrics.log_loss(y, p)", "cal.nll(y, p)", "infinite in calibrant if the true class has probability 0"),
        ("metrics.brier_skill_score(y, p)", "cal.skill_score(y, p)", ""),
        ("metrics.calibration_slope(y, p)", "cal.cox_slope(y, p)", ""),
        (
            "metrics.calibration_intercept(y, p)",
            'cal.calibration_in_the_large(y, p, form="logit")',
            "**not** `cal.cox_intercept`, in which the slope is estimated",
        ),
        (
            "metrics.calibration_test(y, p).pvalue",
            'cal.assess(y, p, metric="cox_slope", method="lr").pvalue',
            "joint test of both coefficients; without `method` only the slope is tested",
        ),
        (
            "metrics.ici(y, p)",
            'cal.ici(y, p, degree=1, surface="direct")',
            "the default of calibrant is degree 2, as in `loess` of R",
        ),
        ("metrics.e90(y, p)", 'cal.e90(y, p, degree=1, surface="direct")', ""),
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
            "as for the statistic; without `method`, outcomes are simulated if groups are too small for the chi-squared distribution",
        ),
        ("metrics.spiegelhalter_z(y, p).z", "cal.spiegelhalter_z(y, p)", ""),
        ("metrics.ecce(y, p).stat_max", "cal.ecce_mad(y, p)", ""),
        (
            "metrics.ecce(y, p).stat_mean",
            "cal.ecce_mean_abs(y, p)",
            "it treats tied scores as one step, calibrant as one step per row",
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
            "calibrant adds the adjustment of Holm",
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
            "scores of 0 and 1 are clipped to other values",
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
            "at the scores of the fit",
        ),
        (
            "probcal.IsotonicCalibrator().fit(p, y).predict_proba(new)",
            "cal.IsotonicCalibration().fit(p, y).predict_proba(new)",
            "between the scores of the fit it uses steps, calibrant linear interpolation",
        ),
        (
            "probcal.HistogramBinningCalibrator().fit(p, y).predict_proba(new)",
            "cal.HistogramBinning(bins=10, shrink=0.5).fit(p, y).predict_proba(new)",
            f"`shrinkage=None` is `shrink=0`; {QUANTILES}",
        ),
        (
            "probcal.ScalingBinningCalibrator().fit(p, y).predict_proba(new)",
            "cal.ScalingBinning().fit(p, y).predict_proba(new)",
            "different edges",
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
            "it assigns a score of 1 to a separate bin, and finds bins by division",
        ),
        (
            "relplot.smECE(p, y)",
            "cal.smece(y, p)",
            "it keeps ten bits of the bandwidth, truncates its kernel, and inflates mass at 0 and 1",
        ),
    ),
    *of(
        "MAPIE",
        "binary",
        (
            'measures.expected_calibration_error(y, p, 16, "uniform")',
            'cal.ece(y, p, binning=linspace(15, "right"))',
            "16 is its number of edges; it assigns a score of 0 to a separate bin",
        ),
        (
            "measures.kolmogorov_smirnov_statistic(y, p) * scale(p)",
            "cal.ecce_mad(y, p)",
            "it adds noise of 1e-8 to the scores, which orders ties at random",
        ),
        (
            "measures.kuiper_statistic(y, p) * scale(p)",
            "cal.ecce_r(y, p)",
            "tied scores as above; it omits the initial 0 of the cumulative differences and is up to 1/N smaller if all are on one side",
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
        ("metrics.ecce(y, p)", "cal.ecce_r(y, p)", "it processes ties in row order, calibrant together"),
    ),
    *of(
        "pycaleva",
        "binary",
        (
            "CalibrationEvaluator(y, p, outsample=True, n_groups=10).hosmerlemeshow(verbose=False).statistic",
            "cal.hosmer_lemeshow(y, p)",
            "different group boundaries",
        ),
        (
            "CalibrationEvaluator(y, p, outsample=True, n_groups=10).pigeonheyse(verbose=False).statistic",
            'cal.hosmer_lemeshow(y, p, variance="exact")',
            "different group boundaries",
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
            "it omits scores of 0, since bins are open on the left",
        ),
        (
            "metrics.calculate_ece_mce(*table(15, True))[0]",
            "cal.ece_em(y, p)",
            f"{QUANTILES}; it omits the lowest score",
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
