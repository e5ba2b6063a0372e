"""Many metrics at once (`evaluate`), the performance of a risk model (`clinical_summary`), by centre or period (`validate_by_group`,
`validate_by_period`), for a time to event (`survival_summary`, `horizon_outcomes`) and corrected for optimism (`internal_validation`), the
distribution of the confidence (`confidence_summary`), discrimination (`auroc`, `average_precision`), and which metrics to use (`recommend`)."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
