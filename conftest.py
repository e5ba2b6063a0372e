"""Shared by all tests, those beside experiments and benchmarks too: the `--deep` switch, a server, and the rules of messages."""

import gc
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from _pytest.mark import ParameterSet
from hypothesis import settings

from calibrant.errors import CalibrantError
from tests.in_turn import only
from tests.language import rejected
from tests.postgres import Server, running_server

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

ROOT = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="run the long forms too")
    parser.addoption("--only", action="append", default=[], help="of values checked in turn, only that of this name")


def pytest_configure(config: pytest.Config) -> None:
    only.update(config.getoption("--only"))


@pytest.fixture(autouse=True)
def _no_figure_is_left() -> Iterator[None]:
    """Figures of one test do not count towards the limit of matplotlib in another."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Examples in docstrings are those of the package; the tests' own modules are not searched for them."""
    found = yield
    if file_path.is_relative_to(ROOT / "src"):
        return found
    return [collector for collector in found if not isinstance(collector, DoctestModule)]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Cases of the long form are not made for the short one, where they would be a third of all."""
    if metafunc.config.getoption("--deep"):
        return
    is_deep = metafunc.definition.get_closest_marker("deep") is not None
    marks = metafunc.definition.own_markers
    marks[:] = [_short_form(mark, is_deep) if mark.name == "parametrize" else mark for mark in marks]


def _short_form(mark: pytest.Mark, is_deep: bool) -> pytest.Mark:
    """The parameters of a test without those marked `deep`; the first alone where the test itself is."""
    names, values = mark.args[0], list(mark.args[1])
    kept = [place for place, value in enumerate(values) if not _is_deep(value)]
    if is_deep or not kept:
        kept = [0] if values else []
    options = dict(mark.kwargs)
    if isinstance(options.get("ids"), Iterable):
        ids = list(options["ids"])
        options["ids"] = [ids[place] for place in kept]
    return pytest.mark.parametrize(names, [values[place] for place in kept], *mark.args[2:], **options).mark


def _is_deep(value: object) -> bool:
    return isinstance(value, ParameterSet) and any(mark.name == "deep" for mark in value.marks)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--deep"):
        return
    kept = _spread([item for item in items if item.get_closest_marker("deep") is None])
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # Nothing that collection makes can be freed before the end.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    # What collection made stays to the end: the garbage collector need not walk over 20 000 tests again and again. It also comes less often
    # than for a process whose memory counts.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # else modules stay at the interpreter's end, and duckdb reports them as leaks


def _spread(items: list[pytest.Item]) -> set[pytest.Item]:
    """The cases of the short form: of a test with many cases a third, in which every value of every parameter occurs.

    A table of metrics by data sets so meets every metric and every data set in each run; every pair is met by
    `make deep`. A test marked `sampled`, whose cases differ little, runs a third of them whatever their values.
    Which cases are kept depends on their names alone, so that a failure is found again.
    """
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept: set[pytest.Item] = set()
    for cases in tables.values():
        if len(cases) < 12 or not all(isinstance(case, pytest.Function) for case in cases):
            kept.update(cases)
            continue
        met: set[tuple[str, object]] = set()
        cases.sort(key=lambda case: zlib.crc32(case.nodeid.encode()))
        for place, case in enumerate(cases):
            values = {(name, _mark(value)) for name, value in case.callspec.params.items()}  # type: ignore[attr-defined]
            if 3 * place < len(cases) or (values - met and case.get_closest_marker("sampled") is None):
                kept.add(case)
                met |= values
    return kept


def _mark(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else id(value)


@pytest.fixture(scope="session")
def deep(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--deep"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A real PostgreSQL server; a test that needs it is skipped where it cannot be started."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def quick_intervals() -> Iterator[None]:
    """Limits by inversion of a test come from few sets of labels; with as many as users have, they take most of the time of a summary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calibrant.inference.inversion.FEWEST_SETS", 3)
        patch.setattr("calibrant.inference.inversion.SHARE_OF_SETS", 1 << 30)
        yield


@pytest.fixture
def quick_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of monitors have too few resamples for an interval of the ECE, which takes most of the time of a status."""
    monkeypatch.setattr("calibrant.monitoring.calibration.RESAMPLES", 19)
    monkeypatch.setattr("calibrant.monitoring.labelfree.PERFORMANCE_RESAMPLES", 20)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Call the command line in this process; gives exit code, output and errors."""

    def call(*arguments: object) -> tuple[int, str, str]:
        from calibrant.cli import main

        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return int(stopped.value.code or 0), output.out, output.err

    return call


_build_error = CalibrantError.__init__


def _checked_error(self: CalibrantError, *parts: Any, **options: Any) -> None:
    """Every message that a test meets is held against the rules of language."""
    _build_error(self, *parts, **options)
    found = rejected(str(self))
    assert not found, f"{found!r} in the message {str(self)!r}; see docs/language.md"


CalibrantError.__init__ = _checked_error  # type: ignore[method-assign]
