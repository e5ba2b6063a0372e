"""Validation of risk models: performance (`summary`), by centre or period (`validate_by_group`), for a time to event
(`survival_summary`, `horizon_outcomes`), and corrected for optimism (`internal_validation`)."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
