"""What a release rests on: one version everywhere, files of earlier versions, the two files of a build, the recipe and the site."""

import gzip
import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml

import calibrant as cal
import check_release
import make_sbom
import make_site

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Written by 1.0.0rc1 from 60 rows: a calibrator, a sketch, sketches of three groups, and the store of a monitor.
OLD = Path(__file__).parent / "formats" / "1.0.0rc1"


def test_the_version_is_written_once_and_followed() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).samefile(
        Path(cal.__file__).parent / "util" / "version.py"
    )
    assert re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE) == [
        cal.__version__
    ]
    settings = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    assert settings["release"] == cal.__version__
    for name in ("README.md", "docs/release-notes.md"):
        wheels = set(re.findall(r"calibrant-([^-/]+)-py3-none-any\.whl", (ROOT / name).read_text(encoding="utf-8")))
        assert wheels == {cal.__version__}, name
    final = re.fullmatch(r"\d+\.\d+\.\d+", cal.__version__) is not None
    [status] = [line for line in PROJECT["project"]["classifiers"] if line.startswith("Development Status")]
    assert status == f"Development Status :: {'5 - Production/Stable' if final else '4 - Beta'}"


def test_files_of_earlier_versions_open(tmp_path: Path) -> None:
    platt = cal.load(OLD / "platt.json")
    assert np.allclose(platt.predict_proba([0.2, 0.9])[:, 1], [0.38677597, 0.8107792], atol=1e-8)
    assert cal.ece(cal.Sketch.from_bytes((OLD / "scores.sketch").read_bytes())) == 0.21623333333333333
    assert sorted(cal.Sketches.from_bytes((OLD / "groups.sketch").read_bytes()).groups) == ["a", "b", "c"]
    store = tmp_path / "monitor.db"
    store.write_bytes(gzip.decompress((OLD / "monitor.db.gz").read_bytes()))
    monitor = cal.Monitor.open(store)
    assert str(monitor.status()).startswith("No alarm in 3 windows with 60 labelled rows.")
    monitor.prune(1)
    assert str(cal.Monitor.open(store).status()).startswith("No alarm in 3 windows with 60 labelled rows.")


def test_the_conda_recipe_is_that_of_the_project() -> None:
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    other_names = {"duckdb": "python-duckdb"}
    needed = [re.match(r"([\w-]+)(>=.+)", line) for line in project["dependencies"]]
    run = [f"{other_names.get(found[1], found[1])} {found[2]}" for found in needed if found]
    assert recipe["requirements"]["run"] == ["python >=${{ python_min }}", *run]
    assert len(run) == len(project["dependencies"])
    assert recipe["requirements"]["host"][1:] == [
        "pip",
        *(line.replace(">=", " >=") for line in PROJECT["build-system"]["requires"]),
    ]
    assert f">={recipe['context']['python_min']}" == project["requires-python"]
    assert recipe["context"]["version"] == cal.__version__
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["about"]["license"] == project["license"]
    [entry] = recipe["build"]["python"]["entry_points"]
    assert entry == f"calibrant = {project['scripts']['calibrant']}"


def test_the_workflow_runs_every_python_that_is_declared() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))["jobs"]
    declared = [line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert jobs["full"]["strategy"]["matrix"]["python"] == declared == list(check_release.PYTHONS)
    assert PROJECT["project"]["requires-python"] == f">={declared[0]}"
    assert sorted(jobs["release"]["steps"][1]["with"]["python-version"].split()) == declared


def test_each_extra_has_a_line_that_uses_it() -> None:
    assert {*PROJECT["project"]["optional-dependencies"], "core"} == {*check_release.PROBES, "dev", "docs"}


def test_wheel_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("compares with the files that git lists")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name == f"calibrant-{cal.__version__}-py3-none-any.whl"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src/calibrant"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    package = {name.removeprefix("src/") for name in names if name and (ROOT / name).exists()}
    found = check_release.wheel_names(wheel)
    assert {name for name in found if ".dist-info/" not in name} == package
    assert {"calibrant/py.typed", "calibrant/reporting/static/report.js"} <= found
    assert {"calibrant/__init__.pyi", "calibrant/metrics/callables.pyi"} <= found
    check_release.check_metadata(wheel)


@pytest.mark.deep
def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    pairs = zip(
        *(check_release.build_once(tmp_path / name, mask, name) for name, mask in (("1", 0o022), ("2", 0o077))),
        strict=True,
    )
    assert [a.read_bytes() == b.read_bytes() for a, b in pairs] == [True, True]


def test_bill_of_materials_lists_what_is_installed() -> None:
    first = make_sbom.document()
    assert json.dumps(first) == json.dumps(make_sbom.document())
    own = first["metadata"]["component"]
    assert own["licenses"] == [{"expression": "Apache-2.0"}]
    assert "calibrant/reporting/static/report.js" in [entry["name"] for entry in own["components"]]
    scopes = {entry["name"]: entry["scope"] for entry in first["components"]}
    core = {make_sbom.key(re.split(r"[>=]", line)[0]) for line in PROJECT["project"]["dependencies"]}
    assert core | {"vega", "vega-interpreter", "markupsafe"} <= {
        name for name, scope in scopes.items() if scope == "required"
    }
    assert scopes.get("scikit-learn", "optional") == "optional"
    assert not {"pytest", "ruff", "sphinx"} & set(scopes)
    refs = {entry["ref"] for entry in first["dependencies"]} | {entry["bom-ref"] for entry in first["components"]}
    assert all(other in refs for entry in first["dependencies"] for other in entry["dependsOn"])


def test_pages_carry_the_licences_of_the_libraries_inside_them() -> None:
    from calibrant.reporting.html import _drawing_library

    notice, _, library = _drawing_library().partition("*/")
    for text in (
        "BSD-3-Clause",
        "University of Washington",
        "Redistributions in binary form",
        "ISC",
        "MIT",
        "Mike Bostock",
    ):
        assert text in notice, text
    assert "expressionInterpreter" in library


def test_the_site_keeps_all_versions_and_leads_to_the_latest_release(tmp_path: Path) -> None:
    pages, site = tmp_path / "html", tmp_path / "site"
    pages.mkdir()
    (pages / "index.html").write_text("pages")
    assert make_site.add(site, pages, "1.0.0rc1") == [{"folder": "1.0", "version": "1.0.0rc1", "stable": False}]
    assert "url=1.0/index.html" in (site / "index.html").read_text()
    for version in ("1.0.0", "1.9.2", "1.10.0", "2.0.0rc1"):
        make_site.add(site, pages, version)
    assert [(each["version"], each["stable"]) for each in make_site.listed(site)] == [
        ("2.0.0rc1", False), ("1.10.0", True), ("1.9.2", False), ("1.0.0", False),
    ]  # fmt: skip
    assert "url=1.10/index.html" in (site / "index.html").read_text()
    assert {path.name for path in site.iterdir()} == {"1.0", "1.9", "1.10", "2.0", "index.html", "versions.js"}
    with pytest.raises(SystemExit, match="not a version"):
        make_site.add(site, pages, "dev")


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_have_the_least_permissions(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    uses = re.findall(r"uses: (\S+)", text)
    assert uses
    assert all(re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", name) for name in uses), uses
    assert all(re.search(r"uses: \S+ # v\d", line) for line in text.splitlines() if "uses:" in line)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert "secrets." not in text
    for name, job in workflow["jobs"].items():
        permissions = job.get("permissions", {})
        assert job["timeout-minutes"] <= 120
        assert "write" not in permissions.values() or (name, permissions) == ("publish", {"id-token": "write"})
        for step in job["steps"]:
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_publishing_stops_at_placeholders_and_other_versions(tmp_path: Path) -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8"))["jobs"]
    commands = {step["name"]: step["run"] for step in jobs["build"]["steps"] if "name" in step}

    def code(name: str, tag: str = f"v{cal.__version__}") -> int:
        environment = {"GITHUB_REF_NAME": tag, "PATH": "/usr/bin:/bin"}
        return subprocess.run(["bash", "-c", commands[name]], cwd=ROOT, env=environment, capture_output=True).returncode

    addresses = [*PROJECT["project"]["urls"].values(), (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8")]
    placeholder = any("example.org" in text or "OWNER" in text for text in addresses)
    assert (code("Addresses are no placeholders") != 0) == placeholder
    assert code("The tag is the version") == 0
    assert code("The tag is the version", "v0.0.1") != 0


def test_the_paper_cites_what_its_bibliography_has() -> None:
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(set(re.findall(r"@(\w+)", paper.partition("\n---\n")[2]))) == sorted(entries)
    assert len(re.findall(r"\w+", paper)) < 1000
    head = yaml.safe_load(paper.split("---\n")[1])
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} == set(head)
    references = {key: entry for key, entry in cal.metrics.references.references().items() if key in entries}
    text = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    for entry in references.values():
        assert entry.doi in text
        assert entry.arxiv in text
