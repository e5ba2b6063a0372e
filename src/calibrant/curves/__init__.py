"""Curves fitted to one view: logistic, LOESS, splines, isotonic, kernel."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
