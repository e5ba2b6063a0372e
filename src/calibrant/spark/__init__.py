"""Spark: sketch data frames on the executors, and apply calibrators to them."""

from .api import apply, sketch

__all__ = ["apply", "sketch"]
