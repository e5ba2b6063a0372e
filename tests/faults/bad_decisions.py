"""Costs, thresholds, areas and out-of-distribution scores that cannot be computed from what was passed."""

from __future__ import annotations

from functools import partial

import numpy as np

import calibrant as cal
from calibrant.decision import ood
from calibrant.decision.areas import aurc, e_aurc
from calibrant.decision.costs import expected_cost, net_benefit, topk_accuracy
from calibrant.decision.likert import likert_error
from calibrant.decision.low_default import pluto_tasche
from calibrant.decision.routing import review_routing
from calibrant.decision.selective import coverage, risk_coverage, selective_risk
from calibrant.decision.thresholds import choose_threshold

from .cases import NAN, P3, Y3, Call, P, Y

RIGHT = cal.Predictions([1, 0, 1, 1], [0.9, 0.6, 0.8, 0.7], input="confidence")
WEIGHTED = cal.Predictions([1, 0, 1, 1], [0.9, 0.6, 0.8, 0.7], input="confidence", sample_weight=[1, 2, 3, 4])
COUNTED = cal.Predictions([1, 0, 1, 1], [0.9, 0.6, 0.8, 0.7], input="confidence", counts=[1, 2, 1, 1])
COST = [[0, 1], [1, 0]]
FEATURES, CLASSES = [[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]], [0, 0, 1, 1]

TABLE: dict[str, Call] = {
    # Thresholds.
    "no request": lambda: choose_threshold(RIGHT),
    "two requests": lambda: choose_threshold(RIGHT, accuracy=0.9, coverage=0.5),
    "guarantee 95": lambda: choose_threshold(RIGHT, accuracy=0.9, guarantee=95),
    "unknown method of a threshold": lambda: choose_threshold(RIGHT, accuracy=0.9, method="best"),
    "a method that is for accuracy": lambda: choose_threshold(RIGHT, coverage=0.9, method="sgr"),
    "fixed without a threshold": lambda: choose_threshold(RIGHT, method="fixed"),
    "fixed at two thresholds": lambda: choose_threshold(RIGHT, method="fixed", grid=[0.5, 0.6]),
    "fixed at nan": lambda: choose_threshold(RIGHT, method="fixed", grid=NAN),
    "threshold of weighted rows": lambda: choose_threshold(WEIGHTED, accuracy=0.9),
    "losses above 1": lambda: choose_threshold(RIGHT, loss=[0, 5, 0, 0], accuracy=0.8, guarantee=0.9),
    # Costs.
    "costs of one class": lambda: expected_cost(Y, P, cost=[[0, 1]]),
    "a cost of nan": lambda: expected_cost(Y, P, cost=[[0, NAN], [1, 0]]),
    "costs in a row": lambda: expected_cost(Y, P, cost=[0, 1]),
    "policy without such a decision": lambda: expected_cost(Y, P, cost=COST, policy=[0, 2, 0, 0]),
    "costs of confidences": lambda: expected_cost(RIGHT, cost=COST),
    "net benefit at 0": lambda: net_benefit(Y, P, thresholds=[0, 0.5]),
    "likert within text": lambda: likert_error(Y, P, within="kdtree"),
    "likert within a class": lambda: likert_error(Y, P, within=cal.KDTree),
    "likert by unknown edges": lambda: likert_error(Y, P, edges="ten"),
    "likert edges end early": lambda: likert_error(Y, P, edges=[0, 0.5]),
    "likert edges twice": lambda: likert_error(Y, P, edges=[0, 0.5, 0.5, 1]),
    "review above accept": lambda: review_routing(Y3, P3, accept=0.5, review=0.6),
    "accept and capacity": lambda: review_routing(Y3, P3, accept=0.5, capacity=1),
    "error of a review 2": lambda: review_routing(Y3, P3, errors={"review": 2}),
    "top-0": lambda: topk_accuracy(Y3, P3, k=0),
    "half a row of a grade": lambda: pluto_tasche([1.5]),
    "more events than rows of a grade": lambda: pluto_tasche([3], [4]),
    "correlation 1": lambda: pluto_tasche([3], correlation=1),
    "level 1 of a bound": lambda: pluto_tasche([3], level=1),
    # Areas.
    "risk of no row": lambda: selective_risk(RIGHT, threshold=0.99),
    "negative losses": lambda: aurc(RIGHT, loss=[0, -1, 0, 0]),
    "area of a sketch of an event": lambda: aurc(cal.Sketch.of(Y, P)),
    "unknown rule of an area": lambda: aurc(RIGHT, rule="mean"),
    "unknown reference of an area": lambda: e_aurc(RIGHT, reference="mean"),
    "confidence of two of four rows": lambda: aurc(Y3, P3, confidence=[0.5, 0.5]),
    "an area that counts no rows": lambda: aurc(COUNTED, rule="torch_uncertainty"),
    "threshold as text": lambda: coverage(RIGHT, threshold="high"),
    "unknown area": lambda: risk_coverage(RIGHT).interval("auc"),
    "where beside confidence": lambda: aurc(Y3, P3, confidence=[0.5] * 4, where=np.ones(4, bool)),
    # Scores of what is out of distribution.
    **{f"{score.__name__} of log-probabilities": partial(score, np.log(P3)) for score in (ood.energy, ood.max_logit)},
    **{f"{score.__name__} of probabilities": partial(score, P3) for score in (ood.energy, ood.max_logit)},
    **{f"{score.__name__} of one member": partial(score, [P3]) for score in (ood.mutual_information, ood.variance)},
    **{
        f"{score.__name__}, other rows": partial(score, [P3, P3[:2]])
        for score in (ood.mutual_information, ood.variance)
    },
    "energy at temperature 0": lambda: ood.energy([[1.0, -2.0]], temperature=0),
    "msp of a confidence": lambda: ood.msp(RIGHT),
    "msp of a sum of 1.4": lambda: ood.msp([[0.7, 0.7]]),
    "covariance of three rows": lambda: ood.OodMahalanobis(shrinkage="none").fit(np.eye(3, 6), np.zeros(3)),
    "features constant within classes": lambda: ood.OodMahalanobis().fit(np.ones((4, 2)), CLASSES),
    "features of length 0": lambda: ood.OodKnn().fit([[0.0, 0.0], [1.0, 1.0]]),
    "features of nan": lambda: ood.OodKnn().fit([[NAN, 0.0], [1.0, 1.0]]),
    **{
        f"{kind.__name__} before fit": partial(kind().score, FEATURES)
        for kind in (ood.OodKnn, ood.OodMahalanobis, ood.OodDetector)
    },
    "features of another number": lambda: ood.OodMahalanobis().fit(FEATURES, CLASSES).score([[1.0]]),
    "classes of two of four rows": lambda: ood.OodMahalanobis().fit(FEATURES, [0, 1]),
    "fewer rows than folds": lambda: ood.OodDetector().fit(np.eye(20, 3), np.ones((3, 3))),
    "a number as model": lambda: ood.OodDetector(model=3),
}
