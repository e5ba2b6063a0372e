"""What a picture can be made from: sketches give the numbers of their rows, and what cannot be drawn says so."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import calibrant as cal
from tests.calling import raises

RNG = np.random.default_rng(5)
P = RNG.dirichlet([1, 1, 2], 400)
Y = np.array([RNG.choice(3, p=row) for row in P])
NAMES = ["cat", "dog", "cow"]
SCORE = np.round(RNG.random(300), 2)
LABEL = (RNG.random(300) < SCORE).astype(int)


@pytest.fixture(scope="module")
def three() -> cal.Sketches:
    return cal.Sketches.of(
        cal.Predictions(np.array(NAMES)[Y], P, classes=NAMES, groups=np.where(P[:, 0] > 0.3, "a", "b"))
    )


def test_sketches_are_asked_other_questions_by_name(three: cal.Sketches) -> None:
    drawn = cal.reliability_diagram(three, bins=10, lens="class:dog")
    rows = cal.reliability_diagram(cal.Predictions(np.array(NAMES)[Y], P, classes=NAMES), bins=10, lens="class:dog")
    np.testing.assert_allclose(drawn["model"].mean_score, rows["model"].mean_score)
    for lens in ("rank:2", "classwise"):
        with pytest.raises(cal.errors.LensError):
            cal.reliability_diagram(three, lens=lens)


# Figures of one event, as functions of their data.
OF_ONE_EVENT = {
    "reliability": partial(cal.reliability_diagram, bins=10),
    "bootstrap": partial(cal.reliability_diagram, bins=4, uncertainty="bootstrap", n_resamples=50),
    "smooth": partial(cal.reliability_diagram, kind="smooth", uncertainty="consistency", n_resamples=50),
    "corp": partial(cal.reliability_diagram, kind="isotonic", uncertainty="consistency", n_resamples=50),
    "cumulative": cal.figures.cumulative_diagram,
    "intervals": cal.figures.interval_error_diagram,
    "murphy": cal.figures.murphy_diagram,
    "decomposition": cal.figures.decomposition_diagram,
    "risk": partial(cal.figures.risk_coverage_diagram, threshold=0.7),
    "decision": partial(cal.figures.decision_curve, thresholds=[0.1, 0.3, 0.5]),
    "flexible": cal.figures.flexible_calibration_curve,
    "residual": partial(cal.figures.flexible_calibration_curve, uncertainty="residual"),
    "spline": partial(cal.figures.flexible_calibration_curve, smoother="rcs", knots=3),
    "belt": partial(cal.figures.calibration_belt, method="likelihood_ratio", points=8),
    "stability": partial(cal.figures.stability_diagram, values=[5, 10], n_resamples=2),
}
# Scores that one cell of a sketch holds alone are kept exactly.
INNER = (SCORE > 0) & (SCORE < 1)
LABELS, SCORES = LABEL[INNER], SCORE[INNER]


def assert_same_columns(one: Any, other: Any) -> None:
    """The columns of two figures hold the same numbers, apart from the rows of a bin as they were given."""
    left, right = one._columns(), other._columns()
    assert list(left) == list(right)
    for name in left:
        if name not in ("rows", "model", "interval"):
            values = [[np.nan if value is None else value for value in columns[name]] for columns in (left, right)]
            np.testing.assert_allclose(*values, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("name", OF_ONE_EVENT)
def test_counts_are_repeated_rows(name: str) -> None:
    make, times = OF_ONE_EVENT[name], np.random.default_rng(0).integers(1, 4, len(LABELS))
    counted = make(cal.Predictions(LABELS, SCORES, counts=times))
    repeated = make(np.repeat(LABELS, times), np.repeat(SCORES, times))
    if name == "stability":  # resamples of rows and of counts are different draws
        np.testing.assert_allclose(counted.metric_value, repeated.metric_value)
        return
    assert_same_columns(counted, repeated)


@pytest.mark.parametrize("name", [name for name in OF_ONE_EVENT if name not in ("belt", "risk")])
def test_figures_of_one_event_take_sketches(name: str) -> None:
    make = OF_ONE_EVENT[name]
    of_sketches = make(cal.Sketches.of(LABELS, SCORES))
    assert of_sketches.to_dict() == make(cal.Sketch.of(LABELS, SCORES)).to_dict()
    if "n_resamples" not in getattr(make, "keywords", {}):
        assert_same_columns(of_sketches, make(LABELS, SCORES))


@pytest.mark.parametrize(
    "make",
    [
        cal.reliability_diagram,
        cal.figures.cumulative_diagram,
        cal.figures.uce_diagram,
        cal.figures.murphy_diagram,
    ],
)
def test_a_sketch_of_no_rows_is_refused(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(cal.errors.ShapeError) as error:
        make(cal.Sketch.empty("binary"))
    assert error.value.argument == "y_true"


def test_classes_of_sketches_are_panels_by_name(three: cal.Sketches) -> None:
    with raises(cal.errors.InputTypeError, "y_true"):
        cal.figures.classwise_panels(three)
    found = cal.reliability_diagram({name: three[f"class:{name}"] for name in NAMES})
    rows = cal.figures.classwise_panels(cal.Predictions(np.array(NAMES)[Y], P, classes=NAMES))
    for name in NAMES:
        np.testing.assert_allclose(found[name].rate, rows[name].rate)


def test_many_labels_are_named_as_many_questions() -> None:
    many = (P > 0.3).astype(int)
    several = "'classwise' has more than one event per row; name one class, for example lens='class:"
    for ask in (cal.reliability_diagram, cal.calibration_curve):
        with pytest.raises(cal.errors.LensError, match=f"{several}0'"):
            ask(cal.Predictions(many, P, multilabel=True))
        with pytest.raises(cal.errors.LensError, match=f"{several}{NAMES[0]}'"):
            ask(cal.Predictions(many, P, multilabel=True, classes=NAMES))
        one = ask(cal.Predictions(many, P, multilabel=True, classes=NAMES), lens=f"class:{NAMES[0]}")
        assert len(one["model"].rate if ask is cal.reliability_diagram else one.rate)
    with pytest.raises(cal.errors.LensError, match="name one class, for example lens='class:0'"):
        cal.inference.giviti_test(cal.Predictions(many, P, multilabel=True))
