"""External validation of a clinical risk model at a second hospital: for a biostatistician.

A model was developed at one hospital. At a second one the event is more common, and the predicted risks are too extreme. The script
answers the questions of a validation study: the ratio of predicted to observed events, the calibration slope, its significance, the
net benefit, and the effect of recalibration on half of the patients, evaluated on the other half. It writes a report.

    python examples/clinical_validation.py --out .
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import calibrant as cal

PATIENTS = 2400
THRESHOLD = 0.2  # treat at a risk of 20% or more: a missed event has the weight of four unnecessary treatments


def hospital(n: int, baseline: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Simulate patients whose log-odds depend on three of twelve findings."""
    findings = rng.normal(size=(n, 12))
    log_odds = baseline + findings[:, :3] @ [0.8, 0.5, -0.4]
    return findings, (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)


def show(title: str, found: cal.inference.Interval) -> None:
    """Print a value with its confidence interval."""
    print(f"  {title:<36}{found.value:.2f}   95% interval {found.low:.2f} to {found.high:.2f}")


def main() -> None:
    """Develop at one hospital, validate at another, recalibrate, and compute the net benefit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for validation.html")
    out = parser.parse_args().out

    rng = np.random.default_rng(7)
    model = LogisticRegression(C=1e6).fit(
        *hospital(300, -1.8, rng)
    )  # few patients, no shrinkage: too extreme in new data
    findings, event = hospital(PATIENTS, -1.1, rng)
    risk = model.predict_proba(findings)[:, 1]

    print(f"second hospital: {PATIENTS} patients, {event.sum()} events, {risk.sum():.0f} predicted")
    show("predicted over observed events", cal.interval(event, risk, metric="expected_observed_ratio"))
    show("calibration slope", cal.interval(event, risk, metric="cox_slope", method="profile"))
    print(f"  {'integrated calibration index (ICI)':<36}{cal.ici(event, risk):.2f}")
    test = cal.assess(event, risk, metric="cox_slope", method="lr")
    print(f"  intercept 0 and slope 1 together: p = {test.pvalue:.2g}\n")

    half = PATIENTS // 2
    platt = cal.PlattScaling(targets="plain").fit(
        risk[:half], event[:half]
    )  # logistic recalibration: intercept and slope
    before, after, new = risk[half:], platt.predict_proba(risk[half:])[:, 1], event[half:]
    print(f"recalibrated on the first {half} patients, evaluated on the other {half}:")
    for title, p in (("before", before), ("after", after)):
        slope, ratio = cal.cox_slope(new, p), cal.expected_observed_ratio(new, p)
        print(f"  {title:<7} nll {cal.nll(new, p):.3f}   slope {slope:.2f}   predicted/observed {ratio:.2f}")
    difference = cal.compare(new, {"after": after, "before": before}, metric="nll", rng=0)["after", "before"]
    print(f"  nll changes by {difference.difference:+.3f}, p = {difference.pvalue:.2g}\n")

    print(f"net benefit per 1000 patients at a threshold of {THRESHOLD:.0%}:")
    for title, p in (("before", before), ("after", after)):
        curve = cal.decision.net_benefit(new, p, thresholds=[THRESHOLD])
        print(f"  {title:<7} {1000 * curve.net_benefit[0]:.0f}   (treat all: {1000 * curve.treat_all[0]:.0f}, none: 0)")

    page = out / "validation.html"
    report = cal.report(event, risk, metrics=["cox_slope", "brier", "nll"], rng=0)
    report.save(page)
    print(f"\n{report.verdict.sentence}\nreport: {page}")


if __name__ == "__main__":
    main()
