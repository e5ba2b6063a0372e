"""`find_subgroups` beside the searches of other packages, each in an environment of its own, on the same data sets.

``python -m experiments.subgroups_peers draw FOLDER`` writes the data sets, ``python experiments/subgroups_peers.py NAME FOLDER`` searches them with
a package that is installed, and ``python -m experiments.subgroups_peers collect FOLDER`` adds the shares to the stored results.
"""

import json
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CASES = [{"rows": 2000, "gap": gap} for gap in (0.0, 0.2)]
RUNS = 30
# Columns that are not features.
OWN = ["score", "y", "wrong"]
Frame = pd.DataFrame


def draw(folder: Path) -> None:
    """Write the data sets of the study of power: a category and an interval in which the probability is higher by the gap."""
    from experiments.subgroups import features_of, scores_of

    for case in CASES:
        for number in range(RUNS):
            rng = np.random.default_rng([case["rows"], round(100 * case["gap"]), number])
            n = int(case["rows"])
            features = features_of(rng, n, 10)
            score = np.clip(scores_of(rng, n, "moderate", features["x0"]), 0.05, 0.75)
            wrong = (features["x2"] == "c0") & (features["x6"] > 0.3)
            own = {"score": score, "y": (rng.random(n) < score + case["gap"] * wrong).astype(int), "wrong": wrong}
            Frame({**features, **own}).to_csv(folder / f"{n}_{case['gap']}_{number}.csv", index=False)


def search_calibrant(data: Frame) -> Any:
    """The first subgroup of `find_subgroups`."""
    import calibrant as cal

    found = cal.find_subgroups(data["y"], data["score"], features=data.drop(columns=OWN))
    return found[0].mask if found else None


def search_pysubgroup(data: Frame) -> Any:
    """The subgroup of pysubgroup with the largest mean residual times the root of its size, of either sign, by a beam search."""
    import pysubgroup

    best = []
    for sign in (1, -1):
        own = data.drop(columns=OWN).assign(residual=sign * (data["y"] - data["score"]))
        space = pysubgroup.create_selectors(own, nbins=10, ignore=["residual"])
        quality = pysubgroup.StandardQFNumeric(0.5)
        task = pysubgroup.SubgroupDiscoveryTask(
            own, pysubgroup.NumericTarget("residual"), space, result_set_size=1, depth=2, qf=quality
        )
        value, subgroup, _ = pysubgroup.BeamSearch(beam_width=20).execute(task).results[0]
        best.append((value, np.asarray(subgroup.covers(own), bool)))
    return max(best, key=lambda each: each[0])[1]


def search_deepchecks(data: Frame) -> Any:
    """The weakest segment of `WeakSegmentsPerformance` of deepchecks, by its usual loss of each row."""
    from deepchecks.tabular import Dataset
    from deepchecks.tabular.checks import WeakSegmentsPerformance

    features = data.drop(columns=["score", "wrong"])
    texts = [name for name in features if features[name].dtype == object and name != "y"]
    numbers = features.assign(**{name: pd.to_numeric(features[name], errors="ignore") for name in texts})
    texts = [name for name in texts if numbers[name].dtype == object]
    proba = np.column_stack([1 - data["score"], data["score"]])
    check = WeakSegmentsPerformance(n_samples=len(data))
    dataset = Dataset(numbers, label="y", cat_features=texts)
    segments = check.run(dataset, y_proba=proba, y_pred=(proba[:, 1] > 0.5).astype(int), model_classes=[0, 1]).value
    segments = segments["weak_segments_list"]
    if isinstance(segments, str) or not len(segments):
        return None
    inside = np.ones(len(data), bool)
    for name, values in ((segments.iloc[0][f"Feature{k}"], segments.iloc[0][f"Feature{k} Range"]) for k in (1, 2)):
        if not isinstance(name, str) or not name:
            continue
        column = numbers[name]
        inside &= np.asarray(
            column.isin(values) if name in texts else (column > values[0]) & (column <= values[1]), bool
        )
    return inside


def search_giskard(data: Frame) -> Any:
    """The first slice that the scan of giskard reports for performance, over- or underconfidence."""
    import giskard

    features = data.drop(columns=OWN)
    proba = np.column_stack([1 - data["score"], data["score"]])
    model = giskard.Model(
        lambda rows: proba[rows.index], "classification", classification_labels=[0, 1], feature_names=list(features)
    )
    texts = [name for name in features if features[name].dtype == object]
    dataset = giskard.Dataset(features.assign(y=data["y"]), target="y", cat_columns=texts)
    only = ["performance", "overconfidence", "underconfidence"]
    issues = giskard.scan(model, dataset, only=only, verbose=False, raise_exceptions=True).issues
    if not issues:
        return None
    return data.index.isin(dataset.slice(issues[0].slicing_fn).df.index)


def search(name: str, folder: Path) -> None:
    """Search all data sets, and store what is reported and how much of it is the planted subgroup."""
    warnings.simplefilter("ignore")
    find: Callable[[Frame], Any] = globals()[f"search_{name}"]
    target = folder / f"{name}.json"
    rows = json.loads(target.read_text()) if target.exists() else {}
    for path in sorted(folder.glob("*.csv"), key=lambda each: int(each.stem.split("_")[2])):
        if path.stem in rows:
            continue
        data = pd.read_csv(path)
        mask, wrong = find(data), data["wrong"].to_numpy()
        share = 0.0 if mask is None else float((mask & wrong).sum() / (mask | wrong).sum())
        rows[path.stem] = {"any": mask is not None, "found": share >= 0.5}
        target.write_text(json.dumps(rows))


def collect(folder: Path) -> None:
    """Replace the rows of this study among the stored results."""
    from experiments.studies import write_rows
    from experiments.subgroups import RESULTS, STUDIES

    stored = [row for row in json.loads(RESULTS.read_text()) if row["study"] != "peers"]
    for path in sorted(folder.glob("*.json")):
        name, results = path.stem, json.loads(path.read_text())
        for case in CASES:
            own = [row for stem, row in results.items() if stem.startswith(f"{case['rows']}_{case['gap']}_")]
            if not own:
                continue
            shares = {key: round(math.fsum(row[key] for row in own) / len(own), 4) for key in ("any", "found")}
            stored.append({"study": "peers", "search": name, **case, "runs": len(own), **shares, "error": None})
    write_rows(stored, STUDIES, RESULTS)


if __name__ == "__main__":
    action, place = sys.argv[1], Path(sys.argv[2])
    {"draw": draw, "collect": collect}.get(action, lambda folder: search(action, folder))(place)
