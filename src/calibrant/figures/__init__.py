"""Figures: the data of each figure, and its plot. matplotlib is imported only when something is plotted."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
