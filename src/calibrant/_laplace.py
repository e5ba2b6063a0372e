"""Sums over all pairs of scores with an exponential kernel, in the time of a sort."""
