"""Views of predictions (scores and outcomes), the lenses that make them, and selections of rows."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
