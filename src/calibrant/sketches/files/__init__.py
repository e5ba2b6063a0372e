"""Sketches of data that do not fit into memory: files and databases, read with DuckDB."""
