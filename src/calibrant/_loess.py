"""Local polynomial regression (LOESS and LOWESS)."""
