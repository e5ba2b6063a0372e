"""Report pages that open offline: the interactive report, its comparison, and the timeline of a monitor."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
