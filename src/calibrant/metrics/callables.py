"""The metrics by identifier; the stub of this module holds their signatures for editors and type checkers."""

from .registry import catalogue

globals().update(catalogue)
