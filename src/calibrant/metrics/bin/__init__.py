"""Errors over bins."""

from importlib import import_module

_ORDER = "bins partially_binned intervals signed soft windows debiased variation joint classwise grouped"
for _name in _ORDER.split():  # the order of the catalogue
    import_module(f".{_name}", __name__)
