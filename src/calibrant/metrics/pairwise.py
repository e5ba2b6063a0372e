"""Residuals of pairs of rows, multiplied and weighed by how near their scores are."""
