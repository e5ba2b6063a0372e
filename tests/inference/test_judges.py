"""The rate that a judge and few gold labels give: formulas, unbiasedness, coverage, sample sizes, and what is refused."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import calibrant as cal
from calibrant.errors import ArgumentError, InputError
from calibrant.inference import corrected_rate
from tests.calling import raises

Sample = tuple[Any, Any]


def draw(kind: str, rate: float, n: int, rng: np.random.Generator) -> Sample:
    """Truth and judgements: verdicts, verdicts of a lenient judge, scores from 0 to 1, marks from 1 to 10, and noise."""
    truth = rng.random(n) < rate
    if kind in ("verdict", "lenient"):
        right, wrong = (0.85, 0.15) if kind == "verdict" else (0.97, 0.4)
        return truth, np.where(truth, rng.random(n) < right, rng.random(n) < wrong).astype(float)
    if kind == "score":
        return truth, 1 / (1 + np.exp(-rng.normal(2 * truth - 0.2, 1)))
    if kind == "mark":
        return truth, np.clip(np.round(rng.normal(5 + 2.5 * truth, 1.8, n)), 1, 10)
    return truth, rng.random(n)


def hide(truth: Any, n: int) -> Any:
    gold = np.full(len(truth), np.nan)
    gold[:n] = truth[:n]
    return gold


def test_estimate_is_the_formula_of_the_paper() -> None:
    truth, judge = draw("score", 0.3, 1000, np.random.default_rng(0))
    found = corrected_rate(judge, hide(truth, 100), method="ppi")
    y, f, rest = truth[:100].astype(float), judge[:100], judge[100:]
    weight = np.cov(y, f, ddof=0)[0, 1] / (1 + 100 / 900) / np.var(judge)
    assert found.power == pytest.approx(weight)
    assert found.estimate == pytest.approx(np.mean(y - weight * f) + weight * rest.mean())
    variance = np.var(y - weight * f) / 98 + weight**2 * np.var(rest) / 900
    assert found.high - found.low == pytest.approx(
        2 * 1.984 * np.sqrt(variance), rel=0.2
    )  # one more label on each side
    assert (found.judge_rate, found.gold_rate) == (pytest.approx(judge.mean()), y.mean())


def test_a_judge_without_information_changes_nothing() -> None:
    truth, _ = draw("verdict", 0.3, 500, np.random.default_rng(1))
    for method in ("ppi", "calibrated"):
        found = corrected_rate(np.ones(500), hide(truth, 100), method=method)
        assert (found.power, found.estimate) == (0, truth[:100].mean())


def test_methods_agree_on_verdicts_and_marks_have_any_scale() -> None:
    truth, judge = draw("verdict", 0.3, 3000, np.random.default_rng(2))
    found = [corrected_rate(judge, hide(truth, 600), method=method) for method in ("ppi", "calibrated")]
    assert found[0].estimate == pytest.approx(found[1].estimate, abs=0.003)
    truth, mark = draw("mark", 0.3, 2000, np.random.default_rng(3))
    one, other = (corrected_rate(scale, hide(truth, 100)) for scale in (mark, 10 * mark + 3))
    assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high))
    assert np.isnan(one.judge_rate)


@pytest.mark.parametrize("kind", ["verdict", "lenient", "score", "mark", "noise"])
@pytest.mark.parametrize(("rate", "n"), [(0.3, 30), (0.03, 100)])
def test_coverage(kind: str, rate: float, n: int) -> None:
    hits, values = 0, []
    for seed in range(60):
        truth, judge = draw(kind, rate, 1000, np.random.default_rng(seed))
        found = corrected_rate(judge, hide(truth, n), method="ppi" if seed % 2 else "calibrated", rng=seed)
        hits += found.low <= rate <= found.high
        values.append(found.estimate)
    assert hits >= 52  # at 95% fewer have a probability of 0.002
    assert np.mean(values) == pytest.approx(rate, abs=4 * np.std(values) / np.sqrt(60))


@pytest.mark.parametrize(("rate", "n"), [(0.05, 40), (0.97, 50)])
def test_a_judge_that_is_right_on_all_gold_rows_may_still_err(rate: float, n: int) -> None:
    hits = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.random(3000) < rate
        judge = np.where(rng.random(3000) < 0.01, ~truth, truth)
        found = corrected_rate(judge, hide(truth, n), method="ppi" if seed % 2 else "calibrated", rng=seed)
        hits += found.low <= rate <= found.high
    assert hits >= 52


def test_noise_costs_little() -> None:
    widths = []
    for seed in range(20):
        truth, judge = draw("noise", 0.3, 1000, np.random.default_rng(seed))
        found = corrected_rate(judge, hide(truth, 100))
        alone = binomtest(int(truth[:100].sum()), 100).proportion_ci()
        widths.append((found.high - found.low) / (alone.high - alone.low))
    assert np.mean(widths) < 1.08


def test_interval_is_shorter_than_that_of_the_gold_labels() -> None:
    truth, judge = draw("score", 0.4, 5000, np.random.default_rng(4))
    found = corrected_rate(judge, hide(truth, 300))
    alone = binomtest(int(truth[:300].sum()), 300).proportion_ci(method="wilson")
    assert found.high - found.low < 0.85 * (alone.high - alone.low)


def test_number_of_gold_labels_gives_the_width() -> None:
    truth, judge = draw("verdict", 0.3, 20_000, np.random.default_rng(5))
    pilot = corrected_rate(judge, hide(truth, 300))
    needed = pilot.gold_needed(0.05)
    found = corrected_rate(judge, hide(truth, needed))
    assert found.high - found.low == pytest.approx(0.05, rel=0.1)
    with pytest.raises(ArgumentError, match="judge more rows"):
        pilot.gold_needed(0.001)


def test_test_of_the_judge() -> None:
    truth, judge = draw("lenient", 0.3, 2000, np.random.default_rng(6))
    found = corrected_rate(judge, hide(truth, 200))
    false = int((judge[:200] > truth[:200]).sum()), int((judge[:200] < truth[:200]).sum())
    assert found.judge_pvalue == pytest.approx(binomtest(false[0], sum(false)).pvalue)
    assert "McNemar" in repr(found)
    calibrated = cal.inference.make_calibrated(2000, rng=0)
    gold = hide(calibrated.y_true, 300)
    found = corrected_rate(calibrated.y_prob, gold)
    own = cal.assess(calibrated.y_true[:300], calibrated.y_prob[:300], metric="ecce_mad")
    assert found.judge_pvalue == own.pvalue > 0.05


def test_all_rows_with_gold_labels_and_forms_of_labels() -> None:
    gold: list[Any] = [True, False, None, 1, 0] * 10
    found = corrected_rate([1, 0, 1, 1, 0] * 10, gold)
    assert (found.n_gold, found.gold_rate) == (40, 0.5)
    everywhere = corrected_rate([1, 0] * 20, [1, 0] * 20)
    assert (everywhere.power, everywhere.estimate) == (0, 0.5)


def test_gold_labels_are_read_from_every_form() -> None:
    import pandas as pd
    import polars as pl

    judge = np.arange(200) % 3 == 0
    gold: list[Any] = [1, 0] * 20 + [None] * 160
    expected = cal.inference.corrected_rate(judge, gold)
    numbers = np.array([np.nan if each is None else each for each in gold], float)
    forms: list[Any] = [
        numbers,
        np.ma.masked_invalid(numbers),
        pd.Series(gold),
        pd.Series(gold, dtype="boolean"),
        pd.Series(gold, dtype="Int64"),
        pl.Series(gold),
        [pd.NA if each is None else each for each in gold],
    ]
    for form in forms:
        assert cal.inference.corrected_rate(judge, form).to_dict() == expected.to_dict()
    frame = pd.DataFrame({"judge": judge, "gold": gold})
    with raises(InputError, "gold"):
        cal.inference.corrected_rate(frame.judge, frame.gold.sample(frac=1, random_state=0))
