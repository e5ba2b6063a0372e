"""The generalised error on the command line: selected rows, size of the cells and distance."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError
from tests.calling import Run

NAMES = np.array(["cat", "dog", "car", "bus"])
DATA = cal.inference.make_miscalibrated(
    257, warp=cal.inference.simulation.temperature(1.5), distribution=[0.5] * 4, rng=0
)
LABELS, PROBS = NAMES[DATA.y_true], DATA.y_prob
ROWS = cal.Predictions(LABELS, PROBS, classes=NAMES.tolist())


@pytest.fixture
def four(tmp_path: Path) -> Path:
    path = tmp_path / "four.parquet"
    columns = {f"p_{name}": PROBS[:, k] for k, name in enumerate(NAMES)}
    pd.DataFrame({"label": LABELS, **columns}).to_parquet(path)
    return path


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--option", "gamma=0.05"], {"gamma": 0.05}),
        (["--option", "distance=l1", "--option", "gamma=0.3"], {"distance": "l1", "gamma": 0.3}),
        (["--where", "label IN ('cat', 'dog')"], {"where": cal.select.label("cat", "dog")}),
        (["--where", "p_bus = greatest(p_cat, p_dog, p_car, p_bus)"], {"where": cal.select.predicted("bus")}),
    ],
)  # fmt: skip
def test_evaluate_gives_the_numbers_of_the_library(
    four: Path, run: Run, typed: list[str], words: dict[str, Any]
) -> None:
    code, out, err = run("evaluate", four, "--probs", "p_*", "--json", "--metrics", "gece,gece_db", *typed)
    assert (code, err) == (0, "")
    found = {entry["metric"]: entry["value"] for entry in json.loads(out)["metrics"]}
    for name, value in found.items():
        assert value == pytest.approx(cal.catalogue[name](ROWS, **words), abs=1e-12)
    arguments = {name: words.pop(name) for name in ("lens", "where") if name in words}
    evaluated = cal.evaluate(ROWS, metrics=["gece", "gece_db"], options=words, **arguments)
    assert found == pytest.approx({r.metric: r.value for r in evaluated.results})


def test_options_of_evaluate_are_those_of_every_metric_that_has_them_or_of_one() -> None:
    metrics = ["gece", "skce_uq", "multiclass_ce"]
    found = cal.evaluate(ROWS, metrics=metrics, options={"distance": "l2", "multiclass_ce.distance": "l1"})
    assert found["gece"] == pytest.approx(cal.gece(ROWS, distance="l2"))
    assert found["skce_uq"] == cal.skce_uq(ROWS, distance="l2")
    assert found["multiclass_ce"] == pytest.approx(cal.multiclass_ce(ROWS, distance="l1"))
    with pytest.raises(ArgumentError) as raised:
        cal.evaluate(ROWS, metrics=metrics, options={"distance": "kl"})
    assert raised.value.argument == "distance"
