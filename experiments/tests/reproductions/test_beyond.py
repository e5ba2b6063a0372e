"""The study of what the papers leave open: it runs, and its filters agree with plain ones."""

from pathlib import Path

import numpy as np
import pytest

from experiments.reproductions import beyond, beyond_tracker, beyond_variation


@pytest.mark.deep
def test_small_form_gives_every_part(real_folder: Path, tmp_path: Path) -> None:
    assert [len(part.tables) for part in beyond.run(True, real_folder, tmp_path).parts] == [3, 1, 1, 1]


def test_designs_are_distributions_and_leave_what_they_say() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    truths = beyond_variation.designs(p)
    assert all(np.allclose(truth.sum(axis=1), 1) for truth in truths.values())
    lower = truths["only below the top wrong"]
    assert np.allclose(np.take_along_axis(lower, p.argmax(axis=1)[:, None], axis=1)[:, 0], p.max(axis=1))


def test_filters_update_like_a_kalman_filter_where_the_measurement_is_nearly_linear() -> None:
    """Jacobian by differences; both updates of a certain prediction by the textbook formula, one target at a time."""
    rng = np.random.default_rng(1)
    mean = np.array([[30.0, 1.0, 20.0, -1.0], [-10.0, 0.0, 40.0, 0.5]])
    slope = np.stack(
        [(beyond_tracker.seen(mean + step) - beyond_tracker.seen(mean - step)) / 2e-6 for step in 1e-6 * np.eye(4)],
        axis=2,
    )
    assert beyond_tracker.slope_of(mean) == pytest.approx(slope, abs=1e-8)
    root = 0.01 * rng.normal(size=(2, 4, 4))
    cov, noise = root @ np.swapaxes(root, 1, 2) + 1e-4 * np.eye(4), np.diag([1e-4, 1e-7])
    z = beyond_tracker.seen(mean) + 0.001 * rng.normal(size=(2, 2))
    for update in beyond_tracker.FILTERS.values():
        after, left = update(mean, cov, z, noise)
        for row in range(2):
            gain = cov[row] @ slope[row].T @ np.linalg.inv(slope[row] @ cov[row] @ slope[row].T + noise)
            assert after[row] == pytest.approx(mean[row] + gain @ (z[row] - beyond_tracker.seen(mean)[row]), abs=1e-4)
            assert left[row] == pytest.approx((np.eye(4) - gain @ slope[row]) @ cov[row], abs=1e-6)
