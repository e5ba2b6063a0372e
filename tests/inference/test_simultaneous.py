"""Values on all resamples at once are those of one resample after the other."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference.pair_resampling import sums_of_equal_labels, with_width_of_data
from calibrant.inference.resampling import PredictionSampler, Resamples, RowSampler, draw_labels, resamples
from calibrant.inference.seeds import generator
from calibrant.inference.simultaneous import draws_at_once
from calibrant.metrics.registry import catalogue
from calibrant.views.view import View

COUNT = 16
OF_SUMS = [metric.id for metric in catalogue.values() if metric.takes == "VectorView" and metric._returns_form]


def bootstrap_draws(metric: Any, options: dict[str, Any], sampler: Any, count: int, seed: int) -> Any:
    return draws_at_once(metric, options, [Resamples(sampler, "rows", count, seed)])


def null_draws(metric: Any, options: dict[str, Any], sampler: Any, count: int, seed: int) -> Any:
    return draws_at_once(metric, options, [Resamples(sampler, "outcomes", count, seed)])


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "spiegelhalter_z": [],
    "tl_ece": [{"average": "macro", "norm": 2}, {"bins": [0, 0.3, 0.8, 1]}],
    "topk_ece": [{"k": 2, "reading": "cumulative"}, {"bins": [0, 0.3, 0.8, 1]}],
    "gece": [{"binning": "simplex_grid", "bins": 4, "distance": "l2"}],
    "gece_db": [{"distance": "l1"}],
}


def predictions(kind: str) -> cal.Predictions:
    rng = np.random.default_rng(4)
    n = 1500 if kind == "many" else 90
    p = rng.beta(0.6, 0.9, n)
    p = np.round(p, 1) if kind == "ties" else np.where(rng.random(n) < 0.3, np.round(p), p) if kind == "edges" else p
    y = (rng.random(n) < p).astype(int)
    if kind == "classes":
        probs = rng.dirichlet(np.full(4, 0.5), n)
        return cal.Predictions(rng.integers(0, 4, n), probs)
    extra: dict[str, Any] = {}
    if kind == "weights":
        extra = {"sample_weight": rng.gamma(1.0, 1.0, n)}
    if kind == "counts":
        extra = {"counts": rng.integers(1, 4, n)}
    if kind == "groups":
        extra = {"groups": rng.integers(0, 12, n)}
    return cal.Predictions(y, p, **extra)


KINDS = ["plain", "many", "ties", "edges", "classes", "weights", "counts", "groups"]


@pytest.mark.parametrize("kind", KINDS)
def test_all_replicates_at_once_are_those_one_by_one(kind: str) -> None:
    sampler = PredictionSampler(predictions(kind), cluster=kind == "groups")
    plans: list[tuple[str, dict[str, Any]]] = [("skce_uq", {}), ("skce_uq", {"bandwidth": 0.3}), ("multiclass_ce", {})]
    plans += [("vce", options) for options in ({}, {"norm": 2, "bins": 4}, {"bins": [0, 0.3, 0.8, 1]})]
    plans += [("uce", {}), ("uce", {"bins": [0, 0.3, 0.8, 1]}), ("vce", {"variation": lambda q: 1 - float(q.max())})]
    for name, options in plans:
        metric = catalogue[name]
        options = with_width_of_data(metric, options, sampler)
        found = bootstrap_draws(metric, options, sampler, COUNT, 7)
        wanted = [resamples(sampler, "rows", 7)(number).value(metric, options) for number in range(COUNT)]
        assert found is not None
        assert found == pytest.approx(wanted, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("kind", ["classes", "ties"])
def test_bins_of_each_class_that_depend_on_scores_alone_are_found_once(kind: str) -> None:
    sampler = PredictionSampler(predictions(kind))
    rules = (cal.EqualMass(), cal.EqualMass(4, min_rows=25), cal.EqualMass(7, ties="split"), cal.Quantile())
    for name, rule in product(("ece", "rmsce", "mce"), (*rules, cal.EqualWidth(min_rows=9))):
        metric, options = catalogue[name], {"lens": "classwise", "binning": rule}
        at_once = null_draws(metric, options, sampler, COUNT, 7)
        wanted = [resamples(sampler, "outcomes", 7)(number).value(metric, options) for number in range(COUNT)]
        assert at_once == pytest.approx(wanted, rel=1e-11, abs=1e-14)
        assert bootstrap_draws(metric, options, sampler, COUNT, 7) is None  # the bins are those of each replicate


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_means_of_all_simulated_labels_are_those_one_by_one(kind: str) -> None:
    sampler = PredictionSampler(predictions(kind))
    for name in ("brier", "nll", "ecd", "brier"):
        metric = catalogue[name]
        options = {"lens": "top_label"} if name == "ecd" and kind == "classes" else {}
        found = null_draws(metric, options, sampler, COUNT, 7)
        wanted = [resamples(sampler, "outcomes", 7)(number).value(metric, options) for number in range(COUNT)]
        assert found is not None
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("kind", ["many", "ties", "edges", "classes", "groups"])
@pytest.mark.parametrize("name", OF_SUMS)
def test_sums_over_rows_of_all_resamples_are_those_one_by_one(name: str, kind: str) -> None:
    sampler, metric = PredictionSampler(predictions(kind), cluster=kind == "groups"), catalogue[name]
    for options in ({}, *OPTIONS.get(name, [{"bins": 4}, {"bins": [0, 0.3, 0.8, 1]}])):
        for kind_of_draws, draws in (("rows", bootstrap_draws), ("outcomes", null_draws)):
            found = draws(metric, options, sampler, COUNT, 7)
            grown = name == "gece_db" or (name == "gece" and "bins" not in options)
            if (name == "spiegelhalter_z" and kind != "classes") or (grown and kind_of_draws == "rows"):
                assert found is None  # one score per row is as fast, and a tree is grown for the rows of each replicate
                continue
            assert found is not None
            some = range(0, COUNT, 8 if name == "gece_db" else 3)
            wanted = [resamples(sampler, kind_of_draws, 7)(b).value(metric, options) for b in some]  # type: ignore[arg-type]
            assert found[some] == pytest.approx(wanted, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", OF_SUMS)
def test_bins_of_the_rows_and_weights_are_left_to_the_formula(name: str) -> None:
    metric = catalogue[name]
    assert bootstrap_draws(metric, {}, RowSampler(View(np.array([0.2, 0.7]), np.array([0, 1]))), COUNT, 7) is None
    if name not in ("vce", "uce", "multiclass_ce", "gece_db"):
        assert bootstrap_draws(metric, {}, PredictionSampler(predictions("weights")), COUNT, 7) is None
    if "binning" in metric.options:
        sampler = PredictionSampler(predictions("classes"))
        assert bootstrap_draws(metric, {"binning": "equal_mass"}, sampler, COUNT, 7) is None


def test_class_wise_errors_of_all_resamples_are_those_one_by_one() -> None:
    rng = np.random.default_rng(8)
    many = rng.dirichlet(np.full(30, 0.3), 200)
    cases: list[tuple[cal.Predictions, dict[str, Any]]] = [(predictions(kind), {}) for kind in KINDS[:5] + KINDS[-1:]]
    cases += [
        (predictions("classes"), options) for options in ({"bins": 7}, {"binning": cal.EqualWidth(closed="left")})
    ]
    for probs in (many, many.astype(np.float32), np.round(many, 1) + 1e-3):
        cases.append((cal.Predictions(rng.integers(0, 30, 200), probs, normalize=True), {}))
    for p, options in cases:
        for draws in ("rows", "outcomes"):
            sampler = PredictionSampler(p, cluster=p.groups is not None and draws == "rows")
            for name, own in (("cwce", options), ("ece", {"lens": "classwise", "norm": 2, **options})):
                at_once = bootstrap_draws if draws == "rows" else null_draws
                found = at_once(catalogue[name], own, sampler, COUNT, 7)
                wanted = [resamples(sampler, draws, 7)(b).value(catalogue[name], own) for b in range(COUNT)]  # type: ignore[arg-type]
                assert found is not None
                assert found == pytest.approx(wanted, rel=1e-12, abs=1e-15)


def test_simulated_labels_are_the_same_with_and_without_kept_cumulative_probabilities() -> None:
    rng = np.random.default_rng(9)
    for k in (3, 300):
        p = cal.Predictions(rng.integers(0, k, 50), rng.dirichlet(np.full(k, 0.2), 50))
        sampler = PredictionSampler(p)
        paths, probs = sampler.paths, p.probs
        assert paths is not None
        for b in range(4):
            kept = draw_labels(p, probs, [generator(1, b)], paths)
            assert kept.tolist() == draw_labels(p, probs, [generator(1, b)]).tolist()
    assert PredictionSampler(predictions("plain")).paths is None


def test_what_depends_on_the_resample_is_left_to_one_by_one() -> None:
    sampler = PredictionSampler(predictions("plain"))
    vce, brier = catalogue["vce"], catalogue["brier"]
    assert null_draws(vce, {"bins": [3, 5]}, sampler, COUNT, 0) is None
    for options in ({"binning": "equal_mass"}, {"bins": "sweep"}, {"bins": [3, 5]}, {"combine": "sum"}):
        assert bootstrap_draws(vce, options, sampler, COUNT, 0) is None
    wanted = [resamples(sampler, "rows", 0)(number).value(brier, {}) for number in range(COUNT)]
    assert bootstrap_draws(brier, {}, sampler, COUNT, 0) == pytest.approx(wanted, rel=1e-13)
    assert null_draws(brier, {}, sampler, 4, 0) is None
    cwce = catalogue["cwce"]
    for options in ({"binning": "equal_mass"}, {"bins": "sweep"}, {"combine": "max"}, {"lens": "binary"}):
        assert bootstrap_draws(cwce, options, sampler, COUNT, 0) is None
    weighted = PredictionSampler(predictions("weights"))
    assert bootstrap_draws(cwce, {}, weighted, COUNT, 0) is None


@pytest.mark.parametrize("kind", ["many", "ties", "edges", "weights", "classes"])
def test_simulated_labels_on_known_scores_give_the_same_bits(kind: str) -> None:
    data = predictions(kind)
    if kind == "many":  # a few ties
        data = cal.Predictions(data.labels, np.where(data.probs < 0.1, np.round(data.probs, 3), data.probs))
    binary = kind != "classes"
    names = ("ece", "drmsce_bcs", "ece_sweep", "mce", "ecce_mad", "cwce", "ks_error")
    samplers = [PredictionSampler(data), RowSampler(catalogue["ece"].views(data)[0])]  # type: ignore[arg-type]
    for sampler in samplers if binary else samplers[:1]:
        for number in range(4):
            drawn = resamples(sampler, "outcomes", 3)(number)
            for name in names if sampler is samplers[0] else names[:5]:
                views = drawn.views(catalogue[name], {})
                alone = [
                    View(v.raw_score.copy(), v.raw_outcome.copy(), v.weight, v.weight_kind)  # type: ignore[union-attr]
                    for v in views
                ]
                assert catalogue[name].of_views(views) == catalogue[name].of_views(alone)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["many", "ties", "weights", "counts"])
def test_replicates_that_are_not_sorted_have_the_values_of_their_rows(kind: str) -> None:
    sampler = RowSampler(catalogue["ece"].views(predictions(kind))[0])  # type: ignore[arg-type]
    for draws in ("rows", "outcomes"):
        for number in range(4):
            (view,) = resamples(sampler, draws, 3)(number).views(catalogue["ece"], {})  # type: ignore[arg-type]
            assert isinstance(view, View)
            alone = View(view.raw_score.copy(), view.raw_outcome.copy(), view.weight, view.weight_kind)
            for name, options in (
                ("ece_knn", {}),
                ("ece_knn", {"neighbours": 3}),
                ("drmsce_bcs", {}),
                ("ece_sweep", {}),
                ("calbin", {}),
            ):
                found, wanted = (catalogue[name].of_views([each], **options) for each in (view, alone))
                # The copies of a row are added as a multiple of it.
                assert found == (pytest.approx(wanted, rel=1e-13) if draws == "rows" else wanted)


def test_generators_from_a_known_state_are_those_of_numpy() -> None:
    for seed, number in ((0, 0), (0, 3), (2**127 + 5, 1), (7, 10**6)):
        wanted = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))))
        for _ in range(2):
            assert generator(seed, number).random(4).tolist() == wanted.random(4).tolist()
            wanted = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))))


@pytest.mark.parametrize("first", [1.0, 0.5, 0.0])
def test_pairs_with_equal_labels_are_added_for_common_and_rare_labels(first: float) -> None:
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((5, 70)) < first, 0, rng.integers(1, 40, (5, 70)))
    pairs = rng.random((50, 20))
    expected = [pairs[own[:50, None] == own[50:]].sum() for own in labels]
    np.testing.assert_allclose(sums_of_equal_labels(pairs, labels[:, :50], labels[:, 50:], 40), expected, rtol=1e-13)
