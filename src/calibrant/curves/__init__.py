"""Curves fitted to one view: logistic, LOESS, splines, isotonic, kernel."""

from ..util.namespace import namespace

NAMES = {
    "curves": (
        "Beta",
        "Interpolated",
        "Kernel",
        "Linear",
        "Logistic",
        "PiecewiseLinear",
        "Quadratic",
        "beta",
        "centered_isotonic",
        "isotonic",
        "kernel",
        "linear",
        "logistic",
        "piecewise_linear",
        "quadratic",
        "smoothed_logistic",
        "spline",
    ),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES)
