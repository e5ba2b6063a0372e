"""Kernel regression of the outcomes on the scores, and how far that curve is from the diagonal."""
