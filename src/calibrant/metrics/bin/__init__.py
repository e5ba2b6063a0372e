"""Errors over bins."""

# The order here is the order of the catalogue.
from . import bins  # noqa: F401  # isort: skip
from . import partially_binned  # noqa: F401  # isort: skip
from . import intervals  # noqa: F401  # isort: skip
from . import signed  # noqa: F401  # isort: skip
from . import soft  # noqa: F401  # isort: skip
from . import windows  # noqa: F401  # isort: skip
from . import debiased  # noqa: F401  # isort: skip
from . import variation  # noqa: F401  # isort: skip
from . import joint  # noqa: F401  # isort: skip
from . import classwise  # noqa: F401  # isort: skip
from . import grouped  # noqa: F401  # isort: skip
