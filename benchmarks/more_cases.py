"""Further contenders of the cases there are, and cases for tests, for torch-uncertainty and for calibre."""

from __future__ import annotations

import adapters as ask
from cases import BINS, FLOAT32, LEFT, QUANTILES, Case, Contender, calibrant_twice
from environments import NEWER_PYTHON, TORCH_UNCERTAINTY
from kernels import TEN_BITS, calzone_analysis, probcal_metric

THREE_DIGITS = "edges at quantiles rounded to three digits"
JITTER = "shakes the scores by 1e-8 to break ties"
PYCALEVA_OBJECT = "pycaleva (with AUROC and a lowess curve, which its object always finds)"
MAPIE_RANGE = "MAPIE (range of its cumulative differences and 0; its kuiper_statistic leaves out the 0: up to 1/N less)"
MAPIE_KUIPER = "MAPIE (leaves out the 0 at which the differences begin, which moves nothing here)"
IN_FLOAT32 = "sums of cumulative differences in float32"

# Put beside the contenders of cases.py and kernels.py, by the id of the case.
BESIDE = {
    **{
        id: [Contender("MAPIE", "mapie", ask.mapie_ece("uniform"), FLOAT32)]
        for id in ("top_label_10", "top_label_1000")
    },
    "binary": [
        Contender("MAPIE", "mapie", ask.mapie_ece("uniform"), FLOAT32),
        Contender("MCGrad", "mcgrad", ask.mcgrad("expected_calibration_error", num_bins=BINS), LEFT),
    ],
    "class_wise": [Contender("MAPIE", "mapie", ask.mapie_ece("uniform", classwise=True), FLOAT32)],
    "equal_mass": [
        Contender("MAPIE", "mapie", ask.mapie_ece("quantile"), QUANTILES),
        Contender("MCGrad", "mcgrad", ask.mcgrad("adaptive_calibration_error", num_bins=BINS), THREE_DIGITS),
        Contender("calzone", "calzone", ask.calzone_table("calculate_ece_mce", BINS, equal_mass=True), QUANTILES),
    ],
    **{
        f"ecce_{rows}": [Contender("MAPIE", "mapie", ask.mapie("cumulative_differences", ask.highest), JITTER)]
        for rows in (10_000, 100_000)
    },
    **{
        f"kuiper_{rows}": [
            Contender(MAPIE_RANGE, "mapie", ask.mapie("cumulative_differences", ask.spread), JITTER),
            Contender("MCGrad", "mcgrad", ask.mcgrad("ecce"), IN_FLOAT32),
        ]
        for rows in (10_000, 100_000)
    },
}

ROWS = 100_000
TESTS = [
    Case(
        "spiegelhalter",
        "Spiegelhalter's z",
        ROWS,
        1,
        [
            *calibrant_twice("spiegelhalter_z"),
            Contender("probcal", "probcal", probcal_metric("spiegelhalter_z", lambda found: float(found.z))),
            Contender("calzone", "calzone", calzone_analysis("spiegelhalter_z_test")),
            Contender("MAPIE", "mapie", ask.mapie("spiegelhalter_statistic")),
            Contender("pycaleva, its object made beforehand", "pycaleva", ask.pycaleva_rows),
        ],
        slope=1.0,
        dtype="float64",
    ),
    Case(
        "hosmer_lemeshow",
        "Hosmer-Lemeshow statistic, 10 bins of equal mass",
        ROWS,
        1,
        [
            *calibrant_twice("hosmer_lemeshow"),
            Contender("probcal", "probcal", probcal_metric("hosmer_lemeshow", lambda found: float(found.statistic))),
            Contender("calzone", "calzone", ask.calzone_table("hosmer_lemeshow_test", 10, equal_mass=True), QUANTILES),
            Contender(PYCALEVA_OBJECT, "pycaleva", ask.pycaleva_groups("hosmerlemeshow")),
        ],
        slope=1.0,
        dtype="float64",
    ),
    Case(
        "pigeon_heyse",
        "Pigeon-Heyse statistic, 10 bins of equal mass",
        ROWS,
        1,
        [
            *calibrant_twice("hosmer_lemeshow", variance="exact"),
            Contender(PYCALEVA_OBJECT, "pycaleva", ask.pycaleva_groups("pigeonheyse")),
        ],
        slope=1.0,
        dtype="float64",
    ),
    Case(
        "kuiper_pvalue",
        "p-value of the range of cumulative differences",
        ROWS,
        1,
        [
            *ask.calibrant_pvalue("ecce_r"),
            Contender(MAPIE_KUIPER, "mapie", ask.mapie("kuiper_p_value"), JITTER),
            Contender("MCGrad", "mcgrad", ask.mcgrad("ecce_pvalue"), IN_FLOAT32),
        ],
        slope=1.0,
        dtype="float64",
    ),
    Case(
        "ks_pvalue",
        "p-value of the maximum cumulative difference",
        ROWS,
        1,
        [
            *ask.calibrant_pvalue("ecce_mad"),
            Contender("MAPIE", "mapie", ask.mapie("kolmogorov_smirnov_p_value"), JITTER),
        ],
        slope=1.0,
        dtype="float64",
    ),
    Case(
        "multicalibration",
        "Largest cumulative error over 20 groups, in standard deviations",
        ROWS,
        1,
        [
            *ask.calibrant_in_groups("mcm", scale="sigma"),
            Contender("MCGrad", "mcgrad", ask.mcgrad_in_groups, IN_FLOAT32),
        ],
        dtype="float64",
    ),
]


def _torch_uncertainty(id: str, title: str, rows: int, classes: int, own: list[Contender], **asked: str) -> Case:
    metric, why = asked["metric"], asked["why"]
    options = {"kernel_type": "reflected"} if "Smooth" in metric else {"num_bins": BINS}
    them = Contender("torch-uncertainty", "torch_uncertainty", ask.torch_uncertainty(metric, **options), why)
    return Case(id, title, rows, classes, [*own, them], environment=TORCH_UNCERTAINTY)


WITH_TORCH_UNCERTAINTY = [
    _torch_uncertainty(
        "tu_top_label",
        "Top-label ECE, 15 bins",
        1_000_000,
        10,
        calibrant_twice("ece"),
        metric="CalibrationError",
        why=f"{FLOAT32}; {LEFT}",
    ),
    _torch_uncertainty(
        "tu_binary",
        "Binary ECE, 15 bins",
        1_000_000,
        1,
        calibrant_twice("ece"),
        metric="CalibrationError",
        why=f"{FLOAT32}; {LEFT}",
    ),
    _torch_uncertainty(
        "tu_class_wise",
        "Class-wise ECE, 15 bins of equal width",
        100_000,
        100,
        calibrant_twice("cwce"),
        metric="ClasswiseCalibrationError",
        why=f"{FLOAT32}; {LEFT}",
    ),
    _torch_uncertainty(
        "tu_adaptive",
        "Top-label ECE, 15 bins of equal mass",
        1_000_000,
        10,
        calibrant_twice("ece_em", lens="top_label"),
        metric="AdaptiveCalibrationError",
        why=f"{FLOAT32}; bins of equal mass cut through ties",
    ),
    _torch_uncertainty(
        "tu_smece",
        "Smooth ECE of the top label",
        10_000,
        10,
        calibrant_twice("smece"),
        metric="SmoothCalibrationError",
        why="keeps ten bits of the bandwidth and sums over a grid of about 200 points",
    ),
]


def _calibre(id: str, title: str, rows: int, own: list[Contender], them: Contender, classes: int = 1) -> Case:
    return Case(id, title, rows, classes, [*own, them], environment=NEWER_PYTHON, dtype="float64")


WITH_CALIBRE = [
    _calibre(
        "calibre_binary",
        "Binary ECE, 15 bins",
        10_000_000,
        calibrant_twice("ece"),
        Contender(
            "calibre", "calibre", ask.calibre("expected_calibration_error", n_bins=BINS), "bins closed on the left"
        ),
    ),
    _calibre(
        "calibre_equal_mass",
        "Binary ECE, 15 bins of equal mass",
        1_000_000,
        calibrant_twice("ece_em"),
        Contender("calibre", "calibre", ask.calibre("plugin_calibration_error", n_bins=BINS, norm=1), QUANTILES),
    ),
    _calibre(
        "calibre_debiased",
        "Debiased root mean squared error, 15 bins of equal mass",
        1_000_000,
        calibrant_twice("drmsce"),
        Contender("calibre", "calibre", ask.calibre("debiased_calibration_error", n_bins=BINS), QUANTILES),
    ),
    _calibre(
        "calibre_top_label",
        "Debiased root mean squared error of the top label, 15 bins of equal mass",
        1_000_000,
        calibrant_twice("drmsce", lens="top_label"),
        Contender("calibre", "calibre", ask.calibre("top_label_ece", n_bins=BINS), QUANTILES),
        classes=10,
    ),
    _calibre(
        "calibre_sweep",
        "Monotonic sweep ECE",
        1_000_000,
        calibrant_twice("ece_sweep"),
        Contender("calibre", "calibre", ask.calibre("sweep_calibration_error", norm=1), QUANTILES),
    ),
    _calibre(
        "calibre_smece",
        "Smooth ECE",
        100_000,
        calibrant_twice("smece"),
        Contender("calibre", "calibre", ask.calibre("smooth_calibration_error"), TEN_BITS),
    ),
]
MORE_CASES = [*TESTS, *WITH_TORCH_UNCERTAINTY, *WITH_CALIBRE]
