"""Probabilities within rounding of 1, given as logits or beside their complement: against many digits."""

import pickle
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import calibrant as cal
from tests.calling import call

mp.mp.dps = 60

# Log-odds of the positive class: 41.4 is a probability of 1 - 1e-18, which the nearest double calls 1.
Z = np.array([41.4, -41.4, 3.0, -0.7, 60.0, 38.2, -250.0, 0.0, 17.5, -33.0, 41.4])
Y = np.array([1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1])
W = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.1, 1.0, 1.0, 2.0, 0.7, 1.0])


def exact() -> list[tuple[Any, Any]]:
    """The probabilities of both classes, to 60 digits."""
    return [(1 / (1 + mp.exp(mp.mpf(z))), 1 / (1 + mp.exp(-mp.mpf(z)))) for z in Z.tolist()]


def focal(q: Any, p: Any, y: int) -> Any:
    own, other = (p, q) if y else (q, p)
    return -(other**2) * mp.log(own)


def entropic(q: Any, p: Any, y: int) -> Any:
    return -mp.log(p if y else q) + p * mp.log(p) + q * mp.log(q)


# One term for each row; the metric is their weighted mean.
ROWS = {
    "nll": lambda q, p, y: -mp.log(p if y else q),
    "nses": lambda q, p, y: q / p if y else p / q,
    "dawid_sebastiani": lambda q, p, y: (q / p if y else p / q) + mp.log(p) + mp.log(q),
    "focal_loss": focal,
    "ecd": entropic,
    "brier": lambda q, p, y: (q if y else p) ** 2,
}


def mean(metric: str, rows: np.ndarray, weight: np.ndarray) -> float:
    terms = [ROWS[metric](*pair, y) for pair, y in zip(exact(), Y.tolist(), strict=True)]
    w = [mp.mpf(v) if keep else mp.mpf(0) for v, keep in zip(weight.tolist(), rows, strict=True)]
    return float(sum(a * b for a, b in zip(w, terms, strict=True)) / sum(w))


def forms() -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    columns = np.array([[float(q), float(p)] for q, p in exact()])
    return {
        "logits": (Z, {"input": "logit"}),
        "two logits": (np.column_stack([-Z / 2, Z / 2]), {"input": "logit"}),
        "two columns": (columns, {}),
    }


@pytest.mark.parametrize("metric", ROWS)
@pytest.mark.parametrize("form", forms())
def test_metrics_of_rows_keep_the_digits_of_the_complement(metric: str, form: str) -> None:
    scores, words = forms()[form]
    for rows in (np.ones(len(Y), bool), Z > 0, np.abs(Z) > 36, np.arange(len(Y)) == 0, np.arange(len(Y)) == 5):
        for weight in (np.ones(len(Y)), W):
            found = call(cal.catalogue[metric], Y[rows], scores[rows], sample_weight=weight[rows], **words)
            near = 1e-12 if metric != "brier" else 2  # its squares vanish beside 1 whatever the last digits
            assert found == pytest.approx(mean(metric, rows, weight), rel=near, abs=0), rows


@pytest.mark.parametrize("form", forms())
@pytest.mark.parametrize("lens", ["binary", "class:0", "class:1", "pair:1,0", "top_label", "rank:1"])
def test_every_lens_keeps_them(form: str, lens: str) -> None:
    scores, words = forms()[form]
    view = call(cal.nses.views, Y, scores, lens=lens, **words)[0]
    for number, (q, p) in enumerate(exact()):
        score, rest = {"binary": (p, q), "class:1": (p, q), "class:0": (q, p), "pair:1,0": (q, p)}.get(
            lens, (max(p, q), min(p, q))
        )
        assert view.score[number] == pytest.approx(float(score), rel=1e-14, abs=0)
        assert view.rest[number] == pytest.approx(float(rest), rel=1e-12, abs=0)
    again = pickle.loads(pickle.dumps(view))
    assert again.rest.tolist() == view.rest.tolist()
    vector = view.as_vector().block(0, view.n)
    assert vector.rest()[:, 1] == pytest.approx(view.rest, rel=1e-12, abs=0)


@pytest.mark.parametrize("width", [1e-3, 1e-9, 1e-12])
def test_spiegelhalter_near_one_half_has_all_digits(width: float) -> None:
    scores = 0.5 + width * np.sin(np.arange(1.0, 60))
    y = np.arange(59) % 3 == 0
    rows = [(mp.mpf(p), int(label)) for p, label in zip(scores.tolist(), y.tolist(), strict=True)]
    spread = mp.fsum(p * (1 - p) * (2 * p - 1) ** 2 for p, _ in rows)
    expected = mp.fsum((p - label) * (2 * p - 1) for p, label in rows) / mp.sqrt(spread)
    assert cal.spiegelhalter_z(y, scores) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("form", forms())
def test_spiegelhalter_sees_a_sure_mistake_from_either_side(form: str) -> None:
    scores, words = forms()[form]
    sure = np.abs(Z) > 36
    for right in (True, False):
        y = ((Z[sure] > 0) == right).astype(int) if not right else (Z[sure] > 0).astype(int)
        top = sum(
            (p**2 + q**2 - (p if label else q))
            for (q, p), label, s in zip(np.array(exact(), object)[sure], y, y, strict=True)
        )
        spread = sum(p * q * (q - p) ** 2 for q, p in np.array(exact(), object)[sure])
        found = call(cal.spiegelhalter_z, y, scores[sure], **words)
        assert found == pytest.approx(float(top / mp.sqrt(spread)), rel=1e-9, abs=0)


def test_the_shift_of_log_odds_moves_scores_that_round_to_one() -> None:
    z = np.concatenate([np.full(50, 40.0), np.linspace(-3, 3, 51)])
    y = np.concatenate([np.r_[np.ones(49, int), 0], (np.arange(51) % 3 == 0).astype(int)])
    shift = cal.calibration_in_the_large(cal.Predictions(y, z, input="logit"), form="logit")
    assert shift == pytest.approx(
        cal.calibration_in_the_large(cal.Predictions(1 - y, -z, input="logit"), form="logit") * -1, rel=1e-9
    )
    moved = 1 / (1 + np.exp(-(z + shift)))
    assert moved.sum() == pytest.approx(y.sum(), rel=1e-12)


@pytest.mark.parametrize("as_logits", [True, False])
@pytest.mark.parametrize("metric", ["nses", "dawid_sebastiani", "focal_loss", "nll", "ecd"])
def test_several_classes(metric: str, as_logits: bool) -> None:
    z = np.array([[41.0, 0.0, -2.0, 1.0], [0.0, 1.0, 2.0, 3.0], [-50.0, 3.0, 2.0, 60.0], [900.0, 1.0, 2.0, 3.0]])
    y = np.array([0, 3, 3, 0])
    rows = z if as_logits else z[:3]
    total = mp.mpf(0)
    for number, row in enumerate(rows.tolist()):
        e = [mp.exp(mp.mpf(v)) for v in row]
        p = [v / sum(e) for v in e]
        rest = [sum(p[:k] + p[k + 1 :]) for k in range(4)]
        one = [k == y[number] for k in range(4)]
        if metric == "nses":
            total += sum((r / q if o else q / r) for q, r, o in zip(p, rest, one, strict=True)) / 4
        elif metric == "dawid_sebastiani":
            total += (
                sum((r / q if o else q / r) + mp.log(q) + mp.log(r) for q, r, o in zip(p, rest, one, strict=True)) / 4
            )
        elif metric == "focal_loss":
            total += -(rest[y[number]] ** 2) * mp.log(p[y[number]])
        elif metric == "nll":
            total += -mp.log(p[y[number]])
        else:
            total += -mp.log(p[y[number]]) + sum(q * mp.log(q) for q in p)
    given = (
        rows
        if as_logits
        else np.array(
            [
                [float(mp.exp(v) / sum(mp.exp(mp.mpf(u)) for u in row)) for v in map(mp.mpf, row)]
                for row in rows.tolist()
            ]
        )
    )
    words: dict[str, Any] = {"input": "logit"} if as_logits else {}
    found = call(cal.catalogue[metric], y[: len(rows)], given, **words)
    assert found == pytest.approx(float(total / len(rows)), rel=1e-12)


def test_columns_that_are_rounded_are_not_trusted_beyond_their_digits() -> None:
    p = np.array([[0.901, 0.1], [0.05, 0.95]])
    found = cal.nses(cal.Predictions([1, 1], p, normalize=1e-2))
    assert found == pytest.approx(np.mean([np.mean([0.901 / (1 - 0.901), 0.9 / 0.1]), 0.05 / 0.95]))


def test_true_against_rest_needs_the_complement_too() -> None:
    q, p = exact()[0]
    for scores, words in forms().values():
        found = call(cal.ecd, Y[:1], scores[:1], multiclass="true_vs_rest", **words)
        assert found == pytest.approx(float(-q * (mp.log(p) - mp.log(q))), rel=1e-12, abs=0)
