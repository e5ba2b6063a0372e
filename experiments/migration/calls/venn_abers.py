"""Calls of venn-abers."""

from experiments.migration.calls.call import drawn, of

SETUP = """
import numpy as np
from venn_abers import VennAbers, VennAbersCalibrator, VennAbersCV, VennAbersMultiClass
from venn_abers.venn_abers import calc_p0p1, calc_probs, geo_mean, predict_proba_prefitted_va


def two(p):
    return np.column_stack([1 - p, p])
"""

CALLS = [
    *of(
        "venn-abers",
        "binary",
        ("VennAbers().fit(two(p), y).predict_proba(two(new))[0]", "cal.VennAbers().fit(p, y).predict_proba(new)"),
        (
            "VennAbers().fit(two(p), y).predict_proba(two(new))[1]",
            "np.column_stack(cal.VennAbers().fit(p, y).predict_interval(new))",
        ),
        ("calc_probs(*calc_p0p1(two(p), y), two(new))[0]", "cal.VennAbers().fit(p, y).predict_proba(new)"),
        (
            "VennAbersCalibrator().predict_proba(p_cal=two(p), y_cal=y, p_test=two(new))",
            "cal.VennAbers().fit(p, y).predict_proba(new)",
        ),
    ),
    *of(
        "venn-abers",
        "four classes",
        (
            'predict_proba_prefitted_va(p, y, new, va_tpe="one_vs_all")[0]',
            "cal.VennAbers().fit(p, y).predict_proba(new)",
        ),
    ),
    *of(
        "venn-abers",
        "four classes",
        (
            'predict_proba_prefitted_va(p, y, new, va_tpe="one_vs_one")[0]',
            'cal.VennAbers(multiclass="one_vs_one").fit(p, y).predict_proba(new)',
            "in a row with two probabilities of 0 the share of that pair is 0/0; shares that are equal, such as 1/3 and 2/6, differ by rounding",
        ),
    ),
]

FIGURES = drawn(
    "venn-abers",
    ("VennAbersCV(...), VennAbersMultiClass(...)", "cal.CrossVennAbers()"),
)
