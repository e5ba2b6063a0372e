"""Importing calibrant costs nothing, and using it loads only what the call needs."""

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import calibrant as cal

HEAVY = (
    "scipy", "pandas", "polars", "pyarrow", "torch", "numba", "matplotlib", "duckdb", "jinja2", "click", "rich", "narwhals",
    "sklearn", "vl_convert",
)  # fmt: skip
ROOT = Path(cal.__file__).parent
# Packages that list their names in a stub; those of PyTorch are tested where it is installed.
PACKAGES = sorted(
    ".".join(stub.relative_to(ROOT).parts[:-1])
    for stub in ROOT.glob("*/**/__init__.pyi")
    if stub.relative_to(ROOT).parts[0] != "torch"
)
SHOW = f"; import sys; print(*sorted({{m.split('.')[0] for m in sys.modules}} & set({HEAVY!r})))"


def loaded_after(code: str) -> set[str]:
    """Which heavy packages a fresh process has loaded after running `code`."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + SHOW], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


LISTS = "import calibrant as cal; y, p = [0, 1, 1, 0], [0.2, 0.8, 0.6, 0.3]; "


def test_nothing_heavy_is_loaded() -> None:
    calls = [
        "from calibrant import *; ece, catalogue, Predictions, evaluate",
        "import numpy as np; import calibrant as cal; dir(cal); repr(cal.catalogue); help",
        "y, p = [0, 1, 1, 0], [0.2, 0.8, 0.6, 0.3]",
        "cal.ece(y, p); cal.brier(y, p); cal.cwce(y, p); cal.gece(y, p); cal.catalogue['log loss'](y, p)",
        "cal.ece(cal.Predictions(y, p, sample_weight=[1, 2, 3, 4], groups=list('abab')), binning='equal_mass')",
        "cal.calibration_curve(y, p, level=None)",
        "cal.evaluate(y, p, metrics='recommended')",
        "cal.ece(np.array(y), np.array(p, np.float32))",
    ]
    assert loaded_after("; ".join(calls)) == set()


def test_import_alone_does_not_even_load_numpy() -> None:
    code = "import calibrant, sys; assert 'numpy' not in sys.modules; calibrant.ece; assert 'numpy' in sys.modules"
    assert loaded_after(code) == set()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            LISTS
            + "import polars as pl; cal.ece(cal.Predictions(pl.DataFrame({'y': y, 'p': p}), label='y', prob='p')); "
            + "cal.ece(pl.Series(y), pl.Series(p)); cal.calibration_curve(y, p, level=None).to_frame()",
            {"polars", "narwhals"},
        ),
        (LISTS + "cal.calibration_curve(y, p)", {"scipy"}),
    ],
)
def test_only_what_the_call_needs_is_loaded(code: str, expected: set[str]) -> None:
    found = loaded_after(code)
    assert expected <= found
    assert not found & {"pandas", "torch", "numba", "matplotlib", "duckdb", "jinja2", "click", "rich"}


def test_every_public_name_can_be_had() -> None:
    names = dir(cal)
    assert len(names) == len(set(names))
    assert set(names) == {*cal.__all__, *cal._MODULES, "__version__"}
    for name in names:
        assert getattr(cal, name) is not None
    assert {"ece", "Predictions", "catalogue", "evaluate", "errors", "CalibrantError", "select"} <= set(names)


def test_metrics_and_errors_are_listed_in_the_stubs() -> None:
    assert set(cal.catalogue) <= set(cal.metrics.__all__)
    assert all(getattr(cal, id) is metric for id, metric in cal.catalogue.items())
    classes = [value for value in vars(cal.errors).values() if inspect.isclass(value) and issubclass(value, Exception)]
    assert {error.__name__ for error in classes} - {"_Message"} == set(cal.errors.__all__)


def test_every_listed_name_exists() -> None:
    """Loaded at once where the environment says so, as SPEC 1 of Scientific Python has it."""
    code = "import calibrant, calibrant.input"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "EAGER_IMPORT": "1"},
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_star_import_brings_the_public_names_and_nothing_else() -> None:
    space: dict[str, object] = {}
    exec("from calibrant import *", space)
    space.pop("__builtins__")
    assert sorted(space) == sorted(cal.__all__)
    assert space["ece"] is cal.ece


@pytest.mark.parametrize(
    ("name", "near"), [("ecee", "'ece'"), ("ECE", "'ece'"), ("log_loss", "'nll'"), ("Prediction", "'Predictions'")]
)
def test_an_unknown_name_is_an_attribute_error_with_a_hint(name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=f"calibrant has no '{name}'; did you mean {near}"):
        getattr(cal, name)
    assert not hasattr(cal, "no_name_is_near_to_this")
    with pytest.raises(AttributeError, match=r"calibrant has no 'Interval'; use calibrant\.inference\.Interval"):
        cal.Interval  # noqa: B018
    with pytest.raises(AttributeError, match=r"use calibrant\.sklearn\.CalibratedModel"):
        cal.CalibratedClassifierCV  # noqa: B018
    with pytest.raises(AttributeError, match=r"calibrant has no 'hosmer'; use calibrant.hosmer_lemeshow$"):
        cal.hosmer  # noqa: B018
    with pytest.raises(AttributeError, match=r"calibrant has no 'plot'; use calibrant.reliability_diagram$"):
        cal.plot  # noqa: B018
    with pytest.raises(AttributeError, match=r"calibrant has no 'score'$"):  # three letters of smce are not a hint
        cal.score  # noqa: B018


def test_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert cal.__version__ == version("calibrant")


@pytest.mark.parametrize(
    "call",
    [
        "cal.compare(y, {'a': p, 'b': p[::-1]}, n_resamples=99)",
        pytest.param("cal.assess(y, p, metric='ece', n_resamples=99)", marks=pytest.mark.deep),
        pytest.param("cal.interval(y, p, metric='ece', n_resamples=200)", marks=pytest.mark.deep),
        "cal.recommend('direction')",
        "cal.Sketch.of(y, p).error_bound(cal.ece)",
    ],
)
def test_any_call_may_be_the_first(call: str) -> None:
    """Each looks metrics up by name, which someone must have declared by then."""
    rows = LISTS.replace("[0, 1, 1, 0]", "[0, 1, 1, 0] * 20").replace("0.3]", "0.3] * 20")
    assert "torch" not in loaded_after(rows + call)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_hides_a_name_of_its_package(package: str) -> None:
    """Importing a module sets it as an attribute of its package, over a function of the same name."""
    space = import_module(f"calibrant.{package}")
    modules = {module.name for module in iter_modules(space.__path__)}
    assert all(inspect.ismodule(getattr(space, name)) for name in modules & set(space.__all__))
    for name in dir(space):
        assert getattr(space, name) is not None


def test_a_name_loads_little_beyond_itself() -> None:
    names = {"errors.InputError": 6, "Predictions": 40, "TemperatureScaling": 130}
    count = "print(sum(m.startswith('calibrant') for m in sys.modules))"
    code = "import calibrant, sys; " + "; ".join(f"calibrant.{name}; {count}" for name in names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(int(found) <= most for found, most in zip(done.stdout.split(), names.values(), strict=True))


def test_a_metric_of_the_user_is_a_name_of_metrics_too() -> None:
    code = (
        "import calibrant as cal\n"
        "@cal.metrics.metric('Gap', family='example', subfamily='plug-in', range=(0, 1), ideal=None, cite='naeini2015', strengths='p', limits='c')\n"
        "def own_gap(view: cal.views.View) -> float:\n"
        "    'Mean distance.'\n"
        "    return view.mean(abs(view.score - view.outcome))\n"
        "assert cal.metrics.own_gap is cal.own_gap is own_gap and 'own_gap' in dir(cal.metrics)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
