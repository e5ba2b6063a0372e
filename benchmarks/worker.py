"""Run as a child of run.py: time all contenders of some cases in turns, or find the peak memory of one contender.

``worker.py time FOLDER CASE:REPEAT ...`` and ``worker.py memory FOLDER CASE CONTENDER`` print one line of JSON. The folder
holds one for each case, with labels.npy and probs.npy.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from all_cases import case_by_id
from calibrant.util import kernels
from cases import Case, Contender, Value, as_number, verdict

# No contender is called more often than this takes seconds, but three times, or twice where a call takes longer than that.
SECONDS_EACH = 3.0


class _NoLoops(dict[str, Any]):
    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> None:
        return None


@contextmanager
def without_numba() -> Iterator[None]:
    """calibrant as it is where numba is not installed: every compiled loop is known to be absent."""
    kept, kernels.loaded = kernels.loaded, _NoLoops()
    try:
        yield
    finally:
        kernels.loaded = kept


def _setting(contender: Contender) -> Any:
    return without_numba() if contender.name.endswith("without numba") else nullcontext()


def time_case(case: Case, labels: np.ndarray, probs: np.ndarray, repeat: int) -> dict[str, Any]:
    """Values first, then times: a read and every contender, turn by turn."""
    kernels.MIN_ENTRIES = 0  # the import of numba is measured on its own
    contenders = [contender for contender in case.contenders if contender.is_here]
    calls = {contender.name: contender.prepare(labels, probs) for contender in contenders}
    values: dict[str, Value] = {}
    for contender in contenders:
        with _setting(contender):
            values[contender.name] = calls[contender.name]()
    reads: list[float] = []
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeat):
        start = time.perf_counter()
        np.max(probs)
        reads.append(time.perf_counter() - start)
        for place in range(len(contenders)):
            contender = contenders[(turn + place) % len(contenders)]
            taken = times[contender.name]
            if len(taken) >= (2 if taken and taken[0] > SECONDS_EACH else 3) and sum(taken) > SECONDS_EACH:
                continue
            with _setting(contender):
                start = time.perf_counter()
                calls[contender.name]()
                taken.append(time.perf_counter() - start)
    read = statistics.median(reads)
    expected = values["calibrant without numba"]
    assert expected is not None
    return {
        "read_ms": read * 1e3,
        "read_best_ms": min(reads) * 1e3,
        "absent": [contender.name for contender in case.contenders if not contender.is_here],
        "contenders": [
            {
                "name": contender.name,
                "value": as_number(values[contender.name]),
                "verdict": verdict(contender, values[contender.name], expected),
                "calls": len(times[contender.name]),
                "median_ms": statistics.median(times[contender.name]) * 1e3,
                "best_ms": min(times[contender.name]) * 1e3,
                "reads": statistics.median(times[contender.name]) / read,
                "best_reads": min(times[contender.name]) / min(reads),
            }
            for contender in contenders
        ],
    }


def peak_memory(case: Case, folder: Path, name: str) -> dict[str, Any]:
    """Megabytes above the input; everything is imported and compiled on a few rows first."""
    kernels.MIN_ENTRIES = kernels.FEW_ROWS = 0  # few rows too take the compiled loops
    contender = next(contender for contender in case.contenders if contender.name == name)
    few = tuple(np.array(array[:200]) for array in _load(folder, "r"))
    with _setting(contender):
        contender.prepare(*few)()
        labels, probs = _load(folder, None)
        call = contender.prepare(labels, probs)
        return {"peak_mb": peak_of(call)}


def peak_of(call: Callable[[], object]) -> float:
    """Megabytes that a call takes at most above what the process held before."""
    before = _forget_peak()
    call()
    return (_peak() - before) / 1e6


def _forget_peak() -> int:
    """Bytes held now, or the highest so far where the system cannot forget it."""
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed must not serve the call
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        pass
    return _peak()


def _peak() -> int:
    try:
        status = Path("/proc/self/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024
    except OSError:
        import resource  # Windows has none

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _load(folder: Path, mode: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.load(folder / "labels.npy", mmap_mode=mode), np.load(folder / "probs.npy", mmap_mode=mode)


def _main() -> None:
    task, folder, *detail = sys.argv[1:]
    warnings.simplefilter("ignore")  # what the other packages warn of is not the matter here
    found: dict[str, Any] = {}
    if task == "time":
        for asked in detail:
            id, _, repeat = asked.partition(":")
            found[id] = time_case(case_by_id(id), *_load(Path(folder) / id, None), int(repeat))
        found = {"cases": found}
    else:
        found = peak_memory(case_by_id(detail[0]), Path(folder) / detail[0], detail[1])
    print(json.dumps(found))


if __name__ == "__main__":
    _main()
