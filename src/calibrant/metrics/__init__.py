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
from . import cumulative  # isort: skip

__all__ = [
    "bins",
    "classwise",
    "cumulative",
    "debiased",
    "grouped",
    "intervals",
    "joint",
    "losses",
    "partly",
    "points",
    "signed",
    "soft",
    "totals",
    "windows",
]
