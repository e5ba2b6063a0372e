"""Report pages that open offline: the interactive report, its comparison, and the timeline of a monitor."""

from ..util.namespace import namespace

NAMES = {
    "building": ("report",),
    "comparing": ("compare_reports",),
    "fleet": ("write_fleet",),
    "timeline": ("write_timeline",),
    "tripod_items": ("tripod",),
}
TYPES = {
    "building": ("Report",),
    "comparing": ("ReportComparison",),
    "tripod_items": ("Tripod",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
