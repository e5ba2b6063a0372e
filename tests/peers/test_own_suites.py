"""The tests that uncertainty-calibration, MAPIE and MCGrad install with themselves pass with calibrant in place of their functions.

Of uncertainty-calibration 0.1.4: 39 of 39; of MAPIE 1.6.0: 18 of 20; of MCGrad 0.1.5: 18 of 18.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.environments import PEERS
from tests.docs.test_migration import environment_of

ROOT = Path(__file__).parent.parent.parent
NOT_APPLICABLE = {
    "MAPIE": {
        "test_top_label_ece": "its rows sum to 3, which are not probabilities",
        "test_kuiper_statistic": "it leaves out the initial 0 of the cumulative differences",
    },
}
PASSED = {"uncertainty-calibration": 39, "MAPIE": 18, "MCGrad": 18}


@pytest.mark.deep
@pytest.mark.parametrize("name", PASSED)
def test_tests_of_the_package_pass(name: str, tmp_path: Path) -> None:
    python = environment_of(next(peer for peer in PEERS if peer.name == name))
    results = tmp_path / "results.xml"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [python, str(ROOT / "tests" / "peers" / "suite_adapter.py"), name, str(results)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    cases = list(ElementTree.parse(results).iter("testcase"))
    failed = {case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None}
    assert failed == set(NOT_APPLICABLE.get(name, {})), done.stdout[-3000:]
    assert len(cases) - len(failed) == PASSED[name]
