"""Selective prediction with a guarantee: for a team whose model reads digits on forms and may pass some of them to a clerk.

The target: 96% of the digits entered automatically are correct. A threshold of 96% on the confidence does not achieve it, since the model is
overconfident. The script fits a temperature on one part of the data, chooses a threshold on a second, with the guarantee that the target
holds with probability 0.9, evaluates both on a third, and computes the number of clerks needed.

    python examples/abstention.py
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np

import calibrant as cal

TARGET, SURE = 0.96, 0.9
A_DAY, MINUTES_EACH, MINUTES_A_DAY = 20_000, 0.5, 420


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities of one of the packaged files: boosted trees on handwritten digits."""
    with as_file(files("calibrant") / "cli" / "data" / name) as path:
        table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, 0].astype(int), table[:, 1:]


def show(title: str, labels: np.ndarray, probs: np.ndarray, threshold: float) -> None:
    """Print coverage and accuracy at a threshold, with a confidence interval."""
    point = cal.decision.risk_coverage(labels, probs).at(threshold)
    low, high = 1 - point.high, 1 - point.low
    print(
        f"  {title:<38} coverage {point.coverage:5.1%}, accuracy {1 - point.selective_risk:.1%} ({low:.1%} to {high:.1%})"
    )


def main() -> None:
    """Fit a calibrator, choose a threshold on other data, evaluate on the test data."""
    labels, probs = read("digits_validation.csv")
    y_test, p_test = read("digits_test.csv")
    fit, choose = slice(0, 300), slice(300, None)

    calibrator = cal.TemperatureScaling().fit(probs[fit], labels[fit])
    direction = "overconfident" if calibrator.temperature_ > 1 else "underconfident"
    print(f"temperature {calibrator.temperature_:.2f}: the model is {direction}\n")
    ready, tested = calibrator.predict_proba(probs[choose]), calibrator.predict_proba(p_test)
    choice = cal.choose_threshold(labels[choose], ready, accuracy=TARGET, guarantee=SURE)
    if choice.threshold is None:
        print(choice.statement)
        return
    print(f"threshold {choice.threshold:.3f}: {choice.statement}\n")

    print(f"on {len(y_test)} held-out rows:")
    show("all predictions", y_test, tested, 0.0)
    show(f"uncalibrated, confidence >= {TARGET:.0%}", y_test, p_test, TARGET)
    show("calibrated, chosen threshold", y_test, tested, choice.threshold)

    routes = cal.decision.review_routing(y_test, tested, accept=choice.threshold, review=0.0, volume=A_DAY)
    to_clerks = A_DAY * next(route.share for route in routes.routes if route.name == "review")
    print(
        f"\nof {A_DAY:,} forms a day, {to_clerks:,.0f} go to clerks: {to_clerks * MINUTES_EACH / MINUTES_A_DAY:.0f} clerks needed"
    )


if __name__ == "__main__":
    main()
