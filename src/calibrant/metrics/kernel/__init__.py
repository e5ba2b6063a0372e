"""Errors from kernels and neighbours."""

# The order here is the order of the catalogue.
from . import regressions  # noqa: F401  # isort: skip
from . import smooth  # noqa: F401  # isort: skip
from . import densities  # noqa: F401  # isort: skip
from . import pairwise  # noqa: F401  # isort: skip
from . import embeddings  # noqa: F401  # isort: skip
from . import local  # noqa: F401  # isort: skip
