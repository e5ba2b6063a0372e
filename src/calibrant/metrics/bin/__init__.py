"""Errors over bins."""

# The order here is the order of the catalogue.
from . import bins  # isort: skip
from . import partially_binned  # isort: skip
from . import intervals  # isort: skip
from . import signed  # isort: skip
from . import soft  # isort: skip
from . import windows  # isort: skip
from . import debiased  # isort: skip
from . import variation  # isort: skip
from . import joint  # isort: skip
from . import classwise  # isort: skip
from . import grouped  # isort: skip

__all__ = [
    "bins",
    "classwise",
    "debiased",
    "grouped",
    "intervals",
    "joint",
    "partially_binned",
    "signed",
    "soft",
    "variation",
    "windows",
]
