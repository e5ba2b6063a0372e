"""The validation dossier: what this installation computes beside stored reference values, and where each of them is from."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
