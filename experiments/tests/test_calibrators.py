"""Every map on predictions that real models and people made: valid probabilities, columns in order, no loss that explodes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.recalibration.methods import METHODS
from experiments import calibrators

SETS = ["agnews_bert_n1000_bihani", "calzone_welldata", "f538_worldcup_ingame_3way", "icu_saps2_giviti"]
ROWS = 1500


@pytest.fixture(scope="module", params=SETS)
def problem(request: pytest.FixtureRequest, data_folder: Path) -> Any:
    [found] = calibrators.problems(data_folder, {request.param}, ROWS)
    return found


@pytest.mark.parametrize("name", ["temperature", "platt", "vector", "beta", "venn_abers", "intra_order_preserving"])
def test_maps_of_few_parameters_do_little_harm(name: str, problem: Any) -> None:
    labels = problem.test.labels
    assert calibrators.loss(calibrators.predicted(name, problem), labels) < 1.05 * calibrators.loss(
        problem.test.probs, labels
    )


def test_sets_without_a_probability_of_each_class_are_left_out(data_folder: Path) -> None:
    names = [problem.name for problem in calibrators.problems(data_folder, most=100)]
    assert len(set(names)) == len(names) >= 40
    assert not any(name.startswith(("top1", "tcal", "sciq")) for name in names)


@pytest.mark.filterwarnings("ignore::calibrant.errors.InputWarning")
@pytest.mark.parametrize("name", ["bias_corrected_temperature", "vector", "matrix", "dirichlet"])
def test_forecasts_of_yes_and_no_only_are_mapped_to_their_rates(name: str) -> None:
    """Some forecasts are exactly 0 or 1; their logits are so large that no small step changes the loss."""
    said = np.repeat([0.0, 1.0], 500)
    outcome = np.concatenate([np.arange(500) < 100, np.arange(500) < 350]).astype(int)
    fitted = METHODS[name]().fit(said, outcome)
    np.testing.assert_allclose(fitted.predict_proba([0.0, 1.0])[:, 1], [0.2, 0.7], atol=0.01)
