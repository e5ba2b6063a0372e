"""Simulated predictions whose calibration is known."""

from ...util.namespace import namespace

NAMES = {
    "simulate": (
        "Warp",
        "bias",
        "bump",
        "by_group",
        "confusion",
        "function",
        "label_noise",
        "make_calibrated",
        "make_miscalibrated",
        "prior_shift",
        "softmax_map",
        "temperature",
        "true_calibration_error",
        "true_value",
    ),
}
TYPES = {
    "simulate": ("Simulation",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
