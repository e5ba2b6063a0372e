"""Tests, intervals, comparisons and power, and simulated predictions whose calibration is known."""

from ..util.namespace import namespace

NAMES = {
    "bands": ("calibration_band",),
    "belt": ("giviti_test",),
    "comparison": ("compare",),
    "continuous": ("assess_density", "assess_gaussian"),
    "distributions": ("kolmogorov_smirnov_cdf", "kuiper_cdf"),
    "grades": ("grade_tests", "hosmer_lemeshow_multinomial"),
    "intervals": ("interval",),
    "multinomial": ("multinomial_recalibration",),
    "multiplicity": ("e_bh", "p_to_e"),
    "pooling": ("pool_estimates",),
    "power_analysis": ("detectable_shift", "power", "sample_size"),
    "precision": ("expected_precision", "precision_sample_size"),
    "sequential": ("sequential_test", "pit_test", "safe_hosmer_lemeshow"),
    "significance": ("assess", "assess_many"),
    "simulation.simulate": ("make_calibrated", "make_miscalibrated", "true_calibration_error"),
}
TYPES = {
    "bands": ("CalibrationBand",),
    "comparison": ("Comparison", "Difference"),
    "grades": ("GradeTest", "GradeTests"),
    "intervals": ("Interval",),
    "multinomial": ("MultinomialFit", "MultinomialRecalibration"),
    "pooling": ("PooledEstimate",),
    "power_analysis": ("PowerResult",),
    "precision": ("Criterion", "PrecisionResult"),
    "sequential": ("EValue",),
    "simulation.simulate": ("Simulation",),
    "verdicts": ("GroupedSignificance", "SignificanceResult", "SignificanceTable"),
}
__getattr__, __dir__, __all__ = namespace(__name__, NAMES, TYPES, ("simulation",))
