"""Validate a risk model at a second hospital: for a biostatistician who must say whether it may be used there.

A model was developed at one hospital. At a second one the event is more common, and the risks turn out too extreme. The script
asks what a reader of a validation study asks: are there as many events as predicted, are the risks too extreme, could that be
chance, would decisions suffer, and does a repair on half of the patients help the other half? It writes a page to forward.

    python examples/clinical_validation.py --out .
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import calibrant as cal

PATIENTS, THRESHOLD = (
    2400,
    0.2,
)  # treat from a risk of 20 % on: a missed event weighs as much as four needless treatments


def hospital(n: int, baseline: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Findings and outcomes of patients whose log-odds depend on three of twelve findings."""
    findings = rng.normal(size=(n, 12))
    log_odds = baseline + findings[:, :3] @ [0.8, 0.5, -0.4]
    return findings, (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)


def show(words: str, found: cal.inference.Interval) -> None:
    """One line: a value and where it can lie."""
    print(f"  {words:<36}{found.value:.2f}   95 % interval {found.low:.2f} to {found.high:.2f}")


def main() -> None:
    """Develop at one hospital, validate at another, repair, and look at decisions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for validation.html")
    out = parser.parse_args().out

    rng = np.random.default_rng(7)
    model = LogisticRegression(C=1e6).fit(
        *hospital(300, -1.8, rng)
    )  # few patients, no shrinkage: too extreme elsewhere
    findings, event = hospital(PATIENTS, -1.1, rng)
    risk = model.predict_proba(findings)[:, 1]

    print(f"second hospital: {PATIENTS} patients, {event.sum()} events, {risk.sum():.0f} predicted")
    show("predicted over observed events", cal.interval(event, risk, metric="expected_observed_ratio", rng=0))
    show("calibration slope", cal.interval(event, risk, metric="cox_slope", n_resamples=200, rng=0))
    print(f"  {'distance of a typical patient (ICI)':<36}{cal.ici(event, risk):.2f}")
    test = cal.assess(event, risk, metric="cox_slope", method="lr")
    print(f"  intercept 0 and slope 1 together: p = {test.pvalue:.2g}\n")

    half = PATIENTS // 2
    platt = cal.PlattScaling().fit(risk[:half], event[:half])  # logistic recalibration: a shift and a slope
    before, after, new = risk[half:], platt.predict_proba(risk[half:])[:, 1], event[half:]
    print(f"recalibrated on the first {half} patients, measured on the other {half}:")
    for words, p in (("before", before), ("after", after)):
        slope, ratio = cal.cox_slope(new, p), cal.expected_observed_ratio(new, p)
        print(f"  {words:<7} nll {cal.nll(new, p):.3f}   slope {slope:.2f}   predicted/observed {ratio:.2f}")
    difference = cal.compare(new, {"after": after, "before": before}, metric="nll", rng=0)["after", "before"]
    print(f"  nll changes by {difference.difference:+.3f}, p = {difference.pvalue:.2g}\n")

    print(f"net benefit for each 1000 patients, when treated from {THRESHOLD:.0%} on:")
    for words, p in (("before", before), ("after", after)):
        curve = cal.net_benefit(new, p, thresholds=[THRESHOLD])
        print(f"  {words:<7} {1000 * curve.net_benefit[0]:.0f}   (treat all: {1000 * curve.treat_all[0]:.0f}, none: 0)")

    page = out / "validation.html"
    report = cal.report(event, risk, metrics=["cox_slope", "brier", "nll"], rng=0)
    report.write(page)
    print(f"\n{report.verdict.sentence}\nthe whole page: {page}")


if __name__ == "__main__":
    main()
