"""Performance without labels beside NannyML, on the example data of NannyML: ``python -m benchmarks.labelfree``.

The environment needs nannyml, its only use here, and calibrant. Windows are its chunks of 5000 rows; both predict the event above a score of 0.5.
labelfree.json has the means of the comparison, and docs/monitor.md their table. No data are kept.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from experiments.rendering import ROOT, markdown_table

RESULTS, PAGE = Path(__file__).with_suffix(".json"), ROOT / "docs" / "monitor.md"
METRICS = {"accuracy": "accuracy", "roc_auc": "auroc", "f1": "f1", "precision": "precision", "recall": "recall"}
ROWS = 5000


def compare() -> dict[str, Any]:
    """Estimates of both and the values that the labels gave, summarized over the chunks."""
    import nannyml

    reference, new, targets = nannyml.load_synthetic_car_loan_dataset()
    for part in (reference, new):
        part["y_pred"] = (part["y_pred_proba"] > 0.5).astype(int)
    columns = {"y_pred_proba": "y_pred_proba", "y_pred": "y_pred", "y_true": "repaid"}
    options = {"metrics": list(METRICS), "chunk_size": ROWS, "problem_type": "classification_binary", **columns}
    estimated = nannyml.CBPE(**options).fit(reference).estimate(new).filter(period="analysis").to_df()
    labelled = new.merge(targets, on="id")
    realised = nannyml.PerformanceCalculator(**options).fit(reference).calculate(labelled)
    realised = realised.filter(period="analysis").to_df()
    known = cal.Predictions(reference["repaid"].to_numpy().astype(int), reference["y_pred_proba"].to_numpy())
    score = new["y_pred_proba"].to_numpy()
    windows = [
        cal.monitoring.estimate_performance(known, score[start : start + ROWS], metrics=list(METRICS.values()))
        for start in range(0, len(score), ROWS)
    ]
    results: dict[str, Any] = {"nannyml": nannyml.__version__, "windows": len(windows), "metrics": {}}
    for theirs, ours in METRICS.items():
        truth = realised[theirs]["value"].to_numpy()
        ends = ("lower_confidence_boundary", "upper_confidence_boundary")
        other, low, high = (estimated[theirs][name].to_numpy() for name in ("value", *ends))
        found = [window[ours] for window in windows]
        value = np.array([each.estimate for each in found])
        results["metrics"][ours] = {
            "error": round(float(np.abs(value - truth).mean()), 4),
            "error_nannyml": round(float(np.abs(other - truth).mean()), 4),
            "difference": round(float(np.abs(value - other).max()), 4),
            "inside": int(sum(each.low <= true <= each.high for each, true in zip(found, truth, strict=True))),
            "inside_nannyml": int(np.sum((low <= truth) & (truth <= high))),
        }
    return results


def table(results: dict[str, Any]) -> str:
    """The table of the page, below its mark."""
    lines = [[name, *row.values()] for name, row in results["metrics"].items()]
    errors = ["mean error, calibrant", "mean error, NannyML", "largest difference of both"]
    inside = ["windows in the 95% interval", "windows within 3 standard errors, NannyML"]
    return f"<!-- nannyml -->\n{markdown_table(['metric', *errors, *inside], lines, 5)}\n"


if __name__ == "__main__":
    RESULTS.write_text(json.dumps(compare(), indent=1) + "\n")
    page = re.sub(r"<!-- nannyml -->\n(?:\|.*\n)*", lambda _: table(json.loads(RESULTS.read_text())), PAGE.read_text())
    PAGE.write_text(page)
