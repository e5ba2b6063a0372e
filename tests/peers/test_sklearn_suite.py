"""The tests of the installed scikit-learn for calibration and for metadata routing, run against calibrant by thin adapters.

Of scikit-learn 1.9.1: 102 passed, 19 not applicable, 121 skipped by scikit-learn (arrays of other libraries, float32).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

import calibrant as cal

pytest.importorskip("sklearn.tests.test_calibration", reason="scikit-learn is not installed, or without its tests")

LEGEND = "the legend of calibrant names the intervals and not the diagonal"
AXES = "the axes are labelled 'mean predicted probability of 1' and 'observed rate of 1'"
ARRAYS = "a display of calibrant is constructed from a calibration curve, not from arrays"
WORDING = "the error is worded differently"
# Tests that calibrant does not pass, and why they do not apply to it.
NOT_APPLICABLE = {
    "test_calibration_cv_nfold": WORDING,
    "test_calibration_curve_pos_label_error_str": WORDING,
    "test_calibration_display_compute": AXES,
    "test_calibration_display_pos_label": AXES,
    "test_plot_calibration_curve_pipeline": LEGEND,
    "test_calibration_display_name_multiple_calls": LEGEND,
    "test_calibration_display_ref_line": LEGEND,
    "test_calibration_display_default_labels": ARRAYS,
    "test_calibration_display_label_class_plot": ARRAYS,
}
# Tests that pass and say nothing of calibrant.
THEIRS_ALONE = {
    "test_calibration_zero_probability": "a private class of scikit-learn with a mock; the rule is in tests/test_sklearn.py",
    "test_temperature_scaling_input_validation": "a private class of scikit-learn",
}
SKIPPED = "array_api"  # arrays of other libraries are converted to NumPy


@pytest.mark.deep
def test_the_tests_of_scikit_learn(tmp_path: Path) -> None:
    (tmp_path / "empty.ini").write_text("[pytest]\n")
    report = tmp_path / "report.xml"
    paths = [Path(cal.__file__).parents[1], Path(__file__).parent]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "empty.ini",
        "-p",
        "sklearn_adapter",
    ]
    command += ["--pyargs", "sklearn.tests.test_calibration", "sklearn.tests.test_metaestimators_metadata_routing"]
    command += ["-k", "test_calibration or CalibratedClassifierCV", f"--junitxml={report}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "MPLBACKEND": "Agg"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert report.exists(), ran.stdout + ran.stderr
    found: dict[str, Counter[str]] = {"passed": Counter(), "failed": Counter(), "skipped": Counter()}
    for case in ElementTree.parse(report).iter("testcase"):
        tags = {child.tag for child in case}
        outcome = "failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "passed"
        found[outcome][case.attrib["name"].partition("[")[0]] += 1
    assert set(found["failed"]) == set(NOT_APPLICABLE), ran.stdout
    assert all(SKIPPED in name or name in THEIRS_ALONE for name in found["skipped"])
    for name in NOT_APPLICABLE:
        assert not found["passed"][name]
    of_calibrant = sum(found["passed"].values()) - sum(found["passed"][name] for name in THEIRS_ALONE)
    assert of_calibrant > 100
