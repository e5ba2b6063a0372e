"""Slow forms of metrics."""

OPTIONS = {}
TOLERANCES = {}
