"""One self-contained HTML page: the table of metrics and the reliability diagram, to open from disk without a network."""

from .page import write_page

__all__ = ["write_page"]
