"""The validation dossier: what this installation computes beside stored reference values, and where each of them is from."""

from ..util.namespace import namespace

NAMES = {"dossier": ("validate",)}
TYPES = {"dossier": ("Dossier",), "references": ("Compared", "Reference")}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
