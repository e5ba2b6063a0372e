"""Errors from kernels and neighbours."""

from importlib import import_module

for _name in ("regressions", "smooth", "densities", "pairwise", "embeddings", "local"):  # the order of the catalogue
    import_module(f".{_name}", __name__)
