"""Sums over pairs of rows with a kernel of their probability vectors, in tiles that never hold all pairs."""
