"""The formulas, a file for each subfamily; importing this fills the catalogue."""

# The order here is the order of the catalogue.
from . import points  # isort: skip
from . import losses  # isort: skip
from . import totals  # isort: skip
from . import bins  # isort: skip
from . import partly  # isort: skip
from . import intervals  # isort: skip
from . import signed  # isort: skip
from . import soft  # isort: skip
from . import windows  # isort: skip
from . import debiased  # isort: skip
from . import joint  # isort: skip
from . import classwise  # isort: skip
from . import grouped  # isort: skip
from . import regressions  # isort: skip
from . import smooth  # isort: skip
from . import densities  # isort: skip
from . import pairwise  # isort: skip
from . import embeddings  # isort: skip
from . import local  # isort: skip
from . import indices  # isort: skip
from . import fitted  # isort: skip
from . import coefficients  # isort: skip
from . import cumulative  # isort: skip
from . import subpopulations  # isort: skip

__all__ = [
    "bins",
    "classwise",
    "coefficients",
    "cumulative",
    "debiased",
    "densities",
    "embeddings",
    "fitted",
    "grouped",
    "indices",
    "intervals",
    "joint",
    "local",
    "losses",
    "pairwise",
    "partly",
    "points",
    "regressions",
    "signed",
    "smooth",
    "soft",
    "subpopulations",
    "totals",
    "windows",
]
