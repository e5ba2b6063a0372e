"""The pages of `calibrant monitor serve` in a real browser: the headers let them work, and nothing else is asked for."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from calibrant.cli.http_service import Service
from calibrant.cli.model_documents import Models
from calibrant.monitoring.monitor import Monitor

from .chromium import LOCAL, Browser

PICTURE = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='400' height='20'/%3E"


def test_the_index_leads_to_a_page_with_its_pictures(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.reporting.timeline.image_of", lambda spec: PICTURE)  # drawing takes seconds
    rng = np.random.default_rng(1)
    old, p = rng.beta(2, 2, 300), rng.beta(2, 2, 81)
    made = Monitor.create(tmp_path / "a.db", reference=(rng.random(300) < old, old), rows=40, n_resamples=19)
    made.update(rng.random(81) < p, p)
    service, started = Service(Models({"a & <b>": tmp_path / "a.db"}), "127.0.0.1", 0), threading.Event()
    thread = threading.Thread(target=service.run, args=(lambda _: started.set(),))
    thread.start()
    try:
        assert started.wait(30)
        home = f"http://127.0.0.1:{service.port}/"
        with browser.page(home) as page:
            assert page.run("document.querySelector('td a').textContent") == "a & <b>"
            assert (
                page.run("getComputedStyle(document.querySelector('.verdict')).fontWeight") == "600"
            )  # the style applies
            page.run("document.querySelector('td a').click()")
            deadline = time.monotonic() + 120
            while page.run("document.readyState + document.title") != "completea & <b>: calibration over time":
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert page.run("location.pathname") == "/models/a%20%26%20%3Cb%3E/"
            assert page.run("document.querySelector('figure img').naturalWidth") == 400
            assert page.problems == []
            assert all(url.startswith((home, *LOCAL)) for url in page.requests)
    finally:
        service.stop()
        thread.join(30)
