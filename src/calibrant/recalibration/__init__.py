"""Calibrators: fit them on held-out data, apply them to new scores, choose among them, save them."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
