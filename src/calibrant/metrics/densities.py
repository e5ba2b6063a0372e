"""Kernel density estimates of the scores, of all rows and of events, and the error they imply."""
