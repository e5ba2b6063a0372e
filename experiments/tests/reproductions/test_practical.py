"""The study beyond the predicted class: its tables of classes, its own formulas, and what holds in the small form."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import calibrant as cal
from experiments.reproductions import practical
from experiments.reproductions import practical_causes as causes
from experiments.reproductions import practical_measure as measure
from experiments.reproductions import practical_reading as reading
from experiments.reproductions import practical_sets as sets
from experiments.reproductions import practical_stability as stability
from experiments.reproductions.study import Study, as_page
from experiments.studies import draw_labels

FEW = {source.file for source in sets.FEW_SOURCES}


@pytest.fixture(scope="module")
def small(real_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, dict[str, Any], Path]:
    """The small form, with the numbers that it was made of."""
    kept: dict[str, Any] = {}
    once = practical.measure_set

    def keep(data: Path, source: sets.Source, short: bool) -> dict[str, Any]:
        kept[source.file] = once(data, source, short)
        return kept[source.file]

    pictures = tmp_path_factory.mktemp("practical")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(practical, "measure_set", keep)
        study = practical.run(True, real_folder, pictures)
    return study, kept, pictures


def test_every_superclass_has_five_classes_and_every_class_one_superclass() -> None:
    assert len(sets.SUPERCLASSES) == 20
    assert {len(names) for names in sets.SUPERCLASSES.values()} == {5}
    assert len(set(sets.CIFAR100)) == 100
    assert sorted(measure.leaves(sets.cifar100_tree())) == list(range(100))
    above = [name for kinds in sets.KINDS.values() for names in kinds.values() for name in names]
    assert sorted(above) == sorted(sets.SUPERCLASSES)
    # Numbers that are well known from the files of CIFAR-100.
    numbers = [sets.CIFAR100.index(name) for name in ("apple", "baby", "cattle", "rose", "worm")]
    assert numbers == [0, 2, 19, 70, 99]


def test_groups_of_cifar10_are_complete() -> None:
    assert sorted(measure.leaves(sets.CIFAR10_GROUPS)) == list(range(10))
    assert [sets.CIFAR10[number] for number in sets.VEHICLES] == ["airplane", "automobile", "ship", "truck"]


def test_confusions_within_a_group_are_counted_against_chance() -> None:
    said = np.array([1, 0, 2, 3, 0, 3])
    rows = sets.Rows(np.array([0, 1, 3, 3, 2, 2]), np.eye(4)[said])
    # Five are wrong; 1 for 0, 0 for 1, 2 for 3 and 3 for 2 stay inside, 0 for 2 does not.
    assert measure.within_superclass(rows, {"a": [0, 1], "b": [2, 3]}) == pytest.approx((4 / 5, 1 / 3))
    # Groups of unlike size: chance is the mean, over the wrong rows, of the other classes of the group.
    share, chance = measure.within_superclass(rows, {"a": [0], "b": [1, 2, 3]})
    assert (share, chance) == pytest.approx((2 / 5, (0 + 4 * 2 / 3) / 5))


def test_labels_are_drawn_from_the_probabilities() -> None:
    probs = np.tile([0.5, 0.2, 0.3, 0.0], (40_000, 1))
    labels = draw_labels(probs, np.random.default_rng(0))
    assert np.bincount(labels, minlength=4) / len(labels) == pytest.approx([0.5, 0.2, 0.3, 0], abs=0.01)
    assert draw_labels(np.eye(3), np.random.default_rng(1)).tolist() == [0, 1, 2]


def test_drawn_labels_show_no_more_than_chance() -> None:
    """For predictions that are calibrated, an error is as large as the chance that is taken off, but for noise."""
    drawn = cal.inference.make_calibrated(4000, distribution=(0.4,) * 10, rng=0)
    p = cal.Predictions(drawn.y_true, drawn.y_prob)
    seen, chance = measure.errors(p, sets.LENET), measure.by_chance(p, sets.LENET, 4, 0)
    assert seen["full"][0] > 0.02
    assert seen["full"][0] == pytest.approx(chance["full"][0], abs=0.012)
    assert seen["groups"] == pytest.approx(chance["groups"], abs=0.03)
    assert min(chance["groups"]) > 0.05  # rows chosen by their label: not 0 for calibrated predictions


def test_rates_outside_an_interval() -> None:
    """Forty rows are one bin, so that the distance is that of one rate."""
    score = np.r_[np.full(40, 0.2), np.full(60, 0.5), np.full(30, 0.95)]
    happened = np.r_[np.repeat([1, 0], [20, 20]), np.repeat([1, 0], [30, 30]), np.repeat([1, 0], [24, 6])]
    probs = np.zeros((130, 10))
    probs[:, sets.CIFAR10.index("cat")], probs[:, sets.CIFAR10.index("truck")] = score, 1 - score
    labels = np.where(happened == 1, sets.CIFAR10.index("dog"), sets.CIFAR10.index("ship"))
    found = measure.by_interval(cal.Predictions(labels, probs), sets.LENET, 2, 0)
    assert found["rows"] == [40, 60, 30, 100, 30]
    assert found["outside"][:3] == pytest.approx([0.5 - 0.33, 0, 0])
    assert found["outside"][4] == pytest.approx(0.9 - 0.8)
    assert found["error"][:3] == pytest.approx([0.3, 0, 0.15])
    empty = measure.by_interval(cal.Predictions(labels[:40], probs[:40]), sets.LENET, 2, 0)
    assert empty["error"][1] is None
    assert empty["rows"][1] == 0


def test_top_1_rows_are_those_of_the_top_label_lens(data_folder: Path) -> None:
    whole, top = (stability.predictions(data_folder, sets.LENET, lens, 500) for lens in (stability.FULL, stability.TOP))
    tree = cal.KDTree(gamma=0.125)
    assert cal.gece(top, lens="binary", binning=tree) == pytest.approx(cal.gece(whole, lens="top_label", binning=tree))


def test_marks_need_every_split() -> None:
    before = np.array([0.3, 0.2])
    assert reading.change(before, before - 0.1) == -1
    assert reading.change(before, before + np.array([0.1, -0.1])) == 0
    assert reading.marked(before, before + 0.1) == f"0.3500 {reading.HIGHER}"
    assert reading.marked(before, before) == "0.2500"
    assert reading.marked(before, np.array([np.nan, np.nan])) == "no rows"
    assert stability.steps({"value": [0.1, 0.15, 0.15]}) == pytest.approx([0.5, 0])


def test_bins_are_chosen_by_error_among_those_that_keep_the_accuracy() -> None:
    drawn = cal.inference.make_miscalibrated(
        900, warp=cal.inference.simulation.temperature(2.0), distribution=(0.5,) * 4, rng=3
    )
    rows = sets.Rows(np.asarray(drawn.y_true, np.intp), drawn.y_prob)
    raw = np.mean(rows.probs.argmax(axis=1) == rows.labels)
    allowed = {}
    for bins, binning in sets.bin_grid(4):
        probs = sets.histogram_folds(rows, bins, binning)
        if raw - np.mean(probs.argmax(axis=1) == rows.labels) <= 0.05:
            allowed[bins, binning] = cal.ece(rows.labels, probs, lens="top_label")
    assert sets.chosen_bins(rows) == min(allowed, key=lambda one: allowed[one])


def test_without_data_there_are_no_parts_and_it_says_so(tmp_path: Path) -> None:
    study = practical.run(True, None, tmp_path)
    assert list(study.parts) == []
    assert "CALIBRANT_DATA" in as_page(study)


@pytest.mark.deep
def test_small_form_has_every_part(small: tuple[Study, dict[str, Any], Path]) -> None:
    study, kept, pictures = small
    assert set(kept) == FEW
    assert len(study.parts) == 9
    named = {name for part in study.parts for name, _ in part.pictures}
    assert named == {path.name for path in pictures.iterdir()}
    assert len(named) == 2
    assert all((pictures / name).stat().st_size < 150_000 for name in named)
    assert "nan " not in as_page(study)


def test_confusions_of_cifar100_stay_in_superclasses(real_folder: Path) -> None:
    """Were the stored class numbers in another order, they would not."""
    share, chance = practical.confusion(real_folder, sets.C100)
    assert chance == pytest.approx(4 / 99)
    assert share > 8 * chance


def test_few_rows_of_the_fit_cost_accuracy(real_folder: Path) -> None:
    """The paper's loss of 0.4 points lies between those of 1,000 and of 2,000 rows."""
    found = causes.bias_by_rows(real_folder, (500,), 1)
    assert found[500][0] < -0.01
