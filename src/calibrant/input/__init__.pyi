"""Public names; written by tools/make_stub.py, not by hand."""

from .missing import Dropped as Dropped
from .predictions import Predictions as Predictions
