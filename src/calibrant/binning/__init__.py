"""Binning: rules, data-driven numbers of bins, tables of bins, and partitions of the simplex."""

from ..util.namespace import namespace

NAMES = {
    "parse": ("Edges", "EqualArea", "EqualMass", "EqualWidth", "Levels", "Quantile"),
    "partition": ("KDTree", "SimplexGrid"),
}
TYPES = {
    "table": ("BinTable",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
