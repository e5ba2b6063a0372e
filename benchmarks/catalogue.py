"""CPU time and memory of every metric, test and calibrator at 1e4, 1e5 and 1e6 rows of 2, 10 and 100 classes.

``python benchmarks/catalogue.py`` writes catalogue.json, one line after each call, and a table of docs/scale.md; what the file already holds is
not measured again (``--fresh`` begins anew, ``--page`` only writes the page). A call that would take more than ``--limit`` seconds, estimated from fewer rows, is not
made; a later run with a higher limit makes it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cases import make_data
from worker import peak_of

HERE = Path(__file__).parent
FOUND, PAGE = HERE / "catalogue.json", HERE.parent / "docs" / "scale.md"
SIZES, CLASSES = (10_000, 100_000, 1_000_000), (2, 10, 100)
GROUPS, FEATURES = 20, 3
LIMIT = 10.0
"""CPU seconds of a call beyond which it is not made, where the command line does not say otherwise."""
LONG = 10.0
"""Seconds from which something is listed as slow."""
# A first call on the fewest rows cannot be estimated; it is stopped after this many CPU seconds.
PATIENCE = 20.0
MEMORY_GB = 8
TOO_MUCH = f"more than {MEMORY_GB} GB"
REPEATED = 0.2
"""Calls are repeated, at most twice, as long as all of them took fewer seconds; on the fewest rows once more, since the first may compile a loop."""
KINDS = ("metric", "test", "calibrator")
# A sort grows by this exponent from 1e5 to 1e6 rows, and caches add to it.
SORTING = 1.3

Call = Callable[[], Any]


@cache
def extras(rows: int) -> dict[str, np.ndarray]:
    """Groups and features of the rows."""
    rng = np.random.default_rng(1)
    return {"groups": rng.integers(0, GROUPS, rows), "features": rng.normal(size=(rows, FEATURES))}


def entries() -> Iterator[tuple[str, str, bool | None]]:
    """Kind and name of everything that is measured, and whether a sketch takes the place of rows."""
    import calibrant as cal
    from calibrant.metrics.registry import OWN_TESTS
    from calibrant.recalibration.methods import METHODS

    for metric in cal.catalogue.values():
        yield "metric", metric.id, metric.sketch
    cal.assess([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], metric="ecce_r")  # registers the tests
    for id, tests in OWN_TESTS.items():
        for method in tests:
            yield "test", f"{id}, {method}", None
    for name in (*FUNCTIONS, "interval of ece"):
        yield "test", name, None
    for name in (*METHODS, *COMPOSED):
        yield "calibrator", name, None


FUNCTIONS = ("giviti_test", "safe_hosmer_lemeshow", "sequential_test", "pit_test", "hosmer_lemeshow_multinomial")
FUNCTIONS += ("multinomial_recalibration", "calibration_band")
COMPOSED = ("GroupCalibration", "MultiCalibration")


def call_of(kind: str, name: str, labels: np.ndarray, probs: np.ndarray) -> tuple[Call, Callable[[Any], Call] | None]:
    """The call that is measured, and for a calibrator the one that applies its result."""
    import calibrant as cal
    from calibrant.recalibration.methods import METHODS, TYPES

    own = extras(len(labels))
    if kind == "calibrator":
        if name in METHODS:
            return lambda: METHODS[name]().fit(probs, labels), lambda fitted: lambda: fitted.predict_proba(probs)
        chosen = TYPES[name]
        words = {chosen.needs: own[chosen.needs]}
        parts = {"calibrator": cal.PlattScaling()} if name == "GroupCalibration" else {}
        return (
            lambda: chosen(**parts).fit(probs, labels, **words),
            lambda fitted: lambda: fitted.predict_proba(probs, **words),
        )
    if kind == "metric":
        metric = cal.catalogue[name]
        words = {need: own[need] for need in metric.needs if need in own}
        return lambda: metric(cal.Predictions(labels, probs, **words)), None
    if name in FUNCTIONS:
        return lambda: getattr(cal.inference, name)(labels, probs), None
    if name.startswith("interval of "):
        return lambda: cal.interval(labels, probs, metric="ece", rng=0), None
    id, method = name.split(", ")
    words = {need: own[need] for need in cal.catalogue[id].needs if need in own}
    return lambda: cal.assess(cal.Predictions(labels, probs, **words), metric=id, method=method, rng=0), None


def work() -> float:
    """CPU seconds of this process, all of its threads, and the processes that it started and that ended."""
    spent = time.process_time()
    times = os.times()
    return spent + times.children_user + times.children_system


def measured(kind: str, name: str, labels: np.ndarray, probs: np.ndarray, least: int = 1) -> dict[str, Any]:
    """CPU seconds and megabytes of one call, made `least` times or more often, or why there are none."""
    from calibrant.errors import CalibrantError

    call, then = call_of(kind, name, labels, probs)
    results: list[Any] = []
    try:
        start = work()
        peak = peak_of(lambda: results.append(call()))
        taken = [work() - start]
        while len(taken) < 3 and (sum(taken) < REPEATED or (len(taken) < least and sum(taken) < 1)):
            start = work()
            call()
            taken.append(work() - start)
        found: dict[str, Any] = {"seconds": min(taken), "mb": peak}
        if then is not None:
            apply = then(results[0])
            start = work()
            found["mb"] = max(peak, peak_of(apply))
            found["apply_seconds"] = work() - start
    except CalibrantError as error:
        return {"refused": str(error).splitlines()[0]}
    except (MemoryError, np.linalg.LinAlgError) as error:
        return {"refused": TOO_MUCH if isinstance(error, MemoryError) else str(error)}
    return found


def child(folder: str, classes: int, limit: float) -> None:
    """Measure what standard input names, one JSON object a line, and answer each with a line."""
    from calibrant.util import kernels

    warnings.simplefilter("ignore")
    kernels.MIN_ENTRIES = kernels.FEW_ROWS = 0  # the import of numba is not counted
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_GB * 10**9, MEMORY_GB * 10**9))
    labels, probs = (np.load(Path(folder) / f"{name}{classes}.npy") for name in ("labels", "probs"))
    few = slice(0, max(400, 4 * classes))
    warm = set()
    for line in sys.stdin:
        kind, name, rows = json.loads(line)
        if (kind, name) not in warm:
            measured(kind, name, labels[few], probs[few])
            warm.add((kind, name))
        least = 2 if rows <= SIZES[0] else 1
        found = measured(kind, name, labels[:rows], probs[:rows], least)
        if (
            least == 2 and found.get("seconds", 0.0) > limit / 10
        ):  # more rows will not be tried: fewer tell how it grows
            found["tenth"] = measured(kind, name, labels[: rows // 10], probs[: rows // 10]).get("seconds")
        print(json.dumps(found), flush=True)


def spent_by(pid: int) -> float:
    """CPU seconds of a process; those of the clock where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """A process that measures; started again after a call that had to be stopped."""

    def __init__(self, folder: str, classes: int, limit: float) -> None:
        self.command = [sys.executable, __file__, "--child", folder, str(classes), str(limit)]
        self.process: subprocess.Popen[str] | None = None

    def ask(self, kind: str, name: str, rows: int) -> dict[str, Any]:
        """The answer of the process, or that there was none."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE
            )
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([kind, name, rows]) + "\n")
        process.stdin.flush()
        start = spent_by(process.pid)
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            while not (ready := waiting.select(1.0)) and spent_by(process.pid) - start < PATIENCE:
                pass
        answer = process.stdout.readline() if ready else ""
        if answer:
            return dict(json.loads(answer))
        self.close()
        return {"above": PATIENCE} if not ready else {"refused": TOO_MUCH}

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def expected(known: list[dict[str, Any]], rows: int) -> float:
    """Seconds of a call, extrapolated from those on fewer rows: by a power of the rows, or a fixed part and one in proportion."""
    times = times_of(known)
    if not times:
        return math.inf if any("above" in entry for entry in known) else 0.0
    (few, fast), (many, slow) = times[-2] if len(times) > 1 else (0, 0.0), times[-1]
    growth = exponent(times) or 1.0
    return slow + (slow - fast) / (many - few) * (rows - many) if growth < 1 else slow * (rows / many) ** growth


def times_of(known: list[dict[str, Any]]) -> list[tuple[int, float]]:
    """Rows and seconds of the calls that were made, by size; one that was stopped took at least so many."""
    times = [(entry["rows"], entry["seconds"]) for entry in known if "seconds" in entry]
    if times:
        times += [(entry["rows"], entry["above"]) for entry in known if "above" in entry]
    tenth = known[0].get("tenth") if known else None
    return [(known[0]["rows"] // 10, tenth), *times] if tenth else times


def exponent(times: list[tuple[int, float]]) -> float | None:
    """The exponent of the growth between the two largest sizes."""
    if len(times) < 2:
        return None
    (few, fast), (many, slow) = times[-2:]
    return math.log(max(slow, 1e-6) / max(fast, 1e-6)) / math.log(many / few)


def run(
    found: dict[str, Any],
    chosen: list[tuple[str, str, bool | None]],
    sizes: tuple[int, ...],
    classes: tuple[int, ...],
    limit: float,
    save: Callable[[], None],
) -> None:
    """Measure what is missing, and what a lower limit left out."""
    again = {(kind, name, k) for kind, name, _ in chosen for k in classes}
    found["entries"] = [
        e for e in found["entries"] if "estimate" not in e or (e["kind"], e["name"], e["classes"]) not in again
    ]
    known = {(e["kind"], e["name"], e["classes"], e["rows"]): e for e in found["entries"]}
    with tempfile.TemporaryDirectory() as folder:
        for k in classes:
            if all((kind, name, k, rows) in known for kind, name, _ in chosen for rows in sizes):
                continue
            labels, probs = make_data(sizes[-1], 1 if k == 2 else k)
            np.save(Path(folder) / f"labels{k}.npy", labels)
            np.save(Path(folder) / f"probs{k}.npy", probs)
            del labels, probs
            worker = Worker(folder, k, limit)
            try:
                for kind, name, sketch in chosen:
                    own: list[dict[str, Any]] = []
                    for rows in sizes:
                        key = (kind, name, k, rows)
                        if key not in known:
                            guess = expected(own, rows)
                            answer = (
                                {"refused": TOO_MUCH}
                                if own and own[-1].get("refused") == TOO_MUCH
                                else {"above": PATIENCE}
                                if guess == math.inf
                                else {"estimate": guess}
                                if guess > limit
                                else worker.ask(kind, name, rows)
                            )
                            known[key] = {
                                "kind": kind,
                                "name": name,
                                "classes": k,
                                "rows": rows,
                                "sketch": sketch,
                                **answer,
                            }
                            found["entries"].append(known[key])
                            save()
                        own.append(known[key])
            finally:
                worker.close()


def page(found: dict[str, Any]) -> str:
    """What is slow at the largest size, as text."""
    named: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for entry in found["entries"]:
        named.setdefault((entry["kind"], entry["classes"], entry["name"]), []).append(entry)
    most = max(map(len, named.values()))
    named = {key: sorted(each, key=lambda entry: entry["rows"]) for key, each in named.items() if len(each) == most}
    for each in named.values():
        for entry in each:
            if "estimate" in entry:
                entry["estimate"] = expected(each, entry["rows"])
    return "\n".join(
        [
            f"Measured on {found['date']} with the compiled loops of numba, for float32 probabilities: {_counted(named)}. Two classes are one "
            "column of scores. Times are CPU times of all threads together, of the fastest of up to three calls, including the validation of "
            "the input. A call that would have taken too long was not made: its time, extrapolated from fewer rows, is preceded by ≈, and is "
            f"too low where a call on fewer rows was stopped (>).{_busy(found)} `benchmarks/catalogue.json` has every time and peak of memory.",
            "",
            *_slow_lines(named),
        ]
    )


def _counted(named: dict[tuple[str, int, str], list[dict[str, Any]]]) -> str:
    """How many metrics, tests and calibrators were measured, by the number of classes."""
    kinds = [(k, kind) for kind, k, _ in named]
    return "; ".join(
        f"{k} classes, " + ", ".join(f"{kinds.count((k, kind))} {kind}s" for kind in KINDS if (k, kind) in kinds)
        for k in sorted({k for k, _ in kinds})
    )


def _busy(found: dict[str, Any]) -> str:
    load, cores = found.get("load", 0.0), os.cpu_count() or 1
    if load <= cores + 1:
        return ""
    return f" Other processes ran on the machine (a load of up to {load:.0f} on {cores} cores), which lengthens CPU times somewhat."


def _slow_lines(named: dict[tuple[str, int, str], list[dict[str, Any]]]) -> list[str]:
    """What takes longer than LONG, or grows faster than a sort and takes a second or more."""
    slow: dict[tuple[str, str], dict[int, str]] = {}
    for (kind, classes, name), each in named.items():
        seconds, growth = _seconds(each[-1]), exponent(times_of(each))
        if seconds > LONG or (growth is not None and growth > SORTING and seconds > 1):
            slow.setdefault((kind, name), {})[classes] = _shown(each[-1])
    counts = sorted({classes for _, classes, _ in named})
    lines = [
        f"| {kind} {name} | " + " | ".join(times.get(k, "") for k in counts) + " |"
        for (kind, name), times in slow.items()
    ]
    return [
        f"These take more than {LONG:.0f} s for a million rows, or grow faster than N log N (an exponent above {SORTING}) and take more than 1 s "
        "there; an empty cell stands for less. A [progress bar](assess.md#time-and-progress) shows how far a loop is.",
        "",
        "| | " + " | ".join(f"{k} classes" for k in counts) + " |",
        "| --- |" + " ---: |" * len(counts),
        *sorted(lines),
    ]


def _seconds(entry: dict[str, Any]) -> float:
    return float(entry.get("seconds", entry.get("estimate", entry.get("above", 0.0))))


def _shown(entry: dict[str, Any]) -> str:
    if "seconds" in entry:
        return duration(entry["seconds"])
    if "estimate" in entry:
        return f"≈ {duration(entry['estimate'])}"
    return f"> {entry['above']:.0f} s" if "above" in entry else entry["refused"]


def duration(seconds: float) -> str:
    """Seconds in two or three digits.

    >>> duration(0.00042), duration(0.042), duration(4.2), duration(420), duration(42000)
    ('0.42 ms', '42 ms', '4.2 s', '7 min', '12 h')
    """
    if seconds < 1:
        return f"{seconds * 1e3:.2g} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


def main() -> None:
    """Measure and write."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOUND, help="where the results go")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of rows")
    parser.add_argument("--classes", type=int, nargs="+", default=CLASSES, help="numbers of classes")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="what is measured")
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds beyond which a call is not made")
    parser.add_argument("--fresh", action="store_true", help="measure everything anew")
    parser.add_argument("--page", action="store_true", help="only write the page")
    chosen = parser.parse_args()
    old = json.loads(chosen.out.read_text()) if chosen.out.exists() and not chosen.fresh else {}
    found = {"date": date.today().isoformat(), "load": 0.0, "entries": [], **old}

    def save() -> None:
        found["load"] = max(found["load"], os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0)
        lines = ",\n".join(json.dumps(entry) for entry in found["entries"])
        head = json.dumps({name: value for name, value in found.items() if name != "entries"})
        chosen.out.write_text(f'{head[:-1]}, "entries": [\n{lines}\n]}}\n', encoding="utf-8")

    if not chosen.page:
        listed = [entry for entry in entries() if entry[0] in chosen.kinds]
        run(found, listed, tuple(chosen.sizes), tuple(chosen.classes), chosen.limit, save)
        place = {entry[:2]: number for number, entry in enumerate(entries())}
        found["entries"].sort(key=lambda e: (e["classes"], place.get((e["kind"], e["name"]), -1), e["rows"]))
        save()
    written = PAGE if chosen.out == FOUND else chosen.out.with_suffix(".md")
    body = f"<!-- catalogue:begin -->\n{page(found)}\n<!-- catalogue:end -->"
    text = written.read_text(encoding="utf-8") if written.exists() else body
    text = re.sub("<!-- catalogue:begin -->.*<!-- catalogue:end -->", lambda _: body, text, flags=re.DOTALL)
    written.write_text(text, encoding="utf-8")
    print(f"wrote {chosen.out.name} and {written.name}")


if __name__ == "__main__":
    main()
