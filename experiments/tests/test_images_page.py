"""The page of the study of networks for images: made of its numbers, with verdicts that follow from them."""

import copy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from experiments.images import claims, measure, page, stored


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return measure.load()


def finding(name: str, network: dict[str, Any]) -> claims.Finding:
    """What a rule finds in the numbers of one network."""
    (claim,) = (claim for claim in claims.CLAIMS if claim.get("name") == name)
    return claims.check(claim, network)


def test_every_model_has_every_number(results: dict[str, Any]) -> None:
    assert results["seeds"] == 5
    for network in stored.NETWORKS:
        found = results["networks"][network]
        assert set(found["measured"]) == set(page.MODELS)
        for model in found["measured"].values():
            assert set(model) == {measure.NONE, *claims.AFTER}
            assert {len(seeds) for seeds in model.values()} == {5}
        for one in found["measured"]["base"][measure.NONE]:
            assert one["nll"] - one["entropy"] == pytest.approx(one["ecd"], abs=2e-4)
            assert one["ece"] >= abs(one["confidence"] - one["accuracy"]) - 1e-4


def test_verdicts_follow_from_the_numbers(results: dict[str, Any]) -> None:
    """Some verdicts again by plain comparisons, and each of them turns when its numbers are turned."""
    for network in results["networks"].values():
        base = network["measured"]["base"]
        seeds = base[measure.NONE]
        both = all(one["ece"] > one["ece_critical"] and one["ecd"] > one["ecd_critical"] for one in seeds)
        assert finding("both_reject", network).seen == both
        ranks = [
            np.mean([one[f"rank_confidence {at}"] for one in seeds])
            < np.mean([one[f"rank_rate {at}"] for one in seeds])
            for at in (1, 2, 3)
        ]
        assert finding("underconfident_ranks", network).seen == all(ranks)
        sharper = all(
            one["sharper"][1] / one["sharper"][2] > one["softer"][1] / one["softer"][2] for one in network["extras"]
        )
        assert finding("overconfidence_costs_more", network).seen == sharper
        turned = copy.deepcopy(network)
        for at, one in enumerate(turned["measured"]["base"][measure.NONE]):
            one["ece"], one["ecd"] = (-1.0, -1.0) if both else (1.0 + at, 1.0 + at)
            for place in range(5):
                one[f"rank_confidence {place}"], one[f"rank_rate {place}"] = (0.5, 0.0) if all(ranks) else (0.0, 0.5)
        assert finding("both_reject", turned).seen != both
        assert finding("underconfident_ranks", turned).seen != all(ranks)


def test_what_chance_explains_is_not_seen(results: dict[str, Any]) -> None:
    """Label smoothing raises the error of groups; where drawn labels raise it as much, it does not."""
    network = copy.deepcopy(results["networks"]["vgg"])
    method = ("label_smoothing", measure.NONE)
    assert claims.moved_twice(network, method, "group") == claims.moved(network, method, "group") == 1
    for one, base in zip(
        network["measured"]["label_smoothing"][measure.NONE], network["measured"]["base"][measure.NONE], strict=True
    ):
        one["chance group"] = one["group"] - (base["group"] - base["chance group"])
    assert claims.moved(network, method, "group") == 1
    assert claims.moved_twice(network, method, "group") == 0


def test_a_claim_is_seen_only_if_every_method_does_it(results: dict[str, Any]) -> None:
    network = copy.deepcopy(results["networks"]["vgg"])
    for model, after in claims.methods():
        for at, one in enumerate(network["measured"][model][after]):
            one["ece"] = network["measured"]["base"][measure.NONE][at]["ece"] / 2
    assert finding("lowers_ece", network).seen
    for one in network["measured"]["focal"][measure.NONE]:
        one["ece"] = 0.9
    found = finding("lowers_ece", network)
    assert not found.seen
    assert "higher with 1 (focal)" in found.number


def test_sentences_that_are_written_hold(results: dict[str, Any]) -> None:
    """What the page says without computing it."""
    for network in results["networks"].values():
        for model in ("label_smoothing", "focal"):
            assert all(one["ecd"] < -one["ecd_critical"] for one in network["measured"][model][measure.NONE])
        base = network["measured"]["base"]
        assert np.mean([one["validation_accuracy"] for one in network["extras"]]) > claims.mean(
            network, claims.BASE, "accuracy"
        )
        for after, halves in zip(base["temperature"], [one["crossed"] for one in network["extras"]], strict=True):
            assert 0 < halves["confidence"] - halves["accuracy"] < after["confidence"] - after["accuracy"]
            assert abs(halves["ecd"]) < after["ecd"]
        gaps = [one["confidence"] - one["accuracy"] for one in network["calibrated_members"]]
        assert max(gaps) < min(one["confidence"] - one["accuracy"] for one in base["temperature"])
        assert network["networks_trained"] == 25
        assert all(np.isinf(one["nll"]) for one in base["histogram binning"])


def test_ensembles_and_sampled_dropout_lower_the_error_more_than_losses(results: dict[str, Any]) -> None:
    """The guide of deep networks says so; mixup is not a loss."""
    for network in results["networks"].values():
        losses = [
            claims.mean(network, (one, measure.NONE), "ece") for one in ("label_smoothing", "focal", "flsd", "mmce")
        ]
        for model in ("ensemble", "mc_dropout"):
            assert claims.mean(network, (model, measure.NONE), "ece") < min(losses)
