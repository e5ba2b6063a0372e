"""Errors from kernels and neighbours."""

# The order here is the order of the catalogue.
from . import regressions  # isort: skip
from . import smooth  # isort: skip
from . import densities  # isort: skip
from . import pairwise  # isort: skip
from . import embeddings  # isort: skip
from . import local  # isort: skip

__all__ = ["densities", "embeddings", "local", "pairwise", "regressions", "smooth"]
