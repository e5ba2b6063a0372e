"""Equivalent calls of calibrant and of other packages on difficult data, and how far apart their values are."""
