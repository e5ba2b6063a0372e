"""Conversion and validation of user input: `Predictions`."""

from ..util.namespace import namespace

NAMES = {
    "language_models": ("read_lm_harness", "read_openai_logprobs"),
    "stated_confidence": ("parse_confidence",),
    "predictions": ("Predictions",),
    "unjoined": ("join_events",),
}
TYPES = {
    "missing": ("Dropped",),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES)
