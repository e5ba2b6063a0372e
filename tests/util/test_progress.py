"""Progress: a bar for whoever watches, once a loop has run for some time, and nothing otherwise."""

import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

import calibrant as cal
from calibrant.inference.replicates import many
from calibrant.util import progress
from calibrant.util.progress import allow_bars, hide, loop, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal as standard error, on which a bar is shown at once."""
    for name in ("CI", "CALIBRANT_PROGRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream, modules={}))
    monkeypatch.setattr(progress, "DELAY", 0.0)
    yield stream
    assert not progress._display.loops
    assert progress._display.bar is None


def shown() -> tuple[str, float | None, float]:
    """Wait for the bar; its text, total and position."""
    timer = progress._display.timer
    timer.join(30)
    task = progress._display.bar.tasks[0]
    return task.description, task.total, task.completed


def test_loops_inside_move_the_bar_by_parts_of_a_pass(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal)  # where rich writes
    with loop("metrics", 4) as done:
        assert shown() == ("0/4 metrics", 1.0, 0.0)
        done(1)
        for _ in range(2):  # the second loop of the same pass does not set the bar back
            with loop("resamples", 10) as drawn:
                drawn(5)
                assert shown() == ("1/4 metrics", 1.0, (1 + 0.5) / 4)
        done(2)
        assert shown() == ("2/4 metrics", 1.0, 0.5)
    assert "metrics" in terminal.getvalue()


def test_a_loop_of_unknown_length_shows_what_it_has_counted(terminal: Terminal) -> None:
    with loop("working"), loop("rows read") as done:
        assert shown() == ("rows read", None, 0.0)
        done(1_500_000)
        assert shown() == ("1,500,000 rows read", None, 0.0)
        with loop("files", 2) as read:
            read(1)
            assert shown() == ("1/2 files", 1.0, 0.5)


def test_a_bar_makes_room_for_other_output(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with loop("files", 2):
        shown()
        monkeypatch.setattr(progress, "DELAY", 600.0)
        hide()
        assert progress._display.bar is None
        assert progress._display.timer is not None  # it returns after a while


def test_items_are_passed_on_and_a_loop_may_end_early(terminal: Terminal) -> None:
    assert list(track(iter("abc"), "letters", 3)) == ["a", "b", "c"]
    for item in track("abc", "letters"):
        if item == "b":
            break
    letters = track("abc", "letters")
    next(letters)
    with pytest.raises(ValueError, match="stop"):
        letters.throw(ValueError("stop"))  # type: ignore[attr-defined]


@pytest.mark.parametrize("silence", ["switch", "variable", "CI", "thread", "pipe"])
def test_nobody_watches(silence: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def run() -> None:
        with allow_bars(silence != "switch"):
            for _ in track(range(3), "passes"):
                seen.append(len(progress._display.loops))

    if silence == "pipe":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    if silence in ("variable", "CI"):
        monkeypatch.setenv(*{"variable": ("CALIBRANT_PROGRESS", "0"), "CI": ("CI", "true")}[silence])
    if silence == "thread":
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    else:
        run()
    assert seen == [0, 0, 0]
    assert terminal.getvalue() == ""


def test_functions_with_loops_can_be_silenced(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    titles: list[str] = []
    wait = progress._display.wait

    def noted() -> None:
        titles.append(progress._display.loops[0].title)
        wait()

    monkeypatch.setattr(progress._display, "wait", noted)
    y, p = [0, 1, 1, 0] * 10, [0.2, 0.6, 0.9, 0.3] * 10
    silent = cal.interval(y, p, metric="ece", method="bootstrap", n_resamples=200, rng=0, progress=False)
    assert titles == []
    assert progress._display.is_on
    assert cal.interval(y, p, metric="ece", method="bootstrap", n_resamples=200, rng=0) == silent
    assert titles == ["batches of resamples"]


def steps_of(work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, int, int]]]:
    """Titles, finished and all passes of the loops that run, the outermost first, after each pass."""
    steps: list[list[tuple[str, int, int]]] = []

    def update() -> None:
        loops = progress._display.loops
        if loops[-1].done:
            steps.append([(each.title, each.done, each.total) for each in loops])

    monkeypatch.setattr(progress._display, "wait", lambda: None)
    monkeypatch.setattr(progress._display, "update", update)
    work()
    return steps


def test_resamples_are_counted(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = steps_of(lambda: many(abs, 3), monkeypatch)
    assert steps == [[("resamples", done, 3)] for done in (1, 2, 3)]


def test_the_package_does_not_import_rich() -> None:
    code = "import sys, calibrant as cal; cal.ece([0, 1], [0.2, 0.7]); print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.strip() == "False"
