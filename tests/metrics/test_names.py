"""Names: all of the survey of calibration metrics, ambiguous ones, and suggestions for names that no metric has."""

from __future__ import annotations

import re
from operator import attrgetter

import pytest

import calibrant as cal
from calibrant import catalogue
from calibrant.cli.listing import metric_named
from calibrant.evaluation.measure import choose_metrics
from calibrant.metrics.names import plain, words_of
from calibrant.metrics.use_cases import related

# Names, abbreviations and methods in the order of the survey (Lane, 2025), as it spells them.
SURVEY = {
    # 3 Point-based metrics
    "Brier score": "brier",
    "BS": "brier",
    "mean square error": "brier",
    "MSE": "brier",
    "quadratic score": "brier",
    "square root Brier score": "root_brier",
    "root Brier score": "root_brier",
    "RBS": "root_brier",
    "negative log likelihood": "nll",
    "NLL": "nll",
    "binary cross-entropy": "nll",
    "cross-entropy": "nll",
    "ignorance": "nll",
    "logarithmic score": "nll",
    "predictive deviance": "nll",
    "logistic loss": "nll",
    "multinomial logistic loss": "nll",
    "focal loss": "focal_loss",
    "FL": "focal_loss",
    "entropic calibration difference": "ecd",
    "ECD": "ecd",
    "global squared bias": "global_squared_bias",
    "GSB": "global_squared_bias",
    "multiclass difference of confidence and accuracy": "mdca",
    "MDCA": "mdca",
    "ratio of the expected to observed": "expected_observed_ratio",
    "expected to observed": "expected_observed_ratio",
    "EO": "expected_observed_ratio",
    "Dawid\u2013Sebastiani score": "dawid_sebastiani",
    "DSS": "dawid_sebastiani",
    "normalized squared error score": "nses",
    "NSES": "nses",
    "pointwise p-norm": "lp_error",
    "L1eps": "l1_eps",
    "Huber loss": "huber",
    "standard Huber loss": "huber",
    "Spiegelhalter z statistic": "spiegelhalter_z",
    # 4 Bin-based metrics
    "expected calibration error": "ece",
    "ECE": "ece",
    "empirical calibration error": "ece",
    "estimated calibration error": "ece",
    "binary-ECE": "ece",
    "ECE-EW": "ece",
    "equal-width ECE": "ece",
    "standard ECE": "ece",
    "mean absolute calibration error": "ece",
    "confidence-ECE": "ece",
    "top-label classification error": "ece",
    "mean calibration error": "rmsce",
    "RMSCE": "rmsce",
    "root mean square calibration error": "rmsce",
    "plugin estimator": "rmsce",
    "PE": "rmsce",
    "binned multiclass calibration error": "cwce",
    "class-wise calibration error": "cwce",
    "CWCE": "cwce",
    "class-wise ECE": "cwce",
    "static calibration error": "cwce",
    "full multiclass-ECE": "multiclass_ce",
    "adaptive calibration error": "ace",
    "equal-mass ECE": "ece_em",
    "ECE-EM": "ece_em",
    "equal-mass (EM) ECE": "ece_em",
    "equal-area ECE": "ece_ea",
    "ECE-EA": "ece_ea",
    "equiareal ECE": "ece_ea",
    "thresholded ACE": "tace",
    "TACE": "tace",
    "top-k ECE": "topk_ece",
    "maximum calibration error": "mce",
    "region-balanced ECE": "rbece",
    "RBECE": "rbece",
    "monotonic sweep calibration error": "ece_sweep",
    "ECE-SWEEP": "ece_sweep",
    "distance from calibration error": "dce",
    "Sanders-modified BS": "smbs",
    "SMBS": "smbs",
    "Murphy's BS": "smbs",
    "Sanders-modified Brier score": "smbs",
    "label-binned calibration error": "ece_lb",
    "ECE-LB": "ece_lb",
    "probability deviation error": "ece_lb",
    "ECE-FOTT": "ece_em",
    "interval calibration error": "sice",
    "ICE": "sice",
    "surrogate ICE": "sice",
    "SICE": "sice",
    "random ICE": "rice",
    "RICE": "rice",
    "cutoff calibration error": "cce",
    "CCE": "cce",
    "expected signed calibration error": "esce",
    "ESCE": "esce",
    "miscalibration score": "esce",
    "MCS": "esce",
    "ECE averaged over bin widths": "ece_widths",
    "DICI": "dici",
    "WSMCS": "wsmcs",
    "soft-binning ECE": "sbece",
    "SBECE": "sbece",
    "soft-binned ECE": "sbece",
    "differentiable ECE": "dece",
    "DECE": "dece",
    "fuzzy calibration error": "fce",
    "CalBin metric": "calbin",
    "CalBin": "calbin",
    "k-nearest neighbors ECE": "ece_knn",
    "k-nearest neighbors (KNN) ECE": "ece_knn",
    "ECE-KNN": "ece_knn",
    "CE2-DB": "ce2_db",
    "debiased RMSCE": "drmsce",
    "DRMSCE": "drmsce",
    "DRMSCE-BCS": "drmsce_bcs",
    "ECE-DB": "ece_db",
    "ECE-DEBIAS": "ece_db",
    "proximity-informed ECE": "piece",
    "PIECE": "piece",
    "partitioned calibration error": "pce",
    "PCE": "pce",
    "field-level ECE": "fece",
    "Field-ECE": "fece",
    "FECE": "fece",
    "VECE": "vece",
    "multi-view calibration error": "mvce",
    "MVCE": "mvce",
    "Hosmer\u2013Lemeshow statistic": "hosmer_lemeshow",
    "Hosmer\u2013Lemeshow": "hosmer_lemeshow",
    "Hosmer\u2013Lemeshow test": "hosmer_lemeshow",
    "HL": "hosmer_lemeshow",
    "HL statistic": "hosmer_lemeshow",
    "test for calibration": "t_cal",
    "T-Cal": "t_cal",
    "debiased PE": "t_cal",
    "DPE": "t_cal",
    # 5 Kernel-based and fitted-curve metrics
    "mean squared calibration error": "msce",
    "MSCE": "msce",
    "SECE": "sece",
    "SMECE": "smece",
    "beta KDE": "bkde",
    "BKDE": "bkde",
    "partially debiased beta KDE": "bkde",
    "Dirichlet kernel density estimator": "dkde",
    "DKDE": "dkde",
    "maximum mean calibration error": "mmce",
    "MMCE": "mmce",
    "weighted version of MMCE": "mmce_w",
    "weighted MMCE": "mmce_w",
    "Laplace kernel calibration error": "lkce",
    "LKCE": "lkce",
    "SKCE-B": "skce_b",
    "SKCE-UQ": "skce_uq",
    "SKCE-UL": "skce_ul",
    "biased SKCE": "skce_b",
    "unbiased quadratic SKCE": "skce_uq",
    "unbiased linear SKCE": "skce_ul",
    "kernel local calibration error": "klce",
    "KLCE": "klce",
    "I-trustworthy": "klce",
    "ECMMD": "ecmmd",
    "smoothed KDE": "skde",
    "smoothed kernel density estimator": "skde",
    "SKDE": "skde",
    "Mix-n-Match": "skde",
    "smooth calibration error": "smce",
    "integrated calibration index": "ici",
    "ICI": "ici",
    "Harrell's Emax index": "emax",
    "Emax": "emax",
    "error percentile": "ep",
    "EP": "ep",
    "EX": "ep",
    "estimated calibration index": "eci",
    "expected calibration index": "eci",
    "ECI": "eci",
    "piecewise linear": "fott_pl",
    "PL": "fott_pl",
    "ECE-PL": "fott_pl",
    "PL in logit-logit space": "fott_pl3",
    "piecewise linear in logit-logit space": "fott_pl3",
    "PL3": "fott_pl3",
    "ECE-PL3": "fott_pl3",
    "statistical beta calibration test": "sbct",
    "SBCT": "sbct",
    "parabolic Wald statistic": "pws",
    "PWS": "pws",
    "Pearson chi-squared reliability statistic": "knn_chi2",
    # 6 Cumulative metrics
    "ECCE-MAD": "ecce_mad",
    "maximum absolute deviation": "ecce_mad",
    "KS statistic": "ecce_mad",
    "KS error": "ecce_mad",
    "KS calibration metric": "ecce_mad",
    "Kolmogorov\u2013Smirnoff metric": "ecce_mad",
    "KS": "ecce_mad",
    "ECCE-R": "ecce_r",
    "Kuiper statistic": "ecce_r",
    "Kuiper": "ecce_r",
    "multi-calibration metric": "mcm",
    "MCM": "mcm",
    "Brownian bridge test": "bbt",
    "BBT": "bbt",
}
# Names that the survey, or its sources, use for several metrics.
AMBIGUOUS = {
    "ABC": {"ece", "abc_above", "abc_below"},
    "area between curves": {"ece", "abc_above", "abc_below"},
    "integrated calibration error": {"ece", "abc_above", "abc_below"},
    "ACE": {"ace", "rbece"},
    "SCE": {"cwce", "smce"},
    "MCE": {"mce", "rmsce", "mcm"},
    "DCE": {"dce", "dce_lower"},
    "distance from calibration": {"dce", "dce_lower"},
    "smooth ECE": {"sece", "smece"},
    "ECE-KDE": {"bkde", "dkde", "skde"},
    "ECEKDE": {"bkde", "dkde", "skde"},
    "KDE": {"bkde", "dkde", "skde"},
    "KDE-ECE": {"bkde", "dkde", "skde"},
    "kernel density estimator": {"bkde", "dkde", "skde"},
    "SKCE": {"skce_b", "skce_uq", "skce_ul"},
    "squared kernel calibration error": {"skce_b", "skce_uq", "skce_ul"},
    "FOTT": {id for id in catalogue if id.startswith("fott_")},
    "Fit-on-the-test calibration error": {id for id in catalogue if id.startswith("fott_")},
    "CIS": {"cox_intercept", "cox_slope"},
    "Cox intercept and slope": {"cox_intercept", "cox_slope"},
    "Cox's intercept and slope method": {"cox_intercept", "cox_slope"},
    "Cox's method": {"cox_intercept", "cox_slope"},
    "ECCE": {"ecce_mad", "ecce_r"},
    "empirical cumulative calibration error": {"ecce_mad", "ecce_r"},
}


@pytest.mark.parametrize("name", SURVEY)
def test_a_name_of_the_survey_is_its_metric_everywhere(name: str) -> None:
    metric = getattr(cal, SURVEY[name])
    assert catalogue[name] is metric
    assert choose_metrics([name]) == choose_metrics(name) == [metric]
    assert metric_named(name, "NAME") is metric
    assert metric in catalogue.find(name)


def test_a_name_is_evaluated() -> None:
    result = cal.evaluate([0, 1, 1, 0], [0.2, 0.8, 0.6, 0.3], metrics=["Kuiper statistic", "debiased RMSCE"])
    assert [one.metric for one in result.results] == ["ecce_r", "drmsce"]


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_name_of_several_metrics_lists_them(name: str) -> None:
    with pytest.raises(cal.errors.AmbiguousMetricError) as caught:
        catalogue[name]
    assert set(re.findall(r"(?:^use the id: |; )(\w+) \(", caught.value.remedy)) == AMBIGUOUS[name]
    assert AMBIGUOUS[name] <= {m.id for m in catalogue.find(name)}
    assert name not in catalogue


def test_every_alias_is_its_metric_or_known_to_be_ambiguous() -> None:
    """An alias that another metric takes away unnoticed would return another number."""
    shared: dict[str, set[str]] = {}
    for m in catalogue.values():
        for name in (m.name, *m.info.names):
            shared.setdefault(plain(name), set()).add(m.id)
    shared = {name: ids for name, ids in shared.items() if len(ids) > 1}
    known = {plain(name) for name in AMBIGUOUS} | {
        plain(name)
        for name in (
            "CITL",
            "calibration in the large",
            "calibration intercept",
            "kernel calibration error",
            "Smooth expected calibration error",
            "fit on the test",
            "Cox method",
            "Cox intercept and slope method",
        )
    }
    assert set(shared) <= known, set(shared) - known
    for m in catalogue.values():
        for name in (m.name, *m.info.names):
            assert plain(name) in shared or catalogue[name] is m, name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("thresholded ACE", "Adaptive calibration error, thresholded"),
        ("k-nearest neighbors ECE", "ECE of the nearest neighbours"),
        ("class-wise", "classwise"),
        ("normalised", "normalized"),
        ("soft-binning ECE", "soft-binned expected calibration error"),
        ("Kolmogorov\u2013Smirnoff", "Kolmogorov-Smirnov"),
        ("Murphy's BS", "Murphy\u2019s Brier score"),
        ("plugin", "plug-in"),
    ],
)
def test_two_spellings_of_a_name(one: str, other: str) -> None:
    assert words_of(one) == words_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mean squared calibration error", "root mean squared calibration error"),
        ("smooth calibration error", "smooth ECE"),
        ("kernel calibration error", "squared kernel calibration error"),
        ("maximum calibration error", "maximum mean calibration error"),
        ("abc_above", "abc_below"),
    ],
)
def test_two_names_that_differ_in_a_word(one: str, other: str) -> None:
    assert words_of(one) != words_of(other)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("smooth", "smece"),
        ("classwise", "cwce"),
        ("Kolmogorov", "ecce_mad"),
        ("expected calibration", "ece"),
        ("slope", "cox_slope"),
        ("brier_score_lose", "brier"),
        ("Platt scaling", "fott_platt"),
        ("isotonic regression", "fott_isotonic"),
        ("bin count search", "drmsce_bcs"),
        ("nearest neighbours", "ece_knn"),
        ("LogSumExp", "lse_ece"),
        ("pseudo Huber loss", "huber"),
        ("breir score", "brier"),
        ("ECE sweeep", "ece_sweep"),
        ("overconfidence", "abc_below"),
    ],
)
def test_a_suggestion_has_similar_letters_or_common_words(text: str, first: str) -> None:
    with pytest.raises(cal.errors.UnknownMetricError, match=rf"unknown metric '{text}'; did you mean '{first}'"):
        catalogue[text]


@pytest.mark.parametrize("text", ["xyzzy", "", "  ", "earth mover distance", "?!", "ß"])
def test_nothing_is_suggested_for_what_no_entry_explains(text: str) -> None:
    with pytest.raises(cal.errors.UnknownMetricError, match="`calibrant metrics` lists all metrics"):
        catalogue[text]


@pytest.mark.parametrize("name", [name for names in related()["functions"].values() for name in names])
def test_what_a_function_computes_is_answered_with_the_function(name: str) -> None:
    (function,) = [function for function, names in related()["functions"].items() if name in names]
    assert callable(attrgetter(function)(cal))
    with pytest.raises(
        cal.errors.UnknownMetricError, match=rf"{name!r} is not a metric; the function {function} computes it"
    ):
        catalogue[name]


def test_two_words_are_a_name_in_their_order_only() -> None:
    assert catalogue["test for calibration"] is cal.t_cal
    with pytest.raises(cal.errors.UnknownMetricError):
        catalogue["calibration test"]
