"""The study of variation: drawing and sums against plain definitions, claims in the small form, the page."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("matplotlib")

import calibrant as cal
from experiments.reproductions import variation, variation_measure, variation_pictures
from experiments.reproductions.study import Study

SETTINGS = variation_measure.SETTINGS


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("variation")


@pytest.fixture(scope="module")
def results() -> variation_measure.Results:
    return variation_measure.measure(variation_measure.SMALL)


@pytest.fixture(scope="module")
def small(results: variation_measure.Results, pictures: Path) -> Study:
    return variation.build(results, pictures)


def drawn(setting: variation_measure.Setting, rows: int) -> tuple[np.ndarray, np.ndarray]:
    return variation_measure.draw(setting, rows, np.random.default_rng(5))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_forecasts_follow_the_dirichlet_law_and_labels_the_forecasts(setting: variation_measure.Setting) -> None:
    labels, probs = drawn(setting, 40_000)
    distribution = np.array(setting.distribution)
    assert np.abs(probs.sum(axis=0) - 1).max() < 1e-12
    law_of_first = stats.beta(distribution[0], distribution[1:].sum())
    assert stats.kstest(probs[0], law_of_first.cdf).pvalue > 1e-3
    law_of_last = stats.beta(distribution[-1], distribution[:-1].sum())
    assert stats.kstest(probs[-1], law_of_last.cdf).pvalue > 1e-3
    for place in range(setting.classes):
        excess = (labels == place) - probs[place]
        assert abs(excess.sum()) < 4 * math.sqrt((probs[place] * (1 - probs[place])).sum())


def test_entropy_is_that_of_scipy_and_a_sure_forecast_has_none() -> None:
    _, probs = drawn(SETTINGS[2], 200)
    assert variation_measure.normalised_entropy(probs) == pytest.approx(stats.entropy(probs, base=10), abs=1e-12)
    assert variation_measure.normalised_entropy(np.eye(3)[:, :1]).tolist() == [0]
    assert variation_measure.normalised_entropy(np.full((4, 1), 0.25)) == pytest.approx([1])


def plain_errors(labels: np.ndarray, probs: np.ndarray) -> dict[str, float]:
    """The three errors with equal-width bins as the paper writes them, row by row."""
    classes, rows = probs.shape
    found = {"vce": 0.0, "ece": 0.0, "uce": 0.0}
    order = [sorted(range(classes), key=lambda k, i=i: -probs[k, i]) for i in range(rows)]
    entropy = [-sum(p * math.log(p, classes) for p in probs[:, i]) for i in range(rows)]
    top = [probs[order[i][0], i] for i in range(rows)]
    right = [labels[i] == order[i][0] for i in range(rows)]
    low = 1 / classes
    for m in range(10):
        inside = [i for i in range(rows) if m / 10 < entropy[i] <= (m + 1) / 10]
        if inside:
            stated = [sum(probs[order[i][c], i] for i in inside) / len(inside) for c in range(classes)]
            seen = [sum(labels[i] == order[i][c] for i in inside) / len(inside) for c in range(classes)]
            gap = stats.entropy(seen, base=classes) - stats.entropy(stated, base=classes)
            found["vce"] += len(inside) / rows * abs(gap)
            found["uce"] += abs(sum(1 - right[i] for i in inside) - sum(entropy[i] for i in inside)) / rows
        edges = low + (1 - low) * m / 10, low + (1 - low) * (m + 1) / 10
        inside = [i for i in range(rows) if edges[0] < top[i] <= edges[1]]
        found["ece"] += abs(sum(right[i] for i in inside) - sum(top[i] for i in inside)) / rows
    return found


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_whole_arrays_and_cells_give_the_errors_of_the_paper(setting: variation_measure.Setting) -> None:
    labels, probs = drawn(setting, 400)
    cells = variation_measure.Cells(setting.classes)
    cells.add(labels[:150], probs[:, :150])
    cells.add(labels[150:], probs[:, 150:])
    whole, summed = variation_measure.measure_whole(labels, probs.T), cells.measure()
    for metric, value in plain_errors(labels, probs).items():
        assert whole[f"{metric} equal_width"] == pytest.approx(value, rel=1e-9), metric
        assert summed[f"{metric} equal_width"] == pytest.approx(value, rel=1e-9), metric
        # 400 rows hardly share one of the 100 000 cells, so the bins of equal frequency are the same too.
        assert summed[f"{metric} equal_mass"] == pytest.approx(whole[f"{metric} equal_mass"], rel=0.02), metric


def test_gaps_of_the_diagrams_add_up_to_the_errors(results: variation_measure.Results) -> None:
    values = results.cells.measure()
    for metric, (stated, observed, share) in variation_pictures.bins_of(results.cells).items():
        assert share.sum() == pytest.approx(1)
        assert (share * np.abs(stated - observed)).sum() == pytest.approx(values[f"{metric} equal_width"], rel=1e-9)


def test_slopes_are_those_of_polyfit_and_falls_counts_whole_paths() -> None:
    sizes = (10, 100, 1000)
    paths = np.array([[0.3, 0.1, 0.02], [0.3, 0.1, 0.2]])
    expected = [np.polyfit(np.log(sizes), np.log(path), 1)[0] for path in paths]
    assert variation.slopes(sizes, paths) == pytest.approx(expected)
    assert variation.falls(paths) == 1


@pytest.mark.parametrize("classes", [3, 10])
def test_the_closed_form_of_the_floor_is_the_mean_over_many_forecasts(classes: int) -> None:
    _, probs = drawn(variation_measure.Setting(classes, False), 100_000)
    gap = stats.entropy(probs, base=classes) - (1 - probs.max(axis=0))
    assert abs(gap.mean() - variation.flat_floor(classes)) < 4 * gap.std() / math.sqrt(len(gap))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
@pytest.mark.parametrize("binning", variation_measure.BINNINGS)
def test_vce_and_ece_fall_and_uce_keeps_its_floor(
    results: variation_measure.Results, setting: variation_measure.Setting, binning: str
) -> None:
    for metric in ("vce", "ece"):
        paths = results.paths(setting, f"{metric} {binning}")
        assert paths.shape == (3, 3)
        assert -0.75 < variation.slopes(results.plan.sizes, paths).mean() < -0.35
    last = results.of(setting, results.plan.sizes[-1], f"uce {binning}")
    floor = results.of(setting, results.plan.sizes[-1], f"floor {binning}")
    assert last.mean() > 0.1
    assert last == pytest.approx(floor, rel=0.05)


def test_the_same_run_gives_the_same_values(results: variation_measure.Results) -> None:
    found, _ = variation_measure.one_repetition(SETTINGS[1], 1, variation_measure.SMALL)
    for (size, name), value in found.items():
        assert results.of(SETTINGS[1], size, name)[1] == value


@pytest.mark.parametrize("binning", variation_measure.BINNINGS)
def test_vce_with_confidence_is_ece_unless_it_is_the_largest_share(binning: str) -> None:
    """The paper calls confidence the largest probability; of the classes observed in a bin the first need not have the largest share."""
    labels, probs = drawn(SETTINGS[2], 400)
    rows = cal.Predictions(labels, probs.T)
    rule = variation_measure.confidence_bins(10) if binning == "equal_width" else cal.EqualMass(10)
    assert cal.vce(rows, variation="confidence", binning=rule) == pytest.approx(cal.ece(rows, binning=rule), abs=1e-12)
    mirrored = cal.EqualWidth(10, closed="left", range=(0, 0.9))
    literal = cal.vce(rows, variation="freeman_variation_ratio", binning=mirrored)
    assert literal != pytest.approx(cal.ece(rows, binning=variation_measure.confidence_bins(10)), abs=1e-6)
