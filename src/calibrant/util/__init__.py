"""Shared utilities: blocks and threads, compiled kernels, exact sums, argument checks, results, files."""
