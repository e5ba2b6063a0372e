"""Bounded, mergeable summaries of predictions, and filling them from files and databases."""

from ..util.namespace import namespace

NAMES = {
    "collection": ("Sketches",),
    "files.scanning": ("scan",),
    "sketch": ("Sketch",),
    "warehouse": ("cells_query",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES)
