"""One browser for all pages, and the pages; where there is no browser, the tests say so by name."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from calibrant.reporting import Report

from .chromium import Browser, Page, find_chromium
from .pages import BINARY, LABEL, MANY, SCORE, quick_report, with_metrics


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("NO CHROMIUM: install the package `chromium`, or set CHROMIUM to its program, to test pages in it")
    running = Browser(program)
    yield running
    running.close()


@pytest.fixture(scope="session")
def reports() -> dict[str, Report]:
    weight = np.random.default_rng(3).exponential(1, len(LABEL))
    return {
        "binary": with_metrics(quick_report(BINARY, None, title="A model"), 6),
        "many": quick_report(MANY, None, title="Animals"),
        "weighted": quick_report(LABEL, SCORE, sample_weight=weight, title="Weighted"),
    }


@pytest.fixture(scope="session")
def files(reports: dict[str, Report], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {name: found.save(folder / f"{name}.html") for name, found in reports.items()}


@pytest.fixture(scope="session")
def binary(browser: Browser, files: dict[str, Path]) -> Iterator[Page]:
    with browser.page(files["binary"]) as page:
        page.run("calibrantReport.ready")
        yield page


@pytest.fixture(scope="session")
def many(browser: Browser, files: dict[str, Path]) -> Iterator[Page]:
    with browser.page(files["many"]) as page:
        page.run("calibrantReport.ready")
        yield page
