"""Errors near one point: of the scores, of the features, or of both."""
