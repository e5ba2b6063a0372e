"""Gaussian kernel sums over scores."""
