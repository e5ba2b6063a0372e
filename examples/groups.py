"""Calibration by group: for a lender who must show that a predicted risk of 10% means 10% in every region.

The model does not use the region. In one region people default more often than their other data suggest, in another less often: the model is
calibrated on average and miscalibrated in both. The script finds these regions, adjusts for multiple testing, and recalibrates by region.

    python examples/groups.py
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

import calibrant as cal

SHIFT = {"coast": 0.0, "hills": 0.0, "city": 0.7, "valley": -0.7, "islands": 0.0}
SHARE = [0.28, 0.25, 0.22, 0.22, 0.03]


def applicants(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, region and default of each applicant."""
    data = rng.normal(size=(n, 4))
    region = rng.choice(list(SHIFT), n, p=SHARE)
    log_odds = -1.4 + data @ [0.9, -0.6, 0.3, 0.0] + np.array([SHIFT[name] for name in region])
    return data, region, (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)


def show(y: np.ndarray, p: np.ndarray, region: np.ndarray) -> None:
    """Print one line per region, and the joint test of all regions."""
    found = cal.evaluate(cal.Predictions(y, p, groups=region), metrics=["calibration_in_the_large"])
    mean = "calibration_in_the_large"
    tests = {name: cal.assess(y, p, metric=mean, where=region == name).pvalue for name in SHIFT}
    print(f"  {'all':<8} {len(y):>5}  predicted - observed {found[mean]:+.3f}")
    for name, pvalue in sorted(tests.items(), key=lambda item: item[1]):
        part = found.groups[name]
        corrected = min(len(tests) * pvalue, 1)
        mark = "   significant" if corrected < 0.05 else ""
        print(f"  {name:<8} {part.header.n:>5}  predicted - observed {part[mean]:+.3f}   p = {corrected:.3f}{mark}")
    together = cal.assess(cal.Predictions(y, p, groups=region), metric="mcm", method="bonferroni")
    print(
        f"  ece {cal.ece(y, p):.3f}, by region and score (pce) {cal.pce(cal.Predictions(y, p, groups=region)):.3f}; ",
        end="",
    )
    print(f"joint test of all regions: p = {together.pvalue:.3f}\n")


def main() -> None:
    """Train without the region, evaluate by region, recalibrate by region on other data."""
    rng = np.random.default_rng(1)
    data, _, default = applicants(4000, rng)
    model = LogisticRegression().fit(data, default)
    data, region, default = applicants(8000, rng)
    risk = model.predict_proba(data)[:, 1]
    fit, new = slice(0, 4000), slice(4000, None)

    print("before recalibration (p adjusted for five regions):")
    show(default[new], risk[new], region[new])
    each = cal.GroupCalibration(cal.OffsetAdjustment()).fit(risk[fit], default[fit], groups=region[fit])
    recalibrated = each.predict_proba(risk[new], region[new])[:, 1]
    print("after an offset of the log-odds by region, fitted on other applicants:")
    show(default[new], recalibrated, region[new])
    print(cal.compare(default[new], {"after": recalibrated, "before": risk[new]}, metric=cal.brier, rng=0))


if __name__ == "__main__":
    main()
