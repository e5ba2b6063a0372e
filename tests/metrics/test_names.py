"""Names: all of the survey of calibration metrics, ambiguous ones, and suggestions for names that no metric has."""

import json
import re
from operator import attrgetter
from pathlib import Path

import pytest

import calibrant as cal
from calibrant import catalogue
from calibrant.cli.listing import metric_named
from calibrant.evaluation.measure import choose_metrics
from calibrant.metrics.names import plain
from calibrant.metrics.use_cases import related
from calibrant.recalibration.base import Calibrator
from tests.calling import Run, raises
from tests.in_turn import in_turn

# Names, abbreviations and methods in the order of the survey (Lane, 2025), as it spells them.
SURVEY: dict[str, str] = json.loads(Path(__file__).with_name("survey_names.json").read_text(encoding="utf-8"))
# Names that the survey, or its sources, use for several metrics.
AMBIGUOUS = {
    "ABC": {"ece", "abc_above", "abc_below"},
    "area between curves": {"ece", "abc_above", "abc_below"},
    "integrated calibration error": {"ece", "abc_above", "abc_below"},
    "ACE": {"ace", "rbece"},
    "SCE": {"cwce", "smce"},
    "MCE": {"mce", "rmsce", "mcm"},
    "DCE": {"dce", "dce_lower"},
    "D-ECE": {"dece"},
    "d-ece": {"dece"},
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
    "ECE-FOTT": {id for id in catalogue if id.startswith("fott_")},
    "Fit-on-the-test calibration error": {id for id in catalogue if id.startswith("fott_")},
    "CIS": {"cox_intercept", "cox_slope"},
    "Cox intercept and slope": {"cox_intercept", "cox_slope"},
    "Cox's intercept and slope method": {"cox_intercept", "cox_slope"},
    "Cox's method": {"cox_intercept", "cox_slope"},
    "ECCE": {"ecce_mad", "ecce_r"},
    "empirical cumulative calibration error": {"ecce_mad", "ecce_r"},
}

# Words of the other works, and what has them.
WORDS = {
    "Traditional ECE": "ece",
    "Full ECE": "gece",
    "pseudo-Huber loss": "l1_eps",
    "Top-1 ECE": "use gece with lens 'top_label' and a gamma",
    "Top-1": "use gece with lens 'top_label' and a gamma",
    "inter-interval distance": "use gece with distance 'interval'",
    "inter-interval": "use gece with distance 'interval'",
    "k-d tree": "use gece with a gamma",
    "Mahalanobis distance": "use gece with distance 'mahalanobis'",
    "Wilcox's variation ratio": "use vce with variation 'wilcox_variation_ratio'",
    "IQV": "use vce with variation 'iqv'",
    "recalibrate": "recalibrate",
    "TemperatureScaling": "TemperatureScaling",
    "isotonic regression": "IsotonicCalibration",
    "Likert": "decision.likert_error",
    "calibration gain": "recalibrate",
    "epistemic loss": "decompose",
    "uncertainty": "decompose",
    "safe calibration": "SafeCalibration",
    "consistency calibration": "ConsistencyCalibration",
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_papers_is_a_metric_or_names_what_exists(word: str) -> None:
    if WORDS[word] in cal.catalogue:
        assert catalogue[word].id == WORDS[word]
        return
    with pytest.raises(cal.errors.UnknownMetricError) as caught:
        catalogue[word]
    assert WORDS[word] in str(caught.value)


@in_turn("name", list(SURVEY))
def test_a_name_of_the_survey_is_its_metric_everywhere(name: str) -> None:
    metric = getattr(cal, SURVEY[name])
    assert catalogue[name] is metric
    assert choose_metrics([name]) == choose_metrics(name) == [metric]
    assert metric_named(name, "NAME") is metric
    assert metric in catalogue.find(name)


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
    ("text", "first"),
    [
        ("smooth", "smece"),
        ("classwise", "cwce"),
        ("Kolmogorov", "ecce_mad"),
        ("expected calibration", "ece"),
        ("slope", "cox_slope"),
        ("brier_score_lose", "brier"),
        ("bin count search", "drmsce_bcs"),
        ("nearest neighbours", "ece_knn"),
        ("LogSumExp", "lse_ece"),
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
    with raises(cal.errors.UnknownMetricError, "metric"):
        catalogue[name]


PUBLIC = [getattr(cal, name) for name in dir(cal)]
CALIBRATORS = [each.__name__ for each in PUBLIC if isinstance(each, type) and issubclass(each, Calibrator)]


@pytest.mark.parametrize("calibrator", CALIBRATORS)
def test_a_calibrator_is_known_by_its_name(calibrator: str) -> None:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", calibrator).lower()
    for name in (calibrator, spaced):
        with pytest.raises(cal.errors.UnknownMetricError, match=f"in Python, it is {calibrator};"):
            catalogue[name]


def test_an_ambiguous_abbreviation_states_both_meanings() -> None:
    with pytest.raises(cal.errors.AmbiguousMetricError) as caught:
        catalogue["D-ECE"]
    assert "differentiable ECE" in caught.value.remedy
    assert "detection ECE" in caught.value.remedy
    assert catalogue["DECE"] is cal.dece


@pytest.mark.parametrize("name", [name for names in related()["options"].values() for name in names])
def test_the_command_line_prints_the_whole_remedy_of_a_name_with_an_option(name: str, run: Run, tmp_path: Path) -> None:
    (use,) = [use for use, names in related()["options"].items() if name in names]
    (tmp_path / "rows.csv").write_text("label,prob\n0,0.2\n1,0.7\n", encoding="utf-8")
    for command in (["metrics", name], ["evaluate", tmp_path / "rows.csv", "--metrics", name]):
        code, _, err = run(*command)
        assert code == 2
        assert err.rstrip().endswith(f"is a metric with an option; use {use}")


def test_two_words_are_a_name_in_their_order_only() -> None:
    assert catalogue["test for calibration"] is cal.t_cal
    with pytest.raises(cal.errors.UnknownMetricError):
        catalogue["calibration test"]
