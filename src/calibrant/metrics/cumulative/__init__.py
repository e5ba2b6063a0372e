"""Errors of cumulative differences."""

# The order here is the order of the catalogue.
from . import cumulative  # isort: skip
from . import thresholds  # isort: skip
from . import subpopulations  # isort: skip

__all__ = ["cumulative", "subpopulations", "thresholds"]
