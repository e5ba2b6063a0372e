"""Both sides of a comparison: what another package and calibrant return on the same data, and how far apart that is.

Packages that cannot be installed together run in interpreters of their own (benchmarks/environments.py), each of which prints its
comparisons as lines of JSON: ``python -m experiments.migration.compare --draws 0 netcal relplot``.
"""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.util.arrays import Array
from experiments.migration.calls import CALLS, SETUP, Call
from experiments.migration.data import SETS, data
from experiments.migration.scope import public

Row = dict[str, Any]
ROOT = Path(__file__).parent.parent.parent
NEW = 8
"""Scores to which the calibrators among the reference values are applied."""


def answer(code: str, peer: str, given: dict[str, Any]) -> Array | str:
    """Return the result of a call as an array of doubles, or the first line of its error."""
    names = dict(given)
    np.random.seed(0)  # noqa: NPY002  some packages draw from the global generator
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        try:
            exec(SETUP[peer], names)
            return np.asarray(eval(code, names), dtype=np.float64)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90] if str(error).strip() else ''}"


def differ(theirs: Array | str, ours: Array | str) -> Row:
    """Return the difference, the shapes if they do not match, or errors."""
    found: Row = {side: one for side, one in (("their_error", theirs), ("our_error", ours)) if isinstance(one, str)}
    if isinstance(theirs, str) or isinstance(ours, str):
        return found
    theirs, ours = alike(theirs, ours)
    if theirs.shape != ours.shape:
        return {"shapes": [list(theirs.shape), list(ours.shape)]}
    with np.errstate(invalid="ignore"):
        same = (theirs == ours) | (np.isnan(theirs) & np.isnan(ours))
        difference = np.where(same, 0.0, np.abs(theirs - ours)).max(initial=0.0)
    # JSON has no infinities.
    return {"difference": float(difference) if np.isfinite(difference) else str(difference), "mean": mean(theirs)}


def mean(values: Array) -> float | str:
    """Return one number that stands for a result, so that calibrant's can be tested without the other package."""
    with np.errstate(invalid="ignore"):
        found = float(values.mean())
    return found if np.isfinite(found) else str(found)


def alike(theirs: Array, ours: Array) -> tuple[Array, Array]:
    """Keep the positive class only if one side returns no more."""
    if theirs.ndim == 1 and ours.ndim == 2 and ours.shape[1] == 2:
        ours = ours[:, 1]
    if theirs.ndim == 2 and theirs.shape[1] == 2 and ours.ndim == 1:
        theirs = theirs[:, 1]
    return theirs, ours


def run(call: Call, name: str, draw: int = 0) -> Row:
    """Compare on one data set."""
    given = data(call.kind, name, draw)
    return {"set": name, **differ(answer(call.theirs, call.peer, given), answer(call.ours, "calibrant", given))}


def worst(found: Iterable[Row]) -> Row:
    """Return the comparison with the largest difference; an error or another shape is larger than any."""

    def size(one: Row) -> tuple[int, float]:
        value = one.get("difference")
        return (1, 0.0) if value is None else (0, float("inf") if value == "nan" else float(value))

    return dict(max(found, key=size))


def rows(peers: Sequence[str], draws: Sequence[int], calls: Sequence[Call] = CALLS) -> Iterator[Row]:
    """Compare each call of these packages on each data set; of several draws, the worst."""
    for call in calls:
        if call.peer not in peers or call.stored:
            continue
        found = []
        for name in SETS[call.kind]:
            drawn = [run(call, name, draw) for draw in draws]
            kept = worst(drawn)
            # The stored number is that of draw 0.
            found.append({**kept, **({"mean": drawn[0]["mean"]} if "mean" in drawn[0] else {})})
        yield {"key": call.key, "found": found}


def r_rows() -> Iterator[Row]:
    """Compare with the values of R that are stored in tests/r."""
    from tests.r.common import data as r_data
    from tests.r.common import values

    for call in CALLS:
        if not call.stored:
            continue
        found = []
        for entry in values(call.kind):
            if entry["call"] == call.theirs:
                ours = answer(call.ours, "calibrant", vars(r_data(entry["data"])))
                theirs = np.asarray(entry["value"], dtype=np.float64)
                found.append({"set": entry["data"], **differ(theirs, ours)})
        yield {"key": call.key, "found": found}


def elsewhere(python: str, peers: Sequence[str], draws: Sequence[int], same: bool = False) -> Iterator[Row]:
    """Yield the lines of another interpreter: comparisons, and the public names of each package."""
    command = [python, "-m", "experiments.migration.compare", "--draws", ",".join(map(str, draws)), *peers]
    command += ["--same"] if same else []
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")


def theirs(peers: Sequence[str], wanted: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """What these packages return for some calls, given by key and data set, with few new scores: the reference values of `calibrant validate`."""
    calls = {call.key: call for call in CALLS}
    for key, name in wanted:
        call = calls[key]
        if call.peer in peers:
            found = answer(call.theirs, call.peer, few(call.kind, name))
            yield {"key": key, "set": name, "value": found if isinstance(found, str) else found.tolist()}


def few(kind: str, name: str) -> dict[str, Any]:
    """The variables of a comparison with the first of the new scores only, so that results are short."""
    given = data(kind, name)
    return {**given, "new": given["new"][:NEW]}


def main(arguments: list[str] | None = None) -> int:
    """Print the comparisons of some packages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--draws", default="0", help="which draws of the data sets, for example 0,1,2")
    parser.add_argument("--same", action="store_true", help="only calls that agree in the stored comparison")
    parser.add_argument(
        "--values", action="store_true", help="values of the calls on standard input, [[key, set], ...]"
    )
    parser.add_argument("peers", nargs="+")
    given = parser.parse_args(arguments)
    if given.values:
        for row in theirs(given.peers, json.load(sys.stdin)):
            print(json.dumps(row), flush=True)
        return 0
    for peer in given.peers:
        print(json.dumps({"peer": peer, "public": public(peer)}), flush=True)
    calls = CALLS
    if given.same:
        from experiments.migration.table import agrees, load

        stored = load()["rows"]
        calls = [call for call in CALLS if agrees(stored[call.key])]
    for row in rows(given.peers, [int(draw) for draw in given.draws.split(",")], calls):
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
