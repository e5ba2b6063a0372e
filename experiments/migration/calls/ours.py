"""What the calls of calibrant use: the imports, and functions that put numbers into the order of another package."""

OURS = """\
import sys

import numpy as np
import calibrant as cal

if "torch" in sys.modules and "p" in globals():
    P, Y = (sys.modules["torch"].as_tensor(one) for one in (p, y))


def curve(found):
    # Rates and mean scores of nonempty bins.
    full = ~found.table.empty
    return np.concatenate([found.rate[full], found.mean_score[full]])


def gap(found):
    return found.rate - found.mean_score


def parts(found):
    # Calibration, refinement, resolution and uncertainty.
    return [found.reliability, found.uncertainty - found.resolution, found.resolution, found.uncertainty]


def corp(found):
    return [found.miscalibration, found.discrimination, found.uncertainty]


def top(found, scores):
    # The probability of the class that was predicted before recalibration.
    return found[np.arange(len(found)), scores.argmax(axis=1)]


def ends(found):
    return [found.low, found.high]


def tested(found):
    return [found.statistic, found.pvalue, found.detail["degree"]]


def limits(found):
    # Risks, the limits of the second level, those of the first.
    low, high = found.low, found.high
    return np.concatenate([found.risk, low[1], high[1], low[0], high[0]])


try:
    from calibrant.sklearn import CalibratedModel
except ImportError:
    pass
"""
