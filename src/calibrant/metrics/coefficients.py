"""Coefficients of a regression of the outcome on the score, and the statistics that test them."""
