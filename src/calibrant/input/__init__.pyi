"""Public names; written by tools/make_stub.py, not by hand."""

from .predictions import Predictions as Predictions
