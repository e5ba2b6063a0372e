"""Kernel widths by named rules, and the weighted quantiles behind them."""
