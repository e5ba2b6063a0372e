"""The catalogue and its entries: looking up, searching, declaring, printing, pickling."""

import gc
import math
import os
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import catalogue
from calibrant.metrics import Metric
from calibrant.metrics.registry import Catalogue, metric, preset
from calibrant.util import kernels
from calibrant.views import View, resolve
from tests.calling import call, raises

Y, P = [0, 1, 1, 0], [0.2, 0.8, 0.6, 0.3]


def mean_gap(view: View, *, power: float = 1) -> float:
    """Mean score minus mean outcome."""
    return abs(view.mean(view.score) - view.mean(view.raw_outcome)) ** power


def private_metric(id: str = "gap", **facts: Any) -> Metric:
    record = {"family": "own", "subfamily": "gaps"}
    record |= {name: facts.pop(name) for name in ("family", "subfamily", "names") if name in facts}
    facts = {"range": (0, 1), "ideal": 0, "cite": "naeini2015", **facts}
    return Metric(facts.pop("formula", mean_gap), id, "Gap <b>of</b> means", facts=record, **facts)


def test_an_id_wins_over_an_alias() -> None:
    # "MCE" is an alias of two metrics, "mce" the id of one of them.
    assert catalogue["mce"] is cal.mce
    assert "MCE" not in catalogue


@pytest.mark.parametrize(
    "name",
    ["O/E", "OE", "O:E", "observed-to-expected ratio", "observed expected ratio", "Ratio of observed to expected"],
)
def test_the_inverse_ratio_is_not_taken_for_the_ratio(name: str) -> None:
    """Word order does not matter in names, except here."""
    with raises(cal.errors.UnknownMetricError, "metric"):
        catalogue[name]
    assert name not in catalogue
    assert catalogue["E/O"] is catalogue["expected-to-observed ratio"] is cal.expected_observed_ratio


@pytest.mark.parametrize("name", ["intercept at slope 1", "Calibration intercept given slope 1", "logit CITL"])
def test_other_names_of_the_intercept_at_slope_1(name: str) -> None:
    assert catalogue[name] is cal.fixed_slope_intercept


def test_find_by_facts_and_text() -> None:
    strictly = catalogue.find(proper="strictly")
    assert {"brier", "nll"} <= {m.id for m in strictly} < set(catalogue)
    assert all(m.proper == "strictly" for m in strictly)
    assert cal.esce in catalogue.find(signed=True, family="bin")
    assert cal.ecd not in catalogue.find(signed=True, family="bin")
    assert cal.mce in catalogue.find(use_cases="safety")
    assert cal.ece in catalogue.find(names="ECE-EW")
    assert cal.rmsce in catalogue.find(base="ece")
    assert catalogue.find("BRIER") == [m for m in catalogue.values() if "brier" in str(m.to_dict()).lower()]
    assert catalogue.find() == list(catalogue.values())
    assert catalogue.find("no entry says this") == []
    assert catalogue.find(proper=True) == strictly
    assert catalogue.find(tests=True) == catalogue.find(test=True)
    assert catalogue.find(family="bins") == []
    assert catalogue.find(proper=False, family="bin") == catalogue.find(family="bin")
    assert cal.root_brier in catalogue.find(range=(0, math.sqrt(2)))
    assert cal.brier not in catalogue.find(range=(0, math.sqrt(2)))


def test_tree_and_print_show_every_metric_once() -> None:
    leaves = [m for subfamilies in catalogue.tree().values() for metrics in subfamilies.values() for m in metrics]
    assert sorted(m.id for m in leaves) == sorted(catalogue)
    text = repr(catalogue)
    assert text.splitlines()[0] == f"{len(catalogue)} calibration metrics"
    for m in catalogue.values():
        assert sum(line.split()[:1] == [m.id] for line in text.splitlines()) == 1
    assert repr(cal.ece) == "<metric ece: Expected calibration error>"


def test_declaring_a_metric_on_a_catalogue_of_ones_own() -> None:
    mine = Catalogue()
    gap = private_metric(names=("the gap",))
    mine.add(gap)
    assert mine["The Gap"] is gap
    assert "gap" not in set(catalogue)
    assert gap(Y, P) == pytest.approx(0.025)
    assert gap(Y, P, power=2) == pytest.approx(0.025**2)
    # Lens, selection and weights come with the declaration.
    p3, y3 = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1]], [0, 2]
    assert gap(y3, p3) == pytest.approx(0.65 - 0.5)
    assert gap(y3, p3, lens=cal.classwise(combine="max")) == pytest.approx(0.4)
    assert gap(Y, P, where=[True, True, False, False]) == pytest.approx(0)
    assert gap(cal.Predictions(Y, P, counts=[1, 3, 0, 0])) == pytest.approx(0.1)


def test_a_formula_must_say_what_it_reads() -> None:
    facts = {"family": "x", "subfamily": "x", "range": (0, 1), "ideal": 0, "cite": "naeini2015"}
    for formula in (lambda view: 0.0, private_metric):
        with pytest.raises(cal.errors.ArgumentError, match="View, VectorView or Block"):
            call(metric, "Nothing", **facts)(formula)
    with raises(cal.errors.ArgumentError, "metric"):
        preset(cal.brier, "ece", "Taken", summary="Taken.")


@pytest.mark.parametrize("mixed", ["counts", "classes", "input"])
def test_an_option_may_not_take_a_word_that_means_something_else(mixed: str) -> None:
    with pytest.raises(cal.errors.ArgumentError, match=f"'{mixed}' is an option of every metric"):
        private_metric(defaults={mixed: 1})


def test_what_a_formula_needs_and_refuses_is_checked_before_it_runs() -> None:
    picky = private_metric(needs=("groups",))
    with raises(cal.errors.InputTypeError, "groups"):
        picky(Y, P)
    assert picky(cal.Predictions(Y, P, groups=["a", "b", "a", "b"])) == pytest.approx(0.025)
    with raises(cal.errors.UndefinedMetricError, "gap"):
        private_metric(soft=False)(cal.Predictions([0.1, 0.2, 0.3, 0.4], P, soft=True))
    with raises(cal.errors.WeightsNotSupportedError, "counts"):
        private_metric(counts=False)(cal.Predictions(Y, P, counts=[1, 2, 1, 1]))
    with raises(cal.errors.WeightsNotSupportedError, "sample_weight"):
        private_metric(importance=False)(Y, P, sample_weight=[1, 2, 1, 1])
    assert private_metric(counts=False)(cal.Predictions(Y, P, counts=[1, 1, 1, 1])) == pytest.approx(0.025)


def test_not_a_number_is_never_returned() -> None:
    def no_number(view: View) -> float:
        return math.nan

    hollow = private_metric("hollow", formula=no_number)
    with raises(cal.errors.UndefinedMetricError, "hollow"):
        hollow(Y, P)


@pytest.mark.parametrize("lens", ["binary", "class:2", "classwise", "pair:0,1", "top_label"])
def test_a_sign_speaks_of_levels_or_of_confidence(lens: str) -> None:
    for id in ("ecd", "nses", "spiegelhalter_z"):
        m = cal.catalogue[id]
        assert m.info.sign_of == m.to_dict()["sign_of"] == "confidence"
        assert m.ideal is not None
        assert m.direction(m.ideal + 1, lens) == "overconfident"
        assert m.direction(m.ideal, lens) == ""
    wanted = "underconfident" if lens == "top_label" else "underestimates"
    for id in ("esce", "expected_observed_ratio", "calibration_in_the_large"):
        m = cal.catalogue[id]
        assert m.ideal is not None
        assert m.direction(m.ideal - 0.1, lens) == wanted
        assert m.direction(m.ideal - 0.1, lens, {"form": "mean"}) == wanted
    assert cal.calibration_in_the_large.direction(0.1, lens, {"form": "logit"}) == wanted
    assert cal.fixed_slope_intercept.direction(0.1, lens) == wanted
    assert cal.cox_intercept.direction(0.1, lens) == f"{wanted} at 0.5"
    assert cal.cox_slope.direction(0.9, lens) == "too extreme"
    assert cal.cox_slope.direction(-0.9, lens) == "reversed"


@pytest.mark.parametrize("id", ["ece", "smece", "brier", "gece", "cwce", "vce"])
def test_a_call_leaves_nothing_for_the_collector(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that wait for it fill the memory of a loop over many data."""
    made = []

    def noted(maker: Any) -> Any:
        def make(*arguments: Any) -> Any:
            found = maker(*arguments)
            made.append(weakref.ref(found))
            return found

        return make

    for name in ("as_predictions", "parse_selection"):
        monkeypatch.setattr(resolve, name, noted(getattr(resolve, name)))
    rows = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.4, 0.1]]
    gc.disable()
    try:
        cal.catalogue[id]([0, 1, 2, 1, 0] * 20, rows * 20)
        cal.catalogue[id]([0, 1, 2, 1, 0] * 20, rows * 20, where=cal.select.label(0))
        assert len(made) == 3
        assert all(reference() is None for reference in made)
    finally:
        gc.enable()


# Names of the literature for a form that is an option here: as an alias they would return another number.
@pytest.mark.parametrize(
    "name",
    [
        "Hosmer-Lemeshow H",  # equal-width bins, and the default is the C statistic
        "Chebyshev error",  # the largest entry, and the default is the mean
        "CORP calibration error",  # a difference of Brier scores, and the metric is a mean distance
        "verified calibration error",  # a root, and the metric is its square
        "marginal calibration error",  # a root mean square over classes, and the metric is a mean
        "top-label calibration error",  # a root mean square too, or conditional on the predicted class
    ],
)
def test_names_of_other_forms_are_not_aliases(name: str) -> None:
    with pytest.raises(cal.errors.UnknownMetricError):
        catalogue[name]


def test_a_call_takes_a_short_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the package that a call passes through, and calls of its functions, of which a warm one makes fewest."""
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    y = (rng.random(1000) < p).astype(int)
    files: set[str] = set()
    calls: list[str] = []
    root = os.path.dirname(cal.__file__)

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            files.add(frame.f_code.co_filename)
            calls.append(frame.f_code.co_name)

    monkeypatch.setattr(kernels, "loaded", {})  # as in a process that has not loaded numba
    cal.ece(y, p)
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        cal.ece(y, p)
    finally:
        sys.setprofile(before)
    assert len(files) <= 16, sorted(files)
    assert len(calls) <= 79, calls
