"""What a plain install does, in one process: every metric, a test, an interval, a calibrator, the report and the command line.

`make test-minimal` runs it with the core dependencies alone, at the lowest versions allowed.
"""

import json
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal

ROOT = Path(__file__).parent.parent
TWO = cal.inference.make_miscalibrated(400, warp=cal.inference.simulation.temperature(3.0), rng=1)
THREE = cal.inference.make_miscalibrated(
    300, warp=cal.inference.simulation.temperature(3.0), distribution=(0.7,) * 3, rng=2
)
NEEDED = {"groups": np.arange(400) % 3, "features": np.random.default_rng(3).normal(size=(400, 2))}


@pytest.mark.parametrize("name", list(cal.catalogue))
def test_every_metric_gives_a_number(name: str) -> None:
    metric = cal.catalogue[name]
    needed = {key: value for key, value in NEEDED.items() if key in metric.needs}
    assert np.isfinite(metric(cal.Predictions(TWO.y_true, TWO.y_prob, **needed)))


@pytest.mark.parametrize("data", [TWO, THREE], ids=["two", "three"])
def test_measure_assess_and_improve(data: cal.inference.simulation.Simulation) -> None:
    found = cal.evaluate(data.y_true, data.y_prob)
    assert found["ece"] > 0
    assert cal.assess(data.y_true, data.y_prob, metric="ece", n_resamples=99, rng=0).pvalue <= 0.05
    held = cal.interval(data.y_true, data.y_prob, metric="brier")
    assert held.low < held.value < held.high
    half = len(data.y_true) // 2
    fitted = cal.TemperatureScaling().fit(data.y_prob[:half], data.y_true[:half])
    rest, labels = data.y_prob[half:], data.y_true[half:]
    assert cal.nll(labels, fitted.predict_proba(rest)) < cal.nll(labels, rest)


def test_report_and_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from calibrant.cli import main

    rows = "\n".join(f"{y},{p!r}" for y, p in zip(TWO.y_true.tolist(), TWO.y_prob.tolist(), strict=True))
    (tmp_path / "rows.csv").write_text("y,p\n" + rows + "\n", encoding="utf-8")
    page = tmp_path / "page.html"
    assert run(main, "report", str(tmp_path / "rows.csv"), "--label", "y", "--prob", "p", "--out", str(page)) == 0
    assert "<html" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(main, "evaluate", str(tmp_path / "rows.csv"), "--label", "y", "--prob", "p", "--json") == 0
    values = {entry["metric"]: entry["value"] for entry in json.loads(capsys.readouterr().out)["metrics"]}
    assert values["ece"] == pytest.approx(cal.ece(TWO.y_true, TWO.y_prob), rel=1e-12)


def run(main: object, *words: str) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(words)  # type: ignore[operator]
    return int(ended.value.code or 0)


def test_the_lowest_versions_are_those_of_the_package() -> None:
    allowed = dict(re.findall(r'^    "([\w-]+)>=([\d.]+)",$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    listed = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "tests" / "minimal.txt").read_text(), re.MULTILINE))
    core = {name: allowed[name] for name in listed}
    assert all(listed[name] in (low, f"{low}.0", f"{low}.0.0") for name, low in core.items())
    assert len(listed) == 10
    assert version("calibrant") == cal.__version__


def test_scan_with_groups(tmp_path: Path) -> None:
    groups = np.array(["a", "b", "c"])[NEEDED["groups"]]
    lines = [f"{y},{p!r},{g}" for y, p, g in zip(TWO.y_true.tolist(), TWO.y_prob.tolist(), groups, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,p,g", *lines]), encoding="utf-8")
    whole = cal.Sketches.of(cal.Predictions(TWO.y_true, TWO.y_prob, groups=groups))
    assert cal.scan(tmp_path / "rows.csv", by="g") == whole
