"""Bounded, mergeable summaries of predictions, and filling them from files and databases."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
