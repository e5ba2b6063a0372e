"""Calls of relplot."""

from experiments.migration.calls.call import ABOVE, drawn, of

SETUP = """
import numpy as np
import relplot
import relplot.metrics
from relplot.estimators import Binning, KernelSmoother
from relplot.kernels import GaussianKernel, LogitGaussianKernel, ReflectedGaussianKernel
"""

CALLS = [
    *of(
        "relplot",
        "binary",
        ("relplot.metrics.binnedECE(p, y, 15)", "cal.ece(y, p)", ABOVE),
        (
            "relplot.metrics.binnedECE(p, y, 15)",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="quotient"))',
            "it assigns a score of 1 to a separate bin, and finds bins by division",
        ),
        (
            "relplot.metrics.binnedECEw(p, y, 15)",
            'cal.ece(y, p, binning=cal.EqualWidth(15, closed="left", edges="quotient")) + 1 / 15',
            "as above",
        ),
        (
            "relplot.smECE(p, y)",
            "cal.smece(y, p)",
            "it keeps ten bits of the bandwidth, truncates its kernel, and inflates mass at 0 and 1",
        ),
        (
            "relplot.metrics.smECE_sigma(p, y, 0.05)",
            "cal.smece(y, p, bandwidth=0.05)",
            "it truncates its kernel, and inflates mass at 0 and 1",
        ),
        (
            "relplot.metrics.laplace_calibration_approx(p, y, terms=10**6)",
            "np.sqrt(max(cal.mmce(y, p, bandwidth=1.0)**2, 0))",
            "it draws pairs at random; twice the mean over pairs",
        ),
    ),
    *of(
        "relplot",
        "classes",
        (
            "relplot.smECE(*relplot.metrics.multiclass_logits_to_confidences(p, y, probs=True))",
            "cal.smece(y, p)",
            "as for two classes",
        ),
    ),
    *of(
        "relplot",
        "binary",
        (
            "Binning(15).fit(p[:, None], y).predict(new[:, None])",
            'cal.HistogramBinning(binning=cal.EqualWidth(15, closed="left", edges="quotient")).fit(p, y).predict_proba(new)',
            "it predicts 0 in an empty bin, and the score 1 is in the last one",
        ),
    ),
]

FIGURES = drawn(
    "relplot",
    ("relplot.rel_diagram(p, y)", 'cal.reliability_diagram(y, p, kind="smooth")'),
    ("relplot.rel_diagram_binned(p, y)", "cal.reliability_diagram(y, p)"),
    (
        "relplot.plot_rel_diagram(...), plot_rel_diagram_binned(...), reliability_diagram(...)",
        "cal.reliability_diagram(y, p)",
    ),
    ("KernelSmoother(kernel)", "cal.KernelCalibration()"),
    ("smECE_fast(p, y), smooth_ece(p, y, 0.05)", "cal.smece(y, p)"),
)
