"""Fill sketches from what does not fit into memory: files and databases, through DuckDB."""
