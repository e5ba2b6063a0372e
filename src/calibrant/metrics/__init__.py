"""The formulas, a file for each subfamily; importing this fills the catalogue."""

from . import bins, joint, points

__all__ = ["bins", "joint", "points"]
