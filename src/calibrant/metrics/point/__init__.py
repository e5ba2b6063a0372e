"""Scores and losses of single predictions."""

# The order here is the order of the catalogue.
from . import points  # isort: skip
from . import losses  # isort: skip
from . import totals  # isort: skip

__all__ = ["losses", "points", "totals"]
