"""For whom: subgroups with a gap, found by features, and the gap along the features that define them."""

from __future__ import annotations

from typing import Any

from ..errors import LensError, UndefinedMetricError
from ..evaluation.features import encode_features
from ..evaluation.subgroups import find_subgroups
from ..figures.features import FeatureDiagram, diagram_along
from ..figures.models import ONE
from ..util.results import percent
from .content import FeatureGaps
from .interactive import shown
from .settings import Settings
from .specs import Spec, chart
from .tables import amount

# The largest number of features whose gap is drawn, their bins, and letters of a bin.
MOST_DRAWN, BINS, BIN_LETTERS = 3, 10, 24


def find_feature_gaps(data: Any, features: Any, settings: Settings) -> FeatureGaps | None:
    """Return the significant subgroups of `find_subgroups`, and the diagrams of their first features; None without features."""
    if features is None and getattr(data, "features", None) is None:
        return None
    lens = settings.lens or "auto"
    try:
        found = find_subgroups(data, features=features, lens=lens, rng=settings.seed)
    except (LensError, UndefinedMetricError) as error:
        return FeatureGaps(reason=error.problem)
    coded = {feature.name: feature for feature in encode_features(features, data, BINS)}
    defining = list(dict.fromkeys(name for each in found for name in each.features))[:MOST_DRAWN]
    return FeatureGaps(
        found, tuple(diagram_along(coded[name], {ONE: data}, lens, settings.known_level) for name in defining)
    )


def chart_rows(diagram: FeatureDiagram) -> dict[str, list[dict[str, Any]]]:
    """Return the points and intervals of the chart of a feature; colours show gaps whose interval excludes 0."""
    (curve,) = diagram.curves
    gap, low, high = (100 * (curve.mean_score - rate) for rate in (curve.rate, curve.high, curve.low))
    rows = []
    for place, name in enumerate(diagram.bins):
        colour = "over" if low[place] > 0 else "under" if high[place] < 0 else "soft"
        tip = [
            ["", shown(name)],
            ["rows", amount(curve.rows[place])],
            ["mean predicted", percent(curve.mean_score[place])],
            ["observed rate", percent(curve.rate[place])],
        ]
        ends = {"gap": float(gap[place]), "low": float(low[place]), "high": float(high[place])}
        rows.append({"bin": shown(name, BIN_LETTERS), **ends, "colour": f"var(--{colour})", "tip": tip})
    return {"zero": [{"y": 0}], "spans": rows, "points": rows}


def feature_charts(found: FeatureGaps) -> dict[str, Spec]:
    """Return still charts of the gap along features by the names of their files."""
    return {
        f"feature-{place}": {
            **chart("feature", chart_rows(diagram), xTitle=shown(diagram.feature)),
            "width": 420,
            "autosize": "pad",
        }
        for place, diagram in enumerate(found.diagrams)
    }
