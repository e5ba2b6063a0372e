"""The command line: click commands, each a thin call of the library."""

from .main import main

__all__ = ["main"]
