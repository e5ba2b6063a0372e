"""Binning: rules, data-driven numbers of bins, tables of bins, and partitions of the simplex."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
