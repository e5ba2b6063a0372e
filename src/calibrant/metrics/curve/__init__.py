"""Errors of fitted curves."""

# The order here is the order of the catalogue.
from . import indices  # isort: skip
from . import fitted  # isort: skip
from . import variational  # isort: skip
from . import coefficients  # isort: skip

__all__ = ["coefficients", "fitted", "indices", "variational"]
