"""Views of predictions (scores and outcomes), the lenses that make them, and selections of rows."""

from ..util.namespace import namespace

NAMES = {
    "lenses": ("class_", "class_groups", "class_hierarchy", "ordinal", "pair", "rank", "top_k", "within_top"),
    "selections": ("select",),
}
TYPES = {
    "lenses": ("Lens",),
    "selections": ("Selection",),
    "view": ("VectorView", "View"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES, ("lenses", "selections"))
