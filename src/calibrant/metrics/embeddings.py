"""Kernel errors of whole distributions: pairs of rows weighed by how near their probability vectors are."""
