"""Reliability diagrams of several models and classes: each is the single one, and pictures show what they hold."""

import numpy as np
from matplotlib.figure import Figure

import calibrant as cal
from calibrant.figures.panels import classwise_panels
from calibrant.figures.reliability_diagrams import reliability_diagram

from .pictures import drawn, png_of

SIM = cal.inference.make_miscalibrated(300, warp=cal.inference.simulation.temperature(2.0), rng=3)
MANY = cal.inference.make_calibrated(600, distribution=(1, 2, 3, 4), classes=4, rng=5)
MODELS = {"bold": SIM.y_prob, "meek": 0.5 * SIM.y_prob + 0.25, "cubed": SIM.y_prob**3}


def test_each_model_is_its_own_diagram() -> None:
    several = reliability_diagram(SIM.y_true, MODELS, bins=6, metrics=("ece",))
    for name, probs in MODELS.items():
        alone = reliability_diagram(SIM.y_true, probs, bins=6)["model"]
        assert np.array_equal(several[name].rate, alone.rate, equal_nan=True)
        assert np.array_equal([several[name].low, several[name].high], [alone.low, alone.high], equal_nan=True)
        assert several[name].metrics["ece"] == cal.ece(SIM.y_true, probs, bins=6)
    held = reliability_diagram({name: cal.Predictions(SIM.y_true, probs) for name, probs in MODELS.items()}, bins=6)
    assert np.array_equal(held["cubed"].rate, several["cubed"].rate, equal_nan=True)
    sketched = reliability_diagram({"a": cal.Sketch.of(SIM.y_true, MODELS["bold"])}, bins=10)
    rows = reliability_diagram(SIM.y_true, MODELS["bold"], bins=10)
    np.testing.assert_allclose(sketched["a"].rate, rows["model"].rate)
    columns = several._columns()
    assert columns["model"] == [name for name in MODELS for _ in range(6)]
    assert list(columns) == list(rows._columns())


def test_classes_are_drawn_side_by_side() -> None:
    panels = classwise_panels(MANY.y_true, MANY.y_prob, show=3, bins=6, metrics=("ece",))
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = panels.plot(figure)
    names = [panel.name for panel in panels.models]
    assert axes == figure.axes
    assert [ax.child_axes[0].get_title().splitlines()[0] for ax in axes] == names
    for ax, panel in zip(axes, panels.models, strict=True):
        full = ~panel.table.empty
        assert np.array_equal(drawn(ax, "curve")[0].get_xydata(), np.column_stack([panel.mean_score, panel.rate])[full])
    assert [bool(ax.get_ylabel()) for ax in axes] == [True, False, False]
    assert all(ax.get_xlabel().replace("\n", " ") == "mean predicted probability" for ax in axes)
    assert len(png_of(axes)) > 5000
    bare = panels.plot(Figure(), counts=None)
    assert [ax.get_title().splitlines()[0] for ax in bare] == names


def test_models_over_each_other_are_told_apart() -> None:
    several = reliability_diagram(SIM.y_true, MODELS, bins=6, metrics=("ece",))
    ax = several.plot(Figure(figsize=(3.3, 3.3)).subplots())
    curves = [line for line in ax.lines if line.get_gid() == "curve"]
    assert len(curves) == 3
    for style in ("get_color", "get_marker", "get_linestyle"):
        assert len({str(getattr(line, style)()) for line in curves}) >= (3 if style != "get_linestyle" else 2)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [word.split(" (")[0] for word in words[:3]] == list(MODELS)
    assert words[3:] == ["95% intervals"]
    assert several.plot(Figure().subplots(), scale="logit").get_xscale() == "logit"
    assert all(f"{name} ece 0." in repr(several).partition("\n")[0] for name in MODELS)


def test_classes_are_shown_by_how_often_they_occur() -> None:
    panels = classwise_panels(MANY.y_true, MANY.y_prob, level=None)
    often = np.bincount(MANY.y_true)
    assert [panel.name for panel in panels.models] == [f"class {k}" for k in np.argsort(-often, kind="stable")]
    direct = reliability_diagram((MANY.y_true == 2).astype(int), MANY.y_prob[:, 2])
    np.testing.assert_allclose(panels["class 2"].rate, direct["model"].rate)
    weight = np.where(MANY.y_true == 0, 100.0, 1.0)
    assert [
        panel.name
        for panel in classwise_panels(MANY.y_true, MANY.y_prob, sample_weight=weight, show=1, level=None).models
    ] == ["class 0"]
    names = np.array(["a", "b", "c", "d"])
    named = classwise_panels(
        cal.Predictions(names[MANY.y_true], MANY.y_prob, classes=list(names)), show=["d", "a"], level=None
    )
    assert [panel.name for panel in named.models] == ["d", "a"]
    assert named["a"].lens == "class:a"
    kept = classwise_panels(MANY.predictions.take(MANY.y_true < 2), show=2, level=None)
    assert kept["class 1"].table.total == (MANY.y_true < 2).sum()


def test_columns_of_many_labels_are_classes_too() -> None:
    labels, probs = np.array([[0, 1, 0], [0, 1, 1]]), np.array([[0.1, 0.9, 0.4], [0.2, 0.8, 0.6]])
    panels = classwise_panels(cal.Predictions(labels, probs, multilabel=True), show=2)
    assert [panel.name for panel in panels.models] == ["class 1", "class 2"]
    soft = classwise_panels(cal.Predictions(np.array([0.9, 0.8]), np.array([0.7, 0.6]), soft=True))
    assert [panel.name for panel in soft.models] == ["class 1", "class 0"]
