"""Answer only where it is safe: for a team whose model reads digits on forms and may hand some to a clerk.

The promise to the customer: 96 % of what the model enters alone is right. Answering from a confidence of 96 % on does not keep it,
since the model is too sure. The script fits a map on one part of the rows, chooses the threshold on a second, so that the promise
holds with probability 0.9, and shows on a third what comes of it, and how many clerks it takes.

    python examples/abstention.py
"""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np

import calibrant as cal

TARGET, SURE = 0.96, 0.9
A_DAY, MINUTES_EACH, MINUTES_A_DAY = 20_000, 0.5, 420


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities of one of the files that come with the package: boosted trees on handwritten digits."""
    with as_file(files("calibrant") / "cli" / "data" / name) as path:
        table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, 0].astype(int), table[:, 1:]


def show(words: str, labels: np.ndarray, probs: np.ndarray, threshold: float) -> None:
    """One line: what is answered from a threshold on, and how much of it is right."""
    point = cal.risk_coverage(labels, probs).at(threshold)
    low, high = 1 - point.upper, 1 - point.lower
    print(
        f"  {words:<38} answers {point.coverage:5.1%}, right {1 - point.selective_risk:.1%} ({low:.1%} to {high:.1%})"
    )


def main() -> None:
    """Fit a map, choose a threshold on other rows, report on the test rows."""
    labels, probs = read("digits_validation.csv")
    y_test, p_test = read("digits_test.csv")
    fit, choose = slice(0, 300), slice(300, None)

    calibrator = cal.TemperatureScaling().fit(probs[fit], labels[fit])
    print(
        f"temperature {calibrator.temperature_:.2f}: {'too sure' if calibrator.temperature_ > 1 else 'not sure enough'} as it came\n"
    )
    ready, tested = calibrator.predict_proba(probs[choose]), calibrator.predict_proba(p_test)
    choice = cal.choose_threshold(labels[choose], ready, accuracy=TARGET, confidence_level=SURE)
    if choice.threshold is None:
        print(choice.guarantee)
        return
    print(f"threshold {choice.threshold:.3f}: {choice.guarantee}\n")

    print(f"on {len(y_test)} rows that had no say:")
    show("everything", y_test, tested, 0.0)
    show(f"as it came, from {TARGET:.0%} on", y_test, p_test, TARGET)
    show("with the map and the chosen threshold", y_test, tested, choice.threshold)

    routes = cal.review_routing(y_test, tested, accept=choice.threshold, review=0.0, volume=A_DAY)
    to_clerks = A_DAY * next(route.share for route in routes.routes if route.name == "review")
    print(
        f"\nof {A_DAY:,} forms a day, {to_clerks:,.0f} go to clerks: {to_clerks * MINUTES_EACH / MINUTES_A_DAY:.0f} of them"
    )


if __name__ == "__main__":
    main()
