"""What a picture can be made from: sketches give the numbers of their rows, and what cannot be drawn says so."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import calibrant as cal

RNG = np.random.default_rng(5)
P = RNG.dirichlet([1, 1, 2], 400)
Y = np.array([RNG.choice(3, p=row) for row in P])
NAMES = ["cat", "dog", "cow"]
# Scores that one cell of a sketch holds alone are kept exactly.
SCORE = np.round(RNG.random(300), 2)
LABEL = (RNG.random(300) < SCORE).astype(int)


@pytest.fixture(scope="module")
def three() -> cal.Sketches:
    return cal.Sketches.of(
        cal.Predictions(np.array(NAMES)[Y], P, classes=NAMES, groups=np.where(P[:, 0] > 0.3, "a", "b"))
    )


def test_sketches_stand_for_their_main_question(three: cal.Sketches) -> None:
    drawn = cal.reliability_diagram(three, bins=10, metrics=("ece",))
    rows = cal.reliability_diagram(Y, P, bins=10, metrics=("ece",))
    assert drawn.lens == "top_label"
    np.testing.assert_allclose(drawn.rate, rows.rate)
    assert drawn.metrics["ece"] == pytest.approx(rows.metrics["ece"], abs=1e-12)
    assert drawn.plot() is not None


def test_sketches_are_asked_other_questions_by_name(three: cal.Sketches) -> None:
    drawn = cal.reliability_diagram(three, bins=10, lens="class:dog")
    rows = cal.reliability_diagram(cal.Predictions(np.array(NAMES)[Y], P, classes=NAMES), bins=10, lens="class:dog")
    np.testing.assert_allclose(drawn.mean_score, rows.mean_score)
    for lens in ("rank:2", "classwise"):
        with pytest.raises(cal.errors.LensError):
            cal.reliability_diagram(three, lens=lens)


@pytest.mark.parametrize(
    "make",
    [
        cal.figures.cumulative_diagram,
        cal.figures.score_histogram,
        cal.figures.interval_error_diagram,
        cal.figures.murphy_diagram,
        lambda s: cal.figures.decision_curve(s),
        cal.figures.flexible_calibration_curve,
        lambda s: cal.figures.stability_diagram(s, values=[5, 10], n_resamples=0),
    ],
)
def test_pictures_of_one_question_take_sketches(make) -> None:  # type: ignore[no-untyped-def]
    of_sketches = make(cal.Sketches.of(LABEL, SCORE))
    assert of_sketches.to_dict() == make(cal.Sketch.of(LABEL, SCORE)).to_dict()
    assert of_sketches.plot() is not None


def test_models_may_be_sketches() -> None:
    found = cal.figures.reliability_panels({"one": cal.Sketches.of(LABEL, SCORE), "two": cal.Sketch.of(LABEL, SCORE)})
    assert found.diagrams["one"].to_dict() == found.diagrams["two"].to_dict()
    shown = cal.figures.murphy_diagram({"one": cal.Sketches.of(LABEL, SCORE)})
    assert shown["one"].brier == pytest.approx(np.mean((SCORE - LABEL) ** 2))


@pytest.mark.parametrize(
    "make",
    [
        cal.reliability_diagram,
        cal.figures.cumulative_diagram,
        cal.figures.score_histogram,
        cal.figures.uce_diagram,
        cal.figures.murphy_diagram,
    ],
)
def test_a_sketch_of_no_rows_is_refused(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(cal.errors.ShapeError) as error:
        make(cal.Sketch.empty("binary"))
    assert error.value.argument == "y_true"


def test_classes_of_sketches_are_panels_by_name(three: cal.Sketches) -> None:
    with pytest.raises(cal.errors.InputTypeError, match="reliability_panels"):
        cal.figures.classwise_panels(three)
    found = cal.figures.reliability_panels({name: three[f"class:{name}"] for name in NAMES})
    rows = cal.figures.classwise_panels(cal.Predictions(np.array(NAMES)[Y], P, classes=NAMES))
    for name in NAMES:
        np.testing.assert_allclose(found.diagrams[name].rate, rows.diagrams[name].rate)


def test_many_labels_are_named_as_many_questions() -> None:
    many = (P > 0.3).astype(int)
    several = "'classwise' has more than one event per row; name one class, for example lens='class:"
    for ask in (cal.reliability_diagram, cal.calibration_curve):
        with pytest.raises(cal.errors.LensError, match=f"{several}0'"):
            ask(cal.Predictions(many, P, multilabel=True))
        with pytest.raises(cal.errors.LensError, match=f"{several}{NAMES[0]}'"):
            ask(cal.Predictions(many, P, multilabel=True, classes=NAMES))
        assert len(ask(cal.Predictions(many, P, multilabel=True, classes=NAMES), lens=f"class:{NAMES[0]}").rate)
    with pytest.raises(cal.errors.LensError, match="use 'top_label' or 'class:NAME'"):
        cal.calibration_curve(Y, P, lens="classwise")
    with pytest.raises(cal.errors.LensError, match="name one class, for example lens='class:0'"):
        cal.inference.giviti_test(cal.Predictions(many, P, multilabel=True))


def test_names_are_never_read_as_formulas() -> None:
    from matplotlib.figure import Figure

    odd = [r"$\bad{$", "_x", "c"]
    named = np.array(odd)[Y]
    ax = Figure().add_subplot()
    cal.reliability_diagram(cal.Predictions(named, P, classes=odd), lens=r"class:$\bad{$").plot(ax)
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == r"mean predicted probability of \$\bad{\$"
    histogram = cal.figures.score_histogram(cal.Predictions(named, P, classes=odd), lens=r"class:$\bad{$").plot(
        Figure().add_subplot()
    )
    histogram.figure.canvas.draw()
    panels = cal.figures.classwise_panels(cal.Predictions(named, P, classes=odd)).plot()
    panels[0].figure.canvas.draw()
    both = cal.figures.reliability_panels(Y, {r"$\bad{$": P, "_b": P}).plot(layout="overlay")
    both[0].figure.canvas.draw()
    assert len(both[0].get_legend().get_texts()) >= 2
